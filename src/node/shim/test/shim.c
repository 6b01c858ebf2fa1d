/* shim.c - tests: real spawners and shims, with a stand-in for boxes; needs root */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/log.h"
#include "node/shim/test/shim_stand.h"

#include <sys/un.h>

/* ---- containers: how they end ---- */

static void test_ends(void **state)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        { "true", 0 },
        { "exit 7", 7 << 8 },
        { "kill -TERM $$", SIGTERM },
        { "kill -KILL $$", SIGKILL },
        { "kill -SEGV $$", SIGSEGV },
        { "exec /no/such/program", 127 << 8 },
        { "(sleep 100 &) ; (setsid sleep 100 &) ; exit 3", 3 << 8 }, /* what is left is killed, and not waited for */
    };
    struct shim *s = stand_pod("ends");

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct shim_event ev;

        stand_start(s, "main", cases[i].text, (int)i);
        ev = stand_expect(s, SHIM_STARTED, cases[i].text);
        assert_true(str_is(ev.container, "main") && ev.pid > 1 && ev.attempt == (int)i);
        ev = stand_expect(s, SHIM_ENDED, cases[i].text);
        assert_true(str_is(ev.container, "main") && ev.attempt == (int)i && !ev.is_oom && ev.by_itself);
        if ((ev.status & ~0x80) != cases[i].status) /* 0x80: a core was written */
            fail_msg("%s: status %x", cases[i].text, (unsigned)ev.status);
        assert_false(stand_has_group("ends/main"));
    }
    assert_int_equal(stand_has_group("ends"), strcmp(cgroups_kind(groups), "none") != 0);
    stand_gone(s);
    assert_false(stand_has_group("ends"));
}

static void test_failures(void **state)
{
    static const struct {
        const char *text, *reason, *says;
    } cases[] = {
        { "!fail", "StartError", "the stand-in was told to" },
        { "!die", "StartError", "exited with status 3 before its program started" },
    };
    struct shim *s = stand_pod("failures");
    struct shim_event ev;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        stand_start(s, "main", cases[i].text, 0);
        ev = stand_expect(s, SHIM_FAILED, cases[i].text);
        assert_int_equal(ev.report.status, 128);
        assert_string_equal(ev.report.reason, cases[i].reason);
        assert_string_equal(ev.report.text, cases[i].says);
    }
    stand_start(s, "main", "!hang", 0); /* killed while it is made */
    assert_int_equal(shim_signal(s, STR("main"), SIGKILL, NULL), 0);
    ev = stand_expect(s, SHIM_FAILED, "hang");
    assert_string_equal(ev.report.text, "killed by signal 9 before its program started");
    stand_start(s, "main", "sleep 100", 0);
    (void)stand_expect(s, SHIM_STARTED, "sleep");
    stand_start(s, "main", "true", 1);
    ev = stand_expect(s, SHIM_FAILED, "twice");
    assert_string_equal(ev.report.text, "container is already running");
    stand_start(s, "../x", "true", 0);
    ev = stand_expect(s, SHIM_FAILED, "bad name");
    assert_string_equal(ev.report.text, "invalid container name");
    stand_start(s, "mad", "!garbage", 0); /* reports in the wrong order and of the wrong size */
    (void)stand_expect(s, SHIM_STARTED, "garbage");
    assert_int_equal(stand_expect(s, SHIM_ENDED, "garbage").status, 5 << 8);
    stand_gone(s);
}

static void test_signals(void **state)
{
    struct shim *s = stand_pod("signals");
    struct shim_event ev;

    stand_start(s, "slow", "!slow", 0);
    assert_int_equal(shim_signal(s, STR("slow"), SIGTERM, NULL), 0); /* before it runs: not lost */
    (void)stand_expect(s, SHIM_STARTED, "slow");
    assert_int_equal(stand_expect(s, SHIM_ENDED, "slow").status, SIGTERM);

    stand_start(s, "deaf", "trap '' TERM; echo ready; sleep 100 & wait; sleep 100", 0);
    stand_speaks(s, "deaf");
    assert_int_equal(shim_signal(s, STR("deaf"), SIGTERM, NULL), 0);
    assert_false(stand_wait(s, &ev, 100));
    assert_int_equal(shim_signal(s, STR("deaf"), SIGKILL, NULL), 0);
    ev = stand_expect(s, SHIM_ENDED, "deaf");
    assert_true(ev.status == SIGKILL && !ev.by_itself);
    assert_int_equal(shim_signal(s, STR("deaf"), SIGTERM, NULL), 0); /* gone: nothing happens */
    assert_int_equal(shim_signal(s, STR("deaf"), 4711, NULL), 0);
    stand_gone(s);
}

static void test_several(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    struct shim *s = stand_pod("several");
    int started = 0, ended = 0;

    for (int attempt = 0; attempt < 3; attempt++) {
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            stand_start(s, names[i], "echo this is $$; exit 4", attempt);
        for (started = ended = 0; ended < (int)ARRAY_LEN(names);) {
            struct shim_event ev;

            assert_true(stand_wait(s, &ev, 10000));
            started += ev.kind == SHIM_STARTED;
            ended += ev.kind == SHIM_ENDED && ev.status == 4 << 8 && ev.attempt == attempt;
        }
        assert_int_equal(started, ARRAY_LEN(names));
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (int attempt = 0; attempt < 3; attempt++) {
            autobuf lines = { 0 };

            stand_lines(&lines, names[i], attempt);
            if (!str_starts(buf_view(&lines), STR("1:this is ")))
                fail_msg("%s attempt %d: %s", names[i], attempt, lines.p);
        }
    stand_gone(s);
}

/* ---- logs ---- */

static void test_logs(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "echo one; echo two", "1:one 1:two " },
        { "echo one; sleep 0.05; echo two >&2; sleep 0.05; echo three", "1:one 2:two 1:three " },
        { "printf hello", "1:hello " },
        { "printf 'a\\001b\\377\\n'", "1:a\001b\377 " },
        { "exec >&- 2>&-; true", "" },
        { "true", "" },
    };
    struct shim *s = stand_pod("logs");

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf lines = { 0 };

        stand_start(s, "main", cases[i].text, (int)i);
        (void)stand_expect(s, SHIM_STARTED, cases[i].text);
        (void)stand_expect(s, SHIM_ENDED, cases[i].text);
        stand_lines(&lines, "main", (int)i);
        if (!str_is(buf_view(&lines), cases[i].want))
            fail_msg("%s: %s", cases[i].text, lines.p);
    }
    stand_gone(s);
}

/* News come at most every SHIM_LOG_MS, and the last before the end. */
static void test_log_news(void **state)
{
    struct shim *s = stand_pod("news");
    struct shim_event ev = { 0 };
    int64_t began = clock_mono_ms(&clock_real);
    int news = 0;
    bool was_news = false;

    stand_start(s, "main", "i=0; while [ $i -lt 200 ]; do echo $i; i=$((i+1)); sleep 0.001; done; echo end", 0);
    for (;;) {
        was_news = ev.kind == SHIM_LOG;
        assert_true(stand_wait(s, &ev, 20000));
        news += ev.kind == SHIM_LOG;
        if (ev.kind == SHIM_ENDED)
            break;
    }
    assert_true(was_news);
    assert_in_range(news, 2, (clock_mono_ms(&clock_real) - began) / SHIM_LOG_MS + 2);
    stand_gone(s);
}

static int64_t peak_kib(pid_t pid)
{
    char path[64], text[4096], *at;
    long long kib = -1;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, "VmHWM:");
    return at && sscanf(at + 6, "%lld", &kib) == 1 ? kib : -1;
}

/* 100 MB as fast as it goes: nothing is lost but what turning over drops, others are served meanwhile, and memory
 * stays. */
static void test_flood(void **state)
{
    struct shim *s = stand_pod("flood");
    const struct str echo[] = { STR("echo"), STR("hi") };
    struct shim_event ev;
    bool has_result = false, has_ended = false;
    int64_t sent, before, peak = 0;
    pid_t shim;

    stand_start(s, "quiet", "sleep 1000", 0);
    shim = stand_parent_of(stand_expect(s, SHIM_STARTED, "quiet").pid);
    before = peak_kib(shim);
    stand_start(s, "loud", "!flood", 0);
    (void)stand_expect(s, SHIM_STARTED, "loud");
    sent = clock_mono_ms(&clock_real);
    assert_int_equal(shim_exec(s, 5, &(struct shim_command){ STR("quiet"), echo, 2 }, 10000, NULL), 0);
    while (!has_ended || !has_result) {
        assert_true(stand_wait(s, &ev, 60000));
        if (ev.kind == SHIM_RESULT) {
            has_result = true;
            assert_true(ev.is_ok && str_is(ev.text, "hi\n"));
            assert_in_range(clock_mono_ms(&clock_real) - sent, 0, 3000);
        }
        if (ev.kind == SHIM_LOG)
            peak = MAX_OF(peak, peak_kib(shim));
        if (ev.kind == SHIM_ENDED)
            assert_int_equal(ev.status, 0);
        has_ended |= ev.kind == SHIM_ENDED;
    }
    assert_true(before > 0 && peak > 0);
    if (peak - before > 8 << 10)
        fail_msg("the shim grew from %lld to %lld KiB", (long long)before, (long long)peak);
    struct conlog_reader *r = stand_log("loud", 0);
    struct conlog_line line;
    size_t n = 0;
    while (conlog_next(r, &line)) {
        assert_int_equal(line.text.n, 99);
        n++;
    }
    conlog_reader_free(r);
    assert_in_range(n, 4 * (10 << 20) / 140, 5 * (10 << 20) / 140);
    stand_gone(s);
}

/* Two that write as fast as they can, and a reader that stops: they wait for it, and nothing is lost. */
static void test_slow_reader(void **state)
{
    enum { AHEAD = 1 << 20, FILE_BYTES = 512 << 10, LINES = 300000 };
    static const char *const names[] = { "one", "two" };
    struct shim_options opt = stand_options("slow-reader");
    struct conlog_reader *readers[2];
    int next[2] = { 0 }, ended = 0;
    struct shim_event ev;
    int64_t told[2] = { 0 };
    char text[96];
    struct shim *s;

    opt.log_bytes = FILE_BYTES;
    opt.log_ahead = AHEAD;
    s = stand_pod_with(&opt);
    (void)snprintf(text, sizeof(text), "exec seq 0 %d", LINES - 1);
    for (int i = 0; i < 2; i++) {
        stand_start(s, names[i], text, 0);
        readers[i] = stand_log(names[i], 0);
    }
    while (stand_wait(s, &ev, 300)) { /* nobody reads: they stop */
        if (ev.kind == SHIM_LOG)
            told[str_is(ev.container, "two")] = ev.log_bytes;
        assert_int_not_equal(ev.kind, SHIM_ENDED);
    }
    for (int i = 0; i < 2; i++)
        assert_in_range(told[i], AHEAD / 2, AHEAD + (128 << 10));
    for (int i = 0; i < 2; i++)
        assert_int_equal(shim_log_read(s, str_of(names[i]), 1, INT64_MAX, NULL), 0); /* another attempt's: nothing */
    assert_false(stand_wait(s, &ev, 100));
    for (bool is_first = true; ended < 2; is_first = false) {
        struct conlog_line line;

        if (is_first)
            ev = (struct shim_event){ .kind = SHIM_LOG, .container = STR("one"), .log_bytes = told[0] };
        else
            assert_true(stand_wait(s, &ev, 20000));
        for (int i = 0; i < 2; i++) {
            while (conlog_next(readers[i], &line)) {
                (void)snprintf(text, sizeof(text), "%d", next[i]++);
                if (!str_is(line.text, text))
                    fail_msg("%s: \"%.*s\", not %s", names[i], STR_ARG(line.text), text);
            }
            if (is_first)
                assert_int_equal(shim_log_read(s, str_of(names[i]), 0, told[i], NULL), 0);
        }
        if (ev.kind == SHIM_LOG)
            assert_int_equal(shim_log_read(s, ev.container, ev.attempt, ev.log_bytes, NULL), 0);
        ended += ev.kind == SHIM_ENDED;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next[i], LINES);
        conlog_reader_free(readers[i]);
    }
    stand_gone(s);
}

/* An empty line takes forty times its size in the log: not one may be turned over unread. */
static void test_newlines(void **state)
{
    enum { AHEAD = 4 << 20, FILE_BYTES = 2 << 20, LINES = 200000 }; /* the last pipe full may go beyond */
    struct shim_options opt = stand_options("newlines");
    struct conlog_reader *r;
    struct conlog_line line;
    struct shim_event ev = { 0 };
    struct shim *s;
    int n = 0;

    opt.log_bytes = FILE_BYTES;
    opt.log_ahead = AHEAD;
    s = stand_pod_with(&opt);
    stand_start(s, "main", "head -c 200000 /dev/zero | tr '\\0' '\\n'", 0);
    r = stand_log("main", 0);
    while (ev.kind != SHIM_ENDED) {
        assert_true(stand_wait(s, &ev, 20000));
        if (ev.kind != SHIM_LOG && ev.kind != SHIM_ENDED)
            continue;
        while (conlog_next(r, &line))
            n++;
        assert_int_equal(shim_log_read(s, ev.container, ev.attempt, ev.log_bytes, NULL), 0);
    }
    assert_int_equal(n, LINES);
    conlog_reader_free(r);
    stand_gone(s);
}

static void test_full_disk(void **state)
{
    struct shim_options opt = stand_options("full");
    char dir[96];
    struct shim *s;
    struct shim_event ev;

    (void)snprintf(dir, sizeof(dir), "%s/small", run_dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(mount("none", dir, "tmpfs", 0, "size=64k"), 0);
    opt.log_dir = dir;
    s = stand_pod_with(&opt);
    stand_start(s, "main",
                "i=0; while [ $i -lt 3000 ]; do echo a line of some length that fills the disk $i; i=$((i+1)); done;"
                "echo last words; exit 9",
                0);
    (void)stand_expect(s, SHIM_STARTED, "full");
    ev = stand_expect(s, SHIM_ENDED, "full");
    assert_int_equal(ev.status, 9 << 8);
    assert_true(str_ends(ev.text, STR("last words\n")));
    stand_start(s, "other", "true", 0); /* not even its directory can be made, perhaps: it runs or says why */
    assert_true(stand_wait(s, &ev, 10000));
    assert_true(ev.kind == SHIM_STARTED || (ev.kind == SHIM_FAILED && strstr(ev.report.text, "No space")));
    if (ev.kind == SHIM_STARTED)
        (void)stand_expect(s, SHIM_ENDED, "other");
    stand_gone(s);
    assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

static void test_terminal(void **state)
{
    struct shim *s = stand_pod("terminal");
    autoarena a = { 0 };
    struct box_spec spec = { .name = STR("main"), .has_tty = true, .uid = -1, .gid = -1 };
    autobuf lines = { 0 };

    *vec_push(&a, &spec.argv) = STR("sh");
    *vec_push(&a, &spec.argv) = STR("-c");
    *vec_push(&a, &spec.argv) = STR("test -t 0 && test -t 1 && test -t 2 && echo terminal");
    assert_int_equal(shim_start(s, &spec, NULL, 0, NULL), 0);
    (void)stand_expect(s, SHIM_STARTED, "terminal");
    assert_int_equal(stand_expect(s, SHIM_ENDED, "terminal").status, 0);
    stand_lines(&lines, "main", 0);
    assert_string_equal(lines.p, "1:terminal\r ");
    stand_gone(s);
}

/* ---- commands and probes ---- */

static void test_exec(void **state)
{
    static const struct {
        const char *text;
        int exit_code;
        const char *want;
        bool timed_out;
    } cases[] = {
        { "echo out; echo err >&2", 0, "out\nerr\n", false },
        { "exit 3", 3, "", false },
        { "kill -KILL $$", 137, "", false },
        { "echo before; sleep 100", 137, "before\n", true },
        { "(sleep 100 &); echo quick", 0, "quick\n", false },
    };
    struct shim *s = stand_pod("exec");
    struct shim_event ev;
    struct str argv[3] = { STR("sh"), STR("-c") };

    assert_int_equal(shim_exec(s, 1, &(struct shim_command){ STR("main"), argv, 1 }, 1000, NULL), 0);
    ev = stand_expect(s, SHIM_RESULT, "not there");
    assert_true(ev.id == 1 && !ev.is_ok && str_is(ev.text, "the container is not running"));
    stand_start(s, "main", "sleep 1000", 0);
    (void)stand_expect(s, SHIM_STARTED, "sleep");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t began = clock_mono_ms(&clock_real);

        argv[2] = str_of(cases[i].text);
        assert_int_equal(shim_exec(s, 100 + i, &(struct shim_command){ STR("main"), argv, 3 },
                                   cases[i].timed_out ? 300 : 20000, NULL),
                         0);
        ev = stand_expect(s, SHIM_RESULT, cases[i].text);
        if (ev.id != 100 + i || ev.exit_code != cases[i].exit_code || !str_is(ev.text, cases[i].want) ||
            ev.timed_out != cases[i].timed_out || ev.is_ok != (cases[i].exit_code == 0))
            fail_msg("%s: %d \"%.*s\" %d", cases[i].text, ev.exit_code, STR_ARG(ev.text), ev.timed_out);
        assert_in_range(clock_mono_ms(&clock_real) - began, 0, 5000);
    }
    argv[2] = STR("head -c 1000000 /dev/zero");
    assert_int_equal(shim_exec(s, 6, &(struct shim_command){ STR("main"), argv, 3 }, 20000, NULL), 0);
    ev = stand_expect(s, SHIM_RESULT, "much");
    assert_true(ev.is_ok && ev.text.n == SHIM_OUTPUT_MAX);
    argv[0] = STR("!deaf"); /* a keeper that does not listen */
    assert_int_equal(shim_exec(s, 7, &(struct shim_command){ STR("main"), argv, 1 }, 50, NULL), 0);
    ev = stand_expect(s, SHIM_RESULT, "deaf");
    assert_true(ev.timed_out && !ev.is_ok);
    assert_int_equal(shim_exec(s, 8, &(struct shim_command){ STR("main"), argv, 0 }, 50, NULL), 0);
    assert_true(str_is(stand_expect(s, SHIM_RESULT, "nothing").text, "malformed command"));
    stand_gone(s);
}

/* Many at a time: each is answered, some with a refusal; and the end of the container ends them. */
static void test_many_execs(void **state)
{
    const struct str argv[] = { STR("sleep"), STR("1000") };
    struct shim *s = stand_pod("many");
    int results = 0, refused = 0;
    struct shim_event ev;

    stand_start(s, "main", "sleep 1000", 0);
    (void)stand_expect(s, SHIM_STARTED, "sleep");
    for (uint64_t i = 0; i < SHIM_JOBS_MAX + 10; i++)
        assert_int_equal(shim_exec(s, i, &(struct shim_command){ STR("main"), argv, 2 }, 100000, NULL), 0);
    assert_int_equal(shim_signal(s, STR("main"), SIGKILL, NULL), 0);
    for (int ended = 0; ended < 1 || results < SHIM_JOBS_MAX + 10;) {
        assert_true(stand_wait(s, &ev, 20000));
        ended += ev.kind == SHIM_ENDED;
        results += ev.kind == SHIM_RESULT && !ev.is_ok;
        refused += ev.kind == SHIM_RESULT && str_has(ev.text, STR("too many"));
    }
    assert_int_equal(refused, 10);
    stand_gone(s);
}

static void read_to_end(int fd, struct buf *out)
{
    char bytes[4096];

    for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) > 0;)
        buf_append(out, bytes, (size_t)n);
}

/* Commands on descriptors of somebody who waits: all goes through them, and nothing has a time limit but his patience.
 */
static void test_exec_on(void **state)
{
    struct str argv[] = { STR("sh"), STR("-c"), STR("cat; echo oops >&2; exit 5") };
    struct shim *s = stand_pod("on");
    autobuf out = { 0 };
    int in[2], both[2];
    struct shim_event ev;

    assert_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(both, O_CLOEXEC) == 0);
    assert_int_equal(
        shim_exec_on(s, 1, &(struct shim_command){ STR("main"), argv, 3 }, (int[]){ in[0], both[1], both[1] }, NULL),
        0);
    assert_true(str_is(stand_expect(s, SHIM_RESULT, "not there").text, "the container is not running"));
    stand_start(s, "main", "sleep 1000", 0);
    (void)stand_expect(s, SHIM_STARTED, "sleep");
    assert_int_equal(
        shim_exec_on(s, 2, &(struct shim_command){ STR("main"), argv, 3 }, (int[]){ in[0], both[1], both[1] }, NULL),
        0);
    assert_int_equal(write(in[1], "hello\n", 6), 6);
    close(in[0]);
    close(in[1]);
    close(both[1]);
    read_to_end(both[0], &out);
    assert_string_equal(out.p, "hello\noops\n");
    ev = stand_expect(s, SHIM_RESULT, "on");
    assert_true(ev.id == 2 && ev.exit_code == 5 && ev.text.n == 0 && !ev.timed_out);
    argv[2] = STR("sleep 1000");
    assert_int_equal(
        shim_exec_on(s, 3, &(struct shim_command){ STR("main"), argv, 3 }, (int[]){ both[0], both[0], both[0] }, NULL),
        0);
    assert_int_equal(shim_cancel(s, 4, NULL), 0); /* nobody */
    assert_int_equal(shim_cancel(s, 3, NULL), 0);
    ev = stand_expect(s, SHIM_RESULT, "cancelled");
    assert_true(ev.id == 3 && !ev.is_ok);
    for (uint64_t i = 0; i <= SHIM_SESSIONS_MAX; i++)
        assert_int_equal(shim_exec_on(s, 10 + i, &(struct shim_command){ STR("main"), argv, 3 },
                                      (int[]){ both[0], both[0], both[0] }, NULL),
                         0);
    ev = stand_expect(s, SHIM_RESULT, "too many");
    assert_true(ev.id == 10 + SHIM_SESSIONS_MAX && str_has(ev.text, STR("too many")));
    close(both[0]);
    stand_gone(s);
}

/* ---- those who attach ---- */

static void start_with_input(struct shim *s, const char *name, bool is_once)
{
    struct box_spec spec = { .name = str_of(name), .uid = -1, .gid = -1, .has_stdin = true, .is_stdin_once = is_once };
    autoarena a = { 0 };

    *vec_push(&a, &spec.argv) = STR("cat");
    assert_int_equal(shim_start(s, &spec, NULL, 0, NULL), 0);
    (void)stand_expect(s, SHIM_STARTED, name);
}

static int recv_input(int sock)
{
    char byte, room[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { &byte, 1 };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
    int fd = -1;

    assert_int_equal(recvmsg(sock, &m, MSG_CMSG_CLOEXEC), 1);
    assert_non_null(CMSG_FIRSTHDR(&m));
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
    return fd;
}

static void test_attach(void **state)
{
    int sock[2], out[2], err[2], in;
    struct shim *s = stand_pod("attach");
    struct shim_event ev;
    char text[16];

    stand_start(s, "deaf", "sleep 1000", 0);
    (void)stand_expect(s, SHIM_STARTED, "deaf");
    start_with_input(s, "hears", false);
    start_with_input(s, "once", true);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    const int fds[] = { sock[1], out[1], err[1] };

    assert_int_equal(shim_attach(s, 1, &(struct shim_attachment){ STR("none"), fds, false }, NULL), 0);
    assert_true(str_is(stand_expect(s, SHIM_RESULT, "none").text, "the container is not running"));
    assert_int_equal(shim_attach(s, 2, &(struct shim_attachment){ STR("deaf"), fds, true }, NULL), 0);
    assert_true(str_has(stand_expect(s, SHIM_RESULT, "deaf").text, STR("set stdin: true")));

    assert_int_equal(shim_attach(s, 3, &(struct shim_attachment){ STR("hears"), fds, true }, NULL), 0);
    in = recv_input(sock[0]);
    assert_int_equal(write(in, "ab", 2), 2); /* half a line is seen at once */
    assert_int_equal(read(out[0], text, sizeof(text)), 2);
    close(in);
    assert_int_equal(shim_cancel(s, 3, NULL), 0);
    assert_true(stand_expect(s, SHIM_RESULT, "leaves").is_ok);
    assert_int_equal(shim_attach(s, 4, &(struct shim_attachment){ STR("hears"), fds, true }, NULL),
                     0); /* it went on, and so does its input */
    in = recv_input(sock[0]);
    assert_int_equal(read(out[0], text, sizeof(text)), 2); /* the half line again */
    assert_int_equal(write(in, "c\n", 2), 2);
    assert_int_equal(read(out[0], text, sizeof(text)), 2);
    close(in);
    assert_int_equal(shim_signal(s, STR("hears"), SIGKILL, NULL), 0);
    while (stand_wait(s, &ev, 20000) && ev.kind != SHIM_RESULT) /* it ends with the container */
        ;
    assert_true(ev.kind == SHIM_RESULT && ev.id == 4);
    (void)stand_expect(s, SHIM_ENDED, "hears");

    assert_int_equal(shim_attach(s, 5, &(struct shim_attachment){ STR("once"), fds, true }, NULL), 0);
    in = recv_input(sock[0]);
    assert_int_equal(shim_attach(s, 6, &(struct shim_attachment){ STR("once"), fds, true }, NULL), 0);
    assert_true(str_has(stand_expect(s, SHIM_RESULT, "twice").text, STR("stdinOnce is true")));
    close(in); /* its input has ended, and so does it */
    assert_int_equal(stand_expect(s, SHIM_RESULT, "once").id, 5);
    assert_int_equal(stand_expect(s, SHIM_ENDED, "once").status, 0);
    for (int i = 0; i < 2; i++)
        (void)(close(sock[i]) + close(out[i]) + close(err[i]));
    stand_gone(s);
}

static void test_forward(void **state)
{
    static const char ask[] = "GET / HTTP/1.0\r\n\r\n";
    struct shim *s = stand_pod("forward");
    autobuf out = { 0 };
    struct shim_event ev;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(shim_forward(s, 1, 9, pair[1], NULL), 0);
    ev = stand_expect(s, SHIM_RESULT, "nobody");
    assert_true(ev.id == 1 && !ev.is_ok && str_is(ev.text, "connect to port 9 of the pod: Connection refused"));
    stand_start(s, "main", "!listen", 0);
    stand_speaks(s, "listen");
    assert_int_equal(shim_forward(s, 2, 8080, pair[1], NULL), 0);
    close(pair[1]);
    assert_int_equal(write(pair[0], ask, sizeof(ask) - 1), sizeof(ask) - 1);
    read_to_end(pair[0], &out); /* to its end: that the port has closed comes through */
    assert_true(str_starts(buf_view(&out), STR("HTTP/1.")));
    close(pair[0]);
    ev = stand_expect(s, SHIM_RESULT, "forward");
    assert_true(ev.id == 2 && ev.text.n == 0);
    stand_gone(s);
}

static void test_probe(void **state)
{
    struct shim_options opt = stand_options("probe");
    struct probe_target t = { .kind = PROBE_HTTP, .host = STR("127.0.0.1"), .port = 8080 };
    struct shim_event ev;
    struct shim *s;

    s = stand_pod_with(&opt);
    assert_int_equal(shim_probe(s, 1, &t, 2000, NULL), 0); /* "lo" is up: refused, not unreachable */
    ev = stand_expect(s, SHIM_RESULT, "nobody");
    assert_true(ev.id == 1 && !ev.is_ok && str_ends(ev.text, STR("connect: connection refused")));
    stand_start(s, "main", "!listen", 0);
    stand_speaks(s, "listen");
    for (t.kind = 0; t.kind <= PROBE_TCP; t.kind++) {
        assert_int_equal(shim_probe(s, 2, &t, 2000, NULL), 0);
        ev = stand_expect(s, SHIM_RESULT, "probe");
        if (ev.is_ok != (t.kind != PROBE_HTTPS) || str_starts(ev.text, STR("the probe ended")))
            fail_msg("kind %d: %.*s", t.kind, STR_ARG(ev.text));
    }
    stand_gone(s);
}

/* ---- what a pod has ---- */

static void test_big_message(void **state)
{
    struct shim *s = stand_pod("big");
    autoarena a = { 0 };
    struct box_spec spec = { .name = STR("main"), .uid = -1, .gid = -1 };
    autobuf text = { 0 }, lines = { 0 };
    int before = stand_count_fds();

    buf_repeat(&text, 'x', 50000);
    *vec_push(&a, &spec.argv) = STR("!tell");
    for (int i = 0; i < 100; i++)
        *vec_push(&a, &spec.env) = buf_view(&text);
    for (int i = 0; i < 30; i++) {
        int fd = memfd_create("m", MFD_CLOEXEC);

        (void)dprintf(fd, "%d", i);
        *vec_push(&a, &spec.mounts) = (struct box_mount){ fd, STR("/x") };
    }
    assert_int_equal(shim_start(s, &spec, NULL, 0, NULL), 0);
    VEC_FOREACH(m, &spec.mounts)
        close(m->fd);
    assert_int_equal(stand_count_fds(), before);
    (void)stand_expect(s, SHIM_STARTED, "big");
    assert_int_equal(stand_expect(s, SHIM_ENDED, "big").status, 0);
    stand_lines(&lines, "main", 0);
    assert_true(str_has(buf_view(&lines), STR("pid 2 host pod-host env 5000000 mounts 30 ")));
    assert_true(str_ends(buf_view(&lines), STR("1:mount 28 1:mount 29 ")));
    stand_gone(s);
}

static void test_shared_processes(void **state)
{
    struct shim_options opt = stand_options("shared");
    struct shim_event ev;
    autobuf lines = { 0 };
    struct shim *s;
    pid_t pid;

    opt.shares_pids = true;
    s = stand_pod_with(&opt);
    stand_start(s, "a", "exec sleep 1000", 0);
    pid = stand_expect(s, SHIM_STARTED, "a").pid;
    stand_start(s, "b", "!tell", 0);
    (void)stand_expect(s, SHIM_STARTED, "b");
    assert_int_equal(stand_expect(s, SHIM_ENDED, "b").status, 0);
    stand_lines(&lines, "b", 0);
    if (!str_starts(buf_view(&lines), STR("1:pid 3 "))) /* pause, the programs of a and b */
        fail_msg("b says %s", lines.p);
    stand_start(s, "c", "kill -0 1 && kill -TERM 2", 0); /* sees and ends the program of a */
    (void)stand_expect(s, SHIM_STARTED, "c");
    for (int ended = 0; ended < 2;) {
        assert_true(stand_wait(s, &ev, 10000));
        if (ev.kind == SHIM_ENDED && str_is(ev.container, "a"))
            assert_int_equal(ev.status, SIGTERM);
        ended += ev.kind == SHIM_ENDED;
    }
    assert_false(stand_is_alive(pid));
    /* Killing a container takes what it left, and no other. */
    stand_start(s, "a", "sleep 1000", 1);
    (void)stand_expect(s, SHIM_STARTED, "a");
    stand_start(s, "b", "(setsid sleep 1000 &); sleep 1000", 1);
    (void)stand_expect(s, SHIM_STARTED, "b");
    assert_int_equal(shim_signal(s, STR("b"), SIGKILL, NULL), 0);
    ev = stand_expect(s, SHIM_ENDED, "b");
    assert_true(str_is(ev.container, "b"));
    assert_false(stand_wait(s, &ev, 50));
    stand_gone(s);
}

static void test_network(void **state)
{
    struct shim_options opt = stand_options("network");
    struct shim_event ev;
    struct stat own, got;
    struct shim *s;

    for (int is_host = 0; is_host < 2; is_host++) {
        opt.has_host_network = is_host;
        assert_int_equal(shim_new(spawner, &opt, &s, NULL), 0);
        ev = stand_expect(s, SHIM_READY, "network");
        assert_int_equal(stat("/proc/self/ns/net", &own), 0);
        assert_int_equal(fstat(ev.net_fd, &got), 0);
        assert_int_equal(own.st_ino == got.st_ino, is_host);
        close(ev.net_fd);
        assert_int_equal(ev.nl_fd < 0, is_host);
        if (!is_host)
            close(ev.nl_fd);
        stand_gone(s);
    }
}

static void test_sysctls(void **state)
{
    static const struct {
        const char *name, *value;
        bool is_ok, has_host_network, has_host_ipc;
        const char *file; /* where a container sees it */
    } cases[] = {
        { "net.ipv4.ip_forward", "1", true, false, false, "/proc/sys/net/ipv4/ip_forward" },
        { "net/ipv4/ip_default_ttl", "77", true, false, false, "/proc/sys/net/ipv4/ip_default_ttl" },
        { "kernel.shmmni", "123", true, false, false, "/proc/sys/kernel/shmmni" },
        { "kernel.msgmax", "9000", true, false, false, "/proc/sys/kernel/msgmax" },
        { "fs.mqueue.msg_max", "20", true, false, false, "/proc/sys/fs/mqueue/msg_max" },
        { "kernel.hostname", "x", false, false, false, NULL },
        { "kernel.semx", "x", false, false, false, NULL },
        { "kernel.panic", "0", false, false, false, NULL },
        { "vm.swappiness", "60", false, false, false, NULL },
        { "net..ipv4", "1", false, false, false, NULL },
        { "net/../kernel/panic", "1", false, false, false, NULL },
        { "../x", "1", false, false, false, NULL },
        { "", "1", false, false, false, NULL },
        { "net.ipv4.ip_forward", "0", false, true, false, NULL },
        { "kernel.shmmni", "4096", false, false, true, NULL },
        { "net.no.such.thing", "1", false, false, false, NULL },
        { "net.ipv4.ip_forward", "many", false, false, false, NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct shim_options opt = stand_options("sysctl");
        autoarena a = { 0 };
        char text[200];
        struct shim *s;

        *vec_push(&a, &opt.sysctls) = (struct shim_sysctl){ str_of(cases[i].name), str_of(cases[i].value) };
        opt.has_host_network = cases[i].has_host_network;
        opt.has_host_ipc = cases[i].has_host_ipc;
        if (!cases[i].is_ok) {
            assert_int_equal(shim_new(spawner, &opt, &s, NULL), 0);
            assert_true(str_has(stand_expect(s, SHIM_GONE, cases[i].name).text, STR("sysctl")));
            shim_free(s);
            assert_false(stand_has_group("sysctl"));
            continue;
        }
        s = stand_pod_with(&opt);
        (void)snprintf(text, sizeof(text), "test $(cat %s) = %s", cases[i].file, cases[i].value);
        stand_start(s, "main", text, (int)i);
        (void)stand_expect(s, SHIM_STARTED, text);
        if (stand_expect(s, SHIM_ENDED, text).status != 0)
            fail_msg("%s is not set", cases[i].name);
        stand_gone(s);
    }
}

/* ---- limits ---- */

static void test_oom(void **state)
{
    struct cgroup_limits limits = { .memory_bytes = 48 << 20 };
    autoarena a = { 0 };
    struct box_spec spec = { .name = STR("main"), .uid = -1, .gid = -1 };
    struct shim_event ev;
    struct shim *s;

    if (!(cgroups_can(groups) & CGROUP_MEMORY))
        skip();
    s = stand_pod("oom");
    *vec_push(&a, &spec.argv) = STR("!eat");
    for (int attempt = 0; attempt < 2; attempt++) { /* the second has a group of its own, with counts from 0 */
        limits.memory_bytes = attempt ? 0 : 48 << 20;
        assert_int_equal(shim_start(s, &spec, &limits, attempt, NULL), 0);
        (void)stand_expect(s, SHIM_STARTED, "eat");
        ev = stand_expect(s, SHIM_ENDED, "eat");
        assert_int_equal(ev.is_oom, attempt == 0);
        assert_int_equal(ev.status, attempt == 0 ? SIGKILL : 0);
        assert_true(ev.stats.cpu_us > 0);
    }
    stand_gone(s);
}

/* The only container of a pod is in the pod's group: what one attempt did is not the next one's, and one that comes
 * later is apart from it. */
static void test_only(void **state)
{
    struct shim_options opt = stand_options("only");
    struct box_spec spec = { .name = STR("main"), .uid = -1, .gid = -1 };
    autoarena a = { 0 };
    struct shim_event ev;
    struct shim *s;

    if (!(cgroups_can(groups) & CGROUP_MEMORY))
        skip();
    opt.only = STR("main");
    opt.limits.memory_bytes = 48 << 20;
    s = stand_pod_with(&opt);
    *vec_push(&a, &spec.argv) = STR("!eat");
    assert_int_equal(shim_start(s, &spec, &(struct cgroup_limits){ 0 }, 0, NULL), 0);
    (void)stand_expect(s, SHIM_STARTED, "eat");
    assert_true(stand_has_group("only") && !stand_has_group("only/main"));
    ev = stand_expect(s, SHIM_ENDED, "eat");
    assert_true(ev.is_oom && ev.stats.cpu_us > 0);
    stand_start(s, "main", "sleep 60", 1);
    (void)stand_expect(s, SHIM_STARTED, "again");
    stand_start(s, "debug", "exit 7", 0);
    (void)stand_expect(s, SHIM_STARTED, "debug");
    ev = stand_expect(s, SHIM_ENDED, "debug");
    assert_true(str_is(ev.container, "debug") && WEXITSTATUS(ev.status) == 7 && !stand_has_group("only/debug"));
    assert_int_equal(shim_signal(s, STR("main"), SIGKILL, NULL), 0);
    ev = stand_expect(s, SHIM_ENDED, "again");
    assert_true(str_is(ev.container, "main") && !ev.is_oom);
    stand_gone(s);
    assert_false(stand_has_group("only"));
}

static void test_fork_bomb(void **state)
{
    struct cgroup_limits limits = { .pids = 30 };
    struct shim_options opt = stand_options("bomb");
    autoarena a = { 0 };
    struct box_spec spec = { .name = STR("main"), .uid = -1, .gid = -1 };
    struct shim_event ev;
    struct shim *s;

    if (!(cgroups_can(groups) & CGROUP_PIDS))
        skip();
    s = stand_pod_with(&opt);
    *vec_push(&a, &spec.argv) = STR("sh");
    *vec_push(&a, &spec.argv) = STR("-c");
    *vec_push(&a, &spec.argv) = STR("f() { f | f & }; while :; do f; done 2>/dev/null");
    assert_int_equal(shim_start(s, &spec, &limits, 0, NULL), 0);
    (void)stand_expect(s, SHIM_STARTED, "bomb");
    usleep(200000);
    assert_int_equal(shim_signal(s, STR("main"), SIGKILL, NULL), 0);
    (void)stand_expect(s, SHIM_ENDED, "bomb");
    limits.pids = 1; /* process 1 cannot even fork */
    spec.argv.n = 0;
    *vec_push(&a, &spec.argv) = STR("true");
    assert_int_equal(shim_start(s, &spec, &limits, 1, NULL), 0);
    ev = stand_expect(s, SHIM_FAILED, "no room");
    assert_true(ev.report.status == 128 && ev.report.reason[0]);
    stand_gone(s);
}

/* ---- nonsense ---- */

static void test_nonsense(void **state)
{
    struct shim *s = stand_pod("nonsense");
    autobuf text = { 0 };
    struct shim_event ev;
    int answers = 0;

    wire_put_str(&text, STR("main"));
    for (int i = 0; i < 12; i++)
        wire_put_i64(&text, i * 1000000007LL);
    for (uint32_t kind = 0; kind < 60; kind++)
        for (size_t cut = 0; cut < text.n; cut += 5) {
            struct wire_msg m = { .kind = kind, .payload = str_sub(buf_view(&text), 0, cut), .n_fds = cut % 3 };

            m.fds[0] = m.fds[1] = 0;
            if (m.kind != ORDER_PROBE || cut < 16) /* the rest must be fine, and soon */
                assert_int_equal(wire_send(shim_fd(s), &m, NULL), 0);
        }
    stand_start(s, "main", "exit 11", 0);
    for (;;) {
        assert_true(stand_wait(s, &ev, 10000));
        if (ev.kind == SHIM_ENDED)
            break;
        answers += ev.kind == SHIM_FAILED || (ev.kind == SHIM_RESULT && !ev.is_ok);
    }
    assert_int_equal(ev.status, 11 << 8);
    assert_true(answers > 10);
    stand_gone(s);
}

static void test_spawner_nonsense(void **state)
{
    struct shim_options opt = stand_options("Not A Group");
    struct shim *s;

    for (uint32_t kind = 0; kind < 50; kind++) {
        struct wire_msg m = { .kind = kind == SPAWNER_STOP ? 77 : kind, .payload = STR("nonsense"), .n_fds = kind % 3 };

        m.fds[0] = m.fds[1] = 0;
        assert_int_equal(spawner_send(spawner, &m, NULL), 0);
    }
    assert_int_equal(shim_new(spawner, &opt, &s, NULL), 0);
    assert_true(str_has(stand_expect(s, SHIM_GONE, "bad group").text, STR("Not A Group")));
    shim_free(s);
    stand_gone(stand_pod("fine"));
}

/* ---- ends of shims, spawner and program ---- */

static void test_shim_killed(void **state)
{
    struct shim *s = stand_pod("killed"), *other = stand_pod("other");
    pid_t pid, shim;

    stand_start(s, "main", "trap '' TERM HUP; (setsid sleep 1000 &); sleep 1000", 0);
    pid = stand_expect(s, SHIM_STARTED, "main").pid;
    stand_start(other, "main", "sleep 1000", 0);
    (void)stand_expect(other, SHIM_STARTED, "other");
    shim = stand_parent_of(pid);
    assert_int_equal(stand_parent_of(stand_parent_of(shim)), getpid()); /* the spawner is between */
    assert_int_equal(kill(shim, SIGTERM), 0); /* of a terminal or a service manager: not for it */
    assert_int_equal(kill(shim, SIGKILL), 0);
    assert_true(str_is(stand_expect(s, SHIM_GONE, "killed").text, "the shim of the pod was killed by signal 9"));
    assert_false(stand_is_alive(pid));
    assert_false(stand_has_group("killed"));
    shim_free(s);
    stand_start(other, "next", "exit 2", 0);
    (void)stand_expect(other, SHIM_STARTED, "next");
    assert_int_equal(stand_expect(other, SHIM_ENDED, "next").status, 2 << 8);
    stand_gone(other);
}

static void test_spawner_stops_shims(void **state)
{
    struct shim *s = stand_pod("left");
    pid_t pid;

    stand_start(s, "main", "trap '' TERM; sleep 1000", 0);
    pid = stand_expect(s, SHIM_STARTED, "main").pid;
    spawner_stop(spawner);
    spawner = NULL;
    assert_false(stand_is_alive(pid));
    assert_false(stand_has_group("left"));
    (void)stand_expect(s, SHIM_GONE, "left");
    shim_free(s);
}

/* ---- the program is killed ---- */

struct dying {
    pid_t pids[8];
    int n;
};
static struct dying *dying;

static _Noreturn void be_program(const char *group)
{
    struct spawner_options opt = { .driver = &stand_in };
    char name[16];

    if (cgroups_open(group, &groups, NULL, NULL) < 0)
        _exit(1);
    opt.cgroups = groups;
    if (spawner_start(&opt, &spawner, NULL) < 0)
        _exit(1);
    for (int i = 0; i < 3; i++) {
        struct shim_options pod;
        struct shim *s;

        (void)snprintf(name, sizeof(name), "pod-%d", i);
        pod = stand_options(name);
        pod.shares_pids = i == 2;
        s = stand_pod_with(&pod);
        stand_start(s, "main", "trap '' TERM INT HUP; (setsid sleep 1000 &); (sleep 1000 &); while :; do sleep 1; done",
                    0);
        pid_t pid = stand_expect(s, SHIM_STARTED, "main").pid;
        dying->pids[dying->n] = pid;
        dying->pids[dying->n + 1] = stand_parent_of(pid);
        dying->n += 2;
    }
    for (;;)
        pause();
}

static void test_program_killed(void **state)
{
    char group[64];
    struct cgroups *again;
    pid_t pid;
    int64_t until_ms = clock_mono_ms(&clock_real) + 20000;
    int lifeline[2];

    assert_int_equal(pipe(lifeline), 0); /* spawner and shims hold it, too: its end is theirs */
    (void)snprintf(group, sizeof(group), "pumice-shim-killed-%d", (int)getpid());
    dying = mmap(NULL, sizeof(*dying), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid = fork();
    if (pid == 0)
        be_program(group);
    close(lifeline[1]);
    while (*(volatile int *)&dying->n < 6 && clock_mono_ms(&clock_real) < until_ms)
        usleep(1000);
    assert_int_equal(dying->n, 6);
    assert_true(stand_is_alive(dying->pids[0]));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(poll(&(struct pollfd){ .fd = lifeline[0], .events = POLLIN }, 1, 20000), 1);
    close(lifeline[0]);
    for (int i = 0; i < dying->n; i++)
        assert_false(stand_is_alive(dying->pids[i]));
    assert_int_equal(cgroups_open(group, &again, NULL, NULL), 0);
    cgroups_close(again, true);
    (void)munmap(dying, sizeof(*dying));
}

/* ---- the program is killed, and its pods are not ---- */

struct outliving {
    pid_t spawner, runs, ends;
    bool is_ready;
};
static struct outliving *outliving;

static const char *mark_path(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", run_dir, name);
    return path;
}

static _Noreturn void be_outlived(const char *group, int dir)
{
    struct spawner_options opt = { .driver = &stand_in, .outlives = true, .socket_dir = dir, .words_fd = -1 };
    struct shim_options pod = stand_options("pod-a");
    struct shim *s, *idle;
    char text[200];

    if (cgroups_open(group, &groups, NULL, NULL) < 0)
        _exit(1);
    opt.cgroups = groups;
    if (spawner_start(&opt, &spawner, NULL) < 0 || spawner_keep(spawner, STR("a note"), &dir, 1, NULL) < 0)
        _exit(1);
    pod.note = STR("10.0.0.7");
    s = stand_pod_with(&pod);
    stand_start(s, "early", "exit 3", 0);
    (void)stand_expect(s, SHIM_STARTED, "early");
    (void)stand_expect(s, SHIM_ENDED, "early");
    stand_start(s, "bad", "!fail", 2);
    (void)stand_expect(s, SHIM_FAILED, "bad");
    (void)snprintf(text, sizeof(text), "echo before; until [ -e %s ]; do sleep 0.01; done; echo after; exit 7",
                   mark_path("go"));
    stand_start(s, "ends", text, 1);
    outliving->ends = stand_expect(s, SHIM_STARTED, "ends").pid;
    stand_start(s, "runs", "while :; do sleep 0.01; done", 0);
    outliving->runs = stand_expect(s, SHIM_STARTED, "runs").pid;
    idle = stand_pod("pod-b");
    (void)idle;
    outliving->spawner = stand_parent_of(stand_parent_of(outliving->runs));
    outliving->is_ready = true;
    for (;;)
        pause();
}

static const struct shim_con *con_of(const struct shim_found *f, const char *name)
{
    VEC_FOREACH(c, &f->cons)
        if (str_is(c->name, name))
            return c;
    fail_msg("nothing is told of %s", name);
    return NULL;
}

static void until(bool (*holds)(void), const char *what)
{
    for (int i = 0; i < 20000 && !holds(); i++)
        usleep(1000);
    if (!holds())
        fail_msg("%s", what);
}

static bool outlived_is_ready(void)
{
    return *(volatile bool *)&outliving->is_ready;
}

static bool one_has_ended(void)
{
    return !stand_is_alive(outliving->ends);
}

/* Whoever its parent is now may be slow to wait for it. */
static bool spawner_has_ended(void)
{
    return !stand_is_alive(outliving->spawner) || stand_is_zombie(outliving->spawner);
}

/* As the next program does it: all shims of the spawner, the one with containers first. */
static struct spawner *find_spawner(int dir, struct arena *a, struct shim *shims[2], struct shim_found found[2])
{
    char name[32];
    struct spawner *s;
    struct err e;

    (void)snprintf(name, sizeof(name), "spawner.%d", (int)outliving->spawner);
    if (spawner_find(dir, name, &s, &e) < 0)
        fail_msg("%s", e.text);
    for (int i = 0; i < 2; i++) {
        struct shim *shim = spawner_next_shim(s);
        struct shim_found f;

        if (!shim || shim_adopt(shim, a, &f, &e) < 0)
            fail_msg("shim %d: %s", i, shim ? e.text : "is not there");
        shims[!str_is(f.group, "pod-a")] = shim;
        found[!str_is(f.group, "pod-a")] = f;
    }
    assert_null(spawner_next_shim(s));
    return s;
}

static void check_found(const struct shim_found *f)
{
    const struct shim_con *c = con_of(f, "early");

    assert_true(str_is(f->note, "10.0.0.7"));
    assert_int_equal(f->cons.n, 4);
    assert_true(c->state == SHIM_CON_ENDED && c->status == 3 << 8 && c->by_itself && c->ended_ms >= c->started_ms);
    c = con_of(f, "bad");
    assert_true(c->state == SHIM_CON_FAILED && c->attempt == 2 && c->status == 128);
    assert_true(str_is(c->reason, "StartError") && str_is(c->text, "the stand-in was told to"));
    c = con_of(f, "runs");
    assert_true(c->state == SHIM_CON_RUNNING && c->pid == outliving->runs && c->started_ms > 0);
}

static void test_outlives(void **state)
{
    const struct str argv[] = { STR("true") };
    char group[64];
    autoclose int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoarena a = { 0 };
    autobuf lines = { 0 };
    struct shim *shims[2];
    struct shim_found found[2];
    struct cgroups *again;
    struct spawner *s;
    pid_t pid;

    (void)snprintf(group, sizeof(group), "pumice-shim-outlives-%d", (int)getpid());
    (void)unlink(mark_path("go"));
    outliving = mmap(NULL, sizeof(*outliving), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid = fork();
    if (pid == 0)
        be_outlived(group, dir);
    until(outlived_is_ready, "the pods run");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(open(mark_path("go"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    until(one_has_ended, "one ends in the gap");

    s = find_spawner(dir, &a, shims, found);
    assert_true(str_is(spawner_kept(s)->note, "a note") && spawner_kept(s)->n_fds == 1);
    check_found(&found[0]);
    const struct shim_con *c = con_of(&found[0], "ends");
    assert_true(c->state == SHIM_CON_ENDED && c->status == 7 << 8 && c->attempt == 1 && c->ended_ms > c->started_ms);
    assert_int_equal(found[1].cons.n, 0);
    stand_lines(&lines, "ends", 1);
    assert_string_equal(lines.p, "1:before 1:after ");

    /* killed again, before it did anything; and the next finds the same */
    shim_leave(shims[0]);
    shim_leave(shims[1]);
    spawner_leave(s);
    s = find_spawner(dir, &a, shims, found);
    check_found(&found[0]);
    assert_true(stand_is_alive(outliving->runs));
    assert_int_equal(shim_exec(shims[0], 5, &(struct shim_command){ STR("runs"), argv, 1 }, 5000, NULL), 0);
    assert_true(stand_expect(shims[0], SHIM_RESULT, "exec").is_ok);
    stand_start(shims[0], "ends", "exit 8", 2);
    (void)stand_expect(shims[0], SHIM_STARTED, "again");
    assert_int_equal(stand_expect(shims[0], SHIM_ENDED, "again").status, 8 << 8);
    shim_stop(shims[0]);
    assert_int_equal(stand_expect(shims[0], SHIM_GONE, "stop").text.n, 0);
    assert_false(stand_is_alive(outliving->runs));
    assert_false(spawner_has_ended()); /* it has one more */
    shim_free(shims[0]);
    shim_free(shims[1]);
    until(spawner_has_ended, "a spawner of before ends with its last shim");
    spawner_leave(s);
    assert_int_equal(cgroups_adopt(group, STR_NULL, &again, NULL, NULL), 0);
    cgroups_close(again, true);
    (void)munmap(outliving, sizeof(*outliving));
}

/* Whatever it speaks, it can be stopped; and what nobody can talk to is killed. */
static void test_outlives_stopped(void **state)
{
    char group[64], name[32];
    autoclose int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct cgroups *again;
    struct spawner *s;
    struct err e;
    pid_t pid;

    (void)snprintf(group, sizeof(group), "pumice-shim-stopped-%d", (int)getpid());
    (void)unlink(mark_path("go"));
    outliving = mmap(NULL, sizeof(*outliving), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid = fork();
    if (pid == 0)
        be_outlived(group, dir);
    until(outlived_is_ready, "the pods run");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)snprintf(name, sizeof(name), "spawner.%d", (int)outliving->spawner);
    assert_int_equal(spawner_find(dir, name, &s, NULL), 0);
    spawner_stop(s);
    assert_false(stand_is_alive(outliving->runs));
    assert_false(stand_is_alive(outliving->ends));
    assert_int_equal(spawner_find(dir, name, &s, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(cgroups_adopt(group, STR_NULL, &again, NULL, NULL), 0);
    cgroups_close(again, true);
    (void)munmap(outliving, sizeof(*outliving));
}

/* ---- of another version ---- */

enum { VERSION = 99 };

static const char *listener_path(int dir, struct sockaddr_un *at)
{
    at->sun_family = AF_UNIX;
    (void)snprintf(at->sun_path, sizeof(at->sun_path), "/proc/self/fd/%d/spawner.other", dir);
    return at->sun_path;
}

/* It says its version, and goes when it is told to. */
static _Noreturn void be_other_spawner(int listener)
{
    int fd = accept(listener, NULL, NULL);
    struct wire_msg m = { 0 }, answer = { .kind = SPAWNER_WORD_KEPT };
    struct wire_in in = { 0 };
    autobuf text = { 0 };

    wire_put_i64(&text, VERSION);
    buf_str(&text, STR("and what nobody knows yet"));
    answer.payload = buf_view(&text);
    if (wire_recv(fd, true, &in, &m, NULL) != 1 || m.kind != SPAWNER_HELLO || wire_send(fd, &answer, NULL) < 0)
        _exit(1);
    _exit(wire_recv(fd, true, &in, &m, NULL) == 1 && m.kind == SPAWNER_STOP ? 0 : 2);
}

static void test_other_version(void **state)
{
    autoclose int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                  listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un at = { 0 };
    struct spawner *s = NULL;
    struct err e;
    int status;
    pid_t pid;

    (void)unlink(listener_path(dir, &at));
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 1), 0);
    pid = fork();
    if (pid == 0)
        be_other_spawner(listener);
    assert_int_equal(spawner_find(dir, "spawner.other", &s, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.text, "protocol version 99, this program needs 1"));
    assert_non_null(s);
    spawner_stop(s);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)unlink(at.sun_path);
}

/* ---- many ---- */

static void test_many_pods(void **state)
{
    enum { PODS = 200 };
    static struct shim *pods[PODS];
    struct pollfd fds[PODS];
    int gone = 0, ended = 0, before = stand_count_fds();
    int64_t until_ms = clock_mono_ms(&clock_real) + 120000;

    for (int i = 0; i < PODS; i++) {
        char name[32];
        struct shim_options opt;

        (void)snprintf(name, sizeof(name), "many-%d", i);
        opt = stand_options(name);
        assert_int_equal(shim_new(spawner, &opt, &pods[i], NULL), 0);
        stand_start(pods[i], "main", "true", i); /* orders wait for the shim to be there */
        fds[i] = (struct pollfd){ .fd = shim_fd(pods[i]), .events = POLLIN };
    }
    while (gone < PODS && clock_mono_ms(&clock_real) < until_ms) {
        (void)poll(fds, PODS, 1000);
        for (int i = 0; i < PODS; i++) {
            struct shim_event ev;

            while (fds[i].revents && pods[i] && shim_next(pods[i], &ev)) {
                if (ev.kind == SHIM_READY)
                    (void)(close(ev.net_fd) + close(ev.nl_fd));
                if (ev.kind == SHIM_FAILED)
                    fail_msg("pod %d: %s", i, ev.report.text);
                if (ev.kind == SHIM_ENDED) {
                    ended += ev.status == 0;
                    stand_stop(pods[i]);
                }
                if (ev.kind == SHIM_GONE) {
                    assert_int_equal(ev.text.n, 0);
                    gone++;
                    shim_free(pods[i]);
                    pods[i] = NULL;
                    fds[i].fd = -1;
                }
            }
        }
    }
    assert_int_equal(gone, PODS);
    assert_int_equal(ended, PODS);
    assert_int_equal(stand_count_fds(), before);
}

/* What shims and containers hold: nothing of the spawner's other shims, nothing of the program's later files. */
static void test_descriptors(void **state)
{
    autoclose int later = open("/etc/passwd", O_RDONLY);
    struct shim *first = stand_pod("fds-1"), *s = stand_pod("fds-2");
    char path[64], link[128];
    int n = 0, sockets = 0;
    pid_t shim;
    DIR *d;

    assert_true(later >= 0);
    stand_start(s, "main", "sleep 1000", 0);
    shim = stand_parent_of(stand_expect(s, SHIM_STARTED, "main").pid);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)shim);
    d = opendir(path);
    for (struct dirent *f; (f = readdir(d)); n++) {
        ssize_t got = readlinkat(dirfd(d), f->d_name, link, sizeof(link) - 1);

        link[got > 0 ? got : 0] = '\0';
        assert_string_not_equal(link, "/etc/passwd");
        sockets += strncmp(link, "socket:", 7) == 0;
    }
    closedir(d);
    assert_int_equal(sockets, 2); /* its own, and the report of the container */
    stand_gone(first);
    stand_gone(s);
}

/* ---- with real boxes ---- */

/* A terminal of the container: our end of it comes over the socket that the command was given. */
static void check_terminal(struct shim *s)
{
    const struct str argv[] = { STR("sh"), STR("-c"), STR("tty; test -t 2 && exit 6") };
    char bytes[256], room[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { bytes, sizeof(bytes) };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
    autobuf out = { 0 };
    int pair[2], master;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(shim_exec_on(s, 9, &(struct shim_command){ STR("main"), argv, 3, .is_tty = true },
                                  (int[]){ pair[1], pair[1], pair[1] }, NULL),
                     0);
    close(pair[1]);
    assert_int_equal(recvmsg(pair[0], &m, 0), 1);
    assert_non_null(CMSG_FIRSTHDR(&m));
    memcpy(&master, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(master));
    assert_int_equal(stand_expect(s, SHIM_RESULT, "terminal").exit_code, 6);
    read_to_end(master, &out);
    assert_string_equal(out.p, "/dev/pts/0\r\n");
    close(master);
    close(pair[0]);
}

/* One that is started among the processes of another sees them, and nobody of ours but their process 1. */
static void check_target(struct shim *s, struct arena *a, struct box_spec spec)
{
    autobuf lines = { 0 };

    spec.name = STR("debug");
    spec.target = STR("main");
    spec.upper = arena_fmt(a, "%s/debug", run_dir);
    memset(&spec.argv, 0, sizeof(spec.argv));
    *vec_push(a, &spec.argv) = STR("sh");
    *vec_push(a, &spec.argv) = STR("-c");
    *vec_push(a, &spec.argv) = STR("cat /proc/1/comm; grep -sl pumice /proc/[0-9]*/comm; kill -0 2 && echo seen");
    assert_int_equal(shim_start(s, &spec, NULL, 0, NULL), 0);
    (void)stand_expect(s, SHIM_STARTED, "debug");
    assert_int_equal(stand_expect(s, SHIM_ENDED, "debug").status, 0);
    stand_lines(&lines, "debug", 0);
    if (!str_is(buf_view(&lines), "1:pumice-init 1:/proc/1/comm 1:seen "))
        fail_msg("debug says %s", lines.p);
}

static void test_real_box(void **state)
{
    const struct str argv[] = { STR("cat"), STR("/proc/1/comm"), STR("/tmp/mark") };
    struct spawner_options opt = { .cgroups = groups };
    struct box_spec spec = { .name = STR("main"), .uid = -1, .gid = -1 };
    struct shim_event ev;
    autoarena a = { 0 };
    autobuf lines = { 0 };
    struct shim *s;

    spawner_stop(spawner);
    assert_int_equal(spawner_start(&opt, &spawner, NULL), 0);
    s = stand_pod("real");
    spec.upper = arena_fmt(&a, "%s/upper", run_dir);
    assert_int_equal(mkdir(spec.upper.p, 0755), 0);
    *vec_push(&a, &spec.env) = STR("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    *vec_push(&a, &spec.argv) = STR("sh");
    *vec_push(&a, &spec.argv) = STR("-c");
    *vec_push(&a, &spec.argv) = STR(
        "hostname; echo here >/tmp/mark; echo ready >&2; trap 'exit 42' TERM; while :; do sleep 0.01; done");
    assert_int_equal(shim_start(s, &spec, NULL, 0, NULL), 0);
    (void)stand_expect(s, SHIM_STARTED, "real");
    for (bool is_ready = false; !is_ready;) {
        (void)stand_expect(s, SHIM_LOG, "real");
        buf_reset(&lines);
        stand_lines(&lines, "main", 0);
        is_ready = str_has(buf_view(&lines), STR("2:ready "));
    }
    assert_true(str_has(buf_view(&lines), STR("1:pod-host ")));
    assert_int_equal(shim_exec(s, 1, &(struct shim_command){ STR("main"), argv, 3 }, 5000, NULL), 0);
    ev = stand_expect(s, SHIM_RESULT, "exec");
    if (!ev.is_ok || !str_ends(ev.text, STR("\nhere\n")))
        fail_msg("exec: %d \"%.*s\"", ev.exit_code, STR_ARG(ev.text));
    check_terminal(s);
    check_target(s, &a, spec);
    assert_int_equal(shim_signal(s, STR("main"), SIGTERM, NULL), 0);
    assert_int_equal(stand_expect(s, SHIM_ENDED, "real").status, 42 << 8);
    spec.argv.n = 0;
    *vec_push(&a, &spec.argv) = STR("no-such-program");
    assert_int_equal(shim_start(s, &spec, NULL, 1, NULL), 0);
    ev = stand_expect(s, SHIM_FAILED, "missing");
    assert_string_equal(ev.report.reason, "StartError");
    assert_non_null(strstr(ev.report.text, "no-such-program"));
    stand_gone(s);
}

/* ---- around it ---- */

static int fds_before;

static int setup(void **state)
{
    struct spawner_options opt = { .cgroups = groups, .driver = &stand_in };

    static int n;

    (void)snprintf(log_dir, sizeof(log_dir), "%s/%d.logs", run_dir, n++);
    fds_before = stand_count_fds();
    return spawner_start(&opt, &spawner, NULL);
}

static int teardown(void **state)
{
    spawner_stop(spawner);
    spawner = NULL;
    if (stand_count_fds() != fds_before)
        print_error("descriptors: %d before, %d after\n", fds_before, stand_count_fds());
    return stand_count_fds() == fds_before && waitpid(-1, NULL, WNOHANG) < 0 ? 0 : -1;
}

#define SHIM_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        SHIM_TEST(test_ends),
        SHIM_TEST(test_failures),
        SHIM_TEST(test_signals),
        SHIM_TEST(test_several),
        SHIM_TEST(test_logs),
        SHIM_TEST(test_log_news),
        SHIM_TEST(test_flood),
        SHIM_TEST(test_slow_reader),
        SHIM_TEST(test_newlines),
        SHIM_TEST(test_full_disk),
        SHIM_TEST(test_terminal),
        SHIM_TEST(test_exec),
        SHIM_TEST(test_many_execs),
        SHIM_TEST(test_exec_on),
        SHIM_TEST(test_attach),
        SHIM_TEST(test_forward),
        SHIM_TEST(test_probe),
        SHIM_TEST(test_big_message),
        SHIM_TEST(test_shared_processes),
        SHIM_TEST(test_network),
        SHIM_TEST(test_sysctls),
        SHIM_TEST(test_oom),
        SHIM_TEST(test_only),
        SHIM_TEST(test_fork_bomb),
        SHIM_TEST(test_nonsense),
        SHIM_TEST(test_spawner_nonsense),
        SHIM_TEST(test_shim_killed),
        SHIM_TEST(test_spawner_stops_shims),
        SHIM_TEST(test_program_killed),
        SHIM_TEST(test_outlives),
        SHIM_TEST(test_outlives_stopped),
        SHIM_TEST(test_other_version),
        SHIM_TEST(test_many_pods),
        SHIM_TEST(test_descriptors),
        SHIM_TEST(test_real_box),
    };
    char group[64];
    int r = probe_main(argc, argv); /* executed by one of our shims */

    if (r >= 0)
        return r;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        print_message("skipped: needs root, and a root that is a mount point\n");
        return 77;
    }
    (void)snprintf(run_dir, sizeof(run_dir), "/tmp/pumice-shim-%d", (int)getpid());
    (void)snprintf(group, sizeof(group), "pumice-shim-test-%d", (int)getpid());
    if (mkdir(run_dir, 0700) < 0 || mount("none", run_dir, "tmpfs", 0, NULL) < 0 ||
        cgroups_open(group, &groups, NULL, NULL) < 0)
        return 1;
    (void)log_setup((struct log_config){ 2, LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, NULL });
    r = cmocka_run_group_tests(tests, NULL, NULL);
    cgroups_close(groups, true);
    (void)umount2(run_dir, MNT_DETACH);
    (void)rmdir(run_dir);
    return r;
}
