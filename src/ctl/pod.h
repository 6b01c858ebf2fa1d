/* pod.h - pods of jobs and queues, as the server shows them */
#ifndef CTL_POD_H
#define CTL_POD_H

#include "ctl/ctl.h"

struct pod_query {
    struct str namespace;  /* empty: all */
    struct str job, queue; /* empty: of any; both empty: of all jobs */
    struct str labels;     /* more of a selector; empty: none */
    struct str name;       /* of one of them; empty: all */
};

struct pod_row {
    const struct json *object;
    const struct json *cells; /* of the Table */
};
struct pod_rows {
    const struct json *columns; /* columnDefinitions */
    VEC(struct pod_row) v;      /* by namespace and name */
};

/* Of a queue: those of its jobs, and those that an annotation puts there. A job and a queue that is not the job's is
 * an error (ERR_INVALID). */
int pod_select(struct ctl *c, const struct pod_query *q, struct pod_rows *ret, struct err *e);

/* The part of a query that a label selector can say; the rest of what says whether a pod is in a queue. */
struct str pod_selector(struct arena *a, const struct pod_query *q);
bool pod_is_of_queue(const struct json *pod, struct str queue);

/* The cell of the column with this name; empty: none. */
struct str pod_cell(struct arena *a, const struct pod_rows *rows, const struct pod_row *row, const char *column);

#endif
