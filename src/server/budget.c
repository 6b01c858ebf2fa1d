/* budget.c - PodDisruptionBudgets: how many of their pods may be evicted now
 *
 * The number is written into status.disruptionsAllowed, for people and for clients that drain; an eviction counts anew,
 * since several of one turn must not all take the last one.
 */
#include "server/server_internal.h"

static const struct resource_type *budget_type(void)
{
    return type_by_kind(STR("policy/v1"), STR("PodDisruptionBudget"));
}

struct budget_count {
    const struct selector *selector;
    int64_t expected, healthy;
};

static void budget_look_at_pod(void *ctx, const struct object *o)
{
    struct budget_count *c = ctx;
    struct str phase = json_member_text(json_get(o->root, "status"), "phase");

    if (str_is(phase, "Succeeded") || str_is(phase, "Failed") ||
        !selector_matches(c->selector, json_find(o->root, "metadata", "labels", NULL)))
        return;
    c->expected++;
    c->healthy += condition_is_true(json_get(o->root, "status"), "Ready") &&
                  !json_find(o->root, "metadata", "deletionTimestamp", NULL);
}

/* "50%" of what there is, rounded up; or a number. */
static int64_t budget_share_of(const struct json *value, int64_t all)
{
    struct str text = json_text(value, STR_NULL);
    int64_t percent;

    if (str_ends(text, STR("%")) && str_to_i64(str_sub(text, 0, text.n - 1), &percent) == 0)
        return (all * percent + 99) / 100;
    return json_i64(value, 0);
}

int budget_count(const struct server *s, const struct object *budget, struct budget *ret)
{
    const struct json *spec = json_get(budget->root, "spec"), *least = json_get(spec, "minAvailable"),
                      *most = json_get(spec, "maxUnavailable");
    autoarena a = { 0 };
    struct selector *selector;
    struct budget_count c = { 0 };
    struct err e;

    *ret = (struct budget){ 0 };
    if (selector_from_json(&a, json_get(spec, "selector"), &selector, &e) < 0)
        return -1;
    c.selector = selector;
    store_list(s->opt.store, type_by_kind(STR("v1"), STR("Pod")), budget->namespace, budget_look_at_pod, &c);
    ret->expected = c.expected;
    ret->healthy = c.healthy;
    ret->desired = most    ? MAX_OF(c.expected - budget_share_of(most, c.expected), 0)
                   : least ? budget_share_of(least, c.expected)
                           : 0;
    ret->allowed = MAX_OF(c.healthy - ret->desired, 0);
    return 0;
}

/* ---- what people see ---- */

/* status.disruptedPods names pods that were evicted and still exist. */
static void forget_gone_pods(const struct server *s, struct str namespace, struct json *disrupted)
{
    for (struct json *m = json_first(disrupted), *next; m; m = next) {
        next = m->next;
        if (!store_get(s->opt.store, type_by_kind(STR("v1"), STR("Pod")), namespace, json_key(m)))
            (void)json_remove_key(disrupted, json_key(m));
    }
}

static void budget_tell(struct server *s, const struct object *o)
{
    autoarena a = { 0 };
    struct json *body = json_copy(&a, o->root), *status = json_need_object(&a, body, "status");
    const struct json *before = json_get(o->root, "status");
    struct budget b;

    if (budget_count(s, o, &b) < 0)
        return;
    forget_gone_pods(s, o->namespace, json_get(status, "disruptedPods")); /* all that others wrote stays */
    json_set(status, "observedGeneration",
             json_int(&a, json_i64(json_find(o->root, "metadata", "generation", NULL), 0)));
    json_set(status, "disruptionsAllowed", json_int(&a, b.allowed));
    json_set(status, "currentHealthy", json_int(&a, b.healthy));
    json_set(status, "desiredHealthy", json_int(&a, b.desired));
    json_set(status, "expectedPods", json_int(&a, b.expected));
    if (before && json_equal(before, status))
        return;
    json_remove(json_get(body, "metadata"), "resourceVersion");
    (void)store_update(s->opt.store, body, STORE_STATUS, NULL, NULL); /* else next time */
}

int64_t budgets_turn(struct server *s)
{
    return tell_statuses(s, budget_type(), &s->budgets, budget_tell);
}
