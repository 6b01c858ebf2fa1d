/* embedded.c - the promises of a cluster, tried on cluster_embedded and on cluster_sim without faults */
#include "cluster/test/sim_net.h"
#include "cluster/test/conformance.h"
#include "store/store.h"

#include "base/util.h"

struct inner {
    struct store *store;
    struct sim_net *net;
};

static struct inner *inner_of(const struct conformance_world *w)
{
    return w->inner;
}

static void begin(struct conformance_world *w)
{
    struct store_options opt = { .seed = 3, .clock = &w->clock.clock };

    w->inner = xcalloc(1, sizeof(struct inner));
    w->namespace = STR("default");
    inner_of(w)->store = store_new(&opt);
}

static void begin_embedded(struct conformance_world *w)
{
    begin(w);
    w->cluster = cluster_embedded_new(inner_of(w)->store, &w->clock.clock);
}

static void begin_sim(struct conformance_world *w)
{
    struct sim_options sim = { .clock = &w->clock, .seed = 1 };

    begin(w);
    sim.store = inner_of(w)->store;
    inner_of(w)->net = sim_net_new(&sim);
    w->cluster = cluster_sim_new(inner_of(w)->net, 0);
}

static void end(struct conformance_world *w)
{
    sim_net_free(inner_of(w)->net);
    store_free(inner_of(w)->store);
    free(w->inner);
}

static void put(struct conformance_world *w, const struct json *body)
{
    struct err e = { 0 };

    if (store_create(inner_of(w)->store, body, NULL, &e) < 0)
        abort();
}

/* It does not look while the gap is on. */
static void gap(struct conformance_world *w, bool is_on)
{
    if (!is_on)
        store_compact(inner_of(w)->store, store_revision(inner_of(w)->store));
}

static void gap_sim(struct conformance_world *w, bool is_on)
{
    gap(w, is_on);
    if (!is_on)
        sim_net_outage(inner_of(w)->net, 0); /* for no time at all, but all watches break */
}

int main(void)
{
    static const struct conformance_class embedded = { .name = "embedded",
                                                       .begin = begin_embedded,
                                                       .end = end,
                                                       .put = put,
                                                       .gap = gap,
                                                       .has_clock = true,
                                                       .has_order = true };
    static const struct conformance_class sim = {
        .name = "sim", .begin = begin_sim, .end = end, .put = put, .gap = gap_sim, .has_clock = true
    };

    return conformance_run(&embedded) + conformance_run(&sim);
}
