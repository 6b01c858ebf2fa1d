#!/usr/bin/env python3
"""`pumice doctor` as root, as an ordinary user, where things are missing and where user namespaces are forbidden.

What is missing is taken away in a mount namespace of the test's own; the host is not touched.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from harness import PUMICE, Suite, pumice
from netfilter import Failing, has_nftables

IS_ROOT = os.geteuid() == 0
UID = 61235
NAMES = ["kernel", "root", "user ids", "overlay", "proc", "cgroups", "network", "nftables", "way out", "name servers", "seccomp",
         "size", "processes", "open files", "GPUs", "sshd", "mpiexec"]


class Skip(Exception):
    pass


def need_root():
    if not IS_ROOT:
        raise Skip("needs root")
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    if probe.returncode != 0:
        raise Skip("no mount namespaces")


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def shell(script, **kw):
    """Run a script that ends in the doctor ($PUMICE), in mounts of its own. With status, text and errors."""
    run = subprocess.run(["unshare", "-m", "sh", "-ec", script], capture_output=True, text=True,
                         env={**os.environ, "PUMICE": BINARY, "DIR": DIR, **kw})
    for sign in ("Sanitizer", "runtime error:"):
        expect(sign not in run.stderr, run.stderr[:2000])
    expect(run.returncode in (0, 1), f"status {run.returncode}: {run.stderr[:500]}")
    return run


def report(run):
    r = json.loads(run.stdout)
    expect(r["canRunPods"] == (run.returncode == 0), f"status {run.returncode} but {r['summary']}")
    return {c["name"]: c for c in r["checks"]}, r


def limited(checks, name, says, fix):
    c = checks[name]
    expect(c["verdict"] == "limited", c)
    expect(says in c["says"] and fix in c["fix"] and c["means"], c)


def as_user(flags=""):
    return f"exec setpriv --reuid {UID} --regid {UID} --clear-groups env HOME=$DIR/home $PUMICE doctor -o json {flags}"


# ---- cases ----

def says_everything():
    run = pumice("doctor", "-o", "json")
    checks, r = report(run)
    expect([n for n in NAMES if n in checks] == list(checks), list(checks))
    for c in r["checks"]:
        expect(c["verdict"] in ("fine", "limited", "impossible"), c)
        expect(c["says"], c)
        expect(bool(c["means"]) == (c["verdict"] != "fine") or c["name"] in ("size", "GPUs"), c)
        expect(c["verdict"] != "fine" or not c["fix"], c)
    expect(r["summary"].startswith("pods run here as" if r["canRunPods"] else "pods cannot run here: "), r["summary"])


def text_is_the_same():
    text, (checks, r) = pumice("doctor"), report(pumice("doctor", "-o", "json"))
    lines = text.stdout.splitlines()
    expect(lines[-1] == r["summary"], lines[-1])
    expect(text.returncode == (0 if r["canRunPods"] else 1), text.returncode)
    for name in checks:
        expect(any(line[0] in "✓!✗" and line[2:].startswith(name + " ") for line in lines if line), name)
    expect("\x1b" not in text.stdout, "colour though this is no terminal")


def wrong_use():
    for args in (["--nonsense"], ["-o", "yaml"], ["word"]):
        expect(pumice("doctor", *args).returncode == 2, args)


def root_can():
    need_root()
    checks, r = report(pumice("doctor", "-o", "json"))
    if not r["canRunPods"]:
        raise Skip(r["summary"])
    expect(checks["user ids"]["says"] == "all", checks["user ids"])
    expect(r["summary"].startswith("pods run here as root"), r["summary"])


def ordinary_user():
    need_root()
    checks, r = report(shell(as_user()))
    if checks["root"]["verdict"] == "impossible":
        expect("not allowed here" in r["summary"] and checks["root"]["fix"], r)
        raise Skip(r["summary"])
    expect(str(UID) in checks["root"]["says"], checks["root"])
    limited(checks, "user ids", "has no name", f"useradd -u {UID}")
    if r["canRunPods"]:
        expect(r["summary"].startswith("pods run here as an ordinary user with one user id"), r["summary"])


NAMED = f"""
mount -t tmpfs t /mnt; cp /etc/passwd /mnt/p; echo pmdoctor:x:{UID}:{UID}::/:/bin/sh >> /mnt/p
echo $RANGE > /mnt/s; mount --bind /mnt/p /etc/passwd; mount --bind /mnt/s /etc/subuid; mount --bind /mnt/s /etc/subgid
"""


def ordinary_user_with_ids():
    need_root()
    if not shutil.which("newuidmap") or not os.path.exists("/etc/subuid"):
        raise Skip("no uidmap here")
    checks, r = report(shell(NAMED + as_user(), RANGE="pmdoctor:500000:65536"))
    if checks["root"]["verdict"] == "impossible":
        raise Skip(r["summary"])
    expect(checks["user ids"]["says"] == "65537 user ids", checks["user ids"])
    if r["canRunPods"]:
        expect("an ordinary user with 65537 user ids" in r["summary"], r["summary"])
    checks, _ = report(shell(NAMED + as_user(), RANGE="somebody:500000:65536"))
    limited(checks, "user ids", "/etc/subuid has no ids", "echo pmdoctor:")
    checks, _ = report(shell(NAMED + f"mount --bind /dev/null {shutil.which('newuidmap')}; " + as_user(),
                             RANGE="pmdoctor:500000:65536"))
    limited(checks, "user ids", "newuidmap is not installed", "apt-get install uidmap")


def forbidden():
    """Where no user namespace can be made there is one clear error, for doctor and in the list."""
    need_root()
    script = ("unshare -U -r sh -ec 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin "
              "--inh-caps=-all $PUMICE doctor -o json'")
    try:
        run = shell(script)
        checks, r = report(run)
    except AssertionError as e:
        raise Skip(f"cannot take user namespaces away: {e}") from e
    expect(run.returncode == 1 and checks["root"]["verdict"] == "impossible", r)
    expect("user.max_user_namespaces is 0" in r["summary"], r["summary"])
    expect(checks["root"]["fix"] == "as root: sysctl -w user.max_user_namespaces=15000", checks["root"])
    expect("network" not in checks and "sshd" in checks, list(checks))


def missing_programs():
    need_root()
    hide = " ".join(f"mount --bind /dev/null {path};" for name in ("nft", "sshd", "mpiexec")
                    for path in [shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")] if path)
    checks, r = report(shell(hide + " exec $PUMICE doctor -o json"))
    limited(checks, "sshd", "sshd is not installed", "apt-get install openssh-server")
    limited(checks, "mpiexec", "mpiexec is not installed", "apt-get install openmpi-bin")
    expect(not r["canRunPods"] or "sshd" in r["summary"], r["summary"])
    if has_nftables() and checks.get("network", {}).get("verdict") == "fine":
        expect(checks["nftables"]["verdict"] == "fine", checks["nftables"])  # without the program


def no_nftables():
    """The kernel has none: what it answers is made up."""
    need_root()
    for uid in (0, UID):
        kernel = Failing(f"{DIR}/socket-{uid}", missing=True)
        run = subprocess.run([*kernel.command(uid), BINARY, "doctor", "-o", "json", "--state", f"{DIR}/home/{uid}"], capture_output=True, text=True)
        checks, r = report(run)
        if checks["root"]["verdict"] != "impossible" and checks["network"]["verdict"] == "fine":
            limited(checks, "nftables", "this kernel has no nf_tables", "modprobe")
            expect("nftables" in r["summary"], r["summary"])


def few_files():
    run = subprocess.run(["sh", "-c", "ulimit -n 900; exec $PUMICE doctor -o json"], capture_output=True, text=True,
                         env={**os.environ, "PUMICE": BINARY})
    checks, _ = report(run)
    limited(checks, "open files", "at most 900", "ulimit -Hn")


def bad_state_directory():
    need_root()
    run = pumice("doctor", "-o", "json", "--state", "/proc/nowhere/at/all")
    checks, r = report(run)
    if checks["root"]["verdict"] == "impossible":
        raise Skip(r["summary"])
    expect(run.returncode == 1 and checks["overlay"]["verdict"] == "impossible", r)
    expect("--state" in checks["overlay"]["fix"], checks["overlay"])


def nothing_is_left():
    need_root()

    def seen():
        links = {name for name in os.listdir("/sys/class/net") if name.startswith("pm") and name.endswith("h")}
        tables = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True).stdout if shutil.which("nft") else ""
        groups = subprocess.run(["find", "/sys/fs/cgroup", "-maxdepth", "3", "-name", "pumice-doctor*"], capture_output=True,
                                text=True).stdout
        return (links, {t for t in tables.splitlines() if "pumice_" in t}, set(groups.split()), set(os.listdir(STATE)))

    before = seen()
    pumice("doctor", "--state", STATE)
    for _ in range(60):  # the kernel removes links by and by; others' runs may come and go meanwhile
        left = [now - then for now, then in zip(seen(), before)]
        if not any(left):
            return
        time.sleep(0.05)
    raise AssertionError(f"left behind: {left}")


def main():
    suite = Suite()
    for f in (says_everything, text_is_the_same, wrong_use, root_can, ordinary_user, ordinary_user_with_ids, forbidden,
              missing_programs, no_nftables, few_files, bad_state_directory, nothing_is_left):
        def case(f=f):
            try:
                f()
            except Skip as e:
                print(f"skipped {f.__name__}: {e}")
        suite.case(f.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as DIR:
        os.chmod(DIR, 0o755)
        BINARY = shutil.copy(PUMICE, DIR)  # an ordinary user may not be able to reach the build directory
        os.chmod(BINARY, 0o755)
        os.mkdir(os.path.join(DIR, "home"))
        STATE = os.path.join(DIR, "state")
        os.mkdir(STATE)
        if IS_ROOT:
            os.chown(os.path.join(DIR, "home"), UID, UID)
        sys.exit(main())
