/* garbage.h - the index of owners and dependents, for the garbage collector
 *
 * The index has every object of the watched types, by uid, with its owners and its dependents. Each event updates it.
 * An owner that the index lacks may still exist, because its event may be late. So the owner is read from the cluster,
 * and its dependents are collected only if it does not exist (the cache then has a tombstone of it).
 */
#ifndef DRIVER_GARBAGE_H
#define DRIVER_GARBAGE_H

#include "driver/cache.h"

struct garbage {
    struct cache *cache; /* for tombstones and lists */
    void *ctx;
    void (*touch)(void *ctx, struct str uid); /* look at this object again */
    /* Does this owner of 'dependent' exist? Bury it in the cache if not, and touch the dependent. */
    void (*ask)(void *ctx, struct object_id owner, struct str dependent);
    struct map nodes;  /* struct gc_node by uid */
    struct map owners; /* struct gc_bucket by uid of the owner, known or not */
    struct garbage_type {
        const struct resource_type *type;
        struct list nodes; /* struct gc_node.in_type */
        struct relist told;
        bool is_listing;
    } * types;
    size_t n_types;
};

void garbage_init(struct garbage *g, struct cache *c, uint64_t seed);
void garbage_done(struct garbage *g);
void garbage_want(struct garbage *g, const struct resource_type *type);

/* The same news that the cache gets, after it. */
void garbage_event(struct garbage *g, const struct cluster_event *ev);
void garbage_put(struct garbage *g, const struct object *o);
void garbage_gone(struct garbage *g, struct str uid);

/* The next step for the object of that uid. */
void garbage_plan(struct garbage *g, struct str uid, struct plan *plan);

#endif
