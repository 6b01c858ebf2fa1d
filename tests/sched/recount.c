/* recount.c - after each round: count afresh, in plain loops, whether what was decided is right */
#include "world.h"

#include "base/util.h"

#include <stdarg.h>

void world_wrong(struct world *w, const char *rule, const char *fmt, ...)
{
    va_list ap;

    if (w->wrong)
        return;
    w->wrong = rule;
    va_start(ap, fmt);
    vsnprintf(w->detail, sizeof(w->detail), fmt, ap);
    va_end(ap);
}

/* ---- groups ---- */

static bool is_ready(enum w_state s)
{
    return s == W_BOUND || s == W_RUNS || s == W_DONE;
}

static bool is_placed(enum w_state s)
{
    return s == W_BOUND || s == W_RUNS;
}

int group_ready_pods(const struct world *w, int group)
{
    int n = 0;

    for (int i = 0; i < w->n_pods; i++)
        n += w->pods[i].group == group && is_ready(w->pods[i].state);
    return n;
}

int group_placed_pods(const struct world *w, int group)
{
    int n = 0;

    for (int i = 0; i < w->n_pods; i++)
        n += w->pods[i].group == group && is_placed(w->pods[i].state);
    return n;
}

static int minimum(const struct w_group *g)
{
    return MAX_OF(g->min, g->role_min[0] + g->role_min[1]);
}

bool group_stands(const struct world *w, int group)
{
    const struct w_group *g = &w->groups[group];
    int role[W_ROLES] = { 0 };

    for (int i = 0; i < w->n_pods; i++)
        if (w->pods[i].group == group && is_ready(w->pods[i].state))
            role[w->pods[i].role]++;
    return role[0] + role[1] >= minimum(g) && role[0] >= g->role_min[0] && role[1] >= g->role_min[1];
}

/* Are there pods enough? */
static bool is_valid(const struct world *w, int group)
{
    const struct w_group *g = &w->groups[group];
    int role[W_ROLES] = { 0 };

    for (int i = 0; i < w->n_pods; i++)
        if (w->pods[i].group == group && (is_ready(w->pods[i].state) || w->pods[i].state == W_WAITS))
            role[w->pods[i].role]++;
    return role[0] + role[1] >= minimum(g) && role[0] >= g->role_min[0] && role[1] >= g->role_min[1];
}

static bool may_go(const struct world *w, const struct w_group *g, const struct w_node *n)
{
    (void)w;
    return n->exists && (g->zone < 0 || g->zone == n->zone) && (!n->is_tainted || g->tolerates);
}

/* ---- queues ---- */

static bool is_below(const struct world *w, int queue, int top)
{
    for (; queue >= 0; queue = w->queues[queue].parent)
        if (queue == top)
            return true;
    return false;
}

static void queue_sum(const struct world *w, int top, int64_t *ret)
{
    memset(ret, 0, RES * sizeof(*ret));
    for (int i = 0; i < w->n_pods; i++) {
        const struct w_pod *p = &w->pods[i];

        if (is_placed(p->state) && is_below(w, w->groups[p->group].queue, top))
            for (int r = 0; r < RES; r++)
                ret[r] += w->groups[p->group].ask[r];
    }
}

/* A node counts that some pod may use: guarantees are kept on these. */
void world_usable(const struct world *w, int64_t *ret)
{
    bool tolerates = false;

    memset(ret, 0, RES * sizeof(*ret));
    for (int i = 0; i < w->n_pods; i++)
        tolerates |= w->pods[i].state != W_GONE && w->groups[w->pods[i].group].tolerates;
    for (int i = 0; i < w->n_nodes; i++)
        for (int r = 0; r < RES; r++)
            ret[r] += w->nodes[i].exists && (tolerates || !w->nodes[i].is_tainted) ? w->nodes[i].has[r] : 0;
}

/* The sum over queues just below root of what they have or may claim at any time. */
static int64_t promised(const struct world *w, int res)
{
    int64_t sum = 0, has[RES];

    for (int q = 0; q < w->n_queues; q++)
        if (w->queues[q].parent < 0) {
            queue_sum(w, q, has);
            sum += MAX_OF(has[res], w->queues[q].guarantee[res]);
        }
    return sum;
}

bool group_is_feasible(const struct world *w, int group)
{
    const struct w_group *g = &w->groups[group];
    int64_t places = 0, need = minimum(g), all[RES];

    for (int i = 0; i < w->n_nodes; i++) {
        int64_t fit = g->has_anti ? 1 : 100;

        for (int r = 0; r < RES; r++)
            if (g->ask[r])
                fit = MIN_OF(fit, w->nodes[i].has[r] / g->ask[r]);
        places += may_go(w, g, &w->nodes[i]) ? fit : 0;
    }
    if (places < need)
        return false;
    for (int q = g->queue; q >= 0; q = w->queues[q].parent)
        for (int r = 0; r < RES; r++)
            if (w->queues[q].cap[r] >= 0 && need * g->ask[r] > w->queues[q].cap[r])
                return false;
    world_usable(w, all);
    for (int r = 0; r < RES; r++) {
        int64_t others = 0;

        for (int q = 0; q < w->n_queues; q++)
            others += is_below(w, g->queue, q) ? 0 : w->queues[q].guarantee[r];
        if (g->ask[r] && need * g->ask[r] > all[r] - others)
            return false;
    }
    return true;
}

/* ---- the rules ---- */

static void check_nodes(struct world *w)
{
    for (int n = 0; n < w->n_nodes; n++) {
        int64_t used[RES] = { 0 };

        for (int i = 0; i < w->n_pods; i++) {
            const struct w_pod *p = &w->pods[i];

            if (p->node == n && (is_placed(p->state) || p->state == W_GOING))
                for (int r = 0; r < RES; r++)
                    used[r] += w->groups[p->group].ask[r];
        }
        for (int r = 0; r < RES; r++)
            if (w->nodes[n].exists && used[r] > w->nodes[n].has[r])
                world_wrong(w, "node over capacity", "%s: %lld of %lld (resource %d)", w->nodes[n].name,
                            (long long)used[r], (long long)w->nodes[n].has[r], r);
    }
}

static void check_anti_affinity(struct world *w)
{
    for (int i = 0; i < w->n_pods; i++)
        for (int k = i + 1; k < w->n_pods; k++) {
            const struct w_pod *a = &w->pods[i], *b = &w->pods[k];

            if (a->group == b->group && w->groups[a->group].has_anti && a->node >= 0 && a->node == b->node &&
                is_placed(a->state) && is_placed(b->state))
                world_wrong(w, "anti-affinity", "%s and %s on one node", a->name, b->name);
        }
}

static void check_gangs(struct world *w)
{
    for (int i = 0; i < w->n_groups; i++) {
        struct w_group *g = &w->groups[i];

        if (group_stands(w, i))
            g->was_whole = true;
        else if (g->bound_now)
            world_wrong(w, "a part of a gang was bound", "%s: %d bound now, %d ready of %d", g->name, g->bound_now,
                        group_ready_pods(w, i), minimum(g));
        if (g->evicted_now && g->whole_before && strcmp(g->reason, "gang") != 0 && !group_stands(w, i) &&
            group_placed_pods(w, i) > 0)
            world_wrong(w, "a victim gang was left broken", "%s: %d evicted, %d left of %d", g->name, g->evicted_now,
                        group_placed_pods(w, i), minimum(g));
    }
}

/* Queues that got something in this round, and those above them. */
static bool grew(const struct world *w, int top)
{
    for (int i = 0; i < w->n_groups; i++)
        if (w->groups[i].bound_now && is_below(w, w->groups[i].queue, top))
            return true;
    return false;
}

static bool grew_in(const struct world *w, int top, int res)
{
    for (int i = 0; i < w->n_groups; i++)
        if (w->groups[i].bound_now && w->groups[i].ask[res] && is_below(w, w->groups[i].queue, top))
            return true;
    return false;
}

static void check_queues(struct world *w)
{
    int64_t all[RES], has[RES];

    world_usable(w, all);
    for (int q = 0; q < w->n_queues; q++) {
        queue_sum(w, q, has);
        for (int r = 0; r < RES; r++) {
            if (w->queues[q].cap[r] >= 0 && grew(w, q) && grew_in(w, q, r) && has[r] > w->queues[q].cap[r])
                world_wrong(w, "queue beyond its capability", "%s: %lld of %lld (resource %d)", w->queues[q].name,
                            (long long)has[r], (long long)w->queues[q].cap[r], r);
            if (w->queues[q].parent < 0 && grew_in(w, q, r) && has[r] > w->queues[q].guarantee[r] &&
                promised(w, r) > all[r])
                world_wrong(w, "a guarantee was lent", "%s has %lld; with all guarantees %lld of %lld (resource %d)",
                            w->queues[q].name, (long long)has[r], (long long)promised(w, r), (long long)all[r], r);
        }
    }
}

static bool is_alike(const struct w_group *a, const struct w_group *b)
{
    return a->queue == b->queue && !a->n_roles && !b->n_roles && a->min == b->min && a->zone == b->zone &&
           a->tolerates == b->tolerates && a->has_anti == b->has_anti && memcmp(a->ask, b->ask, sizeof(a->ask)) == 0;
}

static void check_priority(struct world *w)
{
    for (int i = 0; i < w->n_groups; i++)
        for (int k = 0; k < w->n_groups; k++) {
            const struct w_group *low = &w->groups[i], *high = &w->groups[k];

            if (high->priority > low->priority && is_alike(low, high) && low->bound_now >= low->min &&
                low->ready_before == 0 && group_ready_pods(w, k) == 0 && is_valid(w, k))
                world_wrong(w, "priority", "%s (%d) was placed, %s (%d) waits", low->name, low->priority, high->name,
                            high->priority);
        }
}

/* ---- one round ---- */

static int find_pod(const struct world *w, struct str name)
{
    for (int i = w->n_pods; i-- > 0;)
        if (w->pods[i].state != W_GONE && str_is(name, w->pods[i].name))
            return i;
    return -1;
}

static int find_group(const struct world *w, struct str key)
{
    for (int i = 0; i < w->n_groups; i++)
        if (str_is(key, w->groups[i].key))
            return i;
    return -1;
}

/* What is kept there for pods of others. */
static int64_t nominated_to(const struct world *w, int node, int but, int res)
{
    int64_t sum = 0;

    for (int i = 0; i < w->n_pods; i++)
        if (w->pods[i].nominated == node + 1 && w->pods[i].state == W_WAITS && w->pods[i].group != but)
            sum += w->groups[w->pods[i].group].ask[res];
    return sum;
}

/* What was made free for it is where it goes, if it can. */
static void check_nominated(struct world *w, const struct w_pod *p, int node)
{
    const struct w_group *g = &w->groups[p->group];
    int said = p->nominated - 1;

    if (said < 0 || said == node || g->has_anti || !may_go(w, g, &w->nodes[said]))
        return;
    for (int r = 0; r < RES; r++)
        if (g->ask[r] && world_free(w, said, r) - nominated_to(w, said, p->group, r) < g->ask[r])
            return;
    world_wrong(w, "bound elsewhere than nominated", "%s to %s, not %s", p->name, w->nodes[node].name,
                w->nodes[said].name);
}

static void note_nomination(struct world *w, const struct decision *d)
{
    int pod = find_pod(w, d->name);

    if (pod < 0)
        return;
    if (str_empty(d->node))
        w->cleared = pod + 1; /* it is bound with the next decision, or the plan is void */
    for (int i = 0; i < w->n_nodes; i++)
        if (str_is(d->node, w->nodes[i].name))
            w->pods[pod].nominated = i + 1;
}

static void note_bind(struct world *w, const struct decision *d)
{
    int pod = find_pod(w, d->name), node = -1;
    struct w_pod *p;

    for (int i = 0; i < w->n_nodes; i++)
        if (str_is(d->node, w->nodes[i].name))
            node = i;
    if (pod < 0 || node < 0 || w->pods[pod].state != W_WAITS) {
        world_wrong(w, "a strange bind", "%.*s to %.*s", STR_ARG(d->name), STR_ARG(d->node));
        return;
    }
    p = &w->pods[pod];
    if (!may_go(w, &w->groups[p->group], &w->nodes[node]))
        world_wrong(w, "node rules", "%s to %s", p->name, w->nodes[node].name);
    check_nominated(w, p, node);
    p->node = node;
    p->state = W_BOUND;
    p->started_ms = w->h->now_ms;
    w->groups[p->group].bound_now++;
}

static void check_victim(struct world *w, const struct w_pod *p, const struct decision *d)
{
    const struct w_group *g = &w->groups[p->group];
    int other = find_group(w, d->other);
    const struct w_group *o = other >= 0 ? &w->groups[other] : NULL;

    if (str_is(d->reason, "gang")) {
        if (p->state != W_BOUND)
            world_wrong(w, "released a member that runs", "%s", p->name);
        return;
    }
    if (!o) {
        world_wrong(w, "evicted for nobody", "%s", p->name);
        return;
    }
    if (g->is_safe)
        world_wrong(w, "evicted a protected pod", "%s", p->name);
    if (w->h->now_ms - p->started_ms < w->h->config.min_run_ms)
        world_wrong(w, "evicted a pod that just started", "%s", p->name);
    if (str_is(d->reason, "preempt") && (g->queue != o->queue || g->priority >= o->priority))
        world_wrong(w, "preempted without right", "%s for %s", p->name, o->name);
    if (str_is(d->reason, "reclaim") && (g->queue == o->queue || !w->queues[g->queue].is_reclaimable))
        world_wrong(w, "reclaimed without right", "%s for %s", p->name, o->name);
    if (!str_is(d->reason, "reclaim") && !str_is(d->reason, "preempt"))
        world_wrong(w, "a strange reason", "%.*s", STR_ARG(d->reason));
}

static void note_evict(struct world *w, const struct decision *d)
{
    int pod = find_pod(w, d->name);
    struct w_pod *p;
    struct w_group *g;

    if (pod < 0 || !is_placed(w->pods[pod].state)) {
        world_wrong(w, "a strange eviction", "%.*s", STR_ARG(d->name));
        return;
    }
    p = &w->pods[pod];
    check_victim(w, p, d);
    g = &w->groups[p->group];
    p->state = W_GOING;
    g->evicted_now++;
    snprintf(g->reason, sizeof(g->reason), "%.*s", STR_ARG(d->reason));
    snprintf(g->evicted_for, sizeof(g->evicted_for), "%.*s", STR_ARG(d->other));
    w->has_evictions = true;
}

static void on_decision(struct h *h, const struct decision *d)
{
    struct world *w = h->ctx;
    int cleared = w->cleared;

    w->cleared = 0;
    if (d->kind == DECIDE_BIND)
        note_bind(w, d);
    if (cleared)
        w->pods[cleared - 1].nominated = 0;
    if (d->kind == DECIDE_EVICT)
        note_evict(w, d);
    if (d->kind == DECIDE_NOMINATE)
        note_nomination(w, d);
}

/* Tell the second scheduler the news in another order. */
static void tell_twin(struct world *w)
{
    for (int i = w->n_news; i > 1; i--) {
        int k = (int)rand_below(&w->r, (uint64_t)i);
        struct h_object *o = w->news[i - 1];

        w->news[i - 1] = w->news[k];
        w->news[k] = o;
    }
    for (int i = 0; i < w->n_news; i++) {
        struct h_object *o = w->news[i];

        o->is_news = false;
        if (o->is_gone)
            sched_gone(w->twin, o->kind, o->namespace, o->name, json_member_text(json_get(o->root, "metadata"), "uid"));
        else
            sched_put(w->twin, o->root);
    }
    w->n_news = 0;
}

static int by_text(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Bindings and evictions in their order, then everything sorted: in which order pods are told why they wait is nobody's
 * business. */
void story_sort(struct buf *story)
{
    autoarena a = { 0 };
    VEC(struct str) lines = { 0 };
    struct str rest = arena_str(&a, buf_view(story)), line;

    buf_reset(story);
    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, STR("bind ")) || str_starts(line, STR("evict "))) {
            buf_str(story, line);
            buf_char(story, '\n');
        }
        *vec_push(&a, &lines) = line;
    }
    if (lines.n)
        qsort(lines.v, lines.n, sizeof(*lines.v), by_text);
    VEC_FOREACH(l, &lines) {
        buf_str(story, *l);
        buf_char(story, '\n');
    }
}

/* What is done. When a waiting pod is told the same thing in newer words may depend on which news came first. */
static void deeds_only(struct buf *out, struct str story)
{
    struct str line;

    while (str_split(&story, '\n', &line))
        if (str_starts(line, STR("bind ")) || str_starts(line, STR("evict ")) || str_starts(line, STR("nominate "))) {
            buf_str(out, line);
            buf_char(out, '\n');
        }
}

static void compare_twin(struct world *w)
{
    autobuf mine = { 0 }, theirs = { 0 };

    struct sched_round round = { 0 };

    buf_reset(&w->twin_story);
    sched_round(w->twin, w->h->now_ms, &round);
    VEC_FOREACH(d, &round.list)
        h_story(&w->twin_story, d);
    arena_done(&round.arena);
    story_sort(&w->twin_story);
    story_sort(&w->h->story);
    deeds_only(&mine, buf_view(&w->h->story));
    deeds_only(&theirs, buf_view(&w->twin_story));
    if (!str_eq(buf_view(&mine), buf_view(&theirs)))
        world_wrong(w, "another order of news, other decisions", "see below");
}

void world_round(struct world *w)
{
    for (int i = 0; i < w->n_groups; i++) {
        w->groups[i].ready_before = group_ready_pods(w, i);
        w->groups[i].whole_before = group_stands(w, i);
        w->groups[i].bound_now = w->groups[i].evicted_now = 0;
    }
    world_note(w);
    tell_twin(w);
    w->h->on_decision = on_decision;
    h_round(w->h);
    check_nodes(w);
    check_anti_affinity(w);
    check_gangs(w);
    check_queues(w);
    check_priority(w);
    world_check_reasons(w);
    world_check_evictions(w);
    world_check_holds(w);
    compare_twin(w);
}
