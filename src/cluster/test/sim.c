/* sim.c - tests of cluster_sim: what a client was told comes to equal the store, whatever the network does on the way */
#include "cluster/test/sim_net.h"

#include "base/map.h"
#include "base/rand.h"
#include "base/util.h"
#include "store/store.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static const struct resource_type *map_type(void)
{
    return type_by_kind(STR("v1"), STR("ConfigMap"));
}

struct told {
    char name[32];
    uint64_t rev;
    bool is_fresh;
};

struct fixture {
    struct clock_manual clock;
    struct store *store;
    struct sim_net *net;
    struct cluster *client;
    struct sim_faults faults;
    struct map told;
    bool is_listing, is_synced;
    unsigned answers, unknown, failed;
};

static void fixture_init(struct fixture *f, uint64_t seed, const struct sim_faults *faults,
                         enum sim_fate (*on_send)(void *, uint32_t, const struct op *, uint64_t))
{
    struct store_options store = { .clock = &f->clock.clock, .seed = seed };
    struct sim_options sim = {
        .clock = &f->clock, .seed = seed, .faults = &f->faults, .hooks = { .ctx = f, .on_send = on_send }
    };

    *f = (struct fixture){ .faults = faults ? *faults : (struct sim_faults){ 0 } };
    clock_manual_init(&f->clock, 1000);
    f->clock.mono_us = 0;
    f->store = sim.store = store_new(&store);
    f->net = sim_net_new(&sim);
    f->client = cluster_sim_new(f->net, 0);
    map_init(&f->told, 1);
}

static void fixture_done(struct fixture *f)
{
    cluster_free(f->client);
    sim_net_free(f->net);
    store_free(f->store);
    MAP_FOREACH(struct told *, t, &f->told)
        free(t);
    map_done(&f->told);
}

static struct json *config(struct arena *a, unsigned i, unsigned value)
{
    struct json *j = json_object(a), *meta;

    json_set(j, "apiVersion", json_str(a, STR("v1")));
    json_set(j, "kind", json_str(a, STR("ConfigMap")));
    meta = json_need_object(a, j, "metadata");
    json_set(meta, "name", json_fmt(a, "c%u", i));
    json_set(meta, "namespace", json_str(a, STR("n")));
    json_set(json_need_object(a, j, "data"), "v", json_fmt(a, "%u", value));
    return j;
}

static uint64_t send(struct fixture *f, enum op_kind kind, unsigned i, unsigned value)
{
    autoarena a = { 0 };
    struct op op = {
        .kind = kind, .type = map_type(), .namespace = STR("n"), .name = arena_fmt(&a, "c%u", i), .grace_s = -1
    };

    if (kind != OP_DELETE)
        op.body = config(&a, i, value);
    return cluster_write(f->client, &op);
}

/* ---- a mirror of what was told ---- */

static void mirror_put(struct fixture *f, const struct object *o)
{
    struct told *t = map_get(&f->told, o->name);

    if (!t) {
        t = xcalloc(1, sizeof(*t));
        snprintf(t->name, sizeof(t->name), "%.*s", STR_ARG(o->name));
        map_put(&f->told, str_of(t->name), t);
    }
    assert_true(f->is_listing || o->rev >= t->rev); /* a watch never goes back */
    t->rev = o->rev;
    t->is_fresh = true;
}

static void mirror_sweep(struct fixture *f)
{
    MAP_FOREACH(struct told *, t, &f->told)
        if (!t->is_fresh) {
            map_remove(&f->told, t_it.key);
            free(t);
        }
}

static void mirror_event(struct fixture *f, const struct cluster_event *ev)
{
    switch (ev->kind) {
    case CLUSTER_PUT:
        mirror_put(f, ev->object);
        break;
    case CLUSTER_GONE:
        free(map_remove(&f->told, ev->object->name));
        break;
    case CLUSTER_RELIST:
        f->is_listing = true;
        MAP_FOREACH(struct told *, t, &f->told)
            t->is_fresh = false;
        break;
    case CLUSTER_SYNCED:
        assert_true(f->is_listing);
        f->is_listing = false;
        f->is_synced = true;
        mirror_sweep(f);
        break;
    default:
        f->answers++;
        f->unknown += ev->is_unknown;
        f->failed += ev->err.code != ERR_OK;
        assert_true(!ev->is_unknown || ev->err.code != ERR_OK);
        break;
    }
}

static void drain(struct fixture *f)
{
    struct cluster_event ev;

    sim_net_run(f->net);
    while (cluster_next(f->client, &ev))
        mirror_event(f, &ev);
}

/* All that is on its way arrives. */
static void run_dry(struct fixture *f)
{
    for (int i = 0; i < 100000; i++) {
        int64_t net = sim_net_due_ms(f->net), client = cluster_sim_due_ms(f->client), due = MIN_OF(net, client);

        if (due == INT64_MAX)
            return;
        if (due > f->clock.mono_us / 1000)
            clock_manual_advance(&f->clock, due - f->clock.mono_us / 1000);
        drain(f);
    }
    fail_msg("never quiet");
}

static void check_one(void *ctx, const struct object *o)
{
    struct fixture *f = ctx;
    struct told *t = map_get(&f->told, o->name);

    assert_non_null(t);
    assert_int_equal(t->rev, o->rev);
}

static void check_mirror(struct fixture *f)
{
    assert_true(f->is_synced);
    assert_int_equal(map_count(&f->told), store_count(f->store, map_type()));
    store_list(f->store, map_type(), STR_NULL, check_one, f);
}

/* ---- cases ---- */

static void no_faults_is_at_once(void **state)
{
    struct fixture f;
    struct cluster_event ev;
    uint64_t token;

    (void)state;
    fixture_init(&f, 1, NULL, NULL);
    cluster_want(f.client, map_type());
    drain(&f);
    assert_true(f.is_synced);
    token = send(&f, OP_CREATE, 1, 1);
    assert_true(token != 0);
    assert_int_equal(store_count(f.store, map_type()), 1);
    assert_true(cluster_next(f.client, &ev));
    while (ev.kind != CLUSTER_RESULT)
        assert_true(cluster_next(f.client, &ev));
    assert_int_equal(ev.token, token);
    assert_int_equal(ev.err.code, ERR_OK);
    assert_non_null(ev.object);
    send(&f, OP_CREATE, 1, 1);
    drain(&f);
    assert_int_equal(f.failed, 1); /* AlreadyExists */
    fixture_done(&f);
}

static const struct {
    const char *name;
    struct sim_faults faults;
} weather[] = {
    { "late", { .latency_ms = 10, .late = 3000, .late_ms = 5000 } },
    { "doubled", { .doubled = 5000, .latency_ms = 10 } },
    { "broken", { .broken = 2000, .gap_ms = 3000 } },
    { "lost",
      { .request_lost = 2000, .answer_lost = 2000, .answer_lost_too_soon = 2000, .timeout_ms = 100, .slow_ms = 500 } },
    { "refused", { .refused = 5000 } },
    { "all",
      { .latency_ms = 50,
        .late = 1000,
        .late_ms = 2000,
        .doubled = 1000,
        .broken = 1000,
        .gap_ms = 500,
        .slow = 1000,
        .slow_ms = 900,
        .refused = 1000,
        .request_lost = 1000,
        .answer_lost = 1000,
        .answer_lost_too_soon = 1000,
        .timeout_ms = 700 } },
};

static unsigned storm(struct fixture *f, uint64_t seed)
{
    static const enum op_kind kinds[] = { OP_CREATE, OP_UPDATE, OP_DELETE };
    struct rand r;
    unsigned n = 200;

    rand_seed(&r, seed);
    for (unsigned i = 0; i < n; i++) {
        send(f, kinds[rand_below(&r, 3)], (unsigned)rand_below(&r, 8), i);
        clock_manual_advance(&f->clock, rand_between(&r, 0, 50));
        if (rand_chance(&r, 1, 40))
            sim_net_outage(f->net, f->clock.mono_us / 1000 + 200);
        drain(f);
    }
    return n;
}

static void the_mirror_comes_to_equal_the_store(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(weather); i++)
        for (uint64_t seed = 1; seed <= 30; seed++) {
            struct fixture f;
            unsigned n;

            fixture_init(&f, seed, &weather[i].faults, NULL);
            cluster_want(f.client, map_type());
            n = storm(&f, seed);
            f.faults = (struct sim_faults){ 0 };
            run_dry(&f);
            check_mirror(&f);
            if (f.answers != n)
                fail_msg("%s, seed %u: %u answers to %u requests", weather[i].name, (unsigned)seed, f.answers, n);
            fixture_done(&f);
        }
}

static enum sim_fate crash_second(void *ctx, uint32_t client, const struct op *op, uint64_t token)
{
    (void)ctx, (void)client, (void)token;
    return str_is(op->name, "c2") ? SIM_CRASH_AFTER : str_is(op->name, "c9") ? SIM_CRASH_BEFORE : SIM_GO;
}

static void a_dead_client_does_nothing(void **state)
{
    static const struct {
        unsigned deadly;
        size_t stored;
    } rows[] = { { 2, 2 }, { 9, 1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        struct cluster_event ev;

        fixture_init(&f, 1, NULL, crash_second);
        send(&f, OP_CREATE, 1, 1);
        send(&f, OP_CREATE, rows[i].deadly, 1);
        send(&f, OP_CREATE, 3, 1);
        assert_int_equal(store_count(f.store, map_type()), rows[i].stored);
        assert_true(cluster_sim_is_dead(f.client));
        assert_false(cluster_next(f.client, &ev));
        fixture_done(&f);
    }
}

static void a_request_outlives_its_client(void **state)
{
    struct sim_faults slow = { .slow = SIM_CHANCE, .slow_ms = 1000 };
    struct fixture f;

    (void)state;
    fixture_init(&f, 3, &slow, NULL);
    send(&f, OP_CREATE, 1, 1);
    assert_int_equal(store_count(f.store, map_type()), 0);
    cluster_free(f.client);
    f.client = cluster_sim_new(f.net, 0);
    clock_manual_advance(&f.clock, 2000);
    sim_net_run(f.net);
    assert_int_equal(store_count(f.store, map_type()), 1);
    fixture_done(&f);
}

static void another_writer_gives_a_conflict(void **state)
{
    struct sim_faults faults = { .conflict = SIM_CHANCE };
    struct fixture f;
    autoarena a = { 0 };
    struct op op = { .kind = OP_UPDATE, .type = map_type(), .namespace = STR("n"), .name = STR("c1") };
    const struct object *o;

    (void)state;
    fixture_init(&f, 4, &faults, NULL);
    send(&f, OP_CREATE, 1, 1);
    o = store_get(f.store, map_type(), STR("n"), STR("c1"));
    op.body = json_copy(&a, o->root);
    json_set(json_get(op.body, "data"), "v", json_str(&a, STR("2")));
    cluster_write(f.client, &op);
    drain(&f);
    assert_int_equal(f.failed, 1);
    fixture_done(&f);
}

static void put_pod(struct fixture *f)
{
    autoarena a = { 0 };
    struct json *pod = config(&a, 1, 1);

    json_set(pod, "kind", json_str(&a, STR("Pod")));
    assert_int_equal(store_create(f->store, pod, NULL, NULL), 0);
}

/* Bindings and patches of a status travel as other writes do: with bodies of their own, and they can be lost. */
static void bindings_travel(void **state)
{
    static const struct sim_faults faults[] = {
        { .slow = SIM_CHANCE, .slow_ms = 1000 },
        { .slow = SIM_CHANCE, .slow_ms = 1000, .answer_lost = SIM_CHANCE, .timeout_ms = 2000 },
        { .request_lost = SIM_CHANCE, .timeout_ms = 2000 },
    };
    const struct resource_type *pods = type_by_kind(STR("v1"), STR("Pod"));

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct arena a = { 0 };
        struct plan plan = { .arena = &a };
        const struct object *pod;
        struct fixture f;

        fixture_init(&f, 5, &faults[i], NULL);
        put_pod(&f);
        plan_bind(&plan, STR("n"), STR("c1"), STR_NULL, STR("node"));
        plan_patch_status(&plan, (struct object_id){ pods, STR("n"), STR("c1"), STR_NULL }, json_object(&a));
        json_set(json_get(plan.ops.v[1].body, "status"), "reason", json_str(&a, arena_str(&a, STR("because"))));
        for (size_t k = 0; k < plan.ops.n; k++)
            cluster_write(f.client, &plan.ops.v[k]);
        arena_done(&a);
        for (int k = 0; k < 30; k++) {
            clock_manual_advance(&f.clock, 100);
            sim_net_run(f.net);
        }
        drain(&f);
        pod = store_get(f.store, pods, STR("n"), STR("c1"));
        assert_int_equal(str_is(json_member_text(json_get(pod->root, "spec"), "nodeName"), "node"), i < 2);
        assert_int_equal(str_is(json_member_text(json_get(pod->root, "status"), "reason"), "because"), i < 2);
        assert_int_equal(f.answers, 2);
        assert_int_equal(f.unknown, i == 0 ? 0 : 2);
        fixture_done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_faults_is_at_once),
        cmocka_unit_test(the_mirror_comes_to_equal_the_store),
        cmocka_unit_test(a_dead_client_does_nothing),
        cmocka_unit_test(a_request_outlives_its_client),
        cmocka_unit_test(another_writer_gives_a_conflict),
        cmocka_unit_test(bindings_travel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
