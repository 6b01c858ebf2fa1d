/* sched_internal.h - what a scheduler is made of */
#ifndef SCHED_SCHED_INTERNAL_H
#define SCHED_SCHED_INTERNAL_H

#include "sched/model/model.h"
#include "sched/sched.h"

struct sched {
    struct sched_model m;
    uint64_t room, yields; /* of the model when the last round began */
    struct arena late;
    struct arena answers;          /* to questions since the last round */
    VEC(struct decision) failures; /* for the next round; in 'late' */
};

#endif
