/* garbage.c - the index of owners and dependents */
#include "driver/garbage.h"

#include "api/meta.h"
#include "base/util.h"
#include "controller/controller.h"

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
    struct object *object;
    struct list_link in_type;
    struct gc_edge *edges;
    size_t n_edges;
};

void garbage_init(struct garbage *g, struct cache *c, uint64_t seed)
{
    *g = (struct garbage){ .cache = c };
    g->types = xcalloc(n_type_rows, sizeof(*g->types));
    map_init(&g->nodes, seed);
    map_init(&g->owners, seed);
}

void garbage_done(struct garbage *g)
{
    MAP_FOREACH(struct gc_node *, node, &g->nodes) {
        object_unref(node->object);
        free(node->edges);
        free(node);
    }
    MAP_FOREACH(struct gc_bucket *, b, &g->owners)
        free(b);
    for (size_t i = 0; i < g->n_types; i++)
        relist_end(&g->types[i].told);
    map_done(&g->nodes);
    map_done(&g->owners);
    free(g->types);
}

static struct garbage_type *type_of(const struct garbage *g, const struct resource_type *type)
{
    for (size_t i = 0; i < g->n_types; i++)
        if (g->types[i].type == type)
            return &g->types[i];
    return NULL;
}

void garbage_want(struct garbage *g, const struct resource_type *type)
{
    if (type_of(g, type))
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
    const struct json *refs = json_find(node->object->root, "metadata", "ownerReferences", NULL);
    struct gc_edge *edge;

    node->n_edges = json_count(refs);
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
            g->touch(g->ctx, edge->node->object->uid);
}

/* ---- nodes ---- */

static bool same(const struct object *a, const struct object *b, const char *key)
{
    const struct json *x = json_find(a->root, "metadata", key, NULL), *y = json_find(b->root, "metadata", key, NULL);

    return x == y || (x && y && json_equal(x, y));
}

static bool is_deleting(const struct object *o)
{
    return !str_empty(json_text(json_find(o->root, "metadata", "deletionTimestamp", NULL), STR_NULL));
}

static void node_new(struct garbage *g, struct garbage_type *t, const struct object *o)
{
    struct gc_node *node = xcalloc(1, sizeof(*node));

    node->object = object_ref(o);
    map_put(&g->nodes, node->object->uid, node);
    list_push(&t->nodes, &node->in_type);
    edges_add(g, node);
    if (node->n_edges || is_deleting(o))
        g->touch(g->ctx, o->uid);
    if (is_deleting(o))
        touch_dependents(g, o->uid);
}

static void node_change(struct garbage *g, struct gc_node *node, const struct object *o)
{
    autounref struct object *before = node->object;
    bool end_differs = !same(before, o, "deletionTimestamp") || !same(before, o, "finalizers");
    bool owners_differ = !same(before, o, "ownerReferences");

    if (owners_differ)
        edges_drop(g, node);
    node->object = object_ref(o);
    map_put(&g->nodes, o->uid, node); /* the key is in the object: it moves too */
    if (owners_differ)
        edges_add(g, node);
    if (owners_differ || end_differs)
        g->touch(g->ctx, o->uid);
    if (end_differs)
        touch_dependents(g, o->uid);
}

void garbage_put(struct garbage *g, const struct object *o)
{
    struct gc_node *node = map_get(&g->nodes, o->uid);
    struct garbage_type *t = type_of(g, o->type);

    if (!t || str_empty(o->uid) || cache_is_buried(g->cache, o->uid, o->rev))
        return;
    if (!node)
        node_new(g, t, o);
    else if (node->object->rev < o->rev)
        node_change(g, node, o);
}

void garbage_gone(struct garbage *g, struct str uid)
{
    struct gc_node *node = map_get(&g->nodes, uid);
    autounref struct object *last = NULL;

    if (!node)
        return;
    last = node->object;
    edges_drop(g, node);
    map_remove(&g->nodes, last->uid);
    list_remove(&node->in_type);
    free(node);
    touch_dependents(g, last->uid);
}

/* The cache comes first and has asked for what is in doubt; here it is enough to wait for that answer. */
static void sweep(struct garbage *g, struct garbage_type *t, uint64_t rev)
{
    if (!rev)
        rev = t->told.max_rev;
    LIST_FOREACH(struct gc_node, node, &t->nodes, in_type)
        if (!relist_has(&t->told, node->object->uid) && node->object->rev <= rev) {
            cache_bury(g->cache, node->object->uid, rev);
            garbage_gone(g, node->object->uid);
        }
}

void garbage_event(struct garbage *g, const struct cluster_event *ev)
{
    struct garbage_type *t = type_of(g, ev->type);

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
            sweep(g, t, ev->rev);
        t->is_listing = false;
        relist_end(&t->told);
        break;
    case CLUSTER_RESULT:
    case CLUSTER_EVENT_KIND_MAX:
        break;
    }
}

/* ---- planning ---- */

static bool has_finalizer(const struct object *o, const char *name)
{
    JSON_FOREACH(f, json_find(o->root, "metadata", "finalizers", NULL))
        if (str_is(json_text(f, STR_NULL), name))
            return true;
    return false;
}

static struct gc_owner owner_of(struct garbage *g, const struct object *o, const struct json *ref)
{
    struct str uid = json_member_text(ref, "uid");
    const struct resource_type *type = type_by_kind(json_member_text(ref, "apiVersion"), json_member_text(ref, "kind"));
    const struct gc_node *node = map_get(&g->nodes, uid);
    struct gc_owner owner = { 0 };

    if (node && node->object->type->scope == SCOPE_NAMESPACED && !str_eq(node->object->namespace, o->namespace)) {
        owner.is_known = true; /* nobody can be owned across namespaces */
    } else if (node) {
        owner.is_known = owner.exists = true;
        owner.is_deleting = is_deleting(node->object);
        owner.waits_for_dependents = has_finalizer(node->object, "foregroundDeletion");
        owner.orphans = has_finalizer(node->object, "orphan");
    } else if (cache_is_buried(g->cache, uid, 0)) {
        owner.is_known = true;
    } else if (type && type_of(g, type)) {
        g->ask(g->ctx, type, o->namespace, json_member_text(ref, "name"), uid, o->uid);
    }
    return owner;
}

void garbage_plan(struct garbage *g, struct str uid, struct plan *plan)
{
    const struct gc_node *node = map_get(&g->nodes, uid);
    const struct gc_bucket *bucket = map_get(&g->owners, uid);
    struct gc_observed seen = { 0 };
    struct gc_owner *owners;
    const struct object *o;

    if (!node)
        return;
    o = node->object;
    owners = arena_array(plan->arena, struct gc_owner, node->n_edges + 1);
    JSON_FOREACH(ref, json_find(o->root, "metadata", "ownerReferences", NULL))
        owners[seen.n_owners++] = owner_of(g, o, ref);
    seen.type = o->type;
    seen.namespace = o->namespace;
    seen.name = o->name;
    seen.uid = o->uid;
    seen.is_deleting = is_deleting(o);
    seen.has_foreground = has_finalizer(o, "foregroundDeletion");
    seen.has_orphan = has_finalizer(o, "orphan");
    seen.meta = json_get(o->root, "metadata");
    seen.owners = owners;
    seen.n_dependents = bucket ? bucket->n : 0;
    seen.n_blocking = bucket ? bucket->n_blocking : 0;
    gc_plan(&seen, plan);
}
