/* races.c - checklist 110 to 116: same names again, lost queues, crashes, many pods, two controllers */
#include "harness.h"

#define EIGHT JOB("j", POLICIES(POLICY("PodEvicted", "RestartJob")) TASKS(TASK("a", "8", "")))

static void test_110_delete_and_create_again(void **state)
{
    autoh h = h_new();

    (void)state;
    h->admits_all = true;
    h->runs_all = true;
    for (int i = 0; i < 200; i++) {
        h->holds_pods = true; /* 30 s of grace: the old pods outlive their job */
        h_job(h, EIGHT);
        if (i % 3 == 0)
            h_turns(h, 0, (unsigned)i % 7);
        else
            h_run(h);
        if (i % 5 == 0) {
            h->holds_pods = false;
            h_advance(h, 30 * 1000);
        }
        if (i < 199)
            h_delete(h, "job/j", -1);
    }
    h_advance(h, 1000);
    h_release(h);
    h_advance(h, 10 * 60 * 1000);
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_count_pods(h, "j", "a", "Running"), 8);
    assert_int_equal(h_count(h, "pods"), 8);
    assert_int_equal(h_int(h, "job/j", "status.version"), 0);
    assert_int_equal(h_count(h, "podgroups"), 1);
}

static void test_111_no_pods_of_the_dead(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 12; n++) {
        autoh h = h_new();
        uint64_t creates;

        h_running(h, JOB("j", POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "4", ""))));
        h->admits_all = true;
        h->holds_pods = true;
        h_delete(h, "pod/j-a-1", 0);
        h_turns(h, 0, n % 4);
        h_delete(h, "pod/j-a-2", 0);
        h_turns(h, 0, n / 4);
        creates = h->pod_creates;
        h_delete(h, "job/j", -1);
        h_turns(h, 0, 1); /* what was planned before it is known */
        assert_in_range(h->pod_creates - creates, 0, 4);
        creates = h->pod_creates;
        h_release(h);
        h_advance(h, 60 * 60 * 1000);
        assert_int_equal(h->pod_creates, creates);
        assert_int_equal(h_count(h, "pods"), 0);
        assert_int_equal(h_count(h, "jobs"), 0);
        assert_int_equal(h_count(h, "podgroups"), 0); /* item 39 of the scheduler's checklist */
    }
}

static void test_112_queue_goes_away(void **state)
{
    autoh h = h_new();

    (void)state;
    h_create(h, "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q1}, spec: {weight: 1}}");
    h_set_status(h, "queue/q1", "{state: Open}");
    h_running(h, JOB("j", "queue: q1, " TASKS(TASK("a", "2", ""))));
    h_delete(h, "queue/q1", 0);
    h_advance(h, 3600 * 1000);
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_count_pods(h, "j", NULL, "Running"), 2);
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_pod_phase(h, "j-a-1", "Succeeded");
    h_expect_phase(h, "j", "Completed");
}

static void test_113_name_of_a_terminated_job(void **state)
{
    static const char *const job = JOB("j", TASKS(TASK("a", "2", "")));
    autoh h = h_new();

    (void)state;
    h_job(h, job);
    h_run(h);
    h_fail_next_writes(h, OP_CREATE, "pods", ERR_IO, 40, "the webhook is away");
    h_admit(h, "j");
    h_advance(h, 10 * 60 * 1000);
    h_command(h, "j", "TerminateJob");
    h_advance(h, 10 * 60 * 1000);
    h_expect_phase(h, "j", "Terminated");
    h_delete(h, "job/j", -1);
    h_run(h);
    h_no_more_failures(h);
    h_fail_next_writes(h, OP_CREATE, "pods", ERR_IO, 1, "the webhook is away");
    h_job(h, job);
    h_run(h);
    h_admit(h, "j");
    h_advance(h, 1000); /* a new job waits as a new job does: milliseconds */
    assert_int_equal(h_count_pods(h, "j", NULL, NULL), 2);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
}

static void test_114_crash_while_creating(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 12; n++) {
        autoh h = h_new();

        h_job(h, JOB("j", TASKS(TASK("a", "20", ""))));
        h_run(h);
        h_lose_next_answers(h, OP_CREATE, "pods", n);
        h_group_phase(h, "j", "Pending");
        h_stop(h, 0);
        h_admit(h, "j"); /* nobody sees it yet */
        h_start(h, 0);
        h_turns(h, 0, n);
        h_restart_controller(h);
        h_advance(h, 60 * 1000);
        assert_int_equal(h_count_pods(h, "j", "a", NULL), 20);
        h_expect(h, "job/j", "status.pending", "20");
        h_go(h, "j");
        h_advance(h, 5000);
        h_expect_phase(h, "j", "Running");
        h_expect(h, "job/j", "status.running", "20");
        assert_int_equal(h_count(h, "pods"), 20);
    }
}

enum { MANY = 5000 };

static void test_115_many_pods(void **state)
{
    autoh h = h_new();
    uint64_t others;

    (void)state;
    h->admits_all = true;
    h_job(h, JOB("j", TASKS(TASK("a", "5000", ""))));
    h_advance(h, 10 * 1000);
    assert_int_equal(h_count(h, "pods"), MANY);
    assert_int_equal(h->pod_creates, MANY);
    h_pods_phase(h, "j", "Running");
    h_advance(h, 5000);
    h_expect(h, "job/j", "status.running", "5000");
    h_pods_phase(h, "j", "Succeeded");
    h_advance(h, 5000);
    h_expect_phase(h, "j", "Completed");
    others = h->writes[OP_CREATE] + h->writes[OP_UPDATE] + h->writes[OP_UPDATE_STATUS] + h->writes[OP_MERGE_PATCH] +
             h->writes[OP_DELETE] - h->pod_creates;
    assert_in_range(others, 1, 40);
}

static void test_115_many_jobs(void **state)
{
    autoh h = h_new();
    uint64_t all;

    (void)state;
    h->admits_all = true;
    h->runs_all = true;
    for (int i = 0; i < MANY; i++)
        h_job(h, arena_fmt(&h->arena, JOB("j%d", TASKS(TASK("a", "1", ""))), i).p);
    h_advance(h, 60 * 1000);
    assert_int_equal(h_count(h, "pods"), MANY);
    for (int i = 0; i < MANY; i += 500)
        h_expect_phase(h, arena_fmt(&h->arena, "j%d", i).p, "Running");
    all = h->writes[OP_CREATE] + h->writes[OP_UPDATE] + h->writes[OP_UPDATE_STATUS] + h->writes[OP_MERGE_PATCH] +
          h->writes[OP_DELETE];
    assert_in_range(all, MANY, MANY * 8);
}

static void test_116_two_controllers(void **state)
{
    autoh h = h_new();

    (void)state;
    /* Without an election both act; what they do must add up to one. */
    h_start(h, 1);
    h_job(h, JOB("j", POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "4", ""))));
    h_advance(h, 1000);
    h_go(h, "j");
    h_advance(h, 10 * 1000);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_pod_fail(h, "j-a-2", 1);
    h_advance(h, 10 * 1000);
    h_go(h, "j");
    h_advance(h, 10 * 1000);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "1");
    h_expect(h, "job/j", "status.retryCount", "1");
    assert_int_equal(h_count(h, "pods"), 4);
    h_pods_phase(h, "j", "Succeeded");
    h_advance(h, 10 * 1000);
    h_expect_phase(h, "j", "Completed");

    /* One dies in the middle of a kill, the other finishes it. */
    for (unsigned n = 1; n < 8; n++) {
        autoh k = h_new();

        h_running(k, JOB("j", "plugins: {svc: []}, " TASKS(TASK("a", "4", ""))));
        k->holds_pods = true;
        h_command(k, "j", "AbortJob");
        h_turns(k, 0, n);
        h_stop(k, 0);
        h_start(k, 1);
        h_run(k);
        h_release(k);
        h_advance(k, 60 * 1000);
        h_expect_phase(k, "j", "Aborted");
        h_expect(k, "job/j", "status.version", "1");
        assert_int_equal(h_count(k, "pods"), 0);
        assert_int_equal(h_count(k, "podgroups"), 0);
        assert_int_equal(h_count(k, "commands"), 0);
        assert_int_equal(h_count(k, "services"), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_110_delete_and_create_again),
        cmocka_unit_test(test_111_no_pods_of_the_dead),
        cmocka_unit_test(test_112_queue_goes_away),
        cmocka_unit_test(test_113_name_of_a_terminated_job),
        cmocka_unit_test(test_114_crash_while_creating),
        cmocka_unit_test(test_115_many_pods),
        cmocka_unit_test(test_115_many_jobs),
        cmocka_unit_test(test_116_two_controllers),
    };

    return cmocka_run_group_tests_name("lifecycle/races", tests, NULL, NULL);
}
