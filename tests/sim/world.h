/* world.h - a whole cluster in one thread on a virtual clock, from one seed
 *
 * The store is the truth. Around it live: one or two controllers with their schedulers (a driver behind cluster_sim
 * each), hollow nodes, and users; in some worlds a simple placer instead of the schedulers. Everything that happens
 * later is a timer on the world's mono clock. Whatever is drawn by chance comes from the seed, so the same seed gives
 * the same history, and a failing one replays.
 *
 * The checker sees every change of the store right after it was made, and every event and write of the controllers as
 * it passes. The first broken invariant stops the run.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "api/types.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/util.h"
#include "plugin/plugin.h" /* before driver.h, which names struct ssh_keys */

#include "cluster/cluster.h"
#include "driver/driver.h"
#include "cluster/test/sim_net.h"
#include "store/store.h"

#define SIM_NS "sim"

enum { SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS, HOUR_MS = 60 * MINUTE_MS };
enum { GIVEN_UP_MS = 60 * SECOND_MS }; /* the driver waits so long for an answer */
enum {
    ON_WAY_MS = 150 * SECOND_MS
}; /* and no write takes effect later than this: slow_ms of profile.c, and time-outs */

/* The kinds the world looks at. */
enum kind {
    KIND_JOB,
    KIND_POD,
    KIND_PODGROUP,
    KIND_COMMAND,
    KIND_QUEUE,
    KIND_CONFIGMAP,
    KIND_SERVICE,
    KIND_SECRET,
    KIND_NETPOL,
    KIND_PVC,
    KIND_EVENT,
    KIND_NODE,
    KIND_PRIORITY,
    KIND_TEMPLATE,
    KIND_FLOW,
    KIND_CRON,
    KIND_MAX,
};
extern const struct resource_type *sim_types[KIND_MAX];
void sim_types_init(void);

enum { MAX_CONTROLLERS = 2, UID_MAX = 40, NAME_MAX_ = 128, MAX_TASKS = 4 };

enum phase { /* of a job; PHASE_NONE: "" */
             PHASE_NONE,
             PHASE_PENDING,
             PHASE_RUNNING,
             PHASE_RESTARTING,
             PHASE_ABORTING,
             PHASE_ABORTED,
             PHASE_COMPLETING,
             PHASE_COMPLETED,
             PHASE_TERMINATING,
             PHASE_TERMINATED,
             PHASE_FAILED,
             PHASE_MAX,
};
extern const char *const phase_names[PHASE_MAX];
enum phase phase_of(struct str name); /* PHASE_MAX if there is none */
bool phase_is_final(enum phase p);

/* ---- amounts, counted by the simulation itself ---- */

enum res { RES_CPU, RES_MEMORY, RES_GPU, RES_PODS, RES_MAX };
extern const char *const res_names[RES_MAX];
struct amount {
    int64_t v[RES_MAX]; /* milli-CPU, bytes, pieces */
};

/* ---- what the world knows of an object, by uid; kept after it is gone ---- */

struct sim_task {
    char name[32];
    int64_t replicas;
    int64_t done; /* pods that Succeeded, as its status remembers: they count for the gang when they are gone, too */
};

struct sim_job {
    char uid[UID_MAX], name[64];
    enum phase phase;
    int64_t version, retry, max_retry;
    int64_t lost_successes; /* Succeeded pods that were removed, but not because the job wanted it */
    int64_t restarts;       /* times it entered Restarting */
    int64_t issued, obeyed; /* commands with its uid; decisions that say a command made them */
    bool is_deleting, is_gone;
    bool says_ending; /* status.terminating > 0 */
    struct sim_task tasks[MAX_TASKS];
    size_t n_tasks;
};

struct sim_pod {
    char uid[UID_MAX], name[NAME_MAX_], job_uid[UID_MAX], task[32], group[NAME_MAX_];
    int64_t index, version;
    char phase[16];
    bool is_deleting, is_gone, is_bound;
    bool is_surplus;            /* was once beyond the replicas: may go, whatever became of the spec since */
    bool is_excused;            /* a controller that was told late has reason to delete it */
    bool is_started, is_ending; /* its node works on it */
    bool is_victim;             /* a scheduler evicts it */
    bool is_late_bound;         /* by a binding whose sender no longer counted on it */
    int node;                   /* its number; -1: there is none of that name */
    int charged;                /* the node it counts for now, -1: none */
    struct amount ask;
    int64_t restarts;     /* of its containers */
    int64_t job_restarts; /* of its job, when it was last seen */
};

struct sim_node {
    char name[16];
    struct amount has, used; /* used: by the pods in the store that are bound to it and have not finished */
    bool exists, is_cordoned, is_tainted;
    bool is_dead; /* its kubelet is silent */
    int64_t back_ms;
    int64_t upset_ms; /* when it last shrank, or a late binding came: the scheduler may not have known; 0: never */
};

struct sim_group { /* a PodGroup, by name */
    char name[NAME_MAX_];
    bool was_whole, is_gone;
    int64_t half_since_ms; /* some are bound, but never all; 0: no */
};

struct known { /* what a controller was told last of a Node, PodGroup or Queue, by name */
    char name[NAME_MAX_];
    uint64_t rev;
    bool is_gone, is_fresh;
    struct amount has; /* Node: allocatable; Queue: capability, -1: no limit */
    bool takes_pods;   /* Node */
    int64_t min;       /* PodGroup */
    int32_t priority;
    bool is_protected;            /* not preemptable */
    char queue[32];               /* PodGroup: its queue; Queue: its parent */
    bool is_reclaimable, is_used; /* Queue; PodGroup or Queue: pods were bound in this turn */
    struct amount asked;          /* … by those pods together */
    int64_t lost;                 /* PodGroup: pods that were evicted in this turn */
};
enum { KNOWN_NODE, KNOWN_GROUP, KNOWN_QUEUE, KNOWN_MAX };

struct told { /* what a controller was told last of an object */
    char name[NAME_MAX_], uid[UID_MAX], job_uid[UID_MAX];
    /* of a pod */
    char group[NAME_MAX_], node[16];
    char wish[16]; /* the node it was bound to; no news of that yet, nor of a failure */
    int64_t wish_ms;
    struct amount ask;
    bool is_done, is_succeeded, is_running, is_victim, is_protected;
    bool is_vague;       /* it may know more, or less */
    bool is_refused;     /* its last binding failed: the next one has to wait, though it may be decided already */
    bool is_troubled;    /* the last write of it failed: the next waits, whatever becomes of its reason */
    uint64_t since_turn; /* when it was first heard of */
    enum phase phase;    /* of a job */
    uint64_t rev;
    bool is_active; /* a pod that is Pending or Running */
    bool is_deleting, is_gone, is_fresh;
    bool is_read_gone;                /* a read found nothing under its name */
    struct sim_task tasks[MAX_TASKS]; /* of a job */
    size_t n_tasks;
};

struct flight { /* a write or read of a controller that has not been answered */
    uint64_t token;
    int64_t sent_ms;
    uint64_t turn;     /* of its controller */
    enum op_kind kind; /* OP_KIND_MAX: a read */
    enum kind type;
    bool is_over; /* a pod of that name showed up: whatever the answer, the create is decided */
    char name[NAME_MAX_], uid[UID_MAX], job_uid[UID_MAX]; /* uid: of a delete; job_uid: of a pod or a job */
};

struct wrote { /* how often the controllers answered each other about one object lately */
    char name[NAME_MAX_ + 32];
    int64_t since_ms;
    uint32_t last; /* who wrote it */
    unsigned n;
};

/* ---- controllers ---- */

struct controller {
    uint32_t id;
    struct cluster *cluster; /* NULL while it is down */
    struct driver *driver;
    int64_t back_ms;        /* when it is up again */
    int64_t due_ms;         /* of cluster_now_ms(): its next turn */
    uint64_t writes;        /* since the world began, over all lives */
    uint64_t crash_at;      /* at this write; 0: no */
    bool crash_after;       /* right after it, else right before */
    struct map jobs, pods;  /* struct told by uid: what this life was told; kept when gone */
    struct map_u64 flights; /* struct flight by token */
    struct map known[KNOWN_MAX];
    uint64_t turn;
};

/* ---- timers ---- */

enum timer_kind { TIMER_PLACE, TIMER_ADMIT, TIMER_START, TIMER_END, TIMER_CONFIRM, TIMER_KIND_MAX };

struct timer {
    struct heap_node node;
    int64_t at_ms;
    uint64_t seq;
    enum timer_kind kind;
    char uid[UID_MAX];
};

enum { HISTORY_LINES = 200, LINE_MAX_ = 240, MAX_QUEUES = 4 };

struct profile {
    const char *name;
    struct sim_faults faults;
    int controllers;
    /* chances out of 100 that a step is one of these */
    unsigned crash, outage, jump, evict, node_death;
    bool is_exact;            /* no lateness at all: what a controller decides must fit the truth of that moment */
    int min_nodes, max_nodes; /* 0: three */
    bool is_large;            /* only on request; jobs are large too */
    bool is_scripted;         /* no chance decides anything */
    bool has_placer;          /* the simple placer instead of the scheduler */
    bool has_makers;          /* JobFlows and CronJobs, too */
    bool has_gates;           /* most pods wait behind their queue's gate (api/pod/gate.h) */
};

/* What becomes of a pod that runs. */
struct fate {
    int64_t after_ms;
    enum { FATE_SUCCEED, FATE_FAIL, FATE_RESTART, FATE_HANG } how;
    int exit_code;
};

struct world {
    uint64_t seed;
    struct clock_manual clock;
    struct store *store;
    struct sim_net *net;
    struct rand rand;
    struct profile profile;
    struct sim_faults faults; /* in force now */
    struct controller controllers[MAX_CONTROLLERS];
    struct watch *watches[KIND_MAX];
    struct map jobs, pods; /* struct sim_job, struct sim_pod by uid */
    struct map groups;     /* struct sim_group by name */
    struct map wrote;      /* struct wrote by name */
    struct map makers;     /* struct sim_maker by uid: JobFlows and CronJobs */
    struct map made;       /* struct made by uid: their jobs */
    struct sim_node *nodes;
    int n_nodes;
    int n_queues;  /* q0 … */
    bool all_ends; /* once it is calm no pod hangs: whatever can run must run to its end */
    struct heap timers;
    uint64_t timer_seq;
    bool is_placing; /* a TIMER_PLACE is set */
    bool is_calm;    /* no more faults: users are idle, nodes and placer do their work */
    bool is_scripted;
    struct fate (*script)(struct world *w, const struct sim_pod *pod); /* is_scripted */
    const char *actor;                                                 /* who writes now */
    unsigned n_names;
    /* for the end of the run */
    char broken[400]; /* the first broken invariant; empty: none */
    char (*lines)[LINE_MAX_];
    uint64_t n_lines;
    bool is_verbose;
    uint64_t hash; /* of the whole history */
    uint64_t steps, n_faults, crashes, n_jobs, n_made, n_pods, writes, turns;
    int64_t last_write_ms; /* mono: of a controller */
    int64_t jumped_ms;     /* mono: when the wall clock last jumped */
    int64_t ahead_ms;      /* how far ahead of now it was at most, shortly before that */
    uint64_t evictions;    /* by schedulers */
};

void world_init(struct world *w, uint64_t seed, const struct profile *profile, bool is_verbose);
void world_done(struct world *w);

int64_t world_ms(const struct world *w); /* mono */

/* Let everything happen until the mono time 'until_ms' or until an invariant breaks. */
void world_run(struct world *w, int64_t until_ms);

/* A line of history. */
void world_log(struct world *w, const char *who, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void world_print_history(const struct world *w);

/* Remember the first broken invariant. */
void world_break(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline bool world_is_broken(const struct world *w)
{
    return w->broken[0] != '\0';
}

bool world_chance(struct world *w, unsigned percent);
int64_t world_between(struct world *w, int64_t low, int64_t high);

/* Writes by anybody but the controllers; they look at the result through the checker at once. */
int world_create(struct world *w, const char *who, const struct json *body);
int world_update(struct world *w, const char *who, const struct json *body, enum store_part part);
int world_delete(struct world *w, const char *who, enum kind kind, struct str name, int64_t grace_s,
                 enum propagation propagation);
int world_patch(struct world *w, const char *who, enum kind kind, struct str name, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
const struct object *world_get(struct world *w, enum kind kind, struct str name);

void world_timer(struct world *w, enum timer_kind kind, struct str uid, int64_t in_ms);
void world_crash(struct world *w, struct controller *c, int64_t down_ms);

/* Objects without a namespace: by store_update and store_delete; seen by the checker as the others are. */
const struct object *world_get_global(struct world *w, enum kind kind, struct str name);
int world_delete_global(struct world *w, const char *who, enum kind kind, struct str name);

/* profile.c */
extern const struct profile profiles[];
extern const size_t n_profiles;
/* By name, "placer/NAME" for the world with the placer, "flows/NAME" for one with JobFlows and CronJobs, "flows" for such
 * a one as the seed says, "gates/NAME" and "gates" for one with queue gates; NULL: as the seed says. */
bool profile_exists(const char *name);
struct profile profile_pick(uint64_t seed, const char *name);

/* amount.c */
struct amount amount_from_json(const struct json *list, int64_t fallback); /* of what is not named */
struct amount amount_of_pod(const struct json *pod);
void amount_add(struct amount *to, const struct amount *more, int64_t times);
int32_t priority_of(struct str class_name);
extern const char *const priority_names[];
enum { N_PRIORITIES = 3 };
bool is_protected_from_eviction(const struct json *object);

/* fleet.c: Nodes and Queues as objects, and what befalls them */
void fleet_init(struct world *w);
void fleet_step(struct world *w);
void fleet_calm(struct world *w);
struct sim_node *fleet_find(struct world *w, struct str name); /* NULL: never was */
void fleet_node_changed(struct world *w, const struct object *o, bool is_gone);

/* placing.c: the invariants of the scheduler */
void placing_pod_changed(struct world *w, struct sim_pod *pod, const struct object *o); /* in the store */
void placing_told(struct world *w, struct controller *c, const struct cluster_event *ev);
void placing_told_pod(struct told *t, const struct object *o);
void placing_answered(struct controller *c, const struct flight *f, const struct cluster_event *ev); /* of a pod */
void placing_sent(struct world *w, struct controller *c, const struct op *op);  /* a write of a scheduler */
void placing_bound(struct world *w, struct controller *c, const struct op *op); /* … that took effect */
void placing_turn_over(struct world *w, struct controller *c);
void placing_forget(struct controller *c);
void placing_step(struct world *w); /* now and then */

/* rest.c: the scheduler's part of a world at rest */
void rest_check(struct world *w);

/* check.c: follow the store; say what is wrong */
void check_observe(struct world *w);
void check_hooks(struct world *w, struct sim_hooks *ret);
void check_forget_told(struct controller *c); /* it crashed: nothing was told to its next life */

/* settle.c: faults stop; everything must come to rest, and the rest must be right */
void world_settle(struct world *w);

/* node.c, placer.c: what a timer means to them, and what they do about a changed object */
void node_timer(struct world *w, const struct timer *t);
void node_pod_changed(struct world *w, struct sim_pod *pod);
void node_calm(struct world *w); /* the faults are over */
void node_step(struct world *w); /* something befalls a random pod or node */
void placer_timer(struct world *w, const struct timer *t);
void placer_wake(struct world *w);
void placer_group_changed(struct world *w, const struct object *group);
void placer_step(struct world *w);

/* user.c */
void user_step(struct world *w);
void user_random_job(struct world *w, struct buf *out, const char *name); /* JSON text */
int user_create_job(struct world *w, struct str text);                    /* JSON text; admitted as the server would */
void user_command(struct world *w, struct str job, struct str uid, const char *action);

/* maker.c: users who have their jobs made */
void maker_step(struct world *w);
void maker_calm(struct world *w); /* nothing more is started */

/* making.c: the invariants of JobFlows and CronJobs */
void making_init(struct world *w);
void making_done(struct world *w);
void making_changed(struct world *w, const struct object *o, bool is_gone);
void making_job_changed(struct world *w, const struct object *o, bool is_gone);
bool making_is_made(struct world *w, struct str uid); /* is the job one of theirs? */
bool making_may_delete(struct world *w, struct str uid);
void making_rest(struct world *w);
void making_delete_newest(struct world *w, struct str cron); /* a user takes the last job of a CronJob away */

/* run.c: one seed from beginning to end. 0, or -1 with w->broken */
int run_seed(struct world *w, uint64_t seed, unsigned steps, const char *profile, bool is_verbose);

/* lives.c: crash after and before every write of some scripted lives. The number of runs that ended differently. */
int lives_run(bool is_verbose, const char *only);

#endif
