/* conformance.c - what every cluster promises, tried on whichever is given */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster/test/conformance.h"

#include "api/meta.h"
#include "base/list.h"
#include "base/util.h"

static const struct conformance_class *tried;

/* ---- what was told ---- */

struct line {
    struct list_link link;
    uint64_t token; /* 0: news */
    char text[120];
};

struct log {
    struct list answers, news; /* answers by token */
    unsigned n;
};

static void log_line(struct log *log, uint64_t token, struct str text)
{
    struct line *line = xcalloc(1, sizeof(*line));
    struct list_link *before = &log->answers.head;

    line->token = token;
    (void)snprintf(line->text, sizeof(line->text), "%.*s", STR_ARG(text));
    log->n++;
    if (!token) {
        list_push(&log->news, &line->link);
        return;
    }
    LIST_FOREACH(struct line, other, &log->answers, link)
        if (before == &log->answers.head && other->token > token)
            before = &other->link;
    list_insert_before(before, &line->link);
}

static void log_clear(struct log *log)
{
    LIST_FOREACH(struct line, line, &log->answers, link)
        free(line);
    LIST_FOREACH(struct line, line, &log->news, link)
        free(line);
    list_init(&log->answers);
    list_init(&log->news);
    log->n = 0;
}

static void hear(struct conformance_world *w, const struct cluster_event *ev)
{
    static const char *const names[CLUSTER_EVENT_KIND_MAX] = { "PUT", "GONE", "RELIST", "SYNCED", "RESULT" };
    autobuf out = { 0 };

    buf_fmt(&out, "%s", names[ev->kind]);
    if (ev->kind == CLUSTER_RESULT)
        buf_fmt(&out, " %llu %s", (unsigned long long)ev->token, ev->err.code ? err_code_name(ev->err.code) : "ok");
    if (ev->object)
        buf_fmt(&out, " %.*s", STR_ARG(ev->object->name));
    if (ev->type == w->secret)
        buf_fmt(&out, " (secret)");
    log_line(w->log, ev->kind == CLUSTER_RESULT ? ev->token : 0, buf_view(&out));
}

/* The next event, waited for. */
static void next(struct conformance_world *w, struct cluster_event *ret)
{
    while (!cluster_next(w->cluster, ret)) {
        if (!w->class->wait)
            fail_msg("nothing is told");
        w->class->wait(w);
    }
}

static void drain(struct conformance_world *w)
{
    for (struct cluster_event ev; cluster_next(w->cluster, &ev);)
        hear(w, &ev);
}

static bool is_answered(const struct conformance_world *w, uint64_t token)
{
    LIST_FOREACH(struct line, line, &w->log->answers, link)
        if (line->token == token)
            return true;
    return false;
}

/* Requests overtake each other: where the order matters, one waits. */
static uint64_t settle(struct conformance_world *w, uint64_t token)
{
    drain(w);
    while (!is_answered(w, token) && w->class->wait) {
        w->class->wait(w);
        drain(w);
    }
    return token;
}

static unsigned count_parts(const char *want)
{
    unsigned n = *want != '\0';

    for (; *want; want++)
        n += *want == ',';
    return n;
}

/* All that was told since the last time, as "RESULT 1 ok a, PUT a, SYNCED …"; 'n' parts of it are waited for. */
static struct str told(struct conformance_world *w, unsigned n)
{
    struct list *lists[] = { &w->log->answers, &w->log->news };
    autobuf out = { 0 };

    drain(w);
    while (w->log->n < n && w->class->wait) {
        w->class->wait(w);
        drain(w);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        LIST_FOREACH(struct line, line, lists[i], link)
            buf_fmt(&out, "%s%s", out.n ? ", " : "", line->text);
    log_clear(w->log);
    return arena_str(&w->arena, buf_view(&out));
}

#define assert_told(w, want)                                                                                           \
    do {                                                                                                               \
        struct str told_ = told(w, count_parts(want));                                                                 \
        if (!str_is(told_, (want)))                                                                                    \
            fail_msg("want: %s\n got: %.*s", (want), STR_ARG(told_));                                                  \
    } while (0)

/* ---- the world ---- */

static void world_init(struct conformance_world *w)
{
    *w = (struct conformance_world){ .class = tried };
    clock_manual_init(&w->clock, 1700000000000);
    w->clock.clock.mono_us = clock_real.mono_us;
    w->map = type_by_name(STR("configmaps"));
    w->secret = type_by_name(STR("secrets"));
    w->pod = type_by_kind(STR("v1"), STR("Pod"));
    w->log = xcalloc(1, sizeof(*w->log));
    list_init(&w->log->answers);
    list_init(&w->log->news);
    w->class->begin(w);
}

static void world_done(struct conformance_world *w)
{
    cluster_free(w->cluster);
    w->class->end(w);
    log_clear(w->log);
    free(w->log);
    arena_done(&w->arena);
}

static struct json *new_map(struct conformance_world *w, const char *name, const char *value)
{
    struct json *o = object_new(&w->arena, "v1", "ConfigMap", w->namespace, str_of(name));

    json_set(json_set(o, "data", json_object(&w->arena)), "key", json_str(&w->arena, str_of(value)));
    return o;
}

static uint64_t create(struct conformance_world *w, const char *name)
{
    struct op op = { .kind = OP_CREATE, .type = w->map, .namespace = w->namespace, .name = str_of(name) };

    op.body = new_map(w, name, "1");
    return settle(w, cluster_write(w->cluster, &op));
}

static uint64_t delete (struct conformance_world *w, const char *name, struct str uid)
{
    struct op op = {
        .kind = OP_DELETE, .type = w->map, .namespace = w->namespace, .name = str_of(name), .uid = uid, .grace_s = -1
    };

    return settle(w, cluster_write(w->cluster, &op));
}

/* What a read shows, as a tree of the world's own. */
static struct json *read_back(struct conformance_world *w, const char *name)
{
    struct cluster_event ev;
    uint64_t token = cluster_read(w->cluster, w->map, w->namespace, str_of(name));
    autobuf text = { 0 };
    struct json *copy;

    do
        next(w, &ev);
    while (ev.kind != CLUSTER_RESULT || ev.token != token);
    assert_non_null(ev.object);
    json_print(&text, ev.object->root);
    assert_int_equal(json_parse(&w->arena, arena_str(&w->arena, buf_view(&text)), NULL, &copy, NULL), 0);
    return copy;
}

/* ---- cases ---- */

static void lists_then_watches(void **state)
{
    struct conformance_world w;

    (void)state;
    world_init(&w);
    assert_told(&w, "");
    create(&w, "b");
    create(&w, "a");
    assert_told(&w, "RESULT 1 ok b, RESULT 2 ok a"); /* nobody asked for ConfigMaps */
    cluster_want(w.cluster, w.map);
    cluster_want(w.cluster, w.map); /* twice is once */
    assert_told(&w, "RELIST, PUT a, PUT b, SYNCED");
    create(&w, "c");
    delete (&w, "a", STR_NULL);
    assert_told(&w, "RESULT 3 ok c, RESULT 4 ok, PUT c, GONE a");
    assert_told(&w, "");
    world_done(&w);
}

static void answers_errors(void **state)
{
    struct conformance_world w;
    struct op op = { .kind = OP_UPDATE, .name = STR("a") };

    (void)state;
    world_init(&w);
    create(&w, "a");
    create(&w, "a");
    delete (&w, "none", STR_NULL);
    delete (&w, "a", STR("another-uid"));
    assert_told(&w, "RESULT 1 ok a, RESULT 2 AlreadyExists, RESULT 3 NotFound, RESULT 4 Conflict");
    op.type = w.map;
    op.namespace = w.namespace;
    op.body = read_back(&w, "a");
    json_set(json_get(op.body, "data"), "key", json_str(&w.arena, STR("2")));
    settle(&w, cluster_write(w.cluster, &op));
    json_set(json_get(op.body, "data"), "key", json_str(&w.arena, STR("3")));
    settle(&w, cluster_write(w.cluster, &op)); /* with the old resourceVersion */
    assert_told(&w, "RESULT 6 ok a, RESULT 7 Conflict");
    assert_true(str_is(json_member_text(json_get(read_back(&w, "a"), "data"), "key"), "2"));
    world_done(&w);
}

static void reads_afresh(void **state)
{
    struct conformance_world w;

    (void)state;
    world_init(&w);
    create(&w, "a");
    assert_int_not_equal(cluster_read(w.cluster, w.map, w.namespace, STR("a")), 0);
    cluster_read(w.cluster, w.map, w.namespace, STR("none"));
    assert_told(&w, "RESULT 1 ok a, RESULT 2 ok a, RESULT 3 ok");
    world_done(&w);
}

/* The op is copied: what it was made of may go before the answer is taken. */
static void op_is_copied(void **state)
{
    struct conformance_world w;
    struct op op = { .kind = OP_CREATE, .name = STR("a") };
    struct cluster_event ev;

    (void)state;
    world_init(&w);
    op.type = w.map;
    op.namespace = w.namespace;
    op.body = new_map(&w, "a", "1");
    cluster_write(w.cluster, &op);
    arena_reset(&w.arena);
    memset(arena_alloc(&w.arena, 2000), 'x', 2000);
    next(&w, &ev);
    assert_int_equal(ev.err.code, ERR_OK);
    assert_true(str_is(json_text(json_find(ev.object->root, "data", "key", NULL), STR_NULL), "1"));
    assert_false(ev.is_unknown);
    world_done(&w);
}

/* A delete that has to wait for a finalizer shows the object, one that need not shows nothing. */
static void deletes_show_what_is_left(void **state)
{
    struct conformance_world w;
    struct op op = { .kind = OP_DELETE, .name = STR("a"), .grace_s = -1 };
    struct cluster_event ev;
    struct json *body;

    (void)state;
    world_init(&w);
    body = new_map(&w, "a", "1");
    json_push(json_set(json_get(body, "metadata"), "finalizers", json_array(&w.arena)),
              json_str(&w.arena, STR("example.com/wait")));
    w.class->put(&w, body);
    op.type = w.map;
    op.namespace = w.namespace;
    cluster_write(w.cluster, &op);
    next(&w, &ev);
    assert_non_null(ev.object);
    assert_true(json_member_text(json_get(ev.object->root, "metadata"), "deletionTimestamp").n > 0);
    op.kind = OP_MERGE_PATCH;
    body = op.body = json_object(&w.arena);
    json_set(json_need_object(&w.arena, body, "metadata"), "finalizers", json_null(&w.arena));
    settle(&w, cluster_write(w.cluster, &op));
    assert_told(&w, "RESULT 2 ok a");
    world_done(&w);
}

static struct json *new_pod(struct conformance_world *w, const char *name)
{
    struct json *pod = object_new(&w->arena, "v1", "Pod", w->namespace, str_of(name)), *c = json_object(&w->arena);

    json_set(c, "name", json_str(&w->arena, STR("main")));
    json_set(c, "image", json_str(&w->arena, STR("debian:12")));
    json_push(json_need_array(&w->arena, json_need_object(&w->arena, pod, "spec"), "containers"), c);
    return pod;
}

static void binds_and_patches_status(void **state)
{
    struct conformance_world w;
    struct plan plan = { 0 };

    (void)state;
    world_init(&w);
    plan.arena = &w.arena;
    w.class->put(&w, new_pod(&w, "p"));
    cluster_want(w.cluster, w.pod);
    assert_told(&w, "RELIST, PUT p, SYNCED");
    plan_bind(&plan, w.namespace, STR("p"), STR_NULL, STR("n1"));
    plan_bind(&plan, w.namespace, STR("p"), STR_NULL, STR("n2"));
    plan_bind(&plan, w.namespace, STR("none"), STR_NULL, STR("n1"));
    plan_patch_status(&plan, (struct object_id){ w.pod, w.namespace, STR("p"), STR("other") }, json_object(&w.arena));
    plan_patch_status(&plan, (struct object_id){ w.pod, w.namespace, STR("p"), STR_NULL },
                      json_object(&w.arena)); /* of nothing */
    plan_delete(&plan, (struct object_id){ w.pod, w.namespace, STR("p"), STR_NULL })->grace_s = 0;
    for (size_t i = 0; i < plan.ops.n - 1; i++)
        settle(&w, cluster_write(w.cluster, &plan.ops.v[i]));
    if (w.class->wait) /* a binding need not be answered with the object */
        assert_told(&w, "RESULT 1 ok, RESULT 2 Conflict, RESULT 3 NotFound, RESULT 4 Conflict, RESULT 5 ok p, PUT p");
    else
        assert_told(&w, "RESULT 1 ok p, RESULT 2 Conflict, RESULT 3 NotFound, RESULT 4 Conflict, RESULT 5 ok p, PUT p");
    /* A pod that has a node may be told as one that is going first. */
    settle(&w, cluster_write(w.cluster, &plan.ops.v[plan.ops.n - 1]));
    while (list_is_empty(&w.log->news) || strcmp(LIST_LAST(&w.log->news, struct line, link)->text, "GONE p") != 0) {
        if (w.class->wait)
            w.class->wait(&w);
        drain(&w);
    }
    assert_string_equal(LIST_FIRST(&w.log->answers, struct line, link)->text, "RESULT 6 ok");
    world_done(&w);
}

static void tells_types_in_order(void **state)
{
    struct conformance_world w;
    struct json *secret;

    (void)state;
    world_init(&w);
    if (w.class->has_order) {
        cluster_want(w.cluster, w.secret);
        cluster_want(w.cluster, w.map);
        assert_told(&w, "RELIST (secret), SYNCED (secret), RELIST, SYNCED");
        w.class->put(&w, new_map(&w, "a", "1"));
        secret = object_new(&w.arena, "v1", "Secret", w.namespace, STR("s"));
        w.class->put(&w, secret);
        w.class->put(&w, new_map(&w, "b", "1"));
        assert_told(&w, "PUT a, PUT s (secret), PUT b"); /* by revision, whatever the type */
    }
    world_done(&w);
}

static void lists_again_after_a_gap(void **state)
{
    struct conformance_world w;

    (void)state;
    world_init(&w);
    if (w.class->gap) {
        cluster_want(w.cluster, w.map);
        assert_told(&w, "RELIST, SYNCED");
        w.class->gap(&w, true);
        w.class->put(&w, new_map(&w, "a", "1"));
        w.class->put(&w, new_map(&w, "b", "1"));
        w.class->gap(&w, false);
        assert_told(&w, "RELIST, PUT a, PUT b, SYNCED");
        w.class->put(&w, new_map(&w, "c", "1"));
        assert_told(&w, "PUT c");
    }
    world_done(&w);
}

static void list_says_its_revision(void **state)
{
    struct conformance_world w;
    struct cluster_event ev;
    uint64_t seen = 0;

    (void)state;
    world_init(&w);
    w.class->put(&w, new_map(&w, "a", "1"));
    cluster_want(w.cluster, w.map);
    do {
        next(&w, &ev);
        seen = ev.object ? ev.object->rev : seen;
    } while (ev.kind != CLUSTER_SYNCED);
    assert_true(seen > 0);
    assert_true(ev.rev >= seen);
    w.class->put(&w, new_map(&w, "b", "1"));
    next(&w, &ev);
    assert_true(ev.object->rev > seen);
    world_done(&w);
}

static void tells_the_time(void **state)
{
    struct conformance_world w;

    (void)state;
    world_init(&w);
    if (w.class->has_clock) {
        assert_int_equal(cluster_now_ms(w.cluster), 1700000000000);
        clock_manual_advance(&w.clock, 5);
        assert_int_equal(cluster_now_ms(w.cluster), 1700000000005);
    }
    world_done(&w);
}

/* Whatever is left untold, or on its way, is released. */
static void may_be_freed_in_the_middle(void **state)
{
    struct conformance_world w;
    struct op op = { .kind = OP_CREATE, .name = STR("c") };
    struct cluster_event ev;

    (void)state;
    world_init(&w);
    w.class->put(&w, new_map(&w, "a", "1"));
    w.class->put(&w, new_map(&w, "b", "1"));
    cluster_want(w.cluster, w.map);
    for (int i = 0; i < 2; i++)
        next(&w, &ev);
    assert_int_equal(ev.kind, CLUSTER_PUT);
    op.type = w.map;
    op.namespace = w.namespace;
    op.body = new_map(&w, "c", "1");
    cluster_write(w.cluster, &op);
    world_done(&w);
}

int conformance_run(const struct conformance_class *class)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_then_watches),
        cmocka_unit_test(answers_errors),
        cmocka_unit_test(reads_afresh),
        cmocka_unit_test(op_is_copied),
        cmocka_unit_test(deletes_show_what_is_left),
        cmocka_unit_test(binds_and_patches_status),
        cmocka_unit_test(tells_types_in_order),
        cmocka_unit_test(lists_again_after_a_gap),
        cmocka_unit_test(list_says_its_revision),
        cmocka_unit_test(tells_the_time),
        cmocka_unit_test(may_be_freed_in_the_middle),
    };

    tried = class;
    return cmocka_run_group_tests_name(class->name, tests, NULL, NULL);
}
