/* dns.c - unit tests: answers from a zone, packet by packet, and against a plain list of all its records */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "node/dns/dns.h"
#include "node/dns/test/dns_packet.h"

#include <strings.h>

/* ---- a zone to ask ---- */

static void add_host(struct arena *a, struct dns_service *s, const char *hostname, const char *at, bool is_ready)
{
    *vec_push(a, &s->hosts) = (struct dns_host){ str_of(hostname), address(at), is_ready };
}

static void add_port(struct arena *a, struct dns_service *s, const char *name, char protocol, uint16_t port)
{
    *vec_push(a, &s->ports) = (struct dns_port){ str_of(name), protocol, port };
}

static struct dns_zone *small_zone(void)
{
    struct dns_zone *z = dns_zone_new("Cluster.Local.", 7);
    autoarena a = { 0 };
    struct dns_service web = { .namespace = STR("default"), .name = STR("web"), .address = address("10.96.0.5") };
    struct dns_service job = { .namespace = STR("default"), .name = STR("mpi") };
    struct dns_service open = { .namespace = STR("ml"), .name = STR("torch"), .publishes_not_ready = true };
    struct dns_service none = { .namespace = STR("ml"), .name = STR("idle") };

    add_host(&a, &web, "", "10.1.0.9", true);
    add_port(&a, &web, "http", 'T', 80);
    add_port(&a, &web, "", 'T', 81);
    add_port(&a, &web, "dns", 'U', 53);
    add_host(&a, &job, "mpi-master-0", "10.1.0.1", true);
    add_host(&a, &job, "mpi-worker-0", "10.1.0.2", true);
    add_host(&a, &job, "mpi-worker-1", "10.1.0.3", false);
    add_host(&a, &job, "", "10.1.0.4", true);
    add_host(&a, &job, "no address", "0.0.0.0", true);
    add_port(&a, &job, "ssh", 'T', 22);
    add_host(&a, &open, "w-0", "10.1.0.7", false);
    add_host(&a, &open, "w-0", "10.1.0.8", false); /* two pods of one name */
    add_port(&a, &open, "c10d", 'T', 29500);
    dns_zone_put(z, &web);
    dns_zone_put(z, &job);
    dns_zone_put(z, &open);
    dns_zone_put(z, &none);
    dns_zone_put(z, &(struct dns_service){ .namespace = STR("names"),
                                           .name = STR("near"),
                                           .alias = STR("Web.default.svc.cluster.local") });
    dns_zone_put(z, &(struct dns_service){ .namespace = STR("names"),
                                           .name = STR("twice"),
                                           .alias = STR("near.names.svc.cluster.local.") });
    dns_zone_put(z, &(struct dns_service){
                        .namespace = STR("names"), .name = STR("lost"), .alias = STR("no.names.svc.cluster.local") });
    dns_zone_put(z, &(struct dns_service){ .namespace = STR("names"),
                                           .name = STR("circle"),
                                           .alias = STR("circle.names.svc.cluster.local") });
    dns_zone_put(
        z, &(struct dns_service){ .namespace = STR("names"), .name = STR("far"), .alias = STR("db.example.com") });
    dns_zone_put(z, &(struct dns_service){ .namespace = STR("names"), .name = STR("odd"), .alias = STR("not a name") });
    dns_zone_put(z, &(struct dns_service){ .namespace = STR("a.b"), .name = STR("c") }); /* cannot be asked for */
    dns_zone_set_server(z, address("10.1.0.254"));
    return z;
}

/* ---- asking ---- */

struct answer {
    enum dns_outcome outcome;
    ldns_pkt *pkt;
    size_t bytes;
    struct buf text; /* the answers, sorted */
};

static void answer_done(struct answer *a)
{
    ldns_pkt_free(a->pkt);
    buf_done(&a->text);
}

#define autoanswer __attribute__((cleanup(answer_done), unused)) struct answer

static struct answer ask(struct dns_zone *z, const struct question *q, size_t max)
{
    struct answer a = { 0 };
    autobuf packet = { 0 }, reply = { 0 };
    char *exact;

    put_question(&packet, q);
    exact = xmalloc(packet.n); /* exact size, so that a read beyond the end is seen */
    memcpy(exact, packet.p, packet.n);
    a.outcome = dns_answer(z, (struct str){ exact, packet.n }, max, &reply);
    free(exact);
    a.bytes = reply.n;
    if (a.outcome != DNS_ANSWERED && a.outcome != DNS_CHASE) {
        assert_int_equal(reply.n, 0);
        return a;
    }
    assert_int_equal(ldns_wire2pkt(&a.pkt, (const uint8_t *)reply.p, reply.n), LDNS_STATUS_OK);
    assert_int_equal(ldns_pkt_id(a.pkt), q->id);
    assert_true(ldns_pkt_qr(a.pkt));
    print_records(&a.text, ldns_pkt_answer(a.pkt), true);
    return a;
}

static struct answer ask_name(struct dns_zone *z, const char *name, unsigned type)
{
    return ask(z, &(struct question){ .id = 0x1234, .name = str_of(name), .type = type }, 0);
}

static const char *text(const struct answer *a)
{
    return a->text.p ? a->text.p : "";
}

enum { NOERROR = 0, FORMERR = 1, NXDOMAIN = 3, NOTIMP = 4, REFUSED = 5, PASSED_ON = 100 };

static const struct {
    const char *name;
    unsigned type, want;
    const char *answers;
} cases[] = {
    /* other names */
    { "near.names.svc.cluster.local", T_A, NOERROR, "A 10.96.0.5\nCNAME web.default.svc.cluster.local.\n" },
    { "near.names.svc.cluster.local", T_AAAA, NOERROR, "CNAME web.default.svc.cluster.local.\n" },
    { "near.names.svc.cluster.local", T_CNAME, NOERROR, "CNAME web.default.svc.cluster.local.\n" },
    { "twice.names.svc.cluster.local", T_A, NOERROR,
      "A 10.96.0.5\nCNAME near.names.svc.cluster.local.\nCNAME web.default.svc.cluster.local.\n" },
    { "lost.names.svc.cluster.local", T_A, NXDOMAIN, "CNAME no.names.svc.cluster.local.\n" },
    { "odd.names.svc.cluster.local", T_A, NOERROR, "" },
    { "x.near.names.svc.cluster.local", T_A, NXDOMAIN, "" },
    { "far.names.svc.cluster.local", T_CNAME, NOERROR, "CNAME db.example.com.\n" },
    /* services */
    { "web.default.svc.cluster.local", T_A, NOERROR, "A 10.96.0.5\n" },
    { "web.default.svc.cluster.local", T_AAAA, NOERROR, "" },
    { "web.default.svc.cluster.local", T_MX, NOERROR, "" },
    { "web.default.svc.cluster.local", T_ANY, NOERROR, "A 10.96.0.5\n" },
    { "mpi.default.svc.cluster.local", T_A, NOERROR, "A 10.1.0.1\nA 10.1.0.2\nA 10.1.0.4\n" },
    { "mpi.default.svc.cluster.local", T_AAAA, NOERROR, "" },
    { "torch.ml.svc.cluster.local", T_A, NOERROR, "A 10.1.0.7\nA 10.1.0.8\n" },
    { "idle.ml.svc.cluster.local", T_A, NOERROR, "" },
    { "torch.default.svc.cluster.local", T_A, NXDOMAIN, "" },
    { "c.a.b.svc.cluster.local", T_A, NXDOMAIN, "" },
    /* pods */
    { "mpi-master-0.mpi.default.svc.cluster.local", T_A, NOERROR, "A 10.1.0.1\n" },
    { "mpi-master-0.mpi.default.svc.cluster.local", T_AAAA, NOERROR, "" },
    { "mpi-worker-1.mpi.default.svc.cluster.local", T_A, NXDOMAIN, "" }, /* not ready */
    { "w-0.torch.ml.svc.cluster.local", T_A, NOERROR, "A 10.1.0.7\nA 10.1.0.8\n" },
    { "10-1-0-4.mpi.default.svc.cluster.local", T_A, NOERROR, "A 10.1.0.4\n" },
    { "10-1-0-1.mpi.default.svc.cluster.local", T_A, NXDOMAIN, "" }, /* it has a name */
    { "10-1-0-9.web.default.svc.cluster.local", T_A, NOERROR, "A 10.1.0.9\n" },
    { "x.mpi-master-0.mpi.default.svc.cluster.local", T_A, NXDOMAIN, "" },
    { "1-2-3-4.anything.pod.cluster.local", T_A, NOERROR, "A 1.2.3.4\n" },
    { "1-2-3-4.anything.pod.cluster.local", T_AAAA, NOERROR, "" },
    { "1-2-3-256.anything.pod.cluster.local", T_A, NXDOMAIN, "" },
    { "1-2-3-04.anything.pod.cluster.local", T_A, NXDOMAIN, "" },
    { "1-2-3.anything.pod.cluster.local", T_A, NXDOMAIN, "" },
    { "x.1-2-3-4.anything.pod.cluster.local", T_A, NXDOMAIN, "" },
    /* ports */
    { "_http._tcp.web.default.svc.cluster.local", T_SRV, NOERROR, "SRV 0 100 80 web.default.svc.cluster.local.\n" },
    { "_http._tcp.web.default.svc.cluster.local", T_A, NOERROR, "" },
    { "_http._udp.web.default.svc.cluster.local", T_SRV, NXDOMAIN, "" },
    { "_dns._udp.web.default.svc.cluster.local", T_SRV, NOERROR, "SRV 0 100 53 web.default.svc.cluster.local.\n" },
    { "_tcp.web.default.svc.cluster.local", T_SRV, NOERROR, "" },
    { "_sctp.web.default.svc.cluster.local", T_SRV, NXDOMAIN, "" },
    { "http._tcp.web.default.svc.cluster.local", T_SRV, NXDOMAIN, "" },
    { "xhttp._tcp.web.default.svc.cluster.local", T_SRV, NXDOMAIN, "" },
    { "_ssh._tcp.mpi.default.svc.cluster.local", T_SRV, NOERROR,
      "SRV 0 100 22 10-1-0-4.mpi.default.svc.cluster.local.\n"
      "SRV 0 100 22 mpi-master-0.mpi.default.svc.cluster.local.\n"
      "SRV 0 100 22 mpi-worker-0.mpi.default.svc.cluster.local.\n" },
    { "_c10d._tcp.torch.ml.svc.cluster.local", T_SRV, NOERROR, "SRV 0 100 29500 w-0.torch.ml.svc.cluster.local.\n" },
    /* back */
    { "5.0.96.10.in-addr.arpa", T_PTR, NOERROR, "PTR web.default.svc.cluster.local.\n" },
    { "1.0.1.10.in-addr.arpa", T_PTR, NOERROR, "PTR mpi-master-0.mpi.default.svc.cluster.local.\n" },
    { "1.0.1.10.in-addr.arpa", T_A, NOERROR, "" },
    { "4.0.1.10.IN-ADDR.arpa", T_PTR, NOERROR, "PTR 10-1-0-4.mpi.default.svc.cluster.local.\n" },
    { "3.0.1.10.in-addr.arpa", T_PTR, NXDOMAIN, "" }, /* not ready */
    { "77.0.1.10.in-addr.arpa", T_PTR, PASSED_ON, "" },
    { "01.0.1.10.in-addr.arpa", T_PTR, PASSED_ON, "" },
    { "1.10.in-addr.arpa", T_PTR, PASSED_ON, "" },
    { "1.0.0.0.ip6.arpa", T_PTR, PASSED_ON, "" },
    /* the zone itself, and what is between */
    { "cluster.local", T_NS, NOERROR, "NS ns.dns.cluster.local.\n" },
    { "cluster.local", T_A, NOERROR, "" },
    { "svc.cluster.local", T_A, NOERROR, "" },
    { "pod.cluster.local", T_A, NOERROR, "" },
    { "ns.dns.cluster.local", T_A, NOERROR, "A 10.1.0.254\n" },
    { "dns.cluster.local", T_A, NOERROR, "" },
    { "ms.dns.cluster.local", T_A, NXDOMAIN, "" },
    { "x.ns.dns.cluster.local", T_A, NXDOMAIN, "" },
    { "dns-version.cluster.local", T_TXT, NOERROR, "TXT \"1.1.0\"\n" },
    { "default.svc.cluster.local", T_A, NOERROR, "" },
    { "nobody.svc.cluster.local", T_A, NXDOMAIN, "" },
    { "ml.pod.cluster.local", T_A, NOERROR, "" },
    /* what a search path makes of names elsewhere: an end at once */
    { "www.example.com.default.svc.cluster.local", T_A, NXDOMAIN, "" },
    { "www.example.com.svc.cluster.local", T_A, NXDOMAIN, "" },
    { "www.example.com.cluster.local", T_AAAA, NXDOMAIN, "" },
    { "web.default.svc.cluster.local.default.svc.cluster.local", T_A, NXDOMAIN, "" },
    { "a.b.c.d.e.f.g.h.svc.cluster.local", T_A, NXDOMAIN, "" },
    /* elsewhere */
    { "www.example.com", T_A, PASSED_ON, "" },
    { "local", T_A, PASSED_ON, "" },
    { "xcluster.local", T_A, PASSED_ON, "" },
    { "", T_NS, PASSED_ON, "" },
    { "web", T_A, PASSED_ON, "" },
    /* not to be answered */
    { "cluster.local", T_AXFR, REFUSED, "" },
    { "www.example.com", T_AXFR, REFUSED, "" },
};

static void test_answers(void **state)
{
    struct dns_zone *z = small_zone();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autoanswer a = ask_name(z, cases[i].name, cases[i].type);
        unsigned got = a.outcome == DNS_FORWARD ? PASSED_ON : ldns_pkt_get_rcode(a.pkt);

        if (got != cases[i].want || strcmp(text(&a), cases[i].answers) != 0)
            fail_msg("%s type %u: %u, wanted %u:\n%s", cases[i].name, cases[i].type, got, cases[i].want, text(&a));
    }
    dns_zone_free(z);
}

static void test_negative_answers_carry_the_soa(void **state)
{
    static const char *const names[] = { "web.default.svc.cluster.local", "no.svc.cluster.local" };
    struct dns_zone *z = small_zone();
    autoanswer soa = ask_name(z, "cluster.local", T_SOA);
    autoanswer back = ask_name(z, "3.0.1.10.in-addr.arpa", T_PTR);
    char *owner;

    assert_non_null(strstr(text(&soa), "SOA ns.dns.cluster.local. hostmaster.cluster.local. "));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autoanswer a = ask_name(z, names[i], T_AAAA);
        ldns_rr *rr = ldns_rr_list_rr(ldns_pkt_authority(a.pkt), 0);

        assert_int_equal(ldns_pkt_nscount(a.pkt), 1);
        assert_int_equal(ldns_rr_get_type(rr), T_SOA);
        assert_int_equal(ldns_rr_ttl(rr), 1);
        assert_int_equal(ldns_rdf2native_int32(ldns_rr_rdf(rr, 6)), 1);
        assert_true(ldns_pkt_aa(a.pkt));
    }
    owner = ldns_rdf2str(ldns_rr_owner(ldns_rr_list_rr(ldns_pkt_authority(back.pkt), 0)));
    assert_string_equal(owner, "in-addr.arpa.");
    free(owner);
    dns_zone_free(z);
}

static void test_case_is_kept(void **state)
{
    struct dns_zone *z = small_zone();
    autoanswer a = ask_name(z, "wEb.DEFAULT.svc.Cluster.LOCAL", T_A);
    char *question = ldns_rdf2str(ldns_rr_owner(ldns_rr_list_rr(ldns_pkt_question(a.pkt), 0)));
    char *owner = ldns_rdf2str(ldns_rr_owner(ldns_rr_list_rr(ldns_pkt_answer(a.pkt), 0)));

    assert_string_equal(question, "wEb.DEFAULT.svc.Cluster.LOCAL.");
    assert_string_equal(owner, "wEb.DEFAULT.svc.Cluster.LOCAL.");
    assert_string_equal(text(&a), "A 10.96.0.5\n");
    assert_int_equal(ldns_rr_ttl(ldns_rr_list_rr(ldns_pkt_answer(a.pkt), 0)), DNS_TTL_S);
    free(question);
    free(owner);
    dns_zone_free(z);
}

/* A label with a dot in it is one label, however it looks when printed. */
static void test_labels_are_not_text(void **state)
{
    static const struct {
        struct str labels[6];
        unsigned want;
    } rows[] = {
        { { STR_INIT("web"), STR_INIT("default"), STR_INIT("svc"), STR_INIT("cluster"), STR_INIT("local") }, NOERROR },
        { { STR_INIT("web.default"), STR_INIT("svc"), STR_INIT("cluster"), STR_INIT("local") }, NXDOMAIN },
        { { STR_INIT("default.web"), STR_INIT("svc"), STR_INIT("cluster"), STR_INIT("local") }, NXDOMAIN },
        { { STR_INIT("web\0"), STR_INIT("default"), STR_INIT("svc"), STR_INIT("cluster"), STR_INIT("local") },
          NXDOMAIN },
        { { STR_INIT("web"), STR_INIT("default"), STR_INIT("svc"), STR_INIT("cluster.local") }, PASSED_ON },
        { { STR_INIT("1.2-3-4"), STR_INIT("x"), STR_INIT("pod"), STR_INIT("cluster"), STR_INIT("local") }, NXDOMAIN },
        { { STR_INIT("1-2-3-4\0"), STR_INIT("x"), STR_INIT("pod"), STR_INIT("cluster"), STR_INIT("local") }, NXDOMAIN },
        { { STR_INIT("1.0"), STR_INIT("1"), STR_INIT("10"), STR_INIT("in-addr"), STR_INIT("arpa") }, PASSED_ON },
        { { STR_INIT("1"), STR_INIT("0"), STR_INIT("1"), STR_INIT("1\0"), STR_INIT("in-addr"), STR_INIT("arpa") },
          PASSED_ON },
    };
    struct dns_zone *z = small_zone();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autobuf packet = { 0 }, reply = { 0 };
        unsigned got;

        buf_append(&packet, "\0\1\1\0\0\1\0\0\0\0\0", 12);
        for (size_t k = 0; k < ARRAY_LEN(rows[i].labels) && rows[i].labels[k].n; k++) {
            buf_char(&packet, (char)rows[i].labels[k].n);
            buf_str(&packet, rows[i].labels[k]);
        }
        buf_append(&packet, "\0\0\1\0\1", 5);
        got = dns_answer(z, buf_view(&packet), 0, &reply) == DNS_FORWARD ? PASSED_ON : reply.p[3] & 15;
        if (got != rows[i].want)
            fail_msg("row %zu: %u, wanted %u", i, got, rows[i].want);
    }
    dns_zone_free(z);
}

static void test_flags(void **state)
{
    struct dns_zone *z = small_zone();
    struct question q = { .id = 9, .name = STR("web.default.svc.cluster.local"), .type = T_A, .flags = 0x0110 };
    autoanswer a = ask(z, &q, 512);
    autoanswer b = (q.flags = 0x0020, ask(z, &q, 512)); /* AD, no RD */

    assert_true(ldns_pkt_aa(a.pkt) && ldns_pkt_rd(a.pkt) && ldns_pkt_cd(a.pkt) && ldns_pkt_ra(a.pkt));
    assert_false(ldns_pkt_tc(a.pkt) || ldns_pkt_ad(a.pkt) || ldns_pkt_edns(a.pkt));
    assert_false(ldns_pkt_rd(b.pkt) || ldns_pkt_ad(b.pkt) || ldns_pkt_cd(b.pkt));
    dns_zone_free(z);
}

static void test_refused(void **state)
{
    static const struct {
        const char *what;
        struct question q;
        unsigned rcode;
    } rows[] = {
        { "two questions", { .name = STR_INIT("web.default.svc.cluster.local"), .type = T_A, .n = 2 }, FORMERR },
        { "many questions", { .name = STR_INIT("example.com"), .type = T_A, .n = 40 }, FORMERR },
        { "class CH", { .name = STR_INIT("version.bind"), .type = T_TXT, .class = 3 }, REFUSED },
        { "class ANY", { .name = STR_INIT("web.default.svc.cluster.local"), .type = T_A, .class = 255 }, REFUSED },
        { "status", { .name = STR_INIT("cluster.local"), .type = T_A, .flags = 0x1000 }, NOTIMP },
        { "update", { .name = STR_INIT("cluster.local"), .type = T_SOA, .flags = 0x2800 }, NOTIMP },
        { "type OPT", { .name = STR_INIT("cluster.local"), .type = 41 }, REFUSED },
    };
    struct dns_zone *z = small_zone();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autoanswer a = ask(z, &rows[i].q, 512);

        if (a.outcome != DNS_ANSWERED || ldns_pkt_get_rcode(a.pkt) != rows[i].rcode || ldns_pkt_ancount(a.pkt))
            fail_msg("%s: %d", rows[i].what, a.pkt ? (int)ldns_pkt_get_rcode(a.pkt) : -1);
    }
    dns_zone_free(z);
}

static void test_dropped(void **state)
{
    struct dns_zone *z = small_zone();
    autobuf whole = { 0 }, reply = { 0 };
    struct question q = { .name = STR("web.default.svc.cluster.local"), .type = T_A, .udp_size = 1232 };

    put_question(&whole, &q);
    for (size_t n = 0; n < whole.n; n++) /* cut anywhere: no question */
        assert_int_equal(dns_answer(z, str_sub(buf_view(&whole), 0, n), 512, &reply), DNS_DROP);
    assert_int_equal(dns_answer(z, buf_view(&whole), 512, &reply), DNS_ANSWERED);
    whole.p[2] |= (char)0x80; /* a reply */
    assert_int_equal(dns_answer(z, buf_view(&whole), 512, &reply), DNS_DROP);
    whole.p[2] &= 0x7f;
    whole.p[12] = (char)0xc0; /* a name that points at itself */
    whole.p[13] = 12;
    assert_int_equal(dns_answer(z, buf_view(&whole), 512, &reply), DNS_DROP);
    dns_zone_free(z);
}

static void test_edns(void **state)
{
    static const struct {
        unsigned size, want_size;
        uint32_t ttl;
        struct str data;
        unsigned extended;
    } rows[] = {
        { 1232, 1232, 0, { 0 }, 0 },
        { 4096, 1232, 0, { 0 }, 0 },
        { 1, 512, 0, { 0 }, 0 },
        { 800, 800, 0x8000, STR_INIT("\0\012\0\010cookies!"), 0 }, /* DO, and an option nobody knows */
        { 1232, 1232, 0x00010000, { 0 }, 1 },                      /* version 1: BADVERS */
    };
    struct dns_zone *z = small_zone();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct question q = { .name = STR("web.default.svc.cluster.local"),
                              .type = T_A,
                              .udp_size = rows[i].size,
                              .edns_ttl = rows[i].ttl,
                              .edns_data = rows[i].data };
        autoanswer a = ask(z, &q, DNS_UDP_MAX);

        assert_int_equal(ldns_pkt_edns_udp_size(a.pkt), rows[i].want_size);
        assert_int_equal(ldns_pkt_edns_version(a.pkt), 0);
        assert_int_equal(ldns_pkt_edns_extended_rcode(a.pkt), rows[i].extended);
        assert_int_equal(ldns_pkt_edns_do(a.pkt), (rows[i].ttl & 0x8000) != 0);
        assert_null(ldns_pkt_edns_data(a.pkt));
        assert_int_equal(ldns_pkt_ancount(a.pkt), !rows[i].extended);
    }
    dns_zone_free(z);
}

/* ---- long answers, and turns ---- */

static struct dns_zone *wide_zone(size_t n, uint64_t seed)
{
    struct dns_zone *z = dns_zone_new("cluster.local", seed);
    struct dns_service s = { .namespace = STR("ns"), .name = STR("wide") };
    autoarena a = { 0 };

    for (size_t i = 0; i < n; i++)
        *vec_push(&a,
                  &s.hosts) = (struct dns_host){ arena_fmt(&a, "p-%zu", i), { htonl(0x0a000001 + (uint32_t)i) }, true };
    add_port(&a, &s, "x", 'T', 1);
    dns_zone_put(z, &s);
    return z;
}

static const struct question wide_a = { .name = STR_INIT("wide.ns.svc.cluster.local"), .type = T_A };
static const struct question wide_srv = { .name = STR_INIT("_x._tcp.wide.ns.svc.cluster.local"), .type = T_SRV };

static void test_truncation(void **state)
{
    enum { QUESTION = 12 + 27 + 4, OPT = 11, EACH = 16 };
    static const struct {
        size_t n;
        unsigned edns;
        size_t max, limit;
    } rows[] = {
        { 29, 0, DNS_UDP_MAX, 512 },    { 30, 0, DNS_UDP_MAX, 512 },      { 500, 0, DNS_UDP_MAX, 512 },
        { 500, 900, DNS_UDP_MAX, 900 }, { 500, 1232, DNS_UDP_MAX, 1232 }, { 500, 4096, DNS_UDP_MAX, 1232 },
        { 500, 0, 0, 65535 },           { 5000, 1232, 0, 65535 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dns_zone *z = wide_zone(rows[i].n, 3);
        struct question q = wide_a;
        size_t fits = (rows[i].limit - QUESTION - (rows[i].edns ? OPT : 0)) / EACH, n = MIN_OF(fits, rows[i].n);
        autoanswer a = (q.udp_size = rows[i].edns, ask(z, &q, rows[i].max));

        assert_in_range(a.bytes, 12, rows[i].limit);
        assert_int_equal(ldns_pkt_ancount(a.pkt), n);
        assert_int_equal(ldns_pkt_tc(a.pkt), n < rows[i].n);
        assert_int_equal(ldns_pkt_edns(a.pkt), rows[i].edns != 0);
        dns_zone_free(z);
    }
}

/* What only helps is left out without a word. */
static void test_extras_are_cut_first(void **state)
{
    struct dns_zone *z = wide_zone(8, 3);
    struct question q = wide_srv;
    autoanswer all = ask(z, &q, 0), few = ask(z, &q, DNS_UDP_MAX);
    struct dns_zone *many = wide_zone(100, 3);
    autoanswer cut = ask(many, &q, DNS_UDP_MAX);

    assert_int_equal(ldns_pkt_ancount(all.pkt), 8);
    assert_int_equal(ldns_pkt_arcount(all.pkt), 8);
    assert_int_equal(ldns_pkt_ancount(few.pkt), 8);
    assert_true(ldns_pkt_arcount(few.pkt) < 8 && !ldns_pkt_tc(few.pkt));
    assert_true(ldns_pkt_ancount(cut.pkt) < 15 && ldns_pkt_tc(cut.pkt));
    dns_zone_free(z);
    dns_zone_free(many);
}

static size_t address_at(const struct answer *a, size_t i)
{
    const ldns_rdf *data = ldns_rr_rdf(ldns_rr_list_rr(ldns_pkt_answer(a->pkt), i), 0);

    return ntohl(*(const uint32_t *)ldns_rdf_data(data)) - 0x0a000001;
}

/* What most clients do: ask for both kinds of address; and by UDP first, where the answer is cut if there are many. */
static void test_turns_are_fair(void **state)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 7, 12, 29, 30, 31, 60 };

    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        size_t n = sizes[k];
        struct dns_zone *z = wide_zone(n, n * 1000003);
        size_t first[60] = { 0 }, cut[60] = { 0 };

        for (size_t i = 0; i < 3 * n; i++) {
            autoanswer v6 = ask(z, &(struct question){ .name = wide_a.name, .type = T_AAAA }, 0);
            autoanswer udp = n > 29 ? ask(z, &wide_a, 512) : (struct answer){ 0 };
            autoanswer a = ask(z, &wide_a, 0);

            assert_true(n <= 29 || ldns_pkt_tc(udp.pkt));
            assert_int_equal(ldns_pkt_ancount(a.pkt), n);
            first[address_at(&a, 0)]++;
            cut[udp.pkt ? address_at(&udp, 0) : i % n]++; /* some clients never ask again */
        }
        for (size_t i = 0; i < n; i++)
            assert_true(first[i] == 3 && cut[i] == 3);
        dns_zone_free(z);
    }
}

/* When one does not answer, its load is not always another's. */
static void test_successors_change(void **state)
{
    enum { N = 20, ROUNDS = 40 };
    struct dns_zone *z = wide_zone(N, 11);
    bool seen[N] = { false };
    size_t n = 0;

    for (size_t i = 0; i < N * ROUNDS; i++) {
        autoanswer a = ask(z, &wide_a, 0);

        if (address_at(&a, 0) == 0)
            seen[address_at(&a, 1)] = true;
    }
    for (size_t i = 0; i < N; i++)
        n += seen[i];
    assert_in_range(n, 5, N - 1);
    dns_zone_free(z);
}

static void test_turns_follow_from_the_seed(void **state)
{
    struct dns_zone *a = wide_zone(20, 5), *b = wide_zone(20, 5);

    for (int i = 0; i < 50; i++) {
        autobuf x = { 0 }, y = { 0 };
        autoanswer from_a = ask(a, &wide_a, 0), from_b = ask(b, &wide_a, 0);

        print_records(&x, ldns_pkt_answer(from_a.pkt), false);
        print_records(&y, ldns_pkt_answer(from_b.pkt), false);
        assert_string_equal(x.p, y.p);
    }
    dns_zone_free(a);
    dns_zone_free(b);
}

static unsigned rcode_of(struct dns_zone *z, const char *name)
{
    autoanswer a = ask_name(z, name, T_A);

    return a.outcome == DNS_FORWARD ? PASSED_ON : ldns_pkt_get_rcode(a.pkt);
}

static void test_removed(void **state)
{
    struct dns_zone *z = small_zone();

    dns_zone_remove(z, STR("ml"), STR("torch"));
    dns_zone_remove(z, STR("ml"), STR("nobody"));
    assert_int_equal(rcode_of(z, "torch.ml.svc.cluster.local"), NXDOMAIN);
    assert_int_equal(rcode_of(z, "7.0.1.10.in-addr.arpa"), PASSED_ON);
    assert_int_equal(rcode_of(z, "ml.svc.cluster.local"), NOERROR);
    dns_zone_remove(z, STR("ML"), STR("Idle"));
    assert_int_equal(rcode_of(z, "ml.svc.cluster.local"), NXDOMAIN);
    dns_zone_free(z);
}

/* Many programs look at the first name of an address only. */
static void test_real_names_come_first(void **state)
{
    struct dns_zone *z = small_zone();
    struct dns_service other = { .namespace = STR("aaa"), .name = STR("aaa") };
    autoarena a = { 0 };
    autobuf names = { 0 };

    add_host(&a, &other, "", "10.1.0.1", true);
    dns_zone_put(z, &other);
    autoanswer back = ask_name(z, "1.0.1.10.in-addr.arpa", T_PTR);
    print_records(&names, ldns_pkt_answer(back.pkt), false);
    assert_string_equal(names.p, "PTR mpi-master-0.mpi.default.svc.cluster.local.\n"
                                 "PTR 10-1-0-1.aaa.aaa.svc.cluster.local.\n");
    dns_zone_free(z);
}

static void test_domains(void **state)
{
    static const char *const bad[] = { "", ".", "a..b", ".a", "a b", "-\n", "_x", NULL };
    struct dns_zone *z = dns_zone_new("one", 0);

    for (size_t i = 0; bad[i]; i++)
        assert_null(dns_zone_new(bad[i], 0));
    assert_non_null(z);
    dns_zone_free(z);
    dns_zone_free(NULL);
}

/* A domain that leaves no room for names of pods: what does not fit is not there, and nothing breaks. */
static void test_long_domain(void **state)
{
    autobuf domain = { 0 }, name = { 0 };
    struct dns_service s = { .namespace = STR("n"), .name = STR("s") };
    autoarena a = { 0 };
    struct dns_zone *z;

    buf_repeat(&domain, 'a', 63);
    for (int i = 0; i < 3; i++) {
        buf_char(&domain, '.');
        buf_repeat(&domain, 'b', i < 2 ? 63 : 52);
    }
    z = dns_zone_new(domain.p, 1);
    assert_non_null(z);
    add_host(&a, &s, "a-host-with-a-long-name", "10.0.0.1", true);
    add_port(&a, &s, "p", 'T', 1);
    dns_zone_put(z, &s);
    buf_fmt(&name, "s.n.svc.%s", domain.p);
    for (unsigned type = 1; type < 300; type++) {
        autoanswer answer = ask(z, &(struct question){ .name = buf_view(&domain), .type = type }, 512);
        autoanswer service = ask(z, &(struct question){ .name = buf_view(&name), .type = type }, 512);
        autoanswer back = ask_name(z, "1.0.0.10.in-addr.arpa", type);
    }
    dns_zone_free(z);
}

/* The begin of a reply, the question that is passed on for it, and its end. */
static void test_aliases_of_other_domains(void **state)
{
    struct dns_zone *z = small_zone();
    autoanswer a = ask_name(z, "far.names.svc.cluster.local", T_A),
               round = ask_name(z, "circle.names.svc.cluster.local", T_A);
    autobuf begun = { 0 }, question = { 0 }, reply = { 0 };
    ldns_pkt *pkt = NULL;

    assert_int_equal(a.outcome, DNS_CHASE);
    assert_string_equal(text(&a), "CNAME db.example.com.\n");
    assert_int_equal(ldns_pkt_get_rcode(round.pkt), LDNS_RCODE_SERVFAIL);
    put_question(&question, &(struct question){ .id = 0x77, .name = STR("far.names.svc.cluster.local"), .type = T_A });
    (void)dns_answer(z, buf_view(&question), 0, &begun); /* as above */
    buf_reset(&question);
    dns_chase_question(buf_view(&begun), &question);
    assert_int_equal(dns_answer(z, buf_view(&question), 0, &reply), DNS_FORWARD);
    dns_chase_reply(buf_view(&begun), STR_NULL, 0, &reply);
    assert_int_equal(ldns_wire2pkt(&pkt, (const uint8_t *)reply.p, reply.n), LDNS_STATUS_OK);
    assert_int_equal(ldns_pkt_get_rcode(pkt), LDNS_RCODE_SERVFAIL);
    assert_int_equal(ldns_pkt_id(pkt), 0x77);
    ldns_pkt_free(pkt);
    dns_zone_free(z);
}

/* ---- random zones against a plain list of records ---- */

struct record {
    struct str name, data; /* data: as print_records() */
    unsigned type;         /* 0: the name is there, nothing more */
};

struct model {
    struct arena arena;
    struct dns_service services[12]; /* name empty: none */
    VEC(struct record) records;
    VEC(struct str) denied; /* names below in-addr.arpa of addresses that are not published */
};

static const char *const spaces[] = { "a", "team-x", "b" };
static const char *const names[] = { "s", "web", "t", "job-1" };

static struct str random_case(struct rand *r, struct arena *a, struct str name)
{
    struct str copy = arena_str(a, name);

    for (size_t i = 0; i < copy.n; i++)
        if (copy.p[i] >= 'a' && copy.p[i] <= 'z' && rand_chance(r, 1, 3))
            ((char *)copy.p)[i] &= ~0x20;
    return copy;
}

static struct str pick(struct rand *r, struct arena *a, const char *const *from, size_t n)
{
    struct str s = str_of(from[rand_below(r, n)]);

    return rand_chance(r, 1, 8) ? random_case(r, a, s) : s;
}

static struct dns_service random_service(struct rand *r, struct arena *a, size_t index)
{
    static const char *const hostnames[] = { "h0", "h1", "h2", "", "", "not a label", "10-0-0-2" };
    static const char *const ports[] = { "http", "grpc", "", "bad_" };
    struct dns_service s = { .namespace = str_of(spaces[index / ARRAY_LEN(names)]),
                             .name = str_of(names[index % ARRAY_LEN(names)]) };

    if (rand_chance(r, 1, 3))
        s.address.s_addr = htonl(0x0a000000 + (uint32_t)rand_below(r, 9));
    s.publishes_not_ready = rand_chance(r, 1, 4);
    for (size_t n = rand_below(r, 7); n; n--)
        *vec_push(a, &s.hosts) =
            (struct dns_host){ pick(r, a, hostnames, ARRAY_LEN(hostnames)),
                               { htonl((uint32_t)(rand_chance(r, 1, 9) ? 0 : 0x0a000000 + rand_below(r, 9))) },
                               rand_chance(r, 2, 3) };
    for (size_t n = rand_below(r, 4); n; n--)
        *vec_push(a, &s.ports) = (struct dns_port){ pick(r, a, ports, ARRAY_LEN(ports)), "TUSx"[rand_below(r, 4)],
                                                    (uint16_t)rand_between(r, 80, 81) };
    return s;
}

static void model_add(struct model *m, struct str name, unsigned type, struct str data)
{
    VEC_FOREACH(r, &m->records)
        if (str_eq(r->name, name) && r->type == type && str_eq(r->data, data))
            return;
    *vec_push(&m->arena, &m->records) = (struct record){ name, data, type };
}

static struct str dots(struct arena *a, struct in_addr at, const char *format)
{
    const uint8_t *b = (const uint8_t *)&at;

    if (*format == 'r')
        return arena_fmt(a, "%u.%u.%u.%u.in-addr.arpa", b[3], b[2], b[1], b[0]);
    return arena_fmt(a, *format == '-' ? "%u-%u-%u-%u" : "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
}

static struct str host_name(struct arena *a, const struct dns_host *h)
{
    struct str low = arena_lower(a, h->hostname);

    return low.n == 0 || str_has_char(low, ' ') ? dots(a, h->address, "-") : low;
}

static void model_host(struct model *m, const struct dns_service *s, const struct dns_host *h, struct str full)
{
    struct arena *a = &m->arena;
    struct str name = arena_fmt(a, "%.*s.%.*s", STR_ARG(host_name(a, h)), STR_ARG(full));
    struct str data = arena_fmt(a, "A %.*s", STR_ARG(dots(a, h->address, ".")));

    if (h->address.s_addr == 0)
        return;
    *vec_push(a, &m->denied) = dots(a, h->address, "r");
    if (!h->is_ready && !s->publishes_not_ready)
        return;
    model_add(m, name, T_A, data);
    if (s->address.s_addr == 0)
        model_add(m, full, T_A, data);
    model_add(m, dots(a, h->address, "r"), T_PTR, arena_fmt(a, "PTR %.*s.", STR_ARG(name)));
}

static void model_port(struct model *m, const struct dns_service *s, const struct dns_port *p, struct str full)
{
    struct arena *a = &m->arena;
    const char *protocol = p->protocol == 'T' ? "tcp" : p->protocol == 'U' ? "udp" : p->protocol == 'S' ? "sctp" : NULL;
    struct str low = arena_lower(a, p->name),
               name = arena_fmt(a, "_%.*s._%s.%.*s", STR_ARG(low), protocol, STR_ARG(full));

    if (!protocol || low.n == 0)
        return;
    model_add(m, name, 0, STR(""));
    if (s->address.s_addr)
        model_add(m, name, T_SRV, arena_fmt(a, "SRV 0 100 %u %.*s.", p->port, STR_ARG(full)));
    VEC_FOREACH(h, &s->hosts)
        if (!s->address.s_addr && h->address.s_addr && (h->is_ready || s->publishes_not_ready))
            model_add(m, name, T_SRV,
                      arena_fmt(a, "SRV 0 100 %u %.*s.%.*s.", p->port, STR_ARG(host_name(a, h)), STR_ARG(full)));
}

static void model_list(struct model *m)
{
    struct arena *a = &m->arena;

    model_add(m, STR("svc.c.l"), 0, STR(""));
    model_add(m, STR("pod.c.l"), 0, STR(""));
    model_add(m, STR("ns.dns.c.l"), 0, STR(""));
    model_add(m, STR("c.l"), T_NS, STR("NS ns.dns.c.l."));
    model_add(m, STR("dns-version.c.l"), T_TXT, STR("TXT \"1.1.0\""));
    for (size_t i = 0; i < ARRAY_LEN(m->services); i++) {
        const struct dns_service *s = &m->services[i];
        struct str full = arena_fmt(a, "%.*s.%.*s.svc.c.l", STR_ARG(s->name), STR_ARG(s->namespace));

        if (s->name.n == 0)
            continue;
        model_add(m, full, 0, STR(""));
        if (s->address.s_addr) {
            model_add(m, full, T_A, arena_fmt(a, "A %.*s", STR_ARG(dots(a, s->address, "."))));
            model_add(m, dots(a, s->address, "r"), T_PTR, arena_fmt(a, "PTR %.*s.", STR_ARG(full)));
        }
        VEC_FOREACH(h, &s->hosts)
            model_host(m, s, h, full);
        VEC_FOREACH(p, &s->ports)
            model_port(m, s, p, full);
    }
}

static bool is_at_or_below(struct str name, struct str top)
{
    return str_eq(name, top) || (name.n > top.n && str_ends(name, top) && name.p[name.n - top.n - 1] == '.');
}

/* a-b-c-d.ns.pod.c.l, and what is above it. -1: another name. */
static int model_pod(struct str name, unsigned type, struct buf *out)
{
    char text[300], space[300], rest[300];
    unsigned b[4];
    char plain[400];

    if (!is_at_or_below(name, STR("pod.c.l")))
        return -1;
    snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    if (name.n == 7 || (sscanf(text, "%[^.].pod.c.%s", space, rest) == 2 && strcmp(rest, "l") == 0))
        return NOERROR;
    if (sscanf(text, "%u-%u-%u-%u.%[^.].pod.c.%s", &b[0], &b[1], &b[2], &b[3], space, rest) != 6)
        return NXDOMAIN;
    snprintf(plain, sizeof(plain), "%u-%u-%u-%u.%s.pod.c.l", b[0], b[1], b[2], b[3], space);
    if (strcmp(plain, text) != 0 || b[0] > 255 || b[1] > 255 || b[2] > 255 || b[3] > 255)
        return NXDOMAIN;
    if (type == T_A || type == T_ANY)
        buf_fmt(out, "A %u.%u.%u.%u\n", b[0], b[1], b[2], b[3]);
    return NOERROR;
}

/* The rcode, or PASSED_ON; the answers sorted. */
static int model_answer(const struct model *m, struct str name, unsigned type, struct buf *out)
{
    char *lines[200];
    size_t n = 0;
    bool exists = false, ours = is_at_or_below(name, STR("c.l"));
    int pod = model_pod(name, type, out);

    if (pod >= 0)
        return pod;
    VEC_FOREACH(denied, &m->denied)
        ours |= str_eq(*denied, name);
    VEC_FOREACH(r, &m->records) {
        exists |= is_at_or_below(r->name, name);
        if (!str_eq(r->name, name) || r->type == 0)
            continue;
        ours = true;
        if ((type == r->type || type == T_ANY) && n < ARRAY_LEN(lines))
            lines[n++] = (char *)r->data.p;
    }
    if (!ours)
        return PASSED_ON;
    if (n)
        qsort(lines, n, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%s\n", lines[i]);
    return exists ? NOERROR : NXDOMAIN;
}

static struct str random_name(struct rand *r, struct arena *a, const struct model *m)
{
    static const char *const words[] = { "x", "h0",       "_http", "_tcp", "svc", "pod",    "a",
                                         "s", "10-0-0-1", "c",     "l",    "dns", "1-2-3-4" };
    struct str name = m->records.v[rand_below(r, m->records.n)].name;

    if (m->denied.n && rand_chance(r, 1, 10))
        name = m->denied.v[rand_below(r, m->denied.n)];
    if (rand_chance(r, 1, 8))
        name = arena_fmt(a, "%u.0.0.10.in-addr.arpa", (unsigned)rand_below(r, 12));
    if (rand_chance(r, 1, 8))
        name = arena_fmt(a, "%s.b.pod.c.l", words[rand_below(r, ARRAY_LEN(words))]);
    while (rand_chance(r, 1, 4)) {
        ptrdiff_t dot = str_find_char(name, '.');

        if (rand_chance(r, 1, 2) && dot > 0)
            name = str_from(name, (size_t)dot + 1);
        else
            name = arena_fmt(a, "%s.%.*s", words[rand_below(r, ARRAY_LEN(words))], STR_ARG(name));
    }
    return name;
}

/* Every address in the additional section is one that the zone has. */
static void check_extras(const struct model *m, ldns_rr_list *list)
{
    for (size_t i = 0; i < ldns_rr_list_rr_count(list); i++) {
        ldns_rr *rr = ldns_rr_list_rr(list, i);
        char *owner = ldns_rdf2str(ldns_rr_owner(rr)), *data = ldns_rdf2str(ldns_rr_rdf(rr, 0));
        bool is_known = false;

        VEC_FOREACH(r, &m->records)
            is_known |= r->type == T_A && str_eq_nocase(r->name, str_sub(str_of(owner), 0, strlen(owner) - 1)) &&
                        str_is(str_from(r->data, 2), data);
        if (!is_known)
            fail_msg("additional: %s %s", owner, data);
        free(owner);
        free(data);
    }
}

static void check_question(struct dns_zone *z, const struct model *m, struct rand *r, uint64_t seed)
{
    static const unsigned types[] = { T_A, T_A, T_A, T_AAAA, T_SRV, T_SRV, T_PTR, T_PTR, T_NS, T_TXT, T_MX, T_ANY };
    autoarena a = { 0 };
    autobuf want = { 0 };
    struct str name = random_name(r, &a, m);
    unsigned type = types[rand_below(r, ARRAY_LEN(types))];
    struct question q = { (uint16_t)rand_u64(r), random_case(r, &a, name), type,
                          .udp_size = rand_chance(r, 1, 2) ? 1232 : 0 };
    int rcode, want_rcode;

    if (str_eq(name, STR("c.l")) && type == T_ANY) /* the SOA is not in the model */
        return;
    want_rcode = model_answer(m, name, type, &want);
    autoanswer got = ask(z, &q, 0);
    rcode = got.outcome == DNS_FORWARD ? PASSED_ON : (int)ldns_pkt_get_rcode(got.pkt);
    /* Names in the data may point at the name asked for, and then have its capitals. */
    if (rcode != want_rcode || strcasecmp(text(&got), want.p ? want.p : "") != 0)
        fail_msg("seed %llu: %.*s type %u: %d, wanted %d\n%swanted:\n%s", (unsigned long long)seed, STR_ARG(name), type,
                 rcode, want_rcode, text(&got), want.p ? want.p : "");
    if (got.pkt) {
        assert_int_equal(ldns_pkt_nscount(got.pkt), ldns_pkt_ancount(got.pkt) == 0);
        check_extras(m, ldns_pkt_additional(got.pkt));
    }
}

/* Change services, put some again and take some out, and ask after each step. */
static void test_property(void **state)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct dns_zone *z = dns_zone_new("c.l", seed);
        struct model m = { 0 };
        autoarena kept = { 0 };
        struct rand r;

        rand_seed(&r, seed);
        for (int step = 0; step < 20; step++) {
            size_t i = rand_below(&r, ARRAY_LEN(m.services));

            if (rand_chance(&r, 1, 3)) {
                dns_zone_remove(z, str_of(spaces[i / ARRAY_LEN(names)]), str_of(names[i % ARRAY_LEN(names)]));
                m.services[i] = (struct dns_service){ 0 };
            } else {
                m.services[i] = random_service(&r, &kept, i);
                dns_zone_put(z, &m.services[i]);
            }
            arena_reset(&m.arena);
            memset(&m.records, 0, sizeof(m.records));
            memset(&m.denied, 0, sizeof(m.denied));
            model_list(&m);
            for (int k = 0; k < 25; k++)
                check_question(z, &m, &r, seed);
        }
        arena_done(&m.arena);
        dns_zone_free(z);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliases_of_other_domains),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_negative_answers_carry_the_soa),
        cmocka_unit_test(test_case_is_kept),
        cmocka_unit_test(test_labels_are_not_text),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_edns),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_extras_are_cut_first),
        cmocka_unit_test(test_turns_are_fair),
        cmocka_unit_test(test_successors_change),
        cmocka_unit_test(test_turns_follow_from_the_seed),
        cmocka_unit_test(test_removed),
        cmocka_unit_test(test_real_names_come_first),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_long_domain),
        cmocka_unit_test(test_property),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
