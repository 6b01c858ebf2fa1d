/* messages_other.c - written by tools/messages.py; see message.h for what a row says */
#include "api/message/message_rows.h"

/* clang-format off */

static const struct message_field msg_coordination_lease_spec_fields[] = {
    ONE(1, "holderIdentity", TEXT, FLAGS(POINTER)),
    ONE(2, "leaseDurationSeconds", INT32, FLAGS(POINTER)),
    ONE(3, "acquireTime", MICRO_TIME, FLAGS(POINTER)),
    ONE(4, "renewTime", MICRO_TIME, FLAGS(POINTER)),
    ONE(5, "leaseTransitions", INT32, FLAGS(POINTER)),
    ONE(6, "strategy", TEXT, FLAGS(POINTER)),
    ONE(7, "preferredHolder", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_coordination_lease_spec, "LeaseSpec", false);

static const struct message_field msg_coordination_lease_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_coordination_lease_spec), FLAGS(ALWAYS)),
};
MESSAGE(msg_coordination_lease, "Lease", false);

static const struct message_field msg_coordination_lease_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_coordination_lease), FLAGS(ALWAYS)),
};
MESSAGE(msg_coordination_lease_list, "LeaseList", false);

static const struct message_field msg_networking_network_policy_port_fields[] = {
    ONE(1, "protocol", TEXT, FLAGS(POINTER)),
    ONE(2, "port", INT_OR_STR, FLAGS(POINTER)),
    ONE(3, "endPort", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_networking_network_policy_port, "NetworkPolicyPort", false);

static const struct message_field msg_networking_ip_block_fields[] = {
    ONE(1, "cidr", TEXT, FLAGS(ALWAYS)),
    LIST(2, "except", TEXT),
};
MESSAGE(msg_networking_ip_block, "IPBlock", false);

static const struct message_field msg_networking_network_policy_peer_fields[] = {
    ONE(1, "podSelector", OF(msg_meta_label_selector), FLAGS(POINTER)),
    ONE(2, "namespaceSelector", OF(msg_meta_label_selector), FLAGS(POINTER)),
    ONE(3, "ipBlock", OF(msg_networking_ip_block), FLAGS(POINTER)),
};
MESSAGE(msg_networking_network_policy_peer, "NetworkPolicyPeer", false);

static const struct message_field msg_networking_network_policy_ingress_rule_fields[] = {
    LIST(1, "ports", OF(msg_networking_network_policy_port)),
    LIST(2, "from", OF(msg_networking_network_policy_peer)),
};
MESSAGE(msg_networking_network_policy_ingress_rule, "NetworkPolicyIngressRule", false);

static const struct message_field msg_networking_network_policy_egress_rule_fields[] = {
    LIST(1, "ports", OF(msg_networking_network_policy_port)),
    LIST(2, "to", OF(msg_networking_network_policy_peer)),
};
MESSAGE(msg_networking_network_policy_egress_rule, "NetworkPolicyEgressRule", false);

static const struct message_field msg_networking_network_policy_spec_fields[] = {
    ONE(1, "podSelector", OF(msg_meta_label_selector), FLAGS(ALWAYS)),
    LIST(2, "ingress", OF(msg_networking_network_policy_ingress_rule)),
    LIST(3, "egress", OF(msg_networking_network_policy_egress_rule)),
    LIST(4, "policyTypes", TEXT),
};
MESSAGE(msg_networking_network_policy_spec, "NetworkPolicySpec", false);

static const struct message_field msg_networking_network_policy_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_networking_network_policy_spec), FLAGS(ALWAYS)),
};
MESSAGE(msg_networking_network_policy, "NetworkPolicy", false);

static const struct message_field msg_networking_network_policy_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_networking_network_policy), FLAGS(ALWAYS)),
};
MESSAGE(msg_networking_network_policy_list, "NetworkPolicyList", false);

static const struct message_field msg_node_overhead_fields[] = {
    MAP(1, "podFixed", QUANTITY),
};
MESSAGE(msg_node_overhead, "Overhead", false);

static const struct message_field msg_node_scheduling_fields[] = {
    MAP(1, "nodeSelector", TEXT, FLAGS(ATOMIC)),
    LIST(2, "tolerations", OF(msg_toleration)),
};
MESSAGE(msg_node_scheduling, "Scheduling", false);

static const struct message_field msg_node_runtime_class_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "handler", TEXT, FLAGS(ALWAYS)),
    ONE(3, "overhead", OF(msg_node_overhead), FLAGS(POINTER)),
    ONE(4, "scheduling", OF(msg_node_scheduling), FLAGS(POINTER)),
};
MESSAGE(msg_node_runtime_class, "RuntimeClass", false);

static const struct message_field msg_node_runtime_class_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_node_runtime_class), FLAGS(ALWAYS)),
};
MESSAGE(msg_node_runtime_class_list, "RuntimeClassList", false);

static const struct message_field msg_policy_pod_disruption_budget_spec_fields[] = {
    ONE(1, "minAvailable", INT_OR_STR, FLAGS(POINTER)),
    ONE(2, "selector", OF(msg_meta_label_selector), FLAGS(POINTER | REPLACED)),
    ONE(3, "maxUnavailable", INT_OR_STR, FLAGS(POINTER)),
    ONE(4, "unhealthyPodEvictionPolicy", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_policy_pod_disruption_budget_spec, "PodDisruptionBudgetSpec", false);

static const struct message_field msg_policy_pod_disruption_budget_status_fields[] = {
    ONE(1, "observedGeneration", INT64),
    MAP(2, "disruptedPods", TIME),
    ONE(3, "disruptionsAllowed", INT32, FLAGS(ALWAYS)),
    ONE(4, "currentHealthy", INT32, FLAGS(ALWAYS)),
    ONE(5, "desiredHealthy", INT32, FLAGS(ALWAYS)),
    ONE(6, "expectedPods", INT32, FLAGS(ALWAYS)),
    LIST(7, "conditions", OF(msg_meta_condition), KEYS("type"), MERGED("type")),
};
MESSAGE(msg_policy_pod_disruption_budget_status, "PodDisruptionBudgetStatus", false);

static const struct message_field msg_policy_pod_disruption_budget_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_policy_pod_disruption_budget_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_policy_pod_disruption_budget_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_policy_pod_disruption_budget, "PodDisruptionBudget", false);

static const struct message_field msg_policy_pod_disruption_budget_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_policy_pod_disruption_budget), FLAGS(ALWAYS)),
};
MESSAGE(msg_policy_pod_disruption_budget_list, "PodDisruptionBudgetList", false);

static const struct message_field msg_policy_eviction_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "deleteOptions", OF(msg_meta_delete_options), FLAGS(POINTER)),
};
MESSAGE(msg_policy_eviction, "Eviction", false);

static const struct message_field msg_scheduling_priority_class_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "value", INT32, FLAGS(ALWAYS)),
    ONE(3, "globalDefault", BOOL),
    ONE(4, "description", TEXT),
    ONE(5, "preemptionPolicy", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_scheduling_priority_class, "PriorityClass", false);

static const struct message_field msg_scheduling_priority_class_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_scheduling_priority_class), FLAGS(ALWAYS)),
};
MESSAGE(msg_scheduling_priority_class_list, "PriorityClassList", false);

static const struct message_field msg_discovery_endpoint_conditions_fields[] = {
    ONE(1, "ready", BOOL, FLAGS(POINTER)),
    ONE(2, "serving", BOOL, FLAGS(POINTER)),
    ONE(3, "terminating", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_discovery_endpoint_conditions, "EndpointConditions", false);

static const struct message_field msg_discovery_for_zone_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_discovery_for_zone, "ForZone", false);

static const struct message_field msg_discovery_for_node_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_discovery_for_node, "ForNode", false);

static const struct message_field msg_discovery_endpoint_hints_fields[] = {
    LIST(1, "forZones", OF(msg_discovery_for_zone)),
    LIST(2, "forNodes", OF(msg_discovery_for_node)),
};
MESSAGE(msg_discovery_endpoint_hints, "EndpointHints", false);

static const struct message_field msg_discovery_endpoint_fields[] = {
    LIST(1, "addresses", TEXT, KEYS(""), FLAGS(ALWAYS)),
    ONE(2, "conditions", OF(msg_discovery_endpoint_conditions), FLAGS(ALWAYS)),
    ONE(3, "hostname", TEXT, FLAGS(POINTER)),
    ONE(4, "targetRef", OF(msg_object_reference), FLAGS(POINTER)),
    MAP(5, "deprecatedTopology", TEXT),
    ONE(6, "nodeName", TEXT, FLAGS(POINTER)),
    ONE(7, "zone", TEXT, FLAGS(POINTER)),
    ONE(8, "hints", OF(msg_discovery_endpoint_hints), FLAGS(POINTER)),
};
MESSAGE(msg_discovery_endpoint, "Endpoint", false);

static const struct message_field msg_discovery_endpoint_port_fields[] = {
    ONE(1, "name", TEXT, FLAGS(POINTER)),
    ONE(2, "protocol", TEXT, FLAGS(POINTER)),
    ONE(3, "port", INT32, FLAGS(POINTER)),
    ONE(4, "appProtocol", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_discovery_endpoint_port, "EndpointPort", true);

static const struct message_field msg_discovery_endpoint_slice_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    LIST(2, "endpoints", OF(msg_discovery_endpoint), FLAGS(ALWAYS)),
    LIST(3, "ports", OF(msg_discovery_endpoint_port), FLAGS(ALWAYS)),
    ONE(4, "addressType", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_discovery_endpoint_slice, "EndpointSlice", false);

static const struct message_field msg_discovery_endpoint_slice_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_discovery_endpoint_slice), FLAGS(ALWAYS)),
};
MESSAGE(msg_discovery_endpoint_slice_list, "EndpointSliceList", false);

static const struct message_field msg_events_event_series_fields[] = {
    ONE(1, "count", INT32, FLAGS(ALWAYS)),
    ONE(2, "lastObservedTime", MICRO_TIME, FLAGS(ALWAYS)),
};
MESSAGE(msg_events_event_series, "EventSeries", false);

static const struct message_field msg_events_event_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "eventTime", MICRO_TIME, FLAGS(ALWAYS)),
    ONE(3, "series", OF(msg_events_event_series), FLAGS(POINTER)),
    ONE(4, "reportingController", TEXT),
    ONE(5, "reportingInstance", TEXT),
    ONE(6, "action", TEXT),
    ONE(7, "reason", TEXT),
    ONE(8, "regarding", OF(msg_object_reference), FLAGS(ALWAYS)),
    ONE(9, "related", OF(msg_object_reference), FLAGS(POINTER)),
    ONE(10, "note", TEXT),
    ONE(11, "type", TEXT),
    ONE(12, "deprecatedSource", OF(msg_event_source), FLAGS(ALWAYS)),
    ONE(13, "deprecatedFirstTimestamp", TIME, FLAGS(ALWAYS)),
    ONE(14, "deprecatedLastTimestamp", TIME, FLAGS(ALWAYS)),
    ONE(15, "deprecatedCount", INT32),
};
MESSAGE(msg_events_event, "Event", false);

static const struct message_field msg_events_event_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_events_event), FLAGS(ALWAYS)),
};
MESSAGE(msg_events_event_list, "EventList", false);

static const struct message_field msg_rbac_policy_rule_fields[] = {
    LIST(1, "verbs", TEXT, FLAGS(ALWAYS)),
    LIST(2, "apiGroups", TEXT),
    LIST(3, "resources", TEXT),
    LIST(4, "resourceNames", TEXT),
    LIST(5, "nonResourceURLs", TEXT),
};
MESSAGE(msg_rbac_policy_rule, "PolicyRule", false);

static const struct message_field msg_rbac_role_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    LIST(2, "rules", OF(msg_rbac_policy_rule), FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_role, "Role", false);

static const struct message_field msg_rbac_role_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_rbac_role), FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_role_list, "RoleList", false);

static const struct message_field msg_rbac_subject_fields[] = {
    ONE(1, "kind", TEXT, FLAGS(ALWAYS)),
    ONE(2, "apiGroup", TEXT),
    ONE(3, "name", TEXT, FLAGS(ALWAYS)),
    ONE(4, "namespace", TEXT),
};
MESSAGE(msg_rbac_subject, "Subject", true);

static const struct message_field msg_rbac_role_ref_fields[] = {
    ONE(1, "apiGroup", TEXT, FLAGS(ALWAYS)),
    ONE(2, "kind", TEXT, FLAGS(ALWAYS)),
    ONE(3, "name", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_role_ref, "RoleRef", true);

static const struct message_field msg_rbac_role_binding_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    LIST(2, "subjects", OF(msg_rbac_subject)),
    ONE(3, "roleRef", OF(msg_rbac_role_ref), FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_role_binding, "RoleBinding", false);

static const struct message_field msg_rbac_role_binding_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_rbac_role_binding), FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_role_binding_list, "RoleBindingList", false);

static const struct message_field msg_rbac_aggregation_rule_fields[] = {
    LIST(1, "clusterRoleSelectors", OF(msg_meta_label_selector)),
};
MESSAGE(msg_rbac_aggregation_rule, "AggregationRule", false);

static const struct message_field msg_rbac_cluster_role_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    LIST(2, "rules", OF(msg_rbac_policy_rule), FLAGS(ALWAYS)),
    ONE(3, "aggregationRule", OF(msg_rbac_aggregation_rule), FLAGS(POINTER)),
};
MESSAGE(msg_rbac_cluster_role, "ClusterRole", false);

static const struct message_field msg_rbac_cluster_role_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_rbac_cluster_role), FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_cluster_role_list, "ClusterRoleList", false);

static const struct message_field msg_rbac_cluster_role_binding_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    LIST(2, "subjects", OF(msg_rbac_subject)),
    ONE(3, "roleRef", OF(msg_rbac_role_ref), FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_cluster_role_binding, "ClusterRoleBinding", false);

static const struct message_field msg_rbac_cluster_role_binding_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_rbac_cluster_role_binding), FLAGS(ALWAYS)),
};
MESSAGE(msg_rbac_cluster_role_binding_list, "ClusterRoleBindingList", false);

static const struct message_field msg_authentication_bound_object_reference_fields[] = {
    ONE(1, "kind", TEXT),
    ONE(2, "apiVersion", TEXT),
    ONE(3, "name", TEXT),
    ONE(4, "uid", TEXT),
};
MESSAGE(msg_authentication_bound_object_reference, "BoundObjectReference", false);

static const struct message_field msg_authentication_token_request_spec_fields[] = {
    LIST(1, "audiences", TEXT, FLAGS(ALWAYS)),
    ONE(3, "boundObjectRef", OF(msg_authentication_bound_object_reference), FLAGS(POINTER | ALWAYS)),
    ONE(4, "expirationSeconds", INT64, FLAGS(POINTER | ALWAYS)),
};
MESSAGE(msg_authentication_token_request_spec, "TokenRequestSpec", false);

static const struct message_field msg_authentication_token_request_status_fields[] = {
    ONE(1, "token", TEXT, FLAGS(ALWAYS)),
    ONE(2, "expirationTimestamp", TIME, FLAGS(ALWAYS)),
};
MESSAGE(msg_authentication_token_request_status, "TokenRequestStatus", false);

static const struct message_field msg_authentication_token_request_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_authentication_token_request_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_authentication_token_request_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_authentication_token_request, "TokenRequest", false);

static const struct message_field msg_authentication_token_review_spec_fields[] = {
    ONE(1, "token", TEXT),
    LIST(2, "audiences", TEXT),
};
MESSAGE(msg_authentication_token_review_spec, "TokenReviewSpec", false);

static const struct message_field msg_authentication_user_info_fields[] = {
    ONE(1, "username", TEXT),
    ONE(2, "uid", TEXT),
    LIST(3, "groups", TEXT),
    MAP(4, "extra", TEXTS),
};
MESSAGE(msg_authentication_user_info, "UserInfo", false);

static const struct message_field msg_authentication_token_review_status_fields[] = {
    ONE(1, "authenticated", BOOL),
    ONE(2, "user", OF(msg_authentication_user_info), FLAGS(ALWAYS)),
    ONE(3, "error", TEXT),
    LIST(4, "audiences", TEXT),
};
MESSAGE(msg_authentication_token_review_status, "TokenReviewStatus", false);

static const struct message_field msg_authentication_token_review_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_authentication_token_review_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_authentication_token_review_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_authentication_token_review, "TokenReview", false);

static const struct message_field msg_authentication_self_subject_review_status_fields[] = {
    ONE(1, "userInfo", OF(msg_authentication_user_info), FLAGS(ALWAYS)),
};
MESSAGE(msg_authentication_self_subject_review_status, "SelfSubjectReviewStatus", false);

static const struct message_field msg_authentication_self_subject_review_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "status", OF(msg_authentication_self_subject_review_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_authentication_self_subject_review, "SelfSubjectReview", false);

static const struct message_field msg_authorization_field_selector_attributes_fields[] = {
    ONE(1, "rawSelector", TEXT),
    LIST(2, "requirements", OF(msg_meta_field_selector_requirement)),
};
MESSAGE(msg_authorization_field_selector_attributes, "FieldSelectorAttributes", false);

static const struct message_field msg_authorization_label_selector_attributes_fields[] = {
    ONE(1, "rawSelector", TEXT),
    LIST(2, "requirements", OF(msg_meta_label_selector_requirement)),
};
MESSAGE(msg_authorization_label_selector_attributes, "LabelSelectorAttributes", false);

static const struct message_field msg_authorization_resource_attributes_fields[] = {
    ONE(1, "namespace", TEXT),
    ONE(2, "verb", TEXT),
    ONE(3, "group", TEXT),
    ONE(4, "version", TEXT),
    ONE(5, "resource", TEXT),
    ONE(6, "subresource", TEXT),
    ONE(7, "name", TEXT),
    ONE(8, "fieldSelector", OF(msg_authorization_field_selector_attributes), FLAGS(POINTER)),
    ONE(9, "labelSelector", OF(msg_authorization_label_selector_attributes), FLAGS(POINTER)),
};
MESSAGE(msg_authorization_resource_attributes, "ResourceAttributes", false);

static const struct message_field msg_authorization_non_resource_attributes_fields[] = {
    ONE(1, "path", TEXT),
    ONE(2, "verb", TEXT),
};
MESSAGE(msg_authorization_non_resource_attributes, "NonResourceAttributes", false);

static const struct message_field msg_authorization_subject_access_review_spec_fields[] = {
    ONE(1, "resourceAttributes", OF(msg_authorization_resource_attributes), FLAGS(POINTER)),
    ONE(2, "nonResourceAttributes", OF(msg_authorization_non_resource_attributes), FLAGS(POINTER)),
    ONE(3, "user", TEXT),
    LIST(4, "groups", TEXT),
    MAP(5, "extra", TEXTS),
    ONE(6, "uid", TEXT),
};
MESSAGE(msg_authorization_subject_access_review_spec, "SubjectAccessReviewSpec", false);

static const struct message_field msg_authorization_subject_access_review_status_fields[] = {
    ONE(1, "allowed", BOOL, FLAGS(ALWAYS)),
    ONE(2, "reason", TEXT),
    ONE(3, "evaluationError", TEXT),
    ONE(4, "denied", BOOL),
};
MESSAGE(msg_authorization_subject_access_review_status, "SubjectAccessReviewStatus", false);

static const struct message_field msg_authorization_subject_access_review_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_authorization_subject_access_review_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_authorization_subject_access_review_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_authorization_subject_access_review, "SubjectAccessReview", false);

static const struct message_field msg_authorization_local_subject_access_review_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_authorization_subject_access_review_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_authorization_subject_access_review_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_authorization_local_subject_access_review, "LocalSubjectAccessReview", false);

static const struct message_field msg_authorization_self_subject_access_review_spec_fields[] = {
    ONE(1, "resourceAttributes", OF(msg_authorization_resource_attributes), FLAGS(POINTER)),
    ONE(2, "nonResourceAttributes", OF(msg_authorization_non_resource_attributes), FLAGS(POINTER)),
};
MESSAGE(msg_authorization_self_subject_access_review_spec, "SelfSubjectAccessReviewSpec", false);

static const struct message_field msg_authorization_self_subject_access_review_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_authorization_self_subject_access_review_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_authorization_subject_access_review_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_authorization_self_subject_access_review, "SelfSubjectAccessReview", false);

static const struct message_field msg_authorization_self_subject_rules_review_spec_fields[] = {
    ONE(1, "namespace", TEXT),
};
MESSAGE(msg_authorization_self_subject_rules_review_spec, "SelfSubjectRulesReviewSpec", false);

static const struct message_field msg_authorization_resource_rule_fields[] = {
    LIST(1, "verbs", TEXT, FLAGS(ALWAYS)),
    LIST(2, "apiGroups", TEXT),
    LIST(3, "resources", TEXT),
    LIST(4, "resourceNames", TEXT),
};
MESSAGE(msg_authorization_resource_rule, "ResourceRule", false);

static const struct message_field msg_authorization_non_resource_rule_fields[] = {
    LIST(1, "verbs", TEXT, FLAGS(ALWAYS)),
    LIST(2, "nonResourceURLs", TEXT),
};
MESSAGE(msg_authorization_non_resource_rule, "NonResourceRule", false);

static const struct message_field msg_authorization_subject_rules_review_status_fields[] = {
    LIST(1, "resourceRules", OF(msg_authorization_resource_rule), FLAGS(ALWAYS)),
    LIST(2, "nonResourceRules", OF(msg_authorization_non_resource_rule), FLAGS(ALWAYS)),
    ONE(3, "incomplete", BOOL, FLAGS(ALWAYS)),
    ONE(4, "evaluationError", TEXT),
};
MESSAGE(msg_authorization_subject_rules_review_status, "SubjectRulesReviewStatus", false);

static const struct message_field msg_authorization_self_subject_rules_review_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_authorization_self_subject_rules_review_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_authorization_subject_rules_review_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_authorization_self_subject_rules_review, "SelfSubjectRulesReview", false);

static const struct message_field msg_storage_storage_class_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "provisioner", TEXT, FLAGS(ALWAYS)),
    MAP(3, "parameters", TEXT),
    ONE(4, "reclaimPolicy", TEXT, FLAGS(POINTER)),
    LIST(5, "mountOptions", TEXT),
    ONE(6, "allowVolumeExpansion", BOOL, FLAGS(POINTER)),
    ONE(7, "volumeBindingMode", TEXT, FLAGS(POINTER)),
    LIST(8, "allowedTopologies", OF(msg_topology_selector_term)),
};
MESSAGE(msg_storage_storage_class, "StorageClass", false);

static const struct message_field msg_storage_storage_class_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_storage_storage_class), FLAGS(ALWAYS)),
};
MESSAGE(msg_storage_storage_class_list, "StorageClassList", false);

static const struct message_field msg_storage_volume_node_resources_fields[] = {
    ONE(1, "count", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_storage_volume_node_resources, "VolumeNodeResources", false);

static const struct message_field msg_storage_csi_node_driver_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "nodeID", TEXT, FLAGS(ALWAYS)),
    LIST(3, "topologyKeys", TEXT, FLAGS(ALWAYS)),
    ONE(4, "allocatable", OF(msg_storage_volume_node_resources), FLAGS(POINTER)),
};
MESSAGE(msg_storage_csi_node_driver, "CSINodeDriver", false);

static const struct message_field msg_storage_csi_node_spec_fields[] = {
    LIST(1, "drivers", OF(msg_storage_csi_node_driver), KEYS("name"), MERGED("name"), FLAGS(ALWAYS)),
};
MESSAGE(msg_storage_csi_node_spec, "CSINodeSpec", false);

static const struct message_field msg_storage_csi_node_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_storage_csi_node_spec), FLAGS(ALWAYS)),
};
MESSAGE(msg_storage_csi_node, "CSINode", false);

static const struct message_field msg_storage_csi_node_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_storage_csi_node), FLAGS(ALWAYS)),
};
MESSAGE(msg_storage_csi_node_list, "CSINodeList", false);

static const struct message_field msg_apiextensions_custom_resource_definition_names_fields[] = {
    ONE(1, "plural", TEXT, FLAGS(ALWAYS)),
    ONE(2, "singular", TEXT),
    LIST(3, "shortNames", TEXT),
    ONE(4, "kind", TEXT, FLAGS(ALWAYS)),
    ONE(5, "listKind", TEXT),
    LIST(6, "categories", TEXT),
};
MESSAGE(msg_apiextensions_custom_resource_definition_names, "CustomResourceDefinitionNames", false);

static const struct message_field msg_apiextensions_json_schema_props_or_array_fields[] = {
    ONE(1, "schema", OF(msg_apiextensions_json_schema_props), FLAGS(POINTER | ALWAYS)),
    LIST(2, "jSONSchemas", OF(msg_apiextensions_json_schema_props), FLAGS(ALWAYS)),
};
MESSAGE(msg_apiextensions_json_schema_props_or_array, "JSONSchemaPropsOrArray", false);

static const struct message_field msg_apiextensions_json_schema_props_or_bool_fields[] = {
    ONE(1, "allows", BOOL, FLAGS(ALWAYS)),
    ONE(2, "schema", OF(msg_apiextensions_json_schema_props), FLAGS(POINTER | ALWAYS)),
};
MESSAGE(msg_apiextensions_json_schema_props_or_bool, "JSONSchemaPropsOrBool", false);

static const struct message_field msg_apiextensions_json_schema_props_or_string_array_fields[] = {
    ONE(1, "schema", OF(msg_apiextensions_json_schema_props), FLAGS(POINTER | ALWAYS)),
    LIST(2, "property", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_apiextensions_json_schema_props_or_string_array, "JSONSchemaPropsOrStringArray", false);

static const struct message_field msg_apiextensions_external_documentation_fields[] = {
    ONE(1, "description", TEXT),
    ONE(2, "url", TEXT),
};
MESSAGE(msg_apiextensions_external_documentation, "ExternalDocumentation", false);

static const struct message_field msg_apiextensions_validation_rule_fields[] = {
    ONE(1, "rule", TEXT, FLAGS(ALWAYS)),
    ONE(2, "message", TEXT),
    ONE(3, "messageExpression", TEXT),
    ONE(4, "reason", TEXT, FLAGS(POINTER)),
    ONE(5, "fieldPath", TEXT),
    ONE(6, "optionalOldSelf", BOOL, FLAGS(POINTER)),
};
MESSAGE(msg_apiextensions_validation_rule, "ValidationRule", false);

static const struct message_field msg_apiextensions_json_schema_props_fields[] = {
    ONE(1, "id", TEXT),
    ONE(2, "$schema", TEXT),
    ONE(3, "$ref", TEXT, FLAGS(POINTER)),
    ONE(4, "description", TEXT),
    ONE(5, "type", TEXT),
    ONE(6, "format", TEXT),
    ONE(7, "title", TEXT),
    ONE(8, "default", RAW, FLAGS(POINTER)),
    ONE(9, "maximum", DOUBLE, FLAGS(POINTER)),
    ONE(10, "exclusiveMaximum", BOOL),
    ONE(11, "minimum", DOUBLE, FLAGS(POINTER)),
    ONE(12, "exclusiveMinimum", BOOL),
    ONE(13, "maxLength", INT64, FLAGS(POINTER)),
    ONE(14, "minLength", INT64, FLAGS(POINTER)),
    ONE(15, "pattern", TEXT),
    ONE(16, "maxItems", INT64, FLAGS(POINTER)),
    ONE(17, "minItems", INT64, FLAGS(POINTER)),
    ONE(18, "uniqueItems", BOOL),
    ONE(19, "multipleOf", DOUBLE, FLAGS(POINTER)),
    LIST(20, "enum", RAW),
    ONE(21, "maxProperties", INT64, FLAGS(POINTER)),
    ONE(22, "minProperties", INT64, FLAGS(POINTER)),
    LIST(23, "required", TEXT),
    ONE(24, "items", EITHER(msg_apiextensions_json_schema_props_or_array), FLAGS(POINTER)),
    LIST(25, "allOf", OF(msg_apiextensions_json_schema_props)),
    LIST(26, "oneOf", OF(msg_apiextensions_json_schema_props)),
    LIST(27, "anyOf", OF(msg_apiextensions_json_schema_props)),
    ONE(28, "not", OF(msg_apiextensions_json_schema_props), FLAGS(POINTER)),
    MAP(29, "properties", OF(msg_apiextensions_json_schema_props)),
    ONE(30, "additionalProperties", EITHER(msg_apiextensions_json_schema_props_or_bool), FLAGS(POINTER)),
    MAP(31, "patternProperties", OF(msg_apiextensions_json_schema_props)),
    MAP(32, "dependencies", EITHER(msg_apiextensions_json_schema_props_or_string_array)),
    ONE(33, "additionalItems", EITHER(msg_apiextensions_json_schema_props_or_bool), FLAGS(POINTER)),
    MAP(34, "definitions", OF(msg_apiextensions_json_schema_props)),
    ONE(35, "externalDocs", OF(msg_apiextensions_external_documentation), FLAGS(POINTER)),
    ONE(36, "example", RAW, FLAGS(POINTER)),
    ONE(37, "nullable", BOOL),
    ONE(38, "x-kubernetes-preserve-unknown-fields", BOOL, FLAGS(POINTER)),
    ONE(39, "x-kubernetes-embedded-resource", BOOL),
    ONE(40, "x-kubernetes-int-or-string", BOOL),
    LIST(41, "x-kubernetes-list-map-keys", TEXT),
    ONE(42, "x-kubernetes-list-type", TEXT, FLAGS(POINTER)),
    ONE(43, "x-kubernetes-map-type", TEXT, FLAGS(POINTER)),
    LIST(44, "x-kubernetes-validations", OF(msg_apiextensions_validation_rule), KEYS("rule"), MERGED("rule")),
};
MESSAGE(msg_apiextensions_json_schema_props, "JSONSchemaProps", false);

static const struct message_field msg_apiextensions_custom_resource_validation_fields[] = {
    ONE(1, "openAPIV3Schema", OF(msg_apiextensions_json_schema_props), FLAGS(POINTER)),
};
MESSAGE(msg_apiextensions_custom_resource_validation, "CustomResourceValidation", false);

static const struct message_field msg_apiextensions_custom_resource_subresource_status_fields[] = {

};
MESSAGE(msg_apiextensions_custom_resource_subresource_status, "CustomResourceSubresourceStatus", false);

static const struct message_field msg_apiextensions_custom_resource_subresource_scale_fields[] = {
    ONE(1, "specReplicasPath", TEXT, FLAGS(ALWAYS)),
    ONE(2, "statusReplicasPath", TEXT, FLAGS(ALWAYS)),
    ONE(3, "labelSelectorPath", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_apiextensions_custom_resource_subresource_scale, "CustomResourceSubresourceScale", false);

static const struct message_field msg_apiextensions_custom_resource_subresources_fields[] = {
    ONE(1, "status", OF(msg_apiextensions_custom_resource_subresource_status), FLAGS(POINTER)),
    ONE(2, "scale", OF(msg_apiextensions_custom_resource_subresource_scale), FLAGS(POINTER)),
};
MESSAGE(msg_apiextensions_custom_resource_subresources, "CustomResourceSubresources", false);

static const struct message_field msg_apiextensions_custom_resource_column_definition_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "type", TEXT, FLAGS(ALWAYS)),
    ONE(3, "format", TEXT),
    ONE(4, "description", TEXT),
    ONE(5, "priority", INT32),
    ONE(6, "jsonPath", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_apiextensions_custom_resource_column_definition, "CustomResourceColumnDefinition", false);

static const struct message_field msg_apiextensions_selectable_field_fields[] = {
    ONE(1, "jsonPath", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_apiextensions_selectable_field, "SelectableField", false);

static const struct message_field msg_apiextensions_custom_resource_definition_version_fields[] = {
    ONE(1, "name", TEXT, FLAGS(ALWAYS)),
    ONE(2, "served", BOOL, FLAGS(ALWAYS)),
    ONE(3, "storage", BOOL, FLAGS(ALWAYS)),
    ONE(4, "schema", OF(msg_apiextensions_custom_resource_validation), FLAGS(POINTER)),
    ONE(5, "subresources", OF(msg_apiextensions_custom_resource_subresources), FLAGS(POINTER)),
    LIST(6, "additionalPrinterColumns", OF(msg_apiextensions_custom_resource_column_definition)),
    ONE(7, "deprecated", BOOL),
    ONE(8, "deprecationWarning", TEXT, FLAGS(POINTER)),
    LIST(9, "selectableFields", OF(msg_apiextensions_selectable_field)),
};
MESSAGE(msg_apiextensions_custom_resource_definition_version, "CustomResourceDefinitionVersion", false);

static const struct message_field msg_apiextensions_service_reference_fields[] = {
    ONE(1, "namespace", TEXT, FLAGS(ALWAYS)),
    ONE(2, "name", TEXT, FLAGS(ALWAYS)),
    ONE(3, "path", TEXT, FLAGS(POINTER)),
    ONE(4, "port", INT32, FLAGS(POINTER)),
};
MESSAGE(msg_apiextensions_service_reference, "ServiceReference", false);

static const struct message_field msg_apiextensions_webhook_client_config_fields[] = {
    ONE(1, "service", OF(msg_apiextensions_service_reference), FLAGS(POINTER)),
    ONE(2, "caBundle", BYTES),
    ONE(3, "url", TEXT, FLAGS(POINTER)),
};
MESSAGE(msg_apiextensions_webhook_client_config, "WebhookClientConfig", false);

static const struct message_field msg_apiextensions_webhook_conversion_fields[] = {
    ONE(2, "clientConfig", OF(msg_apiextensions_webhook_client_config), FLAGS(POINTER)),
    LIST(3, "conversionReviewVersions", TEXT, FLAGS(ALWAYS)),
};
MESSAGE(msg_apiextensions_webhook_conversion, "WebhookConversion", false);

static const struct message_field msg_apiextensions_custom_resource_conversion_fields[] = {
    ONE(1, "strategy", TEXT, FLAGS(ALWAYS)),
    ONE(2, "webhook", OF(msg_apiextensions_webhook_conversion), FLAGS(POINTER)),
};
MESSAGE(msg_apiextensions_custom_resource_conversion, "CustomResourceConversion", false);

static const struct message_field msg_apiextensions_custom_resource_definition_spec_fields[] = {
    ONE(1, "group", TEXT, FLAGS(ALWAYS)),
    ONE(3, "names", OF(msg_apiextensions_custom_resource_definition_names), FLAGS(ALWAYS)),
    ONE(4, "scope", TEXT, FLAGS(ALWAYS)),
    LIST(7, "versions", OF(msg_apiextensions_custom_resource_definition_version), FLAGS(ALWAYS)),
    ONE(9, "conversion", OF(msg_apiextensions_custom_resource_conversion), FLAGS(POINTER)),
    ONE(10, "preserveUnknownFields", BOOL),
};
MESSAGE(msg_apiextensions_custom_resource_definition_spec, "CustomResourceDefinitionSpec", false);

static const struct message_field msg_apiextensions_custom_resource_definition_condition_fields[] = {
    ONE(1, "type", TEXT, FLAGS(ALWAYS)),
    ONE(2, "status", TEXT, FLAGS(ALWAYS)),
    ONE(3, "lastTransitionTime", TIME, FLAGS(ALWAYS)),
    ONE(4, "reason", TEXT),
    ONE(5, "message", TEXT),
    ONE(6, "observedGeneration", INT64),
};
MESSAGE(msg_apiextensions_custom_resource_definition_condition, "CustomResourceDefinitionCondition", false);

static const struct message_field msg_apiextensions_custom_resource_definition_status_fields[] = {
    LIST(1, "conditions", OF(msg_apiextensions_custom_resource_definition_condition), KEYS("type"), FLAGS(ALWAYS)),
    ONE(2, "acceptedNames", OF(msg_apiextensions_custom_resource_definition_names), FLAGS(ALWAYS)),
    LIST(3, "storedVersions", TEXT, FLAGS(ALWAYS)),
    ONE(4, "observedGeneration", INT64),
};
MESSAGE(msg_apiextensions_custom_resource_definition_status, "CustomResourceDefinitionStatus", false);

static const struct message_field msg_apiextensions_custom_resource_definition_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_apiextensions_custom_resource_definition_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_apiextensions_custom_resource_definition_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_apiextensions_custom_resource_definition, "CustomResourceDefinition", false);

static const struct message_field msg_apiextensions_custom_resource_definition_list_fields[] = {
    ONE(1, "metadata", OF(msg_meta_list_meta), FLAGS(ALWAYS)),
    LIST(2, "items", OF(msg_apiextensions_custom_resource_definition), FLAGS(ALWAYS)),
};
MESSAGE(msg_apiextensions_custom_resource_definition_list, "CustomResourceDefinitionList", false);

static const struct message_field msg_autoscaling_scale_spec_fields[] = {
    ONE(1, "replicas", INT32),
};
MESSAGE(msg_autoscaling_scale_spec, "ScaleSpec", false);

static const struct message_field msg_autoscaling_scale_status_fields[] = {
    ONE(1, "replicas", INT32, FLAGS(ALWAYS)),
    ONE(2, "selector", TEXT),
};
MESSAGE(msg_autoscaling_scale_status, "ScaleStatus", false);

static const struct message_field msg_autoscaling_scale_fields[] = {
    ONE(1, "metadata", OF(msg_meta_object_meta), FLAGS(ALWAYS)),
    ONE(2, "spec", OF(msg_autoscaling_scale_spec), FLAGS(ALWAYS)),
    ONE(3, "status", OF(msg_autoscaling_scale_status), FLAGS(ALWAYS)),
};
MESSAGE(msg_autoscaling_scale, "Scale", false);

const struct message_kind message_kinds[] = {
    { "v1", "DeleteOptions", &msg_meta_delete_options },
    { "v1", "ListOptions", &msg_meta_list_options },
    { "v1", "GetOptions", &msg_meta_get_options },
    { "v1", "CreateOptions", &msg_meta_create_options },
    { "v1", "UpdateOptions", &msg_meta_update_options },
    { "v1", "PatchOptions", &msg_meta_patch_options },
    { "v1", "Status", &msg_meta_status },
    { "v1", "WatchEvent", &msg_meta_watch_event },
    { "v1", "Pod", &msg_pod },
    { "v1", "PodList", &msg_pod_list },
    { "v1", "Service", &msg_service },
    { "v1", "ServiceList", &msg_service_list },
    { "v1", "ConfigMap", &msg_config_map },
    { "v1", "ConfigMapList", &msg_config_map_list },
    { "v1", "Secret", &msg_secret },
    { "v1", "SecretList", &msg_secret_list },
    { "v1", "Namespace", &msg_namespace },
    { "v1", "NamespaceList", &msg_namespace_list },
    { "v1", "Node", &msg_node },
    { "v1", "NodeList", &msg_node_list },
    { "v1", "Event", &msg_event },
    { "v1", "EventList", &msg_event_list },
    { "v1", "PersistentVolume", &msg_persistent_volume },
    { "v1", "PersistentVolumeList", &msg_persistent_volume_list },
    { "v1", "PersistentVolumeClaim", &msg_persistent_volume_claim },
    { "v1", "PersistentVolumeClaimList", &msg_persistent_volume_claim_list },
    { "v1", "ServiceAccount", &msg_service_account },
    { "v1", "ServiceAccountList", &msg_service_account_list },
    { "v1", "ResourceQuota", &msg_resource_quota },
    { "v1", "ResourceQuotaList", &msg_resource_quota_list },
    { "v1", "Endpoints", &msg_endpoints },
    { "v1", "EndpointsList", &msg_endpoints_list },
    { "v1", "Binding", &msg_binding },
    { "v1", "LimitRange", &msg_limit_range },
    { "v1", "LimitRangeList", &msg_limit_range_list },
    { "v1", "PodTemplate", &msg_pod_template },
    { "v1", "PodTemplateList", &msg_pod_template_list },
    { "coordination.k8s.io/v1", "Lease", &msg_coordination_lease },
    { "coordination.k8s.io/v1", "LeaseList", &msg_coordination_lease_list },
    { "networking.k8s.io/v1", "NetworkPolicy", &msg_networking_network_policy },
    { "networking.k8s.io/v1", "NetworkPolicyList", &msg_networking_network_policy_list },
    { "node.k8s.io/v1", "RuntimeClass", &msg_node_runtime_class },
    { "node.k8s.io/v1", "RuntimeClassList", &msg_node_runtime_class_list },
    { "policy/v1", "PodDisruptionBudget", &msg_policy_pod_disruption_budget },
    { "policy/v1", "PodDisruptionBudgetList", &msg_policy_pod_disruption_budget_list },
    { "policy/v1", "Eviction", &msg_policy_eviction },
    { "scheduling.k8s.io/v1", "PriorityClass", &msg_scheduling_priority_class },
    { "scheduling.k8s.io/v1", "PriorityClassList", &msg_scheduling_priority_class_list },
    { "discovery.k8s.io/v1", "EndpointSlice", &msg_discovery_endpoint_slice },
    { "discovery.k8s.io/v1", "EndpointSliceList", &msg_discovery_endpoint_slice_list },
    { "events.k8s.io/v1", "Event", &msg_events_event },
    { "events.k8s.io/v1", "EventList", &msg_events_event_list },
    { "rbac.authorization.k8s.io/v1", "Role", &msg_rbac_role },
    { "rbac.authorization.k8s.io/v1", "RoleList", &msg_rbac_role_list },
    { "rbac.authorization.k8s.io/v1", "RoleBinding", &msg_rbac_role_binding },
    { "rbac.authorization.k8s.io/v1", "RoleBindingList", &msg_rbac_role_binding_list },
    { "rbac.authorization.k8s.io/v1", "ClusterRole", &msg_rbac_cluster_role },
    { "rbac.authorization.k8s.io/v1", "ClusterRoleList", &msg_rbac_cluster_role_list },
    { "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", &msg_rbac_cluster_role_binding },
    { "rbac.authorization.k8s.io/v1", "ClusterRoleBindingList", &msg_rbac_cluster_role_binding_list },
    { "authentication.k8s.io/v1", "TokenRequest", &msg_authentication_token_request },
    { "authentication.k8s.io/v1", "TokenReview", &msg_authentication_token_review },
    { "authentication.k8s.io/v1", "SelfSubjectReview", &msg_authentication_self_subject_review },
    { "authorization.k8s.io/v1", "SubjectAccessReview", &msg_authorization_subject_access_review },
    { "authorization.k8s.io/v1", "LocalSubjectAccessReview", &msg_authorization_local_subject_access_review },
    { "authorization.k8s.io/v1", "SelfSubjectAccessReview", &msg_authorization_self_subject_access_review },
    { "authorization.k8s.io/v1", "SelfSubjectRulesReview", &msg_authorization_self_subject_rules_review },
    { "storage.k8s.io/v1", "StorageClass", &msg_storage_storage_class },
    { "storage.k8s.io/v1", "StorageClassList", &msg_storage_storage_class_list },
    { "storage.k8s.io/v1", "CSINode", &msg_storage_csi_node },
    { "storage.k8s.io/v1", "CSINodeList", &msg_storage_csi_node_list },
    { "apiextensions.k8s.io/v1", "CustomResourceDefinition", &msg_apiextensions_custom_resource_definition },
    { "apiextensions.k8s.io/v1", "CustomResourceDefinitionList", &msg_apiextensions_custom_resource_definition_list },
    { "autoscaling/v1", "Scale", &msg_autoscaling_scale },
};
const size_t n_message_kinds = sizeof(message_kinds) / sizeof(message_kinds[0]);
