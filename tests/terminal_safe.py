#!/usr/bin/env python3
"""What others write (programs in pods, names and messages of a server) gives the terminal of who looks no orders: no title, no clipboard,
no cursor, no questions. For each command that prints such words, at a terminal of its own. Into a pipe bytes pass as they are."""
import contextlib
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

from harness import PUMICE, Suite
from runs import Run, job, same, sh, task
from terminal import Terminal

# OSC (title, clipboard), DCS, screen, a question that is answered as if typed, C1 as UTF-8 and as a byte, private modes, backspaces.
EVIL = ["\x1b]0;evil\x07", "\x1b]52;c;ZXZpbA==\x1b\\", "\x1bPq\x1b\\", "\x1b[2J\x1b[H", "\x1b[6n", "\u009b2J", "\x1b[?1049h", "\x1bc", "\b\b"]
COLOUR = "\x1b[32mgreen\x1b[0m"
SGR = re.compile(r"\x1b\[[0-9;:]*m")


def check(what, text, wants="green"):
    """Only lines, tabs, returns and colours."""
    left = SGR.sub("", text)
    wrong = sorted({c for c in left if (ord(c) < 32 and c not in "\r\n\t") or 0x7f <= ord(c) < 0xa0})
    assert not wrong, f"{what}: {wrong} in {text!r}"
    assert wants in text, f"{what}: no {wants!r} in {text!r}"


# ---- pods ----

def printf(stream):
    text = "".join(EVIL).encode() + b"\x9b2J" + COLOUR.encode() + b"\n"
    return f"printf '{''.join(f'{chr(92)}{b:03o}' for b in text)}' {stream}"


def at_terminal(*argv, state, keys=None, after=None):
    t = Terminal(PUMICE, *argv, env={"XDG_STATE_HOME": state})
    if keys:
        t.until(after).keys(keys)
    t.end()
    return t.text


def pods():
    with tempfile.TemporaryDirectory() as d:
        os.environ["XDG_STATE_HOME"] = d
        script = f"{printf('')}; {printf('>&2')}; while :; do {printf('')}; sleep 0.2; done"
        r = Run(job("j", task("a", sh(script), replicas=2)), record=True)
        try:
            r.until(lambda r: len(r.lines("a-0")) > 3 and len(r.lines("a-1")) > 3)
            commands = {
                "logs": ("logs", "--tail", "3", "a-0"), "logs of two": ("logs", "--tail", "2", "j"),
                "prefix": ("logs", "--prefix", "--tail", "2", "a-0"), "timestamps": ("logs", "--timestamps", "--tail", "2", "a-0"),
                "exec": ("exec", "a-0", "--", "sh", "-c", printf("")), "exec, errors": ("exec", "a-0", "--", "sh", "-c", printf(">&2")),
                "exec -i": ("exec", "-i", "a-0", "--", "sh", "-c", f"{printf('')}; read x"),
            }
            at = ("--state", r.state)
            for name, argv in commands.items():
                argv = (argv[0], *at, *argv[1:])
                keys = (b"x\n", "green") if name == "exec -i" else (None, None)
                check(name, at_terminal(*argv, state=d, keys=keys[0], after=keys[1]))
            for name, argv in (("attach", ("attach", "a-0")), ("logs -f", ("logs", "-f", "a-0"))):
                t = Terminal(PUMICE, argv[0], *at, *argv[1:], env={"XDG_STATE_HOME": d})
                t.until("green").until("green", after=len(t.text))
                os.kill(t.pid, signal.SIGKILL)
                while t.read(5):
                    pass
                os.waitpid(t.pid, 0)
                os.close(t.fd)
                check(name, t.text)
            # Its own terminal is its own; and pipes are pipes.
            raw = Terminal(PUMICE, "exec", *at, "-it", "a-0", "--", "sh", "-c", printf(""), env={"XDG_STATE_HOME": d})
            raw.end()
            assert "\x1b]0;evil\x07" in raw.text, raw.text
            for argv in (commands["logs"], commands["exec"]):
                out = subprocess.run([PUMICE, argv[0], *at, *argv[1:]], capture_output=True, check=True).stdout
                assert "".join(EVIL).encode() + b"\x9b2J" + COLOUR.encode() in out, (argv, out)
        finally:
            r.signal(signal.SIGINT).end()
        check("runs logs", at_terminal("runs", "logs", "last", state=d))


def run_itself():
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/j.json", "w") as f:
            json.dump(job("j", task("a", sh(f"{printf('')}; {printf('>&2')}; {printf('> /dev/termination-log')}; exit 1"))), f)
        # The block below the log moves the cursor itself, so only orders it does not give are looked for.
        text = at_terminal("run", "--no-record", "--state", f"{d}/state", f"{d}/j.json", state=d)
        for one in EVIL:
            assert one not in text.replace("\x1b[J", ""), (one, text)
        assert COLOUR in text, text


# ---- objects ----

def evil_of(word):
    return f"{word}{''.join(EVIL)}{COLOUR}"


def evil_object(kind, version, **more):
    now = "2026-01-01T00:00:00Z"
    return {"apiVersion": version, "kind": kind, "metadata": {
        "name": evil_of("name"), "namespace": evil_of("space"), "uid": evil_of("uid"), "resourceVersion": "1", "creationTimestamp": now,
        "labels": {"volcano.sh/job-name": evil_of("label")}, "annotations": {evil_of("key"): evil_of("value"),
                                                                           "slurm.pumice.dev/user": evil_of("user")}}, **more}


CONTAINER = {"name": evil_of("container"), "image": evil_of("image"), "command": [evil_of("command")], "resources": {"requests": {"cpu": "1"}}}
JOB = evil_object("Job", "batch.volcano.sh/v1alpha1", spec={
    "queue": evil_of("queue"), "schedulerName": evil_of("scheduler"), "minAvailable": 1, "priorityClassName": evil_of("class"),
    "plugins": {evil_of("plugin"): [evil_of("argument")]}, "policies": [{"event": evil_of("event"), "action": evil_of("action")}],
    "tasks": [{"name": evil_of("task"), "replicas": 1, "template": {"metadata": {"name": evil_of("t")}, "spec": {"containers": [CONTAINER]}}}]},
    status={"state": {"phase": evil_of("phase"), "reason": evil_of("reason"), "message": evil_of("message")}, "running": 1, "minAvailable": 1,
            "conditions": [{"status": evil_of("condition"), "lastTransitionTime": evil_of("time")}],
            "controlledResources": {evil_of("plugin"): evil_of("plugin")}})
POD = evil_object("Pod", "v1", spec={"nodeName": evil_of("node"), "containers": [CONTAINER]},
                  status={"phase": evil_of("phase"), "podIP": evil_of("ip"), "reason": evil_of("reason"), "message": evil_of("message"),
                          "containerStatuses": [{"name": evil_of("container"), "restartCount": 1, "state": {"waiting": {"reason": evil_of("waits")}}}]})
QUEUE = evil_object("Queue", "scheduling.volcano.sh/v1beta1", spec={"weight": 1, "capability": {evil_of("cpu"): "1"}}, status={"state": evil_of("state")})
EVENT = evil_object("Event", "v1", type=evil_of("type"), reason=evil_of("reason"), message=evil_of("message"), count=1,
                    source={"component": evil_of("source")}, involvedObject={"name": JOB["metadata"]["name"], "kind": "Job", "uid": JOB["metadata"]["uid"]},
                    lastTimestamp="2026-01-01T00:00:00Z", firstTimestamp="2026-01-01T00:00:00Z")
NODE = evil_object("Node", "v1", spec={}, status={"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": evil_of("status")}]})
FLOW = evil_object("JobFlow", "flow.volcano.sh/v1alpha1", spec={"flows": [{"name": evil_of("flow")}]}, status={"state": {"phase": evil_of("phase")}})
KINDS = {"jobs": JOB, "pods": POD, "queues": QUEUE, "events": EVENT, "nodes": NODE, "jobflows": FLOW, "jobtemplates": {**FLOW, "kind": "JobTemplate"},
         "podgroups": evil_object("PodGroup", "scheduling.volcano.sh/v1beta1", spec={"queue": evil_of("queue"), "minMember": 1},
                                  status={"phase": evil_of("phase"), "conditions": [{"type": "Unschedulable", "status": "True", "message": evil_of("m"), "reason": evil_of("r")}]})}


class Evil(http.server.BaseHTTPRequestHandler):
    """A server that means ill."""
    protocol_version = "HTTP/1.1"

    def answer(self, code, body):
        body = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Warning", '299 - "' + "warning" + '"')
        self.end_headers()
        with contextlib.suppress(OSError):  # it has seen enough
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0].strip("/").split("/")
        for i, part in enumerate(path):
            if part in KINDS and i == len(path) - 1:
                kind = KINDS[part]
                return self.answer(200, {"apiVersion": kind["apiVersion"], "kind": kind["kind"] + "List", "metadata": {"resourceVersion": "1"}, "items": [kind]})
            if part in KINDS and i == len(path) - 2:
                return self.answer(200, KINDS[part])
        return self.refuse()

    def refuse(self):
        n = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(n)
        self.answer(403, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": evil_of("Forbidden"), "message": evil_of("no")})

    do_POST = do_PUT = do_PATCH = do_DELETE = lambda self: self.refuse()

    def log_message(self, *_):
        pass


COMMANDS = """
job list
job list -A
job list -o wide
job list -o yaml
job list -o json
job list -o name
job list -o custom-columns=A:.metadata.name,B:.status.state.message
job view name
job top
job suspend name
job delete name
job logs name
job exec name -- true
job wait name --timeout 1s
queue list
queue list -o wide
queue view name
queue delete name
pod list
pod list -o wide
jobflow list
jobflow list -o wide
jobtemplate list
explain --live name
doctor --cluster
""".strip().splitlines()
OTHERS = ["vcctl job list", "vcctl job view --name name", "vcctl job list --all-namespaces", "vcctl queue list", "vcctl queue get --name name",
          "vcctl jobflow list", "vcctl jobflow describe --name name", "vcctl pod list", "vjobs", "vqueues", "vcancel --name name", "squeue", "squeue -o %i|%j|%u|%R", "scontrol show job name",
          "sinfo", "sacct", "scancel name", "bjobs"]


def objects():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/config", "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {
                "server": f"http://127.0.0.1:{server.server_port}"}}], "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}]}, f)
        said = 0
        for line in COMMANDS + OTHERS:
            words = line.split()
            if line in OTHERS:
                with contextlib.suppress(FileExistsError):
                    os.symlink(PUMICE, f"{d}/{words[0]}")
            argv = [f"{d}/{words[0]}", *words[1:]] if line in OTHERS else [PUMICE, *words]
            t = Terminal(*argv, env={"KUBECONFIG": f"{d}/config", "XDG_STATE_HOME": d, "HOME": d})
            t.end()
            check(line, t.text, wants="")
            said += "evil" in t.text or "green" in t.text
        assert said > 25, said  # they did print what the server said
    server.shutdown()


def main():
    suite = Suite()
    cases = [objects, *([pods, run_itself] if os.geteuid() == 0 else [])]
    for f in cases:
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
