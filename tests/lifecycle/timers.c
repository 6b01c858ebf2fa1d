/* timers.c - checklist 79 to 88: delayed actions, restarts of the controller, failed writes */
#include "harness.h"

/* A job of 'replicas' pods with one policy of the job. */
#define ON(event, action, replicas) JOB("j", POLICIES(POLICY(event, action)) TASKS(TASK("a", replicas, "")))

static void expect_untouched(struct h *h)
{
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_int(h, "job/j", "status.version"), 0);
    assert_int_equal(h_int(h, "job/j", "status.retryCount"), 0);
}

static void test_079_pod_pending(void **state)
{
    autoh never = h_new();
    autoh stuck = h_new();
    autoh ran = h_new();
    static const char *const with = JOB("j", POLICIES(POLICY_AFTER("PodPending", "TerminateJob", "10s"))
                                                 TASKS(TASK("a", "2", "")));

    (void)state;
    h_job(never, JOB("j", POLICIES(POLICY("PodPending", "TerminateJob")) TASKS(TASK("a", "2", ""))));
    h_run(never);
    h_admit(never, "j");
    h_advance(never, 3600 * 1000);
    h_expect_phase(never, "j", "Pending");

    h_job(stuck, with);
    h_run(stuck);
    h_admit(stuck, "j");
    h_pod_phase(stuck, "j-a-0", "Running");
    h_advance(stuck, 9000);
    h_expect_phase(stuck, "j", "Pending");
    h_advance(stuck, 2000);
    h_expect_phase(stuck, "j", "Terminated");

    h_job(ran, with);
    h_run(ran);
    h_admit(ran, "j");
    h_advance(ran, 9000);
    h_pods_phase(ran, "j", "Running");
    h_advance(ran, 3600 * 1000);
    expect_untouched(ran);
}

static void test_080_recovered_pod_stops_the_clock(void **state)
{
    static const char *const events[] = { "PodFailed", "PodEvicted" };

    (void)state;
    for (int i = 0; i < 4; i++) { /* event × comes back or not */
        autoh h = h_new();
        bool comes_back = i / 2;

        h_running(h,
                  i % 2 ? JOB("j", POLICIES(POLICY_AFTER("PodEvicted", "RestartJob", "10s")) TASKS(TASK("a", "2", "")))
                        : JOB("j", POLICIES(POLICY_AFTER("PodFailed", "RestartJob", "10s")) TASKS(TASK("a", "2", ""))));
        if (i % 2 == 0)
            h_pod_fail(h, "j-a-0", 1);
        else
            h_evict(h, "j-a-0", 0, 0);
        h_advance(h, 5000);
        assert_int_equal(h_int(h, "job/j", "status.version"), 0);
        if (i % 2 == 0 && comes_back)
            h_evict(h, "j-a-0", 0, 0); /* somebody removes the failed pod: it is made anew */
        if (comes_back)
            h_pod_phase(h, "j-a-0", "Running");
        h_advance(h, 6000);
        if (h_int(h, "job/j", "status.version") != !comes_back)
            fail_msg("%s, %s", events[i % 2], comes_back ? "comes back" : "stays away");
        h_advance(h, 60000);
        assert_int_equal(h_int(h, "job/j", "status.version"), !comes_back);
    }
}

static void test_081_one_expiry_for_all(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY_AFTER("PodFailed", "RestartJob", "10s")) TASKS(TASK("a", "3", ""))));
    h_pod_fail(h, "j-a-0", 1);
    h_advance(h, 5000);
    h_pod_fail(h, "j-a-1", 1);
    h_advance(h, 5001);
    h_expect(h, "job/j", "status.version", "1");
    h_advance(h, 60 * 1000); /* it waits to be let in: nothing calls the second timer off but the restart */
    h_expect(h, "job/j", "status.version", "1");
    h_go(h, "j");
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "1");
    h_expect(h, "job/j", "status.retryCount", "1");
}

static void test_082_restart_arms_nothing(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY_AFTER("PodPending", "TerminateJob", "10s")) TASKS(TASK("a", "2", ""))));
    h_advance(h, 60 * 1000);
    h_restart_controller(h);
    h_advance(h, 60 * 1000);
    expect_untouched(h);
    assert_int_equal(h_count_pods(h, "j", NULL, "Running"), 2);
}

static void test_083_failure_while_down(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) { /* a failure, a task's end, an eviction */
        autoh h = h_new();

        h_running(h, JOB("j", POLICIES(POLICY("'*'", "RestartJob")) TASKS(TASK("a", "1", ""), TASK("b", "1", ""))));
        h_stop(h, 0);
        if (i == 2)
            h_evict(h, "j-a-0", 0, 0);
        else
            h_pod_phase(h, "j-a-0", i ? "Succeeded" : "Failed");
        h_start(h, 0);
        h_run(h);
        if (h_int(h, "job/j", "status.version") != 1)
            fail_msg("case %d: version %s", i, h_get(h, "job/j", "status.version"));
        h_restart_controller(h);
        h_go(h, "j");
        h_restart_controller(h);
        h_expect_phase(h, "j", "Running");
        h_expect(h, "job/j", "status.version", "1");
    }
}

static void test_084_graceful_eviction_is_no_failure(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodFailed", "TerminateJob"), POLICY("PodEvicted", "RestartJob"))
                              TASKS(TASK("a", "2", ""))));
    h_evict(h, "j-a-0", 30, 143);
    h_expect(h, "job/j", "status.version", "1");
    assert_false(h_was(h, "j", "Terminating"));
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.version", "1");
}

static void test_085_one_failed_write(void **state)
{
    static const struct {
        enum op_kind kind;
        const char *type;
        bool is_lost;
    } cases[] = {
        { OP_UPDATE_STATUS, "jobs", false }, { OP_DELETE, "pods", false },      { OP_DELETE, "podgroups", false },
        { OP_DELETE, "configmaps", false },  { OP_CREATE, "podgroups", false }, { OP_CREATE, "pods", false },
        { OP_UPDATE_STATUS, "jobs", true },  { OP_DELETE, "pods", true },       { OP_DELETE, "podgroups", true },
        { OP_CREATE, "podgroups", true },    { OP_CREATE, "pods", true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoh h = h_new();

        h_running(
            h, JOB("j", "plugins: {svc: []}, " POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "3", ""))));
        if (cases[i].is_lost)
            h_lose_next_answers(h, cases[i].kind, cases[i].type, 1);
        else
            h_fail_next_writes(h, cases[i].kind, cases[i].type, ERR_IO, 1, "the server is away");
        h_pod_fail(h, "j-a-1", 1);
        h_advance(h, 1000);
        h_go(h, "j");
        h_advance(h, 1000);
        h_go(h, "j");
        if (strcmp(h_phase(h, "j"), "Running") != 0 || h_int(h, "job/j", "status.retryCount") != 1 ||
            h_int(h, "job/j", "status.version") != 1 || h_count_pods(h, "j", NULL, "Running") != 3)
            fail_msg("case %zu: phase %s, retries %ld, version %ld, pods %zu", i, h_phase(h, "j"),
                     (long)h_int(h, "job/j", "status.retryCount"), (long)h_int(h, "job/j", "status.version"),
                     h_count_pods(h, "j", NULL, "Running"));
    }
}

static void test_086_abort_while_restarting(void **state)
{
    static const char *const actions[][2] = { { "AbortJob", "Aborted" },
                                              { "TerminateJob", "Terminated" },
                                              { "CompleteJob", "Completed" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        autoh h = h_new();

        h_running(h, ON("PodFailed", "RestartJob", "2"));
        h->holds_pods = true;
        h_pod_fail(h, "j-a-0", 1);
        h_expect_phase(h, "j", "Restarting");
        h_command(h, "j", actions[i][0]);
        h_run(h);
        h_release(h);
        h_advance(h, 1000);
        h_expect_phase(h, "j", actions[i][1]);
        assert_false(h_exists(h, "pg/j"));
    }
}

static void test_087_restart_pod_keeps_plugin_objects(void **state)
{
    static const char *const objects[] = { "svc/j", "cm/j-svc", "secret/j-ssh", "netpol/j" };
    autoh h = h_new();
    const char *uids[ARRAY_LEN(objects)], *key;

    (void)state;
    h_running(h, JOB("j", "plugins: {svc: [], ssh: []}, " POLICIES(POLICY("PodFailed", "RestartPod"))
                              TASKS(TASK("a", "2", ""))));
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        assert_string_not_equal(uids[i] = h_uid(h, objects[i]), "");
    key = h_get(h, "secret/j-ssh", "data.id_rsa");
    assert_string_not_equal(key, "");
    h_pod_fail(h, "j-a-0", 1);
    h_restart_controller(h);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        assert_string_equal(h_uid(h, objects[i]), uids[i]);
    h_expect(h, "secret/j-ssh", "data.id_rsa", key);
}

static void test_088_timers_last_and_belong_to_one_job(void **state)
{
    static const char *const job = JOB("j", POLICIES(POLICY_AFTER("PodFailed", "TerminateJob", "10s"))
                                                TASKS(TASK("a", "2", "")));
    autoh h = h_new();
    autoh other = h_new();

    (void)state;
    h_running(h, job);
    h_pod_fail(h, "j-a-0", 1);
    h_advance(h, 5000);
    h_stop(h, 0);
    h_advance(h, 3000);
    h_start(h, 0);
    h_advance(h, 1000);
    h_expect_phase(h, "j", "Running");
    h_advance(h, 1001);
    h_expect_phase(h, "j", "Terminated");

    h_running(other, job);
    h_pod_fail(other, "j-a-0", 1);
    h_advance(other, 5000);
    h_delete(other, "job/j", -1);
    h_run(other);
    h_running(other, job);
    h_advance(other, 60 * 1000);
    expect_untouched(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_079_pod_pending),
        cmocka_unit_test(test_080_recovered_pod_stops_the_clock),
        cmocka_unit_test(test_081_one_expiry_for_all),
        cmocka_unit_test(test_082_restart_arms_nothing),
        cmocka_unit_test(test_083_failure_while_down),
        cmocka_unit_test(test_084_graceful_eviction_is_no_failure),
        cmocka_unit_test(test_085_one_failed_write),
        cmocka_unit_test(test_086_abort_while_restarting),
        cmocka_unit_test(test_087_restart_pod_keeps_plugin_objects),
        cmocka_unit_test(test_088_timers_last_and_belong_to_one_job),
    };

    return cmocka_run_group_tests_name("lifecycle/timers", tests, NULL, NULL);
}
