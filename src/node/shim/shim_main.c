/* shim_main.c - the loop of a shim: orders in, events out, container output to logs
 *
 * poll() instead of epoll: there are few descriptors, and a closed descriptor that a child still holds would stay in
 * an epoll set.
 */
#include "node/shim/shim_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

/* ---- events out ---- */

struct shim_main_note { /* an event that the program has not read yet */
    struct list_link link;
    uint32_t kind;
    struct buf text;
};

static bool try_say(struct shim_pod *p, uint32_t kind, struct str text)
{
    struct wire_msg m = { .kind = kind, .payload = text };

    return wire_try(p->sock, &m, NULL) != 0; /* the program has ended: drop the event */
}

void pod_say_text(struct shim_pod *p, uint32_t kind, struct str text)
{
    struct shim_main_note *note;

    if (list_is_empty(&p->queue) && try_say(p, kind, text))
        return;
    note = xcalloc(1, sizeof(*note));
    note->kind = kind;
    buf_str(&note->text, text);
    list_push(&p->queue, &note->link);
}

void pod_say(struct shim_pod *p, const struct shim_event *ev)
{
    autobuf text = { 0 };

    shim_put_event(&text, ev);
    pod_say_text(p, ev->kind, buf_view(&text));
}

static void shim_note_free(struct shim_main_note *note)
{
    list_remove(&note->link);
    buf_done(&note->text);
    free(note);
}

void pod_drop_queue(struct shim_pod *p)
{
    LIST_FOREACH(struct shim_main_note, note, &p->queue, link)
        shim_note_free(note);
}

static void send_queued_events(struct shim_pod *p)
{
    LIST_FOREACH(struct shim_main_note, note, &p->queue, link) {
        if (!try_say(p, note->kind, buf_view(&note->text)))
            return;
        shim_note_free(note);
    }
}

static int say_ready(struct shim_pod *p, struct err *e)
{
    struct shim_event ev = { .kind = SHIM_READY };
    struct wire_msg m = { .kind = SHIM_READY, .n_fds = 1 };
    autobuf text = { 0 };
    struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    autoclose int net = -1, nl = -1;

    if (!p->opt.has_host_network) {
        nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        if (nl < 0)
            return err_errno(e, "open a netlink socket in the pod's network namespace");
        if (ioctl(nl, SIOCSIFFLAGS, &up) < 0)
            return err_errno(e, "set lo up");
        m.fds[m.n_fds++] = nl;
        net = ioctl(nl, SIOCGSKNS); /* a process that never opens /proc spares the kernel its entries there */
    }
    if (net < 0)
        net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (net < 0)
        return err_errno(e, "open the pod's network namespace");
    shim_put_event(&text, &ev);
    m.payload = buf_view(&text);
    m.fds[0] = net;
    return wire_send(p->sock, &m, e);
}

/* ---- orders in ---- */

static void take_orders(struct shim_pod *p)
{
    static void (*const table[ORDER_MAX])(struct shim_pod *, const struct wire_msg *) = {
        [ORDER_START] = pod_start,     [ORDER_SIGNAL] = pod_signal,     [ORDER_EXEC] = pod_exec,
        [ORDER_PROBE] = pod_probe,     [ORDER_LOG_READ] = pod_log_read, [ORDER_EXEC_ON] = pod_exec_on,
        [ORDER_FORWARD] = pod_forward, [ORDER_CANCEL] = pod_cancel,     [ORDER_ADOPT] = pod_adopt,
        [ORDER_ATTACH] = pod_attach,
    };
    struct wire_msg m = { 0 };
    struct err e;

    for (int i = 0; i < 16; i++) { /* a few at a time; then the logs again */
        int r = wire_recv(p->sock, false, &p->in, &m, &e);

        if (r == 0)
            return;
        if (r < 0 && e.code != ERR_INVALID) {
            p->is_over = true;
            return;
        }
        if (r == 1 && m.kind < ORDER_MAX && table[m.kind])
            table[m.kind](p, &m);
        else if (!p->has_complained)
            log_warn("Ignored an unknown order of the program", LOG_TEXT("pod", p->opt.group), LOG_INT("kind", m.kind));
        p->has_complained |= r < 0 || m.kind >= ORDER_MAX || !table[m.kind]; /* log it once */
        if (r == 1)
            wire_close_fds(&m);
    }
}

/* ---- the loop ---- */

static void shim_main_watch(struct shim_pod *p, int fd, short events)
{
    p->fds[p->n_fds++] = (struct pollfd){ .fd = fd, .events = events };
}

enum { SOCK, SIGNALS, CON_SLOTS = CONLOG_STREAM_MAX + 1 };

/* Each container has three pollfds and each task one, used or not, so their index is known. */
static void shim_main_gather(struct shim_pod *p)
{
    size_t need = 2 + p->n_cons * CON_SLOTS + p->n_jobs;

    if (need > p->cap_fds) {
        p->cap_fds = need * 2;
        p->fds = xrealloc(p->fds, p->cap_fds * sizeof(*p->fds));
    }
    p->n_fds = 0;
    shim_main_watch(p, p->sock, list_is_empty(&p->queue) ? POLLIN : POLLIN | POLLOUT);
    shim_main_watch(p, p->signals, POLLIN);
    LIST_FOREACH(struct con, c, &p->cons, link) {
        bool waits = con_must_wait(p, c);

        c->slot = p->n_fds;
        for (int i = 0; i < CONLOG_STREAM_MAX; i++)
            shim_main_watch(p, waits ? -1 : c->pipes[i], POLLIN);
        shim_main_watch(p, c->state == CON_STARTING ? c->report : -1,
                        POLLIN); /* later reports are read when it has ended */
    }
    LIST_FOREACH(struct shim_task, j, &p->tasks, link) {
        j->slot = p->n_fds;
        shim_main_watch(p, j->out, POLLIN);
    }
}

static void shim_main_read_all(struct shim_pod *p)
{
    LIST_FOREACH(struct con, c, &p->cons, link) {
        for (int i = 0; i < CONLOG_STREAM_MAX; i++)
            if (p->fds[c->slot + (size_t)i].revents)
                con_read_pipe(p, c, (enum conlog_stream)i);
        if (p->fds[c->slot + CONLOG_STREAM_MAX].revents)
            con_read_report(p, c);
        if (c->has_unflushed)
            conlog_flush(c->log);
        c->has_unflushed = false;
    }
    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        if (p->fds[j->slot].revents)
            task_read(p, j);
}

static int wait_ms(struct shim_pod *p, int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;

    if (p->has_more_ended)
        return 0;
    LIST_FOREACH(struct con, c, &p->cons, link)
        if (con_has_news(c) && list_is_empty(&p->queue))
            due_ms = MIN_OF(due_ms, c->said_ms + SHIM_LOG_MS);
    LIST_FOREACH(struct shim_task, j, &p->tasks, link)
        due_ms = MIN_OF(due_ms, j->due_ms);
    return due_ms == INT64_MAX ? -1 : due_ms <= now_ms ? 0 : (int)MIN_OF(due_ms - now_ms, 1 << 30);
}

static void shim_main_turn(struct shim_pod *p)
{
    struct signalfd_siginfo info;
    int64_t now_ms;

    shim_main_gather(p);
    if (poll(p->fds, p->n_fds, wait_ms(p, clock_mono_ms(&clock_real))) < 0 && errno != EINTR)
        _exit(1); /* the spawner cleans up */
    short sock = p->fds[SOCK].revents, signals = p->fds[SIGNALS].revents;
    shim_main_read_all(p); /* before containers or tasks are added or removed: indexes are as gathered */
    if (signals)
        (void)!read(p->signals, &info, sizeof(info));
    if (signals || p->has_more_ended)
        pod_reap(p);
    if (sock & (POLLIN | POLLHUP | POLLERR))
        take_orders(p);
    send_queued_events(p);
    now_ms = clock_mono_ms(&clock_real);
    pod_check_jobs(p, now_ms);
    pod_say_news(p, now_ms);
}

_Noreturn void shim_main(const struct spawner_own *own, const struct shim_options *opt, int sock)
{
    static char bytes[SHIM_READ]; /* static: on the heap, allocations behind it would touch pages of their own */
    struct shim_pod *p = xcalloc(1, sizeof(*p));
    struct err e;
    sigset_t set;

    p->own = own;
    p->opt = *opt;
    p->sock = sock;
    p->bytes = bytes;
    p->null = -1;
    p->shared = (struct box_join){ -1, -1, -1 };
    list_init(&p->cons);
    list_init(&p->tasks);
    list_init(&p->queue);
    list_init(&p->pasts);
    p->driver = own->opt->driver ? own->opt->driver : own->opt->oci ? &shim_driver_oci : &shim_driver_box;
    spawner_name(&own->area, "pumice-shim", opt->group); /* the spawner's session has no terminal */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD); /* already blocked by the spawner */
    p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (p->signals < 0 ? err_errno(&e, "create a signalfd") : pod_make(p, &e) < 0 || say_ready(p, &e) < 0) {
        struct shim_event ev = { .kind = SHIM_GONE, .text = str_of(e.text) };

        pod_say(p, &ev);
        pod_end(p);
    }
    while (!p->is_over)
        shim_main_turn(p);
    pod_end(p);
}
