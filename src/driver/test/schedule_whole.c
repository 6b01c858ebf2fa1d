/* schedule_whole.c - jobs, controllers and the real scheduler on a store, through the driver */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "driver/cache.h"
#include "driver/driver.h"
#include "driver/test/fixture.h"
#include "driver/test/flaky.h"
#include "sched/sched.h"
#include "sched/test/check.h"
#include "store/store.h"

struct world {
    struct clock_manual clock;
    struct store *store;
    struct flaky flaky;
    struct driver *driver;
    struct arena arena;
};

static void start_driver(struct world *w)
{
    struct driver_options opt = { .seed = 11, .schedules = true, .collects_garbage = true };

    w->flaky.inner = cluster_embedded_new(w->store, &w->clock.clock);
    w->driver = driver_new(&w->flaky.cluster, &opt);
}

static void stop_driver(struct world *w)
{
    driver_free(w->driver);
    cluster_free(w->flaky.inner);
}

static void world_init(struct world *w)
{
    struct store_options opt = { .seed = 3 };

    *w = (struct world){ .flaky = { .cluster = { &flaky_class } } };
    clock_manual_init(&w->clock, 1700000000000);
    opt.clock = &w->clock.clock;
    w->store = store_new(&opt);
    start_driver(w);
}

static void world_done(struct world *w)
{
    stop_driver(w);
    cluster_free(&w->flaky.cluster);
    store_free(w->store);
    arena_done(&w->arena);
}

static void check_scheduler(struct driver *d)
{
    sched_check(driver_sched(d));
}

#define TIME_OF(w) ((struct fixture_time){ (w)->driver, &(w)->clock, &(w)->flaky.log, check_scheduler })

static void run_for(struct world *w, int64_t ms)
{
    fixture_run_for(&TIME_OF(w), ms);
}

static void create(struct world *w, struct str text)
{
    struct err e = { 0 };

    if (store_create(w->store, tree_of(&w->arena, text.p), NULL, &e) < 0)
        fail_msg("create: %s\n%s", e.text, text.p);
}

static void create_node(struct world *w, const char *name, int cpu)
{
    create(w, arena_fmt(
                  &w->arena,
                  "{apiVersion: v1, kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: '%d', memory: 8Gi, "
                  "pods: '100'}}}",
                  name, cpu));
}

static void create_job(struct world *w, const char *name, int replicas, const char *priority)
{
    create(w, arena_fmt(&w->arena,
                        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: %s, namespace: ns}, "
                        "spec: {minAvailable: %d, schedulerName: volcano, queue: default%s%s, tasks: [{name: t, "
                        "replicas: %d, template: {spec: {%s%s%s containers: [{name: c, image: i, resources: {requests: "
                        "{cpu: '1'}}}], restartPolicy: Never}}}]}}",
                        name, replicas, priority ? ", priorityClassName: " : "", priority ? priority : "", replicas,
                        priority ? "priorityClassName: " : "", priority ? priority : "", priority ? "," : ""));
}

static const struct object *pod(struct world *w, const char *job, int i)
{
    return store_get(w->store, known_types()->pod, STR("ns"), arena_fmt(&w->arena, "%s-t-%d", job, i));
}

static struct str node_of(struct world *w, const char *job, int i)
{
    const struct object *o = pod(w, job, i);

    return o ? json_member_text(json_get(o->root, "spec"), "nodeName") : STR("(gone)");
}

static int bound(struct world *w, const char *job, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += pod(w, job, i) && node_of(w, job, i).n;
    return sum;
}

static void set_pod(struct world *w, const char *job, int i, const char *phase)
{
    struct plan plan = { .arena = &w->arena };
    struct json *status = tree_of(&w->arena, arena_fmt(&w->arena, "{phase: %s}", phase).p);
    const struct object *o = pod(w, job, i);

    assert_non_null(o);
    plan_patch_status(&plan, (struct object_id){ o->type, o->namespace, o->name, o->uid }, status);
    assert_int_equal(store_apply(w->store, &plan.ops.v[0], NULL, NULL), 0);
}

static void set_pods(struct world *w, const char *job, int n, const char *phase)
{
    for (int i = 0; i < n; i++)
        set_pod(w, job, i, phase);
}

/* The kubelet: pods that are being deleted go. */
static void bury(struct world *w, const char *job, int n)
{
    struct store_delete_options now = { .grace_s = 0 };

    for (int i = 0; i < n; i++) {
        const struct object *o = pod(w, job, i);

        if (o && json_find(o->root, "metadata", "deletionTimestamp", NULL))
            assert_int_equal(
                store_delete(w->store, &(struct object_key){ o->type, o->namespace, o->name }, &now, NULL, NULL), 0);
    }
}

static struct str group_phase(struct world *w, const char *job)
{
    const struct object *j = store_get(w->store, known_types()->job, STR("ns"), str_of(job)), *g;

    g = store_get(w->store, known_types()->group, STR("ns"), arena_fmt(&w->arena, "%s-%.*s", job, STR_ARG(j->uid)));
    return g ? json_member_text(json_get(g->root, "status"), "phase") : STR("(none)");
}

static struct driver_stats stats(struct world *w)
{
    struct driver_stats s;

    driver_stats(w->driver, &s);
    return s;
}

static void count_event(void *ctx, const struct object *o)
{
    *(int *)ctx += str_is(json_member_text(o->root, "reason"), "Scheduled") &&
                   str_is(json_member_text(json_get(o->root, "involvedObject"), "kind"), "Pod");
}

static int scheduled_events(struct world *w)
{
    int n = 0;

    store_list(w->store, known_types()->event, STR_NULL, count_event, &n);
    return n;
}

#define assert_text(got, want)                                                                                         \
    do {                                                                                                               \
        struct str got_ = (got);                                                                                       \
        if (!str_is(got_, (want)))                                                                                     \
            fail_msg("want %s, got %.*s", (want), STR_ARG(got_));                                                      \
    } while (0)

static void a_job_runs(void **state)
{
    const struct object *queue, *job;
    struct str cpu;
    struct world w;

    (void)state;
    world_init(&w);
    create_node(&w, "n1", 2);
    create_node(&w, "n2", 2);
    create_job(&w, "j", 4, NULL);
    run_for(&w, 2000);
    assert_int_equal(bound(&w, "j", 4), 4);
    set_pods(&w, "j", 4, "Running");
    run_for(&w, 2000);
    assert_text(group_phase(&w, "j"), "Running");
    assert_int_equal(stats(&w).binds, 4);
    assert_int_equal(scheduled_events(&w), 4);
    queue = store_get(w.store, known_types()->queue, STR_NULL, STR("default"));
    assert_text(json_member_text(json_find(queue->root, "status", "allocated", NULL), "cpu"), "4");
    assert_text(json_member_text(json_get(queue->root, "status"), "state"), "Open");
    assert_int_equal(json_i64(json_find(queue->root, "status", "running", NULL), -1), 1);
    set_pods(&w, "j", 4, "Succeeded");
    run_for(&w, 2000);
    job = store_get(w.store, known_types()->job, STR("ns"), STR("j"));
    assert_text(json_text(json_find(job->root, "status", "state", "phase", NULL), STR_NULL), "Completed");
    queue = store_get(w.store, known_types()->queue, STR_NULL, STR("default"));
    cpu = json_member_text(json_find(queue->root, "status", "allocated", NULL), "cpu");
    assert_true(!cpu.n || str_is(cpu, "0"));
    world_done(&w);
}

static void all_or_nothing(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    create_node(&w, "n1", 3);
    create_job(&w, "j", 4, NULL);
    run_for(&w, 5000);
    assert_int_equal(bound(&w, "j", 4), 0);
    create_node(&w, "n2", 1);
    run_for(&w, 5000);
    assert_int_equal(bound(&w, "j", 4), 4);
    world_done(&w);
}

/* The second binding is refused twice: the gang is whole in the end, and nobody is bound twice. */
static void a_binding_that_is_refused_first(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    create_node(&w, "n1", 4);
    create_job(&w, "j", 2, NULL);
    w.flaky.fail_op = OP_BIND;
    w.flaky.fail_kind = "Pod";
    w.flaky.code = ERR_IO;
    w.flaky.fail_left = 3;
    run_for(&w, 5000);
    assert_int_equal(bound(&w, "j", 2), 2);
    assert_int_equal(w.flaky.n_tries, 5);
    world_done(&w);
}

static void a_node_goes(void **state)
{
    struct store_delete_options now = { .grace_s = 0 };
    struct world w;

    (void)state;
    world_init(&w);
    create_node(&w, "n1", 2);
    run_for(&w, 1000);
    assert_int_equal(
        store_delete(w.store, &(struct object_key){ type_by_name(STR("node")), STR_NULL, STR("n1") }, &now, NULL, NULL),
        0);
    store_compact(w.store, store_revision(w.store)); /* the watch breaks: it is only missing from the next list */
    create_job(&w, "j", 2, NULL);
    run_for(&w, 2000);
    assert_int_equal(bound(&w, "j", 2), 0);
    create_node(&w, "n2", 2);
    run_for(&w, 2000);
    assert_text(node_of(&w, "j", 0), "n2");
    assert_text(node_of(&w, "j", 1), "n2");
    world_done(&w);
}

static void a_higher_priority_takes_the_place(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    create(&w, STR("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}"));
    create_node(&w, "n1", 2);
    create_job(&w, "low", 2, NULL);
    run_for(&w, 2000);
    assert_int_equal(bound(&w, "low", 2), 2);
    set_pods(&w, "low", 2, "Running");
    run_for(&w, 120000); /* long enough to be a victim (D47) */
    w.flaky.fail_op = OP_DELETE;
    w.flaky.fail_kind = "Pod";
    w.flaky.code = ERR_IO;
    w.flaky.fail_left = 3;
    create_job(&w, "high", 2, "high");
    for (int i = 0; i < 20; i++) {
        run_for(&w, 2000);
        bury(&w, "low", 2);
    }
    assert_int_equal(bound(&w, "high", 2), 2);
    assert_int_equal(bound(&w, "low", 2), 0);
    assert_int_equal(stats(&w).evictions, 2);
    assert_int_equal(w.flaky.n_tries, 5);
    world_done(&w);
}

/* The deletes fail for a while, and the job that needs the places is withdrawn: nobody is evicted for it any more. */
static void nobody_needs_the_place_any_more(void **state)
{
    struct store_delete_options now = { .grace_s = 0 };
    struct world w;

    (void)state;
    world_init(&w);
    create(&w, STR("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}"));
    create_node(&w, "n1", 2);
    create_job(&w, "low", 2, NULL);
    run_for(&w, 2000);
    set_pods(&w, "low", 2, "Running");
    run_for(&w, 120000);
    w.flaky.fail_op = OP_DELETE;
    w.flaky.fail_kind = "Pod";
    w.flaky.code = ERR_IO;
    w.flaky.fail_left = 200;
    create_job(&w, "high", 2, "high");
    run_for(&w, 2000);
    assert_true(w.flaky.n_tries > 0);
    assert_int_equal(
        store_delete(w.store, &(struct object_key){ known_types()->job, STR("ns"), STR("high") }, &now, NULL, NULL), 0);
    w.flaky.fail_left = 0;
    run_for(&w, 600000);
    assert_int_equal(bound(&w, "low", 2), 2);
    for (int i = 0; i < 2; i++)
        assert_false(json_find(pod(&w, "low", i)->root, "metadata", "deletionTimestamp", NULL));
    assert_int_equal(stats(&w).evictions, 0);
    world_done(&w);
}

static void delete_pod(struct world *w, const char *job, int i)
{
    struct store_delete_options now = { .grace_s = 0 };
    const struct object *o = pod(w, job, i);

    assert_non_null(o);
    assert_int_equal(store_delete(w->store, &(struct object_key){ o->type, o->namespace, o->name }, &now, NULL, NULL),
                     0);
}

/* Somebody tidies up: a pod that has Succeeded is deleted. It is not run again, so the gang must not wait for it when a
 * third has to be placed anew. */
static void a_succeeded_pod_is_deleted(void **state)
{
    const struct object *job;
    struct world w;

    (void)state;
    world_init(&w);
    create_node(&w, "n1", 3);
    create_job(&w, "j", 3, NULL);
    run_for(&w, 2000);
    set_pods(&w, "j", 3, "Running");
    run_for(&w, 2000);
    set_pods(&w, "j", 1, "Succeeded");
    run_for(&w, 2000);
    delete_pod(&w, "j", 0);
    run_for(&w, 2000);
    delete_pod(&w, "j", 1);
    run_for(&w, 10000);
    assert_text(node_of(&w, "j", 0), "(gone)");
    assert_text(node_of(&w, "j", 1), "n1");
    assert_text(group_phase(&w, "j"), "Running");
    set_pod(&w, "j", 1, "Succeeded");
    set_pod(&w, "j", 2, "Succeeded");
    run_for(&w, 2000);
    job = store_get(w.store, known_types()->job, STR("ns"), STR("j"));
    assert_text(json_text(json_find(job->root, "status", "state", "phase", NULL), STR_NULL), "Completed");
    world_done(&w);
}

static void a_new_driver_goes_on(void **state)
{
    struct world w;
    uint64_t rev;

    (void)state;
    world_init(&w);
    create_node(&w, "n1", 2);
    create_job(&w, "j", 2, NULL);
    create_job(&w, "k", 2, NULL);
    run_for(&w, 10000);
    assert_int_equal(bound(&w, "j", 2) + bound(&w, "k", 2), 2);
    stop_driver(&w);
    rev = store_revision(w.store);
    start_driver(&w);
    run_for(&w, 10000);
    assert_int_equal(bound(&w, "j", 2) + bound(&w, "k", 2), 2); /* no more than there is room for */
    if (store_revision(w.store) - rev > 2)
        fail_msg("%llu writes by a driver that has nothing to do", (unsigned long long)(store_revision(w.store) - rev));
    world_done(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_runs),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(a_binding_that_is_refused_first),
        cmocka_unit_test(a_node_goes),
        cmocka_unit_test(a_higher_priority_takes_the_place),
        cmocka_unit_test(nobody_needs_the_place_any_more),
        cmocka_unit_test(a_succeeded_pod_is_deleted),
        cmocka_unit_test(a_new_driver_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
