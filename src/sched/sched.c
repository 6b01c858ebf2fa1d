/* sched.c - the public face: news in, rounds out, questions answered */
#include "sched/sched_internal.h"

#include "base/util.h"
#include "sched/model/feed.h"
#include "sched/gang/parked.h"
#include "sched/round.h"
#include "sched/queue/share.h"
#include "sched/fit/volume.h"

struct sched *sched_new(const struct sched_config *config, uint64_t seed)
{
    struct sched *s = xcalloc(1, sizeof(*s));
    struct sched_config standard;

    sched_config_default(&standard);
    model_init(&s->m, config ? config : &standard, seed);
    return s;
}

void sched_free(struct sched *s)
{
    if (!s)
        return;
    while (!list_is_empty(&s->m.kept))
        hold_drop(&s->m, LIST_FIRST(&s->m.kept, struct hold, link)->group);
    while (!list_is_empty(&s->m.seated))
        hold_drop(&s->m, LIST_FIRST(&s->m.seated, struct hold, link)->group);
    model_done(&s->m);
    arena_done(&s->late);
    arena_done(&s->answers);
    free(s);
}

void sched_configure(struct sched *s, const struct sched_config *config)
{
    s->m.config = *config;
    s->m.room_gen++; /* who was refused by the old rules is asked again */
    s->m.node_gen++;
    s->m.shares_changed = true;
    fit_reordered(&s->m); /* scores have other weights */
}

void sched_put(struct sched *s, const struct json *root)
{
    feed_put(&s->m, root);
}

void sched_gone(struct sched *s, struct str kind, struct str namespace, struct str name, struct str uid)
{
    feed_gone(&s->m, kind, namespace, name, uid);
}

bool sched_wants(struct str api_version, struct str kind)
{
    return feed_wants(api_version, kind);
}

/* What did not work is said before the round tries again. */
static void sched_tell_failures(struct sched *s, struct sched_round *ret)
{
    VEC_FOREACH(f, &s->failures) {
        struct decision *d = vec_push(&ret->arena, &ret->list);

        *d = *f;
        d->namespace = arena_str(&ret->arena, f->namespace);
        d->name = arena_str(&ret->arena, f->name);
        d->uid = arena_str(&ret->arena, f->uid);
        d->message = arena_str(&ret->arena, f->message);
    }
    s->failures.n = s->failures.cap = 0;
    s->failures.v = NULL;
    arena_reset(&s->late);
}

void sched_round(struct sched *s, int64_t now_ms, struct sched_round *ret)
{
    s->room = s->m.room_gen;
    s->yields = s->m.yields;
    arena_reset(&s->answers);
    sched_tell_failures(s, ret);
    sched_round_run(&s->m, now_ms, ret);
}

bool sched_is_idle(const struct sched *s)
{
    return list_is_empty(&s->m.dirty) && s->room == s->m.room_gen && s->yields == s->m.yields && !s->m.is_unordered &&
           !s->m.shares_changed;
}

/* ---- what did not work ---- */

static struct sched_pod *find_pod(const struct sched_model *m, const struct decision *d)
{
    return map_get(&m->pods, d->uid);
}

static void sched_note_failure(struct sched *s, const struct decision *d, enum decision_kind kind, struct str message)
{
    *vec_push(&s->late, &s->failures) = (struct decision){
        .kind = kind,
        .namespace = arena_str(&s->late, d->namespace),
        .name = arena_str(&s->late, d->name),
        .uid = arena_str(&s->late, d->uid),
        .reason = kind == DECIDE_EVENT ? STR("FailedScheduling") : STR("SchedulerError"),
        .message = message,
        .event_type = "Warning",
        .event_kind = "Pod",
    };
}

static void bind_failed(struct sched *s, const struct decision *d, struct str error)
{
    struct sched_pod *p = find_pod(&s->m, d);
    struct str message;

    if (!p || p->state != POD_BINDING)
        return;
    p->written = 0; /* what was to be said before it was bound may not have been */
    if (!str_empty(error)) {
        message = arena_fmt(&s->late, "failed to bind to node %.*s: %.*s", STR_ARG(d->node), STR_ARG(error));
        sched_note_failure(s, d, DECIDE_POD_STATUS, message);
        sched_note_failure(s, d, DECIDE_EVENT, message);
        p->written = hash_of_condition(STR("False"), STR("SchedulerError"), message);
    }
    p->started_ms = p->bound_ms = 0;
    p->seat = NULL; /* of the round that bound it */
    model_set_pod(&s->m, p, POD_PENDING, NULL);
}

static bool is_overfull(const struct sched_model *m, const struct sched_pod *p)
{
    for (int d = 0; d < m->dims.n; d++)
        if (p->class->ask.v[d] && p->node->used.v[d] > p->node->total.v[d])
            return true;
    return false;
}

/* A volume that was taken for it may have been given to another claim. */
static bool has_its_volumes(const struct sched_model *m, const struct pod_class *c)
{
    struct str volume;

    VEC_FOREACH(claim, &c->claims)
        if (volume_way(m, c, claim, &volume) == VOLUME_IS_LOST)
            return false;
    return true;
}

static bool bind_stands(struct sched *s, const struct decision *bind, const struct sched_pod *p)
{
    if (p->state != POD_BINDING || !p->group || !p->group->podgroup.exists || !group_is_whole(p->group))
        return false;
    if (!p->node->exists || !str_eq(p->node->name, bind->node) || is_overfull(&s->m, p))
        return false;
    if (!has_its_volumes(&s->m, p->class))
        return false;
    share_update(&s->m);
    if (share_is_exceeded(&s->m, p->group->queue, p->class->ask_dims))
        return false;
    /* A pod with terms about others counts itself among them by now. */
    return p->class->is_coupled ||
           fit_node(&s->m, &(struct fit_question){ p->class, p->group, FIT_EMPTY }, p->node, NULL);
}

static bool evict_stands(const struct sched *s, const struct decision *evict, const struct sched_pod *p)
{
    const struct sched_group *other = map_get(&s->m.groups, evict->other);

    if (str_is(evict->reason, "gang"))
        return p->told != POD_RUNNING;
    return other && other->hold && other->hold->kind == HOLD_EVICTING;
}

bool sched_stands(struct sched *s, const struct decision *d)
{
    const struct sched_pod *p = find_pod(&s->m, d);

    return p && (d->kind == DECIDE_EVICT ? evict_stands(s, d, p) : bind_stands(s, d, p));
}

static void evict_failed(struct sched *s, const struct decision *d)
{
    struct sched_pod *p = find_pod(&s->m, d);
    bool is_stopped;

    if (!p || !p->is_victim || p->told == POD_GOING)
        return;
    p->is_victim = false;
    is_stopped = p->group && p->group->stops && !group_is_whole(p->group);
    model_set_pod(&s->m, p, p->told, p->node); /* D46: as it was */
    if (is_stopped && group_is_whole(p->group))
        p->group->stops--;
    LIST_FOREACH(struct hold, c, &s->m.kept, link) /* the group it was evicted for decides again */
        if (c->kind == HOLD_EVICTING) {
            c->group->found.tried = 0;
            model_touch(&s->m, c->group);
        }
}

void sched_failed(struct sched *s, const struct decision *d, struct str error)
{
    struct sched_group *g;
    struct sched_queue *q;
    struct sched_pod *p;

    switch (d->kind) {
    case DECIDE_BIND:
        bind_failed(s, d, error);
        return;
    case DECIDE_EVICT:
        evict_failed(s, d);
        return;
    case DECIDE_OPEN:
        if ((p = find_pod(&s->m, d)) && p->queue_gate == QUEUE_GATE_OPENING)
            model_set_gate(&s->m, p, QUEUE_GATE_CLOSED);
        return;
    case DECIDE_POD_STATUS:
        if ((p = find_pod(&s->m, d)))
            p->written = 0;
        return;
    case DECIDE_GROUP:
        if ((g = model_group(&s->m, d->namespace, d->name))) {
            g->status.written = 0;
            model_touch(&s->m, g);
        }
        return;
    case DECIDE_QUEUE:
        if ((q = model_queue(&s->m, d->name))) {
            q->written = 0;
            s->m.shares_changed = true;
        }
        return;
    case DECIDE_NOMINATE: /* best effort */
    case DECIDE_EVENT:
    case DECISION_KIND_MAX:
        return;
    }
}

void sched_claims(struct sched *s, struct str pod_uid, void (*each)(void *ctx, const struct sched_claim *claim),
                  void *ctx)
{
    const struct sched_pod *p = map_get(&s->m.pods, pod_uid);

    if (!p)
        return;
    VEC_FOREACH(claim, &p->class->claims) {
        struct sched_claim told = { .name = claim->name };
        enum volume_way way = volume_way(&s->m, p->class, claim, &told.volume);

        told.is_named = way == VOLUME_KNOWS_CLAIM;
        told.is_reserved = way == VOLUME_IS_RESERVED;
        told.is_lost = way == VOLUME_IS_LOST;
        if (way != VOLUME_IS_THERE)
            each(ctx, &told);
    }
}

/* ---- asking ---- */

/* Fill in what was left out while nothing asked for it. */
static void complete_why(struct sched *s, struct sched_group *g)
{
    struct parked *parked = parked_of(g->gang.alike);
    autoarena a = { 0 };
    struct why why;

    model_order(&s->m);
    if (parked && parked->first == g) {
        struct round r = { .m = &s->m, .a = &a, .now_ms = s->m.round_ms, .lowest_seated = INT32_MIN };

        parked_note(&s->m, parked);
        round_say_again(&r, g);
        arena_done(&r.trial);
    }
    why = *g->why;
    if (!why.is_brief)
        return;
    gang_complete(&s->m, g, &a, &why);
    group_forget_seats(g);
    group_say(g, &why);
}

/* A group behind others of its class may not have been asked since the first was: then the answer of the first
 * counts. */
static const struct why *latest_why(struct sched *s, struct sched_group *g)
{
    struct sched_group *first = g->gang.alike ? gang_class_first(g->gang.alike) : g;
    struct why *why;

    complete_why(s, first);
    if (g == first || (g->found.tried == first->found.tried && !g->why->is_brief) || first->why->kind == WHY_NOT)
        return g->why;
    why = arena_array(&s->answers, struct why, 1);
    *why = *first->why;
    memcpy(why->pod, g->why->pod, sizeof(why->pod));
    if (g->queue->is_fifo && why->kind != WHY_ORDER && !why->is_passed) {
        *why = (struct why){ .kind = WHY_ORDER, .dim = -1 };
        group_people_name(first, why->other, sizeof(why->other));
        (void)snprintf(why->queue, sizeof(why->queue), "%.*s", STR_ARG(g->queue->name));
    }
    return why;
}

static void view_group(struct sched *s, struct sched_group *g, struct arena *a, struct sched_group_view *ret)
{
    *ret = (struct sched_group_view){
        .namespace = g->namespace,
        .name = g->name,
        .queue = g->queue->name,
        .phase = str_of(group_phase_names[g->status.phase]),
        .job = g->spec.owner_job,
        .priority = g->spec.priority,
        .min = group_min(g),
        .ready = group_ready(g),
        .pending = g->counts.n[POD_PENDING],
        .running = g->counts.n[POD_RUNNING],
        .created_ms = g->spec.created_ms,
        .is_whole = group_is_whole(g),
        .has_hold = g->hold != NULL,
        .kept = g->hold ? g->hold->sum : (struct amounts){ { 0 } },
        .why = latest_why(s, g),
        .allocated = g->counts.allocated,
    };
    gang_needs(&s->m, g, a, &ret->needs);
}

bool sched_group_view(struct sched *s, struct str namespace, struct str name, struct sched_group_view *ret)
{
    struct sched_group *g = model_group(&s->m, namespace, name);
    autoarena a = { 0 };

    if (!g || !g->podgroup.exists)
        return false;
    view_group(s, g, &a, ret);
    return true;
}

const struct dims *sched_dims(const struct sched *s)
{
    return &s->m.dims;
}

static int sched_by_service(const void *x, const void *y)
{
    return order_cmp(*(struct sched_group *const *)x, *(struct sched_group *const *)y);
}

static int by_queue(const void *x, const void *y, void *model)
{
    return share_cmp(model, *(struct sched_queue *const *)x, *(struct sched_queue *const *)y);
}

/* Queue after queue in the order they would be served; inside, job after job. */
void sched_waiting(struct sched *s, struct arena *a, void (*each)(void *ctx, const struct sched_group_view *g),
                   void *ctx)
{
    VEC(struct sched_queue *) queues = { 0 };

    MAP_FOREACH(struct sched_queue *, q, &s->m.queues)
        *vec_push(a, &queues) = q;
    if (queues.n)
        qsort_r(queues.v, queues.n, sizeof(*queues.v), by_queue, &s->m);
    VEC_FOREACH(q, &queues) {
        VEC(struct sched_group *) groups = { 0 };

        LIST_FOREACH(struct sched_group, g, &(*q)->groups, in_queue) {
            if (!list_is_linked(&g->in_waiting) || g->is_whole)
                continue;
            g->share = s->m.config.has_drf ? amounts_share(&g->counts.allocated, &s->m.total, s->m.dims.n) : 0;
            *vec_push(a, &groups) = g;
        }
        if (groups.n)
            qsort(groups.v, groups.n, sizeof(*groups.v), sched_by_service);
        VEC_FOREACH(g, &groups) {
            struct sched_group_view v;

            view_group(s, *g, a, &v);
            each(ctx, &v);
        }
    }
}

static int by_queue_name(const void *x, const void *y)
{
    return str_cmp((*(struct sched_queue *const *)x)->name, (*(struct sched_queue *const *)y)->name);
}

static void count_waiting(const struct sched_queue *q, struct sched_queue_view *v)
{
    LIST_FOREACH(struct sched_group, g, &q->groups, in_queue) {
        if (!list_is_linked(&g->in_waiting) || g->is_whole)
            continue;
        v->n_waiting++;
        v->n_waiting_pods += g->counts.n[POD_PENDING];
    }
}

void sched_queues(struct sched *s, void (*each)(void *ctx, const struct sched_queue_view *q), void *ctx)
{
    autoarena a = { 0 };
    VEC(struct sched_queue *) all = { 0 };

    share_update(&s->m);
    MAP_FOREACH(struct sched_queue *, q, &s->m.queues)
        if (q->exists)
            *vec_push(&a, &all) = q;
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), by_queue_name);
    VEC_FOREACH(at, &all) {
        const struct sched_queue *q = *at;
        struct sched_queue_view v = { .name = q->name,
                                      .parent = q->parent ? q->parent->name : STR_NULL,
                                      .is_open = q->is_open,
                                      .weight = q->weight,
                                      .allocated = q->allocated,
                                      .fair = q->fair,
                                      .demand = q->demand,
                                      .capability = q->capability,
                                      .limit = q->limit,
                                      .admitted = q->admitted };

        count_waiting(q, &v);
        each(ctx, &v);
    }
}

static int by_node_name(const void *x, const void *y)
{
    return str_cmp((*(struct sched_node *const *)x)->name, (*(struct sched_node *const *)y)->name);
}

void sched_nodes(struct sched *s, void (*each)(void *ctx, const struct sched_node_view *n), void *ctx)
{
    autoarena a = { 0 };
    VEC(struct sched_node *) all = { 0 };

    model_sync_dims(&s->m);
    MAP_FOREACH(struct sched_node *, n, &s->m.nodes)
        if (n->exists)
            *vec_push(&a, &all) = n;
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), by_node_name);
    VEC_FOREACH(n, &all) {
        struct sched_node_view v = { (*n)->name, (*n)->total, (*n)->used, (*n)->held };

        each(ctx, &v);
    }
}
