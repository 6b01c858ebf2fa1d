/* cluster.c - tests of cluster_kube on a server that cuts, refuses, forgets and hangs: what was told comes to equal
 * what is there, and nothing is told that did not happen */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/util.h"
#include "kube/cluster.h"
#include "kube/pace.h"
#include "kube/test/apiserver.h"

#include <poll.h>
#include <signal.h>

struct seen {
    char name[64];
    uint64_t rev;
    bool is_fresh;
};

struct world {
    struct store *store;
    struct apiserver *server;
    struct cluster *cluster;
    struct kube_config config;
    struct map mirror;
    bool is_listing;
    unsigned lists, synced, puts, gones, answers, failed, unknown;
    uint64_t told_rev;
    struct err last;   /* of the last answer that was an error */
    struct buf object; /* of the last PUT */
};

static const struct resource_type *maps(void)
{
    return type_by_name(STR("configmaps"));
}

static void world_init(struct world *w, const struct apiserver_options *server, struct cluster_kube_options opt)
{
    struct store_options store = { .seed = 3, .clock = &clock_real };
    autoarena a = { 0 };
    struct err e = { 0 };

    *w = (struct world){ 0 };
    w->store = store_new(&store);
    (void)store_create(w->store, object_new(&a, "v1", "Namespace", STR_NULL, STR("n")), NULL, NULL);
    w->server = apiserver_start(w->store, server);
    w->config = opt.config ? *opt.config : (struct kube_config){ 0 };
    w->config.server = str_of(apiserver_url(w->server));
    w->config.origin = STR("test");
    opt.config = &w->config;
    opt.seed = 1;
    map_init(&w->mirror, 1);
    if (cluster_kube_new(&opt, &w->cluster, &e) < 0)
        fail_msg("%s", e.text);
}

static void world_done(struct world *w)
{
    cluster_free(w->cluster);
    apiserver_stop(w->server);
    store_free(w->store);
    MAP_FOREACH(struct seen *, s, &w->mirror)
        free(s);
    map_done(&w->mirror);
    buf_done(&w->object);
}

/* ---- hearing ---- */

static void hear_put(struct world *w, const struct object *o)
{
    struct seen *s = map_get(&w->mirror, o->name);

    w->puts++;
    if (!s) {
        s = xcalloc(1, sizeof(*s));
        (void)snprintf(s->name, sizeof(s->name), "%.*s", STR_ARG(o->name));
        map_put(&w->mirror, str_of(s->name), s);
    }
    if (!w->is_listing)
        assert_true(o->rev > s->rev); /* a watch neither goes back nor repeats itself */
    s->rev = o->rev;
    s->is_fresh = true;
    buf_reset(&w->object);
    json_print(&w->object, o->root);
}

static void hear_result(struct world *w, const struct cluster_event *ev)
{
    w->answers++;
    w->unknown += ev->is_unknown;
    w->failed += ev->err.code != ERR_OK;
    if (ev->err.code != ERR_OK)
        w->last = ev->err;
    assert_true(!ev->is_unknown || ev->err.code != ERR_OK);
}

static void hear(struct world *w, const struct cluster_event *ev)
{
    switch (ev->kind) {
    case CLUSTER_PUT:
        hear_put(w, ev->object);
        break;
    case CLUSTER_GONE:
        w->gones++;
        free(map_remove(&w->mirror, ev->object->name));
        break;
    case CLUSTER_RELIST:
        w->lists++;
        w->is_listing = true;
        MAP_FOREACH(struct seen *, s, &w->mirror)
            s->is_fresh = false;
        break;
    case CLUSTER_SYNCED:
        assert_true(w->is_listing);
        w->synced++;
        w->told_rev = ev->rev;
        w->is_listing = false;
        MAP_FOREACH(struct seen *, s, &w->mirror)
            if (!s->is_fresh)
                free(map_remove(&w->mirror, s_it.key));
        break;
    default:
        hear_result(w, ev);
        break;
    }
}

static void drain(struct world *w)
{
    for (struct cluster_event ev; cluster_next(w->cluster, &ev);)
        hear(w, &ev);
}

static void wait_more(struct world *w)
{
    struct pollfd fd = { cluster_kube_fd(w->cluster), POLLIN, 0 };

    if (poll(&fd, 1, 60000) != 1)
        fail_msg("nothing happens");
    drain(w);
}

#define until(w, holds)                                                                                                \
    do {                                                                                                               \
        drain(w);                                                                                                      \
        while (!(holds))                                                                                               \
            wait_more(w);                                                                                              \
    } while (0)

struct comparison {
    const struct world *world;
    bool is_equal;
};

static void compare(void *ctx, const struct object *o)
{
    struct comparison *c = ctx;
    const struct seen *s = map_get(&c->world->mirror, o->name);

    c->is_equal &= s && s->rev == o->rev;
}

static bool is_mirror_true(struct world *w)
{
    struct comparison c = { w, true };

    apiserver_lock(w->server);
    store_list(w->store, maps(), STR_NULL, compare, &c);
    c.is_equal &= store_count(w->store, maps()) == map_count(&w->mirror);
    apiserver_unlock(w->server);
    return c.is_equal;
}

/* ---- doing ---- */

static struct json *config(struct arena *a, unsigned i, unsigned value)
{
    struct json *j = object_new(a, "v1", "ConfigMap", STR("n"), arena_fmt(a, "c%u", i));

    json_set(json_need_object(a, j, "data"), "v", json_fmt(a, "%u", value));
    return j;
}

static void send(struct world *w, enum op_kind kind, unsigned i, unsigned value)
{
    autoarena a = { 0 };
    struct op op = {
        .kind = kind, .type = maps(), .namespace = STR("n"), .name = arena_fmt(&a, "c%u", i), .grace_s = -1
    };

    if (kind != OP_DELETE)
        op.body = config(&a, i, value);
    (void)cluster_write(w->cluster, &op);
}

/* Somebody else does it. */
static void put(struct world *w, unsigned i)
{
    autoarena a = { 0 };

    apiserver_lock(w->server);
    assert_int_equal(store_create(w->store, config(&a, i, 0), NULL, NULL), 0);
    apiserver_unlock(w->server);
}

/* ---- watches ---- */

/* However a watch ends, it goes on where it was: nothing is listed again, nothing told twice. */
static void goes_on_where_it_was(void **state)
{
    static const struct fault faults[] = {
        { FAULT_CUT_STREAM, "GET", "watch=1", 3 },
        { FAULT_END, "GET", "watch=1", 3 },
        { FAULT_GARBAGE, "GET", "watch=1", 3 },
        { FAULT_CUT_BEFORE, "GET", "watch=1", 2 },
        { FAULT_STATUS, "GET", "watch=1", 2, .status = 500 },
        { FAULT_STATUS, "GET", "watch=1", 1, .status = 429 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct world w;

        world_init(&w, &(struct apiserver_options){ .chops = i % 2 }, (struct cluster_kube_options){ 0 });
        put(&w, 1);
        cluster_want(w.cluster, maps());
        until(&w, w.synced == 1);
        apiserver_fault(w.server, faults[i]);
        apiserver_shut(w.server, true); /* the next watch meets the fault */
        put(&w, 2);
        put(&w, 3);
        apiserver_shut(w.server, false);
        until(&w, is_mirror_true(&w));
        put(&w, 4);
        until(&w, is_mirror_true(&w));
        assert_int_equal(w.lists, 1);
        assert_int_equal(w.puts, 4);
        assert_int_equal(apiserver_count(w.server, "GET", "limit="), 0);
        world_done(&w);
    }
}

static void lists_in_pages(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ .only_lists = true });
    for (unsigned i = 0; i < 1200; i++)
        put(&w, i);
    cluster_want(w.cluster, maps());
    until(&w, w.synced == 1);
    assert_true(is_mirror_true(&w));
    assert_int_equal(w.lists, 1);
    assert_int_equal(w.puts, 1200);
    assert_int_equal(apiserver_count(w.server, "GET", "limit=500"), 3);
    put(&w, 1200);
    until(&w, is_mirror_true(&w));
    world_done(&w);
}

/* A list that breaks off is told again as a whole, whichever page it was. */
static void a_list_that_breaks_off_is_told_again(void **state)
{
    static const struct fault faults[] = {
        { FAULT_CUT_STREAM, "GET", "limit=", 2 },
        { FAULT_STATUS, "GET", "continue=", 1, .status = 410 },
        { FAULT_STATUS, "GET", "continue=", 1, .status = 500 },
        { FAULT_CUT_STREAM, "GET", "sendInitialEvents", 1 },
        { FAULT_STATUS, "GET", "sendInitialEvents", 1, .status = 500 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct world w;

        world_init(&w, &(struct apiserver_options){ .chops = true },
                   (struct cluster_kube_options){ .only_lists = !strstr(faults[i].part, "send") });
        for (unsigned k = 0; k < 600; k++)
            put(&w, k);
        apiserver_fault(w.server, faults[i]);
        cluster_want(w.cluster, maps());
        until(&w, w.synced == 1);
        assert_true(is_mirror_true(&w));
        put(&w, 1000);
        until(&w, is_mirror_true(&w));
        assert_int_equal(w.synced, 1);
        world_done(&w);
    }
}

static void a_type_that_is_not_there_is_empty(void **state)
{
    struct world w;
    struct err e;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ 0 });
    apiserver_fault(w.server, (struct fault){ FAULT_STATUS, "GET", "configmaps", -1, .status = 404 });
    cluster_want(w.cluster, maps());
    until(&w, w.synced == 1);
    assert_int_equal(w.lists, 1);
    assert_int_equal(w.told_rev, 0);
    assert_false(cluster_kube_trouble(w.cluster, &e)); /* no reason not to be ready */
    world_done(&w);
}

static void tells_its_trouble(void **state)
{
    struct world w;
    struct err e = { 0 };

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ 0 });
    apiserver_fault(w.server, (struct fault){ FAULT_STATUS, "GET", "configmaps", 2, .status = 403 });
    cluster_want(w.cluster, maps());
    until(&w, cluster_kube_trouble(w.cluster, &e));
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_string_equal(e.text, "as you wish");
    until(&w, w.synced == 1);
    assert_false(cluster_kube_trouble(w.cluster, &e));
    world_done(&w);
}

/* ---- what is read ---- */

static void reads_only_what_the_view_names(void **state)
{
    static const char *const fields[] = { "metadata.name", "metadata.resourceVersion", "metadata.uid", "data.v", NULL };
    struct kube_view view = { .type = maps(), .labels = STR("app in (a,b)"), .mask = fields };
    struct world w;
    autoarena a = { 0 };
    struct json *j;

    (void)state;
    for (int only_lists = 0; only_lists < 2; only_lists++) {
        world_init(&w, &(struct apiserver_options){ 0 },
                   (struct cluster_kube_options){ .views = &view, .n_views = 1, .only_lists = only_lists });
        put(&w, 1);
        j = config(&a, 2, 7);
        object_set_label(&a, j, "app", STR("b"));
        json_set(json_get(j, "data"), "w", json_str(&a, STR("not wanted")));
        apiserver_lock(w.server);
        assert_int_equal(store_create(w.store, j, NULL, NULL), 0);
        apiserver_unlock(w.server);
        cluster_want(w.cluster, maps());
        until(&w, w.synced == 1);
        assert_int_equal(w.puts, 1); /* the other one has no such label */
        assert_int_equal(json_parse(&a, arena_str(&a, buf_view(&w.object)), NULL, &j, NULL), 0);
        assert_true(str_is(json_member_text(json_get(j, "data"), "v"), "7"));
        assert_null(json_find(j, "data", "w", NULL));
        assert_null(json_find(j, "metadata", "labels", NULL));
        assert_true(str_is(object_kind(j), "ConfigMap") && str_is(object_api_version(j), "v1"));
        world_done(&w);
    }
}

/* ---- writes ---- */

static void answers_mean_what_happened(void **state)
{
    static const struct {
        struct fault fault;
        bool works, is_unknown, has_effect;
        const char *says;
    } rows[] = {
        { { FAULT_NONE }, true, false, true, "" },
        { { FAULT_CUT_AFTER, "POST", "configmaps", 1 }, false, true, true, "without an answer" },
        { { FAULT_CUT_BEFORE, "POST", "configmaps", 1 }, false, true, false, "without an answer" },
        { { FAULT_STATUS, "POST", "configmaps", 1, .status = 500 }, false, true, false, "as you wish" },
        { { FAULT_STATUS, "POST", "configmaps", 1, .status = 504 }, false, true, false, "as you wish" },
        { { FAULT_STATUS, "POST", "configmaps", 1, .status = 403 }, false, false, false, "as you wish" },
        { { FAULT_STATUS, "POST", "configmaps", 1, .status = 422 }, false, false, false, "as you wish" },
        { { FAULT_STATUS, "POST", "configmaps", 2, .status = 429 }, true, false, true, "" },
        { { FAULT_STATUS, "POST", "configmaps", 1, .status = 503, .seconds = 1 }, true, false, true, "" },
        { { FAULT_STATUS, "POST", "configmaps", 1, .status = 401 }, false, false, false, "rejected our credentials" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ 0 });
        apiserver_fault(w.server, rows[i].fault);
        send(&w, OP_CREATE, 1, 1);
        until(&w, w.answers == 1);
        if (w.failed == rows[i].works || w.unknown != rows[i].is_unknown || !strstr(w.last.text, rows[i].says))
            fail_msg("row %zu: failed %u, unknown %u, \"%s\"", i, w.failed, w.unknown, w.last.text);
        apiserver_lock(w.server);
        assert_int_equal(store_count(w.store, maps()), rows[i].has_effect);
        apiserver_unlock(w.server);
        world_done(&w);
    }
}

static void what_never_left_is_known(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ 0 });
    w.config.server = STR("http://127.0.0.1:1");
    cluster_free(w.cluster);
    assert_int_equal(cluster_kube_new(&(struct cluster_kube_options){ .config = &w.config }, &w.cluster, NULL), 0);
    send(&w, OP_CREATE, 1, 1);
    until(&w, w.answers == 1);
    assert_int_equal(w.failed, 1);
    assert_int_equal(w.unknown, 0);
    assert_non_null(strstr(w.last.text, "http://127.0.0.1:1: Connection refused"));
    world_done(&w);
}

/* An answer that is known as soon as the write is handed over wakes whoever waits. */
static void an_answer_at_once_is_told(void **state)
{
    struct kube_config config = { .token_file = STR("/nowhere/token") };
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ .config = &config });
    drain(&w);
    send(&w, OP_CREATE, 1, 1);
    wait_more(&w);
    assert_int_equal(w.answers, 1);
    assert_int_equal(w.failed, 1);
    assert_int_equal(w.unknown, 0);
    assert_non_null(strstr(w.last.text, "/nowhere/token"));
    world_done(&w);
}

/* A token that is replaced while we run: nobody notices. */
static void a_new_token_is_taken(void **state)
{
    char path[] = "/tmp/pumice-kube-token.XXXXXX";
    int fd = mkstemp(path);
    struct kube_config config = { .token_file = str_of(path) };
    struct world w;

    (void)state;
    assert_int_equal(dprintf(fd, "one\n"), 4);
    world_init(&w, &(struct apiserver_options){ .token = "one" }, (struct cluster_kube_options){ .config = &config });
    cluster_want(w.cluster, maps());
    send(&w, OP_CREATE, 1, 1);
    until(&w, w.answers == 1 && is_mirror_true(&w));
    assert_int_equal(w.failed, 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, "two\n", 4, 0), 4);
    apiserver_set_token(w.server, "two");
    apiserver_shut(w.server, true);
    apiserver_shut(w.server, false);
    send(&w, OP_CREATE, 2, 1);
    until(&w, w.answers == 2 && is_mirror_true(&w));
    assert_int_equal(w.failed - w.unknown, 0); /* one on the connection that was closed may be lost */
    close(fd);
    (void)unlink(path);
    world_done(&w);
}

static void many_at_a_time_but_not_too_many(void **state)
{
    struct kube_stats stats;
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ 0 });
    cluster_want(w.cluster, maps());
    for (unsigned i = 0; i < 400; i++)
        send(&w, OP_CREATE, i, 1);
    cluster_kube_stats(w.cluster, &stats);
    assert_true(stats.in_flight <= PACE_FIRST && stats.waiting + stats.in_flight == 400);
    until(&w, w.answers == 400 && is_mirror_true(&w));
    assert_int_equal(w.failed, 0);
    cluster_kube_stats(w.cluster, &stats);
    assert_int_equal(stats.writes, 400);
    assert_true(apiserver_most(w.server) <= 200);
    world_done(&w);
}

/* ---- everything at once ---- */

static void storm(struct world *w, struct rand *r)
{
    static const enum op_kind kinds[] = { OP_CREATE, OP_UPDATE, OP_DELETE };
    static const struct fault faults[] = {
        { FAULT_NONE },
        { FAULT_NONE },
        { FAULT_CUT_AFTER, NULL, "configmaps", 2 },
        { FAULT_CUT_BEFORE, NULL, "configmaps", 2 },
        { FAULT_STATUS, NULL, "configmaps", 2, .status = 500 },
        { FAULT_STATUS, NULL, "configmaps", 1, .status = 429 },
        { FAULT_CUT_STREAM, "GET", "configmaps", 2 },
        { FAULT_GARBAGE, "GET", "configmaps", 1 },
        { FAULT_END, "GET", "configmaps", 1 },
        { FAULT_STATUS, "GET", "configmaps", 1, .status = 410 },
    };

    for (unsigned i = 0; i < 80; i++) {
        send(w, kinds[rand_below(r, 3)], (unsigned)rand_below(r, 8), i);
        if (rand_chance(r, 1, 5))
            apiserver_fault(w->server, faults[rand_below(r, ARRAY_LEN(faults))]);
        if (rand_chance(r, 1, 15)) {
            apiserver_shut(w->server, true);
            apiserver_lock(w->server);
            if (rand_chance(r, 1, 2))
                store_compact(w->store, store_revision(w->store));
            apiserver_unlock(w->server);
            apiserver_shut(w->server, false);
        }
        drain(w);
        if (rand_chance(r, 1, 3)) { /* for a moment only: all may have been answered, and nothing is to come */
            (void)poll(&(struct pollfd){ cluster_kube_fd(w->cluster), POLLIN, 0 }, 1, 20);
            drain(w);
        }
    }
}

static void the_mirror_comes_to_equal_the_store(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct world w;
        struct rand r;

        rand_seed(&r, seed);
        world_init(&w, &(struct apiserver_options){ .chops = true, .has_no_initial = seed % 3 == 0 },
                   (struct cluster_kube_options){ .only_lists = seed % 3 == 1 });
        cluster_want(w.cluster, maps());
        storm(&w, &r);
        apiserver_fault(w.server, (struct fault){ 0 });
        until(&w, w.answers == 80); /* each write is answered once */
        until(&w, w.synced && !w.is_listing && is_mirror_true(&w));
        put(&w, 100);
        until(&w, is_mirror_true(&w));
        world_done(&w);
    }
}

/* ---- time ---- */

static int64_t ahead_us;

static int64_t now_ahead(struct clock *c)
{
    (void)c;
    return clock_now_us(&clock_real) + ahead_us;
}

static int64_t mono_ahead(struct clock *c)
{
    (void)c;
    return clock_mono_us(&clock_real) + ahead_us;
}

/* We look when the time has come, but the timer has not rung yet: when it does there may be nothing left to wait for.
 * It must not keep us awake. */
static void a_late_timer_wakes_once(void **state)
{
    struct clock clock = { now_ahead, mono_ahead };
    struct world w;
    int wakes = 0;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ .clock = &clock });
    apiserver_fault(w.server, (struct fault){ FAULT_STATUS, "POST", "configmaps", 1, .status = 429, .seconds = 1 });
    send(&w, OP_CREATE, 1, 1);
    for (struct kube_stats s = { 0 }; !s.busy; cluster_kube_stats(w.cluster, &s))
        wait_more(&w); /* it is to be sent again in a second */
    ahead_us = 2000000;
    until(&w, w.answers == 1);
    for (int64_t end = clock_mono_ms(&clock_real) + 2000; clock_mono_ms(&clock_real) < end && wakes < 1000; wakes++) {
        (void)poll(&(struct pollfd){ cluster_kube_fd(w.cluster), POLLIN, 0 }, 1, 250);
        drain(&w);
    }
    assert_true(wakes < 20);
    world_done(&w);
}

/* ---- the right to write ---- */

static bool is_allowed(void *ctx)
{
    return *(bool *)ctx;
}

/* A program that was stopped, or a machine that slept, goes on in the middle of anything: requests that wait, that are
 * being connected, that were sent. Nothing of them leaves once the right has ended. */
static void nothing_leaves_without_the_right(void **state)
{
    bool right = true;
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 },
               (struct cluster_kube_options){ .may_write = is_allowed, .ctx = &right });
    send(&w, OP_CREATE, 1, 1);
    until(&w, w.answers == 1);
    for (unsigned i = 2; i < 52; i++) /* one leaves over the connection there is; some wait for theirs, the rest wait */
        send(&w, OP_CREATE, i, 1);
    right = false;
    send(&w, OP_CREATE, 60, 1);
    until(&w, w.answers == 52);
    assert_int_equal(w.failed, 51);
    assert_true(w.unknown <= PACE_FIRST);
    right = true; /* another connection, and all of it in order */
    send(&w, OP_CREATE, 61, 1);
    until(&w, w.answers == 53);
    assert_int_equal(w.failed, 51);
    assert_int_equal(apiserver_count(w.server, "POST", "configmaps"), 3); /* those that left while there was a right */
    world_done(&w);
}

static void reads_need_no_right(void **state)
{
    bool right = false;
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 },
               (struct cluster_kube_options){ .may_write = is_allowed, .ctx = &right });
    put(&w, 1);
    cluster_want(w.cluster, maps());
    (void)cluster_read(w.cluster, maps(), STR("n"), STR("c1"));
    until(&w, w.answers == 1 && w.synced);
    assert_int_equal(w.failed, 0);
    world_done(&w);
}

static void a_type_that_is_not_listed(void **state)
{
    struct kube_view view = { .type = maps(), .is_unlisted = true };
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ .views = &view, .n_views = 1 });
    put(&w, 1);
    cluster_want(w.cluster, maps());
    until(&w, w.synced == 1);
    send(&w, OP_CREATE, 2, 1);
    until(&w, w.answers == 1);
    assert_int_equal(w.failed, 0);
    assert_int_equal(w.puts, 0);
    assert_int_equal(apiserver_count(w.server, "GET", "configmaps"), 0);
    world_done(&w);
}

/* One object by name: told as it changes, gone when it is, whether a watch said so or a list did not mention it. */
static void one_object_is_followed(void **state)
{
    struct kube_view view = { .type = maps(), .is_unlisted = true };
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ .views = &view, .n_views = 1 });
    put(&w, 1);
    put(&w, 2);
    w.is_listing = true; /* versions of two watches are in no order */
    (void)cluster_kube_follow(w.cluster, maps(), STR("n"), STR("c1"));
    (void)cluster_kube_follow(w.cluster, maps(), STR("n"), STR("c9"));
    until(&w, w.answers == 2);
    assert_int_equal(w.failed, 0);
    assert_int_equal(w.puts, 1);
    put(&w, 9);
    until(&w, w.puts == 2);
    apiserver_fault(w.server, (struct fault){ FAULT_STATUS, "GET", "metadata.name%3Dc1", 1, 410, 0 });
    send(&w, OP_DELETE, 1, 0);
    until(&w, w.gones == 1);
    cluster_kube_unfollow(w.cluster, maps(), STR("n"), STR("c9"));
    send(&w, OP_DELETE, 9, 0);
    until(&w, w.answers == 4);
    assert_int_equal(w.gones, 1);
    assert_int_equal(w.lists, 0);
    world_done(&w);
}

/* A server that says no is an answer too; it is asked again, and then told what is there. */
static void who_may_not_look_is_told(void **state)
{
    struct kube_view view = { .type = maps(), .is_unlisted = true };
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ .views = &view, .n_views = 1 });
    put(&w, 1);
    w.is_listing = true;
    apiserver_fault(w.server, (struct fault){ FAULT_STATUS, "GET", "configmaps", 3, 403, 0 });
    (void)cluster_kube_follow(w.cluster, maps(), STR("n"), STR("c1"));
    until(&w, w.answers == 1);
    assert_int_equal(w.last.code, ERR_FORBIDDEN);
    until(&w, w.puts == 1);
    assert_int_equal(w.answers, 1);
    world_done(&w);
}

struct heard {
    int n;
    char name[32];
    struct err err;
};

static void on_asked(void *ctx, const struct json *answer, const struct err *e)
{
    struct heard *h = ctx;

    h->n++;
    (void)snprintf(h->name, sizeof(h->name), "%.*s", STR_ARG(object_name(answer)));
    h->err = e ? *e : (struct err){ 0 };
}

static void what_is_asked_is_answered(void **state)
{
    autoarena a = { 0 };
    struct heard h = { 0 };
    struct world w;

    (void)state;
    world_init(&w, &(struct apiserver_options){ 0 }, (struct cluster_kube_options){ 0 });
    apiserver_fault(w.server, (struct fault){ FAULT_STATUS, "POST", "configmaps", 1, 429, 0 });
    cluster_kube_ask(w.cluster, &(struct kube_question){ "POST", STR("/api/v1/namespaces/n/configmaps"),
                                                         config(&a, 5, 0), on_asked, &h });
    assert_int_equal(h.n, 0);
    until(&w, h.n == 1);
    assert_string_equal(h.name, "c5");
    assert_int_equal(h.err.code, ERR_OK);
    cluster_kube_ask(w.cluster,
                     &(struct kube_question){ "GET", STR("/api/v1/namespaces/n/configmaps/none"), NULL, on_asked, &h });
    until(&w, h.n == 2);
    assert_int_equal(h.err.code, ERR_NOT_FOUND);
    assert_int_equal(w.answers, 0);
    cluster_kube_ask(w.cluster,
                     &(struct kube_question){ "GET", STR("/api/v1/namespaces/n/configmaps/c5"), NULL, on_asked, &h });
    world_done(&w);
    assert_int_equal(h.n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_where_it_was),
        cmocka_unit_test(lists_in_pages),
        cmocka_unit_test(a_list_that_breaks_off_is_told_again),
        cmocka_unit_test(a_type_that_is_not_there_is_empty),
        cmocka_unit_test(tells_its_trouble),
        cmocka_unit_test(reads_only_what_the_view_names),
        cmocka_unit_test(answers_mean_what_happened),
        cmocka_unit_test(what_never_left_is_known),
        cmocka_unit_test(an_answer_at_once_is_told),
        cmocka_unit_test(a_new_token_is_taken),
        cmocka_unit_test(many_at_a_time_but_not_too_many),
        cmocka_unit_test(a_late_timer_wakes_once),
        cmocka_unit_test(nothing_leaves_without_the_right),
        cmocka_unit_test(reads_need_no_right),
        cmocka_unit_test(a_type_that_is_not_listed),
        cmocka_unit_test(one_object_is_followed),
        cmocka_unit_test(who_may_not_look_is_told),
        cmocka_unit_test(what_is_asked_is_answered),
        cmocka_unit_test(the_mirror_comes_to_equal_the_store),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    (void)log_setup((struct log_config){ 2, getenv("DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR });
    return cmocka_run_group_tests(tests, NULL, NULL);
}
