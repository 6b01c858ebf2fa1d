/* skip.c - gangs that a round passes over because they would be refused */
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

static void note_passed(struct round *r, struct skip_runs *runs, struct sched_queue *q, size_t entry, size_t at)
{
    struct skip_run *last = runs->list.n ? &runs->list.v[runs->list.n - 1] : NULL;

    if (last && last->queue == q && last->to == entry && last->at == at)
        last->to++;
    else
        *vec_push(r->a, &runs->list) = (struct skip_run){ q, entry, entry + 1, at };
}

/* What place_refuse() would note. */
static void pass_over(struct round *r, struct sched_queue *q, size_t entry, enum skip_answer who, enum gang_limit limit)
{
    struct parked *p = &q->parked->v[entry];
    bool is_of_queue = who == SKIP_QUEUE, is_stuck = !is_of_queue && limit == GANG_FAIR;

    p->is_ahead = true;
    p->round = r->m->round;
    p->tried = r->m->room_gen;
    p->tried_yields = r->m->yields;
    if (p->is_stuck && !is_stuck)
        r->m->yields++;
    p->is_stuck = is_stuck;
    if (!is_of_queue && why_is_of_queue((enum why_kind)p->kind))
        p->kind = WHY_NO_ROOM;
    if (is_of_queue)
        note_passed(r, &r->skipped_over, q, entry, r->over.list.n);
    else
        note_passed(r, &r->skipped_stuck, q, entry, r->stuck.list.n);
}

/* As push_again() in round.c says. */
static bool has_turn(struct round *r, struct parked *p, enum gang_limit limit)
{
    bool is_time = p->retry_ms && p->retry_ms <= r->now_ms;

    if (limit == GANG_LIMIT)
        return p->again == r->m->round;
    if (p->retry_ms && !is_time)
        round_wake(r, p->retry_ms);
    if (p->tried == r->room && !is_time && (!why_is_of_queue((enum why_kind)p->kind) || p->tried_yields == r->yields))
        return false;
    if (p->retry_ms && p->class)
        p->is_ahead = true;
    else if (p->retry_ms)
        p->first->retry_ms = 0;
    p->retry_ms = 0;
    return true;
}

struct sched_group *skip_next(struct round *r, struct sched_queue *q, const struct sched_group *g,
                              enum gang_limit limit)
{
    struct parked_list *l = q->parked;
    size_t end;

    if (!skip_has_more(r, q))
        return NULL;
    end = g ? parked_after(l, l->next, g) : l->n;
    for (; l->next < end; l->next++) {
        struct parked *p = &l->v[l->next];
        enum skip_answer who;

        if (!is_here(r, p) || !has_turn(r, p, limit))
            continue;
        who = p->class ? skip_ask(r, p, limit) : SKIP_ASK; /* another of its class came: it has its turn all the same */
        if (who == SKIP_ASK) {
            l->next++;
            p->round = r->m->round;
            if (p->class)
                parked_note(r->m, p);
            return p->first;
        }
        pass_over(r, q, l->next, who, limit);
    }
    return NULL;
}

/* ---- beyond the share of their queues ---- */

static void serve_again(struct round *r, struct sched_queue *q, struct parked *p)
{
    struct parked_list *l = q->parked;

    p->again = r->m->round;
    if (l->next < l->n)
        return;
    l->next = 0;
    *vec_push(r->a, &r->active) = q;
}

void skip_serve_over(struct round *r, const struct skip_run *run, skip_wanted_f *is_wanted, const void *ctx)
{
    for (size_t i = run->from; i < run->to; i++) {
        struct parked *p = &run->queue->parked->v[i];

        if (!is_here(r, p))
            continue;
        if (is_wanted(ctx, run->queue, p->wants))
            note_passed(r, &r->skipped_over, run->queue, i, r->over.list.n);
        else
            serve_again(r, run->queue, p);
    }
}

static void serve_others_of(struct round *r, struct sched_queue *q, skip_wanted_f *is_wanted, const void *ctx)
{
    for (size_t i = 0; q->parked && i < q->parked->n; i++) {
        struct parked *p = &q->parked->v[i];

        if (!p->class || p->round == r->m->round || !why_is_of_queue((enum why_kind)p->kind) ||
            p->first->now.is_refused)
            continue;
        if (is_wanted(ctx, q, p->wants))
            note_passed(r, &r->skipped_others, q, i, r->others_from);
        else
            serve_again(r, q, p);
    }
}

void skip_serve_others(struct round *r, skip_wanted_f *is_wanted, const void *ctx)
{
    r->n_over_runs = r->skipped_over.list.n;
    MAP_FOREACH(struct sched_queue *, q, &r->m->queues)
        if (q->is_over)
            serve_others_of(r, q, is_wanted, ctx);
}

/* ---- what follows from a refusal ---- */

/* 'is_asked': in this round. */
static void add_run(struct round *r, const struct skip_run *run, bool is_asked, struct group_list *to)
{
    for (size_t i = run->from; i < run->to; i++) {
        struct parked *p = &run->queue->parked->v[i];

        if (!is_here(r, p))
            continue;
        if (p->class)
            parked_note(r->m, p);
        if (is_asked) {
            p->first->now.is_refused = true;
            round_touch(r, p->first);
        }
        *vec_push(r->a, &to->list) = p->first;
    }
}

struct skip_part { /* of a list of groups, with the runs that belong into it */
    const struct group_list *groups;
    size_t from, to;
    const struct skip_runs *runs;
    size_t first_run, end_run;
};

static void add_part(struct round *r, const struct skip_part *part, struct group_list *to)
{
    size_t at = part->from;

    for (size_t i = part->first_run; i < part->end_run; i++) {
        const struct skip_run *run = &part->runs->list.v[i];

        for (; at < run->at; at++)
            *vec_push(r->a, &to->list) = part->groups->list.v[at];
        add_run(r, run, true, to);
    }
    for (; at < part->to; at++)
        *vec_push(r->a, &to->list) = part->groups->list.v[at];
}

static uint64_t rank_of_class(const struct sched_group *g)
{
    return g->gang.alike ? g->gang.alike->id : 0;
}

static int by_class(const void *x, const void *y)
{
    uint64_t a = rank_of_class(*(struct sched_group *const *)x), b = rank_of_class(*(struct sched_group *const *)y);

    return (a > b) - (a < b);
}

/* As gang_leaders() would give them. */
static void add_others(struct round *r, const struct group_list *over, struct group_list *to)
{
    struct group_list parked = { 0 };
    size_t at = r->others_from;

    VEC_FOREACH(run, &r->skipped_others.list)
        add_run(r, run, false, &parked);
    if (parked.list.n)
        qsort(parked.list.v, parked.list.n, sizeof(*parked.list.v), by_class);
    VEC_FOREACH(g, &parked.list) {
        for (; at < r->others_to && rank_of_class(over->list.v[at]) < rank_of_class(*g); at++)
            *vec_push(r->a, &to->list) = over->list.v[at];
        *vec_push(r->a, &to->list) = *g;
    }
    for (; at < r->others_to; at++)
        *vec_push(r->a, &to->list) = over->list.v[at];
}

/* All join round.stuck and round.over, where they would be. */
void skip_tell_all(struct round *r)
{
    struct group_list stuck = r->stuck, over = r->over;
    const struct skip_runs *runs = &r->skipped_over;

    if (!skip_has_passed(r))
        return;
    r->stuck = r->over = (struct group_list){ 0 };
    add_part(r, &(struct skip_part){ &stuck, 0, stuck.list.n, &r->skipped_stuck, 0, r->skipped_stuck.list.n },
             &r->stuck);
    add_part(r, &(struct skip_part){ &over, 0, r->others_from, runs, 0, r->n_over_runs }, &r->over);
    add_others(r, &over, &r->over);
    add_part(r, &(struct skip_part){ &over, r->others_to, over.list.n, runs, r->n_over_runs, runs->list.n }, &r->over);
    r->skipped_stuck = r->skipped_over = r->skipped_others = (struct skip_runs){ 0 };
    r->n_over_runs = r->others_from = r->others_to = 0;
}

bool skip_has_passed(const struct round *r)
{
    return r->skipped_stuck.list.n || r->skipped_over.list.n || r->skipped_others.list.n;
}

/* So few wait now that the reason of each is reported, also for those that were passed over. */
void skip_tell_few(struct round *r)
{
    if (!skip_has_passed(r) || r->m->alike->n_members > (uint32_t)r->m->config.retell)
        return;
    skip_tell_all(r);
    VEC_FOREACH(g, &r->stuck.list)
        if (parked_of((*g)->gang.alike))
            round_say_again(r, *g);
    VEC_FOREACH(g, &r->over.list)
        if (parked_of((*g)->gang.alike))
            round_say_again(r, *g);
}

/* ---- victims ---- */

struct skip_prey { /* whom those of one queue may evict */
    struct sched_queue *queue;
    bool knows_within, knows_beside;
    struct evict_prey within, beside;
    struct amounts fair; /* beyond this its share refuses, pods that go counted */
    struct amounts left; /* … or not counted: evict_share_left() */
};

static void look_for_prey(const struct round *r, struct sched_queue *q, struct skip_prey *prey)
{
    if (prey->queue == q)
        return;
    *prey = (struct skip_prey){ .queue = q };
    evict_share_left(r->m, q, &prey->left);
    for (int d = 0; d < r->m->dims.n; d++)
        prey->fair.v[d] = q->fair.v[d] - q->allocated.v[d] - q->going.v[d];
}

static bool needs_at_most(const struct parked *p, const struct amounts *most)
{
    for (int i = 0; i < p->n; i++)
        if (p->needs[i] > most->v[p->dims[i]])
            return false;
    return true;
}

/* As is_worth() in reserve.c: pods of its own queue, or of others. */
static bool has_prey(struct round *r, struct skip_prey *prey, const struct parked *p, bool is_over,
                     int64_t *ret_wake_ms)
{
    const struct sched_config *c = &r->m->config;

    if (c->preempts && !p->never_preempts && evict_has_lower(prey->queue, p->priority)) {
        if (!prey->knows_within)
            evict_find_within(r->m, prey->queue, &prey->within);
        prey->knows_within = true;
        if (evict_is_prey(r->m, &prey->within, p->asked_ms, ret_wake_ms))
            return true;
    }
    if (!c->reclaims || (is_over && !needs_at_most(p, &prey->fair)) || !needs_at_most(p, &prey->left))
        return false;
    if (!prey->knows_beside)
        evict_find_beside(r->m, prey->queue, &prey->beside);
    prey->knows_beside = true;
    return evict_is_prey(r->m, &prey->beside, p->asked_ms, ret_wake_ms);
}

static void skip_retry(struct round *r, struct parked *p, int64_t at_ms)
{
    p->is_ahead = true;
    if (!p->retry_ms || at_ms < p->retry_ms)
        p->retry_ms = at_ms;
    round_wake(r, at_ms);
}

/* As hunt() in reserve.c, but for the hunt itself. True: it is worth one. */
static bool skip_may_hunt(struct round *r, struct skip_prey *prey, struct parked *p, bool is_over)
{
    int64_t wake_ms = 0;

    if (p->hunted == r->m->room_gen && !(p->hunt_ms && p->hunt_ms <= r->now_ms)) {
        if (p->hunt_ms)
            skip_retry(r, p, p->hunt_ms);
        return false;
    }
    if (has_prey(r, prey, p, is_over, &wake_ms))
        return true;
    p->is_ahead |= p->hunt_ms != wake_ms;
    p->hunt_ms = wake_ms;
    if (wake_ms) {
        p->hunted = r->m->room_gen;
        skip_retry(r, p, wake_ms);
    }
    return false;
}

/* False: one of them must hunt itself. */
static bool hunt_in_vain(struct round *r, struct skip_runs *runs, size_t at, bool is_over)
{
    struct skip_prey prey = { 0 };

    for (; runs->n_hunted < runs->list.n && runs->list.v[runs->n_hunted].at <= at; runs->n_hunted++) {
        const struct skip_run *run = &runs->list.v[runs->n_hunted];

        look_for_prey(r, run->queue, &prey);
        for (size_t i = run->from; i < run->to; i++) {
            struct parked *p = &run->queue->parked->v[i];

            if (is_here(r, p) && (!p->class || skip_may_hunt(r, &prey, p, is_over)))
                return false;
        }
    }
    return true;
}

static bool others_hunt_in_vain(struct round *r, size_t at)
{
    if (r->skipped_others.list.n == 0 || at < r->others_from)
        return true;
    return r->others_from == r->others_to && hunt_in_vain(r, &r->skipped_others, at, true);
}

size_t skip_hunt(struct round *r, struct group_list *all, size_t at, bool is_over)
{
    const struct sched_group *last = at ? all->list.v[at - 1] : NULL;

    if (is_over ? hunt_in_vain(r, &r->skipped_over, at, true) && others_hunt_in_vain(r, at)
                : hunt_in_vain(r, &r->skipped_stuck, at, false))
        return at;
    skip_tell_all(r); /* those that hunted in vain do so again */
    if (!last)
        return 0;
    for (at--; all->list.v[at] != last;)
        at++;
    return at + 1;
}

/* ---- reservations ---- */

void skip_note(const struct sched_model *m, const struct sched_group *g)
{
    struct parked *p = parked_of(g->gang.alike);

    if (p && p->first == g)
        parked_note(m, p);
}

static void add_first_of(struct round *r, const struct skip_runs *runs, struct group_list *ret)
{
    VEC_FOREACH(run, &runs->list)
        for (size_t i = run->from; i < run->to; i++) {
            struct parked *p = &run->queue->parked->v[i];

            if (!is_here(r, p))
                continue;
            *vec_push(r->a, &ret->list) = p->first;
            break;
        }
}

void skip_add_first(struct round *r, struct group_list *ret)
{
    add_first_of(r, &r->skipped_stuck, ret);
    add_first_of(r, &r->skipped_over, ret);
    add_first_of(r, &r->skipped_others, ret);
}

static bool is_one_concerned(const struct round *r, const struct skip_runs *runs, skip_concerned_f *is_concerned)
{
    VEC_FOREACH(run, &runs->list)
        if (is_concerned(r->m, run->queue))
            return true;
    return false;
}

bool skip_tell_refused(struct round *r, skip_concerned_f *is_concerned)
{
    if (!is_one_concerned(r, &r->skipped_stuck, is_concerned) && !is_one_concerned(r, &r->skipped_over, is_concerned) &&
        !is_one_concerned(r, &r->skipped_others, is_concerned))
        return false;
    skip_tell_all(r);
    return true;
}

void skip_each_wanted(const struct round *r,
                      void (*each)(void *ctx, const struct sched_queue *q, int dim, const struct amounts *needs),
                      void *ctx)
{
    MAP_FOREACH(struct sched_queue *, q, &r->m->queues)
        for (size_t i = 0; q->parked && i < q->parked->n; i++)
            if (q->parked->v[i].class && q->parked->v[i].is_stuck)
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

static bool is_of_room_or_share(enum why_kind kind)
{
    return kind == WHY_NO_ROOM || kind == WHY_HELD || kind == WHY_FAIR_SHARE || kind == WHY_QUEUE_RESERVED;
}

/* It was refused for want of room, and nothing but room, more credit or time can change that. */
static bool waits_for_room(const struct round *r, const struct sched_group *g)
{
    return is_of_room_or_share(g->why->kind) && g->found.is_blocked && !g->why->is_never && !g->found.never_fits &&
           g->found.futile != r->m->node_gen && !g->hold && (!g->retry_ms || g->retry_ms == g->found.hunt_ms) &&
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
    ret->asked_ms = evict_asked_ms(g);
    ret->round = m->round;
    ret->again = 0;
    ret->tried = g->found.tried;
    ret->tried_yields = g->found.tried_yields;
    ret->hunted = g->found.hunted;
    ret->hunt_ms = g->found.hunt_ms;
    ret->retry_ms = g->retry_ms;
    ret->is_ahead = false;
    ret->is_stuck = g->found.is_stuck;
    ret->never_preempts = evict_never_preempts(g);
    ret->kind = (int8_t)g->why->kind;
    ret->up = 0;
    ret->wants = 0;
    for (int d = 0; d < m->dims.n; d++)
        ret->wants |= g->demand.v[d] > 0 ? (uint32_t)1 << d : 0;
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
    parked_note(r->m, p);
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

static void check_refused(struct round *r, const struct group_list *groups, struct group_list *ret)
{
    VEC_FOREACH(at, &groups->list)
        if (parked_of((*at)->gang.alike))
            skip_check(r, *at);
        else if (round_can_park(r) && can_be_parked(r, *at))
            *vec_push(r->a, &ret->list) = *at;
}

void skip_end(struct round *r)
{
    struct group_list all = { 0 };

    VEC_FOREACH(at, &r->asked.list) /* what followed may have changed it */
        skip_check(r, *at);
    check_refused(r, &r->stuck, &all);
    check_refused(r, &r->over, &all);
    if (all.list.n)
        qsort(all.list.v, all.list.n, sizeof(*all.list.v), by_queue_and_order);
    for (size_t at = 0; at < all.list.n;)
        park_of_queue(r, &all, &at);
}
