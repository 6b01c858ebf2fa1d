#!/usr/bin/env python3
"""pumice node before a real API server, with pumice controller --scheduler: the seeds' jobs with real processes and real ssh, by
kubectl create, logs, exec and port-forward; what pods refer to; a node that is killed, cut off and stopped. The node has the rights
of a kubelet (system:nodes) and what docs/node.md adds to them, no more."""
import base64
import calendar
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, encoded, status_of  # noqa: E402
from controller import Controller, install, until  # noqa: E402
from harness import PUMICE, Suite  # noqa: E402
from images import folder, layer, text  # noqa: E402
from registry import Image, Liar  # noqa: E402
from runs import UNFILTERED  # noqa: E402

NODE = "n1"
PYTHON = "/usr/bin/python3"
LIMIT_S = int(os.environ.get("LIMIT", 120))


class Node:
    """pumice node, as a user of its own."""

    def __init__(self, bed, *flags, name=NODE, user=None, groups=("system:nodes",), state="state", port="0", address="127.0.0.1"):
        self.bed, self.name, self.state = bed, name, os.path.join(bed.dir, state)
        self.log_path = os.path.join(bed.dir, "log", f"node-{time.monotonic_ns()}")
        config = bed.user(user or f"system:node:{name}", groups)
        with open(self.log_path, "w") as log:
            self.popen = subprocess.Popen(
                [PUMICE, "node", "--kubeconfig", config, "--name", name, "--node-ip=127.0.0.1", f"--address={address}", f"--port={port}",
                 "--state", self.state, *UNFILTERED, *flags], env=bed.environment(), stdin=subprocess.DEVNULL, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()
        self.cleanup()
        assert "Sanitizer" not in self.log and "runtime error:" not in self.log, self.log[-3000:]

    def cleanup(self):
        """What it left runs on; nothing of that stays when the test ends."""
        r = subprocess.run([PUMICE, "node", "--cleanup", "--name", self.name, "--state", self.state], capture_output=True, text=True)
        assert r.returncode == 0 or "another pumice node runs" in r.stderr, r
        return r.stderr

    @property
    def log(self):
        with open(self.log_path) as f:
            return f.read()

    def until(self, what, holds):
        """With its own words, if it never comes true."""
        try:
            return until(what, holds, LIMIT_S)
        except AssertionError as e:
            raise AssertionError(f"{e}; it said {self.log[-2000:]}") from None

    def until_says(self, text):
        self.until(f"it says {text!r}", lambda: text in self.log)

    def until_works(self):
        """And is not tainted any more, which in a whole cluster a controller does."""
        path = f"/api/v1/nodes/{self.name}"
        self.until_says("Serving the kubelet API")
        port = int(re.search(r"Serving the kubelet API\" port=(\d+)", self.log).group(1))  # not the one before
        self.until(f"{self.name} is ready", lambda: (lambda o: is_ready(o) and port_of(o) == port)(self.bed.call("GET", path)[1]))
        self.bed.call("PATCH", path, {"spec": {"taints": None}}, content_type="application/merge-patch+json")
        return self.bed.call("GET", path)[1]

    def until_ends(self):
        return self.popen.wait(LIMIT_S)


def port_of(node):
    return node["status"].get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port")


def is_ready(node):
    return node["kind"] == "Node" and any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


def certificates(bed):
    crt, key = bed.certificate("node", NODE, names=["IP:127.0.0.1"])
    return f"--client-ca-file={bed.ca}", f"--tls-cert-file={crt}", f"--tls-private-key-file={key}"


def allow(bed):
    """What a kubelet's rights lack."""
    role = subprocess.run([PUMICE, "install", "--dry-run", "--only", "node"], capture_output=True, text=True, check=True).stdout
    bed.kubectl("apply", "-f", "-", stdin=role)


# ---- pods ----


def pod(name, command, restart="Never", **more):
    main = {"name": "c", "image": "debian:12", "command": ["sh", "-c", command], **more.pop("main", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeName": NODE, "restartPolicy": restart, "terminationGracePeriodSeconds": 5, "containers": [main], **more}}


def create(bed, *manifests):
    bed.kubectl("create", "-f", "-", stdin="\n---\n".join(json.dumps(m) for m in manifests))


def get(bed, name):
    status, answer = bed.call("GET", f"/api/v1/namespaces/default/pods/{name}")
    return answer if status == 200 else {}


def phase(bed, name):
    return get(bed, name).get("status", {}).get("phase")


def until_phase(bed, name, want):
    until(f"{name} is {want}: {json.dumps(get(bed, name).get('status'))[:1500]}", lambda: phase(bed, name) == want)


def state(bed, name):
    return (get(bed, name).get("status", {}).get("containerStatuses") or [{}])[0]


def kubectl(bed, *args, stdin=None):
    return subprocess.run([f"{bed.bin}/kubectl", *args], env=bed.environment(), input=stdin, capture_output=True, text=True,
                          timeout=LIMIT_S)


# ---- what it says ----


def refuses_what_makes_no_sense():
    for flags, words in (
            (("--name", "A_b"), "--name A_b: "), (("--labels", "=x"), "--labels =x: "), (("--labels", "a=b c"), "--labels a=b c: "),
            (("--taints", "x"), "--taints x: write KEY=VALUE:EFFECT"), (("--taints", "a=b:Never"), "--taints a=b:Never: write"),
            (("--node-ip", "here"), "--node-ip here: must be an IPv4 address"), (("--port", "65536"), "--port 65536: must be"),
            (("--tls-cert-file", "x"), "give both or none"), (("--capacity", "cpu"), "--capacity cpu: "),
            (("--shutdown-grace-period", "soon"), "--shutdown-grace-period: "), (("--nodename", "x"), "--nodename"), (("--hostname-override=x",), "use --name")):
        run = subprocess.run([PUMICE, "node", *flags], capture_output=True, text=True)
        assert run.returncode == 2 and words in run.stderr, (flags, run)


def says_which_right_is_missing(bed):
    with Node(bed, user="stranger", groups=(), state="state-2", name="n2") as n:
        n.until_says('cannot get resource \\"leases\\"')
        n.until_says("pumice install --dry-run --only node")
        n.popen.terminate()
        assert n.until_ends() == 0


def is_not_ready_without_rights(bed):
    """It can register and start nothing: so it says, and no pod is sent to it; once it has the rights, it is Ready by itself."""
    bed.kubectl("delete", "clusterrolebinding", "pumice-node")
    with Node(bed, user="system:node:n6", groups=("system:nodes",), state="state-6", name="n6") as n:
        n.until("it says so", lambda: "NotListed" in json.dumps(bed.call("GET", "/api/v1/nodes/n6")[1]))
        ready = next(c for c in bed.call("GET", "/api/v1/nodes/n6")[1]["status"]["conditions"] if c["type"] == "Ready")
        assert ready["status"] == "False" and "NetworkPolicy, Namespace" in ready["message"], ready
        allow(bed)
        n.until("it is Ready", lambda: is_ready(bed.call("GET", "/api/v1/nodes/n6")[1]))
        n.popen.terminate()
        assert n.until_ends() == 0


def asks_once_for_a_certificate(bed):
    """A request that nobody has approved is the same one after a restart."""
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

    def requests():
        return [o["metadata"]["name"] for o in bed.call("GET", path)[1]["items"] if o["spec"].get("username") == "system:node:n7"]

    for _ in range(3):
        with Node(bed, user="system:node:n7", groups=("system:nodes",), state="state-7", name="n7") as n:
            n.until("it has asked", requests)
            n.until("it works", lambda: is_ready(bed.call("GET", "/api/v1/nodes/n7")[1]))
            time.sleep(1)
            n.popen.terminate()
            assert n.until_ends() == 0
    assert len(requests()) == 1, requests()


def waits_for_the_server(bed):
    config = bed.kubeconfig("nobody", {"token": "x"}, server="https://127.0.0.1:1")
    with Node(bed, "--kubeconfig", config, state="state-2", name="n2") as n:
        n.until_says("Connection refused")
        assert n.popen.poll() is None
        n.popen.terminate()
        assert n.until_ends() == 0


def makes_its_node_again(bed, node):
    uid = bed.call("GET", f"/api/v1/nodes/{NODE}")[1]["metadata"]["uid"]
    bed.call("DELETE", f"/api/v1/nodes/{NODE}")
    assert node.until_works()["metadata"]["uid"] != uid
    assert "Creating the Node again, which was deleted" in node.log


def says_what_it_lacks_of_a_file(bed):
    with Node(bed, "--client-ca-file=/nowhere", state="state-2", name="n2") as n:
        assert n.until_ends() == 1
        assert "--client-ca-file /nowhere: No such file or directory" in n.log, n.log


def registers(bed, node):
    o = node.until_works()
    assert o["metadata"]["labels"].items() >= {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux", "color": "blue"}.items(), o
    assert {"type": "InternalIP", "address": "127.0.0.1"} in o["status"]["addresses"], o
    assert o["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] > 0 and o["status"]["allocatable"]["cpu"] == "8", o
    lease = until("the Lease knows its Node", lambda: (lambda x: x["metadata"].get("ownerReferences") and x)(
        bed.call("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}")[1]))
    assert lease["spec"]["holderIdentity"].startswith(f"{NODE}_") and lease["spec"]["leaseDurationSeconds"] == 40, lease
    assert lease["metadata"]["ownerReferences"][0]["uid"] == o["metadata"]["uid"], lease


def has_its_name_alone(bed):
    with Node(bed, state="state-2") as n:
        assert n.until_ends() == 1
        assert "Another machine holds the Lease of this node" in n.log and f"holder={NODE}_" in n.log, n.log
    with Node(bed) as n:
        assert n.until_ends() == 1
        assert f'another pumice node runs on this machine as "{NODE}"' in n.log, n.log


# ---- the seeds' jobs ----


def seed(name):
    with open(os.path.join(HERE, "..", "seeds", name)) as f:
        return json.loads(json.dumps(next(d for d in yaml.safe_load_all(f) if d)))


def mpi_job(program):
    job = seed("mpi.yaml")
    for t in job["spec"]["tasks"]:
        spec = t["template"]["spec"]
        spec["terminationGracePeriodSeconds"] = 2
        spec["volumes"] = [{"name": "given", "hostPath": {"path": program, "type": "File"}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "given", "mountPath": "/usr/local/bin/mpi_hello_world"}]
    return job


REDUCE = """
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group(backend="gloo")
t = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(t)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {t.item():.0f}", flush=True)
dist.barrier()
"""

# Where there is no torch: the same sum over the same variables.
REDUCE_PLAIN = """
import os, socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
total = rank + 1
if rank == 0:
    with socket.create_server(("", where[1])) as s:
        others = [s.accept()[0] for _ in range(world - 1)]
        total += sum(int(c.recv(9)) for c in others)
        for c in others:
            c.sendall(str(total).encode())
else:
    with socket.create_connection(where) as c:
        c.sendall(str(total).encode())
        total = int(c.recv(9))
print(f"rank {rank} of {world}: {total}", flush=True)
"""


def pytorch_job():
    job = seed("pytorch.yaml")
    has_torch = subprocess.run([PYTHON, "-c", "import importlib.util as u; raise SystemExit(not u.find_spec('torch'))"]).returncode == 0
    for t in job["spec"]["tasks"]:
        spec = t["template"]["spec"]
        spec["terminationGracePeriodSeconds"] = 2
        spec["containers"][0]["command"] = [PYTHON, "-c", REDUCE if has_torch else REDUCE_PLAIN]
    job["spec"]["schedulerName"] = "volcano"
    return job


def job_phase(bed, name):
    return bed.call("GET", f"/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{name}")[1].get("status", {}).get("state", {}).get("phase")


def runs_the_seeds_jobs(bed):
    with tempfile.TemporaryDirectory() as d:
        names = ["pytorch-job"]
        create(bed, pytorch_job())
        if all(map(shutil.which, ("mpicc", "mpiexec", "sshd"))):
            program = os.path.join(d, "mpi_hello_world")
            subprocess.run(["mpicc", "-o", program, os.path.join(HERE, "..", "mpi_hello_world.c")], check=True)
            create(bed, mpi_job(program))
            names.append("lm-mpi-job")
        else:
            print("mpi is skipped: no openmpi-bin, libopenmpi-dev, openssh-server")
        for name in names:
            try:
                until(f"{name} is Completed", lambda: job_phase(bed, name) == "Completed", LIMIT_S)
            except AssertionError as e:
                raise AssertionError(f"{e}\n{bed.kubectl('get', 'vcjob,podgroup,pod,events')}") from None
    assert bed.kubectl("logs", "pytorch-job-master-0") == "rank 0 of 3: 6\n"
    if "lm-mpi-job" in names:
        said = bed.kubectl("logs", "lm-mpi-job-mpimaster-0")
        assert sorted(line for line in said.splitlines() if line.startswith("Hello")) == [
            f"Hello world from processor lm-mpi-job-mpiworker-{i}, rank {i} out of 2 processors" for i in range(2)], said
        assert "MPI_HOST: lm-mpi-job-mpiworker-0.lm-mpi-job,lm-mpi-job-mpiworker-1.lm-mpi-job" in said, said


# ---- logs and exec ----

TALKS = """for i in 1 2 3 4 5; do echo line $i; done; echo oops >&2
[ -e /keep/again ] || { touch /keep/again; exit 3; }
until [ -e /keep/enough ]; do sleep 0.1; done; echo last"""


def talker(bed):
    create(bed, pod("talks", TALKS, restart="OnFailure", main={"volumeMounts": [{"name": "keep", "mountPath": "/keep"}]},
                    volumes=[{"name": "keep", "emptyDir": {}}]))
    until("it was restarted and runs", lambda: state(bed, "talks").get("restartCount") == 1 and "running" in state(bed, "talks")["state"])


def shows_logs(bed):
    lines = [f"line {i}" for i in range(1, 6)]
    until("it has said all", lambda: len(bed.kubectl("logs", "talks").splitlines()) == 6)
    assert sorted(bed.kubectl("logs", "talks").splitlines()) == sorted(lines + ["oops"])
    assert sorted(bed.kubectl("logs", "talks", "--previous").splitlines()) == sorted(lines + ["oops"])
    assert len(bed.kubectl("logs", "talks", "--tail=2").splitlines()) == 2 and bed.kubectl("logs", "talks", "--tail=0") == ""
    assert bed.kubectl("logs", "talks", "--limit-bytes=9") == "line 1\nli"
    assert bed.kubectl("logs", "talks", "--since-time=2099-01-01T00:00:00Z") == ""
    assert len(bed.kubectl("logs", "talks", "--since=1h").splitlines()) == 6
    for line in bed.kubectl("logs", "talks", "--timestamps").splitlines():
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (line \d|oops)", line), line
    assert 'container "c" in pod "waits" is waiting to start: FailedMount' in bed.kubectl("logs", "waits", fails=True)
    follow = subprocess.Popen([f"{bed.bin}/kubectl", "logs", "-f", "--tail=1", "talks"], env=bed.environment(), text=True,
                              stdout=subprocess.PIPE)
    assert follow.stdout.readline() in ("line 5\n", "oops\n")
    bed.kubectl("exec", "talks", "--", "touch", "/keep/enough")
    assert follow.stdout.read() == "last\n" and follow.wait(LIMIT_S) == 0  # it ends with the container
    until_phase(bed, "talks", "Succeeded")
    assert bed.kubectl("logs", "talks", "--tail=1") == "last\n"
    assert 'in a completed pod' in kubectl(bed, "exec", "talks", "--", "true").stderr


def runs_commands(bed):
    r = kubectl(bed, "exec", "stays", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (r.returncode, r.stdout) == (7, "out\n") and r.stderr.startswith("err\n"), r
    r = kubectl(bed, "exec", "stays", "--", "no-such-program")
    assert r.returncode == 127 and 'exec: "no-such-program": executable file not found in $PATH' in r.stderr, r
    big = "x" * 70 + "\n"
    r = kubectl(bed, "exec", "-i", "stays", "--", "sh", "-c", "tee /tmp/copy | wc -c; wc -c < /tmp/copy", stdin=big * 30000)
    assert r.stdout.split() == ["2130000", "2130000"], r
    r = kubectl(bed, "exec", "stays", "--", "head", "-c", "4000000", "/dev/zero")
    assert len(r.stdout) == 4000000 and r.returncode == 0
    r = kubectl(bed, "exec", "stays", "--", "sh", "-c", "echo $GREETING from $(hostname)")
    assert r.stdout == "hello from stays\n", r


def has_a_terminal(bed):
    """As people use it: a shell, a window that changes, Ctrl-C, exit."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    p = subprocess.Popen([f"{bed.bin}/kubectl", "exec", "-it", "stays", "--", "sh"], env=bed.environment(), stdin=child, stdout=child,
                         stderr=child, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(child)
    seen = ""

    def until_shows(text):
        nonlocal seen
        end = time.monotonic() + LIMIT_S
        while text not in seen:
            assert time.monotonic() < end, (text, seen)
            if select.select([parent], [], [], 1)[0]:
                try:
                    seen += os.read(parent, 4096).decode(errors="replace")
                except OSError:
                    break
        assert text in seen, (text, seen)

    os.write(parent, b"stty size; echo is a ter''minal: $(tty)\n")
    until_shows("33 99")
    until_shows("is a terminal: /dev/pts/0")
    fcntl.ioctl(parent, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 111, 0, 0))
    os.kill(p.pid, signal.SIGWINCH)
    os.write(parent, b"until [ \"$(stty size)\" = '44 111' ]; do sleep 0.1; done; echo lar''ger\n")
    until_shows("larger")
    os.write(parent, b"echo sl''eeps; sleep 1000\n")
    until_shows("sleeps")
    os.write(parent, b"\x03")
    os.write(parent, b"echo interr''upted\n")
    until_shows("interrupted")
    os.write(parent, b"exit 5\n")
    assert p.wait(LIMIT_S) == 5, seen
    os.close(parent)


def attaches(bed):
    """To the input of a container's own program: piped, and by a terminal."""
    create(bed, pod("reads", "cat; echo over", main={"stdin": True, "stdinOnce": True}),
           pod("shell", "exec sh", main={"stdin": True, "tty": True}), pod("deaf", "sleep 1000"))
    for name in ("reads", "shell", "deaf"):
        until_phase(bed, name, "Running")
    r = kubectl(bed, "attach", "-i", "reads", stdin="hello\n" * 3)
    assert r.stdout.startswith("hello\n" * 3), r
    until_phase(bed, "reads", "Succeeded")
    assert bed.kubectl("logs", "reads") == "hello\n" * 3 + "over\n"
    r = kubectl(bed, "attach", "-i", "deaf", stdin="x")
    assert r.returncode != 0, r
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    p = subprocess.Popen([f"{bed.bin}/kubectl", "attach", "-it", "shell"], env=bed.environment(), stdin=child, stdout=child, stderr=child,
                         start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(child)
    seen = ""

    def until_shows(text):
        nonlocal seen
        end = time.monotonic() + LIMIT_S
        while text not in seen and time.monotonic() < end:
            if select.select([parent], [], [], 1)[0]:
                seen += os.read(parent, 4096).decode(errors="replace")
        assert text in seen, (text, seen)

    os.write(parent, b"echo is att''ached\n")
    until_shows("is attached")
    os.write(parent, b"until [ \"$(stty size)\" = '33 99' ]; do sleep 0.1; done; echo fi''ts\n")
    until_shows("fits")
    os.write(parent, b"exit 7\n")
    p.wait(LIMIT_S)
    os.close(parent)
    until_phase(bed, "shell", "Failed")
    assert state(bed, "shell")["state"]["terminated"]["exitCode"] == 7
    bed.kubectl("delete", "pod", "deaf", "--grace-period=0", "--force")


def debugs(bed):
    """kubectl debug on a pod that runs: among the processes of a container or beside them, with its network and names, by a
    pipe and by a terminal; and the pod does not mind."""
    def looks(name):
        return next((c for c in get(bed, "stays")["status"].get("ephemeralContainerStatuses", []) if c["name"] == name), {"state": {}})

    def debug(name, *args, stdin=None):
        r = kubectl(bed, "debug", "stays", "--image=debian:12", "-c", name, "--profile=general", *args, stdin=stdin)
        return r, until(f"{name} has ended: {r}", lambda: looks(name)["state"].get("terminated"))
    sees = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'm http.serve[r] 7777'"
    r, ended = debug("near", "--target=c", "-i", "--", "sh", "-c", f"read word; echo $word from $(hostname); {sees}; exit 5", stdin="hello\n")
    assert ended["exitCode"] == 5 and "hello from stays\n1\n" in bed.kubectl("logs", "stays", "-c", "near"), (r, ended)
    r, ended = debug("beside", "--attach", "--", "sh", "-c", f"{sees}; {PYTHON} -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:7777').status)\"")
    assert bed.kubectl("logs", "stays", "-c", "beside").split() == ["0", "200"], (r, ended)  # not its processes, but its network
    r, ended = debug("nobody", "--", "/no/such/program")
    assert ended["exitCode"] == 128 and ended["reason"] == "StartError", ended
    parent, child = pty.openpty()
    p = subprocess.Popen([f"{bed.bin}/kubectl", "debug", "stays", "--image=debian:12", "--target=c", "-c", "shell", "-it", "--", "sh"],
                         env=bed.environment(), stdin=child, stdout=child, stderr=child, start_new_session=True)
    os.close(child)
    until("the shell runs", lambda: "running" in looks("shell")["state"])
    assert bed.kubectl("exec", "stays", "-c", "shell", "--", "sh", "-c", f"{sees}") == "1\n"
    os.write(parent, b"exit 7\n")
    assert until("the shell has ended", lambda: looks("shell")["state"].get("terminated"))["exitCode"] == 7
    while p.poll() is None:  # who does not read keeps it from ending
        if select.select([parent], [], [], 1)[0]:
            try:
                os.read(parent, 4096)
            except OSError:
                break
    p.wait(LIMIT_S)
    os.close(parent)
    main = state(bed, "stays")
    assert phase(bed, "stays") == "Running" and main["ready"] and main["restartCount"] == 0, main


def commands_go_with_their_client(bed):
    p = subprocess.Popen([f"{bed.bin}/kubectl", "exec", "stays", "--", "sleep", "12345"], env=bed.environment())
    look = ("exec", "stays", "--", "sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^sleep$'")
    until("it runs", lambda: kubectl(bed, *look).stdout == "1\n")
    p.kill()
    p.wait()
    until("it is gone", lambda: kubectl(bed, *look).stdout == "0\n")


def forwards_ports(bed):
    p = subprocess.Popen([f"{bed.bin}/kubectl", "port-forward", "pod/stays", ":7777"], env=bed.environment(), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        port = re.search(r"127.0.0.1:(\d+) ->", p.stdout.readline()).group(1)
        for _ in range(2):
            r = subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/"], capture_output=True, text=True, timeout=LIMIT_S)
            assert "Directory listing" in r.stdout, r
    finally:
        p.kill()
        p.wait()


def lets_in_nobody_else(bed, node):
    port = bed.call("GET", f"/api/v1/nodes/{NODE}")[1]["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]

    def ask(path, *more):
        r = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", bed.ca, *more,
                            f"https://127.0.0.1:{port}{path}"], capture_output=True, text=True)
        return r.stdout

    token = bed.kubectl("create", "token", "default").strip()
    bed.user("alice")
    alice = bed.users["alice"]
    assert ask("/pods") == "401" and ask("/nothing") == "401"
    assert ask("/pods", "-H", "Authorization: Bearer nonsense") == "401"
    assert ask("/pods", "-H", f"Authorization: Bearer {token}") == "403"
    assert ask("/pods", "--cert", alice.certificate, "--key", alice.key) == "403"
    admin = bed.users["admin"]
    me = ("--cert", admin.certificate, "--key", admin.key)
    assert ask("/pods", *me) == "200" and ask("/healthz", *me) == "200" and ask("/metrics/resource", *me) == "200"
    assert ask("/nothing", *me) == "404" and ask("/exec/default/stays/c", *me) == "400"
    assert ask("/containerLogs/default/none/c", *me) == "404" and ask("/containerLogs/default/stays/c?tailLines=x", *me) == "400"
    assert ask("/containerLogs/default/stays/..%2F..%2Fetc", *me) == "400"
    # who may look may not act, though a WebSocket begins with GET
    bed.user("bob")
    bob = ("--cert", bed.users["bob"].certificate, "--key", bed.users["bob"].key)
    bed.kubectl("create", "clusterrole", "looks", "--verb=get", "--resource=nodes/proxy")
    bed.kubectl("create", "clusterrolebinding", "looks", "--clusterrole=looks", "--user=bob")
    until("the right to look is known", lambda: ask("/pods", *bob) == "200")
    assert ask("/exec/default/stays/c?command=true&output=1", *bob) == "403" and ask("/portForward/default/stays", *bob) == "403"


def reads_its_certificates_again(bed, node):
    """Key and certificate are written one after the other, as whoever rotates them does it."""
    where = ("127.0.0.1", port_of(bed.call("GET", f"/api/v1/nodes/{NODE}")[1]))
    before = ssl.get_server_certificate(where)
    crt, _ = bed.certificate("node", NODE, names=["IP:127.0.0.1"])
    with open(crt) as f:
        new = f.read()
    node.until("it shows the new one", lambda: ssl.get_server_certificate(where).split() == new.split())
    assert new.split() != before.split()
    assert bed.kubectl("exec", "stays", "--", "echo", "x") == "x\n"
    os.rename(crt, crt + ".away")
    node.until_says("Failed to reload certificates")
    assert ssl.get_server_certificate(where).split() == new.split()
    os.rename(crt + ".away", crt)


# ---- what pods refer to ----

SHOWS = """until [ -e /s/word ]; do sleep 0.1; done; echo "$(cat /s/word) $WORD $NAME $(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace)"
grep -q BEGIN /var/run/secrets/kubernetes.io/serviceaccount/ca.crt && cut -c1-2 /var/run/secrets/kubernetes.io/serviceaccount/token
until [ "$(cat /s/word)" = new ]; do sleep 0.1; done; echo "$(cat /s/word)" """


def first_pods(bed):
    """Made early, looked at later: time passes while others are looked at."""
    create(bed, pod("stays", f"cd /usr/share; exec {PYTHON} -m http.server 7777", restart="Always",
                    main={"env": [{"name": "GREETING", "value": "hello"}]}),
           pod("waits", SHOWS, main={
               "volumeMounts": [{"name": "s", "mountPath": "/s"}],
               "env": [{"name": "WORD", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "word"}}},
                       {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
               volumes=[{"name": "s", "secret": {"secretName": "later"}}]))


def gives_what_pods_refer_to(bed):
    def secret(word):
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "later", "namespace": "default"},
                "data": {"word": base64.b64encode(word.encode()).decode()}}

    assert 'volume "s": secret "later" not found' in until("it says what it waits for", lambda: state(bed, "waits").get(
        "state", {}).get("waiting", {}).get("message"))
    create(bed, secret("old"), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {"word": "mapped"}})
    until("it runs", lambda: "running" in state(bed, "waits").get("state", {}))
    until("it has read", lambda: bed.kubectl("logs", "waits").splitlines() == [f"old mapped {NODE} default", "ey"])
    bed.kubectl("replace", "-f", "-", stdin=json.dumps(secret("new")))
    until_phase(bed, "waits", "Succeeded")
    assert bed.kubectl("logs", "waits", "--tail=1") == "new\n"


def pulls_images(bed):
    """A node that asks registries: with the Secret that a pod names; its Node then says which images it has."""
    with contextlib.closing(Liar()) as registry, Node(bed, "--pull", "missing", name="n5", state="n5") as node:
        login = base64.b64encode(b"me:secret").decode()
        ref = registry.push("app", Image(layer([folder("etc"), text("etc/what", "pulled")])))
        registry.tricks["/app/"] = lambda h: h.headers.get("Authorization") != "Basic " + login and h.answer(401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
        node.until_works()
        config = json.dumps({"auths": {registry.host: {"auth": login}}}).encode()
        create(bed, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "default"}, "type": "kubernetes.io/dockerconfigjson",
                     "data": {".dockerconfigjson": base64.b64encode(config).decode()}},
               pod("pulls", "", main={"image": ref, "command": ["/nothing/here"]}, imagePullSecrets=[{"name": "login"}], nodeName="n5"))
        names = until("the Node knows the image", lambda: [i["names"] for i in bed.call("GET", "/api/v1/nodes/n5")[1]["status"].get("images", [])])
        assert len(names) == 1 and names[0][0].startswith(ref.split(":latest")[0] + "@sha256:") and names[0][1] == ref, names
        assert until("it has one", lambda: state(bed, "pulls").get("imageID")) == names[0][0]
        bed.kubectl("delete", "pod", "pulls", "--wait=false")
        until("it is gone", lambda: not get(bed, "pulls"))
        registry.shutdown()


def asks_for_little(bed):
    """Nothing of others is listed: Secrets and ConfigMaps by name, pods of this node."""
    for e in bed.audit(user=f"system:node:{NODE}"):
        if e["verb"] in ("list", "watch") and e["objectRef"]["resource"] in ("secrets", "configmaps"):
            assert "fieldSelector=metadata.name" in e["requestURI"], e
        if e["verb"] in ("list", "watch") and e["objectRef"]["resource"] == "pods":
            assert f"spec.nodeName%3D{NODE}" in e["requestURI"], e


def refuses_pods_that_open_the_machine(bed):
    """A node of its own, beside the other one; and its name is taken from it."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n3", "namespace": "kube-node-lease"},
             "spec": {"holderIdentity": "a-dead-one", "leaseDurationSeconds": 40, "renewTime": "2020-01-01T00:00:00.000000Z"}}
    create(bed, lease)  # it has run out
    with Node(bed, "--pod-security=baseline", name="n3", state="state-3") as n:
        n.until_works()
        bad = pod("bad", "true", volumes=[{"name": "h", "hostPath": {"path": "/"}}])
        fine = pod("fine", "sleep 1000")
        for p in (bad, fine):
            p["spec"]["nodeName"] = "n3"
        create(bed, bad, fine)
        until_phase(bed, "bad", "Failed")
        o = get(bed, "bad")["status"]
        assert o["reason"] == "PodSecurity" and o["message"].startswith("spec.volumes[0].hostPath: "), o
        until_phase(bed, "fine", "Running")
        kubectl(bed, "debug", "fine", "--image=debian:12", "-c", "root", "--profile=netadmin", "--", "true")
        refused = until("it says why", lambda: (get(bed, "fine")["status"].get("ephemeralContainerStatuses") or [{}])[0].get("state", {}).get("terminated"))
        assert refused["exitCode"] == 128 and "spec.ephemeralContainers[0].securityContext.capabilities" in refused["message"], refused
        assert phase(bed, "fine") == "Running"
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        bed.call("PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n3",
                 {"spec": {"holderIdentity": "another", "renewTime": now}}, content_type="application/merge-patch+json")
        assert n.until_ends() == 1 and "holder=another" in n.log, n.log


# ---- the end of pods and nodes ----


def deletes_gracefully(bed, node):
    create(bed, pod("ends", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"))
    until("it is up", lambda: kubectl(bed, "logs", "ends").stdout == "up\n")
    uid = get(bed, "ends")["metadata"]["uid"]
    bed.kubectl("delete", "pod", "ends")  # waits until it is gone
    assert bed.call("GET", "/api/v1/namespaces/default/pods/ends")[0] == 404
    last = [e for e in bed.audit(user=f"system:node:{NODE}", verb="delete", resource="pods") if e["objectRef"]["name"] == "ends"]
    assert len(last) == 1, last
    wrote = [e for e in bed.audit(user=f"system:node:{NODE}", resource="pods/status") if e["objectRef"]["name"] == "ends"]
    assert {status_of(e) for e in wrote} == {200}, wrote  # how it ended is written first, and nothing after
    left = subprocess.run(["find", node.state, "-name", uid], capture_output=True, text=True).stdout
    assert left == "", left


def goes_on_without_the_server(bed):
    create(bed, pod("works", "until [ -e /tmp/go ]; do sleep 0.1; done; sleep 1; echo done", main={
        "volumeMounts": [{"name": "t", "mountPath": "/tmp"}]}, volumes=[{"name": "t", "emptyDir": {}}]))
    until_phase(bed, "works", "Running")
    kubectl(bed, "exec", "works", "--", "touch", "/tmp/go")
    bed.server.kill()
    time.sleep(3)  # it ends meanwhile
    bed.server.start()
    until_phase(bed, "works", "Succeeded")
    ended = state(bed, "works")["state"]["terminated"]
    assert ended["exitCode"] == 0, ended
    until("its log is there", lambda: kubectl(bed, "logs", "works").stdout == "done\n")


COUNTS = """trap 'echo term; exit 9' TERM; i=0; while :; do i=$((i+1)); echo $i; [ -e /keep/end ] && exit 42; sleep 0.05; done"""


def text_of(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:  # it ended meanwhile
        return ""


def processes(bed, name):
    """The main ones of the pod, as the machine sees them, by the environment that its containers have; not those that they start."""
    pids = [p for p in os.listdir("/proc") if p.isdigit() and f"POD_MARK={name}" in text_of(f"/proc/{p}/environ").split("\0")]
    parents = {p: text_of(f"/proc/{p}/stat").rpartition(")")[2].split()[1:2] for p in pids}
    return {p for p, parent in parents.items() if parent and parent[0] not in pids}


def outlived(name, restart="Never", **more):
    main = {"env": [{"name": "POD_MARK", "value": name}], "volumeMounts": [{"name": "keep", "mountPath": "/keep"}]}
    return pod(name, COUNTS, restart=restart, main=main, volumes=[{"name": "keep", "emptyDir": {}}], **more)


def outlives_its_program(bed, node):
    """kill -9, and a pod each for what may happen in the gap. Then it is started again: all as it was, or as it became."""
    for name in ("goes-on", "ends-alone", "is-deleted", "is-removed"):
        create(bed, outlived(name))
    create(bed, outlived("again", restart="Always"))
    for name in ("goes-on", "ends-alone", "is-deleted", "is-removed", "again"):
        until(f"{name} counts", lambda: kubectl(bed, "logs", name).stdout.startswith("1\n2\n"))
    before = {n: processes(bed, n) for n in ("goes-on", "again")}
    assert all(before.values()), before
    server, ip = state(bed, "stays")["restartCount"], get(bed, "goes-on")["status"]["podIP"]
    keep = {n: subprocess.run(["find", node.state, "-path", f"*{get(bed, n)['metadata']['uid']}*/data/keep"], capture_output=True,
                              text=True).stdout.strip() for n in ("ends-alone", "again")}
    node.popen.kill()
    node.popen.wait()
    gap = time.time()
    for path in keep.values():
        open(f"{path}/end", "w").close()
    bed.kubectl("delete", "pod", "is-deleted", "--wait=false")
    bed.kubectl("delete", "pod", "is-removed", "--force", "--grace-period=0")
    until("they ended", lambda: not processes(bed, "ends-alone") and not processes(bed, "again"))
    ended = time.time()
    os.unlink(f"{keep['again']}/end")
    time.sleep(1.5)
    assert phase(bed, "ends-alone") == "Running"  # nobody could say it
    assert processes(bed, "goes-on") == before["goes-on"]
    with Node(bed, f"--client-ca-file={bed.ca}", "--shutdown-grace-period=3s", "--drain") as again:  # and no certificate of its own
        again.until_works()
        has_its_certificate_signed(bed)
        until_phase(bed, "ends-alone", "Failed")
        t = state(bed, "ends-alone")["state"]["terminated"]
        assert (t["exitCode"], t["reason"]) == (42, "Error") and state(bed, "ends-alone")["restartCount"] == 0, t
        finished = calendar.timegm(time.strptime(t["finishedAt"], "%Y-%m-%dT%H:%M:%SZ"))
        assert int(gap) - 1 <= finished <= ended, (gap, finished, ended)
        until("one was started again", lambda: state(bed, "again").get("restartCount") == 1 and "running" in state(bed, "again")["state"])
        assert state(bed, "again")["lastState"]["terminated"]["exitCode"] == 42
        o = get(bed, "goes-on")["status"]
        assert o["phase"] == "Running" and o["podIP"] == ip and state(bed, "goes-on")["restartCount"] == 0, o
        assert processes(bed, "goes-on") == before["goes-on"]  # the very same processes
        assert state(bed, "stays")["restartCount"] == server
        seen = [int(x) for x in bed.kubectl("logs", "goes-on").split()]
        assert seen == list(range(1, len(seen) + 1)), "the log has a hole"
        assert kubectl(bed, "exec", "goes-on", "--", "sh", "-c", "echo $POD_MARK").stdout == "goes-on\n"
        r = kubectl(bed, "exec", "goes-on", "--", PYTHON, "-c", f"import urllib.request as u; print(u.urlopen('http://{get(bed, 'stays')['status']['podIP']}:7777/').status)")
        assert r.stdout == "200\n", r  # they reach each other as before
        until("what was deleted is gone", lambda: not get(bed, "is-deleted") and not processes(bed, "is-deleted"))
        assert not processes(bed, "is-removed")
        create(bed, pod("later", "echo new"))
        until_phase(bed, "later", "Succeeded")
        leaves_pods_running(bed, again)
    assert not processes(bed, "goes-on")


def leaves_pods_running(bed, first):
    """SIGTERM without --drain, with another name at first: that one is no heir."""
    before = processes(bed, "goes-on")
    first.popen.kill()
    first.popen.wait()
    with Node(bed, name="n4", state="state") as other:
        other.until_works()
        other.popen.terminate()
        assert other.until_ends() == 0, other.log[-2000:]
    with Node(bed, f"--client-ca-file={bed.ca}") as second:
        second.until_works()
        second.popen.terminate()
        assert second.until_ends() == 0, second.log[-2000:]
        assert processes(bed, "goes-on") == before != set()
        with Node(bed, f"--client-ca-file={bed.ca}", "--shutdown-grace-period=3s", "--drain") as third:
            third.until_works()
            until("all is as it was", lambda: "running" in state(bed, "goes-on")["state"])
            assert processes(bed, "goes-on") == before
            stops(bed, third)


def has_its_certificate_signed(bed):
    """What the signer of a whole cluster does, by hand."""
    base = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    request = until("it asks", lambda: next((o for o in bed.call("GET", base)[1]["items"] if o["spec"]["username"] == f"system:node:{NODE}"), None))
    assert request["spec"]["signerName"] == "kubernetes.io/kubelet-serving", request
    assert "certificate signed by unknown authority" in bed.kubectl("logs", "stays", fails=True)
    name = request["metadata"]["name"]
    bed.kubectl("certificate", "approve", name)
    pki = os.path.join(bed.dir, "pki")
    with open(f"{pki}/n.csr", "wb") as f:
        f.write(base64.b64decode(request["spec"]["request"]))
    bed.openssl("x509", "-req", "-in", "n.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "9", "-out", "n.crt",
                "-copy_extensions", "copy")
    request = bed.call("GET", f"{base}/{name}")[1]
    request["status"]["certificate"] = encoded(f"{pki}/n.crt")
    status, answer = bed.call("PUT", f"{base}/{name}/status", request)
    assert status == 200, answer
    until("it is known now", lambda: kubectl(bed, "logs", "stays").returncode == 0)


def stops(bed, node):
    node.popen.terminate()
    assert node.until_ends() == 0, node.log[-2000:]
    o = get(bed, "stays")["status"]
    assert (o["phase"], o["reason"]) == ("Failed", "Terminated"), o
    assert not is_ready(bed.call("GET", f"/api/v1/nodes/{NODE}")[1])
    lease = bed.call("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}")[1]
    assert not lease["spec"].get("holderIdentity"), lease
    left = [f for f in os.listdir(node.state) if f not in ("images", "lock") and not f.startswith("node-")]
    assert left == [], left


def told(function, *args):
    """An assertion without words says where it stands."""
    try:
        function(*args)
    except AssertionError as e:
        raise e if str(e) else AssertionError(traceback.format_exc()) from None


def main():
    suite = Suite()
    suite.case("refuses_what_makes_no_sense", refuses_what_makes_no_sense)
    try:
        with Bed() as bed:
            install(bed)
            allow(bed)
            flags = ("--labels", "color=blue", "--capacity", "cpu=8,memory=8Gi", *certificates(bed))
            with Controller(bed, "controller", "--scheduler", "--leader-elect=false") as controller, Node(bed, *flags) as node:
                registers(bed, node)
                first_pods(bed)
                talker(bed)
                for case in (has_its_name_alone, says_which_right_is_missing, is_not_ready_without_rights, asks_once_for_a_certificate, waits_for_the_server, says_what_it_lacks_of_a_file, shows_logs, runs_commands,
                             has_a_terminal, attaches, debugs, commands_go_with_their_client, forwards_ports, lets_in_nobody_else, reads_its_certificates_again, gives_what_pods_refer_to, pulls_images,
                             refuses_pods_that_open_the_machine, runs_the_seeds_jobs, makes_its_node_again, deletes_gracefully, asks_for_little, goes_on_without_the_server, outlives_its_program):
                    if case.__name__ not in os.environ.get("ONLY", case.__name__):
                        continue
                    began = time.monotonic()
                    suite.case(case.__name__, lambda: told(case, *(bed, node)[:case.__code__.co_argcount]))
                    if os.environ.get("TIMES"):
                        print(f"{time.monotonic() - began:6.1f} s {case.__name__}", flush=True)
                if suite.failed:
                    print(node.log[-3000:], controller.log[-3000:])
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
