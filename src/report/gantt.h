/* gantt.h - the history of a cluster as a chart in the terminal */
#ifndef REPORT_GANTT_H
#define REPORT_GANTT_H

#include "history/timeline.h"

struct gantt_options {
    size_t width; /* columns of the terminal; less than 40 counts as 40 */
    bool colour;
};

/* A row for each job (waiting ░, admitted ▒, partly running ▓, running █), a time axis, and for each queue the resource
 * it takes most of over the same time. No line is wider than 'width'. */
void gantt_print(struct buf *out, const struct history *h, const struct gantt_options *opt);

/* Of standard output: of the terminal, else $COLUMNS, else 100. */
size_t gantt_width(void);

/* ▁▂▃▄▅▆▇█ for 0 … 1; a blank for 0. Values outside are cut. */
struct str spark(double part);

/* Distance between two marks of an axis of 'span_ms' with room for at most 'n' of them: 1 s, 2 s, 5 s, 10 s … 1 h … */
int64_t axis_step(int64_t span_ms, size_t n);

#endif
