/* relist.c - uids that a list has told so far */
#include "cluster/relist.h"

void relist_begin(struct relist *r, uint64_t seed)
{
    relist_end(r);
    map_init(&r->uids, seed);
}

void relist_add(struct relist *r, struct str uid)
{
    (void)map_add(&r->uids, &r->arena, uid); /* it may be listed twice */
}

bool relist_has(const struct relist *r, struct str uid)
{
    return map_get(&r->uids, uid);
}

void relist_end(struct relist *r)
{
    map_done(&r->uids);
    arena_done(&r->arena);
    *r = (struct relist){ 0 };
}
