/* amount.c - resources as the simulation counts them, on its own */
#include "world.h"

#include "api/meta.h"
#include "api/quantity.h"

const char *const res_names[RES_MAX] = { "cpu", "memory", "nvidia.com/gpu", "pods" };
const char *const priority_names[] = { "low", "mid", "high" };
static const int32_t priority_values[N_PRIORITIES] = { 10, 100, 1000 };

int32_t priority_of(struct str class_name)
{
    for (int i = 0; i < N_PRIORITIES; i++)
        if (str_is(class_name, priority_names[i]))
            return priority_values[i];
    return 0;
}

struct amount amount_from_json(const struct json *list, int64_t fallback)
{
    struct amount ret;
    struct quantity q;

    for (int i = 0; i < RES_MAX; i++) {
        struct str text = json_member_text(list, res_names[i]);

        ret.v[i] = fallback;
        if (!str_empty(text) && quantity_parse(text, &q, NULL) == 0)
            ret.v[i] = i == RES_CPU ? quantity_milli(q) : quantity_units(q);
    }
    return ret;
}

void amount_add(struct amount *to, const struct amount *more, int64_t times)
{
    for (int i = 0; i < RES_MAX; i++)
        to->v[i] += more->v[i] * times;
}

/* The simulation's pods have plain containers with requests, and nothing else that counts. */
struct amount amount_of_pod(const struct json *pod)
{
    struct amount sum = { .v = { [RES_PODS] = 1 } };

    JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL)) {
        struct amount one = amount_from_json(json_find(c, "resources", "requests", NULL), 0);

        amount_add(&sum, &one, 1);
    }
    return sum;
}

bool is_protected_from_eviction(const struct json *object)
{
    return str_is(object_annotation(object, "volcano.sh/preemptable"), "false");
}
