/* schedule.h - the scheduler inside the driver: what it is told, when it is asked, and how its decisions are carried
 * out
 *
 *     sched_feed.c   every object that concerns it goes through here: older news are dropped, what a list does not
 *                    mention is gone
 *     schedule.c     one round in a turn at most, when all is known and something changed (D63, D64)
 *     sched_write.c  its decisions: one entry for each object, so that the newest wish wins and nothing is written
 *                    twice
 *
 * Such a write is a key of the driver's work queue like those of the controllers: it shares the limit of writes in
 * flight and has a back-off of its own.
 *
 *     bind      sent once. Refused or unknown: the pod is read afresh; if it is not where it should be the scheduler is
 *               told and decides again. What it says about that is written at once; a further binding of the same pod
 *               waits for the back-off. One that had to wait is sent only if the scheduler still stands by it
 *     evict     the conditions get one try, the delete is what counts: repeated until the pod is going or gone (D40).
 *               Both hold for the pod as it was seen: if it has changed, the scheduler decides again. Given up where it
 *               no longer stands by it
 *     statuses  repeated until written; only the newest is sent (D61)
 *
 * A pod whose claims wait for their first consumer is bound when they have their volumes: first they are told the node,
 * or volumes that are there already are told of them (sched_claims.c).
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
    bool has_news;   /* something was told since the last round */
    int64_t wake_ms; /* of run_ms: the next round even without news; INT64_MAX: none */
};

void sched_feed_init(struct driver *d);
void sched_feed_done(struct driver *d);
void sched_feed_want(struct driver *d, const struct resource_type *type);

/* News, after the cache had them; but the end of a list before the cache forgets what was listed. */
void sched_feed_event(struct driver *d, const struct cluster_event *ev);
void sched_feed_list_ends(struct driver *d, const struct cluster_event *ev);
void sched_feed_put(struct driver *d, const struct object *o);
void sched_feed_gone(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                     struct str uid);

/* What is known of an object; NULL if that uid is not there. */
const struct sched_known *sched_feed_find(struct driver *d, const struct resource_type *type, struct str namespace,
                                          struct str name, struct str uid);

size_t sched_feed_count(const struct driver *d, const struct resource_type *type);

/* ---- sched_write.c ---- */

void sched_writes_init(struct driver *d);
void sched_writes_done(struct driver *d);

/* Do what was decided. Everything is copied. */
void sched_write_add(struct driver *d, const struct decision *what);

/* For sched_feed.c: there is nothing to be done about it any more. */
void sched_write_object_gone(struct driver *d, const struct resource_type *type, const struct sched_known *object);

/* For controllers.c: the next writes to an object. */
void sched_write_plan(struct driver *d, struct str key_rest, int64_t now_ms, struct plan *plan);

/* For request.c: the answer to such a write. 'e' is NULL if it worked; 'seen' (may be NULL) is the object as it is
 * now. */
void sched_write_answered(struct driver *d, struct str key, enum op_kind kind, const struct err *e,
                          const struct object *seen);

/* A claim has changed: look at those that wait for one. */
void sched_write_claim_told(struct driver *d, struct str namespace);

/* ---- sched_claims.c ---- */

enum claims_state {
    CLAIMS_FINE, /* nothing keeps the pod from being bound */
    CLAIMS_WAIT, /* they are told the node, or know it and their volumes are not there yet */
    CLAIMS_LOST, /* a volume could not be made there (whoever makes them has taken the node off the claim again), or
                    somebody else has it */
    CLAIMS_STATE_MAX,
};

/* The claims of a pod that is to go to 'node'. '*is_told': this was so before; set when they are told. */
enum claims_state sched_claims_plan(struct driver *d, struct str namespace, struct str pod_uid, struct str node,
                                    bool *is_told, struct plan *plan);

/* ---- schedule.c ---- */

void schedule_init(struct driver *d);
void schedule_done(struct driver *d);
bool schedule_turn(struct driver *d);         /* a round, if it is time; true if anything came of it */
bool schedule_flush(struct driver *d);        /* send Events while there is room */
int64_t schedule_due(const struct driver *d); /* when to call them next, in run_ms; INT64_MAX: never */

/* Queue an Event for the object that 'event' (a DECIDE_EVENT) names. It is sent when there is room; when too many wait, it
 * is dropped. */
void schedule_tell(struct driver *d, const struct decision *event);

#endif
