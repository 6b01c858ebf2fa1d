/* dns_packet.h - questions made by hand and replies read back, for the tests of the responder */
#ifndef NODE_TEST_DNS_PACKET_H
#define NODE_TEST_DNS_PACKET_H

#include "base/buf.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <ldns/ldns.h>

enum {
    T_A = 1,
    T_NS = 2,
    T_SOA = 6,
    T_PTR = 12,
    T_MX = 15,
    T_TXT = 16,
    T_CNAME = 5,
    T_AAAA = 28,
    T_SRV = 33,
    T_AXFR = 252,
    T_ANY = 255
};

static inline void put_u16(struct buf *b, unsigned v)
{
    buf_char(b, (char)(v >> 8));
    buf_char(b, (char)v);
}

static inline void put_name(struct buf *b, struct str dotted)
{
    for (struct str label; dotted.n && str_split(&dotted, '.', &label);) {
        buf_char(b, (char)label.n);
        buf_str(b, label);
    }
    buf_char(b, '\0');
}

struct question {
    uint16_t id;
    struct str name;
    unsigned type, class; /* class 0: IN */
    unsigned flags;       /* 0: RD */
    unsigned n;           /* how often the question is there; 0: once */
    unsigned udp_size;    /* of EDNS; 0: none */
    uint32_t edns_ttl;    /* extended rcode, version, flags */
    struct str edns_data;
};

static inline void put_question(struct buf *b, const struct question *q)
{
    put_u16(b, q->id);
    put_u16(b, q->flags ? q->flags : 0x0100);
    put_u16(b, q->n ? q->n : 1);
    put_u16(b, 0);
    put_u16(b, 0);
    put_u16(b, q->udp_size != 0);
    for (unsigned i = 0; i < (q->n ? q->n : 1); i++) {
        put_name(b, q->name);
        put_u16(b, q->type);
        put_u16(b, q->class ? q->class : 1);
    }
    if (q->udp_size) {
        buf_char(b, '\0');
        put_u16(b, 41);
        put_u16(b, q->udp_size);
        put_u16(b, q->edns_ttl >> 16);
        put_u16(b, q->edns_ttl & 0xffff);
        put_u16(b, (unsigned)q->edns_data.n);
        buf_str(b, q->edns_data);
    }
}

static inline int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "A 10.0.0.1\nSRV 0 100 80 x.\n": type and data of each record, in the order of the packet or sorted. */
static inline void print_records(struct buf *out, ldns_rr_list *list, bool sorted)
{
    size_t n = ldns_rr_list_rr_count(list);
    char **lines = xcalloc(n + 1, sizeof(*lines));

    for (size_t i = 0; i < n; i++) {
        ldns_rr *rr = ldns_rr_list_rr(list, i);
        char *type = ldns_rr_type2str(ldns_rr_get_type(rr));
        struct buf line = { 0 };

        buf_fmt(&line, "%s", type);
        for (size_t k = 0; k < ldns_rr_rd_count(rr); k++) {
            char *data = ldns_rdf2str(ldns_rr_rdf(rr, k));

            buf_fmt(&line, " %s", data);
            free(data);
        }
        free(type);
        lines[i] = line.p;
    }
    if (sorted && n)
        qsort(lines, n, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out, "%s\n", lines[i]);
        free(lines[i]);
    }
    free(lines);
}

static inline struct in_addr address(const char *text)
{
    struct in_addr a;

    if (inet_pton(AF_INET, text, &a) != 1)
        abort();
    return a;
}

#endif
