/* sched_full.h - the part of bench/sched.c about full clusters */
#ifndef BENCH_SCHED_FULL_H
#define BENCH_SCHED_FULL_H

#include <stdbool.h>

/* A table on standard output. Short: on 200 nodes. 'only': cases with this in their name; NULL: all. */
void bench_full(bool is_short, const char *only);

#endif
