/* boxes.h - what the tests of containers share: a mount namespace of our own, a parent that does what a shim does */
#ifndef NODE_TEST_BOXES_H
#define NODE_TEST_BOXES_H

#include "os/test/testing.h"

#include "node/container/box_internal.h"
#include "node/userns/user.h"

#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static bool is_inner;  /* in a user namespace with one id */
static bool can_build; /* we may make containers at all */
static char top[64];   /* all directories of this run */

#define NEEDS_BOX()                                                                                                    \
    if (!can_build) {                                                                                                  \
        print_message("skipped: containers cannot be made here\n");                                                    \
        skip();                                                                                                        \
    }
#define NEEDS_IDS()                                                                                                    \
    if (is_inner) {                                                                                                    \
        print_message("skipped: needs more than one user id\n");                                                       \
        skip();                                                                                                        \
    }

struct fixture {
    struct arena a;
    struct box_spec spec;
    char dir[96];
};

struct running {
    pid_t pid;
    int pidfd, out, report;
};

struct result {
    struct box_report first, last; /* reports; kind BOX_REPORT_KIND_MAX: none came */
    int wait;                      /* of the child itself */
    char out[16 << 10];
    size_t n;
};

/* ---- group ---- */

static inline bool enter_user_namespace(void)
{
    is_inner = own_user_namespace() == 0 && unshare(CLONE_NEWNS) == 0;
    return is_inner;
}

/* /srv of the run is another file system of "the host", with things to see and to hide. */
static inline int boxes_setup(void **state)
{
    struct user_root root;

    (void)state;
    can_build = is_inner || (geteuid() == 0 && user_enter(&root, NULL) == 0) || enter_user_namespace();
    if (can_build &&
        (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("t", "/srv", "tmpfs", 0, "mode=755") < 0))
        can_build = false;
    (void)snprintf(top, sizeof(top), "/tmp/pumice-box-%d-XXXXXX", (int)getpid());
    if (!mkdtemp(top))
        return -1;
    if (!can_build)
        return 0;
    write_text("/srv/data", "of the host\n");
    (void)mkdir("/srv/secret", 0755);
    write_text("/srv/secret/key", "secret\n");
    box_prepare();
    return 0;
}

static inline int boxes_teardown(void **state)
{
    (void)state;
    remove_tree(top);
    return 0;
}

static inline int box_setup(void **state)
{
    static int n;
    struct fixture *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->dir, sizeof(f->dir), "%s/%d", top, n++);
    if (mkdir(f->dir, 0755) < 0)
        return -1;
    f->spec = (struct box_spec){ .name = STR("main"), .uid = -1, .gid = -1 };
    f->spec.upper = arena_fmt(&f->a, "%s/state", f->dir);
    *vec_push(&f->a, &f->spec.env) = STR("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    box_refresh();
    *state = f;
    return 0;
}

static inline int box_teardown(void **state)
{
    struct fixture *f = *state;

    VEC_FOREACH(m, &f->spec.mounts)
        if (m->fd >= 0)
            close(m->fd);
    remove_tree(f->dir);
    arena_done(&f->a);
    free(f);
    return 0;
}

/* ---- containers ---- */

static inline void set_argv(struct fixture *f, const char *const *argv)
{
    f->spec.argv.n = 0;
    for (size_t i = 0; argv[i]; i++)
        *vec_push(&f->a, &f->spec.argv) = str_of(argv[i]);
}

static inline void set_script(struct fixture *f, const char *script)
{
    set_argv(f, (const char *const[]){ "sh", "-c", script, NULL });
}

static inline void bring_lo_up(void)
{
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0) {
        (void)ioctl(fd, SIOCSIFFLAGS, &lo);
        close(fd);
    }
}

static inline void take_streams(int out)
{
    int null = open("/dev/null", O_RDONLY);

    (void)dup2(null, 0);
    (void)dup2(out, 1);
    (void)dup2(out, 2);
}

static inline struct running start(struct fixture *f)
{
    struct running r = { .pidfd = -1 };
    struct clone_args args = { .flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET |
                                        CLONE_PIDFD,
                               .pidfd = (uint64_t)(uintptr_t)&r.pidfd,
                               .exit_signal = SIGCHLD };
    int out[2], report[2];

    if (f->spec.has_host_pids)
        args.flags &= ~(uint64_t)CLONE_NEWPID;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report), 0);
    (void)fflush(NULL);
    box_recheck();
    r.pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (r.pid == 0) {
        take_streams(out[1]);
        bring_lo_up();
        box_run(&f->spec, report[1]);
    }
    assert_true(r.pid > 0);
    close(out[1]);
    close(report[1]);
    r.out = out[0];
    r.report = report[0];
    return r;
}

/* Read what is there until 'text' was seen or the other side closed. False: it took too long. */
static inline bool read_until(int fd, struct result *res, const char *text)
{
    while (res->n + 1 < sizeof(res->out)) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        ssize_t n;

        if (text && strstr(res->out, text))
            return true;
        if (poll(&p, 1, 20000) <= 0)
            return false;
        n = read(fd, res->out + res->n, sizeof(res->out) - 1 - res->n);
        if (n <= 0)
            return !text;
        res->n += (size_t)n;
        res->out[res->n] = '\0';
    }
    return false;
}

static inline void finish(struct running *r, struct result *res)
{
    bool in_time = read_until(r->out, res, NULL);
    struct box_report report;

    if (!in_time)
        (void)kill(r->pid, SIGKILL);
    (void)waitpid(r->pid, &res->wait, 0);
    res->first.kind = res->last.kind = BOX_REPORT_KIND_MAX;
    while (recv(r->report, &report, sizeof(report), MSG_DONTWAIT) == (ssize_t)sizeof(report)) {
        if (res->first.kind == BOX_REPORT_KIND_MAX)
            res->first = report;
        res->last = report;
    }
    close(r->out);
    close(r->report);
    close(r->pidfd);
    if (!in_time)
        fail_msg("the container did not end; it said: %s", res->out);
}

static inline void run_box(struct fixture *f, struct result *res)
{
    struct running r = start(f);

    *res = (struct result){ 0 };
    finish(&r, res);
}

/* Run a script: its output and exit code. False, with words: they are not as wanted. */
static inline bool answers(struct fixture *f, const char *script, const char *out, int code)
{
    struct result res;

    set_script(f, script);
    run_box(f, &res);
    if (res.first.kind == BOX_FAILED)
        print_error("\"%s\": %s: %s\n", script, res.first.reason, res.first.text);
    else if (strcmp(res.out, out) != 0)
        print_error("\"%s\" says \"%s\", not \"%s\"\n", script, res.out, out);
    else if (res.last.kind != BOX_ENDED || !WIFEXITED(res.last.status) || WEXITSTATUS(res.last.status) != code)
        print_error("\"%s\" ended with %#x, not %d; it said \"%s\"\n", script, (unsigned)res.last.status, code,
                    res.out);
    else
        return true;
    return false;
}

static inline void expect(struct fixture *f, const char *script, const char *out, int code)
{
    assert_true(answers(f, script, out, code));
}

static inline void expect_failure(struct fixture *f, const char *name, const char *reason, const char *text)
{
    struct result res;

    run_box(f, &res);
    if (res.first.kind != BOX_FAILED)
        fail_msg("%s: did not fail, said \"%s\"", name, res.out);
    if (strcmp(res.first.reason, reason) != 0 || !strstr(res.first.text, text))
        fail_msg("%s: %s: %s", name, res.first.reason, res.first.text);
    assert_int_equal(res.first.status, 128);
    assert_int_equal(res.last.kind, BOX_FAILED);
    assert_string_equal(res.out, "");
}

static inline void wait_started(const struct running *r)
{
    struct pollfd p = { .fd = r->report, .events = POLLIN };

    assert_int_equal(poll(&p, 1, 20000), 1);
}

static inline void add_volume(struct fixture *f, const char *path, bool is_read_only, const char *target)
{
    struct err e;
    int fd = -1;

    fd = box_clone_mount(-1, path, is_read_only, false, &e);
    if (fd < 0)
        fail_msg("%s", e.text);
    *vec_push(&f->a, &f->spec.mounts) = (struct box_mount){ fd, str_of(target) };
}

/* Runs 's' in the container, as a shim does; the exit code. 'after_ms' >= 0: SIGTERM after that long. */
static inline int run_exec(struct fixture *f, const struct running *r, int after_ms, struct result *res)
{
    int out[2], status;
    pid_t pid;

    *res = (struct result){ 0 };
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        take_streams(out[1]);
        box_exec(&f->spec, r->pidfd);
    }
    assert_true(pid > 0);
    close(out[1]);
    if (after_ms >= 0) {
        (void)usleep((useconds_t)after_ms * 1000);
        (void)kill(pid, SIGTERM);
    }
    if (!read_until(out[0], res, NULL))
        (void)kill(pid, SIGKILL);
    close(out[0]);
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* As we are; and if that is root, again in a user namespace. Signals are set back as the spawner does it. */
static inline int boxes_main(const char *name, const struct CMUnitTest *tests, size_t n)
{
    int failed, status = 0;
    pid_t pid;

    for (int signo = 1; signo < NSIG; signo++)
        (void)signal(signo, SIG_DFL);
    is_inner = getenv("BOXES_INNER") != NULL;
    failed = _cmocka_run_group_tests(name, tests, n, boxes_setup, boxes_teardown);
    if (is_inner)
        return failed;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        /* A process that is not dumpable is open to whom may trace where it was executed: in there, as the spawner is. */
        if (enter_user_namespace() && setenv("BOXES_INNER", "1", 1) == 0)
            (void)execl("/proc/self/exe", name, NULL);
        print_message("skipped: no user namespace\n");
        exit(0);
    }
    (void)waitpid(pid, &status, 0);
    return failed + (WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

#define BOX_TEST(fn) cmocka_unit_test_setup_teardown(fn, box_setup, box_teardown)

#endif
