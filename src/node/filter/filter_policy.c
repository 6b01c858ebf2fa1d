/* filter_policy.c - NetworkPolicies as chains */
#include "node/filter/filter_internal.h"

#include "api/selector.h"
#include "base/map.h"
#include "base/util.h"

#include <arpa/inet.h>

enum direction { INGRESS, EGRESS, DIRECTION_MAX };
enum protocol { TCP, UDP, SCTP, PROTOCOL_MAX };

static const struct { /* what differs between the directions */
    const char *type, *rules, *peers, *own, *other, *allow;
} directions[DIRECTION_MAX] = {
    [INGRESS] = { "Ingress", "ingress", "from", "daddr", "saddr", "accept" },
    [EGRESS] = { "Egress", "egress", "to", "saddr", "daddr", "goto ingress" }, /* the receiver has a word too */
};
static const char *const protocol_names[PROTOCOL_MAX] = { "TCP", "UDP", "SCTP" };
static const char *const protocol_words[PROTOCOL_MAX] = { "tcp", "udp", "sctp" };

struct policy {
    struct str namespace, name;
    const struct json *spec;
    bool affects[DIRECTION_MAX];
    size_t seq, number; /* number: in the names of its chains, from 1 */
};

struct class
{ /* pods that the same policies select */
    size_t number;
};

struct named_port {
    struct str name;
    enum protocol protocol;
    size_t number; /* of its set, from 1; 0: no pod has such a port */
};

struct writer {
    struct filter_world *w;
    struct buf *sets, *chains;
    VEC(struct policy) policies; /* those that select a pod here */
    VEC(struct named_port) ports;
    size_t n_port_sets;
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
static void read_types(struct policy *p)
{
    const struct json *types = json_get(p->spec, "policyTypes");
    bool is_given = json_is(types, JSON_ARRAY) && json_count(types);

    p->affects[INGRESS] = !is_given || lists_type(types, directions[INGRESS].type);
    p->affects[EGRESS] = is_given ? lists_type(types, directions[EGRESS].type)
                                  : json_count(json_get(p->spec, "egress")) > 0;
}

static int policy_cmp(const void *x, const void *y)
{
    const struct policy *a = x, *b = y;
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
    struct policy p = { .namespace = member_namespace(policy), .spec = json_get(policy, "spec") };
    const struct selector *s = read_selector(a, json_get(p.spec, "podSelector"));

    read_types(&p);
    return str_eq(p.namespace, namespace) && (p.affects[INGRESS] || p.affects[EGRESS]) &&
           (!s || selector_matches(s, labels));
}

/* The policies of each pod: for direction d and pod i, list[d][i] is a text of their numbers, the key of its class. */
struct selection {
    struct buf *list[DIRECTION_MAX];
};

static void select_pods(struct writer *wr, struct policy *p, struct selection *sel)
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

static void collect_policies(struct writer *wr, struct selection *sel)
{
    VEC(struct policy) all = { 0 };

    VEC_FOREACH(o, &wr->w->in->policies) {
        struct policy p = { .namespace = member_namespace(*o),
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
            return; /* an exception nobody understands: better no block at all */
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

static void add_peer(struct filter_world *w, const struct policy *p, const struct json *peer, struct ranges *out)
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
    if (is_null(spaces)) {
        if (own)
            add_pods(w, own, of_pods, out);
        return;
    }
    VEC_FOREACH(space, &w->spaces)
        if (selector_matches(of_spaces, space->labels))
            add_pods(w, space, of_pods, out);
}

/* "ip saddr { … } " or nothing for everybody. False: the rule lets nobody in. */
static bool put_peers(struct filter_world *w, const struct policy *p, enum direction d, const struct json *peers,
                      struct buf *out)
{
    struct ranges r = { 0 };

    if (is_null(peers) || (peers->type == JSON_ARRAY && !json_count(peers)))
        return true;
    if (peers->type != JSON_ARRAY)
        return false;
    JSON_FOREACH(peer, peers)
        add_peer(w, p, peer, &r);
    if (!r.list.n)
        return false;
    ranges_join(&r);
    if (r.list.n == 1 && r.list.v[0].low == 0 && r.list.v[0].high == UINT32_MAX)
        return true;
    buf_fmt(out, "ip %s ", directions[d].other);
    ranges_print(out, &r, true);
    buf_char(out, ' ');
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
static size_t write_port_set(struct writer *wr, struct str name, enum protocol protocol)
{
    struct filter_world *w = wr->w;
    autobuf elements = { 0 };
    size_t n = 0;
    uint32_t number;

    VEC_FOREACH(p, &w->pods) {
        struct ranges r = { 0 };

        JSON_FOREACH(port, p->pod->ports)
            if (port_is(port, name, protocol, &number))
                ranges_add(w->arena, &r, number, number);
        ranges_join(&r);
        VEC_FOREACH(x, &r.list)
            for (uint32_t i = x->low; i <= x->high; i++) {
                filter_element(&elements, n++);
                filter_address(&elements, p->address);
                buf_fmt(&elements, " . %s . %u", protocol_words[protocol], i);
            }
    }
    if (!n)
        return 0;
    filter_set_begin(wr->sets, "set", arena_fmt(w->arena, "port_%zu", ++wr->n_port_sets).p,
                     "ipv4_addr . inet_proto . inet_service");
    buf_str(wr->sets, buf_view(&elements));
    filter_set_end(wr->sets);
    return wr->n_port_sets;
}

static size_t port_set(struct writer *wr, struct str name, enum protocol protocol)
{
    struct named_port *new;

    VEC_FOREACH(p, &wr->ports)
        if (p->protocol == protocol && str_eq(p->name, name))
            return p->number;
    new = vec_push(wr->w->arena, &wr->ports);
    *new = (struct named_port){ name, protocol, write_port_set(wr, name, protocol) };
    return new->number;
}

struct port_match {
    struct ranges numbers[PROTOCOL_MAX];
    bool any[PROTOCOL_MAX];
    VEC(size_t) sets;
};

static void read_port(struct writer *wr, const struct json *j, struct port_match *m)
{
    const struct json *port = json_get(j, "port"), *end = json_get(j, "endPort");
    enum protocol protocol;
    int64_t low, high;
    size_t set;

    if (!json_is(j, JSON_OBJECT) || read_protocol(j, &protocol) < 0)
        return;
    if (is_null(port)) {
        m->any[protocol] |= is_null(end);
    } else if (port->type == JSON_STRING) {
        set = is_null(end) ? port_set(wr, json_text(port, STR_NULL), protocol) : 0;
        if (set)
            *vec_push(wr->w->arena, &m->sets) = set;
    } else if (json_to_i64(port, &low) == 0) {
        high = low;
        if (!is_null(end) && json_to_i64(end, &high) < 0)
            return;
        if (low >= 1 && low <= high && high <= 65535)
            ranges_add(wr->w->arena, &m->numbers[protocol], (uint32_t)low, (uint32_t)high);
    }
}

static void put_rule(struct writer *wr, struct str peers, enum direction d, const char *ports)
{
    buf_fmt(wr->chains, "\t\t%.*s%s%s\n", STR_ARG(peers), ports, directions[d].allow);
}

static void put_ports(struct writer *wr, struct str peers, enum direction d, const struct port_match *m)
{
    for (int i = 0; i < PROTOCOL_MAX; i++) {
        autobuf b = { 0 };
        struct ranges numbers = m->numbers[i];

        if (m->any[i]) {
            buf_fmt(&b, "meta l4proto %s ", protocol_words[i]);
        } else if (numbers.list.n) {
            buf_fmt(&b, "%s dport ", protocol_words[i]);
            ranges_print(&b, &numbers, false);
            buf_char(&b, ' ');
        } else {
            continue;
        }
        put_rule(wr, peers, d, b.p);
    }
    VEC_FOREACH(set, &m->sets)
        put_rule(wr, peers, d, arena_fmt(wr->w->arena, "ip daddr . meta l4proto . th dport @port_%zu ", *set).p);
}

/* ---- rules ---- */

static void write_rule(struct writer *wr, const struct policy *p, enum direction d, const struct json *rule)
{
    const struct json *ports = json_get(rule, "ports");
    struct port_match m = { 0 };
    autobuf peers = { 0 };

    if (!json_is(rule, JSON_OBJECT) || !put_peers(wr->w, p, d, json_get(rule, directions[d].peers), &peers))
        return;
    if (is_null(ports) || (ports->type == JSON_ARRAY && !json_count(ports))) {
        put_rule(wr, buf_view(&peers), d, "");
        return;
    }
    if (ports->type == JSON_ARRAY)
        JSON_FOREACH(port, ports)
            read_port(wr, port, &m);
    put_ports(wr, buf_view(&peers), d, &m);
}

static void write_policy(struct writer *wr, const struct policy *p, enum direction d)
{
    const struct json *rules = json_get(p->spec, directions[d].rules);

    buf_fmt(wr->chains, "\tchain policy_%zu_%s {\n", p->number, directions[d].rules);
    filter_note(wr->chains, p->namespace, p->name);
    if (json_is(rules, JSON_ARRAY))
        JSON_FOREACH(rule, rules)
            write_rule(wr, p, d, rule);
    buf_str(wr->chains, STR("\t}\n"));
}

/* ---- classes ---- */

static void write_class(struct writer *wr, enum direction d, size_t number, struct str key)
{
    struct str rest = str_trim(key), one;

    buf_fmt(wr->chains, "\tchain %s_%zu {\n", directions[d].rules, number);
    while (str_split(&rest, ' ', &one))
        buf_fmt(wr->chains, "\t\tjump policy_%.*s_%s\n", STR_ARG(one), directions[d].rules);
    buf_str(wr->chains, STR("\t\tgoto refuse\n\t}\n"));
}

/* The map from pods to classes, and the chains of the classes. False: every pod is open in this direction. */
static bool write_classes(struct writer *wr, enum direction d, struct buf *lists)
{
    struct filter_world *w = wr->w;
    struct map classes = { 0 };
    size_t n = 0;

    map_init(&classes, map_seed_default());
    for (size_t i = 0; i < w->pods.n; i++) {
        struct str key = buf_view(&lists[i]);
        struct class *c = map_get(&classes, key);

        if (str_empty(key))
            continue;
        if (!c) {
            c = arena_new(w->arena, struct class);
            c->number = classes.n + 1;
            (void)map_put(&classes, key, c); /* it was not there */
            write_class(wr, d, c->number, key);
        }
        if (!n)
            filter_set_begin(wr->sets, "map", arena_fmt(w->arena, "%s_of", directions[d].rules).p,
                             "ipv4_addr : verdict");
        filter_element(wr->sets, n++);
        filter_address(wr->sets, w->pods.v[i].address);
        buf_fmt(wr->sets, " : goto %s_%zu", directions[d].rules, c->number);
    }
    if (n)
        filter_set_end(wr->sets);
    map_done(&classes);
    return n > 0;
}

/* TCP is answered by a reset: the kernel sends only a few ICMP messages a second, and whoever gets none waits. */
static void write_refusal(struct buf *out, const char *chain, const char *word)
{
    buf_fmt(out, "\tchain %s {\n\t\tmeta l4proto tcp reject with tcp reset\n\t\treject with icmpx %s\n\t}\n", chain,
            word);
}

static void write_forward(struct writer *wr, const bool has[DIRECTION_MAX])
{
    struct buf *out = wr->chains;

    buf_str(out, STR("\tchain forward {\n\t\ttype filter hook forward priority filter\n"));
    if (wr->w->in->bridge) /* no pod has the address any more; before what is established, so that its peers learn it */
        buf_fmt(out, "\t\toifname \"%s\" goto gone\n", wr->w->in->bridge);
    buf_str(out, STR("\t\tct state established,related accept\n"));
    if (wr->w->has_itself)
        buf_str(out, STR("\t\tip saddr . ip daddr @itself accept\n"));
    if (has[EGRESS])
        buf_str(out, STR("\t\tip saddr vmap @egress_of\n"));
    buf_str(out, STR("\t\tgoto ingress\n\t}\n\tchain ingress {\n"));
    if (has[INGRESS])
        buf_str(out, STR("\t\tip daddr vmap @ingress_of\n"));
    buf_str(out, STR("\t\taccept\n\t}\n"));
    write_refusal(out, "gone", "host-unreachable");
    write_refusal(out, "refuse", "admin-prohibited");
}

void filter_policies(struct filter_world *w, struct buf *sets, struct buf *chains)
{
    struct writer wr = { .w = w, .sets = sets, .chains = chains };
    struct selection sel;
    bool has[DIRECTION_MAX];

    for (int d = 0; d < DIRECTION_MAX; d++)
        sel.list[d] = arena_array(w->arena, struct buf, w->pods.n + 1);
    collect_policies(&wr, &sel);
    VEC_FOREACH(p, &wr.policies)
        for (int d = 0; d < DIRECTION_MAX; d++)
            if (p->affects[d])
                write_policy(&wr, p, (enum direction)d);
    for (int d = 0; d < DIRECTION_MAX; d++)
        has[d] = write_classes(&wr, (enum direction)d, sel.list[d]);
    write_forward(&wr, has);
    for (int d = 0; d < DIRECTION_MAX; d++)
        for (size_t i = 0; i < w->pods.n; i++)
            buf_done(&sel.list[d][i]);
}
