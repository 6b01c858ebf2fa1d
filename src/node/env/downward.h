/* downward.h - what a pod may know of itself: fieldRef and resourceFieldRef
 *
 * Used by volumes and by environment variables. What is not known yet (an address) is empty text.
 */
#ifndef NODE_DOWNWARD_H
#define NODE_DOWNWARD_H

#include "json/json.h"

/* metadata.name, .namespace, .uid, .labels, .annotations, .labels['x'], .annotations['x'], spec.nodeName,
 * spec.serviceAccountName, status.podIP(s), status.hostIP(s). Whole maps are lines of key="value", sorted by key.
 * ERR_INVALID for another path. The result may be borrowed from the pod. */
int downward_field(struct arena *a, const struct json *pod, struct str path, struct str *ret, struct err *e);

/* The value of a resourceFieldRef in whole divisors, rounded up. 'container' is meant when the reference names none. A
 * request that is not set is the limit; a limit that is not set is what 'allocatable' says (NULL: 0). */
int downward_resource(struct arena *a, const struct json *pod, const struct json *ref, struct str container,
                      const struct json *allocatable, struct str *ret, struct err *e);

#endif
