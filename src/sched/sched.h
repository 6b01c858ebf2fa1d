/* sched.h - the gang scheduler
 *
 * It gets all objects as they come (in any order, again and again), and is asked what to do:
 *
 *     sched_put(s, root);                          a Node, Pod, PodGroup, Queue, Job, PriorityClass, … as it is now
 *     sched_gone(s, kind, namespace, name, uid);
 *     sched_round(s, now_ms, &round);              decisions, in an arena
 *
 * It does no I/O, reads no clock, and draws no random number: the same state and time give the same decisions. Between
 * two rounds it keeps the state as counters and does work only for what changed.
 *
 * A decision is taken as done until news say otherwise: a pod it bound counts as placed, a pod it evicts as going. The
 * caller carries decisions out and tells of failures (sched_failed); the next round then decides again.
 *
 * Order of a round: what changed; members of gangs that did not come about; admission and placing in order of queue,
 * then job, for queues within their fair share; what is left for those above it; preemption and reclaim; reservations;
 * promises that ran out; status.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "sched/model/config.h"
#include "sched/model/why.h"

struct sched;

struct sched *sched_new(const struct sched_config *config, uint64_t seed); /* config NULL: the default */
void sched_free(struct sched *s);
void sched_configure(struct sched *s, const struct sched_config *config); /* from the next round on */

/* Kinds it takes: Node Pod PodGroup Queue PriorityClass PodDisruptionBudget HyperNode, batch.volcano.sh Job (templates
 * of pods to come), Namespace (labels that affinity terms select), PersistentVolume and PersistentVolumeClaim (zones).
 * Others are ignored. The tree is only read. */
void sched_put(struct sched *s, const struct json *root);
void sched_gone(struct sched *s, struct str kind, struct str namespace, struct str name, struct str uid);
bool sched_wants(struct str api_version, struct str kind);

enum decision_kind {
    DECIDE_BIND,     /* pod → node */
    DECIDE_EVICT,    /* delete pod, because of reason ("preempt", "reclaim", "gang"); 'other' is the group it is for */
    DECIDE_OPEN,     /* remove the pod's last scheduling gate, its queue's (api/pod/gate.h) */
    DECIDE_NOMINATE, /* pod.status.nominatedNodeName = node; empty: clear */
    DECIDE_POD_STATUS, /* condition PodScheduled False: reason, message */
    DECIDE_GROUP,      /* PodGroup status: phase, running, succeeded, failed, conditions */
    DECIDE_QUEUE,      /* Queue status.allocated */
    DECIDE_EVENT,      /* on the pod or group: type, reason, message */
    DECISION_KIND_MAX,
};

struct decision {
    enum decision_kind kind;
    struct str namespace, name, uid; /* of the object to write */
    struct str node;
    struct str reason, message;
    struct str other;
    const char *event_type; /* DECIDE_EVENT: "Normal", "Warning" */
    const char *event_kind; /* … "Pod", "PodGroup" */
    struct json *status;    /* DECIDE_GROUP: the whole status; DECIDE_QUEUE: {allocated} */
};

struct sched_round {
    struct arena arena;                    /* of everything here; the caller resets it */
    VEC(struct decision) list;             /* evictions and bindings first */
    int64_t wake_ms;                       /* look again at this time even if nothing happens; 0: no need */
    uint32_t n_bound, n_evicted, n_groups; /* groups looked at */
};

void sched_round(struct sched *s, int64_t now_ms, struct sched_round *ret);

/* Is there anything that a round would look at? False: skip it. */
bool sched_is_idle(const struct sched *s);

/* A write failed, or its result is not known; without an 'error': it was not sent. The pod is as its last news say; the
 * next round decides again. */
void sched_failed(struct sched *s, const struct decision *d, struct str error);

/* A binding or an eviction could not be sent at once, and there may have been news: would it still be right? A binding:
 * its gang is whole with it, its node takes the pod, and its queue may have it. An eviction: the group it is for still
 * waits for its victims; what is taken back ("gang") has not started. If not: sched_failed. */
bool sched_stands(struct sched *s, const struct decision *d);

#define SELECTED_NODE_KEY "volume.kubernetes.io/selected-node" /* annotation of a claim: its volume is made there */

/* The claims that a pod which was given a place waits for. */
struct sched_claim {
    struct str name;
    struct str volume; /* that the scheduler has chosen for it; empty: one is made once the claim names the node */
    bool is_named;     /* … and whose claimRef names the claim already, by uid … */
    bool is_reserved;  /* … or by name alone: an administrator meant it for the claim */
    bool is_lost;      /* the one that was chosen belongs to another claim now */
};
void sched_claims(struct sched *s, struct str pod_uid, void (*each)(void *ctx, const struct sched_claim *claim),
                  void *ctx);

/* ---- asking ---- for explain, plan and tests; valid until the next call that changes anything ---- */

struct sched_group_view {
    struct str namespace, name, queue, phase, job;
    int32_t priority;
    int64_t min, ready, pending, running;
    int64_t created_ms;
    bool is_whole, has_hold;
    const struct why *why;
    struct amounts needs; /* of the pods that are still missing for the minimum */
    struct amounts kept;  /* … of the places that are kept for it (has_hold) */
    struct amounts allocated;
};
bool sched_group_view(struct sched *s, struct str namespace, struct str name, struct sched_group_view *ret);
const struct dims *sched_dims(const struct sched *s);

/* Waiting groups in the order they would be served, the first first. */
void sched_waiting(struct sched *s, struct arena *a, void (*each)(void *ctx, const struct sched_group_view *g),
                   void *ctx);

struct sched_queue_view {
    struct str name, parent;
    bool is_open;
    int64_t weight;
    uint32_t n_waiting, n_waiting_pods; /* groups of its own that lack members, and their pods without a node */
    struct amounts allocated, fair, demand;
    struct amounts capability, limit; /* as it says; cut to what is left for it */
    struct amounts admitted;          /* promised to its groups and not allocated yet */
};
void sched_queues(struct sched *s, void (*each)(void *ctx, const struct sched_queue_view *q), void *ctx); /* by name */

struct sched_node_view {
    struct str name;
    struct amounts total, used, held;
};
void sched_nodes(struct sched *s, void (*each)(void *ctx, const struct sched_node_view *n), void *ctx); /* by name */

#endif
