/* control_plane.h - what the controllers of a Kubernetes control plane do: for our own server, all pure
 *
 * A Kubernetes cluster has kube-controller-manager for this; `pumice server` has these planners. Each is a function from
 * what the store shows to writes (api/plan.h), and plans nothing where all is as it should be. src/server observes and
 * applies.
 */
#ifndef CONTROLLER_CONTROL_PLANE_H
#define CONTROLLER_CONTROL_PLANE_H

#include "api/plan.h"
#include "api/pod/resources.h"
#include "base/err.h"
#include "crd/custom.h"

struct observed_object {
    const struct resource_type *type;
    const struct json *root;
};

struct observed_objects {
    const struct observed_object *v;
    size_t n;
};

/* ---- namespace.c: what every cluster and namespace has, and how a namespace ends ---- */

/* The namespaces and PriorityClasses that every cluster has: those that 'has' does not know are created. */
void cluster_defaults_plan(bool (*has)(void *ctx, const struct resource_type *type, struct str name), void *ctx,
                           struct plan *plan);

struct namespace_defaults_observed {
    struct str namespace;
    struct str ca;                /* certificates that programs in pods know the server by */
    bool has_account;             /* the ServiceAccount "default" */
    const struct json *ca_config; /* the ConfigMap "kube-root-ca.crt"; NULL: there is none */
};

/* Both exist, and the ConfigMap has these certificates. */
void namespace_defaults_plan(const struct namespace_defaults_observed *o, struct plan *plan);

struct namespace_end_observed {
    const struct json *namespace;         /* with a deletionTimestamp */
    struct observed_objects pods, others; /* others: need not be listed while there are pods */
};

/* Delete its pods, then all else, then remove its finalizer "kubernetes". Pods go first, as in Kubernetes: a pod that is
 * ending still has its ConfigMaps, and the NetworkPolicies that guard it. Where something stays although it was deleted,
 * conditions tell what. A plan has writes of one of these steps only. */
void namespace_end_plan(const struct namespace_end_observed *o, struct plan *plan);

/* An Event goes when it was not seen for an hour. */
void event_expire_plan(const struct json *event, struct plan *plan);

/* ---- quota.c: what a ResourceQuota lets its namespace have, and what the namespace has ---- */

struct quota_observed {
    const struct json *quota;
    struct observed_objects objects; /* all of its namespace, of each kind that it counts */
};

struct quota_change { /* of an object of its namespace */
    const struct resource_type *type;
    const struct json *object, *old; /* old: NULL: it is new */
};

/* Does a quota with this spec.hard name anything that objects of this kind take? */
bool quota_counts(struct arena *a, const struct resources *hard, const struct resource_type *t);
/* Does it count this object, by its kind and by the scopes of the quota? */
bool quota_concerns(const struct json *quota, const struct quota_change *change);

/* ERR_FORBIDDEN: it would be more than the namespace may have, or a pod does not say how much it takes. Only for a change
 * that concerns the quota. */
int quota_check(const struct quota_observed *o, const struct quota_change *change, struct err *e);

/* The status: what it allows, and what is used of that. */
void quota_plan(const struct quota_observed *o, struct plan *plan);

/* ---- endpoints.c: who is behind a Service ---- */

#define ENDPOINTS_SERVICE_LABEL "kubernetes.io/service-name" /* of slices: that of their Service */
#define ENDPOINTS_MANAGER                                                                                              \
    "endpointslice-controller.k8s.io" /* … and endpointslice.kubernetes.io/managed-by: who makes them */

struct endpoints_observed {
    const struct json *service; /* with a selector: who is behind the others is not ours to say. NULL: it was deleted */
    bool namespace_is_ending;
    const struct json *const *pods; /* that it selects */
    size_t n_pods;
    const struct json *endpoints;     /* of its name; NULL: there are none */
    const struct json *const *slices; /* of this controller, for it */
    size_t n_slices;
};

/* Endpoints and EndpointSlices as Kubernetes makes them: ready pods with an address by the ports of the Service, those
 * that are not ready apart, publishNotReadyAddresses, ports by name. Slices belong to the Service and go with it;
 * Endpoints, which have no owner in Kubernetes either, are deleted after the Service. */
void endpoints_plan(const struct endpoints_observed *o, struct plan *plan);

/* ---- api_service.c: the Service default/kubernetes, by which programs in pods find the server ---- */

#define API_SERVICE_NAMESPACE STR("default")
#define API_SERVICE_NAME      STR("kubernetes")

struct api_service_observed {
    struct str address; /* of the server, for programs in pods */
    uint16_t port;
    const struct json *service, *endpoints, *slice; /* of that name; NULL: there is none */
};

/* All three have that address. Additions of other programs stay. A Service with a selector belongs to a user and is left
 * alone: api_service_is_foreign(). */
void api_service_plan(const struct api_service_observed *o, struct plan *plan);
bool api_service_is_foreign(const struct json *service); /* NULL: no */

/* ---- definition.c: CustomResourceDefinitions ---- */

#define DEFINITION_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* The program has this kind by itself. */
bool definition_is_builtin(const struct custom_kind *k);
/* The name that another kind of its group has already, of the program's or of the 'n' others; NULL: none. Others that are
 * not served have no names. */
const char *definition_taken_name(const struct custom_kind *k, struct custom_kind *const *others, size_t n);

struct definition_observed {
    const struct json *definition;
    struct str version; /* in which its objects are stored */
    const char *taken;  /* definition_taken_name() */
    bool has_no_room;   /* its kind cannot be served: there are too many */
};

/* The status: names accepted, established, versions that were stored. */
void definition_plan(const struct definition_observed *o, struct plan *plan);

/* Of one that is being deleted: delete its objects, then remove its finalizer. */
void definition_end_plan(const struct json *definition, const struct observed_objects *objects, struct plan *plan);

/* ---- limits.c: what the LimitRanges of a namespace say ---- */

/* Containers of the pod that do not say how much they ask for get the defaults, and an annotation names them. */
void limit_ranges_default(const struct observed_objects *ranges, struct arena *a, struct json *pod);

bool limit_ranges_apply_to(const struct resource_type *t); /* pods and claims */
/* ERR_FORBIDDEN: it is less or more than it may be, with all that is wrong by the first range that it breaks. */
int limit_ranges_check(const struct observed_objects *ranges, const struct observed_object *object, struct err *e);

/* Of a LimitRange that is written: fill in the bounds that follow from others, and tell which contradict each other. */
void limit_range_admit(struct arena *a, struct json *range, struct problems *ps);

/* ---- budget.c: how many pods of a PodDisruptionBudget may be evicted now ---- */

struct budget_observed {
    const struct json *budget;
    const struct json *const *pods; /* all of its namespace */
    size_t n_pods;
};

struct budget {
    int64_t expected, healthy, desired, allowed;
};

/* Pods that have ended do not count, and pods that are being deleted are not healthy. -1: its selector is invalid. */
int budget_count(const struct budget_observed *o, struct budget *ret);

/* The status, with these numbers and without disruptedPods that no longer exist. */
void budget_plan(const struct budget_observed *o, struct plan *plan);

/* ---- eviction.c: pods that must leave their node ---- */

struct taint_observed {
    const struct json *pod;    /* on a node */
    const struct json *taints; /* of that node; NULL: none */
    int64_t together_ms;       /* how long the pod and the taints have been seen together */
};

/* A pod that does not tolerate a NoExecute taint of its node is deleted, as Kubernetes' taint manager does; one that
 * tolerates it for a while when that has passed. True: it tolerates them for a while: count how long. Pods that have ended
 * stay: nothing of them runs on the node. */
bool taint_plan(const struct taint_observed *o, struct plan *plan);
/* The taints went before their time was up; NULL: so did the pod. */
void taint_cancel_plan(const struct json *pod, struct plan *plan);

/* A pod whose node does not exist for that long is deleted after 40 s, as in Kubernetes: no kubelet runs it, and none would
 * confirm that it has ended. */
void orphan_plan(const struct json *pod, int64_t missing_ms, struct plan *plan);

#endif
