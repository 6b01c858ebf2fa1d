/* custom.c - kinds of users: from their CustomResourceDefinitions to what is served
 *
 *     definition written ──▶ names free? ──▶ a row of its own (type_define) ──▶ Established: discovery, URLs, storage
 *     definition deleted ──▶ its objects are deleted ──▶ none is left ──▶ its finalizer goes, and so do it and the row
 *
 * All versions of a kind are the same objects, stored in one of them; requests by another are views of it (view.c).
 * A definition of a kind that this program has by itself is taken, and changes nothing. What its status says and how it
 * ends is planned by controller/definition.c.
 */
#include "server/server_internal.h"

static const struct resource_type *definition_type(void)
{
    return type_by_kind(STR("apiextensions.k8s.io/v1"), STR("CustomResourceDefinition"));
}

static struct custom_kind *custom_find(const struct server *s, struct str name)
{
    VEC_FOREACH(k, &s->customs)
        if (str_eq((*k)->name, name))
            return *k;
    return NULL;
}

/* ---- who asks ---- */

void custom_target(struct server_request *rq)
{
    const struct server_target *t = &rq->target;

    VEC_FOREACH(k, &rq->server->customs) {
        struct custom_version *v = (*k)->type ? custom_version_find(*k, t->version) : NULL;

        if (!v || !v->is_served || !str_is(t->resource, v->type.plural) || !str_is(t->group, v->type.group))
            continue;
        rq->type = (*k)->type;
        rq->view = str_is(t->version, rq->type->version) && !v->custom.has_defaults ? NULL : &v->type;
        if (v->custom.warning)
            warn(rq, "%s", v->custom.warning);
        return;
    }
}

bool custom_is_ending(const struct server *s, const struct resource_type *type)
{
    VEC_FOREACH(k, &s->customs)
        if ((*k)->type == type)
            return (*k)->is_ending;
    return false;
}

size_t types_served(const struct server *s, struct arena *a, const struct resource_type ***ret)
{
    size_t n = 0, max = n_resource_types;

    VEC_FOREACH(k, &s->customs)
        max += (*k)->n_versions;
    *ret = arena_array(a, const struct resource_type *, max);
    for (size_t i = 0; i < n_resource_types; i++)
        if (resource_types[i].use != TYPE_ELSEWHERE)
            (*ret)[n++] = &resource_types[i];
    VEC_FOREACH(k, &s->customs)
        for (size_t i = 0; (*k)->type && i < (*k)->n_versions; i++)
            if ((*k)->versions[i].is_served)
                (*ret)[n++] = &(*k)->versions[i].type;
    return n;
}

/* ---- serving ---- */

/* Objects that are there are stored in the version they were stored in; what is answered is made of it. */
static void custom_serve(struct server *s, struct custom_kind *k)
{
    struct custom_version *stored = custom_version_stored(k), *same;
    const struct resource_type *row = type_defined(str_of(stored->type.group), str_of(stored->type.plural));
    struct resource_type like = stored->type;

    if (row && row->use == TYPE_STORED && row->scope == like.scope && store_count(s->opt.store, row)) {
        same = custom_version_find(k, str_of(row->version));
        like = same ? same->type : stored->type;
        like.version = row->version;
    }
    k->type = type_define(&like);
    if (k->type && s->opt.on_type)
        s->opt.on_type(s->opt.ctx, k->type);
}

/* Clients must read it again. */
static void forget_what_was_told(struct server *s, const struct resource_type *type)
{
    s->n_definitions++;
    openapi_forget(s);
    if (type)
        watches_end(s, type);
}

static void custom_drop(struct server *s, struct custom_kind *k)
{
    const struct resource_type *type = k->type;

    forget_what_was_told(s, type);
    for (size_t i = 0; i < s->customs.n; i++)
        if (s->customs.v[i] == k)
            s->customs.v[i] = s->customs.v[--s->customs.n];
    if (type)
        type_retire(type);
    custom_kind_free(k);
}

/* 'taken': the name that it cannot have; NULL: it is served, if there is room. */
static void custom_tell(struct server *s, const struct object *o, struct custom_kind *k, const char *taken)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a, .now_ms = server_now_ms(s) };
    struct definition_observed seen = { .definition = o->root, .taken = taken };

    seen.version = str_of(custom_version_stored(k)->type.version);
    seen.has_no_room = !taken && !k->type && !definition_is_builtin(k);
    definition_plan(&seen, &plan);
    (void)control_apply(s, &plan); /* it has changed since: then it is looked at again */
}

static void custom_take(struct server *s, const struct object *o)
{
    struct custom_kind *k = custom_kind_new(o->root), *before = custom_find(s, k->name);
    const char *taken;

    if (before && before->generation == k->generation) { /* a change of its status, or of labels */
        before->is_ending = k->is_ending;
        custom_kind_free(k);
        return;
    }
    taken = definition_taken_name(k, s->customs.v, s->customs.n);
    if (before)
        forget_what_was_told(s, before->type);
    if (!taken && !definition_is_builtin(k))
        custom_serve(s, k);
    for (size_t i = 0; before && i < s->customs.n; i++)
        if (s->customs.v[i] == before)
            s->customs.v[i] = k;
    if (!before)
        *vec_push(&s->customs_arena, &s->customs) = k;
    custom_kind_free(before);
    forget_what_was_told(s, k->type);
    custom_tell(s, o, k, taken);
}

/* ---- the end ---- */

/* True: it deletes, and what comes of it may be looked at. */
static bool custom_end_step(struct server *s, const struct custom_kind *k)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    const struct object *o = store_get(s->opt.store, definition_type(), STR_NULL, k->name);
    struct observed_objects objects = { 0 };

    if (!o)
        return false;
    if (k->type)
        objects = control_observe_kind(s, &a, k->type, STR_NULL);
    definition_end_plan(o->root, &objects, &plan);
    (void)control_apply(s, &plan); /* else again when something changes */
    return plan.ops.n && plan.ops.v[0].kind == OP_DELETE;
}

/* ---- turns ---- */

/* Rows that a store knows only from its objects have no definition: no request names them. */
static void retire_others(struct server *s)
{
    for (size_t i = n_resource_types; i < n_type_rows; i++) {
        const struct resource_type *t = type_at(i);
        bool is_served = false;

        VEC_FOREACH(k, &s->customs)
            is_served |= t && (*k)->type == t;
        if (t && !is_served && store_count(s->opt.store, t) == 0)
            type_retire(t);
    }
}

void customs_begin(struct server *s)
{
    autoarena a = { 0 };
    autoheld all = { .arena = &a };
    struct err e;

    (void)watch_open(s->opt.store, definition_type(), STR_NULL, 0, &s->custom_watch, &e); /* of now: always */
    held_add(&all, s, definition_type(), STR_NULL);
    VEC_FOREACH(o, &all.objects)
        custom_take(s, *o);
    retire_others(s);
}

int64_t customs_turn(struct server *s)
{
    struct watch_event ev;
    struct custom_kind *k;
    struct err e;
    bool has_ending = false;

    while (watch_next(s->custom_watch, &ev, &e) > 0) {
        if (ev.kind == WATCH_ADDED || ev.kind == WATCH_MODIFIED) {
            autounref struct object *o = object_ref(ev.object);

            custom_take(s, o);
        } else if (ev.kind == WATCH_DELETED && (k = custom_find(s, ev.object->name))) {
            custom_drop(s, k);
        }
    }
    VEC_FOREACH(c, &s->customs)
        has_ending |= (*c)->is_ending;
    if (!has_ending || store_revision(s->opt.store) == s->customs_rev)
        return INT64_MAX;
    VEC_FOREACH(c, &s->customs)
        if ((*c)->is_ending && custom_end_step(s, *c)) /* its objects, then itself */
            (void)custom_end_step(s, *c);
    s->customs_rev = store_revision(s->opt.store);
    return INT64_MAX;
}

void customs_done(struct server *s)
{
    watch_close(s->custom_watch);
    VEC_FOREACH(k, &s->customs) {
        if ((*k)->type)
            type_retire((*k)->type);
        custom_kind_free(*k);
    }
    arena_done(&s->customs_arena);
}

/* ---- what is written ---- */

void admit_definition_write(struct server_request *rq, struct json *object, const struct object *old,
                            struct problems *ps)
{
    struct place root = { .node = object };
    struct json *finalizers;

    json_remove(object, "status"); /* clients send an empty one; it is the server's */
    definition_default(rq->arena, object);
    definition_check(&root, old ? old->root : NULL, ps);
    if (old || ps->n_errors)
        return;
    finalizers = json_need_array(rq->arena, json_get(object, "metadata"), "finalizers");
    if (finalizers)
        json_push(finalizers, json_str(rq->arena, STR(DEFINITION_FINALIZER)));
}

void admit_custom_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps)
{
    const struct json *schema = shown_as(rq)->custom->schema;
    struct place root = { .node = object };

    (void)old;
    structural_default(rq->arena, schema, object);
    structural_check(schema, &root, ps);
    meta_check(&root, NULL, rq->type->scope == SCOPE_NAMESPACED, ps);
}
