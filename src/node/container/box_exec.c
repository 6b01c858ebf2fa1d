/* box_exec.c - a command in a running container
 *
 * The waiting process stays outside of the container's pid namespace, so nothing inside can see or signal it. The
 * child is inside, and is already confined when it is born there.
 */
#include "node/container/box_internal.h"
#include "os/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

static _Noreturn void box_exec_fail(int code, const char *text)
{
    (void)dprintf(2, "%s\n", text);
    _exit(code);
}

/* The container may have replaced its working directory by a symbolic link. A link through /proc/self/fd would lead
 * to the host, since some inherited descriptors are directories there. */
static int enter_cwd(const struct box *b, struct err *e)
{
    struct str cwd = b->spec->cwd.n ? b->spec->cwd : STR("/");
    autoclose int fd = path_open_in(b->root, cwd, O_PATH | O_DIRECTORY);

    return fd < 0 || fchdir(fd) < 0 ? err_errno(e, "chdir to \"%.*s\"", STR_ARG(cwd)) : 0;
}

/* All at once, or one by one: an ordinary user may not enter those of the host, where a pod with hostNetwork is. It
 * need not: our parent is in them too. The child enters the pid namespace in box_program_join(). */
static int enter_namespaces(int init)
{
    static const int all[] = { CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWNS };
    int flags = 0;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        flags |= all[i];
    if (setns(init, flags) == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (setns(init, all[i]) < 0 && (errno != EPERM || all[i] == CLONE_NEWNS))
            return -1;
    return 0;
}

/* The pid in our /proc of the process behind a pidfd; -1: it has ended. */
static int64_t pid_of(int pidfd)
{
    char path[64], line[128];
    int64_t pid = -1;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    autofile FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (str_starts(str_of(line), STR("Pid:")) && str_to_i64(str_trim(str_from(str_of(line), 4)), &pid) < 0)
            pid = -1;
    return pid;
}

static int open_init_root(int init)
{
    int64_t pid = pid_of(init);
    char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/root", pid);
    fd = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (pid > 0 && syscall(SYS_pidfd_send_signal, init, 0, NULL, 0) == 0)
        return fd;
    if (fd >= 0) /* the pid may belong to another process now */
        close(fd);
    errno = ESRCH;
    return -1;
}

/* setns() leaves us at the root of the mount namespace. If the container was made in a chroot, that is the machine's
 * root, not the container's. So use the root of process 1. */
static int box_exec_enter(struct box *b, int init, struct err *e)
{
    b->root = open_init_root(init);
    if (b->root < 0 || enter_namespaces(init) < 0) {
        if (errno == ESRCH)
            return err_set(e, ERR_GONE, "the container has ended");
        return err_errno(e, "enter the container");
    }
    if (fchdir(b->root) < 0 || chroot(".") < 0)
        return err_errno(e, "enter the container's root");
    return enter_cwd(b, e);
}

/* The container may have put anything at this path; only the kernel's terminals answer TIOCGPTN. */
static int box_exec_open_terminal(const struct box *b, int *ret_master)
{
    /* This process is not in the container's user namespace yet. */
    uid_t owner = b->spec->enters_user_ns ? box_ids_outer(b, b->who.uid) : b->who.uid;
    unsigned number;
    int unlocked = 0, slave;

    *ret_master = path_open_in(b->root, STR("/dev/pts/ptmx"), O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (*ret_master < 0 || ioctl(*ret_master, TIOCGPTN, &number) < 0 || ioctl(*ret_master, TIOCSPTLCK, &unlocked) < 0)
        return -1;
    slave = ioctl(*ret_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave >= 0)
        (void)!fchown(slave, owner, (gid_t)-1); /* so that the program can open it by name */
    return slave;
}

static int take_terminal(const struct box *b, struct err *e)
{
    autoclose int master = -1, slave = -1;

    if (!b->spec->has_tty)
        return 0;
    slave = box_exec_open_terminal(b, &master);
    if (slave < 0 || wire_send_fd(0, "t", 1, master, 0) < 0 || dup2(slave, 0) < 0 || dup2(slave, 1) < 0 ||
        dup2(slave, 2) < 0)
        return err_errno(e, "create a terminal in the container");
    return 0;
}

/* SIGTERM, SIGINT and SIGHUP mean that the time limit has passed. The program leads its own process group, which is
 * killed too. */
static _Noreturn void box_exec_wait_for(pid_t program)
{
    sigset_t set;
    int signo, status;

    sigfillset(&set);
    for (;;) {
        signo = sigwaitinfo(&set, NULL);
        if (signo == SIGCHLD && waitpid(program, &status, WNOHANG) == program)
            _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
        if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP) {
            (void)kill(-program, SIGKILL);
            (void)kill(program, SIGKILL);
        }
    }
}

_Noreturn void box_exec(const struct box_spec *s, int init)
{
    struct box b = { .spec = s, .root = -1 };
    struct box_program program;
    struct err e;
    pid_t pid;

    box_block_signals();
    box_set_oom_score(s->oom_score_adj);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (box_program_init(&b.arena, s, &program, &e) < 0 || box_exec_enter(&b, init, &e) < 0 ||
        box_find_who(&b, &e) < 0 || box_find_caps(&b, &e) < 0 || take_terminal(&b, &e) < 0)
        box_exec_fail(CANNOT_RUN, e.text);
    program.pids = s->has_host_pids ? -1 : s->join ? s->join->pids : init;
    box_keep_only((int[]){ program.pids, s->user_ns }, 2);
    program.who = &b.who;
    program.caps = b.caps;
    program.dies_with_parent = true;
    pid = box_program_join(&b.arena, &program);
    if (pid < 0)
        box_exec_fail(program.not_found ? NOT_FOUND : CANNOT_RUN, program.err.text);
    (void)close_range(0, ~0U, 0);
    box_keep_cap(CAP_KILL);
    box_exec_wait_for(pid);
}
