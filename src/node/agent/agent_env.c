/* agent_env.c - the variables of a container: Services, envFrom, env with valueFrom, $(VAR)
 *
 * As in Kubernetes, a later entry replaces an earlier one of the same name, and $(VAR) sees those that stand before.
 */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "node/env/downward.h"
#include "node/env/vars.h"

#include <ctype.h>

struct env_build {
    struct agent_pod *p;
    struct arena *arena;
    const struct json *pod, *container;
    struct vars *env;
    struct err *e; /* the first that went wrong */
    bool has_failed;
};

/* What does not fit fails the whole container; the caller asks has_failed once. */
static void agent_env_put(struct env_build *b, struct str name, struct str value)
{
    if (!b->has_failed && vars_put(b->env, name, value, b->e) < 0)
        b->has_failed = true;
}

/* ---- Services of the namespace that have an address ---- */

static struct str upper_name(struct arena *a, struct str name)
{
    char *p = arena_alloc(a, name.n + 1);

    for (size_t i = 0; i < name.n; i++)
        p[i] = name.p[i] == '-' ? '_' : (char)toupper((unsigned char)name.p[i]);
    p[name.n] = '\0';
    return (struct str){ p, name.n };
}

static void put_port(struct env_build *b, struct str service, struct str host, const struct json *port, bool is_first)
{
    struct arena *a = b->arena;
    struct str name = json_member_text(port, "name"), protocol = json_member_text(port, "protocol");
    long number = (long)json_i64(json_get(port, "port"), 0);
    struct str text = arena_fmt(a, "%ld", number), lower = str_is(protocol, "UDP") ? STR("udp") : STR("tcp");
    struct str prefix = arena_fmt(a, "%.*s_PORT_%ld_%s", STR_ARG(service), number,
                                  str_is(protocol, "UDP") ? "UDP" : "TCP");
    struct str url = arena_fmt(a, "%.*s://%.*s:%ld", STR_ARG(lower), STR_ARG(host), number);

    if (is_first) {
        agent_env_put(b, arena_fmt(a, "%.*s_SERVICE_PORT", STR_ARG(service)), text);
        agent_env_put(b, arena_fmt(a, "%.*s_PORT", STR_ARG(service)), url);
    }
    if (name.n)
        agent_env_put(b, arena_fmt(a, "%.*s_SERVICE_PORT_%.*s", STR_ARG(service), STR_ARG(upper_name(a, name))), text);
    agent_env_put(b, prefix, url);
    agent_env_put(b, arena_fmt(a, "%.*s_PROTO", STR_ARG(prefix)), lower);
    agent_env_put(b, arena_fmt(a, "%.*s_PORT", STR_ARG(prefix)), text);
    agent_env_put(b, arena_fmt(a, "%.*s_ADDR", STR_ARG(prefix)), host);
}

static int agent_env_by_key(const void *x, const void *y)
{
    return str_cmp((*(const struct agent_object *const *)x)->key, (*(const struct agent_object *const *)y)->key);
}

static void put_services(struct env_build *b)
{
    VEC(const struct agent_object *) list = { 0 };

    if (!json_bool(json_find(b->pod, "spec", "enableServiceLinks", NULL), true))
        return;
    MAP_FOREACH(const struct agent_object *, o, &b->p->agent->objects)
        if (o->want == WANT_SERVICE && str_eq(o->object->namespace, b->p->object->namespace))
            *vec_push(b->arena, &list) = o;
    if (list.n)
        qsort(list.v, list.n, sizeof(*list.v), agent_env_by_key);
    VEC_FOREACH(o, &list) {
        const struct json *spec = json_get((*o)->object->root, "spec");
        struct str host = json_member_text(spec, "clusterIP"), service = upper_name(b->arena, (*o)->object->name);
        bool is_first = true;

        if (host.n == 0 || str_is(host, "None"))
            continue;
        agent_env_put(b, arena_fmt(b->arena, "%.*s_SERVICE_HOST", STR_ARG(service)), host);
        JSON_FOREACH(port, json_get(spec, "ports")) {
            put_port(b, service, host, port, is_first);
            is_first = false;
        }
    }
}

/* Every pod gets the address of the API server, whatever enableServiceLinks says. */
static void put_api_server(struct env_build *b)
{
    struct agent *g = b->p->agent;
    struct json *port = json_object(b->arena);
    struct str host = g->api_port ? agent_gateway(g, b->arena) : STR_NULL;

    if (!host.n)
        return;
    json_set(port, "name", json_str(b->arena, STR("https")));
    json_set(port, "port", json_int(b->arena, g->api_port));
    agent_env_put(b, STR("KUBERNETES_SERVICE_HOST"), host);
    put_port(b, STR("KUBERNETES"), host, port, true);
}

/* ---- ConfigMaps and Secrets ---- */

static const struct {
    const char *ref, *from, *kind;
    enum agent_want want;
} sources[] = {
    { "configMapKeyRef", "configMapRef", "configmap", WANT_CONFIG_MAP },
    { "secretKeyRef", "secretRef", "secret", WANT_SECRET },
};

/* The value of one key; false: it is no text of ours to give. */
static bool key_value(struct arena *a, enum agent_want want, const struct json *root, struct str key, struct str *ret)
{
    const struct json *plain = json_get_str(json_get(root, want == WANT_SECRET ? "stringData" : "data"), key),
                      *coded = want == WANT_SECRET ? json_get_str(json_get(root, "data"), key) : NULL;
    autobuf bytes = { 0 };

    if (json_is(plain, JSON_STRING)) {
        *ret = json_text(plain, STR_NULL);
        return true;
    }
    if (!json_is(coded, JSON_STRING) || buf_unbase64(&bytes, json_text(coded, STR_NULL)) < 0)
        return false;
    *ret = arena_str(a, buf_view(&bytes));
    return true;
}

struct env_value {
    struct str text;
    bool is_there;
};

static int ref_value(struct env_build *b, size_t source, const struct json *ref, struct env_value *ret, struct err *e)
{
    struct str name = json_member_text(ref, "name"), key = json_member_text(ref, "key");
    bool is_optional = json_bool(json_get(ref, "optional"), false);
    const struct object *o = agent_find(b->p->agent, sources[source].want, b->p->object->namespace, name);

    ret->is_there = o && key_value(b->arena, sources[source].want, o->root, key, &ret->text);
    if (ret->is_there || is_optional)
        return 0;
    if (!o)
        return err_set(e, ERR_NOT_FOUND, "%s \"%.*s\" not found", sources[source].kind, STR_ARG(name));
    return err_set(e, ERR_NOT_FOUND, "couldn't find key %.*s in %s %.*s/%.*s", STR_ARG(key),
                   sources[source].want == WANT_SECRET ? "Secret" : "ConfigMap", STR_ARG(b->p->object->namespace),
                   STR_ARG(name));
}

/* Names that no variable can have are left out, as the kubelet does. */
static bool is_env_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '=' || s.p[i] < ' ' || s.p[i] > '~')
            return false;
    return s.n > 0;
}

static void put_all(struct env_build *b, size_t source, const struct json *root, struct str prefix)
{
    static const char *const maps[] = { "data", "stringData" };

    for (size_t m = 0; m < ARRAY_LEN(maps); m++) {
        JSON_FOREACH(item, json_get(root, maps[m])) {
            struct str name = arena_fmt(b->arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(json_key(item))), value;

            if (is_env_name(name) && key_value(b->arena, sources[source].want, root, json_key(item), &value))
                agent_env_put(b, name, value);
        }
    }
}

static int put_from(struct env_build *b, const struct json *from, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        const struct json *ref = json_get(from, sources[i].from);
        struct str name = json_member_text(ref, "name");
        const struct object *o;

        if (!ref)
            continue;
        o = agent_find(b->p->agent, sources[i].want, b->p->object->namespace, name);
        if (o)
            put_all(b, i, o->root, json_member_text(from, "prefix"));
        else if (!json_bool(json_get(ref, "optional"), false))
            return err_set(e, ERR_NOT_FOUND, "%s \"%.*s\" not found", sources[i].kind, STR_ARG(name));
    }
    return 0;
}

/* ---- env ---- */

static int value_from(struct env_build *b, const struct json *from, struct env_value *ret, struct err *e)
{
    const struct json *field = json_get(from, "fieldRef"), *resource = json_get(from, "resourceFieldRef");

    ret->is_there = true;
    if (field)
        return downward_field(b->arena, b->pod, json_member_text(field, "fieldPath"), &ret->text, e);
    if (resource)
        return downward_resource(
            b->arena, &(struct downward){ b->pod, json_member_text(b->container, "name"), b->p->agent->allocatable },
            resource, &ret->text, e);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (json_get(from, sources[i].ref))
            return ref_value(b, i, json_get(from, sources[i].ref), ret, e);
    ret->is_there = false;
    return 0;
}

static int put_env(struct env_build *b, const struct json *item, struct err *e)
{
    struct str name = json_member_text(item, "name");
    struct env_value value = { json_member_text(item, "value"), true };
    const struct json *from = json_get(item, "valueFrom");

    if ((from ? value_from(b, from, &value, e) : vars_expand(b->env, value.text, &value.text, NULL, e)) < 0)
        return err_wrap(e, "env %.*s", STR_ARG(name));
    if (value.is_there && is_env_name(name) && !str_has_char(value.text, '\0'))
        agent_env_put(b, name, value.text);
    return 0;
}

int agent_env(const struct agent_env_of *of, struct vars *env, struct err *e)
{
    struct env_build b = {
        .p = of->pod, .arena = of->arena, .pod = of->root, .container = of->container, .env = env, .e = e
    };

    agent_env_put(&b, STR("HOSTNAME"), of->pod->hostname);
    put_api_server(&b);
    put_services(&b);
    JSON_FOREACH(from, json_get(of->container, "envFrom"))
        if (put_from(&b, from, e) < 0 || b.has_failed)
            return -1;
    JSON_FOREACH(item, json_get(of->container, "env"))
        if (put_env(&b, item, e) < 0 || b.has_failed)
            return -1;
    if (json_bool(json_get(of->container, "tty"), false) && !vars_get(env, STR("TERM"), &(struct str){ 0 }))
        agent_env_put(&b, STR("TERM"), STR("xterm"));
    return b.has_failed ? -1 : 0;
}
