#!/usr/bin/env python3
"""What Kubernetes' conformance suite asserts of an API server and of its node, on `pumice server`.

Each case asserts what the spec of its name asserts; the specs are those of Kubernetes 1.36 that our own runs of the suite
have seen fail once.
"""
import atexit
import base64
import json
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite, has, same, until  # noqa: E402
from server import MAPS, PODS, Messages, Server, config_map, pod, server_or_skip  # noqa: E402

NAMESPACES = "/api/v1/namespaces"
SERVICES = "/api/v1/namespaces/default/services"
MERGE = "application/merge-patch+json"
cases = []


def case(function):
    cases.append(function)
    return function


def is_gone(s, path):
    return s.call("GET", path)[0] == 404


def refused(answer, code, *words):
    status, body = answer
    assert status == code, (status, body)
    has(body["message"] if isinstance(body, dict) else body, *words)


# ---- namespaces ----

@case
def namespace_deletes_its_pods_first(s):
    """OrderedNamespaceDeletion: a pod that is held keeps everything else as it is; then all goes."""
    at = f"{NAMESPACES}/ordered"
    s.ok("POST", NAMESPACES, {"metadata": {"name": "ordered"}})
    s.ok("POST", f"{at}/configmaps", config_map("kept"))
    held = pod("held", "sleep 1000", finalizers=["example.com/hold"])
    held["spec"]["nodeSelector"] = {"no": "node"}
    s.ok("POST", f"{at}/pods", held)
    s.ok("DELETE", at)

    def conditions():
        return {c["type"]: c for c in s.ok("GET", at)["status"].get("conditions", [])}
    found = until("the namespace was looked at", lambda: "NamespaceDeletionContentFailure" in conditions() and conditions())
    assert {t: c["status"] for t, c in found.items()} == {
        "NamespaceDeletionDiscoveryFailure": "False", "NamespaceDeletionGroupVersionParsingFailure": "False",
        "NamespaceDeletionContentFailure": "False", "NamespaceContentRemaining": "True", "NamespaceFinalizersRemaining": "True"}, found
    has(found["NamespaceFinalizersRemaining"]["message"], "example.com/hold in 1 resource instances")
    assert "deletionTimestamp" in s.ok("GET", f"{at}/pods/held")["metadata"]
    assert "deletionTimestamp" not in s.ok("GET", f"{at}/configmaps/kept")["metadata"]
    s.ok("PATCH", f"{at}/pods/held", {"metadata": {"finalizers": None}}, type=MERGE)
    until("the namespace is gone", lambda: is_gone(s, at))


@case
def namespace_takes_finalizers_by_finalize(s):
    at = f"{NAMESPACES}/finalized"
    made = s.ok("POST", NAMESPACES, {"metadata": {"name": "finalized"}})
    made["spec"]["finalizers"].append("example.com/fake")
    same(s.ok("PUT", f"{at}/finalize", made)["spec"]["finalizers"], ["kubernetes", "example.com/fake"])
    same(s.ok("GET", at)["spec"]["finalizers"], ["kubernetes", "example.com/fake"])
    s.ok("PATCH", at, {"spec": {"finalizers": []}}, type=MERGE)
    same(s.ok("GET", at)["spec"]["finalizers"], ["kubernetes", "example.com/fake"])  # by /finalize only
    s.ok("DELETE", at)
    until("ours is done", lambda: s.ok("GET", at)["spec"]["finalizers"] == ["example.com/fake"])
    s.ok("PUT", f"{at}/finalize", {**s.ok("GET", at), "spec": {"finalizers": []}})
    until("the namespace is gone", lambda: is_gone(s, at))


@case
def status_writes_labels_and_annotations(s):
    """Namespaces and Services: as Kubernetes, spec aside. Pods and Nodes: not here."""
    s.ok("POST", NAMESPACES, {"metadata": {"name": "statuses", "labels": {"keep": "me"}}})
    s.ok("POST", SERVICES, {"metadata": {"name": "statuses", "labels": {"keep": "me"}}, "spec": {"ports": [{"port": 80}]}})
    for at in (f"{NAMESPACES}/statuses", f"{SERVICES}/statuses"):
        before = s.ok("GET", at)
        patch = {"metadata": {"annotations": {"by": "status"}}, "spec": {"ports": [], "finalizers": []},
                 "status": {"conditions": [{"type": "Seen", "status": "True", "reason": "E2E", "message": "m",
                                            "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
        after = s.ok("PATCH", f"{at}/status", patch, type=MERGE)
        same(after["metadata"]["annotations"], {"by": "status"})
        same(after["status"]["conditions"][0]["type"], "Seen")
        same((after["spec"], after["metadata"]["labels"]), (before["spec"], before["metadata"]["labels"]))
        refused(s.call("PATCH", f"{at}/status", {"metadata": {"labels": {"a b": "c"}}}, type=MERGE), 422, "metadata.labels")
    s.ok("PATCH", f"{NAMESPACES}/statuses/status", {"metadata": {"labels": None}}, type=MERGE)
    same(s.ok("GET", f"{NAMESPACES}/statuses")["metadata"]["labels"], {"kubernetes.io/metadata.name": "statuses"})
    p = pod("statuses", "true")
    p["spec"]["nodeSelector"] = {"no": "node"}
    s.ok("POST", PODS, p)
    after = s.ok("PATCH", f"{PODS}/statuses/status", {"metadata": {"annotations": {"by": "status"}}, "status": {"message": "m"}}, type=MERGE)
    assert "by" not in after["metadata"].get("annotations", {}), after["metadata"]


# ---- owners ----

@case
def circle_of_owners_ends(s):
    """Garbage collector: three of which each owns the next, one deleted in the foreground."""
    for path, kind, make in ((PODS, "Pod", lambda n: pod(n, "sleep 1000")), (MAPS, "ConfigMap", config_map)):
        names = [f"circle-{i}" for i in range(3)]
        made = []
        for name in names:
            body = make(name)
            if kind == "Pod":
                body["spec"]["nodeSelector"] = {"no": "node"}
            made.append(s.ok("POST", path, body))
        for i, name in enumerate(names):
            owner = made[i - 1]["metadata"]
            s.ok("PATCH", f"{path}/{name}", {"metadata": {"ownerReferences": [
                {"apiVersion": "v1", "kind": kind, "name": owner["name"], "uid": owner["uid"], "controller": True,
                 "blockOwnerDeletion": True}]}}, type=MERGE)
        s.ok("DELETE", f"{path}/{names[0]}", {"propagationPolicy": "Foreground"})
        until(f"the circle of {kind}s is gone", lambda: all(is_gone(s, f"{path}/{n}") for n in names))


# ---- services ----

@case
def service_changes_its_type(s):
    def change(**spec):
        now = s.ok("GET", f"{SERVICES}/types")
        for field, value in spec.items():
            now["spec"].pop(field, None) if value is None else now["spec"].update({field: value})
        return s.ok("PUT", f"{SERVICES}/types", now)["spec"]
    made = s.ok("POST", SERVICES, {"metadata": {"name": "types"}, "spec": {"type": "ExternalName", "externalName": "foo.example.com"}})
    same(made["status"], {"loadBalancer": {}})
    assert "clusterIP" not in made["spec"], made
    port = [{"port": 80, "name": "http", "protocol": "TCP"}]
    for kind in ("ClusterIP", "NodePort"):
        spec = change(type=kind, externalName=None, ports=port)
        assert spec["clusterIP"] == spec["clusterIPs"][0], spec
        same((spec["ipFamilies"], "nodePort" in spec["ports"][0]), (["IPv4"], kind == "NodePort"))
        spec = change(type="ExternalName", externalName="foo.example.com", clusterIP="")
        for gone in ("clusterIPs", "ipFamilies", "internalTrafficPolicy", "externalTrafficPolicy"):
            assert gone not in spec, spec
        assert not spec.get("clusterIP") and "nodePort" not in spec["ports"][0], spec


# ---- messages and forms ----

@case
def invalid_values_are_told_first(s):
    p = pod("sysctls", "true")
    p["spec"]["securityContext"] = {"sysctls": [{"name": n, "value": "1"} for n in ("foo-", "kernel.shmmax", "safe-and-unsafe", "bar..")]}
    status, answer = s.call("POST", PODS, p)
    same(status, 422)
    has(answer["message"], 'Invalid value: "foo-"', 'Invalid value: "bar.."')
    assert "safe-and-unsafe" not in answer["message"] and "kernel.shmmax" not in answer["message"], answer["message"]


@case
def review_is_no_table(s):
    """A 406 for a backend which does not implement metadata."""
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for form in ("as=Table;v=v1;g=meta.k8s.io", "as=PartialObjectMetadata;v=v1;g=meta.k8s.io"):
        same(s.call("POST", path, body, accept=f"application/json;{form}")[0], 406)
        same(s.call("POST", path, body, accept=f"application/json;{form},application/json")[0], 201)
        same(s.call("GET", PODS, accept=f"application/json;{form}")[0], 200)


@case
def events_are_found_by_their_source(s):
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    for name, more in (("new", {"reportingController": "test-controller"}),
                       ("old", {"reportingController": "other", "deprecatedSource": {"component": "test-component"}})):
        s.ok("POST", events, {"metadata": {"name": f"source-{name}"}, "regarding": {"kind": "Pod", "namespace": "default", "name": "x"},
                              "action": "Do", "reason": "Test", "type": "Normal", "note": "n", "reportingInstance": "i",
                              "eventTime": "2026-01-01T00:00:00.000000Z", **more})
    for path, selector, name in (("/api/v1/namespaces/default/events", "source=test-controller", "source-new"),
                                 ("/api/v1/namespaces/default/events", "source=test-component", "source-old"),
                                 (events, "reportingController=test-controller", "source-new")):
        same([e["metadata"]["name"] for e in s.ok("GET", f"{path}?fieldSelector={selector}")["items"]], [name])


# ---- streams ----

@case
def commands_run_by_every_protocol_of_websockets(s):
    """Pods should support remote command execution over websockets, with the Origin that such clients send."""
    s.ok("POST", PODS, pod("sockets", "sleep 1000"))
    until("it runs", lambda: s.ok("GET", f"{PODS}/sockets")["status"]["phase"] == "Running")

    def run(protocol, command, **more):
        query = "&".join(f"command={c}" for c in command)
        m = Messages(s, f"{PODS}/sockets/exec?{query}&stdout=1&stderr=1&container=main", protocol=protocol, Origin="http://localhost", **more)
        assert m.status == 101, m.head
        assert (f"Sec-WebSocket-Protocol: {protocol}\r" if protocol else "Sec-WebSocket-Protocol") in m.head or not protocol, m.head
        got = {}
        for opcode, text in iter(m.next, None):
            if opcode == 8:
                break
            is_coded = "base64" in (protocol or "")
            same(opcode, 1 if is_coded else 2)
            channel, rest = (text[0] - ord("0"), base64.b64decode(text[1:])) if is_coded else (text[0], text[1:])
            got[channel] = got.get(channel, b"") + rest
        m.close()
        return got
    for protocol in ("v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io", "channel.k8s.io", "base64.channel.k8s.io", None):
        is_old = protocol in ("channel.k8s.io", "base64.channel.k8s.io", None)
        got = run(protocol, ("echo", "remote", "test"))
        same((protocol, got.get(1)), (protocol, b"remote test\n"))
        same(got.get(3), None if is_old else b'{"metadata":{},"status":"Success"}')
        failed = run(protocol, ("false",))
        has(failed[3].decode(), "command terminated with non-zero exit code: 1")
        same(failed[3].startswith(b"{"), not is_old)
    m = Messages(s, f"{PODS}/sockets/log?container=main", protocol="binary.k8s.io", Origin="http://localhost")
    same(m.status, 101)
    m.close()


@case
def ports_are_forwarded_without_a_protocol(s):
    p = pod("forwards", "exec python3 -m http.server 8080")
    s.ok("POST", PODS, p)
    until("it runs", lambda: s.ok("GET", f"{PODS}/forwards")["status"]["phase"] == "Running")
    for protocol in (None, "v4.channel.k8s.io", "v4.base64.channel.k8s.io"):
        def first():
            m = Messages(s, f"{PODS}/forwards/portforward?ports=8080", protocol=protocol)
            same(m.status, 101)
            is_coded = "base64" in (protocol or "")
            ask = b"GET / HTTP/1.0\r\n\r\n"
            ports = [m.next()[1] for _ in range(2)]
            same(sorted(ports), sorted([b"0" + base64.b64encode(b"\x90\x1f"), b"1" + base64.b64encode(b"\x90\x1f")] if is_coded
                                       else [b"\0\x90\x1f", b"\1\x90\x1f"]))
            m.send(1 if is_coded else 2, b"0" + base64.b64encode(ask) if is_coded else b"\0" + ask)
            opcode, text = m.next()
            m.close()
            text = bytes([text[0] - 48]) + base64.b64decode(text[1:]) if is_coded else text
            return text.startswith(b"\0HTTP/1.0 200")
        until(f"the port answers by {protocol}", first)


@case
def audit_tells_what_a_stream_was_answered(s):
    m = Messages(s, f"{PODS}/sockets/exec?command=true&stdout=1", protocol="v9.unheard.of")
    same(m.status, 403)
    m.close()
    same(s.call("GET", f"{PODS}/sockets/exec?command=true&stdout=1")[0], 426)

    def codes():
        with open(s.audit) as f:
            events = [json.loads(line) for line in f]
        return [e["responseStatus"]["code"] for e in events if e["requestURI"].endswith("sockets/exec?command=true&stdout=1")]
    until("both are told", lambda: codes() == [403, 426])


# ---- pods ----

def container_state(s, name):
    return s.ok("GET", f"{PODS}/{name}")["status"].get("containerStatuses", [{}])[0].get("state", {})


def ended(s, name):
    return until(f"{name} has ended", lambda: container_state(s, name).get("terminated"))


@case
def termination_messages_follow_their_policy(s):
    """Container Runtime: from log output if FallbackToLogsOnError is set, and only then."""
    for name, policy, command, want in (("end", "FallbackToLogsOnError", "printf DONE; false", "DONE"),
                                        ("line", "FallbackToLogsOnError", "echo DONE; false", "DONE\n"),
                                        ("ok", "FallbackToLogsOnError", "echo DONE", ""),
                                        ("file", "File", "printf LOG; false", ""),
                                        ("written", "FallbackToLogsOnError", "echo LOG; printf OK > /dev/termination-log; false", "OK")):
        p = pod(f"message-{name}", command)
        p["spec"]["containers"][0]["terminationMessagePolicy"] = policy
        s.ok("POST", PODS, p)
    for name, want in (("end", "DONE"), ("line", "DONE\n"), ("ok", ""), ("file", ""), ("written", "OK")):
        same((name, ended(s, f"message-{name}").get("message", "")), (name, want))


@case
def host_network_has_the_hosts_names(s):
    """KubeletManagedEtcHosts: the file of a pod with hostNetwork is the host's."""
    for name, is_host in (("hosts-own", False), ("hosts-host", True)):
        p = pod(name, "cat /etc/hosts")
        p["spec"]["hostNetwork"] = is_host
        p["spec"]["hostAliases"] = [{"ip": "192.0.2.1", "hostnames": ["alias"]}]
        s.ok("POST", PODS, p)
        ended(s, name)
        text = s.call("GET", f"{PODS}/{name}/log")[1]
        same("# Kubernetes-managed hosts file." in text, not is_host)
        has(text, "192.0.2.1\talias")
        with open("/etc/hosts") as f:
            assert not is_host or f.read().strip() in text, text


@case
def bad_sub_paths_are_errors_of_the_configuration(s):
    """Variable Expansion should fail substituting values in a volume subpath with backticks, with absolute path."""
    for name, value in (("outside", ".."), ("absolute", "/tmp")):
        p = pod(f"expand-{name}", "sleep 1000")
        p["spec"]["volumes"] = [{"name": "work", "emptyDir": {}}]
        p["spec"]["containers"][0].update(env=[{"name": "POD_NAME", "value": value}],
                                          volumeMounts=[{"name": "work", "mountPath": "/logs", "subPathExpr": "$(POD_NAME)"}])
        s.ok("POST", PODS, p)
        waits = until("it waits", lambda: container_state(s, f"expand-{name}").get("waiting", {}).get("message") and container_state(s, f"expand-{name}")["waiting"])
        same(waits["reason"], "CreateContainerConfigError")


@case
def downward_volumes_follow_the_pod(s):
    """Downward API volume and Projected downwardAPI should update labels, annotations on modification."""
    p = pod("downward", "while true; do for v in plain projected; do cat /$v/labels /$v/annotations; done; sleep 0.2; done",
            labels={"key1": "value1"}, annotations={"builder": "bar"})
    items = [{"path": m, "fieldRef": {"fieldPath": f"metadata.{m}"}} for m in ("labels", "annotations")]
    p["spec"]["volumes"] = [{"name": "plain", "downwardAPI": {"items": items}},
                            {"name": "projected", "projected": {"sources": [{"downwardAPI": {"items": items}}]}}]
    p["spec"]["containers"][0]["volumeMounts"] = [{"name": v, "mountPath": f"/{v}"} for v in ("plain", "projected")]
    s.ok("POST", PODS, p)

    def log():
        return s.call("GET", f"{PODS}/downward/log")[1]
    until("it shows the first", lambda: 'builder="bar"' in log())
    s.ok("PATCH", f"{PODS}/downward", {"metadata": {"labels": {"key3": "value3"}, "annotations": {"builder": "foo"}}}, type=MERGE)
    until("both volumes follow", lambda: log().count('key3="value3"') >= 2 and log().count('builder="foo"') >= 2)
    s.ok("DELETE", f"{PODS}/downward")


# ---- kinds of users ----

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PROTO_SPEC = {"type": "object", "required": ["size"], "properties": {
    "size": {"type": "number", "minimum": 0.5, "maximum": 10, "default": 2},
    "colour": {"type": "string", "enum": ["red", "blue"], "pattern": "^[a-z]+$", "default": "red"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
PROTO_SCHEMA = {"type": "object", "description": "A proto.", "properties": {"spec": PROTO_SPEC}}
# The definition of protos.conform.example.com with that schema, as client-go's encoder writes it.
PROTO_BYTES = (
    "azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9uEs8FCioKGnByb3Rvcy5jb25mb3JtLmV4YW1wbGUuY29tEgAaACIAKg"
    "AyADgAQgASkgUKE2NvbmZvcm0uZXhhbXBsZS5jb20aIQoGcHJvdG9zEgVwcm90byIFUHJvdG8qCVByb3RvTGlzdCIKTmFtZXNwYWNlZDrJBAoCdjEQARgBIpYECpMECgAS"
    "ACIIQSBwcm90by4qBm9iamVjdDIAOgBQAGAAegCQAQDqAeMDCgRzcGVjEtoDCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEAugEEc2l6ZeoBVAoGY29sb3VyEkoKABIAIg"
    "AqBnN0cmluZzIAOgBCBwoFInJlZCJQAGAAegheW2Etel0rJJABAKIBBwoFInJlZCKiAQgKBiJibHVlIqgCALgCAMACAOoBLwoEZnJlZRInCgASACIAKgZvYmplY3QyADoA"
    "UABgAHoAkAEAqAIAsAIBuAIAwAIA6gFZCgZsYWJlbHMSTwoAEgAiACoGb2JqZWN0MgA6AFAAYAB6AJABAPIBKAgBEiQKABIAIgAqBnN0cmluZzIAOgBQAGAAegCQAQCoAg"
    "C4AgDAAgCoAgC4AgDAAgDqAYABCgRsaXN0EngKABIAIgAqBWFycmF5MgA6AFAAYAB6AJABAMIBUgpQCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEA6gEpCgFhEiQKABIA"
    "IgAqBnN0cmluZzIAOgBQAGAAegCQAQCoAgC4AgDAAgCoAgC4AgDAAgCoAgC4AgDAAgDqAUMKBHNpemUSOwoAEgAiACoGbnVtYmVyMgA6AEIDCgEySQAAAAAAACRAUABZAA"
    "AAAAAA4D9gAHoAkAEAqAIAuAIAwAIAqAIAuAIAwAIAqAIAuAIAwAIAKgIKADIgCgRTaXplEgZudW1iZXIaACIAKAAyCi5zcGVjLnNpemU4AFAAGgwSCAoAEgAiACoAIAAa"
    "ACIA")


def definition(plural, schema=PROTO_SCHEMA, versions=("v1",)):
    kind = plural.capitalize()[:-1]
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.conform.example.com"},
            "spec": {"group": "conform.example.com", "scope": "Namespaced",
                     "names": {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"},
                     "versions": [{"name": v, "served": True, "storage": v == versions[0], "schema": {"openAPIV3Schema": schema}} for v in versions]}}


def established(s, plural):
    def is_so():
        status = s.ok("GET", f"{CRDS}/{plural}.conform.example.com").get("status", {})
        return any(c["type"] == "Established" and c["status"] == "True" for c in status.get("conditions", []))
    until(f"{plural} are served", is_so)


@case
def definitions_are_read_and_written_as_protobuf(s):
    made = s.ok("POST", CRDS, base64.b64decode(PROTO_BYTES), type=PROTOBUF)
    version = made["spec"]["versions"][0]
    same(version["schema"]["openAPIV3Schema"], PROTO_SCHEMA)
    same((version["subresources"], version["additionalPrinterColumns"]), ({"status": {}}, [{"name": "Size", "type": "number", "jsonPath": ".spec.size"}]))
    assert "acceptedNames" not in json.dumps(made.get("status", {})) or made["status"]["acceptedNames"]["plural"], made["status"]
    established(s, "protos")
    name = f"{CRDS}/protos.conform.example.com"
    before = s.ok("GET", name)
    c, r = s.open("GET", name, accept=f"{PROTOBUF},application/json")
    text = r.read()
    c.close()
    same(r.headers["Content-Type"], PROTOBUF)
    same(s.ok("PUT", name, text, type=PROTOBUF), before)  # what is read is what is written
    nested = b"\x0a\x00"
    for _ in range(5000):  # JSONSchemaProps.not in itself: 28
        size = len(nested)
        nested = b"\xe2\x01" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + nested
    def field(number, value):
        n = len(value)
        return bytes([number << 3 | 2, n & 127 | 128, n >> 7 & 127 | 128, n >> 14]) + value
    body = b"k8s\0" + field(1, field(1, b"apiextensions.k8s.io/v1") + field(2, b"CustomResourceDefinition")) + \
        field(2, field(2, field(7, field(4, field(1, nested)))))
    status, answer = s.call("POST", CRDS, body, type=PROTOBUF)
    assert status in (400, 413) and "nested deeper" in answer["message"], answer


@case
def definitions_may_be_created_with_an_empty_status(s):
    empty = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": None}
    s.ok("POST", CRDS, {**definition("empties"), "status": empty})
    established(s, "empties")


@case
def kinds_are_published_in_openapi_v2(s):
    """CustomResourcePublishOpenAPI: by Accept, with an ETag, as it was defined; gone when it is not served."""
    def document(**headers):
        answer = s.ok("GET", "/openapi/v2", accept="", **headers)
        same((s.headers["Content-Type"], answer["swagger"]), ("application/json", "2.0"))
        return answer["definitions"]
    def own(plural, version="v1"):
        shown = document().get(f"com.example.conform.{version}.{plural.capitalize()[:-1]}")
        if shown:
            for added in ("metadata", "apiVersion", "kind"):
                shown.get("properties", {}).pop(added, None)
            shown.pop("x-kubernetes-group-version-kind")
        return shown
    s.ok("POST", CRDS, definition("foos", versions=("v1", "v2")))
    s.ok("POST", CRDS, definition("waldos", {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"spec": {"type": "object"}}}))
    established(s, "waldos")
    want = json.loads(json.dumps(PROTO_SCHEMA))
    want["properties"]["spec"]["properties"]["free"].pop("type")  # as Kubernetes writes it for old clients
    until("foos are described", lambda: own("foos") == want and own("foos", "v2") == want)
    same(own("waldos"), {"type": "object"})
    tag = s.headers["ETag"]
    same(s.call("GET", "/openapi/v2", accept="", If_None_Match=tag)[0], 304)
    refs = {ref for ref in re.findall(r'"#/definitions/([^"]+)"', json.dumps(document()))}
    assert refs and refs <= set(document()), refs - set(document())
    has(json.dumps(document()["io.k8s.api.core.v1.Pod"]), '"kind": "Pod"')
    c, r = s.open("GET", "/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    text = r.read()
    c.close()
    assert r.headers["Content-Type"].endswith("protobuf") and b"com.example.conform.v1.Foo" in text and b"^[a-z]+$" in text
    same(s.call("GET", "/openapi/v2", accept="text/html")[0], 406)
    changed = s.ok("GET", f"{CRDS}/foos.conform.example.com")
    changed["spec"]["versions"][1]["served"] = False
    s.ok("PUT", f"{CRDS}/foos.conform.example.com", changed)
    until("v2 is gone", lambda: own("foos", "v2") is None and own("foos") == want)
    same(s.call("GET", "/openapi/v2", accept="", If_None_Match=tag)[0], 200)


@case
def defaults_count_for_what_is_stored(s):
    """Custom resource defaulting for requests and from storage works."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    s.ok("POST", CRDS, definition("lates", schema))
    established(s, "lates")
    lates = "/apis/conform.example.com/v1/namespaces/default/lates"
    until("they are served", lambda: s.call("GET", lates)[0] == 200)
    s.ok("POST", lates, {"apiVersion": "conform.example.com/v1", "kind": "Late", "metadata": {"name": "one"}, "b": "own"})
    s.ok("PATCH", f"{CRDS}/lates.conform.example.com", [{"op": "add", "path": f"/spec/versions/0/schema/openAPIV3Schema/properties/{p}/default", "value": p.upper()}
                                                        for p in "ab"], type="application/json-patch+json")
    until("a has its default", lambda: s.ok("GET", f"{lates}/one").get("a") == "A")
    for shown in (s.ok("GET", f"{lates}/one"), s.ok("GET", lates)["items"][0],
                  json.loads(s.open("GET", f"{lates}?watch=1&timeoutSeconds=5")[1].readline())["object"]):
        same((shown["apiVersion"], shown["a"], shown["b"]), ("conform.example.com/v1", "A", "own"))


@case
def odd_fields_of_what_is_applied_are_told(s):
    """FieldValidation: unknown fields, unknown metadata and keys that are there twice."""
    s.ok("POST", CRDS, definition("odds"))
    established(s, "odds")
    odds = "/apis/conform.example.com/v1/namespaces/default/odds"
    until("they are served", lambda: s.call("GET", odds)[0] == 200)

    def told(body, *words):
        text = "\napiVersion: conform.example.com/v1\nkind: Odd\nmetadata:\n  name: mytest\n" + body
        refused(s.call("PATCH", f"{odds}/mytest?fieldManager=m&fieldValidation=Strict", text, type="application/apply-patch+yaml"), 400, *words)
    told("unknownField: unknown\nspec: {size: 1}\n", ".unknownField: field not declared in schema")
    told("  unknownMeta: unknown\nspec: {size: 1}\n", ".metadata.unknownMeta: field not declared in schema")
    told("spec:\n  size: 1\n  free:\n    foo: foo1\n    foo: foo2\n", 'line 10: key "foo" already set in map')
    refused(s.call("POST", f"{odds}?fieldValidation=Strict", {"apiVersion": "conform.example.com/v1", "kind": "Odd", "metadata": {"name": "x"},
                                                                    "spec": {"size": 1, "no": 1}}), 400, 'unknown field "spec.no"')


@case
def names_of_variables_may_have_any_prefix(s):
    """ConfigMap, Secret: consumable as environment variable names with various prefixes."""
    s.ok("POST", MAPS, config_map("prefixes", {"data-1": "value-1"}))
    p = pod("prefixes", "")
    p["spec"]["containers"][0].update(command=["/usr/bin/env"], envFrom=[
        {**({"prefix": prefix} if prefix else {}), "configMapRef": {"name": "prefixes"}} for prefix in ("", "p-", "1-", "$_-", "P 1.")])
    s.ok("POST", PODS, p)
    ended(s, "prefixes")
    text = s.call("GET", f"{PODS}/prefixes/log")[1].splitlines()
    for prefix in ("", "p-", "1-", "$_-", "P 1."):
        assert f"{prefix}data-1=value-1" in text, (prefix, text)
    p = pod("prefixed", "true")
    p["spec"]["containers"][0]["envFrom"] = [{"prefix": "a=", "configMapRef": {"name": "prefixes"}}]
    refused(s.call("POST", PODS, p), 422, "spec.containers[0].envFrom[0].prefix")


@case
def pod_templates_are_kept(s):
    """PodTemplates: lifecycle, replace, delete a collection; and lists in chunks."""
    templates = "/api/v1/namespaces/default/podtemplates"
    spec = {"containers": [{"name": "c", "image": "nginx"}]}
    for i in range(3):
        s.ok("POST", templates, {"metadata": {"name": f"t{i}", "labels": {"set": "a"}}, "template": {"metadata": {"labels": {"pod": "t"}}, "spec": spec}})
    s.ok("PATCH", f"{templates}/t0", {"metadata": {"labels": {"podtemplate": "patched"}}}, type="application/strategic-merge-patch+json")
    now = s.ok("GET", f"{templates}/t0")
    same((now["metadata"]["labels"], now["template"]["spec"]["containers"][0]["image"]), ({"set": "a", "podtemplate": "patched"}, "nginx"))
    now["metadata"]["annotations"] = {"updated": "true"}
    same(s.ok("PUT", f"{templates}/t0", now)["metadata"]["annotations"], {"updated": "true"})
    first = s.ok("GET", f"{templates}?limit=2")
    rest = s.ok("GET", f"{templates}?limit=2&continue={first['metadata']['continue']}")
    same((len(first["items"]), first["metadata"]["remainingItemCount"], len(rest["items"])), (2, 1, 1))
    refused(s.call("POST", templates, {"metadata": {"name": "bad"}, "template": {"spec": {"containers": "x"}}}), 400, "template.spec.containers")
    s.ok("DELETE", f"{templates}?labelSelector=set%3Da")
    same(s.ok("GET", "/api/v1/podtemplates")["items"], [])


# ---- what is not there ----

@case
def pods_of_a_node_that_is_gone_are_deleted(s):
    """And so their namespace ends. Those of a node that is there stay."""
    at = f"{NAMESPACES}/orphans"
    s.ok("POST", NAMESPACES, {"metadata": {"name": "orphans"}})
    lost, kept = pod("lost", "sleep 1000"), pod("kept", "sleep 1000")
    lost["spec"]["nodeName"] = "no-such-node"
    s.ok("POST", f"{at}/pods", lost)
    s.ok("POST", PODS, kept)
    until("it runs", lambda: s.ok("GET", f"{PODS}/kept")["status"]["phase"] == "Running")
    s.ok("DELETE", at)
    until("the namespace is gone", lambda: is_gone(s, at), 120)
    same(s.ok("GET", f"{PODS}/kept")["status"]["phase"], "Running")


@case
def what_a_pod_names_must_be_there(s):
    p = pod("named", "true")
    p["spec"]["serviceAccountName"] = "nobody"
    refused(s.call("POST", PODS, p), 403, 'serviceaccount "nobody" not found')
    p = pod("named", "true")
    p["spec"]["priorityClassName"] = "nothing"
    refused(s.call("POST", PODS, p), 403, "no PriorityClass with name nothing was found")


@case
def evictions_and_bindings_name_their_pod(s):
    p = pod("bound", "true")
    p["spec"]["nodeSelector"] = {"no": "node"}
    s.ok("POST", PODS, p)
    for kind, path in (("Eviction", "eviction"), ("Binding", "binding")):
        body = {"apiVersion": "policy/v1" if kind == "Eviction" else "v1", "kind": kind, "target": {"kind": "Node", "name": "x"}}
        if kind == "Eviction":
            del body["target"]
        for meta, word in (({"name": "other"}, "name"), ({"name": "bound", "namespace": "kube-system"}, "namespace")):
            refused(s.call("POST", f"{PODS}/bound/{path}", {**body, "metadata": meta}), 400, f"{word} in URL does not match {word} in {kind}")
    same("nodeName" in s.ok("GET", f"{PODS}/bound")["spec"], False)
    s.ok("POST", f"{PODS}/bound/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "bound"}})


@case
def nodes_reject_what_they_cannot_run(s):
    """PodOSNotSupported, SysctlForbidden."""
    for name, more, reason in (("windows", {"os": {"name": "windows"}}, "PodOSNotSupported"),
                               ("unsafe", {"securityContext": {"sysctls": [{"name": "fs.mount-max", "value": "1000000"}]}}, "SysctlForbidden")):
        p = pod(f"reject-{name}", "true")
        p["spec"].update(more)
        s.ok("POST", PODS, p)
        until(f"{name} has failed", lambda: s.ok("GET", f"{PODS}/reject-{name}")["status"]["phase"] == "Failed")
        same(s.ok("GET", f"{PODS}/reject-{name}")["status"]["reason"], reason)


def main():
    suite, only = Suite(), sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="pumice-conform-")
    atexit.register(shutil.rmtree, folder, True)
    audit = os.path.join(folder, "audit.log")
    s = server_or_skip(lambda: Server("--audit-log", audit))
    s.audit = audit
    for function in cases:
        if not only or function.__name__ in only:
            suite.case(function.__name__, lambda: function(s))
    s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
