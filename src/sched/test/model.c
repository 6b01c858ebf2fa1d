/* model.c - tests of the counters: pods change state and place, groups change queue, and every sum stays right */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/model/feed.h"
#include "sched/queue/share.h"
#include "sched/test/check.h"

static struct arena arena;
static struct sched_model m;

static int setup(void **state)
{
    struct sched_config config;

    sched_config_default(&config);
    model_init(&m, &config, 1);
    return 0;
}

static int teardown(void **state)
{
    model_check(&m);
    model_done(&m);
    arena_done(&arena);
    return 0;
}

static struct json *tree(struct str copy)
{
    struct json *j;
    struct err e;

    for (size_t i = 0; i < copy.n; i++)
        if (copy.p[i] == '\'')
            ((char *)copy.p)[i] = '"';
    if (json_parse(&arena, copy, NULL, &j, &e) < 0)
        fail_msg("%.*s: %s", STR_ARG(copy), e.text);
    return j;
}

static void put_node(const char *name, int cpu)
{
    feed_put(&m, tree(arena_fmt(&arena,
                                "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s'},"
                                "'status':{'allocatable':{'cpu':%d,'pods':10,'x.com/x':3}}}",
                                name, cpu)));
}

static struct json *pod_tree(const char *requests, const char *ports)
{
    return tree(arena_fmt(&arena, "{'spec':{'containers':[{'name':'c','resources':{'requests':{%s}},'ports':[%s]}]}}",
                          requests, ports));
}

/* A pod of group g in queue default, as the model wants it. */
static struct sched_pod *add_pod(const char *name, const char *group, const char *requests, const char *ports)
{
    struct sched_pod *p = model_new_pod(
        &m, &(struct pod_text){ .uid = str_of(name), .namespace = STR("ns"), .name = str_of(name) });

    p->class = class_ref(&m, STR("ns"), pod_tree(requests, ports));
    if (*group) {
        p->group = model_need_group(&m, STR("ns"), str_of(group));
        p->role = group_need_role(p->group, STR("worker"));
    }
    model_pod_in(&m, p);
    model_sync_dims(&m);
    return p;
}

static struct sched_node *node(const char *name)
{
    return model_node(&m, str_of(name));
}

static struct sched_queue *queue(const char *name)
{
    return model_queue(&m, str_of(name));
}

/* ---- one pod through its states ---- */

static void test_states(void **state)
{
    static const struct {
        enum pod_state state;
        bool has_node;
        int64_t used, going, allocated, queue_going, pending; /* in cpu, of 2 */
        bool makes_room;
    } steps[] = {
        { POD_PENDING, false, 0, 0, 0, 0, 2, false }, { POD_BINDING, true, 2, 0, 2, 0, 0, false },
        { POD_BOUND, true, 2, 0, 2, 0, 0, false },    { POD_RUNNING, true, 2, 0, 2, 0, 0, false },
        { POD_GOING, true, 2, 2, 0, 2, 0, true },     { POD_RUNNING, true, 2, 0, 2, 0, 0, true },
        { POD_SUCCEEDED, true, 0, 0, 0, 0, 0, true }, { POD_RUNNING, true, 2, 0, 2, 0, 0, false },
        { POD_FAILED, true, 0, 0, 0, 0, 0, true },    { POD_UNKNOWN, true, 2, 0, 0, 0, 0, false },
        { POD_GOING, false, 0, 0, 0, 0, 0, true },    { POD_PENDING, true, 0, 0, 0, 0, 2, false },
    };
    struct sched_pod *p;

    put_node("n1", 8);
    p = add_pod("p", "g", "'cpu':2", "");
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct sched_group *g = p->group;
        uint64_t room = m.room_gen;

        model_set_pod(&m, p, steps[i].state, steps[i].has_node ? node("n1") : NULL);
        model_check(&m);
        if (node("n1")->used.v[DIM_CPU] != 1000 * steps[i].used || m.used.v[DIM_CPU] != 1000 * steps[i].used ||
            node("n1")->moving.v[DIM_CPU] != 1000 * steps[i].used ||
            node("n1")->going.v[DIM_CPU] != 1000 * steps[i].going ||
            g->counts.allocated.v[DIM_CPU] != 1000 * steps[i].allocated ||
            g->counts.going.v[DIM_CPU] != 1000 * steps[i].queue_going ||
            g->counts.pending.v[DIM_CPU] != 1000 * steps[i].pending ||
            m.root->allocated.v[DIM_CPU] != 1000 * steps[i].allocated ||
            queue("default")->going.v[DIM_CPU] != 1000 * steps[i].queue_going || g->counts.n[steps[i].state] != 1)
            fail_msg("step %zu", i);
        if ((m.room_gen != room) != steps[i].makes_room)
            fail_msg("step %zu: room", i);
        assert_true(g->is_dirty);
    }
    model_drop_pod(&m, p);
    assert_null(model_group(&m, STR("ns"), STR("g"))); /* nobody names it any more */
    assert_null(queue("default"));
    assert_int_equal(m.dirty.head.next == &m.dirty.head, 1);
}

static void test_nothing_changes(void **state)
{
    struct sched_pod *p;
    uint64_t room, version;

    put_node("n1", 8);
    p = add_pod("p", "g", "'cpu':2", "");
    model_set_pod(&m, p, POD_RUNNING, node("n1"));
    list_remove(&p->group->in_dirty);
    p->group->is_dirty = false;
    room = m.room_gen;
    version = node("n1")->version;
    model_set_pod(&m, p, POD_RUNNING, node("n1"));
    assert_false(p->group->is_dirty);
    assert_int_equal(m.room_gen, room);
    assert_int_equal(node("n1")->version, version);
}

static void test_foreign(void **state)
{
    struct sched_pod *p;

    put_node("n1", 8);
    p = add_pod("d", "", "'cpu':2", "");
    model_set_pod(&m, p, POD_RUNNING, node("n1"));
    assert_int_equal(node("n1")->used.v[DIM_CPU], 2000);
    assert_int_equal(node("n1")->moving.v[DIM_CPU], 0);
    assert_int_equal(m.root->allocated.v[DIM_CPU], 0);
}

static void test_unknown_node(void **state)
{
    struct sched_pod *p = add_pod("p", "g", "'cpu':2", "");
    struct sched_node *n = model_need_node(&m, STR("ghost"));

    model_set_pod(&m, p, POD_RUNNING, n);
    assert_int_equal(n->used.v[DIM_CPU], 2000);
    assert_int_equal(m.used.v[DIM_CPU], 0); /* only nodes that exist */
    model_order(&m);
    assert_int_equal(m.n_order, 0);
    put_node("ghost", 8);
    assert_int_equal(m.used.v[DIM_CPU], 2000);
    assert_ptr_equal(node("ghost"), n);
    feed_gone(&m, STR("Node"), STR_NULL, STR("ghost"), STR_NULL);
    assert_ptr_equal(node("ghost"), n); /* the pod is still there */
    assert_int_equal(m.total.v[DIM_CPU], 0);
    model_check(&m);
    model_set_pod(&m, p, POD_FAILED, NULL);
    assert_null(node("ghost"));
}

static void test_nomination_holds_node(void **state)
{
    struct sched_pod *p = add_pod("p", "g", "'cpu':2", "");

    model_nominate(&m, p, model_need_node(&m, STR("n1")));
    assert_non_null(node("n1"));
    model_check(&m);
    model_nominate(&m, p, model_need_node(&m, STR("n2")));
    assert_null(node("n1"));
    model_drop_pod(&m, p);
    assert_null(node("n2"));
}

/* ---- ports ---- */

static void test_ports(void **state)
{
    struct sched_pod *a, *b;
    struct sched_node *n;

    put_node("n1", 8);
    n = node("n1");
    a = add_pod("a", "g", "", "{'containerPort':1,'hostPort':80,'hostIP':'10.0.0.1'},{'containerPort':2,'hostPort':9}");
    b = add_pod("b", "g", "'cpu':1", "{'containerPort':1,'hostPort':80,'hostIP':'10.0.0.1'}");
    model_set_pod(&m, a, POD_RUNNING, n);
    model_set_pod(&m, b, POD_RUNNING, n);
    assert_int_equal(n->ports.n, 2);
    assert_int_equal(n->ports.v[1].uses, 2);
    model_drop_pod(&m, a); /* its class, and the text of the address in it, is gone */
    assert_int_equal(n->ports.n, 1);
    assert_true(str_is(n->ports.v[0].ip, "10.0.0.1"));
    model_check(&m);
    for (int i = 0; i < 2000; i++) {
        model_set_pod(&m, b, POD_PENDING, NULL);
        model_set_pod(&m, b, POD_RUNNING, n);
    }
    assert_true(n->port_arena.used < 10000);
}

/* ---- trials ---- */

static void test_take_and_give(void **state)
{
    struct sched_pod *p;
    uint64_t version;

    put_node("n1", 8);
    p = add_pod("p", "g", "'cpu':2,'x.com/x':1", "{'containerPort':1,'hostPort':80}");
    version = node("n1")->version;
    node_take(&m, node("n1"), p->class);
    assert_int_equal(node("n1")->used.v[DIM_CPU], 2000);
    assert_int_equal(m.used.v[DIM_CPU], 2000);
    assert_int_equal(node("n1")->ports.n, 1);
    assert_true(node("n1")->version > version);
    node_give(&m, node("n1"), p->class);
    model_check(&m);
    node_hold(&m, node("n1"), &p->class->ask);
    assert_int_equal(node("n1")->held.v[DIM_CPU], 2000);
    node_unhold(&m, node("n1"), &p->class->ask);
    assert_true(amounts_is_zero(&node("n1")->held, AMOUNT_DIMS));
}

/* ---- dimensions ---- */

static void test_new_dimension(void **state)
{
    struct sched_pod *p;
    int x;

    put_node("n1", 8);
    put_node("n2", 8);
    assert_int_equal(dim_find(&m.dims, STR("x.com/x")), -1); /* nobody asked */
    p = add_pod("p", "g", "'x.com/x':1", "");
    x = dim_find(&m.dims, STR("x.com/x"));
    assert_int_equal(node("n1")->total.v[x], 3);
    assert_int_equal(m.total.v[x], 6);
    assert_int_equal(queue("default")->capability.v[x], AMOUNT_UNLIMITED);
    model_check(&m);
    model_drop_pod(&m, p);
}

/* ---- groups and queues ---- */

static void test_move_between_queues(void **state)
{
    const struct amounts some = { { 5, 6, 7 } };
    struct sched_pod *p, *q;
    struct sched_group *g;

    put_node("n1", 8);
    p = add_pod("p", "g", "'cpu':2", "");
    q = add_pod("q", "g", "'cpu':1", "");
    g = p->group;
    model_set_pod(&m, p, POD_RUNNING, node("n1"));
    model_set_pod(&m, q, POD_RUNNING, node("n1"));
    model_set_pod(&m, q, POD_GOING, node("n1"));
    model_set_demand(&m, g, &some);
    model_set_admitted(&m, g, &some);
    model_check(&m);
    feed_put(&m, tree(arena_str(&arena, STR("{'apiVersion':'scheduling.volcano.sh/v1beta1','kind':'Queue',"
                                            "'metadata':{'name':'top'}}"))));
    feed_put(&m, tree(arena_str(&arena, STR("{'apiVersion':'scheduling.volcano.sh/v1beta1','kind':'Queue',"
                                            "'metadata':{'name':'low'},'spec':{'parent':'top'}}"))));
    share_link(&m);
    model_set_queue(&m, g, STR("low"));
    model_check(&m);
    assert_null(queue("default"));
    assert_int_equal(queue("top")->allocated.v[DIM_CPU], 2000);
    assert_int_equal(queue("top")->going.v[DIM_CPU], 1000);
    assert_int_equal(queue("top")->demand.v[1], 6);
    assert_int_equal(m.root->admitted.v[2], 7);
    feed_gone(&m, STR("Queue"), STR_NULL, STR("top"), STR_NULL);
    assert_null(queue("top"));
    assert_ptr_equal(queue("low")->parent, m.root);
    model_check(&m);
}

static void test_absurd_sums(void **state)
{
    struct amounts huge = { 0 }, none = { 0 };
    struct sched_group *g[300];

    amounts_fill(&huge, AMOUNT_UNLIMITED);
    for (int i = 0; i < 300; i++) {
        struct sched_pod *p = add_pod(arena_cstr(&arena, arena_fmt(&arena, "p%d", i)),
                                      arena_cstr(&arena, arena_fmt(&arena, "g%d", i)), "'memory':'9E'", "");

        g[i] = p->group;
        model_set_demand(&m, g[i], &huge);
    }
    assert_int_equal(m.root->demand.v[DIM_MEMORY], AMOUNT_UNLIMITED);
    model_check(&m);
    for (int i = 1; i < 300; i++)
        model_set_demand(&m, g[i], &none);
    model_check(&m);
    assert_int_equal(m.root->demand.v[DIM_MEMORY], g[0]->demand.v[DIM_MEMORY]);
}

/* Thousands of pods, each asking for more than there can be. */
static void test_absurd_pods(void **state)
{
    enum { N = 3000 };
    static struct sched_pod *pods[N];

    put_node("n1", 8);
    for (int i = 0; i < N; i++) {
        pods[i] = add_pod(arena_cstr(&arena, arena_fmt(&arena, "p%d", i)), "g", "'memory':'9E'", "");
        model_set_pod(&m, pods[i], POD_RUNNING, node("n1"));
    }
    assert_int_equal(node("n1")->used.v[DIM_MEMORY], AMOUNT_UNLIMITED);
    model_check(&m);
    for (int i = 0; i < N; i += 2)
        model_set_pod(&m, pods[i], i % 4 ? POD_GOING : POD_SUCCEEDED, node("n1"));
    model_check(&m);
    for (int i = 0; i < N; i++)
        model_set_pod(&m, pods[i], POD_PENDING, NULL);
    model_check(&m);
    assert_int_equal(node("n1")->used.v[DIM_MEMORY], 0);
}

static void test_counts(void **state)
{
    struct sched_group *g = model_need_group(&m, STR("ns"), STR("g"));
    struct sched_pod *p[4];

    assert_true(group_is_whole(g)); /* nothing is wanted */
    put_node("n1", 8);
    for (int i = 0; i < 4; i++)
        p[i] = add_pod(arena_cstr(&arena, arena_fmt(&arena, "p%d", i)), "g", "'cpu':1", "");
    g->spec.min_member = 2;
    assert_int_equal(group_min(g), 2);
    assert_int_equal(group_live(g), 4);
    assert_false(group_is_whole(g));
    model_pod_out(&m, p[3]);
    p[3]->is_gated = true;
    model_pod_in(&m, p[3]);
    assert_int_equal(group_live(g), 3);
    assert_int_equal(g->counts.n_gated, 1);
    assert_int_equal(g->counts.pending.v[DIM_CPU], 3000);
    model_set_pod(&m, p[0], POD_BINDING, node("n1"));
    model_set_pod(&m, p[1], POD_SUCCEEDED, NULL);
    assert_int_equal(group_ready(g), 2);
    assert_true(group_is_whole(g));
    group_need_role(g, STR("ps"))->told_min = 1;
    group_need_role(g, STR("worker"))->told_min = 2;
    group_settle_minima(g);
    assert_int_equal(group_min(g), 3);
    assert_false(group_is_whole(g));
    g->spec.min_member = 0;
    group_role(g, STR("ps"))->told_min = 0;
    group_settle_minima(g);
    assert_true(group_is_whole(g));
    g->spec.job_min = 5;
    assert_int_equal(group_min(g), 5);
    assert_ptr_equal(group_role(g, STR("nobody")), NULL);
}

/* A Job that says it runs with less than all: what Volcano filled in as minima of its tasks does not hold it up. */
static void test_minima_of_jobs(void **state)
{
    static const struct {
        int64_t min_member, told[2], replicas[2];
        bool has_job;
        int64_t min;
    } cases[] = {
        { 3, { 5, 0 }, { 5, 0 }, true, 3 }, { 3, { 5, 0 }, { 5, 0 }, false, 5 }, { 6, { 5, 1 }, { 5, 1 }, true, 6 },
        { 2, { 1, 2 }, { 1, 5 }, true, 2 }, { 2, { 1, 3 }, { 1, 5 }, true, 3 },  { 0, { 2, 2 }, { 2, 2 }, true, 0 },
        { 4, { 1, 2 }, { 1, 5 }, true, 4 },
    };
    struct sched_group *g = model_need_group(&m, STR("ns"), STR("g"));
    struct sched_role *roles[2] = { group_need_role(g, STR("a")), group_need_role(g, STR("b")) };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        g->spec.min_member = cases[i].min_member;
        g->job.exists = cases[i].has_job;
        for (int k = 0; k < 2; k++) {
            roles[k]->told_min = cases[i].told[k];
            roles[k]->replicas = cases[i].replicas[k];
        }
        group_settle_minima(g);
        if (group_min(g) != cases[i].min)
            fail_msg("case %zu: %lld", i, (long long)group_min(g));
    }
    g->job.exists = false;
    model_release_group(&m, g);
}

static void test_order(void **state)
{
    put_node("b", 1);
    put_node("c", 1);
    put_node("a", 1);
    model_order(&m);
    assert_int_equal(m.n_order, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(m.order[i]->name.p[0], "abc"[i]);
    feed_gone(&m, STR("Node"), STR_NULL, STR("b"), STR_NULL);
    assert_true(m.is_unordered);
    model_order(&m);
    assert_int_equal(m.n_order, 2);
    assert_int_equal(node("c")->index, 1);
}

/* ---- all at once ---- */

static void random_step(struct rand *r, struct sched_pod **pods, size_t n_pods)
{
    static const char *const groups[] = { "g1", "g2", "g3" }, *const queues[] = { "default", "qa", "qb" };
    struct sched_pod *p = pods[rand_below(r, n_pods)];
    struct sched_group *g = model_group(&m, STR("ns"), str_of(groups[rand_below(r, 3)]));
    struct amounts v = { 0 };
    struct sched_node *n;
    struct str name = STR_NULL;

    switch (rand_below(r, 6)) {
    case 0:
        for (int d = 0; d < m.dims.n; d++)
            v.v[d] = (int64_t)rand_below(r, 5);
        if (g)
            (rand_chance(r, 1, 2) ? model_set_demand : model_set_admitted)(&m, g, &v);
        return;
    case 1:
        if (g)
            model_set_queue(&m, g, str_of(queues[rand_below(r, 3)]));
        return;
    case 2:
        model_pod_out(&m, p);
        p->is_gated = !p->is_gated;
        model_pod_in(&m, p);
        return;
    default:
        if (!rand_chance(r, 1, 4))
            name = arena_fmt(&arena, "n%d", (int)rand_below(r, 4));
        model_set_pod(&m, p, (enum pod_state)rand_below(r, POD_STATE_MAX), name.n ? model_need_node(&m, name) : NULL);
        n = model_node(&m, name); /* a pod that waits or has finished takes no place */
        if (n)
            model_release_node(&m, n);
    }
}

static void test_random(void **state)
{
    struct sched_pod *pods[12];
    struct rand r;

    rand_seed(&r, 4);
    put_node("n1", 8);
    put_node("n2", 8);
    for (int i = 0; i < 12; i++)
        pods[i] = add_pod(arena_cstr(&arena, arena_fmt(&arena, "p%d", i)),
                          (const char *[]){ "g1", "g2", "g3", "" }[i % 4],
                          (const char *[]){ "'cpu':1", "'memory':'1Gi','x.com/x':1", "" }[i % 3],
                          i % 5 ? "" : "{'containerPort':1,'hostPort':80}");
    for (int i = 0; i < 20000; i++) {
        random_step(&r, pods, 12);
        model_check(&m);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_states),
        TEST(test_nothing_changes),
        TEST(test_foreign),
        TEST(test_unknown_node),
        TEST(test_nomination_holds_node),
        TEST(test_ports),
        TEST(test_take_and_give),
        TEST(test_new_dimension),
        TEST(test_move_between_queues),
        TEST(test_absurd_sums),
        TEST(test_absurd_pods),
        TEST(test_counts),
        TEST(test_minima_of_jobs),
        TEST(test_order),
        TEST(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
