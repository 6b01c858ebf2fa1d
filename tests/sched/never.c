/* never.c - what can never run as things stand keeps nothing from anybody else, and comes back when things change */
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

static void gang_more(struct h *h, const char *name, int n, const char *queue, const char *amounts, const char *more)
{
    h_group(h, name, .min = n, .queue = queue);
    h_pods_more(h, name, "w", n, amounts, more);
}

/* ---- heads of fifo queues that nothing can help, and what brings them back ---- */

static void too_many(struct h *h)
{
    gang(h, "head", 5, "q", "cpu: 1");
}
static void more_nodes(struct h *h)
{
    h_node(h, "n2", "cpu: 8");
}

static void too_large(struct h *h)
{
    gang(h, "head", 1, "q", "cpu: 5");
}

static void no_such_node(struct h *h)
{
    gang_more(h, "head", 1, "q", "cpu: 1", "spec: {nodeSelector: {disk: ssd}}");
}
static void labelled_node(struct h *h)
{
    h_node_more(h, "n2", "cpu: 8", "metadata: {labels: {disk: ssd}}");
}

static void beyond_capability(struct h *h)
{
    h_change(h, h_get(h, "Queue", "q"), "spec: {capability: {cpu: 2}}");
    gang(h, "head", 3, "q", "cpu: 1");
}
static void more_capability(struct h *h)
{
    h_change(h, h_get(h, "Queue", "q"), "spec: {capability: {cpu: 4}}");
}

static void beyond_capability_above(struct h *h)
{
    h_queue(h, "above", "weight: 1, capability: {cpu: 2}");
    h_change(h, h_get(h, "Queue", "q"), "spec: {parent: above}");
    gang(h, "head", 3, "q", "cpu: 1");
}
static void more_capability_above(struct h *h)
{
    h_change(h, h_get(h, "Queue", "above"), "spec: {capability: {cpu: 4}}");
}

static void beyond_guarantees(struct h *h)
{
    h_queue(h, "sure", "weight: 1, guarantee: {resource: {cpu: 2}}");
    gang(h, "head", 3, "q", "cpu: 1");
}
static void no_guarantees(struct h *h)
{
    h_change(h, h_get(h, "Queue", "sure"), "spec: {guarantee: {resource: {cpu: 1}}}");
}

static void unknown_pods(struct h *h)
{
    h_group(h, "head", .min = 1, .queue = "q", .asks = "cpu: 6");
}

static void lonely(struct h *h) /* wants to be where a pod is that nobody has */
{
    gang_more(h, "head", 1, "q", "cpu: 1",
              "spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
              "kubernetes.io/hostname, labelSelector: {matchLabels: {app: nobody}}}]}}}");
}
static void company(struct h *h)
{
    h_change(h, h_stranger(h, "default", "friend", "n1", "cpu: 1"), "metadata: {labels: {app: nobody}}");
}

static void hard_topology(struct h *h)
{
    h_hyper(h, "rack", 1, "Exact", "n1");
    h_group(h, "head", .min = 5, .queue = "q", .more = "spec: {networkTopology: {mode: hard, highestTierAllowed: 1}}");
    h_pods(h, "head", "w", 5, "cpu: 1");
}
static void larger_rack(struct h *h)
{
    h_node(h, "n1", "cpu: 16");
}

static const struct never_case {
    const char *name;
    void (*head)(struct h *h);
    void (*change)(struct h *h);
    const char *reason, *said; /* said may be NULL */
    int pods;
} nevers[] = {
    { "more pods than the nodes take", too_many, more_nodes, "NeverFits", NULL, 5 },
    { "a pod larger than any node", too_large, more_nodes, "NeverFits", NULL, 1 },
    { "no node of that kind", no_such_node, labelled_node, "NeverFits", NULL, 1 },
    { "beyond the capability", beyond_capability, more_capability, "QueueCapability",
      "queue q: its capability is only 2", 3 },
    { "beyond that of the queue above", beyond_capability_above, more_capability_above, "QueueCapability",
      "queue above", 3 },
    { "what others are guaranteed", beyond_guarantees, no_guarantees, "QueueGuarantee", "guaranteed to other queues",
      3 },
    { "by minResources", unknown_pods, more_nodes, "NeverFits", "its minResources ask for 6 of cpu", 0 },
    { "affinity to nobody", lonely, company, "NotEnoughResources", "didn't match pod affinity", 1 },
    { "no domain is large enough", hard_topology, larger_rack, "NetworkTopology", NULL, 5 },
};

/* A fifo queue with such a head, and one behind it; another queue; an idle node. */
static void a_head_that_can_never_run_is_passed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(nevers); i++) {
        const struct never_case *c = &nevers[i];
        struct h *h = h_new(NULL);
        struct json *said;

        h_node(h, "n1", "cpu: 4");
        h_queue(h, "q", "weight: 1, dequeueStrategy: fifo");
        h_queue(h, "other", "weight: 1");
        c->head(h);
        h_pass(h, 2000);
        gang(h, "behind", 1, "q", "cpu: 1");
        h_work(h, h->config.reserve_after_ms + 10000, 5000);
        gang(h, "beside", 1, "other", "cpu: 1");
        h_work(h, 5000, 1000);
        said = h_condition(h, "PodGroup", "head", "Unschedulable");
        if (h_bound(h, "head") || h_bound(h, "behind") != 1 || h_bound(h, "beside") != 1 || !said)
            fail_msg("%s: head %d, behind %d, beside %d", c->name, h_bound(h, "head"), h_bound(h, "behind"),
                     h_bound(h, "beside"));
        assert_text(json_member_text(said, "reason"), c->reason);
        assert_has(json_member_text(said, "message"), "do not wait for it");
        if (c->said)
            assert_has(json_member_text(said, "message"), c->said);
        h_phase_all(h, "behind", "Succeeded");
        h_phase_all(h, "beside", "Succeeded");
        c->change(h);
        h_work(h, 10000, 1000);
        if (h_bound(h, "head") != c->pods)
            fail_msg("%s: %d bound after the change", c->name, h_bound(h, "head"));
        h_free(h);
    }
}

/* ---- those behind a head that waits ---- */

/* A job has places and waits for its pods; then one of higher priority comes before it in its fifo queue and waits.
 * What was kept for the first is free for other queues. */
static void those_held_back_keep_nothing(void **state)
{
    struct h *h = h_new(NULL);
    const char *a;

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 4");
    h_node_more(h, "n2", "cpu: 1", "metadata: {labels: {disk: ssd}}");
    h_queue(h, "q", "weight: 1, dequeueStrategy: fifo");
    h_queue(h, "other", "weight: 1");
    gang_more(h, "busy", 1, "other", "cpu: 1", "spec: {nodeSelector: {disk: ssd}}");
    h_settle(h);
    h_run(h);
    a = h_job(h, "a", .min = 3, .replicas = 3, .pod = "cpu: 1", .queue = "q");
    h_settle(h);
    h_group(h, "head", .min = 1, .queue = "q", .priority = "high"); /* fits on n2 alone, which is busy */
    h_pods_more(h, "head", "w", 1, "cpu: 1", "spec: {nodeSelector: {disk: ssd}, preemptionPolicy: Never}");
    h_job_pods(h, a, 3);
    h_work(h, 5000, 1000);
    assert_int_equal(h_bound(h, a), 0);
    gang(h, "beside", 4, "other",
         "cpu: 1"); /* beyond the share of its queue: not before something is kept for the head */
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    assert_int_equal(h_bound(h, "beside"), 4);
    h_phase_all(h, "busy", "Succeeded");
    h_phase_all(h, "beside", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "head"), 1);
    assert_int_equal(h_bound(h, a), 3);
    h_free(h);
}

/* ---- places and promises of those whose wait has no end ---- */

/* It has places and pods; then its queue takes nobody any more. */
static void a_closed_queue_keeps_nothing(void **state)
{
    (void)state;
    for (int is_reserved = 0; is_reserved < 2; is_reserved++) {
        struct h *h = h_new(NULL);
        const char *a;

        h_node(h, "n1", "cpu: 4");
        h_queue(h, "q", "weight: 1");
        if (is_reserved)
            gang(h, "busy", 1, "default", "cpu: 1");
        h_settle(h);
        h_run(h);
        a = h_job(h, "a", .min = 4, .replicas = 4, .pod = "cpu: 1", .queue = "q");
        h_work(h, is_reserved ? h->config.reserve_after_ms + 5000 : 1000, 1000);
        h_job_pods(h, a, 4);
        h_change(h, h_get(h, "Queue", "q"), "status: {state: Closed}");
        h_settle(h);
        gang(h, "beside", 3, "default", "cpu: 1");
        h_work(h, 5000, 1000);
        assert_int_equal(h_bound(h, a), 0);
        assert_int_equal(h_bound(h, "beside"), 3);
        h_free(h);
    }
}

/* It has places; then its queue may not have so much any more, and its pods come. */
static void a_smaller_queue_keeps_nothing(void **state)
{
    struct h *h = h_new(NULL);
    const char *a;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "q", "weight: 1");
    a = h_job(h, "a", .min = 4, .replicas = 4, .pod = "cpu: 1", .queue = "q");
    h_settle(h);
    h_change(h, h_get(h, "Queue", "q"), "spec: {capability: {cpu: 2}}");
    h_job_pods(h, a, 4);
    h_settle(h);
    gang(h, "beside", 4, "default", "cpu: 1");
    h_work(h, 5000, 1000);
    assert_int_equal(h_bound(h, "beside"), 4);
    h_free(h);
}

/* Its pods are not what its template said: the places that were kept do not suit them. */
static void places_that_suit_no_pod_are_given_up(void **state)
{
    struct h *h = h_new(NULL);
    const char *a;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    a = h_job(h, "a", .min = 2, .replicas = 2, .pod = "cpu: 2");
    h_settle(h);
    h_pods_more(h, a, "w", 2, "cpu: 2",
                "metadata: {labels: {app: x}}, spec: {affinity: {podAntiAffinity: "
                "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
                "labelSelector: {matchLabels: {app: x}}}]}}}");
    h_settle(h);
    gang(h, "beside", 4, "default", "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 20000, 5000);
    assert_int_equal(h_bound(h, a), 0);
    assert_int_equal(h_bound(h, "beside"), 4);
    h_free(h);
}

/* A gang lost a node and pods with it; beside those that are left there is no room for the rest. It keeps nothing. */
static void a_broken_gang_without_room_keeps_nothing(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_node(h, "n2", "cpu: 1");
    gang(h, "a", 5, "default", "cpu: 1");
    h_settle(h);
    h_run(h);
    h_delete(h, "Node", "n2");
    for (int i = 0, n = 0; i < 5; i++) {
        char pod[16];

        snprintf(pod, sizeof(pod), "a-w-%d", i);
        if (str_is(h_node_of(h, pod), "n2"))
            h_delete(h, "Pod", pod);
        else if (n++ == 0) /* one place is free, and two are needed */
            h_phase(h, pod, "Failed");
    }
    h_pods(h, "a", "w", 2, "cpu: 1");
    h_settle(h);
    gang(h, "beside", 1, "default", "cpu: 1");
    h_work(h, 5000, 1000);
    assert_int_equal(h_bound(h, "beside"), 1);
    assert_text(json_member_text(h_condition(h, "PodGroup", "a", "Unschedulable"), "reason"), "NeverFits");
    h_node(h, "n2", "cpu: 4");
    h_work(h, 5000, 1000);
    assert_int_equal(h_bound(h, "a"), 5);
    h_free(h);
}

/* Let in without places, and nobody makes pods for it: its promise does not use up what its queue may have for ever. */
static void a_promise_without_pods_ends(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {cpu: 4}");
    h_group(h, "ghost", .min = 1, .queue = "q", .asks = "cpu: 4");
    h_settle(h);
    assert_text(h_group_phase(h, "ghost"), "Inqueue");
    h_group(h, "real", .min = 4, .queue = "q", .asks = "cpu: 4");
    h_pods(h, "real", "w", 4, "cpu: 1");
    h_work(h, 2 * h->config.admission_ms, 10000);
    assert_int_equal(h_bound(h, "real"), 4);
    h_phase_all(h, "real", "Succeeded");
    for (int i = 0; i < 4; i++) { /* again and again */
        char name[16];

        snprintf(name, sizeof(name), "real%d", i);
        h_group(h, name, .min = 4, .queue = "q", .asks = "cpu: 4");
        h_pods(h, name, "w", 4, "cpu: 1");
        h_work(h, 2 * h->config.admission_ms, 10000);
        assert_int_equal(h_bound(h, name), 4);
        h_phase_all(h, name, "Succeeded");
    }
    h_free(h);
}

/* Others must not stay within their share for the sake of one that can never be let in. */
/* Its queue became too small for what it lost: what it was promised is of no use to it, and others of the queue may
 * be let in. */
static void a_promise_beyond_the_limit_keeps_nobody_out(void **state)
{
    struct h *h = h_new(NULL);
    const char *a, *b;

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "capability: {cpu: 4}");
    a = h_job(h, "a", .min = 2, .replicas = 2, .pod = "cpu: 2", .queue = "q");
    h_settle(h);
    h_job_pods(h, a, 2);
    h_settle(h);
    h_run(h);
    assert_int_equal(h_bound(h, a), 2);
    h_change(h, h_get(h, "Queue", "q"), "spec: {capability: {cpu: 3}}");
    h_delete(h, "Pod", "a-w-1");
    h_job_pods(h, a, 1);
    h_settle(h);
    b = h_job(h, "b", .min = 1, .replicas = 1, .pod = "cpu: 1", .queue = "q");
    h_work(h, 10000, 1000);
    assert_text(h_group_phase(h, b), "Inqueue");
    h_free(h);
}

static void no_room_is_left_for_the_impossible(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    h_queue(h, "qa", "weight: 1");
    h_queue(h, "qb", "weight: 1");
    h_group(h, "big", .min = 1, .queue = "qa", .asks = "cpu: 6");
    h_settle(h);
    gang(h, "all", 4, "qb", "cpu: 1");
    h_work(h, 5000, 1000);
    assert_int_equal(h_bound(h, "all"), 4);
    h_free(h);
}

/* A job that is not let in because too much was promised already waits longer than pods may take to be made: the places
 * that are kept for it stay. */
static void a_job_that_waits_for_admission_keeps_its_places(void **state)
{
    struct h *h = h_new(NULL);
    const char *a;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    gang(h, "busy", 2, "default", "cpu: 1");
    h_settle(h);
    h_run(h);
    a = h_job(h, "a", .min = 4, .replicas = 4, .pod = "cpu: 1", .group_more = "spec: {minResources: {cpu: 4}}");
    h_work(h, 2 * h->config.admission_ms, 10000);
    assert_text(h_group_phase(h, a), "Pending");
    gang(h, "late", 1, "default", "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, "late"), 0);
    h_phase_all(h, "busy", "Succeeded");
    h_settle(h);
    h_job_pods(h, a, 4);
    h_settle(h);
    assert_int_equal(h_bound(h, a), 4);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_that_can_never_run_is_passed),
        cmocka_unit_test(those_held_back_keep_nothing),
        cmocka_unit_test(a_closed_queue_keeps_nothing),
        cmocka_unit_test(a_smaller_queue_keeps_nothing),
        cmocka_unit_test(places_that_suit_no_pod_are_given_up),
        cmocka_unit_test(a_broken_gang_without_room_keeps_nothing),
        cmocka_unit_test(a_promise_without_pods_ends),
        cmocka_unit_test(a_promise_beyond_the_limit_keeps_nobody_out),
        cmocka_unit_test(no_room_is_left_for_the_impossible),
        cmocka_unit_test(a_job_that_waits_for_admission_keeps_its_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
