/* tally.h - counters by small number: pods per topology value, pods per node
 *
 * Most terms concern few places, so the counters are a hash table that holds only what is not zero. Looking up is a few
 * nanoseconds, which is what walking all nodes needs. A zeroed struct is an empty table.
 */
#ifndef SCHED_MODEL_TALLY_H
#define SCHED_MODEL_TALLY_H

#include <stdint.h>

struct tally {
    uint32_t place; /* number + 1; 0: nothing here */
    int32_t pods;   /* that match */
    int32_t owners; /* pods that must not be where such pods are */
    int32_t weight; /* sum of the wishes of pods that prefer to be (or not to be) near such pods */
};

struct tallies {
    struct tally *v;
    uint32_t n, cap; /* cap: a power of two, or 0 */
};

void tallies_done(struct tallies *t);
void tallies_add(struct tallies *t, uint32_t number, int32_t pods, int32_t owners, int32_t weight);

static inline uint32_t tally_home(uint32_t place)
{
    uint32_t h = place * 0x9e3779b1U;

    return h ^ (h >> 15);
}

/* All zero where nothing was counted. */
static inline struct tally tally_of(const struct tallies *t, uint32_t number)
{
    uint32_t place = number + 1, mask = t->cap - 1;

    if (t->n)
        for (uint32_t i = tally_home(place) & mask; t->v[i].place; i = (i + 1) & mask)
            if (t->v[i].place == place)
                return t->v[i];
    return (struct tally){ 0 };
}

#define TALLY_FOREACH(item, t)                                                                                         \
    for (struct tally *item = (t)->v; item && item < (t)->v + (t)->cap; item++)                                        \
        if (item->place)

#endif
