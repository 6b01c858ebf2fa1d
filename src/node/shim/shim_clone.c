/* shim_clone.c - a child of a shim, born in a cgroup and in the namespaces it belongs to */
#include "node/shim/shim_internal.h"

#include "base/util.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* What a child has of the shim and must not keep. */
static void forget_shim(const struct pod *p)
{
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM };

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        (void)signal(ignored[i], SIG_DFL);
    (void)setrlimit(RLIMIT_NOFILE, &p->own->files);
}

static pid_t clone_here(struct clone_args *args, struct err *e)
{
    pid_t pid = (pid_t)syscall(SYS_clone3, args, sizeof(*args));

    if (pid < 0)
        (void)err_errno(e, errno == EAGAIN ? "make a process (is a limit on processes reached?)" : "make a process");
    return pid;
}

struct born { /* what a midwife tells */
    pid_t pid;
    struct err e;
};

/* In a process between: who goes there does not come back, for leaving a pid namespace needs rights over the one
 * that is gone to, and an ordinary user has none over the host's. The child is a child of the shim (CLONE_PARENT),
 * which also gives it the signal at its end. */
static pid_t be_midwife(struct clone_args *args, int pids_fd, int out)
{
    struct born born = { .pid = -1 };

    args->flags = (args->flags & ~(uint64_t)CLONE_PIDFD) | CLONE_PARENT;
    args->exit_signal = 0;
    if (setns(pids_fd, CLONE_NEWPID) < 0) {
        (void)err_errno(&born.e, "join the pod's processes");
    } else if ((born.pid = clone_here(args, &born.e)) == 0) {
        close(out);
        return 0;
    }
    _exit(write(out, &born, sizeof(born)) == sizeof(born) ? 0 : 1);
}

static pid_t clone_there(struct clone_args *args, int pids_fd, int *ret_pidfd, struct err *e)
{
    struct born born = { .pid = -1 };
    int pair[2];
    pid_t midwife;

    (void)err_set(&born.e, ERR_IO, "make a process in the pod's namespace");
    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_errno(e, "make a pipe");
    midwife = fork();
    if (midwife == 0)
        return be_midwife(args, pids_fd, pair[1]);
    close(pair[1]);
    if (midwife < 0 || read(pair[0], &born, sizeof(born)) != sizeof(born))
        born.pid = -1;
    close(pair[0]);
    (void)proc_wait(midwife);
    if (born.pid > 0)
        *ret_pidfd = (int)syscall(SYS_pidfd_open, born.pid, 0); /* our child: it cannot be another of that id */
    else if (e)
        *e = born.e;
    return born.pid;
}

pid_t pod_clone(struct pod *p, const char *group, uint64_t flags, int pids_fd, int *ret_pidfd, struct err *e)
{
    struct cgroups *groups = p->own->opt->cgroups;
    autoclose int group_fd = group ? cgroup_birth_fd(groups, group) : -1;
    int pidfd = -1;
    struct clone_args args = {
        .flags = flags | CLONE_PIDFD | (group_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
        .cgroup = group_fd >= 0 ? (uint64_t)group_fd : 0,
    };
    pid_t pid = pids_fd >= 0 ? clone_there(&args, pids_fd, &pidfd, e) : clone_here(&args, e);

    if (pid == 0) {
        forget_shim(p);
        *e = (struct err){ 0 };
        if (group)
            (void)cgroup_enter(groups, group, group_fd >= 0, e); /* the caller looks at 'e' */
        return 0;
    }
    if (pid > 0 && ret_pidfd)
        *ret_pidfd = pidfd;
    else if (pid > 0)
        close(pidfd);
    return pid;
}

void pod_child_streams(int in, int out, int err)
{
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(127);
}
