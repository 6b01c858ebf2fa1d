/* taint.h - taints of nodes and tolerations of pods */
#ifndef API_TAINT_H
#define API_TAINT_H

#include "json/json.h"

enum { TAINT_HARD = 1, TAINT_SOFT = 2 }; /* NoSchedule and NoExecute; PreferNoSchedule */

/* Does one of the tolerations cover it? */
bool taint_is_tolerated(const struct json *taint, const struct json *tolerations);

/* The first taint with one of these effects that no toleration covers; NULL: none. */
const struct json *taint_untolerated(const struct json *taints, const struct json *tolerations, int effects);
int taint_count(const struct json *taints, const struct json *tolerations, int effects); /* all of them */

/* Is the taint {node.kubernetes.io/unschedulable: NoSchedule} tolerated, which stands for spec.unschedulable? */
bool tolerates_unschedulable(const struct json *tolerations);

#endif
