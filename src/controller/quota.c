/* quota.c - ResourceQuotas: what a namespace may have of things, and what it has */
#include "controller/control_plane.h"

#include "api/meta.h"
#include "api/pod/qos.h"
#include "api/pod/status.h"
#include "api/types.h"
#include "base/util.h"

static bool is_pod(const struct resource_type *t)
{
    return !t->group[0] && strcmp(t->kind, "Pod") == 0;
}

/* ---- what one object takes ---- */

static void add_one(struct arena *a, struct resources *r, struct str name)
{
    resources_add(a, r, name, quantity_of_i64(1, QUANTITY_DECIMAL_SI));
}

static void quota_add_service(struct arena *a, const struct json *service, struct resources *ret)
{
    const struct json *spec = json_get(service, "spec");
    bool is_balanced = str_is(json_member_text(spec, "type"), "LoadBalancer");

    if (is_balanced)
        add_one(a, ret, STR("services.loadbalancers"));
    if (is_balanced || str_is(json_member_text(spec, "type"), "NodePort"))
        JSON_FOREACH(port, json_get(spec, "ports"))
            add_one(a, ret, STR("services.nodeports"));
}

static void add_claim(struct arena *a, const struct json *claim, struct resources *ret)
{
    const struct json *spec = json_get(claim, "spec");
    struct str class = json_member_text(spec, "storageClassName");
    struct resources asked;
    const struct quantity *storage;

    resources_from_json(a, json_find(spec, "resources", "requests", NULL), &asked);
    storage = resources_get(&asked, STR("storage"));
    if (storage)
        resources_add(a, ret, STR("requests.storage"), *storage);
    if (!class.n)
        return;
    add_one(a, ret, arena_fmt(a, "%.*s.storageclass.storage.k8s.io/persistentvolumeclaims", STR_ARG(class)));
    if (storage)
        resources_add(a, ret, arena_fmt(a, "%.*s.storageclass.storage.k8s.io/requests.storage", STR_ARG(class)),
                      *storage);
}

static void usage_of(struct arena *a, const struct resource_type *t, const struct json *object, struct resources *ret)
{
    *ret = (struct resources){ 0 };
    add_one(a, ret, arena_cat(a, STR("count/"), type_resource(a, t)));
    if (is_pod(t) && !pod_has_ended(object)) {
        struct resources pod;

        pod_quota_usage(a, json_get(object, "spec"), &pod);
        resources_max(a, ret, &pod); /* count/pods is in both */
    } else if (!t->group[0] && !is_pod(t)) {
        add_one(a, ret, str_of(t->plural)); /* older than count/… */
    }
    if (!t->group[0] && strcmp(t->kind, "Service") == 0)
        quota_add_service(a, object, ret);
    if (!t->group[0] && strcmp(t->kind, "PersistentVolumeClaim") == 0)
        add_claim(a, object, ret);
}

/* ---- scopes: which pods a quota is about ---- */

/* Does it want to be near, or far from, pods of other namespaces? */
static bool is_across(const struct json *spec)
{
    static const char *const kinds[] = { "podAffinity", "podAntiAffinity" };
    static const char *const lists[] = { "requiredDuringSchedulingIgnoredDuringExecution",
                                         "preferredDuringSchedulingIgnoredDuringExecution" };

    for (size_t i = 0; i < ARRAY_LEN(kinds) * ARRAY_LEN(lists); i++)
        JSON_FOREACH(t, json_find(spec, "affinity", kinds[i / 2], lists[i % 2], NULL)) {
            const struct json *term = json_get(t, "podAffinityTerm") ? json_get(t, "podAffinityTerm") : t;

            if (json_count(json_get(term, "namespaces")) || json_get(term, "namespaceSelector"))
                return true;
        }
    return false;
}

static bool is_in_scope(const struct json *pod, struct str scope, struct str operator_, const struct json *values)
{
    const struct json *spec = json_get(pod, "spec");
    bool ends = json_get(spec, "activeDeadlineSeconds"), is_best = strcmp(pod_qos(spec), "BestEffort") == 0;
    struct str class = json_member_text(spec, "priorityClassName");
    bool is_listed = false;

    if (str_is(scope, "Terminating") || str_is(scope, "NotTerminating"))
        return ends == str_is(scope, "Terminating");
    if (str_is(scope, "BestEffort") || str_is(scope, "NotBestEffort"))
        return is_best == str_is(scope, "BestEffort");
    if (str_is(scope, "CrossNamespacePodAffinity"))
        return is_across(spec);
    if (!str_is(scope, "PriorityClass"))
        return false;
    JSON_FOREACH(v, values)
        is_listed |= str_eq(json_text(v, STR_NULL), class);
    return str_is(operator_, "In")             ? is_listed
           : str_is(operator_, "NotIn")        ? !is_listed
           : str_is(operator_, "DoesNotExist") ? !class.n
                                               : class.n > 0;
}

static bool is_about(const struct json *quota, const struct resource_type *t, const struct json *object)
{
    const struct json *spec = json_get(quota, "spec"), *scopes = json_get(spec, "scopes"),
                      *rules = json_find(spec, "scopeSelector", "matchExpressions", NULL);

    if (!json_count(scopes) && !json_count(rules))
        return true;
    if (!is_pod(t))
        return false;
    JSON_FOREACH(s, scopes)
        if (!is_in_scope(object, json_text(s, STR_NULL), STR("Exists"), NULL))
            return false;
    JSON_FOREACH(r, rules)
        if (!is_in_scope(object, json_member_text(r, "scopeName"), json_member_text(r, "operator"),
                         json_get(r, "values")))
            return false;
    return true;
}

/* ---- what a quota counts ---- */

bool quota_counts(struct arena *a, const struct resources *hard, const struct resource_type *t)
{
    static const char *const pod_words[] = { "pods",    "cpu",       "memory",    "ephemeral-storage",
                                             "limits.", "requests.", "hugepages-" };

    if (resources_get(hard, arena_cat(a, STR("count/"), type_resource(a, t))))
        return true;
    VEC_FOREACH(h, &hard->list) {
        if (!t->group[0] && (str_is(h->name, t->plural) || str_starts(h->name, arena_fmt(a, "%s.", t->plural))))
            return true;
        if (strcmp(t->plural, "persistentvolumeclaims") == 0 &&
            (str_is(h->name, "requests.storage") || str_has(h->name, STR(".storageclass.storage.k8s.io/"))))
            return true;
        for (size_t i = 0; is_pod(t) && i < ARRAY_LEN(pod_words); i++)
            if (str_starts(h->name, str_of(pod_words[i])))
                return true;
    }
    return false;
}

bool quota_concerns(const struct json *quota, const struct quota_change *change)
{
    autoarena a = { 0 };
    struct resources hard;

    if (!is_about(quota, change->type, change->object))
        return false;
    resources_from_json(&a, json_find(quota, "spec", "hard", NULL), &hard);
    return quota_counts(&a, &hard, change->type);
}

struct quota_count {
    struct resources hard, used;
};

static void quota_count(struct arena *a, const struct quota_observed *o, struct quota_count *ret)
{
    autoarena scratch = { 0 };

    *ret = (struct quota_count){ 0 };
    resources_from_json(a, json_find(o->quota, "spec", "hard", NULL), &ret->hard);
    VEC_FOREACH(h, &ret->hard.list)
        resources_set(a, &ret->used, h->name, quantity_of_i64(0, h->q.format));
    for (size_t i = 0; i < o->objects.n; i++) {
        const struct observed_object *seen = &o->objects.v[i];
        struct resources one;

        if (!is_about(o->quota, seen->type, seen->root))
            continue;
        arena_reset(&scratch);
        usage_of(&scratch, seen->type, seen->root, &one);
        VEC_FOREACH(r, &one.list)
            if (resources_get(&ret->hard, r->name))
                resources_add(a, &ret->used, arena_str(a, r->name), r->q);
    }
}

/* ---- may it be written? ---- */

/* A pod must state every amount that a quota limits: else its use cannot be counted. */
static void list_missing(const struct json *pod, const struct resources *hard, struct buf *out)
{
    static const struct {
        const char *resource, *list, *name;
    } rows[] = {
        { "cpu", "requests", "cpu" },
        { "limits.cpu", "limits", "cpu" },
        { "limits.memory", "limits", "memory" },
        { "memory", "requests", "memory" },
        { "requests.cpu", "requests", "cpu" },
        { "requests.memory", "requests", "memory" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autobuf names = { 0 };

        if (!resources_get(hard, str_of(rows[i].resource)))
            continue;
        JSON_FOREACH(c, json_find(pod, "spec", "containers", NULL))
            if (!json_find(c, "resources", rows[i].list, rows[i].name, NULL))
                buf_fmt(&names, "%s%.*s", names.n ? "," : "", STR_ARG(json_member_text(c, "name")));
        if (names.n)
            buf_fmt(out, "%s%s for: %.*s", out->n ? "; " : "", rows[i].resource, STR_ARG(buf_view(&names)));
    }
}

static void print_amount(struct buf *out, struct str name, struct quantity q)
{
    buf_fmt(out, "%s%.*s=", out->n ? "," : "", STR_ARG(name));
    quantity_print(out, q);
}

/* Or it is said by what it is too much. */
static int quota_fits(struct str name, const struct quota_count *c, const struct resources *more, struct err *e)
{
    autobuf asked = { 0 }, used = { 0 }, limited = { 0 };

    VEC_FOREACH(r, &more->list) {
        const struct quantity *hard = resources_get(&c->hard, r->name), *now = resources_get(&c->used, r->name);

        if (!hard || r->q.nano <= 0 || quantity_cmp(quantity_add(*now, r->q), *hard) <= 0)
            continue;
        print_amount(&asked, r->name, r->q);
        print_amount(&used, r->name, *now);
        print_amount(&limited, r->name, *hard);
    }
    if (!asked.n)
        return 0;
    return err_set(e, ERR_FORBIDDEN, "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s", STR_ARG(name),
                   STR_ARG(buf_view(&asked)), STR_ARG(buf_view(&used)), STR_ARG(buf_view(&limited)));
}

/* What it takes beyond what the quota counts of it already. */
static void more_of(struct arena *a, const struct quota_change *change, const struct json *quota, struct resources *ret)
{
    struct resources before;

    usage_of(a, change->type, change->object, ret);
    if (!change->old || !is_about(quota, change->type, change->old))
        return;
    usage_of(a, change->type, change->old, &before);
    VEC_FOREACH(r, &before.list)
        resources_add(a, ret, r->name, quantity_mul(r->q, -1));
}

int quota_check(const struct quota_observed *o, const struct quota_change *change, struct err *e)
{
    autoarena a = { 0 };
    autobuf missing = { 0 };
    struct str name = object_name(o->quota);
    struct resources more;
    struct quota_count c;

    quota_count(&a, o, &c);
    if (is_pod(change->type) && !change->old)
        list_missing(change->object, &c.hard, &missing);
    if (missing.n)
        return err_set(e, ERR_FORBIDDEN, "failed quota: %.*s: must specify %.*s", STR_ARG(name),
                       STR_ARG(buf_view(&missing)));
    more_of(&a, change, o->quota, &more);
    return quota_fits(name, &c, &more, e);
}

/* ---- the status ---- */

void quota_plan(const struct quota_observed *o, struct plan *plan)
{
    struct arena *a = plan->arena;
    struct json *body = json_copy(a, o->quota), *status = json_object(a);
    struct quota_count c;

    quota_count(a, o, &c);
    json_set(status, "hard", resources_to_json(a, &c.hard));
    json_set(status, "used", resources_to_json(a, &c.used));
    if (json_get(o->quota, "status") && json_equal(json_get(o->quota, "status"), status))
        return;
    json_set(body, "status", status);
    json_remove(json_get(body, "metadata"), "resourceVersion"); /* the count is right for whichever it is now */
    plan_update_status(plan, type_by_kind(STR("v1"), STR("ResourceQuota")), body);
}
