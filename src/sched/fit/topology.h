/* topology.h - HyperNodes: which nodes are near each other
 *
 * A tree of domains (topology.volcano.sh/v1alpha1 HyperNode: tier, members by exact name, regular expression or label).
 * A virtual domain over all nodes is the root, one tier above the highest. Nodes are numbered in the order of the tree,
 * so every domain is one range of model.order. Of several domains that claim a node, the one of the lowest tier has it,
 * then the first by name; of several that claim a domain, the first by name. A domain is no member of one of the same
 * or a lower tier, so there are no circles.
 *
 * model_order() does: topology_build(); sort the nodes that exist by (topology_rank, name) and set their index;
 * topology_ranges(). A changed HyperNode sets model.is_unordered. So must a Node that comes, goes, or gets other labels
 * while topology_uses_labels().
 *
 * A domain lives at the same address as long as its HyperNode; the next topology_build() clears the pointers that nodes
 * have to it. 'children' lives until the next topology_build().
 */
#ifndef SCHED_FIT_TOPOLOGY_H
#define SCHED_FIT_TOPOLOGY_H

#include "sched/fit/fit.h"

struct domain {
    struct str name, tier_name; /* the root: both empty */
    int tier;
    struct domain *parent;         /* NULL: the root */
    VEC(struct domain *) children; /* by name */
    struct fit_range range;        /* valid after model_order() */
    uint32_t rank, last;           /* number in the order of the tree (root 0), and the largest below it */
};

struct domain_list {
    VEC(struct domain *) list;
    bool is_hard; /* no others will do */
};

void topology_init(struct sched_model *m);
void topology_done(struct sched_model *m);
void topology_put(struct sched_model *m, const struct json *hypernode);
void topology_gone(struct sched_model *m, struct str name);

/* ---- for model_order() ---- */

void topology_build(struct sched_model *m); /* the tree, and each node's domain */
uint32_t topology_rank(const struct sched_node *n);
void topology_ranges(struct sched_model *m);
bool topology_uses_labels(const struct sched_model *m);

/* ---- asking ---- */

struct domain *topology_root(const struct sched_model *m);

/* Domains a group with this networkTopology may be placed in, smallest tier first, then by name; those without nodes
 * are left out. Hard mode: those of tier <= highestTierAllowed (or the tier called highestTierName; none if no tier
 * is), the root included if its tier is; without a limit, and in soft mode, all of them, the widest last. With 'around'
 * (NULL: nothing): only those that have all of it, which is where a group that runs in 'around' may grow to. */
void topology_candidates(struct sched_model *m, struct arena *a, const struct json *topology, struct domain *around,
                         struct domain_list *ret);

/* Put the domains of one tier in the order of the room they have: where 'asks' fits the fewest times comes first, so
 * that what is left whole is left for those who need it whole. */
struct trial; /* gang.h: for its group, which may tolerate the taints of some nodes */
void topology_tightest_first(const struct trial *t, const struct amounts *asks, struct domain_list *list);

/* The smallest domain that has both. NULL stands for the root, and comes back only if both are NULL. */
struct domain *topology_common(struct domain *a, struct domain *b);
bool topology_has(const struct domain *outer, const struct domain *inner); /* the same one counts; NULL: the root */

/* 'd' widened until it has the node too; NULL: nothing yet. Never NULL. */
struct domain *topology_widen(const struct sched_model *m, struct domain *d, const struct sched_node *n);
/* The smallest domain around the pods that have a place; NULL: none has. It follows from the pods alone, so a scheduler
 * that has just begun knows it too. */
struct domain *topology_of_group(const struct sched_model *m, const struct sched_group *g);

#endif
