/* tunnel.c - connections to ports of pods: kubectl port-forward
 *
 *     client ──forward──▶ here ──a pair of sockets──▶ a process in the pod's network, which connects
 */
#include "kubelet/kubelet_internal.h"

#include "http/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { QUEUE_BYTES = 256 << 10, READ_BYTES = 32 << 10, TUNNEL_BYTES = 32 << 10 };

struct forwarding {
    struct list_link link;
    struct kubelet *kubelet;
    struct forward *forward;
    struct arena arena;
    struct agent_place place;
    struct list tunnels;
    size_t held, n_full; /* bytes of all tunnels; tunnels whose pod does not read */
};

struct tunnel {
    struct kubelet_source source;
    struct list_link link;
    struct forwarding *of;
    struct forward_tunnel *wire;
    uint64_t session;
    struct buf input;
    size_t input_at;
    size_t held;  /* counted in 'of' */
    bool is_full; /* the same */
    bool input_ended, output_ended;
};

/* All tunnels share one connection: it is read while none of them is full. A tunnel has sockets and a process besides
 * its bytes, which are as scarce. */
static void tunnel_count(struct tunnel *t, size_t held, bool is_full)
{
    struct forwarding *f = t->of;

    f->held += held - t->held;
    f->n_full += (size_t)is_full - (size_t)t->is_full;
    t->held = held;
    t->is_full = is_full;
    if (!f->forward)
        return;
    forward_hold(f->forward, f->held);
    forward_pause(f->forward, f->n_full > 0);
}

static void tunnel_free(struct tunnel *t)
{
    tunnel_count(t, 0, false);
    list_remove(&t->link);
    if (t->session)
        agent_session_end(t->of->kubelet->opt.agent, t->session);
    source_close(t->of->kubelet, &t->source);
    buf_done(&t->input);
    free(t);
}

static void forwarding_free(struct forwarding *f)
{
    f->forward = NULL; /* it goes, or has gone */
    LIST_FOREACH(struct tunnel, t, &f->tunnels, link)
        tunnel_free(t);
    list_remove(&f->link);
    arena_done(&f->arena);
    free(f);
}

/* ---- bytes ---- */

static void tunnel_watch(struct tunnel *t)
{
    bool reads = !t->output_ended && forward_queued(t->of->forward) < QUEUE_BYTES;

    source_watch(t->of->kubelet, &t->source, (reads ? EPOLLIN : 0u) | (t->input_at < t->input.n ? EPOLLOUT : 0u));
}

static void read_some(struct tunnel *t)
{
    char bytes[READ_BYTES];
    ssize_t n = t->output_ended ? -1 : recv(t->source.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n > 0) {
        forward_write(t->wire, (struct str){ bytes, (size_t)n });
    } else if (!t->output_ended && (n == 0 || (errno != EAGAIN && errno != EINTR))) {
        t->output_ended = true;
        tunnel_watch(t);
        forward_finish(t->wire); /* may be the end of it */
    }
}

static void write_some(struct tunnel *t)
{
    while (t->input_at < t->input.n) {
        ssize_t n = send(t->source.fd, t->input.p + t->input_at, t->input.n - t->input_at, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        t->input_at = n < 0 ? t->input.n : t->input_at + (size_t)n;
    }
    buf_used(&t->input, &t->input_at);
    if (!t->input.n && t->input_ended)
        (void)shutdown(t->source.fd, SHUT_WR);
    tunnel_count(t, TUNNEL_BYTES + t->input.cap, t->input.n - t->input_at > QUEUE_BYTES);
    tunnel_watch(t);
}

static void tunnel_on_ready(struct kubelet_source *s)
{
    struct tunnel *t = (struct tunnel *)s;

    write_some(t);
    read_some(t);
}

/* ---- the client ---- */

static void tunnel_on_ended(void *ctx, int exit_code, struct str why)
{
    struct tunnel *t = ctx;

    (void)exit_code;
    t->session = 0;
    if (!why.n)
        return; /* what it wrote is still to be read; then comes its end */
    forward_fail(t->wire, why);
    tunnel_free(t);
}

static void *on_tunnel(void *ctx, struct forward_tunnel *wire, unsigned port)
{
    struct forwarding *f = ctx;
    struct tunnel *t = xcalloc(1, sizeof(*t));
    int pair[2];
    struct err e;

    f->forward = forward_of(wire);
    t->of = f;
    t->wire = wire;
    t->source = (struct kubelet_source){ -1, 0, tunnel_on_ready };
    list_push(&f->tunnels, &t->link);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        (void)err_errno(&e, "create sockets");
    } else {
        t->source.fd = pair[0];
        t->session = agent_forward(
            f->kubelet->opt.agent,
            &(struct agent_session_spec){
                .where = f->place, .port = (uint16_t)port, .fds = { pair[1] }, .ended = tunnel_on_ended, .ctx = t },
            &e);
        close(pair[1]);
    }
    if (t->session) {
        tunnel_count(t, TUNNEL_BYTES, false);
        tunnel_watch(t);
        return t;
    }
    forward_fail(wire, str_of(e.text));
    tunnel_free(t);
    return NULL;
}

static void tunnel_on_data(void *ctx, struct forward_tunnel *wire, struct str bytes)
{
    struct tunnel *t = ctx;

    (void)wire;
    if (!t)
        return;
    buf_str(&t->input, bytes);
    write_some(t);
}

static void tunnel_on_end(void *ctx, struct forward_tunnel *wire)
{
    struct tunnel *t = ctx;

    (void)wire;
    if (!t)
        return;
    t->input_ended = true;
    write_some(t);
}

static void tunnel_on_gone(void *ctx, struct forward_tunnel *wire)
{
    (void)wire;
    if (ctx)
        tunnel_free(ctx);
}

static void tunnel_on_room(void *ctx, struct forward *forward)
{
    struct forwarding *f = ctx;

    (void)forward;
    LIST_FOREACH(struct tunnel, t, &f->tunnels, link)
        tunnel_watch(t);
}

static void on_closed(void *ctx, struct forward *forward)
{
    (void)forward;
    forwarding_free(ctx);
}

void serve_tunnel(const struct target *t)
{
    struct forwarding *f = xcalloc(1, sizeof(*f));
    struct forward_events events = { f,        on_tunnel, tunnel_on_data, tunnel_on_end, tunnel_on_gone, tunnel_on_room,
                                     on_closed };

    f->kubelet = t->kubelet;
    f->place = (struct agent_place){ arena_str(&f->arena, t->place.namespace), arena_str(&f->arena, t->place.pod),
                                     STR_NULL };
    list_init(&f->tunnels);
    list_push(&t->kubelet->tunnels, &f->link);
    f->forward = forward_open(t->call, &events);
    if (!f->forward)
        forwarding_free(f);
}

void tunnels_done(struct kubelet *k)
{
    LIST_FOREACH(struct forwarding, f, &k->tunnels, link) {
        forward_cut(f->forward);
        forwarding_free(f);
    }
}
