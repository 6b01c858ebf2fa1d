/* admission_service.c - Services as Kubernetes completes them, and their rules
 *
 * An address is asked for within the range of Services, by one Service at a time, and stays: with any other a user
 * could take traffic that pods send to other hosts.
 */
#include "server/server_internal.h"

#include "api/name.h"
#include "api/schema/schemas.h"
#include "base/rand.h"
#include "node/agent/agent.h"
#include "node/net/subnet.h"

#include <arpa/inet.h>

static void default_list(struct arena *a, struct json *j, const char *key, struct str only)
{
    if (json_is(j, JSON_OBJECT) && !json_get(j, key))
        json_push(json_set(j, key, json_array(a)), json_str(a, only));
}

static bool is_elsewhere(const struct json *spec)
{
    return str_is(json_member_text(spec, "type"), "ExternalName");
}

static bool is_for_outside(const struct json *spec)
{
    struct str type = json_member_text(spec, "type");

    return str_is(type, "NodePort") || str_is(type, "LoadBalancer");
}

void service_defaults(struct arena *a, struct json *spec)
{
    struct str address = json_member_text(spec, "clusterIP");

    default_member(a, spec, "type", "ClusterIP");
    default_member(a, spec, "sessionAffinity", "None");
    if (!is_elsewhere(spec)) {
        default_member(a, spec, "internalTrafficPolicy", "Cluster");
        default_member(a, spec, "ipFamilyPolicy", "SingleStack");
        default_list(a, spec, "ipFamilies", STR("IPv4"));
    }
    if (is_for_outside(spec))
        default_member(a, spec, "externalTrafficPolicy", "Cluster");
    if (address.n)
        default_list(a, spec, "clusterIPs", address);
    JSON_FOREACH(port, json_get(spec, "ports")) {
        default_member(a, port, "protocol", "TCP");
        if (json_is(port, JSON_OBJECT) && json_is_zero(json_get(port, "targetPort")) && json_get(port, "port"))
            json_set(port, "targetPort", json_copy(a, json_get(port, "port")));
    }
}

/* ---- addresses ---- */

struct claimant { /* who has this address? */
    struct str address, namespace, name;
    bool is_taken;
};

static void look_at_service(void *ctx, const struct object *o)
{
    struct claimant *c = ctx;

    if (!str_eq(o->name, c->name) || !str_eq(o->namespace, c->namespace))
        c->is_taken |= str_eq(json_member_text(json_get(o->root, "spec"), "clusterIP"), c->address);
}

static bool admission_service_read_address(struct str text, struct in_addr *ret)
{
    char z[INET_ADDRSTRLEN] = "";

    if (!text.n || text.n >= sizeof(z))
        return false;
    memcpy(z, text.p, text.n);
    return inet_pton(AF_INET, z, ret) == 1;
}

static bool is_in_range(struct str text)
{
    struct subnet range;
    struct in_addr address;

    return admission_service_read_address(text, &address) &&
           subnet_parse(STR(AGENT_SERVICE_SUBNET), &range, NULL) == 0 && subnet_index(&range, address) >= 0;
}

static void check_address(struct server_request *rq, const struct place *spec, const struct object *old,
                          struct problems *ps)
{
    struct place at = place_member(spec, "clusterIP");
    const struct json *before = old ? json_get(old->root, "spec") : NULL;
    struct claimant c = { json_text(at.node, STR_NULL), rq->target.namespace, rq->target.name, false };
    struct str was = json_member_text(before, "clusterIP");

    if (str_eq(c.address, was) || is_elsewhere(spec->node))
        return;
    if (was.n && !is_elsewhere(before)) {
        problem_error(ps, &at, "\"%.*s\": may not change once set", STR_ARG(c.address));
        return;
    }
    if (!c.address.n || str_is(c.address, "None"))
        return;
    store_list(rq->server->opt.store, rq->type, STR_NULL, look_at_service, &c);
    if (!is_in_range(c.address))
        problem_error(ps, &at, "\"%.*s\": must be empty, \"None\", or an address within " AGENT_SERVICE_SUBNET,
                      STR_ARG(c.address));
    else if (c.is_taken)
        problem_error(ps, &at, "\"%.*s\": failed to allocate IP: provided IP is already allocated", STR_ARG(c.address));
}

static void hold_address(void *ctx, const struct object *o)
{
    struct in_addr address;

    if (admission_service_read_address(json_member_text(json_get(o->root, "spec"), "clusterIP"), &address))
        (void)subnet_hold(ctx, address); /* not in the range: it is never allocated */
}

/* One that no Service has, from a place drawn by lot: that of one that has just gone is not given to the next, which its
 * clients would take for it. None is left: the node gives it one when there is. */
void service_address(const struct server *s, struct arena *a, struct json *spec)
{
    struct subnet range;
    struct in_addr address;
    char text[INET_ADDRSTRLEN];

    if (!json_is(spec, JSON_OBJECT) || json_member_text(spec, "clusterIP").n || is_elsewhere(spec) ||
        subnet_parse(STR(AGENT_SERVICE_SUBNET), &range, NULL) < 0)
        return;
    subnet_init(&range);
    store_list(s->opt.store, type_by_kind(STR("v1"), STR("Service")), STR_NULL, hold_address, &range);
    range.next += (uint32_t)(rand_os_u64() % (1u << (31 - range.prefix))); /* in the first half, then on */
    if (subnet_take(&range, &address, NULL) == 0) {
        inet_ntop(AF_INET, &address, text, sizeof(text));
        json_set(spec, "clusterIP", json_str(a, arena_str(a, str_of(text))));
    }
    subnet_done(&range);
}

/* ---- ports of this machine ---- */

/* What tells two ports of one Service apart: "80/TCP". */
static struct str port_key(struct arena *a, const struct json *port)
{
    return arena_fmt(a, "%lld/%.*s", (long long)json_i64(json_get(port, "port"), 0),
                     STR_ARG(json_member_text(port, "protocol")));
}

enum { NODE_PORT_FIRST = 30000, NODE_PORT_LAST = 32767, NODE_PORTS = NODE_PORT_LAST - NODE_PORT_FIRST + 1 };
enum { PROTOCOLS_MAX = 4 };

struct
    admission_service_node_ports { /* those that are given away; two Services may share one for different protocols */
    struct str namespace, name;    /* of the Service that asks */
    uint64_t taken[PROTOCOLS_MAX][(NODE_PORTS + 63) / 64];
    size_t n[PROTOCOLS_MAX];
};

static size_t protocol_row(const struct json *port)
{
    struct str protocol = json_member_text(port, "protocol");
    size_t i = 0;

    while (i + 1 < PROTOCOLS_MAX && port_protocols[i] && !str_is(protocol, port_protocols[i]))
        i++;
    return i;
}

static bool has_node_ports(const struct json *spec)
{
    struct str type = json_member_text(spec, "type");

    return str_is(type, "NodePort") ||
           (str_is(type, "LoadBalancer") && json_bool(json_get(spec, "allocateLoadBalancerNodePorts"), true));
}

static bool node_port_is_held(const struct admission_service_node_ports *held, size_t row, int64_t number)
{
    size_t i = (size_t)(number - NODE_PORT_FIRST);

    return i < NODE_PORTS && (held->taken[row][i / 64] >> i % 64 & 1);
}

static void node_port_hold(struct admission_service_node_ports *held, const struct json *port)
{
    int64_t number = json_i64(json_get(port, "nodePort"), 0);
    size_t i = (size_t)(number - NODE_PORT_FIRST), row = protocol_row(port);

    if (i >= NODE_PORTS || node_port_is_held(held, row, number))
        return;
    held->taken[row][i / 64] |= UINT64_C(1) << i % 64;
    held->n[row]++;
}

static void hold_ports(void *ctx, const struct object *o)
{
    struct admission_service_node_ports *held = ctx;

    if (str_eq(o->name, held->name) && str_eq(o->namespace, held->namespace))
        return;
    JSON_FOREACH(port, json_find(o->root, "spec", "ports", NULL))
        node_port_hold(held, port);
}

/* A free one, searched from a random place. 0: there is none left. */
static int64_t node_port_draw(const struct admission_service_node_ports *held, size_t row)
{
    size_t from = (size_t)(rand_os_u64() % NODE_PORTS);

    if (held->n[row] == NODE_PORTS)
        return 0;
    while (node_port_is_held(held, row, (int64_t)(NODE_PORT_FIRST + from))) {
        bool is_word_full = from % 64 == 0 && held->taken[row][from / 64] == UINT64_MAX;

        from = (from + (is_word_full ? 64 : 1)) % NODE_PORTS;
    }
    return (int64_t)(NODE_PORT_FIRST + from);
}

/* As it was, or a new one. */
static int64_t choose_port(struct arena *a, const struct admission_service_node_ports *held, const struct json *port,
                           const struct map *before)
{
    const struct json *old = map_count(before) ? map_get(before, port_key(a, port)) : NULL;

    return old ? json_i64(json_get(old, "nodePort"), 0) : node_port_draw(held, protocol_row(port));
}

static void check_node_port(const struct place *at, const struct json *port,
                            const struct admission_service_node_ports *held, struct problems *ps)
{
    int64_t number = json_i64(at->node, 0);

    if (number < NODE_PORT_FIRST || number > NODE_PORT_LAST)
        problem_error(ps, at, "%lld: provided port is not in the valid range. The range of valid ports is %d-%d",
                      (long long)number, NODE_PORT_FIRST, NODE_PORT_LAST);
    else if (node_port_is_held(held, protocol_row(port), number))
        problem_error(ps, at, "%lld: provided port is already allocated", (long long)number);
}

/* A client that changes the type need not clear each port. */
static void leave_node_ports(const struct place *list, const struct json *before, struct problems *ps)
{
    size_t i = 0;

    JSON_FOREACH(port, list->node) {
        struct place item = place_item(list, port, i++), at = place_member(&item, "nodePort");

        if (json_i64(at.node, 0) == 0)
            continue;
        if (has_node_ports(before))
            json_remove(port, "nodePort");
        else
            problem_of(ps, PROBLEM_FORBIDDEN, &at, "may not be used when `type` is 'ClusterIP'");
    }
}

static void give_node_ports(struct server_request *rq, const struct place *list,
                            struct admission_service_node_ports *held, const struct map *before, struct problems *ps)
{
    size_t i = 0;

    JSON_FOREACH(port, list->node) {
        struct place item = place_item(list, port, i++), at = place_member(&item, "nodePort");
        int64_t number;

        if (json_i64(at.node, 0))
            check_node_port(&at, port, held, ps);
        else if ((number = choose_port(rq->arena, held, port, before)) != 0)
            json_set(port, "nodePort", json_int(rq->arena, number));
        else
            problem_error(ps, &at, "0: failed to allocate a nodePort: range is full");
        node_port_hold(held, port);
    }
}

static void admit_node_ports(struct server_request *rq, const struct place *spec, const struct object *old,
                             struct problems *ps)
{
    const struct json *had = old ? json_get(old->root, "spec") : NULL;
    struct place list = place_member(spec, "ports");
    struct admission_service_node_ports held = { rq->target.namespace, rq->target.name, .n = { 0 } };
    struct map before;

    if (!has_node_ports(spec->node)) {
        leave_node_ports(&list, had, ps);
        return;
    }
    map_init(&before, map_seed_default());
    JSON_FOREACH(port, json_get(had, "ports"))
        if (json_get(port, "nodePort"))
            (void)map_put(&before, port_key(rq->arena, port), port); /* they differ */
    store_list(rq->server->opt.store, rq->type, STR_NULL, hold_ports, &held);
    give_node_ports(rq, &list, &held, &before, ps);
    map_done(&before);
}

/* ---- ports ---- */

static void check_port(struct arena *a, const struct place *at, bool is_only, struct map *seen, struct problems *ps)
{
    struct place name = place_member(at, "name");
    struct str text = json_text(name.node, STR_NULL);

    if (!text.n && !is_only)
        problem_of(ps, PROBLEM_REQUIRED, &name, "a Service with several ports names them");
    if (text.n && !map_add(seen, a, arena_fmt(a, "name %.*s", STR_ARG(text))))
        problem_error(ps, &name, "Duplicate value: \"%.*s\"", STR_ARG(text));
    if (!map_add(seen, a, port_key(a, at->node)))
        problem_error(ps, at, "Duplicate value: port %lld, protocol %.*s",
                      (long long)json_i64(json_get(at->node, "port"), 0),
                      STR_ARG(json_member_text(at->node, "protocol")));
}

static void admission_service_check_ports(struct arena *a, const struct place *spec, struct problems *ps)
{
    struct place list = place_member(spec, "ports");
    bool may_lack = is_elsewhere(spec->node) || str_is(json_member_text(spec->node, "clusterIP"), "None");
    struct map seen;
    size_t i = 0;

    if (!json_count(list.node) && !may_lack)
        problem_of(ps, PROBLEM_REQUIRED, &list, "%s", "");
    map_init(&seen, map_seed_default());
    JSON_FOREACH(port, list.node) {
        struct place at = place_item(&list, port, i++);

        check_port(a, &at, json_count(list.node) == 1, &seen, ps);
    }
    map_done(&seen);
}

static void check_selector(struct arena *a, const struct place *spec, struct problems *ps)
{
    struct place at = place_member(spec, "selector");

    JSON_FOREACH(value, at.node) {
        const char *wrong = name_check_qualified(a, json_key(value));

        if (wrong)
            problem_error(ps, &at, "%s", wrong);
    }
}

static void check_elsewhere(const struct place *spec, struct problems *ps)
{
    struct place at = place_member(spec, "externalName");

    if (is_elsewhere(spec->node) && !json_text(at.node, STR_NULL).n)
        problem_of(ps, PROBLEM_REQUIRED, &at, "is required of an ExternalName");
}

static void check_outside(const struct place *spec, struct problems *ps)
{
    struct place at = place_member(spec, "externalTrafficPolicy");

    if (at.node && !is_for_outside(spec->node))
        problem_error(ps, &at, "may only be set for externally-accessible services");
}

/* Fields of its address and of its ports on the machine that an ExternalName has none of. */
static const char *const address_fields[] = { "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy",
                                              "internalTrafficPolicy" };

/* Fields that the new type does not have are removed, unless the client has just written them: that is an error. Fields
 * that the new type needs are set. */
static void follow_type(struct server_request *rq, struct json *own, const struct json *before)
{
    if (!is_for_outside(own) && is_for_outside(before))
        json_remove(own, "externalTrafficPolicy"); /* it is no longer an entry from outside */
    for (size_t i = 0; is_elsewhere(own) && i < ARRAY_LEN(address_fields); i++)
        if (json_get(own, address_fields[i]) && json_get(before, address_fields[i]) &&
            json_equal(json_get(own, address_fields[i]), json_get(before, address_fields[i])))
            json_remove(own, address_fields[i]);
    if (is_elsewhere(before))
        service_address(rq->server, rq->arena, own);
    /* Clients that write what they have in a file do not know the address. */
    for (size_t i = 0; !is_elsewhere(own) && !json_member_text(own, "clusterIP").n && i < 2; i++)
        if (json_get(before, address_fields[i]))
            json_set(own, address_fields[i], json_copy(rq->arena, json_get(before, address_fields[i])));
}

void admit_service_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps)
{
    struct place root = { .node = object }, spec;
    struct json *own = json_need_object(rq->arena, object, "spec");

    default_member(rq->arena, own, "type", "ClusterIP");
    if (old)
        follow_type(rq, own, json_get(old->root, "spec"));
    else
        service_address(rq->server, rq->arena, own);
    service_defaults(rq->arena, own);
    check_plain(rq, object, name_check_dns_label, ps);
    spec = place_member(&root, "spec");
    admission_service_check_ports(rq->arena, &spec, ps);
    check_selector(rq->arena, &spec, ps);
    check_elsewhere(&spec, ps);
    check_outside(&spec, ps);
    check_address(rq, &spec, old, ps);
    admit_node_ports(rq, &spec, old, ps);
}
