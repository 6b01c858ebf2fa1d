/* run_show.c - what a run shows: log lines and files, the block on a terminal, output to slow and closed readers */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/meta.h"
#include "base/util.h"
#include "program/run/logs.h"
#include "program/run/options.h"
#include "program/run/out.h"
#include "program/run/progress.h"
#include "base/term.h"
#include "driver/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

/* ---- objects ---- */

static void put(struct history *h, const char *text, bool is_gone, int64_t now_ms)
{
    autoarena a = { 0 };
    struct json *root;
    struct object *o;
    struct err e;

    if (json_parse(&a, str_of(text), NULL, &root, &e) < 0)
        fail_msg("%s: %s", e.text, text);
    o = object_make(type_by_kind(object_api_version(root), object_kind(root)), root, 1);
    history_changed(h, o, is_gone, now_ms);
    object_unref(o);
}

static void put_job(struct history *h, const char *name, const char *phase, const char *more, int64_t now_ms)
{
    autobuf text = { 0 };

    buf_fmt(&text,
            "{\"apiVersion\":\"batch.volcano.sh/"
            "v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
            "\"uid\":\"u-%s\"},\"spec\":{\"tasks\":[{\"name\":\"boss\",\"replicas\":1},{\"name\":\"worker\","
            "\"replicas\":3}]},"
            "\"status\":{\"state\":{\"phase\":\"%s\"%s}}}",
            name, name, phase, more);
    put(h, text.p, false, now_ms);
}

static void put_pod(struct history *h, const char *job, const char *task, int index, const char *generation,
                    const char *meta, const char *status, bool is_gone, int64_t now_ms)
{
    autobuf text = { 0 };

    buf_fmt(&text,
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%s-%d\",\"namespace\":\"ns\",\"uid\":"
            "\"%s-%s-%d%s\","
            "\"annotations\":{\"volcano.sh/task-spec\":\"%s\",\"volcano.sh/"
            "task-index\":\"%d\"},\"ownerReferences\":[{\"kind\":\"Job\","
            "\"name\":\"%s\",\"uid\":\"u-%s\",\"controller\":true}]%s},\"spec\":{\"nodeName\":\"n\"},\"status\":%s}",
            job, task, index, job, task, index, generation, task, index, job, job, meta, status);
    put(h, text.p, is_gone, now_ms);
}

#define FAILED(code, reason)                                                                                           \
    "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"terminated\":{\"exitCode\":" #code      \
    ",\"reason\":\"" reason "\"}}}]}"

static const struct {
    const char *meta, *status; /* then: the pod is gone, or not */
    bool is_gone;
    enum history_state state;
    const char *result;
} lives[] = {
    { "", "{\"phase\":\"Pending\"}", false, HISTORY_STARTING, "" },
    { "", "{\"phase\":\"Running\"}", false, HISTORY_RUNNING, "" },
    { "", "{\"phase\":\"Succeeded\"}", false, HISTORY_SUCCEEDED, "" },
    { "", FAILED(3, "Error"), false, HISTORY_FAILED, "exit code 3" },
    { "", FAILED(137, "OOMKilled"), false, HISTORY_FAILED, "OOMKilled" },
    { "", FAILED(139, "Error"), false, HISTORY_FAILED, "exit code 139 (SIGSEGV)" },
    { "", "{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"no room\"}", false, HISTORY_FAILED,
      "Evicted: no room" },
    { "", "{\"phase\":\"Running\"}", true, HISTORY_STOPPED, "" },
    { ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", FAILED(143, "Error"), false, HISTORY_STOPPED, "" },
    { ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", "{\"phase\":\"Running\"}", false, HISTORY_RUNNING, "" },
    { "", "{\"phase\":5}", false, HISTORY_STARTING, "" },
};

static void pods(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
        struct history *h;
        const struct history_pod *p;

        h = history_new(&(struct history_options){ .n_jobs = 1 });
        put_job(h, "a", "Running", "", 1000);
        put_pod(h, "a", "worker", 2, "", lives[i].meta, lives[i].status, false, 2000);
        if (lives[i].is_gone)
            put_pod(h, "a", "worker", 2, "", lives[i].meta, lives[i].status, true, 2000);
        p = history_pod(h, STR("a-worker-2"));
        assert_non_null(p);
        if (p->state != lives[i].state || !str_is(p->failure.words, lives[i].result) || !str_is(p->label, "worker-2") ||
            h->jobs.v[0]->tasks.v[1]->n[p->state] != 1)
            fail_msg("case %zu: %s, result '%.*s', label '%.*s'", i, history_state_names[p->state],
                     STR_ARG(p->failure.words), STR_ARG(p->label));
        history_free(h);
    }
}

/* Ended pods stay ended; a new pod of the name takes the place of the old one in the count. */
static void again(void **state)
{
    struct history *h;
    const struct history_task *t;

    h = history_new(&(struct history_options){ .n_jobs = 1 });
    put_job(h, "a", "Running", "", 1000);
    put_pod(h, "a", "worker", 0, "", "", FAILED(3, "Error"), false, 2000);
    put_pod(h, "a", "worker", 0, "", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", FAILED(3, "Error"), true, 2100);
    t = h->jobs.v[0]->tasks.v[1];
    assert_int_equal(t->n[HISTORY_FAILED], 1);
    put_pod(h, "a", "worker", 0, "b", "", "{\"phase\":\"Running\"}", false, 2200);
    assert_int_equal(t->n[HISTORY_FAILED], 0);
    assert_int_equal(t->n[HISTORY_RUNNING], 1);
    put_pod(h, "a", "worker", 0, "", "", FAILED(3, "Error"), false, 2300); /* told again */
    assert_int_equal(t->n[HISTORY_FAILED], 0);
    put_job(h, "a", "Failed", "", 3000);
    assert_true(history_is_over(h));
    assert_int_equal(history_status(h, false), 3);
    history_free(h);
}

/* A pod whose container is always started again never fails, and yet it is why its job did. */
static void never_failed(void **state)
{
    struct history *h = history_new(&(struct history_options){ .n_jobs = 1 });

    put_job(h, "a", "Running", "", 1000);
    put_pod(h, "a", "worker", 0, "", "",
            "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":0,\"state\":{\"running\":{}"
            "}}]}",
            false, 1500);
    put_pod(
        h, "a", "worker", 0, "", "",
        "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":1,\"state\":{\"running\":{}},"
        "\"lastState\":{\"terminated\":{\"exitCode\":3,\"reason\":\"Error\"}}}]}",
        false, 2000);
    put_job(h, "a", "Failed", "", 3000);
    assert_int_equal(history_status(h, false), 3);
    history_free(h);
}

/* ---- the block ---- */

static size_t widest(const char *text)
{
    size_t most = 0, n = 0;

    for (const char *p = text; *p; p++) {
        if (*p == '\033')
            while (*p && *p != 'm')
                p++;
        else if (*p == '\n')
            n = 0;
        else
            n += ((unsigned char)*p & 0xc0) != 0x80;
        most = MAX_OF(most, n);
    }
    return most;
}

static void block(void **state)
{
    struct history *h;
    struct run_progress p = { 0 };
    autobuf out = { 0 };

    p.history = h = history_new(&(struct history_options){ .n_jobs = 2 });
    put_job(h, "a", "Running", "", 1000);
    put_job(h, "b", "Pending", "", 1000);
    put_pod(h, "a", "boss", 0, "", "", "{\"phase\":\"Succeeded\"}", false, 2000);
    put_pod(h, "a", "worker", 0, "", "", "{\"phase\":\"Running\"}", false, 2000);
    put_pod(h, "a", "worker", 1, "", "", FAILED(1, "Error"), false, 2000);
    h->jobs.v[1]->why_text = STR(
        "4 places are needed together, 3 are there; a long story follows that no small screen shows");
    h->jobs.v[1]->why_ms = 1000;
    assert_int_equal(run_progress_block(&p, &out, 200, 50, 62000), 7);
    assert_string_equal(
        out.p, "a Running 1m1s\n  boss    1 succeeded\n  worker  1 failed, 1 running\n"
               "b Pending 1m1s\n  boss    1 to come\n  worker  3 to come\n"
               "  waits: 4 places are needed together, 3 are there; a long story follows that no small screen shows\n");
    for (size_t columns = 20; columns < 60; columns += 7)
        for (size_t rows = 1; rows < 9; rows++) {
            p.has_colour = rows % 2;
            buf_reset(&out);
            assert_true(run_progress_block(&p, &out, columns, rows, 62000) <= rows);
            if (widest(out.p) > columns)
                fail_msg("%zu columns, %zu rows: too wide:\n%s", columns, rows, out.p);
        }
    history_free(h);
}

/* With all of its few pods there, a job has a row for each. */
static void rows(void **state)
{
    struct history *h = history_new(&(struct history_options){ .n_jobs = 1 });
    struct run_progress p = { .history = h, .until_ms = 122000 };
    autobuf out = { 0 };

    put_job(h, "a", "Running", "", 1000);
    put_pod(h, "a", "boss", 0, "", "", "{\"phase\":\"Succeeded\"}", false, 2000);
    for (int i = 0; i < 3; i++)
        put_pod(h, "a", "worker", i, "", "", "{\"phase\":\"Running\"}", false, 2000);
    h->pods.v[1]->may = (struct history_share){ 2000, 256 << 20 };
    history_usage(h, STR("a-worker-0"),
                  (struct history_sample){ .at_ms = 60000, .cpu_us = 1000000, .memory_bytes = 100 << 20 }, 100 << 20);
    history_usage(h, STR("a-worker-0"),
                  (struct history_sample){ .at_ms = 61000, .cpu_us = 2500000, .memory_bytes = 128 << 20 }, 128 << 20);
    history_usage(h, STR("a-worker-1"),
                  (struct history_sample){ .at_ms = 61000, .cpu_us = 1000000, .memory_bytes = 1 << 20 }, 1 << 20);
    assert_int_equal(run_progress_block(&p, &out, 200, 50, 62000), 5);
    assert_string_equal(out.p, "a Running 1m1s, times out in 1m\n"
                               "  boss-0    succeeded\n"
                               "  worker-0  running    cpu 1.5 of 2.0  memory 128Mi of 256Mi\n"
                               "  worker-1  running    memory 1.0Mi\n"
                               "  worker-2  running\n");
    history_free(h);
}

/* ---- logs ---- */

struct bench {
    struct history *h;
    struct run_out out;
    struct run_logs g;
    struct run_options o;
    char dir[32];
};

static void bench_init(struct bench *b, const char *mode, bool has_dir)
{
    static const struct load none;
    struct err e = { 0 };

    *b = (struct bench){ .dir = "/tmp/run-show-XXXXXX" };
    b->o.logs = mode;
    if (has_dir)
        b->o.log_dir = mkdtemp(b->dir);
    b->h = history_new(&(struct history_options){ .n_jobs = 1 });
    put_job(b->h, "a", "Running", "", 1000);
    if (run_logs_init(&b->g, &b->o, &none, &e) < 0 || run_logs_open(&b->g, &e) < 0)
        fail_msg("%s", e.text);
    b->out.fd = -1;
    b->g.out = &b->out;
    b->g.history = b->h;
}

static void bench_done(struct bench *b)
{
    DIR *d = b->o.log_dir ? opendir(b->dir) : NULL;

    for (struct dirent *at; d && (at = readdir(d));)
        (void)unlinkat(dirfd(d), at->d_name, 0);
    if (d)
        closedir(d);
    if (b->o.log_dir)
        rmdir(b->dir);
    run_logs_done(&b->g);
    run_out_done(&b->out);
    history_free(b->h);
}

static void say(struct bench *b, const char *pod, const char *generation, struct str text, bool is_partial)
{
    autobuf uid = { 0 };
    struct agent_output line = { STR("ns"), str_of(pod), STR_NULL, STR("c"), NULL, CONLOG_STDOUT, is_partial, 0, text };

    buf_fmt(&uid, "%s%s", pod, generation);
    line.uid = buf_view(&uid);
    run_logs_line(&b->g, &line);
}

static void lines(void **state)
{
    struct bench b;

    bench_init(&b, NULL, false);
    put_pod(b.h, "a", "worker", 0, "", "", "{\"phase\":\"Running\"}", false, 2000);
    put_pod(b.h, "a", "boss", 0, "", "", "{\"phase\":\"Running\"}", false, 2000);
    say(&b, "a-worker-0", "", STR("hel"), true);
    say(&b, "a-boss-0", "", STR("between"), false);
    say(&b, "a-worker-0", "", STR("lo"), false);
    say(&b, "a-worker-0", "", STR("\033[2J\xff raw"), false);
    b.g.is_terminal = true;
    say(&b, "a-worker-0", "", STR("a\tb\033[2J\xff\r"), false);
    say(&b, "a-worker-0", "", STR("no end"), true);
    run_logs_end(&b.g);
    assert_string_equal(b.out.queue.p, "boss-0   | between\nworker-0 | hello\nworker-0 | \033[2J\xff raw\n"
                                       "worker-0 | a\tb\\x1b[2J\\xff\nworker-0 | no end\n");
    bench_done(&b);
}

/* A container is named where the pod does not say which it is; an init container does not push the others to the right. */
static void prefixes(void **state)
{
    static const struct {
        const char *pod, *container, *root;
    } rows[] = {
#define WITH_INIT "{\"spec\":{\"containers\":[{\"name\":\"c\"}],\"initContainers\":[{\"name\":\"fetch\"}]}}"
#define WITH_TWO  "{\"spec\":{\"containers\":[{\"name\":\"c\"},{\"name\":\"side\"}]}}"
        { "a-worker-0", "fetch", WITH_INIT }, { "a-worker-0", "c", WITH_INIT },     { "a-boss-0", "c", WITH_TWO },
        { "a-boss-0", "side", WITH_TWO },     { "a-worker-0", "fetch", WITH_INIT },
    };
    struct bench b;

    bench_init(&b, NULL, false);
    put_pod(b.h, "a", "worker", 0, "", "", "{\"phase\":\"Running\"}", false, 2000);
    put_pod(b.h, "a", "boss", 0, "", "", "{\"phase\":\"Running\"}", false, 2000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoarena a = { 0 };
        struct agent_output line = { .pod = str_of(rows[i].pod), .uid = str_of(rows[i].pod), .text = STR("hi") };
        struct json *root;

        assert_int_equal(json_parse(&a, str_of(rows[i].root), NULL, &root, NULL), 0);
        line.root = root;
        line.container = str_of(rows[i].container);
        run_logs_line(&b.g, &line);
    }
    assert_string_equal(b.out.queue.p,
                        "worker-0/fetch | hi\nworker-0 | hi\nboss-0/c | hi\nboss-0/side | hi\nworker-0/fetch | hi\n");
    bench_done(&b);
}

static void read_back(struct bench *b, const char *name, struct buf *out)
{
    autofree char *path = NULL;
    autofile FILE *f = NULL;
    char text[100];

    buf_reset(out);
    buf_append(out, "", 0);
    assert_true(asprintf(&path, "%s/%s", b->dir, name) > 0);
    f = fopen(path, "re");
    for (size_t n; f && (n = fread(text, 1, sizeof(text), f)) > 0;)
        buf_append(out, text, n);
    if (!f)
        buf_str(out, STR("(none)"));
}

static void files(void **state)
{
    struct bench b;
    autobuf text = { 0 };

    bench_init(&b, "none", true);
    put_pod(b.h, "a", "worker", 0, "", "", "{\"phase\":\"Running\"}", false, 2000);
    say(&b, "a-worker-0", "", STR("\xff\033 raw"), false);
    say(&b, "a-worker-0", "", STR("par"), true);
    run_logs_flush(&b.g);
    say(&b, "a-worker-0", "", STR("tial"), false);
    say(&b, "a-worker-0", "b", STR("second life"), false);
    run_logs_end(&b.g);
    read_back(&b, "a-worker-0.c.log", &text);
    assert_string_equal(text.p, "\xff\033 raw\npartial\n");
    read_back(&b, "a-worker-0.c.2.log", &text);
    assert_string_equal(text.p, "second life\n");
    assert_int_equal(b.out.queue.n, 0);
    bench_done(&b);
}

/* What fails is shown when it fails, with what still comes after it; of what does not fail nothing is. */
static void failed_only(void **state)
{
    struct bench b;
    autobuf big = { 0 };

    bench_init(&b, "failed", false);
    put_pod(b.h, "a", "worker", 0, "", "", "{\"phase\":\"Running\"}", false, 2000);
    put_pod(b.h, "a", "worker", 1, "", "", "{\"phase\":\"Running\"}", false, 2000);
    buf_repeat(&big, 'x', 9999);
    for (int i = 0; i < 100; i++)
        say(&b, "a-worker-0", "", buf_view(&big), false);
    say(&b, "a-worker-0", "", STR("bad"), true);
    say(&b, "a-worker-1", "", STR("fine"), false);
    assert_int_equal(b.out.queue.n, 0);
    put_pod(b.h, "a", "worker", 0, "", "", FAILED(1, "Error"), false, 3000);
    put_pod(b.h, "a", "worker", 1, "", "", "{\"phase\":\"Succeeded\"}", false, 3000);
    run_logs_pod(&b.g, history_pod(b.h, STR("a-worker-0")));
    run_logs_pod(&b.g, history_pod(b.h, STR("a-worker-1")));
    say(&b, "a-worker-0", "", STR("late"), false);
    say(&b, "a-worker-1", "", STR("late"), false);
    run_logs_end(&b.g);
    assert_true(b.out.queue.n > 200000 && b.out.queue.n < 600000);
    assert_non_null(strstr(b.out.queue.p, "worker-0 | ("));
    assert_non_null(strstr(b.out.queue.p, "bytes before this were dropped"));
    assert_true(str_ends(buf_view(&b.out.queue), STR("x\nworker-0 | bad\nworker-0 | late\n")));
    assert_null(strstr(b.out.queue.p, "worker-1"));
    bench_done(&b);
}

/* ---- output ---- */

static void slow_reader(void **state)
{
    struct run_out o;
    char text[8192];
    int fds[2];
    size_t got = 0, want = 1 << 20;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    run_out_init(&o, fds[1]);
    buf_repeat(&o.queue, 'x', want);
    assert_false(run_out_flush(&o)); /* returns although nobody reads */
    assert_true(run_out_left(&o) > 0);
    while (got < want) {
        ssize_t n = read(fds[0], text, sizeof(text));

        assert_true(n > 0);
        got += (size_t)n;
        (void)run_out_flush(&o);
    }
    assert_true(run_out_flush(&o));
    close(fds[0]);
    buf_repeat(&o.queue, 'x', 10);
    assert_true(run_out_flush(&o)); /* nobody will ever read: that is no trouble */
    assert_true(o.is_gone);
    assert_int_equal(o.failed_errno, 0);
    close(fds[1]);
    run_out_done(&o);
}

static void full_disk(void **state)
{
    struct run_out o;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    run_out_init(&o, fd);
    buf_repeat(&o.queue, 'x', 10);
    assert_true(run_out_flush(&o));
    assert_int_equal(o.failed_errno, ENOSPC);
    close(fd);
    run_out_done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods),        cmocka_unit_test(again),     cmocka_unit_test(never_failed),
        cmocka_unit_test(block),       cmocka_unit_test(rows),      cmocka_unit_test(lines),
        cmocka_unit_test(prefixes),    cmocka_unit_test(files),     cmocka_unit_test(failed_only),
        cmocka_unit_test(slow_reader), cmocka_unit_test(full_disk),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
