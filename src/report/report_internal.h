/* report_internal.h - the parts of a page about a run */
#ifndef REPORT_REPORT_INTERNAL_H
#define REPORT_REPORT_INTERNAL_H

#include "report/report.h"
#include "report/rows.h"

/* ---- tables (run_tables.c) ---- those without rows are left out ---- */

void page_more(struct buf *out, size_t n, size_t shown); /* "and 900 more" */

/* ' id="p-UID"': of a pod's row in the table (p), its bar (b) and its output (o), which refer to each other. */
void page_id(struct buf *out, char what, const struct history_pod *p);

/* "+1.5s", with the time of day for who asks; "–" when it has not happened. */
void page_time(struct buf *out, const struct history *h, int64_t at_ms);

void page_jobs_table(struct buf *out, const struct history *h);
void page_waits_table(struct buf *out, const struct history *h);
void page_pods_table(struct buf *out, const struct history *h);
void page_warnings_table(struct buf *out, const struct history *h);
void page_notices(struct buf *out, const struct history *h);

/* ---- the last lines (run_output.c) ---- */

void page_output(struct buf *out, const struct history *h);
bool page_has_output(const struct history_pod *p);

extern const char report_script[]; /* run_script.c */

/* ---- pictures (run_chart.c, run_use.c) ---- */

enum { REPORT_CELLS = 240 }; /* of a chart of use */
/* Folded: a band for each task instead of a row for each pod. */
void report_gantt(struct buf *out, const struct history *h, const struct report_rows *v, bool is_folded);
bool report_has_use(const struct history *h);
void report_use_chart(struct buf *out, const struct history *h);
void report_sparks(struct buf *out, const struct history *h, const struct history_pod *p);
const char *decision_class(const struct history_decision *d); /* "good", "warn", "bad": for its colour */

#endif
