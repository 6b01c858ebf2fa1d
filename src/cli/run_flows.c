/* run_flows.c - JobFlows of a run: when they are over, and how they are stopped */
#include "api/meta.h"
#include "base/util.h"
#include "cli/run.h"
#include "driver/cache.h"
#include "node/userns/user.h"

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

static bool asks_by_network(const struct json *flow)
{
    JSON_FOREACH(vertex, json_find(flow, "spec", "flows", NULL)) {
        const struct json *probe = json_find(vertex, "dependsOn", "probe", NULL);

        if (json_count(json_get(probe, "httpGetList")) || json_count(json_get(probe, "tcpSocketList")))
            return true;
    }
    return false;
}

void run_tell_probes(const struct load *l, const struct run_say *say)
{
    VEC_FOREACH(doc, &l->docs)
        if (user_is_ordinary() && (*doc)->type == known_types()->flow && asks_by_network((*doc)->root))
            say->say(say->ctx,
                     arena_fmt(l->arena,
                               "JobFlow %.*s: pods of an ordinary user cannot be asked by network from outside; "
                               "what waits for httpGetList or tcpSocketList starts when its targets have "
                               "completed (as root, or with taskStatusList, it need not)",
                               STR_ARG(object_name((*doc)->root))));
}
