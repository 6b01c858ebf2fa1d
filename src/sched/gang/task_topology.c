/* task_topology.c - tasks of one job that belong together, or apart */
#include "sched/gang/task_topology.h"

#include "base/util.h"

/* How strong a wish is against others. */
enum { SELF_APART = 4, TOGETHER = 3, SELF_TOGETHER = 2, APART = 1 };

enum { NEAR_SCORE = 100 }; /* of one pod that is (not) wanted on the node, as other scores count */

struct roles { /* one group of an annotation */
    VEC(const struct sched_role *) list;
};

struct task_topology {
    VEC(struct roles) together, apart;
    struct roles order;
};

static bool has_role(const struct roles *r, const struct sched_role *role)
{
    VEC_FOREACH(at, &r->list)
        if (*at == role)
            return true;
    return false;
}

/* "ps,worker": false if a role is unknown or stands there twice. */
static bool read_roles(struct arena *a, const struct sched_group *g, struct str text, struct roles *ret)
{
    struct str name;

    while (str_split(&text, ',', &name)) {
        const struct sched_role *role = group_role(g, str_trim(name));

        if (!role || has_role(ret, role))
            return false;
        *vec_push(a, &ret->list) = role;
    }
    return ret->list.n > 0;
}

static bool read_groups(struct arena *a, const struct sched_group *g, struct str text, struct task_topology *n,
                        bool is_apart)
{
    struct str part;

    while (!str_empty(text) && str_split(&text, ';', &part)) {
        struct roles *one = is_apart ? vec_push(a, &n->apart) : vec_push(a, &n->together);

        if (!read_roles(a, g, part, one))
            return false;
    }
    return true;
}

struct task_topology *task_topology_read(struct arena *a, const struct sched_group *g)
{
    struct task_topology *n;

    if (str_empty(g->spec.near) && str_empty(g->spec.apart) && str_empty(g->spec.task_order))
        return NULL;
    n = arena_new(a, struct task_topology);
    if (!read_groups(a, g, g->spec.near, n, false) || !read_groups(a, g, g->spec.apart, n, true) ||
        (!str_empty(g->spec.task_order) && !read_roles(a, g, g->spec.task_order, &n->order)))
        return NULL;
    return n;
}

int task_topology_order(const struct task_topology *n, const struct sched_role *role)
{
    for (size_t i = 0; i < n->order.list.n; i++)
        if (n->order.list.v[i] == role)
            return (int)i;
    return INT32_MAX;
}

/* One role alone in its group means its own pods; several mean each other. */
static bool are_both_in(const struct roles *r, const struct sched_role *a, const struct sched_role *b)
{
    return has_role(r, a) && has_role(r, b) && (a != b || r->list.n == 1);
}

static int wish(const struct task_topology *n, const struct sched_role *a, const struct sched_role *b)
{
    int sum = 0;

    VEC_FOREACH(r, &n->together)
        if (are_both_in(r, a, b))
            sum += a == b ? SELF_TOGETHER : TOGETHER;
    VEC_FOREACH(r, &n->apart)
        if (are_both_in(r, a, b))
            sum -= a == b ? SELF_APART : APART;
    return sum;
}

struct score {
    const struct sched_node *node;
    int64_t sum;
};
struct scores {
    VEC(struct score) list;
};

static void add_score(struct arena *a, struct scores *all, const struct sched_node *node, int by)
{
    if (!by)
        return;
    VEC_FOREACH(s, &all->list)
        if (s->node == node) {
            s->sum += by;
            return;
        }
    *vec_push(a, &all->list) = (struct score){ node, by };
}

static void task_topology_collect(const struct task_topology *n, const struct gang_work *w,
                                  const struct sched_role *role, struct scores *ret)
{
    static const enum pod_state states[] = { POD_BINDING, POD_BOUND, POD_RUNNING };

    VEC_FOREACH(r, &w->t->group->roles) {
        int by = wish(n, role, *r);

        for (size_t i = 0; by && i < ARRAY_LEN(states); i++)
            LIST_FOREACH(struct sched_pod, p, &(*r)->pods[states[i]], in_role)
                add_score(w->t->arena, ret, p->node, by);
    }
    VEC_FOREACH(s, &w->t->seats)
        add_score(w->t->arena, ret, s->node, wish(n, role, s->role));
}

static int64_t score_of(const struct scores *all, const struct sched_node *node)
{
    VEC_FOREACH(s, &all->list)
        if (s->node == node)
            return s->sum;
    return 0;
}

struct sched_node *task_topology_best(const struct task_topology *n, const struct gang_work *w, const struct slot *s,
                                      enum fit_room room)
{
    struct fit_question q = { s->class, w->t->group, room };
    struct sched_model *m = w->t->m;
    struct scores scores = { 0 };
    struct sched_node *best = NULL;
    int64_t most = 0;

    task_topology_collect(n, w, s->role, &scores);
    if (scores.list.n == 0)
        return fit_best(m, &q, w->range);
    for (uint32_t i = w->range.from; i < w->range.to && i < m->n_order; i++) {
        struct sched_node *node = m->order[i];
        int64_t score;

        if (!fit_node(m, &q, node, NULL))
            continue;
        score = fit_score(m, s->class, w->t->group, node, NULL) +
                NEAR_SCORE * m->config.weights[SCORE_TASK_TOPOLOGY] * score_of(&scores, node);
        if (!best || score > most) {
            best = node;
            most = score;
        }
    }
    return best;
}
