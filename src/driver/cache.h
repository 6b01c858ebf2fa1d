/* cache.h - the objects of the cluster as the controllers see them
 *
 * The cache keeps Jobs with their objects, by uid; Queues with counts of their PodGroups; and other objects by type,
 * namespace and name. A pod is kept as a small view inside its job (job/pods.h), not as an object. Objects are related
 * by uid (B16 to B20): a Job that was deleted and created again under its name is another entry, which late events of
 * the old Job do not touch.
 *
 * Events may be late, repeated or out of order. An object that is older than the cached one is ignored. A deleted
 * object leaves a tombstone (their number is limited), so that no late event and no late answer to a write brings it
 * back.
 *
 * Pods, PodGroups and Commands may arrive before their Job. They wait in an entry without a Job.
 */
#ifndef DRIVER_CACHE_H
#define DRIVER_CACHE_H

#include "cluster/cluster.h"
#include "cluster/relist.h"
#include "job/controller.h"

enum { CACHE_UID_MAX = 40, CACHE_TOMBSTONES = 16384 };

struct cache;
struct cache_queue;

struct cached { /* one object other than a Job or a Pod */
    struct object *object;
    struct list_link in_type;  /* cache_type.objects, in order of arrival */
    struct list_link in_owner; /* a list of its job or queue */
    struct cache_job *job;     /* the job it belongs to, or NULL */
    struct cache_queue *queue; /* Command: its target; PodGroup: where it is counted; Queue: itself */
    uint8_t counted;           /* PodGroup: counted under this phase */
    struct str key;            /* the bytes follow this struct */
};

struct job_drive { /* state of the driver for a job; the cache resets what an event invalidates */
    bool objects_are_fine;
    int64_t stale_ms;           /* see job_observed */
    uint32_t window, n_creates; /* slow start: how many creates of pods may be in flight, and are */
    int64_t marked_generation;  /* of the spec for which requests_mark() ran */
    int64_t no_create_until;
    uint64_t gone_rev;      /* revision of the newest deletion of a pod of it */
    uint64_t confirmed_rev; /* the Job was read again after pods changed at this revision */
    struct buf trouble;
    int64_t trouble_until;                   /* 'trouble' is dropped if the write is not repeated by then */
    enum op_kind failed_kind;                /* the last failed write … */
    const struct resource_type *failed_type; /* … NULL: none, or one of this kind succeeded since */
    struct buf failed_name;
};

struct cache_job {
    struct cache *cache;
    struct list_link link; /* cache.jobs */
    char uid[CACHE_UID_MAX];
    struct object *object; /* NULL: not known yet */
    char *name_key;        /* "namespace/name" */

    struct job job;     /* the defaulted Job, if 'object' is set; 'spec' keeps its memory until it changes */
    struct arena arena; /* of 'job' without its spec */

    struct object *spec_object; /* owns the text of the spec */
    struct arena spec_arena;
    struct json *spec_tree;
    struct job_spec spec;

    bool has_set; /* 'set' and 'spec_problem' are up to date */
    struct arena set_arena;
    struct plugin_set *set;
    struct str spec_problem;

    struct job_pods pods;
    struct list owned, commands, groups; /* struct cached.in_owner; groups: Volcano's and native */
    struct cache_queue *queue;
    struct list_link in_queue;    /* cache_queue.jobs */
    struct list_link in_watchers; /* cache.watchers: its spec names objects that it does not own */
    struct job_drive drive;
};

enum { QUEUE_COUNTS = 5 }; /* Pending, Inqueue, Running, Unknown, Completed */

struct cache_queue {
    struct cached *self; /* NULL: there is no such Queue */
    uint32_t counts[QUEUE_COUNTS];
    uint32_t n_groups;
    int64_t status_ms;              /* when the driver last wrote its status */
    uint64_t n_completed, n_failed; /* jobs that this driver set to Completed or Failed */
    uint64_t n_retries;             /* retries of its jobs, counted the same way */
    struct list commands;           /* struct cached.in_owner */
    struct list jobs;               /* struct cache_job.in_queue */
    struct str name;                /* the bytes follow this struct */
};

struct cache_type {
    const struct resource_type *type;
    bool is_synced, is_listing;
    struct relist told;
    struct list objects; /* struct cached.in_type */
};

struct tombstone {
    uint64_t rev;
    char uid[CACHE_UID_MAX];
};

struct cache_hooks {
    void *ctx;
    void (*job)(void *ctx, struct cache_job *job);      /* something about it changed */
    void (*job_gone)(void *ctx, struct cache_job *job); /* it is about to be freed */
    void (*queue)(void *ctx, struct str name);
    void (*group)(void *ctx, const struct object *group); /* a PodGroup without phase */
    /* A list did not contain it, but it is newer than the list: read it. */
    void (*doubt)(void *ctx, const struct resource_type *type, struct str namespace, struct str name, struct str uid);
    int (*make_keys)(void *ctx, struct arena *a, const char *type, struct ssh_keys *ret, struct err *e); /* or NULL */
};

struct cache {
    struct cache_hooks hooks;
    struct str scheduler_name;
    struct cache_type *types; /* one for each row of resource_types that is wanted */
    size_t n_types;
    struct map objects;   /* struct cached by key */
    struct map jobs_uid;  /* struct cache_job */
    struct map jobs_name; /* those with an object */
    struct list jobs;     /* in order of arrival */
    struct list watchers;
    struct map queues;        /* struct cache_queue by name */
    struct map_u64 pod_owner; /* struct cache_job by hash of the pod's uid */
    struct map tombstones;
    struct tombstone *ring; /* oldest first from 'ring_at' on */
    size_t ring_n, ring_at;
    uint64_t seed;
    size_t n_pods;
    uint64_t job_events;
    struct buf scratch;
};

/* The rows of resource_types that are used by name. */
struct known_types {
    const struct resource_type *job, *pod, *group, *command, *queue, *priority, *config_map, *secret, *service, *policy,
        *claim, *volume, *event, *flow, *template, *cron, *native_workload, *native_group;
    enum native_version native_version; /* of the last two */
};
const struct known_types *known_types(void);

void cache_init(struct cache *c, const struct cache_hooks *hooks, struct str scheduler_name, uint64_t seed);
void cache_done(struct cache *c);

void cache_want(struct cache *c, const struct resource_type *type); /* expect news of this type */
bool cache_is_synced(const struct cache *c);                        /* every wanted type was listed once */
bool cache_wants(const struct cache *c, const struct resource_type *type);

/* The names that the current list of this type has delivered so far; NULL: no list is in progress. */
const struct relist *cache_told(const struct cache *c, const struct resource_type *type);

/* Apply an event: PUT, GONE, RELIST, SYNCED. */
void cache_event(struct cache *c, const struct cluster_event *ev);

/* Apply an object from the answer to a request. Ignored if it is older than the cached one or has a tombstone. */
void cache_put(struct cache *c, const struct object *o);

/* The object with that uid was deleted. */
void cache_gone(struct cache *c, const struct resource_type *type, struct str namespace, struct str name,
                struct str uid);

/* A tombstone has the revision at which an object disappeared. Older states of the object are ignored, newer ones bring
 * it back: a watch with a selector also reports objects as deleted that only stopped matching. CACHE_FOR_GOOD: it does
 * not exist any longer. */
#define CACHE_FOR_GOOD UINT64_MAX
void cache_bury(struct cache *c, struct str uid, uint64_t rev);
bool cache_is_buried(const struct cache *c, struct str uid, uint64_t rev); /* is a state of that revision to be ignored?
                                                                              0: is any */

/* ---- looking ---- borrowed until the next change ---- */

struct cache_job *cache_job(const struct cache *c, struct str uid); /* also one without object; NULL */
struct cache_queue *cache_queue(const struct cache *c, struct str name);
const struct object *cache_find_job(struct cache *c, struct str namespace, struct str name); /* NULL */
const struct object *cache_find(struct cache *c, const struct resource_type *type, struct str namespace,
                                struct str name);

/* Plugins of the job, built when first needed: job->set or job->spec_problem. */
void cache_job_need_set(struct cache_job *j);

/* An object of the job's namespace by kind, for the planner and the plugins; 'ctx' is the struct cache_job. */
const struct json *cache_job_find(void *ctx, const char *kind, struct str name);
int64_t cache_priority(void *ctx, struct str class_name); /* 'ctx' is the struct cache */
enum queue_state cache_queue_state(const struct cache_queue *q);

/* ---- podview.c ---- */

/* Name, task and index of a Pod, and the view of it. Cannot fail: what is not there reads as not set. */
void pod_view_decode(const struct object *o, struct pod_view *ret, struct str *ret_task, uint32_t *ret_index);

/* The uid (name) of the controller, if it is a Job of batch.volcano.sh; else empty. */
struct str object_job_uid(const struct json *root);
struct str object_job_name(const struct json *root);

#endif
