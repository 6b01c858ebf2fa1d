#!/usr/bin/env python3
"""`pumice server` and the real kubectl: what people type, command by command, with pods that really run.

Each kubectl has a namespace of its own on one server: 1.36 and Debian's (1.20) as tests/kube/build has them, and the one of
the system where there is another. KUBECTL names more of them (a list of paths, as PATH is). What a kubectl is too old for is
left out of its cases.
tests/server.py has the first steps; here is all the rest.
"""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Skip, binaries  # noqa: E402
from harness import Suite, pumice  # noqa: E402
from server import PATIENCE_S, Kubectl, Server, Watch, config_map, job, kubectls, pod, until  # noqa: E402


class Client(Kubectl):
    """kubectl in a namespace of its own."""

    def __init__(self, server, path, namespace):
        self.namespace = namespace
        super().__init__(server, path)
        self("create", "namespace", namespace)
        self.until("{.metadata.name}", "default", "sa/default")

    def argv(self, *args):
        return [*super().argv("-n", self.namespace, *args)]

    def environment(self, **more):
        return {**os.environ, "HOME": self.home, **more}

    def create(self, *objects):
        self("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def json(self, *args):
        return json.loads(self(*args, "-o", "json"))

    def until(self, path, value, *objects):
        """They are there, and say this. kubectl has a wait for it since 1.23."""
        if self.minor >= 23:
            self("wait", f"--for=jsonpath={path}={value}", "--timeout=60s", *objects)
            return
        for o in objects:
            until(f"{o} says {value}", lambda: self.run("get", o, "-o", f"jsonpath={path}").stdout == value)

    def phase(self, name):
        return self("get", "pod", name, "-o", "jsonpath={.status.phase}")

    def popen(self, *args, **kw):
        return subprocess.Popen(self.argv(*args), env=self.environment(), **{"stdin": subprocess.DEVNULL, **kw})

    def both(self, *args, **kw):
        """What it says on both, whatever its status."""
        r = self.run(*args, **kw)
        return r.stdout + r.stderr


def has(text, *words):
    for word in words:
        assert re.search(word, text, re.M), f"no {word!r} in {text}"


def runs(k, *objects):
    """Creates pods and waits until they run."""
    k.create(*objects)
    k.until("{.status.phase}", "Running", *(f"pod/{o['metadata']['name']}" for o in objects))


def gone(k, *names):
    k("delete", "--now", *names)


# ---- writes ----

def applies(k):
    first = json.dumps(config_map("a", {"a": "1", "b": "2"}))
    has(k("apply", "-f", "-", stdin=first), "configmap/a created")
    has(k("apply", "-f", "-", stdin=first), "configmap/a unchanged")
    has(k("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(config_map("a", {"a": "9"}))), r"configured \(server dry run\)")
    changed = k.run("diff", "-f", "-", stdin=json.dumps(config_map("a", {"a": "3"})))
    assert changed.returncode == 1, changed
    has(changed.stdout, r"^-  a: \"1\"", r"^\+  a: \"3\"", r"^-  b: \"2\"")
    has(k("apply", "-f", "-", stdin=json.dumps(config_map("a", {"a": "3"}))), "configured")
    assert k.json("get", "cm", "a")["data"] == {"a": "3"}, "what the file has no more is taken away"
    assert k.run("diff", "-f", "-", stdin=json.dumps(config_map("a", {"a": "3"}))).returncode == 0
    server_side(k)
    k("replace", "-f", "-", stdin=json.dumps(config_map("a", {"z": "1"})))
    before = k.json("get", "cm", "a")
    has(k("replace", "--force", "-f", "-", stdin=json.dumps(config_map("a", {"y": "1"}))), 'configmap "a" deleted', "configmap/a replaced")
    after = k.json("get", "cm", "a")
    assert after["data"] == {"y": "1"} and after["metadata"]["uid"] != before["metadata"]["uid"]
    both = json.dumps({"apiVersion": "v1", "kind": "List", "items": [config_map("l1"), config_map("l2")]})
    has(k("apply", "-f", "-", stdin=both), "configmap/l1 created\nconfigmap/l2 created")
    has(k("delete", "-f", "-", stdin=both), "l1", "l2")
    gone(k, "cm", "a")


def server_side(k):
    mine = json.dumps(config_map("s", {"a": "1", "b": "2"}))
    has(k("apply", "--server-side", "-f", "-", stdin=mine), "serverside-applied")
    other = json.dumps(config_map("s", {"a": "9"}))
    has(k.fails("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=other), r'conflict with "kubectl".*\.data\.a')
    k("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=other)
    assert k.json("get", "cm", "s")["data"] == {"a": "9", "b": "2"}
    j = json.dumps(job("sided", "sleep 1000"))
    has(k("apply", "-f", "-", stdin=j), "created")  # a client-side apply may go over to the other
    has(k("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=j), "serverside-applied")
    has(k("apply", "--server-side", "-f", "-", stdin=j), "serverside-applied")
    managers = {m["manager"] for m in k.json("get", "vcjob", "sided", *(("--show-managed-fields",) if k.minor >= 21 else ()))["metadata"]["managedFields"]}
    assert "kubectl" in managers, managers
    gone(k, "vcjob/sided")
    gone(k, "cm", "s")


def edits(k):
    k.create(config_map("e", {"word": "before"}), job("edited", "sleep 1000"))
    script = os.path.join(k.home, "editor")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nsed -i \"$EDIT\" \"$1\"\n")
    os.chmod(script, 0o755)

    def edit(how, *what):
        return subprocess.run(k.argv("edit", *what), env=k.environment(KUBE_EDITOR=script, EDIT=how, TMPDIR=k.home), capture_output=True, text=True)

    r = edit("s/before/after/", "cm", "e")
    assert r.returncode == 0 and k.json("get", "cm", "e")["data"] == {"word": "after"}, r
    r = edit("s/^  maxRetry: .*/  maxRetry: 9/", "vcjob", "edited")
    assert r.returncode == 0 and k.json("get", "vcjob", "edited")["spec"]["maxRetry"] == 9, r
    r = edit("s/^  minAvailable: .*/  minAvailable: 99/", "vcjob", "edited")
    assert r.returncode == 1, r
    has(r.stderr, "is invalid")
    has(edit("", "cm", "e").stderr + edit("", "cm", "e").stdout, "no changes made")
    gone(k, "vcjob/edited", "cm/e")


def patches(k):
    k.create(config_map("p", {"a": "1"}), job("patched", "sleep 1000"))
    k("patch", "cm", "p", "-p", '{"data":{"b":"2"}}')
    k("patch", "cm", "p", "--type=merge", "-p", '{"data":{"a":null}}')
    k("patch", "cm", "p", "--type=json", "-p", '[{"op":"add","path":"/data/c","value":"3"}]')
    assert k.json("get", "cm", "p")["data"] == {"b": "2", "c": "3"}
    has(k("patch", "cm", "p", "-p", '{"data":{"b":"2"}}'), "no change")
    k("patch", "vcjob", "patched", "--type=merge", "-p", '{"spec":{"maxRetry":5}}')
    has(k.fails("patch", "vcjob", "patched", "-p", '{"spec":{"maxRetry":6}}'), "merge-patch")  # strategic is for Kubernetes' own kinds
    has(k.fails("patch", "vcjob", "patched", "--type=json", "-p", '[{"op":"test","path":"/spec/maxRetry","value":6}]'), "test" if k.minor >= 23 else "is invalid")
    has(k.fails("patch", "vcjob", "patched", "--type=merge", "-p", '{"spec":{"minAvailable":-1}}'), "spec.minAvailable")
    has(k.fails("patch", "pod", "nobody", "-p", "{}"), "not found")
    if k.minor >= 24:
        k("patch", "vcjob", "patched", "--subresource=status", "--type=merge", "-p", '{"status":{"conditions":[{"status":"Seen"}]}}')
    k("label", "cm", "p", "x=1", "y=2")
    has(k.fails("label", "cm", "p", "x=2"), "overwrite is false")
    k("label", "cm", "p", "x=2", "y-", "--overwrite")
    assert k.json("get", "cm", "p")["metadata"]["labels"] == {"x": "2"}
    assert k("get", "cm", "-l", "x in (2,3)", "-o", "name") == "configmap/p\n" and k("get", "cm", "-l", "x!=2", "-o", "name") != "configmap/p\n"
    k("annotate", "vcjob", "patched", "why=because")
    assert k("get", "vcjob", "patched", "-o", r"jsonpath={.metadata.annotations.why}") == "because"
    has(k.fails("scale", "vcjob", "patched", "--replicas=3"), "NotFound|could not find")  # a Job has no scale: its tasks have replicas
    gone(k, "vcjob/patched", "cm/p")


def waits(k):
    runs(k, pod("ready", "trap 'sleep 5; exit' TERM; sleep 1000 & wait"))  # an old kubectl cannot wait for what has gone already
    has(k("wait", "--for=condition=Ready", "pod/ready", "--timeout=60s"), "condition met")
    has(k.fails("wait", "--for=condition=Nothing", "pod/ready", "--timeout=1s"), "timed out")
    waiting = k.popen("wait", "--for=delete", "pod/ready", "--timeout=60s", stdout=subprocess.PIPE, text=True)
    k("delete", "pod", "ready")
    assert waiting.wait(60) == 0
    if k.minor >= 31:
        waiting = k.popen("wait", "--for=create", "cm/later", "--timeout=60s", stdout=subprocess.DEVNULL)
        k.create(config_map("later"))
        assert waiting.wait(60) == 0
        gone(k, "cm", "later")
    k.create(job("short", "true"))
    k.until("{.status.state.phase}", "Completed", "vcjob/short")
    gone(k, "vcjob/short")


def names(k, what, selector):
    return sorted(k("get", what, "-l", selector, "-o", "name").split())


def deletes(k):
    of = "volcano.sh/job-name="
    for how in ("background", "foreground", "orphan"):
        k.create(job(how, "trap '' TERM; sleep 1000", 2))
        k.until("{.status.state.phase}", "Running", f"vcjob/{how}")
        pods = names(k, "pods", of + how)
        assert len(pods) == 2, pods
        uid = k.json("get", "vcjob", how)["metadata"]["uid"]
        watch = Watch(k.server, f"/apis/batch.volcano.sh/v1alpha1/namespaces/{k.namespace}/jobs?watch=1&fieldSelector=metadata.name%3D{how}")
        k("delete", "vcjob", how, f"--cascade={how}")
        last = until("its end is seen", lambda: [e for e in watch.events if e["type"] == "DELETED"])[0]["object"]
        watch.close()
        if how == "orphan":
            left = k.json("get", "pods", "-l", of + how)["items"]
            assert len(left) == 2 and not any(o["uid"] == uid for p in left for o in p["metadata"].get("ownerReferences", [])), left
            gone(k, "pods", "-l", of + how)
            gone(k, "podgroups", "--all")
        elif how == "foreground":
            assert not names(k, "pods", of + how), "it goes after what it owns"
            assert last["metadata"]["deletionTimestamp"], last["metadata"]
        else:
            until("its pods go after it", lambda: not names(k, "pods", of + how))
    k.create(config_map("d", finalizers=["test/hold"]))
    k("delete", "cm", "d", "--wait=false")
    assert k.json("get", "cm", "d")["metadata"]["deletionTimestamp"]
    k("patch", "cm", "d", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    has(k.fails("get", "cm", "d"), "NotFound")
    has(k("delete", "cm", "d", "--ignore-not-found"), "^$")


# ---- reading ----

def shows(k):
    k.create(job("seen", "echo hello; sleep 1000", 2))
    k.until("{.status.state.phase}", "Running", "vcjob/seen")
    has(k("get", "pods", "-o", "wide"), r"NAME +READY +STATUS +RESTARTS +AGE +IP +NODE", r"seen-w-0 +1/1 +Running +0 +\S+ +10\.\S+ +\S+")
    has(k("get", "pods", "--show-labels"), "volcano.sh/job-name=seen")
    has(k("get", "pods", "-L", "volcano.sh/task-spec"), "TASK-SPEC", r"w$")
    has(k("get", "pods", "--sort-by=.metadata.name", "-o", "custom-columns=N:.metadata.name,P:.status.phase"), r"^seen-w-0 +Running\nseen-w-1 +Running")
    assert k("get", "pods", "-o", "go-template={{range .items}}{{.metadata.name}} {{end}}") == "seen-w-0 seen-w-1 "
    assert k("get", "pods", "--field-selector=status.phase=Pending", "-o", "name") == ""
    has(k("get", "pods", "-A", "--chunk-size=1"), f"^{k.namespace} +seen-w-0", f"^{k.namespace} +seen-w-1")
    has(k("get", "all"), "pod/seen-w-0", "service/|pod/")
    has(k("get", "vcjob,podgroup,queue"), "^job.batch.volcano.sh/seen", "^podgroup.scheduling.volcano.sh/seen", "queue.scheduling.volcano.sh/default")
    has(k("describe", "vcjob", "seen"), "Min Available: +2", "Phase: +Running", "^Events:")
    has(k("describe", "pod", "seen-w-0"), "Controlled By: +Job/seen", "QoS Class: +BestEffort", "Ready +True", "Normal +Scheduled",
        "Normal +Started .* kubelet.* Started container main")
    has(k("describe", "node"), "Ready +True", f"{k.namespace} +seen-w-0", "Allocated resources", "Container Runtime Version: +pumice://")
    has(k("describe", "podgroup"), "Min Member: +2", "Phase: +Running", "Scheduled")
    k.until("{.status.running}", "1", "queue/default")  # counters are written once a second
    has(k("describe", "queue", "default"), "Weight: +1", "State: +Open", "Running: +1")
    has(k("describe", "ns", k.namespace), "Status: +Active")
    has(k("get", "events", "--field-selector", "involvedObject.name=seen-w-0,reason=Started"), "pod/seen-w-0 +Started container main")
    if k.minor >= 26:
        has(k("events", "--for", "pod/seen-w-0"), "Started +Pod/seen-w-0")
        has(k("events", "--types=Normal"), "Scheduled")
    has(k("explain", "vcjob"), "pods in groups that start together", "spec\t<Object>")
    has(k("explain", "vcjob.spec.tasks"), "groups of pods", "replicas\t<integer>")  # 1.27 and later read OpenAPI v3, older ones v2
    has(k("explain", "pod.spec.containers.resources"), "limits\t<map")
    has(k("explain", "queue", "--recursive"), "weight\t<integer>")
    has(k.fails("explain", "vcjob.spec.nothing"), 'field "nothing" does not exist')
    gone(k, "vcjob/seen")


def watches(k):
    p = k.popen("get", "cm", "-w", "--output-watch-events", "-L", "v", "--field-selector=metadata.name=w", stdout=subprocess.PIPE, text=True)
    rows = []  # [event, name, v]
    threading.Thread(target=lambda: rows.extend([line.split()[i] for i in (0, 1, -1)] for line in p.stdout), daemon=True).start()
    try:
        k.create(config_map("w", labels={"v": "1"}))
        until("it is seen", lambda: ["ADDED", "w", "1"] in rows)
        k("label", "cm", "w", "v=2", "--overwrite")
        gone(k, "cm", "w")
        until("all is seen", lambda: len(rows) >= 4)
        assert rows[1:] == [["ADDED", "w", "1"], ["MODIFIED", "w", "2"], ["DELETED", "w", "2"]], rows
    finally:
        p.kill()
        p.wait()


def answers(k):
    has(k("cluster-info"), "control plane.* is running at .*https://127.0.0.1:")
    has(k("version"), "Server Version: .*1\\.")
    has(k("api-versions"), "^batch.volcano.sh/v1alpha1$", "^v1$", "^metrics.k8s.io/v1beta1$")
    has(k("api-resources", "--api-group=scheduling.volcano.sh"), "podgroups +pg", "queues +q")
    has(k("api-resources", "--namespaced=false", "-o", "name"), "^nodes$", "^queues.scheduling.volcano.sh$")
    assert k("auth", "can-i", "create", "vcjobs") == "yes\n"
    assert k.run("auth", "can-i", "create", "pods", "--as=eve").stdout == "no\n"
    has(k("auth", "can-i", "--list"), r"\*\.\*")
    if k.minor >= 28:
        has(k("auth", "whoami"), "kubernetes-admin")
    if k.minor >= 24:
        k("create", "sa", "robot")
        token = k("create", "token", "robot", "--duration=1h").strip()
        user = k.server.ok("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token=token)["status"]["userInfo"]
        assert user["username"] == f"system:serviceaccount:{k.namespace}:robot", user
        gone(k, "sa", "robot")
    has(k.fails("rollout", "status", "vcjob/x"), "not found")
    has(k.fails("create", "deployment", "d", "--image=x"), "could not find the requested resource")
    has(k.fails("get", "deployments"), 'doesn\'t have a resource type "deployments"')
    for what in (("role", "r", "--verb=get", "--resource=pods"), ("rolebinding", "rb", "--role=r", "--user=eve"),
                 ("service", "clusterip", "c", "--tcp=80:80"),
                 ("service", "clusterip", "h", "--clusterip=None")):
        k("create", *what)
    assert k.run("auth", "can-i", "get", "pods", "--as=eve").stdout == "yes\n"
    has(k("get", "svc"), r"^c +ClusterIP +10\.96\.\S+ +<none> +80/TCP", "^h +ClusterIP +None +<none> +<none>")
    if k.minor >= 21:  # older ones know policy/v1beta1 only
        k("create", "pdb", "b", "--selector=a=b", "--min-available=1")
        gone(k, "pdb/b")
    gone(k, "role/r", "rolebinding/rb", "svc/c", "svc/h")


# ---- pods ----

def logs(k):
    two = pod("talks", "echo one; echo two; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo three", labels={"say": "it"})
    two["spec"]["containers"].append({"name": "side", "image": "debian:12", "command": ["sh", "-c", "echo aside"]})
    two["spec"]["initContainers"] = [{"name": "first", "image": "debian:12", "command": ["echo", "begin"]}]
    again = pod("again", "echo run; sleep 0.2; exit 1")
    again["spec"]["restartPolicy"] = "Always"
    runs(k, two)
    k.create(again)
    until("it has written", lambda: k.both("logs", "talks", "-c", "main") == "one\ntwo\n")
    follow = k.popen("logs", "-f", "talks", "-c", "main", stdout=subprocess.PIPE, text=True)
    assert follow.stdout.readline() == "one\n"
    assert k("logs", "talks", "-c", "main", "--tail=1") == "two\n" and k("logs", "talks", "-c", "first") == "begin\n"
    assert k("logs", "talks", "-c", "main", "--limit-bytes=3") == "one" and k("logs", "talks", "-c", "main", "--since=1h") == "one\ntwo\n"
    has(k("logs", "talks", "-c", "main", "--timestamps", "--tail=1"), r"^20\d\d-\d\d-\d\dT\S+Z two$")
    assert k("logs", "talks", "-c", "main", "--since-time=2100-01-01T00:00:00Z") == ""
    assert sorted(k("logs", "talks", "--all-containers").split()) == ["aside", "begin", "one", "two"]
    has(k("logs", "-l", "say=it", "--all-containers", "--prefix", "--tail=-1"), r"^\[pod/talks/main\] two", r"^\[pod/talks/side\] aside")
    has(k.fails("logs", "talks", "-c", "main", "--previous"), "previous terminated container")
    has(k.fails("logs", "talks", "-c", "nobody"), "container nobody is not valid for pod talks")
    k("exec", "talks", "-c", "main", "--", "touch", "/tmp/go")
    assert follow.stdout.read() == "two\nthree\n" and follow.wait() == 0, "it ends with the container"
    until("it came again", lambda: k.json("get", "pod", "again")["status"]["containerStatuses"][0]["restartCount"] >= 1)
    assert k("logs", "again", "--previous") == "run\n"
    gone(k, "pod", "talks", "again")


class Terminal:
    def __init__(self, k, *args, rows=24, columns=80):
        self.parent, child = pty.openpty()
        self.resize(rows, columns)
        self.p = k.popen(*args, stdin=child, stdout=child, stderr=child, start_new_session=True)
        os.close(child)
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.parent, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.parent, text.encode())

    def until(self, word):
        while word.encode() not in self.seen:
            assert select.select([self.parent], [], [], PATIENCE_S)[0], f"{word!r} never came after {self.seen}"
            self.seen += os.read(self.parent, 4096)
        self.seen = self.seen.split(word.encode(), 1)[1]

    def end(self):
        with contextlib.suppress(OSError):  # the other end is gone
            while select.select([self.parent], [], [], PATIENCE_S)[0] and os.read(self.parent, 4096):
                pass
        os.close(self.parent)
        return self.p.wait(60)


def has_a_terminal(k):
    runs(k, pod("shell", "sleep 1000"))
    t = Terminal(k, "exec", "-it", "shell", "--", "sh")
    t.type("stty size; tty; echo d''one\n")
    t.until("24 80")
    t.until("/dev/pts/")
    t.until("done")
    t.resize(50, 100)
    t.p.send_signal(signal.SIGWINCH)
    t.type("while [ \"$(stty size)\" != '50 100' ]; do sleep 0.05; done; echo res''ized\n")
    t.until("resized")
    t.type("sh -c \"echo as''leep; exec sleep 1000\"\n")  # it has the terminal before it says so
    t.until("asleep")
    t.type("\x03")
    t.until("^C")
    t.type("exit 7\n")
    assert t.end() == 7
    r = k.run("exec", "shell", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (r.returncode, r.stdout) == (3, "out\n") and "err\n" in r.stderr and "exit code 3" in r.stderr, r
    assert k("exec", "-i", "shell", "--", "wc", "-c", stdin="x" * 1000000) == "1000000\n"
    assert len(k("exec", "shell", "--", "head", "-c", "3000000", "/dev/zero")) == 3000000
    has(k.fails("exec", "shell", "--", "/no/such/program"), "no such file|not found")
    has(k.fails("exec", "shell", "-c", "nobody", "--", "true"), "container nobody is not valid|not found")
    has(k.fails("exec", "nobody", "--", "true"), "not found")
    gone(k, "pod", "shell")


def copies(k):
    runs(k, pod("store", "sleep 1000"))
    tree = os.path.join(k.home, "tree")
    os.makedirs(os.path.join(tree, "sub"))
    for name, data in (("big", os.urandom(2000000)), ("sub/empty", b""), ("sub/a name", b"text")):
        with open(os.path.join(tree, name), "wb") as f:
            f.write(data)
    k("cp", tree, "store:/tmp/tree")
    k("cp", "store:/tmp/tree", os.path.join(k.home, "back"))
    same = subprocess.run(["diff", "-r", tree, os.path.join(k.home, "back")], capture_output=True, text=True)
    assert same.returncode == 0, same
    k.both("cp", "store:/tmp/nothing", os.path.join(k.home, "x"))  # 1.32 ends before it has read all that tar says
    assert not os.path.exists(os.path.join(k.home, "x"))
    gone(k, "pod", "store")


ECHO = """import socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        n = 0
        while data := self.request.recv(65536):
            n += len(data)
            self.request.sendall(data)
        self.request.sendall(b"[%d]" % n)
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("", 7777), Echo).serve_forever()
"""


def forwards(k):
    echo = pod("echo", "")
    echo["metadata"]["labels"] = {"app": "echo"}
    echo["spec"]["containers"][0]["command"] = ["python3", "-c", ECHO]
    runs(k, echo)
    until("it listens", lambda: "1E61" in k("exec", "echo", "--", "cat", "/proc/net/tcp"))
    k("expose", "pod", "echo", "--port=80", "--target-port=7777")
    for what in (("echo", ":7777", ":1"), ("svc/echo", ":80")):
        p = k.popen("port-forward", *what, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ports = {}
        while len(ports) < len(what) - 1:
            line = p.stdout.readline()
            assert line, p.stderr.read()
            local, remote = re.search(r":(\d+) -> (\d+)", line).groups()
            ports[int(remote)] = int(local)
        results = []

        def talk(n):
            with socket.create_connection(("127.0.0.1", ports[7777]), 60) as s:
                sender = threading.Thread(target=lambda: (s.sendall(bytes([n]) * 300000), s.shutdown(socket.SHUT_WR)))
                sender.start()
                got = b""
                while data := s.recv(65536):
                    got += data
                sender.join()
                results.append(got == bytes([n]) * 300000 + b"[300000]")
        threads = [threading.Thread(target=talk, args=(n,)) for n in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert results == [True] * 6, results
        if 1 in ports:
            with socket.create_connection(("127.0.0.1", ports[1]), 60) as s:
                assert s.recv(1) == b"", "nobody is there"
        p.terminate()
        p.communicate(timeout=60)
    gone(k, "pod/echo", "svc/echo")


def attaches(k):
    reads = pod("reads", "cat; echo over")
    reads["spec"]["containers"][0].update(stdin=True, stdinOnce=True)
    shell = pod("shell", "exec sh")
    shell["spec"]["containers"][0].update(stdin=True, tty=True)
    runs(k, reads, shell)
    has(k("attach", "-i", "reads", stdin="hello\n" * 3), "(hello\n){3}")
    until("its input has ended", lambda: k.phase("reads") == "Succeeded")
    assert k("logs", "reads") == "hello\n" * 3 + "over\n"
    t = Terminal(k, "attach", "-it", "shell")
    t.type("while [ \"$(stty size)\" != '24 80' ]; do sleep 0.05; done; echo at''tached\n")  # its size comes after it
    t.until("attached")
    t.type("exit 0\n")
    t.end()
    until("it has ended", lambda: k.phase("shell") == "Succeeded")
    gone(k, "pod", "reads", "shell")
    has(k("run", "once", "--image=debian:12", "--restart=Never", "--rm", "-i", "--command", "--", "cat", stdin="through\n"), "through")
    has(k.fails("get", "pod", "once"), "NotFound")


def measures(k):
    busy = pod("busy", "while :; do :; done")
    busy["spec"]["containers"].append({"name": "idle", "image": "debian:12", "command": ["sleep", "1000"]})
    runs(k, busy, pod("idle", "sleep 1000"))
    until("it has worked", lambda: int(re.search(r"^busy +(\d+)m +\d+Mi", k("top", "pods"), re.M).group(1)) > 100)
    has(k("top", "pods"), r"NAME +CPU\(cores\) +MEMORY\(bytes\)", r"^idle +\d+m +\d+Mi")
    has(k("top", "pods", "--containers", "busy"), r"^busy +main +\d{3,}m +\d+Mi", r"^busy +idle +\d{1,2}m +\d+Mi")
    assert k("top", "pods", "--sort-by=cpu", "--no-headers").split()[0] == "busy"
    has(k("top", "nodes"), r"NAME +CPU\(cores\) +CPU.* +MEMORY\(bytes\) +MEMORY", r"\d+m +\d+% +\d+Mi +\d+%")
    has(k("get", "podmetrics", "busy"), "busy")
    has(k.fails("top", "pod", "nobody"), "nobody.* not found")
    gone(k, "pod", "busy", "idle")
    has(k.both("top", "pods"), "No resources found|no metrics")


def drains(k):
    node = k("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
    runs(k, pod("stays", "sleep 1000", labels={"app": "kept"}))
    k.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "kept"},
              "spec": {"selector": {"matchLabels": {"app": "kept"}}, "minAvailable": 1}})
    try:
        k("cordon", node)
        has(k("get", "nodes"), "Ready,SchedulingDisabled")
        k.create(pod("waits", "sleep 1000"))
        until("it says why it waits", lambda: "nschedulable" in k("describe", "pod", "waits"))
        has(k.fails("drain", node, "--force", "--ignore-daemonsets", "--timeout=2s", f"--pod-selector=app=kept"), "disruption budget")
        gone(k, "pdb", "kept")
        has(k("drain", node, "--force", "--ignore-daemonsets", "--timeout=60s", "--pod-selector=app=kept"), "pod/stays evicted", "drained|evicted$")
        has(k("taint", "node", node, "a=b:NoSchedule"), "tainted")
        has(k("taint", "node", node, "a-"), "untainted")
    finally:
        k("uncordon", node)
    k("wait", "--for=condition=Ready", "pod/waits", "--timeout=60s")
    gone(k, "pod", "waits")


def debugs(k):
    runs(k, pod("app", "sleep 1000"))
    has(k("debug", "app", "--image=debian:12", "--copy-to=copy", "--container=look", "--", "echo", "looked"), "^$")
    until("it has looked", lambda: k.both("logs", "copy", "-c", "look", "--tail=1") == "looked\n")
    node = k("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
    has(k.both("debug", f"node/{node}", "--image=debian:12", "--", "ls", "/host/etc/os-release"), "Creating debugging pod")
    name = next(w for w in k("get", "pods", "-o", "name").split() if "node-debugger" in w)
    until("it sees the machine", lambda: k.both("logs", name) == "/host/etc/os-release\n")
    if k.minor >= 22:  # older ones send a kind that Kubernetes has not any more
        has(k.both("debug", "app", "--image=debian:12", "--container=beside", "--target=main", "--", "echo", "looked again"), "Targeting container")
        until("a container beside it has looked", lambda: k.both("logs", "app", "-c", "beside") == "looked again\n")
    gone(k, "pods", "--all")


# ---- the server goes, and comes again ----

def survives_restarts(k):
    """Killed, and ended properly. What kubectl has open ends with the connection, here as elsewhere; one that waits goes on waiting."""
    runs(k, pod("stays", "while :; do date; sleep 0.1; done"))
    k.create(config_map("w", {"v": "0"}))
    address = k("get", "pod", "stays", "-o", "jsonpath={.status.podIP}")
    for n, sign in ((1, signal.SIGKILL), (2, signal.SIGTERM)):
        rows = k.popen("get", "cm", "w", "-w", "-o", "jsonpath={.data.v}{' '}", stdout=subprocess.PIPE, text=True)
        assert rows.stdout.read(2) == f"{n - 1} "
        others = [k.popen(*what, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for what in
                  (("logs", "-f", "stays"), ("exec", "stays", "--", "sh", "-c", "echo in; exec sleep 1000"), ("port-forward", "stays", ":80"))]
        for p in others:
            assert p.stdout.readline()
        waits = k.minor >= 23 and k.popen("wait", f"--for=jsonpath={{.data.v}}={n}", "cm/w", "--timeout=60s", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                           text=True)
        until("it waits", lambda: not waits or "\npumice_server_watches 2\n" in k.server.ok("GET", "/metrics"))
        k.server.restart(sign)
        for p in (rows, *others):
            p.communicate(timeout=60)  # none of them hangs; which status they have depends on their version
        k("patch", "cm", "w", "-p", f'{{"data":{{"v":"{n}"}}}}')
        assert not waits or "condition met" in waits.communicate(timeout=60)[0]
        assert k("get", "pod", "stays", "-o", "jsonpath={.status.podIP} {.status.containerStatuses[0].restartCount}") == f"{address} 0"
    gone(k, "pod/stays", "cm/w")


CASES = (applies, edits, patches, waits, deletes, shows, watches, answers, logs, has_a_terminal, copies, forwards, attaches, measures, drains, debugs,
         survives_restarts)


def clients():
    binaries()  # Skip: there is no Go to build one
    more = [p for p in os.environ.get("KUBECTL", "").split(os.pathsep) if p]
    return kubectls() + [(os.path.basename(p), p) for p in more]


def main():
    suite = Suite()
    try:
        found = clients()
    except Skip as e:
        print(f"skipped: {e}")
        return 77
    wanted = sys.argv[1:]
    s = Server(drain=False)
    try:
        for i, (name, path) in enumerate(found):
            k = Client(s, path, f"k{i}")
            for case in CASES:
                if not wanted or case.__name__ in wanted:
                    suite.case(f"{case.__name__} ({name})", lambda: case(k))
            k("delete", "namespace", k.namespace, "--wait=false")
    finally:
        s.end()
        suite.case("ends_well", lambda: pumice("server", "--cleanup", "--data-dir", s.data).check_returncode() or s.stop())
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
