/* status.h - a draft of the next status of a job
 *
 * It starts as a copy of the stored status; status_send() adds a write to the plan if anything differs.
 */
#ifndef JOB_STATUS_H
#define JOB_STATUS_H

#include "job/memo.h"
#include "job/phase.h"
#include "job/controller.h"

struct status_draft {
    struct arena *arena;
    const struct job_observed *o;
    struct json *body, *status, *controlled;
    struct memo memo;
    enum job_phase phase; /* after status_set_phase() the new one */
    int32_t version, retry_count;
    bool is_urgent;     /* more than counters has changed */
    bool is_stale;      /* status_send() let the counters wait */
    bool forgets_done;  /* a new version that runs everything again; else what has succeeded stays so (B35) */
    size_t forget_task; /* indices of this task whose seen and done start afresh: a restart has removed their pods */
    uint32_t forget_from, forget_to; /* from ≤ index < to; from = to: none */
};

void status_begin(struct status_draft *d, struct arena *a, const struct job_observed *o);

/* Counters, taskStatusCount, notes of seen and done indices. Call once everything else is decided. */
void status_count(struct status_draft *d);

/* The message of a job whose last failure reaches maxRetry. */
#define NO_RETRY_LEFT "no retry is left (maxRetry %d)"

/* A new phase: state, condition, time; runningDuration when it ends. The same phase again changes nothing. */
void status_set_phase(struct status_draft *d, enum job_phase phase, int64_t now_ms);

/* Reason (NULL: none) and message of the phase. A new reason is written at once, without the delay of counters. */
void status_explain(struct status_draft *d, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Add the write if the draft differs from the stored status. If only counters differ, it is delayed by a second (more
 * for large jobs), so that 10,000 pods do not cause 10,000 writes. True if a write was added. */
bool status_send(struct status_draft *d, struct plan *plan);

#endif
