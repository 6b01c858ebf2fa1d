/* run_loop.c - whole runs on a node that only pretends: how they end, and what is said of them
 *
 * The node here starts what is bound to it at once and ends it as annotations of the pod say:
 *     test/ms: how long it runs (none: for ever), test/exit: its exit code, test/stop: ms from its deletion to its end,
 *     test/says: what it writes, test/broken: the reason why its container cannot be made
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "program/run/run.h"
#include "driver/cache.h"
#include "cluster/cluster.h"
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>

/* ---- the node ---- */

struct fake_pod {
    struct object *object;
    bool is_started, is_ended, is_killed, is_gone;
    int64_t due_ms, stop_ms;
};

struct fake {
    struct run *run;
    struct store *store;
    struct cluster *eyes;
    struct arena arena;
    VEC(struct fake_pod *) pods;
    bool was_killed;
    int signals; /* to send to ourselves once something runs; the second when the first was heard */
};

static int64_t number(const struct fake_pod *p, const char *key, int64_t fallback)
{
    int64_t n;

    return str_to_i64(object_annotation(p->object->root, key), &n) < 0 ? fallback : n;
}

static struct fake_pod *pod_of(struct fake *f, const struct object *o)
{
    struct fake_pod *p;

    VEC_FOREACH(at, &f->pods)
        if (str_eq((*at)->object->uid, o->uid)) {
            object_unref((*at)->object);
            (*at)->object = object_ref(o);
            return *at;
        }
    p = arena_new(&f->arena, struct fake_pod);
    p->object = object_ref(o);
    *vec_push(&f->arena, &f->pods) = p;
    return p;
}

static void set_status(struct fake *f, struct fake_pod *p, const char *phase, const char *state)
{
    autoarena a = { 0 };
    struct json *patch;
    struct err e = { 0 };
    struct str text = arena_fmt(
        &a, "{\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"c\",\"state\":%s}]}}", phase, state);

    if (json_parse(&a, text, NULL, &patch, &e) < 0 || store_apply(f->store,
                                                                  &(struct op){ .kind = OP_PATCH_STATUS,
                                                                                .type = known_types()->pod,
                                                                                .namespace = p->object->namespace,
                                                                                .name = p->object->name,
                                                                                .uid = p->object->uid,
                                                                                .body = patch },
                                                                  NULL, &e) < 0)
        fail_msg("status of a pod: %s", e.text);
}

static void say(struct fake *f, struct fake_pod *p)
{
    struct str rest = object_annotation(p->object->root, "test/says"), text;
    const struct object *o = p->object;

    while (rest.n && str_split(&rest, '\n', &text)) {
        struct agent_output line = { o->namespace, o->name, o->uid, STR("c"), o->root, CONLOG_STDOUT, false, 0, text };

        history_output(f->run->history, line.uid, line.container, line.text, line.is_partial);
        run_logs_line(&f->run->logs, &line);
    }
}

static void start(struct fake *f, struct fake_pod *p, int64_t now_ms)
{
    autoarena a = { 0 };
    struct str broken = object_annotation(p->object->root, "test/broken");
    int64_t ms = number(p, "test/ms", -1);

    p->is_started = true;
    p->due_ms = ms < 0 || broken.n ? INT64_MAX : now_ms + ms;
    if (broken.n) {
        set_status(f, p, "Pending",
                   arena_cstr(&a, arena_fmt(&a, "{\"waiting\":{\"reason\":\"%.*s\",\"message\":\"it is not there\"}}",
                                            STR_ARG(broken))));
        return;
    }
    set_status(f, p, "Running", "{\"running\":{}}");
    say(f, p);
    if (f->signals > 0) {
        f->signals--;
        kill(getpid(), SIGINT);
    }
}

static void end(struct fake *f, struct fake_pod *p, int64_t code)
{
    autoarena a = { 0 };

    p->is_ended = true;
    set_status(f, p, code ? "Failed" : "Succeeded",
               arena_cstr(&a, arena_fmt(&a, "{\"terminated\":{\"exitCode\":%lld,\"reason\":\"%s\"}}", (long long)code,
                                        code ? "Error" : "Completed")));
}

static void bury(struct fake *f, struct fake_pod *p)
{
    struct store_delete_options opt = { .uid = p->object->uid, .grace_s = 0 };

    p->is_gone = true;
    (void)store_delete(f->store, &(struct object_key){ known_types()->pod, p->object->namespace, p->object->name },
                       &opt, NULL, NULL);
}

/* True: something was done. */
static bool live(struct fake *f, struct fake_pod *p, int64_t now_ms)
{
    bool is_deleting = json_find(p->object->root, "metadata", "deletionTimestamp", NULL) != NULL;

    if (p->is_gone || str_empty(json_member_text(json_get(p->object->root, "spec"), "nodeName")))
        return false;
    if (is_deleting && !p->stop_ms) {
        p->stop_ms = now_ms + number(p, "test/stop", 0);
        if (f->signals > 0) {
            f->signals--;
            kill(getpid(), SIGINT);
        }
    }
    if (is_deleting && (p->is_ended || now_ms >= p->stop_ms || p->is_killed)) {
        if (!p->is_ended && p->is_started)
            end(f, p, 143);
        bury(f, p);
    } else if (!p->is_started && !is_deleting) {
        start(f, p, now_ms);
    } else if (!p->is_ended && (now_ms >= p->due_ms || p->is_killed) && p->is_started) {
        end(f, p, p->is_killed ? 137 : number(p, "test/exit", 0));
    } else {
        return false;
    }
    return true;
}

static int64_t fake_turn(void *ctx, bool *ret_busy)
{
    struct fake *f = ctx;
    struct cluster_event ev;
    int64_t due_ms = INT64_MAX, now_ms = clock_now_ms(&clock_real);

    *ret_busy = false;
    while (cluster_next(f->eyes, &ev)) {
        *ret_busy = true;
        if (ev.kind == CLUSTER_PUT)
            pod_of(f, ev.object);
        else if (ev.kind == CLUSTER_GONE)
            pod_of(f, ev.object)->is_gone = true;
    }
    VEC_FOREACH(p, &f->pods) {
        *ret_busy |= live(f, *p, now_ms);
        if ((*p)->is_started && !(*p)->is_ended && !(*p)->is_gone)
            due_ms = MIN_OF(due_ms, (*p)->stop_ms ? (*p)->stop_ms : (*p)->due_ms);
    }
    return due_ms;
}

static size_t fake_pods(void *ctx)
{
    struct fake *f = ctx;
    size_t n = 0;

    VEC_FOREACH(p, &f->pods)
        n += (*p)->is_started && !(*p)->is_ended && !(*p)->is_gone;
    return n;
}

static void fake_kill(void *ctx)
{
    struct fake *f = ctx;

    f->was_killed = true;
    VEC_FOREACH(p, &f->pods)
        (*p)->is_killed = true;
}

/* ---- a run ---- */

struct outcome {
    int status;
    bool was_killed;
    int64_t took_ms;
    char reason[500];
    struct buf out, lines, summary; /* standard output, plain lines of progress, the closing words */
    size_t n_pods;
};

static void outcome_done(struct outcome *o)
{
    buf_done(&o->out);
    buf_done(&o->lines);
    buf_done(&o->summary);
}

static void slurp(int fd, struct buf *out)
{
    char text[4096];
    ssize_t n;

    (void)lseek(fd, 0, SEEK_SET);
    while ((n = read(fd, text, sizeof(text))) > 0)
        buf_append(out, text, (size_t)n);
    buf_append(out, "", 0);
}

static int scratch_file(void)
{
    return open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static const char *manifest(const char *text, char *path)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static void add_node(struct store *s, struct arena *a, const char *cpu)
{
    struct err e = { 0 };
    struct json *node;
    struct str text = arena_fmt(
        a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"here\"},\"status\":{"
        "\"capacity\":{\"cpu\":\"%s\",\"pods\":\"100\"},\"allocatable\":{\"cpu\":\"%s\",\"pods\":\"100\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        cpu, cpu);

    if (json_parse(a, text, NULL, &node, &e) < 0 || store_create(s, node, NULL, &e) < 0)
        fail_msg("%s", e.text);
}

static int open_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void on_say(void *ctx, struct str sentence)
{
    run_say(ctx, sentence);
}

static void go(const char *text, struct run_options o, const char *cpu, int signals, struct outcome *ret)
{
    autoarena a = { 0 };
    autoload l = { .arena = &a };
    struct text_list files = { 0 };
    char path[] = "/tmp/run-loop-XXXXXX";
    int out_fd = scratch_file(), err_fd = scratch_file(), real_err = dup(STDERR_FILENO);
    struct run r = { .arena = &a,
                     .o = &o,
                     .clock = &clock_real,
                     .signal_fd = open_signals(),
                     .log_fd = -1,
                     .stuck_after_ms = 1200,
                     .timeout_ms = INT64_MAX,
                     .max_restarts = INT64_MAX,
                     .is_json = o.output != NULL };
    struct fake f = { .run = &r, .signals = signals };
    struct run_listener tell = { &r, on_say };
    struct err e = { 0 };

    *ret = (struct outcome){ 0 };
    *vec_push(&a, &files.list) = manifest(text, path);
    load_read(&l, &files);
    load_admit(&l);
    unlink(path);
    assert_int_equal(load_report(&l), 0);

    r.store = f.store = store_new(&(struct store_options){ .clock = &clock_real, .seed = 7 });
    if (run_logs_init(&r.logs, &o, &l, &e) < 0)
        fail_msg("%s", e.text);
    run_out_init(&r.out, out_fd);
    r.events.out = r.logs.out = &r.out;
    r.logs.events = r.is_json ? &r.events : NULL;
    run_begin(&r, clock_now_ms(&clock_real), load_count_jobs(&l), false);
    r.logs.history = r.history;
    run_progress_init(&r.progress, r.history, &r.out, r.is_json ? RUN_PROGRESS_NONE : RUN_PROGRESS_ALL, r.begin_ms);
    r.progress.is_live = false;
    r.progress.is_plain = !r.is_json;
    r.progress.has_colour = false;
    f.eyes = cluster_embedded_new(r.store, &clock_real);
    cluster_want(f.eyes, known_types()->pod);
    r.node = (struct run_node){ &f, -1, fake_turn, fake_pods, fake_kill };
    add_node(r.store, &a, cpu);
    assert_true(dup2(err_fd, STDERR_FILENO) >= 0);
    if (run_create(&r.sink, &l, &tell, &e) < 0)
        fail_msg("%s", e.text);
    if (o.timeout)
        r.timeout_ms = r.begin_ms + 300;
    run_loop(&r);
    history_finish(r.history, r.end.end_ms);
    run_logs_end(&r.logs);
    if (r.is_json)
        run_event_end(&r.events, r.history, &r.end);
    assert_true(run_out_flush(&r.out));
    assert_true(dup2(real_err, STDERR_FILENO) >= 0);
    run_summary(&ret->summary, r.history, &r.end, &(struct run_summary_options){ 0 });
    ret->status = r.end.status;
    ret->was_killed = f.was_killed;
    ret->took_ms = r.end.end_ms - r.end.begin_ms;
    ret->n_pods = r.history->pods.n;
    (void)snprintf(ret->reason, sizeof(ret->reason), "%.*s", STR_ARG(r.end.reason));
    slurp(out_fd, &ret->out);
    slurp(err_fd, &ret->lines);
    VEC_FOREACH(p, &f.pods)
        object_unref((*p)->object);
    arena_done(&f.arena);
    cluster_free(f.eyes);
    run_progress_done(&r.progress);
    run_logs_done(&r.logs);
    run_finish(&r);
    store_free(r.store);

    run_out_done(&r.out);
    close(out_fd), close(err_fd), close(real_err), close(r.signal_fd);
}

/* ---- cases ---- */

#define TASK(name, n, cpu, notes)                                                                                      \
    "{name: " name ", replicas: " n ", template: {metadata: {annotations: {" notes "}}, spec: {restartPolicy: Never, " \
    "containers: [{name: c, image: i, resources: {requests: {cpu: '" cpu "'}}}]}}}"
#define JOB(name, rest, tasks)                                                                                         \
    "---\n{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: " name "}, spec: {" rest                 \
    "tasks: [" tasks "]}}\n"
#define POD(name, notes)                                                                                               \
    "---\n{apiVersion: v1, kind: Pod, metadata: {name: " name ", annotations: {" notes                                 \
    "}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}\n"
#define FAST "test/ms: '10'"

static const struct {
    const char *name, *text, *cpu;
    struct run_options o;
    int signals;
    int status;
    const char *reason, *line, *summary, *out; /* parts of them; NULL: whatever */
    bool is_killed;
    int64_t least_ms, most_ms;
} cases[] = {
    { "it completes", JOB("a", "", TASK("t", "2", "1", FAST)), "4", .status = 0, .line = "pumice: job a Running",
      .summary = "job a Completed" },
    { "one fails", JOB("a", "", TASK("t", "2", "1", FAST) "," TASK("u", "1", "1", "test/ms: '40', test/exit: '7'")),
      "4", .status = 7, .line = "pumice: u-0 failed: exit code 7", .summary = "job a Failed" },
    { "killed by a signal", JOB("a", "", TASK("t", "1", "1", "test/ms: '10', test/exit: '139'")), "4", .status = 139,
      .summary = "exit code 139 (SIGSEGV)" },
    { "last words", JOB("a", "", TASK("t", "1", "1", "test/ms: '10', test/exit: '3', test/says: \"one\\nthe end\"")),
      "4", .status = 3, .summary = "    the end\n", .out = "t-0 | one\nt-0 | the end\n" },
    { "it tries again",
      JOB("a", "maxRetry: 2, policies: [{event: PodFailed, action: RestartJob}], ",
          TASK("t", "1", "1", "test/ms: '10', test/exit: '9'")),
      "4", .status = 9, .line = "RestartJob, retry 1 of 1", .summary = "1 retry: no retry is left (maxRetry 2)" },
    { "a policy completes it; the others are stopped",
      JOB("a", "policies: [{event: TaskCompleted, action: CompleteJob}], ",
          TASK("boss", "1", "1", FAST) "," TASK("w", "2", "1", "test/stop: '20'")),
      "4", .status = 0, .summary = "stopped" },
    { "two jobs share a node, one waits",
      JOB("a", "", TASK("t", "1", "1", "test/ms: '1500'")) JOB("b", "", TASK("t", "1", "1", "test/ms: '1500'")), "1",
      .status = 0, .line = "waits: ", .summary = "job b Completed", .least_ms = 1500 },
    { "the first job that failed says how",
      JOB("a", "", TASK("t", "1", "1", "test/ms: '200', test/exit: '4'"))
          JOB("b", "", TASK("t", "1", "1", "test/ms: '10', test/exit: '5'")),
      "4", .status = 5 },
    { "it never fits", JOB("a", "", TASK("t", "2", "3", FAST)), "4", .status = 1, .reason = "cannot start",
      .line = "job a waits: ", .summary = "cpu", .least_ms = 1200, .most_ms = 3000 },
    { "a queue that is not there", JOB("a", "queue: nowhere, ", TASK("t", "1", "1", FAST)), "4", .status = 1,
      .reason = "nowhere", .least_ms = 1200 },
    { "a container that cannot be made", JOB("a", "", TASK("t", "1", "1", "test/broken: CreateContainerConfigError")),
      "4", .status = 1, .reason = "CreateContainerConfigError: it is not there", .line = "CreateContainerConfigError" },
    { "it takes too long",
      JOB("a", "", TASK("t", "2", "1", "test/stop: '20'")),
      "4",
      { .timeout = "300ms" },
      .status = 124,
      .reason = "timed out after 300ms",
      .summary = "job a Stopped",
      .least_ms = 300,
      .most_ms = 3000 },
    { "Ctrl-C", JOB("a", "", TASK("t", "2", "1", "test/stop: '20'")), "4", .signals = 1, .status = 130,
      .reason = "stopped by SIGINT", .line = "stopping; a second SIGINT stops at once", .summary = "stopped",
      .most_ms = 3000 },
    { "Ctrl-C twice", JOB("a", "", TASK("t", "1", "1", "test/stop: '60000'")), "4", .signals = 2, .status = 130,
      .line = "stopping at once", .is_killed = true, .most_ms = 3000 },
    { "gone as soon as it is over", JOB("a", "ttlSecondsAfterFinished: 0, ", TASK("t", "1", "1", FAST)), "4",
      .status = 0, .summary = "job a Completed" },
    { "only a pod", POD("p", FAST), "4", .status = 0, .summary = "succeeded" },
    { "only a pod, which fails", POD("p", "test/ms: '10', test/exit: '6'"), "4", .status = 6 },
    { "a pod beside a job goes with it", POD("p", "test/stop: '20'") JOB("a", "", TASK("t", "1", "1", FAST)), "4",
      .status = 0, .most_ms = 3000 },
    { "nodes of others are left out",
      "---\n{apiVersion: v1, kind: Node, metadata: {name: n}}\n" JOB("a", "", TASK("t", "1", "1", FAST)), "4",
      .status = 0, .line = "Node n is left out" },
    { "another scheduler", JOB("a", "schedulerName: default-scheduler, ", TASK("t", "1", "1", FAST)), "4",
      .status = 0 },
    { "many pods are told in numbers", JOB("a", "", TASK("t", "40", "0", "test/ms: '1200'")), "4", .status = 0,
      .line = "pumice: t: ", .summary = "  t  40 succeeded" },
    { "logs of what failed",
      JOB("a", "",
          TASK("t", "1", "1", "test/ms: '10', test/says: fine") "," TASK(
              "u", "1", "1", "test/ms: '30', test/exit: '2', test/says: bad")),
      "4",
      { .logs = "failed" },
      .status = 2,
      .out = "u-0 | bad\n" },
    { "logs of a task",
      JOB("a", "",
          TASK("t", "1", "1", "test/ms: '10', test/says: one") "," TASK("u", "1", "1",
                                                                        "test/ms: '30', test/says: two")),
      "4",
      { .logs = "u" },
      .status = 0,
      .out = "u-0 | two\n" },
    { "no logs",
      JOB("a", "", TASK("t", "1", "1", "test/ms: '10', test/says: one")),
      "4",
      { .logs = "none" },
      .status = 0,
      .out = "" },
};

static bool has(const struct buf *text, const char *part)
{
    return !part || strstr(text->p ? text->p : "", part) != NULL;
}

static void ends(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct outcome o;

        go(cases[i].text, cases[i].o, cases[i].cpu, cases[i].signals, &o);
        if (o.status != cases[i].status || o.was_killed != cases[i].is_killed ||
            (cases[i].reason && !strstr(o.reason, cases[i].reason)) || !has(&o.lines, cases[i].line) ||
            !has(&o.summary, cases[i].summary) || (cases[i].out && strcmp(o.out.p, cases[i].out) != 0) ||
            o.took_ms < cases[i].least_ms || (cases[i].most_ms && o.took_ms > cases[i].most_ms))
            fail_msg("%s: status %d, reason '%s', %lld ms%s\n-- out\n%s-- lines\n%s-- summary\n%s", cases[i].name,
                     o.status, o.reason, (long long)o.took_ms, o.was_killed ? ", killed" : "", o.out.p, o.lines.p,
                     o.summary.p ? o.summary.p : "");
        outcome_done(&o);
    }
}

/* Every line is an object, of the kinds the guide names; the end says it all. */
static void events(void **state)
{
    static const char text[] = JOB("a", "maxRetry: 2, policies: [{event: PodFailed, action: RestartJob}], ",
                                   TASK("t", "1", "1", "test/ms: '10', test/exit: '9', test/says: \"x\\ty\""));
    static const char *const wanted[] = { "job", "pod", "log", "decision", "end" };
    autoarena a = { 0 };
    struct outcome o;
    struct str rest, line;
    unsigned seen[ARRAY_LEN(wanted)] = { 0 };
    struct json *last = NULL;
    struct err e;

    go(text, (struct run_options){ .output = "json" }, "4", 0, &o);
    assert_int_equal(o.status, 9);
    assert_int_equal(o.lines.n, 0);
    rest = buf_view(&o.out);
    while (str_split(&rest, '\n', &line)) {
        if (!line.n)
            continue;
        if (json_parse(&a, line, NULL, &last, &e) < 0)
            fail_msg("%s: %.*s", e.text, STR_ARG(line));
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
            seen[i] += str_is(json_member_text(last, "type"), wanted[i]);
        assert_true(clock_parse(json_member_text(last, "time"), &(int64_t){ 0 }, NULL) == 0);
        if (str_is(json_member_text(last, "type"), "log"))
            assert_true(str_is(json_member_text(last, "text"), "x\ty"));
    }
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        if (!seen[i])
            fail_msg("no event of type %s:\n%s", wanted[i], o.out.p);
    assert_int_equal(seen[4], 1);
    assert_int_equal(json_i64(json_get(last, "status"), -1), 9);
    assert_int_equal(json_i64(json_get(json_at(json_get(last, "jobs"), 0), "retries"), -1), 1);
    assert_int_equal(json_i64(json_get(json_at(json_get(last, "failed"), 0), "exitCode"), -1), 9);
    outcome_done(&o);
}

/* With --wait it waits; only the time-out ends it. */
static void waits(void **state)
{
    struct outcome o;

    go(JOB("a", "", TASK("t", "1", "9", FAST)), (struct run_options){ .wait = true, .timeout = "300ms" }, "4", 0, &o);
    assert_int_equal(o.status, 124);
    outcome_done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ends), cmocka_unit_test(events), cmocka_unit_test(waits) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
