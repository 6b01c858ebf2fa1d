#!/usr/bin/env python3
"""Command lines on the API: Volcano's tools by their names, and pumice job, queue, pod, jobflow, jobtemplate, slurm.

One server serves all cases; each case uses its own names. ctl/volcano.json has the output of Volcano's own tools;
tests/kube/vcctl.py compares with the real tools where they can be built.
"""
import contextlib
import json
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import PUMICE, Suite, pumice  # noqa: E402
from server import JOBS, PODS, QUEUES, Server, Watch, job, pod, until  # noqa: E402

TOOLS = "vcctl vsub vjobs vqueues vcancel vsuspend vresume".split()
SLURM = "sbatch srun squeue scancel sinfo sacct scontrol".split()
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/podgroups"
EVENTS = "/api/v1/namespaces/default/events"


class Tools:
    """Links to the program, and a kubeconfig."""

    def __init__(self, config):
        self.dir = tempfile.TemporaryDirectory(prefix="pumice-ctl-")
        self.config = config
        for name in TOOLS + SLURM + ["pumice"]:
            os.symlink(os.path.abspath(PUMICE), os.path.join(self.dir.name, name))

    def env(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "VOLCANO_", "SLURM", "TZ"))}
        return {**env, "HOME": "/nonexistent", "USER": "alice", **({"KUBECONFIG": self.config} if self.config else {}), **more}

    def argv(self, line):
        words = line if isinstance(line, list) else shlex.split(line)
        return [os.path.join(self.dir.name, words[0]), *words[1:]]

    def run(self, line, stdin=None, **env):
        r = subprocess.run(self.argv(line), input=stdin, capture_output=True, text=True, env=self.env(**env), timeout=120)
        assert "Sanitizer" not in r.stderr and "runtime error:" not in r.stderr, r.stderr[:3000]
        return r

    def out(self, line, **kw):
        r = self.run(line, **kw)
        assert r.returncode == 0, (line, r.returncode, r.stdout, r.stderr)
        return r.stdout

    def fails(self, line, status, *words, **kw):
        r = self.run(line, **kw)
        assert r.returncode == status, (line, r.returncode, r.stdout, r.stderr)
        for w in words:
            assert w in r.stdout + r.stderr, (line, w, r.stdout, r.stderr)
        return r

    def file(self, name, text):
        path = os.path.join(self.dir.name, name)
        with open(path, "w") as f:
            f.write(text)
        return path


def phase(s, name, *want):
    return until(f"{name} is {want}", lambda: s.call("GET", f"{JOBS}/{name}")[1].get("status", {}).get("state", {}).get("phase") in want)


# ---- the same bytes as Volcano's ----

def golden():
    """All help texts, wrong use and missing servers: standard output, standard error and exit status."""
    t = Tools(None)
    with open(os.path.join(HERE, "ctl", "volcano.json")) as f:
        rows = json.load(f)
    assert len(rows) > 100
    for row in rows:
        r = t.run(row["line"])
        assert (r.stdout, r.stderr, r.returncode) == (row["stdout"], row["stderr"], row["status"]), (row, r)
    lines = t.out("vcctl version").split("\n")
    assert [x.split(":")[0] for x in lines] == ["API Version", "Version", "Git SHA", "Built At", "Go Version", "Go OS/Arch", ""]
    assert lines[0] == "API Version: v1alpha1", lines


# ---- vcctl ----

def vcctl_job_run(t, s):
    assert t.out("vcctl job run -N c01") == "run job c01 successfully\n"
    spec = s.ok("GET", f"{JOBS}/c01")["spec"]
    task = spec["tasks"][0]
    main = task["template"]["spec"]["containers"][0]
    assert spec["minAvailable"] == 1 and task["replicas"] == 1 and len(spec["tasks"]) == 1, spec
    assert main["image"] == "busybox" and main["name"] == "c01" and main["imagePullPolicy"] == "IfNotPresent", main
    assert main["resources"] == {"limits": {"cpu": "1", "memory": "100Mi"}, "requests": {"cpu": "1", "memory": "100Mi"}}, main
    assert task["template"]["spec"]["restartPolicy"] == "Never"
    assert task["template"]["metadata"]["labels"]["job.volcano.sh"] == "c01"
    r = t.run("vcctl job run")
    assert r.returncode == 255 and r.stdout.startswith("Failed to run job:") and not r.stderr, r
    r = t.run("vcctl job run -N c03 -R cpu")
    assert r.stdout == "Failed to run job: invalid argument syntax cpu, expected <resource>=<value>\n", r
    assert s.call("GET", f"{JOBS}/c03")[0] == 404
    assert t.run("vcctl job run -f x.json").stdout == "Failed to run job: only support yaml file\n"


def vcctl_namespace_of_a_file(t, s):
    path = t.file("c05.yaml", json.dumps({**job("c05", "true"), "metadata": {"name": "c05", "namespace": "default"}}))
    r = t.fails(f"vcctl job run -f {path} -n other", 255, "Failed to run job: ", "the namespace")
    assert s.call("GET", f"{JOBS}/c05")[0] == 404, r
    t.fails(f"pumice job run -f {path} -n other", 3, "c05.yaml: line 1: metadata.namespace is default, but -n is other")
    assert t.out(f"pumice job run -f {path} --dry-run=server") == "job default/c05 created (dry run)\n"
    assert s.call("GET", f"{JOBS}/c05")[0] == 404


def vsub_submits(t, s):
    names = {"VOLCANO_DEFAULT_IMAGE": "debian:12", "VOLCANO_DEFAULT_JOB_NAMESPACE": "default", "VOLCANO_SCHEDULER_NAME": "sched"}
    assert t.out("""vsub -n c06 -c 'sh -c "echo hi; sleep 1"'""", **names) == "run job c06 successfully\n"
    spec = s.ok("GET", f"{JOBS}/c06")["spec"]
    main = spec["tasks"][0]["template"]["spec"]["containers"][0]
    assert main["image"] == "debian:12" and spec["schedulerName"] == "sched", spec
    assert main["command"] == ["sh", "-c", "echo hi; sleep 1"], main
    t.out("vsub -n c06b -i img -S volcano", **names)
    spec = s.ok("GET", f"{JOBS}/c06b")["spec"]
    assert spec["tasks"][0]["template"]["spec"]["containers"][0]["image"] == "img" and spec["schedulerName"] == "volcano"


def vcctl_lists_jobs(t, s):
    assert t.out("vcctl job list -n empty") == "No resources found\n"
    assert t.out("vjobs -N empty") == "No resources found\n"
    s.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "lists"}})
    s.ok("POST", QUEUES, {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "lq"}, "spec": {"weight": 1}})
    for name, queue, labels in (("abc", "lq", {"volcano.sh/job-type": "MPI"}), ("n" * 20, "default", {}), ("m" * 50, "default", {})):
        j = job(name, "true")
        j["spec"]["queue"] = queue
        j["spec"]["schedulerName"] = "nobody"  # stays Pending: the rows are known
        j["metadata"].update(namespace="lists", labels=labels)
        s.ok("POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/lists/jobs", j)
    head, *rows = t.out("vcctl job list -n lists", TZ="UTC").splitlines()
    w = 53
    assert head == ("%-*s%-15s%-12s%-12s%-12s%-6s%-10s%-10s%-12s%-10s%-12s%-10s" % (
        w, "Name", "Creation", "Phase", "JobType", "Replicas", "Min", "Pending", "Running", "Succeeded", "Failed", "Unknown", "RetryCount")), head
    assert [r[:w].rstrip() for r in rows] == ["abc", "m" * 50, "n" * 20], rows
    assert rows[0][w + 27:w + 39] == "MPI" + " " * 9 and rows[1][w + 27:w + 39] == "Batch       ", rows
    day = s.ok("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/lists/jobs/abc")["metadata"]["creationTimestamp"][:10]
    assert rows[0][w:w + 15] == day + "     ", rows
    assert all(len(r) == len(head) for r in rows), rows
    assert "abc" in t.out("vcctl job list -n lists -q lq") and "nnn" not in t.out("vcctl job list -n lists -q lq")
    assert t.out("vcctl job list -n lists -q lq --selector nnn") == "No resources found\n"
    assert t.out("vcctl job list -n lists --selector nnn").count("\n") == 2
    every = t.out("vcctl job list --all-namespaces").splitlines()
    assert every[0].startswith("Namespace   Name  "), every[0]
    assert any(r.startswith("lists       abc ") for r in every), every
    assert t.out("vjobs -N lists --selector zzz") == head + "\n"
    r = t.run("pumice job list -n lists -l nothing=here")
    assert r.returncode == 0 and r.stdout == "" and r.stderr == "No resources found in namespace lists\n", r
    assert t.out("pumice job list -n lists -l volcano.sh/job-type=MPI -o name") == "job.batch.volcano.sh/abc\n"


def vcctl_views_jobs(t, s):
    s.ok("POST", JOBS, job("c14", "sleep 1000"))
    phase(s, "c14", "Running")
    uid = s.ok("GET", f"{JOBS}/c14")["metadata"]["uid"]
    text = t.out("vcctl job view -N c14")
    assert "  Conditions:\n    Status\tTransitionTime\n" in text and "    Running \t" in text, text
    assert text.startswith("Name:       \tc14\nNamespace:  \tdefault\nLabels:     \t<none>\n"), text
    assert text.endswith("Events: \t<none>\n"), text
    short = t.out("vjobs -n c14")
    assert "Conditions" not in short and short.endswith("Events: \t<none>\n"), short
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "c14.17a", "namespace": "default"}, "reason": "Said", "type": "Normal",
             "message": " three times ", "count": 3, "source": {"component": "me", "host": "h"},
             "firstTimestamp": "2001-01-01T00:00:00Z", "lastTimestamp": "2002-01-01T00:00:00Z",
             "involvedObject": {"kind": "Job", "name": "c14", "namespace": "default", "uid": uid, "apiVersion": "batch.volcano.sh/v1alpha1"}}
    s.ok("POST", EVENTS, event)
    row = next(x for x in t.out("vcctl job view -N c14").splitlines() if x.startswith("Normal"))
    assert re.fullmatch(r"Normal {9}\tSaid {36}\t\d+y \(x3 over \d+y\) *\tme, h {35}\tthree times", row), row
    assert "Said" in t.out("pumice job view c14")
    s.ok("POST", EVENTS, {**event, "metadata": {"name": "c14.17b", "namespace": "default"}, "reason": "OfAnother",
                          "involvedObject": {**event["involvedObject"], "uid": "00000000-0000-0000-0000-000000000000"}})
    assert "OfAnother" not in t.out("pumice job view c14"), "of a job that had the name before"


def vcctl_commands_jobs(t, s):
    w = Watch(s, "/apis/bus.volcano.sh/v1alpha1/commands?watch=1")
    assert t.out("vcctl job suspend -N c14") == ""
    sent = w.until(1)[0]["object"]
    w.close()
    uid = s.ok("GET", f"{JOBS}/c14")["metadata"]["uid"]
    assert sent["action"] == "AbortJob" and sent["metadata"]["name"].startswith("c14-abortjob-"), sent
    for ref in (sent["target"], sent["metadata"]["ownerReferences"][0]):
        assert (ref["kind"], ref["name"], ref["uid"], ref["controller"]) == ("Job", "c14", uid, True), sent
    phase(s, "c14", "Aborted")
    assert t.out("vcctl job resume -N c14") == ""
    phase(s, "c14", "Running")
    assert t.out("pumice job suspend c14 --wait") == "job default/c14 suspended\n"
    assert t.out("pumice job suspend c14") == "job default/c14 is Aborted already\n"
    assert t.out("pumice job resume c14 --wait --timeout 1m") == "job default/c14 resumed\n"
    assert t.out("vcancel -n c14") == "cancel job c14 successfully\n"
    r = t.run("vcancel -n c14")
    if r.returncode == 0:  # its pods end first
        until("it is gone", lambda: s.call("GET", f"{JOBS}/c14")[0] == 404)
        r = t.run("vcancel -n c14")
    assert r.returncode == 255 and r.stdout == 'Failed to: jobs.batch.volcano.sh "c14" not found\n', r


def vcctl_queues(t, s):
    assert t.out("vcctl queue create -n c18") == ""
    until("it is open", lambda: s.ok("GET", f"{QUEUES}/c18").get("status", {}).get("state") == "Open")
    assert s.ok("GET", f"{QUEUES}/c18")["spec"]["parent"] == "root"
    assert t.out("vcctl queue operate -n c18 -a close") == ""
    until("it is closed", lambda: s.ok("GET", f"{QUEUES}/c18")["status"]["state"] == "Closed")
    assert t.out("pumice queue operate open c18 --wait") == "queue c18 opened\n"
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "c18g", "namespace": "default"},
             "spec": {"minMember": 1000, "queue": "c18"}}
    s.ok("POST", GROUPS.replace("/podgroups", "/namespaces/default/podgroups"), group)
    until("it has a phase", lambda: s.ok("GET", GROUPS.replace("/podgroups", "/namespaces/default/podgroups/c18g")).get("status", {}).get("phase"))
    assert t.out("vcctl queue operate -n c18 -a close") == ""
    until("it is closing", lambda: s.ok("GET", f"{QUEUES}/c18")["status"]["state"] == "Closing")
    assert t.out("pumice queue operate update c18 -w 3") == "queue c18 updated\n"  # whatever its state is
    r = t.run("vcctl queue operate -n c18 -a update -w 0")
    assert r.returncode == 255 and "weight must be specified, the value must be greater than 0" in r.stdout, r
    assert t.out("pumice queue operate open c18 --wait --timeout 60s") == "queue c18 opened\n"
    assert t.out("vcctl queue operate -n c18 -a update -w 5") == "" and s.ok("GET", f"{QUEUES}/c18")["spec"]["weight"] == 5
    assert t.run("vcctl queue operate -n c18 -a freeze").stdout == \
        "Failed to operate queue: action freeze invalid, valid actions are open, close and update\n"
    head, row = t.out("vcctl queue get -n c18").splitlines()
    assert head == "%-25s" % "Name" + "".join("%-8s" % x for x in "Weight State Parent Inqueue Pending Running Unknown Completed".split()), head
    counted = dict(zip(head.split(), row.split()))
    groups = [g for g in s.ok("GET", GROUPS)["items"] if g["spec"].get("queue") == "c18"]
    for p in "Inqueue Pending Running Unknown Completed".split():
        assert int(counted[p]) == sum(g["status"].get("phase") == p for g in groups), (row, groups)
    assert int(counted["Inqueue"]) + int(counted["Pending"]) == 1, row
    assert row in t.out("vcctl queue list").splitlines()
    assert t.out("pumice queue create c18b -S Closed -w 7 --parent root") == "queue c18b created\nqueue c18b closed\n"
    until("created closed", lambda: s.ok("GET", f"{QUEUES}/c18b")["status"]["state"] == "Closed")
    assert t.out("pumice queue delete c18b") == "queue c18b deleted\n"
    t.fails("pumice queue get nobody", 5, "not found")
    t.fails("pumice queue operate freeze c18", 2, "use: pumice queue operate open|close|update NAME")
    t.fails("pumice queue create c18c -w 0", 2, "--weight")


def vcctl_pods(t, s):
    s.ok("POST", JOBS, job("c23", "exit 3"))
    phase(s, "c23", "Failed", "Completed", "Running")
    until("its pod has ended", lambda: "Error" in t.out("vcctl pod list -j c23"))
    head, row = t.out("vcctl pod list -j c23").splitlines()
    assert head.split() == ["Name", "Ready", "Status", "Restart", "Age"] and row.split()[:4] == ["c23-w-0", "0/1", "Error", "0"], row
    assert head.index("Ready") == len("c23-w-0") + 8 and head.index("Restart") == head.index("Status") + len("Error") + 8, head
    r = t.run("vcctl pod list -j c23 -q other")
    assert r.returncode == 255 and r.stdout == "Failed to list pod: the input vcjob c23 does not match the queue other\n", r
    assert t.out("vcctl pod list -j nobody") == "No resources found\n"
    assert "c23-w-0" in t.out("vcctl pod list --all-namespaces -q default")
    ended = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2001-01-01T00:00:00Z"}}
    said = {"name": "main", "image": "i", "imageID": "x", "ready": False, "restartCount": 0}
    first = {"name": "i", "image": "i", "command": ["true"]}
    for name, want, spec, status in (
            ("init", "Init:Error", {"initContainers": [first]}, {"phase": "Pending", "initContainerStatuses": [{**said, "name": "i", "state": ended}]}),
            ("loop", "CrashLoopBackOff", {}, {"phase": "Running", "containerStatuses": [
                {**said, "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended}]}),
            ("going", "Terminating", {}, {"phase": "Running", "containerStatuses": [{**said, "ready": True, "state": {"running": {}}}]}),
            ("gated", "SchedulingGated", {"schedulingGates": [{"name": "a.b/c"}]}, None)):
        p = pod(f"c24-{name}", "true", labels={"volcano.sh/job-name": "c24"}, finalizers=["a.b/c"] if name == "going" else [])
        p["spec"].update(spec, schedulerName="nobody")
        s.ok("POST", PODS, p)
        if status:
            s.ok("PATCH", f"{PODS}/c24-{name}/status", {"status": status}, type="application/merge-patch+json")
        if name == "going":
            s.ok("DELETE", f"{PODS}/c24-going")
        row = next(r for r in t.out("vcctl pod list -j c24").splitlines() if r.startswith(f"c24-{name} "))
        assert row.split()[2] == want, row
    assert re.search(r"c24-loop +0/1 +CrashLoopBackOff +7 \(\d+y\d*d? ago\)", t.out("vcctl pod list -j c24")), t.out("vcctl pod list -j c24")
    s.ok("PATCH", f"{PODS}/c24-going", {"metadata": {"finalizers": None}}, type="application/merge-patch+json")
    wide = t.out("pumice pod list -j c23 -o wide").splitlines()
    assert wide[0].split()[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"] and "NODE" in wide[0], wide


def vcctl_flows(t, s):
    good = {"metadata": {"name": "c26"}, "spec": {"flows": [{"name": "a"}]}}
    text = json.dumps(good) + "\n---\n" + json.dumps({"metadata": {"name": "Bad_Name"}, "spec": {"flows": []}}) + "\n"
    lines = t.out(f"vcctl jobflow create -f {t.file('c26.yaml', text)}").splitlines()
    assert lines[0] == "Created JobFlow: default/c26" and lines[1].startswith("Failed to create JobFlow: "), lines
    kind = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow"}
    text = json.dumps({**kind, "metadata": {"name": "Bad_Name"}, "spec": {"flows": []}}) + "\n---\n" + \
        json.dumps({**kind, **good, "metadata": {"name": "c26b"}})
    r = t.fails(["pumice", "jobflow", "create", "-f", "-"], 3, "Bad_Name", stdin=text)
    assert r.stdout == "jobflow default/c26b created\n", r
    dashes = "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nmetadata: {name: c27}\nspec:\n  minAvailable: 1\n  tasks:\n" \
        "  - name: w\n    replicas: 1\n    template:\n      spec:\n        containers:\n        - name: c\n          image: i\n" \
        "          command: [sh, -c, 'echo --- a']\n"
    assert t.out(["pumice", "jobtemplate", "create", "-f", "-"], stdin=dashes) == "jobtemplate default/c27 created\n"
    got = json.loads(t.out("pumice jobtemplate describe c27 -o json"))
    assert got["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["command"][2] == "echo --- a", got
    got = json.loads(t.out("vcctl jobflow describe -N c26 -o json"))
    assert list(got)[:3] == ["kind", "apiVersion", "metadata"] and "managedFields" not in got["metadata"], got
    assert t.out("vcctl jobflow get -N c26").splitlines()[0].split() == ["Name", "Namespace", "Phase", "Age"]
    assert t.out("vcctl jobtemplate list") == "Name    Namespace    \nc27     default      \n"
    listed = t.out("pumice jobflow describe")
    assert listed.startswith("apiVersion: v1\nkind: List\n") and "  kind: JobFlow\n" in listed, listed
    for name, command, status in (("c26y", "true", 0), ("c26n", "exit 3", 1)):
        template = {"apiVersion": kind["apiVersion"], "kind": "JobTemplate", "metadata": {"name": name}, "spec": job(name, command)["spec"]}
        t.out(["pumice", "jobtemplate", "create", "-f", "-", "--wait"], stdin=json.dumps(template))
        r = t.run(["pumice", "jobflow", "create", "-f", "-", "--wait"], stdin=json.dumps({
            **kind, "metadata": {"name": name}, "spec": {"flows": [{"name": name}]}}))
        said = f"jobflow default/{name} created\njobflow default/{name} {'Failed' if status else 'Succeed'}\n"
        assert (r.returncode, r.stdout) == (status, said), r
        assert t.out(f"pumice jobflow delete {name} --wait") == f"jobflow default/{name} deleted\n"
        assert s.call("GET", f"/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows/{name}")[0] == 404
        t.out(f"pumice jobtemplate delete {name} --wait")
    r = t.run(["pumice", "jobflow", "create", "-f", "-", "--wait", "--timeout", "1ms"], stdin=json.dumps({
        **kind, "metadata": {"name": "c26w"}, "spec": {"flows": [{"name": "nothing"}]}}))
    assert r.returncode == 4 and "JobFlow c26w is still" in r.stderr, r
    t.out("pumice jobflow delete c26w")
    assert t.out("pumice queue create c26 --wait") == "queue c26 created\n" and s.ok("GET", f"{QUEUES}/c26")["status"]["state"] == "Open"
    assert t.out("pumice queue delete c26 --wait") == "queue c26 deleted\n" and s.call("GET", f"{QUEUES}/c26")[0] == 404
    assert t.out("pumice jobflow delete c26 c26b") == "jobflow default/c26 deleted\njobflow default/c26b deleted\n"
    assert t.out("vcctl jobtemplate delete -N c27") == "Deleted JobTemplate: default/c27\n"


# ---- who may ----

def closing_a_queue_needs_rights(t, s):
    """The right to write Commands in a namespace is not enough to close a queue of all namespaces."""
    made = pumice("server", "user", "add", "eve", "--token", "--edit", "-n", "default", "--data-dir", s.data)
    token = re.search(r"token: (\S+)", made.stdout)[1]
    until("she is known", lambda: s.call("GET", JOBS, token=token)[0] == 200)
    commands = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"

    def command(action, kind, version, name, uid):
        return {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"generateName": "c68-"}, "action": action,
                "target": {"apiVersion": version, "kind": kind, "name": name, "uid": uid}}
    queue = s.ok("GET", f"{QUEUES}/default")["metadata"]["uid"]
    for target in (("Queue", "scheduling.volcano.sh/v1beta1"), ("Queue", "scheduling.volcano.sh/v1")):
        status, answer = s.call("POST", commands, command("CloseQueue", *target, "default", queue), token=token)
        assert status == 403 and 'cannot update resource "queues/status"' in answer["message"], answer
    s.ok("POST", JOBS, job("c68", "sleep 1000"))
    uid = s.ok("GET", f"{JOBS}/c68")["metadata"]["uid"]
    status, answer = s.call("POST", commands, command("AbortJob", "Job", "batch.volcano.sh/v1alpha1", "c68", uid), token=token)
    assert status == 201, answer
    phase(s, "c68", "Aborted")
    assert s.ok("GET", f"{QUEUES}/default")["status"]["state"] == "Open"
    s.ok("DELETE", f"{JOBS}/c68")


# ---- pumice job … ----

def runs_and_waits(t, s):
    assert t.out("pumice job run -N r1 -i debian:12 -r 2 -e A=b --wait -- sh -c 'echo $A'") == \
        "job default/r1 created\njob default/r1 Completed\n"
    assert t.out("pumice job logs r1") == "[r1-main-0] b\n[r1-main-1] b\n"
    assert t.out("pumice job logs r1-main-1") == "b\n"
    r = t.run("pumice job run -N r2 -i debian:12 --wait -- sh -c 'exit 4'")
    assert r.returncode == 1 and "r2 Failed" in r.stdout, r
    t.fails("pumice job wait r2", 1, "job default/r2 Failed")
    assert t.out("pumice job wait r1 r2 --for phase=Completed,Failed").count("\n") == 2
    t.fails("pumice job wait nobody", 5, "not found")
    t.fails("pumice job wait r1 --for phase=Done", 2, "is not a phase of a job")
    t.fails("pumice job wait r1 --for delete --timeout 1s", 4, "job r1 is still Completed after 1s")
    assert t.out("pumice job wait not-there --for delete") == "job default/not-there deleted\n"
    t.fails("pumice job wait r1 --timeout x", 2, "--timeout")
    t.fails("pumice job run -N r3 -r 0", 2, "--replicas")
    t.fails("pumice job run -N r3 -e novalue", 2, "NAME=VALUE")
    t.fails("pumice job run -N r3 -R cpu", 3, "--requests", "<resource>=<value>")
    t.fails("pumice job run -N r1", 3, "already exists")
    t.fails("pumice job list -s http://127.0.0.1:1", 1, "http://127.0.0.1:1: Connection refused")
    assert json.loads(t.out("pumice job run -N r3 --dry-run=client -o json"))["metadata"]["name"] == "r3"


def formats(t, s):
    assert t.out("pumice job list r1 -o custom-columns=N:.metadata.name,T:.spec.tasks[*].name,X:.spec.nothing --no-headers") == "r1  main  <none>\n"
    listed = json.loads(t.out("pumice job list r1 r2 -o json"))
    assert listed["kind"] == "List" and [i["kind"] for i in listed["items"]] == ["Job", "Job"], listed
    assert "managedFields" not in json.dumps(listed)
    assert t.out("pumice job list r1 -o yaml").startswith("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n")
    names = t.out("pumice job list -o custom-columns=N:.metadata.name --sort-by .metadata.name --no-headers").split()
    assert names == sorted(names) and len(names) > 3, names
    wide = t.out("pumice job list -A -o wide").splitlines()
    assert wide[0].split()[:4] == ["NAMESPACE", "NAME", "PHASE", "PODS"] and "PRIORITY" in wide[0], wide
    for bad in ("foo", "custom-columns=N", "custom-columns=N:.a[", "custom-columns=N:.a[?(@.b)]"):
        t.fails(["pumice", "job", "list", "r1", "-o", bad], 2, "-o")
    t.fails("pumice job lst", 2, "did you mean 'list'?")
    t.fails("pumice job list nobody", 5, 'jobs.batch.volcano.sh "nobody" not found')
    t.fails("pumice job delete", 2, "-l SELECTOR or --all")
    assert t.out("pumice job top r1").splitlines()[0].split() == ["NAME", "PODS", "CPU(cores)", "MEMORY(bytes)"]
    s.call("PATCH", f"{JOBS}/r1", {"metadata": {"annotations": {"evil": "\x1b]0;x\x07"}}}, type="application/merge-patch+json")
    assert "\x1b" not in t.out("pumice job list r1 -o custom-columns=E:.metadata.annotations.evil")


def dry_runs(t, s):
    """Every order can be tried, by the client alone or by the server: it says so, and nothing comes of it."""
    s.ok("POST", JOBS, {**job("dry", "true"), "spec": {**job("dry", "true")["spec"], "schedulerName": "nobody"}})
    t.out("pumice queue create dry")
    flow = json.dumps({"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": {"name": "dry"}, "spec": {"flows": [{"name": "a"}]}})
    assert t.out(["pumice", "jobflow", "create", "-f", "-"], stdin=flow) == "jobflow default/dry created\n"
    until("all has settled", lambda: phase(s, "dry", "Pending") and s.ok("GET", f"{QUEUES}/dry").get("status", {}).get("state") == "Open")
    kinds = (JOBS, QUEUES, "/apis/flow.volcano.sh/v1alpha1/jobflows", "/apis/bus.volcano.sh/v1alpha1/commands")

    def state():
        return [[(o["metadata"]["name"], o["metadata"]["generation"], o["metadata"].get("deletionTimestamp")) for o in s.ok("GET", k)["items"]] for k in kinds]
    before = state()
    for where in ("client", "server"):
        for line, said in (("job suspend dry", "job default/dry suspended"), ("job delete dry", "job default/dry deleted"),
                           ("job run -N dry2", "job default/dry2 created"), ("queue create dry2", "queue dry2 created"),
                           ("queue delete dry", "queue dry deleted"), ("queue operate close dry", "queue dry closed"),
                           ("queue operate update dry -w 9", "queue dry updated"), ("jobflow delete dry", "jobflow default/dry deleted"),
                           ("jobflow create -f -", "jobflow default/dry2 created"), ("jobflow delete -f -", "jobflow default/dry deleted")):
            file = flow.replace('"dry"', '"dry2"') if "create -f" in line else flow
            assert t.out(f"pumice {line} --dry-run={where}", stdin=file) == said + " (dry run)\n", line
    assert state() == before
    t.fails("pumice queue delete nobody --dry-run=server", 5, "not found")
    t.out("pumice job delete dry")
    t.out("pumice queue delete dry")
    t.out("pumice jobflow delete dry")


def lists_go_on(t, s):
    """-w: what is there, then each again as it changes; also over what the server does meanwhile."""
    follow = {what: subprocess.Popen(t.argv(f"pumice {what} list {more} -w"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=t.env())
              for what, more in (("job", "w1"), ("queue", "-o name"), ("pod", "-j w1"), ("jobflow", "-A"))}
    r = t.fails("pumice job list w1 -w", 5, "not found")
    assert follow.pop("job").wait() == 5, r
    s.ok("POST", JOBS, job("w1", "sleep 1000"))
    follow["job"] = subprocess.Popen(t.argv("pumice job list w1 -w"), stdout=subprocess.PIPE, text=True, env=t.env())

    def lines(what, wanted):
        seen = []
        while not seen or not re.search(wanted, seen[-1]):
            seen.append(follow[what].stdout.readline())
            assert seen[-1], (what, seen)
        return seen
    seen = lines("job", "w1 .*Running")
    assert re.match("NAME +PHASE +PODS", seen[0]) and not any("NAME" in x for x in seen[1:]), seen
    assert seen[0].index("PODS") == re.search(r"\d+/\d+", seen[-1]).start(), seen
    lines("pod", "w1-w-0 .*Running")
    t.out("pumice queue create wq")
    lines("queue", "queue.scheduling.volcano.sh/wq")
    t.out(["pumice", "jobflow", "create", "-f", "-"], stdin=json.dumps({
        "apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": {"name": "wf"}, "spec": {"flows": [{"name": "nothing"}]}}))
    lines("jobflow", "default +wf +Pending")
    t.out("pumice job delete w1 --wait")
    lines("pod", "w1-w-0 .*Deleted")
    t.out("pumice jobflow delete wf")
    t.out("pumice queue delete wq")
    for p in follow.values():
        p.kill()
        p.communicate()


def lists_what_matters(t, s):
    """What ended long ago is left out unless it is asked for; who made a job is known by the server."""
    long_ago = {"phase": "Completed", "lastTransitionTime": "2001-01-01T00:00:00Z"}
    s.ok("POST", JOBS, {**job("old", "true"), "spec": {**job("old", "true")["spec"], "schedulerName": "nobody"}, "metadata": {
        "name": "old", "annotations": {"pumice.dev/creator": "somebody"}}})
    who = s.ok("GET", f"{JOBS}/old")["metadata"]["annotations"]["pumice.dev/creator"]
    assert who == "kubernetes-admin", who
    phase(s, "old", "Pending")
    s.ok("PATCH", f"{JOBS}/old", {"metadata": {"annotations": {"pumice.dev/creator": None}}}, type="application/merge-patch+json")
    assert s.ok("GET", f"{JOBS}/old")["metadata"]["annotations"]["pumice.dev/creator"] == who
    assert "old" in t.out("pumice job list -o name -u kubernetes-admin") and "old" not in t.run("pumice job list -o name -u eve").stdout
    s.ok("PATCH", f"{JOBS}/old/status", {"status": {"state": long_ago}}, type="application/merge-patch+json")
    assert "/old\n" not in t.out("pumice job list -o name") and "/r1\n" in t.out("pumice job list -o name")
    for line in ("job list -a", "job list old", "job list --phase completed"):
        assert "/old\n" in t.out(f"pumice {line} -o name"), line
    assert re.search(r"old .* kubernetes-admin$", t.out("pumice job list old -o wide").splitlines()[1])
    t.out("pumice job delete old")


def reasons(t, s):
    j = job("why", "true", 1)
    j["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "500"}}
    s.ok("POST", JOBS, j)
    until("somebody says why", lambda: re.search(r"NeverFits|Resources", t.out("pumice job list why")))
    s.ok("POST", JOBS, {**j, "metadata": {"name": "lost"}, "spec": {**j["spec"], "queue": "c18"}})
    t.out("pumice queue operate close c18")
    until("its queue is closed", lambda: "QueueClosed" in t.out("pumice job list lost"))
    assert re.search(r"lost.* PD .*\(QueueClosed\)", t.out("squeue")), t.out("squeue")
    assert t.out("pumice job delete why lost --wait") == "job default/why deleted\njob default/lost deleted\n"


def follows(t, s):
    """Lines come while the job runs: each is asked for by a file that only then is there."""
    gate = os.path.join(t.dir.name, "gate")
    os.mkfifo(gate)
    os.chmod(gate, 0o666)
    j = job("logs", f"echo one; cat {gate}; echo two")
    spec = j["spec"]["tasks"][0]["template"]["spec"]
    spec["volumes"] = [{"name": "d", "hostPath": {"path": t.dir.name}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "d", "mountPath": t.dir.name}]
    s.ok("POST", JOBS, j)
    phase(s, "logs", "Running")
    p = subprocess.Popen(t.argv("pumice job logs -f logs"), stdout=subprocess.PIPE, text=True, env=t.env())
    assert p.stdout.readline() == "one\n"
    with open(gate, "w") as f:
        f.write("through\n")
    assert p.stdout.read() == "through\ntwo\n" and p.wait() == 0
    assert t.out("pumice job logs logs --tail 1") == "two\n"
    t.fails("pumice job logs logs --tail x", 2, "--tail")
    t.fails("pumice job logs logs --since x", 2, "--since")
    t.fails("pumice job logs logs -t nobody", 5, "has no pods of task nobody")
    t.fails("pumice job logs nobody", 5, "not found")


def enters(t, s):
    s.ok("POST", JOBS, job("enter", "sleep 1000"))
    phase(s, "enter", "Running")
    r = t.run("pumice job exec enter -- sh -c 'echo out; echo err >&2; exit 7'")
    assert (r.returncode, r.stdout, r.stderr) == (7, "out\n", "err\n"), r
    big = "x" * 300000 + "\n"
    assert t.run("pumice job exec -i enter -- cat", stdin=big).stdout == big
    assert t.out("pumice job exec enter-w-0 -- hostname") == "enter-w-0\n"
    r = t.run("pumice job exec enter -- nosuchprogram")
    assert r.returncode != 0 and "nosuchprogram" in r.stderr, r
    t.fails("pumice job exec enter", 2, "COMMAND")
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(t.argv("pumice")[0], t.argv("pumice job exec -it enter -- sh"), t.env(TERM="dumb"))
    seen = b""

    def wait_for(piece):
        nonlocal seen
        while piece not in seen:
            assert select.select([fd], [], [], 60)[0], seen
            seen += os.read(fd, 65536)
    try:
        os.write(fd, b"tty && stty size && echo do''ne\n")
        wait_for(b"done")
        assert b"/dev/" in seen, seen
        os.write(fd, b"exit 5\n")
        with contextlib.suppress(OSError):
            while os.read(fd, 65536):
                pass
    finally:
        os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5


# ---- Slurm ----

SCRIPT = """#!/bin/sh
#SBATCH --job-name=My.Job -n 2
#SBATCH -c 1 --mem=200M   # each
#SBATCH --account=x
# a comment
#SBATCH -o /tmp/out-%x-%j-%t

echo "args $*"
srun -n 2 sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS, $SLURM_JOB_ID'
#SBATCH --gres=bad
"""


def slurm_submits(t, s):
    path = t.file("job.sh", SCRIPT)
    r = t.run(f"sbatch --parsable --wait {path} a b")
    assert r.returncode == 0 and re.fullmatch(r"\d+\n", r.stdout) and "--account is not needed" in r.stderr, r
    n = r.stdout.strip()
    logs = t.out(f"pumice job logs my-job-{n}")
    for rank in "01":
        assert f"[my-job-{n}-task-{rank}] args a b\n" in logs and f"rank {rank} of 2, {n}\n" in logs, logs
    spec = s.ok("GET", f"{JOBS}/my-job-{n}")["spec"]
    assert spec["minAvailable"] == 2 and spec["tasks"][0]["replicas"] == 2, spec
    assert t.run("sbatch -W --wrap 'exit 3'").returncode == 3
    n2 = t.run("sbatch --parsable -W -t 0:01 --wrap 'exec sleep 1000'").stdout.strip()
    assert t.out(f"sacct -P --noheader -j {n2} -o state") == "TIMEOUT\n"
    r = t.run("sbatch --parsable --array=3,5-9:2%2 -W --wrap 'echo id $SLURM_ARRAY_TASK_ID'")
    assert r.returncode == 0 and "the limit of 2 at a time is ignored" in r.stderr, r
    logs = t.out(f"pumice job logs wrap-{r.stdout.strip()}")
    assert [x.split("] ")[1] for x in logs.splitlines()] == ["id 3", "id 5", "id 7", "id 9"], logs
    assert t.out(f"sacct -P --noheader -j {n}").startswith(f"{n}|my-job-{n}|default|alice|2|"), t.out("sacct -P")
    assert t.out(f"sbatch -d afterok:{n} --wrap true").startswith("Submitted batch job ")
    t.fails(f"sbatch -d afternotok:{n} --wrap true", 3, "DependencyNeverSatisfied")
    t.fails("sbatch -d afterok:1 --wrap true", 5, "Invalid job id")


def slurm_srun(t, s):
    r = t.run("srun -n 2 sh -c 'echo hi $SLURM_PROCID; exit $SLURM_PROCID'")
    assert r.returncode == 1 and sorted(x.split("] ")[1] for x in r.stdout.splitlines()) == ["hi 0", "hi 1"], r


def slurm_shows_and_cancels(t, s):
    n = t.out("sbatch --parsable -J longer --wrap 'sleep 1000'").strip()
    phase(s, f"longer-{n}", "Running")
    head, *rows = t.out("squeue").splitlines()
    assert head == "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)", head
    row = next(x for x in rows if x.split()[0] == n)
    assert row.split()[1:5] == ["default", "longer-%s" % n[:1], "alice", "R"], row
    assert t.out(f"squeue -h -j {n} -o '%i|%T|%u'") == f"{n}|RUNNING|alice\n"
    assert t.out("squeue -h --me -t PD") == ""
    t.fails("squeue -o '%Z'", 2, "--format")
    assert "JobState=RUNNING" in t.out(f"scontrol show job {n}")
    assert re.search(r"default\* +up +infinite +1 +(mix|alloc) ", t.out("sinfo")), t.out("sinfo")
    assert t.out(f"scancel {n}") == ""
    phase(s, f"longer-{n}", "Terminated")
    assert "|CANCELLED|" in t.out(f"sacct -P -j {n}")
    t.fails("scancel", 2, "No job identification")
    assert t.out(f"sacct -P -j {n} --format=JobID,State,End,NTasks").splitlines()[0] == "JobID|State|End|NTasks"
    assert re.fullmatch(rf"{n}\|CANCELLED\|20\d\d-\S+Z\|1\n", t.out(f"sacct -P --noheader -j {n} -o jobid,state,end,ntasks"))
    assert t.out(f"sacct --noheader -j {n} -o JobName%5,User%-8") == "longe alice    \n"
    t.fails("sacct -o JobId,Color", 2, "--format", "Color")
    t.fails("sacct -o JobID%x", 2, "--format")
    for option in ("--hold", "--exclusive", "--begin=now", "-C fast", "--nice=5"):
        t.fails(f"sbatch {option} --wrap true", 2, option.split("=")[0].split(" ")[0])


def slurm_holds_and_changes(t, s):
    """What waits can be held, released, made smaller; what runs cannot be held."""
    s.ok("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "urgent"}, "value": 1000})
    n = t.out("sbatch --parsable -J large -n 3 -c 500 --wrap true").strip()
    phase(s, f"large-{n}", "Pending")
    until("it waits", lambda: s.ok("GET", f"{JOBS}/large-{n}")["status"].get("minAvailable"))
    assert t.out(f"scontrol hold {n}") == ""
    phase(s, f"large-{n}", "Aborted")
    assert t.out(f"squeue -h -j {n} -o '%t %r %R'") == "PD JobHeldUser (JobHeldUser)\n"
    assert "JobState=PENDING Reason=JobHeldUser" in t.out(f"scontrol show job {n}")
    assert t.out(f"scontrol update JobId={n} NumTasks=2 Priority=urgent") == ""
    spec = s.ok("GET", f"{JOBS}/large-{n}")["spec"]
    assert (spec["minAvailable"], spec["tasks"][0]["replicas"], spec["priorityClassName"]) == (2, 2, "urgent"), spec
    assert t.out(f"scontrol release {n}") == ""
    phase(s, f"large-{n}", "Pending")
    until("it waits for room again", lambda: "JobHeldUser" not in t.out(f"squeue -h -j {n} -o '%t %r'"))
    for words, status, said in ((f"update JobId={n} Partition=x", 2, "Partition"), (f"update JobId={n} NumTasks=none", 2, "NumTasks"),
                                (f"update JobId={n} Color=red", 2, "Color"), ("update NumTasks=3", 2, "JobId="), ("hold 1", 5, "Invalid job id"),
                                ("hold", 2, "hold needs a job"), ("freeze 1", 2, "unknown command")):
        t.fails(f"scontrol {words}", status, said)
    t.out(f"scontrol hold {n}")
    phase(s, f"large-{n}", "Aborted")
    r = t.run(f"scancel {n}")  # nothing of it is left to be ended
    assert r.returncode == 0 and "deleting job" in r.stderr, r
    until("it is gone", lambda: s.call("GET", f"{JOBS}/large-{n}")[0] == 404)
    s.ok("POST", JOBS, job("runs", "sleep 1000"))
    phase(s, "runs", "Running")
    t.fails("scontrol hold runs", 3, "no longer pending execution")
    assert t.out("scontrol release runs") == ""
    t.out("scancel runs")


BSUB = """#!/bin/sh
#BSUB -J lsf[4-6]
#BSUB -P project -q default -M 100
#BSUB -W 0:10
echo id $LSB_JOBINDEX of $LSB_JOBID in $LSB_QUEUE
#BSUB -x
"""


def lsf_scripts(t, s):
    r = t.run(["sbatch", "--parsable", "-W", t.file("lsf.sh", BSUB)])
    assert r.returncode == 0 and "--account is not needed" in r.stderr, r
    n = r.stdout.strip()
    assert [x.split("] ")[1] for x in t.out(f"pumice job logs lsf-{n}").splitlines()] == [f"id {i} of {n} in default" for i in (4, 5, 6)]
    main = s.ok("GET", f"{JOBS}/lsf-{n}")["spec"]["tasks"][0]["template"]["spec"]
    assert main["activeDeadlineSeconds"] == 600 and main["containers"][0]["resources"]["requests"]["memory"] == "100Mi", main
    t.fails(["sbatch", "--dry-run", t.file("bad.sh", "#!/bin/sh\n#BSUB -app x\n")], 2, "#BSUB", "-app")


def slurm_dry(t, s):
    r = Tools(None).run("sbatch --dry-run -N 2 --ntasks-per-node=4 --gres=gpu:a100:8 --mem=64G -t 1-2 -p q --wrap 'python train.py'")
    assert r.returncode == 0, r
    assert "replicas: 8" in r.stdout and "nvidia.com/gpu: \"2\"" in r.stdout and "memory: 16Gi" in r.stdout, r.stdout
    assert "activeDeadlineSeconds: 93600" in r.stdout and "queue: q" in r.stdout and "minAvailable: 8" in r.stdout, r.stdout
    assert "a100" in r.stderr, r.stderr
    for words, what in (("--gres=gpu:3 -N 1 --ntasks-per-node=2", "--gres"), ("-t soon", "--time"), ("--mem=lots", "--mem"),
                        ("--array=x", "--array"), ("-n 0", "--ntasks"), ("--gres=fpga:1", "--gres")):
        t.fails(f"sbatch --dry-run {words} --wrap true", 2, what)
    t.fails(["sbatch", "--dry-run", t.file("none.sh", "echo hi\n")], 1, "does not look like a batch script")
    t.fails(["sbatch", "--dry-run", t.file("bad.sh", "#!/bin/sh\n#SBATCH --nonsense\n")], 2, "--nonsense")


CASES = (vcctl_job_run, vcctl_namespace_of_a_file, vsub_submits, vcctl_lists_jobs, vcctl_views_jobs, vcctl_commands_jobs, vcctl_queues,
         vcctl_pods, vcctl_flows, closing_a_queue_needs_rights, runs_and_waits, formats, dry_runs, lists_go_on,
         lists_what_matters, reasons, follows, enters, slurm_submits,
         slurm_srun, slurm_shows_and_cancels, slurm_holds_and_changes, lsf_scripts, slurm_dry)


def main():
    suite = Suite()
    only = sys.argv[1:]
    suite.case("golden", golden)
    s = Server()
    t = Tools(s.config)
    try:
        for case in CASES:
            if not only or case.__name__ in only:
                suite.case(case.__name__, lambda: case(t, s))
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
