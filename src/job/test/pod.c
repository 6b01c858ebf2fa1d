/* pod.c - how a pod is built from its task */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/pod.h"
#include "fixture.h"

static const char full_job[] = "apiVersion: batch.volcano.sh/v1alpha1\n"
                               "kind: Job\n"
                               "metadata:\n"
                               "  name: j\n"
                               "  namespace: team\n"
                               "  labels: {volcano.sh/preemptable: 'true', volcano.sh/cooldown-time: 5m, other: x}\n"
                               "  annotations:\n"
                               "    volcano.sh/preemptable: 'false'\n"
                               "    volcano.sh/revocable-zone: '*'\n"
                               "    volcano.sh/jdb-min-available: '1'\n"
                               "    volcano.sh/jdb-max-unavailable: '2'\n"
                               "    other: y\n"
                               "spec:\n"
                               "  queue: q1\n"
                               "  priorityClassName: high\n"
                               "  tasks:\n"
                               "  - name: a\n"
                               "    replicas: 4\n"
                               "    topologyPolicy: best-effort\n"
                               "    partitionPolicy: {totalPartitions: 2, partitionSize: 2}\n"
                               "    template:\n"
                               "      metadata:\n"
                               "        name: ignored\n"
                               "        labels: {app: web, volcano.sh/job-name: cheat}\n"
                               "        annotations: {note: hi}\n"
                               "      spec:\n"
                               "        restartPolicy: Never\n"
                               "        futureField: {kept: true}\n"
                               "        containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]\n"
                               "  - name: b\n"
                               "    replicas: 1\n"
                               "    template:\n"
                               "      spec:\n"
                               "        schedulerName: mine\n"
                               "        priorityClassName: low\n"
                               "        containers: [{name: c, image: i}]\n";

static struct json *make(struct fixture *f, size_t task, uint32_t index)
{
    struct pod_draft pod = { .task_pos = task, .index = index };
    struct err e;

    if (job_pod_new(&f->arena, &f->job, f->set, &pod, &e) < 0)
        fail_msg("%s", e.text);
    return pod.root;
}

static void test_metadata(void **state)
{
    struct fixture f;
    struct json *pod, *meta;

    (void)state;
    fixture_init(&f, full_job);
    pod = make(&f, 0, 3);
    meta = json_get(pod, "metadata");
    assert_text(json_get(meta, "name"), "j-a-3");
    assert_text(json_get(meta, "namespace"), "team");
    assert_json(json_get(meta, "labels"),
                "{\"app\":\"web\",\"volcano.sh/job-name\":\"j\",\"volcano.sh/task-index\":\"3\","
                "\"volcano.sh/task-spec\":\"a\",\"volcano.sh/job-namespace\":\"team\",\"volcano.sh/queue-name\":\"q1\","
                "\"volcano.sh/preemptable\":\"true\",\"volcano.sh/cooldown-time\":\"5m\","
                "\"volcano.sh/partition-id\":\"1\"}");
    assert_json(json_get(meta, "annotations"),
                "{\"note\":\"hi\",\"volcano.sh/task-index\":\"3\",\"volcano.sh/task-spec\":\"a\","
                "\"scheduling.k8s.io/group-name\":\"j-u-1\",\"volcano.sh/job-name\":\"j\","
                "\"volcano.sh/queue-name\":\"q1\",\"volcano.sh/job-version\":\"0\",\"volcano.sh/template-uid\":\"j-a\","
                "\"volcano.sh/job-retry-count\":\"0\",\"volcano.sh/numa-topology-policy\":\"best-effort\","
                "\"volcano.sh/preemptable\":\"false\",\"volcano.sh/revocable-zone\":\"*\","
                "\"volcano.sh/jdb-min-available\":\"1\"}");
    assert_json(json_get(meta, "ownerReferences"),
                "[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"u-1\","
                "\"controller\":true,\"blockOwnerDeletion\":true}]");
    assert_null(json_get(meta, "finalizers"));
    fixture_done(&f);
}

static void test_spec(void **state)
{
    struct fixture f;
    struct json *spec;

    (void)state;
    fixture_init(&f, full_job);
    spec = json_get(make(&f, 0, 0), "spec");
    assert_text(json_get(spec, "schedulerName"), "volcano");
    assert_text(json_get(spec, "priorityClassName"), "high");
    assert_json(json_get(spec, "futureField"), "{\"kept\":true}");
    spec = json_get(make(&f, 1, 0), "spec");
    assert_text(json_get(spec, "schedulerName"), "mine");
    assert_text(json_get(spec, "priorityClassName"), "low");
    fixture_done(&f);
}

/* The template belongs to the job; a pod is a copy. */
static void test_template_is_not_changed(void **state)
{
    struct fixture f;
    struct json *before;

    (void)state;
    fixture_init(&f, full_job);
    before = json_copy(&f.arena, f.root);
    make(&f, 0, 0);
    make(&f, 0, 1);
    assert_true(json_equal(before, f.root));
    assert_true(json_equal(make(&f, 0, 1), make(&f, 0, 1)));
    fixture_done(&f);
}

static void test_version_and_retry_come_from_status(void **state)
{
    struct fixture f;
    struct json *notes;

    (void)state;
    fixture_init(&f, full_job);
    f.job.status.version = 7;
    f.job.status.retry_count = 2;
    notes = json_find(make(&f, 1, 0), "metadata", "annotations", NULL);
    assert_text(json_get(notes, "volcano.sh/job-version"), "7");
    assert_text(json_get(notes, "volcano.sh/job-retry-count"), "2");
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_spec),
        cmocka_unit_test(test_template_is_not_changed),
        cmocka_unit_test(test_version_and_retry_come_from_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
