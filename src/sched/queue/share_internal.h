/* share_internal.h - the tree of queues laid flat, for share.c and share_link.c */
#ifndef SCHED_QUEUE_SHARE_INTERNAL_H
#define SCHED_QUEUE_SHARE_INTERNAL_H

#include "sched/queue/share.h"

struct spot {
    struct sched_queue *q;
    uint32_t parent, first, n; /* index of the parent; children are [first, first + n) */
};

/* Parents before children, and the children of one queue side by side, by name. So a pass forward is top down, a pass
 * backward is bottom up, and siblings are one slice. The root is the first. */
struct share_tree {
    struct spot *v;
    size_t n;
};

/* Only queues that hang below root in the end are in it. */
struct share_tree share_flat(const struct sched_model *m, struct arena *a);

#endif
