/* filter.c - the table: its frame, ranges, the sorted pods
 *
 *     forward: established? allowed. ── by sender ──▶ egress_N ── by policy ──▶ policy_N_egress ──▶ ingress
 *              no policy for the sender ─────────────────────────────────────────────────────────▶ ingress
 *     ingress: ── by receiver ──▶ ingress_N ── by policy ──▶ policy_N_ingress ──▶ accept
 *     input:   a question to the name server, at the gateway? ── by sender ──▶ egress_N, as above
 *
 * Pods that the same policies select share a chain egress_N or ingress_N: it calls the chains of these policies and
 * ends in refusing. A chain of a policy leaves by 'goto' or 'accept' when a rule fits and falls through otherwise. So
 * the rules of a policy stand once, and a packet looks at no policy but those of its two pods.
 */
#include "node/filter/filter_internal.h"

#include "base/map.h"
#include "base/util.h"

#include <arpa/inet.h>

/* ---- ranges ---- */

void ranges_add(struct arena *a, struct ranges *r, uint32_t low, uint32_t high)
{
    *vec_push(a, &r->list) = (struct range){ low, high };
}

void ranges_cut(struct arena *a, struct ranges *r, uint32_t low, uint32_t high)
{
    struct ranges left = { 0 };

    VEC_FOREACH(x, &r->list) {
        if (x->low < low)
            ranges_add(a, &left, x->low, MIN_OF(x->high, low - 1));
        if (x->high > high)
            ranges_add(a, &left, MAX_OF(x->low, high + 1), x->high);
    }
    *r = left;
}

static int range_cmp(const void *x, const void *y)
{
    const struct range *a = x, *b = y;

    return a->low != b->low ? (a->low > b->low) - (a->low < b->low) : (a->high > b->high) - (a->high < b->high);
}

void ranges_join(struct ranges *r)
{
    size_t n = 0;

    if (!r->list.n)
        return;
    qsort(r->list.v, r->list.n, sizeof(*r->list.v), range_cmp);
    VEC_FOREACH(x, &r->list) {
        struct range *last = n ? &r->list.v[n - 1] : NULL;

        if (last && (last->high == UINT32_MAX || x->low <= last->high + 1))
            last->high = MAX_OF(last->high, x->high);
        else
            r->list.v[n++] = *x;
    }
    r->list.n = n;
}

struct filter_match filter_match(struct filter_world *w, enum nft_field field, struct ranges *r, const char *set_name)
{
    bool is_port = field == NFT_DPORT;
    struct filter_match m = { .field = field,
                              .set = { .name = set_name,
                                       .key_type = is_port ? NFT_TYPE_PORT : NFT_TYPE_ADDRESS,
                                       .key_bytes = is_port ? 2 : 4,
                                       .has_ranges = true } };

    ranges_join(r);
    if (r->list.n == 1) {
        m.only = r->list.v[0];
        return m;
    }
    nft_set(w->table, &m.set);
    VEC_FOREACH(x, &r->list)
        nft_element_range(w->table, &m.set, x->low, x->high);
    return m;
}

void filter_put_match(struct filter_world *w, const struct filter_match *m)
{
    unsigned shift = 32 - 8 * m->set.key_bytes;
    uint32_t low = htonl(m->only.low << shift), high = htonl(m->only.high << shift);

    nft_load(w->table, 0, m->field);
    if (m->set.number) {
        nft_match_set(w->table, 0, &m->set);
    } else if (low == high) {
        nft_match(w->table, 0, NFT_CMP_EQ, &low, m->set.key_bytes);
    } else {
        nft_match(w->table, 0, NFT_CMP_GTE, &low, m->set.key_bytes);
        nft_match(w->table, 0, NFT_CMP_LTE, &high, m->set.key_bytes);
    }
}

/* ---- pieces of the table ---- */

struct filter_place filter_place(uint32_t address, uint8_t protocol, uint32_t port)
{
    return (struct filter_place){ .address = htonl(address), .protocol = protocol, .port = htons((uint16_t)port) };
}

void filter_load_place(struct filter_world *w)
{
    nft_load(w->table, 0, NFT_DADDR);
    nft_load_meta(w->table, 1, NFT_META_L4PROTO);
    nft_load(w->table, 2, NFT_DPORT);
}

struct nft_set filter_place_set(const char *name, bool has_verdicts)
{
    return (struct nft_set){ .name = name,
                             .key_type = NFT_TYPES_3(NFT_TYPE_ADDRESS, NFT_TYPE_PROTOCOL, NFT_TYPE_PORT),
                             .key_bytes = sizeof(struct filter_place),
                             .has_verdicts = has_verdicts };
}

void filter_load_pair(struct filter_world *w)
{
    nft_load(w->table, 0, NFT_SADDR);
    nft_load(w->table, 1, NFT_DADDR);
}

void filter_refusal(struct filter_world *w, const char *chain, uint8_t icmpx_code)
{
    nft_chain(w->table, chain, NULL, NULL);
    nft_rule(w->table, chain);
    nft_match_protocol(w->table, IPPROTO_TCP);
    nft_reject(w->table, NFT_REJECT_TCP_RST, 0);
    nft_rule(w->table, chain);
    nft_reject(w->table, NFT_REJECT_ICMPX_UNREACH, icmpx_code);
}

/* Names come from outside: a listing must stay readable, also to nft. */
static void filter_put_name(struct buf *out, struct str name)
{
    for (size_t i = 0; i < name.n && i < 253; i++) {
        char c = name.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                        c == '.';

        buf_char(out, is_plain ? c : '?');
    }
}

void filter_chain_of(struct filter_world *w, const char *chain, struct str namespace, struct str name)
{
    autobuf comment = { 0 };

    filter_put_name(&comment, namespace);
    buf_char(&comment, '/');
    filter_put_name(&comment, name);
    nft_chain(w->table, chain, NULL, comment.p);
}

/* ---- the pods ---- */

static struct str filter_space_of(const struct filter_pod *p)
{
    return str_empty(p->namespace) ? STR("default") : p->namespace;
}

static int at_cmp(const void *x, const void *y)
{
    const struct filter_at *a = x, *b = y;
    int c = (a->address > b->address) - (a->address < b->address);

    if (!c)
        c = str_cmp(filter_space_of(a->pod), filter_space_of(b->pod));
    return c ? c : str_cmp(a->pod->name, b->pod->name);
}

static void sort_pods(struct filter_world *w)
{
    size_t n = 0;

    VEC_FOREACH(p, &w->in->pods)
        if (p->address.s_addr)
            *vec_push(w->arena, &w->pods) = (struct filter_at){ p, ntohl(p->address.s_addr) };
    if (w->pods.n)
        qsort(w->pods.v, w->pods.n, sizeof(*w->pods.v), at_cmp);
    for (size_t i = 0; i < w->pods.n; i++) /* an address twice would be an error to the kernel */
        if (!n || w->pods.v[n - 1].address != w->pods.v[i].address)
            w->pods.v[n++] = w->pods.v[i];
    w->pods.n = n;
}

/* The labels that an API server gives every namespace, also without a Namespace object. */
static struct json *space_labels(struct filter_world *w, const struct json *object, struct str name)
{
    const struct json *given = json_find(object, "metadata", "labels", NULL);
    struct json *labels = json_is(given, JSON_OBJECT) ? json_copy(w->arena, given) : json_object(w->arena);

    json_set(labels, "kubernetes.io/metadata.name", json_str(w->arena, name));
    return labels;
}

static int space_cmp(const void *x, const void *y)
{
    return str_cmp(((const struct filter_ns *)x)->name, ((const struct filter_ns *)y)->name);
}

static void collect_spaces(struct filter_world *w)
{
    struct map objects = { 0 }, number = { 0 };

    map_init(&objects, map_seed_default());
    map_init(&number, map_seed_default());
    VEC_FOREACH(o, &w->in->namespaces)
        (void)map_put(&objects, json_member_text(json_get(*o, "metadata"), "name"), *o); /* twice: the last one */
    for (size_t i = 0; i < w->pods.n; i++) {
        struct str name = filter_space_of(w->pods.v[i].pod);
        size_t at = (size_t)map_get(&number, name); /* from 1 */

        if (!at) {
            *vec_push(w->arena, &w->spaces) =
                (struct filter_ns){ .name = name, .labels = space_labels(w, map_get(&objects, name), name) };
            at = w->spaces.n;
            (void)map_put(&number, name, (void *)at); /* it was not there */
        }
        *vec_push(w->arena, &w->spaces.v[at - 1].pods) = i;
    }
    if (w->spaces.n)
        qsort(w->spaces.v, w->spaces.n, sizeof(*w->spaces.v), space_cmp);
    w->name_server.labels = space_labels(w, map_get(&objects, STR(FILTER_DNS_SPACE)), STR(FILTER_DNS_SPACE));
    map_done(&objects);
    map_done(&number);
}

/* Policies know the name server of a cluster by these. */
static void make_name_server(struct filter_world *w)
{
    static const struct {
        const char *name, *protocol;
    } ports[] = { { "dns", "UDP" }, { "dns-tcp", "TCP" } };
    struct filter_pod *pod = &w->name_server.pod;
    struct json *port;

    *pod = (struct filter_pod){ .labels = json_object(w->arena), .ports = json_array(w->arena) };
    json_add(pod->labels, STR("k8s-app"), json_str(w->arena, STR("kube-dns")));
    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        port = json_push(pod->ports, json_object(w->arena));
        json_add(port, STR("name"), json_str(w->arena, str_of(ports[i].name)));
        json_add(port, STR("protocol"), json_str(w->arena, str_of(ports[i].protocol)));
        json_add(port, STR("containerPort"), json_int(w->arena, FILTER_DNS_PORT));
    }
    w->name_server.at = (struct filter_at){ pod, ntohl(w->in->gateway.s_addr) };
}

void filter_world_init(struct filter_world *w, struct arena *a, const struct filter_input *in, struct nft *table)
{
    *w = (struct filter_world){ .arena = a, .in = in, .table = table };
    sort_pods(w);
    collect_spaces(w);
    make_name_server(w);
}

const struct filter_ns *filter_ns_find(const struct filter_world *w, struct str name)
{
    struct filter_ns key = { .name = name };

    return w->spaces.n ? bsearch(&key, w->spaces.v, w->spaces.n, sizeof(key), space_cmp) : NULL;
}

/* ---- the table ---- */

void filter_batch(struct arena *a, const struct filter_input *in, struct buf *out)
{
    static const struct nft_hook postrouting = { "nat", NF_INET_POST_ROUTING, FILTER_SRCNAT };
    struct filter_world w;
    autonft table;

    nft_init(&table, NFPROTO_INET, arena_fmt(a, "pumice_%s_a", in->id).p);
    nft_table_replace(&table);
    filter_world_init(&w, a, in, &table);
    filter_services(&w);
    filter_policies(&w);
    /* While there is a chain like this, connections to a Service that has gone since are still translated. */
    if (w.pods.n)
        nft_chain(&table, "translated", &postrouting, NULL);
    nft_batch(&table, out);
}
