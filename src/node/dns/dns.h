/* dns.h - names for pods: a small responder in front of the host's own resolver
 *
 * It answers for the cluster's domain from its zone, and forwards other queries to the host's name server (or refuses them
 * where pods have no egress). As in Kubernetes:
 *   <service>.<ns>.svc.<domain>             A: the Service's address; headless: all ready endpoints
 *                                           ExternalName: CNAME, and what that name has, here or elsewhere
 *   <host>.<service>.<ns>.svc.<domain>      A: the pod with that hostname and subdomain
 *   <a-b-c-d>.<ns>.pod.<domain>             A: a.b.c.d
 *   _<port>._<proto>.<service>.<ns>.svc…    SRV
 *   PTR of pod and Service addresses
 *   <domain>  SOA, NS;  ns.dns.<domain>  A: this responder;  dns-version.<domain>  TXT
 * Pods that are not ready are left out unless the Service says publishNotReadyAddresses. A name that exists without the
 * type asked for gives NOERROR and no answer; one that does not exist NXDOMAIN, both with a SOA that says 1 second. A
 * name exists when there is a record at it or below it; a Service's name exists also while no pod is ready.
 *
 * A pod without a hostname is called a-b-c-d below its Service, after its address, so that SRV and PTR have a name to
 * give.
 *
 * dns_answer() is pure: bytes in, bytes out (packets by ldns); the socket loop is around it. Questions are refused by
 *   FORMERR   no question or several          NOTIMP   an opcode other than QUERY
 *   BADVERS   EDNS of another version         REFUSED  a class other than IN, zone transfers, meta types
 */
#ifndef NODE_DNS_H
#define NODE_DNS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

#include <netinet/in.h>

enum { DNS_TTL_S = 5, DNS_UDP_MAX = 1232 };

struct dns_host {
    struct str hostname; /* empty, or not a DNS label: known by its address, see above */
    struct in_addr address;
    bool is_ready;
};

struct dns_port {
    struct str name; /* empty: no SRV */
    char protocol;   /* 'T', 'U', 'S': TCP, UDP, SCTP */
    uint16_t port;
};

struct dns_service {
    struct str namespace, name;
    struct in_addr address; /* 0: headless */
    struct str alias;       /* it is another name for this one, and nothing else; empty, or no domain name: it is not */
    bool publishes_not_ready;
    VEC(struct dns_host) hosts;
    VEC(struct dns_port) ports;
};

struct dns_zone; /* what is known; replaced service by service */

struct dns_zone *dns_zone_new(const char *domain, uint64_t seed); /* "cluster.local"; NULL if that is no domain */
void dns_zone_free(struct dns_zone *z);
/* Copied. Takes the place of the Service of that name. A namespace or name that is no DNS label can never be asked
 * for, so such a Service is left out; so are hosts without an address. Costs as much as the Service has hosts: when
 * many change at once, put it once. */
void dns_zone_put(struct dns_zone *z, const struct dns_service *s);
void dns_zone_remove(struct dns_zone *z, struct str namespace, struct str name);
void dns_zone_set_server(struct dns_zone *z, struct in_addr address); /* ns.dns.<domain>; dns_server_start() does it */

enum dns_outcome {
    DNS_ANSWERED, /* 'out' is the reply */
    DNS_FORWARD,  /* not our domain: pass it on */
    DNS_CHASE,    /* 'out' is the begin of the reply: it ends with another name for one that is not of our domain */
    DNS_DROP,     /* not a question at all */
};
/* The reply is appended to 'out'. 'max': of a reply by UDP; it is at most 512 bytes, or what EDNS asked for, and
 * never more than this. Longer ones are cut and marked truncated. 0: TCP, where only the 65535 bytes of the protocol
 * are a limit.
 *
 * The addresses of a headless Service come in another order each time, so that each is the first equally often, also
 * in answers that are cut. The order follows from the zone's seed and how often that Service was asked for (by UDP
 * or TCP), nothing else. */
enum dns_outcome dns_answer(struct dns_zone *z, struct str packet, size_t max, struct buf *out);

/* The query to forward for a reply that was begun, and the reply completed with its answer (empty: there was none). */
void dns_chase_question(struct str begun, struct buf *out);
void dns_chase_reply(struct str begun, struct str answer, size_t max, struct buf *out);

/* Serve on 'address':53 (UDP and TCP) in a thread of its own, inside the network namespace 'ns_fd' (-1: here).
 * Questions that are not ours go to 'forward' (0.0.0.0: refused), at most 256 at a time and 64 for one client, each
 * for at most 4 s; what cannot be passed on or is not answered gets SERVFAIL. They leave from the namespace of the
 * caller, not from 'ns_fd': the host's name server is often on its loopback. Each has a source port and an id of its
 * own, both random. The zone is guarded by the server: change it only between dns_server_lock() and _unlock(). */
enum { DNS_FORWARDS_MAX = 256, DNS_FORWARDS_PER_CLIENT = 64, DNS_FORWARD_MS = 4000 };
struct dns_server;
struct dns_server_options {
    int ns_fd;
    struct in_addr address;
    uint16_t port; /* 0: 53 */
    struct in_addr forward;
    uint16_t forward_port; /* 0: 53 */
};
int dns_server_start(struct dns_zone *z, const struct dns_server_options *opt, struct dns_server **ret, struct err *e);
void dns_server_stop(struct dns_server *s); /* NULL is fine; the zone stays the caller's */
void dns_server_lock(struct dns_server *s);
void dns_server_unlock(struct dns_server *s);

/* /etc/resolv.conf of a pod, by its dnsPolicy:
 *   ClusterFirst (none given)  'server', the search domains <ns>.svc.<domain> svc.<domain> <domain> and the host's,
 *                              ndots:5; with hostNetwork as Default
 *   ClusterFirstWithHostNet    the same also with hostNetwork
 *   Default                    what 'host_conf' (the text of the host's file) says. The host's loopback is not the
 *                              pod's: 'server' stands in for a name server there, unless the pod is in the host's
 *                              network
 *   None                       dnsConfig alone
 * and dnsConfig added to it: name servers and search domains at the end, each once, options in place of those with
 * the same name. As the kubelet: at most 3 name servers, 32 search domains, 2048 bytes of them; what is more is left
 * out. Invalid addresses, and words that would break their line, are left out too. 'server' 0.0.0.0: there is none,
 * ClusterFirst is Default. */
struct json;
void dns_resolv_conf(struct buf *out, const struct json *pod, const char *domain, struct in_addr server,
                     struct str host_conf);

#endif
