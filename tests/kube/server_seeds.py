#!/usr/bin/env python3
"""The documents this project grew from, followed with kubectl on `pumice server`: each command that they show, and that it prints
what they show. The jobs are those of tests/seeds; where the documents' images have programs that this machine has not, the pods
wait instead, so that one can look into them. MPI and PyTorch really run."""
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Skip, binaries  # noqa: E402
from harness import Suite  # noqa: E402
from run_frameworks import PYTHON, REDUCE, change, give, imports, pods, seed  # noqa: E402
from runs import has, skip  # noqa: E402
from server import Kubectl, Server, until  # noqa: E402

STAY = ["sh", "-c", "sleep 100000"]


def same(real, want):
    assert real == want, f"want {want!r}, got {real!r}"


def staying(name):
    """The job, with pods that only wait, and that this machine has room for."""
    job = seed(name)
    for _, _, main in pods(job):
        main["command"] = STAY
        main.pop("args", None)
        main.pop("resources", None)
    return job


class Followed:
    """A job that was created by kubectl, and runs; deleted at the end."""

    def __init__(self, k, job, phase="Running"):
        self.k, self.name = k, job["metadata"]["name"]
        same(k("create", "-f", "-", stdin=json.dumps(job)), f"job.batch.volcano.sh/{self.name} created\n")
        if phase:
            k("wait", f"--for=jsonpath={{.status.state.phase}}={phase}", f"vcjob/{self.name}", "--timeout=60s")
            k("wait", "--for=condition=Ready", "pod", "-l", f"volcano.sh/job-name={self.name}", "--timeout=60s")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.k("delete", "vcjob", self.name)
        until("its pods are gone", lambda: not self.k("get", "pods", "-l", f"volcano.sh/job-name={self.name}", "-o", "name"))

    def run(self, pod, *command):
        return self.k("exec", f"{self.name}-{pod}", "--", *command)

    def env(self, pod, pattern):
        """`kubectl exec POD -- env | grep PATTERN`, in alphabetical order."""
        return sorted(line for line in self.run(pod, "env").splitlines() if re.search(pattern, line))

    def get(self, kind, name):
        return json.loads(self.k("get", kind, name, "-o", "json"))


def part(real, want):
    """All of 'want' is in 'real'; lists have the same length."""
    if isinstance(want, dict):
        assert isinstance(real, dict), f"want {want}, got {real}"
        for key, value in want.items():
            assert key in real, f"no {key} in {real}"
            part(real[key], value)
    elif isinstance(want, list):
        assert isinstance(real, list) and len(real) == len(want), f"want {want}, got {real}"
        for r, w in zip(real, want):
            part(r, w)
    else:
        assert real == want, f"want {want!r}, got {real!r}"


TF = "tensorflow-dist-mnist"
PS, WORKERS = f"{TF}-ps-0.{TF}", [f"{TF}-worker-{i}.{TF}" for i in range(2)]


def the_svc_guide(k):
    with Followed(k, staying("tf-mnist-svc.yaml")) as f:
        assert re.search(rf"^{TF} +ClusterIP +None +<none> +<none> +\S+$", k("get", "service"), re.M), k("get", "service")
        same(f.env("ps-0", "VC_.*(NUM|HOSTS)"), [f"VC_PS_HOSTS={PS}", "VC_PS_NUM=1", f"VC_WORKER_HOSTS={','.join(WORKERS)}", "VC_WORKER_NUM=2"])
        listed = [n for n in f.run("ps-0", "ls", "/etc/volcano/").split() if n != "generation"]  # which is ours (docs/compatibility.md)
        same(listed, ["VC_PS_HOSTS", "VC_PS_NUM", "VC_WORKER_HOSTS", "VC_WORKER_NUM", "ps.host", "worker.host"])
        same(f.run("ps-0", "cat", "/etc/volcano/ps.host"), PS)
        same(f.run("ps-0", "cat", "/etc/volcano/worker.host"), "\n".join(WORKERS))
        for pod, index in (("ps-0", 0), ("worker-0", 0), ("worker-1", 1)):
            same(f.env(pod, "TASK_INDEX"), [f"VC_TASK_INDEX={index}", f"VK_TASK_INDEX={index}"])
        same(f.run("ps-0", "hostname"), f"{TF}-ps-0\n")
        for host in WORKERS:  # what the service is for
            same(f.run("ps-0", "getent", "hosts", host).split()[0], f.get("pod", host.split(".")[0])["status"]["podIP"])
        objects_of_the_guide(f)
        words = k("describe", "pod", f"{TF}-ps-0")
        assert f"Controlled By:  Job/{TF}" in words and f"/etc/volcano from {TF}-svc (rw)" in words, words
        assert f"VC_PS_HOSTS:      <set to the key 'VC_PS_HOSTS' of config map '{TF}-svc'>" in words, words


def objects_of_the_guide(f):
    owner = {"ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "blockOwnerDeletion": True, "controller": True, "kind": "Job", "name": TF,
                                  "uid": f.get("vcjob", TF)["metadata"]["uid"]}]}
    labels = {"volcano.sh/job-name": TF, "volcano.sh/job-namespace": "default"}
    ref = [{"name": n, "valueFrom": {"configMapKeyRef": {"key": n, "name": f"{TF}-svc"}}} for n in ("VC_PS_HOSTS", "VC_PS_NUM", "VC_WORKER_HOSTS", "VC_WORKER_NUM")]
    pod = f.get("pod", f"{TF}-ps-0")
    part(pod, {"metadata": {"namespace": "default", "labels": {**labels, "volcano.sh/queue-name": "default", "volcano.sh/task-spec": "ps"},
                            "annotations": {"volcano.sh/job-name": TF, "volcano.sh/job-version": "0", "volcano.sh/queue-name": "default",
                                            "volcano.sh/task-spec": "ps", "volcano.sh/template-uid": f"{TF}-ps"}, **owner},
               "spec": {"hostname": f"{TF}-ps-0", "subdomain": TF, "restartPolicy": "Never", "schedulerName": "volcano", "dnsPolicy": "ClusterFirst",
                        "enableServiceLinks": True, "containers": [{"name": "tensorflow", "image": "volcanosh/dist-mnist-tf-example:0.0.1",
                                                                     "ports": [{"containerPort": 2222, "name": "tfjob-port", "protocol": "TCP"}]}]},
               "status": {"phase": "Running", "qosClass": "BestEffort"}})
    env = pod["spec"]["containers"][0]["env"]
    same([e for e in env if e["name"].endswith("TASK_INDEX")], [{"name": "VK_TASK_INDEX", "value": "0"}, {"name": "VC_TASK_INDEX", "value": "0"}])
    assert all(r in env for r in ref), env
    part([m for m in pod["spec"]["containers"][0]["volumeMounts"] if m["mountPath"] == "/etc/volcano"], [{"name": f"{TF}-svc"}])
    part([v for v in pod["spec"]["volumes"] if v["name"] == f"{TF}-svc"], [{"configMap": {"defaultMode": 420, "name": f"{TF}-svc"}}])
    same({c["type"]: c["status"] for c in pod["status"]["conditions"] if c["type"] in ("Initialized", "Ready", "ContainersReady", "PodScheduled")},
         dict.fromkeys(("Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"))
    part(f.get("service", TF), {"metadata": owner, "spec": {"clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                                                            "selector": labels, "sessionAffinity": "None", "type": "ClusterIP"}})
    part(f.get("configmap", f"{TF}-svc"), {"metadata": owner, "data": {
        "VC_PS_HOSTS": PS, "VC_PS_NUM": "1", "VC_WORKER_HOSTS": ",".join(WORKERS), "VC_WORKER_NUM": "2", "ps.host": PS, "worker.host": "\n".join(WORKERS)}})
    part(f.get("networkpolicy", TF), {"metadata": owner, "spec": {"ingress": [{"from": [{"podSelector": {"matchLabels": labels}}]}],
                                                                  "podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress"]}})


def the_script_of_the_guide(k):
    """The job's own command, but its last line, which prints what it has made."""
    job = change(seed("tf-mnist-svc.yaml"), "python /var/tf_dist_mnist/dist_mnist.py", "echo $TF_CONFIG; sleep 100000")
    with Followed(k, job):
        text = until("it has written", lambda: k("logs", f"{TF}-worker-1"))
        hosts = [f"{w}:2222" for w in WORKERS]
        config = json.loads(text.replace(",]", "]"))  # the lists of the guide's script end with a comma
        same(config, {"cluster": {"ps": [f"{PS}:2222"], "worker": hosts}, "task": {"type": "worker", "index": 1}, "environment": "cloud"})


def pytorch(k):
    with Followed(k, staying("pytorch.yaml")) as f:
        for rank, pod in enumerate(("master-0", "worker-0", "worker-1")):
            same(f.env(pod, "^(MASTER|WORLD|RANK)"), ["MASTER_ADDR=pytorch-job-master-0.pytorch-job", "MASTER_PORT=23456", f"RANK={rank}", "WORLD_SIZE=3"])
    if not imports(PYTHON, "torch"):
        return skip("pytorch itself: no python3-torch")
    job = seed("pytorch.yaml")
    for _, _, main in pods(job):
        main["command"] = [PYTHON, "-c", REDUCE]
    with Followed(k, job, phase=None):
        k("wait", "--for=jsonpath={.status.state.phase}=Completed", "vcjob/pytorch-job", "--timeout=120s")
        assert "rank 0 of 3: 6\n" in k("logs", "pytorch-job-master-0")


def tensorflow(k):
    name = "tensorflow-training"
    with Followed(k, staying("tensorflow.yaml")) as f:
        (line,) = f.env("worker-0", "^TF_CONFIG")
        hosts = {t: [f"{name}-{t}-{i}.{name}:2222" for i in range(n)] for t, n in (("ps", 2), ("worker", 3))}
        same(json.loads(line.removeprefix("TF_CONFIG=")), {"cluster": hosts, "task": {"type": "worker", "index": 0}})


def mpi(k):
    if not has("mpicc", "mpiexec", "sshd"):
        return skip("mpi: no openmpi-bin, libopenmpi-dev, openssh-server")
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "mpi_hello_world")
        subprocess.run(["mpicc", "-o", program, os.path.join(os.path.dirname(HERE), "mpi_hello_world.c")], check=True)
        wait = "mpi_hello_world; while [ ! -e /tmp/end ]; do sleep 0.05; done"
        job = change(give(seed("mpi.yaml"), program, "/usr/local/bin/mpi_hello_world"), "mpi_hello_world;", wait)
        job["spec"]["minAvailable"] = 3
        with Followed(k, job) as f:
            same(f.env("mpimaster-0", "^MPI_HOST"), ["MPI_HOST=lm-mpi-job-mpiworker-0.lm-mpi-job,lm-mpi-job-mpiworker-1.lm-mpi-job"])
            same(f.run("mpimaster-0", "ssh", "lm-mpi-job-mpiworker-0", "hostname"), "lm-mpi-job-mpiworker-0\n")
            hello = until("both have written", lambda: [x for x in k("logs", "lm-mpi-job-mpimaster-0").splitlines() if "Hello" in x][1:2] and
                          k("logs", "lm-mpi-job-mpimaster-0"))
            for i in range(2):
                assert f"Hello world from processor lm-mpi-job-mpiworker-{i}, rank {i} out of 2 processors\n" in hello, hello
            f.run("mpimaster-0", "touch", "/tmp/end")
            k("wait", "--for=jsonpath={.status.state.phase}=Completed", "vcjob/lm-mpi-job", "--timeout=60s")


RAY = """#!/bin/sh
case "$*" in *--head*) exec python3 -m http.server --directory /etc/volcano 8265 ;; esac
exec sleep 100000
"""


def ray(k):
    """The commands are the plugin's: what they start is a stand-in here. tests/run_frameworks.py has the real one."""
    name = "ray-cluster-job"
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "ray")
        with open(program, "w") as f:
            f.write(RAY)
        os.chmod(program, 0o755)
        job = give(seed("ray.yaml"), program, "/usr/local/bin/ray")
        for _, _, main in pods(job):
            main.pop("resources", None)
        with Followed(k, job):
            services, listed = k("get", "service"), k("get", "pod")
            assert re.search(rf"^{name} +ClusterIP +None +<none> +<none> ", services, re.M), services
            assert re.search(rf"^{name}-head-svc +ClusterIP +10\.96\.\S+ +<none> +6379/TCP,8265/TCP,10001/TCP ", services, re.M), services
            for pod in ("head-0", "worker-0", "worker-1"):
                assert re.search(rf"^{name}-{pod} +1/1 +Running +0 ", listed, re.M), listed
            shows_the_dashboard(k, f"{name}-head-0")


def shows_the_dashboard(k, pod):
    until("it listens", lambda: "2049" in k("exec", pod, "--", "cat", "/proc/net/tcp"))
    p = subprocess.Popen(k.argv("port-forward", pod, ":8265"), stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r"127.0.0.1:(\d+) -> 8265", p.stdout.readline()).group(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as page:
            assert "worker.host" in page.read().decode()
    finally:
        p.terminate()
        p.communicate()


def main():
    suite = Suite()
    try:
        path = os.path.join(binaries(), "kubectl")
    except Skip as e:
        print(f"skipped: {e}")
        return 77
    s = Server()
    k = Kubectl(s, path)
    for case in (the_svc_guide, the_script_of_the_guide, pytorch, tensorflow, mpi, ray):
        if len(sys.argv) == 1 or case.__name__ in sys.argv:
            suite.case(case.__name__, lambda: case(k))
    suite.case("ends_well", lambda: s.stop())
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
