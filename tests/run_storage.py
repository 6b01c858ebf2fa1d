#!/usr/bin/env python3
"""Limits on the use of the disk: ephemeral-storage and emptyDir.sizeLimit. Whoever uses more is evicted in a kubelet's words, whoever
does not goes on."""
import contextlib
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Suite  # noqa: E402
from runs import Run, container, has_user_namespaces, job, own_directory, same, sh, skip, task  # noqa: E402

D = ""
WAITS = "; until [ -e /go/on ]; do sleep 0.05; done"
FILL = "head -c 3000000 /dev/zero > "


def limits(size):
    return {"resources": {"limits": {"ephemeral-storage": size}}}


def pod(*volumes):
    return {"volumes": [{"name": "go", "hostPath": {"path": D}}, *volumes]}


def mounts(*names):
    return {"volumeMounts": [{"name": "go", "mountPath": "/go"}, *({"name": n, "mountPath": f"/{n}"} for n in names)]}


def tasks():
    disk, small = {"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {"sizeLimit": "1024Ki"}}
    memory = {"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    two = [container(sh(FILL + "/v/x" + WAITS), name, **limits("1Mi"), **mounts("v")) for name in ("one", "two")]
    return [
        # too much: in the root, in /tmp, in the log, in a volume, in all of it together
        task("root", sh("mkdir /o; " + FILL + "/o/x" + WAITS), pod=pod(), **limits("1Mi"), **mounts()),
        task("tmp", sh(FILL + "/tmp/x" + WAITS), pod=pod(), **limits("1Mi"), **mounts()),
        task("log", sh("seq 1 500000" + WAITS), pod=pod(), **limits("1Mi"), **mounts()),
        task("volume", sh(FILL + "/v/x" + WAITS), pod=pod(small), **mounts("v")),
        task("both", [], pod={**pod(disk), "containers": two}),
        task("dirs", sh("mkdir /o; cd /o; seq 1 600 | xargs mkdir" + WAITS), pod=pod(), **limits("1Mi"), **mounts()),
        # not too much: less; holes; one file by many names; what was deleted; memory, which has a size of its own
        task("fine", sh("head -c 400000 /dev/zero > /x; truncate -s 5G /y; for i in 1 2 3 4 5 6; do ln /x /x$i; done; " + FILL +
                        "/z; rm /z; head -c 3000000 /dev/zero > /v/x || echo full" + WAITS), pod=pod(memory), **limits("1Mi"), **mounts("v")),
        task("free", sh(FILL + "/x" + WAITS), pod=pod(disk), **mounts("v")),
    ]


WANT = {
    "root": 'Container main exceeded its local ephemeral storage limit "1Mi". ',
    "tmp": 'Container main exceeded its local ephemeral storage limit "1Mi". ',
    "log": 'Container main exceeded its local ephemeral storage limit "1Mi". ',
    "volume": 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
    "both": "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ",
    "dirs": 'Container main exceeded its local ephemeral storage limit "1Mi". ',
}


def failed(r):
    return {e["task"]: (e["reason"], e["message"]) for e in r.of("pod") if e["state"] == "failed"}


@contextlib.contextmanager
def counting_disk():
    """An ext4 that counts by project, or why there is none: mount says that the kernel has no quotas (CONFIG_QFMT_V2)."""
    image, at = os.path.join(D, "disk"), os.path.join(D, "counts")
    with open(image, "wb") as f:
        f.truncate(64 << 20)
    os.mkdir(at)
    subprocess.run(["mkfs.ext4", "-q", "-O", "quota,project", "-E", "quotatype=prjquota", image], check=True)
    mounted = subprocess.run(["mount", "-o", "loop,prjquota", image, at], capture_output=True, text=True)
    try:
        yield at, mounted.stderr.strip().splitlines()[:1]
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", at], check=True)
        os.unlink(image)


def counted_by_the_file_system():
    """What was deleted but is still open is seen only by the count, and 'both' only if it is not counted twice."""
    if os.getuid() != 0 or not shutil.which("mkfs.ext4"):
        return skip("only root can mount one")
    with counting_disk() as (at, why):
        if why:
            return skip(why[0])
        deleted = task("deleted", sh("exec 3> /x; rm /x; head -c 3000000 /dev/zero >&3" + WAITS), pod=pod(), **limits("1Mi"), **mounts())
        enforced(None, "--state", at, more={"deleted": (deleted, WANT["root"])})


def enforced(user=None, *options, more={}):
    flag = os.path.join(D, "on")
    if os.path.exists(flag):
        os.unlink(flag)
    want = {**WANT, **{name: words for name, (_, words) in more.items()}}
    r = Run(job("j", *tasks(), *(t for t, _ in more.values()), minAvailable=8 + len(more)), "--network", "private", "--logs", "fine", "--node",
            "cpu=9,memory=4Gi,ephemeral-storage=1Gi", *options, user=user)
    r.until(lambda r: set(failed(r)) >= set(want))
    open(flag, "w").close()
    r.end()
    same({k: (reason, m.strip()) for k, (reason, m) in failed(r).items()}, {k: ("Evicted", m.strip()) for k, m in want.items()})
    same({e["task"] for e in r.of("pod") if e["state"] == "succeeded"}, {"fine", "free"})
    assert "full" in r.lines("fine-0"), r.lines("fine-0")


def as_user():
    if os.getuid() != 0 or not has_user_namespaces(61999):
        return skip("no user namespaces for others")
    return enforced(61999)


def main():
    global D
    suite = Suite()
    with own_directory("storage") as D:
        for case in (enforced, as_user, counted_by_the_file_system):
            if len(sys.argv) == 1 or case.__name__ in sys.argv:
                suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
