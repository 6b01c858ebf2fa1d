/* ensure.h - create, repair and wait for the objects of a job other than its pods
 *
 * Ownership decides: objects controlled by this Job (by uid) are managed. For objects controlled by an older Job of the
 * same name, the job waits for their deletion. All other objects are never changed, and used if they fit (foreign.h).
 */
#ifndef JOB_ENSURE_H
#define JOB_ENSURE_H

#include "job/status.h"

enum ensured {
    ENSURED_FINE,    /* all objects exist as wanted */
    ENSURED_WORKING, /* writes were planned */
    ENSURED_BLOCKED, /* an external change is needed; the draft has the reason */
};

enum ensured job_ensure(struct status_draft *d, struct plan *plan);

/* Delete the PodGroup, unless it is on its way out. */
void job_group_delete(struct status_draft *d, struct plan *plan);

/* Delete the plugin objects and the PodGroup of a finished or aborted job. Claims stay. */
void job_dismantle(struct status_draft *d, struct plan *plan);

/* Have the tasks that this one depends on reached what it needs? */
bool task_is_released(const struct job_observed *o, size_t task);

#endif
