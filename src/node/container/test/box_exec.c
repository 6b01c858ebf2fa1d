/* box_exec.c - commands in running containers; the filter of system calls; a real ssh server */
#include "node/container/test/boxes.h"

#include <limits.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>

/* ---- exec ---- */

static void test_exec(void **state)
{
    static const struct {
        const char *name, *argv[4], *out;
        int code;
    } cases[] = {
        { "sees the container", { "sh", "-c", "cat /tmp/mark; cat /proc/1/comm; id -u" }, "mark\npumice-init\n0\n", 0 },
        { "code", { "sh", "-c", "exit 3" }, "", 3 },
        { "signal", { "sh", "-c", "kill -9 $$" }, "", 137 },
        { "missing", { "nope-not-here" }, "exec: \"nope-not-here\": executable file not found in $PATH\n", 127 },
        { "directory", { "/etc" }, "exec: \"/etc\": is a directory\n", 126 },
        { "not executable", { "/etc/passwd" }, "exec: \"/etc/passwd\": permission denied\n", 126 },
        { "filter", { "sh", "-c", "grep ^Seccomp: /proc/self/status" }, "Seccomp:\t2\n", 0 },
        { "capabilities",
          { "sh", "-c", "diff /proc/$(cat /tmp/pid)/status /proc/self/status | grep Cap; ls /proc/self/fd | wc -l" },
          "4\n",
          0 },
        { "network", { "ls", "/sys/class/net" }, "lo\n", 0 },
    };
    struct fixture *f = *state;
    struct result res = { 0 }, main_res = { 0 };
    struct running r;

    NEEDS_BOX();
    set_script(f, "echo mark >/tmp/mark; echo $$ >/tmp/pid; echo up; exec sleep 100");
    r = start(f);
    wait_started(&r);
    assert_true(read_until(r.out, &main_res, "up\n"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int code;

        set_argv(f, cases[i].argv);
        code = run_exec(f, &r, -1, &res);
        if (code != cases[i].code || strcmp(res.out, cases[i].out) != 0) {
            (void)kill(r.pid, SIGKILL);
            fail_msg("%s: code %d, said \"%s\"", cases[i].name, code, res.out);
        }
    }
    (void)kill(r.pid, SIGKILL);
    finish(&r, &main_res);
    set_argv(f, (const char *const[]){ "true", NULL });
}

static void test_exec_ends(void **state)
{
    struct fixture *f = *state;
    struct result res = { 0 }, main_res = { 0 };
    struct running r;

    NEEDS_BOX();
    set_script(f, "echo up; exec sleep 100");
    r = start(f);
    wait_started(&r);
    assert_true(read_until(r.out, &main_res, "up\n"));
    set_script(f, "trap '' TERM; echo a; sleep 100; echo b");
    assert_int_equal(run_exec(f, &r, 100, &res), 137);
    assert_string_equal(res.out, "a\n");
    (void)kill(r.pid, SIGKILL);
    (void)waitid(P_PIDFD, (id_t)r.pidfd, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
    assert_int_equal(run_exec(f, &r, -1, &res), 126); /* it has ended */
    finish(&r, &main_res);
}

static void test_exec_user(void **state)
{
    struct fixture *f = *state;
    struct result res = { 0 }, main_res = { 0 };
    struct running r;

    NEEDS_BOX();
    NEEDS_IDS();
    f->spec.user = STR("daemon");
    f->spec.cwd = STR("/made");
    set_script(f, "trap 'echo bye; exit' TERM; echo up; while :; do sleep 0.01; done");
    r = start(f);
    wait_started(&r);
    assert_true(read_until(r.out, &main_res, "up\n"));
    set_script(f, "id -un; pwd; grep ^CapEff /proc/self/status");
    assert_int_equal(run_exec(f, &r, -1, &res), 0);
    assert_string_equal(res.out, "daemon\n/made\nCapEff:\t0000000000000000\n");
    (void)kill(r.pid, SIGTERM); /* process 1 may signal another user */
    finish(&r, &main_res);
    assert_string_equal(main_res.out, "up\nbye\n");
}

/* A copy of all mounts with another /srv. */
static void enter_chroot(const struct fixture *f)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/root", f->dir);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(mount("/", path, NULL, MS_BIND | MS_REC, NULL), 0);
    assert_int_equal(chroot(path), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(mount("t", "/srv", "tmpfs", 0, "mode=755"), 0);
    write_text("/srv/where", "in the chroot\n");
}

static void leave_chroot(const struct fixture *f, int root)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/root", f->dir);
    assert_int_equal(fchdir(root), 0);
    assert_int_equal(chroot("."), 0);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
}

/* The root of the mount namespace is not that of the container here. */
static void test_exec_in_chroot(void **state)
{
    struct fixture *f = *state;
    struct result res = { 0 }, main_res = { 0 };
    struct running r;

    NEEDS_BOX();
    autoclose int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    enter_chroot(f);
    set_script(f, "cat /srv/where; exec sleep 100");
    r = start(f);
    wait_started(&r);
    assert_true(read_until(r.out, &main_res, "in the chroot\n"));
    set_script(f, "cat /srv/where /proc/1/comm");
    assert_int_equal(run_exec(f, &r, -1, &res), 0);
    assert_string_equal(res.out, "in the chroot\npumice-init\n");
    (void)kill(r.pid, SIGKILL);
    finish(&r, &main_res);
    leave_chroot(f, root);
}

/* ---- system calls ---- */

static long call_clone(unsigned long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    if (pid > 0)
        (void)waitpid((pid_t)pid, NULL, 0);
    return pid;
}

/* Bit i: the i-th does not answer as it should. */
static int count_wrong(void)
{
    struct clone_args args = { .exit_signal = SIGCHLD };
    const struct {
        long result;
        int no, want;
    } calls[] = {
#define CALL(x, want) { (errno = 0, (x)), errno, (want) }
        CALL(syscall(SYS_mount, 0, 0, 0, 0, 0), EPERM),
        CALL(syscall(SYS_umount2, 0, 0), EPERM),
        CALL(syscall(SYS_fsopen, "tmpfs", 0), EPERM),
        CALL(syscall(SYS_open_tree, -1, "/", 0), EPERM),
        CALL(syscall(SYS_unshare, 0), EPERM),
        CALL(syscall(SYS_setns, -1, 0), EPERM),
        CALL(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, 0, 0), EPERM),
        CALL(syscall(SYS_bpf, 0, 0, 0), EPERM),
        CALL(syscall(SYS_perf_event_open, 0, 0, 0, 0, 0), EPERM),
        CALL(syscall(SYS_userfaultfd, -1), EPERM),
        CALL(syscall(SYS_open_by_handle_at, -1, 0, 0), EPERM),
        CALL(syscall(SYS_io_uring_setup, 0, 0), EPERM),
        CALL(syscall(SYS_reboot, 0, 0, 0, 0), EPERM),
        CALL(syscall(SYS_clock_settime, 0, 0), EPERM),
        CALL(syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0), EPERM),
        CALL(syscall(SYS_socket, INT64_C(1) << 32 | AF_VSOCK, SOCK_STREAM, 0), EPERM),
        CALL(call_clone(CLONE_NEWUSER), EPERM),
        CALL(call_clone(CLONE_NEWNET | CLONE_NEWUSER), EPERM),
        CALL(syscall(SYS_clone3, &args, sizeof(args)), ENOSYS),
        CALL(call_clone(0), 0),
        CALL(syscall(SYS_getpid), 0),
        CALL(syscall(SYS_close, syscall(SYS_socket, AF_INET, SOCK_STREAM, 0)), 0),
        CALL(syscall(SYS_ptrace, -1, 0, 0, 0), ESRCH), /* a process may look at its children */
#undef CALL
    };

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (calls[i].no != calls[i].want)
            return (int)i + 1;
    return 0;
}

static void test_seccomp(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        struct err e;

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || box_seccomp_load(0, &e) < 0)
            _exit(100);
        _exit(count_wrong());
    }
    (void)waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("call %d answers something else", WEXITSTATUS(status) - 1);
}

/* ---- sshd ---- */

static void test_sshd(void **state)
{
    struct fixture *f = *state;
    char command[1000];

    NEEDS_BOX();
    NEEDS_IDS();
    if (access("/usr/sbin/sshd", X_OK) < 0 || access("/etc/ssh/ssh_host_ed25519_key", R_OK) < 0 ||
        access("/usr/bin/ssh-keygen", X_OK) < 0) {
        print_message("skipped: no ssh server here\n");
        skip();
    }
    (void)snprintf(
        command, sizeof(command),
        "mkdir -m 700 %s/ssh && ssh-keygen -q -t ed25519 -N '' -f %s/ssh/id_ed25519 && cp %s/ssh/id_ed25519.pub "
        "%s/ssh/authorized_keys && echo 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR' "
        ">%s/ssh/config",
        f->dir, f->dir, f->dir, f->dir, f->dir);
    assert_int_equal(system(command), 0);
    add_volume(f, arena_fmt(&f->a, "%s/ssh", f->dir).p, false, "/root/.ssh");
    expect(f,
           "mkdir -p /run/sshd && /usr/sbin/sshd && until ssh 127.0.0.1 true 2>/dev/null; do sleep 0.05; done && ssh "
           "127.0.0.1 'echo in as $(id -un)' && ssh -tt 127.0.0.1 tty </dev/null 2>/dev/null | grep -c /dev/pts/",
           "in as root\n1\n", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOX_TEST(test_exec),           BOX_TEST(test_exec_ends), BOX_TEST(test_exec_user),
        BOX_TEST(test_exec_in_chroot), BOX_TEST(test_seccomp),   BOX_TEST(test_sshd),
    };

    return boxes_main("box_exec", tests, ARRAY_LEN(tests));
}
