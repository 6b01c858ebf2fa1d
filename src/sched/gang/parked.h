/* parked.h - gangs that the nodes or their queue refused, in the order of service, with the few numbers that decide about them
 *
 * When a cluster is full, most rounds refuse most gangs as the round before did. The first of a class (gang_class.h)
 * that was refused for want of room or of share, and of which nothing but its size decides whether it is refused again,
 * is *parked*: its numbers lie in one array of its queue, by order_cmp(). A round compares those numbers with the free
 * room and with what the queue may have (skip.h), and asks the gang itself only when the answer may be another one.
 *
 * A class is parked only while its members stay: gang_class.c unparks it before a group joins or leaves it. Notes that a
 * round would have made on the group while it was passed over are in its entry, and are copied to the group when it is
 * unparked.
 */
#ifndef SCHED_GANG_PARKED_H
#define SCHED_GANG_PARKED_H

#include "sched/gang/gang_class.h"

enum { PARKED_DIMS = 4 }; /* a gang whose pods ask for more resources is not parked */

struct parked {
    struct gang_class *class;             /* NULL: it is no longer parked … */
    uint64_t gone;                        /* … since this walk (gang_classes.n_walks) */
    struct sched_group *first;            /* of the class */
    int64_t lacks;                        /* pods that need places together */
    int64_t runtime_ms;                   /* the shortest that a member says it runs; 0: none says it */
    int64_t told_until_ms;                /* until then its reason to wait is not reported again */
    int64_t asked_ms;                     /* evict_asked_ms() */
    uint64_t round;                       /* model.round when it was last refused, asked or not */
    uint64_t again;                       /* … in which it is to be served beyond the share of its queue */
    uint64_t tried, tried_yields, hunted; /* as in group_findings … */
    int64_t hunt_ms, retry_ms;            /* … and sched_group */
    int32_t priority;
    uint32_t wants; /* bit d: the whole group asks for dimension d */
    bool is_ahead;  /* of the group, which was not told of what changes here: parked_note() */
    bool is_stuck;  /* as group_findings.is_stuck */
    bool never_preempts;
    int8_t kind;  /* of its answer (why.kind) … */
    int8_t dim;   /* … and why.dim … */
    uint8_t up;   /* … the queue that refused it was so many above its own, plus 1; 0: the group knows … */
    int64_t have; /* … and had so much left */
    uint8_t n;    /* resources that its pods ask for: */
    uint8_t dims[PARKED_DIMS];
    int64_t ask[PARKED_DIMS], needs[PARKED_DIMS]; /* of one pod; of all it lacks */
};

struct parked_list { /* sched_queue.parked */
    size_t n, cap, n_gone;
    size_t next;    /* the first that was not passed yet … */
    uint64_t round; /* … in this round (model.round) */
    struct parked v[];
};

/* Park these classes, whose first members are of one queue and come in order_cmp() order. 'fill' sets all numbers of an
 * entry but class and first. */
void parked_add(struct sched_model *m, struct sched_queue *q, const struct group_list *groups,
                void (*fill)(const struct sched_model *m, const struct sched_group *g, struct parked *ret));
void gang_class_unpark(struct sched_model *m, struct gang_class *c); /* nothing happens if it is not parked */
void parked_note(const struct sched_model *m, struct parked *p);     /* on its group: what rounds found out */
struct parked *parked_of(const struct gang_class *c);                /* NULL: it is not parked */

/* The first entry from 'from' on that is served after 'g'. */
size_t parked_after(const struct parked_list *l, size_t from, const struct sched_group *g);

#endif
