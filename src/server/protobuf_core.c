/* protobuf_core.c - messages: core kinds but their volumes */
#include "server/protobuf_tables.h"

/* clang-format off */

MESSAGE(NamespaceSpec, TEXTS(1, finalizers))
MESSAGE(NamespaceCondition, TEXT_KEPT(1, type), TEXT_KEPT(2, status), TIME(4, lastTransitionTime), TEXT(5, reason),
        TEXT(6, message))
MESSAGE(NamespaceStatus, TEXT(1, phase), LIST(2, conditions, NamespaceCondition))
MESSAGE(Namespace, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, NamespaceSpec),
        OBJECT(3, status, NamespaceStatus))
MESSAGE(LocalObjectReference, TEXT(1, name))
MESSAGE(ObjectFieldSelector, TEXT(1, apiVersion), TEXT_KEPT(2, fieldPath))
MESSAGE(ResourceFieldSelector, TEXT(1, containerName), TEXT_KEPT(2, resource), QUANTITY(3, divisor))
MESSAGE(TypedLocalObjectReference, TEXT_KEPT(1, apiGroup), TEXT_KEPT(2, kind), TEXT_KEPT(3, name))
MESSAGE(TypedObjectReference, TEXT_KEPT(1, apiGroup), TEXT_KEPT(2, kind), TEXT_KEPT(3, name), TEXT_KEPT(4, namespace))
MESSAGE(ContainerPort, TEXT(1, name), INT(2, hostPort), INT_KEPT(3, containerPort), TEXT(4, protocol),
        TEXT(5, hostIP))
MESSAGE(ConfigMapEnvSource, INLINE(1, LocalObjectReference), BOOL_KEPT(2, optional))
MESSAGE(SecretEnvSource, INLINE(1, LocalObjectReference), BOOL_KEPT(2, optional))
MESSAGE(EnvFromSource, TEXT(1, prefix), OBJECT_KEPT(2, configMapRef, ConfigMapEnvSource),
        OBJECT_KEPT(3, secretRef, SecretEnvSource))
MESSAGE(ConfigMapKeySelector, INLINE(1, LocalObjectReference), TEXT_KEPT(2, key), BOOL_KEPT(3, optional))
MESSAGE(SecretKeySelector, INLINE(1, LocalObjectReference), TEXT_KEPT(2, key), BOOL_KEPT(3, optional))
MESSAGE(FileKeySelector, TEXT_KEPT(1, volumeName), TEXT_KEPT(2, path), TEXT_KEPT(3, key), BOOL_KEPT(4, optional))
MESSAGE(EnvVarSource, OBJECT_KEPT(1, fieldRef, ObjectFieldSelector),
        OBJECT_KEPT(2, resourceFieldRef, ResourceFieldSelector),
        OBJECT_KEPT(3, configMapKeyRef, ConfigMapKeySelector), OBJECT_KEPT(4, secretKeyRef, SecretKeySelector),
        OBJECT_KEPT(5, fileKeyRef, FileKeySelector))
MESSAGE(EnvVar, TEXT_KEPT(1, name), TEXT(2, value), OBJECT_KEPT(3, valueFrom, EnvVarSource))
MESSAGE(ResourceClaim, TEXT_KEPT(1, name), TEXT(2, request))
MESSAGE(ResourceRequirements, QUANTITY_MAP(1, limits), QUANTITY_MAP(2, requests), LIST(3, claims, ResourceClaim))
MESSAGE(ContainerResizePolicy, TEXT_KEPT(1, resourceName), TEXT_KEPT(2, restartPolicy))
MESSAGE(ContainerRestartRuleOnExitCodes, TEXT(1, operator), INTS(2, values))
MESSAGE(ContainerRestartRule, TEXT(1, action), OBJECT_KEPT(2, exitCodes, ContainerRestartRuleOnExitCodes))
MESSAGE(VolumeMount, TEXT_KEPT(1, name), BOOL(2, readOnly), TEXT_KEPT(7, recursiveReadOnly), TEXT_KEPT(3, mountPath),
        TEXT(4, subPath), TEXT_KEPT(5, mountPropagation), TEXT(6, subPathExpr))
MESSAGE(VolumeDevice, TEXT_KEPT(1, name), TEXT_KEPT(2, devicePath))
MESSAGE(ExecAction, TEXTS(1, command))
MESSAGE(HTTPHeader, TEXT_KEPT(1, name), TEXT_KEPT(2, value))
MESSAGE(HTTPGetAction, TEXT(1, path), PORT(2, port), TEXT(3, host), TEXT(4, scheme), LIST(5, httpHeaders, HTTPHeader))
MESSAGE(TCPSocketAction, PORT(1, port), TEXT(2, host))
MESSAGE(GRPCAction, INT_KEPT(1, port), TEXT_KEPT(2, service))
MESSAGE(ProbeHandler, OBJECT_KEPT(1, exec, ExecAction), OBJECT_KEPT(2, httpGet, HTTPGetAction),
        OBJECT_KEPT(3, tcpSocket, TCPSocketAction), OBJECT_KEPT(4, grpc, GRPCAction))
MESSAGE(Probe, INLINE(1, ProbeHandler), INT(2, initialDelaySeconds), INT(3, timeoutSeconds), INT(4, periodSeconds),
        INT(5, successThreshold), INT(6, failureThreshold), INT_KEPT(7, terminationGracePeriodSeconds))
MESSAGE(SleepAction, INT_KEPT(1, seconds))
MESSAGE(LifecycleHandler, OBJECT_KEPT(1, exec, ExecAction), OBJECT_KEPT(2, httpGet, HTTPGetAction),
        OBJECT_KEPT(3, tcpSocket, TCPSocketAction), OBJECT_KEPT(4, sleep, SleepAction))
MESSAGE(Lifecycle, OBJECT_KEPT(1, postStart, LifecycleHandler), OBJECT_KEPT(2, preStop, LifecycleHandler),
        TEXT_KEPT(3, stopSignal))
MESSAGE(Capabilities, TEXTS(1, add), TEXTS(2, drop))
MESSAGE(SELinuxOptions, TEXT(1, user), TEXT(2, role), TEXT(3, type), TEXT(4, level))
MESSAGE(WindowsSecurityContextOptions, TEXT_KEPT(1, gmsaCredentialSpecName), TEXT_KEPT(2, gmsaCredentialSpec),
        TEXT_KEPT(3, runAsUserName), BOOL_KEPT(4, hostProcess))
MESSAGE(SeccompProfile, TEXT_KEPT(1, type), TEXT_KEPT(2, localhostProfile))
MESSAGE(AppArmorProfile, TEXT_KEPT(1, type), TEXT_KEPT(2, localhostProfile))
MESSAGE(SecurityContext, OBJECT_KEPT(1, capabilities, Capabilities), BOOL_KEPT(2, privileged),
        OBJECT_KEPT(3, seLinuxOptions, SELinuxOptions),
        OBJECT_KEPT(10, windowsOptions, WindowsSecurityContextOptions), INT_KEPT(4, runAsUser),
        INT_KEPT(8, runAsGroup), BOOL_KEPT(5, runAsNonRoot), BOOL_KEPT(6, readOnlyRootFilesystem),
        BOOL_KEPT(7, allowPrivilegeEscalation), TEXT_KEPT(9, procMount),
        OBJECT_KEPT(11, seccompProfile, SeccompProfile), OBJECT_KEPT(12, appArmorProfile, AppArmorProfile))
MESSAGE(Container, TEXT_KEPT(1, name), TEXT(2, image), TEXTS(3, command), TEXTS(4, args), TEXT(5, workingDir),
        LIST(6, ports, ContainerPort), LIST(19, envFrom, EnvFromSource), LIST(7, env, EnvVar),
        OBJECT(8, resources, ResourceRequirements), LIST(23, resizePolicy, ContainerResizePolicy),
        TEXT_KEPT(24, restartPolicy), LIST(25, restartPolicyRules, ContainerRestartRule),
        LIST(9, volumeMounts, VolumeMount), LIST(21, volumeDevices, VolumeDevice),
        OBJECT_KEPT(10, livenessProbe, Probe), OBJECT_KEPT(11, readinessProbe, Probe),
        OBJECT_KEPT(22, startupProbe, Probe), OBJECT_KEPT(12, lifecycle, Lifecycle), TEXT(13, terminationMessagePath),
        TEXT(20, terminationMessagePolicy), TEXT(14, imagePullPolicy),
        OBJECT_KEPT(15, securityContext, SecurityContext), BOOL(16, stdin), BOOL(17, stdinOnce), BOOL(18, tty))
MESSAGE(EphemeralContainerCommon, TEXT_KEPT(1, name), TEXT(2, image), TEXTS(3, command), TEXTS(4, args),
        TEXT(5, workingDir), LIST(6, ports, ContainerPort), LIST(19, envFrom, EnvFromSource), LIST(7, env, EnvVar),
        OBJECT(8, resources, ResourceRequirements), LIST(23, resizePolicy, ContainerResizePolicy),
        TEXT_KEPT(24, restartPolicy), LIST(25, restartPolicyRules, ContainerRestartRule),
        LIST(9, volumeMounts, VolumeMount), LIST(21, volumeDevices, VolumeDevice),
        OBJECT_KEPT(10, livenessProbe, Probe), OBJECT_KEPT(11, readinessProbe, Probe),
        OBJECT_KEPT(22, startupProbe, Probe), OBJECT_KEPT(12, lifecycle, Lifecycle), TEXT(13, terminationMessagePath),
        TEXT(20, terminationMessagePolicy), TEXT(14, imagePullPolicy),
        OBJECT_KEPT(15, securityContext, SecurityContext), BOOL(16, stdin), BOOL(17, stdinOnce), BOOL(18, tty))
MESSAGE(EphemeralContainer, INLINE(1, EphemeralContainerCommon), TEXT(2, targetContainerName))
MESSAGE(Sysctl, TEXT_KEPT(1, name), TEXT_KEPT(2, value))
MESSAGE(PodSecurityContext, OBJECT_KEPT(1, seLinuxOptions, SELinuxOptions),
        OBJECT_KEPT(8, windowsOptions, WindowsSecurityContextOptions), INT_KEPT(2, runAsUser),
        INT_KEPT(6, runAsGroup), BOOL_KEPT(3, runAsNonRoot), INTS(4, supplementalGroups),
        TEXT_KEPT(12, supplementalGroupsPolicy), INT_KEPT(5, fsGroup), LIST(7, sysctls, Sysctl),
        TEXT_KEPT(9, fsGroupChangePolicy), OBJECT_KEPT(10, seccompProfile, SeccompProfile),
        OBJECT_KEPT(11, appArmorProfile, AppArmorProfile), TEXT_KEPT(13, seLinuxChangePolicy))
MESSAGE(NodeSelectorRequirement, TEXT_KEPT(1, key), TEXT_KEPT(2, operator), TEXTS(3, values))
MESSAGE(NodeSelectorTerm, LIST(1, matchExpressions, NodeSelectorRequirement),
        LIST(2, matchFields, NodeSelectorRequirement))
MESSAGE(NodeSelector, LIST(1, nodeSelectorTerms, NodeSelectorTerm))
MESSAGE(PreferredSchedulingTerm, INT_KEPT(1, weight), OBJECT(2, preference, NodeSelectorTerm))
MESSAGE(NodeAffinity, OBJECT_KEPT(1, requiredDuringSchedulingIgnoredDuringExecution, NodeSelector),
        LIST(2, preferredDuringSchedulingIgnoredDuringExecution, PreferredSchedulingTerm))
MESSAGE(PodAffinityTerm, OBJECT_KEPT(1, labelSelector, LabelSelector), TEXTS(2, namespaces),
        TEXT_KEPT(3, topologyKey), OBJECT_KEPT(4, namespaceSelector, LabelSelector), TEXTS(5, matchLabelKeys),
        TEXTS(6, mismatchLabelKeys))
MESSAGE(WeightedPodAffinityTerm, INT_KEPT(1, weight), OBJECT(2, podAffinityTerm, PodAffinityTerm))
MESSAGE(PodAffinity, LIST(1, requiredDuringSchedulingIgnoredDuringExecution, PodAffinityTerm),
        LIST(2, preferredDuringSchedulingIgnoredDuringExecution, WeightedPodAffinityTerm))
MESSAGE(PodAntiAffinity, LIST(1, requiredDuringSchedulingIgnoredDuringExecution, PodAffinityTerm),
        LIST(2, preferredDuringSchedulingIgnoredDuringExecution, WeightedPodAffinityTerm))
MESSAGE(Affinity, OBJECT_KEPT(1, nodeAffinity, NodeAffinity), OBJECT_KEPT(2, podAffinity, PodAffinity),
        OBJECT_KEPT(3, podAntiAffinity, PodAntiAffinity))
MESSAGE(Toleration, TEXT(1, key), TEXT(2, operator), TEXT(3, value), TEXT(4, effect), INT_KEPT(5, tolerationSeconds))
MESSAGE(HostAlias, TEXT_KEPT(1, ip), TEXTS(2, hostnames))
MESSAGE(PodDNSConfigOption, TEXT(1, name), TEXT_KEPT(2, value))
MESSAGE(PodDNSConfig, TEXTS(1, nameservers), TEXTS(2, searches), LIST(3, options, PodDNSConfigOption))
MESSAGE(PodReadinessGate, TEXT_KEPT(1, conditionType))
MESSAGE(TopologySpreadConstraint, INT_KEPT(1, maxSkew), TEXT_KEPT(2, topologyKey), TEXT_KEPT(3, whenUnsatisfiable),
        OBJECT_KEPT(4, labelSelector, LabelSelector), INT_KEPT(5, minDomains), TEXT_KEPT(6, nodeAffinityPolicy),
        TEXT_KEPT(7, nodeTaintsPolicy), TEXTS(8, matchLabelKeys))
MESSAGE(PodOS, TEXT_KEPT(1, name))
MESSAGE(PodSchedulingGate, TEXT_KEPT(1, name))
MESSAGE(PodResourceClaim, TEXT_KEPT(1, name), TEXT_KEPT(3, resourceClaimName),
        TEXT_KEPT(4, resourceClaimTemplateName))
MESSAGE(PodSchedulingGroup, TEXT_KEPT(1, podGroupName))
MESSAGE(PodSpec, LIST(1, volumes, Volume), LIST(20, initContainers, Container), LIST(2, containers, Container),
        LIST(34, ephemeralContainers, EphemeralContainer), TEXT(3, restartPolicy),
        INT_KEPT(4, terminationGracePeriodSeconds), INT_KEPT(5, activeDeadlineSeconds), TEXT(6, dnsPolicy),
        TEXT_MAP(7, nodeSelector), TEXT(8, serviceAccountName), TEXT(9, serviceAccount),
        BOOL_KEPT(21, automountServiceAccountToken), TEXT(10, nodeName), BOOL(11, hostNetwork), BOOL(12, hostPID),
        BOOL(13, hostIPC), BOOL_KEPT(27, shareProcessNamespace), OBJECT_KEPT(14, securityContext, PodSecurityContext),
        LIST(15, imagePullSecrets, LocalObjectReference), TEXT(16, hostname), TEXT(17, subdomain),
        OBJECT_KEPT(18, affinity, Affinity), TEXT(19, schedulerName), LIST(22, tolerations, Toleration),
        LIST(23, hostAliases, HostAlias), TEXT(24, priorityClassName), INT_KEPT(25, priority),
        OBJECT_KEPT(26, dnsConfig, PodDNSConfig), LIST(28, readinessGates, PodReadinessGate),
        TEXT_KEPT(29, runtimeClassName), BOOL_KEPT(30, enableServiceLinks), TEXT_KEPT(31, preemptionPolicy),
        QUANTITY_MAP(32, overhead), LIST(33, topologySpreadConstraints, TopologySpreadConstraint),
        BOOL_KEPT(35, setHostnameAsFQDN), OBJECT_KEPT(36, os, PodOS), BOOL_KEPT(37, hostUsers),
        LIST(38, schedulingGates, PodSchedulingGate), LIST(39, resourceClaims, PodResourceClaim),
        OBJECT_KEPT(40, resources, ResourceRequirements), TEXT_KEPT(41, hostnameOverride),
        OBJECT_KEPT(43, schedulingGroup, PodSchedulingGroup))
MESSAGE(PodCondition, TEXT_KEPT(1, type), INT(7, observedGeneration), TEXT_KEPT(2, status), TIME(3, lastProbeTime),
        TIME(4, lastTransitionTime), TEXT(5, reason), TEXT(6, message))
MESSAGE(HostIP, TEXT_KEPT(1, ip))
MESSAGE(PodIP, TEXT_KEPT(1, ip))
MESSAGE(ContainerStateWaiting, TEXT(1, reason), TEXT(2, message))
MESSAGE(ContainerStateRunning, TIME(1, startedAt))
MESSAGE(ContainerStateTerminated, INT_KEPT(1, exitCode), INT(2, signal), TEXT(3, reason), TEXT(4, message),
        TIME(5, startedAt), TIME(6, finishedAt), TEXT(7, containerID))
MESSAGE(ContainerState, OBJECT_KEPT(1, waiting, ContainerStateWaiting),
        OBJECT_KEPT(2, running, ContainerStateRunning), OBJECT_KEPT(3, terminated, ContainerStateTerminated))
MESSAGE(VolumeStatus, OBJECT_KEPT(1, image, ImageVolumeStatus))
MESSAGE(VolumeMountStatus, TEXT_KEPT(1, name), TEXT_KEPT(2, mountPath), BOOL(3, readOnly),
        TEXT_KEPT(4, recursiveReadOnly), OBJECT_KEPT(5, volumeStatus, VolumeStatus))
MESSAGE(LinuxContainerUser, INT_KEPT(1, uid), INT_KEPT(2, gid), INTS(3, supplementalGroups))
MESSAGE(ContainerUser, OBJECT_KEPT(1, linux, LinuxContainerUser))
MESSAGE(ResourceHealth, TEXT_KEPT(1, resourceID), TEXT(2, health), TEXT_KEPT(6, message))
MESSAGE(ResourceStatus, TEXT_KEPT(1, name), LIST(2, resources, ResourceHealth))
MESSAGE(ContainerStatus, TEXT_KEPT(1, name), OBJECT(2, state, ContainerState), OBJECT(3, lastState, ContainerState),
        BOOL_KEPT(4, ready), INT_KEPT(5, restartCount), TEXT_KEPT(6, image), TEXT_KEPT(7, imageID),
        TEXT(8, containerID), BOOL_KEPT(9, started), QUANTITY_MAP(10, allocatedResources),
        OBJECT_KEPT(11, resources, ResourceRequirements), LIST(12, volumeMounts, VolumeMountStatus),
        OBJECT_KEPT(13, user, ContainerUser), LIST(14, allocatedResourcesStatus, ResourceStatus),
        TEXT_KEPT(15, stopSignal))
MESSAGE(PodResourceClaimStatus, TEXT_KEPT(1, name), TEXT_KEPT(2, resourceClaimName))
MESSAGE(ContainerExtendedResourceRequest, TEXT_KEPT(1, containerName), TEXT_KEPT(2, resourceName),
        TEXT_KEPT(3, requestName))
MESSAGE(PodExtendedResourceClaimStatus, LIST(1, requestMappings, ContainerExtendedResourceRequest),
        TEXT_KEPT(2, resourceClaimName))
MESSAGE(NodeAllocatableResourceClaimStatus, TEXT_KEPT(1, resourceClaimName), TEXTS(2, containers),
        QUANTITY_MAP(3, resources))
MESSAGE(PodStatus, INT(17, observedGeneration), TEXT(1, phase), LIST(2, conditions, PodCondition), TEXT(3, message),
        TEXT(4, reason), TEXT(11, nominatedNodeName), TEXT(5, hostIP), LIST(16, hostIPs, HostIP), TEXT(6, podIP),
        LIST(12, podIPs, PodIP), TIME(7, startTime), LIST(10, initContainerStatuses, ContainerStatus),
        LIST(8, containerStatuses, ContainerStatus), TEXT(9, qosClass),
        LIST(13, ephemeralContainerStatuses, ContainerStatus), TEXT(14, resize),
        LIST(15, resourceClaimStatuses, PodResourceClaimStatus),
        OBJECT_KEPT(18, extendedResourceClaimStatus, PodExtendedResourceClaimStatus),
        QUANTITY_MAP(19, allocatedResources), OBJECT_KEPT(20, resources, ResourceRequirements),
        LIST(21, nodeAllocatableResourceClaimStatuses, NodeAllocatableResourceClaimStatus))
MESSAGE(Pod, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, PodSpec), OBJECT(3, status, PodStatus))
MESSAGE(ObjectReference, TEXT(1, kind), TEXT(2, namespace), TEXT(3, name), TEXT(4, uid), TEXT(5, apiVersion),
        TEXT(6, resourceVersion), TEXT(7, fieldPath))
MESSAGE(Binding, OBJECT(1, metadata, ObjectMeta), OBJECT(2, target, ObjectReference))
MESSAGE(ConfigMap, OBJECT(1, metadata, ObjectMeta), BOOL_KEPT(4, immutable), TEXT_MAP(2, data),
        BYTES_MAP(3, binaryData))
MESSAGE(Secret, OBJECT(1, metadata, ObjectMeta), BOOL_KEPT(5, immutable), BYTES_MAP(2, data), TEXT_MAP(4, stringData),
        TEXT(3, type))
MESSAGE(ServicePort, TEXT(1, name), TEXT(2, protocol), TEXT_KEPT(6, appProtocol), INT_KEPT(3, port),
        PORT(4, targetPort), INT(5, nodePort))
MESSAGE(ClientIPConfig, INT_KEPT(1, timeoutSeconds))
MESSAGE(SessionAffinityConfig, OBJECT_KEPT(1, clientIP, ClientIPConfig))
MESSAGE(ServiceSpec, LIST(1, ports, ServicePort), TEXT_MAP(2, selector), TEXT(3, clusterIP), TEXTS(18, clusterIPs),
        TEXT(4, type), TEXTS(5, externalIPs), TEXT(7, sessionAffinity), TEXT(8, loadBalancerIP),
        TEXTS(9, loadBalancerSourceRanges), TEXT(10, externalName), TEXT(11, externalTrafficPolicy),
        INT(12, healthCheckNodePort), BOOL(13, publishNotReadyAddresses),
        OBJECT_KEPT(14, sessionAffinityConfig, SessionAffinityConfig), TEXTS(19, ipFamilies),
        TEXT_KEPT(17, ipFamilyPolicy), BOOL_KEPT(20, allocateLoadBalancerNodePorts), TEXT_KEPT(21, loadBalancerClass),
        TEXT_KEPT(22, internalTrafficPolicy), TEXT_KEPT(23, trafficDistribution))
MESSAGE(PortStatus, INT_KEPT(1, port), TEXT_KEPT(2, protocol), TEXT_KEPT(3, error))
MESSAGE(LoadBalancerIngress, TEXT(1, ip), TEXT(2, hostname), TEXT_KEPT(3, ipMode), LIST(4, ports, PortStatus))
MESSAGE(LoadBalancerStatus, LIST(1, ingress, LoadBalancerIngress))
MESSAGE(ServiceStatus, OBJECT(1, loadBalancer, LoadBalancerStatus), LIST(2, conditions, Condition))
MESSAGE(Service, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, ServiceSpec), OBJECT(3, status, ServiceStatus))
MESSAGE(EndpointAddress, TEXT_KEPT(1, ip), TEXT(3, hostname), TEXT_KEPT(4, nodeName),
        OBJECT_KEPT(2, targetRef, ObjectReference))
MESSAGE(EndpointPort, TEXT(1, name), INT_KEPT(2, port), TEXT(3, protocol), TEXT_KEPT(4, appProtocol))
MESSAGE(EndpointSubset, LIST(1, addresses, EndpointAddress), LIST(2, notReadyAddresses, EndpointAddress),
        LIST(3, ports, EndpointPort))
MESSAGE(Endpoints, OBJECT(1, metadata, ObjectMeta), LIST(2, subsets, EndpointSubset))
MESSAGE(EventSource, TEXT(1, component), TEXT(2, host))
MESSAGE(EventSeries, INT(1, count), MICRO_TIME(2, lastObservedTime))
MESSAGE(Event, OBJECT(1, metadata, ObjectMeta), OBJECT(2, involvedObject, ObjectReference), TEXT(3, reason),
        TEXT(4, message), OBJECT(5, source, EventSource), TIME(6, firstTimestamp), TIME(7, lastTimestamp),
        INT(8, count), TEXT(9, type), MICRO_TIME(10, eventTime), OBJECT_KEPT(11, series, EventSeries),
        TEXT(12, action), OBJECT_KEPT(13, related, ObjectReference), TEXT_KEPT(14, reportingComponent),
        TEXT_KEPT(15, reportingInstance))
MESSAGE(Taint, TEXT_KEPT(1, key), TEXT(2, value), TEXT_KEPT(3, effect), TIME(4, timeAdded))
MESSAGE(ConfigMapNodeConfigSource, TEXT_KEPT(1, namespace), TEXT_KEPT(2, name), TEXT(3, uid),
        TEXT(4, resourceVersion), TEXT_KEPT(5, kubeletConfigKey))
MESSAGE(NodeConfigSource, OBJECT_KEPT(2, configMap, ConfigMapNodeConfigSource))
MESSAGE(NodeSpec, TEXT(1, podCIDR), TEXTS(7, podCIDRs), TEXT(3, providerID), BOOL(4, unschedulable),
        LIST(5, taints, Taint), OBJECT_KEPT(6, configSource, NodeConfigSource), TEXT(2, externalID))
MESSAGE(NodeCondition, TEXT_KEPT(1, type), TEXT_KEPT(2, status), TIME(3, lastHeartbeatTime),
        TIME(4, lastTransitionTime), TEXT(5, reason), TEXT(6, message))
MESSAGE(NodeAddress, TEXT_KEPT(1, type), TEXT_KEPT(2, address))
MESSAGE(DaemonEndpoint, INT_KEPT(1, Port))
MESSAGE(NodeDaemonEndpoints, OBJECT(1, kubeletEndpoint, DaemonEndpoint))
MESSAGE(NodeSwapStatus, INT_KEPT(1, capacity))
MESSAGE(NodeSystemInfo, TEXT_KEPT(1, machineID), TEXT_KEPT(2, systemUUID), TEXT_KEPT(3, bootID),
        TEXT_KEPT(4, kernelVersion), TEXT_KEPT(5, osImage), TEXT_KEPT(6, containerRuntimeVersion),
        TEXT_KEPT(7, kubeletVersion), TEXT_KEPT(8, kubeProxyVersion), TEXT_KEPT(9, operatingSystem),
        TEXT_KEPT(10, architecture), OBJECT_KEPT(11, swap, NodeSwapStatus))
MESSAGE(ContainerImage, TEXTS(1, names), INT(2, sizeBytes))
MESSAGE(NodeConfigStatus, OBJECT_KEPT(1, assigned, NodeConfigSource), OBJECT_KEPT(2, active, NodeConfigSource),
        OBJECT_KEPT(3, lastKnownGood, NodeConfigSource), TEXT(4, error))
MESSAGE(NodeRuntimeHandlerFeatures, BOOL_KEPT(1, recursiveReadOnlyMounts), BOOL_KEPT(2, userNamespaces))
MESSAGE(NodeRuntimeHandler, TEXT_KEPT(1, name), OBJECT_KEPT(2, features, NodeRuntimeHandlerFeatures))
MESSAGE(NodeFeatures, BOOL_KEPT(1, supplementalGroupsPolicy))
MESSAGE(NodeStatus, QUANTITY_MAP(1, capacity), QUANTITY_MAP(2, allocatable), TEXT(3, phase),
        LIST(4, conditions, NodeCondition), LIST(5, addresses, NodeAddress),
        OBJECT(6, daemonEndpoints, NodeDaemonEndpoints), OBJECT(7, nodeInfo, NodeSystemInfo),
        LIST(8, images, ContainerImage), TEXTS(9, volumesInUse), LIST(10, volumesAttached, AttachedVolume),
        OBJECT_KEPT(11, config, NodeConfigStatus), LIST(12, runtimeHandlers, NodeRuntimeHandler),
        OBJECT_KEPT(13, features, NodeFeatures), TEXTS(14, declaredFeatures))
MESSAGE(Node, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, NodeSpec), OBJECT(3, status, NodeStatus))
MESSAGE(SecretReference, TEXT(1, name), TEXT(2, namespace))
MESSAGE(ServiceAccount, OBJECT(1, metadata, ObjectMeta), LIST(2, secrets, ObjectReference),
        LIST(3, imagePullSecrets, LocalObjectReference), BOOL_KEPT(4, automountServiceAccountToken))
MESSAGE(ScopedResourceSelectorRequirement, TEXT_KEPT(1, scopeName), TEXT_KEPT(2, operator), TEXTS(3, values))
MESSAGE(ScopeSelector, LIST(1, matchExpressions, ScopedResourceSelectorRequirement))
MESSAGE(ResourceQuotaSpec, QUANTITY_MAP(1, hard), TEXTS(2, scopes), OBJECT_KEPT(3, scopeSelector, ScopeSelector))
MESSAGE(ResourceQuotaStatus, QUANTITY_MAP(1, hard), QUANTITY_MAP(2, used))
MESSAGE(ResourceQuota, OBJECT(1, metadata, ObjectMeta), OBJECT(2, spec, ResourceQuotaSpec),
        OBJECT(3, status, ResourceQuotaStatus))
MESSAGE(TopologySelectorLabelRequirement, TEXT_KEPT(1, key), TEXTS(2, values))
MESSAGE(TopologySelectorTerm, LIST(1, matchLabelExpressions, TopologySelectorLabelRequirement))
