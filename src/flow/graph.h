/* graph.h - which vertex of a JobFlow waits for which
 *
 * Linear in vertices and edges, however many paths there are.
 */
#ifndef FLOW_GRAPH_H
#define FLOW_GRAPH_H

#include "base/arena.h"
#include "json/json.h"

struct graph_vertex {
    const struct json *spec; /* an element of spec.flows */
    struct str name;
    size_t *targets; /* vertices, by number; names that are none are left out */
    size_t n_targets;
    bool has_unknown; /* a target is the name of none */
    bool is_double;   /* an earlier vertex has the same name */
    bool is_stuck;    /* it waits for itself, or for one that does */
};

struct graph {
    struct graph_vertex *v;
    size_t n;
};

/* Of spec.flows. An entry that is no object, or has no name, is a vertex without a name. */
struct graph graph_new(struct arena *a, const struct json *flows);

/* The first vertex of that name; SIZE_MAX: there is none. */
size_t graph_find(const struct graph *g, struct str name);

/* One cycle as text, "a -> b -> a"; empty: there is none. */
struct str graph_cycle(struct arena *a, const struct graph *g);

#endif
