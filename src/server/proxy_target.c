/* proxy_target.c - pods/proxy, services/proxy and nodes/proxy: the pod and port of a name, and who may reach it
 *
 * The name is NAME, NAME:PORT or SCHEME:NAME:PORT, as in Kubernetes. What follows "proxy" in the path is the pod's.
 *
 * Nothing that a user can write into an object says where a request goes. A pod is reached at the address that this node
 * gave it (kubelet_proxy), whatever its status says. Of Endpoints only those that refer to a pod of the same namespace
 * count. The request goes to that pod; the address in the Endpoints is ignored. The user must also be allowed to enter the
 * pod, as for port-forward.
 */
#include "server/server_internal.h"

#include "base/rand.h"
#include "kubelet/kubelet.h"

enum { NODE_PORT = 10250 };

int proxy_name_parse(struct str id, struct proxy_name *ret)
{
    struct str parts[3], scheme;
    size_t n = 0;

    for (ptrdiff_t colon; (colon = str_find_char(id, ':')) >= 0; id = str_from(id, (size_t)colon + 1)) {
        if (n == 2)
            return -1;
        parts[n++] = str_sub(id, 0, (size_t)colon);
    }
    parts[n++] = id;
    scheme = n == 3 ? parts[0] : STR_NULL;
    *ret = (struct proxy_name){ .is_tls = str_is(scheme, "https"),
                                .name = parts[n == 3 ? 1 : 0],
                                .port = n > 1 ? parts[n - 1] : STR_NULL };
    return ret->name.n && (!scheme.n || ret->is_tls || str_is(scheme, "http")) ? 0 : -1;
}

static int fail_name(struct server_request *rq)
{
    return fail_with(rq, REASON_BAD_REQUEST, "invalid %.*s request \"%.*s\"",
                     STR_ARG(arena_lower(rq->arena, str_of(rq->type->kind))), STR_ARG(str_cut(rq->target.name, 200)));
}

static const struct object *find_object(const struct server_request *rq, const char *kind, struct str name)
{
    const struct resource_type *type = type_by_kind(STR("v1"), str_of(kind));

    return store_get(rq->server->opt.store, type, rq->target.namespace, name);
}

/* ---- pods ---- */

/* The first that a container names. */
static int64_t pod_port(const struct json *pod, bool is_tls)
{
    JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL))
        JSON_FOREACH(port, json_get(c, "ports"))
            return json_i64(json_get(port, "containerPort"), 0);
    return is_tls ? 443 : 80;
}

static int target_pod(struct server_request *rq, const struct proxy_name *name, struct kubelet_proxy *ret)
{
    const struct object *pod = find_object(rq, "Pod", name->name);
    int64_t port = 0;

    if (!pod)
        return fail_not_found(rq, rq->type, name->name);
    if (!name->port.n)
        port = pod_port(pod->root, name->is_tls);
    else if (str_to_i64(name->port, &port) < 0)
        return fail_name(rq);
    if (port < 1 || port > UINT16_MAX)
        return fail_name(rq);
    if (access_enter(rq, pod) < 0)
        return -1;
    if (!json_member_text(json_get(pod->root, "spec"), "nodeName").n)
        return fail_with(rq, REASON_BAD_REQUEST, "pod %.*s does not have a host assigned", STR_ARG(pod->name));
    ret->port = (uint16_t)port;
    ret->pod_uid = arena_str(rq->arena, pod->uid);
    return 0;
}

/* ---- Services ---- */

/* A number is that of a port of the Service, and means its name. */
static int service_port(struct server_request *rq, const struct object *service, struct str port, struct str *ret)
{
    int64_t number;

    *ret = port;
    if (!port.n || str_to_i64(port, &number) < 0)
        return 0;
    JSON_FOREACH(p, json_find(service->root, "spec", "ports", NULL))
        if (json_i64(json_get(p, "port"), 0) == number) {
            *ret = json_member_text(p, "name");
            return 0;
        }
    return fail_with(rq, REASON_UNAVAILABLE, "no service port %lld found for service \"%.*s\"", (long long)number,
                     STR_ARG(service->name));
}

struct backend {
    const struct object *pod;
    uint16_t port;
};

struct backends {
    VEC(struct backend) list;
};

/* The ready pods of a subset that has this port. */
static void subset_backends(const struct server_request *rq, const struct json *subset, struct str port,
                            struct backends *ret)
{
    JSON_FOREACH(p, json_get(subset, "ports")) {
        int64_t number = json_i64(json_get(p, "port"), 0);

        if (!str_eq(json_member_text(p, "name"), port) || number < 1 || number > UINT16_MAX)
            continue;
        JSON_FOREACH(address, json_get(subset, "addresses")) {
            const struct json *ref = json_get(address, "targetRef");
            struct str namespace = json_member_text(ref, "namespace");
            const struct object *pod = str_is(json_member_text(ref, "kind"), "Pod") &&
                                               (!namespace.n || str_eq(namespace, rq->target.namespace))
                                           ? find_object(rq, "Pod", json_member_text(ref, "name"))
                                           : NULL;

            if (pod)
                *vec_push(rq->arena, &ret->list) = (struct backend){ pod, (uint16_t)number };
        }
    }
}

static int target_service(struct server_request *rq, const struct proxy_name *name, struct kubelet_proxy *ret)
{
    const struct object *service = find_object(rq, "Service", name->name),
                        *endpoints = find_object(rq, "Endpoints", name->name);
    struct backends all = { 0 };
    struct backend *one;
    struct str port;

    if (!service)
        return fail_not_found(rq, rq->type, name->name);
    if (service_port(rq, service, name->port, &port) < 0)
        return -1;
    if (endpoints)
        JSON_FOREACH(subset, json_get(endpoints->root, "subsets"))
            subset_backends(rq, subset, port, &all);
    if (!all.list.n)
        return fail_with(rq, REASON_UNAVAILABLE, "no endpoints available for service \"%.*s\"", STR_ARG(name->name));
    one = &all.list.v[rand_os_u64() % all.list.n];
    ret->port = one->port;
    ret->pod_uid = arena_str(rq->arena, one->pod->uid);
    return access_enter(rq, one->pod);
}

/* ---- this node ---- */

/* The kubelet's paths (kubelet.h) give access to every pod, so only administrators may use them, whatever RBAC says. */
static int proxy_node(struct server_request *rq, const struct proxy_name *name)
{
    struct kubelet *kubelet = rq->server->opt.kubelet;
    int64_t port = NODE_PORT;

    if (!identity_has_group(&rq->caller.who, STR(GROUP_MASTERS)))
        return fail_with(rq, REASON_FORBIDDEN, "nodes \"%.*s\" is forbidden: User \"%.*s\" is not in group \"%s\"",
                         STR_ARG(name->name), STR_ARG(rq->caller.who.user), GROUP_MASTERS);
    if (!find_object(rq, "Node", name->name))
        return fail_not_found(rq, rq->type, name->name);
    if (name->port.n && (str_to_i64(name->port, &port) < 0 || port != NODE_PORT))
        return fail_with(rq, REASON_BAD_REQUEST, "node \"%.*s\" has no other port than %d", STR_ARG(name->name),
                         NODE_PORT);
    if (!kubelet || !str_eq(kubelet_node(kubelet), name->name))
        return fail_with(rq, REASON_UNAVAILABLE, "error trying to reach service: node \"%.*s\" is not this machine",
                         STR_ARG(name->name));
    rq->call->path = rq->target.rest.n ? str_from(rq->call->path, rq->call->path.n - rq->target.rest.n) : STR("/");
    rq->is_answered = true;
    kubelet_serve(kubelet, rq->call);
    return 0;
}

/* ---- the request ---- */

/* Relative links of a page at ".../proxy" would lead to ".../", so the browser is redirected to ".../proxy/". */
static bool redirects_to_slash(struct server_request *rq, struct str prefix)
{
    const struct http_call *call = rq->call;
    struct str to;

    if (rq->target.rest.n || rq->verb != VERB_GET || http_call_header(call, "Upgrade").n)
        return false;
    to = arena_fmt(rq->arena, "Location: %.*s/%s%.*s", STR_ARG(prefix), call->query.n ? "?" : "", STR_ARG(call->query));
    reply_text(rq, 301, NULL, STR_NULL, (const char *const[]){ to.p, NULL });
    return true;
}

int handle_proxy(struct server_request *rq)
{
    bool is_pod = strcmp(rq->type->kind, "Pod") == 0;
    struct str prefix = str_sub(rq->call->path, 0, rq->call->path.n - rq->target.rest.n);
    struct kubelet_proxy to = { .prefix = arena_str(rq->arena, prefix), .user = rq->caller.real.user };
    struct proxy_name name;
    struct kubelet *kubelet;

    if (proxy_name_parse(rq->target.name, &name) < 0)
        return fail_name(rq);
    if (strcmp(rq->type->kind, "Node") == 0)
        return proxy_node(rq, &name);
    if ((is_pod ? target_pod : target_service)(rq, &name, &to) < 0 || need_kubelet(rq, &kubelet) < 0)
        return -1;
    if (redirects_to_slash(rq, to.prefix))
        return 0;
    to.is_tls = name.is_tls;
    to.path = arena_fmt(rq->arena, "%.*s%s%.*s", STR_ARG(rq->target.rest.n ? rq->target.rest : STR("/")),
                        rq->call->query.n ? "?" : "", STR_ARG(rq->call->query));
    rq->is_answered = true;
    kubelet_proxy(kubelet, rq->call, &to);
    return 0;
}
