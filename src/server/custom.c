/* custom.c - kinds of users: from their CustomResourceDefinitions to what is served
 *
 *     definition written ──▶ names free? ──▶ a row of its own (type_define) ──▶ Established: discovery, URLs, storage
 *     definition deleted ──▶ its objects are deleted ──▶ none is left ──▶ its finalizer goes, and so do it and the row
 *
 * All versions of a kind are the same objects, stored in one of them; requests by another are views of it (view.c).
 * A definition of a kind that this program has by itself is taken, and changes nothing.
 */
#include "server/server_internal.h"

#include "crd/custom.h"

#define FINALIZER "customresourcecleanup.apiextensions.k8s.io"

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

/* ---- names ---- */

/* The program has such a kind by itself. */
static bool is_own(const struct resource_type *t)
{
    for (size_t i = 0; i < n_resource_types; i++)
        if (strcmp(resource_types[i].group, t->group) == 0 && strcmp(resource_types[i].plural, t->plural) == 0)
            return true;
    return false;
}

/* The name that somebody else of the group has already; NULL: none. */
static const char *taken_name(const struct server *s, const struct custom_kind *k)
{
    const struct resource_type *own = &k->versions[0].type;

    for (size_t i = 0; i < n_resource_types; i++)
        if (strcmp(resource_types[i].group, own->group) == 0 && strcmp(resource_types[i].kind, own->kind) == 0 &&
            strcmp(resource_types[i].plural, own->plural) != 0)
            return own->kind;
    VEC_FOREACH(other, &s->customs) {
        const struct resource_type *t = &(*other)->versions[0].type;

        if (*other == k || !(*other)->type || str_eq((*other)->name, k->name) || strcmp(t->group, own->group) != 0)
            continue;
        if (strcmp(t->kind, own->kind) == 0)
            return own->kind;
        if (t->singular && own->singular && strcmp(t->singular, own->singular) == 0)
            return own->singular;
    }
    return NULL;
}

/* ---- conditions ---- */

static void set_condition(struct server *s, struct arena *a, struct json *status, const char *type, bool is_true,
                          const char *reason, struct str message)
{
    struct json *list = json_need_array(a, status, "conditions"), *c = NULL;
    autobuf now = { 0 };

    JSON_FOREACH(other, list)
        if (str_is(json_member_text(other, "type"), type))
            c = other;
    if (!c)
        c = json_push(list, json_object(a));
    if (!str_is(json_member_text(c, "status"), is_true ? "True" : "False")) {
        clock_print(&now, server_now_ms(s));
        json_set(c, "lastTransitionTime", json_str(a, arena_str(a, buf_view(&now))));
    }
    json_set(c, "type", json_str(a, str_of(type)));
    json_set(c, "status", json_str(a, is_true ? STR("True") : STR("False")));
    json_set(c, "reason", json_str(a, str_of(reason)));
    json_set(c, "message", json_str(a, message));
}

static void add_stored_version(struct arena *a, struct json *status, const char *version)
{
    struct json *list = json_need_array(a, status, "storedVersions");

    JSON_FOREACH(v, list)
        if (str_is(json_text(v, STR_NULL), version))
            return;
    json_push(list, json_str(a, str_of(version)));
}

/* 'taken': the name that it cannot have; NULL: it is served. 'why': it is not, for another reason. */
static void tell_status(struct server *s, const struct object *o, struct custom_kind *k, const char *taken,
                        const char *why)
{
    autoarena a = { 0 };
    struct json *body = json_copy(&a, o->root), *status = json_need_object(&a, body, "status");
    struct err e;

    set_condition(s, &a, status, "NamesAccepted", !taken, taken ? "NameConflict" : "NoConflicts",
                  taken ? arena_fmt(&a, "\"%s\" is already in use", taken) : STR("no conflicts found"));
    set_condition(s, &a, status, "Established", !taken && !why,
                  taken ? "NotAccepted"
                  : why ? "NoRoom"
                        : "InitialNamesAccepted",
                  taken ? STR("not all names are accepted")
                  : why ? str_of(why)
                        : STR("the initial names have been accepted"));
    if (!taken)
        json_set(status, "acceptedNames", json_copy(&a, json_find(o->root, "spec", "names", NULL)));
    add_stored_version(&a, status, custom_version_stored(k)->type.version);
    (void)store_update(s->opt.store, body, STORE_STATUS, NULL,
                       &e); /* it has changed since: then it is looked at again */
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

/* What clients have read of it is no longer so. */
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

static void custom_take(struct server *s, const struct object *o)
{
    struct custom_kind *k = custom_kind_new(o->root), *before = custom_find(s, k->name);
    const char *taken;

    if (before && before->generation == k->generation) { /* a change of its status, or of labels */
        before->is_ending = k->is_ending;
        custom_kind_free(k);
        return;
    }
    taken = taken_name(s, k);
    if (before)
        forget_what_was_told(s, before->type);
    if (!taken && !is_own(&k->versions[0].type))
        custom_serve(s, k);
    for (size_t i = 0; before && i < s->customs.n; i++)
        if (s->customs.v[i] == before)
            s->customs.v[i] = k;
    if (!before)
        *vec_push(&s->customs_arena, &s->customs) = k;
    custom_kind_free(before);
    forget_what_was_told(s, k->type);
    tell_status(s, o, k, taken,
                !taken && !k->type && !is_own(&k->versions[0].type) ? "there is no room for more kinds" : NULL);
}

/* ---- the end ---- */

/* How many are left. */
static size_t delete_objects(struct server *s, const struct resource_type *type)
{
    autoarena a = { 0 };
    autoheld all = { .arena = &a };
    struct store_delete_options opt = { .grace_s = -1, .propagation = PROPAGATE_BACKGROUND };

    held_add(&all, s, type, STR_NULL);
    VEC_FOREACH(o, &all.objects)
        if (!json_find((*o)->root, "metadata", "deletionTimestamp", NULL))
            (void)store_delete(s->opt.store, type, (*o)->namespace, (*o)->name, &opt, NULL, NULL);
    return store_count(s->opt.store, type);
}

static void custom_let_go(struct server *s, const struct object *o)
{
    autoarena a = { 0 };
    struct json *body = json_copy(&a, o->root), *list = json_find(body, "metadata", "finalizers", NULL);

    for (struct json *f = json_first(list), *next; f; f = next) {
        next = f->next;
        if (str_is(json_text(f, STR_NULL), FINALIZER))
            json_unlink(list, f);
    }
    (void)store_update(s->opt.store, body, STORE_MAIN, NULL, NULL); /* else again when something changes */
}

static bool has_finalizer(const struct object *o)
{
    JSON_FOREACH(f, json_find(o->root, "metadata", "finalizers", NULL))
        if (str_is(json_text(f, STR_NULL), FINALIZER))
            return true;
    return false;
}

static void look_at_ending(struct server *s)
{
    VEC_FOREACH(k, &s->customs) {
        const struct object *o = (*k)->is_ending ? store_get(s->opt.store, definition_type(), STR_NULL, (*k)->name)
                                                 : NULL;
        autounref struct object *kept = o && has_finalizer(o) ? object_ref(o) : NULL;

        if (kept && (!(*k)->type || delete_objects(s, (*k)->type) == 0))
            custom_let_go(s, kept);
    }
}

/* ---- turns ---- */

/* Rows that a store knows from its objects have no definition any more: nobody asks for them. */
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

void customs_turn(struct server *s)
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
        return;
    look_at_ending(s);
    s->customs_rev = store_revision(s->opt.store);
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
        json_push(finalizers, json_str(rq->arena, STR(FINALIZER)));
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
