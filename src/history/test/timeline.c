/* timeline.c - tests of the history of a cluster: what changes of objects become */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "history/test/timeline_story.h"

static const struct history_job *job_of(const struct story *s, const char *name)
{
    const struct history_job *j = history_job(s->h, STR("default"), str_of(name));

    if (!j)
        fail_msg("no job %s", name);
    return j;
}

static int64_t after_s(const struct story *s, int64_t ms)
{
    return ms < 0 ? -1 : (ms - s->h->begin_ms) / 1000;
}

static void test_life(void **state)
{
    struct story s;
    const struct history_job *j;

    (void)state;
    story_begin(&s);
    story_node(&s, "n1", 8);
    story_life(&s, "a", "q", 60, 180);
    history_finish(s.h, s.h->begin_ms + 180000);
    j = job_of(&s, "a");
    assert_int_equal(after_s(&s, j->submitted_ms), 0);
    assert_int_equal(after_s(&s, j->admitted_ms), 60);
    assert_int_equal(after_s(&s, j->started_ms), 60);
    assert_int_equal(after_s(&s, j->finished_ms), 180);
    assert_int_equal(job_wait_ms(s.h, j), 60000);
    assert_int_equal(job_run_ms(s.h, j), 120000);
    assert_int_equal(j->succeeded, 1);
    assert_int_equal(j->waits.n, 1);
    assert_int_equal(after_s(&s, j->waits.v[0].from_ms), 0);
    assert_int_equal(after_s(&s, j->waits.v[0].until_ms), 60);
    assert_true(str_is(j->waits.v[0].reason, "NotEnoughResources"));
    assert_true(s.h->n_open == 0);
    story_done(&s);
}

static void test_starts_at_its_minimum(void **state)
{
    struct story s;
    const struct history_job *j;

    (void)state;
    story_begin(&s);
    story_job(&s, 0, "a", "q", 2, "");
    story_group(&s, 0, "a", "q", "Inqueue", "");
    story_pod(&s, 10, "a", 0, "n1", "Running", false);
    j = job_of(&s, "a");
    assert_int_equal(j->started_ms, -1);
    assert_int_equal(j->steps.v[j->steps.n - 1].state, STATE_PARTLY);
    story_pod(&s, 20, "a", 1, "n1", "Running", false);
    assert_int_equal(after_s(&s, j->started_ms), 20);
    assert_int_equal(j->tasks.v[0]->running, 2);
    story_pod(&s, 30, "a", 1, "n1", "Running", true); /* evicted */
    assert_int_equal(j->steps.v[j->steps.n - 1].state, STATE_PARTLY);
    assert_int_equal(j->stopped, 1);
    assert_int_equal(j->stops, 1);
    history_finish(s.h, s.h->begin_ms + 45000);
    assert_int_equal(job_run_ms(s.h, j), 10000);
    assert_int_equal(job_wait_ms(s.h, j), 35000);
    assert_int_equal(after_s(&s, j->started_ms), 20); /* the first start counts */
    assert_false(s.h->n_open == 0);
    story_done(&s);
}

static void test_reasons_follow_each_other(void **state)
{
    struct story s;
    const struct history_job *j;

    (void)state;
    story_begin(&s);
    story_job(&s, 0, "a", "q", 1, "");
    story_group(&s, 0, "a", "q", "Pending", "first");
    story_group(&s, 5, "a", "q", "Pending", "first");      /* the same again is no news */
    story_group(&s, 7, "a", "q", "Pending", "in passing"); /* for no time */
    story_group(&s, 7, "a", "q", "Pending", "first");
    story_group(&s, 9, "a", "q", "Pending", "second");
    history_finish(s.h, s.h->begin_ms + 20000);
    j = job_of(&s, "a");
    assert_int_equal(j->waits.n, 2);
    assert_int_equal(after_s(&s, j->waits.v[0].until_ms), 9);
    assert_true(str_is(j->waits.v[1].message, "second"));
    assert_int_equal(j->waits.v[1].until_ms, -1);
    assert_int_equal(job_wait_ms(s.h, j), 20000);
    story_done(&s);
}

static void test_use(void **state)
{
    struct story s;
    const struct history_place *q;

    (void)state;
    story_begin(&s);
    story_node(&s, "n1", 8);
    story_job(&s, 0, "a", "q", 1, "");
    story_job(&s, 0, "b", "q", 1, "");
    story_pod(&s, 0, "a", 0, "n1", "Running", false);
    story_pod(&s, 50, "b", 0, "n1", "Pending", false); /* bound is enough */
    story_pod(&s, 100, "a", 0, "n1", "Succeeded", false);
    story_pod(&s, 100, "b", 0, "n1", "Running", true);
    history_finish(s.h, s.h->begin_ms + 200000);
    assert_int_equal(s.h->queues.n, 1);
    q = s.h->queues.v[0];
    assert_int_equal(place_at(q, s.h->begin_ms - 1)->v[DIM_CPU], 0);
    assert_int_equal(place_at(q, s.h->begin_ms)->v[DIM_CPU], 2000);
    assert_int_equal(place_at(q, s.h->begin_ms + 50000)->v[DIM_CPU], 4000);
    assert_int_equal(place_at(q, s.h->begin_ms + 100000)->v[DIM_CPU], 0);
    assert_int_equal(place_peak(q, DIM_CPU, s.h->begin_ms, s.h->end_ms), 4000);
    assert_int_equal(place_peak(q, DIM_CPU, s.h->begin_ms, s.h->begin_ms + 50000), 2000);
    assert_int_equal((int)place_mean(q, DIM_CPU, s.h->begin_ms, s.h->begin_ms + 100000), 3000);
    assert_int_equal((int)place_mean(q, DIM_CPU, s.h->begin_ms, s.h->begin_ms + 200000), 1500);
    assert_int_equal(place_peak(s.h->nodes.v[0], DIM_CPU, s.h->begin_ms, s.h->end_ms), 4000);
    assert_int_equal(s.h->total.v[DIM_CPU], 8000);
    story_done(&s);
}

static void test_order(void **state)
{
    static const char *const want[] = { "early", "late", "never" };
    struct story s;

    (void)state;
    story_begin(&s);
    story_job(&s, 0, "never", "q", 1, "");
    story_life(&s, "late", "q", 50, 100);
    story_life(&s, "early", "q", 0, 100);
    history_finish(s.h, s.h->begin_ms + 100000);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        if (!str_is(s.h->jobs.v[i]->name, want[i]))
            fail_msg("place %zu is %.*s, not %s", i, STR_ARG(s.h->jobs.v[i]->name), want[i]);
    story_done(&s);
}

static void test_states_of_a_time(void **state)
{
    struct story s;
    const struct history_job *j;

    (void)state;
    story_begin(&s);
    story_life(&s, "a", "q", 60, 180);
    j = job_of(&s, "a");
    assert_int_equal(job_state_between(j, s.h->begin_ms - 2000, s.h->begin_ms - 1000), JOB_STATE_MAX);
    assert_int_equal(job_state_between(j, s.h->begin_ms, s.h->begin_ms + 60000), STATE_WAITS);
    assert_int_equal(job_state_between(j, s.h->begin_ms + 50000, s.h->begin_ms + 80000), STATE_RUNS);
    assert_int_equal(job_state_between(j, s.h->begin_ms + 30000, s.h->begin_ms + 70000), STATE_WAITS);
    assert_int_equal(job_state_between(j, s.h->begin_ms + 200000, s.h->begin_ms + 210000), STATE_DONE);
    story_done(&s);
}

static void test_group_without_job(void **state)
{
    struct story s;
    const struct history_job *j;

    (void)state;
    story_begin(&s);
    story_tell(&s, 0, false,
               "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g-x, namespace: default,"
               " uid: g-x}, spec: {minMember: 1, queue: q}, status: {phase: Inqueue}}");
    story_pod(&s, 5, "x", 0, "n1", "Running", false);
    j = job_of(&s, "g-x");
    assert_true(str_is(j->kind, "PodGroup"));
    assert_int_equal(after_s(&s, j->started_ms), 5);
    story_pod(&s, 9, "x", 0, "n1", "Succeeded", false);
    story_tell(&s, 9, false,
               "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g-x, namespace: default,"
               " uid: g-x}, spec: {minMember: 1, queue: q}, status: {phase: Completed}}");
    assert_int_equal(after_s(&s, j->finished_ms), 9);
    assert_true(s.h->n_open == 0);
    story_done(&s);
}

/* A task without "replicas" has no pods: that is what the controller makes of it. */
static void test_replicas_left_out(void **state)
{
    struct story s;
    const struct history_job *j;

    (void)state;
    story_begin(&s);
    story_tell(&s, 0, false,
               "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: a, namespace: default, uid: j-a},"
               " spec: {tasks: [{name: boss, replicas: 2}, {name: idle}]}}");
    j = job_of(&s, "a");
    assert_int_equal(j->n_pods, 2);
    assert_int_equal(j->tasks.v[1]->replicas, 0);
    story_done(&s);
}

static void test_odd_objects(void **state)
{
    static const char *const texts[] = {
        "{apiVersion: v1, kind: Pod, metadata: {name: x, uid: u1}}",
        "{apiVersion: v1, kind: Pod, metadata: 7, spec: [], status: true}",
        "{apiVersion: v1, kind: Node, metadata: {name: x}, status: {allocatable: {cpu: [], memory: -5}}}",
        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: x, uid: u2}, spec: {tasks: {a: 1},"
        " minAvailable: many}, status: {state: 3}}",
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: x, uid: u3, ownerReferences: 3},"
        " status: {conditions: [1, null, {type: Unschedulable, status: True}]}}",
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: x, uid: u4}, value: big}",
    };
    struct story s;

    (void)state;
    story_begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        story_tell(&s, 0, false, texts[i]);
        story_tell(&s, 1, false, texts[i]);
        story_tell(&s, 2, true, texts[i]);
        story_tell(&s, 3, true, texts[i]);
    }
    history_finish(s.h, s.h->begin_ms + 4000);
    story_done(&s);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *name;
        int64_t v;
        const char *want;
    } cases[] = {
        { "cpu", 1500, "1500m" },
        { "cpu", 8000, "8" },
        { "memory", 0, "0" },
        { "memory", 1024, "1Ki" },
        { "memory", 150492288 * INT64_C(1024), "144Gi" },
        { "memory", 16274560 * INT64_C(1024), "15.5Gi" },
        { "memory", INT64_C(64) << 30, "64Gi" },
        { "nvidia.com/gpu", 12, "12" },
    };
    struct dims dims;

    (void)state;
    dims_init(&dims);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };

        size_print(&out, &dims, dim_of(&dims, str_of(cases[i].name)), cases[i].v);
        if (!str_is(buf_view(&out), cases[i].want))
            fail_msg("%lld of %s is %s, not %s", (long long)cases[i].v, cases[i].name, out.p, cases[i].want);
    }
    dims_done(&dims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_starts_at_its_minimum),
        cmocka_unit_test(test_reasons_follow_each_other),
        cmocka_unit_test(test_use),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_states_of_a_time),
        cmocka_unit_test(test_group_without_job),
        cmocka_unit_test(test_replicas_left_out),
        cmocka_unit_test(test_odd_objects),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
