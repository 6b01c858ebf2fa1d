/* gate.c - the scheduling gate behind which pods wait for their queue */
#include "api/pod/gate.h"

#include "api/meta.h"

bool queue_gate_is_wanted(const struct json *pod)
{
    return str_is(object_annotation(pod, QUEUE_GATE), "true");
}

static bool is_queue_gate(const struct json *gate)
{
    return str_is(json_member_text(gate, "name"), QUEUE_GATE);
}

bool queue_gate_is_last(const struct json *pod)
{
    const struct json *gates = json_find(pod, "spec", "schedulingGates", NULL);

    return json_count(gates) == 1 && is_queue_gate(json_first(gates));
}

void queue_gate_add(struct arena *a, struct json *pod)
{
    struct json *spec = json_get(pod, "spec"), *gates = json_get(spec, "schedulingGates");

    if (!json_is(spec, JSON_OBJECT))
        return;
    JSON_FOREACH(gate, gates)
        if (is_queue_gate(gate))
            return;
    if (!json_is(gates, JSON_ARRAY))
        gates = json_set(spec, "schedulingGates", json_array(a));
    json_add(json_push(gates, json_object(a)), STR("name"), json_str(a, STR(QUEUE_GATE)));
}
