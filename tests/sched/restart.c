/* restart.c - a scheduler that begins with what is there, and nodes that leave: items 42 and 43 of the checklist */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void item_42_node_leaves_while_places_are_kept(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 2");
    h_node(h, "n2", "cpu: 2");
    for (int i = 0; i < 4; i++) {
        char name[8];

        snprintf(name, sizeof(name), "low%d", i);
        h_group(h, name, .min = 1);
        h_pods(h, name, "w", 1, "cpu: 1");
    }
    h_work(h, 120000, 10000);
    h_group(h, "high", .min = 2, .priority = "high");
    h_pods(h, "high", "w", 2, "cpu: 2"); /* both nodes */
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 4);
    h_delete(h, "Node", "n1");
    h_settle(h);
    h_finish_deletes(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "high"), 0);
    h_node(h, "n3", "cpu: 2");
    h_settle(h);
    assert_int_equal(h_bound(h, "high"), 2);
    h_free(h);
}

static void item_42_node_leaves_with_its_pods(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_delete(h, "Node", "n1");
    h_settle(h);
    h_node(h, "n1", "cpu: 3"); /* it comes back; its pods are still there */
    h_group(h, "next", .min = 1);
    h_pods(h, "next", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "next"), 1);
    h_delete(h, "Pod", "g-w-0");
    h_settle(h);
    assert_int_equal(h_bound(h, "next"), 2);
    h_free(h);
}

static void item_43_restart_with_bound_pods(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3); /* bound, not running */
    h_group(h, "next", .min = 1);
    h_pods(h, "next", "w", 3, "cpu: 1");
    h_restart(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "next"), 1);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

static void item_43_restart_says_nothing_new(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_group(h, "waits", .min = 2);
    h_pods(h, "waits", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_settle(h);
    h_restart(h);
    h_round(h);
    for (int kind = 0; kind < DECISION_KIND_MAX; kind++)
        if (kind != DECIDE_EVENT && h->last.n[kind])
            fail_msg("%s", h->story.p);
    h_free(h);
}

/* A gang that runs below its minimum is known by its pods, also to a scheduler that never saw it whole: it goes first.
 * */
static void item_43_D1_broken_gang_after_restart(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "fresh", .min = 1); /* older */
    h_pass(h, 2000);
    h_group(h, "broken", .min = 2);
    h_pods(h, "broken", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_settle(h);
    h_delete(h, "Pod", "broken-w-0");
    h_pods(h, "broken", "w", 1, "cpu: 1");
    h_pods(h, "fresh", "w", 1, "cpu: 1");
    h_restart(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "broken"), 2);
    assert_int_equal(h_bound(h, "fresh"), 0);
    h_free(h);
}

/* Pods first, then groups and queues, nodes last: the order of news does not matter. */
/* What was kept for a gang before is kept for it after. */
static void reservations_outlive_a_restart(void **state)
{
    struct h *h = h_new(NULL);
    struct json *c;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "busy", .min = 1);
    h_pods(h, "busy", "w", 1, "cpu: 2");
    h_settle(h);
    h_run(h);
    h_group(h, "big", .min = 1);
    h_pods(h, "big", "w", 1, "cpu: 4");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    h_group(h, "small", .min = 1);
    h_pods(h, "small", "w", 1, "cpu: 1");
    for (int i = 0; i < 2; i++) {
        h_settle(h);
        assert_int_equal(h_bound(h, "small"), 0);
        c = h_condition(h, "PodGroup", "small", "Unschedulable");
        assert_text(json_member_text(c, "reason"), "Reserved");
        assert_has(json_member_text(c, "message"), "keeps the free room for default/big");
        h_restart(h);
    }
    h_phase_all(h, "busy", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "big"), 1);
    h_free(h);
}

static void item_43_any_order(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    h_group(h, "g", .min = 3, .queue = "q");
    h_settle(h);
    h_queue(h, "q", "weight: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    h_node(h, "n1", "cpu: 3");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

/* Things go in any order too, and what is left is counted right (sched_check). */
static void gone_in_any_order(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_queue(h, "q", "weight: 1");
    h_node(h, "n1", "cpu: 3");
    h_group(h, "g", .min = 2, .queue = "q", .priority = "high");
    h_pods(h, "g", "w", 2, "cpu: 1");
    h_group(h, "waits", .min = 2, .queue = "q");
    h_pods(h, "waits", "w", 2, "cpu: 1");
    h_settle(h);
    h_delete(h, "Queue", "q");
    h_settle(h);
    h_delete(h, "PodGroup", "g");
    h_settle(h);
    h_delete(h, "PodGroup", "waits");
    h_settle(h);
    h_delete(h, "PriorityClass", "high");
    h_delete(h, "Pod", "waits-w-0");
    h_settle(h);
    h_delete(h, "Node", "n1");
    h_delete(h, "Pod", "g-w-0");
    h_delete(h, "Pod", "g-w-1");
    h_delete(h, "Pod", "waits-w-1");
    h_settle(h);
    sched_gone(h->s, STR("Pod"), STR("default"), STR("nobody"), STR("no-uid")); /* never heard of */
    sched_gone(h->s, STR("Node"), STR_NULL, STR("nobody"), STR_NULL);
    sched_gone(h->s, STR("Banana"), STR_NULL, STR("nobody"), STR_NULL);
    h_settle(h);
    h_free(h);
}

/* A pod of the same name and another uid is another pod, also when the end of the first was never told. */
static void same_name_other_pod(void **state)
{
    struct h *h = h_new(NULL);
    struct h_object *o;

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 1, "cpu: 2");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 1);
    o = h_get(h, "Pod", "g-w-0");
    h_change(h, o, "metadata: {uid: another}, spec: {nodeName: null}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 1);
    h_free(h);
}

/* The tree may hold anything; decoding survives it. */
static void nonsense(void **state)
{
    static const char *const objects[] = {
        "{kind: Node}",
        "{apiVersion: v1, kind: Node, metadata: {name: x}, status: {allocatable: [1, 2]}}",
        "{apiVersion: v1, kind: Node, metadata: {name: y}, status: {allocatable: {cpu: {}, memory: -5, pods: 1e400}}}",
        "{apiVersion: v1, kind: Node, metadata: {name: z, labels: 7}, spec: {taints: {a: b}}}",
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: u1, annotations: [x]}, spec: 3}",
        "{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: default, uid: u2}, spec: {containers: {a: b}, "
        "nodeName: [], affinity: 7, topologySpreadConstraints: {x: y}, tolerations: 'no'}, status: 12}",
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g, namespace: default}, spec: "
        "{minMember: 99999999999999999999, minTaskMember: [1], queue: 7, minResources: text, subGroupPolicy: {a: 1}, "
        "networkTopology: []}, status: {phase: 9, conditions: {a: b}}}",
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: h, namespace: default}, spec: "
        "{minMember: -5, minTaskMember: {a: -3, b: x, c: 99999999999}}, status: []}",
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q}, spec: {weight: -1, parent: {}, "
        "capability: {cpu: -1}, guarantee: 7, deserved: [x], priority: 1e99}}",
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: c}, value: 999999999999}",
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}, spec: {selector: "
        "[], minAvailable: 'x%'}, status: {disruptionsAllowed: -9}}",
        "{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: d}, spec: {tier: -1, members: "
        "[{type: Node, selector: {regexMatch: {pattern: '('}}}, {type: HyperNode, selector: {exactMatch: {name: d}}}, "
        "7]}}",
        "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j, namespace: default}, spec: {tasks: "
        "[{name: 7, replicas: -1}, {template: []}, 3], minAvailable: x}}",
        "[1, 2]",
        "7",
        "null",
    };
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        h_put_raw(h, objects[i]);
    h->is_silent = true;
    h_round(h);
    h_round(h);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_42_node_leaves_while_places_are_kept),
        cmocka_unit_test(item_42_node_leaves_with_its_pods),
        cmocka_unit_test(item_43_restart_with_bound_pods),
        cmocka_unit_test(item_43_restart_says_nothing_new),
        cmocka_unit_test(item_43_D1_broken_gang_after_restart),
        cmocka_unit_test(reservations_outlive_a_restart),
        cmocka_unit_test(item_43_any_order),
        cmocka_unit_test(gone_in_any_order),
        cmocka_unit_test(same_name_other_pod),
        cmocka_unit_test(nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
