/* summary.h - how a run ended, and its closing words */
#ifndef PROGRAM_RUN_SUMMARY_H
#define PROGRAM_RUN_SUMMARY_H

#include "history/history.h"

struct hints;

struct run_end {
    int status;        /* what the program exits with */
    struct str reason; /* empty: by itself */
    struct str hint;   /* what to do about it; may be empty */
    int64_t begin_ms, end_ms;
};

struct run_summary_options {
    const struct hints *hints; /* NULL: none are printed */
    bool has_colour;
    bool is_quiet; /* only what failed */
};

/* Print what became of each pod and job, and the last words of what failed. */
void run_summary(struct buf *out, const struct history *h, const struct run_end *end,
                 const struct run_summary_options *opt);

#endif
