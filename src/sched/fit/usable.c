/* usable.c - nodes that no group's pods may use: what is free on them is nobody's
 *
 * A cordon, or a taint that no pod of any group tolerates (a control plane's), closes a node. What runs there still
 * counts; the rest is neither shared among queues nor promised to anybody.
 */
#include "base/util.h"
#include "sched/fit/fit_internal.h"
#include "sched/queue/share.h"

static bool role_tolerates(const struct sched_role *r, const struct sched_node *n)
{
    if (r->class && fit_tolerates(r->class, n))
        return true;
    for (int s = 0; s < POD_STATE_MAX; s++) {
        const struct sched_pod *p = LIST_FIRST(&r->pods[s], struct sched_pod, in_role); /* the others are like it */

        if (p && p->class && fit_tolerates(p->class, n))
            return true;
    }
    return false;
}

bool group_tolerates(const struct sched_group *g, const struct sched_node *n)
{
    VEC_FOREACH(r, &g->roles)
        if (role_tolerates(*r, n))
            return true;
    return n->takes_pods;
}

static bool is_closed(const struct sched_model *m, const struct sched_node *n)
{
    MAP_FOREACH(struct sched_group *, g, &m->groups)
        if (group_tolerates(g, n))
            return false;
    return true;
}

/* Closed nodes are mostly alike: one answer does for the next. */
static void find_closed(struct sched_model *m)
{
    const struct sched_node *last = NULL;
    bool was_closed = false;

    arena_reset(&m->closed_arena);
    m->closed.n = m->closed.cap = 0;
    m->closed.v = NULL;
    MAP_FOREACH(struct sched_node *, n, &m->nodes) {
        if (!n->exists || n->takes_pods)
            continue;
        if (!last || last->is_unschedulable != n->is_unschedulable || !json_equal(last->taints, n->taints))
            was_closed = is_closed(m, n);
        last = n;
        if (was_closed)
            *vec_push(&m->closed_arena, &m->closed) = n;
    }
}

void usable_update(struct sched_model *m)
{
    struct amounts usable = m->total;

    if (m->closed_gen != m->node_gen + m->tolerant_gen) {
        m->closed_gen = m->node_gen + m->tolerant_gen;
        find_closed(m);
    }
    VEC_FOREACH(n, &m->closed)
        for (int d = 0; d < m->dims.n; d++)
            usable.v[d] -= MAX_OF((*n)->total.v[d] - (*n)->used.v[d], 0);
    if (amounts_equal(&usable, &m->usable, m->dims.n))
        return;
    m->usable = usable;
    m->shares_changed = true;
}
