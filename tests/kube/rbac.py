#!/usr/bin/env python3
"""The roles that `pumice install` prints are enough and not more: a controller and scheduler that has them and nothing else does all
that it ever does, answers lost on the way included, and is never refused; every right was asked for; and without any one of the
rules what it grants is refused, so none stands there twice."""
import os
import signal
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, resource_of, status_of  # noqa: E402
from controller import JOBS, PUMICE, Controller, Hollow, install, job, pods, submit, until, until_phase  # noqa: E402
from faultproxy import FaultProxy  # noqa: E402
from harness import Suite  # noqa: E402

NAMESPACE = "pumice-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:pumice-controller"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
CORE = "/api/v1/namespaces/default"

# Granted, and not asked for by name in the API server's log.
UNSEEN = {
    # asked by the admission plugin OwnerReferencesPermissionEnforcement
    ("batch.volcano.sh", "jobs/finalizers", "update"),
    ("batch.volcano.sh", "cronjobs/finalizers", "update"),
    ("flow.volcano.sh", "jobflows/finalizers", "update"),
}
OWNERS = {"ReplicaSet": "/apis/apps/v1", "StatefulSet": "/apis/apps/v1", "DaemonSet": "/apis/apps/v1", "ReplicationController": "/api/v1",
          "Job": "/apis/batch/v1"}


def roles():
    run = subprocess.run([PUMICE, "install", "--dry-run", "--scheduler", "--only", "roles"], capture_output=True, text=True, check=True)
    return [o for o in yaml.safe_load_all(run.stdout) if o]


def path_of(role):
    if role["kind"] == "Role":
        return f"{ROLES}/namespaces/{NAMESPACE}/roles/{role['metadata']['name']}"
    return f"{ROLES}/clusterroles/{role['metadata']['name']}"


def ours(objects):
    """The roles of the program, not those of people."""
    bound = {o["roleRef"]["name"] for o in objects if o["kind"].endswith("Binding")}
    return [o for o in objects if o["kind"] in ("Role", "ClusterRole") and o["metadata"]["name"] in bound]


def rights(rule):
    return {(g, r, v) for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}


# ---- all that it does ----


def lose_answers(proxy):
    """The first answer to each kind of write never comes: it has to look what became of it. Those are the rights to get."""
    kinds = ("pods", "services", "configmaps", "secrets", "persistentvolumeclaims", "persistentvolumes", "networkpolicies", "podgroups", "queues", "jobs", "commands", "jobflows", "jobtemplates",
             "cronjobs")
    for kind in kinds:
        proxy.add(fault="swallow", method="POST|PUT|PATCH|DELETE", path=rf"/{kind}(/[^/]*)?(/status)?(\?.*)?$", times=1)


def everything():
    """plugins, a claim, a time to live"""
    return job("everything", 2, "1s", ttlSecondsAfterFinished=1, plugins={"env": [], "svc": [], "ssh": []},
               volumes=[{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}}])


def provide_volume(bed):
    """As whoever makes volumes would, who is not here: when the claim names a node."""
    def waiting():
        return [c for c in bed.call("GET", f"{CORE}/persistentvolumeclaims")[1]["items"]
                if c["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")]

    name = until("a claim names a node", waiting)[0]["metadata"]["name"]
    bed.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late", "hostPath": {"path": "/tmp"}}})
    status, answer = bed.call("PATCH", f"{CORE}/persistentvolumeclaims/{name}", {"spec": {"volumeName": name}}, content_type="application/merge-patch+json")
    assert status == 200, answer


def local_disk(bed):
    """A job whose claim takes a volume that is there; the test binds the claim, as the cluster's own controller would."""
    bed.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
               "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"})
    bed.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "hostPath": {"path": "/tmp"}}})
    status, answer = bed.call("PATCH", "/api/v1/persistentvolumes/disk/status", {"status": {"phase": "Available"}}, content_type="application/merge-patch+json")
    assert status == 200, answer
    submit(bed, job("local", 1, "1s", volumes=[{"mountPath": "/data", "volumeClaim": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}}]))
    ref = until("the disk is taken", lambda: bed.call("GET", "/api/v1/persistentvolumes/disk")[1]["spec"].get("claimRef"))
    status, answer = bed.call("PATCH", f"{CORE}/persistentvolumeclaims/{ref['name']}", {"spec": {"volumeName": "disk"}}, content_type="application/merge-patch+json")
    assert status == 200, answer
    until_phase(bed, "local", "Completed")


def flows(bed):
    """A flow of one job, and a schedule that is due every minute: waited for last."""
    spec = job("any", 1, "1s")["spec"]
    flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "metadata": {"name": "step", "namespace": "default"}}
    bed.apply({**flow, "kind": "JobTemplate", "spec": spec})
    bed.apply({**flow, "kind": "JobFlow", "spec": {"flows": [{"name": "step"}]}})
    bed.apply({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "metadata": {"name": "often", "namespace": "default"},
               "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}})


def flows_have_ended(bed):
    until_phase(bed, "step-step", "Completed")
    base = "/apis/flow.volcano.sh/v1alpha1/namespaces/default"
    until("the flow has succeeded", lambda: bed.call("GET", f"{base}/jobflows/step")[1].get("status", {}).get("state", {}).get("phase") == "Succeed")
    until("the schedule has run", lambda: bed.call("GET", f"{JOBS.rsplit('/', 1)[0]}/cronjobs/often")[1].get("status", {}).get("lastScheduleTime"), 90)


def is_refused(pod):
    return [c for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled" and c["status"] == "False"]


def command(bed, kind, name, action):
    version = "batch.volcano.sh/v1alpha1" if kind == "Job" else "scheduling.volcano.sh/v1beta1"
    path = f"{JOBS}/{name}" if kind == "Job" else f"{QUEUES}/{name}"
    uid = bed.call("GET", path)[1]["metadata"]["uid"]
    bed.apply({"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": action,
               "metadata": {"name": f"{name}-{action.lower()}", "namespace": "default", "ownerReferences": [
                   {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}]},
               "target": {"apiVersion": version, "kind": kind, "name": name, "uid": uid}})


def pods_of_others(bed):
    """One pod of each kind of controller, which names our scheduler: it looks at the controller and makes a group."""
    template = {"metadata": {"labels": {"app": "other"}}, "spec": {"restartPolicy": "Always", "schedulerName": "volcano", "containers": [
        {"name": "c", "image": "debian:12"}]}}
    for kind, base in OWNERS.items():
        spec = {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never" if kind == "Job" else "Always"}}}
        if kind != "Job":
            spec["selector"] = {"app": "other"} if kind == "ReplicationController" else {"matchLabels": {"app": "other"}}
        name = f"other-{kind.lower()}"
        status, owner = bed.call("POST", f"{base}/namespaces/default/{kind.lower()}s", {"metadata": {"name": name}, "spec": spec})
        assert status == 201, owner
        ref = {"apiVersion": base.split("/", 2)[2], "kind": kind, "name": name, "uid": owner["metadata"]["uid"], "controller": True}
        status, pod = bed.call("POST", f"{CORE}/pods", {"metadata": {"name": name, "ownerReferences": [ref]}, "spec": template["spec"]})
        assert status == 201, pod
    bare = {"metadata": {"name": "picky"}, "spec": {**template["spec"], "nodeSelector": {"no": "where"}}}
    assert bed.call("POST", f"{CORE}/pods", bare)[0] == 201
    until("it is said why a pod waits", lambda: is_refused(bed.call("GET", f"{CORE}/pods/picky")[1]))
    for kind in OWNERS:
        path = f"{CORE}/pods/other-{kind.lower()}"
        until(f"the pod of a {kind} has a group", lambda: bed.call("GET", path)[1]["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name"))


def is_going(bed, path):
    """Nothing here collects what a job leaves, for which it waits."""
    status, answer = bed.call("GET", path)
    return status == 404 or "deletionTimestamp" in answer["metadata"]


def do_everything(bed):
    bed.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"}, "provisioner": "disk.test.io",
               "volumeBindingMode": "WaitForFirstConsumer"})
    failing = job("failing", 1, "300ms", maxRetry=2, policies=[{"event": "PodFailed", "action": "RestartJob"}])
    failing["spec"]["tasks"][0]["template"]["metadata"]["annotations"]["pumice.dev/exit"] = "1"
    for manifest in (everything(), failing, job("long", 2, "600s")):
        submit(bed, manifest)
    flows(bed)
    bed.apply({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "team"}, "spec": {"weight": 1}})
    provide_volume(bed)
    local_disk(bed)
    pods_of_others(bed)
    until_phase(bed, "long", "Running")
    long = bed.call("GET", f"{JOBS}/long")[1]
    long["spec"]["tasks"][0]["replicas"] = long["spec"]["minAvailable"] = 3  # its hosts and its group follow
    assert bed.call("PUT", f"{JOBS}/long", long)[0] == 200
    until("it has grown", lambda: len(pods(bed, "long")) == 3)
    command(bed, "Job", "long", "AbortJob")
    until_phase(bed, "long", "Aborted")
    until_phase(bed, "failing", "Failed")
    command(bed, "Queue", "team", "CloseQueue")
    until("the queue is closed", lambda: bed.call("GET", f"{QUEUES}/team")[1].get("status", {}).get("state") == "Closed")
    until("commands are gone", lambda: not bed.call("GET", "/apis/bus.volcano.sh/v1alpha1/commands")[1]["items"])
    flows_have_ended(bed)
    until("its time to live is over", lambda: is_going(bed, f"{JOBS}/everything"))
    until("an Event that came again is counted", lambda: [e for e in bed.call("GET", f"{CORE}/events")[1]["items"] if e.get("count", 0) > 1])


GATHERED = ("podgroups", "configmaps", "services", "networkpolicies")


def end_together(bed, controller):
    """What was made for jobs that end at the same time goes in one request for each kind. The controller sleeps until all pods have
    ended, so that it hears of both at once; where a machine is so slow that one ended before it slept, another pair is made."""
    def is_over(pod):
        return pod["status"]["phase"] == "Succeeded"

    for attempt in range(5):
        names = [f"pair-{attempt}-{side}" for side in "ab"]
        for name in names:
            submit(bed, job(name, 1, "3s"))
        for name in names:
            until(f"{name} has a pod", lambda: pods(bed, name))
        controller.popen.send_signal(signal.SIGSTOP)
        for name in names:
            until(f"the pod of {name} has ended", lambda: all(map(is_over, pods(bed, name))))
        controller.popen.send_signal(signal.SIGCONT)
        for name in names:
            until_phase(bed, name, "Completed")
        for kind in GATHERED:
            until(f"no {kind} of theirs is left", lambda: not left(bed, kind))
        if all(bed.audit(user=ACCOUNT, verb="deletecollection", resource=kind) for kind in GATHERED):
            return
    assert False, "each went by itself, five times"


def left(bed, kind):
    base = {"podgroups": "/apis/scheduling.volcano.sh/v1beta1", "networkpolicies": "/apis/networking.k8s.io/v1"}.get(kind, "/api/v1")
    items = bed.call("GET", f"{base}/namespaces/default/{kind}")[1]["items"]
    return [o for o in items if o["metadata"]["name"].startswith("pair-")]


def asked(bed):
    """What was asked for, and what was refused: sets of (group, resource, verb). Watches are in the log when they begin."""
    granted, refused = set(), set()
    for stage in ("ResponseComplete", "ResponseStarted"):
        for e in bed.audit(user=ACCOUNT, stage=stage):
            right = e.get("objectRef", {}).get("apiGroup", ""), resource_of(e), e["verb"]
            (refused if status_of(e) == 403 else granted).add(right)
    return granted, refused


def is_enough(bed):
    with FaultProxy(bed, user=ACCOUNT) as proxy:
        lose_answers(proxy)
        with Controller(bed, "ours", "--scheduler", f"--leader-elect-resource-namespace={NAMESPACE}", kubeconfig=proxy.kubeconfig) as c:
            c.until_ready()
            do_everything(bed)
            assert c.stop() == 0, c.log
        proxy.add(fault="status", code=422, path="sendInitialEvents")  # as servers before 1.34 answer: it has to list
        with Controller(bed, "ours", "--scheduler", "--leader-elect=false", kubeconfig=proxy.kubeconfig) as c:
            c.until_ready()
            end_together(bed, c)
    _, refused = asked(bed)
    assert not refused, f"these rights are missing: {sorted(refused)}"


def is_not_more(bed):
    used, _ = asked(bed)
    granted = set().union(*(rights(rule) for role in ours(roles()) for rule in role["rules"]))
    assert not granted - used - UNSEEN, f"nobody asked for: {sorted(granted - used - UNSEEN)}"
    assert not UNSEEN & used, f"seen after all: {UNSEEN & used}"


# ---- without one of them ----


def may(bed, right, namespace, name=""):
    group, (resource, _, subresource), verb = right[0], right[1].partition("/"), right[2]
    review = {"spec": {"user": ACCOUNT, "resourceAttributes": {"namespace": namespace, "group": group, "resource": resource,
                                                              "subresource": subresource, "verb": verb, "name": name}}}
    status, answer = bed.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert status == 201, answer
    return answer["status"]["allowed"]


def each_rule_is_missed(bed):
    """Its rights are there with it and are not without it, and no other is lost with it."""
    for role in ours(roles()):
        namespace = NAMESPACE if role["kind"] == "Role" else "default"
        for i, rule in enumerate(role["rules"]):
            name = rule.get("resourceNames", [""])[0]
            assert all(may(bed, right, namespace, name) for right in rights(rule)), rule
            rest = {**role, "rules": role["rules"][:i] + role["rules"][i + 1:]}
            assert bed.call("PUT", path_of(role), rest)[0] == 200
            until(f"missed: {rule}", lambda: not any(may(bed, right, namespace, name) for right in rights(rule)))
            assert bed.call("PUT", path_of(role), role)[0] == 200
            until("it is back", lambda: may(bed, min(rights(rule)), namespace, name))


def says_which_one(bed):
    """A rule that is not there: the controller names the right and the command that brings it back, and goes on when it is."""
    role = next(r for r in ours(roles()) if r["metadata"]["name"] == "pumice-controller")
    rest = {**role, "rules": [r for r in role["rules"] if "podgroups" not in r["resources"]]}
    assert bed.call("PUT", path_of(role), rest)[0] == 200
    with Controller(bed, "ours", "--scheduler", "--leader-elect=false", kubeconfig=bed.user(ACCOUNT)) as c:
        c.until_says(' resource \\"podgroups\\" in API group \\"scheduling.volcano.sh\\"')
        c.until_says("pumice install --dry-run --only roles | kubectl apply -f -")
        assert c.get("/readyz")[0] == 503
        assert bed.call("PUT", path_of(role), role)[0] == 200
        c.until_ready()


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            install(bed)
            bed.namespace(NAMESPACE)
            bed.apply(*roles())
            with Hollow(bed, "n0", "n1"):
                for case in (is_enough, is_not_more, each_rule_is_missed, says_which_one):
                    suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
