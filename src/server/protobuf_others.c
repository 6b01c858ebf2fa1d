/* protobuf_others.c - messages: the other groups */
#include "server/protobuf_tables.h"

/* clang-format off */

MESSAGE(EventsEventSeries, INT_KEPT(1, count), MICRO_TIME(2, lastObservedTime))
MESSAGE(EventsEvent, OBJECT(1, metadata, ObjectMeta), MICRO_TIME(2, eventTime),
        OBJECT_KEPT(3, series, EventsEventSeries), TEXT(4, reportingController), TEXT(5, reportingInstance),
        TEXT(6, action), TEXT(7, reason), OBJECT(8, regarding, ObjectReference),
        OBJECT_KEPT(9, related, ObjectReference), TEXT(10, note), TEXT(11, type),
        OBJECT(12, deprecatedSource, EventSource), TIME(13, deprecatedFirstTimestamp),
        TIME(14, deprecatedLastTimestamp), INT(15, deprecatedCount))
MESSAGE(LeaseSpec, TEXT_KEPT(1, holderIdentity), INT_KEPT(2, leaseDurationSeconds), MICRO_TIME(3, acquireTime),
        MICRO_TIME(4, renewTime), INT_KEPT(5, leaseTransitions), TEXT_KEPT(6, strategy),
        TEXT_KEPT(7, preferredHolder))
MESSAGE(Lease, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, LeaseSpec))
MESSAGE(NetworkPolicyPort, TEXT_KEPT(1, protocol), PORT(2, port), INT_KEPT(3, endPort))
MESSAGE(IPBlock, TEXT_KEPT(1, cidr), TEXTS(2, except))
MESSAGE(NetworkPolicyPeer, OBJECT_KEPT(1, podSelector, LabelSelector),
        OBJECT_KEPT(2, namespaceSelector, LabelSelector), OBJECT_KEPT(3, ipBlock, IPBlock))
MESSAGE(NetworkPolicyIngressRule, LIST(1, ports, NetworkPolicyPort), LIST(2, from, NetworkPolicyPeer))
MESSAGE(NetworkPolicyEgressRule, LIST(1, ports, NetworkPolicyPort), LIST(2, to, NetworkPolicyPeer))
MESSAGE(NetworkPolicySpec, OBJECT(1, podSelector, LabelSelector), LIST(2, ingress, NetworkPolicyIngressRule),
        LIST(3, egress, NetworkPolicyEgressRule), TEXTS(4, policyTypes))
MESSAGE(NetworkPolicy, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, NetworkPolicySpec))
MESSAGE(PriorityClass, OBJECT(1, metadata, ObjectMeta), INT_KEPT(2, value), BOOL(3, globalDefault),
        TEXT(4, description), TEXT_KEPT(5, preemptionPolicy))
MESSAGE(PodDisruptionBudgetSpec, PORT(1, minAvailable), OBJECT_KEPT(2, selector, LabelSelector),
        PORT(3, maxUnavailable), TEXT_KEPT(4, unhealthyPodEvictionPolicy))
MESSAGE(PodDisruptionBudgetStatus, INT(1, observedGeneration), TIME_MAP(2, disruptedPods),
        INT_KEPT(3, disruptionsAllowed), INT_KEPT(4, currentHealthy), INT_KEPT(5, desiredHealthy),
        INT_KEPT(6, expectedPods), LIST(7, conditions, Condition))
MESSAGE(PodDisruptionBudget, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, PodDisruptionBudgetSpec),
        OBJECT(3, status, PodDisruptionBudgetStatus))
MESSAGE(Eviction, OBJECT(1, metadata, ObjectMeta), OBJECT_KEPT(2, deleteOptions, DeleteOptions))
MESSAGE(EndpointConditions, BOOL_KEPT(1, ready), BOOL_KEPT(2, serving), BOOL_KEPT(3, terminating))
MESSAGE(ForZone, TEXT_KEPT(1, name))
MESSAGE(ForNode, TEXT_KEPT(1, name))
MESSAGE(EndpointHints, LIST(1, forZones, ForZone), LIST(2, forNodes, ForNode))
MESSAGE(Endpoint, TEXTS(1, addresses), OBJECT(2, conditions, EndpointConditions), TEXT_KEPT(3, hostname),
        OBJECT_KEPT(4, targetRef, ObjectReference), TEXT_MAP(5, deprecatedTopology), TEXT_KEPT(6, nodeName),
        TEXT_KEPT(7, zone), OBJECT_KEPT(8, hints, EndpointHints))
MESSAGE(DiscoveryEndpointPort, TEXT_KEPT(1, name), TEXT_KEPT(2, protocol), INT_KEPT(3, port),
        TEXT_KEPT(4, appProtocol))
MESSAGE(EndpointSlice, OBJECT(1, metadata, ObjectMeta), TEXT_KEPT(4, addressType), LIST(2, endpoints, Endpoint),
        LIST(3, ports, DiscoveryEndpointPort))
MESSAGE(StorageClass, OBJECT(1, metadata, ObjectMeta), TEXT_KEPT(2, provisioner), TEXT_MAP(3, parameters),
        TEXT_KEPT(4, reclaimPolicy), TEXTS(5, mountOptions), BOOL_KEPT(6, allowVolumeExpansion),
        TEXT_KEPT(7, volumeBindingMode), LIST(8, allowedTopologies, TopologySelectorTerm))
MESSAGE(VolumeNodeResources, INT_KEPT(1, count))
MESSAGE(CSINodeDriver, TEXT_KEPT(1, name), TEXT_KEPT(2, nodeID), TEXTS(3, topologyKeys),
        OBJECT_KEPT(4, allocatable, VolumeNodeResources))
MESSAGE(CSINodeSpec, LIST(1, drivers, CSINodeDriver))
MESSAGE(CSINode, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, CSINodeSpec))
MESSAGE(FieldSelectorAttributes, TEXT(1, rawSelector), LIST(2, requirements, FieldSelectorRequirement))
MESSAGE(LabelSelectorAttributes, TEXT(1, rawSelector), LIST(2, requirements, LabelSelectorRequirement))
MESSAGE(ResourceAttributes, TEXT(1, namespace), TEXT(2, verb), TEXT(3, group), TEXT(4, version), TEXT(5, resource),
        TEXT(6, subresource), TEXT(7, name), OBJECT_KEPT(8, fieldSelector, FieldSelectorAttributes),
        OBJECT_KEPT(9, labelSelector, LabelSelectorAttributes))
MESSAGE(NonResourceAttributes, TEXT(1, path), TEXT(2, verb))
MESSAGE(SelfSubjectAccessReviewSpec, OBJECT_KEPT(1, resourceAttributes, ResourceAttributes),
        OBJECT_KEPT(2, nonResourceAttributes, NonResourceAttributes))
MESSAGE(SubjectAccessReviewStatus, BOOL_KEPT(1, allowed), BOOL(4, denied), TEXT(2, reason), TEXT(3, evaluationError))
MESSAGE(SelfSubjectAccessReview, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, SelfSubjectAccessReviewSpec),
        OBJECT(3, status, SubjectAccessReviewStatus))
MESSAGE(SelfSubjectRulesReviewSpec, TEXT(1, namespace))
MESSAGE(ResourceRule, TEXTS(1, verbs), TEXTS(2, apiGroups), TEXTS(3, resources), TEXTS(4, resourceNames))
MESSAGE(NonResourceRule, TEXTS(1, verbs), TEXTS(2, nonResourceURLs))
MESSAGE(SubjectRulesReviewStatus, LIST(1, resourceRules, ResourceRule), LIST(2, nonResourceRules, NonResourceRule),
        BOOL_KEPT(3, incomplete), TEXT(4, evaluationError))
MESSAGE(SelfSubjectRulesReview, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, SelfSubjectRulesReviewSpec),
        OBJECT(3, status, SubjectRulesReviewStatus))
MESSAGE(SubjectAccessReviewSpec, OBJECT_KEPT(1, resourceAttributes, ResourceAttributes),
        OBJECT_KEPT(2, nonResourceAttributes, NonResourceAttributes), TEXT(3, user), TEXTS(4, groups), TEXT(6, uid))
MESSAGE(SubjectAccessReview, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, SubjectAccessReviewSpec),
        OBJECT(3, status, SubjectAccessReviewStatus))
MESSAGE(LocalSubjectAccessReview, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, SubjectAccessReviewSpec),
        OBJECT(3, status, SubjectAccessReviewStatus))
MESSAGE(UserInfo, TEXT(1, username), TEXT(2, uid), TEXTS(3, groups))
MESSAGE(SelfSubjectReviewStatus, OBJECT(1, userInfo, UserInfo))
MESSAGE(SelfSubjectReview, OBJECT(1, metadata, ObjectMeta), OBJECT(2, status, SelfSubjectReviewStatus))
MESSAGE(TokenReviewSpec, TEXT(1, token), TEXTS(2, audiences))
MESSAGE(TokenReviewStatus, BOOL(1, authenticated), OBJECT(2, user, UserInfo), TEXTS(4, audiences), TEXT(3, error))
MESSAGE(TokenReview, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, TokenReviewSpec),
        OBJECT(3, status, TokenReviewStatus))
MESSAGE(BoundObjectReference, TEXT(1, kind), TEXT(2, apiVersion), TEXT(3, name), TEXT(4, uid))
MESSAGE(TokenRequestSpec, TEXTS(1, audiences), INT_KEPT(4, expirationSeconds),
        OBJECT_KEPT(3, boundObjectRef, BoundObjectReference))
MESSAGE(TokenRequestStatus, TEXT_KEPT(1, token), TIME(2, expirationTimestamp))
MESSAGE(TokenRequest, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, TokenRequestSpec),
        OBJECT(3, status, TokenRequestStatus))

/* ---- what can be sent ---- */

const struct proto_root proto_roots[] = {
    { "v1", "Namespace", &proto_Namespace },
    { "v1", "Pod", &proto_Pod },
    { "v1", "Binding", &proto_Binding },
    { "v1", "ConfigMap", &proto_ConfigMap },
    { "v1", "Secret", &proto_Secret },
    { "v1", "Service", &proto_Service },
    { "v1", "Endpoints", &proto_Endpoints },
    { "v1", "Event", &proto_Event },
    { "v1", "Node", &proto_Node },
    { "v1", "PersistentVolumeClaim", &proto_PersistentVolumeClaim },
    { "v1", "PersistentVolume", &proto_PersistentVolume },
    { "v1", "ServiceAccount", &proto_ServiceAccount },
    { "v1", "ResourceQuota", &proto_ResourceQuota },
    { "events.k8s.io/v1", "Event", &proto_EventsEvent },
    { "coordination.k8s.io/v1", "Lease", &proto_Lease },
    { "networking.k8s.io/v1", "NetworkPolicy", &proto_NetworkPolicy },
    { "scheduling.k8s.io/v1", "PriorityClass", &proto_PriorityClass },
    { "policy/v1", "PodDisruptionBudget", &proto_PodDisruptionBudget },
    { "policy/v1", "Eviction", &proto_Eviction },
    { "discovery.k8s.io/v1", "EndpointSlice", &proto_EndpointSlice },
    { "storage.k8s.io/v1", "StorageClass", &proto_StorageClass },
    { "storage.k8s.io/v1", "CSINode", &proto_CSINode },
    { "authorization.k8s.io/v1", "SelfSubjectAccessReview", &proto_SelfSubjectAccessReview },
    { "authorization.k8s.io/v1", "SelfSubjectRulesReview", &proto_SelfSubjectRulesReview },
    { "authorization.k8s.io/v1", "SubjectAccessReview", &proto_SubjectAccessReview },
    { "authorization.k8s.io/v1", "LocalSubjectAccessReview", &proto_LocalSubjectAccessReview },
    { "authentication.k8s.io/v1", "SelfSubjectReview", &proto_SelfSubjectReview },
    { "authentication.k8s.io/v1", "TokenReview", &proto_TokenReview },
    { "authentication.k8s.io/v1", "TokenRequest", &proto_TokenRequest },
    { NULL, "DeleteOptions", &proto_DeleteOptions }, /* of any group */
};
const size_t n_proto_roots = ARRAY_LEN(proto_roots);
