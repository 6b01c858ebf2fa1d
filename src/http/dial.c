/* dial.c - opening a connection: address, proxy, TLS
 *
 * The addresses are tried one after the other; each gets its share of the time, the last one all that is left.
 */
#include "http/client_internal.h"

#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    KEEPALIVE_S = 15,
    KEEPALIVE_STEP_S = 5,
    KEEPALIVE_TIMES = 3,
    UNHEARD_MS = 20000
}; /* until the kernel gives a
                                                                                              dead peer up */

static void dial_set(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof(value)); /* better than not */
}

static int socket_make(const struct http_client *c, const struct address *a)
{
    int fd = c->open_socket ? c->open_socket(c->socket_ctx)
                            : socket(a->a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    dial_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    dial_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    dial_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
    dial_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_STEP_S);
    dial_set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_TIMES);
    /* Data that is not acknowledged ends the connection after this time, not after the kernel's fifteen minutes. */
    dial_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNHEARD_MS);
    return fd;
}

/* ---- addresses ---- */

static void socket_drop(struct link *l)
{
    if (l->fd >= 0)
        (void)close(l->fd); /* and so out of the epoll */
    l->fd = -1;
    l->events = 0;
}

/* The next address, until one can be tried. 0: one is. */
static int try_next(struct link *l)
{
    struct resolver *r = &l->client->resolver;
    int why = ECONNREFUSED;

    for (; l->address < r->n; l->address++) {
        const struct address *a = &r->v[l->address];

        socket_drop(l);
        l->fd = socket_make(l->client, a);
        if (l->fd >= 0 && (connect(l->fd, (const struct sockaddr *)&a->a, a->n) == 0 || errno == EINPROGRESS)) {
            l->due_ms = http_mono_ms() + l->client->connect_ms / (int64_t)(r->n - l->address);
            l->client->stats.connections++;
            link_watch(l, EPOLLOUT);
            return 0;
        }
        why = errno;
    }
    (void)snprintf(l->trouble, sizeof(l->trouble), "%s", strerror(why));
    return -1;
}

static void connect_failed(struct link *l, enum http_failure why)
{
    l->address++;
    if (l->address < l->client->resolver.n && try_next(l) == 0) {
        exchange_limits(l->exchange);
        return;
    }
    l->client->resolver.known_ms = 0; /* another one may be known by now */
    l->client->resolver.n = 0;
    link_fail(l, why, l->trouble);
}

static void begin_tries(struct link *l)
{
    const struct http_client *c = l->client;

    if (!c->resolver.n) {
        link_fail(l, c->proxy.host ? FAILURE_RESOLVE_PROXY : FAILURE_RESOLVE, "");
        return;
    }
    l->state = LINK_CONNECTS;
    l->address = 0;
    if (try_next(l) < 0)
        link_fail(l, FAILURE_CONNECT, l->trouble);
}

void link_resolved(struct link *l)
{
    begin_tries(l);
    if (l->state == LINK_CONNECTS)
        exchange_limits(l->exchange);
}

void link_late(struct link *l)
{
    if (l->state == LINK_CONNECTS)
        connect_failed(l, FAILURE_LATE);
    else
        link_fail(l, FAILURE_LATE, "");
}

void link_dial(struct http_client *c, struct http_exchange *x)
{
    struct link *l = xcalloc(1, sizeof(*l));

    l->client = c;
    l->fd = -1;
    l->generation = c->generation;
    l->exchange = x;
    l->due_ms = http_mono_ms() + c->connect_ms;
    x->on = l;
    list_push(&c->links, &l->link);
    if (resolve(c))
        begin_tries(l);
}

/* ---- steps ---- */

/* 0: connected. */
static int dial_connected(struct link *l)
{
    int why = 0;
    socklen_t n = sizeof(why);

    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
        why = errno;
    if (why) {
        (void)snprintf(l->trouble, sizeof(l->trouble), "%s", strerror(why));
        connect_failed(l, FAILURE_CONNECT);
        return -1;
    }
    return 0;
}

/* 0: it is over; IO_AGAIN; IO_BROKEN: link_fail() was called. */
static int dial_shake(struct link *l, SSL **ssl, const char *host, SSL *under)
{
    enum http_failure why = FAILURE_NONE;
    SSL_CTX *context;
    int rc;

    if (!*ssl) {
        context = context_get(l->client, &why);
        if (!context) {
            link_fail(l, why, "");
            return IO_BROKEN;
        }
        *ssl = context_begin(context, host, l->fd, under);
    }
    ERR_clear_error();
    rc = SSL_do_handshake(*ssl);
    if (rc == 1)
        return 0;
    rc = SSL_get_error(*ssl, rc);
    if (rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE) {
        link_watch(l, rc == SSL_ERROR_WANT_WRITE ? EPOLLOUT : EPOLLIN);
        return IO_AGAIN;
    }
    why = context_trouble(l, *ssl);
    link_fail(l, why, l->trouble);
    return IO_BROKEN;
}

/* The proxy, where there is one that passes bytes on. */
static int dial_greet(struct link *l)
{
    struct http_client *c = l->client;
    int rc;

    if (c->proxy.host && strcmp(c->proxy.scheme, "https") == 0 &&
        (!l->proxy_ssl || !SSL_is_init_finished(l->proxy_ssl))) {
        rc = dial_shake(l, &l->proxy_ssl, c->proxy.host, NULL);
        if (rc != 0)
            return rc;
    }
    if (!c->is_tunnel)
        return 0;
    link_watch(l, EPOLLIN);
    rc = proxy_greet(l);
    if (rc == IO_BROKEN)
        link_fail(l, FAILURE_PROXY, l->trouble);
    return rc;
}

void link_go_on(struct link *l)
{
    if (l->state == LINK_CONNECTS) {
        if (dial_connected(l) < 0)
            return;
        l->state = LINK_GREETS;
        l->due_ms = MAX_OF(l->due_ms, l->exchange->sent_us / 1000 + l->client->connect_ms);
        exchange_limits(l->exchange);
    }
    if (l->state == LINK_GREETS) {
        if (dial_greet(l) != 0)
            return;
        l->state = LINK_SHAKES;
    }
    if (l->client->is_tls && dial_shake(l, &l->ssl, l->client->name, l->proxy_ssl) != 0)
        return;
    link_take(l, l->exchange);
}
