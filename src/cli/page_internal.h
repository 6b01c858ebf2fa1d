/* page_internal.h - what picture and page share */
#ifndef CLI_PAGE_INTERNAL_H
#define CLI_PAGE_INTERNAL_H

#include "cli/draw.h"
#include "cli/page.h"

enum { PAGE_WIDTH = DRAW_WIDTH };

/* The charts, each an <svg> element of PAGE_WIDTH units with its own height, which is returned. 'y' moves it down inside
 * a larger picture. */
int chart_jobs(struct buf *out, const struct timeline *t, int y);
int chart_queues(struct buf *out, const struct timeline *t, int y);
int chart_nodes(struct buf *out, const struct timeline *t, int y);

/* "10m", "+5m", "-" as text that needs no escaping. */
void page_span(struct buf *out, int64_t ms);

#endif
