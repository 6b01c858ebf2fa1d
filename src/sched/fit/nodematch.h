/* nodematch.h - node selectors: labels and names of nodes against written rules
 *
 * The rules of nodeSelector, nodeAffinity and of volumes (nodeSelectorTerms), compiled once. Semantics are those of
 * Kubernetes: terms are alternatives, the requirements of a term all hold, a term without requirements matches nothing,
 * NotIn and DoesNotExist match where the label is missing, Gt and Lt need whole numbers on both sides.
 */
#ifndef SCHED_FIT_NODEMATCH_H
#define SCHED_FIT_NODEMATCH_H

#include "sched/model/model.h"

struct node_rule;

/* { key: value, … } and { nodeSelectorTerms: [{matchExpressions, matchFields}] }; both must hold; either may be NULL.
 * NULL when neither says anything. The text of the trees is borrowed. */
struct node_rule *node_rule_new(struct arena *a, const struct json *selector, const struct json *required);

/* One term, as in a preference. NULL when it is empty: it says nothing. */
struct node_rule *node_rule_term(struct arena *a, const struct json *term);

/* Let it look at labels by number instead of by text: 10 times as fast for many nodes. Does nothing once there are very
 * many label keys. node_rule_ready() before many nodes are asked. NULL is fine. */
void node_rule_bind(struct sched_model *m, struct node_rule *r);
void node_rule_ready(struct sched_model *m, const struct node_rule *r);

bool node_rule_matches(const struct node_rule *r, const struct sched_node *n); /* NULL matches everything */

#endif
