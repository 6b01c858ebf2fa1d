/* gate.c - opens the queue-allocation gates of pods that opted in (api/pod/gate.h)
 *
 * The gates of a gang's missing minimum are opened together, so that no two gangs hold half of a queue each and wait for
 * the rest of it. Pods beyond the minimum follow one by one.
 *
 * Only capabilities count, of the queue and of those above it: where nodes are missing, the autoscaler has to see the
 * pods. What opened gates let through holds its part of the capability against other gates until it has a node
 * (sched_queue.opened).
 */
#include "sched/round.h"

#include "base/util.h"

struct gates {
    VEC(struct sched_pod *) list;
};

static int gate_by_service(const void *x, const void *y)
{
    const struct sched_pod *a = *(struct sched_pod *const *)x, *b = *(struct sched_pod *const *)y;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    return str_cmp(a->uid, b->uid);
}

static void gates_sort(struct gates *g)
{
    if (g->list.n)
        qsort(g->list.v, g->list.n, sizeof(*g->list.v), gate_by_service);
}

/* Closed gates of one role: those that its own minimum needs, and the others. How many of its pods will be open then;
 * -1: too few for its minimum. */
static int64_t gates_of_role(struct round *r, struct sched_role *role, struct gates *ret_needed,
                             struct gates *ret_others)
{
    int64_t open = role_ready(role) + role->n[POD_PENDING] - role->n_gated;
    struct gates closed = { 0 };

    LIST_FOREACH(struct sched_pod, p, &role->pods[POD_PENDING], in_role) {
        open += p->queue_gate == QUEUE_GATE_OPENING;
        if (p->queue_gate == QUEUE_GATE_CLOSED)
            *vec_push(&r->trial, &closed.list) = p;
    }
    gates_sort(&closed);
    VEC_FOREACH(p, &closed.list) {
        bool is_needed = open < role->min;

        *vec_push(&r->trial, is_needed ? &ret_needed->list : &ret_others->list) = *p;
        open += is_needed;
    }
    return open < role->min ? -1 : open;
}

/* The queue or one above it whose capability is in the way; NULL: none. */
static const struct sched_queue *gate_refused_by(const struct sched_model *m, const struct sched_queue *q,
                                                 const struct amounts *ask, struct why *ret)
{
    for (; q; q = q->parent)
        for (int d = 0; d < m->dims.n; d++) {
            int64_t left = q->capability.v[d] - q->allocated.v[d] - q->going.v[d] - q->opened.v[d];

            if (ask->v[d] <= 0 || q->capability.v[d] >= AMOUNT_UNLIMITED || ask->v[d] <= left)
                continue;
            *ret = (struct why){ .kind = WHY_CAPABILITY, .dim = d, .have = MAX_OF(left, 0), .need = ask->v[d] };
            (void)snprintf(ret->queue, sizeof(ret->queue), "%.*s", STR_ARG(q->name));
            return q;
        }
    return NULL;
}

static bool gates_open(struct round *r, const struct sched_queue *q, struct sched_pod *const *pods, size_t n,
                       struct why *ret)
{
    struct amounts ask = { { 0 } };

    for (size_t i = 0; i < n; i++)
        amounts_add(&ask, &pods[i]->class->ask, r->m->dims.n);
    if (gate_refused_by(r->m, q, &ask, ret))
        return false;
    for (size_t i = 0; i < n; i++) {
        (void)round_decide(r, DECIDE_OPEN, pods[i]->namespace, pods[i]->name, pods[i]->uid);
        model_set_gate(r->m, pods[i], QUEUE_GATE_OPENING);
    }
    return true;
}

bool round_open_gates(struct round *r, struct sched_group *g, struct why *ret)
{
    struct gates needed = { 0 }, others = { 0 };
    struct why beyond;
    int64_t open = 0;
    size_t i = 0;

    if (!g->counts.n_closed || !r->m->config.places)
        return true;
    VEC_FOREACH(role, &g->roles) {
        int64_t of_role = gates_of_role(r, *role, &needed, &others);

        if (of_role < 0)
            return true; /* pods are missing, or behind gates of others: that is said elsewhere */
        open += of_role;
    }
    gates_sort(&others);
    for (; open < group_min(g) && i < others.list.n; open++)
        *vec_push(&r->trial, &needed.list) = others.list.v[i++];
    if (open < group_min(g))
        return true;
    if (needed.list.n)
        return gates_open(r, g->queue, needed.list.v, needed.list.n, ret);
    while (i < others.list.n && gates_open(r, g->queue, &others.list.v[i], 1, &beyond))
        i++;
    return true;
}
