/* sched_full.h - the part of bench/sched.c about full clusters */
#ifndef BENCH_SCHED_FULL_H
#define BENCH_SCHED_FULL_H

#include <stdbool.h>

void bench_full(bool is_short); /* a table on standard output; short: on 200 nodes */

#endif
