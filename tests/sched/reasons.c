/* reasons.c - what a group is told is what stops it */
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

static void expect(struct h *h, const char *group, const char *reason, const char *said, const char *not_said)
{
    struct json *c = h_condition(h, "PodGroup", group, "Unschedulable");

    assert_non_null(c);
    assert_text(json_member_text(c, "reason"), reason);
    if (said)
        assert_has(json_member_text(c, "message"), said);
    if (not_said && str_has(json_member_text(c, "message"), str_of(not_said)))
        fail_msg("%s says \"%s\": %.*s", group, not_said, STR_ARG(json_member_text(c, "message")));
}

/* No queue has a capability here; two are guaranteed something beside the third. */
static void a_guarantee_is_no_capability(void **state)
{
    (void)state;
    for (int is_below = 0; is_below < 2; is_below++) {
        struct h *h = h_new(NULL);
        const char *job;

        h_node(h, "n1", "cpu: 6");
        h_queue(h, "p", "weight: 1");
        h_queue(h, "sure", is_below ? "parent: p, guarantee: {resource: {cpu: 4}}" : "guarantee: {resource: {cpu: 4}}");
        h_queue(h, "q", is_below ? "parent: p" : "weight: 1");
        gang(h, "busy", 1, "q", "cpu: 1");
        h_settle(h);
        gang(h, "g", 2, "q", "cpu: 1");
        job = h_job(h, "j", .min = 2, .replicas = 2, .pod = "cpu: 1", .queue = "q");
        h_settle(h);
        expect(h, "g", "QueueGuarantee", "guaranteed to other queues leaves 1 of cpu, 2 is needed", "capability");
        h_job_pods(h, job, 2); /* it was let in, and says why it waits when its pods exist */
        h_settle(h);
        expect(h, job, "QueueGuarantee", "guaranteed to other queues leaves 1 of cpu, 2 is needed", "capability");
        h_free(h);
    }
}

/* Of what the queue may have the rest is kept for a gang that is before it. */
static void a_reservation_is_no_capability(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {cpu: 4}");
    gang(h, "busy", 2, "q", "cpu: 1");
    h_settle(h);
    h_run(h);
    gang(h, "first", 4, "q", "cpu: 1");
    gang(h, "fill", 5, "default", "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    h_pass(h, 1000);
    gang(h, "g", 1, "q", "cpu: 1");
    h_settle(h);
    expect(h, "first", "QueueCapability", "its capability leaves 2 of cpu, 4 is needed", NULL);
    expect(h, "g", "QueueReserved", "what is kept for default/first leaves 0 of cpu, 1 is needed", "capability");
    h_free(h);
}

/* The same with a promise: a job was let in, and its pods are not there. */
static void a_promise_is_no_capability(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {cpu: 4}");
    h_group(h, "ghost", .min = 1, .queue = "q", .asks = "cpu: 4");
    h_settle(h);
    gang(h, "g", 1, "q", "cpu: 1");
    h_settle(h);
    expect(h, "g", "QueueReserved", "what was promised to jobs before it leaves 0 of cpu, 1 is needed", "capability");
    h_free(h);
}

/* What is full is the queue above, by its capability; the queue itself has one too, and is far from it. */
static void the_queue_that_is_full_is_named(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "p", "weight: 1, capability: {cpu: 3}");
    h_queue(h, "c1", "parent: p, capability: {cpu: 6}");
    h_queue(h, "c2", "parent: p, capability: {cpu: 2}");
    gang(h, "busy", 3, "c1", "cpu: 1");
    h_settle(h);
    gang(h, "g", 1, "c2", "cpu: 1");
    h_settle(h);
    expect(h, "g", "QueueCapability", "queue p: its capability leaves 0 of cpu, 1 is needed", NULL);
    h_free(h);
}

/* The node has CPUs enough, and they are kept for another. */
static void kept_is_not_insufficient(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 4");
    gang(h, "busy", 1, "default", "cpu: 1");
    h_settle(h);
    h_run(h);
    gang(h, "big", 4, "default", "cpu: 1");
    h_work(h, h->config.reserve_after_ms + 5000, 5000);
    gang(h, "small", 2, "default", "cpu: 1");
    h_group(h, "large", .min = 1);
    h_pods(h, "large", "w", 1, "cpu: 4");
    h_work(h, 2000, 1000);
    expect(h, "small", "Reserved", "keeps the free room for default/big", "Insufficient");
    assert_has(h_said(h, "Pod", "small-w-0", "PodScheduled"), "1 node(s) had room that is kept for another job");
    expect(h, "large", "NotEnoughResources", "1 Insufficient cpu", "kept"); /* it would not fit without that either */
    h_free(h);
}

static void view_of(struct h *h, const char *group, struct buf *ret)
{
    struct sched_group_view v;

    assert_true(sched_group_view(h->s, STR("default"), str_of(group), &v));
    why_print(ret, sched_dims(h->s), v.why);
}

/* The minimum stands but for one role, or wholly, and more pods wait; as explain says it. */
static void never_fewer_needed_than_there_are(void **state)
{
    struct h *h = h_new(NULL);
    autobuf text = { 0 };

    (void)state;
    h_node(h, "n1", "cpu: 6");
    h_group(h, "g", .min = 1, .roles = "ps: 1", .phase = "Running");
    h_pods(h, "g", "w", 5, "cpu: 1");
    for (int i = 0; i < 5; i++) {
        char pod[16];

        snprintf(pod, sizeof(pod), "g-w-%d", i);
        h_bind(h, pod, "n1");
        h_phase(h, pod, "Running");
    }
    h_pods(h, "g", "ps", 1, "cpu: 2");
    h_settle(h);
    view_of(h, "g", &text);
    assert_has(buf_view(&text), "1 place is needed for task ps, 0 are there; for g-ps-0 0/1 nodes");
    h_free(h);
    h = h_new(NULL);
    h_node(h, "n1", "cpu: 1");
    h_group(h, "e", .min = 1);
    h_pods(h, "e", "w", 3, "cpu: 500m");
    h_settle(h);
    assert_int_equal(h_bound(h, "e"), 2);
    buf_reset(&text);
    view_of(h, "e", &text);
    assert_has(buf_view(&text), "its minimum has its places; for e-w-2 0/1 nodes");
    h_free(h);
}

/* A group that is known by its minResources only. */
static void sums_are_told_as_sums(void **state)
{
    struct h *h = h_new(NULL);
    autobuf text = { 0 };

    (void)state;
    h_node(h, "n1", "cpu: 10");
    gang(h, "busy", 8, "default", "cpu: 1");
    h_settle(h);
    h_group(h, "g", .min = 1, .asks = "cpu: 10");
    h_settle(h);
    view_of(h, "g", &text);
    assert_has(buf_view(&text), "its minResources ask for 10 of cpu, more than may be promised now");
    h_free(h);
}

/* While many wait, nobody is told again for the sake of other numbers, and they are not even counted. Who asks gets
 * them. */
static void whoever_asks_is_told_all(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h->config.retell = 4;
    sched_configure(h->s, &h->config);
    h_node(h, "n1", "cpu: 4");
    h_node(h, "n2", "cpu: 4");
    gang(h, "a", 4, "default", "cpu: 1");
    gang(h, "b", 4, "default", "cpu: 1");
    h_settle(h);
    h_run(h);
    for (int i = 0; i < 12; i++)
        gang(h,
             (const char *[]){ "g00", "g01", "g02", "g03", "g04", "g05", "g06", "g07", "g08", "g09", "g10", "g11" }[i],
             4, "default", "cpu: 1");
    h_settle(h);
    expect(h, "g00", "NotEnoughResources", "4/4 tasks in gang unschedulable", NULL);
    h_phase(h, "a-w-3", "Succeeded");
    h_settle(h);
    for (int i = 0; i < 2; i++) { /* the first, and one behind it */
        autobuf text = { 0 };

        view_of(h, i ? "g11" : "g00", &text);
        assert_has(buf_view(&text), "4 places are needed together, 1 is there");
        assert_has(buf_view(&text), "0/2 nodes are unavailable: 2 Insufficient cpu");
    }
    expect(h, "g00", "NotEnoughResources", "4/4 tasks in gang unschedulable", NULL);
    h_pass(h, h->config.rewrite_ms);
    h_phase(h, "a-w-2", "Failed");
    h_settle(h);
    expect(h, "g00", "NotEnoughResources", "2/4 tasks in gang unschedulable", NULL);
    expect(h, "g00", "NotEnoughResources", "0/2 nodes are unavailable: 2 Insufficient cpu", NULL);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guarantee_is_no_capability), cmocka_unit_test(a_reservation_is_no_capability),
        cmocka_unit_test(a_promise_is_no_capability),   cmocka_unit_test(the_queue_that_is_full_is_named),
        cmocka_unit_test(kept_is_not_insufficient),     cmocka_unit_test(never_fewer_needed_than_there_are),
        cmocka_unit_test(sums_are_told_as_sums),        cmocka_unit_test(whoever_asks_is_told_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
