/* advice_queue.c - what a change of queues would do: make, open, choose another, and their rules */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/util.h"

#define QUEUE_API_VERSION "scheduling.volcano.sh/v1beta1"

enum { WEIGHT_MAX = 65535, QUEUES_TRIED = 8, DEPTH_MAX = 16, RAISES_MAX = 8 };

static const struct json *advice_queue_of(const struct advising *v, struct str name)
{
    return world_find(&v->world, "Queue", STR_NULL, name);
}

static struct str advice_queue_parent_of(const struct json *queue)
{
    return json_member_text(json_get(queue, "spec"), "parent");
}

static bool is_open(const struct json *queue)
{
    struct str state = json_member_text(json_get(queue, "status"), "state");

    return str_empty(state) || str_is(state, "Open");
}

/* ---- missing or closed: nothing else helps before this is put right ---- */

static void build_create(struct advising *v, struct str name, struct suggestion *s)
{
    struct json *queue = object_new(v->a, QUEUE_API_VERSION, "Queue", STR_NULL, name);

    json_add(json_add(queue, STR("spec"), json_object(v->a)), STR("weight"), json_int(v->a, 1));
    edit_add(v, s, (struct advice_edit){ EDIT_CREATE, "Queue", .name = name, .value = queue });
    s->kind = ADVISE_QUEUE_CREATE;
    s->target = name;
    s->text = arena_fmt(v->a, "create queue %.*s", STR_ARG(name));
}

/* A queue below a closed one is closed again; so all above it are opened too. */
static void build_open(struct advising *v, struct str name, struct suggestion *s)
{
    const struct json *queue = advice_queue_of(v, name);
    autobuf names = { 0 };

    for (int i = 0; i < DEPTH_MAX && queue; i++, queue = advice_queue_of(v, advice_queue_parent_of(queue)))
        if (!is_open(queue)) {
            edit_set(v, s, queue, STR("/status/state"), json_str(v->a, STR("Open")));
            buf_fmt(&names, "%s%.*s", names.n ? " and " : "", STR_ARG(object_name(queue)));
        }
    s->kind = ADVISE_QUEUE_OPEN;
    s->target = name;
    s->from = STR("Closed");
    s->to = STR("Open");
    s->text = arena_fmt(v->a, "open queue %.*s", STR_ARG(buf_view(&names)));
}

void advise_queue_first(struct advising *v)
{
    enum why_kind kind = v->now.why.kind;
    struct str name = arena_str(v->a, str_of(v->now.why.queue));
    struct suggestion *s = arena_new(v->a, struct suggestion);
    struct advice_verdict then;

    if (str_empty(name))
        name = v->out->queue;
    if (kind == WHY_NO_QUEUE)
        build_create(v, name, s);
    else if (kind == WHY_QUEUE_CLOSED)
        build_open(v, name, s);
    if (s->edits.n == 0)
        return;
    if (trial_suggestion(v, s, &then)) {
        suggest_keep(v, s);
    } else if (then.has_group && then.why.kind != kind) {
        v->prefix = s;
        v->now = then;
    }
}

/* ---- another queue ---- */

static bool has_children(const struct advising *v, struct str name)
{
    VEC_FOREACH(o, &v->world.list)
        if (is_kind(*o, "Queue") && str_eq(advice_queue_parent_of(*o), name))
            return true;
    return false;
}

static int advice_queue_by_text(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

struct advice_queue_names {
    VEC(struct str) list;
};

/* Open queues without others below them, by name. The default queue always exists. */
static void other_queues(struct advising *v, struct advice_queue_names *ret)
{
    if (!advice_queue_of(v, STR("default")) && !str_is(v->out->queue, "default"))
        *vec_push(v->a, &ret->list) = STR("default");
    VEC_FOREACH(o, &v->world.list) {
        struct str name = object_name(*o);

        if (is_kind(*o, "Queue") && is_open(*o) && !str_is(name, "root") && !str_eq(name, v->out->queue) &&
            !has_children(v, name))
            *vec_push(v->a, &ret->list) = name;
    }
    if (ret->list.n)
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), advice_queue_by_text);
}

static void build_queue(struct advising *v, struct str name, struct suggestion *s)
{
    edit_job(v, s, STR("/spec/queue"), json_str(v->a, name));
    s->kind = ADVISE_QUEUE;
    s->recreates = v->is_job && !v->is_new;
    s->target = name;
    s->what = STR("queue");
    s->from = v->out->queue;
    s->to = name;
    s->text = arena_fmt(v->a, "use queue %.*s instead of %.*s", STR_ARG(name), STR_ARG(v->out->queue));
}

void advise_queue(struct advising *v)
{
    struct suggestion *prefix = v->prefix, best = { 0 };
    struct advice_queue_names names = { 0 };

    v->prefix = NULL; /* what is wrong with its own queue does not matter in another */
    other_queues(v, &names);
    for (size_t i = 0; i < names.list.n && i < QUEUES_TRIED; i++) {
        struct suggestion s = { 0 };

        build_queue(v, names.list.v[i], &s);
        if (!trial_suggestion(v, &s, NULL))
            continue;
        if (best.edits.n == 0 || (best.evicts.n && !s.evicts.n)) {
            if (best.edits.n)
                *vec_push(v->a, &s.also) = best.target;
            VEC_FOREACH(other, &best.also)
                *vec_push(v->a, &s.also) = *other;
            best = s;
        } else {
            *vec_push(v->a, &best.also) = s.target;
        }
    }
    if (best.edits.n)
        suggest_keep(v, &best);
    v->prefix = prefix;
}

/* ---- its rules ---- */

static void advise_strategy(struct advising *v)
{
    const struct json *queue = advice_queue_of(v, v->out->queue);
    struct suggestion s = { .kind = ADVISE_STRATEGY, .target = v->out->queue, .what = STR("dequeueStrategy") };

    if (v->now.why.kind != WHY_ORDER || !queue)
        return;
    edit_set(v, &s, queue, STR("/spec/dequeueStrategy"), json_str(v->a, STR("traverse")));
    s.from = STR("fifo");
    s.to = STR("traverse");
    s.text = arena_fmt(v->a, "let jobs of queue %.*s that fit pass those that do not (dequeueStrategy: traverse)",
                       STR_ARG(v->out->queue));
    if (trial_suggestion(v, &s, NULL))
        suggest_keep(v, &s);
}

/* Raise what 'then' names by what is missing. false: it is not the capability written there. */
static bool raise(struct advising *v, const struct advice_verdict *then, struct suggestion *s, struct buf *text)
{
    struct str name = arena_str(v->a, str_of(then->why.queue)), value;
    const struct json *queue = advice_queue_of(v, name);
    struct str path = arena_fmt(v->a, "/spec/capability/%.*s", STR_ARG(pointer_part(v->a, then->resource)));
    struct str from = scalar_text(json_get_str(json_find(queue, "spec", "capability", NULL), then->resource));
    struct quantity old, more = amount_to_quantity(then->why.dim, then->why.need - then->why.have);

    if (then->why.kind != WHY_CAPABILITY || str_empty(then->resource) || quantity_parse(from, &old, NULL) < 0 ||
        then->why.need <= then->why.have)
        return false;
    VEC_FOREACH(e, &s->edits) /* raised before, and it was not enough: something else limits it */
        if (str_eq(e->path, path) && str_eq(e->name, name))
            return false;
    value = quantity_text(v->a, quantity_add(old, more));
    edit_set(v, s, queue, path, json_str(v->a, value));
    if (s->edits.n == 1)
        s->target = name, s->what = then->resource, s->from = from, s->to = value;
    buf_fmt(text, "%s %.*s of queue %.*s from %.*s to %.*s", text->n ? " and" : "", STR_ARG(then->resource),
            STR_ARG(name), STR_ARG(from), STR_ARG(value));
    return true;
}

static void advise_capability(struct advising *v)
{
    struct suggestion s = { .kind = ADVISE_CAPABILITY };
    struct advice_verdict then = v->now;
    autobuf text = { 0 };

    for (int i = 0; i < RAISES_MAX && raise(v, &then, &s, &text); i++) {
        if (!trial_suggestion(v, &s, &then))
            continue;
        s.text = arena_fmt(v->a, "raise the capability in%.*s", STR_ARG(buf_view(&text)));
        suggest_keep(v, &s);
        return;
    }
}

static void build_weight(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct json *queue = ctx;
    int64_t from = json_i64(json_find(queue, "spec", "weight", NULL), 1);

    edit_set(v, s, queue, STR("/spec/weight"), json_int(v->a, n));
    s->kind = ADVISE_WEIGHT;
    s->target = object_name(queue);
    s->what = STR("weight");
    s->from = arena_fmt(v->a, "%lld", (long long)from);
    s->to = arena_fmt(v->a, "%lld", (long long)n);
    s->text = arena_fmt(v->a, "raise the weight of queue %.*s from %lld to %lld", STR_ARG(s->target), (long long)from,
                        (long long)n);
}

static void advise_weight(struct advising *v)
{
    const struct json *queue = advice_queue_of(v, str_of(v->now.why.queue));
    struct search q = { v, build_weight, queue };
    struct suggestion s;
    int64_t n;

    if (v->now.why.kind != WHY_FAIR_SHARE || !queue)
        return;
    if (search_smallest(&q, json_i64(json_find(queue, "spec", "weight", NULL), 1) + 1, WEIGHT_MAX, &s, &n))
        suggest_keep(v, &s);
}

void advise_rules(struct advising *v)
{
    advise_strategy(v);
    advise_capability(v);
    advise_weight(v);
}
