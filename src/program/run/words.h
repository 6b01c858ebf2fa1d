/* words.h - jobs and tasks in words, for lines and for the block (progress.h) */
#ifndef PROGRAM_RUN_WORDS_H
#define PROGRAM_RUN_WORDS_H

#include "history/history.h"
#include "base/term.h"

struct run_progress;

enum { RUN_WAIT_MS = 1000 }; /* what waits is not worth a word before */

bool run_job_is_busy(const struct history_job *j); /* pods of it wait, start or run */
enum style run_phase_style(const struct history_job *j);
const char *run_wait_words(const struct history_job *j); /* before the reason: "waits"; a job that runs does not */
/* ", fails in 42s (activeDeadlineSeconds)", or nothing. */
void run_job_timer(struct buf *out, const struct run_progress *p, const struct history_job *j, int64_t now_ms);

/* "2 running, 1 failed and restarting", "4 to come" */
void run_task_states(struct buf *out, const struct run_progress *p, const struct history_task *t);
/* The time that a policy gives its pods: "fails in 42s (activeDeadlineSeconds)", or nothing. */
void run_task_timer(struct buf *out, const struct history *h, const struct history_job *j, const struct history_task *t,
                    int64_t now_ms);

#endif
