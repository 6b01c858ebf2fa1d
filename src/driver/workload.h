/* workload.h - pods of our scheduler that belong to no Job, grouped by their controller
 *
 * controller/workload.c makes their PodGroups; this index is only for that. A pod that waits for a node is kept with
 * its object, other pods are only counted.
 *
 * If the driver schedules, 'cluster' watches all pods. If not, it watches the pods of Jobs, and driver_options.others
 * watches the rest. Answers to writes of these pods have only part of the object.
 */
#ifndef DRIVER_WORKLOAD_H
#define DRIVER_WORKLOAD_H

#include "base/list.h"
#include "cluster/cluster.h"
#include "cluster/relist.h"

struct driver;
struct plan;

#define KEY_WORKLOAD "workload/" /* + namespace/uid */

struct workloads {
    struct map by_key; /* struct workload */
    struct list list;  /* the same, in order of arrival */
    struct map pods;   /* struct workload_pod by uid */
    struct relist told;
    bool is_listing, is_synced;
};

void workloads_init(struct driver *d);
void workloads_done(struct driver *d);

/* An event of a Pod, from the cluster that watches it, or of a PodGroup. Call it after the cache has the event. */
void workload_event(struct driver *d, const struct cluster_event *ev);

/* An object from the answer to a request: a Pod, or a controller that workload_plan_key() has read. */
void workload_seen(struct driver *d, const struct object *o);

/* The object was deleted. */
void workload_gone(struct driver *d, const struct resource_type *type, struct str uid);

/* Reading the controller is forbidden: plan without it. */
void workload_owner_hidden(struct driver *d, struct str key_rest);

/* For controllers.c. */
void workload_plan_key(struct driver *d, struct str key_rest, struct plan *plan);

#endif
