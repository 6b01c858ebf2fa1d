/* control_plane.h - what the controllers of a Kubernetes control plane do: for our own server, all pure
 *
 * A Kubernetes cluster has kube-controller-manager for this; `pumice server` has these planners. Each is a function from
 * what the store shows to writes (api/plan.h), and plans nothing where all is as it should be. src/server observes and
 * applies.
 */
#ifndef CONTROLLER_CONTROL_PLANE_H
#define CONTROLLER_CONTROL_PLANE_H

#include "api/plan.h"

/* ---- budget.c: how many pods of a PodDisruptionBudget may be evicted now ---- */

struct budget_observed {
    const struct json *budget;
    const struct json *const *pods; /* all of its namespace */
    size_t n_pods;
};

struct budget {
    int64_t expected, healthy, desired, allowed;
};

/* Pods that have ended do not count, and pods that are being deleted are not healthy. -1: its selector is invalid. */
int budget_count(const struct budget_observed *o, struct budget *ret);

/* The status, with these numbers and without disruptedPods that are gone. */
void budget_plan(const struct budget_observed *o, struct plan *plan);

#endif
