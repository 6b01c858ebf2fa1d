/* crashes.h - containers that fail again and again: told once, and with --max-restarts the end of the run */
#ifndef PROGRAM_RUN_CRASHES_H
#define PROGRAM_RUN_CRASHES_H

#include "history/history.h"

struct run;

struct run_crashes {
    struct arena arena;
    struct map counts; /* by "namespace/pod/container" */
};
void run_crashes_add(struct run *r, const struct history_failure *f);
void run_crashes_done(struct run_crashes *c);

#endif
