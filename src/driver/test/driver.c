/* driver.c - tests of the driver: a job's life on a store, and what happens when writes fail */
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
#include "store/store.h"

/* ---- the world ---- */

struct world {
    struct clock_manual clock;
    struct store *store;
    struct flaky flaky;
    struct driver *driver;
    struct arena arena;
};

static int constant_keys(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    (void)ctx, (void)a, (void)type, (void)e;
    *ret = (struct ssh_keys){ STR("private"), STR("public\n") };
    return 0;
}

static void start_driver(struct world *w, bool collects_garbage)
{
    struct driver_options opt = { .seed = 11, .make_keys = constant_keys, .collects_garbage = collects_garbage };

    w->flaky.inner = cluster_embedded_new(w->store, &w->clock.clock);
    w->driver = driver_new(&w->flaky.cluster, &opt);
}

static void stop_driver(struct world *w)
{
    driver_free(w->driver);
    cluster_free(w->flaky.inner);
}

static void world_init(struct world *w, bool collects_garbage)
{
    struct store_options opt = { .seed = 3 };

    *w = (struct world){ .flaky = { .cluster = { &flaky_class } } };
    clock_manual_init(&w->clock, 1700000000000);
    opt.clock = &w->clock.clock;
    w->store = store_new(&opt);
    start_driver(w, collects_garbage);
}

static void world_done(struct world *w)
{
    stop_driver(w);
    cluster_free(&w->flaky.cluster);
    store_free(w->store);
    arena_done(&w->arena);
}

#define TIME_OF(w) ((struct fixture_time){ (w)->driver, &(w)->clock, &(w)->flaky.log })

static int64_t settle(struct world *w)
{
    return fixture_settle(&TIME_OF(w));
}

static void run_for(struct world *w, int64_t ms)
{
    fixture_run_for(&TIME_OF(w), ms);
}

static const struct resource_type *type(const char *name)
{
    return type_by_name(str_of(name));
}

static const struct object *get(struct world *w, const char *kind, const char *name)
{
    return store_get(w->store, type(kind), STR("ns"), str_of(name));
}

static void create(struct world *w, const char *text)
{
    struct err e = { 0 };

    if (store_create(w->store, tree_of(&w->arena, text), NULL, &e) < 0)
        fail_msg("create: %s", e.text);
}

static const char job_text[] = "apiVersion: batch.volcano.sh/v1alpha1\n"
                               "kind: Job\n"
                               "metadata: {name: j, namespace: ns}\n"
                               "spec:\n"
                               "  queue: default\n"
                               "  plugins: {ssh: [], svc: [], env: []}\n"
                               "  tasks:\n"
                               "  - name: t\n"
                               "    replicas: 3\n"
                               "    template: {spec: {containers: [{name: c, image: i}], restartPolicy: Never}}\n";

static struct str phase(struct world *w)
{
    const struct object *o = get(w, "vcjob", "j");

    return o ? json_text(json_find(o->root, "status", "state", "phase", NULL), STR("(none)")) : STR("(gone)");
}

#define assert_phase(w, want)                                                                                          \
    do {                                                                                                               \
        if (!str_is(phase(w), (want)))                                                                                 \
            fail_msg("want phase %s, got %.*s; writes:\n%.*s", (want), STR_ARG(phase(w)),                              \
                     STR_ARG(buf_view(&(w)->flaky.log)));                                                              \
    } while (0)

static void set_status(struct world *w, const char *kind, struct str name, const char *status)
{
    const struct object *o = store_get(w->store, type(kind), STR("ns"), name);
    struct json *body;
    struct err e = { 0 };

    if (!o)
        fail_msg("there is no %s %.*s", kind, STR_ARG(name));
    body = json_copy(&w->arena, o->root);
    json_set(body, "status", tree_of(&w->arena, status));
    if (store_update(w->store, body, o->type->subresources[0] ? STORE_STATUS : STORE_MAIN, NULL, &e) < 0)
        fail_msg("update: %s", e.text);
}

static void admit_group(struct world *w)
{
    const struct object *job = get(w, "vcjob", "j");
    struct str name = arena_fmt(&w->arena, "j-%.*s", STR_ARG(job->uid));

    set_status(w, "podgroup", name, "{phase: Inqueue}");
}

static void set_pods(struct world *w, int n, const char *status)
{
    for (int i = 0; i < n; i++)
        set_status(w, "pod", arena_fmt(&w->arena, "j-t-%d", i), status);
}

/* ---- lives ---- */

static void a_job_lives(void **state)
{
    struct world w;
    struct driver_stats stats;
    const struct object *job;

    (void)state;
    world_init(&w, false);
    settle(&w);
    assert_non_null(store_get(w.store, type("queue"), STR_NULL, STR("root")));
    assert_non_null(store_get(w.store, type("queue"), STR_NULL, STR("default")));
    create(&w, job_text);
    settle(&w);
    assert_phase(&w, "Pending");
    job = get(&w, "vcjob", "j");
    assert_non_null(store_get(w.store, type("podgroup"), STR("ns"), arena_fmt(&w.arena, "j-%.*s", STR_ARG(job->uid))));
    assert_non_null(get(&w, "secret", "j-ssh"));
    assert_int_equal(store_count(w.store, type("pod")), 0);
    admit_group(&w);
    settle(&w);
    assert_int_equal(store_count(w.store, type("pod")), 3);
    set_pods(&w, 3, "{phase: Running}");
    run_for(&w, 5000);
    assert_phase(&w, "Running");
    set_pods(&w, 3, "{phase: Succeeded}");
    run_for(&w, 5000);
    assert_phase(&w, "Completed");
    driver_stats(w.driver, &stats);
    assert_int_equal(stats.jobs, 1);
    assert_int_equal(stats.failed_writes, 0);
    assert_true(stats.plans >= stats.job_plans && stats.job_plans > 0);
    world_done(&w);
}

struct rows {
    const char *reason;
    int64_t n, count;
};

static void count_row(void *ctx, const struct object *event)
{
    struct rows *r = ctx;

    if (!str_is(json_member_text(event->root, "reason"), r->reason))
        return;
    r->n++;
    r->count += json_i64(json_get(event->root, "count"), 0);
}

/* Three restarts are one Event, three times: also while a plan is made again and again. */
static void restarts_are_counted(void **state)
{
    struct world w;
    struct json *job;
    struct rows rows = { "ExecuteAction", 0, 0 };

    (void)state;
    world_init(&w, false);
    job = tree_of(&w.arena, job_text);
    json_set(json_get(job, "spec"), "policies", tree_of(&w.arena, "[{event: PodFailed, action: RestartJob}]"));
    json_set(json_get(job, "spec"), "maxRetry", json_int(&w.arena, 9));
    assert_int_equal(store_create(w.store, job, NULL, NULL), 0);
    settle(&w);
    for (int i = 0; i < 3; i++) {
        admit_group(&w);
        run_for(&w, 1000);
        set_pods(&w, 1, "{phase: Failed}");
        run_for(&w, 1000);
    }
    run_for(&w, 60000);
    store_list(w.store, type("event"), STR_NULL, count_row, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.count, 3);
    world_done(&w);
}

/* A job at rest costs nothing, and a driver started on a finished cluster has nothing to do. */
static void rest_is_quiet(void **state)
{
    struct world w;
    struct driver_stats before, after;
    uint64_t rev;

    (void)state;
    world_init(&w, true);
    create(&w, job_text);
    settle(&w);
    admit_group(&w);
    settle(&w);
    set_pods(&w, 3, "{phase: Running}");
    run_for(&w, 60000);
    driver_stats(w.driver, &before);
    run_for(&w, 3600000);
    driver_stats(w.driver, &after);
    assert_int_equal(after.writes, before.writes);
    rev = store_revision(w.store);
    stop_driver(&w);
    start_driver(&w, true);
    run_for(&w, 60000);
    if (store_revision(w.store) != rev)
        fail_msg("a restart writes:\n%.*s", STR_ARG(buf_view(&w.flaky.log)));
    driver_stats(w.driver, &after);
    assert_int_equal(after.pods, 3);
    world_done(&w);
}

static int keys_later(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e)
{
    const bool *are_made = ctx;

    (void)a, (void)type, (void)e;
    *ret = *are_made ? (struct ssh_keys){ STR("private"), STR("public\n") } : (struct ssh_keys){ 0 };
    return 0;
}

/* Keys take long: the job waits for them without a word, and nobody else does. */
static void a_job_waits_for_its_keys(void **state)
{
    bool are_made = false;
    struct driver_options opt = { .seed = 11, .make_keys = keys_later, .keys_ctx = &are_made };
    struct world w;

    (void)state;
    world_init(&w, false);
    stop_driver(&w);
    w.flaky.inner = cluster_embedded_new(w.store, &w.clock.clock);
    w.driver = driver_new(&w.flaky.cluster, &opt);
    create(&w, job_text);
    run_for(&w, 1000);
    assert_null(get(&w, "secret", "j-ssh"));
    assert_non_null(get(&w, "configmap", "j-svc")); /* what needs no keys is there */
    assert_int_equal(store_count(w.store, type("event")), 0);
    are_made = true;
    run_for(&w, 20);
    assert_non_null(get(&w, "secret", "j-ssh"));
    assert_phase(&w, "Pending");
    admit_group(&w);
    settle(&w);
    assert_int_equal(store_count(w.store, type("pod")), 3);
    world_done(&w);
}

/* The same cluster, the same writes in the same order, whatever the seed of the maps. */
static void same_events_same_writes(void **state)
{
    struct buf logs[2] = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world w;
        struct driver_options opt = { .seed = i ? 0 : 77, .make_keys = constant_keys };

        world_init(&w, false);
        driver_free(w.driver);
        cluster_free(w.flaky.inner);
        w.flaky.inner = cluster_embedded_new(w.store, &w.clock.clock);
        w.driver = driver_new(&w.flaky.cluster, &opt);
        create(&w, job_text);
        settle(&w);
        admit_group(&w);
        settle(&w);
        set_pods(&w, 3, "{phase: Running}");
        run_for(&w, 5000);
        set_pods(&w, 2, "{phase: Failed}");
        run_for(&w, 5000);
        buf_str(&logs[i], buf_view(&w.flaky.log));
        world_done(&w);
    }
    assert_string_equal(logs[0].p, logs[1].p);
    buf_done(&logs[0]);
    buf_done(&logs[1]);
}

/* ---- many ---- */

static unsigned count_text(const struct buf *log, const char *what)
{
    unsigned n = 0;

    for (const char *at = log->p; at && (at = strstr(at, what)); at++)
        n++;
    return n;
}

/* One of ten pods more runs in each of many jobs, every second: not a write for each of them, and the truth in
 * the end. */
static void counters_of_many_jobs(void **state)
{
    enum { JOBS = 60, SECONDS = 9 };
    struct world w;
    unsigned before, n;

    (void)state;
    world_init(&w, false);
    for (int i = 0; i < JOBS; i++)
        create(&w, arena_fmt(&w.arena,
                             "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: m%d, namespace: ns}, "
                             "spec: {minAvailable: 10, tasks: [{name: t, replicas: 10, template: {spec: {containers: "
                             "[{name: c, image: i}]}}}]}}",
                             i)
                       .p);
    settle(&w);
    for (int i = 0; i < JOBS; i++)
        set_status(&w, "podgroup",
                   arena_fmt(&w.arena, "m%d-%.*s", i, STR_ARG(get(&w, "vcjob", arena_fmt(&w.arena, "m%d", i).p)->uid)),
                   "{phase: Inqueue}");
    run_for(&w, 20000);
    before = count_text(&w.flaky.log, "status Job m");
    for (int s = 0; s < SECONDS; s++) {
        for (int i = 0; i < JOBS; i++)
            set_status(&w, "pod", arena_fmt(&w.arena, "m%d-t-%d", i, s), "{phase: Running}");
        run_for(&w, 1000);
    }
    n = count_text(&w.flaky.log, "status Job m") - before;
    if (n > JOBS * 2)
        fail_msg("%u writes of counters in %d seconds", n, SECONDS);
    run_for(&w, 40000);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(
            json_i64(json_find(get(&w, "vcjob", arena_fmt(&w.arena, "m%d", i).p)->root, "status", "running", NULL), 0),
            SECONDS);
    world_done(&w);
}

/* ---- failures ---- */

static void get_to_pods(struct world *w)
{
    create(w, job_text);
    settle(w);
    admit_group(w);
}

static void quota_backs_off_and_heals(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, false);
    w.flaky.fail_kind = "Pod";
    w.flaky.code = ERR_FORBIDDEN;
    w.flaky.fail_left = 18;
    get_to_pods(&w);
    settle(&w);
    assert_int_equal(w.flaky.n_tries, 3); /* the first window, refused */
    run_for(&w, 1000);
    assert_true(w.flaky.n_tries < 15); /* one at a time, ever slower */
    assert_phase(&w, "Pending");
    run_for(&w, 600000);
    assert_int_equal(store_count(w.store, type("pod")), 3);
    assert_int_equal(w.flaky.fail_left, 0);
    world_done(&w);
}

/* Another controller makes the pods that we were refused: our trouble is over too, and the status must not say
 * otherwise for ever. */
static void trouble_ends_when_others_succeed(void **state)
{
    struct world w;
    struct driver_stats before, after;
    struct str reason;

    (void)state;
    world_init(&w, false);
    w.flaky.fail_kind = "Pod";
    w.flaky.code = ERR_FORBIDDEN;
    w.flaky.fail_left = 60;
    get_to_pods(&w);
    run_for(&w, 2000);
    reason = json_text(json_find(get(&w, "vcjob", "j")->root, "status", "state", "reason", NULL), STR_NULL);
    assert_true(str_is(reason, "WaitingForRetry"));
    for (int i = 0; i < 3; i++)
        create(&w, arena_fmt(&w.arena,
                             "{apiVersion: v1, kind: Pod, metadata: {name: j-t-%d, namespace: ns, annotations: "
                             "{volcano.sh/task-spec: t, volcano.sh/task-index: '%d', volcano.sh/job-version: '0'}, "
                             "ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: %.*s, "
                             "controller: true}]}, spec: {containers: [{name: c, image: i}]}}",
                             i, i, STR_ARG(get(&w, "vcjob", "j")->uid))
                       .p);
    run_for(&w, 60000);
    reason = json_text(json_find(get(&w, "vcjob", "j")->root, "status", "state", "reason", NULL), STR_NULL);
    assert_false(str_is(reason, "WaitingForRetry"));
    driver_stats(w.driver, &before);
    run_for(&w, 3600000);
    driver_stats(w.driver, &after);
    assert_int_equal(after.writes, before.writes);
    world_done(&w);
}

/* The pods were made, but nobody said so: they are found by reading, and made once. */
static void unknown_outcome_is_read(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, false);
    w.flaky.fail_kind = "Pod";
    w.flaky.code = ERR_IO;
    w.flaky.takes_effect = true;
    w.flaky.fail_left = 3;
    get_to_pods(&w);
    run_for(&w, 10000);
    assert_int_equal(w.flaky.n_tries, 3);
    assert_int_equal(store_count(w.store, type("pod")), 3);
    set_pods(&w, 3, "{phase: Running}");
    run_for(&w, 5000);
    assert_phase(&w, "Running");
    world_done(&w);
}

/* No answer for 60 s: given up, looked at, done again. */
static void lost_requests_are_given_up(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, false);
    w.flaky.fail_kind = "PodGroup";
    w.flaky.drops = true;
    w.flaky.fail_left = 1;
    create(&w, job_text);
    run_for(&w, 59000);
    assert_int_equal(store_count(w.store, type("podgroup")), 0);
    assert_int_equal(w.flaky.n_tries, 1); /* it waits */
    run_for(&w, 10000);
    if (store_count(w.store, type("podgroup")) != 1)
        fail_msg("writes:\n%.*s", STR_ARG(buf_view(&w.flaky.log)));
    world_done(&w);
}

/* Somebody else's pod has the name: the job waits, slowly, and goes on when it is gone. */
static void foreign_pod_is_waited_for(void **state)
{
    static const char foreign[] =
        "{apiVersion: v1, kind: Pod, metadata: {name: j-t-1, namespace: ns}, spec: {containers: "
        "[{name: c, image: i}]}}";
    struct world w;
    struct store_delete_options now = { .grace_s = 0 };

    (void)state;
    world_init(&w, false);
    create(&w, foreign);
    w.flaky.fail_kind = "Pod"; /* only counted */
    get_to_pods(&w);
    run_for(&w, 10000);
    assert_int_equal(store_count(w.store, type("pod")), 3);
    if (w.flaky.n_tries > 20)
        fail_msg("%u creates in ten seconds", w.flaky.n_tries);
    assert_int_equal(
        store_delete(w.store, &(struct object_key){ type("pod"), STR("ns"), STR("j-t-1") }, &now, NULL, NULL), 0);
    run_for(&w, 300000);
    assert_true(str_eq(object_controller_uid(get(&w, "pod", "j-t-1")->root), get(&w, "vcjob", "j")->uid));
    world_done(&w);
}

/* Somebody changes the Job between our reading and our writing. */
static void conflict_is_planned_again(void **state)
{
    struct world w;
    struct json *body;
    struct driver_stats stats;

    (void)state;
    world_init(&w, false);
    get_to_pods(&w);
    settle(&w);
    set_pods(&w, 3, "{phase: Running}");
    (void)driver_turn(w.driver, NULL);
    body = json_copy(&w.arena, get(&w, "vcjob", "j")->root);
    object_set_annotation(&w.arena, body, "a", STR("b"));
    assert_int_equal(store_update(w.store, body, STORE_MAIN, NULL, NULL), 0);
    run_for(&w, 10000);
    assert_phase(&w, "Running");
    driver_stats(w.driver, &stats);
    world_done(&w);
}

static void clock_may_be_set_back(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, false);
    w.flaky.fail_kind = "PodGroup";
    w.flaky.code = ERR_FORBIDDEN;
    w.flaky.fail_left = 3;
    create(&w, job_text);
    settle(&w);
    clock_manual_set(&w.clock, 1700000000000 - 86400000);
    run_for(&w, 2000);
    assert_int_equal(store_count(w.store, type("podgroup")), 1);
    world_done(&w);
}

/* More pods than writes may be in flight: never more than allowed, and in the end all of them; then all deleted. */
static void large_jobs_go_in_portions(void **state)
{
    struct driver_options opt = { .seed = 1, .make_keys = constant_keys, .max_in_flight = 20 };
    struct world w;
    struct json *body;
    struct driver_stats stats;
    unsigned before = 0;

    (void)state;
    world_init(&w, false);
    driver_free(w.driver);
    cluster_free(w.flaky.inner);
    w.flaky.inner = cluster_embedded_new(w.store, &w.clock.clock);
    w.driver = driver_new(&w.flaky.cluster, &opt);
    w.flaky.fail_kind = "Pod"; /* only counted */
    body = tree_of(&w.arena, job_text);
    json_set(json_at(json_find(body, "spec", "tasks", NULL), 0), "replicas", json_int(&w.arena, 300));
    assert_int_equal(store_create(w.store, body, NULL, NULL), 0);
    settle(&w);
    admit_group(&w);
    for (bool is_busy = true; is_busy; before = w.flaky.n_tries) {
        (void)driver_turn(w.driver, &is_busy);
        assert_true(w.flaky.n_tries - before <= 20);
    }
    assert_int_equal(store_count(w.store, type("pod")), 300);
    assert_int_equal(w.flaky.n_tries, 300);
    set_pods(&w, 300, "{phase: Running}");
    run_for(&w, 5000);
    create(&w,
           arena_fmt(&w.arena,
                     "{apiVersion: bus.volcano.sh/v1alpha1, kind: Command, metadata: {name: c, namespace: ns}, action: "
                     "AbortJob, target: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: %.*s}}",
                     STR_ARG(get(&w, "vcjob", "j")->uid))
               .p);
    run_for(&w, 5000);
    assert_phase(&w, "Aborted");
    assert_int_equal(store_count(w.store, type("pod")), 0);
    assert_null(get(&w, "command", "c"));
    driver_stats(w.driver, &stats);
    assert_int_equal(stats.pods, 0);
    assert_int_equal(stats.failed_writes, 0);
    world_done(&w);
}

/* ---- the collector ---- */

static void dependents_are_collected(void **state)
{
    struct world w;
    struct store_delete_options now = { .grace_s = -1 };

    (void)state;
    world_init(&w, true);
    get_to_pods(&w);
    settle(&w);
    assert_int_equal(store_count(w.store, type("pod")), 3);
    assert_int_equal(
        store_delete(w.store, &(struct object_key){ type("vcjob"), STR("ns"), STR("j") }, &now, NULL, NULL), 0);
    run_for(&w, 10000);
    assert_phase(&w, "(gone)");
    assert_int_equal(store_count(w.store, type("pod")), 0);
    assert_int_equal(store_count(w.store, type("podgroup")), 0);
    assert_int_equal(store_count(w.store, type("secret")), 0);
    world_done(&w);
}

static void foreground_waits_for_dependents(void **state)
{
    struct world w;
    struct store_delete_options opt = { .grace_s = -1, .propagation = PROPAGATE_FOREGROUND };

    (void)state;
    world_init(&w, true);
    get_to_pods(&w);
    settle(&w);
    assert_int_equal(
        store_delete(w.store, &(struct object_key){ type("vcjob"), STR("ns"), STR("j") }, &opt, NULL, NULL), 0);
    assert_non_null(get(&w, "vcjob", "j"));
    run_for(&w, 10000);
    assert_phase(&w, "(gone)");
    assert_int_equal(store_count(w.store, type("pod")), 0);
    world_done(&w);
}

/* An owner that was never there: asked for, not found, collected. */
static void orphan_of_nobody_is_collected(void **state)
{
    static const char lost[] =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: ns, ownerReferences: "
        "[{apiVersion: v1, kind: Secret, name: none, uid: gone-long-ago}]}}";
    struct world w;

    (void)state;
    world_init(&w, true);
    create(&w, lost);
    run_for(&w, 10000);
    assert_null(get(&w, "configmap", "lost"));
    world_done(&w);
}

/* Whoever holds an object holds its tree, which is three times its text: 100,000 pods that are none of ours are the
 * store's alone, in its index and its history. */
static void strangers_are_not_held(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, true);
    create(&w, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {containers: []}}");
    create(&w, "{apiVersion: v1, kind: Pod, metadata: {name: after, namespace: ns}, spec: {containers: []}}");
    settle(&w);
    assert_int_equal(get(&w, "pod", "p")->refs, 2);
    world_done(&w);
}

static void ttl_removes_finished_jobs(void **state)
{
    struct world w;
    struct str text;

    (void)state;
    world_init(&w, true);
    text = arena_fmt(&w.arena, "%s  ttlSecondsAfterFinished: 30\n", job_text);
    create(&w, text.p);
    settle(&w);
    admit_group(&w);
    settle(&w);
    set_pods(&w, 3, "{phase: Succeeded}");
    run_for(&w, 20000);
    assert_phase(&w, "Completed");
    run_for(&w, 30000);
    assert_phase(&w, "(gone)");
    assert_int_equal(store_count(w.store, type("pod")), 0);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_lives),
        cmocka_unit_test(restarts_are_counted),
        cmocka_unit_test(a_job_waits_for_its_keys),
        cmocka_unit_test(rest_is_quiet),
        cmocka_unit_test(same_events_same_writes),
        cmocka_unit_test(counters_of_many_jobs),
        cmocka_unit_test(quota_backs_off_and_heals),
        cmocka_unit_test(trouble_ends_when_others_succeed),
        cmocka_unit_test(unknown_outcome_is_read),
        cmocka_unit_test(lost_requests_are_given_up),
        cmocka_unit_test(foreign_pod_is_waited_for),
        cmocka_unit_test(conflict_is_planned_again),
        cmocka_unit_test(clock_may_be_set_back),
        cmocka_unit_test(large_jobs_go_in_portions),
        cmocka_unit_test(dependents_are_collected),
        cmocka_unit_test(foreground_waits_for_dependents),
        cmocka_unit_test(orphan_of_nobody_is_collected),
        cmocka_unit_test(strangers_are_not_held),
        cmocka_unit_test(ttl_removes_finished_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
