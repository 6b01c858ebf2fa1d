/* agent_world.h - an agent on a machine that only pretends (fake_host.h), a cluster in memory, a clock for the test to
 * move
 *
 *     struct world *w = world_new(NULL);
 *     world_pod(w, "p", "{containers: [{name: c, image: app, command: [run]}]}");
 *     assert_string_equal(fake_asked(), "shim p; join 10.88.0.2; start p/c#0");
 *     fake_exit("p", "c", 0);
 *     world_turn(w);
 *     assert_string_equal(world_status(w, "p"), "Succeeded; c Completed 0");
 *     world_free(w);
 *
 * The cluster is a store behind cluster_sim: 'faults' makes writes fail. Whatever is to happen at once has happened
 * when a function here returns. An agent that wants to be called again at once and then does nothing fails the test: it
 * would spin.
 */
#ifndef NODE_AGENT_TEST_AGENT_WORLD_H
#define NODE_AGENT_TEST_AGENT_WORLD_H

#include "base/clock.h"
#include "cluster/test/sim_net.h"
#include "node/agent/agent.h"
#include "node/agent/test/fake_host.h"
#include "store/store.h"

#define WORLD_T0_MS 1772323200000 /* 2026-03-01T00:00:00Z */
#define WORLD_NODE  "n"

struct world {
    struct clock_manual clock;
    struct store *store;
    struct sim_net *net;
    struct sim_faults faults;
    struct cluster *cluster;
    struct images *images;
    struct agent_options opt;
    struct agent *agent;
    struct arena arena;
    struct buf output, notices; /* of the hooks: "p/c: text\n", a notice a line */
    size_t room;                /* for output */
    unsigned n_usage;           /* calls */
};

/* 'opt' (may be NULL): what is to be other than usual. Its hooks, images, clock and directories are the world's. */
struct world *world_new(const struct agent_options *opt);
struct world *world_new_with(const struct agent_options *opt, const struct sim_faults *faults); /* from the beginning */
void world_free(struct world *w); /* closes the agent; fails if it left something */
/* A test of the group: a world that it left, since it failed, is cleared away. */
#define world_test(f) cmocka_unit_test_teardown(f, world_teardown)
int world_teardown(void **state);

/* ---- the cluster; all objects are in the namespace "ns" ---- */

void world_create(struct world *w, const char *yaml);
/* A pod that is bound to the node. 'spec' without nodeName; 'more': other metadata, "{labels: {app: x}}". */
void world_pod(struct world *w, const char *name, const char *spec);
void world_pod_with(struct world *w, const char *name, const char *more, const char *spec);
void world_patch(struct world *w, const char *kind, const char *name, const char *yaml);
void world_delete(struct world *w, const char *kind, const char *name, int64_t grace_s); /* -1: the object's own */
const struct object *world_get(struct world *w, const char *kind, const char *name);     /* NULL: it is not there */

/* ---- an agent that goes, and whose pods do not (options: outlives) ---- */

void world_leave(struct world *w);  /* from here on nobody does anything */
void world_return(struct world *w); /* another one is there */

/* ---- time ---- */

void world_turn(struct world *w);             /* all that is to be done now */
void world_pass(struct world *w, int64_t ms); /* and what is due meanwhile, each at its time */

/* ---- looking; texts live as long as the world ---- */

/* "Running; c running ready": phase and reason; each container with its state (what it waits for, how it ended and the
 * exit code), ready, restartCount ("x2") and lastState ("last Error 1"). "gone": there is no such pod. */
const char *world_status(struct world *w, const char *pod);
/* What is at a JSON pointer: text as it is, else as JSON. "" if nothing is there. */
const char *world_at(struct world *w, const char *kind, const char *name, const char *pointer);
/* The messages of Events about 'name' with this reason, one a line. */
const char *world_events(struct world *w, const char *name, const char *reason);

#endif
