/* resources.c - resource lists and the sums over a pod's containers */
#include "api/pod/resources.h"

#include "api/admit/admit_internal.h"
#include "base/util.h"

/* Position of 'name', or where it would go. */
static size_t position(const struct resources *r, struct str name, bool *ret_found)
{
    size_t lo = 0, hi = r->list.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = str_cmp(r->list.v[mid].name, name);

        if (c == 0) {
            *ret_found = true;
            return mid;
        }
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret_found = false;
    return lo;
}

/* The entry of that name; made with zero if it is not there. */
static struct resource *resources_entry(struct arena *a, struct resources *r, struct str name, bool *ret_found)
{
    size_t at = position(r, name, ret_found);

    if (!*ret_found) {
        vec_push(a, &r->list);
        memmove(&r->list.v[at + 1], &r->list.v[at], (r->list.n - 1 - at) * sizeof(r->list.v[0]));
        r->list.v[at] = (struct resource){ .name = name };
    }
    return &r->list.v[at];
}

const struct quantity *resources_get(const struct resources *r, struct str name)
{
    bool found;
    size_t at = position(r, name, &found);

    return found ? &r->list.v[at].q : NULL;
}

void resources_set(struct arena *a, struct resources *r, struct str name, struct quantity q)
{
    bool found;

    resources_entry(a, r, name, &found)->q = q;
}

void resources_add(struct arena *a, struct resources *r, struct str name, struct quantity q)
{
    bool found;
    struct resource *e = resources_entry(a, r, name, &found);

    e->q = found ? quantity_add(e->q, q) : q;
}

/* Two sorted lists become one: for each name 'both' says what becomes of the two amounts. */
static void resources_merge(struct arena *a, struct resources *r, const struct resources *more,
                            struct quantity (*both)(struct quantity, struct quantity))
{
    struct resources old = *r;
    size_t i = 0;

    if (!more->list.n)
        return;
    *r = (struct resources){ 0 };
    VEC_FOREACH(m, &more->list) {
        for (; i < old.list.n && str_cmp(old.list.v[i].name, m->name) < 0; i++)
            *vec_push(a, &r->list) = old.list.v[i];
        *vec_push(a, &r->list) = *m;
        if (i < old.list.n && str_eq(old.list.v[i].name, m->name))
            r->list.v[r->list.n - 1].q = both(old.list.v[i++].q, m->q);
    }
    for (; i < old.list.n; i++)
        *vec_push(a, &r->list) = old.list.v[i];
}

void resources_add_all(struct arena *a, struct resources *r, const struct resources *more)
{
    resources_merge(a, r, more, quantity_add);
}

void resources_add_times(struct arena *a, struct resources *r, const struct resources *more, int64_t n)
{
    struct resources times = { 0 };

    if (n <= 0)
        return;
    VEC_FOREACH(m, &more->list)
        *vec_push(a, &times.list) = (struct resource){ m->name, quantity_mul(m->q, n) };
    resources_merge(a, r, &times, quantity_add);
}

static struct quantity larger(struct quantity x, struct quantity y)
{
    return quantity_cmp(x, y) < 0 ? y : x;
}

void resources_max(struct arena *a, struct resources *r, const struct resources *other)
{
    resources_merge(a, r, other, larger);
}

static int resources_by_name(const void *x, const void *y)
{
    const struct resource *a = x, *b = y;

    return str_cmp(a->name, b->name);
}

static void resources_sort(struct resources *r)
{
    size_t n = 0;

    if (r->list.n < 2)
        return;
    qsort(r->list.v, r->list.n, sizeof(r->list.v[0]), resources_by_name);
    for (size_t i = 0; i < r->list.n; i++) /* a name that stood twice: one of them */
        if (i + 1 == r->list.n || !str_eq(r->list.v[i].name, r->list.v[i + 1].name))
            r->list.v[n++] = r->list.v[i];
    r->list.n = n;
}

void resources_from_json(struct arena *a, const struct json *j, struct resources *ret)
{
    *ret = (struct resources){ 0 };
    if (!json_is(j, JSON_OBJECT))
        return;
    JSON_FOREACH(m, j) {
        struct quantity q;

        if (quantity_from_json(m, &q))
            *vec_push(a, &ret->list) = (struct resource){ json_key(m), q };
    }
    resources_sort(ret);
}

struct json *resources_to_json(struct arena *a, const struct resources *r)
{
    struct json *j = json_object(a);

    VEC_FOREACH(e, &r->list) {
        autobuf text = { 0 };

        quantity_print(&text, e->q);
        json_add(j, e->name, json_str(a, arena_str(a, buf_view(&text))));
    }
    return j;
}

bool resources_same(const struct json *a, const struct json *b)
{
    return (json_count(a) == 0 && json_count(b) == 0) || json_equal(a, b);
}

/* ---- pods ---- */

enum resources_amount { REQUESTS, LIMITS };

static struct quantity first(struct quantity x, struct quantity y)
{
    (void)y;
    return x;
}

static void container_amount(struct arena *a, const struct json *holder, enum resources_amount what,
                             struct resources *ret)
{
    const struct json *res = json_get(holder, "resources");
    struct resources limits;

    resources_from_json(a, json_get(res, "limits"), &limits);
    if (what == LIMITS) {
        *ret = limits;
        return;
    }
    resources_from_json(a, json_get(res, "requests"), ret);
    resources_merge(a, ret, &limits, first);
}

/* Pod-level amounts (spec.resources) replace the sums, but only for what may be set there. */
static bool is_pod_level(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_starts(name, STR("hugepages-"));
}

/* One resource of a pod, over all its containers. */
struct pod_sum {
    struct str name;
    struct quantity main, sidecars, init; /* init: the most that is needed at any time before the main ones start */
};

struct pod_sums { /* found by name: a pod may have thousands of containers, and each may ask for something else */
    struct arena *arena;
    struct name_map by_name;
    VEC(struct pod_sum) list;
};

static struct pod_sum *pod_sum_of(struct pod_sums *s, struct str name)
{
    size_t at;

    if (name_map_add(s->arena, &s->by_name, name, s->list.n, &at)) {
        at = s->list.n;
        vec_push(s->arena, &s->list)->name = name;
    }
    return &s->list.v[at];
}

/* In order: a sidecar runs beside all that come after it. */
static void sum_init_container(struct pod_sums *s, const struct resources *one, bool is_beside)
{
    VEC_FOREACH(r, &one->list) {
        struct pod_sum *sum = pod_sum_of(s, r->name);
        struct quantity now = quantity_add(sum->sidecars, r->q);

        sum->init = larger(sum->init, now);
        if (is_beside)
            sum->sidecars = now;
    }
}

static void sum_containers(struct pod_sums *s, const struct json *spec, enum resources_amount what)
{
    struct resources one;

    JSON_FOREACH(c, json_get(spec, "containers")) {
        container_amount(s->arena, c, what, &one);
        VEC_FOREACH(r, &one.list) {
            struct pod_sum *sum = pod_sum_of(s, r->name);

            sum->main = quantity_add(sum->main, r->q);
        }
    }
    JSON_FOREACH(c, json_get(spec, "initContainers")) {
        container_amount(s->arena, c, what, &one);
        sum_init_container(s, &one, str_is(json_member_text(c, "restartPolicy"), "Always"));
    }
}

static void pod_amount(struct arena *a, const struct json *spec, enum resources_amount what, struct resources *ret)
{
    struct pod_sums sums = { .arena = a };
    struct resources one, extra = { 0 };

    sum_containers(&sums, spec, what);
    *ret = (struct resources){ 0 };
    VEC_FOREACH(s, &sums.list)
        *vec_push(a, &ret->list) = (struct resource){ s->name, larger(quantity_add(s->main, s->sidecars), s->init) };
    resources_sort(ret);

    container_amount(a, spec, what, &one);
    VEC_FOREACH(p, &one.list)
        if (is_pod_level(p->name))
            resources_set(a, ret, p->name, p->q);

    resources_from_json(a, json_get(spec, "overhead"), &one);
    VEC_FOREACH(o, &one.list)
        if (what == REQUESTS || resources_get(ret, o->name)) /* overhead does not make a limit where there was none */
            *vec_push(a, &extra.list) = *o;
    resources_add_all(a, ret, &extra);
}

void pod_requests(struct arena *a, const struct json *pod_spec, struct resources *ret)
{
    pod_amount(a, pod_spec, REQUESTS, ret);
}

void pod_limits(struct arena *a, const struct json *pod_spec, struct resources *ret)
{
    pod_amount(a, pod_spec, LIMITS, ret);
}

/* In any order; resources_sort() follows. */
static void resources_use(struct arena *a, struct resources *r, struct str name, struct quantity q)
{
    *vec_push(a, &r->list) = (struct resource){ name, q };
}

void pod_quota_usage(struct arena *a, const struct json *pod_spec, struct resources *ret)
{
    struct resources requests, limits;

    pod_requests(a, pod_spec, &requests);
    pod_limits(a, pod_spec, &limits);
    *ret = (struct resources){ 0 };
    VEC_FOREACH(r, &requests.list) {
        if (!str_is(r->name, "pods") && !str_is(r->name, "count/pods"))
            resources_use(a, ret, r->name, r->q);
        resources_use(a, ret, arena_cat(a, STR("requests."), r->name), r->q);
    }
    resources_use(a, ret, STR("pods"), quantity_of_i64(1, QUANTITY_DECIMAL_SI));
    resources_use(a, ret, STR("count/pods"), quantity_of_i64(1, QUANTITY_DECIMAL_SI));
    VEC_FOREACH(l, &limits.list)
        /* a quota knows no limits of extended resources: they equal the requests */
        if (str_is(l->name, "cpu") || str_is(l->name, "memory") || str_is(l->name, "ephemeral-storage"))
            resources_use(a, ret, arena_cat(a, STR("limits."), l->name), l->q);
    resources_sort(ret);
}
