/* needless.c - nobody is evicted for what comes by itself, what others were evicted for is used for that, and among
 * equals the right ones go */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static void gang(struct h *h, const char *name, int n, const char *queue, const char *amounts)
{
    h_group(h, name, .min = n, .queue = queue);
    h_pods(h, name, "w", n, amounts);
}

static void grow_old(struct h *h)
{
    h_work(h, h->config.min_run_ms + 5000, 5000);
}

/* The queue is full until a pod has gone that is going already. */
static void what_goes_is_enough_for_the_queue(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {cpu: 2}");
    gang(h, "low", 1, "q", "cpu: 1");
    gang(h, "goes", 1, "q", "cpu: 1");
    grow_old(h);
    h_mark_deleted(h, "goes-w-0");
    h_group(h, "high", .min = 1, .queue = "q", .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    (void)h_finish_deletes(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "high"), 1);
    h_free(h);
}

/* The same inside a job: a pod of higher task priority waits for what one of its own leaves. */
static void what_goes_is_enough_inside_a_job(void **state)
{
    (void)state;
    for (int is_quota = 0; is_quota < 2; is_quota++) {
        struct h *h = h_new(NULL);

        h_node(h, "n1", is_quota ? "cpu: 8" : "cpu: 3");
        h_queue(h, "q", is_quota ? "weight: 1, capability: {cpu: 3}" : "weight: 1");
        h_group(h, "g", .min = 1, .queue = "q");
        h_pods(h, "g", "w", 3, "cpu: 1");
        grow_old(h);
        assert_int_equal(h_bound(h, "g"), 3);
        h_mark_deleted(h, "g-w-2");
        h_pods_more(h, "g", "m", 1, "cpu: 1",
                    "metadata: {annotations: {volcano.sh/task-priority: '100'}}, spec: {priority: 100}");
        h_settle(h);
        assert_int_equal(h->all.n[DECIDE_EVICT], 0);
        (void)h_finish_deletes(h);
        h_settle(h);
        assert_int_equal(h_bound_role(h, "g", "m"), 1);
        h_free(h);
    }
}

/* Inside a job: the pod that waits may not run for its queue's sake, whoever of its own goes. */
static void no_eviction_inside_a_job_that_does_not_help(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {cpu: 3}");
    h_group(h, "g", .min = 1, .queue = "q");
    h_pods(h, "g", "w", 3, "cpu: 1");
    grow_old(h);
    h_pods_more(h, "g", "m", 1, "cpu: 3", "spec: {priority: 100}");
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

/* Two queues make room at the same time. The victims of the second are gone first: the first does not take its places.
 * */
static void room_is_used_by_whom_it_was_made_for(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node_more(h, "n1", "cpu: 2", "metadata: {labels: {a: 'yes'}}");
    h_node_more(h, "n2", "cpu: 2", "metadata: {labels: {a: 'yes', b: 'yes'}}");
    h_queue(h, "hog", "weight: 1");
    h_queue(h, "qa", "weight: 2");
    h_queue(h, "qb", "weight: 2");
    for (int i = 0; i < 4; i++) {
        char name[16];

        snprintf(name, sizeof(name), "hog%d", i);
        gang(h, name, 1, "hog", "cpu: 1");
    }
    grow_old(h);
    h_group(h, "a", .min = 1, .queue = "qa");
    h_pods_more(h, "a", "w", 1, "cpu: 1", "spec: {nodeSelector: {a: 'yes'}}");
    h_round(h);
    h_pass(h, 1000);
    h_group(h, "b", .min = 1, .queue = "qb");
    h_pods_more(h, "b", "w", 1, "cpu: 1", "spec: {nodeSelector: {b: 'yes'}}");
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 2);
    assert_text(h_nominated(h, "b-w-0"), "n2");
    for (int i = 0; i < 4; i++) { /* the victim on n2 is gone, the other takes its time */
        char pod[24];
        struct h_object *o;

        snprintf(pod, sizeof(pod), "hog%d-w-0", i);
        o = h_get(h, "Pod", pod);
        if (o && str_is(h_node_of(h, pod), "n2") && !str_empty(h_text(o, "metadata.deletionTimestamp")) &&
            !str_is(h_nominated(h, "a-w-0"), "n2"))
            h_delete(h, "Pod", pod);
    }
    h_settle(h);
    if (str_is(h_nominated(h, "a-w-0"), "n1")) {
        assert_int_equal(h_bound(h, "b"), 1);
        assert_int_equal(h_bound(h, "a"), 0);
    }
    (void)h_finish_deletes(h);
    h_settle(h);
    assert_int_equal(h_bound(h, "a"), 1);
    assert_int_equal(h_bound(h, "b"), 1);
    assert_int_equal(h->all.n[DECIDE_EVICT], 2);
    h_free(h);
}

/* Something is guaranteed to a third queue and idle, so that not the nodes are the bound: another queue does not take
 * what was made free. */
static void what_was_made_free_is_not_taken_beside_a_guarantee(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "sure", "weight: 1, guarantee: {resource: {cpu: 2}}");
    h_queue(h, "hog", "weight: 1");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1, priority: 10");
    for (int i = 0; i < 6; i++) {
        char name[16];

        snprintf(name, sizeof(name), "hog%d", i);
        gang(h, name, 1, "hog", "cpu: 1");
    }
    grow_old(h);
    gang(h, "a", 2, "qa", "cpu: 1");
    h_settle(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 2);
    gang(h, "b", 1, "qb", "cpu: 1");
    (void)h_finish_deletes(h);
    h_round(h);
    assert_int_equal(h_bound(h, "a"), 2);
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, "a"), 2);
    assert_int_equal(h_bound(h, "b"), 1);
    assert_int_equal(h->all.n[DECIDE_EVICT], 3);
    h_free(h);
}

/* A place elsewhere comes free meanwhile and is as good: the pod goes where it was said it would. */
static void bound_where_it_was_nominated(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node_more(h, "n1", "cpu: 1", "metadata: {labels: {name: n1}}");
    h_node_more(h, "n2", "cpu: 1", "metadata: {labels: {name: n2}}");
    h_group(h, "keeps", .min = 1);
    h_pods_more(h, "keeps", "w", 1, "cpu: 1",
                "metadata: {annotations: {volcano.sh/preemptable: 'false'}}, spec: {nodeSelector: {name: n1}}");
    h_group(h, "low", .min = 1);
    h_pods_more(h, "low", "w", 1, "cpu: 1", "spec: {nodeSelector: {name: n2}}");
    grow_old(h);
    h_group(h, "high", .min = 1, .priority = "high");
    h_pods(h, "high", "w", 1, "cpu: 1");
    h_settle(h);
    assert_text(h_nominated(h, "high-w-0"), "n2");
    h_phase(h, "keeps-w-0", "Succeeded");
    (void)h_finish_deletes(h);
    h_settle(h);
    assert_text(h_node_of(h, "high-w-0"), "n2");
    h_free(h);
}

/* A gang of 'n' pods on the node of this name. */
static void gang_on(struct h *h, const char *name, const char *priority, int n, const char *node)
{
    char more[40];

    snprintf(more, sizeof(more), "spec: {nodeSelector: {name: %s}}", node);
    h_group(h, name, .min = n, .queue = "q", .priority = priority);
    h_pods_more(h, name, "w", n, "cpu: 1", more);
}

/* Two jobs make room in a queue that may have 4 CPUs, and the victims of the second are gone first. Its queue still
 * refuses it, for the others are on their way out on another node: what it was promised is not given to a third. */
static void room_in_a_queue_is_waited_for(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_queue(h, "q", "weight: 1, capability: {cpu: 4}");
    h_node_more(h, "n1", "cpu: 8", "metadata: {labels: {name: n1}}");
    h_node_more(h, "n2", "cpu: 8", "metadata: {labels: {name: n2}}");
    gang_on(h, "a", NULL, 2, "n1");
    gang_on(h, "b", NULL, 2, "n2");
    grow_old(h);
    gang_on(h, "third", NULL, 1, "n2");
    h_settle(h);
    gang_on(h, "first", "high", 2, "n1");
    h_settle(h);
    assert_int_equal(h_going(h, "a"), 2);
    gang_on(h, "second", "high", 2, "n2");
    h_settle(h);
    assert_int_equal(h_going(h, "b"), 2);
    h_delete(h, "Pod", "b-w-0");
    h_delete(h, "Pod", "b-w-1");
    h_settle(h);
    h_delete(h, "Pod", "a-w-0");
    h_settle(h);
    assert_int_equal(h_bound(h, "third"), 0);
    h_delete(h, "Pod", "a-w-1");
    h_settle(h);
    assert_int_equal(h_bound(h, "first"), 2);
    assert_int_equal(h_bound(h, "second"), 2);
    h_free(h);
}

/* ---- among equals ---- */

static void equal(struct h *h, const char *name, const char *priority, int extra)
{
    char more[40];

    snprintf(more, sizeof(more), "spec: {priority: %s}", priority);
    h_group(h, name, .min = 1);
    h_pods_more(h, name, "w", 1 + extra, "cpu: 1", more);
    h_settle(h);
    h_run(h);
    h_pass(h, 2000);
}

/* Jobs of one priority, whose pods differ in their own: those go first that say the least, not the youngest. */
static void own_priority_of_pods_counts(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct h *h = h_new(NULL);

        h_priority(h, "high", 100, NULL);
        h_node(h, "n1", extra ? "cpu: 6" : "cpu: 3");
        equal(h, "first", "20", extra);
        equal(h, "least", "10", extra);
        equal(h, "young", "30", extra);
        grow_old(h);
        h_group(h, "new", .min = 1, .priority = "high");
        h_pods(h, "new", "w", 1, "cpu: 1");
        h_settle(h);
        assert_int_equal(h_going(h, "least"), 1);
        assert_int_equal(h->all.n[DECIDE_EVICT], 1);
        h_free(h);
    }
}

/* A job of low priority with a pod whose own priority is high. The one that comes must not share the node with that
 * pod, and there is room for two pods: it cannot have the place of the other alone, so both stay. */
static void a_pod_of_equal_priority_stays(void **state)
{
    static const char affinity[] =
        "metadata: {labels: {role: worker}}, spec: {priority: 100, affinity: {podAntiAffinity: "
        "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
        "kubernetes.io/hostname, labelSelector: {matchLabels: {role: worker}}}]}}}";
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "low", 10, NULL);
    h_priority(h, "high", 100, NULL);
    h_node_more(h, "n1", "cpu: 12, pods: 2", "metadata: {labels: {kubernetes.io/hostname: n1}}");
    h_group(h, "a", .min = 0, .priority = "low");
    h_pods_more(h, "a", "w", 1, "cpu: 3", affinity);
    h_pods_more(h, "a", "x", 1, "cpu: 3", "spec: {priority: 10}");
    grow_old(h);
    assert_int_equal(h_bound(h, "a"), 2);
    h_group(h, "b", .min = 1, .priority = "high");
    h_pods_more(h, "b", "w", 1, "cpu: 3", affinity);
    grow_old(h);
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_is_enough_for_the_queue),
        cmocka_unit_test(what_goes_is_enough_inside_a_job),
        cmocka_unit_test(no_eviction_inside_a_job_that_does_not_help),
        cmocka_unit_test(room_is_used_by_whom_it_was_made_for),
        cmocka_unit_test(what_was_made_free_is_not_taken_beside_a_guarantee),
        cmocka_unit_test(bound_where_it_was_nominated),
        cmocka_unit_test(room_in_a_queue_is_waited_for),
        cmocka_unit_test(own_priority_of_pods_counts),
        cmocka_unit_test(a_pod_of_equal_priority_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
