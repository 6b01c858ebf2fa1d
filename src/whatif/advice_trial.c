/* advice_trial.c - a world, lived through the present moment: does the job get its places?
 *
 * In a trial pods that are bound start, and pods that are evicted go at once, but no time passes and nothing ends by
 * itself. So what a trial says is what the cluster would come to if it were left alone for a moment.
 *
 * A suggestion must pass two trials: the change is made in the cluster when it has come to rest, under the eyes of a
 * scheduler that has its plans already; and a scheduler that is new finds the state with the change.
 */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "base/util.h"
#include "job/pod.h"
#include "store/store.h"

static int64_t never(void *ctx, const struct json *pod)
{
    (void)ctx, (void)pod;
    return -1;
}

struct future *world_future(struct advising *v, const struct world *w, const struct future_options *opt)
{
    struct future_options with = *opt;
    struct future *f;

    with.now_ms = v->in->now_ms;
    with.config = v->in->config;
    f = future_new(&with);
    VEC_FOREACH(object, &w->list)
        (void)future_add(f, *object, NULL); /* what cannot be put in was named once, at the beginning */
    return f;
}

/* ---- the job in a future ---- */

static const struct json *stored(struct future *f, const char *kind, struct str namespace, struct str name)
{
    const struct object *o = future_get(f, type_by_name(str_of(kind)), namespace, name);

    return o ? o->root : NULL;
}

bool job_group(struct advising *v, struct future *f, struct sched_group_view *ret)
{
    struct str name = v->name;

    if (v->is_job) {
        const struct json *job = stored(f, JOB_KIND, v->namespace, v->name);

        if (!job)
            return false;
        name = arena_fmt(&v->scratch, "%.*s-%.*s", STR_ARG(v->name), STR_ARG(object_uid(job)));
        if (sched_group_view(future_sched(f), v->namespace, name, ret))
            return true;
        name = v->name; /* older ones have the name of the job */
    }
    return sched_group_view(future_sched(f), v->namespace, name, ret);
}

struct str group_title(struct arena *a, const struct sched_group_view *g)
{
    return full_name(a, g->namespace, str_empty(g->job) ? g->name : g->job);
}

void resources_of(struct advising *v, const struct dims *d, const struct amounts *have, const struct amounts *only,
                  struct resources *ret)
{
    *ret = (struct resources){ 0 };
    for (int i = 0; i < d->n; i++)
        if (only ? only->v[i] > 0 : have->v[i] != 0)
            resources_set(v->a, ret, arena_str(v->a, d->names[i]), amount_to_quantity(i, have->v[i]));
}

/* ---- who lost pods ---- */

/* What it is called to a user: the Job, else the group. */
static struct str pod_owner(struct arena *a, const struct json *pod)
{
    struct str job = object_annotation(pod, "volcano.sh/job-name"),
               group = object_annotation(pod, "scheduling.k8s.io/group-name");

    return full_name(a, namespace_of(pod), !str_empty(job) ? job : !str_empty(group) ? group : object_name(pod));
}

static bool uses_node(const struct json *pod)
{
    return is_kind(pod, "Pod") && pod_uses_node(pod);
}

static bool had_place(const struct json *pod)
{
    return uses_node(pod) && !json_find(pod, "metadata", "deletionTimestamp", NULL);
}

/* Another pod of that name may have taken its place. */
static bool has_place(struct future *f, const struct json *pod)
{
    const struct json *now = stored(f, "Pod", namespace_of(pod), object_name(pod));

    return now && (str_empty(object_uid(pod)) || str_eq(object_uid(now), object_uid(pod))) &&
           json_member_text(json_get(now, "spec"), "nodeName").n &&
           !json_find(now, "metadata", "deletionTimestamp", NULL);
}

static void count_victim(struct advising *v, struct advice_verdict *ret, struct str name)
{
    struct advice_victim *found = NULL;

    VEC_FOREACH(victim, &ret->evicts)
        if (str_eq(victim->name, name))
            found = victim;
    if (!found) {
        found = vec_push(v->a, &ret->evicts);
        found->name = arena_str(v->a, name);
    }
    found->pods++;
}

/* Also those that were evicted already and have not ended. */
static void find_victims(struct advising *v, const struct world *w, struct future *f, struct advice_verdict *ret)
{
    struct str own = full_name(&v->scratch, v->namespace, v->name);

    VEC_FOREACH(pod, &w->list) {
        struct str owner;

        if (!uses_node(*pod) || has_place(f, *pod))
            continue;
        owner = pod_owner(&v->scratch, *pod);
        if (!str_eq(owner, own))
            count_victim(v, ret, owner);
    }
}

/* ---- trying ---- */

static void judge(struct advising *v, struct future *f, struct advice_verdict *ret)
{
    struct sched_group_view g;

    ret->has_group = job_group(v, f, &g);
    if (!ret->has_group)
        return;
    ret->starts = g.is_whole;
    ret->why = *g.why;
    if (g.why->dim >= 0 && g.why->dim < sched_dims(future_sched(f))->n)
        ret->resource = arena_str(v->a, sched_dims(future_sched(f))->names[g.why->dim]);
}

bool trial_run(struct advising *v, const struct world *w, struct advice_verdict *ret,
               void (*if_not)(struct advising *v, struct future *f))
{
    struct future_options opt = { .runtime_ms = never };
    struct future *f = world_future(v, w, &opt);

    *ret = (struct advice_verdict){ 0 };
    v->trials++;
    (void)future_settle(f); /* when the next thing is due does not matter */
    judge(v, f, ret);
    if (ret->starts)
        find_victims(v, w, f, ret);
    else if (if_not)
        if_not(v, f);
    future_free(f);
    return ret->starts;
}

/* ---- a change, tried ---- */

static void count_placed(void *ctx, const struct object *o)
{
    struct at_rest *r = ctx;
    struct arena *a = &r->arena;

    if (had_place(o->root))
        *vec_push(a, &r->placed) = (struct placed){ arena_str(a, o->namespace), arena_str(a, o->name),
                                                    arena_str(a, o->uid), pod_owner(a, o->root) };
}

/* A job that was never submitted is not there yet. */
static void come_to_rest(struct advising *v)
{
    struct future_options opt = { .runtime_ms = never };
    struct world w = v->world;

    if (v->is_new) {
        w = (struct world){ 0 };
        VEC_FOREACH(object, &v->world.list)
            if (*object != v->root)
                world_add(v, &w, *object);
    }
    v->rest.future = world_future(v, &w, &opt);
    (void)future_settle(v->rest.future);
    store_list(future_store(v->rest.future), type_by_name(STR("Pod")), STR_NULL, count_placed, &v->rest);
}

void rest_done(struct advising *v)
{
    future_free(v->rest.future);
    arena_done(&v->rest.arena);
    v->rest = (struct at_rest){ 0 };
}

static bool is_freed(struct advising *v, const struct suggestion *s, struct str owner)
{
    VEC_FOREACH(e, &s->edits)
        if (e->op == EDIT_DELETE && str_eq(full_name(&v->scratch, e->namespace, e->name), owner))
            return true;
    return str_eq(full_name(&v->scratch, v->namespace, v->name), owner);
}

/* Jobs that had a place before the change and have none now. */
static void find_losers(struct advising *v, struct suggestion *s)
{
    struct advice_verdict lost = { 0 };

    VEC_FOREACH(p, &v->rest.placed) {
        const struct json *pod = stored(v->rest.future, "Pod", p->namespace, p->name);

        if ((!pod || !str_eq(object_uid(pod), p->uid) || !had_place(pod)) && !is_freed(v, s, p->owner))
            count_victim(v, &lost, p->owner);
    }
    VEC_FOREACH(victim, &lost.evicts)
        *vec_push(v->a, &s->evicts) = *victim;
}

void trial_change(struct advising *v, struct suggestion *s, struct advice_verdict *ret)
{
    if (live_edit(v, v->rest.future, s) < 0)
        return;
    (void)future_settle(v->rest.future);
    judge(v, v->rest.future, ret);
    if (ret->starts)
        find_losers(v, s);
}

bool trial_suggestion(struct advising *v, struct suggestion *s, struct advice_verdict *ret)
{
    struct advice_verdict ignored = { 0 };

    ret = ret ? ret : &ignored;
    *ret = (struct advice_verdict){ 0 };
    if (v->trials >= v->max_trials)
        return false;
    v->trials++;
    s->evicts.n = 0;
    if (!v->rest.future)
        come_to_rest(v);
    if (!v->in->may_fork || !trial_in_child(v, s, ret)) {
        trial_change(v, s, ret);
        rest_done(v); /* it is not as it was */
    }
    arena_reset(&v->scratch);
    return ret->starts;
}

/* The same with a scheduler that begins with the changed state, as after a restart. */
static bool works_afresh(struct advising *v, const struct suggestion *s)
{
    struct advice_verdict ignored;
    struct world w;
    bool works = world_edit(v, s, &w) == 0 && trial_run(v, &w, &ignored, NULL);

    arena_reset(&v->scratch);
    return works;
}

/* ---- keeping ---- */

static int by_rank(const struct suggestion *a, const struct suggestion *b)
{
    if (a->stops_jobs != b->stops_jobs)
        return a->stops_jobs ? 1 : -1;
    if (a->is_large != b->is_large)
        return a->is_large ? 1 : -1;
    return (int)a->kind - (int)b->kind;
}

/* In order; equal ones stay in the order they came. */
void suggest_keep(struct advising *v, struct suggestion *s)
{
    struct suggestion *list;
    size_t at;

    if (!works_afresh(v, s))
        return;
    s->stops_jobs |= s->evicts.n > 0;
    (void)vec_push(v->a, &v->out->suggestions);
    list = v->out->suggestions.v;
    for (at = v->out->suggestions.n - 1; at > 0 && by_rank(s, &list[at - 1]) < 0; at--)
        list[at] = list[at - 1];
    list[at] = *s;
    if (v->prefix) { /* what must be done first is a part of it */
        struct suggestion whole = *s;

        memset(&whole.edits, 0, sizeof(whole.edits));
        VEC_FOREACH(e, &v->prefix->edits)
            *vec_push(v->a, &whole.edits) = *e;
        VEC_FOREACH(e, &s->edits)
            *vec_push(v->a, &whole.edits) = *e;
        whole.text = arena_fmt(v->a, "%.*s, and %.*s", STR_ARG(v->prefix->text), STR_ARG(s->text));
        list[at] = whole;
    }
    suggestion_how(v, &list[at]);
}
