/* contest.c - slow down writes to objects that another client keeps overwriting
 *
 * When two controllers run at once and one of them has an older view, they undo each other's writes. If both react at
 * once, they write thousands of times until the older view catches up. So the driver counts how often, in quick
 * succession, an object has changed since its own last write. After the fourth time it waits before it writes again: 20
 * ms after its last write, doubling each time up to 30 s. The first few reactions are immediate, so that a user who
 * edits a job does not wait. The count is reset when the object was left alone for eight times the delay.
 *
 * Pods are exempt: their nodes write them all the time, and only the node and the scheduler write the status of a pod.
 */
#include "driver/driver_internal.h"

#include "api/meta.h"
#include "base/util.h"

enum { CONTESTS = 1024, WAIT_MIN_MS = 20, WAIT_MAX_MS = 30000, WAIT_DOUBLINGS = 11, FREE = 4, CALM = 8 };

struct contest {      /* one object that we wrote */
    uint64_t id;      /* 0: not used */
    uint64_t rev;     /* after our last write; 0: we removed it */
    int64_t wrote_ms; /* of run_ms */
    unsigned n;       /* how often another client wrote in between */
};

void contests_init(struct driver *d, uint64_t seed)
{
    map_u64_init(&d->contests, seed);
    d->contest_ring = xcalloc(CONTESTS, sizeof(*d->contest_ring));
}

void contests_done(struct driver *d)
{
    map_u64_done(&d->contests);
    free(d->contest_ring);
}

static uint64_t contest_id_of(const struct driver *d, const struct resource_type *type, struct str namespace,
                              struct str name)
{
    if (type->scope != SCOPE_NAMESPACED)
    namespace = STR_NULL;
    return str_hash(name, str_hash(namespace, str_hash(str_of(type->plural), d->opt.seed))) | 1;
}

/* The revision in the cache; 0: the object is not there. */
static uint64_t known_rev(struct driver *d, const struct op *op, struct str name)
{
    const struct cache_job *j;
    const struct object *o;

    if (op->type == known_types()->job) {
        j = cache_job(&d->cache, op->body ? object_uid(op->body) : op->uid);
        return j && j->object ? j->object->rev : 0;
    }
    o = cache_find(&d->cache, op->type, op->namespace, name);
    return o ? o->rev : 0;
}

static bool is_shared(const struct resource_type *type)
{
    return type != known_types()->pod && type != known_types()->event;
}

int64_t contest_wait(struct driver *d, const struct op *op)
{
    struct str name = str_empty(op->name) && op->body ? object_name(op->body) : op->name;
    struct contest *c = is_shared(op->type) ? map_u64_get(&d->contests, contest_id_of(d, op->type, op->namespace, name))
                                            : NULL;
    int64_t delay_ms, passed_ms;
    unsigned doublings;

    if (!c || known_rev(d, op, name) == c->rev)
        return 0;
    doublings = c->n > FREE ? MIN_OF(c->n - FREE, (unsigned)WAIT_DOUBLINGS) : 0;
    delay_ms = MIN_OF((int64_t)WAIT_MIN_MS << doublings, (int64_t)WAIT_MAX_MS);
    passed_ms = d->run_ms - c->wrote_ms;
    if (c->n >= FREE && passed_ms < delay_ms)
        return delay_ms - passed_ms;
    c->n = passed_ms < CALM * delay_ms ? c->n + 1 : 0;
    return 0;
}

bool contest_is_on(struct driver *d, const struct object *o)
{
    const struct contest *c = map_u64_get(&d->contests, contest_id_of(d, o->type, o->namespace, o->name));

    return c && c->n >= FREE && c->rev != o->rev;
}

void contest_wrote(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                   uint64_t rev)
{
    uint64_t id = contest_id_of(d, type, namespace, name);
    struct contest *c = is_shared(type) ? map_u64_get(&d->contests, id) : NULL;

    if (!is_shared(type))
        return;
    if (!c) {
        c = &d->contest_ring[d->contest_at++ % CONTESTS]; /* the oldest makes room */
        if (c->id)
            map_u64_remove(&d->contests, c->id);
        *c = (struct contest){ .id = id };
        map_u64_put(&d->contests, id, c);
    }
    c->rev = rev;
    c->wrote_ms = d->run_ms;
}
