/* container.h - the containers of a pod's spec, which stand in three lists */
#ifndef API_POD_CONTAINER_H
#define API_POD_CONTAINER_H

#include "json/json.h"

enum { CONTAINER_LISTS = 3 };

/* "initContainers", "containers", "ephemeralContainers": in the order in which they start. */
extern const char *const container_lists[CONTAINER_LISTS];

/* Each of all lists. A break leaves one list only. */
#define CONTAINER_FOREACH(c, spec)                                                                                     \
    for (size_t c##_list = 0; c##_list < CONTAINER_LISTS; c##_list++)                                                  \
        JSON_FOREACH(c, json_get((spec), container_lists[c##_list]))

/* A name is in one list at most. NULL: in none. */
struct json *container_named(const struct json *spec, struct str name);

#endif
