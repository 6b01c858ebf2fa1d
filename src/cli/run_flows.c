/* run_flows.c - JobFlows of a run: when they are over, and how they are stopped */
#include "api/meta.h"
#include "base/util.h"
#include "cli/run.h"
#include "driver/cache.h"
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
