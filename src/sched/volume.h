/* volume.h - where the volumes of a pod may be used
 *
 * A PersistentVolume may name the nodes it can be reached from (spec.nodeAffinity, or the old zone and region labels).
 * A claim that is not bound, or bound to a volume that is not known, says nothing. A pod whose claim does not exist can
 * run nowhere, unless claims are not told at all (sched_config.knows_claims).
 */
#ifndef SCHED_VOLUME_H
#define SCHED_VOLUME_H

#include "sched/class.h"

void volume_put(struct sched_model *m, const struct json *object); /* a PersistentVolume or PersistentVolumeClaim */
void volume_gone(struct sched_model *m, struct str kind, struct str namespace, struct str name);
void volume_done(struct sched_model *m);

/* May a pod with these claims run there? '*ret_why' as in fit_node(). */
bool volume_allows(const struct sched_model *m, const struct pod_class *c, const struct sched_node *n,
                   struct str *ret_why);

#endif
