/* resources.c - resource lists and the sums over a pod's containers */
#include "api/resources.h"

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
static struct resource *entry(struct arena *a, struct resources *r, struct str name, bool *ret_found)
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

    entry(a, r, name, &found)->q = q;
}

void resources_add(struct arena *a, struct resources *r, struct str name, struct quantity q)
{
    bool found;
    struct resource *e = entry(a, r, name, &found);

    e->q = found ? quantity_add(e->q, q) : q;
}

void resources_add_all(struct arena *a, struct resources *r, const struct resources *more)
{
    VEC_FOREACH(m, &more->list)
        resources_add(a, r, m->name, m->q);
}

void resources_add_times(struct arena *a, struct resources *r, const struct resources *more, int64_t n)
{
    if (n > 0)
        VEC_FOREACH(m, &more->list)
            resources_add(a, r, m->name, quantity_mul(m->q, n));
}

void resources_max(struct arena *a, struct resources *r, const struct resources *other)
{
    VEC_FOREACH(o, &other->list) {
        bool found;
        struct resource *e = entry(a, r, o->name, &found);

        if (!found || quantity_cmp(e->q, o->q) < 0)
            e->q = o->q;
    }
}

static int by_name(const void *x, const void *y)
{
    const struct resource *a = x, *b = y;

    return str_cmp(a->name, b->name);
}

static bool quantity_of_json(const struct json *j, struct quantity *ret)
{
    if (!json_is(j, JSON_STRING) && !json_is(j, JSON_NUMBER))
        return false;
    return quantity_parse((struct str){ j->text, j->n }, ret, NULL) == 0;
}

void resources_from_json(struct arena *a, const struct json *j, struct resources *ret)
{
    size_t n = 0;

    *ret = (struct resources){ 0 };
    if (!json_is(j, JSON_OBJECT))
        return;
    JSON_FOREACH(m, j) {
        struct quantity q;

        if (quantity_of_json(m, &q))
            *vec_push(a, &ret->list) = (struct resource){ json_key(m), q };
    }
    if (ret->list.n < 2)
        return;
    qsort(ret->list.v, ret->list.n, sizeof(ret->list.v[0]), by_name);
    for (size_t i = 0; i < ret->list.n; i++) /* a name that stood twice: one of them */
        if (i + 1 == ret->list.n || !str_eq(ret->list.v[i].name, ret->list.v[i + 1].name))
            ret->list.v[n++] = ret->list.v[i];
    ret->list.n = n;
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

/* ---- pods ---- */

enum amount { REQUESTS, LIMITS };

static void container_amount(struct arena *a, const struct json *holder, enum amount what, struct resources *ret)
{
    const struct json *res = json_get(holder, "resources");
    struct resources limits;

    resources_from_json(a, json_get(res, "limits"), &limits);
    if (what == LIMITS) {
        *ret = limits;
        return;
    }
    resources_from_json(a, json_get(res, "requests"), ret);
    VEC_FOREACH(l, &limits.list)
        if (!resources_get(ret, l->name))
            resources_set(a, ret, l->name, l->q);
}

static bool is_sidecar(const struct json *init_container)
{
    return str_is(json_member_text(init_container, "restartPolicy"), "Always");
}

/* Pod-level amounts (spec.resources) replace the sums, but only for what may be set there. */
static bool is_pod_level(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_starts(name, STR("hugepages-"));
}

static void pod_amount(struct arena *a, const struct json *spec, enum amount what, struct resources *ret)
{
    struct resources init = { 0 }, sidecars = { 0 }, one;
    const struct json *overhead = json_get(spec, "overhead");

    *ret = (struct resources){ 0 };
    JSON_FOREACH(c, json_get(spec, "containers")) {
        container_amount(a, c, what, &one);
        resources_add_all(a, ret, &one);
    }
    JSON_FOREACH(c, json_get(spec, "initContainers")) { /* in order: a sidecar runs beside all that come after it */
        container_amount(a, c, what, &one);
        if (is_sidecar(c)) {
            resources_add_all(a, &sidecars, &one);
            one = (struct resources){ 0 };
        }
        resources_add_all(a, &one, &sidecars);
        resources_max(a, &init, &one);
    }
    resources_add_all(a, ret, &sidecars);
    resources_max(a, ret, &init);

    container_amount(a, spec, what, &one);
    VEC_FOREACH(p, &one.list)
        if (is_pod_level(p->name))
            resources_set(a, ret, p->name, p->q);

    resources_from_json(a, overhead, &one);
    VEC_FOREACH(o, &one.list)
        if (what == REQUESTS || resources_get(ret, o->name)) /* overhead does not make a limit where there was none */
            resources_add(a, ret, o->name, o->q);
}

void pod_requests(struct arena *a, const struct json *pod_spec, struct resources *ret)
{
    pod_amount(a, pod_spec, REQUESTS, ret);
}

void pod_limits(struct arena *a, const struct json *pod_spec, struct resources *ret)
{
    pod_amount(a, pod_spec, LIMITS, ret);
}

static bool is_core(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_is(name, "ephemeral-storage");
}

void pod_quota_usage(struct arena *a, const struct json *pod_spec, struct resources *ret)
{
    struct resources requests, limits;

    pod_requests(a, pod_spec, &requests);
    pod_limits(a, pod_spec, &limits);
    *ret = (struct resources){ 0 };
    resources_set(a, ret, STR("pods"), quantity_of_i64(1, QUANTITY_DECIMAL_SI));
    resources_set(a, ret, STR("count/pods"), quantity_of_i64(1, QUANTITY_DECIMAL_SI));
    VEC_FOREACH(r, &requests.list) {
        resources_set(a, ret, r->name, r->q);
        resources_set(a, ret, arena_cat(a, STR("requests."), r->name), r->q);
    }
    VEC_FOREACH(l, &limits.list)
        if (is_core(l->name)) /* a quota knows no limits of extended resources: they equal the requests */
            resources_set(a, ret, arena_cat(a, STR("limits."), l->name), l->q);
}
