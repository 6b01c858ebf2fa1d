/* pace.h - how many requests may be on their way at a time
 *
 * A fixed rate is too much for a small server and too little for a large one. So the number of requests in flight is
 * found by trying, as TCP finds its window: one more for each that is answered until the first sign of trouble, from
 * then on one more for each round of them; fewer when answers become slow beside the quickest ones (the server queues),
 * half when it says that it is too busy (429) or does not answer. A server that says how long to wait is left alone for
 * that long, and a little longer by chance, so that many clients do not come back at the same moment.
 *
 * Pure: times are given by the caller, in one and the same clock that is never below 0.
 */
#ifndef KUBE_PACE_H
#define KUBE_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum { PACE_FIRST = 32, PACE_LEAST = 32, PACE_MOST = 100 }; /* PACE_LEAST: below that only a busy server brings us */

struct pace {
    uint32_t limit_milli; /* thousandths of a request */
    unsigned in_flight;
    bool is_steady;                  /* there was trouble once: no more doubling */
    int64_t quick_us, last_quick_us; /* the quickest answer of this window of time and of the last; 0: none */
    int64_t usual_us;                /* the average of the last ones; 0: none */
    int64_t window_ms;               /* when the window ends */
    int64_t cut_ms;                  /* requests sent before that do not count as new trouble */
    int64_t hold_ms;                 /* nothing is sent before */
};

enum pace_answer {
    PACE_FINE,   /* answered, whatever the answer */
    PACE_BUSY,   /* refused because the server is too busy: it did nothing */
    PACE_SILENT, /* no answer */
};

void pace_init(struct pace *p);
bool pace_may(const struct pace *p, int64_t now_ms);
void pace_sent(struct pace *p);

struct pace_result { /* of a request that has ended */
    enum pace_answer answer;
    int64_t sent_ms, now_ms, took_us;
    int64_t wait_ms; /* what a busy server asked for; 0: nothing */
    uint64_t chance; /* any number: the wait is longer by up to a quarter, so that clients do not return together */
};
void pace_ended(struct pace *p, const struct pace_result *r);
/* It was called back. */
void pace_cancelled(struct pace *p);

static inline unsigned pace_limit(const struct pace *p)
{
    return p->limit_milli / 1000;
}

#endif
