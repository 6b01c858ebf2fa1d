/* publish.c - ports of this machine that lead to pods: --publish, hostPort, and `pumice port-forward`
 *
 *     a client here ──▶ a socket of the run ──its descriptor──▶ a process in the pod's network, which connects
 *
 * No byte passes through the run. Which pod it is is settled anew for each connection: pods come and go, and a restarted
 * one is another. UDP has no connections: the first datagram settles it, and then the process in the pod has the socket
 * itself, until the pod ends.
 */
#include "program/run/publish.h"

#include "base/util.h"
#include "cli/pod_specs.h"
#include "program/run/run.h"
#include "driver/cache.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { BACKLOG = 128, ACCEPTS = 16 };

#define LOOPBACK "127.0.0.1"

struct run_publish {
    struct list_link link;
    struct run_publishes *all;
    struct arena arena;
    struct publish what;
    struct run_listener say;
    int fd;
    struct list connections;
    struct str told; /* the last trouble: the same is not told again */
};

struct connection {
    struct list_link link;
    struct run_publish *of;
    uint64_t session;
};

/* ---- which pod ---- */

struct publish_target {
    struct str namespace, pod;
    uint16_t port;
};

static const char *const served[] = { "TCP", "UDP" }; /* by is_udp */

static bool has_protocol(const struct json *port, const struct publish *w)
{
    return str_is(json_text(json_get(port, "protocol"), STR("TCP")), served[w->is_udp]);
}

static const struct json *port_of(const struct json *pod, const char *key, uint16_t number, const struct publish *w)
{
    JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL))
        JSON_FOREACH(port, json_get(c, "ports"))
            if (json_i64(json_get(port, key), 0) == number && has_protocol(port, w))
                return port;
    return NULL;
}

static bool publish_is_meant(const struct publish *w, const struct history_pod *p, const struct json *pod,
                             uint16_t *ret_port)
{
    const struct json *port;

    *ret_port = w->to;
    if (w->pod.n)
        return (!w->namespace.n || str_eq(w->namespace, p->namespace)) &&
               (str_eq(w->pod, p->name) || str_eq(w->pod, p->label));
    port = port_of(pod, w->is_host_port ? "hostPort" : "containerPort", w->is_host_port ? w->port : w->to, w);
    if (port && w->is_host_port)
        *ret_port = (uint16_t)json_i64(json_get(port, "containerPort"), w->port);
    return port;
}

/* The first that runs and is meant; without a name also the only one that runs. */
static int find_target(const struct run_publish *p, struct publish_target *ret, struct err *e)
{
    const struct run *r = p->all->run;
    const struct history_pod *only = NULL;
    size_t n = 0;

    VEC_FOREACH(at, &r->history->pods) {
        const struct history_pod *pod = *at;
        const struct object *o = pod->state == HISTORY_RUNNING && !pod->is_replaced
                                     ? store_get(r->store, known_types()->pod, pod->namespace, pod->name)
                                     : NULL;

        if (!o)
            continue;
        *ret = (struct publish_target){ pod->namespace, pod->name, 0 };
        if (publish_is_meant(&p->what, pod, o->root, &ret->port))
            return 0;
        only = pod;
        n++;
    }
    if (n == 1 && !p->what.pod.n && !p->what.is_host_port) {
        *ret = (struct publish_target){ only->namespace, only->name, p->what.to };
        return 0;
    }
    if (p->what.pod.n)
        return err_set(e, ERR_NOT_FOUND, "pod %.*s is not running", STR_ARG(p->what.pod));
    return err_set(e, ERR_NOT_FOUND, "no running pod has port %u%s", p->what.to, p->what.is_udp ? "/udp" : "");
}

/* ---- connections ---- */

static void publish_tell(struct run_publish *p, const char *why)
{
    if (str_is(p->told, why))
        return;
    p->told = arena_str(&p->arena, str_of(why));
    p->say.say(p->say.ctx, arena_fmt(&p->arena, "port %u: %s", p->what.port, why));
}

static void publish_watch(struct run_publish *p, bool is_on)
{
    struct epoll_event ev = { .events = is_on ? EPOLLIN : 0, .data.ptr = p };

    (void)epoll_ctl(p->all->epoll, EPOLL_CTL_MOD, p->fd, &ev); /* it is there */
}

static void connection_free(struct connection *c)
{
    if (c->of->what.is_udp)
        publish_watch(c->of, true); /* the next datagram finds the next pod */
    list_remove(&c->link);
    free(c);
}

static void publish_on_ended(void *ctx, int exit_code, struct str why)
{
    struct connection *c = ctx;
    autobuf text = { 0 };

    (void)exit_code;
    buf_str(&text, why);
    if (why.n && c->of->all->run->stage == RUN_GOES)
        publish_tell(c->of, text.p);
    connection_free(c);
}

/* False: there is nowhere to go. */
static bool publish_take(struct run_publish *p, int fd)
{
    struct connection *c = xcalloc(1, sizeof(*c));
    struct publish_target to = { 0 };
    struct err e;

    c->of = p;
    list_push(&p->connections, &c->link);
    if (find_target(p, &to, &e) == 0)
        c->session = agent_forward(p->all->agent,
                                   &(struct agent_session_spec){ .where = { .namespace = to.namespace, .pod = to.pod },
                                                                 .port = to.port,
                                                                 .fds = { fd },
                                                                 .ended = publish_on_ended,
                                                                 .ctx = c },
                                   &e);
    if (c->session)
        return true;
    publish_tell(p, e.text);
    connection_free(c);
    return false;
}

static void take_connections(struct run_publish *p)
{
    int fd;

    for (int k = 0; k < ACCEPTS && (fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0; k++) {
        (void)publish_take(p, fd);
        close(fd);
    }
}

/* What leads nowhere is lost, as it would be on the way. */
static void take_datagrams(struct run_publish *p)
{
    char byte;

    if (publish_take(p, p->fd))
        publish_watch(p, false);
    else
        for (int k = 0; k < ACCEPTS && recv(p->fd, &byte, 1, MSG_DONTWAIT) >= 0; k++)
            ;
}

void run_publishes_turn(struct run_publishes *all)
{
    struct epoll_event ev[ACCEPTS];
    int n = epoll_wait(all->epoll, ev, ACCEPTS, 0);

    for (int i = 0; i < n; i++) {
        struct run_publish *p = ev[i].data.ptr;

        if (p->what.is_udp)
            take_datagrams(p);
        else
            take_connections(p);
    }
}

/* ---- listening ---- */

static int publish_address_of(const struct publish *w, struct sockaddr_storage *ret, socklen_t *ret_n, struct err *e)
{
    struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV }, *list;
    char port[8];
    autobuf host = { 0 };

    buf_str(&host, str_is(w->address, "localhost") || !w->address.n ? STR(LOOPBACK) : w->address);
    (void)snprintf(port, sizeof(port), "%u", w->port);
    if (getaddrinfo(host.p, port, &want, &list) != 0)
        return err_set(e, ERR_INVALID, "%s is not an address of this machine; use a numeric address", host.p);
    memcpy(ret, list->ai_addr, list->ai_addrlen);
    *ret_n = list->ai_addrlen;
    freeaddrinfo(list);
    return 0;
}

static int publish_cannot(const struct publish *w, struct err *e)
{
    struct str at = w->address.n ? w->address : STR(LOOPBACK);

    if (errno == EADDRINUSE)
        return err_set(e, ERR_CONFLICT, "another program listens at port %u%s of %.*s: stop it, or use another port",
                       w->port, w->is_udp ? "/udp" : "", STR_ARG(at));
    if (errno == EACCES)
        return err_set(e, ERR_FORBIDDEN,
                       "port %u is for root only: use 1024 or higher (or set "
                       "net.ipv4.ip_unprivileged_port_start)",
                       w->port);
    return err_errno(e, "listen at port %u of %.*s", w->port, STR_ARG(at));
}

/* Answers leave from the address that the client used, so each datagram carries it. */
static int bind_datagrams(const struct sockaddr *at, socklen_t n)
{
    static const int yes = 1;
    bool is_v6 = at->sa_family == AF_INET6;
    int fd = socket(at->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 &&
        setsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, &yes, sizeof(yes)) ==
            0 &&
        bind(fd, at, n) == 0) /* no SO_REUSEADDR: two would have the port, and one of them nothing to hear */
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int bind_connections(const struct sockaddr *at, socklen_t n)
{
    static const int yes = 1;
    int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (fd >= 0 && bind(fd, at, n) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int publish_listen_at(const struct publish *w, struct err *e)
{
    struct sockaddr_storage at = { 0 };
    socklen_t n = 0;
    int fd;

    if (publish_address_of(w, &at, &n, e) < 0)
        return -1;
    fd = w->is_udp ? bind_datagrams((struct sockaddr *)&at, n) : bind_connections((struct sockaddr *)&at, n);
    return fd < 0 ? publish_cannot(w, e) : fd;
}

static uint16_t port_at(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t n = sizeof(at);

    (void)getsockname(fd, (struct sockaddr *)&at, &n); /* it has one: it listens */
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

int run_publish_add(struct run_publishes *all, const struct publish *what, const struct run_listener *say,
                    struct run_publish **ret, struct err *e)
{
    struct run_publish *p;
    int fd = publish_listen_at(what, e);

    if (fd < 0)
        return -1;
    p = xcalloc(1, sizeof(*p));
    p->all = all;
    p->what = *what;
    p->what.address = arena_str(&p->arena, what->address.n ? what->address : STR(LOOPBACK));
    p->what.namespace = arena_str(&p->arena, what->namespace);
    p->what.pod = arena_str(&p->arena, what->pod);
    p->what.port = port_at(fd);
    p->say = *say;
    p->fd = fd;
    list_init(&p->connections);
    list_push(&all->list, &p->link);
    if (epoll_ctl(all->epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = p }) < 0) {
        (void)err_errno(e, "epoll");
        run_publish_end(p);
        return -1;
    }
    if (ret)
        *ret = p;
    return 0;
}

struct str run_publish_address(const struct run_publish *p, struct arena *a)
{
    bool is_v6 = str_has_char(p->what.address, ':');

    return arena_fmt(a, "%s%.*s%s:%u", is_v6 ? "[" : "", STR_ARG(p->what.address), is_v6 ? "]" : "", p->what.port);
}

void run_publish_end(struct run_publish *p)
{
    LIST_FOREACH(struct connection, c, &p->connections, link) {
        agent_session_end(p->all->agent, c->session);
        connection_free(c);
    }
    list_remove(&p->link);
    close(p->fd); /* and so out of the epoll */
    arena_done(&p->arena);
    free(p);
}

/* ---- what is asked for ---- */

static int publish_read_port(struct str text, uint16_t *ret)
{
    uint64_t number;

    if (str_to_u64(text, &number) < 0 || number > UINT16_MAX)
        return -1;
    *ret = (uint16_t)number;
    return 0;
}

/* "[::1]:", "127.0.0.1:", "localhost:": a part that is an address. */
static struct str take_address(struct str *rest)
{
    ptrdiff_t end = str_starts(*rest, STR("[")) ? str_find_char(*rest, ']') : str_find_char(*rest, ':');
    struct str part = end > 0 ? str_sub(*rest, 0, (size_t)end) : STR_NULL;
    bool is_v6 = str_starts(part, STR("["));

    if (!is_v6 && !str_has_char(part, '.') && !str_is(part, "localhost"))
        return STR_NULL;
    *rest = str_from(*rest, (size_t)end + 1 + is_v6);
    return is_v6 ? str_from(part, 1) : part;
}

/* "53/udp": the protocol is taken off. */
static int take_protocol(struct str *part, bool *ret_udp, struct err *e)
{
    ptrdiff_t at = str_find_char(*part, '/');
    struct str name = at < 0 ? STR("tcp") : str_from(*part, (size_t)at + 1);

    if (!str_is(name, "tcp") && !str_is(name, "udp"))
        return err_set(e, ERR_INVALID, "unknown protocol \"%.*s\": use /tcp or /udp", STR_ARG(name));
    if (at >= 0) {
        *part = str_sub(*part, 0, (size_t)at);
        *ret_udp = str_is(name, "udp");
    }
    return 0;
}

int publish_parse(struct str text, struct publish *ret, struct err *e)
{
    struct publish w = { .address = take_address(&text) };
    struct str parts[4] = { 0 };
    size_t n = 0;
    bool is_good;

    while (n < ARRAY_LEN(parts) && str_split(&text, ':', &parts[n]))
        n++;
    if (take_protocol(&parts[0], &w.is_udp, e) < 0 || (n > 1 && take_protocol(&parts[n - 1], &w.is_udp, e) < 0))
        return -1;
    is_good = n >= 1 && n <= 3 && publish_read_port(parts[0], &w.port) == 0 && w.port && (n == 1 || parts[1].n);
    w.to = w.port;
    if (n == 3 || (n == 2 && publish_read_port(parts[1], &w.to) < 0)) /* "8080:80": no pod is called that */
        w.pod = parts[1];
    if (!is_good || (n == 3 && publish_read_port(parts[2], &w.to) < 0) || !w.to)
        return err_set(e, ERR_INVALID, "must be [ADDRESS:]PORT[/udp][:POD][:PORT], as 8265 or 8080:web-0:80");
    *ret = w;
    return 0;
}

static void publish_on_say(void *ctx, struct str sentence)
{
    run_notice(ctx, sentence);
}

static bool is_open(const struct run_publishes *all, const struct publish *w)
{
    LIST_FOREACH(struct run_publish, p, &all->list, link)
        if (p->what.is_host_port && p->what.port == w->port && p->what.is_udp == w->is_udp &&
            str_eq(p->what.address, w->address))
            return true;
    return false;
}

/* One listener for a hostPort, however many pods have it: they run one after the other. */
static int open_host_port(struct run_publishes *all, const struct json *port, bool everywhere, struct err *e)
{
    struct publish w = { .address = json_member_text(port, "hostIP"),
                         .port = (uint16_t)json_i64(json_get(port, "hostPort"), 0),
                         .is_host_port = true };
    struct str protocol = json_text(json_get(port, "protocol"), STR("TCP"));
    bool is_loopback = !w.address.n || str_starts(w.address, STR("127.")) || str_is(w.address, "::1") ||
                       str_is(w.address, "localhost");

    if (!w.port)
        return 0;
    w.is_udp = str_is(protocol, served[true]);
    if (!has_protocol(port, &w)) {
        run_notice(all->run, arena_fmt(all->run->arena,
                                       "hostPort %u has no effect here: only TCP and UDP ports are published, not %.*s",
                                       w.port, STR_ARG(protocol)));
        return 0;
    }
    if (!everywhere && !is_loopback) {
        run_notice(all->run, arena_fmt(all->run->arena,
                                       "hostPort %u is reached at " LOOPBACK
                                       " only; with --publish-all-addresses at its hostIP %.*s",
                                       w.port, STR_ARG(w.address)));
        w.address = STR_NULL;
    }
    if (!w.address.n)
        w.address = everywhere ? STR("0.0.0.0") : STR(LOOPBACK);
    w.to = w.port;
    return is_open(all, &w) ? 0 : run_publish_add(all, &w, &(struct run_listener){ all->run, publish_on_say }, NULL, e);
}

static int open_host_ports(struct run_publishes *all, const struct pod_spec *p, bool everywhere, struct err *e)
{
    if (json_bool(json_get(p->spec, "hostNetwork"), false)) /* it listens itself */
        return 0;
    JSON_FOREACH(c, json_get(p->spec, "containers"))
        JSON_FOREACH(port, json_get(c, "ports"))
            if (open_host_port(all, port, everywhere, e) < 0)
                return err_wrap(e, "%.*s.containers[%.*s]: hostPort", STR_ARG(p->path),
                                STR_ARG(json_member_text(c, "name")));
    return 0;
}

/* Without a name: some container says that it has the port, or there is one pod only. */
static int check_target(const struct publish *w, const struct pod_specs *specs, struct err *e)
{
    int64_t n = 0;

    VEC_FOREACH(p, &specs->list) {
        n += p->replicas;
        JSON_FOREACH(c, json_get(p->spec, "containers"))
            JSON_FOREACH(port, json_get(c, "ports"))
                if (json_i64(json_get(port, "containerPort"), 0) == w->to && has_protocol(port, w))
                    return 0;
    }
    if (w->pod.n || n <= 1)
        return 0;
    return err_set(e, ERR_INVALID, "no container has containerPort %u%s; name the pod, as %u%s:%.*s-0:%u", w->to,
                   w->is_udp ? " for UDP" : "", w->port, w->is_udp ? "/udp" : "",
                   STR_ARG(specs->list.v[0].task.n ? specs->list.v[0].task : STR("POD")), w->to);
}

int run_publishes_open(struct run_publishes *all, const struct run_options *o, const struct load *l, struct err *e)
{
    struct pod_specs specs;

    pod_specs_of(l->arena, l, &specs);
    VEC_FOREACH(text, &o->publish.list) {
        struct publish w;

        if (publish_parse(str_of(*text), &w, e) < 0 || check_target(&w, &specs, e) < 0 ||
            run_publish_add(all, &w, &(struct run_listener){ all->run, publish_on_say }, NULL, e) < 0)
            return err_wrap(e, "--publish %s", *text);
    }
    VEC_FOREACH(p, &specs.list)
        if (open_host_ports(all, p, o->publish_all, e) < 0)
            return -1;
    return 0;
}

int run_publishes_init(struct run_publishes *all, struct run *r, struct agent *agent, struct err *e)
{
    all->run = r;
    all->agent = agent;
    list_init(&all->list);
    all->epoll = epoll_create1(EPOLL_CLOEXEC);
    return all->epoll < 0 ? err_errno(e, "epoll") : 0;
}

void run_publishes_done(struct run_publishes *all)
{
    if (!all->run)
        return;
    LIST_FOREACH(struct run_publish, p, &all->list, link)
        run_publish_end(p);
    if (all->epoll >= 0)
        close(all->epoll);
}
