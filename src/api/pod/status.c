/* status.c - what the status of an object says */
#include "api/pod/status.h"

const struct json *condition_find(const struct json *status, struct str type)
{
    JSON_FOREACH(c, json_get(status, "conditions"))
        if (str_eq(json_member_text(c, "type"), type))
            return c;
    return NULL;
}

bool condition_is_true(const struct json *status, const char *type)
{
    return str_is(json_member_text(condition_find(status, str_of(type)), "status"), "True");
}

bool pod_has_ended(const struct json *pod)
{
    struct str phase = json_member_text(json_get(pod, "status"), "phase");

    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}
