/* link.c - a connection in use: a request goes out, its answer comes in */
#include "http/client_internal.h"

#include "base/util.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { PIECE_BYTES = 16 << 10, READS = 8 }; /* of one connection in one go: the others want to be heard too */

/* ---- bytes ---- */

static SSL *tls_of(const struct link *l)
{
    return l->ssl ? l->ssl : l->proxy_ssl;
}

static ssize_t plain_result(struct link *l, ssize_t n)
{
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EINTR)
        return IO_AGAIN;
    (void)snprintf(l->trouble, sizeof(l->trouble), "%s", strerror(errno));
    return IO_BROKEN;
}

static ssize_t tls_result(struct link *l, int rc)
{
    int code = SSL_get_error(tls_of(l), rc), number = errno;
    const char *reason;

    l->wants_out = code == SSL_ERROR_WANT_WRITE;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return IO_AGAIN;
    if (code == SSL_ERROR_ZERO_RETURN)
        return 0;
    reason = ERR_reason_error_string(ERR_peek_error());
    if (!reason)
        reason = number ? strerror(number) : "the connection was closed";
    (void)snprintf(l->trouble, sizeof(l->trouble), "%s", reason);
    ERR_clear_error();
    return IO_BROKEN;
}

ssize_t link_recv(struct link *l, char *to, size_t n)
{
    size_t got = 0;
    int rc;

    if (!tls_of(l))
        return plain_result(l, recv(l->fd, to, n, 0));
    errno = 0;
    rc = SSL_read_ex(tls_of(l), to, n, &got);
    return rc == 1 ? (ssize_t)got : tls_result(l, rc);
}

ssize_t link_send(struct link *l, const char *p, size_t n)
{
    size_t put = 0;
    ssize_t rc;

    if (!tls_of(l))
        return plain_result(l, send(l->fd, p, n, MSG_NOSIGNAL));
    errno = 0;
    rc = SSL_write_ex(tls_of(l), p, n, &put);
    if (rc == 1)
        return (ssize_t)put;
    rc = tls_result(l, (int)rc);
    return rc ? rc : IO_BROKEN;
}

void link_watch(struct link *l, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = l };
    int how = !l->events ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;

    if (events != l->events)
        (void)epoll_ctl(l->client->epoll, how, l->fd, &ev); /* limits in time end it then */
    l->events = events;
}

uint32_t link_events(const struct link *l)
{
    const struct http_exchange *x = l->exchange;

    return (x && x->is_paused ? 0u : EPOLLIN) | (x && x->out_at < x->out.n ? EPOLLOUT : 0u);
}

/* ---- the end ---- */

void link_close(struct link *l)
{
    if (l->state == LINK_CLOSED)
        return;
    if (l->state == LINK_RESTS && l->ssl)
        (void)SSL_shutdown(l->ssl); /* a word of farewell; whether it goes out does not matter */
    ERR_clear_error();
    if (l->fd >= 0)
        (void)close(l->fd); /* and so out of the epoll */
    l->fd = -1;
    l->state = LINK_CLOSED;
    list_remove(&l->more);
    list_remove(&l->link);
    list_push(&l->client->closed, &l->link);
}

void link_free(struct link *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    list_remove(&l->more);
    list_remove(&l->link);
    SSL_free(l->ssl);
    SSL_free(l->proxy_ssl);
    buf_done(&l->in);
    free(l);
}

void link_fail(struct link *l, enum http_failure why, const char *detail)
{
    struct http_exchange *x = l->exchange;

    (void)snprintf(x->trouble, sizeof(x->trouble), "%s", detail);
    x->failure = why;
    x->on = NULL;
    l->exchange = NULL;
    link_close(l);
    list_remove(&x->link);
    list_push(&x->client->failed, &x->link);
}

/* A safe request on a connection that was kept, and closed before it came: once more, on a new one. */
static void again(struct link *l)
{
    struct http_exchange *x = l->exchange;

    l->exchange = NULL;
    link_close(l);
    exchange_again(x);
}

static void link_rest(struct link *l)
{
    if (l->generation != l->client->generation) {
        link_close(l);
        return;
    }
    l->state = LINK_RESTS;
    list_remove(&l->link);
    list_push(&l->client->resting, &l->link);
}

/* The answer is whole. */
static void link_finish(struct link *l, bool is_more)
{
    struct http_exchange *x = l->exchange;

    if (x->zip && !x->is_zip_over) {
        link_fail(l, FAILURE_ZIP, "");
        return;
    }
    l->exchange = NULL;
    x->on = NULL;
    l->is_used = true;
    if (x->response.keeps_alive && x->out_at == x->out.n && !is_more)
        link_rest(l);
    else
        link_close(l);
    exchange_end(x);
}

/* Nothing more comes. 'how' is 0, or IO_BROKEN. */
static void link_over(struct link *l, ssize_t how)
{
    struct http_exchange *x = l->exchange;

    if (!x)
        link_close(l);
    else if (x->has_begun && how == 0 && !x->response.is_chunked && x->response.length == UINT64_MAX)
        link_finish(l, true);
    else if (x->has_begun || x->response.text.n)
        link_fail(l, FAILURE_CUT_OFF, "");
    else if (l->is_used && (x->is_safe || x->out_at < x->out.n))
        again(l);
    else if (l->is_used)
        link_fail(l, FAILURE_CLOSED, "");
    else
        link_fail(l, how == 0 ? FAILURE_NO_ANSWER : FAILURE_IO, l->trouble);
}

/* ---- out ---- */

void link_take(struct link *l, struct http_exchange *x)
{
    l->exchange = x;
    x->on = l;
    l->state = LINK_WORKS;
    list_remove(&l->link);
    list_push(&l->client->links, &l->link);
    x->heard_ms = http_mono_ms();
    link_write(l);
}

void link_write(struct link *l)
{
    struct http_exchange *x = l->exchange;
    ssize_t n;

    while (x->out_at < x->out.n) {
        n = link_send(l, x->out.p + x->out_at, x->out.n - x->out_at);
        if (n == IO_AGAIN) {
            link_watch(l, link_events(l));
            return;
        }
        if (n < 0) {
            link_over(l, n);
            return;
        }
        x->out_at += (size_t)n;
        x->heard_ms = x->out_at < x->out.n ? http_mono_ms() : x->heard_ms;
    }
    link_watch(l, link_events(l));
}

/* ---- in ---- */

static void take_sized(struct link *l, struct str data)
{
    struct http_exchange *x = l->exchange;
    struct str part = str_sub(data, 0, (size_t)MIN_OF(x->left, (uint64_t)data.n));

    if (x->left != UINT64_MAX)
        x->left -= part.n;
    if ((!part.n || exchange_data(x, part)) && !x->left)
        link_finish(l, part.n < data.n);
}

static void take_chunks(struct link *l, struct str data)
{
    struct http_exchange *x = l->exchange;
    struct buf *piece = &l->client->piece;
    ptrdiff_t used;

    buf_reset(piece);
    used = http_chunks_take(&x->chunks, data, SIZE_MAX, piece);
    if (used < 0) {
        link_fail(l, FAILURE_CUT_OFF, "");
        return;
    }
    if ((!piece->n || exchange_data(x, buf_view(piece))) && x->chunks.is_done)
        link_finish(l, (size_t)used < data.n);
}

static void http_link_take(struct link *l, struct str data)
{
    struct http_exchange *x = l->exchange;
    bool is_whole;
    ptrdiff_t used;

    if (!x->has_begun) {
        used = response_take(&x->response, data, &is_whole);
        if (used < 0) {
            link_fail(l, FAILURE_NO_HTTP, "");
            return;
        }
        if (!is_whole)
            return;
        if (x->is_head) {
            x->response.is_chunked = false;
            x->response.length = 0;
        }
        x->left = x->response.length;
        data = str_from(data, (size_t)used);
        if (!exchange_begins(x))
            return;
    }
    if (x->response.is_chunked)
        take_chunks(l, data);
    else
        take_sized(l, data);
}

/* More may be there than epoll knows of: in OpenSSL, or beyond what was asked for. */
static bool has_more(const struct link *l, size_t n)
{
    if (!tls_of(l))
        return n == PIECE_BYTES;
    return SSL_has_pending(tls_of(l)) || (l->proxy_ssl && SSL_has_pending(l->proxy_ssl));
}

void link_read(struct link *l)
{
    char piece[PIECE_BYTES];
    ssize_t n;

    list_remove(&l->more);
    for (int i = 0; i < READS; i++) {
        n = link_recv(l, piece, sizeof(piece));
        if (n == IO_AGAIN) {
            link_watch(l, l->wants_out ? EPOLLIN | EPOLLOUT : l->events);
            return;
        }
        if (n <= 0 || !l->exchange) { /* data without a request: do not trust the connection */
            link_over(l, n < 0 ? n : 0);
            return;
        }
        exchange_heard(l->exchange);
        http_link_take(l, (struct str){ piece, (size_t)n });
        if (l->state == LINK_CLOSED || !has_more(l, (size_t)n) || (l->exchange && l->exchange->is_paused))
            return;
    }
    list_push(&l->client->more, &l->more);
}
