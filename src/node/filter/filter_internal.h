/* filter_internal.h - what the parts of filter_batch() share */
#ifndef NODE_FILTER_INTERNAL_H
#define NODE_FILTER_INTERNAL_H

#include "node/filter/filter.h"
#include "os/nft.h"

/* ---- ranges of numbers: addresses (in the machine's byte order) and ports ---- */

struct range {
    uint32_t low, high; /* both included */
};
struct ranges {
    VEC(struct range) list;
};

void ranges_add(struct arena *a, struct ranges *r, uint32_t low, uint32_t high);
void ranges_cut(struct arena *a, struct ranges *r, uint32_t low, uint32_t high); /* take out what lies between */
void ranges_join(struct ranges *r); /* sorted, without overlaps; neighbours become one */

/* ---- the pods, sorted ---- */

struct filter_ns { /* a namespace with pods */
    struct str name;
    struct json *labels;
    VEC(size_t) pods; /* into filter_world.pods */
};

struct filter_at {
    const struct filter_pod *pod;
    uint32_t address; /* in the machine's byte order */
};

/* The run's name server stands for that of a cluster: a pod of kube-system with the label k8s-app: kube-dns. */
#define FILTER_DNS_SPACE "kube-system"
enum { FILTER_DNS_PORT = 53 };

struct filter_name_server {
    struct json *labels; /* of its namespace */
    struct filter_pod pod;
    struct filter_at at; /* address 0: there is none */
};

struct filter_world {
    struct arena *arena;
    const struct filter_input *in;
    VEC(struct filter_at) pods; /* by address, each address once */
    VEC(struct filter_ns) spaces;
    struct filter_name_server name_server;
    struct nft *table;
    struct nft_set itself; /* without a number: no Service has endpoints */
};

void filter_world_init(struct filter_world *w, struct arena *a, const struct filter_input *in, struct nft *table);
const struct filter_ns *filter_ns_find(const struct filter_world *w, struct str name); /* NULL: has no pods */

/* ---- the parts of the table ---- */

enum { FILTER_DSTNAT = -100, FILTER_NOWHERE = -90, FILTER_FORWARD = 0, FILTER_SRCNAT = 100 }; /* priorities */

void filter_services(struct filter_world *w);
void filter_policies(struct filter_world *w); /* after the services */

struct filter_place { /* the key "ip daddr . meta l4proto . th dport", as packets have it */
    in_addr_t address;
    uint8_t protocol, zero[3];
    in_port_t port;
    uint16_t zeros;
};
_Static_assert(sizeof(struct filter_place) == 12, "three registers");

struct filter_place filter_place(uint32_t address, uint8_t protocol, uint32_t port);
void filter_load_place(struct filter_world *w);
struct nft_set filter_place_set(const char *name, bool has_verdicts);

/* "ip saddr . ip daddr" */
void filter_load_pair(struct filter_world *w);

/* A field of a packet among numbers: one of them, a range, or a set, which several rules may share if it has a name. */
struct filter_match {
    enum nft_field field;
    struct range only;
    struct nft_set set; /* without a number: 'only' it is */
};

struct filter_match filter_match(struct filter_world *w, enum nft_field field, struct ranges *r, const char *set_name);
void filter_put_match(struct filter_world *w, const struct filter_match *m);

/* A chain that answers at once. TCP by a reset: the kernel sends only a few ICMP messages a second, and a sender without
 * one waits. */
void filter_refusal(struct filter_world *w, const char *chain, uint8_t icmpx_code);

/* A chain that others call, with a comment that says whose it is; any bytes. */
void filter_chain_of(struct filter_world *w, const char *chain, struct str namespace, struct str name);

#endif
