/* taint.h - taints of nodes and tolerations of pods */
#ifndef API_POD_TAINT_H
#define API_POD_TAINT_H

#include "json/json.h"

enum { TAINT_HARD = 1, TAINT_SOFT = 2 }; /* NoSchedule and NoExecute; PreferNoSchedule */

/* Does one of the tolerations cover it? */
bool taint_is_tolerated(const struct json *taint, const struct json *tolerations);

/* The first taint with one of these effects that no toleration covers; NULL: none. */
const struct json *taint_untolerated(const struct json *taints, const struct json *tolerations, int effects);
int taint_count(const struct json *taints, const struct json *tolerations, int effects); /* all of them */

/* For how long a pod may stay on a node with these taints: what is shortest of the tolerationSeconds that cover those with
 * the effect NoExecute. 0: one of them is not tolerated. INT64_MAX: as long as it likes. */
int64_t taint_tolerated_s(const struct json *taints, const struct json *tolerations);

/* Is the taint {node.kubernetes.io/unschedulable: NoSchedule} tolerated, which stands for spec.unschedulable? */
bool tolerates_unschedulable(const struct json *tolerations);

#endif
