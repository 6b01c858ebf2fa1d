/* native.h - the gang of a job as kube-scheduler knows it: a Workload and a PodGroup of scheduling.k8s.io
 *
 * They take the place of Volcano's PodGroup (podgroup.h) where the controller was told so. Both have its name, JOB-UID,
 * and both are controlled by the Job. The Workload has one template, "job", and the PodGroup is made from it: all pods
 * of the job are one gang of minAvailable, placed together or not at all. What else Volcano's PodGroup says (queue,
 * minTaskMember, minResources, networkTopology, partitions) has no word there.
 *
 * The server lets nobody change either of them (v1alpha2; of v1beta1 only some), so another gang means another object:
 * see native_ensure().
 */
#ifndef JOB_NATIVE_H
#define JOB_NATIVE_H

#include "job/ensure.h"

/* Pods that are to be placed together: minAvailable, but none that only come later (dependsOn). */
int64_t native_gang_size(const struct job *job);

struct json *native_workload_new(struct arena *a, const struct job *job, int64_t size);
struct json *native_group_new(struct arena *a, const struct job *job, int64_t size); /* 0: of no gang */

/* Make the pod a member of the group. One that is meant for 'own_scheduler', which knows no such groups, becomes
 * kube-scheduler's; one that names another is left to it. */
void native_join(struct arena *a, struct json *pod, struct str group, struct str own_scheduler);

/* The condition in which kube-scheduler says that it could not place such a PodGroup; NULL: there is none. */
const struct json *native_refusal(const struct json *group);

/* Make or mend both. A gang of another size is deleted and made again under the same name, which pods may go on naming
 * meanwhile. A PodGroup that is being deleted stays, by a finalizer of the cluster's, until the last of its pods has
 * ended; as a new one is to follow at once, there is nothing to protect and the finalizer is taken off. Neither is made
 * for a job whose queue is not open. */
enum ensured native_ensure(struct status_draft *d, int64_t now_ms, struct plan *plan);

/* kube-scheduler forgets pods that have ended. Does one wait that will not find enough others any more? Then
 * native_ensure() has to be called, also where nothing else has changed. */
bool native_is_short(const struct job_observed *o);

#endif
