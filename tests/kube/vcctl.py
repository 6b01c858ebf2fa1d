#!/usr/bin/env python3
"""Command lines on a real kube-apiserver: Volcano's own tools beside ours, byte for byte; logs and exec through it.

The real vcctl, vjobs … are not built here (their module cannot be had alone): they are taken from VOLCANO_BIN, or from
pumice-peer/bin in the cache directory, and what needs them is left out with a word where they are not there.
"""
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from controller import JOBS, install  # noqa: E402
from ctl import TOOLS, Tools  # noqa: E402
from harness import Suite  # noqa: E402
from streams import Kubelet  # noqa: E402

REAL = os.environ.get("VOLCANO_BIN") or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "pumice-peer", "bin")
MERGE = "application/merge-patch+json"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods"

LINES = """
vcctl job list
vcctl job list --all-namespaces
vcctl job list -q q1
vcctl job list -S other --selector a
vcctl job list --selector zzz
vcctl job list -n nowhere
vcctl job view -N abc
vcctl job view -N nobody
vcctl job delete -N nobody
vcctl job suspend -N nobody
vcctl job run -N abc
vcctl job run -N Bad_Name
vcctl job run -N a -n nowhere
vcctl queue list
vcctl queue get -n q1
vcctl queue get -n nobody
vcctl queue delete -n nobody
vcctl queue create -n q1
vcctl queue create -n Bad_Name
vcctl queue operate -n nobody -a open
vcctl queue operate -n nobody -a update -w 3
vcctl queue operate -n q1 -a update -w -3
vcctl pod list
vcctl pod list --all-namespaces
vcctl pod list -j abc
vcctl pod list -j abc -q q1
vcctl pod list -j abc -q other
vcctl pod list -j 'bad value!'
vcctl pod list -q q1
vcctl jobflow list
vcctl jobflow list --all-namespaces
vcctl jobflow get -N f
vcctl jobflow get -N nobody
vcctl jobflow describe
vcctl jobflow describe -N f
vcctl jobflow describe -N f -o json
vcctl jobflow describe -N f -o x
vcctl jobflow delete -N nobody
vcctl jobtemplate list
vcctl jobtemplate get -N t
vcctl jobtemplate describe -N t
vjobs
vjobs --all-namespaces
vjobs --selector zzz
vjobs -n abc
vqueues
vqueues -n q1
vcancel -n nobody
vsub -n Bad_Name
""".strip().split("\n")


def make(bed, path, body, status=None):
    code, answer = bed.call("POST", path, body)
    assert code == 201, answer
    if status:  # of a PodGroup it is no subresource
        sub = "" if path == GROUPS else "/status"
        code, answer = bed.call("PATCH", f"{path}/{body['metadata']['name']}{sub}", {"status": status}, content_type=MERGE)
        assert code == 200, answer


def spec(**more):
    main = {"name": "c", "image": "i:1", "command": ["sh", "-c", "echo \"a b\""], "workingDir": "/w", "ports": [{"containerPort": 80, "name": "p"}],
            "resources": {"requests": {"cpu": "1500m", "memory": "0.5Gi"}, "limits": {"memory": "1024Mi"}}}
    return {"minAvailable": 1, "schedulerName": "volcano", "queue": "q1", "plugins": {"env": [], "ssh": ["--port=1", "x"]}, **more,
            "tasks": [{"name": "w", "replicas": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [main]}}}]}


def old(name, **more):
    return {"metadata": {"name": name, **more}}


def furnish(bed):
    """Nothing here changes by itself: no controller runs."""
    make(bed, "/api/v1/namespaces", {"metadata": {"name": "team"}})
    bed.namespace("default")
    make(bed, QUEUES, {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", **old("q1"), "spec": {"weight": 3, "parent": "root"}},
         {"state": "Open", "pending": 4})
    for i, phase in enumerate(("Running", "Pending", "Pending", "Inqueue", "Unknown", "Completed")):
        make(bed, GROUPS, {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", **old(f"g{i}"), "spec": {"queue": "q1", "minMember": 1}},
             {"phase": phase})
    kind = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    make(bed, JOBS, {**kind, **old("abc", labels={"volcano.sh/job-type": "MPI"}, annotations={"a": "<b>&\"c\"", "Z": "é"}), "spec": spec()},
         {"state": {"phase": "Running"}, "minAvailable": 1, "running": 2, "retryCount": 3, "version": 4, "terminating": 1, "unknown": 5,
          "controlledResources": {"plugin-env": "env"},
          "conditions": [{"status": "Pending", "lastTransitionTime": "2026-01-02T03:04:05Z"}, {"status": "Running", "lastTransitionTime": None}]})
    make(bed, JOBS, {**kind, **old("m" * 50), "spec": spec(schedulerName="other", queue="default")}, {"state": {"phase": "Terminating"}})
    make(bed, JOBS.replace("default", "team"), {**kind, **old("later"), "spec": spec()})
    flow = {"apiVersion": "flow.volcano.sh/v1alpha1"}
    flows = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/"
    make(bed, flows + "jobflows", {**flow, "kind": "JobFlow", **old("f"), "spec": {"jobRetainPolicy": "retain", "flows": [
        {"name": "t"}, {"name": "u", "dependsOn": {"targets": ["t"]}}]}})
    make(bed, flows + "jobtemplates", {**flow, "kind": "JobTemplate", **old("t"), "spec": spec()})
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    ended = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2001-01-01T00:00:00Z"}}
    said = [{"name": "c", "image": "i", "imageID": "x", "ready": False, "restartCount": 0}]
    for name, queue, status in (("run", "q1", {"phase": "Running", "containerStatuses": [{**said[0], "ready": True, "state": {"running": {}}}]}),
                                ("loop", "q1", {"phase": "Running", "containerStatuses": [{**said[0], "restartCount": 7, "state": waiting, "lastState": ended}]}),
                                ("fail", "q1", {"phase": "Failed", "containerStatuses": [{**said[0], "state": ended}]}),
                                ("init", None, {"phase": "Pending", "initContainerStatuses": [{**said[0], "name": "i", "state": ended}]}),
                                ("gated", None, {"phase": "Pending"}),
                                ("evicted", None, {"phase": "Failed", "reason": "Evicted"})):
        labels = {"volcano.sh/job-name": "abc", **({"volcano.sh/queue-name": queue} if queue else {})}
        pod = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n",
               **({"initContainers": [{"name": "i", "image": "i"}]} if name == "init" else {})}
        if name == "gated":
            pod = {**pod, "nodeName": None, "schedulingGates": [{"name": "a.b/c"}]}
        make(bed, PODS, {**old(name, labels=labels), "spec": pod}, status)


def calm(text):
    """Ages go on while the two run."""
    return re.sub(r"\b\d+s\b *", "Ns ", text)


def compares(bed):
    ours, env = Tools(None), bed.environment()
    seen, differ = 0, []
    for line in LINES:
        words = shlex.split(line)
        if not os.access(os.path.join(REAL, words[0]), os.X_OK):
            continue
        real = subprocess.run([os.path.join(REAL, words[0]), *words[1:]], env=env, capture_output=True, text=True, timeout=120)
        mine = subprocess.run(ours.argv(line), env=env, capture_output=True, text=True, timeout=120)
        if (calm(mine.stdout), mine.stderr, mine.returncode) != (calm(real.stdout), real.stderr, real.returncode):
            differ.append((line, mine, real))
        seen += 1
    assert not differ and seen >= 35, (seen, differ)


def speaks_through(bed):
    """exec and logs: WebSockets to the API server, whatever it speaks to the kubelet."""
    t, env = Tools(None), bed.environment()

    def run(line, stdin=b""):
        return subprocess.run(t.argv(line), env=env, input=stdin, capture_output=True, timeout=120)
    for websockets in (False, True):
        with Kubelet(bed, takes_websockets=websockets):
            r = run("pumice job exec p -- exit 7")
            assert r.returncode == 7, r
            r = run("pumice job exec -i p -- exit 3", b"hello\n" * 50000)
            assert (r.returncode, len(r.stdout)) == (3, 300000), (r.returncode, len(r.stdout), r.stderr[-500:])
            r = run("pumice job exec -i p -- cat", b"please fail")
            assert r.returncode not in (0, 2) and b'it "failed"' in r.stderr, r
        bed.call("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
        bed.call("DELETE", "/api/v1/nodes/n")
    r = run("pumice job list -A -o wide")
    assert r.returncode == 0 and b"abc" in r.stdout and b"Running" in r.stdout, r
    r = run("pumice job top abc")
    assert r.returncode == 5 and b"metrics.k8s.io" in r.stderr, r
    r = run("pumice job wait abc --for phase=Running")
    assert r.stdout == b"job default/abc Running\n", r
    r = run("pumice job wait abc --timeout 1s")
    assert r.returncode == 4, r


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            install(bed)
            furnish(bed)
            if all(os.access(os.path.join(REAL, tool), os.X_OK) for tool in TOOLS[:1]):
                suite.case("compares", lambda: compares(bed))
            else:
                print(f"no vcctl in {REAL}: not compared")
            suite.case("speaks_through", lambda: speaks_through(bed))
    except Skip as why:
        print(why)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
