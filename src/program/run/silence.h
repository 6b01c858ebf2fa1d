/* silence.h - reports jobs without output for long, and where their processes wait */
#ifndef PROGRAM_RUN_SILENCE_H
#define PROGRAM_RUN_SILENCE_H

#include <stdint.h>

struct run;

struct run_silence {
    int64_t limit_ms; /* 0: it is never told */
    int64_t since_ms;
    int n_told;
};

void run_heard(struct run *r); /* a container has written something, or something happened to a pod */
int64_t run_silence_due(const struct run *r);
void run_silence_turn(struct run *r);

/* ---- stacks.c ---- */

void run_stacks(struct run *r); /* tell what all processes wait in */

#endif
