#!/usr/bin/env python3
"""pumice convert: jobs of other systems as Volcano Jobs that are valid, that run, and that say what was lost."""
import copy
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Suite, pumice, same  # noqa: E402


def pod(*command, **more):
    return {"spec": {"containers": [{"name": "c", "image": "debian:12", "command": list(command)}], **more}}


def shell(text):
    return pod("sh", "-c", text, restartPolicy="Never")


BATCH = {"apiVersion": "batch/v1", "kind": "Job",
         "metadata": {"name": "pi", "uid": "u", "resourceVersion": "7", "managedFields": [{"manager": "kubectl"}],  # as `kubectl get -o yaml` has it
                      "labels": {"a": "b", "kueue.x-k8s.io/queue-name": "q", "controller-uid": "u", "batch.kubernetes.io/job-name": "pi"},
                      "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "batch.kubernetes.io/job-tracking": ""}},
         "spec": {"parallelism": 2, "completions": 3, "completionMode": "Indexed", "backoffLimit": 2, "activeDeadlineSeconds": 100,
                  "ttlSecondsAfterFinished": 10, "suspend": True, "maxFailedIndexes": 1, "selector": {"matchLabels": {"x": "y"}}, "new": 1,
                  "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42, 43]}},
                                                 {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                                                 {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}]},
                  "template": shell("echo index $JOB_COMPLETION_INDEX")},
         "status": {"active": 1}}
JOBSET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js"},
          "spec": {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["driver"]}, "failurePolicy": {"maxRestarts": 3},
                   "startupPolicy": {"startupPolicyOrder": "InOrder"}, "network": {"enableDNSHostnames": True, "subdomain": "x"},
                   "replicatedJobs": [
                       {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0,
                                                                               "template": shell("sleep 600")}}},
                       {"name": "driver", "template": {"spec": {"template": shell("getent hosts js-workers-3.js && echo found")}}}]}}
PYTORCH = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "ddp"},
           "spec": {"nprocPerNode": "2", "runPolicy": {"cleanPodPolicy": "None", "backoffLimit": 1,
                                                       "schedulingPolicy": {"queue": "default", "minAvailable": 3, "minResources": {"cpu": 1}}},
                    "pytorchReplicaSpecs": {
                        "Master": {"replicas": 1, "restartPolicy": "OnFailure",
                                   "template": pod("sh", "-c", "echo $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT $PET_NPROC_PER_NODE")},
                        "Worker": {"replicas": 2, "restartPolicy": "ExitCode", "template": pod("sleep", "600")}}}}
PYTORCH["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["ports"] = [{"name": "pytorchjob-port", "containerPort": 24000}]
ELASTIC = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "elastic"},
           "spec": {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3, "maxRestarts": 5, "rdzvBackend": "c10d", "nProcPerNode": 4},
                    "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": pod("torchrun", "train.py")}}}}
MPI = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "hi"},
       "spec": {"slotsPerWorker": 2, "runPolicy": {"cleanPodPolicy": "Running"}, "mpiReplicaSpecs": {
           "Launcher": {"replicas": 1, "template": pod("mpirun", "--allow-run-as-root", "-n", "4", "hostname")},
           "Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "w", "image": "debian:12"}]}}}}}}
ALL = (BATCH, JOBSET, PYTORCH, ELASTIC, MPI)


def convert(*objects, args=()):
    return pumice("convert", "-o", "json", *args, "-", stdin="\n---\n".join(json.dumps(o) for o in objects))


def converted(o):
    r = convert(o)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout), r.stderr


def run(o):
    return pumice("run", "-", stdin=json.dumps(converted(o)[0]))


def are_valid():
    """The strictest judge there is, in both forms."""
    for o in ALL:
        for form in "yaml", "json":
            text = pumice("convert", "-o", form, "-", stdin=json.dumps(o)).stdout
            r = pumice("validate", "--strict", "-", stdin=text)
            same((r.returncode, r.stderr), (0, ""))


def batch():
    job, said = converted(BATCH)
    same(job["metadata"], {"name": "pi", "labels": {"a": "b", "kueue.x-k8s.io/queue-name": "q"}})
    spec = job["spec"]
    same([spec[k] for k in ("minAvailable", "minSuccess", "maxRetry", "ttlSecondsAfterFinished", "schedulerName")], [1, 3, 3, 10, "volcano"])
    same(spec["tasks"][0]["policies"], [{"exitCode": 42, "action": "TerminateJob"}, {"exitCode": 43, "action": "TerminateJob"},
                                        {"event": "PodFailed", "action": "RestartPod"}])
    same(spec["tasks"][0]["template"]["spec"]["activeDeadlineSeconds"], 100)
    for field in ("metadata.labels[kueue.x-k8s.io/queue-name]", "spec.parallelism", "spec.activeDeadlineSeconds", "spec.suspend",
                  "spec.maxFailedIndexes", "spec.new", "spec.podFailurePolicy.rules[1].onPodConditions",
                  "spec.podFailurePolicy.rules[2].onExitCodes.operator"):
        assert f"warning: {field}: " in said, (field, said)
    for field in ("spec.selector", "spec.template", "spec.backoffLimit", "spec.completions", "status"):
        assert f"warning: {field}: " not in said, (field, said)


def batch_runs():
    r = run(BATCH)
    same(r.returncode, 0)
    same(sorted(line for line in r.stdout.splitlines() if "index" in line), [f"main-{i} | index {i}" for i in range(3)])


def batch_gives_up():
    o = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "f"}, "spec": {"backoffLimit": 1, "template": shell("exit 3")}}
    r = run(o)
    assert r.returncode == 3 and "retry 1 of 1" in r.stderr and "job f Failed" in r.stderr, r.stderr
    o["spec"]["backoffLimit"] = 0
    r = run(o)
    assert r.returncode == 3 and "retry" not in r.stderr and "TerminateJob" in r.stderr, r.stderr


def jobset():
    job, said = converted(JOBSET)
    same([(t["name"], t["replicas"], t.get("dependsOn", {}).get("name")) for t in job["spec"]["tasks"]],
         [("workers", 4, None), ("driver", 1, ["workers"])])
    same(job["spec"]["policies"], [{"event": "PodFailed", "action": "RestartJob"}])
    same(job["spec"]["maxRetry"], 4)
    for field in ("spec.network.subdomain", "spec.replicatedJobs", "spec.replicatedJobs[0].name"):
        assert f"warning: {field}: " in said, (field, said)
    r = run(JOBSET)
    assert r.returncode == 0 and "driver-0  | found" in r.stdout and "CompleteJob" in r.stderr, r.stdout + r.stderr


def pytorch():
    job, said = converted(PYTORCH)
    same(job["spec"]["plugins"]["pytorch"], ["--master=master", "--worker=worker", "--port=24000", "--torchrun=true", "--nproc-per-node=2"])
    same([t["template"]["spec"]["restartPolicy"] for t in job["spec"]["tasks"]], ["Never", "Never"])
    same(job["spec"]["tasks"][0]["policies"], [{"event": "PodFailed", "action": "RestartPod"}, {"event": "TaskCompleted", "action": "CompleteJob"}])
    for field in ("runPolicy.cleanPodPolicy", "runPolicy.schedulingPolicy.minResources", "pytorchReplicaSpecs.Worker.restartPolicy"):
        assert f"warning: spec.{field}: " in said, (field, said)
    r = run(PYTORCH)
    assert r.returncode == 0 and "master-0 | 0/3 ddp-master-0.ddp:24000 2" in r.stdout, r.stdout + r.stderr


def elastic():
    job, said = converted(ELASTIC)
    same(job["spec"]["plugins"]["pytorch"], ["--master=", "--worker=worker", "--elastic=1:3", "--max-restarts=5", "--nproc-per-node=4"])
    same(job["spec"]["minAvailable"], 1)
    assert "warning: spec.elasticPolicy.rdzvBackend: " in said, said


def mpi():
    if not shutil.which("mpirun") or not os.path.exists("/usr/sbin/sshd"):
        return print("mpi: no openmpi-bin, openssh-server")
    r = run(MPI)
    same(r.returncode, 0)
    same(sorted(line.split()[-1] for line in r.stdout.splitlines() if line.startswith("launcher-0 | hi-")),
         ["hi-worker-0"] * 2 + ["hi-worker-1"] * 2)


def defaults():
    """What each system does where a field is left out, by its own documents."""
    bare = {"spec": {"containers": [{"name": "c", "image": "debian:12", "command": ["sh", "-c", "echo $JOB_COMPLETION_INDEX of $HOSTNAME"]}]}}
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js"},
              "spec": {"replicatedJobs": [{"name": "w", "template": {"spec": {"parallelism": 2, "completions": 2, "template": bare}}}]}}
    job, _ = converted(jobset)  # restartPolicy OnFailure, completionMode Indexed, one Job of each
    task = job["spec"]["tasks"][0]
    same((task["replicas"], task["template"]["spec"]["restartPolicy"], job["spec"]["maxRetry"]), (2, "Never", 7))
    r = run(jobset)
    assert r.returncode == 0 and "w-0 | 0 of js-w-0" in r.stdout and "w-1 | 1 of js-w-1" in r.stdout, r.stdout + r.stderr
    failing = copy.deepcopy(jobset)
    failing["spec"]["replicatedJobs"][0]["template"]["spec"].update(backoffLimit=1, completions=1, parallelism=1, template=pod("sh", "-c", "exit 3"))
    r = run(failing)
    assert r.returncode == 3 and "retry 1 of 1" in r.stderr, r.stderr
    for policy in None, "Always":  # Kubernetes refuses such a Job
        o = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "b"}, "spec": {"template": pod("true", **({"restartPolicy": policy} if policy else {}))}}
        r = convert(o)
        assert r.returncode == 1 and "spec.template.spec.restartPolicy: must be OnFailure or Never" in r.stderr, r
    o["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    job, said = converted(o)
    same((job["spec"]["tasks"][0]["template"]["spec"]["restartPolicy"], job["spec"]["maxRetry"]), ("Never", 7))
    assert "warning: spec.template.spec.restartPolicy: now Never" in said, said
    torch = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "t"}, "spec": {
        "elasticPolicy": {"maxReplicas": 3}, "pytorchReplicaSpecs": {"Worker": {"template": bare}}}}
    job, _ = converted(torch)  # OnFailure without a limit, one pod, minReplicas = maxReplicas
    same((job["spec"]["tasks"][0]["replicas"], job["spec"]["tasks"][0]["template"]["spec"]["restartPolicy"]), (1, "OnFailure"))
    same(job["spec"]["plugins"]["pytorch"], ["--master=", "--worker=worker", "--elastic=3:3"])
    del torch["spec"]["elasticPolicy"]
    same(converted(torch)[0]["spec"]["plugins"]["pytorch"], ["--master=", "--worker=worker", "--torchrun=true"])
    mpi = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "m"}, "spec": {"mpiReplicaSpecs": {"Launcher": {"template": bare}, "Worker": {"template": bare}}}}
    job, _ = converted(mpi)  # the launcher OnFailure with six retries, workers Never, and none of them
    same([(t["name"], t["replicas"], t["template"]["spec"]["restartPolicy"], t["policies"][0]["action"]) for t in job["spec"]["tasks"]],
         [("launcher", 1, "Never", "RestartPod"), ("worker", 0, "Never", "TerminateJob")])
    same(job["spec"]["maxRetry"], 7)


def others_pass():
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    text = pumice("convert", "-", stdin=f"{json.dumps(config)}\n---\n{json.dumps(MPI)}").stdout
    first, second = text.split("---\n")
    assert "kind: ConfigMap" in first and "kind: Job" in second, text


def offered():
    """Who takes such a file to another command is told of this one."""
    for o in ALL:
        for command in "run", "validate", "render":
            r = pumice(command, "-", stdin=json.dumps(o))
            assert r.returncode != 0 and f"a {o['kind']} of {o['apiVersion']} is not a Volcano Job" in r.stderr and "; to convert it: pumice convert FILE" in r.stderr, r.stderr


def refused():
    r = convert({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert r.returncode == 1 and "nothing to convert" in r.stderr and not r.stdout, r
    r = convert(BATCH, args=["--strict"])
    assert r.returncode == 1 and not r.stdout, r
    for o, word in ((dict(BATCH, spec={}), "spec.template.spec.containers: needs containers"),
                    (dict(MPI, spec={}), "spec.mpiReplicaSpecs: missing"), (dict(JOBSET, spec={}), "spec.replicatedJobs: must not be empty"),
                    (dict(PYTORCH, spec={"pytorchReplicaSpecs": {"Chief": {}}}), "spec.pytorchReplicaSpecs.Chief: these are Master and Worker")):
        r = convert(o)
        assert r.returncode == 1 and word in r.stderr and not r.stdout, (word, r)


def places(tree, at=()):
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield at + (key,)
        yield from places(value, at + (key,))


def nonsense():
    """Each node replaced by something else: an answer or an error, never a crash, and nothing invalid without a word."""
    objects = []
    for o in ALL:
        for i, path in enumerate(places(o)):
            if path[0] in ("apiVersion", "kind"):
                continue
            bad = copy.deepcopy(o)
            node = bad
            for key in path[:-1]:
                node = node[key]
            node[path[-1]] = (None, [], {}, -7, "x", [None], {"a": None}, 1e30, True)[i % 9]
            objects.append(bad)
    for o in objects:
        o["metadata"] = dict(o["metadata"], name=f"n{id(o)}") if isinstance(o.get("metadata"), dict) else o.get("metadata")
    assert len(objects) > 150, len(objects)
    for start in range(0, len(objects), 40):
        convert(*objects[start:start + 40])


def main():
    suite = Suite()
    for case in (are_valid, batch, batch_runs, batch_gives_up, jobset, pytorch, elastic, mpi, defaults, others_pass, offered, refused, nonsense):
        suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
