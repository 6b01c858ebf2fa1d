/* status.h - what the status of an object says: its conditions, and whether a pod has ended */
#ifndef API_POD_STATUS_H
#define API_POD_STATUS_H

#include "json/json.h"

/* The condition of that type; NULL: there is none. 'status' is an object's member "status", which may be missing. */
const struct json *condition_find(const struct json *status, struct str type);

/* Is there one of that type, and is it "True"? */
bool condition_is_true(const struct json *status, const char *type);

/* Its phase is Succeeded or Failed. */
bool pod_has_ended(const struct json *pod);

#endif
