/* pod_proxy.c - HTTP requests passed on to a port of a pod, and its answers back: pods/proxy and services/proxy
 *
 *     client ──call──▶ here ──http/client.h──▶ a socket in the pods' network ──▶ the pod's own address
 *
 * The address is the one that this node gave to the pod, never one that an object names. Credentials, cookies and
 * impersonation of the client stay here. An answer is a page of the pod's and not of the server's: it sets no cookie
 * here, and a browser keeps it apart from other pages of this server (CSP sandbox).
 *
 * An answer is passed on as it comes. While the client is slow the pod is not read, so a proxy holds a bounded number of
 * bytes. A pod that is slow to answer, or stops in the middle, has limits in time.
 */
#include "kubelet/kubelet_internal.h"

#include "http/client.h"
#include "http/request.h"

#include <sys/epoll.h>
#include <sys/socket.h>

enum {
    PROXY_QUEUE_BYTES = 256 << 10,
    PROXY_BYTES = 64 << 10, /* of sockets and buffers, besides the request */
    PROXIES_MAX = 512,      /* at a time: each has five descriptors */
    PROXIES_OF_USER = 128,  /* one user leaves room for others */
    PROXY_HEAD_MS = 60000,
    PROXY_IDLE_MS = 300000,
    PROXY_STREAM_MS = 24 * 3600 * 1000, /* a WebSocket may be quiet */
};

#define PROXY_SANDBOX                                                                                                  \
    "Content-Security-Policy: sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"
#define PROXY_BEARER "base64url.bearer.authorization.k8s.io." /* a token that browsers offer as a subprotocol */

struct pod_proxy {
    struct kubelet_source source; /* the descriptor of 'client' */
    struct list_link link;
    struct kubelet *kubelet;
    struct http_client *client;
    struct http_exchange *exchange; /* NULL: it has ended */
    struct http_call *call;         /* NULL: it was answered, became 'stream', or left */
    struct http_stream *stream;     /* NULL: none */
    bool has_begun;                 /* the head of the answer was sent */
    struct arena arena;
    struct str user;         /* who asks */
    struct str prefix, host; /* of the client's URL */
    struct str address;      /* of the pod, "10.88.0.2:80" */
};

static void pod_proxy_free(struct pod_proxy *p)
{
    p->kubelet->n_proxies--;
    list_remove(&p->link);
    source_watch(p->kubelet, &p->source, 0);
    http_client_free(p->client);
    arena_done(&p->arena);
    free(p);
}

static void pod_proxy_refuse(struct kubelet *k, struct http_call *call, const char *why)
{
    autobuf text = { 0 };

    buf_fmt(&text, "error trying to reach service: %s", why); /* in the words of Kubernetes */
    answer_text(k, call, 503, text.p);
}

/* ---- headers ---- */

/* Headers that are not passed on. A name that ends with '-' stands for all names that begin so. First those that belong
 * to one connection or are replaced, then those that identify the client. */
static const char *const request_drops[] = { "Connection",
                                             "Keep-Alive",
                                             "TE",
                                             "Trailer",
                                             "Transfer-Encoding",
                                             "Upgrade",
                                             "Content-Length",
                                             "Expect",
                                             "Host",
                                             "Accept",
                                             "Content-Type",
                                             "User-Agent",
                                             "Sec-WebSocket-Protocol",
                                             "X-Forwarded-",
                                             "Authorization",
                                             "Cookie",
                                             "Impersonate-",
                                             "Proxy-",
                                             "X-Remote-",
                                             NULL };

/* The same for answers: the second group would apply to this whole server, not only to the pod's page. */
static const char *const answer_drops[] = { "Connection",
                                            "Keep-Alive",
                                            "Proxy-",
                                            "TE",
                                            "Trailer",
                                            "Transfer-Encoding",
                                            "Upgrade",
                                            "Content-Length",
                                            "Content-Type",
                                            "Date",
                                            "Location",
                                            "Cache-Control",
                                            "X-Content-Type-Options",
                                            "Access-Control-",
                                            "Alt-Svc",
                                            "Clear-Site-Data",
                                            "Service-Worker-Allowed",
                                            "Set-Cookie",
                                            "Strict-Transport-Security",
                                            NULL };

static bool header_is_in(struct str name, const char *const *list)
{
    for (; *list; list++) {
        struct str one = str_of(*list);

        if (str_eq_nocase(str_ends(one, STR("-")) ? str_sub(name, 0, one.n) : name, one))
            return true;
    }
    return false;
}

struct proxy_headers { /* ended by NULL when they are used */
    struct arena *arena;
    VEC(const char *) lines;
};

static void headers_add(struct proxy_headers *h, struct str name, struct str value)
{
    *vec_push(h->arena, &h->lines) = arena_fmt(h->arena, "%.*s: %.*s", STR_ARG(name), STR_ARG(value)).p;
}

static const char *const *headers_end(struct proxy_headers *h)
{
    *vec_push(h->arena, &h->lines) = NULL;
    return h->lines.v;
}

/* The subprotocols that the client offers, without its token. */
static void headers_add_protocols(struct proxy_headers *h, const struct http_call *call)
{
    struct str value, one;
    size_t at = 0;

    while (http_call_next_header(call, "Sec-WebSocket-Protocol", &at, &value))
        while (str_split(&value, ',', &one))
            if (str_trim(one).n && !str_starts(str_trim(one), STR(PROXY_BEARER)))
                headers_add(h, STR("Sec-WebSocket-Protocol"), str_trim(one));
}

static bool call_upgrades(const struct http_call *call)
{
    return http_call_header(call, "Upgrade").n && http_call_header_lists(call, "Connection", "upgrade");
}

static const char *const *request_headers(struct pod_proxy *p, const struct http_call *call, struct str path)
{
    struct proxy_headers h = { .arena = &p->arena };
    struct str fields = http_call_fields(call), name, value;
    size_t at = 0, query = path.n;

    while (http_fields_each(fields, &at, &name, &value))
        if (!header_is_in(name, request_drops) &&
            !http_call_header_lists(call, "Connection", arena_cstr(&p->arena, name)))
            headers_add(&h, name, value);
    if (call_upgrades(call)) {
        headers_add(&h, STR("Connection"), STR("Upgrade"));
        headers_add(&h, STR("Upgrade"), http_call_header(call, "Upgrade"));
        headers_add_protocols(&h, call);
    }
    if (str_has_char(path, '?'))
        query = (size_t)str_find_char(path, '?');
    headers_add(&h, STR("X-Forwarded-For"), str_of(call->peer->address));
    headers_add(&h, STR("X-Forwarded-Host"), p->host);
    headers_add(&h, STR("X-Forwarded-Proto"), call->peer->is_tls ? STR("https") : STR("http"));
    headers_add(&h, STR("X-Forwarded-Uri"), arena_cat(&p->arena, p->prefix, str_sub(path, 0, query)));
    return headers_end(&h);
}

struct str proxy_location(struct arena *a, struct str url, const struct proxy_names *names)
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

static struct http_reply answer_reply(struct pod_proxy *p, const struct http_answer *a)
{
    struct proxy_headers h = { .arena = &p->arena };
    struct proxy_names names = { p->prefix, p->host, p->address };
    struct str type = http_header(a, "Content-Type"), location = http_header(a, "Location"), name, value;
    size_t at = 0;

    while (http_next_header(a, &at, &name, &value))
        if (!header_is_in(name, answer_drops))
            headers_add(&h, name, value);
    if (location.n)
        headers_add(&h, STR("Location"), proxy_location(&p->arena, location, &names));
    if (a->status == 101)
        headers_add(&h, STR("Upgrade"), http_header(a, "Upgrade"));
    else
        *vec_push(h.arena, &h.lines) = PROXY_SANDBOX;
    return (struct http_reply){ .status = a->status,
                                .type = type.n ? arena_cstr(&p->arena, type) : NULL,
                                .headers = headers_end(&h) };
}

/* ---- the client ---- */

static void pod_proxy_call_ready(void *ctx, struct http_call *call)
{
    struct pod_proxy *p = ctx;

    (void)call;
    if (p->exchange)
        http_pause(p->exchange, false);
}

static void pod_proxy_call_gone(void *ctx, struct http_call *call)
{
    (void)call;
    pod_proxy_free(ctx);
}

static void pod_proxy_stream_data(void *ctx, struct http_stream *s, struct str bytes)
{
    struct pod_proxy *p = ctx;

    http_write(p->exchange, bytes);
    http_stream_pause(s, http_queued(p->exchange) > PROXY_QUEUE_BYTES);
}

static void pod_proxy_stream_ready(void *ctx, struct http_stream *s)
{
    (void)s;
    http_pause(((struct pod_proxy *)ctx)->exchange, false);
}

static void pod_proxy_stream_end(void *ctx, struct http_stream *s)
{
    http_stream_end(s);
    pod_proxy_free(ctx);
}

static void pod_proxy_stream_gone(void *ctx, struct http_stream *s)
{
    (void)s;
    pod_proxy_free(ctx);
}

/* ---- the pod ---- */

static void pod_proxy_head(void *ctx, const struct http_answer *a)
{
    struct pod_proxy *p = ctx;
    struct http_reply reply = answer_reply(p, a);
    struct http_stream_events events = { p, pod_proxy_stream_data, pod_proxy_stream_ready, pod_proxy_stream_end,
                                         pod_proxy_stream_gone };

    if (a->status == 101) {
        p->stream = http_upgrade(p->call, reply.headers, &events);
        p->call = NULL;
        http_set_idle(p->exchange, PROXY_STREAM_MS);
    } else if (a->status != 204 && a->status != 304) {
        http_answer_begin(p->call, &reply);
        p->has_begun = true;
    }
}

static void pod_proxy_data(void *ctx, struct str data)
{
    struct pod_proxy *p = ctx;

    if (p->stream)
        http_stream_write(p->stream, data);
    else
        http_answer_write(p->call, data);
    if ((p->stream ? http_stream_queued(p->stream) : http_call_queued(p->call)) > PROXY_QUEUE_BYTES)
        http_pause(p->exchange, true);
}

static void pod_proxy_sent(void *ctx)
{
    struct pod_proxy *p = ctx;

    if (p->stream)
        http_stream_pause(p->stream, false);
}

static void pod_proxy_end(void *ctx, const struct http_answer *a)
{
    struct pod_proxy *p = ctx;
    struct http_reply reply;

    p->exchange = NULL;
    if (p->stream) {
        http_stream_end(p->stream);
    } else if (a->err.code && p->has_begun) {
        http_answer_cut(p->call);
    } else if (a->err.code) {
        pod_proxy_refuse(p->kubelet, p->call, a->err.text);
    } else if (p->has_begun) {
        http_answer_end(p->call);
    } else {
        reply = answer_reply(p, a);
        http_answer(p->call, &reply, STR_NULL);
    }
    p->call = NULL;
    p->stream = NULL;
}

static void pod_proxy_turn(struct kubelet_source *s)
{
    struct pod_proxy *p = (struct pod_proxy *)s;

    http_turn(p->client);
    if (!p->exchange)
        pod_proxy_free(p);
}

/* ---- begin and end ---- */

static int pod_proxy_socket(void *agent)
{
    return agent_socket(agent, SOCK_STREAM);
}

static int pod_proxy_connect(struct pod_proxy *p, const struct http_call *call, const struct kubelet_proxy *to,
                             struct err *e)
{
    struct str ip;
    struct http_options opt = { .tls.is_insecure = true, /* pods have no name that a certificate could show */
                                .user_agent = http_call_header(call, "User-Agent"),
                                .open_socket = pod_proxy_socket,
                                .socket_ctx = p->kubelet->opt.agent };

    if (agent_pod_address(p->kubelet->opt.agent, &p->arena, to->pod_uid, &ip, e) < 0)
        return -1;
    p->address = arena_fmt(&p->arena, "%.*s:%u", STR_ARG(ip), (unsigned)to->port);
    opt.url = arena_fmt(&p->arena, "%s://%.*s", to->is_tls ? "https" : "http", STR_ARG(p->address));
    return http_client_new(&opt, &p->client, e);
}

static void pod_proxy_send(struct pod_proxy *p, const struct http_call *call, const struct kubelet_proxy *to)
{
    struct str accept = http_call_header(call, "Accept"), type = http_call_header(call, "Content-Type");
    struct http_request request = {
        .method = arena_cstr(&p->arena, call->method),
        .path = to->path,
        .body = call->body,
        .body_type = type.n ? arena_cstr(&p->arena, type) : NULL,
        .accept = accept.n ? arena_cstr(&p->arena, accept) : "*/*",
        .headers = request_headers(p, call, to->path),
        .is_upgrade = call_upgrades(call),
        .takes_any = true,
        .head_ms = to->head_ms ? to->head_ms : PROXY_HEAD_MS,
        .idle_ms = PROXY_IDLE_MS,
        .ctx = p,
        .on_head = pod_proxy_head,
        .on_data = pod_proxy_data,
        .on_sent = pod_proxy_sent,
        .on_end = pod_proxy_end,
    };

    p->exchange = http_send(p->client, &request);
}

static bool proxies_are_full(const struct kubelet *k, struct str user)
{
    size_t n = 0;

    LIST_FOREACH(struct pod_proxy, p, &k->proxies, link)
        n += str_eq(p->user, user);
    return n >= PROXIES_OF_USER || k->n_proxies == PROXIES_MAX;
}

void kubelet_proxy(struct kubelet *k, struct http_call *call, const struct kubelet_proxy *to)
{
    struct pod_proxy *p;
    struct err e;

    if (proxies_are_full(k, to->user)) {
        answer_text(k, call, 429, "too many requests to pods are in progress, please try again later");
        return;
    }
    p = xcalloc(1, sizeof(*p));
    p->kubelet = k;
    p->user = arena_str(&p->arena, to->user);
    p->prefix = arena_str(&p->arena, to->prefix);
    p->host = arena_str(&p->arena, http_call_header(call, "Host"));
    p->source = (struct kubelet_source){ -1, 0, pod_proxy_turn };
    list_push(&k->proxies, &p->link);
    k->n_proxies++;
    if (pod_proxy_connect(p, call, to, &e) < 0) {
        pod_proxy_refuse(k, call, e.text);
        pod_proxy_free(p);
        return;
    }
    p->call = call;
    p->source.fd = http_fd(p->client);
    source_watch(k, &p->source, EPOLLIN);
    http_call_watch(call, &(struct http_call_events){ p, pod_proxy_call_ready, pod_proxy_call_gone });
    http_call_hold(call, PROXY_BYTES + call->body.n);
    pod_proxy_send(p, call, to);
}

void pod_proxies_done(struct kubelet *k)
{
    LIST_FOREACH(struct pod_proxy, p, &k->proxies, link) {
        if (p->stream)
            http_stream_cut(p->stream);
        else
            http_answer_cut(p->call);
        pod_proxy_free(p);
    }
}
