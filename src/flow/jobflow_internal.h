/* jobflow_internal.h - a JobFlow as its planner sees it */
#ifndef FLOW_JOBFLOW_INTERNAL_H
#define FLOW_JOBFLOW_INTERNAL_H

#include "flow/flow_internal.h"
#include "flow/graph.h"

enum flow_phase { FLOW_NONE, FLOW_PENDING, FLOW_RUNNING, FLOW_SUCCEED, FLOW_FAILED, FLOW_TERMINATING, FLOW_PHASE_MAX };

extern const char *const flow_phase_names[FLOW_PHASE_MAX];

struct flow_vertex {
    const struct graph_vertex *in_graph; /* NULL: a job of a vertex that is no more */
    struct str job_name;
    const struct json *job; /* NULL: there is none */
    const struct json *row; /* what the status says of it: of jobStatusList; NULL: nothing */
    struct str phase;       /* of the job, or as it was when it was last seen; empty: it has not begun */
};

struct flow_view {
    const struct jobflow_observed *o;
    struct arena *arena;
    struct graph graph;
    struct flow_vertex *v; /* those of the graph, in its order, then the others */
    size_t n;
    enum flow_phase phase; /* as the status has it */
};

struct flow_view flow_look(struct arena *a, const struct jobflow_observed *o);

/* The phase that follows from the vertices. */
enum flow_phase flow_phase_next(const struct flow_view *f);

/* What the status should be; '*ret_differs': more than counters. */
struct json *flow_status(const struct flow_view *f, int64_t now_ms, bool *ret_differs);

/* May the vertex start? */
bool flow_is_ready(const struct flow_view *f, const struct flow_vertex *v);

#endif
