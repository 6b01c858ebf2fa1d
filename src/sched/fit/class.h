/* class.h - what the choice of a node looks at in a pod, decoded once per kind of pod
 *
 * Two pods with the same namespace, labels, requests, selectors, affinity, tolerations, spread constraints, host ports,
 * claims and images are of one class. All that is known about nodes for one pod of a class holds for the next, so a job
 * of 10,000 equal pods is decided like one.
 *
 * Labels are part of the class only if some term (affinity, spread) of any class may look at them; see terms.h. Classes
 * are interned by the text of these fields and counted; one that no pod and no role uses is dropped.
 */
#ifndef SCHED_FIT_CLASS_H
#define SCHED_FIT_CLASS_H

#include "sched/model/model.h"

struct node_rule;  /* nodematch.h */
struct class_work; /* fit_internal.h */
struct sched_image;

struct preference {
    uint32_t term;
    int weight;
};
struct spread_rule { /* topologySpreadConstraints */
    uint32_t term;
    int64_t max_skew, min_domains;
    bool is_hard; /* DoNotSchedule */
    bool honors_affinity, honors_taints;
};
struct node_preference {
    const struct node_rule *rule;
    int weight;
};

struct class_claim { /* a PersistentVolumeClaim (volume.h) */
    struct str name;
    struct str missing; /* what is said when there is none */
};

struct pod_class {
    struct str key; /* canonical text it is interned by */
    size_t body_n;  /* … its part before the labels */
    uint32_t id;    /* small, reused */
    uint32_t uses;
    struct arena arena;

    struct amounts ask;  /* requests, and one of "pods" */
    uint32_t ask_dims;   /* bit d: ask.v[d] > 0 */
    bool is_best_effort; /* asks for its place only */
    bool has_lost_name;  /* asks for a resource name beyond AMOUNT_DIMS: fits nowhere */
    struct str namespace;
    struct json *labels; /* only those that a term looks at */

    struct json *node_selector; /* nodeSelector or NULL */
    struct json *node_affinity; /* affinity.nodeAffinity or NULL */
    struct json *tolerations;   /* or NULL */
    struct json *images;        /* list of names or NULL */
    VEC(struct host_port) ports;
    VEC(struct class_claim) claims;
    bool has_device_claims; /* spec.resourceClaims: devices, which Pumice does not allocate */
    /* Inter-pod rules, as numbers of terms (terms.h). */
    VEC(uint32_t) need, avoid;   /* required pod affinity, anti-affinity */
    VEC(struct preference) like; /* preferred; negative for anti */
    VEC(struct spread_rule) spread;
    bool is_coupled; /* other pods matter: any of the four above, or a term of others that matches it */

    /* The same, made ready for comparing. */
    const struct node_rule *must; /* node_selector and what node_affinity requires; NULL: any node */
    VEC(struct node_preference) prefers;
    VEC(struct sched_image *) image_list;
    struct class_work *work; /* counters and caches; they change behind a const class */
};

/* Find the classes of all pods and roles again, if some term looks at a label key that no term looked at before; cheap
 * if not. class_ref() never does it by itself, since it would change classes under the caller: call it before a round.
 * The classes of pods and roles may be others afterwards; false: nothing had to be done. */
bool class_relabel(struct sched_model *m);

/* The class of a pod (or of a pod template: {metadata, spec}); one use is counted. */
const struct pod_class *class_ref(struct sched_model *m, struct str namespace, const struct json *pod);
void class_unref(struct sched_model *m, const struct pod_class *c); /* NULL is fine */
const struct pod_class *class_share(const struct pod_class *c);     /* one more use of a class that is used already */

#endif
