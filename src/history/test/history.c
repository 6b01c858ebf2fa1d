/* history.c - tests of the history of a run: times, ends, decisions in words, verdicts, limits */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "history/test/story.h"
#include "store/store.h"
#include "whatif/future.h"

static const struct history_pod *pod_of(const struct story *s, const char *uid)
{
    const struct history_pod *p = map_get(&s->h->pods_uid, str_of(uid));

    if (!p)
        fail_msg("no pod %s", uid);
    return p;
}

/* ---- pods ---- */

static void test_times(void **state)
{
    struct story s;
    const struct history_pod *w1, *m, *w0;

    (void)state;
    story_begin(&s);
    story_small(&s);
    w1 = pod_of(&s, "p-train-worker-1-0");
    m = pod_of(&s, "p-train-master-0-1");
    w0 = pod_of(&s, "p-train-worker-0-1");
    assert_int_equal(w1->created_ms - STORY_BEGIN_MS, 186);
    assert_int_equal(w1->scheduled_ms - STORY_BEGIN_MS, 198);
    assert_int_equal(w1->started_ms - STORY_BEGIN_MS, 408);
    assert_int_equal(w1->ready.v[0].from_ms - STORY_BEGIN_MS, 568);
    assert_int_equal(w1->ready.v[0].until_ms - STORY_BEGIN_MS, 1510);
    assert_int_equal(w1->ended_ms - STORY_BEGIN_MS, 1510);
    assert_int_equal(w1->end, END_FAILED);
    assert_int_equal(m->end, END_OK);
    assert_int_equal(w0->end, END_STOPPED);
    assert_int_equal(w0->deleting_ms - STORY_BEGIN_MS, 4090);
    assert_int_equal(w0->ended_ms - STORY_BEGIN_MS, 4180);
    assert_int_equal(pod_restarts(w0), 1);
    assert_int_equal(w0->ready.n, 2);
    assert_int_equal(w0->containers.n, 2); /* init: keys; main */
    assert_int_equal(w0->containers.v[1]->attempts.n, 2);
    assert_int_equal(w0->containers.v[1]->attempts.v[0].exit_code, 1);
    assert_int_equal(w0->containers.v[1]->attempts.v[0].ended_ms - STORY_BEGIN_MS, 2600);
    assert_int_equal(w0->containers.v[1]->attempts.v[1].started_ms - STORY_BEGIN_MS, 2900);
    story_done(&s);
}

/* The end of a container as its status has it → how the summary says it. */
static void test_ends(void **state)
{
    static const struct {
        const char *ended, *reason;
        int code;
    } cases[] = {
        { "exitCode: 3, reason: Error", "exit code 3", 3 },
        { "exitCode: 137, signal: 9, reason: OOMKilled", "OOMKilled", 137 },
        { "exitCode: 139, signal: 11, reason: Error", "killed by SIGSEGV", 139 },
        { "exitCode: 143, reason: Error", "exit code 143 (SIGTERM)", 143 },
        { "exitCode: 255", "exit code 255", 255 },
        { "exitCode: 128, reason: StartError, message: 'no such file: trian'", "StartError: no such file: trian", 128 },
        { "exitCode: 99999999999, signal: 4000, reason: Error", "exit code 2147483647", INT32_MAX },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct story s;
        struct story_pod p = { "j", "t", 0, 0, .node = "n" };
        struct history_failure w;

        story_begin(&s);
        story_job(&s, 0, "j", "tasks: [{name: t}]", "");
        story_pod_tell(&s, 1, &p, false);
        story_end(&s, 9, &p, "Failed", cases[i].ended); /* nobody saw it run */
        if (!history_failed(s.h, 0, &w) || !str_is(w.words, cases[i].reason) || w.exit_code != cases[i].code)
            fail_msg("%s: \"%.*s\", %d", cases[i].ended, STR_ARG(w.words), w.exit_code);
        assert_true(str_is(w.pod, "j-t-0") && str_is(w.container, "main") && str_is(w.task, "t"));
        assert_int_equal(w.at_ms - STORY_BEGIN_MS, 9);
        assert_false(history_failed(s.h, 1, &w));
        story_done(&s);
    }
}

/* What has failed, and what has not: statuses of one pod in order. */
static void test_failed_or_not(void **state)
{
    static const struct {
        const char *name, *phase, *status;
        bool is_deleting;
        const char *reason, *tail; /* NULL: not listed */
    } cases[] = {
        { "killed by us", "Failed",
          "containerStatuses: [{name: main, state: {terminated: {exitCode: 143, signal: 15}}}]", true, NULL, NULL },
        { "evicted", "Failed", "reason: Evicted, message: the node is low on memory", false, "Evicted",
          "the node is low on memory" },
        { "no ConfigMap", "Pending",
          "containerStatuses: [{name: main, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap "
          "\"x\" "
          "not found'}}}]",
          false, "CreateContainerConfigError", "configmap \"x\" not found" },
        { "creating", "Pending", "containerStatuses: [{name: main, state: {waiting: {reason: ContainerCreating}}}]",
          false, NULL, NULL },
        { "crash loop", "Running",
          "containerStatuses: [{name: main, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState:"
          " {terminated: {exitCode: 2, message: bye}}}]",
          false, "exit code 2", "bye" },
        { "runs again", "Running",
          "containerStatuses: [{name: main, restartCount: 4, state: {running: {}}, lastState: {terminated: {exitCode: "
          "2}}}]",
          false, NULL, NULL },
        { "nothing known", "Failed", "message: ''", false, "failed", "" },
        { "nonsense", "Failed", "containerStatuses: {a: [1, 2]}, initContainerStatuses: 7, reason: [x]", false,
          "failed", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct story s;
        struct story_pod p = { "j", "t", 0, 0, .node = "n" };
        struct history_failure w = { 0 };
        bool is_listed;

        story_begin(&s);
        story_pod_tell(&s, 1, &p, false);
        p.is_deleting = cases[i].is_deleting;
        p.phase = cases[i].phase;
        p.more = cases[i].status;
        story_pod_tell(&s, 2, &p, false);
        is_listed = history_failed(s.h, 0, &w);
        if (is_listed != (cases[i].reason != NULL))
            fail_msg("%s: %s", cases[i].name, is_listed ? "listed" : "not listed");
        if (is_listed && (!str_is(w.words, cases[i].reason) || !str_is(w.tail, cases[i].tail)))
            fail_msg("%s: \"%.*s\", \"%.*s\"", cases[i].name, STR_ARG(w.words), STR_ARG(w.tail));
        story_done(&s);
    }
}

/* ---- decisions ---- */

#define MIXED                                                                                                          \
    "maxRetry: 3, policies: [{event: PodEvicted, action: AbortJob}, {event: Unknown, action: RestartJob},"             \
    " {events: [PodFailed, TaskFailed], action: TerminateJob}], tasks: [{name: a, policies: [{exitCode: 7, action:"    \
    " RestartTask}, {event: PodFailed, action: RestartPod, timeout: 5s}]}, {name: b}]"

static void test_decisions(void **state)
{
    static const struct {
        const char *status, *want; /* NULL: nothing was decided */
    } cases[] = {
        { "state: {phase: Restarting, reason: RestartTask, message: 'PodFailed of j-a-0 with exit code 7: RestartTask, "
          "retry 1"
          " of 3'}, retryCount: 1",
          "RestartTask because PodFailed: j-a-0 exited with 7 (policy spec.tasks[0].policies[0]), retry 1 of 3" },
        { "state: {phase: Terminating, reason: TerminateJob, message: 'PodFailed of j-b-0 with exit code 7: "
          "TerminateJob'}",
          "TerminateJob because PodFailed: j-b-0 exited with 7 (policy spec.policies[2])" },
        { "state: {phase: Aborting, reason: AbortJob, message: 'PodEvicted of j-b-1: AbortJob'}",
          "AbortJob because PodEvicted: j-b-1 was evicted or deleted (policy spec.policies[0])" },
        { "state: {phase: Restarting, reason: RestartJob, message: 'Unknown: RestartJob, retry 2 of 3'}",
          "RestartJob because Unknown: pods of the gang have lost their places (policy spec.policies[1]), retry 2 of "
          "3" },
        { "state: {phase: Terminating, reason: TerminateJob, message: 'TaskFailed of task/a: TerminateJob'}",
          "TerminateJob because TaskFailed: task a: its pods were restarted too often (policy spec.policies[2])" },
        { "state: {phase: Aborting, reason: AbortJob, message: 'CommandIssued: AbortJob'}",
          "AbortJob because CommandIssued: a Command asked for it" },
        { "state: {phase: Completed, reason: Completed, message: 'all pods have ended, enough of them with success'}",
          "Completed because all pods have ended, enough of them with success" },
        { "state: {phase: Failed, reason: RetriesExhausted, message: 'no retry is left (maxRetry 3)'}, retryCount: 3",
          "Failed because no retry is left (maxRetry 3)" },
        { "state: {phase: Aborting, reason: AbortJob, message: 'somebody''s own words'}",
          "AbortJob because somebody's own words" },
        { "state: {phase: Restarting, reason: RestartPod, message: ': RestartPod'}",
          "RestartPod because : RestartPod" },
        { "state: {phase: Pending, reason: WaitingForQueue, message: the queue x does not exist}", NULL },
        { "state: {phase: Running}", NULL },
        { "state: [], version: {}", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct story s;
        struct story_pod a = { "j", "a", 0, 0, .node = "n" }, b = { "j", "b", 0, 0, .node = "n" };
        autobuf said = { 0 };

        story_begin(&s);
        story_job(&s, 0, "j", MIXED, "state: {phase: Running}");
        story_pod_tell(&s, 1, &a, false);
        story_pod_tell(&s, 1, &b, false);
        story_end(&s, 2, &a, "Failed", "exitCode: 7");
        story_end(&s, 2, &b, "Failed", "exitCode: 7");
        story_job(&s, 3, "j", MIXED, cases[i].status);
        story_job(&s, 4, "j", MIXED, cases[i].status); /* the same again says nothing new */
        assert_int_equal(s.h->decisions.n, cases[i].want ? 1 : 0);
        if (cases[i].want)
            decision_sentence(&said, &s.h->decisions.v[0]);
        if (cases[i].want && !str_is(buf_view(&said), cases[i].want))
            fail_msg("%s:\n%.*s, not\n%s", cases[i].status, STR_ARG(buf_view(&said)), cases[i].want);
        story_done(&s);
    }
}

static void test_later(void **state)
{
    struct story s;
    struct story_pod p = { "j", "a", 0, 0, .node = "n" };
    struct str status;
    autobuf first = { 0 }, second = { 0 };

    (void)state;
    story_begin(&s);
    story_job(&s, 0, "j", MIXED, "state: {phase: Running}");
    story_pod_tell(&s, 1, &p, false);
    story_end(&s, 2, &p, "Failed", "exitCode: 1");
    status = arena_fmt(&s.arena,
                       "state: {phase: Running}, controlledResources: {pumice-timer-j-a-0: 'PodFailed RestartPod %lld"
                       " p-j-a-0-0'}",
                       (long long)STORY_BEGIN_MS + 5003);
    story_job(&s, 3, "j", MIXED, status.p);
    story_job(&s, 4, "j", MIXED, status.p);
    story_job(&s, 5003, "j", MIXED,
              "state: {phase: Restarting, reason: RestartPod, message: 'PodFailed of j-a-0: RestartPod, retry 1 of 3'},"
              " retryCount: 1");
    assert_int_equal(s.h->decisions.n, 2);
    decision_sentence(&first, &s.h->decisions.v[0]);
    decision_sentence(&second, &s.h->decisions.v[1]);
    assert_string_equal(first.p,
                        "RestartPod in 5s because PodFailed: j-a-0 exited with 1 (policy spec.tasks[0].policies[1])");
    assert_string_equal(
        second.p, "RestartPod because PodFailed: j-a-0 exited with 1 (policy spec.tasks[0].policies[1]), retry 1 of 3");
    story_done(&s);
}

static void test_eviction(void **state)
{
    struct story s;
    struct story_pod p = { "j", "a", 0, 0, .node = "n", .phase = "Running" };
    autobuf said = { 0 };

    (void)state;
    story_begin(&s);
    story_job(&s, 0, "j", MIXED, "state: {phase: Running}");
    story_pod_tell(&s, 1, &p, false);
    story_event(&s, 2, "Pod", "j-a-0", "p-j-a-0-0", "Warning", "Evict", "Pod is evicted, because of preempt");
    assert_int_equal(s.h->decisions.n, 1);
    assert_int_equal(s.h->warnings.n, 0);
    decision_sentence(&said, &s.h->decisions.v[0]);
    assert_string_equal(said.p, "Evict because j-a-0: Pod is evicted, because of preempt");
    assert_ptr_equal(s.h->decisions.v[0].job, s.h->jobs.v[0]);
    story_done(&s);
}

/* ---- verdicts ---- */

static void test_verdicts(void **state)
{
    static const struct {
        const char *status, *want;
    } cases[] = {
        { "state: {phase: Completed, reason: Completed, message: fine}", "Completed in 2.50s; 1 of 1 pods failed" },
        { "state: {phase: Failed, reason: Failed, message: all pods have ended with fewer successes than minAvailable}",
          "Failed after 2.50s: all pods have ended with fewer successes than minAvailable; first, j-a-0 exited with "
          "5" },
        { "state: {phase: Running}", "Not over: Running after 3.00s: j-a-0 exited with 5" },
        { "state: {phase: Aborted, reason: AbortJob, message: 'PodFailed of j-a-0 with exit code 5: AbortJob'}",
          "Aborted after 2.50s: PodFailed: j-a-0 exited with 5" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct story s;
        struct story_pod p = { "j", "a", 0, 0, .node = "n" };
        autobuf said = { 0 };
        bool is_ok, is_over;

        story_begin(&s);
        story_job(&s, 0, "j", "policies: [{event: PodFailed, action: AbortJob}], tasks: [{name: a}]", "");
        story_pod_tell(&s, 1, &p, false);
        story_end(&s, 2, &p, "Failed", "exitCode: 5");
        story_job(&s, 2500, "j", "policies: [{event: PodFailed, action: AbortJob}], tasks: [{name: a}]",
                  cases[i].status);
        history_finish(s.h, STORY_BEGIN_MS + 3000);
        history_verdict(&said, s.h, &is_ok, &is_over);
        if (!str_is(buf_view(&said), cases[i].want))
            fail_msg("%.*s, not %s", STR_ARG(buf_view(&said)), cases[i].want);
        assert_int_equal(is_ok, i == 0);
        story_done(&s);
    }
}

/* ---- limits ---- */

static void test_tail(void **state)
{
    struct story s;
    struct story_pod p = { "j", "t", 0, 0, .node = "n" };
    struct history_failure w;
    autobuf line = { 0 };

    (void)state;
    story_begin(&s);
    story_pod_tell(&s, 1, &p, false);
    for (int i = 0; i < 20000; i++) {
        buf_reset(&line);
        buf_fmt(&line, "line %d", i);
        story_line(&s, &p, buf_view(&line));
    }
    buf_reset(&line);
    buf_repeat(&line, 'x', 100000);
    story_line(&s, &p, buf_view(&line));
    story_line(&s, &p, STR("the last"));
    story_end(&s, 20001, &p, "Failed", "exitCode: 1");
    story_line(&s, &p, STR("late"));
    assert_true(history_failed(s.h, 0, &w));
    assert_true(w.tail.n <= HISTORY_TAIL);
    assert_true(str_ends(w.tail, STR("x\nthe last\nlate\n")));
    assert_true(pod_of(&s, "p-j-t-0-0")->containers.v[0]->tail.cap < 8 * HISTORY_TAIL);
    story_done(&s);
}

/* The lines of an attempt that was followed by another are not the last words. */
static void test_tail_of_attempts(void **state)
{
    struct story s;
    struct story_pod p = { "j", "t", 0, 0, .node = "n", .phase = "Running", .restart_policy = "OnFailure" };
    struct history_failure w;

    (void)state;
    story_begin(&s);
    p.more = story_main(&s, "running: {}", 0);
    story_pod_tell(&s, 1, &p, false);
    story_line(&s, &p, STR("first"));
    p.more =
        "containerStatuses: [{name: main, restartCount: 0, state: {waiting: {reason: CrashLoopBackOff}}, lastState:"
        " {terminated: {exitCode: 1}}}]";
    story_pod_tell(&s, 3, &p, false);
    assert_true(history_failed(s.h, 0, &w));
    assert_true(str_is(w.tail, "first\n"));
    story_line(&s, &p, STR("second")); /* before its status says so */
    p.more = story_main(&s, "running: {}", 1);
    story_pod_tell(&s, 5, &p, false);
    assert_false(history_failed(s.h, 0, &w));
    story_line(&s, &p, STR("end"));
    p.phase = "Failed";
    p.more = story_main(&s, "terminated: {exitCode: 4}", 1);
    story_pod_tell(&s, 7, &p, false);
    assert_true(history_failed(s.h, 0, &w));
    assert_true(str_is(w.tail, "second\nend\n"));
    assert_int_equal(w.exit_code, 4);
    story_done(&s);
}

static void test_samples(void **state)
{
    struct story s;
    struct story_pod p = { "j", "t", 0, 0, .node = "n", .phase = "Running" };
    const struct history_pod *seen;

    (void)state;
    story_begin(&s);
    story_pod_tell(&s, 0, &p, false);
    for (int i = 1; i <= 5000; i++)
        story_use(&s, i * 100, &p, i * 50, i == 3000 ? 900 : 10);
    seen = pod_of(&s, "p-j-t-0-0");
    assert_true(seen->samples.n <= HISTORY_SAMPLES && seen->samples.n >= HISTORY_SAMPLES / 4);
    assert_int_equal(pod_cpu_us(seen), 5000 * 50 * 1000);
    assert_int_equal(pod_peak_bytes(seen), INT64_C(904) << 20);
    for (size_t i = 1; i < seen->samples.n; i++)
        assert_true(seen->samples.v[i].at_ms > seen->samples.v[i - 1].at_ms);
    /* half a core all the time, however much was thinned */
    assert_true(pod_cpu_at(seen, STORY_BEGIN_MS + 250000) > 124.9e6);
    assert_true(pod_cpu_at(seen, STORY_BEGIN_MS + 250000) < 125.1e6);
    story_done(&s);
}

static void test_restarts_are_bounded(void **state)
{
    struct story s;
    struct story_pod p = { "j", "t", 0, 0, .node = "n", .phase = "Running", .restart_policy = "Always" };
    const struct history_container *c;

    (void)state;
    story_begin(&s);
    for (int i = 0; i < 500; i++) {
        p.more = story_main(&s, "running: {}", i);
        story_pod_tell(&s, i * 10, &p, false);
        p.is_ready = !p.is_ready;
    }
    c = pod_of(&s, "p-j-t-0-0")->containers.v[0];
    assert_int_equal(c->attempts.n, HISTORY_ATTEMPTS);
    assert_int_equal(c->attempts.v[0].number, 0);
    assert_int_equal(c->attempts.v[HISTORY_ATTEMPTS - 1].number, 499);
    assert_int_equal(c->restarts, 499);
    assert_true(pod_of(&s, "p-j-t-0-0")->ready.n <= HISTORY_READY);
    story_done(&s);
}

/* ---- words ---- */

static void test_lines(void **state)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        { "plain\n", "plain\n" },
        { "\x1b[1;31mred\x1b[0m", "red" },
        { "\x1b]0;title\atext", "text" },
        { "\x1b]0;title\x1b\\text", "text" },
        { "1%\r2%\r3%\nnext\r\nlast\r", "3%\nnext\nlast" },
        { "\x1b", "\x1b" },
        { "\x1b[", "" },
        { "\x1b[31", "" },
        { "\x1b]0;never ends", "" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf out = { 0 };

        plain_lines(&out, str_of(cases[i].in));
        if (!str_is(buf_view(&out), cases[i].want))
            fail_msg("case %zu: \"%.*s\"", i, STR_ARG(buf_view(&out)));
    }
}

/* ---- the real controllers ---- */

struct world {
    struct future *f;
    struct history *h;
    struct arena a;
};

static void on_changed(void *ctx, const struct object *o, bool is_gone, int64_t now_ms)
{
    history_changed(((struct world *)ctx)->h, o, is_gone, now_ms);
}

static struct json *tree_of(struct world *w, const char *text)
{
    struct yaml_docs docs = { 0 };
    struct err e;

    if (yaml_parse(&w->a, str_of(text), NULL, &docs, &e) < 0 || docs.n != 1)
        fail_msg("the test's own YAML: %s", e.text);
    return docs.v[0];
}

static void add(struct world *w, const char *text)
{
    struct err e;

    if (future_add(w->f, tree_of(w, text), &e) < 0)
        fail_msg("%s", e.text);
}

static void world_init(struct world *w)
{
    struct future_options opt = {
        .now_ms = STORY_BEGIN_MS, .start_ms = 70, .stop_ms = 30, .changed = on_changed, .ctx = w
    };

    *w = (struct world){ .h = history_new(&(struct history_options){ .begin_ms = STORY_BEGIN_MS }) };
    w->f = future_new(&opt);
    add(w, "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 64Gi, pods: 110},"
           " capacity: {cpu: 4, memory: 64Gi, pods: 110}, conditions: [{type: Ready, status: 'True'}]}}");
}

static void world_done(struct world *w)
{
    future_free(w->f);
    history_free(w->h);
    arena_done(&w->a);
}

#define REAL_JOB(name, time)                                                                                           \
    "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: " name ", namespace: default}, spec:"         \
    " {minAvailable: 3, queue: default, schedulerName: volcano, maxRetry: 3, tasks: [{name: boss, replicas: 1,"        \
    " maxRetry: 3, policies: [{event: TaskCompleted, action: CompleteJob}], template: {metadata: {annotations:"        \
    " {pumice.dev/runtime: " time "}}, spec: {restartPolicy: Never, containers: [{name: c, image: i, resources:"       \
    " {requests: {cpu: 1}}}]}}}, {name: hand, replicas: 2, maxRetry: 3, policies: [{event: PodFailed, action:"         \
    " RestartJob}], template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests:"    \
    " {cpu: 1}}}]}}}]}}"

static void check_sentence(const struct history *h, size_t i, const char *want)
{
    autobuf said = { 0 };

    if (i >= h->decisions.n)
        fail_msg("only %zu decisions, not: %s", h->decisions.n, want);
    decision_sentence(&said, &h->decisions.v[i]);
    if (!str_is(buf_view(&said), want))
        fail_msg("%.*s, not\n%s", STR_ARG(buf_view(&said)), want);
}

/* Two jobs, room for one: the second waits. A pod of the first fails by hand, and the real controller restarts it. */
static void test_real_controllers(void **state)
{
    const struct resource_type *pods = type_by_name(STR("pod"));
    struct world w;
    struct err e;
    autobuf verdict = { 0 };
    bool is_ok, is_over;
    const struct history_job *second;

    (void)state;
    world_init(&w);
    add(&w, REAL_JOB("one", "10s"));
    add(&w, REAL_JOB("two", "10s"));
    future_run(w.f, STORY_BEGIN_MS + 4000);
    if (store_apply(
            future_store(w.f),
            &(struct op){
                .kind = OP_PATCH_STATUS,
                .type = pods,
                .namespace = STR("default"),
                .name = STR("one-hand-1"),
                .body = tree_of(&w, "{status: {phase: Failed, containerStatuses: [{name: c, restartCount: 0, state:"
                                    " {terminated: {exitCode: 3, reason: Error}}}]}}") },
            NULL, &e) < 0)
        fail_msg("%s", e.text);
    future_run(w.f, STORY_BEGIN_MS + 60000);
    history_finish(w.h, future_now_ms(w.f));
    check_sentence(
        w.h, 0,
        "RestartJob because PodFailed: one-hand-1 exited with 3 (policy spec.tasks[1].policies[0]), retry 1 of 2");
    history_verdict(&verdict, w.h, &is_ok, &is_over);
    if (!is_ok)
        fail_msg("%.*s", STR_ARG(buf_view(&verdict)));
    for (size_t i = 1; i < w.h->decisions.n; i++)
        check_sentence(w.h, i,
                       "CompleteJob because TaskCompleted: task boss: all its pods have succeeded (policy"
                       " spec.tasks[0].policies[0])");
    assert_int_equal(w.h->decisions.n, 3);
    assert_int_equal(w.h->pods.n, 9);
    second = w.h->jobs.v[1];
    assert_true(second->waits.n > 0 && second->waits.v[0].until_ms > second->waits.v[0].from_ms);
    assert_int_equal(w.h->jobs.v[0]->queued.n, 2);
    for (size_t i = 0; i < w.h->pods.n; i++) {
        const struct history_pod *p = w.h->pods.v[i];

        assert_int_equal(p->started_ms - p->scheduled_ms, 70);
        assert_true(p->end != END_OPEN && p->ended_ms > p->started_ms);
    }
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_failed_or_not),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_tail_of_attempts),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_restarts_are_bounded),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_real_controllers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
