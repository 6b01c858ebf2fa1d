/* qos.c - how much a pod asked for: Guaranteed, Burstable, BestEffort */
#include "api/pod/qos.h"

#include "api/quantity.h"
#include "base/util.h"

static const char *const counted[] = { "cpu", "memory" };

struct qos_sums {
    struct quantity requests[ARRAY_LEN(counted)], limits[ARRAY_LEN(counted)];
    bool has_any, all_limited; /* every container has both limits */
};

/* false: there is none, or it is zero. */
static bool qos_amount(const struct json *resources, const char *list, const char *name, struct quantity *ret)
{
    const struct json *value = json_find(resources, list, name, NULL);
    autobuf number = { 0 };
    struct str text = json_text(value, STR_NULL);

    if (json_is(value, JSON_NUMBER)) { /* "cpu: 2" in a manifest */
        json_print(&number, value);
        text = buf_view(&number);
    }
    return quantity_parse(text, ret, NULL) == 0 && ret->nano > 0;
}

static void qos_add_container(struct qos_sums *s, const struct json *resources)
{
    for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
        struct quantity q;
        bool is_limited = qos_amount(resources, "limits", counted[i], &q);

        if (is_limited)
            s->limits[i] = quantity_add(s->limits[i], q);
        s->all_limited &= is_limited;
        s->has_any |= is_limited;
        /* A limit stands in for a request that is not there, as the API server fills it in. */
        if (qos_amount(resources, "requests", counted[i], &q) || qos_amount(resources, "limits", counted[i], &q)) {
            s->requests[i] = quantity_add(s->requests[i], q);
            s->has_any = true;
        }
    }
}

const char *pod_qos(const struct json *pod_spec)
{
    struct qos_sums s = { .all_limited = true };
    bool is_equal = true;

    JSON_FOREACH(c, json_get(pod_spec, "initContainers"))
        qos_add_container(&s, json_get(c, "resources"));
    JSON_FOREACH(c, json_get(pod_spec, "containers"))
        qos_add_container(&s, json_get(c, "resources"));
    if (!s.has_any)
        return "BestEffort";
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        is_equal &= quantity_cmp(s.requests[i], s.limits[i]) == 0;
    return s.all_limited && is_equal ? "Guaranteed" : "Burstable";
}
