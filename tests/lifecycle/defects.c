/* defects.c - better behaviours of docs/job-defects.md that the numbered tests do not show; the number is that of the
 * defect */
#include "harness.h"

#define TWO JOB("j", TASKS(TASK("a", "2", "")))

static void command(struct h *h, const char *action)
{
    h_command(h, "j", action);
    h_run(h);
}

static bool says(struct h *h, const char *text)
{
    return strstr(h_get(h, "job/j", "status.state.message"), text) != NULL;
}

#define RESTARTS(n)                                                                                                    \
    "{phase: Running, containerStatuses: [{name: c, ready: true, restartCount: " n ", state: {running: {}}}]}"

/* A node drained or preempted: the pod has failed, but it was not its own fault. */
static void test_b07_disruption_is_eviction(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodFailed", "TerminateJob"), POLICY("PodEvicted", "AbortJob"))
                              TASKS(TASK("a", "2", ""))));
    h_pod_status(
        h, "j-a-0",
        "{phase: Failed, conditions: [{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}], "
        "containerStatuses: [{name: c, state: {terminated: {exitCode: 143}}}]}");
    h_expect_phase(h, "j", "Aborted");
}

static void test_b09_target_of_nothing(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, TWO);
    command(h, "RestartPod");
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.retryCount", "0");
    assert_int_equal(h->pod_deletes, 0);
    assert_true(h_event_says(h, "CommandIssued", "RestartPod"));
}

static void test_b15_task_failed_once(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "2", "maxRetry: 3, " POLICIES(POLICY("TaskFailed", "RestartTask"))),
                                TASK("b", "1", ""))));
    h->holds_pods = true;
    h_pod_status(h, "j-a-0", RESTARTS("3"));
    h_pod_status(h, "j-a-0", RESTARTS("4"));
    h_pod_status(h, "j-a-1", RESTARTS("5"));
    h_release(h);
    h_go(h, "j");
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.retryCount", "1");
    assert_int_equal(h->pod_creates, 5);
}

static void test_b15_no_limit(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "1", "maxRetry: -1, " POLICIES(POLICY("TaskFailed", "AbortJob"))))));
    h_pod_status(h, "j-a-0", RESTARTS("1000"));
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
}

/* Admission refuses it; a controller must not do nothing for ever. */
static void test_b10_partition_of_nothing(void **state)
{
    const char *first;
    autoh h = NULL;

    (void)state;
    h_needs_store(); /* the kind's own rules refuse such a Job */
    h = h_new();
    h_create(h, JOB("j", "minAvailable: 2, queue: default, maxRetry: 3, " TASKS(
                             TASK("a", "2", "minAvailable: 2, " POLICIES(POLICY("PodFailed", "RestartPartition"))))));
    h_run(h);
    h_go(h, "j");
    first = h_uid(h, "pod/j-a-1");
    h_pod_fail(h, "j-a-0", 1);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "job/j", "status.retryCount", "1");
    assert_string_equal(h_uid(h, "pod/j-a-1"), first);
}

static void test_b46_stale_keys_go(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "2", ""))));
    h_set(h, "pg/j", "spec.minTaskMember", "{a: 1, ghost: 7}");
    h_run(h);
    h_expect(h, "pg/j", "spec.minTaskMember.a", "2");
    h_expect(h, "pg/j", "spec.minTaskMember.ghost", "");
}

static void test_b19_deletes_are_of_one_pod(void **state)
{
    autoh h = h_new();
    const char *uid;

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "2", ""))));
    h_stop(h, 0);
    h_command(h, "j", "RestartJob");
    h_start(h, 0);
    h->holds_pods = true;
    h_turns(h, 0, 3);
    h_release(h);
    h_go(h, "j");
    uid = h_uid(h, "pod/j-a-0");
    h_advance(h, 60 * 1000);
    assert_string_equal(h_uid(h, "pod/j-a-0"), uid);
    assert_int_equal(h->pod_deletes, 2);
    h_scale(h, "j", 0, 1, 1);
    h_run(h);
    command(h, "AbortJob");
    h_expect_phase(h, "j", "Aborted");
    assert_int_equal(h->blind_deletes, 0);
}

static void test_b20_groups_of_others(void **state)
{
    static const char *const groups[] = {
        "metadata: {name: x, namespace: default, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: "
        "00000000-0000-0000-0000-000000000009, controller: true}]}",
        "metadata: {name: j, namespace: default}",
    };
    autoh h = h_new_without_gc();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("Unknown", "TerminateJob")) TASKS(TASK("a", "2", ""))));
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        h_create(h, arena_fmt(&h->arena,
                              "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, %s, "
                              "spec: {minMember: 1}, status: {phase: Unknown}}",
                              groups[i])
                        .p);
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Running");
}

static void test_b26_missing_queue(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", "queue: later, " TASKS(TASK("a", "1", ""))));
    h_advance(h, 10 * 60 * 1000);
    h_expect_phase(h, "j", "Pending");
    assert_string_not_equal(h_get(h, "job/j", "status.state.reason"), "");
    assert_true(says(h, "later"));
    h_create(h, "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: later}, spec: {weight: 1}}");
    h_advance(h, 1000);
    h_expect(h, "job/j", "status.state.reason", "");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
}

static void test_b27_unknown_plugin(void **state)
{
    autoh h = h_new();

    (void)state;
    h_create(h, JOB("j", "minAvailable: 1, queue: default, maxRetry: 3, plugins: {nosuch: []}, " TASKS(
                             TASK("a", "1", "minAvailable: 1,"))));
    h_advance(h, 1000);
    h_expect_phase(h, "j", "Pending");
    assert_true(says(h, "nosuch"));
    command(h, "TerminateJob");
    h_expect_phase(h, "j", "Terminated");
}

static void test_b28_stuck_pods_are_counted(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, TWO);
    h->holds_pods = true;
    command(h, "AbortJob");
    h_advance(h, 3600 * 1000);
    h_expect_phase(h, "j", "Aborting");
    h_expect(h, "job/j", "status.terminating", "2");
    h_expect(h, "job/j", "status.running", "0"); /* B41: in one class only */
    h_release(h);
    h_expect_phase(h, "j", "Aborted");
    h_expect(h, "job/j", "status.terminating", "0");
}

static void test_b30_last_restart_of_a_pod_keeps_it(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "maxRetry: 1, " POLICIES(POLICY("PodFailed", "RestartPod")) TASKS(TASK("a", "2", ""))));
    h_pod_fail(h, "j-a-0", 5);
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Failed");
    h_expect(h, "pod/j-a-0", "status.phase", "Failed");
    assert_int_equal(h_count(h, "pods"), 1);
}

static void test_b31_nothing_is_left_of_the_last_attempt(void **state)
{
    static const char *const kinds[] = { "podgroups", "configmaps", "services", "netpol", "secrets" };
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", "maxRetry: 1, plugins: {svc: [], ssh: []}, " POLICIES(POLICY("PodFailed", "RestartJob"))
                              TASKS(TASK("a", "2", ""))));
    h_pod_fail(h, "j-a-0", 5);
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Failed");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (h_count(h, kinds[i]))
            fail_msg("%zu %s left", h_count(h, kinds[i]), kinds[i]);
}

static void test_b33_keys_are_made_once(void **state)
{
    autoh h = h_new();
    const char *key;

    (void)state;
    h_job(h, JOB("j", "plugins: {ssh: []}, " TASKS(TASK("a", "2", ""))));
    h_run(h);
    key = h_get(h, "secret/j-ssh", "data.id_rsa");
    assert_string_not_equal(key, "");
    h_group_phase(h, "j", "Pending");
    h_restart_controller(h);
    h_advance(h, 60 * 1000);
    h_scale(h, "j", 0, 3, 2);
    h_run(h);
    h_go(h, "j");
    command(h, "RestartJob");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    h_expect(h, "secret/j-ssh", "data.id_rsa", key);
}

static void test_b34_scaling_a_pending_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", "plugins: {svc: []}, " TASKS(TASK("a", "2", ""))));
    h_run(h);
    h_expect(h, "cm/j-svc", "data.VC_A_NUM", "2");
    h_scale(h, "j", 0, 3, 2);
    h_run(h);
    h_expect_phase(h, "j", "Pending");
    h_expect(h, "cm/j-svc", "data.VC_A_NUM", "3");
}

/* B27: the ConfigMap says whose hosts it has. Volcano's has no key for that, so ours has none; one that an earlier version
 * made keeps it, since pods may read it as a file. */
static void test_b27_generation_of_the_hosts(void **state)
{
    static const char note[] = "metadata.annotations[pumice.dev/generation]";
    autoh h = h_new();
    const char *before;

    (void)state;
    h_job(h, JOB("j", "plugins: {svc: []}, " TASKS(TASK("a", "2", ""))));
    h_run(h);
    before = h_get(h, "cm/j-svc", note);
    h_expect(h, "cm/j-svc", "data.generation", "");
    h_expect(h, "job/j", "metadata.generation", before);
    h_scale(h, "j", 0, 3, 2);
    h_run(h);
    assert_string_not_equal(h_get(h, "cm/j-svc", note), before);
    h_expect(h, "cm/j-svc", note, h_get(h, "job/j", "metadata.generation"));
    h_expect(h, "cm/j-svc", "data.generation", "");
    before = h_get(h, "cm/j-svc", "metadata.resourceVersion");
    h_set(h, "job/j", "spec.maxRetry", "9"); /* the same hosts: nothing is written */
    h_run(h);
    h_expect(h, "cm/j-svc", "metadata.resourceVersion", before);

    h_set(h, "cm/j-svc", "data", "{generation: '1'}");
    h_scale(h, "j", 0, 4, 2);
    h_run(h);
    h_expect(h, "cm/j-svc", "data.VC_A_NUM", "4");
    h_expect(h, "cm/j-svc", "data.generation", h_get(h, "job/j", "metadata.generation"));
}

static void test_b35_resume_runs_failed_pods_again(void **state)
{
    autoh h = h_new();
    const char *failed, *done;

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "3", ""))));
    h_pod_phase(h, "j-a-0", "Succeeded");
    h_pod_fail(h, "j-a-1", 1);
    done = h_uid(h, "pod/j-a-0");
    failed = h_uid(h, "pod/j-a-1");
    command(h, "AbortJob");
    h_expect_phase(h, "j", "Aborted");
    assert_int_equal(h_count(h, "pods"), 2);
    command(h, "ResumeJob");
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
    assert_string_equal(h_uid(h, "pod/j-a-0"), done);
    assert_string_not_equal(h_uid(h, "pod/j-a-1"), failed);
    h_pod_phase(h, "j-a-1", "Succeeded");
    h_pod_phase(h, "j-a-2", "Succeeded");
    h_expect_phase(h, "j", "Completed");
    h_expect(h, "job/j", "status.succeeded", "3");
}

static void test_b39_running_duration(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, TWO);
    h_advance(h, 100 * 1000); /* in the queue */
    h_go(h, "j");
    h_advance(h, 50 * 1000);
    h_pods_phase(h, "j", "Succeeded");
    h_expect_phase(h, "j", "Completed");
    h_expect(h, "job/j", "status.runningDuration", "50s");
    h_advance(h, 60 * 1000);
    h_restart_controller(h);
    h_expect(h, "job/j", "status.runningDuration", "50s");
}

static void test_b40_reason_and_message(void **state)
{
    static const char *const words[] = { "PodFailed", "j-a-1", "42", "1 of 2" };
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "2", ""))));
    h->holds_pods = true;
    h_pod_fail(h, "j-a-1", 42);
    h_expect(h, "job/j", "status.state.reason", "RestartJob");
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (!says(h, words[i]))
            fail_msg("\"%s\" does not say %s", h_get(h, "job/j", "status.state.message"), words[i]);
}

static void test_b41_surplus_is_deleted_once(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB("j", TASKS(TASK("a", "4", ""))));
    h->holds_pods = true;
    h_scale(h, "j", 0, 1, 1);
    h_run(h);
    h_set(h, "job/j", "spec.minAvailable", "0"); /* another sync */
    h_advance(h, 60 * 1000);
    assert_int_equal(h->pod_deletes, 3);
    h_expect(h, "job/j", "status.terminating", "3");
    h_expect(h, "job/j", "status.running", "1");
}

static void test_b45_metadata_reaches_the_group(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB_META("labels: {volcano.sh/preemptable: 'false'}, annotations: {volcano.sh/cooldown-time: 1s}",
                      TASKS(TASK("a", "1", ""))));
    h_run(h);
    h_set(h, "job/j", "metadata.labels[volcano.sh/preemptable]", "'true'");
    h_set(h, "job/j", "metadata.annotations[volcano.sh/cooldown-time]", "2s");
    h_run(h);
    h_expect(h, "pg/j", "metadata.labels[volcano.sh/preemptable]", "true");
    h_expect(h, "pg/j", "metadata.annotations[volcano.sh/cooldown-time]", "2s");
}

#define CLAIM "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"

static void test_b47_one_claim_however_often_tried(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", "volumes: [{mountPath: /a, volumeClaim: " CLAIM
                      "}, {mountPath: /b, volumeClaimName: late}], " TASKS(TASK("a", "1", ""))));
    for (int i = 0; i < 5; i++) {
        h_advance(h, 60 * 1000);
        h_restart_controller(h);
    }
    assert_in_range(h_count(h, "pvc"), 0, 1);
    h_create(h, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: late, namespace: default}, "
                "spec: " CLAIM "}");
    h_run(h);
    assert_int_equal(h_count(h, "pvc"), 2);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
}

static void test_b51_depends_on_nobody(void **state)
{
    autoh h = h_new();

    (void)state;
    h_create(h, JOB("j", "minAvailable: 1, queue: default, maxRetry: 3, " TASKS(
                             TASK("a", "1", "minAvailable: 1, dependsOn: {name: [ghost]},"))));
    h_advance(h, 60 * 1000);
    h_expect_phase(h, "j", "Pending");
    assert_true(says(h, "ghost"));
    command(h, "TerminateJob");
    h_expect_phase(h, "j", "Terminated");
}

static void test_b57_ttl_of_aborted_jobs(void **state)
{
    autoh h = h_new();

    (void)state;
    h_running(h, JOB_META("annotations: {pumice.dev/ttl-aborted: 'true'}",
                          "ttlSecondsAfterFinished: 5, " TASKS(TASK("a", "1", ""))));
    command(h, "AbortJob");
    h_expect_phase(h, "j", "Aborted");
    h_advance(h, 5100);
    assert_false(h_exists(h, "job/j"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_b07_disruption_is_eviction),
        cmocka_unit_test(test_b09_target_of_nothing),
        cmocka_unit_test(test_b15_task_failed_once),
        cmocka_unit_test(test_b15_no_limit),
        cmocka_unit_test(test_b10_partition_of_nothing),
        cmocka_unit_test(test_b46_stale_keys_go),
        cmocka_unit_test(test_b19_deletes_are_of_one_pod),
        cmocka_unit_test(test_b20_groups_of_others),
        cmocka_unit_test(test_b26_missing_queue),
        cmocka_unit_test(test_b27_unknown_plugin),
        cmocka_unit_test(test_b28_stuck_pods_are_counted),
        cmocka_unit_test(test_b30_last_restart_of_a_pod_keeps_it),
        cmocka_unit_test(test_b31_nothing_is_left_of_the_last_attempt),
        cmocka_unit_test(test_b33_keys_are_made_once),
        cmocka_unit_test(test_b34_scaling_a_pending_job),
        cmocka_unit_test(test_b27_generation_of_the_hosts),
        cmocka_unit_test(test_b35_resume_runs_failed_pods_again),
        cmocka_unit_test(test_b39_running_duration),
        cmocka_unit_test(test_b40_reason_and_message),
        cmocka_unit_test(test_b41_surplus_is_deleted_once),
        cmocka_unit_test(test_b45_metadata_reaches_the_group),
        cmocka_unit_test(test_b47_one_claim_however_often_tried),
        cmocka_unit_test(test_b51_depends_on_nobody),
        cmocka_unit_test(test_b57_ttl_of_aborted_jobs),
    };

    return cmocka_run_group_tests_name("lifecycle/defects", tests, NULL, NULL);
}
