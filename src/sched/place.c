/* place.c - one group: may it be looked at, is it admitted, where do its pods go?
 *
 * The way of a group through round_attempt():
 *
 *     its queue       is there, open, and a leaf
 *     its pods        are there and not gated, or their templates are known
 *     admission       a group that is Pending becomes Inqueue: its minimum fits into its queue's limits and onto the
 *                     nodes now, or on credit (overcommit) or because it has waited for longer than it said it would
 *                     (sla). Only then does the controller make its pods. A group that was let in on credit and
 *                     runs nothing gives way to a higher priority
 *     places          a trial for the whole minimum, then for what is beyond it (gang.h); places kept for others count
 *                     as taken unless those give way to it (hold_order.c). Kept if the minimum fits, else given back
 *                     whole
 *
 * A refused group says why (why.h). The reason is the first of these that is short, and it is the cause: a limit of the
 * queue is named before the nodes only where the nodes would have had room.
 */
#include "sched/round.h"

#include "base/util.h"
#include "sched/queue/share.h"

static void set_name(char *to, size_t size, struct str name)
{
    (void)snprintf(to, size, "%.*s", STR_ARG(name));
}

/* ---- before anything else (D25, D28, D83) ---- */

static bool queue_is_fine(const struct sched_group *g, struct why *ret)
{
    const struct sched_queue *q = g->queue;

    ret->kind = !q->exists      ? WHY_NO_QUEUE
                : !q->is_open   ? WHY_QUEUE_CLOSED
                : q->children.n ? WHY_QUEUE_HAS_CHILDREN
                                : WHY_NOT;
    set_name(ret->queue, sizeof(ret->queue), q->name);
    return ret->kind == WHY_NOT;
}

static bool has_pods(const struct sched_group *g, struct why *ret)
{
    int64_t live = group_live(g), need = group_min(g);

    ret->have = live;
    ret->need = need;
    if (live < need) {
        bool is_gated = live + g->counts.n_gated >= need;

        ret->kind = g->counts.n_opening ? WHY_NO_PODS_YET
                    : is_gated          ? WHY_GATED
                    : live              ? WHY_NOT_ENOUGH_PODS
                                        : WHY_NO_PODS_YET;
        ret->have = is_gated ? g->counts.n_gated : live;
        return false;
    }
    VEC_FOREACH(r, &g->roles) {
        int64_t of_role = role_ready(*r) + (*r)->n[POD_PENDING] - (*r)->n_gated;

        if (of_role >= (*r)->min)
            continue;
        ret->kind = g->counts.n_opening ? WHY_NO_PODS_YET : WHY_NOT_ENOUGH_OF_ROLE;
        ret->have = of_role;
        ret->need = (*r)->min;
        set_name(ret->role, sizeof(ret->role), (*r)->name);
        return false;
    }
    return true;
}

/* Until when their controller may still be creating them: by the age of the youngest, and by when one was lost. Clocks
 * that do not agree are not believed. */
static int64_t coming_until(const struct round *r, const struct sched_group *g)
{
    int64_t coming_ms = r->m->config.coming_ms;
    bool is_believed = g->since.grown_ms < r->now_ms + coming_ms;

    return MAX_OF(is_believed ? g->since.grown_ms : 0, g->since.lacking_ms) + coming_ms;
}

static bool lacks_pods(struct round *r, struct sched_group *g, struct why *ret)
{
    int64_t until_ms = coming_until(r, g);
    /* Its controller creates them, deletes them, or wants no more of them: that is no failure to schedule. */
    bool is_expected = r->m->config.coming_ms && (g->job.is_ending || g->counts.n[POD_GOING] || r->now_ms < until_ms);

    if (g->is_whole || has_pods(g, ret))
        return false;
    if (is_expected && (ret->kind == WHY_NOT_ENOUGH_PODS || ret->kind == WHY_NOT_ENOUGH_OF_ROLE)) {
        *ret = (struct why){ .kind = WHY_NO_PODS_YET, .dim = -1 };
        if (r->now_ms < until_ms)
            round_retry(r, g, until_ms);
    }
    return true;
}

/* ---- refusing ---- */

bool group_knows_its_pods(const struct sched_group *g)
{
    VEC_FOREACH(r, &g->roles)
        if ((*r)->class)
            return true;
    return group_live(g) >= group_min(g);
}

bool round_would_fit(struct round *r, struct sched_group *g, enum fit_room room, struct why *ret_why)
{
    struct gang_options opt = { .room = room, .limit = GANG_NO_LIMIT, .is_virtual = true };
    struct trial t = { .m = r->m, .group = g, .arena = &r->trial };

    if (!ret_why) {
        enum gang_answer answer = gang_prefilter(r->m, g, &opt, &r->trial, NULL);

        if (answer != GANG_UNKNOWN)
            return answer == GANG_FITS;
    }
    if (!gang_try(&t, &opt, ret_why))
        return false;
    trial_undo(&t);
    return true;
}

/* It would not fit on empty nodes: say so instead. */
static void say_never(struct round *r, struct sched_group *g)
{
    struct why why;

    if (!g->found.never_fits)
        return;
    why = *g->why;
    if (group_knows_its_pods(g) && round_would_fit(r, g, FIT_EMPTY, &why))
        return;
    if (why.kind == WHY_NO_ROOM)
        why.kind = WHY_NEVER_FITS;
    group_say(g, &why);
    VEC_FOREACH(role, &g->roles) /* seats that happen to be free now mean nothing to it */
        LIST_FOREACH(struct sched_pod, p, &(*role)->pods[POD_PENDING], in_role)
            p->seat = NULL;
}

/* It gets no room that is kept for others, but its message should name them. */
static void find_holder(struct round *r, struct sched_group *g)
{
    const struct hold *hold = hold_order_in_the_way(r, g);
    struct why held;

    if (!hold)
        return;
    held = *g->why;
    held.kind = WHY_HELD;
    held.until_ms = hold->free_ms;
    group_people_name(hold->group, held.other, sizeof(held.other));
    group_say(g, &held);
}

void round_unstick(struct round *r, struct sched_group *g)
{
    if (g->found.is_stuck && gang_leads(g))
        r->m->yields++;
    g->found.is_stuck = false;
}

/* "Your queue may never have this" is a better answer than what is missing now. */
static void look_for_limits(struct round *r, struct sched_group *g, struct why *why)
{
    struct amounts needs;
    struct why limit;

    if (g->is_whole || !(why_is_of_queue(why->kind) || why->kind == WHY_NO_ROOM || why->kind == WHY_TOPOLOGY))
        return;
    gang_needs(r->m, g, &r->trial, &needs);
    if (round_is_beyond_limits(r->m, g, needs, &limit))
        *why = limit;
}

/* For whom is it kept? */
static void name_keeper(struct round *r, struct sched_group *g, struct why *why)
{
    const struct hold *hold;

    if (why->kind != WHY_QUEUE_RESERVED)
        return;
    hold = hold_keeper(r->m, model_queue(r->m, str_of(why->queue)), g);
    if (!hold)
        return;
    why->until_ms = hold->free_ms;
    group_people_name(hold->group, why->other, sizeof(why->other));
}

void round_say_again(struct round *r, struct sched_group *g)
{
    struct lifted lifted = { 0 };
    struct why why = *g->why;

    arena_reset(&r->trial);
    if (why_is_of_queue(why.kind)) {
        name_keeper(r, g, &why);
        group_say(g, &why);
        return;
    }
    why.kind = WHY_NO_ROOM;
    why.is_brief = true;
    group_say(g, &why);
    hold_order_lift(r, g, false, &lifted);
    find_holder(r, g);
    hold_order_put_back(r, &lifted);
}

/* Its queue takes no groups, its pods are gated, or it can never run: places that are kept for it are wasted. */
static bool keeps_in_vain(const struct sched_group *g)
{
    switch (g->why->kind) {
    case WHY_NO_QUEUE:
    case WHY_QUEUE_CLOSED:
    case WHY_QUEUE_HAS_CHILDREN:
    case WHY_TOO_MANY_NAMES:
    case WHY_GATED: /* for as long as the owner of the gate likes */
        return true;
    default:
        return g->found.never_fits || g->why->is_never;
    }
}

/* Pods of the queue, or below one above it, are on their way out: it may have more soon. */
static bool is_giving_back(const struct sched_model *m, const struct sched_queue *q)
{
    for (; q->parent; q = q->parent)
        if (!amounts_is_zero(&q->going, m->dims.n))
            return true;
    return false;
}

static void place_refuse(struct round *r, struct sched_group *g, struct why *why, enum gang_limit limit)
{
    bool is_room;

    look_for_limits(r, g, why);
    name_keeper(r, g, why);
    is_room = why->kind == WHY_NO_ROOM || why->kind == WHY_TOPOLOGY;
    group_say(g, why);
    round_tried(r, g);
    g->now.is_refused = true;
    if (!g->since.waiting_ms) /* what never stood waits since it is there, also for a scheduler that has just begun */
        g->since.waiting_ms = g->since.ready_ms || g->spec.created_ms <= 0 ? r->now_ms
                                                                           : MIN_OF(g->spec.created_ms, r->now_ms);
    if (why_is_of_queue(why->kind) && !why->is_never)
        *vec_push(r->a, &r->over.list) = g;
    if (is_room) {
        *vec_push(r->a, &r->stuck.list) = g;
        if (!g->is_whole) {
            say_never(r, g);
            if (!g->found.never_fits)
                find_holder(r, g);
        }
    }
    if (is_room && limit == GANG_FAIR && !g->is_whole && !g->found.never_fits)
        g->found.is_stuck = true;
    else
        round_unstick(r, g);
    round_promise(r, g);
    if (hold_has_victims(g->hold))
        group_say(g, &(struct why){
                         .kind = WHY_EVICTING, .dim = -1, .have = hold_victims(g->hold), .is_brief = why->is_brief });
    if (!is_room && why->kind != WHY_NO_ALLOCATE && g->hold && g->hold->kind == HOLD_EVICTING &&
        hold_victims(g->hold) == 0 && !is_giving_back(r->m, g->queue))
        round_drop_hold(r, g); /* its victims have left, and its queue still refuses it */
    if (keeps_in_vain(g))
        round_drop_hold(r, g);
    if (g->found.never_fits || g->why->is_never || g->why->kind == WHY_GATED || g->why->kind == WHY_GUARANTEE)
        round_drop_promise(r, g);
    if (group_is_broken(g)) /* what is freed goes to it, not to a newcomer (D1) */
        round_reserve_for(r, g);
    round_touch(r, g);
}

/* It fits, but the administrator wants no pod placed. It keeps the places that were cleared for it. */
static void refuse_to_place(struct round *r, struct sched_group *g)
{
    place_refuse(r, g, &(struct why){ .kind = WHY_NO_ALLOCATE, .dim = -1 }, GANG_NO_LIMIT);
}

/* ---- placing ---- */

static void bind_one(struct round *r, struct sched_pod *p, struct sched_node *n)
{
    struct decision *d;

    if (p->nominated) {
        (void)round_decide(r, DECIDE_NOMINATE, p->namespace, p->name, p->uid);
        model_nominate(r->m, p, NULL);
    }
    d = round_decide(r, DECIDE_BIND, p->namespace, p->name, p->uid);
    d->node = arena_str(r->a, n->name);
    p->started_ms = p->bound_ms = r->now_ms;
    model_set_pod(r->m, p, POD_BINDING, n);
    r->m->has_placed = true;
    r->out->n_bound++;
}

static void bind_all(struct round *r, struct trial *t)
{
    struct sched_group *g = t->group;

    VEC_FOREACH(s, &t->seats) {
        uint64_t room = r->m->room_gen;

        seat_give(r->m, s->node, s->class);
        bind_one(r, s->pod, s->node);
        r->m->room_gen = room;
    }
    t->seats.n = 0;
    hold_drop(r->m, g);
    g->is_whole = group_is_whole(g);
    group_say(g, &why_none);
    round_unstick(r, g);
    g->since.waiting_ms = 0;
    if (g->is_whole)
        g->since.ready_ms = r->now_ms;
    g->expired = 0;
    round_touch(r, g);
}

/* Short jobs that say when they end may use seats that are kept for a job that cannot start earlier (D22). */
static bool try_beside(struct round *r, struct trial *t, const struct gang_options *opt)
{
    int64_t runtime_ms = t->group->spec.runtime_ms;
    struct lifted lifted = { 0 };
    bool is_placed;

    is_placed = runtime_ms && hold_order_lift_until(r, r->now_ms + runtime_ms, &lifted) && gang_try(t, opt, NULL);
    hold_order_put_back(r, &lifted);
    return is_placed;
}

static bool try_group(struct round *r, struct trial *t, const struct gang_options *opt, struct why *ret_why)
{
    return gang_try(t, opt, ret_why) || (ret_why->kind == WHY_NO_ROOM && try_beside(r, t, opt));
}

static void place_place(struct round *r, struct sched_group *g, enum gang_limit limit)
{
    struct gang_options opt = { .room = FIT_NOW, .limit = limit, .has_extras = g->is_whole, .shows = true };
    struct trial t = { .m = r->m, .group = g, .arena = &r->trial };
    struct why why = { .dim = -1 };
    bool was_whole = g->is_whole;

    opt.is_brief = round_is_told(r, g);
    if (!try_group(r, &t, &opt, &why)) {
        place_refuse(r, g, &why, limit);
        return;
    }
    if (!r->m->config.places) {
        trial_undo(&t);
        refuse_to_place(r, g);
        return;
    }
    if (t.seats.n)
        bind_all(r, &t);
    if (g->counts.n[POD_PENDING] <= g->counts.n_gated)
        return;
    if (!was_whole) { /* extras come after the gangs of others */
        round_push(r, g);
        return;
    }
    /* It runs; some of it does not fit. Their queue's share or the nodes: */
    group_say(g, &why);
    g->now.is_refused = true;
    round_tried(r, g);
    round_touch(r, g);
    if (limit == GANG_FAIR)
        *vec_push(r->a, &r->over.list) = g;
    else
        *vec_push(r->a, &r->stuck.list) = g;
}

/* ---- admission ---- */

static void become_inqueue(struct round *r, struct sched_group *g)
{
    bool is_promised = g->spec.has_min_resources && !g->found.never_fits && g->why->kind != WHY_GUARANTEE;
    struct amounts rest = { { 0 } };

    g->status.phase = GROUP_INQUEUE;
    g->status.has_phase = true;
    g->since.admitted_ms = r->now_ms;
    g->found.is_blocked = false;
    if (group_live(g) == 0)
        group_say(g, &(struct why){ .kind = WHY_NO_PODS_YET, .dim = -1 });
    for (int d = 0; is_promised && d < r->m->dims.n; d++)
        rest.v[d] = MAX_OF(g->spec.min_resources.v[d] - g->counts.allocated.v[d], 0);
    model_set_admitted(r->m, g, &rest);
    gang_class_sort(r->m, g);
    round_touch(r, g);
}

static int64_t credit_of(const struct sched_model *m, int64_t amount)
{
    return (int64_t)MIN_OF((double)amount * m->config.overcommit, (double)AMOUNT_UNLIMITED);
}

int64_t round_credit(const struct sched_model *m, int dim)
{
    return credit_of(m, m->usable.v[dim]);
}

/* Everything that was promised, without what is given back, and this, within what the nodes have times the factor. The
 * first resource that is not, or -1. */
static int overcommitted_without(const struct round *r, const struct amounts *needs, const struct amounts *back)
{
    const struct sched_model *m = r->m;
    struct amounts left = { { 0 } };

    for (int d = 0; d < m->dims.n; d++)
        left.v[d] = round_credit(m, d) - m->used.v[d] - m->root->admitted.v[d] + back->v[d];
    return amounts_lacking(&left, needs, m->dims.n);
}

static int overcommitted(const struct round *r, const struct amounts *needs)
{
    return overcommitted_without(r, needs, &(struct amounts){ { 0 } });
}

static int64_t sla_of(const struct round *r, const struct sched_group *g)
{
    return g->spec.sla_ms ? g->spec.sla_ms : r->m->config.sla_ms;
}

static bool is_overdue(const struct round *r, const struct sched_group *g)
{
    return sla_of(r, g) && g->spec.created_ms + sla_of(r, g) <= r->now_ms;
}

static bool may_give_way(const struct sched_group *o, const struct sched_group *g)
{
    return o->spec.priority < g->spec.priority && o->status.phase == GROUP_INQUEUE && group_placed(o) == 0 &&
           !o->hold && !o->found.never_fits;
}

static void add_promise(const struct round *r, const struct sched_group *o, const struct sched_group *g,
                        struct amounts *back)
{
    if (may_give_way(o, g))
        amounts_add(back, &o->admitted, r->m->dims.n);
}

/* Would it help if all groups gave way that may? A group that is put out in vain comes back in the next round, and so
 * on for ever. */
static bool can_un_admit(struct round *r, const struct sched_group *g, const struct amounts *needs)
{
    struct amounts back = { { 0 } };

    if (g->spec.priority <= r->futile_priority && r->futile_room == r->m->room_gen + 1 &&
        amounts_lacking(needs, &r->futile_needs, r->m->dims.n) < 0)
        return false; /* one who needs no more, and may put out as many, was refused: do not look at all who wait */
    LIST_FOREACH(struct sched_group, o, &r->m->alike->alone, gang.in_alone)
        add_promise(r, o, g, &back);
    LIST_FOREACH(struct gang_class, c, &r->m->alike->inqueue, in_inqueue)
        for (size_t i = 0; i < c->members.n; i++)
            add_promise(r, HEAP_ITEM(c->members.v[i], struct sched_group, gang.in_class), g, &back);
    if (overcommitted_without(r, needs, &back) < 0)
        return true;
    r->futile_priority = g->spec.priority;
    r->futile_needs = *needs;
    r->futile_room = r->m->room_gen + 1;
    return false;
}

/* A group of lower priority that was let in on credit and runs nothing gives way (D23). */
static bool un_admit_lower(struct round *r, const struct sched_group *g, const struct amounts *needs)
{
    if (g->spec.priority <= r->lowest_on_credit || !can_un_admit(r, g, needs))
        return false;
    LIST_FOREACH(struct sched_group, o, &r->m->waiting, in_waiting) {
        if (!may_give_way(o, g))
            continue;
        o->status.phase = GROUP_PENDING;
        o->since.admitted_ms = 0;
        model_set_admitted(r->m, o, &(struct amounts){ { 0 } });
        gang_class_sort(r->m, o);
        round_touch(r, o);
        if (overcommitted(r, needs) < 0)
            return true;
    }
    r->lowest_on_credit = g->spec.priority; /* all below are out */
    return false;
}

/* A group that fits on no node is promised nothing, so it keeps no other out: it is let in, and its Pending pods say
 * why, to people and to autoscalers. Not if all nodes together have too little (D30). */
static bool admit_the_impossible(const struct round *r, const struct amounts *needs)
{
    struct amounts most = { { 0 } };

    for (int d = 0; d < r->m->dims.n; d++)
        most.v[d] = credit_of(r->m, r->m->total.v[d]);
    return amounts_lacking(&most, needs, r->m->dims.n) < 0;
}

/* On credit: there is no room now, but there soon may be, and pods that exist can be placed at once. */
static bool admit_on_credit(struct round *r, struct sched_group *g, const struct amounts *needs)
{
    if (sla_of(r, g) && !is_overdue(r, g))
        round_retry(r, g, g->spec.created_ms + sla_of(r, g));
    if (is_overdue(r, g))
        return true;
    if (g->found.never_fits && group_knows_its_pods(g))
        return admit_the_impossible(r, needs);
    if (overcommitted(r, needs) < 0 || un_admit_lower(r, g, needs))
        return true;
    g->found.is_blocked = true;
    return false;
}

/* May its queue be promised this much? Only a queue's own bounds count here; the nodes are asked next. */
static bool queue_admits(struct round *r, struct sched_group *g, const struct amounts *needs, struct why *ret)
{
    struct share_refusal no;

    if (share_allows(r->m, g->queue, needs, SHARE_ADMISSION, NULL))
        return true;
    share_refusal(r->m, g->queue, needs, SHARE_ADMISSION, &no);
    if (no.bound == BOUND_CLUSTER || (no.bound == BOUND_KEPT && !no.queue->parent))
        return true;
    gang_say_refusal(&no, ret);
    ret->need = needs->v[no.dim];
    g->found.is_blocked |= no.bound == BOUND_KEPT;
    return false;
}

/* Places for a group whose pods are there are used at once; for one whose pods are to come they are kept. */
static void place_settle(struct round *r, struct sched_group *g, struct trial *t)
{
    bool all_there = true;

    become_inqueue(r, g);
    VEC_FOREACH(s, &t->seats)
        all_there &= s->pod != NULL;
    if (!all_there) {
        g->since.waiting_ms = 0;
        (void)hold_new(r->m, t, HOLD_ADMITTED);
        if (group_has_its_pods(
                g)) /* other pods than those it has would fit: it is asked with these, and told why they do not */
            round_retry(r, g, r->now_ms + 1);
        r->lowest_seated = MIN_OF(r->lowest_seated, g->spec.priority);
        return;
    }
    if (!r->m->config.places) {
        trial_undo(t);
        refuse_to_place(r, g);
        return;
    }
    bind_all(r, t);
    if (g->counts.n[POD_PENDING] > g->counts.n_gated)
        round_push(r, g);
}

static void place_admit(struct round *r, struct sched_group *g, enum gang_limit limit)
{
    struct gang_options opt = { .room = FIT_NOW, .limit = limit, .is_virtual = true, .shows = true };
    struct trial t = { .m = r->m, .group = g, .arena = &r->trial };
    struct why why = { .dim = -1 };
    struct amounts needs;

    gang_needs(r->m, g, &r->trial, &needs);
    if (!queue_admits(r, g, &needs, &why)) {
        place_refuse(r, g, &why, limit);
        if (g->why->kind == WHY_GUARANTEE) /* more nodes help, which those who add them see by its pods (D30) */
            become_inqueue(r, g);
        return;
    }
    if (group_knows_its_pods(g)) {
        opt.is_brief = round_is_told(r, g);
        if (try_group(r, &t, &opt, &why)) {
            place_settle(r, g, &t);
            return;
        }
        place_refuse(r, g, &why, limit);
        if (why_is_of_queue(why.kind) || limit == GANG_NO_LIMIT)
            return;
    } else {
        why =
            (struct why){ .kind = WHY_NO_ROOM, .dim = overcommitted(r, &needs), .need = group_min(g), .needs = needs };
        why.is_sum = why.dim >= 0;
    }
    if (!g->spec.has_min_resources || admit_on_credit(r, g, &needs)) {
        become_inqueue(r, g);
        if (!g->found.never_fits)
            r->lowest_on_credit = MIN_OF(r->lowest_on_credit, g->spec.priority);
    } else if (!group_knows_its_pods(g))
        place_refuse(r, g, &why, limit);
}

/* It was let in, and lacks pods: the better answer than "no room". A group with places is not refused. */
static void say_pods(struct round *r, struct sched_group *g, struct why *why, enum gang_limit limit)
{
    if (!g->hold || why->kind == WHY_GATED)
        place_refuse(r, g, why, limit);
    else if (g->hold->kind == HOLD_ADMITTED)
        group_say(g, &(struct why){ .kind = WHY_NO_PODS_YET, .dim = -1 });
    else
        group_say(g, why);
}

static void attempt(struct round *r, struct sched_group *g, enum gang_limit limit)
{
    struct why why = { .dim = -1 };

    if (!queue_is_fine(g, &why)) {
        place_refuse(r, g, &why, limit);
        return;
    }
    if (!group_is_admitted(g)) {
        if (group_placed(g) == 0 && r->m->config.admits) {
            place_admit(r, g, limit);
            if (group_is_admitted(g) && !round_open_gates(r, g, &why))
                place_refuse(r, g, &why, limit);
            else if (group_is_admitted(g) && group_live(g) && lacks_pods(r, g, &why))
                say_pods(r, g, &why, limit);
            return;
        }
        become_inqueue(r, g); /* not lost with a pod (D11), or admission is off */
    }
    why = (struct why){ .dim = -1 };
    if (!round_open_gates(r, g, &why)) {
        place_refuse(r, g, &why, limit);
        return;
    }
    if (lacks_pods(r, g, &why)) {
        place_refuse(r, g, &why, limit);
        return;
    }
    place_place(r, g, limit);
}

/* Everything that was kept for it is free, its pods are there, and still it does not fit: rules about other pods are in
 * the way, which no reservation can foresee. Others may have the room. */
static void check_use(struct round *r, struct sched_group *g)
{
    bool is_to_come = g->hold->kind != HOLD_RESERVED && group_live(g) < group_min(g);

    if (!g->now.is_refused || g->why->kind != WHY_NO_ROOM || is_to_come)
        return;
    holds_settle(r->m);
    if (!hold_is_free(r->m, g->hold))
        return;
    round_drop_hold(r, g);
    g->found.futile = r->m->node_gen;
}

void round_attempt(struct round *r, struct sched_group *g, enum gang_limit limit)
{
    bool is_owed = g->hold && g->hold->kind != HOLD_RESERVED;
    uint32_t n_bound = r->out->n_bound;
    struct lifted lifted = { 0 };

    arena_reset(&r->trial);
    if (g->hold) { /* what is kept for it does not stand in its way */
        hold_lift(r->m, g->hold);
        g->hold->is_new = false;
    }
    hold_order_lift(r, g, limit == GANG_LIMIT && !is_owed, &lifted);
    /* It was let in, or others lost their places for it: it has them. What never fits asks for no share, so that only
     * the limits of its queue refuse it. */
    if (is_owed || g->found.never_fits)
        limit = GANG_LIMIT;
    attempt(r, g, limit);
    if (g->hold && !g->hold->is_held) {
        hold_put_back(r->m, g->hold);
        check_use(r, g);
    }
    hold_order_put_back(r, &lifted);
    if (r->out->n_bound != n_bound || (g->hold && g->hold->is_new)) /* it took what they had: once */
        hold_order_withdraw(r, g);
}
