/* driver.h - runs the controllers, and the scheduler, on a cluster
 *
 * A turn reads all events into the caches, plans each changed key once (many events of one job make one plan), and
 * sends the writes of the plans. The rules:
 *
 *     retry       A key whose write failed is planned again after its own back-off: 5 ms, doubling to 5 min, reset by
 *                 success. No failure ends a job.
 *     durability  A job is not planned while a write of its status is in flight: a decision is stored before it acts.
 *     unknown     If the outcome of a write is unknown, the object is read again before the next plan.
 *     contest     An object that another client keeps overwriting is written again only after a delay, 20 ms doubling
 *                 to 30 s. So two controllers do not overwrite each other endlessly.
 *
 * With 'schedules' the driver also runs the gang scheduler. It starts when everything is listed, and makes at most one
 * round in a turn, after the controllers. Its writes share the limit of writes in flight: a failed binding is reported
 * to the scheduler, an eviction is repeated until the pod is deleted, and only the newest status is written.
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
    struct str scheduler_name; /* of the PodGroups and pods to manage; empty: "volcano" */
    /* Watches the pods that belong to no Job, if 'cluster' watches only pods of Jobs. Stays the caller's. NULL:
     * 'cluster' watches all pods. */
    struct cluster *others;
    uint32_t max_in_flight; /* writes in flight at a time; 0: 500 */
    bool collects_garbage;  /* run the owner garbage collector (embedded; a real cluster has its own) */
    bool schedules;         /* run the scheduler */
    bool native_groups;     /* Jobs get PodGroups of scheduling.k8s.io, and kube-scheduler places their pods. Only on
                               a real cluster, and not together with 'schedules' */
    bool assumes_answers;   /* running pods pass the probes of JobFlows; for simulations, which have no network */
    /* Opens an unconnected TCP socket in the network from which pods can be reached; -1: error. NULL: the network of
     * this process. */
    int (*open_socket)(void *ctx);
    void *socket_ctx;
    bool is_silent;                          /* write no Events */
    const struct sched_config *sched_config; /* copied; NULL: the default */
    uint64_t seed;                           /* of maps; 0: from the operating system */
    /* Returns new ssh keys, or empty ones: not ready, try again in 10 ms. NULL: real keys; a thread makes RSA keys
     * while the job waits (key_maker.h). Simulations and benchmarks return constant keys. */
    int (*make_keys)(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e);
    void *keys_ctx;
};

struct driver *driver_new(struct cluster *c, const struct driver_options *opt); /* the cluster stays the caller's */
void driver_free(struct driver *d);

/* A kind was defined after driver_new(): collect its garbage as well, if the driver collects garbage. */
void driver_want(struct driver *d, const struct resource_type *type);

/* One turn. Returns when the next one is due even if no event comes (milliseconds of cluster_now_ms; INT64_MAX: never).
 * '*ret_busy' (may be NULL): something was done. */
int64_t driver_turn(struct driver *d, bool *ret_busy);

/* Plan nothing more; turns only read events and answers. A program that is about to exit calls this, and exits when
 * driver_stats.in_flight is 0. */
void driver_stop(struct driver *d);

/* Replace the settings of the scheduler from the next turn on. Copied. Only if the driver schedules. */
void driver_configure(struct driver *d, const struct sched_config *config);

/* A Warning Event about the scheduler as a whole. Its object is the Queue "default". */
void driver_warn(struct driver *d, struct str reason, struct str message);

enum { LATENCY_BUCKETS = 12 };

struct latency {                       /* a histogram of durations */
    const int64_t *bounds_us;          /* upper bounds of the buckets; longer durations are only in 'n' */
    uint64_t buckets[LATENCY_BUCKETS]; /* not cumulative */
    uint64_t n, sum_us;
};

struct driver_stats {
    uint64_t events, plans, writes, failed_writes;
    uint64_t job_events, job_plans, job_writes;
    uint64_t rounds, binds, evictions; /* of the scheduler: the successful ones */
    uint64_t failed_binds, refusals;   /* failed bindings; "Unschedulable" conditions written */
    uint64_t preempts, reclaims;       /* evictions for a group, by reason; one for each group and round */
    uint64_t plan_us, round_us;        /* time spent in plans and in rounds */
    size_t jobs, pods;                 /* in the cache. Pods: those of Jobs; with the scheduler all */
    size_t queued, in_flight;          /* keys waiting for a plan; writes waiting for an answer */
    bool is_synced;                    /* everything was listed once */
    struct latency pod_latency;        /* from the creation of a job to the creation of each of its pods */
    struct latency gang_latency;       /* from the creation of a PodGroup to the decision to place its gang */
    struct latency bind_latency;       /* from the creation of a pod to the answer to its binding */
    struct latency round_latency;      /* of a round of the scheduler */
};
void driver_stats(const struct driver *d, struct driver_stats *ret);

struct driver_queue {
    struct str name;
    uint32_t pending, inqueue, running, unknown, completed; /* PodGroups by phase */
    uint64_t jobs_completed, jobs_failed, job_retries;      /* written by this driver */
};
void driver_queues(struct driver *d, struct arena *a, void (*each)(void *ctx, const struct driver_queue *q), void *ctx);

/* For people: what the driver observes of a job, its writes in flight, and its next plan. NULL: unknown job. */
struct json *driver_describe_job(struct driver *d, struct arena *a, struct str namespace, struct str name);

/* For queries by `explain` and tests. NULL if the driver does not schedule. Valid until the next turn. */
struct sched *driver_sched(struct driver *d);

#endif
