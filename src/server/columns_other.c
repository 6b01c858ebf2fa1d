/* columns_other.c - columns of roles, bindings and storage, and those that all other kinds have */
#include "server/columns.h"

/* "ClusterRole/view" */
static struct json *binding_role(struct arena *a, const struct json *binding, int64_t now_ms)
{
    const struct json *ref = json_get(binding, "roleRef");

    (void)now_ms;
    return json_fmt(a, "%.*s/%.*s", STR_ARG(json_member_text(ref, "kind")), STR_ARG(json_member_text(ref, "name")));
}

static struct json *subjects(struct arena *a, const struct json *binding, const char *kind)
{
    autobuf out = { 0 };

    JSON_FOREACH(s, json_get(binding, "subjects")) {
        struct str namespace = json_member_text(s, "namespace");

        if (!str_is(json_member_text(s, "kind"), kind))
            continue;
        buf_fmt(&out, "%s%.*s%s%.*s", out.n ? ", " : "", STR_ARG(namespace), namespace.n ? "/" : "",
                STR_ARG(json_member_text(s, "name")));
    }
    return json_str(a, arena_str(a, buf_view(&out)));
}

static struct json *binding_users(struct arena *a, const struct json *binding, int64_t now_ms)
{
    (void)now_ms;
    return subjects(a, binding, "User");
}

static struct json *binding_groups(struct arena *a, const struct json *binding, int64_t now_ms)
{
    (void)now_ms;
    return subjects(a, binding, "Group");
}

static struct json *binding_accounts(struct arena *a, const struct json *binding, int64_t now_ms)
{
    (void)now_ms;
    return subjects(a, binding, "ServiceAccount");
}

static struct json *storage_expands(struct arena *a, const struct json *class, int64_t now_ms)
{
    (void)now_ms;
    return json_bool_new(a, json_bool(json_get(class, "allowVolumeExpansion"), false));
}

static struct json *driver_count(struct arena *a, const struct json *node, int64_t now_ms)
{
    (void)now_ms;
    return json_int(a, (int64_t)json_count(json_find(node, "spec", "drivers", NULL)));
}

static const struct column of_roles[] = { NAME, { "Created At", "string", false, CREATED } };
static const struct column of_bindings[] = {
    NAME,
    { "Role", "string", false, NULL, binding_role },
    AGE,
    { "Users", "string", true, NULL, binding_users },
    { "Groups", "string", true, NULL, binding_groups },
    { "ServiceAccounts", "string", true, NULL, binding_accounts },
};
static const struct column of_storage_classes[] = {
    NAME,
    { "Provisioner", "string", false, "provisioner" },
    { "ReclaimPolicy", "string", false, "reclaimPolicy" },
    { "VolumeBindingMode", "string", false, "volumeBindingMode" },
    { "AllowVolumeExpansion", "string", false, NULL, storage_expands },
    AGE,
};
static const struct column of_csi_nodes[] = { NAME, { "Drivers", "integer", false, NULL, driver_count }, AGE };
static const struct column of_all[] = { NAME, AGE };

static const struct columns tables[] = {
    { "roles", "rbac.authorization.k8s.io", COLUMNS(of_roles) },
    { "clusterroles", "rbac.authorization.k8s.io", COLUMNS(of_roles) },
    { "rolebindings", "rbac.authorization.k8s.io", COLUMNS(of_bindings) },
    { "clusterrolebindings", "rbac.authorization.k8s.io", COLUMNS(of_bindings) },
    { "storageclasses", "storage.k8s.io", COLUMNS(of_storage_classes) },
    { "csinodes", "storage.k8s.io", COLUMNS(of_csi_nodes) },
};

const struct column *columns_of_other(const struct resource_type *t, size_t *ret_n)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (strcmp(tables[i].resource, t->plural) == 0 && strcmp(tables[i].group, t->group) == 0) {
            *ret_n = tables[i].n;
            return tables[i].columns;
        }
    *ret_n = ARRAY_LEN(of_all);
    return of_all;
}
