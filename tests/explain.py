#!/usr/bin/env python3
"""pumice explain: the rule that stops a job, with its numbers; and every suggestion, applied here and tried again.

The state is made of plain dicts. A suggestion is applied by this file alone, from the "edits" in the JSON, and the
program is asked again: the job must start then. --states N (or EXPLAIN_STATES=N) tries N random states; src/whatif's own
test of advice makes the changes in a cluster that runs.
"""
import copy
import json
import os
import random
import re
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor

import yaml

from harness import Suite, pumice

NOW = "2026-03-01T12:00:00Z"
RANDOM_STATES = int(sys.argv[sys.argv.index("--states") + 1] if "--states" in sys.argv else
                    os.environ.get("EXPLAIN_STATES", "24"))
GROUP = "scheduling.k8s.io/group-name"


# ---- a state ----

def node(name, cpu=8, memory="32Gi", labels=None, taints=None, cordoned=False, **more):
    spec = {}
    if taints:
        spec["taints"] = [dict(zip(("key", "value", "effect"), t)) for t in taints]
    if cordoned:
        spec["unschedulable"] = True
    have = {"cpu": str(cpu), "memory": memory, "pods": "110", **{k.replace("gpu", "nvidia.com/gpu"): str(v) for k, v in more.items()}}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": spec, "status": {"allocatable": have, "capacity": have}}


def queue(name, state="Open", **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name},
            "spec": {"weight": 1, **spec}, "status": {"state": state}}


def claim(name, storage_class, namespace="default"):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "finalizers": ["kubernetes.io/pvc-protection"]},
            "spec": {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}}


def hypernode(name, *nodes):
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name},
            "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": n}}} for n in nodes]}}


def priority_class(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def template(cpu=1, memory="1Gi", pod=None, **more):
    want = {"cpu": str(cpu), "memory": memory}
    extended = {k.replace("gpu", "nvidia.com/gpu"): str(v) for k, v in more.items()}
    resources = {"requests": {**want, **extended}}
    if extended:
        resources["limits"] = extended
    return {"spec": {"containers": [{"name": "main", "image": "busybox", "resources": resources}], **(pod or {})}}


def task(name="worker", replicas=1, minimum=None, **kw):
    t = {"name": name, "replicas": replicas, "template": template(**kw)}
    if minimum is not None:
        t["minAvailable"] = minimum
    return t


def job(name, *tasks, namespace="default", created=None, annotations=None, **spec):
    j = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": namespace},
         "spec": {"tasks": list(tasks), **spec}}
    if annotations:
        j["metadata"]["annotations"] = annotations
    if created:
        j["metadata"]["creationTimestamp"] = created
        j["metadata"]["uid"] = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{namespace}/{name}"))
    return j


def min_resources(j, minima):
    units = {"m": .001, "Mi": 2**20, "Gi": 2**30}
    total = {"pods": 0}
    for t in j["spec"]["tasks"]:
        for name, text in t["template"]["spec"]["containers"][0]["resources"]["requests"].items():
            number, unit = re.fullmatch(r"(\d+)(\D*)", text).groups()
            total[name] = total.get(name, 0) + int(number) * units.get(unit, 1) * minima[t["name"]]
        total["pods"] += minima[t["name"]]
    return {name: f"{n * 1000:.0f}m" for name, n in total.items()}


def group_of(j):
    """The PodGroup the controller has made for a job that waits."""
    minima = {t["name"]: t.get("minAvailable", t["replicas"]) for t in j["spec"]["tasks"]}
    spec = {"minMember": j["spec"].get("minAvailable", sum(minima.values())), "minTaskMember": minima,
            "queue": j["spec"].get("queue", "default"), "minResources": min_resources(j, minima)}
    if "priorityClassName" in j["spec"]:
        spec["priorityClassName"] = j["spec"]["priorityClassName"]
    meta = j["metadata"]
    owner = {"apiVersion": j["apiVersion"], "kind": "Job", "name": meta["name"], "uid": meta["uid"], "controller": True}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": f"{meta['name']}-{meta['uid']}", "namespace": meta["namespace"], "ownerReferences": [owner],
                         "creationTimestamp": meta["creationTimestamp"]},
            "spec": spec, "status": {"phase": "Pending"}}


def running(name, nodes, minimum=None, namespace="default", runtime=None, started="2026-03-01T11:00:00Z", priority=None,
            **kw):
    """A job of which every pod runs, as a cluster would show it: Job, PodGroup, Pods. 'nodes': one for each pod."""
    spec = {k: kw.pop(k) for k in ("queue",) if k in kw}
    if priority:
        spec["priorityClassName"] = priority
    n = len(nodes)
    minimum = n if minimum is None else minimum
    j = job(name, task(replicas=n, minimum=minimum, **kw), namespace=namespace, created="2026-03-01T10:59:00Z",
            minAvailable=minimum, **{"queue": "default", "schedulerName": "volcano", **spec})
    if runtime:
        j["metadata"]["annotations"] = {"pumice.dev/runtime": runtime}
    j["status"] = {"state": {"phase": "Running"}, "minAvailable": minimum, "running": n, "version": 0}
    uid = j["metadata"]["uid"]
    owner = [{"apiVersion": j["apiVersion"], "kind": "Job", "name": name, "uid": uid, "controller": True,
              "blockOwnerDeletion": True}]
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
             "metadata": {"name": f"{name}-{uid}", "namespace": namespace, "ownerReferences": owner,
                          "creationTimestamp": "2026-03-01T10:59:00Z"},
             "spec": {"minMember": minimum, "minTaskMember": {"worker": minimum}, "queue": j["spec"]["queue"]},
             "status": {"phase": "Running", "running": n}}
    if priority:
        group["spec"]["priorityClassName"] = priority
    pods = []
    for i, where in enumerate(nodes):
        pod = copy.deepcopy(j["spec"]["tasks"][0]["template"])
        pod.update({"apiVersion": "v1", "kind": "Pod"})
        notes = {GROUP: group["metadata"]["name"], "volcano.sh/task-spec": "worker", "volcano.sh/job-name": name,
                 "volcano.sh/job-version": "0", "volcano.sh/task-index": str(i), "volcano.sh/queue-name": j["spec"]["queue"]}
        pod["metadata"] = {"name": f"{name}-worker-{i}", "namespace": namespace, "ownerReferences": owner,
                           "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{namespace}/{name}/{i}")), "annotations": notes,
                           "labels": {"volcano.sh/job-name": name, "volcano.sh/task-spec": "worker",
                                      "volcano.sh/job-namespace": namespace},
                           "creationTimestamp": "2026-03-01T10:59:30Z"}
        pod["spec"].update({"nodeName": where, "schedulerName": "volcano"})
        if priority:
            pod["spec"]["priorityClassName"] = priority
        pod["status"] = {"phase": "Running", "startTime": started,
                         "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]}
        pods.append(pod)
    return [j, group, *pods]


def flat(items):
    out = []
    for i in items:
        out.extend(flat(i) if isinstance(i, list) else [i])
    return out


# ---- asking ----

def ask(objects, name, *args):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": flat(objects)}, f)
        f.flush()
        run = pumice("explain", name, "-f", f.name, "--at", NOW, *args)
    assert run.returncode == 0, f"status {run.returncode}: {run.stderr}"
    return run.stdout


def explain(objects, name):
    return json.loads(ask(objects, name, "-o", "json"))


# ---- applying a suggestion, by hand ----

def namespace_of(o):
    return o["metadata"].get("namespace", "default")


def owned_by_job(o, namespace, name):
    if namespace_of(o) != namespace:
        return False
    if o["kind"] == "Pod":
        return o["metadata"].get("annotations", {}).get("volcano.sh/job-name") == name
    return o["kind"] == "PodGroup" and any(r["kind"] == "Job" and r["name"] == name
                                           for r in o["metadata"].get("ownerReferences", []))


def set_at(tree, path, value, unset=False):
    parts = [p.replace("~1", "/").replace("~0", "~") for p in path.split("/")[1:]]
    for p in parts[:-1]:
        if isinstance(tree, list):
            tree = tree[int(p)]
        else:
            tree = tree.setdefault(p, {})
    last = parts[-1]
    if isinstance(tree, list):
        if unset:
            del tree[int(last)]
        else:
            tree[int(last)] = value
    elif unset:
        del tree[last]
    else:
        tree[last] = value


def edit(objects, e):
    def is_it(o):
        return o["kind"] == e["kind"] and o["metadata"]["name"] == e["name"] and \
            ("namespace" not in e or namespace_of(o) == e["namespace"])
    if e["op"] in ("set", "unset"):
        found = [o for o in objects if is_it(o)]
        assert len(found) == 1, e
        set_at(found[0], e["path"], e.get("value"), e["op"] == "unset")
    elif e["op"] == "create":
        objects.append(copy.deepcopy(e["value"]))
    elif e["op"] == "delete":
        gone = {id(o) for o in objects if is_it(o)}
        assert gone, e
        for o in objects:
            if e["kind"] == "Job" and owned_by_job(o, e["namespace"], e["name"]):
                gone.add(id(o))
            if e["kind"] == "PodGroup" and o["kind"] == "Pod" and namespace_of(o) == e["namespace"] and \
                    o["metadata"].get("annotations", {}).get(GROUP) == e["name"]:
                gone.add(id(o))
        objects[:] = [o for o in objects if id(o) not in gone]
    elif e["op"] == "add-nodes":
        like = next(o for o in objects if is_it(o))
        for i in range(1, e["count"] + 1): # the names matter only where two nodes are equally good
            n = copy.deepcopy(like)
            name = f"{e['name']}-new-{i}"
            n["metadata"] = {"name": name, "labels": {**n["metadata"].get("labels", {}), "kubernetes.io/hostname": name}}
            objects.append(n)
    else:
        raise AssertionError(f"unknown edit {e}")


def apply(objects, name, s):
    objects = copy.deepcopy(flat(objects))
    for e in s["edits"]:
        edit(objects, e)
    namespace, short = name.split("/")
    if not s["recreatesJob"] and any(e["kind"] == "Job" and e["op"] == "set" for e in s["edits"]):
        for j in [o for o in objects if o["kind"] == "Job" and o["metadata"]["name"] == short]:
            for g in [o for o in objects if o["kind"] == "PodGroup" and owned_by_job(o, namespace, short)]:
                g["spec"] = group_of(j)["spec"] # as the controller does
    if s["recreatesJob"]:
        for o in list(objects):
            if owned_by_job(o, namespace, short):
                objects.remove(o)
            elif o["kind"] == "Job" and o["metadata"]["name"] == short and namespace_of(o) == namespace:
                o.pop("status", None)
                for key in ("uid", "creationTimestamp"):
                    o["metadata"].pop(key, None)
    return objects


def check_suggestions(objects, answer, is_quiet=True):
    """'is_quiet': nobody else is on the move in this state, so who is evicted is evicted for this job."""
    name = answer.get("job") or answer["group"]
    assert len(answer["suggestions"]) <= 5
    for s in answer["suggestions"]:
        assert s["verified"] is True
        after = explain(apply(objects, name, s), name)
        assert after["state"] in ("Starting", "Running"), \
            f"{name}: {s['kind']} {s['text']!r} does not start it: {after['state']} {after.get('why', {}).get('text')}"
        gone = {v["name"]: v["pods"] for v in after.get("evicts", [])}
        told = {v["name"]: v["pods"] for v in s["evicts"]}
        assert gone == told or not is_quiet, f"{name}: {s['text']!r} evicts {gone}, told {told}"
        assert s["how"] or s["kind"] == "nodes", s


# ---- every rule that a user can run into ----

TAINT = ("gpu", "yes", "NoSchedule")
FULL = [node("n1"), running("old", ["n1"] * 2, cpu=4)]
SITUATIONS = {
    # name: (objects, rule, parts of the text, kinds that must be suggested)
    "closed queue": ([node("n1"), queue("q", "Closed"), job("j", task(), queue="q")], "QueueClosed", ["q is closed"],
                     ["queue-open", "queue"]),
    "no queue": ([node("n1"), job("j", task(), queue="nowhere")], "QueueNotFound", ["no queue nowhere"],
                 ["queue-create", "queue"]),
    "queue with children": ([node("n1"), queue("up"), queue("down", parent="up"), job("j", task(), queue="up")],
                            "QueueNotLeaf", ["up"], ["queue"]),
    "closed queue and no room": ([FULL, queue("default", reclaimable=False), queue("q", "Closed"),
                                  job("j", task(replicas=2), queue="q")], "QueueClosed", ["q is closed"], ["free"]),
    "capability": ([node("n1", cpu=16), queue("q", capability={"cpu": "4"}), running("old", ["n1"] * 3, queue="q"),
                    job("j", task(replicas=3), queue="q")], "QueueCapability", ["q", "1", "3"],
                   ["queue", "queue-capability"]),
    "capability above": ([node("n1", cpu=16), queue("up", capability={"cpu": "4"}), queue("down", parent="up"),
                          running("old", ["n1"] * 3, queue="down"), job("j", task(replicas=3), queue="down")],
                         "QueueCapability", ["up"], ["min-available"]),
    "fair share": ([node("n1", cpu=8), queue("a"), queue("b"), queue("c"),
                    running("old-a", ["n1"] * 3, queue="a"), running("old-b", ["n1"] * 3, queue="b"),
                    job("more-a", task(replicas=4), queue="a", created="2026-03-01T11:30:00Z"),
                    job("more-b", task(replicas=4), queue="b", created="2026-03-01T11:31:00Z"),
                    job("j", task(replicas=4), queue="a", created="2026-03-01T11:40:00Z")], None, [], []),
    "no room": ([node("n1"), node("n2"), running("old", ["n1"] * 3, cpu=2), job("j", task(replicas=6, cpu=2))],
                "NotEnoughResources", ["6 places", "5 "], ["min-available", "replicas"]),
    "fragmented": ([node("n1", cpu=3), node("n2", cpu=3), node("n3", cpu=3), job("j", task(replicas=4, cpu=2))], None,
                   ["Insufficient cpu"], ["min-available"]),
    "gpu nowhere": ([node("n1"), job("j", task(gpu=1))], "NeverFits", ["Insufficient nvidia.com/gpu"], []),
    "gpu, all used": ([node("n1", cpu=16, gpu=2), running("old", ["n1"], gpu=2), job("j", task(gpu=1))],
                      "NotEnoughResources", ["Insufficient nvidia.com/gpu"], ["free", "nodes"]),
    "larger than any node": ([node("n1"), job("j", task(cpu=12))], "NeverFits", ["Insufficient cpu"], ["requests"]),
    "selector": ([node("n1", labels={"disk": "hdd"}), job("j", task(pod={"nodeSelector": {"disk": "ssd"}}))], "NeverFits",
                 ["affinity/selector"], ["node-selector"]),
    "taint": ([node("n1", taints=[TAINT]), job("j", task())], "NeverFits", ["untolerated taint"], ["toleration"]),
    "cordon": ([node("n1", cordoned=True), job("j", task())], None, ["unschedulable"], ["uncordon"]),
    "affinity": ([node("n1"), job("j", task(pod={"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["x"]}]}]}}}}))], "NeverFits", ["affinity/selector"], ["constraint"]),
    "anti-affinity": ([node("n1"), node("n2"), job("j", dict(task(replicas=3), template={
        "metadata": {"labels": {"app": "x"}}, "spec": {**template()["spec"], "affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {
                "matchLabels": {"app": "x"}}}]}}}}))], "NeverFits", ["anti-affinity"], ["constraint", "min-available"]),
    "fifo, and it can never run": ([node("n1"), queue("q", dequeueStrategy="fifo"), job("j", task(cpu=12), queue="q")], "NeverFits",
                                   ["Insufficient cpu", "the jobs behind it in its queue do not wait for it"], ["requests"]),
    "fifo": ([node("n1", cpu=4), queue("q", dequeueStrategy="fifo"), running("old", ["n1"] * 2, queue="q"),
              job("big", task(cpu=3), queue="q", created="2026-03-01T11:59:30Z"), # nothing is kept for it yet
              job("j", task(), queue="q", created="2026-03-01T11:59:40Z")], "QueueOrder", ["q", "big", "fifo"],
             ["queue", "queue-strategy"]),
    "priority would evict": ([FULL, priority_class("high", 100), job("j", task(replicas=2, cpu=4))], "NotEnoughResources",
                             [], ["priority"]),
    "two tasks": ([node("n1", cpu=8), job("j", task("ps", 1, cpu=2), task("worker", 8, cpu=1))], None, [],
                  ["min-available", "replicas"]),
    "elastic": ([node("n1", cpu=2), job("j", task(replicas=8, minimum=4), minAvailable=4)], None, [], ["min-available"]),
    "missing priority class": ([FULL, job("j", task(cpu=4), priorityClassName="high")], "NotEnoughResources", [],
                               ["priority-create"]),
    "more nodes": ([FULL, job("j", task(replicas=3, cpu=8))], None, [], ["nodes"]),
    "gates": ([node("n1"), job("j", task(replicas=2, pod={"schedulingGates": [{"name": "example.com/wait"}]}))],
              "SchedulingGated", ["2 pods have scheduling gates"], []),
    "topology": ([node("n1", cpu=2), node("n2", cpu=2), hypernode("s0", "n1"), hypernode("s1", "n2"),
                  job("j", task(replicas=4), networkTopology={"mode": "hard", "highestTierAllowed": 1})], None, ["4"],
                 ["constraint", "min-available"]),
    "kept for another": ([node("n1", cpu=4), running("old", ["n1"], cpu=2, runtime="90m"),
                          job("big", task(replicas=4), created="2026-03-01T11:30:00Z"),
                          job("j", task(), created="2026-03-01T11:50:00Z")], "Reserved",
                         ["keeps the free room for default/big", "default/big starts by 2026-03-01T12:30:00Z"],
                         ["priority", "free", "nodes"]),
    "kept in its queue": ([node("n1", cpu=16), queue("q", capability={"cpu": "4"}), running("old", ["n1"] * 2, queue="q"),
                           job("big", task(replicas=4), queue="q", created="2026-03-01T11:30:00Z"),
                           job("j", task(), queue="q", created="2026-03-01T11:50:00Z")], "QueueReserved",
                          ["kept for default/big"], ["queue", "free"]),
    "missing storage class": ([node("n1"), claim("data", "nosuch"), job("j", task(pod={"volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}))], "NeverFits", ["unbound"], []),
    "two jobs to stop": ([node("n1"), running("a", ["n1"], cpu=4), running("b", ["n1"], cpu=4), job("j", task(cpu=8))],
                         "NotEnoughResources", [], ["free"]),
}

FIRST = {"closed queue": "queue-open", "no queue": "queue-create", "selector": "node-selector", "taint": "toleration",
         "cordon": "uncordon", "affinity": "constraint", "no room": "min-available"}


def check_harm(suggestions, text):
    """What evicts pods of others, or deletes their jobs, comes last, and the list says so."""
    harm = [s["stopsJobs"] for s in suggestions]
    assert harm == sorted(harm), [(s["kind"], s["stopsJobs"]) for s in suggestions]
    for s in suggestions:
        assert s["stopsJobs"] == bool(s["evicts"] or s["kind"] == "free"), s
    assert ("At the cost of other jobs:" in text) == any(harm), text


def situation(name):
    objects, rule, parts, kinds = SITUATIONS[name]
    answer = explain(objects, "default/j")
    text = ask(objects, "j")
    assert answer["state"] == "Waiting", answer["state"]
    if rule:
        assert answer["why"]["rule"] == rule, answer["why"]
    for part in parts:
        assert part in answer["why"]["text"], answer["why"]
    assert answer["why"]["text"].rstrip(".") in text and answer["why"]["rule"] in text, text
    have = [s["kind"] for s in answer["suggestions"]]
    missing = [k for k in kinds if k not in have]
    assert not missing, f"want {kinds}, got {have}: {[s['text'] for s in answer['suggestions']]}"
    if name in FIRST:
        assert have[0] == FIRST[name], have
    check_harm(answer["suggestions"], text)
    check_suggestions(objects, answer, is_quiet=name != "fair share")


# ---- the numbers ----

def by_kind(answer, kind):
    found = [s for s in answer["suggestions"] if s["kind"] == kind]
    assert len(found) == 1, [s["text"] for s in answer["suggestions"]]
    return found[0]


def nodes_refuse_as_the_scheduler_does():
    """Node affinity keeps a pod away; a toleration of node.kubernetes.io/unschedulable lets it onto a cordoned node."""
    zone = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["x", "y"]}]}]}}}}
    here = {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}
    nodes = [node("n1", labels={"zone": "x"}), node("n2", cordoned=True, labels={"zone": "z"}), node("n3")]
    for pod, want in ((zone, {"n1": "not in its node affinity", "n2": "cordoned"}), (here, {}), ({}, {"n2": "cordoned"})):
        answer = explain([*nodes, job("j", task(cpu=12, pod=pod))], "j")
        assert (answer["why"]["have"], answer["why"]["need"]) == (0, 1), answer["why"] # places, though cpu is what is short
        assert {n["name"]: n["refuses"] for n in answer["free"]["nodes"] if "refuses" in n} == want, answer["free"]


def largest_value_that_works():
    answer = explain(SITUATIONS["no room"][0], "j")
    for kind, target in (("min-available", "j"), ("replicas", "worker")):
        s = by_kind(answer, kind)
        assert (s["target"], s["from"], s["to"]) == (target, "6", "5"), s
    s = by_kind(answer, "min-available") # of a job of one task one number is enough
    assert [e["path"] for e in s["edits"]] == ["/spec/minAvailable"], s


def the_task_that_gives_way_is_named():
    """With several tasks the others keep their minimum."""
    s = by_kind(explain(SITUATIONS["two tasks"][0], "j"), "min-available")
    assert (s["target"], s["from"], s["to"]) == ("worker", "8", "6"), s
    assert {e["path"]: e["value"] for e in s["edits"]} == {"/spec/tasks/1/minAvailable": 6, "/spec/minAvailable": 7}, s


def a_job_that_means_to_run_with_less():
    """minAvailable below the sum: tasks that name no minimum have none, and the first pods are those of high priority."""
    driver = task("driver", 1, cpu=4, pod={"priorityClassName": "high"})
    objects = [node("n1", cpu=5), priority_class("high", 10), job("j", task("executor", 5), driver, minAvailable=3)]
    answer = explain(objects, "j")
    assert {t["name"]: t["missing"] for t in answer["needs"]["tasks"]} == {"driver": 1, "executor": 2}, answer["needs"]
    assert answer["needs"]["pods"] == 3 and answer["needs"]["total"]["cpu"] == "6", answer["needs"]
    s = by_kind(answer, "min-available")
    assert (s["target"], s["from"], s["to"]) == ("j", "3", "2"), s
    assert "1 × driver" in ask(objects, "j") and "2 × executor" in ask(objects, "j")
    check_suggestions(objects, answer)


def needs_and_free():
    answer = explain(SITUATIONS["no room"][0], "j")
    assert answer["needs"]["pods"] == 6 and answer["needs"]["total"]["cpu"] == "12", answer["needs"]
    assert answer["needs"]["total"]["memory"] == "6Gi", answer["needs"]
    assert answer["free"]["total"]["cpu"] == "10" and answer["free"]["of"]["cpu"] == "16", answer["free"]
    assert [(n["name"], n["fits"]) for n in answer["free"]["nodes"]] == [("n2", 4), ("n1", 1)], answer["free"]


def requests_are_round():
    answer = explain(SITUATIONS["larger than any node"][0], "j")
    s = by_kind(answer, "requests")
    assert (s["target"], s["what"], s["from"], s["to"]) == ("worker", "cpu", "12", "8"), s


def capability_is_raised_to_what_is_needed():
    s = by_kind(explain(SITUATIONS["capability"][0], "j"), "queue-capability")
    assert (s["target"], s["what"], s["from"], s["to"]) == ("q", "cpu", "4", "6"), s


def both_jobs_are_named():
    s = by_kind(explain(SITUATIONS["two jobs to stop"][0], "j"), "free")
    assert "default/a" in s["text"] and "default/b" in s["text"], s


def the_cheapest_job_is_freed():
    objects = [node("n1"), running("dear", ["n1"] * 4, priority="high"), running("cheap", ["n1"] * 4), priority_class("high", 10),
               job("j", task(cpu=4))]
    assert by_kind(explain(objects, "j"), "free")["target"] == "default/cheap"


def victims_are_named():
    s = by_kind(explain(SITUATIONS["priority would evict"][0], "j"), "priority")
    assert s["target"] == "high" and s["evicts"] == [{"name": "default/old", "pods": 2}], s


def who_keeps_what():
    """The holder, how much it has and until when; a running job that says nothing leaves the end open."""
    objects = SITUATIONS["kept for another"][0]
    answer = explain(objects, "j")
    assert answer["holder"] == {"name": "default/big", "pods": 4, "keeps": {"cpu": "4", "memory": "4Gi", "pods": "4"},
                                "until": "2026-03-01T12:30:00Z"}, answer["holder"]
    assert "kept     4 cpu, 4Gi memory for 4 pods of default/big, until 2026-03-01T12:30:00Z at the latest" in ask(objects, "j")
    silent = [objects[0], running("old", ["n1"], cpu=2), *objects[2:]]
    assert "until" not in explain(silent, "j")["holder"] and "until the pods in its way end" in ask(silent, "j")
    assert by_kind(answer, "free")["target"] == "default/big"


def ahead_in_order():
    objects = [node("n1", cpu=4), priority_class("high", 10), running("old", ["n1"], priority="high"), queue("shut", "Closed"),
               job("never", task(cpu=9), created="2026-03-01T10:00:00Z"),
               job("closed", task(cpu=1), queue="shut", created="2026-03-01T10:00:00Z"),
               job("first", task(cpu=4), created="2026-03-01T11:00:00Z", priorityClassName="high"),
               job("second", task(cpu=4), created="2026-03-01T11:10:00Z"),
               job("j", task(cpu=4), created="2026-03-01T11:20:00Z")]
    answer = explain(objects, "j") # those that cannot be served hold nobody up
    assert [a["name"] for a in answer["ahead"]] == ["default/first", "default/second"], answer["ahead"]
    assert answer["ahead"][0]["needs"]["cpu"] == "4", answer["ahead"]
    assert "no jobs: it is first in line" in ask(objects, "first")
    for name in ("never", "closed"):
        assert explain(objects, name)["ahead"] == [] and "ahead" not in ask(objects, name), name


def estimate_from_runtimes():
    objects = [node("n1"), running("old", ["n1"] * 2, cpu=4, runtime="90m"), job("j", task(replicas=2, cpu=4))]
    e = explain(objects, "j")["estimate"]
    assert e["known"] and e["seconds"] == 1800 and e["startsAt"] == "2026-03-01T12:30:00Z", e
    assert e["after"] == ["default/old"], e
    assert "in about 30m (2026-03-01T12:30:00Z), when default/old ends" in ask(objects, "j")


def estimate_after_those_ahead():
    objects = [node("n1"), running("old", ["n1"] * 2, cpu=4, runtime="90m"),
               job("next", task(cpu=8), created="2026-03-01T11:00:00Z", annotations={"pumice.dev/runtime": "1h"}),
               job("j", task(cpu=8), created="2026-03-01T11:30:00Z")]
    e = explain(objects, "j")["estimate"]
    assert e["known"] and e["seconds"] == 5400 and e["after"] == ["default/next"], e


def no_estimate_without_runtime():
    e = explain(SITUATIONS["gpu, all used"][0], "j")["estimate"]
    assert not e["known"] and e["unknownRuntime"] == ["default/old"], e
    assert "default/old does not say how long it runs" in ask(SITUATIONS["gpu, all used"][0], "j")


def who_never_starts():
    """That somebody else does not say how long it runs is no answer where it does not matter."""
    objects = [FULL, queue("shut", "Closed"), job("j", task(), queue="shut"), job("k", task(cpu=9)), job("l", task())]
    for name, never in (("j", True), ("k", True), ("l", False)):
        answer = explain(objects, name)
        assert answer["state"] == "Waiting", answer
        e = answer["estimate"]
        assert not e["known"] and e["never"] is never and e["unknownRuntime"] == ["default/old"], (name, e)
        assert ("not even when all that runs has ended" in ask(objects, name)) == never, name


def others_on_the_move():
    """What others evict is not laid at the door of a suggestion, and is taken for done."""
    objects = [node("n1", cpu=8), queue("a", weight=3), queue("b"), running("b1", ["n1"] * 4, cpu=1, queue="b"),
               running("b2", ["n1"] * 4, cpu=1, queue="b"), job("a1", task(replicas=4), queue="a", created="2026-03-01T11:00:00Z"),
               job("j", task(replicas=6), queue="b", created="2026-03-01T11:30:00Z")]
    answer = explain(objects, "j")
    assert answer["state"] == "Waiting", answer
    gone = sum(v["pods"] for v in explain(objects, "a1").get("evicts", []))
    for s in answer["suggestions"]: # these go for a1, whatever is done about j
        assert sum(v["pods"] for v in s["evicts"]) <= 8 - gone, s


def a_podgroup_does_not_own_its_pods():
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"},
             "spec": {"minMember": 2, "queue": "default"}, "status": {"phase": "Running"}}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}", "annotations": {GROUP: "g"}},
             "spec": {**template(cpu=4)["spec"], "schedulerName": "volcano", "nodeName": "n1"},
             "status": {"phase": "Running", "startTime": "2026-03-01T11:00:00Z"}} for i in range(2)]
    objects = [node("n1"), group, *pods, job("j", task(cpu=8))]
    s = by_kind(explain(objects, "j"), "free")
    assert s["how"] == ["kubectl delete pg g -n default", "kubectl delete pod p0 p1 -n default"], s["how"]
    check_suggestions(objects, explain(objects, "j"))


def a_native_podgroup_is_another_kind():
    """One of scheduling.k8s.io has the same kind, name and owner. It is not taken for Volcano's; pods that are in it are kube-scheduler's."""
    j = job("j", task(replicas=2, cpu=8))
    j["metadata"]["uid"] = "u-1"
    j["status"] = {"state": {"phase": "Pending"}}
    group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {
        "name": "j-u-1", "namespace": "default", "ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u-1",
                                                                      "controller": True}]},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        "status": {"conditions": [{"type": "PodGroupScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}]}}
    answer = explain([node("n1"), j, group], "j")
    assert answer["state"] == "Waiting" and answer["needs"]["pods"] == 2, answer
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"j-worker-{i}", "namespace": "default", "annotations": {GROUP: "j-u-1", "volcano.sh/job-name": "j"}},
             "spec": {**template(cpu=8)["spec"], "schedulerName": "default-scheduler", "schedulingGroup": {"podGroupName": "j-u-1"}},
             "status": {"phase": "Pending"}} for i in range(2)]
    for version, condition in (("v1beta1", "PodGroupInitiallyScheduled"), ("v1alpha2", "PodGroupScheduled")):
        group["apiVersion"], group["status"]["conditions"][0]["type"] = f"scheduling.k8s.io/{version}", condition
        answer = explain([node("n1"), j, group, *pods], "j")
        assert (answer["state"], answer["reason"], answer["message"]) == ("Native", "Unschedulable", "no room"), answer
    assert answer["podGroup"] == "j-u-1" and answer["placed"] == 0 and answer["minAvailable"] == 2, answer


def many_notes_are_few():
    pods = flat([running(f"r{i}", ["n1"], cpu="1") for i in range(20)])
    for o in pods:
        if o["kind"] == "Pod":
            o["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"
    notes = explain([node("n1"), pods, job("j", task(cpu=9))], "j")["notes"]
    assert len(notes) == 5 and re.fullmatch(r"and \d+ more like these", notes[-1]), notes


def devices_are_counted():
    objects = [node(f"n{i}", cpu=64, gpu=1500) for i in range(2)] + [job("j", task(replicas=2, gpu=2000))]
    text = ask(objects, "j")
    assert "4000 nvidia.com/gpu for 2 pods" in text and "3000 nvidia.com/gpu on 2 nodes" in text, text


# ---- jobs that do not wait ----

def not_waiting():
    done = job("done", task(), created="2026-03-01T10:00:00Z")
    done["status"] = {"state": {"phase": "Completed", "reason": "Completed", "message": "all tasks succeeded"}}
    failed = job("failed", task(), created="2026-03-01T10:00:00Z")
    failed["status"] = {"state": {"phase": "Failed", "reason": "RetriesExhausted", "message": "no retry is left (maxRetry 3)"}}
    objects = [node("n1"), running("up", ["n1"]), done, failed, job("fresh", task())]
    for name, state, part in (("up", "Running", "is running: 1 of the 1 pods"), ("done", "Ended", "it is Completed"),
                              ("failed", "Ended", "it is Failed (RetriesExhausted): no retry is left (maxRetry 3)"),
                              ("fresh", "Starting", "can start")):
        assert explain(objects, name)["state"] == state, (name, explain(objects, name))
        text = ask(objects, name)
        assert part in text and text.count("\n") == 1, text


def blocked():
    bad = job("bad", task(replicas=-1))
    claim = job("claim", task(), volumes=[{"mountPath": "/data", "volumeClaimName": "missing"}])
    for j, part in ((bad, "replicas"), (claim, "PersistentVolumeClaim missing does not exist")):
        answer = explain([node("n1"), j], j["metadata"]["name"])
        assert answer["state"] == "Blocked" and part in answer["message"], answer
        assert part in ask([node("n1"), j], j["metadata"]["name"])


def depends_on():
    second = task("second")
    second["dependsOn"] = {"name": ["first"]}
    objects = [node("n1", cpu=2), job("j", task("first", cpu=4), second)]
    answer = explain(objects, "j")
    assert answer["needs"]["pods"] == 1, answer["needs"]
    assert "Task second waits for first (dependsOn)" in ask(objects, "j")
    check_suggestions(objects, answer)


def pod_group_by_name():
    objects = [node("n1"), running("old", ["n1"] * 2, cpu=4), running("lost", ["n1"], cpu=1)]
    answer = explain(objects, objects[1][1]["metadata"]["name"])
    assert answer["job"] == "default/old", answer


def bare_pod_group():
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"},
             "spec": {"minMember": 3, "queue": "default"}, "status": {"phase": "Pending"}}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}", "annotations": {GROUP: "g"}},
             "spec": {**template()["spec"], "schedulerName": "volcano"}, "status": {"phase": "Pending"}} for i in range(2)]
    objects = [node("n1"), group, *pods]
    answer = explain(objects, "g")
    assert answer["why"]["rule"] == "NotEnoughTasks" and answer["why"]["have"] == 2 and answer["why"]["need"] == 3, answer
    s = by_kind(answer, "min-available")
    assert (s["from"], s["to"]) == ("3", "2"), s
    check_suggestions(objects, answer)


def pods_of_a_role_are_missing():
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"},
             "spec": {"minMember": 2, "minTaskMember": {"ps": 1, "worker": 1}, "queue": "default"}, "status": {"phase": "Pending"}}
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}", "annotations": {GROUP: "g", "volcano.sh/task-spec": "worker"}},
             "spec": {**template()["spec"], "schedulerName": "volcano"}, "status": {"phase": "Pending"}} for i in range(2)]
    why = explain([node("n1"), group, *pods], "g")["why"]
    assert (why["rule"], why.get("task"), why["have"], why["need"]) == ("NotEnoughPodsOfTask", "ps", 0, 1), why


def list_of_all():
    out = json.loads(pumice("explain", "-f", "-", "-o", "json", "--at", NOW,
                            stdin=json.dumps({"apiVersion": "v1", "kind": "List",
                                              "items": flat(SITUATIONS["fifo"][0])})).stdout)
    assert [(w["name"], w["rule"]) for w in out["waiting"]] == [("default/big", "NotEnoughResources"), ("default/j", "QueueOrder")], out


def the_only_job_needs_no_name():
    with tempfile.TemporaryDirectory() as d:  # the state as a directory
        with open(os.path.join(d, "state.json"), "w") as f:
            json.dump({"apiVersion": "v1", "kind": "List", "items": [node("n1", cpu=1), job("j", task(cpu=4))]}, f)
        with_name, without = (pumice("explain", *name, "-f", d, "--at", NOW) for name in (["j"], []))
    assert without.returncode == 0 and "cpu" in without.stdout and without.stdout == with_name.stdout, without


# ---- wrong use ----

def wrong_use():
    state = json.dumps({"apiVersion": "v1", "kind": "List", "items": flat(FULL + [job("train", task())])})
    for args, stdin, status, part in (
            (["trian", "-f", "-"], state, 1, "did you mean train?"),
            (["other", "-f", "-"], state, 1, "jobs in STATE: default/old, default/train"),
            (["j", "-f", "-"], json.dumps(node("n1")), 1, "STATE has no Job"),
            (["j"], None, 2, "no STATE given with -f: no cluster is configured"),
            (["train", "-f", "-", "--at", "yesterday"], state, 2, "--at"),
            (["train", "-f", "/nowhere.yaml"], None, 1, "/nowhere.yaml"),
            (["train", "-f", "-", "-o", "xml"], state, 2, "xml")):
        run = pumice("explain", *args, stdin=stdin, env={**os.environ, "KUBECONFIG": "/nonexistent"})
        assert run.returncode == status and part in run.stderr, (args, run.returncode, run.stderr)
        assert run.stdout == "", run.stdout


def settings_without_effect():
    """Each is told with its line and, where there is one, the word that was meant; by every command that reads the file."""
    missing = "deviceshare extender numaaware rescheduling resource-strategy-fit resourcequota tdm usage".split()
    text = 'actions: "enqueue, allocate, backfill"\nconfiguration: []\ntiers:\n- plugins:\n  - name: gangs\n' \
           '  - name: binpack\n    arguments: {binpack.wait: 1}\n    enableNodeOrdr: true\n' + "".join(f"  - name: {m}\n" for m in missing)
    told = {2: "did you mean configurations", 5: "did you mean gang", 7: "binpack.weight", 8: "enableNodeOrder",
            **{9 + i: f"plugin {m} does nothing here" for i, m in enumerate(missing)}}
    state = yaml.safe_dump_all([node("n1"), queue("default"), job("a", task())])
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text)
        f.flush()
        for command in (["explain", "a", "-f", "-"], ["plan", "-"]):
            run = pumice(*command, "--scheduler-config", f.name, stdin=state)
            lines = run.stderr.splitlines()
            for at, words in told.items():
                assert any(line.startswith(f"warning: {f.name}:{at}: ") and words in line for line in lines), (command, at, words, run.stderr)
            assert len(lines) == len(told), run.stderr


def no_node():
    run = pumice("explain", "j", "-f", "-", stdin=json.dumps(job("j", task())))
    assert run.returncode == 0 and "no Node in STATE" in run.stderr, run.stderr
    assert "there are no nodes" in run.stdout, run.stdout


def kubectl_forms():
    """YAML, a List, several files, a namespace in front, kind/name."""
    objects = flat(SITUATIONS["no room"][0])
    want = explain(objects, "j")
    with tempfile.TemporaryDirectory() as d:
        paths = [os.path.join(d, "nodes.yaml"), os.path.join(d, "rest.yaml")]
        for path, part in zip(paths, (objects[:2], objects[2:])):
            with open(path, "w") as f:
                yaml.safe_dump_all(part, f)
        for args in (["j", "-f", paths[0], "-f", paths[1]], ["default/j", "-f", *paths], ["vcjob/j", "-f", *paths]):
            run = pumice("explain", *args, "--at", NOW, "-o", "json")
            assert run.returncode == 0, run.stderr
            assert json.loads(run.stdout) == want, args


def the_same_each_time():
    for name in ("no room", "priority would evict"):
        assert ask(SITUATIONS[name][0], "j") == ask(SITUATIONS[name][0], "j")


def strange_names_do_no_harm():
    objects = [node("n1"), queue("q\u001b[31m", "Closed"), job("j", task(), queue="q\u001b[31m")]
    text = ask(objects, "j")
    assert "\033" not in text, text


def manual_is_true():
    """The example of docs/explain.md is what the program says."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "explain.md")) as f:
        text = f.read()
    want = re.search(r"```console\n\$ .*?\n(.*?)```", text, re.S).group(1)
    with tempfile.TemporaryDirectory() as d:
        paths = [os.path.join(d, name) for name in ("state.yaml", "train.yaml")]
        for path, block in zip(paths, re.findall(r"```yaml\n(.*?)```", text, re.S)):
            with open(path, "w") as f:
                f.write(block)
        run = pumice("explain", "train", "-f", *paths, "--at", NOW)
    assert run.stdout == want, run.stdout + run.stderr


# ---- random states ----

def random_state(seed):
    r = random.Random(seed)
    nodes = [node(f"n{i}", cpu=r.choice((2, 4, 8)), memory=r.choice(("4Gi", "8Gi", "16Gi")),
                  cordoned=r.random() < .08, taints=[TAINT] if r.random() < .1 else None,
                  labels={"disk": r.choice(("ssd", "hdd"))}, **({"gpu": r.randint(1, 4)} if r.random() < .3 else {}))
             for i in range(r.randint(1, 5))]
    queues = [queue(f"q{i}", state="Closed" if r.random() < .1 else "Open", weight=r.randint(1, 4),
                    **({"capability": {"cpu": str(r.randint(2, 10))}} if r.random() < .4 else {}),
                    **({"dequeueStrategy": "fifo"} if r.random() < .2 else {})) for i in range(r.randint(0, 3))]
    names = [q["metadata"]["name"] for q in queues] + ["default"]
    classes = [priority_class("high", 100), priority_class("low", 10)] if r.random() < .5 else []
    free = {n["metadata"]["name"]: int(n["status"]["allocatable"]["cpu"]) for n in nodes
            if not n["spec"].get("unschedulable") and not n["spec"].get("taints")}
    state = [nodes, queues, classes]
    for i in range(r.randint(0, 4)):
        cpu, where = r.choice((1, 2)), []
        for _ in range(r.randint(1, 4)):
            fits = [n for n, left in free.items() if left >= cpu]
            if fits:
                where.append(r.choice(fits))
                free[where[-1]] -= cpu
        if where:
            state.append(running(f"run{i}", where, cpu=cpu, memory="128Mi", queue=r.choice(names),
                                 runtime=r.choice((None, "65m", "2h")),
                                 priority=r.choice((None, "low")) if classes else None))
    waiting = []
    for i in range(r.randint(1, 3)):
        pod = {}
        if r.random() < .15:
            pod["nodeSelector"] = {"disk": r.choice(("ssd", "nvme"))}
        tasks = [task(t, r.randint(1, 6), cpu=r.choice((1, 2, 4, 6)), memory=r.choice(("256Mi", "1Gi", "3Gi")), pod=copy.deepcopy(pod),
                      **({"gpu": 1} if r.random() < .15 else {})) for t in (["worker"] if r.random() < .7 else ["ps", "worker"])]
        spec = {"queue": r.choice(names + (["gone"] if r.random() < .05 else []))}
        if classes and r.random() < .5:
            spec["priorityClassName"] = r.choice(("high", "low"))
        if r.random() < .3:
            tasks[-1]["minAvailable"] = r.randint(1, tasks[-1]["replicas"])
        waiting.append(job(f"j{i}", *tasks, created=f"2026-03-01T11:{r.randint(10, 50)}:00Z" if r.random() < .8 else None, **spec))
    groups = [group_of(j) for j in waiting if "uid" in j["metadata"] and r.random() < .5]
    return [state, waiting, groups], [j["metadata"]["name"] for j in waiting]


def random_case(seed):
    """The kinds that were suggested."""
    objects, names = random_state(seed)
    kinds = []
    for name in names:
        answer = explain(objects, "default/" + name)
        if answer["state"] == "Waiting":
            assert answer["why"]["text"], answer
            check_suggestions(objects, answer, is_quiet=False)
            kinds += [s["kind"] for s in answer["suggestions"]]
    return kinds


def random_states_say_much(kinds):
    """The random states are worth their time: many suggestions, of most kinds."""
    missing = {"queue-open", "queue-create", "min-available", "replicas", "queue", "requests", "priority", "free",
               "nodes"} - set(kinds)
    assert len(kinds) > RANDOM_STATES and not missing, (len(kinds), missing)


def main():
    suite = Suite()
    cases = [(name, lambda n=name: situation(n)) for name in SITUATIONS]
    for test in (nodes_refuse_as_the_scheduler_does, largest_value_that_works, the_task_that_gives_way_is_named, a_job_that_means_to_run_with_less,
                 who_never_starts, others_on_the_move, a_podgroup_does_not_own_its_pods, a_native_podgroup_is_another_kind, many_notes_are_few,
                 devices_are_counted, needs_and_free, requests_are_round, capability_is_raised_to_what_is_needed,
                 both_jobs_are_named, the_cheapest_job_is_freed, victims_are_named, who_keeps_what, ahead_in_order, estimate_from_runtimes,
                 estimate_after_those_ahead, no_estimate_without_runtime, not_waiting, blocked, depends_on,
                 pod_group_by_name, bare_pod_group, pods_of_a_role_are_missing, list_of_all, the_only_job_needs_no_name, wrong_use, settings_without_effect, no_node, kubectl_forms, the_same_each_time,
                 strange_names_do_no_harm, manual_is_true):
        cases.append((test.__name__, test))
    with ThreadPoolExecutor(os.cpu_count()) as pool: # the program does the work, not this one
        for name, result in [(name, pool.submit(test)) for name, test in cases]:
            suite.case(name, result.result)
        tried = {seed: pool.submit(random_case, seed) for seed in range(RANDOM_STATES)}
        for seed, result in tried.items():
            suite.case(f"random state {seed}", result.result)
    kinds = [k for result in tried.values() if not result.exception() for k in result.result()]
    if RANDOM_STATES >= 100:
        suite.case("random states say much", lambda: random_states_say_much(kinds))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
