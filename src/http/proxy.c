/* proxy.c - connecting by a proxy: CONNECT or SOCKS 5
 *
 *     HTTP    step 0: ask for the tunnel   step 1: hear that it is there
 *     SOCKS   step 0: ways to log in       step 1: hear which   [step 2: log in   step 3: hear]
 *             step 4: ask for the server   step 5: hear that it is there
 *
 * Nothing else comes before we speak, so whatever was read belongs to the answer that is waited for.
 */
#include "http/client_internal.h"

#include "base/util.h"

#include <arpa/inet.h>
#include <stdarg.h>

enum { SAY_MAX = 2048 };

static int broken(struct link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int broken(struct link *l, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(l->trouble, sizeof(l->trouble), fmt, ap);
    va_end(ap);
    return IO_BROKEN;
}

/* It is short, and the first that is sent: the kernel takes it whole. */
static int proxy_say(struct link *l, const struct buf *text, unsigned next)
{
    ssize_t n = link_send(l, text->p, text->n);

    if (n == IO_AGAIN)
        return IO_AGAIN;
    if (n != (ssize_t)text->n)
        return broken(l, "the proxy closed the connection");
    l->step = next;
    return 0;
}

/* Until 'n' bytes are there, or a whole head (n = 0). */
static int proxy_hear(struct link *l, size_t n)
{
    char piece[512];
    ssize_t got;

    for (;;) {
        if (n ? l->in.n >= n : str_ends(buf_view(&l->in), STR("\r\n\r\n")))
            return 0;
        if (l->in.n > SAY_MAX * 4)
            return broken(l, "the answer of the proxy is too long");
        got = link_recv(l, piece, n ? MIN_OF(n - l->in.n, sizeof(piece)) : sizeof(piece));
        if (got == IO_AGAIN)
            return IO_AGAIN;
        if (got <= 0)
            return broken(l, "the proxy closed the connection");
        buf_append(&l->in, piece, (size_t)got);
    }
}

/* ---- CONNECT ---- */

static int tunnel_ask(struct link *l)
{
    const struct http_client *c = l->client;
    autobuf out = { 0 };

    buf_str(&out, STR("CONNECT "));
    url_print_host(&out, &c->server);
    buf_str(&out, STR(" HTTP/1.1\r\nHost: "));
    url_print_host(&out, &c->server);
    buf_fmt(&out, "\r\nUser-Agent: %s\r\n", c->user_agent);
    if (c->proxy.user) {
        buf_str(&out, STR("Proxy-Authorization: Basic "));
        buf_base64(&out, str_of(c->proxy.user));
        buf_str(&out, STR("\r\n"));
    }
    buf_str(&out, STR("\r\n"));
    return proxy_say(l, &out, 1);
}

static int tunnel_heard(struct link *l)
{
    struct response r = { 0 };
    bool is_whole = false;
    ptrdiff_t used = response_take(&r, buf_view(&l->in), &is_whole);
    int status = r.status;

    buf_done(&r.text);
    if (used < 0 || !is_whole)
        return broken(l, "the proxy does not speak HTTP");
    return status >= 200 && status < 300 ? 0 : broken(l, "the proxy answered %d", status);
}

static int tunnel(struct link *l)
{
    int rc = 0;

    if (l->step == 0)
        rc = tunnel_ask(l);
    if (rc == 0)
        rc = proxy_hear(l, 0);
    return rc == 0 ? tunnel_heard(l) : rc;
}

/* ---- SOCKS 5 ---- */

static int ways_say(struct link *l)
{
    bool has_user = l->client->proxy.user;
    autobuf out = { 0 };

    buf_append(&out, has_user ? "\x05\x02\x00\x02" : "\x05\x01\x00", has_user ? 4 : 3);
    return proxy_say(l, &out, 1);
}

static int ways_heard(struct link *l)
{
    int rc = proxy_hear(l, 2);
    unsigned char way;

    if (rc != 0)
        return rc;
    way = (unsigned char)l->in.p[1];
    if (l->in.p[0] != 5 || (way != 0 && way != 2))
        return broken(l, l->in.p[0] != 5 ? "the proxy does not speak SOCKS 5"
                                         : "the proxy requires another authentication method");
    buf_reset(&l->in);
    l->step = way == 2 ? 2 : 4;
    return 0;
}

static int login_say(struct link *l)
{
    struct str rest = str_of(l->client->proxy.user), user = rest;
    autobuf out = { 0 };

    (void)str_split(&rest, ':', &user);
    buf_char(&out, 1);
    buf_char(&out, (char)MIN_OF(user.n, (size_t)255));
    buf_str(&out, str_sub(user, 0, 255));
    buf_char(&out, (char)MIN_OF(rest.n, (size_t)255));
    buf_str(&out, str_sub(rest, 0, 255));
    return proxy_say(l, &out, 3);
}

static int login_heard(struct link *l)
{
    int rc = proxy_hear(l, 2);

    if (rc != 0)
        return rc;
    if (l->in.p[1] != 0)
        return broken(l, "the proxy rejected the user");
    buf_reset(&l->in);
    l->step = 4;
    return 0;
}

/* By name where there is one: the proxy may know another address than we do. */
static int server_say(struct link *l)
{
    const struct url *u = &l->client->server;
    unsigned char a[16];
    uint64_t port = 0;
    autobuf out = { 0 };

    (void)str_to_u64(str_of(u->port), &port); /* it was checked */
    buf_append(&out, "\x05\x01\x00", 3);
    if (inet_pton(AF_INET, u->host, a) == 1) {
        buf_char(&out, 1);
        buf_append(&out, a, 4);
    } else if (inet_pton(AF_INET6, u->host, a) == 1) {
        buf_char(&out, 4);
        buf_append(&out, a, 16);
    } else {
        buf_char(&out, 3);
        buf_char(&out, (char)MIN_OF(strlen(u->host), (size_t)255));
        buf_str(&out, str_sub(str_of(u->host), 0, 255));
    }
    buf_char(&out, (char)(port >> 8));
    buf_char(&out, (char)port);
    return proxy_say(l, &out, 5);
}

static int server_heard(struct link *l)
{
    int rc = proxy_hear(l, 5); /* the first byte of the address says how long a name is */
    size_t rest;

    if (rc != 0)
        return rc;
    if (l->in.p[1] != 0)
        return broken(l, "the proxy cannot reach the server (%d)", l->in.p[1]);
    rest = l->in.p[3] == 1 ? 4 : l->in.p[3] == 4 ? 16 : 1 + (size_t)(unsigned char)l->in.p[4];
    return proxy_hear(l, 4 + rest + 2);
}

static int socks(struct link *l)
{
    static int (*const steps[])(struct link *) = { ways_say,    ways_heard, login_say,
                                                   login_heard, server_say, server_heard };

    for (;;) {
        unsigned step = l->step;
        int rc = steps[step](l);

        if (rc != 0 || step == ARRAY_LEN(steps) - 1)
            return rc;
    }
}

int proxy_greet(struct link *l)
{
    return str_starts(str_of(l->client->proxy.scheme), STR("socks")) ? socks(l) : tunnel(l);
}
