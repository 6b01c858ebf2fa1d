/* progress.h - how the run goes, on standard error: lines, or on a terminal a block that is redrawn below them */
#ifndef PROGRAM_RUN_PROGRESS_H
#define PROGRAM_RUN_PROGRESS_H

#include "program/run/failures.h"
#include "history/history.h"

struct hints;
struct run_logs;
struct run_out;

struct run_progress {
    const struct history *history;
    const struct hints *hints; /* what to do about failures is made from these; NULL: nothing is said */
    struct run_out *out;       /* on a terminal both share the screen */
    bool is_live, is_plain, is_quiet, has_colour, shares_screen;
    int64_t begin_ms, drawn_ms, told_ms;
    int64_t until_ms;            /* the run times out then; 0: it does not */
    size_t n_lines;              /* of the block on the screen; 0: none */
    uint64_t changes;            /* of the history, when it was drawn or told */
    uint64_t moves;              /* … of progress bars of programs */
    const struct run_logs *logs; /* which have those; may be NULL */
    bool is_stopping, is_ending; /* ending: the summary reports the rest */
    struct buf block;
    bool moved;         /* … of this line: */
    struct buf pulling; /* images that are on their way, in a line */
    struct map waits;   /* jobs whose wait was reported: uid → text */
    struct run_failures failures;
    struct arena arena;
};

enum run_progress_kind {
    RUN_PROGRESS_ALL,
    RUN_PROGRESS_QUIET, /* only what people must know */
    RUN_PROGRESS_NONE   /* events are printed as JSON instead */
};

void run_progress_init(struct run_progress *p, const struct history *h, struct run_out *out,
                       enum run_progress_kind kind, int64_t now_ms);
void run_progress_done(struct run_progress *p);

/* Draw or tell what is new. Returns when to call again at the latest. */
int64_t run_progress_turn(struct run_progress *p, int64_t now_ms);
void run_progress_hide(struct run_progress *p); /* before anything else is written */

void run_progress_job(struct run_progress *p, const struct history_job *j, int64_t now_ms);
void run_progress_pod(struct run_progress *p, const struct history_pod *pod, int64_t now_ms);
/* Something failed; 'is_seen': its last lines stand right above. */
void run_progress_failure(struct run_progress *p, const struct history_failure *w, bool is_seen, int64_t now_ms);
void run_progress_decision(struct run_progress *p, const struct history_job *j, struct str message, int64_t now_ms);
void run_progress_pulling(struct run_progress *p, struct str line); /* a line of the block; empty: none */
/* A line for people, above the block. */
void run_progress_say(struct run_progress *p, struct str sentence);
void run_progress_lines(struct run_progress *p, struct str lines); /* as they are */

/* block.c: the block itself, 'rows' lines of 'columns' at most. Returns how many. */
size_t run_progress_block(const struct run_progress *p, struct buf *out, size_t columns, size_t rows, int64_t now_ms);

#endif
