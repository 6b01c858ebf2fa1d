#!/usr/bin/env python3
"""The documents this project grew from, followed with kubectl on `pumice server`: each command that they show, on the manifests
that they show (tests/seeds/blocks, to the byte; tests/seed_images.py has their images), and that it prints what they show.

With kubectl 1.36 as tests/kube builds it, the one of the system, and those that KUBECTL names (a list of paths, as PATH is).
"""
import ast
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Skip  # noqa: E402
from harness import Suite  # noqa: E402
from runs import same, skip  # noqa: E402
from seed_images import SeedRegistry, block, has_ray, has_torch, missing  # noqa: E402
from server import Kubectl, Server, until  # noqa: E402
from server_kubectl import clients  # noqa: E402

os.environ["PUMICE_PULL"] = ""
LOOKED_INTO = ("volcanosh/dist-mnist-tf-example", "volcanosh/example-mpi", "lyd911/mindspore-gpu-example", "pytorch/pytorch", "tensorflow/tensorflow")
LIMIT_S = 300


class Followed:
    """`kubectl create -f BLOCK`, until its pods are ready; deleted at the end."""

    def __init__(self, k, name):
        self.k = k
        with open(block(name)) as f:
            job = next(yaml.safe_load_all(f))
        self.name, self.n = job["metadata"]["name"], sum(t["replicas"] for t in job["spec"]["tasks"])
        same(k("create", "-f", block(name)), f"job.batch.volcano.sh/{self.name} created\n")
        until("its pods are ready", lambda: self.statuses(".status.conditions[?(@.type=='Ready')].status") == ["True"] * self.n, LIMIT_S)
        until("it runs", lambda: k("get", "vcjob", self.name, "-o", "jsonpath={.status.state.phase}") == "Running", LIMIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        assert f'"{self.name}" deleted' in self.k("delete", "vcjob", self.name)
        until("its pods are gone", lambda: not self.statuses(".metadata.name"), LIMIT_S)

    def statuses(self, path):
        """That field of each pod that has it."""
        return self.k("get", "pods", "-l", f"volcano.sh/job-name={self.name}", "-o", f"jsonpath={{range .items[*]}}{{{path}}}{{' '}}{{end}}").split()

    def run(self, pod, *command):
        return self.k("exec", f"{self.name}-{pod}", "--", *command)

    def env(self, pod, pattern):
        """`kubectl exec POD -- env | grep -E PATTERN`, in alphabetical order."""
        return sorted(line for line in self.run(pod, "env").splitlines() if re.search(pattern, line))

    def log(self, pod, *lines):
        return until(f"{pod} has written", lambda: (lambda text: all(line in text for line in lines) and text)(self.k("logs", f"{self.name}-{pod}")), LIMIT_S)


# ---- the svc guide ----

TF = "tensorflow-dist-mnist"
PS, WORKERS = f"{TF}-ps-0.{TF}", [f"{TF}-worker-{i}.{TF}" for i in range(2)]
OTHER_EACH_TIME = {"uid", "resourceVersion", "creationTimestamp", "lastTransitionTime", "startTime", "nodeName", "hostIP", "podIP", "podIPs"}
GROUP = "scheduling.k8s.io/group-name"  # is JOB-UID since Volcano 1.3
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"


def shown(real, want, at=""):
    """All of 'want' is in 'real'; of lists in the same order, with others between."""
    if isinstance(want, dict):
        assert isinstance(real, dict), f"{at}: want {want}, got {real}"
        for key in want.keys() - OTHER_EACH_TIME:
            if says_nothing(want[key]) and key not in real:
                continue
            assert key in real, f"{at}: no {key} in {real}"
            shown(real[key], want[key], f"{at}.{key}")
    elif isinstance(want, list):
        rest = iter(real)
        for item in want:
            assert any(is_shown(r, item) for r in rest), f"{at}: no {item} where it should be in {real}"
    else:
        assert real == want, f"{at}: want {want!r}, got {real!r}"


def says_nothing(value):
    """null, and objects of nothing else: they are not kept."""
    return value is None or isinstance(value, dict) and all(map(says_nothing, value.values()))


def is_shown(real, want):
    with contextlib.suppress(AssertionError):
        shown(real, want)
        return True
    return False


def shown_object(f, name):
    """What `kubectl get -o yaml` prints is what the block shows."""
    with open(block(name)) as file:
        want = yaml.safe_load(file)
    real = yaml.safe_load(f.k("get", want["kind"].lower(), want["metadata"]["name"], "-o", "yaml"))
    group = want["metadata"].get("annotations", {}).pop(GROUP, None)
    if group:
        assert real["metadata"]["annotations"][GROUP].startswith(group + "-"), real["metadata"]["annotations"]
    for c in want.get("spec", {}).get("containers", []):  # a name that is made up for each pod
        made = next(m["name"] for m in real["spec"]["containers"][0]["volumeMounts"] if m["mountPath"] == TOKEN)
        assert made.startswith("kube-api-access-"), made
        next(m for m in c["volumeMounts"] if m["mountPath"] == TOKEN)["name"] = made
    shown(real, want, name)
    return real


def host_files(f):
    same(f.env("ps-0", "VC_.*_(NUM|HOSTS)="), [f"VC_PS_HOSTS={PS}", "VC_PS_NUM=1", f"VC_WORKER_HOSTS={','.join(WORKERS)}", "VC_WORKER_NUM=2"])
    same(f.run("ps-0", "cat", "/etc/volcano/ps.host"), PS)
    same(f.run("ps-0", "cat", "/etc/volcano/worker.host"), "\n".join(WORKERS))


def the_svc_guide(k):
    with Followed(k, "svc-tensorflow") as f:
        host_files(f)
        same(f.run("ps-0", "ls", "/etc/volcano/").split(), ["VC_PS_HOSTS", "VC_PS_NUM", "VC_WORKER_HOSTS", "VC_WORKER_NUM", "ps.host", "worker.host"])
        for name in ("svc-pod", "svc-service", "svc-configmap", "svc-networkpolicy"):
            shown_object(f, name)
        same(f.run("ps-0", "hostname"), f"{TF}-ps-0\n")
        for host in WORKERS:  # what the service is for
            ip = k("get", "pod", host.split(".")[0], "-o", "jsonpath={.status.podIP}")
            same(f.run("ps-0", "getent", "hosts", host).split()[0], ip)
        words = k("describe", "pod", f"{TF}-ps-0")
        assert f"Controlled By:  Job/{TF}" in words and f"/etc/volcano from {TF}-svc (rw)" in words, words
        assert f"VC_PS_HOSTS:      <set to the key 'VC_PS_HOSTS' of config map '{TF}-svc'>" in words, words
        assert f"Name:         {TF}" in k("describe", "vcjob", TF)
        f.log("worker-1", "worker 1 talked to 3")


def the_page_of_plugins(k):
    """Its two jobs and no command; what its text says of the files is looked at."""
    with Followed(k, "plugins-mpi") as f:
        same(f.run("mpimaster-0", "cat", "/etc/volcano/mpiworker.host"), "\n".join(f"lm-mpi-job-mpiworker-{i}.lm-mpi-job" for i in range(2)))
        same(f.run("mpimaster-0", "sh", "-c", "ls /root/.ssh"), "authorized_keys\nconfig\nid_rsa\nid_rsa.pub\n")
        until("it has an answer", lambda: f.run("mpimaster-0", "cat", "/home/re").count("Hello world from processor") == 2, LIMIT_S)
    with Followed(k, "plugins-tensorflow") as f:
        host_files(f)
        f.log("worker-1", '"ps": []', '"type": "ps", "index": 1')  # its script is wrong in itself: run_seeds.py


# ---- the plugin guide ----

def ssh(k):
    with Followed(k, "guide-ssh") as f:
        hosts = ["mpimaster-0", "mpiworker-0", "mpiworker-1"]
        config = f.run("mpimaster-0", "cat", "/root/.ssh/config")
        same(re.sub(r" *Port 22\n", "", config), "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n" +  # the port is ours (docs/compatibility.md)
             "".join(f"Host mpi-job-{h}\n  HostName mpi-job-{h}.mpi-job\n" for h in hosts))
        f.log("mpimaster-0", "gpu-test mpi-job-mpiworker-0 0 of 2", "gpu-test mpi-job-mpiworker-1 1 of 2")
        same(f.run("mpimaster-0", "ssh", "mpi-job-mpiworker-0", "hostname"), "mpi-job-mpiworker-0\n")


def svc(k):
    with Followed(k, "guide-svc") as f:
        services = k("get", "service")
        same(services.splitlines()[0].split(), ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"])
        assert re.search(rf"^{TF} +ClusterIP +None +<none> +<none> +\S+$", services, re.M), services
        host_files(f)


def env(k):
    with Followed(k, "guide-env") as f:
        for pod, index in (("ps-0", 0), ("worker-0", 0), ("worker-1", 1)):
            same(f.env(pod, "TASK_INDEX"), [f"VC_TASK_INDEX={index}", f"VK_TASK_INDEX={index}"])


def pytorch(k):
    if not has_torch():
        return skip("pytorch: no python3-torch")
    with Followed(k, "guide-pytorch") as f:
        for rank, pod in enumerate(("master-0", "worker-0", "worker-1")):
            same(f.env(pod, "^(MASTER|WORLD|RANK)"), ["MASTER_ADDR=pytorch-job-master-0.pytorch-job", "MASTER_PORT=23456", f"RANK={rank}", "WORLD_SIZE=3"])
        for rank, pod in enumerate(("master-0", "worker-0", "worker-1")):
            f.log(pod, f"RANK: {rank}\n", f"Initialized process group, rank: {rank}\n")
        f.run("master-0", "rm", "/etc/stays")
        until("it is complete", lambda: k("get", "vcjob", f.name, "-o", "jsonpath={.status.state.phase}") == "Completed", LIMIT_S)


def tensorflow(k):
    name = "tensorflow-training"
    with Followed(k, "guide-tensorflow") as f:
        (line,) = f.env("worker-0", "TF_CONFIG")
        hosts = {t: [f"{name}-{t}-{i}.{name}:2222" for i in range(n)] for t, n in (("ps", 2), ("worker", 3))}
        want = {"cluster": hosts, "task": {"type": "worker", "index": 0}}
        same(json.loads(line.removeprefix("TF_CONFIG=")), want)
        same(ast.literal_eval(f.log("worker-0", "TF_CONFIG: ").removeprefix("TF_CONFIG: ")), want)


def mpi(k):
    with Followed(k, "guide-mpi") as f:
        same(f.env("mpimaster-0", "MPI_HOST"), ["MPI_HOST=lm-mpi-job-mpiworker-0.lm-mpi-job,lm-mpi-job-mpiworker-1.lm-mpi-job"])
        f.log("mpimaster-0", *(f"Hello world from processor lm-mpi-job-mpiworker-{i}, rank {i} out of 2 processors\n" for i in range(2)))
        same(f.run("mpimaster-0", "ssh", "lm-mpi-job-mpiworker-0", "hostname"), "lm-mpi-job-mpiworker-0\n")
        for i in range(2):
            f.run(f"mpiworker-{i}", "rm", "/etc/stays")
        until("it is complete", lambda: k("get", "vcjob", f.name, "-o", "jsonpath={.status.state.phase}") == "Completed", LIMIT_S)


HELLO_FROM_RAY = """
import ray
ray.init()
@ray.remote
def hello():
    return 'Hello from Ray!'
print(ray.get(hello.remote()))
"""


def ray(k):
    """Without PUMICE_PEERS the commands of the plugin start a stand-in, and nothing is asked of Ray itself."""
    name = "ray-cluster-job"
    with Followed(k, "guide-ray") as f:
        services, listed = k("get", "service"), k("get", "pod")
        assert re.search(rf"^{name} +ClusterIP +None +<none> +<none> ", services, re.M), services
        assert re.search(rf"^{name}-head-svc +ClusterIP +10\.96\.\S+ +<none> +6379/TCP,8265/TCP,10001/TCP ", services, re.M), services
        same(listed.splitlines()[0].split(), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"])
        for pod in ("head-0", "worker-0", "worker-1"):
            assert re.search(rf"^{name}-{pod} +1/1 +Running +0 ", listed, re.M), listed
        if not has_ray():
            skip("ray itself: not in PUMICE_PEERS")
            return shows_the_dashboard(k, f"{name}-head-0", "/", "worker.host")
        for pod in ("head-0", "worker-0", "worker-1"):
            f.log(pod, "Ray runtime started")
        shows_the_dashboard(k, f"{name}-head-0", "/api/version", "ray_version")
        same(f.run("head-0", "python", "-c", HELLO_FROM_RAY).splitlines()[-1], "Hello from Ray!")


def shows_the_dashboard(k, pod, path, word):
    """When it listens at port 8265, which is 2049 in hexadecimal digits."""
    until("it listens", lambda: ":2049 " in k("exec", pod, "--", "cat", "/proc/net/tcp", "/proc/net/tcp6"), LIMIT_S)
    p = subprocess.Popen(k.argv("port-forward", pod, ":8265"), stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r"127.0.0.1:(\d+) -> 8265", p.stdout.readline()).group(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LIMIT_S) as page:
            assert word in page.read().decode()
    finally:
        p.terminate()
        p.communicate()


def refused(k):
    """What is not YAML, or no Job: kubectl says so itself, or the server."""
    for name, words in (("plugins-fragment", "error converting YAML to JSON: yaml: line 2: found character that cannot start any token"),
                        ("article-restart", "error converting YAML to JSON: yaml: line 8: did not find expected alphabetic or numeric character"),
                        ("article-priority", "error converting YAML to JSON: yaml: line 11: did not find expected key"),
                        ("guide-plugins", "spec.tasks"), ("guide-env-fragment", "apiVersion not set"), ("article-plugins", "apiVersion not set")):
        said = k.fails("create", "-f", block(name))
        assert words in said, (name, said)


def main():
    suite = Suite()
    try:
        found = clients()
    except Skip as e:
        print(f"skipped: {e}")
        return 77
    if missing():
        skip(missing())
        return 77
    with tempfile.TemporaryDirectory(prefix="pumice-seeds-") as d, contextlib.closing(SeedRegistry(stays=LOOKED_INTO)) as registry:
        s = Server("--capacity", "cpu=32,memory=64Gi", "--device", "nvidia.com/gpu=/dev/null,/dev/zero", *registry.options(f"{d}/store"))
        for version, path in found:
            k = Kubectl(s, path)
            for case in (the_svc_guide, the_page_of_plugins, ssh, svc, env, pytorch, tensorflow, mpi, ray, refused):
                if len(sys.argv) == 1 or case.__name__ in sys.argv:
                    suite.case(f"{case.__name__} (kubectl {version})", lambda: case(k))
        suite.case("ends_well", lambda: s.stop())
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
