/* ensure.h - the objects of a job besides its pods: made, mended, waited for
 *
 * One rule of ownership for all: what this very job controls is ours; what an older job of the same name
 * controls is waited for until it is gone; everything else is never touched, and used where it fits (foreign.h).
 */
#ifndef JOB_ENSURE_H
#define JOB_ENSURE_H

#include "job/status.h"

enum ensured {
    ENSURED_FINE,    /* everything is there as wanted */
    ENSURED_WORKING, /* writes were planned */
    ENSURED_BLOCKED, /* something outside must change first; the draft says what */
};

enum ensured job_ensure(struct status_draft *d, int64_t now_ms, struct plan *plan);

/* Delete the PodGroup, unless it is on its way out. */
void job_group_delete(struct status_draft *d, struct plan *plan);

/* Delete what a finished or aborted job leaves: its plugin objects and its PodGroup. Claims stay. */
void job_dismantle(struct status_draft *d, struct plan *plan);

/* Have the tasks it depends on come far enough? */
bool task_is_released(const struct job_observed *o, size_t task);

#endif
