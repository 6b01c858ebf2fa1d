/* plan_page_internal.h - what picture and page share */
#ifndef REPORT_PLAN_PAGE_INTERNAL_H
#define REPORT_PLAN_PAGE_INTERNAL_H

#include "report/draw.h"
#include "report/plan_page.h"

enum { PAGE_WIDTH = DRAW_WIDTH };

/* The charts, each an <svg> element of PAGE_WIDTH units with its own height, which is returned. 'y' moves it down
 * inside a larger picture. */
int chart_jobs(struct buf *out, const struct history *h, int y);
int chart_queues(struct buf *out, const struct history *h, int y);
int chart_nodes(struct buf *out, const struct history *h, int y);

/* "10m", "+5m", "-" as text that needs no escaping. */
void page_span(struct buf *out, int64_t ms);

#endif
