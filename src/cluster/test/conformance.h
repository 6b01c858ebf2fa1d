/* conformance.h - what every cluster promises (cluster/cluster.h), as a suite that runs on each of them
 *
 * An implementation brings a world: a door to try, and hands to change things behind its back. Doors that answer later
 * are waited for, so the suite says nothing about how long anything takes, nor about the order of answers and news,
 * which come from different directions. Answers are compared in the order of their tokens, news of a type in the order
 * they were told.
 */
#ifndef CLUSTER_TEST_CONFORMANCE_H
#define CLUSTER_TEST_CONFORMANCE_H

#include "base/clock.h"
#include "cluster/cluster.h"

struct conformance_world;

struct conformance_class {
    const char *name;
    /* Set 'cluster' and 'namespace'; there is nothing in the namespace. Called for each case. */
    void (*begin)(struct conformance_world *w);
    void (*end)(struct conformance_world *w); /* after the cluster was freed */
    /* Somebody else creates an object. */
    void (*put)(struct conformance_world *w, const struct json *body);
    /* From true to false the door hears nothing, and what happened meanwhile is forgotten. NULL: cannot be had. */
    void (*gap)(struct conformance_world *w, bool is_on);
    /* Until it may have something to tell; NULL: all is told at once. */
    void (*wait)(struct conformance_world *w);
    bool has_clock; /* 'clock' is the cluster's */
    bool has_order; /* news of all types come in one order */
};

struct conformance_world {
    const struct conformance_class *class;
    struct cluster *cluster;
    struct str namespace;
    struct clock_manual clock; /* the wall clock stands still, the other one goes */
    struct arena arena;
    void *inner; /* the implementation's */
    struct log *log;
    const struct resource_type *map, *secret, *pod;
};

/* All cases; 0 if they passed. */
int conformance_run(const struct conformance_class *class);

#endif
