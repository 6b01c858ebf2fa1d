/* net_nat.h - one small nftables table at egress: it hides the pods, and guards who gets in and how far they get
 *
 *     table ip pumice_<id>_out {
 *         comment "forwarding: eth0"
 *         chain way_out    { nat postrouting:  ip saddr PODS ip daddr != PODS masquerade }
 *         chain link_local { prerouting, raw:  ip saddr PODS ip saddr != GATEWAY ip daddr 169.254.0.0/16 reject }
 *         chain forwarded  { forward:          oifgroup OURS ct state != established,related reject
 *                                              iifname eth0 oifgroup != any run's reject }
 *         chain to_host    { input:            iifgroup OURS ip saddr UPPER HALF ct state != established,related reject
 *                            forward:          ip saddr UPPER HALF ip daddr HOST … reject; in the pods' own namespace }
 *         chain own        { output:           oifgroup OURS ct state != established,related skuid != 0 reject
 *                                              the same with skgid }
 *     }
 *
 * Made and removed by netlink: no program is run. The comment keeps which links of the host forward because of us, so
 * that the sweep after a killed program can undo that; from those links to others than ours nothing passes, as
 * before. All calls are about the network namespace 'ns_fd' (-1: here).
 */
#ifndef NODE_NET_NAT_H
#define NODE_NET_NAT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "node/net/subnet.h"

#include <stdbool.h>
#include <stdint.h>

enum { NAT_COMMENT_MAX = 128 }; /* as long as nftables has them */

struct nat_table {
    char id[7];
    char comment[NAT_COMMENT_MAX];
};

struct nat_tables {
    VEC(struct nat_table) list;
};

struct nat_options {
    const char *id, *comment; /* the comment is shorter than NAT_COMMENT_MAX */
    const struct subnet *pods;
    bool is_open;   /* every host with a route gets in: without link_local, own, and the first rule of forwarded */
    uint32_t group; /* of the run's link to the pods, in this namespace; 0: there is none */
    const char *const *links; /* of the comment */
    size_t n_links;
    const uint32_t *host; /* addresses of the host, where its own namespace is another one: closed to the upper half */
    size_t n_host;
};

/* There must be none of that id. Removing what is not there makes the kernel wait as long as anything else (15 ms):
 * look first. */
int nat_add(int ns_fd, const struct nat_options *opt, struct err *e);
/* Of a table that an older program has made: what it lacks. */
int nat_complete(int ns_fd, const struct nat_options *opt, struct err *e);
int nat_remove(int ns_fd, const char *id, struct err *e); /* ERR_NOT_FOUND */

/* All tables named as ours, whosever. */
int nat_list(struct arena *a, int ns_fd, struct nat_tables *ret, struct err *e);

/* Does a chain here drop what is forwarded unless a rule of its own lets it pass? Then ours cannot help: one chain
 * that drops is enough. Writes "ip filter FORWARD", the first of them. False also where one may not look. */
bool nat_is_forward_dropped(int ns_fd, char *ret_chain, size_t size);

#endif
