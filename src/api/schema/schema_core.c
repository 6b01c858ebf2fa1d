/* schema_core.c - the other kinds of Kubernetes the program reads or serves: exact where it looks, coarse elsewhere */
#include "api/schema/schemas.h"

#include "api/fields.h"
#include "api/meta.h"

/* clang-format off */

/* What people look for in `kubectl explain`, in the words of Kubernetes; kinds of users have the same. */
#define F_OBJECT                                                                                                       \
    F_STR("apiVersion", DOC("APIVersion defines the versioned schema of this representation of an object.")),          \
        F_STR("kind", DOC("Kind is a string value representing the REST resource this object represents.")),           \
        F_OBJ("metadata", &schema_meta, DOC("Standard object's metadata."))

static const char *const preemption_policies[] = { "PreemptLowerPriority", "Never", NULL };

/* ---- data ---- */

SCHEMA(, schema_configmap, "ConfigMap", F_OBJECT,
    F_STR_MAP("data"),
    F_STR_MAP("binaryData", .check = format_base64),
    F_BOOL("immutable"));

SCHEMA(, schema_secret, "Secret", F_OBJECT,
    F_STR_MAP("data", .check = format_base64),
    F_STR_MAP("stringData"),
    F_STR("type"),
    F_BOOL("immutable"));

/* ---- network ---- */

SCHEMA(static, service_port, "ServicePort",
    F_STR("name", .check = format_label),
    F_ENUM("protocol", port_protocols),
    F_STR("appProtocol"),
    F_INT("port", REQUIRED, PORT_NUMBER),
    F_INT_OR_STR("targetPort", .check = format_port_ref),
    F_INT("nodePort", RANGE(0, 65535)));

SCHEMA(static, service_spec, "ServiceSpec",
    F_OBJS("ports", &service_port, MERGED_BY("port")),
    F_STR_MAP("selector", .check = format_label_value),
    F_STR("clusterIP"),
    F_STRS("clusterIPs"),
    F_STR("type", ONE_OF("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")),
    F_STRS("externalIPs"),
    F_STR("sessionAffinity", ONE_OF("ClientIP", "None")),
    F_STR("loadBalancerIP"),
    F_STRS("loadBalancerSourceRanges"),
    F_STR("externalName"),
    F_STR("externalTrafficPolicy", ONE_OF("Cluster", "Local")),
    F_INT("healthCheckNodePort"),
    F_BOOL("publishNotReadyAddresses"),
    F_OBJ("sessionAffinityConfig", NULL),
    F_STRS("ipFamilies", ONE_OF("IPv4", "IPv6")),
    F_STR("ipFamilyPolicy", ONE_OF("SingleStack", "PreferDualStack", "RequireDualStack")),
    F_BOOL("allocateLoadBalancerNodePorts"),
    F_STR("loadBalancerClass"),
    F_STR("internalTrafficPolicy", ONE_OF("Cluster", "Local")),
    F_STR("trafficDistribution"));

SCHEMA(static, service_status, "ServiceStatus",
    F_OBJ("loadBalancer", NULL),
    F_OBJS("conditions", &schema_condition, MERGED_BY("type")));

SCHEMA(, schema_service, "Service", F_OBJECT,
    F_OBJ("spec", &service_spec),
    F_OBJ("status", &service_status));

SCHEMA(, schema_endpoints, "Endpoints", F_OBJECT,
    F_OBJS("subsets", NULL));

SCHEMA(, schema_endpoint_slice, "EndpointSlice", F_OBJECT,
    F_STR("addressType", REQUIRED, ONE_OF("IPv4", "IPv6", "FQDN")),
    F_OBJS("endpoints", NULL),
    F_OBJS("ports", NULL));

SCHEMA(static, policy_port, "NetworkPolicyPort",
    F_ENUM("protocol", port_protocols),
    F_INT_OR_STR("port", .check = format_port_ref),
    F_INT("endPort", PORT_NUMBER));

SCHEMA(static, ip_block, "IPBlock",
    F_STR("cidr", NEEDED, .check = format_cidr),
    F_STRS("except", .check = format_cidr));

SCHEMA(static, policy_peer, "NetworkPolicyPeer",
    F_OBJ("podSelector", &schema_label_selector),
    F_OBJ("namespaceSelector", &schema_label_selector),
    F_OBJ("ipBlock", &ip_block));

SCHEMA(static, policy_ingress, "NetworkPolicyIngressRule",
    F_OBJS("ports", &policy_port),
    F_OBJS("from", &policy_peer));

SCHEMA(static, policy_egress, "NetworkPolicyEgressRule",
    F_OBJS("ports", &policy_port),
    F_OBJS("to", &policy_peer));

SCHEMA(static, policy_spec, "NetworkPolicySpec",
    F_OBJ("podSelector", &schema_label_selector),
    F_OBJS("ingress", &policy_ingress),
    F_OBJS("egress", &policy_egress),
    F_STRS("policyTypes", ONE_OF("Ingress", "Egress")));

SCHEMA(, schema_network_policy, "NetworkPolicy", F_OBJECT,
    F_OBJ("spec", &policy_spec));

/* ---- storage ---- */

SCHEMA(static, pvc_status, "PersistentVolumeClaimStatus",
    F_STR("phase", ONE_OF("Pending", "Bound", "Lost")),
    F_STRS("accessModes"),
    F_RESOURCES("capacity"),
    F_OBJS("conditions", &schema_condition, MERGED_BY("type")),
    F_RESOURCES("allocatedResources"),
    F_STR_MAP("allocatedResourceStatuses"),
    F_STR("currentVolumeAttributesClassName"),
    F_OBJ("modifyVolumeStatus", NULL));

SCHEMA(, schema_pvc, "PersistentVolumeClaim", F_OBJECT,
    F_OBJ("spec", &schema_pvc_spec),
    F_OBJ("status", &pvc_status));

/* Where a volume can be reached from. Its kind (nfs, csi, …) is not checked. */
SCHEMA(static, volume_affinity, "VolumeNodeAffinity",
    F_OBJ("required", &schema_node_selector));

SCHEMA(static, pv_spec, "PersistentVolumeSpec",
    F_RESOURCES("capacity"),
    F_STRS("accessModes"),
    F_OBJ("claimRef", &schema_object_ref),
    F_STR("persistentVolumeReclaimPolicy", ONE_OF("Delete", "Recycle", "Retain")),
    F_STR("storageClassName"),
    F_STR("volumeAttributesClassName"),
    F_STRS("mountOptions"),
    F_STR("volumeMode", ONE_OF("Block", "Filesystem")),
    F_OBJ("nodeAffinity", &volume_affinity),
    F_OBJ("awsElasticBlockStore", NULL),
    F_OBJ("azureDisk", NULL),
    F_OBJ("azureFile", NULL),
    F_OBJ("cephfs", NULL),
    F_OBJ("cinder", NULL),
    F_OBJ("csi", NULL),
    F_OBJ("fc", NULL),
    F_OBJ("flexVolume", NULL),
    F_OBJ("flocker", NULL),
    F_OBJ("gcePersistentDisk", NULL),
    F_OBJ("glusterfs", NULL),
    F_OBJ("hostPath", NULL),
    F_OBJ("iscsi", NULL),
    F_OBJ("local", NULL),
    F_OBJ("nfs", NULL),
    F_OBJ("photonPersistentDisk", NULL),
    F_OBJ("portworxVolume", NULL),
    F_OBJ("quobyte", NULL),
    F_OBJ("rbd", NULL),
    F_OBJ("scaleIO", NULL),
    F_OBJ("storageos", NULL),
    F_OBJ("vsphereVolume", NULL));

SCHEMA(static, pv_status, "PersistentVolumeStatus",
    F_STR("phase", ONE_OF("Pending", "Available", "Bound", "Released", "Failed")),
    F_STR("message"),
    F_STR("reason"),
    F_TIME("lastPhaseTransitionTime"));

SCHEMA(, schema_pv, "PersistentVolume", F_OBJECT,
    F_OBJ("spec", &pv_spec),
    F_OBJ("status", &pv_status));

SCHEMA(static, topology_requirement, "TopologySelectorLabelRequirement",
    F_STR("key", REQUIRED),
    F_STRS("values", REQUIRED));

SCHEMA(static, topology_term, "TopologySelectorTerm",
    F_OBJS("matchLabelExpressions", &topology_requirement));

SCHEMA(, schema_storage_class, "StorageClass", F_OBJECT,
    F_STR("provisioner", REQUIRED),
    F_STR_MAP("parameters"),
    F_STR("reclaimPolicy", ONE_OF("Delete", "Recycle", "Retain")),
    F_STRS("mountOptions"),
    F_BOOL("allowVolumeExpansion"),
    F_STR("volumeBindingMode", ONE_OF("Immediate", "WaitForFirstConsumer")),
    F_OBJS("allowedTopologies", &topology_term));

SCHEMA(static, csi_node_resources, "VolumeNodeResources",
    F_INT("count"));

SCHEMA(static, csi_node_driver, "CSINodeDriver",
    F_STR("name", REQUIRED),
    F_STR("nodeID"),
    F_STRS("topologyKeys"),
    F_OBJ("allocatable", &csi_node_resources));

SCHEMA(static, csi_node_spec, "CSINodeSpec",
    F_OBJS("drivers", &csi_node_driver, MERGED_BY("name")));

SCHEMA(, schema_csi_node, "CSINode", F_OBJECT,
    F_OBJ("spec", &csi_node_spec));

/* ---- nodes and namespaces ---- */

SCHEMA(static, taint, "Taint",
    F_STR("key", NEEDED, .check = format_qualified),
    F_STR("value", .check = format_label_value),
    F_ENUM("effect", taint_effects, REQUIRED),
    F_TIME("timeAdded"));

SCHEMA(static, node_spec, "NodeSpec",
    F_STR("podCIDR"),
    F_STRS("podCIDRs", MERGED_AS_SET),
    F_STR("providerID"),
    F_BOOL("unschedulable"),
    F_OBJS("taints", &taint),
    F_OBJ("configSource", NULL),
    F_STR("externalID"));

SCHEMA(static, node_address, "NodeAddress",
    F_STR("type", NEEDED),
    F_STR("address", NEEDED));

SCHEMA(static, node_status, "NodeStatus",
    F_RESOURCES("capacity"),
    F_RESOURCES("allocatable"),
    F_STR("phase"),
    F_OBJS("conditions", &schema_condition, MERGED_BY("type")),
    F_OBJS("addresses", &node_address, MERGED_BY("type")),
    F_OBJ("daemonEndpoints", NULL),
    F_OBJ("nodeInfo", NULL),
    F_OBJS("images", NULL),
    F_STRS("volumesInUse"),
    F_OBJS("volumesAttached", NULL),
    F_OBJ("config", NULL),
    F_OBJS("runtimeHandlers", NULL),
    F_OBJ("features", NULL),
    F_STRS("declaredFeatures"));

SCHEMA(, schema_node, "Node", F_OBJECT,
    F_OBJ("spec", &node_spec),
    F_OBJ("status", &node_status));

SCHEMA(static, namespace_spec, "NamespaceSpec",
    F_STRS("finalizers"));

SCHEMA(static, namespace_status, "NamespaceStatus",
    F_STR("phase", ONE_OF("Active", "Terminating")),
    F_OBJS("conditions", &schema_condition, MERGED_BY("type")));

SCHEMA(, schema_namespace, "Namespace", F_OBJECT,
    F_OBJ("spec", &namespace_spec),
    F_OBJ("status", &namespace_status));

SCHEMA(, schema_pod_template_object, "PodTemplate", F_OBJECT,
    F_OBJ("template", &schema_pod_template));

/* ---- policy ---- */

SCHEMA(static, runtime_overhead, "Overhead",
    F_RESOURCES("podFixed"));

SCHEMA(static, runtime_scheduling, "Scheduling",
    F_STR_MAP("nodeSelector", .check = format_label_value),
    F_OBJS("tolerations", &schema_toleration));

SCHEMA(, schema_runtime_class, "RuntimeClass", F_OBJECT,
    F_STR("handler", REQUIRED),
    F_OBJ("overhead", &runtime_overhead),
    F_OBJ("scheduling", &runtime_scheduling));

SCHEMA(, schema_priority_class, "PriorityClass", F_OBJECT,
    F_INT("value", REQUIRED),
    F_BOOL("globalDefault"),
    F_STR("description"),
    F_ENUM("preemptionPolicy", preemption_policies));

SCHEMA(static, pdb_spec, "PodDisruptionBudgetSpec",
    F_INT_OR_STR("minAvailable", .check = format_percent),
    F_OBJ("selector", &schema_label_selector, REPLACED),
    F_INT_OR_STR("maxUnavailable", .check = format_percent),
    F_STR("unhealthyPodEvictionPolicy", ONE_OF("IfHealthyBudget", "AlwaysAllow")));

SCHEMA(static, pdb_status, "PodDisruptionBudgetStatus",
    F_LONG("observedGeneration"),
    F_OBJ("disruptedPods", NULL),
    F_INT("disruptionsAllowed"),
    F_INT("currentHealthy"),
    F_INT("desiredHealthy"),
    F_INT("expectedPods"),
    F_OBJS("conditions", &schema_condition, MERGED_BY("type")));

SCHEMA(, schema_pdb, "PodDisruptionBudget", F_OBJECT,
    F_OBJ("spec", &pdb_spec),
    F_OBJ("status", &pdb_status));

SCHEMA(static, quota_spec, "ResourceQuotaSpec",
    F_RESOURCES("hard"),
    F_STRS("scopes"),
    F_OBJ("scopeSelector", NULL));

SCHEMA(static, quota_status, "ResourceQuotaStatus",
    F_RESOURCES("hard"),
    F_RESOURCES("used"));

SCHEMA(, schema_resource_quota, "ResourceQuota", F_OBJECT,
    F_OBJ("spec", &quota_spec),
    F_OBJ("status", &quota_status));

SCHEMA(static, limit_range_item, "LimitRangeItem",
    F_STR("type", REQUIRED, ONE_OF("Container", "PersistentVolumeClaim", "Pod")),
    F_RESOURCES("max"),
    F_RESOURCES("min"),
    F_RESOURCES("default"),
    F_RESOURCES("defaultRequest"),
    F_RESOURCES("maxLimitRequestRatio"));

SCHEMA(static, limit_range_spec, "LimitRangeSpec",
    F_OBJS("limits", &limit_range_item, REQUIRED));

SCHEMA(, schema_limit_range, "LimitRange", F_OBJECT,
    F_OBJ("spec", &limit_range_spec));

/* ---- accounts, leases, bindings, events ---- */

SCHEMA(, schema_object_ref, "ObjectReference",
    F_STR("kind"),
    F_STR("namespace"),
    F_STR("name"),
    F_STR("uid"),
    F_STR("apiVersion"),
    F_STR("resourceVersion"),
    F_STR("fieldPath"));

SCHEMA(, schema_service_account, "ServiceAccount", F_OBJECT,
    F_OBJS("secrets", &schema_object_ref, MERGED_BY("name")),
    F_OBJS("imagePullSecrets", &schema_local_ref),
    F_BOOL("automountServiceAccountToken"));

SCHEMA(static, lease_spec, "LeaseSpec",
    F_STR("holderIdentity"),
    F_INT("leaseDurationSeconds", AT_LEAST(1)),
    F_TIME("acquireTime"),
    F_TIME("renewTime"),
    F_INT("leaseTransitions", AT_LEAST(0)),
    F_STR("strategy"),
    F_STR("preferredHolder"));

SCHEMA(, schema_lease, "Lease", F_OBJECT,
    F_OBJ("spec", &lease_spec));

SCHEMA(, schema_binding, "Binding", F_OBJECT,
    F_OBJ("target", &schema_object_ref, REQUIRED));

SCHEMA(static, event_source, "EventSource",
    F_STR("component"),
    F_STR("host"));

SCHEMA(static, event_series, "EventSeries",
    F_INT("count"),
    F_TIME("lastObservedTime"));

/* core/v1 and events.k8s.io/v1: one thing under two sets of names. */
SCHEMA(, schema_event, "Event", F_OBJECT,
    F_OBJ("involvedObject", &schema_object_ref, REQUIRED),
    F_STR("reason"),
    F_STR("message"),
    F_OBJ("source", &event_source),
    F_TIME("firstTimestamp"),
    F_TIME("lastTimestamp"),
    F_INT("count"),
    F_STR("type"),
    F_TIME("eventTime"),
    F_OBJ("series", &event_series),
    F_STR("action"),
    F_OBJ("related", &schema_object_ref),
    F_STR("reportingComponent"),
    F_STR("reportingInstance"));

SCHEMA(, schema_new_event, "Event", F_OBJECT,
    F_TIME("eventTime"),
    F_OBJ("series", &event_series),
    F_STR("reportingController"),
    F_STR("reportingInstance"),
    F_STR("action"),
    F_STR("reason"),
    F_OBJ("regarding", &schema_object_ref),
    F_OBJ("related", &schema_object_ref),
    F_STR("note"),
    F_STR("type"),
    F_OBJ("deprecatedSource", &event_source),
    F_TIME("deprecatedFirstTimestamp"),
    F_TIME("deprecatedLastTimestamp"),
    F_INT("deprecatedCount"));
