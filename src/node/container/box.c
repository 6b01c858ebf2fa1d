/* box.c - a process becomes a container: the order of the steps, then the life of process 1
 *
 * The order matters. The root is completed before it is entered, because the steps need the host's /proc and /dev.
 * Users are looked up in the new root before that too, by descriptor. Process 1 is confined before it forks, because
 * the program may trace it.
 */
#include "node/container/box_internal.h"
#include "os/wire.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CANNOT_START = 128 };

/* ---- reports ---- */

static void report_failed(int report, const char *reason, const char *text)
{
    struct box_report r = { .kind = BOX_FAILED, .status = CANNOT_START };

    (void)snprintf(r.reason, sizeof(r.reason), "%s", reason);
    (void)snprintf(r.text, sizeof(r.text), "%s", text);
    (void)send(report, &r, sizeof(r), MSG_NOSIGNAL); /* no reader: we exit anyway */
}

/* -1: the reader has closed its end. */
static int report_simple(int report, enum box_report_kind kind, int status)
{
    struct box_report r = { .kind = kind, .status = status };

    return send(report, &r, sizeof(r), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int report_started(int report, pid_t program)
{
    struct box_report r = { .kind = BOX_STARTED };
    autoclose int pidfd = (int)syscall(SYS_pidfd_open, program, 0);

    return pidfd < 0 ? report_simple(report, BOX_STARTED, 0) : wire_send_fd(report, &r, sizeof(r), pidfd, 0);
}

/* ---- building ---- */

/* The container sees its own cgroup as the root. Kernels without cgroup namespaces show more in /proc/self/cgroup;
 * harmless. */
static int enter_cgroup_namespace(struct box *b, struct err *e)
{
    (void)b;
    (void)e;
    (void)unshare(CLONE_NEWCGROUP);
    return 0;
}

static const struct {
    int (*run)(struct box *b, struct err *e);
    const char *reason; /* of the failure report */
} steps[] = {
    { enter_cgroup_namespace, box_create_error },
    { box_root_make, box_create_error },
    { box_fill, box_create_error },
    { box_fill_dev, box_create_error },
    { box_add_mounts, box_create_error },
    { box_find_who, box_config_error },
    { box_find_caps, box_config_error },
    { box_find_cwd, box_create_error },
    { box_root_protect, box_create_error },
    { box_enter, box_create_error },
};

static void box_run_steps(struct box *b, int report)
{
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (steps[i].run(b, &e) < 0) {
            report_failed(report, steps[i].reason, e.text);
            _exit(CANNOT_START);
        }
}

/* ---- process 1 ---- */

/* Keep the container from inspecting this process: /proc/1/exe and /proc/1/root lead to the host. A process that is
 * not dumpable is closed to all without CAP_SYS_PTRACE in the user namespace where its program was started;
 * box_exec() has it. */
static void forbid_inspection(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a change of user clears it */
}

/* Reap all children that ended. True, with the status, when 'program' is among them. */
static bool box_reap(pid_t program, int *ret_status)
{
    bool is_over = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
        if (pid == program) {
            is_over = true;
            *ret_status = status;
        }
    return is_over;
}

/* When this process exits, the kernel kills everything else in the container. */
static _Noreturn void box_supervise(pid_t program, int report)
{
    sigset_t all;
    int signo, status = 0;

    sigfillset(&all);
    for (;;) {
        signo = sigwaitinfo(&all, NULL);
        if (signo == SIGCHLD && box_reap(program, &status))
            break;
        if (signo > 0 && signo != SIGCHLD)
            (void)kill(program, signo);
    }
    (void)report_simple(report, BOX_ENDED, status);
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Start the program: as a confined parent in the container, or as an invisible one outside of it. */
static pid_t box_start(struct box *b, struct box_program *program)
{
    if (b->spec->join)
        return box_program_join(&b->arena, program);
    if (box_program_confine(program) < 0)
        return -1;
    forbid_inspection();
    return box_program_start(&b->arena, program);
}

static void box_release(const struct box_spec *s)
{
    (void)close_range(0, 2, 0); /* so that readers see end-of-file when the program closes its own */
    (void)!chdir("/");
    if (s->join)
        box_keep_cap(CAP_KILL);
}

_Noreturn void box_run(const struct box_spec *s, int report)
{
    struct box b = { .spec = s, .state = -1, .over = -1, .root = -1, .dev = -1, .empty = -1, .cwd = -1 };
    struct box_program program;
    struct err e;
    pid_t pid;

    box_block_signals();
    umask(0);
    b.is_inner = box_in_user_namespace();
    box_set_oom_score(s->oom_score_adj);
    forbid_inspection();
    (void)prctl(PR_SET_NAME, "pumice-init", 0, 0, 0);
    if (box_program_init(&b.arena, s, &program, &e) < 0) {
        report_failed(report, box_start_error, e.text);
        _exit(CANNOT_START);
    }
    box_run_steps(&b, report);
    program.pids = s->join ? s->join->pids : -1;
    box_keep_only((int[]){ report, program.pids, s->user_ns }, 3);
    program.who = &b.who;
    program.caps = b.caps;
    if (s->has_host_pids)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid = box_start(&b, &program);
    if (pid < 0) {
        report_failed(report, program.reason, program.err.text);
        _exit(CANNOT_START);
    }
    box_release(s);
    if (report_started(report, pid) < 0)
        _exit(CANNOT_START); /* the shim has ended */
    box_supervise(pid, report);
}
