#!/usr/bin/env python3
"""Into the pods of a run: ps, top, exec, attach, logs, cp, port-forward, --publish, hostPort, stdin and tty.

One run has the pods that most cases look at, in a state directory whose path is longer than a socket's address may be. It is
run once as root and once as an ordinary user, where both can be had.
"""
import contextlib
import base64
import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402
import leftovers  # noqa: E402
import runs  # noqa: E402
from harness import Suite, free_port, until  # noqa: E402
from runs import Run, UNFILTERED, has_user_namespaces, job, same, sh, skip, task  # noqa: E402
from terminal import Terminal  # noqa: E402

ORDINARY = 61237
DIR = ""          # for files of this test; everybody may look into it
USER = None       # who runs jobs now; None: ourselves
R = None          # the run that is going on
PATIENCE_S = int(os.environ.get("PATIENCE", 60))


# ---- the program ----

def into(*args, stdin=None, user=None, state=None, binary=False):
    who = user if user is not None else USER
    r = subprocess.run([harness.PUMICE, args[0], "--state", state or R.state, *args[1:]], input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
                       capture_output=True, text=not binary, timeout=PATIENCE_S, user=who, group=who, extra_groups=[] if who else None, cwd=DIR)
    err = r.stderr.decode(errors="replace") if binary else r.stderr
    assert "Sanitizer" not in err and "runtime error:" not in err, err[:3000]
    return r


def fine(*args, **kw):
    r = into(*args, **kw)
    assert r.returncode == 0, (args, r.returncode, r.stderr)
    return r.stdout


def fails(status, piece, *args, **kw):
    r = into(*args, **kw)
    assert r.returncode == status and piece in r.stderr, (args, r.returncode, r.stderr)
    return r


class Window(Terminal):
    """The program at a terminal of who runs jobs now."""

    def __init__(self, *args, **kw):
        super().__init__(harness.PUMICE, *args, user=USER, **kw)
        leftovers.OURS.add(self.pid)

    def say(self, line, answer):
        """Type a line, wait for what comes of it."""
        at = len(self.text)
        self.keys(line.encode() + b"\n")
        return self.until(answer, at)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)
        return self

    def is_raw(self):
        return not termios.tcgetattr(self.fd)[3] & termios.ICANON


# ---- the run ----

TICKS = "i=0; while :; do i=$((i+1)); echo tick $i; echo trouble $i >&2; sleep 0.2; done"
SERVE = "import os, socket, threading\n" \
        "u=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 8000))\n" \
        "def udp():\n while True:\n  d,c=u.recvfrom(65536)\n  if d==b'die': os._exit(3)\n  u.sendto(d.upper()+(b' %d'%c[1] if len(d)<99 else b''), c)\n" \
        "threading.Thread(target=udp, daemon=True).start()\n" \
        "s=socket.socket(); s.setsockopt(1,2,1); s.bind(('127.0.0.1', 8000)); s.listen(99)\nprint('serves', flush=True)\n" \
        "while True:\n c,_=s.accept(); d=b''\n while (p:=c.recv(65536)): d+=p\n c.sendall(d.upper()); c.close()"


PORTS_UDP = {}


def begin():
    global R, PORTS
    PORTS = {"published": free_port(), "host": free_port()}
    while PORTS["host"] == PORTS["published"]:
        PORTS["host"] = free_port()
    PORTS_UDP.update(published=free_port(socket.SOCK_DGRAM), host=free_port(socket.SOCK_DGRAM))
    again = {"restartPolicy": "OnFailure"}
    python = shutil.which("python3", path="/usr/bin:/bin")
    where = tempfile.mkdtemp(prefix="pumice-into-", dir=DIR)
    state = os.path.join(where, "s" * 100)
    with open(os.path.join(where, "evil"), "w") as f:
        f.write(EVIL)
    if USER:
        os.chown(where, USER, USER)
    mounts = {"volumeMounts": [{"name": "state", "mountPath": "/state"}]}
    pod = {"volumes": [{"name": "state", "hostPath": {"path": where}}]}
    R = Run(job("train",
                task("worker", sh(TICKS), replicas=2),
                task("serve", [python, "-c", SERVE], ports=[{"containerPort": 8000, "hostPort": PORTS["host"]},
                                                                 {"containerPort": 8000, "hostPort": PORTS_UDP["host"], "protocol": "UDP"}]),
                task("crash", sh("echo first; test -e /tmp/x && exec sleep 1000; echo x > /d/x; test -e /d/y && { echo second; exec sleep 1000; }; "
                                 "touch /d/y; exit 3"), pod={**again, "volumes": [{"name": "d", "emptyDir": {}}]},
                     volumeMounts=[{"name": "d", "mountPath": "/d"}]),
                task("shell", sh("cd /; PS1='here> ' exec sh -i"), stdin=True, tty=True),
                task("reads", sh("cat > /tmp/got; wc -c < /tmp/got; exec sleep 1000"), stdin=True, stdinOnce=True),
                task("hostile", sh("cp /state/evil /tmp/evil; echo ready; exec sleep 1000"), pod=pod, **mounts)),
            "--publish", f"{PORTS['published']}:serve-0:8000", "--publish", f"{PORTS_UDP['published']}/udp:serve-0:8000", user=USER, state=state)
    R.until(lambda r: {"tick 1", "serves", "second", "ready"} <= set(r.all_lines()))


EVIL = """
import socket, os, sys
id = [n for n in os.listdir('/state/' + 's' * 100) if len(n) == 6][0]
fd = os.open('/state/' + 's' * 100 + '/' + id, os.O_PATH)
s = socket.socket(socket.AF_UNIX)
s.connect('/proc/self/fd/%d/control' % fd)
s.sendall(b'GET /run HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
print(s.recv(9999).decode())
"""


# ---- looking ----

def ps():
    rows = [line.split() for line in fine("ps").splitlines()]
    same(rows[0], ["RUN", "JOB", "POD", "PHASE", "RESTARTS", "AGE", "ADDRESS"])
    by_pod = {row[2]: row for row in rows[1:]}
    same(set(by_pod), {f"train-{n}" for n in ("worker-0", "worker-1", "serve-0", "crash-0", "shell-0", "reads-0", "hostile-0")})
    crash = by_pod["train-crash-0"]
    assert crash[0] == R.id() and crash[1] == "train" and crash[3] == "Running" and crash[4] == "1" and crash[6].count(".") == 3, crash
    same(sorted(fine("ps", "-q").split()), sorted(by_pod))
    about = json.loads(fine("ps", "-o", "json"))
    same((about[0]["id"], about[0]["jobs"][0]["phase"], len(about[0]["pods"])), (R.id(), "Running", 7))
    fails(1, "no run 000000 in progress here", "ps", "--run", "000000")
    fails(2, "for a server or a cluster use 'pumice job'", "exec", "--kubeconfig", "x", "worker-0", "--", "true")


def top():
    rows = [line.split() for line in fine("top", "worker-0", "serve-0").splitlines()]
    same(rows[0], ["RUN", "POD", "CPU(cores)", "LIMIT", "MEMORY", "LIMIT"])
    same([row[1] for row in rows[1:]], ["train-serve-0", "train-worker-0"])
    if not USER:  # who has no groups of his own is told nothing
        assert all(row[2].endswith("m") and row[4].endswith("Mi") for row in rows[1:]), rows


def pods_are_named():
    same(fine("exec", "train-worker-1", "--", "sh", "-c", "echo $HOSTNAME"), "train-worker-1\n")
    same(fine("exec", "default/worker-1", "-c", "main", "--", "hostname"), "train-worker-1\n")
    for name in ("pod/train-worker-1", "pod/worker-1", "train/worker-1", "worker-1/main", "train/worker-1/main", "default/train-worker-1"):
        same(fine("exec", name, "--", "hostname"), "train-worker-1\n")
    fails(1, 'has no container "x" (containers: main)', "exec", "worker-1/x", "--", "true")
    fails(1, 'no pod "other/worker-1"', "exec", "other/worker-1", "--", "true")
    fails(1, 'no pod "nope" (pods: train-', "exec", "nope", "--", "true")
    fails(1, 'has no container "x" (containers: main)', "exec", "worker-0", "-c", "x", "--", "true")
    fails(1, 'no pod "worker-0"', "exec", "-n", "other", "worker-0", "--", "true")
    fails(2, "usage: pumice exec", "exec", "worker-0")


def several_runs():
    """Of two runs that have a pod of the name, none is guessed."""
    other = Run(job("train", task("worker", sh("echo up; exec sleep 1000"))), user=USER, state=R.state)
    other.until_line("up")
    r = fails(1, "use --run ID", "exec", "worker-0", "--", "true")
    assert R.id() in r.stderr and other.id() in r.stderr, r.stderr
    same(fine("exec", "--run", other.id(), "worker-0", "--", "echo", "-n", "this"), "this")
    assert len({line.split()[0] for line in fine("ps", "--no-headers").splitlines()}) == 2
    # one that is killed leaves a socket that nobody listens at, and is not a run
    dead = os.path.join(R.state, "abcdef")
    os.mkdir(dead, 0o700)
    here = os.getcwd()
    os.chdir(dead)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("control")
    os.chdir(here)
    if USER:
        os.chown(dead, USER, USER)
    other.signal(signal.SIGTERM)
    other.process.wait(PATIENCE_S)
    assert {line.split()[0] for line in fine("ps", "--no-headers").splitlines()} == {R.id()}
    shutil.rmtree(dead)


# ---- exec ----

def exec_status():
    r = into("exec", "-i", "worker-0", "--", "sh", "-c", "cat; echo err >&2; exit 7", stdin="in")
    same((r.returncode, r.stdout, r.stderr), (7, "in", "err\n"))
    same(into("exec", "worker-0", "--", "sh", "-c", "kill -9 $$").returncode, 137)
    fails(127, "not found", "exec", "worker-0", "--", "no-such-program")
    fails(126, "permission denied", "exec", "worker-0", "--", "/etc/passwd")
    same(into("exec", "worker-0", "-c", "main", "sh", "-c", "exit 9").returncode, 9)  # as with docker: options behind the program are its own
    same(into("exec", "worker-0", "--", "cat").returncode, 0)  # without -i there is nothing to read


def exec_much():
    data = os.urandom(3 << 20)
    r = into("exec", "-i", "worker-0", "--", "sha256sum", stdin=data, binary=True)
    same(r.stdout.split()[0].decode(), hashlib.sha256(data).hexdigest())
    r = into("exec", "worker-0", "--", "head", "-c", str(20 << 20), "/dev/zero", binary=True)
    same((r.returncode, len(r.stdout)), (0, 20 << 20))


def exec_terminal():
    t = Window("exec", "--state", R.state, "-it", "worker-0", "--", "sh", "-c", "PS1='p> ' exec sh -i", rows=33, columns=111)
    t.until("p> ").say("stty size", "33 111\r\n").resize(20, 90)
    t.say("until [ \"$(stty size)\" = '20 90' ]; do sleep 0.1; done; echo si''zed", "sized\r\n")
    t.say("echo $TERM; echo read''y; sleep 1004; echo after''wards", "ready\r\n")
    until("sleep", lambda: running("sleep 1004"))
    at = len(t.text)
    t.keys(b"\x03").until("p> ", at)
    assert t.is_raw()
    gone("sleep 1004")
    t.keys(b"exit 5\n")
    same(t.end(), 5)
    assert "xterm\r\n" in t.text, t.text
    t = Window("exec", "--state", R.state, "-it", "worker-0", "--", "sleep", "1001")  # ended from outside: the terminal is as it was
    until("a raw terminal", t.is_raw)
    os.kill(t.pid, signal.SIGTERM)
    until("the terminal back", lambda: not t.is_raw())
    same(t.end(), 128 + signal.SIGTERM)
    gone("sleep 1001")


def running(command):
    """Processes of pods that have this command line."""
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and leftovers.read(f"/proc/{pid}/cmdline").replace("\0", " ").strip() == command]


def gone(command):
    until(f"the end of {command}", lambda: not running(command))


def exec_client_killed():
    for signo in (signal.SIGKILL, signal.SIGINT):
        p = subprocess.Popen([harness.PUMICE, "exec", "--state", R.state, "worker-0", "--", "sleep", "1002"], user=USER, group=USER, stderr=subprocess.DEVNULL,
                             extra_groups=[] if USER else None)
        leftovers.OURS.add(p.pid)
        until("sleep", lambda: running("sleep 1002"))
        p.send_signal(signo)
        p.wait()
        gone("sleep 1002")


def ask(path, upgrade=True):
    """A connection to the control socket, as a client that is not ours would make it."""
    s = socket.socket(socket.AF_UNIX)
    fd = os.open(os.path.join(R.state, R.id()), os.O_PATH)
    s.connect(f"/proc/self/fd/{fd}/control")
    os.close(fd)
    key = base64.b64encode(os.urandom(16)).decode()
    more = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{more if upgrade else ''}\r\n".encode())
    return s


def exec_many():
    """Some hundreds at a time, by one who then simply leaves: they all begin, and nothing is left of them."""
    if USER:
        return  # the run's door is closed to us, who are root
    path = "/api/v1/namespaces/default/pods/train-worker-1/exec?container=main&stdout=true&command=sleep&command=1003"
    all_ = [ask(path) for _ in range(200)]
    for s in all_:
        assert b"101 Switching" in s.recv(4096)
    until("200 programs", lambda: len(running("sleep 1003")) >= 200)
    for s in all_:
        s.close()
    gone("sleep 1003")
    same(fine("exec", "worker-1", "--", "echo", "ok"), "ok\n")


# ---- attach ----

def attach_terminal():
    """The prompt that was there before is seen; who leaves can come back; the shell is the same one."""
    t = Window("attach", "--state", R.state, "-it", "shell-0", columns=99).until("here> ")
    t.say("x=forty-two; stty size", " 99\r\n").say("echo ttl''=$TERM", "ttl=xterm\r\n")
    t.keys(b"sleep 1005\n")
    until("sleep", lambda: running("sleep 1005"))
    at = len(t.text)
    t.keys(b"\x03").until("here> ", at)
    gone("sleep 1005")
    t.keys(b"\x10\x11")
    same(t.end(), 0)
    assert "detached; the pod keeps running" in t.text, t.text
    t = Window("attach", "--state", R.state, "-it", "shell-0").until("here> ").say("echo $x", "forty-two\r\n")
    os.kill(t.pid, signal.SIGKILL)
    os.waitpid(t.pid, 0)
    os.close(t.fd)
    assert fine("ps").count("train-shell-0") == 1


def attach_streams():
    p = subprocess.Popen([harness.PUMICE, "attach", "--state", R.state, "worker-1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=USER,
                         group=USER, extra_groups=[] if USER else None)
    leftovers.OURS.add(p.pid)
    assert p.stdout.readline().startswith("tick ") and p.stderr.readline().startswith("trouble ")
    p.kill()
    p.communicate()
    data = "x" * 100_000
    p = subprocess.Popen([harness.PUMICE, "attach", "--state", R.state, "-i", "reads-0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=USER,
                         group=USER, extra_groups=[] if USER else None)
    leftovers.OURS.add(p.pid)
    p.stdin.write(data)
    p.stdin.close()  # stdinOnce: this is the end of its input
    same(p.stdout.readline().strip(), str(len(data)))
    p.kill()
    p.wait()
    p.stdout.close()
    fails(1, "stdinOnce is true", "attach", "-i", "reads-0")
    fails(1, "set stdin: true", "attach", "-i", "worker-0")


# ---- logs ----

def logs():
    until("three lines", lambda: len(fine("logs", "worker-0").splitlines()) >= 3)
    text = fine("logs", "--tail", "3", "worker-0")
    assert len(text.splitlines()) == 3 and all(line.split()[0] in ("tick", "trouble") for line in text.splitlines()), text
    same(fine("logs", "--previous", "crash-0"), "first\n")
    same(fine("logs", "crash-0"), "first\nsecond\n")
    fails(1, "previous terminated container", "logs", "-p", "worker-0")
    stamped = fine("logs", "--timestamps", "--prefix", "--tail", "1", "serve-0")
    assert stamped.startswith("[train-serve-0] 20") and stamped.endswith("Z serves\n"), stamped
    heads = {line.split()[0] for line in fine("logs", "--tail", "1", "train").splitlines()}
    same(heads | {"[train-reads-0]", "[train-shell-0]"}, {f"[{pod}]" for pod in fine("ps", "-q").split()})
    same(fine("logs", "--since", "1h", "serve-0"), "serves\n")
    assert fine("logs", "job/train", "--tail", "1") and fine("logs", "default/train", "--tail", "1")
    fails(2, "--since", "logs", "--since", "x", "serve-0")
    fails(2, "--tail", "logs", "--tail", "x", "serve-0")


# ---- files ----

def read(path):
    with open(path) as f:
        return f.read()


def cp_in():
    src = tempfile.mkdtemp(dir=DIR)
    os.chmod(src, 0o755)
    os.makedirs(f"{src}/d/sub")
    for path, text in ((f"{src}/one", "1"), (f"{src}/d/sub/two", "22"), (f"{src}/d/run", "#!/bin/sh\n")):
        with open(path, "w") as f:
            f.write(text)
    os.chmod(f"{src}/d/run", 0o4755)
    os.symlink("sub/two", f"{src}/d/link")
    if USER:
        for top, dirs, files in os.walk(src):
            for name in [top, *(os.path.join(top, n) for n in dirs + files)]:
                os.chown(name, USER, USER, follow_symlinks=False)
    fine("cp", f"{src}/one", "worker-0:/tmp")
    fine("cp", f"{src}/d", "train-worker-0:/tmp/copy")
    fine("cp", f"{src}/d", "train-worker-0:/tmp/copy")  # it is there by now: into it
    same(fine("exec", "worker-0", "--", "sh", "-c", "cd /tmp; cat one copy/link copy/d/sub/two; stat -c '%a %U' copy/run one"), "12222755 root\n644 root\n")
    fails(1, "No such file", "cp", f"{src}/nope", "worker-0:/tmp")
    fails(1, "No such file", "cp", f"{src}/one", "worker-0:/nope/x")
    fails(1, "/tmp/no-such/: no such directory", "cp", f"{src}/one", "worker-0:/tmp/no-such/")
    fine("cp", f"{src}/d", "worker-0:/tmp/made/")
    same(fine("exec", "worker-0", "--", "cat", "/tmp/made/sub/two"), "22")
    fails(1, "File exists", "cp", f"{src}/one", "worker-0:/dev/null")  # a device makes no room
    fails(2, '"-" is not a file', "cp", "-", "worker-0:/tmp/x")
    fails(2, "exactly one of FROM and TO", "cp", f"{src}/one", "/tmp/x")
    fails(2, "exactly one of FROM and TO", "cp", "worker-0:/a", "worker-1:/b")


def cp_of_others():
    """The files of a container of another runtime, and of another user: what is copied in is his, and nothing is the host's."""
    if USER:
        return
    if not runs.has("runc"):
        skip("runc is not installed")
        return
    name = f"of-this-test-{os.getpid()}"
    with open(os.path.join(DIR, name), "w") as f:
        f.write("1")
    other = Run(job("rt", task("own", sh("echo up; exec sleep 1000"), pod={"securityContext": {"runAsUser": 1234, "runAsGroup": 1235}})), "--runtime", "runc")
    plain = Run(job("rt", task("own", sh("echo up; exec sleep 1000"), pod={"securityContext": {"runAsUser": 1234, "runAsGroup": 1235}})))
    for r in (other, plain):
        r.until_line("up")
        fine("cp", os.path.join(DIR, name), "own-0:/tmp/", state=r.state)
        same(fine("exec", "own-0", "--", "stat", "-c", "%u %g", f"/tmp/{name}", state=r.state), "1234 1235\n")
        assert not os.path.exists(f"/tmp/{name}")
        fine("cp", "own-0:/etc/hostname", f"{DIR}/hostname", state=r.state)
        same(read(f"{DIR}/hostname"), "rt-own-0\n")
        r.signal(signal.SIGTERM)
    other.end()
    plain.end()


HOSTILE = """cd /tmp; mkdir -p t/a; echo fine > t/a/file; ln -s a/file t/in; ln -s ../in t/a/up; ln -s /etc/shadow t/abs; ln -s ../../x t/out
ln -s . t/dot; ln -s dot/dot/../../.. t/trick; mkfifo t/fifo; ln -sfn /etc t/etc; ln -s /host-file top; mkdir deep; cd deep
for i in $(seq 140); do mkdir d && cd d; done"""


def cp_out():
    """A pod cannot have us read the host's files, nor write outside of where we copy to, nor wait for ever."""
    fine("exec", "worker-1", "--", "sh", "-c", HOSTILE)
    dst = tempfile.mkdtemp(dir=DIR)
    if USER:
        os.chown(dst, USER, USER)
    r = fails(1, "left out", "cp", "worker-1:/tmp/t", f"{dst}/t")
    left = sorted(line.split(": ")[2] for line in r.stderr.splitlines())
    same(left, ["/tmp/t/abs", "/tmp/t/etc", "/tmp/t/fifo", "/tmp/t/out", "/tmp/t/trick"])
    same((read(f"{dst}/t/in"), read(f"{dst}/t/a/up"), sorted(os.listdir(f"{dst}/t"))), ("fine\n", "fine\n", ["a", "dot", "in"]))
    same(os.stat(f"{dst}/t/a/file").st_uid, USER or os.getuid())
    with open("/tmp/host-file-of-this-test", "w") as f:
        f.write("secret")
    fine("exec", "worker-1", "--", "ln", "-sf", "/tmp/host-file-of-this-test", "/tmp/top")
    fails(1, "No such file", "cp", "worker-1:/tmp/top", f"{dst}/top")
    os.remove("/tmp/host-file-of-this-test")
    os.symlink("/nonexistent-of-this-test", f"{dst}/there")  # what stands in the way is replaced, not written through
    fine("cp", "worker-1:/tmp/t/in", f"{dst}/there")
    assert not os.path.islink(f"{dst}/there") and read(f"{dst}/there") == "fine\n"
    fails(1, "nested too deep", "cp", "worker-1:/tmp/deep", f"{dst}/deep")
    fine("exec", "worker-1", "--", "sh", "-c", "truncate -s 1G /tmp/hole; echo end >> /tmp/hole")
    fine("cp", "worker-1:/tmp/hole", f"{dst}/hole")
    same((os.stat(f"{dst}/hole").st_size, os.stat(f"{dst}/hole").st_blocks < 2048), ((1 << 30) + 4, True))
    fine("cp", "worker-1:/proc/1/mounts", f"{dst}/mounts")
    assert os.path.getsize(f"{dst}/mounts") > 100  # a file without a size


def cp_to_a_stream():
    """What is no file is written to, as cp does, and stays what it is: links to what is open, devices, pipes."""
    if USER:
        return  # our pipes are not his, who cannot open them by a name
    dst = tempfile.mkdtemp(dir=DIR)
    os.symlink("/proc/self/fd/1", f"{dst}/link")
    same(fine("cp", "worker-1:/etc/hostname", f"{dst}/link"), "train-worker-1\n")
    assert os.path.islink(f"{dst}/link")
    with open(f"{dst}/out", "w") as out:  # a plain file that is open
        subprocess.run([harness.PUMICE, "cp", "--state", R.state, "worker-1:/etc/hostname", "/proc/self/fd/1"], stdout=out, check=True)
    same(read(f"{dst}/out"), "train-worker-1\n")
    fails(1, "only a plain file can be written to", "cp", "worker-1:/tmp", f"{dst}/link")
    os.mkdir(f"{dst}/tree")  # further down it stays, and is told
    os.mkfifo(f"{dst}/tree/one")
    fine("exec", "worker-1", "--", "sh", "-c", "mkdir -p /tmp/tree; echo 1 > /tmp/tree/one; echo 2 > /tmp/tree/two")
    fails(1, "/tmp/tree/one: File exists", "cp", "worker-1:/tmp/tree", dst)
    assert stat.S_ISFIFO(os.stat(f"{dst}/tree/one").st_mode) and read(f"{dst}/tree/two") == "2\n"
    fine("cp", "worker-1:/etc/hostname", f"{dst}/hostname")
    same(read(f"{dst}/hostname"), "train-worker-1\n")


# ---- ports ----

def talk(port, text=b"hello", address="127.0.0.1"):
    with socket.create_connection((address, port), PATIENCE_S) as s:
        s.sendall(text)
        with contextlib.suppress(OSError):  # who does not listen may have ended it already
            s.shutdown(socket.SHUT_WR)  # the answer comes when it sees the end
        out = b""
        try:
            while part := s.recv(65536):
                out += part
        except ConnectionResetError:  # it was never taken
            pass
        return out


def published():
    for port in PORTS.values():
        same(talk(port), b"HELLO")
        with socket.socket() as s:  # nobody but this machine
            s.settimeout(5)
            assert s.connect_ex((other_address(), port)) != 0
    big = b"abc" * 300_000
    same(talk(PORTS["host"], big), big.upper())


class Asker:
    """One who asks by UDP, and hears only whom he asked."""

    def __init__(self, port, address="127.0.0.1"):
        self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((address, port))
        self.socket.settimeout(0.2)

    def ask(self, data, answers=True):
        """Nobody says that a datagram got lost: it is asked again, and what answers an earlier question is passed over."""
        for _ in range(200 if answers else 5):
            try:
                self.socket.send(data)
                while not (answer := self.socket.recv(65536)).startswith(data.upper()):
                    pass
                return answer
            except TimeoutError:
                pass
            except ConnectionRefusedError:  # nobody is there, or not yet
                time.sleep(0.05)
        assert not answers, "no answer"
        return None


def published_udp():
    """Each client is another one in the pod, answers find their way back, and nobody but this machine is heard."""
    for port in PORTS_UDP.values():
        clients = [Asker(port) for _ in range(3)]
        said = [c.ask(b"hello") for c in clients]
        assert all(words.startswith(b"HELLO ") for words in said) and len(set(said)) == 3, said
        same([c.ask(b"hello") for c in clients], said)
        big = b"abc" * 20_000
        same(clients[0].ask(big), big.upper())
        same(Asker(port, other_address()).ask(b"hello", False), None)
    # more than there is room for: who was silent for longest gives way, and is another one when he comes back
    port = PORTS_UDP["published"]
    first = Asker(port)
    before = first.ask(b"hello")
    for _ in range(300):
        Asker(port).ask(b"x")
    assert first.ask(b"hello") != before


def other_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            return s.getsockname()[0]
        except OSError:
            return "127.0.0.2"  # no other address: our sockets are at 127.0.0.1 alone


def port_forward():
    p = subprocess.Popen([harness.PUMICE, "port-forward", "--state", R.state, "serve-0", ":8000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, user=USER, group=USER, extra_groups=[] if USER else None)
    leftovers.OURS.add(p.pid)
    line = p.stdout.readline()
    assert line.startswith("Forwarding from 127.0.0.1:") and line.endswith(" -> 8000\n"), line
    port = int(line.split(":")[1].split()[0])
    same(talk(port), b"HELLO")
    fails(1, "another program listens at port", "port-forward", "serve-0", f"{port}:8000")
    p.kill()
    p.communicate()
    until("the end of the port", lambda: socket.socket().connect_ex(("127.0.0.1", port)) != 0)
    fails(2, "must be PORT, LOCAL:PORT or :PORT", "port-forward", "serve-0", "x")
    p = subprocess.Popen([harness.PUMICE, "port-forward", "--state", R.state, "worker-0", ":9"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, user=USER, group=USER, extra_groups=[] if USER else None)
    leftovers.OURS.add(p.pid)
    same(talk(int(p.stdout.readline().split(":")[1].split()[0])), b"")
    assert "connect to port 9 of the pod: Connection refused" in p.stderr.readline()
    p.kill()
    p.communicate()


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        print("skipped: no ::1 here")
        return False


def other_addresses():
    """Only where somebody asks for it; what cannot be is told. Input that nobody gives is told too."""
    ports = [free_port() for _ in range(2)]
    udp, six = free_port(socket.SOCK_DGRAM), has_ipv6()
    python = shutil.which("python3", path="/usr/bin:/bin")
    what = job("j", task("t", [python, "-c", SERVE], stdin=True, ports=[{"containerPort": 8000, "hostPort": ports[0], "hostIP": "0.0.0.0"},
                                                                        {"containerPort": 8000, "hostPort": udp, "protocol": "UDP"},
                                                                        {"containerPort": 53, "hostPort": 53, "protocol": "SCTP"}]),
               policies=[{"event": "PodFailed", "action": "RestartTask"}])
    r = Run(what, "--publish", f"127.0.0.2:{ports[1]}:8000", *(["--publish", f"[::1]:{ports[1]}:8000", "--publish", f"[::1]:{udp}:8000/udp"] if six else []))
    r.until_line("serves")
    text = "\n".join(e["text"] for e in r.of("notice"))
    for piece in (f"hostPort {ports[0]} is reached at 127.0.0.1 only", "hostPort 53 has no effect here: only TCP and UDP ports are published, not SCTP", "send it some with 'pumice attach -i POD'"):
        assert piece in text, text
    same((talk(ports[1], address="127.0.0.2"), talk(ports[0])), (b"HELLO", b"HELLO"))
    if six:
        same((talk(ports[1], address="::1"), Asker(udp, "::1").ask(b"six")[:4]), (b"HELLO", b"SIX "))
    for address, port in (("127.0.0.1", ports[1]), ("127.0.0.2", ports[0])):
        with socket.socket() as s:
            assert s.connect_ex((address, port)) != 0
    r.signal(signal.SIGTERM).end()
    r = Run(what, "--publish-all-addresses")
    r.until_line("serves")
    same(talk(ports[0], address="127.0.0.2"), b"HELLO")
    there = Asker(udp, "127.0.0.2")  # hears only answers that come from that address
    same(there.ask(b"hello")[:6], b"HELLO ")
    there.socket.send(b"die")
    r.until(lambda r: len(r.uids("t-0")) == 2)  # the next pod has the port
    same(there.ask(b"again")[:6], b"AGAIN ")
    r.signal(signal.SIGTERM).end()


def run_refused(status, piece, what, *options):
    r = subprocess.run([harness.PUMICE, "run", "--state", os.path.join(R.dir, "other"), *UNFILTERED, *options, R.write("other.json", what)],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, user=USER, group=USER, extra_groups=[] if USER else None)
    assert r.returncode == status and piece in r.stderr and "Sanitizer" not in r.stderr, (r.returncode, r.stderr)


def ports_that_cannot_be_had():
    taken = PORTS["host"]
    what = job("j", task("t", sh("true"), ports=[{"containerPort": 80, "hostPort": taken}]))
    run_refused(1, f"spec.tasks[t].template.spec.containers[main]: hostPort: another program listens at port {taken} of 127.0.0.1", what)
    plain = job("j", task("t", sh("true")))
    run_refused(1, f"--publish {taken}: another program listens", plain, "--publish", str(taken))
    udp = PORTS_UDP["host"]
    run_refused(1, f"--publish {udp}/udp: another program listens at port {udp}/udp of 127.0.0.1", plain, "--publish", f"{udp}/udp")
    run_refused(2, '--publish 1/sctp: unknown protocol "sctp": use /tcp or /udp', plain, "--publish", "1/sctp")
    for wrong in ("x", "1:a:b", "0", "1:2:3:4", "1:", "70000"):
        run_refused(2, f"--publish {wrong}: must be [ADDRESS:]PORT", plain, "--publish", wrong)
    two = job("j", task("t", sh("true"), replicas=2, ports=[{"containerPort": 80, "hostPort": free_port()}]))
    run_refused(1, "didn't have free ports for the requested pod ports. (--wait: keep waiting)\n"
                "    hint: only one pod can have hostPort ", two)
    several = job("j", task("t", sh("true"), replicas=2))
    run_refused(1, "--publish 4321: no container has containerPort 4321; name the pod, as 4321:t-0:4321", several, "--publish", "4321")
    run_refused(1, "no container has containerPort 80 for UDP; name the pod, as 80/udp:t-0:80",
                job("j", task("t", sh("true"), replicas=2, ports=[{"containerPort": 80}])), "--publish", "80/udp")
    run_refused(1, "--publish 203.0.113.9:1234", plain, "--publish", "203.0.113.9:1234")


def port_of_root():
    if USER and int(read("/proc/sys/net/ipv4/ip_unprivileged_port_start")) > 80:
        run_refused(1, "port 80 is for root only", job("j", task("t", sh("true"))), "--publish", "80")


# ---- who may ----

def others_may_not():
    path = os.path.join(R.state, R.id())
    same(stat.S_IMODE(os.stat(path).st_mode), 0o700)
    same(stat.S_IMODE(os.stat(f"{path}/control").st_mode), 0o600)
    if os.getuid() != 0:
        return
    r = into("exec", "worker-0", "--", "true", user=ORDINARY + 1)
    assert r.returncode == 1 and ("no run in progress" in r.stderr or "Permission denied" in r.stderr), r.stderr
    if not USER:  # somebody who gets hold of the socket all the same
        os.chmod(path, 0o711)
        os.chmod(f"{path}/control", 0o666)
        for top in (R.state, os.path.dirname(R.state)):
            os.chmod(top, 0o755)
        script = EVIL.replace("/state/", os.path.dirname(R.state) + "/").replace("print(", "sys.stdout.write(") \
            .replace("[n for n in os.listdir('" + os.path.dirname(R.state) + "/' + 's' * 100) if len(n) == 6][0]", repr(R.id()))
        out = subprocess.run([shutil.which("python3", path="/usr/bin:/bin"), "-c", script], user=ORDINARY, group=ORDINARY, extra_groups=[], capture_output=True, text=True)
        assert "403 Forbidden" in out.stdout and "only the user who started the run may ask" in out.stdout, (out.stdout, out.stderr)
        os.chmod(f"{path}/control", 0o600)
        os.chmod(path, 0o700)
    else:  # not even root: it is not his run
        with ask("/run", upgrade=False) as s:
            assert b"403 Forbidden" in s.recv(9999)


def pods_may_not():
    """A pod that was given the directory of the run, by a hostPath, is refused at the socket."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    out = into("exec", "hostile-0", "--", python, "/tmp/evil").stdout
    assert "403 Forbidden" in out and "no program in a pod" in out, out


def wrong_requests():
    if USER:
        return
    for path, piece in (("/x", b"404"), ("/api/v1/namespaces/default/pods/nope/log?container=main", b"404"),
                        ("/api/v1/namespaces/default/pods/train-worker-0/log", b"400"),
                        ("/api/v1/namespaces/default/pods/train-worker-0/publish?port=x&to=1", b"400"),
                        ("/api/v1/namespaces/default/pods/train-worker-0/publish?port=1&to=0", b"400"),
                        ("/api/v1/namespaces/default/pods/train-worker-0/exec?container=main&stdout=true", b"400")):
        with ask(path, upgrade=False) as s:
            head = s.recv(9999)
            assert head.startswith(b"HTTP/1.1 " + piece), (path, head)


# ---- the end of a run, and a run at a terminal ----

def ends_with_the_run():
    """Who follows gets every line to the last, and 0; who is in a pod is told that it has ended."""
    follow = subprocess.Popen([harness.PUMICE, "logs", "-f", "--state", R.state, "worker-0"], stdout=subprocess.PIPE, text=True, user=USER, group=USER,
                              extra_groups=[] if USER else None)
    inside = subprocess.Popen([harness.PUMICE, "exec", "--state", R.state, "worker-0", "--", "sh", "-c", "echo in; exec sleep 1000"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, user=USER, group=USER, extra_groups=[] if USER else None)
    forward = subprocess.Popen([harness.PUMICE, "port-forward", "--state", R.state, "serve-0", ":8000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, user=USER, group=USER, extra_groups=[] if USER else None)
    leftovers.OURS.update((follow.pid, inside.pid, forward.pid))
    assert forward.stdout.readline().startswith("Forwarding from")
    same((follow.stdout.readline(), inside.stdout.readline()), ("tick 1\n", "in\n"))
    R.signal(signal.SIGTERM).end()
    out = follow.communicate()[0]
    inside.communicate()
    same((follow.returncode, inside.returncode != 0), (0, True))
    same((forward.communicate()[1], forward.returncode), (f"pumice port-forward: run {R.id()} has ended\n", 1))
    wrote = R.lines("worker-0")
    said = ["tick 1", *out.splitlines()]
    same((len(said), sorted(said)), (len(wrote), sorted(wrote)))
    r = into("logs", "worker-0", state=R.state)
    assert r.returncode == 1 and ("'pumice runs logs'" in r.stderr or "No such file" in r.stderr), r.stderr
    r = into("ps", state=R.state)
    assert r.stdout == "" and ("no run in progress" in r.stderr or "No such file" in r.stderr), (r.stdout, r.stderr)


def from_a_pipe():
    """The only pod reads what is piped into the run, to its end with stdinOnce; its lines are shown as ever. A manifest from there is not its input."""
    what = job("j", task("t", sh("wc -c; echo read"), stdin=True, stdinOnce=True))
    path = R.write("reads.json", what)
    who = {"user": USER, "group": USER, "extra_groups": [] if USER else None, "capture_output": True, "text": True, "timeout": PATIENCE_S}
    command = [harness.PUMICE, "run", "--state", os.path.join(R.dir, "piped"), *UNFILTERED]
    r = subprocess.run([*command, path], input="x" * 300_000, **who)
    assert r.returncode == 0 and r.stdout == "t-0 | 300000\nt-0 | read\n" and "Sanitizer" not in r.stderr, (r.returncode, r.stdout, r.stderr)
    with open(path, "rb") as f:
        r = subprocess.run([*command, "-o", "json", path], stdin=f, **who)
        assert f'"text":"{os.path.getsize(path)}"' in r.stdout, r.stdout
    open_ = job("j", task("t", sh("read x; echo got $x"), stdin=True))
    r = subprocess.run([*command, R.write("reads.json", open_)], input="one\n", **who)
    assert r.stdout == "t-0 | got one\n" and "reads standard input, which does not end" in r.stderr, (r.stdout, r.stderr)
    r = subprocess.run([*command, "--timeout", "1s", "-"], input=json.dumps(open_), **who)
    assert r.returncode == 124 and "send it some with 'pumice attach -i POD'" in r.stderr and r.stdout == "", (r.returncode, r.stdout, r.stderr)


def at_a_terminal():
    """One pod that wants input: the terminal is its own until it ends, and the summary follows."""
    d = tempfile.mkdtemp(dir=DIR)
    os.chmod(d, 0o755)
    if USER:
        os.chown(d, USER, USER)
    with open(f"{d}/job.json", "w") as f:
        json.dump(job("j", task("t", sh("PS1='in> ' exec sh -i"), stdin=True, tty=True)), f)
    t = Window("run", "--state", f"{d}/state", *UNFILTERED, f"{d}/job.json", columns=77).until("in> ")
    t.say("stty size", " 77\r\n").say("echo $((6*7))", "42\r\n")
    assert "t-0 | 42" not in t.text, t.text
    t.keys(b"exit 3\n").until("its last lines")
    same(t.end(), 3)
    assert "exit code 3" in t.text, t.text
    shutil.rmtree(d, ignore_errors=True)


# ---- all of it ----

CASES = (ps, top, pods_are_named, exec_status, exec_much, exec_terminal, exec_client_killed, exec_many, attach_streams, attach_terminal, logs, cp_in,
         cp_out, cp_to_a_stream, cp_of_others, published, published_udp, port_forward, other_addresses, ports_that_cannot_be_had, port_of_root, others_may_not, pods_may_not, wrong_requests, several_runs,
         from_a_pipe, ends_with_the_run, at_a_terminal)
OF_ROOT = (top, cp_to_a_stream, exec_much, exec_many, logs, wrong_requests, ports_that_cannot_be_had, several_runs, cp_of_others, other_addresses)  # nothing in them depends on who asks


def reachable_program():
    """The program may be where only root can go."""
    path = os.path.join(DIR, "pumice")
    shutil.copy(harness.PUMICE, path)
    os.chmod(path, 0o755)
    harness.PUMICE = runs.PUMICE = path


def main():
    global DIR, USER
    suite = Suite()
    DIR = tempfile.mkdtemp(prefix="pumice-into-", dir="/var/tmp")
    os.chmod(DIR, 0o755)
    users = [None]
    if os.getuid() == 0 and has_user_namespaces(ORDINARY):
        users.append(ORDINARY)
        reachable_program()
    elif os.getuid() == 0:
        skip("an ordinary user may make no user namespaces here")
    only = sys.argv[1:]
    try:
        for USER in users:
            begin()
            for case in CASES:
                if case.__name__ in only or (not only and not (USER and case in OF_ROOT)):
                    suite.case(f"{case.__name__}{' as a user' if USER else ''}", case)
            if R.process.poll() is None:
                R.signal(signal.SIGTERM).end()
    finally:
        shutil.rmtree(DIR, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
