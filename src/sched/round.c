/* round.c - one scheduling round: which groups are looked at, in which order
 *
 * A round turns what has changed since the last one into decisions. Its parts, in order (sched_round_run):
 *
 *     what changed groups that something happened to, nodes that came or went, queues with another parent; shares anew
 *     holds           places kept for a group or on a node that does not exist now are given up
 *     within shares   queues take turns, the one furthest below its share first; in each the group that comes first
 *                     (round.h says which). A group is tried once: it gets places for its whole minimum, or a reason
 *     beyond shares groups that only their queue's share kept out, unless an entitled group waits for the same
 *     room to come victims for those who may have some, places kept for those who have waited long, promises that led
 *                     to nothing taken back (evict.h, hold.h)
 *     statuses        phases, conditions and Events of the groups that something happened to
 *
 * Room that is given back during a round is for the next one, so each part sees only less than the one before, and the
 * order of service is the order of the heaps. Gangs that are alike are one entry (gang_class.h): the first is asked for
 * all of them. Nothing is asked twice for the same room: a refused group remembers the generation of room at which that
 * was, and is passed over until it has grown.
 */
#include "sched/round.h"

#include "base/util.h"
#include "sched/gang/parked.h"
#include "sched/queue/share.h"
#include "sched/skip.h"

struct decision *round_decide(struct round *r, enum decision_kind kind, struct str namespace, struct str name,
                              struct str uid)
{
    struct decision *d = vec_push(r->a, &r->out->list);

    d->kind = kind;
    d->namespace = arena_str(r->a, namespace);
    d->name = arena_str(r->a, name);
    d->uid = arena_str(r->a, uid);
    return d;
}

void round_wake(struct round *r, int64_t ms)
{
    if (ms > 0 && (r->out->wake_ms == 0 || ms < r->out->wake_ms))
        r->out->wake_ms = ms;
}

void round_touch(struct round *r, struct sched_group *g)
{
    if (g->now.is_told)
        return;
    g->now.is_told = true;
    *vec_push(r->a, &r->touched.list) = g;
}

void round_retry(struct round *r, struct sched_group *g, int64_t at_ms)
{
    if (!g->retry_ms || at_ms < g->retry_ms)
        g->retry_ms = at_ms;
    round_wake(r, at_ms);
}

void round_tried(struct round *r, struct sched_group *g)
{
    g->found.tried = r->m->room_gen;
    g->found.tried_yields = r->m->yields;
}

void round_drop_hold(struct round *r, struct sched_group *g)
{
    if (!g->hold)
        return;
    VEC_FOREACH(role, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*role)->pods[POD_PENDING], in_role)
            if (p->nominated) { /* D12: the old plan is void */
                (void)round_decide(r, DECIDE_NOMINATE, p->namespace, p->name, p->uid);
                model_nominate(r->m, p, NULL);
            }
    hold_drop(r->m, g);
    gang_class_sort(r->m, g);
}

void round_drop_promise(struct round *r, struct sched_group *g)
{
    if (amounts_is_zero(&g->admitted, r->m->dims.n))
        return;
    model_set_admitted(r->m, g, &(struct amounts){ { 0 } });
    r->m->room_gen++;
}

void group_people_name(const struct sched_group *g, char *to, size_t size)
{
    struct str name = str_empty(g->spec.owner_job) ? g->name : g->spec.owner_job;

    (void)snprintf(to, size, "%.*s/%.*s", STR_ARG(g->namespace), STR_ARG(name));
}

/* ---- order ---- */

bool group_is_broken(const struct sched_group *g)
{
    return !g->is_whole && g->since.ready_ms && group_ready(g) > 0;
}

static int64_t deadline(const struct sched_group *g)
{
    return g->spec.sla_ms ? g->spec.created_ms + g->spec.sla_ms : INT64_MAX;
}

int order_cmp(const struct sched_group *a, const struct sched_group *b)
{
    int order;

    if (a->spec.priority != b->spec.priority)
        return a->spec.priority > b->spec.priority ? -1 : 1;
    if (group_is_broken(a) != group_is_broken(b))
        return group_is_broken(a) ? -1 : 1;
    if (a->expired != b->expired)
        return a->expired < b->expired ? -1 : 1;
    if (deadline(a) != deadline(b))
        return deadline(a) < deadline(b) ? -1 : 1;
    if (a->is_whole != b->is_whole)
        return a->is_whole ? 1 : -1;
    if (a->share != b->share)
        return a->share < b->share ? -1 : 1;
    if (a->spec.created_ms != b->spec.created_ms)
        return a->spec.created_ms < b->spec.created_ms ? -1 : 1;
    order = str_cmp(a->uid, b->uid);
    return order ? order : str_cmp(a->key, b->key);
}

static int heap_order(const struct heap_node *x, const struct heap_node *y)
{
    return order_cmp(HEAP_ITEM(x, struct sched_group, now.link), HEAP_ITEM(y, struct sched_group, now.link));
}

void round_push(struct round *r, struct sched_group *g)
{
    struct sched_queue *q = g->queue;

    if (heap_has(&g->now.link))
        return;
    g->share = r->m->config.has_drf ? amounts_share(&g->counts.allocated, &r->m->total, r->m->dims.n) : 0;
    if (heap_count(&q->waiting) == 0) {
        heap_done(&q->waiting);
        heap_init(&q->waiting, heap_order);
        *vec_push(r->a, &r->active) = q;
    }
    heap_push(&q->waiting, &g->now.link);
}

/* The queue to be served next; NULL: none has groups left. Queues are few. Their order changes only when pods are
 * bound: until then the turn stays where it is. */
static struct sched_queue *next_queue(struct round *r)
{
    struct sched_queue *best = NULL;
    size_t n = 0;

    if (r->turn && r->turn_bound == r->out->n_bound && (heap_count(&r->turn->waiting) || skip_has_more(r, r->turn)))
        return r->turn;
    for (size_t i = 0; i < r->active.n; i++) {
        struct sched_queue *q = r->active.v[i];

        if (heap_count(&q->waiting) == 0 && !skip_has_more(r, q))
            continue;
        r->active.v[n++] = q;
        if (!best || share_cmp(r->m, q, best) < 0)
            best = q;
    }
    r->active.n = n;
    r->turn = best;
    r->turn_bound = r->out->n_bound;
    return best;
}

/* ---- what changed ---- */

static bool round_is_waiting(const struct sched_group *g)
{
    if (!g->podgroup.exists || g->spec.is_deleting)
        return false;
    if (g->counts.n[POD_PENDING] > g->counts.n_gated || g->counts.n_closed || g->since.half_ms)
        return true;
    return g->status.phase != GROUP_COMPLETED && (!group_is_admitted(g) || !g->is_whole);
}

/* What it would take if it could: pods that wait, and pods to come. */
static void demand_of(const struct sched_model *m, const struct sched_group *g, struct amounts *ret)
{
    bool knows = g->counts.n[POD_PENDING] > 0;

    *ret = g->counts.pending;
    VEC_FOREACH(r, &g->roles) {
        int64_t to_come = role_to_come(*r);

        if (to_come > 0)
            amounts_add_times(ret, &(*r)->class->ask, to_come, m->dims.n);
        knows |= (*r)->class != NULL;
    }
    if (knows || !g->spec.has_min_resources)
        return;
    for (int d = 0; d < m->dims.n; d++)
        ret->v[d] = MAX_OF(g->spec.min_resources.v[d] - g->counts.allocated.v[d], 0);
}

/* The part of its minimum that it was promised and does not have yet (D30). */
static void promise_of(const struct round *r, const struct sched_group *g, struct amounts *ret)
{
    const struct sched_model *m = r->m;

    *ret = (struct amounts){ { 0 } };
    if (!group_is_admitted(g) || g->is_whole || g->status.phase == GROUP_COMPLETED || g->expired > EXPIRES_MOST)
        return;
    if (g->found.never_fits || g->why->is_never || g->why->kind == WHY_GUARANTEE ||
        (g->since.ready_ms && round_has_given_up(r, g)) ||
        (g->counts.n_gated > g->counts.n_closed + g->counts.n_opening && !group_has_its_pods(g)))
        return; /* it cannot use it */
    for (int d = 0; g->spec.has_min_resources && d < m->dims.n; d++)
        ret->v[d] = MAX_OF(g->spec.min_resources.v[d] - g->counts.allocated.v[d], 0);
}

/* By its pods or its phase, also when that was before we were here. */
static bool has_stood(const struct sched_group *g)
{
    if (g->is_whole)
        return group_ready(g) > 0;
    return g->counts.n[POD_RUNNING] || g->counts.n[POD_SUCCEEDED] || g->status.phase == GROUP_RUNNING ||
           g->status.phase == GROUP_UNKNOWN;
}

/* The hold must match what the group lacks: less does not help it, more blocks others. */
static bool hold_is_stale(const struct sched_group *g)
{
    int64_t lacks = group_min(g) - group_ready(g);

    if (!g->podgroup.exists || g->spec.is_deleting || g->found.never_fits ||
        (g->is_whole && g->hold->kind != HOLD_EVICTING))
        return true;
    return !g->is_whole && (lacks > g->hold->n || (lacks < g->hold->n && g->hold->kind == HOLD_RESERVED));
}

static void refresh(struct round *r, struct sched_group *g)
{
    struct sched_model *m = r->m;
    struct amounts demand = { { 0 } }, promise;
    const uint32_t *n = g->counts.n; /* a binding that the API server has not reported yet does not count as bound */
    bool is_half = n[POD_BOUND] && n[POD_BOUND] < group_min(g) && !n[POD_RUNNING] && !n[POD_SUCCEEDED] &&
                   !g->counts.n_gone;

    skip_note(m, g);
    g->is_whole = group_is_whole(g);
    if (has_stood(g))
        g->since.ready_ms = r->now_ms;
    g->since.half_ms = !is_half ? 0 : g->since.half_ms ? g->since.half_ms : r->now_ms;
    g->since.lacking_ms = group_has_its_pods(g) ? 0 : g->since.lacking_ms ? g->since.lacking_ms : r->now_ms;
    if (round_is_waiting(g)) {
        if (!list_is_linked(&g->in_waiting))
            list_push(&m->waiting, &g->in_waiting);
        round_find_never(r, g);
        if (g->found.never_fits || group_live(g) < group_min(g))
            round_unstick(r, g);
        /* What never runs must not count as a request: others would leave room for something that never comes. */
        if (!g->found.never_fits && g->queue->exists && g->queue->is_open)
            demand_of(m, g, &demand);
    } else {
        list_remove(&g->in_waiting);
        round_unstick(r, g);
        round_drop_hold(r, g);
        if (!g->is_whole && !amounts_is_zero(&g->admitted, m->dims.n))
            m->room_gen++; /* what was promised to it is free for others */
        g->since.waiting_ms = 0;
        group_say(g, &why_none);
    }
    if (group_is_admitted(g) && !g->since.admitted_ms)
        g->since.admitted_ms = r->now_ms;
    if (g->hold && hold_is_stale(g))
        round_drop_hold(r, g);
    promise_of(r, g, &promise);
    model_set_demand(m, g, &demand);
    model_set_admitted(m, g, &promise);
    g->found.tried = g->found.hunted = 0;
    g->retry_ms = 0;
    gang_class_sort(m, g);
}

static void take_dirty(struct round *r)
{
    struct list_link *link;

    while ((link = list_pop_front(&r->m->dirty))) {
        struct sched_group *g = LIST_ITEM(link, struct sched_group, in_dirty);

        g->is_dirty = false;
        refresh(r, g);
        round_touch(r, g);
        if (g->gang.alike) /* it is new or has changed: it gets its reason, also behind others */
            *vec_push(r->a, &r->fresh.list) = g;
    }
}

/* Other nodes: what could never fit may fit now, and asks for its share again. */
static void note_node_changes(struct round *r)
{
    if (r->m->seen_node_gen == r->m->node_gen)
        return;
    r->m->seen_node_gen = r->m->node_gen;
    LIST_FOREACH(struct sched_group, g, &r->m->waiting, in_waiting)
        refresh(r, g);
}

/* Others have their share, and with so much more this queue (or one above) would have more than its own. */
static bool is_beyond_share(const struct sched_model *m, const struct sched_queue *q, const struct amounts *sum)
{
    for (; q->parent; q = q->parent)
        for (int d = 0; d < m->dims.n; d++)
            if (sum->v[d] > 0 && q->fair.v[d] < q->limit.v[d] &&
                q->allocated.v[d] + q->going.v[d] + sum->v[d] > q->fair.v[d])
                return true;
    return false;
}

/* Limits may have come down since. */
static bool is_beyond_limit(const struct sched_model *m, const struct hold *c)
{
    for (const struct sched_queue *q = c->queue; q->parent; q = q->parent)
        if (amounts_lacking(&q->limit, &c->sum, m->dims.n) >= 0)
            return true;
    return false;
}

static void drop_invalid(struct round *r, struct hold *c)
{
    round_touch(r, c->group);
    c->group->found.tried = 0;
    round_drop_hold(r, c->group);
}

/* Its group could not start though all its seats were free: the limit of a queue stops it. */
static void find_stopper(struct round *r, struct hold *c)
{
    const struct sched_queue *before = c->stopper;
    struct share_lack lack = { 0 };

    hold_lift(r->m, c);
    c->stopper = share_allows(r->m, c->queue, &c->sum, SHARE_LIMIT, &lack) || !lack.queue->parent ? NULL : lack.queue;
    hold_put_back(r->m, c);
    if (c->stopper && !before)
        r->m->room_gen++; /* for those that it kept out */
}

void round_rank_hold(struct round *r, struct hold *c)
{
    c->is_over = is_beyond_share(r->m, c->queue, &c->sum);
    find_stopper(r, c);
}

static void check_holds(struct round *r)
{
    r->lowest_seated = r->lowest_on_credit = INT32_MAX;
    LIST_FOREACH(struct hold, c, &r->m->seated, link) {
        if (hold_is_valid(r->m, c) && !is_beyond_limit(r->m, c))
            r->lowest_seated = MIN_OF(r->lowest_seated, c->group->spec.priority);
        else
            drop_invalid(r, c);
    }
    LIST_FOREACH(struct hold, c, &r->m->kept, link) {
        if (!hold_is_valid(r->m, c) || is_beyond_limit(r->m, c))
            drop_invalid(r, c);
        else if (c->kind == HOLD_RESERVED)
            round_rank_hold(r, c);
    }
}

/* A group that found no place is asked again only when the nodes or its queue have more room than then. */
static void push_again(struct round *r, struct sched_group *g)
{
    bool has_more_room = g->found.tried != r->room ||
                         (why_is_of_queue(g->why->kind) && g->found.tried_yields != r->yields);
    bool is_time = g->retry_ms && g->retry_ms <= r->now_ms;

    if (g->retry_ms && !is_time)
        round_wake(r, g->retry_ms);
    if (!has_more_room && !is_time && !g->queue->is_fifo)
        return; /* fifo: no group overtakes one that was not asked again */
    g->retry_ms = 0;
    round_push(r, g);
}

/* The answer of the first of a class holds for all, so the others need not be asked for a decision. They are asked for
 * their reasons: all while they are few, of many some in each round, and more when there is nothing else to do. */
static void push_behind(struct round *r)
{
    struct gang_classes *all = r->m->alike;
    const struct sched_config *c = &r->m->config;
    uint32_t most = (uint32_t)c->retell, n = all->n_members;

    if (n > most) {
        n = !c->retell_ms ? 0 : r->is_quiet ? most : most / 8;
        if (c->retell_ms && !gang_classes_are_told(r->m))
            round_wake(r, r->now_ms + c->retell_ms);
    }
    for (; n > 0; n--) {
        struct sched_group *g = gang_class_next_behind(r->m);

        if (!gang_leads(g) || !parked_of(g->gang.alike)) /* that one has its turn as it is */
            push_again(r, g);
    }
    VEC_FOREACH(g, &r->fresh.list)
        push_again(r, *g);
}

static void push_waiting(struct round *r)
{
    struct group_list leaders = { 0 };

    r->room = r->m->room_gen;
    r->yields = r->m->yields;
    skip_begin(r);
    gang_leaders(r->m, r->a, &leaders);
    VEC_FOREACH(at, &leaders.list) {
        struct sched_group *g = *at;

        if (g->status.phase == GROUP_INQUEUE && !g->hold && group_placed(g) == 0)
            r->lowest_on_credit = MIN_OF(r->lowest_on_credit, g->spec.priority);
        push_again(r, g);
    }
    push_behind(r);
}

static bool is_kept_waiting(const struct sched_group *g)
{
    switch (g->why->kind) {
    case WHY_CAPABILITY:
    case WHY_GUARANTEE:
    case WHY_FAIR_SHARE:
    case WHY_QUEUE_RESERVED:
    case WHY_NO_ROOM:
    case WHY_HELD:
    case WHY_NEVER_FITS:
    case WHY_TOPOLOGY:
    case WHY_EVICTING:
        return true;
    default: /* a group without pods keeps no other waiting */
        return false;
    }
}

/* It waits for others before it, not for room: meanwhile it has no hold, and no group leaves it room. */
static void put_behind(struct round *r, struct sched_group *g, const struct sched_group *first)
{
    struct why why = { .kind = WHY_ORDER, .dim = -1 };

    group_people_name(first, why.other, sizeof(why.other));
    (void)snprintf(why.queue, sizeof(why.queue), "%.*s", STR_ARG(g->queue->name));
    round_drop_hold(r, g);
    round_unstick(r, g);
    group_say(g, &why);
    round_tried(r, g);
    round_touch(r, g);
}

/* fifo: no group behind the first that waits is served (D24), except groups that others were evicted for, and groups
 * that can never run, which get that as their reason. */
static void hold_back(struct round *r, struct sched_queue *q, const struct sched_group *first, enum gang_limit limit)
{
    struct heap_node *node;

    while ((node = heap_pop(&q->waiting))) {
        struct sched_group *g = HEAP_ITEM(node, struct sched_group, now.link);

        if (g->is_whole)
            continue;
        if (g->found.never_fits || (g->hold && g->hold->kind == HOLD_EVICTING))
            round_attempt(r, g, limit);
        else
            put_behind(r, g, first);
    }
}

/* One of a class was served. If its first was let in it is the turn of the next. If not, a shorter one may end before
 * the seats are needed that are kept for others, which the first does not (D22). */
static void push_next(struct round *r, struct gang_class *c, const struct sched_group *served, bool has_led,
                      enum gang_limit limit)
{
    struct sched_group *first = gang_class_first(c), *next;

    if (first && has_led && first != served && limit == GANG_LIMIT && why_is_of_queue(first->why->kind))
        round_push(r, first); /* whenever it was asked: no group overtakes it */
    else if (first && has_led && first != served)
        push_again(r, first);
    else if (first && (has_led || served->gang.alike != c) && (next = hold_order_beside(r, c, limit)))
        round_push(r, next);
}

/* The next of the queue to be asked; NULL: the rest were passed over. */
static struct sched_group *next_group(struct round *r, struct sched_queue *q, enum gang_limit limit,
                                      bool *ret_was_parked)
{
    struct heap_node *node = heap_first(&q->waiting);
    struct sched_group *first = node ? HEAP_ITEM(node, struct sched_group, now.link) : NULL;
    struct sched_group *parked = skip_next(r, q, first, limit);

    *ret_was_parked = parked != NULL;
    if (parked || !first)
        return parked;
    (void)heap_pop(&q->waiting);
    return first;
}

/* Room that was given back during the round is for the next one, which asks the refused groups again. */
static void round_serve(struct round *r, enum gang_limit limit)
{
    struct sched_queue *q;

    r->turn = NULL; /* other queues have groups now */
    while ((q = next_queue(r))) {
        struct sched_group *g;
        struct gang_class *c;
        bool has_led, was_parked;

        if (!(g = next_group(r, q, limit, &was_parked)))
            continue;
        c = gang_class_pin(g->gang.alike);
        has_led = gang_leads(g);
        round_attempt(r, g, limit);
        if (was_parked)
            skip_asked(r, g);
        r->out->n_groups++;
        if (c)
            push_next(r, c, g, has_led, limit);
        gang_class_unpin(r->m, c);
        if (!q->is_fifo || g->is_whole || !is_kept_waiting(g))
            continue;
        if (round_is_hopeless(r, g))
            round_pass(g);
        else
            hold_back(r, q, g, limit);
    }
}

/* For each resource (the last: any at all): whose groups are entitled to more of it and wait. */
struct round_wanted {
    const struct sched_model *m;
    const struct sched_queue *by[AMOUNT_DIMS + 1];
    bool by_several[AMOUNT_DIMS + 1];
};

static void add_wanted(void *ctx, const struct sched_queue *q, int dim, const struct amounts *needs)
{
    struct round_wanted *w = ctx;
    int at = dim < 0 ? AMOUNT_DIMS : dim;

    if (w->by_several[at] || w->by[at] == q)
        return;
    if (is_beyond_share(w->m, q, needs)) /* shares have changed since it was asked */
        return;
    w->by_several[at] |= w->by[at] && w->by[at] != q;
    w->by[at] = q;
}

static void find_wanted(const struct round *r, struct round_wanted *ret)
{
    struct group_list leaders = { 0 };

    *ret = (struct round_wanted){ .m = r->m };
    gang_leaders(r->m, r->a, &leaders);
    VEC_FOREACH(it, &leaders.list) {
        const struct sched_group *g = *it;

        if (g->found.is_stuck && !g->hold &&
            g->found.futile != r->m->node_gen) /* with places kept it needs no such help */
            add_wanted(ret, g->queue, g->why->dim, &g->why->needs);
    }
    skip_each_wanted(r, add_wanted, ret);
}

static bool hold_order_want(const struct round_wanted *w, int at, const struct sched_queue *q)
{
    return w->by_several[at] || (w->by[at] && w->by[at] != q);
}

/* Does an entitled group of another queue wait for what a group of this queue wants? Then it may not have more than its
 * queue's share: the room must gather. */
static bool round_is_wanted(const void *ctx, const struct sched_queue *q, uint32_t dims)
{
    const struct round_wanted *w = ctx;

    for (; dims; dims &= dims - 1)
        if (hold_order_want(w, __builtin_ctz(dims), q))
            return true;
    return hold_order_want(w, AMOUNT_DIMS, q);
}

static void mark_over(const struct group_list *over, const struct skip_runs *passed, bool is_over)
{
    VEC_FOREACH(g, &over->list)
        (*g)->queue->is_over = is_over;
    VEC_FOREACH(run, &passed->list)
        run->queue->is_over = is_over;
}

/* Groups of the same queues that were refused before and not asked again in this round: no group overtakes them. */
static void add_others_beyond(struct round *r, struct group_list *over)
{
    struct group_list leaders = { 0 };

    gang_leaders(r->m, r->a, &leaders);
    VEC_FOREACH(it, &leaders.list) {
        struct sched_group *g = *it;

        if (g->queue->is_over && !g->now.is_refused && !g->is_whole && why_is_of_queue(g->why->kind))
            *vec_push(r->a, &over->list) = g;
    }
}

static void serve_one_over(struct round *r, const struct round_wanted *w, struct sched_group *g)
{
    uint32_t dims = 0;

    for (int d = 0; d < r->m->dims.n; d++)
        dims |= g->demand.v[d] > 0 ? (uint32_t)1 << d : 0;
    if (round_is_wanted(w, g->queue, dims))
        *vec_push(r->a, &r->over.list) = g;
    else
        round_push(r, g);
}

static void serve_over(struct round *r)
{
    struct group_list over = r->over;
    struct skip_runs passed = r->skipped_over;
    struct round_wanted wanted;
    size_t n = over.list.n, at = 0;

    if (n == 0 && passed.list.n == 0)
        return;
    mark_over(&over, &passed, true);
    add_others_beyond(r, &over);
    find_wanted(r, &wanted);
    r->over = (struct group_list){ 0 };
    r->skipped_over = (struct skip_runs){ 0 };
    VEC_FOREACH(run, &passed.list) {
        for (; at < run->at; at++)
            serve_one_over(r, &wanted, over.list.v[at]);
        skip_serve_over(r, run, round_is_wanted, &wanted);
    }
    for (; at < n; at++)
        serve_one_over(r, &wanted, over.list.v[at]);
    r->others_from = r->over.list.n;
    for (; at < over.list.n; at++)
        serve_one_over(r, &wanted, over.list.v[at]);
    r->others_to = r->over.list.n;
    skip_serve_others(r, round_is_wanted, &wanted);
    mark_over(&over, &passed, false);
    round_serve(r, GANG_LIMIT);
}

/* One that came first in its class when it was too late to ask it: its places were kept, or it was withdrawn. */
static void wake_for_leaders(struct round *r)
{
    LIST_FOREACH(struct gang_class, c, &r->m->alike->all, link)
        if (heap_count(&c->members) && gang_class_first(c)->found.tried < r->room)
            round_wake(r, r->now_ms + 1);
}

/* Holds are lifted along the old parents, and put back along the new ones. */
static void relink_queues(struct round *r)
{
    struct list *lists[] = { &r->m->kept, &r->m->seated };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        LIST_FOREACH(struct hold, c, lists[i], link)
            hold_lift(r->m, c);
    share_link(r->m);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        LIST_FOREACH(struct hold, c, lists[i], link)
            hold_put_back(r->m, c);
}

void sched_round_run(struct sched_model *m, int64_t now_ms, struct sched_round *ret)
{
    struct round r = { .m = m, .out = ret, .a = &ret->arena, .now_ms = now_ms };

    m->round++;
    m->round_ms = now_ms;
    r.is_quiet = list_is_empty(&m->dirty) && m->room_gen == m->seen_room_gen;
    if (class_relabel(m))
        gang_class_sort_all(m);
    model_order(m);
    usable_update(m);
    take_dirty(&r);
    note_node_changes(&r);
    if (m->queues_changed)
        relink_queues(&r);
    share_update(m);
    check_holds(&r);
    round_unbind(&r);
    push_waiting(&r);
    if (!m->has_placed)
        round_recover(&r);
    round_serve(&r, GANG_FAIR);
    serve_over(&r);
    round_evict(&r);
    round_reserve(&r);
    round_expire(&r);
    share_update(m);
    round_write_statuses(&r);
    skip_end(&r);
    wake_for_leaders(&r);
    m->seen_room_gen = m->room_gen;
    arena_done(&r.trial);
}
