/* parked.c - gangs that the nodes or their queue refused, in the order of service */
#include "sched/gang/parked.h"

#include "base/util.h"
#include "sched/round.h"

#include <assert.h>
#include <stdio.h>

struct parked *parked_of(const struct gang_class *c)
{
    return c && c->parked_at ? &gang_class_first(c)->queue->parked->v[c->parked_at - 1] : NULL;
}

/* ---- the order of service ---- */

/* The first entry from 'at' on that is still parked: the others have no group to compare with. */
static size_t parked_next_live(const struct parked_list *l, size_t at)
{
    while (at < l->n && !l->v[at].class)
        at++;
    return at;
}

size_t parked_after(const struct parked_list *l, size_t from, const struct sched_group *g)
{
    size_t to = l->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2, live = parked_next_live(l, middle);

        if (live >= to || order_cmp(l->v[live].first, g) > 0)
            to = middle;
        else
            from = live + 1;
    }
    return to;
}

/* ---- in ---- */

static void parked_move(struct parked_list *l, size_t from, size_t to)
{
    l->v[to] = l->v[from];
    l->v[to].class->parked_at = (uint32_t)to + 1;
}

static void parked_drop_gone(struct parked_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].class)
            parked_move(l, i, n++);
    l->n = n;
    l->n_gone = 0;
}

static struct parked_list *parked_need(struct sched_queue *q, size_t more)
{
    struct parked_list *l = q->parked;
    size_t want = (l ? l->n : 0) + more, cap = l ? l->cap : 0;

    if (l && want <= cap)
        return l;
    cap = MAX_OF(want, cap + cap / 2);
    q->parked = xrealloc(l, sizeof(*l) + cap * sizeof(*l->v));
    if (!l)
        *q->parked = (struct parked_list){ 0 };
    q->parked->cap = cap;
    return q->parked;
}

void parked_add(struct sched_model *m, struct sched_queue *q, const struct group_list *groups,
                void (*fill)(const struct sched_model *m, const struct sched_group *g, struct parked *ret))
{
    struct parked_list *l = parked_need(q, groups->list.n);
    size_t i, at;

    parked_drop_gone(l);
    i = l->n;
    at = l->n += groups->list.n;
    for (size_t k = groups->list.n; k > 0;) { /* merged from the end */
        struct sched_group *g = groups->list.v[k - 1];

        if (i > 0 && order_cmp(l->v[i - 1].first, g) > 0) {
            parked_move(l, --i, --at);
            continue;
        }
        k--;
        l->v[--at] = (struct parked){ .class = g->gang.alike, .first = g };
        fill(m, g, &l->v[at]);
        l->v[at].class->parked_at = (uint32_t)at + 1;
        list_remove(&g->gang.alike->link);
        list_push(&m->alike->parked, &g->gang.alike->link);
    }
}

/* ---- out ---- */

/* The nodes refused it: gang_complete() counts the places when a user asks. */
static void parked_say_room(const struct parked *p, struct why *ret)
{
    if (why_is_of_queue(ret->kind))
        *ret = (struct why){ .kind = WHY_NO_ROOM, .need = p->lacks, .needs = p->class->needs };
    ret->dim = p->dim;
    ret->is_brief = true;
}

static void parked_say_share(const struct sched_model *m, const struct parked *p, struct why *ret)
{
    const struct sched_queue *q = p->first->queue;
    const struct hold *keeper;

    if (!p->up)
        return;
    for (int i = 1; i < p->up && q->parent; i++)
        q = q->parent;
    *ret = (struct why){ .kind = (enum why_kind)p->kind, .dim = p->dim, .have = p->have };
    ret->need = p->class->needs.v[p->dim];
    (void)snprintf(ret->queue, sizeof(ret->queue), "%.*s", STR_ARG(q->name));
    keeper = ret->kind == WHY_QUEUE_RESERVED ? hold_keeper(m, q, p->first) : NULL;
    if (!keeper)
        return;
    ret->until_ms = keeper->free_ms;
    group_people_name(keeper->group, ret->other, sizeof(ret->other));
}

static void parked_say(const struct sched_model *m, const struct parked *p)
{
    struct why why = *p->first->why;

    if (why_is_of_queue((enum why_kind)p->kind))
        parked_say_share(m, p, &why);
    else
        parked_say_room(p, &why);
    group_say(p->first, &why);
}

void parked_note(const struct sched_model *m, struct parked *p)
{
    struct group_findings *found = &p->first->found;

    if (!p->is_ahead)
        return;
    p->is_ahead = false;
    found->tried = p->tried;
    found->tried_yields = p->tried_yields;
    found->hunted = p->hunted;
    found->hunt_ms = p->hunt_ms;
    found->is_stuck = p->is_stuck;
    p->first->retry_ms = p->retry_ms;
    parked_say(m, p);
}

/* Back to where it was: lists are in the order in which classes were made. */
static void gang_class_relist(struct sched_model *m, struct gang_class *c)
{
    list_remove(&c->link);
    LIST_FOREACH(struct gang_class, other, &m->alike->all, link)
        if (other->id > c->id) {
            list_insert_before(&other->link, &c->link);
            return;
        }
    list_push(&m->alike->all, &c->link);
}

void gang_class_unpark(struct sched_model *m, struct gang_class *c)
{
    struct parked *p = parked_of(c);
    struct parked_list *l;

    if (!p)
        return;
    assert(p->class == c && p->first == gang_class_first(c));
    l = p->first->queue->parked;
    parked_note(m, p);
    p->class = NULL;
    p->gone = m->alike->n_walks;
    c->parked_at = 0;
    gang_class_relist(m, c);
    l->n_gone++;
}
