/* dns_zone.c - the services the responder knows
 *
 * A service is kept as it is published: members sorted by name and by address, so that a question costs one hash and
 * one binary search however many pods the service has. A second map leads from an address to the services that have it;
 * also to those where it is not published, for such an address is ours to deny.
 */
#include "node/dns/dns_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

struct space {
    size_t n; /* services */
    size_t name_n;
    char name[];
};

struct owner {
    uint32_t address;
    struct list links; /* struct dns_link by key of the service */
};

/* ---- making ---- */

struct dns_zone *dns_zone_new(const char *domain, uint64_t seed)
{
    struct dns_zone *z = xcalloc(1, sizeof(*z));

    if (dns_name_parse(str_of(domain), &z->domain) < 0) {
        free(z);
        return NULL;
    }
    dns_labels_of(&z->labels, z->domain.wire, z->domain.n);
    map_init(&z->services, seed);
    map_init(&z->namespaces, seed);
    map_u64_init(&z->owners, seed);
    z->seed = seed;
    z->serial = 1;
    return z;
}

static void entry_free(struct dns_entry *e)
{
    arena_done(&e->arena);
    free(e);
}

void dns_zone_free(struct dns_zone *z)
{
    if (!z)
        return;
    MAP_FOREACH(struct dns_entry *, e, &z->services)
        entry_free(e);
    MAP_FOREACH(struct space *, s, &z->namespaces)
        free(s);
    MAP_FOREACH(struct owner *, o, &z->owners.map)
        free(o);
    map_done(&z->services);
    map_done(&z->namespaces);
    map_u64_done(&z->owners);
    free(z);
}

void dns_zone_set_server(struct dns_zone *z, struct in_addr address)
{
    z->server = address;
    z->serial++;
}

/* ---- a service as it is published ---- */

int dns_address_cmp(struct in_addr a, struct in_addr b)
{
    uint32_t x = ntohl(a.s_addr), y = ntohl(b.s_addr);

    return (x > y) - (x < y);
}

static int dns_zone_by_name(const void *a, const void *b)
{
    const struct dns_member *x = a, *y = b;
    int c = str_cmp(x->name, y->name);

    return c ? c : dns_address_cmp(x->address, y->address);
}

static int by_address(const void *a, const void *b)
{
    const struct dns_member *const *x = a, *const *y = b;
    int c = dns_address_cmp((*x)->address, (*y)->address);

    return c ? c : str_cmp((*x)->name, (*y)->name);
}

static int address_order(const void *a, const void *b)
{
    return dns_address_cmp(*(const struct in_addr *)a, *(const struct in_addr *)b);
}

static int port_order(const void *a, const void *b)
{
    const struct dns_port *x = a, *y = b;
    int c = x->protocol - y->protocol;

    c = c ? c : str_cmp(x->name, y->name);
    return c ? c : x->port - y->port;
}

/* Sort, and keep one of each; returns how many are left. */
static size_t sort_unique(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    char *v = items;
    size_t kept = 0;

    if (n == 0)
        return 0;
    qsort(v, n, size, compare);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || compare(v + (kept - 1) * size, v + i * size) != 0)
            memmove(v + kept++ * size, v + i * size, size);
    return kept;
}

static void take_members(struct dns_entry *e, const struct dns_service *s)
{
    VEC_FOREACH(host, &s->hosts) {
        const uint8_t *b = (const uint8_t *)&host->address.s_addr;
        struct dns_member *m;

        if (host->address.s_addr == 0 || !(host->is_ready || s->publishes_not_ready))
            continue;
        m = vec_push(&e->arena, &e->members);
        m->name = arena_lower(&e->arena, host->hostname);
        m->is_named = dns_is_label(m->name);
        if (!m->is_named)
            m->name = arena_fmt(&e->arena, "%u-%u-%u-%u", b[0], b[1], b[2], b[3]);
        m->address = host->address;
    }
    e->members.n = sort_unique(e->members.v, e->members.n, sizeof(*e->members.v), dns_zone_by_name);
    VEC_FOREACH(m, &e->members) {
        *vec_push(&e->arena, &e->by_address) = m;
        *vec_push(&e->arena, &e->addresses) = m->address;
    }
    if (e->by_address.n)
        qsort(e->by_address.v, e->by_address.n, sizeof(*e->by_address.v), by_address);
    e->addresses.n = sort_unique(e->addresses.v, e->addresses.n, sizeof(*e->addresses.v), address_order);
}

static void take_ports(struct dns_entry *e, const struct dns_service *s)
{
    VEC_FOREACH(port, &s->ports) {
        struct str name = arena_lower(&e->arena, port->name);

        /* Below the maximum: '_' comes in front of it. */
        if (dns_is_label(name) && name.n < DNS_LABEL_MAX && dns_protocol_label(port->protocol).n)
            *vec_push(&e->arena, &e->ports) = (struct dns_port){ name, port->protocol, port->port };
    }
    e->ports.n = sort_unique(e->ports.v, e->ports.n, sizeof(*e->ports.v), port_order);
}

/* Each address once, published or not. */
static void take_links(struct dns_entry *e, const struct dns_service *s)
{
    VEC(struct in_addr) all = { 0 };

    if (s->address.s_addr)
        *vec_push(&e->arena, &all) = s->address;
    VEC_FOREACH(host, &s->hosts)
        if (host->address.s_addr)
            *vec_push(&e->arena, &all) = host->address;
    e->n_links = sort_unique(all.v, all.n, sizeof(*all.v), address_order);
    e->links = arena_array(&e->arena, struct dns_link, e->n_links);
    for (size_t i = 0; i < e->n_links; i++)
        e->links[i] = (struct dns_link){ .entry = e, .address = all.v[i].s_addr };
}

static struct dns_entry *entry_new(const struct dns_zone *z, const struct dns_service *s)
{
    struct dns_entry *e = xcalloc(1, sizeof(*e));
    struct dns_name svc = dns_name_under(STR("svc"), &z->domain);

    e->namespace = arena_lower(&e->arena, s->namespace);
    e->name = arena_lower(&e->arena, s->name);
    svc = dns_name_under(e->namespace, &svc);
    e->wire = dns_name_under(e->name, &svc);
    if (!dns_is_label(e->namespace) || !dns_is_label(e->name) || e->wire.n == 0) {
        entry_free(e);
        return NULL;
    }
    e->key = arena_fmt(&e->arena, "%.*s.%.*s", STR_ARG(e->namespace), STR_ARG(e->name));
    e->address = s->address;
    if (dns_name_parse(s->alias, &e->alias) < 0)
        e->alias.n = 0;
    take_members(e, s);
    take_ports(e, s);
    take_links(e, s);
    return e;
}

/* ---- in and out ---- */

static void link_address(struct dns_zone *z, struct dns_link *l)
{
    struct owner *o = map_u64_get(&z->owners, l->address);
    struct list_link *before;

    if (!o) {
        o = xcalloc(1, sizeof(*o));
        o->address = l->address;
        list_init(&o->links);
        map_u64_put(&z->owners, l->address, o);
    }
    before = &o->links.head;
    LIST_FOREACH(struct dns_link, other, &o->links, link) {
        if (str_cmp(other->entry->key, l->entry->key) > 0) {
            before = &other->link;
            break;
        }
    }
    list_insert_before(before, &l->link);
}

static void unlink_address(struct dns_zone *z, struct dns_link *l)
{
    struct owner *o = map_u64_get(&z->owners, l->address);

    list_remove(&l->link);
    if (list_is_empty(&o->links))
        free(map_u64_remove(&z->owners, l->address));
}

static void enter_space(struct dns_zone *z, struct str name)
{
    struct space *s = map_get(&z->namespaces, name);

    if (!s) {
        s = xcalloc(1, sizeof(*s) + name.n);
        memcpy(s->name, name.p, name.n);
        s->name_n = name.n;
        map_put(&z->namespaces, (struct str){ s->name, s->name_n }, s);
    }
    s->n++;
}

static void leave_space(struct dns_zone *z, struct str name)
{
    struct space *s = map_get(&z->namespaces, name);

    if (--s->n == 0)
        free(map_remove(&z->namespaces, name));
}

static void dns_zone_drop(struct dns_zone *z, struct dns_entry *e)
{
    map_remove(&z->services, e->key);
    for (size_t i = 0; i < e->n_links; i++)
        unlink_address(z, &e->links[i]);
    leave_space(z, e->namespace);
    z->serial++;
    entry_free(e);
}

void dns_zone_put(struct dns_zone *z, const struct dns_service *s)
{
    struct dns_entry *e = entry_new(z, s), *old = e ? map_get(&z->services, e->key) : NULL;

    if (!e)
        return;
    if (old) {
        /* a change must not begin the turns again, or the first ones get more than their share */
        memcpy(e->turn_a, old->turn_a, sizeof(e->turn_a));
        memcpy(e->turn_srv, old->turn_srv, sizeof(e->turn_srv));
        dns_zone_drop(z, old);
    }
    map_put(&z->services, e->key, e);
    enter_space(z, e->namespace);
    for (size_t i = 0; i < e->n_links; i++)
        link_address(z, &e->links[i]);
    z->serial++;
}

struct dns_entry *dns_zone_service(const struct dns_zone *z, struct str namespace, struct str name)
{
    char key[2 * DNS_LABEL_MAX + 1];

    if (!dns_is_label(namespace) || !dns_is_label(name))
        return NULL;
    memcpy(key, namespace.p, namespace.n);
    key[namespace.n] = '.';
    memcpy(key + namespace.n + 1, name.p, name.n);
    return map_get(&z->services, (struct str){ key, namespace.n + 1 + name.n });
}

void dns_zone_remove(struct dns_zone *z, struct str namespace, struct str name)
{
    autoarena a = { 0 };
    struct dns_entry *e = dns_zone_service(z, arena_lower(&a, namespace), arena_lower(&a, name));

    if (e)
        dns_zone_drop(z, e);
}

const struct list *dns_zone_owners(const struct dns_zone *z, struct in_addr address)
{
    const struct owner *o = map_u64_get(&z->owners, address.s_addr);

    return o ? &o->links : NULL;
}
