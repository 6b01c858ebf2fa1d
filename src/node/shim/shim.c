/* shim.c - the program's side of a shim: orders out, events in */
#include "node/shim/shim_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <sys/socket.h>

enum { PATIENCE_S = 5 }; /* the shim may be stopped, and so may the spawner that would resume it */

struct shim {
    int fd;
    struct wire_in in;
    struct buf why; /* its last report: why it ended */
    bool is_gone;   /* SHIM_GONE was returned */
};

struct shim *shim_of_fd(int take_fd)
{
    struct shim *s = xcalloc(1, sizeof(*s));

    s->fd = take_fd;
    wire_patience(take_fd, PATIENCE_S);
    return s;
}

int shim_new(struct spawner *s, const struct shim_options *opt, struct shim **ret, struct err *e)
{
    struct wire_msg m = { .kind = SPAWNER_SHIM, .n_fds = spawner_outlives(s) ? 2 : 1 };
    autobuf text = { 0 };
    int pair[2], r;

    if (wire_pair(pair, e) < 0)
        return -1;
    shim_put_options(&text, opt);
    m.payload = buf_view(&text);
    m.fds[0] = pair[1];
    m.fds[1] = pair[0]; /* our end, for the next program */
    r = spawner_send(s, &m, e);
    close(pair[1]);
    if (r < 0) {
        close(pair[0]);
        return err_wrap(e, "request a shim");
    }
    *ret = shim_of_fd(pair[0]);
    return 0;
}

/* The shim sees this even when other processes hold our end. */
void shim_stop(struct shim *s)
{
    (void)shutdown(s->fd, SHUT_WR); /* gone already: the same */
}

void shim_free(struct shim *s)
{
    if (s)
        shim_stop(s);
    shim_leave(s);
}

void shim_leave(struct shim *s)
{
    if (!s)
        return;
    close(s->fd);
    wire_in_done(&s->in);
    buf_done(&s->why);
    free(s);
}

int shim_fd(const struct shim *s)
{
    return s->fd;
}

/* ---- orders ---- */

static int shim_send_order(struct shim *s, enum shim_order kind, const struct buf *text, struct err *e)
{
    struct wire_msg m = { .kind = kind, .payload = buf_view(text) };

    return wire_send(s->fd, &m, e);
}

int shim_start(struct shim *s, const struct box_spec *spec, const struct cgroup_limits *limits, int attempt,
               struct err *e)
{
    static const struct cgroup_limits none;
    struct wire_msg m = { .kind = ORDER_START };
    autobuf text = { 0 }, box = { 0 };

    if (spec->mounts.n > WIRE_FDS)
        return err_set(e, ERR_TOO_BIG, "container %.*s: more than %d mounts", STR_ARG(spec->name), WIRE_FDS);
    VEC_FOREACH(mount, &spec->mounts)
        m.fds[m.n_fds++] = mount->fd;
    box_encode(&box, spec);
    wire_put_str(&text, spec->name);
    wire_put_i64(&text, attempt);
    shim_put_limits(&text, limits ? limits : &none);
    wire_put_str(&text, buf_view(&box));
    m.payload = buf_view(&text);
    return wire_send(s->fd, &m, e);
}

int shim_signal(struct shim *s, struct str container, int signo, struct err *e)
{
    autobuf text = { 0 };

    wire_put_str(&text, container);
    wire_put_i64(&text, signo);
    return shim_send_order(s, ORDER_SIGNAL, &text, e);
}

int shim_log_read(struct shim *s, struct str container, int attempt, int64_t bytes, struct err *e)
{
    autobuf text = { 0 };

    wire_put_str(&text, container);
    wire_put_i64(&text, attempt);
    wire_put_i64(&text, bytes);
    return shim_send_order(s, ORDER_LOG_READ, &text, e);
}

int shim_exec(struct shim *s, uint64_t id, const struct shim_command *command, int64_t timeout_ms, struct err *e)
{
    autobuf text = { 0 };

    wire_put_i64(&text, (int64_t)id);
    wire_put_str(&text, command->container);
    wire_put_i64(&text, timeout_ms);
    wire_put_i64(&text, (int64_t)command->n);
    for (size_t i = 0; i < command->n; i++)
        wire_put_str(&text, command->argv[i]);
    return shim_send_order(s, ORDER_EXEC, &text, e);
}

int shim_exec_on(struct shim *s, uint64_t id, const struct shim_command *command, const int fds[3], struct err *e)
{
    struct wire_msg m = { .kind = ORDER_EXEC_ON, .n_fds = 3, .fds = { fds[0], fds[1], fds[2] } };
    autobuf text = { 0 };

    wire_put_i64(&text, (int64_t)id);
    wire_put_str(&text, command->container);
    wire_put_i64(&text, command->is_tty);
    wire_put_i64(&text, (int64_t)command->n);
    for (size_t i = 0; i < command->n; i++)
        wire_put_str(&text, command->argv[i]);
    m.payload = buf_view(&text);
    return wire_send(s->fd, &m, e);
}

int shim_attach(struct shim *s, uint64_t id, const struct shim_attachment *attachment, struct err *e)
{
    const int *fds = attachment->fds;
    struct wire_msg m = { .kind = ORDER_ATTACH, .n_fds = 3, .fds = { fds[0], fds[1], fds[2] } };
    autobuf text = { 0 };

    wire_put_i64(&text, (int64_t)id);
    wire_put_str(&text, attachment->container);
    wire_put_i64(&text, attachment->wants_input);
    m.payload = buf_view(&text);
    return wire_send(s->fd, &m, e);
}

int shim_forward(struct shim *s, uint64_t id, uint16_t port, int fd, struct err *e)
{
    struct wire_msg m = { .kind = ORDER_FORWARD, .n_fds = 1, .fds = { fd } };
    autobuf text = { 0 };

    wire_put_i64(&text, (int64_t)id);
    wire_put_i64(&text, port);
    m.payload = buf_view(&text);
    return wire_send(s->fd, &m, e);
}

int shim_cancel(struct shim *s, uint64_t id, struct err *e)
{
    autobuf text = { 0 };

    wire_put_i64(&text, (int64_t)id);
    return shim_send_order(s, ORDER_CANCEL, &text, e);
}

int shim_probe(struct shim *s, uint64_t id, const struct probe_target *target, int64_t timeout_ms, struct err *e)
{
    autobuf text = { 0 }, probe = { 0 };

    probe_encode(&probe, target);
    wire_put_i64(&text, (int64_t)id);
    wire_put_i64(&text, timeout_ms);
    wire_put_str(&text, buf_view(&probe));
    return shim_send_order(s, ORDER_PROBE, &text, e);
}

/* ---- events ---- */

static bool shim_take_event(struct shim *s, struct wire_msg *m, struct shim_event *ret)
{
    *ret = (struct shim_event){ .kind = (enum shim_event_kind)m->kind, .net_fd = -1, .nl_fd = -1 };
    if (m->kind >= SHIM_EVENT_KIND_MAX || shim_get_event(m->payload, ret) < 0)
        return false;
    if (ret->kind == SHIM_GONE) { /* it is ending; the closed socket counts */
        if (!s->why.n)
            buf_str(&s->why, ret->text); /* keep the first reason: the spawner's may follow */
        return false;
    }
    if (ret->kind == SHIM_READY && (m->n_fds == 1 || m->n_fds == 2)) {
        ret->net_fd = m->fds[0];
        ret->nl_fd = m->n_fds == 2 ? m->fds[1] : -1;
        m->n_fds = 0;
    }
    return ret->kind != SHIM_READY || ret->net_fd >= 0;
}

int shim_next(struct shim *s, struct shim_event *ret)
{
    struct wire_msg m = { 0 };
    struct err e;

    while (!s->is_gone) {
        int r = wire_recv(s->fd, false, &s->in, &m, &e);

        if (r == 0)
            return 0;
        if (r < 0 && e.code == ERR_INVALID)
            continue;
        if (r < 0) {
            if (e.code != ERR_GONE && !s->why.n)
                buf_str(&s->why, str_of(e.text));
            s->is_gone = true;
            *ret = (struct shim_event){ .kind = SHIM_GONE, .net_fd = -1, .nl_fd = -1, .text = buf_view(&s->why) };
            return 1;
        }
        bool is_event = shim_take_event(s, &m, ret);
        wire_close_fds(&m);
        if (is_event)
            return 1;
    }
    return 0;
}

/* ---- taking over ---- */

/* Wait for the answer; events for the previous program are skipped. */
static int shim_wait_found(struct shim *s, struct arena *a, struct shim_found *ret, struct err *e)
{
    int64_t until_ms = clock_mono_ms(&clock_real) + SPAWNER_ANSWER_MS;
    struct wire_msg m = { 0 };

    for (;;) {
        struct pollfd p = { .fd = s->fd, .events = POLLIN };
        int64_t left_ms = until_ms - clock_mono_ms(&clock_real);
        int r = wire_recv(s->fd, false, &s->in, &m, e);

        if (r < 0 && e->code != ERR_INVALID)
            return -1;
        if (r == 1 && m.kind == WORD_FOUND)
            return shim_get_found(a, m.payload, ret, e);
        if (r == 1)
            wire_close_fds(&m);
        if (r == 0 && (left_ms <= 0 || (poll(&p, 1, (int)left_ms) == 0)))
            return err_set(e, ERR_IO, "no answer within %d s", SPAWNER_ANSWER_MS / 1000);
    }
}

int shim_adopt(struct shim *s, struct arena *a, struct shim_found *ret, struct err *e)
{
    struct wire_msg m = { .kind = ORDER_ADOPT };
    struct err own = { 0 };

    e = e ? e : &own;
    return wire_send(s->fd, &m, e) < 0 || shim_wait_found(s, a, ret, e) < 0 ? err_wrap(e, "adopt a shim") : 0;
}
