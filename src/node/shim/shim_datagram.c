/* shim_datagram.c - relay datagrams to a port of the pod, and the answers
 *
 *     clients ──▶ a socket of the machine ──▶ a socket for each client, in the pod's network ──▶ the port
 *
 * The program in the pod sees one peer per client, as without the relay. When there are too many clients, the one
 * that was silent the longest is dropped. As always with UDP, delivery failures are not reported. The socket of the
 * machine could send to any address, so the process that holds it must be out of the pod's reach: in its network, but
 * not in its pid namespace.
 */
#include "node/shim/shim_internal.h"

#include "base/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum {
    CLIENTS = 256,
    DATAGRAM = 65536,
    AT_ONCE = 64, /* datagrams from one socket before the next is polled */
};

struct datagram_client {
    struct sockaddr_storage from;
    socklen_t from_n;
    _Alignas(struct cmsghdr) char to[64]; /* the machine's address it was sent to: the answer comes from there */
    size_t to_n;
    uint64_t heard; /* 'turn' of the last datagram */
};

struct datagram_relay {
    int fd;
    uint16_t port;
    struct datagram_client clients[CLIENTS];
    struct pollfd polled[CLIENTS + 1]; /* sockets of the clients, then 'fd' */
    size_t n;
    uint64_t turn;
    char bytes[DATAGRAM];
};

bool is_datagram_socket(int fd)
{
    int type = 0;
    socklen_t n = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_DGRAM;
}

static int datagram_connect_to(uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The slot for a new client; closes the socket of a client that it replaces. */
static size_t place_for_client(struct datagram_relay *r)
{
    size_t oldest = 0;

    if (r->n < CLIENTS)
        return r->n;
    for (size_t i = 1; i < r->n; i++)
        if (r->clients[i].heard < r->clients[oldest].heard)
            oldest = i;
    close(r->polled[oldest].fd);
    return oldest;
}

/* The slot of a client, new or not; CLIENTS: no socket. */
static size_t find_client(struct datagram_relay *r, const struct datagram_client *c)
{
    size_t i;
    int fd;

    for (i = 0; i < r->n; i++)
        if (r->clients[i].from_n == c->from_n && memcmp(&r->clients[i].from, &c->from, c->from_n) == 0 &&
            r->clients[i].to_n == c->to_n && memcmp(r->clients[i].to, c->to, c->to_n) == 0)
            return i;
    fd = datagram_connect_to(r->port);
    if (fd < 0)
        return CLIENTS;
    i = place_for_client(r);
    r->clients[i] = *c;
    r->polled[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
    r->n = MAX_OF(r->n, i + 1);
    return i;
}

static bool relay_datagram(struct datagram_relay *r)
{
    struct datagram_client c = { 0 };
    struct iovec part = { r->bytes, sizeof(r->bytes) };
    struct msghdr m = { .msg_name = &c.from,
                        .msg_namelen = sizeof(c.from),
                        .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = c.to,
                        .msg_controllen = sizeof(c.to) };
    ssize_t n = recvmsg(r->fd, &m, MSG_DONTWAIT);
    size_t i;

    if (n < 0)
        return errno == EINTR;
    c.from_n = m.msg_namelen;
    c.to_n = m.msg_controllen;
    i = find_client(r, &c);
    if (i == CLIENTS)
        return true;
    r->clients[i].heard = ++r->turn;
    if (send(r->polled[i].fd, r->bytes, (size_t)n, MSG_NOSIGNAL) < 0 && errno == ECONNREFUSED)
        (void)send(r->polled[i].fd, r->bytes, (size_t)n, MSG_NOSIGNAL); /* the error was of an earlier datagram */
    return true;
}

static bool relay_answer(struct datagram_relay *r, size_t i)
{
    struct datagram_client *c = &r->clients[i];
    ssize_t n = recv(r->polled[i].fd, r->bytes, sizeof(r->bytes), 0);
    struct iovec part = { r->bytes, n < 0 ? 0 : (size_t)n };
    struct msghdr m = { .msg_name = &c->from,
                        .msg_namelen = c->from_n,
                        .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = c->to_n ? c->to : NULL,
                        .msg_controllen = c->to_n };

    if (n < 0)
        return false; /* also: the port is closed */
    c->heard = ++r->turn;
    (void)sendmsg(r->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT); /* best effort, like UDP */
    return true;
}

_Noreturn void relay_datagrams(int fd, uint16_t port)
{
    static struct datagram_relay r;

    r.fd = fd;
    r.port = port;
    for (;;) {
        size_t n = r.n;
        bool has_news;

        r.polled[n] = (struct pollfd){ .fd = fd, .events = POLLIN };
        if (poll(r.polled, n + 1, -1) < 0)
            continue;
        has_news = r.polled[n].revents; /* find_client() may overwrite this slot */
        for (size_t i = 0; i < n; i++)
            for (int k = 0; r.polled[i].revents && k < AT_ONCE && relay_answer(&r, i); k++)
                ;
        for (int k = 0; has_news && k < AT_ONCE && relay_datagram(&r); k++)
            ;
    }
}
