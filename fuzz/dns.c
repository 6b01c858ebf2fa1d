/* dns.c - fuzz: any packet is answered, passed on or dropped; an answer fits, can be read and repeats the question, also one
 * that ends with what somebody else has answered; and any resolv.conf of a host, and any pod, gives one that has only the lines it may have */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "json/json.h"
#include "node/dns/dns.h"

#include <arpa/inet.h>
#include <ldns/ldns.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dns_zone *make_zone(void)
{
    struct dns_zone *z = dns_zone_new("c.l", 1);
    struct dns_service service = { .namespace = STR("d"), .name = STR("web"), .address = { htonl(0x0a600005) } };
    struct dns_service wide = { .namespace = STR("d"), .name = STR("w") };
    autoarena a = { 0 };

    *vec_push(&a, &service.ports) = (struct dns_port){ STR("p"), 'T', 80 };
    *vec_push(&a, &wide.ports) = (struct dns_port){ STR("p"), 'U', 80 };
    for (uint32_t i = 1; i <= 100; i++)
        *vec_push(&a, &wide.hosts) =
            (struct dns_host){ i % 3 ? arena_fmt(&a, "h%u", i / 2) : STR(""), { htonl(0x0a000000 + i) }, i % 5 != 0 };
    dns_zone_put(z, &service);
    dns_zone_put(z, &wide);
    dns_zone_put(z, &(struct dns_service){ .namespace = STR("d"), .name = STR("n"), .alias = STR("web.d.svc.c.l") });
    dns_zone_put(z, &(struct dns_service){ .namespace = STR("d"), .name = STR("f"), .alias = STR("f.example") });
    dns_zone_set_server(z, (struct in_addr){ htonl(0x0a0000fe) });
    return z;
}

static bool same_question(ldns_pkt *a, ldns_pkt *b)
{
    const ldns_rr *x = ldns_rr_list_rr(ldns_pkt_question(a), 0), *y = ldns_rr_list_rr(ldns_pkt_question(b), 0);

    return ldns_rr_get_type(x) == ldns_rr_get_type(y) && ldns_rr_get_class(x) == ldns_rr_get_class(y) &&
           ldns_rdf_size(ldns_rr_owner(x)) == ldns_rdf_size(ldns_rr_owner(y)) && /* capitals too */
           memcmp(ldns_rdf_data(ldns_rr_owner(x)), ldns_rdf_data(ldns_rr_owner(y)), ldns_rdf_size(ldns_rr_owner(x))) ==
               0;
}

static void check_reply(struct str packet, struct str reply)
{
    ldns_pkt *question = NULL, *answer = NULL;

    assert(ldns_wire2pkt(&question, (const uint8_t *)packet.p, packet.n) == LDNS_STATUS_OK);
    assert(ldns_wire2pkt(&answer, (const uint8_t *)reply.p, reply.n) == LDNS_STATUS_OK);
    assert(ldns_pkt_id(question) == ldns_pkt_id(answer) && ldns_pkt_qr(answer) && !ldns_pkt_qr(question));
    assert(ldns_pkt_edns(question) == ldns_pkt_edns(answer));
    if (ldns_pkt_qdcount(question) == 1)
        assert(ldns_pkt_qdcount(answer) == 1 && same_question(question, answer));
    else
        assert(ldns_pkt_qdcount(answer) == 0 && ldns_pkt_get_rcode(answer) != LDNS_RCODE_NOERROR);
    ldns_pkt_free(question);
    ldns_pkt_free(answer);
}

static void try_chase(struct str packet, struct str begun, struct str answer, size_t max)
{
    autobuf question = { 0 }, reply = { 0 };
    ldns_pkt *pkt = NULL;

    dns_chase_question(begun, &question);
    assert(ldns_wire2pkt(&pkt, (const uint8_t *)question.p, question.n) == LDNS_STATUS_OK);
    assert(ldns_pkt_qdcount(pkt) == 1 && !ldns_pkt_qr(pkt));
    ldns_pkt_free(pkt);
    dns_chase_reply(begun, answer, max, &reply);
    assert(reply.n <= (max ? max : 65535));
    check_reply(packet, buf_view(&reply));
}

static void try_packet(struct dns_zone *z, struct str packet, size_t max)
{
    autobuf reply = { 0 };
    enum dns_outcome outcome = dns_answer(z, packet, max, &reply);

    assert((outcome == DNS_ANSWERED || outcome == DNS_CHASE) == (reply.n > 0));
    assert(outcome == DNS_CHASE || reply.n <= (max ? max : 65535));
    if (outcome == DNS_ANSWERED)
        check_reply(packet, buf_view(&reply));
    if (outcome == DNS_CHASE)
        try_chase(packet, buf_view(&reply), packet, max);
}

/* The input as what somebody else has answered for "f.d.svc.c.l", of which the type is its first byte. */
static void try_answer(struct dns_zone *z, struct str input, size_t max)
{
    char question[] = "\0\7\1\0\0\1\0\0\0\0\0\0\1f\1d\3svc\1c\1l\0\0\1\0\1";
    struct str packet = { question, sizeof(question) - 1 };
    autobuf begun = { 0 };

    if (input.n)
        question[sizeof(question) - 4] = input.p[0];
    if (dns_answer(z, packet, max, &begun) == DNS_CHASE)
        try_chase(packet, buf_view(&begun), input, max);
}

static void check_conf(struct str conf)
{
    size_t nameservers = 0, searches = 0, options = 0;

    assert(conf.n == 0 || conf.p[conf.n - 1] == '\n');
    for (struct str line; conf.n && str_split(&conf, '\n', &line);) {
        nameservers += str_starts(line, STR("nameserver "));
        searches += str_starts(line, STR("search "));
        options += str_starts(line, STR("options "));
        assert(line.n == 0 || str_starts(line, STR("nameserver ")) || str_starts(line, STR("search ")) ||
               str_starts(line, STR("options ")));
    }
    assert(nameservers <= 3 && searches <= 1 && options <= 1);
}

static void try_conf(struct str text)
{
    static const struct in_addr server = { 0x0100000a };
    autoarena a = { 0 };
    autobuf from_host = { 0 }, from_pod = { 0 };
    struct json *pod;

    dns_resolv_conf(&from_host, NULL, "c.l", (struct in_addr){ 0 }, text);
    check_conf(buf_view(&from_host));
    if (json_parse(&a, text, NULL, &pod, NULL) < 0)
        return;
    dns_resolv_conf(&from_pod, pod, "c.l", server, STR("nameserver 127.0.0.53\nsearch home\noptions edns0\n"));
    check_conf(buf_view(&from_pod));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dns_zone *z;
    struct str input = { (const char *)data, size };

    if (!z)
        z = make_zone();
    try_packet(z, input, 512);
    try_packet(z, input, DNS_UDP_MAX);
    try_packet(z, input, 0);
    try_answer(z, input, DNS_UDP_MAX);
    try_answer(z, input, 0);
    try_conf(input);
    return 0;
}
