/* hold_order.c - places that are kept for others: who must respect them, and who need not */
#include "sched/round.h"

#include "base/util.h"
#include "sched/queue/share.h"

enum { HOLDS_ASKED = 8 }; /* one by one, to name the one in the way */

static bool gives_way(const struct hold *c, const struct sched_group *g)
{
    return c->group != g && c->group->queue == g->queue && c->group->spec.priority < g->spec.priority;
}

/* Its group cannot be let in before this one, which stood and was promised its room again, has used that up. */
static bool waits_for_promise(const struct sched_model *m, const struct hold *c, const struct sched_group *g)
{
    if (group_is_admitted(c->group) || !g->since.ready_ms)
        return false;
    for (const struct sched_queue *q = share_common(c->queue, g->queue); q->parent; q = q->parent)
        for (int d = 0; d < m->dims.n; d++)
            if (g->admitted.v[d] > 0 && c->sum.v[d] > 0 && q->admitted.v[d] + c->sum.v[d] > q->limit.v[d])
                return true;
    return false;
}

/* The limit of a queue stops its group, whatever the nodes have: only who would use up that queue leaves the seats. */
static bool is_idle_for(const struct hold *c, const struct sched_group *g)
{
    if (!c->stopper)
        return false;
    for (const struct sched_queue *q = g->queue; q; q = q->parent)
        if (q == c->stopper)
            return false;
    return true;
}

/* Several holds may wait for the same room. Then those that are not let in come after those they wait for, those for
 * which others were evicted have it first, those within their queue's share before those beyond it, and the oldest
 * before the others, or none ever starts. 'is_later': the hold was made after that of the group. */
static bool is_junior(const struct sched_model *m, const struct hold *c, const struct sched_group *g, bool is_over,
                      bool is_later)
{
    bool is_owed = g->hold && g->hold->kind == HOLD_EVICTING;

    if (gives_way(c, g) || waits_for_promise(m, c, g) || is_idle_for(c, g))
        return true;
    if (g->hold && g->hold->kind == HOLD_ADMITTED && c->kind == HOLD_RESERVED)
        return true; /* its room was free; a reservation does not look at what is kept, and came later */
    if (is_owed != (c->kind == HOLD_EVICTING))
        return is_owed;
    if (is_owed) /* each has victims of its own, on other places: what they leave is for whom they left it */
        return false;
    if (c->is_over != is_over)
        return c->is_over;
    return is_later;
}

void hold_order_lift_one(struct round *r, struct hold *c, struct lifted *ret)
{
    if (!c->is_held)
        return;
    hold_lift(r->m, c);
    *vec_push(r->a, &ret->list) = c;
}

/* Is there room beside all that is kept, and is its queue free to give it? Then no hold needs to be lifted. */
static bool needs_no_lift(struct round *r, struct sched_group *g, bool is_over)
{
    struct amounts needs;

    if (list_is_empty(&r->m->kept) && g->spec.priority <= r->lowest_seated)
        return true;
    gang_needs(r->m, g, &r->trial, &needs);
    if (!share_allows(r->m, g->queue, &needs, is_over ? SHARE_LIMIT : SHARE_FAIR, NULL))
        return false;
    return round_would_fit(r, g, FIT_NOW, NULL);
}

void hold_order_lift(struct round *r, struct sched_group *g, bool is_over, struct lifted *ret)
{
    bool is_owed = g->hold && g->hold->kind == HOLD_EVICTING;

    if (is_owed || !needs_no_lift(r, g, is_over)) /* others left their places for it: it goes there, and nowhere else */
        hold_order_lift_all(r, g, is_over, ret);
}

void hold_order_lift_all(struct round *r, const struct sched_group *g, bool is_over, struct lifted *ret)
{
    bool is_later = false;

    LIST_FOREACH(struct hold, c, &r->m->kept, link) {
        is_later |= c->group == g || gives_way(c, g); /* it stands where the first that gives way to it stands */
        if (c->group != g && is_junior(r->m, c, g, is_over, is_later))
            hold_order_lift_one(r, c, ret);
    }
    if (g->spec.priority <= r->lowest_seated) /* these give way to nothing else, and may be many */
        return;
    LIST_FOREACH(struct hold, c, &r->m->seated, link)
        if (gives_way(c, g))
            hold_order_lift_one(r, c, ret);
}

void hold_order_put_back(struct round *r, struct lifted *l)
{
    VEC_FOREACH(c, &l->list)
        hold_put_back(r->m, *c);
    l->list.n = 0;
}

bool hold_order_lift_until(struct round *r, int64_t end_ms, struct lifted *ret)
{
    LIST_FOREACH(struct hold, c, &r->m->kept, link)
        if (c->kind == HOLD_RESERVED && c->free_ms && end_ms <= c->free_ms)
            hold_order_lift_one(r, c, ret);
    return ret->list.n > 0;
}

/* ---- who ends before they are needed ---- */

/* Claims that it need not respect if it says how long it runs. */
static uint32_t count_until(const struct round *r, const struct sched_group *g)
{
    uint32_t n = 0;

    LIST_FOREACH(struct hold, c, &r->m->kept, link)
        n += g->spec.runtime_ms && c->kind == HOLD_RESERVED && c->free_ms &&
             r->now_ms + g->spec.runtime_ms <= c->free_ms;
    return n;
}

static bool fits_beside(struct round *r, struct sched_group *g, enum gang_limit limit)
{
    struct lifted lifted = { 0 };
    bool is_fit;

    arena_reset(&r->trial);
    hold_order_lift(r, g, limit == GANG_LIMIT, &lifted);
    is_fit = hold_order_lift_until(r, r->now_ms + g->spec.runtime_ms, &lifted) && round_would_fit(r, g, FIT_NOW, NULL);
    hold_order_put_back(r, &lifted);
    group_forget_seats(g);
    return is_fit;
}

/* The first, by order, that need not respect more than so many. */
static struct sched_group *first_beyond(const struct round *r, const struct gang_class *c, uint32_t n)
{
    struct sched_group *best = NULL;

    for (size_t i = 0; i < c->by_runtime.n; i++) {
        struct sched_group *g = HEAP_ITEM(c->by_runtime.v[i], struct sched_group, gang.by_runtime);

        if (count_until(r, g) > n && (!best || order_cmp(g, best) < 0))
            best = g;
    }
    return best;
}

struct sched_group *hold_order_beside(struct round *r, const struct gang_class *c, enum gang_limit limit)
{
    const struct sched_group *first = gang_class_first(c);
    struct sched_group *g;
    uint32_t n;

    if ((first->why->kind != WHY_NO_ROOM && first->why->kind != WHY_HELD) || first->queue->is_fifo ||
        list_is_empty(&r->m->kept))
        return NULL;
    g = gang_class_shortest(c);
    n = count_until(r, first);
    if (!g || count_until(r, g) <= n || !fits_beside(r, g, limit)) /* where the shortest does not fit none does */
        return NULL;
    do {
        g = first_beyond(r, c, n);
        n = count_until(r, g);
    } while (!fits_beside(r, g, limit) && n < count_until(r, gang_class_shortest(c)));
    return g->found.tried == r->m->room_gen ? NULL : g;
}

/* Lifted one after another, in the order they were made: the one that makes the difference. */
const struct hold *hold_order_in_the_way(struct round *r, struct sched_group *g)
{
    struct gang_options opt = { .room = FIT_NOW, .is_virtual = true, .is_unkept = true };
    const struct hold *found = NULL;
    struct lifted lifted = { 0 };
    int left = HOLDS_ASKED;

    if (list_is_empty(&r->m->kept) || gang_prefilter(r->m, g, &opt, &r->trial, NULL) == GANG_REFUSED)
        return NULL;
    LIST_FOREACH(struct hold, c, &r->m->kept, link) {
        if (found || !c->is_held) /* those that give way to it are lifted already */
            continue;
        hold_order_lift_one(r, c, &lifted);
        if (left-- > 0 && round_would_fit(r, g, FIT_NOW, NULL))
            found = c;
    }
    if (!found && left < 0 && round_would_fit(r, g, FIT_NOW, NULL)) /* one of many */
        found = lifted.list.v[0];
    hold_order_put_back(r, &lifted);
    return found;
}

void hold_order_withdraw(struct round *r, const struct sched_group *g)
{
    if (g->spec.priority <= r->lowest_seated)
        return;
    LIST_FOREACH(struct hold, c, &r->m->seated, link) {
        struct sched_group *o = c->group;

        if (!gives_way(c, g) || hold_is_free(r->m, c))
            continue;
        round_drop_hold(r, o);
        round_touch(r, o);
        if (group_placed(o) == 0 && o->status.phase == GROUP_INQUEUE) {
            o->status.phase = GROUP_PENDING;
            o->since.admitted_ms = 0;
            model_set_admitted(r->m, o, &(struct amounts){ { 0 } });
            gang_class_sort(r->m, o);
        }
    }
}
