/* rbac_defaults.c - the default roles and bindings
 *
 * Names, and what they give, are those of Kubernetes where it has them, for the kinds that there are here. view, edit
 * and admin are aggregates: a custom role joins them by a label, as ours for Volcano's kinds do.
 */
#include "api/meta.h"
#include "auth/rbac.h"
#include "base/util.h"
#include "store/store.h"

#define AUTOUPDATE "rbac.authorization.kubernetes.io/autoupdate"
#define AGGREGATE  "rbac.authorization.k8s.io/aggregate-to-"

#define READ  "get list watch"
#define WRITE "create delete deletecollection patch update"

/* ---- tables ---- words with blanks between; "." is the core group ---- */

static const struct {
    const char *name;
    const char *joins;      /* the aggregate it is a part of; NULL: none */
    const char *aggregates; /* it is one, of those that join this; NULL: it is none */
} roles[] = {
    { "cluster-admin", NULL, NULL },
    { "admin", NULL, "admin" },
    { "edit", "admin", "edit" },
    { "view", "edit", "view" },
    { "system:aggregate-to-admin", "admin", NULL },
    { "system:aggregate-to-edit", "edit", NULL },
    { "system:aggregate-to-view", "view", NULL },
    { "pumice:aggregate-to-edit", "edit", NULL },
    { "pumice:aggregate-to-view", "view", NULL },
    { "system:discovery", NULL, NULL },
    { "system:public-info-viewer", NULL, NULL },
    { "system:basic-user", NULL, NULL },
    { "system:auth-delegator", NULL, NULL },
    { "system:service-account-issuer-discovery", NULL, NULL },
    { "system:node", NULL, NULL },
    { "pumice:ui", NULL, NULL },
};

static const struct rule_row {
    const char *role, *groups, *resources, *verbs;
    const char *urls; /* instead of groups and resources */
} rules[] = {
    { "cluster-admin", "*", "*", "*", NULL },
    { "cluster-admin", NULL, NULL, "*", "*" },

    { "system:aggregate-to-view", ".",
      "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods services services/status "
      "serviceaccounts events namespaces namespaces/status resourcequotas resourcequotas/status pods/log pods/status "
      "bindings limitranges",
      READ, NULL },
    { "system:aggregate-to-view", "discovery.k8s.io", "endpointslices", READ, NULL },
    { "system:aggregate-to-view", "events.k8s.io", "events", READ, NULL },
    { "system:aggregate-to-view", "networking.k8s.io", "networkpolicies", READ, NULL },
    { "system:aggregate-to-view", "policy", "poddisruptionbudgets poddisruptionbudgets/status", READ, NULL },

    { "system:aggregate-to-edit", ".", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy", READ,
      NULL },
    { "system:aggregate-to-edit", ".", "serviceaccounts", "impersonate", NULL },
    { "system:aggregate-to-edit", ".", "pods pods/attach pods/exec pods/portforward pods/proxy services/proxy", WRITE,
      NULL },
    { "system:aggregate-to-edit", ".", "pods/eviction", "create", NULL },
    { "system:aggregate-to-edit", ".", "configmaps events persistentvolumeclaims secrets serviceaccounts services",
      WRITE, NULL },
    { "system:aggregate-to-edit", ".", "serviceaccounts/token", "create", NULL },
    { "system:aggregate-to-edit", "networking.k8s.io", "networkpolicies", WRITE, NULL },
    { "system:aggregate-to-edit", "policy", "poddisruptionbudgets", WRITE, NULL },
    { "system:aggregate-to-edit", "coordination.k8s.io", "leases", READ " " WRITE, NULL },

    { "system:aggregate-to-admin", "authorization.k8s.io", "localsubjectaccessreviews", "create", NULL },
    { "system:aggregate-to-admin", RBAC_GROUP, "roles rolebindings", READ " " WRITE, NULL },

    { "pumice:aggregate-to-view", "batch.volcano.sh", "jobs jobs/status cronjobs cronjobs/status", READ, NULL },
    { "pumice:aggregate-to-view", "scheduling.volcano.sh", "podgroups podgroups/status queues queues/status", READ,
      NULL },
    { "pumice:aggregate-to-view", "flow.volcano.sh", "jobflows jobflows/status jobtemplates jobtemplates/status", READ,
      NULL },
    { "pumice:aggregate-to-view", "bus.volcano.sh", "commands", READ, NULL },
    { "pumice:aggregate-to-view", "topology.volcano.sh", "hypernodes", READ, NULL },
    { "pumice:aggregate-to-view", "metrics.k8s.io", "pods nodes", "get list", NULL },
    { "pumice:aggregate-to-edit", "batch.volcano.sh", "jobs cronjobs", WRITE, NULL },
    { "pumice:aggregate-to-edit", "flow.volcano.sh", "jobflows jobtemplates", WRITE, NULL },
    { "pumice:aggregate-to-edit", "bus.volcano.sh", "commands", WRITE, NULL },
    { "pumice:aggregate-to-edit", "scheduling.volcano.sh", "podgroups", WRITE, NULL },

    { "system:discovery", NULL, NULL, "get",
      "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/" },
    { "system:public-info-viewer", NULL, NULL, "get", "/healthz /livez /readyz /version /version/" },
    { "system:service-account-issuer-discovery", NULL, NULL, "get",
      "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/" },
    { "pumice:ui", NULL, NULL, "get", "/ui /ui/*" },
    { "system:basic-user", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create", NULL },
    { "system:basic-user", "authentication.k8s.io", "selfsubjectreviews", "create", NULL },
    { "system:auth-delegator", "authentication.k8s.io", "tokenreviews", "create", NULL },
    { "system:auth-delegator", "authorization.k8s.io", "subjectaccessreviews", "create", NULL },

    { "system:node", ".", "nodes", "create get list watch patch update", NULL },
    { "system:node", ".", "nodes/status", "patch update", NULL },
    { "system:node", ".", "pods", "get list watch create delete", NULL },
    { "system:node", ".", "pods/status", "patch update", NULL },
    { "system:node", ".", "pods/eviction serviceaccounts/token", "create", NULL },
    { "system:node", ".", "configmaps secrets services persistentvolumeclaims persistentvolumes", READ, NULL },
    { "system:node", ". events.k8s.io", "events", "create patch update", NULL },
    { "system:node", "coordination.k8s.io", "leases", "create get patch update delete", NULL },
    { "system:node", "authentication.k8s.io", "tokenreviews", "create", NULL },
    { "system:node", "authorization.k8s.io", "subjectaccessreviews", "create", NULL },
};

static const struct {
    const char *role, *groups;
} bindings[] = {
    { "cluster-admin", GROUP_MASTERS },
    { "system:discovery", GROUP_AUTHENTICATED },
    { "system:basic-user", GROUP_AUTHENTICATED },
    { "system:public-info-viewer", GROUP_AUTHENTICATED " " GROUP_UNAUTHENTICATED },
    { "system:service-account-issuer-discovery", GROUP_ACCOUNTS },
    { "pumice:ui", GROUP_AUTHENTICATED " " GROUP_UNAUTHENTICATED },
};

/* ---- objects ---- */

static void set_words(struct arena *a, struct json *j, const char *key, const char *words)
{
    struct str rest = str_of(words), word;
    struct json *list;

    if (!words)
        return;
    list = json_set(j, key, json_array(a));
    while (str_split(&rest, ' ', &word))
        json_push(list, json_str(a, str_is(word, ".") ? STR("") : word));
}

static struct json *new_object(struct arena *a, const char *kind, const char *name)
{
    struct json *o = object_new(a, RBAC_GROUP "/v1", kind, STR_NULL, str_of(name));

    object_set_label(a, o, "kubernetes.io/bootstrapping", STR("rbac-defaults"));
    object_set_annotation(a, o, AUTOUPDATE, STR("true"));
    return o;
}

static void set_aggregation(struct arena *a, struct json *role, const char *name)
{
    struct json *rule = json_set(role, "aggregationRule", json_object(a));
    struct json *one = json_push(json_set(rule, "clusterRoleSelectors", json_array(a)), json_object(a));
    struct str key = arena_fmt(a, AGGREGATE "%s", name);

    json_set_key(json_set(one, "matchLabels", json_object(a)), key, json_str(a, STR("true")));
}

static struct json *make_role(struct arena *a, size_t i)
{
    struct json *role = new_object(a, "ClusterRole", roles[i].name), *list;

    if (roles[i].joins)
        object_set_label(a, role, arena_fmt(a, AGGREGATE "%s", roles[i].joins).p, STR("true"));
    list = json_set(role, "rules", json_array(a));
    for (size_t k = 0; k < ARRAY_LEN(rules); k++) {
        struct json *rule;

        if (strcmp(rules[k].role, roles[i].name) != 0)
            continue;
        rule = json_push(list, json_object(a));
        set_words(a, rule, "apiGroups", rules[k].groups);
        set_words(a, rule, "resources", rules[k].resources);
        set_words(a, rule, "nonResourceURLs", rules[k].urls);
        set_words(a, rule, "verbs", rules[k].verbs);
    }
    if (roles[i].aggregates)
        set_aggregation(a, role, roles[i].aggregates);
    return role;
}

static struct json *make_binding(struct arena *a, size_t i)
{
    struct json *b = new_object(a, "ClusterRoleBinding", bindings[i].role), *ref, *subjects;
    struct str rest = str_of(bindings[i].groups), group;

    ref = json_set(b, "roleRef", json_object(a));
    json_set(ref, "apiGroup", json_str(a, STR(RBAC_GROUP)));
    json_set(ref, "kind", json_str(a, STR("ClusterRole")));
    json_set(ref, "name", json_str(a, str_of(bindings[i].role)));
    subjects = json_set(b, "subjects", json_array(a));
    while (str_split(&rest, ' ', &group)) {
        struct json *s = json_push(subjects, json_object(a));

        json_set(s, "apiGroup", json_str(a, STR(RBAC_GROUP)));
        json_set(s, "kind", json_str(a, STR("Group")));
        json_set(s, "name", json_str(a, group));
    }
    return b;
}

void rbac_default_objects(struct arena *a, struct json *ret_list)
{
    for (size_t i = 0; i < ARRAY_LEN(roles); i++)
        json_push(ret_list, make_role(a, i));
    for (size_t i = 0; i < ARRAY_LEN(bindings); i++)
        json_push(ret_list, make_binding(a, i));
}

/* ---- in a store ---- */

static bool has_item(const struct json *list, const struct json *item)
{
    JSON_FOREACH(other, list)
        if (json_equal(other, item))
            return true;
    return false;
}

/* A newer version knows more kinds: what is missing is added, what was added by others stays. */
static bool add_missing(struct arena *a, struct json *have, const struct json *want, const char *field)
{
    struct json *list = json_need_array(a, have, field);
    bool has_changed = false;

    JSON_FOREACH(item, json_get(want, field))
        if (list && !has_item(list, item)) {
            json_push(list, json_copy(a, item));
            has_changed = true;
        }
    return has_changed;
}

static int defaults_make_one(struct store *store, struct arena *a, const struct json *want, struct err *e)
{
    const struct resource_type *type = type_by_kind(object_api_version(want), object_kind(want));
    autounref struct object *have = object_ref(store_get(store, type, STR_NULL, object_name(want)));
    struct json *body;

    if (!have)
        return store_create(store, want, NULL, e);
    if (str_is(object_annotation(have->root, AUTOUPDATE), "false"))
        return 0;
    body = json_copy(a, have->root);
    return add_missing(a, body, want, json_get(want, "rules") ? "rules" : "subjects")
               ? store_update(store, body, STORE_MAIN, NULL, e)
               : 0;
}

int rbac_make_defaults(struct store *store, struct err *e)
{
    autoarena a = { 0 };
    struct json *all = json_array(&a);

    rbac_default_objects(&a, all);
    JSON_FOREACH(want, all)
        if (defaults_make_one(store, &a, want, e) < 0)
            return err_wrap(e, "%.*s", STR_ARG(object_name(want)));
    return 0;
}
