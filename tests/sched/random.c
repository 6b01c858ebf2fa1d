/* random.c - random clusters, and random things that happen in them */
#include "world.h"

#include "base/util.h"

static const int64_t node_sizes[][RES] = { { 2000, 4096, 0 }, { 4000, 8192, 0 }, { 8000, 8192, 2 }, { 1000, 2048, 1 } };
static const int64_t pod_sizes[][RES] = { { 1000, 0, 0 },    { 1000, 1024, 0 }, { 500, 512, 0 },
                                          { 2000, 1024, 0 }, { 1000, 0, 1 },    { 0, 0, 0 } };
static const struct {
    const char *name;
    int value;
} priorities[] = { { NULL, 0 }, { "low", 10 }, { "high", 100 } };

static void amounts_text(char *out, size_t n, const int64_t *v)
{
    out[0] = '\0';
    if (v[CPU])
        snprintf(out + strlen(out), n - strlen(out), "%scpu: %lldm", *out ? ", " : "", (long long)v[CPU]);
    if (v[MEM])
        snprintf(out + strlen(out), n - strlen(out), "%smemory: %lldMi", *out ? ", " : "", (long long)v[MEM]);
    if (v[GPU])
        snprintf(out + strlen(out), n - strlen(out), "%snvidia.com/gpu: %lld", *out ? ", " : "", (long long)v[GPU]);
}

static void add_node(struct world *w)
{
    struct w_node *n;
    char amounts[96], more[200];

    if (w->n_nodes == W_NODES)
        return;
    n = &w->nodes[w->n_nodes];
    *n = (struct w_node){ .zone = (int)rand_below(&w->r, 3), .is_tainted = rand_chance(&w->r, 1, 8), .exists = true };
    memcpy(n->has, node_sizes[rand_below(&w->r, ARRAY_LEN(node_sizes))], sizeof(n->has));
    snprintf(n->name, sizeof(n->name), "n%d", w->n_nodes++);
    amounts_text(amounts, sizeof(amounts), n->has);
    snprintf(more, sizeof(more), "metadata: {labels: {zone: z%d}}%s", n->zone,
             n->is_tainted ? ", spec: {taints: [{key: only, value: some, effect: NoSchedule}]}" : "");
    h_node_more(w->h, n->name, amounts, more);
}

static void queue_text(const struct world *w, const struct w_queue *q, int weight, char *out, size_t n)
{
    char amounts[96];
    int64_t some[RES];

    snprintf(out, n, "weight: %d, reclaimable: %s%s", weight, q->is_reclaimable ? "true" : "false",
             q->is_fifo ? ", dequeueStrategy: fifo" : "");
    if (q->parent >= 0)
        snprintf(out + strlen(out), n - strlen(out), ", parent: %s", w->queues[q->parent].name);
    for (int r = 0; r < RES; r++)
        some[r] = q->cap[r] < 0 ? 0 : q->cap[r];
    amounts_text(amounts, sizeof(amounts), some);
    if (*amounts)
        snprintf(out + strlen(out), n - strlen(out), ", capability: {%s}", amounts);
    amounts_text(amounts, sizeof(amounts), q->guarantee);
    if (*amounts)
        snprintf(out + strlen(out), n - strlen(out), ", guarantee: {resource: {%s}}, deserved: {%s}", amounts, amounts);
}

static void add_queue(struct world *w)
{
    int i = w->n_queues++;
    struct w_queue *q = &w->queues[i];
    char text[300];

    *q = (struct w_queue){ .parent = -1, .is_reclaimable = !rand_chance(&w->r, 1, 4), .cap = { -1, -1, -1 } };
    snprintf(q->name, sizeof(q->name), "q%d", i);
    q->is_fifo = rand_chance(&w->r, 1, 4);
    if (i > 0 && rand_chance(&w->r, 1, 3)) {
        q->parent = (int)rand_below(&w->r, (uint64_t)i);
        if (w->queues[q->parent].guarantee[CPU]) /* guarantees only where nobody is below */
            q->parent = -1;
        else
            w->queues[q->parent].has_children = true;
    }
    if (rand_chance(&w->r, 1, 3))
        q->cap[CPU] = 1000 * rand_between(&w->r, 1, 8);
    if (rand_chance(&w->r, 1, 8))
        q->cap[MEM] = 1024 * rand_between(&w->r, 1, 8);
    if (q->parent < 0 && rand_chance(&w->r, 1, 4)) {
        q->guarantee[CPU] = 1000 * rand_between(&w->r, 1, 2);
        if (q->cap[CPU] >= 0 && q->cap[CPU] < q->guarantee[CPU])
            q->cap[CPU] = q->guarantee[CPU];
    }
    queue_text(w, q, (int)rand_between(&w->r, 1, 4), text, sizeof(text));
    h_queue(w->h, q->name, text);
}

static void add_pods(struct world *w, int group, int role, int n)
{
    struct w_group *g = &w->groups[group];
    char amounts[96], more[600], zone[40] = "", anti[240] = "";
    static const char *const roles[W_ROLES] = { "a", "b" };

    amounts_text(amounts, sizeof(amounts), g->ask);
    if (g->zone >= 0)
        snprintf(zone, sizeof(zone), ", nodeSelector: {zone: z%d}", g->zone);
    if (g->has_anti)
        snprintf(anti, sizeof(anti),
                 ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
                 "kubernetes.io/hostname, labelSelector: {matchLabels: {group: %s}}}]}}",
                 g->name);
    snprintf(more, sizeof(more), "metadata: {labels: {group: %s%s}}, spec: {priority: 0%s%s%s}", g->name,
             g->is_safe ? ", budget: none" : "", zone,
             g->tolerates ? ", tolerations: [{key: only, operator: Exists}]" : "", anti);
    for (int i = 0; i < n && w->n_pods < W_PODS; i++) {
        struct w_pod *p = &w->pods[w->n_pods++];
        struct h_object *o;

        *p = (struct w_pod){ .group = group, .role = role, .node = -1 };
        h_pods_more(w->h, g->name, g->n_roles ? roles[role] : "w", 1, amounts, more);
        o = w->h->list.v[w->h->list.n - 1];
        snprintf(p->name, sizeof(p->name), "%.*s", STR_ARG(o->name));
        g->pods_made++;
    }
}

static int leaf_queue(struct world *w)
{
    for (int tries = 0; tries < 10; tries++) {
        int q = (int)rand_below(&w->r, (uint64_t)w->n_queues);

        if (!w->queues[q].has_children)
            return q;
    }
    return -1;
}

static void draw_group(struct world *w, struct w_group *g)
{
    int n;

    memcpy(g->ask, pod_sizes[rand_below(&w->r, ARRAY_LEN(pod_sizes))], sizeof(g->ask));
    if (rand_chance(&w->r, 1, 6))
        g->zone = (int)rand_below(&w->r, 3);
    g->tolerates = rand_chance(&w->r, 1, 4);
    g->has_anti = rand_chance(&w->r, 1, 10);
    g->is_safe = rand_chance(&w->r, 1, 6);
    g->min = (int)rand_between(&w->r, 1, 5);
    if (rand_chance(&w->r, 1, 4)) {
        g->n_roles = W_ROLES;
        g->role_min[0] = (int)rand_between(&w->r, 0, 2);
        g->role_min[1] = (int)rand_between(&w->r, 0, 2);
    }
    n = MAX_OF(g->min, g->role_min[0] + g->role_min[1]) + (rand_chance(&w->r, 1, 3) ? (int)rand_below(&w->r, 4) : 0);
    if (rand_chance(&w->r, 1, 10))
        n -= 1; /* not all are there yet */
    g->pods[0] = n;
    if (!g->n_roles)
        return;
    g->pods[0] = MIN_OF(n, g->role_min[0] + (int)rand_below(&w->r, 2));
    g->pods[0] = MAX_OF(MIN_OF(g->pods[0], n - g->role_min[1]), 0);
    g->pods[1] = n - g->pods[0];
}

static void put_group(struct world *w, int i)
{
    struct w_group *g = &w->groups[i];
    char roles[48] = "";
    const char *priority = NULL;

    snprintf(g->name, sizeof(g->name), "g%d", i);
    snprintf(g->key, sizeof(g->key), "default/g%d", i);
    if (g->n_roles)
        snprintf(roles, sizeof(roles), "a: %d, b: %d", g->role_min[0], g->role_min[1]);
    for (size_t k = 0; k < ARRAY_LEN(priorities); k++)
        if (priorities[k].value == g->priority)
            priority = priorities[k].name;
    h_group(w->h, g->name, .min = g->min, .queue = w->queues[g->queue].name, .priority = priority,
            .roles = *roles ? roles : NULL);
    for (int role = 0; role < MAX_OF(g->n_roles, 1); role++)
        add_pods(w, i, role, g->pods[role]);
}

int world_add_group(struct world *w, int priority)
{
    int i = w->n_groups, queue = leaf_queue(w);

    if (i == W_GROUPS || queue < 0)
        return -1;
    w->n_groups++;
    w->groups[i] = (struct w_group){ .queue = queue, .priority = priorities[priority].value, .zone = -1 };
    draw_group(w, &w->groups[i]);
    put_group(w, i);
    return i;
}

/* So many more that are like one that is there. */
static void add_alike(struct world *w, int like, int n)
{
    for (; n > 0 && w->n_groups < W_GROUPS && w->n_pods + 8 < W_PODS; n--) {
        const struct w_group *old = &w->groups[like];
        int i = w->n_groups++;

        w->groups[i] = (struct w_group){ .queue = old->queue,
                                         .priority = old->priority,
                                         .min = old->min,
                                         .n_roles = old->n_roles,
                                         .zone = old->zone,
                                         .tolerates = old->tolerates,
                                         .is_safe = old->is_safe };
        memcpy(w->groups[i].role_min, old->role_min, sizeof(old->role_min));
        memcpy(w->groups[i].ask, old->ask, sizeof(old->ask));
        memcpy(w->groups[i].pods, old->pods, sizeof(old->pods));
        put_group(w, i);
    }
}

static void on_change(struct h *h, struct h_object *o, bool is_gone)
{
    struct world *w = h->ctx;

    (void)is_gone;
    if (o->is_news || w->n_news == (int)ARRAY_LEN(w->news))
        return;
    o->is_news = true;
    w->news[w->n_news++] = o;
}

static void off_actions(struct sched_config *c)
{
    c->preempts = c->reclaims = false;
}

void world_make(struct world *w, uint64_t seed)
{
    int n;

    memset(w, 0, sizeof(*w));
    w->seed = seed;
    rand_seed(&w->r, seed);
    w->is_crowded = seed % 3 == 0;
    w->h = h_new(rand_chance(&w->r, 1, 4) ? off_actions : NULL);
    w->h->ctx = w;
    w->h->on_change = on_change;
    w->twin = sched_new(&w->h->config, seed ^ 0x5bd1e995);
    if (w->is_crowded) {
        struct sched_config config = w->h->config;

        config.retell = 0;
        sched_configure(w->h->s, &config);
        sched_configure(w->twin, &config);
    }
    for (size_t i = 0; i < w->h->list.n; i++)
        on_change(w->h, w->h->list.v[i], false);
    for (size_t i = 1; i < ARRAY_LEN(priorities); i++)
        h_priority(w->h, priorities[i].name, priorities[i].value, NULL);
    h_budget(w->h, "none", "budget: none", 0);
    n = (int)rand_between(&w->r, 1, 6);
    for (int i = 0; i < n; i++)
        add_node(w);
    n = (int)rand_between(&w->r, 1, 4);
    for (int i = 0; i < n; i++)
        add_queue(w);
    n = (int)rand_between(&w->r, 1, 6);
    for (int i = 0; i < n; i++)
        world_add_group(w, (int)rand_below(&w->r, ARRAY_LEN(priorities)));
    if (!w->is_crowded)
        return;
    for (int like = 0, last = w->n_groups; like < last; like++)
        add_alike(w, like, (int)rand_between(&w->r, 2, 8));
}

void world_done(struct world *w)
{
    sched_free(w->twin);
    buf_done(&w->twin_story);
    h_free(w->h);
}

/* ---- what happens ---- */

void world_run_bound(struct world *w)
{
    for (int i = 0; i < w->n_pods; i++) {
        struct w_pod *p = &w->pods[i];

        if (p->state == W_BOUND) {
            h_phase(w->h, p->name, "Running");
            p->state = W_RUNS;
            p->started_ms = w->h->now_ms;
        }
    }
}

void world_finish(struct world *w, int pod, bool is_good)
{
    struct w_pod *p = &w->pods[pod];

    h_phase(w->h, p->name, is_good ? "Succeeded" : "Failed");
    p->state = is_good ? W_DONE : W_FAILED;
}

static void remove_pod(struct world *w, int pod)
{
    struct w_pod *p = &w->pods[pod];

    h_delete(w->h, "Pod", p->name);
    p->state = W_GONE;
    p->node = -1;
}

int world_finish_deletes(struct world *w, int most)
{
    int n = 0;

    for (int i = 0; i < w->n_pods && n < most; i++)
        if (w->pods[i].state == W_GOING) {
            remove_pod(w, i);
            n++;
        }
    w->has_evictions = false;
    return n;
}

static void vanish_node(struct world *w, int node)
{
    struct w_node *n = &w->nodes[node];

    if (!n->exists)
        return;
    n->exists = false;
    h_delete(w->h, "Node", n->name);
    for (int i = 0; i < w->n_pods; i++)
        if (w->pods[i].node == node && w->pods[i].state != W_GONE)
            remove_pod(w, i);
}

void world_replace_pods(struct world *w, int group)
{
    struct w_group *g = &w->groups[group];
    int live = 0, role[W_ROLES] = { 0 };

    for (int i = 0; i < w->n_pods; i++) {
        struct w_pod *p = &w->pods[i];

        if (p->group == group && p->state != W_GONE && p->state != W_GOING && p->state != W_FAILED) {
            live++;
            role[p->role]++;
        }
    }
    for (int r = 0; r < g->n_roles; r++)
        if (role[r] < g->role_min[r]) {
            add_pods(w, group, r, g->role_min[r] - role[r]);
            live += g->role_min[r] - role[r];
        }
    if (live < g->min)
        add_pods(w, group, 0, g->min - live);
}

static int pick_pod(struct world *w, enum w_state state)
{
    int first;

    if (!w->n_pods)
        return -1;
    first = (int)rand_below(&w->r, (uint64_t)w->n_pods);
    for (int i = 0; i < w->n_pods; i++) {
        int at = (first + i) % w->n_pods;

        if (w->pods[at].state == state)
            return at;
    }
    return -1;
}

static void change_queue(struct world *w)
{
    int i = (int)rand_below(&w->r, (uint64_t)w->n_queues);
    struct w_queue *q = &w->queues[i];
    char more[80];

    if (q->guarantee[CPU])
        return;
    q->cap[CPU] = 1000 * rand_between(&w->r, 1, 12);
    snprintf(more, sizeof(more), "spec: {capability: {cpu: %lldm}}", (long long)q->cap[CPU]);
    h_change(w->h, h_get(w->h, "Queue", q->name), more);
}

static void one_thing(struct world *w)
{
    int pod;

    switch (rand_below(&w->r, 12)) {
    case 0:
    case 1:
    case 2:
        world_add_group(w, (int)rand_below(&w->r, ARRAY_LEN(priorities)));
        break;
    case 3:
    case 4:
        for (int i = 0; i < 3; i++)
            if ((pod = pick_pod(w, W_RUNS)) >= 0)
                world_finish(w, pod, !rand_chance(&w->r, 1, 5));
        break;
    case 5:
        if ((pod = pick_pod(w, rand_chance(&w->r, 1, 2) ? W_RUNS : W_BOUND)) >= 0) {
            h_mark_deleted(w->h, w->pods[pod].name);
            w->pods[pod].state = W_GOING;
        }
        break;
    case 6:
        if ((pod = pick_pod(w, W_WAITS)) >= 0)
            remove_pod(w, pod);
        break;
    case 7:
        if (rand_chance(&w->r, 1, 3))
            vanish_node(w, (int)rand_below(&w->r, (uint64_t)w->n_nodes));
        break;
    case 8:
        if (rand_chance(&w->r, 1, 2))
            add_node(w);
        break;
    case 9:
        if (w->n_groups)
            world_replace_pods(w, (int)rand_below(&w->r, (uint64_t)w->n_groups));
        break;
    case 10:
        if (rand_chance(&w->r, 1, 4))
            change_queue(w);
        break;
    default:
        world_finish_deletes(w, INT_MAX);
        break;
    }
}

void world_happens(struct world *w)
{
    static const int64_t passes[] = { 0, 1000, 1000, 5000, 30000, 70000 };
    int n = (int)rand_below(&w->r, 4);

    h_pass(w->h, passes[rand_below(&w->r, ARRAY_LEN(passes))]);
    if (!rand_chance(&w->r, 1, 5))
        world_run_bound(w);
    for (int i = 0; i < n; i++)
        one_thing(w);
}
