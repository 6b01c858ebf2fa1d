/* gang.c - all or nothing: items 1-10, 34, 35, 40, 41, 55 of the checklist; D1-D6
 *
 * The checklist is the tests themselves, by number. Where each is ("gang" is tests/sched/gang.c, and so on):
 *
 *    1-10  gang     22  evict    26-33  evict    40-41  gang       49  status
 *   11-13  order    23  queue    34-35  gang     42-43  restart    52-53  topology
 *      14  queue    24  queue    36-37  admit       45  evict      54  admit
 *   17-21  queue    25  queue                    46-48  nodes      55  gang
 *                                                                  56  status
 *                                                                  57  order, property
 *   15, 16  src/api/test/admit_podgroup.c: test_13_25_redirect; test_rules, "closed queue"
 *       38  tests/lifecycle/creation.c: test_031_no_pods_before_admission, test_030_admitted_job_gets_its_pods
 *       39  tests/lifecycle: test_111_no_pods_of_the_dead (races.c), test_059_restart_pod (policies.c)
 *       44  src/driver/test/schedule.c: item_44_D63_many_objects
 *   50, 51 src/sched/test/config.c: test_bad, "unknown action"; test_good, "unknown names are warnings";
 *   test_50_51_reload
 *
 * Defects: D1-D6 gang; D7, D36, D40-D47 evict; D11, D20, D21, D23, D30, D32, D35 admit; D22 starve; D24-D29, D31 queue;
 * D61, D62, D69, D80-D83 status. What is expected is in docs/sched-defects.md.
 */
#include "harness.h"

#include "base/util.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

/* Three CPUs, one of them taken by somebody who will end. */
static struct h *two_free(void)
{
    struct h *h = h_new(NULL);

    h_node(h, "n1", "cpu: 3");
    h_group(h, "busy", .min = 1);
    h_pods(h, "busy", "w", 1, "cpu: 1");
    h_settle(h);
    h_run(h);
    h_settle(h);
    return h;
}

static void item_01_gang_none_fit(void **state)
{
    struct h *h = two_free();

    (void)state;
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    for (int i = 0; i < 3; i++) {
        char pod[16];

        snprintf(pod, sizeof(pod), "g-w-%d", i);
        assert_text(json_member_text(h_condition(h, "Pod", pod, "PodScheduled"), "status"), "False");
    }
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "status"), "True");
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "reason"), "NotEnoughResources");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "3 minAvailable");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "1/3 tasks in gang unschedulable");
    h_phase(h, "busy-w-0", "Succeeded");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

/* What would not fit on empty nodes either is told so; the numbers are there all the same. */
static void item_01_gang_never_fits(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    for (int i = 0; i < 3; i++) {
        char pod[16];

        snprintf(pod, sizeof(pod), "g-w-%d", i);
        assert_text(json_member_text(h_condition(h, "Pod", pod, "PodScheduled"), "status"), "False");
        assert_true(h_said(h, "Pod", pod, "PodScheduled").n > 0);
    }
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "status"), "True");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "3 minAvailable");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "Insufficient cpu");
    h_free(h);
}

static void item_02_gang_all_fit(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    for (int i = 0; i < 3 && h_bound(h, "g") == 0; i++)
        h_round(h);
    assert_int_equal(h->last.n[DECIDE_BIND], 3); /* in one round */
    h_settle(h);
    assert_text(h_group_phase(h, "g"), "Running");
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Scheduled"), "status"), "True");
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Scheduled"), "reason"),
                "tasks in gang are ready to be scheduled");
    h_free(h);
}

static void item_03_two_gangs_one_fits(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_node(h, "n2", "cpu: 3");
    h_group(h, "a", .min = 4);
    h_group(h, "b", .min = 4);
    h_pods(h, "a", "w", 4, "cpu: 1");
    h_pods(h, "b", "w", 4, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "a") + h_bound(h, "b"), 4);
    assert_true(h_bound(h, "a") == 0 || h_bound(h, "b") == 0);
    h_free(h);
}

static void item_04_beyond_the_minimum(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "g", .min = 2);
    h_pods(h, "g", "w", 5, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    assert_int_equal(h_waiting(h, "g"), 2);
    assert_text(h_group_phase(h, "g"), "Running");
    h_free(h);
}

static void item_05_role_minimum(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node_more(h, "n1", "cpu: 3", "metadata: {labels: {for: workers}}");
    h_group(h, "g", .min = 3, .roles = "ps: 1, worker: 2");
    h_pods_more(h, "g", "worker", 3, "cpu: 1", "spec: {nodeSelector: {for: workers}}");
    h_pods_more(h, "g", "ps", 1, "cpu: 1", "spec: {nodeSelector: {for: ps}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    h_node_more(h, "n2", "cpu: 1", "metadata: {labels: {for: ps}}");
    h_settle(h);
    assert_int_equal(h_bound_role(h, "g", "ps"), 1);
    assert_int_equal(h_bound_role(h, "g", "worker"), 3);
    h_free(h);
}

static void item_06_D5_contradictory_minima(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 2");
    h_group(h, "g", .min = 2, .roles = "ps: 1, worker: 2");
    h_pods(h, "g", "worker", 2, "cpu: 1");
    h_pods(h, "g", "ps", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "3 minAvailable");
    h_node(h, "n2", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

static void item_07_D83_fewer_pods_than_minimum(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 2, "cpu: 1");
    h_settle(h);
    h_pass(h, 30000); /* nobody makes more */
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "2");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "3");
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "reason"), "NotEnoughTasks");
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

static void item_07_D83_fewer_pods_of_a_role(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 3, .roles = "ps: 1, worker: 2");
    h_pods(h, "g", "worker", 4, "cpu: 1");
    h_settle(h);
    h_pass(h, 30000);
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_text(json_member_text(h_condition(h, "PodGroup", "g", "Unschedulable"), "reason"), "NotEnoughPodsOfTask");
    assert_has(h_said(h, "PodGroup", "g", "Unschedulable"), "ps");
    h_free(h);
}

static void item_08_role_failure_memory(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "aworker", 3, "cpu: 1", "spec: {nodeSelector: {no: where}}");
    h_pods(h, "g", "ps", 1, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound_role(h, "g", "ps"), 1);
    assert_int_equal(h_bound_role(h, "g", "aworker"), 0);
    h_free(h);
}

static void item_09_task_priority(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 1);
    h_pods_more(h, "g", "a", 1, "cpu: 1", "metadata: {annotations: {volcano.sh/task-priority: '1'}}");
    h_pods_more(h, "g", "b", 1, "cpu: 1", "metadata: {annotations: {volcano.sh/task-priority: '10'}}");
    h_settle(h);
    assert_text(h_node_of(h, "g-b-0"), "n1");
    assert_text(h_node_of(h, "g-a-0"), "");
    h_free(h);
}

static void item_10_pod_index(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 12, "cpu: 1");
    for (int i = 0; i < 12; i++) { /* 10 comes after 9, not after 1 */
        char pod[16];

        h_settle(h);
        snprintf(pod, sizeof(pod), "g-w-%d", i);
        assert_text(h_node_of(h, pod), "n1");
        assert_int_equal(h_bound(h, "g"), 1);
        h_phase(h, pod, "Succeeded");
    }
    h_free(h);
}

static void item_34_best_effort_when_full(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 1");
    h_group(h, "full", .min = 1);
    h_pods(h, "full", "w", 1, "cpu: 1");
    h_settle(h);
    h_group(h, "be", .min = 1);
    h_pods(h, "be", "w", 1, "");
    h_settle(h);
    assert_int_equal(h_bound(h, "full"), 1);
    assert_int_equal(h_bound(h, "be"), 1);
    h_free(h);
}

static void item_35_D4_best_effort_member_blocks(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 2, "cpu: 1");
    h_pods_more(h, "g", "be", 1, "", "spec: {nodeSelector: {no: where}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    h_node_more(h, "n2", "cpu: 1", "metadata: {labels: {no: where}}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 3);
    h_free(h);
}

static void item_40_gated_pod(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 8");
    h_group(h, "g", .min = 2);
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_pods_more(h, "g", "gated", 1, "cpu: 1", "spec: {schedulingGates: [{name: example.com/wait}]}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 0);
    assert_null(h_condition(h, "Pod", "g-gated-0", "PodScheduled"));
    h_change(h, h_get(h, "Pod", "g-gated-0"), "spec: {schedulingGates: null}");
    h_settle(h);
    assert_int_equal(h_bound(h, "g"), 2);
    h_free(h);
}

static void item_41_D2_bind_fails_once(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_fail(h, DECIDE_BIND, "g-w-1");
    for (int i = 0; i < 3 && h_bound(h, "g") == 0; i++)
        h_round(h);
    assert_int_equal(h_bound(h, "g"), 2);
    h_fail(h, DECIDE_BIND, NULL);
    h_work(h, 5000, 1000);
    assert_int_equal(h_bound(h, "g"), 3); /* the harness refuses a second bind of the others */
    assert_int_equal(h->all.n[DECIDE_EVICT], 0);
    h_free(h);
}

static void item_41_bind_failure_is_told(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "g", .min = 1);
    h_pods(h, "g", "w", 1, "cpu: 1");
    h_fail(h, DECIDE_BIND, "g-w-0");
    for (int i = 0; i < 3; i++)
        h_round(h);
    assert_text(json_member_text(h_condition(h, "Pod", "g-w-0", "PodScheduled"), "reason"), "SchedulerError");
    assert_has(h_said(h, "Pod", "g-w-0", "PodScheduled"), "failed to bind to node n1: it did not work");
    h_free(h);
}

/* A gang that stays broken gives its places back: members that were bound and have not started are released. */
static void item_41_D2_bind_fails_for_ever(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_node(h, "n1", "cpu: 3");
    h_group(h, "g", .min = 3);
    h_pods(h, "g", "w", 3, "cpu: 1");
    h_fail(h, DECIDE_BIND, "g-w-1");
    for (int64_t t = 0; t <= h->config.unbind_ms + 10000; t += 1000) {
        h_round(h);
        h_pass(h, 1000);
    }
    assert_int_equal(h_bound(h, "g"), 0);
    assert_true(h->all.n[DECIDE_EVICT] >= 2);
    h_free(h);
}

static void item_55_gang_of_10000(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%04d", i);
        h_node(h, name, "cpu: 10");
    }
    h_group(h, "g", .min = 10000);
    h_pods(h, "g", "w", 10000, "cpu: 1");
    for (int i = 0; i < 3 && h->last.n[DECIDE_BIND] == 0; i++)
        h_round(h);
    assert_int_equal(h->last.n[DECIDE_BIND], 10000);
    assert_true(h->all.n[DECIDE_POD_STATUS] <= 10);
    h_free(h);
}

/* A gang that lost a member goes before a fresh job of the same priority that waits longer, and the room is kept until
 * its controller made the new pod. */
static void D1_broken_gang_first(void **state)
{
    struct h *h = h_new(NULL);
    const char *a, *b;

    (void)state;
    for (int i = 0; i < 3; i++)
        h_node(h, (const char *[]){ "n1", "n2", "n3" }[i], "cpu: 1");
    a = h_job(h, "a", .min = 3, .replicas = 3, .pod = "cpu: 1");
    h_job_pods(h, a, 3);
    h_work(h, 3000, 1000);
    assert_int_equal(h_bound(h, a), 3);
    b = h_job(h, "b", .min = 1, .replicas = 1, .pod = "cpu: 1");
    h_job_pods(h, b, 1);
    h_work(h, 3000, 1000);
    assert_int_equal(h_bound(h, b), 0);
    h_phase(h, "a-w-0", "Failed");
    h_settle(h);
    assert_int_equal(h_bound(h, b), 0); /* kept for a */
    h_delete(h, "Pod", "a-w-0");
    h_settle(h);
    assert_int_equal(h_bound(h, b), 0);
    h_pass(h, 1000);
    h_job_pods(h, a, 1);
    h_settle(h);
    assert_int_equal(h_bound(h, a), 3);
    assert_int_equal(h_bound(h, b), 0);
    h_free(h);
}

static void D1_room_is_kept_for_a_bounded_time(void **state)
{
    struct h *h = h_new(NULL);
    const char *a, *b;

    (void)state;
    h_node(h, "n1", "cpu: 2");
    a = h_job(h, "a", .min = 2, .replicas = 2, .pod = "cpu: 1");
    h_job_pods(h, a, 2);
    h_work(h, 3000, 1000);
    b = h_job(h, "b", .min = 1, .replicas = 1, .pod = "cpu: 1");
    h_job_pods(h, b, 1);
    h_phase(h, "a-w-0", "Failed"); /* and nobody makes a new one */
    h_work(h, 15 * 60 * 1000, 10000);
    assert_int_equal(h_bound(h, b), 1);
    h_free(h);
}

/* The Job was scaled up; its PodGroup still has the old minimum. */
static void D3_job_is_newer_than_group(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 3");
    g = h_job(h, "j", .min = 2, .replicas = 2, .pod = "cpu: 1");
    h_change(h, h_get(h, "Job", "j"), "metadata: {generation: 2}, spec: {minAvailable: 4}");
    h_job_pods(h, g, 4);
    h_settle(h);
    assert_int_equal(h_bound(h, g), 0);
    h_node(h, "n2", "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, g), 4);
    h_free(h);
}

/* Pods that Succeeded and were deleted are not made again. They count for the gang, and nothing is kept for them. */
static void done_pods_count_when_they_are_gone(void **state)
{
    struct h *h = h_new(NULL);
    const char *g;

    (void)state;
    h_node(h, "n1", "cpu: 4");
    g = h_job(h, "j", .min = 4, .replicas = 4, .pod = "cpu: 1");
    h_job_pods(h, g, 4);
    h_settle(h);
    h_run(h);
    h_phase(h, "j-w-2", "Succeeded");
    h_phase(h, "j-w-3", "Succeeded");
    h_change(h, h_get(h, "Job", "j"), "status: {controlledResources: {pumice-done-w: 2-3}}");
    h_settle(h);
    h_delete(h, "Pod", "j-w-3");
    h_settle(h);
    assert_text(h_group_phase(h, g), "Running");
    h_delete(h, "Pod", "j-w-0"); /* is lost, and made again */
    h_job_pods(h, g, 1);
    h_settle(h);
    assert_int_equal(h_bound(h, g), 2);
    assert_text(h_group_phase(h, g), "Running");
    h_group(h, "other", .min = 2);
    h_pods(h, "other", "w", 2, "cpu: 1");
    h_settle(h);
    assert_int_equal(h_bound(h, "other"), 2);
    h_change(h, h_get(h, "Job", "j"), "status: {controlledResources: {pumice-done-w: ''}}"); /* all over again */
    h_delete(h, "Pod", "j-w-0");
    h_delete(h, "Pod", "j-w-1");
    h_job_pods(h, g, 2);
    h_settle(h);
    assert_int_equal(h_bound(h, g), 0);
    h_free(h);
}

/* Starving means any minimum that is not met: preemption goes on until the roles are satisfied too. */
static void D6_preempts_for_role_minima(void **state)
{
    struct h *h = h_new(NULL);

    (void)state;
    h_priority(h, "high", 100, NULL);
    h_node(h, "n1", "cpu: 3");
    h_group(h, "low", .min = 1);
    h_pods(h, "low", "w", 1, "cpu: 2");
    h_work(h, 3000, 1000);
    h_pass(h, 120000);
    h_group(h, "high", .min = 1, .priority = "high", .roles = "ps: 1, worker: 2");
    h_pods(h, "high", "worker", 2, "cpu: 1");
    h_pods(h, "high", "ps", 1, "cpu: 1");
    h_work(h, 10000, 1000);
    assert_int_equal(h_bound(h, "high"), 3);
    assert_int_equal(h_bound(h, "low"), 0);
    h_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_01_gang_none_fit),
        cmocka_unit_test(item_01_gang_never_fits),
        cmocka_unit_test(item_02_gang_all_fit),
        cmocka_unit_test(item_03_two_gangs_one_fits),
        cmocka_unit_test(item_04_beyond_the_minimum),
        cmocka_unit_test(item_05_role_minimum),
        cmocka_unit_test(item_06_D5_contradictory_minima),
        cmocka_unit_test(item_07_D83_fewer_pods_than_minimum),
        cmocka_unit_test(item_07_D83_fewer_pods_of_a_role),
        cmocka_unit_test(item_08_role_failure_memory),
        cmocka_unit_test(item_09_task_priority),
        cmocka_unit_test(item_10_pod_index),
        cmocka_unit_test(item_34_best_effort_when_full),
        cmocka_unit_test(item_35_D4_best_effort_member_blocks),
        cmocka_unit_test(item_40_gated_pod),
        cmocka_unit_test(item_41_D2_bind_fails_once),
        cmocka_unit_test(item_41_bind_failure_is_told),
        cmocka_unit_test(item_41_D2_bind_fails_for_ever),
        cmocka_unit_test(item_55_gang_of_10000),
        cmocka_unit_test(D1_broken_gang_first),
        cmocka_unit_test(D1_room_is_kept_for_a_bounded_time),
        cmocka_unit_test(D3_job_is_newer_than_group),
        cmocka_unit_test(done_pods_count_when_they_are_gone),
        cmocka_unit_test(D6_preempts_for_role_minima),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
