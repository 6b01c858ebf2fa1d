/* share.h - what each queue is entitled to
 *
 * Two numbers per queue and resource. 'limit' is the most it may ever have, 'fair' what is its own as things stand.
 * Both are worked out top down, each resource for itself:
 *
 *   limit = capability, but never what the guarantees of its siblings take, nor more than the limit of the queue above.
 *           A guarantee is never lent. Where more is guaranteed than there is (nodes were lost), each may take what is
 *           free within its own guarantee; no other queue may.
 *   fair  = 1. everybody gets what it asks for up to its guarantee;
 *           2. then up to its deserved amount, where one is written;
 *           3. what is left goes to those that still ask for more, in proportion to their weights, until none asks or
 *              nothing is left. What a guarantee gave counts as part of this share, a deserved amount comes on top: the
 *              result is clamp(deserved + weight × level, guarantee, ask) with one level for all siblings.
 *           Where 1 or 2 asks for more than there is, it is cut in proportion to the guarantees (the deserved amounts).
 *
 * A queue asks for allocated + going + demand; an inner queue for what its children ask for, each up to its limit.
 * Below a queue its children share what it got, in the same way. The root shares out what the nodes have that
 * groups may use (model.usable), less what pods without a group use. Numbers are whole; crumbs go to the first queues by
 * name, so nothing is lost to rounding.
 *
 * So 'fair' leaves nothing idle that a queue may use, and two rules follow from it: a queue may take more while it
 * stays within 'fair', and gives back what is above it when another is below its own (reclaim).
 *
 * How the fields of a Queue read (model.h): a name that is missing in capability is unlimited there; missing in
 * guarantee it is 0; missing in a deserved list that names others it is 0 too (written -1, D36): the queue then only
 * gets its part of step 3. Without any deserved list an inner queue has the sum of its children's; its guarantee is at
 * least the sum of theirs.
 *
 * Hierarchy is always on; a queue without parent, or with one that does not exist or leads back to itself, hangs below
 * root (D27). What is allocated counts in the whole path at once (D26). Only requested resources count in any test
 * (D31).
 */
#ifndef SCHED_QUEUE_SHARE_H
#define SCHED_QUEUE_SHARE_H

#include "sched/model/model.h"

/* Put parents, children and cycles right after Queues changed, and the sums over children with them. share_update()
 * calls it when a queue has another parent than it should; until then the sums go along the old parents. */
void share_link(struct sched_model *m);

/* Recompute fair and limit of every queue. Cheap when nothing changed (model.shares_changed). Where a queue that had
 * less than it asks for gets more, or a limit went up, model.room_gen goes up. Not while a trial is open (gang.h): its
 * places would count as pods of others. */
void share_update(struct sched_model *m);

enum share_test {
    SHARE_LIMIT,
    SHARE_FAIR,
    SHARE_ADMISSION, /* limit, with what was promised to admitted groups (queue.admitted) counted too */
};

/* What a queue refuses first. */
struct share_lack {
    const struct sched_queue *queue; /* on the way up, the one that has least left */
    int dim;                         /* the first dimension that lacks */
    int64_t left;                    /* of it; >= 0 */
};

/* May the queue take 'ask' more? Looks at it and every queue above: allocated + going + ask must stay within fair, or
 * limit; where the victims of a reclaim are already taken away (queue.out), what was there before will do as well as
 * fair. A refusal sets 'ret' (may be NULL). Without SHARE_FAIR only a queue with a bound of its own (limit below that
 * of its parent) is named, and the root, which stands for the cluster, if there is none. */
bool share_allows(const struct sched_model *m, const struct sched_queue *q, const struct amounts *ask,
                  enum share_test test, struct share_lack *ret);

/* The least that a queue and those above it have left, each resource for itself, before this ask is made. */
struct share_left {
    struct amounts any;     /* beyond this one of them refuses … */
    struct amounts cluster; /* … beyond this because there is no more (BOUND_CLUSTER) … */
    struct amounts fair;    /* … beyond this by a fair share, if none of the others refuses … */
    uint8_t any_up[AMOUNT_DIMS], fair_up[AMOUNT_DIMS]; /* … of a queue so many above it … */
    struct amounts own; /* … and beyond this by a bound of the queues themselves that comes before that; in an
                             * admission also by what is kept for, or was promised to, others of a queue below root */
};
void share_left(const struct sched_model *m, const struct sched_queue *q, enum share_test test, bool is_admission,
                struct share_left *ret);

/* Does the queue, or one above it, have more than its limit already, in one of these dimensions (a bit for each)? */
bool share_is_exceeded(const struct sched_model *m, const struct sched_queue *q, uint32_t dims);

/* May 'lose' be taken from the queue by reclaim for 'need'? The queue is reclaimable, above its fair share in a
 * resource that is needed and that 'lose' has, and does not fall below its guarantee; the same for queues above it up
 * to the common ancestor with 'taker'. A whole gang may bring a queue below its fair share, but not to a smaller part of
 * it than the taker's queue has now: that would only change who is short. */
bool share_spares(const struct sched_model *m, const struct sched_queue *q, const struct sched_queue *taker,
                  const struct amounts *lose, const struct amounts *need);

/* Which bound refuses it? Asked after share_allows() said no. A bound that refuses for good comes before one that
 * refuses for now, each resource by itself. */
enum share_bound {
    BOUND_CAPABILITY, /* of 'queue' */
    BOUND_GUARANTEE,  /* what others are guaranteed, below 'queue' or beside it */
    BOUND_CLUSTER,    /* there is no more */
    BOUND_FAIR,       /* the fair share of 'queue' */
    BOUND_KEPT,       /* 'queue' may have it, but it is kept for, or was promised to, others of it */
};
struct share_refusal {
    enum share_bound bound;
    const struct sched_queue *queue;
    int dim;
    int64_t left; /* >= 0 */
};
void share_refusal(const struct sched_model *m, const struct sched_queue *q, const struct amounts *ask,
                   enum share_test test, struct share_refusal *ret);

/* Who is served first: higher priority, then the smaller allocated/fair, then the older, then by name; compared at the
 * two queues just below the common ancestor. A queue comes before those below it. */
int share_cmp(const struct sched_model *m, const struct sched_queue *a, const struct sched_queue *b);

/* allocated/fair, in 1/2^20. */
int64_t share_of(const struct sched_model *m, const struct sched_queue *q);

/* model.usable, up to date. Cheap when no Node and no toleration is new. */
void usable_update(struct sched_model *m);

/* May some pod of the group go to this node, by its cordon and taints? */
bool group_tolerates(const struct sched_group *g, const struct sched_node *n);

/* The lowest queue that has both below it or is one of them; both are linked (share_link). */
const struct sched_queue *share_common(const struct sched_queue *a, const struct sched_queue *b);

#endif
