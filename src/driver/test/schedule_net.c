/* schedule_net.c - the driver's scheduling side behind a bad network, from seeds
 *
 * A small greedy scheduler keeps a mirror of what it was told. Whatever the network does: news never go back, the
 * mirror comes to equal the store, every pod gets a node, and every victim goes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/rand.h"
#include "base/util.h"
#include "driver/cache.h"
#include "driver/driver.h"
#include "cluster/test/sim_net.h"
#include "sched/sched.h"
#include "store/store.h"

enum { SEEDS = 300, PODS = 12, NODES = 3 };

/* ---- a greedy scheduler ---- */

struct thing {
    char key[64], kind[16], name[32], uid[48];
    uint64_t rev;
    bool is_bound, is_going, is_assumed, is_victim;
};

struct sched {
    struct map things; /* by key: "Kind/name" */
    struct rand rand;
    unsigned evictions_left;
};

static struct sched *greedy;
static uint64_t seed_now;

struct sched *sched_new(const struct sched_config *config, uint64_t seed)
{
    (void)config;
    greedy = xcalloc(1, sizeof(*greedy));
    map_init(&greedy->things, seed);
    rand_seed(&greedy->rand, seed);
    return greedy;
}

void sched_configure(struct sched *s, const struct sched_config *config)
{
    (void)s, (void)config;
}

void sched_free(struct sched *s)
{
    if (!s)
        return;
    MAP_FOREACH(struct thing *, t, &s->things)
        free(t);
    map_done(&s->things);
    free(s);
    greedy = NULL;
}

void sched_config_default(struct sched_config *ret)
{
    *ret = (struct sched_config){ 0 };
}

bool sched_wants(struct str api_version, struct str kind)
{
    return str_is(api_version, "v1") && (str_is(kind, "Node") || str_is(kind, "Pod"));
}

static struct thing *find(struct sched *s, struct str kind, struct str name)
{
    char key[64];

    snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(kind), STR_ARG(name));
    return map_get(&s->things, str_of(key));
}

void sched_put(struct sched *s, const struct json *root)
{
    struct thing *t = find(s, object_kind(root), object_name(root));
    uint64_t rev = 0;

    (void)str_to_u64(json_member_text(json_get(root, "metadata"), "resourceVersion"), &rev);
    if (t && !str_is(object_uid(root), t->uid))
        fail_msg("seed %llu: %s was replaced without being told gone", (unsigned long long)seed_now, t->key);
    if (t && rev <= t->rev)
        fail_msg("seed %llu: %s goes back", (unsigned long long)seed_now, t->key);
    if (!t) {
        t = xcalloc(1, sizeof(*t));
        snprintf(t->kind, sizeof(t->kind), "%.*s", STR_ARG(object_kind(root)));
        snprintf(t->name, sizeof(t->name), "%.*s", STR_ARG(object_name(root)));
        snprintf(t->uid, sizeof(t->uid), "%.*s", STR_ARG(object_uid(root)));
        snprintf(t->key, sizeof(t->key), "%s/%s", t->kind, t->name);
        map_put(&s->things, str_of(t->key), t);
    }
    t->rev = rev;
    t->is_bound = json_member_text(json_get(root, "spec"), "nodeName").n;
    t->is_going = json_find(root, "metadata", "deletionTimestamp", NULL);
}

void sched_gone(struct sched *s, struct str kind, struct str namespace, struct str name, struct str uid)
{
    struct thing *t = find(s, kind, name);

    (void)namespace;
    if (!t || !str_is(uid, t->uid))
        fail_msg("seed %llu: %.*s %.*s is gone and was never there", (unsigned long long)seed_now, STR_ARG(kind),
                 STR_ARG(name));
    map_remove(&s->things, str_of(t->key));
    free(t);
}

void sched_failed(struct sched *s, const struct decision *d, struct str error)
{
    struct thing *t = find(s, STR("Pod"), d->name);

    (void)error;
    if (!t || !str_is(d->uid, t->uid))
        return;
    s->evictions_left += t->is_victim && d->kind == DECIDE_EVICT; /* it may be chosen again */
    t->is_assumed &= d->kind != DECIDE_BIND;
    t->is_victim &= d->kind != DECIDE_EVICT;
}

bool sched_stands(struct sched *s, const struct decision *bind)
{
    return rand_chance(&s->rand, 1, 2) && find(s, STR("Pod"), bind->name);
}

void sched_claims(struct sched *s, struct str pod_uid, void (*each)(void *ctx, const struct sched_claim *claim),
                  void *ctx)
{
    (void)s, (void)pod_uid, (void)each, (void)ctx;
}

static bool is_waiting(const struct thing *t)
{
    return strcmp(t->kind, "Pod") == 0 && !t->is_bound && !t->is_assumed && !t->is_going;
}

bool sched_is_idle(const struct sched *s)
{
    (void)s;
    return false; /* a round that does nothing must not make another */
}

static struct decision *decide(struct sched_round *r, enum decision_kind kind, const struct thing *t)
{
    struct decision *d = vec_push(&r->arena, &r->list);

    *d = (struct decision){ .kind = kind, .namespace = STR("ns"), .name = str_of(t->name), .uid = str_of(t->uid) };
    return d;
}

void sched_round(struct sched *s, int64_t now_ms, struct sched_round *ret)
{
    (void)now_ms;
    for (int i = 0; i < PODS; i++) { /* by name: the order of a map means nothing */
        struct thing *t = find(s, STR("Pod"), arena_fmt(&ret->arena, "p%d", i));

        if (!t)
            continue;
        if (is_waiting(t) && rand_chance(&s->rand, 3, 4)) {
            t->is_assumed = true;
            decide(ret, DECIDE_BIND, t)->node = arena_fmt(&ret->arena, "n%d", i % NODES);
        } else if (t->is_bound && !t->is_going && !t->is_victim && s->evictions_left && rand_chance(&s->rand, 1, 5)) {
            t->is_victim = true;
            s->evictions_left--;
            decide(ret, DECIDE_EVICT, t)->reason = STR("preempt");
        } else if (is_waiting(t) || rand_chance(&s->rand, 1, 20)) {
            struct decision *d = decide(ret, DECIDE_POD_STATUS, t);

            d->reason = STR("Unschedulable");
            d->message = arena_fmt(&ret->arena, "try %llu", (unsigned long long)rand_below(&s->rand, 5));
        }
    }
}

/* ---- the world ---- */

struct world {
    struct clock_manual clock;
    struct store *store;
    struct sim_net *net;
    struct sim_faults faults;
    struct cluster *cluster;
    struct driver *driver;
    struct rand rand;
};

static const struct sim_faults bad_day = {
    .latency_ms = 50,
    .late = 1500,
    .late_ms = 3000,
    .doubled = 500,
    .broken = 150,
    .gap_ms = 2000,
    .slow = 500,
    .slow_ms = 5000,
    .conflict = 500,
    .refused = 500,
    .request_lost = 200,
    .answer_lost = 300,
    .answer_lost_too_soon = 200,
    .timeout_ms = 10000,
};

static void world_init(struct world *w, uint64_t seed)
{
    struct store_options store = { .clock = &w->clock.clock, .seed = seed };
    struct sim_options sim = { .clock = &w->clock, .seed = seed, .faults = &w->faults };
    struct driver_options opt = { .seed = seed, .schedules = true, .max_in_flight = 16 };

    *w = (struct world){ .faults = bad_day };
    clock_manual_init(&w->clock, 1700000000000);
    rand_seed(&w->rand, seed);
    w->store = sim.store = store_new(&store);
    w->net = sim_net_new(&sim);
    w->cluster = cluster_sim_new(w->net, 0);
    w->driver = driver_new(w->cluster, &opt);
    greedy->evictions_left = 10;
}

static void world_done(struct world *w)
{
    driver_free(w->driver);
    cluster_free(w->cluster);
    sim_net_free(w->net);
    store_free(w->store);
}

/* A step to the next thing that is due, at most 'max_ms'. */
static void step(struct world *w, int64_t max_ms)
{
    int64_t mono_ms = w->clock.mono_us / 1000, now_ms = clock_now_ms(&w->clock.clock), due_ms, next_ms;

    sim_net_run(w->net);
    due_ms = driver_turn(w->driver, NULL);
    next_ms = MIN_OF(sim_net_due_ms(w->net), cluster_sim_due_ms(w->cluster));
    next_ms = next_ms == INT64_MAX ? max_ms : next_ms - mono_ms;
    if (due_ms != INT64_MAX)
        next_ms = MIN_OF(next_ms, due_ms - now_ms);
    clock_manual_advance(&w->clock, MAX_OF(MIN_OF(next_ms, max_ms), 0));
}

static void change_something(struct world *w)
{
    bool is_node = rand_chance(&w->rand, 1, 4);
    const struct resource_type *type = is_node ? type_by_name(STR("node")) : known_types()->pod;
    struct store_delete_options opt = { .grace_s = rand_chance(&w->rand, 1, 2) ? 0 : -1 };
    autoarena a = { 0 };
    struct str name = arena_fmt(&a, "%c%d", is_node ? 'n' : 'p', (int)rand_below(&w->rand, is_node ? NODES : PODS));
    const struct object *o = store_get(w->store, type, STR("ns"), name);

    if (!o)
        (void)store_create(w->store, object_new(&a, "v1", is_node ? "Node" : "Pod", STR("ns"), name), NULL, NULL);
    else if (rand_chance(&w->rand, 1, 3))
        (void)store_delete(w->store, &(struct object_key){ type, STR("ns"), name }, &opt, NULL, NULL);
}

/* The kubelet: pods that are being deleted go. */
static void bury(struct world *w)
{
    struct store_delete_options now = { .grace_s = 0 };
    autoarena a = { 0 };

    for (int i = 0; i < PODS; i++) {
        struct str name = arena_fmt(&a, "p%d", i);
        const struct object *o = store_get(w->store, known_types()->pod, STR("ns"), name);

        if (o && json_find(o->root, "metadata", "deletionTimestamp", NULL))
            (void)store_delete(w->store, &(struct object_key){ known_types()->pod, STR("ns"), name }, &now, NULL, NULL);
    }
}

static bool is_refused(const struct object *pod)
{
    JSON_FOREACH(c, json_find(pod->root, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "type"), "PodScheduled"))
            return !str_is(json_member_text(c, "status"), "True");
    return true;
}

static size_t compare(struct world *w, const struct resource_type *type, char letter, int n)
{
    autoarena a = { 0 };
    size_t n_there = 0;

    for (int i = 0; i < n; i++) {
        struct str name = arena_fmt(&a, "%c%d", letter, i);
        const struct object *o = store_get(w->store, type, STR("ns"), name);
        const struct thing *t = find(greedy, str_of(type->kind), name);

        n_there += o != NULL;
        if (!o != !t || (o && (!str_is(o->uid, t->uid) || o->rev != t->rev)))
            fail_msg("seed %llu: the mirror of %.*s is wrong", (unsigned long long)seed_now, STR_ARG(name));
        if (o && type == known_types()->pod && !json_member_text(json_get(o->root, "spec"), "nodeName").n)
            fail_msg("seed %llu: %.*s waits for ever", (unsigned long long)seed_now, STR_ARG(name));
        if (o && type == known_types()->pod && is_refused(o))
            fail_msg("seed %llu: %.*s has a node and says no", (unsigned long long)seed_now, STR_ARG(name));
        if (t && t->is_victim)
            fail_msg("seed %llu: %.*s was to go", (unsigned long long)seed_now, STR_ARG(name));
    }
    return n_there;
}

static void any_network(void **state)
{
    uint64_t binds = 0, evictions = 0, failed = 0;
    struct driver_stats stats;

    (void)state;
    for (seed_now = 1; seed_now <= SEEDS; seed_now++) {
        struct world w;
        size_t n = 0;

        world_init(&w, seed_now);
        for (int i = 0; i < 400; i++) {
            if (rand_chance(&w.rand, 1, 4))
                change_something(&w);
            if (rand_chance(&w.rand, 1, 10))
                bury(&w);
            step(&w, 500);
        }
        w.faults = (struct sim_faults){ 0 };
        greedy->evictions_left = 0;
        for (int64_t end_ms = clock_now_ms(&w.clock.clock) + 900000; clock_now_ms(&w.clock.clock) < end_ms;) {
            step(&w, 5000);
            bury(&w);
        }
        n += compare(&w, known_types()->pod, 'p', PODS) + compare(&w, type_by_name(STR("node")), 'n', NODES);
        assert_int_equal(map_count(&greedy->things), n);
        driver_stats(w.driver, &stats);
        binds += stats.binds;
        evictions += stats.evictions;
        failed += stats.failed_writes;
        world_done(&w);
    }
    assert_true(binds > SEEDS * 5 && evictions > SEEDS && failed > SEEDS); /* something happened */
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(any_network) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
