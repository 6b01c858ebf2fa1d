/* never.c - what can never run as things stand, and therefore keeps nothing from others
 *
 * A group waits for something: pods that end, room in its queue, a node. Where nothing that goes on can help it there
 * is no sense in waiting for it: it asks for no share, no places are kept for it, no group leaves room for it, and the
 * first of a fifo queue is passed. When the nodes, its queue or the group itself change it is asked again.
 */
#include "sched/round.h"

#include "base/util.h"

/* Neither pods nor templates are known: more than may ever be promised is never let in. */
static bool is_beyond_credit(const struct sched_model *m, const struct sched_group *g)
{
    struct amounts most = { { 0 } };

    if (!g->spec.has_min_resources || group_is_admitted(g))
        return false;
    for (int d = 0; d < m->dims.n; d++)
        most.v[d] = round_credit(m, d);
    return amounts_lacking(&most, &g->spec.min_resources, m->dims.n) >= 0;
}

void round_find_never(struct round *r, struct sched_group *g)
{
    bool knows = group_knows_its_pods(g);
    uint64_t key = ((r->m->node_gen * 31 + g->podgroup.hash) * 31 + g->job.hash) * 2 + knows;

    key = (key * 31 + (uint64_t)group_ready(g)) * 31 + g->counts.n[POD_PENDING];
    if (key == g->found.never_key && !g->found.never_fits)
        return;
    g->found.never_key = key;
    arena_reset(&r->trial);
    g->found.is_tight = false;
    if (!knows) {
        g->found.never_fits = is_beyond_credit(r->m, g);
        return;
    }
    g->found.never_fits = !g->is_whole && !round_would_fit(r, g, FIT_EMPTY, NULL);
    if (!g->found.never_fits)
        return;
    g->found.is_tight = true; /* before it is called impossible */
    g->found.never_fits = !round_would_fit(r, g, FIT_EMPTY, NULL);
    g->found.is_tight = !g->found.never_fits;
}

bool round_is_beyond_limits(const struct sched_model *m, const struct sched_group *g, struct amounts needs,
                            struct why *ret)
{
    const struct sched_queue *q = g->queue;
    int dim = -1;

    amounts_add(&needs, &g->counts.allocated, m->dims.n); /* what it has it keeps */
    for (; q->parent; q = q->parent) {
        dim = amounts_lacking(&q->capability, &needs, m->dims.n);
        if (dim >= 0 && q->capability.v[dim] < m->root->limit.v[dim])
            break;
    }
    if (q->parent) {
        *ret = (struct why){ .kind = WHY_CAPABILITY, .have = q->capability.v[dim] };
    } else {
        q = g->queue;
        dim = amounts_lacking(&q->limit, &needs, m->dims.n);
        if (dim < 0 || q->limit.v[dim] >= m->root->limit.v[dim]) /* only the cluster is too small */
            return false;
        *ret = (struct why){ .kind = WHY_GUARANTEE, .have = q->limit.v[dim] };
    }
    ret->dim = dim;
    ret->need = needs.v[dim];
    ret->is_never = true;
    (void)snprintf(ret->queue, sizeof(ret->queue), "%.*s", STR_ARG(q->name));
    return true;
}

bool round_is_hopeless(const struct round *r, const struct sched_group *g)
{
    return g->found.never_fits || g->why->is_never ||
           (g->found.futile == r->m->node_gen && g->why->kind == WHY_NO_ROOM);
}

void round_pass(struct sched_group *g)
{
    struct why why = *g->why;

    why.is_passed = true;
    group_say(g, &why);
}
