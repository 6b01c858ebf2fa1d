/* plan.h - what the parts of `pumice plan` share: the outcome and its forms */
#ifndef CLI_PLAN_PLAN_H
#define CLI_PLAN_PLAN_H

#include "history/timeline.h"

struct plan_report {
    const struct history *h;
    const struct history *before; /* the same without the changes; NULL: none were asked for */
    struct str change;            /* the changes in words */
    bool is_cut;                  /* --until ended it */
    bool colour;
    size_t width;
};

/* "6 jobs on 4 nodes (32 cpu, 128Gi memory)" */
void plan_title(struct buf *out, const struct history *h);

void plan_print_table(struct buf *out, const struct plan_report *r);
void plan_print_json(struct buf *out, const struct plan_report *r);

#endif
