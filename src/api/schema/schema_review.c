/* schema_review.c - what nothing is stored of: questions and measurements (authentication, authorization, metrics), and
 * the bodies of subresources and deletes */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

#define F_OBJECT F_TYPE, F_OBJ("metadata", &schema_meta)
#define F_EXTRA  F_ROW("extra", FIELD_ANY, SHAPE_MAP)

/* ---- users ---- */

SCHEMA(static, user_info, "UserInfo",
    F_STR("username"),
    F_STR("uid"),
    F_STRS("groups"),
    F_EXTRA);

SCHEMA(static, token_review_spec, "TokenReviewSpec",
    F_STR("token", DOC("the bearer token to be looked at")),
    F_STRS("audiences", DOC("for whom it must be good; this server if there are none")));

SCHEMA(static, token_review_status, "TokenReviewStatus",
    F_BOOL("authenticated"),
    F_OBJ("user", &user_info),
    F_STRS("audiences"),
    F_STR("error"));

SCHEMA(, schema_token_review, "TokenReview", F_OBJECT,
    F_OBJ("spec", &token_review_spec),
    F_OBJ("status", &token_review_status));

SCHEMA(static, self_review_status, "SelfSubjectReviewStatus",
    F_OBJ("userInfo", &user_info));

SCHEMA(, schema_self_review, "SelfSubjectReview", F_OBJECT,
    F_OBJ("status", &self_review_status));

/* ---- access ---- */

SCHEMA(static, selector_requirement, "SelectorRequirement",
    F_STR("key"),
    F_STR("operator"),
    F_STRS("values"));

SCHEMA(static, selector_attributes, "SelectorAttributes",
    F_STR("rawSelector"),
    F_OBJS("requirements", &selector_requirement));

SCHEMA(static, resource_attributes, "ResourceAttributes",
    F_STR("namespace"),
    F_STR("verb"),
    F_STR("group"),
    F_STR("version"),
    F_STR("resource"),
    F_STR("subresource"),
    F_STR("name"),
    F_OBJ("fieldSelector", &selector_attributes),
    F_OBJ("labelSelector", &selector_attributes));

SCHEMA(static, non_resource_attributes, "NonResourceAttributes",
    F_STR("path"),
    F_STR("verb"));

SCHEMA(static, access_review_spec, "SubjectAccessReviewSpec",
    F_OBJ("resourceAttributes", &resource_attributes),
    F_OBJ("nonResourceAttributes", &non_resource_attributes),
    F_STR("user", DOC("the user whose access is checked")),
    F_STRS("groups"),
    F_STR("uid"),
    F_EXTRA);

SCHEMA(static, self_access_review_spec, "SelfSubjectAccessReviewSpec",
    F_OBJ("resourceAttributes", &resource_attributes),
    F_OBJ("nonResourceAttributes", &non_resource_attributes));

SCHEMA(static, access_review_status, "SubjectAccessReviewStatus",
    F_BOOL("allowed"),
    F_BOOL("denied"),
    F_STR("reason"),
    F_STR("evaluationError"));

SCHEMA(, schema_access_review, "SubjectAccessReview", F_OBJECT,
    F_OBJ("spec", &access_review_spec),
    F_OBJ("status", &access_review_status));

SCHEMA(, schema_local_access_review, "LocalSubjectAccessReview", F_OBJECT,
    F_OBJ("spec", &access_review_spec),
    F_OBJ("status", &access_review_status));

SCHEMA(, schema_self_access_review, "SelfSubjectAccessReview", F_OBJECT,
    F_OBJ("spec", &self_access_review_spec),
    F_OBJ("status", &access_review_status));

SCHEMA(static, rules_review_spec, "SelfSubjectRulesReviewSpec",
    F_STR("namespace"));

SCHEMA(static, resource_rule, "ResourceRule",
    F_STRS("verbs"),
    F_STRS("apiGroups"),
    F_STRS("resources"),
    F_STRS("resourceNames"));

SCHEMA(static, non_resource_rule, "NonResourceRule",
    F_STRS("verbs"),
    F_STRS("nonResourceURLs"));

SCHEMA(static, rules_review_status, "SubjectRulesReviewStatus",
    F_OBJS("resourceRules", &resource_rule),
    F_OBJS("nonResourceRules", &non_resource_rule),
    F_BOOL("incomplete"),
    F_STR("evaluationError"));

SCHEMA(, schema_rules_review, "SelfSubjectRulesReview", F_OBJECT,
    F_OBJ("spec", &rules_review_spec),
    F_OBJ("status", &rules_review_status));

/* ---- what is used ---- */

SCHEMA(static, container_metrics, "ContainerMetrics",
    F_STR("name"),
    F_RESOURCES("usage"));

SCHEMA(, schema_pod_metrics, "PodMetrics", F_OBJECT,
    F_TIME("timestamp"),
    F_DURATION("window", DOC("the time before timestamp that CPU is measured over")),
    F_OBJS("containers", &container_metrics));

SCHEMA(, schema_node_metrics, "NodeMetrics", F_OBJECT,
    F_TIME("timestamp"),
    F_DURATION("window", DOC("the time before timestamp that CPU is measured over")),
    F_RESOURCES("usage"));

/* ---- bodies of subresources and deletes ---- */

SCHEMA(static, bound_ref, "BoundObjectReference",
    F_STR("kind"),
    F_STR("apiVersion"),
    F_STR("name"),
    F_STR("uid"));

SCHEMA(static, token_request_spec, "TokenRequestSpec",
    F_STRS("audiences"),
    F_LONG("expirationSeconds"),
    F_OBJ("boundObjectRef", &bound_ref));

SCHEMA(static, token_request_status, "TokenRequestStatus",
    F_STR("token"),
    F_TIME("expirationTimestamp"));

SCHEMA(, schema_token_request, "TokenRequest", F_OBJECT,
    F_OBJ("spec", &token_request_spec),
    F_OBJ("status", &token_request_status));

SCHEMA(static, preconditions, "Preconditions",
    F_STR("uid"),
    F_STR("resourceVersion"));

SCHEMA(, schema_delete_options, "DeleteOptions", F_TYPE,
    F_LONG("gracePeriodSeconds"),
    F_OBJ("preconditions", &preconditions),
    F_BOOL("orphanDependents"),
    F_STR("propagationPolicy"),
    F_STRS("dryRun"),
    F_BOOL("ignoreStoreReadErrorWithClusterBreakingPotential"));

SCHEMA(, schema_eviction, "Eviction", F_OBJECT,
    F_OBJ("deleteOptions", &schema_delete_options));

SCHEMA(static, scale_spec, "ScaleSpec",
    F_INT("replicas"));

SCHEMA(static, scale_status, "ScaleStatus",
    F_INT("replicas"),
    F_STR("selector"));

SCHEMA(, schema_scale, "Scale", F_OBJECT,
    F_OBJ("spec", &scale_spec),
    F_OBJ("status", &scale_status));
