/* evict.c - whom to evict so that a gang fits
 *
 * Candidates are bundles: one surplus pod, or all pods of a job. They are sorted by cost and taken away for a trial
 * until the gang fits; then what was not needed is put back, the dearest first.
 */
#include "sched/evict/evict.h"

#include "api/selector.h"
#include "base/util.h"
#include "sched/queue/share.h"
#include "sched/model/tree.h"

struct bundle {
    struct sched_group *group;
    bool is_whole;
    VEC(struct sched_pod *) pods;
    struct amounts sum;
    int32_t priority;   /* of the pod with the highest of its own */
    int64_t started_ms; /* of the youngest */
    int64_t over;       /* reclaim: how far its queue is above its share */
    bool is_below_full; /* in or below the queue that refuses the gang: without some of these nothing helps */
    uint32_t at;        /* order of making: the same in every run */
    bool is_out;        /* taken away in the trial */
};

struct hunt {
    struct sched_model *m;
    struct sched_group *g;
    enum evict_kind kind;
    int64_t until_ms; /* pods that may be taken by then are candidates */
    int64_t asked_ms; /* of the group: pods that started later are not */
    int32_t rank;     /* preemption: pods with this priority of their own, or a higher one, are not */
    struct arena *a;
    int64_t *wake_ms;
    struct amounts needs;
    bool has_pods;                  /* of a queue: some may be taken */
    const struct sched_queue *full; /* the queue on the way up that refuses it as things are; NULL: none does */
    VEC(struct bundle) bundles;
    VEC(struct amounts) going; /* of all queues, while the trial acts as if they had gone */
};

enum { PRUNE_TRIALS = 64, EVICT_DOUBLINGS = 20 };

/* ---- may this pod be taken? ---- */

static void wake_at(int64_t *wake_ms, int64_t ms)
{
    if (wake_ms && ms && (*wake_ms == 0 || ms < *wake_ms))
        *wake_ms = ms;
}

/* When the job asked for the pods that wait: when it came, or, if only tasks that depend on others wait, when their
 * pods were created. A job that was stopped has not asked anew. API times are whole seconds; that the scheduler did
 * not know of it in a round is exact. 0: not known. */
int64_t evict_asked_ms(const struct sched_group *g)
{
    int64_t came_ms = g->spec.came_ms > 0 ? MAX_OF(g->spec.came_ms, g->since.unknown_ms) : 0, first_ms = INT64_MAX;

    if (g->stops || came_ms <= 0)
        return came_ms;
    VEC_FOREACH(r, &g->roles) {
        const struct sched_pod *p = LIST_FIRST(&(*r)->pods[POD_PENDING], struct sched_pod, in_role);

        if (p)
            first_ms = MIN_OF(first_ms, (*r)->has_dependencies ? p->created_ms : came_ms);
    }
    return first_ms == INT64_MAX ? came_ms : MAX_OF(first_ms, came_ms);
}

/* When the pod was placed, at the latest: a time of the API may be anywhere in its second. */
static int64_t placed_ms(const struct sched_pod *p)
{
    return p->bound_ms ? p->bound_ms : p->started_ms / 1000 * 1000 + 999;
}

/* The job waited already when something was placed at this time. */
static bool has_waited_since(int64_t asked_ms, int64_t placed)
{
    return asked_ms > 0 && placed >= asked_ms;
}

/* When a pod that started while the taker waited may be taken: it runs until it said it would end. */
static int64_t known_due_ms(const struct sched_config *c, const struct sched_pod *p)
{
    int64_t runtime_ms = p->group->spec.runtime_ms;

    return p->started_ms + (runtime_ms ? runtime_ms + c->min_run_ms : c->patience_ms); /* news of its end take time */
}

/* When the pod may be taken for this job. A job that was stopped before is left alone for longer each time. */
static int64_t due_ms(const struct hunt *h, const struct sched_pod *p)
{
    const struct sched_config *c = &h->m->config;
    uint32_t stops = MIN_OF(p->group->stops, EVICT_DOUBLINGS);
    int64_t run_ms = MAX_OF(stops ? c->patience_ms << (stops - 1) : c->min_run_ms, p->cooldown_ms);

    if (p->started_ms == 0)
        return 0;
    if (p->group != h->g && has_waited_since(h->asked_ms, placed_ms(p)))
        return MAX_OF(p->started_ms + run_ms, known_due_ms(c, p));
    return p->started_ms + run_ms;
}

static bool is_old_enough(struct hunt *h, const struct sched_pod *p)
{
    int64_t due = due_ms(h, p);

    if (due <= h->until_ms)
        return true;
    wake_at(h->wake_ms, due);
    return false;
}

/* Only pods of a lower priority than this are preempted, whatever their job's priority, as Kubernetes does. */
static int32_t evict_rank_of(const struct sched_group *g)
{
    int32_t rank = g->spec.priority;

    VEC_FOREACH(r, &g->roles) {
        const struct sched_pod *p = LIST_FIRST(&(*r)->pods[POD_PENDING], struct sched_pod, in_role);

        if (p)
            rank = MAX_OF(rank, p->api_priority);
    }
    return rank;
}

static bool may_take(struct hunt *h, const struct sched_pod *p)
{
    if (p->state != POD_BOUND && p->state != POD_RUNNING)
        return false;
    if (h->kind == EVICT_PREEMPT && p->group != h->g && p->api_priority >= h->rank)
        return false;
    return p->node && p->is_preemptable && !(p->is_critical && h->m->config.has_conformance) && is_old_enough(h, p);
}

/* ---- disruption budgets ---- */

static bool budget_covers(struct hunt *h, const struct sched_budget *b, const struct sched_pod *p)
{
    return str_eq(b->namespace, p->namespace) && b->selector &&
           selector_matches(b->selector, labels_json(h->a, p->labels));
}

/* Rounded as Kubernetes does: a share of what must stay, or may go, is rounded up. */
static int64_t evict_part_of(const struct sched_budget *b, int64_t v, int64_t total)
{
    return b->is_percent ? (v * total + 99) / 100 : v;
}

/* Without a controller that fills in the status: count. */
static int64_t evict_budget_count(struct hunt *h, const struct sched_budget *b)
{
    int64_t total = 0, healthy = 0;

    MAP_FOREACH(struct sched_pod *, p, &h->m->pods)
        if (budget_covers(h, b, p)) {
            total += p->state != POD_SUCCEEDED && p->state != POD_FAILED;
            healthy += p->state == POD_RUNNING;
        }
    if (b->min_available >= 0)
        return healthy - evict_part_of(b, b->min_available, total);
    if (b->max_unavailable >= 0)
        return evict_part_of(b, b->max_unavailable, total) - (total - healthy);
    return INT64_MAX / 2;
}

/* Would all budgets bear the loss of these pods? */
static bool budgets_bear(struct hunt *h, const struct bundle *b)
{
    MAP_FOREACH(struct sched_budget *, budget, &h->m->budgets) {
        int64_t n = 0;

        VEC_FOREACH(p, &b->pods)
            n += budget_covers(h, budget, *p);
        if (n && n > (budget->has_status ? budget->allowed : evict_budget_count(h, budget)) - budget->taken)
            return false;
    }
    return true;
}

static void budgets_charge(struct hunt *h, const struct bundle *b, int by)
{
    if (map_count(&h->m->budgets) == 0)
        return;
    MAP_FOREACH(struct sched_budget *, budget, &h->m->budgets)
        VEC_FOREACH(p, &b->pods)
            if (budget_covers(h, budget, *p))
                budget->taken += by;
}

/* ---- bundles ---- */

/* Least worth first: lowest task priority, then the highest index, then the youngest. */
static int surplus_cmp(const void *x, const void *y)
{
    const struct sched_pod *a = *(struct sched_pod *const *)x, *b = *(struct sched_pod *const *)y;

    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->index != b->index)
        return a->index > b->index ? -1 : 1;
    if (a->created_ms != b->created_ms)
        return a->created_ms > b->created_ms ? -1 : 1;
    return str_cmp(b->uid, a->uid);
}

struct pod_list {
    VEC(struct sched_pod *) list;
};

/* All pods with a place; '*ret_all': each of them may be taken. */
static struct pod_list placed_pods(struct hunt *h, const struct sched_group *g, bool *ret_all)
{
    static const enum pod_state states[] = { POD_BINDING, POD_BOUND, POD_RUNNING };
    struct pod_list all = { 0 };

    *ret_all = true;
    VEC_FOREACH(r, &g->roles)
        for (size_t i = 0; i < ARRAY_LEN(states); i++)
            LIST_FOREACH(struct sched_pod, p, &(*r)->pods[states[i]], in_role) {
                if (may_take(h, p)) {
                    *vec_push(h->a, &all.list) = p;
                    h->has_pods = true;
                } else
                    *ret_all = false;
            }
    if (all.list.n)
        qsort(all.list.v, all.list.n, sizeof(*all.list.v), surplus_cmp);
    return all;
}

static bool is_in_or_below(const struct sched_queue *q, const struct sched_queue *top)
{
    while (q && q != top)
        q = q->parent;
    return q != NULL;
}

static struct bundle *bundle_new(struct hunt *h, struct sched_group *g, bool is_whole)
{
    struct bundle *b = vec_push(h->a, &h->bundles);

    b->group = g;
    b->is_whole = is_whole;
    b->at = (uint32_t)h->bundles.n;
    b->over = h->kind == EVICT_RECLAIM ? share_of(h->m, g->queue) : 0;
    b->is_below_full = h->full && is_in_or_below(g->queue, h->full);
    return b;
}

static void bundle_add(struct hunt *h, struct bundle *b, struct sched_pod *p)
{
    b->priority = b->pods.n ? MAX_OF(b->priority, p->priority) : p->priority;
    *vec_push(h->a, &b->pods) = p;
    amounts_add(&b->sum, &p->class->ask, h->m->dims.n);
    b->started_ms = MAX_OF(b->started_ms, p->started_ms);
}

/* How many of each role were made surplus so far. */
struct spare {
    const struct sched_role *role;
    int64_t n;
};
struct spares {
    VEC(struct spare) list;
};

static int64_t *spare_of(struct arena *a, struct spares *all, const struct sched_role *r)
{
    VEC_FOREACH(s, &all->list)
        if (s->role == r)
            return &s->n;
    *vec_push(a, &all->list) = (struct spare){ r, 0 };
    return &all->list.v[all->list.n - 1].n;
}

static bool is_surplus(struct hunt *h, const struct sched_group *g, const struct sched_pod *p, int64_t *total,
                       struct spares *spares)
{
    int64_t *of_role = spare_of(h->a, spares, p->role);

    if (group_ready(g) - *total <= group_min(g) || role_ready(p->role) - *of_role <= p->role->min)
        return false;
    ++*total;
    ++*of_role;
    return true;
}

/* Does one of our pods that wait fit on the node? */
static bool fits_there(struct hunt *h, struct sched_node *node, enum fit_room room)
{
    VEC_FOREACH(r, &h->g->roles) {
        const struct sched_pod *want = LIST_FIRST(&(*r)->pods[POD_PENDING], struct sched_pod, in_role);
        const struct pod_class *c = want ? want->class : (*r)->class;

        if (c && fit_node(h->m, &(struct fit_question){ c, h->g, room }, node, NULL))
            return true;
    }
    return false;
}

/* Does it help at all? One of the pods stands where one of ours could. */
static bool is_useful(struct hunt *h, const struct bundle *b)
{
    if (h->g->why->kind != WHY_NO_ROOM && h->g->why->kind != WHY_HELD && h->g->why->kind != WHY_TOPOLOGY)
        return true; /* its queue is full: every pod that leaves it helps */
    VEC_FOREACH(p, &b->pods)
        if (fits_there(h, (*p)->node, FIT_EMPTY))
            return true;
    return false;
}

static void drop_last(struct hunt *h)
{
    h->bundles.n--;
}

static void make_bundles(struct hunt *h, struct sched_group *g)
{
    bool can_all;
    struct pod_list pods = placed_pods(h, g, &can_all);
    struct spares spares = { 0 };
    struct bundle *whole;
    int64_t n = 0;

    if (pods.list.n == 0)
        return;
    VEC_FOREACH(p, &pods.list)
        if (is_surplus(h, g, *p, &n, &spares)) {
            bundle_add(h, bundle_new(h, g, false), *p);
            if (!is_useful(h, &h->bundles.v[h->bundles.n - 1]))
                drop_last(h);
        }
    if (!can_all ||
        (size_t)n == pods.list.n) /* what must keep one pod keeps its minimum; what is all surplus has none */
        return;
    whole = bundle_new(h, g, true);
    VEC_FOREACH(p, &pods.list)
        bundle_add(h, whole, *p);
    if (!is_useful(h, whole))
        drop_last(h);
}

static bool is_candidate(const struct hunt *h, const struct sched_group *v)
{
    /* Its PodGroup says whether it may be evicted. */
    if (v == h->g || !v->podgroup.exists || !v->spec.is_preemptable ||
        amounts_is_zero(&v->counts.allocated, h->m->dims.n))
        return false;
    if (h->kind == EVICT_PREEMPT)
        return v->queue == h->g->queue && v->spec.priority < h->g->spec.priority;
    return v->queue != h->g->queue && v->queue->is_reclaimable;
}

static int bundle_cmp(const void *x, const void *y)
{
    const struct bundle *a = x, *b = y;
    int c;

    if (a->is_below_full != b->is_below_full)
        return a->is_below_full ? -1 : 1;
    if (a->over != b->over)
        return a->over > b->over ? -1 : 1;
    if (a->group->spec.priority != b->group->spec.priority)
        return a->group->spec.priority < b->group->spec.priority ? -1 : 1;
    if (a->is_whole != b->is_whole)
        return a->is_whole ? 1 : -1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->started_ms != b->started_ms)
        return a->started_ms > b->started_ms ? -1 : 1;
    if ((c = str_cmp(a->group->key, b->group->key)) != 0)
        return c;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void collect_groups(struct hunt *h, const struct sched_queue *q)
{
    for (size_t i = 0; i < q->placed.n; i++) {
        struct sched_group *v = HEAP_ITEM(q->placed.v[i], struct sched_group, in_placed);

        if (is_candidate(h, v))
            make_bundles(h, v);
    }
}

/* A reclaim treats all groups that hunt alike. If a search of this round found no victim in the queue, the next search
 * finds none either, unless its group asked later. */
static bool is_spared(const struct sched_model *m, const struct sched_queue *q, int64_t asked_ms)
{
    return q->spared == m->round && asked_ms > 0 && asked_ms <= q->spared_asked_ms;
}

static void collect_from(struct hunt *h, struct sched_queue *q)
{
    int64_t *wake_ms = h->wake_ms, own_ms = 0;

    if (!is_spared(h->m, q, h->asked_ms)) {
        h->has_pods = false;
        h->wake_ms = &own_ms;
        collect_groups(h, q);
        h->wake_ms = wake_ms;
        q->spared = h->kind == EVICT_RECLAIM && !h->has_pods ? h->m->round : 0;
        q->spared_ms = own_ms;
        q->spared_asked_ms = h->asked_ms;
    }
    wake_at(wake_ms, q->spared_ms);
}

/* What has_older() asks, once in a round for all who hunt. */
static void note_starts(const struct sched_model *m, struct sched_queue *q)
{
    static const enum pod_state states[] = { POD_BOUND, POD_RUNNING };

    if (q->starts_round == m->round)
        return;
    q->starts_round = m->round;
    q->first_placed_ms = q->first_known_due_ms = INT64_MAX;
    for (size_t i = 0; i < q->placed.n; i++)
        VEC_FOREACH(r, &HEAP_ITEM(q->placed.v[i], struct sched_group, in_placed)->roles)
            for (size_t k = 0; k < ARRAY_LEN(states); k++)
                LIST_FOREACH(struct sched_pod, p, &(*r)->pods[states[k]], in_role) {
                    q->first_placed_ms = MIN_OF(q->first_placed_ms, placed_ms(p));
                    q->first_known_due_ms = MIN_OF(q->first_known_due_ms, known_due_ms(&m->config, p));
                }
}

bool evict_is_prey(const struct sched_model *m, const struct evict_prey *prey, int64_t asked_ms, int64_t *ret_wake_ms)
{
    if (!prey->exists)
        return false;
    if (!has_waited_since(asked_ms, prey->first_placed_ms) || prey->first_known_due_ms <= m->round_ms)
        return true;
    if (prey->first_known_due_ms != INT64_MAX)
        wake_at(ret_wake_ms, prey->first_known_due_ms);
    return false;
}

void evict_find_within(const struct sched_model *m, struct sched_queue *q, struct evict_prey *ret)
{
    note_starts(m, q);
    *ret = (struct evict_prey){ true, q->first_placed_ms, q->first_known_due_ms };
}

/* Could one of its pods be taken for this job? They started before it asked, or have run for longer than they said. */
static bool has_older(const struct sched_model *m, struct sched_queue *q, int64_t asked_ms, int64_t *ret_wake_ms)
{
    struct evict_prey prey;

    evict_find_within(m, q, &prey);
    return evict_is_prey(m, &prey, asked_ms, ret_wake_ms);
}

bool evict_has_lower(const struct sched_queue *q, int32_t priority)
{
    const struct heap_node *node = heap_first(&q->placed);

    return node && HEAP_ITEM(node, struct sched_group, in_placed)->spec.priority < priority;
}

static bool can_give_back(const struct sched_model *m, const struct sched_queue *q, const struct sched_queue *taker)
{
    return q != taker && q->is_reclaimable && heap_count(&q->placed) && share_of(m, q) > 1 << 20;
}

void evict_find_beside(const struct sched_model *m, const struct sched_queue *q, struct evict_prey *ret)
{
    *ret = (struct evict_prey){ false, INT64_MAX, INT64_MAX };
    MAP_FOREACH(struct sched_queue *, giver, &m->queues) {
        if (!can_give_back(m, giver, q))
            continue;
        note_starts(m, giver);
        ret->exists = true;
        ret->first_placed_ms = MIN_OF(ret->first_placed_ms, giver->first_placed_ms);
        ret->first_known_due_ms = MIN_OF(ret->first_known_due_ms, giver->first_known_due_ms);
    }
}

/* A reclaim takes nothing from the group's own queue. */
void evict_share_left(const struct sched_model *m, const struct sched_queue *q, struct amounts *ret)
{
    for (int d = 0; d < m->dims.n; d++)
        ret->v[d] = MIN_OF(q->fair.v[d], q->limit.v[d]) - q->allocated.v[d];
}

static bool has_share_left(const struct sched_model *m, const struct sched_queue *q, const struct amounts *needs)
{
    struct amounts left;

    evict_share_left(m, q, &left);
    return amounts_lacking(&left, needs, m->dims.n) < 0;
}

bool evict_is_worth(const struct sched_model *m, const struct sched_group *g, enum evict_kind kind,
                    const struct amounts *needs, int64_t *ret_wake_ms)
{
    int64_t asked = evict_asked_ms(g);

    if (kind == EVICT_PREEMPT)
        return evict_has_lower(g->queue, g->spec.priority) && has_older(m, g->queue, asked, ret_wake_ms);
    if (!has_share_left(m, g->queue, needs))
        return false;
    MAP_FOREACH(struct sched_queue *, q, &m->queues)
        if (can_give_back(m, q, g->queue)) {
            if (!is_spared(m, q, asked) && has_older(m, q, asked, ret_wake_ms))
                return true;
            if (is_spared(m, q, asked))
                wake_at(ret_wake_ms, q->spared_ms);
        }
    return false;
}

static void evict_collect(struct hunt *h)
{
    if (h->kind == EVICT_PREEMPT) {
        collect_from(h, h->g->queue);
    } else {
        MAP_FOREACH(struct sched_queue *, q, &h->m->queues)
            if (can_give_back(h->m, q, h->g->queue))
                collect_from(h, q);
    }
    if (h->bundles.n)
        qsort(h->bundles.v, h->bundles.n, sizeof(*h->bundles.v), bundle_cmp);
}

/* ---- taking bundles away for a trial ---- */

static void path_add(struct sched_model *m, struct sched_queue *q, const struct amounts *by, int sign)
{
    for (; q; q = q->parent) {
        amounts_add_times(&q->allocated, by, sign, m->dims.n);
        amounts_add_times(&q->out, by, -sign, m->dims.n);
    }
}

static void pod_out(struct hunt *h, struct sched_pod *p)
{
    node_give(h->m, p->node, p->class);
    path_add(h->m, p->group->queue, &p->class->ask, -1);
}

static void pod_back(struct hunt *h, struct sched_pod *p)
{
    node_take(h->m, p->node, p->class);
    path_add(h->m, p->group->queue, &p->class->ask, 1);
}

/* False: its queue or a budget does not bear it, given what is out already. */
static bool bundle_out(struct hunt *h, struct bundle *b)
{
    if (h->kind == EVICT_RECLAIM && !share_spares(h->m, b->group->queue, h->g->queue, &b->sum, &h->needs))
        return false;
    if (!budgets_bear(h, b))
        return false;
    VEC_FOREACH(p, &b->pods)
        if (!(*p)->out_by) { /* not out already, as surplus of the same job */
            pod_out(h, *p);
            (*p)->out_by = b->at;
        }
    budgets_charge(h, b, 1);
    b->is_out = true;
    return true;
}

static void bundle_back(struct hunt *h, struct bundle *b)
{
    if (!b->is_out)
        return;
    b->is_out = false;
    VEC_FOREACH(p, &b->pods)
        if ((*p)->out_by == b->at) {
            pod_back(h, *p);
            (*p)->out_by = 0;
        }
    budgets_charge(h, b, -1);
}

/* What already goes counts as gone. */
static void forget_going(struct hunt *h)
{
    MAP_FOREACH(struct sched_queue *, q, &h->m->queues) {
        *vec_push(h->a, &h->going) = q->going;
        q->going = (struct amounts){ { 0 } };
    }
}

static void restore_going(struct hunt *h)
{
    size_t i = 0;

    MAP_FOREACH(struct sched_queue *, q, &h->m->queues)
        q->going = h->going.v[i++];
}

static bool evict_fits(struct hunt *h, struct trial *ret)
{
    struct gang_options opt = { .room = FIT_SOON,
                                .limit = h->kind == EVICT_RECLAIM ? GANG_FAIR : GANG_LIMIT,
                                .is_virtual = true };

    *ret = (struct trial){ .m = h->m, .group = h->g, .arena = h->a };
    return gang_try(ret, &opt, NULL);
}

/* Is it enough that those go who are going already? */
static bool fits_soon(struct hunt *h)
{
    struct trial t;

    if (!evict_fits(h, &t))
        return false;
    trial_undo(&t);
    return true;
}

/* Take away more and more, each time twice as much, until the gang fits. */
static bool take_until_fit(struct hunt *h)
{
    struct trial t;
    size_t at = 0, step = 1;

    while (at < h->bundles.n) {
        size_t taken = 0;

        while (at < h->bundles.n && taken < step)
            taken += bundle_out(h, &h->bundles.v[at++]);
        if (taken && evict_fits(h, &t)) {
            trial_undo(&t);
            return true;
        }
        step *= 2;
    }
    return false;
}

static void all_back(struct hunt *h, struct victims *ret)
{
    for (size_t i = h->bundles.n; i-- > 0;) {
        struct bundle *b = &h->bundles.v[i];

        if (!b->is_out)
            continue;
        if (ret)
            VEC_FOREACH(p, &b->pods)
                if ((*p)->out_by == b->at)
                    *vec_push(h->a, &ret->list) = *p;
        bundle_back(h, b);
    }
}

/* ---- node by node ---- */

struct on_node { /* a bundle has a pod there */
    struct sched_node *node;
    size_t at, first; /* the bundle; the first that has a pod on this node */
};
struct on_nodes {
    VEC(struct on_node) list;
};

static int by_node(const void *x, const void *y)
{
    const struct on_node *a = x, *b = y;

    if (a->node != b->node)
        return a->node->index < b->node->index ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* The nodes of the cheapest bundles first. */
static int by_first(const void *x, const void *y)
{
    const struct on_node *a = x, *b = y;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return by_node(x, y);
}

static struct on_nodes bundles_on_nodes(struct hunt *h)
{
    struct on_nodes all = { 0 };

    for (size_t i = 0; i < h->bundles.n; i++)
        VEC_FOREACH(p, &h->bundles.v[i].pods)
            *vec_push(h->a, &all.list) = (struct on_node){ (*p)->node, i, i };
    qsort(all.list.v, all.list.n, sizeof(*all.list.v), by_node);
    for (size_t i = 1; i < all.list.n; i++)
        if (all.list.v[i].node == all.list.v[i - 1].node)
            all.list.v[i].first = all.list.v[i - 1].first;
    qsort(all.list.v, all.list.n, sizeof(*all.list.v), by_first);
    return all;
}

/* Take away what may go from one node. If none of our pods fits there even so, it was in vain, and all comes back. */
static bool clear_node(struct hunt *h, const struct on_node *v, size_t n)
{
    VEC(struct bundle *) taken = { 0 };

    if (fits_there(h, v->node, FIT_SOON))
        return false;
    for (size_t i = 0; i < n && !fits_there(h, v->node, FIT_SOON); i++) {
        struct bundle *b = &h->bundles.v[v[i].at];

        if (!b->is_out && bundle_out(h, b))
            *vec_push(h->a, &taken) = b;
    }
    if (fits_there(h, v->node, FIT_SOON))
        return taken.n > 0;
    VEC_FOREACH(b, &taken)
        bundle_back(h, *b);
    return false;
}

/* Each queue gives back only what it has beyond its share. Where several queues have little too much, the cheapest
 * bundles lie on different nodes and free none of them: take those that lie together. */
static bool take_by_node(struct hunt *h)
{
    struct on_nodes all = bundles_on_nodes(h);
    size_t n, n_cleared = 0, due = 1;
    struct trial t;

    all_back(h, NULL);
    for (size_t i = 0; i < all.list.n; i += n) {
        for (n = 1; i + n < all.list.n && all.list.v[i + n].node == all.list.v[i].node;)
            n++;
        if (!clear_node(h, &all.list.v[i], n) || ++n_cleared < due)
            continue;
        if (evict_fits(h, &t)) {
            trial_undo(&t);
            return true;
        }
        due *= 2;
    }
    return n_cleared && fits_soon(h);
}

static bool whole_is_out(const struct hunt *h, const struct sched_group *g)
{
    VEC_FOREACH(b, &h->bundles)
        if (b->is_out && b->is_whole && b->group == g)
            return true;
    return false;
}

/* Put back what was not needed, the dearest first. */
static void evict_prune(struct hunt *h)
{
    int trials = PRUNE_TRIALS;
    struct trial t;

    for (size_t i = h->bundles.n; i-- > 0 && trials > 0;) {
        struct bundle *b = &h->bundles.v[i];

        if (!b->is_out || (!b->is_whole && whole_is_out(h, b->group)))
            continue;
        bundle_back(h, b);
        trials--;
        if (evict_fits(h, &t))
            trial_undo(&t);
        else
            (void)bundle_out(h, b); /* it was allowed before */
    }
}

/* The right victims are too young: better to wait for the youngest than to take others in their place. */
static bool is_too_early(struct hunt *h, struct eviction *e)
{
    int64_t due = 0;

    VEC_FOREACH(p, &e->victims.list)
        due = MAX_OF(due, due_ms(h, *p));
    e->is_early = due > h->m->round_ms;
    if (e->is_early)
        wake_at(h->wake_ms, due);
    return e->is_early;
}

bool evict_plan(struct sched_model *m, struct sched_group *g, enum evict_kind kind, struct arena *a,
                struct eviction *ret)
{
    struct hunt h = { .m = m, .g = g, .kind = kind, .a = a, .wake_ms = &ret->wake_ms };
    struct share_lack lack;
    uint64_t room = m->room_gen;
    bool is_found;

    ret->victims = (struct victims){ 0 };
    h.rank = evict_rank_of(g);
    h.asked_ms = evict_asked_ms(g);
    h.until_ms = MAX_OF(m->round_ms, g->since.waiting_ms + m->config.min_run_ms);
    gang_needs(m, g, a, &h.needs);
    if (!evict_is_worth(m, g, kind, &h.needs, &ret->wake_ms))
        return false;
    if (!share_allows(m, g->queue, &h.needs, kind == EVICT_RECLAIM ? SHARE_FAIR : SHARE_LIMIT, &lack))
        h.full = lack.queue;
    evict_collect(&h);
    if (h.bundles.n == 0)
        return false;
    forget_going(&h);
    is_found = !fits_soon(&h) && (take_until_fit(&h) || take_by_node(&h));
    if (is_found) {
        evict_prune(&h);
        is_found = evict_fits(&h, &ret->trial);
    }
    all_back(&h, is_found ? &ret->victims : NULL);
    restore_going(&h);
    m->room_gen = room;
    if (is_found && (ret->victims.list.n == 0 /* those who go already are enough */ || is_too_early(&h, ret))) {
        trial_undo(&ret->trial);
        return false;
    }
    return is_found;
}

/* ---- inside one job ---- */

static struct sched_pod *first_waiting(struct sched_group *g)
{
    struct sched_pod *best = NULL;

    VEC_FOREACH(r, &g->roles)
        LIST_FOREACH(struct sched_pod, p, &(*r)->pods[POD_PENDING], in_role)
            if (!p->is_gated && !p->never_preempts && (!best || surplus_cmp(&p, &best) > 0))
                best = p;
    return best;
}

/* Where this pod could go, by its queue and the nodes, once all that goes has gone. */
static struct sched_node *place_soon(struct hunt *h, const struct sched_pod *p)
{
    if (!share_allows(h->m, h->g->queue, &p->class->ask, SHARE_LIMIT, NULL))
        return NULL;
    return fit_best(h->m, &(struct fit_question){ p->class, h->g, FIT_SOON }, fit_all(h->m));
}

/* The first surplus pod of a lower priority whose place, or part of the queue, 'want' can use. */
static struct sched_pod *victim_within(struct hunt *h, const struct sched_pod *want, struct sched_node **ret_node)
{
    bool can_all;
    struct pod_list pods = placed_pods(h, h->g, &can_all);
    struct spares spares = { 0 };
    int64_t n = 0;

    VEC_FOREACH(p, &pods.list) {
        struct bundle one = { .group = h->g };

        if ((*p)->priority >= want->priority)
            return NULL;
        if (!is_surplus(h, h->g, *p, &n, &spares))
            continue;
        *vec_push(h->a, &one.pods) = *p;
        if (!budgets_bear(h, &one))
            continue;
        pod_out(h, *p);
        *ret_node = place_soon(h, want);
        pod_back(h, *p);
        if (*ret_node)
            return *p;
    }
    return NULL;
}

bool evict_within(struct sched_model *m, struct sched_group *g, struct arena *a, struct eviction *ret)
{
    struct hunt h = { .m = m, .g = g, .kind = EVICT_PREEMPT, .until_ms = m->round_ms, .a = a };
    struct sched_pod *want = first_waiting(g), *victim = NULL;
    struct sched_node *node = NULL;
    uint64_t room = m->room_gen;

    *ret = (struct eviction){ .trial = { .m = m, .group = g, .arena = a } };
    if (!want)
        return false;
    forget_going(&h);
    if (!place_soon(&h, want))
        victim = victim_within(&h, want, &node);
    restore_going(&h);
    m->room_gen = room;
    if (!victim)
        return false;
    *vec_push(a, &ret->victims.list) = victim;
    seat_take(m, node, want->class);
    *vec_push(a,
              &ret->trial.seats) = (struct seat){ .pod = want, .role = want->role, .class = want->class, .node = node };
    return true;
}
