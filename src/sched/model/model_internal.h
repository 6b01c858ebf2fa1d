/* model_internal.h - between model.c, count.c and node.c */
#ifndef SCHED_MODEL_MODEL_INTERNAL_H
#define SCHED_MODEL_MODEL_INTERNAL_H

#include "sched/model/model.h"

/* What a pod takes on its node, if it has one: given back, taken. Its state and node stay as they are. */
void pod_off_node(struct sched_model *m, struct sched_pod *p);
void pod_on_node(struct sched_model *m, struct sched_pod *p);

/* count.c: the order of sched_queue.placed */
int group_by_priority(const struct heap_node *x, const struct heap_node *y);

#endif
