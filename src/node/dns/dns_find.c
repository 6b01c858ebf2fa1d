/* dns_find.c - what the zone has at a name, and in which order */
#include "node/dns/dns_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

static const struct {
    char letter;
    struct str label;
} protocols[] = { { 'T', STR_INIT("_tcp") }, { 'U', STR_INIT("_udp") }, { 'S', STR_INIT("_sctp") } };

static struct dns_node node_of(enum dns_kind kind)
{
    return (struct dns_node){ .kind = kind };
}

static struct dns_node find_address(struct in_addr address)
{
    return (struct dns_node){ .kind = address.s_addr ? DNS_ADDRESS : DNS_EMPTY, .address = address };
}

static struct dns_node find_member(struct dns_entry *e, struct str name)
{
    struct dns_node node = { .kind = DNS_NOTHING, .entry = e };
    size_t low = 0, high = e->members.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (str_cmp(e->members.v[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    while (low + node.n < e->members.n && str_eq(e->members.v[low + node.n].name, name))
        node.n++;
    if (node.n) {
        node.kind = DNS_MEMBERS;
        node.first = &e->members.v[low];
    }
    return node;
}

struct str dns_protocol_label(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
        if (protocols[i].letter == letter)
            return protocols[i].label;
    return STR_NULL;
}

static char protocol_of(struct str label)
{
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
        if (str_eq(protocols[i].label, label))
            return protocols[i].letter;
    return 0;
}

/* 'name' NULL: any port of that protocol. A service has few ports. */
static struct dns_node find_ports(struct dns_entry *e, char protocol, const struct str *name)
{
    struct dns_node node = { .kind = DNS_NOTHING, .entry = e };

    VEC_FOREACH(port, &e->ports) {
        if (port->protocol != protocol || (name && !str_eq(port->name, *name)))
            continue;
        if (node.n++ == 0)
            node.first_port = port;
    }
    if (node.n)
        node.kind = name ? DNS_SERVICE : DNS_EMPTY;
    return node;
}

/* Below svc.<domain>: [_port._proto. | host.]service.namespace */
static struct dns_node find_below_svc(struct dns_zone *z, const struct str *v, size_t n)
{
    struct dns_entry *e;
    char protocol;

    if (n == 0)
        return node_of(DNS_EMPTY);
    if (n == 1)
        return node_of(map_get(&z->namespaces, v[0]) ? DNS_EMPTY : DNS_NOTHING);
    e = dns_zone_service(z, v[n - 1], v[n - 2]);
    if (!e || n > 4)
        return node_of(DNS_NOTHING);
    if (n == 2 && e->alias.n)
        return (struct dns_node){ .kind = DNS_ALIAS, .entry = e };
    if (n == 2)
        return e->address.s_addr ? find_address(e->address) : (struct dns_node){ .kind = DNS_ALL, .entry = e };
    protocol = protocol_of(v[n - 3]);
    if (n == 3)
        return protocol ? find_ports(e, protocol, NULL) : find_member(e, v[0]);
    if (!protocol || v[0].p[0] != '_')
        return node_of(DNS_NOTHING);
    return find_ports(e, protocol, &(struct str){ v[0].p + 1, v[0].n - 1 });
}

static bool undash(struct str label, struct in_addr *ret)
{
    char text[INET_ADDRSTRLEN];

    if (label.n >= sizeof(text) || str_has_char(label, '.') || str_has_char(label, '\0'))
        return false;
    for (size_t i = 0; i < label.n; i++)
        text[i] = label.p[i] == '-' ? '.' : label.p[i];
    text[label.n] = '\0';
    return inet_pton(AF_INET, text, ret) == 1;
}

/* Below pod.<domain>: a-b-c-d.namespace. The name says the address itself, so every namespace has them all. */
static struct dns_node find_below_pod(const struct str *v, size_t n)
{
    struct in_addr address;

    if (n < 2)
        return node_of(DNS_EMPTY);
    return n == 2 && undash(v[0], &address) ? find_address(address) : node_of(DNS_NOTHING);
}

static struct dns_node find_in_domain(struct dns_zone *z, const struct str *v, size_t n)
{
    struct str last = n ? v[n - 1] : STR_NULL;

    if (n == 0)
        return node_of(DNS_APEX);
    if (str_is(last, "svc"))
        return find_below_svc(z, v, n - 1);
    if (str_is(last, "pod"))
        return find_below_pod(v, n - 1);
    if (str_is(last, "dns") && n <= 2)
        return n == 1 ? node_of(DNS_EMPTY) : str_is(v[0], "ns") ? find_address(z->server) : node_of(DNS_NOTHING);
    return node_of(n == 1 && str_is(last, "dns-version") ? DNS_VERSION : DNS_NOTHING);
}

static bool is_published(const struct dns_zone *z, struct in_addr address)
{
    const struct list *owners = dns_zone_owners(z, address);
    struct dns_member *const *first;

    LIST_FOREACH(struct dns_link, l, owners, link)
        if (l->entry->address.s_addr == address.s_addr || dns_entry_at(l->entry, address, &first))
            return true;
    return false;
}

/* d.c.b.a.in-addr.arpa, if it is an address of the zone. */
static struct dns_node find_reverse(const struct dns_zone *z, const struct str *v, size_t n)
{
    struct dns_node node = { .kind = DNS_ELSEWHERE, .is_reverse = true };
    char text[INET_ADDRSTRLEN];
    size_t at = 0;

    if (n != 6 || !str_is(v[5], "arpa") || !str_is(v[4], "in-addr"))
        return node;
    for (size_t i = 4; i-- > 0;) {
        if (v[i].n > 3 || str_has_char(v[i], '.') || str_has_char(v[i], '\0'))
            return node;
        memcpy(text + at, v[i].p, v[i].n);
        at += v[i].n;
        text[at++] = i ? '.' : '\0';
    }
    if (inet_pton(AF_INET, text, &node.address) == 1 && dns_zone_owners(z, node.address))
        node.kind = is_published(z, node.address) ? DNS_REVERSE : DNS_NOTHING;
    return node;
}

struct dns_node dns_zone_find(struct dns_zone *z, const struct dns_labels *name)
{
    size_t below = name->n - z->labels.n;

    if (name->n < z->labels.n)
        return find_reverse(z, name->v, name->n);
    for (size_t i = 0; i < z->labels.n; i++)
        if (!str_eq(name->v[below + i], z->labels.v[i]))
            return find_reverse(z, name->v, name->n);
    return find_in_domain(z, name->v, below);
}

size_t dns_entry_at(const struct dns_entry *e, struct in_addr address, struct dns_member *const **ret_first)
{
    size_t low = 0, high = e->by_address.n, n = 0;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (dns_address_cmp(e->by_address.v[mid]->address, address) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    while (low + n < e->by_address.n && e->by_address.v[low + n]->address.s_addr == address.s_addr)
        n++;
    *ret_first = n ? &e->by_address.v[low] : NULL;
    return n;
}

/* ---- turns ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

struct dns_order dns_zone_order(const struct dns_zone *z, size_t n, uint64_t turn)
{
    struct dns_order o = { 0, 1, n ? n : 1 };
    uint64_t round = turn / o.n;

    o.start = (z->seed % o.n + turn % o.n) % o.n;
    if (o.n > 2)
        o.step = 1 + str_hash((struct str){ (const char *)&round, sizeof(round) }, z->seed) % (o.n - 1);
    while (common_divisor(o.step, o.n) != 1) /* n - 1 is always prime to n: it ends */
        o.step++;
    return o;
}
