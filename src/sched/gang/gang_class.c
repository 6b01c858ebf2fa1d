/* gang_class.c - which groups are alike, and which of them is asked
 *
 * The key of a class is the text of everything that a round looks at in a group, with two exceptions: its age and how
 * long it says it runs. A change that makes a round look at more must add it to gang_class_key(), or let such a group
 * stand alone.
 */
#include "sched/gang/gang_class.h"

#include "base/util.h"
#include "sched/gang/gang_internal.h"
#include "sched/gang/hold.h"
#include "sched/gang/parked.h"
#include "sched/fit/class.h"
#include "sched/round.h"

#include <assert.h>

enum { RUNS_MAX = 64 }; /* of pods in a role that differ: a group with more is hardly like another */

/* ---- who can have a class ---- */

static bool has_placed_pods(const struct sched_group *g)
{
    for (int s = 0; s < POD_STATE_MAX; s++)
        if (s != POD_PENDING && g->counts.n[s])
            return true;
    return false;
}

/* Places that depend on other pods may be there when those have been placed: no trial speaks for another. */
static bool is_coupled(const struct sched_group *g)
{
    VEC_FOREACH(r, &g->roles) {
        if ((*r)->class && (*r)->class->is_coupled)
            return true;
        LIST_FOREACH(struct sched_pod, p, &(*r)->pods[POD_PENDING], in_role)
            if (p->class->is_coupled || (p->nominated && !g->hold))
                return true;
    }
    return false;
}

static bool is_untouched(const struct sched_group *g)
{
    if (!g->podgroup.exists || g->spec.is_deleting || g->is_whole || g->since.ready_ms || g->since.half_ms ||
        g->counts.n_gated)
        return false;
    if (g->hold && g->hold->kind == HOLD_ADMITTED) /* its pods are being made: it changes all the time */
        return false;
    return !g->spec.subgroups && !g->counts.n_gone &&
           !has_placed_pods(g); /* labels, which no key has, tell sub-groups apart */
}

/* ---- keys ---- */

static void gang_class_put_number(struct buf *out, int64_t v)
{
    buf_str(out, (struct str){ (const char *)&v, sizeof(v) });
}

static void gang_class_put_text(struct buf *out, struct str text)
{
    gang_class_put_number(out, (int64_t)text.n);
    buf_str(out, text);
}

struct gang_class_run { /* pods of one role that follow each other */
    const struct pod_class *class;
    int32_t priority;
    uint32_t first, n;
    bool never_preempts;
};

static int by_slot(const void *x, const void *y)
{
    const struct sched_pod *a = *(struct sched_pod *const *)x, *b = *(struct sched_pod *const *)y;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return a->class->id < b->class->id ? -1 : a->class->id > b->class->id;
}

static void put_run(struct buf *out, const struct gang_class_run *r)
{
    gang_class_put_number(out, r->class->id);
    gang_class_put_number(out, r->priority);
    gang_class_put_number(out, (int64_t)r->first << 1 | r->never_preempts);
    gang_class_put_number(out, r->n);
}

/* False: they differ too much. */
static bool put_pods(struct buf *out, struct arena *a, const struct sched_role *role)
{
    struct sched_pod **all = arena_array(a, struct sched_pod *, role->n[POD_PENDING] + 1);
    struct gang_class_run run = { 0 };
    size_t n = 0, runs = 0;
    bool is_sorted = true;

    LIST_FOREACH(struct sched_pod, p, &role->pods[POD_PENDING], in_role) {
        all[n++] = p;
        is_sorted &= n < 2 || by_slot(&all[n - 2], &all[n - 1]) <= 0;
    }
    if (!is_sorted)
        qsort(all, n, sizeof(*all), by_slot);
    for (size_t i = 0; i < n; i++) {
        const struct sched_pod *p = all[i];

        if (run.n && run.class == p->class && run.priority == p->priority && run.never_preempts == p->never_preempts &&
            run.first + run.n == p->index) {
            run.n++;
            continue;
        }
        if (run.n)
            put_run(out, &run);
        run = (struct gang_class_run){ p->class, p->priority, p->index, 1, p->never_preempts };
        if (++runs > RUNS_MAX)
            return false;
    }
    if (run.n)
        put_run(out, &run);
    return true;
}

static bool gang_class_put_role(struct buf *out, struct arena *a, const struct sched_role *r)
{
    gang_class_put_text(out, r->name);
    gang_class_put_number(out, r->min);
    gang_class_put_number(out, r->class ? (int64_t)r->class->id : -1);
    gang_class_put_number(out, r->replicas);
    gang_class_put_number(out, role_to_come(r));
    gang_class_put_number(out, r->class ? r->priority : 0);
    gang_class_put_number(out, r->n[POD_PENDING]);
    return put_pods(out, a, r);
}

static void put_amounts(struct buf *out, const struct amounts *a, int n)
{
    for (int d = 0; d < n; d++)
        if (a->v[d]) {
            gang_class_put_number(out, d);
            gang_class_put_number(out, a->v[d]);
        }
    gang_class_put_number(out, -1);
}

bool gang_class_key(struct sched_model *m, const struct sched_group *g, struct buf *out)
{
    const int64_t numbers[] = { g->spec.priority,
                                group_is_admitted(g) ? g->status.phase : GROUP_PENDING,
                                g->expired,
                                g->spec.sla_ms,
                                g->spec.never_preempts,
                                g->spec.min_member,
                                g->spec.job_min,
                                g->spec.has_min_resources,
                                g->found.never_fits,
                                (int64_t)g->roles.n };
    autoarena a = { 0 };

    if (!is_untouched(g))
        return false;
    buf_reset(out);
    gang_class_put_text(out, g->queue->name);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        gang_class_put_number(out, numbers[i]);
    put_amounts(out, &g->spec.min_resources, m->dims.n);
    if (g->spec.topology)
        json_print(out, g->spec.topology);
    buf_char(out, '\0');
    gang_class_put_text(out, g->spec.near);
    gang_class_put_text(out, g->spec.apart);
    gang_class_put_text(out, g->spec.task_order);
    VEC_FOREACH(r, &g->roles)
        if (!gang_class_put_role(out, &a, *r))
            return false;
    return true;
}

/* ---- classes ---- */

static int by_order(const struct heap_node *x, const struct heap_node *y)
{
    return order_cmp(HEAP_ITEM(x, struct sched_group, gang.in_class), HEAP_ITEM(y, struct sched_group, gang.in_class));
}

static int by_runtime(const struct heap_node *x, const struct heap_node *y)
{
    const struct sched_group *a = HEAP_ITEM(x, struct sched_group, gang.by_runtime);
    const struct sched_group *b = HEAP_ITEM(y, struct sched_group, gang.by_runtime);

    return a->spec.runtime_ms != b->spec.runtime_ms ? (a->spec.runtime_ms < b->spec.runtime_ms ? -1 : 1)
                                                    : str_cmp(a->key, b->key);
}

static int by_admission(const struct heap_node *x, const struct heap_node *y)
{
    const struct sched_group *a = HEAP_ITEM(x, struct sched_group, gang.by_admission);
    const struct sched_group *b = HEAP_ITEM(y, struct sched_group, gang.by_admission);

    return a->since.admitted_ms != b->since.admitted_ms ? (a->since.admitted_ms < b->since.admitted_ms ? -1 : 1)
                                                        : str_cmp(a->key, b->key);
}

void gang_classes_init(struct sched_model *m)
{
    struct gang_classes *all = m->alike = xcalloc(1, sizeof(*all));

    map_init(&all->by_key, m->seed);
    list_init(&all->all);
    list_init(&all->parked);
    list_init(&all->inqueue);
    list_init(&all->alone);
    list_init(&all->behind);
    heap_init(&all->on_credit, by_admission);
}

void gang_classes_done(struct sched_model *m)
{
    assert(map_count(&m->alike->by_key) == 0);
    map_done(&m->alike->by_key);
    heap_done(&m->alike->on_credit);
    buf_done(&m->alike->text);
    free(m->alike);
}

/* Of all pods, there or to come; NULL: they differ, or are not enough for each role. */
static const struct pod_class *only_pod_class(const struct sched_group *g)
{
    const struct pod_class *only = NULL;
    int64_t n = 0;

    VEC_FOREACH(at, &g->roles) {
        const struct sched_role *r = *at;
        int64_t to_come = role_to_come(r);

        if (r->n[POD_PENDING] + to_come < r->min || (to_come && only && r->class != only))
            return NULL;
        only = to_come ? r->class : only;
        LIST_FOREACH(struct sched_pod, p, &r->pods[POD_PENDING], in_role) {
            if (only && p->class != only)
                return NULL;
            only = p->class;
        }
        n += r->n[POD_PENDING] + to_come;
    }
    return n < group_min(g) || (only && only->has_lost_name) ? NULL : only;
}

static void gang_class_describe(struct sched_model *m, struct gang_class *c, const struct sched_group *g)
{
    autoarena a = { 0 };

    gang_needs(m, g, &a, &c->needs);
    c->lacks = group_min(g);
    c->has_pods = group_has_its_pods(g);
    if (str_empty(g->spec.near) && str_empty(g->spec.apart) && str_empty(g->spec.task_order))
        c->pod = only_pod_class(g);
}

static struct gang_class *class_need(struct sched_model *m, const struct sched_group *g, struct str key)
{
    struct gang_class *c = map_get(&m->alike->by_key, key);

    if (c)
        return c;
    c = xcalloc(1, sizeof(*c) + key.n);
    memcpy(c + 1, key.p, key.n);
    c->key = (struct str){ (const char *)(c + 1), key.n };
    heap_init(&c->members, by_order);
    heap_init(&c->by_runtime, by_runtime);
    c->id = ++m->alike->n_made;
    map_put(&m->alike->by_key, c->key, c);
    list_push(&m->alike->all, &c->link);
    if (g->status.phase == GROUP_INQUEUE)
        list_push(&m->alike->inqueue, &c->in_inqueue);
    gang_class_describe(m, c, g);
    return c;
}

static void class_release(struct sched_model *m, struct gang_class *c)
{
    if (c->pins || heap_count(&c->members))
        return;
    list_remove(&c->link);
    list_remove(&c->in_inqueue);
    map_remove(&m->alike->by_key, c->key);
    heap_done(&c->members);
    heap_done(&c->by_runtime);
    free(c);
}

struct gang_class *gang_class_pin(struct gang_class *c)
{
    if (c)
        c->pins++;
    return c;
}

void gang_class_unpin(struct sched_model *m, struct gang_class *c)
{
    if (!c)
        return;
    c->pins--;
    class_release(m, c);
}

/* ---- members ---- */

static void gang_class_join(struct sched_model *m, struct gang_class *c, struct sched_group *g)
{
    struct gang_classes *all = m->alike;

    gang_class_unpark(m, c);
    g->gang.alike = c;
    g->share = 0; /* it has nothing; the order of members must not change while they are in */
    heap_push(&c->members, &g->gang.in_class);
    if (g->spec.runtime_ms)
        heap_push(&c->by_runtime, &g->gang.by_runtime);
    if (g->status.phase == GROUP_INQUEUE && g->since.admitted_ms && g->expired <= EXPIRES_MOST)
        heap_push(&all->on_credit, &g->gang.by_admission);
    if (g->found.futile == m->node_gen)
        c->futile = g->found.futile;
    list_push(&all->behind, &g->gang.in_behind);
    all->n_members++;
}

static void gang_gang_class_leave(struct sched_model *m, struct sched_group *g)
{
    struct gang_class *c = g->gang.alike;

    if (!c)
        return;
    gang_class_unpark(m, c);
    if (!gang_leads(g)) /* the first speaks for all: no group held back for this one */
        g->found.is_stuck = false;
    heap_remove(&c->members, &g->gang.in_class);
    heap_remove(&c->by_runtime, &g->gang.by_runtime);
    heap_remove(&m->alike->on_credit, &g->gang.by_admission);
    list_remove(&g->gang.in_behind);
    m->alike->n_members--;
    g->gang.alike = NULL;
    class_release(m, c);
}

static void put_alone(struct sched_model *m, struct sched_group *g)
{
    gang_gang_class_leave(m, g);
    g->status.why = WHY_NOT;
    if (!list_is_linked(&g->in_waiting))
        list_remove(&g->gang.in_alone);
    else if (!list_is_linked(&g->gang.in_alone))
        list_push(&m->alike->alone, &g->gang.in_alone);
}

void gang_class_leave(struct sched_model *m, struct sched_group *g)
{
    struct gang_class *c = g->gang.kin;

    put_alone(m, g);
    g->gang.kin = NULL;
    gang_class_unpin(m, c);
}

void gang_class_set_apart(struct sched_model *m, struct sched_group *g)
{
    if (g->gang.alike)
        g->gang.kin = gang_class_pin(g->gang.alike);
    put_alone(m, g);
}

void gang_class_sort(struct sched_model *m, struct sched_group *g)
{
    struct gang_class *c;

    gang_class_leave(m, g);
    if (g->is_dirty || !list_is_linked(&g->in_waiting) || is_coupled(g) || !gang_class_key(m, g, &m->alike->text))
        return;
    c = class_need(m, g, buf_view(&m->alike->text));
    if (g->hold) {
        g->gang.kin = gang_class_pin(c);
        return;
    }
    list_remove(&g->gang.in_alone);
    gang_class_join(m, c, g);
}

void gang_class_sort_all(struct sched_model *m)
{
    LIST_FOREACH(struct sched_group, g, &m->waiting, in_waiting)
        gang_class_leave(m, g); /* all first: an id may be that of another class now */
    LIST_FOREACH(struct sched_group, g, &m->waiting, in_waiting)
        gang_class_sort(m, g);
}

/* ---- who is asked ---- */

struct sched_group *gang_class_first(const struct gang_class *c)
{
    struct heap_node *node = heap_first(&c->members);

    return node ? HEAP_ITEM(node, struct sched_group, gang.in_class) : NULL;
}

struct sched_group *gang_class_shortest(const struct gang_class *c)
{
    struct heap_node *node = heap_first(&c->by_runtime);

    return node ? HEAP_ITEM(node, struct sched_group, gang.by_runtime) : NULL;
}

bool gang_leads(const struct sched_group *g)
{
    return !g->gang.alike || gang_class_first(g->gang.alike) == g;
}

void gang_leaders(const struct sched_model *m, struct arena *a, struct group_list *ret)
{
    ret->list.n = 0;
    LIST_FOREACH(struct sched_group, g, &m->alike->alone, gang.in_alone)
        *vec_push(a, &ret->list) = g;
    LIST_FOREACH(struct gang_class, c, &m->alike->all, link)
        if (heap_count(&c->members))
            *vec_push(a, &ret->list) = gang_class_first(c);
}

struct sched_group *gang_class_next_behind(struct sched_model *m)
{
    struct list_link *link = list_pop_front(&m->alike->behind);

    if (!link)
        return NULL;
    list_push(&m->alike->behind, link);
    return LIST_ITEM(link, struct sched_group, gang.in_behind);
}

bool gang_classes_are_told(const struct sched_model *m)
{
    const struct sched_group *g = LIST_FIRST(&m->alike->behind, struct sched_group, gang.in_behind);
    const struct parked *p = g && gang_leads(g) ? parked_of(g->gang.alike) : NULL;

    return !g || (p ? p->tried : g->found.tried) == m->room_gen;
}

struct sched_group *gang_class_oldest_on_credit(const struct sched_model *m)
{
    struct heap_node *node = heap_first(&m->alike->on_credit);

    return node ? HEAP_ITEM(node, struct sched_group, gang.by_admission) : NULL;
}
