/* depends.c - checklist 89 to 92: tasks that wait for others */
#include "harness.h"

#define AFTER(names)     "dependsOn: {name: [" names "]},"
#define AFTER_ANY(names) "dependsOn: {name: [" names "], iteration: any},"
#define NOT_READY                                                                                                      \
    "{phase: Running, containerStatuses: [{name: c, ready: false, restartCount: 0, state: {running: {}}}]}"

static void admitted(struct h *h, const char *yaml)
{
    h_job(h, yaml);
    h_run(h);
    h_admit(h, "j");
}

static void test_089_dependent_waits(void **state)
{
    autoh h = h_new();

    (void)state;
    admitted(h, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "3", "minAvailable: 2,"), TASK("b", "2", AFTER("a")))));
    assert_int_equal(h_count_pods(h, "j", "a", NULL), 3);
    assert_int_equal(h_count_pods(h, "j", "b", NULL), 0);
    h_pod_phase(h, "j-a-0", "Running");
    assert_int_equal(h_count_pods(h, "j", "b", NULL), 0);
    h_pod_phase(h, "j-a-2", "Running");
    assert_int_equal(h_count_pods(h, "j", "b", NULL), 2);
}

static void test_090_ready_or_succeeded(void **state)
{
    autoh h = h_new();

    (void)state;
    admitted(h, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "2", "minAvailable: 2,"), TASK("b", "1", AFTER("a")))));
    h_pod_status(h, "j-a-0", NOT_READY);
    h_pod_phase(h, "j-a-1", "Succeeded");
    h_advance(h, 60 * 1000);
    assert_int_equal(h_count_pods(h, "j", "b", NULL), 0);
    h_pod_phase(h, "j-a-0", "Running");
    assert_int_equal(h_count_pods(h, "j", "b", NULL), 1);
}

static void test_091_any_or_all(void **state)
{
    autoh any = h_new();
    autoh all = h_new();

    (void)state;
    admitted(any, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "1", ""), TASK("b", "1", ""),
                                                     TASK("c", "1", AFTER_ANY("a, b")))));
    admitted(all, JOB("j", "minAvailable: 2, " TASKS(TASK("a", "1", ""), TASK("b", "1", ""),
                                                     TASK("c", "1", AFTER("a, b")))));
    h_pod_phase(any, "j-b-0", "Running");
    h_pod_phase(all, "j-b-0", "Running");
    assert_int_equal(h_count_pods(any, "j", "c", NULL), 1);
    assert_int_equal(h_count_pods(all, "j", "c", NULL), 0);
    h_pod_phase(all, "j-a-0", "Running");
    assert_int_equal(h_count_pods(all, "j", "c", NULL), 1);
}

/* The gang must not wait for pods that are themselves held back: with a scheduler that places nothing less than
 * minMember pods the job still starts. */
static void test_092_no_deadlock_with_the_gang(void **state)
{
    autoh h = h_new();

    (void)state;
    admitted(h, JOB("j", TASKS(TASK("a", "2", ""), TASK("b", "3", AFTER("a")))));
    assert_int_equal(h_count_pods(h, "j", NULL, NULL), 2);
    h_expect(h, "pg/j", "spec.minMember", "2");
    h_expect(h, "pg/j", "spec.minTaskMember.a", "2");
    assert_int_equal(h_int(h, "pg/j", "spec.minTaskMember.b"), 0);
    h_expect(h, "pg/j", "spec.minResources.pods", "2");
    h_pods_phase(h, "j", "Running");
    assert_int_equal(h_count_pods(h, "j", "b", NULL), 3);
    h_expect(h, "pg/j", "spec.minMember", "5");
    h_expect(h, "pg/j", "spec.minTaskMember.b", "3");
    h_pods_phase(h, "j", "Running");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.running", "5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_089_dependent_waits),
        cmocka_unit_test(test_090_ready_or_succeeded),
        cmocka_unit_test(test_091_any_or_all),
        cmocka_unit_test(test_092_no_deadlock_with_the_gang),
    };

    return cmocka_run_group_tests_name("lifecycle/depends", tests, NULL, NULL);
}
