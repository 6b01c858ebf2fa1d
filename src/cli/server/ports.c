/* ports.c - NodePorts: ports of this machine that lead to Services
 *
 *     a client ──▶ 127.0.0.1:30080, here ──relay──▶ a socket in the pods' network ──▶ the Service's address
 *
 * So pods are reached also where nobody outside reaches their network, which a user without root cannot change. They are
 * opened where the API is (--listen), of TCP and UDP; SCTP leads nowhere. Which Services there are is looked at when one
 * has changed.
 */
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/server/server.h"
#include "os/datagrams.h"
#include "os/relay.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { BACKLOG = 128, ACCEPTS = 64, PAIRS_MAX = 1024 };

struct node_port { /* a socket that listens */
    struct list_link link;
    struct serve *serve;
    struct in_addr at;
    uint16_t port;
    int type;              /* SOCK_STREAM, SOCK_DGRAM */
    struct sockaddr_in to; /* the Service */
    bool is_wanted;
    int fd; /* -1: it could not be had */
    struct datagrams *datagrams;
};

struct node_ports {
    struct relay *relay;
    int epoll; /* of all that listen, and of the relay */
    struct list all;
    struct watch *watch; /* of Services; NULL: they are to be looked at */
    VEC(struct in_addr) addresses;
};

static const struct resource_type *services(void)
{
    return type_by_kind(STR("v1"), STR("Service"));
}

/* ---- one port ---- */

/* What epoll knew of it, it forgets with that. */
static void shut_port(struct node_port *p)
{
    if (p->datagrams)
        datagrams_free(p->datagrams); /* it has the socket */
    else if (p->fd >= 0)
        close(p->fd);
    p->datagrams = NULL;
    p->fd = -1;
}

static void close_port(struct node_port *p)
{
    shut_port(p);
    list_remove(&p->link);
    free(p);
}

/* A socket in the pods' network, on its way to the Service. */
static int reach_service(void *port)
{
    const struct node_port *p = port;
    int fd = agent_socket(p->serve->agent, p->type);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&p->to, sizeof(p->to)) < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool listen_at(struct node_port *p)
{
    if (p->type == SOCK_STREAM)
        return listen(p->fd, BACKLOG) == 0;
    p->datagrams = datagrams_new(p->fd, reach_service, p);
    if (!p->datagrams)
        p->fd = -1; /* it was taken */
    return p->datagrams;
}

/* Of UDP an address that somebody else has is not taken from him, as SO_REUSEADDR would. */
static bool bind_port(struct node_port *p)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = p->at, .sin_port = htons(p->port) };
    int on = p->type == SOCK_STREAM;

    p->fd = socket(AF_INET, p->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return p->fd >= 0 && setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           bind(p->fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen_at(p);
}

static void open_port(struct node_ports *all, struct node_port *p)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = p } };
    char text[INET_ADDRSTRLEN];

    if (bind_port(p) &&
        epoll_ctl(all->epoll, EPOLL_CTL_ADD, p->datagrams ? datagrams_fd(p->datagrams) : p->fd, &ev) == 0)
        return;
    log_warn("a nodePort is not open: another program may have it",
             LOG_TEXT("address", inet_ntop(AF_INET, &p->at, text, sizeof(text))), LOG_U64("port", p->port),
             LOG_TEXT("protocol", p->type == SOCK_STREAM ? "TCP" : "UDP"), LOG_TEXT("why", strerror(errno)));
    shut_port(p);
}

static void accept_one(struct serve *s, struct node_port *p, int client)
{
    int to = relay_count(s->ports->relay) < PAIRS_MAX ? reach_service(p) : -1;

    if (to >= 0)
        relay_add(s->ports->relay, client, to);
    else
        close(client);
}

static void accept_all(struct serve *s, struct node_port *p)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int client = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client < 0)
            return;
        accept_one(s, p, client);
    }
}

/* ---- which there are to be ---- */

static struct node_port *port_at(struct node_ports *all, const struct node_port *as)
{
    LIST_FOREACH(struct node_port, p, &all->all, link)
        if (p->at.s_addr == as->at.s_addr && p->port == as->port && p->type == as->type)
            return p;
    return NULL;
}

static void want_port(struct node_ports *all, const struct node_port *wanted)
{
    struct node_port *p = port_at(all, wanted);

    if (!p) {
        p = xcalloc(1, sizeof(*p));
        *p = *wanted;
        list_push(&all->all, &p->link);
    } else if (memcmp(&p->to, &wanted->to, sizeof(p->to)) != 0 && p->datagrams) {
        shut_port(p); /* those who sent to it have sockets that lead to the old one */
    }
    p->to = wanted->to;
    p->is_wanted = true;
}

/* -1: such are not led on. */
static int socket_type(struct str protocol)
{
    if (str_is(protocol, "UDP"))
        return SOCK_DGRAM;
    return str_is(protocol, "SCTP") ? -1 : SOCK_STREAM;
}

static void want_service(void *ctx, const struct object *o)
{
    struct serve *s = ctx;
    const struct json *spec = json_get(o->root, "spec");
    struct sockaddr_in to = { .sin_family = AF_INET };
    char address[INET_ADDRSTRLEN] = "";
    struct str text = json_member_text(spec, "clusterIP");

    if (!text.n || text.n >= sizeof(address))
        return;
    memcpy(address, text.p, text.n);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
        return;
    JSON_FOREACH(port, json_get(spec, "ports")) {
        struct node_port wanted = { .serve = s, .fd = -1 };

        to.sin_port = htons((uint16_t)json_i64(json_get(port, "port"), 0));
        wanted.to = to;
        wanted.port = (uint16_t)json_i64(json_get(port, "nodePort"), 0);
        wanted.type = socket_type(json_member_text(port, "protocol"));
        if (!wanted.port || wanted.type < 0)
            continue;
        VEC_FOREACH(at, &s->ports->addresses) {
            wanted.at = *at;
            want_port(s->ports, &wanted);
        }
    }
}

/* Connections that there are go on: they are those of two programs, not of the port. */
static void look_at_services(struct serve *s)
{
    struct node_ports *all = s->ports;
    struct err e;

    if (watch_open(s->store, services(), STR_NULL, store_flushed(s->store), &all->watch, &e) < 0)
        return;
    LIST_FOREACH(struct node_port, p, &all->all, link)
        p->is_wanted = false;
    store_list(s->store, services(), STR_NULL, want_service, s);
    LIST_FOREACH(struct node_port, p, &all->all, link)
        if (!p->is_wanted)
            close_port(p);
    LIST_FOREACH(struct node_port, p, &all->all, link)
        if (p->fd < 0)
            open_port(all, p);
}

static bool has_changed(struct node_ports *all)
{
    struct watch_event ev;
    struct err e;

    if (all->watch && watch_next(all->watch, &ev, &e) == 0)
        return false;
    watch_close(all->watch);
    all->watch = NULL;
    return true;
}

/* ---- where ---- */

/* Those of --listen; with sockets that are files alone, this machine's own. */
static void find_addresses(struct serve *s)
{
    VEC_FOREACH(address, &s->listen) {
        ptrdiff_t colon = str_rfind_char(*address, ':');
        struct in_addr at;

        if (colon > 0 && inet_pton(AF_INET, arena_cstr(s->arena, str_sub(*address, 0, (size_t)colon)), &at) == 1)
            *vec_push(s->arena, &s->ports->addresses) = at;
    }
    if (!s->ports->addresses.n)
        *vec_push(s->arena, &s->ports->addresses) = (struct in_addr){ htonl(INADDR_LOOPBACK) };
}

int serve_ports_open(struct serve *s, struct err *e)
{
    struct epoll_event ev = { .events = EPOLLIN };

    s->ports = xcalloc(1, sizeof(*s->ports));
    list_init(&s->ports->all);
    s->ports->relay = relay_new();
    s->ports->epoll = epoll_create1(EPOLL_CLOEXEC);
    find_addresses(s);
    if (!s->ports->relay || s->ports->epoll < 0 ||
        epoll_ctl(s->ports->epoll, EPOLL_CTL_ADD, relay_fd(s->ports->relay), &ev) < 0)
        return err_errno(e, "ports of this machine that lead to Services");
    return 0;
}

int serve_ports_fd(const struct serve *s)
{
    return s->ports->epoll;
}

void serve_ports_turn(struct serve *s)
{
    struct epoll_event events[ACCEPTS];
    int n = epoll_wait(s->ports->epoll, events, ARRAY_LEN(events), 0);

    for (int i = 0; i < n; i++) {
        struct node_port *p = events[i].data.ptr; /* NULL: the relay */

        if (p && p->datagrams)
            datagrams_turn(p->datagrams, clock_mono_ms(&s->clock.clock));
        else if (p)
            accept_all(s, p);
    }
    relay_turn(s->ports->relay);
    if (has_changed(s->ports))
        look_at_services(s);
}

void serve_ports_close(struct serve *s)
{
    if (!s->ports)
        return;
    LIST_FOREACH(struct node_port, p, &s->ports->all, link)
        close_port(p);
    watch_close(s->ports->watch);
    relay_free(s->ports->relay);
    if (s->ports->epoll >= 0)
        close(s->ports->epoll);
    free(s->ports);
    s->ports = NULL;
}
