/* work_queue.h - what has to be looked at: keys, each once, in order of arrival
 *
 * A key that is added while it waits is still one entry (coalescing), so many events make one plan. Ready keys come out
 * first in, first out: a busy key cannot starve the others. A key may also wait for a time (work_queue_add_at): a timer
 * of a plan, or the back-off after a failure. An earlier time wins over a later one, and work_queue_add() over both.
 *
 * Time is passed in and only compared; nothing depends on the order of a hash table.
 */
#ifndef DRIVER_WORK_QUEUE_H
#define DRIVER_WORK_QUEUE_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

enum { WORK_BACKOFF_MIN_MS = 5, WORK_BACKOFF_MAX_MS = 300000 };

struct work_queue {
    struct map keys;     /* struct work by key */
    struct list ready;   /* struct work.link */
    struct heap waiting; /* struct work.node, by time, then by order of arrival */
    uint64_t seq;
    struct work *last; /* its key was given out and must live until the next pop */
};

void work_queue_init(struct work_queue *q, uint64_t seed);
void work_queue_done(struct work_queue *q);

/* Look at 'key' (copied) as soon as its turn comes. */
void work_queue_add(struct work_queue *q, struct str key);

/* Look at it at 'at_ms'. Nothing happens if it is ready or due earlier. */
void work_queue_add_at(struct work_queue *q, struct str key, int64_t at_ms);

/* It failed: look at it again after 5 ms, and twice as long after each further failure, up to 5 minutes. Returns that
 * delay. work_queue_forget: it works again; the next failure begins at 5 ms. */
int64_t work_queue_add_failed(struct work_queue *q, struct str key, int64_t now_ms);
void work_queue_forget(struct work_queue *q, struct str key);

/* The next key that is ready or due, taken out; false if there is none. '*ret' is valid until the next pop. */
bool work_queue_pop(struct work_queue *q, int64_t now_ms, struct str *ret);

/* The key is no more: neither ready nor waiting, and its failures are forgotten. */
void work_queue_drop(struct work_queue *q, struct str key);

/* When the next key is due; INT64_MIN: one is ready, INT64_MAX: none waits. */
int64_t work_queue_due(const struct work_queue *q);

size_t work_queue_count(const struct work_queue *q); /* ready or waiting */

#endif
