/* explain.h - advice about a job as text and as JSON */
#ifndef CLI_EXPLAIN_EXPLAIN_H
#define CLI_EXPLAIN_EXPLAIN_H

#include "whatif/advice.h"

/* For people. 'now_ms' is the time the advice is about. */
void explain_text(struct arena *a, struct buf *out, const struct advice *advice, int64_t now_ms, bool has_colour);

/* For programs: one object, described in docs/explain.md. */
struct json *explain_json(struct arena *a, const struct advice *advice, int64_t now_ms);

/* All jobs that wait, a line each. */
void explain_list_text(struct arena *a, struct buf *out, const struct advice_lines *lines);
struct json *explain_list_json(struct arena *a, const struct advice_lines *lines);

struct str explain_namespace(const struct json *object); /* "default" where it says none */

/* ---- flow.c: what the jobs of a JobFlow wait for ---- */

/* The JobFlow that 'in' names, or that will make the Job it names; NULL: there is none. */
const struct json *explain_find_flow(struct arena *a, const struct advice_input *in);
void explain_flow_text(struct arena *a, struct buf *out, const struct advice_input *in, const struct json *flow);
struct json *explain_flow_json(struct arena *a, const struct advice_input *in, const struct json *flow);

#endif
