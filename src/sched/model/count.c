/* count.c - the sums of groups and queues, and the pods that go into them
 *
 * A sum that reached AMOUNT_UNLIMITED has forgotten what went into it, so it cannot be taken apart again; amounts_sub()
 * says so, and the sum is then counted from its parts. Only absurd requests lead there.
 */
#include "api/job.h"
#include "base/util.h"
#include "sched/gang/gang_class.h"
#include "sched/gang/hold.h"
#include "sched/fit/class.h"
#include "sched/model/model_internal.h"

#include <stddef.h>

/* ---- sums of queues ---- */

static struct amounts *sum_at(void *holder, size_t offset)
{
    return (struct amounts *)((char *)holder + offset);
}

enum { SUM_ALLOCATED, SUM_GOING, SUM_DEMAND, SUM_ADMITTED, SUM_OPENED };

static const struct queue_sum { /* kept in a group, and in its queue and all above */
    size_t in_group, in_queue;
} queue_sums[] = {
    [SUM_ALLOCATED] = { offsetof(struct sched_group, counts.allocated), offsetof(struct sched_queue, allocated) },
    [SUM_GOING] = { offsetof(struct sched_group, counts.going), offsetof(struct sched_queue, going) },
    [SUM_DEMAND] = { offsetof(struct sched_group, demand), offsetof(struct sched_queue, demand) },
    [SUM_ADMITTED] = { offsetof(struct sched_group, admitted), offsetof(struct sched_queue, admitted) },
    [SUM_OPENED] = { offsetof(struct sched_group, counts.opened), offsetof(struct sched_queue, opened) },
};

static void path_add(struct sched_model *m, struct sched_queue *q, size_t in_queue, const struct amounts *by)
{
    for (; q; q = q->parent)
        amounts_add(sum_at(q, in_queue), by, m->dims.n);
}

static bool path_sub(struct sched_model *m, struct sched_queue *q, size_t in_queue, const struct amounts *by)
{
    bool is_exact = true;

    for (; q; q = q->parent)
        is_exact &= amounts_sub(sum_at(q, in_queue), by, m->dims.n);
    return is_exact;
}

void model_resum_queues(struct sched_model *m)
{
    MAP_FOREACH(struct sched_queue *, q, &m->queues)
        for (size_t i = 0; i < ARRAY_LEN(queue_sums); i++)
            *sum_at(q, queue_sums[i].in_queue) = (struct amounts){ 0 };
    MAP_FOREACH(struct sched_queue *, q, &m->queues)
        for (size_t i = 0; i < ARRAY_LEN(queue_sums); i++) {
            struct amounts own = { 0 };

            LIST_FOREACH(struct sched_group, g, &q->groups, in_queue)
                amounts_add(&own, sum_at(g, queue_sums[i].in_group), m->dims.n);
            path_add(m, q, queue_sums[i].in_queue, &own);
        }
}

/* ---- groups that have pods on nodes ---- */

int group_by_priority(const struct heap_node *x, const struct heap_node *y)
{
    const struct sched_group *a = HEAP_ITEM(x, struct sched_group, in_placed);
    const struct sched_group *b = HEAP_ITEM(y, struct sched_group, in_placed);

    return a->spec.priority != b->spec.priority ? (a->spec.priority < b->spec.priority ? -1 : 1) : 0;
}

void model_priority_changed(struct sched_group *g)
{
    if (heap_has(&g->in_placed))
        heap_moved(&g->queue->placed, &g->in_placed);
}

static void note_placed(struct sched_group *g)
{
    if (g->counts.allocated.v[DIM_PODS] <= 0)
        heap_remove(&g->queue->placed, &g->in_placed);
    else if (!heap_has(&g->in_placed))
        heap_push(&g->queue->placed, &g->in_placed);
}

void model_set_queue(struct sched_model *m, struct sched_group *g, struct str name)
{
    struct sched_queue *old = g->queue, *q;
    bool is_exact = true;

    if (old && str_eq(old->name, name))
        return;
    q = model_need_queue(m, name);
    hold_drop(m, g); /* its old queue owes it nothing now */
    if (old) {
        gang_class_leave(m, g); /* while it is in the queue that its class belongs to */
        heap_remove(&old->waiting, &g->now.link);
        list_remove(&g->in_queue);
        heap_remove(&old->placed, &g->in_placed);
        old->n_groups--;
        for (size_t i = 0; i < ARRAY_LEN(queue_sums); i++)
            is_exact &= path_sub(m, old, queue_sums[i].in_queue, sum_at(g, queue_sums[i].in_group));
    }
    g->queue = q;
    list_push(&q->groups, &g->in_queue);
    q->n_groups++;
    note_placed(g);
    for (size_t i = 0; i < ARRAY_LEN(queue_sums); i++)
        path_add(m, q, queue_sums[i].in_queue, sum_at(g, queue_sums[i].in_group));
    if (!is_exact)
        model_resum_queues(m);
    if (old)
        model_release_queue(m, old);
    m->shares_changed = true;
    if (old && !(amounts_is_zero(&g->counts.allocated, m->dims.n) && amounts_is_zero(&g->counts.going, m->dims.n)))
        m->room_gen++; /* the old queue has more left */
    model_touch(m, g);
}

/* No group counts for more than this: a hundred of them together are still below the bound. */
#define GROUP_SUM_MAX (INT64_C(1) << 53)

static void set_sum(struct sched_model *m, struct sched_group *g, const struct queue_sum *sum, const struct amounts *to)
{
    struct amounts *old = sum_at(g, sum->in_group), new = *to, was = *old;

    for (int d = 0; d < m->dims.n; d++)
        new.v[d] = MIN_OF(new.v[d], GROUP_SUM_MAX);
    if (amounts_equal(old, &new, m->dims.n))
        return;
    *old = new;
    path_add(m, g->queue, sum->in_queue, &new);
    if (!path_sub(m, g->queue, sum->in_queue, &was))
        model_resum_queues(m);
    m->shares_changed = true;
}

void model_set_demand(struct sched_model *m, struct sched_group *g, const struct amounts *demand)
{
    set_sum(m, g, &queue_sums[SUM_DEMAND], demand);
}

void model_set_admitted(struct sched_model *m, struct sched_group *g, const struct amounts *admitted)
{
    m->admissions++;
    set_sum(m, g, &queue_sums[SUM_ADMITTED], admitted);
}

/* ---- groups ---- */

enum count_part { IN_NOTHING, IN_PENDING, IN_ALLOCATED, IN_GOING };

static enum count_part count_part_of(enum pod_state state, const struct sched_node *node, bool is_gated)
{
    switch (state) {
    case POD_PENDING:
        return is_gated ? IN_NOTHING : IN_PENDING;
    case POD_BINDING:
    case POD_BOUND:
    case POD_RUNNING:
        return IN_ALLOCATED;
    case POD_GOING:
        return node ? IN_GOING : IN_NOTHING;
    default:
        return IN_NOTHING;
    }
}

static enum count_part pod_part(const struct sched_pod *p)
{
    return count_part_of(p->state, p->node, p->is_gated);
}

static struct amounts *group_part(struct sched_group *g, enum count_part part)
{
    return part == IN_PENDING ? &g->counts.pending : part == IN_ALLOCATED ? &g->counts.allocated : &g->counts.going;
}

/* Between its gate and its node it holds room in its queue. */
static bool pod_is_opened(const struct sched_pod *p)
{
    return p->state == POD_PENDING && p->queue_gate >= QUEUE_GATE_OPENING;
}

static void group_recount(struct sched_model *m, struct sched_group *g)
{
    g->counts.pending = g->counts.allocated = g->counts.going = g->counts.opened = (struct amounts){ 0 };
    VEC_FOREACH(r, &g->roles)
        for (int state = 0; state < POD_STATE_MAX; state++)
            LIST_FOREACH(struct sched_pod, p, &(*r)->pods[state], in_role) {
                if (pod_part(p) != IN_NOTHING)
                    amounts_add(group_part(g, pod_part(p)), &p->class->ask, m->dims.n);
                if (pod_is_opened(p))
                    amounts_add(&g->counts.opened, &p->class->ask, m->dims.n);
            }
}

static void opened_add(struct sched_model *m, struct sched_pod *p)
{
    if (!pod_is_opened(p))
        return;
    amounts_add(&p->group->counts.opened, &p->class->ask, m->dims.n);
    path_add(m, p->group->queue, queue_sums[SUM_OPENED].in_queue, &p->class->ask);
}

/* As with parts: the pod is in no list. */
static void opened_sub(struct sched_model *m, struct sched_pod *p)
{
    struct sched_group *g = p->group;
    bool is_exact;

    if (!pod_is_opened(p))
        return;
    is_exact = amounts_sub(&g->counts.opened, &p->class->ask, m->dims.n);
    if (!is_exact)
        group_recount(m, g);
    is_exact &= path_sub(m, g->queue, queue_sums[SUM_OPENED].in_queue, &p->class->ask);
    if (!is_exact)
        model_resum_queues(m);
    m->room_gen++; /* for those whose gates are closed */
}

/* The pod has left its list, or joins it afterwards: counting afresh must not find it. */
static void part_add(struct sched_model *m, struct sched_pod *p, enum count_part part)
{
    struct sched_group *g = p->group;

    if (part == IN_NOTHING)
        return;
    amounts_add(group_part(g, part), &p->class->ask, m->dims.n);
    if (part == IN_PENDING)
        return;
    note_placed(g);
    path_add(m, g->queue, queue_sums[part == IN_GOING].in_queue, &p->class->ask);
    m->shares_changed = true;
}

static void part_sub(struct sched_model *m, struct sched_pod *p, enum count_part part)
{
    struct sched_group *g = p->group;
    bool is_exact;

    if (part == IN_NOTHING)
        return;
    is_exact = amounts_sub(group_part(g, part), &p->class->ask, m->dims.n);
    if (!is_exact)
        group_recount(m, g);
    if (part == IN_PENDING)
        return;
    note_placed(g);
    is_exact &= path_sub(m, g->queue, queue_sums[part == IN_GOING].in_queue, &p->class->ask);
    if (!is_exact)
        model_resum_queues(m);
    m->shares_changed = true;
}

int64_t role_gone(const struct sched_role *r)
{
    return MAX_OF(r->n_done - r->n[POD_SUCCEEDED], 0);
}

static void count_gone(struct sched_group *g)
{
    g->counts.n_gone = 0;
    VEC_FOREACH(r, &g->roles)
        g->counts.n_gone += role_gone(*r);
}

void model_set_done(struct sched_model *m, struct sched_role *r, struct str indices)
{
    int64_t n = MIN_OF(indices_count(indices), MAX_OF(r->replicas, 0));

    if (r->n_done == n && str_eq(buf_view(&r->done), indices))
        return;
    buf_reset(&r->done);
    buf_str(&r->done, indices);
    r->n_done = n;
    count_gone(r->group);
    model_touch(m, r->group);
}

static void count_gates(struct sched_pod *p, int by)
{
    struct group_counts *c = &p->group->counts;

    if (p->state != POD_PENDING || !p->is_gated)
        return;
    p->role->n_gated += (uint32_t)by;
    c->n_gated += (uint32_t)by;
    if (p->queue_gate == QUEUE_GATE_CLOSED)
        c->n_closed += (uint32_t)by;
    if (p->queue_gate == QUEUE_GATE_OPENING)
        c->n_opening += (uint32_t)by;
}

static void list_out(struct sched_pod *p)
{
    list_remove(&p->in_role);
    p->role->n[p->state]--;
    p->group->counts.n[p->state]--;
    if (p->state == POD_SUCCEEDED && p->role->n_done)
        count_gone(p->group);
    count_gates(p, -1);
}

static void list_in(struct sched_pod *p)
{
    list_push(&p->role->pods[p->state], &p->in_role);
    if (p->state == POD_PENDING)
        p->group->found.futile = 0; /* with other pods places may be of use */
    p->role->n[p->state]++;
    p->group->counts.n[p->state]++;
    if (p->state == POD_SUCCEEDED && p->role->n_done)
        count_gone(p->group);
    count_gates(p, 1);
}

/* ---- pods ---- */

void model_pod_out(struct sched_model *m, struct sched_pod *p)
{
    pod_off_node(m, p);
    if (!p->group)
        return;
    list_out(p);
    part_sub(m, p, pod_part(p));
    opened_sub(m, p);
    model_touch(m, p->group);
}

void model_pod_in(struct sched_model *m, struct sched_pod *p)
{
    pod_on_node(m, p);
    if (!p->group)
        return;
    part_add(m, p, pod_part(p));
    opened_add(m, p);
    list_in(p);
    model_touch(m, p->group);
}

void model_set_gate(struct sched_model *m, struct sched_pod *p, enum queue_gate gate)
{
    model_pod_out(m, p);
    p->queue_gate = gate;
    model_pod_in(m, p);
}

/* Its place among the pods and in the sums of its group, when only state and node change. */
static void change_group(struct sched_model *m, struct sched_pod *p, enum pod_state state, struct sched_node *node)
{
    enum count_part old = pod_part(p), new = count_part_of(state, node, p->is_gated);

    list_out(p);
    if (old != new)
        part_sub(m, p, old);
    opened_sub(m, p);
    p->state = state;
    p->node = node;
    if (old != new)
        part_add(m, p, new);
    opened_add(m, p);
    list_in(p);
    model_touch(m, p->group);
}

void model_set_pod(struct sched_model *m, struct sched_pod *p, enum pod_state state, struct sched_node *node)
{
    struct sched_node *old = p->node;
    bool moves;

    if (state == POD_PENDING || state == POD_SUCCEEDED || state == POD_FAILED)
        node = NULL;
    if (p->state == state && old == node)
        return;
    moves = old != node || (old && (p->state == POD_GOING) != (state == POD_GOING));
    if (moves)
        pod_off_node(m, p);
    if (p->group)
        change_group(m, p, state, node);
    p->state = state;
    p->node = node;
    if (moves)
        pod_on_node(m, p);
    if (moves && old) /* it gives something back, or soon will */
        m->room_gen++;
    if (old && old != node)
        model_release_node(m, old);
}

void model_nominate(struct sched_model *m, struct sched_pod *p, struct sched_node *node)
{
    struct sched_node *old = p->nominated;

    if (old == node)
        return;
    if (node)
        node->n_nominated++;
    p->nominated = node;
    if (old) {
        old->n_nominated--;
        model_release_node(m, old);
    }
}

struct sched_pod *model_new_pod(struct sched_model *m, const struct pod_text *t)
{
    size_t n = t->uid.n + t->namespace.n + 1 + t->name.n + t->priority_class.n + t->labels.n;
    struct sched_pod *p = xcalloc(1, sizeof(*p) + n + 1);
    struct buf text = { (char *)(p + 1), 0, n + 1 }; /* never grows */

    buf_str(&text, t->uid);
    buf_str(&text, t->namespace);
    buf_char(&text, '/');
    buf_str(&text, t->name);
    buf_str(&text, t->priority_class);
    buf_str(&text, t->labels);
    p->uid = str_sub(buf_view(&text), 0, t->uid.n);
    p->key = str_sub(buf_view(&text), t->uid.n, t->namespace.n + 1 + t->name.n);
    p->namespace = str_sub(p->key, 0, t->namespace.n);
    p->name = str_from(p->key, t->namespace.n + 1);
    p->priority_class = str_sub(buf_view(&text), t->uid.n + p->key.n, t->priority_class.n);
    p->labels = str_from(buf_view(&text), t->uid.n + p->key.n + t->priority_class.n);
    p->index = UINT32_MAX;
    p->is_preemptable = true;
    map_put(&m->pods, p->uid, p);
    map_put(&m->pod_names, p->key, p);
    return p;
}

void model_drop_pod(struct sched_model *m, struct sched_pod *p)
{
    struct sched_group *g = p->group;
    struct sched_node *n = p->node;

    model_nominate(m, p, NULL); /* first: the last to leave a node frees it */
    model_pod_out(m, p);
    map_remove(&m->pods, p->uid);
    map_remove(&m->pod_names, p->key);
    class_unref(m, p->class);
    free(p->text);
    free(p);
    if (n) {
        m->room_gen++;
        model_release_node(m, n);
    }
    if (g)
        model_release_group(m, g);
}

/* ---- counting ---- */

int64_t group_min(const struct sched_group *g)
{
    int64_t sum = 0;

    VEC_FOREACH(r, &g->roles)
        sum += (*r)->min;
    return MAX_OF(MAX_OF(g->spec.min_member, g->spec.job_min), MAX_OF(sum, g->spec.subgroups_min));
}

static int64_t ready_of(const uint32_t n[POD_STATE_MAX])
{
    return (int64_t)n[POD_BINDING] + n[POD_BOUND] + n[POD_RUNNING] + n[POD_SUCCEEDED];
}

int64_t group_placed(const struct sched_group *g)
{
    return ready_of(g->counts.n);
}

int64_t group_ready(const struct sched_group *g)
{
    return group_placed(g) + g->counts.n_gone;
}

int64_t role_ready(const struct sched_role *r)
{
    return ready_of(r->n) + role_gone(r);
}

int64_t role_to_come(const struct sched_role *r)
{
    int64_t there = (int64_t)r->n[POD_PENDING] + role_ready(r);

    if (!r->class || (r->has_dependencies && r->told_min == 0))
        return 0;
    return r->replicas > there ? r->replicas - there : 0;
}

bool group_is_whole(const struct sched_group *g)
{
    if (group_ready(g) < group_min(g))
        return false;
    VEC_FOREACH(r, &g->roles)
        if (role_ready(*r) < (*r)->min)
            return false;
    return true;
}

int64_t group_live(const struct sched_group *g)
{
    return group_ready(g) + g->counts.n[POD_PENDING] - g->counts.n_gated;
}

bool group_has_its_pods(const struct sched_group *g)
{
    if (group_live(g) < group_min(g))
        return false;
    VEC_FOREACH(r, &g->roles)
        if (role_ready(*r) + (*r)->n[POD_PENDING] - (*r)->n_gated < (*r)->min)
            return false;
    return true;
}
