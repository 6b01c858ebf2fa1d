#!/usr/bin/env python3
"""NetworkPolicy when nftables fail, hang or are missing: a pod that a policy selects never runs without it, and one that cannot
start says why. What the kernel answers is made up (netfilter.py); the program itself is as it always is."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import harness
import runs
from harness import PUMICE, Suite
from netfilter import TROUBLE, Failing, has_nftables
from runs import Run, has_mount_namespaces, has_user_namespaces, job, run_text, same, sh, skip, task

PYTHON = "/usr/bin/python3"
NOBODY = 65534
DIR = tempfile.mkdtemp(prefix="pumice-filter-")


class Kernel(Failing):
    """With a directory, for the files that the pods look at."""

    def __init__(self, **how):
        self.dir = tempfile.mkdtemp(dir=DIR)
        os.chmod(self.dir, 0o777)
        super().__init__(f"{self.dir}/socket", **how)

    def put(self, name):
        open(f"{self.dir}/{name}", "w").close()

    def run(self, what, *options, user=None):
        return Run(what, *options, user=user, within=self.command(user))


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


def start(kernel, user):
    """Some that are there from the beginning, and one that comes when the first of them ends: when there is a file "go"."""
    gate = {"pod": {"volumes": [{"name": "gate", "hostPath": {"path": kernel.dir}}]}, "volumeMounts": [{"name": "gate", "mountPath": "/gate"}],
            "resources": {"requests": {"cpu": "1"}}}
    first = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "first"}, "value": 9}
    return kernel.run([first, job("web", task("a", SERVER, **gate), plugins={"svc": []}, priorityClassName="first"),
                job("stranger", task("a", STRANGER, **gate), priorityClassName="first"),
                job("until", task("a", sh("until [ -e /gate/go ]; do sleep 0.1; done"), **gate), priorityClassName="first"),
                job("late", task("a", sh("echo came"), **gate), plugins={"svc": []})], "--node", "cpu=3,memory=1Gi", user=user)


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
        kernel = Kernel(fails=4)
        found.append((kernel, start(kernel, user)))
    for kernel, r in found:
        r.until_line("listens")
        stays_closed(r)
        kernel.broken = True
        kernel.put("go")
        r.until(lambda r: any("failed to update NetworkPolicies" in n and TROUBLE in n for n in notices(r)))
        r.until(lambda r: "NetworkNotReady" in reasons(r, "late-a-0"))
        stays_closed(r)
        same(r.lines("late-a-0"), [])
        kernel.broken = False
    for kernel, r in found:
        r.until_line("came")
        kernel.put("end")
        r.end().done()
        same(set(r.lines("stranger-a-0")), {"refused"})
        assert "NetworkNotReady" in reasons(r, "web-a-0"), r.of("pod")
        assert "NetworkNotReady" not in reasons(r, "stranger-a-0"), r.of("pod")
        same(len([n for n in notices(r) if TROUBLE in n]), 2)
        same(len([n for n in notices(r) if "are in force now" in n]), 2)


# ---- it does not ----

def never_works():
    """What a policy selects does not start; what none selects does. The run says what to do, and ends."""
    jobs = [job("web", task("a", sh("echo web")), plugins={"svc": []}), job("free", task("a", sh("echo free")))]
    kernels = [Kernel(broken=True) for _ in users()]
    for r in [k.run(jobs, user=u) for u, k in zip(users(), kernels)]:
        r.end()
        same((r.status, r.all_lines()), (1, ["free"]))
        for word in ("NetworkNotReady", "NetworkPolicy default/web is not in force", TROUBLE, "--allow-unfiltered"):
            assert word in r.last()["reason"], r.last()
    for r in [k.run(jobs, "--allow-unfiltered", user=u) for u, k in zip(users(), kernels)]:
        r.end()
        same((r.status, sorted(r.all_lines())), (0, ["free", "web"]))
        assert any("pods run without NetworkPolicies" in n for n in notices(r)), notices(r)


def hangs():
    """The run goes on beside it, and Ctrl-C ends both."""
    jobs = [job("web", task("a", sh("echo web")), plugins={"svc": []})]
    kernels = [Kernel(hangs=True) for _ in users()]
    for r, kernel in [(k.run(jobs, user=u), k) for u, k in zip(users(), kernels)]:
        r.until(lambda r: kernel.calls and "starting" in r.states().values())
        r.signal(signal.SIGINT).end()
        same((r.status, r.all_lines()), (130, []))


def is_missing():
    """Nothing runs, and one sentence says what to do and how to do without. Who has no policies does not need it."""
    kernel = Kernel(missing=True)
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "open"},
              "spec": {"podSelector": {}, "ingress": [{}]}}
    for user in users():
        for what, who in (([job("web", task("a", sh("echo web")), plugins={"svc": []})], "Job web: "),
                          ([job("web", task("a", sh("echo web"))), policy], "NetworkPolicy open: ")):
            r = run_text(what, user=user, within=kernel.command(user))
            same((r.status, r.out), (1, ""))
            for word in (who, "this kernel has no nf_tables", "modprobe nf_tables", "--allow-unfiltered"):
                assert word in r.err, r.err
    for user, option in zip(users(), ("--allow-unfiltered", "--set=spec.plugins.svc=[--disable-network-policy=true]")):
        kernel.run(job("web", task("a", sh("echo web")), plugins={"svc": []}), option, user=user).end().done()
    kernel.run(job("web", task("a", sh("echo web")))).end().done()


def no_program():
    """The program nft is not needed."""
    nft = shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin")
    if not nft or os.getuid() != 0 or not has_mount_namespaces():
        return skip("no program: may not hide it, or it is not there")
    hide = ["unshare", "-m", "--propagation", "private", "sh", "-ec", f'mount --bind /dev/null {nft}; exec "$@"', "sh"]
    same(subprocess.run([*hide, nft, "--version"], capture_output=True).returncode, 126)
    r = Run([job("web", task("a", sh("echo web")), plugins={"svc": []})], within=hide)
    r.end().done()
    same(r.all_lines(), ["web"])


def main():
    suite = Suite()
    if not has_nftables():
        skip("there are no nftables")
        return 0
    os.chmod(DIR, 0o755)
    if os.getuid() == 0:  # it may be where only root can go
        runs.PUMICE = harness.PUMICE = shutil.copy(PUMICE, f"{DIR}/pumice")
    for f in (fails_for_a_while, never_works, hangs, is_missing, no_program):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    shutil.rmtree(DIR, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
