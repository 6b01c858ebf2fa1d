/* users_sync.c - the bindings of users, in the store */
#include "auth/users.h"

#include "api/meta.h"
#include "store/store.h"

struct sync {
    struct store *store;
    struct arena arena;
    struct json *wanted;
    VEC(const struct object *) extra; /* referenced */
    struct err first;
    bool has_failed;
};

static void sync_note(struct sync *s, int result, const struct err *e)
{
    if (result < 0 && e->code != ERR_NOT_FOUND && !s->has_failed) {
        s->first = *e;
        s->has_failed = true;
    }
}

static const struct resource_type *sync_type_of(const struct json *o)
{
    return type_by_kind(object_api_version(o), object_kind(o));
}

static bool sync_is_wanted(const struct sync *s, const struct object *o)
{
    JSON_FOREACH(w, s->wanted)
        if (sync_type_of(w) == o->type && str_eq(object_name(w), o->name) && str_eq(object_namespace(w), o->namespace))
            return true;
    return false;
}

static void sync_look(void *ctx, const struct object *o)
{
    struct sync *s = ctx;

    if (object_label(o->root, USER_LABEL).n && !sync_is_wanted(s, o))
        *vec_push(&s->arena, &s->extra) = object_ref(o);
}

static void remove_extra(struct sync *s)
{
    static const char *const kinds[] = { "RoleBinding", "ClusterRoleBinding" };
    struct err e;

    for (size_t i = 0; i < 2; i++)
        store_list(s->store, type_by_kind(STR("rbac.authorization.k8s.io/v1"), str_of(kinds[i])), STR_NULL, sync_look,
                   s);
    VEC_FOREACH(o, &s->extra) {
        sync_note(s,
                  store_delete(s->store, &(struct object_key){ (*o)->type, (*o)->namespace, (*o)->name },
                               &(struct store_delete_options){ 0 }, NULL, &e),
                  &e);
        object_unref(*o);
    }
}

static void sync_need_namespace(struct sync *s, struct str name)
{
    const struct resource_type *type = type_by_kind(STR("v1"), STR("Namespace"));
    struct err e;

    if (name.n && !store_get(s->store, type, STR_NULL, name))
        sync_note(s, store_create(s->store, object_new(&s->arena, "v1", "Namespace", STR_NULL, name), NULL, &e), &e);
}

static bool says_the_same(const struct json *a, const struct json *b)
{
    return json_equal(json_get(a, "roleRef"), json_get(b, "roleRef")) &&
           json_equal(json_get(a, "subjects"), json_get(b, "subjects")) &&
           str_eq(object_label(a, USER_LABEL), object_label(b, USER_LABEL));
}

/* roleRef cannot be changed, so another one is another object. */
static void write_one(struct sync *s, const struct json *want)
{
    const struct object *have = store_get(s->store, sync_type_of(want), object_namespace(want), object_name(want));
    struct err e;

    if (have && says_the_same(have->root, want))
        return;
    if (have)
        sync_note(s,
                  store_delete(s->store, &(struct object_key){ have->type, object_namespace(want), object_name(want) },
                               &(struct store_delete_options){ 0 }, NULL, &e),
                  &e);
    sync_need_namespace(s, object_namespace(want));
    sync_note(s, store_create(s->store, want, NULL, &e), &e);
}

int users_sync(const struct users *u, struct store *store, struct err *e)
{
    struct sync s = { .store = store };

    s.wanted = json_array(&s.arena);
    for (size_t i = 0; i < users_count(u); i++)
        user_bindings(&s.arena, users_at(u, i), s.wanted);
    remove_extra(&s);
    JSON_FOREACH(want, s.wanted)
        write_one(&s, want);
    arena_done(&s.arena);
    return s.has_failed ? err_set(e, s.first.code, "%s", s.first.text) : 0;
}
