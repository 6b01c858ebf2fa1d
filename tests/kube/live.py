#!/usr/bin/env python3
"""explain, plan and render of a live cluster: the answers are those that the same state in files gives, nothing is written, and
what cannot be read is named with what to do."""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, resource_of  # noqa: E402
from controller import Controller, Hollow, install, job, submit, until, until_phase  # noqa: E402
from harness import Suite, pumice  # noqa: E402

KINDS = "nodes,queues,priorityclasses,vcjob,podgroups,pods,pdb,pv,pvc,namespaces,hypernodes"


def wide(name, replicas, cpu, **spec):
    manifest = job(name, replicas, "600s", **spec)
    manifest["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cpu)}}
    return manifest


def ask(bed, *args, user="reader", fails=False, stdin=None):
    run = pumice(*args, env=bed.environment(user), stdin=stdin)
    assert (run.returncode != 0) == fails, (args, run.returncode, run.stdout[-1500:], run.stderr[-1500:])
    return run.stderr if fails else run.stdout


def in_file(manifest):
    f = tempfile.NamedTemporaryFile("w", suffix=".json")
    json.dump(manifest, f)
    f.flush()
    return f


def prepare(bed):
    """One job runs, one waits for room. A user who may read what they are about."""
    bed.user("reader")
    bed.apply(
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": [
            {"apiGroups": ["*"], "resources": KINDS.replace("vcjob", "jobs").replace("pdb", "poddisruptionbudgets")
             .replace("pvc", "persistentvolumeclaims").replace("pv,", "persistentvolumes,").replace("podgroups,", "").split(",")
             + ["configmaps", "services", "networkpolicies"], "verbs": ["get", "list"]},
            {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["get", "list"]}]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "reader"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
         "subjects": [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}]})
    with Controller(bed, "c", "--scheduler", "--leader-elect=false") as c:
        c.until_ready()
        submit(bed, wide("runs", 2, 3))
        until_phase(bed, "runs", "Running")
        submit(bed, wide("waits", 2, 600))
        until("it waits", lambda: bed.call("GET", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups")[1]["items"][1:])


def explain_says_the_same(bed):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(bed.kubectl("get", KINDS, "-A", "-o", "yaml"))
        f.flush()
        at = ("--at", "2030-01-01T00:00:00Z", "-o", "json")
        live, filed = ask(bed, "explain", "waits", *at), ask(bed, "explain", "waits", "-f", f.name, *at)
    assert json.loads(live) == json.loads(filed), (live, filed)
    assert "waits" in live, live
    text = ask(bed, "explain", "waits", "--kubeconfig", bed.user("reader"), "--context", "bed")
    assert "default/waits waits" in text and "needs    2 × w (600 cpu" in text, text
    run = pumice("explain", "waits", env=bed.environment("reader"))
    assert "PodGroup" not in run.stderr and "podgroups" not in run.stderr, run  # of an API that the cluster has not
    assert "waits" in ask(bed, "explain")


def explain_of_a_file(bed):
    """A job that is not submitted, in the cluster as it is; the file's version of one that is."""
    with in_file(wide("new", 1, 2)) as f:
        text = ask(bed, "explain", "new", "-f", f.name, "--cluster")
        assert "default/new" in text and "can start" in text, text
    with in_file(wide("waits", 1, 2)) as f:
        text = ask(bed, "explain", "waits", "-f", f.name, "--cluster")
        assert "places for its 1 pod" in text, text


def plan_of_a_file(bed):
    with in_file(wide("later", 1, 8)) as f:
        plan = json.loads(ask(bed, "plan", f.name, "--cluster", "-o", "json", "--runtime", "10m"))
    jobs = {j["name"]: j for j in plan["jobs"]}
    assert {"runs", "waits", "later"} <= set(jobs), plan
    assert "runs" in ask(bed, "plan", "--runtime", "10m")


def render_sees_what_is_there(bed):
    """The Service of that name belongs to somebody else; a job that exists keeps its uid."""
    bed.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "taken", "namespace": "default"}, "spec": {"ports": [{"port": 1}]}})
    with in_file(wide("taken", 1, 1)) as f:
        run = pumice("render", f.name, "--cluster", env=bed.environment("reader"))
        assert run.returncode == 0 and "Service taken exists and is not owned by this job" in run.stderr, run.stderr
    uid = bed.call("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/runs")[1]["metadata"]["uid"]
    with in_file(wide("runs", 2, 3)) as f:
        assert f"uid: {uid}" in ask(bed, "render", f.name, "--cluster", "--only", "job")
        assert f"name: runs-{uid}" in ask(bed, "render", f.name, "--cluster", "--only", "podgroup")
    assert f"name: runs-{uid}" in ask(bed, "render", "vcjob/runs", "--cluster", "--only", "podgroup")
    assert "runs-w-1" in ask(bed, "render", "vcjob/runs", "--cluster", "-o", "tree")
    error = ask(bed, "render", "vcjob/none", "--cluster", fails=True)
    assert "vcjob/none in namespace default" in error and "not found" in error, error


def only_reads(bed):
    asked = {(e["verb"], resource_of(e)) for e in bed.audit(user="reader")}
    assert {verb for verb, _ in asked} == {"get", "list"} and ("list", "secrets") not in asked, asked
    assert ("get", "secrets") in asked, "which it may not, and does not need"


def what_is_wrong_is_named(bed):
    error = ask(bed, "explain", "nothing", fails=True)
    assert 'no Job, PodGroup or JobFlow "nothing" in namespace default' in error and "default/runs" in error, error
    error = ask(bed, "explain", "waits", user="stranger", fails=True)
    assert "you may not list" in error and 'role "view"' in error, error
    error = ask(bed, "plan", "--context", "other", fails=True)
    assert "other" in error and "context" in error, error
    error = ask(bed, "explain", "waits", "--kubeconfig", "/nowhere/config", fails=True)
    assert "/nowhere/config" in error, error
    nobody = bed.kubeconfig("nobody", {"token": "x"}, server="https://127.0.0.1:1")
    error = ask(bed, "plan", "--kubeconfig", nobody, fails=True)
    assert "https://127.0.0.1:1: Connection refused" in error, error
    error = ask(bed, "render", "--state", "a", "--cluster", "b", fails=True)
    assert "--state" in error, error
    run = pumice("explain", "waits", env={**bed.environment(), "KUBECONFIG": "", "HOME": "/nowhere"})
    assert run.returncode == 2 and "no cluster is configured" in run.stderr, run


def pages(bed):
    """More than one page of objects."""
    for i in range(0, 600, 200):
        bed.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"p{n}"}, "value": n} for n in range(i, i + 200)]}))
    before = len(list(bed.audit(user="reader", verb="list", resource="priorityclasses")))
    with in_file({**wide("last", 1, 1), "spec": {**wide("last", 1, 1)["spec"], "priorityClassName": "p599"}}) as f:
        ask(bed, "explain", "last", "-f", f.name, "--cluster")
    assert len(list(bed.audit(user="reader", verb="list", resource="priorityclasses"))) - before == 2


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            install(bed)
            with Hollow(bed, "n0", "n1"):
                prepare(bed)
                for case in (explain_says_the_same, explain_of_a_file, plan_of_a_file, render_sees_what_is_there, only_reads,
                             what_is_wrong_is_named, pages):
                    suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
