#!/usr/bin/env python3
"""Nothing of a pod that has ended belongs to the next one, whoever still holds it.

Pod A opens all that it has (directories, files, namespaces, sockets, its output), passes the descriptors to pod B over a
socket in a claim that both mount, and ends with nothing changed. Pod C comes after it. B then tries with every descriptor to read
what C wrote, to write what C reads, and to send to C. Another pod sets inode flags that forbid to delete its files.
"""
import contextlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Suite, until  # noqa: E402
from runs import job, own_directory, run, same, skip, task  # noqa: E402
from server import Server, is_machine_unfit  # noqa: E402

PYTHON = "/usr/bin/python3"

# What A, B and C share of their programs. A mark is a file that C makes in each directory, B's is one that B plants there.
COMMON = r"""
import array, json, os, socket, sys, time
DIRS = ["/", "/tmp", "/run", "/dev", "/dev/shm", "/dev/pts", "/etc", "/srv", "/media", "/opt", "/proc", "/sys/fs/cgroup"]
FILES = ["/etc/hosts", "/etc/resolv.conf", "/etc/hostname", "/dev/termination-log"]
SPACES = ["cgroup", "ipc", "mnt", "net", "pid", "uts"]

def attempt(f, *args, **kw):
    try:
        return f(*args, **kw)
    except OSError as e:
        return None

def wait_for(name):
    end = time.monotonic() + 60
    while not os.path.exists("/mnt/" + name):
        assert time.monotonic() < end, name
        time.sleep(0.02)
    with open("/mnt/" + name) as f:
        return json.load(f)

def tell(name, what):
    with open("/mnt/" + name + ".new", "w") as f:
        json.dump(what, f)
    os.rename("/mnt/" + name + ".new", "/mnt/" + name)
"""

# Descriptors of directories are passed as they can be had: to read, or only as a path.
PASSES = COMMON + r"""
fds, names = [], []
def keep(name, fd):
    if fd is not None:
        fds.append(fd), names.append(name)
for d in DIRS:
    keep("dir " + d, attempt(os.open, d, os.O_RDONLY | os.O_DIRECTORY))
    keep("path " + d, attempt(os.open, d, os.O_PATH))
for f in FILES:
    keep("file " + f, attempt(os.open, f, os.O_RDWR | os.O_APPEND))
for n in SPACES:
    keep("space " + n, attempt(os.open, "/proc/self/ns/" + n, os.O_RDONLY))
keep("socket", socket.socket(type=socket.SOCK_DGRAM).detach())
keep("output", 1)
keep("output", 2)
s = socket.socket(socket.AF_UNIX)
wait_for("listens")
s.connect("/mnt/socket")
s.sendmsg([json.dumps(names).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
assert s.recv(1)
print("passed", len(fds) > 20)
"""

HOLDS = COMMON + r"""
s = socket.socket(socket.AF_UNIX)
s.bind("/mnt/socket")
s.listen()
tell("listens", True)
c, _ = s.accept()
text, control, _, _ = c.recvmsg(65536, socket.CMSG_SPACE(4 * 100))
got = array.array("i")
for level, kind, data in control:
    got.frombytes(data[:len(data) - len(data) % 4])
held = list(zip(json.loads(text), got))
c.send(b"x")
c.close()
of_c = wait_for("c")
found = []
def look(name, fd):
    kind, _, what = name.partition(" ")
    if kind in ("dir", "path"):
        for below in ("", "tmp/", "etc/", "dev/shm/", "srv/", "media/", "proc/self/"):
            if attempt(os.stat, below + "only-c", dir_fd=fd):
                found.append(f"{name}: sees {below}only-c")
            attempt(os.mkdir, below + "planted", dir_fd=fd)
        if attempt(os.stat, "proc/1", dir_fd=fd) and of_c["pids"] == attempt(os.readlink, "proc/1/ns/pid", dir_fd=fd):
            found.append(f"{name}: sees processes")
    elif kind == "file":
        attempt(os.write, fd, b"# planted\n")
        if "only-c" in (attempt(lambda: os.pread(fd, 100000, 0).decode()) or ""):
            found.append(f"{name}: reads")
    elif kind == "space":
        if os.fstat(fd).st_ino == of_c["spaces"].get(what):
            found.append(f"{name}: is that of C")
    elif kind == "socket":
        attempt(socket.socket(fileno=os.dup(fd)).sendto, b"planted", (of_c["address"], 5005))
    elif kind == "output":
        attempt(os.write, fd, b"planted\n")
for name, fd in held:
    look(name, fd)
tell("b", found)
print(json.dumps(found))
"""

IS_NEXT = COMMON + r"""
for d in DIRS:
    attempt(lambda: open(d + "/only-c", "w").close())
for f in FILES:
    attempt(lambda: open(f, "a").write("# only-c\n"))
u = socket.socket(type=socket.SOCK_DGRAM)
u.setblocking(False)
u.bind(("", 5005))
name = socket.gethostname()
spaces = {n: os.stat("/proc/self/ns/" + n).st_ino for n in SPACES}
tell("c", {"address": attempt(socket.gethostbyname, name), "spaces": spaces, "pids": os.readlink("/proc/self/ns/pid")})
wait_for("b")
found = [d + "/planted" for d in DIRS if os.path.exists(d + "/planted")]
found += [f for f in FILES if "planted" in (attempt(lambda: open(f).read()) or "")]
found += ["packet"] if attempt(u.recv, 100) else []
print(json.dumps(found))
"""

# At directories that are there: a place that had to be made would be a change of the root.
VOLUMES = [{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}, {"name": "disk", "emptyDir": {}},
           {"name": "memory", "emptyDir": {"medium": "Memory"}}]
MOUNTS = [{"name": "shared", "mountPath": "/mnt"}, {"name": "disk", "mountPath": "/srv"}, {"name": "memory", "mountPath": "/media"},
          {"name": "disk", "mountPath": "/opt", "subPath": "part"}]
# Of C. The place for the mount is a change of its root, whoever the pod runs as.
MORE = {"name": "disk", "mountPath": "/only-c", "subPath": "more"}
SAFE = {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}}}
OWN = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}


def claim(name):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}}}


def mounts_of(program):
    return [*MOUNTS, MORE] if program == IS_NEXT else MOUNTS


def member(name, program, depends=None, is_restricted=False):
    """C shares the claim too, so that it and B can wait for each other."""
    return task(name, [PYTHON, "-c", program], pod={"volumes": VOLUMES, **(SAFE if is_restricted else {})}, volumeMounts=mounts_of(program),
                depends=[depends] if depends else None, **(OWN if is_restricted else {}))


def passed(*options, is_restricted=False):
    """Two places for three pods, and C starts after A: so it comes when A has ended."""
    j = job("j", member("b", HOLDS, None, is_restricted), member("a", PASSES, "b", is_restricted), member("c", IS_NEXT, "a", is_restricted), minAvailable=1)
    r = run([claim("shared"), j], "--network", "private", "--node", "cpu=8,memory=8Gi,pods=2", *options).done()
    same({p: r.lines(f"{p}-0") for p in "abc"}, {"a": ["passed True"], "b": ["[]"], "c": ["[]"]})


def descriptors():
    passed()


def descriptors_restricted():
    passed("--restricted", is_restricted=True)


def many_times():
    """A whole row of pods that change nothing before the next: what was kept for later would be found."""
    idle = task("idle", ["true"], replicas=6, depends=["a"])
    j = job("j", member("b", HOLDS), member("a", PASSES, "b"), idle, member("c", IS_NEXT, "idle"), minAvailable=1)
    r = run([claim("shared"), j], "--network", "private", "--node", "cpu=8,memory=8Gi,pods=2").done()
    same({p: r.lines(f"{p}-0") for p in "abc"}, {"a": ["passed True"], "b": ["[]"], "c": ["[]"]})


# ---- on a server, where A and B are one tenant and C is another ----

def server_pod(name, program):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "volumes": VOLUMES,
                     "containers": [{"name": "main", "image": "debian:12", "command": [PYTHON, "-c", program], "volumeMounts": mounts_of(program)}]}}


def phase(s, namespace, name):
    return s.ok("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")["status"].get("phase")


def across_namespaces():
    """The two cannot share a claim: what C tells and what B tells is carried by exec's poor relative, a file of a claim on the host."""
    try:
        s = Server()
    except AssertionError as e:
        if is_machine_unfit(e):
            return skip(e)
        raise
    with contextlib.ExitStack() as stack:
        stack.callback(s.stop)
        for n in ("one", "two"):
            s.ok("POST", "/api/v1/namespaces", {"metadata": {"name": n}})
            s.ok("POST", f"/api/v1/namespaces/{n}/persistentvolumeclaims", claim("shared"))
            until("its account", lambda n=n: s.call("GET", f"/api/v1/namespaces/{n}/serviceaccounts/default")[0] == 200)
        s.ok("POST", "/api/v1/namespaces/one/pods", server_pod("b", HOLDS))
        s.ok("POST", "/api/v1/namespaces/one/pods", server_pod("a", PASSES))
        until("A has ended", lambda: phase(s, "one", "a") == "Succeeded")
        s.ok("DELETE", "/api/v1/namespaces/one/pods/a")
        until("A is gone", lambda: s.call("GET", "/api/v1/namespaces/one/pods/a")[0] == 404)
        s.ok("POST", "/api/v1/namespaces/two/pods", server_pod("c", IS_NEXT))
        claims = {}
        def find():
            for top, dirs, names in os.walk(s.data):
                for name in names:
                    claims[name] = os.path.join(top, name)
            return "c" in claims and "listens" in claims
        until("C has written", find)
        carry(claims["c"], os.path.join(os.path.dirname(claims["listens"]), "c"))
        theirs = os.path.join(os.path.dirname(claims["listens"]), "b")
        until("B has tried", lambda: os.path.exists(theirs))
        carry(theirs, os.path.join(os.path.dirname(claims["c"]), "b"))
        for namespace, name in (("one", "b"), ("two", "c")):
            until(f"{name} has ended", lambda namespace=namespace, name=name: phase(s, namespace, name) in ("Succeeded", "Failed"))
            same((name, s.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}/log")[1]), (name, "[]\n"))
    return None


def carry(source, target):
    with open(source) as f, open(target + ".new", "w") as g:
        g.write(f.read())
    os.rename(target + ".new", target)


# ---- flags of inodes ----

FLAGS = r"""
import fcntl, os, struct
GET, SET = 0x80086601, 0x40086602
def flags(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return struct.unpack("I", fcntl.ioctl(fd, GET, struct.pack("i", 0)))[0]
    finally:
        os.close(fd)
def change(path, more):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, SET, struct.pack("I", flags(path) | more))
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
"""
# Of the root what the first says is what all say; then it sets all that a container may: secure removal to "project inherits".
DEFILES = FLAGS + r"""
print(hex(flags("/")), hex(flags("/tmp")), hex(flags("/srv")))
for bit in range(32):
    change("/", 1 << bit), change("/srv", 1 << bit)
"""
FIXED = FLAGS + r"""
done = 0
for top in ("/", "/tmp/", "/srv/", "/media/", "/opt/"):
    os.makedirs(top + "a/b/c")
    for f in ("a/f", "a/b/f", "a/b/c/f"):
        open(top + f, "w").write("x")
    for path, more in (("a/f", 0x10), ("a/b/f", 0x20), ("a/b/c/f", 0x30), ("a/b/c", 0x10), ("a/b", 0x20), ("a", 0x30), ("", 0x10)):
        done += change(top + path, more)
print("set", done > 10)
"""
POWERFUL = {"securityContext": {"capabilities": {"add": ["LINUX_IMMUTABLE"]}}}


def flags_do_not_pass():
    """One pod after the other, each sets what it can."""
    mounts = [m for m in MOUNTS if m["name"] == "disk"][:1]
    j = job("j", task("a", [PYTHON, "-c", DEFILES], replicas=4, pod={"volumes": VOLUMES[1:2]}, volumeMounts=mounts), minAvailable=1)
    r = run(j, "--network", "private", "--node", "cpu=8,memory=8Gi,pods=1").done()
    lines = [e["text"] for e in r.of("log")]
    same(lines, [lines[0]] * 4)


def fixed_files_are_removed():
    """A pod that may sets immutable and append-only on its files: nothing of it stays (Run.end() looks)."""
    j = job("j", task("a", [PYTHON, "-c", FIXED], replicas=2, pod={"volumes": VOLUMES[1:]}, volumeMounts=MOUNTS[1:], **POWERFUL))
    r = run(j, "--network", "private", "--node", "cpu=8,memory=8Gi,pods=9").done()
    same({e["text"] for e in r.of("log")}, {"set True"})


CASES = (descriptors, descriptors_restricted, many_times, across_namespaces, flags_do_not_pass, fixed_files_are_removed)


def main():
    suite = Suite()
    with own_directory("passing", 0o777):
        for case in CASES:
            if len(sys.argv) == 1 or case.__name__ in sys.argv:
                suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
