#!/usr/bin/env python3
"""The frameworks' jobs, really run: MPI, PyTorch, TensorFlow, Ray. The jobs are those of tests/seeds; their images are the host's
files, and the programs of those images are small ones of ours.

TensorFlow and Ray come from PyPI: PUMICE_PEERS names a venv that has them; where it has not, those cases are skipped.
"""
import json
import os
import subprocess
import sys
import tempfile

import yaml

from harness import Suite
from runs import HERE, config_map, has, on, run, same, skip, task

PYTHON = "/usr/bin/python3"
PEERS = os.environ.get("PUMICE_PEERS", "/opt/pumice-peers")
EXAMPLES = os.path.join(HERE, "..", "examples")


def imports(python, module):
    return subprocess.run([python, "-c", f"import importlib.util as u; raise SystemExit(not u.find_spec('{module}'))"],
                          capture_output=True).returncode == 0 if os.path.exists(python) else False


def seed(name):
    with open(os.path.join(HERE, "seeds", name)) as f:
        return json.loads(json.dumps(next(d for d in yaml.safe_load_all(f) if d)))     # no two parts are one (anchors)


def pods(job):
    for t in job["spec"]["tasks"]:
        spec = t["template"]["spec"]
        spec["terminationGracePeriodSeconds"] = 2
        yield t, spec, spec["containers"][0]


def give(job, source, path):
    """All pods see 'source' at 'path': a file of the host, or (a pair) a key of a ConfigMap."""
    for _, spec, main in pods(job):
        volume = {"name": "given", "hostPath": {"path": source, "type": "File"}}
        mount = {"name": "given", "mountPath": path}
        if isinstance(source, tuple):
            volume = {"name": "given", "configMap": {"name": source[0]}}
            mount["subPath"] = source[1]
        spec.setdefault("volumes", []).append(volume)
        main.setdefault("volumeMounts", []).append(mount)
    return job


def change(job, old, new):
    """In all commands."""
    for _, _, main in pods(job):
        main["command"] = [word.replace(old, new) for word in main["command"]]
    return job


# ---- MPI ----

def with_hello(function):
    if not has("mpicc", "mpiexec", "sshd"):
        return skip("mpi: no openmpi-bin, libopenmpi-dev, openssh-server")
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "mpi_hello_world")
        subprocess.run(["mpicc", "-o", program, os.path.join(HERE, "mpi_hello_world.c")], check=True)
        return function(program)


def hello(r, pod):
    r.done()
    lines = [line for line in r.lines(pod) if line.startswith("Hello world")]
    same(sorted(lines), [f"Hello world from processor lm-mpi-job-mpiworker-{i}, rank {i} out of 2 processors"
                         for i in range(2)])
    same(r.decisions(), ["CompleteJob"])
    same({p: s for p, s in r.states().items() if "worker" in p},
         {"lm-mpi-job-mpiworker-0": "stopped", "lm-mpi-job-mpiworker-1": "stopped"})


def mpi_plugin():
    with_hello(lambda program: hello(run(give(seed("mpi.yaml"), program, "/usr/local/bin/mpi_hello_world")), "mpimaster-0"))


def mpi_by_hand():
    def go(program):
        job = give(change(seed("mpi-by-hand.yaml"), "> /home/re;", "> /home/re && cat /home/re"), program,
                   "/usr/local/bin/mpi_hello_world")
        hello(run(job), "mpimaster-0")
    with_hello(go)


# ---- PyTorch ----

REDUCE = """
import os, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group(backend="gloo")
t = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(t)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {t.item():.0f}", flush=True)
dist.barrier()
"""


def reduced(r, n=3):
    r.done()
    lines = sorted(line for line in r.all_lines() if line.startswith("rank "))
    same(lines, [f"rank {i} of {n}: {n * (n + 1) // 2}" for i in range(n)])


def pytorch():
    if not imports(PYTHON, "torch"):
        return skip("pytorch: no python3-torch")
    job = seed("pytorch.yaml")
    for _, _, main in pods(job):
        main["command"] = [PYTHON, "-c", REDUCE]
    r = run(job)
    reduced(r)
    same(sorted(line for line in r.lines("worker-1") if line.startswith("rank ")), ["rank 2 of 3: 6"])


def pytorch_torchrun():
    if not imports(PYTHON, "torch"):
        return skip("torchrun: no python3-torch")
    job = seed("pytorch.yaml")
    job["spec"]["plugins"]["pytorch"] += ["--torchrun=true", "--nproc-per-node=1"]
    for _, _, main in pods(job):
        # -r 2 -t 2: what is usual (0) and "all" (3) fail in torch 1.13 under Python 3.11, where Flag leaves such members out
        main["command"] = [PYTHON, "-m", "torch.distributed.run", "-r", "2", "-t", "2", "/program/reduce.py"]
    give(job, ("program", "reduce.py"), "/program/reduce.py")
    reduced(run([job, config_map("program", **{"reduce.py": REDUCE})]))


# ---- TensorFlow ----

# Stands in for dist_mnist.py: every pod listens on its own port and talks to all others by the names in TF_CONFIG.
CONNECT = """
import json, os, socket, threading, time
config = json.loads(os.environ["TF_CONFIG"])
me = config["task"]
mine = config["cluster"][me["type"]][me["index"]]
everybody = [h for hosts in config["cluster"].values() for h in hosts]
server = socket.create_server(("", int(mine.rsplit(":")[1])))
asked = set()

def serve():
    while True:
        with server.accept()[0] as s:
            asked.add(s.recv(200).decode())
            s.sendall(mine.encode())

threading.Thread(target=serve, daemon=True).start()
for peer in everybody:
    host, port = peer.rsplit(":")
    for _ in range(300):
        try:
            with socket.create_connection((host, int(port)), 5) as s:
                s.sendall(mine.encode())
                assert s.recv(200).decode() == peer
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit(f"no answer from {peer}")
while len(asked) < len(everybody):
    time.sleep(0.02)
print(f"{me['type']} {me['index']} talked to {len(everybody)}", flush=True)
time.sleep(60 if me["type"] == "ps" else 0)
"""


def talked(r, workers, everybody):
    r.done()
    for i in range(workers):
        same(r.lines(f"worker-{i}"), [f"worker {i} talked to {everybody}"])


def tensorflow_by_hand():
    job = change(seed("tf-mnist-svc.yaml"), "python /var", f"{PYTHON} /var")
    give(job, ("program", "dist_mnist.py"), "/var/tf_dist_mnist/dist_mnist.py")
    r = run([job, config_map("program", **{"dist_mnist.py": CONNECT})])
    talked(r, 2, 3)
    same(r.decisions(), ["CompleteJob"])


def tensorflow_plugin():
    job = seed("tensorflow.yaml")
    for _, _, main in pods(job):
        main["command"] = [PYTHON, "-c", CONNECT]
    talked(run(job, "--node", "cpu=32,memory=64Gi"), 3, 5)


def tensorflow_itself():
    if not imports(f"{PEERS}/bin/python3", "tensorflow"):
        return skip("tensorflow: not in PUMICE_PEERS")
    r = run(os.path.join(EXAMPLES, "tensorflow-ps", "job.yaml"), "--env", f"PYTHON={PEERS}/bin/python3").done()
    lines = r.lines("chief-0")
    assert any(line.startswith("chief 0: tensorflow") for line in lines), lines
    assert "chief 0: learned y = 2.00 a -3.00 b +0.50" in lines, lines


# ---- Ray ----

RAY_APP = """
import ray
ray.init(address="auto", log_to_driver=False)
@ray.remote
def where():
    return "an answer"
print("nodes", sum(n["Alive"] for n in ray.nodes()), ray.get(where.remote()))
"""

# Outside the Ray cluster but inside the job: everything goes through the Service of the head.
RAY_DRIVER = """
import json, time, urllib.request
from ray.job_submission import JobSubmissionClient
URL = "http://ray-cluster-job-head-svc:8265"

def answer(path):
    with urllib.request.urlopen(URL + path, timeout=5) as f:
        return json.load(f)

def patiently(function):
    for _ in range(240):
        try:
            got = function()
            if got:
                return got
        except Exception as e:
            last = e
        time.sleep(0.5)
    raise SystemExit(f"gave up: {last}")

print("dashboard", patiently(lambda: answer("/api/version"))["ray_version"], flush=True)
patiently(lambda: len([n for n in answer("/api/v0/nodes")["data"]["result"]["result"] if n["state"] == "ALIVE"]) == 3)
client = patiently(lambda: JobSubmissionClient(URL))
job = patiently(lambda: client.submit_job(entrypoint="python3 /program/app.py"))
status = patiently(lambda: client.get_job_status(job).is_terminal() and client.get_job_status(job))
print(status, client.get_job_logs(job), flush=True)
"""


def ray():
    if not imports(f"{PEERS}/bin/python3", "ray") or not imports(f"{PEERS}/bin/python3", "aiohttp_cors"):
        return skip("ray: ray[default] is not in PUMICE_PEERS")
    job = seed("ray.yaml")
    job["spec"]["minAvailable"] = 4
    job["spec"]["plugins"]["ray"] = ["--head-args=--num-cpus=1 --object-store-memory=80000000",
                                     "--worker-args=--num-cpus=1 --object-store-memory=80000000"]
    job["spec"]["tasks"].append(task("driver", ["python3", "/program/driver.py"], policies=[
        on("TaskCompleted", "CompleteJob"), on("PodFailed", "TerminateJob")], pod={"restartPolicy": "Never"}))
    for _, spec, main in pods(job):
        main["env"] = [{"name": "PATH", "value": f"{PEERS}/bin:/usr/local/bin:/usr/bin:/bin"},
                       {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"}]
        spec["volumes"] = [{"name": "program", "configMap": {"name": "program"}}]
        main["volumeMounts"] = [{"name": "program", "mountPath": "/program"}]
    r = run([job, config_map("program", **{"app.py": RAY_APP, "driver.py": RAY_DRIVER})],
            "--node", "cpu=16,memory=32Gi").done()
    text = "\n".join(r.lines("driver-0"))
    assert "SUCCEEDED" in text and "nodes 3 an answer" in text, text


def main():
    suite = Suite()
    for f in (mpi_plugin, mpi_by_hand, pytorch, pytorch_torchrun, tensorflow_by_hand, tensorflow_plugin, tensorflow_itself,
              ray):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
