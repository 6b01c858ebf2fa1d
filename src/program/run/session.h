/* session.h - one run from beginning to end: what it takes over, what it tells, what it gives back */
#ifndef PROGRAM_RUN_SESSION_H
#define PROGRAM_RUN_SESSION_H

#include "cli/load.h"

struct run_options;
struct run_place;

struct run_request {
    const struct run_options *o;
    struct load *load;
    struct json *capacity; /* of --node; NULL: none is given */
    int64_t timeout_ms;    /* INT64_MAX: none */
    int64_t max_restarts;  /* the same */
    int64_t silence_ms;    /* 0: silence is not reported */
    const struct run_place *place;
};
int run_session(struct arena *a, const struct run_request *q); /* returns the exit status */

#endif
