/* relist.h - everything of a type is told again: what was mentioned, and what is therefore gone
 *
 * Between CLUSTER_RELIST and CLUSTER_SYNCED whoever keeps objects notes the uids that are told. At the end, what he has
 * and the list did not mention is gone, unless it is younger than the list.
 *
 *     RELIST   relist_begin()
 *     PUT      relist_add()
 *     SYNCED   drop what relist_has() does not know, then relist_end()
 */
#ifndef CLUSTER_RELIST_H
#define CLUSTER_RELIST_H

#include "base/arena.h"
#include "base/map.h"

struct relist { /* zeroed: nothing was told */
    struct map uids;
    struct arena arena;
    uint64_t max_rev; /* the caller's: of the objects told; the list is not older */
};

void relist_begin(struct relist *r, uint64_t seed); /* an earlier list that did not end is forgotten */
void relist_add(struct relist *r, struct str uid);
bool relist_has(const struct relist *r, struct str uid);
void relist_end(struct relist *r);

#endif
