/* reserve.c - room that is not there yet: evictions, reservations, promises that ran out
 *
 * After everybody was asked, some wait. For each of them, the first that applies:
 *
 *     evict       it fits once victims leave: pods of a lower priority in its queue, or of queues above their share
 *                 (evict.h). Its places are held until the victims have left; each eviction names the group it is for
 *     reserve     it has waited for long, or was broken: the places it would have if nothing else came are held, one
 *                 group of each queue at a time, so that small jobs that keep coming cannot starve it
 *     expire      it was admitted and got no place: the promise is taken back when another group could use it, or when
 *                 its pods have not been made for five minutes
 *
 * A search for victims walks all pods that run, so few groups may have one in a round, none that cannot succeed
 * (is_worth), and none twice for the same room and the same needs (hunt, likeness).
 */
#include "sched/round.h"

#include "base/util.h"
#include "sched/evict/evict.h"
#include "sched/queue/share.h"
#include "sched/skip.h"

enum { EVICTIONS_A_ROUND = 16 }; /* groups for which victims are looked for */

/* ---- evictions ---- */

static void evict_one(struct round *r, struct sched_pod *p, const struct sched_group *for_whom, const char *reason)
{
    struct decision *d = round_decide(r, DECIDE_EVICT, p->namespace, p->name, p->uid);
    bool was_whole;

    d->reason = str_of(reason);
    d->other = for_whom ? arena_str(r->a, for_whom->key) : STR_NULL;
    d->node = p->node ? arena_str(r->a, p->node->name) : STR_NULL;
    p->is_victim = true;
    was_whole = group_is_whole(p->group);
    model_set_pod(r->m, p, POD_GOING, p->node);
    p->group->stops += was_whole && !group_is_whole(p->group);
    round_touch(r, p->group);
    r->out->n_evicted++;
}

static void nominate(struct round *r, const struct trial *t)
{
    VEC_FOREACH(s, &t->seats) {
        if (!s->pod || s->pod->nominated == s->node)
            continue;
        model_nominate(r->m, s->pod, s->node);
        round_decide(r, DECIDE_NOMINATE, s->pod->namespace, s->pod->name, s->pod->uid)->node = arena_str(r->a,
                                                                                                         s->node->name);
    }
}

/* By index, not as they came: that may be another order for another scheduler. */
static struct sched_pod *unpromised(const struct sched_role *role)
{
    struct sched_pod *first = NULL;

    LIST_FOREACH(struct sched_pod, p, &role->pods[POD_PENDING], in_role)
        if (!p->nominated && !p->is_gated && (!first || p->index < first->index))
            first = p;
    return first;
}

/* How many seats of the role on the node belong to a pod already. */
static uint32_t n_promised(const struct sched_role *role, const struct sched_node *node)
{
    uint32_t n = 0;

    LIST_FOREACH(struct sched_pod, p, &role->pods[POD_PENDING], in_role)
        n += p->nominated == node;
    return n;
}

/* Victims may have been found for a group before its pods were made: each is promised a seat when it is there. */
void round_promise(struct round *r, struct sched_group *g)
{
    const struct hold *h = g->hold;
    uint32_t n_same;

    if (!hold_has_victims(h))
        return;
    for (uint32_t i = 0; i < h->n; i += n_same) {
        const struct hold_seat *s = &h->seats[i];
        uint32_t taken;

        for (n_same = 1; i + n_same < h->n && s[n_same].role == s->role && s[n_same].node == s->node;)
            n_same++;
        if (!unpromised(s->role))
            continue;
        for (taken = n_promised(s->role, s->node); taken < n_same; taken++) {
            struct sched_pod *p = unpromised(s->role);

            if (!p)
                break;
            model_nominate(r->m, p, s->node);
            round_decide(r, DECIDE_NOMINATE, p->namespace, p->name, p->uid)->node = arena_str(r->a, s->node->name);
        }
    }
}

/* The seats are held before the victims leave, so that no other group takes the room. */
static void carry_out(struct round *r, struct sched_group *g, struct eviction *e, const char *reason)
{
    uint64_t room = r->m->room_gen;

    nominate(r, &e->trial);
    (void)hold_new(r->m, &e->trial, HOLD_EVICTING);
    VEC_FOREACH(p, &e->victims.list)
        evict_one(r, *p, g, reason);
    r->m->room_gen = room; /* nothing is free yet */
    group_say(g, &(struct why){ .kind = WHY_EVICTING, .dim = -1, .have = (int64_t)e->victims.list.n });
    g->found.tried = room;
    round_touch(r, g);
}

bool evict_never_preempts(const struct sched_group *g)
{
    if (g->spec.never_preempts)
        return true;
    VEC_FOREACH(r, &g->roles) {
        const struct sched_pod *p = LIST_FIRST(&(*r)->pods[POD_PENDING], struct sched_pod, in_role);

        if (p && p->never_preempts)
            return true;
    }
    return false;
}

static bool evict_for(struct round *r, struct sched_group *g, bool may_reclaim)
{
    const struct sched_config *c = &r->m->config;
    struct eviction e = { 0 };
    struct lifted lifted = { 0 };
    const char *reason = NULL;

    arena_reset(&r->trial);
    if (g->hold) /* what is kept for it is free to it; carry_out() ends this hold */
        hold_lift(r->m, g->hold);
    hold_order_lift(r, g, false, &lifted);
    if (c->preempts && !evict_never_preempts(g) && evict_plan(r->m, g, EVICT_PREEMPT, &r->trial, &e))
        reason = "preempt";
    else if (c->reclaims && may_reclaim && !e.is_early && evict_plan(r->m, g, EVICT_RECLAIM, &r->trial, &e))
        reason = "reclaim";
    hold_order_put_back(r, &lifted);
    if (reason) {
        carry_out(r, g, &e, reason);
        return true;
    }
    if (g->hold)
        hold_put_back(r->m, g->hold);
    g->found.hunt_ms = e.wake_ms;
    if (e.wake_ms) /* when a pod is old enough to be a victim */
        round_retry(r, g, e.wake_ms);
    return false;
}

static bool evict_inside(struct round *r, struct sched_group *g)
{
    struct eviction e;

    arena_reset(&r->trial);
    if (!r->m->config.preempts || g->hold || !evict_within(r->m, g, &r->trial, &e))
        return false;
    carry_out(r, g, &e, "preempt");
    return true;
}

/* When we stop keeping places for missing pods; 0: none is missing, or the controller was not asked for them yet. */
static int64_t pods_due_ms(const struct round *r, const struct sched_group *g)
{
    if (!g->since.lacking_ms || !group_is_admitted(g))
        return 0;
    return MAX_OF(g->since.lacking_ms, g->since.admitted_ms) + r->m->config.admission_ms;
}

bool round_has_given_up(const struct round *r, const struct sched_group *g)
{
    int64_t due_ms = pods_due_ms(r, g);

    return due_ms && r->now_ms >= due_ms;
}

/* Its own queue may have so much, and one above it is full: queues below that one have what belongs to this group. The
 * search for victims tests the queues in between, with the victims taken away. */
static bool is_within_share(struct round *r, const struct sched_group *g)
{
    const struct sched_queue *q = g->queue;
    struct amounts needs;

    gang_needs(r->m, g, &r->trial, &needs);
    for (int d = 0; d < r->m->dims.n; d++)
        if (needs.v[d] > 0 && q->allocated.v[d] + q->going.v[d] + needs.v[d] > q->fair.v[d])
            return false;
    return true;
}

/* ---- who hunts ---- */

struct hunts { /* of one round */
    int left;
    VEC(uint64_t) failed; /* likeness of groups that found no victims */
};

static uint64_t reserve_mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
}

/* Groups of one queue that are alike in this find the same victims, or none. */
static uint64_t likeness(const struct sched_group *g, bool may_reclaim)
{
    uint64_t h = reserve_mix((uint64_t)(uintptr_t)g->queue,
                             (uint64_t)(uint32_t)g->spec.priority * 4 + 2 * may_reclaim + g->is_whole);

    if (g->spec.topology || g->spec.subgroups || g->hold || g->is_whole)
        return reserve_mix(h, (uint64_t)(uintptr_t)g);
    h = reserve_mix(h, (uint64_t)(group_min(g) - group_ready(g)));
    VEC_FOREACH(r, &g->roles) {
        const struct sched_pod *p = LIST_FIRST(&(*r)->pods[POD_PENDING], struct sched_pod, in_role);

        h = reserve_mix(h, (uint64_t)(uintptr_t)(p ? p->class : (*r)->class));
        h = reserve_mix(h, reserve_mix((uint64_t)((*r)->min - role_ready(*r)), (*r)->n[POD_PENDING]));
    }
    return h;
}

static bool reserve_has_failed(const struct hunts *h, uint64_t like)
{
    VEC_FOREACH(f, &h->failed)
        if (*f == like)
            return true;
    return false;
}

/* No: it takes nobody's turn. */
static bool is_worth(struct round *r, struct sched_group *g, bool may_reclaim)
{
    const struct sched_config *c = &r->m->config;
    struct amounts needs;

    if (g->is_whole)
        return true;
    gang_needs(r->m, g, &r->trial, &needs);
    g->found.hunt_ms = 0;
    if ((c->preempts && !evict_never_preempts(g) &&
         evict_is_worth(r->m, g, EVICT_PREEMPT, &needs, &g->found.hunt_ms)) ||
        (c->reclaims && may_reclaim && evict_is_worth(r->m, g, EVICT_RECLAIM, &needs, &g->found.hunt_ms)))
        return true;
    if (g->found.hunt_ms) { /* when a pod is old enough to be a victim */
        g->found.hunted = r->m->room_gen;
        round_retry(r, g, g->found.hunt_ms);
    }
    return false;
}

/* Few groups may look for victims in one round; the next round, which comes at once, serves the others.
 * True: they were found; '*ret_why' is why it waited before. */
static bool hunt(struct round *r, struct hunts *h, struct sched_group *g, bool may_reclaim, struct why *ret_why)
{
    /* It found no victims, and nothing has changed since. Others that had no turn come first. */
    bool has_hunted = g->found.hunted == r->m->room_gen && !(g->found.hunt_ms && g->found.hunt_ms <= r->now_ms);
    uint64_t like;

    if (hold_has_victims(g->hold) || g->found.never_fits || round_has_given_up(r, g))
        return false;
    if (has_hunted) {
        if (g->found.hunt_ms) /* it was asked for another reason in between */
            round_retry(r, g, g->found.hunt_ms);
        return false;
    }
    if (!is_worth(r, g, may_reclaim))
        return false;
    like = likeness(g, may_reclaim);
    if (!reserve_has_failed(h, like)) {
        if (h->left <= 0) {
            round_retry(r, g, r->now_ms + 1);
            return false;
        }
        h->left--;
        g->found.hunt_ms = 0;
        *ret_why = *g->why;
        skip_tell_all(r);
        if (g->is_whole ? evict_inside(r, g) : evict_for(r, g, may_reclaim))
            return true;
        *vec_push(r->a, &h->failed) = like;
    }
    g->found.hunted = r->m->room_gen;
    return false;
}

/* Room is being made for the first of a class: the next was refused as it was, and is as entitled. It comes where it
 * would have come, had it been asked itself. */
static void add_next(struct round *r, struct group_list *all, size_t at, const struct gang_class *c,
                     const struct why *why)
{
    struct sched_group *next = gang_class_first(c);

    if (!next || next->now.is_refused || next->queue->is_fifo) /* was asked; waits for the one before it */
        return;
    group_say(next, why);
    next->now.is_refused = true;
    round_tried(r, next);
    round_touch(r, next);
    for (at++; at < all->list.n; at++)
        if (all->list.v[at]->queue == next->queue && order_cmp(all->list.v[at], next) > 0)
            break;
    (void)vec_push(r->a, &all->list);
    memmove(&all->list.v[at + 1], &all->list.v[at], (all->list.n - 1 - at) * sizeof(struct sched_group *));
    all->list.v[at] = next;
}

/* 'is_over': a queue is full: room for them is in it (D35), or below one above it. */
static void hunt_all(struct round *r, struct hunts *h, struct group_list *all, bool is_over)
{
    for (size_t i = skip_hunt(r, all, 0, is_over); i < all->list.n; i = skip_hunt(r, all, i + 1, is_over)) {
        struct sched_group *g = all->list.v[i];
        struct gang_class *c = gang_leads(g) ? gang_class_pin(g->gang.alike) : NULL;
        struct why why;
        bool has_found = !(is_over && g->is_whole) && hunt(r, h, g, !is_over || is_within_share(r, g), &why);

        while (all->list.v[i] != g) /* others joined the list before it */
            i++;
        if (has_found && c)
            add_next(r, all, i, c, &why);
        gang_class_unpin(r->m, c);
    }
}

void round_evict(struct round *r)
{
    struct hunts h = { .left = EVICTIONS_A_ROUND };

    skip_tell_few(r);
    hunt_all(r, &h, &r->stuck, false);
    hunt_all(r, &h, &r->over, true);
}

/* ---- reservations ---- */

static bool queue_has_hold(const struct sched_model *m, const struct sched_queue *q)
{
    LIST_FOREACH(struct hold, c, &m->kept, link)
        if (c->group->queue == q && c->kind != HOLD_ADMITTED)
            return true;
    return false;
}

static bool reserve_is_due(struct round *r, struct sched_group *g)
{
    int64_t at_ms = g->since.waiting_ms + r->m->config.reserve_after_ms;

    if (r->now_ms >= at_ms)
        return true;
    round_retry(r, g, at_ms);
    return false;
}

/* 'by_nodes': they refused it, not its queue. */
static void reserve(struct round *r, struct sched_group *g, bool by_nodes)
{
    struct gang_options opt = { .room = FIT_EMPTY, .limit = GANG_NO_LIMIT, .is_virtual = true };
    struct trial t = { .m = r->m, .group = g, .arena = &r->trial };
    struct hold *hold;

    arena_reset(&r->trial);
    if (!gang_try(&t, &opt, NULL)) /* others have reserved what it would need */
        return;
    hold = hold_new(r->m, &t, HOLD_RESERVED);
    round_rank_hold(r, hold); /* at once: two that do not know who comes first would wait for each other */
    if (g->found.is_stuck)    /* it has a reservation now, so other jobs may start */
        r->m->yields++;
    if (by_nodes && hold_is_free(r->m, hold) &&
        group_live(g) >= group_min(g)) { /* the nodes refused it, yet all of this is free */
        round_drop_hold(r, g);
        g->found.futile = r->m->node_gen;
    }
    round_touch(r, g);
}

static bool may_reserve(struct round *r, const struct sched_group *g)
{
    uint64_t gen = r->m->node_gen;
    bool is_futile = g->found.futile == gen || (g->gang.alike && g->gang.alike->futile == gen);

    return !g->is_whole && !round_is_hopeless(r, g) && !is_futile && !g->hold && group_knows_its_pods(g);
}

void round_reserve_for(struct round *r, struct sched_group *g)
{
    if (!round_has_given_up(r, g) && may_reserve(r, g))
        reserve(r, g, !why_is_of_queue(g->why->kind));
}

static int reserve_by_service(const void *x, const void *y)
{
    return order_cmp(*(struct sched_group *const *)x, *(struct sched_group *const *)y);
}

static void add_without_hold(struct round *r, const struct group_list *from, struct group_list *to)
{
    VEC_FOREACH(g, &from->list)
        if (!queue_has_hold(r->m, (*g)->queue))
            *vec_push(r->a, &to->list) = *g;
}

/* Mostly the first is the one, and its queue the only one: then the others need no order. */
static void first_to_front(struct group_list *all)
{
    for (size_t i = 1; i < all->list.n; i++)
        if (order_cmp(all->list.v[i], all->list.v[0]) < 0) {
            struct sched_group *first = all->list.v[i];

            all->list.v[i] = all->list.v[0];
            all->list.v[0] = first;
        }
}

static void drop_with_hold(struct round *r, struct group_list *all)
{
    size_t n = 0;

    VEC_FOREACH(g, &all->list)
        if (!queue_has_hold(r->m, (*g)->queue))
            all->list.v[n++] = *g;
    all->list.n = n;
}

static void reserve_in_turn(struct round *r, struct sched_group *g)
{
    if (queue_has_hold(r->m, g->queue) || !may_reserve(r, g) || !reserve_is_due(r, g))
        return;
    skip_note(r->m, g);
    reserve(r, g, !why_is_of_queue(g->why->kind));
}

static bool has_no_hold(const struct sched_model *m, const struct sched_queue *q)
{
    return !queue_has_hold(m, q);
}

static void drop_one(struct group_list *all, const struct sched_group *g)
{
    size_t n = 0;

    VEC_FOREACH(at, &all->list)
        if (*at != g)
            all->list.v[n++] = *at;
    all->list.n = n;
}

/* One gang of each queue: the first of those that wait, for room or for their queue. */
void round_reserve(struct round *r)
{
    struct group_list all = { 0 }, heads = { 0 };

    struct sched_group *first;

    skip_add_first(r, &heads);
    add_without_hold(r, &heads, &all);
    add_without_hold(r, &r->stuck, &all);
    add_without_hold(r, &r->over, &all);
    if (all.list.n == 0)
        return;
    first_to_front(&all);
    first = all.list.v[0];
    reserve_in_turn(r, first);
    if (skip_tell_refused(r, has_no_hold)) { /* the others count, too */
        all = (struct group_list){ 0 };
        add_without_hold(r, &r->stuck, &all);
        add_without_hold(r, &r->over, &all);
    }
    drop_one(&all, first);
    drop_with_hold(r, &all);
    if (all.list.n)
        qsort(all.list.v, all.list.n, sizeof(*all.list.v), reserve_by_service);
    VEC_FOREACH(g, &all.list)
        reserve_in_turn(r, *g);
}

/* It has waited for longer than a reservation takes, and lacks nothing but room. */
static bool is_overlooked(const struct round *r, const struct sched_group *g)
{
    const struct sched_queue *q = g->queue;

    return !g->is_whole && !g->since.ready_ms && g->spec.created_ms > 0 &&
           g->spec.created_ms + r->m->config.reserve_after_ms <= r->now_ms && q->exists && q->is_open &&
           !q->children.n && (group_has_its_pods(g) || (!group_is_admitted(g) && !g->counts.n_gated));
}

/* A scheduler that begins knows no reservations. A group that has waited for long had one: it gets it back before the
 * groups are served that the reservation kept out. */
void round_recover(struct round *r)
{
    struct group_list leaders = { 0 }, old = { 0 };

    gang_leaders(r->m, r->a, &leaders);
    VEC_FOREACH(g, &leaders.list)
        if (is_overlooked(r, *g))
            *vec_push(r->a, &old.list) = *g;
    if (old.list.n)
        qsort(old.list.v, old.list.n, sizeof(*old.list.v), reserve_by_service);
    VEC_FOREACH(it, &old.list) {
        struct sched_group *g = *it;
        struct amounts needs;
        struct why limit;
        bool by_nodes;

        if (queue_has_hold(r->m, g->queue) || !may_reserve(r, g))
            continue;
        arena_reset(&r->trial);
        gang_needs(r->m, g, &r->trial, &needs);
        by_nodes = share_allows(r->m, g->queue, &needs, SHARE_LIMIT, NULL);
        if (round_is_beyond_limits(r->m, g, needs, &limit) || (by_nodes && round_would_fit(r, g, FIT_NOW, NULL)))
            continue;
        reserve(r, g, by_nodes);
    }
}

/* ---- what ran out ---- */

static int reserve_by_name(const void *x, const void *y)
{
    return str_cmp((*(struct sched_pod *const *)x)->name, (*(struct sched_pod *const *)y)->name);
}

/* Members that were bound with a gang that did not come about, and have not started, are let go (D2). */
static void unbind(struct round *r, struct sched_group *g)
{
    int64_t at_ms = g->since.half_ms + r->m->config.unbind_ms;
    VEC(struct sched_pod *) bound = { 0 };

    if (!g->since.half_ms || g->is_whole)
        return;
    if (r->now_ms < at_ms) {
        round_wake(r, at_ms);
        return;
    }
    VEC_FOREACH(role, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*role)->pods[POD_BOUND], in_role)
            *vec_push(r->a, &bound) = p;
    if (bound.n)
        qsort(bound.v, bound.n, sizeof(*bound.v), reserve_by_name);
    VEC_FOREACH(p, &bound)
        evict_one(r, *p, g, "gang");
}

/* Before anything is placed: what the round binds must not be what it lets go. */
void round_unbind(struct round *r)
{
    struct group_list half = { 0 };

    LIST_FOREACH(struct sched_group, g, &r->m->alike->alone, gang.in_alone)
        if (g->since.half_ms)
            *vec_push(r->a, &half.list) = g;
    if (half.list.n)
        qsort(half.list.v, half.list.n, sizeof(*half.list.v), reserve_by_service);
    VEC_FOREACH(g, &half.list)
        unbind(r, *g);
}

/* An admission that led to no place is withdrawn when another group could use it, or when its pods never came (D20,
 * D32): it must not keep others out for ever. After EXPIRES_MOST times the group stays admitted, without a promise, so
 * that its phase does not change for ever. */
static void reserve_expire(struct round *r, struct sched_group *g, bool is_in_the_way)
{
    int64_t at_ms = g->hold ? pods_due_ms(r, g) : g->since.admitted_ms + r->m->config.admission_ms;

    is_in_the_way &= g->expired <= EXPIRES_MOST;
    if (g->status.phase != GROUP_INQUEUE || !g->since.admitted_ms || group_placed(g) > 0 || !at_ms)
        return;
    if (g->is_whole || g->found.never_fits) /* whole by pods that Succeeded: what it has beyond its minimum was
                                             * promised nothing; nor is anything to what never fits */
        return;
    if (!is_in_the_way && !g->hold)
        return;
    if (r->now_ms < at_ms) {
        round_wake(r, at_ms);
        return;
    }
    round_drop_hold(r, g);            /* nothing is kept for pods that do not come */
    round_retry(r, g, r->now_ms + 1); /* it says why it waits, and others may have the places */
    if (!is_in_the_way)
        return;
    gang_class_leave(r->m, g);
    if (g->expired++ < EXPIRES_MOST) {
        g->status.phase = GROUP_PENDING;
        g->since.admitted_ms = 0;
    }
    model_set_admitted(r->m, g, &(struct amounts){ { 0 } });
    gang_class_sort(r->m, g);
    round_touch(r, g);
    r->m->room_gen++; /* for those it kept out */
}

/* Nothing is kept for pods that do not come. What stood is promised its room again only as long: its admission
 * stays. */
static void reserve_give_up(struct round *r, struct sched_group *g)
{
    bool has_hold = g->hold && g->hold->kind != HOLD_ADMITTED;
    bool has_promise = g->since.ready_ms && !amounts_is_zero(&g->admitted, r->m->dims.n);
    int64_t due_ms = pods_due_ms(r, g);

    if (!due_ms || (!has_hold && !has_promise))
        return;
    if (r->now_ms < due_ms) {
        round_wake(r, due_ms);
        return;
    }
    round_retry(r, g, r->now_ms + 1); /* others may have it */
    if (has_hold)
        round_drop_hold(r, g);
    if (has_promise)
        round_drop_promise(r, g);
}

static bool is_kept_out(const struct sched_group *g)
{
    return g->found.is_stuck || (g->found.is_blocked && !group_is_admitted(g));
}

/* Does a group wait for what others have, or were promised? The first that does is enough. */
static bool is_any_kept_out(const struct sched_model *m)
{
    if (!list_is_empty(&m->alike->parked))
        return true;
    LIST_FOREACH(struct gang_class, c, &m->alike->all, link)
        if (heap_count(&c->members) && is_kept_out(gang_class_first(c)))
            return true;
    LIST_FOREACH(struct sched_group, g, &m->alike->alone, gang.in_alone)
        if (is_kept_out(g))
            return true;
    return false;
}

void round_expire(struct round *r)
{
    bool is_blocking = is_any_kept_out(r->m);
    struct sched_group *oldest;

    LIST_FOREACH(struct sched_group, g, &r->m->alike->alone, gang.in_alone) {
        reserve_expire(r, g, is_blocking);
        reserve_give_up(r, g);
    }
    while (is_blocking && (oldest = gang_class_oldest_on_credit(r->m))) {
        reserve_expire(r, oldest, true);
        if (oldest == gang_class_oldest_on_credit(r->m)) /* it is not time yet, not for the others either */
            break;
    }
}
