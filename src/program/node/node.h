/* node.h - the parts of `pumice node`
 *
 *     node.c      options, the machine, the cluster, what is watched
 *     lease.c     the Lease that says that this machine is alive, and that no other has its name
 *     serving.c   logs, exec and the like, and by which certificates
 *     security.c  which pods may run here
 *     loop.c      turns: the Lease, the agent, HTTP requests, signals, the end
 *
 * The work is the agent's (node/agent/agent.h), as in `pumice run`; here it has a real cluster, and does not end by
 * itself.
 */
#ifndef PROGRAM_NODE_NODE_H
#define PROGRAM_NODE_NODE_H

#include "cli/machine.h"
#include "kube/cluster.h"

struct node_options {
    const char *kubeconfig, *context, *name, *ip, *capacity, *domain, *shutdown_grace;
    const char *address, *port, *client_ca, *cert, *key;
    struct text_list labels, taints;
    const char *log_level, *log_format, *security;
    bool drain, cleanup;
    struct machine_options machine;
};

enum node_security { SECURITY_PRIVILEGED, SECURITY_BASELINE, SECURITY_RESTRICTED, SECURITY_MAX };

enum node_stage {
    NODE_ASKS,  /* is the name free? */
    NODE_WORKS, /* all that there is to do */
    NODE_STOPS, /* asked to end: pods end, and what became of them is written */
    NODE_GIVES, /* … and the Lease is given back */
    NODE_OVER,
};

enum { NODE_VIEWS = 4 };

struct node {
    struct arena *arena;
    const struct node_options *o;
    struct str name, ip;
    int64_t grace_ms;
    enum node_security security;
    struct kube_config config;
    struct machine machine;
    struct kube_view views[NODE_VIEWS];
    struct agent_remote remote;
    int lock_fd; /* of this name, below --state */

    struct cluster *lease_door, *door;
    struct node_lease *lease;
    struct agent *agent;
    struct serving *serving;
    enum node_stage stage;
    int64_t stage_ms; /* mono time: when patience ends */
    bool ends_pods;   /* at the end; else they go on, for the next one */
    int signal_fd, exit_status;
    struct err told;    /* the trouble that was logged last */
    int64_t trouble_ms; /* mono time: when to speak of it; 0: there is none */
};

/* Until it is over; the exit status. */
int node_loop(struct node *n);

/* ---- security.c ---- */

extern const char *const node_security_names[];
int node_admit(void *ctx, const struct json *pod, struct err *e); /* agent_hooks.admit; ctx: the node */

/* ---- serving.c ---- */

/* Sets '*ret' also when it fails: to be closed. Opened before the Node is registered, which says the port. */
int serving_open(struct node *n, struct serving **ret, struct err *e);
void serving_close(struct serving *s); /* NULL is fine */
unsigned serving_port(const struct serving *s);
int serving_fd(const struct serving *s);
int64_t serving_turn(struct serving *s); /* while the door has turns; milliseconds until the next is due */

/* ---- lease.c ---- */

enum node_lease_state {
    LEASE_ASKS,  /* nothing is known yet */
    LEASE_OURS,  /* as far as we know: also while the API server is away */
    LEASE_TAKEN, /* another has the name */
    LEASE_GIVEN, /* node_lease_give() was done */
};

struct node_lease;

/* 'identity' is this machine and state directory, also after a restart. 'door': the caller's, with no other
 * user. */
struct node_lease *node_lease_new(struct cluster *door, struct str node, struct str identity);
void node_lease_free(struct node_lease *l);
int64_t node_lease_turn(struct node_lease *l); /* milliseconds until the next is due */
enum node_lease_state node_lease_state(const struct node_lease *l);
struct str node_lease_holder(const struct node_lease *l);         /* LEASE_TAKEN: who has it */
const struct err *node_lease_trouble(const struct node_lease *l); /* of the last request; NULL: none */
void node_lease_give(struct node_lease *l);                       /* let another have it */

#endif
