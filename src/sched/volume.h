/* volume.h - where the volumes of a pod may be used
 *
 * A PersistentVolume may name the nodes it can be reached from (spec.nodeAffinity, or the old zone and region labels).
 * A claim bound to a volume that is not known says nothing. A pod whose claim does not exist can run nowhere, unless
 * claims are not told at all (sched_config.knows_claims).
 *
 * A claim that is not bound says what its StorageClass says:
 *
 *     WaitForFirstConsumer  the volume is made where the pod goes: on a node that allowedTopologies has. Once the claim
 *                           names a node (the annotation selected-node), only there
 *     Immediate             the volume will be there soon, with or without us: the pod waits for it
 *
 * The latter, and that somebody makes volumes at all, only where sched_config.waits_for_volumes.
 */
#ifndef SCHED_VOLUME_H
#define SCHED_VOLUME_H

#include "sched/class.h"

/* A PersistentVolume, PersistentVolumeClaim, StorageClass or CSINode. */
void volume_put(struct sched_model *m, const struct json *object);
void volume_gone(struct sched_model *m, struct str kind, struct str namespace, struct str name);
void volume_done(struct sched_model *m);

/* May a pod with these claims run there? '*ret_why' as in fit_node(). */
bool volume_allows(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                   struct str *ret_why);

/* Does this claim of the class have to be told the node before its volume is made? */
bool volume_waits_for_node(const struct sched_model *m, const struct pod_class *c, const struct class_claim *claim);

/* ---- how many of them a node takes ---- CSINode: allocatable.count of each driver ---- */

/* A pod of this class comes to the node, or leaves it. A claim that several pods share is one volume. */
void volume_take(struct sched_model *m, struct sched_node *n, const struct pod_class *c);
void volume_give(struct sched_model *m, struct sched_node *n, const struct pod_class *c);
void volume_node_done(struct sched_node *n);

/* May the claims of one more such pod be attached there? */
bool volume_has_slots(const struct pod_class *c, const struct sched_node *n);

#endif
