/* admission_shapes.c - whatever shape an AdmissionReview and its objects have, there is an answer; made from the tables
 *
 *     test_kube_admission_shapes [SEED]
 *
 * Every field of every kind that a webhook is for gets values of every type, in the new object and in the old one, and so
 * does every field of the review itself. A validating webhook refuses what has a wrong shape and names the field; a
 * mutating one changes nothing of it.
 */
#include "api/test/shapes_base.h"
#include "api/types.h"
#include "json/test/spots.h"
#include "webhook/admission.h"
#include "os/test/testing.h"

static uint64_t seed = 1;

struct hook_run {
    const char *path;
    const struct resource_type *type;
    struct arena arena; /* of a case */
    struct rand rand;
    size_t n;
};

static const struct json *find_queue(void *ctx, struct str name)
{
    static const struct json queue = { .type = JSON_OBJECT };

    (void)ctx;
    return name.n % 2 ? &queue : NULL;
}

static struct json *parse(struct arena *a, const char *text)
{
    struct json *j;

    assert_int_equal(json_parse(a, str_of(text), NULL, &j, NULL), 0);
    return j;
}

static struct json *base_of(struct hook_run *r)
{
    struct json *j = parse(&r->arena, shapes_base(r->type->kind));

    json_set(j, "apiVersion", json_str(&r->arena, type_api_version(&r->arena, r->type)));
    json_set(j, "kind", json_str(&r->arena, str_of(r->type->kind)));
    json_set(j, "metadata", parse(&r->arena, "{\"name\":\"x\",\"namespace\":\"default\"}"));
    return j;
}

static struct json *review_of(struct hook_run *r, const char *operation, struct json *object, struct json *old)
{
    struct json *review = parse(&r->arena,
                                "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":"
                                "{\"uid\":\"u\",\"namespace\":\"default\",\"kind\":{\"version\":\"v1\"}}}");
    struct json *request = json_get(review, "request");

    json_set(json_get(request, "kind"), "group", json_str(&r->arena, str_of(r->type->group)));
    json_set(json_get(request, "kind"), "kind", json_str(&r->arena, str_of(r->type->kind)));
    json_set(request, "operation", json_str(&r->arena, str_of(operation)));
    if (object)
        json_set(request, "object", object);
    if (old)
        json_set(request, "oldObject", old);
    return review;
}

/* The response; NULL: the review was refused as none. */
static const struct json *ask(struct hook_run *r, const struct json *review)
{
    struct admit_env env = { .find_queue = find_queue };
    struct admission_answer answer;
    autobuf text = { 0 };
    struct json *j = NULL;
    uint64_t before = json_refused();

    json_print(&text, review);
    r->n++;
    admission_review(str_of(r->path), buf_view(&text), &env, &answer);
    if (json_refused() != before)
        fail_msg("%s was to change a value of the wrong type: %s", r->path, text.p);
    if (answer.status == 200)
        assert_int_equal(json_parse(&r->arena, arena_str(&r->arena, buf_view(&answer.body)), NULL, &j, NULL), 0);
    else
        assert_true(answer.status == 400 && answer.body.n);
    buf_done(&answer.body);
    return json_get(j, "response");
}

static bool is_volcano(const struct resource_type *t)
{
    return str_ends(str_of(t->group), STR(".volcano.sh"));
}

static void check_response(struct hook_run *r, const struct field *f, const struct json *leaf,
                           const struct json *response)
{
    struct str message = json_member_text(json_get(response, "status"), "message");

    if (spot_fits(f, leaf) || !is_volcano(r->type) ||
        strcmp(f->name, "deletionTimestamp") == 0) /* then it is let through */
        return;
    if (str_ends(str_of(r->path), STR("/mutate")))
        assert_null(json_get(response, "patch"));
    else if (json_bool(json_get(response, "allowed"), true) || !str_has(message, str_of(f->name)))
        fail_msg("%s: a wrong shape of %s is allowed, or not named: %.*s", r->path, f->name, STR_ARG(message));
}

static void on_spot(void *ctx, const struct spot *spot)
{
    struct hook_run *r = ctx;

    for (size_t i = 0; i < ARRAY_LEN(shapes_values); i++) {
        struct json *leaf = parse(&r->arena, shapes_values[i]), *odd;

        rand_seed(&r->rand, seed * 1000003 + r->n);
        odd = spot_graft(&(struct spot_graft){ &r->arena, &r->rand, spot }, base_of(r), leaf);
        check_response(r, spot->at[spot->n - 1], leaf, ask(r, review_of(r, "CREATE", json_copy(&r->arena, odd), NULL)));
        if (i % 4 == r->n % 4) {
            ask(r, review_of(r, "UPDATE", json_copy(&r->arena, odd), base_of(r)));
            ask(r, review_of(r, "UPDATE", base_of(r), json_copy(&r->arena, odd)));
            ask(r, review_of(r, "DELETE", NULL, odd));
        }
        arena_reset(&r->arena);
    }
}

static const struct {
    const char *path, *group, *kind;
} hooks[] = {
    { "/jobs/mutate", "batch.volcano.sh", "Job" },
    { "/jobs/validate", "batch.volcano.sh", "Job" },
    { "/queues/mutate", "scheduling.volcano.sh", "Queue" },
    { "/queues/validate", "scheduling.volcano.sh", "Queue" },
    { "/podgroups/mutate", "scheduling.volcano.sh", "PodGroup" },
    { "/podgroups/validate", "scheduling.volcano.sh", "PodGroup" },
    { "/jobflows/validate", "flow.volcano.sh", "JobFlow" },
    { "/jobtemplates/validate", "flow.volcano.sh", "JobTemplate" },
    { "/cronjobs/validate", "batch.volcano.sh", "CronJob" },
    { "/pods/mutate", "", "Pod" },
    { "/pods/validate", "", "Pod" },
};

static const struct resource_type *find_type(const char *group, const char *kind)
{
    for (size_t i = 0; i < n_resource_types; i++)
        if (strcmp(resource_types[i].group, group) == 0 && strcmp(resource_types[i].kind, kind) == 0)
            return &resource_types[i];
    return NULL;
}

static void test_objects(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        struct hook_run r = { .path = hooks[i].path, .type = find_type(hooks[i].group, hooks[i].kind) };

        assert_non_null(r.type);
        spots_walk(r.type->schema, on_spot, &r);
        arena_done(&r.arena);
    }
}

/* The review itself: its envelope, and each field of the request. */
static void test_reviews(void **state)
{
    static const char *const fields[] = { "uid",    "kind",      "operation",   "namespace",
                                          "object", "oldObject", "subResource", "name" };

    for (size_t i = 0; i < ARRAY_LEN(hooks); i++)
        for (size_t v = 0; v < ARRAY_LEN(shapes_values); v++) {
            struct hook_run r = { .path = hooks[i].path, .type = find_type(hooks[i].group, hooks[i].kind) };

            (void)ask(&r, parse(&r.arena, shapes_values[v]));
            for (size_t f = 0; f <= ARRAY_LEN(fields); f++) {
                struct json *review = review_of(&r, f % 2 ? "UPDATE" : "CREATE", base_of(&r), base_of(&r));
                struct json *at = f < ARRAY_LEN(fields) ? json_get(review, "request") : review;

                json_set(at, f < ARRAY_LEN(fields) ? fields[f] : "request", parse(&r.arena, shapes_values[v]));
                (void)ask(&r, review);
            }
            arena_done(&r.arena);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_objects), cmocka_unit_test(test_reviews) };

    seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
