/* gang_class.h - gangs that wait and are alike: if there is no place for the first, there is none for those behind it
 *
 * When a cluster is full, thousands of groups wait and few of them differ. Two groups are of one class when nothing
 * that a trial, an admission, an eviction or a reservation looks at tells them apart: queue, priority, phase, minima,
 * templates, pods, wishes about topology. Only a group of which no pod has a place and for which no place is kept can
 * have a class; every other is asked for itself, as is one whose pods have rules about other pods.
 *
 * A round asks the first of a class (order_cmp). If it is refused, no other of the class is asked; if it is let in,
 * the next is first. So what an event costs follows the number of classes, not of groups. Two things tell members apart
 * and are asked for apart: their age, by which the first is first, and how long they say they run, by which one of them
 * may use seats that are kept for another group (gang_class_shortest).
 *
 * A member waits for the same as the first. Members are asked for the sake of the answer as long as they are
 * few; of many some in each round, in turn (gang_class_next_behind).
 *
 * A group that is marked as changed (model_touch) leaves its class at once, and the round that looks at it finds its
 * class again: no member differs from what the class was made from.
 */
#ifndef SCHED_GANG_GANG_CLASS_H
#define SCHED_GANG_GANG_CLASS_H

#include "sched/model/model.h"

struct group_list {
    VEC(struct sched_group *) list;
};

struct gang_class {
    struct str key;              /* all of the above, as text; behind the struct */
    uint64_t id;                 /* no other class ever has the same; in the order in which they were made */
    struct list_link link;       /* gang_classes.all, or parked */
    struct list_link in_inqueue; /* gang_classes.inqueue */
    struct heap members;         /* gang_member.in_class, by order_cmp() */
    struct heap by_runtime;      /* gang_member.by_runtime: those that say how long they run, the shortest first */
    struct amounts needs;        /* gang_needs() of each member … */
    int64_t lacks;               /* … for so many pods */
    const struct pod_class
        *pod;           /* all its pods are of this class, and nothing else decides about their places (prefilter.c);
                             NULL: not so */
    bool has_pods;      /* that exist, enough for the minimum */
    uint64_t futile;    /* as group_findings.futile, of any member */
    uint32_t pins;      /* it stays, though empty */
    uint32_t parked_at; /* its place in sched_queue.parked (parked.h), plus 1; 0: it is not parked */
};

struct gang_classes { /* in the model */
    struct map by_key;
    uint64_t n_made;       /* classes ever made */
    struct list all;       /* struct gang_class.link, but not those that are … */
    struct list parked;    /* … here (parked.h) */
    uint64_t n_walks;      /* rounds that walked those (skip.c) */
    struct list inqueue;   /* struct gang_class.in_inqueue: those whose members were let in */
    struct list alone;     /* gang_member.in_alone: groups that wait and have no class */
    struct list behind;    /* gang_member.in_behind: all members, the one asked longest ago first */
    struct heap on_credit; /* gang_member.by_admission: members that were let in without places, the oldest first */
    uint32_t n_members;
    struct buf text;
};

void gang_classes_init(struct sched_model *m);
void gang_classes_done(struct sched_model *m); /* after all groups were freed */

/* Put a group where it belongs as it is now: into its class or among those alone if it waits (model.waiting), else
 * nowhere. */
void gang_class_sort(struct sched_model *m, struct sched_group *g);
void gang_class_leave(struct sched_model *m, struct sched_group *g); /* it may have changed: alone until it is sorted */
void gang_class_set_apart(struct sched_model *m,
                          struct sched_group *g); /* places are kept for it: alone, else as it was */
void gang_class_sort_all(struct sched_model *m);  /* the classes of pods are others: class_relabel() */

/* Those that a round must look at: all that are alone, and the first of each class that is not parked. */
void gang_leaders(const struct sched_model *m, struct arena *a, struct group_list *ret);
bool gang_leads(const struct sched_group *g);

struct sched_group *gang_class_first(const struct gang_class *c);    /* NULL: it is empty, and pinned */
struct sched_group *gang_class_shortest(const struct gang_class *c); /* NULL: none says how long it runs */

/* The member that was asked longest ago; it goes to the end of the line. NULL: there are none. */
struct sched_group *gang_class_next_behind(struct sched_model *m);
bool gang_classes_are_told(const struct sched_model *m); /* everybody was asked since there was more room */

/* The member whose admission on credit is the oldest; NULL: there is none. */
struct sched_group *gang_class_oldest_on_credit(const struct sched_model *m);

/* What is the same for all of its class: also of one that stands apart. NULL: it has no class. */
static inline const struct gang_class *gang_facts(const struct sched_group *g)
{
    return g->gang.alike ? g->gang.alike : g->gang.kin;
}

/* Keep a class while it is looked at, whatever becomes of its members. NULL is fine. */
struct gang_class *gang_class_pin(struct gang_class *c);
void gang_class_unpin(struct sched_model *m, struct gang_class *c);

#endif
