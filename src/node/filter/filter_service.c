/* filter_service.c - Service addresses as maps and chains
 *
 * A new connection to (address, protocol, port) of a Service gets another destination before it is routed; conntrack
 * does the same to the rest of it, and the reverse to the answers. What still goes to a Service address afterwards has
 * nowhere to go and is refused. A pod that reaches itself by its Service would see a packet from its own address: to it
 * the gateway is the sender.
 */
#include "node/filter/filter_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

static const struct {
    char letter;
    const char *word;
} protocols[] = { { 'T', "tcp" }, { 'U', "udp" }, { 'S', "sctp" } };

static const char *protocol_word(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
        if (protocols[i].letter == letter)
            return protocols[i].word;
    return NULL;
}

struct service {
    const struct filter_service *s;
    uint32_t address;
    VEC(struct filter_endpoint) endpoints; /* sorted, those with an address and a port */
};
struct service_list {
    VEC(struct service) list;
};

/* The ports of one address are next to each other; equal ones sort by name, so that the same one wins. */
static int service_cmp(const void *x, const void *y)
{
    const struct service *a = x, *b = y;
    int c = (a->address > b->address) - (a->address < b->address);

    if (!c)
        c = a->s->protocol - b->s->protocol;
    if (!c)
        c = a->s->port - b->s->port;
    if (!c)
        c = str_cmp(a->s->namespace, b->s->namespace);
    return c ? c : str_cmp(a->s->name, b->s->name);
}

static bool same_place(const struct service *a, const struct service *b)
{
    return a->address == b->address && a->s->protocol == b->s->protocol && a->s->port == b->s->port;
}

static int endpoint_cmp(const void *x, const void *y)
{
    const struct filter_endpoint *a = x, *b = y;
    uint32_t p = ntohl(a->address.s_addr), q = ntohl(b->address.s_addr);

    return p != q ? (p > q) - (p < q) : a->port - b->port;
}

static void add_service(struct filter_world *w, const struct filter_service *s, struct service_list *out)
{
    struct service *new;

    if (!s->address.s_addr || !s->port || !protocol_word(s->protocol))
        return;
    new = vec_push(w->arena, &out->list);
    new->s = s;
    new->address = ntohl(s->address.s_addr);
    VEC_FOREACH(p, &s->endpoints)
        if (p->address.s_addr && p->port)
            *vec_push(w->arena, &new->endpoints) = *p;
    if (new->endpoints.n)
        qsort(new->endpoints.v, new->endpoints.n, sizeof(*new->endpoints.v), endpoint_cmp);
}

static void sort_services(struct filter_world *w, struct service_list *ret)
{
    size_t n = 0;

    VEC_FOREACH(s, &w->in->services)
        add_service(w, s, ret);
    if (ret->list.n)
        qsort(ret->list.v, ret->list.n, sizeof(*ret->list.v), service_cmp);
    for (size_t i = 0; i < ret->list.n; i++)
        if (!n || !same_place(&ret->list.v[n - 1], &ret->list.v[i]))
            ret->list.v[n++] = ret->list.v[i];
    ret->list.n = n;
}

static void write_service(const struct service *s, size_t number, struct buf *out)
{
    size_t n = s->endpoints.n;

    buf_fmt(out, "\tchain service_%zu {\n", number);
    filter_note(out, s->s->namespace, s->s->name);
    buf_fmt(out, "\t\tmeta l4proto %s dnat ip to ", protocol_word(s->s->protocol));
    if (n > 1)
        buf_fmt(out, "numgen random mod %zu map {", n);
    for (size_t i = 0; i < n; i++) {
        if (n > 1)
            buf_fmt(out, "%s %zu : ", i ? "," : "", i);
        filter_address(out, ntohl(s->endpoints.v[i].address.s_addr));
        buf_fmt(out, "%s%u", n > 1 ? " . " : ":", s->endpoints.v[i].port);
    }
    buf_fmt(out, "%s\n\t}\n", n > 1 ? " }" : "");
}

static void write_ports(const struct service_list *l, struct buf *sets, struct buf *chains)
{
    size_t n = 0;

    VEC_FOREACH(s, &l->list) {
        if (!s->endpoints.n)
            continue;
        if (!n)
            filter_set_begin(sets, "map", "service_of", "ipv4_addr . inet_proto . inet_service : verdict");
        filter_element(sets, n++);
        filter_address(sets, s->address);
        buf_fmt(sets, " . %s . %u : goto service_%zu", protocol_word(s->s->protocol), s->s->port, n);
        write_service(s, n, chains);
    }
    if (n)
        filter_set_end(sets);
}

static void write_addresses(const struct service_list *l, struct buf *sets)
{
    filter_set_begin(sets, "set", "service_addresses", "ipv4_addr");
    VEC_FOREACH(s, &l->list) {
        if (s > l->list.v && s[-1].address == s->address)
            continue;
        filter_element(sets, (size_t)(s - l->list.v));
        filter_address(sets, s->address);
    }
    filter_set_end(sets);
}

/* Every endpoint with itself; false if there is none. */
static bool write_itself(struct filter_world *w, const struct service_list *l, struct buf *sets)
{
    struct ranges all = { 0 };
    size_t n = 0;

    VEC_FOREACH(s, &l->list)
        VEC_FOREACH(p, &s->endpoints)
            ranges_add(w->arena, &all, ntohl(p->address.s_addr), ntohl(p->address.s_addr));
    if (!all.list.n)
        return false;
    ranges_join(&all);
    filter_set_begin(sets, "set", "itself", "ipv4_addr . ipv4_addr");
    VEC_FOREACH(r, &all.list)
        for (uint32_t i = 0; i <= r->high - r->low; i++) {
            filter_element(sets, n++);
            filter_address(sets, r->low + i);
            buf_str(sets, STR(" . "));
            filter_address(sets, r->low + i);
        }
    filter_set_end(sets);
    return true;
}

/* The same for what pods send (prerouting) and what this machine sends itself (output). */
static void write_hooks(bool has_endpoints, struct buf *chains)
{
    static const char *const hooks[] = { "prerouting", "output" };

    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        if (has_endpoints)
            buf_fmt(chains,
                    "\tchain services_%s {\n\t\ttype nat hook %s priority -100\n"
                    "\t\tip daddr . meta l4proto . th dport vmap @service_of\n\t}\n",
                    hooks[i], hooks[i]);
        buf_fmt(chains,
                "\tchain nowhere_%s {\n\t\ttype filter hook %s priority -90\n"
                "\t\tip daddr @service_addresses goto nowhere\n\t}\n",
                hooks[i], hooks[i]);
    }
    buf_str(chains, STR("\tchain nowhere {\n"
                        "\t\tmeta l4proto tcp reject with tcp reset\n"
                        "\t\treject with icmpx port-unreachable\n\t}\n"));
}

void filter_services(struct filter_world *w, struct buf *sets, struct buf *chains)
{
    struct service_list l = { 0 };

    sort_services(w, &l);
    if (!l.list.n)
        return;
    write_addresses(&l, sets);
    write_ports(&l, sets, chains);
    w->has_itself = write_itself(w, &l, sets);
    write_hooks(w->has_itself, chains);
    if (!w->has_itself)
        return;
    buf_str(chains, STR("\tchain itself {\n\t\ttype nat hook postrouting priority srcnat\n"
                        "\t\tip saddr . ip daddr @itself snat ip to "));
    filter_address(chains, ntohl(w->in->gateway.s_addr));
    buf_str(chains, STR("\n\t}\n"));
}
