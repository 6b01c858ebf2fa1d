/* api_service.c - the Service "kubernetes": the server, as programs in pods find it
 *
 * The server listens at the gateway of the pods' network, and the Service has that address: its name leads there without
 * a rule of the filter, also on machines that have none. Endpoints and the slice say the same. All three are made again
 * after a client has deleted or changed them, as on every cluster.
 */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/types.h"
#include "base/util.h"

static struct json *api_ports(const struct api_service_observed *o, struct arena *a)
{
    struct json *list = json_array(a), *port = json_push(list, json_object(a));

    json_set(port, "name", json_str(a, STR("https")));
    json_set(port, "port", json_int(a, o->port));
    json_set(port, "protocol", json_str(a, STR("TCP")));
    return list;
}

/* As Kubernetes completes it. */
static struct json *api_service(const struct api_service_observed *o, struct arena *a)
{
    struct json *j = object_new(a, "v1", "Service", API_SERVICE_NAMESPACE, API_SERVICE_NAME),
                *spec = json_set(j, "spec", json_object(a));

    object_set_label(a, j, "component", STR("apiserver"));
    object_set_label(a, j, "provider", STR("kubernetes"));
    json_set(spec, "clusterIP", json_str(a, o->address));
    json_set(spec, "ports", api_ports(o, a));
    json_set(json_first(json_get(spec, "ports")), "targetPort", json_int(a, o->port));
    json_set(spec, "type", json_str(a, STR("ClusterIP")));
    json_set(spec, "sessionAffinity", json_str(a, STR("None")));
    json_set(spec, "internalTrafficPolicy", json_str(a, STR("Cluster")));
    json_set(spec, "ipFamilyPolicy", json_str(a, STR("SingleStack")));
    json_push(json_set(spec, "ipFamilies", json_array(a)), json_str(a, STR("IPv4")));
    json_push(json_set(spec, "clusterIPs", json_array(a)), json_str(a, o->address));
    return j;
}

static struct json *api_endpoints(const struct api_service_observed *o, struct arena *a)
{
    struct json *j = object_new(a, "v1", "Endpoints", API_SERVICE_NAMESPACE, API_SERVICE_NAME), *subset, *address;

    object_set_label(a, j, "endpointslice.kubernetes.io/skip-mirror", STR("true"));
    subset = json_push(json_set(j, "subsets", json_array(a)), json_object(a));
    address = json_push(json_set(subset, "addresses", json_array(a)), json_object(a));
    json_set(address, "ip", json_str(a, o->address));
    json_set(subset, "ports", api_ports(o, a));
    return j;
}

static struct json *api_slice(const struct api_service_observed *o, struct arena *a)
{
    struct json *j = object_new(a, "discovery.k8s.io/v1", "EndpointSlice", API_SERVICE_NAMESPACE, API_SERVICE_NAME),
                *endpoint;

    object_set_label(a, j, ENDPOINTS_SERVICE_LABEL, API_SERVICE_NAME);
    json_set(j, "addressType", json_str(a, STR("IPv4")));
    endpoint = json_push(json_set(j, "endpoints", json_array(a)), json_object(a));
    json_push(json_set(endpoint, "addresses", json_array(a)), json_str(a, o->address));
    json_set(json_set(endpoint, "conditions", json_object(a)), "ready", json_bool_new(a, true));
    json_set(j, "ports", api_ports(o, a));
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

/* The labels and annotations of other programs stay beside ours. */
static void keep_metadata(struct arena *a, struct json *want, const struct json *old)
{
    const struct json *labels = json_find(want, "metadata", "labels", NULL);

    json_set(want, "metadata", json_copy(a, json_get(old, "metadata")));
    JSON_FOREACH(label, labels)
        object_set_label(a, want, arena_cstr(a, json_key(label)), json_text(label, STR_NULL));
}

/* One that has all of it, and more, is left as it is. */
static void plan_api_object(struct json *want, const struct json *old, struct plan *plan)
{
    const struct resource_type *type = type_by_kind(object_api_version(want), object_kind(want));

    if (!old) {
        plan_create(plan, type, want);
        return;
    }
    if (json_find(old, "metadata", "deletionTimestamp", NULL) || has_all_of(old, want))
        return;
    keep_metadata(plan->arena, want, old);
    plan_update(plan, type, want);
}

bool api_service_is_foreign(const struct json *service)
{
    return json_find(service, "spec", "selector", NULL) && !json_find(service, "metadata", "deletionTimestamp", NULL);
}

void api_service_plan(const struct api_service_observed *o, struct plan *plan)
{
    if (!api_service_is_foreign(o->service))
        plan_api_object(api_service(o, plan->arena), o->service, plan);
    plan_api_object(api_endpoints(o, plan->arena), o->endpoints, plan);
    plan_api_object(api_slice(o, plan->arena), o->slice, plan);
}
