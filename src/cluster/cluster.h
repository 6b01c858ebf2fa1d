/* cluster.h - the interface through which controllers watch and write objects
 *
 * Watching and writing are asynchronous. The user calls cluster_want() for each type, then reads events with
 * cluster_next() until there is none. Three implementations pass the same tests: cluster_embedded (on a store),
 * cluster_sim (a store with seeded faults and a virtual clock), and kube/cluster.h (an API server).
 *
 * As with a real API server, the user must expect:
 *
 *     late events
 *     repeated events  the same state may be delivered twice
 *     gaps             then all objects of a type are delivered again (RELIST … SYNCED); objects that are not among
 *     them
 *                      were deleted. A list may break off; then it starts again with RELIST
 *     failed writes    with an error, or without an answer; then it is unknown whether the write took effect
 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "api/plan.h"
#include "base/err.h"
#include "store/object.h"

enum cluster_event_kind {
    CLUSTER_PUT,    /* an object was added or changed: 'object' */
    CLUSTER_GONE,   /* an object was removed: 'object' is its last state */
    CLUSTER_RELIST, /* a list of all objects of 'type' begins here … */
    CLUSTER_SYNCED, /* … and ends here; objects it did not mention were deleted. The first list ends with this too */
    CLUSTER_RESULT, /* the answer to a write or read: 'token', 'err', 'object' (the state after it; NULL: an error, a
                       read found nothing, a delete removed it at once, or a binding was not answered with it) */
    CLUSTER_EVENT_KIND_MAX,
};

struct cluster_event {
    enum cluster_event_kind kind;
    const struct resource_type *type;
    const struct object *object; /* borrowed until the next cluster_next() */
    uint64_t rev;                /* CLUSTER_SYNCED: the revision of the list; 0: not known */
    uint64_t token;              /* CLUSTER_RESULT */
    struct err err;              /* CLUSTER_RESULT: code ERR_OK when it worked */
    bool is_unknown;             /* CLUSTER_RESULT with an error: it may have taken effect */
};

struct cluster;

struct cluster_class { /* what an implementation provides; the functions below call through it */
    void (*free)(struct cluster *c);
    void (*want)(struct cluster *c, const struct resource_type *type);
    uint64_t (*write)(struct cluster *c, const struct op *op);
    uint64_t (*read)(struct cluster *c, const struct resource_type *type, struct str namespace, struct str name);
    bool (*next)(struct cluster *c, struct cluster_event *ret);
    int64_t (*now_ms)(struct cluster *c);
};

struct cluster { /* first member of every implementation */
    const struct cluster_class *class;
};

static inline void cluster_free(struct cluster *c)
{
    if (c)
        c->class->free(c);
}
/* Tell everything about this type: a RELIST, a PUT for each object, SYNCED, then changes. */
static inline void cluster_want(struct cluster *c, const struct resource_type *type)
{
    c->class->want(c, type);
}
/* The op and its body are copied; the answer comes as a CLUSTER_RESULT with the token returned here (never 0). */
static inline uint64_t cluster_write(struct cluster *c, const struct op *op)
{
    return c->class->write(c, op);
}
/* A fresh read of one object. */
static inline uint64_t cluster_read(struct cluster *c, const struct resource_type *type, struct str namespace,
                                    struct str name)
{
    return c->class->read(c, type, namespace, name);
}
/* The next event; false when there is none now. */
static inline bool cluster_next(struct cluster *c, struct cluster_event *ret)
{
    return c->class->next(c, ret);
}
static inline int64_t cluster_now_ms(struct cluster *c)
{
    return c->class->now_ms(c);
}

/* On a store in this process: writes take effect at once, their answers and the changes come with cluster_next(). */
struct clock;
struct store;
struct cluster *cluster_embedded_new(struct store *s, struct clock *clock);

/* Objects created here are completed first, as an API server does: 'complete' may change the body, which is a copy in
 * 'a', or refuse it. */
typedef int (*cluster_complete_f)(void *ctx, struct arena *a, const struct resource_type *type, struct json *body,
                                  struct err *e);
void cluster_embedded_complete(struct cluster *c, cluster_complete_f complete, void *ctx);

#endif
