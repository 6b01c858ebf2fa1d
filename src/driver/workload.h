/* workload.h - pods that name our scheduler and belong to no Job, by the controller that made them
 *
 * Kept only for controller/workload.c, which makes their PodGroups. Of a pod that still waits for a node the object is
 * kept, of the others that they are there.
 *
 * The cluster tells of all pods where the driver schedules. Where it does not, only those of Jobs are watched there,
 * and a second door (driver_options.others) tells of the rest; of those the answers to our writes show a part only.
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

/* News of Pods, from whichever door tells of them all, and of PodGroups; after the cache had them. */
void workload_event(struct driver *d, const struct cluster_event *ev);

/* An object as an answer shows it. A controller, too, that was read for workload_plan_key(). */
void workload_seen(struct driver *d, const struct object *o);

/* The object is gone for good. */
void workload_gone(struct driver *d, const struct resource_type *type, struct str uid);

/* The controller cannot be read: go on without. */
void workload_owner_hidden(struct driver *d, struct str key_rest);

/* For controllers.c. */
void workload_plan_key(struct driver *d, struct str key_rest, int64_t now_ms, struct plan *plan);

#endif
