/* fit.h - which node for a pod of this class?
 *
 * Rules (predicates) say where it may go, scores where it goes best; the same state always gives the same node: the
 * best score, and among equals the first in model.order. For a class whose rules look only at the node itself the
 * answer comes from a tree over the nodes that is kept from pod to pod: a placement costs the logarithm of the nodes.
 * Where other pods matter (affinity, spread) the nodes are walked, with counters per domain instead of pods.
 */
#ifndef SCHED_FIT_FIT_H
#define SCHED_FIT_FIT_H

#include "sched/fit/class.h"
#include "sched/model/why.h"

/* What counts as free on a node. */
enum fit_room {
    FIT_NOW,   /* total - used - held */
    FIT_SOON,  /* … + what pods that are being deleted will give back */
    FIT_EMPTY, /* … + all pods of groups; of the rules about other pods only those among the pods of one trial count.
                  "Could it ever?" */
    FIT_ROOM_MAX,
};

/* Where does a pod go? Rules and scores look at its class and at its group: the node groups of the group's queue, and
 * the nodes of its other pods. */
struct fit_question {
    const struct pod_class *class;
    const struct sched_group *group; /* NULL: none */
    enum fit_room room;
};

struct fit_range { /* nodes [from, to) of model.order: a domain, or all */
    uint32_t from, to;
};
static inline struct fit_range fit_all(const struct sched_model *m)
{
    return (struct fit_range){ 0, m->n_order };
}

void fit_init(struct sched_model *m);
void fit_done(struct sched_model *m);

/* The best node for one more pod, or NULL. model_order() has been called. */
struct sched_node *fit_best(struct sched_model *m, const struct fit_question *q, struct fit_range range);

struct fit_count {
    int64_t n;     /* so many at most … */
    bool is_exact; /* … and just so many: no rule looks at other pods or ports */
};

/* How many pods of the class find places in a range, each taking what it asks for. What was lifted (hold.h) counts as
 * free; 'is_unkept': so does all that is kept. Costs as much as the nodes that changed since it was last asked. */
struct fit_count fit_places(struct sched_model *m, const struct fit_question *q, struct fit_range range,
                            bool is_unkept);

/* May it go there? Every rule is asked; '*ret_why' (may be NULL) gets the first that says no, in kube-scheduler's
 * words. Text is constant or lives until the next call. */
bool fit_node(struct sched_model *m, const struct fit_question *q, const struct sched_node *n, struct str *ret_why);

/* Count the causes over a range of nodes into w->causes (sorted: most frequent first, then by text) and w->n_nodes. */
void fit_why(struct sched_model *m, const struct fit_question *q, struct fit_range range, struct why *w);

/* The score of a node, without asking the rules; parts (may be NULL) gets each weighted score. */
int64_t fit_score(struct sched_model *m, const struct pod_class *c, const struct sched_group *group,
                  const struct sched_node *n, int64_t *ret_parts);

/* ---- told by model.c and feed.c ---- */

/* A pod of this class came to (+1) or left (-1) a node. */
void fit_count(struct sched_model *m, const struct pod_class *c, struct sched_node *n, int by);

/* Amounts or ports on a node changed. Cheap: one entry in a log. */
void fit_node_changed(struct sched_model *m, struct sched_node *n);

/* What the Node says changed: it exists, labels, taints, images, is_unschedulable, total. After the change; the pods on
 * it are counted again under its new labels. */
void fit_node_told(struct sched_model *m, struct sched_node *n);

/* A node is about to be freed. No pod is on it. */
void fit_node_gone(struct sched_model *m, struct sched_node *n);

void fit_reordered(struct sched_model *m);       /* model.order is another */
void fit_volumes_changed(struct sched_model *m); /* a volume, or a claim that a pod wants (volume.c) */
void fit_volume_taken(struct sched_model *m);    /* one was taken for a claim, or given back */
bool fit_wants_claim(const struct sched_model *m, struct str namespace, struct str name);
void fit_namespaces_changed(
    struct sched_model *m); /* labels of a Namespace: terms with a namespaceSelector look again */
void fit_class_gone(struct sched_model *m, const struct pod_class *c);

#endif
