/* graph.c - vertices by name, and what can never start */
#include "flow/graph.h"

#include "base/buf.h"
#include "base/map.h"

#include <assert.h>

/* Names to numbers from 1 on, so that none is NULL. */
static struct map graph_number(struct graph *g)
{
    struct map names = { 0 };

    for (size_t i = 0; i < g->n; i++)
        if (g->v[i].name.n && map_get(&names, g->v[i].name))
            g->v[i].is_double = true;
        else if (g->v[i].name.n)
            map_put(&names, g->v[i].name, (void *)(uintptr_t)(i + 1));
    return names;
}

/* Remove the vertices that wait for no other, again and again; those that are left wait for ever. */
static void find_stuck(struct arena *a, struct graph *g)
{
    size_t *left = arena_array(a, size_t, g->n + 1), *ready = arena_array(a, size_t, g->n + 1), n_ready = 0;
    size_t *first = arena_array(a, size_t, g->n + 1), *next, *who, n_edges = 0;

    for (size_t i = 0; i < g->n; i++)
        n_edges += g->v[i].n_targets;
    next = arena_array(a, size_t, n_edges + 1);
    who = arena_array(a, size_t, n_edges + 1);
    n_edges = 0;
    for (size_t i = 0; i < g->n; i++) {
        left[i] = g->v[i].n_targets;
        for (size_t k = 0; k < g->v[i].n_targets; k++) { /* edges by target, from 1 on: 0 ends a list */
            who[++n_edges] = i;
            next[n_edges] = first[g->v[i].targets[k]];
            first[g->v[i].targets[k]] = n_edges;
        }
    }
    for (size_t i = 0; i < g->n; i++) {
        g->v[i].is_stuck = left[i];
        if (!left[i])
            ready[n_ready++] = i;
    }
    for (size_t at = 0; at < n_ready; at++)
        for (size_t e = first[ready[at]]; e; e = next[e])
            if (--left[who[e]] == 0) {
                g->v[who[e]].is_stuck = false;
                ready[n_ready++] = who[e];
            }
}

struct graph graph_new(struct arena *a, const struct json *flows)
{
    struct graph g = { .v = arena_array(a, struct graph_vertex, json_count(flows) + 1) };
    struct map names;

    if (json_is(flows, JSON_ARRAY))
        JSON_FOREACH(flow, flows)
            g.v[g.n++] = (struct graph_vertex){ .spec = flow, .name = json_member_text(flow, "name") };
    names = graph_number(&g);
    for (size_t i = 0; i < g.n; i++) {
        const struct json *targets = json_find(g.v[i].spec, "dependsOn", "targets", NULL);

        g.v[i].targets = arena_array(a, size_t, json_count(targets) + 1);
        JSON_FOREACH(target, targets) {
            size_t to = (uintptr_t)map_get(&names, json_text(target, STR_NULL));

            if (to)
                g.v[i].targets[g.v[i].n_targets++] = to - 1;
            else
                g.v[i].has_unknown = true;
        }
    }
    map_done(&names);
    find_stuck(a, &g);
    return g;
}

size_t graph_find(const struct graph *g, struct str name)
{
    for (size_t i = 0; i < g->n; i++)
        if (str_eq(g->v[i].name, name))
            return i;
    return SIZE_MAX;
}

/* From what is stuck to something stuck that it waits for, until one comes again. */
struct str graph_cycle(struct arena *a, const struct graph *g)
{
    size_t at = 0, *seen = arena_array(a, size_t, g->n + 1), start;
    autobuf text = { 0 };

    while (at < g->n && !g->v[at].is_stuck)
        at++;
    if (at == g->n)
        return STR_NULL;
    for (size_t step = 1; !seen[at]; step++) {
        size_t k = 0;

        seen[at] = step;
        while (!g->v[g->v[at].targets[k]].is_stuck)
            k++;
        assert(k < g->v[at].n_targets); /* one of them is why it is stuck */
        at = g->v[at].targets[k];
    }
    start = at;
    do {
        size_t k = 0;

        buf_str(&text, g->v[at].name);
        buf_str(&text, STR(" -> "));
        while (!g->v[g->v[at].targets[k]].is_stuck)
            k++;
        at = g->v[at].targets[k];
    } while (at != start);
    buf_str(&text, g->v[start].name);
    return arena_str(a, buf_view(&text));
}
