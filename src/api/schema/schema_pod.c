/* schema_pod.c - the pod of core/v1: template, spec, status
 *
 * Which list strategic merge joins by which key is as in Kubernetes' own types. "required" is what the API machinery
 * refuses on sight; rules between fields are in admit_pod.c.
 */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

const char *const pod_restart_policies[] = { "Always", "OnFailure", "Never", NULL };
const char *const pod_dns_policies[] = { "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL };
const char *const image_pull_policies[] = { "Always", "IfNotPresent", "Never", NULL };
const char *const taint_effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };
const char *const pod_phases[] = { "Pending", "Running", "Succeeded", "Failed", "Unknown", NULL };

static const char *const preemption_policies[] = { "PreemptLowerPriority", "Never", NULL };
static const char *const inclusion_policies[] = { "Honor", "Ignore", NULL };
static const char *const selector_operators[] = { "In", "NotIn", "Exists", "DoesNotExist", NULL };
static const char *const node_operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL };
static const char *const condition_states[] = { "True", "False", "Unknown", NULL };

/* ---- selectors ---- */

SCHEMA(static, label_requirement, "LabelSelectorRequirement",
    F_STR("key", NEEDED, .check = format_qualified),
    F_ENUM("operator", selector_operators, REQUIRED),
    F_STRS("values"));

SCHEMA(, schema_label_selector, "LabelSelector",
    F_STR_MAP("matchLabels", .check = format_label_value),
    F_OBJS("matchExpressions", &label_requirement));

SCHEMA(static, node_requirement, "NodeSelectorRequirement",
    F_STR("key", NEEDED),
    F_ENUM("operator", node_operators, REQUIRED),
    F_STRS("values"));

SCHEMA(, schema_node_selector_term, "NodeSelectorTerm",
    F_OBJS("matchExpressions", &node_requirement),
    F_OBJS("matchFields", &node_requirement));

SCHEMA(, schema_node_selector, "NodeSelector",
    F_OBJS("nodeSelectorTerms", &schema_node_selector_term, NEEDED));

/* ---- affinity and spreading ---- */

SCHEMA(static, preferred_node, "PreferredSchedulingTerm",
    F_INT("weight", REQUIRED, RANGE(1, 100)),
    F_OBJ("preference", &schema_node_selector_term, REQUIRED));

SCHEMA(static, node_affinity, "NodeAffinity",
    F_OBJ("requiredDuringSchedulingIgnoredDuringExecution", &schema_node_selector),
    F_OBJS("preferredDuringSchedulingIgnoredDuringExecution", &preferred_node));

SCHEMA(static, pod_term, "PodAffinityTerm",
    F_OBJ("labelSelector", &schema_label_selector),
    F_STRS("namespaces", .check = format_label),
    F_STR("topologyKey", NEEDED, .check = format_qualified),
    F_OBJ("namespaceSelector", &schema_label_selector),
    F_STRS("matchLabelKeys", .check = format_qualified),
    F_STRS("mismatchLabelKeys", .check = format_qualified));

SCHEMA(static, preferred_pod, "WeightedPodAffinityTerm",
    F_INT("weight", REQUIRED, RANGE(1, 100)),
    F_OBJ("podAffinityTerm", &pod_term, REQUIRED));

SCHEMA(static, pod_affinity, "PodAffinity",
    F_OBJS("requiredDuringSchedulingIgnoredDuringExecution", &pod_term),
    F_OBJS("preferredDuringSchedulingIgnoredDuringExecution", &preferred_pod));

SCHEMA(, schema_affinity, "Affinity",
    F_OBJ("nodeAffinity", &node_affinity),
    F_OBJ("podAffinity", &pod_affinity),
    F_OBJ("podAntiAffinity", &pod_affinity));

SCHEMA(, schema_toleration, "Toleration",
    F_STR("key", .check = format_qualified),
    F_STR("operator", ONE_OF("Exists", "Equal", "Lt", "Gt")),
    F_STR("value"),
    F_ENUM("effect", taint_effects),
    F_LONG("tolerationSeconds"));

SCHEMA(static, spread_constraint, "TopologySpreadConstraint",
    F_INT("maxSkew", REQUIRED, AT_LEAST(1)),
    F_STR("topologyKey", NEEDED, .check = format_qualified),
    F_STR("whenUnsatisfiable", REQUIRED, ONE_OF("DoNotSchedule", "ScheduleAnyway")),
    F_OBJ("labelSelector", &schema_label_selector),
    F_INT("minDomains", AT_LEAST(1)),
    F_ENUM("nodeAffinityPolicy", inclusion_policies),
    F_ENUM("nodeTaintsPolicy", inclusion_policies),
    F_STRS("matchLabelKeys", .check = format_qualified));

/* ---- small parts of the spec ---- */

SCHEMA(, schema_local_ref, "LocalObjectReference",
    F_STR("name"));

SCHEMA(static, host_alias, "HostAlias",
    F_STR("ip", NEEDED),
    F_STRS("hostnames", .check = format_subdomain));

SCHEMA(static, dns_option, "PodDNSConfigOption",
    F_STR("name"),
    F_STR("value"));

SCHEMA(static, dns_config, "PodDNSConfig",
    F_STRS("nameservers"),
    F_STRS("searches"),
    F_OBJS("options", &dns_option));

SCHEMA(static, readiness_gate, "PodReadinessGate",
    F_STR("conditionType", NEEDED, .check = format_qualified));

SCHEMA(static, pod_os, "PodOS",
    F_STR("name", REQUIRED, ONE_OF("linux", "windows")));

SCHEMA(static, scheduling_gate, "PodSchedulingGate",
    F_STR("name", NEEDED, .check = format_qualified));

SCHEMA(static, pod_resource_claim, "PodResourceClaim",
    F_STR("name", NEEDED, .check = format_label),
    F_STR("resourceClaimName", .check = format_subdomain),
    F_STR("resourceClaimTemplateName", .check = format_subdomain));

SCHEMA(static, workload_ref, "WorkloadReference",
    F_STR("name", NEEDED),
    F_STR("podGroup", NEEDED),
    F_STR("podGroupReplicaKey"));

/* ---- security of the pod ---- */

SCHEMA(static, sysctl, "Sysctl",
    F_STR("name", NEEDED),
    F_STR("value", REQUIRED));

SCHEMA(static, pod_security, "PodSecurityContext",
    F_OBJ("seLinuxOptions", &schema_selinux),
    F_OBJ("windowsOptions", &schema_windows_security),
    F_LONG("runAsUser", RANGE(0, INT32_MAX)),
    F_LONG("runAsGroup", RANGE(0, INT32_MAX)),
    F_BOOL("runAsNonRoot"),
    F_LONGS("supplementalGroups", RANGE(0, INT32_MAX)),
    F_STR("supplementalGroupsPolicy", ONE_OF("Merge", "Strict")),
    F_LONG("fsGroup", RANGE(0, INT32_MAX)),
    F_OBJS("sysctls", &sysctl),
    F_STR("fsGroupChangePolicy", ONE_OF("OnRootMismatch", "Always")),
    F_OBJ("seccompProfile", &schema_seccomp),
    F_OBJ("appArmorProfile", &schema_seccomp),
    F_STR("seLinuxChangePolicy", ONE_OF("Recursive", "MountOption")));

/* ---- spec ---- */

SCHEMA(, schema_pod_spec, "PodSpec",
    F_OBJS("volumes", &schema_volume, MERGED_BY("name")),
    F_OBJS("initContainers", &schema_container, MERGED_BY("name")),
    F_OBJS("containers", &schema_container, NEEDED, MERGED_BY("name")),
    F_OBJS("ephemeralContainers", &schema_ephemeral_container, MERGED_BY("name")),
    F_ENUM("restartPolicy", pod_restart_policies),
    F_LONG("terminationGracePeriodSeconds"), /* negative: 1, see admit_pod_probe.c */
    F_LONG("activeDeadlineSeconds", RANGE(1, INT32_MAX)),
    F_ENUM("dnsPolicy", pod_dns_policies),
    F_STR_MAP("nodeSelector", .check = format_label_value),
    F_STR("serviceAccountName", .check = format_subdomain),
    F_STR("serviceAccount", DEPRECATED, DOC("use serviceAccountName")),
    F_BOOL("automountServiceAccountToken"),
    F_STR("nodeName", .check = format_subdomain),
    F_BOOL("hostNetwork"),
    F_BOOL("hostPID"),
    F_BOOL("hostIPC"),
    F_BOOL("shareProcessNamespace"),
    F_OBJ("securityContext", &pod_security),
    F_OBJS("imagePullSecrets", &schema_local_ref, MERGED_BY("name")),
    F_STR("hostname", .check = format_label),
    F_STR("subdomain", .check = format_label),
    F_OBJ("affinity", &schema_affinity),
    F_STR("schedulerName", .check = format_subdomain),
    F_OBJS("tolerations", &schema_toleration),
    F_OBJS("hostAliases", &host_alias, MERGED_BY("ip")),
    F_STR("priorityClassName", .check = format_subdomain),
    F_INT("priority"),
    F_OBJ("dnsConfig", &dns_config),
    F_OBJS("readinessGates", &readiness_gate),
    F_STR("runtimeClassName", .check = format_subdomain),
    F_BOOL("enableServiceLinks"),
    F_ENUM("preemptionPolicy", preemption_policies),
    F_RESOURCES("overhead"),
    F_OBJS("topologySpreadConstraints", &spread_constraint, MERGED_BY("topologyKey")),
    F_BOOL("setHostnameAsFQDN"),
    F_OBJ("os", &pod_os),
    F_BOOL("hostUsers"),
    F_OBJS("schedulingGates", &scheduling_gate, MERGED_BY("name")),
    F_OBJS("resourceClaims", &pod_resource_claim, MERGED_BY("name")),
    F_OBJ("resources", &schema_requirements),
    F_STR("hostnameOverride", .check = format_subdomain),
    F_OBJ("workloadRef", &workload_ref));

SCHEMA(, schema_pod_template, "PodTemplateSpec",
    F_OBJ("metadata", &schema_template_meta),
    F_OBJ("spec", &schema_pod_spec));

/* ---- status ---- */

SCHEMA(, schema_condition, "Condition",
    F_STR("type", NEEDED),
    F_ENUM("status", condition_states, REQUIRED),
    F_LONG("observedGeneration"),
    F_TIME("lastProbeTime"),
    F_TIME("lastHeartbeatTime"),
    F_TIME("lastUpdateTime"),
    F_TIME("lastTransitionTime"),
    F_STR("reason"),
    F_STR("message"));

SCHEMA(static, state_waiting, "ContainerStateWaiting",
    F_STR("reason"),
    F_STR("message"));

SCHEMA(static, state_running, "ContainerStateRunning",
    F_TIME("startedAt"));

SCHEMA(static, state_terminated, "ContainerStateTerminated",
    F_INT("exitCode", REQUIRED),
    F_INT("signal"),
    F_STR("reason"),
    F_STR("message"),
    F_TIME("startedAt"),
    F_TIME("finishedAt"),
    F_STR("containerID"));

SCHEMA(static, container_state, "ContainerState",
    F_OBJ("waiting", &state_waiting),
    F_OBJ("running", &state_running),
    F_OBJ("terminated", &state_terminated));

SCHEMA(static, container_status, "ContainerStatus",
    F_STR("name", NEEDED),
    F_OBJ("state", &container_state),
    F_OBJ("lastState", &container_state),
    F_BOOL("ready"),
    F_INT("restartCount", AT_LEAST(0)),
    F_STR("image"),
    F_STR("imageID"),
    F_STR("containerID"),
    F_BOOL("started"),
    F_RESOURCES("allocatedResources"),
    F_OBJ("resources", &schema_requirements),
    F_OBJS("volumeMounts", NULL, MERGED_BY("mountPath")),
    F_OBJ("user", NULL),
    F_OBJS("allocatedResourcesStatus", NULL, MERGED_BY("name")),
    F_STR("stopSignal"));

SCHEMA(static, ip_entry, "PodIP",
    F_STR("ip", NEEDED));

SCHEMA(static, claim_status, "PodResourceClaimStatus",
    F_STR("name", NEEDED),
    F_STR("resourceClaimName"));

SCHEMA(, schema_pod_status, "PodStatus",
    F_LONG("observedGeneration"),
    F_ENUM("phase", pod_phases),
    F_OBJS("conditions", &schema_condition, MERGED_BY("type")),
    F_STR("message"),
    F_STR("reason"),
    F_STR("nominatedNodeName"),
    F_STR("hostIP"),
    F_OBJS("hostIPs", &ip_entry, MERGED_BY("ip")),
    F_STR("podIP"),
    F_OBJS("podIPs", &ip_entry, MERGED_BY("ip")),
    F_TIME("startTime"),
    F_OBJS("initContainerStatuses", &container_status),
    F_OBJS("containerStatuses", &container_status),
    F_OBJS("ephemeralContainerStatuses", &container_status),
    F_STR("qosClass", ONE_OF("Guaranteed", "Burstable", "BestEffort")),
    F_STR("resize"),
    F_OBJS("resourceClaimStatuses", &claim_status, MERGED_BY("name")),
    F_OBJ("extendedResourceClaimStatus", NULL),
    F_RESOURCES("allocatedResources"),
    F_OBJ("resources", &schema_requirements));

SCHEMA(, schema_pod, "Pod",
    F_TYPE,
    F_OBJ("metadata", &schema_meta),
    F_OBJ("spec", &schema_pod_spec, REQUIRED),
    F_OBJ("status", &schema_pod_status));
