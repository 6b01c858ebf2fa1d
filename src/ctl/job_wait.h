/* job_wait.h - until a job is what it is waited for */
#ifndef CTL_JOB_WAIT_H
#define CTL_JOB_WAIT_H

#include "ctl/verb.h"

/* Until all of them are over; the status of the verb is 0 if all are Completed, else 1, and what became of each is
 * printed. ERR_GONE: --timeout has passed. */
int job_wait_over(struct ctl_verb *v, const struct ctl_objects *jobs, struct err *e);

/* Until it has a phase of the list (NULL-terminated), or is gone where 'is_deletion'. */
int job_wait_phase(struct ctl_verb *v, struct str namespace, struct str name, const char *const *phases,
                   bool is_deletion, int64_t timeout_ms, struct str *ret_phase, struct err *e);

/* A name nobody has: "job-x7k2p". */
struct str job_new_name(struct arena *a, const char *prefix);

#endif
