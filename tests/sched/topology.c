/* topology.c - network topology and sub-groups: items 52 and 53 of the checklist; D8 */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* Two racks of two nodes with two CPUs each below one spine. */
static struct h *racks(void)
{
    struct h *h = h_new(NULL);

    for (int i = 0; i < 4; i++)
        h_node(h, (const char *[]){ "n1", "n2", "n3", "n4" }[i], "cpu: 2");
    h_hyper(h, "rack1", 1, "Node", "n1, n2");
    h_hyper(h, "rack2", 1, "Node", "n3, n4");
    h_hyper(h, "spine", 2, "HyperNode", "rack1, rack2");
    return h;
}

static int rack_of(struct h *h, const char *pod)
{
    struct str node = h_node_of(h, pod);

    return str_empty(node) ? 0 : str_is(node, "n1") || str_is(node, "n2") ? 1 : 2;
}

static void item_52_hard(void **state)
{
    struct h *h = racks();

    (void)state;
    h_group(h, "big", .min = 5, .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}");
    h_pods(h, "big", "w", 5, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "big"), 0); /* eight CPUs, but no rack of five */
    h_group(h, "fits", .min = 4, .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}");
    h_pods(h, "fits", "w", 4, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "fits"), 4);
    for (int i = 1; i < 4; i++) {
        char pod[16];

        snprintf(pod, sizeof(pod), "fits-w-%d", i);
        assert_int_equal(rack_of(h, pod), rack_of(h, "fits-w-0"));
    }
    h_free(h);
}

static void item_52_next_tier(void **state)
{
    struct h *h = racks();

    (void)state;
    h_group(h, "big", .min = 5, .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 2}}");
    h_pods(h, "big", "w", 5, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "big"), 5);
    h_free(h);
}

static void item_52_soft(void **state)
{
    struct h *h = racks();
    int same = 0;

    (void)state;
    h_group(h, "small", .min = 3, .more = "spec: {networkTopology: {mode: soft, highestTierAllowed: 1}}");
    h_pods(h, "small", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "small"), 3);
    same = rack_of(h, "small-w-0") == rack_of(h, "small-w-1") && rack_of(h, "small-w-1") == rack_of(h, "small-w-2");
    assert_true(same); /* near each other where it can be */
    h_group(h, "big", .min = 5, .more = "spec: {networkTopology: {mode: soft, highestTierAllowed: 1}}");
    h_pods(h, "big", "w", 5, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "big"), 5); /* and across where it cannot */
    h_free(h);
}

/* A member that comes back goes to the domain the others are in. */
static void item_52_replacement_stays_in_the_domain(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) { /* also for a scheduler that did not choose the domain (D9) */
        struct h *h = racks();

        h_stranger(h, "default", "stranger", "n1", "cpu: 2"); /* so that rack2 is chosen */
        h_group(h, "g", .min = 3, .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}");
        h_pods(h, "g", "w", 3, "cpu: 1");
        h_settle(h);
        h_run(h);
        h_settle(h);
        h_delete(h, "Pod", "g-w-1");
        h_delete(h, "Pod", "stranger");
        if (restart)
            h_restart(h);
        h_pods(h, "g", "w", 1, "cpu: 1");
        h_settle(h);
        assert_int_equal(h_bound(h, "g"), 3);
        assert_int_equal(rack_of(h, "g-w-1"), rack_of(h, "g-w-0"));
        h_free(h);
    }
}

static void D8_topology_preempts(void **state)
{
    struct h *h = racks();

    (void)state;
    h_priority(h, "high", 100, NULL);
    for (int i = 0; i < 8; i++) {
        char name[8];

        snprintf(name, sizeof(name), "low%d", i);
        h_group(h, name, .min = 1);
        h_pods(h, name, "w", 1, "cpu: 1");
    }
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound(h, NULL), 8);
    h_group(h, "g", .min = 3, .priority = "high",
            .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}");
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, "g"), 3);
    assert_int_equal(rack_of(h, "g-w-1"), rack_of(h, "g-w-0"));
    assert_int_equal(rack_of(h, "g-w-2"), rack_of(h, "g-w-0"));
    assert_int_equal(h->all.n[DECIDE_EVICT], 3);
    h_free(h);
}

static const char sub_groups[] =
    "spec: {subGroupPolicy: [{name: part, subGroupSize: 4, minSubGroups: 2, labelSelector: {matchLabels: "
    "{volcano.sh/task-spec: w}}, matchLabelKeys: [volcano.sh/partition-id], networkTopology: {mode: hard, "
    "highestTierAllowed: 1}}]}";

static void parts(struct h *h)
{
    h_group(h, "g", .min = 8, .more = sub_groups);
    for (int i = 0; i < 2; i++) {
        char more[80];

        snprintf(more, sizeof(more), "metadata: {labels: {volcano.sh/partition-id: '%d'}}", i);
        h_pods_more(h, "g", "w", 4, "cpu: 1", more);
    }
}

static void item_53_sub_groups(void **state)
{
    struct h *h = racks();

    (void)state;
    parts(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 8);
    for (int i = 0; i < 8; i++) {
        char pod[16];

        snprintf(pod, sizeof(pod), "g-w-%d", i);
        assert_int_equal(rack_of(h, pod), rack_of(h, i < 4 ? "g-w-0" : "g-w-4"));
    }
    assert_int_not_equal(rack_of(h, "g-w-0"), rack_of(h, "g-w-4"));
    h_free(h);
}

static void item_53_sub_groups_all_or_none(void **state)
{
    struct h *h = racks();

    (void)state;
    h_stranger(h, "default", "stranger", "n3", "cpu: 1"); /* rack2 has three left */
    parts(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    h_delete(h, "Pod", "stranger");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 8);
    h_free(h);
}

/* Wishes about the tasks of one job (scheduling.md 5.10): ps and worker share nodes, workers keep apart from each other. */
static int nodes_of(struct h *h, const char *prefix, int n, struct str *ret)
{
    int different = 0;

    for (int i = 0; i < n; i++) {
        char pod[32];
        bool is_new = true;

        snprintf(pod, sizeof(pod), "%s-%d", prefix, i);
        ret[i] = h_node_of(h, pod);
        for (int k = 0; k < i; k++)
            is_new &= !str_eq(ret[i], ret[k]);
        different += is_new;
    }
    return different;
}

static void task_topology(void **state)
{
    static const struct {
        const char *notes;
        bool workers_apart, ps_with_worker;
    } cases[] = {
        { "volcano.sh/task-topology-affinity: \"ps,worker\", volcano.sh/task-topology-anti-affinity: worker", true,
          true },
        { "volcano.sh/task-topology-affinity: worker", false, false },
        { "volcano.sh/task-topology-anti-affinity: \"worker;ps,worker\"", true, false },
        { "volcano.sh/task-topology-affinity: \"worker,nobody\"", false, false }, /* says nothing: packed as ever */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = h_new(NULL);
        struct str workers[2], ps[1];
        char notes[256];

        for (int k = 0; k < 4; k++)
            h_node(h, (const char *[]){ "n1", "n2", "n3", "n4" }[k], "cpu: 8");
        h_group(h, "g", .min = 3);
        snprintf(notes, sizeof(notes), "metadata: {annotations: {%s}}", cases[i].notes);
        h_change(h, h_get(h, "PodGroup", "g"), notes);
        h_pods(h, "g", "ps", 1, "cpu: 1");
        h_pods(h, "g", "worker", 2, "cpu: 1");
        h_settle(h);
        assert_int_equal(h_bound(h, "g"), 3);
        if ((nodes_of(h, "g-worker", 2, workers) == 2) != cases[i].workers_apart)
            fail_msg("%s: workers", cases[i].notes);
        (void)nodes_of(h, "g-ps", 1, ps);
        if (cases[i].ps_with_worker && !str_eq(ps[0], workers[0]) && !str_eq(ps[0], workers[1]))
            fail_msg("%s: ps is alone", cases[i].notes);
        if (i == 2 && (str_eq(ps[0], workers[0]) || str_eq(ps[0], workers[1])))
            fail_msg("%s: ps is with a worker", cases[i].notes);
        h_free(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_52_hard),
        cmocka_unit_test(item_52_next_tier),
        cmocka_unit_test(item_52_soft),
        cmocka_unit_test(item_52_replacement_stays_in_the_domain),
        cmocka_unit_test(D8_topology_preempts),
        cmocka_unit_test(item_53_sub_groups),
        cmocka_unit_test(item_53_sub_groups_all_or_none),
        cmocka_unit_test(task_topology),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
