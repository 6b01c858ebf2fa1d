/* timeline.h - the history of a cluster over time: how long jobs waited and ran, how much of queues and nodes was in
 * use */
#ifndef HISTORY_TIMELINE_H
#define HISTORY_TIMELINE_H

#include "history/history.h"

/* How long it waited (also after it was stopped) and ran, within the history; -1 where that does not apply. */
int64_t job_wait_ms(const struct history *h, const struct history_job *j);
int64_t job_run_ms(const struct history *h, const struct history_job *j);

/* The state that holds longest within [from, to). JOB_STATE_MAX: not submitted yet. */
enum job_state job_state_between(const struct history_job *j, int64_t from_ms, int64_t to_ms);

/* In use at a time; the average and the peak over [from, to). */
const struct amounts *place_at(const struct history_place *p, int64_t at_ms); /* never NULL */
double place_mean(const struct history_place *p, int dim, int64_t from_ms, int64_t to_ms);
int64_t place_peak(const struct history_place *p, int dim, int64_t from_ms, int64_t to_ms);

/* The resources worth showing: those that any pod asked for, but not the count of pods unless there is nothing else.
 * Returns how many dimensions were put into 'ret'. */
int history_dims(const struct history *h, int ret[AMOUNT_DIMS]);

/* ---- words ---- */

/* "1500m", "8", "143.5Gi": an amount in few characters; bytes are rounded. */
void size_print(struct buf *out, const struct dims *dims, int dim, int64_t v);

/* "+12m30s" since the beginning of the history; "-" for -1. */
void offset_print(struct buf *out, const struct history *h, int64_t at_ms);

/* When the last job ends that had not ended before; -1: none does. */
int64_t history_last_end(const struct history *h);

/* What a change moved: "2h sooner", "55m later", "new", "now ends", "no longer ends", or nothing. 'old' is the job as it
 * was in 'before'; NULL: it was not there. */
void gain_print(struct buf *out, const struct history *h, const struct history_job *j, const struct history *before,
                const struct history_job *old);

#endif
