/* evict.h - whom to evict so that a gang fits
 *
 * Victims are chosen by whole jobs: first pods that a job has beyond its minimum, then complete jobs; a gang is never
 * left running below its minimum (D7). Among those the cheapest go: lowest priority of the job, surplus before
 * whole jobs, lowest priority of the pods themselves, the youngest first. Pods are evicted only if the gang then fits,
 * and only those whose eviction is needed for that.
 *
 * Never victims: pods that say so (volcano.sh/preemptable: "false", on the pod or its group), critical pods, pods
 * younger than min_run_ms or inside their cooldown, pods a PodDisruptionBudget protects; in a preemption jobs of the
 * same or a higher priority; in a reclaim queues that are not reclaimable or not above their fair share.
 *
 * Not for now: pods that started while the taker waited, until they should have ended (or patience_ms is over); jobs
 * that were stopped k times, for patience_ms × 2^(k - 1). So evictions answer news, and stops are bounded.
 */
#ifndef SCHED_EVICT_EVICT_H
#define SCHED_EVICT_EVICT_H

#include "sched/gang/gang.h"

enum evict_kind { EVICT_PREEMPT, EVICT_RECLAIM };

struct victims {
    VEC(struct sched_pod *) list;
};

struct eviction {
    struct victims victims; /* untouched so far */
    struct trial trial;     /* the gang's seats after they have left; the caller ends it */
    bool is_early;          /* the gang would fit, but some of the victims have not run long enough: wait for them */
    int64_t wake_ms;        /* when a victim that is too young now may be taken; 0: there is none. Begin with 0; several
                             * calls keep the earliest */
};

/* True: the gang fits once the victims have left. */
bool evict_plan(struct sched_model *m, struct sched_group *g, enum evict_kind kind, struct arena *a,
                struct eviction *ret);

/* Could there be victims? A cheap test; false is certain: its queue runs no pod of a lower priority; or no other queue
 * has more than its share; or its own queue would exceed its share with what the group lacks ('needs'); or all pods are
 * too young, as another search of this round found. '*ret_wake_ms': see eviction.wake_ms. */
bool evict_is_worth(const struct sched_model *m, const struct sched_group *g, enum evict_kind kind,
                    const struct amounts *needs, int64_t *ret_wake_ms);

/* The parts of evict_is_worth(), for asking about many groups of one queue. Their results hold until a pod is evicted.
 *
 *     evict_has_lower()     Does the queue run a group of a lower priority?
 *     evict_share_left()    What the queue may still take: a group that needs more cannot reclaim.
 *     evict_find_within()   When the pods of the queue itself started, for preemption.
 *     evict_find_beside()   When the pods of queues that may give back to it started, for reclaim.
 *     evict_is_prey()       May one of those pods be evicted for a group that has waited since 'asked_ms'? */
struct evict_prey {
    bool exists;
    int64_t first_placed_ms, first_known_due_ms; /* as in sched_queue */
};
bool evict_has_lower(const struct sched_queue *q, int32_t priority);
void evict_share_left(const struct sched_model *m, const struct sched_queue *q, struct amounts *ret);
void evict_find_within(const struct sched_model *m, struct sched_queue *q, struct evict_prey *ret);
void evict_find_beside(const struct sched_model *m, const struct sched_queue *q, struct evict_prey *ret);
bool evict_is_prey(const struct sched_model *m, const struct evict_prey *prey, int64_t asked_ms, int64_t *ret_wake_ms);
int64_t evict_asked_ms(const struct sched_group *g);
/* One pod that must not drive others away speaks for its gang. */
bool evict_never_preempts(const struct sched_group *g);

/* Inside one job that stands: a waiting pod of higher task priority takes the place of a surplus pod of a lower one. */
bool evict_within(struct sched_model *m, struct sched_group *g, struct arena *a, struct eviction *ret);

#endif
