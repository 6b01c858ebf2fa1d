/* rbac.c - the index: from a name or group to bindings, from there to rules
 *
 * A role that a binding names has a place here whether it is there or not, so that a binding finds its role by a
 * pointer. Bindings are listed for each subject they name, clusterwide or by namespace.
 */
#include "auth/rbac_internal.h"

#include "api/meta.h"
#include "api/selector.h"
#include "base/util.h"

/* ---- small things ---- */

struct str role_key(struct arena *a, struct str namespace, struct str name)
{
    return arena_fmt(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

struct rbac *rbac_new(void)
{
    struct rbac *r = xcalloc(1, sizeof(*r));

    map_init(&r->roles, map_seed_default());
    map_init(&r->bindings, map_seed_default());
    map_init(&r->subjects, map_seed_default());
    return r;
}

/* ---- roles ---- */

static void role_free(struct role *role)
{
    struct arena memory = role->memory; /* it is in there itself */

    arena_done(&role->arena);
    arena_done(&role->aggregated);
    arena_done(&memory);
}

static struct role *role_place(struct rbac *r, struct str namespace, struct str name)
{
    struct arena memory = { 0 };
    struct str key = role_key(&memory, namespace, name);
    struct role *role = map_get(&r->roles, key);

    if (role) {
        arena_done(&memory);
        return role;
    }
    role = arena_new(&memory, struct role);
    role->key = key;
    role->name = str_from(key, namespace.n + 1);
    role->memory = memory;
    map_put(&r->roles, role->key, role);
    return role;
}

static void role_release(struct rbac *r, struct role *role)
{
    if (role->is_there || role->n_bindings)
        return;
    map_remove(&r->roles, role->key);
    role_free(role);
}

static void role_empty(struct role *role)
{
    arena_reset(&role->arena);
    role->labels = NULL;
    memset(&role->selectors, 0, sizeof(role->selectors));
    memset(&role->rules, 0, sizeof(role->rules));
    role->is_there = role->is_aggregate = false;
}

static void rbac_put_role(struct rbac *r, const struct json *object, bool is_cluster)
{
    struct role *role = role_place(r, is_cluster ? STR_NULL : object_namespace(object), object_name(object));
    const struct json *copy, *selectors;

    role_empty(role);
    copy = json_clone(&role->arena, object);
    role->is_there = true;
    role->labels = json_find(copy, "metadata", "labels", NULL);
    role->is_aggregate = is_cluster && json_is(json_get(copy, "aggregationRule"), JSON_OBJECT);
    selectors = json_find(copy, "aggregationRule", "clusterRoleSelectors", NULL);
    if (role->is_aggregate)
        JSON_FOREACH(s, selectors) {
            struct selector *one;

            if (selector_from_json(&role->arena, s, &one, NULL) == 0) /* one that is wrong selects nothing */
                *vec_push(&role->arena, &role->selectors) = one;
        }
    else
        JSON_FOREACH(rule, json_get(copy, "rules"))
            *vec_push(&role->arena, &role->rules) = rule_compile(&role->arena, rule);
    r->aggregates_are_stale |= is_cluster;
}

static void remove_role(struct rbac *r, const struct json *object, bool is_cluster)
{
    autoarena a = { 0 };
    struct str namespace = is_cluster ? STR_NULL : object_namespace(object);
    struct role *role = map_get(&r->roles, role_key(&a, namespace, object_name(object)));

    if (!role)
        return;
    role_empty(role);
    r->aggregates_are_stale |= is_cluster;
    role_release(r, role);
}

const struct role *rbac_role(struct rbac *r, struct str namespace, struct str name)
{
    autoarena a = { 0 };
    struct role *role;

    rbac_settle(r);
    role = map_get(&r->roles, role_key(&a, namespace, name));
    return role && role->is_there ? role : NULL;
}

/* ---- aggregates ---- */

static bool rbac_selects(const struct role *role, const struct role *other)
{
    for (size_t i = 0; i < role->selectors.n; i++)
        if (selector_matches(role->selectors.v[i], other->labels))
            return true;
    return false;
}

static int rbac_by_key(const void *a, const void *b)
{
    return str_cmp((*(struct role *const *)a)->key, (*(struct role *const *)b)->key);
}

/* Everything that can be reached by selecting, each role once, however they select each other. */
static void settle_one(struct role *role, struct role **all, size_t n)
{
    autoarena a = { 0 };
    bool *is_reached = arena_array(&a, bool, n);
    VEC(const struct role *) todo = { 0 };

    arena_reset(&role->aggregated);
    memset(&role->rules, 0, sizeof(role->rules));
    *vec_push(&a, &todo) = role;
    for (size_t at = 0; at < todo.n; at++)
        for (size_t i = 0; i < n; i++)
            if (!is_reached[i] && all[i] != role && rbac_selects(todo.v[at], all[i])) {
                is_reached[i] = true;
                if (all[i]->is_aggregate)
                    *vec_push(&a, &todo) = all[i];
            }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; is_reached[i] && !all[i]->is_aggregate && k < all[i]->rules.n; k++)
            *vec_push(&role->aggregated, &role->rules) = all[i]->rules.v[k];
}

void rbac_settle(struct rbac *r)
{
    autoarena a = { 0 };
    struct role **all;
    size_t n = 0;

    if (!r->aggregates_are_stale)
        return;
    r->aggregates_are_stale = false;
    all = arena_array(&a, struct role *, map_count(&r->roles));
    MAP_FOREACH(struct role *, role, &r->roles)
        if (role->is_there && role->key.p[0] == '/')
            all[n++] = role;
    qsort(all, n, sizeof(struct role *), rbac_by_key);
    for (size_t i = 0; i < n; i++)
        if (all[i]->is_aggregate)
            settle_one(all[i], all, n);
}

/* ---- who has a binding ---- */

static void grants_add(struct grants *g, const struct rbac_binding *b)
{
    size_t at = g->n;

    for (size_t i = 0; i < g->n; i++)
        if (g->v[i] == b) /* it names this one twice */
            return;
    if (g->n == g->cap) {
        g->cap = MAX_OF((size_t)4, 2 * g->cap);
        g->v = xrealloc(g->v, g->cap * sizeof(*g->v));
    }
    while (at > 0 && str_cmp(b->name, g->v[at - 1]->name) < 0)
        at--;
    memmove(g->v + at + 1, g->v + at, (g->n - at) * sizeof(*g->v));
    g->v[at] = b;
    g->n++;
}

static void grants_drop(struct grants *g, const struct rbac_binding *b)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->v[i] == b) {
            memmove(g->v + i, g->v + i + 1, (g->n - i - 1) * sizeof(*g->v));
            g->n--;
            return;
        }
}

static void space_free(struct rbac_space *space)
{
    free(space->grants.v);
    free(space);
}

static void subject_free(struct subject *s)
{
    MAP_FOREACH(struct rbac_space *, space, &s->spaces)
        space_free(space);
    map_done(&s->spaces);
    free(s->everywhere.v);
    free(s);
}

static struct subject *subject_place(struct rbac *r, struct str key)
{
    struct subject *s = map_get(&r->subjects, key);

    if (s)
        return s;
    s = xcalloc(1, sizeof(*s) + key.n + 1);
    memcpy(s->key, key.p, key.n);
    map_init(&s->spaces, r->subjects.seed);
    map_put(&r->subjects, (struct str){ s->key, key.n }, s);
    return s;
}

static struct grants *grants_place(struct subject *s, struct str namespace)
{
    struct rbac_space *space;

    if (!namespace.n)
        return &s->everywhere;
    space = map_get(&s->spaces, namespace);
    if (!space) {
        space = xcalloc(1, sizeof(*space) + namespace.n + 1);
        space->n = namespace.n;
        memcpy(space->namespace, namespace.p, namespace.n);
        map_put(&s->spaces, (struct str){ space->namespace, space->n }, space);
    }
    return &space->grants;
}

static void unlink_subject(struct rbac *r, const struct rbac_binding *b, struct str key)
{
    struct subject *s = map_get(&r->subjects, key);
    struct rbac_space *space = s && b->namespace.n ? map_get(&s->spaces, b->namespace) : NULL;

    if (!s)
        return;
    grants_drop(space ? &space->grants : &s->everywhere, b);
    if (space && !space->grants.n) {
        map_remove(&s->spaces, b->namespace);
        space_free(space);
    }
    if (!s->everywhere.n && !map_count(&s->spaces)) {
        map_remove(&r->subjects, key);
        subject_free(s);
    }
}

/* ---- bindings ---- */

/* An account without a namespace is one of the binding's own; elsewhere it matches none. */
static struct str subject_key(struct arena *a, const struct subject_ref *s, struct str namespace)
{
    struct str home = s->namespace.n ? s->namespace : namespace;

    if (str_is(s->kind, "User"))
        return arena_fmt(a, "u:%.*s", STR_ARG(s->name));
    if (str_is(s->kind, "Group"))
        return arena_fmt(a, "g:%.*s", STR_ARG(s->name));
    if (str_is(s->kind, "ServiceAccount") && home.n)
        return arena_fmt(a, "u:" USER_ACCOUNT_PREFIX "%.*s:%.*s", STR_ARG(home), STR_ARG(s->name));
    return STR_NULL;
}

static struct str binding_key(struct arena *a, struct str namespace, struct str name)
{
    return role_key(a, namespace, name);
}

static void binding_free(struct rbac *r, struct rbac_binding *b)
{
    VEC_FOREACH(s, &b->subjects)
        if (s->key.n)
            unlink_subject(r, b, s->key);
    if (b->role) {
        b->role->n_bindings--;
        role_release(r, b->role);
    }
    arena_done(&b->arena);
    free(b);
}

static void remove_binding(struct rbac *r, const struct json *object, bool is_cluster)
{
    autoarena a = { 0 };
    struct str namespace = is_cluster ? STR_NULL : object_namespace(object);
    struct rbac_binding *b = map_remove(&r->bindings, binding_key(&a, namespace, object_name(object)));

    if (b)
        binding_free(r, b);
}

static void bind_role(struct rbac *r, struct rbac_binding *b)
{
    bool is_cluster = str_is(b->role_kind, "ClusterRole");

    if (!is_cluster && !(str_is(b->role_kind, "Role") && b->namespace.n))
        return;
    b->role = role_place(r, is_cluster ? STR_NULL : b->namespace, b->role_name);
    b->role->n_bindings++;
}

static void put_binding(struct rbac *r, const struct json *object, bool is_cluster)
{
    struct rbac_binding *b = xcalloc(1, sizeof(*b));
    const struct json *copy = json_clone(&b->arena, object), *ref = json_get(copy, "roleRef");

    remove_binding(r, object, is_cluster);
    b->namespace = is_cluster ? STR_NULL : object_namespace(copy);
    b->name = object_name(copy);
    b->key = binding_key(&b->arena, b->namespace, b->name);
    b->role_kind = json_member_text(ref, "kind");
    b->role_name = json_member_text(ref, "name");
    bind_role(r, b);
    map_put(&r->bindings, b->key, b);
    JSON_FOREACH(j, json_get(copy, "subjects")) {
        struct subject_ref *s = vec_push(&b->arena, &b->subjects);

        *s = (struct subject_ref){ json_member_text(j, "kind"), json_member_text(j, "name"),
                                   json_member_text(j, "namespace"), STR_NULL };
        s->key = subject_key(&b->arena, s, b->namespace);
        if (s->key.n)
            grants_add(grants_place(subject_place(r, s->key), b->namespace), b);
    }
}

/* ---- being told ---- */

static const struct rbac_kind {
    const char *name;
    void (*put)(struct rbac *r, const struct json *object, bool is_cluster);
    void (*remove)(struct rbac *r, const struct json *object, bool is_cluster);
    bool is_cluster;
} kinds[] = {
    { "Role", rbac_put_role, remove_role, false },
    { "ClusterRole", rbac_put_role, remove_role, true },
    { "RoleBinding", put_binding, remove_binding, false },
    { "ClusterRoleBinding", put_binding, remove_binding, true },
};

static const struct rbac_kind *rbac_kind_of(const struct json *object)
{
    if (!str_is(object_api_version(object), RBAC_GROUP "/v1"))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(object_kind(object), kinds[i].name))
            return &kinds[i];
    return NULL;
}

void rbac_put(struct rbac *r, const struct json *object)
{
    const struct rbac_kind *kind = rbac_kind_of(object);

    r->changes++;
    if (kind && (kind->is_cluster || object_namespace(object).n))
        kind->put(r, object, kind->is_cluster);
}

void rbac_remove(struct rbac *r, const struct json *object)
{
    const struct rbac_kind *kind = rbac_kind_of(object);

    r->changes++;
    if (kind)
        kind->remove(r, object, kind->is_cluster);
}

void rbac_free(struct rbac *r)
{
    if (!r)
        return;
    rbac_unfollow(r);
    MAP_FOREACH(struct rbac_binding *, b, &r->bindings) {
        arena_done(&b->arena);
        free(b);
    }
    MAP_FOREACH(struct role *, role, &r->roles)
        role_free(role);
    MAP_FOREACH(struct subject *, s, &r->subjects)
        subject_free(s);
    map_done(&r->bindings);
    map_done(&r->roles);
    map_done(&r->subjects);
    free(r);
}

struct rbac_stats rbac_stats(const struct rbac *r)
{
    struct rbac_stats s = { .bindings = map_count(&r->bindings), .subjects = map_count(&r->subjects) };

    MAP_FOREACH(const struct role *, role, &r->roles)
        s.roles += role->is_there;
    return s;
}
