/* admit_job.c - Jobs: every default and every rule, and B50 to B56 */
#include "api/test/admit_fixture.h"

static const char base_job[] = "apiVersion: batch.volcano.sh/v1alpha1\n"
                               "kind: Job\n"
                               "metadata: {name: j, namespace: ns}\n"
                               "spec:\n"
                               "  tasks:\n"
                               "  - name: a\n"
                               "    replicas: 2\n"
                               "    template:\n"
                               "      spec:\n"
                               "        containers:\n"
                               "        - {name: c, image: busybox}\n"
                               "  - name: b\n"
                               "    replicas: 3\n"
                               "    template:\n"
                               "      spec:\n"
                               "        containers:\n"
                               "        - {name: c, image: busybox}\n";

static const char cluster_queues[] = "- {metadata: {name: root}, status: {state: Open}}\n"
                                     "- {metadata: {name: default}, status: {state: Open}}\n"
                                     "- {metadata: {name: new}}\n"
                                     "- {metadata: {name: shut}, status: {state: Closed}}\n"
                                     "- {metadata: {name: closing}, status: {state: Closing}}\n"
                                     "- {metadata: {name: top}, status: {state: Open}}\n"
                                     "- {metadata: {name: leaf}, spec: {parent: top}, status: {state: Open}}\n";

static struct problems check(struct json *job, const struct json *old, struct admit_env *env)
{
    struct problems ps = { .arena = &arena };
    struct place root = { .node = job };

    admit_job_defaults(&arena, job, env);
    admit_job_check(&root, old, env, &ps);
    return ps;
}

static void run(const struct admit_row *rows, size_t n)
{
    struct fake_cluster cluster = { .queues = doc(cluster_queues) };
    struct admit_env env = fake_env(&cluster);
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct problems ps = check(edited(base_job, &rows[i]), NULL, &env);

        bad += !row_holds(&rows[i], &ps);
    }
    assert_int_equal(bad, 0);
}
#define RUN(rows) run(rows, ARRAY_LEN(rows))

/* Each update starts from the admitted base with 'before' edits. */
struct update_row {
    const char *before[3];
    struct admit_row row;
};

static void run_updates(const struct update_row *rows, size_t n)
{
    struct admit_env env = { .mark = 5 };
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct json *old = doc(base_job), *new;
        struct problems ps;

        for (size_t k = 0; k < ARRAY_LEN(rows[i].before) && rows[i].before[k]; k++)
            edit(old, rows[i].before[k]);
        admit_job_defaults(&arena, old, &env);
        new = json_copy(&arena, old);
        for (size_t k = 0; k < EDITS_MAX && rows[i].row.edits[k]; k++)
            edit(new, rows[i].row.edits[k]);
        ps = check(new, old, &env);
        bad += !row_holds(&rows[i].row, &ps);
    }
    assert_int_equal(bad, 0);
}

/* ---- defaults ---- */

struct default_row {
    const char *name, *edits[EDITS_MAX], *path, *want; /* want: JSON; "" for missing */
};

static void run_defaults(const struct default_row *rows, size_t n, struct admit_env env)
{
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct json *job = doc(base_job), *node;
        struct str got;

        for (size_t k = 0; k < EDITS_MAX && rows[i].edits[k]; k++)
            edit(job, rows[i].edits[k]);
        admit_job_defaults(&arena, job, &env);
        node = json_path(job, str_of(rows[i].path), NULL);
        got = node ? printed(node) : STR("");
        if (!str_is(got, rows[i].want)) {
            print_error("%s: %s: got %.*s, wanted %s\n", rows[i].name, rows[i].path, STR_ARG(got), rows[i].want);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

static void test_job_defaults(void **state)
{
    static const struct default_row rows[] = {
        { "queue", { 0 }, "spec.queue", "\"default\"" },
        { "empty queue", { "spec.queue: ''" }, "spec.queue", "\"default\"" },
        { "null queue", { "spec.queue: null" }, "spec.queue", "\"default\"" },
        { "own queue", { "spec.queue: q" }, "spec.queue", "\"q\"" },
        { "scheduler", { 0 }, "spec.schedulerName", "\"volcano\"" },
        { "own scheduler", { "spec.schedulerName: s" }, "spec.schedulerName", "\"s\"" },
        { "maxRetry", { 0 }, "spec.maxRetry", "3" },
        { "maxRetry 0", { "spec.maxRetry: 0" }, "spec.maxRetry", "3" },
        { "maxRetry 7", { "spec.maxRetry: 7" }, "spec.maxRetry", "7" },
        { "maxRetry of a wrong type", { "spec.maxRetry: 'x'" }, "spec.maxRetry", "\"x\"" },
        { "minAvailable", { 0 }, "spec.minAvailable", "5" },
        { "minAvailable 0", { "spec.minAvailable: 0" }, "spec.minAvailable", "5" },
        { "minAvailable 1", { "spec.minAvailable: 1" }, "spec.minAvailable", "1" },
        { "minAvailable of tasks", { "spec.tasks[0].minAvailable: 1" }, "spec.minAvailable", "4" },
        { "all zero", { "spec.tasks[0].minAvailable: 0", "spec.tasks[1].minAvailable: 0" }, "spec.minAvailable", "0" },
        { "wrong replicas", { "spec.tasks[0].replicas: x" }, "spec.minAvailable", "" },
        { "too many", { "spec.tasks[0].replicas: 2147483647" }, "spec.minAvailable", "" },
        { "no tasks", { "spec.tasks: []" }, "spec.minAvailable", "" },
        { "tasks of a wrong type", { "spec.tasks: x" }, "spec.tasks", "\"x\"" },
        { "namespace", { "metadata.namespace: <gone>" }, "metadata.namespace", "\"default\"" },
        { "own namespace", { 0 }, "metadata.namespace", "\"ns\"" },
        { "task maxRetry", { 0 }, "spec.tasks[1].maxRetry", "3" },
        { "task maxRetry 0", { "spec.tasks[1].maxRetry: 0" }, "spec.tasks[1].maxRetry", "3" },
        { "task maxRetry -1", { "spec.tasks[1].maxRetry: -1" }, "spec.tasks[1].maxRetry", "-1" },
        { "plugins untouched", { 0 }, "spec.plugins", "" },
        { "topology mode, empty", { "spec.networkTopology: {mode: ''}" }, "spec.networkTopology.mode", "\"\"" },
        { "topology mode",
          { "spec.networkTopology: {highestTierAllowed: 1}" },
          "spec.networkTopology.mode",
          "\"hard\"" },
        { "no spec", { "spec: <gone>" }, "spec", "" },
        { "wrong spec", { "spec: 3" }, "spec", "3" },
    };
    static const struct default_row from_env[] = {
        { "scheduler", { 0 }, "spec.schedulerName", "\"mine\"" },
        { "namespace", { "metadata.namespace: <gone>" }, "metadata.namespace", "\"team\"" },
    };

    run_defaults(rows, ARRAY_LEN(rows), (struct admit_env){ 0 });
    run_defaults(from_env, ARRAY_LEN(from_env),
                 (struct admit_env){ .scheduler_name = STR("mine"), .namespace = STR("team") });
}

static void test_task_names(void **state)
{
    static const struct default_row rows[] = {
        { "first", { "spec.tasks[0].name: <gone>" }, "spec.tasks[0].name", "\"default0\"" },
        { "second", { "spec.tasks[1].name: ''" }, "spec.tasks[1].name", "\"default1\"" },
        { "named", { 0 }, "spec.tasks[1].name", "\"b\"" },
    };

    run_defaults(rows, ARRAY_LEN(rows), (struct admit_env){ 0 });
}

static void test_task_minimum(void **state)
{
    static const struct default_row rows[] = {
        { "replicas", { 0 }, "spec.tasks[1].minAvailable", "3" },
        { "no replicas", { "spec.tasks[1].replicas: <gone>" }, "spec.tasks[1].minAvailable", "0" },
        { "explicit 0", { "spec.tasks[1].minAvailable: 0" }, "spec.tasks[1].minAvailable", "0" },
        { "partitions",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 3, minPartitions: 2}" },
          "spec.tasks[1].minAvailable",
          "6" },
        { "no minimum of partitions",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 1, partitionSize: 3}" },
          "spec.tasks[1].minAvailable",
          "3" },
        { "product too large",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 1, partitionSize: 2000000000, minPartitions: 2}" },
          "spec.tasks[1].minAvailable",
          "" },
    };

    run_defaults(rows, ARRAY_LEN(rows), (struct admit_env){ 0 });
}

static void test_host_network_dns(void **state)
{
    static const struct default_row rows[] = {
        { "host network",
          { "spec.tasks[0].template.spec.hostNetwork: true" },
          "spec.tasks[0].template.spec.dnsPolicy",
          "\"ClusterFirstWithHostNet\"" },
        { "explicit",
          { "spec.tasks[0].template.spec.hostNetwork: true", "spec.tasks[0].template.spec.dnsPolicy: Default" },
          "spec.tasks[0].template.spec.dnsPolicy",
          "\"Default\"" },
        { "pod network", { 0 }, "spec.tasks[0].template.spec.dnsPolicy", "" },
    };

    run_defaults(rows, ARRAY_LEN(rows), (struct admit_env){ 0 });
}

/* Every node the defaults add carries the mark, nothing the user wrote does; order and unknown fields stay (B53). */
static size_t count_marks(const struct json *j, uint8_t mark)
{
    size_t n = j->mark == mark;

    JSON_FOREACH(item, j)
        n += count_marks(item, mark);
    return n;
}

static void test_defaults_touch_nothing_else(void **state)
{
    static const char job[] = "{\"zeta\":1,\"spec\":{\"tasks\":[{\"template\":{\"spec\":{\"newField\":{\"x\":[1.50]},"
                              "\"containers\":[]}},\"other\":null,\"replicas\":1}],\"alpha\":{}},\"metadata\":{}}";
    static const char want[] =
        "{\"zeta\":1,\"spec\":{\"tasks\":[{\"template\":{\"spec\":{\"newField\":{\"x\":[1.50]},\"containers\":[]}},"
        "\"other\":null,\"replicas\":1,\"name\":\"default0\",\"minAvailable\":1,\"maxRetry\":3}],\"alpha\":{},"
        "\"queue\":\"default\",\"schedulerName\":\"volcano\",\"maxRetry\":3,\"minAvailable\":1},"
        "\"metadata\":{\"namespace\":\"default\"}}";
    struct admit_env env = { .mark = 9 };
    struct json *j = NULL;

    assert_int_equal(json_parse(&arena, str_of(job), NULL, &j, NULL), 0);
    admit_job_defaults(&arena, j, &env);
    assert_string_equal(printed(j).p, want);
    assert_int_equal(count_marks(j, 9), 8);
}

/* A small generator of odd jobs: any member missing, zero, right or of a wrong type. */
static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const char *pick(uint32_t *seed)
{
    static const char *const values[] = { "null", "0",   "1",      "3",    "-1",         "''",  "text", "[]",
                                          "{}",   "[1]", "{a: 1}", "true", "2147483647", "1.5", "'3'" };

    return values[next(seed) % ARRAY_LEN(values)];
}

static struct json *odd_job(uint32_t *seed)
{
    static const char *const paths[] = {
        "spec.queue",
        "spec.maxRetry",
        "spec.minAvailable",
        "spec.networkTopology",
        "spec.policies",
        "spec.volumes",
        "spec.minSuccess",
        "spec.tasks[0].name",
        "spec.tasks[0].replicas",
        "spec.tasks[0].minAvailable",
        "spec.tasks[0].maxRetry",
        "spec.tasks[0].partitionPolicy",
        "spec.tasks[0].dependsOn",
        "spec.tasks[0].policies",
        "spec.tasks[0].topologyPolicy",
        "spec.tasks[0].template.spec.hostNetwork",
        "spec.tasks[0].template.spec.volumes",
        "spec.tasks[0].template.spec.affinity",
        "spec.tasks[0].template.spec.containers[0]",
        "spec.tasks[0].template.spec.tolerations",
        "spec.tasks[0].template.metadata",
        "spec.tasks[0].template.spec",
        "spec.tasks[0].template",
        "spec.tasks[1]",
        "spec.tasks",
        "metadata",
        "spec",
    };
    struct json *job = doc(base_job);

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (next(seed) % 6 == 0)
            edit(job, arena_fmt(&arena, "%s: %s", paths[i], pick(seed)).p);
    return job;
}

static void test_defaulting_twice_is_once(void **state)
{
    struct admit_env env = { .mark = 5 };
    uint32_t seed = 20240601;

    for (int i = 0; i < 2000; i++) {
        struct json *job = odd_job(&seed);
        struct str once;

        admit_job_defaults(&arena, job, &env);
        once = printed(job);
        admit_job_defaults(&arena, job, &env);
        assert_string_equal(printed(job).p, once.p);
        arena_reset(&arena);
    }
}

/* Nothing odd may break the rules; most of it is refused. */
static void test_odd_jobs_are_survived(void **state)
{
    struct admit_env env = { .mark = 5 };
    uint32_t seed = 7;
    size_t n_refused = 0;

    for (int i = 0; i < 2000; i++) {
        struct json *job = odd_job(&seed), *old = odd_job(&seed);
        struct problems ps = check(job, next(&seed) % 2 ? old : NULL, &env);

        n_refused += ps.n_errors > 0;
        arena_reset(&arena);
    }
    assert_in_range(n_refused, 200, 1990);
}

/* ---- create ---- */

static void test_base_is_fine(void **state)
{
    static const struct admit_row rows[] = {
        { "base", { 0 }, NULL },
        { "replicas 0", { "spec.tasks[0].replicas: 0" }, NULL },
        { "unknown field",
          { "spec.tasks[0].template.spec.future: {x: 1}" },
          "W spec.tasks[0].template.spec.future: unknown" },
        { "no spec", { "spec: <gone>" }, "spec: required" },
        { "null spec", { "spec: null" }, "spec: required" },
        { "no name", { "metadata.name: <gone>" }, "metadata.name: required" },
        { "generated name", { "metadata.name: <gone>", "metadata.generateName: g-" }, NULL },
    };

    RUN(rows);
}

static void test_tasks(void **state)
{
    static const struct admit_row rows[] = {
        { "missing", { "spec.tasks: <gone>" }, "spec.tasks: No task specified in job spec" },
        { "null", { "spec.tasks: null" }, "spec.tasks: No task specified in job spec" },
        { "empty", { "spec.tasks: []" }, "spec.tasks: No task specified in job spec" },
        { "empty, once", { "spec.tasks: []" }, "spec.tasks: No task", 1, "must not be empty" },
        { "wrong type", { "spec.tasks: 3" }, "spec.tasks: must be a list" },
        { "element of a wrong type", { "spec.tasks[1]: x" }, "spec.tasks[1]: must be an object" },
        { "no template", { "spec.tasks[1].template: <gone>" }, "spec.tasks[1].template: required" },
    };

    RUN(rows);
}

static void test_duplicates(void **state)
{
    static const struct admit_row rows[] = {
        { "twice", { "spec.tasks[1].name: a" }, "spec.tasks[1].name: duplicated task name" },
        { "says where", { "spec.tasks[1].name: a" }, "spec.tasks[1].name: spec.tasks[0]" },
        { "equal to a default",
          { "spec.tasks[0].name: <gone>", "spec.tasks[1].name: default0" },
          "spec.tasks[1].name: duplicated task name" },
        { "later tasks are checked too",
          { "spec.tasks[1].name: a", "spec.tasks[1].minAvailable: 9" },
          "spec.tasks[1].minAvailable: greater",
          2 },
    };

    RUN(rows);
}

static void test_minimums(void **state)
{
    static const struct admit_row rows[] = {
        { "task",
          { "spec.tasks[0].minAvailable: 3", "spec.minAvailable: 1" },
          "spec.tasks[0].minAvailable: 'minAvailable' is greater than 'replicas' in task: a, job: j" },
        { "task, equal", { "spec.tasks[0].minAvailable: 2" }, NULL },
        { "job",
          { "spec.minAvailable: 6" },
          "spec.minAvailable: job 'minAvailable' should not be greater than total replicas in tasks" },
        { "job, equal", { "spec.minAvailable: 5" }, NULL },
        { "negative", { "spec.minAvailable: -1" }, "spec.minAvailable: must be >= 0" },
        { "wrong replicas say it once",
          { "spec.tasks[0].replicas: x", "spec.minAvailable: 9" },
          "spec.tasks[0].replicas: whole number" },
        { "too many", { "spec.tasks[0].replicas: 2147483647", "spec.minAvailable: 1" }, "spec.tasks: together" },
        { "minSuccess", { "spec.minSuccess: 5" }, NULL },
        { "minSuccess, too many", { "spec.minSuccess: 6" }, "spec.minSuccess: greater than total replicas" },
    };

    RUN(rows);
}

static void test_policy_trigger(void **state)
{
    static const struct admit_row rows[] = {
        { "event", { "spec.policies: [{event: PodFailed, action: RestartJob}]" }, NULL },
        { "exitCode", { "spec.policies: [{exitCode: 3, action: RestartJob}]" }, NULL },
        { "both",
          { "spec.policies: [{event: PodFailed, exitCode: 3, action: RestartJob}]" },
          "spec.policies[0].exitCode: must not specify event and exitCode simultaneously" },
        { "events and code",
          { "spec.policies: [{events: [PodFailed], exitCode: 3, action: RestartJob}]" },
          "spec.policies[0].exitCode: simultaneously" },
        { "neither",
          { "spec.policies: [{action: RestartJob}]" },
          "spec.policies[0]: either event and exitCode should be specified" },
        { "empty events", { "spec.policies: [{events: [], action: RestartJob}]" }, "spec.policies[0]: either" },
        { "in a task",
          { "spec.tasks[1].policies: [{action: RestartJob}]" },
          "spec.tasks[1].policies[0]: either event and exitCode should be specified" },
        { "of a wrong type, said once",
          { "spec.policies: [{event: 3, action: RestartJob}]" },
          "spec.policies[0].event: must be" },
        { "all of them are reported",
          { "spec.policies: [{action: RestartJob}, {event: PodFailed}]" },
          "spec.policies[1].action: invalid",
          2 },
    };

    RUN(rows);
}

static void test_policy_events(void **state)
{
    static const struct admit_row rows[] = {
        { "PodRunning",
          { "spec.policies: [{event: PodRunning, action: RestartJob}]" },
          "spec.policies[0].event: valid events are [* PodFailed" },
        { "OutOfSync",
          { "spec.policies: [{events: [OutOfSync], action: RestartJob}]" },
          "spec.policies[0].events[0]: invalid policy event" },
        { "CommandIssued",
          { "spec.policies: [{event: CommandIssued, action: RestartJob}]" },
          "spec.policies[0].event: invalid policy event" },
        { "unknown, once",
          { "spec.policies: [{event: PodFaild, action: RestartJob}]" },
          "spec.policies[0].event: PodFailed" },
        { "all allowed",
          { "spec.policies: [{events: [PodFailed, PodEvicted, TaskCompleted, TaskFailed, Unknown], action: "
            "RestartJob}]" },
          NULL },
    };

    RUN(rows);
}

static void test_policy_actions(void **state)
{
    static const struct admit_row rows[] = {
        { "SyncJob",
          { "spec.policies: [{event: PodFailed, action: SyncJob}]" },
          "spec.policies[0].action: valid actions are [AbortJob RestartJob" },
        { "unknown",
          { "spec.policies: [{event: PodFailed, action: RestartJobs}]" },
          "spec.policies[0].action: did you mean \"RestartJob\"" },
        { "empty", { "spec.policies: [{event: PodFailed, action: ''}]" }, "spec.policies[0].action: invalid" },
        { "missing", { "spec.policies: [{event: PodFailed}]" }, "spec.policies[0].action: invalid policy action" },
        { "B52: of an exitCode policy",
          { "spec.policies: [{exitCode: 3, action: Explode}]" },
          "spec.policies[0].action: invalid policy action" },
        { "ResumeJob", { "spec.policies: [{event: PodFailed, action: ResumeJob}]" }, NULL },
    };

    RUN(rows);
}

static void test_policy_duplicates(void **state)
{
    static const struct admit_row rows[] = {
        { "code 0",
          { "spec.policies: [{exitCode: 0, action: RestartJob}]" },
          "spec.policies[0].exitCode: 0 is not a valid error code" },
        { "code twice",
          { "spec.policies: [{exitCode: 3, action: RestartJob}, {exitCode: 3, action: AbortJob}]" },
          "spec.policies[1].exitCode: duplicate exitCode 3" },
        { "two codes",
          { "spec.policies: [{exitCode: 3, action: RestartJob}, {exitCode: 4, action: AbortJob}]" },
          NULL },
        { "event twice",
          { "spec.policies: [{event: PodFailed, action: RestartJob}, {events: [PodFailed], action: AbortJob}]" },
          "spec.policies[1].events[0]: duplicate event PodFailed" },
        { "twice in one policy",
          { "spec.policies: [{event: PodFailed, events: [PodFailed, PodFailed], action: RestartJob}]" },
          NULL },
        { "job and task",
          { "spec.policies: [{event: PodFailed, action: RestartJob}]",
            "spec.tasks[0].policies: [{event: PodFailed, action: AbortJob}]" },
          NULL },
        { "code that never comes",
          { "spec.policies: [{exitCode: 300, action: RestartJob}]" },
          "W spec.policies[0].exitCode: 1 to 255" },
    };

    RUN(rows);
}

static void test_any_event(void **state)
{
    static const struct admit_row rows[] = {
        { "alone", { "spec.policies: [{event: '*', action: RestartJob}]" }, NULL },
        { "with another",
          { "spec.policies: [{event: '*', action: RestartJob}, {event: PodFailed, action: AbortJob}]" },
          "spec.policies: if there's * here, no other policy should be here" },
        { "in one policy",
          { "spec.tasks[0].policies: [{events: [PodFailed, '*'], action: RestartJob}]" },
          "spec.tasks[0].policies: no other policy" },
        { "with a code",
          { "spec.policies: [{event: '*', action: RestartJob}, {exitCode: 3, action: AbortJob}]" },
          NULL },
        { "in different lists",
          { "spec.policies: [{event: '*', action: RestartJob}]",
            "spec.tasks[0].policies: [{event: PodFailed, action: AbortJob}]" },
          NULL },
    };

    RUN(rows);
}

static void test_volumes(void **state)
{
    static const struct admit_row rows[] = {
        { "claim name", { "spec.volumes: [{mountPath: /d, volumeClaimName: c}]" }, NULL },
        { "claim",
          { "spec.volumes: [{mountPath: /d, volumeClaim: {accessModes: [ReadWriteOnce], resources: {requests: "
            "{storage: 1Gi}}}}]" },
          NULL },
        { "claim without a size",
          { "spec.volumes: [{mountPath: /d, volumeClaim: {accessModes: [ReadWriteOnce]}}]" },
          "W spec.volumes[0].volumeClaim.resources: storage" },
        { "claim without a mode",
          { "spec.volumes: [{mountPath: /d, volumeClaim: {}}]" },
          "W spec.volumes[0].volumeClaim.accessModes: access mode" },
        { "no path", { "spec.volumes: [{volumeClaimName: c}]" }, "spec.volumes[0].mountPath: required" },
        { "empty path",
          { "spec.volumes: [{mountPath: '', volumeClaimName: c}]" },
          "spec.volumes[0].mountPath: mountPath is required" },
        { "colon", { "spec.volumes: [{mountPath: 'a:b', volumeClaimName: c}]" }, "spec.volumes[0].mountPath: ':'" },
        { "path twice",
          { "spec.volumes: [{mountPath: /d, volumeClaimName: c}, {mountPath: /d, volumeClaimName: e}]" },
          "spec.volumes[1].mountPath: duplicated mountPath" },
        { "no claim",
          { "spec.volumes: [{mountPath: /d}]" },
          "spec.volumes[0]: either VolumeClaim or VolumeClaimName must be specified" },
        { "null claim", { "spec.volumes: [{mountPath: /d, volumeClaim: null}]" }, "spec.volumes[0]: either" },
        { "both",
          { "spec.volumes: [{mountPath: /d, volumeClaimName: c, volumeClaim: {accessModes: [ReadWriteOnce]}}]" },
          "spec.volumes[0].volumeClaimName: conflict" },
        { "bad claim name",
          { "spec.volumes: [{mountPath: /d, volumeClaimName: Not_A_Name}]" },
          "spec.volumes[0].volumeClaimName: Not_A_Name" },
    };

    RUN(rows);
}

static void test_queue(void **state)
{
    static const struct admit_row rows[] = {
        { "missing",
          { "spec.queue: nowhere" },
          "spec.queue: unable to find job queue: queue.scheduling.volcano.sh \"nowhere\" not found" },
        { "closed", { "spec.queue: shut" }, "spec.queue: can only submit job to queue with state `Open`" },
        { "closing", { "spec.queue: closing" }, "spec.queue: status is `Closing`" },
        { "B54: no state yet", { "spec.queue: new" }, NULL },
        { "root", { "spec.queue: root" }, "spec.queue: can not submit job to root queue" },
        { "with children",
          { "spec.queue: top" },
          "spec.queue: can only submit job to leaf queue, queue `top` has 1 child queues: leaf" },
        { "leaf", { "spec.queue: leaf" }, NULL },
        { "wrong type", { "spec.queue: 3" }, "spec.queue: must be a string" },
    };

    RUN(rows);
}

static void test_dependencies(void **state)
{
    static const struct admit_row rows[] = {
        { "dag", { "spec.tasks[1].dependsOn: {name: [a]}" }, NULL },
        { "empty", { "spec.tasks[1].dependsOn: {}" }, NULL },
        { "cycle",
          { "spec.tasks[0].dependsOn: {name: [b]}", "spec.tasks[1].dependsOn: {name: [a]}" },
          "spec.tasks[1].dependsOn: doesn't form a directed acyclic graph(DAG): a -> b -> a" },
        { "itself", { "spec.tasks[0].dependsOn: {name: [a]}" }, "spec.tasks[0].dependsOn: a -> a" },
        { "longer, with a tail",
          { "spec.tasks[2]: {name: c, replicas: 1, dependsOn: {name: [a]}, template: {spec: {containers: [{name: c, "
            "image: i}]}}}",
            "spec.tasks[0].dependsOn: {name: [b]}", "spec.tasks[1].dependsOn: {name: [b]}" },
          "spec.tasks[1].dependsOn: (DAG): b -> b" },
        { "unknown",
          { "spec.tasks[1].dependsOn: {name: [worker]}" },
          "spec.tasks[1].dependsOn.name[0]: doesn't form a directed acyclic graph(DAG): task \"worker\" does not "
          "exist" },
        { "nearly",
          { "spec.tasks[0].name: master", "spec.tasks[1].dependsOn: {name: [mastr]}" },
          "spec.tasks[1].dependsOn.name[0]: did you mean \"master\"" },
        { "any", { "spec.tasks[1].dependsOn: {name: [a], iteration: any}" }, NULL },
        { "all", { "spec.tasks[1].dependsOn: {name: [a], iteration: all}" }, NULL },
        { "B52: free text",
          { "spec.tasks[1].dependsOn: {name: [a], iteration: alll}" },
          "spec.tasks[1].dependsOn.iteration: did you mean \"all\"" },
        { "wrong type", { "spec.tasks[1].dependsOn: {name: a}" }, "spec.tasks[1].dependsOn.name: must be a list" },
    };

    RUN(rows);
}

/* Depth and width: a chain of 20,000 tasks, then the same closed to a ring. */
static void test_long_chains(void **state)
{
    struct admit_env env = { .mark = 5 };

    for (int is_ring = 0; is_ring < 2; is_ring++) {
        autobuf text = { 0 };
        struct json *job = NULL;
        struct problems ps;

        buf_fmt(&text, "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"tasks\":[");
        for (int i = 0; i < 20000; i++)
            buf_fmt(&text,
                    "%s{\"name\":\"t%d\",\"replicas\":1,\"dependsOn\":{\"name\":[%s%.0d%s]},\"template\":{\"spec\":"
                    "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}",
                    i ? "," : "", i,
                    i         ? "\"t"
                    : is_ring ? "\"t19999"
                              : "",
                    i > 1 ? i - 1 : 0,
                    i > 1     ? "\""
                    : i == 1  ? "0\""
                    : is_ring ? "\""
                              : "");
        buf_fmt(&text, "]}}");
        assert_int_equal(json_parse(&arena, buf_view(&text), NULL, &job, NULL), 0);
        ps = check(job, NULL, &env);
        if (ps.n_errors != (size_t)is_ring)
            dump(is_ring ? "ring" : "chain", &ps);
        assert_int_equal(ps.n_errors, is_ring);
        if (is_ring)
            assert_true(said(&ps, "spec.tasks[1].dependsOn: t0 -> t19999 -> t19998"));
        arena_reset(&arena);
    }
}

static void test_partitions(void **state)
{
    static const struct admit_row rows[] = {
        { "fine", { "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1}" }, NULL },
        { "product",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 2, partitionSize: 2}" },
          "spec.tasks[1].replicas: 'Replicas' are not equal to TotalPartitions*PartitionSize in task: b, job: j" },
        { "minimum",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1, minPartitions: 2}",
            "spec.tasks[1].minAvailable: 1" },
          "spec.tasks[1].minAvailable: 'MinAvailable' is not equal to MinPartitions*PartitionSize in task: b, job: j" },
        { "minimum by default",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1, minPartitions: 2}" },
          NULL },
        { "minPartitions 0",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1, minPartitions: 0}",
            "spec.tasks[1].minAvailable: 3" },
          NULL },
        { "no total",
          { "spec.tasks[1].partitionPolicy: {partitionSize: 1}" },
          "spec.tasks[1].partitionPolicy.totalPartitions: required" },
        { "size 0",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 0}" },
          "spec.tasks[1].partitionPolicy.partitionSize: 'PartitionSize' must be greater than 0" },
        { "huge",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 2147483647, partitionSize: 2147483647}" },
          "spec.tasks[1].replicas: are not equal to TotalPartitions*PartitionSize" },
    };

    RUN(rows);
}

static void test_topology(void **state)
{
    static const struct admit_row rows[] = {
        { "number", { "spec.networkTopology: {highestTierAllowed: 1}" }, NULL },
        { "name", { "spec.networkTopology: {highestTierName: rack, mode: soft}" }, NULL },
        { "both",
          { "spec.networkTopology: {highestTierAllowed: 1, highestTierName: rack}" },
          "spec.networkTopology.highestTierName: must not specify 'highestTierAllowed' and 'highestTierName'" },
        { "no mode", { "spec.networkTopology: {mode: ''}" }, "spec.networkTopology.mode: must be one of hard, soft" },
        { "0 counts",
          { "spec.networkTopology: {highestTierAllowed: 0, highestTierName: rack}" },
          "spec.networkTopology.highestTierName: simultaneously" },
        { "partition",
          { "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1, networkTopology: "
            "{highestTierAllowed: 1, highestTierName: rack}}" },
          "spec.tasks[1].partitionPolicy.networkTopology.highestTierName: must not specify 'highestTierAllowed' and "
          "'highestTierName'" },
    };

    RUN(rows);
}

#define NUMA      "spec.tasks[0].topologyPolicy: single-numa-node"
#define RESOURCES "spec.tasks[0].template.spec.containers[0].resources: "

static void test_whole_cpus(void **state)
{
    static const struct admit_row rows[] = {
        { "half",
          { NUMA, RESOURCES "{requests: {cpu: 500m}}" },
          "spec.tasks[0].template.spec.containers[0]: cpu request isn't an integer in spec.task[0] container[0]." },
        { "none",
          { NUMA },
          "spec.tasks[0].template.spec.containers[0]: cpu request isn't an integer in spec.task[0] container[0]." },
        { "zero", { NUMA, RESOURCES "{requests: {cpu: 0}}" }, "spec.tasks[0].template.spec.containers[0]: integer" },
        { "two", { NUMA, RESOURCES "{requests: {cpu: 2}}" }, NULL },
        { "2000m", { NUMA, RESOURCES "{requests: {cpu: 2000m}}" }, NULL },
        { "limits only", { NUMA, RESOURCES "{limits: {cpu: 2}}" }, NULL },
        { "init container",
          { NUMA, RESOURCES "{limits: {cpu: 2}}", "spec.tasks[0].template.spec.initContainers: [{name: i, image: i}]" },
          "spec.tasks[0].template.spec.initContainers[0]: integer" },
        { "none is none", { "spec.tasks[0].topologyPolicy: none" }, NULL },
        { "no quantity, said once",
          { NUMA, RESOURCES "{requests: {cpu: much}}" },
          "spec.tasks[0].template.spec.containers[0].resources.requests.cpu: quantity" },
        { "only after the template is right",
          { NUMA, "spec.tasks[0].template.spec.containers[0].image: ''" },
          "spec.tasks[0].template.spec.containers[0].image: required" },
    };

    RUN(rows);
}

static void test_template(void **state)
{
    static const struct admit_row rows[] = {
        { "privileged", { "spec.tasks[0].template.spec.containers[0].securityContext: {privileged: true}" }, NULL },
        { "pull policy",
          { "spec.tasks[0].template.spec.containers[0].imagePullPolicy: Sometimes" },
          "spec.tasks[0].template.spec.containers[0].imagePullPolicy: must be one of" },
        { "rules run in every task",
          { "spec.tasks[1].template.spec.containers[0].image: ' x'" },
          "spec.tasks[1].template.spec.containers[0].image: whitespace" },
        { "no spec", { "spec.tasks[1].template: {}" }, "spec.tasks[1].template.spec.containers: required" },
        { "restartPolicy Always", { "spec.tasks[0].template.spec.restartPolicy: Always" }, NULL },
    };

    RUN(rows);
}

static void test_b50_names(void **state)
{
    /* 40 letters each */
#define LONG40 "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
    static const struct admit_row rows[] = {
        { "job name of 63",
          { "metadata.name: " LONG40 "eeeeeeeeeeffffffffffggg" },
          "spec.tasks[0].name: create pod with name",
          2 },
        { "job name of 64",
          { "metadata.name: " LONG40 "eeeeeeeeeeffffffffffgggg", "spec.tasks[1]: {}" },
          "metadata.name: create job with name",
          4 },
        { "job name with a capital", { "metadata.name: Jj" }, "metadata.name: Jj" },
        { "pod name of 63", { "metadata.name: " LONG40, "spec.tasks[0].name: ttttttttttuuuuuuuuuu" }, NULL },
        { "pod name of 64",
          { "metadata.name: " LONG40, "spec.tasks[0].name: ttttttttttuuuuuuuuuuv" },
          "spec.tasks[0].name: no more than 63 characters]: has 64" },
        { "the last pod counts",
          { "metadata.name: " LONG40, "spec.tasks[0].name: ttttttttttuuuuuuuuuu", "spec.tasks[0].replicas: 11" },
          "spec.tasks[0].name: uuuuuuuuuu-10" },
        { "ten pods are fine",
          { "metadata.name: " LONG40, "spec.tasks[0].name: ttttttttttuuuuuuuuuu", "spec.tasks[0].replicas: 10" },
          NULL },
        { "generated name counts in full",
          { "metadata.name: <gone>", "metadata.generateName: " LONG40 "eeeeeeeee-", "spec.tasks[0].name: tttttt" },
          "spec.tasks[0].name: -xxxxx",
          0 },
        { "dots in a job name", { "metadata.name: a.b" }, NULL },
        { "task name", { "spec.tasks[0].name: Bad_Name" }, "spec.tasks[0].name: Bad_Name" },
        { "queue of 63", { "spec.queue: " LONG40 "aaaaaaaaaabbbbbbbbbbccc" }, "spec.queue: unable to find" },
        { "queue of 64", { "spec.queue: " LONG40 "aaaaaaaaaabbbbbbbbbbcccc" }, "spec.queue: label value", 2 },
    };

    RUN(rows);
}

static void test_b52_useless_policies(void **state)
{
    static const struct admit_row rows[] = {
        { "JobUpdated",
          { "spec.policies: [{event: JobUpdated, action: RestartJob}]" },
          "W spec.policies[0].event: never fires" },
        { "PodPending",
          { "spec.policies: [{event: PodPending, action: RestartJob}]" },
          "W spec.policies[0].event: needs a timeout" },
        { "PodPending, timed",
          { "spec.policies: [{event: PodPending, action: RestartJob, timeout: 10s}]" },
          NULL,
          0,
          "timeout" },
        { "negative",
          { "spec.policies: [{event: PodFailed, action: RestartJob, timeout: -1s}]" },
          "spec.policies[0].timeout: negative" },
        { "zero",
          { "spec.policies: [{event: PodFailed, action: RestartJob, timeout: 0s}]" },
          "W spec.policies[0].timeout: is zero" },
        { "no duration",
          { "spec.policies: [{event: PodFailed, action: RestartJob, timeout: soon}]" },
          "spec.policies[0].timeout: duration" },
        { "B9: Unknown and a target",
          { "spec.policies: [{event: Unknown, action: RestartTask}]" },
          "spec.policies[0].event: no target" },
        { "in a list of events",
          { "spec.policies: [{events: [PodFailed, Unknown], action: RestartPod}]" },
          "spec.policies[0].events[1]: no target" },
        { "Unknown and the job", { "spec.policies: [{event: Unknown, action: RestartJob}]" }, NULL },
        { "partition of a task without",
          { "spec.tasks[0].policies: [{event: PodFailed, action: RestartPartition}]" },
          "spec.tasks[0].policies[0].action: this task has none" },
        { "partition of a job without",
          { "spec.policies: [{event: PodFailed, action: RestartPartition}]" },
          "spec.policies[0].action: no task of the job" },
        { "partition of a job with",
          { "spec.policies: [{event: PodFailed, action: RestartPartition}]",
            "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1}" },
          NULL },
        { "partition of another task",
          { "spec.tasks[0].policies: [{event: PodFailed, action: RestartPartition}]",
            "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1}" },
          "spec.tasks[0].policies[0].action: partitionPolicy" },
        { "B15: no limit", { "spec.tasks[0].maxRetry: -1" }, NULL },
        { "less than no limit", { "spec.tasks[0].maxRetry: -2" }, "spec.tasks[0].maxRetry: at least" },
    };

    RUN(rows);
}

#define JDB_MIN "volcano.sh/jdb-min-available"
#define JDB_MAX "volcano.sh/jdb-max-unavailable"

static void test_budgets(void **state)
{
    static const struct admit_row rows[] = {
        { "number", { "metadata.annotations: {" JDB_MIN ": '2'}" }, NULL },
        { "percent", { "metadata.annotations: {" JDB_MAX ": '99%'}" }, NULL },
        { "0", { "metadata.annotations: {" JDB_MIN ": '0'}" }, "metadata.annotations[" JDB_MIN "]: positive" },
        { "-1", { "metadata.annotations: {" JDB_MIN ": '-1'}" }, "metadata.annotations[" JDB_MIN "]: positive" },
        { "100%", { "metadata.annotations: {" JDB_MAX ": '100%'}" }, "metadata.annotations[" JDB_MAX "]: 1% ~ 99%" },
        { "both, on the job",
          { "metadata.annotations: {" JDB_MIN ": '1', " JDB_MAX ": '1'}" },
          "W metadata.annotations[" JDB_MAX "]: no effect" },
        { "both, on the pods",
          { "spec.tasks[0].template.metadata: {annotations: {" JDB_MIN ": '1', " JDB_MAX ": '1'}}" },
          "spec.tasks[0].template.metadata.annotations[" JDB_MAX "]: not allow configure multiple annotations" },
        { "another scheduler", { "metadata.annotations: {" JDB_MIN ": '0'}", "spec.schedulerName: other" }, NULL },
        { "a template with another scheduler",
          { "spec.tasks[0].template.metadata: {annotations: {" JDB_MIN ": '0'}}",
            "spec.tasks[0].template.spec.schedulerName: other" },
          NULL },
    };

    RUN(rows);
}

static void test_all_at_once(void **state)
{
    static const struct admit_row rows[] = {
        { "five mistakes",
          { "spec.minAvailable: 99", "spec.queue: nowhere", "spec.tasks[1].name: a",
            "spec.policies: [{event: PodFailed}]", "spec.tasks[0].template.spec.containers[0].image: ''" },
          "spec.minAvailable: total replicas",
          5 },
    };

    RUN(rows);
}

/* Two documents share a list of problems: what was said about the first does not hide the second's errors. */
static void test_documents_do_not_hide_each_other(void **state)
{
    struct admit_env env = { 0 };
    struct problems ps = { .arena = &arena };

    for (size_t i = 1; i <= 2; i++) {
        struct json *job = doc(base_job);
        struct place root = { .node = job };

        edit(job, "spec.tasks: []");
        admit_job_check(&root, NULL, &env, &ps);
        edit(job, "metadata.namespace: <gone>");
        assert_int_equal(ps.n_errors, i);
    }
}

/* ---- update ---- */

static void test_update(void **state)
{
    static const struct update_row rows[] = {
        { { 0 }, { "nothing", { 0 }, NULL } },
        { { 0 }, { "replicas", { "spec.tasks[0].replicas: 4" }, NULL } },
        { { 0 }, { "task minAvailable", { "spec.tasks[0].minAvailable: 1" }, NULL } },
        { { 0 }, { "minAvailable", { "spec.minAvailable: 1" }, NULL } },
        { { 0 }, { "priority", { "spec.priorityClassName: high" }, NULL } },
        { { 0 }, { "B56: ttl", { "spec.ttlSecondsAfterFinished: 10" }, NULL } },
        { { 0 }, { "B56: maxRetry", { "spec.maxRetry: 10" }, NULL } },
        { { 0 }, { "queue", { "spec.queue: other" }, "spec.queue: is immutable" } },
        { { 0 },
          { "image",
            { "spec.tasks[1].template.spec.containers[0].image: other" },
            "spec.tasks[1].template.spec.containers[0].image: is immutable" } },
        { { 0 }, { "task name", { "spec.tasks[1].name: other" }, "spec.tasks[1].name: is immutable" } },
        { { 0 }, { "task maxRetry", { "spec.tasks[1].maxRetry: 5" }, "spec.tasks[1].maxRetry: is immutable" } },
        { { 0 }, { "plugins", { "spec.plugins: {svc: []}" }, "spec.plugins: is immutable" } },
        { { 0 },
          { "policies",
            { "spec.policies: [{event: PodFailed, action: RestartJob}]" },
            "spec.policies: is immutable" } },
        { { "spec.policies: [{event: PodFailed, action: RestartJob}]" },
          { "policy", { "spec.policies[0].action: AbortJob" }, "spec.policies[0].action: is immutable" } },
        { { "spec.policies: [{event: PodFailed, action: RestartJob}]" },
          { "removed", { "spec.policies: <gone>" }, "spec.policies: is immutable" } },
        { { 0 },
          { "add a task",
            { "spec.tasks[2]: {name: c, replicas: 0}" },
            "spec.tasks: job updates may not add or remove tasks" } },
        { { 0 },
          { "two fields, both reported",
            { "spec.queue: other", "spec.schedulerName: x" },
            "spec.schedulerName: is immutable",
            2 } },
        { { 0 }, { "minSuccess", { "spec.minSuccess: 1" }, "spec.minSuccess: is immutable" } },
        { { "spec.minSuccess: 5" },
          { "shrinking below minSuccess",
            { "spec.tasks[0].replicas: 1", "spec.minAvailable: 1", "spec.tasks[0].minAvailable: 1" },
            "W spec.minSuccess: no longer" } },
        { { "spec.volumes: [{mountPath: /d, volumeClaim: {accessModes: [ReadWriteOnce]}}]" },
          { "claim name by the controller", { "spec.volumes[0].volumeClaimName: made" }, NULL } },
        { { "spec.volumes: [{mountPath: /d, volumeClaimName: c}]" },
          { "claim name by the user",
            { "spec.volumes[0].volumeClaimName: other" },
            "spec.volumes[0].volumeClaimName: is immutable" } },
        { { "metadata.name: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffff" },
          { "B50: too many replicas for the name",
            { "spec.tasks[0].replicas: 100000" },
            "spec.tasks[0].name: no more than 63" } },
    };

    run_updates(rows, ARRAY_LEN(rows));
}

static void test_update_counts(void **state)
{
    static const struct update_row rows[] = {
        { { 0 }, { "job", { "spec.minAvailable: 6" }, "spec.minAvailable: greater than total replicas" } },
        { { 0 },
          { "fewer replicas",
            { "spec.tasks[0].replicas: 1", "spec.tasks[0].minAvailable: 1" },
            "spec.minAvailable: greater than total replicas" } },
        { { 0 }, { "task", { "spec.tasks[0].minAvailable: 3" }, "spec.tasks[0].minAvailable: must be <= 'replicas'" } },
        { { 0 }, { "negative", { "spec.tasks[0].replicas: -1" }, "spec.tasks[0].replicas: 'replicas' must be >= 0" } },
    };

    run_updates(rows, ARRAY_LEN(rows));
}

#define PARTITIONED "spec.tasks[1].partitionPolicy: {totalPartitions: 3, partitionSize: 1}"

static void test_b56_partitions_scale(void **state)
{
    static const struct update_row rows[] = {
        { { PARTITIONED },
          { "both", { "spec.tasks[1].partitionPolicy.totalPartitions: 5", "spec.tasks[1].replicas: 5" }, NULL } },
        { { PARTITIONED },
          { "replicas alone",
            { "spec.tasks[1].replicas: 5" },
            "spec.tasks[1].replicas: are not equal to TotalPartitions*PartitionSize" } },
        { { PARTITIONED },
          { "partitions alone",
            { "spec.tasks[1].partitionPolicy.totalPartitions: 5" },
            "spec.tasks[1].replicas: are not equal to TotalPartitions*PartitionSize" } },
        { { PARTITIONED },
          { "size",
            { "spec.tasks[1].partitionPolicy: {totalPartitions: 1, partitionSize: 3}" },
            "spec.tasks[1].partitionPolicy.partitionSize: is immutable" } },
    };

    run_updates(rows, ARRAY_LEN(rows));
}

/* What a typed client reads and writes back is the same object. */
static void test_update_equal_is_semantic(void **state)
{
    static const struct update_row rows[] = {
        { { RESOURCES "{requests: {cpu: 1, memory: 1024Mi}}",
            "spec.policies: [{event: PodPending, action: RestartJob, timeout: 1m}]",
            "spec.tasks[0].template.spec.hostNetwork: false" },
          { "written back",
            { RESOURCES "{requests: {memory: 1Gi, cpu: 1000m}, limits: {}}", "spec.policies[0].timeout: 1m0s",
              "spec.tasks[0].template.spec.hostNetwork: <gone>",
              "spec.tasks[0].template.metadata: {creationTimestamp: null}", "spec.volumes: []",
              "spec.minAvailable: 1" },
            NULL } },
        { { RESOURCES "{requests: {cpu: 1}}" },
          { "really different",
            { RESOURCES "{requests: {cpu: 1001m}}" },
            "spec.tasks[0].template.spec.containers[0].resources.requests.cpu: is immutable" } },
        { { "spec.tasks[0].template.spec.volumes: [{name: v, emptyDir: {}}]" },
          { "emptyDir: {} is not nothing",
            { "spec.tasks[0].template.spec.volumes: [{name: v}]" },
            "spec.tasks[0].template.spec.volumes[0].emptyDir: is immutable" } },
        { { 0 },
          { "0 is not nothing",
            { "spec.tasks[0].template.spec.terminationGracePeriodSeconds: 0" },
            "spec.tasks[0].template.spec.terminationGracePeriodSeconds: is immutable" } },
    };

    run_updates(rows, ARRAY_LEN(rows));
}

static void test_b55_update_skipped(void **state)
{
    static const struct update_row rows[] = {
        { { "spec.minAvailable: 99", "spec.policies: [{exitCode: 0}]" },
          { "spec as it was", { "metadata.labels: {a: b}" }, NULL } },
        { { "spec.minAvailable: 99" },
          { "being deleted", { "metadata.deletionTimestamp: '2024-01-01T00:00:00Z'", "spec.queue: other" }, NULL } },
        { { "spec.minAvailable: 99" },
          { "spec changed", { "spec.priorityClassName: x" }, "spec.minAvailable: greater" } },
        { { 0 },
          { "metadata is looked at all the same", { "metadata.labels: {'a b': c}" }, "metadata.labels.a b: a b" } },
    };

    run_updates(rows, ARRAY_LEN(rows));
}

/* Many members must not take square time. */
static void test_update_with_many_labels(void **state)
{
    struct admit_env env = { .mark = 5 };
    struct json *old = doc(base_job), *new, *labels;

    edit(old, "spec.tasks[0].template.metadata: {labels: {}}");
    labels = json_path(old, STR("spec.tasks[0].template.metadata.labels"), NULL);
    for (int i = 0; i < 20000; i++)
        json_add(labels, arena_fmt(&arena, "k%d", i), json_str(&arena, STR("v")));
    admit_job_defaults(&arena, old, &env);
    new = json_copy(&arena, old);
    labels = json_path(new, STR("spec.tasks[0].template.metadata.labels"), NULL);
    json_replace(labels, json_first(labels), json_str(&arena, STR("other")));
    {
        struct problems ps = check(new, old, &env);

        assert_int_equal(ps.n_errors, 1);
        assert_true(said(&ps, "spec.tasks[0].template.metadata.labels.k0: is immutable"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_job_defaults, forget),
        cmocka_unit_test_teardown(test_task_names, forget),
        cmocka_unit_test_teardown(test_task_minimum, forget),
        cmocka_unit_test_teardown(test_host_network_dns, forget),
        cmocka_unit_test_teardown(test_defaults_touch_nothing_else, forget),
        cmocka_unit_test_teardown(test_defaulting_twice_is_once, forget),
        cmocka_unit_test_teardown(test_odd_jobs_are_survived, forget),
        cmocka_unit_test_teardown(test_base_is_fine, forget),
        cmocka_unit_test_teardown(test_tasks, forget),
        cmocka_unit_test_teardown(test_duplicates, forget),
        cmocka_unit_test_teardown(test_minimums, forget),
        cmocka_unit_test_teardown(test_policy_trigger, forget),
        cmocka_unit_test_teardown(test_policy_events, forget),
        cmocka_unit_test_teardown(test_policy_actions, forget),
        cmocka_unit_test_teardown(test_policy_duplicates, forget),
        cmocka_unit_test_teardown(test_any_event, forget),
        cmocka_unit_test_teardown(test_volumes, forget),
        cmocka_unit_test_teardown(test_queue, forget),
        cmocka_unit_test_teardown(test_dependencies, forget),
        cmocka_unit_test_teardown(test_long_chains, forget),
        cmocka_unit_test_teardown(test_partitions, forget),
        cmocka_unit_test_teardown(test_topology, forget),
        cmocka_unit_test_teardown(test_whole_cpus, forget),
        cmocka_unit_test_teardown(test_template, forget),
        cmocka_unit_test_teardown(test_b50_names, forget),
        cmocka_unit_test_teardown(test_b52_useless_policies, forget),
        cmocka_unit_test_teardown(test_budgets, forget),
        cmocka_unit_test_teardown(test_all_at_once, forget),
        cmocka_unit_test_teardown(test_documents_do_not_hide_each_other, forget),
        cmocka_unit_test_teardown(test_update, forget),
        cmocka_unit_test_teardown(test_update_counts, forget),
        cmocka_unit_test_teardown(test_b56_partitions_scale, forget),
        cmocka_unit_test_teardown(test_update_equal_is_semantic, forget),
        cmocka_unit_test_teardown(test_b55_update_skipped, forget),
        cmocka_unit_test_teardown(test_update_with_many_labels, forget),
    };

    return cmocka_run_group_tests_name("admit_job", tests, NULL, NULL);
}
