/* node.c - what is taken on nodes, and the totals over them */
#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/fit/fit.h"
#include "sched/model/model_internal.h"
#include "sched/fit/volume.h"

/* ---- host ports ---- */

static int port_cmp(const struct host_port *a, const struct host_port *b)
{
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    if (a->protocol != b->protocol)
        return a->protocol < b->protocol ? -1 : 1;
    return str_cmp(a->ip, b->ip);
}

static size_t port_place(const struct sched_node *n, const struct host_port *p)
{
    size_t i = 0; /* a node has few */

    while (i < n->ports.n && port_cmp(&n->ports.v[i], p) < 0)
        i++;
    return i;
}

static bool port_is_at(const struct sched_node *n, size_t at, const struct host_port *p)
{
    return at < n->ports.n && port_cmp(&n->ports.v[at], p) == 0;
}

static void port_take(struct sched_node *n, const struct host_port *p)
{
    size_t at = port_place(n, p);

    if (!port_is_at(n, at, p)) {
        (void)vec_push(&n->port_arena, &n->ports);
        memmove(&n->ports.v[at + 1], &n->ports.v[at], (n->ports.n - 1 - at) * sizeof(*n->ports.v));
        n->ports.v[at] = (struct host_port){ arena_str(&n->port_arena, p->ip), p->port, p->protocol, 0 };
    }
    n->ports.v[at].uses++;
}

/* Addresses of ports that were given back pile up; drop them now and then. */
static void ports_tidy(struct sched_node *n)
{
    struct arena fresh = { 0 };
    struct host_port *old = n->ports.v;
    size_t count = n->ports.n;

    if (n->port_arena.used < 4096 + 128 * count)
        return;
    n->ports.v = NULL;
    n->ports.n = n->ports.cap = 0;
    for (size_t i = 0; i < count; i++) {
        struct host_port *p = vec_push(&fresh, &n->ports);

        *p = old[i];
        p->ip = arena_str(&fresh, old[i].ip);
    }
    arena_done(&n->port_arena);
    n->port_arena = fresh;
}

static void port_give(struct sched_node *n, const struct host_port *p)
{
    size_t at = port_place(n, p);

    if (!port_is_at(n, at, p) || --n->ports.v[at].uses > 0)
        return;
    n->ports.n--;
    memmove(&n->ports.v[at], &n->ports.v[at + 1], (n->ports.n - at) * sizeof(*n->ports.v));
    ports_tidy(n);
}

/* ---- totals over nodes ---- */

static void resum_nodes(struct sched_model *m)
{
    m->total = m->used = (struct amounts){ 0 };
    MAP_FOREACH(struct sched_node *, n, &m->nodes) {
        if (!n->exists)
            continue;
        amounts_add(&m->total, &n->total, m->dims.n);
        amounts_add(&m->used, &n->used, m->dims.n);
    }
}

static void count_free(struct sched_model *m, struct sched_node *n)
{
    for (int d = 0; d < m->dims.n; d++) {
        int64_t free = n->exists ? n->total.v[d] - n->used.v[d] : 0;
        int64_t idle = MAX_OF(free, 0), open = MAX_OF(free - n->held.v[d], 0);

        m->idle.v[d] += idle - n->idle.v[d];
        m->open.v[d] += open - n->open.v[d];
        n->idle.v[d] = idle;
        n->open.v[d] = open;
    }
}

void model_node_out(struct sched_model *m, struct sched_node *n)
{
    bool is_exact;

    if (!n->exists)
        return;
    n->exists = false; /* so that counting afresh leaves it out */
    is_exact = amounts_sub(&m->total, &n->total, m->dims.n);
    is_exact &= amounts_sub(&m->used, &n->used, m->dims.n);
    if (!is_exact)
        resum_nodes(m);
    count_free(m, n);
}

void model_node_in(struct sched_model *m, struct sched_node *n)
{
    n->exists = true;
    amounts_add(&m->total, &n->total, m->dims.n);
    amounts_add(&m->used, &n->used, m->dims.n);
    count_free(m, n);
}

void model_node_changed(struct sched_model *m, struct sched_node *n)
{
    n->version++;
    count_free(m, n);
    fit_node_changed(m, n);
}

void model_sync_dims(struct sched_model *m)
{
    int from = m->n_dims;

    if (from == m->dims.n)
        return;
    m->n_dims = m->dims.n;
    MAP_FOREACH(struct sched_node *, n, &m->nodes) {
        bool has_any = false;

        if (!n->exists)
            continue;
        for (int d = from; d < m->dims.n; d++) {
            n->total.v[d] = amount_of_node(&m->dims, d, n->has);
            m->total.v[d] = amount_add(m->total.v[d], n->total.v[d]);
            has_any |= n->total.v[d] > 0;
        }
        if (has_any)
            model_node_changed(m, n);
    }
    m->room_gen++;
    m->node_gen++;
    m->shares_changed = true;
}

/* ---- what is taken on a node ---- */

static void node_recount(struct sched_model *m, struct sched_node *n)
{
    n->used = n->going = n->moving = (struct amounts){ 0 };
    LIST_FOREACH(struct sched_pod, p, &n->pods, on_node) {
        amounts_add(&n->used, &p->class->ask, m->dims.n);
        if (p->state == POD_GOING)
            amounts_add(&n->going, &p->class->ask, m->dims.n);
        if (p->group)
            amounts_add(&n->moving, &p->class->ask, m->dims.n);
    }
    resum_nodes(m);
}

static void model_node_take(struct sched_model *m, struct sched_node *n, const struct pod_class *class)
{
    amounts_add(&n->used, &class->ask, m->dims.n);
    if (n->exists)
        amounts_add(&m->used, &class->ask, m->dims.n);
    VEC_FOREACH(p, &class->ports)
        port_take(n, p);
    if (class->claims.n)
        volume_take(m, n, class);
    fit_count(m, class, n, 1);
}

static bool model_node_give(struct sched_model *m, struct sched_node *n, const struct pod_class *class)
{
    bool is_exact = amounts_sub(&n->used, &class->ask, m->dims.n);

    if (n->exists)
        is_exact &= amounts_sub(&m->used, &class->ask, m->dims.n);
    VEC_FOREACH(p, &class->ports)
        port_give(n, p);
    if (class->claims.n)
        volume_give(m, n, class);
    fit_count(m, class, n, -1);
    return is_exact;
}

void node_take(struct sched_model *m, struct sched_node *n, const struct pod_class *class)
{
    model_node_take(m, n, class);
    model_node_changed(m, n);
}

void node_give(struct sched_model *m, struct sched_node *n, const struct pod_class *class)
{
    if (!model_node_give(m, n, class))
        node_recount(m, n);
    model_node_changed(m, n);
}

void node_hold(struct sched_model *m, struct sched_node *n, const struct amounts *amount)
{
    amounts_add(&n->held, amount, m->dims.n);
    model_node_changed(m, n);
}

void node_unhold(struct sched_model *m, struct sched_node *n, const struct amounts *amount)
{
    (void)amounts_sub(&n->held, amount, m->dims.n); /* within what a node has: never near the bound */
    model_node_changed(m, n);
}

void pod_off_node(struct sched_model *m, struct sched_pod *p)
{
    struct sched_node *n = p->node;
    bool is_exact;

    if (!n)
        return;
    list_remove(&p->on_node);
    is_exact = model_node_give(m, n, p->class);
    if (p->state == POD_GOING)
        is_exact &= amounts_sub(&n->going, &p->class->ask, m->dims.n);
    if (p->group)
        is_exact &= amounts_sub(&n->moving, &p->class->ask, m->dims.n);
    if (!is_exact)
        node_recount(m, n);
    model_node_changed(m, n);
    m->shares_changed = true;
}

void pod_on_node(struct sched_model *m, struct sched_pod *p)
{
    struct sched_node *n = p->node;

    if (!n)
        return;
    list_push(&n->pods, &p->on_node);
    model_node_take(m, n, p->class);
    if (p->state == POD_GOING)
        amounts_add(&n->going, &p->class->ask, m->dims.n);
    if (p->group)
        amounts_add(&n->moving, &p->class->ask, m->dims.n);
    model_node_changed(m, n);
    m->shares_changed = true;
}
