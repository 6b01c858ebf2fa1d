/* agent_refs.c - what pods of a real cluster refer to: ConfigMaps, Secrets and claims, followed one by one
 *
 * A node has no business with the Secrets of others, and may not list them. So each object that a pod names is followed
 * from the pod's arrival to its end, once for all pods that name it. A sandbox is made when it is known of all of them
 * whether they are there; one that is not is an error that the pod is tried again with (volume.h, agent_env.c), as in a
 * cluster of our own.
 */
#include "node/agent/agent_internal.h"

struct agent_ref {
    enum agent_want want;
    struct str namespace, name, key; /* the bytes follow */
    size_t n_pods;
    uint64_t token; /* of the answer that it waits for; 0: it came */
};

/* Members of a pod's spec that name an object, wherever they stand in volumes and containers. */
static const struct {
    const char *member, *name;
    enum agent_want want;
} names[] = {
    { "configMap", "name", WANT_CONFIG_MAP },
    { "configMapRef", "name", WANT_CONFIG_MAP },
    { "configMapKeyRef", "name", WANT_CONFIG_MAP },
    { "secret", "secretName", WANT_SECRET },
    { "secret", "name", WANT_SECRET }, /* in a projected volume */
    { "secretRef", "name", WANT_SECRET },
    { "secretKeyRef", "name", WANT_SECRET },
    { "persistentVolumeClaim", "claimName", WANT_CLAIM },
};

static struct agent_ref *ref_new(struct agent *g, enum agent_want want, struct str namespace, struct str name)
{
    struct agent_ref *r = xcalloc(1, sizeof(*r) + namespace.n + name.n + 16);
    char *bytes = (char *)(r + 1);
    int n = snprintf(bytes, namespace.n + name.n + 16, "%d/%.*s/%.*s", (int)want, STR_ARG(namespace), STR_ARG(name));

    r->want = want;
    r->key = (struct str){ bytes, (size_t)n };
    r->name = str_from(r->key, r->key.n - name.n);
    r->namespace = str_sub(r->key, r->key.n - name.n - 1 - namespace.n, namespace.n);
    map_put(&g->refs, r->key, r);
    r->token = g->opt.remote->follow(g->opt.remote->ctx, agent_type(want), r->namespace, r->name);
    map_u64_put(&g->asked, r->token, r);
    return r;
}

static void refer(struct agent_pod *p, enum agent_want want, struct str name)
{
    autobuf key = { 0 };
    struct agent_ref *r;

    if (!name.n)
        return;
    buf_fmt(&key, "%d/%.*s/%.*s", (int)want, STR_ARG(p->object->namespace), STR_ARG(name));
    r = map_get(&p->agent->refs, buf_view(&key));
    if (!r)
        r = ref_new(p->agent, want, p->object->namespace, name);
    VEC_FOREACH(old, &p->refs)
        if (*old == r)
            return;
    r->n_pods++;
    *vec_push(&p->arena, &p->refs) = r;
}

static void refs_walk(struct agent_pod *p, const struct json *j)
{
    JSON_FOREACH(m, j) {
        for (size_t i = 0; i < ARRAY_LEN(names) && j->type == JSON_OBJECT; i++)
            if (str_is(json_key(m), names[i].member))
                refer(p, names[i].want, json_member_text(m, names[i].name));
        refs_walk(p, m);
    }
}

/* The claim of an ephemeral volume is made by a controller, by this name. */
static void walk_ephemeral(struct agent_pod *p, const struct json *volumes)
{
    JSON_FOREACH(v, volumes) {
        autobuf name = { 0 };

        buf_fmt(&name, "%.*s-%.*s", STR_ARG(p->object->name), STR_ARG(json_member_text(v, "name")));
        if (json_get(v, "ephemeral"))
            refer(p, WANT_CLAIM, buf_view(&name));
    }
}

void agent_refs_take(struct agent_pod *p)
{
    static const char *const parts[] = { "volumes", "initContainers", "containers", "ephemeralContainers" };
    const struct json *spec = json_get(p->object->root, "spec");

    if (!p->agent->opt.remote || !p->agent->opt.remote->follow)
        return;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        refs_walk(p, json_get(spec, parts[i]));
    walk_ephemeral(p, json_get(spec, "volumes"));
    JSON_FOREACH(secret, json_get(spec, "imagePullSecrets"))
        refer(p, WANT_SECRET, json_member_text(secret, "name"));
}

static void refs_forget(struct agent *g, struct agent_ref *r)
{
    const struct object *o = agent_find(g, r->want, r->namespace, r->name);

    g->opt.remote->unfollow(g->opt.remote->ctx, agent_type(r->want), r->namespace, r->name);
    if (o)
        agent_cache_remove(g, r->want, o);
    if (r->token)
        map_u64_remove(&g->asked, r->token);
    map_remove(&g->refs, r->key);
    free(r);
}

void agent_refs_drop(struct agent_pod *p)
{
    VEC_FOREACH(r, &p->refs)
        if (--(*r)->n_pods == 0)
            refs_forget(p->agent, *r);
    p->refs.n = 0;
}

bool agent_refs_are_known(const struct agent_pod *p)
{
    VEC_FOREACH(r, &p->refs)
        if ((*r)->token)
            return false;
    return true;
}

bool agent_refs_answered(struct agent *g, const struct cluster_event *ev)
{
    struct agent_ref *r = map_u64_remove(&g->asked, ev->token);

    if (!r)
        return false;
    r->token = 0;
    MAP_FOREACH(struct agent_pod *, p, &g->pods)
        agent_pod_asked(p);
    return true;
}
