/* advice_estimate.c - when would it start without any change?
 *
 * The state is run forward with every job that says how long it runs (annotation pumice.dev/runtime) ending when it
 * says, and all others running for ever. Jobs that wait before it start, run and end in their turn. Where that does not
 * start it, it is done once more with all others ending too: does it depend on them?
 */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/map.h"
#include "base/util.h"

enum { STEPS_MAX = 50000, OBJECT_STEPS = 20000000, SILENT_MAX = 100 };
static const int64_t horizon_ms = (int64_t)366 * 24 * 3600 * 1000;
static const int64_t idle_ms = 15 * 60 * 1000; /* the scheduler withdraws promises after 5 minutes, and tries again */

struct watching {
    struct advising *v;
    struct future *f;
    struct map lively; /* pods that were seen before their end, by uid */
    int64_t ended_ms;  /* when those in estimate.after did */
    bool ends_all;     /* the second time */
};

static const int64_t some_time_ms = 3600 * 1000; /* whatever; all that runs ends */

static int64_t runtime_ms(void *ctx, const struct json *pod)
{
    struct watching *w = ctx;
    int64_t ms = future_declared_ms(w->f, pod);

    return ms < 0 && w->ends_all ? some_time_ms : ms;
}

static struct str owner_title(struct arena *a, const struct json *pod)
{
    struct str job = object_annotation(pod, "volcano.sh/job-name"),
               group = object_annotation(pod, "scheduling.k8s.io/group-name");

    return full_name(a, namespace_of(pod), !str_empty(job) ? job : !str_empty(group) ? group : object_name(pod));
}

static bool has_text(const struct str *list, size_t n, struct str text)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i], text))
            return true;
    return false;
}

static void estimate_on_end(struct watching *w, const struct object *pod, int64_t now_ms)
{
    struct advice_estimate *e = &w->v->out->estimate;
    struct str title = owner_title(w->v->a, pod->root);

    if (w->ended_ms != now_ms)
        e->after.n = 0;
    w->ended_ms = now_ms;
    if (!has_text(e->after.v, e->after.n, title))
        *vec_push(w->v->a, &e->after) = title;
}

static void on_run(struct watching *w, const struct object *pod)
{
    struct advice_estimate *e = &w->v->out->estimate;
    struct str title;

    if (e->silent.n == SILENT_MAX || future_declared_ms(w->f, pod->root) >= 0)
        return;
    title = owner_title(w->v->a, pod->root);
    if (!has_text(e->silent.v, e->silent.n, title))
        *vec_push(w->v->a, &e->silent) = title;
}

static void on_change(void *ctx, const struct object *o, bool is_gone, int64_t now_ms)
{
    struct watching *w = ctx;
    struct str phase;

    if (is_gone || strcmp(o->type->kind, "Pod") != 0)
        return;
    phase = json_member_text(json_get(o->root, "status"), "phase");
    if (str_is(phase, "Running") && map_add(&w->lively, w->v->a, o->uid))
        on_run(w, o);
    else if (str_is(phase, "Succeeded") && map_remove(&w->lively, o->uid))
        estimate_on_end(w, o, now_ms);
}

static bool has_started(struct advising *v, struct future *f)
{
    struct sched_group_view g;

    return job_group(v, f, &g) && g.is_whole;
}

static int estimate_by_text(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static void estimate_sort(struct str *list, size_t n)
{
    if (n)
        qsort(list, n, sizeof(*list), estimate_by_text);
}

/* Nothing runs that could end, and the scheduler has had time to change its mind. */
static bool is_stuck(struct future *f, int64_t *idle_since_ms)
{
    if (!future_is_idle(f)) {
        *idle_since_ms = -1;
        return false;
    }
    if (*idle_since_ms < 0)
        *idle_since_ms = future_now_ms(f);
    return future_now_ms(f) - *idle_since_ms > idle_ms;
}

static bool run_until_started(struct advising *v, struct future *f, int64_t due_ms)
{
    int64_t steps = MIN_OF((int64_t)STEPS_MAX, OBJECT_STEPS / (int64_t)(v->world.list.n + 1)), idle_since_ms = -1;

    while (!has_started(v, f)) {
        if (due_ms == INT64_MAX || steps-- == 0 || future_now_ms(f) - v->in->now_ms > horizon_ms ||
            is_stuck(f, &idle_since_ms))
            return false;
        (void)future_run(f, due_ms);
        due_ms = future_settle(f);
    }
    return true;
}

static bool starts_when_all_end(struct advising *v)
{
    struct watching w = { .v = v, .ends_all = true };
    struct future_options opt = { .runtime_ms = runtime_ms, .ctx = &w };
    bool starts;

    w.f = world_future(v, &v->world, &opt);
    starts = run_until_started(v, w.f, future_settle(w.f));
    future_free(w.f);
    arena_reset(&v->scratch);
    return starts;
}

void advice_estimate(struct advising *v)
{
    struct watching w = { .v = v, .ended_ms = -1 };
    struct future_options opt = { .runtime_ms = runtime_ms, .changed = on_change, .ctx = &w };
    struct advice_estimate *e = &v->out->estimate;
    int64_t due_ms;

    map_init(&w.lively, 0);
    w.f = world_future(v, &v->world, &opt);
    due_ms = future_settle(w.f);
    e->has_overdue = w.ended_ms >= 0;
    e->is_known = run_until_started(v, w.f, due_ms);
    e->at_ms = future_now_ms(w.f);
    if (!e->is_known || w.ended_ms != e->at_ms)
        e->after.n = 0;
    estimate_sort(e->after.v, e->after.n);
    estimate_sort(e->silent.v, e->silent.n);
    future_free(w.f);
    map_done(&w.lively);
    arena_reset(&v->scratch);
    e->is_never = !e->is_known && (e->silent.n == 0 || !starts_when_all_end(v));
}
