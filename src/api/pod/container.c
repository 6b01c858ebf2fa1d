/* container.c - the containers of a pod's spec */
#include "api/pod/container.h"

const char *const container_lists[CONTAINER_LISTS] = { "initContainers", "containers", "ephemeralContainers" };

struct json *container_named(const struct json *spec, struct str name)
{
    CONTAINER_FOREACH(c, spec)
        if (str_eq(json_member_text(c, "name"), name))
            return c;
    return NULL;
}
