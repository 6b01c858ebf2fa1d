/* filter_policy.c - NetworkPolicies as chains */
#include "node/filter/filter_internal.h"

#include "api/selector.h"
#include "base/map.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>

enum direction { INGRESS, EGRESS, DIRECTION_MAX };
enum protocol { TCP, UDP, SCTP, PROTOCOL_MAX };

static const struct { /* what differs between the directions */
    const char *type, *rules, *peers;
    enum nft_field other;
    int verdict;
    const char *chain;
} directions[DIRECTION_MAX] = {
    [INGRESS] = { "Ingress", "ingress", "from", NFT_SADDR, NF_ACCEPT, NULL },
    [EGRESS] = { "Egress", "egress", "to", NFT_DADDR, NFT_GOTO, "ingress" }, /* the receiver has a word too */
};
static const char *const protocol_names[PROTOCOL_MAX] = { "TCP", "UDP", "SCTP" };
static const uint8_t protocol_numbers[PROTOCOL_MAX] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP };

struct filter_policy {
    struct str namespace, name;
    const struct json *spec;
    bool affects[DIRECTION_MAX];
    size_t seq, number; /* number: in the names of its chains, from 1 */
};

struct named_port {
    struct str name;
    enum protocol protocol;
    struct nft_set set; /* without a number: no pod has such a port */
};

struct filter_policy_writer {
    struct filter_world *w;
    VEC(struct filter_policy) policies; /* those that select a pod here */
    VEC(struct named_port *) ports;
    size_t n_port_sets, n_peer_sets;
};

/* ---- which policies there are ---- */

static struct str member_namespace(const struct json *object)
{
    struct str s = json_member_text(json_get(object, "metadata"), "namespace");

    return str_empty(s) ? STR("default") : s;
}

static bool lists_type(const struct json *types, const char *type)
{
    JSON_FOREACH(t, types)
        if (str_is(json_text(t, STR_NULL), type))
            return true;
    return false;
}

/* Without policyTypes: ingress always, egress if there is a rule for it. */
static void read_types(struct filter_policy *p)
{
    const struct json *types = json_get(p->spec, "policyTypes");
    bool is_given = json_is(types, JSON_ARRAY) && json_count(types);

    p->affects[INGRESS] = !is_given || lists_type(types, directions[INGRESS].type);
    p->affects[EGRESS] = is_given ? lists_type(types, directions[EGRESS].type)
                                  : json_count(json_get(p->spec, "egress")) > 0;
}

static int policy_cmp(const void *x, const void *y)
{
    const struct filter_policy *a = x, *b = y;
    int c = str_cmp(a->namespace, b->namespace);

    if (!c)
        c = str_cmp(a->name, b->name);
    return c ? c : (a->seq > b->seq) - (a->seq < b->seq);
}

static bool is_null(const struct json *j)
{
    return !j || j->type == JSON_NULL;
}

/* NULL: it cannot be read. Absent and null mean the empty selector, which matches everything. */
static struct selector *read_selector(struct arena *a, const struct json *j)
{
    struct selector *s;

    if (!is_null(j) && j->type != JSON_OBJECT)
        return NULL;
    return selector_from_json(a, is_null(j) ? NULL : j, &s, NULL) < 0 ? NULL : s;
}

bool filter_selects(struct arena *a, const struct json *policy, struct str namespace, const struct json *labels)
{
    struct filter_policy p = { .namespace = member_namespace(policy), .spec = json_get(policy, "spec") };
    const struct selector *s = read_selector(a, json_get(p.spec, "podSelector"));

    read_types(&p);
    return str_eq(p.namespace, namespace) && (p.affects[INGRESS] || p.affects[EGRESS]) &&
           (!s || selector_matches(s, labels));
}

/* The policies of each pod: for direction d and pod i, list[d][i] is a text of their numbers, the key of its class. */
struct filter_policy_selection {
    struct buf *list[DIRECTION_MAX];
};

static void select_pods(struct filter_policy_writer *wr, struct filter_policy *p, struct filter_policy_selection *sel)
{
    const struct filter_ns *space = filter_ns_find(wr->w, p->namespace);
    struct selector *s = read_selector(wr->w->arena, json_get(p->spec, "podSelector"));

    if (!space)
        return;
    VEC_FOREACH(i, &space->pods) {
        if (s && !selector_matches(s, wr->w->pods.v[*i].pod->labels))
            continue;
        if (!p->number) {
            p->number = wr->policies.n + 1;
            *vec_push(wr->w->arena, &wr->policies) = *p;
        }
        for (int d = 0; d < DIRECTION_MAX; d++)
            if (p->affects[d])
                buf_fmt(&sel->list[d][*i], " %zu", p->number);
    }
}

static void collect_policies(struct filter_policy_writer *wr, struct filter_policy_selection *sel)
{
    VEC(struct filter_policy) all = { 0 };

    VEC_FOREACH(o, &wr->w->in->policies) {
        struct filter_policy p = { .namespace = member_namespace(*o),
                                   .name = json_member_text(json_get(*o, "metadata"), "name"),
                                   .spec = json_get(*o, "spec"),
                                   .seq = all.n };

        read_types(&p);
        *vec_push(wr->w->arena, &all) = p;
    }
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), policy_cmp);
    VEC_FOREACH(p, &all)
        select_pods(wr, p, sel);
}

/* ---- who is allowed ---- */

static int read_cidr(struct str text, struct range *ret)
{
    struct str rest = text, address = STR_NULL;
    char z[INET_ADDRSTRLEN];
    struct in_addr a;
    int64_t prefix;
    uint32_t mask;

    (void)str_split(&rest, '/', &address);
    if (address.n >= sizeof(z) || str_to_i64(rest, &prefix) < 0 || prefix < 0 || prefix > 32)
        return -1;
    memcpy(z, address.p ? address.p : "", address.n);
    z[address.n] = '\0';
    if (inet_pton(AF_INET, z, &a) != 1)
        return -1;
    mask = prefix ? ~(uint32_t)0 << (32 - prefix) : 0;
    *ret = (struct range){ ntohl(a.s_addr) & mask, ntohl(a.s_addr) | ~mask };
    return 0;
}

static void add_block(struct arena *a, const struct json *block, struct ranges *out)
{
    const struct json *excepts = json_get(block, "except");
    struct ranges part = { 0 };
    struct range r;

    if (read_cidr(json_member_text(block, "cidr"), &r) < 0 || (!is_null(excepts) && excepts->type != JSON_ARRAY))
        return;
    ranges_add(a, &part, r.low, r.high);
    JSON_FOREACH(x, excepts) {
        if (read_cidr(json_text(x, STR_NULL), &r) < 0)
            return; /* an invalid exception: allow nothing of the block */
        ranges_cut(a, &part, r.low, r.high);
    }
    VEC_FOREACH(x, &part.list)
        ranges_add(a, out, x->low, x->high);
}

static void add_pods(struct filter_world *w, const struct filter_ns *space, const struct selector *s,
                     struct ranges *out)
{
    VEC_FOREACH(i, &space->pods) {
        const struct filter_at *p = &w->pods.v[*i];

        if (selector_matches(s, p->pod->labels))
            ranges_add(w->arena, out, p->address, p->address);
    }
}

/* It is at an address that no pod has. */
static void add_name_server(struct filter_world *w, const struct filter_policy *p, const struct selector *of_spaces,
                            const struct selector *of_pods, struct ranges *out)
{
    const struct filter_name_server *s = &w->name_server;
    bool is_space = of_spaces ? selector_matches(of_spaces, s->labels) : str_is(p->namespace, FILTER_DNS_SPACE);

    if (s->at.address && is_space && selector_matches(of_pods, s->pod.labels))
        ranges_add(w->arena, out, s->at.address, s->at.address);
}

static void add_peer(struct filter_world *w, const struct filter_policy *p, const struct json *peer, struct ranges *out)
{
    const struct json *block = json_get(peer, "ipBlock"), *pods = json_get(peer, "podSelector"),
                      *spaces = json_get(peer, "namespaceSelector");
    const struct filter_ns *own = filter_ns_find(w, p->namespace);
    struct selector *of_pods = read_selector(w->arena, pods), *of_spaces = read_selector(w->arena, spaces);

    if (!is_null(block)) {
        if (is_null(pods) && is_null(spaces))
            add_block(w->arena, block, out);
        return;
    }
    if (!of_pods || !of_spaces || (is_null(pods) && is_null(spaces)))
        return;
    add_name_server(w, p, is_null(spaces) ? NULL : of_spaces, of_pods, out);
    if (is_null(spaces)) {
        if (own)
            add_pods(w, own, of_pods, out);
        return;
    }
    VEC_FOREACH(space, &w->spaces)
        if (selector_matches(of_spaces, space->labels))
            add_pods(w, space, of_pods, out);
}

struct peers {
    bool is_anybody;
    struct filter_match match; /* if not */
};

/* False: the rule allows no peer. */
static bool read_peers(struct filter_policy_writer *wr, const struct filter_policy *p, enum direction d,
                       const struct json *peers, struct peers *ret)
{
    struct ranges r = { 0 };

    *ret = (struct peers){ .is_anybody = is_null(peers) || (peers->type == JSON_ARRAY && !json_count(peers)) };
    if (ret->is_anybody)
        return true;
    if (peers->type != JSON_ARRAY)
        return false;
    JSON_FOREACH(peer, peers)
        add_peer(wr->w, p, peer, &r);
    if (!r.list.n)
        return false;
    ranges_join(&r);
    ret->is_anybody = r.list.n == 1 && r.list.v[0].low == 0 && r.list.v[0].high == UINT32_MAX;
    if (!ret->is_anybody)
        ret->match = filter_match(wr->w, directions[d].other, &r,
                                  arena_fmt(wr->w->arena, "peers_%zu", ++wr->n_peer_sets).p);
    return true;
}

/* ---- on which ports ---- */

static int read_protocol(const struct json *j, enum protocol *ret)
{
    const struct json *word = json_get(j, "protocol");

    if (is_null(word)) {
        *ret = TCP;
        return 0;
    }
    for (int i = 0; i < PROTOCOL_MAX; i++)
        if (str_is(json_text(word, STR_NULL), protocol_names[i])) {
            *ret = (enum protocol)i;
            return 0;
        }
    return -1;
}

static bool port_is(const struct json *port, struct str name, enum protocol protocol, uint32_t *ret)
{
    enum protocol own;
    int64_t n = json_i64(json_get(port, "containerPort"), 0);

    if (!str_eq(json_member_text(port, "name"), name) || read_protocol(port, &own) < 0 || own != protocol || n < 1 ||
        n > 65535)
        return false;
    *ret = (uint32_t)n;
    return true;
}

/* The set of all (address, protocol, number) that go by a port name: it may be another number in each pod. */
static void put_port_places(struct filter_policy_writer *wr, struct named_port *new, const struct filter_at *p)
{
    struct filter_world *w = wr->w;
    struct ranges r = { 0 };
    uint32_t number;

    JSON_FOREACH(port, p->pod->ports)
        if (port_is(port, new->name, new->protocol, &number))
            ranges_add(w->arena, &r, number, number);
    ranges_join(&r);
    if (r.list.n && !new->set.number) {
        new->set = filter_place_set(arena_fmt(w->arena, "port_%zu", ++wr->n_port_sets).p, false);
        nft_set(w->table, &new->set);
    }
    VEC_FOREACH(x, &r.list)
        for (uint32_t i = x->low; i <= x->high; i++) {
            struct filter_place place = filter_place(p->address, protocol_numbers[new->protocol], i);

            nft_element(w->table, &new->set, &place, NULL);
        }
}

static void write_port_set(struct filter_policy_writer *wr, struct named_port *new)
{
    VEC_FOREACH(p, &wr->w->pods)
        put_port_places(wr, new, p);
    if (wr->w->name_server.at.address)
        put_port_places(wr, new, &wr->w->name_server.at);
}

static const struct nft_set *port_set(struct filter_policy_writer *wr, struct str name, enum protocol protocol)
{
    struct named_port *new;

    VEC_FOREACH(p, &wr->ports)
        if ((*p)->protocol == protocol && str_eq((*p)->name, name))
            return &(*p)->set;
    new = *vec_push(wr->w->arena, &wr->ports) = arena_new(wr->w->arena, struct named_port);
    *new = (struct named_port){ .name = name, .protocol = protocol };
    write_port_set(wr, new);
    return &new->set;
}

struct port_match {
    struct ranges numbers[PROTOCOL_MAX];
    bool any[PROTOCOL_MAX];
    VEC(const struct nft_set *) sets;
};

static void filter_policy_read_port(struct filter_policy_writer *wr, const struct json *j, struct port_match *m)
{
    const struct json *port = json_get(j, "port"), *end = json_get(j, "endPort");
    enum protocol protocol;
    const struct nft_set *set;
    int64_t low, high;

    if (!json_is(j, JSON_OBJECT) || read_protocol(j, &protocol) < 0)
        return;
    if (is_null(port)) {
        m->any[protocol] |= is_null(end);
    } else if (port->type == JSON_STRING) {
        set = is_null(end) ? port_set(wr, json_text(port, STR_NULL), protocol) : NULL;
        if (set && set->number)
            *vec_push(wr->w->arena, &m->sets) = set;
    } else if (json_to_i64(port, &low) == 0) {
        high = low;
        if (!is_null(end) && json_to_i64(end, &high) < 0)
            return;
        if (low >= 1 && low <= high && high <= 65535)
            ranges_add(wr->w->arena, &m->numbers[protocol], (uint32_t)low, (uint32_t)high);
    }
}

/* ---- rules ---- */

struct filter_policy_rule {
    const char *chain;
    enum direction direction;
    struct peers peers;
};

static void begin_rule(struct filter_policy_writer *wr, const struct filter_policy_rule *r, bool needs_ipv4)
{
    nft_rule(wr->w->table, r->chain);
    if (needs_ipv4 || !r->peers.is_anybody)
        nft_match_ipv4(wr->w->table);
    if (!r->peers.is_anybody)
        filter_put_match(wr->w, &r->peers.match);
}

static void end_rule(struct filter_policy_writer *wr, const struct filter_policy_rule *r)
{
    nft_verdict(wr->w->table, directions[r->direction].verdict, directions[r->direction].chain);
}

static void put_ports(struct filter_policy_writer *wr, const struct filter_policy_rule *r, struct port_match *m)
{
    for (int i = 0; i < PROTOCOL_MAX; i++) {
        struct filter_match numbers;

        if (!m->any[i] && !m->numbers[i].list.n)
            continue;
        if (!m->any[i])
            numbers = filter_match(wr->w, NFT_DPORT, &m->numbers[i], NULL);
        begin_rule(wr, r, false);
        nft_match_protocol(wr->w->table, protocol_numbers[i]);
        if (!m->any[i])
            filter_put_match(wr->w, &numbers);
        end_rule(wr, r);
    }
    VEC_FOREACH(set, &m->sets) {
        begin_rule(wr, r, true);
        filter_load_place(wr->w);
        nft_match_set(wr->w->table, 0, *set);
        end_rule(wr, r);
    }
}

static void write_rule(struct filter_policy_writer *wr, const struct filter_policy *p, struct filter_policy_rule *r,
                       const struct json *rule)
{
    const struct json *ports = json_get(rule, "ports");
    struct port_match m = { 0 };

    if (!json_is(rule, JSON_OBJECT) ||
        !read_peers(wr, p, r->direction, json_get(rule, directions[r->direction].peers), &r->peers))
        return;
    if (is_null(ports) || (ports->type == JSON_ARRAY && !json_count(ports))) {
        begin_rule(wr, r, false);
        end_rule(wr, r);
        return;
    }
    if (ports->type == JSON_ARRAY)
        JSON_FOREACH(port, ports)
            filter_policy_read_port(wr, port, &m);
    put_ports(wr, r, &m);
}

static const char *policy_chain(struct filter_policy_writer *wr, struct str number, enum direction d)
{
    return arena_fmt(wr->w->arena, "policy_%.*s_%s", STR_ARG(number), directions[d].rules).p;
}

static void write_policy(struct filter_policy_writer *wr, const struct filter_policy *p, enum direction d)
{
    const struct json *rules = json_get(p->spec, directions[d].rules);
    struct filter_policy_rule r = { .chain = policy_chain(wr, arena_fmt(wr->w->arena, "%zu", p->number), d),
                                    .direction = d };

    filter_chain_of(wr->w, r.chain, p->namespace, p->name);
    if (json_is(rules, JSON_ARRAY))
        JSON_FOREACH(rule, rules)
            write_rule(wr, p, &r, rule);
}

/* ---- classes: pods that the same policies select ---- */

static void write_class(struct filter_policy_writer *wr, enum direction d, const char *chain, struct str key)
{
    struct str rest = str_trim(key), one;

    nft_chain(wr->w->table, chain, NULL, NULL);
    while (str_split(&rest, ' ', &one)) {
        nft_rule(wr->w->table, chain);
        nft_verdict(wr->w->table, NFT_JUMP, policy_chain(wr, one, d));
    }
    nft_rule(wr->w->table, chain);
    nft_verdict(wr->w->table, NFT_GOTO, "refuse");
}

/* The map from pods to classes, and the chains of the classes. Without pods, which are all open then, there is none. */
static struct nft_set write_classes(struct filter_policy_writer *wr, enum direction d, struct buf *lists)
{
    struct filter_world *w = wr->w;
    struct nft_set map = { .name = arena_fmt(w->arena, "%s_of", directions[d].rules).p,
                           .key_type = NFT_TYPE_ADDRESS,
                           .key_bytes = 4,
                           .has_verdicts = true };
    struct map chains = { 0 };

    map_init(&chains, map_seed_default());
    for (size_t i = 0; i < w->pods.n; i++) {
        struct str key = buf_view(&lists[i]);
        in_addr_t address = htonl(w->pods.v[i].address);
        char *chain = map_get(&chains, key);

        if (str_empty(key))
            continue;
        if (!map.number)
            nft_set(w->table, &map);
        if (!chain) {
            chain = (char *)arena_fmt(w->arena, "%s_%zu", directions[d].rules, chains.n + 1).p;
            (void)map_put(&chains, key, chain); /* it was not there */
            write_class(wr, d, chain, key);
        }
        nft_element_goto(w->table, &map, &address, chain);
    }
    map_done(&chains);
    return map;
}

static void map_by(struct nft *t, const char *chain, enum nft_field field, const struct nft_set *map)
{
    nft_rule(t, chain);
    nft_match_ipv4(t);
    nft_load(t, 0, field);
    nft_map_verdict(t, 0, map);
}

static void accept_established(struct nft *t)
{
    uint32_t nothing = 0;

    nft_rule(t, "forward");
    nft_load_ct_state(t, 0);
    nft_mask(t, 0, NF_CT_STATE_BIT(IP_CT_ESTABLISHED) | NF_CT_STATE_BIT(IP_CT_RELATED));
    nft_match(t, 0, NFT_CMP_NEQ, &nothing, sizeof(nothing));
    nft_verdict(t, NF_ACCEPT, NULL);
}

static void write_forward(struct filter_world *w, const struct nft_set classes[DIRECTION_MAX])
{
    static const struct nft_hook forward = { "filter", NF_INET_FORWARD, FILTER_FORWARD, false };
    struct nft *t = w->table;

    nft_chain(t, "forward", &forward, NULL);
    if (w->in->bridge) { /* the pod of the address has ended; before what is established, so that its peers learn it */
        nft_rule(t, "forward");
        nft_match_link(t, NFT_META_OIFNAME, w->in->bridge);
        nft_verdict(t, NFT_GOTO, "gone");
    }
    accept_established(t);
    if (w->itself.number) {
        nft_rule(t, "forward");
        nft_match_ipv4(t);
        filter_load_pair(w);
        nft_match_set(t, 0, &w->itself);
        nft_verdict(t, NF_ACCEPT, NULL);
    }
    if (classes[EGRESS].number)
        map_by(t, "forward", NFT_SADDR, &classes[EGRESS]);
    nft_rule(t, "forward");
    nft_verdict(t, NFT_GOTO, "ingress");
}

/* Names are looked up at the machine itself, which is not forwarded. Each question is judged, whatever was allowed before:
 * an answer carries what a pod must not send. */
static void write_input(struct filter_world *w, const struct nft_set *classes)
{
    static const struct nft_hook input = { "filter", NF_INET_LOCAL_IN, FILTER_FORWARD, false };
    static const enum protocol protocols[] = { UDP, TCP };
    in_addr_t address = w->in->gateway.s_addr;
    in_port_t port = htons(FILTER_DNS_PORT);
    struct nft *t = w->table;

    if (!classes->number || !address)
        return;
    nft_chain(t, "input", &input, NULL);
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
        nft_rule(t, "input");
        nft_match_ipv4(t);
        nft_load(t, 0, NFT_DADDR);
        nft_match(t, 0, NFT_CMP_EQ, &address, sizeof(address));
        nft_match_protocol(t, protocol_numbers[protocols[i]]);
        nft_load(t, 0, NFT_DPORT);
        nft_match(t, 0, NFT_CMP_EQ, &port, sizeof(port));
        nft_load(t, 0, NFT_SADDR);
        nft_map_verdict(t, 0, classes);
    }
}

static void write_ingress(struct filter_world *w, const struct nft_set *classes)
{
    nft_chain(w->table, "ingress", NULL, NULL);
    if (classes->number)
        map_by(w->table, "ingress", NFT_DADDR, classes);
    nft_rule(w->table, "ingress");
    nft_verdict(w->table, NF_ACCEPT, NULL);
}

void filter_policies(struct filter_world *w)
{
    struct filter_policy_writer wr = { .w = w };
    struct filter_policy_selection sel;
    struct nft_set classes[DIRECTION_MAX];

    for (int d = 0; d < DIRECTION_MAX; d++)
        sel.list[d] = arena_array(w->arena, struct buf, w->pods.n + 1);
    collect_policies(&wr, &sel);
    VEC_FOREACH(p, &wr.policies)
        for (int d = 0; d < DIRECTION_MAX; d++)
            if (p->affects[d])
                write_policy(&wr, p, (enum direction)d);
    for (int d = 0; d < DIRECTION_MAX; d++)
        classes[d] = write_classes(&wr, (enum direction)d, sel.list[d]);
    write_forward(w, classes);
    write_ingress(w, &classes[INGRESS]);
    write_input(w, &classes[EGRESS]);
    filter_refusal(w, "gone", NFT_REJECT_ICMPX_HOST_UNREACH);
    filter_refusal(w, "refuse", NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
    for (int d = 0; d < DIRECTION_MAX; d++)
        for (size_t i = 0; i < w->pods.n; i++)
            buf_done(&sel.list[d][i]);
}
