/* net_nat.h - one small nftables table that hides the pods behind the address of whoever forwards for them
 *
 *     table ip pumice_<id>_out { comment "forwarding: eth0"; chain way_out { … ip saddr PODS ip daddr != PODS masquerade } }
 *
 * Made and removed by netlink: no program is run. The comment keeps which links of the host forward because of us, so that
 * whoever sweeps after a killed program can put that back. All calls are about the network namespace 'ns_fd' (-1: here).
 */
#ifndef NODE_NET_NAT_H
#define NODE_NET_NAT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "node/subnet.h"

#include <stdbool.h>

enum { NAT_COMMENT_MAX = 128 };

struct nat_table {
    char id[7];
    char comment[NAT_COMMENT_MAX];
};

struct nat_tables {
    VEC(struct nat_table) list;
};

/* There must be none of that id. 'comment' is shorter than NAT_COMMENT_MAX. Removing what is not there makes the kernel wait as long
 * as anything else (15 ms): look first. */
int nat_add(int ns_fd, const char *id, const struct subnet *pods, const char *comment, struct err *e);
int nat_remove(int ns_fd, const char *id, struct err *e); /* ERR_NOT_FOUND */

/* All tables named as ours, whosever. */
int nat_list(struct arena *a, int ns_fd, struct nat_tables *ret, struct err *e);

/* Does a chain here drop what is forwarded unless a rule of its own lets it pass? Then ours cannot help: one chain that drops
 * is enough. Writes "ip filter FORWARD", the first of them. False also where one may not look. */
bool nat_is_forward_dropped(int ns_fd, char *ret_chain, size_t size);

#endif
