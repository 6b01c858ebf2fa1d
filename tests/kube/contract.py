#!/usr/bin/env python3
"""What Volcano's clients and scripts wait for, before a real API server with hollow kubelets: every phase in a written
status, Events, PodGroups by name, queues, settings; and PodGroups for pods that belong to no Job."""
import collections
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from controller import JOBS, Controller, Hollow, install, job, phase, pods, story_of, submit, until, until_phase  # noqa: E402
from harness import Suite  # noqa: E402

NAMESPACE = "/namespaces/default"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"


def get(bed, path):
    status, answer = bed.call("GET", path)
    return answer if status == 200 else None


def create(bed, path, body):
    status, answer = bed.call("POST", path, body)
    assert status == 201, answer
    return answer


class Diary:
    """Every status of every Job that was written, by name."""

    def __init__(self, bed):
        self.statuses = collections.defaultdict(list)
        version = get(bed, JOBS)["metadata"]["resourceVersion"]
        self.connection = bed.connect(timeout=600)
        self.connection.request("GET", f"{JOBS}?watch=1&resourceVersion={version}&timeoutSeconds=600")
        self.answer = self.connection.getresponse()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for line in self.answer:
                o = json.loads(line)["object"]
                if o.get("status", {}).get("state", {}).get("phase"):
                    self.statuses[o["metadata"]["name"]].append(o["status"])
        except (OSError, ValueError):
            pass  # the bed is taken down

    def story(self, name):
        return story_of(self.statuses[name])

    def until_ends(self, name, last):
        until(f"{name} is {last}: {self.story(name)}", lambda: self.statuses[name][-1:] and
              self.statuses[name][-1]["state"]["phase"] == last)


def command(bed, name, action):
    o = get(bed, f"{JOBS}/{name}")
    create(bed, COMMANDS, {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": action,
                           "metadata": {"generateName": f"{name}-", "namespace": "default"},
                           "target": {"apiVersion": o["apiVersion"], "kind": "Job", "name": name,
                                      "uid": o["metadata"]["uid"], "controller": True}})


def bad_task(manifest, name="bad", runtime="3s", code="3"):
    task = json.loads(json.dumps(manifest["spec"]["tasks"][0]))
    task.update(name=name, replicas=1)
    task["template"]["metadata"]["annotations"] = {"pumice.dev/runtime": runtime}
    if code:
        task["template"]["metadata"]["annotations"]["pumice.dev/exit"] = code
    manifest["spec"]["tasks"].append(task)
    manifest["spec"]["minAvailable"] += 1
    return manifest


# ---- phases ----


def jobs_with_a_story(bed):
    """name: (manifest, commands to give when it runs, its story)"""
    return {
        "restarts": (bad_task(job("restarts", 2, "60s", maxRetry=2, policies=[{"event": "PodFailed", "action": "RestartJob"}])), [],
                     "Pending Running Restarting~ Pending Running Restarting Failed"),
        "completes": (bad_task(job("completes", 2, "60s", policies=[{"event": "TaskCompleted", "action": "CompleteJob"}]), "short", code=None),
                      [], "Pending Running Completing~ Completed"),
        "aborts": (job("aborts", 2, "60s"), ["AbortJob"], "Pending Running Aborting~ Aborted"),
        "resumes": (job("resumes", 2, "60s"), ["AbortJob", "ResumeJob", "TerminateJob"],
                    "Pending Running Aborting~ Aborted Restarting Pending Running Terminating~ Terminated"),
        "terminates": (job("terminates", 2, "60s"), ["TerminateJob"], "Pending Running Terminating~ Terminated"),
    }


def every_phase_is_written(bed):
    diary = Diary(bed)
    cases = jobs_with_a_story(bed)
    for manifest, _, _ in cases.values():
        submit(bed, manifest)
    for name, (_, commands, _) in cases.items():
        for i, action in enumerate(commands):
            diary.until_ends(name, "Aborted" if action == "ResumeJob" else "Running")
            command(bed, name, action)
            until(f"{action} is obeyed", lambda: len([s for s in diary.statuses[name] if s["state"]["phase"] in
                                                      ("Aborting", "Restarting", "Terminating")]) > 0)
    for name, (manifest, _, story) in cases.items():
        diary.until_ends(name, story.split()[-1])
        check_story(name, manifest, story, diary)


def check_story(name, manifest, story, diary):
    got = diary.story(name)
    assert got == story.split(), (name, got)
    for status in diary.statuses[name]:
        counts = {k: status.get(k, 0) for k in ("pending", "running", "terminating")}
        if status["state"]["phase"] == "Running":
            break
    assert counts["running"] >= manifest["spec"]["minAvailable"], (name, status)
    last = diary.statuses[name][-1]
    if last["state"]["phase"] in ("Aborted", "Terminated", "Completed"):
        assert not any(last.get(k, 0) for k in ("pending", "running", "terminating")), last


def events_say_what_was_done(bed):
    """After every_phase_is_written: which action, and when."""
    for name, action in (("restarts", "RestartJob"), ("aborts", "AbortJob"), ("terminates", "TerminateJob"),
                         ("completes", "CompleteJob")):
        events = get(bed, f"{EVENTS}?fieldSelector=involvedObject.name={name},reason=ExecuteAction")["items"]
        assert any(action in e["message"] for e in events), (name, events)
        assert all(e["involvedObject"]["kind"] == "Job" for e in events), events
    missing = [e["reason"] for e in get(bed, EVENTS)["items"] if not e.get("lastTimestamp") or not e.get("firstTimestamp")]
    assert not missing, missing


def a_job_that_does_not_fit_says_so(bed):
    manifest = job("huge", 2)
    manifest["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1000"}}
    submit(bed, manifest)
    name = f"huge-{get(bed, f'{JOBS}/huge')['metadata']['uid']}"
    until("its PodGroup is there", lambda: get(bed, f"{GROUPS}/{name}"))

    def told():
        events = get(bed, f"{EVENTS}?fieldSelector=involvedObject.name={name}")["items"]
        return [e for e in events if e["reason"] in ("Unschedulable", "FailedScheduling") and e["lastTimestamp"]
                and e["involvedObject"]["kind"] == "PodGroup"]
    until("an Event says that it does not fit", told)
    bed.call("DELETE", f"{JOBS}/huge")


def a_child_queue_follows_its_parent(bed):
    def queue(name, parent):
        return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name},
                "spec": {"weight": 1, "parent": parent}}
    for i in range(5):
        create(bed, QUEUES, queue(f"parent{i}", "root"))
        time.sleep(0.02)
        create(bed, QUEUES, queue(f"child{i}", f"parent{i}"))
    until("they are open", lambda: all(get(bed, f"{QUEUES}/child{i}").get("status", {}).get("state") == "Open" for i in range(5)))


# ---- settings ----


def settings(mount, n, text):
    """As a ConfigMap is mounted: the file is a link into a directory that is a link, which is replaced as a whole."""
    os.makedirs(f"{mount}/..{n}")
    with open(f"{mount}/..{n}/conf", "w") as f:
        f.write(text)
    os.symlink(f"..{n}", f"{mount}/..data_tmp")
    os.rename(f"{mount}/..data_tmp", f"{mount}/..data")
    if n == 0:
        os.symlink("..data/conf", f"{mount}/conf")


def conf(*actions):
    return json.dumps({"actions": ", ".join(actions), "tiers": [{"plugins": [{"name": "gang"}, {"name": "predicates"}]}]})


def settings_are_taken_at_once(c, mount, link):
    """Also through a link from another place, where nothing of the mount can be seen to change. A second is what it may
    take; the limit is for a busy machine."""
    def says(text):
        return c.log.count(text)
    for i in range(1, 3):
        before = says("Reloaded the scheduler configuration")
        settings(mount, i, conf("enqueue", "allocate", *(["backfill"] if i % 2 == 0 else [])))
        until("the new settings are taken", lambda: says("Reloaded the scheduler configuration") > before, limit_s=20)
    os.rename(link, f"{link}.away")
    c.until_says("No such file or directory")
    time.sleep(1.2)
    assert says("keeping the old one") == 1, c.log
    os.rename(f"{link}.away", link)


# ---- pods that belong to no Job ----


def pod(name, scheduler="volcano", owner=None, **annotations):
    meta = {"name": name, "namespace": "default", "annotations": {"pumice.dev/runtime": "300ms", **annotations}}
    if owner:
        meta["ownerReferences"] = [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True,
                                    "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {
        "schedulerName": scheduler, "restartPolicy": "Never", "containers": [
            {"name": "c", "image": "debian:12", "resources": {"requests": {"cpu": "1"}}}]}}


def workload(bed, api_version, kind, name, replicas=1, **annotations):
    plural = kind.lower() + "s"
    base = "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
    labels = {"of": name}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}}
    if kind == "Job":
        spec = {"parallelism": replicas, "template": {"spec": pod("x")["spec"]}}
    elif kind == "ReplicationController":
        spec["selector"] = labels
        spec["template"]["spec"] = {**spec["template"]["spec"], "restartPolicy": "Always"}
    else:
        spec["template"]["spec"] = {**spec["template"]["spec"], "restartPolicy": "Always"}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    o = create(bed, f"{base}/namespaces/default/{plural}", {
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "annotations": annotations}, "spec": spec})
    return {**o, "path": f"{base}/namespaces/default/{plural}/{name}"}


KINDS = (("apps/v1", "ReplicaSet"), ("v1", "ReplicationController"), ("apps/v1", "StatefulSet"), ("batch/v1", "Job"))


def pods_of_others_get_a_group(bed, schedules, prefix):
    minimum = {"scheduling.volcano.sh/group-min-member": "2"}
    owners = [workload(bed, v, k, f"{prefix}-{k.lower()}", 2, **minimum) for v, k in KINDS]
    for o in owners:
        for i in range(2):
            create(bed, PODS, pod(f"{o['metadata']['name']}-{i}", owner=o))
    bare = create(bed, PODS, pod(f"{prefix}-bare", **{"scheduling.volcano.sh/queue-name": "default"}))
    create(bed, PODS, pod(f"{prefix}-other", "default-scheduler"))
    create(bed, PODS, pod(f"{prefix}-others-rs", "default-scheduler", owners[0]))

    def group_of(o):
        return get(bed, f"{GROUPS}/podgroup-{o['metadata']['uid']}")

    def joined(name):
        return get(bed, f"{PODS}/{name}")["metadata"]["annotations"].get("scheduling.k8s.io/group-name")
    for o in owners:
        until(f"{o['kind']} has a group", lambda: group_of(o))
        name = o["metadata"]["name"]
        until("its pods join", lambda: {joined(f"{name}-{i}") for i in range(2)} == {f"podgroup-{o['metadata']['uid']}"})
        g = group_of(o)
        assert g["spec"]["minMember"] == 2 and g["spec"]["minResources"]["requests.cpu"] == "2", g
        assert g["metadata"]["ownerReferences"][0]["uid"] == o["metadata"]["uid"], g
    until("the bare pod has a group", lambda: group_of(bare))
    assert group_of(bare)["spec"]["minMember"] == 1 and group_of(bare)["spec"]["queue"] == "default", group_of(bare)
    until("it joins", lambda: joined(f"{prefix}-bare"))
    if schedules:
        for name in [f"{o['metadata']['name']}-{i}" for o in owners for i in range(2)] + [f"{prefix}-bare"]:
            until(f"{name} runs", lambda: get(bed, f"{PODS}/{name}").get("status", {}).get("phase") == "Succeeded")
    assert not joined(f"{prefix}-other") and not joined(f"{prefix}-others-rs")
    scale_to_nothing(bed, owners[0], group_of)


def scale_to_nothing(bed, owner, group_of):
    bed.call("PATCH", owner["path"], {"spec": {"replicas": 0}}, content_type="application/merge-patch+json")
    for i in range(2):
        bed.call("DELETE", f"{PODS}/{owner['metadata']['name']}-{i}?gracePeriodSeconds=0")
    until("its group goes", lambda: not group_of(owner))


# ---- volumes ----

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
SELECTED = "volume.kubernetes.io/selected-node"


def merge(bed, path, patch):
    status, answer = bed.call("PATCH", path, patch, content_type="application/merge-patch+json")
    assert status == 200, answer


def volumes_are_made_where_the_pod_goes(bed):
    """The test is the one who makes volumes: it waits for the node, gives up once, then binds the claim."""
    merge(bed, "/api/v1/nodes/n1", {"metadata": {"labels": {"zone": "z1"}}})
    create(bed, "/apis/storage.k8s.io/v1/storageclasses", {
        "metadata": {"name": "late"}, "provisioner": "disk.test.io", "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["z1"]}]}]})
    submit(bed, job("disk", 1, volumes=[{"mountPath": "/d", "volumeClaim": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}}]))

    def claim():
        return next((c for c in get(bed, CLAIMS)["items"] if c["metadata"]["name"].startswith("disk-pvc-")), None)

    def selected():
        return claim() and claim()["metadata"].get("annotations", {}).get(SELECTED)
    until("the claim is told a node", lambda: selected() == "n1")
    path, version = f"{CLAIMS}/{claim()['metadata']['name']}", claim()["metadata"]["resourceVersion"]
    assert "nodeName" not in pods(bed, "disk")[0]["spec"], "bound before its volume is there"
    merge(bed, path, {"metadata": {"annotations": {SELECTED: None}}})
    until("it is told again", lambda: selected() == "n1" and claim()["metadata"]["resourceVersion"] != version)
    assert "nodeName" not in pods(bed, "disk")[0]["spec"]
    create(bed, "/api/v1/persistentvolumes", {"metadata": {"name": "disk"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late",
        "csi": {"driver": "disk.test.io", "volumeHandle": "1"}}})
    merge(bed, path, {"spec": {"volumeName": "disk"}})
    until_phase(bed, "disk", "Completed")
    assert pods(bed, "disk")[0]["spec"]["nodeName"] == "n1"


def local_volume(bed, name, node, size):
    """As an administrator and the cluster's own controller leave it: Available."""
    create(bed, VOLUMES, {"metadata": {"name": name}, "spec": {
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
        "local": {"path": "/disk"}, "persistentVolumeReclaimPolicy": "Retain", "nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}}})
    merge(bed, f"{VOLUMES}/{name}/status", {"status": {"phase": "Available"}})


def local_volumes_are_taken_for_the_gang(bed):
    """Two pods with a disk each: none of them gets one while there is only one, and no disk is written to. The test binds
    the claims, as the cluster's own controller does when a volume names them."""
    create(bed, "/apis/storage.k8s.io/v1/storageclasses", {
        "metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"})
    for node in ("n0", "n1"):
        merge(bed, f"/api/v1/nodes/{node}", {"metadata": {"labels": {"kubernetes.io/hostname": node}}})
    gang = bad_task(job("gang", 1), "other", "1s", code=None)
    for i, task in enumerate(gang["spec"]["tasks"]):
        create(bed, CLAIMS, {"metadata": {"name": f"disk{i}"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}})
        task["template"]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": f"disk{i}"}}]
    local_volume(bed, "large", "n1", "8Gi")
    submit(bed, gang)
    until("they are told why", lambda: "didn't find available persistent volumes" in json.dumps(pods(bed, "gang")))
    assert "claimRef" not in get(bed, f"{VOLUMES}/large")["spec"], "taken for half a gang"
    local_volume(bed, "small", "n0", "2Gi")

    def taken():
        return {v["spec"]["claimRef"]["name"]: v for v in get(bed, VOLUMES)["items"]
                if v["spec"]["storageClassName"] == "local" and v["spec"].get("claimRef")}
    until("each has a disk", lambda: len(taken()) == 2)
    volumes = taken()
    assert all("nodeName" not in p["spec"] for p in pods(bed, "gang")), "bound before their volumes are"
    for claim, v in volumes.items():
        assert v["spec"]["claimRef"]["uid"] == get(bed, f"{CLAIMS}/{claim}")["metadata"]["uid"], v
        assert v["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes", v
        merge(bed, f"{CLAIMS}/{claim}", {"spec": {"volumeName": v["metadata"]["name"]}})
    until_phase(bed, "gang", "Completed")
    node = {"large": "n1", "small": "n0"}
    for p in pods(bed, "gang"):
        v = volumes[p["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]]["metadata"]["name"]
        assert p["spec"]["nodeName"] == node[v], (p["spec"]["nodeName"], v)


def a_node_takes_so_many_volumes(bed):
    """One on n1, by the driver's word; the second waits for the first to go."""
    create(bed, "/apis/storage.k8s.io/v1/csinodes", {"metadata": {"name": "n1"}, "spec": {"drivers": [
        {"name": "disk.test.io", "nodeID": "n1", "allocatable": {"count": 1}}]}})
    for i in range(2):
        create(bed, "/api/v1/persistentvolumes", {"metadata": {"name": f"v{i}"}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late",
            "csi": {"driver": "disk.test.io", "volumeHandle": f"v{i}"}}})
        create(bed, CLAIMS, {"metadata": {"name": f"v{i}"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "late", "volumeName": f"v{i}",
            "resources": {"requests": {"storage": "1Gi"}}}})
        p = pod(f"v{i}")
        p["metadata"]["annotations"]["pumice.dev/runtime"] = "1h"
        p["spec"].update(nodeSelector={"zone": "z1"}, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"v{i}"}}])
        create(bed, PODS, p)
        if i == 0:
            until("the first runs", lambda: get(bed, f"{PODS}/v0").get("status", {}).get("phase") == "Running")
    until("the second is told why", lambda: "exceed max volume count" in json.dumps(get(bed, f"{PODS}/v1")["status"]))
    bed.call("DELETE", f"{PODS}/v0?gracePeriodSeconds=0")
    until("the second runs", lambda: get(bed, f"{PODS}/v1").get("status", {}).get("phase") == "Running")


# ---- room for others ----


def room_is_made_and_promised(bed, mount):
    """Who waits for a victim to go carries the node it will have, and no longer once it is there."""
    settings(mount, 9, json.dumps({"actions": "enqueue, allocate, preempt", "tiers": [{"plugins": [{"name": "gang"}]}],
                                   "configurations": [{"name": "pumice", "arguments": {"min-run": "0s"}}]}))
    create(bed, "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1000})
    low, high = job("low", 2, "1h"), job("high", 1, "1s", priorityClassName="high")
    for manifest in (low, high):
        manifest["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "60"}}
    low["spec"]["minAvailable"] = 1
    submit(bed, low)
    until("both of low run", lambda: len([p for p in pods(bed, "low") if p["status"]["phase"] == "Running"]) == 2)
    victims = [f"{PODS}/{p['metadata']['name']}" for p in pods(bed, "low")]
    for path in victims:  # they go when the test says so: the promise is to be seen before it is kept
        merge(bed, path, {"metadata": {"finalizers": ["test.io/stays"]}})
    time.sleep(1.1)  # API times are whole seconds: what starts in the second in which a job comes counts as later
    submit(bed, high)

    def promised():
        return [p["status"]["nominatedNodeName"] for p in pods(bed, "high") if p["status"].get("nominatedNodeName")]
    node = until("it is promised a node", promised)[0]
    assert "nodeName" not in pods(bed, "high")[0]["spec"]
    for path in victims:
        merge(bed, path, {"metadata": {"finalizers": None}})
    until_phase(bed, "high", "Completed")
    assert pods(bed, "high")[0]["spec"]["nodeName"] == node
    until("the promise is kept, and over", lambda: not promised())
    evicted = get(bed, f"{EVENTS}?fieldSelector=reason=Evict")["items"]
    assert any(e["involvedObject"]["name"].startswith("low-") for e in evicted), evicted
    bed.call("DELETE", f"{JOBS}/low")


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            install(bed)
            mount, link = os.path.join(bed.dir, "mount"), os.path.join(bed.dir, "conf")
            os.mkdir(mount)
            settings(mount, 0, conf("enqueue", "allocate", "backfill"))
            os.symlink(f"{mount}/conf", link)
            with Hollow(bed, "n0", "n1"):
                with Controller(bed, "all", "--scheduler", "--leader-elect=false", f"--scheduler-config={link}") as c:
                    c.until_ready()
                    for case in (every_phase_is_written, events_say_what_was_done, a_job_that_does_not_fit_says_so,
                                 a_child_queue_follows_its_parent):
                        suite.case(case.__name__, lambda: case(bed))
                    for case in (volumes_are_made_where_the_pod_goes, local_volumes_are_taken_for_the_gang, a_node_takes_so_many_volumes):
                        suite.case(case.__name__, lambda: case(bed))
                    suite.case("settings_are_taken_at_once", lambda: settings_are_taken_at_once(c, mount, link))
                    suite.case("room_is_made_and_promised", lambda: room_is_made_and_promised(bed, mount))
                    suite.case("pods_of_others_get_a_group", lambda: pods_of_others_get_a_group(bed, True, "a"))
                    assert c.stop() == 0
                with Controller(bed, "plain", "--leader-elect=false", f"--scheduler-config={link}") as c:
                    c.until_says("Ignoring --scheduler-config without --scheduler")
                    c.until_ready()
                    suite.case("pods_of_others_get_a_group, no scheduler", lambda: pods_of_others_get_a_group(bed, False, "b"))
                    assert c.stop() == 0
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
