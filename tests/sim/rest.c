/* rest.c - the scheduler's part of a world at rest: statuses agree with the pods, and nobody waits without a reason
 *
 * Everything is counted afresh from the store.
 */
#include "world.h"

#include "api/pod/gate.h"
#include "api/meta.h"

#include <inttypes.h>

struct pods { /* of one PodGroup */
    int64_t bound, pending, running, succeeded, failed;
    int64_t gone; /* Succeeded, and are no longer there */
};

static const struct sim_job *job_of(struct world *w, struct str group)
{
    MAP_FOREACH(const struct sim_job *, job, &w->jobs)
        if (!job->is_gone && str_ends(group, str_of(job->uid)))
            return job;
    return NULL;
}

static int64_t count_gone(struct world *w, struct str group, const struct sim_task *task)
{
    int64_t there = 0;

    MAP_FOREACH(const struct sim_pod *, pod, &w->pods)
        there += !pod->is_gone && str_is(group, pod->group) && strcmp(pod->task, task->name) == 0 &&
                 strcmp(pod->phase, "Succeeded") == 0;
    return MAX_OF(task->done - there, 0);
}

static struct pods count_pods(struct world *w, struct str group)
{
    const struct sim_job *job = job_of(w, group);
    struct pods n = { 0 };

    for (size_t i = 0; job && i < job->n_tasks; i++)
        n.gone += count_gone(w, group, &job->tasks[i]);
    MAP_FOREACH(const struct sim_pod *, pod, &w->pods) {
        struct str phase = str_of(pod->phase);

        if (pod->is_gone || !str_is(group, pod->group))
            continue;
        if (str_is(phase, "Succeeded"))
            n.succeeded++;
        else if (str_is(phase, "Failed"))
            n.failed++;
        else if (str_is(phase, "Running"))
            n.running++;
        else if (pod->is_bound)
            n.bound++;
        else
            n.pending++;
    }
    return n;
}

/* ---- PodGroups ---- */

static const struct json *condition(const struct json *object, const char *type, const char *status)
{
    JSON_FOREACH(c, json_find(object, "status", "conditions", NULL))
        if (str_is(json_member_text(c, "type"), type) && str_is(json_member_text(c, "status"), status))
            return c;
    return NULL;
}

static void check_count(struct world *w, const struct object *o, const char *key, int64_t want)
{
    int64_t v = json_i64(json_find(o->root, "status", key, NULL), 0);

    if (v != want)
        world_break(w, "at rest: PodGroup %.*s: status.%s is %" PRId64 ", there are %" PRId64, STR_ARG(o->name), key, v,
                    want);
}

static void check_phase(struct world *w, const struct object *o, const struct pods *n, int64_t min)
{
    struct str phase = json_text(json_find(o->root, "status", "phase", NULL), STR(""));
    int64_t done = n->succeeded + n->failed, scheduled = n->bound + n->running + done;
    int64_t gone = scheduled ? n->gone : 0;
    bool is_unknown = str_is(phase, "Unknown");

    if (is_unknown                ? !n->running || !condition(o->root, "Unschedulable", "True")
        : scheduled + gone >= min ? !str_is(phase, scheduled == done ? "Completed" : "Running")
                                  : !str_is(phase, "Pending") && !str_is(phase, "Inqueue"))
        world_break(
            w, "at rest: PodGroup %.*s is %.*s: %" PRId64 " bound, %" PRId64 " run, %" PRId64 " are over, min %" PRId64,
            STR_ARG(o->name), STR_ARG(phase), n->bound, n->running, done, min);
}

/* Who waits knows why. A group whose controller makes no pods (a job waits for another task) is not told so. */
static void check_reason(struct world *w, const struct object *o, const struct pods *n, int64_t min)
{
    int64_t ready = n->bound + n->running + n->succeeded + n->gone;
    struct str phase = json_text(json_find(o->root, "status", "phase", NULL), STR(""));
    const struct json *why = condition(o->root, "Unschedulable", "True");

    if (ready >= min || (n->pending == 0 && !str_is(phase, "Pending")))
        return;
    if (!why || str_empty(json_member_text(why, "reason")) || str_empty(json_member_text(why, "message")))
        world_break(w, "at rest: PodGroup %.*s (%.*s) waits with %" PRId64 " of %" PRId64 " pods and does not say why",
                    STR_ARG(o->name), STR_ARG(phase), ready, min);
}

static void check_group(void *ctx, const struct object *o)
{
    struct world *w = ctx;
    struct pods n = count_pods(w, o->name);
    int64_t min = json_i64(json_find(o->root, "spec", "minMember", NULL), 0);

    check_count(w, o, "running", n.running);
    check_count(w, o, "succeeded", n.succeeded);
    check_count(w, o, "failed", n.failed);
    check_phase(w, o, &n, min);
    check_reason(w, o, &n, min);
}

/* ---- pods ---- */

/* An API server would say why it waits. */
static bool is_gated(const struct json *pod)
{
    return json_count(json_find(pod, "spec", "schedulingGates", NULL)) > 0;
}

static void check_pod(void *ctx, const struct object *o)
{
    struct world *w = ctx;
    const struct sim_pod *pod = map_get(&w->pods, o->uid);
    const struct json *why = condition(o->root, "PodScheduled", "False");

    if (!pod || pod->is_bound || !str_is(str_of(pod->phase), "Pending") || is_gated(o->root))
        return;
    if (!why || str_empty(json_member_text(why, "message")))
        world_break(w, "at rest: pod %s waits and does not say why", pod->name);
}

/* A gang that never stood is not left with some of its pods bound, unless those have started. */
static void check_half(void *ctx, const struct object *o)
{
    struct world *w = ctx;
    const struct sim_group *g = map_get(&w->groups, o->name);

    if (g && g->half_since_ms)
        world_break(w, "at rest: PodGroup %s is bound in part", g->name);
}

/* ---- queues ---- */

static struct str queue_of(struct world *w, const struct sim_pod *pod)
{
    const struct object *group = world_get(w, KIND_PODGROUP, str_of(pod->group));

    return group ? json_text(json_find(group->root, "spec", "queue", NULL), STR("default")) : STR_NULL;
}

static bool is_below(struct world *w, struct str queue, struct str above)
{
    for (int depth = 0; depth < 8 && !str_empty(queue); depth++) {
        const struct object *q = world_get_global(w, KIND_QUEUE, queue);

        if (str_eq(queue, above))
            return true;
        queue = q ? json_text(json_find(q->root, "spec", "parent", NULL), STR("")) : STR_NULL;
        if (str_empty(queue) && q && !str_is(q->name, "root"))
            queue = STR("root");
    }
    return false;
}

static void check_queue(void *ctx, const struct object *o)
{
    struct world *w = ctx;
    struct amount said = amount_from_json(json_find(o->root, "status", "allocated", NULL), 0), sum = { 0 };

    MAP_FOREACH(const struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && pod->charged >= 0 && is_below(w, queue_of(w, pod), o->name))
            amount_add(&sum, &pod->ask, 1);
    for (int i = 0; i < RES_MAX; i++)
        if (said.v[i] != sum.v[i])
            world_break(w, "at rest: Queue %.*s: status.allocated has %" PRId64 " of %s, the pods have %" PRId64,
                        STR_ARG(o->name), said.v[i], res_names[i], sum.v[i]);
}

/* ---- whoever could run does ---- */

static bool fits(const struct amount *used, const struct amount *more, const struct amount *has)
{
    for (int i = 0; i < RES_MAX; i++)
        if (more->v[i] > 0 && has->v[i] >= 0 && used->v[i] + more->v[i] > has->v[i])
            return false;
    return true;
}

/* All together on one node: then every way to look for places finds one. */
static bool has_place(struct world *w, const struct amount *need)
{
    for (int i = 0; i < w->n_nodes; i++)
        if (w->nodes[i].exists && fits(&w->nodes[i].used, need, &w->nodes[i].has))
            return true;
    return false;
}

/* Neither its own queue's capability nor what others are guaranteed is touched. */
static bool queue_allows(struct world *w, struct str name, const struct amount *need)
{
    struct amount total = { 0 }, used = { 0 };

    for (int i = 0; i < w->n_nodes; i++)
        if (w->nodes[i].exists)
            amount_add(&total, &w->nodes[i].has, 1), amount_add(&used, &w->nodes[i].used, 1);
    for (int i = 0; i < w->n_queues; i++) {
        char other[16];
        const struct object *q;
        struct amount kept, has, taken;

        snprintf(other, sizeof(other), "q%d", i);
        q = world_get_global(w, KIND_QUEUE, str_of(other));
        kept = amount_from_json(json_find(q->root, "spec", "guarantee", "resource", NULL), 0);
        if (!is_below(w, name, q->name)) {
            amount_add(&total, &kept, -1);
            continue;
        }
        has = amount_from_json(json_find(q->root, "spec", "capability", NULL), -1);
        taken = amount_from_json(json_find(q->root, "status", "allocated", NULL), 0);
        if (!fits(&taken, need, &has))
            return false;
    }
    return fits(&used, need, &total);
}

/* Every task has the pods that it needs for itself. */
static bool has_tasks(struct world *w, const struct object *o)
{
    const struct sim_job *job = job_of(w, o->name);

    JSON_FOREACH(task, json_find(o->root, "spec", "minTaskMember", NULL)) {
        int64_t n = 0;

        for (size_t i = 0; job && i < job->n_tasks; i++)
            if (str_is(json_key(task), job->tasks[i].name))
                n += count_gone(w, o->name, &job->tasks[i]);
        MAP_FOREACH(const struct sim_pod *, pod, &w->pods)
            n += !pod->is_gone && str_is(o->name, pod->group) && str_is(json_key(task), pod->task) &&
                 strcmp(pod->phase, "Failed") != 0;
        if (n < json_i64(task, 0))
            return false;
    }
    return true;
}

/* Pods behind open gates count too: they hold their part of the capability until they have a node. */
static void add_opened(struct world *w, struct amount *need)
{
    MAP_FOREACH(const struct sim_pod *, pod, &w->pods) {
        const struct object *o = pod->is_gone || pod->is_bound ? NULL : world_get(w, KIND_POD, str_of(pod->name));

        if (o && queue_gate_is_wanted(o->root) && !is_gated(o->root))
            amount_add(need, &pod->ask, 1);
    }
}

static void check_runs(void *ctx, const struct object *o)
{
    static const char *const reasons[] = { "NotEnoughResources", "Reserved",        "NeverFits",
                                           "QueueFairShare",     "QueueCapability", "QueueGuarantee",
                                           "QueueOrder",         "Evicting",        "QueueReserved" };
    struct world *w = ctx;
    const struct json *why = condition(o->root, "Unschedulable", "True");
    struct str queue = json_text(json_find(o->root, "spec", "queue", NULL), STR("default"));
    int64_t min = json_i64(json_find(o->root, "spec", "minMember", NULL), 0);
    struct pods n = count_pods(w, o->name);
    struct amount need = { 0 };
    bool is_refused = false;

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        is_refused |= str_is(json_member_text(why, "reason"), reasons[i]);
    if (json_get(json_get(o->root, "spec"), "subGroupPolicy")) /* a part of it may lack a pod that is over */
        return;
    if (!is_refused || n.pending == 0 || n.pending + n.bound + n.running + n.succeeded + n.gone < min ||
        !has_tasks(w, o))
        return;
    MAP_FOREACH(const struct sim_pod *, pod, &w->pods)
        if (!pod->is_gone && !pod->is_bound && str_is(o->name, pod->group))
            amount_add(&need, &pod->ask, 1);
    if (!has_place(w, &need))
        return;
    if (w->profile.has_gates)
        add_opened(w, &need);
    if (queue_allows(w, queue, &need))
        world_break(w, "at rest: PodGroup %.*s could run and waits: %.*s", STR_ARG(o->name),
                    STR_ARG(json_member_text(why, "message")));
}

void rest_check(struct world *w)
{
    placing_step(w);
    store_list(w->store, sim_types[KIND_PODGROUP], STR_NULL, check_group, w);
    store_list(w->store, sim_types[KIND_PODGROUP], STR_NULL, check_half, w);
    store_list(w->store, sim_types[KIND_POD], STR_NULL, check_pod, w);
    store_list(w->store, sim_types[KIND_QUEUE], STR_NULL, check_queue, w);
    if (w->all_ends)
        store_list(w->store, sim_types[KIND_PODGROUP], STR_NULL, check_runs, w);
}
