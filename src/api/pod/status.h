/* status.h - what the status of an object says: its conditions, and whether a pod has ended */
#ifndef API_POD_STATUS_H
#define API_POD_STATUS_H

#include "json/json.h"

/* The condition of that type; NULL: there is none. 'status' is an object's member "status", which may be missing. */
const struct json *condition_find(const struct json *status, struct str type);

/* The same if its status is 'value', such as "True"; else NULL. */
const struct json *condition_with(const struct json *status, const char *type, const char *value);

/* Is there one of that type, and is it "True"? */
bool condition_is_true(const struct json *status, const char *type);

bool pod_is_ready(const struct json *pod); /* condition Ready */

bool pod_has_ended(const struct json *pod); /* phase Succeeded or Failed */
bool pod_phase_has_ended(struct str phase);

/* Is it bound to a node and has not ended? */
bool pod_uses_node(const struct json *pod);

#endif
