/* rows.c - pods by job, task and index, and the time in line of each */
#include "report/rows.h"

#include "base/util.h"

static struct report_group *rows_group_of(struct arena *a, struct report_rows *v, const struct history_job *j)
{
    struct report_group *g;

    for (size_t i = 0; i < v->groups.n; i++)
        if (v->groups.v[i]->job == j)
            return v->groups.v[i];
    g = arena_new(a, struct report_group);
    g->job = j;
    *vec_push(a, &v->groups) = g;
    return g;
}

static struct report_task *rows_task_of(struct arena *a, struct report_group *g, struct str name)
{
    struct report_task *t;

    for (size_t i = 0; i < g->tasks.n; i++)
        if (str_eq(g->tasks.v[i]->name, name))
            return g->tasks.v[i];
    t = arena_new(a, struct report_task);
    t->name = name;
    *vec_push(a, &g->tasks) = t;
    return t;
}

/* "worker-1" instead of "train-worker-1": the job stands above. */
static struct str rows_label_of(const struct history_pod *p)
{
    struct str job = p->job ? p->job->name : STR("");

    if (job.n && str_starts(p->name, job) && p->name.n > job.n + 1 && p->name.p[job.n] == '-')
        return str_from(p->name, job.n + 1);
    return p->name;
}

/* Pods of their own may be numbered by their names. */
static int64_t rows_index_of(const struct history_pod *p)
{
    int64_t n;

    if (p->index >= 0)
        return p->index;
    return str_to_i64(str_from(p->name, (size_t)(str_rfind_char(p->name, '-') + 1)), &n) < 0 ? -1 : n;
}

/* The time in line counts for the first pod that each name got after it. */
static struct history_span queued_for(const struct history_pod *p, const struct history_pod *before)
{
    struct history_span none = { -1, -1 };

    for (size_t i = p->job ? p->job->queued.n : 0; i-- > 0;) {
        struct history_span s = p->job->queued.v[i];

        if (s.from_ms > p->created_ms)
            continue;
        if (before && before->created_ms >= s.from_ms)
            return none;
        if (before)
            s.from_ms = MAX_OF(s.from_ms, MAX_OF(before->ended_ms, before->gone_ms));
        s.from_ms = MIN_OF(s.from_ms, p->created_ms);
        s.until_ms = s.until_ms < 0 || s.until_ms > p->created_ms ? p->created_ms : MAX_OF(s.until_ms, s.from_ms);
        return s;
    }
    return none;
}

static int by_index(const void *x, const void *y)
{
    const struct report_row *a = *(struct report_row *const *)x, *b = *(struct report_row *const *)y;

    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return str_cmp(a->label, b->label);
}

void report_rows(struct arena *a, const struct history *h, struct report_rows *ret)
{
    struct map rows;

    *ret = (struct report_rows){ 0 };
    map_init(&rows, map_seed_default());
    for (size_t i = 0; i < h->jobs.n; i++) { /* jobs and tasks in their order, also those without pods */
        struct report_group *g = rows_group_of(a, ret, h->jobs.v[i]);

        VEC_FOREACH(t, &h->jobs.v[i]->tasks)
            (void)rows_task_of(a, g, (*t)->name);
    }
    for (size_t i = 0; i < h->pods.n; i++) {
        const struct history_pod *p = h->pods.v[i];
        struct str key = arena_fmt(a, "%.*s %.*s/%.*s", STR_ARG(p->job ? p->job->uid : STR("")), STR_ARG(p->namespace),
                                   STR_ARG(p->name));
        struct report_row *row = map_get(&rows, key);
        struct report_group *g = rows_group_of(a, ret, p->job);

        if (!row) {
            row = arena_new(a, struct report_row);
            row->label = rows_label_of(p);
            row->index = rows_index_of(p);
            map_put(&rows, key, row);
            *vec_push(a, &rows_task_of(a, g, p->task_name)->rows) = row;
            g->n_rows++;
            ret->n_rows++;
        }
        *vec_push(a, &row->queued) = queued_for(p, row->pods.n ? row->pods.v[row->pods.n - 1] : NULL);
        *vec_push(a, &row->pods) = p;
    }
    for (size_t i = 0; i < ret->groups.n; i++)
        VEC_FOREACH(t, &ret->groups.v[i]->tasks)
            if ((*t)->rows.n)
                qsort((*t)->rows.v, (*t)->rows.n, sizeof(*(*t)->rows.v), by_index);
    map_done(&rows);
}
