/* pods.c - tests of the table of pods: classes, counters, sets, flights, and a long random walk */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/test/check.h"
#include "base/util.h"
#include "job/pods.h"
#include "job/test/pods_check.h"

/* ---- a job of a few tasks ---- */

struct bench {
    struct job_pods pods;
    struct job job;
    struct job_task tasks[4];
};

static void bench_init(struct bench *b, int32_t version, int32_t workers, int32_t masters)
{
    *b = (struct bench){ 0 };
    b->tasks[0] = (struct job_task){ .name = STR("worker"), .replicas = workers };
    b->tasks[1] = (struct job_task){ .name = STR("master"), .replicas = masters };
    b->job.spec.tasks.v = b->tasks;
    b->job.spec.tasks.n = 2;
    b->job.status.version = version;
    pods_init(&b->pods);
    pods_set_job(&b->pods, &b->job);
    pods_check(&b->pods);
}

static void bench_done(struct bench *b)
{
    pods_check(&b->pods);
    pods_done(&b->pods);
}

static struct pod_view view_of(const char *uid, uint64_t rev, int32_t version, enum pod_phase phase)
{
    struct pod_view v = { .rev = rev, .version = version, .phase = (uint8_t)phase };

    (void)snprintf(v.uid, sizeof(v.uid), "%s", uid);
    return v;
}

static void put(struct bench *b, const char *name, const char *task, uint32_t index, struct pod_view v)
{
    pods_put(&b->pods, str_of(name), str_of(task), index, &v);
    pods_check(&b->pods);
}

static const struct job_pod *get(struct bench *b, const char *name)
{
    return pods_get(&b->pods, str_of(name));
}

static uint32_t n_to_look(struct bench *b)
{
    return (uint32_t)list_check(&b->pods.to_look);
}

/* ---- classes ---- */

static void test_classes(void **state)
{
    static const struct {
        const char *label, *task;
        uint32_t index;
        int32_t version;
        bool is_deleting, is_marked;
        enum pod_standing class;
        bool has_index;
    } cases[] = {
        { "current", "worker", 0, 3, false, false, POD_LIVE, true },
        { "without version", "worker", 0, -1, false, false, POD_LIVE, true },
        { "newer than the job", "worker", 0, 4, false, false, POD_LIVE, true },
        { "older", "worker", 0, 2, false, false, POD_OLD, true },
        { "version 0", "worker", 0, 0, false, false, POD_OLD, true },
        { "marked, current", "worker", 1, 3, false, true, POD_LIVE, true },
        { "marked, older", "worker", 1, 1, false, true, POD_OLD, true },
        { "last index", "worker", 2, 3, false, false, POD_LIVE, true },
        { "beyond", "worker", 3, 3, false, false, POD_SURPLUS, false },
        { "beyond and older", "worker", 3, 2, false, false, POD_SURPLUS, false },
        { "far beyond", "worker", UINT32_MAX, 3, false, false, POD_SURPLUS, false },
        { "no such task", "nobody", 0, 3, false, false, POD_SURPLUS, false },
        { "no task", "", 0, 3, false, false, POD_SURPLUS, false },
        { "deleting", "worker", 0, 3, true, false, POD_TERMINATING, true },
        { "deleting, older", "worker", 0, 2, true, false, POD_TERMINATING, true },
        { "deleting, beyond", "worker", 9, 3, true, false, POD_TERMINATING, false },
        { "deleting, no such task", "nobody", 0, 3, true, false, POD_TERMINATING, false },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pod_view v = view_of("u", 1, cases[i].version, POD_RUNNING);
        const struct job_pod *pod;
        struct bench b;

        bench_init(&b, 3, 3, 1);
        v.is_deleting = cases[i].is_deleting;
        v.is_marked = cases[i].is_marked;
        put(&b, "p", cases[i].task, cases[i].index, v);
        pod = get(&b, "p");
        if (pod->class != cases[i].class || b.pods.n_class[cases[i].class] != 1)
            fail_msg("%s: class %d, want %d", cases[i].label, pod->class, cases[i].class);
        if ((pods_at(&b.pods, 0, cases[i].index) == pod) != cases[i].has_index)
            fail_msg("%s: index", cases[i].label);
        if (b.pods.tasks[0].seen[0] != (cases[i].class == POD_LIVE ? (uint64_t)1 << cases[i].index : 0))
            fail_msg("%s: seen", cases[i].label);
        bench_done(&b);
    }
}

static void test_counters(void **state)
{
    static const struct {
        const char *label;
        enum pod_phase phase;
        bool is_ready;
        uint32_t ready;
        int64_t restarts;
        bool is_done;
    } cases[] = {
        { "pending", POD_PENDING, false, 0, 7, false },       { "running", POD_RUNNING, false, 0, 7, false },
        { "running, ready", POD_RUNNING, true, 1, 7, false }, { "succeeded", POD_SUCCEEDED, false, 1, 0, true },
        { "failed", POD_FAILED, false, 0, 0, false },         { "unknown", POD_UNKNOWN, true, 0, 0, false },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pod_view v = view_of("u", 1, 1, cases[i].phase);
        const struct task_pods *t;
        struct bench b;

        bench_init(&b, 1, 2, 1);
        t = &b.pods.tasks[0];
        v.is_ready = cases[i].is_ready;
        v.restarts = 7;
        put(&b, "p", "worker", 1, v);
        if (t->ready != cases[i].ready || t->restarts != cases[i].restarts || t->live[cases[i].phase] != 1 ||
            pods_count(&b.pods, cases[i].phase, false) != 1 || pods_count(&b.pods, cases[i].phase, true) != 1)
            fail_msg("%s: counters", cases[i].label);
        if ((t->done[0] == 2) != cases[i].is_done)
            fail_msg("%s: done", cases[i].label);

        b.job.status.version = 2; /* now it is old, and nothing was seen or done */
        pods_set_job(&b.pods, &b.job);
        pods_check(&b.pods);
        if (t->ready || t->restarts || t->old[cases[i].phase] != 1 || t->live[cases[i].phase] || t->seen[0] ||
            t->done[0] || pods_count(&b.pods, cases[i].phase, false) || pods_count(&b.pods, cases[i].phase, true) != 1)
            fail_msg("%s: as an old pod", cases[i].label);
        bench_done(&b);
    }
}

static void test_phase_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < POD_PHASE_MAX; i++)
        assert_non_null(pod_phase_names[i]);
    assert_string_equal(pod_phase_names[POD_SUCCEEDED], "Succeeded");
}

/* ---- the job changes ---- */

static void test_version_grows(void **state)
{
    struct bench b;
    (void)state;

    bench_init(&b, 1, 3, 0);
    put(&b, "w0", "worker", 0, view_of("u0", 1, 1, POD_SUCCEEDED));
    put(&b, "w1", "worker", 1, view_of("u1", 2, -1, POD_SUCCEEDED));
    put(&b, "w2", "worker", 2, view_of("u2", 3, 2, POD_RUNNING));
    assert_int_equal(b.pods.tasks[0].done[0], 3);
    pods_looked(&b.pods);
    b.job.status.version = 2;
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    assert_int_equal(get(&b, "w0")->class, POD_OLD);
    assert_int_equal(get(&b, "w1")->class, POD_LIVE);
    assert_int_equal(get(&b, "w2")->class, POD_LIVE);
    assert_int_equal(b.pods.tasks[0].seen[0], 6);
    assert_int_equal(b.pods.tasks[0].done[0], 2);
    assert_int_equal(n_to_look(&b), 1); /* only w0 became something else */
    bench_done(&b);
}

static void test_version_goes_back(void **state)
{
    struct bench b; /* an older Job was read: what is known stays known */
    (void)state;

    bench_init(&b, 2, 2, 0);
    put(&b, "w0", "worker", 0, view_of("u0", 1, 2, POD_SUCCEEDED));
    b.job.status.version = 1;
    pods_set_job(&b.pods, &b.job);
    assert_int_equal(get(&b, "w0")->class, POD_LIVE);
    assert_int_equal(b.pods.tasks[0].done[0], 1);
    bench_done(&b);
}

static void test_replicas(void **state)
{
    struct bench b;
    (void)state;

    bench_init(&b, 0, 200, 1);
    for (uint32_t i = 0; i < 200; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "w%u", i);
        pods_put(&b.pods, str_of(name), STR("worker"), i, &(struct pod_view){ .uid = "u", .phase = POD_SUCCEEDED });
    }
    pods_check(&b.pods);
    pods_looked(&b.pods);

    b.tasks[0].replicas = 70;
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    assert_int_equal(b.pods.n_class[POD_LIVE], 70);
    assert_int_equal(b.pods.tasks[0].surplus, 130);
    assert_int_equal(n_to_look(&b), 130);
    assert_null(pods_at(&b.pods, 0, 70));
    assert_int_equal(b.pods.tasks[0].done[1], 0x3f);
    pods_looked(&b.pods);
    pods_remove(&b.pods, STR("w150"), STR("u"));

    b.tasks[0].replicas = 160;
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    assert_int_equal(b.pods.n_class[POD_LIVE], 159);
    assert_int_equal(b.pods.n_class[POD_SURPLUS], 40);
    assert_int_equal(n_to_look(&b), 89);
    assert_int_equal(pods_next_missing(&b.pods.tasks[0], 0), 150); /* its 'done' went when it was cut off */
    assert_int_equal(pods_next_evicted(&b.pods.tasks[0], 0), UINT32_MAX);

    b.tasks[0].replicas = 0;
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    assert_int_equal(b.pods.n_class[POD_SURPLUS], 199);
    assert_int_equal(pods_next_missing(&b.pods.tasks[0], 0), UINT32_MAX);
    bench_done(&b);
}

static void test_replicas_from_outside(void **state)
{
    static const struct {
        int32_t replicas;
        uint32_t n;
    } cases[] = { { -5, 0 }, { INT32_MIN, 0 }, { INT32_MAX, PODS_TASK_MAX }, { 1000000, 1000000 }, { 64, 64 } };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bench b;

        bench_init(&b, 0, cases[i].replicas, 1);
        assert_int_equal(b.pods.tasks[0].n, cases[i].n);
        put(&b, "far", "worker", UINT32_MAX, view_of("u", 1, 0, POD_RUNNING));
        if (cases[i].n) {
            put(&b, "last", "worker", cases[i].n - 1, view_of("u", 1, 0, POD_RUNNING));
            assert_int_equal(get(&b, "last")->class, POD_LIVE);
            assert_int_equal(pods_next_missing(&b.pods.tasks[0], cases[i].n - 1), UINT32_MAX);
        }
        assert_int_equal(pods_next_missing(&b.pods.tasks[0], UINT32_MAX), UINT32_MAX);
        assert_int_equal(get(&b, "far")->class, POD_SURPLUS);
        bench_done(&b);
    }
}

static void test_sum_of_replicas_is_limited(void **state)
{
    enum { N = 40 };
    struct job_task tasks[N];
    struct job job = { .spec.tasks = { tasks, N } };
    struct job_pods pods;
    uint64_t sum = 0;
    char names[N][8];
    (void)state;

    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "t%zu", i);
        tasks[i] = (struct job_task){ .name = str_of(names[i]), .replicas = INT32_MAX };
    }
    pods_init(&pods);
    pods_set_job(&pods, &job);
    pods_set_job(&pods, &job);
    for (size_t i = 0; i < N; i++)
        sum += pods.tasks[i].n;
    assert_int_equal(sum, PODS_JOB_MAX);
    pods_done(&pods);
}

static void test_other_tasks(void **state)
{
    struct bench b;
    (void)state;

    bench_init(&b, 0, 3, 2);
    put(&b, "w0", "worker", 0, view_of("u0", 1, 0, POD_SUCCEEDED));
    put(&b, "m1", "master", 1, view_of("u1", 2, 0, POD_RUNNING));
    put(&b, "x0", "extra", 0, view_of("u2", 3, 0, POD_RUNNING));
    pods_flight_create(&b.pods, 0, 2, 77);
    pods_remove(&b.pods, STR("w0"), STR("u0"));

    b.tasks[0] = (struct job_task){ .name = STR("extra"), .replicas = 1 }; /* worker moves, master goes, extra comes */
    b.tasks[1] = (struct job_task){ .name = STR("worker"), .replicas = 4 };
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    assert_int_equal(get(&b, "m1")->class, POD_SURPLUS);
    assert_int_equal(get(&b, "x0")->class, POD_LIVE);
    assert_int_equal(b.pods.tasks[1].done[0], 1);
    assert_int_equal(b.pods.tasks[1].seen[0], 1);
    assert_int_equal(b.pods.tasks[1].slots[2].flight_ms, 77);
    assert_int_equal(b.pods.tasks[1].n_creating, 1);

    b.tasks[2] = (struct job_task){ .name = STR("master"), .replicas = 2 };
    b.tasks[3] = (struct job_task){ .name = STR("worker"), .replicas = 4 }; /* a name twice: the first one counts */
    b.job.spec.tasks.n = 4;
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    assert_int_equal(get(&b, "m1")->class, POD_LIVE);
    assert_int_equal(get(&b, "m1")->task, 2);
    assert_int_equal(b.pods.tasks[1].n_creating, 1);
    assert_int_equal(b.pods.tasks[3].n_creating, 0);

    b.job.spec.tasks.n = 0;
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    assert_int_equal(b.pods.n_class[POD_SURPLUS], 2);
    bench_done(&b);
}

static void test_pods_before_the_job(void **state)
{
    struct bench b;
    (void)state;

    bench_init(&b, 5, 2, 1);
    pods_done(&b.pods);
    pods_init(&b.pods);
    put(&b, "w0", "worker", 0, view_of("u0", 1, 5, POD_SUCCEEDED));
    assert_int_equal(get(&b, "w0")->class, POD_SURPLUS);
    pods_set_job(&b.pods, &b.job);
    assert_int_equal(get(&b, "w0")->class, POD_LIVE);
    assert_int_equal(b.pods.tasks[0].done[0], 1);
    bench_done(&b);
}

/* ---- pods change ---- */

static void test_put_order(void **state)
{
    struct bench b;
    (void)state;

    bench_init(&b, 0, 2, 0);
    put(&b, "w0", "worker", 0, view_of("a", 10, 0, POD_RUNNING));
    put(&b, "w0", "worker", 0, view_of("a", 9, 0, POD_PENDING)); /* late */
    put(&b, "w0", "worker", 0, view_of("a", 10, 0, POD_FAILED)); /* doubled */
    assert_int_equal(get(&b, "w0")->view.phase, POD_RUNNING);
    put(&b, "w0", "worker", 0, view_of("a", 11, 0, POD_FAILED));
    assert_int_equal(get(&b, "w0")->view.phase, POD_FAILED);

    put(&b, "w0", "worker", 0, view_of("b", 12, 0, POD_PENDING)); /* the next pod of that name */
    assert_string_equal(get(&b, "w0")->view.uid, "b");
    put(&b, "w0", "worker", 0, view_of("a", 11, 0, POD_FAILED)); /* the one before, late */
    assert_string_equal(get(&b, "w0")->view.uid, "b");
    pods_remove(&b.pods, STR("w0"), STR("a"));
    assert_non_null(get(&b, "w0"));
    pods_remove(&b.pods, STR("w1"), STR("a"));
    pods_remove(&b.pods, STR("w0"), STR("b"));
    assert_null(get(&b, "w0"));
    assert_int_equal(pods_next_evicted(&b.pods.tasks[0], 0), 0);
    bench_done(&b);
}

static void test_put_own_name(void **state)
{
    struct pod_view v = view_of("b", 2, 0, POD_RUNNING);
    struct bench b; /* the caller may hand in the text of the pod that is replaced */
    (void)state;

    bench_init(&b, 0, 2, 0);
    put(&b, "w0", "worker", 0, view_of("a", 1, 0, POD_RUNNING));
    pods_put(&b.pods, get(&b, "w0")->name, pod_task_name(get(&b, "w0")), 1, &v);
    assert_string_equal(pods_at(&b.pods, 0, 1)->view.uid, "b");
    assert_null(pods_at(&b.pods, 0, 0));
    bench_done(&b);
}

static void test_to_look(void **state)
{
    struct pod_view v = view_of("a", 1, 0, POD_RUNNING);
    struct bench b;
    (void)state;

    bench_init(&b, 0, 2, 0);
    put(&b, "w0", "worker", 0, v);
    put(&b, "w1", "worker", 1, v);
    assert_int_equal(n_to_look(&b), 2);
    pods_looked(&b.pods);
    assert_int_equal(n_to_look(&b), 0);
    v.rev++;
    put(&b, "w0", "worker", 0, v); /* nothing that we keep is another */
    assert_int_equal(n_to_look(&b), 0);
    assert_int_equal(get(&b, "w0")->view.rev, 2);
#define CHANGE(statement)                                                                                              \
    do {                                                                                                               \
        pods_looked(&b.pods);                                                                                          \
        v.rev++;                                                                                                       \
        statement;                                                                                                     \
        put(&b, "w0", "worker", 0, v);                                                                                 \
        if (n_to_look(&b) != 1)                                                                                        \
            fail_msg("not seen as a change: " #statement);                                                             \
    } while (0)
    CHANGE(v.phase = POD_PENDING);
    CHANGE(v.is_ready = true);
    CHANGE(v.is_marked = true);
    CHANGE(v.is_disrupted = true);
    CHANGE(v.restarts = 1);
    CHANGE(v.version = 1);
    CHANGE(v.created_ms = 1);
    CHANGE(v.finished_ms = 1);
    CHANGE(v.n_exit_codes = 1);
    CHANGE(v.exit_codes[0] = 3);
    CHANGE(v.is_deleting = true);
    CHANGE(v.uid[0] = 'z');
#undef CHANGE
    pods_remove(&b.pods, STR("w0"), STR("z"));
    assert_int_equal(n_to_look(&b), 0);
    bench_done(&b);
}

static void test_view_from_outside(void **state)
{
    struct pod_view v = view_of("", 1, 0, POD_RUNNING);
    struct bench b;
    (void)state;

    bench_init(&b, 0, 1, 0);
    memset(v.uid, 'x', sizeof(v.uid));
    v.phase = 99;
    v.n_exit_codes = 200;
    put(&b, "", "worker", 0, v);
    assert_int_equal(get(&b, "")->view.phase, POD_UNKNOWN);
    assert_int_equal(get(&b, "")->view.n_exit_codes, POD_EXIT_CODES);
    assert_int_equal(strlen(get(&b, "")->view.uid), sizeof(v.uid) - 1);
    bench_done(&b);
}

static void test_doubles(void **state)
{
    struct bench b; /* two pods of different names claim one index */
    (void)state;

    bench_init(&b, 0, 2, 0);
    put(&b, "w0", "worker", 0, view_of("a", 1, 0, POD_RUNNING));
    put(&b, "other", "worker", 0, view_of("b", 2, 0, POD_RUNNING));
    assert_int_equal(get(&b, "w0")->class, POD_LIVE);
    assert_int_equal(get(&b, "other")->class, POD_SURPLUS);
    put(&b, "w0", "worker", 0, view_of("a", 3, 0, POD_FAILED));
    assert_int_equal(get(&b, "w0")->class, POD_LIVE);
    pods_looked(&b.pods);
    pods_remove(&b.pods, STR("w0"), STR("a"));
    pods_check(&b.pods);
    assert_int_equal(get(&b, "other")->class, POD_LIVE);
    assert_int_equal(n_to_look(&b), 1);
    put(&b, "third", "worker", 0, view_of("c", 4, 0, POD_RUNNING));
    put(&b, "other", "worker", 1, view_of("b", 5, 0, POD_RUNNING)); /* it was told that it is another one */
    assert_int_equal(get(&b, "third")->class, POD_LIVE);
    assert_int_equal(get(&b, "other")->class, POD_LIVE);
    bench_done(&b);
}

/* ---- flights ---- */

static void test_create_flights(void **state)
{
    const struct task_pods *t;
    struct bench b;
    (void)state;

    bench_init(&b, 0, 3, 1);
    t = &b.pods.tasks[0];
    pods_flight_create(&b.pods, 0, 0, 0); /* time 0 is a time too */
    pods_flight_create(&b.pods, 0, 1, 50);
    pods_flight_create(&b.pods, 0, 1, 60);
    pods_flight_create(&b.pods, 0, 3, 50);
    pods_flight_create(&b.pods, 9, 0, 50);
    pods_check(&b.pods);
    assert_int_equal(t->n_creating, 2);
    assert_int_equal(t->slots[1].flight_ms, 60);
    assert_int_equal(pods_next_missing(t, 0), 2);

    put(&b, "w0", "worker", 0, view_of("a", 1, 0, POD_PENDING));
    assert_int_equal(t->n_creating, 1);
    pods_flight_create(&b.pods, 0, 0, 50); /* has a pod */
    assert_int_equal(t->n_creating, 1);
    pods_flight_off(&b.pods, 0, 1);
    pods_flight_off(&b.pods, 0, 1);
    pods_flight_off(&b.pods, 0, 7);
    pods_flight_off(&b.pods, 7, 0);
    assert_int_equal(t->n_creating, 0);
    assert_int_equal(pods_next_missing(t, 0), 1);

    pods_flight_create(&b.pods, 0, 2, 70);
    b.tasks[0].replicas = 2; /* cut off with its flight */
    pods_set_job(&b.pods, &b.job);
    pods_check(&b.pods);
    b.tasks[0].replicas = 3;
    pods_set_job(&b.pods, &b.job);
    assert_int_equal(b.pods.tasks[0].n_creating, 0);
    bench_done(&b);
}

static void test_delete_flights(void **state)
{
    struct pod_view v = view_of("a", 1, 0, POD_RUNNING);
    struct job_pod *pod;
    struct bench b;
    (void)state;

    bench_init(&b, 0, 3, 1);
    put(&b, "w0", "worker", 0, v);
    pod = pods_get(&b.pods, STR("w0"));
    pods_flight_delete(&b.pods, pod, 5);
    pods_flight_delete(&b.pods, pod, 6);
    assert_int_equal(b.pods.n_deleting, 1);
    v.rev++;
    v.phase = POD_FAILED;
    put(&b, "w0", "worker", 0, v); /* not the answer */
    assert_int_equal(b.pods.n_deleting, 1);
    v.rev++;
    v.is_deleting = true;
    put(&b, "w0", "worker", 0, v);
    assert_int_equal(b.pods.n_deleting, 0);
    pods_flight_delete(&b.pods, pod, 7); /* once more, with force */
    v.rev++;
    v.is_ready = true;
    put(&b, "w0", "worker", 0, v);
    assert_int_equal(b.pods.n_deleting, 1);
    pods_flight_delete_off(&b.pods, pod);
    pods_flight_delete_off(&b.pods, pod);
    assert_int_equal(b.pods.n_deleting, 0);
    pods_flight_delete(&b.pods, pod, 8);
    put(&b, "w0", "worker", 0, view_of("next", 9, 0, POD_PENDING));
    assert_int_equal(b.pods.n_deleting, 0);
    pods_flight_delete(&b.pods, pods_get(&b.pods, STR("w0")), 8);
    pods_remove(&b.pods, STR("w0"), STR("next"));
    assert_int_equal(b.pods.n_deleting, 0);
    bench_done(&b);
}

/* ---- sets ---- */

static void test_next(void **state)
{
    static const struct {
        const char *label, *seen, *done;
        uint32_t n, from, missing, evicted;
    } cases[] = {
        { "nothing known", "", "", 100, 0, 0, UINT32_MAX },
        { "from the middle", "0-99", "", 100, 70, 70, 70 },
        { "done is not missing", "0-99", "0-63", 100, 0, 64, 64 },
        { "all done", "0-99", "0-99", 100, 0, UINT32_MAX, UINT32_MAX },
        { "seen further on", "90", "", 100, 0, 0, 90 },
        { "done beside seen", "3,4", "3", 100, 0, 0, 4 },
        { "at the end", "127", "0-126", 128, 0, 127, 127 },
        { "beyond the end", "0-127", "", 128, 128, UINT32_MAX, UINT32_MAX },
        { "none", "0-9", "", 0, 0, UINT32_MAX, UINT32_MAX },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bench b;

        bench_init(&b, 0, (int32_t)cases[i].n, 0);
        pods_recall(&b.pods, 0, str_of(cases[i].seen), str_of(cases[i].done));
        pods_recall(&b.pods, 5, str_of(cases[i].seen), str_of(cases[i].done));
        if (pods_next_missing(&b.pods.tasks[0], cases[i].from) != cases[i].missing)
            fail_msg("%s: missing", cases[i].label);
        if (pods_next_evicted(&b.pods.tasks[0], cases[i].from) != UINT32_MAX) /* nobody has looked yet */
            fail_msg("%s: evicted on hearsay", cases[i].label);
        if (pods_next_doubtful(&b.pods.tasks[0], cases[i].from) != cases[i].evicted)
            fail_msg("%s: doubtful", cases[i].label);
        for (uint32_t k = 0; k < cases[i].n + 2; k++)
            pods_confirm_gone(&b.pods, 0, k);
        if (pods_next_evicted(&b.pods.tasks[0], cases[i].from) != cases[i].evicted)
            fail_msg("%s: evicted", cases[i].label);
        bench_done(&b);
    }
}

static void test_recall_replaces(void **state)
{
    struct bench b;
    (void)state;

    bench_init(&b, 0, 8, 0);
    put(&b, "w0", "worker", 0, view_of("a", 1, 0, POD_SUCCEEDED));
    pods_recall(&b.pods, 0, STR("1-2"), STR("2"));
    assert_int_equal(b.pods.tasks[0].seen[0], 7);
    assert_int_equal(b.pods.tasks[0].done[0], 5);
    pods_recall(&b.pods, 0, STR("2"), STR("")); /* a restart has forgotten index 1; what is there stays seen */
    assert_int_equal(b.pods.tasks[0].seen[0], 5);
    assert_int_equal(b.pods.tasks[0].done[0], 1);
    bench_done(&b);
}

static void test_bits_text(void **state)
{
    static const struct {
        const char *text;
        uint32_t n;
        const char *again;
    } cases[] = {
        { "", 10, "" },
        { "0", 1, "0" },
        { "0-3,7,9-12", 64, "0-3,7,9-12" },
        { "0-1", 64, "0-1" },
        { "0-63", 64, "0-63" },
        { "0-64", 64, "0-63" },
        { "0-64", 65, "0-64" },
        { "62-66,128-191", 200, "62-66,128-191" },
        { "5-400", 200, "5-199" },
        { "7,3,5,4", 10, "3-5,7" },
        { "0-18446744073709551615", 3, "0-2" },
        { "18446744073709551615", 3, "" },
        { "18446744073709551616,1", 3, "1" },
        { "4-2,-1,1-,--,a,1-2-3, 1,+1,,9", 10, "9" },
        { "1", 0, "" },
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t bits[8] = { 0 };
        autoarena a = { 0 };
        struct str again;

        bits_parse(str_of(cases[i].text), bits, cases[i].n);
        again = bits_print(&a, bits, cases[i].n);
        if (!str_is(again, cases[i].again))
            fail_msg("\"%s\": want \"%s\", got \"%.*s\"", cases[i].text, cases[i].again, STR_ARG(again));
    }
}

static void test_bits_round_trip(void **state)
{
    struct rand r;
    (void)state;

    rand_seed(&r, 11);
    for (int turn = 0; turn < 2000; turn++) {
        uint32_t n = (uint32_t)rand_below(&r, 300);
        uint64_t bits[5] = { 0 }, again[5] = { 0 };
        uint64_t density = 1 + rand_below(&r, 9);
        autoarena a = { 0 };

        for (uint32_t i = 0; i < n; i++)
            if (rand_chance(&r, density, 10))
                bits[i / 64] |= (uint64_t)1 << (i % 64);
        bits_parse(bits_print(&a, bits, n), again, n);
        if (memcmp(bits, again, sizeof(bits)) != 0)
            fail_msg("turn %d, %u bits", turn, n);
    }
}

/* ---- memory ---- */

static void test_memory(void **state)
{
    enum { N = 10000 };
    struct bench b;
    size_t each;
    (void)state;

    bench_init(&b, 0, N, 1);
    for (uint32_t i = 0; i < N; i++) {
        struct pod_view v = view_of("01234567-89ab-cdef-0123-456789abcdef", i + 1, 0, POD_RUNNING);
        char name[40];

        (void)snprintf(name, sizeof(name), "training-run-worker-%u", i);
        pods_put(&b.pods, str_of(name), STR("worker"), i, &v);
    }
    each = pods_bytes(&b.pods) / N;
    if (each > 300)
        fail_msg("%zu bytes for a pod", each);
    bench_done(&b);
}

/* ---- a random walk: the table against a plain list of pods ---- */

enum { NAMES = 24 };
static const char *const walk_tasks[] = { "a", "b", "c", "gone" };

struct model_pod {
    bool is_there;
    struct pod_view view;
    uint32_t index;
    const char *task;
};

struct walk {
    struct rand r;
    struct bench b;
    struct model_pod pods[NAMES];
    uint64_t rev, uid;
};

static void walk_job(struct walk *w)
{
    size_t n = rand_below(&w->r, 4);

    switch (rand_below(&w->r, 3)) {
    case 0:
        w->b.job.status.version += (int32_t)rand_below(&w->r, 2);
        break;
    case 1:
        for (size_t i = 0; i < ARRAY_LEN(w->b.tasks); i++)
            w->b.tasks[i].replicas = (int32_t)rand_between(&w->r, -1, 70);
        break;
    default:
        for (size_t i = 0; i < n; i++) /* a rotation, so that names are different */
            w->b.tasks[i].name = str_of(walk_tasks[(i + w->rev) % 3]);
        w->b.job.spec.tasks.n = n;
    }
    pods_set_job(&w->b.pods, &w->b.job);
}

static struct pod_view walk_view(struct walk *w)
{
    struct pod_view v = view_of("", ++w->rev, (int32_t)rand_between(&w->r, -1, w->b.job.status.version + 1),
                                (enum pod_phase)rand_below(&w->r, POD_PHASE_MAX));

    v.restarts = (int32_t)rand_below(&w->r, 5);
    v.is_deleting = rand_chance(&w->r, 1, 5);
    v.is_ready = rand_chance(&w->r, 1, 2);
    return v;
}

static void walk_put(struct walk *w, size_t i, const char *name)
{
    struct model_pod now = w->pods[i];

    now.view = walk_view(w);
    memcpy(now.view.uid, w->pods[i].view.uid, sizeof(now.view.uid));
    if (!now.is_there || rand_chance(&w->r, 1, 4)) { /* a new pod, sometimes without a word about the old one */
        now.task = walk_tasks[rand_below(&w->r, ARRAY_LEN(walk_tasks))];
        now.index = (uint32_t)(rand_chance(&w->r, 1, 10) ? rand_u64(&w->r) : rand_below(&w->r, 70));
        (void)snprintf(now.view.uid, sizeof(now.view.uid), "u%llu", (unsigned long long)++w->uid);
    }
    if (now.is_there && rand_chance(&w->r, 1, 10)) /* late or doubled: must change nothing */
        now.view.rev = w->pods[i].view.rev - rand_below(&w->r, 2);
    now.is_there = true;
    pods_put(&w->b.pods, str_of(name), str_of(now.task), now.index, &now.view);
    if (!w->pods[i].is_there || now.view.rev > w->pods[i].view.rev)
        w->pods[i] = now;
}

static void walk_step(struct walk *w)
{
    size_t i = rand_below(&w->r, NAMES), task = rand_below(&w->r, 4);
    uint32_t index = (uint32_t)rand_below(&w->r, 72);
    struct job_pod *pod;
    char name[8];

    (void)snprintf(name, sizeof(name), "p%zu", i);
    pod = pods_get(&w->b.pods, str_of(name));
    switch (rand_below(&w->r, 12)) {
    case 0:
        walk_job(w);
        break;
    case 1:
    case 2:
        pods_remove(&w->b.pods, str_of(name), str_of(w->pods[i].view.uid));
        w->pods[i].is_there = false;
        break;
    case 3:
        pods_remove(&w->b.pods, str_of(name), STR("somebody-else"));
        break;
    case 4:
        pods_flight_create(&w->b.pods, task, index, (int64_t)w->rev);
        break;
    case 5:
        pods_flight_off(&w->b.pods, task, index);
        break;
    case 6:
        if (pod)
            pods_flight_delete(&w->b.pods, pod, (int64_t)w->rev);
        break;
    case 7:
        if (pod && rand_chance(&w->r, 1, 2))
            pods_flight_delete_off(&w->b.pods, pod);
        else
            pods_looked(&w->b.pods);
        break;
    default:
        walk_put(w, i, name);
    }
}

/* The table has the pods of the model, and nothing else. */
static void walk_compare(struct walk *w, uint64_t seed, int step)
{
    size_t n = 0;

    for (size_t i = 0; i < NAMES; i++) {
        const struct job_pod *pod;
        char name[8];

        (void)snprintf(name, sizeof(name), "p%zu", i);
        pod = get(&w->b, name);
        n += w->pods[i].is_there;
        if (!pod != !w->pods[i].is_there)
            fail_msg("seed %llu step %d: %s is %sthere", (unsigned long long)seed, step, name, pod ? "" : "not ");
        if (pod && (pod->index != w->pods[i].index || pod->view.phase != w->pods[i].view.phase ||
                    pod->view.rev != w->pods[i].view.rev || strcmp(pod->view.uid, w->pods[i].view.uid) != 0))
            fail_msg("seed %llu step %d: %s is another one", (unsigned long long)seed, step, name);
    }
    assert_int_equal(n, map_count(&w->b.pods.by_name));
}

static void test_random_walk(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct walk w = { 0 };

        rand_seed(&w.r, seed);
        bench_init(&w.b, 0, 60, 0);
        w.b.tasks[0].name = STR("a");
        w.b.tasks[1].name = STR("b");
        pods_set_job(&w.b.pods, &w.b.job);
        for (int step = 0; step < 1500; step++) {
            walk_step(&w);
            pods_check(&w.b.pods);
            walk_compare(&w, seed, step);
        }
        bench_done(&w.b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_phase_names),
        cmocka_unit_test(test_version_grows),
        cmocka_unit_test(test_version_goes_back),
        cmocka_unit_test(test_replicas),
        cmocka_unit_test(test_replicas_from_outside),
        cmocka_unit_test(test_sum_of_replicas_is_limited),
        cmocka_unit_test(test_other_tasks),
        cmocka_unit_test(test_pods_before_the_job),
        cmocka_unit_test(test_put_order),
        cmocka_unit_test(test_put_own_name),
        cmocka_unit_test(test_to_look),
        cmocka_unit_test(test_view_from_outside),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_create_flights),
        cmocka_unit_test(test_delete_flights),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_recall_replaces),
        cmocka_unit_test(test_bits_text),
        cmocka_unit_test(test_bits_round_trip),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_random_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
