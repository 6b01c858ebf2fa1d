/* shim_start.c - start a container, and send it signals */
#include "node/shim/shim_internal.h"

#include "base/log.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- drivers ---- */

static void run_box(const struct box_spec *s, const struct oci_place *place, int report)
{
    (void)place;
    box_run(s, report);
}

static void exec_box(const struct box_spec *s, const struct oci_place *place, int init)
{
    (void)place;
    box_exec(s, init);
}

static void run_oci(const struct box_spec *s, const struct oci_place *place, int report)
{
    oci_run(s, place, report);
}

static void exec_oci(const struct box_spec *s, const struct oci_place *place, int init)
{
    (void)init;
    oci_exec(s, place);
}

const struct shim_driver shim_driver_box = { true, run_box, exec_box, NULL };
const struct shim_driver shim_driver_oci = { false, run_oci, exec_oci, oci_clean };

/* ---- containers ---- */

struct con *pod_find(struct shim_pod *p, struct str name)
{
    LIST_FOREACH(struct con, c, &p->cons, link)
        if (str_is(name, c->name))
            return c;
    return NULL;
}

static void con_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void con_free(struct shim_pod *p, struct con *c)
{
    if (list_is_linked(&c->link))
        p->n_cons--;
    list_remove(&c->link);
    con_close_fd(&c->pidfd);
    con_close_fd(&c->program);
    con_close_fd(&c->report);
    con_close_fd(&c->in);
    con_detach_all(p, c, false);
    for (int i = 0; i < CONLOG_STREAM_MAX; i++)
        con_close_fd(&c->pipes[i]);
    conlog_close(c->log);
    arena_done(&c->arena);
    free(c);
}

/* ---- starting ---- */

static int con_open_log(struct shim_pod *p, struct con *c, struct err *e)
{
    struct str path = arena_fmt(&c->arena, "%s/%s.%d.log", p->opt.log_dir, c->name, c->attempt);

    return conlog_open(path.p, p->opt.log_bytes ? p->opt.log_bytes : SHIM_LOG_BYTES, &c->log, e);
}

/* Make a new cgroup for the container, so that its counters start at 0. The pod's cgroup is reused: remember its
 * counters. */
static int con_make_group(struct shim_pod *p, struct con *c, struct cgroup_limits *limits, struct err *e)
{
    struct cgroups *groups = p->own->opt->cgroups;

    if (c->is_only) {
        if (c->attempt > 0 && cgroup_use(groups, c->group, &c->before, NULL) < 0)
            c->before = (struct cgroup_stats){ 0 };
        return 0;
    }
    limits->dies_whole = true;
    if (p->has_leftover && cgroup_remove(groups, c->group, e) < 0)
        return err_wrap(e, "remove the cgroup of the previous attempt");
    return cgroup_make(groups, c->group, p->opt.only.n ? NULL : limits, e);
}

/* The container's ends of its streams and of the report socket. */
struct start_ends {
    int in, out[CONLOG_STREAM_MAX], report;
};

static void ends_done(struct start_ends *ends)
{
    con_close_fd(&ends->in);
    con_close_fd(&ends->out[0]);
    con_close_fd(&ends->out[1]);
    con_close_fd(&ends->report);
}

/* A terminal: one stream for stdout and stderr. */
static int start_open_terminal(struct con *c, struct start_ends *ends, struct err *e)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    if (master < 0)
        return err_errno(e, "create a terminal");
    c->pipes[CONLOG_STDOUT] = master;
    if (unlockpt(master) < 0 || (ends->in = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
        return err_errno(e, "create a terminal");
    c->in = c->spec.has_stdin ? fcntl(master, F_DUPFD_CLOEXEC, 3) : -1;
    return 0;
}

static int open_input(struct con *c, struct start_ends *ends, struct err *e)
{
    int pair[2];

    if (!c->spec.has_stdin)
        return 0;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_errno(e, "create a pipe for stdin");
    ends->in = pair[0];
    c->in = pair[1];
    return 0;
}

static int open_stream_pipes(struct con *c, struct start_ends *ends, struct err *e)
{
    for (int i = 0; i < CONLOG_STREAM_MAX; i++) {
        int pair[2];

        if (pipe2(pair, O_CLOEXEC) < 0)
            return err_errno(e, "create pipes for output");
        c->pipes[i] = pair[0];
        ends->out[i] = pair[1];
        (void)fcntl(pair[0], F_SETFL, O_NONBLOCK); /* our end only */
    }
    return open_input(c, ends, e);
}

static int open_streams(struct con *c, struct start_ends *ends, struct err *e)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, "create the report socket");
    c->report = pair[0];
    ends->report = pair[1];
    return c->spec.has_tty ? start_open_terminal(c, ends, e) : open_stream_pipes(c, ends, e);
}

static _Noreturn void be_container(struct shim_pod *p, struct con *c, const struct start_ends *ends,
                                   const struct err *e)
{
    if (e->code) {
        struct box_report r = { .kind = BOX_FAILED, .status = 128, .reason = "CreateContainerError" };

        (void)snprintf(r.text, sizeof(r.text), "%s", e->text);
        (void)!send(ends->report, &r, sizeof(r), MSG_NOSIGNAL);
        _exit(1);
    }
    close(c->report); /* or we would keep the report socket open; the same for inputs of all containers */
    con_close_fd(&c->in);
    LIST_FOREACH(struct con, other, &p->cons, link)
        con_close_fd(&other->in);
    spawner_name(&p->own->area, "pumice-init", c->name);
    if (c->spec.has_tty)
        pod_child_streams(ends->in, ends->in, ends->in);
    else
        pod_child_streams(ends->in >= 0 ? ends->in : p->null, ends->out[0], ends->out[1]);
    p->driver->run(&c->spec, &c->place, ends->report);
    _exit(127);
}

/* The pid namespace to join; NULL: a new one, or the host's. */
static int find_processes(struct shim_pod *p, struct con *c, const struct box_join **ret, struct err *e)
{
    const struct con *target = c->spec.target.n ? pod_find(p, c->spec.target) : NULL;
    bool is_shared = p->shared.pids >= 0;

    *ret = is_shared ? &p->shared : NULL;
    if (is_shared && !p->pause_pid && pod_make_pause(p, e) < 0)
        return -1;
    if (!c->spec.target.n || is_shared || p->opt.has_host_pids)
        return 0;                   /* the target is in the same namespace anyway */
    if (!p->driver->has_namespaces) /* our child is the OCI runtime, not the container */
        return err_set(e, ERR_INVALID,
                       "targetContainerName: not supported with an OCI runtime; leave it out, or set "
                       "shareProcessNamespace in the pod");
    if (!target || target->state != CON_RUNNING || target->has_status)
        return err_set(e, ERR_NOT_FOUND, "targetContainerName: container \"%.*s\" is not running",
                       STR_ARG(c->spec.target));
    c->join = target->spec.join ? *target->spec.join : (struct box_join){ target->pidfd, target->pidfd, -1 };
    *ret = &c->join;
    return 0;
}

static int launch_container(struct shim_pod *p, struct con *c, struct err *e)
{
    struct start_ends ends = { -1, { -1, -1 }, -1 };
    bool has_own;
    uint64_t flags;
    int r = -1;

    if (find_processes(p, c, &c->spec.join, e) < 0)
        return -1;
    has_own = !c->spec.join && !p->opt.has_host_pids;
    flags = p->driver->has_namespaces ? CLONE_NEWNS | (has_own ? CLONE_NEWPID : 0) : 0;
    c->spec.has_host_pids = p->opt.has_host_pids;
    pod_set_ids(p, &c->spec);
    if (open_streams(c, &ends, e) == 0) {
        box_recheck();
        c->pid = pod_clone(p, c->group, flags, &c->pidfd, e);
        if (c->pid == 0)
            be_container(p, c, &ends, e);
        r = c->pid < 0 ? -1 : 0;
    }
    ends_done(&ends);
    return r;
}

static void fill_place(struct shim_pod *p, struct con *c)
{
    if (!p->own->opt->oci)
        return;
    c->place = (struct oci_place){
        .runtime = p->own->opt->oci,
        .id = arena_fmt(&c->arena, "%s-%s-%d", p->opt.group, c->name, c->attempt).p,
        .bundle = arena_fmt(&c->arena, "%s/%s.%s.%d", p->own->opt->oci_dir, p->opt.group, c->name, c->attempt).p,
    };
}

static int start_container(struct shim_pod *p, struct con *c, const struct wire_msg *m, struct wire_read *r,
                           struct err *e)
{
    struct cgroup_limits limits;
    struct str box;

    shim_get_limits(r, &limits);
    box = wire_get_str(r);
    if (!wire_is_read(r))
        return err_set(e, ERR_INVALID, "malformed order");
    if (box_decode(&c->arena, box, m, &c->spec, e) < 0)
        return -1;
    fill_place(p, c);
    if (con_open_log(p, c, e) < 0 || con_make_group(p, c, &limits, e) < 0)
        return -1;
    if (launch_container(p, c, e) == 0)
        return 0;
    con_leave_group(p, c);
    return -1;
}

static void start_refuse(struct shim_pod *p, struct str name, int attempt, const char *why)
{
    struct shim_event ev = { .kind = SHIM_FAILED, .container = name, .attempt = attempt };

    ev.report = (struct box_report){ .kind = BOX_FAILED, .status = 128, .reason = "CreateContainerError" };
    (void)snprintf(ev.report.text, sizeof(ev.report.text), "%s", why);
    pod_say(p, &ev);
}

void pod_start(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    struct str name = wire_get_str(&r);
    int attempt = (int)wire_get_i64(&r);
    struct con *c;
    struct err e;

    if (!shim_name_is_good(name) || pod_find(p, name)) {
        start_refuse(p, name, attempt,
                     shim_name_is_good(name) ? "container is already running" : "invalid container name");
        return;
    }
    c = xcalloc(1, sizeof(*c));
    c->pidfd = c->program = c->report = c->pipes[0] = c->pipes[1] = c->in = -1;
    list_init(&c->sinks);
    c->attempt = attempt;
    c->name = arena_str(&c->arena, name).p;
    c->is_only = str_eq(p->opt.only, name);
    c->group = c->is_only ? p->opt.group : arena_fmt(&c->arena, "%s/%s", p->opt.group, c->name).p;
    if (start_container(p, c, m, &r, &e) < 0) {
        start_refuse(p, name, attempt, e.text);
        con_free(p, c);
        return;
    }
    list_push(&p->cons, &c->link);
    p->n_cons++;
}

/* ---- signals ---- */

void con_signal(const struct con *c, int signo)
{
    (void)syscall(SYS_pidfd_send_signal, c->program >= 0 ? c->program : c->pidfd, signo, NULL, 0);
}

static void kill_all_of(struct shim_pod *p, struct con *c)
{
    (void)kill(c->pid, SIGKILL); /* process 1 of a pid namespace: the kernel kills the rest */
    if (c->spec.has_host_pids || c->spec.join || !p->driver->has_namespaces)
        (void)cgroup_kill(p->own->opt->cgroups, c->group, 200,
                          NULL); /* the rest is killed when the container has ended */
}

void pod_signal(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    struct con *c = pod_find(p, wire_get_str(&r));
    int64_t signo = wire_get_i64(&r);

    if (!wire_is_read(&r) || signo < 1 || signo > 64) {
        log_warn("Ignored an invalid signal", LOG_TEXT("pod", p->opt.group), LOG_INT("signal", signo));
        return;
    }
    if (!c)
        return; /* it has already ended */
    con_read_report(p, c);
    c->is_signalled |= !c->has_status;
    if (signo == SIGKILL)
        kill_all_of(p, c);
    else if (c->state == CON_STARTING)
        c->held_signal = (int)signo; /* process 1 cannot forward it yet */
    else
        con_signal(c, (int)signo);
}
