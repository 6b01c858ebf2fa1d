/* dns_tcp.c - fuzz: whatever a client sends by TCP, in whatever pieces, it gets whole messages, at most one for each it
 * sent, and the connection ends with it */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "node/dns/dns_internal.h"

#include <sys/epoll.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void server_init(struct dns_server *s)
{
    struct dns_service service = { .namespace = STR("d"), .name = STR("web"), .address = { htonl(0x0a600005) } };
    struct dns_service wide = { .namespace = STR("d"), .name = STR("w") };
    autoarena a = { 0 };

    for (uint32_t i = 1; i <= 300; i++)
        *vec_push(&a, &wide.hosts) = (struct dns_host){ arena_fmt(&a, "h%u", i), { htonl(0x0a000000 + i) }, true };
    *s = (struct dns_server){ .zone = dns_zone_new("c.l", 1), .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
    dns_zone_put(s->zone, &service);
    dns_zone_put(s->zone, &wide);
    pthread_mutex_init(&s->lock, NULL);
    s->wake.fd = s->udp.fd = s->listen.fd = -1;
    list_init(&s->conns);
    list_init(&s->asks);
    list_init(&s->gone);
}

static struct dns_conn *conn_new(struct dns_server *s, int take_fd)
{
    struct dns_conn *c = xcalloc(1, sizeof(*c));

    assert(dns_watch_add(s, &c->watch, DNS_WATCH_CONN, take_fd, EPOLLIN) == 0);
    list_push(&s->conns, &c->link);
    s->n_conns++;
    return c;
}

static void take_replies(int fd, struct buf *out)
{
    char bytes[65536];

    for (ssize_t n; (n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;)
        buf_append(out, bytes, (size_t)n);
}

static size_t count_messages(struct str bytes, bool must_be_whole)
{
    size_t count = 0;

    while (bytes.n >= 2) {
        size_t n = (size_t)(uint8_t)bytes.p[0] << 8 | (uint8_t)bytes.p[1];

        if (bytes.n - 2 < n)
            break;
        if (must_be_whole) {
            ldns_pkt *reply = NULL;

            assert(ldns_wire2pkt(&reply, (const uint8_t *)bytes.p + 2, n) == LDNS_STATUS_OK && ldns_pkt_qr(reply));
            ldns_pkt_free(reply);
        }
        bytes = str_from(bytes, 2 + n);
        count++;
    }
    assert(!must_be_whole || bytes.n == 0);
    return count;
}

/* The first byte says in how large pieces it comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dns_server s;
    struct str input = { (const char *)data, size }, rest;
    size_t piece = size ? 1 + data[0] % 64 * 17 : 1;
    autobuf replies = { 0 };
    struct dns_conn *c;
    int pair[2];

    if (!s.zone)
        server_init(&s);
    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    c = conn_new(&s, pair[1]);
    rest = input = str_from(input, MIN_OF(input.n, (size_t)1));
    for (int idle = 0; idle < 64;) {
        ssize_t n = rest.n ? send(pair[0], rest.p, MIN_OF(piece, rest.n), MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

        rest = str_from(rest, n > 0 ? (size_t)n : 0);
        if (!rest.n && idle == 0)
            (void)shutdown(pair[0], SHUT_WR);
        idle += rest.n == 0;
        dns_conn_ready(&s, c, EPOLLIN | EPOLLOUT);
        take_replies(pair[0], &replies);
    }
    assert(count_messages(buf_view(&replies), true) <= count_messages(input, false));
    assert(c->at_end && c->deadline_ms <= s.now_ms); /* it ends with the next turn */
    dns_conn_close(&s, c);
    (void)list_pop_front(&s.gone);
    dns_conn_free(c);
    close(pair[0]);
    return 0;
}
