/* shim_pod.c - what the containers of a pod share: namespaces, host name, sysctls, process 1 with
 * shareProcessNamespace */
#include "node/shim/shim_internal.h"

#include "base/util.h"
#include "node/container/pause.h"
#include "os/io.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

static const char pause_group[] = "sandbox.pause"; /* container names have no dot */

/* ---- sysctls ---- */

static int write_sysctls(const struct shim_pod *p, struct err *e)
{
    autobuf path = { 0 };

    if (!p->opt.sysctls.n)
        return 0;
    autoclose int dir = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
    VEC_FOREACH(s, &p->opt.sysctls) {
        if (sysctl_check(&p->opt, s->name, s->value, &path, e) < 0)
            return -1;
        if (control_write(dir, path.p, s->value) < 0)
            return err_errno(e, "sysctl %.*s=%.*s", STR_ARG(s->name), STR_ARG(s->value));
    }
    return 0;
}

/* ---- namespaces ---- */

static int pod_make_namespaces(const struct shim_pod *p, struct err *e)
{
    int flags = CLONE_NEWUTS | (p->opt.has_host_network ? 0 : CLONE_NEWNET) | (p->opt.has_host_ipc ? 0 : CLONE_NEWIPC);

    if (unshare(flags) < 0)
        return err_errno(e, "create the pod's namespaces");
    if (p->opt.hostname.n && sethostname(p->opt.hostname.p, p->opt.hostname.n) < 0)
        return err_errno(e, "set host name %.*s", STR_ARG(p->opt.hostname));
    return write_sysctls(p, e);
}

/* ---- process 1 of a pod with shared processes ---- */

static _Noreturn void be_pause(const struct shim_pod *p, const int pair[2])
{
    char byte;

    close(pair[0]);
    spawner_name(&p->own->area, "pumice-pause", p->opt.group);
    if (recv(pair[1], &byte, 1, 0) != 1) /* the shim died before it opened our namespace */
        _exit(1);
    pause_run(pair[1]); /* the spawner has blocked SIGCHLD */
}

static int open_namespace(pid_t pid, const char *kind, struct err *e)
{
    char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_errno(e, "open %s", path) : fd;
}

/* Open its namespaces first: afterwards it is not dumpable, and only root of the machine may open them. */
static int take_pause(struct shim_pod *p, int sock, struct err *e)
{
    char ready = 1;

    p->shared.pids = open_namespace(p->pause_pid, "pid", e);
    p->shared.mounts = p->shared.pids < 0 ? -1 : open_namespace(p->pause_pid, "mnt", e);
    if (p->shared.mounts < 0)
        return -1;
    if (send(sock, &ready, 1, MSG_NOSIGNAL) != 1 || /* containers may join only after that */
        wire_recv_fd(sock, &ready, 1, 0, &p->shared.proc) != 1)
        return err_set(e, ERR_IO, "it exited during start");
    return 0;
}

static void forget_pause(struct shim_pod *p)
{
    const int fds[] = { p->shared.pids, p->shared.mounts, p->shared.proc };

    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    p->shared = (struct box_join){ -1, -1, -1 };
}

int pod_make_pause(struct shim_pod *p, struct err *e)
{
    autobuf group = { 0 };
    int pair[2], rc;
    pid_t pid;

    forget_pause(p);
    buf_fmt(&group, "%s/%s", p->opt.group, pause_group);
    if (cgroup_make(p->own->opt->cgroups, group.p, NULL, e) < 0 || wire_pair(pair, e) < 0)
        return -1;
    pid = pod_clone(p, group.p, CLONE_NEWPID | CLONE_NEWNS, NULL, e);
    if (pid == 0 && e->code)
        _exit(1);
    if (pid == 0)
        be_pause(p, pair);
    close(pair[1]);
    p->pause_pid = MAX_OF(pid, 0);
    rc = pid < 0 ? -1 : take_pause(p, pair[0], e);
    close(pair[0]);
    return rc < 0 ? err_wrap(e, "start process 1 of the pod") : 0;
}

int pod_make(struct shim_pod *p, struct err *e)
{
    p->opt.limits.dies_whole = p->opt.only.n;
    if (cgroup_make(p->own->opt->cgroups, p->opt.group, &p->opt.limits, e) < 0 || pod_make_namespaces(p, e) < 0)
        return -1;
    p->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (p->null < 0)
        return err_errno(e, "open /dev/null");
    pod_make_user_ns(p);
    return p->opt.shares_pids && !p->opt.has_host_pids ? pod_make_pause(p, e) : 0;
}
