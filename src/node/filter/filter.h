/* filter.h - NetworkPolicy and Service addresses by nftables
 *
 * One table of ours (family inet) holds everything. It is replaced as a whole when something changed: there are two
 * names, "pumice_<id>_a" and "…_b", and the old one goes when the new one is in force. It goes with the network's
 * namespace at the end. A pure function (filter_batch) makes the transaction; bringing it into force (os/nft.h) needs
 * no program. `nft list ruleset` shows people what is in force.
 *
 * NetworkPolicy as in Kubernetes: a pod that no policy selects for a direction is open in that direction; one that is
 * selected takes only what some policy allows. Established connections go on. Traffic inside a pod is never filtered.
 * Services: a virtual address per Service, spread over its ready endpoints (numgen random), with reply traffic handled
 * by connection tracking; a Service without endpoints rejects at once, so does a port the Service does not have.
 *
 * Details Kubernetes leaves open: what a policy does not allow is refused at once (TCP by a reset, the rest by ICMP
 * "prohibited"), not dropped, so that the sender does not wait two minutes. Traffic between a pod and the machine
 * itself is always allowed, but for questions to the name server at the gateway, port 53: egress policies hold for them,
 * and the name server counts as a pod of kube-system with the label k8s-app: kube-dns. A pod without a Namespace object has a namespace with the one label
 * kubernetes.io/metadata.name. What cannot be read allows nothing: a peer, a port, a rule; a policy whose podSelector
 * cannot be read selects its whole namespace. IPv6 blocks match no pod. An address of the subnet that no pod has is
 * refused at once too, so the peers of a pod that died learn it.
 *
 * A pod is open as long as it is not in the table: put it in before it starts, and keep it in until its link is removed.
 */
#ifndef NODE_FILTER_H
#define NODE_FILTER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "json/json.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct filter_pod { /* a pod on this machine */
    struct str namespace, name;
    struct json *labels;    /* object or NULL */
    struct in_addr address; /* 0.0.0.0: has none yet; the pod is left out */
    struct json *ports;     /* container ports with names, for named ports in policies; or NULL */
};

struct filter_endpoint {
    struct in_addr address;
    uint16_t port;
};
struct filter_service {
    struct str namespace, name;
    struct in_addr address;
    uint16_t port;
    char protocol;  /* 'T', 'U', 'S': TCP, UDP, SCTP */
    bool is_sticky; /* who comes from one address is led to the same endpoint, as long as those are the same */
    VEC(struct filter_endpoint) endpoints;
};

struct filter_input {
    const char *id, *bridge;
    struct in_addr gateway;
    VEC(struct filter_pod) pods;
    VEC(struct json *) policies;   /* NetworkPolicy objects */
    VEC(struct json *) namespaces; /* Namespace objects, for namespaceSelector */
    VEC(struct filter_service) services;
};

/* The whole table, the first of the two, as nft_send() takes it. The same input gives the same bytes, in whatever order
 * its lists are. */
void filter_batch(struct arena *a, const struct filter_input *in, struct buf *out);

/* Does the NetworkPolicy select a pod of this namespace and these labels (object or NULL), in any direction? Such a
 * pod must not run before it is in the table. */
bool filter_selects(struct arena *a, const struct json *policy, struct str namespace, const struct json *labels);

/* The kernel at work on a batch, beside the caller: all of it or nothing comes into force. It may take long, for it may
 * have to load modules first, and it cannot be stopped: a batch may come into force until filter_end() has returned. */
struct filter_run;
enum { FILTER_PATIENCE_MS = 10000 }; /* then the user is notified */
struct filter_table { /* of the two of a network; the other one goes. If it fails, that one is still whole */
    const char *id;
    bool is_second;
    int ns_fd; /* of the network; -1: here */
};
int filter_begin(const struct filter_table *t, struct str batch, struct filter_run **ret, struct err *e);
int filter_fd(const struct filter_run *r); /* readable: it has ended */
/* How it went. One that has not ended is left alone and fails, for those who give up its network. */
int filter_end(struct filter_run *r, struct err *e);

/* Which table is in force in a network that was taken over? False: none. Where both are, one is removed: the
 * program was killed between the two transactions. */
bool filter_look(const char *id, int ns_fd, bool *ret_is_second);

#endif
