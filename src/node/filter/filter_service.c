/* filter_service.c - Service addresses as maps and chains
 *
 * A new connection to (address, protocol, port) of a Service gets another destination before it is routed; conntrack
 * does the same to the rest of it, and the reverse to the answers. A packet that still goes to a Service address
 * afterwards is refused. A pod that reaches itself by its Service would see a packet from its own address: to it
 * the gateway is the sender.
 */
#include "node/filter/filter_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

static const struct {
    char letter;
    uint8_t number;
} protocols[] = { { 'T', IPPROTO_TCP }, { 'U', IPPROTO_UDP }, { 'S', IPPROTO_SCTP } };

/* 0: there is no such protocol. */
static uint8_t protocol_number(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
        if (protocols[i].letter == letter)
            return protocols[i].number;
    return 0;
}

struct sorted_service {
    const struct filter_service *s;
    uint32_t address;
    VEC(struct filter_endpoint) endpoints; /* sorted, those with an address and a port */
};
struct service_list {
    VEC(struct sorted_service) list;
};

/* The ports of one address are next to each other; equal ones sort by name, so that the same one wins. */
static int service_cmp(const void *x, const void *y)
{
    const struct sorted_service *a = x, *b = y;
    int c = (a->address > b->address) - (a->address < b->address);

    if (!c)
        c = a->s->protocol - b->s->protocol;
    if (!c)
        c = a->s->port - b->s->port;
    if (!c)
        c = str_cmp(a->s->namespace, b->s->namespace);
    return c ? c : str_cmp(a->s->name, b->s->name);
}

static bool same_place(const struct sorted_service *a, const struct sorted_service *b)
{
    return a->address == b->address && a->s->protocol == b->s->protocol && a->s->port == b->s->port;
}

static int endpoint_cmp(const void *x, const void *y)
{
    const struct filter_endpoint *a = x, *b = y;
    uint32_t p = ntohl(a->address.s_addr), q = ntohl(b->address.s_addr);

    return p != q ? (p > q) - (p < q) : a->port - b->port;
}

/* Removes duplicates. Returns how many are left. */
static size_t sort_unique(struct filter_endpoint *v, size_t n)
{
    size_t kept = 0;

    if (n)
        qsort(v, n, sizeof(*v), endpoint_cmp);
    for (size_t i = 0; i < n; i++)
        if (!kept || endpoint_cmp(&v[kept - 1], &v[i]) != 0)
            v[kept++] = v[i];
    return kept;
}

static void filter_service_add(struct filter_world *w, const struct filter_service *s, struct service_list *out)
{
    struct sorted_service *new;

    if (!s->address.s_addr || !s->port || !protocol_number(s->protocol))
        return;
    new = vec_push(w->arena, &out->list);
    new->s = s;
    new->address = ntohl(s->address.s_addr);
    VEC_FOREACH(p, &s->endpoints)
        if (p->address.s_addr && p->port)
            *vec_push(w->arena, &new->endpoints) = *p;
    new->endpoints.n = sort_unique(new->endpoints.v, new->endpoints.n);
}

static void sort_services(struct filter_world *w, struct service_list *ret)
{
    size_t n = 0;

    VEC_FOREACH(s, &w->in->services)
        filter_service_add(w, s, ret);
    if (ret->list.n)
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), service_cmp);
    for (size_t i = 0; i < ret->list.n; i++)
        if (!n || !same_place(&ret->list.v[n - 1], &ret->list.v[i]))
            ret->list.v[n++] = ret->list.v[i];
    ret->list.n = n;
}

struct filter_service_target { /* "10.88.0.2 . 8080", as registers have it */
    in_addr_t address;
    in_port_t port;
    uint16_t zeros;
};
_Static_assert(sizeof(struct filter_service_target) == 8, "two registers");

static struct filter_service_target target_of(const struct filter_endpoint *p)
{
    return (struct filter_service_target){ .address = p->address.s_addr, .port = htons(p->port) };
}

/* A number below that of the endpoints, and the endpoint of that number. */
static void load_any(struct nft *t, const struct sorted_service *s)
{
    struct nft_set map = { .key_type = NFT_TYPE_INTEGER,
                           .key_bytes = 4,
                           .has_data = true,
                           .data_type = NFT_TYPES_2(NFT_TYPE_ADDRESS, NFT_TYPE_PORT),
                           .data_bytes = sizeof(struct filter_service_target) };

    nft_set(t, &map);
    for (uint32_t i = 0; i < s->endpoints.n; i++) {
        struct filter_service_target target = target_of(&s->endpoints.v[i]);

        nft_element(t, &map, &i, &target);
    }
    if (s->s->is_sticky) {
        nft_load(t, 1, NFT_SADDR);
        nft_load_hash(t, 1, sizeof(in_addr_t), 0, (uint32_t)s->endpoints.n);
    } else {
        nft_load_random(t, 0, (uint32_t)s->endpoints.n);
    }
    nft_map(t, 0, &map, 0);
}

static void write_service(struct filter_world *w, const struct sorted_service *s, const char *chain)
{
    struct filter_service_target only = target_of(&s->endpoints.v[0]);

    filter_chain_of(w, chain, s->s->namespace, s->s->name);
    nft_rule(w->table, chain);
    nft_match_protocol(w->table, protocol_number(s->s->protocol));
    if (s->endpoints.n > 1) {
        load_any(w->table, s);
    } else {
        nft_load_value(w->table, 0, &only.address, sizeof(only.address));
        nft_load_value(w->table, 1, &only.port, sizeof(only.port));
    }
    nft_nat(w->table, NFT_NAT_DNAT, 0, 1);
}

/* The map from places to chains, and the chains. */
static void write_ports(struct filter_world *w, const struct service_list *l, struct nft_set *map)
{
    size_t n = 0;

    VEC_FOREACH(s, &l->list) {
        struct filter_place place = filter_place(s->address, protocol_number(s->s->protocol), s->s->port);
        const char *chain;

        if (!s->endpoints.n)
            continue;
        if (!n)
            nft_set(w->table, map);
        chain = arena_fmt(w->arena, "service_%zu", ++n).p;
        nft_element_goto(w->table, map, &place, chain);
        write_service(w, s, chain);
    }
}

static void write_addresses(struct filter_world *w, const struct service_list *l, struct nft_set *set)
{
    nft_set(w->table, set);
    VEC_FOREACH(s, &l->list)
        if (s == l->list.v || s[-1].address != s->address)
            nft_element(w->table, set, &s->s->address.s_addr, NULL);
}

/* Every endpoint with itself, if there is any. */
static void write_itself(struct filter_world *w, const struct service_list *l)
{
    struct ranges all = { 0 };

    VEC_FOREACH(s, &l->list)
        VEC_FOREACH(p, &s->endpoints)
            ranges_add(w->arena, &all, ntohl(p->address.s_addr), ntohl(p->address.s_addr));
    if (!all.list.n)
        return;
    ranges_join(&all);
    w->itself = (struct nft_set){ .name = "itself",
                                  .key_type = NFT_TYPES_2(NFT_TYPE_ADDRESS, NFT_TYPE_ADDRESS),
                                  .key_bytes = 2 * sizeof(in_addr_t) };
    nft_set(w->table, &w->itself);
    VEC_FOREACH(r, &all.list)
        for (uint32_t i = 0; i <= r->high - r->low; i++) {
            in_addr_t pair[2] = { htonl(r->low + i), htonl(r->low + i) };

            nft_element(w->table, &w->itself, pair, NULL);
        }
}

/* The same for what pods send (prerouting) and what this machine sends itself (output). */
static void write_hooks(struct filter_world *w, const struct nft_set *ports, const struct nft_set *addresses)
{
    static const struct {
        enum nf_inet_hooks hook;
        const char *services, *nowhere;
    } hooks[] = { { NF_INET_PRE_ROUTING, "services_prerouting", "nowhere_prerouting" },
                  { NF_INET_LOCAL_OUT, "services_output", "nowhere_output" } };
    struct nft *t = w->table;

    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        if (ports->number) {
            nft_chain(t, hooks[i].services, &(struct nft_hook){ "nat", hooks[i].hook, FILTER_DSTNAT, false }, NULL);
            nft_rule(t, hooks[i].services);
            nft_match_ipv4(t);
            filter_load_place(w);
            nft_map_verdict(t, 0, ports);
        }
        nft_chain(t, hooks[i].nowhere, &(struct nft_hook){ "filter", hooks[i].hook, FILTER_NOWHERE, false }, NULL);
        nft_rule(t, hooks[i].nowhere);
        nft_match_ipv4(t);
        nft_load(t, 0, NFT_DADDR);
        nft_match_set(t, 0, addresses);
        nft_verdict(t, NFT_GOTO, "nowhere");
    }
    filter_refusal(w, "nowhere", NFT_REJECT_ICMPX_PORT_UNREACH);
}

static void write_snat(struct filter_world *w)
{
    static const struct nft_hook postrouting = { "nat", NF_INET_POST_ROUTING, FILTER_SRCNAT, false };

    nft_chain(w->table, "itself", &postrouting, NULL);
    nft_rule(w->table, "itself");
    nft_match_ipv4(w->table);
    filter_load_pair(w);
    nft_match_set(w->table, 0, &w->itself);
    nft_load_value(w->table, 0, &w->in->gateway.s_addr, sizeof(w->in->gateway.s_addr));
    nft_nat(w->table, NFT_NAT_SNAT, 0, NFT_NO_PORT);
}

void filter_services(struct filter_world *w)
{
    struct nft_set addresses = { .name = "service_addresses", .key_type = NFT_TYPE_ADDRESS, .key_bytes = 4 };
    struct nft_set ports = filter_place_set("service_of", true);
    struct service_list l = { 0 };

    sort_services(w, &l);
    if (!l.list.n)
        return;
    write_addresses(w, &l, &addresses);
    write_ports(w, &l, &ports);
    write_itself(w, &l);
    write_hooks(w, &ports, &addresses);
    if (w->itself.number)
        write_snat(w);
}
