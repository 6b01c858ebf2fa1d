#!/usr/bin/env python3
"""Bad requests to `pumice server` and to a real kube-apiserver: the same status code and the same reason.

admission.py asks both for objects; this asks in ways that are wrong: methods, paths, types, parameters, patches, names."""
import contextlib
import http.client
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from harness import Suite  # noqa: E402
from server import server_or_skip  # noqa: E402

SPACES = "/api/v1/namespaces"
AT = f"{SPACES}/same"
MAPS, PODS, POD = f"{AT}/configmaps", f"{AT}/pods", f"{AT}/pods/there"
MAP = f"{MAPS}/there"
CRDS, ODDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/test.pumice.dev/v1/namespaces/same/odds"
REVIEWS = "/apis/authorization.k8s.io/v1"
JSON, YAML, PROTO = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MERGE, OPS = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
CONTAINER = {"name": "c", "image": "i"}
NOT_UTF8 = b'{"metadata":{"name":"\xff"}}'
BAD_SECRET = {"metadata": {"name": "new"}, "data": {"a": "%%"}}


def config_map(name="new", **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more.pop("meta", {})}, **more}


def pod(name="new", container=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"nodeSelector": {"no": "node"}, "containers": [{**CONTAINER, **(container or {})}], **spec}}


def binding(name="there", target=None, kind="Binding"):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "target": {"kind": "Node", "name": "n"} if target is None else target}


def eviction(name="there", **more):
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


def definition(name="odds.test.pumice.dev", scope="Namespaced", schema=None):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
            "spec": {"group": "test.pumice.dev", "scope": scope, "names": {"kind": "Odd", "plural": "odds"}, "versions": [{
                "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}}}}}]}}


def odd(name="new", **spec):
    return {"apiVersion": "test.pumice.dev/v1", "kind": "Odd", "metadata": {"name": name}, "spec": spec}


def short(ask):
    text = " ".join(a if isinstance(a, str) else json.dumps(a) if not isinstance(a, bytes) else repr(a) for a in ask if a is not None)
    return text if len(text) < 400 else text[:400] + "…"


# What both have before they are asked.
THERE = [(SPACES, {"metadata": {"name": n}}) for n in ("same", "ending", "limited", "strict")] + [
    *((f"{SPACES}/{n}/serviceaccounts", {"metadata": {"name": "default"}}) for n in ("same", "ending", "limited", "strict")),
    (MAPS, config_map("there", data={"a": "b"})), (PODS, pod("there")), (PODS, pod("bound", nodeName="n")),
    (f"{AT}/services", {"metadata": {"name": "there"}, "spec": {"ports": [{"port": 80}]}}),
    (f"{SPACES}/ending/configmaps", config_map("held", meta={"finalizers": ["example.com/hold"]})),
    (f"{SPACES}/limited/limitranges", {"metadata": {"name": "one"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "1"}}]}}),
    (CRDS, definition()),
]
LABELLED = (f"{SPACES}/strict", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})

# (method, path[, body[, type]]); a body that is text is sent as it is. Accept is the last, where it matters.
READS = [("GET", p) for p in (
    f"{MAPS}/missing", "/api/v1/nosuch", f"{AT}/nosuch/x", "/apis/nosuch.io", "/apis/nosuch.io/v1", "/apis/nosuch.io/v1/x", "/api/v2", "/apis/policy/v9", "/apis/policy/v1/nosuch",
    "/nosuch", f"{MAP}/nosuch", f"{MAP}/status", f"{PODS}/missing/status", f"{POD}/nosuch", f"{PODS}/missing/log", f"{POD}/log?container=nosuch", f"{POD}/log?tailLines=x",
    f"{POD}/log?tailLines=-1", f"{POD}/log?sinceSeconds=0", f"{POD}/log?limitBytes=0", f"{POD}/log?sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z",
    f"{MAPS}?labelSelector=a%20b", f"{MAPS}?labelSelector=a%3D%3D%3Db", f"{MAPS}?fieldSelector=x", f"{MAPS}?fieldSelector=spec.foo%3Dx", f"{PODS}?fieldSelector=spec.foo%3Dx",
    f"{MAPS}?limit=x", f"{MAPS}?limit=-1", f"{MAPS}?continue=zzz", f"{MAPS}?resourceVersion=x", f"{MAPS}?resourceVersionMatch=Exact", f"{MAPS}?resourceVersionMatch=Foo&resourceVersion=1",
    f"{MAPS}?resourceVersionMatch=Exact&resourceVersion=0", f"{MAPS}?watch=1&resourceVersion=x", f"{MAPS}?watch=maybe&timeoutSeconds=1", f"{MAPS}?timeoutSeconds=x", f"{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true",
    f"{MAPS}?sendInitialEvents=true", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan", f"{MAP}?resourceVersion=x", f"{MAPS}?watch=1&resourceVersion=99999999&timeoutSeconds=1",
    f"{MAPS}?resourceVersion=99999999&resourceVersionMatch=Exact", f"{SPACES}/nowhere/configmaps", f"{SPACES}/nowhere/configmaps/x", f"{SPACES}/nowhere", f"{POD}/binding", f"{POD}/eviction", f"{POD}/exec",
    f"{POD}/exec?command=a", f"{PODS}/missing/exec?command=a", f"{POD}/attach", f"{POD}/portforward", f"{AT}/bindings", f"{REVIEWS}/selfsubjectaccessreviews", f"{ODDS}/missing", f"{ODDS}/x/status", f"{ODDS}/x/scale",
    f"{AT}/serviceaccounts/default/token", f"{AT}/pods/there/", "/healthz/nosuch", "/livez/nosuch", "/version/x", "/openapi/v3/nosuch", f"{SPACES}/same/finalize")]
ACCEPTS = [("GET", p, None, None, a) for p in (MAP, MAPS) for a in (
    "text/csv", "application/json;as=Foo;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=meta.k8s.io", "text/*", "application/json;q=0")]
METHODS = [("POST", MAP, config_map()), ("PUT", MAPS, config_map()), ("PATCH", MAPS, {}, MERGE), ("DELETE", SPACES), ("POST", f"{POD}/status", pod("there")), ("DELETE", f"{POD}/status"),
           ("PATCH", f"{POD}/log", {}, MERGE), ("PUT", f"{POD}/eviction", eviction()), ("PUT", f"{POD}/binding", binding()), ("DELETE", f"{POD}/exec"), ("FOO", MAP), ("OPTIONS", MAP), ("PUT", f"{AT}/bindings", binding()),
           ("POST", f"{SPACES}/same/status", {}), ("DELETE", f"{SPACES}/same/finalize"), ("DELETE", f"{REVIEWS}/selfsubjectaccessreviews"), ("PUT", f"{AT}/serviceaccounts/default/token", {}), ("POST", "/version", {}),
           ("POST", "/apis", {}), ("DELETE", "/api/v1")]
BODIES = [*(("POST", MAPS, b) for b in ("", "{", "[]", "null", '"x"', "{}", "x: 1", '{"metadata":{"name":"new"}} {}')), *(("POST", MAPS, b) for b in (
    {"metadata": {"name": ""}}, {"metadata": "x"}, {"metadata": {"name": 5}}, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "new"}}, {"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "new"}},
    {"kind": "ConfigMap", "apiVersion": "apps/v1", "metadata": {"name": "new"}}, {"kind": 5}, {"kind": "Nosuch", "apiVersion": "v1"}, config_map(meta={"namespace": "other"}), config_map("there"), config_map(data=[]),
    config_map(data={"a": 5}), config_map("A_b"), config_map("x" * 260), config_map(meta={"generateName": "A_b-", "name": ""}), config_map(meta={"resourceVersion": "5"}), config_map(meta={"labels": "x"}),
    config_map(meta={"labels": {"a b": "c"}}), config_map(meta={"ownerReferences": [{"kind": "X"}]}), config_map(meta={"finalizers": ["nosuch"]}), config_map(meta={"managedFields": [{"operation": "Foo"}]}),
    config_map(data={"a/b": "c"}), config_map(data={"a": "x" * (1 << 20) + "x"}))),
    ("POST", f"{SPACES}/nowhere/configmaps", config_map()), ("POST", f"{SPACES}/ending/configmaps", config_map()), ("POST", f"{SPACES}/ending/configmaps", "{"), ("POST", SPACES, {"metadata": {"name": "same"}}),
    ("POST", SPACES, {"metadata": {"name": "a.b"}}), ("POST", MAPS, '{"metadata":{"name":"new","name":"again"}}'), ("POST", MAPS, " " * (4 << 20)),
    *(("POST", f"{MAPS}?fieldValidation=Strict&dryRun=All", b) for b in ({**config_map(), "dada": {}}, '{"metadata":{"name":"new"},"data":{"a":"1","a":"2"}}')),
    *(("POST", f"{MAPS}?{q}", config_map()) for q in ("dryRun=Some", "fieldValidation=Foo", f"fieldManager={'x' * 129}", "fieldManager=%01", "dryRun=All&dryRun=Some")),
    *(("POST", MAPS, "x", t) for t in ("text/csv", "application/xml", APPLY, MERGE, PROTO, "application/json; charset=", "json", YAML)), ("POST", MAPS, b"k8s\0\xff", PROTO),
    ("POST", MAPS, b"\xff\xfe{}"), ("POST", MAPS, NOT_UTF8), ("POST", MAPS, "[" * 20000)]
PUTS = [("PUT", f"{MAPS}/missing", config_map("missing")), *(("PUT", MAP, b) for b in (
    config_map("other"), config_map("there", meta={"namespace": "other"}), {"data": {}}, config_map("there", meta={"resourceVersion": "1"}), config_map("there", meta={"resourceVersion": "x"}),
    config_map("there", meta={"uid": "x"}), {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "there"}}, "{", "", config_map("there", data={"a": 5}), config_map("there", data={"a/b": "5"}))),
    ("PUT", POD, pod("there", nodeName="m")), ("PUT", POD, pod("there", container={"image": ""})), ("PUT", f"{POD}/status", pod("other")), ("PUT", f"{AT}/services/there", {"metadata": {"name": "there"}, "spec": {"ports": []}}),
    ("PUT", f"{PODS}/missing/status", pod("missing")), ("PUT", f"{MAP}?dryRun=Some", config_map("there")), ("PUT", f"{ODDS}/missing", odd("missing", size=1)), ("PUT", f"{SPACES}/same/finalize", {"metadata": {"name": "other"}}),
    ("PUT", f"{SPACES}/nowhere/configmaps/x", config_map("x"))]
PATCHES = [*(("PATCH", MAP, "{}", t) for t in (JSON, None, "text/csv", YAML, PROTO)), *(("PATCH", MAP, b, MERGE) for b in (
    "{", "[]", "null", '"x"', "", {"metadata": {"name": "other"}}, {"metadata": {"namespace": "other"}}, {"metadata": {"uid": "x"}}, {"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "x"}}, {"kind": "Pod"},
    {"apiVersion": "v2"}, {"data": {"a": 5}}, {"data": {"a/b": "c"}}, {"data": []}, {"metadata": None}, {"metadata": {"labels": {"a b": "c"}}})),
    *(("PATCH", MAP, b, STRATEGIC) for b in ("{", "[]", {"data": {"a": 5}}, {"metadata": {"name": "other"}}, {"$patch": "nosuch"}, {"data": {"$patch": "nosuch"}}, {"$retainKeys": 5})),
    *(("PATCH", MAP, b, OPS) for b in ("{}", "{", "null", [{"op": "nosuch", "path": "/a"}], [{"op": "remove", "path": "/nosuch"}], [{"op": "test", "path": "/data/a", "value": "x"}], [{"op": "add", "path": "nosuch", "value": 1}],
                                       [{"op": "add", "path": "/data/a/b/c", "value": 1}], [{"op": "add"}], [{}], ["x"], [{"op": "move", "from": "/nosuch", "path": "/x"}], [{"op": "replace", "path": "/metadata/name", "value": "x"}],
                                       [{"op": "replace", "path": "/data", "value": 5}], [{"op": "test", "path": "/data/a", "value": "b"}] * 10001)),
    *(("PATCH", f"{MAP}{q}", b, APPLY) for q, b in (
        ("", config_map("there")), ("?fieldManager=m", "{"), ("?fieldManager=m", {}), ("?fieldManager=m", {"metadata": {"name": "there"}}), ("?fieldManager=m", config_map("other")), ("?fieldManager=m", config_map("there", meta={"managedFields": []})),
        ("?fieldManager=m", config_map("there", meta={"managedFields": [{}]})), ("?fieldManager=m", config_map("there", data={"a": "mine"})), ("?fieldManager=m&force=maybe", config_map("there")), ("?fieldManager=m", config_map("there", data={"a": 5})),
        ("?fieldManager=m", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "there"}}), ("?fieldManager=m", {**config_map("there"), "dada": 1}), ("?fieldManager=m", config_map("there", meta={"resourceVersion": "1"})),
        ("?fieldManager=m", config_map("there", meta={"uid": "x"})))),
    ("PATCH", f"{MAPS}/missing", {}, MERGE), ("PATCH", f"{MAPS}/missing", {}, STRATEGIC), ("PATCH", f"{MAPS}/missing", [], OPS), ("PATCH", f"{MAPS}/new?fieldManager=m&dryRun=Some", config_map("new"), APPLY),
    ("PATCH", f"{SPACES}/nowhere/configmaps/new?fieldManager=m", config_map("new"), APPLY), ("PATCH", f"{MAP}?force=true", {}, MERGE), ("PATCH", f"{MAP}?dryRun=Some", {}, MERGE), ("PATCH", f"{MAP}?fieldValidation=Foo", {}, MERGE),
    ("PATCH", f"{MAP}?fieldValidation=Strict&dryRun=All", {"dada": 1}, MERGE), ("PATCH", f"{ODDS}/there", {}, STRATEGIC), ("PATCH", f"{ODDS}/missing", {}, MERGE), ("PATCH", f"{ODDS}/missing", {}, STRATEGIC),
    ("PATCH", POD, {"spec": {"nodeName": "m"}}, MERGE), ("PATCH", POD, {"spec": {"containers": None}}, MERGE), ("PATCH", f"{POD}/status", {"status": {"phase": "Foo"}}, MERGE), ("PATCH", f"{POD}/nosuch", {}, MERGE),
    ("PATCH", f"{POD}/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "c", "image": "i"}]}}, STRATEGIC), ("PATCH", f"{PODS}/missing/status", {}, MERGE)]
DELETES = [("DELETE", f"{MAPS}/missing"), ("DELETE", f"{SPACES}/nowhere/configmaps/x"), ("DELETE", f"{SPACES}/nowhere"), ("DELETE", f"{SPACES}/default"), ("DELETE", f"{SPACES}/kube-system"),
           *(("DELETE", f"{MAP}?dryRun=All", b) for b in ("{", "[]", {"kind": "Pod", "apiVersion": "v1"}, {"propagationPolicy": "Foo"}, {"orphanDependents": True, "propagationPolicy": "Background"}, {"preconditions": {"uid": "x"}},
                                          {"preconditions": {"resourceVersion": "1"}}, {"gracePeriodSeconds": "x"}, {"dryRun": ["Some"]}, {"propagationPolicy": 5})),
           *(("DELETE", f"{MAP}?dryRun=All&{q}") for q in ("gracePeriodSeconds=x", "propagationPolicy=Foo", "orphanDependents=true&propagationPolicy=Background", "dryRun=Some", "orphanDependents=maybe")),
           ("DELETE", f"{MAPS}?labelSelector=a%20b"), ("DELETE", f"{MAPS}?fieldSelector=x"), ("DELETE", f"{MAPS}?dryRun=Some"), ("DELETE", f"{MAPS}", "{"), ("DELETE", f"{ODDS}/missing"), ("DELETE", f"{PODS}/missing"),
           ("DELETE", f"{POD}?gracePeriodSeconds=-5&dryRun=Some"), ("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical?dryRun=All")]
SUBRESOURCES = [*(("POST", f"{POD}/eviction", b) for b in (eviction("other"), {"kind": "Pod", "apiVersion": "v1"}, "{", eviction(deleteOptions={"dryRun": ["Some"]}), eviction(deleteOptions={"preconditions": {"uid": "x"}}), eviction("other", meta=5))),
                ("POST", f"{PODS}/missing/eviction", eviction("missing")), *(("POST", f"{POD}/binding", b) for b in (binding("other"), binding(target={}), binding(target={"kind": "Pod", "name": "n"}), binding(target={"name": ""}), binding(kind="Pod"), "{")),
                ("POST", f"{PODS}/bound/binding", binding("bound")), ("POST", f"{PODS}/missing/binding", binding("missing")), ("POST", f"{AT}/bindings", binding("missing")), ("POST", f"{AT}/bindings", binding("bound")),
                *(("POST", f"{AT}/serviceaccounts/{who}/token", {"spec": spec}) for who, spec in (("missing", {}), ("default", {"expirationSeconds": 1}), ("default", {"expirationSeconds": "x"}), ("default", {"expirationSeconds": 1 << 33}),
                                                                                                   ("default", {"boundObjectRef": {"kind": "Foo", "apiVersion": "v1", "name": "x"}}),
                                                                                                   ("default", {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "missing"}}))),
                *(("POST", f"{REVIEWS}/{kind}", b) for kind in ("selfsubjectaccessreviews", "subjectaccessreviews", "selfsubjectrulesreviews") for b in ({}, {"spec": {}}, {"spec": {"resourceAttributes": {}, "nonResourceAttributes": {}}}, "{")),
                ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {}), ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": ""}}), ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{")]
OBJECTS = [*(("POST", f"{PODS}?dryRun=All", b) for b in (
    pod(container={"image": ""}), pod(container={"command": "sh"}), pod(containers=[]), pod(serviceAccountName="nope"), pod(priorityClassName="nope"), pod(priority=5), pod(restartPolicy="X"), pod(ephemeralContainers=[CONTAINER]),
    pod("there"), pod(terminationGracePeriodSeconds="x"), pod(container={"resources": {"limits": {"cpu": "abc"}}}), pod(container={"resources": {"limits": {"cpu": "-1"}}}), pod(runtimeClassName="nope"), pod(nodeSelector="x"))),
    ("POST", f"{SPACES}/limited/pods?dryRun=All", pod(container={"resources": {"limits": {"cpu": "2"}}})), ("POST", f"{SPACES}/strict/pods?dryRun=All", pod()),
    *(("POST", f"{AT}/services?dryRun=All", {"metadata": {"name": "new"}, "spec": {"ports": [{"port": 80}], **s}}) for s in ({"clusterIP": "1.2.3.4"},
                                                                                                                          {"type": "Foo"}, {"ports": [{"port": "x"}]})),
    *(("POST", f"{CRDS}?dryRun=All", b) for b in (definition("wrong.test.pumice.dev"), definition(scope="Foo"), definition(schema={"type": "nosuch"}), definition(), {"metadata": {"name": "a.b"}})),
    *(("POST", f"{ODDS}?dryRun=All", b) for b in (odd(size=0), odd(size="x"), odd("A_b", size=1), {"apiVersion": "test.pumice.dev/v1", "kind": "Other", "metadata": {"name": "new"}}, {"metadata": {"name": "new"}}, odd("there", size=1), "[]", "{}")),
    ("POST", f"{AT}/events?dryRun=All", {"metadata": {"name": "new"}, "involvedObject": {"namespace": "other"}}), ("POST", f"{AT}/secrets?dryRun=All", BAD_SECRET),
    ("POST", f"{AT}/secrets?dryRun=All", {"metadata": {"name": "new"}, "type": "kubernetes.io/tls"}), ("POST", "/api/v1/nodes?dryRun=All", {"metadata": {"name": "A_b"}}), ("POST", "/api/v1/persistentvolumes?dryRun=All", {"metadata": {"name": "new"}})]
ASKED = {"reads": READS, "accept": ACCEPTS, "methods": METHODS, "bodies": BODIES, "puts": PUTS, "patches": PATCHES, "deletes": DELETES, "subresources": SUBRESOURCES, "objects": OBJECTS}
# Differences that are meant, and why. Besides these, what Kubernetes answers with 500 is a refusal (4xx) here.
EXCUSED = {
    f"POST {MAPS} {json.dumps(config_map(meta={'finalizers': ['nosuch']}))}": "the names of finalizers are not compared with a list",
    f"POST {MAPS} {json.dumps(config_map(meta={'managedFields': [{'operation': 'Foo'}]}))}": "refused, not dropped",
    f"POST {MAPS}?dryRun=All&dryRun=Some {json.dumps(config_map())}": "the first value of a parameter counts",
    f"DELETE {MAP}?dryRun=All&dryRun=Some": "the same",
    f"POST {MAPS} x application/json; charset=": "parameters of media types are not read",
    f"POST {MAPS} {NOT_UTF8!r}": "what is not UTF-8 is no JSON",
    f"POST {AT}/secrets?dryRun=All {json.dumps(BAD_SECRET)}": "422, which names the key",
    short(("POST", f"{SPACES}/strict/pods?dryRun=All", pod())): "there is no Pod Security admission",
    f"PATCH {MAP} null {OPS}": "a patch that is no list of operations is a mistake",
    "POST /apis {}": "discovery is read, not written",
}


class Asked:
    def __init__(self, connect, **headers):
        self.connect, self.headers = connect, headers

    def call(self, method, path, body=None, type=JSON, accept=JSON):
        head = {**self.headers, "Accept": accept, **({"Content-Type": type} if body is not None and type else {})}
        with contextlib.closing(self.connect()) as c:
            c.request(method, path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body), head)
            try:
                r = c.getresponse()
                text = r.read()
            except http.client.RemoteDisconnected:  # it does not read on
                return 413, ""
        with contextlib.suppress(ValueError):  # a watch, or text
            return r.status, json.loads(text)
        return r.status, text.decode(errors="replace")

    def prepare(self):
        for path, body in THERE:
            status, answer = self.call("POST", path, body)
            assert status in (201, 409), (path, status, answer)
        assert self.call("PATCH", *LABELLED, MERGE)[0] == 200
        assert self.call("DELETE", f"{SPACES}/ending")[0] in (200, 202)


def verdict(answer):
    status, body = answer
    return status, body.get("reason") if isinstance(body, dict) and body.get("kind") == "Status" else None, body.get("message") if isinstance(body, dict) else body


def differences(theirs, ours, asks):
    found = []
    for ask in asks:
        (code, reason, why), (own_code, own_reason, own) = verdict(theirs.call(*ask)), verdict(ours.call(*ask))
        is_same = 400 <= own_code < 500 if code == 500 else (code, reason or own_reason) == (own_code, own_reason)
        if is_same and short(ask) in EXCUSED:
            found.append(f"{short(ask)} is refused alike by now: take it out of EXCUSED")
        if not is_same and short(ask) not in EXCUSED:
            found.append(f"{short(ask)}\n      there {code} {reason}: {str(why)[:300]}\n      here  {own_code} {own_reason}: {str(own)[:300]}")
    return found


def same_refusals(theirs, ours, asks):
    found = differences(theirs, ours, asks)
    assert not found, f"{len(found)} of {len(asks)} differ:\n  " + "\n  ".join(found)


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            server = server_or_skip()
            theirs, ours = Asked(bed.connect), Asked(server.connect, Authorization=f"Bearer {server.token}")
            for one in (theirs, ours):
                one.prepare()
            for name, asks in ASKED.items():
                if len(sys.argv) == 1 or name in sys.argv:
                    suite.case(name, lambda asks=asks: same_refusals(theirs, ours, asks))
            server.call("PATCH", f"{SPACES}/ending/configmaps/held", {"metadata": {"finalizers": None}}, type=MERGE)
            server.stop()
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
