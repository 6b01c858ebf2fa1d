/* controller.h - the job controller: plans the next writes for one job from its observed state
 *
 * Pure: the same input gives the same plan. The controller reads no clock and no random numbers, does no I/O and never
 * waits. Level-triggered: the plan depends on the state, not on past events.
 *
 * The status of the Job holds all that must survive a crash: phase, version, retryCount and reason; and, as notes in
 * status.controlledResources (memo.h), the target of a restart, timers, obeyed Commands, and the indices that were seen
 * and done. A decision is one write of the status and nothing else. Its consequences are planned when that write is
 * confirmed.
 */
#ifndef JOB_CONTROLLER_H
#define JOB_CONTROLLER_H

#include "api/plan.h"
#include "job/pods.h"
#include "job/podgroup.h"
#include "plugin/plugin.h"

struct podgroup_view {
    bool exists, is_deleting;
    bool is_native;        /* of scheduling.k8s.io (native.h), else Volcano's */
    struct str uid, phase; /* phase: "", Pending, Inqueue, Running, Unknown, Completed; a native one has none and
                                                is Inqueue */
    struct json *raw; /* the object, for comparing what is wanted. NULL: pods name a native one that is not watched */
    struct str condition, condition_message; /* the newest True condition that is not Scheduled; empty: none */
};

struct command_view {
    struct str name, uid, action;
};

struct owned_object { /* a ConfigMap, Secret, Service, NetworkPolicy or Workload whose controller is this very job */
    const struct resource_type *type;
    struct str name, uid;
    bool is_deleting;
    bool is_labelled; /* with GATHER_LABEL, as this job's */
};

enum queue_state { QUEUE_UNKNOWN, QUEUE_OPEN, QUEUE_CLOSED }; /* unknown: there is no such queue (yet) */

struct job_observed {
    const struct job *job;   /* decoded; job->raw is the object */
    struct plugin_set *set;  /* of this job; NULL: its spec is not acceptable, see 'spec_problem' */
    struct str spec_problem; /* why (never trust admission) */
    const struct job_pods *pods;
    struct podgroup_view group;
    bool wants_native;                   /* its PodGroup is to be a native one */
    struct str own_scheduler;            /* … and pods that name this scheduler are for kube-scheduler then */
    const struct command_view *commands; /* that name this job's uid */
    size_t n_commands;
    enum queue_state queue;
    /* An object of the job's namespace as it is now, or NULL: plugin objects, claims, a Workload, Volcano's
     * PodGroup. */
    const struct json *(*find)(void *ctx, const char *kind, struct str name);
    void *find_ctx;
    const struct owned_object *owned;
    size_t n_owned;
    bool objects_are_fine; /* an earlier plan found them in order, and none of them nor the spec has changed since */
    const struct priority_source *priorities;
    uint32_t create_window; /* how many pods may be created now (slow start of the driver) */
    int64_t
        stale_ms; /* since when the counters in the status are behind (an earlier outcome said so); 0: they are not */
    int64_t counters_ms; /* minimum delay of a write that only changes counters; grows with the number of such jobs */
    /* The last write of this job that failed for an external reason, such as a quota or a webhook. */
    struct str trouble;
};

struct job_outcome {
    bool has_looked;       /* all changed pods (pods->to_look) were handled: call pods_looked() */
    bool objects_are_fine; /* plugin objects and PodGroup are as wanted: see job_observed */
    bool has_stale_status; /* counters changed, but their write is delayed: see job_observed.stale_ms */
};

/* Add the next writes for this job to 'plan'. */
struct job_outcome job_plan(const struct job_observed *o, struct plan *plan);

#endif
