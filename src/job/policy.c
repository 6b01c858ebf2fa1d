/* policy.c - choosing the action */
#include "job/policy.h"

#include "api/duration.h"
#include "base/util.h"

static const char *const event_names[JOB_EVENT_MAX] = {
    [EVENT_POD_FAILED] = "PodFailed",  [EVENT_POD_EVICTED] = "PodEvicted",       [EVENT_POD_PENDING] = "PodPending",
    [EVENT_UNKNOWN] = "Unknown",       [EVENT_TASK_COMPLETED] = "TaskCompleted", [EVENT_TASK_FAILED] = "TaskFailed",
    [EVENT_COMMAND] = "CommandIssued",
};

static const char *const action_names[JOB_ACTION_MAX] = {
    [ACTION_NONE] = "SyncJob",           [ACTION_ABORT] = "AbortJob",
    [ACTION_RESTART] = "RestartJob",     [ACTION_RESTART_TASK] = "RestartTask",
    [ACTION_RESTART_POD] = "RestartPod", [ACTION_RESTART_PARTITION] = "RestartPartition",
    [ACTION_TERMINATE] = "TerminateJob", [ACTION_COMPLETE] = "CompleteJob",
    [ACTION_RESUME] = "ResumeJob",
};

const char *job_event_name(enum job_event event)
{
    return event_names[event];
}

const char *job_action_name(enum job_action action)
{
    return action_names[action];
}

enum job_action job_action_of(struct str name)
{
    for (int i = ACTION_NONE + 1; i < JOB_ACTION_MAX; i++)
        if (str_is(name, action_names[i]))
            return (enum job_action)i;
    return ACTION_NONE;
}

/* A timeout that cannot be read, or is not positive, is none: admission refuses it, and acting late beats acting twice. */
static int64_t delay_of(const struct job_policy *p)
{
    int64_t ns;

    if (str_empty(p->timeout) || duration_parse(p->timeout, &ns, NULL) < 0 || ns <= 0)
        return 0;
    return MAX_OF(ns / 1000000, 1);
}

static bool names_event(const struct job_policy *p, enum job_event event)
{
    struct str want = str_of(event_names[event]);

    if (str_eq(p->event, want) || str_eq(p->event, STR("*")))
        return true;
    for (size_t i = 0; i < p->events.n; i++)
        if (str_eq(p->events.v[i], want) || str_eq(p->events.v[i], STR("*")))
            return true;
    return false;
}

static bool matches(const struct job_policy *p, enum job_event event, const int32_t *codes, size_t n_codes)
{
    if (names_event(p, event) && (event != EVENT_POD_PENDING || delay_of(p) > 0))
        return true;
    for (size_t i = 0; p->exit_code && event == EVENT_POD_FAILED && i < n_codes; i++)
        if (codes[i] == *p->exit_code && codes[i] != 0)
            return true;
    return false;
}

static bool choose_from(const struct job_policies *list, enum job_event event, const int32_t *codes, size_t n_codes,
                        struct policy_choice *ret)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!matches(&list->v[i], event, codes, n_codes))
            continue;
        *ret = (struct policy_choice){ job_action_of(list->v[i].action), delay_of(&list->v[i]) };
        return true;
    }
    return false;
}

struct policy_choice policy_choose(const struct job *job, const struct job_task *task, enum job_event event,
                                   const int32_t *exit_codes, size_t n_exit_codes)
{
    struct policy_choice choice = { ACTION_NONE, 0 };

    if (!task || !choose_from(&task->policies, event, exit_codes, n_exit_codes, &choice))
        (void)choose_from(&job->spec.policies, event, exit_codes, n_exit_codes, &choice);
    return choice;
}

int64_t policy_pending_ms(const struct job *job, const struct job_task *task)
{
    struct policy_choice choice = policy_choose(job, task, EVENT_POD_PENDING, NULL, 0);

    return choice.action == ACTION_NONE ? 0 : choice.delay_ms;
}
