/* forward.c - connections to ports of a pod over one connection
 *
 * A tunnel is two SPDY streams with the same "requestid": "data" and, for a message, "error". In the older form, which
 * Python's client speaks, it is two channels of WebSocket messages for each port that the request names: each begins
 * with the port in two bytes, and neither side can end alone.
 */
#include "http/forward.h"

#include "base/list.h"
#include "base/util.h"
#include "http/carrier.h"

static const struct carrier_protocol protocols[] = {
    { "SPDY/3.1+portforward.k8s.io", true, false, false, false },
    { "portforward.k8s.io", false, false, false, false },
    { "v4.channel.k8s.io", true, true, false, false },
    { "v4.base64.channel.k8s.io", true, true, true, false },
    { "", true, true, false, false },
    { NULL, false, false, false, false },
};

struct forward_tunnel {
    struct list_link link; /* forward.tunnels */
    struct forward *forward;
    void *ctx;
    char request[64];
    unsigned port;
    struct spdy_stream *data, *error; /* NULL: not opened yet, or gone */
    int channel;                      /* of messages: its data; the next has its errors. -1: these are streams */
    bool is_begun;
    bool is_beginning, is_failed; /* on_tunnel is running, and has failed */
};

struct forward {
    struct carrier carrier;
    struct forward_events events;
    struct list tunnels;
    bool is_dead;
};

enum { PORTS_MAX = 32, PIECE = 32 << 10 };

/* ---- tunnels ---- */

static struct forward_tunnel *tunnel_new(struct forward *f, int channel)
{
    struct forward_tunnel *t = xcalloc(1, sizeof(*t));

    t->forward = f;
    t->channel = channel;
    list_push(&f->tunnels, &t->link);
    return t;
}

static struct forward_tunnel *tunnel_of(struct forward *f, struct str request)
{
    struct forward_tunnel *fresh;

    LIST_FOREACH(struct forward_tunnel, t, &f->tunnels, link)
        if (!t->is_begun && str_is(request, t->request))
            return t;
    fresh = tunnel_new(f, -1);
    memcpy(fresh->request, request.p, request.n);
    return fresh;
}

static void tunnel_free(struct forward_tunnel *t)
{
    if (t->data)
        t->data->user = NULL;
    if (t->error)
        t->error->user = NULL;
    list_remove(&t->link);
    free(t);
}

static void tell_gone(struct forward_tunnel *t)
{
    struct forward *f = t->forward;

    if (t->is_begun && f->events.on_gone)
        f->events.on_gone(t->ctx, t);
    tunnel_free(t);
}

static void forward_begin(struct forward_tunnel *t)
{
    struct forward *f = t->forward;

    t->is_begun = t->is_beginning = true;
    t->ctx = f->events.on_tunnel(f->events.ctx, t, t->port);
    t->is_beginning = false;
    if (t->is_failed)
        tunnel_free(t);
}

/* ---- streams ---- */

static bool on_stream(void *ctx, struct spdy_stream *s)
{
    struct forward *f = ctx;
    struct str type = spdy_header(f->carrier.spdy, "streamtype"), request = spdy_header(f->carrier.spdy, "requestid");
    struct spdy_stream **place;
    struct forward_tunnel *t;
    uint64_t port;

    if (f->is_dead || !request.n || request.n >= sizeof(t->request) || str_has_char(request, '\0') ||
        (!str_is(type, "data") && !str_is(type, "error")) ||
        str_to_u64(spdy_header(f->carrier.spdy, "port"), &port) < 0 || port < 1 || port > UINT16_MAX)
        return false;
    t = tunnel_of(f, request);
    place = str_is(type, "data") ? &t->data : &t->error;
    if (*place || (t->port && t->port != port))
        return false;
    t->port = (unsigned)port;
    *place = s;
    s->user = t;
    if (t->data && t->error)
        forward_begin(t);
    return true;
}

static void http_forward_on_data(void *ctx, struct spdy_stream *s, struct str bytes)
{
    struct forward *f = ctx;
    struct forward_tunnel *t = s->user;

    if (t && !f->is_dead && t->is_begun && s == t->data)
        f->events.on_data(t->ctx, t, bytes);
}

static void http_forward_on_end(void *ctx, struct spdy_stream *s)
{
    struct forward *f = ctx;
    struct forward_tunnel *t = s->user;

    if (t && !f->is_dead && t->is_begun && s == t->data)
        f->events.on_end(t->ctx, t);
}

static void on_stream_gone(void *ctx, struct spdy_stream *s)
{
    struct forward *f = ctx;
    struct forward_tunnel *t = s->user;

    if (!t)
        return;
    if (s == t->error) {
        t->error = NULL;
        return;
    }
    t->data = NULL;
    if (t->error)
        spdy_finish(f->carrier.spdy, t->error);
    tell_gone(t);
}

/* ---- channels ---- */

static void send_message(struct forward_tunnel *t, int channel, struct str bytes)
{
    carrier_send(&t->forward->carrier, channel, bytes);
}

static void forward_on_message(void *ctx, struct str message)
{
    struct forward *f = ctx;
    int channel = message.n ? (unsigned char)message.p[0] : -1;

    LIST_FOREACH(struct forward_tunnel, t, &f->tunnels, link)
        if (!f->is_dead && t->is_begun && t->channel >= 0 && t->channel == channel) {
            f->events.on_data(t->ctx, t, str_from(message, 1));
            return;
        }
}

/* "ports=80&ports=81", "ports=80,81". How many; -1: one of them is none. */
static int read_ports(const struct http_call *call, unsigned ret[PORTS_MAX])
{
    autobuf text = { 0 };
    int n = 0;

    for (size_t at = 0; http_call_next_param(call, "ports", &at, &text);) {
        struct str rest = buf_view(&text), word;
        uint64_t port;

        while (str_split(&rest, ',', &word)) {
            if (n == PORTS_MAX || str_to_u64(word, &port) < 0 || port < 1 || port > UINT16_MAX)
                return -1;
            ret[n++] = (unsigned)port;
        }
    }
    return n;
}

static void open_ports(struct forward *f, const unsigned *ports, int n)
{
    for (int i = 0; i < n; i++) {
        struct forward_tunnel *t = tunnel_new(f, i * 2);
        const char bytes[2] = { (char)(ports[i] & 0xff), (char)(ports[i] >> 8) };

        t->port = ports[i];
        send_message(t, t->channel, (struct str){ bytes, sizeof(bytes) });
        send_message(t, t->channel + 1, (struct str){ bytes, sizeof(bytes) });
        forward_begin(t);
    }
}

/* ---- life ---- */

static void forward_on_ready(void *ctx)
{
    struct forward *f = ctx;

    if (!f->is_dead && f->events.on_ready)
        f->events.on_ready(f->events.ctx, f);
}

static void end_tunnels(struct forward *f)
{
    f->is_dead = true;
    LIST_FOREACH(struct forward_tunnel, t, &f->tunnels, link)
        tell_gone(t);
}

static void forward_on_gone(void *ctx)
{
    struct forward *f = ctx;

    if (f->is_dead)
        return;
    end_tunnels(f);
    f->events.on_closed(f->events.ctx, f);
}

static void forward_on_free(void *ctx)
{
    struct forward *f = ctx;

    carrier_done(&f->carrier);
    free(f);
}

static const struct carrier_events carrier_events = { .on_message = forward_on_message,
                                                      .on_ready = forward_on_ready,
                                                      .on_gone = forward_on_gone,
                                                      .on_free = forward_on_free };

struct forward *forward_open(struct http_call *call, const struct forward_events *events)
{
    static const struct spdy_events streams = { .on_stream = on_stream,
                                                .on_data = http_forward_on_data,
                                                .on_end = http_forward_on_end,
                                                .on_gone = on_stream_gone };
    struct forward *f = xcalloc(1, sizeof(*f));
    unsigned ports[PORTS_MAX];
    int n = read_ports(call, ports);

    f->events = *events;
    f->carrier = (struct carrier){ .ctx = f, .events = &carrier_events };
    list_init(&f->tunnels);
    if (carrier_open(&f->carrier, call, protocols, streams) < 0) {
        free(f);
        return NULL;
    }
    if (!f->carrier.protocol->is_messages)
        return f;
    if (n <= 0) { /* no port, no answer */
        f->is_dead = true;
        carrier_leave(&f->carrier);
        return NULL;
    }
    open_ports(f, ports, n);
    return f;
}

struct forward *forward_of(const struct forward_tunnel *t)
{
    return t->forward;
}

void forward_cut(struct forward *f)
{
    end_tunnels(f);
    carrier_cut(&f->carrier);
}

/* ---- what goes ---- */

void forward_write(struct forward_tunnel *t, struct str bytes)
{
    for (; bytes.n && t->channel >= 0; bytes = str_from(bytes, PIECE))
        send_message(t, t->channel, str_sub(bytes, 0, PIECE));
    for (; bytes.n && t->data; bytes = str_from(bytes, PIECE))
        spdy_write(t->forward->carrier.spdy, t->data, str_sub(bytes, 0, PIECE));
}

/* With the pod's bytes end its errors: clients before 1.27 close the connection when both streams have ended, and do not
 * say that they send no more before that. */
static void finish_streams(struct forward_tunnel *t)
{
    struct spdy *spdy = t->forward->carrier.spdy;

    if (t->data)
        spdy_finish(spdy, t->data);
    if (t->error)
        spdy_finish(spdy, t->error);
    if (!t->data || t->data->is_ended)
        tell_gone(t);
}

void forward_finish(struct forward_tunnel *t)
{
    struct forward *f = t->forward;

    if (t->channel < 0) {
        finish_streams(t);
        return;
    }
    tell_gone(t);
    if (!list_is_empty(&f->tunnels) || f->is_dead)
        return;
    f->is_dead = true;
    f->events.on_closed(f->events.ctx, f);
    carrier_leave(&f->carrier);
}

void forward_fail(struct forward_tunnel *t, struct str why)
{
    struct spdy *spdy = t->forward->carrier.spdy;

    if (t->channel >= 0)
        send_message(t, t->channel + 1, why);
    if (t->error) {
        spdy_write(spdy, t->error, why);
        spdy_finish(spdy, t->error);
    }
    if (t->data)
        spdy_reset(spdy, t->data);
    t->data = NULL;
    t->is_failed = true;
    if (!t->is_beginning)
        tunnel_free(t);
}

size_t forward_queued(const struct forward *f)
{
    return f->carrier.stream ? http_stream_queued(f->carrier.stream) : 0;
}

void forward_hold(struct forward *f, size_t bytes)
{
    carrier_hold(&f->carrier, bytes);
}

void forward_pause(struct forward *f, bool is_paused)
{
    if (f->carrier.stream)
        http_stream_pause(f->carrier.stream, is_paused);
}
