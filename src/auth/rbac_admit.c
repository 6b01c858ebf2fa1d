/* rbac_admit.c - defaults and validation of roles and bindings */
#include "api/meta.h"
#include "api/name.h"
#include "auth/rbac.h"
#include "base/util.h"

static bool is_binding(const struct json *object)
{
    return str_ends(object_kind(object), STR("RoleBinding"));
}

void rbac_admit_defaults(struct arena *a, struct json *object)
{
    struct json *ref = json_get(object, "roleRef");

    if (!is_binding(object))
        return;
    if (json_is(ref, JSON_OBJECT) && !json_member_text(ref, "apiGroup").n)
        json_set(ref, "apiGroup", json_str(a, STR(RBAC_GROUP)));
    JSON_FOREACH(s, json_get(object, "subjects"))
        if (json_is(s, JSON_OBJECT) && !json_get(s, "apiGroup") &&
            !str_is(json_member_text(s, "kind"), "ServiceAccount"))
            json_set(s, "apiGroup", json_str(a, STR(RBAC_GROUP)));
}

/* ---- roles ---- */

static void check_rule(const struct place *rule, bool is_namespaced, struct problems *ps)
{
    struct place verbs = place_member(rule, "verbs"), urls = place_member(rule, "nonResourceURLs");
    struct place groups = place_member(rule, "apiGroups"), resources = place_member(rule, "resources");
    struct place names = place_member(rule, "resourceNames");

    if (!json_count(verbs.node))
        problem_error(ps, &verbs, "verbs must contain at least one value");
    if (json_count(urls.node)) {
        if (is_namespaced)
            problem_error(ps, &urls, "namespaced rules cannot apply to non-resource URLs");
        if (json_count(groups.node) || json_count(resources.node) || json_count(names.node))
            problem_error(ps, &urls, "rules cannot apply to both regular resources and non-resource URLs");
        return;
    }
    if (!json_count(groups.node))
        problem_error(ps, &groups, "resource rules must supply at least one api group");
    if (!json_count(resources.node))
        problem_error(ps, &resources, "resource rules must supply at least one resource");
}

static void check_role(const struct place *object, struct problems *ps)
{
    struct place rules = place_member(object, "rules");
    bool is_namespaced = str_is(object_kind(object->node), "Role");
    size_t i = 0;

    JSON_FOREACH(rule, rules.node) {
        struct place at = place_item(&rules, rule, i++);

        check_rule(&at, is_namespaced, ps);
    }
}

/* ---- bindings ---- */

static void check_subject(const struct place *at, bool is_namespaced, struct problems *ps)
{
    struct str kind = json_member_text(at->node, "kind"), group = json_member_text(at->node, "apiGroup");
    struct str namespace = json_member_text(at->node, "namespace");
    struct place name = place_member(at, "name"), group_at = place_member(at, "apiGroup");
    struct place kind_at = place_member(at, "kind"), namespace_at = place_member(at, "namespace");
    bool is_account = str_is(kind, "ServiceAccount");

    if (!json_member_text(at->node, "name").n)
        problem_of(ps, PROBLEM_REQUIRED, &name, "is required");
    if (!is_account && !str_is(kind, "User") && !str_is(kind, "Group"))
        problem_error(ps, &kind_at, "must be User, Group or ServiceAccount");
    else if (!str_is(group, is_account ? "" : RBAC_GROUP))
        problem_error(ps, &group_at, "must be \"%s\" for a %.*s", is_account ? "" : RBAC_GROUP, STR_ARG(kind));
    if (is_account && !namespace.n && !is_namespaced)
        problem_of(ps, PROBLEM_REQUIRED, &namespace_at, "is required for a ServiceAccount");
}

static void check_ref(const struct place *object, bool is_namespaced, struct problems *ps)
{
    struct place ref = place_member(object, "roleRef"), kind_at = place_member(&ref, "kind");
    struct place group_at = place_member(&ref, "apiGroup"), name_at = place_member(&ref, "name");
    struct str kind = json_member_text(ref.node, "kind");

    if (!str_is(json_member_text(ref.node, "apiGroup"), RBAC_GROUP))
        problem_error(ps, &group_at, "must be \"" RBAC_GROUP "\"");
    if (!str_is(kind, "ClusterRole") && !(is_namespaced && str_is(kind, "Role")))
        problem_error(ps, &kind_at, is_namespaced ? "must be Role or ClusterRole" : "must be ClusterRole");
    if (name_check_path_segment(ps->arena, json_member_text(ref.node, "name")) || !json_member_text(ref.node, "name").n)
        problem_error(ps, &name_at, "must be the name of a role");
}

static void check_binding(const struct place *object, const struct json *old, struct problems *ps)
{
    struct place subjects = place_member(object, "subjects"), ref = place_member(object, "roleRef");
    bool is_namespaced = str_is(object_kind(object->node), "RoleBinding");
    size_t i = 0;

    check_ref(object, is_namespaced, ps);
    JSON_FOREACH(s, subjects.node) {
        struct place at = place_item(&subjects, s, i++);

        check_subject(&at, is_namespaced, ps);
    }
    if (old && ref.node && json_get(old, "roleRef") && !json_equal(ref.node, json_get(old, "roleRef")))
        problem_error(ps, &ref, "cannot change roleRef; delete the binding and make another");
}

void rbac_admit_check(const struct place *object, const struct json *old, struct problems *ps)
{
    if (is_binding(object->node))
        check_binding(object, old, ps);
    else
        check_role(object, ps);
}
