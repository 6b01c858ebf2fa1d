/* net_internal.h - what the parts of the pods' network share */
#ifndef NODE_NET_INTERNAL_H
#define NODE_NET_INTERNAL_H

#include "node/net/net.h"
#include "os/netlink.h"
#include "node/net/subnet.h"

enum {
    NET_ID_DIGITS = 6,
    NET_GROUP_LEFT = 0x08000000, /* in a group number: links of pods that left */
    NET_GROUP_MARK = 0x50000000, /* in the bits below, of links of all runs; the id is in the low 24 bits */
    NET_GROUP_MASK = 0x70000000,
};

uint32_t net_group(const char *id); /* the group of all links of a run */

/* ---- requests for one batch of nl_send() ---- */

struct net_setting { /* /proc/sys/net/ipv4/conf/<link>/… */
    uint16_t which;
    uint32_t value;
};

void net_begin_link(struct nl *l, uint16_t flags, const char *what, int index, unsigned up);
void net_put_up(struct nl *l, const char *what, int index);
void net_put_end(struct nl *l, const char *name, int mtu, const uint8_t mac[6]); /* what both ends of a pair have */
void net_put_settings(struct nl *l, const struct net_setting *list, size_t n);   /* of the link begun last */

/* No IPv6 address for a link: it would be unused, and costs timers and packets. Optional: the kernel may lack IPv6. */
void net_put_no_ipv6(struct nl *l, int index);
void net_put_address(struct nl *l, int index, struct in_addr a, int prefix, uint32_t flags);

/* A route to a range of addresses (NULL, 0: to everything) over a link, by way of 'via' if it is given. */
void net_put_route(struct nl *l, int index, const struct in_addr *to, int prefix, const struct in_addr *via);

/* Who lives where is known: no ARP, and no limit on the size of the kernel's table of neighbours. */
void net_put_neighbour(struct nl *l, int index, struct in_addr a, const uint8_t mac[6]);

int net_delete_group(struct nl *l, uint32_t group, struct err *e); /* sends; -1 also if the group is empty */
int net_each_route(struct nl *l, nl_message_f on_message, void *ctx, struct err *e); /* of IPv4 */

/* A link that came up before its peer has no carrier. Until a worker of the kernel has seen that there is one now,
 * packets over it are dropped, and a first connection would wait a second. (New kernels see to it when they are
 * asked.) */
int net_wait_for_link(struct nl *l, const char *name, struct err *e);

/* ---- choosing a subnet ---- */

/* 'wanted', or the first of a few that no route uses ('l' NULL: the first). Without room for taken addresses yet. */
int net_subnet_choose(struct nl *l, const char *wanted, struct subnet *ret, struct err *e);

/* ---- egress ---- */

struct net_way { /* between the pods' namespace and the host's */
    const char *id;
    const struct subnet *subnet;
    struct nl *inner, *host;
    int ns_fd, mtu;
    bool is_open;  /* see struct net_options */
    bool is_root;  /* of the host's namespace */
    bool is_again; /* there was one before, and its rules are there */
    bool outlives; /* see struct net_options */
};

struct net_slirp { /* zeroed: none of ours */
    pid_t pid;
    int fd; /* a pidfd */
};

enum net_egress_kind { NET_OUT_NONE, NET_OUT_HOST, NET_OUT_SLIRP, NET_OUT_MAX };

struct net_egress {
    enum net_egress_kind kind;
    struct err why; /* there is none, or it may not work */
    struct nl host; /* speaks to the host's namespace */
    bool is_root;   /* may change the host's network */
    int lock;       /* root: until it is open */
    int exit_fd;    /* slirp4netns ends when it is closed */
    struct net_slirp slirp;
    int64_t restarted_ms; /* mono; 0: never */
};

void net_egress_begin(struct net_egress *o); /* before the subnet is chosen: takes the lock */
void net_egress_open(struct net_egress *o, const struct net_way *w);
int net_egress_again(struct net_egress *o, const struct net_way *w, struct err *e); /* slirp4netns was killed */
/* Also after net_egress_begin() alone, and of a zeroed one with -1. Returns as net_close_begin() does. */
pid_t net_egress_close(struct net_egress *o, const char *id);
void net_egress_adopt(struct net_egress *o, enum net_egress_kind kind, const char *why, int take_exit_fd);
void net_egress_let_go(struct net_egress *o);
const char *net_egress_text(const struct net_egress *o);

int net_slirp_open(const struct net_way *w, struct net_slirp *ret, int *ret_exit_fd, struct err *e);
void net_slirp_wait(struct net_slirp *s);  /* its exit descriptor is closed, or it has ended: reap it */
void net_slirp_leave(struct net_slirp *s); /* it keeps running for the next program */

/* Under net_lock(). Removing closes 'lock' (-1: it is the caller's) before the slow part, which no other run depends on.
 * Returns the number of things removed. */
int net_uplink_open(const struct net_way *w, struct err *e);
int net_uplink_remove(struct nl *host, const char *id, int lock);

/* Two runs must not choose the same subnet, nor switch forwarding at the same time. Close it to let go. */
int net_lock(int *ret_fd, struct err *e);
#endif
