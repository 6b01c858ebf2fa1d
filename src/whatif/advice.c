/* advice.c - one job: its needs, the free resources, the reason why it waits, and changes that would help */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/util.h"
#include "job/admit.h"
#include "job/native.h"
#include "job/phase.h"
#include "store/store.h"

const char *const advice_state_names[ADVICE_STATE_MAX] = { "Waiting", "Starting", "Running",
                                                           "Ended",   "Blocked",  "Native" };

const char *const advice_kind_names[ADVICE_KIND_MAX] = {
    [ADVISE_QUEUE_CREATE] = "queue-create",
    [ADVISE_QUEUE_OPEN] = "queue-open",
    [ADVISE_UNCORDON] = "uncordon",
    [ADVISE_TOLERATION] = "toleration",
    [ADVISE_SELECTOR] = "node-selector",
    [ADVISE_CONSTRAINT] = "constraint",
    [ADVISE_MIN_AVAILABLE] = "min-available",
    [ADVISE_REPLICAS] = "replicas",
    [ADVISE_QUEUE] = "queue",
    [ADVISE_REQUESTS] = "requests",
    [ADVISE_STRATEGY] = "queue-strategy",
    [ADVISE_CAPABILITY] = "queue-capability",
    [ADVISE_WEIGHT] = "queue-weight",
    [ADVISE_PRIORITY_CREATE] = "priority-create",
    [ADVISE_PRIORITY] = "priority",
    [ADVISE_FREE] = "free",
    [ADVISE_NODES] = "nodes",
};

const char *const edit_op_names[EDIT_OP_MAX] = { "set", "unset", "create", "delete", "add-nodes" };

enum { SUGGESTIONS_MAX = 5, TRIALS_MIN = 30, TRIALS_MAX = 200, OBJECT_TRIALS = 1000000 };

/* ---- the job ---- */

static int64_t created_ms(const struct json *object)
{
    int64_t ms;

    return clock_parse(json_text(json_find(object, "metadata", "creationTimestamp", NULL), STR("")), &ms, NULL) < 0
               ? 0
               : ms;
}

static void advice_take_job(struct advising *v, const struct json *root)
{
    const struct json *spec = json_get(root, "spec");
    struct advice *out = v->out;

    v->root = root;
    v->name = object_name(root);
    v->is_job = is_kind(root, JOB_KIND);
    out->is_job = v->is_job;
    out->name = full_name(v->a, v->namespace, v->name);
    out->queue = json_member_text(spec, "queue");
    if (str_empty(out->queue))
        out->queue = STR("default");
    out->priority_class = json_member_text(spec, "priorityClassName");
    out->created_ms = created_ms(root);
    if (!v->is_job)
        return;
    job_decode(v->a, (struct json *)root, &v->job);
    v->is_new = str_empty(object_uid(root)) && !json_find(root, "metadata", "creationTimestamp", NULL) &&
                !json_get(root, "status");
    out->phase = v->job.status.phase;
    out->reason = json_member_text(json_find(root, "status", "state", NULL), "reason");
    out->message = json_member_text(json_find(root, "status", "state", NULL), "message");
}

/* A PodGroup that a Job of the state owns stands for that Job. */
static int advice_find_job(struct advising *v, struct err *e)
{
    const struct json *job = world_find(&v->world, JOB_KIND, v->namespace, v->in->name), *group;

    if (!job) {
        group = world_find(&v->world, "PodGroup", v->namespace, v->in->name);
        if (!group)
            return err_set(e, ERR_NOT_FOUND, "no Job or PodGroup %.*s in namespace %.*s", STR_ARG(v->in->name),
                           STR_ARG(v->namespace));
        job = world_find(&v->world, JOB_KIND, v->namespace, owner_job(group));
        if (!job || str_empty(owner_job(group)))
            job = group;
    }
    advice_take_job(v, job);
    return 0;
}

static bool advice_has_ended(const struct advising *v)
{
    enum job_phase phase = job_phase_of(v->job.status.phase);

    return v->is_job && phase != PHASE_RESTARTING && !phase_is_active(phase);
}

/* A Job that was never submitted: would it be taken at all? */
static bool is_acceptable(struct advising *v)
{
    struct json *copy = json_copy(v->a, v->root);
    struct problems problems = { .arena = v->a };
    struct admit_env env = { 0 };

    (void)job_admit(v->a, copy, &(struct job_admit_env){ .env = &env }, NULL, &problems);
    if (problems.n_errors == 0)
        return true;
    v->out->state = ADVICE_BLOCKED;
    v->out->reason = STR("Invalid");
    v->out->message = problems_join(v->a, &problems);
    return false;
}

/* ---- gangs of kube-scheduler's ---- */

static void take_native_conditions(struct advising *v)
{
    for (size_t i = 0; i < v->in->n_native; i++) {
        const struct json *group = v->in->native[i], *refusal = native_refusal(group);

        if (!refusal || !str_eq(object_name(group), v->out->group) || !str_eq(namespace_of(group), v->namespace))
            continue;
        v->out->reason = json_member_text(refusal, "reason");
        v->out->message = json_member_text(refusal, "message");
    }
}

/* Are its pods another scheduler's? Ours cannot say what that would do. */
static bool is_native(struct advising *v)
{
    VEC_FOREACH(o, &v->world.list) {
        struct str group = json_text(json_find(*o, "spec", "schedulingGroup", "podGroupName", NULL), STR_NULL);

        if (!group.n || !is_kind(*o, "Pod") || !belongs_to_job(*o, v->namespace, v->name))
            continue;
        v->out->group = group;
        v->out->pending++;
        v->out->ready += json_member_text(json_get(*o, "spec"), "nodeName").n > 0;
    }
    if (!v->out->group.n)
        return false;
    v->out->state = ADVICE_NATIVE;
    v->out->reason = v->out->message = STR_NULL;
    v->out->pending -= v->out->ready;
    v->out->min = v->job.spec.min_available;
    take_native_conditions(v);
    return true;
}

/* ---- as it is now ---- */

/* What the controller says it waits for before it makes anything. */
static void take_blocked(struct advising *v, struct future *f)
{
    const struct object *job = future_get(f, type_by_name(STR(JOB_KIND)), v->namespace, v->name);
    const struct json *state = job ? json_find(job->root, "status", "state", NULL) : NULL;

    v->out->state = ADVICE_BLOCKED;
    if (!v->is_job) {
        v->out->message = STR("the scheduler does not know this PodGroup");
        return;
    }
    v->out->phase = arena_str(v->a, json_member_text(state, "phase"));
    v->out->reason = arena_str(v->a, json_member_text(state, "reason"));
    v->out->message = arena_str(v->a, json_member_text(state, "message"));
    if (str_empty(v->out->message))
        v->out->message = STR("the controller has not created anything for it yet");
}

static struct future *advice_begin(struct advising *v)
{
    struct future_options opt = { .now_ms = v->in->now_ms, .config = v->in->config, .stands_still = true };
    struct future *f = future_new(&opt);

    VEC_FOREACH(object, &v->world.list) {
        struct err e;

        if (future_add(f, *object, &e) < 0)
            note(v, arena_fmt(v->a, "%.*s %.*s was left out: %s", STR_ARG(object_kind(*object)),
                              STR_ARG(object_name(*object)), e.text));
    }
    (void)future_settle(f);
    return f;
}

/* Does it have its places, or get them without anybody having to go? Else it is looked at again when all is at rest. */
static bool is_placed(struct advising *v)
{
    struct future *f = advice_begin(v);
    struct sched_group_view g;
    bool has_group = job_group(v, f, &g), is_whole = has_group && g.is_whole;

    if (is_whole) {
        look_at_group(v, f, &g);
        v->out->state = str_is(v->out->phase, "Running") || v->out->running > 0 ? ADVICE_RUNS : ADVICE_STARTS;
    } else if (!has_group) {
        take_blocked(v, f);
    }
    future_free(f);
    arena_reset(&v->scratch);
    return is_whole || !has_group;
}

/* ---- left alone for a moment ---- evictions that are under way come to their end, for it or for others ---- */

static void look_at_rest(struct advising *v, struct future *f)
{
    struct sched_group_view g;

    v->out->state = ADVICE_WAITS;
    if (job_group(v, f, &g))
        look_at_group(v, f, &g);
}

static bool starts_soon(struct advising *v)
{
    bool starts = trial_run(v, &v->world, &v->now, look_at_rest);

    if (starts)
        v->out->state = ADVICE_STARTS;
    VEC_FOREACH(victim, &v->now.evicts)
        *vec_push(v->a, &v->out->evicts) = *victim;
    arena_reset(&v->scratch);
    return starts;
}

/* ---- what would help ---- */

static bool is_enough(const struct advising *v)
{
    size_t n = 0;

    VEC_FOREACH(s, &v->out->suggestions)
        n += !s->is_large && !s->stops_jobs;
    return n >= v->max_suggestions;
}

static void advise(struct advising *v)
{
    static void (*const steps[])(struct advising * v) = {
        advise_queue_first, advise_places,   advise_size, advise_queue, advise_requests,
        advise_rules,       advise_priority, advise_free, advise_nodes,
    };

    for (size_t i = 0; i < ARRAY_LEN(steps) && !is_enough(v); i++)
        steps[i](v);
    v->out->suggestions.n = MIN_OF(v->out->suggestions.n, v->max_suggestions);
}

static void look_and_advise(struct advising *v)
{
    if (advice_has_ended(v)) {
        v->out->state = ADVICE_ENDED;
        return;
    }
    if (v->is_job && is_native(v))
        return;
    look_at_tasks(v);
    if ((v->is_new && !is_acceptable(v)) || is_placed(v) || starts_soon(v)) {
        if (v->out->state == ADVICE_STARTS && str_starts(v->out->reason, STR("Waiting")))
            v->out->state = ADVICE_BLOCKED; /* a quota or a webhook refuses its pods, of which the copy knows nothing */
        return;
    }
    advise(v);
    advice_estimate(v);
}

int advice_make(struct arena *a, const struct advice_input *in, struct advice *ret, struct err *e)
{
    struct advising v = { .a = a, .in = in, .out = ret };
    size_t by_size = OBJECT_TRIALS / (in->n + 1);

    *ret = (struct advice){ 0 };
    v.namespace = str_empty(in->namespace) ? STR("default") : in->namespace;
    v.max_trials = (unsigned)MIN_OF(MAX_OF(by_size, (size_t)TRIALS_MIN), (size_t)TRIALS_MAX);
    v.max_suggestions = in->max_suggestions ? in->max_suggestions : SUGGESTIONS_MAX;
    world_begin(&v);
    if (advice_find_job(&v, e) < 0)
        return -1;
    look_and_advise(&v);
    ret->n_trials = v.trials;
    rest_done(&v);
    arena_done(&v.scratch);
    return 0;
}

/* ---- all that wait ---- */

struct advice_listing {
    struct arena *a;
    struct future *f;
    const struct dims *dims;
    struct advice_lines *ret;
};

static void list_waiting(void *ctx, const struct sched_group_view *g)
{
    struct advice_listing *l = ctx;
    struct advice_line *line;
    autobuf text = { 0 };
    struct why why;

    if (g->is_whole) /* it runs; only pods beyond its minimum wait */
        return;
    line = vec_push(l->a, &l->ret->list);
    why = *g->why;
    name_other(l->a, l->f, &why);
    why_print(&text, l->dims, &why);
    *line = (struct advice_line){ .name = group_title(l->a, g),
                                  .queue = arena_str(l->a, g->queue),
                                  .priority = g->priority,
                                  .pods = MAX_OF(g->min - g->ready, 0),
                                  .why = g->why->kind,
                                  .why_text = arena_str(l->a, buf_view(&text)) };
}

void advice_list(struct arena *a, const struct advice_input *in, struct advice_lines *ret)
{
    struct advice ignored = { 0 };
    struct advising v = { .a = a, .in = in, .out = &ignored };
    struct advice_listing l = { .a = a, .ret = ret };
    struct future *f;

    *ret = (struct advice_lines){ 0 };
    world_begin(&v);
    f = l.f = advice_begin(&v);
    l.dims = sched_dims(future_sched(f));
    sched_waiting(future_sched(f), &v.scratch, list_waiting, &l);
    future_free(f);
    arena_done(&v.scratch);
}
