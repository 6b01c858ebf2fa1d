#!/usr/bin/env python3
"""`pumice server`: kinds that users define. One server; the definition goes through its whole life, by plain HTTP."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite  # noqa: E402
from server import MAPS, TABLE, V2, Kubectl, Server, Watch, config_map, kubectls, server_or_skip, until  # noqa: E402
from server_checklist import APPLY, MERGE, NAMESPACES, STRATEGIC, refused  # noqa: E402

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "/apis/stable.example.com"
V1, V1BETA = f"{GROUP}/v1/namespaces/default/widgets", f"{GROUP}/v1beta1/namespaces/default/widgets"

SPEC = {"type": "object", "required": ["size"], "properties": {
    "size": {"type": "integer", "minimum": 1, "maximum": 10},
    "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
    "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
    "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "replicas": {"type": "integer", "default": 1},
    "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
              "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "n": {"type": "integer", "default": 3}}}},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "maybe": {"type": "string", "nullable": True},
}}
STATUS = {"type": "object", "properties": {
    "replicas": {"type": "integer"}, "selector": {"type": "string"},
    "conditions": {"type": "array", "items": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}}}}


def version(name, storage, **more):
    return {"name": name, "served": True, "storage": storage, "subresources": {"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
        "schema": {"openAPIV3Schema": {"type": "object", "description": "A widget.", "properties": {"spec": SPEC, "status": STATUS}}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                                     {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
                                     {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                                     {"name": "Colour", "type": "string", "priority": 1, "jsonPath": ".spec.colour"}], **more}


def definition(plural="widgets", kind="Widget", group="stable.example.com", **spec):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind, "shortNames": ["wd"], "categories": ["all"]},
                     "versions": [version("v1beta1", False, deprecated=True), version("v1", True)], **spec}}


def widget(name, /, **spec):
    return {"apiVersion": "stable.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1, **spec}}


def conditions(s, name="widgets.stable.example.com"):
    return {c["type"]: c for c in s.ok("GET", f"{CRDS}/{name}").get("status", {}).get("conditions", [])}


def defines(s):
    def bad(words, change):
        crd = json.loads(json.dumps(definition()))
        change(crd)
        refused(s.call("POST", CRDS, crd), 422, *words)
    bad(["metadata.name", "widgets.stable.example.com"], lambda c: c["metadata"].update(name="other.stable.example.com"))
    bad(["spec.versions", "exactly one"], lambda c: c["spec"]["versions"][0].update(storage=True))
    bad(["spec.scope"], lambda c: c["spec"].update(scope="Everywhere"))
    bad(["openAPIV3Schema", "schemas are required"], lambda c: c["spec"]["versions"][1].pop("schema"))
    bad(["spec.properties.size.type"], lambda c: c["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"].pop("type"))
    bad(["default"], lambda c: c["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["colour"].update(default="pink"))
    bad(["strategy", "None"], lambda c: c["spec"].update(conversion={"strategy": "Webhook"}))
    bad(["jsonPath"], lambda c: c["spec"]["versions"][1]["additionalPrinterColumns"][0].update(jsonPath="spec.size"))
    bad(["spec.names.kind"], lambda c: c["spec"]["names"].update(kind="Wid get"))
    bad(["spec.versions"], lambda c: c["spec"].update(versions=[]))
    assert s.call("GET", f"{GROUP}/v1")[0] == 404
    made = s.ok("POST", CRDS, definition())
    assert made["spec"]["names"]["singular"] == "widget" and made["spec"]["names"]["listKind"] == "WidgetList", made["spec"]["names"]
    assert made["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    until("established", lambda: conditions(s).get("Established", {}).get("status") == "True")
    assert conditions(s)["NamesAccepted"]["status"] == "True"
    status = s.ok("GET", f"{CRDS}/widgets.stable.example.com")["status"]
    assert status["storedVersions"] == ["v1"] and status["acceptedNames"]["kind"] == "Widget", status
    s.ok("POST", CRDS, definition("gadgets", "Widget"))
    until("the name is taken", lambda: conditions(s, "gadgets.stable.example.com").get("NamesAccepted", {}).get("status") == "False")
    assert conditions(s, "gadgets.stable.example.com")["Established"]["status"] == "False"
    assert s.call("GET", f"{GROUP}/v1/gadgets")[0] == 404
    s.ok("DELETE", f"{CRDS}/gadgets.stable.example.com")
    until("it goes", lambda: s.call("GET", f"{CRDS}/gadgets.stable.example.com")[0] == 404)


def is_discovered(s):
    group = next(g for g in s.ok("GET", "/apis")["groups"] if g["name"] == "stable.example.com")
    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1"] and group["preferredVersion"]["version"] == "v1", group
    row = next(r for r in s.ok("GET", f"{GROUP}/v1")["resources"] if r["name"] == "widgets")
    assert row["shortNames"] == ["wd"] and row["categories"] == ["all"] and row["singularName"] == "widget", row
    assert {r["name"] for r in s.ok("GET", f"{GROUP}/v1beta1")["resources"]} == {"widgets", "widgets/status", "widgets/scale"}
    new = next(g for g in s.ok("GET", "/apis", accept=V2)["items"] if g["metadata"]["name"] == "stable.example.com")
    assert [v["version"] for v in new["versions"]] == ["v1", "v1beta1"]
    doc = s.ok("GET", s.ok("GET", "/openapi/v3")["paths"]["apis/stable.example.com/v1"]["serverRelativeURL"])
    schema = doc["components"]["schemas"]["com.example.stable.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["size"]["maximum"] == 10 and "metadata" in schema["properties"], schema
    text = s.open("GET", "/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")[1].read()
    assert b"com.example.stable.v1.Widget" in text and b"io.k8s.api.core.v1.Pod" in text


def keeps_objects(s):
    made = s.ok("POST", V1, widget("one", size=3, unknown=1, parts=[{"id": "a"}, {"id": "b", "n": 4, "odd": 1}], free={"x": {"y": 1}}, maybe=None))
    assert s.headers["Warning"] and made["metadata"]["generation"] == 1, s.headers["Warning"]
    assert made["spec"] == {"size": 3, "parts": [{"id": "a", "n": 3}, {"id": "b", "n": 4}], "free": {"x": {"y": 1}}, "maybe": None,
                            "colour": "red", "replicas": 1}, made["spec"]
    refused(s.call("POST", f"{V1}?fieldValidation=Strict", widget("strict", unknown=1)), 400, 'unknown field \\"spec.unknown\\"')
    for wrong, field in (({"size": 0}, "spec.size"), ({"size": 11}, "spec.size"), ({"size": "3"}, "spec.size"), ({"size": None}, "spec.size"),
                         ({"colour": "pink"}, "spec.colour"), ({"name": "A1"}, "spec.name"), ({"name": "a" * 9}, "spec.name"), ({"port": True}, "spec.port"),
                         ({"parts": [{"id": "a"}, {"id": "a"}]}, "spec.parts[1]"), ({"parts": [{}]}, "spec.parts[0].id"),
                         ({"labels": {"a": 1}}, "spec.labels.a"), ({"parts": {}}, "spec.parts")):
        body = refused(s.call("POST", V1, widget("wrong", **wrong)), 422)
        assert [c["field"] for c in body["details"]["causes"]] == [field], (wrong, body)
    refused(s.call("POST", V1, widget("wrong", colour="pink")), 422, 'spec.colour: Unsupported value: \\"pink\\": supported values: \\"red\\", \\"blue\\"')
    missing = widget("wrong")
    del missing["spec"]["size"]
    body = refused(s.call("POST", V1, missing), 422)
    assert body["details"]["causes"][0]["reason"] == "FieldValueRequired" and body["details"]["kind"] == "Widget", body
    s.ok("POST", V1, widget("two", port="http", name="abc"))
    refused(s.call("POST", V1, b"k8s\0", type="application/vnd.kubernetes.protobuf"), 415)
    refused(s.call("PATCH", f"{V1}/one", {}, type=STRATEGIC), 415)
    refused(s.call("PUT", f"{V1}/one", widget("one")), 422, "must be specified for an update")
    got = s.ok("PATCH", f"{V1}/one", {"spec": {"size": 4}, "status": {"replicas": 9}}, type=MERGE)
    assert got["metadata"]["generation"] == 2 and "status" not in got, got
    got = s.ok("PATCH", f"{V1}/one/status", {"spec": {"size": 5}, "status": {"replicas": 2, "conditions": [{"type": "Other", "status": "x"}, {"type": "Ready", "status": "True"}]}}, type=MERGE)
    assert got["spec"]["size"] == 4 and got["status"]["replicas"] == 2 and got["metadata"]["generation"] == 2, got
    refused(s.call("PATCH", f"{V1}/one/status", {"status": {"replicas": "two"}}, type=MERGE), 422, "status.replicas")
    table = s.ok("GET", V1, accept=TABLE)
    assert [(c["name"], c["priority"]) for c in table["columnDefinitions"]] == [("Name", 0), ("Size", 0), ("Ready", 0), ("Age", 0), ("Colour", 1)]
    assert [r["cells"][:3] + r["cells"][4:] for r in table["rows"]] == [["one", 4, "True", "red"], ["two", 1, None, "red"]], table["rows"]
    refused(s.call("GET", f"{V1}?fieldSelector=spec.size%3D1"), 400)
    assert s.ok("GET", V1)["kind"] == "WidgetList"


def has_versions(s):
    got = s.ok("GET", f"{V1BETA}/one")
    assert got["apiVersion"] == "stable.example.com/v1beta1" and got["spec"]["size"] == 4, got
    assert "deprecated" in s.headers["Warning"], s.headers["Warning"]
    made = s.ok("POST", V1BETA, {**widget("three"), "apiVersion": "stable.example.com/v1beta1"})
    assert made["apiVersion"] == "stable.example.com/v1beta1", made
    assert s.ok("GET", f"{V1}/three")["apiVersion"] == "stable.example.com/v1"
    refused(s.call("POST", V1BETA, widget("four")), 400)
    items = s.ok("GET", V1BETA)["items"]
    assert {o["apiVersion"] for o in items} == {"stable.example.com/v1beta1"} and len(items) == 3, items
    w = Watch(s, f"{V1BETA}?watch=1&fieldSelector=metadata.name%3Dthree")
    assert w.until(1)[0]["object"]["apiVersion"] == "stable.example.com/v1beta1"
    s.ok("PATCH", f"{V1BETA}/three", {"spec": {"size": 2}}, type=MERGE)
    assert w.until(2)[1]["object"]["spec"]["size"] == 2
    w.close()


def scales(s):
    scale = s.ok("GET", f"{V1}/one/scale")
    assert scale["kind"] == "Scale" and scale["spec"] == {"replicas": 1} and scale["status"] == {"replicas": 2, "selector": ""}, scale
    assert s.ok("PATCH", f"{V1}/one/scale", {"spec": {"replicas": 7}}, type=MERGE)["spec"]["replicas"] == 7
    scale = s.ok("GET", f"{V1}/one/scale")
    scale["spec"]["replicas"] = 6
    assert s.ok("PUT", f"{V1}/one/scale", scale)["spec"]["replicas"] == 6
    refused(s.call("PUT", f"{V1}/one/scale", scale), 409)
    refused(s.call("PATCH", f"{V1}/one/scale", {"spec": {"replicas": -1}}, type=MERGE), 422)
    assert s.ok("GET", f"{V1}/one")["spec"]["replicas"] == 6


def applies(s):
    def config(parts):
        return {"apiVersion": "stable.example.com/v1", "kind": "Widget", "metadata": {"name": "applied"}, "spec": {"size": 1, "parts": parts}}
    at = f"{V1}/applied?fieldManager="
    assert s.call("PATCH", at + "one", config([{"id": "a", "n": 1}]), type=APPLY)[0] == 201
    got = s.ok("PATCH", at + "two", config([{"id": "b", "n": 2}]), type=APPLY)
    assert [p["id"] for p in got["spec"]["parts"]] == ["a", "b"], "items of a map are owned one by one"
    body = refused(s.call("PATCH", at + "two", config([{"id": "a", "n": 9}]), type=APPLY), 409)
    assert "parts" in body["details"]["causes"][0]["field"], body
    got = s.ok("PATCH", at + "one", config([]), type=APPLY)
    assert [p["id"] for p in got["spec"]["parts"]] == ["b"], got


def is_collected(s):
    owner = s.ok("POST", V1, widget("owner"))["metadata"]
    ref = {"apiVersion": "stable.example.com/v1beta1", "kind": "Widget", "name": "owner", "uid": owner["uid"]}
    s.ok("POST", MAPS, config_map("of-widget", ownerReferences=[ref]))
    parent = s.ok("POST", MAPS, config_map("parent"))["metadata"]
    child = widget("child")
    child["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": parent["uid"]}]
    s.ok("POST", V1, child)
    s.ok("DELETE", f"{V1}/owner")
    s.ok("DELETE", f"{MAPS}/parent")
    until("what it owned goes", lambda: s.call("GET", f"{MAPS}/of-widget")[0] == 404)
    until("what owned it went", lambda: s.call("GET", f"{V1}/child")[0] == 404)


def changes(s):
    crd = s.ok("GET", f"{CRDS}/widgets.stable.example.com")
    bad = json.loads(json.dumps(crd))
    bad["spec"]["scope"] = "Cluster"
    refused(s.call("PUT", f"{CRDS}/widgets.stable.example.com", bad), 422, "spec.scope", "immutable")
    w = Watch(s, f"{V1}?watch=1")
    crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["weight"] = {"type": "integer", "default": 5}
    crd["spec"]["versions"].append(version("v2", False))
    s.ok("PUT", f"{CRDS}/widgets.stable.example.com", crd)
    until("watches begin anew", lambda: w.ended)
    assert s.ok("POST", V1, widget("later"))["spec"]["weight"] == 5
    assert s.ok("GET", f"{GROUP}/v2/namespaces/default/widgets/later")["apiVersion"] == "stable.example.com/v2"
    index = s.ok("GET", "/openapi/v3")["paths"]["apis/stable.example.com/v1"]["serverRelativeURL"]
    doc = s.ok("GET", index)["components"]["schemas"]["com.example.stable.v1.Widget"]
    assert "weight" in doc["properties"]["spec"]["properties"]
    crd = s.ok("GET", f"{CRDS}/widgets.stable.example.com")
    crd["spec"]["versions"] = [v for v in crd["spec"]["versions"] if v["name"] != "v1beta1"]
    for v in crd["spec"]["versions"]:
        v["storage"] = v["name"] == "v2"
    s.ok("PUT", f"{CRDS}/widgets.stable.example.com", crd)
    until("the other one is stored", lambda: "v2" in s.ok("GET", f"{CRDS}/widgets.stable.example.com")["status"]["storedVersions"])
    assert s.call("GET", V1BETA)[0] == 404 and s.ok("GET", f"{V1}/one")["apiVersion"] == "stable.example.com/v1"
    assert s.ok("POST", f"{GROUP}/v2/namespaces/default/widgets", {**widget("last"), "apiVersion": "stable.example.com/v2"})["kind"] == "Widget"
    assert s.ok("GET", f"{V1}/last")["apiVersion"] == "stable.example.com/v1"


def ends(s):
    s.ok("POST", NAMESPACES, {"metadata": {"name": "widgets"}})
    inside = f"{GROUP}/v1/namespaces/widgets/widgets"
    s.ok("POST", inside, widget("inside"))
    s.ok("DELETE", f"{NAMESPACES}/widgets")
    until("a namespace takes them along", lambda: s.call("GET", f"{NAMESPACES}/widgets")[0] == 404)
    held = widget("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    s.ok("POST", V1, held)
    s.ok("DELETE", f"{CRDS}/widgets.stable.example.com")
    until("its objects go", lambda: [o["metadata"]["name"] for o in s.ok("GET", V1)["items"]] == ["held"])
    refused(s.call("POST", V1, widget("late")), 405, "terminating")
    s.ok("PATCH", f"{V1}/held", {"metadata": {"finalizers": None}}, type=MERGE)
    until("it goes", lambda: s.call("GET", f"{CRDS}/widgets.stable.example.com")[0] == 404)
    until("nobody knows it", lambda: s.call("GET", V1)[0] == 404)
    assert "stable.example.com" not in {g["name"] for g in s.ok("GET", "/apis")["groups"]}


def comes_again(s):
    """Another kind by the same name, cluster-wide; none of the old one is seen."""
    crd = definition(scope="Cluster")
    crd["spec"]["versions"] = [version("v1", True)]
    s.ok("POST", CRDS, crd)
    until("established", lambda: conditions(s).get("Established", {}).get("status") == "True")
    assert s.ok("GET", f"{GROUP}/v1/widgets")["items"] == []
    s.ok("POST", f"{GROUP}/v1/widgets", widget("wide"))
    assert s.call("GET", f"{V1}/wide")[0] == 404
    s.ok("DELETE", f"{CRDS}/widgets.stable.example.com")
    until("it goes with its objects", lambda: s.call("GET", f"{GROUP}/v1/widgets")[0] == 404)


def own_kinds_stay(s):
    """A definition of a kind that the program has is taken, and changes nothing: not even its end."""
    crd = definition("jobs", "Job", "batch.volcano.sh")
    s.ok("POST", CRDS, crd)
    until("established", lambda: conditions(s, "jobs.batch.volcano.sh").get("Established", {}).get("status") == "True")
    assert s.call("GET", "/apis/batch.volcano.sh/v1/jobs")[0] == 404
    s.ok("DELETE", f"{CRDS}/jobs.batch.volcano.sh")
    until("it goes", lambda: s.call("GET", f"{CRDS}/jobs.batch.volcano.sh")[0] == 404)
    assert s.ok("GET", "/apis/batch.volcano.sh/v1alpha1/jobs")["kind"] == "JobList"


def kubectl_works(s, path):
    k = Kubectl(s, path)
    k("create", "-f", "-", stdin=json.dumps(definition()))
    k("wait", "--for=condition=Established", "crd/widgets.stable.example.com", "--timeout=60s")
    until("it is served", lambda: "widgets" in k("api-resources", "--api-group=stable.example.com", "--cached=false"))
    assert "size" in k("explain", "widgets.spec") and "A widget." in k("explain", "widgets")
    assert "APIVersion defines" in k("explain", "widgets") and "Standard object's metadata" in k("explain", "widgets.metadata")
    assert "created" in k("apply", "-f", "-", stdin=json.dumps(widget("one")))
    assert "unchanged" in k("apply", "-f", "-", stdin=json.dumps(widget("one")))
    assert "configured" in k("apply", "-f", "-", stdin=json.dumps(widget("one", size=2)))
    assert k("get", "wd").splitlines()[0].split() == ["NAME", "SIZE", "READY", "AGE"]
    k("scale", "wd/one", "--replicas=4")
    assert k("get", "wd/one", "-o", "jsonpath={.spec.replicas}") == "4"
    assert "siez" in k.fails("create", "-f", "-", stdin=json.dumps(widget("bad", siez=2)))
    assert "size" in k.fails("create", "-f", "-", stdin=json.dumps(widget("bad", size=99)))
    k("delete", "crd", "widgets.stable.example.com")
    assert s.call("GET", V1)[0] == 404


def survives(s):
    """Killed and started again on the same directory: the kind is known before anybody defines it anew."""
    s.ok("POST", CRDS, definition())
    until("established", lambda: conditions(s).get("Established", {}).get("status") == "True")
    made = s.ok("POST", V1BETA, {**widget("kept", size=7), "apiVersion": "stable.example.com/v1beta1"})
    s.process.kill()
    s.process.wait()
    again = Server(data=s.data)
    try:
        got = again.ok("GET", f"{V1}/kept")
        assert got["spec"]["size"] == 7 and got["metadata"]["uid"] == made["metadata"]["uid"], got
        refused(again.call("POST", V1, widget("bad", size=99)), 422, "spec.size")
        again.ok("DELETE", f"{CRDS}/widgets.stable.example.com")
        until("it goes with its objects", lambda: again.call("GET", V1)[0] == 404)
    finally:
        again.stop()


def main():
    suite = Suite()
    s = server_or_skip()
    try:
        for case in (defines, is_discovered, keeps_objects, has_versions, scales, applies, is_collected, changes, ends, comes_again, own_kinds_stay):
            suite.case(case.__name__, lambda: case(s))
        for name, path in kubectls():
            suite.case(f"kubectl ({name})", lambda: kubectl_works(s, path))
        suite.case("survives", lambda: survives(s))
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
