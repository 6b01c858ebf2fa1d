/* garbage.c - the index of owners and dependents
 *
 * Of an object its name is kept, and what of its metadata has a say here, which most have not. The object itself is
 * the store's: held, it would keep its tree.
 */
#include "driver/garbage.h"

#include "api/meta.h"
#include "base/util.h"
#include "controller/controller.h"
#include "sched/model/tree.h"

#include <assert.h>

struct gc_bucket { /* all that name one owner */
    struct list edges;
    uint32_t n, n_blocking;
    struct str uid; /* the bytes follow this struct */
};

struct gc_edge { /* one ownerReference */
    struct list_link in_bucket;
    struct gc_bucket *bucket;
    struct gc_node *node; /* the dependent */
    bool is_blocking;
};

struct gc_node {
    const struct resource_type *type;
    uint64_t rev;
    struct list_link in_type;
    struct object *ties; /* metadata of it as in 'telling'; NULL: it has none of these */
    struct gc_edge *edges;
    uint32_t n_edges;
    uint16_t uid_n, namespace_n, name_n;
    char text[]; /* uid, namespace, name */
};

static const char *const telling[] = { "ownerReferences", "finalizers", "deletionTimestamp" };

static struct str uid_of(const struct gc_node *node)
{
    return (struct str){ node->text, node->uid_n };
}

static struct str garbage_namespace_of(const struct gc_node *node)
{
    return (struct str){ node->text + node->uid_n, node->namespace_n };
}

static const struct json *ties_of(const struct gc_node *node)
{
    return node->ties ? json_get(node->ties->root, "metadata") : NULL;
}

static void node_free(struct gc_node *node)
{
    object_unref(node->ties);
    free(node->edges);
    free(node);
}

void garbage_init(struct garbage *g, struct cache *c, uint64_t seed)
{
    *g = (struct garbage){ .cache = c };
    g->types = xcalloc(n_type_rows, sizeof(*g->types));
    map_init(&g->nodes, seed);
    map_init(&g->owners, seed);
}

void garbage_done(struct garbage *g)
{
    MAP_FOREACH(struct gc_node *, node, &g->nodes)
        node_free(node);
    MAP_FOREACH(struct gc_bucket *, b, &g->owners)
        free(b);
    for (size_t i = 0; i < g->n_types; i++)
        relist_end(&g->types[i].told);
    map_done(&g->nodes);
    map_done(&g->owners);
    free(g->types);
}

static struct garbage_type *garbage_type_of(const struct garbage *g, const struct resource_type *type)
{
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i].type == type)
            return &g->types[i];
    return NULL;
}

void garbage_want(struct garbage *g, const struct resource_type *type)
{
    if (garbage_type_of(g, type))
        return;
    assert(g->n_types < n_type_rows);
    list_init(&g->types[g->n_types].nodes);
    g->types[g->n_types++].type = type;
}

/* ---- edges ---- */

static struct gc_bucket *bucket_need(struct garbage *g, struct str uid)
{
    struct gc_bucket *b = map_get(&g->owners, uid);
    char *text;

    if (b)
        return b;
    b = xcalloc(1, sizeof(*b) + uid.n + 1);
    text = (char *)(b + 1);
    if (uid.n)
        memcpy(text, uid.p, uid.n);
    b->uid = (struct str){ text, uid.n };
    list_init(&b->edges);
    map_put(&g->owners, b->uid, b);
    return b;
}

static void edges_add(struct garbage *g, struct gc_node *node)
{
    const struct json *refs = json_get(ties_of(node), "ownerReferences");
    struct gc_edge *edge;

    node->n_edges = (uint32_t)json_count(refs);
    node->edges = node->n_edges ? xcalloc(node->n_edges, sizeof(*node->edges)) : NULL;
    edge = node->edges;
    JSON_FOREACH(ref, refs) {
        edge->node = node;
        edge->bucket = bucket_need(g, json_member_text(ref, "uid"));
        edge->is_blocking = json_bool(json_get(ref, "blockOwnerDeletion"), false);
        list_push(&edge->bucket->edges, &edge->in_bucket);
        edge->bucket->n++;
        edge->bucket->n_blocking += edge->is_blocking;
        edge++;
    }
}

/* The owners hear of it: one that waits for its dependents may go now. */
static void edges_drop(struct garbage *g, struct gc_node *node)
{
    for (size_t i = 0; i < node->n_edges; i++) {
        struct gc_edge *edge = &node->edges[i];
        struct gc_bucket *b = edge->bucket;

        list_remove(&edge->in_bucket);
        b->n--;
        b->n_blocking -= edge->is_blocking;
        if (map_get(&g->nodes, b->uid))
            g->touch(g->ctx, b->uid);
        if (!b->n) {
            map_remove(&g->owners, b->uid);
            free(b);
        }
    }
    free(node->edges);
    node->edges = NULL;
    node->n_edges = 0;
}

static void touch_dependents(struct garbage *g, struct str uid)
{
    struct gc_bucket *b = map_get(&g->owners, uid);

    if (b)
        LIST_FOREACH(struct gc_edge, edge, &b->edges, in_bucket)
            g->touch(g->ctx, uid_of(edge->node));
}

/* ---- nodes ---- */

static bool same(const struct json *a, const struct json *b, const char *key)
{
    const struct json *x = json_get(a, key), *y = json_get(b, key);

    return x == y || (x && y && json_equal(x, y));
}

static bool garbage_is_deleting(const struct gc_node *node)
{
    return !str_empty(json_member_text(ties_of(node), "deletionTimestamp"));
}

/* A copy, if there is anything to copy. */
static struct object *ties_new(const struct object *o)
{
    const struct json *meta = json_get(o->root, "metadata");
    autoarena a = { 0 };
    struct json *tree = NULL, *kept = NULL;

    for (size_t i = 0; i < ARRAY_LEN(telling); i++) {
        if (!json_get(meta, telling[i]))
            continue;
        if (!tree) {
            tree = json_object(&a);
            kept = json_add(tree, STR("metadata"), json_object(&a));
        }
        json_add(kept, str_of(telling[i]), json_copy(&a, json_get(meta, telling[i])));
    }
    return tree ? object_make(o->type, tree, o->rev) : NULL;
}

static struct gc_node *node_make(const struct object *o)
{
    size_t n = o->uid.n + o->namespace.n + o->name.n;
    struct gc_node *node = xcalloc(1, sizeof(*node) + n);
    struct str parts[] = { o->uid, o->namespace, o->name };
    char *at = node->text;

    for (size_t i = 0; i < ARRAY_LEN(parts); at += parts[i++].n)
        if (parts[i].n)
            memcpy(at, parts[i].p, parts[i].n);
    node->type = o->type;
    node->rev = o->rev;
    node->uid_n = (uint16_t)o->uid.n;
    node->namespace_n = (uint16_t)o->namespace.n;
    node->name_n = (uint16_t)o->name.n;
    node->ties = ties_new(o);
    return node;
}

static void garbage_node_new(struct garbage *g, struct garbage_type *t, const struct object *o)
{
    struct gc_node *node = node_make(o);

    map_put(&g->nodes, uid_of(node), node);
    list_push(&t->nodes, &node->in_type);
    edges_add(g, node);
    if (node->n_edges || garbage_is_deleting(node))
        g->touch(g->ctx, o->uid);
    if (garbage_is_deleting(node))
        touch_dependents(g, o->uid);
}

static void node_change(struct garbage *g, struct gc_node *node, const struct object *o)
{
    const struct json *now = json_get(o->root, "metadata");
    bool end_differs = !same(ties_of(node), now, "deletionTimestamp") || !same(ties_of(node), now, "finalizers");
    bool owners_differ = !same(ties_of(node), now, "ownerReferences");

    node->rev = o->rev;
    if (!owners_differ && !end_differs)
        return;
    if (owners_differ)
        edges_drop(g, node);
    object_unref(node->ties);
    node->ties = ties_new(o);
    if (owners_differ)
        edges_add(g, node);
    g->touch(g->ctx, o->uid);
    if (end_differs)
        touch_dependents(g, o->uid);
}

void garbage_put(struct garbage *g, const struct object *o)
{
    struct gc_node *node = map_get(&g->nodes, o->uid);
    struct garbage_type *t = garbage_type_of(g, o->type);

    /* The server chooses uids: an object whose uid does not fit cannot be collected. */
    if (!t || !o->uid.n || o->uid.n > UINT16_MAX || o->namespace.n > UINT16_MAX || o->name.n > UINT16_MAX ||
        cache_is_buried(g->cache, o->uid, o->rev))
        return;
    if (!node)
        garbage_node_new(g, t, o);
    else if (node->rev < o->rev)
        node_change(g, node, o);
}

void garbage_gone(struct garbage *g, struct str uid)
{
    struct gc_node *node = map_get(&g->nodes, uid);

    if (!node)
        return;
    edges_drop(g, node);
    map_remove(&g->nodes, uid_of(node));
    list_remove(&node->in_type);
    touch_dependents(g, uid_of(node));
    node_free(node);
}

/* The cache comes first and has asked for what is in doubt; here it is enough to wait for that answer. */
static void garbage_sweep(struct garbage *g, struct garbage_type *t, uint64_t rev)
{
    if (!rev)
        rev = t->told.max_rev;
    LIST_FOREACH(struct gc_node, node, &t->nodes, in_type)
        if (!relist_has(&t->told, uid_of(node)) && node->rev <= rev) {
            cache_bury(g->cache, uid_of(node), rev);
            garbage_gone(g, uid_of(node));
        }
}

void garbage_event(struct garbage *g, const struct cluster_event *ev)
{
    struct garbage_type *t = garbage_type_of(g, ev->type);

    if (!t)
        return;
    switch (ev->kind) {
    case CLUSTER_PUT:
        if (t->is_listing) {
            relist_add(&t->told, ev->object->uid);
            t->told.max_rev = MAX_OF(t->told.max_rev, ev->object->rev);
        }
        garbage_put(g, ev->object);
        break;
    case CLUSTER_GONE:
        garbage_gone(g, ev->object->uid);
        break;
    case CLUSTER_RELIST:
        relist_begin(&t->told, g->cache->seed);
        t->is_listing = true;
        break;
    case CLUSTER_SYNCED:
        if (t->is_listing)
            garbage_sweep(g, t, ev->rev);
        t->is_listing = false;
        relist_end(&t->told);
        break;
    case CLUSTER_RESULT:
    case CLUSTER_EVENT_KIND_MAX:
        break;
    }
}

/* ---- planning ---- */

static bool has_finalizer(const struct gc_node *node, const char *name)
{
    JSON_FOREACH(f, json_get(ties_of(node), "finalizers"))
        if (str_is(json_text(f, STR_NULL), name))
            return true;
    return false;
}

static struct gc_owner owner_of(struct garbage *g, const struct gc_node *dependent, const struct json *ref)
{
    struct str uid = json_member_text(ref, "uid");
    const struct resource_type *type = type_by_kind(json_member_text(ref, "apiVersion"), json_member_text(ref, "kind"));
    const struct gc_node *node = map_get(&g->nodes, uid);
    struct gc_owner owner = { 0 };

    if (node && node->type->scope == SCOPE_NAMESPACED &&
        !str_eq(garbage_namespace_of(node), garbage_namespace_of(dependent))) {
        owner.is_known = true; /* an owner must be in the same namespace */
    } else if (node) {
        owner.is_known = owner.exists = true;
        owner.is_deleting = garbage_is_deleting(node);
        owner.waits_for_dependents = has_finalizer(node, "foregroundDeletion");
        owner.orphans = has_finalizer(node, "orphan");
    } else if (cache_is_buried(g->cache, uid, 0)) {
        owner.is_known = true;
    } else if (type && garbage_type_of(g, type)) {
        g->ask(g->ctx, (struct object_id){ type, garbage_namespace_of(dependent), json_member_text(ref, "name"), uid },
               uid_of(dependent));
    }
    return owner;
}

/* Does it come back to 'node' from owner to owner, each in foreground deletion and blocked by the one before? */
static bool is_in_circle(struct garbage *g, struct arena *a, const struct gc_node *node)
{
    VEC(const struct gc_node *) todo = { 0 };
    struct map seen;
    bool found = false;

    map_init(&seen, g->cache->seed);
    *vec_push(a, &todo) = node;
    while (todo.n && !found) {
        const struct gc_node *at = todo.v[--todo.n];

        for (size_t i = 0; i < at->n_edges && !found; i++) {
            const struct gc_node *owner = at->edges[i].is_blocking ? map_get(&g->nodes, at->edges[i].bucket->uid)
                                                                   : NULL;

            found = owner == node && owner;
            if (owner && garbage_is_deleting(owner) && has_finalizer(owner, "foregroundDeletion") &&
                map_add(&seen, a, uid_of(owner)))
                *vec_push(a, &todo) = owner;
        }
    }
    map_done(&seen);
    return found;
}

/* What the plan may say of it, in its own memory: the object may change while the plan is carried out. */
static struct json *meta_of(struct arena *a, const struct gc_node *node)
{
    struct json *meta = json_object(a);

    json_add(meta, STR("uid"), json_str(a, arena_str(a, uid_of(node))));
    json_add(meta, STR("resourceVersion"), json_fmt(a, "%llu", (unsigned long long)node->rev));
    JSON_FOREACH(tie, ties_of(node))
        if (!str_is(json_key(tie), "resourceVersion"))
            json_add(meta, arena_str(a, json_key(tie)), tree_keep(a, tie, tie->type));
    return meta;
}

void garbage_plan(struct garbage *g, struct str uid, struct plan *plan)
{
    const struct gc_node *node = map_get(&g->nodes, uid);
    const struct gc_bucket *bucket = map_get(&g->owners, uid);
    struct gc_observed seen = { 0 };
    struct gc_owner *owners;

    if (!node)
        return;
    owners = arena_array(plan->arena, struct gc_owner, node->n_edges + 1);
    JSON_FOREACH(ref, json_get(ties_of(node), "ownerReferences"))
        owners[seen.n_owners++] = owner_of(g, node, ref);
    seen.type = node->type;
    seen.namespace = arena_str(plan->arena, garbage_namespace_of(node));
    seen.name = arena_str(plan->arena, (struct str){ node->text + node->uid_n + node->namespace_n, node->name_n });
    seen.uid = arena_str(plan->arena, uid_of(node));
    seen.is_deleting = garbage_is_deleting(node);
    seen.has_foreground = has_finalizer(node, "foregroundDeletion");
    seen.has_orphan = has_finalizer(node, "orphan");
    seen.meta = meta_of(plan->arena, node);
    seen.owners = owners;
    seen.n_dependents = bucket ? bucket->n : 0;
    seen.n_blocking = bucket ? bucket->n_blocking : 0;
    seen.is_in_circle = seen.n_blocking && is_in_circle(g, plan->arena, node);
    gc_plan(&seen, plan);
}
