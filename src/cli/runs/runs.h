/* runs.h - the parts of `pumice runs` */
#ifndef CLI_RUNS_RUNS_H
#define CLI_RUNS_RUNS_H

#include "cli/records.h"

struct str runs_state(struct arena *a, const struct record_entry *r); /* "succeeded", "failed (3)", "did not end" … */
struct str runs_time(struct arena *a, int64_t ms);

/* Two runs side by side, older first: results, then what differs in what they ran. */
void runs_compare(struct arena *a, struct buf *out, struct record_entry *const entry[2], const struct record r[2]);

#endif
