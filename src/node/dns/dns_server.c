/* dns_server.c - the thread that serves: UDP here, clients by TCP in dns_conn.c, questions passed on in dns_ask.c
 *
 * One thread, one epoll. Objects that are closed in a turn are freed at its end: a later event of the turn may point at
 * them.
 */
#include "node/dns/dns_internal.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { EVENTS_PER_TURN = 64, PACKETS_PER_TURN = 64, BACKLOG = 64, DNS_PORT = 53 };

/* ---- watching ---- */

int dns_watch_add(struct dns_server *s, struct dns_watch *w, enum dns_watch_kind kind, int take_fd, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = w };

    *w = (struct dns_watch){ kind, take_fd, events };
    if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, take_fd, &event) == 0)
        return 0;
    dns_watch_close(w);
    return -1;
}

void dns_watch_set(struct dns_server *s, struct dns_watch *w, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = w };

    if (w->fd < 0 || w->events == events)
        return;
    w->events = events;
    (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, w->fd, &event); /* known to epoll: it cannot fail but for memory */
}

void dns_watch_close(struct dns_watch *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* ---- questions ---- */

void dns_send(struct dns_server *s, const struct dns_client *c, struct str reply)
{
    if (c->conn)
        dns_conn_send(s, c->conn, reply);
    else /* lost replies are asked for again */
        (void)sendto(s->udp.fd, reply.p, reply.n, MSG_DONTWAIT, (const struct sockaddr *)&c->peer, sizeof(c->peer));
}

static void chase(struct dns_server *s, const struct dns_client *c, struct str begun)
{
    autobuf question = { 0 };

    dns_chase_question(begun, &question);
    dns_ask_start(s, c, buf_view(&question), begun);
}

void dns_serve(struct dns_server *s, const struct dns_client *c, struct str packet)
{
    autobuf reply = { 0 };
    enum dns_outcome outcome;

    pthread_mutex_lock(&s->lock);
    outcome = dns_answer(s->zone, packet, c->conn ? 0 : DNS_UDP_MAX, &reply);
    pthread_mutex_unlock(&s->lock);
    if (outcome == DNS_FORWARD && s->forward.sin_port)
        dns_ask_start(s, c, packet, STR_NULL);
    else if (outcome == DNS_CHASE && s->forward.sin_port)
        chase(s, c, buf_view(&reply));
    else if (outcome == DNS_ANSWERED || outcome == DNS_CHASE ||
             (outcome == DNS_FORWARD && dns_refuse(packet, LDNS_RCODE_REFUSED, &reply)))
        dns_send(s, c, buf_view(&reply));
}

static void read_udp(struct dns_server *s)
{
    char packet[DNS_MESSAGE_MAX];

    for (int i = 0; i < PACKETS_PER_TURN; i++) {
        struct dns_client client = { 0 };
        socklen_t size = sizeof(client.peer);
        ssize_t n = recvfrom(s->udp.fd, packet, sizeof(packet), MSG_DONTWAIT, (struct sockaddr *)&client.peer, &size);

        if (n < 0 && errno != EINTR)
            return; /* nothing more; or the error of an earlier reply */
        if (n > 0 && client.peer.sin_port != 0)
            dns_serve(s, &client, (struct str){ packet, (size_t)n });
    }
}

/* ---- the loop ---- */

static void free_gone(struct dns_server *s)
{
    struct list_link *link;

    while ((link = list_pop_front(&s->gone))) {
        /* both kinds begin alike; the watch says which it is */
        struct dns_conn *conn = LIST_ITEM(link, struct dns_conn, link);

        _Static_assert(offsetof(struct dns_conn, link) == offsetof(struct dns_ask, link), "both begin alike");
        if (conn->watch.kind == DNS_WATCH_CONN)
            dns_conn_free(conn);
        else
            dns_ask_free((struct dns_ask *)conn);
    }
}

static void handle(struct dns_server *s, struct dns_watch *w, uint32_t events)
{
    if (w->fd < 0)
        return; /* closed earlier in this turn */
    switch (w->kind) {
    case DNS_WATCH_WAKE:
        break;
    case DNS_WATCH_UDP:
        read_udp(s);
        break;
    case DNS_WATCH_LISTEN:
        dns_conn_accept(s);
        break;
    case DNS_WATCH_CONN:
        dns_conn_ready(s, (struct dns_conn *)w, events);
        break;
    case DNS_WATCH_ASK:
        dns_ask_ready(s, (struct dns_ask *)w);
        break;
    }
}

/* What is due; returns how long to wait for the next, -1: for ever. */
static int dns_server_expire(struct dns_server *s)
{
    int64_t next_ms = INT64_MAX;

    s->now_ms = clock_mono_ms(&clock_real);
    if (s->listen_at_ms && s->listen_at_ms <= s->now_ms) {
        s->listen_at_ms = 0;
        dns_watch_set(s, &s->listen, EPOLLIN);
    }
    if (s->listen_at_ms)
        next_ms = s->listen_at_ms;
    next_ms = dns_ask_expire(s, next_ms);
    next_ms = dns_conn_expire(s, next_ms);
    free_gone(s);
    return next_ms == INT64_MAX ? -1 : (int)(MAX_OF(next_ms - s->now_ms, 0) + 1);
}

/* False: it is time to stop. */
static bool dns_server_turn(struct dns_server *s)
{
    struct epoll_event events[EVENTS_PER_TURN];
    int n = epoll_wait(s->epoll_fd, events, EVENTS_PER_TURN, dns_server_expire(s));

    s->now_ms = clock_mono_ms(&clock_real);
    for (int i = 0; i < n; i++) {
        struct dns_watch *w = events[i].data.ptr;

        if (w->kind == DNS_WATCH_WAKE)
            return false;
        handle(s, w, events[i].events);
    }
    free_gone(s);
    return true;
}

static void *dns_server_serve(void *ctx)
{
    struct dns_server *s = ctx;

    while (dns_server_turn(s))
        ;
    LIST_FOREACH(struct dns_ask, k, &s->asks, link)
        dns_ask_close(s, k);
    LIST_FOREACH(struct dns_conn, c, &s->conns, link)
        dns_conn_close(s, c);
    free_gone(s);
    return NULL;
}

/* ---- starting ---- */

struct opening { /* input and result of the thread that enters the namespace */
    struct dns_server *server;
    int ns_fd, result;
    struct err e;
};

static int dns_server_open_socket(struct dns_server *s, struct dns_watch *w, int type, struct err *e)
{
    autoclose int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    enum dns_watch_kind kind = type == SOCK_DGRAM ? DNS_WATCH_UDP : DNS_WATCH_LISTEN;
    int on = 1, taken;

    if (fd < 0)
        return err_errno(e, "socket");
    /* Connections of an earlier server may still be on their way out. Not for UDP, where two servers could share. */
    if (type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return err_errno(e, "SO_REUSEADDR");
    if (bind(fd, (const struct sockaddr *)&s->address, sizeof(s->address)) < 0)
        return err_errno(e, "bind");
    if (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
        return err_errno(e, "listen");
    taken = fd;
    fd = -1;
    if (dns_watch_add(s, w, kind, taken, EPOLLIN) < 0)
        return err_errno(e, "epoll");
    return 0;
}

static int open_sockets(struct dns_server *s, int ns_fd, struct err *e)
{
    if (ns_fd >= 0 && setns(ns_fd, CLONE_NEWNET) < 0)
        return err_errno(e, "enter the network namespace");
    if (dns_server_open_socket(s, &s->udp, SOCK_DGRAM, e) < 0)
        return err_wrap(e, "UDP port %u", ntohs(s->address.sin_port));
    if (dns_server_open_socket(s, &s->listen, SOCK_STREAM, e) < 0)
        return err_wrap(e, "TCP port %u", ntohs(s->address.sin_port));
    return 0;
}

static void *open_inside(void *ctx)
{
    struct opening *o = ctx;

    o->result = open_sockets(o->server, o->ns_fd, &o->e);
    return NULL;
}

/* A thread belongs to a namespace, and the way back may be closed to it. So one that ends then makes the sockets. */
static int open_in(struct dns_server *s, int ns_fd, struct err *e)
{
    struct opening o = { .server = s, .ns_fd = ns_fd };
    pthread_t thread;

    if (ns_fd < 0)
        return open_sockets(s, -1, e);
    errno = pthread_create(&thread, NULL, open_inside, &o);
    if (errno)
        return err_errno(e, "start a DNS thread");
    pthread_join(thread, NULL);
    if (o.result < 0 && e)
        *e = o.e;
    return o.result;
}

/* Signals are for the threads of the program proper. */
static int start_thread(struct dns_server *s, struct err *e)
{
    sigset_t all, old;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    code = pthread_create(&s->thread, NULL, dns_server_serve, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = code;
    return code ? err_errno(e, "start a DNS thread") : 0;
}

static void dns_server_free(struct dns_server *s)
{
    dns_watch_close(&s->wake);
    dns_watch_close(&s->udp);
    dns_watch_close(&s->listen);
    if (s->epoll_fd >= 0)
        close(s->epoll_fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct sockaddr_in endpoint(struct in_addr address, uint16_t port)
{
    return (
        struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = address, .sin_port = htons(port ? port : DNS_PORT) };
}

static struct dns_server *dns_server_new(struct dns_zone *z, const struct dns_server_options *opt)
{
    struct dns_server *s = xcalloc(1, sizeof(*s));

    s->zone = z;
    pthread_mutex_init(&s->lock, NULL);
    s->address = endpoint(opt->address, opt->port);
    if (opt->forward.s_addr)
        s->forward = endpoint(opt->forward, opt->forward_port);
    s->wake.fd = s->udp.fd = s->listen.fd = -1;
    list_init(&s->conns);
    list_init(&s->asks);
    list_init(&s->gone);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return s;
}

static int server_open(struct dns_server *s, int ns_fd, struct err *e)
{
    int fd;

    if (s->epoll_fd < 0)
        return err_errno(e, "epoll");
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0 || dns_watch_add(s, &s->wake, DNS_WATCH_WAKE, fd, EPOLLIN) < 0)
        return err_errno(e, "eventfd");
    return open_in(s, ns_fd, e);
}

int dns_server_start(struct dns_zone *z, const struct dns_server_options *opt, struct dns_server **ret, struct err *e)
{
    struct dns_server *s = dns_server_new(z, opt);

    if (opt->ns_fd < 0 && s->forward.sin_port == s->address.sin_port &&
        s->forward.sin_addr.s_addr == s->address.sin_addr.s_addr) {
        dns_server_free(s);
        return err_set(e, ERR_INVALID, "name server: would forward queries to itself");
    }
    dns_zone_set_server(z, opt->address);
    if (server_open(s, opt->ns_fd, e) < 0 || start_thread(s, e) < 0) {
        dns_server_free(s);
        return err_wrap(e, "name server");
    }
    *ret = s;
    return 0;
}

void dns_server_stop(struct dns_server *s)
{
    if (!s)
        return;
    (void)eventfd_write(s->wake.fd, 1); /* a counter: it takes one more */
    pthread_join(s->thread, NULL);
    dns_server_free(s);
}

void dns_server_lock(struct dns_server *s)
{
    pthread_mutex_lock(&s->lock);
}

void dns_server_unlock(struct dns_server *s)
{
    pthread_mutex_unlock(&s->lock);
}
