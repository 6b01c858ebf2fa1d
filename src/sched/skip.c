/* skip.c - gangs that a round passes over because the nodes would refuse them as before */
#include "sched/skip.h"

#include "base/util.h"
#include "sched/evict/evict.h"
#include "sched/fit/class.h"
#include "sched/gang/parked.h"
#include "sched/queue/share.h"

enum { LEVELS_MAX = 8, COUNTS = 32, PARK_PART = 64, PARK_TIMES = 2 };

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

static bool is_refused_again(struct round *r, struct parked *p)
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

/* ---- the walk ---- */

static bool queue_can_park(const struct sched_queue *q)
{
    return q->exists && q->is_open && !q->is_fifo && !q->affinity && q->children.n == 0;
}

static bool round_can_park(const struct round *r)
{
    const struct sched_config *c = &r->m->config;

    return r->m->has_placed && c->admits && !c->asks_all && !c->sla_ms &&
           r->m->alike->n_members > PARK_TIMES * (uint32_t)c->retell;
}

static void unpark_all(struct sched_model *m, struct parked_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].class)
            gang_class_unpark(m, l->v[i].class);
}

void skip_begin(struct round *r)
{
    r->m->alike->n_walks++;
    MAP_FOREACH(struct sched_queue *, q, &r->m->queues) {
        struct parked_list *l = q->parked;

        if (!l || l->n_gone == l->n) /* no gang is parked; entries of the last walk end here */
            continue;
        if (!round_can_park(r) || !queue_can_park(q)) {
            unpark_all(r->m, l);
            continue;
        }
        l->next = 0;
        l->round = r->m->round;
        *vec_push(r->a, &r->active) = q;
    }
}

bool skip_has_more(const struct round *r, const struct sched_queue *q)
{
    return q->parked && q->parked->round == r->m->round && q->parked->next < q->parked->n;
}

/* It is parked, or was when the walk began. */
static bool is_here(const struct round *r, const struct parked *p)
{
    return p->class || p->gone == r->m->alike->n_walks;
}

static void note_passed(struct round *r, struct sched_queue *q, size_t at)
{
    struct skip_run *last = r->skipped.n ? &r->skipped.v[r->skipped.n - 1] : NULL;

    if (last && last->queue == q && last->to == at && last->at == r->stuck.list.n) {
        last->to++;
        return;
    }
    *vec_push(r->a, &r->skipped) = (struct skip_run){ q, at, at + 1, r->stuck.list.n };
}

struct sched_group *skip_next(struct round *r, struct sched_queue *q, const struct sched_group *g)
{
    struct parked_list *l = q->parked;
    size_t end;

    if (!skip_has_more(r, q))
        return NULL;
    end = g ? parked_after(l, l->next, g) : l->n;
    for (; l->next < end; l->next++) {
        struct parked *p = &l->v[l->next];

        if (!is_here(r, p) || p->tried == r->room)
            continue;
        if (!p->class || !is_refused_again(r, p)) { /* another of its class came: it has its turn all the same */
            l->next++;
            if (p->class)
                parked_note(p);
            return p->first;
        }
        p->tried = r->m->room_gen;
        p->is_ahead = true;
        note_passed(r, q, l->next);
    }
    return NULL;
}

/* ---- what follows from a refusal ---- */

static bool may_hunt(const struct round *r, const struct skip_run *run)
{
    const struct sched_config *c = &r->m->config;
    const struct parked_list *l = run->queue->parked;
    struct amounts left;

    if (c->preempts && evict_has_lower(run->queue, l->v[run->from].priority)) /* of all the highest */
        return true;
    if (!c->reclaims || !evict_has_givers(r->m, run->queue))
        return false;
    evict_share_left(r->m, run->queue, &left);
    for (size_t i = run->from; i < run->to; i++) {
        const struct parked *p = &l->v[i];
        bool is_within = true;

        for (int k = 0; k < p->n; k++)
            is_within &= p->needs[k] <= left.v[p->dims[k]];
        if (p->class && is_within)
            return true;
    }
    return false;
}

static void add_run(struct round *r, const struct skip_run *run, struct group_list *to)
{
    for (size_t i = run->from; i < run->to; i++) {
        const struct parked *p = &run->queue->parked->v[i];

        if (!is_here(r, p))
            continue;
        p->first->now.is_refused = true;
        round_touch(r, p->first);
        *vec_push(r->a, &to->list) = p->first;
    }
}

/* All join round.stuck, where they would be. */
static void tell_refused(struct round *r)
{
    struct group_list stuck = r->stuck;
    size_t at = 0;

    r->stuck = (struct group_list){ 0 };
    VEC_FOREACH(run, &r->skipped) {
        for (; at < run->at; at++)
            *vec_push(r->a, &r->stuck.list) = stuck.list.v[at];
        add_run(r, run, &r->stuck);
    }
    for (; at < stuck.list.n; at++)
        *vec_push(r->a, &r->stuck.list) = stuck.list.v[at];
    r->skipped.n = 0;
}

/* So few wait now that the reason of each is reported, also for those that were passed over. */
static void tell_few(struct round *r)
{
    if (r->skipped.n == 0 || r->m->alike->n_members > (uint32_t)r->m->config.retell)
        return;
    tell_refused(r);
    VEC_FOREACH(g, &r->stuck.list)
        if (parked_of((*g)->gang.alike))
            round_say_again(r, *g);
}

void skip_find_hunters(struct round *r)
{
    tell_few(r);
    VEC_FOREACH(run, &r->skipped)
        if (may_hunt(r, run)) {
            tell_refused(r);
            return;
        }
}

void skip_add_first(struct round *r, struct group_list *ret)
{
    VEC_FOREACH(run, &r->skipped)
        for (size_t i = run->from; i < run->to; i++)
            if (is_here(r, &run->queue->parked->v[i])) {
                *vec_push(r->a, &ret->list) = run->queue->parked->v[i].first;
                break;
            }
}

bool skip_tell_refused(struct round *r, bool (*is_concerned)(const struct sched_model *m, const struct sched_queue *q))
{
    VEC_FOREACH(run, &r->skipped)
        if (is_concerned(r->m, run->queue)) {
            tell_refused(r);
            return true;
        }
    return false;
}

void skip_each_wanted(const struct round *r,
                      void (*each)(void *ctx, const struct sched_queue *q, int dim, const struct amounts *needs),
                      void *ctx)
{
    MAP_FOREACH(struct sched_queue *, q, &r->m->queues)
        for (size_t i = 0; q->parked && i < q->parked->n; i++)
            if (q->parked->v[i].class)
                each(ctx, q, q->parked->v[i].dim, &q->parked->v[i].class->needs);
}

/* ---- who is parked ---- */

static bool has_plain_pods(const struct gang_class *c)
{
    const struct pod_class *pod = c->pod;

    return pod && !pod->is_coupled && pod->ports.n == 0 && pod->claims.n == 0 && !pod->has_lost_name &&
           __builtin_popcount(pod->ask_dims) <= PARKED_DIMS;
}

static bool skip_is_plain(const struct sched_group *g)
{
    return !json_is(g->spec.topology, JSON_OBJECT) && g->spec.has_min_resources && !g->spec.sla_ms &&
           queue_can_park(g->queue) && has_plain_pods(g->gang.alike);
}

/* It was refused for want of room, and nothing but room, more credit or time can change that. */
static bool waits_for_room(const struct round *r, const struct sched_group *g)
{
    return (g->why->kind == WHY_NO_ROOM || g->why->kind == WHY_HELD) && g->found.is_stuck && g->found.is_blocked &&
           !g->why->is_never && !g->found.never_fits && g->found.futile != r->m->node_gen && !g->hold && !g->retry_ms &&
           !group_is_admitted(g) && amounts_is_zero(&g->admitted, r->m->dims.n) && g->since.waiting_ms &&
           g->since.waiting_ms + r->m->config.reserve_after_ms <= r->now_ms;
}

static bool can_be_parked(const struct round *r, const struct sched_group *g)
{
    return g->gang.alike && gang_leads(g) && g->gang.alike->futile != r->m->node_gen && waits_for_room(r, g) &&
           skip_is_plain(g) && g->status.why == WHY_NO_ROOM && round_is_told(r, g);
}

static void fill_in(const struct sched_model *m, const struct sched_group *g, struct parked *ret)
{
    const struct gang_class *c = g->gang.alike;
    const struct sched_group *shortest = gang_class_shortest(c);
    int64_t rewrite_ms = m->config.rewrite_ms;

    ret->lacks = c->lacks;
    ret->runtime_ms = shortest ? shortest->spec.runtime_ms : 0;
    ret->told_until_ms = rewrite_ms > INT64_MAX - g->status.why_ms ? INT64_MAX : g->status.why_ms + rewrite_ms;
    ret->tried = g->found.tried;
    ret->is_ahead = false;
    ret->priority = g->spec.priority;
    ret->dim = (int8_t)g->why->dim;
    ret->n = 0;
    for (uint32_t left = c->pod->ask_dims; left; left &= left - 1) {
        int d = __builtin_ctz(left);

        ret->dims[ret->n] = (uint8_t)d;
        ret->ask[ret->n] = c->pod->ask.v[d];
        ret->needs[ret->n++] = c->needs.v[d];
    }
}

/* It is parked: may it stay? */
static void skip_check(struct round *r, struct sched_group *g)
{
    struct parked *p = parked_of(g->gang.alike);

    if (!p || p->first != g)
        return;
    parked_note(p);
    if (round_can_park(r) && can_be_parked(r, g))
        fill_in(r->m, g, p);
    else
        gang_class_unpark(r->m, p->class);
}

void skip_asked(struct round *r, struct sched_group *g)
{
    *vec_push(r->a, &r->asked.list) = g;
    skip_check(r, g);
}

static int by_queue_and_order(const void *x, const void *y)
{
    const struct sched_group *a = *(struct sched_group *const *)x, *b = *(struct sched_group *const *)y;
    int order = a->queue == b->queue ? 0 : str_cmp(a->queue->name, b->queue->name);

    return order ? order : order_cmp(a, b);
}

/* Entries are moved for each that is added: a few wait until there are more. */
static void park_of_queue(struct round *r, struct group_list *all, size_t *at)
{
    struct sched_queue *q = all->list.v[*at]->queue;
    struct group_list some = { 0 };

    for (; *at < all->list.n && all->list.v[*at]->queue == q; ++*at)
        if (!some.list.n || some.list.v[some.list.n - 1] != all->list.v[*at]) /* it may have been asked twice */
            *vec_push(r->a, &some.list) = all->list.v[*at];
    if (some.list.n > (uint32_t)r->m->config.retell / 8 + (q->parked ? q->parked->n : 0) / PARK_PART)
        parked_add(r->m, q, &some, fill_in);
}

void skip_end(struct round *r)
{
    struct group_list all = { 0 };

    VEC_FOREACH(at, &r->asked.list) /* what followed may have changed it */
        skip_check(r, *at);
    VEC_FOREACH(at, &r->stuck.list)
        if (parked_of((*at)->gang.alike))
            skip_check(r, *at);
        else if (round_can_park(r) && can_be_parked(r, *at))
            *vec_push(r->a, &all.list) = *at;
    if (all.list.n)
        qsort(all.list.v, all.list.n, sizeof(*all.list.v), by_queue_and_order);
    for (size_t at = 0; at < all.list.n;)
        park_of_queue(r, &all, &at);
}
