/* shim_clone.c - a child of a shim, born in a cgroup and in the namespaces it belongs to */
#include "node/shim/shim_internal.h"

#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Undo what a child must not inherit from the shim. */
static void forget_shim(const struct shim_pod *p)
{
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM };

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        (void)signal(ignored[i], SIG_DFL);
    (void)setrlimit(RLIMIT_NOFILE, &p->own->files);
}

static pid_t clone_process(struct clone_args *args, struct err *e)
{
    pid_t pid = (pid_t)syscall(SYS_clone3, args, sizeof(*args));

    if (pid < 0)
        (void)err_errno(e,
                        errno == EAGAIN ? "create a process (is the limit on processes reached?)" : "create a process");
    return pid;
}

pid_t pod_clone(struct shim_pod *p, const char *group, uint64_t flags, int *ret_pidfd, struct err *e)
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
    pid_t pid = clone_process(&args, e);

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
