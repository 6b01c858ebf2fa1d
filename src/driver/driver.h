/* driver.h - runs controllers, and the scheduler, on a cluster: feeds the caches, plans what changed, applies the plans
 *
 * One turn takes all events, then plans each key that something happened to once (many events of one job make one
 * plan), and sends the writes. A key whose write failed is planned again after a back-off of its own (5 ms doubling to
 * 5 min, forgotten on success); no failure ends a job. While a status write of a job is on its way the job is not
 * planned: a decision is durable before it acts. After a write of unknown outcome the object is read afresh before
 * planning again. An object that somebody else has written since our last write of it is written again only after a
 * while, which doubles (20 ms to 30 s): two controllers at once do not answer each other without end.
 *
 * With 'schedules' the driver also runs the gang scheduler: once everything is listed, one round in a turn at most,
 * after the controllers. Its bindings, evictions and statuses share the limit of writes in flight; a binding that did
 * not work is told to the scheduler, an eviction is repeated until the pod goes, of statuses only the newest is
 * written.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include "cluster/cluster.h"

struct arena;
struct driver;
struct json;
struct sched;
struct sched_config;
struct ssh_keys;

struct driver_options {
    struct str scheduler_name; /* of PodGroups and pods we care for; empty: "volcano" */
    /* Tells of the pods that belong to no Job, where the cluster itself is asked for those of Jobs only; the caller's.
     * NULL: the cluster tells of all. */
    struct cluster *others;
    uint32_t max_in_flight; /* writes in flight at a time; 0: 500 */
    bool collects_garbage;  /* run the owner garbage collector (embedded; a real cluster has its own) */
    bool schedules;         /* run the scheduler */
    bool native_groups;     /* PodGroups of Jobs are those of scheduling.k8s.io, and their pods kube-scheduler's; not
                               together with 'schedules', and only on a real cluster */
    bool assumes_answers;   /* pods that run answer the probes of JobFlows: there is no network to ask them by */
    /* A TCP socket, not yet connected, by which the pods of this machine are reached; -1: there is none. NULL: the way
     * that any program here has. */
    int (*open_socket)(void *ctx);
    void *socket_ctx;
    bool is_silent;                          /* write no Events: nobody would read them */
    const struct sched_config *sched_config; /* copied; NULL: the default */
    uint64_t seed;                           /* of maps; 0: from the operating system */
    /* New ssh keys, or empty ones: not yet, ask again in 10 ms. NULL: real ones, of which RSA's are made by a thread while the job waits (key_maker.h). Simulations
     * and benchmarks give constant ones. */
    int (*make_keys)(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e);
    void *keys_ctx;
};

struct driver *driver_new(struct cluster *c, const struct driver_options *opt); /* the cluster stays the caller's */
void driver_free(struct driver *d);

/* A kind that was defined since: if it collects garbage, that of this kind as well. */
void driver_want(struct driver *d, const struct resource_type *type);

/* One turn. Returns when the next one is due even if no event comes (milliseconds of cluster_now_ms; INT64_MAX: never).
 * '*ret_busy' (may be NULL): something was done. */
int64_t driver_turn(struct driver *d, bool *ret_busy);

/* Plan nothing more: turns only take news and answers. For a program that is about to end: once 'in_flight' is 0
 * nothing of it is on its way. */
void driver_stop(struct driver *d);

/* Other settings for the scheduler, from the next turn on; copied. Only if the driver schedules. */
void driver_configure(struct driver *d, const struct sched_config *config);

/* A Warning Event that concerns every queue; it is about the Queue "default". */
void driver_warn(struct driver *d, struct str reason, struct str message);

enum { LATENCY_BUCKETS = 12 };

struct latency {                       /* how long something took, each time */
    const int64_t *bounds_us;          /* of the buckets, the upper ones; what took longer is only in 'n' */
    uint64_t buckets[LATENCY_BUCKETS]; /* not added up */
    uint64_t n, sum_us;
};

struct driver_stats {
    uint64_t events, plans, writes, failed_writes;
    uint64_t job_events, job_plans, job_writes;
    uint64_t rounds, binds, evictions; /* of the scheduler: those that worked */
    uint64_t failed_binds, refusals;   /* bindings that did not; pods that were told why they wait, again and again */
    uint64_t preempts, reclaims;       /* groups that others were evicted for, each time */
    uint64_t plan_us, round_us;        /* spent on plans and rounds */
    size_t jobs, pods;                 /* that are known. Pods: of Jobs; with the scheduler all */
    size_t queued, in_flight;          /* keys that wait for a plan; writes without an answer */
    bool is_synced;                    /* everything was listed once */
    struct latency pod_latency;        /* from the creation of a job to that of each of its pods */
    struct latency gang_latency;       /* from the creation of a PodGroup to the decision that its gang is placed */
    struct latency bind_latency;       /* from the creation of a pod to the answer that it is bound */
    struct latency round_latency;      /* a round of the scheduler */
};
void driver_stats(const struct driver *d, struct driver_stats *ret);

struct driver_queue {
    struct str name;
    uint32_t pending, inqueue, running, unknown, completed; /* PodGroups by phase */
    uint64_t jobs_completed, jobs_failed, job_retries;      /* by writes of this driver */
};
void driver_queues(struct driver *d, struct arena *a, void (*each)(void *ctx, const struct driver_queue *q), void *ctx);

/* What is observed of a job, is in flight for it and would be done next; NULL: it is not known. For people. */
struct json *driver_describe_job(struct driver *d, struct arena *a, struct str namespace, struct str name);

/* For asking: explain and tests. NULL if the driver does not schedule. Valid until the next turn. */
struct sched *driver_sched(struct driver *d);

#endif
