/* phase.h - the phases of a job and what an action does in each */
#ifndef JOB_PHASE_H
#define JOB_PHASE_H

#include "job/policy.h"

enum job_phase {
    PHASE_NONE, /* not initialised; behaves as Pending */
    PHASE_PENDING,
    PHASE_RUNNING,
    PHASE_RESTARTING,
    PHASE_ABORTING,
    PHASE_ABORTED,
    PHASE_COMPLETING,
    PHASE_COMPLETED,
    PHASE_TERMINATING,
    PHASE_TERMINATED,
    PHASE_FAILED,
    JOB_PHASE_MAX,
};

const char *job_phase_name(enum job_phase phase);
enum job_phase job_phase_of(struct str name); /* PHASE_NONE if it is none */

static inline bool phase_is_active(enum job_phase p)
{
    return p <= PHASE_RUNNING;
}
static inline bool phase_is_final(enum job_phase p)
{
    return p == PHASE_COMPLETED || p == PHASE_TERMINATED || p == PHASE_FAILED;
}

/* What an action does in a phase. */
struct transition {
    enum job_phase next; /* PHASE_NONE: nothing, the action has no effect here */
    bool bumps_version;  /* the whole job is killed: pods of the version so far are old */
    bool is_retry;       /* charged to the budget, when a policy asks for it */
};
struct transition job_transition(enum job_phase phase, enum job_action action);

/* The resting phase a killing phase leads to: Aborting → Aborted …; PHASE_NONE for others. */
enum job_phase phase_after_kill(enum job_phase phase);

#endif
