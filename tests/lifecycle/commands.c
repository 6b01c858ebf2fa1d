/* commands.c - checklist 93 to 99: Commands of bus.volcano.sh */
#include "harness.h"

#define TWO JOB("j", TASKS(TASK("a", "2", "")))

static void command(struct h *h, const char *action)
{
    h_command(h, "j", action);
    h_run(h);
}

static void test_093_abort(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, TWO);
    command(h, "AbortJob");
    h_expect_phase(h, "j", "Aborted");
    assert_true(h_was(h, "j", "Aborting"));
    assert_int_equal(h_count(h, "pods"), 0);
    assert_int_equal(h_count(h, "commands"), 0);
    assert_true(h_event_says(h, "CommandIssued", "AbortJob"));
    assert_true(h_event_says(h, "ExecuteAction", "AbortJob"));
}

static void test_094_resume(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, TWO);
    command(h, "AbortJob");
    command(h, "ResumeJob");
    assert_true(h_was(h, "j", "Restarting"));
    h_expect_phase(h, "j", "Pending");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_count_pods(h, "j", "a", "Running"), 2);
}

/* Aborted while a task is restarted: what had succeeded in it and was taken away is still to be run again. */
static void test_094_resume_amid_the_restart_of_a_task(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "maxRetry: 3, " TASKS(TASK("a", "3", POLICIES(POLICY("PodFailed", "RestartTask"))))));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h->holds_pods = true;
    h_pod_fail(h, "j-a-1", 1);
    h_expect_phase(h, "j", "Restarting");
    assert_false(h_exists(h, "pod/j-a-0"));
    command(h, "AbortJob");
    h_release(h);
    h_advance(h, 2000);
    h_expect_phase(h, "j", "Aborted");
    h_expect(h, "job/j", "status.succeeded", "0");
    command(h, "ResumeJob");
    h_go(h, "j");
    assert_int_equal(h_count_pods(h, "j", "a", "Running"), 3);
}

static void test_095_resume_costs_no_retry(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "maxRetry: 3, " TASKS(TASK("a", "2", ""))));
    for (int i = 0; i < 4; i++) {
        command(h, "AbortJob");
        h_expect_phase(h, "j", "Aborted");
        command(h, "ResumeJob");
        h_go(h, "j");
        h_expect_phase(h, "j", "Running");
    }
}

/* Aborted while it restarts for the last time: it can be resumed and restarted by hand, and its next failure is the
 * end. */
static void test_095_resume_after_the_last_retry(void **state)
{
    autoh h = NULL;

    (void)state;
    h_needs_store(); /* where the command comes between two writes; on a real server it may be late */
    h = h_new();
    h_running(h, JOB("j", "maxRetry: 1, " POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "2", ""))));
    h_set_status(h, "pod/j-a-0", "{phase: Failed}");
    for (int i = 0; i < 20 && strcmp(h_phase(h, "j"), "Restarting") != 0; i++)
        h_turns(h, 0, 1);
    h_expect_phase(h, "j", "Restarting");
    command(h, "AbortJob");
    h_expect_phase(h, "j", "Aborted");
    command(h, "ResumeJob");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    command(h, "RestartJob");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_pod_fail(h, "j-a-0", 1);
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Failed");
    h_expect(h, "job/j", "status.state.reason", "RetriesExhausted");
    h_expect(h, "job/j", "status.retryCount", "1");
    h_expect(h, "pod/j-a-0", "status.phase", "Failed");
    assert_int_equal(h_count(h, "pods"), 1);
}

/* A Command that cannot be deleted is still obeyed once. */
static void test_096_restart_once(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, TWO);
    h_fail_next_writes(h, OP_DELETE, "commands", ERR_IO, 1000000, "the server is away");
    command(h, "RestartJob");
    for (int i = 0; i < 5; i++) {
        h_advance(h, 1000);
        if (i == 2)
            h_restart_controller(h);
        if (h_exists(h, "pg/j"))
            h_go(h, "j");
    }
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "1");
    assert_int_equal(h_count(h, "commands"), 1);
    h_no_more_failures(h);
    h_advance(h, 10 * 60 * 1000);
    assert_int_equal(h_count(h, "commands"), 0);
    h_expect(h, "job/j", "status.version", "1");
}

static void test_096_other_actions(void **state)
{
    static const char *const cases[][2] = { { "TerminateJob", "Terminated" }, { "CompleteJob", "Completed" } };
    autoh h = h_new();

    (void)state;
    h_running(h, TWO);
    command(h, "RestartJob");
    h_expect(h, "job/j", "status.version", "1");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "pod/j-a-0", "metadata.annotations[volcano.sh/job-version]", "1");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoh k = h_new();

        h_running(k, TWO);
        command(k, cases[i][0]);
        h_expect_phase(k, "j", cases[i][1]);
        assert_int_equal(h_count(k, "pods"), 0);
        assert_int_equal(h_count(k, "commands"), 0);
    }
}

static void test_097_not_for_us(void **state)
{
    autoh h = h_new();
    const char *uid = h_running(h, TWO);

    (void)state;
    h_command_to(h, "batch/v1", "Job", "j", uid, "AbortJob");
    h_command_to(h, "batch.volcano.sh/v1alpha1", "CronJob", "j", uid, "AbortJob");
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_count(h, "commands"), 2);
}

static void test_098_stale_target(void **state)
{
    autoh h = h_new();
    const char *old = h_running(h, TWO);

    (void)state;
    h_delete(h, "job/j", -1);
    h_run(h);
    h_running(h, TWO);
    h_command_to(h, "batch.volcano.sh/v1alpha1", "Job", "j", old, "AbortJob");
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_int(h, "job/j", "status.version"), 0);
}

/* Bring job j into one of the phases where something could go wrong. */
static void into(struct h *h, const char *phase)
{
    h_job(h, TWO);
    h_run(h);
    if (strcmp(phase, "Pending") == 0)
        return;
    h_go(h, "j");
    if (strcmp(phase, "Restarting") == 0) {
        h->holds_pods = true;
        command(h, "RestartJob");
    } else if (strcmp(phase, "Aborted") == 0) {
        command(h, "AbortJob");
    } else if (strcmp(phase, "Completed") == 0) {
        h_pods_phase(h, "j", "Succeeded");
    }
    h_expect_phase(h, "j", phase);
}

static void test_099_unknown_action(void **state)
{
    static const char *const phases[] = { "Pending", "Running", "Restarting", "Aborted", "Completed" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        autoh h = h_new();
        uint64_t deletes;
        int64_t version;

        into(h, phases[i]);
        deletes = h->pod_deletes;
        version = h_int(h, "job/j", "status.version");
        command(h, "Dance");
        h_advance(h, 1000);
        h_expect_phase(h, "j", phases[i]);
        assert_int_equal(h->pod_deletes, deletes);
        assert_int_equal(h_int(h, "job/j", "status.version"), version);
        assert_int_equal(h_count(h, "commands"), 0); /* refused, said so, and out of the way */
        assert_true(h_event_says(h, "CommandIssued", "Dance") || h_event_says(h, "InvalidCommand", "Dance"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_093_abort),
        cmocka_unit_test(test_094_resume),
        cmocka_unit_test(test_094_resume_amid_the_restart_of_a_task),
        cmocka_unit_test(test_095_resume_costs_no_retry),
        cmocka_unit_test(test_095_resume_after_the_last_retry),
        cmocka_unit_test(test_096_restart_once),
        cmocka_unit_test(test_096_other_actions),
        cmocka_unit_test(test_097_not_for_us),
        cmocka_unit_test(test_098_stale_target),
        cmocka_unit_test(test_099_unknown_action),
    };

    return cmocka_run_group_tests_name("lifecycle/commands", tests, NULL, NULL);
}
