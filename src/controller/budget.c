/* budget.c - PodDisruptionBudgets: how many of their pods may be evicted now */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/pod/status.h"
#include "api/selector.h"
#include "api/types.h"
#include "base/util.h"

/* "50%" of all, rounded up; or a number. */
static int64_t budget_share_of(const struct json *value, int64_t all)
{
    struct str text = json_text(value, STR_NULL);
    int64_t percent;

    if (str_ends(text, STR("%")) && str_to_i64(str_sub(text, 0, text.n - 1), &percent) == 0)
        return (all * percent + 99) / 100;
    return json_i64(value, 0);
}

static int64_t budget_desired(const struct json *spec, int64_t expected)
{
    const struct json *least = json_get(spec, "minAvailable"), *most = json_get(spec, "maxUnavailable");

    if (most)
        return MAX_OF(expected - budget_share_of(most, expected), 0);
    return least ? budget_share_of(least, expected) : 0;
}

int budget_count(const struct budget_observed *o, struct budget *ret)
{
    const struct json *spec = json_get(o->budget, "spec");
    autoarena a = { 0 };
    struct selector *selector;
    struct err e;

    *ret = (struct budget){ 0 };
    if (selector_from_json(&a, json_get(spec, "selector"), &selector, &e) < 0)
        return -1;
    for (size_t i = 0; i < o->n_pods; i++) {
        const struct json *pod = o->pods[i];

        if (pod_has_ended(pod) || !selector_matches(selector, json_find(pod, "metadata", "labels", NULL)))
            continue;
        ret->expected++;
        ret->healthy += pod_is_ready(pod) && !json_find(pod, "metadata", "deletionTimestamp", NULL);
    }
    ret->desired = budget_desired(spec, ret->expected);
    ret->allowed = MAX_OF(ret->healthy - ret->desired, 0);
    return 0;
}

static bool budget_has_pod(const struct budget_observed *o, struct str name)
{
    for (size_t i = 0; i < o->n_pods; i++)
        if (str_eq(object_name(o->pods[i]), name))
            return true;
    return false;
}

/* status.disruptedPods names pods that were evicted and still exist. */
static void budget_forget_gone(const struct budget_observed *o, struct json *disrupted)
{
    for (struct json *m = json_first(disrupted), *next; m; m = next) {
        next = m->next;
        if (!budget_has_pod(o, json_key(m)))
            (void)json_remove_key(disrupted, json_key(m));
    }
}

void budget_plan(const struct budget_observed *o, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *body = json_copy(a, o->budget), *status = json_need_object(a, body, "status");
    const struct json *before = json_get(o->budget, "status");
    struct budget b;

    if (budget_count(o, &b) < 0)
        return;
    budget_forget_gone(o, json_get(status, "disruptedPods")); /* all that others wrote stays */
    json_set(status, "observedGeneration",
             json_int(a, json_i64(json_find(o->budget, "metadata", "generation", NULL), 0)));
    json_set(status, "disruptionsAllowed", json_int(a, b.allowed));
    json_set(status, "currentHealthy", json_int(a, b.healthy));
    json_set(status, "desiredHealthy", json_int(a, b.desired));
    json_set(status, "expectedPods", json_int(a, b.expected));
    if (before && json_equal(before, status))
        return;
    json_remove(json_get(body, "metadata"), "resourceVersion"); /* the count is right for whichever it is now */
    plan_update_status(plan, type_by_kind(STR("policy/v1"), STR("PodDisruptionBudget")), body);
}
