/* budget.c - PodDisruptionBudgets: what an eviction asks, and what their status says; controller/budget.c counts
 *
 * The number is written into status.disruptionsAllowed, for people and for clients that drain; an eviction counts anew,
 * since several of one turn must not all take the last one.
 */
#include "server/server_internal.h"

static struct budget_observed budget_observe(const struct server *s, struct arena *a, const struct object *budget)
{
    struct budget_observed seen = { .budget = budget->root };

    seen.pods = control_list(s, a, type_by_kind(STR("v1"), STR("Pod")), budget->namespace, &seen.n_pods);
    return seen;
}

bool budget_allows(const struct server *s, const struct object *budget)
{
    autoarena a = { 0 };
    struct budget_observed seen = budget_observe(s, &a, budget);
    struct budget now;

    return budget_count(&seen, &now) < 0 || now.allowed > 0;
}

static void budget_tell(struct server *s, const struct object *o)
{
    autoarena a = { 0 };
    struct budget_observed seen = budget_observe(s, &a, o);
    struct plan plan = { .arena = &a };

    budget_plan(&seen, &plan);
    (void)control_apply(s, &plan); /* else next time */
}

int64_t budgets_turn(struct server *s)
{
    return tell_statuses(s, type_by_kind(STR("policy/v1"), STR("PodDisruptionBudget")), &s->budgets, budget_tell);
}
