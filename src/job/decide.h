/* decide.h - does something that was observed call for an action?
 *
 * Looks at commands, timers, pods, tasks and the PodGroup, in this order, and takes the first that calls for one. A
 * decision changes the status draft and nothing else; the caller sends it alone.
 */
#ifndef JOB_DECIDE_H
#define JOB_DECIDE_H

#include "job/status.h"

/* True if the draft now holds a decision. Adds Events about it, and deletes of Commands that were obeyed, to the plan. */
bool job_decide(struct status_draft *d, int64_t now_ms, struct plan *plan);

/* Is this pod of the restart's target? Pods that were made since the restart belong to a later attempt and are not: a
 * controller that is late must not kill what another has made. */
bool restart_has(const struct status_draft *d, const struct job_pod *pod);

/* The pods of the restart's target are gone, or going, by our own doing: their indices are to be filled again, not
 * mourned, and what succeeded there is to be done again. */
void restart_forget(struct status_draft *d);

#endif
