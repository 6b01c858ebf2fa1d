/* namespace.c - sees to what each namespace has and how it ends, and to old Events: as controller/namespace.c plans it */
#include "server/server_internal.h"

enum { END_STEPS = 3 }; /* of one turn: pods, all else, the namespace */
enum { EXPIRE_MS = 60000 };

static const struct resource_type *namespace_type(void)
{
    return type_by_kind(STR("v1"), STR("Namespace"));
}

static bool is_ending(const struct object *o)
{
    return json_find(o->root, "metadata", "deletionTimestamp", NULL);
}

bool namespace_is_ending(struct server *s, struct str name)
{
    const struct object *o = store_get(s->opt.store, namespace_type(), STR_NULL, name);

    return o && is_ending(o);
}

/* ---- what is always there ---- */

/* Objects of each namespace; they are restored after a client deletes or changes them. */
static const struct {
    const char *kind, *name;
} default_objects[] = { { "ServiceAccount", "default" }, { "ConfigMap", "kube-root-ca.crt" } };

static const struct object *default_object(const struct server *s, size_t i, struct str namespace)
{
    return store_get(s->opt.store, type_by_kind(STR("v1"), str_of(default_objects[i].kind)), namespace,
                     str_of(default_objects[i].name));
}

static void defaults_need(struct server *s, struct str namespace)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct namespace_defaults_observed seen = { .namespace = namespace, .ca = auth_tls(s->opt.auth)->client_ca };
    const struct object *config = default_object(s, 1, namespace);

    seen.has_account = default_object(s, 0, namespace);
    seen.ca_config = config ? config->root : NULL;
    namespace_defaults_plan(&seen, &plan);
    (void)control_apply(s, &plan);
}

struct namespace_names {
    struct arena arena;
    VEC(struct str) list;
};

static void namespace_take_name(void *ctx, const struct object *o)
{
    struct namespace_names *n = ctx;

    if (!is_ending(o))
        *vec_push(&n->arena, &n->list) = arena_str(&n->arena, o->name);
}

static void defaults_need_all(struct server *s)
{
    struct namespace_names names = { 0 };

    store_list(s->opt.store, namespace_type(), STR_NULL, namespace_take_name, &names);
    VEC_FOREACH(name, &names.list)
        defaults_need(s, *name);
    arena_done(&names.arena);
}

void server_keys_changed(struct server *s)
{
    defaults_need_all(s);
}

static void defaults_watch(struct server *s)
{
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(default_objects); i++) {
        watch_close(s->default_watches[i]);
        (void)watch_open(s->opt.store, type_by_kind(STR("v1"), str_of(default_objects[i].kind)), STR_NULL, 0,
                         &s->default_watches[i], &e); /* of now: always */
    }
}

static void defaults_restore(struct server *s, const struct object *lost)
{
    const struct object *namespace = store_get(s->opt.store, namespace_type(), STR_NULL, lost->namespace);

    if (namespace && !is_ending(namespace))
        defaults_need(s, lost->namespace);
}

static void defaults_turn(struct server *s)
{
    struct watch_event ev;
    struct err e;
    int rc = 0;

    for (size_t i = 0; i < ARRAY_LEN(default_objects) && rc >= 0; i++)
        while ((rc = watch_next(s->default_watches[i], &ev, &e)) > 0)
            if ((ev.kind == WATCH_DELETED || ev.kind == WATCH_MODIFIED) &&
                str_is(ev.object->name, default_objects[i].name))
                defaults_restore(s, ev.object);
    if (rc >= 0)
        return;
    defaults_watch(s); /* it fell behind and has missed changes */
    defaults_need_all(s);
}

static bool namespace_has(void *ctx, const struct resource_type *type, struct str name)
{
    const struct server *s = ctx;

    return store_get(s->opt.store, type, STR_NULL, name);
}

void namespaces_begin(struct server *s)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct err e;

    cluster_defaults_plan(namespace_has, s, &plan);
    (void)control_apply(s, &plan);
    defaults_need_all(s);
    (void)watch_open(s->opt.store, namespace_type(), STR_NULL, 0, &s->namespace_watch, &e); /* of now: always */
    defaults_watch(s);
    s->has_ending = true; /* those that a server before this one left */
}

void namespaces_done(struct server *s)
{
    watch_close(s->namespace_watch);
    for (size_t i = 0; i < ARRAY_LEN(default_objects); i++)
        watch_close(s->default_watches[i]);
}

/* ---- the end ---- */

static bool namespace_wants_pods(const void *pods, const struct resource_type *t)
{
    bool is_pods = !t->group[0] && strcmp(t->kind, "Pod") == 0;

    return is_pods == *(const bool *)pods;
}

/* Its pods, or all else. */
static struct observed_objects namespace_observe(const struct server *s, struct arena *a, struct str namespace,
                                                 bool pods)
{
    return control_observe(s, a, namespace, namespace_wants_pods, &pods);
}

/* True: it deletes, and what comes of it may be looked at. */
static bool namespace_end_step(struct server *s, const struct object *namespace)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a, .now_ms = server_now_ms(s) };
    struct namespace_end_observed seen = { .namespace = namespace->root };

    seen.pods = namespace_observe(s, &a, namespace->name, true);
    if (!seen.pods.n)
        seen.others = namespace_observe(s, &a, namespace->name, false);
    namespace_end_plan(&seen, &plan);
    (void)control_apply(s, &plan); /* else again when something changes */
    return plan.ops.n && plan.ops.v[0].kind == OP_DELETE;
}

static void namespaces_end(struct server *s)
{
    autoarena a = { 0 };
    autoheld all = { .arena = &a };

    held_add(&all, s, namespace_type(), STR_NULL);
    s->has_ending = false;
    VEC_FOREACH(o, &all.objects)
        if (is_ending(*o)) {
            s->has_ending = true;
            for (int i = 0; i < END_STEPS && namespace_end_step(s, *o); i++)
                ;
        }
}

int64_t namespaces_turn(struct server *s)
{
    struct watch_event ev;
    struct err e;
    uint64_t rev;

    while (watch_next(s->namespace_watch, &ev, &e) > 0) {
        if (ev.kind == WATCH_ADDED && !is_ending(ev.object))
            defaults_need(s, ev.object->name);
        s->has_ending |= ev.kind != WATCH_DELETED && is_ending(ev.object);
    }
    defaults_turn(s);
    rev = store_revision(s->opt.store);
    if (!s->has_ending || rev == s->namespaces_rev)
        return INT64_MAX;
    namespaces_end(s);
    s->namespaces_rev = store_revision(s->opt.store);
    return INT64_MAX;
}

/* ---- old Events ---- */

static void event_look_at(void *plan, const struct object *o)
{
    event_expire_plan(o->root, plan);
}

void events_expire(struct server *s)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a, .now_ms = server_now_ms(s) };

    store_list(s->opt.store, type_by_kind(STR("v1"), STR("Event")), STR_NULL, event_look_at, &plan);
    (void)control_apply(s, &plan);
}

int64_t events_turn(struct server *s)
{
    int64_t now_ms = clock_mono_ms(s->opt.clock);

    if (now_ms >= s->expired_ms + EXPIRE_MS) {
        s->expired_ms = now_ms;
        events_expire(s);
    }
    return EXPIRE_MS;
}
