/* agent.h - this machine as a node: runs the pods that are bound to it
 *
 * It does what a kubelet and kube-proxy do. The agent watches a cluster (cluster.h) and registers a Node. For each pod
 * that is bound to the Node it creates a sandbox (shim.h, net.h, volume.h), follows its life (life.h) and writes its
 * status. It allocates Service addresses, answers DNS queries (dns.h), and puts NetworkPolicies and Services into
 * nftables (filter.h) before a pod starts that they concern.
 *
 * Everything that a run creates on the host carries its id. agent_close() removes it all; after kill -9 the keeper does
 * (keeper.h); if the keeper was killed too, the next agent_open() with the same state directory does.
 *
 * With 'outlives' the pods keep running when the program ends. The next program with the same node name and state
 * directory adopts the run: it finds running pods as they are, and the exit status of those that ended meanwhile.
 *
 *     user_enter(); agent_open();                 one thread, no children
 *     for (;;) { poll(agent_fd …, due); due = agent_turn(); }
 */
#ifndef NODE_AGENT_H
#define NODE_AGENT_H

#include "base/err.h"
#include "base/vec.h"
#include "cluster/cluster.h"
#include "node/cgroup/cgroup.h"
#include "node/shim/conlog.h"

struct agent;
struct clock;
struct images;
struct devices;
struct puller;

struct agent_output { /* a line that a container wrote */
    struct str namespace, pod, uid, container;
    const struct json *root; /* the pod */
    enum conlog_stream stream;
    bool is_partial;
    int64_t at_ms;
    struct str text;
};

/* A tree of files that a pod wrote and that is deleted with it. One for each start of a container (what it changed in
 * its root), and one for each emptyDir on disk. */
struct agent_written {
    struct str namespace, pod, uid;
    struct str container; /* that wrote it; of an emptyDir: the first that mounts it */
    int attempt;
    bool is_only;  /* the pod has no other container */
    struct str at; /* where the container has it: "/", "/tmp" */
    int fd;
    struct str path;  /* of the tree, where the caller may keep it */
    bool is_composed; /* a root that is put together of directories: links and empty files of the host's are ours */
    const struct str *mounts; /* where something is mounted in the container: what lies there below it is ours */
    size_t n_mounts;
};
/* True for entries that no program of the pod wrote: mount points, and files that the system writes. */
struct tree_entry;
bool agent_written_is_ours(const struct agent_written *w, const struct tree_entry *entry);

struct agent_hooks { /* each may be NULL */
    void *ctx;
    void (*output)(void *ctx, const struct agent_output *line);
    /* How many bytes of output the caller can take now; NULL: no limit. While it is 0 output waits, and containers that
     * write much block. Asked again by each agent_turn(). */
    size_t (*room)(void *ctx);
    /* What a running pod uses; about once a second, and when it ends. */
    void (*usage)(void *ctx, struct str pod_uid, const struct cgroup_stats *s, int64_t now_ms);
    /* A sentence for the user, given once: "image \"busybox\": the host's files (…)". */
    void (*notice)(void *ctx, struct str sentence);
    /* Progress of all pulls in one line; empty: no image is being pulled. */
    void (*pulling)(void *ctx, struct str line);
    /* May this pod run here? -1: it fails, and says why. NULL: all may. */
    int (*admit)(void *ctx, const struct json *pod, struct err *e);
    /* Can this node run pods of this RuntimeClass? -1: its sandbox is not made, with this reason. NULL: of all. */
    int (*runtime)(void *ctx, struct str class, struct err *e);
    /* A pod was removed; its logs are deleted when this returns. */
    void (*leaves)(void *ctx, struct str namespace, struct str pod, struct str uid);
    /* The tree is about to be deleted. True: keep it at 'path' until agent_close(). */
    bool (*written)(void *ctx, const struct agent_written *w);
};

/* When a registry is asked for an image */
enum agent_pull {
    AGENT_PULL_AS_SAID, /* imagePullPolicy, and what Kubernetes takes where there is none */
    AGENT_PULL_NEVER,
    AGENT_PULL_MISSING,
    AGENT_PULL_ALWAYS,
    AGENT_PULL_MAX,
};

enum agent_network {
    AGENT_NET_AUTO,    /* a way out where there can be one; else without, and a notice says why */
    AGENT_NET_PRIVATE, /* pods reach each other, nothing else */
    AGENT_NET_OPEN,    /* as auto, and other hosts with a route to the pods reach them: see net.h */
    AGENT_NET_MAX,
};

/* For a node of a cluster that exists without this program. Read by agent_attach(); the functions are called until
 * agent_close(). */
struct agent_remote {
    struct str host_ip;                 /* of this machine, as the others reach it */
    int64_t port;                       /* of the kubelet API; 0: there is none */
    const struct json *labels, *taints; /* of the Node, besides the usual; may be NULL. Taints: when it is new */
    void *ctx;
    /* Watch one object that a pod refers to, as cluster_kube_follow() does. NULL: the cluster reports all objects of these
     * kinds, and Nodes. */
    uint64_t (*follow)(void *ctx, const struct resource_type *type, struct str namespace, struct str name);
    void (*unfollow)(void *ctx, const struct resource_type *type, struct str namespace, struct str name);
    /* Send a TokenRequest for a service account; agent_token_came() follows later. NULL: tokens are not available. */
    void (*token)(void *ctx, uint64_t id, struct str namespace, struct str account, const struct json *request);
};

struct agent_found;
struct user_root;

struct agent_options {
    const char *state_dir;       /* of all runs: each has <state_dir>/<id>; made */
    const char *node_name;       /* NULL: the host's name */
    const char *claims_dir;      /* of PersistentVolumeClaims; NULL: below the run's state, and gone with it */
    const char *auth_file;       /* logins to registries, which pods must not see; may be NULL */
    const struct json *capacity; /* {"cpu": "8", "memory": …}: instead of what the machine has; may be NULL */
    const char *cluster_domain;  /* NULL: "cluster.local" */
    const char *oci_runtime;     /* NULL: our own boxes */
    struct images *images;       /* borrowed */
    struct puller *puller;       /* borrowed; NULL: no image is pulled */
    enum agent_pull pull;        /* in place of what containers say */
    struct devices *devices;     /* borrowed; may be NULL */
    enum agent_network network;
    int64_t pids_limit;        /* processes of a pod; 0: 4096 */
    int64_t log_bytes;         /* of one log file before it is turned over; 0: 10 MiB */
    bool allows_unfiltered;    /* pods that a NetworkPolicy selects start also while it cannot be enforced */
    bool forgets_logs;         /* those of a pod go with it; always so with 'remote' */
    bool keeps_state;          /* leave files and logs below <state_dir>/<id> at the end */
    bool outlives;             /* pods go on without the agent; only with 'remote' and 'node_name' */
    struct agent_found *found; /* of agent_found_look(): go on with it. Taken */
    /* NULL: the cluster lives as long as the run. Else also: a claim needs 'claims_dir', logs
     * go with their pod, a pod that ran when an agent before this one was killed goes on by its restartPolicy. */
    const struct agent_remote *remote;
    struct clock *clock; /* of the times in logs, as the cluster's; NULL: clock_real */
    struct agent_hooks hooks;
};

/* Remove what dead runs left; create the directory, cgroups, spawner and network of the run. Call it after user_enter()
 * and before any thread exists. */
int agent_open(const struct agent_options *opt, struct agent **ret, struct err *e);
/* Find a run of this node whose program has ended; NULL: there is none. The caller holds a lock, so that only one
 * program looks for this node. Runs that cannot be adopted (of another version, or killed while they started) are ended
 * with a warning. */
struct agent_found *agent_found_look(const char *state_dir, const char *node_name);
/* Instead of user_enter(): enter the namespaces of the run. */
int agent_found_enter(const struct agent_found *f, struct user_root *ret, struct err *e);
void agent_found_free(struct agent_found *f); /* its pods keep running. NULL is fine */
/* End all pods of this node that are still running, and remove what they and dead runs left. For a program with one
 * thread. Returns the number of runs that were ended. */
size_t agent_cleanup(const char *state_dir, const char *node_name);

/* Start to work on the cluster, which is used by the agent alone (a cluster_embedded of its own). The next turn writes
 * the Node. */
void agent_attach(struct agent *g, struct cluster *c);

int agent_fd(const struct agent *g); /* readable: something happened */
/* Handle events and do what is due. Returns when to call again at the latest (ms of the cluster's clock; INT64_MAX:
 * never). '*ret_busy' (may be NULL): something was done. */
int64_t agent_turn(struct agent *g, bool *ret_busy);

/* The answer to agent_remote.token. NULL and an error: the agent requests it again. */
void agent_token_came(struct agent *g, uint64_t id, const struct json *answer, const struct err *e);
void agent_tokens_ask_again(struct agent *g); /* the signing key has changed */
/* The machine shuts down: start no pods, and end those that run, after their grace period but at most 'grace_ms'. They
 * fail with the reason Terminated. The Node becomes not ready. */
void agent_shut_down(struct agent *g, int64_t grace_ms);
bool agent_is_quiet(const struct agent *g); /* no pod runs, and the status of all was written */
void agent_write_now(struct agent *g);      /* the cluster is reachable again: retry failed writes at once */

/* Listen on the pod gateway, for an API server in this process. Pods that start from now on get KUBERNETES_SERVICE_HOST
 * and KUBERNETES_SERVICE_PORT, as from a kubelet. */
int agent_listen(struct agent *g, uint16_t port, int *ret_fd, struct err *e);
/* A non-blocking socket of this type (SOCK_STREAM, SOCK_DGRAM) in the pod network, to be connected to a pod of this
 * machine. -1: the network has failed. */
int agent_socket(const struct agent *g, int type);
#define AGENT_SERVICE_SUBNET "10.96.0.0/16"                       /* addresses of Services */
struct str agent_gateway(const struct agent *g, struct arena *a); /* "10.88.0.1" */

/* What its Node has: {"cpu": "8", "memory": …}, in 'a'. */
struct json *agent_capacity(struct agent *g, struct arena *a);

size_t agent_pods(const struct agent *g);     /* with anything left on this machine */
void agent_kill_all(struct agent *g);         /* everything, at once */
bool agent_is_broken(const struct agent *g);  /* the spawner is dead, so no pod can start */
const char *agent_id(const struct agent *g);  /* of the run, 6 hex digits */
const char *agent_dir(const struct agent *g); /* <state_dir>/<id> */

/* ---- pods as the kubelet API shows them ---- */

struct agent_place {
    struct str namespace, pod, container;
};

/* All pods with their status as it is now: a v1 PodList, in 'a'. */
struct json *agent_pods_show(struct agent *g, struct arena *a);

struct agent_log_place {
    struct str path, uid; /* see conlog.h */
    int attempt;
};
struct agent_log_query {
    const struct agent_place *place;
    bool is_previous; /* the attempt before the newest */
};
/* Find the log of a container. Fails in the kubelet's words. ERR_NOT_FOUND: the pod does not exist; ERR_INVALID: the
 * container does not exist, or has not run yet. */
int agent_log_find(struct agent *g, struct arena *a, const struct agent_log_query *q, struct agent_log_place *ret,
                   struct err *e);
/* May the container still write to this log? */
bool agent_log_grows(const struct agent *g, const struct agent_log_place *log, struct str container);

/* The containers of a pod as they are now, init containers first. False: it is not here. */
struct agent_container {
    struct str name;
    int attempt; /* the newest that has begun, from 0 on; -1: none has */
    bool is_running;
};
struct agent_containers {
    struct str namespace, pod;
    VEC(struct agent_container) list;
    bool is_over; /* the pod has ended */
};
bool agent_containers(const struct agent *g, struct arena *a, struct str pod_uid, struct agent_containers *ret);
/* Where an attempt of one of them writes (conlog.h). */
struct str agent_log_file(const struct agent *g, struct arena *a, struct str pod_uid, struct str container,
                          int attempt);
/* What the whole pod uses; false: it is not counted. */
bool agent_pod_usage(const struct agent *g, struct str pod_uid, struct cgroup_stats *ret);

/* Sessions: run a command in a container (shim_exec_on()), attach to a container (shim_attach()), carry bytes
 * between a socket and a port of the pod (shim_forward()). The descriptors stay the caller's. agent_turn() or
 * agent_close() calls 'ended' once, with the exit status or with why there is none. Returns the id for
 * agent_session_end(); 0: not started. */
typedef void (*agent_ended_f)(void *ctx, int exit_code, struct str why);
struct agent_session_spec {
    struct agent_place where;
    int fds[3];       /* agent_forward(): the socket is the first */
    bool wants_input; /* agent_attach_to() */
    bool is_tty;      /* agent_exec(): the descriptors are one socket, as box_exec() has it */
    const struct str *argv;
    size_t n_argv;
    uint16_t port; /* agent_forward() */
    agent_ended_f ended;
    void *ctx;
};
uint64_t agent_exec(struct agent *g, const struct agent_session_spec *spec, struct err *e);
uint64_t agent_attach_to(struct agent *g, const struct agent_session_spec *spec, struct err *e);
uint64_t agent_forward(struct agent *g, const struct agent_session_spec *spec, struct err *e);
/* The address of a running pod, "10.88.0.2", in 'a', for agent_socket(). ERR_CONFLICT: the pod does not run here, or
 * uses the host's network. */
int agent_pod_address(const struct agent *g, struct arena *a, struct str pod_uid, struct str *ret, struct err *e);
void agent_session_end(struct agent *g, uint64_t id); /* kill it; 'ended' is not called */

/* What pods and their containers use: 'f' is called for each pod (container empty) and each container that runs. */
typedef void (*agent_usage_f)(void *ctx, const struct agent_place *of, const struct cgroup_stats *s);
void agent_usage(struct agent *g, agent_usage_f f, void *ctx);

struct agent_process {
    struct str uid, container;
    pid_t pid; /* as the host numbers it */
};
/* Process 1 of a container on this machine; 0: it does not run. */
pid_t agent_first_process(const struct agent *g, const struct agent_place *where);
/* All that runs in containers, container by container. */
void agent_processes(struct agent *g, void (*f)(void *ctx, const struct agent_process *p), void *ctx);

/* Freeze or thaw all pods. -1: this host cannot freeze. */
int agent_freeze(const struct agent *g, bool on);

/* Kill all pods and remove everything (but see keeps_state). The cluster stays the caller's. */
void agent_close(struct agent *g);
/* Leave the pods running, if 'outlives' is set; else the same as agent_close(). */
void agent_leave(struct agent *g);

#endif
