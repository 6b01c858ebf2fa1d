/* topology.c - network topology and sub-groups: items 52 and 53 of the checklist; D8 */
#include "harness.h"

#include "base/rand.h"
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

/* Nodes with a taint are as good as others to those who tolerate it: the tighter rack is taken, the other stays whole. */
static void tainted_racks(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    for (int i = 0; i < 4; i++)
        h_node_more(h, (const char *[]){ "n1", "n2", "n3", "n4" }[i], i < 2 ? "cpu: 4" : "cpu: 2",
                    "spec: {taints: [{key: gpu, effect: NoSchedule}]}");
    h_hyper(h, "rack1", 1, "Node", "n1, n2");
    h_hyper(h, "rack2", 1, "Node", "n3, n4");
    h_group(h, "g", .min = 4, .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}");
    h_pods_more(h, "g", "w", 4, "cpu: 1", "spec: {tolerations: [{key: gpu, operator: Exists}]}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 4);
    assert_int_equal(rack_of(h, "g-w-0"), 2);
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

/* ---- pods beyond the minimum ---- */

static int in_rack(struct h *h, const char *prefix, int from, int to, int rack)
{
    int n = 0;

    for (int i = from; i < to; i++) {
        char pod[32];

        snprintf(pod, sizeof(pod), "%s-%d", prefix, i);
        n += rack_of(h, pod) == rack;
    }
    return n;
}

/* Five pods of which three are needed: rack1 has four CPUs. The fifth waits, goes to the other rack, or anywhere. */
static void extras_leave_the_domain_as_far_as_allowed(void **state)
{
    static const struct {
        const char *topology;
        int bound;
    } cases[] = {
        { "{mode: hard, highestTierAllowed: 1}", 4 },
        { "{mode: hard, highestTierAllowed: 2}", 5 },
        { "{mode: soft, highestTierAllowed: 1}", 5 },
        { "{mode: soft}", 5 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int restart = 0; restart < 2; restart++) {
            struct h *h = racks();
            char more[120];

            snprintf(more, sizeof(more), "spec: {networkTopology: %s}", cases[i].topology);
            h_group(h, "g", .min = 3, .more = more);
            h_pods(h, "g", "w", 3, "cpu: 1");
            h_settle(h);
            h_run(h);
            if (restart) /* where it runs is seen from its pods */
                h_restart(h);
            h_pods(h, "g", "w", 2, "cpu: 1");
            h_settle(h);
            if (h_bound(h, "g") != cases[i].bound)
                fail_msg("%s: %d bound, %d expected", cases[i].topology, h_bound(h, "g"), cases[i].bound);
            assert_int_equal(in_rack(h, "g-w", 0, 5, rack_of(h, "g-w-0")), 4); /* as near as there is room */
            h_free(h);
        }
}

/* A pod goes, and somebody else has its place. */
static void lose(struct h *h, const char *pod)
{
    const char *node = rack_of(h, pod) == 1 ? (str_is(h_node_of(h, pod), "n1") ? "n1" : "n2") : "n3";

    h_delete(h, "Pod", pod);
    h_stranger(h, "default", "stranger", node, "cpu: 1");
}

/* A member that was lost may come back anywhere in the allowed tier when its old domain is full by then. */
static void lost_member_widens(void **state)
{
    struct h *h = racks();

    (void)state;
    h_group(h, "g", .min = 4, .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 2}}");
    h_pods(h, "g", "w", 4, "cpu: 1");
    h_settle(h);
    h_run(h);
    assert_int_equal(in_rack(h, "g-w", 0, 4, 1), 4);
    lose(h, "g-w-1");
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 4);
    h_free(h);
}

/* A node that is in no domain is not "in the domain of the others". */
static void node_outside_is_outside(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "a-alone", "cpu: 1");
    h_node(h, "n1", "cpu: 2");
    h_hyper(h, "rack1", 1, "Node", "n1");
    h_group(h, "g", .min = 1, .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}");
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 2);
    assert_true(str_empty(h_node_of(h, "g-w-2")) || !str_is(h_node_of(h, "g-w-2"), "a-alone"));
    h_free(h);
}

/* ---- sub-groups ---- */

#define PART(name, size, min, role, tier)                                                                              \
    "{name: " name ", subGroupSize: " size ", minSubGroups: " min ", labelSelector: {matchLabels: "                    \
    "{volcano.sh/task-spec: " role                                                                                     \
    "}}, matchLabelKeys: [part], networkTopology: {mode: hard, highestTierAllowed: " tier "}}"

static void part_pods(struct h *h, const char *role, int n, const char *part)
{
    char more[80];

    snprintf(more, sizeof(more), "metadata: {labels: {part: '%s'}}", part);
    h_pods_more(h, "g", role, n, "cpu: 1", more);
}

/* The small part takes the rack that just has room for it, so that the large one finds its own whole. */
static void part_takes_the_tightest_domain(void **state)
{
    struct h *h = racks();

    (void)state;
    h_stranger(h, "default", "stranger", "n3", "cpu: 2"); /* rack2 has two left */
    h_group(
        h, "g", .min = 6,
        .more = "spec: {subGroupPolicy: [" PART("few", "2", "1", "a", "1") ", " PART("many", "4", "1", "b", "1") "]}");
    part_pods(h, "a", 2, "0");
    part_pods(h, "b", 4, "0");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 6);
    assert_int_equal(in_rack(h, "g-a", 0, 2, 2), 2);
    assert_int_equal(in_rack(h, "g-b", 0, 4, 1), 4);
    h_free(h);
}

/* The second policy's minimum comes before a third part of the first, though more pods are needed in sum. */
static void minima_of_all_policies_come_first(void **state)
{
    struct h *h = racks();

    (void)state;
    h_group(h, "g", .min = 8,
            .more = "spec: {subGroupPolicy: [" PART("a", "2", "1", "a", "1") ", " PART("b", "4", "1", "b", "1") "]}");
    for (int i = 0; i < 3; i++)
        part_pods(h, "a", 2, (const char *[]){ "0", "1", "2" }[i]);
    part_pods(h, "b", 4, "0");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 8);
    assert_int_equal(h_bound_role(h, "g", "b"), 4);
    assert_int_equal(h_bound_role(h, "g", "a"), 4);
    h_free(h);
}

/* Three pods in each part of two: the surplus counts towards minMember (and towards a role's minimum), and stays in the
 * domain. */
static void surplus_counts_and_stays(void **state)
{
    static const char *const roles[] = { NULL, "w: 6" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        struct h *h = racks();

        h_group(h, "g", .min = 6, .roles = roles[i],
                .more = "spec: {subGroupPolicy: [" PART("w", "2", "2", "w", "1") "]}");
        part_pods(h, "w", 3, "0");
        part_pods(h, "w", 3, "1");
        h_settle(h);
        assert_int_equal(h_bound(h, "g"), 6);
        assert_int_equal(in_rack(h, "g-w", 0, 3, rack_of(h, "g-w-0")), 3);
        assert_int_equal(in_rack(h, "g-w", 3, 6, rack_of(h, "g-w-3")), 3);
        h_free(h);
    }
}

/* Pods beyond the size of a part that stands do not leave its domain, though there is room elsewhere. */
static void surplus_never_leaves_a_hard_domain(void **state)
{
    struct h *h = racks();

    (void)state;
    h_stranger(h, "default", "stranger", "n2", "cpu: 1"); /* rack1 has three left: the tighter one */
    h_group(h, "g", .min = 2, .more = "spec: {subGroupPolicy: [" PART("w", "2", "1", "w", "1") "]}");
    part_pods(h, "w", 5, "0");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    assert_int_equal(in_rack(h, "g-w", 0, 5, 1), 3);
    h_free(h);
}

/* A part that lost a pod whose place is taken grows to the next domain, if its tier allows that. */
static void part_that_lost_a_pod_widens(void **state)
{
    (void)state;
    for (int tier = 1; tier <= 2; tier++) {
        struct h *h = racks();

        h_group(h, "g", .min = 4,
                .more = tier == 1 ? "spec: {subGroupPolicy: [" PART("w", "4", "1", "w", "1") "]}"
                                  : "spec: {subGroupPolicy: [" PART("w", "4", "1", "w", "2") "]}");
        part_pods(h, "w", 4, "0");
        h_settle(h);
        h_run(h);
        assert_int_equal(in_rack(h, "g-w", 0, 4, 1), 4);
        lose(h, "g-w-1");
        part_pods(h, "w", 1, "0");
        h_settle(h);
        assert_int_equal(h_bound(h, "g"), tier == 1 ? 3 : 4);
        h_free(h);
    }
}

/* Pods to come, by the templates of the Job: parts that must be there count, also beyond minAvailable, and a minimum that
 * ends inside a part needs the whole of it. */
static void parts_beyond_the_minimum(void **state)
{
    static const struct {
        int min, replicas;
        const char *policies;
        bool fits;
    } cases[] = {
        { 4, 8, PART("w", "2", "4", "w", "1"), true },  { 2, 8, PART("w", "4", "2", "w", "1"), true },
        { 5, 8, PART("w", "2", "0", "w", "1"), true },  { 3, 8, PART("w", "4", "0", "w", "1"), true },
        { 2, 9, PART("w", "3", "3", "w", "1"), false }, /* two racks of four have room for two parts of three */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = racks();
        struct sched_group_view view;
        char more[400];
        const char *g;

        snprintf(more, sizeof(more), "spec: {subGroupPolicy: [%s]}", cases[i].policies);
        g = h_job(h, "g", .min = cases[i].min, .replicas = cases[i].replicas, .pod = "cpu: 1", .group_more = more);
        h_settle(h);
        assert_true(sched_group_view(h->s, STR("default"), str_of(g), &view));
        if (view.has_hold != cases[i].fits)
            fail_msg("case %zu: %s", i, view.has_hold ? "its places are kept" : "no places are kept for it");
        h_free(h);
    }
}

/* A pod of a part Succeeded and was deleted: it is not made again, and its part stands without it. */
static void part_with_a_done_pod_stands(void **state)
{
    static const char *const parts[] = { "metadata: {labels: {part: '0'}}", "metadata: {labels: {part: '1'}}" };
    struct h *h = racks();
    char pod[2][64];
    const char *g;

    (void)state;
    g = h_job(h, "g", .min = 4, .replicas = 4, .pod = "cpu: 1",
              .group_more = "spec: {subGroupPolicy: [" PART("w", "2", "2", "w", "1") "]}");
    for (int i = 0; i < 4; i++)
        h_pods_more(h, g, "w", 1, "cpu: 1", parts[i / 2]);
    h_settle(h);
    h_run(h);
    assert_int_equal(h_bound(h, g), 4);
    for (int i = 0; i < 2; i++)
        snprintf(pod[i], sizeof(pod[i]), "%s-w-%d", g, i + 2);
    h_phase(h, pod[1], "Succeeded");
    h_change(h, h_get(h, "Job", "g"), "status: {controlledResources: {pumice-done-w: '3'}}");
    h_delete(h, "Pod", pod[1]);
    h_delete(h, "Pod", pod[0]);
    h_pods_more(h, g, "w", 1, "cpu: 1", parts[1]);
    h_settle(h);
    assert_int_equal(h_bound(h, g), 3);
    h_free(h);
}

/* ---- a law: whatever comes and goes, who asked for a hard domain is in one ---- */

enum { LAW_NODES = 8, LAW_GROUPS = 4 }; /* a tree of halves: tier 1 has two nodes, tier 2 four, tier 3 all */

struct law_group {
    int limit; /* tier; 0: soft */
    int size;  /* of its parts; 0: none */
    int pods;
};

/* The tier of the smallest domain that has all pods of a group whose numbers are equal modulo 'parts'. */
static int tier_of(struct h *h, int g, int pods, int part, int parts)
{
    int low = LAW_NODES, high = -1, tier = 0;

    for (int i = part; i < pods; i += parts) {
        char pod[32];
        struct str node;

        snprintf(pod, sizeof(pod), "g%d-w-%d", g, i);
        if (!h_get(h, "Pod", pod) || str_empty(node = h_node_of(h, pod)))
            continue;
        low = MIN_OF(low, node.p[1] - '0');
        high = MAX_OF(high, node.p[1] - '0');
    }
    while (high >= 0 && low >> tier != high >> tier)
        tier++;
    return tier;
}

static void law_world(struct h *h)
{
    static const char *const tiers[][2] = { { "t1a", "n0, n1" },  { "t1b", "n2, n3" },   { "t1c", "n4, n5" },
                                            { "t1d", "n6, n7" },  { "t2a", "t1a, t1b" }, { "t2b", "t1c, t1d" },
                                            { "t3a", "t2a, t2b" } };

    for (size_t i = 0; i < ARRAY_LEN(tiers); i++)
        h_hyper(h, tiers[i][0], tiers[i][0][1] - '0', i < 4 ? "Node" : "HyperNode", tiers[i][1]);
}

static void law_group(struct h *h, struct rand *r, int g, struct law_group *ret)
{
    char name[8], more[400] = "";
    int part = (int)rand_below(r, 3), min;

    *ret = (struct law_group){ .limit = (int)rand_below(r, 4), .size = part };
    min = 1 + (int)rand_below(r, 4);
    snprintf(name, sizeof(name), "g%d", g);
    if (part)
        snprintf(more, sizeof(more),
                 "spec: {subGroupPolicy: [{name: p, subGroupSize: %d, minSubGroups: %d, labelSelector: {matchLabels: "
                 "{volcano.sh/task-spec: w}}, matchLabelKeys: [part], networkTopology: {mode: %s, "
                 "highestTierAllowed: %d}}]}",
                 part, (int)rand_below(r, 3), ret->limit ? "hard" : "soft", MAX_OF(ret->limit, 1));
    else
        snprintf(more, sizeof(more), "spec: {networkTopology: {mode: %s, highestTierAllowed: %d}}",
                 ret->limit ? "hard" : "soft", MAX_OF(ret->limit, 1));
    h_group(h, name, .min = min, .more = more);
}

/* The first number that is free: even ones are one part, odd ones the other. */
static void law_pod(struct h *h, struct rand *r, int g, struct law_group *all)
{
    char name[32], more[80];
    int i = 0;

    do
        snprintf(name, sizeof(name), "g%d-w-%d", g, i++);
    while (h_get(h, "Pod", name));
    if (i > 9)
        return;
    all->pods = MAX_OF(all->pods, i);
    snprintf(name, sizeof(name), "g%d", g);
    snprintf(more, sizeof(more), "metadata: {labels: {part: '%d'}}", (i - 1) % 2);
    h_pods_more(h, name, "w", 1, rand_below(r, 2) ? "cpu: 1" : "cpu: 2", more);
}

static void law_step(struct h *h, struct rand *r, struct law_group *all)
{
    int g = (int)rand_below(r, LAW_GROUPS);
    char name[32];

    switch (rand_below(r, 4)) {
    case 0:
        snprintf(name, sizeof(name), "g%d-w-%d", g, all[g].pods ? (int)rand_below(r, (uint64_t)all[g].pods) : 0);
        if (h_get(h, "Pod", name))
            h_delete(h, "Pod", name);
        break;
    case 1:
        snprintf(name, sizeof(name), "s%d", (int)rand_below(r, 4));
        if (h_get(h, "Pod", name))
            h_delete(h, "Pod", name);
        else
            h_stranger(h, "default", name,
                       (const char *[]){ "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" }[rand_below(r, LAW_NODES)],
                       "cpu: 1");
        break;
    default:
        law_pod(h, r, g, &all[g]);
    }
}

static void hard_domains_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct h *h = h_new(NULL);
        struct law_group all[LAW_GROUPS];
        struct rand r;

        rand_seed(&r, seed);
        for (int i = 0; i < LAW_NODES; i++)
            h_node(h, (const char *[]){ "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" }[i], "cpu: 3");
        law_world(h);
        for (int g = 0; g < LAW_GROUPS; g++)
            law_group(h, &r, g, &all[g]);
        for (int step = 0; step < 40; step++) {
            law_step(h, &r, all);
            h_work(h, 2000, 1000);
            for (int g = 0; g < LAW_GROUPS; g++)
                for (int part = 0; all[g].limit && part < (all[g].size ? 2 : 1); part++)
                    if (tier_of(h, g, all[g].pods, part, all[g].size ? 2 : 1) > all[g].limit)
                        fail_msg("seed %d, step %d: g%d left its domain", (int)seed, step, g);
        }
        h_free(h);
    }
}

/* Wishes about the tasks of one job: ps and worker share nodes, workers keep apart from each other. */
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
        cmocka_unit_test(tainted_racks),
        cmocka_unit_test(item_52_next_tier),
        cmocka_unit_test(item_52_soft),
        cmocka_unit_test(item_52_replacement_stays_in_the_domain),
        cmocka_unit_test(D8_topology_preempts),
        cmocka_unit_test(item_53_sub_groups),
        cmocka_unit_test(item_53_sub_groups_all_or_none),
        cmocka_unit_test(extras_leave_the_domain_as_far_as_allowed),
        cmocka_unit_test(lost_member_widens),
        cmocka_unit_test(node_outside_is_outside),
        cmocka_unit_test(part_takes_the_tightest_domain),
        cmocka_unit_test(minima_of_all_policies_come_first),
        cmocka_unit_test(surplus_counts_and_stays),
        cmocka_unit_test(surplus_never_leaves_a_hard_domain),
        cmocka_unit_test(part_that_lost_a_pod_widens),
        cmocka_unit_test(parts_beyond_the_minimum),
        cmocka_unit_test(part_with_a_done_pod_stands),
        cmocka_unit_test(hard_domains_hold),
        cmocka_unit_test(task_topology),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
