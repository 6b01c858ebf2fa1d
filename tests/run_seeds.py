#!/usr/bin/env python3
"""Every YAML block of the documents this project grew from, to the byte (tests/seeds/blocks), with the images it names
(tests/seed_images.py says what is in them): it runs and does what its document says, or it is told where it is wrong."""
import ast
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

import runs
from harness import Suite, pumice, until
from runs import Run, same, skip
from seed_images import SeedRegistry, block, has_ray, has_torch, missing

os.environ["PUMICE_PULL"] = ""
RUNS_S = 300  # for ever, on a machine that has much else to do


def start(what, *options):
    return Run(what if os.path.exists(what) else block(what), *REGISTRY.options(f"{D}/store"), *options)


def ran(what, *options):
    return start(what, *options).end(RUNS_S)


def stopped(r):
    """A job that runs until somebody ends it."""
    same(r.signal(signal.SIGINT).end(RUNS_S).status, 130)


def told(r):
    return "\n".join(e["text"] for e in r.of("notice"))


def pulled(r, image):
    """The image is the registry's: nobody fell back to the host's files."""
    assert f'image "{image}": image ' in told(r), told(r)


def into(r, *args):
    p = subprocess.run([runs.PUMICE, args[0], "--state", r.state, *args[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUNS_S)
    assert p.returncode == 0, (args, p.stdout, p.stderr)
    return p.stdout


# ---- blocks that cannot run ----

REFUSED = {
    "plugins-fragment": "2:1: error: found a tab where indentation is expected; use blanks",
    "guide-plugins": "5:1: error: spec.tasks: No task specified in job spec: add at least one",
    "guide-env-fragment": "1:1: error: apiVersion: missing: a Volcano Job begins with apiVersion: batch.volcano.sh/v1alpha1 and kind: Job",
    "article-plugins": "1:3: error: apiVersion: missing: a Volcano Job begins with apiVersion: batch.volcano.sh/v1alpha1 and kind: Job",
    "article-restart": "8:13: error: expected a name after '*' or '&'; quote text that begins with it",
    "article-priority": "12:37: error: '//' does not start a comment in YAML; use '#'",
}


def says_where():
    for name, words in REFUSED.items():
        for command in ("validate", "run"):
            r = pumice(command, block(name))
            same((r.returncode, r.stderr.splitlines()[0]), (1, f"{block(name)}:{words}"))


def repaired(name, *changes):
    """The block with what it was told to change."""
    with open(block(name)) as f:
        text = f.read()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = f"{D}/{name}.yaml"
    with open(path, "w") as f:
        f.write(text)
    return path


def restarts_the_whole_job():
    """Step by step as it says; then any event restarts the job, as often as maxRetry lets it."""
    half = repaired("article-restart", ("event: *", 'event: "*"'))
    r = pumice("validate", half)
    assert f"{half}:25:3: error: expected 'key: value' or a comment (#)" in r.stderr, r.stderr
    r = ran(repaired("article-restart", ("event: *", 'event: "*"'), ("  ...\n", "")))
    pulled(r, "ps-img")
    same((r.phase(), r.status != 0, r.decisions(), r.last()["jobs"][0]["reason"]), ("Failed", True, ["RestartJob"] * 3, "RetriesExhausted"))
    assert all(len(r.uids(pod)) > 1 for pod in ("ps-0", "worker-0", "worker-4")), r.told()


def driver_and_executors_run():
    half = repaired("article-priority", ("//", "#"))
    r = pumice("validate", half)
    assert f'{half}:12:9: warning: spec.tasks[0].template.spec.priorityClass: unknown field "priorityClass", did you mean "priorityClassName"?' in r.stderr, r.stderr
    r = start(half).until(lambda r: {(e["pod"], e["text"]) for e in r.of("log")} == {("spark-job-driver-0", "driver"), *(
        (f"spark-job-executor-{i}", "executor") for i in range(5))})
    stopped(r)


def not_jobs():
    """What a document shows and nobody is to run: it says so."""
    for name in ("svc-pod", "svc-service", "svc-configmap", "svc-networkpolicy"):
        r = pumice("run", block(name))
        said = "nothing to run in {}: Pod tensorflow-dist-mnist-ps-0 belongs to Job tensorflow-dist-mnist" if name == "svc-pod" else "no Volcano Job in {}"
        assert r.returncode == 1 and said.format(block(name)) in r.stderr, (name, r.returncode, r.stderr)


# ---- TensorFlow by hand ----

TF = "tensorflow-dist-mnist"
HOSTS = {"ps": [f"{TF}-ps-0.{TF}:2222"], "worker": [f"{TF}-worker-{i}.{TF}:2222" for i in range(2)]}


def configs(r):
    """What the block's script has made, by pod."""
    return {e["pod"]: json.loads(e["text"].removeprefix("TF_CONFIG ")) for e in r.of("log") if e["text"].startswith("TF_CONFIG ")}


def wanted(cluster, kind=None):
    return {f"{TF}-{t}-{i}": {"cluster": cluster, "task": {"type": kind or t, "index": i}, "environment": "cloud"} for t, n in (("ps", 1), ("worker", 2)) for i in range(n)}


def tensorflow_of_the_page():
    """Its script has PS_SHOT for PS_HOST and calls everybody a ps: that is what the pods are told, and they cannot work so."""
    r = ran("plugins-tensorflow")
    pulled(r, "volcanosh/dist-mnist-tf-example:0.0.1")
    same(configs(r), wanted({**HOSTS, "ps": []}, "ps"))
    same((r.phase(), r.status), ("Failed", 1))


def tensorflow_of_the_guides():
    """By VK_TASK_INDEX and by VC_TASK_INDEX; all find each other, and with the last worker the job is complete."""
    for name, twice in (("svc-tensorflow", False), ("guide-svc", True), ("guide-env", True)):
        r = ran(name).done()
        pulled(r, "volcanosh/dist-mnist-tf-example:0.0.1")
        same(configs(r), wanted(HOSTS))
        for i in range(2):
            assert f"worker {i} talked to 3" in r.lines(f"worker-{i}"), r.lines("")
        same((r.decisions(), r.states()[f"{TF}-ps-0"]), (["CompleteJob"], "stopped"))
        same(f'{block(name)}:15:3: warning: the key "queue" stands twice in one mapping; the last one counts\n' in r.err, twice)


# ---- MPI ----

HELLO = [f"Hello world from processor lm-mpi-job-mpiworker-{i}, rank {i} out of 2 processors" for i in range(2)]


def mpi_of_the_page():
    """The answer goes to a file in the master: one line says that it goes with the pod, --keep keeps it."""
    r = ran("plugins-mpi", "--keep", f"{D}/kept").done()
    pulled(r, "volcanosh/example-mpi:0.0.1")
    with open(f"{D}/kept/lm-mpi-job-mpimaster-0/home/re") as f:
        same(sorted(f.read().splitlines()), HELLO)
    same(r.decisions(), ["CompleteJob"])


def mpi_of_the_guide():
    r = ran("guide-mpi").done()
    pulled(r, "volcanosh/example-mpi:0.0.3")
    lines = r.lines("mpimaster-0")
    assert "MPI_HOST: lm-mpi-job-mpiworker-0.lm-mpi-job,lm-mpi-job-mpiworker-1.lm-mpi-job" in lines, lines
    same(sorted(line for line in lines if line.startswith("Hello")), HELLO)
    same(r.decisions(), ["CompleteJob"])


def ssh_of_the_guide():
    """Two GPUs that are not here: --fit leaves them out and says so. Nothing ends the job: its workers serve on."""
    r = ran("guide-ssh", "--node", "cpu=2,memory=4Gi")
    assert "Insufficient nvidia.com/gpu" in r.last()["reason"], r.last()
    r = start("guide-ssh", "--fit", "--node", "cpu=2,memory=4Gi").until_line("gpu-test mpi-job-mpiworker-0 0 of 2", RUNS_S)
    r.until_line("gpu-test mpi-job-mpiworker-1 1 of 2", RUNS_S)
    assert "--fit: job mpi-job asks for 2 nvidia.com/gpu, and the machine has none: left out" in told(r), told(r)
    pulled(r, "lyd911/mindspore-gpu-example:0.2.0")
    hosts = ["mpimaster-0", "mpiworker-0", "mpiworker-1"]
    config = into(r, "exec", "mpi-job-mpimaster-0", "--", "cat", "/root/.ssh/config")
    same(re.sub(r" *Port 22\n", "", config), "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n" +
         "".join(f"Host mpi-job-{h}\n  HostName mpi-job-{h}.mpi-job\n" for h in hosts))
    for host in hosts:
        same(into(r, "exec", "mpi-job-mpimaster-0", "--", "ssh", "mpi-job-" + host, "hostname; rm -f /etc/stays"), f"mpi-job-{host}\n")
    r.until(lambda r: r.states()["mpi-job-mpimaster-0"] == "succeeded")
    stopped(r)


# ---- frameworks ----

def pytorch_of_the_guide():
    if not has_torch():
        return skip("pytorch: no python3-torch")
    r = ran("guide-pytorch").done()
    pulled(r, "pytorch/pytorch:2.4.1-cuda11.8-cudnn9-runtime")
    same(r.lines("master-0"), ["MASTER_ADDR: pytorch-job-master-0.pytorch-job", "MASTER_PORT: 23456", "WORLD_SIZE: 3", "RANK: 0",
                               "Initialized process group, rank: 0"])  # which needs all three
    same(r.decisions(), ["CompleteJob"])


def tensorflow_of_the_plugin():
    """14 CPUs and 28 GiB; every pod prints where all are."""
    name = "tensorflow-training"
    r = ran("guide-tensorflow", "--fit", "--node", "cpu=2,memory=4Gi").done()
    assert f"--fit: job {name} asks for cpu 14 in all, and the machine has 2: every request is 0.143 times as large" in told(r), told(r)
    pulled(r, "tensorflow/tensorflow:2.4.0")
    cluster = {t: [f"{name}-{t}-{i}.{name}:2222" for i in range(n)] for t, n in (("ps", 2), ("worker", 3))}
    same({e["pod"]: ast.literal_eval(e["text"].removeprefix("TF_CONFIG: ")) for e in r.of("log")},
         {f"{name}-{t}-{i}": {"cluster": cluster, "task": {"type": t, "index": i}} for t in cluster for i in range(len(cluster[t]))})


HELLO_FROM_RAY = """
import ray
ray.init()
@ray.remote
def hello():
    return 'Hello from Ray!'
print(ray.get(hello.remote()))
"""


def ray_of_the_guide():
    r = start("guide-ray", "--fit")
    if has_ray():
        for pod in ("head-0", "worker-0", "worker-1"):
            r.until(lambda r: any("Ray runtime started" in line for line in r.lines(pod)), RUNS_S)
        same(into(r, "exec", "ray-cluster-job-head-0", "--", "python", "-c", HELLO_FROM_RAY).splitlines()[-1], "Hello from Ray!")
        assert "ray_version" in dashboard(r, "/api/version")
    else:
        skip("ray itself: not in PUMICE_PEERS; a stand-in was started")
        head = "stand-in: ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265 --ray-client-server-port=10001"
        worker = "stand-in: ray start --block --address=ray-cluster-job-head-0.ray-cluster-job:6379"
        r.until(lambda r: len(r.all_lines()) >= 3)
        same([r.lines(p)[0] for p in ("head-0", "worker-0", "worker-1")], [head, worker, worker])
        assert "worker.host" in dashboard(r, "/")
    pulled(r, "rayproject/ray:latest-py311-cpu")
    stopped(r)


def page(url):
    """Its text; None as long as nobody answers."""
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(url, timeout=60) as p:
            return p.read().decode()
    return None


def dashboard(r, path):
    """By port-forward, as the guide says; when it listens."""
    p = subprocess.Popen([runs.PUMICE, "port-forward", "--state", r.state, "ray-cluster-job-head-0", ":8265"], stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r"127.0.0.1:(\d+) -> 8265", p.stdout.readline()).group(1)
        return until("the dashboard answers", lambda: page(f"http://127.0.0.1:{port}{path}"), RUNS_S)
    finally:
        p.terminate()
        p.communicate()


def main():
    global D, REGISTRY
    if missing():
        skip(missing())
        return 77
    suite = Suite()
    with tempfile.TemporaryDirectory(prefix="pumice-seeds-") as D, contextlib.closing(SeedRegistry(stays=["lyd911/mindspore-gpu-example"])) as REGISTRY:
        cases = (says_where, restarts_the_whole_job, driver_and_executors_run, not_jobs, tensorflow_of_the_page, tensorflow_of_the_guides, mpi_of_the_page,
                 mpi_of_the_guide, ssh_of_the_guide, pytorch_of_the_guide, tensorflow_of_the_plugin, ray_of_the_guide)
        for case in cases:
            if len(sys.argv) == 1 or case.__name__ in sys.argv:
                suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
