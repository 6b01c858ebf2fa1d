/* skip.c - gangs that a round passes over because the nodes would refuse them as before */
#include "sched/skip.h"

#include "base/util.h"
#include "sched/evict/evict.h"
#include "sched/fit/class.h"
#include "sched/gang/parked.h"
#include "sched/queue/share.h"

enum { PARK_PART = 64, PARK_TIMES = 2 };

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
        if (!p->class || !skip_is_refused_again(r, p)) { /* another of its class came: it has its turn all the same */
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
