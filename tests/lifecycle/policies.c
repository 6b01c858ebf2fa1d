/* policies.c - checklist 56 to 78: events and actions */
#include "harness.h"

/* A job of 'replicas' pods with one policy of the job. */
#define ON(event, action, replicas) JOB("j", POLICIES(POLICY(event, action)) TASKS(TASK("a", replicas, "")))

static void expect_untouched(struct h *h)
{
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_int(h, "job/j", "status.version"), 0);
    assert_int_equal(h_int(h, "job/j", "status.retryCount"), 0);
}

static void test_056_pod_failed_restart_job(void **state)
{
    autoh h = h_new();
    const char *group, *pod;

    (void)state;
    h_running(h, ON("PodFailed", "RestartJob", "3"));
    group = h_uid(h, "pg/j");
    pod = h_uid(h, "pod/j-a-0");
    h->holds_pods = true;
    h_pod_fail(h, "j-a-1", 1);
    h_expect_phase(h, "j", "Restarting");
    h_expect(h, "job/j", "status.version", "1");
    h_expect(h, "job/j", "status.retryCount", "1");
    assert_int_equal(h_count_pods(h, "j", NULL, NULL), 0);
    h_release(h);
    h_expect_phase(h, "j", "Pending");
    assert_int_equal(h_count(h, "pods"), 0);
    assert_true(h_exists(h, "pg/j"));
    assert_string_not_equal(h_uid(h, "pg/j"), group);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_count_pods(h, "j", NULL, "Running"), 3);
    assert_string_not_equal(h_uid(h, "pod/j-a-0"), pod);
    h_expect(h, "pod/j-a-0", "metadata.annotations[volcano.sh/job-version]", "1");
    h_expect(h, "pod/j-a-0", "metadata.annotations[volcano.sh/job-retry-count]", "1");
    h_expect(h, "job/j", "status.version", "1");
}

static void test_057_three_attempts(void **state)
{
    autoh h = h_new();
    uint64_t created;

    (void)state;
    h_running(h, JOB("j", "maxRetry: 3, " POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "3", ""))));
    for (int attempt = 1; attempt < 3; attempt++) {
        h_pod_fail(h, "j-a-1", 1);
        assert_int_equal(h_int(h, "job/j", "status.retryCount"), attempt);
        h_go(h, "j");
        h_expect_phase(h, "j", "Running");
    }
    created = h->pod_creates;
    assert_int_equal(created, 9);
    h_pod_fail(h, "j-a-1", 7);
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Failed");
    h_expect(h, "job/j", "status.retryCount", "3");
    assert_int_equal(h->pod_creates, created);
    assert_int_equal(h_count(h, "pods"), 1);
    h_expect(h, "pod/j-a-1", "status.phase", "Failed");
    assert_false(h_exists(h, "pg/j")); /* B31 */
}

static void test_058_max_retry_one(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "maxRetry: 1, " POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "2", ""))));
    h_pod_fail(h, "j-a-0", 1);
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Failed");
    assert_int_equal(h->pod_creates, 2);
    assert_true(h_exists(h, "pod/j-a-0"));
    assert_false(h_exists(h, "pod/j-a-1"));
}

static void test_059_restart_pod(void **state)
{
    autoh h = h_new();
    const char *group, *uids[3];

    (void)state;
    h_running(h, ON("PodFailed", "RestartPod", "3"));
    group = h_uid(h, "pg/j");
    for (int i = 0; i < 3; i++)
        uids[i] = h_uid(h, arena_fmt(&h->arena, "pod/j-a-%d", i).p);
    h_pod_fail(h, "j-a-1", 1);
    assert_true(h_was(h, "j", "Restarting")); /* a pod that has ended needs no grace: it is over at once */
    h_pod_phase(h, "j-a-1", "Running");
    h_expect_phase(h, "j", "Running");
    assert_string_equal(h_uid(h, "pod/j-a-0"), uids[0]);
    assert_string_not_equal(h_uid(h, "pod/j-a-1"), uids[1]);
    assert_string_equal(h_uid(h, "pod/j-a-2"), uids[2]);
    assert_string_equal(h_uid(h, "pg/j"), group);
    h_expect(h, "job/j", "status.version", "0");
    h_expect(h, "job/j", "status.retryCount", "1");
}

#define TWO_TASKS(event, action) JOB("j", POLICIES(POLICY(event, action)) TASKS(TASK("a", "2", ""), TASK("b", "1", "")))

static void test_060_restart_task(void **state)
{
    autoh h = h_new();
    const char *a0, *a1, *b0;

    (void)state;
    h_running(h, TWO_TASKS("PodFailed", "RestartTask"));
    a0 = h_uid(h, "pod/j-a-0");
    a1 = h_uid(h, "pod/j-a-1");
    b0 = h_uid(h, "pod/j-b-0");
    h_pod_fail(h, "j-a-1", 1);
    assert_true(h_exists(h, "pod/j-a-0") && h_exists(h, "pod/j-a-1"));
    assert_string_not_equal(h_uid(h, "pod/j-a-0"), a0);
    assert_string_not_equal(h_uid(h, "pod/j-a-1"), a1);
    assert_string_equal(h_uid(h, "pod/j-b-0"), b0);
    h_expect(h, "job/j", "status.retryCount", "1");
}

static void test_061_evicted_restart_task_once(void **state)
{
    autoh h = h_new();
    const char *a1, *b0;

    (void)state;
    h_running(h, TWO_TASKS("PodEvicted", "RestartTask"));
    a1 = h_uid(h, "pod/j-a-1");
    b0 = h_uid(h, "pod/j-b-0");
    h_evict(h, "j-a-0", 0, 0);
    h_go(h, "j");
    h_advance(h, 600 * 1000);
    h_expect_phase(h, "j", "Running");
    assert_string_not_equal(h_uid(h, "pod/j-a-1"), a1);
    assert_string_equal(h_uid(h, "pod/j-b-0"), b0);
    h_expect(h, "job/j", "status.retryCount", "1");
    assert_int_equal(h->pod_creates, 5);
}

static void test_062_restart_partition(void **state)
{
    autoh h = h_new();
    const char *uids[4];

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodFailed", "RestartPartition"))
                              TASKS(TASK("a", "4", "partitionPolicy: {totalPartitions: 2, partitionSize: 2},"))));
    for (int i = 0; i < 4; i++)
        uids[i] = h_uid(h, arena_fmt(&h->arena, "pod/j-a-%d", i).p);
    h_pod_fail(h, "j-a-2", 1);
    for (int i = 0; i < 4; i++) {
        const char *now = h_uid(h, arena_fmt(&h->arena, "pod/j-a-%d", i).p);

        assert_string_not_equal(now, "");
        assert_int_equal(strcmp(now, uids[i]) == 0, i < 2);
    }
    h_expect(h, "job/j", "status.version", "0");
}

static void test_063_evicted_partition_of_one(void **state)
{
    autoh h = h_new();
    const char *a0;

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodEvicted", "RestartPartition"))
                              TASKS(TASK("a", "2", "partitionPolicy: {totalPartitions: 2, partitionSize: 1},"))));
    a0 = h_uid(h, "pod/j-a-0");
    h_evict(h, "j-a-1", 0, 0);
    assert_true(h_exists(h, "pod/j-a-1"));
    assert_string_equal(h_uid(h, "pod/j-a-0"), a0);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
}

static void test_064_abort_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, ON("PodFailed", "AbortJob", "4"));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h->holds_pods = true;
    h_pod_fail(h, "j-a-1", 1);
    h_advance(h, 1000);
    h_expect_phase(h, "j", "Aborting");
    assert_int_equal(h_count_terminating(h, "j"), 2);
    h_release(h);
    h_expect_phase(h, "j", "Aborted");
    assert_int_equal(h_count(h, "pods"), 2);
    assert_true(h_exists(h, "pod/j-a-0") && h_exists(h, "pod/j-a-1"));
    assert_false(h_exists(h, "pg/j"));
    assert_int_equal(h_int(h, "job/j", "status.retryCount"), 0);
}

static void test_065_terminate_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, ON("PodFailed", "TerminateJob", "2"));
    h->holds_pods = true;
    h_pod_fail(h, "j-a-1", 1);
    h_expect_phase(h, "j", "Terminating");
    h_release(h);
    h_expect_phase(h, "j", "Terminated");
    h_command(h, "j", "ResumeJob");
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Terminated");
    assert_int_equal(h_count(h, "pods"), 1);
}

#define MASTER_COMPLETES                                                                                               \
    JOB("j", TASKS(TASK("m", "2", POLICIES(POLICY("TaskCompleted", "CompleteJob"))), TASK("w", "2", "")))

static void test_066_task_completed_complete_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, MASTER_COMPLETES);
    h->holds_pods = true;
    h_pod_phase(h, "j-m-0", "Succeeded");
    h_pod_phase(h, "j-m-1", "Succeeded");
    h_expect_phase(h, "j", "Completing");
    h_release(h);
    h_expect_phase(h, "j", "Completed");
    assert_int_equal(h_count(h, "pods"), 2);
    assert_int_equal(h_count_pods(h, "j", "m", "Succeeded"), 2);
}

static void test_067_task_completed_needs_all(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, MASTER_COMPLETES);
    h_pod_phase(h, "j-m-0", "Succeeded");
    h_advance(h, 60 * 1000);
    expect_untouched(h);
    h_pod_phase(h, "j-w-0", "Succeeded");
    h_pod_phase(h, "j-w-1", "Succeeded"); /* another task's end is not this one's */
    expect_untouched(h);
    h_pod_phase(h, "j-m-1", "Succeeded");
    h_expect_phase(h, "j", "Completed");
}

#define RESTARTS(n)                                                                                                    \
    "{phase: Running, containerStatuses: [{name: c, ready: true, restartCount: " n ", state: {running: {}}}]}"

static void test_068_task_failed(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK_OF("a", "2", "maxRetry: 3, " POLICIES(POLICY("TaskFailed", "TerminateJob")),
                                        "restartPolicy: OnFailure, containers: [{name: c, image: i}]"))));
    h_pod_status(h, "j-a-0", RESTARTS("1"));
    h_pod_status(h, "j-a-1", RESTARTS("1"));
    expect_untouched(h);
    h_pod_status(h, "j-a-1", RESTARTS("2"));
    h_expect_phase(h, "j", "Terminated");
}

static void test_069_unknown_restart_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, ON("Unknown", "RestartJob", "2"));
    h_group_phase(h, "j", "Running");
    expect_untouched(h);
    h_group_phase(h, "j", "Unknown");
    h_expect(h, "job/j", "status.version", "1");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "1");
}

static void test_070_unknown_again_after_restart(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, ON("Unknown", "RestartJob", "2"));
    h_group_phase(h, "j", "Unknown");
    h_go(h, "j");
    h_group_phase(h, "j", "Unknown");
    h_expect(h, "job/j", "status.version", "2");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
}

#define ON_EXIT(code, action, replicas)                                                                                \
    JOB("j", POLICIES("{exitCode: " code ", action: " action "}") TASKS(TASK("a", replicas, "")))

static void test_071_exit_code(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, ON_EXIT("3", "RestartJob", "3"));
    h_pod_fail(h, "j-a-0", 4);
    expect_untouched(h);
    h_pod_fail(h, "j-a-1", 3);
    h_expect(h, "job/j", "status.version", "1");
    h_expect(h, "job/j", "status.retryCount", "1");
}

static void test_072_exit_code_of_any_container(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, ON_EXIT("3", "TerminateJob", "1"));
    h_pod_status(h, "j-a-0",
                 "{phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 4}}}, "
                 "{name: d, state: {terminated: {exitCode: 3}}}]}");
    h_expect_phase(h, "j", "Terminated");
}

static void test_073_task_policy_goes_first(void **state)
{
    static const char *const job = JOB("j", POLICIES(POLICY("PodFailed", "AbortJob"))
                                                TASKS(TASK("a", "1", POLICIES(POLICY("PodFailed", "TerminateJob"))),
                                                      TASK("b", "1", POLICIES(POLICY("PodEvicted", "TerminateJob")))));

    (void)state;
    for (int i = 0; i < 2; i++) {
        autoh h = h_new();

        h_running(h, job);
        h_pod_fail(h, i ? "j-b-0" : "j-a-0", 1);
        h_expect_phase(h, "j", i ? "Aborted" : "Terminated");
    }
}

static void test_074_order_of_policies(void **state)
{
    static const char *const event_first = JOB(
        "j",
        POLICIES(POLICY("PodFailed", "AbortJob"), "{exitCode: 3, action: TerminateJob}") TASKS(TASK("a", "2", "")));
    static const char *const code_first = JOB("j", POLICIES("{exitCode: 3, action: TerminateJob}",
                                                            POLICY("PodFailed", "AbortJob")) TASKS(TASK("a", "2", "")));

    (void)state;
    for (int i = 0; i < 2; i++) {
        autoh h = h_new();

        h_running(h, i ? code_first : event_first);
        h_pod_fail(h, "j-a-0", 3);
        h_expect_phase(h, "j", i ? "Terminated" : "Aborted");
    }
}

static void test_075_any_event(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        autoh h = h_new();

        h_running(h, JOB("j", POLICIES(POLICY("'*'", "RestartJob")) TASKS(TASK("a", "1", ""), TASK("b", "1", ""))));
        if (i == 0)
            h_evict(h, "j-a-0", 0, 0);
        else
            h_pod_phase(h, "j-a-0", i == 1 ? "Failed" : "Succeeded");
        h_expect(h, "job/j", "status.version", "1");
        h_go(h, "j");
        h_advance(h, 60 * 1000);
        h_expect_phase(h, "j", "Running");
        h_expect(h, "job/j", "status.version", "1");
    }
}

static void test_076_list_of_events(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        autoh h = h_new();

        h_running(
            h, JOB("j", POLICIES("{events: [PodEvicted, PodFailed], action: RestartJob}") TASKS(TASK("a", "2", ""))));
        if (i)
            h_pod_fail(h, "j-a-0", 1);
        else
            h_evict(h, "j-a-0", 0, 0);
        h_expect(h, "job/j", "status.version", "1");
    }
}

static void test_077_old_pod_fails(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, ON("PodFailed", "RestartJob", "2"));
    h->holds_pods = true;
    h_pod_fail(h, "j-a-0", 1);
    h_expect_phase(h, "j", "Restarting");
    h_pod_fail(h, "j-a-1", 137); /* killed by the restart itself */
    h_advance(h, 1000);
    h_release(h);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "1");
    h_expect(h, "job/j", "status.retryCount", "1");
}

static void test_078_pod_of_an_earlier_job(void **state)
{
    autoh h = h_new_without_gc();

    (void)state;
    h_create(h, "{apiVersion: v1, kind: Pod, metadata: {name: j-a-0, namespace: default, "
                "labels: {volcano.sh/job-name: j, volcano.sh/task-spec: a}, "
                "annotations: {volcano.sh/job-name: j, volcano.sh/task-spec: a, volcano.sh/task-index: '0', "
                "volcano.sh/job-version: '0'}, ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, "
                "name: j, uid: 00000000-0000-0000-0000-000000000001, controller: true}]}, "
                "spec: {containers: [{name: c, image: i}]}}");
    h_pod_phase(h, "j-a-0", "Running");
    h_job(h, ON("'*'", "RestartJob", "1"));
    h_run(h);
    h_admit(h, "j");
    h_expect_phase(h, "j", "Pending");
    assert_int_equal(h_int(h, "job/j", "status.running"), 0);
    h_pod_fail(h, "j-a-0", 1);
    h_advance(h, 1000);
    assert_int_equal(h_int(h, "job/j", "status.version"), 0);
    assert_int_equal(h_int(h, "job/j", "status.failed"), 0);
    h_delete(h, "pod/j-a-0", 0);
    h_advance(h, 10 * 60 * 1000);
    assert_int_equal(h_count_pods(h, "j", "a", NULL), 1);
    assert_int_equal(h_int(h, "job/j", "status.version"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_056_pod_failed_restart_job),
        cmocka_unit_test(test_057_three_attempts),
        cmocka_unit_test(test_058_max_retry_one),
        cmocka_unit_test(test_059_restart_pod),
        cmocka_unit_test(test_060_restart_task),
        cmocka_unit_test(test_061_evicted_restart_task_once),
        cmocka_unit_test(test_062_restart_partition),
        cmocka_unit_test(test_063_evicted_partition_of_one),
        cmocka_unit_test(test_064_abort_job),
        cmocka_unit_test(test_065_terminate_job),
        cmocka_unit_test(test_066_task_completed_complete_job),
        cmocka_unit_test(test_067_task_completed_needs_all),
        cmocka_unit_test(test_068_task_failed),
        cmocka_unit_test(test_069_unknown_restart_job),
        cmocka_unit_test(test_070_unknown_again_after_restart),
        cmocka_unit_test(test_071_exit_code),
        cmocka_unit_test(test_072_exit_code_of_any_container),
        cmocka_unit_test(test_073_task_policy_goes_first),
        cmocka_unit_test(test_074_order_of_policies),
        cmocka_unit_test(test_075_any_event),
        cmocka_unit_test(test_076_list_of_events),
        cmocka_unit_test(test_077_old_pod_fails),
        cmocka_unit_test(test_078_pod_of_an_earlier_job),
    };

    return cmocka_run_group_tests_name("lifecycle/policies", tests, NULL, NULL);
}
