/* net.c - the network of the pods: opening, joining, leaving
 *
 * The namespace is ours alone, and so are the numbers of its links: each pod's follows from its address. So a pod joins
 * with two messages to the kernel, one here and one in the pod's namespace, without asking for anything.
 *
 * All links of one run carry a group number made from its id. Removing a link makes the kernel wait for every
 * processor, some 20 ms; a whole group takes hardly longer. So a pod that leaves is cut off at once, and its link only
 * noted. Nearly all go with their pod's namespace, which the kernel does by itself; what is left of many is moved to a
 * second group, which is removed.
 */
#include "node/net/net_internal.h"
#include "node/net/net_nat.h"

#include "base/codec.h"
#include "base/map.h"
#include "base/util.h"
#include "os/io.h"
#include "os/netlink.h"
#include "os/proc.h"
#include "os/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/veth.h>
#include <net/if.h>

enum {
    MTU_DEFAULT = 1500,
    MTU_MIN = 576,
    MTU_MAX = 65535,
    LEFT_MAX = 512,
    LOOPBACK = 1,  /* the number of every "lo" */
    POD_LINK = 64, /* of every "eth0": beyond the tunnels that some kernels put into each namespace */
    BRIDGE_LINK = 65,
    FIRST_LINK = 1000, /* of our end for the subnet's first address */
};

struct net_port { /* the link of one pod */
    struct in_addr address;
    int index;
    char name[IF_NAMESIZE];
};

struct net {
    struct nl nl;
    struct subnet subnet;
    struct map_u64 ports; /* by address */
    int ns_fd, mtu;
    uint32_t group;
    char id[NET_ID_DIGITS + 1], bridge[IF_NAMESIZE];
    int left[LEFT_MAX]; /* links of pods that left; most are removed already */
    size_t n_left;
    bool has_defaults;      /* in the namespace, for links to come: those of pods */
    bool is_open, outlives; /* see struct net_options */
    bool has_out;           /* 'out' was begun */
    struct net_egress out;
};

/* Our end of each pair has this address; the segments do not know of each other. Pods' ends carry their IPv4
 * address. */
static const uint8_t own_mac[6] = { 0x02, 0x70, 0x6d, 0x00, 0x00, 0x01 };

struct in_addr net_gateway(const struct net *n)
{
    return subnet_gateway(&n->subnet);
}

struct listening {
    struct sockaddr_in at;
    int fd;
};

static int open_listener(void *ctx, struct err *e)
{
    enum { WAITING = 1024 };
    struct listening *l = ctx;
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&l->at, sizeof(l->at)) < 0 || listen(fd, WAITING) < 0)
        return err_errno(e, "listen on the pod gateway, port %u", ntohs(l->at.sin_port));
    l->fd = fd;
    fd = -1;
    return 0;
}

int net_listen(const struct net *n, uint16_t port, int *ret_fd, struct err *e)
{
    struct listening l = { .at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = net_gateway(n) } };

    if (netns_run(net_ns_fd(n), open_listener, &l, e) < 0)
        return -1;
    *ret_fd = l.fd;
    return 0;
}

struct new_socket {
    int type, fd;
};

static int net_open_socket(void *ctx, struct err *e)
{
    struct new_socket *made = ctx;

    made->fd = socket(AF_INET, made->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return made->fd < 0 ? err_errno(e, "open a socket in the pod network") : 0;
}

int net_socket(const struct net *n, int type, int *ret_fd, struct err *e)
{
    struct new_socket made = { .type = type };

    if (netns_run(net_ns_fd(n), net_open_socket, &made, e) < 0)
        return -1;
    *ret_fd = made.fd;
    return 0;
}

const char *net_bridge(const struct net *n)
{
    return n->bridge;
}

int net_ns_fd(const struct net *n)
{
    return n->ns_fd;
}

/* ---- opening ---- */

static int make_bridge(struct net *n, struct err *e)
{
    /* Empty, so without a carrier: the address is there all the same. An address that no pod has ends here too. */
    static const struct net_setting settings[] = { { IPV4_DEVCONF_FORWARDING, 1 } };
    struct nl *l = &n->nl;
    struct nlattr *info;

    net_put_up(l, "start lo", LOOPBACK);
    net_begin_link(l, NLM_F_CREATE | NLM_F_EXCL, "create the bridge", BRIDGE_LINK, 0);
    nl_put_text(l, IFLA_IFNAME, n->bridge);
    nl_put_u32(l, IFLA_GROUP, n->group);
    nl_put_u32(l, IFLA_MTU, (uint32_t)n->mtu);
    info = nl_nest(l, IFLA_LINKINFO);
    nl_put(l, IFLA_INFO_KIND, "bridge", strlen("bridge"));
    nl_nest_end(l, info);
    net_put_no_ipv6(l, BRIDGE_LINK);
    net_put_up(l, "start the bridge", BRIDGE_LINK);
    net_put_settings(l, settings, ARRAY_LEN(settings));
    net_put_address(l, BRIDGE_LINK, net_gateway(n), n->subnet.prefix, 0);
    return nl_send(l, e);
}

/* ---- open and close ---- */

/* Defaults for links of pods, so that one request creates a link and starts it. Strict reverse path: the pod may send
 * from the address that is routed to it, and from no other. IPv6: for each link that starts the kernel walks all of its
 * routes, and has one for each link; pods have none. Where this is not possible, each link is configured. */
static bool set_defaults(void)
{
    static const char *const defaults[] = { "/proc/sys/net/ipv4/conf/default/forwarding",
                                            "/proc/sys/net/ipv4/conf/default/rp_filter",
                                            "/proc/sys/net/ipv6/conf/default/disable_ipv6" };

    for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
        if (control_write(AT_FDCWD, defaults[i], STR("1")) < 0)
            return false;
    return true;
}

static int open_inside(void *ctx, struct err *e)
{
    struct net *n = ctx;

    if (netns_here(&n->ns_fd, e) < 0 || nl_open(&n->nl, e) < 0)
        return -1;
    n->has_defaults = set_defaults();
    return 0;
}

static void remove_left(struct net *n)
{
    while (n->n_left) {
        size_t first = n->n_left - MIN_OF(n->n_left, (size_t)NL_REQUESTS_MAX);

        while (n->n_left > first) {
            net_begin_link(&n->nl, 0, "move a link to the group of removed links", n->left[--n->n_left], 0);
            nl_put_u32(&n->nl, IFLA_GROUP, n->group | NET_GROUP_LEFT);
        }
        (void)nl_send(&n->nl, NULL); /* it has gone already: fine */
    }
    (void)net_delete_group(&n->nl, n->group | NET_GROUP_LEFT, NULL); /* the group may be empty */
}

static int net_read_options(struct net *n, const struct net_options *opt, struct err *e)
{
    const char *id = opt->id ? opt->id : "";

    if (!hex_is_small(str_of(id), NET_ID_DIGITS))
        return err_set(e, ERR_INVALID, "network id \"%s\": must be %d hex digits", id, NET_ID_DIGITS);
    if (opt->mtu && (opt->mtu < MTU_MIN || opt->mtu > MTU_MAX))
        return err_set(e, ERR_INVALID, "mtu %d: must be from %d to %d", opt->mtu, MTU_MIN, MTU_MAX);
    memcpy(n->id, id, NET_ID_DIGITS);
    n->is_open = opt->is_open;
    n->outlives = opt->outlives;
    n->mtu = opt->mtu ? opt->mtu : MTU_DEFAULT;
    n->group = net_group(id);
    (void)snprintf(n->bridge, sizeof(n->bridge), "pm%s-br", id);
    return 0;
}

static int open_all(struct net *n, const struct net_options *opt, struct err *e)
{
    struct net_way way = { .id = n->id,
                           .subnet = &n->subnet,
                           .inner = &n->nl,
                           .ns_fd = -1,
                           .is_open = opt->is_open,
                           .outlives = opt->outlives };

    if (net_read_options(n, opt, e) < 0 || netns_run(NETNS_NEW, open_inside, n, e) < 0)
        return -1;
    if (opt->has_way_out) {
        net_egress_begin(&n->out);
        n->has_out = true;
    }
    if (net_subnet_choose(n->has_out && n->out.host.is_open ? &n->out.host : NULL, opt->subnet, &n->subnet, e) < 0)
        return -1;
    subnet_init(&n->subnet);
    if (make_bridge(n, e) < 0)
        return -1;
    way.ns_fd = n->ns_fd;
    way.mtu = n->mtu;
    if (n->has_out)
        net_egress_open(&n->out, &way);
    return 0;
}

int net_open(const struct net_options *opt, struct net **ret, struct err *e)
{
    struct net *n = xcalloc(1, sizeof(*n));

    n->ns_fd = -1;
    map_u64_init(&n->ports, map_seed_default());
    if (open_all(n, opt, e) < 0) {
        net_close(n);
        return err_wrap(e, "pod network");
    }
    *ret = n;
    return 0;
}

static void net_free(struct net *n)
{
    MAP_FOREACH(struct net_port *, p, &n->ports.map)
        free(p);
    map_u64_done(&n->ports);
    subnet_done(&n->subnet);
    nl_close(&n->nl);
    if (n->ns_fd >= 0)
        close(n->ns_fd);
    free(n);
}

pid_t net_close_begin(struct net *n)
{
    pid_t remover = 0;

    if (!n)
        return 0;
    if (n->has_out)
        remover = net_egress_close(&n->out, n->id);
    net_free(n);
    return remover;
}

void net_close_end(pid_t remover)
{
    enum { REMOVED_MS = 10000 }; /* what stays then is swept by the next start */

    if (remover > 0)
        (void)proc_wait_gone(remover, REMOVED_MS);
}

void net_close(struct net *n)
{
    net_close_end(net_close_begin(n));
}

int net_helper_fd(const struct net *n)
{
    return n->has_out && n->out.slirp.pid > 0 ? n->out.slirp.fd : -1;
}

int net_helper_restart(struct net *n, struct err *e)
{
    struct net_way way = { .id = n->id,
                           .subnet = &n->subnet,
                           .inner = &n->nl,
                           .ns_fd = n->ns_fd,
                           .mtu = n->mtu,
                           .is_open = n->is_open,
                           .outlives = n->outlives };

    return net_egress_again(&n->out, &way, e);
}

void net_let_go(struct net *n)
{
    if (!n)
        return;
    if (n->has_out)
        net_egress_let_go(&n->out);
    net_free(n);
}

/* ---- going on with one ---- */

void net_note(const struct net *n, struct buf *out)
{
    wire_put_i64(out, n->subnet.base);
    wire_put_i64(out, n->subnet.prefix);
    wire_put_i64(out, n->mtu);
    wire_put_i64(out, n->has_out ? n->out.kind : NET_OUT_NONE);
    wire_put_str(out, n->has_out ? str_of(n->out.why.text) : STR_NULL);
}

size_t net_fds(const struct net *n, int ret[NET_FDS])
{
    size_t count = 0;

    ret[count++] = n->ns_fd;
    if (n->has_out && n->out.exit_fd >= 0)
        ret[count++] = n->out.exit_fd;
    return count;
}

static int adopt_parts(struct net *n, const struct net_options *opt, const struct net_kept *kept, struct err *e)
{
    struct wire_read r = { .rest = kept->note };
    struct net_options own = *opt;
    int64_t base = wire_get_i64(&r), prefix = wire_get_i64(&r), mtu = wire_get_i64(&r), kind = wire_get_i64(&r);
    struct str why = wire_get_str(&r);
    autobuf text = { 0 };

    if (!wire_is_read(&r) || prefix < SUBNET_PREFIX_MIN || prefix > SUBNET_PREFIX_MAX || kind < 0 ||
        kind >= NET_OUT_MAX || !kept->n_fds)
        return err_set(e, ERR_INVALID, "saved state is invalid");
    own.mtu = (int)MIN_OF(mtu, MTU_MAX);
    n->ns_fd = fcntl(kept->fds[0], F_DUPFD_CLOEXEC, 3);
    n->subnet = (struct subnet){ .base = (uint32_t)base, .prefix = (int)prefix };
    subnet_init(&n->subnet);
    if (n->ns_fd < 0 || net_read_options(n, &own, e) < 0 || nl_open_in(&n->nl, n->ns_fd, e) < 0)
        return n->ns_fd < 0 ? err_errno(e, "copy the descriptor of its namespace") : -1;
    n->has_out = kind != NET_OUT_NONE;
    buf_str(&text, why);
    if (n->has_out)
        net_egress_adopt(&n->out, (enum net_egress_kind)kind, why.n ? text.p : "",
                         kept->n_fds > 1 ? fcntl(kept->fds[1], F_DUPFD_CLOEXEC, 3) : -1);
    if (kind != NET_OUT_HOST)
        return 0;
    return nat_complete(
        -1, &(struct nat_options){ .id = opt->id, .comment = "", .pods = &n->subnet, .group = net_group(opt->id) }, e);
}

int net_adopt(const struct net_options *opt, const struct net_kept *kept, struct net **ret, struct err *e)
{
    struct net *n = xcalloc(1, sizeof(*n));

    n->ns_fd = -1;
    map_u64_init(&n->ports, map_seed_default());
    if (adopt_parts(n, opt, kept, e) < 0) {
        net_let_go(n);
        return err_wrap(e, "pod network");
    }
    *ret = n;
    return 0;
}

const char *net_way_out(const struct net *n, const char **ret_why)
{
    if (ret_why)
        *ret_why = n->has_out && n->out.why.text[0] ? n->out.why.text : NULL;
    return n->has_out ? net_egress_text(&n->out) : NULL;
}

/* ---- addresses ---- */

int net_take_address(struct net *n, bool is_fenced, struct in_addr *ret, struct err *e)
{
    if (subnet_take_in(&n->subnet, is_fenced, ret, e) == 0)
        return 0;
    return is_fenced ? -1 : subnet_take(&n->subnet, ret, e); /* better with less than none */
}

void net_give_address(struct net *n, struct in_addr a)
{
    subnet_give(&n->subnet, a);
}

/* ---- joining ---- */

static void put_pair(struct net *n, int ns_fd, const struct net_port *port, const uint8_t mac[6])
{
    struct nl *l = &n->nl;
    struct nlattr *info, *data, *peer;
    struct ifinfomsg *head;

    net_begin_link(l, NLM_F_CREATE | NLM_F_EXCL, "create a veth pair", port->index, n->has_defaults ? IFF_UP : 0);
    net_put_end(l, port->name, n->mtu, own_mac);
    nl_put_u32(l, IFLA_GROUP, n->group);
    info = nl_nest(l, IFLA_LINKINFO);
    nl_put(l, IFLA_INFO_KIND, "veth", strlen("veth"));
    data = nl_nest(l, IFLA_INFO_DATA);
    peer = nl_nest(l, VETH_INFO_PEER);
    head = nl_put_room(l, sizeof(*head));
    head->ifi_index = POD_LINK;
    net_put_end(l, "eth0", n->mtu, mac);
    nl_put_u32(l, IFLA_NET_NS_FD, (uint32_t)ns_fd);
    nl_nest_end(l, peer);
    nl_nest_end(l, data);
    nl_nest_end(l, info);
}

/* Where there are no defaults. */
static void put_settings(struct nl *l, int index)
{
    static const struct net_setting settings[] = { { IPV4_DEVCONF_FORWARDING, 1 }, { IPV4_DEVCONF_RP_FILTER, 1 } };

    net_put_no_ipv6(l, index);
    net_put_up(l, "start the link", index);
    net_put_settings(l, settings, ARRAY_LEN(settings));
}

static int make_pair(struct net *n, int ns_fd, const struct net_port *port, struct err *e)
{
    struct nl *l = &n->nl;
    uint8_t mac[6] = { 0x02, 0x71 };

    memcpy(mac + 2, &port->address.s_addr, 4);
    put_pair(n, ns_fd, port, mac);
    if (!n->has_defaults)
        put_settings(l, port->index);
    net_put_route(l, port->index, &port->address, 32, NULL);
    net_put_neighbour(l, port->index, port->address, mac);
    return nl_send(l, e);
}

/* In the pod's namespace. The address shows the subnet's size, for programs that compare networks, but has no route
 * of its own: everything goes to the gateway. */
static int set_up_pod_end(struct net *n, struct nl *l, const struct net_port *port, struct err *e)
{
    struct in_addr gateway = net_gateway(n);

    net_put_up(l, "start lo", LOOPBACK);
    net_put_no_ipv6(l, POD_LINK);
    net_put_up(l, "start eth0", POD_LINK);
    net_put_address(l, POD_LINK, port->address, n->subnet.prefix, IFA_F_NOPREFIXROUTE);
    net_put_neighbour(l, POD_LINK, gateway, own_mac);
    net_put_route(l, POD_LINK, &gateway, 32, NULL);
    net_put_route(l, POD_LINK, NULL, 0, &gateway);
    return nl_send(l, e);
}

static int join_pod(struct net *n, int ns_fd, int take_nl_fd, const struct net_port *port, struct err *e)
{
    struct nl l;
    int rc;

    if (take_nl_fd >= 0)
        nl_open_fd(&l, take_nl_fd);
    else if (nl_open_in(&l, ns_fd, e) < 0)
        return -1;
    rc = set_up_pod_end(n, &l, port, e);
    nl_close(&l);
    return rc;
}

/* No packet goes to the pod, and none comes from it either: there is no way back to the sender. The kernel may have
 * removed the route with the link, when the pod's namespace ended. */
static int cut_off(struct net *n, const struct net_port *port, struct err *e)
{
    struct rtmsg *head = nl_begin(&n->nl, RTM_DELROUTE, 0, "remove the route", sizeof(*head));

    *head = (struct rtmsg){
        .rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_table = RT_TABLE_MAIN, .rtm_scope = RT_SCOPE_NOWHERE
    };
    nl_put(&n->nl, RTA_DST, &port->address, sizeof(port->address));
    if (nl_send(&n->nl, e) < 0 && n->nl.error != ESRCH)
        return -1;
    if (n->n_left == LEFT_MAX)
        remove_left(n);
    n->left[n->n_left++] = port->index;
    return 0;
}

/* The link of the one that had the address may still be there, or the namespace may hold its eth0. */
static int make_new_pair(struct net *n, int ns_fd, const struct net_port *port, struct err *e)
{
    if (make_pair(n, ns_fd, port, e) == 0) {
        for (size_t i = 0; i < n->n_left; i++)
            if (n->left[i] == port->index) /* the kernel gave the new link the number of a removed one */
                n->left[i--] = n->left[--n->n_left];
        return 0;
    }
    if ((n->nl.error != EEXIST && n->nl.error != EBUSY) || !n->n_left)
        return -1;
    remove_left(n);
    return make_pair(n, ns_fd, port, e);
}

static int make_joined(struct net *n, int ns_fd, int *nl_fd, const struct net_port *port, struct err *e)
{
    int taken;

    if (make_new_pair(n, ns_fd, port, e) < 0)
        return -1;
    taken = *nl_fd;
    *nl_fd = -1;
    return join_pod(n, ns_fd, taken, port, e) < 0 ? -1 : net_wait_for_link(&n->nl, port->name, e);
}

int net_join(struct net *n, int ns_fd, struct in_addr address, const char **ret_link, struct err *e)
{
    if (net_join_by(n, ns_fd, -1, address, e) < 0)
        return -1;
    if (ret_link)
        *ret_link = ((const struct net_port *)map_u64_get(&n->ports, address.s_addr))->name;
    return 0;
}

static struct net_port *port_new(const struct net *n, struct in_addr address)
{
    struct net_port *port = xcalloc(1, sizeof(*port));
    int64_t at = subnet_index(&n->subnet, address);

    port->address = address;
    port->index = FIRST_LINK + (int)at;
    (void)snprintf(port->name, sizeof(port->name), "pm%sv%x", n->id, (unsigned)at & 0xffffff);
    return port;
}

int net_join_by(struct net *n, int ns_fd, int take_nl_fd, struct in_addr address, struct err *e)
{
    int64_t at = subnet_index(&n->subnet, address);
    autoclose int nl_fd = take_nl_fd;
    char text[INET_ADDRSTRLEN];
    struct net_port *port;

    (void)inet_ntop(AF_INET, &address, text, sizeof(text));
    if (at < 0 || map_u64_get(&n->ports, address.s_addr))
        return err_set(e, at < 0 ? ERR_INVALID : ERR_EXISTS, "join %s: the address is %s", text,
                       at < 0 ? "not in the subnet" : "in use");
    port = port_new(n, address);
    if (make_joined(n, ns_fd, &nl_fd, port, e) < 0) {
        (void)cut_off(n, port, NULL); /* the first error counts */
        free(port);
        return err_wrap(e, "join %s", text);
    }
    map_u64_put(&n->ports, address.s_addr, port);
    return 0;
}

int net_hold(struct net *n, struct in_addr address, struct err *e)
{
    char text[INET_ADDRSTRLEN];

    if (!subnet_hold(&n->subnet, address))
        return err_set(e, ERR_EXISTS, "reserve %s: the address is in use, or not in the subnet",
                       inet_ntop(AF_INET, &address, text, sizeof(text)));
    n->subnet.next = MAX_OF(n->subnet.next, (uint32_t)subnet_index(&n->subnet, address)); /* those before were in use */
    map_u64_put(&n->ports, address.s_addr, port_new(n, address));
    return 0;
}

int net_leave(struct net *n, struct in_addr address, struct err *e)
{
    struct net_port *port = map_u64_get(&n->ports, address.s_addr);

    if (!port)
        return 0;
    if (cut_off(n, port, e) < 0)
        return err_wrap(e, "leave");
    map_u64_remove(&n->ports, address.s_addr);
    free(port);
    return 0;
}
