/* ttl.c - checklist 107 to 109: finished jobs go, deleted jobs leave nothing */
#include "harness.h"

/* End a running job of two pods in 'phase'. */
static void end_in(struct h *h, const char *phase)
{
    if (strcmp(phase, "Completed") == 0)
        h_pods_phase(h, "j", "Succeeded");
    else if (strcmp(phase, "Failed") == 0)
        h_pods_phase(h, "j", "Failed");
    else if (strcmp(phase, "Terminated") == 0)
        h_command(h, "j", "TerminateJob");
    else if (strcmp(phase, "Aborted") == 0)
        h_command(h, "j", "AbortJob");
    h_run(h);
}

static void test_107_ttl(void **state)
{
    static const char *const phases[] = { "Completed", "Failed", "Terminated" };
    autoh aborted = h_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        autoh now = h_new();
        autoh later = h_new();

        h_running(now, JOB("j", "ttlSecondsAfterFinished: 0, " TASKS(TASK("a", "2", ""))));
        end_in(now, phases[i]);
        h_advance(now, 10);
        assert_false(h_exists(now, "job/j"));
        assert_int_equal(h_count(now, "pods"), 0);

        h_running(later, JOB("j", "ttlSecondsAfterFinished: 5, " TASKS(TASK("a", "2", ""))));
        end_in(later, phases[i]);
        h_advance(later, 4900);
        h_expect_phase(later, "j", phases[i]);
        h_advance(later, 200);
        assert_false(h_exists(later, "job/j"));
        assert_int_equal(h_count(later, "pods"), 0);
    }
    h_running(aborted, JOB("j", "ttlSecondsAfterFinished: 0, " TASKS(TASK("a", "2", ""))));
    end_in(aborted, "Aborted");
    h_advance(aborted, 3600 * 1000);
    h_expect_phase(aborted, "j", "Aborted");
}

#define CLAIM "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"

static void test_108_delete_takes_all(void **state)
{
    static const char *const phases[] = { "Pending", "Running", "Completed", "Failed", "Terminated" };
    static const char *const kinds[] = { "jobs", "pods", "podgroups", "services", "configmaps", "secrets", "netpol" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        autoh h = h_new();

        h_create(h, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: mine, namespace: default}, "
                    "spec: " CLAIM "}");
        h_job(h, JOB("j", "plugins: {svc: [], ssh: []}, volumes: [{mountPath: /x, volumeClaimName: mine}, "
                          "{mountPath: /y, volumeClaim: " CLAIM "}], " TASKS(TASK("a", "2", ""))));
        h_run(h);
        if (i > 0)
            h_go(h, "j");
        end_in(h, phases[i]);
        h_expect_phase(h, "j", phases[i]);
        assert_int_equal(h_count(h, "pvc"), 2);
        h_delete(h, "job/j", -1);
        h_advance(h, 60 * 1000);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
            if (h_count(h, kinds[k]))
                fail_msg("deleted in %s: %zu %s left", phases[i], h_count(h, kinds[k]), kinds[k]);
        assert_int_equal(h_count(h, "pvc"), 1);
        assert_true(h_exists(h, "pvc/mine"));
    }
}

static void test_109_leaving_job_is_left_alone(void **state)
{
    autoh h = h_new();
    uint64_t creates, deletes;

    (void)state;
    h_running(h, JOB_META("finalizers: [example.com/wait]",
                          POLICIES(POLICY("PodFailed", "RestartJob")) TASKS(TASK("a", "3", ""))));
    creates = h->pod_creates;
    deletes = h->pod_deletes;
    h_delete(h, "job/j", -1);
    h_run(h);
    assert_string_not_equal(h_get(h, "job/j", "metadata.deletionTimestamp"), "");
    h_pod_fail(h, "j-a-0", 1);
    h_evict(h, "j-a-1", 0, 0);
    h_command(h, "j", "TerminateJob");
    h_advance(h, 60 * 1000);
    assert_int_equal(h->pod_creates, creates);
    assert_int_equal(h->pod_deletes, deletes);
    h_expect_phase(h, "j", "Running");
    h_set(h, "job/j", "metadata.finalizers", "[]");
    h_advance(h, 60 * 1000);
    assert_false(h_exists(h, "job/j"));
    assert_int_equal(h_count(h, "pods"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_107_ttl),
        cmocka_unit_test(test_108_delete_takes_all),
        cmocka_unit_test(test_109_leaving_job_is_left_alone),
    };

    return cmocka_run_group_tests_name("lifecycle/ttl", tests, NULL, NULL);
}
