/* relay.c - HTTP requests passed on to a port of a pod, and its answers back: pods/proxy and services/proxy
 *
 *     client ──call──▶ here ──http/client.h──▶ a socket in the pods' network ──▶ the pod's own address
 *
 * The address is the one that this node gave to the pod, never one that an object names. Whatever tells who the client
 * is stays here: credentials, cookies, impersonation. An answer is a page of the pod's and not of the server's: it sets
 * no cookie here, and a browser keeps it apart from other pages of this server (CSP sandbox).
 *
 * An answer is passed on as it comes. While the client is slow the pod is not read, so a relay holds a bounded number of
 * bytes. A pod that is slow to answer, or stops in the middle, has limits in time.
 */
#include "kubelet/kubelet_internal.h"

#include "http/client.h"
#include "http/request.h"

#include <sys/epoll.h>
#include <sys/socket.h>

enum {
    RELAY_QUEUE_BYTES = 256 << 10,
    RELAY_BYTES = 64 << 10, /* of sockets and buffers, besides the request */
    RELAYS_MAX = 512,       /* at a time: each has five descriptors */
    RELAY_HEAD_MS = 60000,
    RELAY_IDLE_MS = 300000,
    RELAY_STREAM_MS = 24 * 3600 * 1000, /* a WebSocket may be quiet */
};

#define RELAY_SANDBOX                                                                                                  \
    "Content-Security-Policy: sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"
#define RELAY_BEARER "base64url.bearer.authorization.k8s.io." /* a token that browsers offer as a subprotocol */

struct relay {
    struct source source; /* the descriptor of 'client' */
    struct list_link link;
    struct kubelet *kubelet;
    struct http_client *client;
    struct http_exchange *exchange; /* NULL: it has ended */
    struct http_call *call;         /* NULL: it was answered, became 'stream', or left */
    struct http_stream *stream;     /* NULL: none */
    bool has_begun;                 /* the head of the answer was sent */
    struct arena arena;
    struct str prefix, host; /* of the client's URL */
    struct str address;      /* of the pod, "10.88.0.2:80" */
};

static void relay_free(struct relay *r)
{
    r->kubelet->n_relays--;
    list_remove(&r->link);
    source_watch(r->kubelet, &r->source, 0);
    http_client_free(r->client);
    arena_done(&r->arena);
    free(r);
}

static void relay_refuse(struct kubelet *k, struct http_call *call, const char *why)
{
    autobuf text = { 0 };

    buf_fmt(&text, "error trying to reach service: %s", why); /* in the words of Kubernetes */
    answer_text(k, call, 503, text.p);
}

/* ---- headers ---- */

/* Names, and beginnings of names that end with '-'. Those of one connection only, those that are written anew, and … */
static const char *const request_drops[] = { "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding",
                                             "Upgrade", "Content-Length", "Expect", "Host", "Accept", "Content-Type",
                                             "User-Agent", "Sec-WebSocket-Protocol", "X-Forwarded-",
                                             /* … those that tell who the client is */
                                             "Authorization", "Cookie", "Impersonate-", "Proxy-", "X-Remote-", NULL };
static const char *const answer_drops[] = { "Connection", "Keep-Alive", "Proxy-", "TE", "Trailer", "Transfer-Encoding",
                                            "Upgrade", "Content-Length", "Content-Type", "Date", "Location",
                                            "Cache-Control", "X-Content-Type-Options",
                                            /* … those that say something about all of this server */
                                            "Access-Control-", "Alt-Svc", "Clear-Site-Data", "Service-Worker-Allowed",
                                            "Set-Cookie", "Strict-Transport-Security", NULL };

static bool header_is_in(struct str name, const char *const *list)
{
    for (; *list; list++) {
        struct str one = str_of(*list);

        if (str_eq_nocase(str_ends(one, STR("-")) ? str_sub(name, 0, one.n) : name, one))
            return true;
    }
    return false;
}

struct relay_headers { /* ended by NULL when they are used */
    struct arena *arena;
    VEC(const char *) lines;
};

static void headers_add(struct relay_headers *h, struct str name, struct str value)
{
    *vec_push(h->arena, &h->lines) = arena_fmt(h->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value)).p;
}

static const char *const *headers_end(struct relay_headers *h)
{
    *vec_push(h->arena, &h->lines) = NULL;
    return h->lines.v;
}

/* The subprotocols that the client offers, without its token. */
static void headers_add_protocols(struct relay_headers *h, const struct http_call *call)
{
    struct str value, one;
    size_t at = 0;

    while (http_call_next_header(call, "Sec-WebSocket-Protocol", &at, &value))
        while (str_split(&value, ',', &one))
            if (str_trim(one).n && !str_starts(str_trim(one), STR(RELAY_BEARER)))
                headers_add(h, STR("Sec-WebSocket-Protocol"), str_trim(one));
}

static bool call_upgrades(const struct http_call *call)
{
    return http_call_header(call, "Upgrade").n && http_call_header_lists(call, "Connection", "upgrade");
}

static const char *const *request_headers(struct relay *r, const struct http_call *call, struct str path)
{
    struct relay_headers h = { .arena = &r->arena };
    struct str fields = http_call_fields(call), name, value;
    size_t at = 0, query = path.n;

    while (http_fields_each(fields, &at, &name, &value))
        if (!header_is_in(name, request_drops) &&
            !http_call_header_lists(call, "Connection", arena_cstr(&r->arena, name)))
            headers_add(&h, name, value);
    if (call_upgrades(call)) {
        headers_add(&h, STR("Connection"), STR("Upgrade"));
        headers_add(&h, STR("Upgrade"), http_call_header(call, "Upgrade"));
        headers_add_protocols(&h, call);
    }
    if (str_has_char(path, '?'))
        query = (size_t)str_find_char(path, '?');
    headers_add(&h, STR("X-Forwarded-For"), str_of(call->peer->address));
    headers_add(&h, STR("X-Forwarded-Host"), r->host);
    headers_add(&h, STR("X-Forwarded-Proto"), call->peer->is_tls ? STR("https") : STR("http"));
    headers_add(&h, STR("X-Forwarded-Uri"), arena_cat(&r->arena, r->prefix, str_sub(path, 0, query)));
    return headers_end(&h);
}

struct str relay_location(struct arena *a, struct str url, const struct relay_names *names)
{
    struct str path = url, host = STR_NULL;
    ptrdiff_t at;

    if (str_starts(path, STR("http://")) || str_starts(path, STR("https://")))
        path = str_from(path, (size_t)str_find_char(path, ':') + 1);
    else if (!str_starts(path, STR("/")))
        return url; /* of this very page, or of another scheme */
    if (str_starts(path, STR("//"))) {
        path = str_from(path, 2);
        at = str_find_char(path, '/');
        host = str_sub(path, 0, at < 0 ? path.n : (size_t)at);
        path = str_from(path, host.n);
    }
    if ((host.n && !str_eq(host, names->address) && !str_eq(host, names->host)) || !path.n)
        return url;
    return str_starts(path, names->prefix) ? path : arena_cat(a, names->prefix, path);
}

static struct http_reply answer_reply(struct relay *r, const struct http_answer *a)
{
    struct relay_headers h = { .arena = &r->arena };
    struct relay_names names = { r->prefix, r->host, r->address };
    struct str type = http_header(a, "Content-Type"), location = http_header(a, "Location"), name, value;
    size_t at = 0;

    while (http_next_header(a, &at, &name, &value))
        if (!header_is_in(name, answer_drops))
            headers_add(&h, name, value);
    if (location.n)
        headers_add(&h, STR("Location"), relay_location(&r->arena, location, &names));
    if (a->status == 101)
        headers_add(&h, STR("Upgrade"), http_header(a, "Upgrade"));
    else
        *vec_push(h.arena, &h.lines) = RELAY_SANDBOX;
    return (struct http_reply){ .status = a->status,
                                .type = type.n ? arena_cstr(&r->arena, type) : NULL,
                                .headers = headers_end(&h) };
}

/* ---- the client ---- */

static void relay_call_ready(void *ctx, struct http_call *call)
{
    struct relay *r = ctx;

    (void)call;
    if (r->exchange)
        http_pause(r->exchange, false);
}

static void relay_call_gone(void *ctx, struct http_call *call)
{
    (void)call;
    relay_free(ctx);
}

static void relay_stream_data(void *ctx, struct http_stream *s, struct str bytes)
{
    struct relay *r = ctx;

    http_write(r->exchange, bytes);
    http_stream_pause(s, http_queued(r->exchange) > RELAY_QUEUE_BYTES);
}

static void relay_stream_ready(void *ctx, struct http_stream *s)
{
    (void)s;
    http_pause(((struct relay *)ctx)->exchange, false);
}

static void relay_stream_end(void *ctx, struct http_stream *s)
{
    http_stream_end(s);
    relay_free(ctx);
}

static void relay_stream_gone(void *ctx, struct http_stream *s)
{
    (void)s;
    relay_free(ctx);
}

/* ---- the pod ---- */

static bool answer_has_body(int status)
{
    return status != 204 && status != 304;
}

static void relay_head(void *ctx, const struct http_answer *a)
{
    struct relay *r = ctx;
    struct http_reply reply = answer_reply(r, a);
    struct http_stream_events events = { r, relay_stream_data, relay_stream_ready, relay_stream_end,
                                         relay_stream_gone };

    if (a->status == 101) {
        r->stream = http_upgrade(r->call, reply.headers, &events);
        r->call = NULL;
        http_set_idle(r->exchange, RELAY_STREAM_MS);
    } else if (answer_has_body(a->status)) {
        http_answer_begin(r->call, &reply);
        r->has_begun = true;
    }
}

static void relay_data(void *ctx, struct str data)
{
    struct relay *r = ctx;

    if (r->stream)
        http_stream_write(r->stream, data);
    else
        http_answer_write(r->call, data);
    if ((r->stream ? http_stream_queued(r->stream) : http_call_queued(r->call)) > RELAY_QUEUE_BYTES)
        http_pause(r->exchange, true);
}

static void relay_sent(void *ctx)
{
    struct relay *r = ctx;

    if (r->stream)
        http_stream_pause(r->stream, false);
}

static void relay_end(void *ctx, const struct http_answer *a)
{
    struct relay *r = ctx;
    struct http_reply reply;

    r->exchange = NULL;
    if (r->stream) {
        http_stream_end(r->stream);
    } else if (a->err.code && r->has_begun) {
        http_answer_cut(r->call);
    } else if (a->err.code) {
        relay_refuse(r->kubelet, r->call, a->err.text);
    } else if (r->has_begun) {
        http_answer_end(r->call);
    } else {
        reply = answer_reply(r, a);
        http_answer(r->call, &reply, STR_NULL);
    }
    r->call = NULL;
    r->stream = NULL;
}

static void relay_turn(struct source *s)
{
    struct relay *r = (struct relay *)s;

    http_turn(r->client);
    if (!r->exchange)
        relay_free(r);
}

/* ---- begin and end ---- */

static int relay_socket(void *agent)
{
    return agent_socket(agent, SOCK_STREAM);
}

static int relay_connect(struct relay *r, const struct http_call *call, const struct kubelet_relay *to, struct err *e)
{
    struct str ip;
    struct http_options opt = { .tls.is_insecure = true, /* pods have no name that a certificate could show */
                                .user_agent = http_call_header(call, "User-Agent"),
                                .open_socket = relay_socket,
                                .socket_ctx = r->kubelet->opt.agent };

    if (agent_pod_address(r->kubelet->opt.agent, &r->arena, to->pod_uid, &ip, e) < 0)
        return -1;
    r->address = arena_fmt(&r->arena, "%.*s:%u", STR_ARG(ip), (unsigned)to->port);
    opt.url = arena_fmt(&r->arena, "%s://%.*s", to->is_tls ? "https" : "http", STR_ARG(r->address));
    return http_client_new(&opt, &r->client, e);
}

static void relay_send(struct relay *r, const struct http_call *call, const struct kubelet_relay *to)
{
    struct str accept = http_call_header(call, "Accept"), type = http_call_header(call, "Content-Type");
    struct http_request request = {
        .method = arena_cstr(&r->arena, call->method),
        .path = to->path,
        .body = call->body,
        .body_type = type.n ? arena_cstr(&r->arena, type) : NULL,
        .accept = accept.n ? arena_cstr(&r->arena, accept) : "*/*",
        .headers = request_headers(r, call, to->path),
        .is_upgrade = call_upgrades(call),
        .takes_any = true,
        .head_ms = to->head_ms ? to->head_ms : RELAY_HEAD_MS,
        .idle_ms = RELAY_IDLE_MS,
        .ctx = r,
        .on_head = relay_head,
        .on_data = relay_data,
        .on_sent = relay_sent,
        .on_end = relay_end,
    };

    r->exchange = http_send(r->client, &request);
}

void kubelet_relay(struct kubelet *k, struct http_call *call, const struct kubelet_relay *to)
{
    struct relay *r;
    struct err e;

    if (k->n_relays == RELAYS_MAX) {
        answer_text(k, call, 429, "too many requests to pods are in progress, please try again later");
        return;
    }
    r = xcalloc(1, sizeof(*r));
    r->kubelet = k;
    r->prefix = arena_str(&r->arena, to->prefix);
    r->host = arena_str(&r->arena, http_call_header(call, "Host"));
    r->source = (struct source){ -1, 0, relay_turn };
    list_push(&k->relays, &r->link);
    k->n_relays++;
    if (relay_connect(r, call, to, &e) < 0) {
        relay_refuse(k, call, e.text);
        relay_free(r);
        return;
    }
    r->call = call;
    r->source.fd = http_fd(r->client);
    source_watch(k, &r->source, EPOLLIN);
    http_call_watch(call, &(struct http_call_events){ r, relay_call_ready, relay_call_gone });
    http_call_hold(call, RELAY_BYTES + call->body.n);
    relay_send(r, call, to);
}

void relays_done(struct kubelet *k)
{
    LIST_FOREACH(struct relay, r, &k->relays, link) {
        if (r->stream)
            http_stream_cut(r->stream);
        else
            http_answer_cut(r->call);
        relay_free(r);
    }
}
