/* decide.h - which action do commands, timers, policies or failures call for?
 *
 * Checks Commands, timers, pods, tasks and the PodGroup, in this order; the first that calls for an action wins. A
 * decision changes only the draft of the status; the caller sends that write alone.
 */
#ifndef JOB_DECIDE_H
#define JOB_DECIDE_H

#include "job/status.h"

/* True if the draft now holds a decision. Adds Events about it, and deletes of Commands that were obeyed, to the
 * plan. */
bool job_decide(struct status_draft *d, struct plan *plan);

/* Is this pod a target of the restart? Pods created after the restart are not, so that a controller with an old view
 * does not kill the pods of a newer attempt. */
bool restart_has(const struct status_draft *d, const struct job_pod *pod);

/* The controller itself has deleted the pods that a restart targets. Clear the seen and done bits of their indices: the
 * missing pods are not evictions, and pods that Succeeded run again. */
void restart_forget(struct status_draft *d);

#endif
