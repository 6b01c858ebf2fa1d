/* pack.c - a gang whose pods differ in size: another order, and for few pods every way
 *
 * Pods are tried in the order in which they are served, each on the node that is best for it. Small ones that come
 * first may stand where a large one had to go. So what failed is tried once more, the largest first; and a gang of few
 * pods that would be called impossible is tried in every way, up to a number of steps. One that needed that once
 * (found.is_tight) is tried like this whenever it is tried.
 */
#include "base/util.h"
#include "sched/gang/gang_internal.h"

enum { PACK_PODS = 16, PACK_STEPS = 5000 };

struct pack { /* the slots that make up the minimum */
    struct gang_work *w;
    VEC(struct slot *) slots;
    int steps;
};

bool pack_is_worth(const struct gang_work *w)
{
    const struct pod_class *first = NULL;

    if (!w->stuck || w->is_limit)
        return false;
    VEC_FOREACH(s, &w->slots->list) {
        if (first && s->class != first)
            return true;
        first = s->class;
    }
    return false;
}

static int64_t pack_size_of(const struct pack *p, const struct slot *s)
{
    return amounts_share(&s->class->ask, &p->w->t->m->total, p->w->t->m->dims.n);
}

static int pack_by_size(const void *x, const void *y, void *pack)
{
    const struct slot *a = *(struct slot *const *)x, *b = *(struct slot *const *)y;
    int64_t sa = pack_size_of(pack, a), sb = pack_size_of(pack, b);

    return sa != sb ? (sa > sb ? -1 : 1) : a < b ? -1 : a > b;
}

static void pack_add(struct pack *p, struct slot *s)
{
    s->is_seated = true; /* for a moment: chosen */
    *vec_push(p->w->t->arena, &p->slots) = s;
}

/* Choose the pods that each role must have, then the first of the rest, or ('is_small') the smallest. */
static bool pack_choose(struct pack *p, bool is_small)
{
    struct gang_work *w = p->w;
    int64_t lacks = group_min(w->t->group) - group_ready(w->t->group);
    VEC(struct slot *) rest = { 0 };

    p->slots.n = 0;
    VEC_FOREACH(r, &w->t->group->roles) {
        int64_t of_role = (*r)->min - role_ready(*r);

        VEC_FOREACH(s, &w->slots->list)
            if (s->role == *r && of_role > 0 && !s->is_seated) {
                pack_add(p, s);
                of_role--;
                lacks--;
            }
    }
    VEC_FOREACH(s, &w->slots->list)
        if (!s->is_seated)
            *vec_push(w->t->arena, &rest) = s;
    if (is_small && rest.n)
        qsort_r(rest.v, rest.n, sizeof(*rest.v), pack_by_size, p);
    for (size_t i = 0; i < rest.n && lacks > 0; i++, lacks--)
        pack_add(p, rest.v[is_small ? rest.n - 1 - i : i]);
    VEC_FOREACH(s, &p->slots)
        (*s)->is_seated = false;
    if (p->slots.n)
        qsort_r(p->slots.v, p->slots.n, sizeof(*p->slots.v), pack_by_size, p);
    return lacks <= 0;
}

static bool largest_first(struct pack *p)
{
    VEC_FOREACH(s, &p->slots)
        if (!gang_take(p->w, *s, false)) {
            gang_undo_to(p->w, 0);
            return false;
        }
    return true;
}

/* Pods of one class are alike: a later one never goes to an earlier node. */
static uint32_t first_node(const struct pack *p, size_t at)
{
    const struct trial *t = p->w->t;

    if (at == 0 || p->slots.v[at]->class != p->slots.v[at - 1]->class || p->slots.v[at]->class->is_coupled)
        return p->w->range.from;
    return t->seats.v[t->seats.n - 1].node->index;
}

static bool every_way(struct pack *p, size_t at)
{
    struct gang_work *w = p->w;
    size_t before = w->t->seats.n;
    struct slot *s;

    if (at == p->slots.n)
        return true;
    s = p->slots.v[at];
    for (uint32_t i = first_node(p, at); i < w->range.to; i++) {
        if (--p->steps < 0)
            return false;
        if (!gang_take_at(w, s, w->t->m->order[i]))
            continue;
        if (every_way(p, at + 1))
            return true;
        gang_undo_to(w, before);
    }
    return false;
}

bool pack_try(struct gang_work *w)
{
    struct pack p = { .w = w, .steps = PACK_STEPS };

    gang_undo_to(w, 0);
    for (int is_small = 0; is_small < 2; is_small++) {
        if (!pack_choose(&p, is_small))
            return false;
        if (largest_first(&p))
            return true;
        if (w->t->group->found.is_tight && p.slots.n <= PACK_PODS && every_way(&p, 0))
            return true;
        gang_undo_to(w, 0);
    }
    return false;
}
