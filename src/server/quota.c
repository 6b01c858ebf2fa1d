/* quota.c - ResourceQuotas: what a namespace may have of things, and what it has
 *
 * Whatever is created, by clients or by controllers of this process, or made larger, is counted against the quotas of
 * its namespace before it is stored; what they hold is counted from the store itself each time, so nothing can drift
 * and nothing of one turn is missed. Namespaces without quotas pay nothing. status.used is written a little later, for
 * people and for schedulers.
 */
#include "server/server_internal.h"

#include "api/pod/qos.h"
#include "api/pod/resources.h"

static const struct resource_type *quota_type(void)
{
    return type_by_kind(STR("v1"), STR("ResourceQuota"));
}

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

/* ---- what a quota holds ---- */

struct quota_count {
    struct arena *arena;
    const struct json *quota;
    struct resources hard, used;
};

static void quota_add_object(void *ctx, const struct object *o)
{
    struct quota_count *c = ctx;
    autoarena scratch = { 0 };
    struct resources one;

    if (!is_about(c->quota, o->type, o->root))
        return;
    usage_of(&scratch, o->type, o->root, &one);
    VEC_FOREACH(r, &one.list) {
        const struct quantity *hard = resources_get(&c->hard, r->name);

        if (hard)
            resources_add(c->arena, &c->used, arena_str(c->arena, r->name), r->q);
    }
}

/* Does the quota name anything that objects of this kind take? */
static bool names_kind(struct arena *a, const struct resources *hard, const struct resource_type *t)
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

static void count_used(const struct server *s, struct arena *a, const struct object *quota, struct quota_count *ret)
{
    *ret = (struct quota_count){ .arena = a, .quota = quota->root };
    resources_from_json(a, json_find(quota->root, "spec", "hard", NULL), &ret->hard);
    VEC_FOREACH(h, &ret->hard.list)
        resources_set(a, &ret->used, h->name, quantity_of_i64(0, h->q.format));
    for (size_t i = 0; i < n_type_rows; i++) {
        const struct resource_type *t = type_at(i);

        if (t && t->scope == SCOPE_NAMESPACED && t->use == TYPE_STORED && names_kind(a, &ret->hard, t))
            store_list(s->opt.store, t, quota->namespace, quota_add_object, ret);
    }
}

/* ---- may it be created? ---- */

/* Amounts that a quota limits must be given, or nobody knows what a pod takes. */
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
static int quota_fits(const struct object *quota, struct quota_count *c, const struct resources *more, struct err *e)
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
    return err_set(e, ERR_FORBIDDEN, "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s",
                   STR_ARG(quota->name), STR_ARG(buf_view(&asked)), STR_ARG(buf_view(&used)),
                   STR_ARG(buf_view(&limited)));
}

struct admission {
    struct server *server;
    const struct resource_type *type;
    const struct json *object, *old; /* old: NULL: it is new */
    int rc;
    struct err e;
};

/* What it takes beyond what the quota counts of it already. */
static void more_of(struct arena *a, const struct admission *ad, const struct json *quota, struct resources *ret)
{
    struct resources before;

    usage_of(a, ad->type, ad->object, ret);
    if (!ad->old || !is_about(quota, ad->type, ad->old))
        return;
    usage_of(a, ad->type, ad->old, &before);
    VEC_FOREACH(r, &before.list)
        resources_add(a, ret, r->name, quantity_mul(r->q, -1));
}

static void ask_quota(void *ctx, const struct object *quota)
{
    struct admission *ad = ctx;
    autoarena a = { 0 };
    autobuf missing = { 0 };
    struct resources more;
    struct quota_count c;

    if (ad->rc < 0 || !is_about(quota->root, ad->type, ad->object))
        return;
    resources_from_json(&a, json_find(quota->root, "spec", "hard", NULL), &c.hard);
    if (!names_kind(&a, &c.hard, ad->type))
        return;
    if (is_pod(ad->type) && !ad->old)
        list_missing(ad->object, &c.hard, &missing);
    if (missing.n) {
        ad->rc = err_set(&ad->e, ERR_FORBIDDEN, "failed quota: %.*s: must specify %.*s", STR_ARG(quota->name),
                         STR_ARG(buf_view(&missing)));
        return;
    }
    more_of(&a, ad, quota->root, &more);
    count_used(ad->server, &a, quota, &c);
    ad->rc = quota_fits(quota, &c, &more, &ad->e);
}

int quota_admit(struct server *s, const struct resource_type *type, const struct json *object, const struct json *old,
                struct err *e)
{
    struct admission ad = { .server = s, .type = type, .object = object, .old = old };

    if (type->scope != SCOPE_NAMESPACED || type == quota_type() || store_count(s->opt.store, quota_type()) == 0)
        return 0;
    store_list(s->opt.store, quota_type(), object_namespace(object), ask_quota, &ad);
    if (ad.rc < 0)
        *e = ad.e;
    return ad.rc;
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
            problem_error(ps, &scopes, "Invalid value: \"%.*s\": unsupported scope", STR_ARG(json_text(s, STR_NULL)));
    JSON_FOREACH(r, rules.node) {
        struct place at = place_item(&rules, r, i++), name = place_member(&at, "scopeName"),
                     how = place_member(&at, "operator"), values = place_member(&at, "values");
        struct str word = json_text(how.node, STR_NULL);
        bool takes_values = str_is(word, "In") || str_is(word, "NotIn");

        if (!is_scope(json_text(name.node, STR_NULL)))
            problem_error(ps, &name, "Invalid value: \"%.*s\": unsupported scope",
                          STR_ARG(json_text(name.node, STR_NULL)));
        if (!takes_values && !str_is(word, "Exists") && !str_is(word, "DoesNotExist"))
            problem_error(ps, &how, "Invalid value: \"%.*s\": not a valid selector operator", STR_ARG(word));
        else if (takes_values && !json_count(values.node))
            problem_error(ps, &values, "Required value: must be at least one value when `operator` is 'In' or 'NotIn'");
        else if (!takes_values && json_count(values.node))
            problem_error(ps, &values, "Invalid value: must be no value when `operator` is 'Exists' or 'DoesNotExist'");
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

static void tell_used(struct server *s, const struct object *quota)
{
    autoarena a = { 0 };
    struct json *body = json_copy(&a, quota->root), *status = json_object(&a);
    struct quota_count c;

    count_used(s, &a, quota, &c);
    json_set(status, "hard", resources_to_json(&a, &c.hard));
    json_set(status, "used", resources_to_json(&a, &c.used));
    if (json_get(quota->root, "status") && json_equal(json_get(quota->root, "status"), status))
        return;
    json_set(body, "status", status);
    json_remove(json_get(body, "metadata"), "resourceVersion");
    (void)store_update(s->opt.store, body, STORE_STATUS, NULL, NULL); /* else next time */
}

int64_t quotas_turn(struct server *s)
{
    return tell_statuses(s, quota_type(), &s->quotas, tell_used);
}
