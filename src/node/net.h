/* net.h - one small network for the pods of this machine: a bridge, a veth pair for each pod, addresses
 *
 * Everything is made through rtnetlink (libmnl). As root the bridge is in the host's network namespace under a name of its
 * own; for an ordinary user, and where asked, everything lives in a private network namespace that goes away with its last
 * process. Names of links are derived from ours ("pm" + 6 hex digits + …), so what a killed program left is found and
 * removed by the next start (net_sweep).
 *
 * How packets go: each pod has a link of its own and a route to it; the bridge holds the gateway's address and the route of
 * the subnet, no pod's link is a port of it. So every packet between two pods is routed and passes the forward hook, where
 * filter.h sees it. Frames switched inside a bridge would get past NetworkPolicy (or, with br_netfilter, depend on a switch
 * that is the whole host's). A pod can only send from its own address (strict reverse path), speaks to the gateway alone and
 * needs no ARP. Broadcasts do not reach other pods, as on most Kubernetes networks.
 *
 * An ordinary user must be root in a user namespace. One net belongs to one thread at a time; that thread stays in its
 * own network namespace.
 */
#ifndef NODE_NET_H
#define NODE_NET_H

#include "base/err.h"
#include "base/str.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct net;

struct net_options {
    const char *id;     /* 6 hex digits: of this run or server */
    const char *subnet; /* "10.88.0.0/16"; NULL: the first of a few private ones that no route of this host uses */
    bool is_private;    /* in a network namespace of its own: no way out, no way in */
    bool has_way_out; /* not private: the links with a default route forward too, until net_close; filter.h hides pods'
                           addresses behind the host's */
    int mtu;          /* 0: 1500 */
};

/* ERR_EXISTS: the id is in use. ERR_FORBIDDEN: neither root nor in a user namespace. */
int net_open(const struct net_options *opt, struct net **ret, struct err *e);
/* Removes the bridge and every veth of ours; a private namespace goes with everything in it once no process and no socket
 * is left there. NULL is fine. */
void net_close(struct net *n);

/* Remove what runs that no longer exist have left: bridges and veths named as ours whose id 'is_alive' does not know. The
 * number removed. */
int net_sweep(bool (*is_alive)(void *ctx, const char *id), void *ctx);

struct in_addr net_gateway(const struct net *n); /* the bridge's own address: DNS listens there */
int net_prefix(const struct net *n);             /* bits of the subnet */
const char *net_bridge(const struct net *n);     /* its name, for nft */
int net_ns_fd(const struct net *n);              /* the private namespace; -1: the host's own */

/* The next free address; they are not given again soon. ERR_TOO_BIG when the subnet is used up. */
int net_take_address(struct net *n, struct in_addr *ret, struct err *e);
void net_give_address(struct net *n, struct in_addr a);

/* Join a pod: a veth pair, one end "eth0" in the network namespace 'ns_fd' with the address and a default route, the other
 * with us; "lo" up. Returns the name of our end (valid until net_leave), for nft and statistics. */
int net_join(struct net *n, int ns_fd, struct in_addr address, const char **ret_link, struct err *e);

/* Cut the pod off at once; the kernel removes its link with the namespace, or we do, with others, by and by. Also when the
 * namespace is gone already, and when the pod never joined. */
int net_leave(struct net *n, struct in_addr address, struct err *e);

#endif
