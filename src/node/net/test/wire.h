/* wire.h - for tests: a network of the test's own, pods without processes, and who reaches whom
 *
 * A socket stays in the network namespace it was made in, so one thread can play every pod.
 */
#ifndef NODE_TEST_WIRE_H
#define NODE_TEST_WIRE_H

#include "node/net/net.h"
#include "os/netlink.h"
#include "os/test/testing.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

enum { WIRE_WAIT_MS = 1000, WIRE_UDP_MS = 300, WIRE_SILENT = ETIMEDOUT };

struct wire_pod {
    int ns;
    struct in_addr address;
    const char *link;
};

/* Move this process into an empty network, so that nothing the test does is seen by the host. False: not allowed. */
static inline bool wire_own_network(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return true;
    return own_user_namespace() == 0 && unshare(CLONE_NEWNET) == 0;
}

static inline int wire_join(struct net *n, struct wire_pod *p, struct err *e)
{
    p->ns = -1;
    return netns_new(&p->ns, e) < 0 || net_take_address(n, false, &p->address, e) < 0 ||
                   net_join(n, p->ns, p->address, &p->link, e) < 0
               ? -1
               : 0;
}

struct wire_made {
    int type, fd;
};

static inline int wire_make(void *ctx, struct err *e)
{
    struct wire_made *m = ctx;

    m->fd = socket(AF_INET, m->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return m->fd < 0 ? err_errno(e, "socket") : 0;
}

/* ns -1: here. */
static inline int wire_socket(int ns, int type)
{
    struct wire_made m = { type, -1 };

    (void)(ns < 0 ? wire_make(&m, NULL) : netns_run(ns, wire_make, &m, NULL)); /* the descriptor says it */
    return m.fd;
}

static inline struct sockaddr_in wire_name(struct in_addr a, unsigned port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = a };
}

/* A socket that waits for others at a port of every address there. */
static inline int wire_listen(int ns, int type, unsigned port)
{
    struct sockaddr_in name = wire_name((struct in_addr){ htonl(INADDR_ANY) }, port);
    int on = 1, fd = wire_socket(ns, type);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || (type == SOCK_STREAM && listen(fd, 64) < 0))
        return -1;
    return fd;
}

static inline bool wire_wait(int fd, short events, int ms)
{
    struct pollfd p = { fd, events, 0 };

    return poll(&p, 1, ms) == 1;
}

static inline int wire_error(int fd)
{
    int error = 0;
    socklen_t n = sizeof(error);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 ? errno : error;
}

/* Connect; the socket, or -1 with errno (WIRE_SILENT if nothing came back). */
static inline int wire_connect(int ns, struct in_addr to, unsigned port)
{
    struct sockaddr_in name = wire_name(to, port);
    autoclose int fd = wire_socket(ns, SOCK_STREAM);
    int done, error;

    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 && errno != EINPROGRESS)
        return -1;
    error = wire_wait(fd, POLLOUT, WIRE_WAIT_MS) ? wire_error(fd) : WIRE_SILENT;
    done = error ? -1 : fd;
    if (!error)
        fd = -1;
    errno = error;
    return done;
}

/* Who reaches whom: 0, or the errno the one who tried got. */
static inline int wire_tcp(int ns, struct in_addr to, unsigned port)
{
    autoclose int fd = wire_connect(ns, to, port);

    return fd < 0 ? errno : 0;
}

/* One datagram there and one back. 'listener' is the socket it should reach, -1: none is there. */
static inline int wire_udp(int ns, struct in_addr to, unsigned port, int listener)
{
    struct sockaddr_in name = wire_name(to, port), from;
    socklen_t n = sizeof(from);
    autoclose int fd = wire_socket(ns, SOCK_DGRAM);
    char c;

    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 || send(fd, "a", 1, 0) != 1)
        return errno;
    for (int ms = 0; ms < WIRE_UDP_MS; ms += 10) {
        if (listener >= 0 && recvfrom(listener, &c, 1, 0, (struct sockaddr *)&from, &n) == 1)
            (void)sendto(listener, "b", 1, 0, (struct sockaddr *)&from, n); /* seen by whether it comes */
        if (wire_wait(fd, POLLIN, 10))
            return recv(fd, &c, 1, 0) == 1 ? 0 : errno;
    }
    return WIRE_SILENT;
}

#endif
