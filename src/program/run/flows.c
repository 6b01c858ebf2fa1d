/* flows.c - JobFlows of a run: when they are over, and how they are stopped */
#include "program/run/flows.h"

#include "api/meta.h"
#include "base/util.h"
#include "program/run/ending.h"
#include "program/run/run.h"
#include "driver/cache.h"

void run_flows_seen(struct run *r, const struct object *flow, bool is_gone)
{
    if (is_gone)
        object_unref(map_remove(&r->flows, flow->uid));
    else
        object_unref(map_put(&r->flows, flow->uid, object_ref(flow)));
}

struct run_flows run_flows(const struct run *r)
{
    struct run_flows flows = { 0 };

    MAP_FOREACH(const struct object *, flow, &r->flows) {
        struct str phase = json_text(json_find(flow->root, "status", "state", "phase", NULL), STR(""));

        flows.n++;
        if (!flows.failed && str_is(phase, "Failed"))
            flows.failed = flow;
        if (!flows.open && !str_is(phase, "Succeed") && !str_is(phase, "Failed"))
            flows.open = flow;
    }
    return flows;
}

void run_flows_delete(struct run *r)
{
    MAP_FOREACH(const struct object *, flow, &r->flows)
        run_delete(r, known_types()->flow, flow->namespace, flow->name, flow->uid);
}

void run_flows_done(struct run *r)
{
    MAP_FOREACH(struct object *, flow, &r->flows)
        object_unref(flow);
    map_done(&r->flows);
}
