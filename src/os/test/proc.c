/* proc.c - tests: where programs are, what they say, how they end, and that nothing of them stays */
#include "os/test/place.h"

#include "base/clock.h"
#include "os/proc.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { LONG_MS = 20000 };

static struct proc_end run(const char *script, const struct proc_how *how, int wait_ms, struct buf *said)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct proc p;
    struct err e;

    if (proc_begin("/bin/sh", argv, how, &p, &e) < 0)
        fail_msg("%s", e.text);
    return proc_end(&p, wait_ms, said);
}

/* ---- finding ---- */

static bool skip_bin(struct str dir)
{
    return str_is(dir, "/bin");
}

static void test_find(void **state)
{
    char out[64], *old = strdup(getenv("PATH") ? getenv("PATH") : "");

    assert_true(proc_find_in(STR("/nowhere:/bin:/usr/bin"), "sh", NULL, out, sizeof(out)));
    assert_string_equal(out, "/bin/sh");
    assert_true(proc_find_in(STR("/nowhere:/bin:/usr/bin"), "sh", skip_bin, out, sizeof(out)));
    assert_string_equal(out, "/usr/bin/sh");
    assert_false(proc_find_in(STR("bin::.:/nowhere"), "sh", NULL, out, sizeof(out)));
    assert_false(proc_find_in(STR("/bin"), "sh", NULL, out, 7)); /* does not fit */
    assert_false(proc_find_in(STR("/etc"), "passwd", NULL, out, sizeof(out)));
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_true(proc_find("sh", out, sizeof(out))); /* where PATH does not say */
    assert_int_equal(unsetenv("PATH"), 0);
    assert_true(proc_find("sh", out, sizeof(out)));
    assert_false(proc_find("no-such-program", out, sizeof(out)));
    assert_int_equal(setenv("PATH", old, 1), 0);
    free(old);
}

/* ---- running ---- */

static void test_words(void **state)
{
    autobuf said = { 0 };
    struct proc_end end;

    end = run("cat; echo one; echo wrong >&2; exit 3", &(struct proc_how){ 0 }, LONG_MS, &said);
    assert_int_equal(end.status, 3);
    assert_false(end.is_late || end.signo);
    assert_string_equal(said.p, "one\nwrong\n");
    buf_reset(&said);
    end = run("cat; head -c 100000 /dev/zero | tr '\\0' x", &(struct proc_how){ 0 }, LONG_MS, &said);
    assert_int_equal(end.status, 0);
    assert_int_equal(said.n, 4096); /* enough for a sentence */
    end = run("cat; echo nobody listens", &(struct proc_how){ .streams = PROC_SILENT }, LONG_MS, &said);
    assert_int_equal(end.status, 0);
    assert_int_equal(said.n, 4096);
}

static void test_run(void **state)
{
    const char *const no[] = { "nothing", NULL }, *const killed[] = { "sh", "-c", "kill -TERM $$", NULL };
    struct err e;

    assert_int_equal(proc_run("/nowhere/nothing", no, NULL, &e), PROC_CANNOT_RUN);
    assert_int_equal(proc_run("/bin/sh", killed, NULL, &e), -1);
    assert_string_equal(e.text, "/bin/sh was killed by signal 15");
}

/* What is left of a group, whose number the program said, was ended. Orphans are ours: main() asked for them. */
static void reap_group(struct str said, int signo)
{
    int64_t group;
    int status;

    assert_int_equal(str_to_i64(str_trim(said), &group), 0);
    while (waitpid(-(pid_t)group, &status, 0) > 0)
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, signo);
    assert_int_equal(kill(-(pid_t)group, 0), -1);
}

/* It neither waits longer than it was told, nor leaves anybody behind. */
static void test_late(void **state)
{
    int64_t before_ms = clock_mono_ms(&clock_real);
    autobuf said = { 0 };
    struct proc_end end = run("echo $$; trap '' TERM; sleep 1000 & sleep 1000", &(struct proc_how){ 0 }, 200, &said);

    assert_true(end.is_late);
    assert_int_equal(end.signo, SIGKILL);
    assert_true(clock_mono_ms(&clock_real) - before_ms < LONG_MS);
    reap_group(buf_view(&said), SIGKILL);
}

/* One that ends at once and leaves a grandchild: we wait for neither its streams nor itself. */
static void test_grandchild(void **state)
{
    autobuf said = { 0 };
    struct proc_end end = run("sleep 1000 & echo $$", &(struct proc_how){ 0 }, LONG_MS, &said);

    assert_false(end.is_late);
    assert_int_equal(end.status, 0);
    reap_group(buf_view(&said), SIGKILL);
}

/* What a runtime leaves is the container. */
static void test_leaves(void **state)
{
    autobuf said = { 0 };
    struct proc_end end = run("sleep 1000 & echo $$", &(struct proc_how){ .may_leave = true }, LONG_MS, &said);
    int64_t group;

    assert_int_equal(end.status, 0);
    assert_int_equal(str_to_i64(str_trim(buf_view(&said)), &group), 0);
    assert_int_equal(kill(-(pid_t)group, SIGTERM), 0); /* not killed before: this is what ends it */
    reap_group(buf_view(&said), SIGTERM);
}

static void test_watch(void **state)
{
    const char *const argv[] = { "sh", "-c", "exit 7", NULL };
    struct pollfd poller = { .events = POLLIN };
    struct proc p;
    struct err e;

    assert_int_equal(proc_begin("/bin/sh", argv, &(struct proc_how){ 0 }, &p, &e), 0);
    assert_closes_on_exec(p.fd);
    assert_closes_on_exec(p.words);
    poller.fd = p.fd;
    assert_int_equal(poll(&poller, 1, LONG_MS), 1);
    assert_int_equal(proc_end(&p, 0, NULL).status, 7); /* it has ended: it is not late */
}

/* None of our descriptors, none of our blocked signals. */
static void test_what_it_has(void **state)
{
    const char *const argv[] = { "grep", "SigBlk", "/proc/self/status", NULL }; /* a shell would unblock them itself */
    int leak = fcntl(2, F_DUPFD, 50);                                           /* without close-on-exec */
    autobuf said = { 0 };
    sigset_t all, old;
    char grep[64];

    assert_true(leak >= 50);
    sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_SETMASK, &all, &old), 0);
    (void)run("ls /proc/self/fd | grep -c '^[45]'", &(struct proc_how){ 0 }, LONG_MS, &said);
    assert_true(proc_find("grep", grep, sizeof(grep)));
    assert_int_equal(proc_run(grep, argv, &said, NULL), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    close(leak);
    assert_string_equal(said.p, "0\nSigBlk:\t0000000000000000\n");
}

/* Output and words apart, as long as wanted, and an environment of its own. */
static void test_output(void **state)
{
    const char *const argv[] = { "sh", "-c", "cat; echo \"$A ${HOME-none}\"; echo wrong >&2", NULL };
    const char *const env[] = { "A=yes", NULL };
    struct proc_how how = { .streams = PROC_APART, .env = env, .input = STR("read, ") };
    struct pollfd poller = { .events = POLLIN };
    autobuf said = { 0 }, output = { 0 };
    struct proc p;
    struct err e;

    assert_int_equal(proc_begin("/bin/sh", argv, &how, &p, &e), 0);
    assert_closes_on_exec(p.output);
    poller.fd = p.fd;
    assert_int_equal(poll(&poller, 1, LONG_MS), 1);
    assert_int_equal(proc_output(&p, 3, &output), 1); /* there is more */
    buf_reset(&output);
    assert_int_equal(proc_output(&p, 100, &output), 0);
    assert_int_equal(proc_end(&p, 0, &said).status, 0);
    assert_string_equal(output.p, "read, yes none\n");
    assert_string_equal(said.p, "wrong\n");
}

/* With the terminal it is in our group: or it would be stopped when it asks. */
static void test_terminal(void **state)
{
    const char *const argv[] = { "sh", "-c", "cut -d ' ' -f 5 /proc/self/stat; exec sleep 1000", NULL };
    struct proc_how how = { .streams = PROC_TERMINAL };
    autobuf output = { 0 }, want = { 0 };
    struct proc_end end;
    struct proc p;
    struct err e;

    buf_fmt(&want, "%d\n", getpgrp());
    assert_int_equal(proc_begin("/bin/sh", argv, &how, &p, &e), 0);
    while (output.n == 0)
        assert_int_equal(proc_output(&p, 100, &output), 0);
    end = proc_end(&p, 0, NULL);
    assert_true(end.is_late && end.signo == SIGKILL); /* it alone: we are still here */
    assert_string_equal(output.p, want.p);
}

static void test_wait(void **state)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(5);
    assert_int_equal(WEXITSTATUS(proc_wait(pid)), 5);
    assert_int_equal(proc_wait(pid), -1); /* once */
    assert_int_equal(proc_wait(-1), -1);  /* never just anybody */
    assert_int_equal(proc_wait(0), -1);
}

/* What we close is closed, although a copy of us goes on: a pipe's reader sees the end. */
/* Of one that goes, one that was stopped, one that does not listen. */
static void test_wait_gone(void **state)
{
    static const int kinds[] = { 0, SIGSTOP, SIGTERM };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        int pair[2], status;
        pid_t pid;
        char c;

        assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
            close(pair[1]);
            if (kinds[i] == SIGSTOP)
                (void)raise(SIGSTOP);
            while (kinds[i] == SIGTERM)
                (void)pause();
            _exit(read(pair[0], &c, 1) == 0 ? 7 : 8);
        }
        close(pair[0]);
        close(pair[1]); /* told to go */
        if (kinds[i] == SIGSTOP) {
            siginfo_t info;

            assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
        }
        status = proc_wait_gone(pid, kinds[i] == SIGTERM ? 50 : 60000);
        if (kinds[i] == SIGTERM)
            assert_int_equal(WTERMSIG(status), SIGKILL);
        else
            assert_int_equal(WEXITSTATUS(status), 7);
    }
    assert_int_equal(proc_wait_gone(-1, 0), -1); /* nobody: not everybody */
    assert_int_equal(proc_wait_gone(0, 0), -1);
}

static void test_fork_alone(void **state)
{
    int pipe_fds[2], go[2];
    char c = 'x';
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid = proc_fork_alone(go[0], false);
    if (pid == 0)
        _exit(read(PROC_KEPT, &c, 1) == 1 && c == 'g' && fcntl(PROC_KEPT + 1, F_GETFD) < 0 ? 6 : 1);
    assert_int_equal(close(pipe_fds[1]), 0);
    assert_int_equal(read(pipe_fds[0], &c, 1), 0);
    assert_int_equal(write(go[1], "g", 1), 1);
    assert_int_equal(WEXITSTATUS(proc_wait(pid)), 6);
    (void)close(pipe_fds[0]);
    (void)close(go[0]);
    (void)close(go[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_gone),   cmocka_unit_test(test_fork_alone), cmocka_unit_test(test_find),
        cmocka_unit_test(test_words),       cmocka_unit_test(test_run),        cmocka_unit_test(test_late),
        cmocka_unit_test(test_grandchild),  cmocka_unit_test(test_leaves),     cmocka_unit_test(test_watch),
        cmocka_unit_test(test_what_it_has), cmocka_unit_test(test_output),     cmocka_unit_test(test_wait),
        cmocka_unit_test(test_terminal),
    };

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
