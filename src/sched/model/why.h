/* why.h - why a group waits: one reason from a fixed list, with the numbers
 *
 * Every refusal in the scheduler ends in one of these. status.c turns it into a condition, whatif/advice.h into advice.
 */
#ifndef SCHED_MODEL_WHY_H
#define SCHED_MODEL_WHY_H

#include "sched/model/amount.h"

enum why_kind {
    WHY_NOT,      /* it does not wait */
    WHY_NO_QUEUE, /* its queue does not exist */
    WHY_QUEUE_CLOSED,
    WHY_QUEUE_HAS_CHILDREN, /* only leaf queues run jobs (D25) */
    WHY_NOT_ENOUGH_PODS,    /* fewer live pods than the minimum: have, need */
    WHY_NOT_ENOUGH_OF_ROLE, /* the same for 'role' */
    WHY_GATED,              /* scheduling gates: have (gated), need */
    WHY_CAPABILITY,         /* queue 'queue' (itself or one above) would pass its capability: dim, have (free), need */
    WHY_GUARANTEE, /* what other queues below 'queue' are guaranteed and do not use would be touched: dim, have, need */
    WHY_FAIR_SHARE,     /* other queues are entitled to the room: dim, have (left of the fair share), need */
    WHY_QUEUE_RESERVED, /* what 'queue' may have is kept for 'other', or was promised to others: dim, have, need */
    WHY_NO_ROOM,        /* the nodes have not enough free now: have (placeable), need (minimum; of 'role', if
                           one is named) */
    WHY_HELD,           /* there is room, but it is kept for 'other', which waits longer: until_ms */
    WHY_NEVER_FITS,     /* not even on empty nodes: have (placeable), need */
    WHY_TOPOLOGY,       /* no domain of an allowed tier has room: have (best domain), need */
    WHY_ORDER,          /* fifo: 'other' is first in this queue and waits */
    WHY_EVICTING,       /* room is being made: have (evictions still to come) */
    WHY_NO_PODS_YET,    /* admitted; its controller creates the pods, and says what keeps it from that: no condition */
    WHY_TOO_MANY_NAMES, /* more resource names than AMOUNT_DIMS */
    WHY_NO_ALLOCATE,    /* the configured actions place nothing */
    WHY_MAX,
};
extern const char *const why_names[WHY_MAX]; /* "QueueClosed" …: the reason in machine form */
enum why_kind why_named(struct str name);    /* WHY_NOT: none has this name */

struct why_node {    /* a cause on some nodes, in kube-scheduler's words */
    struct str text; /* "Insufficient cpu" */
    uint32_t nodes;
};

enum { WHY_NODES = 8, WHY_TEXT = 64 };

struct why {
    enum why_kind kind;
    int dim; /* the resource that is short; -1: none in particular */
    int64_t have, need;
    struct amounts needs; /* WHY_NO_ROOM: what the missing part of the minimum asks for */
    char role[WHY_TEXT], queue[WHY_TEXT];
    char other[2 * WHY_TEXT]; /* "namespace/name" of another group */
    int64_t until_ms;         /* WHY_HELD, WHY_QUEUE_RESERVED: when 'other' can start at the latest; 0: not known */
    uint32_t n_nodes;         /* nodes looked at */
    struct {
        char text[2 * WHY_TEXT];
        uint32_t count;
    } causes[WHY_NODES]; /* why the first pod without a place fits on none, most frequent first */
    uint32_t n_causes;
    char pod[2 * WHY_TEXT]; /* … that pod, or the role of a pod to come */
    bool is_brief;          /* the causes, and perhaps 'have', were not counted: gang_complete() */
    bool is_sum;            /* neither pods nor templates are known: 'needs' has too much of 'dim' in sum */
    bool is_never;          /* WHY_CAPABILITY, WHY_GUARANTEE: it asks for more than its queue may ever have */
    bool is_passed;         /* it can never run as things stand, and its fifo queue goes on without it */
};

extern const struct why why_none; /* WHY_NOT */

bool why_is_of_queue(enum why_kind kind); /* what a queue may have is short, not the nodes */

/* "0/5 nodes are unavailable: 2 node(s) were unschedulable, 3 Insufficient cpu.": sorted as kube-scheduler does. */
void why_print_causes(struct buf *out, const struct why *w);

/* One sentence for people: "4 places are needed together, 3 are there; for train-worker-3 0/5 nodes are unavailable:
 * …". */
void why_print(struct buf *out, const struct dims *dims, const struct why *w);

/* The end of that sentence for one that its fifo queue has passed. */
void why_print_passed(struct buf *out, const struct why *w);

#endif
