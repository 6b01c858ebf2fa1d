/* agent_endpoints.c - backends of a Service without a selector: the Endpoints and EndpointSlices that users wrote
 *
 * Those that the server makes for Services with a selector are not looked at: the pods here are known first hand. An
 * address of this machine's own (loopback, link-local) is ignored, and so is that of a Service, which has no host.
 */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "node/net/subnet.h"

#include <arpa/inet.h>

bool agent_endpoints_are_made(const struct object *o)
{
    return object_label(o->root, "endpoints.kubernetes.io/managed-by").n ||
           str_is(object_label(o->root, "endpointslice.kubernetes.io/managed-by"), "endpointslice-controller.k8s.io");
}

static bool may_be_led_to(struct in_addr address)
{
    uint32_t a = ntohl(address.s_addr);
    struct subnet services;

    return a && a >> 24 != 127 && a >> 16 != 0xa9fe && a >> 28 < 14 &&
           (subnet_parse(STR(AGENT_SERVICE_SUBNET), &services, NULL) < 0 || subnet_index(&services, address) < 0);
}

static void add_backend(struct arena *a, struct agent_backends *to, struct agent_backend b)
{
    if (may_be_led_to(b.address))
        *vec_push(a, &to->list) = b;
}

static void add_addresses(struct arena *a, struct agent_backends *to, const struct json *subset, bool is_ready)
{
    JSON_FOREACH(address, json_get(subset, is_ready ? "addresses" : "notReadyAddresses"))
        add_backend(a, to,
                    (struct agent_backend){ agent_address_parse(json_member_text(address, "ip")),
                                            json_member_text(address, "hostname"), is_ready,
                                            json_get(subset, "ports") });
}

static void add_subsets(struct arena *a, const struct object *endpoints, struct agent_backends *to)
{
    JSON_FOREACH(subset, json_get(endpoints->root, "subsets")) {
        add_addresses(a, to, subset, true);
        add_addresses(a, to, subset, false);
    }
}

static void add_slice(struct arena *a, const struct object *slice, struct agent_backends *to)
{
    JSON_FOREACH(endpoint, json_get(slice->root, "endpoints")) {
        bool is_ready = json_bool(json_find(endpoint, "conditions", "ready", NULL), true); /* unknown is as good */

        JSON_FOREACH(address, json_get(endpoint, "addresses"))
            add_backend(a, to,
                        (struct agent_backend){ agent_address_parse(json_text(address, STR_NULL)),
                                                json_member_text(endpoint, "hostname"), is_ready,
                                                json_get(slice->root, "ports") });
    }
}

void agent_backends_of(struct arena *a, const struct agent *g, const struct agent_slices *slices,
                       const struct object *service, struct agent_backends *ret)
{
    const struct object *endpoints = agent_find(g, WANT_ENDPOINTS, service->namespace, service->name);

    if (endpoints)
        add_subsets(a, endpoints, ret);
    VEC_FOREACH(slice, &slices->list)
        if (str_eq((*slice)->namespace, service->namespace) &&
            str_eq(object_label((*slice)->root, "kubernetes.io/service-name"), service->name))
            add_slice(a, *slice, ret);
}

/* Ports are matched by their names; that of a Service with one port is mostly empty on both sides. */
uint16_t agent_backend_port(const struct agent_backend *b, const struct json *service_port)
{
    struct str want = json_member_text(service_port, "protocol");

    JSON_FOREACH(port, b->ports) {
        struct str protocol = json_member_text(port, "protocol");

        if (str_eq(json_member_text(port, "name"), json_member_text(service_port, "name")) &&
            str_eq(protocol.n ? protocol : STR("TCP"), want.n ? want : STR("TCP")))
            return (uint16_t)json_i64(json_get(port, "port"), 0);
    }
    return 0;
}
