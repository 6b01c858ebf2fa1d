/* kubelet.h - what an API server asks of a node: logs, exec, attach, port-forward, pods, use
 *
 *     GET  /containerLogs/NAMESPACE/POD/CONTAINER     follow, tailLines, sinceSeconds, sinceTime, timestamps, previous,
 *                                                     limitBytes, stream
 *     POST /exec/NAMESPACE/POD[/UID]/CONTAINER        command …, input, output, error, tty; SPDY/3.1 or WebSockets
 *     POST /attach/NAMESPACE/POD[/UID]/CONTAINER      what it writes from now on, and its input where stdin is true
 *     POST /portForward/NAMESPACE/POD[/UID]
 *     GET  /pods, /metrics/resource, /healthz
 *
 * Over TLS only. Clients authenticate with a certificate of a CA in 'tls.client_ca', or with a bearer token that the
 * API server accepts (TokenReview). The API server authorizes them (SubjectAccessReview of nodes/proxy, nodes/metrics),
 * as for a kubelet with webhook authentication and authorization.
 *
 * One thread, one descriptor. A slow reader does not delay the others.
 */
#ifndef KUBELET_KUBELET_H
#define KUBELET_KUBELET_H

#include "base/err.h"
#include "http/server.h"

struct agent;
struct cluster;
struct kubelet;

struct kubelet_options {
    struct agent *agent;
    struct cluster *door; /* a cluster_kube, for reviews. Its turns are the caller's */
    struct str node_name; /* outlives it */
    const char *address;  /* ":10250"; port 0: one that is free. NULL: nowhere, and 'door' and 'tls' are not used */
    struct http_server_tls tls;
    void (*refuse)(struct http_call *call, int status, struct str why); /* answers what cannot be done; NULL: a text */
};

int kubelet_open(const struct kubelet_options *opt, struct kubelet **ret, struct err *e);
/* After agent_close(), before the door is freed, which has no turn in between. NULL is fine. */
void kubelet_close(struct kubelet *k);

/* Answer a call of another server, whose user may do this; its parameters are those of the query. The calls that are
 * still open end with kubelet_close(), which must come before the other server is freed. */
enum kubelet_action {
    KUBELET_LOGS,
    KUBELET_RECORDS, /* of all containers, see records.c; the pod's uid is a parameter */
    KUBELET_EXEC,
    KUBELET_ATTACH,
    KUBELET_FORWARD,
    KUBELET_ACTION_MAX
};
struct agent_place;
void kubelet_take(struct kubelet *k, struct http_call *call, enum kubelet_action what, const struct agent_place *where);

/* Answer a call of another server, whose user is an administrator, as one that came here; its path is one of the above. */
void kubelet_serve(struct kubelet *k, struct http_call *call);
struct str kubelet_node(const struct kubelet *k);

/* Pass a call of another server on to a port of a pod, and the answer back (pod_proxy.c). The path and the headers of the call
 * reach the pod, its user's credentials do not. A pod that cannot be reached is 503. */
struct kubelet_proxy {
    struct str pod_uid; /* of the pod that was judged: another one of the same name is not reached */
    uint16_t port;
    bool is_tls;       /* the certificate of the pod is not verified */
    struct str path;   /* for the pod, with its query; begins with '/' */
    struct str prefix; /* what stands before it in the client's URL */
    struct str user;   /* who asks: one user has a quarter of all requests that can be in progress. 429 beyond */
    int64_t head_ms;   /* the answer begins within this time; 0: a minute */
};
void kubelet_proxy(struct kubelet *k, struct http_call *call, const struct kubelet_proxy *to);

/* For agent_hooks.leaves: clients that follow this pod get the rest of its output, others can for a while. */
void kubelet_pod_leaves(struct kubelet *k, const struct agent_place *pod, struct str pod_uid);
/* The pod was deleted, and KUBELET_RECORDS of it can still be answered: the agent has not heard of the deletion yet, or the pod
 * left a short while ago. */
bool kubelet_knew(const struct kubelet *k, const struct agent_place *pod, struct str pod_uid);

/* What runs here uses: 'f' is called for each container that runs, and last for the machine itself (all of 'of' is
 * empty). Of a container that the machine does not count for us it is not called. */
struct kubelet_use {
    double cpu_s; /* since it began */
    int64_t memory_bytes;
};
void kubelet_usage(struct kubelet *k, void (*f)(void *ctx, const struct agent_place *of, const struct kubelet_use *u),
                   void *ctx);

unsigned kubelet_port(const struct kubelet *k);
int kubelet_set_tls(struct kubelet *k, const struct http_server_tls *tls, struct err *e); /* for new connections */

int kubelet_fd(const struct kubelet *k); /* readable: call */
int64_t kubelet_turn(struct kubelet *k); /* milliseconds until the next is due even then; INT64_MAX: none */

#endif
