/* schema_rbac.c - roles and those who have them (rbac.authorization.k8s.io) */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

#define F_OBJECT F_TYPE, F_OBJ("metadata", &schema_meta)

SCHEMA(static, policy_rule, "PolicyRule",
    F_STRS("verbs", NEEDED),
    F_STRS("apiGroups"),
    F_STRS("resources"),
    F_STRS("resourceNames"),
    F_STRS("nonResourceURLs"));

SCHEMA(static, aggregation_rule, "AggregationRule",
    F_OBJS("clusterRoleSelectors", &schema_label_selector));

SCHEMA(static, role_ref, "RoleRef",
    F_STR("apiGroup"),
    F_STR("kind", NEEDED),
    F_STR("name", NEEDED));

SCHEMA(static, subject, "Subject",
    F_STR("kind", NEEDED),
    F_STR("apiGroup"),
    F_STR("name", NEEDED),
    F_STR("namespace"));

SCHEMA(, schema_role, "Role", F_OBJECT,
    F_OBJS("rules", &policy_rule));

SCHEMA(, schema_cluster_role, "ClusterRole", F_OBJECT,
    F_OBJS("rules", &policy_rule),
    F_OBJ("aggregationRule", &aggregation_rule));

SCHEMA(, schema_role_binding, "RoleBinding", F_OBJECT,
    F_OBJS("subjects", &subject),
    F_OBJ("roleRef", &role_ref, REQUIRED));

SCHEMA(, schema_cluster_role_binding, "ClusterRoleBinding", F_OBJECT,
    F_OBJS("subjects", &subject),
    F_OBJ("roleRef", &role_ref, REQUIRED));
