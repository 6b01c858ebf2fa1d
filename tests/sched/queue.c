/* queue.c - queues: items 14, 17-21, 23-25 of the checklist; D24-D29, D31 */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void no_reclaim(struct sched_config *c)
{
    c->reclaims = false;
    c->preempts = false;
}

static void item_14_missing_queue(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_group(h, "g", .min = 1, .queue = "later");
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_group(h, "other", .min = 1);
    h_pods(h, "other", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_int_equal(h_bound(h, "other"), 1);
    h_queue(h, "later", "weight: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 1);
    h_free(h);
}

static void item_17_D28_closed_queue(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "q", "weight: 1");
    h_change(h, h_get(h, "Queue", "q"), "status: {state: Closed}");
    h_group(h, "g", .min = 1, .queue = "q", .phase = "Inqueue");
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_group(h, "be", .min = 1, .queue = "q", .phase = "Inqueue");
    h_pods(h, "be", "w", 1, "");
    h_group(h, "new", .min = 1, .queue = "q"); /* no minResources */
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_int_equal(h_bound(h, "be"), 0);
    assert_false(str_is(h_group_phase(h, "new"), "Inqueue"));
    h_change(h, h_get(h, "Queue", "q"), "status: {state: Open}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 1);
    assert_int_equal(h_bound(h, "be"), 1);
    h_free(h);
}

static void item_18_weights(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_node(h, "n2", "cpu: 4");
    h_queue(h, "one", "weight: 1");
    h_queue(h, "three", "weight: 3");
    h_singles(h, "a", 0, 8, "one", "cpu: 1");
    h_singles(h, "b", 0, 8, "three", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 8), 2);
    assert_int_equal(h_bound_all(h, "b", 8), 6);
    h_free(h);
}

static void item_19_idle_share_is_lent(void **state)
{
    struct h *h = h_new(no_reclaim);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_singles(h, "b", 0, 16, "qb", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "b", 16), 8);
    h_singles(h, "a", 0, 8, "qa", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 8), 0);
    for (int i = 0; i < 4; i++) {
        char pod[16];

        for (int k = 0; k < 16; k++) { /* some pod of b that runs ends */
            snprintf(pod, sizeof(pod), "b%d-w-0", k);
            if (!str_empty(h_node_of(h, pod)) && str_is(h_text(h_get(h, "Pod", pod), "status.phase"), "Pending"))
                break;
        }
        h_phase(h, pod, "Succeeded");
        h_settle(h);
        assert_int_equal(h_bound_all(h, "a", 8), i + 1);
    }
    h_free(h);
}

static void item_20_guarantee(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "qa", "weight: 1, deserved: {cpu: 2}, guarantee: {resource: {cpu: 2}}");
    h_queue(h, "qb", "weight: 1");
    h_singles(h, "b", 0, 10, "qb", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "b", 10), 6);
    h_singles(h, "a", 0, 2, "qa", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 2), 2);
    h_free(h);
}

/* Each of two queues stays within what it may have alone; together they must not take what is guaranteed to a third. */
static void item_20_guarantee_against_two(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 6");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_queue(h, "qc", "weight: 1, deserved: {cpu: 2}, guarantee: {resource: {cpu: 2}}");
    h_singles(h, "a", 0, 4, "qa", "cpu: 1");
    h_singles(h, "b", 0, 2, "qb", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 4) + h_bound_all(h, "b", 2), 4);
    h_singles(h, "c", 0, 2, "qc", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "c", 2), 2);
    h_free(h);
}

/* A node is lost, and more is guaranteed than there is: that keeps nobody from what is guaranteed to it. */
static void item_20_more_guaranteed_than_there_is(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_node(h, "n2", "cpu: 2");
    h_queue(h, "qa", "weight: 1, guarantee: {resource: {cpu: 2}}");
    h_queue(h, "qb", "weight: 1, guarantee: {resource: {cpu: 2}}");
    h_queue(h, "qc", "weight: 1");
    h_delete(h, "Node", "n2");
    h_singles(h, "c", 0, 1, "qc", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "c", 1), 0);
    h_group(h, "a", .min = 2, .queue = "qa");
    h_pods(h, "a", "w", 2, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "a"), 2);
    h_free(h);
}

/* A gang that is larger than its queue's share runs when nobody else can use the room, also while another queue asks
 * for more than its own share. */
static void item_19_gang_above_the_share(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_group(h, "a", .min = 3, .queue = "qa");
    h_pods(h, "a", "w", 3, "cpu: 1");
    h_group(h, "b", .min = 3, .queue = "qb");
    h_pods(h, "b", "w", 3, "cpu: 1");
    h_work(h, 120000, 5000);
    assert_int_equal(h_bound(h, "a") + h_bound(h, "b"), 3);
    h_phase_all(h, h_bound(h, "a") ? "a" : "b", "Succeeded");
    h_work(h, 120000, 5000);
    assert_int_equal(h_bound(h, "a") + h_bound(h, "b"), 3);
    h_free(h);
}

/* What can never run asks for nothing: it takes no share from others. */
static void item_19_the_impossible_has_no_share(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1, capability: {cpu: 2}");
    h_group(h, "never", .min = 8, .queue = "qa");
    h_pods(h, "never", "w", 8, "cpu: 1");
    h_group(h, "capped", .min = 3, .queue = "qb");
    h_pods(h, "capped", "w", 3, "cpu: 1");
    h_group(h, "a", .min = 4);
    h_pods(h, "a", "w", 4, "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, "a"), 4);
    h_free(h);
}

static void item_21_capability(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8, memory: 8Gi");
    h_queue(h, "q", "weight: 1, capability: {cpu: 2}");
    h_singles(h, "a", 0, 4, "q", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 4), 2);
    h_singles(h, "m", 0, 4, "q", "memory: 1Gi"); /* cpu is used up, memory has no limit (D31) */
    h_settle(h);
    assert_int_equal(h_bound_all(h, "m", 4), 4);
    h_free(h);
}

static void item_21_capability_of_a_gang(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {cpu: 2}");
    h_group(h, "g", .min = 3, .queue = "q");
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "cpu");
    h_change(h, h_get(h, "Queue", "q"), "spec: {capability: {cpu: 3}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

static void item_23_parent_capability(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "parent", "weight: 1, capability: {cpu: 2}");
    h_queue(h, "c1", "weight: 1, parent: parent, capability: {cpu: 6}");
    h_queue(h, "c2", "weight: 1, parent: parent");
    h_singles(h, "a", 0, 6, "c1", "cpu: 1");
    h_singles(h, "b", 0, 6, "c2", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 6) + h_bound_all(h, "b", 6), 2);
    h_free(h);
}

static void item_24_D25_job_in_a_parent(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "parent", "weight: 1");
    h_queue(h, "child", "weight: 1, parent: parent");
    h_group(h, "wrong", .min = 1, .queue = "parent");
    h_pods(h, "wrong", "w", 1, "cpu: 1");
    h_singles(h, "a", 0, 2, "child", "cpu: 1");
    h_singles(h, "b", 0, 2, "default", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "wrong"), 0);
    assert_int_equal(h_bound_all(h, "a", 2) + h_bound_all(h, "b", 2), 4);
    assert_non_null(h_condition(h, "PodGroup", "wrong", "Unschedulable"));
    assert_has(h_said(h, "PodGroup", "wrong", "Unschedulable"), "parent");
    h_free(h);
}

static void item_25_queue_priority(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_queue(h, "a", "weight: 1");
    h_queue(h, "z", "weight: 1, priority: 10");
    h_singles(h, "a", 0, 1, "a", "cpu: 1");
    h_pass(h, 2000);
    h_singles(h, "z", 0, 1, "z", "cpu: 1");
    h_node(h, "n1", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "z", 1), 1);
    assert_int_equal(h_bound_all(h, "a", 1), 0);
    h_free(h);
}

static void D24_fifo(void **state)
{
    (void)state;
    for (int fifo = 0; fifo < 2; fifo++) {
        struct h *h = h_new(NULL);

        h_node(h, "n1", "cpu: 2");
        h_queue(h, "q", fifo ? "weight: 1, dequeueStrategy: fifo" : "weight: 1, dequeueStrategy: traverse");
        h_group(h, "running", .min = 1, .queue = "q");
        h_pods(h, "running", "w", 1, "cpu: 1");
        h_settle(h);
        h_group(h, "big", .min = 2, .queue = "q");
        h_pods(h, "big", "w", 2, "cpu: 1");
        h_pass(h, 2000);
        h_group(h, "small", .min = 1, .queue = "q");
        h_pods(h, "small", "w", 1, "cpu: 1");
        h_settle(h);
        assert_int_equal(h_bound(h, "small"), fifo ? 0 : 1);
        h_free(h);
    }
}

/* Two children of one parent against a third queue: what the children got counts for the parent at once. */
static void D26_shares_of_the_whole_path(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "p", "weight: 1");
    h_queue(h, "c1", "weight: 1, parent: p");
    h_queue(h, "c2", "weight: 1, parent: p");
    h_queue(h, "other", "weight: 1");
    h_singles(h, "a", 0, 8, "c1", "cpu: 1");
    h_singles(h, "b", 0, 8, "c2", "cpu: 1");
    h_singles(h, "o", 0, 8, "other", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "o", 8), 4);
    assert_int_equal(h_bound_all(h, "a", 8), 2);
    assert_int_equal(h_bound_all(h, "b", 8), 2);
    h_free(h);
}

static void D27_missing_parent_and_cycle(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "lost", "weight: 1, parent: nobody");
    h_queue(h, "x", "weight: 1, parent: y");
    h_queue(h, "y", "weight: 1, parent: x");
    h_queue(h, "self", "weight: 1, parent: self");
    h_singles(h, "a", 0, 1, "lost", "cpu: 1");
    h_singles(h, "s", 0, 1, "self", "cpu: 1");
    h_singles(h, "d", 0, 1, "default", "cpu: 1");
    h_singles(h, "x", 0, 1, "x", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 1), 1);
    assert_int_equal(h_bound_all(h, "s", 1), 1);
    assert_int_equal(h_bound_all(h, "d", 1), 1);
    h_queue(h, "nobody", "weight: 1, capability: {cpu: 1}");
    h_singles(h, "a", 1, 1, "lost", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 2), 1); /* now it has a parent, and that is full */
    h_free(h);
}

static void D29_best_effort_obeys_quota(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {pods: 2}");
    h_singles(h, "a", 0, 4, "q", "");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "a", 4), 2);
    h_free(h);
}

/* A queue that has more than its share of memory may still take cpu. */
static void D31_only_requested_dimensions(void **state)
{
    struct h *h = h_new(no_reclaim);

    (void)state;
    h_node(h, "n1", "cpu: 8, memory: 8Gi");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_singles(h, "m", 0, 1, "qa", "cpu: 1, memory: 8Gi");
    h_settle(h);
    h_singles(h, "b", 0, 8, "qb", "cpu: 1, memory: 1Gi"); /* memory is gone */
    h_singles(h, "c", 0, 8, "qa", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_all(h, "b", 8), 0);
    assert_true(h_bound_all(h, "c", 8) >= 3);
    h_free(h);
}

/* status.allocated: what the pods with a node ask for, in the queue and above. */
static void queue_allocated(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8, memory: 8Gi");
    h_queue(h, "p", "weight: 1");
    h_queue(h, "c", "weight: 1, parent: p");
    h_singles(h, "a", 0, 3, "c", "cpu: 1500m");
    h_settle(h);
    assert_text(h_text(h_get(h, "Queue", "c"), "status.allocated.cpu"), "4500m");
    assert_text(h_text(h_get(h, "Queue", "p"), "status.allocated.cpu"), "4500m");
    assert_text(h_text(h_get(h, "Queue", "c"), "status.allocated.pods"), "3");
    h_run(h);
    h_phase_all(h, "a0", "Succeeded");
    h_work(h, 3000, 1000);
    assert_text(h_text(h_get(h, "Queue", "c"), "status.allocated.cpu"), "3");
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_14_missing_queue),
        cmocka_unit_test(item_17_D28_closed_queue),
        cmocka_unit_test(item_18_weights),
        cmocka_unit_test(item_19_idle_share_is_lent),
        cmocka_unit_test(item_20_guarantee),
        cmocka_unit_test(item_20_guarantee_against_two),
        cmocka_unit_test(item_20_more_guaranteed_than_there_is),
        cmocka_unit_test(item_19_gang_above_the_share),
        cmocka_unit_test(item_19_the_impossible_has_no_share),
        cmocka_unit_test(item_21_capability),
        cmocka_unit_test(item_21_capability_of_a_gang),
        cmocka_unit_test(item_23_parent_capability),
        cmocka_unit_test(item_24_D25_job_in_a_parent),
        cmocka_unit_test(item_25_queue_priority),
        cmocka_unit_test(D24_fifo),
        cmocka_unit_test(D26_shares_of_the_whole_path),
        cmocka_unit_test(D27_missing_parent_and_cycle),
        cmocka_unit_test(D29_best_effort_obeys_quota),
        cmocka_unit_test(D31_only_requested_dimensions),
        cmocka_unit_test(queue_allocated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
