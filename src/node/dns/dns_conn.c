/* dns_conn.c - clients by TCP
 *
 * Each message has its length in front (two bytes). A client may send several questions without waiting; they are
 * answered as the answers come. Limits hold for each client: connections, the time of each, and replies that it does
 * not read.
 */
#include "node/dns/dns_internal.h"

#include "base/util.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
    CONNS_MAX = 256,
    CONNS_PER_CLIENT = 32,
    CONN_MS = 10 * 1000,    /* without a question or a byte read */
    UNREAD_MAX = 4 * 65536, /* bytes of replies; then no more questions are taken */
    MESSAGES_PER_TURN = 16,
    NO_DESCRIPTORS_WAIT_MS = 100,
};

static void keep_alive(const struct dns_server *s, struct dns_conn *c)
{
    c->deadline_ms = s->now_ms + CONN_MS;
}

static size_t unread(const struct dns_conn *c)
{
    return c->out.n - c->sent;
}

/* ---- coming and going ---- */

static size_t count_from(const struct dns_server *s, struct in_addr address)
{
    size_t n = 0;

    LIST_FOREACH(struct dns_conn, c, &s->conns, link)
        n += c->peer.sin_addr.s_addr == address.s_addr;
    return n;
}

static void conn_start(struct dns_server *s, int take_fd, const struct sockaddr_in *peer)
{
    struct dns_conn *c;

    if (s->n_conns >= CONNS_MAX || count_from(s, peer->sin_addr) >= CONNS_PER_CLIENT) {
        close(take_fd);
        return;
    }
    c = xcalloc(1, sizeof(*c));
    c->peer = *peer;
    keep_alive(s, c);
    if (dns_watch_add(s, &c->watch, DNS_WATCH_CONN, take_fd, EPOLLIN) < 0) {
        free(c);
        return;
    }
    list_push(&s->conns, &c->link);
    s->n_conns++;
}

void dns_conn_accept(struct dns_server *s)
{
    for (int i = 0; i < CONNS_PER_CLIENT; i++) {
        struct sockaddr_in peer = { 0 };
        socklen_t size = sizeof(peer);
        int fd = accept4(s->listen.fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0) {
            conn_start(s, fd, &peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            dns_watch_set(s, &s->listen, 0); /* it would be ready again at once: wait for others to end */
            s->listen_at_ms = s->now_ms + NO_DESCRIPTORS_WAIT_MS;
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

void dns_conn_close(struct dns_server *s, struct dns_conn *c)
{
    if (c->watch.fd < 0)
        return;
    dns_watch_close(&c->watch);
    list_remove(&c->link);
    list_push(&s->gone, &c->link);
    s->n_conns--;
    dns_ask_cancel(s, c);
}

void dns_conn_free(struct dns_conn *c)
{
    buf_done(&c->in);
    buf_done(&c->out);
    free(c);
}

int64_t dns_conn_expire(struct dns_server *s, int64_t next_ms)
{
    LIST_FOREACH(struct dns_conn, c, &s->conns, link) {
        if (c->deadline_ms <= s->now_ms)
            dns_conn_close(s, c);
        else
            next_ms = MIN_OF(next_ms, c->deadline_ms);
    }
    return next_ms;
}

/* ---- bytes ---- */

/* False: the connection has failed. */
static bool dns_conn_flush(const struct dns_server *s, struct dns_conn *c)
{
    while (unread(c)) {
        ssize_t n = send(c->watch.fd, c->out.p + c->sent, unread(c), MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN)
            return false;
        if (n < 0)
            break;
        c->sent += (size_t)n;
        keep_alive(s, c);
    }
    /* A client that is never quite up to date must not make it grow. */
    if (c->sent && (unread(c) == 0 || c->sent > UNREAD_MAX)) {
        memmove(c->out.p, c->out.p + c->sent, unread(c));
        c->out.n -= c->sent;
        c->sent = 0;
    }
    return true;
}

/* Closed at the beginning of the next turn: who is in the middle of a list of connections or questions can go on. */
static void dns_conn_give_up(const struct dns_server *s, struct dns_conn *c)
{
    c->deadline_ms = s->now_ms;
}

static size_t message_length(struct str in)
{
    return (size_t)(uint8_t)in.p[0] << 8 | (uint8_t)in.p[1];
}

static bool has_message(struct str in)
{
    return in.n >= 2 && in.n - 2 >= message_length(in);
}

static bool takes_more(const struct dns_conn *c)
{
    return unread(c) < UNREAD_MAX;
}

static bool has_work(const struct dns_conn *c)
{
    return has_message(buf_view(&c->in)) && takes_more(c);
}

/* Wait for what can go on; end what is finished. Questions that are left for the next turn wait for being able to
 * write, which is at once. */
static void dns_conn_settle(struct dns_server *s, struct dns_conn *c)
{
    bool reads = !c->at_end && takes_more(c) && !has_work(c);

    if (c->at_end && !unread(c) && c->n_asks == 0 && !has_work(c))
        dns_conn_give_up(s, c);
    dns_watch_set(s, &c->watch, (reads ? EPOLLIN : 0) | (unread(c) || has_work(c) ? EPOLLOUT : 0));
}

void dns_conn_send(struct dns_server *s, struct dns_conn *c, struct str reply)
{
    uint8_t length[2] = { (uint8_t)(reply.n >> 8), (uint8_t)reply.n };

    if (c->watch.fd < 0 || reply.n > DNS_MESSAGE_MAX)
        return;
    buf_append(&c->out, length, sizeof(length));
    buf_str(&c->out, reply);
    keep_alive(s, c);
    if (dns_conn_flush(s, c))
        dns_conn_settle(s, c);
    else
        dns_conn_give_up(s, c);
}

/* Answer the whole messages of what has come, as long as the client reads the replies; a few for each turn, for
 * others wait too. The rest stays. */
static void take_messages(struct dns_server *s, struct dns_conn *c)
{
    struct dns_client client = { c->peer, c };
    struct str rest = buf_view(&c->in);

    for (int i = 0; i < MESSAGES_PER_TURN && has_message(rest) && takes_more(c); i++) {
        struct str message = str_sub(rest, 2, message_length(rest));

        rest = str_from(rest, 2 + message.n);
        keep_alive(s, c);
        dns_serve(s, &client, message);
    }
    if (rest.n)
        memmove(c->in.p, rest.p, rest.n);
    c->in.n = rest.n;
}

/* False: the connection is broken. */
static bool dns_conn_receive(struct dns_conn *c)
{
    char bytes[16384];
    ssize_t n = recv(c->watch.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    c->at_end = n == 0;
    buf_append(&c->in, bytes, (size_t)n);
    return true;
}

void dns_conn_ready(struct dns_server *s, struct dns_conn *c, uint32_t events)
{
    bool fine = true;

    if (events & EPOLLOUT)
        fine = dns_conn_flush(s, c);
    if (fine && !c->at_end && takes_more(c) && !has_work(c))
        fine = dns_conn_receive(c);
    else if (events & (EPOLLHUP | EPOLLERR)) /* the client does not read replies */
        fine = false;
    if (fine)
        take_messages(s, c);
    if (fine)
        dns_conn_settle(s, c);
    else
        dns_conn_give_up(s, c);
}
