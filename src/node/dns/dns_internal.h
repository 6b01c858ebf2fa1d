/* dns_internal.h - between the files of the responder: names, the nodes of the zone, the server's clients and
 * questions */
#ifndef NODE_DNS_INTERNAL_H
#define NODE_DNS_INTERNAL_H

#include "base/list.h"
#include "node/dns/dns.h"

#include <ldns/ldns.h>
#include <pthread.h>

enum { DNS_NAME_MAX = 255, DNS_LABEL_MAX = 63, DNS_LABELS_MAX = 128, DNS_MESSAGE_MAX = 65535, DNS_HEADER = 12 };

/* ---- names ---- as packets have them: labels with their lengths, an empty one at the end ---- */

struct dns_name {
    uint8_t wire[DNS_NAME_MAX];
    size_t n; /* 0: it would be too long */
};

/* A name taken apart, in small letters. A label may hold any byte, a dot too, so it is never looked at as one text. */
struct dns_labels {
    char text[DNS_NAME_MAX];
    struct str v[DNS_LABELS_MAX];
    size_t n;
};

struct dns_name dns_name_under(struct str label, const struct dns_name *parent); /* label.parent */
int dns_name_parse(struct str dotted, struct dns_name *ret); /* -1: no domain name; a dot at the end is fine */
void dns_labels_of(struct dns_labels *l, const uint8_t *wire, size_t n);
bool dns_is_label(struct str s); /* small letters, digits, '-' and '_', the latter not in front */

/* ---- nodes ---- what the zone has at a name ---- */

struct dns_member { /* a published pod of a service */
    struct str name;
    struct in_addr address;
    bool is_named; /* by its hostname, not by its address */
};

struct dns_entry;
struct dns_link { /* this service has that address; in a list by key of the service */
    struct list_link link;
    struct dns_entry *entry;
    uint32_t address;
};

struct dns_entry { /* a service as the zone keeps it; lives in its arena */
    struct arena arena;
    struct str key, namespace, name;
    struct dns_name wire;
    struct dns_name alias; /* n 0: it is none */
    struct in_addr address;
    VEC(struct dns_member) members;      /* by name and address, each pair once */
    VEC(struct dns_member *) by_address; /* the same by address and name */
    VEC(struct in_addr) addresses;       /* of the members, each once, sorted */
    VEC(struct dns_port) ports;          /* with names, in small letters; each once, sorted */
    struct dns_link *links;              /* in the lists of the addresses */
    size_t n_links;
    uint64_t turn_a[2], turn_srv[2]; /* how often it was answered for, by UDP and by TCP */
};

struct dns_zone {
    struct dns_name domain;
    struct dns_labels labels; /* of the domain */
    struct map services;      /* struct dns_entry by "namespace.name": neither has a dot */
    struct map namespaces;    /* struct space: those with a service */
    struct map_u64 owners;    /* struct owner by address */
    struct in_addr server;
    uint64_t seed;
    uint32_t serial;
};

enum dns_kind {
    DNS_ELSEWHERE, /* not ours */
    DNS_NOTHING,   /* NXDOMAIN */
    DNS_EMPTY,     /* there, without records */
    DNS_APEX,      /* SOA, NS */
    DNS_ADDRESS,   /* A: 'address' */
    DNS_ALL,       /* A: every member of 'entry' */
    DNS_MEMBERS,   /* A: 'n' members from 'first' */
    DNS_ALIAS,     /* CNAME: of 'entry' */
    DNS_SERVICE,   /* SRV: the ports of 'entry', 'n' from 'first_port' */
    DNS_REVERSE,   /* PTR: the names of 'address' */
    DNS_VERSION,   /* TXT: of the schema */
    DNS_KIND_MAX,
};

struct dns_node {
    enum dns_kind kind;
    bool is_reverse; /* below in-addr.arpa */
    struct dns_entry *entry;
    struct in_addr address;
    const struct dns_member *first;
    const struct dns_port *first_port;
    size_t n;
};

struct dns_node dns_zone_find(struct dns_zone *z, const struct dns_labels *name);

/* In small letters. NULL if there is none. */
struct dns_entry *dns_zone_service(const struct dns_zone *z, struct str namespace, struct str name);
/* The links of an address, by service; NULL if no service has it. */
const struct list *dns_zone_owners(const struct dns_zone *z, struct in_addr address);
/* The members of 'e' with that address: the first, and how many. */
size_t dns_entry_at(const struct dns_entry *e, struct in_addr address, struct dns_member *const **ret_first);

/* The order of 'n' things on the turn-th time: item i is (start + i * step) % n. Each item is first once in n turns,
 * and the step changes from round to round, so that not always the same follows one that does not answer. */
struct dns_order {
    uint64_t start, step, n;
};
struct dns_order dns_zone_order(const struct dns_zone *z, size_t n, uint64_t turn);
static inline size_t dns_order_at(const struct dns_order *o, size_t i)
{
    return (o->start + i * o->step) % o->n;
}

int dns_address_cmp(struct in_addr a, struct in_addr b);
struct str dns_protocol_label(char letter); /* 'T': "_tcp"; empty: there is none */

/* ---- packets ---- */

/* A reply without an answer, e.g. LDNS_RCODE_SERVFAIL; false if the packet is no question. */
bool dns_refuse(struct str packet, ldns_pkt_rcode rcode, struct buf *out);

/* ---- the server ---- everything below belongs to its thread ---- */

enum dns_watch_kind { DNS_WATCH_WAKE, DNS_WATCH_UDP, DNS_WATCH_LISTEN, DNS_WATCH_CONN, DNS_WATCH_ASK };

struct dns_watch { /* first in what epoll knows of */
    enum dns_watch_kind kind;
    int fd; /* -1: closed; it is freed at the end of the turn */
    uint32_t events;
};

struct dns_server {
    struct dns_zone *zone;
    pthread_mutex_t lock; /* of the zone */
    pthread_t thread;
    struct sockaddr_in address, forward; /* forward: port 0: none */
    int epoll_fd;
    struct dns_watch wake, udp, listen;
    struct list conns, asks, gone; /* gone: closed in this turn */
    size_t n_conns, n_asks;
    int64_t now_ms, listen_at_ms; /* listen_at: out of descriptors until then; 0: no */
};

struct dns_conn { /* a client by TCP */
    struct dns_watch watch;
    struct list_link link;
    struct sockaddr_in peer;
    struct buf in, out;
    size_t sent; /* of 'out' */
    int64_t deadline_ms;
    size_t n_asks;
    bool at_end; /* the client sends no more */
};

struct dns_client { /* who asked */
    struct sockaddr_in peer;
    struct dns_conn *conn; /* NULL: by UDP */
};

struct dns_ask { /* a question on its way to the host's name server */
    struct dns_watch watch;
    struct list_link link;
    struct dns_client client;
    uint16_t client_id, id;
    ldns_rr *question;
    struct buf begun;   /* the reply that this is to complete; empty: the answer is the reply */
    struct buf out, in; /* by TCP with the length in front */
    size_t sent;
    int64_t resend_ms, deadline_ms; /* resend: 0: not again */
};

int dns_watch_add(struct dns_server *s, struct dns_watch *w, enum dns_watch_kind kind, int take_fd, uint32_t events);
void dns_watch_set(struct dns_server *s, struct dns_watch *w, uint32_t events);
void dns_watch_close(struct dns_watch *w); /* the fd; epoll forgets it with that */

void dns_serve(struct dns_server *s, const struct dns_client *c, struct str packet);
void dns_send(struct dns_server *s, const struct dns_client *c, struct str reply);

void dns_conn_accept(struct dns_server *s);
void dns_conn_ready(struct dns_server *s, struct dns_conn *c, uint32_t events);
void dns_conn_send(struct dns_server *s, struct dns_conn *c, struct str reply);
void dns_conn_close(struct dns_server *s, struct dns_conn *c);
void dns_conn_free(struct dns_conn *c);
int64_t dns_conn_expire(struct dns_server *s, int64_t next_ms); /* the earlier of next_ms and the next deadline */

void dns_ask_start(struct dns_server *s, const struct dns_client *c, struct str packet, struct str begun);
void dns_ask_ready(struct dns_server *s, struct dns_ask *k);
void dns_ask_close(struct dns_server *s, struct dns_ask *k);
void dns_ask_cancel(struct dns_server *s, const struct dns_conn *c); /* all of a client that went */
void dns_ask_free(struct dns_ask *k);
int64_t dns_ask_expire(struct dns_server *s, int64_t next_ms);

#endif
