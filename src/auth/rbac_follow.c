/* rbac_follow.c - the index kept current from a store */
#include "auth/rbac_internal.h"

#include "base/arena.h"
#include "base/util.h"
#include "store/store.h"

static const struct resource_type *follow_type_of(size_t i)
{
    static const char *const names[RBAC_KINDS] = { "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding" };

    return type_by_kind(STR(RBAC_GROUP "/v1"), str_of(names[i]));
}

void rbac_unfollow(struct rbac *r)
{
    for (size_t i = 0; i < RBAC_KINDS; i++) {
        watch_close(r->watches[i]);
        r->watches[i] = NULL;
    }
}

static void follow_take(void *ctx, const struct object *o)
{
    rbac_put(ctx, o->root);
}

/* Start from an empty index; the old one is freed. */
static void follow_forget(struct rbac *r)
{
    struct rbac *empty = rbac_new(), kept = *r;

    r->roles = empty->roles;
    r->bindings = empty->bindings;
    r->subjects = empty->subjects;
    empty->roles = kept.roles;
    empty->bindings = kept.bindings;
    empty->subjects = kept.subjects;
    rbac_free(empty);
}

static int follow_begin(struct rbac *r, struct err *e)
{
    uint64_t rev = store_revision(r->store);

    rbac_unfollow(r);
    follow_forget(r);
    for (size_t i = 0; i < RBAC_KINDS; i++) {
        if (watch_open(r->store, follow_type_of(i), STR_NULL, rev, &r->watches[i], e) < 0)
            return -1;
        store_list(r->store, follow_type_of(i), STR_NULL, follow_take, r);
    }
    r->seen_rev = store_flushed(r->store);
    return 0;
}

int rbac_follow(struct rbac *r, struct store *store, struct err *e)
{
    r->store = store;
    return follow_begin(r, e);
}

static void follow_take_event(struct rbac *r, const struct watch_event *ev)
{
    if (ev->kind == WATCH_ADDED || ev->kind == WATCH_MODIFIED)
        rbac_put(r, ev->object->root);
    else if (ev->kind == WATCH_DELETED)
        rbac_remove(r, ev->object->root);
}

uint64_t rbac_changes(const struct rbac *r)
{
    return r->changes;
}

int rbac_turn(struct rbac *r, struct err *e)
{
    struct watch_event ev;
    int got = 0;

    if (!r->store || r->seen_rev == store_flushed(r->store)) /* watches tell what is durable */
        return 0;
    r->seen_rev = store_flushed(r->store);
    for (size_t i = 0; i < RBAC_KINDS; i++) {
        while ((got = watch_next(r->watches[i], &ev, NULL)) > 0)
            follow_take_event(r, &ev);
        if (got < 0) /* fell behind: all anew */
            return follow_begin(r, e);
    }
    return 0;
}

/* ---- aggregated roles as objects ---- */

struct fill {
    struct rbac *rbac;
    struct arena *arena;
    struct json *stale; /* whole objects, with the rules they should have */
};

static void look_at_role(void *ctx, const struct object *o)
{
    struct fill *f = ctx;
    struct json *rules = rbac_aggregated(f->rbac, f->arena, o->name), *fresh;
    const struct json *have = json_get(o->root, "rules");

    if (!rules || (have && json_equal(have, rules)) || (!have && !json_count(rules)))
        return;
    fresh = json_push(f->stale, json_copy(f->arena, o->root));
    json_set(fresh, "rules", rules);
}

int rbac_fill(struct rbac *r, struct err *e)
{
    autoarena a = { 0 };
    struct fill f = { r, &a, json_array(&a) };
    struct err why;
    int rc = 0;

    store_list(r->store, type_by_kind(STR(RBAC_GROUP "/v1"), STR("ClusterRole")), STR_NULL, look_at_role, &f);
    JSON_FOREACH(role, f.stale)
        if (store_update(r->store, role, STORE_MAIN, NULL, rc < 0 ? &why : e) < 0)
            rc = -1;
    return rc;
}
