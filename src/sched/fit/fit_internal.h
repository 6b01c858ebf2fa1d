/* fit_internal.h - what class.c, terms.c, interpod.c, view.c, score.c and fit.c share
 *
 * A node has facts: what was worked out from its labels and images. A class has a work sheet: where pods of it are,
 * which terms match it, and what is known about each node. Both can be dropped and made again at any time.
 */
#ifndef SCHED_FIT_FIT_INTERNAL_H
#define SCHED_FIT_FIT_INTERNAL_H

#include "sched/fit/fit.h"
#include "sched/model/tally.h"
#include "sched/fit/terms.h"
#include "sched/fit/view.h"

enum { NO_VALUE = UINT32_MAX }; /* the node lacks the label */

struct sched_image { /* a name of an image that some node has or some class asks for */
    struct str name;
    uint32_t uses;
    uint32_t nodes; /* that have it; 0: no need to look */
};

struct node_image {
    struct sched_image *image;
    int64_t bytes;
};

struct node_facts {
    uint32_t slot;    /* small, stays while the node is known */
    uint32_t *values; /* by topology key: the number of its value, or NO_VALUE */
    uint32_t n_values;
    struct node_image *images; /* by address */
    uint32_t n_images;
    int64_t pods; /* counted on it, of all classes */
};

/* Why a node is refused whatever runs on it. */
enum fit_refusal {
    REFUSE_UNSCHEDULABLE = 1,
    REFUSE_TAINT = 2,
    REFUSE_AFFINITY = 4,
    REFUSE_VOLUME = 8,
};

struct class_work {
    struct tallies spots; /* pods of the class by slot of the node */
    uint32_t *matched;    /* terms that match it, sorted */
    uint32_t n_matched, cap_matched;
    int32_t *fixed; /* by index: what does not depend on amounts: -refusals, or its part of the score */
    uint32_t n_fixed;
    uint64_t epoch, volumes, told; /* of the state 'fixed' was made from */
    struct view *views[FIT_ROOM_MAX];
};

struct fit {
    struct map classes;    /* struct pod_class by key */
    struct map images;     /* struct sched_image by name */
    struct arena arena;    /* of label keys */
    struct map label_keys; /* that terms look at; a set */
    bool must_relabel;
    VEC(uint32_t) free_ids; /* of classes; in 'arena' */
    uint32_t next_id;

    struct node_facts **notes; /* by slot; NULL: free */
    uint32_t n_notes, cap_notes, n_free_notes;

    struct terms terms;
    struct views views;
    int weights[SCORE_KIND_MAX]; /* that views were made with */
    uint64_t volumes;            /* goes up with every change of a volume or claim … */
    uint64_t taken;              /* … and when one is taken for a claim, or given back */
    struct arena scratch;        /* of one question */
    struct arena decode;         /* of class_ref */
    struct buf text;             /* of the last answer */
};

void class_drop_all(struct sched_model *m); /* pods and roles that still hold one must not use it */

struct node_facts *node_facts_of(struct sched_model *m, struct sched_node *n); /* made when it is new */
void node_note_read(struct sched_model *m, struct node_facts *facts,
                    const struct sched_node *n); /* it may be another */
void node_note_free(struct sched_model *m, struct node_facts *facts);
int64_t node_facts_image_bytes(const struct node_facts *facts, const struct sched_image *image);
struct sched_image *image_ref(struct fit *f, struct str name); /* ":latest" where there is no tag */
void image_unref(struct fit *f, struct sched_image *image);

/* -refusals, or the part of the score that does not depend on what runs there. */
bool fit_tolerates(const struct pod_class *c, const struct sched_node *n); /* its cordon and its taints */
int32_t fit_fixed(struct sched_model *m, const struct pod_class *c, struct sched_node *n);
bool fit_ports_are_free(const struct pod_class *c, const struct sched_node *n);

struct interpod; /* interpod.h */

/* Rules about other pods; '*k' is off where there are none. */
void fit_begin(struct sched_model *m, const struct fit_question *q, struct interpod *k);
/* Why a node does not take one more: the resources that it lacks, as bits; or 0 and another rule in words; or 0 and
 * STR_NULL: it does. The words are constant or live until the next call. */
uint32_t fit_refusal(struct sched_model *m, const struct fit_question *q, const struct sched_node *n,
                     const struct interpod *k, struct str *ret_text);
struct str fit_dim_text(struct sched_model *m, int d); /* "Insufficient cpu"; lives until the next call */

/* What is free on a node in a dimension. What is kept for groups does not count against "could it ever?". */
static inline int64_t free_on(const struct sched_node *n, enum fit_room room, int d)
{
    int64_t free = n->total.v[d] - n->used.v[d];

    switch (room) {
    case FIT_NOW:
        return free - n->held.v[d];
    case FIT_SOON:
        return free - n->held.v[d] + n->going.v[d];
    default:
        return free + n->moving.v[d];
    }
}

static inline bool has_room(const struct pod_class *c, const struct sched_node *n, enum fit_room room)
{
    for (uint32_t left = c->ask_dims; left; left &= left - 1) {
        int d = __builtin_ctz(left);

        if (c->ask.v[d] > free_on(n, room, d))
            return false;
    }
    return true;
}

#endif
