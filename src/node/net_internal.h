/* net_internal.h - what the parts of the pods' network share */
#ifndef NODE_NET_INTERNAL_H
#define NODE_NET_INTERNAL_H

#include "node/net.h"
#include "node/netlink.h"
#include "node/subnet.h"

enum {
    NET_ID_DIGITS = 6,
    NET_GROUP_LEFT = 0x08000000, /* in a group number: links of pods that left */
};

uint32_t net_group(const char *id); /* the group of all links of a run */

/* ---- requests for one batch of nl_send() ---- */

struct net_setting { /* /proc/sys/net/ipv4/conf/<link>/… */
    uint16_t which;
    uint32_t value;
};

void net_begin_link(struct nl *l, uint16_t flags, const char *what, int index, unsigned up);
void net_put_up(struct nl *l, const char *what, int index);
void net_put_settings(struct nl *l, const struct net_setting *list, size_t n); /* of the link begun last */

/* No IPv6 address for a link: nobody would use it, and making one costs timers and packets. Optional: the kernel may have no
 * IPv6 at all. */
void net_put_no_ipv6(struct nl *l, int index);
void net_put_address(struct nl *l, int index, struct in_addr a, int prefix, uint32_t flags);

/* A route to one address (NULL: to everything) over a link, by way of 'via' if it is given. */
void net_put_route(struct nl *l, int index, const struct in_addr *to, const struct in_addr *via);

/* Who lives where is known: no ARP, and no limit on the size of the kernel's table of neighbours. */
void net_put_neighbour(struct nl *l, int index, struct in_addr a, const uint8_t mac[6]);

int net_delete_group(struct nl *l, uint32_t group, struct err *e); /* sends; -1 also if the group is empty */

/* ---- choosing a subnet ---- */

/* Two programs that start at once must not choose the same subnet: whoever holds the lock chooses. Close it to let go. */
int net_subnet_lock(int *ret_fd, struct err *e);

/* 'wanted', or the first of a few that no route uses. Without room for taken addresses yet. */
int net_subnet_choose(struct nl *l, const char *wanted, struct subnet *ret, struct err *e);

/* ---- the way out ---- */

enum { NET_OUT_MAX = 8 };

struct net_out { /* links that forward because of us */
    int links[NET_OUT_MAX];
    size_t n;
};

int net_out_open(struct net_out *o, struct nl *l, struct err *e);
void net_out_close(struct net_out *o, struct nl *l);

#endif
