/* steps.h - what the controller does for a job in each phase, when no action is decided */
#ifndef JOB_STEPS_H
#define JOB_STEPS_H

#include "job/status.h"

struct job_outcome step_active(struct status_draft *d, struct plan *plan); /* Pending, Running */
struct job_outcome step_restarting(struct status_draft *d, struct plan *plan);
struct job_outcome step_killing(struct status_draft *d, struct plan *plan); /* all others */

/* Which phase follows from the counters: what sync and what kill write. Pure; the same phase: no change.
 * '*ret_why' is one line. */
enum job_phase settle(const struct job_observed *o, enum job_phase phase, const char **ret_why);

#endif
