/* status.c - what the status of an object says */
#include "api/pod/status.h"

const struct json *condition_find(const struct json *status, struct str type)
{
    JSON_FOREACH(c, json_get(status, "conditions"))
        if (str_eq(json_member_text(c, "type"), type))
            return c;
    return NULL;
}

const struct json *condition_with(const struct json *status, const char *type, const char *value)
{
    const struct json *c = condition_find(status, str_of(type));

    return str_is(json_member_text(c, "status"), value) ? c : NULL;
}

bool condition_is_true(const struct json *status, const char *type)
{
    return condition_with(status, type, "True");
}

bool pod_is_ready(const struct json *pod)
{
    return condition_is_true(json_get(pod, "status"), "Ready");
}

bool pod_phase_has_ended(struct str phase)
{
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

bool pod_has_ended(const struct json *pod)
{
    return pod_phase_has_ended(json_member_text(json_get(pod, "status"), "phase"));
}

bool pod_uses_node(const struct json *pod)
{
    return json_member_text(json_get(pod, "spec"), "nodeName").n && !pod_has_ended(pod);
}
