/* task_topology.h - tasks of one job that belong together, or apart
 *
 * Annotations of the PodGroup name roles: volcano.sh/task-topology-affinity "ps,worker;chief" (a group of roles that
 * should share nodes; one role alone: its own pods), volcano.sh/task-topology-anti-affinity the same for roles that
 * should not, and volcano.sh/task-topology-task-order "ps,worker" who is placed first. An annotation that names an
 * unknown role, or one twice, says nothing. These are wishes: a pod that finds no better node still gets one.
 */
#ifndef SCHED_GANG_TASK_TOPOLOGY_H
#define SCHED_GANG_TASK_TOPOLOGY_H

#include "sched/gang/gang_internal.h"

struct task_topology;

/* NULL: the group has no such wishes. */
struct task_topology *task_topology_read(struct arena *a, const struct sched_group *g);

/* Place in the order of tasks; roles that are not named come last. */
int task_topology_order(const struct task_topology *n, const struct sched_role *role);

/* The best node when wishes count too; NULL: none fits. */
struct sched_node *task_topology_best(const struct task_topology *n, const struct gang_work *w, const struct slot *s,
                                      enum fit_room room);

#endif
