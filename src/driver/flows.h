/* flows.h - which JobFlow, JobTemplate or CronJob made which Job
 *
 * The objects themselves are in the cache. Events may be late, repeated or out of order here too, because the cache
 * decides what is current. A change of a Job queues its maker only if the maker depends on it: the Job appears or
 * disappears, its phase changes, or the number of pods of a task in a phase changes.
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

/* An event; call it after the cache has it. */
void flows_event(struct driver *d, const struct cluster_event *ev);

/* An object from the answer to a request, or one that was deleted; call it after the cache has it. */
void flows_seen(struct driver *d, const struct object *o);
void flows_gone(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                struct str uid);

/* A write for this key was refused, or (NULL) worked. */
void flows_written(struct driver *d, struct str key, const struct err *e);

/* For controllers.c. */
void flow_plan_key(struct driver *d, struct str key_rest, struct plan *plan);
void template_plan_key(struct driver *d, struct str key_rest, struct plan *plan);
void cron_plan_key(struct driver *d, struct str key_rest, struct plan *plan);

#endif
