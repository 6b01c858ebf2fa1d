/* status.c - what is written about groups and pods, and how often: items 49 and 56; D61, D62, D69, D80-D82, 6.2 */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* The phase of a PodGroup, one test for each row of the table in docs/scheduling.md */

static void item_49_no_minimum_no_pods(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 0);
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Completed");
    h_free(h);
}

static void item_49_enough_succeeded(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_phase(h, "g-w-0", "Succeeded");
    h_stranger(h, "default", "stranger", "n1", "cpu: 1");
    h_pods(h, "g", "w", 5, "cpu: 1"); /* they find no room */
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Completed");
    h_free(h);
}

static void lose_one(struct h *h)
{
    h_node(h, "n1", "cpu: 1");
    h_node(h, "n2", "cpu: 1");
    h_group(h, "g", .min = 2);
    h_pods(h, "g", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Running");
}

static void item_49_D11_nothing_runs_any_more(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    lose_one(h);
    h_delete(h, "Pod", "g-w-0");
    h_delete(h, "Pod", "g-w-1");
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Inqueue"); /* not Pending: it stays admitted */
    h_free(h);
}

static void item_49_some_run_the_rest_has_no_room(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    lose_one(h);
    h_delete(h, "Node", h_text(h_get(h, "Pod", "g-w-0"), "spec.nodeName").p);
    h_delete(h, "Pod", "g-w-0");
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Unknown");
    h_free(h);
}

static void item_49_graceful_deletion(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    lose_one(h);
    h_mark_deleted(h, "g-w-0");
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Running");
    h_free(h);
}

static void item_49_no_pods_no_condition(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 2);
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Inqueue"); /* nothing speaks against it */
    assert_null(h_condition(h, "PodGroup", "g", "Scheduled"));
    assert_null(h_condition(h, "PodGroup", "g", "Unschedulable"));
    h_free(h);
}

static void item_49_finished(void **state)
{
    struct h *h = h_new(NULL);
    struct h_object *g;

    (void)state;
    lose_one(h);
    h_phase(h, "g-w-0", "Succeeded");
    h_settle(h);
    g = h_get(h, "PodGroup", "g");
    assert_int_equal(json_i64(json_find(g->root, "status", "succeeded", NULL), -1), 1);
    assert_int_equal(json_i64(json_find(g->root, "status", "running", NULL), -1), 1);
    assert_text(h_group_phase(h, "g"), "Running");
    h_phase(h, "g-w-1", "Failed");
    h_settle(h);
    g = h_get(h, "PodGroup", "g");
    assert_int_equal(json_i64(json_find(g->root, "status", "failed", NULL), -1), 1);
    assert_text(h_group_phase(h, "g"), "Completed");
    h_free(h);
}

/* … and nobody has to happen to look again for the rest: at the latest after that minute pods say what holds. */
static void D62_pods_are_told_in_time(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "old", .min = 3);
    h_pods(h, "old", "w", 3, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_group(h, "g", .min = 2);
    h_pods(h, "g", "w", 2, "cpu: 1");
    h_settle(h);
    h_pass(h, 1000);
    h_node(h, "n2", "memory: 1Gi");
    h_settle(h);
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "0/1 nodes");
    while (h->wake_ms && h->wake_ms <= h->now_ms + 60000) { /* nothing happens but what it asked to be woken for */
        h_pass(h, h->wake_ms - h->now_ms);
        h_settle(h);
    }
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "0/2 nodes");
    h_free(h);
}

static void item_56_D62_new_node_and_many_pods(void **state)
{
    struct h *h = h_new(NULL);
    uint32_t before;

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 1000);
    h_pods(h, "g", "w", 1000, "cpu: 2");
    h_settle(h);
    before = h->all.n[DECIDE_POD_STATUS];
    h_node(h, "n2", "cpu: 1");
    h_pass(h, 1000);
    h_settle(h);
    assert_true(h->all.n[DECIDE_POD_STATUS] - before < 1000);
    h_free(h);
}

/* Nothing changed: nothing is written and nothing is told, for minutes. */
static void D61_D69_silence(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "runs", .min = 1);
    h_pods(h, "runs", "w", 2, "cpu: 1");
    h_group(h, "waits", .min = 2);
    h_pods(h, "waits", "w", 2, "cpu: 1");
    h_group(h, "short", .min = 5);
    h_pods(h, "short", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_pass(h, 30000); /* nobody makes more pods for the third */
    h_settle(h);
    for (int i = 0; i < 30; i++) {
        h_pass(h, 1000);
        if (h_round(h))
            fail_msg("after %d s: %s", i + 1, h->story.p);
    }
    h_free(h);
}

static void D61_idle(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "runs", .min = 2);
    h_pods(h, "runs", "w", 2, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_settle(h);
    assert_true(sched_is_idle(h->s));
    h_pods(h, "runs", "w", 1, "cpu: 1");
    assert_false(sched_is_idle(h->s));
    h_free(h);
}

/* The same news again are no news. */
static void D61_told_again(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "runs", .min = 1);
    h_pods(h, "runs", "w", 4, "cpu: 1");
    h_group(h, "waits", .min = 2);
    h_pods(h, "waits", "w", 2, "cpu: 1");
    h_settle(h);
    for (size_t i = 0; i < h->list.n; i++)
        sched_put(h->s, h->list.v[i]->root);
    if (h_round(h))
        fail_msg("%s", h->story.p);
    for (size_t i = 0; i < h->list.n; i++)
        h_tell(h, h->list.v[i]); /* a new revision, nothing else */
    if (h_round(h))
        fail_msg("%s", h->story.p);
    h_free(h);
}

static void D82_one_condition_at_a_time(void **state)
{
    struct h *h = h_new(NULL);
    struct json *scheduled, *not ;

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 2);
    h_pods(h, "g", "w", 2, "cpu: 1");
    h_settle(h);
    scheduled = h_condition(h, "PodGroup", "g", "Scheduled");
    assert_false(scheduled && str_is(json_member_text(scheduled, "status"), "True"));
    h_node(h, "n2", "cpu: 1");
    h_settle(h);
    scheduled = h_condition(h, "PodGroup", "g", "Scheduled");
    not = h_condition(h, "PodGroup", "g", "Unschedulable");
    assert_text(json_member_text(scheduled, "status"), "True");
    assert_false(not &&str_is(json_member_text(not, "status"), "True"));
    h_free(h);
}

/* The words of 6.2. */

/* A member is gone for good where no Job creates another: Unknown, as in Volcano. A Job creates it: Inqueue. */
static void a_lost_member_of_no_job(void **state)
{
    struct h *h = h_new(NULL);
    const char *job;

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "bare", .min = 2);
    h_pods(h, "bare", "w", 2, "cpu: 1");
    job = h_job(h, "job", .min = 2, .replicas = 2, .pod = "cpu: 1");
    h_settle(h);
    h_job_pods(h, job, 2);
    h_settle(h);
    h_run(h);
    h_settle(h);
    h_delete(h, "Pod", "bare-w-1");
    h_delete(h, "Pod", "job-w-1");
    h_work(h, 40000, 1000);
    assert_text(h_group_phase(h, "bare"), "Unknown");
    assert_text(h_group_phase(h, job), "Inqueue");
    h_free(h);
}

static void message_schedulable(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "busy", .min = 1);
    h_pods(h, "busy", "w", 1, "cpu: 1");
    h_settle(h);
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    assert_text(json_member_text(h_condition(h, "Pod", "g-w-0", "PodScheduled"), "reason"), "Schedulable");
    assert_text(h_said(h, "Pod", "g-w-0", "PodScheduled"),
                "Pod default/g-w-0 can possibly be assigned to n1, once minAvailable is satisfied");
    assert_text(json_member_text(h_condition(h, "Pod", "g-w-2", "PodScheduled"), "reason"), "Unschedulable");
    assert_text(h_said(h, "Pod", "g-w-2", "PodScheduled"), "0/1 nodes are unavailable: 1 Insufficient cpu.");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"),
               "1/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; Pending: 2 "
               "Schedulable, 1 Unschedulable. Origin reason is ");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "g-w-2: 0/1 nodes are unavailable: 1 Insufficient cpu.");
    assert_int_equal(h_events(h, "Pod", "g-w-2", "FailedScheduling"), 1);
    assert_int_equal(h_events(h, "PodGroup", "g", "Unschedulable"), 1);
    h_free(h);
}

/* A gang whose pods come one by one lacks nothing that anybody could do something about; one that gets no more does. */
static void pods_that_are_being_made(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 5);
    for (int i = 0; i < 4; i++) {
        h_pods(h, "g", "w", 1, "cpu: 1");
        h_settle(h);
        h_pass(h, 20000);
        h_settle(h);
    }
    assert_null(h_condition(h, "PodGroup", "g", "Unschedulable"));
    assert_null(h_condition(h, "Pod", "g-w-0", "PodScheduled"));
    assert_int_equal(h_events(h, "Pod", "g-w-0", "FailedScheduling"), 0);
    assert_int_equal(h_events(h, "PodGroup", "g", "Unschedulable"), 0);
    h_pass(h, 10000); /* the scheduler asked to be woken then */
    h_settle(h);
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "reason"), "NotEnoughTasks");
    assert_int_equal(h_events(h, "Pod", "g-w-0", "FailedScheduling"), 1);
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 5);
    h_free(h);
}

/* A Job whose policy ends it deletes its pods one by one: what is left is no gang that waits. */
static void pods_that_are_being_deleted(void **state)
{
    static const char *const phases[] = { "Terminating", "Failed", "Aborting", "Aborted", "Restarting", "Completing" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct h *h = h_new(NULL);
        const char *g = h_job(h, "j", .min = 3, .replicas = 3, .pod = "cpu: 1");
        autobuf status = { 0 };

        h_node(h, "n1", "cpu: 8");
        h_settle(h);
        h_job_pods(h, g, 3);
        h_settle(h);
        h_run(h);
        h_settle(h);
        h_pass(h, 60000);
        buf_fmt(&status, "status: {state: {phase: %s}}", phases[i]);
        h_phase(h, "j-w-0", "Failed");
        h_settle(h); /* it runs on: the policy has not been asked yet */
        h_change(h, h_get(h, "Job", "j"), status.p);
        h_delete(h, "Pod", "j-w-1");
        h_settle(h);
        h_pass(h, 60000);
        h_settle(h);
        assert_int_equal(h_events(h, "PodGroup", g, "Unschedulable"), 0);
        h_free(h);
    }
}

static void place_nothing(struct sched_config *c)
{
    c->places = false;
}

static void without_allocate_nothing_is_placed(void **state)
{
    struct h *h = h_new(place_nothing);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "reason"), "NoAllocateAction");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "without the action allocate");
    h_free(h);
}

/* Pods beyond the minimum that find no room are told as well. */
static void message_for_extras(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 2);
    assert_text(h_said(h, "Pod", "g-w-2", "PodScheduled"), "0/1 nodes are unavailable: 1 Insufficient cpu.");
    h_free(h);
}

static void message_pipelined(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 1");
    h_group(h, "low", .min = 1);
    h_pods(h, "low", "w", 1, "cpu: 1");
    h_work(h, 120000, 10000);
    h_group(h, "g", .min = 1, .priority = "high");
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_settle(h);
    assert_text(json_member_text(h_condition(h, "Pod", "g-w-0", "PodScheduled"), "reason"), "Unschedulable");
    assert_text(h_said(h, "Pod", "g-w-0", "PodScheduled"),
                "Pod default/g-w-0 can possibly be assigned to n1, once resource is released and minAvailable is "
                "satisfied");
    h_free(h);
}

static void message_sorted_causes(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_node(h, "n2", "cpu: 1");
    h_node_more(h, "n3", "cpu: 4", "spec: {unschedulable: true}");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 1, "cpu: 2");
    h_settle(h);
    assert_text(h_said(h, "Pod", "g-w-0", "PodScheduled"),
                "0/3 nodes are unavailable: 1 node(s) were unschedulable, 2 Insufficient cpu.");
    h_free(h);
}

/* D81: every resource that is missing is named, not the first only. */
static void D81_all_missing_resources(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1, memory: 1Gi");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 1, "cpu: 2, memory: 2Gi");
    h_settle(h);
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "Insufficient cpu");
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "Insufficient memory");
    h_free(h);
}

/* D80: refused at the door of the queue: the condition says so, with numbers. */
static void D80_refused_admission_is_told(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_queue(h, "q", "weight: 1, capability: {cpu: 2}");
    g = h_job(h, "j", .min = 3, .replicas = 3, .pod = "cpu: 1", .queue = "q");
    h_settle(h);
    assert_text(h_group_phase(h, g), "Pending");
    assert_non_null(h_condition(h, "PodGroup", g, "Unschedulable"));
    assert_has(h_said(h, "PodGroup", g, "Unschedulable"), "cpu");
    assert_has(h_said(h, "PodGroup", g, "Unschedulable"), "q");
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_49_no_minimum_no_pods),
        cmocka_unit_test(item_49_enough_succeeded),
        cmocka_unit_test(item_49_D11_nothing_runs_any_more),
        cmocka_unit_test(item_49_some_run_the_rest_has_no_room),
        cmocka_unit_test(item_49_graceful_deletion),
        cmocka_unit_test(item_49_no_pods_no_condition),
        cmocka_unit_test(item_49_finished),
        cmocka_unit_test(item_56_D62_new_node_and_many_pods),
        cmocka_unit_test(D62_pods_are_told_in_time),
        cmocka_unit_test(D61_D69_silence),
        cmocka_unit_test(D61_idle),
        cmocka_unit_test(D61_told_again),
        cmocka_unit_test(D82_one_condition_at_a_time),
        cmocka_unit_test(a_lost_member_of_no_job),
        cmocka_unit_test(message_schedulable),
        cmocka_unit_test(message_for_extras),
        cmocka_unit_test(pods_that_are_being_made),
        cmocka_unit_test(pods_that_are_being_deleted),
        cmocka_unit_test(without_allocate_nothing_is_placed),
        cmocka_unit_test(message_pipelined),
        cmocka_unit_test(message_sorted_causes),
        cmocka_unit_test(D81_all_missing_resources),
        cmocka_unit_test(D80_refused_admission_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
