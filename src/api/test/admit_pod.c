/* admit_pod.c - pod templates as core Kubernetes checks them: each rule with a row that passes and one that fails */
#include "api/test/admit_fixture.h"

#include "api/admit/admit_internal.h"
#include "api/schema/schemas.h"

static const char base_template[] = "metadata: {labels: {app: x}}\n"
                                    "spec:\n"
                                    "  volumes:\n"
                                    "  - {name: v, emptyDir: {}}\n"
                                    "  containers:\n"
                                    "  - {name: c, image: busybox}\n";

static void check_template(const struct place *at, struct problems *ps)
{
    struct check c = check_begin(ps, 0);

    pod_template_rules(&c, at);
}

static void run(const struct admit_row *rows, size_t n)
{
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct problems ps = { .arena = &arena };
        struct place root = { .node = edited(base_template, &rows[i]) };

        schema_check(&schema_pod_template, &root, &ps);
        check_template(&root, &ps);
        bad += !row_holds(&rows[i], &ps);
    }
    assert_int_equal(bad, 0);
}
#define RUN(rows) run(rows, ARRAY_LEN(rows))
#define C         "spec.containers[0]"

static void test_containers(void **state)
{
    static const struct admit_row rows[] = {
        { "base", { 0 }, NULL },
        { "no containers", { "spec.containers: []" }, "spec.containers: empty" },
        { "containers missing", { "spec.containers: <gone>" }, "spec.containers: required" },
        { "no spec", { "spec: <gone>" }, "spec.containers: required" },
        { "no name", { C ".name: <gone>" }, C ".name: required" },
        { "bad name", { C ".name: Con" }, C ".name: Con" },
        { "two names", { "spec.containers[1]: {name: d, image: i}" }, NULL },
        { "name twice", { "spec.containers[1]: {name: c, image: i}" }, "spec.containers[1].name: duplicate" },
        { "name of an init container", { "spec.initContainers: [{name: c, image: i}]" }, C ".name: duplicate" },
        { "no image", { C ".image: <gone>" }, C ".image: required" },
        { "empty image", { C ".image: ''" }, C ".image: required" },
        { "blank image", { C ".image: ' '" }, C ".image: whitespace" },
        { "image with a blank", { C ".image: 'busybox '" }, C ".image: whitespace" },
        { "pull policy", { C ".imagePullPolicy: never" }, C ".imagePullPolicy: one of" },
        { "debug containers",
          { "spec.ephemeralContainers: [{name: e, image: i}]" },
          "spec.ephemeralContainers: not allowed" },
        { "restart policy", { C ".restartPolicy: OnFailure" }, C ".restartPolicy: no init container" },
        { "bad restart policy", { C ".restartPolicy: Sometimes" }, C ".restartPolicy: one of" },
        { "rules without a policy",
          { C ".restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]" },
          C ".restartPolicyRules: must specify restartPolicy" },
        { "not an object", { C ": 3" }, C ": object" },
    };

    RUN(rows);
}

static void test_ports(void **state)
{
    static const struct admit_row rows[] = {
        { "fine", { C ".ports: [{containerPort: 80, name: http}, {containerPort: 80, protocol: UDP}]" }, NULL },
        { "0", { C ".ports: [{containerPort: 0}]" }, C ".ports[0].containerPort: 65535" },
        { "65536", { C ".ports: [{containerPort: 65536}]" }, C ".ports[0].containerPort: 65535" },
        { "missing", { C ".ports: [{name: a}]" }, C ".ports[0].containerPort: required" },
        { "name twice",
          { C ".ports: [{containerPort: 1, name: p}, {containerPort: 2, name: p}]" },
          C ".ports[1].name: duplicate port name" },
        { "name in two containers",
          { C ".ports: [{containerPort: 1, name: p}]",
            "spec.containers[1]: {name: d, image: i, ports: [{containerPort: 2, name: p}]}" },
          NULL },
        { "bad name", { C ".ports: [{containerPort: 1, name: a_b}]" }, C ".ports[0].name: a_b" },
        { "host port twice",
          { C ".ports: [{containerPort: 1, hostPort: 9}]",
            "spec.containers[1]: {name: d, image: i, ports: [{containerPort: 2, hostPort: 9}]}" },
          "spec.containers[1].ports[0].hostPort: duplicate port 9/TCP" },
        { "two protocols",
          { C ".ports: [{containerPort: 1, hostPort: 9}, {containerPort: 1, hostPort: 9, protocol: UDP}]" },
          NULL },
        { "two addresses",
          { C ".ports: [{containerPort: 1, hostPort: 9, hostIP: 10.0.0.1}, {containerPort: 2, hostPort: 9, hostIP: "
              "10.0.0.2}]" },
          NULL },
        { "no address", { C ".ports: [{containerPort: 1, hostIP: here}]" }, "W " C ".ports[0].hostIP: address" },
        { "host network, other port",
          { "spec.hostNetwork: true", C ".ports: [{containerPort: 1, hostPort: 9}]" },
          C ".ports[0].hostPort: must match containerPort" },
        { "host network, same port",
          { "spec.hostNetwork: true", C ".ports: [{containerPort: 9, hostPort: 9}]" },
          NULL },
        { "host network, two containers",
          { "spec.hostNetwork: true", C ".ports: [{containerPort: 9}]",
            "spec.containers[1]: {name: d, image: i, ports: [{containerPort: 9}]}" },
          "spec.containers[1].ports[0]: duplicate port 9/TCP" },
        { "init containers run alone",
          { C ".ports: [{containerPort: 1, hostPort: 9}]",
            "spec.initContainers: [{name: i, image: i, ports: [{containerPort: 2, hostPort: 9}]}]" },
          NULL },
    };

    RUN(rows);
}

static void test_environment(void **state)
{
    static const struct admit_row rows[] = {
        { "fine", { C ".env: [{name: A, value: b}, {name: B}]" }, NULL },
        { "no name", { C ".env: [{value: b}]" }, C ".env[0].name: required" },
        { "bad name", { C ".env: [{name: 'A=B'}]" }, C ".env[0].name: A=B" },
        { "both",
          { C ".env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]" },
          C ".env[0].valueFrom: may not be specified when value" },
        { "no source", { C ".env: [{name: A, valueFrom: {}}]" }, C ".env[0].valueFrom: one of fieldRef" },
        { "two sources",
          { C ".env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, secretKeyRef: {name: s, key: k}}}]" },
          C ".env[0].valueFrom.secretKeyRef: more than one source" },
        { "field", { C ".env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]" }, NULL },
        { "label", { C ".env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a/b']\"}}}]" }, NULL },
        { "all labels",
          { C ".env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]" },
          C ".env[0].valueFrom.fieldRef.fieldPath: not a field" },
        { "bad field",
          { C ".env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIp}}}]" },
          C ".env[0].valueFrom.fieldRef.fieldPath: did you mean \"status.podIP\"" },
        { "bad version",
          { C ".env: [{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.uid}}}]" },
          C ".env[0].valueFrom.fieldRef.apiVersion: v1" },
        { "resource", { C ".env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]" }, NULL },
        { "bad resource",
          { C ".env: [{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}]" },
          C ".env[0].valueFrom.resourceFieldRef.resource: not a resource" },
        { "key", { C ".env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}}]" }, NULL },
        { "key without a map",
          { C ".env: [{name: A, valueFrom: {configMapKeyRef: {key: k}}}]" },
          C ".env[0].valueFrom.configMapKeyRef.name: required" },
        { "no key",
          { C ".env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]" },
          C ".env[0].valueFrom.secretKeyRef.key: required" },
        { "from", { C ".envFrom: [{configMapRef: {name: m}, prefix: P_}]" }, NULL },
        { "from nothing", { C ".envFrom: [{prefix: P_}]" }, C ".envFrom[0]: must specify a source" },
        { "from two",
          { C ".envFrom: [{configMapRef: {name: m}, secretRef: {name: s}}]" },
          C ".envFrom[0].secretRef: more than one" },
        { "from no name", { C ".envFrom: [{secretRef: {}}]" }, C ".envFrom[0].secretRef.name: required" },
    };

    RUN(rows);
}

static void test_mounts(void **state)
{
    static const struct admit_row rows[] = {
        { "fine", { C ".volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b, subPath: x/y}]" }, NULL },
        { "no such volume", { C ".volumeMounts: [{name: w, mountPath: /a}]" }, C ".volumeMounts[0].name: not found" },
        { "no path", { C ".volumeMounts: [{name: v}]" }, C ".volumeMounts[0].mountPath: required" },
        { "path twice",
          { C ".volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]" },
          C ".volumeMounts[1].mountPath: unique" },
        { "colon", { C ".volumeMounts: [{name: v, mountPath: '/a:b'}]" }, "W " C ".volumeMounts[0].mountPath: ':'" },
        { "absolute",
          { C ".volumeMounts: [{name: v, mountPath: /a, subPath: /x}]" },
          C ".volumeMounts[0].subPath: relative" },
        { "back",
          { C ".volumeMounts: [{name: v, mountPath: /a, subPath: x/../y}]" },
          C ".volumeMounts[0].subPath: '..'" },
        { "dots in a name", { C ".volumeMounts: [{name: v, mountPath: /a, subPath: ..x/y..}]" }, NULL },
        { "expr", { C ".volumeMounts: [{name: v, mountPath: /a, subPathExpr: $(POD)}]" }, NULL },
        { "both",
          { C ".volumeMounts: [{name: v, mountPath: /a, subPath: x, subPathExpr: z}]" },
          C ".volumeMounts[0].subPathExpr: mutually exclusive" },
        { "bidirectional",
          { C ".volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]" },
          C ".volumeMounts[0].mountPropagation: privileged" },
        { "bidirectional, privileged",
          { C ".volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]",
            C ".securityContext: {privileged: true}" },
          NULL },
        { "recursive",
          { C ".volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]" },
          C ".volumeMounts[0].recursiveReadOnly: readOnly" },
        { "device", { C ".volumeDevices: [{name: v, devicePath: /dev/x}]" }, NULL },
        { "device and mount",
          { C ".volumeDevices: [{name: v, devicePath: /a}]", C ".volumeMounts: [{name: v, mountPath: /a}]" },
          C ".volumeDevices[0].devicePath: unique" },
        { "device back",
          { C ".volumeDevices: [{name: v, devicePath: /dev/../x}]" },
          C ".volumeDevices[0].devicePath: '..'" },
    };

    RUN(rows);
}

#define V "spec.volumes[0]"

static void test_volumes(void **state)
{
    static const struct admit_row rows[] = {
        { "name twice", { "spec.volumes[1]: {name: v, emptyDir: {}}" }, "spec.volumes[1].name: duplicate" },
        { "bad name", { V ".name: V_1" }, V ".name: V_1" },
        { "no source", { V ".emptyDir: <gone>" }, "W " V ": emptyDir" },
        { "unknown source", { V ": {name: v, future: {}}" }, "W " V ".future: unknown", 0, "no source" },
        { "two sources", { V ".hostPath: {path: /x}" }, V ".hostPath: more than one volume type" },
        { "null is none", { V ".hostPath: null" }, NULL },
        { "size", { V ".emptyDir: {sizeLimit: 1Gi, medium: Memory}" }, NULL },
        { "negative size", { V ".emptyDir: {sizeLimit: -1}" }, V ".emptyDir.sizeLimit: negative" },
        { "no size", { V ".emptyDir: {sizeLimit: big}" }, V ".emptyDir.sizeLimit: quantity" },
        { "medium", { V ".emptyDir: {medium: memory}" }, "W " V ".emptyDir.medium: Memory" },
        { "nfs", { V ": {name: v, nfs: {server: s, path: /a}}" }, NULL },
        { "nfs, relative", { V ": {name: v, nfs: {server: s, path: rel}}" }, V ".nfs.path: must be an absolute path" },
        { "huge pages", { V ".emptyDir: {medium: HugePages-2Mi}" }, NULL },
        { "host path", { V ": {name: v, hostPath: {path: /x}}" }, NULL },
        { "host path missing", { V ": {name: v, hostPath: {}}" }, V ".hostPath.path: required" },
        { "host path back", { V ": {name: v, hostPath: {path: /x/../y}}" }, V ".hostPath.path: '..'" },
        { "config map", { V ": {name: v, configMap: {name: m, items: [{key: k, path: a/b, mode: 0644}]}}" }, NULL },
        { "config map without a name", { V ": {name: v, configMap: {}}" }, V ".configMap.name: required" },
        { "item path",
          { V ": {name: v, configMap: {name: m, items: [{key: k, path: ../b}]}}" },
          V ".configMap.items[0].path: '..'" },
        { "item without a key",
          { V ": {name: v, configMap: {name: m, items: [{path: b}]}}" },
          V ".configMap.items[0].key: required" },
        { "mode", { V ": {name: v, configMap: {name: m, defaultMode: 512}}" }, V ".configMap.defaultMode: 511" },
        { "secret", { V ": {name: v, secret: {secretName: s}}" }, NULL },
        { "secret by the wrong word", { V ": {name: v, secret: {name: s}}" }, V ".secret.secretName: required" },
        { "claim", { V ": {name: v, persistentVolumeClaim: {claimName: c}}" }, NULL },
        { "no claim", { V ": {name: v, persistentVolumeClaim: {}}" }, V ".persistentVolumeClaim.claimName: required" },
        { "downward",
          { V ": {name: v, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}" },
          NULL },
        { "downward, no reference",
          { V ": {name: v, downwardAPI: {items: [{path: l}]}}" },
          V ".downwardAPI.items[0]: reference" },
        { "downward, both",
          { V ": {name: v, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.name}, resourceFieldRef: "
              "{containerName: c, resource: limits.cpu}}]}}" },
          V ".downwardAPI.items[0].resourceFieldRef: more than one" },
        { "downward, field of env",
          { V ": {name: v, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: status.podIP}}]}}" },
          V ".downwardAPI.items[0].fieldRef.fieldPath: not a field" },
        { "downward, no container",
          { V ": {name: v, downwardAPI: {items: [{path: l, resourceFieldRef: {resource: limits.cpu}}]}}" },
          V ".downwardAPI.items[0].resourceFieldRef.containerName: required" },
        { "projected",
          { V ": {name: v, projected: {sources: [{secret: {name: s}}, {serviceAccountToken: {path: t}}]}}" },
          NULL },
        { "projected, nothing",
          { V ": {name: v, projected: {sources: [{}]}}" },
          "W " V ".projected.sources[0]: names no projection" },
        { "projected, no name",
          { V ": {name: v, projected: {sources: [{configMap: {}}]}}" },
          V ".projected.sources[0].configMap.name: required" },
        { "projected, path twice",
          { V
            ": {name: v, projected: {sources: [{secret: {name: s, items: [{key: a, path: p}]}}, {configMap: {name: m, "
            "items: [{key: a, path: p}]}}]}}" },
          V ".projected.sources[1].configMap.items[0].path: conflicting" },
        { "token too short",
          { V ": {name: v, projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 5}}]}}" },
          V ".projected.sources[0].serviceAccountToken.expirationSeconds: between 600" },
        { "ephemeral", { V ": {name: v, ephemeral: {}}" }, V ".ephemeral.volumeClaimTemplate: required" },
        { "nfs", { V ": {name: v, nfs: {server: s}}" }, V ".nfs.path: required" },
        { "csi", { V ": {name: v, csi: {driver: d}}" }, NULL },
    };

    RUN(rows);
}

#define R C ".resources"

static void test_resources(void **state)
{
    static const struct admit_row rows[] = {
        { "fine", { R ": {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}" }, NULL },
        { "no quantity", { R ": {requests: {cpu: lots}}" }, R ".requests.cpu: quantity" },
        { "negative", { R ": {limits: {cpu: -1}}" }, R ".limits.cpu: negative" },
        { "request over limit",
          { R ": {requests: {cpu: 1500m}, limits: {cpu: 1}}" },
          R ".requests.cpu: less than or equal to the cpu limit of 1" },
        { "equal in other words", { R ": {requests: {cpu: 1000m}, limits: {cpu: 1}}" }, NULL },
        { "gpu", { R ": {limits: {nvidia.com/gpu: 2}}" }, NULL },
        { "gpu, equal", { R ": {requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 2}}" }, NULL },
        { "gpu, half", { R ": {limits: {nvidia.com/gpu: 0.5}}" }, R ".limits[nvidia.com/gpu]: whole number" },
        { "gpu, less",
          { R ": {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}" },
          R ".requests[nvidia.com/gpu]: must be equal" },
        { "gpu, no limit",
          { R ": {requests: {nvidia.com/gpu: 1}}" },
          R ".requests[nvidia.com/gpu]: limit must be set" },
        { "unknown", { R ": {limits: {gpu: 1}}" }, R ".limits.gpu: standard resource" },
        { "bad name", { R ": {limits: {'a b/c': 1}}" }, R ".limits[a b/c]: the name of the resource" },
        { "huge pages", { R ": {limits: {hugepages-2Mi: 4Mi, memory: 1Gi}}" }, NULL },
        { "huge pages, alone", { R ": {limits: {hugepages-2Mi: 4Mi}}" }, R ": HugePages require cpu or memory" },
        { "huge pages, odd",
          { R ": {limits: {hugepages-2Mi: 3Mi, memory: 1Gi}}" },
          R ".limits.hugepages-2Mi: multiple" },
        { "huge pages, no size",
          { R ": {limits: {hugepages-x: 1, memory: 1Gi}}" },
          R ".limits.hugepages-x: page size" },
        { "ephemeral storage", { R ": {requests: {ephemeral-storage: 1Gi}}" }, NULL },
        { "of the pod",
          { "spec.resources: {requests: {cpu: 2}, limits: {cpu: 1}}" },
          "spec.resources.requests.cpu: less" },
        { "overhead", { "spec.overhead: {cpu: -1}" }, "spec.overhead.cpu: negative" },
    };

    RUN(rows);
}

static void test_probes(void **state)
{
    static const struct admit_row rows[] = {
        { "exec", { C ".livenessProbe: {exec: {command: [x]}}" }, NULL },
        { "http", { C ".readinessProbe: {httpGet: {port: 80}, successThreshold: 3}" }, NULL },
        { "http by name", { C ".startupProbe: {httpGet: {port: http}}" }, NULL },
        { "no handler", { C ".livenessProbe: {periodSeconds: 3}" }, C ".livenessProbe: must specify a handler type" },
        { "two handlers",
          { C ".livenessProbe: {exec: {command: [x]}, tcpSocket: {port: 1}}" },
          C ".livenessProbe.tcpSocket: more than one handler type" },
        { "no command", { C ".livenessProbe: {exec: {}}" }, C ".livenessProbe.exec.command: required" },
        { "no port", { C ".livenessProbe: {tcpSocket: {}}" }, C ".livenessProbe.tcpSocket.port: required" },
        { "bad port", { C ".livenessProbe: {tcpSocket: {port: 0}}" }, C ".livenessProbe.tcpSocket.port: 1 to 65535" },
        { "negative period",
          { C ".livenessProbe: {grpc: {port: 1}, periodSeconds: -1}" },
          C ".livenessProbe.periodSeconds: at least 0" },
        { "success of liveness",
          { C ".livenessProbe: {grpc: {port: 1}, successThreshold: 2}" },
          C ".livenessProbe.successThreshold: must be 1" },
        { "grace of readiness",
          { C ".readinessProbe: {grpc: {port: 1}, terminationGracePeriodSeconds: 5}" },
          C ".readinessProbe.terminationGracePeriodSeconds: readinessProbe" },
        { "init",
          { "spec.initContainers: [{name: i, image: i, livenessProbe: {grpc: {port: 1}}}]" },
          "spec.initContainers[0].livenessProbe: init containers" },
        { "sidecar",
          { "spec.initContainers: [{name: i, image: i, restartPolicy: Always, livenessProbe: {grpc: {port: 1}}}]" },
          NULL },
        { "hook", { C ".lifecycle: {preStop: {sleep: {seconds: 3}}}" }, NULL },
        { "hook without", { C ".lifecycle: {postStart: {}}" }, C ".lifecycle.postStart: must specify a handler type" },
        { "hook, two",
          { C ".lifecycle: {preStop: {sleep: {seconds: 3}, exec: {command: [x]}}}" },
          C ".lifecycle.preStop.sleep: more than one" },
        { "hook of init",
          { "spec.initContainers: [{name: i, image: i, lifecycle: {preStop: {sleep: {seconds: 3}}}}]" },
          "spec.initContainers[0].lifecycle: init containers" },
    };

    RUN(rows);
}

#define NODE_TERM                                                                                                      \
    "spec.affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{"
#define NODE_AT  "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
#define POD_TERM "spec.affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{"
#define POD_AT   "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"

static void test_affinity(void **state)
{
    static const struct admit_row rows[] = {
        { "selector", { "spec.nodeSelector: {a/b: c}" }, NULL },
        { "selector key", { "spec.nodeSelector: {'a b': c}" }, "spec.nodeSelector.a b: the key" },
        { "selector value", { "spec.nodeSelector: {a: 'c d'}" }, "spec.nodeSelector.a: c d" },
        { "in", { NODE_TERM "matchExpressions: [{key: a, operator: In, values: [x]}]}]}}}" }, NULL },
        { "in nothing",
          { NODE_TERM "matchExpressions: [{key: a, operator: In}]}]}}}" },
          NODE_AT ".matchExpressions[0].values: at least one value" },
        { "exists",
          { NODE_TERM "matchExpressions: [{key: a, operator: Exists, values: [x]}]}]}}}" },
          NODE_AT ".matchExpressions[0].values: may not be specified when operator is Exists" },
        { "gt", { NODE_TERM "matchExpressions: [{key: a, operator: Gt, values: ['3']}]}]}}}" }, NULL },
        { "gt two",
          { NODE_TERM "matchExpressions: [{key: a, operator: Gt, values: ['3', '4']}]}]}}}" },
          NODE_AT ".matchExpressions[0].values: exactly one" },
        { "gt text",
          { NODE_TERM "matchExpressions: [{key: a, operator: Lt, values: [x]}]}]}}}" },
          NODE_AT ".matchExpressions[0].values[0]: whole number" },
        { "operator",
          { NODE_TERM "matchExpressions: [{key: a, operator: Is}]}]}}}" },
          NODE_AT ".matchExpressions[0].operator: one of" },
        { "key",
          { NODE_TERM "matchExpressions: [{key: 'a b', operator: Exists}]}]}}}" },
          NODE_AT ".matchExpressions[0].key: a b" },
        { "field", { NODE_TERM "matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}" }, NULL },
        { "other field",
          { NODE_TERM "matchFields: [{key: spec.x, operator: In, values: [n1]}]}]}}}" },
          NODE_AT ".matchFields[0].key: metadata.name" },
        { "field operator",
          { NODE_TERM "matchFields: [{key: metadata.name, operator: Exists, values: [n1]}]}]}}}" },
          NODE_AT ".matchFields[0].operator: In or NotIn" },
        { "no terms",
          { "spec.affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[]}}}" },
          "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: empty" },
        { "weight",
          { "spec.affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: "
            "{}}]}}" },
          "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: 100" },
        { "pods",
          { POD_TERM "topologyKey: zone, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [c]}]}}" },
          NULL },
        { "no key", { POD_TERM "labelSelector: {}}]}}" }, POD_AT ".topologyKey: required" },
        { "label key",
          { POD_TERM "topologyKey: zone, labelSelector: {matchLabels: {'a b': c}}}]}}" },
          POD_AT ".labelSelector.matchLabels.a b: the key" },
        { "values",
          { POD_TERM "topologyKey: zone, labelSelector: {matchExpressions: [{key: a, operator: NotIn}]}}]}}" },
          POD_AT ".labelSelector.matchExpressions[0].values: at least one" },
        { "bad value",
          { POD_TERM
            "topologyKey: zone, labelSelector: {matchExpressions: [{key: a, operator: In, values: ['b c']}]}}]}}" },
          POD_AT ".labelSelector.matchExpressions[0].values[0]: b c" },
        { "keys without a selector",
          { POD_TERM "topologyKey: zone, matchLabelKeys: [c]}]}}" },
          POD_AT ".matchLabelKeys: labelSelector" },
    };

    RUN(rows);
}

#define T "spec.tolerations"
#define S "spec.topologySpreadConstraints"

static void test_tolerations_and_spread(void **state)
{
    static const struct admit_row rows[] = {
        { "equal", { T ": [{key: a, value: b, effect: NoSchedule}]" }, NULL },
        { "everything", { T ": [{operator: Exists}]" }, NULL },
        { "no key", { T ": [{value: b}]" }, T "[0].operator: must be Exists when key is empty" },
        { "exists with a value", { T ": [{key: a, operator: Exists, value: b}]" }, T "[0].value: must be empty" },
        { "seconds", { T ": [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 3}]" }, NULL },
        { "seconds, other effect",
          { T ": [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 3}]" },
          T "[0].effect: must be NoExecute" },
        { "effect", { T ": [{key: a, effect: Never}]" }, T "[0].effect: one of" },
        { "value", { T ": [{key: a, value: 'b c'}]" }, T "[0].value: b c" },
        { "less than", { T ": [{key: a, operator: Lt, value: x}]" }, T "[0].value: whole number" },
        { "spread", { S ": [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, minDomains: 2}]" }, NULL },
        { "skew",
          { S ": [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]" },
          S "[0].maxSkew: at least 1" },
        { "no key to spread",
          { S ": [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]" },
          S "[0].topologyKey: required" },
        { "when",
          { S ": [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never}]" },
          S "[0].whenUnsatisfiable: one of" },
        { "twice",
          { S ": [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, "
              "whenUnsatisfiable: DoNotSchedule}]" },
          S "[1].topologyKey: duplicate" },
        { "not quite twice",
          { S ": [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, "
              "whenUnsatisfiable: ScheduleAnyway}]" },
          NULL },
        { "domains",
          { S ": [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 2}]" },
          S "[0].minDomains: DoNotSchedule" },
    };

    RUN(rows);
}

static void test_pod(void **state)
{
    static const struct admit_row rows[] = {
        { "restart", { "spec.restartPolicy: Always" }, NULL },
        { "deadline", { "spec.activeDeadlineSeconds: 0" }, "spec.activeDeadlineSeconds: 1" },
        { "grace", { "spec.terminationGracePeriodSeconds: -1" }, NULL },
        { "alias", { "spec.hostAliases: [{ip: 10.0.0.1, hostnames: [a.b]}]" }, NULL },
        { "alias v6", { "spec.hostAliases: [{ip: '::1', hostnames: [a.b]}]" }, NULL },
        { "alias ip", { "spec.hostAliases: [{ip: 10.0.0.256}]" }, "spec.hostAliases[0].ip: address" },
        { "alias name",
          { "spec.hostAliases: [{ip: 10.0.0.1, hostnames: [A_b]}]" },
          "spec.hostAliases[0].hostnames[0]: A_b" },
        { "dns none", { "spec.dnsPolicy: None" }, "spec.dnsConfig: at least one DNS nameserver" },
        { "dns none, served", { "spec.dnsPolicy: None", "spec.dnsConfig: {nameservers: [1.1.1.1]}" }, NULL },
        { "dns ip", { "spec.dnsConfig: {nameservers: [dns]}" }, "spec.dnsConfig.nameservers[0]: address" },
        { "dns many",
          { "spec.dnsConfig: {nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4]}" },
          "spec.dnsConfig.nameservers: more than 3" },
        { "hostname", { "spec.hostname: a.b" }, "spec.hostname: a.b" },
        { "subdomain", { "spec.subdomain: sub" }, NULL },
        { "override", { "spec.hostnameOverride: h", "spec.hostNetwork: true" }, "spec.hostnameOverride: hostNetwork" },
        { "secret", { "spec.imagePullSecrets: [{name: s}]" }, NULL },
        { "no secret", { "spec.imagePullSecrets: [{}]" }, "W spec.imagePullSecrets[0]: no secret" },
        { "user", { "spec.securityContext: {runAsUser: -1}" }, "spec.securityContext.runAsUser: -1" },
        { "non-root", { "spec.securityContext: {runAsUser: 1, runAsNonRoot: true}" }, NULL },
        { "root as non-root",
          { "spec.securityContext: {runAsUser: 0, runAsNonRoot: true}" },
          "W spec.securityContext.runAsNonRoot: will not start" },
        { "container overrides",
          { "spec.securityContext: {runAsNonRoot: true}", C ".securityContext: {runAsUser: 0}" },
          "W " C ".securityContext.runAsNonRoot: will not start" },
        { "privileged", { C ".securityContext: {privileged: true}" }, NULL },
        { "escalation",
          { C ".securityContext: {privileged: true, allowPrivilegeEscalation: false}" },
          C ".securityContext.allowPrivilegeEscalation: privileged" },
        { "seccomp",
          { "spec.securityContext: {seccompProfile: {type: Localhost}}" },
          "spec.securityContext.seccompProfile.localhostProfile: required" },
        { "seccomp file",
          { "spec.securityContext: {seccompProfile: {type: Localhost, localhostProfile: p/x}}" },
          NULL },
        { "seccomp, other",
          { C ".securityContext: {seccompProfile: {type: Unconfined, localhostProfile: x}}" },
          C ".securityContext.seccompProfile.localhostProfile: only be set" },
        { "sysctl twice",
          { "spec.securityContext: {sysctls: [{name: a, value: b}, {name: a, value: c}]}" },
          "spec.securityContext.sysctls[1].name: duplicate" },
        { "process namespace",
          { "spec.shareProcessNamespace: true", "spec.hostPID: true" },
          "spec.shareProcessNamespace: hostPID" },
        { "own users", { "spec.hostUsers: false", "spec.hostIPC: true" }, "spec.hostIPC: hostUsers" },
        { "gates twice",
          { "spec.schedulingGates: [{name: a/b}, {name: a/b}]" },
          "spec.schedulingGates[1].name: duplicate" },
        { "claims", { "spec.resourceClaims: [{name: r}]" }, "spec.resourceClaims[0]: must specify" },
        { "label", { "metadata.labels: {'a b': c}" }, "metadata.labels.a b: key" },
        { "label value", { "metadata.labels: {a: 'b c'}" }, "metadata.labels.a: b c" },
        { "annotation", { "metadata.annotations: {'a b': c}" }, "metadata.annotations.a b: key" },
        { "annotation with capitals", { "metadata.annotations: {Example.COM/x: 'any thing'}" }, NULL },
    };

    RUN(rows);
}

/* ---- anything may stand anywhere ---- */

static const char rich_template[] =
    "metadata: {labels: {a: b}, annotations: {c: d}}\n"
    "spec:\n"
    "  hostNetwork: true\n"
    "  dnsPolicy: None\n"
    "  dnsConfig: {nameservers: [1.1.1.1], searches: [a.b]}\n"
    "  hostAliases: [{ip: 1.1.1.1, hostnames: [h]}]\n"
    "  nodeSelector: {a: b}\n"
    "  overhead: {cpu: 1}\n"
    "  imagePullSecrets: [{name: s}]\n"
    "  securityContext: {runAsUser: 1, runAsNonRoot: true, sysctls: [{name: a, value: b}], seccompProfile: {type: "
    "RuntimeDefault}}\n"
    "  tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 3}]\n"
    "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: "
    "{matchLabels: {a: b}}}]\n"
    "  affinity:\n"
    "    nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: "
    "a, "
    "operator: In, values: [x]}], matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}\n"
    "    podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: z, "
    "labelSelector: {matchExpressions: [{key: a, operator: Exists}]}}}]}\n"
    "  volumes:\n"
    "  - {name: v, emptyDir: {sizeLimit: 1Gi}}\n"
    "  - {name: w, projected: {sources: [{secret: {name: s, items: [{key: k, path: p}]}}, {downwardAPI: {items: "
    "[{path: "
    "q, fieldRef: {fieldPath: metadata.name}}]}}]}}\n"
    "  - {name: x, configMap: {name: m, items: [{key: k, path: p}]}}\n"
    "  initContainers:\n"
    "  - {name: i, image: i}\n"
    "  containers:\n"
    "  - name: c\n"
    "    image: i\n"
    "    ports: [{containerPort: 1, hostPort: 1, name: p, hostIP: 1.1.1.1}]\n"
    "    env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: B, value: x}]\n"
    "    envFrom: [{configMapRef: {name: m}}]\n"
    "    resources: {requests: {cpu: 1, nvidia.com/gpu: 1}, limits: {cpu: 1, nvidia.com/gpu: 1}}\n"
    "    volumeMounts: [{name: v, mountPath: /a, subPath: b}]\n"
    "    livenessProbe: {exec: {command: [x]}, successThreshold: 1}\n"
    "    lifecycle: {preStop: {httpGet: {port: 1}}}\n"
    "    securityContext: {privileged: true, capabilities: {add: [X]}}\n";

static size_t count_nodes(const struct json *j)
{
    size_t n = 1;

    JSON_FOREACH(item, j)
        n += count_nodes(item);
    return n;
}

/* Put 'with' in the place of the n-th node below 'j'; false if there are not so many. */
static bool swap_node(struct json *j, size_t *n, struct json *with)
{
    JSON_FOREACH(item, j) {
        if ((*n)-- == 0) {
            json_replace(j, item, with);
            return true;
        }
        if (swap_node(item, n, with))
            return true;
    }
    return false;
}

static size_t errors_of(struct json *template)
{
    struct problems ps = { .arena = &arena };
    struct place root = { .node = template };

    schema_check(&schema_pod_template, &root, &ps);
    check_template(&root, &ps);
    return ps.n_errors;
}

static void test_anything_anywhere(void **state)
{
    static const char *const values[] = { "null", "0",    "-1",   "''",  "text", "[]",      "{}",
                                          "[1]",  "[{}]", "true", "1.5", "'..'", "{a: {}}", "99999999999999999999" };
    size_t n_nodes = count_nodes(doc(rich_template)) - 1, n_refused = 0;

    assert_int_equal(errors_of(doc(rich_template)), 0);
    for (size_t i = 0; i < n_nodes; i++) {
        for (size_t k = 0; k < ARRAY_LEN(values); k++) {
            struct json *template = doc(rich_template);
            size_t at = i;

            assert_true(swap_node(template, &at, doc(values[k])));
            n_refused += errors_of(template) > 0;
            arena_reset(&arena);
        }
    }
    assert_in_range(n_refused, n_nodes * 4, n_nodes * ARRAY_LEN(values) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_containers, forget),
        cmocka_unit_test_teardown(test_ports, forget),
        cmocka_unit_test_teardown(test_environment, forget),
        cmocka_unit_test_teardown(test_mounts, forget),
        cmocka_unit_test_teardown(test_volumes, forget),
        cmocka_unit_test_teardown(test_resources, forget),
        cmocka_unit_test_teardown(test_probes, forget),
        cmocka_unit_test_teardown(test_affinity, forget),
        cmocka_unit_test_teardown(test_tolerations_and_spread, forget),
        cmocka_unit_test_teardown(test_pod, forget),
        cmocka_unit_test_teardown(test_anything_anywhere, forget),
    };

    return cmocka_run_group_tests_name("admit_pod", tests, NULL, NULL);
}
