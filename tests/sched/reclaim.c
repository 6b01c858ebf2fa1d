/* reclaim.c - what a queue has beyond its share goes back to those entitled to it, at every level of the tree */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* 'n' jobs of one pod each, that run: <prefix>0 … */
static void fill(struct h *h, const char *prefix, int n, const char *queue)
{
    h_singles(h, prefix, 0, n, queue, "cpu: 1");
    h_work(h, h->config.min_run_ms + 5000, 5000);
}

static void gang(struct h *h, const char *name, int n, const char *queue)
{
    h_group(h, name, .min = n, .queue = queue);
    h_pods(h, name, "w", n, "cpu: 1");
}

/* A control plane has CPUs that no pod may use: they are in nobody's share, so what is beyond it goes back. */
static void what_none_may_use_is_not_shared(void **state)
{
    static const struct {
        const char *name, *more;
        int evicted;
    } rows[] = {
        { "tainted", "spec: {taints: [{key: control-plane, effect: NoSchedule}]}", 2 },
        { "cordoned", "spec: {unschedulable: true}", 2 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct h *h = h_new(NULL);

        h_node(h, "n1", "cpu: 4");
        h_node_more(h, "n0", "cpu: 8", rows[i].more);
        h_queue(h, "a", "weight: 1");
        h_queue(h, "b", "weight: 1");
        fill(h, "a", 4, "a");
        gang(h, "b", 2, "b");
        h_work(h, 30000, 1000);
        if (h_bound(h, "b") != 2 || (int)h->all.n[DECIDE_EVICT] != rows[i].evicted)
            fail_msg("%s: %d bound, %u evicted", rows[i].name, h_bound(h, "b"), h->all.n[DECIDE_EVICT]);
        h_free(h);
    }
}

/* Below 'p', which may have 4 of 8, are c1, which has all of it, and c2, which asks for 'ask' at once. */
static const struct {
    const char *name, *c1, *c2;
    int ask, want, evicted;
} pairs[] = {
    { "each deserves half", "deserved: {cpu: 2}", "deserved: {cpu: 2}", 2, 2, 2 },
    { "only a part of it", "deserved: {cpu: 2}", "deserved: {cpu: 2}", 1, 1, 1 },
    { "more than its own", "deserved: {cpu: 2}", "deserved: {cpu: 2}", 3, 0, 0 },
    { "by weight", "weight: 1", "weight: 3", 3, 3, 3 },
    { "beyond its weight", "weight: 3", "weight: 1", 2, 0, 0 },
    { "what is guaranteed to it", "weight: 1", "weight: 1, guarantee: {resource: {cpu: 3}}", 3, 3, 3 },
    { "not what is guaranteed to the other", "guarantee: {resource: {cpu: 3}}", "weight: 1", 2, 0, 0 },
    { "what is beyond the guarantee of the other", "guarantee: {resource: {cpu: 3}}", "weight: 1", 1, 1, 1 },
    { "one that gives nothing back", "deserved: {cpu: 2}, reclaimable: false", "deserved: {cpu: 2}", 2, 0, 0 },
};

static void below_a_full_parent(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct h *h = h_new(NULL);
        char spec[120];

        h_node(h, "n1", "cpu: 8");
        h_queue(h, "p", "weight: 1, capability: {cpu: 4}");
        snprintf(spec, sizeof(spec), "parent: p, %s", pairs[i].c1);
        h_queue(h, "c1", spec);
        fill(h, "a", 4, "c1");
        snprintf(spec, sizeof(spec), "parent: p, %s", pairs[i].c2);
        h_queue(h, "c2", spec);
        h_settle(h);
        gang(h, "b", pairs[i].ask, "c2");
        h_work(h, 30000, 1000);
        if (h_bound(h, "b") != pairs[i].want || (int)h->all.n[DECIDE_EVICT] != pairs[i].evicted)
            fail_msg("%s: %d bound, %u evicted", pairs[i].name, h_bound(h, "b"), h->all.n[DECIDE_EVICT]);
        h_free(h);
    }
}

/* Jobs that are not let in yet, because what their parent may have is in use. */
static void below_a_full_parent_before_admission(void **state)
{
    struct h *h = h_new(NULL);
    const char *b;

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "p", "weight: 1, capability: {cpu: 4}");
    h_queue(h, "c1", "parent: p, deserved: {cpu: 2}");
    h_queue(h, "c2", "parent: p, deserved: {cpu: 2}");
    fill(h, "a", 4, "c1");
    b = h_job(h, "b", .min = 2, .replicas = 2, .pod = "cpu: 1", .queue = "c2",
              .group_more = "spec: {minResources: {cpu: 2}}");
    h_work(h, 10000, 1000);
    h_job_pods(h, b, 2);
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, b), 2);
    assert_int_equal(h_bound_all(h, "a", 4), 2);
    h_free(h);
}

/* Three levels: everybody gets its own back, from the right place, and not more. */
static void three_levels(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 16");
    h_queue(h, "p", "weight: 1, capability: {cpu: 8}");
    h_queue(h, "x", "parent: p, deserved: {cpu: 4}");
    h_queue(h, "y", "parent: p, deserved: {cpu: 4}");
    h_queue(h, "x1", "parent: x, weight: 1");
    h_queue(h, "x2", "parent: x, weight: 1");
    h_queue(h, "y1", "parent: y, weight: 1");
    h_queue(h, "o", "weight: 1");
    fill(h, "o", 4, "o");
    fill(h, "a", 8, "x1");
    assert_int_equal(h_bound_all(h, "a", 8), 8);
    gang(h, "y", 4, "y1");
    h_work(h, 20000, 1000);
    assert_int_equal(h_bound(h, "y"), 4);
    assert_int_equal(h_bound_all(h, "a", 8), 4);
    gang(h, "b", 2, "x2");
    h_work(h, 20000, 1000);
    assert_int_equal(h_bound(h, "b"), 2);
    assert_int_equal(h_bound_all(h, "a", 8), 2);
    assert_int_equal(h_bound(h, "y"), 4);
    assert_int_equal(h_bound_all(h, "o", 4), 4); /* nothing of it would have helped */
    h_free(h);
}

/* What is guaranteed to a third and idle stays idle; what the second has too much goes to the first. */
static void beside_an_idle_guarantee(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "sure", "weight: 1, guarantee: {resource: {cpu: 2}}");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    fill(h, "b", 8, "qb");
    assert_int_equal(h_bound_all(h, "b", 8), 6);
    gang(h, "a", 3, "qa");
    h_work(h, 20000, 1000);
    assert_int_equal(h_bound(h, "a"), 3);
    assert_int_equal(h_bound_all(h, "b", 8), 3);
    gang(h, "s", 2, "sure");
    h_work(h, 2000, 1000);
    assert_int_equal(h_bound(h, "s"), 2);
    h_free(h);
}

/* A gang goes as a whole, also when less would do. */
static void a_gang_goes_whole(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "p", "weight: 1, capability: {cpu: 4}");
    h_queue(h, "c1", "parent: p, weight: 1");
    h_queue(h, "c2", "parent: p, weight: 1");
    gang(h, "a", 4, "c1");
    h_work(h, h->config.min_run_ms + 5000, 5000);
    gang(h, "b", 2, "c2");
    h_work(h, 20000, 1000);
    assert_int_equal(h_bound(h, "b"), 2);
    assert_int_equal(h_bound(h, "a"), 0);
    h_free(h);
}

/* 'pods' is a resource like any other, unlike in Volcano: who has more than its share of the places gives some back,
 * also where there is more than enough of everything else. */
static void pods_are_shared(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 100, pods: 4");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    fill(h, "b", 4, "qb");
    assert_int_equal(h_bound_all(h, "b", 4), 4);
    gang(h, "a", 2, "qa");
    h_work(h, 20000, 1000);
    assert_int_equal(h_bound(h, "a"), 2);
    assert_int_equal(h_bound_all(h, "b", 4), 2);
    h_free(h);
}

/* A pod of one CPU in a queue of its own on a node. */
static void on_node(struct h *h, const char *queue, int i)
{
    char name[16], more[80];

    snprintf(name, sizeof(name), "%s%d", queue, i);
    snprintf(more, sizeof(more), "spec: {nodeSelector: {name: n%d}}", i);
    h_group(h, name, .min = 1, .queue = queue);
    h_pods_more(h, name, "w", 1, "cpu: 1", more);
    h_work(h, 2000, 1000);
}

/* Two queues have one CPU too much each, and a pod on every node. The youngest of them lie on different nodes, where
 * they are of no use: those go that lie on one. */
static void surplus_is_spread_over_nodes(void **state)
{
    for (int pods = 1; pods <= 2; pods++) {
        struct h *h = h_new(NULL);

        (void)state;
        for (int i = 0; i < 4; i++) {
            char name[8], more[40];

            snprintf(name, sizeof(name), "n%d", i);
            snprintf(more, sizeof(more), "metadata: {labels: {name: %s}}", name);
            h_node_more(h, name, "cpu: 2", more);
        }
        h_queue(h, "qa", pods == 1 ? "deserved: {cpu: 2}" : "deserved: {cpu: 4}");
        h_queue(h, "qb", pods == 1 ? "deserved: {cpu: 3}" : "deserved: {cpu: 2}");
        h_queue(h, "qc", pods == 1 ? "deserved: {cpu: 3}" : "deserved: {cpu: 2}");
        for (int i = 0; i < 4; i++)
            on_node(h, "qb", i);
        for (int i = 3; i >= 0; i--)
            on_node(h, "qc", i);
        h_work(h, h->config.min_run_ms + 5000, 5000);
        h_group(h, "a", .min = pods, .queue = "qa");
        h_pods(h, "a", "w", pods, "cpu: 2");
        h_work(h, 20000, 1000);
        assert_int_equal(h_bound(h, "a"), pods);
        assert_int_equal(h->all.n[DECIDE_EVICT], 2 * pods);
        h_free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_none_may_use_is_not_shared),
        cmocka_unit_test(below_a_full_parent),
        cmocka_unit_test(below_a_full_parent_before_admission),
        cmocka_unit_test(three_levels),
        cmocka_unit_test(beside_an_idle_guarantee),
        cmocka_unit_test(a_gang_goes_whole),
        cmocka_unit_test(surplus_is_spread_over_nodes),
        cmocka_unit_test(pods_are_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
