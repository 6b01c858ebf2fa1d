/* rows.h - the pods of a history in the order in which people look for them: by job, task and index */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include "history/history.h"

struct report_row { /* all pods of one name, one after the other */
    struct str label;
    int64_t index;
    VEC(const struct history_pod *) pods;
    VEC(struct history_span) queued; /* for each pod: how long its job stood in line for it; from_ms -1: it did not */
};

struct report_task {
    struct str name;
    VEC(struct report_row *) rows;
};

struct report_group { /* a job and its pods; job NULL: pods without one */
    const struct history_job *job;
    VEC(struct report_task *) tasks;
    size_t n_rows;
};

struct report_rows {
    VEC(struct report_group *) groups;
    size_t n_rows;
};
void report_rows(struct arena *a, const struct history *h, struct report_rows *ret);

#endif
