/* waterfill.h - water filling: tubs of several widths that rise together until the water runs out
 *
 * Each tub holds clamp(base + weight × level, low, high), with one level for all. Whole numbers; the crumbs of rounding
 * go to the first tubs that rise, so nothing is lost.
 */
#ifndef SCHED_QUEUE_WATERFILL_H
#define SCHED_QUEUE_WATERFILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Amounts are below 2^61 and not negative. Larger weights are scaled down, all alike: only their relation counts. */
#define FILL_WEIGHT_MAX ((int64_t)1 << 40)

struct tub {
    int64_t base, low, high, weight; /* low <= high; weight 0: never rises */
    int64_t got;
    bool is_rising; /* for fill() itself */
};

struct waterfill_step { /* at level num/den a tub begins to rise, or is full */
    int64_t num, den;
    struct tub *tub;
    bool is_full;
};

/* Find the level at which all tubs together hold 'amount', and set 'got'; all full if that is less. At level 0 they
 * must not hold more. 'steps' is room for 2 × n of them. */
void fill(struct tub *tubs, size_t n, int64_t amount, struct waterfill_step *steps);

#endif
