/* check.c - is every counter what counting afresh gives? */
#include "sched/test/check.h"

#include "base/test/check.h"
#include "base/util.h"
#include "sched/fit/class.h"
#include "sched/sched_internal.h"

#include <stdarg.h>

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)fputs("model_check: ", stderr);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    abort();
}

#define EXPECT(ok, what, name)                                                                                         \
    do {                                                                                                               \
        if (!(ok))                                                                                                     \
            wrong("%s of %.*s", what, STR_ARG(name));                                                                  \
    } while (0)

static void same(const struct sched_model *m, const struct amounts *is, const struct amounts *want, const char *what,
                 struct str name)
{
    for (int d = 0; d < AMOUNT_DIMS; d++)
        if (is->v[d] != want->v[d])
            wrong("%s of %.*s: %.*s is %lld, should be %lld", what, STR_ARG(name),
                  d < m->dims.n ? (int)m->dims.names[d].n : 1, d < m->dims.n ? m->dims.names[d].p : "?",
                  (long long)is->v[d], (long long)want->v[d]);
}

/* ---- nodes ---- */

static uint32_t port_uses(const struct sched_node *n, const struct host_port *port)
{
    uint32_t uses = 0;

    LIST_FOREACH(struct sched_pod, p, &n->pods, on_node)
        VEC_FOREACH(q, &p->class->ports)
            uses += q->port == port->port && q->protocol == port->protocol && str_eq(q->ip, port->ip);
    return uses;
}

static void check_ports(const struct sched_node *n)
{
    size_t listed = 0, wanted = 0;

    VEC_FOREACH(port, &n->ports) {
        EXPECT(port->uses && port->uses == port_uses(n, port), "a port", n->name);
        listed += port->uses;
    }
    LIST_FOREACH(struct sched_pod, p, &n->pods, on_node)
        wanted += p->class->ports.n;
    EXPECT(listed == wanted, "ports", n->name);
}

static void check_node(const struct sched_model *m, const struct sched_node *n)
{
    struct amounts used = { 0 }, going = { 0 }, moving = { 0 }, total = { 0 };

    (void)list_check(&n->pods);
    LIST_FOREACH(struct sched_pod, p, &n->pods, on_node) {
        EXPECT(p->node == n, "node", p->key);
        amounts_add(&used, &p->class->ask, m->dims.n);
        if (p->state == POD_GOING)
            amounts_add(&going, &p->class->ask, m->dims.n);
        if (p->group)
            amounts_add(&moving, &p->class->ask, m->dims.n);
    }
    for (int d = 0; d < m->n_dims; d++)
        total.v[d] = n->exists ? amount_of_node(&m->dims, d, n->has) : 0;
    same(m, &n->used, &used, "used", n->name);
    same(m, &n->going, &going, "going", n->name);
    same(m, &n->moving, &moving, "moving", n->name);
    same(m, &n->total, &total, "total", n->name);
    check_ports(n);
}

static void check_nodes(const struct sched_model *m)
{
    struct amounts total = { 0 }, used = { 0 }, idle = { 0 }, open = { 0 }, none = { 0 };
    uint32_t n_exist = 0;

    MAP_FOREACH(struct sched_node *, n, &m->nodes) {
        check_node(m, n);
        if (!n->exists)
            continue;
        n_exist++;
        amounts_add(&total, &n->total, m->dims.n);
        amounts_add(&used, &n->used, m->dims.n);
        for (int d = 0; d < m->dims.n; d++) {
            idle.v[d] += MAX_OF(n->total.v[d] - n->used.v[d], 0);
            open.v[d] += MAX_OF(n->total.v[d] - n->used.v[d] - n->held.v[d], 0);
        }
    }
    same(m, &m->idle, &idle, "idle", STR("all nodes"));
    same(m, &m->open, &open, "open", STR("all nodes"));
    same(m, &m->lifted_sum, &none, "lifted", STR("all nodes"));
    same(m, &m->total, &total, "total", STR("all nodes"));
    same(m, &m->used, &used, "used", STR("all nodes"));
    if (m->is_unordered)
        return;
    EXPECT(n_exist == m->n_order, "number", STR("nodes in order"));
    for (uint32_t i = 0; i < m->n_order; i++)
        EXPECT(m->order[i]->exists && m->order[i]->index == i, "index", m->order[i]->name);
}

/* ---- pods and groups ---- */

static void check_pod(const struct sched_model *m, const struct sched_pod *p)
{
    bool may_have_node = p->state != POD_PENDING && p->state != POD_SUCCEEDED && p->state != POD_FAILED;

    EXPECT(p->class, "class", p->key);
    EXPECT(map_get(&m->pod_names, p->key) == p, "name", p->key);
    EXPECT(!p->node || may_have_node, "state", p->key);
    EXPECT(!p->node == !list_is_linked(&p->on_node), "place", p->key);
    EXPECT(!p->group == !p->role && (!p->role || p->role->group == p->group), "role", p->key);
    EXPECT(!p->group == !list_is_linked(&p->in_role), "list", p->key);
}

static void add_pod(const struct sched_model *m, const struct sched_pod *p, struct group_counts *sum)
{
    int n = m->dims.n;

    sum->n[p->state]++;
    sum->n_gated += p->state == POD_PENDING && p->is_gated;
    sum->n_closed += p->state == POD_PENDING && p->queue_gate == QUEUE_GATE_CLOSED;
    sum->n_opening += p->state == POD_PENDING && p->queue_gate == QUEUE_GATE_OPENING;
    if (p->state == POD_PENDING && p->queue_gate >= QUEUE_GATE_OPENING)
        amounts_add(&sum->opened, &p->class->ask, n);
    if (p->state == POD_PENDING && !p->is_gated)
        amounts_add(&sum->pending, &p->class->ask, n);
    if (p->state == POD_BINDING || p->state == POD_BOUND || p->state == POD_RUNNING)
        amounts_add(&sum->allocated, &p->class->ask, n);
    if (p->state == POD_GOING && p->node)
        amounts_add(&sum->going, &p->class->ask, n);
}

static size_t check_role(const struct sched_model *m, const struct sched_role *r, struct group_counts *sum)
{
    uint32_t n_gated = 0;
    size_t n = 0;

    for (int state = 0; state < POD_STATE_MAX; state++) {
        EXPECT(list_check(&r->pods[state]) == r->n[state], "number of pods of a role", r->group->key);
        n += r->n[state];
        LIST_FOREACH(struct sched_pod, p, &r->pods[state], in_role) {
            EXPECT(p->role == r && (int)p->state == state, "role", p->key);
            n_gated += state == POD_PENDING && p->is_gated;
            add_pod(m, p, sum);
        }
    }
    EXPECT(n_gated == r->n_gated, "gated pods of a role", r->group->key);
    sum->n_gone += MAX_OF(r->n_done - r->n[POD_SUCCEEDED], 0);
    return n;
}

static size_t check_group(const struct sched_model *m, const struct sched_group *g)
{
    struct group_counts sum = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < g->roles.n; i++) {
        EXPECT(i == 0 || str_cmp(g->roles.v[i - 1]->name, g->roles.v[i]->name) < 0, "order of roles", g->key);
        n += check_role(m, g->roles.v[i], &sum);
    }
    EXPECT(memcmp(sum.n, g->counts.n, sizeof(g->counts.n)) == 0, "number of pods", g->key);
    EXPECT(sum.n_gone == g->counts.n_gone, "number of pods that Succeeded and are gone", g->key);
    EXPECT(sum.n_gated == g->counts.n_gated, "number of gated pods", g->key);
    EXPECT(sum.n_closed == g->counts.n_closed, "number of closed gates", g->key);
    EXPECT(sum.n_opening == g->counts.n_opening, "number of gates that are opening", g->key);
    same(m, &g->counts.opened, &sum.opened, "opened", g->key);
    same(m, &g->counts.pending, &sum.pending, "pending", g->key);
    same(m, &g->counts.allocated, &sum.allocated, "allocated", g->key);
    same(m, &g->counts.going, &sum.going, "going", g->key);
    EXPECT(g->queue && map_get(&m->queues, g->queue->name) == g->queue, "queue", g->key);
    EXPECT(g->podgroup.exists || g->job.exists || n, "existence", g->key);
    return n;
}

static void check_pods(const struct sched_model *m)
{
    size_t with_group = 0, in_groups = 0, on_nodes = 0, nominated = 0;

    EXPECT(map_count(&m->pods) == map_count(&m->pod_names), "number", STR("pods"));
    MAP_FOREACH(struct sched_pod *, p, &m->pods) {
        check_pod(m, p);
        with_group += p->group != NULL;
        on_nodes += p->node != NULL;
        nominated += p->nominated != NULL;
    }
    MAP_FOREACH(struct sched_group *, g, &m->groups)
        in_groups += check_group(m, g);
    MAP_FOREACH(struct sched_node *, n, &m->nodes) {
        on_nodes -= list_check(&n->pods);
        nominated -= n->n_nominated;
    }
    EXPECT(with_group == in_groups, "number", STR("pods in groups"));
    EXPECT(on_nodes == 0, "number", STR("pods on nodes"));
    EXPECT(nominated == 0, "number", STR("nominated pods"));
}

/* ---- queues ---- */

struct queue_sums {
    struct amounts allocated, going, demand, admitted, opened;
};

static void sum_queue(const struct sched_model *m, const struct sched_queue *q, struct queue_sums *ret)
{
    LIST_FOREACH(struct sched_group, g, &q->groups, in_queue) {
        EXPECT(g->queue == q, "queue", g->key);
        amounts_add(&ret->allocated, &g->counts.allocated, m->dims.n);
        amounts_add(&ret->going, &g->counts.going, m->dims.n);
        amounts_add(&ret->demand, &g->demand, m->dims.n);
        amounts_add(&ret->admitted, &g->admitted, m->dims.n);
        amounts_add(&ret->opened, &g->counts.opened, m->dims.n);
    }
    for (size_t i = 0; i < q->children.n; i++) {
        const struct sched_queue *child = q->children.v[i];

        EXPECT(child->parent == q, "parent", child->name);
        EXPECT(i == 0 || str_cmp(q->children.v[i - 1]->name, child->name) < 0, "order of children", q->name);
        amounts_add(&ret->allocated, &child->allocated, m->dims.n);
        amounts_add(&ret->going, &child->going, m->dims.n);
        amounts_add(&ret->demand, &child->demand, m->dims.n);
        amounts_add(&ret->admitted, &child->admitted, m->dims.n);
        amounts_add(&ret->opened, &child->opened, m->dims.n);
    }
}

static void check_queues(const struct sched_model *m)
{
    size_t n_groups = 0, n_children = 0;

    MAP_FOREACH(struct sched_queue *, q, &m->queues) {
        struct queue_sums sums = { 0 };

        sum_queue(m, q, &sums);
        EXPECT(list_check(&q->groups) == q->n_groups, "number of groups", q->name);
        EXPECT(!q->parent == (q == m->root), "parent", q->name);
        EXPECT(q == m->root || q->exists || q->n_groups || q->children.n || m->queues_changed, "existence", q->name);
        same(m, &q->allocated, &sums.allocated, "allocated", q->name);
        same(m, &q->going, &sums.going, "going", q->name);
        same(m, &q->demand, &sums.demand, "demand", q->name);
        same(m, &q->admitted, &sums.admitted, "admitted", q->name);
        same(m, &q->opened, &sums.opened, "opened", q->name);
        n_groups += q->n_groups;
        n_children += q->children.n;
    }
    EXPECT(n_groups == map_count(&m->groups), "number", STR("groups in queues"));
    EXPECT(n_children + 1 == map_count(&m->queues), "number", STR("queues in the tree"));
}

void model_check(struct sched_model *m)
{
    map_check(&m->pods);
    map_check(&m->pod_names);
    check_nodes(m);
    check_pods(m);
    check_queues(m);
    gang_classes_check(m);
    gang_prefilter_check(m);
    (void)list_check(&m->dirty);
}

void sched_check(struct sched *s)
{
    model_check(&s->m);
}
