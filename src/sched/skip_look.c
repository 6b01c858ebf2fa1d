/* skip_look.c - would a parked gang be refused, and by whom? Answered from numbers */
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

struct skip_exact { /* places for pods of one class, with what may be lifted */
    const struct pod_class *class;
    int64_t places; /* -1: rules about other pods decide, too */
};

/* All that decides about the parked gangs of one queue and priority, as things are. */
struct skip {
    const struct sched_queue *queue;
    enum gang_limit limit;
    int32_t priority, lowest_on_credit;
    uint32_t n_bound;
    uint64_t room_gen, n_holds, admissions;
    struct share_left share, admission;
    struct amounts most;                      /* what the queue may ever have, at most */
    struct amounts credit, unused;            /* what may still be promised; what no pod has */
    struct skip_level levels[LEVELS_MAX + 1]; /* the last is used by add_level() only */
    int n_levels;
    bool is_alone; /* no other queue has groups that wait: it does not matter which resource these want */
    struct skip_count counts[COUNTS];
    struct skip_exact exact[COUNTS];
};

/* ---- as things are ---- */

static bool skip_is_current(const struct round *r, const struct skip *s, const struct parked *p, enum gang_limit limit)
{
    return s->queue == p->first->queue && s->priority == p->priority && s->limit == limit &&
           s->lowest_on_credit == r->lowest_on_credit && s->n_bound == r->out->n_bound &&
           s->room_gen == r->m->room_gen && s->n_holds == r->m->n_holds && s->admissions == r->m->admissions;
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

/* By capabilities and limits on the way up: see round_is_beyond_limits(). */
static void skip_find_most(const struct sched_model *m, struct skip *s)
{
    s->most = s->queue->limit;
    for (const struct sched_queue *q = s->queue; q; q = q->parent)
        for (int d = 0; d < m->dims.n; d++)
            s->most.v[d] = MIN_OF(s->most.v[d], q->capability.v[d]);
}

static struct skip *skip_look(struct round *r, const struct parked *p, enum gang_limit limit)
{
    const struct sched_queue *q = p->first->queue;
    struct lifted lifted = { 0 };
    struct skip *s = r->skip;

    if (s && skip_is_current(r, s, p, limit))
        return s;
    if (!s)
        s = r->skip = arena_array(r->a, struct skip, 1);
    *s = (struct skip){ .queue = q,
                        .limit = limit,
                        .priority = p->priority,
                        .lowest_on_credit = r->lowest_on_credit,
                        .n_bound = r->out->n_bound,
                        .room_gen = r->m->room_gen,
                        .n_holds = r->m->n_holds,
                        .admissions = r->m->admissions };
    hold_order_lift_all(r, p->first, limit == GANG_LIMIT, &lifted);
    share_left(r->m, q, limit == GANG_FAIR ? SHARE_FAIR : SHARE_LIMIT, false, &s->share);
    share_left(r->m, q, SHARE_LIMIT, true, &s->admission);
    skip_find_levels(r->m, s);
    hold_order_put_back(r, &lifted);
    s->is_alone = amounts_equal(&q->demand, &r->m->root->demand, r->m->dims.n);
    skip_find_credit(r, s);
    skip_find_most(r->m, s);
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
    hold_order_lift_all(r, p->first, s->limit == GANG_LIMIT, &lifted);
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

/* So many places there are for its pods, all rules asked; -1: not known. */
static int64_t places_exactly(struct round *r, struct skip *s, const struct parked *p)
{
    const struct pod_class *class = p->class->pod;
    struct skip_exact *e = &s->exact[class->id % COUNTS];
    struct fit_question q = { .class = class, .group = p->first, .room = FIT_NOW };
    struct lifted lifted = { 0 };
    struct fit_count n;

    if (e->class == class)
        return e->places;
    hold_order_lift_all(r, p->first, s->limit == GANG_LIMIT, &lifted);
    n = fit_places(r->m, &q, fit_all(r->m), false);
    hold_order_put_back(r, &lifted);
    *e = (struct skip_exact){ class, n.is_exact ? n.n : -1 };
    return e->places;
}

/* Are there places for so many? -1: that is not known. */
static int has_places(struct round *r, struct skip *s, const struct parked *p, int64_t n)
{
    int64_t places;

    if (n == 0)
        return 1;
    if (places_in(p, &s->levels[0].free) < n || places_by(r, s, p, largest_ask(r->m, p), 0) < n)
        return 0;
    places = places_exactly(r, s, p);
    return places < 0 ? -1 : places >= n;
}

static bool is_within(const struct parked *p, const struct amounts *left)
{
    for (int i = 0; i < p->n; i++)
        if (p->needs[i] > left->v[p->dims[i]])
            return false;
    return true;
}

/* So many of its pods the queue takes. */
static int64_t queue_takes_of(const struct skip *s, const struct parked *p)
{
    int64_t n = p->lacks;

    for (int i = 0; i < p->n; i++)
        n = MIN_OF(n, places_on(s->share.any.v[p->dims[i]], p->ask[i]));
    return n;
}

/* The resource of which the queue would refuse so many of its pods by this bound; -1: it would not. */
static int find_beyond(const struct parked *p, int64_t n, const struct amounts *bound)
{
    for (int i = 0; i < p->n; i++)
        if (n * p->ask[i] > bound->v[p->dims[i]])
            return p->dims[i];
    return -1;
}

/* The queue refuses so many of its pods by its share, or else by what is kept for others of it. */
static void note_refusal(const struct skip *s, struct parked *p, int64_t n)
{
    int dim = find_beyond(p, n, &s->share.fair);
    bool is_share = dim >= 0;

    if (!is_share)
        dim = find_beyond(p, n, &s->share.any);
    p->kind = is_share ? WHY_FAIR_SHARE : WHY_QUEUE_RESERVED;
    p->dim = (int8_t)dim;
    p->up = (uint8_t)((is_share ? s->share.fair_up[dim] : s->share.any_up[dim]) + 1);
    p->have = MAX_OF(is_share ? s->share.fair.v[dim] : s->share.any.v[dim], 0);
}

/* Who refuses the first of its pods that is refused? As prefilter.c finds it. */
static enum skip_answer who_refuses(struct round *r, struct skip *s, struct parked *p)
{
    int64_t n = queue_takes_of(s, p);
    int has;

    if (n >= p->lacks)
        return SKIP_NODES;
    if (find_beyond(p, n + 1, &s->share.own) >= 0)
        return SKIP_ASK;
    if (find_beyond(p, n + 1, &s->share.cluster) >= 0)
        return SKIP_NODES;
    has = has_places(r, s, p, n);
    if (has <= 0)
        return has < 0 ? SKIP_ASK : SKIP_NODES;
    note_refusal(s, p, n + 1);
    return SKIP_QUEUE;
}

/* The nodes do: is that all? */
static bool nodes_do(struct round *r, struct skip *s, struct parked *p)
{
    int dim;

    if (!nodes_refuse(r, s, p) || !credit_does_not(s, p))
        return false;
    dim = lacking_beside(s, p, 0);
    if (s->limit == GANG_FAIR && !s->is_alone &&
        dim != lacking_beside(s, p, MIN_OF(places_in(p, &s->levels[0].free), p->lacks - 1)))
        return false; /* that takes more to know */
    p->dim = (int8_t)dim;
    return true;
}

enum skip_answer skip_ask(struct round *r, struct parked *p, enum gang_limit limit)
{
    struct skip *s = skip_look(r, p, limit);
    enum skip_answer who;

    if (r->now_ms >= p->told_until_ms || !is_within(p, &s->most) || !is_within(p, &s->admission.own))
        return SKIP_ASK;
    who = who_refuses(r, s, p);
    return who == SKIP_NODES && !nodes_do(r, s, p) ? SKIP_ASK : who;
}
