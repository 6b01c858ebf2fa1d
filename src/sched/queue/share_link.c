/* share_link.c - which queue is below which: parents, circles, and the sums over children */
#include "sched/queue/share_internal.h"

#include "base/util.h"

#include <stdlib.h>

static int queue_by_name(const void *a, const void *b)
{
    return str_cmp((*(struct sched_queue *const *)a)->name, (*(struct sched_queue *const *)b)->name);
}

static struct sched_queue **sorted_queues(const struct sched_model *m, struct arena *a, size_t *ret_n)
{
    struct sched_queue **all = arena_array(a, struct sched_queue *, map_count(&m->queues));
    size_t n = 0;

    MAP_FOREACH(struct sched_queue *, q, &m->queues)
        all[n++] = q;
    qsort(all, n, sizeof(*all), queue_by_name);
    *ret_n = n;
    return all;
}

/* The parent as written, if there is such a Queue; else root. */
static struct sched_queue *wanted_parent(const struct sched_model *m, const struct sched_queue *q)
{
    struct sched_queue *parent = str_empty(q->parent_name) ? m->root : map_get(&m->queues, q->parent_name);

    return parent && (parent->exists || parent == m->root) ? parent : m->root;
}

/* Which queues are on a circle of parents? Take away the queues that are no queue's parent, again and again: only
 * circles are left. All queues on a circle hang below root, in whatever order their objects came. */
static bool *find_circles(const struct sched_model *m, struct arena *a, struct sched_queue *const *all, size_t n)
{
    bool *is_on_circle = arena_array(a, bool, n);
    size_t *up = arena_array(a, size_t, n), *below = arena_array(a, size_t, n), *free = arena_array(a, size_t, n);
    size_t n_free = 0;

    for (size_t i = 0; i < n; i++) {
        const struct sched_queue *parent = wanted_parent(m, all[i]);

        up[i] = (size_t)((struct sched_queue **)bsearch(&parent, all, n, sizeof(*all), queue_by_name) - all);
        below[up[i]] += all[i] != m->root;
        is_on_circle[i] = all[i] != m->root;
    }
    for (size_t i = 0; i < n; i++)
        if (below[i] == 0)
            free[n_free++] = i;
    for (size_t k = 0; k < n_free; k++) {
        is_on_circle[free[k]] = false;
        if (all[free[k]] != m->root && --below[up[free[k]]] == 0)
            free[n_free++] = up[free[k]];
    }
    return is_on_circle;
}

struct share_tree share_flat(const struct sched_model *m, struct arena *a)
{
    struct share_tree t = { .v = arena_array(a, struct spot, map_count(&m->queues) + 1), .n = 1 };

    t.v[0] = (struct spot){ .q = m->root };
    for (uint32_t i = 0; i < t.n; i++) {
        struct spot *s = &t.v[i];

        s->first = (uint32_t)t.n;
        s->n = (uint32_t)s->q->children.n;
        VEC_FOREACH(child, &s->q->children)
            t.v[t.n++] = (struct spot){ .q = *child, .parent = i };
    }
    return t;
}

/* Counted afresh from the groups: a sum that once reached the bound cannot be taken apart. */
static void sum_groups(struct sched_queue *q, int n)
{
    q->allocated = q->going = q->demand = q->admitted = q->opened = (struct amounts){ 0 };
    LIST_FOREACH(struct sched_group, g, &q->groups, in_queue) {
        amounts_add(&q->allocated, &g->counts.allocated, n);
        amounts_add(&q->going, &g->counts.going, n);
        amounts_add(&q->demand, &g->demand, n);
        amounts_add(&q->admitted, &g->admitted, n);
        amounts_add(&q->opened, &g->counts.opened, n);
    }
}

static void sum_queues(const struct share_tree *t, int n)
{
    for (size_t i = t->n; i-- > 1;) {
        struct sched_queue *q = t->v[i].q;

        amounts_add(&q->parent->allocated, &q->allocated, n);
        amounts_add(&q->parent->going, &q->going, n);
        amounts_add(&q->parent->demand, &q->demand, n);
        amounts_add(&q->parent->admitted, &q->admitted, n);
        amounts_add(&q->parent->opened, &q->opened, n);
    }
}

void share_link(struct sched_model *m)
{
    autoarena a = { 0 };
    struct sched_queue **all;
    struct share_tree tree;
    bool *is_on_circle;
    size_t n;

    all = sorted_queues(m, &a, &n);
    is_on_circle = find_circles(m, &a, all, n);
    for (size_t i = 0; i < n; i++) {
        sum_groups(all[i], m->dims.n);
        all[i]->children.n = 0;
    }
    for (size_t i = 0; i < n; i++) { /* by name, so children are too */
        struct sched_queue *q = all[i], *parent = q == m->root ? NULL : wanted_parent(m, q);
        bool is_lost = /* it names a parent that does not exist */
            parent == m->root && !str_empty(q->parent_name) && !str_eq(q->parent_name, m->root->name);

        q->has_cycle = parent && (is_on_circle[i] || is_lost);
        q->parent = q->has_cycle ? m->root : parent;
        if (q->parent)
            *vec_push(&q->parent->arena, &q->parent->children) = q;
    }
    tree = share_flat(m, &a);
    sum_queues(&tree, m->dims.n);
    m->queues_changed = false;
    m->shares_changed = true;
}
