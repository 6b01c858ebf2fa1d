/* probe.c - connections with a deadline, the TCP probe, and probes as text for the wire */
#include "node/shim/probe_internal.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/wire.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

/* ---- words: as Go's, which people search for ---- */

static const char *error_word(int error)
{
    static const struct {
        int error;
        const char *word;
    } words[] = {
        { ECONNREFUSED, "connect: connection refused" },    { EHOSTUNREACH, "connect: no route to host" },
        { ENETUNREACH, "connect: network is unreachable" }, { ETIMEDOUT, "i/o timeout" },
        { ECONNRESET, "read: connection reset by peer" },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].error == error)
            return words[i].word;
    return strerror(error);
}

/* ---- waiting ---- */

static int wait_for(const struct probe_conn *c, short events)
{
    for (;;) {
        struct pollfd p = { .fd = c->fd, .events = events };
        int64_t left = c->until_ms - clock_mono_ms(&clock_real);
        int n = poll(&p, 1, left > 0 ? (int)MIN_OF(left, 1 << 30) : 0);

        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -1;
        if (n == 0 && left <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

/* ---- connecting ---- */

static int connect_to(struct probe_conn *c, const struct addrinfo *to)
{
    int error = 0;
    socklen_t n = sizeof(error);
    struct linger linger = { .l_onoff = 1 }; /* a probe leaves no connection in TIME_WAIT, as the kubelet's */

    c->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        return -1;
    (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    if (connect(c->fd, to->ai_addr, to->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS || wait_for(c, POLLOUT) < 0)
        return -1;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && !error)
        return 0;
    errno = error;
    return -1;
}

int probe_dial(struct probe_conn *c, struct str host, uint16_t port, int64_t until_ms, struct buf *out)
{
    struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV }, *list = NULL;
    autobuf name = { 0 };
    char service[8];
    int r, error = EHOSTUNREACH;

    *c = (struct probe_conn){ .fd = -1, .until_ms = until_ms };
    buf_str(&name, host);
    (void)snprintf(service, sizeof(service), "%u", port);
    r = name.n ? getaddrinfo(name.p, service, &want, &list) : EAI_NONAME;
    if (r == EAI_NONAME && name.n) {
        want.ai_flags = AI_NUMERICSERV;
        r = getaddrinfo(name.p, service, &want, &list);
    }
    if (r != 0) {
        buf_fmt(out, "dial tcp: lookup %.*s: %s", STR_ARG(host), gai_strerror(r));
        return -1;
    }
    for (const struct addrinfo *to = list; to; to = to->ai_next) {
        if (connect_to(c, to) == 0) {
            freeaddrinfo(list);
            return 0;
        }
        error = errno;
        probe_conn_done(c);
    }
    freeaddrinfo(list);
    buf_fmt(out, "dial tcp %.*s:%u: %s", STR_ARG(host), port, error_word(error));
    errno = error;
    return -1;
}

void probe_conn_done(struct probe_conn *c)
{
    if (c->tls)
        SSL_free(c->tls);
    if (c->tls_ctx)
        SSL_CTX_free(c->tls_ctx);
    if (c->fd >= 0)
        close(c->fd);
    *c = (struct probe_conn){ .fd = -1, .until_ms = c->until_ms };
}

/* ---- TLS ---- */

/* 0: try again. -1: errno. */
static int tls_wait(struct probe_conn *c, int r)
{
    switch (SSL_get_error(c->tls, r)) {
    case SSL_ERROR_WANT_READ:
        return wait_for(c, POLLIN);
    case SSL_ERROR_WANT_WRITE:
        return wait_for(c, POLLOUT);
    case SSL_ERROR_SYSCALL:
        errno = errno ? errno : ECONNRESET;
        return -1;
    default:
        errno = EPROTO;
        return -1;
    }
}

int probe_tls(struct probe_conn *c, struct str host, struct buf *out)
{
    autobuf name = { 0 };
    bool is_address;

    c->tls_ctx = SSL_CTX_new(TLS_client_method());
    c->tls = c->tls_ctx ? SSL_new(c->tls_ctx) : NULL;
    if (!c->tls) {
        buf_fmt(out, "no TLS here");
        return -1;
    }
    SSL_set_verify(c->tls, SSL_VERIFY_NONE, NULL);
    buf_str(&name, host);
    is_address = strspn(name.p, "0123456789.") == name.n || str_has_char(host, ':');
    if (name.n && !is_address)
        (void)SSL_set_tlsext_host_name(c->tls, name.p);
    (void)SSL_set_fd(c->tls, c->fd);
    for (int r; (r = SSL_connect(c->tls)) != 1;) {
        if (tls_wait(c, r) == 0)
            continue;
        buf_fmt(out, "%s",
                errno == ETIMEDOUT
                    ? "net/http: TLS handshake timeout"
                    : "tls: first record does not look like a TLS handshake, or there is no common version");
        return -1;
    }
    return 0;
}

/* ---- bytes ---- */

int probe_write(struct probe_conn *c, struct str s)
{
    while (s.n) {
        ssize_t n;

        errno = 0;
        n = c->tls ? SSL_write(c->tls, s.p, (int)MIN_OF(s.n, 1U << 14)) : send(c->fd, s.p, s.n, MSG_NOSIGNAL);
        if (n > 0) {
            s = str_from(s, (size_t)n);
            continue;
        }
        if (!c->tls && errno == EINTR)
            continue;
        if (c->tls ? tls_wait(c, (int)n) < 0 : errno != EAGAIN || wait_for(c, POLLOUT) < 0)
            return -1;
    }
    return 0;
}

ssize_t probe_read(struct probe_conn *c, void *p, size_t n)
{
    for (;;) {
        ssize_t r;

        errno = 0;
        r = c->tls ? SSL_read(c->tls, p, (int)MIN_OF(n, 1U << 14)) : recv(c->fd, p, n, 0);
        if (r > 0 || (r == 0 && !c->tls) || (c->tls && SSL_get_error(c->tls, (int)r) == SSL_ERROR_ZERO_RETURN))
            return r > 0 ? r : 0;
        if (!c->tls && errno == EINTR)
            continue;
        if (c->tls ? tls_wait(c, (int)r) < 0 : errno != EAGAIN || wait_for(c, POLLIN) < 0)
            return -1;
    }
}

/* ---- asking ---- */

static bool probe_tcp(const struct probe_target *t, int64_t until_ms, struct buf *out)
{
    autoconn c = { .fd = -1 };

    return probe_dial(&c, t->host, t->port, until_ms, out) == 0;
}

bool probe_run(const struct probe_target *t, int64_t timeout_ms, struct buf *out)
{
    static bool (*const ask[PROBE_KIND_MAX])(const struct probe_target *, int64_t, struct buf *) = {
        [PROBE_HTTP] = probe_http,
        [PROBE_HTTPS] = probe_http,
        [PROBE_TCP] = probe_tcp,
        [PROBE_GRPC] = probe_grpc,
    };

    return ask[t->kind](t, clock_mono_ms(&clock_real) + MAX_OF(timeout_ms, 1), out);
}

/* ---- the wire ---- */

void probe_encode(struct buf *out, const struct probe_target *t)
{
    wire_put_i64(out, t->kind);
    wire_put_i64(out, t->port);
    wire_put_str(out, t->host);
    wire_put_str(out, t->path);
    wire_put_str(out, t->service);
    wire_put_i64(out, (int64_t)t->headers.n);
    VEC_FOREACH(h, &t->headers) {
        wire_put_str(out, h->name);
        wire_put_str(out, h->value);
    }
}

int probe_decode(struct arena *a, struct str text, struct probe_target *ret, struct err *e)
{
    struct wire_read r = { .rest = text };
    struct probe_target t = { 0 };
    int64_t kind = wire_get_i64(&r), port = wire_get_i64(&r);
    size_t n;

    t.host = arena_str(a, wire_get_str(&r));
    t.path = arena_str(a, wire_get_str(&r));
    t.service = arena_str(a, wire_get_str(&r));
    n = wire_get_count(&r, 16);
    for (size_t i = 0; i < n && !r.is_bad; i++) {
        struct probe_header *h = vec_push(a, &t.headers);

        h->name = arena_str(a, wire_get_str(&r));
        h->value = arena_str(a, wire_get_str(&r));
    }
    if (!wire_is_read(&r) || kind < 0 || kind >= PROBE_KIND_MAX || port < 0 || port > UINT16_MAX)
        return err_set(e, ERR_INVALID, "not a probe");
    t.kind = (enum probe_kind)kind;
    t.port = (uint16_t)port;
    *ret = t;
    return 0;
}
