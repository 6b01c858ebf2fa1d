/* dns_ask.c - questions that are not ours, passed on to the host's name server
 *
 * An attacker who guesses the port and the id of a query can forge its answer before the true one comes. So each
 * question has a socket of its own, whose port the kernel draws, connected, so that the kernel drops packets of other
 * senders; and a random id. An answer that does not repeat id and question is ignored. A client by TCP is served by
 * TCP, so that it gets answers of any length.
 */
#include "node/dns/dns_internal.h"

#include "base/rand.h"
#include "base/util.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { RESEND_MS = 1500 }; /* by UDP, once: a packet that was lost */

static bool dns_ask_is_tcp(const struct dns_ask *k)
{
    return k->client.conn != NULL;
}

/* ---- packets ---- */

static uint16_t dns_ask_id_of(struct str packet)
{
    return ldns_read_uint16(packet.p);
}

/* The one question of a packet; NULL if it has another number of them or is broken. */
static ldns_rr *dns_ask_question_of(struct str packet)
{
    const uint8_t *wire = (const uint8_t *)packet.p;
    size_t at = DNS_HEADER;
    ldns_rr *rr = NULL;

    if (packet.n < DNS_HEADER || LDNS_QDCOUNT(wire) != 1 ||
        ldns_wire2rr(&rr, wire, packet.n, &at, LDNS_SECTION_QUESTION) != LDNS_STATUS_OK)
        return NULL;
    return rr;
}

static bool is_answer(const struct dns_ask *k, struct str packet)
{
    ldns_rr *question = dns_ask_question_of(packet);
    bool is = question && dns_ask_id_of(packet) == k->id && LDNS_QR_WIRE((const uint8_t *)packet.p) &&
              ldns_rr_get_type(question) == ldns_rr_get_type(k->question) &&
              ldns_rr_get_class(question) == ldns_rr_get_class(k->question) &&
              ldns_dname_compare(ldns_rr_owner(question), ldns_rr_owner(k->question)) == 0;

    ldns_rr_free(question);
    return is;
}

/* The packet as it was asked. */
static struct str packet_of(const struct dns_ask *k)
{
    return str_from(buf_view(&k->out), dns_ask_is_tcp(k) ? 2 : 0);
}

static void set_id(char *packet, uint16_t id)
{
    ldns_write_uint16(packet, id);
}

/* ---- ends ---- */

static void dns_ask_complete(struct dns_server *s, const struct dns_client *c, struct str begun, struct str answer)
{
    autobuf reply = { 0 };

    dns_chase_reply(begun, answer, c->conn ? 0 : DNS_UDP_MAX, &reply);
    dns_send(s, c, buf_view(&reply));
}

static void dns_ask_refuse(struct dns_server *s, const struct dns_client *c, struct str packet, struct str begun)
{
    autobuf reply = { 0 };

    if (begun.n)
        dns_ask_complete(s, c, begun, STR_NULL);
    else if (dns_refuse(packet, LDNS_RCODE_SERVFAIL, &reply))
        dns_send(s, c, buf_view(&reply));
}

void dns_ask_close(struct dns_server *s, struct dns_ask *k)
{
    if (k->watch.fd < 0)
        return;
    dns_watch_close(&k->watch);
    list_remove(&k->link);
    list_push(&s->gone, &k->link);
    s->n_asks--;
    if (k->client.conn)
        k->client.conn->n_asks--;
}

void dns_ask_free(struct dns_ask *k)
{
    ldns_rr_free(k->question);
    buf_done(&k->begun);
    buf_done(&k->out);
    buf_done(&k->in);
    free(k);
}

/* Close first, so that the connection of a TCP client with no other question can end. */
static void dns_ask_fail(struct dns_server *s, struct dns_ask *k)
{
    dns_ask_close(s, k);
    set_id(k->out.p + (dns_ask_is_tcp(k) ? 2 : 0), k->client_id);
    dns_ask_refuse(s, &k->client, packet_of(k), buf_view(&k->begun));
}

static void dns_ask_succeed(struct dns_server *s, struct dns_ask *k, char *packet, size_t n)
{
    dns_ask_close(s, k);
    set_id(packet, k->client_id);
    if (k->begun.n)
        dns_ask_complete(s, &k->client, buf_view(&k->begun), (struct str){ packet, n });
    else
        dns_send(s, &k->client, (struct str){ packet, n });
}

void dns_ask_cancel(struct dns_server *s, const struct dns_conn *c)
{
    LIST_FOREACH(struct dns_ask, k, &s->asks, link)
        if (k->client.conn == c)
            dns_ask_close(s, k);
}

/* ---- starting ---- */

static bool is_same_client(const struct dns_client *a, const struct dns_client *b)
{
    return a->conn == b->conn && a->peer.sin_port == b->peer.sin_port &&
           a->peer.sin_addr.s_addr == b->peer.sin_addr.s_addr;
}

static size_t count_from(const struct dns_server *s, struct in_addr address)
{
    size_t n = 0;

    LIST_FOREACH(struct dns_ask, k, &s->asks, link)
        n += k->client.peer.sin_addr.s_addr == address.s_addr;
    return n;
}

/* A client that got no answer asks again, in the same words; it is on its way already. */
static bool is_asked(const struct dns_server *s, const struct dns_client *c, struct str packet)
{
    LIST_FOREACH(struct dns_ask, k, &s->asks, link)
        if (is_same_client(&k->client, c) && k->client_id == dns_ask_id_of(packet) &&
            str_eq(str_from(packet_of(k), 2), str_from(packet, 2)))
            return true;
    return false;
}

static struct dns_ask *ask_new(const struct dns_client *c, struct str packet, struct str begun)
{
    struct dns_ask *k = xcalloc(1, sizeof(*k));
    uint8_t length[2] = { (uint8_t)(packet.n >> 8), (uint8_t)packet.n };

    k->watch = (struct dns_watch){ .kind = DNS_WATCH_ASK, .fd = -1 };
    k->client = *c;
    k->client_id = dns_ask_id_of(packet);
    rand_os_bytes(&k->id, sizeof(k->id));
    k->question = dns_ask_question_of(packet);
    if (dns_ask_is_tcp(k))
        buf_append(&k->out, length, sizeof(length));
    buf_str(&k->out, packet);
    buf_str(&k->begun, begun);
    set_id(k->out.p + (dns_ask_is_tcp(k) ? 2 : 0), k->id);
    return k;
}

/* -1 if it cannot be sent; the caller frees. */
static int ask_open(struct dns_server *s, struct dns_ask *k)
{
    int fd = socket(AF_INET, (dns_ask_is_tcp(k) ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&s->forward, sizeof(s->forward)) < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    if (!dns_ask_is_tcp(k) && send(fd, k->out.p, k->out.n, MSG_DONTWAIT) < 0 && errno != EAGAIN) {
        close(fd);
        return -1;
    }
    return dns_watch_add(s, &k->watch, DNS_WATCH_ASK, fd, dns_ask_is_tcp(k) ? EPOLLOUT : EPOLLIN);
}

void dns_ask_start(struct dns_server *s, const struct dns_client *c, struct str packet, struct str begun)
{
    struct dns_ask *k;

    if (is_asked(s, c, packet))
        return;
    if (s->n_asks >= DNS_FORWARDS_MAX || count_from(s, c->peer.sin_addr) >= DNS_FORWARDS_PER_CLIENT) {
        dns_ask_refuse(s, c, packet, begun);
        return;
    }
    k = ask_new(c, packet, begun);
    if (!k->question || ask_open(s, k) < 0) {
        dns_ask_free(k);
        dns_ask_refuse(s, c, packet, begun);
        return;
    }
    k->deadline_ms = s->now_ms + DNS_FORWARD_MS;
    k->resend_ms = dns_ask_is_tcp(k) ? 0 : s->now_ms + RESEND_MS;
    list_push(&s->asks, &k->link);
    s->n_asks++;
    if (c->conn)
        c->conn->n_asks++;
}

int64_t dns_ask_expire(struct dns_server *s, int64_t next_ms)
{
    LIST_FOREACH(struct dns_ask, k, &s->asks, link) {
        if (k->deadline_ms <= s->now_ms) {
            dns_ask_fail(s, k);
            continue;
        }
        if (k->resend_ms && k->resend_ms <= s->now_ms) {
            k->resend_ms = 0;
            (void)send(k->watch.fd, k->out.p, k->out.n, MSG_DONTWAIT); /* the deadline is what counts */
        }
        next_ms = MIN_OF(next_ms, k->resend_ms ? k->resend_ms : k->deadline_ms);
    }
    return next_ms;
}

/* ---- answers ---- */

static void read_udp(struct dns_server *s, struct dns_ask *k)
{
    char packet[DNS_MESSAGE_MAX];
    ssize_t n = recv(k->watch.fd, packet, sizeof(packet), MSG_DONTWAIT);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        dns_ask_fail(s, k); /* the port is closed: no need to wait */
    else if (n > 0 && is_answer(k, (struct str){ packet, (size_t)n }))
        dns_ask_succeed(s, k, packet, (size_t)n);
}

static void write_tcp(struct dns_server *s, struct dns_ask *k)
{
    ssize_t n = send(k->watch.fd, k->out.p + k->sent, k->out.n - k->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        dns_ask_fail(s, k);
        return;
    }
    k->sent += n > 0 ? (size_t)n : 0;
    if (k->sent == k->out.n)
        dns_watch_set(s, &k->watch, EPOLLIN);
}

static void read_tcp(struct dns_server *s, struct dns_ask *k)
{
    char bytes[16384];
    ssize_t n = recv(k->watch.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    size_t length;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        dns_ask_fail(s, k);
        return;
    }
    buf_append(&k->in, bytes, (size_t)n);
    if (k->in.n < 2)
        return;
    length = ldns_read_uint16(k->in.p);
    if (k->in.n - 2 < length)
        return;
    if (is_answer(k, (struct str){ k->in.p + 2, length }))
        dns_ask_succeed(s, k, k->in.p + 2, length);
    else
        dns_ask_fail(s, k);
}

void dns_ask_ready(struct dns_server *s, struct dns_ask *k)
{
    if (!dns_ask_is_tcp(k))
        read_udp(s, k);
    else if (k->sent < k->out.n)
        write_tcp(s, k); /* a connection that failed says so here */
    else
        read_tcp(s, k);
}
