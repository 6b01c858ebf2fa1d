/* oci.c - run a container by an OCI runtime
 *
 *     oci_run ── pause_run      ──▶ process 1: holds the pid namespace
 *             ── runtime create ──▶ the container's process, waiting; our child, since we are a subreaper
 *             ── runtime start  ──▶ its program runs
 *             ── waitpid        ──▶ its exact exit code or signal
 *
 * The runtime keeps its state in the bundle, so it is removed with it, and all processes end with process 1. A
 * runtime that leaves nothing else (cgroups) need not be called again. The state and config.json contain the
 * container's environment: the bundle is not on a disk.
 */
#include "node/oci/oci_internal.h"

#include "base/util.h"
#include "node/container/box_build.h"
#include "node/container/pause.h"
#include "os/io.h"
#include "os/path.h"
#include "os/tree.h"

#include <errno.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CANNOT_START = 128, START_MS = 120 * 1000, CLEAN_MS = 3000, ENDED_MS = 1000 };

/* ---- reports ---- */

static void oci_report(int report, enum box_report_kind kind, int status, const char *reason, const char *text)
{
    struct box_report r = { .kind = kind, .status = status };

    (void)snprintf(r.reason, sizeof(r.reason), "%s", reason);
    (void)snprintf(r.text, sizeof(r.text), "%s", text);
    (void)send(report, &r, sizeof(r), MSG_NOSIGNAL); /* no reader: we exit anyway */
}

/* Unmount what is mounted in the bundle. */
static void oci_detach(const struct oci_run *r)
{
    (void)umount2(r->pids, MNT_DETACH | UMOUNT_NOFOLLOW);
    (void)umount2(r->dev, MNT_DETACH | UMOUNT_NOFOLLOW);
}

static void remove_bundle(struct oci_run *r)
{
    struct str path = str_of(r->place->bundle);
    ptrdiff_t slash = str_rfind_char(path, '/');
    autoclose int parent = open(arena_cstr(&r->arena, str_sub(path, 0, (size_t)slash)),
                                O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    oci_detach(r);
    (void)tree_remove(parent, path.p + slash + 1, NULL); /* leftovers are removed with the run's files */
}

/* Process 1 dies with us, and everything the runtime started in its namespace with it. */
static _Noreturn void oci_fail(struct oci_run *r, const char *reason, const char *text)
{
    oci_detach(r);
    oci_clean(r->place);
    oci_report(r->report, BOX_FAILED, CANNOT_START, reason, text);
    _exit(CANNOT_START);
}

static _Noreturn void fail_errno(struct oci_run *r, const char *what)
{
    oci_fail(r, box_create_error, arena_fmt(&r->arena, "%s: %s", what, strerror(errno)).p);
}

/* Texts of runtimes for a program that cannot be executed. */
static const char *reason_of_error(const char *text)
{
    static const char *const signs[] = { "exec: ", "executable file", "exec user process", "open executable" };

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (strstr(text, signs[i]))
            return box_start_error;
    return box_create_error;
}

/* ---- building ---- */

static const struct {
    int (*run)(struct box *b, struct err *e);
    const char *reason;
} steps[] = {
    { box_root_make, box_create_error },  { box_fill, box_create_error },         { box_fill_dev, box_create_error },
    { box_add_mounts, box_create_error }, { box_find_who, box_config_error },     { box_find_caps, box_config_error },
    { box_find_cwd, box_create_error },   { box_root_protect, box_create_error },
};

/* Unmount our /proc: the runtime mounts the container's own. By descriptor, since the image may have a link at /proc.
 */
static int unmount_proc(const struct box *b)
{
    autoclose int proc = path_open_in(b->root, STR("/proc"), O_PATH | O_DIRECTORY);
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", proc);
    return proc < 0 ? -1 : umount2(path, MNT_DETACH);
}

/* Bind /dev into the bundle: a runtime leaves /dev alone if it has to bind something there. It opens the source by
 * path in the machine, so not a path below the root, where the image may have a link. */
static int bind_dev(const struct oci_run *r, const struct box *b)
{
    autoclose int dev = path_open_in(b->root, STR("/dev"), O_PATH | O_DIRECTORY);
    autoclose int copy = dev < 0 ? -1 : box_mount_clone(dev, "", true);
    autoclose int target = mkdir(r->dev, 0700) < 0 ? -1 : open(r->dev, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return copy < 0 || target < 0 ? -1 : box_mount_attach(copy, target);
}

/* Build the root, mounted at r->rootfs in our own mount namespace. */
static void oci_build(struct oci_run *r, struct box *b)
{
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (steps[i].run(b, &e) < 0)
            oci_fail(r, steps[i].reason, e.text);
    if (bind_dev(r, b) < 0)
        fail_errno(r, "bind /dev for the runtime");
    if (!r->spec->has_host_pids && unmount_proc(b) < 0)
        fail_errno(r, "unmount /proc for the runtime");
}

/* Lower it ourselves if permitted: runtimes fail if they are not. */
static int set_oom_score(struct oci_run *r)
{
    int64_t now;

    box_set_oom_score(r->spec->oom_score_adj);
    return str_to_i64(str_trim(oci_file_read(&r->arena, "/proc/self/oom_score_adj")), &now) < 0 ? 0 : (int)now;
}

static void oci_write_config(struct oci_run *r, const struct box *b)
{
    const char *path = arena_fmt(&r->arena, "%s/config.json", r->place->bundle).p;
    struct oci_process who = { .uid = b->who.uid, .gid = b->who.gid, .home = b->who.home, .caps = b->caps };
    autobuf text = { 0 };

    for (size_t i = 0; i < b->who.groups.n; i++)
        *vec_push(&r->arena, &who.groups) = b->who.groups.v[i];
    who.oom_score_adj = set_oom_score(r);
    who.has_fixed_groups = box_groups_are_fixed();
    who.pids = r->spec->has_host_pids ? NULL : r->pids;
    oci_config(&text, r->spec, r->place, &who, r->rootfs);
    if (file_write(AT_FDCWD, path, O_TRUNC, 0600, buf_view(&text)) < 0)
        fail_errno(r, arena_fmt(&r->arena, "write %s", path).p);
}

/* Keep the runtime from creating cgroups; in our mount namespace only. If this fails, the runtime reports an error,
 * or creates cgroups that it removes later. */
static void restrict_cgroups(struct oci_run *r)
{
    static const char all[] = "/sys/fs/cgroup", unified[] = "/sys/fs/cgroup/unified";
    const struct oci_kind *kind = oci_kind(r);

    if (r->place->group)
        return;
    if (kind->hates_hybrid && access(unified, F_OK) == 0)
        (void)mount("tmpfs", unified, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k");
    if (kind->tries_groups) {
        autoclose int top = open(all, O_PATH | O_DIRECTORY | O_CLOEXEC);

        (void)box_mount_set(top, MOUNT_ATTR_RDONLY, true);
    }
}

/* ---- process 1 ---- */

static pid_t clone_pause(const int pair[2])
{
    struct clone_args args = { .flags = CLONE_NEWPID | CLONE_NEWNS, .exit_signal = SIGCHLD };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    char byte;

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)prctl(PR_SET_NAME, "pumice-init", 0, 0, 0);
    close(pair[0]);
    if (recv(pair[1], &byte, 1, 0) != 1) /* the parent died before it bound our namespace */
        _exit(1);
    pause_run(pair[1]);
}

/* Bind the namespace to a file: /proc/<pid> is soon closed to all, in a user namespace also to the runtime. */
static bool bind_pids(struct oci_run *r, pid_t init)
{
    autoclose int fd = open(r->pids, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    const char *from = arena_fmt(&r->arena, "/proc/%d/ns/pid", (int)init).p;

    return fd >= 0 && mount(from, r->pids, NULL, MS_BIND, NULL) == 0;
}

/* Bind the pod's pid namespace. */
static void bind_shared(struct oci_run *r)
{
    autoclose int fd = open(r->pids, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    const char *from = arena_fmt(&r->arena, "/proc/self/fd/%d", r->spec->join->pids).p;

    if (fd < 0 || mount(from, r->pids, NULL, MS_BIND, NULL) < 0)
        fail_errno(r, "bind the pid namespace of the pod");
}

static pid_t start_pause(struct oci_run *r)
{
    int pair[2];
    char byte = 0;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        fail_errno(r, "create a socket pair");
    pid = clone_pause(pair);
    close(pair[1]);
    if (pid < 0 || !bind_pids(r, pid))
        fail_errno(r, "create process 1 of the container");
    (void)send(pair[0], &byte, 1, MSG_NOSIGNAL);
    if (read(pair[0], &byte, 1) != 1) /* no process may join before it holds nothing */
        oci_fail(r, box_create_error, "process 1 of the container exited during start");
    close(pair[0]);
    return pid;
}

/* ---- the container's life ---- */

static void oci_call_or_fail(struct oci_run *r, const char *const *verb, bool is_quiet)
{
    struct err e;

    if (oci_call(r, verb, is_quiet, r->place->timeout_ms ? r->place->timeout_ms : START_MS, &e) < 0)
        oci_fail(r, reason_of_error(e.text), e.text);
}

static pid_t oci_create(struct oci_run *r)
{
    const char *const verb[] = { "create", "--bundle", r->place->bundle, "--pid-file", r->pid_file, r->id, NULL };
    siginfo_t info;
    int64_t pid;

    oci_call_or_fail(r, verb, false);
    if (str_to_i64(str_trim(oci_file_read(&r->arena, r->pid_file)), &pid) < 0 || pid <= 1 || pid > INT32_MAX)
        oci_fail(r, box_create_error,
                 arena_fmt(&r->arena, "%s did not report the process id of the container", r->place->runtime).p);
    /* Otherwise we would never get its exit status. */
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        oci_fail(r, box_create_error,
                 arena_fmt(&r->arena, "%s reported process %d, which is not our child", r->place->runtime, (int)pid).p);
    return (pid_t)pid;
}

/* oci_exec() trusts the pid file while it exists, so remove it before the pid can be reused. */
static bool oci_has_ended(const struct oci_run *r, pid_t program, int *ret_status)
{
    siginfo_t info = { 0 };

    if (waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != program)
        return false;
    (void)unlink(r->pid_file);
    return waitpid(program, ret_status, 0) == program;
}

static void reap_others(pid_t program)
{
    siginfo_t info = { 0 };

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && info.si_pid > 0 &&
           info.si_pid != program) {
        (void)waitpid(info.si_pid, NULL, WNOHANG | __WALL);
        info.si_pid = 0;
    }
}

static int oci_supervise(const struct oci_run *r, pid_t program)
{
    sigset_t all;
    int signo, status = 0;

    sigfillset(&all);
    while (!oci_has_ended(r, program, &status)) { /* it may have ended during the call of the runtime */
        signo = sigwaitinfo(&all, NULL);
        if (signo == SIGCHLD)
            reap_others(program);
        else if (signo > 0)
            (void)kill(program, signo);
    }
    return status;
}

static int oci_run_container(struct oci_run *r, pid_t init)
{
    const char *const start[] = { "start", r->id, NULL };
    pid_t program = oci_create(r);
    int status;

    oci_call_or_fail(r, start, true);
    (void)close_range(0, 2, 0); /* so that readers see end-of-file when the program closes its own */
    oci_report(r->report, BOX_STARTED, 0, "", "");
    status = oci_supervise(r, program);
    if (init > 0)
        (void)kill(init, SIGKILL);
    if (r->place->group || !oci_kind(r)->name)
        oci_clean(r->place);
    remove_bundle(r);
    return status;
}

_Noreturn void oci_run(const struct box_spec *s, const struct oci_place *p, int report)
{
    struct oci_run r = { .spec = s, .report = report };
    struct box_spec inner = *s; /* for the functions of box.h */
    struct box b = { .spec = &inner, .state = -1, .over = -1, .root = -1, .dev = -1, .empty = -1, .cwd = -1 };
    pid_t init = 0;
    struct err e;
    int status;

    oci_run_init(&r, p);
    r.rootfs = arena_cstr(&r.arena, s->upper); /* box.h mounts the root there */
    box_block_signals();
    umask(022);
    if (s->argv.n == 0 || s->argv.v[0].n == 0)
        oci_fail(&r, box_start_error, "no command specified");
    if (make_dirs(p->bundle, 0700, &e) < 0)
        oci_fail(&r, box_create_error, e.text);
    inner.has_host_pids = true; /* the runtime mounts /proc */
    inner.join = NULL;
    b.is_inner = box_in_user_namespace();
    (void)prctl(PR_SET_NAME, "pumice-oci", 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (unshare(CLONE_NEWNS) < 0)
        fail_errno(&r, "create a mount namespace");
    oci_build(&r, &b);
    restrict_cgroups(&r);
    if (s->join)
        bind_shared(&r);
    else if (!s->has_host_pids)
        init = start_pause(&r);
    oci_write_config(&r, &b);
    status = oci_run_container(&r, init);
    oci_report(report, BOX_ENDED, status, "", "");
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* ---- beside the container's life ---- */

_Noreturn void oci_exec(const struct box_spec *s, const struct oci_place *p)
{
    struct oci_run r = { 0 };
    int64_t pid;
    int program = -1;

    oci_run_init(&r, p);
    if (str_to_i64(str_trim(oci_file_read(&r.arena, r.pid_file)), &pid) == 0 && pid > 1 && pid <= INT32_MAX)
        program = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (program < 0 || access(r.pid_file, F_OK) < 0) { /* the file still exists: the pid was not reused */
        (void)poll(NULL, 0, ENDED_MS); /* let its end be reported first: this would look like a failed probe */
        (void)dprintf(2, "the container has ended\n");
        _exit(126);
    }
    box_exec(s, program); /* entering the namespaces works the same for all runtimes */
}

void oci_clean(const struct oci_place *p)
{
    struct oci_run r = { 0 };

    oci_run_init(&r, p);
    if (access(arena_fmt(&r.arena, "%s/%s", r.state, r.id).p, F_OK) == 0) {
        const char *const verb[] = { "delete", "--force", r.id, NULL };
        struct err e;

        (void)oci_call(&r, verb, true, CLEAN_MS, &e); /* best effort */
    }
    remove_bundle(&r);
    arena_done(&r.arena);
}
