#!/usr/bin/env python3
"""A cluster changes hands while its jobs run. What Volcano's controller and scheduler have left, written here by hand as they write it, is
gone on with: no pod is made or ended, nothing but statuses is written, and jobs come to their end. And what ours leaves in the middle
of jobs is what Volcano's programs look for, field by field."""
import base64
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, resource_of, status_of  # noqa: E402
from controller import JOBS, Controller, Hollow, install, job, phase, pods, submit, until, until_phase  # noqa: E402
from harness import Suite  # noqa: E402

CORE = "/api/v1/namespaces/default"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
THEN = "2026-01-02T03:04:05Z"


def post(bed, path, o):
    status, answer = bed.call("POST", path, o)
    assert status == 201, answer
    return answer


def put_status(bed, path, status):
    code, answer = bed.call("PATCH", f"{path}/status", {"status": status}, content_type="application/merge-patch+json")
    assert code == 200, answer


# ---- as Volcano leaves it ----


def by_volcano(bed, name, state, pod_phase, group_phase=None, replicas=2, runtime="6s", group_name=None, **status):
    """A job with all that its controller makes for it: plugins env, svc and ssh. Without a group it is over, and they are gone."""
    manifest = job(name, replicas, runtime, plugins={"env": [], "svc": [], "ssh": []}, queue="default", maxRetry=3, schedulerName="volcano")
    uid = post(bed, JOBS, manifest)["metadata"]["uid"]
    group_name = group_name or f"{name}-{uid}"
    owner = {"ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name, "uid": uid, "controller": True,
                                  "blockOwnerDeletion": True}]}
    labels = {"volcano.sh/job-name": name, "volcano.sh/job-namespace": "default"}
    if group_phase:
        objects_by_volcano(bed, name, owner, labels, replicas)
        post(bed, GROUPS, group_by_volcano(group_name, group_phase, owner, replicas, uid))
        status = {**status, "controlledResources": {"plugin-env": "env", "plugin-ssh": "ssh", "plugin-svc": "svc"}}
    for i in range(replicas if pod_phase else 0):
        post(bed, f"{CORE}/pods", pod_by_volcano(name, i, group_name, owner, labels, manifest, pod_phase))
        if pod_phase == "Succeeded":
            put_status(bed, f"{CORE}/pods/{name}-w-{i}", {"phase": "Succeeded"})
    put_status(bed, f"{JOBS}/{name}", {
        "state": {"phase": state, "lastTransitionTime": THEN}, "minAvailable": replicas,
        "conditions": [{"status": "Pending", "lastTransitionTime": THEN}, {"status": state, "lastTransitionTime": THEN}], **status})


def objects_by_volcano(bed, name, owner, labels, replicas):
    hosts = [f"{name}-w-{i}.{name}" for i in range(replicas)]
    post(bed, f"{CORE}/configmaps", {"metadata": {"name": f"{name}-svc", **owner}, "data": {
        "VC_W_HOSTS": ",".join(hosts), "VC_W_NUM": str(replicas), "w.host": "\n".join(hosts)}})
    post(bed, f"{CORE}/services", {"metadata": {"name": name, **owner}, "spec": {
        "clusterIP": "None", "selector": labels}})
    post(bed, POLICIES, {"metadata": {"name": name, **owner}, "spec": {
        "podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {"matchLabels": labels}}]}]}})
    post(bed, f"{CORE}/secrets", {"metadata": {"name": f"{name}-ssh", **owner}, "data": {
        key: base64.b64encode(key.encode()).decode() for key in ("id_rsa", "id_rsa.pub", "authorized_keys", "config")}})


def group_by_volcano(name, group_phase, owner, replicas, uid):
    """What is zero or empty is not there."""
    counts = {"running": replicas} if group_phase == "Running" else {}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name, **owner}, "spec": {
        "minMember": replicas, "minTaskMember": {"w": replicas}, "queue": "default", "minResources": {"count/pods": str(replicas), "pods": str(replicas)}},
        "status": {"phase": group_phase, **counts, "conditions": [
            {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled", "transitionID": uid, "lastTransitionTime": THEN}]}}


def pod_by_volcano(name, i, group_name, owner, labels, manifest, pod_phase):
    template = manifest["spec"]["tasks"][0]["template"]
    env = [{"name": n, "value": str(i)} for n in ("VK_TASK_INDEX", "VC_TASK_INDEX")]
    env += [{"name": key, "valueFrom": {"configMapKeyRef": {"name": f"{name}-svc", "key": key}}} for key in ("VC_W_HOSTS", "VC_W_NUM")]
    shared = {"volcano.sh/task-index": str(i), "volcano.sh/task-spec": "w", "volcano.sh/queue-name": "default", "volcano.sh/job-name": name}
    spec = {**template["spec"], "schedulerName": "volcano", "hostname": f"{name}-w-{i}", "subdomain": name,
            "volumes": [{"name": f"{name}-svc", "configMap": {"name": f"{name}-svc"}},
                        {"name": f"{name}-ssh", "secret": {"secretName": f"{name}-ssh", "defaultMode": 384}}],
            "containers": [{**template["spec"]["containers"][0], "env": env, "volumeMounts": [
                {"name": f"{name}-svc", "mountPath": "/etc/volcano"}, {"name": f"{name}-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}]}]}
    if pod_phase != "Pending":
        spec["nodeName"] = "n0" if pod_phase == "Running" else "elsewhere"  # where nobody says more about it
    return {"metadata": {"name": f"{name}-w-{i}", **owner, "labels": {**labels, **template["metadata"]["labels"], **shared},
                         "annotations": {**template["metadata"]["annotations"], **shared, "scheduling.k8s.io/group-name": group_name,
                                         "volcano.sh/job-version": "0", "volcano.sh/job-retry-count": "0",
                                         "volcano.sh/template-uid": f"{name}-w"}}, "spec": spec}


def uids(bed, name):
    return {p["metadata"]["name"]: p["metadata"]["uid"] for p in pods(bed, name)}


def versions(bed, name):
    """Of all that belongs to a job, but not its own."""
    uid = bed.call("GET", f"{JOBS}/{name}")[1]["metadata"]["uid"]
    found = {}
    for path in (f"{CORE}/pods", f"{CORE}/configmaps", f"{CORE}/services", f"{CORE}/secrets", POLICIES, GROUPS):
        for o in bed.call("GET", path)[1]["items"]:
            if any(ref["uid"] == uid for ref in o["metadata"].get("ownerReferences", [])):
                found[path, o["metadata"]["name"]] = o["metadata"]["resourceVersion"]
    return found


def writes(bed, user, name):
    """What was done about the job and what is its own: verb, resource, name."""
    return {(e["verb"], resource_of(e), e["objectRef"].get("name", "")) for e in bed.audit(user=user)
            if e["verb"] in ("create", "update", "patch", "delete") and status_of(e) in (200, 201) and resource_of(e) not in ("leases", "events")
            and e["objectRef"].get("name", "").startswith(name)}


def takes_over(bed):
    for name in ("root", "default"):
        post(bed, QUEUES, {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1, "reclaimable": True}})
        put_status(bed, f"{QUEUES}/{name}", {"state": "Open", "reservation": {}, "allocated": {"cpu": "0", "memory": "0", "pods": "6"}})
    running = {"running": 2, "taskStatusCount": {"w": {"phase": {"Running": 2}}}}
    by_volcano(bed, "running", "Running", "Running", "Running", **running)
    by_volcano(bed, "older", "Running", "Running", "Running", group_name="older", **running)  # groups once had the job's name
    by_volcano(bed, "steady", "Running", "Running", "Running", runtime="600s", **running)
    by_volcano(bed, "finished", "Completed", "Succeeded", version=1, runningDuration="5s")  # the counters are lost when it ends
    by_volcano(bed, "aborted", "Aborted", None, version=1, runningDuration="5s")
    by_volcano(bed, "queued", "Pending", "Pending", "Inqueue", pending=2, taskStatusCount={"w": {"phase": {"Pending": 2}}})
    names = ("running", "older", "steady", "finished", "aborted", "queued")
    until("its pods run", lambda: all(p["status"]["phase"] == "Running" for name in names[:3] for p in pods(bed, name)))
    before, steady = {name: uids(bed, name) for name in names}, versions(bed, "steady")
    with Controller(bed, "heir", "--scheduler", "--leader-elect=false") as c:
        c.until_ready()
        for name in ("running", "older", "queued"):
            until_phase(bed, name, "Completed")
        assert phase(bed, "finished") == "Completed" and phase(bed, "aborted") == "Aborted"
        until("it is noted which pods there are", lambda: "pumice-seen-w" in bed.call("GET", f"{JOBS}/steady")[1]["status"]["controlledResources"])
        assert versions(bed, "steady") == steady, "what goes on as it was is not written again"
    for name in names:
        assert uids(bed, name) == before[name], f"{name} has other pods"
        done = writes(bed, "heir", name)
        touched = {(verb, resource) for verb, resource, _ in done}
        assert not touched & {("create", "pods"), ("delete", "pods"), ("create", "podgroups"), ("create", "configmaps"), ("create", "secrets")}, done
        rest = touched - {("patch", "jobs/status"), ("update", "jobs/status"), ("patch", "podgroups"), ("create", "pods/binding"), ("patch", "pods/status")}
        assert rest <= {("delete", "services"), ("delete", "networkpolicies"), ("delete", "secrets"), ("delete", "configmaps"), ("delete", "podgroups")}, done
    assert {w[:2] for w in writes(bed, "heir", "finished")} == {("update", "jobs/status")}, "it has its counters again"
    assert bed.call("GET", f"{JOBS}/finished")[1]["status"]["succeeded"] == 2 and not writes(bed, "heir", "aborted"), "what is over is left alone"
    assert {w[1] for w in writes(bed, "heir", "queued")} >= {"pods/binding"}, "it was placed by us"


# ---- as we leave it ----

LABELS = ("volcano.sh/job-name", "volcano.sh/job-namespace", "volcano.sh/queue-name", "volcano.sh/task-index", "volcano.sh/task-spec")
ANNOTATIONS = ("scheduling.k8s.io/group-name", "volcano.sh/job-name", "volcano.sh/job-version", "volcano.sh/job-retry-count", "volcano.sh/queue-name",
               "volcano.sh/task-index", "volcano.sh/task-spec", "volcano.sh/template-uid")


def gives_back(bed):
    """Stopped in the middle of a job: Volcano's caches are filled from these fields, and its sync compares them."""
    with Controller(bed, "lender", "--scheduler", "--leader-elect=false") as c:
        c.until_ready()
        submit(bed, job("lent", 2, "600s", plugins={"env": [], "svc": [], "ssh": []}))
        until_phase(bed, "lent", "Running")
        until("it is counted", lambda: bed.call("GET", f"{JOBS}/lent")[1]["status"].get("running") == 2)
        group = f"{GROUPS}/lent-{bed.call('GET', f'{JOBS}/lent')[1]['metadata']['uid']}"
        until("its PodGroup too, whose counters may wait", lambda: bed.call("GET", group)[1]["status"].get("running") == 2)
        assert c.stop() == 0
    left = bed.call("GET", f"{JOBS}/lent")[1]
    uid, status = left["metadata"]["uid"], left["status"]
    assert not left["metadata"].get("finalizers"), "nobody would remove it"
    assert status["state"]["phase"] == "Running" and status["state"]["lastTransitionTime"], status
    assert (status["minAvailable"], status["running"]) == (2, 2) and status["taskStatusCount"] == {"w": {"phase": {"Running": 2}}}, status
    assert status.get("version", 0) == 0 and status.get("retryCount", 0) == 0, status
    assert [c["status"] for c in status["conditions"]] == ["Pending", "Running"], status
    plugins = {k: v for k, v in status["controlledResources"].items() if k.startswith("plugin-")}
    assert plugins == {"plugin-env": "env", "plugin-ssh": "ssh", "plugin-svc": "svc"}, status
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "lent", "uid": uid, "controller": True, "blockOwnerDeletion": True}
    for path in (f"{CORE}/configmaps/lent-svc", f"{CORE}/services/lent", f"{CORE}/secrets/lent-ssh", f"{POLICIES}/lent", f"{GROUPS}/lent-{uid}"):
        code, o = bed.call("GET", path)
        assert code == 200 and o["metadata"]["ownerReferences"] == [owner], (path, o)
    group = bed.call("GET", f"{GROUPS}/lent-{uid}")[1]
    assert group["spec"]["minMember"] == 2 and group["spec"]["minTaskMember"] == {"w": 2} and group["spec"]["queue"] == "default", group
    assert group["status"]["phase"] == "Running" and group["status"]["running"] == 2, group
    for p in pods(bed, "lent"):
        meta, index = p["metadata"], p["metadata"]["name"].rsplit("-", 1)[1]
        assert meta["name"] == f"lent-w-{index}" and meta["ownerReferences"] == [owner], meta
        assert set(LABELS) <= set(meta["labels"]) and set(ANNOTATIONS) <= set(meta["annotations"]), meta
        assert meta["annotations"]["scheduling.k8s.io/group-name"] == f"lent-{uid}" and meta["annotations"]["volcano.sh/job-version"] == "0", meta
        assert not meta.get("finalizers") and p["spec"]["schedulerName"] == "volcano" and p["spec"]["nodeName"], p


def and_again(bed):
    """Back with us after a while: the same pods go on."""
    before = uids(bed, "lent")
    with Controller(bed, "again", "--scheduler", "--leader-elect=false") as c:
        c.until_ready()
        assert phase(bed, "lent") == "Running" and uids(bed, "lent") == before
        assert not [w for w in writes(bed, "again", "lent") if w[1] == "pods"]


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            install(bed)
            with Hollow(bed, "n0", "n1"):
                for case in (takes_over, gives_back, and_again):
                    suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
