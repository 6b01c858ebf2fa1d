/* flows.h - JobFlows, JobTemplates and CronJobs, and the Jobs that were made for them
 *
 * The objects are in the cache; here is who made which Job. What the cache says counts, so news may be late, doubled or
 * in the wrong order here too. A change of a Job is news to its maker only if it is one of those things that makers look
 * at: that it is there, its phase, how many pods of each task are in which phase.
 */
#ifndef DRIVER_FLOWS_H
#define DRIVER_FLOWS_H

#include "base/list.h"
#include "base/map.h"
#include "cluster/cluster.h"

struct driver;
struct plan;

#define KEY_FLOW     "flow/"     /* + namespace/name */
#define KEY_TEMPLATE "template/" /* the same */
#define KEY_CRON     "cron/"     /* the same */

struct flows {
    struct map jobs;  /* struct made_job by uid */
    struct map makes; /* struct maker by key */
    struct map notes; /* struct flow_note by key */
};

void flows_init(struct driver *d);
void flows_done(struct driver *d);

/* News, after the cache had them. */
void flows_event(struct driver *d, const struct cluster_event *ev);

/* An object as an answer shows it, or that is gone for good; after the cache was told. */
void flows_seen(struct driver *d, const struct object *o);
void flows_gone(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                struct str uid);

/* A write for this key was refused, or (NULL) worked. */
void flows_written(struct driver *d, struct str key, const struct err *e);

/* For controllers.c. */
void flow_plan_key(struct driver *d, struct str key_rest, int64_t now_ms, struct plan *plan);
void template_plan_key(struct driver *d, struct str key_rest, int64_t now_ms, struct plan *plan);
void cron_plan_key(struct driver *d, struct str key_rest, int64_t now_ms, struct plan *plan);

#endif
