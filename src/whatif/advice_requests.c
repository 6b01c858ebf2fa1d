/* advice_requests.c - smaller pods: how much must a container ask for less?
 *
 * One container of one task and one resource at a time. Only round values are offered: whole CPUs where there are
 * several, and so on.
 */
#include "whatif/advice_internal.h"

#include "base/util.h"

enum { TASKS_TRIED = 6 };

struct ask {
    size_t task, container;
    struct str task_name, resource;
    struct quantity from;
    int64_t step;                          /* in milli-CPU, or units */
    bool has_request, has_limit, is_plain; /* plain: cpu or memory, whose limit may be larger */
};

static int64_t units_of(const struct ask *k, struct quantity q)
{
    return str_is(k->resource, "cpu") ? quantity_milli(q) : quantity_units(q);
}

static struct quantity requests_quantity_of(const struct ask *k, int64_t n)
{
    struct quantity q = quantity_of_i64(n, k->from.format);

    if (str_is(k->resource, "memory") && k->step % 1024 == 0)
        q.format = QUANTITY_BINARY_SI;
    if (str_is(k->resource, "cpu"))
        q.nano /= 1000; /* n was in milli */
    return q;
}

static int64_t step_of(const struct ask *k)
{
    const int64_t mi = 1024 * 1024, gi = 1024 * mi;
    int64_t n = units_of(k, k->from);

    if (str_is(k->resource, "cpu"))
        return n > 2000 ? 1000 : n > 500 ? 100 : 10;
    if (str_is(k->resource, "memory") || str_is(k->resource, "ephemeral-storage"))
        return n > 4 * gi ? gi : n > gi ? 256 * mi : n > 64 * mi ? 16 * mi : mi;
    return str_starts(k->resource, STR("hugepages-")) ? 2 * mi : 1;
}

/* 'n' counts steps. */
static void requests_build(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct ask *k = ctx;
    struct str to = quantity_text(v->a, requests_quantity_of(k, n * k->step)), from = quantity_text(v->a, k->from);
    struct str base = arena_fmt(v->a, "/spec/tasks/%zu/template/spec/containers/%zu/resources", k->task, k->container);
    struct str key = pointer_part(v->a, k->resource);

    if (k->has_request || k->is_plain)
        edit_job(v, s, arena_fmt(v->a, "%.*s/requests/%.*s", STR_ARG(base), STR_ARG(key)), json_str(v->a, to));
    if (k->has_limit && !k->is_plain)
        edit_job(v, s, arena_fmt(v->a, "%.*s/limits/%.*s", STR_ARG(base), STR_ARG(key)), json_str(v->a, to));
    s->kind = ADVISE_REQUESTS;
    s->recreates = !v->is_new;
    s->target = k->task_name;
    s->what = k->resource;
    s->from = from;
    s->to = to;
    s->is_large = n * k->step * 2 < units_of(k, k->from);
    s->text = arena_fmt(v->a, "ask for %.*s %.*s instead of %.*s in each pod of task %.*s", STR_ARG(to),
                        STR_ARG(k->resource), STR_ARG(from), STR_ARG(k->task_name));
}

/* ---- what a task asks for ---- */

static struct str amount_text(const struct json *container, const char *part, struct str resource)
{
    return scalar_text(json_get_str(json_find(container, "resources", part, NULL), resource));
}

/* The container that asks for most of it. */
static bool find_ask(const struct json *spec, struct ask *k)
{
    size_t i = 0;
    bool found = false;

    JSON_FOREACH(c, json_get(spec, "containers")) {
        struct str request = amount_text(c, "requests", k->resource), limit = amount_text(c, "limits", k->resource);
        struct quantity q;

        if (quantity_parse(str_empty(request) ? limit : request, &q, NULL) == 0 &&
            (!found || quantity_cmp(q, k->from) > 0)) {
            k->container = i;
            k->from = q;
            k->has_request = !str_empty(request);
            k->has_limit = !str_empty(limit);
            found = true;
        }
        i++;
    }
    return found;
}

/* How much is left of it: for choosing between two. */
static bool is_better(const struct suggestion *best, const struct suggestion *s)
{
    struct quantity bf, bt, sf, st;

    if (best->edits.n == 0)
        return true;
    if (quantity_parse(best->from, &bf, NULL) < 0 || quantity_parse(best->to, &bt, NULL) < 0 ||
        quantity_parse(s->from, &sf, NULL) < 0 || quantity_parse(s->to, &st, NULL) < 0)
        return false;
    return (double)st.nano / (double)sf.nano > (double)bt.nano / (double)bf.nano;
}

static void try_resource(struct advising *v, size_t task, struct str resource, struct suggestion *best)
{
    const struct job_task *t = &v->job.spec.tasks.v[task];
    struct ask k = { .task = task, .task_name = t->name, .resource = resource };
    struct suggestion s;
    int64_t n;

    if (!find_ask(job_task_pod_spec(t), &k) || k.from.nano <= 0)
        return;
    k.is_plain = str_is(resource, "cpu") || str_is(resource, "memory");
    k.step = step_of(&k);
    if (search_largest(&(struct search){ v, requests_build, &k }, 1, (units_of(&k, k.from) - 1) / k.step, &s, &n) &&
        is_better(best, &s))
        *best = s;
}

void advise_requests(struct advising *v)
{
    struct suggestion best = { 0 };

    if (!v->is_job)
        return;
    for (size_t i = 0; i < v->job.spec.tasks.n && i < TASKS_TRIED; i++) {
        const struct json *spec = job_task_pod_spec(&v->job.spec.tasks.v[i]);
        struct resources asked;

        if (json_get(spec, "resources")) /* of the pod as a whole: the containers' do not count */
            continue;
        pod_requests(v->a, spec, &asked);
        VEC_FOREACH(r, &asked.list)
            try_resource(v, i, r->name, &best);
    }
    if (best.edits.n)
        suggest_keep(v, &best);
}
