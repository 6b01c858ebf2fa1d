/* job_wait.h - wait until jobs have ended, have a certain phase, or are deleted */
#ifndef CTL_JOB_WAIT_H
#define CTL_JOB_WAIT_H

#include "ctl/verb.h"

/* Wait until all of these jobs have ended, and print the last phase of each. The exit status of the verb is 0 if all are
 * Completed, else 1. ERR_GONE: --timeout has passed. */
int job_wait_over(struct ctl_verb *v, const struct ctl_objects *jobs, struct err *e);

/* Wait until the job has a phase of the list (NULL-terminated), or is deleted ('phases' is NULL; '*ret_phase' is
 * "deleted"). ERR_GONE: --timeout has passed. */
int job_wait_phase(struct ctl_verb *v, struct ctl_name job, const char *const *phases, struct str *ret_phase,
                   struct err *e);

/* A new name that is unlikely to be in use: "job-x7k2p". */
struct str job_new_name(struct arena *a, const char *prefix);

#endif
