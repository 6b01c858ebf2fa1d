/* ports.c - ports of this machine that lead to Services (nodePort) and to pods (hostPort)
 *
 *     a client ──▶ 127.0.0.1:30080, here ──relay──▶ a socket in the pods' network ──▶ the Service's address, the pod's
 *
 * So pods are reachable also where their network is not, as without root. They are
 * opened where the API is (--listen), and a hostPort with a hostIP at that address; of TCP and UDP, SCTP leads nowhere.
 * Which there are is looked at when a Service has changed, or a pod that has a hostPort. One that cannot be opened is
 * tried again then, and its pod has an Event that says so.
 */
#include "api/pod/container.h"
#include "api/plan.h"
#include "api/pod/status.h"
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"
#include "program/server/server.h"
#include "os/datagrams.h"
#include "os/relay.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { BACKLOG = 128, ACCEPTS = 64, PAIRS_MAX = 1024, PORT_SOURCES = 2 };

struct node_port { /* a socket that listens */
    struct list_link link;
    struct serve *serve;
    struct in_addr at;
    uint16_t port;
    int type;              /* SOCK_STREAM, SOCK_DGRAM; SOCK_SEQPACKET: SCTP, which is not led on */
    struct sockaddr_in to; /* the Service, the pod */
    struct object *pod;    /* whose hostPort it is; NULL: it is a nodePort */
    bool is_wanted;
    bool is_told; /* why it could not be had */
    int fd;       /* -1: it could not be had */
    struct datagrams *datagrams;
};

struct node_ports {
    struct relay *relay;
    int epoll; /* of all that listen, and of the relay */
    struct list all;
    struct watch *watches[PORT_SOURCES]; /* NULL: all are to be looked at */
    VEC(struct in_addr) addresses;
};

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
    object_unref(p->pod);
    free(p);
}

/* A socket in the pods' network, on its way to the Service or pod. */
static int reach_target(void *port)
{
    const struct node_port *p = port;
    int fd = agent_socket(p->serve->agent, p->type);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&p->to, sizeof(p->to)) < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool ports_listen_at(struct node_port *p)
{
    if (p->type == SOCK_STREAM)
        return listen(p->fd, BACKLOG) == 0;
    p->datagrams = datagrams_new(p->fd, reach_target, p);
    if (!p->datagrams)
        p->fd = -1; /* it was taken */
    return p->datagrams;
}

/* For UDP no SO_REUSEADDR: it would steal the address of another process. */
static bool bind_port(struct node_port *p)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = p->at, .sin_port = htons(p->port) };
    int on = p->type == SOCK_STREAM;

    if (p->type == SOCK_SEQPACKET) {
        errno = EPROTONOSUPPORT;
        return false;
    }
    p->fd = socket(AF_INET, p->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return p->fd >= 0 && setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           bind(p->fd, (struct sockaddr *)&at, sizeof(at)) == 0 && ports_listen_at(p);
}

static const char *protocol_name(int type)
{
    return type == SOCK_STREAM ? "TCP" : type == SOCK_DGRAM ? "UDP" : "SCTP";
}

static void tell_pod(const struct node_port *p, const char *address, const char *why)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a, .now_ms = clock_now_ms(&p->serve->clock.clock) };
    struct op *op = plan_event_warning(&plan, p->pod->root, "FailedHostPort", "hostPort %u/%s is not open at %s: %s",
                                       p->port, protocol_name(p->type), address, why);

    plan_event_from(&plan, op, STR("kubelet"), p->serve->node_name);
    (void)store_apply(p->serve->store, op, NULL, NULL); /* an Event that is lost is lost */
}

static void open_port(struct node_ports *all, struct node_port *p)
{
    struct epoll_event ev = { .events = EPOLLIN, .data = { .ptr = p } };
    char address[INET_ADDRSTRLEN];
    const char *why;

    if (bind_port(p) &&
        epoll_ctl(all->epoll, EPOLL_CTL_ADD, p->datagrams ? datagrams_fd(p->datagrams) : p->fd, &ev) == 0)
        return;
    why = strerror(errno);
    shut_port(p);
    if (p->is_told)
        return;
    p->is_told = true;
    inet_ntop(AF_INET, &p->at, address, sizeof(address));
    log_warn("Cannot open a port of this machine", LOG_TEXT("for", p->pod ? "hostPort" : "nodePort"),
             LOG_TEXT("address", address), LOG_U64("port", p->port), LOG_TEXT("protocol", protocol_name(p->type)),
             LOG_TEXT("why", why));
    if (p->pod)
        tell_pod(p, address, why);
}

static void accept_one(struct serve *s, struct node_port *p, int client)
{
    int to = relay_count(s->ports->relay) < PAIRS_MAX ? reach_target(p) : -1;

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

static struct node_port *find_port(struct node_ports *all, const struct node_port *as)
{
    LIST_FOREACH(struct node_port, p, &all->all, link)
        if (p->at.s_addr == as->at.s_addr && p->port == as->port && p->type == as->type)
            return p;
    return NULL;
}

static void want_port(struct node_ports *all, const struct node_port *wanted)
{
    struct node_port *p = find_port(all, wanted);

    if (p && p->is_wanted)
        return; /* a nodePort that is a hostPort, too: the Service has it */
    if (!p) {
        p = xcalloc(1, sizeof(*p));
        *p = *wanted;
        p->pod = NULL;
        list_push(&all->all, &p->link);
    } else if (memcmp(&p->to, &wanted->to, sizeof(p->to)) != 0) {
        if (p->datagrams)
            shut_port(p); /* those who sent to it have sockets that lead to the old one */
        p->is_told = false;
    }
    object_unref(p->pod);
    p->pod = wanted->pod ? object_ref(wanted->pod) : NULL;
    p->to = wanted->to;
    p->is_wanted = true;
}

static int socket_type(struct str protocol)
{
    if (str_is(protocol, "UDP"))
        return SOCK_DGRAM;
    return str_is(protocol, "SCTP") ? SOCK_SEQPACKET : SOCK_STREAM;
}

static bool ports_read_address(struct str text, struct in_addr *ret)
{
    char address[INET_ADDRSTRLEN] = "";

    if (!text.n || text.n >= sizeof(address))
        return false;
    memcpy(address, text.p, text.n);
    return inet_pton(AF_INET, address, ret) == 1;
}

/* At all addresses where there are such ports. */
static void want_everywhere(struct serve *s, struct node_port wanted)
{
    VEC_FOREACH(at, &s->ports->addresses) {
        wanted.at = *at;
        want_port(s->ports, &wanted);
    }
}

static void want_service(void *ctx, const struct object *o)
{
    struct serve *s = ctx;
    const struct json *spec = json_get(o->root, "spec");
    struct node_port wanted = { .serve = s, .fd = -1, .to = { .sin_family = AF_INET } };

    if (!ports_read_address(json_member_text(spec, "clusterIP"), &wanted.to.sin_addr))
        return;
    JSON_FOREACH(port, json_get(spec, "ports")) {
        wanted.to.sin_port = htons((uint16_t)json_i64(json_get(port, "port"), 0));
        wanted.port = (uint16_t)json_i64(json_get(port, "nodePort"), 0);
        wanted.type = socket_type(json_member_text(port, "protocol"));
        if (wanted.port && wanted.type != SOCK_SEQPACKET)
            want_everywhere(s, wanted);
    }
}

static bool is_any_service(const struct object *o)
{
    return json_is(o->root, JSON_OBJECT);
}

/* In the machine's own network its containers have these ports themselves. */
static bool has_host_port(const struct object *pod)
{
    const struct json *spec = json_get(pod->root, "spec");

    if (json_bool(json_get(spec, "hostNetwork"), false))
        return false;
    CONTAINER_FOREACH(c, spec)
        JSON_FOREACH(port, json_get(c, "ports"))
            if (json_i64(json_get(port, "hostPort"), 0))
                return true;
    return false;
}

static void want_host_port(struct node_port wanted, const struct json *port)
{
    struct str ip = json_member_text(port, "hostIP");

    wanted.to.sin_port = htons((uint16_t)json_i64(json_get(port, "containerPort"), 0));
    wanted.port = (uint16_t)json_i64(json_get(port, "hostPort"), 0);
    wanted.type = socket_type(json_member_text(port, "protocol"));
    if (!wanted.port)
        return;
    if (!ip.n || str_is(ip, "0.0.0.0"))
        want_everywhere(wanted.serve, wanted);
    else if (ports_read_address(ip, &wanted.at))
        want_port(wanted.serve->ports, &wanted);
}

/* As long as it has an address: until it has ended. */
static void want_pod(void *ctx, const struct object *o)
{
    struct serve *s = ctx;
    const struct json *spec = json_get(o->root, "spec"), *status = json_get(o->root, "status");
    struct node_port wanted = { .serve = s, .fd = -1, .to = { .sin_family = AF_INET }, .pod = (struct object *)o };

    if (!has_host_port(o) || !str_eq(json_member_text(spec, "nodeName"), s->node_name) || pod_has_ended(o->root) ||
        !ports_read_address(json_member_text(status, "podIP"), &wanted.to.sin_addr))
        return;
    CONTAINER_FOREACH(c, spec)
        JSON_FOREACH(port, json_get(c, "ports"))
            want_host_port(wanted, port);
}

static const struct {
    const char *kind;
    bool (*concerns)(const struct object *o); /* a change of it */
    void (*want)(void *serve, const struct object *o);
} sources[PORT_SOURCES] = { { "Service", is_any_service, want_service }, { "Pod", has_host_port, want_pod } };

static const struct resource_type *source_type(size_t i)
{
    return type_by_kind(STR("v1"), str_of(sources[i].kind));
}

/* Connections that there are go on: they are those of two programs, not of the port. */
static void look_at_sources(struct serve *s)
{
    struct node_ports *all = s->ports;
    struct err e;

    for (size_t i = 0; i < PORT_SOURCES; i++)
        if (!all->watches[i] &&
            watch_open(s->store, source_type(i), STR_NULL, store_flushed(s->store), &all->watches[i], &e) < 0)
            return;
    LIST_FOREACH(struct node_port, p, &all->all, link)
        p->is_wanted = false;
    for (size_t i = 0; i < PORT_SOURCES; i++)
        store_list(s->store, source_type(i), STR_NULL, sources[i].want, s);
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
    bool ret = false;

    for (size_t i = 0; i < PORT_SOURCES; i++) {
        int rc = all->watches[i] ? 1 : -1;

        while (rc > 0 && (rc = watch_next(all->watches[i], &ev, &e)) > 0)
            ret |= ev.object && sources[i].concerns(ev.object);
        if (rc == 0)
            continue;
        watch_close(all->watches[i]);
        all->watches[i] = NULL;
        ret = true;
    }
    return ret;
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
        return err_errno(e, "ports of this machine that lead to Services and pods");
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
        look_at_sources(s);
}

void serve_ports_close(struct serve *s)
{
    if (!s->ports)
        return;
    LIST_FOREACH(struct node_port, p, &s->ports->all, link)
        close_port(p);
    for (size_t i = 0; i < PORT_SOURCES; i++)
        watch_close(s->ports->watches[i]);
    relay_free(s->ports->relay);
    if (s->ports->epoll >= 0)
        close(s->ports->epoll);
    free(s->ports);
    s->ports = NULL;
}
