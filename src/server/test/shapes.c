/* shapes.c - whatever shape a body has, the server lives, answers, and stores nothing of a wrong shape
 *
 *     test_server_shapes                       every field, with one way to send it each time: what CI runs
 *     test_server_shapes SEED SECONDS [CASE]   so long, with other choices each time; from that case on
 *
 * The requests are made from the tables: every field of every kind, and of the body of every subresource and delete, is
 * given values of every type (shapes_base.h), by POST, PUT, all types of PATCH and DELETE, as JSON, YAML and protobuf,
 * dry and not. Fields beside it that have a list of allowed values get one of those by lot, since many rules begin with
 * "if the type is …".
 *
 * Controllers, scheduler and a node agent read what was stored (shapes_world.h): what gets past the server's checks must
 * not stop them either.
 *
 * Requests are sent by a child. If one kills it, that is a failure, and the next child goes on behind it: one run finds
 * all of them.
 */
#include "server/server_internal.h"

#include "api/message/message.h"
#include "api/schema/schemas.h"
#include "api/test/shapes_base.h"
#include "base/rand.h"
#include "json/test/spots.h"
#include "os/test/testing.h"
#include "proto/proto.h"
#include "server/test/shapes_proto.h"
#include "server/test/shapes_world.h"

#include <sys/mman.h>
#include <time.h>

enum { FAILURES_MAX = 60, REQUESTS_OF_WORLD = 1000, SHALLOW = 2 };

/* ---- what parent and child share ---- */

static struct progress {
    size_t at; /* the case */
    size_t n_requests, n_taken, n_refused, n_worlds;
    char request[32768];
    char wrong[4096]; /* empty: the request killed the child */
} * progress;

static void fail_case(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail_case(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(progress->wrong, sizeof(progress->wrong), fmt, ap);
    va_end(ap);
    _exit(1);
}

/* ---- where a body goes ---- */

enum body_form { FORM_WHOLE, FORM_PART, FORM_APPLY, FORM_JSON_PATCH, FORM_PROTOBUF };

static const struct way {
    enum verb verb;
    const char *method, *media;
    enum body_form form;
} ways[] = {
    { VERB_CREATE, "POST", "application/json", FORM_WHOLE },
    { VERB_CREATE, "POST", "application/yaml", FORM_WHOLE },
    { VERB_CREATE, "POST", PROTOBUF_MEDIA, FORM_PROTOBUF },
    { VERB_UPDATE, "PUT", "application/json", FORM_WHOLE },
    { VERB_UPDATE, "PUT", PROTOBUF_MEDIA, FORM_PROTOBUF },
    { VERB_PATCH, "PATCH", "application/json-patch+json", FORM_JSON_PATCH },
    { VERB_PATCH, "PATCH", "application/merge-patch+json", FORM_PART },
    { VERB_PATCH, "PATCH", "application/strategic-merge-patch+json", FORM_PART },
    { VERB_PATCH, "PATCH", "application/apply-patch+yaml", FORM_APPLY },
    { VERB_DELETE, "DELETE", "application/json", FORM_WHOLE },
    { VERB_DELETE, "DELETE", PROTOBUF_MEDIA, FORM_PROTOBUF },
    { VERB_DELETE_COLLECTION, "DELETE", "application/json", FORM_WHOLE },
};

struct aim { /* a kind of body and where it is sent */
    const struct resource_type *type;
    const char *sub; /* NULL: the object itself */
    const struct schema *schema;
    const char *kind;       /* of the body */
    struct str api_version; /* of the body */
    unsigned verbs;         /* bits of enum verb */
};

/* ---- a run ---- */

struct run {
    uint64_t seed;
    size_t start, n; /* cases before 'start' are not sent */
    size_t n_sent, n_spots;
    int64_t end_ms; /* 0: none */
    struct shapes_world *world;
    struct arena arena; /* of a case */
    struct rand rand;   /* of a case */
    struct aim aim;
    struct spot spot;
    bool is_bare;               /* aim at the object that has nothing but a name */
    const struct field *forced; /* a field beside that of the spot gets this value; NULL: none does */
    const char *forced_value;
};

static int64_t run_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool run_is_over(const struct run *r)
{
    return r->end_ms && run_now_ms() >= r->end_ms;
}

/* ---- bodies ---- */

static struct json *parse(struct arena *a, const char *text)
{
    struct json *j;

    assert_int_equal(json_parse(a, str_of(text), NULL, &j, NULL), 0);
    return j;
}

/* Of the object that is changed. */
static const char *name_of(const struct run *r)
{
    return r->is_bare ? SHAPES_BARE : shapes_name(r->aim.type);
}

static struct json *base_of(struct run *r, bool has_name)
{
    const struct aim *aim = &r->aim;
    struct json *j = parse(&r->arena, shapes_base(aim->kind)), *meta = json_object(&r->arena);

    json_set(j, "apiVersion", json_str(&r->arena, aim->api_version));
    json_set(j, "kind", json_str(&r->arena, str_of(aim->kind)));
    if (schema_field(aim->schema, STR("metadata"))) {
        json_set(j, "metadata", meta);
        json_set(meta, has_name ? "name" : "generateName", json_str(&r->arena, str_of(has_name ? name_of(r) : "y-")));
        if (has_name && strcmp(aim->kind, aim->type->kind) == 0)
            json_set(meta, "resourceVersion", json_str(&r->arena, shapes_revision(r->world, aim->type, name_of(r))));
    }
    return j;
}

static void print_json_patch(struct run *r, struct json *whole, struct buf *out)
{
    static const char *const ops[] = { "add", "replace", "test" };
    const char *name = r->spot.at[0]->name;

    buf_fmt(out, "[{\"op\":\"%s\",\"path\":\"/%s\",\"value\":",
            ops[rand_chance(&r->rand, 9, 10) ? 0 : rand_below(&r->rand, 3)], name);
    json_print(out, json_get(whole, name));
    buf_str(out, STR("}]"));
}

static void print_body(struct run *r, const struct way *way, const char *value, struct buf *out)
{
    struct spot_graft g = { &r->arena, &r->rand, &r->spot, r->forced, r->forced_value };
    struct json *leaf = parse(&r->arena, value), *j;

    if (way->form == FORM_PROTOBUF) {
        shapes_protobuf(&r->arena, &r->rand, base_of(r, way->verb != VERB_CREATE), &r->spot, out);
        return;
    }
    j = base_of(r, way->verb != VERB_CREATE || r->aim.sub);
    if (way->form == FORM_PART)
        j = NULL;
    else if (way->form == FORM_APPLY && rand_chance(&r->rand, 1, 2))
        for (struct json *m = json_first(j), *next; m; m = next) {
            next = m->next;
            if (!str_is(json_key(m), "apiVersion") && !str_is(json_key(m), "kind") && !str_is(json_key(m), "metadata"))
                json_unlink(j, m);
        }
    j = spot_graft(&g, j, leaf);
    if (way->form == FORM_JSON_PATCH)
        print_json_patch(r, j, out);
    else
        json_print(out, j);
}

/* ---- what must hold ---- */

static void check_stored(const struct schema *s, const struct json *j, const char *what)
{
    if (!json_is(j, JSON_OBJECT))
        fail_case("%s is no object", what);
    JSON_FOREACH(m, j) {
        const struct field *f = schema_field(s, json_key(m));

        if (!f)
            continue;
        if (!spot_fits(f, m))
            fail_case("a wrong shape was taken: %s", f->name);
        if (f->kind != FIELD_OBJECT || !f->sub || m->type == JSON_NULL)
            continue;
        if (f->shape == SHAPE_ONE)
            check_stored(f->sub, m, f->name);
        else
            JSON_FOREACH(item, m)
                check_stored(f->sub, item, f->name);
    }
}

static void check_reply(struct run *r, const struct way *way, const char *value, const struct shapes_reply *reply)
{
    const struct field *last = r->spot.at[r->spot.n - 1];
    bool is_whole = way->form == FORM_WHOLE, fits = spot_fits(last, parse(&r->arena, value));
    struct json *j;

    if (!reply->code)
        fail_case("no answer came");
    if (json_refused())
        fail_case("a value of the wrong type was to be changed (answer %d)", reply->code);
    if (reply->code >= 500 && reply->code != 503)
        fail_case("the answer is %d: %.*s", reply->code, (int)MIN_OF(reply->body.n, 2000), reply->body.p);
    if (json_parse(&r->arena, reply->body, NULL, &j, NULL) < 0)
        fail_case("the answer is no JSON");
    progress->n_taken += reply->code < 300;
    progress->n_refused += reply->code >= 300;
    if (reply->code < 300 && !r->aim.sub && r->aim.type->schema && str_is(object_kind(j), r->aim.type->kind))
        check_stored(r->aim.type->schema, j, "the answer");
    if (is_whole && !fits && reply->code != 400 && reply->code != 422)
        fail_case("a wrong shape of %s is answered with %d: %.*s", last->name, reply->code,
                  (int)MIN_OF(reply->body.n, 1000), reply->body.p);
    if (is_whole && !fits && !str_has(json_member_text(j, "message"), str_of(last->name)))
        fail_case("the message does not name %s: %.*s", last->name, STR_ARG(json_member_text(j, "message")));
}

/* ---- a case ---- */

static void renew_world(struct run *r)
{
    if (++r->n_sent % REQUESTS_OF_WORLD)
        return;
    shapes_world_free(r->world);
    r->world = shapes_world_new();
    progress->n_worlds++;
}

static void send_case(struct run *r, const struct way *way, const char *value)
{
    bool is_delete = way->verb == VERB_DELETE || way->verb == VERB_DELETE_COLLECTION;
    bool on_item = way->verb != VERB_CREATE && way->verb != VERB_DELETE_COLLECTION, is_dry, ignores;
    struct shapes_ask q = { .method = way->method, .media = way->media };
    struct shapes_reply reply;
    autobuf body = { 0 };
    char query[160];

    progress->n_requests++;
    is_dry = is_delete ? rand_chance(&r->rand, 19, 20)
                       : rand_chance(&r->rand, 2, 3); /* what is gone is no aim any more */
    ignores = rand_chance(&r->rand, 1, 2);
    r->is_bare = r->aim.type->use == TYPE_STORED && rand_chance(&r->rand, 1, 4);
    print_body(r, way, value, &body);
    (void)snprintf(query, sizeof(query), "?fieldManager=t%s%s%s", is_dry ? "&dryRun=All" : "",
                   ignores ? "&fieldValidation=Ignore" : "", way->form == FORM_APPLY ? "&force=true" : "");
    q.path = shapes_path(r->aim.type, on_item || r->aim.sub ? name_of(r) : NULL, r->aim.sub);
    q.query = query;
    q.is_tenant = rand_chance(&r->rand, 1, 2);
    q.body = buf_view(&body);
    reply = shapes_ask(r->world, &q, progress->request, sizeof(progress->request));
    check_reply(r, way, value, &reply);
    if (!is_dry && reply.code < 300)
        shapes_think(r->world);
    if (json_refused())
        fail_case("a controller was to change a value of the wrong type");
}

static void one_case(struct run *r, const struct way *way, const char *value)
{
    size_t i = r->n++;

    if (i < r->start || run_is_over(r))
        return;
    progress->at = i;
    progress->request[0] = '\0';
    rand_seed(&r->rand, r->seed * 1000003 + i);
    renew_world(r);
    send_case(r, way, value);
    arena_reset(&r->arena);
}

/* ---- which of all cases ---- */

/* metadata is the same in all kinds. */
static bool is_near_top(const struct run *r)
{
    return r->spot.n <= SHALLOW && strcmp(r->spot.at[0]->name, "metadata") != 0;
}

static size_t ways_of(const struct aim *aim, const struct way *ret[ARRAY_LEN(ways)])
{
    bool has_message = message_by_kind(aim->api_version, str_of(aim->kind));
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        if (aim->verbs & 1u << ways[i].verb && (has_message || ways[i].form != FORM_PROTOBUF))
            ret[n++] = &ways[i];
    return n;
}

/* All values by some ways near the top; below that some values, by one way each. In the long run, all. */
static void each_value(struct run *r)
{
    const struct way *fit[ARRAY_LEN(ways)];
    size_t n = ways_of(&r->aim, fit), turn = r->n_spots++ + r->seed;
    size_t n_ways = MIN_OF(n, is_near_top(r) ? (size_t)4 : (size_t)1), step = is_near_top(r) || r->end_ms ? 1 : 8;

    for (size_t v = turn % step; v < ARRAY_LEN(shapes_values); v += step)
        for (size_t i = 0; i < n_ways; i++)
            one_case(r, fit[(turn + v / step + i * 2) % n], shapes_values[v]);
}

/* A list or an object beside each value that a field may have: the rules for that value read it. */
static void each_neighbour(struct run *r)
{
    static const char *const values[] = { "7", "\"x\"", "[]", "[7]", "[null]", "[[]]", "[{}]", "{}" };
    const struct schema *s = r->spot.n > 1 ? r->spot.at[r->spot.n - 2]->sub : r->aim.schema;
    const struct field *own = r->spot.at[r->spot.n - 1];
    const struct way *fit[ARRAY_LEN(ways)];
    size_t n = ways_of(&r->aim, fit);

    if (!is_near_top(r) || (own->shape == SHAPE_ONE && own->kind != FIELD_OBJECT) || !n)
        return;
    for (r->forced = s->fields; r->forced < s->fields + s->n_fields; r->forced++)
        for (size_t i = 0;
             r->forced != own && r->forced->values && r->forced->shape == SHAPE_ONE && r->forced->values[i]; i++)
            for (size_t v = 0; v < ARRAY_LEN(values); v++) {
                r->forced_value = r->forced->values[i];
                one_case(r, fit[0], values[v]);
                one_case(r, fit[1 + (v + i) % (n - (n > 1)) - (n == 1)], values[v]);
            }
    r->forced = NULL;
}

static void on_spot(void *ctx, const struct spot *spot)
{
    struct run *r = ctx;

    r->spot = *spot;
    each_value(r);
    each_neighbour(r);
}

static void aim_at(struct run *r, const struct aim *aim)
{
    r->aim = *aim;
    if (aim->schema)
        spots_walk(aim->schema, on_spot, r);
}

/* The CustomResourceDefinition of shapes_base.h, as a table. */
static const struct field thing_item[] = { { "name", FIELD_STR } };
static const struct schema thing_item_schema = { "Item", thing_item, 1 };
static const struct field thing_spec[] = { { "replicas", FIELD_INT64 },
                                           { "text", FIELD_STR },
                                           { "flag", FIELD_BOOL },
                                           { "items", FIELD_OBJECT, SHAPE_LIST, .sub = &thing_item_schema },
                                           { "map", FIELD_STR, SHAPE_MAP } };
static const struct schema thing_spec_schema = { "ThingSpec", thing_spec, ARRAY_LEN(thing_spec) };
static const struct field thing_status[] = { { "replicas", FIELD_INT64 }, { "selector", FIELD_STR } };
static const struct schema thing_status_schema = { "ThingStatus", thing_status, ARRAY_LEN(thing_status) };
static const struct field thing[] = { { "metadata", FIELD_OBJECT, .sub = &schema_meta },
                                      { "spec", FIELD_OBJECT, .sub = &thing_spec_schema },
                                      { "status", FIELD_OBJECT, .sub = &thing_status_schema } };
static const struct schema thing_schema = { "Thing", thing, ARRAY_LEN(thing) };
static const struct resource_type thing_type = { .group = "shapes.test",
                                                 .version = "v1",
                                                 .kind = "Thing",
                                                 .plural = "things",
                                                 .subresources = { "status", "scale" },
                                                 .schema = &thing_schema };

static void aim_at_type(struct run *r, struct arena *a, const struct resource_type *t)
{
    struct aim aim = { t, NULL, t->schema, t->kind, type_api_version(a, t) };
    struct aim gone = {
        t, NULL, &schema_delete_options, "DeleteOptions", STR("v1"), 1u << VERB_DELETE | 1u << VERB_DELETE_COLLECTION
    };

    for (int v = VERB_CREATE; v <= VERB_PATCH; v++)
        aim.verbs |= type_allows(t, (enum verb)v) ? 1u << v : 0;
    aim_at(r, &aim);
    if (t->use == TYPE_STORED && (strcmp(t->kind, "Pod") == 0 || strcmp(t->kind, "Job") == 0 || t == &thing_type))
        aim_at(r, &gone);
    for (size_t i = 0; t->subresources[i]; i++) {
        const struct subresource *sub = subresource_of(t, str_of(t->subresources[i]));

        if (!sub || (sub->kind && !sub->schema)) /* a stream: nobody reads a body */
            continue;
        aim.sub = sub->name;
        aim.schema = sub->schema ? sub->schema : t->schema;
        aim.kind = sub->schema ? sub->kind : t->kind;
        aim.api_version = sub->schema ? arena_fmt(a, "%s%s%s", sub->group, sub->group[0] ? "/" : "", sub->version)
                                      : type_api_version(a, t);
        aim.verbs = 0;
        for (int v = VERB_CREATE; v <= VERB_PATCH; v++)
            aim.verbs |= sub->handle[v] ? 1u << v : 0;
        aim_at(r, &aim);
    }
}

static void all_cases(struct run *r)
{
    autoarena a = { 0 };

    r->world = shapes_world_new();
    for (size_t i = 0; i < n_resource_types; i++)
        if (resource_types[i].use != TYPE_MEASURED && resource_types[i].use != TYPE_ELSEWHERE)
            aim_at_type(r, &a, &resource_types[i]);
    aim_at_type(r, &a, &thing_type);
    shapes_world_free(r->world);
    arena_done(&r->arena);
}

/* ---- children ---- */

static int run_child(const struct run *like)
{
    struct run r = *like;
    int status = 0;
    pid_t pid;

    progress->wrong[0] = '\0';
    (void)fflush(NULL);
    if ((pid = fork()) == 0) {
        all_cases(&r);
        exit(0); /* what leaked is seen here */
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* All cases of a seed; how many failed. */
static size_t run_seed(struct run *r, size_t n_before)
{
    size_t n_failed = 0;
    int rc;

    while ((rc = run_child(r)) != 0 && n_before + n_failed < FAILURES_MAX) {
        n_failed += progress->n_requests ? 1 : FAILURES_MAX; /* no world, nothing to go on with */
        (void)fprintf(stderr, "\n==== seed %llu case %zu: %s (exit %d)\n%s\n", (unsigned long long)r->seed,
                      progress->at, progress->wrong[0] ? progress->wrong : "it killed the server", rc,
                      progress->request);
        r->start = progress->at + 1;
    }
    return n_failed;
}

int main(int argc, char **argv)
{
    int64_t seconds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    struct run r = { .seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1,
                     .start = argc > 3 ? strtoul(argv[3], NULL, 10) : 0 };
    size_t n_failed = 0;

    progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(progress != MAP_FAILED);
    r.end_ms = seconds ? run_now_ms() + seconds * 1000 : 0;
    do {
        n_failed += run_seed(&r, n_failed);
        r.seed++;
        r.start = 0;
    } while (seconds && !run_is_over(&r) && n_failed < FAILURES_MAX);
    printf("%zu requests (%zu taken, %zu refused) in %zu worlds, %zu failed\n", progress->n_requests, progress->n_taken,
           progress->n_refused, progress->n_worlds, n_failed);
    return n_failed ? 1 : 0;
}
