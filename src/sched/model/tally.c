/* tally.c - open addressing with linear probing, closing gaps on removal */
#include "sched/model/tally.h"

#include "base/util.h"

enum { CAP_MIN = 8 };

void tallies_done(struct tallies *t)
{
    free(t->v);
    *t = (struct tallies){ 0 };
}

static uint32_t tally_slot_of(const struct tallies *t, uint32_t place)
{
    uint32_t mask = t->cap - 1, i = tally_home(place) & mask;

    while (t->v[i].place && t->v[i].place != place)
        i = (i + 1) & mask;
    return i;
}

static void tally_grow(struct tallies *t)
{
    struct tallies old = *t;

    t->cap = old.cap ? 2 * old.cap : CAP_MIN;
    t->v = xcalloc(t->cap, sizeof(*t->v));
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.v[i].place)
            t->v[tally_slot_of(t, old.v[i].place)] = old.v[i];
    free(old.v);
}

/* Later entries move back into the gap, unless that would put them before their home. */
static void close_gap(struct tallies *t, uint32_t gap)
{
    uint32_t mask = t->cap - 1;

    for (uint32_t i = (gap + 1) & mask; t->v[i].place; i = (i + 1) & mask) {
        uint32_t home = tally_home(t->v[i].place) & mask;

        if (((i - home) & mask) >= ((i - gap) & mask)) {
            t->v[gap] = t->v[i];
            gap = i;
        }
    }
    t->v[gap] = (struct tally){ 0 };
}

void tallies_add(struct tallies *t, uint32_t number, int32_t pods, int32_t owners, int32_t weight)
{
    uint32_t i;

    if (4 * (t->n + 1) > 3 * t->cap)
        tally_grow(t);
    i = tally_slot_of(t, number + 1);
    if (!t->v[i].place)
        t->n++;
    t->v[i].place = number + 1;
    t->v[i].pods += pods;
    t->v[i].owners += owners;
    t->v[i].weight += weight;
    if (t->v[i].pods || t->v[i].owners || t->v[i].weight)
        return;
    t->n--;
    close_gap(t, i);
}
