/* dns.c - from the bytes of a question to the bytes of its answer
 *
 * ldns reads the question and writes the reply. Between the two a name is looked up in the zone (dns_zone.c), which
 * says what kind of records it has; a table says how each kind is written.
 */
#include "node/dns/dns_internal.h"

#include "base/util.h"

#include <arpa/inet.h>

enum {
    SOA_NEGATIVE_S = 1, /* a pod that comes up must be found soon, however often it was asked for before */
    PLAIN_UDP_MAX = 512,
    RECORD_MIN = 16,  /* the least an A record takes: a pointer to its name, ten bytes, the address */
    SRV_WEIGHT = 100, /* all alike */
    BADVERS = 16,
    ALIASES_MAX = 8, /* one after the other; they may lead in a circle */
};

struct dns_reply {
    struct dns_zone *zone;
    ldns_pkt *pkt;
    const ldns_rdf *owner; /* the name as it was asked for, capitals and all */
    const struct dns_node *node;
    size_t limit; /* of bytes */
    bool by_tcp;
    size_t n_max; /* no more records than this can fit */
};

/* ---- records ---- running out of memory stops the program, as everywhere ---- */

static void *dns_must(void *p)
{
    if (!p)
        abort();
    return p;
}

static ldns_rdf *data_name(const struct dns_name *name)
{
    return dns_must(ldns_rdf_new_frm_data(LDNS_RDF_TYPE_DNAME, name->n, name->wire));
}

static ldns_rdf *data_address(struct in_addr address)
{
    return dns_must(ldns_rdf_new_frm_data(LDNS_RDF_TYPE_A, sizeof(address.s_addr), &address.s_addr));
}

static ldns_rdf *data_u16(uint16_t v)
{
    return dns_must(ldns_native2rdf_int16(LDNS_RDF_TYPE_INT16, v));
}

static ldns_rdf *data_u32(uint32_t v)
{
    return dns_must(ldns_native2rdf_int32(LDNS_RDF_TYPE_INT32, v));
}

static ldns_rr *record_new(ldns_rdf *take_owner, ldns_rr_type type, uint32_t ttl_s)
{
    ldns_rr *rr = dns_must(ldns_rr_new());

    ldns_rr_set_owner(rr, take_owner);
    ldns_rr_set_type(rr, type);
    ldns_rr_set_class(rr, LDNS_RR_CLASS_IN);
    ldns_rr_set_ttl(rr, ttl_s);
    return rr;
}

static void record_add(ldns_rr *rr, ldns_rdf *take_data)
{
    if (!ldns_rr_push_rdf(rr, take_data))
        abort();
}

static void dns_push(struct dns_reply *r, ldns_pkt_section section, ldns_rr *take_rr)
{
    if (!ldns_pkt_push_rr(r->pkt, section, take_rr))
        abort();
}

/* A record at the name asked for, with one piece of data. */
static void push_answer(struct dns_reply *r, ldns_rr_type type, ldns_rdf *take_data)
{
    ldns_rr *rr = record_new(dns_must(ldns_rdf_clone(r->owner)), type, DNS_TTL_S);

    record_add(rr, take_data);
    dns_push(r, LDNS_SECTION_ANSWER, rr);
}

static void extra_address(struct dns_reply *r, const struct dns_name *owner, struct in_addr address)
{
    ldns_rr *rr;

    if (ldns_pkt_ancount(r->pkt) + ldns_pkt_arcount(r->pkt) >= r->n_max)
        return;
    rr = record_new(data_name(owner), LDNS_RR_TYPE_A, DNS_TTL_S);
    record_add(rr, data_address(address));
    dns_push(r, LDNS_SECTION_ADDITIONAL, rr);
}

static bool is_full(const struct dns_reply *r)
{
    return ldns_pkt_ancount(r->pkt) >= r->n_max;
}

static struct dns_name server_name(const struct dns_reply *r)
{
    struct dns_name name = dns_name_under(STR("dns"), &r->zone->domain);

    name = dns_name_under(STR("ns"), &name);
    return name.n ? name : r->zone->domain; /* a domain so long that nothing fits below it */
}

static ldns_rr *soa_new(const struct dns_reply *r, ldns_rdf *take_owner, uint32_t ttl_s)
{
    static const uint32_t times_s[] = { 7200, 1800, 86400, SOA_NEGATIVE_S }; /* refresh, retry, expire, minimum */
    struct dns_name server = server_name(r), person = dns_name_under(STR("hostmaster"), &r->zone->domain);
    ldns_rr *rr = record_new(take_owner, LDNS_RR_TYPE_SOA, ttl_s);

    record_add(rr, data_name(&server));
    record_add(rr, data_name(person.n ? &person : &r->zone->domain));
    record_add(rr, data_u32(r->zone->serial));
    for (size_t i = 0; i < ARRAY_LEN(times_s); i++)
        record_add(rr, data_u32(times_s[i]));
    return rr;
}

/* Who says that there is nothing, and for how long. */
static void deny(struct dns_reply *r)
{
    struct dns_name reverse;
    ldns_rdf *owner;

    (void)dns_name_parse(STR("in-addr.arpa"), &reverse); /* a constant; it is a name */
    owner = data_name(r->node->is_reverse ? &reverse : &r->zone->domain);
    dns_push(r, LDNS_SECTION_AUTHORITY, soa_new(r, owner, SOA_NEGATIVE_S));
}

/* ---- one writer for each kind of node ---- */

static void write_soa(struct dns_reply *r)
{
    dns_push(r, LDNS_SECTION_ANSWER, soa_new(r, dns_must(ldns_rdf_clone(r->owner)), DNS_TTL_S));
}

static void write_ns(struct dns_reply *r)
{
    struct dns_name server = server_name(r);

    push_answer(r, LDNS_RR_TYPE_NS, data_name(&server));
    if (r->zone->server.s_addr)
        extra_address(r, &server, r->zone->server);
}

static void write_address(struct dns_reply *r)
{
    push_answer(r, LDNS_RR_TYPE_A, data_address(r->node->address));
}

/* An answer by UDP that is cut is asked for again by TCP. With one count for both, each would see only half of the
 * turns. */
static void dns_write_all(struct dns_reply *r)
{
    struct dns_entry *e = r->node->entry;
    struct dns_order order = dns_zone_order(r->zone, e->addresses.n, e->turn_a[r->by_tcp]++);

    for (size_t i = 0; i < e->addresses.n && !is_full(r); i++)
        push_answer(r, LDNS_RR_TYPE_A, data_address(e->addresses.v[dns_order_at(&order, i)]));
}

static void write_members(struct dns_reply *r)
{
    for (size_t i = 0; i < r->node->n && !is_full(r); i++)
        push_answer(r, LDNS_RR_TYPE_A, data_address(r->node->first[i].address));
}

static void answer_srv(struct dns_reply *r, uint16_t port, const struct dns_name *target)
{
    ldns_rr *rr;

    if (target->n == 0)
        return; /* such a long name cannot be asked for either */
    rr = record_new(dns_must(ldns_rdf_clone(r->owner)), LDNS_RR_TYPE_SRV, DNS_TTL_S);
    record_add(rr, data_u16(0));
    record_add(rr, data_u16(SRV_WEIGHT));
    record_add(rr, data_u16(port));
    record_add(rr, data_name(target));
    dns_push(r, LDNS_SECTION_ANSWER, rr);
}

static void write_targets(struct dns_reply *r, uint16_t port, const struct dns_order *order)
{
    const struct dns_entry *e = r->node->entry;

    for (size_t i = 0; i < e->members.n && !is_full(r); i++) {
        size_t at = dns_order_at(order, i);
        bool is_first = at == 0 || !str_eq(e->members.v[at - 1].name, e->members.v[at].name);

        if (is_first) { /* a name that several pods share is one target */
            struct dns_name target = dns_name_under(e->members.v[at].name, &e->wire);

            answer_srv(r, port, &target);
        }
    }
}

static void write_target_addresses(struct dns_reply *r, const struct dns_order *order)
{
    const struct dns_entry *e = r->node->entry;

    for (size_t i = 0; i < e->members.n; i++) {
        const struct dns_member *m = &e->members.v[dns_order_at(order, i)];
        struct dns_name target = dns_name_under(m->name, &e->wire);

        if (ldns_pkt_ancount(r->pkt) + ldns_pkt_arcount(r->pkt) >= r->n_max)
            return;
        if (target.n)
            extra_address(r, &target, m->address);
    }
}

static void write_srv(struct dns_reply *r)
{
    const struct dns_node *node = r->node;
    struct dns_entry *e = node->entry;
    struct dns_order order = dns_zone_order(r->zone, e->members.n, e->turn_srv[r->by_tcp]++);

    for (size_t i = 0; i < node->n; i++)
        if (e->address.s_addr)
            answer_srv(r, node->first_port[i].port, &e->wire);
        else
            write_targets(r, node->first_port[i].port, &order);
    if (e->address.s_addr)
        extra_address(r, &e->wire, e->address);
    else
        write_target_addresses(r, &order);
}

static void answer_names(struct dns_reply *r, const struct dns_entry *e, bool named)
{
    struct dns_member *const *first;
    size_t n = dns_entry_at(e, r->node->address, &first);

    if (named && e->address.s_addr == r->node->address.s_addr)
        push_answer(r, LDNS_RR_TYPE_PTR, data_name(&e->wire));
    for (size_t i = 0; i < n && !is_full(r); i++) {
        struct dns_name name = dns_name_under(first[i]->name, &e->wire);

        if (first[i]->is_named == named && name.n)
            push_answer(r, LDNS_RR_TYPE_PTR, data_name(&name));
    }
}

/* Real names first: many programs look at the first only. */
static void write_reverse(struct dns_reply *r)
{
    const struct list *owners = dns_zone_owners(r->zone, r->node->address);

    for (int named = 1; named >= 0; named--)
        LIST_FOREACH(struct dns_link, l, owners, link)
            if (!is_full(r))
                answer_names(r, l->entry, named);
}

static void write_alias(struct dns_reply *r)
{
    push_answer(r, LDNS_RR_TYPE_CNAME, data_name(&r->node->entry->alias));
}

static void write_version(struct dns_reply *r)
{
    static const char text[] = "\0051.1.0"; /* of the Kubernetes specification of these names */

    push_answer(r, LDNS_RR_TYPE_TXT, dns_must(ldns_rdf_new_frm_data(LDNS_RDF_TYPE_STR, sizeof(text) - 1, text)));
}

static const struct {
    enum dns_kind kind;
    ldns_rr_type type;
    void (*write)(struct dns_reply *r);
} writers[] = {
    { DNS_APEX, LDNS_RR_TYPE_SOA, write_soa },        { DNS_APEX, LDNS_RR_TYPE_NS, write_ns },
    { DNS_ADDRESS, LDNS_RR_TYPE_A, write_address },   { DNS_ALL, LDNS_RR_TYPE_A, dns_write_all },
    { DNS_MEMBERS, LDNS_RR_TYPE_A, write_members },   { DNS_SERVICE, LDNS_RR_TYPE_SRV, write_srv },
    { DNS_ALIAS, LDNS_RR_TYPE_CNAME, write_alias },   { DNS_REVERSE, LDNS_RR_TYPE_PTR, write_reverse },
    { DNS_VERSION, LDNS_RR_TYPE_TXT, write_version },
};

static void write_node(struct dns_reply *r, ldns_rr_type type)
{
    uint16_t n_aliases = ldns_pkt_ancount(r->pkt);

    for (size_t i = 0; i < ARRAY_LEN(writers); i++)
        if (writers[i].kind == r->node->kind && (writers[i].type == type || type == LDNS_RR_TYPE_ANY))
            writers[i].write(r);
    if (ldns_pkt_ancount(r->pkt) == n_aliases)
        deny(r);
}

/* ---- the packet ---- */

static ldns_pkt *reply_new(const ldns_pkt *question, unsigned rcode)
{
    ldns_pkt *pkt = dns_must(ldns_pkt_new());

    ldns_pkt_set_id(pkt, ldns_pkt_id(question));
    ldns_pkt_set_qr(pkt, true);
    ldns_pkt_set_opcode(pkt, ldns_pkt_get_opcode(question));
    ldns_pkt_set_rd(pkt, ldns_pkt_rd(question));
    ldns_pkt_set_cd(pkt, ldns_pkt_cd(question));
    ldns_pkt_set_ra(pkt, true);
    ldns_pkt_set_rcode(pkt, rcode & 15);
    if (ldns_pkt_qdcount(question) == 1)
        if (!ldns_pkt_push_rr(pkt, LDNS_SECTION_QUESTION,
                              dns_must(ldns_rr_clone(ldns_rr_list_rr(ldns_pkt_question(question), 0)))))
            abort();
    if (ldns_pkt_edns(question)) {
        uint16_t size = MAX_OF(ldns_pkt_edns_udp_size(question), PLAIN_UDP_MAX);

        ldns_pkt_set_edns_udp_size(pkt, MIN_OF(size, DNS_UDP_MAX));
        ldns_pkt_set_edns_do(pkt, ldns_pkt_edns_do(question));
        ldns_pkt_set_edns_extended_rcode(pkt, (uint8_t)(rcode >> 4));
    }
    return pkt;
}

static size_t dns_limit_of(const ldns_pkt *question, size_t max)
{
    size_t asked = ldns_pkt_edns(question) ? ldns_pkt_edns_udp_size(question) : 0;

    if (max == 0)
        return DNS_MESSAGE_MAX;
    return MIN_OF(max, MAX_OF(asked, PLAIN_UDP_MAX));
}

static uint8_t *to_wire(const ldns_pkt *pkt, size_t *ret_n)
{
    uint8_t *wire = NULL;

    if (ldns_pkt2wire(&wire, pkt, ret_n) != LDNS_STATUS_OK)
        abort(); /* made by us, and no larger than checked before */
    return wire;
}

/* How many of 'n' alike records to keep, when the packet of 'size' bytes is too long by 'over'. */
static size_t fewer(size_t n, size_t size, size_t over)
{
    size_t each = size / n, drop = MAX_OF(over / MAX_OF(each, 1), 1); /* 'each' is too large, so it drops too few */

    return n - MIN_OF(drop, n);
}

static void set_count(ldns_pkt *pkt, ldns_pkt_section section, ldns_rr_list *list, size_t n)
{
    ldns_rr_list_set_rr_count(list, n); /* the records stay in the array behind */
    ldns_pkt_set_section_count(pkt, section, (uint16_t)n);
}

/* Leave records out from the end until the packet fits: first what is only of use, then answers, and that is said. */
static uint8_t *write_cut(ldns_pkt *pkt, size_t limit, size_t *ret_n)
{
    static const ldns_pkt_section sections[] = { LDNS_SECTION_ADDITIONAL, LDNS_SECTION_AUTHORITY, LDNS_SECTION_ANSWER };
    ldns_rr_list *lists[] = { ldns_pkt_additional(pkt), ldns_pkt_authority(pkt), ldns_pkt_answer(pkt) };
    size_t full[ARRAY_LEN(sections)];
    uint8_t *wire = to_wire(pkt, ret_n);

    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        full[i] = ldns_rr_list_rr_count(lists[i]);
        for (size_t n = full[i]; n && *ret_n > limit;) {
            n = fewer(n, *ret_n, *ret_n - limit);
            set_count(pkt, sections[i], lists[i], n);
            if (sections[i] == LDNS_SECTION_ANSWER)
                ldns_pkt_set_tc(pkt, true);
            free(wire);
            wire = to_wire(pkt, ret_n);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) /* or the records left out are not freed */
        set_count(pkt, sections[i], lists[i], full[i]);
    return wire;
}

static void dns_finish(ldns_pkt *take_pkt, size_t limit, struct buf *out)
{
    size_t n;
    uint8_t *wire = write_cut(take_pkt, limit, &n);

    buf_append(out, wire, n);
    free(wire);
    ldns_pkt_free(take_pkt);
}

/* ---- questions ---- */

static ldns_pkt *read_question(struct str packet)
{
    ldns_pkt *pkt = NULL;

    /* A reply is never answered: two servers would talk for ever. */
    if (packet.n < DNS_HEADER || packet.n > DNS_MESSAGE_MAX || LDNS_QR_WIRE((const uint8_t *)packet.p))
        return NULL;
    if (ldns_wire2pkt(&pkt, (const uint8_t *)packet.p, packet.n) != LDNS_STATUS_OK)
        return NULL;
    return pkt;
}

/* Why it is not answered; 0 if it is. */
static unsigned dns_refusal(const ldns_pkt *pkt)
{
    const ldns_rr *question;
    ldns_rr_type type;

    if (ldns_pkt_get_opcode(pkt) != LDNS_PACKET_QUERY)
        return LDNS_RCODE_NOTIMPL;
    if (ldns_pkt_qdcount(pkt) != 1)
        return LDNS_RCODE_FORMERR;
    if (ldns_pkt_edns(pkt) && ldns_pkt_edns_version(pkt) != 0)
        return BADVERS;
    question = ldns_rr_list_rr(ldns_pkt_question(pkt), 0);
    type = ldns_rr_get_type(question);
    if (ldns_rr_get_class(question) != LDNS_RR_CLASS_IN || type == LDNS_RR_TYPE_OPT ||
        (type >= LDNS_RR_TYPE_TKEY && type < LDNS_RR_TYPE_ANY)) /* meta types */
        return LDNS_RCODE_REFUSED;
    return 0;
}

/* Where another name leads. The node becomes that name's; false: there is no end to it. */
static bool follow_aliases(struct dns_reply *r, struct dns_node *node, ldns_rr_type type)
{
    for (int n = 0; node->kind == DNS_ALIAS && type != LDNS_RR_TYPE_CNAME; n++) {
        const struct dns_name *alias = &node->entry->alias;
        struct dns_labels labels;

        if (n == ALIASES_MAX)
            return false;
        write_alias(r);
        r->owner = ldns_rr_rdf(ldns_rr_list_rr(ldns_pkt_answer(r->pkt), ldns_pkt_ancount(r->pkt) - 1u), 0);
        dns_labels_of(&labels, alias->wire, alias->n);
        *node = dns_zone_find(r->zone, &labels);
    }
    return true;
}

static enum dns_outcome answer_node(struct dns_zone *z, const ldns_pkt *question, struct dns_node *node, size_t max,
                                    struct buf *out)
{
    const ldns_rr *asked = ldns_rr_list_rr(ldns_pkt_question(question), 0);
    struct dns_reply r = {
        .zone = z,
        .pkt = reply_new(question, LDNS_RCODE_NOERROR),
        .owner = ldns_rr_owner(asked),
        .node = node,
        .limit = dns_limit_of(question, max),
        .by_tcp = max == 0,
    };

    r.n_max = r.limit / RECORD_MIN + 1;
    ldns_pkt_set_aa(r.pkt, true);
    if (!follow_aliases(&r, node, ldns_rr_get_type(asked)))
        ldns_pkt_set_rcode(r.pkt, LDNS_RCODE_SERVFAIL);
    else if (node->kind != DNS_ELSEWHERE)
        write_node(&r, ldns_rr_get_type(asked));
    if (node->kind == DNS_NOTHING)
        ldns_pkt_set_rcode(r.pkt, LDNS_RCODE_NXDOMAIN);
    dns_finish(r.pkt, node->kind == DNS_ELSEWHERE ? DNS_MESSAGE_MAX : r.limit,
               out); /* what is begun is cut at its end */
    return node->kind == DNS_ELSEWHERE ? DNS_CHASE : DNS_ANSWERED;
}

bool dns_refuse(struct str packet, ldns_pkt_rcode rcode, struct buf *out)
{
    ldns_pkt *question = read_question(packet);

    if (!question)
        return false;
    dns_finish(reply_new(question, rcode), DNS_MESSAGE_MAX, out);
    ldns_pkt_free(question);
    return true;
}

enum dns_outcome dns_answer(struct dns_zone *z, struct str packet, size_t max, struct buf *out)
{
    ldns_pkt *question = read_question(packet);
    enum dns_outcome outcome = DNS_ANSWERED;
    struct dns_labels name;
    struct dns_node node;
    unsigned rcode;

    if (!question)
        return DNS_DROP;
    rcode = dns_refusal(question);
    if (rcode) {
        dns_finish(reply_new(question, rcode), dns_limit_of(question, max), out);
    } else {
        const ldns_rdf *owner = ldns_rr_owner(ldns_rr_list_rr(ldns_pkt_question(question), 0));

        dns_labels_of(&name, ldns_rdf_data(owner), ldns_rdf_size(owner));
        node = dns_zone_find(z, &name);
        if (node.kind == DNS_ELSEWHERE)
            outcome = DNS_FORWARD;
        else
            outcome = answer_node(z, question, &node, max, out);
    }
    ldns_pkt_free(question);
    return outcome;
}

/* ---- what is elsewhere ---- */

/* A packet of our own making, or one that was looked at. */
static ldns_pkt *read_reply(struct str packet)
{
    ldns_pkt *pkt = NULL;

    return ldns_wire2pkt(&pkt, (const uint8_t *)packet.p, packet.n) == LDNS_STATUS_OK ? pkt : NULL;
}

void dns_chase_question(struct str begun, struct buf *out)
{
    ldns_pkt *reply = dns_must(read_reply(begun)), *pkt = dns_must(ldns_pkt_new());
    const ldns_rr *asked = ldns_rr_list_rr(ldns_pkt_question(reply), 0);
    const ldns_rr *last = ldns_rr_list_rr(ldns_pkt_answer(reply), ldns_pkt_ancount(reply) - 1u);
    ldns_rr *question = record_new(dns_must(ldns_rdf_clone(ldns_rr_rdf(last, 0))), ldns_rr_get_type(asked), 0);

    ldns_rr_set_question(question, true);
    ldns_pkt_set_id(pkt, ldns_pkt_id(reply));
    ldns_pkt_set_rd(pkt, true);
    ldns_pkt_set_edns_udp_size(pkt, DNS_UDP_MAX);
    if (!ldns_pkt_push_rr(pkt, LDNS_SECTION_QUESTION, question))
        abort();
    dns_finish(pkt, DNS_MESSAGE_MAX, out);
    ldns_pkt_free(reply);
}

void dns_chase_reply(struct str begun, struct str answer, size_t max, struct buf *out)
{
    ldns_pkt *reply = dns_must(read_reply(begun)), *more = answer.n ? read_reply(answer) : NULL;
    ldns_rr_type asked = ldns_rr_get_type(ldns_rr_list_rr(ldns_pkt_question(reply), 0));

    ldns_pkt_set_aa(reply, false);
    ldns_pkt_set_rcode(reply, more ? ldns_pkt_get_rcode(more) : LDNS_RCODE_SERVFAIL);
    ldns_pkt_set_tc(reply, more && ldns_pkt_tc(more));
    for (size_t i = 0; more && i < ldns_pkt_ancount(more); i++) { /* only records of the type that was asked for */
        const ldns_rr *rr = ldns_rr_list_rr(ldns_pkt_answer(more), i);
        ldns_rr_type type = ldns_rr_get_type(rr);

        if ((type == asked || type == LDNS_RR_TYPE_CNAME || asked == LDNS_RR_TYPE_ANY) &&
            !ldns_pkt_push_rr(reply, LDNS_SECTION_ANSWER, dns_must(ldns_rr_clone(rr))))
            abort();
    }
    dns_finish(reply, dns_limit_of(reply, max), out);
    ldns_pkt_free(more);
}
