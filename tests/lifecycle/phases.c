/* phases.c - checklist 42 to 55: phases that follow from the pods */
#include "harness.h"

static void test_042_enough_pods_make_it_running(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "3", ""))));
    h_run(h);
    h_admit(h, "j");
    h_pod_phase(h, "j-a-0", "Running");
    h_expect_phase(h, "j", "Pending");
    h_pod_phase(h, "j-a-2", "Running");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.running", "2");
    h_expect(h, "job/j", "status.pending", "1");
}

static void test_043_failing_at_once(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", TASKS(TASK("a", "1", ""))));
    h_run(h);
    h_admit(h, "j");
    h_pod_fail(h, "j-a-0", 1);
    assert_true(h_was(h, "j", "Running"));
    h_expect_phase(h, "j", "Failed");
}

static void test_044_success(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "2", ""))));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_expect_phase(h, "j", "Running");
    h_pod_phase(h, "j-a-1", "Succeeded");
    h_expect_phase(h, "j", "Completed");
    assert_false(h_exists(h, "pg/j"));
    assert_int_equal(h_count_pods(h, "j", "a", "Succeeded"), 2);
}

static void test_045_too_few_succeeded(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "3", ""))));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_pod_fail(h, "j-a-1", 1);
    h_expect_phase(h, "j", "Running");
    h_pod_fail(h, "j-a-2", 1);
    h_expect_phase(h, "j", "Failed");
}

static void test_046_task_minimum_missed(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(
        h, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "2", "minAvailable: 2,"), TASK("b", "2", "minAvailable: 0,"))));
    h_pod_phase(h, "j-b-0", "Succeeded");
    h_pod_phase(h, "j-b-1", "Succeeded");
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_pod_fail(h, "j-a-1", 1);
    h_expect_phase(h, "j", "Failed");
    h_expect(h, "job/j", "status.succeeded", "3");
}

static void test_047_min_success(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "minSuccess: 1, " TASKS(TASK("a", "3", ""))));
    h_pod_phase(h, "j-a-1", "Succeeded");
    h_expect_phase(h, "j", "Completed");
    assert_int_equal(h_count(h, "pods"), 1);
    assert_true(h_exists(h, "pod/j-a-1"));
}

static void test_048_min_success_missed(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "minAvailable: 1, minSuccess: 2, " TASKS(TASK("a", "3", ""))));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_pod_fail(h, "j-a-1", 1);
    h_pod_fail(h, "j-a-2", 1);
    h_expect_phase(h, "j", "Failed");
}

static void test_049_back_to_pending(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "3", ""))));
    h_evict(h, "j-a-0", 0, 0);
    h_expect_phase(h, "j", "Running");
    h_evict(h, "j-a-1", 0, 0);
    h_expect_phase(h, "j", "Pending");
    h_pod_phase(h, "j-a-1", "Running");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "0");
}

static void test_050_scale_to_zero(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "2", ""))));
    h_scale(h, "j", 0, 0, 0);
    h_run(h);
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_count(h, "pods"), 0);
    h_scale(h, "j", 0, 2, 0);
    h_run(h);
    assert_int_equal(h_count_pods(h, "j", "a", NULL), 2);
    h_expect_phase(h, "j", "Running");
}

static void test_051_scale_up_and_down(void **state)
{
    autoh h = h_new();
    const char *first;

    (void)state;
    h_running(h, JOB("j", "plugins: {svc: []}, " TASKS(TASK("a", "2", ""))));
    first = h_uid(h, "pod/j-a-0");
    h_scale(h, "j", 0, 4, 3);
    h_run(h);
    h_expect(h, "pg/j", "spec.minMember", "3");
    h_expect(h, "pg/j", "spec.minResources.pods", "3");
    h_expect(h, "cm/j-svc", "data.VC_A_NUM", "4");
    assert_non_null(strstr(h_get(h, "cm/j-svc", "data[a.host]"), "j-a-3.j"));
    assert_int_equal(h_count_pods(h, "j", "a", NULL), 4);
    h_scale(h, "j", 0, 1, 1);
    h_run(h);
    h_expect(h, "cm/j-svc", "data.VC_A_NUM", "1");
    assert_int_equal(h_count(h, "pods"), 1);
    assert_string_equal(h_uid(h, "pod/j-a-0"), first);
}

static void test_052_scale_down_is_no_eviction(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodEvicted", "RestartJob")) TASKS(TASK("a", "3", ""))));
    h_scale(h, "j", 0, 1, 1);
    h_run(h);
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "0");
    assert_int_equal(h_int(h, "job/j", "status.retryCount"), 0);
    assert_int_equal(h_count(h, "pods"), 1);
}

static void test_053_failed_pod_without_policy(void **state)
{
    autoh h = h_new();
    const char *uid;

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "3", ""))));
    uid = h_uid(h, "pod/j-a-1");
    h_pod_fail(h, "j-a-1", 1);
    h_advance(h, 600 * 1000);
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.failed", "1");
    h_expect(h, "job/j", "status.running", "2");
    assert_string_equal(h_uid(h, "pod/j-a-1"), uid);
}

static void test_054_deleted_pod_comes_back(void **state)
{
    autoh h = h_new();
    const char *uid;

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "2", ""))));
    uid = h_uid(h, "pod/j-a-1");
    h_evict(h, "j-a-1", 30, 143);
    assert_true(h_exists(h, "pod/j-a-1"));
    assert_string_not_equal(h_uid(h, "pod/j-a-1"), uid);
    h_expect(h, "pod/j-a-1", "metadata.annotations[volcano.sh/job-version]", "0");
    h_expect(h, "job/j", "status.version", "0");
}

static void test_055_done_is_done(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "2", ""))));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_evict(h, "j-a-0", 0, 0);
    assert_false(h_exists(h, "pod/j-a-0"));
    h_advance(h, 1000);
    h_restart_controller(h); /* it is remembered, not only known */
    h_advance(h, 60 * 1000);
    assert_false(h_exists(h, "pod/j-a-0"));
    h_expect_phase(h, "j", "Running");
    h_pod_phase(h, "j-a-1", "Succeeded");
    h_expect_phase(h, "j", "Completed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_042_enough_pods_make_it_running),
        cmocka_unit_test(test_043_failing_at_once),
        cmocka_unit_test(test_044_success),
        cmocka_unit_test(test_045_too_few_succeeded),
        cmocka_unit_test(test_046_task_minimum_missed),
        cmocka_unit_test(test_047_min_success),
        cmocka_unit_test(test_048_min_success_missed),
        cmocka_unit_test(test_049_back_to_pending),
        cmocka_unit_test(test_050_scale_to_zero),
        cmocka_unit_test(test_051_scale_up_and_down),
        cmocka_unit_test(test_052_scale_down_is_no_eviction),
        cmocka_unit_test(test_053_failed_pod_without_policy),
        cmocka_unit_test(test_054_deleted_pod_comes_back),
        cmocka_unit_test(test_055_done_is_done),
    };

    return cmocka_run_group_tests_name("lifecycle/phases", tests, NULL, NULL);
}
