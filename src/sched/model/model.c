/* model.c - nodes, groups and queues: made, found, put in order, freed */
#include "sched/model/model.h"

#include "base/util.h"
#include "sched/gang/hold.h"
#include "sched/fit/class.h"
#include "sched/fit/fit.h"
#include "sched/gang/gang_class.h"
#include "sched/model/model_internal.h"
#include "sched/fit/topology.h"
#include "sched/fit/volume.h"

#include <assert.h>

const char *const group_phase_names[GROUP_PHASE_MAX] = {
    [GROUP_PENDING] = "Pending", [GROUP_INQUEUE] = "Inqueue",     [GROUP_RUNNING] = "Running",
    [GROUP_UNKNOWN] = "Unknown", [GROUP_COMPLETED] = "Completed",
};

/* ---- all of it ---- */

void model_init(struct sched_model *m, const struct sched_config *config, uint64_t seed)
{
    struct map *maps[] = { &m->nodes,   &m->pods,       &m->pod_names,       &m->groups,
                           &m->queues,  &m->priorities, &m->budgets,         &m->claims,
                           &m->volumes, &m->namespaces, &m->storage_classes, &m->volume_shelves };

    *m = (struct sched_model){ .config = *config, .seed = seed, .room_gen = 1, .node_gen = 1 };
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_init(maps[i], seed);
    dims_init(&m->dims);
    m->n_dims = m->dims.n;
    list_init(&m->dirty);
    list_init(&m->waiting);
    list_init(&m->kept);
    list_init(&m->seated);
    list_init(&m->lifted);
    m->parts = xcalloc(HOLD_SETS, sizeof(*m->parts));
    gang_classes_init(m);
    m->root = model_need_queue(m, STR("root"));
    topology_init(m);
    fit_init(m);
}

static void queue_free(struct sched_queue *q)
{
    heap_done(&q->waiting);
    heap_done(&q->placed);
    arena_done(&q->spec_arena);
    arena_done(&q->arena);
    free(q->parked);
    free(q);
}

/* Pods first, then what they hold; with the last group its queue goes, and so on up to the root. */
void model_done(struct sched_model *m)
{
    arena_done(&m->closed_arena);
    MAP_FOREACH(struct sched_group *, g, &m->groups)
        hold_drop(m, g);
    MAP_FOREACH(struct sched_group *, g, &m->groups) {
        g->podgroup.exists = true; /* until its turn comes below: the map must not change under the walk over pods */
    }
    MAP_FOREACH(struct sched_pod *, p, &m->pods)
        model_drop_pod(m, p);
    MAP_FOREACH(struct sched_group *, g, &m->groups) {
        g->podgroup.exists = g->job.exists = false;
        model_release_group(m, g);
    }
    MAP_FOREACH(struct sched_node *, n, &m->nodes) {
        n->exists = false;
        model_release_node(m, n);
    }
    MAP_FOREACH(struct sched_queue *, q, &m->queues)
        queue_free(q);
    MAP_FOREACH(struct sched_priority *, c, &m->priorities)
        free(c);
    MAP_FOREACH(struct sched_budget *, b, &m->budgets) {
        arena_done(&b->arena);
        free(b);
    }
    MAP_FOREACH(struct sched_namespace *, n, &m->namespaces) {
        arena_done(&n->arena);
        free(n);
    }
    gang_classes_done(m);
    holds_done(m);
    volume_done(m);
    topology_done(m);
    fit_done(m);

    struct map *maps[] = { &m->nodes,   &m->pods,       &m->pod_names,       &m->groups,
                           &m->queues,  &m->priorities, &m->budgets,         &m->claims,
                           &m->volumes, &m->namespaces, &m->storage_classes, &m->volume_shelves };
    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        map_done(maps[i]);
    free(m->order);
    buf_done(&m->scratch);
    arena_done(&m->scratch_arena);
    dims_done(&m->dims);
}

/* ---- nodes ---- */

struct sched_node *model_node(const struct sched_model *m, struct str name)
{
    return map_get(&m->nodes, name);
}

struct sched_node *model_need_node(struct sched_model *m, struct str name)
{
    struct sched_node *n = map_get(&m->nodes, name);
    char *text;

    if (n)
        return n;
    n = xcalloc(1, sizeof(*n) + name.n + 1);
    text = (char *)(n + 1);
    memcpy(text, name.p, name.n);
    n->name = (struct str){ text, name.n };
    n->index = UINT32_MAX;
    list_init(&n->pods);
    map_put(&m->nodes, n->name, n);
    return n;
}

void model_release_node(struct sched_model *m, struct sched_node *n)
{
    if (n->exists || !list_is_empty(&n->pods) || n->n_nominated || n->seats)
        return;
    fit_node_gone(m, n);
    map_remove(&m->nodes, n->name);
    arena_done(&n->arena);
    arena_done(&n->port_arena);
    volume_node_done(n);
    free(n);
}

static int node_cmp(const void *x, const void *y)
{
    const struct sched_node *a = *(struct sched_node *const *)x, *b = *(struct sched_node *const *)y;
    uint32_t at_a = topology_rank(a), at_b = topology_rank(b);

    return at_a != at_b ? (at_a < at_b ? -1 : 1) : str_cmp(a->name, b->name);
}

void model_order(struct sched_model *m)
{
    uint32_t n = 0;

    model_sync_dims(m);
    if (!m->is_unordered)
        return;
    /* Holds that have ended kept nodes that do not exist. Removing the item given last is fine in MAP_FOREACH. */
    MAP_FOREACH(struct sched_node *, node, &m->nodes)
        model_release_node(m, node);
    topology_build(m);
    if (map_count(&m->nodes) > m->cap_order) {
        m->cap_order = (uint32_t)map_count(&m->nodes) + m->cap_order / 2;
        m->order = xrealloc(m->order, m->cap_order * sizeof(*m->order));
    }
    MAP_FOREACH(struct sched_node *, node, &m->nodes)
        if (node->exists)
            m->order[n++] = node;
    if (n)
        qsort(m->order, n, sizeof(*m->order), node_cmp);
    for (uint32_t i = 0; i < n; i++)
        m->order[i]->index = i;
    m->n_order = n;
    m->is_unordered = false;
    topology_ranges(m);
    fit_reordered(m);
}

/* ---- groups and roles ---- */

static struct str join_key(struct sched_model *m, struct str namespace, struct str name)
{
    buf_reset(&m->scratch);
    buf_str(&m->scratch, namespace);
    buf_char(&m->scratch, '/');
    buf_str(&m->scratch, name);
    return buf_view(&m->scratch);
}

struct sched_group *model_group(struct sched_model *m, struct str namespace, struct str name)
{
    return map_get(&m->groups, join_key(m, namespace, name));
}

struct sched_group *model_need_group(struct sched_model *m, struct str namespace, struct str name)
{
    struct str key = join_key(m, namespace, name);
    struct sched_group *g = map_get(&m->groups, key);
    char *text;

    if (g)
        return g;
    g = xcalloc(1, sizeof(*g) + key.n + 1);
    text = (char *)(g + 1);
    memcpy(text, key.p, key.n);
    g->key = (struct str){ text, key.n };
    g->namespace = str_sub(g->key, 0, namespace.n);
    g->name = str_from(g->key, namespace.n + 1);
    g->spec.is_preemptable = true;
    g->why = &why_none;
    g->spec.priority = m->default_priority;
    g->since.unknown_ms = m->round_ms;
    map_put(&m->groups, g->key, g);
    model_set_queue(m, g, STR("default"));
    return g;
}

static size_t role_place(const struct sched_group *g, struct str name, bool *ret_found)
{
    size_t low = 0, high = g->roles.n;

    *ret_found = false;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int c = str_cmp(g->roles.v[mid]->name, name);

        if (c == 0) {
            *ret_found = true;
            return mid;
        }
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct sched_role *group_role(const struct sched_group *g, struct str name)
{
    bool found;
    size_t at = role_place(g, name, &found);

    return found ? g->roles.v[at] : NULL;
}

static struct sched_role *role_new(struct sched_group *g, struct str name)
{
    struct sched_role *r = xcalloc(1, sizeof(*r) + name.n + 1);
    char *text = (char *)(r + 1);

    if (name.n)
        memcpy(text, name.p, name.n);
    r->group = g;
    r->name = (struct str){ text, name.n };
    for (int i = 0; i < POD_STATE_MAX; i++)
        list_init(&r->pods[i]);
    return r;
}

struct sched_role *group_need_role(struct sched_group *g, struct str name)
{
    bool found;
    size_t at = role_place(g, name, &found);

    if (found)
        return g->roles.v[at];
    if (g->roles.n == g->roles.cap) {
        g->roles.cap = g->roles.cap ? 2 * g->roles.cap : 2;
        g->roles.v = xrealloc(g->roles.v, g->roles.cap * sizeof(struct sched_role *));
    }
    memmove(&g->roles.v[at + 1], &g->roles.v[at], (g->roles.n - at) * sizeof(struct sched_role *));
    g->roles.n++;
    return g->roles.v[at] = role_new(g, name);
}

void group_settle_minima(struct sched_group *g)
{
    int64_t sum = 0;
    bool is_elastic;

    VEC_FOREACH(r, &g->roles)
        sum += (*r)->told_min;
    is_elastic = g->job.exists && MAX_OF(g->spec.min_member, g->spec.job_min) < sum;
    VEC_FOREACH(r, &g->roles)
        (*r)->min = is_elastic && (*r)->told_min >= (*r)->replicas ? 0 : (*r)->told_min;
}

void model_touch(struct sched_model *m, struct sched_group *g)
{
    g->is_dirty = true;
    gang_class_leave(m, g);
    if (!list_is_linked(&g->in_dirty))
        list_push(&m->dirty, &g->in_dirty);
}

void model_forget_group(struct sched_model *m, struct sched_group *g)
{
    const struct amounts none = { 0 };

    hold_drop(m, g);
    model_set_demand(m, g, &none);
    model_set_admitted(m, g, &none);
    g->found.tried = 0;
    g->since.admitted_ms = g->since.waiting_ms = g->since.lacking_ms = g->since.ready_ms = 0;
    g->since.grown_ms = 0;
    g->expired = 0;
    group_say(g, &why_none);
    model_touch(m, g);
}

static bool group_has_pods(const struct sched_group *g)
{
    for (int i = 0; i < POD_STATE_MAX; i++)
        if (g->counts.n[i])
            return true;
    return false;
}

void group_say(struct sched_group *g, const struct why *why)
{
    struct why *old = g->why == &why_none ? NULL : (struct why *)g->why;

    if (why->kind == WHY_NOT) {
        free(old);
        g->why = &why_none;
        return;
    }
    if (!old)
        g->why = old = xmalloc(sizeof(*old));
    *old = *why;
}

static void group_free(struct sched_model *m, struct sched_group *g)
{
    VEC_FOREACH(r, &g->roles) {
        class_unref(m, (*r)->class);
        free((*r)->text);
        buf_done(&(*r)->done);
        free(*r);
    }
    free(g->roles.v);
    arena_done(&g->spec.arena);
    free(g->podgroup.text);
    free(g->job.text);
    group_say(g, &why_none);
    free(g);
}

void model_release_group(struct sched_model *m, struct sched_group *g)
{
    struct sched_queue *q = g->queue;

    if (g->podgroup.exists || g->job.exists || group_has_pods(g))
        return;
    model_forget_group(m, g); /* its sums are all zero then */
    list_remove(&g->in_dirty);
    list_remove(&g->in_waiting);
    gang_class_leave(m, g);
    heap_remove(&q->waiting, &g->now.link);
    heap_remove(&q->placed, &g->in_placed);
    list_remove(&g->in_queue);
    q->n_groups--;
    map_remove(&m->groups, g->key);
    group_free(m, g);
    model_release_queue(m, q);
}

/* ---- queues ---- */

struct sched_queue *model_queue(const struct sched_model *m, struct str name)
{
    return map_get(&m->queues, name);
}

void queue_reset(struct sched_queue *q)
{
    arena_reset(&q->spec_arena);
    q->exists = q->is_fifo = q->has_deserved = false;
    q->is_open = q->is_reclaimable = true;
    q->weight = 1;
    q->priority = 0;
    q->created_ms = 0;
    q->parent_name = STR_NULL;
    q->affinity = NULL;
    q->rev = q->hash = q->written = 0;
    amounts_fill(&q->capability, AMOUNT_UNLIMITED);
    q->deserved = q->guarantee = (struct amounts){ 0 };
}

/* Children by name. */
static size_t child_place(const struct sched_queue *parent, struct str name)
{
    size_t low = 0, high = parent->children.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (str_cmp(parent->children.v[mid]->name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void child_add(struct sched_queue *parent, struct sched_queue *q)
{
    size_t at = child_place(parent, q->name);

    (void)vec_push(&parent->arena, &parent->children);
    memmove(&parent->children.v[at + 1], &parent->children.v[at],
            (parent->children.n - 1 - at) * sizeof(struct sched_queue *));
    parent->children.v[at] = q;
    q->parent = parent;
}

static void child_remove(struct sched_queue *parent, struct sched_queue *q)
{
    size_t at = child_place(parent, q->name);

    assert(at < parent->children.n && parent->children.v[at] == q);
    parent->children.n--;
    memmove(&parent->children.v[at], &parent->children.v[at + 1],
            (parent->children.n - at) * sizeof(struct sched_queue *));
}

struct sched_queue *model_need_queue(struct sched_model *m, struct str name)
{
    struct sched_queue *q = map_get(&m->queues, name);

    if (q)
        return q;
    q = xcalloc(1, sizeof(*q));
    q->name = arena_str(&q->arena, name);
    list_init(&q->groups);
    heap_init(&q->placed, group_by_priority);
    queue_reset(q);
    map_put(&m->queues, q->name, q);
    if (m->root)
        child_add(m->root, q);
    m->shares_changed = true;
    return q;
}

void model_release_queue(struct sched_model *m, struct sched_queue *q)
{
    if (q == m->root || q->exists || q->n_groups || q->children.n)
        return;
    child_remove(q->parent, q);
    map_remove(&m->queues, q->name);
    queue_free(q);
    m->shares_changed = true;
}
