#!/usr/bin/env python3
"""`pumice server` beside a real kube-apiserver: both are asked for the same objects, and for the same changes of them (dryRun), and
take or refuse the same ones. The words are ours, and all that is wrong is told at once; what is refused is the same."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from harness import Suite  # noqa: E402
from server import server_or_skip  # noqa: E402

SPACE = "same"
POD = {"containers": [{"name": "c", "image": "i"}]}


def of_container(**more):
    return {"spec": {"containers": [{"name": "c", "image": "i", **more}]}}


def of_pod(**more):
    return {"spec": {**POD, **more}}


def of_port(**more):
    return {"spec": {"ports": [{"port": 80, **more}]}}


def of_volume(**source):
    return of_pod(volumes=[{"name": "v", **source}])


# Where they are asked for, and what is asked.
ASKED = {
    "/api/v1/pods": [
        of_pod(), {"spec": {"containers": []}}, of_container(image=""), of_container(name="C_x"), of_container(command="sh"), of_container(stdin="yes"),
        of_container(workingDir=5), of_container(imagePullPolicy="X"), of_container(terminationMessagePolicy="X"), of_container(lifecycle={"postStart": {}}),
        *(of_container(ports=[{"containerPort": 80, **p}]) for p in ({}, {"containerPort": 0}, {"containerPort": 65536}, {"protocol": "FOO"}, {"name": "NameThatIsTooLong"})),
        *(of_container(env=[e]) for e in ({"name": ""}, {"name": "a=b"}, {"name": "a", "value": 5}, {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.foo"}}},
                                          {"name": "a", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})),
        *(of_container(resources=r) for r in ({"limits": {"cpu": "-1"}}, {"limits": {"cpu": "abc"}}, {"limits": {"cpu": 1}}, {"requests": {"nvidia.com/gpu": "1"}},
                                              {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}, {"limits": {"nvidia.com/gpu": 2}})),
        *(of_container(livenessProbe=p) for p in ({}, {"httpGet": {"port": 0}}, {"exec": {"command": []}, "tcpSocket": {"port": 1}}, {"tcpSocket": {"port": "p"}})),
        of_container(readinessProbe={"exec": {"command": ["a"]}, "successThreshold": -1}), of_container(volumeMounts=[{"name": "x", "mountPath": "/x"}]),
        of_container(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
        *(of_volume(**v) for v in ({}, {"emptyDir": {}}, {"emptyDir": {}, "hostPath": {"path": "/"}}, {"hostPath": {"path": "../x"}}, {"configMap": {}},
                                   {"secret": {"secretName": "a", "defaultMode": 9999}}, {"name": "V", "emptyDir": {}})),
        of_pod(volumes=[{"name": "v", "emptyDir": {}}] * 2), of_pod(restartPolicy="X"), of_pod(dnsPolicy="X"), of_pod(dnsPolicy="None"), of_pod(activeDeadlineSeconds=0),
        of_pod(terminationGracePeriodSeconds=-1), of_pod(hostname="A.b"), of_pod(subdomain="A"), of_pod(nodeSelector={"a b": "c"}), of_pod(tolerations=[{"operator": "Foo"}]),
        of_pod(tolerations=[{"key": "a", "operator": "Exists", "value": "x"}]), of_pod(securityContext={"runAsUser": -1}), of_pod(securityContext={"supplementalGroups": [-5]}),
        of_pod(securityContext={"seccompProfile": {"type": "Foo"}}), of_pod(securityContext={"sysctls": [{"name": "a b", "value": "1"}]}),
        of_pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}),
        of_pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}}), of_pod(shareProcessNamespace=True, hostPID=True),
        of_pod(hostNetwork=True, containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 81}]}]), of_pod(hostAliases=[{"ip": "x", "hostnames": ["a"]}]),
        of_pod(dnsConfig={"nameservers": ["x"]}), of_pod(priorityClassName="nope"), of_pod(serviceAccountName="nope"), of_pod(preemptionPolicy="X"),
        of_pod(readinessGates=[{"conditionType": "a b"}]), of_pod(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "X"}]),
        of_pod(initContainers=[{"name": "c", "image": "i"}]), of_pod(initContainers=[{"name": "d", "image": "i", "readinessProbe": {"exec": {"command": ["a"]}}}]),
        of_pod(initContainers=[{"name": "d", "image": "i", "restartPolicy": "Always"}]), of_pod(ephemeralContainers=[{"name": "d", "image": "i"}]),
        *({"metadata": m, **of_pod()} for m in ({"labels": {"a": "b c"}}, {"labels": {"a": 5}}, {"labels": {"a b": "c"}}, {"annotations": {"a b": "c"}}, {"name": "A"}, {"name": "x" * 260},
                                                {"generateName": "x-", "name": ""}, {"namespace": "other"}, {"ownerReferences": [{"kind": "X", "name": "y"}]}, {"finalizers": ["a/b/c"]})),
    ],
    "/api/v1/services": [
        of_port(), {"spec": {"ports": []}}, {"spec": {"clusterIP": "None"}}, of_port(port=0), {"spec": {"ports": [{"port": 80}, {"port": 81}]}},
        {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]}}, {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}]}},
        of_port(targetPort="A_b"), of_port(targetPort=70000), of_port(targetPort="web"), of_port(protocol="X"), of_port(name="A B"),
        *({"spec": {"ports": [{"port": 80}], **s}} for s in ({"type": "Foo"}, {"clusterIP": "1.2.3.4"}, {"clusterIP": "x"}, {"sessionAffinity": "X"}, {"selector": {"a b": "c"}},
                                                             {"selector": {"a": "b c"}}, {"type": "NodePort"}, {"externalTrafficPolicy": "Local"},
                                                             {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False})),
        {"spec": {"type": "ExternalName"}}, {"spec": {"type": "ExternalName", "externalName": "example.org"}}, {"metadata": {"name": "1-a"}, **of_port()},
    ],
    "/api/v1/configmaps": [
        {}, {"data": {"a": "b"}}, {"data": {"a/b": "c"}}, {"binaryData": {"a/b": "YQ=="}}, {"data": {"a": "c"}, "binaryData": {"a": "YQ=="}}, {"binaryData": {"a": "%%"}},
        {"data": {"a": "x" * (1 << 20)}}, {"data": {"a": "x" * (1 << 20) + "x"}}, {"metadata": {"name": "A_b"}},
    ],
    "/api/v1/secrets": [
        {"data": {"a": "%%"}}, {"data": {"a/b": "YQ=="}}, {"type": "kubernetes.io/tls"}, {"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ==", "tls.key": "YQ=="}},
        {"type": "kubernetes.io/dockerconfigjson"}, {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}}, {"type": "kubernetes.io/ssh-auth"},
        {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "x"}},
        {"type": "kubernetes.io/service-account-token"}, {"type": "kubernetes.io/basic-auth"}, {"type": "kubernetes.io/basic-auth", "stringData": {"username": "me"}}, {"type": "mine"},
    ],
    "/api/v1/persistentvolumeclaims": [
        {"spec": {}}, *({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **s}} for s in
                        ({}, {"accessModes": []}, {"accessModes": ["X"]}, {"resources": {}}, {"resources": {"requests": {"storage": "-1"}}}, {"resources": {"requests": {"storage": 0}}},
                         {"volumeMode": "X"})),
    ],
    "/api/v1/resourcequotas": [{"spec": {"hard": h}} for h in ({"pods": "1"}, {"foo": "1"}, {"pods": "x"}, {"pods": "-1"}, {"count/jobs.batch.volcano.sh": "1"}, {"requests.nvidia.com/gpu": "1"},
                                                               {"limits.cpu": "1"}, {"services.nodeports": "0"})] + [{"spec": {"scopes": ["X"]}}],
    "/api/v1/limitranges": [{"spec": {"limits": [limit]}} for limit in ({"type": "Container", "default": {"cpu": "1"}}, {"type": "X"}, {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}})],
    "/api/v1/serviceaccounts": [{}, {"metadata": {"name": "a.b"}}, {"metadata": {"name": "A"}}],
    "/api/v1/events": [{"involvedObject": {"namespace": SPACE}, "reason": "x"}, {"involvedObject": {"namespace": "other"}}],
    "/apis/networking.k8s.io/v1/networkpolicies": [
        {"spec": {"podSelector": {}, **s}} for s in ({}, {"policyTypes": ["X"]}, {"ingress": [{"from": [{"ipBlock": {"cidr": "x"}}]}]}, {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
                                                     {"ingress": [{"ports": [{"port": 0}]}]}, {"ingress": [{"ports": [{"port": "web"}]}]})],
    "/apis/policy/v1/poddisruptionbudgets": [{"spec": s} for s in ({"minAvailable": 1}, {"maxUnavailable": "50%"}, {"minAvailable": 1, "maxUnavailable": 1}, {"minAvailable": "x"}, {"minAvailable": -1})],
    "/apis/coordination.k8s.io/v1/leases": [{"spec": {"leaseDurationSeconds": 10}}, {"spec": {"leaseDurationSeconds": 0}}],
    "/apis/rbac.authorization.k8s.io/v1/roles": [{"rules": [r]} for r in ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, {"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/x"]})],
    "/apis/rbac.authorization.k8s.io/v1/rolebindings": [
        {"roleRef": {"kind": "X", "name": "y"}},
        *({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, "subjects": [s]} for s in
          ({"kind": "X", "name": "z"}, {"kind": "ServiceAccount", "name": "z"}, {"kind": "User", "name": ""}, {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "z"}))],
    "/apis/scheduling.k8s.io/v1/priorityclasses": [{"value": 1}, {"value": 1000000001}, {"value": 1, "preemptionPolicy": "X"}, {"metadata": {"name": "system-mine"}, "value": 1}],
    "/apis/storage.k8s.io/v1/storageclasses": [{}, {"provisioner": "example.org/x"}, {"provisioner": "example.org/x", "reclaimPolicy": "X"}],
}
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "x", "resources": {"requests": {"storage": "1Gi"}}}}
VIEW = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}
# Where, what is made, and merge patches of it.
CHANGED = [
    ("/api/v1/services", of_port(), [{"spec": {"clusterIP": "1.2.3.4"}}, {"spec": {"type": "NodePort"}}, {"spec": {"ports": []}}, {"spec": {"ports": [{"port": 81}]}}, {"spec": {"selector": {"a": "b"}}},
                                     {"spec": {"type": "ExternalName"}}, {"spec": {"sessionAffinity": "ClientIP"}}, {"spec": {"sessionAffinity": "X"}}, {"metadata": {"labels": {"a b": "c"}}}]),
    ("/api/v1/configmaps", {"immutable": True, "data": {"a": "b"}}, [{"data": {"a": "c"}}, {"immutable": False}, {"immutable": None}, {"metadata": {"labels": {"a": "b"}}}]),
    ("/api/v1/configmaps", {"data": {"a": "b"}}, [{"data": {"a": None}}, {"data": None}, {"immutable": True}, {"data": {"a": 5}}, {"metadata": {"labels": {"a": 5}}}, {"metadata": {"name": "other"}},
                                                  {"metadata": {"uid": "other"}}, {"metadata": {"resourceVersion": "1"}}, {"metadata": {"annotations": {"a": None}}}, {"kind": "Secret"}]),
    ("/api/v1/secrets", {"data": {"a": "YQ=="}}, [{"type": "other"}, {"immutable": True}, {"data": {"a": "%%"}}, {"stringData": {"b": "c"}}]),
    ("/api/v1/persistentvolumeclaims", CLAIM, [{"spec": {"storageClassName": "y"}}, {"spec": {"accessModes": ["ReadWriteMany"]}}, {"spec": {"volumeMode": "Block"}}, {"metadata": {"labels": {"a": "b"}}}]),
    ("/api/v1/resourcequotas", {"spec": {"hard": {"pods": "1"}}}, [{"spec": {"hard": {"pods": "2"}}}, {"spec": {"scopes": ["BestEffort"]}}, {"spec": {"hard": {"pods": "-2"}}}]),
    ("/api/v1/serviceaccounts", {}, [{"automountServiceAccountToken": False}, {"secrets": [{"name": "a"}]}, {"imagePullSecrets": "x"}]),
    ("/apis/rbac.authorization.k8s.io/v1/rolebindings", VIEW, [{"roleRef": {"name": "edit"}}, {"subjects": [{"kind": "ServiceAccount", "name": "z"}]},
                                                               {"subjects": [{"kind": "ServiceAccount", "name": "z", "namespace": "y"}]}]),
    ("/apis/rbac.authorization.k8s.io/v1/roles", {}, [{"rules": [{"verbs": []}]}, {"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}]),
    ("/apis/networking.k8s.io/v1/networkpolicies", {"spec": {"podSelector": {}}}, [{"spec": {"podSelector": {"matchLabels": {"a b": "c"}}}}, {"spec": {"podSelector": {"matchLabels": {"a": "c"}}}}]),
    ("/apis/policy/v1/poddisruptionbudgets", {"spec": {"minAvailable": 1}}, [{"spec": {"minAvailable": 2}}, {"spec": {"maxUnavailable": 1}}, {"spec": {"selector": {"matchLabels": {"a": "b"}}}}]),
    ("/apis/coordination.k8s.io/v1/leases", {"spec": {"holderIdentity": "a"}}, [{"spec": {"holderIdentity": "b"}}, {"spec": {"leaseTransitions": -1}}, {"spec": {"renewTime": "x"}}]),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1}, [{"value": 2}, {"description": "x"}, {"preemptionPolicy": "Never"}, {"globalDefault": True}]),
    ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "example.org/x"}, [{"provisioner": "example.org/y"}, {"reclaimPolicy": "Retain"}, {"allowVolumeExpansion": True}, {"parameters": {"a": "b"}}]),
]
WHOLE = ("priorityclasses", "storageclasses")  # of the cluster


def path_of(at):
    group, kind = at.rsplit("/", 1)
    return at if kind in WHOLE else f"{group}/namespaces/{SPACE}/{kind}"


def named(body):
    return {**body, "metadata": {"name": "asked", **body.get("metadata", {})}}


def is_taken(status, answer, of):
    """A refusal is 400, 403, 409 or 422: which of them depends on who looks first."""
    assert status in (200, 201, 400, 403, 409, 422), (of, answer)
    return status < 300


def answers(call, at, body):
    status, answer = call("POST", f"{path_of(at)}?dryRun=All&fieldValidation=Ignore", named(body))
    return is_taken(status, answer, body), answer


def same_answers(bed, server, at):
    for body in ASKED[at]:
        (theirs, why), (ours, own) = answers(bed.call, at, body), answers(server.call, at, body)
        assert theirs == ours, f"{body}: {'taken' if theirs else why.get('message')} there, {'taken' if ours else own.get('message')} here"


def same_changes(bed, server, at, body, patches):
    servers = (lambda *args, **how: bed.call(*args, content_type=how.get("type", "application/json"))), server.call
    one = f"{path_of(at)}/asked"
    for call in servers:
        assert call("POST", path_of(at), named(body))[0] == 201, (at, body)
    for patch in patches:
        there, here = (call("PATCH", f"{one}?dryRun=All&fieldValidation=Ignore", patch, type="application/merge-patch+json") for call in servers)
        assert is_taken(*there, patch) == is_taken(*here, patch), f"{patch}: {there[0]} {there[1].get('message')} there, {here[0]} {here[1].get('message')} here"
    for call in servers:
        call("DELETE", one)


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            server = server_or_skip()
            bed.namespace(SPACE)
            server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
            for at in ASKED:
                suite.case(at.rsplit("/", 1)[1], lambda: same_answers(bed, server, at))
            for at, body, patches in CHANGED:
                suite.case(f"changed {at.rsplit('/', 1)[1]}", lambda: same_changes(bed, server, at, body, patches))
            server.stop()
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
