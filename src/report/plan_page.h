/* plan_page.h - the history of a cluster as an image (SVG) or a page (HTML) in one file
 *
 * The file loads nothing: no script, font or image. Colours follow the light or dark setting of the reader. Each bar
 * has a tooltip, and the page has the same values in tables.
 */
#ifndef REPORT_PLAN_PAGE_H
#define REPORT_PLAN_PAGE_H

#include "history/timeline.h"

struct page_options {
    struct str title;             /* "Plan for 6 jobs on 4 nodes" */
    const struct history *before; /* the plan without the change; NULL: there is none */
    struct str change;            /* what was changed, in words: "2 more nodes"; used with 'before' */
};

/* An SVG document: Gantt chart, use of each resource by queue, use of each node. */
void page_svg(struct buf *out, const struct history *h, const struct page_options *opt);

/* An HTML document: figures, the same charts, a table of jobs, and why each of them waited. */
void page_html(struct buf *out, const struct history *h, const struct page_options *opt);

#endif
