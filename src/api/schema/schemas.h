/* schemas.h - the tables of all object types, for those who check, merge or document objects
 *
 * Each is a schema as in json/schema.h. The Job's own is schema_job in api/job.h, metadata's are in api/meta.h.
 */
#ifndef API_SCHEMA_SCHEMAS_H
#define API_SCHEMA_SCHEMAS_H

#include "json/schema.h"

/* ---- whole objects ---- */

extern const struct schema schema_podgroup, schema_queue, schema_command, schema_hypernode;
extern const struct schema schema_jobflow, schema_jobtemplate, schema_cronjob;
extern const struct schema schema_pod, schema_node, schema_namespace, schema_event, schema_new_event, schema_binding;
extern const struct schema schema_configmap, schema_secret, schema_service, schema_endpoints, schema_endpoint_slice;
extern const struct schema schema_pvc, schema_pv, schema_service_account, schema_resource_quota, schema_limit_range;
extern const struct schema schema_storage_class, schema_csi_node;
extern const struct schema schema_lease, schema_network_policy, schema_runtime_class, schema_priority_class, schema_pdb;
extern const struct schema schema_definition; /* CustomResourceDefinition */
extern const struct schema schema_role, schema_cluster_role, schema_role_binding, schema_cluster_role_binding;
extern const struct schema schema_token_review, schema_self_review, schema_access_review, schema_self_access_review,
    schema_local_access_review;
extern const struct schema schema_rules_review, schema_pod_metrics, schema_node_metrics;
extern const struct schema schema_token_request, schema_delete_options, schema_eviction, schema_scale;

/* ---- parts ---- */

extern const struct schema schema_job_spec, schema_job_task, schema_job_policy, schema_network_topology;
extern const struct schema schema_podgroup_spec, schema_queue_spec;
extern const struct schema schema_pod_template, schema_pod_template_object, schema_pod_spec, schema_pod_status;
extern const struct schema schema_container, schema_ephemeral_container;
extern const struct schema schema_seccomp, schema_selinux, schema_windows_security;
extern const struct schema schema_volume, schema_pvc_spec;
extern const struct schema schema_affinity, schema_toleration, schema_node_selector_term;
extern const struct schema schema_label_selector, schema_object_ref, schema_owner_ref, schema_condition;
extern const struct schema schema_local_ref;     /* { name } */
extern const struct schema schema_secret_ref;    /* { name, namespace } */
extern const struct schema schema_key_to_path;   /* items of configMap and secret volumes */
extern const struct schema schema_field_ref;     /* { apiVersion, fieldPath } */
extern const struct schema schema_resource_ref;  /* { containerName, resource, divisor } */
extern const struct schema schema_requirements;  /* { limits, requests, claims } */
extern const struct schema schema_node_selector; /* { nodeSelectorTerms } */

/* ---- texts that others ask about ---- */

/* Events and actions a user may write into a policy; job_events has the internal ones too. */
extern const char *const job_policy_events[];
extern const char *const job_phases[]; /* of status.state.phase */

/* Enums of core/v1, NULL-terminated. */
extern const char *const pod_restart_policies[], *const pod_dns_policies[], *const image_pull_policies[];
extern const char *const port_protocols[], *const taint_effects[], *const pod_phases[];

#endif
