/* probe.c - connections with a deadline, the TCP probe, and probes as text for the wire */
#include "node/shim/probe_internal.h"

#include "base/clock.h"
#include "base/util.h"
#include "os/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

/* ---- error texts: those of Go, which people search for ---- */

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

int probe_wait(const struct probe_conn *c, short events)
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

static int probe_connect_to(struct probe_conn *c, const struct addrinfo *to)
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
    if (errno != EINPROGRESS || probe_wait(c, POLLOUT) < 0)
        return -1;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && !error)
        return 0;
    errno = error;
    return -1;
}

/* Parse an address, without a resolver. */
static bool probe_read_address(const char *name, uint16_t port, struct addrinfo *ret, struct sockaddr_storage *at)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)at;

    *at = (struct sockaddr_storage){ 0 };
    *ret = (struct addrinfo){ .ai_addr = (struct sockaddr *)at };
    if (inet_pton(AF_INET, name, &v4->sin_addr) == 1) {
        v4->sin_port = htons(port);
        ret->ai_family = v4->sin_family = AF_INET;
        ret->ai_addrlen = sizeof(*v4);
    } else if (inet_pton(AF_INET6, name, &v6->sin6_addr) == 1) {
        v6->sin6_port = htons(port);
        ret->ai_family = v6->sin6_family = AF_INET6;
        ret->ai_addrlen = sizeof(*v6);
    }
    return ret->ai_family != 0;
}

const struct probe_libs *probe_libs;
static bool misses_libs; /* set by the current probe */

static int miss_libs(void)
{
    misses_libs = true;
    errno = ENOTSUP;
    return -1;
}

static int dial_any(struct probe_conn *c, const struct addrinfo *list)
{
    for (const struct addrinfo *to = list; to; to = to->ai_next) {
        int error;

        if (probe_connect_to(c, to) == 0)
            return 0;
        error = errno;
        probe_conn_done(c);
        errno = error;
    }
    return -1;
}

static int dial_name(struct probe_conn *c, const char *name, uint16_t port, struct buf *out)
{
    struct addrinfo *list = NULL;
    const char *why = probe_libs->look_up(name, port, &list);
    int rc;

    if (why) {
        buf_fmt(out, "dial tcp: lookup %s: %s", name, why);
        return -1;
    }
    errno = EHOSTUNREACH;
    rc = dial_any(c, list);
    probe_libs->forget(list);
    return rc;
}

int probe_dial(struct probe_conn *c, struct str host, uint16_t port, int64_t until_ms, struct buf *out)
{
    autobuf name = { 0 };
    struct sockaddr_storage at;
    struct addrinfo to;
    size_t before = out->n;
    int rc;

    *c = (struct probe_conn){ .fd = -1, .until_ms = until_ms };
    buf_str(&name, host);
    if (probe_read_address(name.p ? name.p : "", port, &to, &at))
        rc = dial_any(c, &to);
    else
        rc = probe_libs ? dial_name(c, name.p ? name.p : "", port, out) : miss_libs();
    if (rc < 0 && out->n == before)
        buf_fmt(out, "dial tcp %.*s:%u: %s", STR_ARG(host), port, error_word(errno));
    return rc;
}

int probe_tls(struct probe_conn *c, struct str host, struct buf *out)
{
    return probe_libs ? probe_libs->start(c, host, out) : miss_libs();
}

void probe_conn_done(struct probe_conn *c)
{
    if (c->tls)
        probe_libs->end(c);
    if (c->fd >= 0)
        close(c->fd);
    *c = (struct probe_conn){ .fd = -1, .until_ms = c->until_ms };
}

/* ---- bytes ---- */

int probe_write(struct probe_conn *c, struct str s)
{
    if (c->tls)
        return probe_libs->write(c, s);
    while (s.n) {
        ssize_t n = send(c->fd, s.p, s.n, MSG_NOSIGNAL);

        if (n > 0)
            s = str_from(s, (size_t)n);
        else if (errno != EINTR && (errno != EAGAIN || probe_wait(c, POLLOUT) < 0))
            return -1;
    }
    return 0;
}

ssize_t probe_read(struct probe_conn *c, void *p, size_t n)
{
    if (c->tls)
        return probe_libs->read(c, p, n);
    for (;;) {
        ssize_t r = recv(c->fd, p, n, 0);

        if (r >= 0)
            return r;
        if (errno != EINTR && (errno != EAGAIN || probe_wait(c, POLLIN) < 0))
            return -1;
    }
}

/* ---- asking ---- */

static bool probe_tcp(const struct probe_target *t, int64_t until_ms, struct buf *out)
{
    autoconn c = { .fd = -1 };

    return probe_dial(&c, t->host, t->port, until_ms, out) == 0;
}

enum probe_verdict probe_run(const struct probe_target *t, int64_t timeout_ms, struct buf *out)
{
    static bool (*const ask[PROBE_KIND_MAX])(const struct probe_target *, int64_t, struct buf *) = {
        [PROBE_HTTP] = probe_http,
        [PROBE_HTTPS] = probe_http,
        [PROBE_TCP] = probe_tcp,
        [PROBE_GRPC] = probe_grpc,
    };

    bool is_ok;

    misses_libs = false;
    is_ok = ask[t->kind](t, clock_mono_ms(&clock_real) + MAX_OF(timeout_ms, 1), out);
    return is_ok ? PROBE_FINE : misses_libs ? PROBE_MISSES_LIBS : PROBE_FAILED;
}

void probe_answer(int fd, enum probe_verdict verdict, struct str reason)
{
    autobuf all = { 0 };

    buf_char(&all, verdict == PROBE_FINE ? '+' : '-');
    buf_str(&all, str_sub(reason, 0, PROBE_REASON_MAX));
    (void)!write(fd, all.p, all.n); /* it fits into the empty pipe; without a reader the answer is not needed */
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
        return err_set(e, ERR_INVALID, "malformed probe");
    t.kind = (enum probe_kind)kind;
    t.port = (uint16_t)port;
    *ret = t;
    return 0;
}
