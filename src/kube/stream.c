/* stream.c - long-lived requests: followed logs, watches, terminals */
#include "base/rand.h"
#include "base/util.h"
#include "http/websocket.h"
#include "kube/ask_internal.h"
#include "kube/cluster_internal.h"

enum { QUIET_MS = 1000 * 60 * 60 * 24 * 14 }; /* a program may say nothing for days */

struct kube_stream {
    struct kube_stream_events events;
    struct http_exchange *exchange;
    struct str origin;
    bool is_websocket;
    struct websocket websocket;
    struct buf key; /* Sec-WebSocket-Key */
    struct err err; /* what was wrong with the answer to the handshake */
};

static void stream_free(struct kube_stream *s)
{
    websocket_done(&s->websocket);
    buf_done(&s->key);
    free(s);
}

/* ---- what comes ---- */

static void check_handshake(struct kube_stream *s, const struct http_answer *a)
{
    autobuf want = { 0 };

    websocket_answer(buf_view(&s->key), &want);
    if (a->status < 300 && (a->status != 101 || !str_eq(http_header(a, "Sec-WebSocket-Accept"), buf_view(&want))))
        (void)err_set(
            &s->err, ERR_INVALID,
            "%.*s: the server does not support WebSockets here; it must be Kubernetes 1.30 or newer, or Pumice",
            STR_ARG(s->origin));
}

static void stream_on_head(void *ctx, const struct http_answer *a)
{
    struct kube_stream *s = ctx;

    if (s->is_websocket)
        check_handshake(s, a);
    if (a->status < 300 && s->err.code == ERR_OK && s->events.on_open)
        s->events.on_open(s->events.ctx);
}

static void stream_on_message(void *ctx, enum websocket_kind kind, struct str message)
{
    struct kube_stream *s = ctx;

    (void)kind;
    s->events.on_data(s->events.ctx, message);
}

static void stream_on_data(void *ctx, struct str data)
{
    struct kube_stream *s = ctx;

    if (!s->is_websocket)
        s->events.on_data(s->events.ctx, data);
    else if (s->err.code == ERR_OK)
        (void)websocket_take(&s->websocket, data); /* the server ends the connection after its close */
}

static void stream_on_end(void *ctx, const struct http_answer *a)
{
    struct kube_stream *s = ctx;
    autoarena scratch = { 0 };
    struct json *status = NULL;
    struct err e = s->err;

    if (a->err.code != ERR_OK && !s->websocket.is_over)
        e = a->err;
    if (e.code == ERR_OK && a->status >= 300) {
        if (json_parse(&scratch, a->body, NULL, &status, NULL) < 0 ||
            !str_is(json_member_text(status, "kind"), "Status"))
            status = NULL;
        decode_status(a->status, status, &e);
    }
    s->events.on_end(s->events.ctx, e.code == ERR_OK ? NULL : &e);
    stream_free(s);
}

/* ---- opening ---- */

static void send_bytes(void *ctx, struct str bytes)
{
    struct kube_stream *s = ctx;

    http_write(s->exchange, bytes);
}

static int stream_open(struct kube_ask *k, struct kube_stream *s, struct str path, const char *const *headers,
                       struct err *e)
{
    struct credential_now now = { 0 };
    struct http_request request = { .method = "GET",
                                    .path = path,
                                    .accept = "*/*",
                                    .headers = headers,
                                    .is_upgrade = s->is_websocket,
                                    .idle_ms = QUIET_MS,
                                    .ctx = s,
                                    .on_head = stream_on_head,
                                    .on_data = stream_on_data,
                                    .on_end = stream_on_end };

    if (ask_identify(k, &now, e) < 0) {
        stream_free(s);
        return -1;
    }
    s->origin = k->config->server;
    request.token = now.token;
    s->exchange = http_send(k->http, &request);
    return 0;
}

int kube_ask_stream(struct kube_ask *k, struct str path, const struct kube_stream_events *events,
                    struct kube_stream **ret, struct err *e)
{
    struct kube_stream *s = xcalloc(1, sizeof(*s));

    s->events = *events;
    *ret = s;
    return stream_open(k, s, path, k->config->headers, e);
}

int kube_ask_websocket(struct kube_ask *k, struct str path, const struct kube_stream_events *events,
                       struct kube_stream **ret, struct err *e)
{
    struct kube_stream *s = xcalloc(1, sizeof(*s));
    autoarena scratch = { 0 };
    VEC(const char *) headers = { 0 };
    char nonce[16];

    s->events = *events;
    s->is_websocket = true;
    s->websocket = (struct websocket){
        .ctx = s, .write = send_bytes, .on_message = stream_on_message, .message_bytes = 64 << 20, .is_client = true
    };
    rand_os_bytes(nonce, sizeof(nonce));
    buf_base64(&s->key, (struct str){ nonce, sizeof(nonce) });
    for (const char *const *h = k->config->headers; h && *h; h++)
        *vec_push(&scratch, &headers) = *h;
    *vec_push(&scratch, &headers) = "Connection: Upgrade";
    *vec_push(&scratch, &headers) = "Upgrade: websocket";
    *vec_push(&scratch, &headers) = "Sec-WebSocket-Version: 13";
    *vec_push(&scratch, &headers) = arena_fmt(&scratch, "Sec-WebSocket-Key: %s", s->key.p).p;
    *vec_push(&scratch, &headers) = "Sec-WebSocket-Protocol: v5.channel.k8s.io";
    *vec_push(&scratch, &headers) = NULL;
    *ret = s;
    return stream_open(k, s, path, headers.v, e);
}

/* ---- using ---- */

void kube_stream_write(struct kube_stream *s, struct str first, struct str rest)
{
    websocket_send(&s->websocket, WEBSOCKET_BINARY, first, rest);
}

size_t kube_stream_queued(const struct kube_stream *s)
{
    return http_queued(s->exchange);
}

void kube_stream_end(struct kube_stream *s)
{
    http_cancel(s->exchange);
    stream_free(s);
}

int kube_ask_fd(const struct kube_ask *k)
{
    return http_fd(k->http);
}

void kube_ask_turn(struct kube_ask *k)
{
    http_turn(k->http);
}
