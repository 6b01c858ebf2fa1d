/* volume.h - where the volumes of a pod may be used
 *
 * A PersistentVolume may name the nodes it can be reached from (spec.nodeAffinity, or the old zone and region labels).
 * A pod whose claim does not exist can run nowhere, unless claims are not told at all (sched_config.knows_claims).
 *
 * A claim that is not bound says what its StorageClass says:
 *
 *     WaitForFirstConsumer  a volume that is there already and can be reached from the node is taken for it
 *                           (volume_match.c); if there is none it is made where the pod goes, on a node that
 *                           allowedTopologies has, unless the class has no provisioner. Once the claim names a node
 *                           (the annotation selected-node), only there
 *     Immediate, or none    the volume will be there soon, with or without us: the pod waits for it
 *
 * The latter, and that claims and volumes come together by anybody at all, only where sched_config.waits_for_volumes.
 * Where that is off a claim bound to a volume that is not known says nothing.
 */
#ifndef SCHED_FIT_VOLUME_H
#define SCHED_FIT_VOLUME_H

#include "sched/fit/class.h"

/* A PersistentVolume, PersistentVolumeClaim, StorageClass or CSINode. */
void volume_put(struct sched_model *m, const struct json *object);
void volume_gone(struct sched_model *m, struct str kind, struct str namespace, struct str name);
void volume_done(struct sched_model *m);

/* May a pod with these claims run there, whatever others have taken? '*ret_why' as in fit_node(). */
bool volume_allows(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                   struct str *ret_why);

/* Are there volumes left on the node for those claims that no volume is made for? */
bool volume_is_free(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n);

/* A pod has its place: how does this claim of it come to a volume? */
enum volume_way {
    VOLUME_IS_THERE,    /* the claim is bound */
    VOLUME_IS_MADE,     /* once the claim names the node */
    VOLUME_IS_TAKEN,    /* '*ret_volume' is to be the claim's … */
    VOLUME_IS_RESERVED, /* … and an administrator has written the claim's name, but not its uid, to its claimRef … */
    VOLUME_KNOWS_CLAIM, /* … and its claimRef says so */
    VOLUME_IS_LOST,     /* another claim has it */
    VOLUME_WAY_MAX,
};
enum volume_way volume_way(const struct sched_model *m, const struct pod_class *c, const struct class_claim *claim,
                           struct str *ret_volume);

/* A pod of this class comes to the node, or leaves it. A claim that several pods share is one volume. */
void volume_take(struct sched_model *m, struct sched_node *n, const struct pod_class *c);
void volume_give(struct sched_model *m, struct sched_node *n, const struct pod_class *c);
void volume_node_done(struct sched_node *n);

/* May the claims of one more such pod be attached there? CSINode: allocatable.count of each driver. */
bool volume_has_slots(const struct pod_class *c, const struct sched_node *n);

#endif
