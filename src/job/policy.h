/* policy.h - from an event to an action
 *
 * A task's own policies go before the job's; inside a list the order decides. An event policy matches by name or "*",
 * an exit-code policy by any of the codes. PodPending needs a timeout.
 */
#ifndef JOB_POLICY_H
#define JOB_POLICY_H

#include "api/job.h"

enum job_event {
    EVENT_POD_FAILED,
    EVENT_POD_EVICTED,
    EVENT_POD_PENDING,
    EVENT_UNKNOWN,
    EVENT_TASK_COMPLETED,
    EVENT_TASK_FAILED,
    EVENT_COMMAND,
    JOB_EVENT_MAX,
};
const char *job_event_name(enum job_event event);

enum job_action {
    ACTION_NONE, /* not an action, or one that users may not give: plain sync */
    ACTION_ABORT,
    ACTION_RESTART,
    ACTION_RESTART_TASK,
    ACTION_RESTART_POD,
    ACTION_RESTART_PARTITION,
    ACTION_TERMINATE,
    ACTION_COMPLETE,
    ACTION_RESUME,
    JOB_ACTION_MAX,
};
const char *job_action_name(enum job_action action);
enum job_action job_action_of(struct str name); /* ACTION_NONE if it is none */

static inline bool action_is_targeted(enum job_action a)
{
    return a == ACTION_RESTART_TASK || a == ACTION_RESTART_POD || a == ACTION_RESTART_PARTITION;
}

struct policy_choice {
    enum job_action action; /* ACTION_NONE: no policy matched */
    int64_t delay_ms;       /* of its timeout; 0: now */
};

/* 'task' may be NULL: an event of the whole job. */
struct policy_choice policy_choose(const struct job *job, const struct job_task *task, enum job_event event,
                                   const int32_t *exit_codes, size_t n_exit_codes);

/* The shortest PodPending timeout that applies to a task, in milliseconds; 0: none. */
int64_t policy_pending_ms(const struct job *job, const struct job_task *task);

#endif
