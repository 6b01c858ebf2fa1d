/* run_flows.c - JobFlows of a run: when they are over, and how they are stopped */
#include "api/meta.h"
#include "base/util.h"
#include "cli/run.h"
#include "driver/cache.h"
#include "node/userns/user.h"
#include "store/store.h"

struct flow_walk {
    struct run_flows flows;
    VEC(struct object *) all;
    struct arena *arena;
};

static void look(void *ctx, const struct object *flow)
{
    struct flow_walk *w = ctx;
    struct str phase = json_text(json_find(flow->root, "status", "state", "phase", NULL), STR(""));

    w->flows.n++;
    if (!w->flows.failed && str_is(phase, "Failed"))
        w->flows.failed = flow;
    if (!w->flows.open && !str_is(phase, "Succeed") && !str_is(phase, "Failed"))
        w->flows.open = flow;
    if (w->arena)
        *vec_push(w->arena, &w->all) = object_ref(flow);
}

struct run_flows run_flows(const struct run *r)
{
    struct flow_walk w = { 0 };

    store_list(r->store, known_types()->flow, STR_NULL, look, &w);
    return w.flows;
}

void run_flows_delete(struct run *r)
{
    struct store_delete_options opt = { .grace_s = -1 };
    struct flow_walk w = { .arena = r->arena };

    store_list(r->store, known_types()->flow, STR_NULL, look, &w);
    VEC_FOREACH(flow, &w.all) {
        /* gone already is as good */
        (void)store_delete(r->store, known_types()->flow, (*flow)->namespace, (*flow)->name, &opt, NULL, NULL);
        object_unref(*flow);
    }
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
