/* endpoints.c - keeps Endpoints and EndpointSlices as Services and pods are; what they are to be is controller/endpoints.c's
 *
 * Of each Service with a selector it is known in memory which pods and slices are its own, so that a change of a pod costs
 * a look at the selectors of its namespace, and a write is worked out from those pods alone. A change is written at once;
 * while more of them come, a Service is looked at every tenth of a second, and the larger it is the less often: a thousand
 * pods that become ready one by one are not a thousand times a thousand addresses on the disk.
 */
#include "server/server_internal.h"

#include "base/log.h"

enum { PAUSE_MS = 100, RETRY_MS = 1000 };

enum { SERVICES, PODS, ENDPOINTS, SLICES, WATCHED };

struct name {        /* of a pod, of a slice */
    struct str text; /* bytes follow */
};

struct endpoints_service {
    struct str namespace, name, key; /* "namespace/name"; bytes in the arena */
    struct arena arena;
    const struct json *labels; /* that it selects by, as JSON */
    struct selector *selector;
    struct str hint;         /* text that every object it selects has in it */
    struct map pods, slices; /* struct name */
    int64_t due_ms, done_ms; /* mono; due 0: nothing is to be done */
    uint64_t settled_rev;    /* of the store: what changed up to here was seen */
};

struct endpoints {
    struct watch *watches[WATCHED];
    struct map services; /* by key */
    uint64_t wrote_rev;  /* not durable yet; 0: nothing */
};

static const struct resource_type *endpoints_type_of(int what)
{
    static const struct {
        const char *api_version, *kind;
    } rows[] = { [SERVICES] = { "v1", "Service" },
                 [PODS] = { "v1", "Pod" },
                 [ENDPOINTS] = { "v1", "Endpoints" },
                 [SLICES] = { "discovery.k8s.io/v1", "EndpointSlice" } };

    return type_by_kind(str_of(rows[what].api_version), str_of(rows[what].kind));
}

/* ---- names ---- */

static void names_add(struct map *m, struct str text)
{
    struct name *n;

    if (map_get(m, text))
        return;
    n = xcalloc(1, sizeof(*n) + text.n);
    memcpy(n + 1, text.p, text.n);
    n->text = (struct str){ (const char *)(n + 1), text.n };
    map_put(m, n->text, n);
}

static void names_done(struct map *m)
{
    MAP_FOREACH(struct name *, n, m)
        free(n);
    map_done(m);
}

/* ---- Services ---- */

static struct endpoints_service *find_service(const struct endpoints *e, struct str namespace, struct str name)
{
    autobuf key = { 0 };

    buf_fmt(&key, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
    return map_get(&e->services, buf_view(&key));
}

static void forget_service(struct endpoints *e, struct endpoints_service *v)
{
    if (!v)
        return;
    map_remove(&e->services, v->key);
    names_done(&v->pods);
    names_done(&v->slices);
    arena_done(&v->arena);
    free(v);
}

static void endpoints_look_again(const struct server *s, struct endpoints_service *v)
{
    if (!v->due_ms)
        v->due_ms = MAX_OF(clock_mono_ms(s->opt.clock), v->done_ms + PAUSE_MS + (int64_t)map_count(&v->pods));
}

static void endpoints_look_at_pod(const struct server *s, struct endpoints_service *v, const struct object *pod,
                                  bool is_gone)
{
    bool is_in = !is_gone && selector_matches(v->selector, json_find(pod->root, "metadata", "labels", NULL)),
         was_in = map_get(&v->pods, pod->name);

    if (is_in)
        names_add(&v->pods, pod->name);
    else if (was_in)
        free(map_remove(&v->pods, pod->name));
    if (is_in || was_in)
        endpoints_look_again(s, v);
}

static bool endpoints_is_ours(const struct object *slice)
{
    return str_is(object_label(slice->root, "endpointslice.kubernetes.io/managed-by"), ENDPOINTS_MANAGER);
}

struct filling {
    const struct server *server;
    struct endpoints_service *service;
};

/* Most pods are of others: their text tells, without a tree. */
static void fill_pod(void *ctx, const struct object *pod)
{
    const struct filling *f = ctx;

    if (!pod->root && !str_has(pod->text, f->service->hint))
        return;
    store_warm(f->server->opt.store, pod);
    endpoints_look_at_pod(f->server, f->service, pod, false);
}

static void fill_slice(void *ctx, const struct object *slice)
{
    const struct filling *f = ctx;

    if (!slice->root && !str_has(slice->text, f->service->name))
        return;
    store_warm(f->server->opt.store, slice);
    if (endpoints_is_ours(slice) && str_eq(object_label(slice->root, ENDPOINTS_SERVICE_LABEL), f->service->name))
        names_add(&f->service->slices, slice->name);
}

/* NULL: it has none, or says by itself where it is. */
static const struct json *selector_json(struct arena *a, const struct object *service)
{
    const struct json *spec = json_get(service->root, "spec"), *labels = json_get(spec, "selector");
    struct json *form = json_object(a);

    if (!json_count(labels) || str_is(json_member_text(spec, "type"), "ExternalName"))
        return NULL;
    json_set(form, "matchLabels", json_clone(a, labels));
    return form;
}

static void endpoints_add_service(struct server *s, const struct object *o)
{
    struct endpoints *e = s->endpoints;
    struct endpoints_service *v = xcalloc(1, sizeof(*v));
    struct filling f = { s, v };

    v->namespace = arena_str(&v->arena, o->namespace);
    v->name = arena_str(&v->arena, o->name);
    v->key = arena_fmt(&v->arena, "%.*s/%.*s", STR_ARG(o->namespace), STR_ARG(o->name));
    v->labels = selector_json(&v->arena, o);
    map_init(&v->pods, map_seed_default());
    map_init(&v->slices, map_seed_default());
    forget_service(e, map_get(&e->services, v->key));
    map_put(&e->services, v->key, v);
    if (!v->labels || selector_from_json(&v->arena, v->labels, &v->selector, NULL) < 0) {
        forget_service(e, v);
        return;
    }
    v->hint = json_text(json_first(json_get(v->labels, "matchLabels")), STR_NULL);
    store_walk(s->opt.store, endpoints_type_of(PODS), o->namespace, fill_pod, &f);
    store_walk(s->opt.store, endpoints_type_of(SLICES), o->namespace, fill_slice, &f);
    endpoints_look_again(s, v);
}

/* ---- planning ---- */

static const struct json *endpoints_find(const struct server *s, int what, struct str namespace, struct str name)
{
    const struct object *o = store_get(s->opt.store, endpoints_type_of(what), namespace, name);

    return o ? o->root : NULL;
}

/* Its Service may be deleted. */
static void endpoints_look_at_gone(struct server *s, struct str namespace, struct str name)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct endpoints_observed seen = { .endpoints = endpoints_find(s, ENDPOINTS, namespace, name) };

    if (endpoints_find(s, SERVICES, namespace, name))
        return;
    endpoints_plan(&seen, &plan);
    (void)control_apply(s, &plan); /* else at the next start */
}

/* All that there still is of these. */
static const struct json **endpoints_collect(const struct server *s, struct arena *a, int what,
                                             const struct endpoints_service *v, size_t *ret_n)
{
    const struct map *names = what == PODS ? &v->pods : &v->slices;
    const struct json **list = arena_array(a, const struct json *, map_count(names) + 1);

    *ret_n = 0;
    MAP_FOREACH(const struct name *, n, names) {
        const struct json *root = endpoints_find(s, what, v->namespace, n->text);

        if (root)
            list[(*ret_n)++] = root;
    }
    return list;
}

static int endpoints_apply(struct server *s, struct endpoints_service *v, const struct op *op)
{
    autounref struct object *o = NULL;
    struct err e;

    if (store_apply(s->opt.store, op, &o, &e) < 0) {
        log_warn("Failed to write the endpoints of a Service", LOG_STR("service", v->key), LOG_TEXT("error", e.text));
        return -1;
    }
    if (op->type == endpoints_type_of(SLICES) && op->kind == OP_CREATE)
        names_add(&v->slices, o->name);
    if (op->kind == OP_DELETE)
        free(map_remove(&v->slices, op->name));
    return 0;
}

static void endpoints_settle(struct server *s, struct endpoints_service *v)
{
    autoarena a = { 0 };
    struct endpoints_observed seen = { .namespace_is_ending = namespace_is_ending(s, v->namespace) };
    struct plan plan = { .arena = &a };

    v->due_ms = 0;
    v->done_ms = clock_mono_ms(s->opt.clock);
    seen.service = endpoints_find(s, SERVICES, v->namespace, v->name);
    if (!seen.service) /* its news are on their way */
        return;
    seen.pods = endpoints_collect(s, &a, PODS, v, &seen.n_pods);
    seen.slices = endpoints_collect(s, &a, SLICES, v, &seen.n_slices);
    seen.endpoints = endpoints_find(s, ENDPOINTS, v->namespace, v->name);
    endpoints_plan(&seen, &plan);
    control_own(&plan);
    VEC_FOREACH(op, &plan.ops)
        if (endpoints_apply(s, v, op) < 0)
            v->due_ms = v->done_ms + RETRY_MS;
    v->settled_rev = store_revision(s->opt.store);
    if (plan.ops.n)
        s->endpoints->wrote_rev = v->settled_rev;
}

/* ---- news ---- */

static bool has_same_selector(const struct endpoints_service *v, const struct object *o)
{
    const struct json *labels = json_find(o->root, "spec", "selector", NULL);

    return labels && json_equal(labels, json_get(v->labels, "matchLabels")) &&
           !str_is(json_member_text(json_get(o->root, "spec"), "type"), "ExternalName");
}

static void service_changed(struct server *s, const struct watch_event *ev)
{
    const struct object *o = ev->object;
    struct endpoints_service *v = find_service(s->endpoints, o->namespace, o->name);

    if (ev->kind == WATCH_DELETED) {
        forget_service(s->endpoints, v);
        endpoints_look_at_gone(s, o->namespace, o->name);
    } else if (!v || !has_same_selector(v, o)) {
        endpoints_add_service(s, o);
    } else {
        endpoints_look_again(s, v);
    }
}

static void pod_changed(struct server *s, const struct watch_event *ev)
{
    MAP_FOREACH(struct endpoints_service *, v, &s->endpoints->services)
        if (str_eq(v->namespace, ev->object->namespace))
            endpoints_look_at_pod(s, v, ev->object, ev->kind == WATCH_DELETED);
}

/* Another client has written them. */
static void endpoints_changed(struct server *s, const struct watch_event *ev)
{
    struct endpoints_service *v = find_service(s->endpoints, ev->object->namespace, ev->object->name);

    if (v && ev->rev > v->settled_rev)
        endpoints_look_again(s, v);
}

static void slice_changed(struct server *s, const struct watch_event *ev)
{
    struct str name = object_label(ev->object->root, ENDPOINTS_SERVICE_LABEL);
    struct endpoints_service *v = find_service(s->endpoints, ev->object->namespace, name);

    if (!v || ev->rev <= v->settled_rev)
        return;
    if (ev->kind == WATCH_DELETED)
        free(map_remove(&v->slices, ev->object->name));
    else if (endpoints_is_ours(ev->object))
        names_add(&v->slices, ev->object->name);
    endpoints_look_again(s, v);
}

static void (*const on_change[WATCHED])(struct server *s, const struct watch_event *ev) = {
    [SERVICES] = service_changed,
    [PODS] = pod_changed,
    [ENDPOINTS] = endpoints_changed,
    [SLICES] = slice_changed,
};

/* False: one has fallen behind. */
static bool take_news(struct server *s)
{
    struct watch_event ev;
    struct err e;
    int rc = 0;

    for (int i = 0; i < WATCHED; i++)
        while ((rc = watch_next(s->endpoints->watches[i], &ev, &e)) != 0) {
            if (rc < 0)
                return false;
            if (ev.kind == WATCH_BOOKMARK)
                continue;
            on_change[i](s, &ev);
            if (i != PODS && api_service_is(ev.object))
                api_service_keep(s);
        }
    return true;
}

/* ---- begin, turn, end ---- */

void endpoints_begin(struct server *s)
{
    autoarena a = { 0 };
    autoheld services = { .arena = &a }, all = { .arena = &a };
    struct err e;

    s->endpoints = xcalloc(1, sizeof(*s->endpoints));
    map_init(&s->endpoints->services, map_seed_default());
    api_service_keep(s);
    for (int i = 0; i < WATCHED; i++)
        (void)watch_open(s->opt.store, endpoints_type_of(i), STR_NULL, 0, &s->endpoints->watches[i],
                         &e); /* of now: always */
    held_add(&services, s, endpoints_type_of(SERVICES), STR_NULL);
    VEC_FOREACH(o, &services.objects)
        endpoints_add_service(s, *o);
    held_add(&all, s, endpoints_type_of(ENDPOINTS), STR_NULL);
    VEC_FOREACH(o, &all.objects) /* of Services that were deleted while this server was down */
        endpoints_look_at_gone(s, (*o)->namespace, (*o)->name);
}

void endpoints_done(struct server *s)
{
    if (!s->endpoints)
        return;
    for (int i = 0; i < WATCHED; i++)
        watch_close(s->endpoints->watches[i]);
    MAP_FOREACH(struct endpoints_service *, v, &s->endpoints->services)
        forget_service(s->endpoints, v);
    map_done(&s->endpoints->services);
    free(s->endpoints);
    s->endpoints = NULL;
}

/* What could not be made durable was undone: all is looked at again. */
static void look_at_undone(struct server *s)
{
    int outcome = s->endpoints->wrote_rev ? store_outcome(s->opt.store, s->endpoints->wrote_rev) : 0;

    if (outcome)
        s->endpoints->wrote_rev = 0;
    if (outcome < 0)
        MAP_FOREACH(struct endpoints_service *, v, &s->endpoints->services)
            endpoints_look_again(s, v);
}

int64_t endpoints_turn(struct server *s)
{
    int64_t now_ms = clock_mono_ms(s->opt.clock), due_ms = INT64_MAX;

    if (!take_news(s)) {
        endpoints_done(s);
        endpoints_begin(s);
    }
    look_at_undone(s);
    MAP_FOREACH(struct endpoints_service *, v, &s->endpoints->services) {
        if (v->due_ms && now_ms >= v->due_ms)
            endpoints_settle(s, v);
        if (v->due_ms)
            due_ms = MIN_OF(due_ms, MAX_OF(v->due_ms - now_ms, 0));
    }
    return due_ms;
}
