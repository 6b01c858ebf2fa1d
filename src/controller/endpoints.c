/* endpoints.c - who is behind a Service: its Endpoints and EndpointSlices
 *
 * Both say the same. Endpoints, which older clients read, are one object with at most a thousand addresses; slices have
 * at most a hundred each, so that a change of one pod is a small write. An endpoint stays in its slice, new ones go where
 * there is room. Pods of one Service differ in their ports when it names them: those with the same are a group, which is
 * a subset of Endpoints, and has slices of its own.
 */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "api/types.h"
#include "base/util.h"

#include <stdlib.h>

/* Who makes Endpoints. */
#define MANAGED_BY "endpoints.kubernetes.io/managed-by"
#define MANAGER    "endpoint-controller"

enum { ADDRESSES_MAX = 1000, SLICE_MAX = 100 };

struct end { /* a pod behind it */
    const struct json *pod;
    struct str address, uid;
    struct json *ports;
    bool is_ready, is_serving, is_terminating; /* ready: to be used */
    bool is_placed;                            /* in a slice */
};

struct endpoints_ends {
    VEC(struct end) list;
};

struct build {
    struct arena *arena;
    struct plan *plan;
    const struct endpoints_observed *seen;
    struct endpoints_ends ends;
};

static const struct resource_type *endpoints_type(void)
{
    return type_by_kind(STR("v1"), STR("Endpoints"));
}

static const struct resource_type *slice_type(void)
{
    return type_by_kind(STR("discovery.k8s.io/v1"), STR("EndpointSlice"));
}

/* ---- pods ---- */

static struct str port_protocol(const struct json *port)
{
    struct str text = json_member_text(port, "protocol");

    return text.n ? text : STR("TCP");
}

/* The number behind a name, of any container; the protocols have to agree. 0: this pod has none. */
static int64_t named_port(const struct json *pod, struct str name, struct str protocol)
{
    JSON_FOREACH(container, json_find(pod, "spec", "containers", NULL))
        JSON_FOREACH(port, json_get(container, "ports"))
            if (str_eq(json_member_text(port, "name"), name) && str_eq(port_protocol(port), protocol))
                return json_i64(json_get(port, "containerPort"), 0);
    return 0;
}

static int64_t target_port(const struct json *pod, const struct json *port)
{
    const struct json *target = json_get(port, "targetPort");
    int64_t number = json_i64(target, 0);

    if (json_text(target, STR_NULL).n)
        return named_port(pod, json_text(target, STR_NULL), port_protocol(port));
    return number ? number : json_i64(json_get(port, "port"), 0);
}

static struct json *ports_of(struct arena *a, const struct json *service, const struct json *pod)
{
    struct json *list = json_array(a);

    JSON_FOREACH(port, json_find(service, "spec", "ports", NULL)) {
        int64_t number = target_port(pod, port);
        struct json *j;

        if (number <= 0)
            continue;
        j = json_push(list, json_object(a));
        json_add(j, STR("name"), json_str(a, json_member_text(port, "name")));
        json_add(j, STR("port"), json_int(a, number));
        json_add(j, STR("protocol"), json_str(a, port_protocol(port)));
        if (json_member_text(port, "appProtocol").n)
            json_add(j, STR("appProtocol"), json_str(a, json_member_text(port, "appProtocol")));
    }
    return list;
}

static void endpoints_add_pod(struct build *b, const struct json *pod)
{
    const struct json *spec = json_get(b->seen->service, "spec"), *status = json_get(pod, "status");
    struct str address = json_member_text(status, "podIP");
    bool publishes = json_bool(json_get(spec, "publishNotReadyAddresses"), false);
    struct json *ports = ports_of(b->arena, b->seen->service, pod);
    struct end *end;

    if (!address.n || pod_has_ended(pod) || (json_count(json_get(spec, "ports")) && !json_count(ports)))
        return;
    end = vec_push(b->arena, &b->ends.list);
    *end = (struct end){ .pod = pod, .address = address, .uid = object_uid(pod), .ports = ports };
    end->is_serving = publishes || pod_is_ready(pod);
    end->is_terminating = json_find(pod, "metadata", "deletionTimestamp", NULL);
    end->is_ready = publishes || (end->is_serving && !end->is_terminating);
}

static int end_cmp(const void *x, const void *y)
{
    const struct end *a = x, *b = y;
    int c = str_cmp(object_name(a->pod), object_name(b->pod));

    return c ? c : str_cmp(a->uid, b->uid);
}

static void look_at_pods(struct build *b)
{
    for (size_t i = 0; i < b->seen->n_pods; i++)
        endpoints_add_pod(b, b->seen->pods[i]);
    if (b->ends.list.n)
        qsort(b->ends.list.v, b->ends.list.n, sizeof(*b->ends.list.v), end_cmp);
}

/* The first of its group stands for it. */
static bool is_first(const struct endpoints_ends *ends, const struct end *end)
{
    for (const struct end *before = ends->list.v; before < end; before++)
        if (json_equal(before->ports, end->ports))
            return false;
    return true;
}

static struct json *target_ref(struct arena *a, const struct end *end)
{
    struct json *j = json_object(a);

    json_add(j, STR("kind"), json_str(a, STR("Pod")));
    json_add(j, STR("namespace"), json_str(a, object_namespace(end->pod)));
    json_add(j, STR("name"), json_str(a, object_name(end->pod)));
    json_add(j, STR("uid"), json_str(a, end->uid));
    return j;
}

/* What names a pod below its Service, where that is its subdomain. */
static void add_names(const struct build *b, struct json *to, const struct end *end)
{
    const struct json *spec = json_get(end->pod, "spec");

    if (json_member_text(spec, "hostname").n &&
        str_eq(json_member_text(spec, "subdomain"), object_name(b->seen->service)))
        json_add(to, STR("hostname"), json_str(b->arena, json_member_text(spec, "hostname")));
    if (json_member_text(spec, "nodeName").n)
        json_add(to, STR("nodeName"), json_str(b->arena, json_member_text(spec, "nodeName")));
    json_add(to, STR("targetRef"), target_ref(b->arena, end));
}

/* ---- objects ---- */

/* What of 'fresh' differs from what is there becomes a write; nothing: none. Labels of others go, as those of the
 * Service are all that it has. */
static void write_object(struct build *b, const struct resource_type *type, const struct json *old,
                         const struct json *fresh, const char *const *members)
{
    static const char *const owned[] = { "labels", "ownerReferences" };
    struct json *body, *meta;
    bool is_same = true;

    for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
        const struct json *was = json_find(old, "metadata", owned[i], NULL),
                          *is = json_find(fresh, "metadata", owned[i], NULL);

        is_same &= was == is || (was && is && json_equal(was, is));
    }
    for (const char *const *m = members; *m; m++) {
        const struct json *was = json_get(old, *m), *is = json_get(fresh, *m);

        is_same &= (!json_count(was) && !json_count(is)) || (was && is && json_equal(was, is));
    }
    if (is_same)
        return;
    body = json_copy(b->arena, old);
    meta = json_get(body, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
        json_remove(meta, owned[i]);
        if (json_find(fresh, "metadata", owned[i], NULL))
            json_set(meta, owned[i], json_copy(b->arena, json_find(fresh, "metadata", owned[i], NULL)));
    }
    for (const char *const *m = members; *m; m++)
        if (json_get(fresh, *m))
            json_set(body, *m, json_copy(b->arena, json_get(fresh, *m)));
        else
            json_remove(body, *m);
    plan_update(b->plan, type, body);
}

static void endpoints_add_labels(const struct build *b, struct json *object, const char *managed_by,
                                 const char *manager)
{
    const struct json *service = b->seen->service;

    JSON_FOREACH(label, json_find(service, "metadata", "labels", NULL))
        object_set_label(b->arena, object, arena_cstr(b->arena, json_key(label)), json_text(label, STR_NULL));
    object_set_label(b->arena, object, managed_by, str_of(manager));
    if (str_is(json_member_text(json_get(service, "spec"), "clusterIP"), "None"))
        object_set_label(b->arena, object, "service.kubernetes.io/headless", STR(""));
}

/* ---- Endpoints ---- */

/* Those to be used, or those that are not; 'room' is what is left of the limit. */
static void add_addresses(const struct build *b, struct json *subset, const struct end *group, bool is_ready,
                          size_t *room)
{
    struct json *list = NULL;

    VEC_FOREACH(end, &b->ends.list) {
        struct json *j;

        if (end->is_ready != is_ready || (end->is_terminating && !is_ready) || !*room ||
            !json_equal(end->ports, group->ports))
            continue;
        if (!list)
            list = json_set(subset, is_ready ? "addresses" : "notReadyAddresses", json_array(b->arena));
        j = json_push(list, json_object(b->arena));
        json_add(j, STR("ip"), json_str(b->arena, end->address));
        add_names(b, j, end);
        --*room;
    }
}

/* Here a port without a name has none. */
static struct json *plain_ports(struct arena *a, const struct json *ports)
{
    struct json *list = json_copy(a, ports);

    JSON_FOREACH(port, list)
        if (!json_member_text(port, "name").n)
            json_remove(port, "name");
    return list;
}

static struct json *subsets_of(const struct build *b)
{
    struct json *list = json_array(b->arena);
    size_t room = ADDRESSES_MAX;

    VEC_FOREACH(end, &b->ends.list) {
        struct json *subset = json_object(b->arena);

        if (!is_first(&b->ends, end))
            continue;
        add_addresses(b, subset, end, true, &room);
        add_addresses(b, subset, end, false, &room);
        if (!json_count(subset))
            continue;
        if (json_count(end->ports))
            json_set(subset, "ports", plain_ports(b->arena, end->ports));
        json_push(list, subset);
    }
    return list;
}

static void plan_endpoints(struct build *b)
{
    static const char *const members[] = { "subsets", NULL };
    struct json *fresh = object_new(b->arena, "v1", "Endpoints", object_namespace(b->seen->service),
                                    object_name(b->seen->service));

    endpoints_add_labels(b, fresh, MANAGED_BY, MANAGER);
    json_set(fresh, "subsets", subsets_of(b));
    if (b->seen->endpoints)
        write_object(b, endpoints_type(), b->seen->endpoints, fresh, members);
    else
        plan_create(b->plan, endpoints_type(), fresh);
}

/* ---- slices ---- */

static struct json *endpoint_json(const struct build *b, const struct end *end)
{
    struct arena *a = b->arena;
    struct json *j = json_object(a), *conditions;

    json_push(json_set(j, "addresses", json_array(a)), json_str(a, end->address));
    conditions = json_set(j, "conditions", json_object(a));
    json_add(conditions, STR("ready"), json_bool_new(a, end->is_ready));
    json_add(conditions, STR("serving"), json_bool_new(a, end->is_serving));
    json_add(conditions, STR("terminating"), json_bool_new(a, end->is_terminating));
    add_names(b, j, end);
    return j;
}

static struct json *slice_new(const struct build *b, const struct json *ports, struct json *endpoints)
{
    const struct json *service = b->seen->service;
    struct json *j = object_new(b->arena, "discovery.k8s.io/v1", "EndpointSlice", object_namespace(service), STR_NULL);
    struct json *meta = json_get(j, "metadata");

    json_remove(meta, "name");
    json_set(meta, "generateName", json_fmt(b->arena, "%.*s-", STR_ARG(object_name(service))));
    endpoints_add_labels(b, j, "endpointslice.kubernetes.io/managed-by", ENDPOINTS_MANAGER);
    object_set_label(b->arena, j, ENDPOINTS_SERVICE_LABEL, object_name(service));
    object_set_controller(b->arena, j, service);
    json_set(j, "addressType", json_str(b->arena, STR("IPv4")));
    json_set(j, "endpoints", endpoints);
    json_set(j, "ports", json_copy(b->arena, ports));
    return j;
}

struct endpoints_kept { /* a slice that is there */
    const struct json *old;
    struct json *endpoints;
};

static struct end *find_end(const struct build *b, const struct end *group, const struct json *endpoint)
{
    struct str uid = json_member_text(json_get(endpoint, "targetRef"), "uid");

    VEC_FOREACH(end, &b->ends.list)
        if (!end->is_placed && str_eq(end->uid, uid) && json_equal(end->ports, group->ports))
            return end;
    return NULL;
}

static void keep_endpoints(struct build *b, const struct end *group, struct endpoints_kept *slice)
{
    slice->endpoints = json_array(b->arena);
    JSON_FOREACH(endpoint, json_get(slice->old, "endpoints")) {
        struct end *end = json_count(slice->endpoints) < SLICE_MAX ? find_end(b, group, endpoint) : NULL;

        if (!end)
            continue;
        end->is_placed = true;
        json_push(slice->endpoints, endpoint_json(b, end));
    }
}

static void endpoints_fill(struct build *b, const struct end *group, struct json *endpoints)
{
    VEC_FOREACH(end, &b->ends.list) {
        if (json_count(endpoints) >= SLICE_MAX)
            return;
        if (end->is_placed || !json_equal(end->ports, group->ports))
            continue;
        end->is_placed = true;
        json_push(endpoints, endpoint_json(b, end));
    }
}

static bool endpoints_is_missing(const struct build *b, const struct end *group)
{
    VEC_FOREACH(end, &b->ends.list)
        if (!end->is_placed && json_equal(end->ports, group->ports))
            return true;
    return false;
}

/* The slices of one group: 'slices' has those that are not spoken for yet, and loses these. Returns how many there are
 * to be. */
static size_t endpoints_plan_group(struct build *b, const struct end *group, struct endpoints_kept *slices)
{
    static const char *const members[] = { "endpoints", "ports", NULL };
    size_t n = 0;

    for (size_t i = 0; i < b->seen->n_slices; i++)
        if (slices[i].old && json_equal(json_get(slices[i].old, "ports"), group->ports))
            keep_endpoints(b, group, &slices[i]);
    for (size_t i = 0; i < b->seen->n_slices; i++) {
        if (!slices[i].endpoints)
            continue;
        endpoints_fill(b, group, slices[i].endpoints);
        if (json_count(slices[i].endpoints)) {
            write_object(b, slice_type(), slices[i].old, slice_new(b, group->ports, slices[i].endpoints), members);
            slices[i].old = NULL;
            n++;
        }
        slices[i].endpoints = NULL;
    }
    while (endpoints_is_missing(b, group)) {
        struct json *endpoints = json_array(b->arena);

        endpoints_fill(b, group, endpoints);
        plan_create(b->plan, slice_type(), slice_new(b, group->ports, endpoints));
        n++;
    }
    return n;
}

/* A Service without pods has one slice without endpoints: so people see that it was looked at. */
static void plan_slices(struct build *b)
{
    static const char *const members[] = { "endpoints", "ports", NULL };
    struct endpoints_kept *slices = arena_array(b->arena, struct endpoints_kept, b->seen->n_slices + 1);
    struct json *nothing = slice_new(b, json_array(b->arena), json_array(b->arena));
    size_t n = 0, i = 0;

    for (i = 0; i < b->seen->n_slices; i++)
        slices[i] = (struct endpoints_kept){ .old = b->seen->slices[i] };
    VEC_FOREACH(end, &b->ends.list)
        if (is_first(&b->ends, end))
            n += endpoints_plan_group(b, end, slices);
    for (i = 0; i < b->seen->n_slices; i++) {
        if (!slices[i].old)
            continue;
        if (n++ == 0)
            write_object(b, slice_type(), slices[i].old, nothing, members);
        else
            plan_delete(b->plan, object_id_of(slice_type(), slices[i].old));
    }
    if (!n)
        plan_create(b->plan, slice_type(), nothing);
}

void endpoints_plan(const struct endpoints_observed *o, struct plan *plan)
{
    struct build b = { .arena = plan->arena, .plan = plan, .seen = o };

    if (!o->service && o->endpoints && str_is(object_label(o->endpoints, MANAGED_BY), MANAGER))
        plan_delete(plan, object_id_of(endpoints_type(), o->endpoints));
    if (!o->service || o->namespace_is_ending || json_find(o->service, "metadata", "deletionTimestamp", NULL))
        return;
    look_at_pods(&b);
    plan_endpoints(&b);
    plan_slices(&b);
}
