/* admit.h - defaulting and validation, in process: no webhook is needed
 *
 * An admission changes the object in place (defaults are added as single fields; nothing the user wrote is lost or
 * re-ordered) and adds every problem it finds to 'ps'. The object may be stored when ps->n_errors did not grow.
 *
 * 'old' is NULL on create; else the stored object, and the rules for updates apply. Nodes added by defaulting carry
 * env->mark.
 */
#ifndef API_ADMIT_ADMIT_H
#define API_ADMIT_ADMIT_H

#include "json/json.h"
#include "json/problem.h"

/* What an admission may know about the rest of the cluster. Any callback may be NULL: then the checks that need it
 * are left out (render and validate have no cluster). */
/* Who made a Job, as the server that took it knows him: written when it is made, and kept whatever is sent later. For
 * lists; rights follow from other things. */
#define JOB_CREATOR_ANNOTATION "pumice.dev/creator"

struct admit_env {
    void *ctx;
    const struct json *(*find_queue)(void *ctx, struct str name);
    /* All queues, for children and for the sums of hierarchy: calls 'each' for every queue. */
    void (*each_queue)(void *ctx, void (*each)(void *arg, const struct json *queue), void *arg);
    const struct json *(*find_namespace)(void *ctx, struct str name);
    struct str scheduler_name; /* default for spec.schedulerName; empty: "volcano" */
    struct str namespace;      /* for namespaced objects without one; empty: "default" */
    uint8_t mark;
    bool is_clean; /* Jobs: schema_check() had nothing to say of it, and only defaults came to it since */
};

/* Jobs: all rules except those about plugins (see plugin/plugin.h and job/admit.h). */
void admit_job_defaults(struct arena *a, struct json *job, const struct admit_env *env);
void admit_job_check(const struct place *job, const struct json *old, const struct admit_env *env, struct problems *ps);

/* Queues, PodGroups and HyperNodes, whole. */
void admit_queue(struct arena *a, struct json *queue, const struct json *old, const struct admit_env *env,
                 struct problems *ps);
void admit_queue_delete(const struct json *queue, const struct admit_env *env, struct problems *ps);
void admit_podgroup(struct arena *a, struct json *pg, const struct json *old, const struct admit_env *env,
                    struct problems *ps);

void admit_hypernode(struct json *node, const struct json *old, struct problems *ps);

/* A whole Pod, by the rules of pod templates; metadata too. 'is_clean': schema_check() had nothing to say of it, and only
 * defaults came to it since. */
void admit_pod_check(const struct place *pod, bool is_clean, struct problems *ps);

/* Pods of our scheduler: the gate that they ask for by annotation (gate.h). Other schedulers would never open it. */
void admit_pod_gate(struct arena *a, struct json *pod, const struct admit_env *env);

/* Pods of our scheduler: their disruption budgets, which are annotations. All else about a pod is for Kubernetes. */
void admit_pod_budget(const struct json *pod, const struct admit_env *env, struct problems *ps);

#endif
