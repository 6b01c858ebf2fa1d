#!/usr/bin/env python3
"""`pumice server` against the checklist of the Kubernetes API: numbered, by plain HTTP, on one server.

The numbers are those of the list of what an API server must do; each is a case here or is named in ELSEWHERE with the
test that has it.
"""
import concurrent.futures
import json
import os
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite  # noqa: E402
from server import (JOBS, MAPS, PODS, QUEUES, TABLE, V2, Watch, config_map, job, pod, server_or_skip, until)  # noqa: E402

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
SECRETS = "/api/v1/namespaces/default/secrets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
EVENTS = "/api/v1/namespaces/default/events"
NAMESPACES = "/api/v1/namespaces"

ELSEWHERE = {
    1: "server.py: kubectl", 7: "server.py: kubectl", 8: "server.py: kubectl", 40: "server.py: kubectl",
    66: "server_durable.py", 67: "bench/server", 74: "server_user.py, auth.py", 76: "kube/client.py: our client",
    77: "kube/client.py: our client", 78: "server.py: kubectl", 79: "server.py: kubectl", 80: "http_server.py, kube/streams.py",
    81: "kube/streams.py", 83: "kube/streams.py", 84: "kube/streams.py", 87: "kube/controller.py", 89: "kube: client-go",
    90: "kube: Python client", 91: "kube: vcctl", 92: "server_quota.py", 93: "kube/faults.py: our client", 94: "bench/server",
}

cases = []


def case(number):
    def add(function):
        cases.append((number, function))
        return function
    return add


def refused(answer, code, *words):
    """Status of the answer, and what its message says."""
    status, body = answer
    assert status == code, (status, body)
    for word in words:
        assert word in json.dumps(body), (word, body)
    return body


def quoted(text):
    return urllib.parse.quote(text)


# ---- discovery ----

RESOURCES = {  # plural: group version, short names, is namespaced, kind
    "namespaces": ("v1", "ns", False, "Namespace"), "pods": ("v1", "po", True, "Pod"), "bindings": ("v1", "", True, "Binding"),
    "configmaps": ("v1", "cm", True, "ConfigMap"), "secrets": ("v1", "", True, "Secret"), "services": ("v1", "svc", True, "Service"),
    "endpoints": ("v1", "ep", True, "Endpoints"), "events": ("v1", "ev", True, "Event"), "nodes": ("v1", "no", False, "Node"),
    "persistentvolumeclaims": ("v1", "pvc", True, "PersistentVolumeClaim"), "persistentvolumes": ("v1", "pv", False, "PersistentVolume"),
    "serviceaccounts": ("v1", "sa", True, "ServiceAccount"), "resourcequotas": ("v1", "quota", True, "ResourceQuota"),
    "limitranges": ("v1", "limits", True, "LimitRange"),
    "leases": ("coordination.k8s.io/v1", "", True, "Lease"), "networkpolicies": ("networking.k8s.io/v1", "netpol", True, "NetworkPolicy"),
    "priorityclasses": ("scheduling.k8s.io/v1", "pc", False, "PriorityClass"),
    "poddisruptionbudgets": ("policy/v1", "pdb", True, "PodDisruptionBudget"),
    "endpointslices": ("discovery.k8s.io/v1", "", True, "EndpointSlice"),
    "jobs": ("batch.volcano.sh/v1alpha1", "vcjob,vj", True, "Job"), "commands": ("bus.volcano.sh/v1alpha1", "", True, "Command"),
    "queues": ("scheduling.volcano.sh/v1beta1", "q,queue-v1beta1", False, "Queue"),
    "podgroups": ("scheduling.volcano.sh/v1beta1", "pg,podgroup-v1beta1", True, "PodGroup"),
    "jobflows": ("flow.volcano.sh/v1alpha1", "jf", True, "JobFlow"), "jobtemplates": ("flow.volcano.sh/v1alpha1", "jt", True, "JobTemplate"),
    "selfsubjectaccessreviews": ("authorization.k8s.io/v1", "", False, "SelfSubjectAccessReview"),
    "selfsubjectrulesreviews": ("authorization.k8s.io/v1", "", False, "SelfSubjectRulesReview"),
    "selfsubjectreviews": ("authentication.k8s.io/v1", "", False, "SelfSubjectReview"),
    "tokenreviews": ("authentication.k8s.io/v1", "", False, "TokenReview"),
}


@case(2)
def every_kind_is_found_in_both_forms(s):
    for plural, (gv, short, namespaced, kind) in RESOURCES.items():
        at = f"/apis/{gv}" if "/" in gv else f"/api/{gv}"
        row = next(r for r in s.ok("GET", at)["resources"] if r["name"] == plural)
        assert (row["kind"], row["namespaced"], ",".join(row.get("shortNames", []))) == (kind, namespaced, short), row
    plain, whole = {}, {}
    for root in ("/api", "/apis"):
        for g in s.ok("GET", root, accept=V2)["items"]:
            for v in g["versions"]:
                group = g["metadata"].get("name")
                at = f"{root}/{group}/{v['version']}" if group else f"{root}/{v['version']}"
                for r in v["resources"]:
                    whole[at, r["resource"]] = (r["responseKind"]["kind"], r["scope"] == "Namespaced", sorted(r["verbs"]))
                    for sub in r.get("subresources", []):
                        whole[at, f"{r['resource']}/{sub['subresource']}"] = (sub["responseKind"]["kind"], r["scope"] == "Namespaced", sorted(sub["verbs"]))
                for r in s.ok("GET", at)["resources"]:
                    plain[at, r["name"]] = (r["kind"], r["namespaced"], sorted(r["verbs"]))
    assert plain == whole, set(plain) ^ set(whole)


@case(3)
def the_form_is_told_by_the_content_type(s):
    s.ok("GET", "/apis", accept=V2)
    assert all(w in s.headers["Content-Type"] for w in ("g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"))
    beta = V2.replace("v=v2", "v=v2beta1")
    s.ok("GET", "/api", accept=beta + ",application/json")
    assert s.headers["Content-Type"] == beta
    assert s.ok("GET", "/apis")["kind"] == "APIGroupList"


@case(4)
def groups_and_readiness(s):
    groups = {g["name"] for g in s.ok("GET", "/apis")["groups"]}
    assert {"batch.volcano.sh", "bus.volcano.sh", "scheduling.volcano.sh", "flow.volcano.sh", "topology.volcano.sh", "policy",
            "coordination.k8s.io", "networking.k8s.io", "scheduling.k8s.io", "discovery.k8s.io", "events.k8s.io",
            "authentication.k8s.io", "authorization.k8s.io", "rbac.authorization.k8s.io"} <= groups, groups
    assert until("ready", lambda: s.call("GET", "/readyz") == (200, "ok"))


@case(5)
def volcano_jobs_have_their_short_names(s):
    names = next(r for r in s.ok("GET", "/apis/batch.volcano.sh/v1alpha1")["resources"] if r["name"] == "jobs")
    assert names["shortNames"] == ["vcjob", "vj"] and names["singularName"] == "job", names


@case(6)
def discovery_is_cached_by_its_tag(s):
    for root in ("/api", "/apis"):
        s.ok("GET", root, accept=V2)
        assert s.call("GET", root, accept=V2, If_None_Match=s.headers["ETag"])[0] == 304


@case(9)
def kinds_are_described(s):
    index = s.ok("GET", "/openapi/v3")["paths"]
    for gv in {v[0] for v in RESOURCES.values()} - {"authorization.k8s.io/v1", "authentication.k8s.io/v1"}:
        at = f"apis/{gv}" if "/" in gv else f"api/{gv}"
        doc = s.ok("GET", index[at]["serverRelativeURL"])
        kinds = {k["kind"] for c in doc["components"]["schemas"].values() for k in c.get("x-kubernetes-group-version-kind", [])}
        want = {v[3] for v in RESOURCES.values() if v[0] == gv} - {"Binding"}
        assert want <= kinds, (gv, want - kinds)


# ---- create, read, update ----

@case(10)
def no_content_type_is_json(s):
    assert s.call("POST", NAMESPACES, '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ten"}}', type=None)[0] == 201


@case(11)
def protobuf_bodies_create(s):
    def text(field, value):
        return bytes([field << 3 | 2, len(value)]) + value
    raw = text(1, text(1, b"eleven") + text(3, b""))
    body = b"k8s\0" + text(1, text(1, b"v1") + text(2, b"Namespace")) + text(2, raw)
    made = s.ok("POST", NAMESPACES, body, type=PROTOBUF)
    assert made["metadata"]["name"] == "eleven" and '""' not in json.dumps(made), made


@case(12)
def small_kinds_create(s):
    s.ok("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "twelve"}})
    s.ok("POST", "/api/v1/namespaces/default/resourcequotas", {"metadata": {"name": "twelve"}, "spec": {"hard": {"count/jobs.example.com": "5"}}})
    s.ok("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "twelve"}, "value": 12})
    s.ok("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
         {"metadata": {"name": "twelve"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"twelve": "no"}}}})


@case(13)
def twice_is_already_exists(s):
    s.ok("POST", QUEUES, {"metadata": {"name": "thirteen"}, "spec": {}})
    body = refused(s.call("POST", QUEUES, {"metadata": {"name": "thirteen"}, "spec": {}}), 409)
    assert body["reason"] == "AlreadyExists" and body["message"] == 'queues.scheduling.volcano.sh "thirteen" already exists', body
    assert body["details"] == {"name": "thirteen", "group": "scheduling.volcano.sh", "kind": "queues"}, body
    s.ok("DELETE", f"{QUEUES}/thirteen")


@case(14)
def absent_is_not_found(s):
    for at, words in ((f"{JOBS}/no", 'jobs.batch.volcano.sh "no" not found'), (f"{PODS}/no", 'pods "no" not found')):
        body = refused(s.call("GET", at), 404)
        assert body["message"] == words and body["reason"] == "NotFound", body


@case(15)
def no_namespace_no_content(s):
    refused(s.call("POST", f"{NAMESPACES}/fifteen/configmaps", config_map("x")), 404, 'namespaces \\"fifteen\\" not found')
    assert s.ok("GET", f"{NAMESPACES}/fifteen/pods")["items"] == []


@case(16)
def stale_versions_conflict(s):
    first = s.ok("POST", MAPS, config_map("sixteen"))
    second = s.ok("PUT", f"{MAPS}/sixteen", {**first, "data": {"a": "2"}})
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    body = refused(s.call("PUT", f"{MAPS}/sixteen", {**first, "data": {"a": "3"}}), 409, "the object has been modified")
    assert body["reason"] == "Conflict" and body["details"]["name"] == "sixteen", body


@case(17)
def some_kinds_need_the_version(s):
    s.ok("POST", MAPS, config_map("seventeen"))
    s.ok("PUT", f"{MAPS}/seventeen", config_map("seventeen", {"a": "2"}))
    s.ok("POST", LEASES, {"metadata": {"name": "seventeen"}, "spec": {}})
    refused(s.call("PUT", f"{LEASES}/seventeen", {"metadata": {"name": "seventeen"}, "spec": {"holderIdentity": "me"}}), 422,
            "metadata.resourceVersion", "must be specified for an update")
    refused(s.call("PUT", f"{QUEUES}/default", {"metadata": {"name": "default"}, "spec": {"weight": 3}}), 422, "must be specified for an update")


@case(18)
def some_kinds_are_made_by_put(s):
    refused(s.call("PUT", f"{MAPS}/eighteen", config_map("eighteen")), 404)
    event = {"metadata": {"name": "eighteen"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Eighteen"}
    assert s.call("PUT", f"{EVENTS}/eighteen", event)[0] == 201
    assert s.call("PUT", f"{LEASES}/eighteen", {"metadata": {"name": "eighteen"}, "spec": {}})[0] == 201


@case(19)
def bodies_must_fit_the_url(s):
    s.ok("POST", MAPS, config_map("nineteen"))
    for method, at, body in (("PUT", f"{MAPS}/nineteen", config_map("other")), ("POST", MAPS, config_map("x", namespace="other")),
                             ("POST", MAPS, {"apiVersion": "v1", "kind": "Secret"}), ("POST", MAPS, "{nonsense"), ("POST", MAPS, "")):
        refused(s.call(method, at, body), 400, "BadRequest")


@case(20)
def bad_pods_are_told_all(s):
    bad = pod("Twenty!", "true", labels={"x": "-"})
    bad["spec"]["containers"] = []
    body = refused(s.call("POST", PODS, bad), 422)
    fields = [c["field"] for c in body["details"]["causes"]]
    assert {"metadata.name", "metadata.labels.x", "spec.containers"} <= set(fields) and len(fields) == len(set(fields)), body
    assert body["message"].startswith('Pod "Twenty!" is invalid: ['), body


@case(21)
def unknown_fields_are_told(s):
    text = '{"metadata":{"name":"twenty-one"},"dada":1,"data":{"a":"1","a":"2"}}'
    refused(s.call("POST", f"{MAPS}?fieldValidation=Strict", text), 400, 'unknown field \\"dada\\"', "strict decoding error")
    refused(s.call("POST", f"{MAPS}?fieldValidation=Perhaps", text), 422)
    made = s.ok("POST", MAPS, text)
    warnings = s.headers.get_all("Warning")
    assert len(warnings) == 2 and any("duplicate field" in w for w in warnings), warnings
    assert made["data"] == {"a": "2"} and "dada" not in made, made
    j = job("twenty-one", "true")
    j["spec"]["maxRetries"] = 3
    refused(s.call("POST", f"{JOBS}?fieldValidation=Strict", j), 400, 'unknown field \\"spec.maxRetries\\"')
    assert "maxRetries" not in s.ok("POST", f"{JOBS}?dryRun=All", j)["spec"], "what is unknown is pruned"


@case(22)
def dry_runs_leave_nothing(s):
    rev = s.ok("GET", MAPS)["metadata"]["resourceVersion"]
    w = Watch(s, f"{MAPS}?watch=1&resourceVersion={rev}")
    made = s.ok("POST", f"{MAPS}?dryRun=All", config_map("twenty-two"))
    assert made["metadata"]["uid"] and "resourceVersion" not in made["metadata"], made
    refused(s.call("POST", f"{MAPS}?dryRun=Some", config_map("twenty-two")), 422)
    s.ok("POST", MAPS, config_map("twenty-two"))
    for method, body, kw in (("DELETE", {"dryRun": ["All"]}, {}), ("PATCH", {"data": {"a": "9"}}, {"type": MERGE}), ("PUT", config_map("twenty-two", {}), {})):
        s.ok(method, f"{MAPS}/twenty-two?dryRun=All", body, **kw)
    s.ok("PATCH", f"{MAPS}/twenty-two", {"data": {"a": "c"}}, type=MERGE)
    w.until(2)
    assert w.short() == [("ADDED", "twenty-two"), ("MODIFIED", "twenty-two")], w.short()
    w.close()


@case(23)
def names_are_generated(s):
    def make(_):
        return s.ok("POST", MAPS, {"metadata": {"generateName": "many-", "labels": {"many": "23"}}})["metadata"]["name"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = list(pool.map(make, range(60)))
    assert len(set(names)) == 60 and all(len(n) == 10 and not set(n[5:]) & set("aeiou") for n in names), names[:3]
    long = s.ok("POST", MAPS, {"metadata": {"generateName": "x" * 80, "labels": {"many": "23"}}})["metadata"]["name"]
    assert len(long) == 63, long
    s.ok("DELETE", f"{MAPS}?labelSelector=many%3D23")


@case(24)
def a_change_of_nothing_is_none(s):
    first = s.ok("POST", MAPS, config_map("twenty-four"))
    w = Watch(s, f"{MAPS}?watch=1&resourceVersion={first['metadata']['resourceVersion']}&fieldSelector=metadata.name%3Dtwenty-four")
    for method, body, kw in (("PUT", first, {}), ("PATCH", {"data": {"a": "b"}}, {"type": MERGE}), ("PATCH", [], {"type": JSON_PATCH}),
                             ("PATCH", {"data": {"a": "b"}}, {"type": STRATEGIC})):
        same = s.ok(method, f"{MAPS}/twenty-four", body, **kw)
        assert same["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"], (method, same)
    s.ok("DELETE", f"{MAPS}/twenty-four")
    assert [e["type"] for e in w.until(1)] == ["DELETED"]
    w.close()


@case(25)
def the_server_owns_its_metadata(s):
    mine = "2001-01-01T00:00:00Z"
    meta = s.ok("POST", MAPS, config_map("twenty-five", uid="mine", creationTimestamp=mine, deletionTimestamp=mine, selfLink="/x"))["metadata"]
    assert meta["uid"] != "mine" and meta["creationTimestamp"] != mine and not {"deletionTimestamp", "selfLink"} & set(meta), meta
    refused(s.call("POST", MAPS, config_map("twenty-five-b", resourceVersion="5")), 400)


@case(26)
def sizes_are_limited(s):
    refused(s.call("POST", MAPS, " " * (3 << 20) + "{}"), 413, "RequestEntityTooLarge")
    refused(s.call("POST", MAPS, config_map("twenty-six", {"a": "x" * (1 << 20), "b": "y"})), 422)
    refused(s.call("POST", MAPS, config_map("twenty-six", annotations={"a": "x" * (256 << 10)})), 422, "metadata.annotations", "262144")


@case(27)
def secrets_fold_their_texts(s):
    made = s.ok("POST", SECRETS, {"metadata": {"name": "twenty-seven"}, "data": {"a": "YQ=="}, "stringData": {"a": "b"}})
    assert made["data"] == {"a": "Yg=="} and made["type"] == "Opaque" and "stringData" not in made, made
    refused(s.call("POST", SECRETS, {"metadata": {"name": "x"}, "data": {"a": "!"}}), 422)


# ---- status and generation ----

def queue(name, **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1, **spec}}


@case(28)
def status_is_written_alone(s):
    flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobTemplate", "metadata": {"name": "twenty-eight"}, "spec": job("x", "true")["spec"]}
    at = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobtemplates"
    made = s.ok("POST", at, flow)
    wish = json.loads(json.dumps(made))
    wish["metadata"]["labels"] = {"a": "b"}
    wish["spec"]["minAvailable"] = 7
    wish["status"] = {"jobDependsOnList": ["a"]}
    got = s.ok("PUT", f"{at}/twenty-eight/status", wish)
    assert got["status"] == {"jobDependsOnList": ["a"]} and got["spec"] == made["spec"], got
    assert "labels" not in got["metadata"] and got["metadata"]["generation"] == made["metadata"]["generation"], got
    assert s.ok("GET", f"{at}/twenty-eight/status")["spec"] == made["spec"]
    s.ok("DELETE", f"{at}/twenty-eight")


@case(29)
def main_leaves_status_alone(s):
    got = s.ok("PATCH", f"{QUEUES}/default", {"status": {"pending": 77}}, type=MERGE)
    assert got.get("status", {}).get("pending") != 77, got
    group = {"metadata": {"name": "twenty-nine"}, "spec": {"minMember": 1}}
    first = s.ok("POST", GROUPS, group)
    got = s.ok("PATCH", f"{GROUPS}/twenty-nine", {"status": {"running": 5}}, type=MERGE)
    assert got["status"]["running"] == 5 and got["metadata"]["generation"] > first["metadata"]["generation"], got


@case(30)
def new_objects_begin_without_status(s):
    j = job("thirty", "true")
    j["status"] = {"state": {"phase": "Completed"}}
    j["spec"]["queue"] = "default"
    made = s.ok("POST", f"{JOBS}?dryRun=All", j)
    assert made.get("status", {}).get("state", {}).get("phase") != "Completed", made
    p = pod("thirty", "true")
    p["status"] = {"phase": "Running"}
    made = s.ok("POST", f"{PODS}?dryRun=All", p)
    spec = made["spec"]
    assert made["status"]["phase"] == "Pending" and made["status"]["qosClass"] == "BestEffort", made["status"]
    assert spec["serviceAccountName"] == "default" and spec["enableServiceLinks"] is True and spec["dnsPolicy"] == "ClusterFirst", spec
    assert spec["priority"] == 0 and spec["preemptionPolicy"] == "PreemptLowerPriority", spec
    assert {t["key"] for t in spec["tolerations"]} == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}, spec


@case(31)
def spec_changes_count(s):
    s.ok("POST", QUEUES, queue("thirty-one"))
    first = until("completed", lambda: (q := s.ok("GET", f"{QUEUES}/thirty-one"))["spec"].get("parent") and q)["metadata"]["generation"]
    assert s.ok("PATCH", f"{QUEUES}/thirty-one", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)["metadata"]["generation"] == first
    assert s.ok("PATCH", f"{QUEUES}/thirty-one", {"spec": {"weight": 9}}, type=MERGE)["metadata"]["generation"] == first + 1
    s.ok("DELETE", f"{QUEUES}/thirty-one")


@case(32)
def podgroups_have_no_status_subresource(s):
    s.ok("POST", GROUPS, {"metadata": {"name": "thirty-two"}, "spec": {"minMember": 1}})
    refused(s.call("PUT", f"{GROUPS}/thirty-two/status", {"metadata": {"name": "thirty-two"}}), 404)


# ---- patch ----

def held_pod(name, **meta):
    """One that stays Pending: no node has its scheduling gate."""
    p = pod(name, "true", **meta)
    p["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    p["spec"]["containers"].append({"name": "side", "image": "debian:12", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]})
    return p


@case(33)
def strategic_patches_join_by_key(s):
    s.ok("POST", PODS, held_pod("thirty-three"))
    got = s.ok("PATCH", f"{PODS}/thirty-three", {"spec": {"containers": [{"name": "side", "image": "debian:11"}]}}, type=STRATEGIC)
    assert {c["name"]: c["image"] for c in got["spec"]["containers"]} == {"main": "debian:12", "side": "debian:11"}, got["spec"]
    template = {"metadata": {"name": "thirty-three"}, "secrets": [{"name": "a"}, {"name": "b"}]}
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    s.ok("POST", accounts, template)
    got = s.ok("PATCH", f"{accounts}/thirty-three", {"secrets": [{"name": "b", "namespace": "x"}, {"name": "c"}]}, type=STRATEGIC)
    assert {x["name"] for x in got["secrets"]} == {"a", "b", "c"}, got
    s.ok("DELETE", f"{PODS}/thirty-three")


@case(34)
def custom_kinds_take_no_strategic_patch(s):
    refused(s.call("PATCH", f"{QUEUES}/default", {}, type=STRATEGIC), 415, MERGE, JSON_PATCH, APPLY)
    s.ok("PATCH", f"{QUEUES}/default", {"metadata": {"annotations": {"a": "b"}}}, type=MERGE)


@case(35)
def json_patches_are_tests_too(s):
    s.ok("POST", MAPS, config_map("thirty-five"))
    at = f"{MAPS}/thirty-five"
    refused(s.call("PATCH", at, [{"op": "test", "path": "/data/a", "value": "no"}], type=JSON_PATCH), 422)
    refused(s.call("PATCH", at, [{"op": "remove", "path": "/data/none"}], type=JSON_PATCH), 422)
    refused(s.call("PATCH", at, {}, type=JSON_PATCH), 400)
    refused(s.call("PATCH", at, [{"op": "test", "path": "/data/a", "value": "b"}] * 10001, type=JSON_PATCH), 413)


@case(36)
def merge_patches_replace_lists(s):
    s.ok("POST", MAPS, config_map("thirty-six", {"a": "1", "b": "2"}, finalizers=["example.com/a", "example.com/b"]))
    got = s.ok("PATCH", f"{MAPS}/thirty-six", {"data": {"a": None}, "metadata": {"finalizers": ["example.com/c"]}}, type=MERGE)
    assert got["data"] == {"b": "2"} and got["metadata"]["finalizers"] == ["example.com/c"], got
    s.ok("PATCH", f"{MAPS}/thirty-six", {"metadata": {"finalizers": None}}, type=MERGE)


@case(37)
def directives_of_strategic_patches(s):
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    s.ok("POST", accounts, {"metadata": {"name": "thirty-seven", "finalizers": ["example.com/a", "example.com/b"]},
                            "secrets": [{"name": "a"}, {"name": "b"}, {"name": "c"}]})
    at = f"{accounts}/thirty-seven"
    got = s.ok("PATCH", at, {"secrets": [{"$patch": "delete", "name": "a"}], "$setElementOrder/secrets": [{"name": "c"}, {"name": "b"}],
                             "metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}, type=STRATEGIC)
    assert [x["name"] for x in got["secrets"]] == ["c", "b"] and got["metadata"]["finalizers"] == ["example.com/b"], got
    got = s.ok("PATCH", at, {"secrets": [{"name": "d"}, {"$patch": "replace"}], "metadata": {"finalizers": None}}, type=STRATEGIC)
    assert [x["name"] for x in got["secrets"]] == ["d"], got
    s.ok("POST", MAPS, config_map("thirty-seven", {"a": "1", "b": "2"}))
    got = s.ok("PATCH", f"{MAPS}/thirty-seven", {"data": {"$patch": "replace", "c": "3"}}, type=STRATEGIC)
    assert got["data"] == {"c": "3"}, got


@case(38)
def pods_change_little(s):
    s.ok("POST", PODS, held_pod("thirty-eight"))
    body = refused(s.call("PATCH", f"{PODS}/thirty-eight", {"spec": {"dnsPolicy": "None"}}, type=MERGE), 422)
    assert body["details"]["causes"][0]["reason"] == "FieldValueForbidden" and body["details"]["causes"][0]["field"] == "spec", body
    s.ok("PATCH", f"{PODS}/thirty-eight", {"spec": {"activeDeadlineSeconds": 100}}, type=MERGE)
    refused(s.call("PATCH", f"{PODS}/thirty-eight", {"spec": {"activeDeadlineSeconds": 200}}, type=MERGE), 422)
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]
    s.ok("PATCH", f"{PODS}/thirty-eight", image, type="application/json-patch+json")
    assert "Warning" not in s.headers, "it has not begun yet"
    s.ok("DELETE", f"{PODS}/thirty-eight")
    s.ok("POST", PODS, pod("thirty-eight-runs", "sleep 1000"))
    until("it runs", lambda: s.ok("GET", f"{PODS}/thirty-eight-runs")["status"].get("phase") == "Running")
    s.ok("PATCH", f"{PODS}/thirty-eight-runs", image, type="application/json-patch+json")
    assert "container main goes on with the image" in s.headers["Warning"], s.headers
    s.ok("DELETE", f"{PODS}/thirty-eight-runs?gracePeriodSeconds=0")


@case(39)
def apply_of_clients_is_a_patch(s):
    """What kubectl apply sends: a strategic merge with the annotation of what was applied last."""
    note = "kubectl.kubernetes.io/last-applied-configuration"
    s.ok("POST", MAPS, config_map("thirty-nine", {"a": "1", "b": "2"}, annotations={note: "{}"}))
    got = s.ok("PATCH", f"{MAPS}/thirty-nine?fieldManager=kubectl-client-side-apply",
               {"data": {"b": None, "a": "3"}, "metadata": {"annotations": {note: "{\"a\":\"3\"}"}}}, type=STRATEGIC)
    assert got["data"] == {"a": "3"}, got


# ---- server-side apply ----

def applied(name, data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@case(41)
def apply_makes_and_owns(s):
    at = f"{MAPS}/forty-one?fieldManager=one"
    status, first = s.call("PATCH", at, applied("forty-one", {"a": "1"}), type=APPLY)
    fields = first["metadata"]["managedFields"]
    assert status == 201 and fields[0]["operation"] == "Apply" and fields[0]["fieldsV1"] == {"f:data": {"f:a": {}}}, first
    again = s.ok("PATCH", at, applied("forty-one", {"a": "1"}), type=APPLY)
    assert again == first


@case(42)
def apply_conflicts(s):
    at = f"{MAPS}/forty-two?fieldManager="
    s.ok("PATCH", at + "one", applied("forty-two", {"a": "1"}), type=APPLY)
    body = refused(s.call("PATCH", at + "two", applied("forty-two", {"a": "2"}), type=APPLY), 409)
    cause = body["details"]["causes"][0]
    assert cause["reason"] == "FieldManagerConflict" and cause["field"] == ".data.a" and '"one"' in cause["message"], body
    got = s.ok("PATCH", at + "two&force=true", applied("forty-two", {"a": "2"}), type=APPLY)
    assert got["data"] == {"a": "2"} and [m["manager"] for m in got["metadata"]["managedFields"]] == ["two"], got


@case(43)
def apply_removes_what_it_leaves_out(s):
    at = f"{MAPS}/forty-three?fieldManager="
    s.ok("PATCH", at + "one", applied("forty-three", {"a": "1", "b": "2"}), type=APPLY)
    s.ok("PATCH", at + "two", applied("forty-three", {"a": "1"}), type=APPLY)
    got = s.ok("PATCH", at + "one", applied("forty-three", {"c": "3"}), type=APPLY)
    assert got["data"] == {"a": "1", "c": "3"}, got


@case(44)
def apply_needs_its_parameters(s):
    refused(s.call("PATCH", f"{MAPS}/forty-four", applied("forty-four", {}), type=APPLY), 422, "fieldManager")
    body = applied("forty-four", {})
    body["metadata"]["managedFields"] = [{"manager": "x", "operation": "Apply"}]
    refused(s.call("PATCH", f"{MAPS}/forty-four?fieldManager=x", body, type=APPLY), 400)
    refused(s.call("PATCH", f"{MAPS}/forty-four?force=true", {}, type=MERGE), 422, "force")


# ---- delete and garbage ----

@case(45)
def what_can_go_goes_at_once(s):
    made = s.ok("POST", MAPS, config_map("forty-five"))
    gone = s.ok("DELETE", f"{MAPS}/forty-five")
    assert gone["status"] == "Success" and gone["details"] == {"name": "forty-five", "kind": "configmaps", "uid": made["metadata"]["uid"]}, gone
    s.ok("POST", PODS, held_pod("forty-five"))
    assert s.ok("DELETE", f"{PODS}/forty-five")["kind"] == "Pod"
    refused(s.call("GET", f"{PODS}/forty-five"), 404)


@case(46)
def bound_pods_have_grace(s):
    p = held_pod("forty-six")
    del p["spec"]["schedulingGates"], p["spec"]["terminationGracePeriodSeconds"]
    p["spec"]["schedulerName"] = "nobody"
    s.ok("POST", PODS, p)
    s.ok("POST", f"{PODS}/forty-six/binding", {"target": {"kind": "Node", "name": "elsewhere"}})
    first = s.ok("DELETE", f"{PODS}/forty-six")["metadata"]
    assert first["deletionGracePeriodSeconds"] == 30 and first["deletionTimestamp"], first
    same = s.ok("DELETE", f"{PODS}/forty-six", {"gracePeriodSeconds": 60})["metadata"]
    assert same["deletionTimestamp"] == first["deletionTimestamp"] and same["deletionGracePeriodSeconds"] == 30, same
    less = s.ok("DELETE", f"{PODS}/forty-six", {"gracePeriodSeconds": 5})["metadata"]
    assert less["deletionGracePeriodSeconds"] == 5 and less["deletionTimestamp"] < first["deletionTimestamp"], less
    s.ok("DELETE", f"{PODS}/forty-six", {"gracePeriodSeconds": 0})
    refused(s.call("GET", f"{PODS}/forty-six"), 404)


@case(47)
def finalizers_hold(s):
    s.ok("POST", MAPS, config_map("forty-seven", finalizers=["example.com/a"]))
    s.ok("DELETE", f"{MAPS}/forty-seven")
    refused(s.call("PATCH", f"{MAPS}/forty-seven", {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}, type=MERGE), 422, "metadata.finalizers")
    last = s.ok("PATCH", f"{MAPS}/forty-seven", {"metadata": {"finalizers": []}}, type=MERGE)
    assert last["kind"] == "ConfigMap"
    refused(s.call("GET", f"{MAPS}/forty-seven"), 404)


@case(48)
def preconditions(s):
    made = s.ok("POST", MAPS, config_map("forty-eight"))["metadata"]
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}):
        body = refused(s.call("DELETE", f"{MAPS}/forty-eight", {"preconditions": wrong}), 409)
        assert body["reason"] == "Conflict", body
    s.ok("DELETE", f"{MAPS}/forty-eight", {"preconditions": {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}})


def owned(s, name):
    owner = s.ok("POST", MAPS, config_map(name))
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
    s.ok("POST", MAPS, config_map(f"{name}-child", ownerReferences=[ref], finalizers=["example.com/hold"]))
    return f"{MAPS}/{name}", f"{MAPS}/{name}-child"


@case(49)
def owners_and_what_they_own(s):
    drop = {"metadata": {"finalizers": None}}
    owner, child = owned(s, "foreground")
    got = s.ok("DELETE", owner, {"propagationPolicy": "Foreground"})
    assert got["metadata"]["finalizers"] == ["foregroundDeletion"], got
    until("the child is asked to go", lambda: "deletionTimestamp" in s.ok("GET", child)["metadata"])
    s.ok("GET", owner)
    s.ok("PATCH", child, drop, type=MERGE)
    until("the owner follows", lambda: s.call("GET", owner)[0] == 404)
    owner, child = owned(s, "background")
    s.ok("DELETE", owner, {"propagationPolicy": "Background"})
    refused(s.call("GET", owner), 404)
    until("the child follows", lambda: "deletionTimestamp" in s.ok("GET", child)["metadata"])
    s.ok("PATCH", child, drop, type=MERGE)
    owner, child = owned(s, "orphan")
    s.ok("DELETE", owner, {"propagationPolicy": "Orphan"})
    until("the owner goes", lambda: s.call("GET", owner)[0] == 404)
    assert "ownerReferences" not in s.ok("GET", child)["metadata"]
    s.ok("PATCH", child, drop, type=MERGE)


@case(50)
def the_dead_own_nothing(s):
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "0b3c6de6-0000-4000-8000-000000000000"}
    s.ok("POST", MAPS, config_map("fifty", ownerReferences=[ref]))
    until("collected", lambda: s.call("GET", f"{MAPS}/fifty")[0] == 404)


@case(51)
def namespaces_end(s):
    s.ok("POST", NAMESPACES, {"metadata": {"name": "fifty-one"}})
    maps = f"{NAMESPACES}/fifty-one/configmaps"
    s.ok("POST", maps, config_map("held", finalizers=["example.com/hold"]))
    s.ok("POST", f"{NAMESPACES}/fifty-one/secrets", {"metadata": {"name": "goes"}})
    assert s.ok("DELETE", f"{NAMESPACES}/fifty-one")["status"]["phase"] == "Terminating"
    body = refused(s.call("POST", maps, config_map("late")), 403)
    assert body["details"]["causes"][0]["reason"] == "NamespaceTerminating", body
    until("emptied", lambda: not s.ok("GET", f"{NAMESPACES}/fifty-one/secrets")["items"])
    words = until("it says what holds it", lambda: {c["type"]: c for c in s.ok("GET", f"{NAMESPACES}/fifty-one")["status"].get("conditions", [])})
    assert words["NamespaceFinalizersRemaining"]["status"] == "True" and "example.com/hold in 1 resource" in words["NamespaceFinalizersRemaining"]["message"], words
    s.ok("PATCH", f"{maps}/held", {"metadata": {"finalizers": None}}, type=MERGE)
    until("gone", lambda: s.call("GET", f"{NAMESPACES}/fifty-one")[0] == 404)
    for name in ("default", "kube-system", "kube-public"):
        refused(s.call("DELETE", f"{NAMESPACES}/{name}"), 403, "this namespace may not be deleted")
    refused(s.call("DELETE", NAMESPACES), 405)


@case(52)
def jobs_go_when_asked(s):
    s.ok("POST", JOBS, job("fifty-two", "sleep 1000"))
    until("it has its pod", lambda: s.ok("GET", f"{PODS}?labelSelector=volcano.sh%2Fjob-name%3Dfifty-two")["items"])
    s.ok("DELETE", f"{JOBS}/fifty-two", {"propagationPolicy": "Background"})
    until("gone with its pods", lambda: s.call("GET", f"{JOBS}/fifty-two")[0] == 404 and
          not s.ok("GET", f"{PODS}?labelSelector=volcano.sh%2Fjob-name%3Dfifty-two")["items"])
    refused(s.call("DELETE", f"{JOBS}/fifty-two"), 404)


@case(53)
def collections_are_deleted_by_selector(s):
    for name, colour in (("a", "red"), ("b", "red"), ("c", "blue")):
        s.ok("POST", MAPS, config_map(f"fifty-three-{name}", labels={"colour": colour}))
    got = s.ok("DELETE", f"{MAPS}?labelSelector=colour%3Dred")
    assert [o["metadata"]["name"] for o in got["items"]] == ["fifty-three-a", "fifty-three-b"], got
    got = s.ok("DELETE", f"{MAPS}?fieldSelector=metadata.name%3Dfifty-three-c&dryRun=All")
    assert len(got["items"]) == 1 and s.ok("GET", f"{MAPS}/fifty-three-c")


# ---- watch and list ----

@case(54)
def watches_tell_everything_once(s):
    rev = s.ok("GET", MAPS)["metadata"]["resourceVersion"]
    w = Watch(s, f"{MAPS}?watch=1&resourceVersion={rev}&labelSelector=n%3D54")
    s.ok("POST", MAPS, config_map("fifty-four", {"n": "0"}, labels={"n": "54"}))

    def change(i):
        s.ok("PATCH", f"{MAPS}/fifty-four", {"data": {f"k{i}": str(i)}}, type=MERGE)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(120)))
    s.ok("DELETE", f"{MAPS}/fifty-four")
    w.until(122)
    revs = [int(e["object"]["metadata"]["resourceVersion"]) for e in w.events]
    assert revs == sorted(set(revs)) and len(w.events) == 122 and w.events[-1]["type"] == "DELETED", w.short()[-3:]
    w.close()


@case(55)
def watches_begin_with_what_is_there(s):
    for i in range(3):
        s.ok("POST", MAPS, config_map(f"fifty-five-{i}", labels={"n": "55"}))
    for query in ("", "&resourceVersion=0", "&resourceVersion="):
        w = Watch(s, f"{MAPS}?watch=1&labelSelector=n%3D55{query}")
        assert {e["type"] for e in w.until(3)} == {"ADDED"}
        w.close()
    w = Watch(s, f"/api/v1/watch/namespaces/default/configmaps?labelSelector=n%3D55")
    w.until(3)
    w.close()


@case(56)
def watch_lists_end_with_a_bookmark(s):
    s.ok("POST", MAPS, config_map("fifty-six", labels={"n": "56"}))
    w = Watch(s, f"{MAPS}?watch=1&labelSelector=n%3D56&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    w.until(2)
    assert [e["type"] for e in w.events] == ["ADDED", "BOOKMARK"]
    assert w.events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    w.close()
    w = Watch(s, f"{MAPS}?watch=1&labelSelector=n%3D56&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    s.ok("DELETE", f"{MAPS}/fifty-six")
    assert w.until(1)[0]["type"] == "DELETED", "false: from now on"
    w.close()


@case(57)
def watch_lists_need_their_parameters(s):
    for query in ("watch=1&sendInitialEvents=true", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "watch=1&resourceVersionMatch=NotOlderThan",
                  "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact"):
        refused(s.call("GET", f"{MAPS}?{query}"), 422)


@case(58)
def too_old_is_an_event(s):
    w = Watch(s, f"{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=5")  # the history is long: this begins at 1
    w.until(1)
    assert w.events[0]["type"] in ("ADDED", "ERROR")
    if w.events[0]["type"] == "ERROR":
        assert w.events[0]["object"]["code"] == 410, w.events[0]
    w.close()
    refused(s.call("GET", f"{MAPS}?watch=1&resourceVersion=abc"), 400)


@case(59)
def selections_are_left_and_entered(s):
    made = s.ok("POST", MAPS, config_map("fifty-nine", labels={"n": "59"}))
    w = Watch(s, f"{MAPS}?watch=1&labelSelector=n%3D59&resourceVersion={made['metadata']['resourceVersion']}")
    left = s.ok("PATCH", f"{MAPS}/fifty-nine", {"metadata": {"labels": {"n": "no"}}}, type=MERGE)
    s.ok("PATCH", f"{MAPS}/fifty-nine", {"metadata": {"labels": {"n": "59"}}}, type=MERGE)
    w.until(2)
    assert [e["type"] for e in w.events] == ["DELETED", "ADDED"]
    assert w.events[0]["object"]["metadata"]["labels"] == {"n": "59"}
    assert w.events[0]["object"]["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
    w.close()


@case(60)
def watches_end_in_time(s):
    w = Watch(s, f"{MAPS}?watch=1&resourceVersion={s.ok('GET', MAPS)['metadata']['resourceVersion']}&timeoutSeconds=1&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnone")
    until("it ends", lambda: w.ended)
    assert [e["type"] for e in w.events][-1:] == ["BOOKMARK"], w.short()


@case(61)
def pages_are_of_one_moment(s):
    for i in range(7):
        s.ok("POST", SECRETS, {"metadata": {"name": f"sixty-one-{i}"}})
    total = len(s.ok("GET", SECRETS)["items"])
    page = s.ok("GET", f"{SECRETS}?limit=2")
    assert page["metadata"]["remainingItemCount"] == total - 2
    names = [o["metadata"]["name"] for o in page["items"]]
    s.ok("POST", SECRETS, {"metadata": {"name": "sixty-one-later"}})
    while page["metadata"].get("continue"):
        page = s.ok("GET", f"{SECRETS}?limit=2&continue={quoted(page['metadata']['continue'])}")
        names += [o["metadata"]["name"] for o in page["items"]]
    assert len(names) == total and "sixty-one-later" not in names and names == sorted(names), names
    s.ok("DELETE", SECRETS)


@case(62)
def pages_and_versions(s):
    for i in range(3):
        s.ok("POST", SECRETS, {"metadata": {"name": f"sixty-two-{i}"}})
    assert len(s.ok("GET", f"{SECRETS}?limit=1&resourceVersion=0")["items"]) == 3
    token = s.ok("GET", f"{SECRETS}?limit=1")["metadata"]["continue"]
    refused(s.call("GET", f"{SECRETS}?limit=1&resourceVersion=5&continue={quoted(token)}"), 400)
    refused(s.call("GET", f"{SECRETS}?continue=garbage"), 400)
    assert len(s.ok("GET", f"{SECRETS}?limit=-1")["items"]) == 3
    s.ok("DELETE", SECRETS)


@case(63)
def the_future_is_not_known(s):
    body = refused(s.call("GET", f"{MAPS}?resourceVersion=99999999999"), 504)
    assert body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge" and body["details"]["retryAfterSeconds"] == 1, body


@case(64)
def fields_select(s):
    s.ok("POST", PODS, held_pod("sixty-four"))
    for selector, n in (("metadata.name=sixty-four", 1), ("spec.nodeName=,metadata.name=sixty-four", 1), ("status.phase!=Pending,metadata.name=sixty-four", 0),
                        ("spec.restartPolicy==Never,metadata.name=sixty-four", 1), ("spec.schedulerName=volcano,metadata.name=sixty-four", 1)):
        assert len(s.ok("GET", f"{PODS}?fieldSelector={quoted(selector)}")["items"]) == n, selector
    s.ok("POST", EVENTS, {"metadata": {"name": "sixty-four"}, "involvedObject": {"kind": "Pod", "name": "sixty-four", "namespace": "default", "uid": "u"},
                          "reason": "Sixty", "type": "Warning", "source": {"component": "me"}})
    for selector in ("involvedObject.name=sixty-four,involvedObject.kind=Pod,involvedObject.uid=u", "reason=Sixty,type=Warning", "source=me,reason=Sixty"):
        assert len(s.ok("GET", f"{EVENTS}?fieldSelector={quoted(selector)}")["items"]) == 1, selector
    for at, selector in ((PODS, "spec.what=x"), (JOBS, "spec.queue=x"), (MAPS, "data.a=x"), (PODS, "metadata.name")):
        refused(s.call("GET", f"{at}?fieldSelector={quoted(selector)}"), 400)
    s.ok("DELETE", f"{PODS}/sixty-four")


@case(65)
def labels_select(s):
    for i, labels in enumerate(({"k": "1", "x": "y"}, {"k": "2"}, {"x": "z"})):
        s.ok("POST", MAPS, config_map(f"sixty-five-{i}", labels={"n": "65", **labels}))
    for selector, names in (("k in (1,2)", "01"), ("k notin (1)", "12"), ("!k", "2"), ("k", "01"), ("k!=1", "12"), ("k>1", "1"), ("k<2", "0"),
                            ("x=y,k==1", "0"), (" k = 1 ", "0")):
        got = s.ok("GET", f"{MAPS}?labelSelector={quoted('n=65,' + selector)}")["items"]
        assert "".join(o["metadata"]["name"][-1] for o in got) == names, (selector, names, got)
    for selector in ("k in ()x", "k=a b", "=x", "k>x", "in (a)"):
        refused(s.call("GET", f"{MAPS}?labelSelector={quoted(selector)}"), 400)


@case(68)
def slow_readers_hold_nobody(s):
    s.ok("POST", MAPS, config_map("sixty-eight", {"a": "x" * 200000}))
    slow = s.open("GET", f"{MAPS}?watch=1&fieldSelector=metadata.name%3Dsixty-eight")
    quick = Watch(s, f"{MAPS}?watch=1&fieldSelector=metadata.name%3Dsixty-eight")
    for i in range(20):
        s.ok("PATCH", f"{MAPS}/sixty-eight", {"data": {"n": str(i)}}, type=MERGE)
    quick.until(21)
    quick.close()
    slow[0].close()


# ---- tables ----

def container_status(name="main", **state):
    return {"name": name, "image": "x", "imageID": "", "ready": "running" in state, "restartCount": 0, "state": state}


@case(69)
def pods_as_people_see_them(s):
    exits = {"exitCode": 3, "reason": "Error"}
    rows = (("pending", {"phase": "Pending"}, ("0/1", "Pending")),
            ("running", {"phase": "Running", "containerStatuses": [container_status(running={})]}, ("1/1", "Running")),
            ("completed", {"phase": "Succeeded", "containerStatuses": [container_status(terminated={"exitCode": 0, "reason": "Completed"})]}, ("0/1", "Completed")),
            ("error", {"phase": "Failed", "containerStatuses": [container_status(terminated=exits)]}, ("0/1", "Error")),
            ("loop", {"phase": "Running", "containerStatuses": [container_status(waiting={"reason": "CrashLoopBackOff"})]}, ("0/1", "CrashLoopBackOff")),
            ("init", {"phase": "Pending", "initContainerStatuses": [container_status("first", running={})]}, ("0/1", "Init:0/1")),
            ("ending", {"phase": "Running", "containerStatuses": [container_status(running={})]}, ("1/1", "Terminating")))
    for name, status, _ in rows:
        p = pod(f"seen-{name}", "true", labels={"n": "69"})
        p["spec"]["schedulerName"] = "nobody"
        if name == "init":
            p["spec"]["initContainers"] = [{"name": "first", "image": "x"}]
        s.ok("POST", PODS, p)
        s.ok("POST", f"{PODS}/seen-{name}/binding", {"target": {"kind": "Node", "name": "elsewhere"}})
        s.ok("PATCH", f"{PODS}/seen-{name}/status", {"status": status}, type=MERGE)
    s.ok("DELETE", f"{PODS}/seen-ending")
    table = s.ok("GET", f"{PODS}?labelSelector=n%3D69", accept=TABLE)
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"]
    seen = {r["cells"][0]: tuple(r["cells"][1:3]) for r in table["rows"]}
    assert seen == {f"seen-{name}": cells for name, _, cells in rows}, seen
    assert [c["priority"] for c in table["columnDefinitions"]] == [0] * 5 + [1] * 4
    s.ok("DELETE", f"{PODS}?labelSelector=n%3D69", {"gracePeriodSeconds": 0})


@case(70)
def volcano_kinds_as_people_see_them(s):
    for at, columns in ((JOBS, ["Name", "STATUS", "minAvailable", "RUNNINGS", "AGE", "QUEUE"]), (GROUPS, ["Name", "STATUS", "minMember", "RUNNINGS", "AGE", "QUEUE"]),
                        (QUEUES, ["Name", "PARENT"]), ("/apis/flow.volcano.sh/v1alpha1/jobflows", ["Name", "Status", "Age"])):
        table = s.ok("GET", at, accept=TABLE)
        assert [c["name"] for c in table["columnDefinitions"]] == columns, table["columnDefinitions"]
    s.ok("POST", GROUPS, {"metadata": {"name": "seventy"}, "spec": {"minMember": 1}})
    row = next(r for r in s.ok("GET", GROUPS, accept=TABLE)["rows"] if r["cells"][0] == "seventy")
    assert row["cells"][3] is None or row["cells"][3] == 0, row


@case(71)
def rows_carry_their_objects(s):
    s.ok("POST", MAPS, config_map("seventy-one", labels={"app": "x"}))
    one = f"{MAPS}?fieldSelector=metadata.name%3Dseventy-one"
    row = s.ok("GET", one, accept=TABLE)["rows"][0]
    assert row["object"]["kind"] == "PartialObjectMetadata" and row["object"]["metadata"]["labels"] == {"app": "x"}, row
    assert s.ok("GET", f"{one}&includeObject=Object", accept=TABLE)["rows"][0]["object"]["data"] == {"a": "b"}


@case(72)
def tables_of_watches_have_one_head(s):
    s.ok("POST", MAPS, config_map("seventy-two"))
    w = Watch(s, f"{MAPS}?watch=1&fieldSelector=metadata.name%3Dseventy-two", accept=TABLE)
    w.until(1)
    s.ok("DELETE", f"{MAPS}/seventy-two")
    w.until(2)
    assert [bool(e["object"].get("columnDefinitions")) for e in w.events] == [True, False]
    w.close()


@case(73)
def metadata_alone(s):
    s.ok("POST", MAPS, config_map("seventy-three"))
    one = s.ok("GET", f"{MAPS}?fieldSelector=metadata.name%3Dseventy-three&includeObject=None", accept=TABLE)["rows"][0]
    assert one["object"] is None, one
    lists = s.ok("GET", MAPS, accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    assert lists["kind"] == "PartialObjectMetadataList" and lists["items"][0]["kind"] == "PartialObjectMetadata" and "data" not in lists["items"][0], lists
    refused(s.call("GET", MAPS, accept="text/csv"), 406)


# ---- who may ----

@case(75)
def questions_are_answered(s):
    at = "/apis/authorization.k8s.io/v1"
    ask = {"spec": {"resourceAttributes": {"verb": "create", "resource": "jobs", "group": "batch.volcano.sh"}}}
    assert s.ok("POST", f"{at}/selfsubjectaccessreviews", ask)["status"]["allowed"] is True
    rules = s.ok("POST", f"{at}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})["status"]
    assert rules["resourceRules"] and rules["incomplete"] is False, rules
    assert s.ok("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})["status"]["userInfo"]["username"]


# ---- pods ----

@case(82)
def logs_are_asked_for_rightly(s):
    s.ok("POST", PODS, held_pod("eighty-two"))
    refused(s.call("GET", f"{PODS}/eighty-two/log?container=nobody"), 400, "container nobody is not valid for pod eighty-two")
    refused(s.call("GET", f"{PODS}/eighty-two/log"), 400, "a container name must be specified for pod eighty-two, choose one of: [main side]")
    refused(s.call("GET", f"{PODS}/eighty-two/log?container=main&sinceSeconds=1&sinceTime=2001-01-01T00:00:00Z"), 422)
    refused(s.call("GET", f"{PODS}/none/log"), 404)
    s.ok("DELETE", f"{PODS}/eighty-two")


@case(85)
def bindings_bind_once(s):
    p = pod("eighty-five", "true")
    p["spec"]["schedulerName"] = "nobody"
    s.ok("POST", PODS, p)
    status, answer = s.call("POST", f"{PODS}/eighty-five/binding", {"metadata": {"name": "eighty-five", "annotations": {"a": "b"}}, "target": {"kind": "Node", "name": "elsewhere"}})
    assert status == 201 and answer["status"] == "Success" and answer["code"] == 201, answer
    got = s.ok("GET", f"{PODS}/eighty-five")
    assert got["spec"]["nodeName"] == "elsewhere" and got["metadata"]["annotations"]["a"] == "b"
    assert {c["type"]: c["status"] for c in got["status"]["conditions"]}["PodScheduled"] == "True", got["status"]
    refused(s.call("POST", f"{PODS}/eighty-five/binding", {"target": {"kind": "Node", "name": "other"}}), 409)
    s.ok("DELETE", f"{PODS}/eighty-five", {"gracePeriodSeconds": 0})


@case(86)
def budgets_block_evictions(s):
    p = pod("eighty-six", "true", labels={"budget": "tight"})
    p["spec"]["schedulerName"] = "nobody"
    s.ok("POST", PODS, p)
    s.ok("POST", f"{PODS}/eighty-six/binding", {"target": {"kind": "Node", "name": "elsewhere"}})
    s.ok("PATCH", f"{PODS}/eighty-six/status", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}, type=MERGE)
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    s.ok("POST", budgets, {"metadata": {"name": "tight"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"budget": "tight"}}}})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "eighty-six"}}
    body = refused(s.call("POST", f"{PODS}/eighty-six/eviction", eviction), 429)
    assert body["details"]["causes"][0]["reason"] == "DisruptionBudget", body
    seen = until("it is counted", lambda: (b := s.ok("GET", f"{budgets}/tight").get("status", {})).get("currentHealthy") == 1 and b)
    assert (seen["disruptionsAllowed"], seen["desiredHealthy"], seen["expectedPods"]) == (0, 1, 1), seen
    noted = {name: "2026-01-01T00:00:00Z" for name in ("eighty-six", "gone")}
    s.ok("PATCH", f"{budgets}/tight/status", {"status": {"disruptedPods": noted}}, type=MERGE)
    until("what others note stays as long as the pod", lambda: set(s.ok("GET", f"{budgets}/tight")["status"].get("disruptedPods", {})) == {"eighty-six"})
    s.ok("PATCH", f"{budgets}/tight", {"spec": {"minAvailable": None, "maxUnavailable": "50%"}}, type=MERGE)
    for options, code in (({"dryRun": ["All"]}, 201), ({"preconditions": {"uid": "another"}}, 409)):
        assert s.call("POST", f"{PODS}/eighty-six/eviction", {**eviction, "deleteOptions": options})[0] == code
        assert "deletionTimestamp" not in s.ok("GET", f"{PODS}/eighty-six")["metadata"], options
    status, answer = s.call("POST", f"{PODS}/eighty-six/eviction", eviction)
    assert status == 201 and answer["status"] == "Success", answer
    s.ok("DELETE", f"{PODS}/eighty-six", {"gracePeriodSeconds": 0})
    s.ok("DELETE", f"{budgets}/tight")


@case(88)
def events_are_counted_by_patch(s):
    s.ok("POST", EVENTS, {"metadata": {"name": "eighty-eight"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "count": 1})
    got = s.ok("PATCH", f"{EVENTS}/eighty-eight", {"count": 30, "lastTimestamp": "2026-01-01T00:00:00Z"}, type=STRATEGIC)
    assert got["count"] == 30, got


# ---- beyond the list ----

def protobuf_is_answered(s):
    """What is answered so and sent back changes nothing: each says all that the other does."""
    p = held_pod("answered", labels={"a": "b"}, annotations={"c": "d"})
    p["spec"]["tolerations"] = [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]
    p["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}, {"name": "p", "projected": {"sources": [{"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}}]
    samples = ((PODS, p), (MAPS, config_map("answered", {"a": "", "b": "x"})), (SECRETS, {"metadata": {"name": "answered"}, "stringData": {"a": "b"}}),
               ("/api/v1/namespaces/default/services", {"metadata": {"name": "answered"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}),
               (LEASES, {"metadata": {"name": "answered"}, "spec": {"holderIdentity": "me", "renewTime": "2026-01-02T03:04:05.000006Z"}}))
    for at, body in samples:
        s.ok("POST", at, body)
        before = s.ok("GET", f"{at}/answered")
        c, r = s.open("GET", f"{at}/answered", accept=f"{PROTOBUF},application/json")
        raw = r.read()
        c.close()
        assert r.headers["Content-Type"] == PROTOBUF and raw.startswith(b"k8s\0"), (at, r.headers["Content-Type"])
        same = s.ok("PUT", f"{at}/answered", raw, type=PROTOBUF)
        assert same["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"], (before, same)
        c, r = s.open("GET", at, accept=PROTOBUF)
        assert r.read().startswith(b"k8s\0") and r.headers["Content-Type"] == PROTOBUF, at
        c.close()
    c, r = s.open("GET", f"{MAPS}?watch=1&fieldSelector=metadata.name%3Danswered&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                  accept=f"{PROTOBUF};stream=watch,{PROTOBUF}")
    assert r.headers["Content-Type"] == f"{PROTOBUF};stream=watch", r.headers["Content-Type"]
    frames = [r.read(int.from_bytes(r.read(4), "big")) for _ in range(2)]
    assert frames[0].startswith(b"\x0a\x05ADDED") and b"k8s\0" in frames[0] and frames[1].startswith(b"\x0a\x08BOOKMARK"), frames
    c.close()
    c, r = s.open("GET", f"{MAPS}/none", accept=PROTOBUF)
    assert r.status == 404 and r.read().startswith(b"k8s\0")
    c.close()
    assert s.call("GET", JOBS, accept=PROTOBUF)[0] == 406, "Volcano's kinds have no such form"
    assert s.ok("GET", JOBS, accept=f"{PROTOBUF},application/json")["kind"] == "JobList"
    assert s.ok("GET", MAPS, accept=f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,{TABLE}")["kind"] == "Table"
    for at, _ in samples:
        s.ok("DELETE", f"{at}/answered")


def methods_are_told(s):
    for method, at, allow in (("POST", f"{MAPS}/x", "GET, HEAD, PUT, PATCH, DELETE"), ("OPTIONS", MAPS, "GET, HEAD, POST, DELETE"), ("DELETE", NAMESPACES, "GET, HEAD, POST"),
                              ("GET", "/api/v1/namespaces/default/bindings", "POST"), ("DELETE", f"{PODS}/x/log", "GET, HEAD"), ("POST", "/version", "GET, HEAD")):
        refused(s.call(method, at), 405)
        assert s.headers["Allow"] == allow, (method, at, s.headers["Allow"])
    assert s.call("HEAD", MAPS) == (200, "")


def containers_are_added(s):
    s.ok("POST", PODS, held_pod("debugged"))
    at = f"{PODS}/debugged/ephemeralcontainers"
    extra = {"name": "debug", "image": "debian:12", "command": ["sh"], "stdin": True, "tty": True}
    got = s.ok("PATCH", at, {"spec": {"ephemeralContainers": [extra]}}, type=STRATEGIC)
    assert [c["name"] for c in got["spec"]["ephemeralContainers"]] == ["debug"], got["spec"]
    refused(s.call("PATCH", at, {"spec": {"ephemeralContainers": []}}, type=MERGE), 422, "ephemeralContainers")
    refused(s.call("PATCH", at, {"spec": {"ephemeralContainers": [extra, {"name": "main", "image": "x"}]}}, type=MERGE), 422)
    refused(s.call("PATCH", f"{PODS}/debugged", {"spec": {"ephemeralContainers": [extra, {"name": "more", "image": "x"}]}}, type=MERGE), 422)
    s.ok("DELETE", f"{PODS}/debugged")


def classes_are_resolved(s):
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    s.ok("POST", classes, {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True, "preemptionPolicy": "Never"})
    spec = s.ok("POST", f"{PODS}?dryRun=All", held_pod("classed"))["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("usual", 7, "Never"), spec
    s.ok("DELETE", f"{classes}/usual")
    p = held_pod("classed")
    p["spec"]["priorityClassName"] = "system-node-critical"
    assert s.ok("POST", f"{PODS}?dryRun=All", p)["spec"]["priority"] == 2000001000
    p["spec"]["priorityClassName"] = "nobody"
    refused(s.call("POST", PODS, p), 403, "no PriorityClass with name nobody was found")
    refused(s.call("POST", classes, {"metadata": {"name": "above"}, "value": 1000000001}), 422, "maximum allowed value of a user defined priority is 1000000000")
    s.ok("POST", f"{classes}?dryRun=All", {"metadata": {"name": "highest"}, "value": 1000000000})


def pods_are_checked_again(s):
    """What an update changes has the rules of what a create says; what it leaves is not asked again."""
    at = f"{PODS}/checked"
    before = s.ok("POST", PODS, held_pod("checked", labels={"a": "b"}))
    main = before["spec"]["containers"][0]["name"]
    for patch, words in (({"metadata": {"labels": {"a": 5}}}, "metadata.labels.a"), ({"metadata": {"annotations": {"a": True}}}, "metadata.annotations.a")):
        refused(s.call("PATCH", at, patch, type=STRATEGIC), 422, words)
    for patch, words in (({"metadata": {"labels": {"no key": "x"}}}, "metadata.labels"), ({"metadata": {"labels": {"a": "no value"}}}, "metadata.labels.a"),
                         ({"spec": {"containers": [{"name": main, "image": ""}]}}, "spec.containers[0].image"),
                         ({"spec": {"activeDeadlineSeconds": -1}}, "spec.activeDeadlineSeconds"),
                         ({"spec": {"tolerations": [*before["spec"]["tolerations"], {"key": "k", "operator": "Perhaps"}]}}, "spec.tolerations"),
                         ({"spec": {"nodeSelector": {"x": "y"}}}, "pod updates may not change")):
        refused(s.call("PATCH", at, patch, type=STRATEGIC), 422, words)
    now = s.ok("GET", at)
    assert now["metadata"]["labels"] == {"a": "b"} and now["spec"] == before["spec"], now
    s.ok("PATCH", at, {"metadata": {"labels": {"a": "c"}}, "spec": {"activeDeadlineSeconds": 1000}}, type=STRATEGIC)
    s.ok("DELETE", at)


def namespaces_are_furnished_again(s):
    s.ok("POST", NAMESPACES, {"metadata": {"name": "furnished"}})
    at = f"{NAMESPACES}/furnished"
    for what in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        uid = until("it is there", lambda: s.call("GET", f"{at}/{what}")[1]["metadata"].get("uid"))
        s.ok("DELETE", f"{at}/{what}")
        until("it is made again", lambda: s.call("GET", f"{at}/{what}")[1]["metadata"].get("uid") not in (None, uid))
    s.ok("PATCH", f"{at}/configmaps/kube-root-ca.crt", {"data": {"ca.crt": "mine"}}, type=MERGE)
    until("it is as it was", lambda: "BEGIN" in s.ok("GET", f"{at}/configmaps/kube-root-ca.crt")["data"]["ca.crt"])
    s.ok("DELETE", at)
    until("and goes with its namespace", lambda: s.call("GET", at)[0] == 404)


def services_are_checked(s):
    at = "/api/v1/namespaces/default/services"
    def service(name, **spec):
        return {"metadata": {"name": name}, "spec": spec}
    port, two = [{"port": 1}], [{"name": "a", "port": 1}, {"name": "b", "port": 1}]
    own = s.ok("GET", f"{at}/kubernetes")["spec"]["clusterIP"]
    for spec, field in (({"selector": {"a": "b"}}, "spec.ports"), ({"ports": port + [{"port": 2}]}, "spec.ports[0].name"), ({"ports": two}, "spec.ports[1]"),
                        ({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}, "spec.ports[1].name"), ({"ports": port, "clusterIP": own}, "spec.clusterIP"),
                        ({"ports": port, "clusterIP": "192.0.2.1"}, "spec.clusterIP"), ({"ports": port, "clusterIP": "10.96.300.1"}, "spec.clusterIP")):
        body = refused(s.call("POST", at, service("odd", **spec)), 422)
        assert field in [c["field"] for c in body["details"]["causes"]], (spec, body)
    given = [s.ok("POST", f"{at}{dry}", service("given", ports=port))["spec"] for dry in ("?dryRun=All", "")]
    assert all(g["clusterIP"].startswith("10.96.") and g["clusterIPs"] == [g["clusterIP"]] for g in given), given
    assert s.ok("GET", f"{at}/given")["spec"]["clusterIP"] == given[1]["clusterIP"]
    s.ok("DELETE", f"{at}/given")
    s.ok("POST", at, service("first", ports=port, clusterIP="10.96.77.77"))
    refused(s.call("POST", at, service("second", ports=port, clusterIP="10.96.77.77")), 422, "already allocated")
    refused(s.call("PATCH", f"{at}/first", {"spec": {"clusterIP": "10.96.77.78"}}, type=MERGE), 422, "may not change once set")
    s.ok("PUT", f"{at}/first", service("first", ports=[{"port": 3}]))  # the file, which does not know the address
    assert s.ok("GET", f"{at}/first")["spec"]["clusterIP"] == "10.96.77.77"
    s.ok("DELETE", f"{at}/first")


def amounts_are_kept_as_clients_write_them(s):
    """A client library that reads an object and writes it back changes nothing."""
    p = held_pod("amounts")
    p["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "0.5", "memory": "1024Ki"}, "limits": {"cpu": 1}}
    made = s.ok("POST", PODS, p)
    assert made["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m", "memory": "1Mi"}, "limits": {"cpu": "1"}}, made
    made["spec"]["containers"][0]["resources"] = p["spec"]["containers"][0]["resources"]
    del made["metadata"]["resourceVersion"]  # the scheduler may have written it
    assert s.ok("PUT", f"{PODS}/amounts", made)["metadata"]["generation"] == 1, "it is the same"
    s.ok("DELETE", f"{PODS}/amounts")
    quota = s.ok("POST", "/api/v1/namespaces/default/resourcequotas?dryRun=All", {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "1500m", "memory": "2048Mi", "pods": 5}}})
    assert quota["spec"]["hard"] == {"cpu": "1500m", "memory": "2Gi", "pods": "5"}, quota


def what_stays_stays(s):
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    s.ok("POST", claims, {"metadata": {"name": "stays"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    refused(s.call("PATCH", f"{claims}/stays", {"spec": {"accessModes": ["ReadWriteMany"]}}, type=MERGE), 422, "immutable after creation")
    s.ok("PATCH", f"{claims}/stays", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, type=MERGE)
    s.ok("DELETE", f"{claims}/stays")
    s.ok("POST", SECRETS, {"metadata": {"name": "stays"}, "stringData": {"a": "b"}})
    refused(s.call("PATCH", f"{SECRETS}/stays", {"type": "kubernetes.io/tls"}, type=MERGE), 422, "immutable")
    refused(s.call("POST", SECRETS, {"metadata": {"name": "tls"}, "type": "kubernetes.io/tls", "stringData": {"tls.crt": "x"}}), 422, "tls.key")
    for body, words in (({"dryRun": ["Some"]}, "Unsupported value"), ({"orphanDependents": True, "propagationPolicy": "Background"}, "cannot be both set")):
        refused(s.call("DELETE", f"{SECRETS}/stays", body), 422, words)
    s.ok("DELETE", f"{SECRETS}/stays")  # it is still there
    refused(s.call("POST", f"{MAPS}?fieldManager={'x' * 129}", config_map("managed")), 422, "fieldManager")
    refused(s.call("POST", f"{MAPS}?fieldManager=a%01b", config_map("managed")), 422, "printable")
    refused(s.call("PATCH", f"{MAPS}/managed?fieldManager=me", {**applied("managed", {}), "metadata": {"name": "managed", "uid": "x"}}, type=APPLY), 409, "uid mismatch")


def other_kinds_as_people_see_them(s):
    group = "/apis/rbac.authorization.k8s.io/v1"
    s.ok("POST", f"{group}/namespaces/default/rolebindings", {"metadata": {"name": "seen"}, "roleRef": {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
         "subjects": [{"kind": "User", "name": "ann"}, {"kind": "Group", "name": "lab"}, {"kind": "ServiceAccount", "name": "bot", "namespace": "default"}]})
    table = s.ok("GET", f"{group}/namespaces/default/rolebindings/seen", accept=TABLE)
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Role", "Age", "Users", "Groups", "ServiceAccounts"], table
    cells = table["rows"][0]["cells"]
    assert (cells[1], *cells[3:]) == ("ClusterRole/view", "ann", "lab", "default/bot"), cells
    s.ok("DELETE", f"{group}/namespaces/default/rolebindings/seen")
    for at, columns in ((f"{group}/clusterroles", "Name,Created At"), ("/apis/storage.k8s.io/v1/csinodes", "Name,Drivers,Age"),
                        ("/apis/storage.k8s.io/v1/storageclasses", "Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age")):
        assert ",".join(c["name"] for c in s.ok("GET", at, accept=TABLE)["columnDefinitions"]) == columns, at
    s.ok("POST", "/api/v1/nodes", {"metadata": {"name": "made"}, "spec": {"unschedulable": True}, "status": {"capacity": {"cpu": "1"}}})
    assert s.ok("GET", "/api/v1/nodes/made")["status"]["allocatable"] == {"cpu": "1"}
    free = [n["metadata"]["name"] for n in s.ok("GET", "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse")["items"]]
    assert len(free) == 1 and "made" not in free, free
    s.ok("DELETE", "/api/v1/nodes/made")


def main():
    suite = Suite()
    s = server_or_skip()
    only = {int(a) for a in sys.argv[1:]}
    try:
        assert {n for n, _ in cases} | set(ELSEWHERE) == set(range(1, 95)), set(range(1, 95)) - {n for n, _ in cases} - set(ELSEWHERE)
        for number, function in cases:
            if not only or number in only:
                suite.case(f"{number}: {function.__name__}", lambda: function(s))
        for function in (protobuf_is_answered, methods_are_told, containers_are_added, classes_are_resolved, pods_are_checked_again, namespaces_are_furnished_again, services_are_checked,
                         amounts_are_kept_as_clients_write_them, what_stays_stays, other_kinds_as_people_see_them):
            suite.case(function.__name__, lambda: function(s))
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
