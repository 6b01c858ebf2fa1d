/* message_rows.h - how the rows of messages_*.c are written, and the names of all messages; by tools/messages.py */
#ifndef API_MESSAGE_MESSAGE_ROWS_H
#define API_MESSAGE_MESSAGE_ROWS_H

#include "api/message/message.h"

/* clang-format off */

#define MESSAGE(var, title, atomic)                                                                                    \
    const struct message var = { title, var##_fields, sizeof(var##_fields) / sizeof(var##_fields[0]), atomic }

#define ROW(number, name, shape, ...) { number, shape, sizeof(name) - 1, name, __VA_ARGS__ }
#define ONE(number, name, ...)  ROW(number, name, SHAPE_ONE, __VA_ARGS__)
#define LIST(number, name, ...) ROW(number, name, SHAPE_LIST, __VA_ARGS__)
#define MAP(number, name, ...)  ROW(number, name, SHAPE_MAP, __VA_ARGS__)

#define OF(message) MESSAGE_MESSAGE, &message
#define TEXT        MESSAGE_TEXT, NULL
#define TEXTS       MESSAGE_TEXTS, NULL
#define BOOL        MESSAGE_BOOL, NULL
#define INT32       MESSAGE_INT32, NULL
#define INT64       MESSAGE_INT64, NULL
#define BYTES       MESSAGE_BYTES, NULL
#define TIME        MESSAGE_TIME, NULL
#define MICRO_TIME  MESSAGE_MICRO_TIME, NULL
#define DURATION    MESSAGE_DURATION, NULL
#define QUANTITY    MESSAGE_QUANTITY, NULL
#define INT_OR_STR  MESSAGE_INT_OR_STR, NULL
#define DOUBLE      MESSAGE_DOUBLE, NULL
#define EITHER(message) MESSAGE_EITHER, &message
#define RAW         MESSAGE_RAW, NULL
#define FIELDS      MESSAGE_FIELDS, NULL

#define KEYS(names)   .keys = names
#define MERGED(key)   .merge_key = key
#define FLAGS(bits)   .flags = bits
#define POINTER       MESSAGE_POINTER
#define ALWAYS        MESSAGE_ALWAYS
#define ATOMIC        MESSAGE_ATOMIC
#define REPLACED      MESSAGE_REPLACED

extern const struct message msg_meta_preconditions;
extern const struct message msg_meta_delete_options;
extern const struct message msg_meta_list_options;
extern const struct message msg_meta_get_options;
extern const struct message msg_meta_create_options;
extern const struct message msg_meta_update_options;
extern const struct message msg_meta_patch_options;
extern const struct message msg_meta_shard_info;
extern const struct message msg_meta_list_meta;
extern const struct message msg_meta_status_cause;
extern const struct message msg_meta_status_details;
extern const struct message msg_meta_status;
extern const struct message msg_meta_watch_event;
extern const struct message msg_meta_owner_reference;
extern const struct message msg_meta_managed_fields_entry;
extern const struct message msg_meta_object_meta;
extern const struct message msg_host_path_volume_source;
extern const struct message msg_empty_dir_volume_source;
extern const struct message msg_gce_persistent_disk_volume_source;
extern const struct message msg_aws_elastic_block_store_volume_source;
extern const struct message msg_git_repo_volume_source;
extern const struct message msg_key_to_path;
extern const struct message msg_secret_volume_source;
extern const struct message msg_nfs_volume_source;
extern const struct message msg_local_object_reference;
extern const struct message msg_iscsi_volume_source;
extern const struct message msg_glusterfs_volume_source;
extern const struct message msg_persistent_volume_claim_volume_source;
extern const struct message msg_rbd_volume_source;
extern const struct message msg_flex_volume_source;
extern const struct message msg_cinder_volume_source;
extern const struct message msg_ceph_fs_volume_source;
extern const struct message msg_flocker_volume_source;
extern const struct message msg_object_field_selector;
extern const struct message msg_resource_field_selector;
extern const struct message msg_downward_api_volume_file;
extern const struct message msg_downward_api_volume_source;
extern const struct message msg_fc_volume_source;
extern const struct message msg_azure_file_volume_source;
extern const struct message msg_config_map_volume_source;
extern const struct message msg_vsphere_virtual_disk_volume_source;
extern const struct message msg_quobyte_volume_source;
extern const struct message msg_azure_disk_volume_source;
extern const struct message msg_photon_persistent_disk_volume_source;
extern const struct message msg_secret_projection;
extern const struct message msg_downward_api_projection;
extern const struct message msg_config_map_projection;
extern const struct message msg_service_account_token_projection;
extern const struct message msg_meta_label_selector_requirement;
extern const struct message msg_meta_label_selector;
extern const struct message msg_cluster_trust_bundle_projection;
extern const struct message msg_pod_certificate_projection;
extern const struct message msg_volume_projection;
extern const struct message msg_projected_volume_source;
extern const struct message msg_portworx_volume_source;
extern const struct message msg_scale_io_volume_source;
extern const struct message msg_storage_os_volume_source;
extern const struct message msg_csi_volume_source;
extern const struct message msg_volume_resource_requirements;
extern const struct message msg_typed_local_object_reference;
extern const struct message msg_typed_object_reference;
extern const struct message msg_persistent_volume_claim_spec;
extern const struct message msg_persistent_volume_claim_template;
extern const struct message msg_ephemeral_volume_source;
extern const struct message msg_image_volume_source;
extern const struct message msg_volume_source;
extern const struct message msg_volume;
extern const struct message msg_container_port;
extern const struct message msg_config_map_env_source;
extern const struct message msg_secret_env_source;
extern const struct message msg_env_from_source;
extern const struct message msg_config_map_key_selector;
extern const struct message msg_secret_key_selector;
extern const struct message msg_file_key_selector;
extern const struct message msg_env_var_source;
extern const struct message msg_env_var;
extern const struct message msg_resource_claim;
extern const struct message msg_resource_requirements;
extern const struct message msg_container_resize_policy;
extern const struct message msg_container_restart_rule_on_exit_codes;
extern const struct message msg_container_restart_rule;
extern const struct message msg_volume_mount;
extern const struct message msg_volume_device;
extern const struct message msg_exec_action;
extern const struct message msg_http_header;
extern const struct message msg_http_get_action;
extern const struct message msg_tcp_socket_action;
extern const struct message msg_grpc_action;
extern const struct message msg_probe_handler;
extern const struct message msg_probe;
extern const struct message msg_sleep_action;
extern const struct message msg_lifecycle_handler;
extern const struct message msg_lifecycle;
extern const struct message msg_capabilities;
extern const struct message msg_se_linux_options;
extern const struct message msg_windows_security_context_options;
extern const struct message msg_seccomp_profile;
extern const struct message msg_app_armor_profile;
extern const struct message msg_security_context;
extern const struct message msg_container;
extern const struct message msg_ephemeral_container_common;
extern const struct message msg_ephemeral_container;
extern const struct message msg_sysctl;
extern const struct message msg_pod_security_context;
extern const struct message msg_node_selector_requirement;
extern const struct message msg_node_selector_term;
extern const struct message msg_node_selector;
extern const struct message msg_preferred_scheduling_term;
extern const struct message msg_node_affinity;
extern const struct message msg_pod_affinity_term;
extern const struct message msg_weighted_pod_affinity_term;
extern const struct message msg_pod_affinity;
extern const struct message msg_pod_anti_affinity;
extern const struct message msg_affinity;
extern const struct message msg_toleration;
extern const struct message msg_host_alias;
extern const struct message msg_pod_dns_config_option;
extern const struct message msg_pod_dns_config;
extern const struct message msg_pod_readiness_gate;
extern const struct message msg_topology_spread_constraint;
extern const struct message msg_pod_os;
extern const struct message msg_pod_scheduling_gate;
extern const struct message msg_pod_resource_claim;
extern const struct message msg_pod_scheduling_group;
extern const struct message msg_pod_spec;
extern const struct message msg_pod_condition;
extern const struct message msg_host_ip;
extern const struct message msg_pod_ip;
extern const struct message msg_container_state_waiting;
extern const struct message msg_container_state_running;
extern const struct message msg_container_state_terminated;
extern const struct message msg_container_state;
extern const struct message msg_image_volume_status;
extern const struct message msg_volume_status;
extern const struct message msg_volume_mount_status;
extern const struct message msg_linux_container_user;
extern const struct message msg_container_user;
extern const struct message msg_resource_health;
extern const struct message msg_resource_status;
extern const struct message msg_container_status;
extern const struct message msg_pod_resource_claim_status;
extern const struct message msg_container_extended_resource_request;
extern const struct message msg_pod_extended_resource_claim_status;
extern const struct message msg_node_allocatable_resource_claim_status;
extern const struct message msg_pod_status;
extern const struct message msg_pod;
extern const struct message msg_pod_list;
extern const struct message msg_service_port;
extern const struct message msg_client_ip_config;
extern const struct message msg_session_affinity_config;
extern const struct message msg_service_spec;
extern const struct message msg_port_status;
extern const struct message msg_load_balancer_ingress;
extern const struct message msg_load_balancer_status;
extern const struct message msg_meta_condition;
extern const struct message msg_service_status;
extern const struct message msg_service;
extern const struct message msg_service_list;
extern const struct message msg_config_map;
extern const struct message msg_config_map_list;
extern const struct message msg_secret;
extern const struct message msg_secret_list;
extern const struct message msg_namespace_spec;
extern const struct message msg_namespace_condition;
extern const struct message msg_namespace_status;
extern const struct message msg_namespace;
extern const struct message msg_namespace_list;
extern const struct message msg_taint;
extern const struct message msg_config_map_node_config_source;
extern const struct message msg_node_config_source;
extern const struct message msg_node_spec;
extern const struct message msg_node_condition;
extern const struct message msg_node_address;
extern const struct message msg_daemon_endpoint;
extern const struct message msg_node_daemon_endpoints;
extern const struct message msg_node_swap_status;
extern const struct message msg_node_system_info;
extern const struct message msg_container_image;
extern const struct message msg_attached_volume;
extern const struct message msg_node_config_status;
extern const struct message msg_node_runtime_handler_features;
extern const struct message msg_node_runtime_handler;
extern const struct message msg_node_features;
extern const struct message msg_node_status;
extern const struct message msg_node;
extern const struct message msg_node_list;
extern const struct message msg_object_reference;
extern const struct message msg_event_source;
extern const struct message msg_event_series;
extern const struct message msg_event;
extern const struct message msg_event_list;
extern const struct message msg_glusterfs_persistent_volume_source;
extern const struct message msg_secret_reference;
extern const struct message msg_rbd_persistent_volume_source;
extern const struct message msg_iscsi_persistent_volume_source;
extern const struct message msg_cinder_persistent_volume_source;
extern const struct message msg_ceph_fs_persistent_volume_source;
extern const struct message msg_flex_persistent_volume_source;
extern const struct message msg_azure_file_persistent_volume_source;
extern const struct message msg_scale_io_persistent_volume_source;
extern const struct message msg_local_volume_source;
extern const struct message msg_storage_os_persistent_volume_source;
extern const struct message msg_csi_persistent_volume_source;
extern const struct message msg_persistent_volume_source;
extern const struct message msg_volume_node_affinity;
extern const struct message msg_persistent_volume_spec;
extern const struct message msg_persistent_volume_status;
extern const struct message msg_persistent_volume;
extern const struct message msg_persistent_volume_list;
extern const struct message msg_persistent_volume_claim_condition;
extern const struct message msg_modify_volume_status;
extern const struct message msg_persistent_volume_claim_status;
extern const struct message msg_persistent_volume_claim;
extern const struct message msg_persistent_volume_claim_list;
extern const struct message msg_service_account;
extern const struct message msg_service_account_list;
extern const struct message msg_scoped_resource_selector_requirement;
extern const struct message msg_scope_selector;
extern const struct message msg_resource_quota_spec;
extern const struct message msg_resource_quota_status;
extern const struct message msg_resource_quota;
extern const struct message msg_resource_quota_list;
extern const struct message msg_endpoint_address;
extern const struct message msg_endpoint_port;
extern const struct message msg_endpoint_subset;
extern const struct message msg_endpoints;
extern const struct message msg_endpoints_list;
extern const struct message msg_binding;
extern const struct message msg_limit_range_item;
extern const struct message msg_limit_range_spec;
extern const struct message msg_limit_range;
extern const struct message msg_limit_range_list;
extern const struct message msg_pod_template_spec;
extern const struct message msg_pod_template;
extern const struct message msg_pod_template_list;
extern const struct message msg_coordination_lease_spec;
extern const struct message msg_coordination_lease;
extern const struct message msg_coordination_lease_list;
extern const struct message msg_networking_network_policy_port;
extern const struct message msg_networking_ip_block;
extern const struct message msg_networking_network_policy_peer;
extern const struct message msg_networking_network_policy_ingress_rule;
extern const struct message msg_networking_network_policy_egress_rule;
extern const struct message msg_networking_network_policy_spec;
extern const struct message msg_networking_network_policy;
extern const struct message msg_networking_network_policy_list;
extern const struct message msg_node_overhead;
extern const struct message msg_node_scheduling;
extern const struct message msg_node_runtime_class;
extern const struct message msg_node_runtime_class_list;
extern const struct message msg_policy_pod_disruption_budget_spec;
extern const struct message msg_policy_pod_disruption_budget_status;
extern const struct message msg_policy_pod_disruption_budget;
extern const struct message msg_policy_pod_disruption_budget_list;
extern const struct message msg_policy_eviction;
extern const struct message msg_scheduling_priority_class;
extern const struct message msg_scheduling_priority_class_list;
extern const struct message msg_discovery_endpoint_conditions;
extern const struct message msg_discovery_for_zone;
extern const struct message msg_discovery_for_node;
extern const struct message msg_discovery_endpoint_hints;
extern const struct message msg_discovery_endpoint;
extern const struct message msg_discovery_endpoint_port;
extern const struct message msg_discovery_endpoint_slice;
extern const struct message msg_discovery_endpoint_slice_list;
extern const struct message msg_events_event_series;
extern const struct message msg_events_event;
extern const struct message msg_events_event_list;
extern const struct message msg_rbac_policy_rule;
extern const struct message msg_rbac_role;
extern const struct message msg_rbac_role_list;
extern const struct message msg_rbac_subject;
extern const struct message msg_rbac_role_ref;
extern const struct message msg_rbac_role_binding;
extern const struct message msg_rbac_role_binding_list;
extern const struct message msg_rbac_aggregation_rule;
extern const struct message msg_rbac_cluster_role;
extern const struct message msg_rbac_cluster_role_list;
extern const struct message msg_rbac_cluster_role_binding;
extern const struct message msg_rbac_cluster_role_binding_list;
extern const struct message msg_authentication_bound_object_reference;
extern const struct message msg_authentication_token_request_spec;
extern const struct message msg_authentication_token_request_status;
extern const struct message msg_authentication_token_request;
extern const struct message msg_authentication_token_review_spec;
extern const struct message msg_authentication_user_info;
extern const struct message msg_authentication_token_review_status;
extern const struct message msg_authentication_token_review;
extern const struct message msg_authentication_self_subject_review_status;
extern const struct message msg_authentication_self_subject_review;
extern const struct message msg_meta_field_selector_requirement;
extern const struct message msg_authorization_field_selector_attributes;
extern const struct message msg_authorization_label_selector_attributes;
extern const struct message msg_authorization_resource_attributes;
extern const struct message msg_authorization_non_resource_attributes;
extern const struct message msg_authorization_subject_access_review_spec;
extern const struct message msg_authorization_subject_access_review_status;
extern const struct message msg_authorization_subject_access_review;
extern const struct message msg_authorization_local_subject_access_review;
extern const struct message msg_authorization_self_subject_access_review_spec;
extern const struct message msg_authorization_self_subject_access_review;
extern const struct message msg_authorization_self_subject_rules_review_spec;
extern const struct message msg_authorization_resource_rule;
extern const struct message msg_authorization_non_resource_rule;
extern const struct message msg_authorization_subject_rules_review_status;
extern const struct message msg_authorization_self_subject_rules_review;
extern const struct message msg_topology_selector_label_requirement;
extern const struct message msg_topology_selector_term;
extern const struct message msg_storage_storage_class;
extern const struct message msg_storage_storage_class_list;
extern const struct message msg_storage_volume_node_resources;
extern const struct message msg_storage_csi_node_driver;
extern const struct message msg_storage_csi_node_spec;
extern const struct message msg_storage_csi_node;
extern const struct message msg_storage_csi_node_list;
extern const struct message msg_apiextensions_custom_resource_definition_names;
extern const struct message msg_apiextensions_json_schema_props_or_array;
extern const struct message msg_apiextensions_json_schema_props_or_bool;
extern const struct message msg_apiextensions_json_schema_props_or_string_array;
extern const struct message msg_apiextensions_external_documentation;
extern const struct message msg_apiextensions_validation_rule;
extern const struct message msg_apiextensions_json_schema_props;
extern const struct message msg_apiextensions_custom_resource_validation;
extern const struct message msg_apiextensions_custom_resource_subresource_status;
extern const struct message msg_apiextensions_custom_resource_subresource_scale;
extern const struct message msg_apiextensions_custom_resource_subresources;
extern const struct message msg_apiextensions_custom_resource_column_definition;
extern const struct message msg_apiextensions_selectable_field;
extern const struct message msg_apiextensions_custom_resource_definition_version;
extern const struct message msg_apiextensions_service_reference;
extern const struct message msg_apiextensions_webhook_client_config;
extern const struct message msg_apiextensions_webhook_conversion;
extern const struct message msg_apiextensions_custom_resource_conversion;
extern const struct message msg_apiextensions_custom_resource_definition_spec;
extern const struct message msg_apiextensions_custom_resource_definition_condition;
extern const struct message msg_apiextensions_custom_resource_definition_status;
extern const struct message msg_apiextensions_custom_resource_definition;
extern const struct message msg_apiextensions_custom_resource_definition_list;
extern const struct message msg_autoscaling_scale_spec;
extern const struct message msg_autoscaling_scale_status;
extern const struct message msg_autoscaling_scale;

#endif
