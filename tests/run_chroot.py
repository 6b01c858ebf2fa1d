#!/usr/bin/env python3
"""`pumice run` in a chroot, whose root may be no mount point: pods run, and commands in them (probes, hooks) run in them and not in the
machine around the chroot. The chroot is made of the host's own /usr in a mount namespace that goes with the test."""
import os
import subprocess
import sys
import tempfile

import runs
from harness import PUMICE, Suite
from runs import has, has_mount_namespaces, job, same, sh, skip, task

# Arguments: where it is to be, is it to be a mount point, the program.
MAKE = r"""
mkdir "$1" && mount -t tmpfs none "$1" && r=$1/root && mkdir $r && shift
[ "$1" = mount ] && mount --bind $r $r; shift
mkdir $r/usr $r/proc $r/sys $r/dev $r/etc $r/tmp $r/root $r/run $r/srv $r/var $r/var/lib
mount --bind /usr $r/usr
for d in bin sbin lib lib32 lib64; do
    if [ -L /$d ]; then cp -P /$d $r/$d; elif [ -d /$d ]; then mkdir $r/$d; mount --bind /$d $r/$d; fi
done
cp -P /etc/passwd /etc/group /etc/shadow /etc/nsswitch.conf /etc/ld.so.c* $r/etc/ 2> /dev/null || true
[ -d /etc/alternatives ] && cp -RP /etc/alternatives $r/etc/
mount -t proc none $r/proc; mount --rbind /sys $r/sys; mount --rbind /dev $r/dev
cp "$1" $r/pumice; shift
cat > $r/srv/job.json
exec chroot $r /bin/sh -c 'cd /srv; "$0" "$@"; s=$?; ls; exit $s' /pumice run "$@" job.json
"""

# Where a command runs: the mark is a file of the machine that is not in the chroot.
WHERE = "if [ -e MARK ]; then echo outside >> MARK; else echo in $(hostname) > /NAME; fi"


def where(mark, name):
    return {"exec": {"command": sh(WHERE.replace("MARK", mark).replace("NAME", name))}}


def in_chroot(kind, *options, **fields):
    """Standard output of a run, and what commands left in the machine."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        with open(f"{d}/mark", "w"):
            pass
        wait = "n=0; until [ -e /probe ] && [ -e /hook ] || [ $n = 60 ]; do n=$((n + 1)); sleep 0.1; done; cat /probe /hook"
        text = runs.json.dumps(job("j", task("a", sh(wait), readinessProbe={**where(f"{d}/mark", "probe"), "periodSeconds": 1},
                                             lifecycle={"postStart": where(f"{d}/mark", "hook")}, **fields)))
        r = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-ec", MAKE, "sh", f"{d}/top", kind, PUMICE, "-q", "--state",
                            "/var/lib/pumice", "--claims", "claims", *options], capture_output=True, text=True, input=text)
        with open(f"{d}/mark") as f:
            return r.returncode, r.stdout.splitlines(), f.read(), r.stderr


WANT = (0, ["a-0 | in j-a-0", "a-0 | in j-a-0", "claims", "job.json"], "")


def root_is_a_directory():
    got = in_chroot("directory")
    same(got, (*WANT, got[3]))


def root_is_a_mount():
    got = in_chroot("mount")
    same(got, (*WANT, got[3]))


def other_runtimes():
    for name in ("runc", "crun"):
        if not has(name):
            skip(f"no {name}")
            continue
        got = in_chroot("directory", "--runtime", name)
        same((name, *got), (name, *WANT, got[3]))


def main():
    suite = Suite()
    if os.geteuid() != 0:
        skip("a chroot: not root")
        return 77
    if not has_mount_namespaces():
        skip("no mount namespaces")
        return 77
    for f in (root_is_a_directory, root_is_a_mount, other_runtimes):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
