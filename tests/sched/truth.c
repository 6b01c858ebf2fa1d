/* truth.c - after each round: is what a waiting group was told really what stops it, and did others have to go for it?
 * */
#include "world.h"

#include "base/util.h"

static const char *const res_names[RES] = { "cpu", "memory", "nvidia.com/gpu" };

static int res_of(const struct world *w, int dim)
{
    for (int r = 0; r < RES && dim >= 0; r++)
        if (str_is(sched_dims(w->h->s)->names[dim], res_names[r]))
            return r;
    return -1;
}

static bool is_below(const struct world *w, int queue, int top)
{
    for (; queue >= 0; queue = w->queues[queue].parent)
        if (queue == top)
            return true;
    return false;
}

static bool has_node(const struct w_pod *p)
{
    return p->node >= 0 && (p->state == W_BOUND || p->state == W_RUNS || p->state == W_GOING);
}

/* What the pods below a queue have, also those that are going. */
static int64_t queue_has(const struct world *w, int top, int res)
{
    int64_t sum = 0;

    for (int i = 0; i < w->n_pods; i++)
        if (has_node(&w->pods[i]) && is_below(w, w->groups[w->pods[i].group].queue, top))
            sum += w->groups[w->pods[i].group].ask[res];
    return sum;
}

int64_t world_free(const struct world *w, int node, int res)
{
    int64_t free = w->nodes[node].has[res];

    for (int i = 0; i < w->n_pods; i++)
        if (w->pods[i].node == node && has_node(&w->pods[i]))
            free -= w->groups[w->pods[i].group].ask[res];
    return free;
}

/* Pods it lacks at most. */
static int64_t lacks(const struct world *w, int group)
{
    const struct w_group *g = &w->groups[group];
    int ready[W_ROLES] = { 0 };
    int64_t roles = 0;

    for (int i = 0; i < w->n_pods; i++) {
        enum w_state s = w->pods[i].state;

        if (w->pods[i].group == group && (s == W_BOUND || s == W_RUNS || s == W_DONE))
            ready[w->pods[i].role]++;
    }
    for (int r = 0; r < W_ROLES; r++)
        roles += MAX_OF(g->role_min[r] - ready[r], 0);
    return MAX_OF(MAX_OF(g->min, g->role_min[0] + g->role_min[1]) - ready[0] - ready[1], roles);
}

static void check_capability(struct world *w, int group, const struct why *why)
{
    int res = res_of(w, why->dim), queue = 0;
    int64_t has, needs;

    if (res < 0)
        return;
    while (queue < w->n_queues && strcmp(w->queues[queue].name, why->queue) != 0)
        queue++;
    if (queue == w->n_queues || !is_below(w, w->groups[group].queue, queue) || w->queues[queue].cap[res] < 0) {
        world_wrong(w, "a capability that is none", "%s: queue %s", w->groups[group].name, why->queue);
        return;
    }
    has = queue_has(w, queue, res);
    needs = lacks(w, group) * w->groups[group].ask[res];
    if (has + needs <= w->queues[queue].cap[res])
        world_wrong(w, "a capability that is not reached", "%s: %s has %lld and needs %lld of %lld",
                    w->groups[group].name, why->queue, (long long)has, (long long)needs,
                    (long long)w->queues[queue].cap[res]);
}

/* What all would have with all that it lacks, and what others are guaranteed. Guarantees are just below root (random.c). */
static int64_t sum_with(const struct world *w, int group, int res)
{
    int64_t sum = lacks(w, group) * w->groups[group].ask[res];

    for (int q = 0; q < w->n_queues; q++)
        if (w->queues[q].parent < 0) {
            int64_t has = queue_has(w, q, res);

            sum += is_below(w, w->groups[group].queue, q) ? has : MAX_OF(has, w->queues[q].guarantee[res]);
        }
    return sum;
}

static void check_guarantee(struct world *w, int group, const struct why *why)
{
    int res = res_of(w, why->dim);
    int64_t all[RES];

    if (res < 0)
        return;
    world_usable(w, all);
    if (sum_with(w, group, res) <= all[res])
        world_wrong(w, "a guarantee that is not touched", "%s: %lld of %lld", w->groups[group].name,
                    (long long)sum_with(w, group, res), (long long)all[res]);
}

/* "Insufficient" on a node that has enough, whatever is kept there, for all it lacks. */
static void check_room(struct world *w, int group, const struct why *why)
{
    const struct w_group *g = &w->groups[group];

    if (why->have >= why->need)
        world_wrong(w, "more places than are needed", "%s: %lld of %lld", g->name, (long long)why->have,
                    (long long)why->need);
    for (uint32_t i = 0; i < why->n_causes; i++)
        for (int r = 0; r < RES; r++) {
            char text[64];
            uint32_t short_of_it = 0;

            snprintf(text, sizeof(text), "Insufficient %s", res_names[r]);
            if (strcmp(text, why->causes[i].text) != 0)
                continue;
            for (int n = 0; n < w->n_nodes; n++)
                short_of_it += w->nodes[n].exists && world_free(w, n, r) < lacks(w, group) * g->ask[r];
            if (why->causes[i].count > short_of_it)
                world_wrong(w, "insufficient where there is enough", "%s: %u nodes, in truth %u (%s)", g->name,
                            why->causes[i].count, short_of_it, res_names[r]);
        }
}

void world_check_reasons(struct world *w)
{
    if (w->is_crowded) /* those behind others are told with them, not at once */
        return;
    for (int i = 0; i < w->n_groups && !w->wrong; i++) {
        struct sched_group_view v;

        if (group_stands(w, i) || w->groups[i].evicted_now || /* it is asked in the next round */
            !sched_group_view(w->h->s, STR("default"), str_of(w->groups[i].name), &v))
            continue;
        switch (v.why->kind) {
        case WHY_CAPABILITY:
            check_capability(w, i, v.why);
            break;
        case WHY_GUARANTEE:
            check_guarantee(w, i, v.why);
            break;
        case WHY_NO_ROOM:
            check_room(w, i, v.why);
            break;
        case WHY_NEVER_FITS:
            if (group_is_feasible(w, i) && !group_placed_pods(w, i)) /* its own pods may be in its way */
                world_wrong(w, "never is not true", "%s", w->groups[i].name);
            break;
        default:
            break;
        }
    }
}

/* ---- evictions ---- */

void world_note(struct world *w)
{
    struct sched_group_view v;

    w->has_holds = false;
    for (int i = 0; i < w->n_pods; i++)
        w->pods[i].went_early = w->pods[i].state == W_GOING;
    for (int i = 0; i < w->n_groups; i++)
        w->has_holds |= sched_group_view(w->h->s, STR("default"), str_of(w->groups[i].name), &v) && v.has_hold;
}

/* What goes, on a node or below a queue (the other: -1): since before the round, or, where 'kept' is a group, all but
 * what it lost in the round. */
static int64_t goes(const struct world *w, int node, int queue, int res, int kept)
{
    int64_t sum = 0;

    for (int i = 0; i < w->n_pods; i++) {
        const struct w_pod *p = &w->pods[i];
        const struct w_group *g = &w->groups[p->group];

        if (p->state == W_GOING && (p->went_early || (kept >= 0 && p->group != kept)) && p->node >= 0 &&
            (node >= 0 ? p->node == node : is_below(w, g->queue, queue)))
            sum += g->ask[res];
    }
    return sum;
}

/* Would it have had places and its queues' leave without its victims (or without the victim 'kept' alone), once those had
 * gone that were going? */
static bool fits_without(const struct world *w, int group, int kept)
{
    const struct w_group *g = &w->groups[group];
    int64_t places = 0, need = lacks(w, group);

    for (int n = 0; n < w->n_nodes; n++) {
        int64_t fit = 1000;

        for (int r = 0; r < RES; r++)
            if (g->ask[r])
                fit = MIN_OF(fit, (world_free(w, n, r) + goes(w, n, -1, r, kept)) / g->ask[r]);
        if (w->nodes[n].exists && (g->zone < 0 || g->zone == w->nodes[n].zone) &&
            (!w->nodes[n].is_tainted || g->tolerates))
            places += MAX_OF(fit, 0);
    }
    for (int q = g->queue; q >= 0; q = w->queues[q].parent)
        for (int r = 0; r < RES; r++)
            if (w->queues[q].cap[r] >= 0 && g->ask[r] &&
                queue_has(w, q, r) - goes(w, -1, q, r, kept) + need * g->ask[r] > w->queues[q].cap[r])
                return false;
    return places >= need;
}

/* Places were kept for another too, in this round or before. */
static bool others_have_holds(struct world *w, int group)
{
    struct sched_group_view v;
    bool any = w->has_holds;

    for (int i = 0; i < w->n_groups; i++)
        any |= i != group && sched_group_view(w->h->s, STR("default"), str_of(w->groups[i].name), &v) && v.has_hold;
    return any;
}

void world_check_evictions(struct world *w)
{
    for (int q = 0; q < w->n_queues; q++)
        if (w->queues[q].guarantee[CPU])
            return; /* another bound */
    for (int i = 0; i < w->n_groups; i++)
        for (int k = 0; k < w->n_groups; k++) {
            const struct w_group *victim = &w->groups[k], *g = &w->groups[i];

            if (victim->evicted_now && k != i && strcmp(victim->reason, "preempt") == 0 && !g->has_anti &&
                strcmp(victim->evicted_for, g->key) == 0 && !group_stands(w, i) && !others_have_holds(w, i) &&
                (fits_without(w, i, -1) || fits_without(w, i, k)))
                world_wrong(w, fits_without(w, i, -1) ? "evicted for what goes anyway" : "evicted needlessly",
                            "%s for %s", victim->name, g->name);
        }
}

/* ---- what is kept ---- */

enum { IDLE_ROUNDS = 3 }; /* in which a gang finds out that it cannot use what is kept for it, and gives it up */

static bool has_its_pods(const struct world *w, int group)
{
    const struct w_group *g = &w->groups[group];
    int live[W_ROLES] = { 0 };

    for (int i = 0; i < w->n_pods; i++)
        if (w->pods[i].group == group && (w->pods[i].state == W_WAITS || w->pods[i].state == W_BOUND ||
                                          w->pods[i].state == W_RUNS || w->pods[i].state == W_DONE))
            live[w->pods[i].role]++;
    return live[0] + live[1] >= g->min && live[0] >= g->role_min[0] && live[1] >= g->role_min[1];
}

static int count_pods(const struct world *w, enum w_state state)
{
    int n = 0;

    for (int i = 0; i < w->n_pods; i++)
        n += w->pods[i].state == state;
    return n;
}

static bool guarantees_allow(const struct world *w, int group)
{
    int64_t all[RES];

    world_usable(w, all);
    for (int r = 0; r < RES; r++)
        if (w->groups[group].ask[r] && sum_with(w, group, r) > all[r])
            return false;
    return true;
}

/* Places are kept for somebody who has lost a pod: it may come back. */
static bool waits_for_pods(struct world *w)
{
    struct sched_group_view v;

    for (int i = 0; i < w->n_groups; i++)
        if (!has_its_pods(w, i) && sched_group_view(w->h->s, STR("default"), str_of(w->groups[i].name), &v) &&
            v.has_hold)
            return true;
    return false;
}

/* Nothing runs, or there is room for all it lacks, nobody else has places and no other queue is entitled to the room: it
 * starts, or the places are given back. */
static bool could_use_them(struct world *w, int group, enum why_kind why)
{
    bool is_idle = !count_pods(w, W_BOUND) && !count_pods(w, W_RUNS) && !waits_for_pods(w);

    if (count_pods(w, W_GOING) || !has_its_pods(w, group) || group_stands(w, group))
        return false;
    w->has_holds = false;
    return is_idle || (why != WHY_FAIR_SHARE && !w->groups[group].has_anti && !others_have_holds(w, group) &&
                       fits_without(w, group, -1) && guarantees_allow(w, group));
}

void world_check_holds(struct world *w)
{
    struct sched_group_view v;

    for (int i = 0; i < w->n_groups; i++) {
        struct w_group *g = &w->groups[i];
        bool is_kept = sched_group_view(w->h->s, STR("default"), str_of(g->name), &v) && v.has_hold;

        g->kept_idle = is_kept && could_use_them(w, i, v.why->kind) ? g->kept_idle + 1 : 0;
        if (g->kept_idle >= IDLE_ROUNDS)
            world_wrong(w, "kept for one that does not start", "%s: %s", g->name, why_names[v.why->kind]);
    }
}
