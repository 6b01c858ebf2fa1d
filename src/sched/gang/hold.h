/* hold.h - places that are kept for a group
 *
 * Three situations, one means: a group that was admitted waits for its pods to be made; a group for which pods are
 * being evicted waits for them to go; a gang that has waited long waits for running pods to end (reservation). In each,
 * seats for the whole missing minimum are chosen and held: no other group can be placed there. When everything a seat
 * needs is free, the group is placed like any other, and the hold ends.
 *
 * The bound: a reservation is made at the latest reserve_after_ms after the gang came to the head of its queue. From
 * then on nothing new is placed on its seats, so it starts when the pods that ran there at that moment have ended,
 * whatever arrives in the meantime.
 */
#ifndef SCHED_GANG_HOLD_H
#define SCHED_GANG_HOLD_H

#include "sched/gang/gang.h"

enum hold_kind { HOLD_ADMITTED, HOLD_EVICTING, HOLD_RESERVED };

struct hold_seat {
    struct sched_role *role;
    const struct pod_class *class; /* one use is counted */
    struct sched_node *node;
};

struct hold {
    uint64_t id;           /* no other hold ever has the same */
    struct list_link link; /* model.kept */
    struct sched_group *group;
    struct sched_queue *queue; /* of the group, when it was made */
    enum hold_kind kind;
    int64_t free_ms;                   /* when the last pod in its way has said it ends; 0: not known */
    bool is_held;                      /* false while it is lifted */
    struct list_link in_lifted;        /* model.lifted: it is lifted, and its nodes still hold the seats */
    bool is_new;                       /* made since its group was last asked */
    bool is_over;                      /* beyond its queue's share: those within theirs go first */
    const struct sched_queue *stopper; /* the queue whose limit stops its group for now: others may use the seats */
    struct amounts sum;                /* of all seats */
    uint64_t node_gen;                 /* model.node_gen when it was last found valid */
    uint32_t n;
    struct hold_seat seats[]; /* those on one node follow each other */
};

/* Keep the seats of a trial (which is undone by this) for its group. An older hold of the group ends. */
struct hold *hold_new(struct sched_model *m, struct trial *t, enum hold_kind kind);
void hold_drop(struct sched_model *m, struct sched_group *g); /* nothing happens if it has none */

/* Release the seats for a moment, and take them again. The queue's numbers change at once. The nodes' numbers change
 * only in holds_settle(), before a trial: most callers only count the places, so the nodes need not be restored. */
void hold_lift(struct sched_model *m, struct hold *c);
void hold_put_back(struct sched_model *m, struct hold *c);
void holds_settle(struct sched_model *m); /* now: before anything looks at what is free on nodes */

/* What the nodes still hold though it was lifted, node by node; with 'all' also what is kept and not lifted
 * (model.kept). Valid until the next hold comes or goes, or the next few calls. */
struct hold_part {
    struct sched_node *node;
    struct amounts sum;
};
enum { HOLD_SETS = 16 };
struct hold_parts {
    uint64_t key; /* of the holds it is made of; 0: none */
    struct hold_part *v;
    uint32_t n, cap;
};
const struct hold_parts *holds_parts(struct sched_model *m, bool all);
void holds_done(struct sched_model *m); /* after all groups were freed */

/* Are all its nodes still there, and open to it? Cheap while no Node changed. */
bool hold_is_valid(struct sched_model *m, struct hold *c);

/* When the pods on its nodes say they end (annotation pumice.dev/runtime); 0: some do not say. */
int64_t hold_free_ms(const struct hold *c);

/* Victims that are still on its nodes. */
int64_t hold_victims(const struct hold *c);
bool hold_has_victims(const struct hold *c); /* and was made for them; NULL: no */

/* The first hold that keeps something of what this queue, or one below it, may have; not that of 'but'. NULL: none. */
const struct hold *hold_keeper(const struct sched_model *m, const struct sched_queue *q, const struct sched_group *but);

/* Is everything free that it keeps (as held)? */
bool hold_is_free(const struct sched_model *m, const struct hold *c);

#endif
