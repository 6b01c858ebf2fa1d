/* phase.c - the state machine as a table */
#include "job/phase.h"

#include "base/util.h"

static const char *const phase_names[JOB_PHASE_MAX] = {
    [PHASE_NONE] = "",
    [PHASE_PENDING] = "Pending",
    [PHASE_RUNNING] = "Running",
    [PHASE_RESTARTING] = "Restarting",
    [PHASE_ABORTING] = "Aborting",
    [PHASE_ABORTED] = "Aborted",
    [PHASE_COMPLETING] = "Completing",
    [PHASE_COMPLETED] = "Completed",
    [PHASE_TERMINATING] = "Terminating",
    [PHASE_TERMINATED] = "Terminated",
    [PHASE_FAILED] = "Failed",
};

const char *job_phase_name(enum job_phase phase)
{
    return phase_names[phase];
}

enum job_phase job_phase_of(struct str name)
{
    for (int i = PHASE_PENDING; i < JOB_PHASE_MAX; i++)
        if (str_is(name, phase_names[i]))
            return (enum job_phase)i;
    return PHASE_NONE;
}

#define KILL(phase)                                                                                                    \
    {                                                                                                                  \
        PHASE_##phase, .bumps_version = true                                                                           \
    }
#define RESTART_ALL                                                                                                    \
    {                                                                                                                  \
        PHASE_RESTARTING, .bumps_version = true, .is_retry = true                                                      \
    }
#define RESTART_SOME                                                                                                   \
    {                                                                                                                  \
        PHASE_RESTARTING, .is_retry = true                                                                             \
    }

/* Empty cells: the action has no effect in that phase. */
static const struct transition machine[JOB_PHASE_MAX][JOB_ACTION_MAX] = {
    [PHASE_PENDING] = { [ACTION_RESTART] = RESTART_ALL,
                        [ACTION_RESTART_TASK] = RESTART_SOME,
                        [ACTION_RESTART_POD] = RESTART_SOME,
                        [ACTION_RESTART_PARTITION] = RESTART_SOME,
                        [ACTION_ABORT] = KILL(ABORTING),
                        [ACTION_COMPLETE] = KILL(COMPLETING),
                        [ACTION_TERMINATE] = KILL(TERMINATING) },
    [PHASE_RUNNING] = { [ACTION_RESTART] = RESTART_ALL,
                        [ACTION_RESTART_TASK] = RESTART_SOME,
                        [ACTION_RESTART_POD] = RESTART_SOME,
                        [ACTION_RESTART_PARTITION] = RESTART_SOME,
                        [ACTION_ABORT] = KILL(ABORTING),
                        [ACTION_COMPLETE] = KILL(COMPLETING),
                        [ACTION_TERMINATE] = KILL(TERMINATING) },
    /* B4: an abort is not swallowed by a restart. */
    [PHASE_RESTARTING] = { [ACTION_ABORT] = KILL(ABORTING),
                           [ACTION_COMPLETE] = KILL(COMPLETING),
                           [ACTION_TERMINATE] = KILL(TERMINATING) },
    /* B13: coming back is not a failure. */
    [PHASE_ABORTING] = { [ACTION_RESUME] = KILL(RESTARTING) },
    [PHASE_ABORTED] = { [ACTION_RESUME] = KILL(RESTARTING) },
};

struct transition job_transition(enum job_phase phase, enum job_action action)
{
    return machine[phase == PHASE_NONE ? PHASE_PENDING : phase][action];
}

enum job_phase phase_after_kill(enum job_phase phase)
{
    static const enum job_phase after[JOB_PHASE_MAX] = {
        [PHASE_ABORTING] = PHASE_ABORTED,
        [PHASE_COMPLETING] = PHASE_COMPLETED,
        [PHASE_TERMINATING] = PHASE_TERMINATED,
    };

    return after[phase];
}
