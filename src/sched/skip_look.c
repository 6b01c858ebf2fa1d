/* skip_look.c - would a parked gang be refused again? Answered from numbers */
#include "sched/skip.h"

#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/gang/parked.h"
#include "sched/queue/share.h"

enum { LEVELS_MAX = 8, COUNTS = 32 };

struct skip_level {    /* what is free at most if these holds are lifted too: those of which the seats are used … */
    int64_t free_ms;   /* … not before then */
    struct hold *hold; /* NULL: several, or none */
    struct amounts free;
};

struct skip_count { /* places on all nodes for pods that ask for so much of one resource */
    int64_t ask, places;
    int8_t dim; /* plus 1; 0: nothing is known */
    int8_t level;
};

/* All that decides about the parked gangs of one queue and priority, as things are. */
struct skip {
    const struct sched_queue *queue;
    int32_t priority, lowest_on_credit;
    uint32_t n_bound;
    uint64_t room_gen, n_holds, admissions;
    struct share_left fair, admission;
    struct amounts credit, unused;            /* what may still be promised; what no pod has */
    struct skip_level levels[LEVELS_MAX + 1]; /* the last is used by add_level() only */
    int n_levels;
    bool is_alone; /* no other queue has groups that wait: it does not matter which resource these want */
    struct skip_count counts[COUNTS];
};

/* ---- as things are ---- */

static bool skip_is_current(const struct round *r, const struct skip *s, const struct sched_queue *q, int32_t priority)
{
    return s->queue == q && s->priority == priority && s->lowest_on_credit == r->lowest_on_credit &&
           s->n_bound == r->out->n_bound && s->room_gen == r->m->room_gen && s->n_holds == r->m->n_holds &&
           s->admissions == r->m->admissions;
}

/* Sorted, the latest first. Those for which there is no room are one level, the last: it has more than is free to some. */
static void add_level(const struct sched_model *m, struct skip *s, struct hold *c)
{
    struct skip_level *last = &s->levels[LEVELS_MAX - 1];
    int i = s->n_levels++;

    for (; i > 1 && s->levels[i - 1].free_ms < c->free_ms; i--)
        s->levels[i] = s->levels[i - 1];
    s->levels[i] = (struct skip_level){ c->free_ms, c, c->sum };
    if (s->n_levels > LEVELS_MAX) {
        amounts_add(&last->free, &last[1].free, m->dims.n);
        last->hold = NULL;
        s->n_levels = LEVELS_MAX;
    }
}

/* Gangs that end before a reservation begins may use its seats (try_beside() in place.c). */
static void skip_find_levels(const struct sched_model *m, struct skip *s)
{
    s->levels[0] = (struct skip_level){ .free = m->open };
    amounts_add(&s->levels[0].free, &m->lifted_sum, m->dims.n);
    s->n_levels = 1;
    LIST_FOREACH(struct hold, c, &m->kept, link)
        if (c->is_held && c->kind == HOLD_RESERVED && c->free_ms)
            add_level(m, s, c);
    for (int i = 1; i < s->n_levels; i++)
        amounts_add(&s->levels[i].free, &s->levels[i - 1].free, m->dims.n);
    for (int i = 0; i < s->n_levels; i++)
        for (int d = 0; d < m->dims.n; d++)
            s->levels[i].free.v[d] = MIN_OF(s->levels[i].free.v[d], m->idle.v[d]);
}

static void skip_find_credit(const struct round *r, struct skip *s)
{
    const struct sched_model *m = r->m;
    bool may_withdraw = s->priority > r->lowest_on_credit;

    for (int d = 0; d < m->dims.n; d++) {
        s->unused.v[d] = m->total.v[d] - m->used.v[d];
        s->credit.v[d] = round_credit(m, d) - m->used.v[d] - (may_withdraw ? 0 : m->root->admitted.v[d]);
    }
}

static struct skip *skip_look(struct round *r, const struct parked *p)
{
    const struct sched_queue *q = p->first->queue;
    struct lifted lifted = { 0 };
    struct skip *s = r->skip;

    if (s && skip_is_current(r, s, q, p->priority))
        return s;
    if (!s)
        s = r->skip = arena_array(r->a, struct skip, 1);
    *s = (struct skip){ .queue = q,
                        .priority = p->priority,
                        .lowest_on_credit = r->lowest_on_credit,
                        .n_bound = r->out->n_bound,
                        .room_gen = r->m->room_gen,
                        .n_holds = r->m->n_holds,
                        .admissions = r->m->admissions };
    hold_order_lift_all(r, p->first, false, &lifted);
    share_left(r->m, q, SHARE_FAIR, false, &s->fair);
    share_left(r->m, q, SHARE_LIMIT, true, &s->admission);
    skip_find_levels(r->m, s);
    hold_order_put_back(r, &lifted);
    s->is_alone = amounts_equal(&q->demand, &r->m->root->demand, r->m->dims.n);
    skip_find_credit(r, s);
    return s;
}

/* ---- would it be refused? ---- */

static int64_t places_on(int64_t free, int64_t ask)
{
    return free > 0 ? free / ask : 0;
}

/* With what the holds that are lifted leave on their nodes. */
static int64_t count_open(struct sched_model *m, int dim, int64_t ask)
{
    const struct hold_parts *parts;
    int64_t n = 0;

    for (uint32_t i = 0; i < m->n_order; i++)
        n += places_on(m->order[i]->open.v[dim], ask);
    if (list_is_empty(&m->lifted))
        return n;
    parts = holds_parts(m, false);
    for (uint32_t i = 0; i < parts->n; i++) {
        const struct sched_node *at = parts->v[i].node;
        int64_t free = at->total.v[dim] - at->used.v[dim] - at->held.v[dim] + parts->v[i].sum.v[dim];

        n += at->exists ? places_on(free, ask) - places_on(at->open.v[dim], ask) : 0;
    }
    return n;
}

static int64_t count_idle(const struct sched_model *m, int dim, int64_t ask)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < m->n_order; i++)
        n += places_on(m->order[i]->idle.v[dim], ask);
    return n;
}

/* At most so many pods find places, by one resource and node by node. */
static int64_t places_by(struct round *r, struct skip *s, const struct parked *p, int i, int level)
{
    int64_t ask = p->ask[i];
    int dim = p->dims[i];
    uint64_t hash = ((uint64_t)ask * LEVELS_MAX + (uint64_t)level) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)dim;
    struct skip_count *c = &s->counts[(hash >> 32) % COUNTS];
    struct lifted lifted = { 0 };

    if (c->dim == dim + 1 && c->ask == ask && c->level == level)
        return c->places;
    *c = (struct skip_count){ .ask = ask, .dim = (int8_t)(dim + 1), .level = (int8_t)level };
    if (level && !s->levels[level].hold) {
        c->places = count_idle(r->m, dim, ask);
        return c->places;
    }
    hold_order_lift_all(r, p->first, false, &lifted);
    for (int k = 1; k <= level; k++)
        hold_order_lift_one(r, s->levels[k].hold, &lifted);
    c->places = count_open(r->m, dim, ask);
    hold_order_put_back(r, &lifted);
    return c->places;
}

/* The resource of which its pods ask for the largest part of what the nodes have. */
static int largest_ask(const struct sched_model *m, const struct parked *p)
{
    double most = -1;
    int best = 0;

    for (int i = 0; i < p->n; i++) {
        double part = (double)p->ask[i] / (double)MAX_OF(m->total.v[p->dims[i]], 1);

        if (part > most) {
            most = part;
            best = i;
        }
    }
    return best;
}

static int64_t places_in(const struct parked *p, const struct amounts *free)
{
    int64_t most = p->lacks;

    for (int i = 0; i < p->n; i++)
        most = MIN_OF(most, MAX_OF(free->v[p->dims[i]], 0) / p->ask[i]);
    return most;
}

static bool nodes_refuse(struct round *r, struct skip *s, const struct parked *p)
{
    int64_t end_ms = r->now_ms + p->runtime_ms;
    int level = 0;

    while (p->runtime_ms && level + 1 < s->n_levels && s->levels[level + 1].free_ms >= end_ms)
        level++;
    if (places_in(p, &s->levels[level].free) < p->lacks)
        return true;
    return places_by(r, s, p, largest_ask(r->m, p), level) < p->lacks;
}

/* Its queue admits it, and takes as many of its pods as the nodes do, or more; what it refuses is what the cluster does
 * not have. */
static bool queue_does_not(const struct skip *s, const struct parked *p)
{
    for (int i = 0; i < p->n; i++) {
        int d = p->dims[i];

        if (p->needs[i] > s->admission.own.v[d])
            return false;
        if (p->needs[i] > s->fair.any.v[d] &&
            (s->fair.any.v[d] != s->fair.cluster.v[d] || p->needs[i] > s->fair.own.v[d]))
            return false;
    }
    return true;
}

static bool credit_does_not(const struct skip *s, const struct parked *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->needs[i] > s->credit.v[p->dims[i]])
            return true;
    return false;
}

/* Of which resource is there too little in sum, with so many of its pods in their places? */
static int lacking_beside(const struct skip *s, const struct parked *p, int64_t seats)
{
    for (int i = 0; i < p->n; i++)
        if (p->needs[i] > s->unused.v[p->dims[i]] - seats * p->ask[i])
            return p->dims[i];
    return -1;
}

bool skip_is_refused_again(struct round *r, struct parked *p)
{
    struct skip *s = skip_look(r, p);
    int dim;

    if (r->now_ms >= p->told_until_ms || !nodes_refuse(r, s, p) || !queue_does_not(s, p) || !credit_does_not(s, p))
        return false;
    dim = lacking_beside(s, p, 0);
    if (!s->is_alone && dim != lacking_beside(s, p, MIN_OF(places_in(p, &s->levels[0].free), p->lacks - 1)))
        return false; /* that takes more to know */
    p->dim = (int8_t)dim;
    return true;
}
