/* creation.c - checklist 26 to 41: what a new job makes */
#include "harness.h"

#define ONE_OF(replicas) JOB("j", TASKS(TASK("a", replicas, "")))

static void test_026_new_job_is_pending(void **state)
{
    autoh h = h_new();
    const char *uid = h_job(h, ONE_OF("2"));

    (void)state;
    h_run(h);
    h_expect_phase(h, "j", "Pending");
    h_expect(h, "job/j", "status.conditions", "(1)");
    h_expect(h, "job/j", "status.conditions[0].status", "Pending");
    h_expect(h, "job/j", "status.minAvailable", "2");
    h_expect(h, "pg/j", "metadata.name", arena_fmt(&h->arena, "j-%s", uid).p);
    h_expect(h, "pg/j", "metadata.ownerReferences[0].uid", uid);
    h_expect(h, "pg/j", "metadata.ownerReferences[0].controller", "true");
    assert_int_equal(h_count(h, "pods"), 0);
}

static void test_027_group_carries_the_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_create(h, "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q1}, spec: {weight: 1}}");
    h_set_status(h, "queue/q1", "{state: Open}");
    h_job(h, JOB_META("labels: {team: blue}, annotations: {why: because}",
                      "queue: q1, minAvailable: 3, priorityClassName: high, " TASKS(TASK("a", "2", "minAvailable: 1,"),
                                                                                    TASK("b", "2", ""))));
    h_run(h);
    h_expect(h, "pg/j", "metadata.labels.team", "blue");
    h_expect(h, "pg/j", "metadata.annotations.why", "because");
    h_expect(h, "pg/j", "spec.queue", "q1");
    h_expect(h, "pg/j", "spec.priorityClassName", "high");
    h_expect(h, "pg/j", "spec.minMember", "3");
    h_expect(h, "pg/j", "spec.minTaskMember.a", "1");
    h_expect(h, "pg/j", "spec.minTaskMember.b", "2");
}

#define CPU(name, replicas, more, cpu, class)                                                                          \
    TASK_OF(name, replicas, more,                                                                                      \
            "priorityClassName: " class ", containers: [{name: c, image: i, resources: {requests: {cpu: '" cpu         \
                                        "'}}}]")

static void make_priorities(struct h *h)
{
    h_create(h, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}");
    h_create(h, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}");
    h_run(h);
}

static void test_028_min_resources(void **state)
{
    autoh h = h_new();

    (void)state;
    make_priorities(h);
    /* Fewer than the tasks' minima: the task of higher priority first, all its pods. */
    h_job(h, JOB("j", "minAvailable: 2, " TASKS(CPU("a", "2", "", "1", "low"), CPU("b", "2", "", "2", "high"))));
    h_run(h);
    h_expect(h, "pg/j", "spec.minResources.cpu", "4");
    h_expect(h, "pg/j", "spec.minResources[requests.cpu]", "4");
    h_expect(h, "pg/j", "spec.minResources.pods", "2");
    h_expect(h, "pg/j", "spec.minResources[count/pods]", "2");
    /* The minima first, then the rest by priority. */
    h_job(h, JOB("k", "minAvailable: 3, " TASKS(CPU("a", "2", "minAvailable: 1,", "1", "low"),
                                                CPU("b", "2", "minAvailable: 1,", "2", "high"))));
    h_run(h);
    h_expect(h, "pg/k", "spec.minResources.cpu", "5");
    h_expect(h, "pg/k", "spec.minResources.pods", "3");
}

static void test_029_limits_count_as_requests(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", TASKS(TASK_OF("a", "2", "",
                                    "containers: [{name: c, image: i, "
                                    "resources: {limits: {nvidia.com/gpu: 2, cpu: 1}}}]"))));
    h_run(h);
    h_expect(h, "pg/j", "spec.minResources[requests.nvidia.com/gpu]", "4");
    h_expect(h, "pg/j", "spec.minResources[requests.cpu]", "2");
}

static void test_030_admitted_job_gets_its_pods(void **state)
{
    static const struct {
        const char *path, *want;
    } cases[] = {
        { "metadata.ownerReferences[0].kind", "Job" },
        { "metadata.ownerReferences[0].name", "j" },
        { "metadata.ownerReferences[0].controller", "true" },
        { "metadata.ownerReferences[0].blockOwnerDeletion", "true" },
        { "metadata.labels[volcano.sh/task-index]", "1" },
        { "metadata.labels[volcano.sh/job-name]", "j" },
        { "metadata.labels[volcano.sh/task-spec]", "a" },
        { "metadata.labels[volcano.sh/queue-name]", "default" },
        { "metadata.annotations[volcano.sh/task-index]", "1" },
        { "metadata.annotations[volcano.sh/task-spec]", "a" },
        { "metadata.annotations[volcano.sh/job-name]", "j" },
        { "metadata.annotations[volcano.sh/queue-name]", "default" },
        { "metadata.annotations[volcano.sh/job-version]", "0" },
        { "metadata.annotations[volcano.sh/template-uid]", "j-a" },
        { "metadata.annotations[volcano.sh/job-retry-count]", "0" },
        { "spec.containers[0].image", "busybox" },
    };
    autoh h = h_new();
    const char *uid = h_job(h, JOB("j", TASKS(TASK("a", "2", ""), TASK("b", "1", ""))));

    (void)state;
    h_run(h);
    h_admit(h, "j");
    assert_int_equal(h_count(h, "pods"), 3);
    assert_true(h_exists(h, "pod/j-a-0") && h_exists(h, "pod/j-a-1") && h_exists(h, "pod/j-b-0"));
    h_expect(h, "pod/j-a-1", "metadata.ownerReferences[0].uid", uid);
    h_expect(h, "pod/j-a-1", "metadata.annotations[scheduling.k8s.io/group-name]", arena_fmt(&h->arena, "j-%s", uid).p);
    h_expect(h, "pod/j-a-1", "metadata.labels[volcano.sh/job-namespace]", h->namespace.p);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        h_expect(h, "pod/j-a-1", cases[i].path, cases[i].want);
    h_advance(h, 1000); /* counters follow within a second */
    h_expect(h, "job/j", "status.pending", "3");
}

static void test_031_no_pods_before_admission(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, ONE_OF("2"));
    h_run(h);
    h_set_status(h, "pg/j",
                 "{phase: Pending, conditions: [{type: Unschedulable, status: 'True', reason: NotEnoughResources, "
                 "message: too few nodes, lastTransitionTime: '2026-03-01T09:30:00Z'}]}");
    h_run(h);
    assert_true(h_event_says(h, "PodGroupPending", "too few nodes"));
    assert_true(h_event_says(h, "PodGroupPending", "unschedulable"));
    h_advance(h, 3600 * 1000);
    assert_int_equal(h_count(h, "pods"), 0);
    h_expect_phase(h, "j", "Pending");
}

static void test_032_partitions(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", TASKS(TASK("a", "4",
                                 "partitionPolicy: {totalPartitions: 2, partitionSize: 2, minPartitions: 1}, "
                                 "minAvailable: 2,"))));
    h_run(h);
    h_expect(h, "pg/j", "spec.subGroupPolicy", "(1)");
    h_expect(h, "pg/j", "spec.subGroupPolicy[0].name", "a");
    h_expect(h, "pg/j", "spec.subGroupPolicy[0].subGroupSize", "2");
    h_expect(h, "pg/j", "spec.subGroupPolicy[0].minSubGroups", "1");
    h_expect(h, "pg/j", "spec.subGroupPolicy[0].labelSelector.matchLabels[volcano.sh/task-spec]", "a");
    h_expect(h, "pg/j", "spec.subGroupPolicy[0].matchLabelKeys[0]", "volcano.sh/partition-id");
    h_admit(h, "j");
    h_expect(h, "pod/j-a-0", "metadata.labels[volcano.sh/partition-id]", "0");
    h_expect(h, "pod/j-a-1", "metadata.labels[volcano.sh/partition-id]", "0");
    h_expect(h, "pod/j-a-2", "metadata.labels[volcano.sh/partition-id]", "1");
    h_expect(h, "pod/j-a-3", "metadata.labels[volcano.sh/partition-id]", "1");
}

/* Number and name together are refused at admission; that the number wins is tested with the PodGroup's own tests. */
static void test_033_network_topology(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", "networkTopology: {mode: soft, highestTierAllowed: 2}, " TASKS(TASK("a", "1", ""))));
    h_job(h, JOB("k", "networkTopology: {highestTierName: rack}, " TASKS(TASK("a", "1", ""))));
    h_run(h);
    h_expect(h, "pg/j", "spec.networkTopology.mode", "soft");
    h_expect(h, "pg/j", "spec.networkTopology.highestTierAllowed", "2");
    h_expect(h, "pg/k", "spec.networkTopology.mode", "hard");
    h_expect(h, "pg/k", "spec.networkTopology.highestTierName", "rack");
}

static void test_034_scheduling_hints_flow_to_pods(void **state)
{
    static const char *const notes[][2] = {
        { "volcano.sh/preemptable", "true" },     { "volcano.sh/cooldown-time", "600s" },
        { "volcano.sh/revocable-zone", "*" },     { "volcano.sh/jdb-min-available", "1" },
        { "volcano.sh/jdb-max-unavailable", "" },
    };
    autoh h = h_new();

    (void)state;
    h_job(h, JOB_META("labels: {volcano.sh/preemptable: 'false', volcano.sh/cooldown-time: 10s, other: x}, "
                      "annotations: {volcano.sh/preemptable: 'true', volcano.sh/cooldown-time: 600s, "
                      "volcano.sh/revocable-zone: '*', volcano.sh/jdb-min-available: '1', "
                      "volcano.sh/jdb-max-unavailable: '2'}",
                      TASKS(TASK("a", "1", ""))));
    h_run(h);
    h_admit(h, "j");
    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        h_expect(h, "pod/j-a-0", arena_fmt(&h->arena, "metadata.annotations[%s]", notes[i][0]).p, notes[i][1]);
    h_expect(h, "pod/j-a-0", "metadata.labels[volcano.sh/preemptable]", "false");
    h_expect(h, "pod/j-a-0", "metadata.labels[volcano.sh/cooldown-time]", "10s");
    h_expect(h, "pod/j-a-0", "metadata.labels.other", "");
}

static void test_035_topology_policy(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j", TASKS(TASK_OF("a", "1", "topologyPolicy: single-numa-node,",
                                    "containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]"))));
    h_run(h);
    h_admit(h, "j");
    h_expect(h, "pod/j-a-0", "metadata.annotations[volcano.sh/numa-topology-policy]", "single-numa-node");
}

static void test_036_template_overrides_the_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_create(h, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}");
    h_create(h, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}");
    h_job(h, JOB("j", "schedulerName: ours, priorityClassName: high, " TASKS(
                          TASK("a", "1", ""), TASK_OF("b", "1", "",
                                                      "schedulerName: theirs, priorityClassName: low, "
                                                      "containers: [{name: c, image: i}]"))));
    h_run(h);
    h_admit(h, "j");
    h_expect(h, "pod/j-a-0", "spec.schedulerName", "ours");
    h_expect(h, "pod/j-a-0", "spec.priorityClassName", "high");
    h_expect(h, "pod/j-b-0", "spec.schedulerName", "theirs");
    h_expect(h, "pod/j-b-0", "spec.priorityClassName", "low");
}

#define CLAIM "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
#define PVC(name)                                                                                                      \
    "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " name ", namespace: default}, spec: " CLAIM "}"

static void test_037_claim_of_the_job(void **state)
{
    autoh h = h_new();
    const char *claim, *uid;

    (void)state;
    uid = h_job(h, JOB("j", "volumes: [{mountPath: /data, volumeClaim: " CLAIM "}], " TASKS(
                                TASK_OF("a", "1", "", "containers: [{name: c, image: i}, {name: d, image: i}]"))));
    h_run(h);
    claim = h_get(h, "job/j", "spec.volumes[0].volumeClaimName");
    assert_int_equal(strncmp(claim, "j-pvc-", 6), 0);
    h_expect(h, arena_fmt(&h->arena, "pvc/%s", claim).p, "metadata.ownerReferences[0].uid", uid);
    h_admit(h, "j");
    h_advance(h, 1000);
    h_expect(h, "job/j", arena_fmt(&h->arena, "status.controlledResources[volume-pvc-%s]", claim).p, claim);
    h_expect(h, "pod/j-a-0", "spec.volumes[0].persistentVolumeClaim.claimName", claim);
    h_expect(h, "pod/j-a-0", "spec.containers[0].volumeMounts[0].mountPath", "/data");
    h_expect(h, "pod/j-a-0", "spec.containers[1].volumeMounts[0].mountPath", "/data");
    assert_int_equal(h_count(h, "pvc"), 1);
}

#define WITH_CLAIM JOB("j", "volumes: [{mountPath: /data, volumeClaimName: mine}], " TASKS(TASK("a", "1", "")))

static void test_038_claim_of_somebody(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, WITH_CLAIM);
    h_run(h);
    assert_true(h_event_says(h, "PVCError", "mine"));
    assert_false(h_exists(h, "pg/j"));
    h_expect_phase(h, "j", "Pending");
    h_create(h, PVC("mine"));
    h_run(h);
    assert_true(h_exists(h, "pg/j"));
    h_expect(h, "pvc/mine", "metadata.ownerReferences", "");
    h_admit(h, "j");
    h_expect(h, "pod/j-a-0", "spec.volumes[0].persistentVolumeClaim.claimName", "mine");
    h_advance(h, 1000);
    h_expect(h, "job/j", "status.controlledResources[volume-pvc-mine]", "mine");
}

static void test_039_late_claim(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, WITH_CLAIM);
    h_advance(h, 5 * 60 * 1000);
    h_expect_phase(h, "j", "Pending");
    h_create(h, PVC("mine"));
    h_run(h);
    h_go(h, "j");
    h_expect_phase(h, "j", "Running");
}

static void test_040_legacy_group_name(void **state)
{
    autoh h = h_new();
    const char *uid;

    (void)state;
    h_stop(h, 0);
    uid = h_job(h, ONE_OF("2"));
    h_create(h, arena_fmt(&h->arena,
                          "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, "
                          "metadata: {name: j, namespace: default, ownerReferences: [{apiVersion: "
                          "batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: %s, controller: true}]}, "
                          "spec: {minMember: 2, queue: default}, status: {phase: Inqueue}}",
                          uid)
                    .p);
    h_start(h, 0);
    h_run(h);
    assert_int_equal(h_count(h, "podgroups"), 1);
    assert_int_equal(h_count_pods(h, "j", "a", NULL), 2);
    h_expect(h, "pod/j-a-0", "metadata.annotations[scheduling.k8s.io/group-name]", "j"); /* B46 */
}

static void test_041_deleted_group_comes_back(void **state)
{
    autoh h = h_new();
    const char *uid;

    (void)state;
    h_job(h, ONE_OF("2"));
    h_run(h);
    uid = h_uid(h, "pg/j");
    h_delete(h, "pg/j", 0);
    h_run(h); /* B23: nothing else happens to the job */
    assert_true(h_exists(h, "pg/j"));
    assert_string_not_equal(h_uid(h, "pg/j"), uid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_026_new_job_is_pending),
        cmocka_unit_test(test_027_group_carries_the_job),
        cmocka_unit_test(test_028_min_resources),
        cmocka_unit_test(test_029_limits_count_as_requests),
        cmocka_unit_test(test_030_admitted_job_gets_its_pods),
        cmocka_unit_test(test_031_no_pods_before_admission),
        cmocka_unit_test(test_032_partitions),
        cmocka_unit_test(test_033_network_topology),
        cmocka_unit_test(test_034_scheduling_hints_flow_to_pods),
        cmocka_unit_test(test_035_topology_policy),
        cmocka_unit_test(test_036_template_overrides_the_job),
        cmocka_unit_test(test_037_claim_of_the_job),
        cmocka_unit_test(test_038_claim_of_somebody),
        cmocka_unit_test(test_039_late_claim),
        cmocka_unit_test(test_040_legacy_group_name),
        cmocka_unit_test(test_041_deleted_group_comes_back),
    };

    return cmocka_run_group_tests_name("lifecycle/creation", tests, NULL, NULL);
}
