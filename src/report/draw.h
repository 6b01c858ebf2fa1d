/* draw.h - parts of charts and pages: escaped text, a time axis, labels, the common style
 *
 * The pages of plans (plan_page.h) and of runs (report.h) use these parts, so they look alike. A chart is DRAW_WIDTH
 * units wide: DRAW_LEFT units for labels, the rest for time.
 */
#ifndef REPORT_DRAW_H
#define REPORT_DRAW_H

#include "base/buf.h"

enum {
    DRAW_WIDTH = 1200,
    DRAW_LEFT = 210, /* labels */
    DRAW_RIGHT = 24, /* air */
};

struct draw_span { /* what the width of a chart stands for */
    int64_t begin_ms, end_ms;
};

extern const char draw_style[];      /* CSS of charts */
extern const char draw_page_style[]; /* CSS of a page around them */

/* Text inside HTML or XML, quotes included. Characters that XML does not allow become U+FFFD. */
void markup_text(struct buf *out, struct str text);

/* The front of an <svg> element; 'y' moves it down inside a larger picture. */
void draw_begin(struct buf *out, int y, int height);
void draw_text(struct buf *out, const char *class, double x, double y, struct str text);

/* In the left margin. Text that does not fit is cut; the whole text is in the tooltip. */
void draw_label(struct buf *out, struct str text, double y, const char *class);

double draw_x(const struct draw_span *s, int64_t at_ms);

/* Marks and their times ("+1.5s") above 'top', lines down to 'bottom'. */
void draw_axis(struct buf *out, const struct draw_span *s, int top, int bottom);

#endif
