/* feed.c - streamed answers: chunks or messages */
#include "http/feed.h"

#include "base/util.h"
#include "http/carrier.h"

#define TOKEN "base64url.bearer.authorization.k8s.io." /* how a page shows its token */

struct feed_socket {
    struct carrier carrier;
    struct feed *feed; /* NULL: the writer has ended it */
    bool is_text, is_base64;
    char name[64]; /* of the protocol */
    struct carrier_protocol protocols[3];
};

/* ---- chunks ---- */

static void on_call_ready(void *ctx, struct http_call *call)
{
    struct feed *f = ctx;

    (void)call;
    if (f->on_ready)
        f->on_ready(f->ctx);
}

static void on_call_gone(void *ctx, struct http_call *call)
{
    struct feed *f = ctx;

    (void)call;
    f->on_gone(f->ctx);
}

/* ---- messages ---- */

static void feed_on_message(void *ctx, struct str message)
{
    (void)ctx;
    (void)message;
}

static void feed_on_ready(void *ctx)
{
    const struct feed_socket *s = ctx;

    if (s->feed && s->feed->on_ready)
        s->feed->on_ready(s->feed->ctx);
}

static void feed_on_gone(void *ctx)
{
    struct feed_socket *s = ctx;
    struct feed *f = s->feed;

    s->feed = NULL;
    if (f)
        f->on_gone(f->ctx);
}

static void feed_on_free(void *ctx)
{
    struct feed_socket *s = ctx;

    carrier_done(&s->carrier);
    free(s);
}

/* The first that is no token. */
static void find_protocol(const struct http_call *call, char *ret, size_t size)
{
    struct str offered = http_call_header(call, "Sec-WebSocket-Protocol"), part;

    while (str_split(&offered, ',', &part)) {
        part = str_trim(part);
        if (part.n && part.n < size && !str_starts(part, STR(TOKEN))) {
            memcpy(ret, part.p, part.n);
            return;
        }
    }
}

static int feed_open_socket(struct feed *f, struct http_call *call, enum feed_kind kind)
{
    static const struct carrier_events events = { feed_on_message, feed_on_ready, feed_on_gone, feed_on_free };
    struct feed_socket *s = xcalloc(1, sizeof(*s));

    s->carrier.ctx = s;
    s->carrier.events = &events;
    s->feed = f;
    s->is_text = kind == FEED_TEXT;
    s->protocols[0] = (struct carrier_protocol){ s->name, true, true, false, false };
    if (kind == FEED_LOG) {
        s->is_base64 = http_call_header_lists(call, "Sec-WebSocket-Protocol", "base64.binary.k8s.io");
        s->is_text = s->is_base64;
        if (s->is_base64 || http_call_header_lists(call, "Sec-WebSocket-Protocol", "binary.k8s.io"))
            s->protocols[0].name = s->is_base64 ? "base64.binary.k8s.io" : "binary.k8s.io";
    } else {
        find_protocol(call, s->name, sizeof(s->name) - 1);
    }
    if (carrier_open(&s->carrier, call, s->protocols, (struct spdy_events){ 0 }) < 0) {
        feed_on_free(s);
        return -1;
    }
    f->socket = s;
    return 0;
}

/* ---- either ---- */

int feed_begin(struct feed *f, struct http_call *call, enum feed_kind kind, const struct http_reply *reply)
{
    if (websocket_is_asked(call))
        return feed_open_socket(f, call, kind);
    f->call = call;
    http_call_watch(call, &(struct http_call_events){ f, on_call_ready, on_call_gone });
    http_answer_begin(call, reply);
    return 0;
}

void feed_write(struct feed *f, struct str bytes)
{
    autobuf coded = { 0 };

    if (f->call) {
        http_answer_write(f->call, bytes);
        return;
    }
    if (!bytes.n)
        return;
    if (f->socket->is_base64) {
        buf_base64(&coded, bytes);
        bytes = buf_view(&coded);
    }
    websocket_send(&f->socket->carrier.websocket, f->socket->is_text ? WEBSOCKET_TEXT : WEBSOCKET_BINARY, bytes,
                   STR_NULL);
}

size_t feed_queued(const struct feed *f)
{
    if (f->call)
        return http_call_queued(f->call);
    return f->socket->carrier.stream ? http_stream_queued(f->socket->carrier.stream) : 0;
}

void feed_hold(struct feed *f, size_t bytes)
{
    if (f->call)
        http_call_hold(f->call, bytes);
    else
        carrier_hold(&f->socket->carrier, bytes);
}

/* From here on it frees itself. */
static struct feed_socket *feed_let_go(struct feed *f)
{
    struct feed_socket *s = f->socket;

    f->socket = NULL;
    s->feed = NULL;
    return s;
}

void feed_end(struct feed *f)
{
    if (f->call)
        http_answer_end(f->call);
    else
        carrier_leave(&feed_let_go(f)->carrier);
}

void feed_cut(struct feed *f)
{
    if (f->call)
        http_answer_cut(f->call);
    else
        carrier_cut(&feed_let_go(f)->carrier);
}
