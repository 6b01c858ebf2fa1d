/* agent_service.c - names, Service addresses and NetworkPolicies of the pods here
 *
 * All three follow from pods, Services and policies. What changed in one turn is put into the name server and the
 * filter (agent_filter.c) once. A pod does not start before the filter knows its address; it is put in as soon as it
 * has one, while its sandbox is still being made, so that hundreds of pods bound together take one transaction.
 * Readiness alone can wait a little.
 */
#include "node/agent/agent_internal.h"

#include "api/meta.h"
#include "api/selector.h"
#include "base/rand.h"

#include <arpa/inet.h>

enum { REFRESH_MS = 50 };

struct agent_given { /* the address of a Service */
    struct str uid;  /* bytes follow */
    struct in_addr address;
    struct agent_write write;
};

struct agent_known { /* a Service in the zone */
    struct str key;  /* bytes follow */
    bool is_here;
};

struct str agent_address(struct arena *a, struct in_addr address)
{
    char text[INET_ADDRSTRLEN];

    inet_ntop(AF_INET, &address, text, sizeof(text));
    return arena_str(a, str_of(text));
}

struct str agent_gateway(const struct agent *g, struct arena *a)
{
    return agent_address(a, net_gateway(g->net));
}

int agent_listen(struct agent *g, uint16_t port, int *ret_fd, struct err *e)
{
    if (net_listen(g->net, port, ret_fd, e) < 0)
        return -1;
    g->api_port = port;
    return 0;
}

int agent_socket(const struct agent *g, int type)
{
    struct err e;
    int fd;

    return net_socket(g->net, type, &fd, &e) < 0 ? -1 : fd;
}

struct in_addr agent_address_parse(struct str text)
{
    struct in_addr ret = { 0 };
    char z[INET_ADDRSTRLEN];

    if (text.n < sizeof(z)) {
        memcpy(z, text.p ? text.p : "", text.n);
        z[text.n] = '\0';
        if (inet_pton(AF_INET, z, &ret) != 1)
            ret.s_addr = 0;
    }
    return ret;
}

/* The host's first name server, if it has one that speaks IPv4. */
static struct in_addr host_server(const struct agent *g)
{
    struct str rest = g->host_resolv, line;

    while (str_split(&rest, '\n', &line)) {
        struct in_addr at;

        if (!str_starts(line, STR("nameserver")))
            continue;
        at = agent_address_parse(str_trim(str_from(line, strlen("nameserver"))));
        if (at.s_addr)
            return at;
    }
    return (struct in_addr){ 0 };
}

int agent_services_open(struct agent *g, struct err *e)
{
    struct agent_services *s = &g->services;
    struct dns_server_options opt = { .ns_fd = net_ns_fd(g->net), .address = net_gateway(g->net) };

    if (subnet_parse(STR(AGENT_SERVICE_SUBNET), &s->addresses, e) < 0)
        return -1;
    subnet_init(&s->addresses);
    map_init(&s->known, map_seed_default());
    map_init(&s->given, map_seed_default());
    s->zone = dns_zone_new(g->opt.cluster_domain, rand_os_u64());
    if (!s->zone)
        return err_set(e, ERR_INVALID, "cluster domain \"%s\" is not a domain name", g->opt.cluster_domain);
    if (net_way_out(g->net, NULL))
        opt.forward = host_server(g);
    if (dns_server_start(s->zone, &opt, &s->server, e) < 0)
        return err_wrap(e, "start the name server of pods");
    return 0;
}

void agent_services_close(struct agent *g)
{
    struct agent_services *s = &g->services;

    dns_server_stop(s->server);
    if (s->zone)
        dns_zone_free(s->zone);
    subnet_done(&s->addresses);
    MAP_FOREACH(struct agent_known *, k, &s->known)
        free(k);
    map_done(&s->known);
    MAP_FOREACH(struct agent_given *, given, &s->given)
        free(given);
    map_done(&s->given);
    *s = (struct agent_services){ 0 };
}

/* ---- addresses of Services ---- */

static struct agent_given *agent_service_give(struct agent *g, const struct object *service, struct in_addr address)
{
    struct agent_given *given = xcalloc(1, sizeof(*given) + service->uid.n);
    char *bytes = (char *)(given + 1);

    memcpy(bytes, service->uid.p, service->uid.n);
    given->uid = (struct str){ bytes, service->uid.n };
    given->address = address;
    map_put(&g->services.given, given->uid, given);
    return given;
}

static void agent_service_take_back(struct agent *g, struct agent_given *given)
{
    agent_write_forget(g, &given->write);
    subnet_give(&g->services.addresses, given->address);
    map_remove(&g->services.given, given->uid);
    free(given);
}

/* Never give an address that a user chose to another Service. */
static void keep_address(struct agent *g, const struct object *service, struct in_addr address)
{
    struct agent_given *given = map_get(&g->services.given, service->uid);

    if (given && given->address.s_addr == address.s_addr)
        return;
    if (given)
        agent_service_take_back(g, given);
    if (subnet_hold(&g->services.addresses, address))
        agent_service_give(g, service, address);
}

static void write_address(struct agent *g, const struct object *service, struct agent_given *given)
{
    autoarena a = { 0 };
    struct op op = { .kind = OP_MERGE_PATCH,
                     .type = service->type,
                     .namespace = service->namespace,
                     .name = service->name,
                     .uid = service->uid,
                     .body = json_object(&a) };
    struct json *patch = json_set(op.body, "spec", json_object(&a));
    struct str text = agent_address(&a, given->address);

    json_set(patch, "clusterIP", json_str(&a, text));
    json_push(json_set(patch, "clusterIPs", json_array(&a)), json_str(&a, text));
    agent_write(g, &given->write, &op);
}

void agent_service_changed(struct agent *g, const struct object *service)
{
    const struct json *spec = json_get(service->root, "spec");
    struct str address_text = json_member_text(spec, "clusterIP");
    bool needs_address = address_text.n == 0 && !str_is(json_member_text(spec, "type"), "ExternalName");
    struct agent_given *given;
    struct in_addr address;

    g->services.is_dirty = true;
    if (!needs_address) {
        keep_address(g, service, agent_address_parse(address_text));
        return;
    }
    given = map_get(&g->services.given, service->uid);
    if (!given && subnet_take(&g->services.addresses, &address, NULL) < 0)
        return;
    if (!given)
        given = agent_service_give(g, service, address);
    if (given->write.has_failed && cluster_now_ms(g->cluster) < given->write.due_ms)
        g->rewrite_ms = MIN_OF(g->rewrite_ms, given->write.due_ms);
    else if (!given->write.token)
        write_address(g, service, given);
}

void agent_service_gone(struct agent *g, const struct object *service)
{
    struct agent_given *given = map_get(&g->services.given, service->uid);

    g->services.is_dirty = true;
    if (given)
        agent_service_take_back(g, given);
}

/* ---- endpoints ---- */

struct refresh {
    struct agent *agent;
    struct arena *arena;
    struct agent_slices slices;
    struct filter_input filter;
    bool has_rules; /* something to put into nftables */
};

static struct selector *service_selector(struct refresh *r, const struct json *spec)
{
    const struct json *want = json_get(spec, "selector");
    struct json *form;
    struct selector *ret;

    if (json_count(want) == 0)
        return NULL;
    form = json_object(r->arena);
    json_set(form, "matchLabels", json_copy(r->arena, want));
    return selector_from_json(r->arena, form, &ret, NULL) < 0 ? NULL : ret;
}

/* Without a target it is the Service's own port. A name may be that of any container's. */
static uint16_t target_port(const struct agent_pod *p, const struct json *port)
{
    const struct json *target = json_get(port, "targetPort");
    uint16_t found = 0;

    if (json_text(target, STR_NULL).n == 0 && json_i64(target, 0) == 0)
        target = json_get(port, "port");
    JSON_FOREACH(container, json_find(p->object->root, "spec", "containers", NULL))
        if (!found)
            found = agent_port(container, target);
    return found;
}

static char protocol_of(const struct json *port)
{
    struct str text = json_member_text(port, "protocol");

    return text.n ? text.p[0] : 'T';
}

struct agent_service { /* one, and its backends: pods by their labels, or addresses that a user wrote */
    const struct object *object;
    const struct json *spec;
    const struct selector *selector; /* NULL: it has none */
    struct agent_backends others;
    bool publishes_not_ready;
};

static bool agent_service_selects(const struct agent_service *s, const struct agent_pod *p)
{
    return s->selector && p->is_joined && str_eq(p->object->namespace, s->object->namespace) &&
           selector_matches(s->selector, json_find(p->object->root, "metadata", "labels", NULL));
}

static void add_endpoints(struct refresh *r, const struct agent_service *s, const struct json *port,
                          struct filter_service *f)
{
    uint16_t to;

    MAP_FOREACH(const struct agent_pod *, p, &r->agent->pods)
        if (agent_service_selects(s, p) && (s->publishes_not_ready || life_is_ready(p->life)) &&
            (to = target_port(p, port)) != 0)
            *vec_push(r->arena, &f->endpoints) = (struct filter_endpoint){ p->address, to };
    VEC_FOREACH(b, &s->others.list)
        if ((s->publishes_not_ready || b->is_ready) && (to = agent_backend_port(b, port)) != 0)
            *vec_push(r->arena, &f->endpoints) = (struct filter_endpoint){ b->address, to };
}

static void add_rules(struct refresh *r, const struct agent_service *s, struct in_addr address)
{
    JSON_FOREACH(port, json_get(s->spec, "ports")) {
        struct filter_service *f = vec_push(r->arena, &r->filter.services);

        f->namespace = s->object->namespace;
        f->name = s->object->name;
        f->address = address;
        f->port = (uint16_t)json_i64(json_get(port, "port"), 0);
        f->protocol = protocol_of(port);
        f->is_sticky = str_is(json_member_text(s->spec, "sessionAffinity"), "ClientIP");
        add_endpoints(r, s, port, f);
        r->has_rules = true;
    }
}

/* A pod is found below the Service that is its subdomain, by its hostname. */
static void add_hosts(struct refresh *r, const struct agent_service *s, struct dns_service *d)
{
    MAP_FOREACH(const struct agent_pod *, p, &r->agent->pods) {
        const struct json *spec = json_get(p->object->root, "spec");
        struct dns_host *h;

        if (!agent_service_selects(s, p) || life_has_ended(p->life))
            continue;
        h = vec_push(r->arena, &d->hosts);
        h->address = p->address;
        h->is_ready = life_is_ready(p->life);
        if (str_eq(json_member_text(spec, "subdomain"), s->object->name))
            h->hostname = json_member_text(spec, "hostname");
    }
    VEC_FOREACH(b, &s->others.list)
        *vec_push(r->arena, &d->hosts) = (struct dns_host){ b->hostname, b->address, b->is_ready };
}

static void know(struct agent *g, const struct object *o)
{
    autobuf key = { 0 };
    struct agent_known *k;

    buf_fmt(&key, "%.*s/%.*s", STR_ARG(o->namespace), STR_ARG(o->name));
    k = map_get(&g->services.known, buf_view(&key));
    if (!k) {
        k = xcalloc(1, sizeof(*k) + key.n);
        memcpy(k + 1, key.p, key.n);
        k->key = (struct str){ (char *)(k + 1), key.n };
        map_put(&g->services.known, k->key, k);
    }
    k->is_here = true;
}

static void agent_service_put_name(struct refresh *r, const struct dns_service *d, const struct object *o)
{
    know(r->agent, o);
    dns_zone_put(r->agent->services.zone, d);
}

static void refresh_service(struct refresh *r, const struct object *o)
{
    const struct json *spec = json_get(o->root, "spec");
    struct dns_service d = { .namespace = o->namespace, .name = o->name };
    struct agent_service s = { .object = o, .spec = spec, .selector = service_selector(r, spec) };

    if (str_is(json_member_text(spec, "type"), "ExternalName")) {
        d.alias = json_member_text(spec, "externalName");
        agent_service_put_name(r, &d, o);
        return;
    }
    d.address = agent_address_parse(json_member_text(spec, "clusterIP"));
    d.publishes_not_ready = s.publishes_not_ready = json_bool(json_get(spec, "publishNotReadyAddresses"), false);
    if (!d.address.s_addr && !str_is(json_member_text(spec, "clusterIP"), "None"))
        return;
    if (json_count(json_get(spec, "selector")) == 0)
        agent_backends_of(r->arena, r->agent, &r->slices, o, &s.others);
    JSON_FOREACH(port, json_get(spec, "ports"))
        *vec_push(r->arena, &d.ports) = (struct dns_port){ json_member_text(port, "name"), protocol_of(port),
                                                           (uint16_t)json_i64(json_get(port, "port"), 0) };
    add_hosts(r, &s, &d);
    if (d.address.s_addr && d.address.s_addr != net_gateway(r->agent->net).s_addr) /* what is at the gateway is there */
        add_rules(r, &s, d.address);
    agent_service_put_name(r, &d, o);
}

/* ---- putting it in force ---- */

static void forget_removed(struct agent *g)
{
    MAP_FOREACH(struct agent_known *, k, &g->services.known) {
        ptrdiff_t at = str_find_char(k->key, '/');

        if (k->is_here) {
            k->is_here = false;
            continue;
        }
        dns_zone_remove(g->services.zone, str_sub(k->key, 0, (size_t)at), str_from(k->key, (size_t)at + 1));
        map_remove(&g->services.known, k->key);
        free(k);
    }
}

static struct json *pod_ports(struct refresh *r, const struct agent_pod *p)
{
    struct json *ports = json_array(r->arena);

    JSON_FOREACH(container, json_find(p->object->root, "spec", "containers", NULL))
        JSON_FOREACH(port, json_get(container, "ports"))
            json_push(ports, json_copy(r->arena, port));
    return ports;
}

static void add_pods(struct refresh *r)
{
    MAP_FOREACH(const struct agent_pod *, p, &r->agent->pods) {
        struct filter_pod *f;

        if (!p->address.s_addr)
            continue;
        f = vec_push(r->arena, &r->filter.pods);
        f->namespace = p->object->namespace;
        f->name = p->object->name;
        f->labels = json_find(p->object->root, "metadata", "labels", NULL);
        f->address = p->address;
        f->ports = pod_ports(r, p);
    }
}

static void add_objects(struct refresh *r)
{
    MAP_FOREACH(const struct agent_object *, o, &r->agent->objects)
        if (o->want == WANT_SLICE)
            *vec_push(r->arena, &r->slices.list) = o->object;
    MAP_FOREACH(const struct agent_object *, o, &r->agent->objects) {
        if (o->want == WANT_SERVICE)
            refresh_service(r, o->object);
        if (o->want == WANT_POLICY) {
            *vec_push(r->arena, &r->filter.policies) = json_copy(r->arena, o->object->root);
            r->has_rules = true;
        }
        if (o->want == WANT_NAMESPACE)
            *vec_push(r->arena, &r->filter.namespaces) = json_copy(r->arena, o->object->root);
    }
}

static bool somebody_waits(const struct agent *g)
{
    MAP_FOREACH(const struct agent_pod *, p, &g->pods)
        if (p->address.s_addr && !p->filter_round)
            return true;
    return false;
}

int64_t agent_services_due(const struct agent *g)
{
    return g->services.is_dirty ? MIN_OF(g->services.next_ms, g->filter.due_ms) : g->filter.due_ms;
}

bool agent_services_refresh(struct agent *g, int64_t now_ms)
{
    autoarena a = { 0 };
    struct refresh r = { .agent = g, .arena = &a };
    autobuf batch = { 0 };

    if (agent_filter_turn(g, now_ms))
        return true;
    if (!(g->services.is_dirty && (now_ms >= g->services.next_ms || somebody_waits(g))) &&
        !agent_filter_is_due(g, now_ms))
        return false;
    g->services.is_dirty = false;
    g->services.next_ms = now_ms + REFRESH_MS;
    r.filter.id = g->run.id;
    r.filter.bridge = net_bridge(g->net);
    r.filter.gateway = net_gateway(g->net);
    dns_server_lock(g->services.server);
    add_objects(&r);
    forget_removed(g);
    dns_server_unlock(g->services.server);
    if (r.has_rules || g->filter.applied.n) {
        add_pods(&r);
        filter_batch(&a, &r.filter, &batch);
    }
    agent_filter_put(g, buf_view(&batch));
    return true;
}
