/* rows.h - the pods of a small job in the block (progress.h): a row for each, with what it uses */
#ifndef PROGRAM_RUN_ROWS_H
#define PROGRAM_RUN_ROWS_H

#include "history/history.h"
#include "base/term.h"

extern const enum style run_state_styles[HISTORY_STATE_MAX];

/* Are all pods of the job there, and few enough for a row each? */
bool run_rows_fit(const struct history_job *j, size_t most);
/* "  worker-0  running    1 restart  cpu 0.98 of 2  memory 118Mi of 256Mi  fails in 42s (activeDeadlineSeconds)";
 * 'width': of the labels. */
void run_row(struct buf *out, const struct history_pod *p, size_t width, bool has_colour, int64_t now_ms);

#endif
