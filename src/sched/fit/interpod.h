/* interpod.h - rules that look at other pods, or at the group: asked for one pod, for many nodes
 *
 * interpod_begin() computes what does not depend on the node (the least crowded domain, the range of raw scores); then
 * each node is a look at counters.
 */
#ifndef SCHED_FIT_INTERPOD_H
#define SCHED_FIT_INTERPOD_H

#include "sched/fit/fit_internal.h"

struct interpod_term {
    const uint32_t *at; /* value by index */
    const struct term *term;
    const struct tallies *counts; /* of it */
};

struct interpod_spread {
    const uint32_t *at;
    const struct spread_rule *rule;
    int32_t *counts; /* by value; -1: no node that counts has it */
    uint32_t n_values;
    int64_t least;
    int self;
};

struct interpod_raw { /* a raw score by index, and its range over all nodes */
    int64_t *v;       /* NULL: nothing to score */
    int64_t low, high;
};

struct interpod_ring { /* the group's domain, then each one around it */
    struct fit_range range;
    int score;
};

struct interpod {
    bool is_on; /* something to ask beyond the view */
    VEC(struct interpod_term) need, avoid, refused;
    bool is_first; /* no pod matches yet and this one would: it may begin anywhere */
    VEC(struct interpod_spread) hard;
    struct interpod_raw like, soft;
    VEC(struct interpod_ring) rings;
    const uint32_t *group_at; /* the queue's node groups; NULL: no rule */
    const bool *group_ok;     /* by value */
    bool none_ok;             /* nodes without a node group */
    int weights[3];           /* like, soft, rings */
    int64_t most;             /* that interpod_score() may give */
};

void interpod_begin(struct sched_model *m, const struct fit_question *q, struct interpod *k);

/* May it go to the node of this index? 'ret_why' may be NULL; the text is constant. */
bool interpod_allows(const struct interpod *k, uint32_t i, struct str *ret_why);
int64_t interpod_score(const struct interpod *k, uint32_t i, int64_t *parts);

#endif
