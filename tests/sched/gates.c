/* gates.c - pods behind their queue's gate (api/pod/gate.h): when it is opened, and for whom */
#include "harness.h"

#include "api/pod/gate.h"
#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define OPTED_IN "metadata: {annotations: {" QUEUE_GATE ": 'true'}}"
#define GATED    OPTED_IN ", spec: {schedulingGates: [{name: " QUEUE_GATE "}]}"

static int gated(struct h *h, const char *group)
{
    int n = 0;

    VEC_FOREACH(at, &h->list)
        n += !(*at)->is_gone && str_is((*at)->kind, "Pod") && str_starts((*at)->name, str_of(group)) &&
             json_count(json_find((*at)->root, "spec", "schedulingGates", NULL));
    return n;
}

static struct h *one_queue(const char *capability)
{
    struct h *h = h_new(NULL);
    char spec[120];

    snprintf(spec, sizeof(spec), "weight: 1, capability: {cpu: %s}", capability);
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", spec);
    return h;
}

/* Four CPUs of eight are the queue's: what it has room for is opened and placed. */
static void opens_what_the_queue_has_room_for(void **state)
{
    static const struct {
        int min, pods, bound, gated;
    } cases[] = {
        { 1, 1, 1, 0 }, { 4, 4, 4, 0 }, { 5, 5, 0, 5 }, /* the minimum together or not at all */
        { 2, 6, 4, 2 },                                 /* beyond it one by one */
        { 3, 2, 0, 2 },                                 /* a gang that lacks pods holds nothing */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct h *h = one_queue("4");

        h_group(h, "g", .min = cases[i].min, .queue = "q");
        h_pods_more(h, "g", "w", cases[i].pods, "cpu: 1", GATED);
        h_settle(h);
        if (h_bound(h, "g") != cases[i].bound || gated(h, "g") != cases[i].gated)
            fail_msg("case %zu: %d bound, %d gated", i, h_bound(h, "g"), gated(h, "g"));
        h_free(h);
    }
}

/* The group says which queue has no room; its pods are told nothing, or an autoscaler would look at them. */
static void waits_for_its_queue(void **state)
{
    struct h *h = one_queue("2");

    (void)state;
    h_group(h, "g", .min = 3, .queue = "q");
    h_pods_more(h, "g", "w", 3, "cpu: 1", GATED);
    h_settle(h);
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "queue q");
    assert_null(h_condition(h, "Pod", "g-w-0", "PodScheduled"));
    h_change(h, h_get(h, "Queue", "q"), "spec: {capability: {cpu: 3}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

/* No node takes it: its gate is opened all the same, and now it says why it waits. Until it goes it holds its part of the
 * queue against other gates, also for a scheduler that has just begun. */
static void holds_its_room_until_it_has_a_node(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct h *h = one_queue("2");

        h_group(h, "a", .min = 1, .queue = "q");
        h_pods_more(h, "a", "w", 1, "cpu: 2",
                    OPTED_IN ", spec: {nodeSelector: {no: such}, schedulingGates: [{name: " QUEUE_GATE "}]}");
        h_settle(h);
        assert_int_equal(gated(h, "a"), 0);
        assert_int_equal(h_bound(h, "a"), 0);
        assert_has(h_said(h, "Pod", "a-w-0", "PodScheduled"), "node");
        h_group(h, "b", .min = 1, .queue = "q");
        h_pods_more(h, "b", "w", 1, "cpu: 1", GATED);
        if (restart)
            h_restart(h);
        h_settle(h);
        assert_int_equal(gated(h, "b"), 1);
        h_delete(h, "Pod", "a-w-0");
        h_settle(h);
        assert_int_equal(h_bound(h, "b"), 1);
        h_free(h);
    }
}

/* Gates of others are theirs to open; a pod that did not opt in is theirs too. */
static void leaves_other_gates_alone(void **state)
{
    static const char *const pods[] = {
        OPTED_IN ", spec: {schedulingGates: [{name: example.com/x}]}",
        OPTED_IN ", spec: {schedulingGates: [{name: example.com/x}, {name: " QUEUE_GATE "}]}",
        "spec: {schedulingGates: [{name: " QUEUE_GATE "}]}",
        "metadata: {annotations: {" QUEUE_GATE ": 'yes'}}, spec: {schedulingGates: [{name: " QUEUE_GATE "}]}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        struct h *h = one_queue("4");

        h_group(h, "g", .min = 1, .queue = "q");
        h_pods_more(h, "g", "w", 1, "cpu: 1", pods[i]);
        h_settle(h);
        assert_int_equal(h->all.n[DECIDE_OPEN], 0);
        assert_int_equal(h_bound(h, "g"), 0);
        h_change(h, h_get(h, "Pod", "g-w-0"), GATED); /* the other one is gone */
        h_settle(h);
        assert_int_equal(h->all.n[DECIDE_OPEN], 1);
        assert_int_equal(h_bound(h, "g"), 1);
        h_free(h);
    }
}

/* A queue above has the bound; minima of tasks count; what could not be written is decided again. */
static void counts_queues_above_and_minima_of_tasks(void **state)
{
    struct h *h = one_queue("3");

    (void)state;
    h_queue(h, "child", "parent: q, weight: 1");
    h_group(h, "g", .min = 2, .queue = "child", .roles = "ps: 1, w: 2");
    h_pods_more(h, "g", "ps", 1, "cpu: 1", GATED);
    h_pods_more(h, "g", "w", 4, "cpu: 1", GATED);
    h_fail(h, DECIDE_OPEN, "g-ps-0");
    h_round(h);
    assert_int_equal(gated(h, "g-ps"), 1);
    h_fail(h, DECIDE_OPEN, NULL);
    h_settle(h);
    assert_int_equal(h_bound_role(h, "g", "ps"), 1);
    assert_int_equal(h_bound_role(h, "g", "w"), 2);
    assert_int_equal(gated(h, "g"), 2);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_what_the_queue_has_room_for),       cmocka_unit_test(waits_for_its_queue),
        cmocka_unit_test(holds_its_room_until_it_has_a_node),      cmocka_unit_test(leaves_other_gates_alone),
        cmocka_unit_test(counts_queues_above_and_minima_of_tasks),
    };

    return cmocka_run_group_tests_name("gates", tests, NULL, NULL);
}
