/* report_internal.h - the parts of a page about a run */
#ifndef REPORT_REPORT_INTERNAL_H
#define REPORT_REPORT_INTERNAL_H

#include "report/report.h"
#include "report/rows.h"

/* ---- tables (run_tables.c) ---- those without rows are left out ---- */

void page_more(struct buf *out, size_t n, size_t shown); /* "and 900 more" */
void page_jobs_table(struct buf *out, const struct history *h);
void page_waits_table(struct buf *out, const struct history *h);
void page_pods_table(struct buf *out, const struct history *h);
void page_warnings_table(struct buf *out, const struct history *h);
void page_notices(struct buf *out, const struct history *h);

/* ---- pictures (run_chart.c, run_use.c) ---- */

enum { REPORT_CELLS = 240 }; /* of a chart of use */
void report_gantt(struct buf *out, const struct history *h, const struct report_rows *v);
bool report_has_use(const struct history *h);
void report_use_chart(struct buf *out, const struct history *h);
void report_sparks(struct buf *out, const struct history *h, const struct history_pod *p);
const char *decision_class(const struct history_decision *d); /* "good", "warn", "bad": for its colour */

#endif
