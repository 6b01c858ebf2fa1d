#!/usr/bin/env python3
"""Our patches beside the real ones: random writes of all kinds go to a real API server, and the same write on the same
object through our library (kube_patcher) must give the same object, the same managedFields up to time stamps, and the same
refusal. SEED and STEPS may be set."""
import copy
import json
import os
import random
import subprocess
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from harness import Suite  # noqa: E402

PATCHER = os.environ.get("KUBE_PATCHER", "build/tests/kube/kube_patcher")
SEED, STEPS = int(os.environ.get("SEED", "1")), int(os.environ.get("STEPS", "150"))
TYPES = {"json": "application/json-patch+json", "merge": "application/merge-patch+json",
         "strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml"}
# What the server fills in when nobody says anything, by key; both sides are compared without it.
DEFAULTS = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "protocol": "TCP",
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30, "imagePullPolicy": "IfNotPresent", "defaultMode": 420, "tty": False}
SERVER_OWNED = ("resourceVersion", "generation", "managedFields", "uid", "creationTimestamp")

SHAPES = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shapes.test.pumice.dev"},
    "spec": {"group": "test.pumice.dev", "scope": "Namespaced", "names": {"kind": "Shape", "plural": "shapes"}, "versions": [{
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "text": {"type": "string"}, "number": {"type": "integer"}, "either": {"x-kubernetes-int-or-string": True},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "whole": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
                "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "list": {"type": "array", "items": {"type": "string"}},
                "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "side"],
                          "items": {"type": "object", "required": ["name"], "properties": {
                              "name": {"type": "string"}, "side": {"type": "string", "default": "left"},
                              "value": {"type": "integer"},
                              "inner": {"type": "object", "additionalProperties": {"type": "string"}}}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}}]}}


class Patcher:
    def __init__(self):
        self.process = subprocess.Popen([PATCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        request["now"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, "kube_patcher failed"


# ---- comparing ----


def bare(o, is_meta=False):
    """Without what says nothing: null, empty, defaults, what the server owns."""
    if isinstance(o, dict):
        out = {k: bare(v, k == "metadata") for k, v in o.items() if not (is_meta and k in SERVER_OWNED)}
        return {k: v for k, v in out.items() if v not in (None, {}, []) and DEFAULTS.get(k) != v}
    if isinstance(o, list):
        return [bare(v) for v in o]
    return o


def defaulted(schema, o):
    """As the server fills in what a CustomResourceDefinition gives defaults for."""
    if isinstance(o, dict):
        for k, below in schema.get("properties", {}).items():
            if k not in o and "default" in below:
                o[k] = copy.deepcopy(below["default"])
            if k in o:
                defaulted(below, o[k])
        for k in o if isinstance(schema.get("additionalProperties"), dict) else ():
            defaulted(schema["additionalProperties"], o[k])
    for item in o if isinstance(o, list) else ():
        defaulted(schema.get("items", {}), item)
    return o


def owners(o):
    entries = [{k: v for k, v in e.items() if k != "time"} for e in o["metadata"].get("managedFields", [])]
    return sorted(entries, key=lambda e: json.dumps(e, sort_keys=True))


def same(what, ours, theirs, context):
    if ours != theirs:
        raise AssertionError(f"{what} differ\n ours:   {json.dumps(ours, sort_keys=True)}\n theirs: {json.dumps(theirs, sort_keys=True)}\n"
                             f" after {json.dumps(context)}")


# ---- making things up ----


class Maker:
    """Random pieces of objects, from few names, so that they meet."""

    def __init__(self, rng):
        self.rng = rng

    def some(self, names, low=0):
        return self.rng.sample(names, self.rng.randint(low, len(names)))

    def texts(self, low=0):
        return {k: self.rng.choice("xyz") for k in self.some(["a", "b", "c"], low)}

    def maybe(self, chance, **fields):
        return {k: v() for k, v in fields.items() if self.rng.random() < chance}

    def meta(self):
        return self.maybe(0.4, labels=self.texts, annotations=self.texts,
                          finalizers=lambda: self.some(["t.dev/1", "t.dev/2", "t.dev/3"], 1),
                          ownerReferences=lambda: [{"apiVersion": "v1", "kind": "ConfigMap", "name": n, "uid": n}
                                                   for n in self.some(["o1", "o2"], 1)])

    def configmap(self):
        return self.maybe(0.7, data=self.texts, binaryData=lambda: {k: "eA==" for k in self.some(["p", "q"])})

    def container(self, name):
        pick = self.rng.choice
        return {"name": name, **self.maybe(0.9, image=lambda: pick(["i:1", "i:2"])), **self.maybe(
            0.35, env=lambda: [{"name": n, "value": pick("12")} for n in self.some(["A", "B", "C"], 1)],
            ports=lambda: [{"containerPort": p, "protocol": q} for p, q in self.some([(80, "TCP"), (80, "UDP"), (81, "TCP")], 1)],
            command=lambda: [pick(["sh", "ls"])], args=lambda: self.some(["-a", "-b"]),
            resources=lambda: {"requests": {k: "1" for k in self.some(["cpu", "memory"], 1)}},
            volumeMounts=lambda: [{"name": "v1", "mountPath": p} for p in self.some(["/m", "/n"], 1)],
            workingDir=lambda: pick(["/", "/tmp"]), tty=lambda: pick([True, False]))}

    def pod_spec(self):
        pick = self.rng.choice
        return {**self.maybe(0.8, containers=lambda: [self.container(n) for n in self.some(["a", "b", "c"], 1)]), **self.maybe(
            0.3, volumes=lambda: [{"name": n, pick(["emptyDir", "emptyDir", "hostPath"]): {}} for n in self.some(["v1", "v2"], 1)],
            nodeSelector=self.texts, imagePullSecrets=lambda: [{"name": n} for n in self.some(["s1", "s2"], 1)],
            tolerations=lambda: [{"key": k, "operator": "Exists"} for k in self.some(["t1", "t2"], 1)],
            hostAliases=lambda: [{"ip": i, "hostnames": self.some(["h1", "h2"], 1)} for i in self.some(["10.0.0.1", "10.0.0.2"], 1)],
            topologySpreadConstraints=lambda: [{"maxSkew": 1, "topologyKey": k, "whenUnsatisfiable": w} for k, w in self.some(
                [("k1", "DoNotSchedule"), ("k1", "ScheduleAnyway"), ("k2", "DoNotSchedule")], 1)],
            initContainers=lambda: [self.container(n) for n in self.some(["i1", "i2"], 1)],
            securityContext=lambda: self.maybe(0.5, runAsUser=lambda: pick([0, 5]), fsGroup=lambda: 7),
            affinity=lambda: {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": pick("ab"), "operator": "Exists"}]}]}}})}

    def podtemplate(self):
        return {"template": self.maybe(0.9, spec=self.pod_spec, metadata=lambda: self.maybe(0.5, labels=self.texts))}

    def shape(self):
        pick = self.rng.choice
        keyed = [("a", None), ("a", "right"), ("b", "left"), ("c", "right"), ("b", "right")]
        spec = self.maybe(
            0.45, text=lambda: pick("xyz"), number=lambda: self.rng.randint(0, 2), either=lambda: pick([1, "1"]), map=self.texts,
            whole=self.texts, set=lambda: self.some(["a", "b", "c", "d"]), list=lambda: self.some(["a", "b", "c"]),
            keyed=lambda: [{"name": n, **({"side": s} if s else {}), **self.maybe(0.5, value=lambda: self.rng.randint(0, 2),
                                                                                  inner=self.texts)} for n, s in self.some(keyed)],
            free=lambda: self.maybe(0.6, a=lambda: pick([1, "x", [1, {"b": 2}]]), b=self.texts,
                                    c=lambda: {"d": self.texts()}))
        return {"spec": spec} if spec or self.rng.random() < 0.5 else {}

    def queue(self):
        pick = self.rng.choice
        return {"spec": self.maybe(0.6, weight=lambda: pick([1, 2]), capability=lambda: {k: pick(["1", "2"]) for k in self.some(["cpu", "memory"])},
                                   reclaimable=lambda: pick([True, False]), priority=lambda: pick([1, 2]))}

    def job(self):
        pick = self.rng.choice
        task = lambda n: {"name": n, "replicas": pick([1, 2]), "template": {"spec": {"containers": [
            {"name": "main", "image": pick(["i:1", "i:2"]), **self.maybe(0.4, command=lambda: [pick(["sh", "ls"])])}]}}}
        return {"spec": {**self.maybe(0.7, tasks=lambda: [task(n) for n in self.some(["x", "y", "z"], 1)]),
                         **self.maybe(0.4, queue=lambda: "default", maxRetry=lambda: pick([1, 2]), minAvailable=lambda: 1,
                                      plugins=lambda: {k: [] for k in self.some(["env", "svc", "ssh"], 1)})}}

    # ---- patches ----

    def nulls(self, o, depth=0):
        """A merge patch: some members are to go."""
        if not isinstance(o, dict):
            return o
        return {k: None if depth and self.rng.random() < 0.2 else self.nulls(v, depth + 1) for k, v in o.items()}

    def directives(self, o, depth=0, at=""):
        """A strategic patch: with directives here and there. Not where the object has nothing that they could act on: there the
        API server keeps an item that was to be deleted, and drops an object that was to be replaced; we do neither."""
        if isinstance(o, list):
            items = [self.directives(v, depth + 1) for v in o]
            if items and at == "containers" and self.rng.random() < 0.2:
                items[0] = {"$patch": "delete", "name": items[0]["name"]}
            elif items and all(isinstance(v, dict) for v in items) and self.rng.random() < 0.05:
                items = [*o, {"$patch": "replace"}]
            return items
        if not isinstance(o, dict):
            return o
        out = {}
        for k, v in o.items():
            if k in ("ports", "topologySpreadConstraints"):
                continue  # two items may have one merge key, and then the API server's order is its own
            out[k] = None if depth > 1 and self.rng.random() < 0.1 and k not in ("name", "containerPort", "ip", "topologyKey", "uid",
                                                                                "mountPath", "maxSkew", "whenUnsatisfiable") else self.directives(v, depth + 1, k)
            if k in ("containers", "env", "volumes") and v and self.rng.random() < 0.3:
                names = [i["name"] for i in v] + self.some(["a", "b", "A", "v2", "zz"])
                self.rng.shuffle(names)
                out[f"$setElementOrder/{k}"] = [{"name": n} for n in dict.fromkeys(names)]
            if k == "finalizers" and self.rng.random() < 0.5:
                del out[k]
                out["$deleteFromPrimitiveList/finalizers"] = v
            if k == "securityContext" and out.get(k) and self.rng.random() < 0.5:
                out[k]["$patch"] = "replace"
        if "name" in out and ("emptyDir" in out or "hostPath" in out) and self.rng.random() < 0.5:
            out["$retainKeys"] = [k for k in out if not k.startswith("$")]
        return out

    def paths(self, o, at=""):
        yield at
        for k, v in (o.items() if isinstance(o, dict) else enumerate(o) if isinstance(o, list) else ()):
            yield from self.paths(v, f"{at}/{str(k).replace('~', '~0').replace('/', '~1')}")

    def operations(self, live, part):
        live = {**part, "metadata": {**part.get("metadata", {})}, **{k: v for k, v in live.items() if k in part}}
        inside = [p for p in self.paths(live) if p.count("/") > 1 and (
            p.startswith(("/metadata/labels", "/metadata/annotations", "/metadata/finalizers")) or not p.startswith("/metadata"))]
        ops = []
        for _ in range(self.rng.randint(1, 3)):
            if not inside:
                break
            path, op = self.rng.choice(inside), self.rng.choice(["add", "remove", "replace", "test", "copy", "move"])
            ops.append({"op": op, "path": path, **({"value": self.rng.choice(["x", 1, {"a": "x"}, ["a"]])} if op in (
                "add", "replace", "test") else {}), **({"from": self.rng.choice(inside)} if op in ("copy", "move") else {})})
        return ops


# ---- one kind ----


class Kind:
    def __init__(self, bed, patcher, api_version, kind, path, make, schema=None, has_status=False):
        self.bed, self.patcher, self.path, self.make = bed, patcher, path, make
        self.about = {"apiVersion": api_version, "kind": kind, "hasStatus": has_status, **({"schema": schema} if schema else {})}
        self.ops = [t for t in TYPES if not (schema and t == "strategic")]
        self.connection, self.compared = bed.connect(), 0

    def call(self, method, path, body=None, content_type="application/json"):
        self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                {"Content-Type": content_type, "User-Agent": "walker/1.0"})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def whole(self, name, part, **meta):
        return {"apiVersion": self.about["apiVersion"], "kind": self.about["kind"], **part,
                "metadata": {"name": name, **part.get("metadata", {}), **meta}}

    def created(self, body, manager):
        status, theirs = self.call("POST", f"{self.path}?fieldManager={manager}", body)
        if status != 201:
            return None
        new = copy.deepcopy(theirs)
        new["metadata"].pop("managedFields", None)
        ours = self.patcher.ask(op="update", live=None, body=new, manager=manager, **self.about)["object"]
        same("managedFields of a new object", owners(ours), owners(theirs), body)
        return theirs

    def patched(self, op, live, body, manager, force, subresource=""):
        name = live["metadata"]["name"]
        query = {"fieldManager": manager, **({"force": "true"} if force else {})}
        where = f"{self.path}/{name}{'/' + subresource if subresource else ''}?{urllib.parse.urlencode(query)}"
        status, theirs = self.call("PATCH", where, body, TYPES[op])
        context = {"op": op, "manager": manager, "force": force, "subresource": subresource, "body": body, "live": bare(live),
                   "owners": owners(live), "answer": theirs if status != 200 else status}
        about = {**self.about, "manager": manager, "subresource": subresource}
        ours = self.patcher.ask(op=op, live=live, body=body, force=force, **about)
        self.same_answer(op, about, live, ours, status, theirs, context)
        return theirs if status == 200 else live

    def same_answer(self, op, about, live, ours, status, theirs, context):
        message = theirs.get("message", "")
        if status in (409, 400, 413, 415) or (status == 422 and "rejected our request" in message):
            self.compared += 1
            assert ours.get("code") == status, f"they refuse with {status} {message}, we: {ours.get('message')}\n{context}"
            if status == 409:
                same("causes", sorted(ours["causes"], key=str), sorted(theirs["details"]["causes"], key=str), context)
                same("messages", ours["message"], message, context)
            return
        if status == 422 or (status == 500 and op == "strategic"):
            return  # what a schema says of the result is not ours to know; strategic merge fails in many ways
        if status == 500:
            assert ours.get("code") == 400, f"they: {message}, we: {ours}"
            return
        assert status == 200, (status, theirs)
        if op == "json" and "from: the value does not exist" in ours.get("detail", ""):
            return  # they take what is not there for null; RFC 6902 wants an error
        assert "object" in ours, f"we refuse: {ours}\n{json.dumps(context)}"
        self.compared += 1
        same("objects", self.visible(ours["object"], about, live), bare(theirs), context)
        if op != "apply":
            new = copy.deepcopy(theirs)
            new["metadata"].pop("managedFields", None)
            if "managedFields" in ours["object"]["metadata"]:  # as the patch left them
                new["metadata"]["managedFields"] = ours["object"]["metadata"]["managedFields"]
            ours = self.patcher.ask(op="update", live=live, body=new, **about)
        same("managedFields", owners(ours["object"]), owners(theirs), context)

    def visible(self, ours, about, live):
        """What the server lets a request change: status through /status, the rest otherwise."""
        ours, live = bare(defaulted(about.get("schema", {}), ours)), bare(live)
        if about["hasStatus"]:
            kept = ours if about["subresource"] else live
            other = live if about["subresource"] else ours
            ours = {**{k: v for k, v in other.items() if k != "status"}, **({"status": kept["status"]} if "status" in kept else {})}
        return ours

    def walk(self, rng, steps):
        """Random writes, one after the other, on objects that are made anew now and then."""
        maker, live, n = Maker(rng), None, 0
        while n < steps:
            manager = rng.choice(["ann", "bob", "cid"])
            part = getattr(maker, self.make)()
            if rng.random() < 0.5:
                part["metadata"] = maker.meta()
            if live is None or rng.random() < 0.08:
                n += 1
                live = self.created(self.whole(f"x{n}-{rng.randint(0, 10**9)}", part), manager)
                continue
            n += 1
            op = rng.choice(["apply"] * 3 + self.ops)
            sub = "status" if self.make == "shape" and op != "json" and rng.random() < 0.15 else ""
            if sub:
                part = {**part, "status": {"phase": rng.choice("xy")}}
            body = {"apply": lambda: self.whole(live["metadata"]["name"], part), "merge": lambda: maker.nulls(part),
                    "strategic": lambda: maker.directives(part), "json": lambda: maker.operations(live, part)}[op]()
            if op == "merge" and rng.random() < 0.05:
                body.setdefault("metadata", {})["managedFields"] = rng.choice([[], [{}]])
            live = self.patched(op, live, body, manager, op == "apply" and rng.random() < 0.4, sub)


def refusals(kind):
    """What is refused whatever the object is, in the same words."""
    live = kind.created(kind.whole("refused", {}), "ann")
    path = f"{kind.path}/refused"
    words = lambda answer: (answer["code"], answer["reason"], answer["message"])
    for op, body in (("json", {}), ("json", [{"op": "test", "path": "/a", "value": 1}]), ("json", [{"op": "remove", "path": "a"}]),
                     ("json", [{"op": "test", "path": "/a", "value": 1}] * 10001), ("merge", []), ("strategic", []), ("merge", "x")):
        status, theirs = kind.call("PATCH", path, body, TYPES[op])
        ours = kind.patcher.ask(op=op, live=live, body=body, **kind.about)
        same("refusals", words(ours), words(theirs), body if len(body) < 10 else "long")
    for change in ({"apiVersion": "v2"}, {"kind": "Other"}, {"metadata": {"name": "refused", "managedFields": []}}, {"bogus": 1},
                   {"data": {"a": 1}}, {"data": ["a"]}):
        body = {**kind.whole("refused", {}), **change}
        status, theirs = kind.call("PATCH", f"{path}?fieldManager=ann", body, TYPES["apply"])
        ours = kind.patcher.ask(op="apply", live=live, body=body, manager="ann", **kind.about)
        same("refusals", ours.get("message"), theirs["message"].replace("default/refused", "/refused"), body)


def capped(kind):
    """An eleventh manager that updates."""
    live = kind.created(kind.whole("capped", {"data": {"a": "x"}}), "ann")
    for i in range(13):
        live = kind.patched("merge", live, {"data": {f"k{i}": "x"}}, f"m{i:02}", False)
    assert len(owners(live)) == 10 and any(e["manager"] == "ancient-changes" for e in owners(live)), owners(live)


def migrated(kind):
    """From client-side apply: kubectl takes over from itself, and nobody else."""
    name = "migrated"
    manifest = kind.whole(name, {"data": {"a": "x", "b": "x"}})
    note = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(manifest) + "\n"}
    live = kind.created({**manifest, "metadata": {"name": name, "annotations": note}}, "kubectl-client-side-apply")
    live = kind.patched("apply", live, {**manifest, "data": {"a": "y", "b": "x"}}, "kubectl", False)
    live = kind.patched("merge", live, {"data": {"b": "z"}}, "other", False)
    live = kind.patched("apply", live, {**manifest, "data": {"a": "y", "b": "q"}}, "kubectl", False)  # a conflict
    kind.patched("apply", live, {**manifest, "data": {"a": "y", "b": "q"}}, "ann", False)
    assert kind.compared >= 4


def schema_of(bed, plural):
    status, crd = bed.call("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}")
    assert status == 200, crd
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def main():
    suite = Suite()
    try:
        bed = Bed()
        bed.__enter__()
    except Skip as e:
        print(f"skipped: {e}")
        return 77
    try:
        crds = [c for f in ("queues", "jobs") for c in our_crds() if c["metadata"]["name"].startswith(f + ".")]
        bed.apply(SHAPES, *crds)
        patcher = Patcher()
        core, batch = "/api/v1/namespaces/default", "/apis/batch.volcano.sh/v1alpha1/namespaces/default"
        kinds = {
            "configmap": ("v1", "ConfigMap", f"{core}/configmaps", "configmap"),
            "podtemplate": ("v1", "PodTemplate", f"{core}/podtemplates", "podtemplate"),
            "shape": ("test.pumice.dev/v1", "Shape", "/apis/test.pumice.dev/v1/namespaces/default/shapes", "shape",
                      schema_of(bed, "shapes.test.pumice.dev"), True),
            "queue": ("scheduling.volcano.sh/v1beta1", "Queue", "/apis/scheduling.volcano.sh/v1beta1/queues", "queue",
                      schema_of(bed, "queues.scheduling.volcano.sh"), True),
            "job": ("batch.volcano.sh/v1alpha1", "Job", f"{batch}/jobs", "job", schema_of(bed, "jobs.batch.volcano.sh"), True),
        }
        for name, row in kinds.items():
            kind = Kind(bed, patcher, *row)

            def walk(kind=kind, name=name):
                kind.walk(random.Random(f"{SEED} {name}"), STEPS)
                assert kind.compared >= STEPS / 4, f"only {kind.compared} of {STEPS} writes could be compared"
            suite.case(f"random writes: {name}", walk)
        kind = Kind(bed, patcher, *kinds["configmap"])
        for test in (refusals, capped, migrated):
            suite.case(test.__name__, lambda test=test: test(kind))
        suite.case("the library behaves", patcher.close)
    finally:
        bed.__exit__(None, None, None)
    return suite.finish()


def our_crds():
    import glob
    import yaml
    top = os.path.dirname(os.path.dirname(HERE))
    for path in sorted(glob.glob(f"{top}/packaging/crds/*.yaml")):
        with open(path) as f:
            yield from (d for d in yaml.safe_load_all(f) if d and d["kind"] == "CustomResourceDefinition")


if __name__ == "__main__":
    sys.exit(main())
