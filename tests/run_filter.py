#!/usr/bin/env python3
"""NetworkPolicy when nft fails, hangs or is missing: a pod that a policy selects never runs without it, and one that cannot
start says why. A made-up nft in PATH fails as long as there is a file "broken", or for the first calls; else it is the real one."""
import ctypes
import os
import shutil
import signal
import sys
import tempfile

import harness
import runs
from harness import PUMICE, Suite
from runs import Run, has, has_mount_namespaces, has_user_namespaces, job, run_text, same, sh, skip, task

PYTHON = "/usr/bin/python3"
NOBODY = 65534
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18
DIR = tempfile.mkdtemp(prefix="pumice-filter-")

NFT = """#!/bin/sh
n=$(cat {dir}/calls 2> /dev/null || echo 0)
echo $((n + 1)) > {dir}/calls
[ ! -e {dir}/hangs ] || sleep 600
if [ $n -lt {fails} ] || [ -e {dir}/broken ]; then echo 'made-up trouble' >&2; exit 1; fi
exec {nft} "$@"
"""


class Nft:
    """A directory with a made-up nft, for PATH."""

    def __init__(self, fails=0, **files):
        self.dir = tempfile.mkdtemp(dir=DIR)
        os.chmod(self.dir, 0o777)
        for name in files:
            self.put(name)
        with open(f"{self.dir}/nft", "w") as f:
            f.write(NFT.format(dir=self.dir, fails=fails, nft=shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin")))
        os.chmod(f"{self.dir}/nft", 0o755)
        self.env = {"PATH": f"{self.dir}:{os.environ['PATH']}"}

    def put(self, name):
        open(f"{self.dir}/{name}", "w").close()

    def take(self, name):
        os.unlink(f"{self.dir}/{name}")


def users():
    """Ourselves, and as root an ordinary user too, where such a one can run pods."""
    return [None, NOBODY] if os.getuid() == 0 and has_user_namespaces(NOBODY) else [None]


def notices(r):
    return [e["text"] for e in r.of("notice")]


def reasons(r, pod):
    return {e.get("reason") for e in r.of("pod") if e["pod"] == pod}


# ---- it comes back ----

SERVER = [PYTHON, "-u", "-c", """
import os, socket
s = socket.create_server(("0.0.0.0", 8000))
s.settimeout(0.1)
print("listens")
while not os.path.exists("/gate/end"):
    try:
        s.accept()
    except TimeoutError:
        pass
"""]
# Tries until the end, and says now and then that it does not get through.
STRANGER = [PYTHON, "-u", "-c", """
import os, socket, time
n = 0
while not os.path.exists("/gate/end"):
    time.sleep(0.05)
    try:
        socket.create_connection(("web-a-0.web", 8000), 5).close()
        print("reached")
    except socket.gaierror:
        pass
    except OSError:
        n += 1
        if n % 5 == 0:
            print("refused")
"""]


def start(nft, user):
    """Some that are there from the beginning, and one that comes when the first of them ends: when there is a file "go"."""
    gate = {"pod": {"volumes": [{"name": "gate", "hostPath": {"path": nft.dir}}]}, "volumeMounts": [{"name": "gate", "mountPath": "/gate"}],
            "resources": {"requests": {"cpu": "1"}}}
    first = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "first"}, "value": 9}
    return Run([first, job("web", task("a", SERVER, **gate), plugins={"svc": []}, priorityClassName="first"),
                job("stranger", task("a", STRANGER, **gate), priorityClassName="first"),
                job("until", task("a", sh("until [ -e /gate/go ]; do sleep 0.1; done"), **gate), priorityClassName="first"),
                job("late", task("a", sh("echo came"), **gate), plugins={"svc": []})], "--node", "cpu=3,memory=1Gi", user=user, env=nft.env)


def stays_closed(r):
    """The stranger has tried several times more, in vain."""
    n = len(r.lines("stranger-a-0")) + 2
    r.until(lambda r: len(r.lines("stranger-a-0")) >= n)
    same(set(r.lines("stranger-a-0")), {"refused"})


def fails_for_a_while():
    """At the beginning pods wait for it, with a reason. Later, when pods and policies change, what was in force stays, and new pods
    wait. Both times it is tried again until it works."""
    found = []
    for user in users():
        nft = Nft(fails=4)
        found.append((nft, start(nft, user)))
    for nft, r in found:
        r.until_line("listens")
        stays_closed(r)
        nft.put("broken")
        nft.put("go")
        r.until(lambda r: any("stay as they were" in n and "made-up trouble" in n for n in notices(r)))
        r.until(lambda r: "NetworkNotReady" in reasons(r, "late-a-0"))
        stays_closed(r)
        same(r.lines("late-a-0"), [])
        nft.take("broken")
    for nft, r in found:
        r.until_line("came")
        nft.put("end")
        r.end().done()
        same(set(r.lines("stranger-a-0")), {"refused"})
        assert "NetworkNotReady" in reasons(r, "web-a-0"), r.of("pod")
        assert "NetworkNotReady" not in reasons(r, "stranger-a-0"), r.of("pod")
        same(len([n for n in notices(r) if "made-up trouble" in n]), 2)
        same(len([n for n in notices(r) if "are in force now" in n]), 2)


# ---- it does not ----

def never_works():
    """What a policy selects does not start; what none selects does. The run says what to do, and ends."""
    jobs = [job("web", task("a", sh("echo web")), plugins={"svc": []}), job("free", task("a", sh("echo free")))]
    nfts = [Nft(broken=True) for _ in users()]
    for r in [Run(jobs, user=u, env=n.env) for u, n in zip(users(), nfts)]:
        r.end()
        same((r.status, r.all_lines()), (1, ["free"]))
        for word in ("NetworkNotReady", "NetworkPolicy default/web is not in force", "made-up trouble", "--allow-unfiltered"):
            assert word in r.last()["reason"], r.last()
    for r in [Run(jobs, "--allow-unfiltered", user=u, env=n.env) for u, n in zip(users(), nfts)]:
        r.end()
        same((r.status, sorted(r.all_lines())), (0, ["free", "web"]))
        assert any("pods run without NetworkPolicies" in n for n in notices(r)), notices(r)


def hangs():
    """The run goes on beside it, and Ctrl-C ends both."""
    jobs = [job("web", task("a", sh("echo web")), plugins={"svc": []})]
    nfts = [Nft(hangs=True) for _ in users()]
    for r, nft in [(Run(jobs, user=u, env=n.env), n) for u, n in zip(users(), nfts)]:
        r.until(lambda r: os.path.exists(f"{nft.dir}/calls") and "starting" in r.states().values())
        r.signal(signal.SIGINT).end()
        same((r.status, r.all_lines()), (130, []))


def is_missing():
    """Nothing runs, and one sentence says what to install and how to do without. Who has no policies does not need it."""
    nft = shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin")
    if os.getuid() != 0 or not has_mount_namespaces() or ctypes.CDLL(None).unshare(CLONE_NEWNS) != 0:
        return skip("no nft: may not hide it (not root, or no mount namespaces)")
    mount("none", "/", MS_REC | MS_PRIVATE)
    mount("/dev/null", nft, MS_BIND)
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "open"},
              "spec": {"podSelector": {}, "ingress": [{}]}}
    for user in users():
        for what, who in (([job("web", task("a", sh("echo web")), plugins={"svc": []})], "Job web: "),
                          ([job("web", task("a", sh("echo web"))), policy], "NetworkPolicy open: ")):
            r = run_text(what, user=user)
            same((r.status, r.out), (1, ""))
            for word in (who, "there is no program nft", "apt-get install nftables", "--allow-unfiltered"):
                assert word in r.err, r.err
    for user, option in zip(users(), ("--allow-unfiltered", "--set=spec.plugins.svc=[--disable-network-policy=true]")):
        Run(job("web", task("a", sh("echo web")), plugins={"svc": []}), option, user=user).end().done()
    Run(job("web", task("a", sh("echo web")))).end().done()


def mount(source, target, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def main():
    suite = Suite()
    if not has("nft"):
        skip("there is no nft")
        return 0
    os.chmod(DIR, 0o755)
    if os.getuid() == 0:  # it may be where only root can go
        runs.PUMICE = harness.PUMICE = shutil.copy(PUMICE, f"{DIR}/pumice")
    for f in (fails_for_a_while, never_works, hangs, is_missing):  # the last one changes what we see of the machine
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    shutil.rmtree(DIR, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
