/* kill.h - which pods a phase deletes
 *
 * The same function decides which pods are deleted and which are counted as terminating: the status that decides a kill
 * already counts the pods that it will delete, until the last one is deleted.
 */
#ifndef JOB_KILL_H
#define JOB_KILL_H

#include "job/status.h"

/* Does the phase of the draft delete this pod? False for pods that are terminating already. */
bool kill_takes(const struct status_draft *d, const struct job_pod *pod);

/* Is this a phase that deletes pods and ends when they are deleted: Restarting, Aborting, Completing, Terminating? */
bool kill_is_on(enum job_phase phase);

/* Was the restart of the draft the last retry? Then no pods are deleted for it. A restart by a Command costs no
 * retry. */
bool restart_is_exhausted(const struct status_draft *d);

#endif
