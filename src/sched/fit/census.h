/* census.h - how many nodes refuse a class of pods, and for which causes
 *
 * "0/1000 nodes are available: 998 Insufficient cpu, 2 node(s) were unschedulable" is asked again and again while a
 * cluster is full and hardly anything changes. A census belongs to a view (view.h), which tells it of the nodes that
 * changed: the answer costs as much as they do. Rules about other pods, and parts of the cluster, are counted node by
 * node.
 */
#ifndef SCHED_FIT_CENSUS_H
#define SCHED_FIT_CENSUS_H

#include "sched/fit/fit.h"

struct census;
enum { CENSUS_BYTES = 5 }; /* for each node, about */

struct census *census_new(struct sched_model *m, const struct pod_class *c, enum fit_room room); /* of all nodes */
void census_free(struct census *s);                                                              /* NULL is fine */
void census_update(struct sched_model *m, struct census *s, const struct pod_class *c, enum fit_room room,
                   uint32_t index); /* this node changed */

#endif
