/* taint.c - which taints a pod tolerates */
#include "api/pod/taint.h"

#include "base/util.h"

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

/* The first that does; NULL: none. */
static const struct json *toleration_of(const struct json *tolerations, struct str key, struct str value,
                                        struct str effect)
{
    JSON_FOREACH(t, tolerations)
        if (tolerates(t, key, value, effect))
            return t;
    return NULL;
}

static const struct json *toleration_of_taint(const struct json *tolerations, const struct json *taint)
{
    return toleration_of(tolerations, json_member_text(taint, "key"), json_member_text(taint, "value"),
                         json_member_text(taint, "effect"));
}

bool taint_is_tolerated(const struct json *taint, const struct json *tolerations)
{
    return toleration_of_taint(tolerations, taint);
}

int64_t taint_tolerated_s(const struct json *taints, const struct json *tolerations)
{
    int64_t least = INT64_MAX;

    JSON_FOREACH(taint, taints) {
        const struct json *by, *seconds;

        if (!str_is(json_member_text(taint, "effect"), "NoExecute"))
            continue;
        by = toleration_of_taint(tolerations, taint);
        seconds = json_get(by, "tolerationSeconds");
        if (!by)
            return 0;
        if (json_is(seconds, JSON_NUMBER))
            least = MIN_OF(least, MAX_OF(json_i64(seconds, 0), 0));
    }
    return least;
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
    return toleration_of(tolerations, STR("node.kubernetes.io/unschedulable"), STR(""), STR("NoSchedule"));
}
