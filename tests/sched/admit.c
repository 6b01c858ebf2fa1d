/* admit.c - into the queue: items 36, 37, 54 of the checklist; D11, D20, D21, D23, D30, D32, D35 */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static bool is_admitted(struct h *h, const char *group)
{
    struct str phase = h_group_phase(h, group);

    return !str_empty(phase) && !str_is(phase, "Pending");
}

static void item_36_larger_than_the_cluster(void **state)
{
    (void)state;
    for (int fifo = 0; fifo < 2; fifo++) {
        struct h *h = h_new(NULL);
        const char *big, *small;

        h_node(h, "n1", "cpu: 4");
        h_queue(h, "q", fifo ? "weight: 1, dequeueStrategy: fifo" : "weight: 1");
        big = h_job(h, "big", .min = 5, .replicas = 5, .pod = "cpu: 1", .queue = "q");
        h_pass(h, 2000);
        small = h_job(h, "small", .min = 2, .replicas = 2, .pod = "cpu: 1", .queue = "q");
        h_settle(h);
        assert_text(h_group_phase(h, big), "Pending");
        assert_true(is_admitted(h, small)); /* fifo too: what can never run is passed */
        assert_true(h_events(h, "PodGroup", big, "Unschedulable") >= 1);
        VEC_FOREACH(ev, &h->events)
            if (str_is(ev->name, big) && str_is(ev->reason, "Unschedulable"))
                assert_has(ev->message, "cpu");
        h_free(h);
    }
}

/* The same for a group that nobody has a template for: only its minResources speak. */
static void item_36_by_min_resources(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 10");
    h_group(h, "big", .min = 1, .asks = "cpu: 13");
    h_pass(h, 2000);
    h_group(h, "small", .min = 1, .asks = "cpu: 4");
    h_settle(h);
    assert_false(is_admitted(h, "big"));
    assert_true(is_admitted(h, "small"));
    h_free(h);
}

static void item_37_D11_admission_is_sticky(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 3");
    g = h_job(h, "j", .min = 3, .replicas = 3, .pod = "cpu: 1");
    h_settle(h);
    assert_text(h_group_phase(h, g), "Inqueue");
    h_job_pods(h, g, 3);
    h_settle(h);
    h_run(h);
    h_settle(h);
    assert_text(h_group_phase(h, g), "Running");
    h_phase(h, "j-w-1", "Failed");
    h_settle(h);
    assert_true(is_admitted(h, g));
    h_delete(h, "Pod", "j-w-1");
    h_settle(h);
    assert_true(is_admitted(h, g)); /* so its controller makes a new pod */
    h_job_pods(h, g, 1);
    h_settle(h);
    assert_int_equal(h_bound(h, g), 3);
    h_free(h);
}

static void item_37_D11_all_pods_lost(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 3");
    g = h_job(h, "j", .min = 3, .replicas = 3, .pod = "cpu: 1");
    h_settle(h);
    h_job_pods(h, g, 3);
    h_work(h, 2000, 1000);
    for (int i = 0; i < 3; i++)
        h_delete(h, "Pod", (const char *[]){ "j-w-0", "j-w-1", "j-w-2" }[i]);
    h_settle(h);
    assert_true(is_admitted(h, g));
    h_free(h);
}

#define TASK(name, replicas, more)                                                                                     \
    "{name: " name ", replicas: " replicas ", " more                                                                   \
    "template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}"

/* A task that depends on another has its turn when the PodGroup counts it: its pods are to come, whether or not one of
 * the other is needed first. Until then it asks for nothing. */
static void a_task_that_depends_on_another_has_its_turn(void **state)
{
    static const char tasks[] = "spec: {tasks: [" TASK("a", "1", "") ", " TASK("b", "2",
                                                                               "dependsOn: {name: [a]}, ") "]}";
    struct h *h = h_new(NULL);
    const char *g, *other;

    (void)state;
    h_node(h, "n1", "cpu: 3");
    g = h_job(h, "j", .min = 2, .pod = "cpu: 1", .more = tasks, .group_more = "spec: {minTaskMember: {a: 0, b: 2}}");
    h_settle(h);
    assert_text(h_group_phase(h, g), "Inqueue");
    other = h_job(h, "k", .min = 3, .pod = "cpu: 1", .more = tasks,
                  .group_more = "spec: {minMember: 1, minTaskMember: {a: 1, b: 0}, minResources: {cpu: 1}}");
    h_settle(h);
    assert_text(h_group_phase(h, other), "Inqueue"); /* the third CPU is enough for now */
    h_free(h);
}

/* It was let in with places for a pod that is there and one of another task that is to come, as two of the first do not
 * fit. Where that pod is not made it says why it waits, and keeps nothing from others. */
static void places_for_a_pod_that_does_not_come(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 4, nvidia.com/gpu: 1");
    g = h_job(
        h, "j", .min = 2, .pod = "cpu: 1",
        .more = "spec: {tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, resources: {requests: "
                "{cpu: 1, nvidia.com/gpu: 1}}}]}}}, " TASK("b", "1", "") "]}");
    h_pods(h, g, "a", 2, "cpu: 1, nvidia.com/gpu: 1");
    for (h_round(h); h->wake_ms && h->wake_ms <= h->now_ms + 1000; h_round(h)) /* only when it asks to be woken */
        h_pass(h, h->wake_ms - h->now_ms);
    assert_text(h_group_phase(h, g), "Inqueue");
    assert_has(h_said(h, "PodGroup", g, "Unschedulable"), "Insufficient nvidia.com/gpu");
    h_group(h, "next", .min = 1);
    h_pods(h, "next", "w", 1, "cpu: 4");
    h_settle(h);
    assert_int_equal(h_bound(h, "next"), 1);
    h_free(h);
}

/* The nodes that are there have the sum but no place for one of the pods: it is promised nothing, and nobody waits for
 * it. */
static void D20_fragmented_job_blocks_nobody(void **state)
{
    struct h *h = h_new(NULL);
    const char *big, *small;

    (void)state;
    for (int i = 0; i < 4; i++)
        h_node(h, (const char *[]){ "n1", "n2", "n3", "n4" }[i], "cpu: 1");
    big = h_job(h, "big", .min = 1, .replicas = 1, .pod = "cpu: 2");
    h_pass(h, 2000);
    small = h_job(h, "small", .min = 4, .replicas = 4, .pod = "cpu: 1");
    h_settle(h);
    assert_true(is_admitted(h, big));
    assert_true(is_admitted(h, small));
    h_job_pods(h, small, 4);
    h_settle(h);
    assert_int_equal(h_bound(h, small), 4);
    h_free(h);
}

/* Admitted, but the pods that came fit nowhere (they are not like the template): the promise ends after a time. */
static void D20_admission_expires(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "stuck", .min = 1, .asks = "cpu: 4");
    h_settle(h);
    assert_true(is_admitted(h, "stuck"));
    h_pods_more(h, "stuck", "w", 1, "cpu: 4", "spec: {nodeSelector: {no: where}}");
    h_pass(h, 2000);
    h_group(h, "next", .min = 1, .asks = "cpu: 4");
    h_work(h, h->config.admission_ms + 60000, 5000);
    assert_true(is_admitted(h, "next"));
    h_free(h);
}

/* The cluster is full of another queue's pods; a job that has no pods yet gets its share by reclaim all the same. */
static void D21_reclaim_before_admission(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    for (int i = 0; i < 8; i++) {
        char name[8];

        snprintf(name, sizeof(name), "b%d", i);
        h_group(h, name, .min = 1, .queue = "qb");
        h_pods(h, name, "w", 1, "cpu: 1");
    }
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound(h, NULL), 8);
    g = h_job(h, "a", .min = 4, .replicas = 4, .pod = "cpu: 1", .queue = "qa");
    for (int i = 0; i < 10 && !is_admitted(h, g); i++)
        h_work(h, 1000, 1000);
    assert_true(is_admitted(h, g));
    h_job_pods(h, g, 4);
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, g), 4);
    assert_int_equal(h_bound(h, NULL), 8);
    h_free(h);
}

/* Low-priority jobs that were let in and have no pods make way for one of high priority. */
static void D23_priority_aware_admission(void **state)
{
    struct h *h = h_new(NULL);
    const char *low, *high;

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 4");
    low = h_job(h, "low", .min = 4, .replicas = 4, .pod = "cpu: 1");
    h_settle(h);
    assert_true(is_admitted(h, low));
    high = h_job(h, "high", .min = 4, .replicas = 4, .pod = "cpu: 1", .priority = "high");
    h_settle(h);
    assert_true(is_admitted(h, high));
    h_job_pods(h, high, 4);
    h_settle(h);
    assert_int_equal(h_bound(h, high), 4);
    h_free(h);
}

static void D30_counts_the_rest_only(void **state)
{
    struct h *h = h_new(NULL);
    const char *a, *b;

    (void)state;
    h_node(h, "n1", "cpu: 8");
    a = h_job(h, "a", .min = 4, .replicas = 4, .pod = "cpu: 1");
    h_settle(h);
    h_job_pods(h, a, 4);
    h_settle(h);
    assert_int_equal(h_bound(h, a), 4);
    b = h_job(h, "b", .min = 4, .replicas = 4, .pod = "cpu: 1");
    h_settle(h);
    assert_true(is_admitted(h, b));
    h_free(h);
}

/* Credit is what the nodes have that some group's pods may use: busy nodes count, closed ones do not. */
static void D30_tainted_nodes_are_no_room(void **state)
{
    (void)state;
    for (int tolerates = 0; tolerates < 2; tolerates++) {
        struct h *h = h_new(NULL);
        const char *g;

        h_node(h, "n1", "cpu: 4");
        h_node_more(h, "n2", "cpu: 8", "spec: {taints: [{key: only, value: others, effect: NoSchedule}]}");
        h_group(h, "busy", .min = 4);
        h_pods(h, "busy", "w", 4, "cpu: 1");
        h_group(h, "owner", .min = 1);
        h_pods_more(h, "owner", "w", 1, "cpu: 1", tolerates ? "spec: {tolerations: [{operator: Exists}]}" : NULL);
        h_settle(h);
        g = h_job(h, "a", .min = 4, .replicas = 4, .pod = "cpu: 1");
        h_settle(h);
        assert_int_equal(is_admitted(h, g), tolerates);
        h_free(h);
    }
}

/* What fits on no node, or in no domain, is let in: its pods say why. It is promised nothing, so others are too. */
static void the_impossible_is_let_in(void **state)
{
    static const struct {
        const char *name, *taint, *spec, *group, *reason;
    } rows[] = {
        { "selector", NULL, "nodeSelector: {disk: ssd}", NULL, "NeverFits" },
        { "all nodes tainted", "spec: {taints: [{key: k, effect: NoSchedule}]}", NULL, NULL, "NeverFits" },
        { "all nodes cordoned", "spec: {unschedulable: true}", NULL, NULL, "NeverFits" },
        { "no domain", NULL, NULL, "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}", "NetworkTopology" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct h *h = h_new(NULL);
        const char *g, *next;
        struct json *c;

        h_node_more(h, "n1", "cpu: 3", rows[i].taint);
        h_node_more(h, "n2", "cpu: 3", rows[i].taint);
        h_hyper(h, "rack1", 1, "Node", "n1");
        h_hyper(h, "rack2", 1, "Node", "n2");
        g = h_job(h, "never", .min = 5, .replicas = 5, .pod = "cpu: 1", .spec_more = rows[i].spec,
                  .group_more = rows[i].group);
        h_settle(h);
        if (!is_admitted(h, g))
            fail_msg("%s: it is not let in", rows[i].name);
        h_job_pods(h, g, 5);
        h_settle(h);
        c = h_condition(h, "PodGroup", g, "Unschedulable");
        assert_text(json_member_text(c, "reason"), rows[i].reason);
        next = h_job(h, "next", .min = 6, .replicas = 6, .pod = "cpu: 1",
                     .spec_more = "tolerations: [{operator: Exists}]");
        h_work(h, 5000, 1000);
        if (!is_admitted(h, next))
            fail_msg("%s: it keeps others out", rows[i].name);
        h_job_pods(h, next, 6);
        h_work(h, 2 * h->config.admission_ms, 10000);
        assert_int_equal(h_bound(h, next), 6);
        assert_true(is_admitted(h, g)); /* and stays so */
        h_free(h);
    }
}

/* All that the nodes have is guaranteed to another queue. More nodes would help, so the pods are created, and say what
 * they wait for; nothing is promised to them, and the other queue gets its own. */
static void what_others_are_guaranteed_keeps_no_pods_away(void **state)
{
    struct h *h = h_new(NULL);
    const char *g, *owner;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "rich", "weight: 1, guarantee: {resource: {cpu: 4}}");
    h_queue(h, "poor", "weight: 1");
    g = h_job(h, "late", .min = 2, .replicas = 2, .pod = "cpu: 1", .queue = "poor");
    h_settle(h);
    assert_true(is_admitted(h, g));
    h_job_pods(h, g, 2);
    h_settle(h);
    assert_text(json_member_text(h_condition(h, "PodGroup", g, "Unschedulable"), "reason"), "QueueGuarantee");
    assert_has(h_said(h, "Pod", "late-w-0", "PodScheduled"), "guaranteed");
    owner = h_job(h, "owner", .min = 4, .replicas = 4, .pod = "cpu: 1", .queue = "rich");
    h_settle(h);
    h_job_pods(h, owner, 4);
    h_work(h, 2 * h->config.admission_ms, 10000);
    assert_int_equal(h_bound(h, owner), 4);
    assert_true(is_admitted(h, g));
    h_node(h, "n2", "cpu: 4");
    h_settle(h);
    assert_int_equal(h_bound(h, g), 2);
    h_free(h);
}

/* Nobody knows when gates are removed: until then others may have the room. Then it waits like any other. */
static void a_gated_job_keeps_no_room(void **state)
{
    struct h *h = h_new(NULL);
    const char *g, *next;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    g = h_job(h, "gated", .min = 4, .replicas = 4, .pod = "cpu: 1", .spec_more = "schedulingGates: [{name: x/y}]");
    h_settle(h);
    h_job_pods(h, g, 4);
    h_settle(h);
    next = h_job(h, "next", .min = 4, .replicas = 4, .pod = "cpu: 1");
    h_settle(h);
    assert_true(is_admitted(h, next));
    h_job_pods(h, next, 4);
    h_settle(h);
    assert_int_equal(h_bound(h, next), 4);
    h_phase_all(h, next, "Succeeded");
    for (int i = 0; i < 4; i++) {
        char pod[16];

        snprintf(pod, sizeof(pod), "gated-w-%d", i);
        h_change(h, h_get(h, "Pod", pod), "spec: {schedulingGates: []}");
    }
    h_settle(h);
    assert_int_equal(h_bound(h, g), 4);
    h_free(h);
}

static void D32_group_without_pods_keeps_nothing(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "idle", .min = 1, .asks = "cpu: 4");
    h_settle(h);
    assert_true(is_admitted(h, "idle"));
    h_group(h, "next", .min = 4, .asks = "cpu: 4");
    h_pods(h, "next", "w", 4, "cpu: 1");
    h_work(h, h->config.admission_ms + 60000, 5000);
    assert_int_equal(h_bound(h, "next"), 4);
    h_free(h);
}

static void D32_finished_group_keeps_nothing(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "done", .min = 1, .asks = "cpu: 4");
    h_pods(h, "done", "w", 1, "cpu: 4");
    h_settle(h);
    h_run(h);
    h_phase(h, "done-w-0", "Succeeded");
    h_group(h, "next", .min = 1, .asks = "cpu: 4");
    h_settle(h);
    assert_text(h_group_phase(h, "done"), "Completed");
    assert_true(is_admitted(h, "next"));
    h_free(h);
}

static void stays_inqueue(struct h *h, const struct decision *d)
{
    if (d->kind == DECIDE_GROUP && str_eq(d->name, str_of(h->ctx)))
        assert_text(json_member_text(d->status, "phase"), "Inqueue");
}

/* Its minimum has Succeeded and is gone, a pod beyond it waits for room, and somebody else is kept out: it was promised
 * nothing that could be taken back, so its phase does not go to and fro every five minutes. */
static void D32_minimum_has_succeeded(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    g = h_job(h, "j", .min = 1, .replicas = 2, .pod = "cpu: 2");
    h_job_pods(h, g, 1);
    h_settle(h);
    h_run(h);
    h_phase(h, "j-w-0", "Succeeded");
    h_change(h, h_get(h, "Job", "j"), "status: {controlledResources: {pumice-done-w: '0'}}");
    h_group(h, "full", .min = 1, .asks = "cpu: 3");
    h_pods(h, "full", "w", 1, "cpu: 3");
    h_settle(h);
    h_job_pods(h, g, 2);
    h_delete(h, "Pod", "j-w-0");
    h_group(h, "next", .min = 1, .asks = "cpu: 4");
    h_settle(h);
    assert_text(h_group_phase(h, g), "Inqueue");
    h->ctx = (void *)g;
    h->on_decision = stays_inqueue;
    for (int i = 0; i < 60; i++) {
        h_pass(h, 60000);
        h_settle(h);
    }
    h_free(h);
}

/* The queue, not the cluster, is full: a job of higher priority in it is let in and preempts. */
static void D35_preemption_in_a_full_queue(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 16");
    h_queue(h, "q", "weight: 1, capability: {cpu: 2}");
    h_group(h, "low", .min = 1, .queue = "q");
    h_pods(h, "low", "w", 2, "cpu: 1");
    h_work(h, 120000, 10000);
    assert_int_equal(h_bound(h, "low"), 2);
    g = h_job(h, "high", .min = 2, .replicas = 2, .pod = "cpu: 1", .queue = "q", .priority = "high");
    for (int i = 0; i < 10 && !is_admitted(h, g); i++)
        h_work(h, 1000, 1000);
    assert_true(is_admitted(h, g));
    h_job_pods(h, g, 2);
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, g), 2);
    assert_int_equal(h_bound(h, "low"), 0);
    h_free(h);
}

static void item_54_sla(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "running", .min = 4);
    h_pods(h, "running", "w", 4, "cpu: 1");
    h_settle(h);
    h_run(h);
    g = h_job(h, "j", .min = 2, .replicas = 2, .pod = "cpu: 1",
              .group_more = "metadata: {annotations: {sla-waiting-time: 10s}}");
    h_settle(h);
    assert_false(is_admitted(h, g));
    h_pass(h, 9000);
    h_settle(h);
    assert_false(is_admitted(h, g));
    assert_true(h->wake_ms > 0 && h->wake_ms <= h->now_ms + 1000); /* it asks to be woken in time */
    h_pass(h, 1000);
    h_settle(h);
    assert_true(is_admitted(h, g));
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_36_larger_than_the_cluster),
        cmocka_unit_test(item_36_by_min_resources),
        cmocka_unit_test(item_37_D11_admission_is_sticky),
        cmocka_unit_test(item_37_D11_all_pods_lost),
        cmocka_unit_test(a_task_that_depends_on_another_has_its_turn),
        cmocka_unit_test(places_for_a_pod_that_does_not_come),
        cmocka_unit_test(D20_fragmented_job_blocks_nobody),
        cmocka_unit_test(D20_admission_expires),
        cmocka_unit_test(D21_reclaim_before_admission),
        cmocka_unit_test(D23_priority_aware_admission),
        cmocka_unit_test(D30_counts_the_rest_only),
        cmocka_unit_test(D30_tainted_nodes_are_no_room),
        cmocka_unit_test(the_impossible_is_let_in),
        cmocka_unit_test(what_others_are_guaranteed_keeps_no_pods_away),
        cmocka_unit_test(a_gated_job_keeps_no_room),
        cmocka_unit_test(D32_group_without_pods_keeps_nothing),
        cmocka_unit_test(D32_finished_group_keeps_nothing),
        cmocka_unit_test(D32_minimum_has_succeeded),
        cmocka_unit_test(D35_preemption_in_a_full_queue),
        cmocka_unit_test(item_54_sla),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
