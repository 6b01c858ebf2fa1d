/* ending.h - when a run is over, and how it is brought there */
#ifndef PROGRAM_RUN_ENDING_H
#define PROGRAM_RUN_ENDING_H

#include "base/str.h"

struct resource_type;
struct run;

/* End it: 'status' is the exit status. Once: gracefully; again: at once. */
void run_stop(struct run *r, int status, struct str reason);
void run_delete(struct run *r, const struct resource_type *type, struct str namespace, struct str name, struct str uid);

/* What follows from how things are: documents that are due are put in, it closes, times out, is stuck, is killed. True:
 * it is over. */
bool run_advance(struct run *r, bool is_settled);
int64_t run_advance_due(const struct run *r); /* when something may follow from the time alone */

#endif
