"""Runs of `pumice run` in tests: jobs in few words, the events of a run, and a check that nothing is left of it.

    r = run(job("j", task("worker", sh("echo hi"), replicas=2)))
    r.done("Completed"); r.lines("worker-0") == ["hi"]
"""
import atexit
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

import leftovers
from harness import PUMICE, same
from netfilter import has_nftables

PATIENCE_S = 90
HERE = os.path.dirname(os.path.abspath(__file__))


# Where there are no nftables, jobs with policies want to be told that they may run all the same.
UNFILTERED = () if has_nftables() else ("--allow-unfiltered",)


# ---- jobs ----

def sh(script):
    return ["/bin/sh", "-c", script]


def container(command, name="main", **fields):
    return {"name": name, "image": "debian:12", "command": command, **fields}


def template(command, pod=None, **fields):
    """'fields' belong to the container, 'pod' to the pod's spec."""
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container(command, **fields)]}
    spec.update(pod or {})
    return {"spec": spec}


def task(name, command, replicas=1, policies=None, depends=None, minimum=None, pod=None, **fields):
    out = {"name": name, "replicas": replicas, "template": template(command, pod, **fields)}
    if policies:
        out["policies"] = policies
    if depends:
        out["dependsOn"] = {"name": depends}
    if minimum is not None:
        out["minAvailable"] = minimum
    return out


def job(name, *tasks, **spec):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"tasks": list(tasks), **spec}}


def on(event, action):
    """A policy: on("PodFailed", "RestartJob"), on(3, "RestartJob")."""
    return {("exitCode" if isinstance(event, int) else "event"): event, "action": action}


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name, **data):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


# ---- runs ----

def end_process(process):
    """What a case that failed has left running goes with the test."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


class Run:
    """A run in progress or at its end. Its state is in a directory of its own, which must be empty afterwards."""

    def __init__(self, what, *options, is_json=True, binary=False, user=None, state=None, prefix=(), env=None, within=(), record=False):
        leftovers.adopt_orphans()
        self.dir = tempfile.mkdtemp(prefix="pumice-run-")
        atexit.register(shutil.rmtree, self.dir, True)
        self.state = state or os.path.join(self.dir, "state")
        paths = []
        for i, doc in enumerate(what if isinstance(what, (list, tuple)) else [what]):
            paths.append(doc if isinstance(doc, str) else self.write(f"{i}.json", doc))
        self.args = ["run", "--state", self.state, *(["-o", "json"] if is_json else []), *([] if record else ["--no-record"]), *UNFILTERED, *options, *paths]
        self.events, self.text, self.keep = [], [], "--keep-state" in options
        self.changed = threading.Condition()
        self.err_file = open(os.path.join(self.dir, "err"), "wb+")
        self.begin = time.monotonic()
        if user:
            for path in (self.dir, *(os.path.join(self.dir, n) for n in os.listdir(self.dir))):
                os.chown(path, user, user)
        if within:  # a command that goes somewhere else, and becomes the user there
            user = None
        self.process = subprocess.Popen([*within, *prefix, PUMICE, *self.args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.err_file, user=user, group=user, extra_groups=[] if user else None,
                                        env={**os.environ, **env} if env else None)
        leftovers.OURS.add(self.process.pid)
        atexit.register(end_process, self.process)
        self.is_json, self.is_binary = is_json, binary
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def write(self, name, doc):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            json.dump(doc, f)
        return path

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                if self.is_json and not line.endswith(b"\n"):
                    continue  # it was killed in the middle of it
                if self.is_json:
                    self.events.append(json.loads(line))
                else:
                    self.text.append(line if self.is_binary else line.decode())
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def until(self, condition, patience_s=PATIENCE_S):
        """Wait until condition(self) is true."""
        deadline = time.monotonic() + patience_s
        with self.changed:
            while not condition(self):
                left = deadline - time.monotonic()
                if left <= 0 or (self.process.poll() is not None and not self.reader.is_alive()):
                    self.process.kill()
                    raise AssertionError(f"never came: {self.told()}")
                self.changed.wait(min(left, 0.5))
        return self

    def until_line(self, text, patience_s=PATIENCE_S):
        return self.until(lambda r: any(text in line for line in r.all_lines()), patience_s)

    def signal(self, number):
        self.process.send_signal(number)
        return self

    def end(self, patience_s=PATIENCE_S, leaves_s=5.0):
        """Wait for the end; look for sanitizers' words and for leftovers. (A process of its own takes the way out away, a moment
        later.)"""
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"still running after {patience_s} s: {self.told()}") from None
        self.took_s = time.monotonic() - self.begin
        self.reader.join(leaves_s + 5)
        assert not self.reader.is_alive(), "something that it started still has its output"
        self.process.stdout.close()
        self.status = self.process.returncode
        self.err_file.seek(0)
        self.err = self.err_file.read().decode(errors="replace")
        self.err_file.close()
        try:
            for sign in ("Sanitizer", "runtime error:", "assert"):
                assert sign not in self.err, self.err[-4000:]
            leftovers.check(self.id(), self.state, self.keep, leaves_s)
        finally:
            if not self.keep:
                shutil.rmtree(self.dir, ignore_errors=True)
        return self

    # ---- what it said ----

    def of(self, kind):
        return [e for e in self.events if e["type"] == kind]

    def id(self):
        return next((e["run"] for e in self.of("start")), None)

    def all_lines(self):
        return [e["text"] for e in self.of("log")] if self.is_json else list(self.text)

    def lines(self, pod, container=None):
        return [e["text"] for e in self.of("log")
                if e["pod"].endswith(pod) and container in (None, e.get("container"))]

    def phases(self, name=None):
        return [e["phase"] for e in self.of("job") if name in (None, e["job"])]

    def phase(self, name=None):
        return (self.phases(name) or [None])[-1]

    def decisions(self):
        return [e["reason"] for e in self.of("decision")]

    def states(self):
        """The last state of every pod."""
        return {e["pod"]: e["state"] for e in self.of("pod")}

    def uids(self, pod):
        """How many pods of that name there were, by their uids in order."""
        return list(dict.fromkeys(e["uid"] for e in self.of("pod") if e["pod"].endswith(pod)))

    def last(self):
        return self.of("end")[-1]

    def told(self):
        return json.dumps(self.events[-12:]) if self.is_json else "".join(map(str, self.text[-12:]))

    def done(self, phase="Completed", status=0):
        assert (self.phase(), self.status) == (phase, status), \
            f"want {phase}, status {status}; got {self.phase()}, {self.status}: {self.told()} {self.err[-1500:]}"
        return self


def run(what, *options, **kw):
    return Run(what, *options, **kw).end()


def run_text(what, *options, **kw):
    """As people see it: standard output and standard error, no events."""
    r = Run(what, *options, is_json=False, **kw).end()
    r.out = (b"" if r.is_binary else "").join(r.text)
    return r


@contextlib.contextmanager
def own_directory(name, mode=0o755):
    """For files of a test, where everybody can look; the program is there too, for it may be built where only root can go."""
    global PUMICE
    d = tempfile.mkdtemp(prefix=f"pumice-{name}-")
    os.chmod(d, mode)
    if os.getuid() == 0:
        PUMICE = shutil.copy(PUMICE, d)
    try:
        yield d
    finally:
        shutil.rmtree(d, ignore_errors=True)


def has(*programs):
    return all(shutil.which(p, path="/usr/sbin:/sbin:" + os.environ.get("PATH", "")) for p in programs)


def has_mount_namespaces():
    """May a test change mounts for itself alone? Not in a chroot whose root is no mount point."""
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


def has_user_namespaces(user):
    """May this user make user namespaces? Nobody may in a chroot."""
    return subprocess.run(["unshare", "-Ur", "true"], user=user, group=user, extra_groups=[], capture_output=True).returncode == 0


def give_tun(directory):
    """Everybody may open /dev/net/tun on most machines; here, and nowhere else, on this one too."""
    clone_newns, ms_bind, ms_rec, ms_private = 0x20000, 4096, 16384, 1 << 18
    libc = ctypes.CDLL(None, use_errno=True)
    if not os.path.exists("/dev/net/tun") or libc.unshare(clone_newns) != 0:
        return
    os.mknod(f"{directory}/tun", 0o20666, os.stat("/dev/net/tun").st_rdev)
    os.chmod(f"{directory}/tun", 0o666)
    for source, target, flags in (("none", "/", ms_rec | ms_private), (f"{directory}/tun", "/dev/net/tun", ms_bind)):
        libc.mount(source.encode(), target.encode(), None, flags, None)


def skip(why):
    print(f"skipped: {why}")
