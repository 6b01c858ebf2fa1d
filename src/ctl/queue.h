/* queue.h - what is in a queue: its PodGroups, counted by phase */
#ifndef CTL_QUEUE_H
#define CTL_QUEUE_H

#include "ctl/ctl.h"

enum queue_count { QUEUE_INQUEUE, QUEUE_PENDING, QUEUE_RUNNING, QUEUE_UNKNOWN, QUEUE_COMPLETED, QUEUE_COUNT_MAX };

struct queue_counts {
    struct str queue;
    int64_t n[QUEUE_COUNT_MAX];
};

/* Of all queues of 'queues', in their order. PodGroups without a phase count nowhere. */
int queue_count(struct ctl *c, const struct ctl_objects *queues, struct queue_counts **ret, struct err *e);

#endif
