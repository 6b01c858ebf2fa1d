/* hold.c - places that are kept for a group */
#include "sched/gang/hold.h"

#include "base/util.h"
#include "sched/gang/gang_class.h"

/* Of places kept: within what nodes have, so never near the bound of a sum. */
static void change_sum(const struct sched_model *m, struct amounts *sum, const struct amounts *by, bool is_more)
{
    if (is_more)
        amounts_add(sum, by, m->dims.n);
    else
        (void)amounts_sub(sum, by, m->dims.n);
}

/* The queue owes a group what is kept for it, as the nodes do: small jobs of the same queue must not use up what the
 * queue may have. */
static void owe(struct sched_model *m, const struct hold *c, bool is_owed)
{
    for (struct sched_queue *q = c->queue; q; q = q->parent) {
        change_sum(m, c->kind == HOLD_ADMITTED ? &q->seated : &q->owed, &c->sum, is_owed);
        if (c->kind == HOLD_EVICTING)
            change_sum(m, &q->cleared, &c->sum, is_owed);
    }
}

/* ---- on the nodes ---- */

/* By names: an order by addresses would be another one in each process. */
static int by_node(const void *x, const void *y)
{
    const struct hold_seat *a = x, *b = y;
    int order = a->node == b->node ? 0 : str_cmp(a->node->name, b->node->name);

    return order ? order : str_cmp(a->role->name, b->role->name);
}

/* The seats from '*at' on that are on one node, together. */
static void take_part(const struct sched_model *m, const struct hold *c, uint32_t *at, struct hold_part *ret)
{
    struct sched_node *node = c->seats[*at].node;

    ret->node = node;
    for (; *at < c->n && c->seats[*at].node == node; ++*at)
        amounts_add(&ret->sum, &c->seats[*at].class->ask, m->dims.n);
}

static void hold_hold(struct sched_model *m, const struct hold *c, bool is_held)
{
    for (uint32_t at = 0; at < c->n;) {
        struct hold_part part = { 0 };

        take_part(m, c, &at, &part);
        if (is_held)
            node_hold(m, part.node, &part.sum);
        else
            node_unhold(m, part.node, &part.sum);
    }
}

/* ---- lifting ---- */

/* By its number, not its address: that is another one in each process, and a later hold may have it again. */
static uint64_t hold_key_of(const struct hold *c)
{
    uint64_t h = c->id * UINT64_C(0x9e3779b97f4a7c15);

    return h ^ h >> 29;
}

static void leave_lifted(struct sched_model *m, struct hold *c)
{
    list_remove(&c->in_lifted);
    change_sum(m, &m->lifted_sum, &c->sum, false);
    m->lifted_key ^= hold_key_of(c);
}

void holds_settle(struct sched_model *m)
{
    LIST_FOREACH(struct hold, c, &m->lifted, in_lifted) {
        leave_lifted(m, c);
        hold_hold(m, c, false);
    }
}

void hold_lift(struct sched_model *m, struct hold *c)
{
    if (!c->is_held)
        return;
    owe(m, c, false);
    c->is_held = false;
    list_push(&m->lifted, &c->in_lifted);
    change_sum(m, &m->lifted_sum, &c->sum, true);
    m->lifted_key ^= hold_key_of(c);
}

void hold_put_back(struct sched_model *m, struct hold *c)
{
    if (c->is_held)
        return;
    owe(m, c, true);
    c->is_held = true;
    if (list_is_linked(&c->in_lifted))
        leave_lifted(m, c);
    else
        hold_hold(m, c, true);
}

/* ---- what lifted holds would leave ---- */

static uint64_t key_of_set(const struct sched_model *m, bool all)
{
    uint64_t key = m->lifted_key;

    LIST_FOREACH(struct hold, c, &m->kept, link)
        if (all && c->is_held)
            key ^= hold_key_of(c);
    return key;
}

static void add_parts(struct sched_model *m, struct hold_parts *to, const struct hold *c)
{
    for (uint32_t at = 0; at < c->n;) {
        struct sched_node *n = c->seats[at].node;

        if (n->part_turn != m->part_turn) {
            if (to->n == to->cap) {
                to->cap = MAX_OF(2 * to->cap, 16);
                to->v = xrealloc(to->v, to->cap * sizeof(*to->v));
            }
            n->part_turn = m->part_turn;
            n->part_at = to->n;
            to->v[to->n++] = (struct hold_part){ .node = n };
        }
        take_part(m, c, &at, &to->v[n->part_at]);
    }
}

const struct hold_parts *holds_parts(struct sched_model *m, bool all)
{
    uint64_t key = key_of_set(m, all);
    struct hold_parts *ret = &m->parts[key % HOLD_SETS];

    if (ret->key == key)
        return ret;
    ret->key = key;
    ret->n = 0;
    m->part_turn++;
    LIST_FOREACH(struct hold, c, &m->lifted, in_lifted)
        add_parts(m, ret, c);
    LIST_FOREACH(struct hold, c, &m->kept, link)
        if (all && c->is_held)
            add_parts(m, ret, c);
    return ret;
}

void holds_done(struct sched_model *m)
{
    for (int i = 0; i < HOLD_SETS; i++)
        free(m->parts[i].v);
    free(m->parts);
}

/* ---- holds ---- */

struct hold *hold_new(struct sched_model *m, struct trial *t, enum hold_kind kind)
{
    struct sched_group *g = t->group;
    struct hold *c;

    hold_drop(m, g);
    if (kind == HOLD_ADMITTED) /* it differs from the others now */
        gang_class_leave(m, g);
    else
        gang_class_set_apart(m, g);
    c = xcalloc(1, sizeof(*c) + t->seats.n * sizeof(*c->seats));
    c->id = ++m->n_holds;
    c->group = g;
    c->queue = g->queue;
    c->kind = kind;
    c->is_new = true;
    VEC_FOREACH(s, &t->seats) {
        if (s->is_extra) /* only the minimum is worth keeping others away */
            continue;
        c->seats[c->n++] = (struct hold_seat){ s->role, class_share(s->class), s->node };
        s->node->seats++;
        amounts_add(&c->sum, &s->class->ask, m->dims.n);
    }
    trial_undo(t);
    qsort(c->seats, c->n, sizeof(*c->seats), by_node);
    hold_put_back(m, c);
    list_push(kind == HOLD_ADMITTED ? &m->seated : &m->kept, &c->link);
    g->hold = c;
    c->free_ms = hold_free_ms(c);
    c->node_gen = m->node_gen;
    return c;
}

void hold_drop(struct sched_model *m, struct sched_group *g)
{
    struct hold *c = g->hold;

    if (!c)
        return;
    hold_lift(m, c);
    if (list_is_linked(&c->in_lifted)) {
        leave_lifted(m, c);
        hold_hold(m, c, false);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        struct sched_node *n = c->seats[i].node;

        class_unref(m, c->seats[i].class);
        if (--n->seats == 0)
            model_release_node(m, n);
    }
    list_remove(&c->link);
    g->hold = NULL;
    free(c);
    for (int i = 0; i < HOLD_SETS; i++) /* a new hold may be at the same address */
        m->parts[i].key = 0;
    m->room_gen++;
}

static bool seats_are_fine(struct sched_model *m, const struct hold *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const struct hold_seat *s = &c->seats[i];

        if (!s->node->exists || !fit_node(m, &(struct fit_question){ s->class, c->group, FIT_EMPTY }, s->node, NULL))
            return false;
    }
    return true;
}

bool hold_is_valid(struct sched_model *m, struct hold *c)
{
    bool is_fine;

    if (c->node_gen == m->node_gen)
        return true;
    hold_lift(m, c);
    is_fine = seats_are_fine(m, c);
    hold_put_back(m, c);
    c->node_gen = m->node_gen;
    return is_fine;
}

int64_t hold_free_ms(const struct hold *c)
{
    int64_t last = 0;

    for (uint32_t i = 0; i < c->n; i++)
        LIST_FOREACH(struct sched_pod, p, &c->seats[i].node->pods, on_node) {
            if (!p->group)
                continue; /* stays where it is and was not counted as room */
            if (!p->group->spec.runtime_ms || !p->started_ms)
                return 0; /* its group does not say how long it runs */
            last = MAX_OF(last, p->started_ms + p->group->spec.runtime_ms);
        }
    return last;
}

int64_t hold_victims(const struct hold *c)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        if (i && c->seats[i].node == c->seats[i - 1].node)
            continue;
        LIST_FOREACH(struct sched_pod, p, &c->seats[i].node->pods, on_node)
            n += p->is_victim;
    }
    return n;
}

bool hold_has_victims(const struct hold *c)
{
    return c && c->kind == HOLD_EVICTING && hold_victims(c) > 0;
}

bool hold_is_free(const struct sched_model *m, const struct hold *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        const struct sched_node *n = c->seats[i].node;

        for (int d = 0; d < m->dims.n; d++)
            if (c->seats[i].class->ask.v[d] && n->total.v[d] - n->used.v[d] - n->held.v[d] < 0)
                return false;
    }
    return true;
}

const struct hold *hold_keeper(const struct sched_model *m, const struct sched_queue *q, const struct sched_group *but)
{
    const struct list *lists[] = { &m->kept, &m->seated };

    for (size_t i = 0; q && i < ARRAY_LEN(lists); i++)
        LIST_FOREACH(struct hold, c, lists[i], link)
            for (const struct sched_queue *at = c->queue; c->is_held && c->group != but && at; at = at->parent)
                if (at == q)
                    return c;
    return NULL;
}
