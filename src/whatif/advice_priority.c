/* advice_priority.c - a higher priority: does it go first then, and whom would it evict? */
#include "whatif/advice_internal.h"

#include "api/meta.h"
#include "base/util.h"

enum { CLASSES_MAX = 32, VALUE_MAX = 1000000000 }; /* what users may give (above is the system's) */

struct classes {
    const struct json *v[CLASSES_MAX];
    size_t n;
};

static int64_t priority_value_of(const struct json *class)
{
    return json_i64(json_get(class, "value"), 0);
}

static int by_value(const void *x, const void *y)
{
    const struct json *a = *(const struct json *const *)x, *b = *(const struct json *const *)y;

    if (priority_value_of(a) != priority_value_of(b))
        return priority_value_of(a) < priority_value_of(b) ? -1 : 1;
    return str_cmp(object_name(a), object_name(b));
}

static void higher_classes(struct advising *v, struct classes *ret)
{
    VEC_FOREACH(o, &v->world.list)
        if (ret->n < CLASSES_MAX && is_kind(*o, "PriorityClass") && priority_value_of(*o) > v->out->priority &&
            !str_starts(object_name(*o), STR("system-")))
            ret->v[ret->n++] = *o;
    qsort(ret->v, ret->n, sizeof(*ret->v), by_value);
}

static void build_class(struct advising *v, const void *ctx, int64_t n, struct suggestion *s)
{
    const struct classes *classes = ctx;
    const struct json *class = classes->v[n];

    edit_job(v, s, STR("/spec/priorityClassName"), json_str(v->a, object_name(class)));
    s->kind = ADVISE_PRIORITY;
    s->target = object_name(class);
    s->what = STR("priority");
    s->from = arena_fmt(v->a, "%d", v->out->priority);
    s->to = arena_fmt(v->a, "%lld", (long long)priority_value_of(class));
    s->text = arena_fmt(v->a, "give it the priority class %.*s (%lld instead of %d)", STR_ARG(s->target),
                        (long long)priority_value_of(class), v->out->priority);
}

static struct json *class_new(struct advising *v, struct str name, int64_t value)
{
    struct json *class = object_new(v->a, "scheduling.k8s.io/v1", "PriorityClass", STR_NULL, name);

    json_add(class, STR("value"), json_int(v->a, value));
    return class;
}

/* An unused name. */
static struct str free_name(struct advising *v)
{
    struct str name = STR("urgent");

    for (int i = 2; world_find(&v->world, "PriorityClass", STR_NULL, name); i++)
        name = arena_fmt(v->a, "urgent-%d", i);
    return name;
}

/* One more than any class there is, and than what waits or runs. */
static int64_t top_value(struct advising *v)
{
    int64_t top = v->out->priority;

    VEC_FOREACH(o, &v->world.list)
        if (is_kind(*o, "PriorityClass") && priority_value_of(*o) < VALUE_MAX)
            top = MAX_OF(top, priority_value_of(*o));
    return MIN_OF(top + 1, (int64_t)VALUE_MAX);
}

/* The class it names does not exist: it is taken for the default. Else a new one. */
static void advise_new_class(struct advising *v)
{
    bool is_missing = !str_empty(v->out->priority_class) &&
                      !world_find(&v->world, "PriorityClass", STR_NULL, v->out->priority_class);
    struct str name = is_missing ? v->out->priority_class : free_name(v);
    int64_t value = top_value(v);
    struct suggestion s = { .kind = is_missing ? ADVISE_PRIORITY_CREATE : ADVISE_PRIORITY, .target = name };

    edit_add(v, &s,
             (struct advice_edit){ EDIT_CREATE, "PriorityClass", .name = name, .value = class_new(v, name, value) });
    if (!is_missing)
        edit_job(v, &s, STR("/spec/priorityClassName"), json_str(v->a, name));
    s.what = STR("priority");
    s.from = arena_fmt(v->a, "%d", v->out->priority);
    s.to = arena_fmt(v->a, "%lld", (long long)value);
    s.text = is_missing ? arena_fmt(v->a, "create the priority class %.*s it names, with value %lld", STR_ARG(name),
                                    (long long)value)
                        : arena_fmt(v->a, "give it a new priority class with value %lld (now %d)", (long long)value,
                                    v->out->priority);
    if (trial_suggestion(v, &s, NULL))
        suggest_keep(v, &s);
}

void advise_priority(struct advising *v)
{
    struct classes classes = { 0 };
    struct suggestion s;
    int64_t n;

    higher_classes(v, &classes);
    if (search_smallest(&(struct search){ v, build_class, &classes }, 0, (int64_t)classes.n - 1, &s, &n))
        suggest_keep(v, &s);
    else
        advise_new_class(v);
}
