/* driver_internal.h - what the files of the driver share among themselves */
#ifndef DRIVER_DRIVER_INTERNAL_H
#define DRIVER_DRIVER_INTERNAL_H

#include "api/recorder.h"
#include "driver/cache.h"
#include "driver/driver.h"
#include "driver/flows.h"
#include "driver/garbage.h"
#include "driver/key_maker.h"
#include "driver/probe.h"
#include "driver/work_queue.h"
#include "driver/schedule.h"
#include "driver/workload.h"

/* Keys of the work queue. */
#define KEY_JOB    "job/"   /* + uid */
#define KEY_QUEUE  "queue/" /* + name */
#define KEY_GROUP  "group/" /* + namespace/name */
#define KEY_GC     "gc/"    /* + uid */
#define KEY_ENSURE "ensure"

enum { REQUEST_LOST_MS = 60000, READ_AGAIN_MIN_MS = 100, READ_AGAIN_MAX_MS = 30000, WINDOW_START = 16 };
enum { TROUBLE_STAYS_MS = 10000 };
/* Writes of counters alone, of all jobs together: one in so long, unless a job would wait for longer than a minute. */
enum { COUNTERS_APART_MS = 600, COUNTERS_MOST_MS = 60000 };

struct driver {
    struct cluster *cluster;
    struct driver_options opt;
    struct cache cache;
    struct garbage garbage;   /* used if opt.collects_garbage */
    struct schedule schedule; /* used if opt.schedules */
    struct workloads workloads;
    struct flows flows;
    struct probes probes;
    struct waiting_keys {        /* job_keys.c */
        struct key_maker *maker; /* NULL: not requested yet */
        struct list waiting;     /* struct key_waiter, in the order of asking */
        struct map by_key;       /* the same, by key of the work queue */
        int64_t due_ms;          /* when to look again whether there are keys, in run_ms */
    } keys;
    struct str planned; /* the key that is being planned */
    struct work_queue queue;
    struct arena arena; /* of one plan */
    struct buf key;     /* a key being put together */
    struct driver_stats stats;
    uint64_t turn; /* turns, counted */

    /* The time of queue and requests: goes with the cluster's clock, but never back. */
    int64_t last_now_ms, run_ms;

    /* request.c: writes and reads that have not come back. */
    struct map_u64 requests; /* struct request by token */
    struct list all_requests;
    struct heap timers;       /* struct request: when to give it up, or to ask again */
    struct map busy;          /* struct busy by key */
    struct recorder recorder; /* of Events */
    uint64_t request_seq;

    /* contest.c: objects that were written lately. */
    struct map_u64 contests; /* struct contest by hash of its name */
    struct contest *contest_ring;
    size_t contest_at;

    unsigned n_stale; /* jobs whose counters are behind */
    size_t n_writes;  /* in flight */
    bool is_full;     /* too many writes: nothing is planned until half of them are back */
    bool is_stopped;  /* plans nothing more */
};

/* Copy 's' to '*at', which moves on: for structs that are followed by their text. */
static inline struct str text_put(char **at, struct str s)
{
    struct str copy = { *at, s.n };

    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* ---- request.c ---- */

void requests_init(struct driver *d, uint64_t seed);
void requests_done(struct driver *d);

/* Send a write of the controller that looks after 'key'; empty: no controller waits for it. */
void request_send(struct driver *d, struct str key, const struct op *op);

/* Counts of Events that have waited (recorder.h). Events take half of the room for writes at most: the other half is for
 * what matters. */
bool requests_send_counts(struct driver *d);
int64_t requests_counts_due(const struct driver *d); /* when to call it next, in run_ms; INT64_MAX: never */
bool request_has_event_room(const struct driver *d);

/* Has the key writes in flight that it must wait for? All but those of pods and Events. */
bool request_is_busy(const struct driver *d, struct str key);

/* The spec has changed: slots that went with fewer replicas and came back must know again what is on its way to them. */
void requests_mark(struct driver *d, struct cache_job *j);

/* Is the pod there that the job's status remembers and the cache does not know? The key waits for the answer. */
void request_read_pod(struct driver *d, struct str key, const struct cache_job *j, size_t task, uint32_t index);

/* Ask for an object as it is now. 'uid' is what is thought to be there; 'key' (may be empty) is looked at afterwards. */
void request_read(struct driver *d, struct str key, struct object_id id);

void request_result(struct driver *d, const struct cluster_event *ev);

const char *op_verb(enum op_kind kind); /* "create", "update status of" … */

/* Those of a key, as a list for people. */
struct json *requests_describe(struct driver *d, struct arena *a, struct str key);

/* Give up what was not answered; ask again where it is time. True if there was anything. */
bool requests_tick(struct driver *d);
int64_t requests_due(const struct driver *d); /* when to call it next, in run_ms; INT64_MAX: never */

/* ---- job_keys.c ---- */

void job_keys_init(struct driver *d, uint64_t seed);
void job_keys_done(struct driver *d);

/* New ssh keys for the job that is being planned. Empty texts: not yet, the job is planned again when there are some. */
int job_keys_take(struct driver *d, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e);

void job_keys_tick(struct driver *d);         /* jobs whose keys are ready are planned again */
int64_t job_keys_due(const struct driver *d); /* when to call it next, in run_ms; INT64_MAX: never */

/* ---- contest.c ---- what another writes over ---- */

void contests_init(struct driver *d, uint64_t seed);
void contests_done(struct driver *d);

/* How long this write has to wait; 0: it may be sent. */
int64_t contest_wait(struct driver *d, const struct op *op);

/* Do we and another write this object by turns, and did he write last? */
bool contest_is_on(struct driver *d, const struct object *o);

/* A write worked. 'rev': of the object after it, 0: it was deleted. */
void contest_wrote(struct driver *d, const struct resource_type *type, struct str namespace, struct str name,
                   uint64_t rev);

/* ---- describe.c ---- */

void latencies_init(struct driver_stats *s);
void latency_add(struct latency *l, int64_t us);

/* ---- driver.c ---- */

/* A key of two parts, valid until the next call. */
struct str driver_key(struct driver *d, const char *prefix, struct str rest);

/* The job that a key names; NULL if it is no key of a job, or the job is not known. */
struct cache_job *driver_key_job(struct driver *d, struct str key);

/* Since when the counters in its status are behind; 0: they are not. */
void driver_set_stale(struct driver *d, struct cache_job *j, int64_t since_ms);

/* The failed write has succeeded, or is no longer wanted. */
void driver_forget_failure(struct driver *d, struct cache_job *j);

/* ---- controllers.c ---- */

/* Plan one key and send what comes of it. */
void driver_plan_key(struct driver *d, struct str key);

/* What would be planned for the job now. Nothing is changed by it and nothing is sent. */
void driver_preview_job(struct driver *d, struct cache_job *j, struct plan *plan);

#endif
