/* waterfill.c - water filling
 *
 * The levels at which a tub begins to rise or is full are sorted; between two of them the sum of all tubs is a straight
 * line, and somewhere on it the water runs out.
 */
#include "sched/queue/waterfill.h"

#include "base/util.h"

#include <stdlib.h>

static int step_cmp(const void *pa, const void *pb)
{
    const struct waterfill_step *a = pa, *b = pb;
    __int128 left = (__int128)a->num * b->den, right = (__int128)b->num * a->den;

    if (left != right)
        return left < right ? -1 : 1;
    if (a->tub != b->tub)
        return a->tub < b->tub ? -1 : 1; /* tubs are in order of the name */
    return (int)a->is_full - (int)b->is_full;
}

static size_t list_steps(struct tub *tubs, size_t n, struct waterfill_step *steps)
{
    size_t n_steps = 0;

    for (size_t i = 0; i < n; i++) {
        struct tub *t = &tubs[i];

        if (t->weight == 0 || t->got == t->high)
            continue;
        steps[n_steps++] = (struct waterfill_step){ t->got - t->base, t->weight, t, false };
        steps[n_steps++] = (struct waterfill_step){ t->high - t->base, t->weight, t, true };
    }
    qsort(steps, n_steps, sizeof(*steps), step_cmp);
    return n_steps;
}

/* Share 'amount' among the rising tubs, above their bases: whole numbers, the crumbs to the first that have room. */
static void pour(struct tub *tubs, size_t n, __int128 amount, __int128 weights)
{
    __int128 crumbs = amount;

    for (size_t i = 0; i < n; i++)
        if (tubs[i].is_rising) {
            int64_t part = (int64_t)(amount * tubs[i].weight / weights);

            tubs[i].got = tubs[i].base + part;
            crumbs -= part;
        }
    for (size_t i = 0; i < n && crumbs > 0; i++)
        if (tubs[i].is_rising && tubs[i].got < tubs[i].high) {
            tubs[i].got++;
            crumbs--;
        }
}

/* So that no product below passes 2^127. */
static void scale_weights(struct tub *tubs, size_t n)
{
    int64_t largest = 0;
    int shift = 0;

    for (size_t i = 0; i < n; i++)
        largest = MAX_OF(largest, tubs[i].weight);
    while (largest >> shift > FILL_WEIGHT_MAX)
        shift++;
    for (size_t i = 0; i < n && shift; i++)
        tubs[i].weight = tubs[i].weight ? MAX_OF(tubs[i].weight >> shift, 1) : 0;
}

void fill(struct tub *tubs, size_t n, int64_t amount, struct waterfill_step *steps)
{
    __int128 rest = amount; /* less what standing tubs hold, less the bases of rising ones */
    __int128 weights = 0;   /* of rising ones */
    size_t n_steps;

    scale_weights(tubs, n);
    for (size_t i = 0; i < n; i++) {
        tubs[i].got = MIN_OF(MAX_OF(tubs[i].base, tubs[i].low), tubs[i].high);
        tubs[i].is_rising = false;
        rest -= tubs[i].got;
    }
    n_steps = list_steps(tubs, n, steps);
    for (size_t i = 0; i < n_steps; i++) {
        struct tub *t = steps[i].tub;

        if (weights > 0 && weights * steps[i].num >= rest * steps[i].den)
            break;
        t->is_rising = !steps[i].is_full;
        weights += t->is_rising ? t->weight : -t->weight;
        rest += t->is_rising ? t->got - t->base : t->base - t->high;
        t->got = t->is_rising ? t->got : t->high;
    }
    if (weights > 0)
        pour(tubs, n, rest, weights);
}
