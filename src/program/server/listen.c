/* listen.c - where clients come: addresses, sockets of systemd, the names that the certificate has
 *
 * TLS everywhere but at UNIX sockets. Sockets that systemd has opened are used instead of addresses, unless some are
 * given: then there are both.
 */
#include "auth/auth.h"
#include "base/util.h"
#include "program/server/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { CONNECTIONS = 24576, NAMES_MAX = 32 }; /* of one address half of them */

/* ---- which ---- */

static bool is_unix(struct str address)
{
    return str_starts(address, STR("unix:"));
}

/* "host" of "host:port", without the brackets of an IPv6 address; empty: a socket that is a file, or everybody's. */
static struct str host_of(struct str address)
{
    ptrdiff_t colon = str_rfind_char(address, ':');
    struct str host = colon < 0 ? STR_NULL : str_sub(address, 0, (size_t)colon);

    if (is_unix(address))
        return STR_NULL;
    if (str_starts(host, STR("[")) && str_ends(host, STR("]")))
        host = str_sub(host, 1, host.n - 2);
    return str_is(host, "0.0.0.0") || str_is(host, "::") ? STR_NULL : host;
}

/* The same of a socket; NULL: it has no such address. */
static struct str address_of_socket(struct arena *a, int fd)
{
    struct sockaddr_storage at = { 0 };
    const struct sockaddr_in6 *new = (const struct sockaddr_in6 *)&at;
    const struct sockaddr_in *old = (const struct sockaddr_in *)&at;
    socklen_t n = sizeof(at);
    char text[INET6_ADDRSTRLEN] = "";

    if (getsockname(fd, (struct sockaddr *)&at, &n) < 0 || (at.ss_family != AF_INET && at.ss_family != AF_INET6))
        return STR("unix:of systemd");
    if (at.ss_family == AF_INET)
        return arena_fmt(a, "%s:%u", inet_ntop(AF_INET, &old->sin_addr, text, sizeof(text)), ntohs(old->sin_port));
    return arena_fmt(a, "[%s]:%u", inet_ntop(AF_INET6, &new->sin6_addr, text, sizeof(text)), ntohs(new->sin6_port));
}

void serve_listen_find(struct serve *s)
{
    for (size_t i = 0; i < s->supervisor.n_sockets; i++)
        *vec_push(s->arena, &s->listen) = address_of_socket(s->arena, s->supervisor.sockets[i]);
    VEC_FOREACH(address, &s->o->listen.list)
        *vec_push(s->arena, &s->listen) = str_of(*address);
    if (!s->listen.n)
        *vec_push(s->arena, &s->listen) = STR(SERVER_LISTEN);
}

/* ---- names ---- */

static size_t listen_add_name(const char **names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return n;
    if (n + 1 < NAMES_MAX) /* the last is NULL */
        names[n++] = name;
    return n;
}

/* The address of --listen; else the one that this machine uses to reach other hosts. 192.0.2.1 is reserved for documentation:
 * the kernel chooses a source address for it, and nothing is sent. */
struct str serve_listen_host(struct serve *s)
{
    struct str ret;
    struct err e;

    VEC_FOREACH(address, &s->listen) {
        struct str host = host_of(*address);
        struct in_addr at;

        if (host.n && inet_pton(AF_INET, arena_cstr(s->arena, host), &at) == 1 &&
            ntohl(at.s_addr) >> 24 != IN_LOOPBACKNET)
            return host;
    }
    return machine_address(s->arena, STR("192.0.2.1"), STR("9"), &ret, &e) == 0 ? ret : STR("127.0.0.1");
}

const char *const *serve_listen_names(struct serve *s)
{
    static const char *const always[] = { "127.0.0.1",
                                          "localhost",
                                          "kubernetes",
                                          "kubernetes.default",
                                          "kubernetes.default.svc",
                                          "kubernetes.default.svc.cluster.local" };
    const char **names = arena_array(s->arena, const char *, NAMES_MAX);
    char machine[256] = "localhost";
    size_t n = 0;

    memset(names, 0, NAMES_MAX * sizeof(*names));
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        n = listen_add_name(names, n, always[i]);
    n = listen_add_name(names, n, arena_cstr(s->arena, agent_gateway(s->agent, s->arena))); /* as pods know it */
    gethostname(machine, sizeof(machine) - 1);
    n = listen_add_name(names, n, arena_cstr(s->arena, str_of(machine)));
    VEC_FOREACH(address, &s->listen)
        if (host_of(*address).n)
            n = listen_add_name(names, n, arena_cstr(s->arena, host_of(*address)));
    return names;
}

/* The first that is no UNIX socket; empty: there is none. */
static struct str url_of(struct serve *s)
{
    VEC_FOREACH(address, &s->listen) {
        struct str host = host_of(*address);
        bool has_colon = str_has_char(host, ':');

        if (is_unix(*address))
            continue;
        return arena_fmt(s->arena, "https://%s%.*s%s:%u", has_colon ? "[" : "",
                         STR_ARG(host.n ? host : STR("127.0.0.1")), has_colon ? "]" : "", http_server_port(s->http));
    }
    return STR_NULL;
}

/* ---- listening ---- */

static int server_listen_at(struct serve *s, struct err *e)
{
    size_t n = s->supervisor.n_sockets;

    for (size_t i = 0; i < s->listen.n; i++) {
        struct str address = s->listen.v[i];

        if (i < n && http_server_listen_at(s->http, s->supervisor.sockets[i], e) < 0)
            return err_wrap(e, "a socket of systemd, %.*s", STR_ARG(address));
        if (i >= n && http_server_listen(s->http, arena_cstr(s->arena, address), e) < 0)
            return err_wrap(e, "--listen");
    }
    s->supervisor.n_sockets = 0; /* they are the server's now */
    return 0;
}

int serve_listen_open(struct serve *s, struct http_server_options opt, struct err *e)
{
    opt.tls = auth_tls(s->auth);
    opt.limits = (struct http_server_limits){ .connections = CONNECTIONS };
    opt.clock = &s->clock.clock;
    if (http_server_new(&opt, &s->http, e) < 0 || server_listen_at(s, e) < 0)
        return -1;
    s->url = url_of(s);
    return s->url.n ? serve_kubeconfig_write(s, e) : 0;
}
