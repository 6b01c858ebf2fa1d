/* native.h - gangs for kube-scheduler: a Workload and a PodGroup of scheduling.k8s.io for a job
 *
 * With driver_options.native_groups they replace Volcano's PodGroup (podgroup.h). Both have its name, JOB-UID, and both
 * are controlled by the Job. The Workload has one template, "job", and the PodGroup is made from it: all pods of the
 * job are one gang of minAvailable, placed together or not at all. The other fields of Volcano's PodGroup (queue,
 * minTaskMember, minResources, networkTopology, partitions) have no equivalent.
 *
 * Both objects are immutable (v1alpha2; in v1beta1 mostly), so a gang of another size needs a new object: see
 * native_ensure().
 */
#ifndef JOB_NATIVE_H
#define JOB_NATIVE_H

#include "job/ensure.h"

/* The size of the gang: minAvailable, without pods that start later (dependsOn). */
int64_t native_gang_size(const struct job *job);

struct json *native_workload_new(struct arena *a, const struct job *job, int64_t size);
struct json *native_group_new(struct arena *a, const struct job *job, int64_t size); /* 0: of no gang */

/* Make the pod a member of the group. A pod of 'own_scheduler', which does not support such groups, goes to
 * kube-scheduler; a pod of another scheduler keeps it. */
void native_join(struct arena *a, struct json *pod, struct str group, struct str own_scheduler);

/* The condition in which kube-scheduler says that it could not place such a PodGroup; NULL: there is none. */
const struct json *native_refusal(const struct json *group);

/* Create or replace both. A gang of another size is deleted and created again under the same name, which its pods keep.
 * The cluster has a finalizer on a PodGroup until the last of its pods has ended; because a new PodGroup follows at
 * once, the finalizer is removed. A job whose queue is not open gets neither. */
enum ensured native_ensure(struct status_draft *d, struct plan *plan);

/* kube-scheduler does not count pods that have ended. Is there a pending pod whose gang can no longer be complete? Then
 * call native_ensure(), even if nothing else changed. */
bool native_is_short(const struct job_observed *o);

#endif
