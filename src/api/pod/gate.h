/* gate.h - the scheduling gate behind which pods wait for their queue
 *
 * A pod that has the annotation is created with the scheduling gate of the same name. Cluster autoscalers do not look at
 * pods with gates. The scheduler removes the gate when the pod's queue has room for it, whether a node has or not: what
 * is Unschedulable after that lacks a node, and a new one helps.
 */
#ifndef API_POD_GATE_H
#define API_POD_GATE_H

#include "json/json.h"

#define QUEUE_GATE "scheduling.volcano.sh/queue-allocation-gate" /* the gate; the annotation is "true" */

bool queue_gate_is_wanted(const struct json *pod); /* it has the annotation */
bool queue_gate_is_last(const struct json *pod);   /* it has this gate and no other */

/* Add the gate, unless the pod has it already. */
void queue_gate_add(struct arena *a, struct json *pod);

#endif
