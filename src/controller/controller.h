/* controller.h - the smaller controllers, all pure: observed in, plan out
 *
 * Each is a function from what the caches show and the time to writes. None keeps state of its own.
 */
#ifndef CONTROLLER_CONTROLLER_H
#define CONTROLLER_CONTROLLER_H

#include "api/job.h"
#include "api/plan.h"

/* ---- ttl.c: finished jobs go when their time is up ---- */

/* Delete (foreground, uid precondition) a Completed, Failed or Terminated job whose ttlSecondsAfterFinished has passed;
 * else wake when it will. Aborted jobs stay, unless annotated pumice.dev/ttl-aborted: "true" (B57). */
void ttl_plan(const struct job *job, struct plan *plan);

/* ---- queue.c: state of a queue ---- */

struct queue_observed {
    const struct json *queue;                               /* the object */
    uint32_t pending, inqueue, running, unknown, completed; /* PodGroups of this queue by phase */
    const struct controller_command
        *commands; /* that name it (by uid), in the order they were made: the last one counts */
    size_t n_commands;
    const struct json *parent; /* NULL: there is none; counts as root. Do not plan before all queues are known */
    int64_t status_ms; /* when the last status write of this queue was sent; 0: long ago. Counters alone are written at
                          most once a second, with many PodGroups every ten */
};
struct controller_command {
    struct str namespace, name, uid, action;
};

/* Open, Closing (closed with unfinished PodGroups left), Closed, Unknown; counters; parent "root" when empty; obeys
 * commands. A queue follows its parent: plan the children again when the state of a queue changed. */
void queue_plan(const struct queue_observed *o, struct plan *plan);

/* The queues that must exist: root and default. */
void queue_ensure(bool has_root, bool has_default, struct plan *plan);

/* ---- podgroup.c: what jobs need of a PodGroup's status ---- */

/* A PodGroup without phase gets Pending. */
void podgroup_plan(const struct json *group, struct plan *plan);

/* ---- workload.c: PodGroups for pods that name our scheduler and belong to no Job ---- */

#define GROUP_NAME_KEY "scheduling.k8s.io/group-name"

/* Pods with the same controller (a ReplicaSet, a StatefulSet, a batch Job …) are one workload and share a PodGroup; a
 * pod without one is a workload by itself. */
struct workload_observed {
    struct str namespace, uid; /* of the controller, or of the pod that has none */
    const struct json *group;  /* the PodGroup; NULL: there is none */
    const struct json *owner;  /* the controller as it was just read; NULL: not read, or of a kind we cannot read */
    const struct json *const *pods; /* that name our scheduler, have no node yet and no other group */
    size_t n_pods, n_all;           /* how many of those; how many pods it has at all */
};

/* "podgroup-UID", made with all that its first pod and the controller say; each pod gets its name. minMember is the
 * controller's annotation scheduling.volcano.sh/group-min-member, else 1, but not more than the replicas it has: during
 * a rollout the rest will never come. It is looked at again with each new pod. When nothing is left and the controller
 * wants no pods, the group goes. */
void workload_plan(const struct workload_observed *o, struct plan *plan);

/* How much a controller of this kind says about its pods. */
bool workload_wants_owner(const struct json *ref); /* of an ownerReference: a kind that is worth reading */
bool workload_can_shrink(const struct json *ref);  /* it may have no pods, and still be there */

struct str workload_group_name(struct arena *a, struct str uid);

/* ---- gc.c: dependents of deleted owners ---- */

struct gc_owner {
    /* The cache of its kind is complete, and not older than the dependent: an owner that was not seen yet must not look
     * as if it were deleted. */
    bool is_known;
    bool exists; /* an object of that uid is there, in the same namespace or in none */
    bool is_deleting;
    bool waits_for_dependents, orphans; /* has the finalizer foregroundDeletion, orphan */
};
struct gc_observed {
    const struct resource_type *type;
    struct str namespace, name, uid;
    bool is_deleting, has_foreground, has_orphan; /* finalizers foregroundDeletion, orphan */
    const struct json *meta;                      /* its metadata, for removing finalizers and owner references */
    const struct gc_owner *owners;                /* one for each ownerReference */
    size_t n_owners;
    size_t n_dependents, n_blocking; /* objects that name it as owner; those with blockOwnerDeletion */
    bool is_in_circle;               /* it is an owner of its owners, which all wait for their dependents */
};
/* Delete an object all of whose owners are deleted (background) or wait for it (foreground); drop references to
 * deleted owners while others remain, and to those that orphan it; let go of an owner in foreground deletion when
 * nothing blocks it, of one in orphaning when its dependents no longer name it. A circle of owners would wait for itself
 * for ever: its members no longer block their owners. */
void gc_plan(const struct gc_observed *o, struct plan *plan);

#endif
