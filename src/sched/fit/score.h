/* score.h - how good is a node?
 *
 * Each kind of score is 0 … 100 for a node and looks at that node and the class alone (those that look at other pods
 * are in interpod.h), so nothing has to be compared with other nodes first and a score can be kept. All arithmetic is
 * in whole numbers: the same everywhere.
 */
#ifndef SCHED_FIT_SCORE_H
#define SCHED_FIT_SCORE_H

#include "sched/fit/fit_internal.h"

enum { SCORE_MAX = INT32_MAX / 2 }; /* sums are cut to it */

/* Preferred node affinity, taints and images; weighted. 'parts' (may be NULL) gets each. */
int64_t score_fixed(struct sched_model *m, const struct pod_class *c, struct sched_node *n, int64_t *parts);

/* Packing, spreading, balance; weighted. */
int64_t score_amounts(const int *weights, const struct pod_class *c, const struct sched_node *n, int64_t *parts);

static inline int64_t score_cut(int64_t score)
{
    return score > SCORE_MAX ? SCORE_MAX : score;
}

#endif
