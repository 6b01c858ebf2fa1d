/* gather.c - tests of deletes that wait for others: few requests, each delete answered once, and nothing else deleted */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "kube/cluster.h"
#include "kube/test/apiserver.h"

#include <poll.h>
#include <signal.h>

enum { DELETES = 6, GATHER_S = 11 };

struct world {
    struct store *store;
    struct apiserver *server;
    struct cluster *cluster;
    struct kube_config config;
    bool may_write;
    unsigned answers, failed, held; /* held: the object is still there */
};

static int64_t ahead_us;   /* of the clock that the cluster sees */
static int64_t stopped_us; /* it stands at this time; 0: it goes */

static int64_t now_ahead(struct clock *c)
{
    (void)c;
    return clock_now_us(&clock_real) + ahead_us;
}

static int64_t mono_ahead(struct clock *c)
{
    (void)c;
    return (stopped_us ? stopped_us : clock_mono_us(&clock_real)) + ahead_us;
}

static struct clock clock_ahead = { .now_us = now_ahead, .mono_us = mono_ahead };

static bool may_write(void *ctx)
{
    return ((struct world *)ctx)->may_write;
}

static void world_init(struct world *w)
{
    struct store_options store = { .seed = 3, .clock = &clock_real };
    struct cluster_kube_options opt = {
        .config = &w->config, .clock = &clock_ahead, .seed = 1, .may_write = may_write, .ctx = w
    };
    autoarena a = { 0 };
    struct err e = { 0 };

    *w = (struct world){ .may_write = true };
    w->store = store_new(&store);
    (void)store_create(w->store, object_new(&a, "v1", "Namespace", STR_NULL, STR("n")), NULL, NULL);
    w->server = apiserver_start(w->store, &(struct apiserver_options){ 0 });
    w->config.server = str_of(apiserver_url(w->server));
    w->config.origin = STR("test");
    if (cluster_kube_new(&opt, &w->cluster, &e) < 0)
        fail_msg("%s", e.text);
}

static void world_done(struct world *w)
{
    cluster_free(w->cluster);
    apiserver_stop(w->server);
    store_free(w->store);
}

static void drain(struct world *w)
{
    for (struct cluster_event ev; cluster_next(w->cluster, &ev);) {
        assert_int_equal(ev.kind, CLUSTER_RESULT);
        w->answers++;
        w->failed += ev.err.code != ERR_OK;
        w->held += ev.object != NULL;
    }
}

static void until_answered(struct world *w, unsigned n)
{
    for (drain(w); w->answers < n; drain(w))
        if (poll(&(struct pollfd){ cluster_kube_fd(w->cluster), POLLIN, 0 }, 1, 60000) != 1)
            fail_msg("nothing happens");
    assert_int_equal(w->answers, n);
}

static const struct resource_type *row_at(unsigned i)
{
    return type_by_name(i % 2 ? STR("services") : STR("configmaps"));
}

static bool is_there(struct world *w, unsigned i)
{
    autoarena a = { 0 };
    bool yes;

    apiserver_lock(w->server);
    yes = store_get(w->store, row_at(i), STR("n"), arena_fmt(&a, "c%u", i));
    apiserver_unlock(w->server);
    return yes;
}

/* Object i of job i/2; half of them are of another type. */
static void put(struct world *w, unsigned i, const char *finalizer)
{
    autoarena a = { 0 };
    struct json *o = object_new(&a, "v1", row_at(i)->kind, STR("n"), arena_fmt(&a, "c%u", i)), *list;

    object_set_label(&a, o, GATHER_LABEL, arena_fmt(&a, "job-%u", i / 2));
    if (finalizer) {
        list = json_set(json_get(o, "metadata"), "finalizers", json_array(&a));
        json_push(list, json_str(&a, str_of(finalizer)));
    }
    apiserver_lock(w->server);
    assert_int_equal(store_create(w->store, o, NULL, NULL), 0);
    apiserver_unlock(w->server);
}

static void take_away(struct world *w, unsigned i)
{
    autoarena a = { 0 };
    struct op op = { .kind = OP_DELETE, .type = row_at(i), .namespace = STR("n"), .grace_s = -1 };

    op.name = arena_fmt(&a, "c%u", i);
    op.gather = arena_fmt(&a, "job-%u", i / 2);
    apiserver_lock(w->server);
    op.uid = arena_str(&a, store_get(w->store, op.type, op.namespace, op.name)->uid);
    apiserver_unlock(w->server);
    (void)cluster_write(w->cluster, &op);
}

static void take_away_all(struct world *w, const char *finalizer_of_first)
{
    for (unsigned i = 0; i < DELETES; i++)
        put(w, i, i ? NULL : finalizer_of_first);
    put(w, DELETES + 1, NULL); /* of another job, which nobody takes away */
    for (unsigned i = 0; i < DELETES; i++)
        take_away(w, i);
    drain(w);
    assert_int_equal(apiserver_count(w->server, "DELETE", ""), 0); /* they wait */
    ahead_us += GATHER_S * 1000000LL;
}

static void assert_all_gone(struct world *w)
{
    for (unsigned i = 0; i < DELETES; i++)
        assert_false(is_there(w, i));
    assert_true(is_there(w, DELETES + 1));
}

static void one_request_for_each_type(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    take_away_all(&w, NULL);
    until_answered(&w, DELETES);
    assert_int_equal(w.failed + w.held, 0);
    assert_int_equal(apiserver_count(w.server, "DELETE", ""), 2);
    assert_all_gone(&w);
    world_done(&w);
}

/* Whatever comes of the one request, each of them is deleted and answered; who may not ask for all does not ask again. */
static void a_failure_means_one_by_one(void **state)
{
    static const struct {
        struct fault fault;
        unsigned more; /* requests that were for nothing */
        bool is_last;
    } cases[] = {
        { { FAULT_STATUS, "DELETE", "labelSelector", -1, .status = 403 }, 2, true },
        { { FAULT_STATUS, "DELETE", "labelSelector", -1, .status = 405 }, 2, true },
        { { FAULT_STATUS, "DELETE", "labelSelector", -1, .status = 500 }, 2, false },
        { { FAULT_CUT_AFTER, "DELETE", "labelSelector", -1 }, 2, false },
        { { FAULT_CUT_BEFORE, "DELETE", "labelSelector", -1 }, 2, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;

        world_init(&w);
        apiserver_fault(w.server, cases[i].fault);
        take_away_all(&w, NULL);
        until_answered(&w, DELETES);
        assert_int_equal(w.failed,
                         cases[i].fault.kind == FAULT_CUT_AFTER ? DELETES : 0); /* NotFound: what was wanted */
        assert_true(apiserver_count(w.server, "DELETE", "") >= DELETES + cases[i].more);
        assert_all_gone(&w);
        put(&w, 20, NULL);
        take_away(&w, 20);
        drain(&w);
        until_answered(&w, DELETES + (cases[i].is_last ? 1 : 0));
        assert_int_equal(is_there(&w, 20), !cases[i].is_last);
        world_done(&w);
    }
}

/* One that is kept by a finalizer, one whose label somebody has removed: neither is told to be gone. */
static void only_what_is_gone_is_told_so(void **state)
{
    autoarena a = { 0 };
    struct op patch = { .kind = OP_MERGE_PATCH, .namespace = STR("n"), .name = STR("c2"), .body = json_object(&a) };
    struct world w;

    (void)state;
    world_init(&w);
    take_away_all(&w, "example.com/kept");
    patch.type = row_at(2);
    json_set(json_need_object(&a, patch.body, "metadata"), "labels", json_null(&a));
    apiserver_lock(w.server);
    {
        autounref struct object *o = NULL;

        assert_int_equal(store_apply(w.store, &patch, &o, NULL), 0);
    }
    apiserver_unlock(w.server);
    until_answered(&w, DELETES);
    assert_int_equal(w.failed, 0);
    assert_int_equal(w.held, 1);
    assert_true(is_there(&w, 0)); /* until its finalizer goes */
    assert_false(is_there(&w, 2));
    world_done(&w);
}

/* Who has lost the right to write does not send what waited. */
static void nothing_leaves_without_the_right(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    take_away_all(&w, NULL);
    w.may_write = false;
    until_answered(&w, DELETES);
    assert_int_equal(w.failed, DELETES);
    assert_int_equal(apiserver_count(w.server, "DELETE", ""), 0);
    assert_true(is_there(&w, 0));
    world_done(&w);
}

/* Somebody else's request, answered. */
static void write_another(struct world *w, unsigned i)
{
    autoarena a = { 0 };
    struct op op = { .kind = OP_CREATE, .type = type_by_name(STR("configmaps")) };
    unsigned answers = w->answers;

    op.namespace = STR("n");
    op.name = arena_fmt(&a, "other%u", i);
    op.body = object_new(&a, "v1", "ConfigMap", op.namespace, op.name);
    (void)cluster_write(w->cluster, &op);
    until_answered(w, answers + 1);
}

/* Moments without a request between others are no rest: what waits does so until a whole second was quiet. */
static void they_wait_for_a_quiet_second(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    stopped_us = clock_mono_us(&clock_real);
    put(&w, DELETES + 1, NULL);
    for (unsigned i = 0; i < 2; i++) {
        put(&w, i, NULL);
        take_away(&w, i);
    }
    for (unsigned i = 0; i < 5; i++) {
        ahead_us += 900000;
        write_another(&w, i);
        assert_int_equal(apiserver_count(w.server, "DELETE", ""), 0);
    }
    ahead_us += 1000000;
    until_answered(&w, 5 + 2);
    assert_int_equal(apiserver_count(w.server, "DELETE", ""), 2);
    stopped_us = 0;
    world_done(&w);
}

/* A program may end while some wait. */
static void ends_at_any_time(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    take_away_all(&w, NULL);
    world_done(&w);
    world_init(&w);
    take_away_all(&w, NULL);
    (void)poll(&(struct pollfd){ cluster_kube_fd(w.cluster), POLLIN, 0 }, 1, 0);
    for (struct cluster_event ev; cluster_next(w.cluster, &ev);)
        ;
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_for_each_type),    cmocka_unit_test(a_failure_means_one_by_one),
        cmocka_unit_test(only_what_is_gone_is_told_so), cmocka_unit_test(nothing_leaves_without_the_right),
        cmocka_unit_test(they_wait_for_a_quiet_second), cmocka_unit_test(ends_at_any_time),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    (void)log_setup((struct log_config){ 2, getenv("DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR });
    return cmocka_run_group_tests(tests, NULL, NULL);
}
