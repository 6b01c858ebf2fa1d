/* admit.h - defaults and rules of JobFlows, JobTemplates and CronJobs
 *
 * As api/admit/admit.h has them for the other kinds, and for the same callers: the command line, the server, the webhook. The
 * Job inside is held to the rules of Jobs, each problem at its own place; its defaults are left to the jobs that are made
 * from it, so that a template may be edited like one that was written by hand.
 */
#ifndef FLOW_ADMIT_H
#define FLOW_ADMIT_H

#include "api/admit/admit.h"

struct flow_env {
    const struct admit_env *admit;
    /* The file of a time zone (os/zoneinfo.h); -1: there is none. NULL: only the form of its name is looked at. */
    int (*read_zone)(struct str name, struct buf *out);
};

void admit_jobtemplate(struct arena *a, struct json *template, const struct json *old, const struct flow_env *env,
                       struct problems *ps);
void admit_jobflow(struct arena *a, struct json *flow, const struct json *old, const struct flow_env *env,
                   struct problems *ps);
void admit_cronjob(struct arena *a, struct json *cron, const struct json *old, const struct flow_env *env,
                   struct problems *ps);

/* By kind; false: it is none of these. */
bool admit_flow_kind(struct arena *a, struct json *object, const struct json *old, const struct flow_env *env,
                     struct problems *ps);

#endif
