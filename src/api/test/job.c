/* job.c - decoding a Job and asking it */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/job.h"

#include "base/util.h"
#include "yaml/yaml.h"

static struct arena arena;

static int forget(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static struct json *parsed(const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(&arena, str_of(text), NULL, &docs, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    assert_int_equal(docs.n, 1);
    return docs.v[0];
}

static const char full_job[] = "apiVersion: batch.volcano.sh/v1alpha1\n"
                               "kind: Job\n"
                               "metadata: {name: train, namespace: ml, uid: u-1}\n"
                               "spec:\n"
                               "  schedulerName: volcano\n"
                               "  minAvailable: 3\n"
                               "  queue: gpu\n"
                               "  maxRetry: 5\n"
                               "  priorityClassName: high\n"
                               "  runningEstimate: 1h30m\n"
                               "  ttlSecondsAfterFinished: 0\n"
                               "  minSuccess: 2\n"
                               "  volumes:\n"
                               "  - {mountPath: /data, volumeClaimName: shared}\n"
                               "  - {mountPath: /out, volumeClaim: {accessModes: [ReadWriteOnce]}}\n"
                               "  plugins: {svc: [--publish-not-ready-addresses], env: [], ssh: null}\n"
                               "  networkTopology: {mode: soft, highestTierAllowed: 0}\n"
                               "  policies:\n"
                               "  - {event: PodEvicted, action: RestartJob}\n"
                               "  - {events: [PodFailed, TaskFailed], action: AbortJob, timeout: 10s}\n"
                               "  - {exitCode: 137, action: RestartTask}\n"
                               "  tasks:\n"
                               "  - name: master\n"
                               "    replicas: 1\n"
                               "    maxRetry: 7\n"
                               "    topologyPolicy: best-effort\n"
                               "    policies: [{event: TaskCompleted, action: CompleteJob}]\n"
                               "    template:\n"
                               "      metadata: {labels: {a: b}}\n"
                               "      spec:\n"
                               "        hostname: head\n"
                               "        subdomain: net\n"
                               "        containers: [{name: c, image: i}]\n"
                               "  - name: worker\n"
                               "    replicas: 6\n"
                               "    minAvailable: 0\n"
                               "    dependsOn: {name: [master], iteration: any}\n"
                               "    partitionPolicy: {totalPartitions: 3, partitionSize: 2, minPartitions: 2,\n"
                               "      networkTopology: {highestTierName: rack}}\n"
                               "    template: {spec: {containers: [{name: c, image: i}]}}\n"
                               "status:\n"
                               "  state: {phase: Running, lastTransitionTime: \"2026-01-02T03:04:05Z\"}\n"
                               "  version: 4\n"
                               "  retryCount: 2\n"
                               "  taskStatusCount: {master: {phase: {Running: 1}}}\n"
                               "  runningDuration: 1m0s\n"
                               "  controlledResources: {plugin-svc: svc}\n"
                               "  conditions: [{status: Pending, lastTransitionTime: \"2026-01-02T03:04:05Z\"}]\n";

static void full_job_has_no_problems(void **state)
{
    struct place root = { .node = parsed(full_job) };
    struct problems ps = { .arena = &arena };

    (void)state;
    schema_check(&schema_job, &root, &ps);
    VEC_FOREACH(p, &ps.list)
        fail_msg("%.*s: %.*s", STR_ARG(p->path), STR_ARG(p->text));
}

static void decode_spec(void **state)
{
    struct json *obj = parsed(full_job);
    const struct job_spec *s;
    struct job job;

    (void)state;
    job_decode(&arena, obj, &job);
    s = &job.spec;
    assert_ptr_equal(job.raw, obj);
    assert_true(str_is(job.meta.name, "train") && str_is(job.meta.namespace, "ml") && str_is(job.meta.uid, "u-1"));
    assert_true(str_is(s->scheduler_name, "volcano") && str_is(s->queue, "gpu"));
    assert_true(str_is(s->priority_class_name, "high") && str_is(s->running_estimate, "1h30m"));
    assert_int_equal(s->min_available, 3);
    assert_int_equal(s->max_retry, 5);
    assert_int_equal(*s->ttl_seconds, 0);
    assert_int_equal(*s->min_success, 2);
    assert_int_equal(s->volumes.n, 2);
    assert_true(str_is(s->volumes.v[0].mount_path, "/data") && str_is(s->volumes.v[0].claim_name, "shared"));
    assert_null(s->volumes.v[0].claim);
    assert_true(json_is(s->volumes.v[1].claim, JSON_OBJECT));
    assert_int_equal(json_count(s->plugins), 3);
    assert_true(str_is(s->network_topology->mode, "soft"));
    assert_int_equal(*s->network_topology->highest_tier_allowed, 0);
    assert_true(json_is(s->network_topology->raw, JSON_OBJECT));
    assert_int_equal(s->policies.n, 3);
    assert_true(str_is(s->policies.v[0].event, "PodEvicted") && str_is(s->policies.v[0].action, "RestartJob"));
    assert_null(s->policies.v[0].exit_code);
    assert_int_equal(s->policies.v[1].events.n, 2);
    assert_true(str_is(s->policies.v[1].events.v[1], "TaskFailed") && str_is(s->policies.v[1].timeout, "10s"));
    assert_int_equal(*s->policies.v[2].exit_code, 137);
    assert_true(str_is(job.status.phase, "Running"));
    assert_int_equal(job.status.version, 4);
    assert_int_equal(job.status.retry_count, 2);
    assert_ptr_equal(job.status.raw, json_get(obj, "status"));
}

static void decode_tasks(void **state)
{
    const struct job_task *master, *worker;
    struct job job;
    size_t pos = 99;

    (void)state;
    job_decode(&arena, parsed(full_job), &job);
    assert_int_equal(job.spec.tasks.n, 2);
    master = job_task_by_name(&job, STR("master"), NULL);
    worker = job_task_by_name(&job, STR("worker"), &pos);
    assert_int_equal(pos, 1);
    assert_null(job_task_by_name(&job, STR("wor"), &pos));
    assert_int_equal(pos, 1);
    assert_int_equal(master->max_retry, 7);
    assert_true(str_is(master->topology_policy, "best-effort"));
    assert_int_equal(master->policies.n, 1);
    assert_null(master->min_available);
    assert_null(master->depends_on);
    assert_int_equal(*worker->min_available, 0);
    assert_true(str_is(worker->depends_on->name.v[0], "master") && str_is(worker->depends_on->iteration, "any"));
    assert_int_equal(worker->partition->total_partitions, 3);
    assert_int_equal(worker->partition->partition_size, 2);
    assert_int_equal(worker->partition->min_partitions, 2);
    assert_true(str_is(worker->partition->network_topology->highest_tier_name, "rack"));
    assert_true(json_is(json_get(job_task_pod_spec(worker), "containers"), JSON_ARRAY));
    assert_int_equal(job_total_replicas(&job), 7);
}

static void names_and_domains(void **state)
{
    struct job job;

    (void)state;
    job_decode(&arena, parsed(full_job), &job);
    assert_true(str_is(job_pod_name(&arena, &job, &job.spec.tasks.v[1], 12), "train-worker-12"));
    assert_true(str_is(job_pod_domain(&arena, &job, &job.spec.tasks.v[0], 0), "head.net"));
    assert_true(str_is(job_pod_domain(&arena, &job, &job.spec.tasks.v[1], 3), "train-worker-3.train"));
}

static void minimum_of_a_task(void **state)
{
    static const struct {
        const char *task;
        int32_t want;
    } cases[] = {
        { "{replicas: 4}", 4 },
        { "{replicas: 4, minAvailable: 2}", 2 },
        { "{replicas: 4, minAvailable: 0}", 0 },
        { "{replicas: 4, minAvailable: null}", 4 },
        { "{replicas: 4, partitionPolicy: {minPartitions: 1, partitionSize: 2}}", 2 },
        { "{replicas: 4, partitionPolicy: {minPartitions: 0, partitionSize: 2}}", 4 },
        { "{replicas: 4, partitionPolicy: {minPartitions: 1, partitionSize: 2}, minAvailable: 3}", 3 },
        { "{replicas: 4, partitionPolicy: {minPartitions: 2147483647, partitionSize: 2147483647}}", INT32_MAX },
        { "{}", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job job;
        int32_t got;

        job_decode(&arena, parsed(arena_fmt(&arena, "spec: {tasks: [%s]}", cases[i].task).p), &job);
        got = job_task_minimum(&job.spec.tasks.v[0]);
        if (got != cases[i].want)
            fail_msg("%s: want %d, got %d", cases[i].task, cases[i].want, got);
    }
}

static void odd_jobs_decode_to_nothing(void **state)
{
    static const char *const docs[] = {
        "{}",
        "[]",
        "x",
        "spec: 7",
        "spec: {tasks: 7}",
        "spec: {tasks: {}}",
        "{spec: null, status: [], metadata: 1}",
        "status: {state: 7}",
        "spec: {plugins: [], policies: x, volumes: 1}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
        struct job job;

        job_decode(&arena, parsed(docs[i]), &job);
        assert_int_equal(job.spec.tasks.n, 0);
        assert_int_equal(job_total_replicas(&job), 0);
        assert_null(job.spec.plugins);
        assert_true(str_empty(job.status.phase));
        assert_null(job_task_by_name(&job, STR(""), NULL));
    }
}

static void odd_tasks_decode_to_nothing(void **state)
{
    struct job job;

    (void)state;
    job_decode(&arena, parsed("spec: {tasks: [null, 7, {template: []}, {template: {spec: 3}}]}"), &job);
    assert_int_equal(job.spec.tasks.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_null(job_task_pod_spec(&job.spec.tasks.v[i]));
        assert_true(str_is(job_pod_domain(&arena, &job, &job.spec.tasks.v[i], 1), "--1."));
    }
}

static void done_indices(void **state)
{
    static const struct {
        const char *note;
        int64_t want;
    } cases[] = {
        { "{}", 0 },
        { "{pumice-done-w: '3'}", 1 },
        { "{pumice-done-w: '0-3,7,9-10'}", 7 },
        { "{pumice-done-w: '', pumice-done-ww: '1'}", 0 },
        { "{pumice-seen-w: '1', pumice-done-: '1', done-w: '1'}", 0 },
        { "{pumice-done-w: '3-1,x,2-,-4,7'}", 1 },
        { "{pumice-done-w: '0-9999999999999'}", INT32_MAX },
        { "{pumice-done-w: '4294967295,99999999999999999999'}", 0 },
        { "{pumice-done-w: '0-2000000000,0-2000000000'}", INT32_MAX },
        { "{pumice-done-w: 3}", 0 },
        { "[1]", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json *status = parsed(arena_fmt(&arena, "controlledResources: %s", cases[i].note).p);
        int64_t got = indices_count(job_task_done(status, STR("w")));

        if (got != cases[i].want)
            fail_msg("%s: %lld are done", cases[i].note, (long long)got);
    }
    assert_int_equal(indices_count(job_task_done(NULL, STR("w"))), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_job_has_no_problems),
        cmocka_unit_test(decode_spec),
        cmocka_unit_test(decode_tasks),
        cmocka_unit_test(names_and_domains),
        cmocka_unit_test(minimum_of_a_task),
        cmocka_unit_test(done_indices),
        cmocka_unit_test(odd_jobs_decode_to_nothing),
        cmocka_unit_test(odd_tasks_decode_to_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    return cmocka_run_group_tests(tests, NULL, forget);
}
