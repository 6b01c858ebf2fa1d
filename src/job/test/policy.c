/* policy.c - which action an event leads to */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "job/phase.h"
#include "job/policy.h"
#include "fixture.h"

#define JOB(job_policies, task_policies)                                                                               \
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec:\n  policies: [" job_policies         \
    "]\n  tasks:\n  - name: a\n    replicas: 2\n    policies: [" task_policies                                         \
    "]\n    template: {spec: {containers: [{name: c, image: i}]}}\n"

static const struct {
    const char *name, *job, *task;
    enum job_event event;
    int32_t code;
    enum job_action want;
    int64_t delay_ms;
} cases[] = {
    { "none", "", "", EVENT_POD_FAILED, 1, ACTION_NONE, 0 },
    { "job", "{event: PodFailed, action: RestartJob}", "", EVENT_POD_FAILED, 1, ACTION_RESTART, 0 },
    { "task before job", "{event: PodFailed, action: RestartJob}", "{event: PodFailed, action: AbortJob}",
      EVENT_POD_FAILED, 1, ACTION_ABORT, 0 },
    { "task without a match falls through", "{event: PodFailed, action: RestartJob}",
      "{event: PodEvicted, action: AbortJob}", EVENT_POD_FAILED, 1, ACTION_RESTART, 0 },
    { "any", "{event: '*', action: TerminateJob}", "", EVENT_TASK_COMPLETED, 0, ACTION_TERMINATE, 0 },
    { "list of events", "{events: [PodEvicted, PodFailed], action: RestartJob}", "", EVENT_POD_EVICTED, 0,
      ACTION_RESTART, 0 },
    { "exit code", "{exitCode: 3, action: RestartJob}", "", EVENT_POD_FAILED, 3, ACTION_RESTART, 0 },
    { "another exit code", "{exitCode: 3, action: RestartJob}", "", EVENT_POD_FAILED, 4, ACTION_NONE, 0 },
    { "exit codes are for failures", "{exitCode: 3, action: RestartJob}", "", EVENT_POD_EVICTED, 3, ACTION_NONE, 0 },
    { "event listed first wins", "{event: PodFailed, action: AbortJob}, {exitCode: 3, action: RestartJob}", "",
      EVENT_POD_FAILED, 3, ACTION_ABORT, 0 },
    { "code listed first wins", "{exitCode: 3, action: RestartJob}, {event: PodFailed, action: AbortJob}", "",
      EVENT_POD_FAILED, 3, ACTION_RESTART, 0 },
    { "pending needs a timeout", "{event: PodPending, action: AbortJob}", "", EVENT_POD_PENDING, 0, ACTION_NONE, 0 },
    { "pending with one", "{event: PodPending, action: AbortJob, timeout: 10s}", "", EVENT_POD_PENDING, 0, ACTION_ABORT,
      10000 },
    { "delay", "{event: PodFailed, action: RestartJob, timeout: 1m30s}", "", EVENT_POD_FAILED, 1, ACTION_RESTART,
      90000 },
};

static void test_choose(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf text = { 0 };
        struct policy_choice got;
        struct fixture f;

        buf_fmt(&text, JOB("%s", "%s"), cases[i].job, cases[i].task);
        fixture_init(&f, text.p);
        got = policy_choose(&f.job, &f.job.spec.tasks.v[0], cases[i].event, &cases[i].code, cases[i].code ? 1 : 0);
        if (got.action != cases[i].want || got.delay_ms != cases[i].delay_ms)
            fail_msg("%s: got %s after %lld ms", cases[i].name, job_action_name(got.action), (long long)got.delay_ms);
        fixture_done(&f);
    }
}

/* Final phases are fixed points; every name reads back. */
static void test_machine_laws(void **state)
{
    (void)state;
    for (int p = 0; p < JOB_PHASE_MAX; p++) {
        assert_int_equal(job_phase_of(str_of(job_phase_name((enum job_phase)p))), p);
        for (int a = 0; a < JOB_ACTION_MAX; a++) {
            struct transition t = job_transition((enum job_phase)p, (enum job_action)a);

            if (phase_is_final((enum job_phase)p) || a == ACTION_NONE)
                assert_int_equal(t.next, PHASE_NONE);
            if (t.is_retry)
                assert_int_equal(t.next, PHASE_RESTARTING);
            if (t.next != PHASE_NONE && !action_is_targeted((enum job_action)a))
                assert_true(t.bumps_version);
            /* Doing it again in the phase it leads to does nothing, but for a resume that is resumed. */
            if (t.next != PHASE_NONE)
                assert_int_equal(job_transition(t.next, (enum job_action)a).next, PHASE_NONE);
        }
    }
    for (int a = 1; a < JOB_ACTION_MAX; a++)
        assert_int_equal(job_action_of(str_of(job_action_name((enum job_action)a))), a);
    assert_int_equal(job_action_of(STR("SyncJob")), ACTION_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_machine_laws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
