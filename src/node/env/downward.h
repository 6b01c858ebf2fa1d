/* downward.h - downward API: values of fieldRef and resourceFieldRef
 *
 * Used by volumes and by environment variables. A value that is not known yet (an address) is an empty string.
 */
#ifndef NODE_DOWNWARD_H
#define NODE_DOWNWARD_H

#include "json/json.h"

/* metadata.name, .namespace, .uid, .labels, .annotations, .labels['x'], .annotations['x'], spec.nodeName,
 * spec.serviceAccountName, status.podIP(s), status.hostIP(s). Whole maps are lines of key="value", sorted by key.
 * ERR_INVALID: another path. The result may be borrowed from the pod. */
int downward_field(struct arena *a, const struct json *pod, struct str path, struct str *ret, struct err *e);

struct downward {
    const struct json *pod;
    struct str container;           /* the default of containerName; may be empty */
    const struct json *allocatable; /* of the node; may be NULL */
};

/* The value of a resourceFieldRef in units of its divisor, rounded up. 'container' is used when the reference names
 * none. An unset request is the limit; an unset limit is the value in 'allocatable' (NULL: 0). */
int downward_resource(struct arena *a, const struct downward *d, const struct json *ref, struct str *ret,
                      struct err *e);

#endif
