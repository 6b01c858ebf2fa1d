/* api_service.c - the Service "kubernetes": this server, as programs in pods find it
 *
 * The server listens at the gateway of the pods' network, and the Service has that address: its name leads there without
 * a rule of the filter, also on machines that have none. Endpoints and the slice say the same. Whoever deletes or changes
 * them finds them made again, as on every cluster.
 */
#include "server/server_internal.h"

#include "base/log.h"
#include "controller/controller.h"

#define NAMESPACE STR("default")
#define NAME      STR("kubernetes")

static struct json *ports_new(const struct server *s, struct arena *a)
{
    struct json *list = json_array(a), *port = json_push(list, json_object(a));

    json_set(port, "name", json_str(a, STR("https")));
    json_set(port, "port", json_int(a, s->opt.pod_port));
    json_set(port, "protocol", json_str(a, STR("TCP")));
    return list;
}

static struct json *service_new(const struct server *s, struct arena *a)
{
    struct json *j = object_new(a, "v1", "Service", NAMESPACE, NAME), *spec = json_set(j, "spec", json_object(a));

    object_set_label(a, j, "component", STR("apiserver"));
    object_set_label(a, j, "provider", STR("kubernetes"));
    json_set(spec, "clusterIP", json_str(a, s->opt.pod_address));
    json_set(spec, "ports", ports_new(s, a));
    service_defaults(a, spec);
    return j;
}

static struct json *endpoints_new(const struct server *s, struct arena *a)
{
    struct json *j = object_new(a, "v1", "Endpoints", NAMESPACE, NAME), *subset, *address;

    object_set_label(a, j, "endpointslice.kubernetes.io/skip-mirror", STR("true"));
    subset = json_push(json_set(j, "subsets", json_array(a)), json_object(a));
    address = json_push(json_set(subset, "addresses", json_array(a)), json_object(a));
    json_set(address, "ip", json_str(a, s->opt.pod_address));
    json_set(subset, "ports", ports_new(s, a));
    return j;
}

static struct json *slice_new(const struct server *s, struct arena *a)
{
    struct json *j = object_new(a, "discovery.k8s.io/v1", "EndpointSlice", NAMESPACE, NAME), *endpoint;

    object_set_label(a, j, ENDPOINTS_SERVICE_LABEL, NAME);
    json_set(j, "addressType", json_str(a, STR("IPv4")));
    endpoint = json_push(json_set(j, "endpoints", json_array(a)), json_object(a));
    json_push(json_set(endpoint, "addresses", json_array(a)), json_str(a, s->opt.pod_address));
    json_set(json_set(endpoint, "conditions", json_object(a)), "ready", json_bool_new(a, true));
    json_set(j, "ports", ports_new(s, a));
    return j;
}

static bool has_all_of(const struct json *have, const struct json *want)
{
    JSON_FOREACH(member, want) {
        const struct json *there = json_get_str(have, json_key(member));

        if (!there || !(json_is(member, JSON_OBJECT) ? has_all_of(there, member) : json_equal(there, member)))
            return false;
    }
    return true;
}

/* What others have put there stays, besides our labels. */
static void keep_metadata(struct arena *a, struct json *want, const struct object *old)
{
    const struct json *labels = json_find(want, "metadata", "labels", NULL);

    json_set(want, "metadata", json_copy(a, json_get(old->root, "metadata")));
    JSON_FOREACH(label, labels)
        object_set_label(a, want, arena_cstr(a, json_key(label)), json_text(label, STR_NULL));
}

/* One that has all of it, and more, is left as it is. */
static void server_api_service_keep(struct server *s, struct arena *a, struct json *want)
{
    const struct resource_type *type = type_by_kind(object_api_version(want), object_kind(want));
    const struct object *old = store_get(s->opt.store, type, NAMESPACE, NAME);
    struct err e;
    int rc;

    if (old && (json_find(old->root, "metadata", "deletionTimestamp", NULL) || has_all_of(old->root, want)))
        return;
    if (old && json_find(old->root, "spec", "selector", NULL)) {
        log_warn(
            "server: the Service default/kubernetes is somebody's own: programs in pods that look for this server by "
            "that name find that one");
        return;
    }
    if (old)
        keep_metadata(a, want, old);
    rc = old ? store_update(s->opt.store, want, STORE_MAIN, NULL, &e) : store_create(s->opt.store, want, NULL, &e);
    if (rc < 0)
        log_warn("server: what names this server could not be written", LOG_STR("kind", object_kind(want)),
                 LOG_TEXT("error", e.text));
}

bool api_service_is(const struct object *o)
{
    return str_eq(o->namespace, NAMESPACE) && str_eq(o->name, NAME);
}

void api_service_keep(struct server *s)
{
    static struct json *(*const make[])(const struct server *s, struct arena *a) = { service_new, endpoints_new,
                                                                                     slice_new };
    autoarena a = { 0 };

    for (size_t i = 0; s->opt.pod_address.n && i < ARRAY_LEN(make); i++)
        server_api_service_keep(s, &a, make[i](s, &a));
}
