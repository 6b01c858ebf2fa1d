/* filter.h - NetworkPolicy and Service addresses by nftables
 *
 * One table of ours ("pumice_<id>", family inet) holds everything: it is replaced as a whole in one transaction when
 * something changed, and removed as a whole at the end. Rules are generated as text by a pure function (filter_text),
 * so that tests can read them; applying runs nft with the text on standard input (in the network's namespace).
 *
 * NetworkPolicy as in Kubernetes: a pod that no policy selects for a direction is open in that direction; one that is
 * selected takes only what some policy allows. Established connections go on. Traffic inside a pod is never filtered.
 * Services: a virtual address per Service, spread over its ready endpoints (numgen random), with reply traffic handled
 * by connection tracking; a Service without endpoints rejects at once, so does a port the Service does not have.
 *
 * Details Kubernetes leaves open: what a policy does not allow is refused at once (TCP by a reset, the rest by ICMP
 * "prohibited"), not swallowed, so that nobody waits two minutes to learn it. Traffic between a pod and the machine
 * itself, DNS included, is always allowed. A pod without a Namespace object has a namespace with the one label
 * kubernetes.io/metadata.name. What cannot be read allows nothing: a peer, a port, a rule; a policy whose podSelector
 * cannot be read selects its whole namespace. IPv6 blocks match no pod. An address of the subnet that no pod has is
 * refused at once too, so the peers of a pod that died learn it.
 *
 * A pod is open as long as it is not in the table: put it in before it starts, keep it in until its link is gone. Every
 * call may come from any thread; those that run nft take some milliseconds.
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
    char protocol; /* 'T', 'U', 'S': TCP, UDP, SCTP */
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

/* The whole table as nft reads it, beginning with "add table", "delete table", so that it replaces the old one. The
 * same input gives the same text, in whatever order its lists are. */
void filter_text(struct arena *a, const struct filter_input *in, struct buf *out);

/* Does the NetworkPolicy select a pod of this namespace and these labels (object or NULL), in any direction? Such a
 * pod must not run before it is in the table. */
bool filter_selects(struct arena *a, const struct json *policy, struct str namespace, const struct json *labels);

/* nft at work on a text: all of it or nothing comes into force. ns_fd -1: here. ERR_NOT_FOUND: there is no nft. */
struct filter_run;
enum { FILTER_PATIENCE_MS = 10000 }; /* then it hangs: filter_end() kills it */
int filter_begin(struct str text, int ns_fd, struct filter_run **ret, struct err *e);
int filter_fd(const struct filter_run *r); /* readable: it has ended */
int filter_end(struct filter_run *r, struct err *e);

int filter_apply(struct str text, int ns_fd, struct err *e); /* the same, and wait for it */

#endif
