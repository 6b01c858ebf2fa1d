/* net.h - one small network for the pods of this machine: a bridge, a veth pair for each pod, addresses, egress
 *
 * Everything is made through rtnetlink (libmnl), in a private network namespace that goes away with its last process.
 * Nothing of pods is in the host's namespace, so no firewall or forwarding policy of the host stands between two pods,
 * and a killed run leaves nothing there.
 *
 * How packets go: each pod has a link of its own and a route to it; the bridge holds the gateway's address and the
 * route of the subnet, no pod's link is a port of it. So every packet between two pods is routed and passes the forward
 * hook, where filter.h sees it. Frames switched inside a bridge would get past NetworkPolicy. A pod can only send from
 * its own address (strict reverse path), speaks to the gateway alone and needs no ARP. Broadcasts do not reach other
 * pods, as on most Kubernetes networks.
 *
 * Egress, where there is one: for root a veth pair to the host's namespace ("pm<id>h" there), which hides the
 * pods' addresses (a table "pumice_<id>_out") and forwards between that link and those with a default route; the host
 * has a route to the pods, so it reaches them. For other users a slirp4netns, where installed; then the host does not
 * reach the pods. Without egress the network opens all the same, and net_way_out() says why there is none.
 *
 * Egress is one way. Connections to pods from outside are rejected, from the LAN, from other runs and from users of this
 * machine other than root. Pods cannot reach link-local addresses (169.254.0.0/16), where clouds hand out credentials of
 * the machine. 'is_open' lifts these two. A link that forwards only because of us forwards for pods alone. Pods reach the
 * LAN and what lies behind it, networks of the machine, and its services on addresses other than loopback; the last not
 * from the upper half of the subnet (net_take_address).
 *
 * An ordinary user must be root in a user namespace. One net belongs to one thread at a time; that thread stays in its
 * own network namespace.
 */
#ifndef NODE_NET_H
#define NODE_NET_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <netinet/in.h>
#include <sys/types.h>
#include <stdbool.h>
#include <stdint.h>

struct net;

struct net_options {
    const char *id; /* 6 hex digits: of this run or server */
    /* "10.88.0.0/16"; NULL: the first of a few private ones; with egress, one that no route of this host uses. */
    const char *subnet;
    bool has_way_out; /* if there can be one; see net_way_out() */
    bool is_open;     /* and it is a way in, too: see above */
    int mtu;          /* 0: 1500 */
    bool outlives;    /* the network stays when the program is killed, for the next one */
};

/* ERR_FORBIDDEN: neither root nor in a user namespace. Runs no program but slirp4netns, where that is the egress. */
int net_open(const struct net_options *opt, struct net **ret, struct err *e);
/* The namespace goes with everything in it once no process and no socket is left there. Things of egress in the host's
 * namespace are removed within some 50 ms by a process of its own; net_open() with egress waits for it. NULL is fine. */
void net_close(struct net *n);
/* In two steps: what is on the host goes slowly, some 50 ms, by a process of its own, which is to be waited for (0: there is none). */
pid_t net_close_begin(struct net *n);
void net_close_end(pid_t remover);

/* A pidfd of slirp4netns, readable when it was killed; -1: it is not used. net_helper_restart() then starts another one, at
 * most every 10 s; on failure pods have no egress. */
int net_helper_fd(const struct net *n);
int net_helper_restart(struct net *n, struct err *e);

/* A network outlives its program when another process keeps its descriptors (net_fds()) and its state (net_note()). The
 * next program adopts it, and reserves the addresses of the pods that still run. */
enum { NET_FDS = 2 };
struct net_kept {
    struct str note;
    const int *fds;
    size_t n_fds;
};
void net_note(const struct net *n, struct buf *out);
size_t net_fds(const struct net *n, int ret[NET_FDS]); /* borrowed */
/* The descriptors are copied. ERR_INVALID: the note is not that of a network. */
int net_adopt(const struct net_options *opt, const struct net_kept *kept, struct net **ret, struct err *e);
/* Reserve the address of a pod that joined before net_adopt(). ERR_EXISTS: another pod has it. */
int net_hold(struct net *n, struct in_addr address, struct err *e);
void net_let_go(struct net *n); /* instead of net_close(): the network stays. NULL is fine */

/* The egress: "by the host's addresses", "by slirp4netns"; NULL: none. '*ret_why' (may be NULL): why there is none, or
 * why it may not work, with the command that helps ("…; run: …"), or NULL. Both live as long as the net. */
const char *net_way_out(const struct net *n, const char **ret_why);

/* Remove what killed runs have left in the host's namespace: our tables whose link has been removed. Forwarding that was
 * switched on for them is switched off. Returns the number of things removed; 0 for users other than root. */
int net_sweep(void);
/* The same for one run that is known to be dead; from any process in the host's network namespace. */
int net_sweep_run(const char *id);

struct in_addr net_gateway(const struct net *n); /* the bridge's own address: DNS listens there */
const char *net_bridge(const struct net *n);     /* its name, for filters */
int net_ns_fd(const struct net *n);              /* the private namespace */

/* Listen on the gateway's address, for requests of pods to this program. The socket is in the private namespace: only pods
 * reach it, and root of this machine where there is egress. */
int net_listen(const struct net *n, uint16_t port, int *ret_fd, struct err *e);

/* A non-blocking socket of this type (SOCK_STREAM: TCP, SOCK_DGRAM: UDP) in the pod network, to be connected to a pod. Works
 * for every user, with or without egress. */
int net_socket(const struct net *n, int type, int *ret_fd, struct err *e);

/* The next free address; they are not given again soon. ERR_TOO_BIG when the subnet is used up. 'is_fenced': of the upper
 * half, from where no service of the host is reached, by whatever address of it. */
int net_take_address(struct net *n, bool is_fenced, struct in_addr *ret, struct err *e);
void net_give_address(struct net *n, struct in_addr a);

/* Join a pod: a veth pair, one end "eth0" in the network namespace 'ns_fd' with the address and a default route, the
 * other with us; "lo" up. Returns the name of our end (may be NULL; valid until net_leave), for statistics. */
int net_join(struct net *n, int ns_fd, struct in_addr address, const char **ret_link, struct err *e);
/* The same by a netlink socket (NETLINK_ROUTE) that was opened in the namespace: saves the thread that would go
 * there to open one. */
int net_join_by(struct net *n, int ns_fd, int take_nl_fd, struct in_addr address, struct err *e);

/* Cut the pod off at once; the kernel removes its link with the namespace, or we do, with others, by and by. Fine
 * if the namespace no longer exists, and if the pod never joined. */
int net_leave(struct net *n, struct in_addr address, struct err *e);

#endif
