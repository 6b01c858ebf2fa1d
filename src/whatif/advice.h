/* advice.h - why a job waits, and the smallest changes that would start it now
 *
 * The real scheduler gives the answer. The objects are loaded into a future (future.h), and the scheduler in it says
 * why the job is not placed. Each suggestion is tested the same way, on a copy of the objects with the change applied,
 * and is reported only if the minimum of the job is placed then. So the advice always agrees with the scheduler. The
 * same input gives the same advice.
 *
 * Suggestions are sorted by how much they change (enum advice_kind); of each kind only the smallest change that works
 * is reported. Suggestions that remove more than half of the replicas or requests follow after all others, and
 * suggestions that stop other jobs come last.
 */
#ifndef WHATIF_ADVICE_H
#define WHATIF_ADVICE_H

#include "api/pod/resources.h"
#include "json/json.h"
#include "sched/model/config.h"
#include "sched/model/why.h"

enum advice_state {
    ADVICE_WAITS,   /* see why, ahead, suggestions, estimate */
    ADVICE_STARTS,  /* the scheduler places it at once, perhaps by evicting others */
    ADVICE_RUNS,    /* its minimum runs */
    ADVICE_ENDED,   /* Completed, Failed, Terminated, Aborted, or on its way there */
    ADVICE_BLOCKED, /* its pods cannot be created: see 'reason', 'message' */
    ADVICE_NATIVE, /* kube-scheduler places its pods, as 'group' of scheduling.k8s.io; what that says: 'reason', 'message' */
    ADVICE_STATE_MAX,
};
extern const char *const advice_state_names[ADVICE_STATE_MAX]; /* "Waiting" … */

/* In the order of the list */
enum advice_kind {
    ADVISE_QUEUE_CREATE, /* no other job loses anything and the job is unchanged … */
    ADVISE_QUEUE_OPEN,
    ADVISE_UNCORDON,
    ADVISE_TOLERATION, /* … the job may go to more places … */
    ADVISE_SELECTOR,
    ADVISE_CONSTRAINT,    /* node affinity, pod (anti-)affinity, topology spread, network topology */
    ADVISE_MIN_AVAILABLE, /* … it becomes smaller … */
    ADVISE_REPLICAS,
    ADVISE_QUEUE,    /* … it goes elsewhere … */
    ADVISE_REQUESTS, /* … its pods become smaller … */
    ADVISE_STRATEGY, /* … the rules for others change too … */
    ADVISE_CAPABILITY,
    ADVISE_WEIGHT,
    ADVISE_PRIORITY_CREATE, /* … others are put back or stopped … */
    ADVISE_PRIORITY,
    ADVISE_FREE,
    ADVISE_NODES, /* … and machines cost money */
    ADVICE_KIND_MAX,
};
extern const char *const advice_kind_names[ADVICE_KIND_MAX]; /* "queue-create" … */

/* One step of a change. */
enum edit_op {
    EDIT_SET,       /* the field at 'path' becomes 'value' */
    EDIT_UNSET,     /* … goes away */
    EDIT_CREATE,    /* 'value' is a new object */
    EDIT_DELETE,    /* the object goes, with all it owns */
    EDIT_ADD_NODES, /* 'count' copies of the Node 'name' */
    EDIT_OP_MAX,
};
extern const char *const edit_op_names[EDIT_OP_MAX]; /* "set" … */

struct advice_edit {
    enum edit_op op;
    const char *kind; /* "Job" … */
    struct str namespace, name;
    struct str path; /* JSON pointer */
    const struct json *value;
    int64_t count;
};

struct advice_victim {
    struct str name; /* "namespace/name" of the Job, or of the PodGroup where there is none */
    int64_t pods;
};

struct suggestion {
    enum advice_kind kind;
    struct str target; /* what is changed: a task, queue, job, node, … */
    struct str what;   /* … of it: "cpu", "disk=ssd"; may be empty */
    struct str from, to;
    struct str text;                  /* one sentence */
    VEC(struct advice_edit) edits;    /* all of it */
    VEC(struct str) how;              /* command lines, or lines of YAML */
    VEC(struct str) also;             /* other targets that work as well */
    VEC(struct advice_victim) evicts; /* jobs that lose pods by it, apart from those that it stops */
    bool recreates;  /* the field is immutable: the Job is deleted and created again, and loses its age */
    bool is_large;   /* removes more than half */
    bool stops_jobs; /* pods of others are evicted, or another job is deleted */
};

struct advice_task {
    struct str name;
    int64_t replicas, min;   /* min: what counts of its minAvailable */
    int64_t placed, missing; /* pods of it with a place, and those still to be placed for the job's minimum */
    int64_t priority;        /* of its pods; counts inside the job */
    struct resources each;
    struct str held_by; /* dependsOn: waits for these tasks; empty: released */
};

struct advice_node {
    struct str name;
    struct resources free; /* only what the job asks for */
    int64_t fits;          /* pods of the task that lacks most, by amounts alone */
    struct str refuses;    /* why it accepts no pod of the job, even when empty; empty: it does */
};

struct advice_ahead {
    struct str name, queue; /* name: as in advice_victim */
    int32_t priority;
    int64_t pods;
    struct resources needs;
};

struct advice_holder { /* the job that the scheduler keeps room for */
    struct str name;   /* as in advice_victim; empty: none */
    int64_t pods;
    struct resources keeps;
    int64_t until_ms; /* when it can start at the latest; 0: not known */
};

struct advice_estimate {
    bool is_known;
    int64_t at_ms;
    VEC(struct str) after;  /* jobs that end just then */
    VEC(struct str) silent; /* running jobs without a declared duration; they are assumed never to end */
    bool is_never;          /* not known, and not even when all of those have ended */
    bool has_overdue;       /* a job runs longer than declared: it is assumed to end now */
};

struct advice {
    enum advice_state state;
    struct str name;                   /* "namespace/name" of the Job or PodGroup */
    struct str group;                  /* name of the PodGroup; empty: none yet */
    bool is_job;                       /* else a PodGroup without Volcano Job */
    struct str phase, reason, message; /* of the Job, as the state or the controller has it */
    struct str queue, priority_class;
    int32_t priority;
    int64_t created_ms; /* 0: not known */

    int64_t min, ready, pending, running;
    VEC(struct advice_task) tasks;
    struct resources needs; /* of all that is missing for the minimum */

    struct resources total, free;  /* over all nodes; of what it asks for */
    VEC(struct advice_node) nodes; /* those with the most room first */
    size_t n_nodes, n_usable;      /* all; those that refuse none of its pods and have any room */
    struct why why;
    struct str why_text, why_resource; /* one sentence; the name of why.dim */
    struct advice_holder holder;       /* WHY_HELD, WHY_QUEUE_RESERVED */
    bool is_in_line;                   /* false: it could not run even alone, so it has no position */
    VEC(struct advice_ahead) ahead;
    VEC(struct advice_victim) evicts; /* ADVICE_STARTS: whose pods make room */
    VEC(struct suggestion) suggestions;
    struct advice_estimate estimate;
    VEC(struct str) notes; /* what else the reader should know, a sentence each */
    unsigned n_trials;
};

struct advice_input {
    const struct json *const *objects; /* as `kubectl get` gives them; Jobs with their defaults */
    size_t n;
    const struct json *const *native; /* PodGroups of scheduling.k8s.io, for what they say of their jobs */
    size_t n_native;
    struct str namespace, name; /* of a Job, or of a PodGroup */
    int64_t now_ms;
    const struct sched_config *config; /* NULL: the default */
    size_t max_suggestions;            /* 0: 5 */
    bool may_fork;                     /* trials in child processes: much quicker; for programs without threads */
};

/* '*ret' lives in 'a'. ERR_NOT_FOUND: no Job or PodGroup of that name. */
int advice_make(struct arena *a, const struct advice_input *in, struct advice *ret, struct err *e);

/* All jobs that wait, in the order they would be served. */
struct advice_line {
    struct str name, queue; /* name: as in advice_victim */
    int32_t priority;
    int64_t pods;
    enum why_kind why;
    struct str why_text;
};
struct advice_lines {
    VEC(struct advice_line) list;
};
void advice_list(struct arena *a, const struct advice_input *in, struct advice_lines *ret);

#endif
