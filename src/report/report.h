/* report.h - the history of a run as a page or a trace */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "history/history.h"

/* A page complete in one file (no script needed to read it, nothing loaded): a Gantt chart of all pods, decisions with
 * reasons, failed pods with their last lines, resource use. */
void report_html(struct buf *out, const struct history *h, struct str title);

/* The Trace Event Format of Chrome and Perfetto: a process per job, a thread per pod, spans, instants for decisions,
 * counters for use. */
void report_trace(struct buf *out, const struct history *h);

#endif
