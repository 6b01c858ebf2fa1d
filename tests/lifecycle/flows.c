/* flows.c - checklist of flows, 29 to 43: JobFlows and JobTemplates */
#include "harness.h"

#include "flow/admit.h"
#include "yaml/yaml.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define FLOW_VERSION   "apiVersion: flow.volcano.sh/v1alpha1\n"
#define TEMPLATE(name) TEMPLATE_OF(name, TASKS(TASK("t", "1", "")))
#define TEMPLATE_OF(name, spec)                                                                                        \
    FLOW_VERSION "kind: JobTemplate\nmetadata: {name: " name ", namespace: default, labels: {own: x}}\nspec: {" spec   \
                 "}\n"
#define FLOW(vertices, more)                                                                                           \
    FLOW_VERSION "kind: JobFlow\nmetadata: {name: j, namespace: default}\nspec: {flows: [" vertices "]" more "}\n"
#define FIRST(name)         "{name: " name "}"
#define AFTER(name, others) "{name: " name ", dependsOn: {targets: [" others "]}}"

#define LINE    FIRST("a") ", " AFTER("b", "a") ", " AFTER("c", "b")
#define DIAMOND FIRST("a") ", " AFTER("b", "a") ", " AFTER("c", "a") ", " AFTER("d", "b, c")

/* A flow whose pods run at once, and its templates a to d. */
static void start(struct h *h, const char *flow)
{
    static const char *const templates[] = { TEMPLATE("a"), TEMPLATE("b"), TEMPLATE("c"), TEMPLATE("d") };

    h->admits_all = h->runs_all = true;
    for (size_t i = 0; i < ARRAY_LEN(templates); i++)
        h_create(h, templates[i]);
    h_create(h, flow);
    h_run(h);
}

static void expect_flow(struct h *h, const char *phase)
{
    h_expect(h, "jf/j", "status.state.phase", phase);
}

static void complete(struct h *h, const char *job)
{
    h_pods_phase(h, job, "Succeeded");
    h_expect_phase(h, job, "Completed");
}

static void test_029_line(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(LINE, ""));
    expect_flow(h, "Running");
    h_expect(h, "jf/j", "status.runningJobs[0]", "j-a");
    assert_int_equal(h_count(h, "jobs"), 1);
    complete(h, "j-a");
    assert_int_equal(h_count(h, "jobs"), 2);
    h_expect_phase(h, "j-b", "Running");
    complete(h, "j-b");
    expect_flow(h, "Running");
    complete(h, "j-c");
    expect_flow(h, "Succeed");
    h_expect(h, "jf/j", "status.completedJobs", "(3)");
    h_expect(h, "jf/j", "status.runningJobs", "");
    assert_true(h_event_says(h, "Created", "j-b"));
}

static void test_030_diamond(void **state)
{
    autoh h = h_new();
    const char *uid;

    (void)state;
    start(h, FLOW(DIAMOND, ""));
    complete(h, "j-a");
    assert_int_equal(h_count(h, "jobs"), 3);
    complete(h, "j-c");
    assert_false(h_exists(h, "job/j-d"));
    complete(h, "j-b");
    uid = h_uid(h, "job/j-d");
    assert_string_not_equal(uid, "");
    h_advance(h, 60 * 1000);
    assert_string_equal(h_uid(h, "job/j-d"), uid);
    complete(h, "j-d");
    expect_flow(h, "Succeed");
    assert_int_equal(h_count(h, "jobs"), 4);
}

static void test_031_what_is_made(void **state)
{
    static const char *const keys[] = { "volcano.sh/createdByJobTemplate", "volcano.sh/createdByJobFlow" };
    static const char *const names[] = { "a", "j" };
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a"), ""));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str want = arena_fmt(&h->arena, "%.*s.%s", STR_ARG(h->namespace), names[i]);

        h_expect(h, "job/j-a", arena_fmt(&h->arena, "metadata.labels[%s]", keys[i]).p, want.p);
        h_expect(h, "job/j-a", arena_fmt(&h->arena, "metadata.annotations[%s]", keys[i]).p, want.p);
    }
    h_expect(h, "job/j-a", "metadata.labels.own", "");
    h_expect(h, "job/j-a", "metadata.ownerReferences[0].kind", "JobFlow");
    h_expect(h, "job/j-a", "metadata.ownerReferences[0].uid", h_uid(h, "jf/j"));
    h_expect(h, "job/j-a", "metadata.ownerReferences[0].controller", "true");
    h_expect(h, "job/j-a", "metadata.ownerReferences[0].blockOwnerDeletion", "true");
    h_expect(h, "job/j-a", "spec.tasks[0].name", "t");
}

static void test_032_what_stays(void **state)
{
    autoh retain = h_new();
    autoh delete = h_new();

    (void)state;
    start(retain, FLOW(FIRST("a"), ", jobRetainPolicy: retain"));
    complete(retain, "j-a");
    h_advance(retain, 1000);
    h_expect_phase(retain, "j-a", "Completed");

    start(delete, FLOW(FIRST("a") ", " AFTER("b", "a"), ", jobRetainPolicy: delete"));
    complete(delete, "j-a");
    h_expect_phase(delete, "j-a", "Completed"); /* it may be looked at while the flow goes on */
    h_pods_phase(delete, "j-b", "Succeeded");
    h_advance(delete, 1000);
    expect_flow(delete, "Succeed");
    assert_int_equal(h_count(delete, "jobs"), 0);
    h_advance(delete, 60 * 1000);
    h_restart_controller(delete);
    expect_flow(delete, "Succeed");
    assert_int_equal(h_count(delete, "jobs"), 0);
    h_expect(delete, "jf/j", "status.completedJobs", "(2)");
}

static void test_033_failed(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " FIRST("b") ", " AFTER("c", "a"), ", jobRetainPolicy: delete"));
    h_pods_phase(h, "j-a", "Failed");
    h_expect_phase(h, "j-a", "Failed");
    expect_flow(h, "Failed");
    h_expect(h, "jf/j", "status.failedJobs[0]", "j-a");
    h_expect_phase(h, "j-b", "Running"); /* those beside it run on, and are told of */
    complete(h, "j-b");
    h_expect(h, "jf/j", "status.completedJobs[0]", "j-b");
    expect_flow(h, "Failed");
    h_advance(h, 60 * 1000);
    assert_false(h_exists(h, "job/j-c"));
    assert_int_equal(h_count(h, "jobs"), 2); /* nothing is cleaned: somebody will want to look */
}

static void test_034_terminated(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " FIRST("b"), ""));
    h_command(h, "j-a", "TerminateJob");
    h_run(h);
    h_expect_phase(h, "j-a", "Terminated");
    expect_flow(h, "Failed");
    h_expect(h, "jf/j", "status.terminatedJobs[0]", "j-a");
    h_expect_phase(h, "j-b", "Running");
}

static void test_035_aborted(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " AFTER("b", "a"), ""));
    h_command(h, "j-a", "AbortJob");
    h_run(h);
    h_expect_phase(h, "j-a", "Aborted");
    expect_flow(h, "Running");
    h_expect(h, "jf/j", "status.unKnowJobs[0]", "j-a");
    h_command(h, "j-a", "ResumeJob");
    h_run(h);
    h_go(h, "j-a");
    complete(h, "j-a");
    complete(h, "j-b");
    expect_flow(h, "Succeed");
}

static void test_036_template_comes_later(void **state)
{
    autoh h = h_new();

    (void)state;
    h->admits_all = h->runs_all = true;
    h_create(h, TEMPLATE("b"));
    h_create(h, FLOW(FIRST("a") ", " FIRST("b"), ""));
    h_run(h);
    assert_true(h_event_says(h, "TemplateNotFound", "JobTemplate a"));
    h_expect_phase(h, "j-b", "Running"); /* the others do not wait for it */
    h_expect(h, "jf/j", "status.runningJobs[0]", "j-b");
    h_advance(h, 10 * 60 * 1000);
    assert_false(h_exists(h, "job/j-a"));
    h_create(h, TEMPLATE("a"));
    h_run(h);
    h_expect_phase(h, "j-a", "Running");
}

static void test_037_controller_away(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " FIRST("b"), ""));
    h_stop(h, 0);
    h_set_status(h, "job/j-a", "{state: {phase: Completed}}");
    h_set_status(h, "job/j-b", "{state: {phase: Completed}}");
    h_start(h, 0);
    h_run(h);
    expect_flow(h, "Succeed");
}

/* A job that is over is over, whoever takes it away: its time to live, or somebody, while the flow runs or later. */
static void test_038_not_run_again(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " AFTER("b", "a"), ""));
    complete(h, "j-a");
    h_delete(h, "job/j-a", -1);
    h_advance(h, 1000);
    h_restart_controller(h);
    assert_false(h_exists(h, "job/j-a"));
    complete(h, "j-b");
    expect_flow(h, "Succeed");
    h_delete(h, "job/j-b", -1);
    h_advance(h, 1000);
    h_restart_controller(h);
    assert_int_equal(h_count(h, "jobs"), 0);
    expect_flow(h, "Succeed");
    h_expect(h, "jf/j", "status.completedJobs", "(2)");
}

static void test_038_deleted_while_it_runs(void **state)
{
    autoh h = h_new();
    const char *before;

    (void)state;
    start(h, FLOW(FIRST("a"), ""));
    before = h_uid(h, "job/j-a");
    h_delete(h, "job/j-a", -1);
    h_advance(h, 1000);
    assert_string_not_equal(h_uid(h, "job/j-a"), "");
    assert_string_not_equal(h_uid(h, "job/j-a"), before);
    complete(h, "j-a");
    expect_flow(h, "Succeed");
}

static const char *problems_of(struct h *h, const char *yaml)
{
    struct admit_env env = { 0 };
    struct flow_env flow = { .admit = &env };
    struct problems ps = { .arena = &h->arena };
    struct yaml_docs docs = { 0 };
    struct err e;

    assert_int_equal(yaml_parse(&h->arena, str_of(yaml), NULL, &docs, &e), 0);
    assert_true(admit_flow_kind(&h->arena, docs.v[0], NULL, &flow, &ps));
    return problems_join(&h->arena, &ps).p;
}

static void test_039_no_cycles(void **state)
{
    autoh h = h_new();

    (void)state;
    assert_non_null(strstr(problems_of(h, FLOW(AFTER("a", "b") ", " AFTER("b", "c") ", " AFTER("c", "a"), "")),
                           "spec.flows: jobflow Flow is not DAG: a -> b -> c -> a"));
    assert_non_null(strstr(problems_of(h, FLOW(AFTER("a", "a"), "")), "jobflow Flow is not DAG: a flow can not wait"));
    assert_non_null(strstr(problems_of(h, FLOW(AFTER("a", "x"), "")),
                           "spec.flows[0].dependsOn.targets[0]: jobflow Flow is not DAG: vertex is not defined: x;"));
    /* Stored without admission, the rest of it starts. */
    start(h, FLOW(AFTER("a", "b") ", " AFTER("b", "a") ", " FIRST("c"), ""));
    assert_int_equal(h_count(h, "jobs"), 1);
    h_expect_phase(h, "j-c", "Running");
}

/* Volcano takes such a flow. The first of the name counts; the other has no job, and the flow does not wait for it. */
static void test_039_one_name_twice(void **state)
{
    autoh h = h_new();

    (void)state;
    assert_string_equal(problems_of(h, FLOW(FIRST("a") ", " FIRST("a"), "")), "");
    start(h, FLOW(FIRST("a") ", " FIRST("b") ", " AFTER("a", "b"), ""));
    assert_int_equal(h_count(h, "jobs"), 2);
    h_expect(h, "jf/j", "status.jobStatusList", "(2)");
    h_expect(h, "jf/j", "status.runningJobs", "(2)");
    complete(h, "j-a");
    complete(h, "j-b");
    expect_flow(h, "Succeed");
    assert_int_equal(h_count(h, "jobs"), 2);
    h_expect(h, "jf/j", "status.completedJobs", "(2)");
}

/* Twenty levels of five, each vertex after all of the level before: 5^20 paths. */
static void test_040_many_paths(void **state)
{
    autoh h = h_new();
    struct str flows = STR("");

    (void)state;
    for (int level = 0; level < 20; level++)
        for (int i = 0; i < 5; i++) {
            flows = arena_fmt(&h->arena, "%.*s{name: v%d-%d", STR_ARG(flows), level, i);
            if (level)
                flows = arena_fmt(&h->arena, "%.*s, dependsOn: {targets: [v%d-0, v%d-1, v%d-2, v%d-3, v%d-4]}",
                                  STR_ARG(flows), level - 1, level - 1, level - 1, level - 1, level - 1);
            flows = arena_cat(&h->arena, flows, STR("}, "));
        }
    assert_string_equal(problems_of(h, arena_fmt(&h->arena, FLOW("%.*s", ""), STR_ARG(flows)).p), "");
}

static void test_041_history(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a"), ""));
    h_expect(h, "jf/j", "status.jobStatusList[0].name", "j-a");
    h_expect(h, "jf/j", "status.jobStatusList[0].state", "Running");
    h_expect(h, "jf/j", "status.jobStatusList[0].runningHistories[0].state", "Pending");
    h_expect(h, "jf/j", "status.jobStatusList[0].runningHistories[1].state", "Running");
    h_expect(h, "jf/j", "status.jobStatusList[0].endTimestamp", "");
    h_advance(h, 65 * 1000);
    complete(h, "j-a");
    h_expect(h, "jf/j", "status.jobStatusList[0].startTimestamp", "2026-03-01T09:30:00Z");
    h_expect(h, "jf/j", "status.jobStatusList[0].endTimestamp", "2026-03-01T09:31:05Z");
    h_expect(h, "jf/j", "status.jobStatusList[0].runningHistories[1].startTimestamp", "2026-03-01T09:30:00Z");
    h_expect(h, "jf/j", "status.jobStatusList[0].runningHistories[1].endTimestamp", "2026-03-01T09:31:05Z");
    h_expect(h, "jf/j", "status.jobStatusList[0].state", "Completed");
    h_expect(h, "jf/j", "status.conditions.j-a.phase", "Completed");
    h_expect(h, "jf/j", "status.conditions.j-a.createTime", "2026-03-01T09:30:00Z");
}

static void test_042_deleted(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(DIAMOND, ""));
    complete(h, "j-a");
    h_delete(h, "jf/j", -1);
    h_advance(h, 1000);
    assert_false(h_exists(h, "jf/j"));
    assert_int_equal(h_count(h, "jobs"), 0);
    assert_int_equal(h_count(h, "pods"), 0);
}

static void test_043_jobs_of_a_template(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " FIRST("b"), ""));
    h_create(h, TEMPLATE("with.dots"));
    h_create(h, FLOW_VERSION "kind: JobFlow\nmetadata: {name: k, namespace: default}\n"
                             "spec: {flows: [{name: a}, {name: with.dots}]}\n");
    h_run(h);
    h_expect(h, "jt/a", "status.jobDependsOnList[0]", "j-a");
    h_expect(h, "jt/a", "status.jobDependsOnList[1]", "k-a");
    h_expect(h, "jt/b", "status.jobDependsOnList", "(1)");
    h_expect(h, "jt/with.dots", "status.jobDependsOnList[0]", "k-with.dots");
    h_expect(h, "jt/c", "status.jobDependsOnList", "");
    h_pods_phase(h, "j-a", "Succeeded");
    h_delete(h, "job/j-a", -1);
    h_advance(h, 1000);
    h_expect(h, "jt/a", "status.jobDependsOnList", "(1)");
    h_expect(h, "jt/a", "status.jobDependsOnList[0]", "k-a");
}

/* ---- beyond the list ---- */

static void test_a_flow_of_nothing_waits(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW("", ""));
    expect_flow(h, "Pending");
}

static void test_one_failed_one_running_is_failed_at_once(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " FIRST("b"), ""));
    h_stop(h, 0);
    h_set_status(h, "jf/j", "{state: {phase: Pending}}");
    h_set_status(h, "job/j-a", "{state: {phase: Terminated}}");
    h_start(h, 0);
    h_run(h);
    expect_flow(h, "Failed");
}

/* Flows that share templates have nothing else in common. */
static void test_two_flows_of_the_same_templates(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(FIRST("a") ", " AFTER("b", "a"), ""));
    h_create(h, FLOW_VERSION "kind: JobFlow\nmetadata: {name: k, namespace: default}\n"
                             "spec: {flows: [{name: a}, {name: b}]}\n");
    h_run(h);
    h_pods_phase(h, "k-a", "Failed");
    h_advance(h, 1000);
    complete(h, "j-a");
    complete(h, "j-b");
    expect_flow(h, "Succeed");
    h_expect(h, "jf/k", "status.state.phase", "Failed");
    h_expect(h, "jf/j", "status.jobStatusList", "(2)");
    h_expect(h, "jf/j", "status.failedJobs", "");
    h_expect(h, "jf/k", "status.completedJobs", "");
}

static void test_patch(void **state)
{
    autoh h = h_new();

    (void)state;
    h->admits_all = true;
    h_create(h, TEMPLATE_OF("a", "maxRetry: 5, " TASKS(TASK("t", "1", ""), TASK("u", "1", ""))));
    h_create(h, FLOW("{name: a, patch: {jobSpec: {maxRetry: 1, tasks: [{name: u, replicas: 3, template: "
                     "{spec: {containers: [{name: c, command: [sh]}]}}}]}}}",
                     ""));
    h_run(h);
    h_expect(h, "job/j-a", "spec.maxRetry", "1");
    h_expect(h, "job/j-a", "spec.tasks", "(2)");
    h_expect(h, "job/j-a", "spec.tasks[0].replicas", "1");
    h_expect(h, "job/j-a", "spec.tasks[1].replicas", "3");
    h_expect(h, "job/j-a", "spec.tasks[1].template.spec.containers[0].image", "busybox");
    h_expect(h, "job/j-a", "spec.tasks[1].template.spec.containers[0].command[0]", "sh");
    assert_int_equal(h_count_pods(h, "j-a", "u", NULL), 3);
}

#define LONG "a-flow-whose-name-is-so-long-that-no-label-can-hold-it-a"

static void test_long_names(void **state)
{
    autoh h = h_new();
    struct str want = arena_fmt(&h->arena, "%.*s." LONG, STR_ARG(h->namespace));

    (void)state;
    h_create(h, TEMPLATE("a"));
    h_create(h, FLOW_VERSION "kind: JobFlow\nmetadata: {name: " LONG
                             ", namespace: default}\nspec: {flows: [{name: a}]}\n");
    h_run(h);
    h_expect(h, "job/" LONG "-a", "metadata.annotations[volcano.sh/createdByJobFlow]", want.p);
    assert_int_equal(strlen(h_get(h, "job/" LONG "-a", "metadata.labels[volcano.sh/createdByJobFlow]")), 63);
}

static void test_changes_hold_for_what_has_not_begun(void **state)
{
    autoh h = h_new();

    (void)state;
    start(h, FLOW(LINE, ""));
    assert_false(h_exists(h, "job/j-c"));
    h_set(h, "jf/j", "spec.flows[2].dependsOn.targets", "[]");
    h_run(h);
    h_expect_phase(h, "j-c", "Running");
    assert_false(h_exists(h, "job/j-b"));
}

/* A client that needs its server to run, not to end. */
static void test_task_status_probe(void **state)
{
    autoh h = h_new();

    (void)state;
    h->admits_all = true;
    h_create(h, TEMPLATE_OF("a", TASKS(TASK("t", "2", ""))));
    h_create(h, TEMPLATE("b"));
    h_create(h, FLOW(FIRST("a") ", {name: b, dependsOn: {targets: [a], probe: {taskStatusList: [{taskName: t, phase: "
                                "Running}]}}}",
                     ""));
    h_run(h);
    h_pod_phase(h, "j-a-t-0", "Running");
    h_advance(h, 5000);
    assert_false(h_exists(h, "job/j-b"));
    h_pod_phase(h, "j-a-t-1", "Running");
    h_advance(h, 5000);
    assert_true(h_exists(h, "job/j-b"));
    h_expect_phase(h, "j-a", "Running");
}

/* ---- probes by network: pods with the address of this machine ---- */

static int bind_port(int *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t n = sizeof(at);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* Job j-a runs, and j-b is to start when it answers. */
static void start_asked(struct h *h, const char *probe, int port)
{
    h->admits_all = true;
    h_create(h, TEMPLATE("a"));
    h_create(h, TEMPLATE("b"));
    h_create(
        h,
        arena_fmt(&h->arena,
                  FLOW(FIRST("a") ", {name: b, dependsOn: {targets: [a], probe: {%s: [{taskName: t, port: %d}]}}}", ""),
                  probe, port)
            .p);
    h_run(h);
    h_pod_status(h, "j-a-t-0",
                 "{phase: Running, podIP: 127.0.0.1, containerStatuses: [{name: c, ready: true, restartCount: 0, "
                 "state: {running: {}}}]}");
    h_expect_phase(h, "j-a", "Running");
}

static void ask_by_tcp(void)
{
    autoh h = h_new();
    int port;
    autoclose int fd = bind_port(&port);

    start_asked(h, "tcpSocketList", port);
    h_advance(h, 5000);
    assert_false(h_exists(h, "job/j-b")); /* nobody listens */
    assert_int_equal(listen(fd, 8), 0);
    while (!h_exists(h, "job/j-b")) {
        h_advance(h, 1000);
        usleep(10000);
    }
    h_expect_phase(h, "j-a", "Running");
}

/* Answer one request; true: there was one. */
static bool serve(int fd, const char *answer)
{
    autoclose int peer = accept(fd, NULL, NULL);
    char text[1024] = "";

    if (peer < 0)
        return false;
    assert_true(read(peer, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "GET / HTTP/1.1\r\n"));
    assert_int_equal(write(peer, answer, strlen(answer)), strlen(answer));
    return true;
}

static void ask_by_http(void)
{
    static const char *const answers[] = { "HTTP/1.1 503 no\r\n\r\n", "nonsense, and more of it",
                                           "HTTP/1.1 204 ok\r\n\r\n" };
    autoh h = h_new();
    int port;
    autoclose int fd = bind_port(&port);
    size_t n = 0;

    assert_int_equal(listen(fd, 8), 0);
    start_asked(h, "httpGetList", port);
    while (!h_exists(h, "job/j-b")) {
        h_advance(h, 20);
        if (n < ARRAY_LEN(answers))
            n += serve(fd, answers[n]);
        usleep(2000);
    }
    assert_int_equal(n, ARRAY_LEN(answers));
}

static void test_tcp_probe(void **state)
{
    (void)state;
    h_needs_store(); /* time is that of the network, in part */
    ask_by_tcp();
}

static void test_http_probe(void **state)
{
    (void)state;
    h_needs_store();
    ask_by_http();
}

static void test_somebody_elses_job(void **state)
{
    autoh h = h_new();

    (void)state;
    h_job(h, JOB("j-a", TASKS(TASK("x", "1", ""))));
    start(h, FLOW(FIRST("a") ", " FIRST("b"), ""));
    assert_true(h_event_says(h, "ForeignJob", "j-a"));
    h_expect_phase(h, "j-b", "Running");
    h_delete(h, "job/j-a", -1);
    h_advance(h, 10 * 60 * 1000);
    h_expect(h, "job/j-a", "metadata.ownerReferences[0].kind", "JobFlow");
}

/* Answers that are lost, conflicts, a controller that dies between any two of its turns: one job for each vertex. */
static void test_faults(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 12; i++) {
        autoh h = h_new();

        h->admits_all = h->runs_all = true;
        h_create(h, TEMPLATE("a"));
        h_create(h, TEMPLATE("b"));
        h_lose_next_answers(h, OP_CREATE, "jobs", 1);
        h_fail_next_writes(h, OP_UPDATE_STATUS, "jobflows", ERR_CONFLICT, 1, "conflict");
        h_create(h, FLOW(FIRST("a") ", " AFTER("b", "a"), ""));
        h_turns(h, 0, i);
        h_stop(h, 0);
        h_start(h, 0);
        h_advance(h, 5000);
        complete(h, "j-a");
        h_turns(h, 0, i);
        h_stop(h, 0);
        h_start(h, 0);
        h_advance(h, 5000);
        complete(h, "j-b");
        h_advance(h, 5000);
        expect_flow(h, "Succeed");
        assert_int_equal(h_count(h, "jobs"), 2);
    }
}

static void test_refused_job_is_told(void **state)
{
    autoh h = h_new();

    (void)state;
    h_fail_next_writes(h, OP_CREATE, "jobs", ERR_INVALID, 1, "spec.queue: no such queue");
    start(h, FLOW(FIRST("a"), ""));
    h_advance(h, 1000);
    assert_true(h_event_says(h, "FailedCreate", "spec.queue: no such queue"));
    h_expect_phase(h, "j-a", "Running");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_029_line),
        cmocka_unit_test(test_030_diamond),
        cmocka_unit_test(test_031_what_is_made),
        cmocka_unit_test(test_032_what_stays),
        cmocka_unit_test(test_033_failed),
        cmocka_unit_test(test_034_terminated),
        cmocka_unit_test(test_035_aborted),
        cmocka_unit_test(test_036_template_comes_later),
        cmocka_unit_test(test_037_controller_away),
        cmocka_unit_test(test_038_not_run_again),
        cmocka_unit_test(test_038_deleted_while_it_runs),
        cmocka_unit_test(test_039_no_cycles),
        cmocka_unit_test(test_039_one_name_twice),
        cmocka_unit_test(test_040_many_paths),
        cmocka_unit_test(test_041_history),
        cmocka_unit_test(test_042_deleted),
        cmocka_unit_test(test_043_jobs_of_a_template),
        cmocka_unit_test(test_a_flow_of_nothing_waits),
        cmocka_unit_test(test_one_failed_one_running_is_failed_at_once),
        cmocka_unit_test(test_two_flows_of_the_same_templates),
        cmocka_unit_test(test_patch),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_changes_hold_for_what_has_not_begun),
        cmocka_unit_test(test_task_status_probe),
        cmocka_unit_test(test_tcp_probe),
        cmocka_unit_test(test_http_probe),
        cmocka_unit_test(test_somebody_elses_job),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_refused_job_is_told),
    };

    return cmocka_run_group_tests_name("lifecycle/flows", tests, NULL, NULL);
}
