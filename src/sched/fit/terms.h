/* terms.h - rules about other pods: who matches, and how many of them are where
 *
 * A term is "pods with these labels in these namespaces, by this topology key": of a pod affinity, an anti-affinity or
 * a spread constraint. Equal terms of all classes are one. Per value of the topology key (zone a, zone b, …) it counts
 * the pods that match, the pods that refuse to be near such pods, and the weight of those that like or dislike it. So
 * whether a node will do is a look at a few counters, however many pods there are.
 *
 * Several required affinities of one pod are about the same other pods (Kubernetes counts a pod only if it matches all
 * of them): each such term has all parts, and its own topology key.
 */
#ifndef SCHED_FIT_TERMS_H
#define SCHED_FIT_TERMS_H

#include "sched/fit/class.h"
#include "sched/model/tally.h"

struct selector;
struct node_facts;

struct term_part {
    VEC(struct str) namespaces;
    struct selector *in;   /* namespaceSelector; NULL: none */
    struct selector *pods; /* labelSelector; NULL: no pod */
};

enum term_use { TERM_NEED, TERM_AVOID, TERM_LIKE, TERM_SPREAD, TERM_USE_MAX };

struct term {
    struct str key; /* canonical text */
    uint32_t id, uses;
    uint32_t used_as[TERM_USE_MAX]; /* by so many rules of classes */
    struct arena arena;
    VEC(struct term_part) parts; /* all must match */
    uint32_t topo;
    struct tallies by_value; /* numbers of values of 'topo' */
    struct tallies by_node;  /* numbers of slots; kept only for spread */
    struct tallies by_trial; /* as by_value, but only seats of the trial that is open: what FIT_EMPTY looks at */
    int64_t total;           /* pods in by_value */
};

struct topo_value {
    struct str name;
    uint32_t id, nodes;
};

struct topo { /* a label key of nodes */
    struct str key;
    struct map values;         /* struct topo_value by name */
    struct topo_value **by_id; /* NULL: free */
    uint32_t n_ids, cap_ids;
    uint32_t *at; /* by index in model.order: the number of the value */
    uint64_t at_epoch;
};

struct terms {
    struct map by_key;
    struct term **v; /* by id; NULL: free */
    uint32_t n, cap;
    uint32_t first_free; /* no number below it is free */
    struct topo *topos;
    uint32_t n_topos;
    struct map topo_ids; /* by key: the number in 'topos', and one */
    uint64_t epoch;      /* goes up when a node gets another value or index */
    struct arena arena;
};

void terms_init(struct sched_model *m);
void terms_done(struct sched_model *m);
static inline const struct term *term_at(const struct terms *t, uint32_t id)
{
    return t->v[id];
}

/* From {"m": [{"ns": […], "nss": {…}, "sel": {…}}], "k": key}; see class.c. One use is counted. The caller then says
 * terms_class_added(), which finds out what the new term matches. */
uint32_t term_ref(struct sched_model *m, const struct json *j, enum term_use use);

/* A class was made (its terms are set), or is dropped. */
void terms_class_added(struct sched_model *m, struct pod_class *c);
void terms_class_removed(struct sched_model *m, struct pod_class *c);

void terms_count(struct sched_model *m, const struct pod_class *c, const struct node_facts *facts, int by);
void terms_namespaces_changed(struct sched_model *m);
bool term_matches(const struct sched_model *m, const struct term *t, const struct pod_class *c);
bool class_is_matched(const struct pod_class *c, uint32_t term); /* as noted */

/* Does it matter to pods of this class what else is where? pod_class.is_coupled is this, kept. */
bool class_find_coupling(const struct sched_model *m, const struct pod_class *c);

/* ---- topology keys ---- */

uint32_t topo_need(struct sched_model *m, struct str key);
const uint32_t *topo_at(struct sched_model *m, uint32_t topo); /* by index; valid until nodes change */
uint32_t topo_value_find(const struct topo *t, struct str name);

/* The node's labels may be others: set facts->values again; pods on it are counted where they are now. */
void terms_facts_read(struct sched_model *m, struct node_facts *facts, const struct sched_node *n);
void terms_facts_gone(struct sched_model *m, struct node_facts *facts);

#endif
