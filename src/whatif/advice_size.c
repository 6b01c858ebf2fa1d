/* advice_size.c - a smaller gang: minAvailable, replicas
 *
 * The scheduler places max(minAvailable, sum of the tasks' minima) pods together (D5). A task that names no
 * minimum has all its replicas as one; but as soon as the job's number is below the sum, such a task has none at all.
 * So a job of one task has only one number that matters, the job's. With several tasks that would leave open which of
 * them gives way, so the task's number and the job's go down together. A job whose number is below the sum already is
 * left as it is but for that number, and for minima that count.
 */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/util.h"

enum { TASKS_TRIED = 6 };

struct shrink { /* one task, or the whole group */
    size_t task;
    struct str role; /* of a bare group */
    int64_t min, replicas;
};

static int64_t sum_of_minima(const struct job *job)
{
    int64_t sum = 0;

    for (size_t i = 0; i < job->spec.tasks.n; i++)
        sum += job_task_minimum(&job->spec.tasks.v[i]);
    return sum;
}

static void set_number(struct advising *v, struct suggestion *s, struct str path, int64_t n)
{
    edit_job(v, s, path, json_int(v->a, n));
}

static void lower_job_min(struct advising *v, struct suggestion *s, int64_t less)
{
    int64_t sum = sum_of_minima(&v->job) - less, have = v->job.spec.min_available;
    int64_t min = MIN_OF(have, MAX_OF(sum, have - less));

    if (min != v->job.spec.min_available)
        set_number(v, s, STR("/spec/minAvailable"), min);
}

static void advice_size_describe(struct advising *v, struct suggestion *s, const char *what, int64_t from, int64_t to)
{
    s->what = str_of(what);
    s->from = arena_fmt(v->a, "%lld", (long long)from);
    s->to = arena_fmt(v->a, "%lld", (long long)to);
    s->is_large = to * 2 < from;
}

/* ---- minAvailable ---- */

static struct str rest_joins(struct advising *v, int64_t n)
{
    if (n <= 0)
        return STR("");
    if (n == 1)
        return STR("; the last one joins when there is room");
    return arena_fmt(v->a, "; the other %lld join when there is room", (long long)n);
}

static void build_task_min(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct shrink *t = ctx;
    const struct job_task *task = &v->job.spec.tasks.v[t->task];

    s->kind = ADVISE_MIN_AVAILABLE;
    set_number(v, s, arena_fmt(v->a, "/spec/tasks/%zu/minAvailable", t->task), n);
    lower_job_min(v, s, t->min - n);
    s->target = task->name;
    advice_size_describe(v, s, "minAvailable", t->min, n);
    s->text = arena_fmt(v->a, "lower minAvailable of task %.*s from %lld to %lld%.*s", STR_ARG(task->name),
                        (long long)t->min, (long long)n, STR_ARG(rest_joins(v, t->replicas - n)));
}

static void build_job_min(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct shrink *t = ctx;

    s->kind = ADVISE_MIN_AVAILABLE;
    set_number(v, s, STR("/spec/minAvailable"), n);
    s->target = v->name;
    advice_size_describe(v, s, "minAvailable", t->min, n);
    s->text = arena_fmt(v->a, "lower minAvailable from %lld to %lld%.*s", (long long)t->min, (long long)n,
                        STR_ARG(rest_joins(v, t->replicas - n)));
}

/* A PodGroup without a Job. */
static void build_group_min(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct shrink *t = ctx;
    int64_t member = json_i64(json_find(v->root, "spec", "minMember", NULL), 0);

    s->kind = ADVISE_MIN_AVAILABLE;
    s->target = str_empty(t->role) ? v->name : t->role;
    if (str_empty(t->role)) {
        set_number(v, s, STR("/spec/minMember"), n);
    } else {
        set_number(v, s, arena_fmt(v->a, "/spec/minTaskMember/%.*s", STR_ARG(pointer_part(v->a, t->role))), n);
        if (member > 0)
            set_number(v, s, STR("/spec/minMember"), MAX_OF(member - (t->min - n), 1));
    }
    advice_size_describe(v, s, str_empty(t->role) ? "minMember" : "minTaskMember", t->min, n);
    s->text = arena_fmt(v->a, "lower %.*s of %.*s from %lld to %lld", STR_ARG(s->what), STR_ARG(s->target),
                        (long long)t->min, (long long)n);
}

/* ---- replicas ---- */

static void build_replicas(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct shrink *t = ctx;
    const struct job_task *task = &v->job.spec.tasks.v[t->task];

    s->kind = ADVISE_REPLICAS;
    set_number(v, s, arena_fmt(v->a, "/spec/tasks/%zu/replicas", t->task), n);
    if (t->min > n) {
        set_number(v, s, arena_fmt(v->a, "/spec/tasks/%zu/minAvailable", t->task), n);
        lower_job_min(v, s, t->min - n);
    }
    s->target = task->name;
    advice_size_describe(v, s, "replicas", t->replicas, n);
    s->text = arena_fmt(v->a, "run %lld replica%s of task %.*s instead of %lld", (long long)n, n == 1 ? "" : "s",
                        STR_ARG(task->name), (long long)t->replicas);
}

/* ---- choosing ---- */

static int64_t advice_size_number(struct str s)
{
    int64_t n = 0;

    (void)str_to_i64(s, &n); /* our own text */
    return n;
}

/* Of two, the one that keeps the larger part. */
static void keep_better(struct suggestion *best, const struct suggestion *s)
{
    if (best->edits.n == 0 || advice_size_number(s->to) * advice_size_number(best->from) >
                                  advice_size_number(best->to) * advice_size_number(s->from))
        *best = *s;
}

static int64_t room_hint(const struct advising *v)
{
    return v->now.why.kind == WHY_NO_ROOM && !v->now.why.role[0] ? v->now.why.have : 0;
}

static bool is_elastic(const struct job *job)
{
    return job->spec.min_available < sum_of_minima(job);
}

/* Does the number say anything, and does lowering it say what is meant? */
static bool has_own_minimum(const struct job *job, const struct job_task *task)
{
    return job_task_minimum(task) < task->replicas || (!is_elastic(job) && job->spec.tasks.n > 1);
}

static void try_task(struct advising *v, size_t i, struct suggestion *best_min, struct suggestion *best_replicas)
{
    const struct job_task *task = &v->job.spec.tasks.v[i];
    struct shrink t = { .task = i, .min = job_task_minimum(task), .replicas = task->replicas };
    int64_t have = room_hint(v), n = 0, hint = have ? t.min - (v->out->min - have) : 0;
    struct suggestion s;

    if (has_own_minimum(&v->job, task) &&
        search_largest(&(struct search){ v, build_task_min, &t, hint }, 1, t.min - 1, &s, &n))
        keep_better(best_min, &s);
    if (search_largest(&(struct search){ v, build_replicas, &t, n ? n : hint }, 1, t.min - 1, &s, &n))
        keep_better(best_replicas, &s);
}

/* Below this the tasks' own minima hold. */
static int64_t lowest_job_min(const struct advising *v)
{
    int64_t sum = 0;

    for (size_t i = 0; i < v->job.spec.tasks.n; i++) {
        const struct job_task *task = &v->job.spec.tasks.v[i];

        sum += job_task_minimum(task) < task->replicas ? job_task_minimum(task) : 0;
    }
    return MAX_OF(sum, 1);
}

static void advise_job_size(struct advising *v)
{
    struct suggestion min = { 0 }, replicas = { 0 }, s;
    struct shrink whole = { .min = v->job.spec.min_available, .replicas = job_total_replicas(&v->job) };
    int64_t n;

    if ((v->job.spec.tasks.n == 1 || is_elastic(&v->job)) &&
        search_largest(&(struct search){ v, build_job_min, &whole, room_hint(v) }, lowest_job_min(v), whole.min - 1, &s,
                       &n))
        min = s;
    for (size_t i = 0; i < v->job.spec.tasks.n && i < TASKS_TRIED; i++)
        if (!v->job.spec.tasks.v[i].partition) /* its numbers depend on each other */
            try_task(v, i, &min, &replicas);
    if (min.edits.n)
        suggest_keep(v, &min);
    if (replicas.edits.n)
        suggest_keep(v, &replicas);
}

static void advise_group_size(struct advising *v)
{
    const struct json *roles = json_find(v->root, "spec", "minTaskMember", NULL);
    struct suggestion best = { 0 }, s;
    int64_t n;

    if (json_count(roles) == 0) {
        struct shrink t = { .min = v->out->min };

        if (search_largest(&(struct search){ v, build_group_min, &t, v->now.why.have }, 1, t.min - 1, &s, &n))
            best = s;
    }
    JSON_FOREACH(role, roles) {
        struct shrink t = { .role = json_key(role), .min = json_i64(role, 0) };

        if (search_largest(&(struct search){ v, build_group_min, &t }, 1, t.min - 1, &s, &n))
            keep_better(&best, &s);
    }
    if (best.edits.n)
        suggest_keep(v, &best);
}

void advise_size(struct advising *v)
{
    if (v->is_job)
        advise_job_size(v);
    else
        advise_group_size(v);
}
