/* flows.h - JobFlows of a run: when they are over, and how they are stopped */
#ifndef PROGRAM_RUN_FLOWS_H
#define PROGRAM_RUN_FLOWS_H

#include "store/object.h"

struct run;

struct run_flows {
    size_t n;
    const struct object *open, *failed; /* one that has not ended, or has failed; NULL: none. Borrowed until more is
                                           seen */
};
struct run_flows run_flows(const struct run *r);
void run_flows_seen(struct run *r, const struct object *flow, bool is_gone);
void run_flows_delete(struct run *r); /* they make no more jobs */
void run_flows_done(struct run *r);

#endif
