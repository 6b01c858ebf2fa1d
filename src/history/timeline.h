/* timeline.h - what happened to jobs, queues and nodes over time
 *
 * Fed with every change of every object (future.h's hook), it keeps for each job when it was submitted, admitted to its
 * queue, started and finished, why it waited and how many of its pods ran; for each queue and node how much was in use.
 * All of these are steps: a value holds from its time to the time of the next step.
 *
 * A PodGroup that belongs to no Job counts as a job of kind PodGroup.
 */
#ifndef HISTORY_TIMELINE_H
#define HISTORY_TIMELINE_H

#include "base/map.h"
#include "base/vec.h"
#include "sched/amount.h"
#include "store/object.h"

struct sched;

enum job_state {
    STATE_WAITS,    /* not admitted to its queue */
    STATE_ADMITTED, /* it may start; its pods have no places yet */
    STATE_PARTLY,   /* some pods run, fewer than it needs */
    STATE_RUNS,     /* at least minAvailable */
    STATE_DONE,
    STATE_FAILED, /* failed, aborted or terminated */
    JOB_STATE_MAX,
};
extern const char *const job_state_names[JOB_STATE_MAX]; /* "Waiting", "Admitted", … */

struct timeline_step {
    int64_t at_ms;
    enum job_state state;
    int64_t running; /* pods */
};

struct timeline_wait {
    int64_t from_ms, until_ms;  /* until_ms -1: to the end of the plan */
    struct str reason, message; /* "NotEnoughResources", a sentence; may be empty: nobody said */
};

struct timeline_task {
    struct str name;
    int64_t replicas, min, running, succeeded, failed; /* pods as they are now */
};

struct timeline_job {
    struct str kind, namespace, name, uid, queue, priority_class, phase;
    int64_t priority, min, replicas;
    int64_t submitted_ms, admitted_ms, started_ms, finished_ms; /* -1: has not happened (yet) */
    int64_t running, succeeded, failed, stopped;                /* pods; stopped: deleted on a node before they ended */
    size_t stops;       /* times it ran and then had no longer enough pods, because they were stopped */
    int64_t stopped_ms; /* the last time */
    VEC(struct timeline_task) tasks;
    VEC(struct timeline_step) steps;
    VEC(struct timeline_wait) waits;
    struct amounts request; /* of its bound pods, now */
    struct str group_phase, why, why_text;
    bool is_open;  /* it may still end */
    bool was_over; /* it had ended before the plan began */
    bool is_gone;  /* the object was deleted; what is known stays */
};

struct timeline_use {
    int64_t at_ms;
    struct amounts used;
};

struct timeline_place { /* a queue or a node */
    struct str name;
    struct amounts total; /* node: allocatable; queue: capability, 0 where there is none */
    bool is_gone;
    VEC(struct timeline_use) steps;
};

struct timeline {
    struct arena arena;
    struct dims dims;
    int64_t begin_ms, end_ms;
    int64_t changed_ms;              /* when a job last changed its state */
    size_t n_open;                   /* jobs that may still end */
    struct sched *sched;             /* asked for reasons; NULL: only the conditions of PodGroups tell */
    VEC(struct timeline_job *) jobs; /* in order of timeline_finish */
    VEC(struct timeline_place *) queues, nodes;
    struct amounts total; /* of all nodes, now */
    struct map jobs_uid;  /* struct timeline_job */
    struct map jobs_name; /* "namespace/name": the newest */
    struct map groups;    /* "namespace/name" of the PodGroup → struct timeline_job */
    struct map pods;      /* struct timeline_pod by uid */
    struct map queue_names, node_names;
    struct map priorities; /* int64_t by PriorityClass */
    int64_t default_priority;
    struct buf key;
};

void timeline_init(struct timeline *t, int64_t begin_ms);
void timeline_done(struct timeline *t);

/* A change; 'ctx' is the timeline. Objects of kinds it has no use for are ignored. */
void timeline_changed(void *ctx, const struct object *o, bool is_gone, int64_t now_ms);

/* Nothing more will come: close what is open, put jobs in the order in which they started (those that did not, last),
 * queues and nodes by name. */
void timeline_finish(struct timeline *t, int64_t end_ms);

/* Have all jobs ended? */
bool timeline_is_over(const struct timeline *t);

/* NULL if there is none; the newest if there were several, one after the other. */
const struct timeline_job *timeline_job(const struct timeline *t, struct str namespace, struct str name);

/* ---- reading ---- */

/* How long it waited (also after it was stopped) and ran, within the timeline; -1 where that does not apply. */
int64_t job_wait_ms(const struct timeline *t, const struct timeline_job *j);
int64_t job_run_ms(const struct timeline *t, const struct timeline_job *j);

/* The state that holds longest within [from, to). JOB_STATE_MAX: not submitted yet. */
enum job_state job_state_between(const struct timeline_job *j, int64_t from_ms, int64_t to_ms);

/* In use at a time; the average and the peak over [from, to). */
const struct amounts *place_at(const struct timeline_place *p, int64_t at_ms); /* never NULL */
double place_mean(const struct timeline_place *p, int dim, int64_t from_ms, int64_t to_ms);
int64_t place_peak(const struct timeline_place *p, int dim, int64_t from_ms, int64_t to_ms);

/* The resources worth showing: those that any pod asked for, but not the count of pods unless there is nothing else.
 * Returns how many dimensions were put into 'ret'. */
int timeline_dims(const struct timeline *t, int ret[AMOUNT_DIMS]);

/* ---- words ---- */

/* "1500m", "8", "143.5Gi": an amount in few characters; bytes are rounded. */
void size_print(struct buf *out, const struct dims *dims, int dim, int64_t v);

/* "1h5m", "12m30s", "1.5s", "250ms", "0s", "3d4h": two parts at most below a day, rounded to what is shown. */
void span_print(struct buf *out, int64_t ms);

/* "+12m30s" since the beginning of the timeline; "-" for -1. */
void offset_print(struct buf *out, const struct timeline *t, int64_t at_ms);

#endif
