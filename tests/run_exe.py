#!/usr/bin/env python3
"""Pods that reach for the program itself: /proc/self/exe of a process that is about to become theirs is the program that makes it.
They ask for it in every way there is, and then try to change it. The program's file must be as it was: as root, as an ordinary
user whose own file it is, and where the spawner's program cannot be written to memory (ulimit -f), so that a mount of it has to do."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import leftovers
import runs
from harness import PUMICE, Suite
from runs import Run, has, job, run, same, sh, skip, task

ORDINARY = 54321  # a user that nothing belongs to
LIMIT = 'ulimit -f 1000; exec "$0" "$@"'
DIR = ""

# Loaded into whatever /proc/self/exe is. Each line it prints is something that worked and must not.
ATTACK = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#define EXE "/proc/self/exe"
static void tell(const char *what, int result) { dprintf(1, "%s %s\n", what, result < 0 ? strerror(errno) : "done"); }
__attribute__((constructor)) static void attack(void)
{
    char path[64] = "";
    if (readlink(EXE, path, sizeof(path) - 1) >= 0 && (!strncmp(path, "/usr/bin", 8) || !strncmp(path, "/bin", 4)))
        return; /* a program of the container's */
    unsetenv("LD_PRELOAD");
    if (getenv("HOLD")) { /* let it go, but for a descriptor, and come back when nobody runs it any more */
        snprintf(path, sizeof(path), "%d", open(EXE, O_PATH));
        execl("/usr/bin/python3", "python3", "-c", getenv("HOLD"), path, NULL);
    }
    tell("utimes", utimes(EXE, (struct timeval[2]){ { 1, 0 }, { 1, 0 } }));
    tell("chmod", chmod(EXE, 06777));
    tell("setxattr", setxattr(EXE, "user.evil", "x", 1, 0));
    tell("open", open(EXE, O_WRONLY));
    tell("truncate", truncate(EXE, 0));
    tell("chown", chown(EXE, 12, 12));
    _exit(0);
}
"""


def compile_attack():
    with open(f"{DIR}/attack.c", "w") as f:
        f.write(ATTACK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{DIR}/attack.so", f"{DIR}/attack.c"], check=True)
    with open(f"{DIR}/script", "w") as f:
        f.write("#!/proc/self/exe\n")
    os.chmod(f"{DIR}/script", 0o755)


def make_image():
    """With the libraries of the program, so that it could be executed there."""
    d = f"{DIR}/image"
    os.makedirs(f"{d}/bin")
    shutil.copy(f"{DIR}/attack.so", f"{d}/attack.so")
    for source in (os.path.realpath("/bin/sh"), PUMICE):
        for word in subprocess.run(["ldd", source], capture_output=True, text=True).stdout.split():
            if word.startswith("/") and not os.path.exists(d + word):
                os.makedirs(d + os.path.dirname(word), exist_ok=True)
                shutil.copy(os.path.realpath(word), d + word)


# ---- the file ----

def own_copy(user):
    """The program, as a file of whoever runs it."""
    path = shutil.copy(PUMICE, f"{DIR}/pumice-{user or 0}-{len(os.listdir(DIR))}")
    if user:
        os.chown(path, user, user)
    os.setxattr(path, "user.mine", b"1")
    runs.PUMICE = path
    return path


def look(path):
    st = os.stat(path)
    with open(path, "rb") as f:
        return {"mode": oct(st.st_mode), "owner": (st.st_uid, st.st_gid), "mtime": st.st_mtime_ns, "xattrs": os.listxattr(path),
                "bytes": hash(f.read())}


class unchanged:
    def __init__(self, user, is_limited):
        self.path = own_copy(user)
        if is_limited:
            runs.PUMICE = f"{self.path}.sh"
            with open(runs.PUMICE, "w") as f:
                f.write(f"#!/bin/sh\nset -- {self.path} \"$@\"; exec sh -c '{LIMIT}' \"$@\"\n")
            os.chmod(runs.PUMICE, 0o755)

    def __enter__(self):
        self.before = look(self.path)

    def __exit__(self, *error):
        runs.PUMICE = PUMICE
        if not error[0]:
            same(look(self.path), self.before)
        os.unlink(self.path)


# ---- the ways to it ----

def env(lib=None, **more):
    more.update(LD_PRELOAD=lib or f"{DIR}/attack.so", ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
    return [{"name": k, "value": v} for k, v in more.items()]


EXE = ["/proc/self/exe", "version"]
STAY = sh("sleep 1.5")


def every_way():
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1}
    return [
        task("command", EXE, env=env()),
        task("script", [f"{DIR}/script"], env=env()),
        task("path", ["exe", "version"], env=env(PATH="/proc/self")),
        task("probe", STAY, env=env(), livenessProbe={"periodSeconds": 1, "failureThreshold": 9, "exec": {"command": EXE}}),
        task("start", STAY, env=env(), lifecycle={"postStart": {"exec": {"command": EXE}}}),
        task("init", ["true"], pod={**pod, "initContainers": [{"name": "i", "image": "x", "command": EXE, "env": env()}]}),
        task("bare", EXE, env=env(), securityContext={"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False}),
        task("fixed", EXE, env=env(), securityContext={"readOnlyRootFilesystem": True}),
        task("image", EXE, env=env("/attack.so"), image="evil"),
        task("shared", EXE, env=env(), pod={"shareProcessNamespace": True}),
        task("hostpid", EXE, env=env(), pod={"hostPID": True}),
    ]


def asked_for_in_every_way(user, is_limited):
    with unchanged(user, is_limited):
        r = run(job("j", *every_way(), minAvailable=1), "--image", f"evil={DIR}/image", "--timeout", "60s", user=user)
        assert r.status in (0, 1) and len(r.states()) == len(every_way()), r.told()
        assert r.of("log") or not is_limited, r.told()  # the spawner's own program may load nothing
    for e in r.of("log"):
        same((e["pod"], e["text"].endswith(" done")), (e["pod"], False))


# ---- a pod that outlives those who keep it ----

# Only its own ancestors: others may run pods on this machine.
OUTLIVE = """
import os, signal, sys, time
def field(pid, name):
    return next((l.split()[1] for l in open(f"/proc/{pid}/status") if l.startswith(name + ":")), "")
up, pid = [], os.getppid()
while "pumice" in field(pid, "Name"):
    up.append(pid)
    pid = int(field(pid, "PPid"))
if os.fork():
    signal.pause()
os.setsid()
for s in (signal.SIGSTOP, signal.SIGKILL):
    for pid in reversed(up):
        try:
            os.kill(pid, s)
        except OSError:
            pass
end = time.monotonic() + 3
while time.monotonic() < end:
    try:
        os.write(os.open("/proc/self/fd/" + sys.argv[1], os.O_WRONLY), b"evil")
        break
    except OSError as e:
        if e.errno != 26: # busy
            break
    time.sleep(0.02)
os.kill(os.getppid(), signal.SIGKILL) if os.getppid() > 1 else None
"""


def written_when_nobody_runs_it(user, is_limited):
    with unchanged(user, is_limited):
        r = Run(job("j", task("a", EXE, env=env(HOLD=OUTLIVE), pod={"hostPID": True})), user=user)
        r.process.wait(runs.PATIENCE_S)
        deadline = time.monotonic() + 10
        while leftovers.children() and time.monotonic() < deadline:  # the pod, which is ours now
            time.sleep(0.05)
        if r.process.returncode < 0:
            run(job("k", task("a", ["true"])), user=user, state=r.state)  # removes what nobody was left to remove
        r.end()


# ---- what people see ----

def seen_from_outside(is_limited):
    """Name, arguments, standard input and exit status are those of the program as it was called; what makes pods runs from a place
    that cannot be written to."""
    text = runs.json.dumps(job("j", task("a", sh("echo up; sleep 600"))))
    with tempfile.TemporaryDirectory() as d:
        args = [PUMICE, "run", "--set", "spec.queue=", "--state", f"{d}/state", "-"]
        command = ["sh", "-c", LIMIT, *args] if is_limited else args
        p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            p.stdin.write(text.encode())
            p.stdin.close()
            same(p.stdout.readline(), b"a-0 | up\n")
            with open(f"/proc/{p.pid}/comm") as comm, open(f"/proc/{p.pid}/cmdline") as line:
                same((comm.read(), line.read()), ("pumice\n", "\0".join(args) + "\0"))
            makers = [pid for pid in below(p.pid) if name_of(pid) in ("pumice-spawner", "pumice-shim", "pumice-init")]
            same(sorted(name_of(pid) for pid in makers), ["pumice-init", "pumice-shim", "pumice-spawner"])
            for pid in makers:
                same((pid, bool(os.statvfs(f"/proc/{pid}/exe").f_flag & os.ST_RDONLY)), (pid, True))
                same(os.path.samefile(f"/proc/{pid}/exe", PUMICE), is_limited)
        finally:
            p.send_signal(2)
            p.stdout.read()
            status = p.wait()
        same(status, 130)


def name_of(pid):
    return leftovers.read(f"/proc/{pid}/comm").strip()


def below(pid):
    children = [int(c) for c in leftovers.read(f"/proc/{pid}/task/{pid}/children").split()]
    return children + [c for child in children for c in below(child)]


def may_be_ordinary():
    try:
        return os.getuid() == 0 and all(
            subprocess.run(command, user=ORDINARY, group=ORDINARY, extra_groups=[], capture_output=True).returncode == 0
            for command in (["unshare", "-Ur", "true"], [PUMICE, "version"]))
    except PermissionError:
        return False


# ---- all of it ----

def try_all(suite):
    users = [None, ORDINARY] if may_be_ordinary() else [None]
    if len(users) == 1:
        skip("ordinary users may not make user namespaces here, or cannot reach the program")
    for how, is_limited in (("in memory", False), ("a mount", True)):
        for user in users:
            who = f"{'an ordinary user' if user else 'root'}, {how}"
            for f in (asked_for_in_every_way, written_when_nobody_runs_it):
                suite.case(f"{f.__name__}, {who}", lambda: f(user, is_limited))
        suite.case(f"seen_from_outside, {how}", lambda: seen_from_outside(is_limited))


def main():
    global DIR
    suite = Suite()
    if not has("cc"):
        skip("no C compiler")
        return 77
    DIR = tempfile.mkdtemp(prefix="pumice-exe-", dir="/var/tmp")
    os.chmod(DIR, 0o755)
    try:
        compile_attack()
        make_image()
        try_all(suite)
    finally:
        shutil.rmtree(DIR, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
