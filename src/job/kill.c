/* kill.c - which pods a phase ends */
#include "job/kill.h"

#include "job/decide.h"

bool kill_is_on(enum job_phase phase)
{
    return phase == PHASE_RESTARTING || phase_after_kill(phase) != PHASE_NONE;
}

bool restart_is_exhausted(const struct status_draft *d)
{
    struct str message = json_text(json_find(d->status, "state", "message", NULL), STR(""));

    return d->retry_count >= d->o->job->spec.max_retry && !str_starts(message, str_of(job_event_name(EVENT_COMMAND)));
}

/* Of an earlier version, also of one that only the draft has made an earlier one. */
static bool is_old(const struct status_draft *d, const struct job_pod *pod)
{
    return pod->class == POD_OLD || (pod->view.version >= 0 && pod->view.version < d->version);
}

/* What an earlier attempt or a larger size left behind. Old pods that have succeeded count and stay (B35). */
static bool is_leftover(const struct status_draft *d, const struct job_pod *pod)
{
    if (pod->class == POD_SURPLUS)
        return true;
    if (!is_old(d, pod))
        return false;
    return pod->view.phase != POD_SUCCEEDED || d->forgets_done ||
           !bit_get(d->o->pods->tasks[pod->task].done, pod->index);
}

bool kill_takes(const struct status_draft *d, const struct job_pod *pod)
{
    if (pod->class == POD_TERMINATING)
        return false;
    if (phase_is_active(d->phase))
        return is_leftover(d, pod);
    if (d->phase != PHASE_RESTARTING)
        return pod->class == POD_SURPLUS || /* pods that have ended are kept, to be looked at */
               (pod->view.phase != POD_SUCCEEDED && pod->view.phase != POD_FAILED);
    if (restart_is_exhausted(d))
        return false;
    return d->memo.scope != RESTART_NONE ? restart_has(d, pod) : is_leftover(d, pod);
}
