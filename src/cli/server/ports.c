/* ports.c - NodePorts: ports of this machine that lead to Services
 *
 *     a client ──▶ 127.0.0.1:30080, here ──relay──▶ a socket in the pods' network ──▶ the Service's address
 *
 * So pods are reached also where nobody outside reaches their network, which a user without root cannot change. They are
 * opened where the API is (--listen), and only TCP is led on. Which Services there are is looked at when one has changed.
 */
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "cli/server/server.h"
#include "os/relay.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { BACKLOG = 128, ACCEPTS = 64, PAIRS_MAX = 1024 };

struct node_port { /* a socket that listens */
    struct list_link link;
    struct in_addr at;
    uint16_t port;
    struct sockaddr_in to; /* the Service */
    bool is_wanted;
    int fd; /* -1: it could not be had */
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

static void close_port(struct node_port *p)
{
    if (p->fd >= 0)
        close(p->fd); /* epoll forgets it with that */
    list_remove(&p->link);
    free(p);
}

static void open_port(struct node_ports *all, struct node_port *p)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = p->at, .sin_port = htons(p->port) };
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = p } };
    char text[INET_ADDRSTRLEN];
    int on = 1;

    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->fd >= 0 && setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(p->fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(p->fd, BACKLOG) == 0 &&
        epoll_ctl(all->epoll, EPOLL_CTL_ADD, p->fd, &ev) == 0)
        return;
    log_warn("a nodePort is not open: another program may have it",
             LOG_TEXT("address", inet_ntop(AF_INET, &p->at, text, sizeof(text))), LOG_U64("port", p->port),
             LOG_TEXT("why", strerror(errno)));
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

static void accept_one(struct serve *s, const struct node_port *p, int client)
{
    int to = relay_count(s->ports->relay) < PAIRS_MAX ? agent_socket(s->agent) : -1;

    if (to >= 0 && connect(to, (const struct sockaddr *)&p->to, sizeof(p->to)) < 0 && errno != EINPROGRESS) {
        close(to);
        to = -1;
    }
    if (to >= 0)
        relay_add(s->ports->relay, client, to);
    else
        close(client);
}

static void accept_all(struct serve *s, const struct node_port *p)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int client = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client < 0)
            return;
        accept_one(s, p, client);
    }
}

/* ---- which there are to be ---- */

static struct node_port *port_at(struct node_ports *all, struct in_addr at, uint16_t port)
{
    LIST_FOREACH(struct node_port, p, &all->all, link)
        if (p->at.s_addr == at.s_addr && p->port == port)
            return p;
    return NULL;
}

static void want_port(struct node_ports *all, struct in_addr at, uint16_t port, struct sockaddr_in to)
{
    struct node_port *p = port_at(all, at, port);

    if (!p) {
        p = xcalloc(1, sizeof(*p));
        *p = (struct node_port){ .at = at, .port = port, .fd = -1 };
        list_push(&all->all, &p->link);
    }
    p->to = to;
    p->is_wanted = true;
}

static void want_service(void *ctx, const struct object *o)
{
    struct node_ports *all = ctx;
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
        uint16_t number = (uint16_t)json_i64(json_get(port, "nodePort"), 0);

        to.sin_port = htons((uint16_t)json_i64(json_get(port, "port"), 0));
        if (number && !str_is(json_member_text(port, "protocol"), "UDP") &&
            !str_is(json_member_text(port, "protocol"), "SCTP"))
            VEC_FOREACH(at, &all->addresses)
                want_port(all, *at, number, to);
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
    store_list(s->store, services(), STR_NULL, want_service, all);
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

    for (int i = 0; i < n; i++)
        if (events[i].data.ptr)
            accept_all(s, events[i].data.ptr);
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
