/* controller.c - one step of a job's life */
#include "job/controller.h"

#include "job/decide.h"
#include "job/steps.h"
#include "job/wanted.h"

typedef struct job_outcome (*job_step_f)(struct status_draft *d, struct plan *plan);

static const job_step_f steps[JOB_PHASE_MAX] = {
    [PHASE_PENDING] = step_active,    [PHASE_RUNNING] = step_active,      [PHASE_RESTARTING] = step_restarting,
    [PHASE_ABORTING] = step_killing,  [PHASE_ABORTED] = step_killing,     [PHASE_COMPLETING] = step_killing,
    [PHASE_COMPLETED] = step_killing, [PHASE_TERMINATING] = step_killing, [PHASE_TERMINATED] = step_killing,
    [PHASE_FAILED] = step_killing,
};

struct job_outcome job_plan(const struct job_observed *o, struct plan *plan)
{
    struct job_outcome nothing = { .objects_are_fine = o->objects_are_fine }, outcome;
    struct status_draft d;

    if (!str_empty(o->job->meta.deletion_timestamp)) /* the garbage collector takes it from here */
        return nothing;
    status_begin(&d, plan->arena, o);
    if (o->set && (phase_is_active(d.phase) || d.phase == PHASE_RESTARTING)) /* a marker that is there is right */
        json_add_missing(d.arena, d.controlled, job_markers(d.arena, o->job, o->set));
    if (d.phase == PHASE_NONE) {
        status_set_phase(&d, PHASE_PENDING, plan->now_ms);
        status_count(&d);
        status_send(&d, plan);
        return nothing;
    }
    if (job_decide(&d, plan)) { /* durable first; what it means is planned when the status is stored */
        status_count(&d);
        status_send(&d, plan);
        return nothing;
    }
    outcome = steps[d.phase](&d, plan);
    outcome.has_stale_status = d.is_stale;
    return outcome;
}
