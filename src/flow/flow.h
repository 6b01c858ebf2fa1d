/* flow.h - the controllers that create Jobs: of JobFlow, JobTemplate and CronJob
 *
 * They are pure: observed objects in, a plan out, no state between calls. A decision is written to the status first and
 * carried out when that write is confirmed, so a restarted controller continues from there. The name of a Job is
 * derived from its maker, so that no Job is created twice.
 */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include "api/plan.h"
#include "json/json.h"

struct zone;

#define BY_TEMPLATE_KEY "volcano.sh/createdByJobTemplate" /* label and annotation: "namespace.template" */
#define BY_FLOW_KEY     "volcano.sh/createdByJobFlow"     /* the same: "namespace.jobflow" */
/* Annotations: who wrote the spec of a JobFlow, JobTemplate or CronJob last, as the server has set it (auth/auth.h). A
 * Job has that of its maker, and that of the template. Where no server keeps authors there are none. */
#define AUTHOR_KEY          "pumice/author"
#define TEMPLATE_AUTHOR_KEY "pumice/template-author"
#define SLOT_KEY            "volcano.sh/cronjob-scheduled-timestamp"

/* ---- jobtemplate.c ---- */

/* status.jobDependsOnList: the jobs that were made from the template and are there. */
void jobtemplate_plan(const struct json *template, const struct json *const *jobs, size_t n_jobs, struct plan *plan);

/* "namespace.template" of the template that a Job was made from; empty: of none. */
struct str jobtemplate_of(const struct json *job);

/* ---- jobflow.c ---- */

struct flow_question { /* does every pod of a task answer on this port? */
    struct str job, task;
    uint16_t port;
    bool is_http;
    struct str path; /* of HTTP; so are the others */
    struct str header_name, header_value;
};

struct jobflow_observed {
    const struct json *flow;
    const struct json *const *jobs; /* whose controller it is */
    size_t n_jobs;
    void *ctx;
    const struct json *(*find_template)(void *ctx, struct str name); /* of its namespace; NULL: there is none */
    const struct json *(*find_job)(void *ctx, struct str name);      /* also one of another owner */
    bool (*answers)(void *ctx, const struct flow_question *q);       /* not known yet: false, and plan again when it is.
                                                                  NULL: no pod can be probed */
    struct str trouble;        /* why the last write was refused; empty: it was not */
    struct str scheduler_name; /* of jobs that name none; empty: "volcano" */
};

/* Creates the job "FLOW-VERTEX" of each vertex when its targets have completed, or its probes pass. The status keeps
 * the result of each job, so that a job which was deleted after its end is not run again. Succeed and Failed are final;
 * with jobRetainPolicy "delete" the jobs of a flow that has succeeded are deleted. */
void jobflow_plan(const struct jobflow_observed *o, struct plan *plan);

struct flow_why { /* of a vertex */
    struct str vertex, job;
    struct str phase; /* of its job; empty: it has not begun */
    struct str why;   /* what it waits for, or why it never starts: the end of a sentence; empty: it has started */
    bool is_never;
};
struct flow_whys {
    VEC(struct flow_why) v;
};
/* What each vertex waits for, in the order of the list. */
void jobflow_why(struct arena *a, const struct jobflow_observed *o, struct flow_whys *ret);

struct str jobflow_job_name(struct arena *a, struct str flow, struct str vertex);

/* A template's spec with a vertex' patch.jobSpec in it: tasks by name, and within them as kubectl patches pods. */
int jobflow_patch(struct arena *a, const struct json *spec, const struct json *patch, struct json **ret, struct err *e);

/* ---- cronjob.c ---- */

struct cronjob_observed {
    const struct json *cron;
    const struct json *const *jobs; /* whose controller it is */
    size_t n_jobs;
    const struct zone *zone; /* of spec.timeZone, or the machine's; NULL: UTC */
    struct str zone_problem; /* why there is none; empty: there is */
    void *ctx;
    const struct json *(*find_job)(void *ctx, struct str name);
    int64_t since_ms;   /* slots up to then do not count: the schedule was another one; 0: all count */
    struct str trouble; /* why the last write was refused; empty: it was not */
    struct str scheduler_name;
};

/* Creates a job for the last slot that has passed, unless it has one already, is too old, or concurrencyPolicy forbids
 * it, and wakes at the next slot. Which jobs are active, and when it last ran, follows from the existing jobs. */
void cronjob_plan(const struct cronjob_observed *o, struct plan *plan);

#endif
