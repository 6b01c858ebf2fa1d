/* agent_cache.c - objects that pods refer to, by kind, namespace and name
 *
 * The types that the agent watches besides pods. Kept whole and shared with the cluster (object_ref); looked up when a
 * sandbox is made, a container starts or names and rules are refreshed, so nothing here follows who uses what. By name,
 * since references are by name: one made anew takes the place of the old, whose end, told later, is then not its own
 * (uid).
 */
#include "node/agent/agent_internal.h"

static const struct {
    const char *api_version, *kind;
} wants[WANT_MAX] = {
    [WANT_POD] = { "v1", "Pod" },
    [WANT_CONFIG_MAP] = { "v1", "ConfigMap" },
    [WANT_SECRET] = { "v1", "Secret" },
    [WANT_CLAIM] = { "v1", "PersistentVolumeClaim" },
    [WANT_SERVICE] = { "v1", "Service" },
    [WANT_POLICY] = { "networking.k8s.io/v1", "NetworkPolicy" },
    [WANT_NAMESPACE] = { "v1", "Namespace" },
    [WANT_ACCOUNT] = { "v1", "ServiceAccount" },
    [WANT_ENDPOINTS] = { "v1", "Endpoints" },
    [WANT_SLICE] = { "discovery.k8s.io/v1", "EndpointSlice" },
};

/* A node of a real cluster watches only its own pods; kube-proxy and others handle Services there. */
bool agent_wants(const struct agent *g, enum agent_want w)
{
    if (w == WANT_ENDPOINTS || w == WANT_SLICE)
        return !g->opt.remote || !g->opt.remote->follow;
    return w != WANT_ACCOUNT || !g->opt.remote;
}

const struct resource_type *agent_type(enum agent_want w)
{
    static const struct resource_type *types[WANT_MAX];

    if (!types[w])
        types[w] = type_by_kind(str_of(wants[w].api_version), str_of(wants[w].kind));
    return types[w];
}

static void key_print(struct buf *out, enum agent_want w, struct str namespace, struct str name)
{
    buf_fmt(out, "%d/%.*s/%.*s", (int)w, STR_ARG(namespace), STR_ARG(name));
}

void agent_cache_put(struct agent *g, enum agent_want w, const struct object *o)
{
    autobuf key = { 0 };
    struct agent_object *old;

    key_print(&key, w, o->namespace, o->name);
    old = map_get(&g->objects, buf_view(&key));
    if (!old) {
        char *bytes;

        old = xcalloc(1, sizeof(*old) + key.n);
        bytes = (char *)(old + 1);
        memcpy(bytes, key.p, key.n);
        old->key = (struct str){ bytes, key.n };
        old->want = w;
        map_put(&g->objects, old->key, old);
    }
    object_unref(old->object);
    old->object = object_ref(o);
}

static void agent_cache_forget(struct agent_object *o)
{
    object_unref(o->object);
    free(o);
}

void agent_cache_remove(struct agent *g, enum agent_want w, const struct object *o)
{
    autobuf key = { 0 };
    struct agent_object *old;

    key_print(&key, w, o->namespace, o->name);
    old = map_get(&g->objects, buf_view(&key));
    if (!old || !str_eq(old->object->uid, o->uid))
        return;
    map_remove(&g->objects, old->key);
    agent_cache_forget(old);
}

void agent_cache_done(struct agent *g)
{
    MAP_FOREACH(struct agent_object *, o, &g->objects)
        agent_cache_forget(o);
    map_done(&g->objects);
}

const struct object *agent_find(const struct agent *g, enum agent_want w, struct str namespace, struct str name)
{
    autobuf key = { 0 };
    const struct agent_object *o;

    key_print(&key, w, namespace, name);
    o = map_get(&g->objects, buf_view(&key));
    return o ? o->object : NULL;
}
