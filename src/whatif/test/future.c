/* future.c - tests of clusters on virtual time: jobs live from submission to their end without anybody waiting */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/util.h"
#include "whatif/future.h"
#include "driver/test/fixture.h"
#include "store/store.h"

#define T0_MS (1700000000 * INT64_C(1000))

struct world {
    struct future *f;
    struct arena a;
    size_t changes;
    uint64_t history; /* of all changes */
};

static void on_changed(void *ctx, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct world *w = ctx;
    autobuf text = { 0 };

    json_print(&text, o->root);
    buf_fmt(&text, "%d%lld", is_gone, (long long)now_ms);
    w->history = str_hash(buf_view(&text), w->history);
    w->changes++;
}

static void world_init(struct world *w, struct future_options opt)
{
    *w = (struct world){ 0 };
    opt.now_ms = T0_MS;
    opt.changed = on_changed;
    opt.ctx = w;
    w->f = future_new(&opt);
}

static void world_done(struct world *w)
{
    future_free(w->f);
    arena_done(&w->a);
}

static void add(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct world *w, const char *fmt, ...)
{
    va_list ap;
    struct str text;
    struct err e;

    va_start(ap, fmt);
    text = arena_vfmt(&w->a, fmt, ap);
    va_end(ap);
    if (future_add(w->f, tree_of(&w->a, text.p), &e) < 0)
        fail_msg("%s: %s", e.text, text.p);
}

static void add_node(struct world *w, const char *name, int cpu)
{
    add(w,
        "{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: %d, memory: 64Gi, pods: 110},"
        " capacity: {cpu: %d, memory: 64Gi, pods: 110}, conditions: [{type: Ready, status: 'True'}]}}",
        name, cpu, cpu);
}

static void add_job(struct world *w, const char *name, int pods, int cpu, const char *runtime)
{
    add(w,
        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: %s, namespace: default, annotations:"
        " {pumice.dev/runtime: '%s'}}, spec: {minAvailable: %d, queue: default, schedulerName: volcano, maxRetry: 3,"
        " tasks: [{name: main, replicas: %d, minAvailable: %d, maxRetry: 3, policies: [], template: {spec:"
        " {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: %d}}}]}}}]}}",
        name, runtime, pods, pods, pods, cpu);
}

static const struct json *get(struct world *w, const char *kind, const char *name)
{
    const struct object *o = future_get(w->f, type_by_name(str_of(kind)), STR("default"), str_of(name));

    return o ? o->root : NULL;
}

static struct str phase_of(struct world *w, const char *job)
{
    return json_text(json_find(get(w, "Job", job), "status", "state", "phase", NULL), STR("none"));
}

static void check_phase(struct world *w, const char *job, const char *want)
{
    if (!str_is(phase_of(w, job), want))
        fail_msg("%s at +%llds is %.*s, not %s", job, (long long)(future_now_ms(w->f) - T0_MS) / 1000,
                 STR_ARG(phase_of(w, job)), want);
}

static void test_one_job(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, (struct future_options){ 0 });
    add_node(&w, "n1", 4);
    add_job(&w, "a", 2, 2, "10m");
    assert_true(future_settle(w.f) <= T0_MS + 600000);
    check_phase(&w, "a", "Running");
    assert_false(future_is_idle(w.f));
    future_run(w.f, T0_MS + 599000);
    check_phase(&w, "a", "Running");
    assert_true(str_is(json_text(json_find(get(&w, "Pod", "a-main-0"), "status", "phase", NULL), STR("")), "Running"));
    future_run(w.f, T0_MS + 600000);
    check_phase(&w, "a", "Completed");
    assert_true(future_now_ms(w.f) == T0_MS + 600000);
    world_done(&w);
}

/* Only one of the two fits: the second starts when the first ends. */
static void test_two_after_each_other(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, (struct future_options){ 0 });
    add_node(&w, "n1", 4);
    add_job(&w, "a", 2, 2, "10m");
    add_job(&w, "b", 2, 2, "5m");
    future_run(w.f, T0_MS + 599000);
    check_phase(&w, "a", "Running");
    check_phase(&w, "b", "Pending");
    future_run(w.f, T0_MS + 610000);
    check_phase(&w, "a", "Completed");
    check_phase(&w, "b", "Running");
    future_run(w.f, T0_MS + 910000);
    check_phase(&w, "b", "Completed");
    world_done(&w);
}

static void test_never_fits(void **state)
{
    struct world w;
    struct sched_group_view view;
    const struct json *job;

    (void)state;
    world_init(&w, (struct future_options){ 0 });
    add_node(&w, "n1", 4);
    add_job(&w, "a", 2, 3, "10m");
    future_run(w.f, T0_MS + 3600000);
    check_phase(&w, "a", "Pending");
    job = get(&w, "Job", "a");
    assert_true(sched_group_view(future_sched(w.f), STR("default"), arena_fmt(&w.a, "a-%.*s", STR_ARG(object_uid(job))),
                                 &view));
    assert_true(view.why && view.why->kind != WHY_NOT);
    world_done(&w);
}

static void test_objects_stay_as_they_are(void **state)
{
    struct world w;
    const struct json *pod;

    (void)state;
    world_init(&w, (struct future_options){ .stands_still = true });
    add_node(&w, "n1", 4);
    add(&w, "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: my-uid, creationTimestamp: '2020-01-01T00:00:00Z'},"
            " spec: {nodeName: n1, containers: [{name: c}]}, status: {phase: Running, podIP: 1.2.3.4}}");
    future_run(w.f, T0_MS + 1000);
    pod = get(&w, "Pod", "p");
    assert_true(str_is(object_uid(pod), "my-uid"));
    assert_true(
        str_is(json_text(json_find(pod, "metadata", "creationTimestamp", NULL), STR("")), "2020-01-01T00:00:00Z"));
    assert_true(str_is(json_text(json_find(pod, "status", "podIP", NULL), STR("")), "1.2.3.4"));
    assert_non_null(future_get(w.f, type_by_name(STR("namespace")), STR_NULL, STR("default")));
    world_done(&w);
}

static void test_a_running_pod_ends(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, (struct future_options){ 0 });
    add_node(&w, "n1", 4);
    add(&w,
        "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {pumice.dev/runtime: 1h}}, spec: {nodeName: n1,"
        " containers: [{name: c}]}, status: {phase: Running, startTime: '2023-11-14T21:43:20Z'}}");
    add_job(&w, "a", 1, 4, "1m");
    assert_int_equal(future_declared_ms(w.f, get(&w, "Pod", "p")), 3600000);
    future_run(w.f, T0_MS + 1799000); /* it began half an hour ago */
    assert_true(str_is(json_text(json_find(get(&w, "Pod", "p"), "status", "phase", NULL), STR("")), "Running"));
    future_run(w.f, T0_MS + 1800000);
    assert_true(str_is(json_text(json_find(get(&w, "Pod", "p"), "status", "phase", NULL), STR("")), "Succeeded"));
    world_done(&w);
}

/* Wrong objects are refused with a reason, and change nothing. */
static void test_refusals(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        { "{apiVersion: v1, kind: Pod, metadata: {name: x, uid: one}}", "same uid" },
        { "{apiVersion: v1, kind: Pod, metadata: {name: p}}", "already exists" },
        { "{apiVersion: v1, kind: Pod, metadata: {namespace: d}}", "metadata.name" },
        { "{apiVersion: v1, kind: Pod, metadata: {name: y, creationTimestamp: yesterday}}",
          "metadata.creationTimestamp" },
        { "{apiVersion: v1, kind: Pod, metadata: {name: y, deletionTimestamp: soon}}", "metadata.deletionTimestamp" },
        { "{apiVersion: v1, kind: Node, metadata: {name: y, deletionTimestamp: '2020-01-01T00:00:00Z'}}",
          "finalizers" },
        { "{apiVersion: v1, kind: Spaceship, metadata: {name: y}}", "Spaceship" },
        { "{apiVersion: v1, kind: Pod, metadata: 7}", "metadata" },
        { "{apiVersion: v1, kind: Pod, metadata: [1]}", "metadata" },
        { "[1]", "kind" },
    };
    struct world w;

    (void)state;
    world_init(&w, (struct future_options){ 0 });
    add(&w, "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: one}}");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = { 0 };

        if (future_add(w.f, tree_of(&w.a, cases[i].text), &e) == 0 || !str_has(str_of(e.text), str_of(cases[i].part)))
            fail_msg("%s: \"%s\" does not say %s", cases[i].text, e.text, cases[i].part);
    }
    future_settle(w.f);
    assert_int_equal(store_count(future_store(w.f), type_by_name(STR("pod"))), 1);
    world_done(&w);
}

/* The same objects give the same history, change by change. */
static void test_same_history(void **state)
{
    uint64_t history[2];
    size_t changes[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world w;

        world_init(&w, (struct future_options){ .start_ms = 1500, .stop_ms = 700 });
        for (int n = 0; n < 3; n++)
            add_node(&w, arena_fmt(&w.a, "n%d", n).p, 4);
        for (int n = 0; n < 12; n++)
            add_job(&w, arena_fmt(&w.a, "j%d", n).p, 1 + n % 4, 1 + n % 2, arena_fmt(&w.a, "%dm", 1 + n).p);
        future_run(w.f, T0_MS + 24 * 3600000);
        for (int n = 0; n < 12; n++)
            check_phase(&w, arena_fmt(&w.a, "j%d", n).p, "Completed");
        history[i] = w.history;
        changes[i] = w.changes;
        world_done(&w);
    }
    assert_int_equal(changes[0], changes[1]);
    assert_true(history[0] == history[1]);
}

/* Pods that run no time at all, restarted for ever: time passes nevertheless. */
static void test_no_time_at_all(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, (struct future_options){ 0 });
    add_node(&w, "n1", 4);
    add_job(&w, "a", 2, 1, "0s");
    future_run(w.f, T0_MS + 1000);
    check_phase(&w, "a", "Completed");
    world_done(&w);
}

static void test_jump(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, (struct future_options){ 0 });
    add_node(&w, "n1", 4);
    future_jump(w.f, T0_MS + 5000);
    assert_true(future_now_ms(w.f) <= T0_MS + 5000);
    add_job(&w, "a", 1, 1, "1m");
    future_jump(w.f, T0_MS + 3600000);
    assert_true(future_now_ms(w.f) < T0_MS + 3600000); /* what is due before comes first */
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_job),
        cmocka_unit_test(test_two_after_each_other),
        cmocka_unit_test(test_never_fits),
        cmocka_unit_test(test_objects_stay_as_they_are),
        cmocka_unit_test(test_a_running_pod_ends),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_same_history),
        cmocka_unit_test(test_no_time_at_all),
        cmocka_unit_test(test_jump),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
