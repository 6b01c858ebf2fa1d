/* schedule.h - the scheduler inside the driver: its input, its rounds, and the writes of its decisions
 *
 *     sched_feed.c   passes objects to the scheduler: drops states older than the last one, and reports objects that a
 *                    new list lacks as deleted
 *     schedule.c     runs at most one round in a turn, once everything is listed and something changed (D63, D64)
 *     sched_write.c  writes the decisions: one entry for each object, so the newest decision wins and nothing is
 *     written
 *                    twice
 *
 * Each write is a key of the driver's work queue, like the keys of the controllers: it shares the limit of writes in
 * flight and has its own back-off.
 *
 *     bind      Sent once. If it is refused or its outcome is unknown, the pod is read again. If the pod is not on the
 *               node, the scheduler decides again; its next binding of this pod waits for the back-off, and is sent
 *               only if the scheduler still wants it then.
 *     evict     The conditions are written once, best effort. The delete is repeated until the pod is terminating or
 *     gone
 *               (D40). Both require the pod to be unchanged; otherwise the scheduler decides again. An eviction that
 *               the scheduler no longer wants is dropped.
 *     statuses  Repeated until written; only the newest is sent (D61).
 *
 * Claims in mode WaitForFirstConsumer need a volume before their pod is bound. sched_claims.c annotates them with the
 * node, or reserves existing volumes for them.
 */
#ifndef DRIVER_SCHEDULE_H
#define DRIVER_SCHEDULE_H

#include "driver/cache.h"
#include "sched/sched.h"

struct driver;

#define KEY_SCHED "sched/" /* + kind/uid */

/* ---- sched_feed.c ---- */

struct sched_known {       /* one object that the scheduler knows */
    struct list_link link; /* sched_known_type.list */
    uint64_t rev;
    int64_t created_ms;                   /* Pod */
    int64_t generation;                   /* Pod; 0: it has none */
    int64_t refused_ms;                   /* Pod: since when PodScheduled is False; 0: it is not */
    bool is_bound, is_going;              /* Pod: has a node; is being deleted */
    bool is_running, is_over;             /* Pod: its phase; over: Succeeded or Failed */
    struct str key, namespace, name, uid; /* the bytes follow this struct; key: "namespace/name" */
    struct str group;                     /* Pod: its PodGroup */
};

struct sched_known_type {
    const struct resource_type *type;
    struct map by_key;
    struct list list;
};

struct schedule {
    struct sched *sched; /* NULL: the driver does not schedule */
    struct sched_known_type *types;
    size_t n_types;
    struct buf scratch;
    struct map writes;   /* struct sched_write by key */
    struct list waiting; /* struct sched_write.waits: bindings that wait for volumes */
    unsigned n_behind;   /* PodGroups whose counters are behind */
    struct list events;  /* struct notice: Events that wait for room */
    size_t n_events;
    struct sched_round round;
    bool has_news;   /* the scheduler got news since the last round */
    int64_t wake_ms; /* of run_ms: the next round even without news; INT64_MAX: none */
};

void sched_feed_init(struct driver *d);
void sched_feed_done(struct driver *d);
void sched_feed_want(struct driver *d, const struct resource_type *type);

/* An event; call it after the cache has it. At the end of a list: before the cache drops the names of the list. */
void sched_feed_event(struct driver *d, const struct cluster_event *ev);
void sched_feed_list_ends(struct driver *d, const struct cluster_event *ev);
void sched_feed_put(struct driver *d, const struct object *o);
void sched_feed_gone(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                     struct str uid);

/* The scheduler's entry of an object; NULL if it has none with that uid. */
const struct sched_known *sched_feed_find(struct driver *d, const struct resource_type *type, struct str namespace,
                                          struct str name, struct str uid);

size_t sched_feed_count(const struct driver *d, const struct resource_type *type);

/* ---- sched_write.c ---- */

void sched_writes_init(struct driver *d);
void sched_writes_done(struct driver *d);

/* Queue the write of a decision. Everything is copied. */
void sched_write_add(struct driver *d, const struct decision *what);

/* For sched_feed.c: the object was deleted; drop its entry. */
void sched_write_object_gone(struct driver *d, const struct resource_type *type, const struct sched_known *object);

/* For controllers.c: the next writes to an object. */
void sched_write_plan(struct driver *d, struct str key_rest, struct plan *plan);

/* For request.c: the answer to such a write. 'e' is NULL on success; 'seen' (may be NULL) is the current object. */
void sched_write_answered(struct driver *d, struct str key, enum op_kind kind, const struct err *e,
                          const struct object *seen);

/* A claim changed: queue the bindings in this namespace that wait for volumes. */
void sched_write_claim_told(struct driver *d, struct str namespace);

/* ---- sched_claims.c ---- */

enum claims_state {
    CLAIMS_FINE, /* the pod can be bound */
    CLAIMS_WAIT, /* claims are being annotated, or their volumes are being provisioned */
    CLAIMS_LOST, /* provisioning on that node failed (the provisioner removed the annotation), or another claim has the
                    volume */
    CLAIMS_STATE_MAX,
};

struct claims_of_pod {
    struct str namespace, uid; /* of the pod */
    struct str node;           /* the node chosen for it */
    bool are_told;             /* the claims were annotated with that node before */
};

/* Plan the claims of a pod for its node. After CLAIMS_WAIT they are annotated. */
enum claims_state sched_claims_plan(struct driver *d, const struct claims_of_pod *pod, struct plan *plan);

/* ---- schedule.c ---- */

void schedule_init(struct driver *d);
void schedule_done(struct driver *d);
bool schedule_turn(struct driver *d);         /* runs a round if it is due; true if it decided anything */
bool schedule_flush(struct driver *d);        /* send Events while there is room */
int64_t schedule_due(const struct driver *d); /* when to call them next, in run_ms; INT64_MAX: never */

/* Queue an Event for the object that 'event' (a DECIDE_EVENT) names. It is sent when there is room; when too many wait,
 * it is dropped. */
void schedule_tell(struct driver *d, const struct decision *event);

#endif
