/* agent_internal.h - what the agent_*.c files share
 *
 * agent.c           open, turn, close
 * agent_run.c       the run on the host: id, directory, what dead runs left
 * agent_adopt.c     adopts a run whose program has ended, and its pods
 * agent_cache.c     objects that pods refer to
 * agent_node.c      the Node
 * agent_pod.c       a pod: from binding to the removal of all that it left
 * agent_sandbox.c   its sandbox: volumes, address, shim
 * agent_removal.c   what it wrote, deleted in portions
 * agent_resize.c    in-place resize of CPU and memory
 * agent_log.c       its output
 * agent_probe.c     its probes and hooks
 * agent_box.c       a container of the API as a box of box.h
 * agent_image.c     its image: present, to be pulled, and the pods that wait for it
 * agent_env.c       its variables
 * agent_etc_files.c its /etc/hosts, hostname, resolv.conf
 * agent_service.c   names, Service addresses and policies
 * agent_filter.c    applies the last two, and the pods that wait for it
 * agent_write.c     writes that are retried until they take effect
 * agent_evict.c     evicts pods that fill their termination log, /etc/hosts and the like
 * agent_tenant.c    pods of tenants: their ids
 * agent_storage.c   evicts pods over their ephemeral storage limits
 * agent_written.c   files of pods, shown to the caller before they are deleted
 * agent_refs.c      a real cluster: watches the objects that pods refer to
 * agent_token.c     a real cluster: tokens of service accounts
 * agent_look.c      pods, logs and usage for the kubelet API
 * agent_session.c   commands in containers, and connections to their ports
 */
#ifndef NODE_AGENT_INTERNAL_H
#define NODE_AGENT_INTERNAL_H

#include "api/recorder.h"
#include "api/pod/security.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/util.h"
#include "cluster/relist.h"
#include "node/agent/agent.h"
#include "node/cgroup/cgroup.h"
#include "node/device/device.h"
#include "node/dns/dns.h"
#include "node/filter/filter.h"
#include "image/image.h"
#include "node/lifecycle/life.h"
#include "node/net/net.h"
#include "node/container/hide.h"
#include "node/shim/shim.h"
#include "node/net/subnet.h"
#include "node/volume/volume.h"

/* ---- agent_cache.c ---- */

enum agent_want {
    WANT_POD,
    WANT_CONFIG_MAP,
    WANT_SECRET,
    WANT_CLAIM,
    WANT_SERVICE,
    WANT_POLICY,
    WANT_NAMESPACE,
    WANT_ACCOUNT,   /* only in a run: an API server puts into the pod what it gets of its account */
    WANT_ENDPOINTS, /* these and slices: backends that users gave to a Service without a selector */
    WANT_SLICE,
    WANT_MAX
};
bool agent_wants(const struct agent *g, enum agent_want w); /* does the cluster report this kind? */
const struct resource_type *agent_type(enum agent_want w);

/* Were all kinds listed once? A pod must not start before the policies that select it are known. */
bool agent_is_synced(const struct agent *g);
struct agent_object {
    struct object *object;
    enum agent_want want;
    struct str key; /* bytes follow the struct */
};
void agent_cache_put(struct agent *g, enum agent_want w, const struct object *o);
void agent_cache_remove(struct agent *g, enum agent_want w, const struct object *o);
void agent_cache_done(struct agent *g);
const struct object *agent_find(const struct agent *g, enum agent_want w, struct str namespace, struct str name);

/* ---- agent_run.c ---- */

/* What a run has on the host besides its processes. Its directory:
 *     small/<pod>    on a tmpfs that only the run sees: files that we write for pods. On a disk, creating and deleting
 *                    many small files would cost more than all the rest of a pod
 *     small/over     see host_layer.h, hide.h
 *     pods/<pod>     volumes whose contents belong on disk
 *     layers/<s>/…   what containers change of their root: "<pod>.<container>.<attempt>"; a volume to keep is beside them
 *     logs/…         what they say
 *     lock           see agent_run.c */
#define AGENT_SHARD "shard-" /* how the name of a directory of some layers begins */
struct agent_run {
    char id[8];
    int lock_fd; /* taken as long as the program, its spawner or a shim lives */
    struct keeper *keeper;
    int dir_fd, small_fd; /* of 'dir', and of the tmpfs in it */
    int words_fd;         /* outliving pods: the log of spawners and shims */
    struct str dir, state_dir;
    struct str node; /* not empty: the pods of this node outlive the program. Set before it begins */
};

int agent_run_begin(struct agent_run *r, struct arena *a, const char *state_dir, struct err *e);
/* Instead: go on with the run r->id, in its mount namespace. */
int agent_run_adopt(struct agent_run *r, struct arena *a, const char *state_dir, int lock_fd, struct err *e);
bool agent_run_is_of(int run_fd, struct str node);
void agent_run_sweep(const char *state_dir); /* all whose processes have ended */
/* A run whose program and processes have ended; the caller has its lock. */
void agent_run_end(const char *state_dir, const char *id);
/* Remove its cgroups and files; from any process of the run. */
void agent_run_remove(const struct agent_run *r, struct cgroups *cgroups, bool keeps_files);
int agent_run_keep_again(struct agent_run *r, struct err *e); /* the keeper was killed: start another one */
void agent_run_done(struct agent_run *r, bool leaves);        /* leaves: the next program adopts it */
void agent_run_group(const char *id, char ret[32]);           /* the name of its cgroup */
/* Save where its cgroups are, once they are created, and open them again. */
int agent_run_note_groups(const struct agent_run *r, const struct cgroups *c, struct err *e);
int agent_run_groups(int run_fd, const char *id, struct cgroups **ret, const char **ret_why, struct err *e);

/* ---- agent_write.c ---- */

struct agent_write {       /* the last one of its thing; zeroed: there was none */
    struct agent_pod *pod; /* whose; NULL: the Node's, a Service's */
    uint64_t token;        /* under way; 0: it was answered */
    uint64_t rev;          /* of the object when it had taken effect; 0: not known */
    bool has_failed;       /* to be written again at due_ms */
    int64_t pause_ms, due_ms;
};

/* ---- agent_service.c ---- */

struct agent_services {
    struct dns_zone *zone;
    struct dns_server *server;
    struct subnet addresses; /* of Services */
    struct map given;        /* those that are taken: struct agent_given by the uid of the Service */
    bool is_dirty;           /* a pod, Service or policy changed */
    int64_t next_ms;         /* not before, unless a pod waits for it */
    struct map known;        /* Services in the zone: struct agent_known by "namespace/name" */
};

/* ---- agent_filter.c ---- */

struct agent_filter {
    struct buf applied, tried; /* the batch in force, empty: none; the one that the kernel was given last */
    uint64_t round, in_force;  /* the number of the batch that was made last, of the one in force */
    bool is_second;            /* of the two tables: the one in force */
    struct filter_run *nft;    /* the kernel at work; NULL: it is not */
    bool is_late;              /* nf_tables did not answer in time */
    bool is_behind;            /* the batch has changed since it was sent */
    struct err trouble;        /* why the last batch failed; code ERR_OK: it did not */
    int64_t retry_ms, due_ms;  /* the pause before the next try; when it is late or the pause over */
};

/* ---- agent_image.c ---- */

struct agent_images {
    struct map pulls; /* struct agent_image_pull by name and login */
    struct map hosts; /* struct agent_registry by its name */
};

struct agent {
    struct arena arena;
    struct agent_options opt;
    struct cluster *cluster;
    struct agent_run run;
    struct cgroups *cgroups;
    const char *cgroups_why;
    struct spawner *spawner;
    struct rlimit files; /* of containers */
    struct net *net;
    struct agent_services services;
    struct agent_filter filter;
    struct agent_images images;
    struct recorder recorder; /* of Events */
    struct str node_name, host_ip;
    uint16_t api_port;      /* of an API server at the gateway; 0: none */
    struct str host_resolv; /* the host's resolv.conf */
    struct str over;        /* a directory: see host_layer.h; made for the first container that needs it */
    struct str veil;        /* box_spec.veil; empty: none is needed, or possible */
    char over_name[16];     /* below small/: the one of the previous agent is in use */
    bool is_adopted;        /* the run was adopted */
    bool leaves;            /* closing, and pods keep running */
    unsigned n_layers;      /* that were made */
    VEC(struct spawner *) old_spawners;
    struct map kept;      /* struct agent_kept by uid: adopted shims whose pods the cluster has not reported yet */
    struct hidden hidden; /* what it hides of the host: see hide.h */
    bool has_node, is_broken;
    int64_t restarts_ms; /* helpers that were started again since then */
    unsigned n_restarts;
    bool is_known[WANT_MAX]; /* the cluster has listed all of the type: before that no pod starts */
    bool is_closing;         /* agent_shut_down() */
    struct map refs;         /* struct agent_ref by "want/namespace/name" */
    struct map_u64 asked;    /* struct agent_ref by the token of the answer it waits for */
    struct list sessions;    /* struct agent_session */
    uint64_t last_session;
    uint64_t last_token; /* the number of the token of a service account asked for last */
    enum node_step { NODE_CREATES, NODE_LABELS, NODE_REPLACES, NODE_BEATS } node_step;
    int64_t beat_ms;    /* when to write the Node's status next */
    bool is_node_stale; /* … right after what is under way */
    int64_t since_ms;   /* of its conditions */
    int epoll;
    struct map pods;            /* struct agent_pod by uid */
    struct list dirty;          /* pods that something happened to */
    struct list held;           /* pods with an event that waits for room for output */
    struct list removals;       /* trees of pods that are still to be deleted, see agent_removal.c */
    struct list waiting;        /* pods whose shim is asked for when it is their turn */
    size_t n_making, turns_max; /* pods that have a turn, see agent_sandbox.c; so many at a time */
    int64_t turn_ms;            /* when the next has its turn in any case; INT64_MAX: none waits */
    int64_t room;               /* for output, in this turn */
    struct heap timers;         /* pods that are due at a time */
    struct map objects;         /* struct agent_object by "Kind/namespace/name" */
    struct map_u64 writes;      /* struct agent_write by its token */
    struct agent_write node;
    int64_t rewrite_ms;           /* when to write the Node or a Service again */
    struct relist told[WANT_MAX]; /* what a list that is being told has told so far */
    bool is_listing[WANT_MAX];
    struct map told_image; /* images that a notice was given for */
    int64_t usage_ms;      /* when to ask for the use of pods next */
    int64_t storage_ms;    /* when to look at the use of the disk next */
    uint64_t storage_looks;
    uint64_t seq;
    struct json *allocatable;
};

/* ---- agent_pod.c ---- */

enum pod_stage {
    STAGE_NEW,    /* nothing was made */
    STAGE_ASKS,   /* it is to be made, once what it refers to is known */
    STAGE_SHIM,   /* its shim was asked for, or will be when it is its turn */
    STAGE_FILTER, /* it has joined the network, and waits until the filter knows it */
    STAGE_MADE,
    STAGE_UNMADE,
};

struct agent_log {
    struct list_link link;
    struct conlog_reader *reader;
    int attempt;
    char *container; /* follows the struct */
};

struct agent_layer { /* what one start of a container changed of its root */
    struct str dir;  /* below that of the run */
    struct str container;
    int attempt;
    bool is_kept, is_gone;    /* when its pod has ended */
    const struct str *mounts; /* only if written files are reported */
    size_t n_mounts;
};

struct agent_start { /* of a container whose image is being pulled */
    struct life_action action;
    struct agent_image_pull *pull;
};

struct agent_pod {
    struct agent *agent;
    struct object *object;
    struct life *life;
    enum pod_stage stage;
    struct arena arena; /* paths and names, as long as the pod */
    struct str hostname;
    struct str small, disk; /* directories of the pod: see struct agent_run */
    VEC(struct agent_layer) layers;
    enum { STORAGE_UNKNOWN, STORAGE_FREE, STORAGE_LIMITED } storage; /* does its spec limit the use of the disk? */
    struct shim *shim;
    struct volume_set *volumes;
    struct in_addr address; /* 0.0.0.0: none (the host's network) */
    struct list logs;
    bool has_logs;           /* some line was written */
    struct shim_event event; /* if is_held: not taken yet, since the log before it has not been read to its end */
    bool is_held;
    struct list_link held;
    bool is_joined, is_host_network;
    bool is_adopted; /* it was there: its volumes are looked at when what they refer to is known */
    VEC(struct agent_ref *) refs;
    VEC(struct agent_token *) tokens;
    VEC(struct agent_process) first; /* process 1 of each container; pid 0: it does not run */
    VEC(struct agent_start) starts;
    uint64_t filter_round;          /* the first text of the filter that knows its address; 0: none yet */
    struct agent_write status, end; /* 'end': that nothing of it is left */
    struct list_link waiting;
    bool is_making;             /* it has a turn */
    bool is_starting;           /* its shim makes a container */
    bool is_unmaking;           /* its sandbox goes when 'status' is written */
    bool is_over, is_confirmed; /* nothing is left; 'end' was sent */
    struct list_link dirty;
    struct heap_node timer;
    int64_t due_ms;
    int64_t resize_ms; /* when to look at its wish for other amounts again; INT64_MAX: it has none */
    uint64_t seq;
};

int64_t agent_pod_now(const struct agent_pod *p);
void agent_pod_put(struct agent *g, const struct object *o);
void agent_pod_gone(struct agent *g, const struct object *o);
void agent_pod_dirty(struct agent_pod *p);
bool agent_pods_step(struct agent *g);      /* all dirty ones, and those that are due; true: something was done */
void agent_pod_events(struct agent_pod *p); /* its shim has something to tell */
bool agent_pods_unhold(struct agent *g);    /* go on with those that waited for room; true: something was done */
void agent_pod_asked(struct agent_pod *p);  /* more is known of what it refers to */
void agent_pod_made(struct agent_pod *p);   /* nothing of its sandbox is missing */
struct str agent_container_id(struct arena *a, const struct agent_pod *p, struct str container, int attempt);
void agent_last_words(struct agent_pod *p, const struct shim_event *ev, struct buf *out); /* ENDED */
void agent_pods_usage(struct agent *g);
void agent_pods_done(struct agent *g);
/* A ConfigMap or Secret changed: update volumes. */
void agent_pods_refresh(struct agent *g, const struct object *changed);
void agent_pod_refresh(struct agent_pod *p);
void agent_event(struct agent *g, const struct json *about, bool is_warning, const char *reason, struct str message);
void agent_events_due(struct agent *g, int64_t now_ms); /* counts of Events that have waited (recorder.h) */

/* ---- agent_removal.c ---- */

void agent_remove_tree(struct agent *g, int dir, const char *path); /* at once if it is small. 'dir': of the run */
bool agent_removals_turn(struct agent *g);                          /* true: something was deleted */
void agent_removals_done(struct agent *g);

/* ---- agent_resize.c ---- */

void agent_pod_resize(struct agent_pod *p); /* its spec may wish other amounts than it has */

/* ---- agent_sandbox.c ---- */

void agent_pod_make(
    struct agent_pod *p); /* its volumes, and a shim is asked for; life_failed() if that does not work */
void agent_pod_join(struct agent_pod *p, const struct shim_event *ev); /* its namespaces are there */
void agent_pod_unmake(struct agent_pod *p);
size_t agent_turns_max(void);
void agent_pod_turn(struct agent_pod *p);                  /* look whether it still needs its turn */
bool agent_pods_turns(struct agent *g);                    /* give turns to those that wait; true: a pod got one */
int agent_pod_volumes(struct agent_pod *p, struct err *e); /* made, or taken over */
void agent_pod_leave(struct agent_pod *p);                 /* instead: as it is */
int agent_pod_watch(struct agent_pod *p, struct err *e);   /* wake up when its shim has an event */
void agent_pod_unwatch(struct agent_pod *p);

/* ---- agent_tenant.c ---- */

struct tenant agent_tenant(const struct agent_pod *p);
bool agent_tenant_is_fenced(const struct agent_pod *p); /* from services of the host */
/* The first of its ids on the machine; 0: they are what the pod says. */
int agent_tenant_ids(struct agent_pod *p, uint32_t *ret, struct err *e);

/* ---- agent_adopt.c ---- */

struct agent_kept; /* the shim of a pod, and what it says of its containers */

int agent_found_run(const struct agent_found *f, struct agent_run *r, struct arena *a, const char *state_dir,
                    struct err *e);
int agent_found_net(const struct agent_found *f, const struct net_options *opt, struct net **ret, struct err *e);
void agent_adopt_shims(struct agent *g, struct agent_found *f);
int agent_keep(struct agent *g, struct err *e);                      /* for the next one: network and lock */
struct agent_kept *agent_kept_take(struct agent *g, struct str uid); /* NULL: there is none */
/* NULL: it could not be adopted, and its sandbox was removed. Takes 'k'. */
struct life *agent_pod_adopt(struct agent_pod *p, struct agent_kept *take_k);
void agent_kept_end(struct agent *g); /* all pods were reported: remove adopted shims and files without a pod */
void agent_kept_done(struct agent *g);

/* ---- agent_log.c ---- */

struct agent_log *agent_log_of(struct agent_pod *p, struct str container, int attempt);
void agent_log_follow(struct agent_pod *p, struct str container, int attempt);
void agent_log_forget(struct agent_pod *p, struct str container, int attempt);
bool agent_log_read(struct agent_pod *p, struct agent_log *l); /* false: there is more, and no room for it now */
bool agent_logs_read(struct agent_pod *p);                     /* all of them */
void agent_logs_forget(struct agent_pod *p);
void agent_log_prune(struct agent_pod *p, struct str container, int attempt); /* this attempt is about to start */
void agent_logs_remove(struct agent_pod *p);                                  /* of a pod that was removed */
void agent_log_unwritten(struct agent_pod *p, const struct shim_event *ev);

/* ---- agent_probe.c ---- */

/* A port given by number, or by the name the container gives it; 0: there is no such port. */
uint16_t agent_port(const struct json *container, const struct json *port);
void agent_pod_probe(struct agent_pod *p, const struct life_action *action); /* LIFE_PROBE, LIFE_HOOK */

/* ---- agent_box.c ---- */

struct box_build { /* a container about to be started */
    struct box_spec spec;
    struct cgroup_limits limits;
    int *mount_fds; /* to close afterwards */
    size_t n_mount_fds;
    const char *reason; /* of a failure, in Kubernetes' word */
};

int agent_box_build(struct agent_pod *p, struct arena *a, const struct life_action *action, struct box_build *ret,
                    struct err *e);
void agent_box_done(struct box_build *b);
void agent_box_ended(struct agent_pod *p, struct str container); /* gives back what it no longer needs */
/* What all containers on the host's files share: some milliseconds that pass best while the shim makes the pod's
 * namespaces. */
void agent_box_prepare(const struct agent_pod *p);
/* One that is alone and has no limits but its pod's: see shim.h. Empty: there are several. */
struct str agent_only_container(const struct agent_pod *p);
void agent_pod_limits(const struct agent_pod *p, struct cgroup_limits *ret); /* in force */
void agent_spec_limits(const struct agent_pod *p, const struct json *spec,
                       struct cgroup_limits *ret); /* of this spec */
void agent_container_limits(const struct json *resources, struct cgroup_limits *ret);
struct str agent_termination_path(struct agent_pod *p, struct arena *a, struct str container, int attempt);
struct str agent_log_path(struct agent_pod *p, struct arena *a, struct str container, int attempt);
struct str agent_device_owner(const struct agent_pod *p, struct arena *a, struct str container);

/* ---- agent_layer.c ---- */

/* A new one, the last of the pod's; nothing in it was any other container's. */
int agent_layer_make(struct agent_pod *p, struct str container, int attempt, struct err *e);
/* After the pod has ended: remove the layers with no files but the kernel's (is_gone). Most are like that. */
void agent_layers_drop_empty(struct agent_pod *p);

/* ---- agent_image.c ---- */

enum agent_image_state { AGENT_IMAGE_READY, AGENT_IMAGE_LATER, AGENT_IMAGE_FAILED };
/* May the container start, as far as its image goes? LATER: agent_start_next() gives it back when the image is there,
 * or is known not to come. 'has_waited': it was given back just now. FAILED: in Kubernetes' word, and why. */
enum agent_image_state agent_image_need(struct agent_pod *p, const struct life_action *action, bool has_waited,
                                        const char **ret_reason, struct err *e);
bool agent_start_next(struct agent_pod *p, struct life_action *ret); /* one whose pull is over */
void agent_starts_give_up(struct agent_pod *p);                      /* the pod stops */
void agent_starts_forget(struct agent_pod *p);                       /* its sandbox goes */
void agent_images_open(struct agent *g);
int agent_images_watch(struct agent *g, struct err *e);
void agent_images_news(struct agent *g); /* the puller has something to tell */
void agent_images_done(struct agent *g);

/* ---- agent_env.c, agent_etc_files.c ---- */

struct vars;
struct agent_env_of {
    struct agent_pod *pod;
    struct arena *arena;
    const struct json *root, *container; /* root: the pod with its status as it is now */
};
/* Adds to those of the image and the devices, which are in 'env' already. */
int agent_env(const struct agent_env_of *of, struct vars *env, struct err *e);
int agent_etc_write(struct agent_pod *p, struct err *e);
void agent_etc_remove(struct agent_pod *p);                             /* as far as they are there */
void agent_source_init(struct agent_pod *p, struct volume_source *ret); /* 'p' is its ctx */

/* ---- agent_service.c ---- */

int agent_services_open(struct agent *g, struct err *e);
void agent_services_close(struct agent *g);
void agent_service_changed(struct agent *g, const struct object *service); /* gives it an address if it needs one */
void agent_service_gone(struct agent *g, const struct object *service);    /* takes it back */
bool agent_services_refresh(struct agent *g, int64_t now_ms);              /* true: something was done */
int64_t agent_services_due(const struct agent *g);
struct str agent_address(struct arena *a, struct in_addr address);
struct in_addr agent_address_parse(struct str text); /* 0.0.0.0: it is none of IPv4 */

/* ---- agent_endpoints.c ---- */

struct agent_backend {
    struct in_addr address;
    struct str hostname;
    bool is_ready;
    const struct json *ports;
};
struct agent_backends {
    VEC(struct agent_backend) list;
};
struct agent_slices { /* all that are kept */
    VEC(const struct object *) list;
};
bool agent_endpoints_are_made(const struct object *o); /* by the server, of pods */
void agent_backends_of(struct arena *a, const struct agent *g, const struct agent_slices *slices,
                       const struct object *service, struct agent_backends *ret);
uint16_t agent_backend_port(const struct agent_backend *b, const struct json *service_port); /* 0: it has none */

/* ---- agent_filter.c ---- */

/* Bring the batch (of filter_batch(); empty: nothing is to be filtered, nor ever was) into force, if it is not
 * already. */
void agent_filter_put(struct agent *g, struct str batch);
void agent_filter_ended(struct agent *g);                        /* the kernel has: the descriptor says so */
bool agent_filter_turn(struct agent *g, int64_t now_ms);         /* it is late; true: something was done */
bool agent_filter_is_due(const struct agent *g, int64_t now_ms); /* to be tried again */
void agent_filter_pod(struct agent_pod *p); /* it has joined: may it go on? Else it waits, with a reason */
void agent_filter_close(struct agent *g);

/* ---- agent_write.c ---- */

void agent_write(struct agent *g, struct agent_write *w, const struct op *op); /* in place of one under way */
void agent_write_forget(struct agent *g, struct agent_write *w);               /* its thing is no more */
void agent_write_answered(struct agent *g, const struct cluster_event *ev);
void agent_write_later(struct agent *g, struct agent_write *w); /* after a pause, longer each time */
int64_t agent_write_due_ms(const struct agent_write *w);  /* when to write it again; INT64_MAX: there is no need */
bool agent_writes_again(struct agent *g, int64_t now_ms); /* true: something was done */

/* ---- agent_evict.c ---- */

void agent_evict_check(struct agent *g); /* about once a second */

/* ---- agent_storage.c ---- */

/* Of a pod with limits: let the file system count what is made below a new directory of the run. */
void agent_storage_count(struct agent_pod *p, const char *path);
void agent_storage_count_volumes(struct agent_pod *p); /* … of its emptyDirs */
void agent_storage_check(struct agent *g);             /* the same */

/* ---- agent_written.c ---- */

void agent_pod_written(struct agent_pod *p);                            /* its processes have ended: report */
void agent_layer_mounts(struct agent_pod *p, const struct box_spec *s); /* of the newest layer */

/* ---- agent_refs.c ---- */

struct agent_ref; /* an object that pods refer to: followed as long as one of them is here */

void agent_refs_take(struct agent_pod *p); /* all that its spec names */
void agent_refs_drop(struct agent_pod *p);
bool agent_refs_are_known(const struct agent_pod *p); /* whether they are there or not */
bool agent_refs_answered(struct agent *g, const struct cluster_event *ev);

/* ---- agent_token.c ---- */

struct agent_token; /* of a service account, for one volume source of a pod */

void agent_tokens_take(struct agent_pod *p); /* those that its volumes want: asked for */
void agent_tokens_drop(struct agent_pod *p);
bool agent_tokens_are_known(const struct agent_pod *p);
int agent_token_get(struct agent_pod *p, struct str audience, int64_t seconds, struct buf *out, struct err *e);
int64_t agent_tokens_due(const struct agent_pod *p);
void agent_tokens_renew(struct agent_pod *p, int64_t now_ms); /* those that are due */

/* ---- agent_look.c ---- */

struct agent_pod *agent_pod_of(const struct agent *g, struct str namespace, struct str name); /* the newest */

/* ---- agent_session.c ---- */

enum { SESSION_ID = 1 }; /* ids of sessions have this bit of the upper half: life.h counts from below */
bool agent_session_ended(struct agent_pod *p, const struct shim_event *ev); /* false: it is none */
void agent_sessions_lost(struct agent_pod *p, struct str why);              /* their shim has died */

/* ---- agent_node.c ---- */

void agent_node_write(struct agent *g);
void agent_node_changed(struct agent *g); /* its images did: it is written soon, where others read it */
void agent_node_answered(struct agent *g, const struct err *e);
void agent_node_gone(struct agent *g); /* a user deleted it */
const struct resource_type *agent_node_type(void);

#endif
