/* relist.h - a new list of a type: which objects it mentioned, and which were therefore deleted
 *
 * Between CLUSTER_RELIST and CLUSTER_SYNCED a cache notes the uids of the list. At the end, its objects that the list
 * did not mention were deleted, unless they are younger than the list.
 *
 *     RELIST   relist_begin()
 *     PUT      relist_add()
 *     SYNCED   drop what relist_has() does not know, then relist_end()
 */
#ifndef CLUSTER_RELIST_H
#define CLUSTER_RELIST_H

#include "base/arena.h"
#include "base/map.h"

struct relist { /* zeroed: no list has begun */
    struct map uids;
    struct arena arena;
    uint64_t max_rev; /* the caller's: of the objects told; the list is not older */
};

void relist_begin(struct relist *r, uint64_t seed); /* an earlier list that did not end is forgotten */
void relist_add(struct relist *r, struct str uid);
bool relist_has(const struct relist *r, struct str uid);
void relist_end(struct relist *r);

#endif
