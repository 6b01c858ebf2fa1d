/* subnet.h - a range of IPv4 addresses and which of them are taken */
#ifndef NODE_SUBNET_H
#define NODE_SUBNET_H

#include "base/err.h"
#include "base/str.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum { SUBNET_PREFIX_MIN = 8, SUBNET_PREFIX_MAX = 29 };

struct subnet {
    uint32_t base; /* first address of the range, in the machine's byte order */
    int prefix;
    uint64_t *taken;     /* one bit for each address */
    uint32_t next;       /* where the search for a free one begins: so addresses come back late */
    uint32_t next_in[2]; /* the same in each half */
};

/* "10.88.0.0/16": bits of the host part must be zero. ERR_INVALID. Without room for 'taken' yet. */
int subnet_parse(struct str text, struct subnet *ret, struct err *e);

/* Get ready to hand out addresses. The first (the network's own), the second (the gateway), the last but one (the
 * host's end of the egress link) and the last (broadcast) are never given. */
void subnet_init(struct subnet *s);
void subnet_done(struct subnet *s);

struct in_addr subnet_gateway(const struct subnet *s);
struct in_addr subnet_host(const struct subnet *s);
bool subnet_overlaps(const struct subnet *s, uint32_t base, int prefix);

/* ERR_TOO_BIG when all are taken. */
int subnet_take(struct subnet *s, struct in_addr *ret, struct err *e);
/* An address of one half: the half can be seen from the address. */
int subnet_take_in(struct subnet *s, bool is_upper, struct in_addr *ret, struct err *e);
uint32_t subnet_upper(const struct subnet *s);        /* the first address of the upper half */
bool subnet_hold(struct subnet *s, struct in_addr a); /* take this one; false: it is taken, or not in the range */
void subnet_give(struct subnet *s, struct in_addr a); /* one that is not taken, or not in the range: nothing happens */

/* The number of an address in the range; -1 for one outside. */
int64_t subnet_index(const struct subnet *s, struct in_addr a);

#endif
