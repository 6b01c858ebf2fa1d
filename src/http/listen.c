/* listen.c - addresses and listening sockets */
#include "base/util.h"
#include "http/server_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { BACKLOG = 1024 };

/* ---- TCP ---- */

static int split_address(const char *address, char host[256], const char **ret_port, struct err *e)
{
    const char *colon = strrchr(address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;

    if (!colon || !colon[1] || n >= 256)
        return err_set(e, ERR_INVALID, "%s: must be HOST:PORT, :PORT, unix:/PATH or unix:@NAME", address);
    if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
        address++;
        n -= 2;
    }
    memcpy(host, address, n);
    host[n] = '\0';
    *ret_port = colon + 1;
    return 0;
}

static int listen_listen_at(const struct addrinfo *a)
{
    static const int yes = 1, no = 0;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Everybody means both families where there are both: the newer one takes the older along. */
static int listen_tcp(const char *address, struct err *e)
{
    struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV }, *list;
    char host[256];
    const char *port = NULL; /* gcc -O3 cannot see that it is set */
    int fd = -1, rc;

    if (split_address(address, host, &port, e) < 0)
        return -1;
    rc = getaddrinfo(host[0] ? host : NULL, port, &want, &list);
    if (rc)
        return err_set(e, ERR_INVALID, "%s: %s", address, gai_strerror(rc));
    for (int newer = 1; newer >= 0 && fd < 0; newer--)
        for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
            if ((a->ai_family == AF_INET6) == newer)
                fd = listen_listen_at(a);
    if (fd < 0 && errno == EADDRINUSE)
        (void)err_set(e, ERR_CONFLICT, "another program listens on %s; stop it or give another port", address);
    else if (fd < 0)
        (void)err_errno(e, "listen on %s", address);
    freeaddrinfo(list);
    return fd;
}

/* ---- UNIX ---- */

/* Replace a socket that a dead process left, not one that answers. */
static void remove_dead_socket(const struct sockaddr_un *at, socklen_t n)
{
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;

    if (lstat(at->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && fd >= 0 &&
        connect(fd, (const struct sockaddr *)at, n) < 0 && errno == ECONNREFUSED)
        (void)unlink(at->sun_path); /* if that fails, bind() says so */
}

static int listen_unix(const char *name, struct listener_path *ret_path, struct err *e)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    size_t n = strlen(name);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (name[0] != '@'));
    autoclose int fd = -1;
    int kept;

    if (n < 2 || n >= sizeof(at.sun_path) || (name[0] != '/' && name[0] != '@'))
        return err_set(e, ERR_INVALID, "unix:%s: must be unix:/PATH or unix:@NAME of at most %zu bytes", name,
                       sizeof(at.sun_path) - 1);
    memcpy(at.sun_path, name, n);
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    else
        remove_dead_socket(&at, size);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Set the mode before the socket has a name, so that no other user can connect in between. */
    if (fd < 0 || fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&at, size) < 0 || listen(fd, BACKLOG) < 0)
        return err_errno(e, "listen on unix:%s", name);
    if (name[0] == '/')
        memcpy(ret_path->text, name, n + 1);
    kept = fd;
    fd = -1;
    return kept;
}

int listen_open(const char *address, struct listener_path *ret_path, struct err *e)
{
    static const char prefix[] = "unix:";

    if (strncmp(address, prefix, strlen(prefix)) == 0)
        return listen_unix(address + strlen(prefix), ret_path, e);
    return listen_tcp(address, e);
}

/* ---- names ---- */

unsigned listen_port(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t n = sizeof(at);

    if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
        return 0;
    if (at.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
    return at.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&at)->sin_port) : 0;
}

static void name_unix(int fd, struct http_peer *ret)
{
    struct ucred who;
    socklen_t n = sizeof(who);

    (void)snprintf(ret->address, sizeof(ret->address), "unix");
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
        return;
    ret->uid = (int)who.uid;
    ret->pid = (int)who.pid;
}

/* Dead clients are found: the kernel asks those that are silent. */
static void set_options(int fd)
{
    static const int yes = 1, idle_s = 60, again_s = 15, times = 4, unsent = 256 << 10;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    /* Limits what the kernel buffers for a client that reads nothing. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &again_s, sizeof(again_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

void peer_name(int fd, struct http_peer *ret)
{
    struct sockaddr_storage at = { 0 };
    const struct sockaddr_in6 *new = (const struct sockaddr_in6 *)&at;
    const struct sockaddr_in *old = (const struct sockaddr_in *)&at;
    socklen_t n = sizeof(at);

    ret->uid = ret->pid = -1;
    if (getpeername(fd, (struct sockaddr *)&at, &n) < 0 || at.ss_family == AF_UNIX) {
        name_unix(fd, ret);
        return;
    }
    set_options(fd);
    ret->port = ntohs(at.ss_family == AF_INET6 ? new->sin6_port : old->sin_port);
    if (at.ss_family == AF_INET)
        (void)inet_ntop(AF_INET, &old->sin_addr, ret->address, sizeof(ret->address));
    else if (IN6_IS_ADDR_V4MAPPED(&new->sin6_addr))
        (void)inet_ntop(AF_INET, &new->sin6_addr.s6_addr[12], ret->address, sizeof(ret->address));
    else
        (void)inet_ntop(AF_INET6, &new->sin6_addr, ret->address, sizeof(ret->address));
}
