/* conformance.c - what every cluster promises (cluster.h), tried on cluster_embedded
 *
 * The simulation, which is late and loses things, has a suite of its own (sim.c).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "cluster/cluster.h"
#include "store/store.h"

struct world {
    struct clock_manual clock;
    struct store *store;
    struct cluster *cluster;
    struct arena arena;
    const struct resource_type *map, *secret;
};

static void world_init(struct world *w, size_t history)
{
    struct store_options opt = { .seed = 3, .history = history };

    *w = (struct world){ 0 };
    clock_manual_init(&w->clock, 1700000000000);
    opt.clock = &w->clock.clock;
    w->store = store_new(&opt);
    w->cluster = cluster_embedded_new(w->store, &w->clock.clock);
    w->map = type_by_name(STR("configmaps"));
    w->secret = type_by_name(STR("secrets"));
}

static void world_done(struct world *w)
{
    cluster_free(w->cluster);
    store_free(w->store);
    arena_done(&w->arena);
}

static struct json *new_map(struct world *w, const char *name, const char *value)
{
    struct json *o = object_new(&w->arena, "v1", "ConfigMap", STR("default"), str_of(name));

    json_set(json_set(o, "data", json_object(&w->arena)), "key", json_str(&w->arena, str_of(value)));
    return o;
}

static uint64_t create(struct world *w, const char *name)
{
    struct op op = { .kind = OP_CREATE, .type = w->map, .namespace = STR("default"), .name = str_of(name) };

    op.body = new_map(w, name, "1");
    return cluster_write(w->cluster, &op);
}

static uint64_t delete (struct world *w, const char *name, struct str uid)
{
    struct op op = {
        .kind = OP_DELETE, .type = w->map, .namespace = STR("default"), .name = str_of(name), .uid = uid, .grace_s = -1
    };

    return cluster_write(w->cluster, &op);
}

/* The rest of what there is to tell, as "PUT a, SYNCED, RESULT 1 ok a …". */
static struct str told(struct world *w)
{
    static const char *const names[CLUSTER_EVENT_KIND_MAX] = { "PUT", "GONE", "RELIST", "SYNCED", "RESULT" };
    autobuf out = { 0 };

    for (struct cluster_event ev; cluster_next(w->cluster, &ev);) {
        buf_fmt(&out, "%s%s", out.n ? ", " : "", names[ev.kind]);
        if (ev.kind == CLUSTER_RESULT)
            buf_fmt(&out, " %llu %s", (unsigned long long)ev.token, ev.err.code ? err_code_name(ev.err.code) : "ok");
        if (ev.object)
            buf_fmt(&out, " %.*s", STR_ARG(ev.object->name));
        if (ev.type == w->secret)
            buf_fmt(&out, " (secret)");
    }
    return arena_str(&w->arena, buf_view(&out));
}

#define assert_told(w, want)                                                                                           \
    do {                                                                                                               \
        struct str told_ = told(w);                                                                                    \
        if (!str_is(told_, (want)))                                                                                    \
            fail_msg("want: %s\n got: %.*s", (want), STR_ARG(told_));                                                  \
    } while (0)

static void lists_then_watches(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 0);
    assert_told(&w, "");
    create(&w, "b");
    create(&w, "a");
    assert_told(&w, "RESULT 1 ok b, RESULT 2 ok a"); /* nobody asked for ConfigMaps */
    cluster_want(w.cluster, w.map);
    cluster_want(w.cluster, w.map); /* twice is once */
    assert_told(&w, "RELIST, PUT a, PUT b, SYNCED");
    assert_told(&w, "");
    create(&w, "c");
    delete (&w, "a", STR_NULL);
    assert_told(&w, "RESULT 3 ok c, RESULT 4 ok, PUT c, GONE a");
    assert_told(&w, "");
    world_done(&w);
}

static void answers_errors(void **state)
{
    struct world w;
    struct op op = { .kind = OP_UPDATE, .namespace = STR("default"), .name = STR("a") };
    const struct object *a;

    (void)state;
    world_init(&w, 0);
    create(&w, "a");
    create(&w, "a");
    delete (&w, "none", STR_NULL);
    delete (&w, "a", STR("another-uid"));
    assert_told(&w, "RESULT 1 ok a, RESULT 2 AlreadyExists, RESULT 3 NotFound, RESULT 4 Conflict");
    a = store_get(w.store, w.map, STR("default"), STR("a"));
    op.type = w.map;
    op.body = json_copy(&w.arena, a->root);
    json_set(json_get(op.body, "data"), "key", json_str(&w.arena, STR("2")));
    cluster_write(w.cluster, &op);
    json_set(json_get(op.body, "data"), "key", json_str(&w.arena, STR("3")));
    cluster_write(w.cluster, &op); /* with the old resourceVersion */
    assert_told(&w, "RESULT 5 ok a, RESULT 6 Conflict");
    world_done(&w);
}

static void reads_afresh(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 0);
    create(&w, "a");
    assert_int_not_equal(cluster_read(w.cluster, w.map, STR("default"), STR("a")), 0);
    cluster_read(w.cluster, w.map, STR("default"), STR("none"));
    assert_told(&w, "RESULT 1 ok a, RESULT 2 ok a, RESULT 3 ok");
    world_done(&w);
}

/* The op is copied: what it was made of may go before the answer is taken. */
static void op_is_copied(void **state)
{
    struct world w;
    struct cluster_event ev;

    (void)state;
    world_init(&w, 0);
    create(&w, "a");
    arena_reset(&w.arena);
    memset(arena_alloc(&w.arena, 2000), 'x', 2000);
    assert_true(cluster_next(w.cluster, &ev));
    assert_true(str_is(json_text(json_find(ev.object->root, "data", "key", NULL), STR_NULL), "1"));
    assert_int_equal(ev.err.code, ERR_OK);
    assert_false(ev.is_unknown);
    world_done(&w);
}

/* A delete that has to wait for a finalizer shows the object, one that need not shows nothing. */
static void deletes_show_what_is_left(void **state)
{
    struct world w;
    struct cluster_event ev;
    struct json *body;

    (void)state;
    world_init(&w, 0);
    body = new_map(&w, "a", "1");
    json_push(json_set(json_get(body, "metadata"), "finalizers", json_array(&w.arena)),
              json_str(&w.arena, STR("example.com/wait")));
    assert_int_equal(store_create(w.store, body, NULL, NULL), 0);
    delete (&w, "a", STR_NULL);
    assert_true(cluster_next(w.cluster, &ev));
    assert_non_null(ev.object);
    assert_true(json_member_text(json_get(ev.object->root, "metadata"), "deletionTimestamp").n > 0);
    world_done(&w);
}

static void binds_and_patches_status(void **state)
{
    const struct resource_type *pods = type_by_kind(STR("v1"), STR("Pod"));
    struct plan plan = { 0 };
    struct world w;

    (void)state;
    world_init(&w, 0);
    plan.arena = &w.arena;
    assert_int_equal(store_create(w.store, object_new(&w.arena, "v1", "Pod", STR("default"), STR("p")), NULL, NULL), 0);
    cluster_want(w.cluster, pods);
    assert_told(&w, "RELIST, PUT p, SYNCED");
    plan_bind(&plan, STR("default"), STR("p"), STR_NULL, STR("n1"));
    plan_bind(&plan, STR("default"), STR("p"), STR_NULL, STR("n2"));
    plan_bind(&plan, STR("default"), STR("none"), STR_NULL, STR("n1"));
    plan_patch_status(&plan, pods, STR("default"), STR("p"), STR("other"), json_object(&w.arena));
    plan_patch_status(&plan, pods, STR("default"), STR("p"), STR_NULL, json_object(&w.arena)); /* of nothing */
    for (size_t i = 0; i < plan.ops.n; i++)
        cluster_write(w.cluster, &plan.ops.v[i]);
    assert_told(&w, "RESULT 1 ok p, RESULT 2 Conflict, RESULT 3 NotFound, RESULT 4 Conflict, RESULT 5 ok p, PUT p");
    world_done(&w);
}

static void tells_types_in_order(void **state)
{
    struct world w;
    struct json *secret;

    (void)state;
    world_init(&w, 0);
    cluster_want(w.cluster, w.secret);
    cluster_want(w.cluster, w.map);
    assert_told(&w, "RELIST (secret), SYNCED (secret), RELIST, SYNCED");
    assert_int_equal(store_create(w.store, new_map(&w, "a", "1"), NULL, NULL), 0);
    secret = object_new(&w.arena, "v1", "Secret", STR("default"), STR("s"));
    assert_int_equal(store_create(w.store, secret, NULL, NULL), 0);
    assert_int_equal(store_create(w.store, new_map(&w, "b", "1"), NULL, NULL), 0);
    assert_told(&w, "PUT a, PUT s (secret), PUT b"); /* by revision, whatever the type */
    world_done(&w);
}

static void lists_again_after_a_gap(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 0);
    cluster_want(w.cluster, w.map);
    assert_told(&w, "RELIST, SYNCED");
    assert_int_equal(store_create(w.store, new_map(&w, "a", "1"), NULL, NULL), 0);
    assert_int_equal(store_create(w.store, new_map(&w, "b", "1"), NULL, NULL), 0);
    store_compact(w.store, store_revision(w.store));
    assert_told(&w, "RELIST, PUT a, PUT b, SYNCED");
    assert_int_equal(store_create(w.store, new_map(&w, "c", "1"), NULL, NULL), 0);
    assert_told(&w, "PUT c");
    world_done(&w);
}

static void list_says_its_revision(void **state)
{
    struct world w;
    struct cluster_event ev;

    (void)state;
    world_init(&w, 0);
    create(&w, "a");
    cluster_want(w.cluster, w.map);
    while (cluster_next(w.cluster, &ev) && ev.kind != CLUSTER_SYNCED)
        ;
    assert_int_equal(ev.kind, CLUSTER_SYNCED);
    assert_int_equal(ev.rev, store_revision(w.store));
    world_done(&w);
}

static void tells_the_time(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 0);
    assert_int_equal(cluster_now_ms(w.cluster), 1700000000000);
    clock_manual_advance(&w.clock, 5);
    assert_int_equal(cluster_now_ms(w.cluster), 1700000000005);
    world_done(&w);
}

/* Whatever is left untold is released. */
static void may_be_freed_in_the_middle(void **state)
{
    struct world w;
    struct cluster_event ev;

    (void)state;
    world_init(&w, 0);
    create(&w, "a");
    create(&w, "b");
    cluster_want(w.cluster, w.map);
    for (int i = 0; i < 4; i++)
        assert_true(cluster_next(w.cluster, &ev));
    assert_int_equal(ev.kind, CLUSTER_PUT);
    create(&w, "c");
    world_done(&w);
}

int main(void)
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

    return cmocka_run_group_tests(tests, NULL, NULL);
}
