/* quota.c - ResourceQuotas: requests that they limit, their status, and their rules; controller/quota.c counts
 *
 * Each object that a client or a controller of this process creates, or makes larger, is counted against the quotas of
 * its namespace before it is stored; what they hold is counted from the store itself each time, so nothing can drift
 * and nothing of one turn is missed. Namespaces without quotas pay nothing. status.used is written a little later, for
 * people and for schedulers.
 */
#include "server/server_internal.h"

#include "api/pod/resources.h"

static const struct resource_type *quota_type(void)
{
    return type_by_kind(STR("v1"), STR("ResourceQuota"));
}

struct quota_kinds {
    struct arena *arena;
    struct resources hard;
};

static bool quota_wants(const void *kinds, const struct resource_type *t)
{
    const struct quota_kinds *k = kinds;

    return quota_counts(k->arena, &k->hard, t);
}

static struct quota_observed quota_observe(const struct server *s, struct arena *a, const struct object *quota)
{
    struct quota_kinds kinds = { .arena = a };

    resources_from_json(a, json_find(quota->root, "spec", "hard", NULL), &kinds.hard);
    return (struct quota_observed){ quota->root, control_observe(s, a, quota->namespace, quota_wants, &kinds) };
}

/* ---- may it be written? ---- */

struct quota_asking {
    struct server *server;
    struct quota_change change;
    int rc;
    struct err e;
};

static void quota_ask(void *ctx, const struct object *quota)
{
    struct quota_asking *q = ctx;
    autoarena a = { 0 };
    struct quota_observed seen;

    if (q->rc < 0 || !quota_concerns(quota->root, &q->change))
        return;
    seen = quota_observe(q->server, &a, quota);
    q->rc = quota_check(&seen, &q->change, &q->e);
}

int quota_admit(struct server *s, const struct resource_type *type, const struct json *object, const struct json *old,
                struct err *e)
{
    struct quota_asking q = { .server = s, .change = { type, object, old } };

    if (type->scope != SCOPE_NAMESPACED || type == quota_type() || store_count(s->opt.store, quota_type()) == 0)
        return 0;
    store_list(s->opt.store, quota_type(), object_namespace(object), quota_ask, &q);
    if (q.rc < 0)
        *e = q.e;
    return q.rc;
}

/* ---- quotas themselves ---- */

static const char *const scope_names[] = { "Terminating",   "NotTerminating", "BestEffort",
                                           "NotBestEffort", "PriorityClass",  "CrossNamespacePodAffinity" };

static bool is_scope(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(scope_names); i++)
        if (str_is(name, scope_names[i]))
            return true;
    return false;
}

static void check_scopes(const struct place *spec, struct problems *ps)
{
    struct place scopes = place_member(spec, "scopes"), selector = place_member(spec, "scopeSelector"),
                 rules = place_member(&selector, "matchExpressions");
    size_t i = 0;

    JSON_FOREACH(s, scopes.node)
        if (!is_scope(json_text(s, STR_NULL)))
            problem_error(ps, &scopes, "\"%.*s\": unsupported scope", STR_ARG(json_text(s, STR_NULL)));
    JSON_FOREACH(r, rules.node) {
        struct place at = place_item(&rules, r, i++), name = place_member(&at, "scopeName"),
                     how = place_member(&at, "operator"), values = place_member(&at, "values");
        struct str word = json_text(how.node, STR_NULL);
        bool takes_values = str_is(word, "In") || str_is(word, "NotIn");

        if (!is_scope(json_text(name.node, STR_NULL)))
            problem_error(ps, &name, "\"%.*s\": unsupported scope", STR_ARG(json_text(name.node, STR_NULL)));
        if (!takes_values && !str_is(word, "Exists") && !str_is(word, "DoesNotExist"))
            problem_error(ps, &how, "\"%.*s\": not a valid selector operator", STR_ARG(word));
        else if (takes_values && !json_count(values.node))
            problem_of(ps, PROBLEM_REQUIRED, &values, "must be at least one value when `operator` is 'In' or 'NotIn'");
        else if (!takes_values && json_count(values.node))
            problem_error(ps, &values, "must be no value when `operator` is 'Exists' or 'DoesNotExist'");
    }
}

/* Kubernetes' own names, and those of others, which have a '/': count/jobs.batch.volcano.sh, requests.nvidia.com/gpu. */
static void quota_check_names(const struct place *hard, struct problems *ps)
{
    static const char *const names[] = {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "services.nodeports",
        "services.loadbalancers",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
    };

    JSON_FOREACH(amount, hard->node) {
        struct str name = json_key(amount);
        bool is_known = str_has_char(name, '/') || str_starts(name, STR("hugepages-")) ||
                        str_starts(name, STR("requests.hugepages-"));

        for (size_t i = 0; !is_known && i < ARRAY_LEN(names); i++)
            is_known = str_is(name, names[i]);
        if (!is_known)
            problem_error(ps, hard, "%.*s: must be a standard resource for quota", STR_ARG(name));
    }
}

/* Which pods it counts is fixed; how many of them is not. */
void admit_quota_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps)
{
    static const char *const fixed[] = { "scopes", "scopeSelector" };
    struct place root = { .node = object }, spec = place_member(&root, "spec"), hard = place_member(&spec, "hard");
    struct resources amounts;

    amounts_canonical(rq->arena, object, "spec.hard");
    check_plain(rq, object, NULL, ps);
    resources_from_json(rq->arena, hard.node, &amounts);
    VEC_FOREACH(r, &amounts.list)
        if (r->q.nano < 0)
            problem_error(ps, &hard, "%.*s: must be greater than or equal to 0", STR_ARG(r->name));
    if (!old)
        quota_check_names(&hard, ps);
    check_scopes(&spec, ps);
    for (size_t i = 0; old && i < ARRAY_LEN(fixed); i++) {
        struct place at = place_member(&spec, fixed[i]);
        const struct json *before = json_find(old->root, "spec", fixed[i], NULL);

        if ((json_count(at.node) || json_count(before)) && !json_equal(at.node, before))
            problem_error(ps, &at, "field is immutable");
    }
}

/* ---- what people see ---- */

static void quota_tell(struct server *s, const struct object *quota)
{
    autoarena a = { 0 };
    struct plan plan = { .arena = &a };
    struct quota_observed seen = quota_observe(s, &a, quota);

    quota_plan(&seen, &plan);
    (void)control_apply(s, &plan); /* else next time */
}

int64_t quotas_turn(struct server *s)
{
    return tell_statuses(s, quota_type(), &s->quotas, quota_tell);
}
