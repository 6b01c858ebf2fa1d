/* limits.c - LimitRanges: what a pod, a container or a claim of a namespace asks for when it says nothing, and how little or
 * much it may be; which LimitRanges are good
 */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/map.h"
#include "base/util.h"

/* ---- defaults ---- */

struct defaulting {
    struct arena *arena;
    struct buf notes; /* "cpu, memory request for container main; …" */
};

/* Copy the amounts of 'from' that the container does not set, and note their names. */
static void limits_fill(struct defaulting *d, struct json *container, const char *list, const struct json *from,
                        const char *what)
{
    struct json *resources = json_need_object(d->arena, container, "resources");
    struct json *to = resources ? json_need_object(d->arena, resources, list) : NULL;
    struct json *last = to ? to->last : NULL;
    autobuf names = { 0 };

    if (to)
        json_add_missing(d->arena, to, from);
    for (const struct json *amount = last ? last->next : json_first(to); amount; amount = amount->next)
        buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(json_key(amount)));
    if (to && !json_count(to))
        json_remove(resources, list);
    if (names.n)
        buf_fmt(&d->notes, "%s%.*s %.*s for %s %.*s", d->notes.n ? "; " : "", STR_ARG(buf_view(&names)),
                (int)strlen(list) - 1, list, what, STR_ARG(json_member_text(container, "name"))); /* "request" */
}

static void fill_pod(struct defaulting *d, struct json *spec, const struct json *item)
{
    static const struct {
        const char *list, *what;
    } rows[] = { { "initContainers", "init container" }, { "containers", "container" } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        JSON_FOREACH(c, json_get(spec, rows[i].list)) {
            if (!json_is(c, JSON_OBJECT))
                continue;
            limits_fill(d, c, "requests", json_get(item, "defaultRequest"), rows[i].what);
            limits_fill(d, c, "limits", json_get(item, "default"), rows[i].what);
        }
}

void limit_ranges_default(const struct observed_objects *ranges, struct arena *a, struct json *pod)
{
    struct defaulting d = { .arena = a };

    for (size_t i = 0; i < ranges->n; i++)
        JSON_FOREACH(item, json_find(ranges->v[i].root, "spec", "limits", NULL))
            if (str_is(json_member_text(item, "type"), "Container"))
                fill_pod(&d, json_get(pod, "spec"), json_clone(a, item));
    if (d.notes.n)
        object_set_annotation(a, pod, "kubernetes.io/limit-ranger",
                              arena_fmt(a, "LimitRanger plugin set: %.*s", STR_ARG(buf_view(&d.notes))));
    buf_done(&d.notes);
}

/* ---- is it within? ---- */

struct limits_check {
    struct arena *arena;
    struct buf wrong; /* sentences */
    size_t n_wrong;
};

struct limits_asked { /* by a container, a pod, a claim */
    struct str type;
    struct resources requests, limits;
};

static void limits_say(struct limits_check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void limits_say(struct limits_check *c, const char *fmt, ...)
{
    struct str sentence;
    va_list ap;

    va_start(ap, fmt);
    sentence = arena_vfmt(c->arena, fmt, ap);
    va_end(ap);
    buf_fmt(&c->wrong, "%s%.*s", c->n_wrong++ ? ", " : "", STR_ARG(sentence));
}

static const char *limits_text_of(struct limits_check *c, struct quantity q)
{
    autobuf out = { 0 };

    quantity_print(&out, q);
    return arena_cstr(c->arena, buf_view(&out));
}

/* "minimum cpu usage per Container is 100m, but request is 50m" */
static void say_bound(struct limits_check *c, const struct limits_asked *of, const char *bound,
                      const struct resource *r, const char *what)
{
    const struct resources *have = strcmp(what, "limit") == 0 ? &of->limits : &of->requests;

    limits_say(c, "%s %.*s usage per %.*s is %s, but %s is %s", bound, STR_ARG(r->name), STR_ARG(of->type),
               limits_text_of(c, r->q), what, limits_text_of(c, *resources_get(have, r->name)));
}

static void check_min(struct limits_check *c, const struct limits_asked *of, const struct resource *min)
{
    const struct quantity *request = resources_get(&of->requests, min->name),
                          *limit = resources_get(&of->limits, min->name);

    if (!request)
        limits_say(c, "minimum %.*s usage per %.*s is %s.  No request is specified", STR_ARG(min->name),
                   STR_ARG(of->type), limits_text_of(c, min->q));
    else if (quantity_cmp(*request, min->q) < 0)
        say_bound(c, of, "minimum", min, "request");
    else if (limit && quantity_cmp(*limit, min->q) < 0)
        say_bound(c, of, "minimum", min, "limit");
}

/* A claim has no limits: what it asks for is what it gets. */
static void check_max(struct limits_check *c, const struct limits_asked *of, const struct resource *max)
{
    const struct quantity *request = resources_get(&of->requests, max->name),
                          *limit = resources_get(&of->limits, max->name);
    bool is_claim = str_is(of->type, "PersistentVolumeClaim");

    if (is_claim ? !request : !limit)
        limits_say(c, "maximum %.*s usage per %.*s is %s.  No %s is specified", STR_ARG(max->name), STR_ARG(of->type),
                   limits_text_of(c, max->q), is_claim ? "request" : "limit");
    else if (limit && quantity_cmp(*limit, max->q) > 0)
        say_bound(c, of, "maximum", max, "limit");
    else if (request && quantity_cmp(*request, max->q) > 0)
        say_bound(c, of, "maximum", max, "request");
}

static void check_ratio(struct limits_check *c, const struct limits_asked *of, const struct resource *most)
{
    const struct quantity *request = resources_get(&of->requests, most->name),
                          *limit = resources_get(&of->limits, most->name);
    const char *lacks = !request || request->nano <= 0 ? "request" : !limit || limit->nano <= 0 ? "limit" : NULL;
    double ratio;

    if (lacks) {
        limits_say(c, "%.*s max limit to request ratio per %.*s is %s, but no %s is specified or %s is 0",
                   STR_ARG(most->name), STR_ARG(of->type), limits_text_of(c, most->q), lacks, lacks);
        return;
    }
    ratio = (double)limit->nano / (double)request->nano;
    if (ratio > (double)most->q.nano / 1e9)
        limits_say(c, "%.*s max limit to request ratio per %.*s is %s, but provided ratio is %f", STR_ARG(most->name),
                   STR_ARG(of->type), limits_text_of(c, most->q), ratio);
}

static void check_item(struct limits_check *c, const struct json *item, const struct limits_asked *of)
{
    static const struct {
        const char *member;
        void (*check)(struct limits_check *c, const struct limits_asked *of, const struct resource *bound);
    } rows[] = { { "min", check_min }, { "max", check_max }, { "maxLimitRequestRatio", check_ratio } };
    struct resources bounds;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        resources_from_json(c->arena, json_get(item, rows[i].member), &bounds);
        VEC_FOREACH(b, &bounds.list)
            rows[i].check(c, of, b);
    }
}

static void read_resources(struct arena *a, const struct json *resources, struct limits_asked *ret)
{
    resources_from_json(a, json_get(resources, "requests"), &ret->requests);
    resources_from_json(a, json_get(resources, "limits"), &ret->limits);
}

static void limits_check_pod(struct limits_check *c, const struct json *item, const struct json *spec)
{
    static const char *const lists[] = { "containers", "initContainers" };
    struct limits_asked of = { .type = json_member_text(item, "type") };

    if (str_is(of.type, "Pod")) {
        pod_requests(c->arena, spec, &of.requests);
        pod_limits(c->arena, spec, &of.limits);
        check_item(c, item, &of);
    }
    for (size_t i = 0; str_is(of.type, "Container") && i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(container, json_get(spec, lists[i])) {
            read_resources(c->arena, json_get(container, "resources"), &of);
            check_item(c, item, &of);
        }
}

static void check_claim(struct limits_check *c, const struct json *item, const struct json *spec)
{
    struct limits_asked of = { .type = json_member_text(item, "type") };

    if (!str_is(of.type, "PersistentVolumeClaim"))
        return;
    read_resources(c->arena, json_get(spec, "resources"), &of);
    check_item(c, item, &of);
}

static int limit_range_check(struct arena *a, const struct json *range, bool is_pod, const struct json *object,
                             struct err *e)
{
    struct limits_check c = { .arena = a };
    int rc = 0;

    JSON_FOREACH(item, json_find(range, "spec", "limits", NULL))
        (is_pod ? limits_check_pod : check_claim)(&c, item, json_get(object, "spec"));
    if (c.n_wrong)
        rc = err_set(e, ERR_FORBIDDEN, "%s%.*s%s", c.n_wrong > 1 ? "[" : "", STR_ARG(buf_view(&c.wrong)),
                     c.n_wrong > 1 ? "]" : "");
    buf_done(&c.wrong);
    return rc;
}

bool limit_ranges_apply_to(const struct resource_type *t)
{
    return !t->group[0] && (strcmp(t->kind, "Pod") == 0 || strcmp(t->kind, "PersistentVolumeClaim") == 0);
}

int limit_ranges_check(const struct observed_objects *ranges, const struct observed_object *object, struct err *e)
{
    autoarena a = { 0 };
    bool is_pod = strcmp(object->type->kind, "Pod") == 0;

    for (size_t i = 0; i < ranges->n; i++)
        if (limit_range_check(&a, ranges->v[i].root, is_pod, object->root, e) < 0)
            return -1;
    return 0;
}

/* ---- LimitRanges themselves ---- */

/* Copy the amounts of 'from' that 'to' does not set. */
static void borrow(struct arena *a, struct json *item, const char *to, const char *from)
{
    const struct json *source = json_get(item, from);
    struct json *list = json_count(source) ? json_need_object(a, item, to) : NULL;

    if (list)
        json_add_missing(a, list, source);
}

struct limits_order { /* of amounts of one name: 'low' is at most 'high' */
    const char *low, *high, *low_word, *high_word;
};

static void check_order(struct arena *a, const struct place *item, const struct limits_order *row, struct problems *ps)
{
    struct place at = place_member(item, row->low), other = place_member(item, row->high);
    struct limits_check c = { .arena = a };
    struct resources less, more;

    resources_from_json(a, at.node, &less);
    resources_from_json(a, other.node, &more);
    VEC_FOREACH(l, &less.list) {
        const struct quantity *h = resources_get(&more, l->name);

        if (h && quantity_cmp(l->q, *h) > 0)
            problem_error(ps, &at, "%.*s: %s value %s is greater than %s value %s", STR_ARG(l->name), row->low_word,
                          limits_text_of(&c, l->q), row->high_word, limits_text_of(&c, *h));
    }
}

static void check_ratios(struct arena *a, const struct place *item, struct problems *ps)
{
    struct place at = place_member(item, "maxLimitRequestRatio");
    struct resources ratios, max, min;
    struct limits_check c = { .arena = a };

    resources_from_json(a, at.node, &ratios);
    resources_from_json(a, json_get(item->node, "max"), &max);
    resources_from_json(a, json_get(item->node, "min"), &min);
    VEC_FOREACH(r, &ratios.list) {
        const struct quantity *most = resources_get(&max, r->name), *least = resources_get(&min, r->name);

        if (quantity_cmp(r->q, quantity_of_i64(1, QUANTITY_DECIMAL_SI)) < 0)
            problem_error(ps, &at, "%.*s: ratio %s is less than 1", STR_ARG(r->name), limits_text_of(&c, r->q));
        if (most && least && least->nano > 0 && (double)r->q.nano / 1e9 > (double)most->nano / (double)least->nano)
            problem_error(ps, &at, "%.*s: ratio %s is greater than max/min = %f", STR_ARG(r->name),
                          limits_text_of(&c, r->q), (double)most->nano / (double)least->nano);
    }
}

static void check_limit(struct arena *a, const struct place *item, struct problems *ps)
{
    static const char *const defaults[] = { "default", "defaultRequest" };
    static const struct limits_order rows[] = { { "min", "max", "min", "max" },
                                                { "min", "defaultRequest", "min", "default request" },
                                                { "defaultRequest", "max", "default request", "max" },
                                                { "defaultRequest", "default", "default request", "default limit" },
                                                { "min", "default", "min", "default" },
                                                { "default", "max", "default", "max" } };
    struct str type = json_member_text(item->node, "type");

    for (size_t i = 0; str_is(type, "Pod") && i < ARRAY_LEN(defaults); i++) {
        struct place at = place_member(item, defaults[i]);

        if (json_count(at.node))
            problem_of(ps, PROBLEM_FORBIDDEN, &at, "may not be specified when `type` is 'Pod'");
    }
    if (str_is(type, "PersistentVolumeClaim") && !json_find(item->node, "min", "storage", NULL) &&
        !json_find(item->node, "max", "storage", NULL))
        problem_of(ps, PROBLEM_REQUIRED, item,
                   "either minimum or maximum storage value is required, but neither was "
                   "provided");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_order(a, item, &rows[i], ps);
    check_ratios(a, item, ps);
}

void limit_range_admit(struct arena *a, struct json *range, struct problems *ps)
{
    struct place root = { .node = range }, spec = place_member(&root, "spec"), list = place_member(&spec, "limits");
    struct map seen;
    size_t i = 0;

    map_init(&seen, map_seed_default());
    JSON_FOREACH(j, list.node) {
        struct place item = place_item(&list, j, i++), type = place_member(&item, "type");

        if (str_is(json_text(type.node, STR_NULL), "Container")) {
            borrow(a, j, "default", "max");
            borrow(a, j, "defaultRequest", "default");
            borrow(a, j, "defaultRequest", "min");
        }
        if (!map_add(&seen, a, json_text(type.node, STR_NULL)))
            problem_error(ps, &type, "Duplicate value: \"%.*s\"", STR_ARG(json_text(type.node, STR_NULL)));
        check_limit(a, &item, ps);
    }
    map_done(&seen);
}
