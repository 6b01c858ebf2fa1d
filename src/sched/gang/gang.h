/* gang.h - places for a whole gang, or none: a trial that can be undone
 *
 * A trial takes places on nodes one by one (node_take) and remembers them. The caller ends it: trial_undo() gives
 * everything back, place.c turns it into bindings, hold_new() into places that are kept.
 */
#ifndef SCHED_GANG_GANG_H
#define SCHED_GANG_GANG_H

#include "sched/fit/fit.h"
#include "sched/fit/topology.h"

struct slot;

struct seat {
    struct sched_pod *pod; /* NULL: a pod of the role that does not exist yet */
    struct sched_role *role;
    const struct pod_class *class;
    struct sched_node *node;
    bool is_extra;     /* beyond the minimum */
    struct slot *slot; /* gang.c */
};

struct trial {
    struct sched_model *m; /* these three are set by the caller of gang_try() */
    struct sched_group *group;
    struct arena *arena;
    VEC(struct seat) seats;
    struct amounts sum;    /* of all seats */
    int64_t n_min;         /* seats that count for the minimum */
    struct domain *domain; /* the one chosen, when the group has a topology */
};

struct gang_options {
    enum fit_room room;
    enum gang_limit { GANG_NO_LIMIT, GANG_FAIR, GANG_LIMIT } limit; /* the queue's */
    bool is_virtual; /* places for pods to come, from the templates, where pods are missing */
    bool has_extras; /* also pods beyond the minimum, as far as they fit */
    bool is_unkept;  /* as if nothing were kept for those who wait: only for gang_prefilter() */
    bool is_brief;   /* a refusal without the causes of each node will do (why.is_brief) */
    bool shows;      /* pods report the seats of this trial; the others only ask "what if" */
};

/* Try to place what the group of the trial lacks for its minimum: first each role's own minimum, then the rest in the
 * order of task priority and index. True: the gang stands with these places. False: everything was given back, and
 * '*ret_why' (may be NULL) says what was missing. */
bool gang_try(struct trial *t, const struct gang_options *opt, struct why *ret_why);

/* What gang_try() would say, by counting (prefilter.c): far cheaper, where it can be said. A refusal comes with
 * '*ret_why' (may be NULL), without the causes of each node. */
enum gang_answer { GANG_UNKNOWN, GANG_FITS, GANG_REFUSED };
enum gang_answer gang_prefilter(struct sched_model *m, struct sched_group *g, const struct gang_options *opt,
                                struct arena *a, struct why *ret_why);

/* The causes that a brief refusal left out, as things are now. */
void gang_complete(struct sched_model *m, struct sched_group *g, struct arena *a, struct why *why);

struct share_refusal;                                                   /* share.h */
void gang_say_refusal(const struct share_refusal *no, struct why *ret); /* kind, dim, have, queue */

void trial_undo(struct trial *t);

/* A seat of a trial, by hand. */
void seat_take(struct sched_model *m, struct sched_node *n, const struct pod_class *class);
void seat_give(struct sched_model *m, struct sched_node *n, const struct pod_class *class);

/* What the missing part of the minimum asks for. */
void gang_needs(struct sched_model *m, const struct sched_group *g, struct arena *a, struct amounts *ret);

#endif
