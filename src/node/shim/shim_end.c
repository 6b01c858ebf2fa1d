/* shim_end.c - reports and output of containers, their end, and the end of the pod */
#include "node/shim/shim_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
    REAP_MAX = 256, /* per turn: a fork bomb must not starve the rest */
    DRAIN_MAX = 16, /* reads of a pipe whose writers are dead; more data comes from a descriptor passed elsewhere */
    END_MS = 2000,  /* time for children to die of SIGKILL before their cgroups are removed */
    STRAYS_MS = 3000,
};

int64_t pod_now_ns(const struct shim_pod *p)
{
    struct clock *c = p->own->opt->clock;

    return clock_now_us(c ? c : &clock_real) * 1000;
}

/* ---- output ---- */

/* How much the log may grow before its reader must catch up. */
static int64_t room_in_log(const struct shim_pod *p, const struct con *c)
{
    int64_t file = p->opt.log_bytes ? p->opt.log_bytes : SHIM_LOG_BYTES;
    int64_t ahead = MIN_OF(p->opt.log_ahead, file * (CONLOG_KEPT - 2)); /* one file is being read, one written */

    return p->opt.log_ahead ? c->read_bytes + ahead - conlog_bytes(c->log) : INT64_MAX;
}

bool con_must_wait(const struct shim_pod *p, const struct con *c)
{
    return room_in_log(p, c) <= 0;
}

void pod_log_read(struct shim_pod *p, const struct wire_msg *m)
{
    struct wire_read r = { .rest = m->payload };
    struct con *c = pod_find(p, wire_get_str(&r));
    int64_t attempt = wire_get_i64(&r), bytes = wire_get_i64(&r);

    if (wire_is_read(&r) && c && c->attempt == attempt)
        c->read_bytes = MAX_OF(c->read_bytes, bytes);
}

/* Read one piece. False: no more data now. */
static bool read_piece(struct shim_pod *p, struct con *c, enum conlog_stream stream, size_t most)
{
    ssize_t n;

    if (c->pipes[stream] < 0)
        return false;
    n = read(c->pipes[stream], p->bytes, MIN_OF(most, SHIM_READ));
    if (n > 0) {
        conlog_put(c->log, stream, (struct str){ p->bytes, (size_t)n }, pod_now_ns(p));
        con_show(c, stream, (struct str){ p->bytes, (size_t)n });
        c->has_unflushed = true;
        return true;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    close(c->pipes[stream]); /* end-of-file; of a terminal: EIO */
    c->pipes[stream] = -1;
    conlog_end(c->log, stream, pod_now_ns(p));
    c->has_unflushed = true;
    return false;
}

/* Read less when the log is nearly full: a piece that consists of newlines grows by CONLOG_EXTRA for each. */
void con_read_pipe(struct shim_pod *p, struct con *c, enum conlog_stream stream)
{
    int64_t room = room_in_log(p, c);

    (void)read_piece(p, c, stream,
                     room < SHIM_READ * CONLOG_EXTRA ? (size_t)MAX_OF(room / CONLOG_EXTRA, 1024) : SHIM_READ);
}

/* Read what the writers left. They are dead, so this ends. */
static void drain_output(struct shim_pod *p, struct con *c)
{
    for (int i = 0; i < CONLOG_STREAM_MAX; i++) {
        for (int n = 0; n < DRAIN_MAX && read_piece(p, c, (enum conlog_stream)i, SHIM_READ); n++)
            ;
        conlog_end(c->log, (enum conlog_stream)i, pod_now_ns(p));
    }
    conlog_flush(c->log);
    c->has_unflushed = false;
}

bool con_has_news(const struct con *c)
{
    return conlog_bytes(c->log) != c->said_bytes;
}

static void say_log(struct shim_pod *p, struct con *c, int64_t now_ms)
{
    struct shim_event ev = { .kind = SHIM_LOG, .container = str_of(c->name), .attempt = c->attempt };

    ev.log_bytes = c->said_bytes = conlog_bytes(c->log);
    c->said_ms = now_ms;
    pod_say(p, &ev);
}

void pod_say_news(struct shim_pod *p, int64_t now_ms)
{
    LIST_FOREACH(struct con, c, &p->cons, link)
        if (con_has_news(c) && list_is_empty(&p->queue) && now_ms >= c->said_ms + SHIM_LOG_MS)
            say_log(p, c, now_ms);
}

/* ---- reports ---- */

static void con_started(struct shim_pod *p, struct con *c)
{
    struct shim_event ev = { .kind = SHIM_STARTED, .container = str_of(c->name), .attempt = c->attempt, .pid = c->pid };

    c->state = CON_RUNNING;
    c->started_ms = pod_now_ns(p) / 1000000;
    pod_say(p, &ev);
    if (c->held_signal)
        con_signal(c, c->held_signal);
}

static void take_report(struct shim_pod *p, struct con *c, struct box_report *r)
{
    r->reason[sizeof(r->reason) - 1] = r->text[sizeof(r->text) - 1] = '\0';
    if (r->kind == BOX_STARTED && c->state == CON_STARTING) {
        con_started(p, c);
    } else if (r->kind == BOX_FAILED && c->state == CON_STARTING) {
        c->state = CON_FAILED;
        c->failure = *r;
    } else if (r->kind == BOX_ENDED && c->state == CON_RUNNING) {
        c->has_status = true;
        c->status = r->status;
    }
}

void con_read_report(struct shim_pod *p, struct con *c)
{
    struct box_report r;

    while (c->report >= 0) {
        int program = -1;
        ssize_t n = wire_recv_fd(c->report, &r, sizeof(r), MSG_DONTWAIT, &program);

        if (program >= 0 && c->program < 0)
            c->program = program;
        else if (program >= 0)
            close(program);
        if (n == sizeof(r)) {
            take_report(p, c, &r);
        } else if (n < 0 && errno == EAGAIN) {
            return;
        } else if (n == 0 || (n < 0 && errno != EINTR)) {
            close(c->report);
            c->report = -1;
        }
    }
}

/* ---- ends ---- */

static void fill_failure(struct con *c, int status)
{
    struct box_report *r = &c->failure;

    if (c->state == CON_FAILED)
        return;
    *r = (struct box_report){ .kind = BOX_FAILED, .status = 128, .reason = "StartError" };
    if (WIFSIGNALED(status))
        (void)snprintf(r->text, sizeof(r->text), "killed by signal %d before its program started", WTERMSIG(status));
    else
        (void)snprintf(r->text, sizeof(r->text), "exited with status %d before its program started",
                       WEXITSTATUS(status));
}

/* Kills what is left in the cgroup; retried when the pod ends. The pod's own cgroup is empty: all went with process
 * 1. */
void con_leave_group(struct shim_pod *p, const struct con *c)
{
    if (!c->is_only)
        p->has_leftover |= cgroup_remove(p->own->opt->cgroups, c->group, NULL) < 0;
}

static void read_stats(struct shim_pod *p, const struct con *c, struct cgroup_stats *ret)
{
    if (cgroup_use(p->own->opt->cgroups, c->group, ret, NULL) < 0) {
        memset(ret, -1, sizeof(*ret));
        return;
    }
    ret->cpu_us -= MAX_OF(c->before.cpu_us, 0); /* -1 at the start: the host does not count it */
    ret->oom_kills -= MAX_OF(c->before.oom_kills, 0);
}

/* Process 1 was reaped with 'status'. */
static void con_ended(struct shim_pod *p, struct con *c, int status)
{
    struct shim_event ev = { .kind = SHIM_ENDED, .container = str_of(c->name), .attempt = c->attempt };

    c->pid = 0;
    con_read_report(p, c);
    read_stats(p, c, &ev.stats);
    con_leave_group(p, c);
    if (p->driver->clean && !c->has_status && c->state != CON_FAILED)
        p->driver->clean(&c->place);
    drain_output(p, c);
    if (con_has_news(c))
        say_log(p, c, clock_mono_ms(&clock_real));
    ev.is_oom = ev.stats.oom_kills > 0;
    ev.by_itself = !c->is_signalled;
    if (c->state == CON_RUNNING) {
        ev.status = c->has_status ? c->status : status;
        ev.text = conlog_unwritten(c->log);
    } else {
        ev.kind = SHIM_FAILED;
        fill_failure(c, status);
        ev.report = c->failure;
    }
    con_detach_all(p, c, true);
    pod_note_end(p, c, &ev);
    pod_say(p, &ev);
    con_free(p, c);
}

static void child_ended(struct shim_pod *p, pid_t pid, int status)
{
    LIST_FOREACH(struct con, c, &p->cons, link)
        if (c->pid == pid) {
            con_ended(p, c, status);
            return;
        }
    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        if (j->pid == pid) {
            task_ended(p, j, status);
            return;
        }
    if (pid == p->pause_pid)
        p->pause_pid = 0; /* all containers ended with it; the next start makes a new one */
}

void pod_reap(struct shim_pod *p)
{
    int status, n = 0;

    for (pid_t pid; n < REAP_MAX && (pid = waitpid(-1, &status, WNOHANG)) > 0; n++)
        child_ended(p, pid, status);
    p->has_more_ended = n == REAP_MAX;
}

/* ---- the end of the pod ---- */

static bool has_known_children(struct shim_pod *p)
{
    LIST_FOREACH(struct con, c, &p->cons, link)
        if (c->pid > 0)
            return true;
    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        if (j->pid > 0)
            return true;
    return p->pause_pid > 0;
}

static void mark_ended(struct shim_pod *p, pid_t pid)
{
    LIST_FOREACH(struct con, c, &p->cons, link)
        c->pid = c->pid == pid ? 0 : c->pid;
    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        j->pid = j->pid == pid ? 0 : j->pid;
    p->pause_pid = p->pause_pid == pid ? 0 : p->pause_pid;
}

static void kill_known(struct shim_pod *p)
{
    LIST_FOREACH(struct con, c, &p->cons, link)
        if (c->pid > 0)
            (void)kill(c->pid, SIGKILL);
    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        if (j->pid > 0)
            (void)kill(j->pid, SIGKILL);
    if (p->pause_pid > 0)
        (void)kill(p->pause_pid, SIGKILL);
}

static void wait_known(struct shim_pod *p, int ms)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + ms;

    while (has_known_children(p)) {
        struct pollfd fd = { .fd = p->signals, .events = POLLIN };
        int64_t left = until_ms - clock_mono_ms(&clock_real);
        char info[128];
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            mark_ended(p, pid);
        if (left <= 0 || !has_known_children(p))
            return;
        if (poll(&fd, 1, (int)left) > 0)
            (void)!read(p->signals, info, sizeof(info));
    }
}

static bool keep_none(void *ctx, pid_t pid)
{
    (void)ctx;
    (void)pid;
    return false;
}

/* Exit status 0: nothing is left. Otherwise the spawner cleans up. */
_Noreturn void pod_end(struct shim_pod *p)
{
    bool is_clean;

    kill_known(p);
    wait_known(p, END_MS);
    is_clean = cgroup_remove(p->own->opt->cgroups, p->opt.group, NULL) == 0;
    LIST_FOREACH(struct con, c, &p->cons, link)
        if (p->driver->clean)
            p->driver->clean(&c->place);
    is_clean &= shim_kill_strays(keep_none, NULL, STRAYS_MS);
    LIST_FOREACH(struct con, c, &p->cons, link) {
        drain_output(p, c);
        con_free(p, c);
    }
    _exit(is_clean ? 0 : 1);
}
