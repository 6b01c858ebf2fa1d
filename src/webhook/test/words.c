/* words.c - tests: the webhook refuses in Volcano's words what Volcano refuses (tests/words/volcano.yaml) */
#include "api/test/words.h"
#include "api/types.h"
#include "webhook/admission.h"

static const struct json *find_queue(void *ctx, struct str name)
{
    static const struct json empty = { .type = JSON_OBJECT };

    JSON_FOREACH(queue, json_get(((struct words *)ctx)->table, "queues"))
        if (str_eq(json_member_text(json_get(queue, "metadata"), "name"), name))
            return queue;
    return str_is(name, "default") ? &empty : NULL;
}

static void each_queue(void *ctx, void (*each)(void *arg, const struct json *queue), void *arg)
{
    JSON_FOREACH(queue, json_get(((struct words *)ctx)->table, "queues"))
        each(arg, queue);
}

static struct json *review_of(struct arena *a, const struct words_row *row, const struct resource_type *type)
{
    const char *operation = !row->object ? "DELETE" : row->old ? "UPDATE" : "CREATE";
    struct json *review = json_object(a), *request = json_object(a), *kind = json_object(a);

    json_set(review, "apiVersion", json_str(a, STR("admission.k8s.io/v1")));
    json_set(review, "kind", json_str(a, STR("AdmissionReview")));
    json_set(review, "request", request);
    json_set(kind, "group", json_str(a, str_of(type->group)));
    json_set(kind, "kind", json_str(a, str_of(type->kind)));
    json_set(request, "uid", json_str(a, STR("u")));
    json_set(request, "kind", kind);
    json_set(request, "namespace", json_str(a, STR("default")));
    json_set(request, "operation", json_str(a, str_of(operation)));
    if (row->object)
        json_set(request, "object", json_copy(a, row->object));
    if (row->old)
        json_set(request, "oldObject", json_copy(a, row->old));
    return review;
}

/* A Job is stored with its defaults, as the other webhook made them. */
static void mutate(struct arena *a, const struct words_row *row)
{
    struct admit_env env = { 0 };

    if (strcmp(row->kind, "Job") != 0)
        return;
    admit_job_defaults(a, row->object, &env);
    if (row->old)
        admit_job_defaults(a, row->old, &env);
}

static void ask(struct words *w, const struct words_row *row)
{
    const struct json *any = row->object ? row->object : row->old;
    const struct resource_type *type = type_by_kind(json_member_text(any, "apiVersion"), str_of(row->kind));
    struct admit_env env = { .ctx = w, .find_queue = find_queue, .each_queue = each_queue };
    struct str path = arena_fmt(&w->arena, "/%s/validate", type->plural);
    struct admission_answer answer;
    struct json *review;
    autobuf body = { 0 };

    mutate(&w->arena, row);
    json_print(&body, review_of(&w->arena, row, type));
    admission_review(path, buf_view(&body), &env, &answer);
    assert_int_equal(json_parse(&w->arena, buf_view(&answer.body), NULL, &review, NULL), 0);
    words_check(row, json_text(json_find(review, "response", "status", "message", NULL), STR("")));
    assert_false(answer.is_allowed);
    buf_done(&answer.body);
}

static void refuses_in_volcanos_words(void **state)
{
    struct words w = { 0 };
    struct words_row row;

    (void)state;
    words_open(&w);
    while (words_next(&w, &row))
        ask(&w, &row);
    arena_done(&w.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(refuses_in_volcanos_words) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
