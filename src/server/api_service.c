/* api_service.c - sees to the Service default/kubernetes, as controller/api_service.c plans it */
#include "server/server_internal.h"

#include "base/log.h"

bool api_service_is(const struct object *o)
{
    return str_eq(o->namespace, API_SERVICE_NAMESPACE) && str_eq(o->name, API_SERVICE_NAME);
}

static const struct json *api_service_find(const struct server *s, const char *api_version, const char *kind)
{
    const struct object *o = store_get(s->opt.store, type_by_kind(str_of(api_version), str_of(kind)),
                                       API_SERVICE_NAMESPACE, API_SERVICE_NAME);

    return o ? o->root : NULL;
}

void api_service_keep(struct server *s)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct api_service_observed seen = { .address = s->opt.pod_address, .port = s->opt.pod_port };

    if (!seen.address.n)
        return;
    seen.service = api_service_find(s, "v1", "Service");
    seen.endpoints = api_service_find(s, "v1", "Endpoints");
    seen.slice = api_service_find(s, "discovery.k8s.io/v1", "EndpointSlice");
    api_service_plan(&seen, &plan);
    if (api_service_is_foreign(seen.service))
        log_warn(
            "A user's own Service default/kubernetes replaces ours; pods that use this name do not reach this server");
    (void)control_apply(s, &plan); /* else when one of them changes */
}
