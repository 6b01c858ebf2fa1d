/* tree.c - random trees of queues: one has everything, others come, and everybody gets its share back at every level
 *
 * The shares are worked out here once more, in another way: by bisection, in floating point.
 */
#include "world.h"

#include "base/util.h"

enum { T_QUEUES = 24, T_DEPTH = 3 };

struct t_queue {
    char name[16];
    int parent; /* -1: below root; children come after their parents */
    bool has_children;
    int budget; /* what is shared out below it when it is made, so that all promises can be kept */
    int weight, cap, deserved, guarantee; /* cap -1: none */
    int demand;                           /* pods of one CPU each that it has or wants */
    int bound;
    double ask, limit, fair, sure, own; /* sure: guarantee, own: deserved; with those below it */
};

struct t_tree {
    struct h *h;
    struct rand r;
    struct t_queue q[T_QUEUES];
    int n, total;
};

/* ---- making ---- */

static void add_below(struct t_tree *t, int parent, int budget, int depth)
{
    int n = (int)rand_between(&t->r, 2, 3), first = t->n;

    for (int i = 0; i < n && t->n < T_QUEUES; i++) {
        struct t_queue *q = &t->q[t->n++];

        *q = (struct t_queue){ .parent = parent, .budget = budget / n, .weight = 1, .cap = -1 };
        snprintf(q->name, sizeof(q->name), "q%d", t->n);
        q->weight = (int)rand_between(&t->r, 1, 3);
        if (rand_chance(&t->r, 1, 3))
            q->cap = MAX_OF((int)rand_between(&t->r, q->budget, budget), 1);
        if (parent >= 0)
            t->q[parent].has_children = true;
    }
    for (int i = first; i < first + n && i < t->n; i++) {
        struct t_queue *q = &t->q[i];

        if (depth + 1 < T_DEPTH && q->budget >= 4 && rand_chance(&t->r, 1, 2))
            add_below(t, i, q->budget, depth + 1);
        if (q->has_children)
            continue;
        if (rand_chance(&t->r, 1, 2))
            q->deserved = (int)rand_between(&t->r, 1, MAX_OF(q->budget, 1));
        if (rand_chance(&t->r, 1, 4))
            q->guarantee = (int)rand_between(&t->r, 1, MAX_OF(q->budget, 1));
    }
}

static void tell_queues(struct t_tree *t)
{
    for (int i = 0; i < t->n; i++) {
        const struct t_queue *q = &t->q[i];
        char text[200];

        snprintf(text, sizeof(text), "weight: %d", q->weight);
        if (q->parent >= 0)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", parent: %s", t->q[q->parent].name);
        if (q->cap >= 0)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", capability: {cpu: %d}", q->cap);
        if (q->deserved)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", deserved: {cpu: %d}", q->deserved);
        if (q->guarantee)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", guarantee: {resource: {cpu: %d}}",
                     q->guarantee);
        h_queue(t->h, q->name, text);
    }
}

static void add_jobs(struct t_tree *t, int queue, int n)
{
    struct t_queue *q = &t->q[queue];

    for (int i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s-%d", q->name, q->demand++);
        h_group(t->h, name, .min = 1, .queue = q->name);
        h_pods(t->h, name, "w", 1, "cpu: 1");
    }
}

static int leaf(struct t_tree *t)
{
    int i;

    do
        i = (int)rand_below(&t->r, (uint64_t)t->n);
    while (t->q[i].has_children);
    return i;
}

/* ---- the shares once more ---- */

static void sum_promises(struct t_tree *t)
{
    for (int i = t->n; i-- > 0;) {
        struct t_queue *q = &t->q[i];
        double sure = 0;

        for (int k = i + 1; k < t->n; k++)
            if (t->q[k].parent == i) {
                sure += t->q[k].sure;
                q->own += t->q[k].own;
            }
        q->own += q->deserved;
        q->sure = MAX_OF(sure, q->guarantee);
        q->sure = q->cap >= 0 ? MIN_OF(q->sure, q->cap) : q->sure;
    }
}

static void cut_limits(struct t_tree *t)
{
    for (int i = 0; i < t->n; i++) {
        struct t_queue *q = &t->q[i];
        double above = q->parent < 0 ? t->total : t->q[q->parent].limit, others = 0;

        for (int k = 0; k < t->n; k++)
            others += k != i && t->q[k].parent == q->parent ? t->q[k].sure : 0;
        q->limit = MAX_OF(MIN_OF(q->sure, above), above - others);
        q->limit = q->cap >= 0 ? MIN_OF(q->limit, q->cap) : q->limit;
    }
}

static void sum_asks(struct t_tree *t)
{
    for (int i = t->n; i-- > 0;) {
        struct t_queue *q = &t->q[i];
        double idle = 0;

        q->ask = q->has_children ? 0 : q->demand;
        for (int k = i + 1; k < t->n; k++)
            if (t->q[k].parent == i) {
                q->ask += t->q[k].ask;
                idle += MAX_OF(0, t->q[k].sure - t->q[k].ask);
            }
        q->ask = MIN_OF(q->ask, MAX_OF(0, q->limit - idle));
    }
}

static double at_level(const struct t_queue *q, double level)
{
    return MIN_OF(MAX_OF(q->own + q->weight * level, MIN_OF(q->sure, q->ask)), q->ask);
}

static void share_out(struct t_tree *t, int parent, double amount)
{
    double low = -1000, high = 1000;

    for (int step = 0; step < 80; step++) {
        double level = (low + high) / 2, sum = 0;

        for (int k = 0; k < t->n; k++)
            sum += t->q[k].parent == parent ? at_level(&t->q[k], level) : 0;
        *(sum > amount ? &high : &low) = level;
    }
    for (int k = 0; k < t->n; k++)
        if (t->q[k].parent == parent)
            t->q[k].fair = at_level(&t->q[k], low);
}

static void recount(struct t_tree *t)
{
    double idle = 0;

    sum_promises(t);
    cut_limits(t);
    sum_asks(t);
    for (int k = 0; k < t->n; k++)
        idle += t->q[k].parent < 0 ? MAX_OF(0, t->q[k].sure - t->q[k].ask) : 0;
    share_out(t, -1, t->total - idle);
    for (int i = 0; i < t->n; i++)
        if (t->q[i].has_children)
            share_out(t, i, t->q[i].fair);
}

static bool look(struct t_tree *t, uint64_t seed)
{
    bool is_good = true;

    recount(t);
    for (int i = 0; i < t->n; i++) {
        struct t_queue *q = &t->q[i];
        int due = MIN_OF(q->demand, (int)(q->fair - 0.001)); /* a part of a pod is of no use */

        for (int k = 0; k < q->demand; k++) {
            char name[32];

            snprintf(name, sizeof(name), "%s-%d", q->name, k);
            q->bound += h_bound(t->h, name);
        }
        if (q->bound >= due)
            continue;
        printf("seed %llu: queue %s has %d of %d, and a share of %.2f\n", (unsigned long long)seed, q->name, q->bound,
               q->demand, q->fair);
        is_good = false;
    }
    return is_good;
}

bool one_tree(uint64_t seed, bool is_trace)
{
    struct t_tree t = { .h = h_new(NULL) };
    int nodes, hog, n_takers, on_others = 0, evicted;
    bool is_good;

    rand_seed(&t.r, seed);
    t.h->has_trace |= is_trace;
    nodes = (int)rand_between(&t.r, 1, 3);
    for (int i = 0; i < nodes; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%d", i);
        h_node(t.h, name, "cpu: 8");
    }
    t.total = 8 * nodes;
    add_below(&t, -1, t.total, 0);
    tell_queues(&t);
    hog = leaf(&t);
    add_jobs(&t, hog, t.total);
    h_work(t.h, t.h->config.min_run_ms + 5000, 5000);
    n_takers = (int)rand_between(&t.r, 1, 3);
    for (int i = 0; i < n_takers; i++) {
        int queue = leaf(&t);

        if (queue != hog && t.q[queue].demand == 0)
            add_jobs(&t, queue, (int)rand_between(&t.r, 1, t.total));
    }
    h_work(t.h, t.h->config.reserve_after_ms + 60000, 5000);
    evicted = (int)t.h->all.n[DECIDE_EVICT];
    is_good = look(&t, seed);
    for (int i = 0; i < t.n; i++)
        on_others += i == hog ? 0 : t.q[i].bound;
    for (int i = 0; i < t.n; i++) /* a share that ends within a pod may cost one more */
        on_others += t.q[i].has_children;
    if (evicted > on_others) {
        printf("seed %llu: %d evicted for %d pods\n", (unsigned long long)seed, evicted, on_others);
        is_good = false;
    }
    if (!is_good && is_trace)
        for (int i = 0; i < t.n; i++)
            printf(
                "    queue %s below %s: weight %d, capability %d, deserved %d, guarantee %d; asks %d, limit %.2f, fair "
                "%.2f, has %d%s\n",
                t.q[i].name, t.q[i].parent < 0 ? "root" : t.q[t.q[i].parent].name, t.q[i].weight, t.q[i].cap,
                t.q[i].deserved, t.q[i].guarantee, t.q[i].demand, t.q[i].limit, t.q[i].fair, t.q[i].bound,
                i == hog ? " (the first)" : "");
    h_free(t.h);
    return is_good;
}
