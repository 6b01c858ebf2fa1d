/* advice_look.c - what a job needs, what is free for it, who is ahead, and why it waits */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/util.h"
#include "store/store.h"

static const char *const task_key = "volcano.sh/task-spec";

enum { NOTES_MAX = 5 };

void note(struct advising *v, struct str text)
{
    if (v->notes++ < NOTES_MAX)
        *vec_push(v->a, &v->out->notes) = text;
    else
        v->out->notes.v[NOTES_MAX - 1] = arena_fmt(v->a, "and %zu more like these", v->notes - NOTES_MAX + 1);
}

/* ---- what it needs ---- */

static struct advice_task *task_named(struct advice *out, struct str name)
{
    VEC_FOREACH(t, &out->tasks)
        if (str_eq(t->name, name))
            return t;
    return NULL;
}

static struct str depends_text(struct advising *v, const struct job_task *task)
{
    autobuf out = { 0 };

    for (size_t i = 0; task->depends_on && i < task->depends_on->name.n; i++)
        buf_fmt(&out, "%s%.*s", i ? ", " : "", STR_ARG(task->depends_on->name.v[i]));
    return arena_str(v->a, buf_view(&out));
}

/* In a job that means to run with fewer pods than its tasks' minima add up to, a task whose minimum is all it has says
 * nothing: Volcano fills that in (group_settle_minima). */
static int64_t minimum_that_counts(const struct job *job, const struct job_task *task)
{
    int64_t sum = 0;

    for (size_t i = 0; i < job->spec.tasks.n; i++)
        sum += job_task_minimum(&job->spec.tasks.v[i]);
    return job->spec.min_available < sum && job_task_minimum(task) >= task->replicas ? 0 : job_task_minimum(task);
}

static int64_t class_value(const struct advising *v, struct str name)
{
    const struct json *class = str_empty(name) ? NULL : world_find(&v->world, "PriorityClass", STR_NULL, name);

    return json_i64(json_get(class, "value"), 0);
}

void look_at_tasks(struct advising *v)
{
    for (size_t i = 0; i < v->job.spec.tasks.n; i++) {
        const struct job_task *task = &v->job.spec.tasks.v[i];
        struct advice_task *t = vec_push(v->a, &v->out->tasks);

        t->name = task->name;
        t->replicas = task->replicas;
        t->min = minimum_that_counts(&v->job, task);
        t->priority = class_value(v, json_member_text(job_task_pod_spec(task), "priorityClassName"));
        t->held_by = depends_text(v, task);
        pod_requests(v->a, job_task_pod_spec(task), &t->each);
    }
}

/* Of an object that does not last. */
static void take_requests(struct advising *v, const struct json *pod_spec, struct resources *ret)
{
    struct resources asked;

    *ret = (struct resources){ 0 };
    pod_requests(&v->scratch, pod_spec, &asked);
    VEC_FOREACH(r, &asked.list)
        resources_set(v->a, ret, arena_str(v->a, r->name), r->q);
}

struct advice_look_counting {
    struct advising *v;
    struct str group;
};

static void advice_look_count_pod(void *ctx, const struct object *o)
{
    struct advice_look_counting *c = ctx;
    struct advising *v = c->v;
    struct str role = object_annotation(o->root, task_key), phase;
    struct advice_task *t;

    if (!str_eq(object_annotation(o->root, "scheduling.k8s.io/group-name"), c->group))
        return;
    t = task_named(v->out, role);
    if (!t && v->is_job)
        return;
    if (!t) { /* a bare group has what its pods have */
        t = vec_push(v->a, &v->out->tasks);
        t->name = arena_str(v->a, role);
        t->min = json_i64(json_get_str(json_find(v->root, "spec", "minTaskMember", NULL), role), 0);
        take_requests(v, json_get(o->root, "spec"), &t->each);
    }
    t->held_by = STR_NULL; /* it has pods: it was released */
    if (!v->is_job)
        t->replicas++;
    phase = json_member_text(json_get(o->root, "status"), "phase");
    if ((json_member_text(json_get(o->root, "spec"), "nodeName").n && !str_is(phase, "Failed")) ||
        str_is(phase, "Succeeded"))
        t->placed++;
}

/* The task whose next pod is served first: the more important one, then the lower index, then by name. */
static struct advice_task *next_task(struct advice *out)
{
    struct advice_task *best = NULL;

    VEC_FOREACH(t, &out->tasks) {
        int64_t index = t->placed + t->missing, best_index = best ? best->placed + best->missing : 0;

        if (t->held_by.n || index >= t->replicas)
            continue;
        if (!best || t->priority > best->priority ||
            (t->priority == best->priority &&
             (index < best_index || (index == best_index && str_cmp(t->name, best->name) < 0))))
            best = t;
    }
    return best;
}

/* The group as a whole may need more than its tasks' minima; a task that is held back needs nothing yet. */
static void spread_missing(struct advice *out)
{
    int64_t rest = out->min - out->ready;
    struct advice_task *t;

    VEC_FOREACH(own, &out->tasks) {
        own->missing = own->held_by.n ? 0 : MAX_OF(own->min - own->placed, 0);
        rest -= own->missing;
    }
    for (; rest > 0 && (t = next_task(out)); rest--)
        t->missing++;
}

/* ---- what is free ---- */

struct advice_look_looking {
    struct advising *v;
    struct future *f;
    const struct dims *dims;
    struct amounts needs, each; /* each: one pod of the task that lacks most */
    struct amounts free, total; /* over the nodes that take its pods */
};

static const struct advice_task *largest_task(const struct advice *out)
{
    const struct advice_task *best = NULL;

    VEC_FOREACH(t, &out->tasks)
        if (!best || t->missing > best->missing)
            best = t;
    return best;
}

static void amounts_of(const struct dims *d, const struct resources *r, struct amounts *ret)
{
    *ret = (struct amounts){ 0 };
    VEC_FOREACH(one, &r->list) {
        int dim = dim_find(d, one->name);

        if (dim >= 0)
            ret->v[dim] = amount_of_quantity(dim, one->q);
    }
    ret->v[DIM_PODS] = 1;
}

static int64_t count_fits(const struct advice_look_looking *l, const struct amounts *free)
{
    int64_t fits = INT64_MAX;

    for (int i = 0; i < l->dims->n; i++)
        if (l->each.v[i] > 0)
            fits = MIN_OF(fits, free->v[i] / l->each.v[i]);
    return fits == INT64_MAX ? 0 : fits;
}

/* Empty when some task may go there. */
static struct str advice_look_refusal(struct advice_look_looking *l, const struct json *node)
{
    struct str first = STR_NULL;

    for (size_t i = 0; i < l->v->job.spec.tasks.n; i++) {
        struct str text = node_refuses(l->v->a, node, job_task_pod_spec(&l->v->job.spec.tasks.v[i]));

        if (str_empty(text))
            return STR_NULL;
        if (str_empty(first))
            first = text;
    }
    return l->v->job.spec.tasks.n ? first : node_refuses(l->v->a, node, NULL);
}

static void look_at_node(void *ctx, const struct sched_node_view *n)
{
    struct advice_look_looking *l = ctx;
    struct advice *out = l->v->out;
    const struct object *node = future_get(l->f, type_by_name(STR("Node")), STR_NULL, n->name);
    struct advice_node *a = vec_push(l->v->a, &out->nodes);
    struct amounts free = { 0 };

    for (int i = 0; i < l->dims->n; i++) /* places that are kept count as free: they may be kept for this very job */
        free.v[i] = MAX_OF(n->total.v[i] - n->used.v[i], 0);
    a->name = arena_str(l->v->a, n->name);
    a->refuses = advice_look_refusal(l, node ? node->root : NULL);
    resources_of(l->v, l->dims, &free, &l->needs, &a->free);
    out->n_nodes++;
    if (a->refuses.n)
        return;
    a->fits = count_fits(l, &free);
    amounts_add(&l->free, &free, l->dims->n);
    amounts_add(&l->total, &n->total, l->dims->n);
    out->n_usable++;
}

static int by_room(const void *x, const void *y)
{
    const struct advice_node *a = x, *b = y;

    if (!a->refuses.n != !b->refuses.n)
        return a->refuses.n ? 1 : -1;
    if (a->fits != b->fits)
        return a->fits > b->fits ? -1 : 1;
    return str_cmp(a->name, b->name);
}

/* A resource that no node has at all: most often a typing error, or a device plugin that is not there. */
static void note_unknown_resources(struct advising *v)
{
    VEC_FOREACH(need, &v->out->needs.list) {
        const struct quantity *total = resources_get(&v->out->total, need->name);

        if (v->out->n_usable && (!total || total->nano == 0))
            note(v, arena_fmt(v->a, "no node%s has any %.*s", v->out->n_usable < v->out->n_nodes ? " it may use" : "",
                              STR_ARG(need->name)));
    }
}

static void look_at_room(struct advising *v, struct future *f, const struct sched_group_view *g)
{
    const struct advice_task *task = largest_task(v->out);
    struct advice_look_looking l = { .v = v, .f = f, .dims = sched_dims(future_sched(f)), .needs = g->needs };

    if (task)
        amounts_of(l.dims, &task->each, &l.each);
    sched_nodes(future_sched(f), look_at_node, &l);
    resources_of(v, l.dims, &l.free, &l.needs, &v->out->free);
    resources_of(v, l.dims, &l.total, &l.needs, &v->out->total);
    note_unknown_resources(v);
    if (v->out->nodes.n)
        qsort(v->out->nodes.v, v->out->nodes.n, sizeof(*v->out->nodes.v), by_room);
}

/* ---- who is ahead ---- */

struct lining {
    struct advising *v;
    const struct dims *dims;
    struct str group;
    bool is_past;
};

/* The job that the scheduler keeps room for, where that is the reason. */
static void look_at_holder(struct lining *l, const struct sched_group_view *g)
{
    const struct why *why = &l->v->out->why;
    struct advice_holder *holder = &l->v->out->holder;

    if ((why->kind != WHY_HELD && why->kind != WHY_QUEUE_RESERVED) || !g->has_hold ||
        !str_eq(group_title(&l->v->scratch, g), str_of(why->other)))
        return;
    holder->name = group_title(l->v->a, g);
    holder->pods = MAX_OF(g->min - g->ready, 0);
    holder->until_ms = why->until_ms;
    resources_of(l->v, l->dims, &g->kept, NULL, &holder->keeps);
}

/* Jobs that can never be served delay no other. */
static bool is_out_of_line(const struct why *w)
{
    enum why_kind why = w->kind;

    return w->is_passed || w->is_never || why == WHY_NO_QUEUE || why == WHY_QUEUE_CLOSED ||
           why == WHY_QUEUE_HAS_CHILDREN || why == WHY_GATED || why == WHY_NOT_ENOUGH_PODS ||
           why == WHY_NOT_ENOUGH_OF_ROLE || why == WHY_NEVER_FITS || why == WHY_TOO_MANY_NAMES ||
           why == WHY_NO_ALLOCATE;
}

static void look_at_waiting(void *ctx, const struct sched_group_view *g)
{
    struct lining *l = ctx;
    struct advice_ahead *a;

    look_at_holder(l, g);
    if (str_eq(g->namespace, l->v->namespace) && str_eq(g->name, l->group))
        l->is_past = true;
    if (l->is_past || g->is_whole || is_out_of_line(g->why)) /* whole: pods beyond its minimum come last */
        return;
    a = vec_push(l->v->a, &l->v->out->ahead);
    a->name = group_title(l->v->a, g);
    a->queue = arena_str(l->v->a, g->queue);
    a->priority = g->priority;
    a->pods = MAX_OF(g->min - g->ready, 0);
    resources_of(l->v, l->dims, &g->needs, NULL, &a->needs);
}

static void look_at_line(struct advising *v, struct future *f, struct str group)
{
    struct lining l = { .v = v, .dims = sched_dims(future_sched(f)), .group = group };

    sched_waiting(future_sched(f), &v->scratch, look_at_waiting, &l);
    v->out->is_in_line = l.is_past && !is_out_of_line(&v->out->why);
    if (!v->out->is_in_line)
        v->out->ahead.n = 0;
}

/* ---- why ---- */

void name_other(struct arena *a, struct future *f, struct why *why)
{
    struct str key = str_of(why->other), title;
    ptrdiff_t slash = str_find_char(key, '/');
    struct sched_group_view g;

    if (slash <= 0 ||
        !sched_group_view(future_sched(f), str_sub(key, 0, (size_t)slash), str_from(key, (size_t)slash + 1), &g))
        return;
    title = group_title(a, &g);
    (void)snprintf(why->other, sizeof(why->other), "%.*s", STR_ARG(title));
}

static void take_why(struct advising *v, struct future *f, const struct why *of_group)
{
    const struct dims *dims = sched_dims(future_sched(f));
    struct why *why = &v->out->why;
    autobuf text = { 0 };

    *why = *of_group;
    name_other(v->a, f, why);
    why_print(&text, dims, why);
    v->out->why_text = arena_str(v->a, buf_view(&text));
    if (why->dim >= 0 && why->dim < dims->n)
        v->out->why_resource = arena_str(v->a, dims->names[why->dim]);
}

static void note_gates(struct advising *v)
{
    for (size_t i = 0; i < v->job.spec.tasks.n; i++)
        JSON_FOREACH(gate, json_get(job_task_pod_spec(&v->job.spec.tasks.v[i]), "schedulingGates"))
            note(v, arena_fmt(v->a, "task %.*s waits for the scheduling gate %.*s, which its owner must remove",
                              STR_ARG(v->job.spec.tasks.v[i].name), STR_ARG(json_member_text(gate, "name"))));
}

void look_at_group(struct advising *v, struct future *f, const struct sched_group_view *g)
{
    struct advice *out = v->out;
    struct advice_look_counting counting = { v, arena_str(v->a, g->name) };

    out->group = counting.group;
    out->queue = arena_str(v->a, g->queue);
    out->priority = g->priority;
    out->min = g->min;
    out->ready = g->ready;
    out->pending = g->pending;
    out->running = g->running;
    store_list(future_store(f), type_by_name(STR("Pod")), v->namespace, advice_look_count_pod, &counting);
    spread_missing(out);
    resources_of(v, sched_dims(future_sched(f)), &g->needs, NULL, &out->needs);
    look_at_room(v, f, g);
    take_why(v, f, g->why);
    look_at_line(v, f, out->group);
    if (g->why->kind == WHY_GATED)
        note_gates(v);
}
