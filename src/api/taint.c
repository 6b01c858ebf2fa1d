/* taint.c - which taints a pod tolerates */
#include "api/taint.h"

static int effect_of(struct str effect)
{
    if (str_is(effect, "NoSchedule") || str_is(effect, "NoExecute"))
        return TAINT_HARD;
    return str_is(effect, "PreferNoSchedule") ? TAINT_SOFT : 0;
}

/* Empty effect: every effect. Empty key: every key, but only with Exists. */
static bool tolerates(const struct json *toleration, struct str key, struct str value, struct str effect)
{
    struct str op = json_member_text(toleration, "operator"), its_key = json_member_text(toleration, "key"),
               its_effect = json_member_text(toleration, "effect");
    bool needs_value = str_empty(op) || str_is(op, "Equal");

    if (!str_empty(its_effect) && !str_eq(its_effect, effect))
        return false;
    if (!str_empty(its_key) && !str_eq(its_key, key))
        return false;
    if (str_empty(its_key) && needs_value)
        return false;
    if (needs_value)
        return str_eq(json_member_text(toleration, "value"), value);
    return str_is(op, "Exists");
}

static bool is_tolerated(const struct json *tolerations, struct str key, struct str value, struct str effect)
{
    JSON_FOREACH(t, tolerations)
        if (tolerates(t, key, value, effect))
            return true;
    return false;
}

bool taint_is_tolerated(const struct json *taint, const struct json *tolerations)
{
    return is_tolerated(tolerations, json_member_text(taint, "key"), json_member_text(taint, "value"),
                        json_member_text(taint, "effect"));
}

static bool is_untolerated(const struct json *taint, const struct json *tolerations, int effects)
{
    return (effect_of(json_member_text(taint, "effect")) & effects) && !taint_is_tolerated(taint, tolerations);
}

const struct json *taint_untolerated(const struct json *taints, const struct json *tolerations, int effects)
{
    JSON_FOREACH(t, taints)
        if (is_untolerated(t, tolerations, effects))
            return t;
    return NULL;
}

int taint_count(const struct json *taints, const struct json *tolerations, int effects)
{
    int n = 0;

    JSON_FOREACH(t, taints)
        n += is_untolerated(t, tolerations, effects);
    return n;
}

bool tolerates_unschedulable(const struct json *tolerations)
{
    return is_tolerated(tolerations, STR("node.kubernetes.io/unschedulable"), STR(""), STR("NoSchedule"));
}
