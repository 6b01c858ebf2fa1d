/* job_cells.h - what columns show of a job; 'ctx' is a struct reasons */
#ifndef CTL_JOB_CELLS_H
#define CTL_JOB_CELLS_H

#include "ctl/reason.h"
#include "ctl/verb.h"

struct str cell_job_phase(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_pods(struct ctl_verb *v, const struct json *job, const void *ctx); /* running of all */
struct str cell_job_queue(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_reason(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_min(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_succeeded(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_failed(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_retries(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_priority(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_user(struct ctl_verb *v, const struct json *job, const void *ctx);
struct str cell_job_type(struct ctl_verb *v, const struct json *job, const void *ctx);

int64_t job_replicas(const struct json *job);
struct str job_phase_word(const struct json *job); /* "Pending" of one that no controller has seen */
bool job_has_ended(struct str phase);              /* its phase is one of job_end_phases */
extern const char *const job_end_phases[];         /* Completed, Failed, Terminated, Aborted, NULL */

/* Those that are named, or that -n, -A, -l, --queue and --phase leave. */
int jobs_read(struct ctl_verb *v, struct ctl_objects *ret, struct err *e);

#endif
