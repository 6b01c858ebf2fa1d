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
 * A domain lives at the same address as long as its HyperNode; when that goes, the next topology_build() clears the
 * pointers that nodes and groups have to it. 'children' lives until the next topology_build().
 */
#ifndef SCHED_TOPOLOGY_H
#define SCHED_TOPOLOGY_H

#include "sched/fit.h"

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
struct domain *topology_find(const struct sched_model *m, struct str name); /* NULL: no such HyperNode */

/* Domains a group with this networkTopology may be placed in, smallest tier first, then by name; those without nodes are
 * left out. Hard mode: those of tier <= highestTierAllowed (or the tier called highestTierName; none if no tier is), the
 * root included if its tier is; without a limit, and in soft mode, all of them, the widest last. 'within' (NULL: the
 * root) and what is below it only. Without a networkTopology: 'within' alone. */
void topology_candidates(struct sched_model *m, struct arena *a, const struct json *topology, struct domain *within,
                         struct domain_list *ret, bool *ret_is_hard);

/* The smallest domain that has both. NULL stands for the root, and comes back only if both are NULL. */
struct domain *topology_common(struct domain *a, struct domain *b);
bool topology_has(const struct domain *outer, const struct domain *inner); /* the same one counts; NULL: the root */

#endif
