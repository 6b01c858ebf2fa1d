/* carrier.c - an upgraded connection and what it speaks */
#include "http/carrier.h"

#include "base/util.h"

/* ---- out ---- */

static void write_stream(void *ctx, struct str bytes)
{
    struct carrier *c = ctx;

    if (c->stream)
        http_stream_write(c->stream, bytes);
}

static void write_spdy(void *ctx, struct str bytes)
{
    struct carrier *c = ctx;

    if (c->protocol->is_websocket)
        websocket_send(&c->websocket, WEBSOCKET_BINARY, bytes, STR_NULL);
    else
        write_stream(c, bytes);
}

void carrier_send(struct carrier *c, int channel, struct str bytes)
{
    char first = (char)(c->protocol->is_base64 ? '0' + channel : channel);
    autobuf coded = { 0 };

    if (!c->stream)
        return;
    if (c->protocol->is_base64)
        buf_base64(&coded, bytes);
    websocket_send(&c->websocket, c->protocol->is_base64 ? WEBSOCKET_TEXT : WEBSOCKET_BINARY, (struct str){ &first, 1 },
                   c->protocol->is_base64 ? buf_view(&coded) : bytes);
}

/* ---- in ---- */

/* Frames that cannot be decoded are dropped, as in Kubernetes. */
static void take_base64(struct carrier *c, struct str message)
{
    autobuf plain = { 0 }, bytes = { 0 };

    if (!message.n || message.p[0] < '0' || (message.n > 1 && buf_unbase64(&bytes, str_from(message, 1)) < 0))
        return;
    buf_char(&plain, (char)(message.p[0] - '0'));
    buf_str(&plain, buf_view(&bytes));
    c->events->on_message(c->ctx, buf_view(&plain));
}

static void carrier_on_message(void *ctx, enum websocket_kind kind, struct str message)
{
    struct carrier *c = ctx;

    (void)kind; /* clients differ in what they say it is */
    if (!c->stream)
        return;
    if (c->protocol->is_base64)
        take_base64(c, message);
    else if (!c->spdy)
        c->events->on_message(c->ctx, message);
    else if (spdy_take(c->spdy, message, NULL) < 0)
        c->websocket.is_over = true;
}

/* Send all queued data first. Kubernetes' library for SPDY drops unhandled data when it sees the end; clients of
 * WebSockets wait for it. */
static void carrier_let_go(struct carrier *c)
{
    if (c->spdy)
        http_stream_leave(c->stream, CARRIER_LEAVE_MS);
    else
        http_stream_end(c->stream);
    c->stream = NULL;
}

/* Free it if it is over and no callback is running. */
static void free_if_over(struct carrier *c)
{
    if (!c->stream && !c->inside)
        c->events->on_free(c->ctx);
}

static void come_out(struct carrier *c)
{
    c->inside--;
    free_if_over(c);
}

/* ---- what is held ---- */

static void carrier_count(struct carrier *c)
{
    if (c->stream)
        http_stream_hold(c->stream, c->websocket.message.cap + spdy_held(c->spdy) + c->extra);
}

void carrier_hold(struct carrier *c, size_t bytes)
{
    c->extra = bytes;
    carrier_count(c);
}

static void carrier_on_data(void *ctx, struct http_stream *s, struct str bytes)
{
    struct carrier *c = ctx;
    int rc;

    (void)s;
    c->inside++;
    rc = c->protocol->is_websocket ? websocket_take(&c->websocket, bytes) : spdy_take(c->spdy, bytes, NULL);
    if (rc < 0 && c->stream) {
        carrier_let_go(c);
        c->events->on_gone(c->ctx);
    }
    carrier_count(c);
    come_out(c);
}

static void carrier_on_ready(void *ctx, struct http_stream *s)
{
    struct carrier *c = ctx;

    (void)s;
    c->inside++;
    c->events->on_ready(c->ctx);
    come_out(c);
}

static void carrier_on_gone(void *ctx, struct http_stream *s)
{
    struct carrier *c = ctx;

    (void)s;
    c->stream = NULL;
    c->inside++;
    c->events->on_gone(c->ctx);
    come_out(c);
}

/* ---- the handshake ---- */

static const struct carrier_protocol *carrier_choose(const struct http_call *call,
                                                     const struct carrier_protocol *protocols)
{
    bool is_websocket = websocket_is_asked(call);
    const char *header = is_websocket ? "Sec-WebSocket-Protocol" : "X-Stream-Protocol-Version";

    for (; protocols->name; protocols++)
        if (protocols->is_websocket == is_websocket &&
            (protocols->name[0] ? http_call_header_lists(call, header, protocols->name)
                                : !http_call_header(call, header).n))
            return protocols;
    return NULL;
}

static int carrier_refuse(struct http_call *call, int status, const char *why)
{
    static const char *const headers[] = { "Upgrade: websocket, SPDY/3.1", NULL };

    http_answer(call, &(struct http_reply){ .status = status, .headers = status == 426 ? headers : NULL }, str_of(why));
    return -1;
}

static void carrier_upgrade(struct carrier *c, struct http_call *call, struct str accept)
{
    struct http_stream_events events = {
        .ctx = c, .on_data = carrier_on_data, .on_ready = carrier_on_ready, .on_gone = carrier_on_gone
    };
    autobuf protocol = { 0 }, key = { 0 };
    const char *websocket[] = { "Upgrade: websocket", NULL, NULL, NULL }, *spdy[] = { "Upgrade: SPDY/3.1", NULL, NULL };
    size_t n = 1;

    buf_fmt(&protocol, "%s: %s", c->protocol->is_websocket ? "Sec-WebSocket-Protocol" : "X-Stream-Protocol-Version",
            c->protocol->name);
    buf_fmt(&key, "Sec-WebSocket-Accept: %.*s", STR_ARG(accept));
    spdy[1] = protocol.p;
    if (c->protocol->name[0])
        websocket[n++] = protocol.p;
    websocket[n] = key.p;
    c->stream = http_upgrade(call, c->protocol->is_websocket ? websocket : spdy, &events);
}

int carrier_open(struct carrier *c, struct http_call *call, const struct carrier_protocol *protocols,
                 struct spdy_events streams)
{
    bool is_spdy = http_call_header_lists(call, "Connection", "upgrade") &&
                   http_call_header_lists(call, "Upgrade", "SPDY/3.1");
    autobuf accept = { 0 };

    if (!websocket_is_asked(call) && !is_spdy)
        return carrier_refuse(call, 426, "upgrade to WebSocket or SPDY/3.1 required\n");
    c->protocol = carrier_choose(call, protocols);
    if (!c->protocol)
        return carrier_refuse(call, 403, "none of the offered protocols is supported\n");
    if (c->protocol->is_websocket && websocket_accept(call, &accept) < 0)
        return carrier_refuse(call, 400, "a WebSocket needs version 13 and a key\n");
    c->websocket = (struct websocket){ .ctx = c, .write = write_stream, .on_message = carrier_on_message };
    streams.ctx = c->ctx;
    if (!c->protocol->is_messages) {
        streams.write_ctx = c;
        streams.write = write_spdy;
        c->spdy = spdy_new(&streams);
    }
    carrier_upgrade(c, call, buf_view(&accept));
    carrier_count(c);
    return 0;
}

/* ---- the end ---- */

void carrier_leave(struct carrier *c)
{
    if (!c->stream)
        return;
    if (c->protocol->is_websocket)
        websocket_close(&c->websocket, WEBSOCKET_NORMAL);
    carrier_let_go(c);
    free_if_over(c);
}

void carrier_cut(struct carrier *c)
{
    if (!c->stream)
        return;
    http_stream_cut(c->stream);
    c->stream = NULL;
    free_if_over(c);
}

void carrier_done(struct carrier *c)
{
    websocket_done(&c->websocket);
    spdy_free(c->spdy);
}
