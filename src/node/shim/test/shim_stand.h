/* shim_stand.h - for tests of shims: a stand-in for a box, and what a test needs around a spawner
 *
 * The stand-in is process 1 as box.h describes it, without a root of its own. Words that begin with '!' are things that
 * a program is not needed for.
 */
#ifndef NODE_TEST_SHIM_STAND_H
#define NODE_TEST_SHIM_STAND_H

#include "base/clock.h"
#include "base/util.h"
#include "node/shim/shim_internal.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- the stand-in ---- */

static void stand_say(int report, enum box_report_kind kind, int status)
{
    struct box_report r = { .kind = kind, .status = status };

    if (kind == BOX_FAILED)
        (void)snprintf(r.reason, sizeof(r.reason), "StartError");
    if (kind == BOX_FAILED)
        (void)snprintf(r.text, sizeof(r.text), "the stand-in was told to");
    (void)!send(report, &r, sizeof(r), MSG_NOSIGNAL);
}

static _Noreturn void stand_program(const struct box_spec *s)
{
    char *argv[16] = { NULL };
    autoarena a = { 0 };
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < s->argv.n && i < ARRAY_LEN(argv) - 1; i++)
        argv[i] = (char *)arena_cstr(&a, s->argv.v[i]);
    (void)close_range(3, ~0U, 0);
    (void)execvp(argv[0], argv);
    _exit(127);
}

/* Tells on descriptor 1 what it sees. */
static int stand_tell(const struct box_spec *s)
{
    size_t bytes = 0;
    char name[65];

    VEC_FOREACH(v, &s->env)
        bytes += v->n;
    (void)gethostname(name, sizeof(name));
    (void)dprintf(1, "pid %d host %s env %zu mounts %zu\n", (int)getpid(), name, bytes, s->mounts.n);
    VEC_FOREACH(m, &s->mounts) {
        char text[16] = "";

        (void)!pread(m->fd, text, sizeof(text) - 1, 0);
        (void)dprintf(1, "mount %s\n", text);
    }
    return 0;
}

static int stand_listen(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) }, .sin_port = htons(8080) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), conn;
    char in[1024];

    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 10) < 0)
        return 1;
    (void)dprintf(1, "listening\n");
    while ((conn = accept(fd, NULL, NULL)) >= 0) {
        (void)!read(conn, in, sizeof(in));
        (void)dprintf(conn, "HTTP/1.1 200 OK\r\n\r\n");
        close(conn);
    }
    return 0;
}

static int stand_eat(void)
{
    size_t n = 200 << 20;
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (size_t i = 0; p != MAP_FAILED && i < n; i += 4096)
        p[i] = 1;
    return 0;
}

static int stand_flood(void)
{
    static char bytes[100000];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = i % 100 == 99 ? '\n' : (char)('a' + i % 26);
    for (int i = 0; i < 1000; i++)
        for (size_t at = 0; at < sizeof(bytes);) {
            ssize_t n = write(1, bytes + at, sizeof(bytes) - at);

            if (n <= 0)
                return 1;
            at += (size_t)n;
        }
    return 0;
}

static _Noreturn void stand_child(const struct box_spec *s)
{
    struct str word = s->argv.v[0];

    if (str_is(word, "!tell"))
        _exit(stand_tell(s));
    if (str_is(word, "!listen"))
        _exit(stand_listen());
    if (str_is(word, "!eat"))
        _exit(stand_eat());
    if (str_is(word, "!flood"))
        _exit(stand_flood());
    stand_program(s);
}

static void stand_run(const struct box_spec *s, const struct oci_place *place, int report)
{
    sigset_t all;
    pid_t pid;
    int status, signo;

    (void)place;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    if (str_is(s->argv.v[0], "!die"))
        _exit(3);
    if (str_is(s->argv.v[0], "!hang"))
        for (;;)
            pause();
    if (str_is(s->argv.v[0], "!fail")) {
        stand_say(report, BOX_FAILED, 128);
        _exit(1);
    }
    if (str_is(s->argv.v[0], "!garbage")) { /* of a process 1 that went mad */
        for (int i = 0; i < 50; i++)
            (void)!send(report, "nonsense", (size_t)i % 8 + 1, MSG_NOSIGNAL);
        stand_say(report, BOX_ENDED, 0);
        stand_say(report, (enum box_report_kind)77, 0);
    }
    if (str_is(s->argv.v[0], "!slow"))
        usleep(200000);
    if (s->join && setns(s->join->pids, CLONE_NEWPID) < 0)
        _exit(1);
    pid = fork();
    if (pid < 0) {
        stand_say(report, BOX_FAILED, 128);
        _exit(1);
    }
    if (pid == 0 && str_is(s->argv.v[0], "!slow")) {
        (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
        for (;;)
            pause();
    }
    if (pid == 0 && str_is(s->argv.v[0], "!garbage"))
        _exit(5);
    if (pid == 0)
        stand_child(s);
    close(0);
    close(1);
    close(2);
    stand_say(report, BOX_STARTED, 0);
    for (;;) {
        if (sigwait(&all, &signo) != 0)
            continue;
        if (signo != SIGCHLD) {
            (void)kill(pid, signo);
            continue;
        }
        for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0;)
            if (gone == pid) {
                stand_say(report, BOX_ENDED, status);
                _exit(0);
            }
    }
}

static pid_t stand_exec_pid;

static void stand_exec_term(int signo)
{
    (void)signo;
    if (stand_exec_pid > 0)
        (void)kill(stand_exec_pid, SIGKILL);
}

static void stand_exec(const struct box_spec *s, const struct oci_place *place, int init)
{
    int status = 0;

    (void)place;
    if (setns(init, CLONE_NEWNS) < 0 || setns(s->join ? s->join->pids : init, CLONE_NEWPID) < 0)
        _exit(126);
    (void)signal(SIGTERM, str_is(s->argv.v[0], "!deaf") ? SIG_IGN : stand_exec_term);
    stand_exec_pid = fork();
    if (stand_exec_pid == 0 && str_is(s->argv.v[0], "!deaf"))
        for (;;)
            pause();
    if (stand_exec_pid == 0)
        stand_program(s);
    if (stand_exec_pid < 0)
        _exit(126);
    while (waitpid(stand_exec_pid, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static const struct shim_driver stand_in = { true, stand_run, stand_exec, NULL };

/* ---- around a spawner ---- */

static struct cgroups *groups;
static struct spawner *spawner;
static char run_dir[64];
static char log_dir[96]; /* of this test */

static inline int stand_count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static inline struct shim_options stand_options(const char *group)
{
    return (struct shim_options){ .group = group, .hostname = STR("pod-host"), .log_dir = log_dir };
}

static inline bool stand_wait(struct shim *s, struct shim_event *ret, int ms)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;

    for (;;) {
        struct pollfd p = { .fd = shim_fd(s), .events = POLLIN };
        int64_t left = until_ms - clock_mono_ms(&clock_real);

        if (shim_next(s, ret))
            return true;
        if (left <= 0)
            return false;
        (void)poll(&p, 1, (int)left);
    }
}

/* The next event of this kind; others on the way may only be news of logs. */
static inline struct shim_event stand_expect(struct shim *s, enum shim_event_kind kind, const char *what)
{
    static const char *const names[SHIM_EVENT_KIND_MAX] = { "READY", "STARTED", "FAILED", "ENDED",
                                                            "LOG",   "RESULT",  "GONE" };
    struct shim_event ev;

    for (;;) {
        if (!stand_wait(s, &ev, 20000))
            fail_msg("%s: waited for %s", what, names[kind]);
        if (ev.kind == kind)
            return ev;
        if (ev.kind != SHIM_LOG)
            fail_msg("%s: got %s (%.*s%s), not %s", what, names[ev.kind], STR_ARG(ev.text), ev.report.text,
                     names[kind]);
    }
}

/* It runs and has written: a fast one does so before its process 1 has told that it runs. */
static inline void stand_speaks(struct shim *s, const char *what)
{
    bool has_started = false, has_written = false;
    struct shim_event ev;

    while (!has_started || !has_written) {
        if (!stand_wait(s, &ev, 20000))
            fail_msg("%s: waited for it to start and write", what);
        has_started |= ev.kind == SHIM_STARTED;
        has_written |= ev.kind == SHIM_LOG;
    }
}

static inline struct shim *stand_pod_with(const struct shim_options *opt)
{
    struct shim *s;
    struct shim_event ev;
    struct err e;

    if (shim_new(spawner, opt, &s, &e) < 0)
        fail_msg("%s: %s", opt->group, e.text);
    ev = stand_expect(s, SHIM_READY, opt->group);
    assert_true(ev.net_fd >= 0 && (ev.nl_fd >= 0) == !opt->has_host_network);
    close(ev.net_fd);
    if (ev.nl_fd >= 0)
        close(ev.nl_fd);
    return s;
}

static inline struct shim *stand_pod(const char *group)
{
    struct shim_options opt = stand_options(group);

    return stand_pod_with(&opt);
}

/* What a shim sees when it has no master any more, who yet hears how it ends. */
static inline void stand_stop(struct shim *s)
{
    (void)shutdown(shim_fd(s), SHUT_WR); /* gone already: the same */
}

/* Ends it and waits until all of it is gone. */
static inline void stand_gone(struct shim *s)
{
    stand_stop(s);
    assert_int_equal(stand_expect(s, SHIM_GONE, "stop").text.n, 0);
    struct shim_event ev;
    assert_int_equal(shim_next(s, &ev), 0);
    shim_free(s);
}

/* "sh -c TEXT", or one word that begins with '!'. */
static inline void stand_start(struct shim *s, const char *name, const char *text, int attempt)
{
    autoarena a = { 0 };
    struct box_spec spec = { .name = str_of(name), .uid = -1, .gid = -1 };
    struct err e;

    if (text[0] != '!') {
        *vec_push(&a, &spec.argv) = STR("sh");
        *vec_push(&a, &spec.argv) = STR("-c");
    }
    *vec_push(&a, &spec.argv) = str_of(text);
    if (shim_start(s, &spec, NULL, attempt, &e) < 0)
        fail_msg("start %s: %s", name, e.text);
}

static inline struct conlog_reader *stand_log(const char *container, int attempt)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/%s.%d.log", log_dir, container, attempt);
    return conlog_reader_new(path);
}

/* All lines of a log: "1:out 2:err". */
static inline void stand_lines(struct buf *out, const char *container, int attempt)
{
    struct conlog_reader *r = stand_log(container, attempt);
    struct conlog_line line;

    while (conlog_next(r, &line)) {
        buf_fmt(out, "%d:", line.stream == CONLOG_STDERR ? 2 : 1);
        buf_str(out, line.text);
        buf_char(out, line.is_partial ? '+' : ' ');
    }
    buf_append(out, "", 0);
    conlog_reader_free(r);
}

static inline pid_t stand_parent_of(pid_t pid)
{
    char path[64], text[512], *at;
    int parent = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')');
    return at && sscanf(at, ") %*c %d", &parent) == 1 ? parent : 0;
}

static inline bool stand_is_alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static inline bool stand_is_zombie(pid_t pid)
{
    char path[64], text[512], *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')');
    return at && at[1] && at[2] == 'Z';
}

static inline bool stand_has_group(const char *group)
{
    struct cgroup_stats stats;

    return strcmp(cgroups_kind(groups), "none") != 0 && cgroup_stats(groups, group, &stats, NULL) == 0;
}

#endif
