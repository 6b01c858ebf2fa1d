/* status.c - checklist 100 to 106: what the status and the Events say */
#include "harness.h"

#define THREE JOB("j", TASKS(TASK("a", "3", "")))

static void test_100_final_counters(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "minSuccess: 2, " TASKS(TASK("a", "2", ""), TASK("b", "1", ""))));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_pod_phase(h, "j-a-1", "Succeeded");
    h_advance(h, 5000);
    h_expect_phase(h, "j", "Completed");
    h_expect(h, "job/j", "status.succeeded", "2");
    assert_int_equal(h_int(h, "job/j", "status.running"), 0);
    assert_int_equal(h_int(h, "job/j", "status.terminating"), 0);
    h_expect(h, "job/j", "status.taskStatusCount.a.phase.Succeeded", "2");
}

static void test_101_one_condition_for_each_phase(void **state)
{
    static const char *const want[] = { "Restarting", "Pending", "Running" };
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "2", ""))));
    for (int i = 0; i < 2; i++) {
        h_advance(h, 5000);
        h_pod_fail(h, "j-a-0", 1);
        h_go(h, "j");
    }
    h_expect(h, "job/j", "status.conditions", "(3)");
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        h_expect(h, "job/j", arena_fmt(&h->arena, "status.conditions[%zu].status", i).p, want[i]);
    h_expect(h, "job/j", "status.conditions[2].lastTransitionTime",
             h_get(h, "job/j", "status.state.lastTransitionTime"));
}

static void test_102_transition_time_is_of_the_phase(void **state)
{
    autoh h = h_new();
    const char *since;

    (void)state;
    h_running(h, THREE);
    since = h_get(h, "job/j", "status.state.lastTransitionTime");
    assert_string_not_equal(since, "");
    h_advance(h, 60 * 1000);
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_advance(h, 60 * 1000);
    h_pod_fail(h, "j-a-1", 1);
    h_advance(h, 5000);
    h_expect(h, "job/j", "status.succeeded", "1");
    h_expect(h, "job/j", "status.failed", "1");
    h_expect(h, "job/j", "status.state.lastTransitionTime", since);
}

static void test_103_finished_jobs_are_quiet(void **state)
{
    static const char *const phases[] = { "Completed", "Failed", "Terminated", "Aborted" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        autoh h = h_new();
        const char *rev;
        uint64_t writes;

        h_running(h, JOB("j", "plugins: {svc: []}, " TASKS(TASK("a", "2", ""))));
        if (i < 2)
            h_pods_phase(h, "j", i ? "Failed" : "Succeeded");
        else
            h_command(h, "j", i == 2 ? "TerminateJob" : "AbortJob");
        h_advance(h, 10 * 1000);
        h_expect_phase(h, "j", phases[i]);
        rev = h_get(h, "job/j", "metadata.resourceVersion");
        writes = h->job_writes;
        for (int k = 0; k < 3; k++)
            h_restart_controller(h);
        h_advance(h, 3600 * 1000);
        h_expect(h, "job/j", "metadata.resourceVersion", rev);
        assert_int_equal(h->job_writes, writes);
    }
}

static void test_104_events_name_the_action(void **state)
{
    autoh h = h_new();
    autoh late = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "2", ""))));
    h_pod_fail(h, "j-a-0", 1);
    assert_true(h_event_says(h, "ExecuteAction", "RestartJob"));
    h_running(late, JOB("j", POLICIES(POLICY_AFTER("PodFailed", "AbortJob", "10s")) TASKS(TASK("a", "2", ""))));
    h_pod_fail(late, "j-a-0", 1);
    assert_true(h_event_says(late, "ExecuteAction", "AbortJob"));
    assert_true(h_event_says(late, "ExecuteAction", "10"));
    h_expect_phase(late, "j", "Running");
}

static void test_105_quota(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, THREE);
    h_run(h);
    h_fail_next_writes(h, OP_CREATE, "pods", ERR_FORBIDDEN, 1000000, "exceeded quota: compute");
    h_admit(h, "j");
    h_advance(h, 5 * 60 * 1000);
    assert_true(h_event_says(h, "FailedCreate", "exceeded quota"));
    h_expect_phase(h, "j", "Pending");
    assert_in_range(h->pod_creates, 1, 200); /* it waits longer and longer */
    h_no_more_failures(h);
    h_advance(h, 10 * 60 * 1000);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    assert_int_equal(h_int(h, "job/j", "status.version"), 0);
}

/* The metrics themselves come with the metrics end point. What they will count is there: one write that makes the job
 * Completed or Failed, whatever is lost or repeated around it (B42). */
static void test_106_a_job_ends_once(void **state)
{
    static const char *const ends[] = { "Succeeded", "Failed" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        autoh h = h_new();
        const char *since;

        h_running(h, THREE);
        h_lose_next_answers(h, OP_UPDATE_STATUS, "jobs", 1);
        h_fail_next_writes(h, OP_UPDATE_STATUS, "jobs", ERR_CONFLICT, 1, "somebody was faster");
        h_pods_phase(h, "j", ends[i]);
        h_advance(h, 10 * 1000);
        h_expect_phase(h, "j", i ? "Failed" : "Completed");
        since = h_get(h, "job/j", "status.state.lastTransitionTime");
        h_advance(h, 60 * 1000);
        h_restart_controller(h);
        h_expect(h, "job/j", "status.state.lastTransitionTime", since);
        h_delete(h, "job/j", -1);
        h_advance(h, 60 * 1000);
        assert_false(h_exists(h, "job/j"));
    }
}

/* ---- what is written, for those who watch ---- */

struct story { /* every status that was written: "Running", "Restarting~" where pods are ending; repetitions once */
    struct h *h;
    struct cluster *eyes;
    struct buf text;
};

static void story_begin(struct story *s, struct h *h)
{
    *s = (struct story){ .h = h, .eyes = h_watch(h, "jobs") };
}

static const char *story_end(struct story *s)
{
    struct cluster_event ev;
    struct str last = STR_NULL;

    while (h_watch_next(s->h, s->eyes, &ev)) {
        const struct json *status = json_get(ev.object->root, "status");
        size_t from = s->text.n;

        if (!json_get(status, "state"))
            continue;
        buf_fmt(&s->text, " %.*s%s", STR_ARG(json_text(json_find(status, "state", "phase", NULL), STR(""))),
                json_i64(json_get(status, "terminating"), 0) ? "~" : "");
        if (str_eq(str_from(buf_view(&s->text), from), last))
            s->text.n = from;
        else
            last = str_from(buf_view(&s->text), from);
    }
    s->text.p[s->text.n] = '\0';
    h_watch_end(s->h, s->eyes);
    return s->text.p;
}

/* Scripts wait for an object that says both: the phase, and that its pods are ending. Also where nobody sees them end: a
 * pod without a node is gone with the request. */
static void check_story(const char *action, bool pods_run, const char *want)
{
    autoh h = h_new();
    struct story s;

    h_job(h, THREE);
    h_run(h);
    h_admit(h, "j");
    if (pods_run)
        h_go(h, "j");
    h_advance(h, 5000);
    assert_int_equal(h_int(h, "job/j", pods_run ? "status.running" : "status.pending"), 3);
    story_begin(&s, h);
    h->holds_pods = true;
    h_command(h, "j", action);
    h_run(h);
    h_release(h);
    h_run(h);
    if (strcmp(action, "RestartJob") == 0)
        h_go(h, "j");
    h_advance(h, 5000);
    assert_string_equal(story_end(&s), want);
    if (strcmp(action, "RestartJob") != 0)
        assert_int_equal(h_int(h, "job/j", "status.running") + h_int(h, "job/j", "status.pending"), 0);
    buf_done(&s.text);
}

static void test_107_each_phase_is_written(void **state)
{
    static const struct {
        const char *action, *story;
    } cases[] = {
        { "RestartJob", " Restarting~ Pending Running" },
        { "AbortJob", " Aborting~ Aborted" },
        { "TerminateJob", " Terminating~ Terminated" },
        { "CompleteJob", " Completing~ Completed" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        check_story(cases[i].action, true, cases[i].story);
        check_story(cases[i].action, false, cases[i].story);
    }
}

/* However quick they are. */
static void test_108_quick_jobs_skip_no_phase(void **state)
{
    autoh h = h_new();
    struct story s;

    (void)state;
    story_begin(&s, h);
    h_job(h, THREE);
    h_run(h);
    h_admit(h, "j");
    h_stop(h, 0); /* all of it happens while nobody looks */
    h_pods_phase(h, "j", "Succeeded");
    h_start(h, 0);
    h_run(h);
    h_advance(h, 5000);
    assert_string_equal(story_end(&s), " Pending Running Completed");
    buf_done(&s.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_100_final_counters),
        cmocka_unit_test(test_101_one_condition_for_each_phase),
        cmocka_unit_test(test_102_transition_time_is_of_the_phase),
        cmocka_unit_test(test_103_finished_jobs_are_quiet),
        cmocka_unit_test(test_104_events_name_the_action),
        cmocka_unit_test(test_105_quota),
        cmocka_unit_test(test_106_a_job_ends_once),
        cmocka_unit_test(test_107_each_phase_is_written),
        cmocka_unit_test(test_108_quick_jobs_skip_no_phase),
    };

    return cmocka_run_group_tests_name("lifecycle/status", tests, NULL, NULL);
}
