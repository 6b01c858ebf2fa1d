/* kill.h - which pods a phase ends
 *
 * One answer for those who delete them and for those who count them: the status that decides on a kill already tells
 * how many pods end by it, and says so until the last one is gone.
 */
#ifndef JOB_KILL_H
#define JOB_KILL_H

#include "job/status.h"

/* Does the draft's phase end this pod? Not those that are ending already. */
bool kill_takes(const struct status_draft *d, const struct job_pod *pod);

/* Is this a phase that ends pods and is over when they are gone: Restarting, Aborting, Completing, Terminating? */
bool kill_is_on(enum job_phase phase);

/* Have the retries been spent with the restart that the draft is in? Then nothing is killed for it. What a Command asks
 * for costs no retry and needs none. */
bool restart_is_exhausted(const struct status_draft *d);

#endif
