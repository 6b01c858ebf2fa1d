/* explain.h - advice about a job as text and as JSON */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "whatif/advice.h"

/* For people. 'now_ms' is the time the advice is about. */
void explain_text(struct arena *a, struct buf *out, const struct advice *advice, int64_t now_ms, bool has_colour);

/* For programs: one object, described in docs/explain.md. */
struct json *explain_json(struct arena *a, const struct advice *advice, int64_t now_ms);

/* All jobs that wait, a line each. */
void explain_list_text(struct arena *a, struct buf *out, const struct advice_lines *lines);
struct json *explain_list_json(struct arena *a, const struct advice_lines *lines);

/* --scheduler-config FILE; NULL: the default. */
int scheduler_config(struct arena *a, const char *file, struct sched_config *ret, struct err *e);

#endif
