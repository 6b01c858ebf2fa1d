/* hollow.c - tests of nodes without machines */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "whatif/hollow.h"
#include "driver/test/fixture.h"
#include "store/store.h"

enum { T0 = 1700000000 };
#define T0_MS (T0 * INT64_C(1000))

struct world {
    struct hollow h;
    struct arena a;
    uint64_t rev;
};

static void world_init(struct world *w, int64_t start_ms, int64_t stop_ms)
{
    struct hollow_options opt = { .start_ms = start_ms, .stop_ms = stop_ms, .seed = 5 };

    *w = (struct world){ 0 };
    hollow_init(&w->h, &opt);
}

static void world_done(struct world *w)
{
    hollow_done(&w->h);
    arena_done(&w->a);
}

static void put(struct world *w, int64_t now_ms, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void put(struct world *w, int64_t now_ms, const char *fmt, ...)
{
    va_list ap;
    struct str text;
    struct object *o;

    va_start(ap, fmt);
    text = arena_vfmt(&w->a, fmt, ap);
    va_end(ap);
    o = object_of(&w->a, ++w->rev, text.p);
    hollow_put(&w->h, o, now_ms);
    object_unref(o);
}

#define POD(name, extra)                                                                                               \
    "{apiVersion: v1, kind: Pod, metadata: {name: " name ", namespace: d, uid: " name                                  \
    ", annotations: {pumice.dev/runtime: 90s}}, spec: {nodeName: n1, containers: [{name: c, image: i}, {name: d}],"    \
    " initContainers: [{name: e}]}" extra "}"

static void test_life(void **state)
{
    struct world w;
    struct op op;
    struct json *status;

    (void)state;
    world_init(&w, 2000, 500);
    assert_true(hollow_due_ms(&w.h) == INT64_MAX);
    put(&w, T0_MS, POD("p", ""));
    assert_true(hollow_due_ms(&w.h) == T0_MS + 2000);
    assert_false(hollow_next(&w.h, T0_MS + 1999, &w.a, &op));
    assert_true(hollow_next(&w.h, T0_MS + 2000, &w.a, &op));
    assert_int_equal(op.kind, OP_UPDATE_STATUS);
    status = json_get(op.body, "status");
    assert_true(str_is(json_member_text(status, "phase"), "Running"));
    assert_int_equal(json_count(json_get(status, "containerStatuses")), 2);
    assert_true(json_bool(json_get(json_at(json_get(status, "containerStatuses"), 0), "ready"), false));
    assert_non_null(json_find(json_at(json_get(status, "initContainerStatuses"), 0), "state", "terminated", NULL));
    assert_true(str_is(json_member_text(status, "startTime"), "2023-11-14T22:13:22Z"));
    assert_true(json_member_text(status, "podIP").n > 6 && json_member_text(status, "hostIP").n > 6);
    assert_int_equal(json_count(json_get(status, "conditions")), 4);
    assert_false(hollow_next(&w.h, T0_MS + 90000, &w.a, &op)); /* its write has not come back */

    put(&w, T0_MS + 2000, POD("p", ", status: {phase: Running, startTime: '2023-11-14T22:13:22Z'}"));
    assert_true(hollow_due_ms(&w.h) == T0_MS + 92000);
    assert_true(hollow_next(&w.h, T0_MS + 92000, &w.a, &op));
    status = json_get(op.body, "status");
    assert_true(str_is(json_member_text(status, "phase"), "Succeeded"));
    assert_int_equal(
        json_i64(json_find(json_at(json_get(status, "containerStatuses"), 1), "state", "terminated", "exitCode", NULL),
                 -1),
        0);
    put(&w, T0_MS + 92000, POD("p", ", status: {phase: Succeeded}"));
    assert_true(hollow_due_ms(&w.h) == INT64_MAX);
    assert_int_equal(map_count(&w.h.pods), 0);
    world_done(&w);
}

/* Each row: a pod as it is at T0, and when what is next due, with start 2 s and stop 5 s. */
static void test_due(void **state)
{
    static const struct {
        const char *name, *pod;
        int64_t due_ms; /* after T0; -1: never */
        enum op_kind kind;
    } cases[] = {
        { "unbound", "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d}, spec: {}}", -1, 0 },
        { "bound", "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d}, spec: {nodeName: n}}", 2000,
          OP_UPDATE_STATUS },
        { "runs for ever",
          "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d}, spec: {nodeName: n}, status: {phase: "
          "Running}}",
          -1, 0 },
        { "no duration",
          "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d, annotations: {pumice.dev/runtime: "
          "soon}}, spec: {nodeName: n}, status: {phase: Running}}",
          -1, 0 },
        { "started 30 s ago", POD("p", ", status: {phase: Running, startTime: '2023-11-14T22:12:50Z'}"), 60000,
          OP_UPDATE_STATUS },
        { "should have ended", POD("p", ", status: {phase: Running, startTime: '2023-01-01T00:00:00Z'}"), 0,
          OP_UPDATE_STATUS },
        { "runs, nobody knows since when", POD("p", ", status: {phase: Running}"), 90000, OP_UPDATE_STATUS },
        { "failed", POD("p", ", status: {phase: Failed}"), -1, 0 },
        { "going",
          "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d, deletionTimestamp: "
          "'2023-11-14T22:13:50Z', deletionGracePeriodSeconds: 30}, spec: {nodeName: n}, status: {phase: Running}}",
          5000, OP_DELETE },
        { "going, short grace",
          "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d, deletionTimestamp: "
          "'2023-11-14T22:13:21Z'}, spec: {nodeName: n}, status: {phase: Running}}",
          1000, OP_DELETE },
        { "going and ended",
          "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d, deletionTimestamp: "
          "'2023-11-14T22:13:50Z'}, spec: {nodeName: n}, status: {phase: Succeeded}}",
          0, OP_DELETE },
        { "nonsense",
          "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, namespace: d, deletionTimestamp: 7}, spec: "
          "{nodeName: n}, status: 8}",
          0, OP_DELETE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        struct op op;
        int64_t want = cases[i].due_ms < 0 ? INT64_MAX : T0_MS + cases[i].due_ms;

        world_init(&w, 2000, 5000);
        put(&w, T0_MS, "%s", cases[i].pod);
        if (hollow_due_ms(&w.h) != want)
            fail_msg("%s: due %lld ms after, not %lld", cases[i].name, (long long)(hollow_due_ms(&w.h) - T0_MS),
                     (long long)cases[i].due_ms);
        if (want != INT64_MAX) {
            assert_true(hollow_next(&w.h, want, &w.a, &op));
            if (op.kind != cases[i].kind)
                fail_msg("%s: another write", cases[i].name);
        }
        world_done(&w);
    }
}

/* News about a pod do not move what is due; a failed write is due again. */
static void test_again(void **state)
{
    struct world w;
    struct op op;

    (void)state;
    world_init(&w, 2000, 0);
    put(&w, T0_MS, POD("p", ""));
    put(&w, T0_MS + 1000, POD("p", ", status: {phase: Pending}"));
    assert_true(hollow_due_ms(&w.h) == T0_MS + 2000);
    assert_true(hollow_next(&w.h, T0_MS + 2000, &w.a, &op));
    hollow_failed(&w.h, STR("nobody"), T0_MS);
    hollow_failed(&w.h, STR("p"), T0_MS + 2100);
    assert_true(hollow_due_ms(&w.h) == T0_MS + 2100);
    hollow_gone(&w.h, STR("p"));
    hollow_gone(&w.h, STR("p"));
    assert_true(hollow_due_ms(&w.h) == INT64_MAX);
    world_done(&w);
}

/* At one time, in the order they came. */
static void test_order(void **state)
{
    struct world w;
    struct op op;

    (void)state;
    world_init(&w, 0, 0);
    for (int i = 0; i < 100; i++)
        put(&w, T0_MS,
            "{apiVersion: v1, kind: Pod, metadata: {name: p%d, uid: p%d, namespace: d}, spec: {nodeName: n}}", i, i);
    for (int i = 0; i < 100; i++) {
        assert_true(hollow_next(&w.h, T0_MS, &w.a, &op));
        assert_true(str_eq(op.name, arena_fmt(&w.a, "p%d", i)));
    }
    world_done(&w);
}

/* What the store makes of it: nothing that others wrote is lost, and the pod goes in the end. */
static void test_on_a_store(void **state)
{
    struct clock_manual clock;
    struct store_options opt = { .clock = &clock.clock, .seed = 1 };
    struct store *s;
    struct world w;
    struct op op;
    struct err e = { 0 };
    const struct object *o;
    const struct resource_type *type = type_by_name(STR("pod"));

    (void)state;
    clock_manual_init(&clock, T0_MS);
    s = store_new(&opt);
    world_init(&w, 0, 0);
    assert_int_equal(store_restore(s,
                                   tree_of(&w.a, POD("p", ", status: {phase: Pending, conditions: [{type: Mine,"
                                                          " status: 'True'}], message: kept}")),
                                   NULL, &e),
                     0);
    hollow_put(&w.h, store_get(s, type, STR("d"), STR("p")), T0_MS);
    assert_true(hollow_next(&w.h, T0_MS, &w.a, &op));
    if (store_apply(s, &op, NULL, &e) < 0)
        fail_msg("%s", e.text);
    o = store_get(s, type, STR("d"), STR("p"));
    assert_true(str_is(json_text(json_find(o->root, "status", "message", NULL), STR("")), "kept"));
    assert_int_equal(json_count(json_find(o->root, "status", "conditions", NULL)), 5);
    hollow_put(&w.h, o, T0_MS);
    assert_int_equal(store_delete(s, &(struct object_key){ type, STR("d"), STR("p") },
                                  &(struct store_delete_options){ .grace_s = -1 }, NULL, &e),
                     0);
    hollow_put(&w.h, store_get(s, type, STR("d"), STR("p")), T0_MS);
    assert_true(hollow_next(&w.h, T0_MS, &w.a, &op));
    assert_int_equal(store_apply(s, &op, NULL, &e), 0);
    assert_null(store_get(s, type, STR("d"), STR("p")));
    world_done(&w);
    store_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),  cmocka_unit_test(test_due),        cmocka_unit_test(test_again),
        cmocka_unit_test(test_order), cmocka_unit_test(test_on_a_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
