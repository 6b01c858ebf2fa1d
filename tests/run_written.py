#!/usr/bin/env python3
"""What pods wrote that goes with them: told in one line at the end, copied out by --keep, whatever the pods put there."""
import os
import re
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import images  # noqa: E402
from harness import Suite  # noqa: E402
from runs import container, has, has_mount_namespaces, has_user_namespaces, job, own_directory, run, run_text, same, sh, skip, task  # noqa: E402

D = ""  # for files of the tests; everybody may look into it
NODE = "--network", "private"
DISK = {"volumes": [{"name": "d", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}}]}
MOUNTS = [{"name": "d", "mountPath": "/scratch"}, {"name": "m", "mountPath": "/memory"}]
# Four files: in a new directory of the root, in one that is there, in /tmp, in a volume. The others are no results.
WRITES = """
mkdir -p /results/deep/er && printf 12345678 > /results/deep/er/model && printf 1234 > /usr/local/lib/notes
printf 123456 > /tmp/log; printf 12 > /scratch/part; printf 1 > /memory/no; [ -e /etc/image ] || printf 1 > /run/no; printf 1 > /dev/shm/no
mkdir /results/__pycache__ && printf 1 > /results/__pycache__/x.pyc; echo mine >> /etc/hosts; rm -f /usr/bin/yes; mkdir /results/empty
"""


def said(r):
    return [line for line in r.err.splitlines() if line.startswith("pumice: ") and ("that pods wrote" in line or "deleted with the pod" in line)]


def tree(top):
    """Plain files and links below it, with what is in them."""
    out = {}
    for here, dirs, names in os.walk(top):
        for name in names + [d for d in dirs if os.path.islink(os.path.join(here, d))]:
            path = os.path.join(here, name)
            out[os.path.relpath(path, top)] = os.readlink(path) if os.path.islink(path) else open(path, "rb").read()
    return out


WHAT = job("j", task("a", sh(WRITES), pod=DISK, volumeMounts=MOUNTS))
RESULTS = {"results/deep/er/model": b"12345678", "usr/local/lib/notes": b"1234", "tmp/log": b"123456", "scratch/part": b"12"}


def written(*options, user=None):
    """Copies, and what a program is told of them."""
    keep = os.path.join(D, f"out-{len(os.listdir(D))}")
    os.mkdir(keep)
    if user:
        os.chown(keep, user, user)
    r = run(WHAT, *NODE, *options, "--keep", keep, user=user).done()
    event, = r.of("written")
    same((event["files"], event["bytes"], event["kept"]["files"]), (4, 20, 4))
    same(os.listdir(keep), ["j-a-0"])
    same(tree(os.path.join(keep, "j-a-0")), RESULTS)
    owners = {os.lstat(os.path.join(here, n)).st_uid for here, dirs, names in os.walk(keep) for n in dirs + names}
    same(owners, {user or os.geteuid()})


def hosts_files():
    r = run_text(WHAT, *NODE)
    same((r.status, said(r)), (0, ["pumice: deleted with the pod: 4 files (20B): /results/deep/er 8B, /tmp 6B, /usr/local/lib 4B … "
                                   "(--keep DIR copies them out)"]))
    written()


def as_user():
    if os.getuid() != 0 or not has_user_namespaces(61999):
        return skip("no user namespaces for others")
    written(user=61999)
    return None


def image():
    archive = images.write(os.path.join(D, "image.tar"), images.layer(images.root(
        images.folder("tmp"), images.folder("usr/local/lib"), images.text("usr/bin/yes", "no"), images.text("etc/image", ""))))
    written("--image", f"debian:12={archive}", "--image-store", os.path.join(D, "store"))


def runtimes():
    for name in ("runc", "crun"):
        if has(name):
            written("--runtime", name)
        else:
            skip(name)


HOSTILE = r"""
import os, socket
os.makedirs("/out/sub"); os.chdir("/out")
open("plain", "w").write("x" * 100); os.chmod("plain", 0o6755); os.chown("plain", 1234, 1234)
os.link("plain", "sub/same"); open("closed", "w").write("shut"); os.chmod("closed", 0)
with open("sparse", "wb") as f:
    f.seek(1 << 30); f.write(b"end")
os.symlink("/etc/passwd", "link"); os.symlink("..", "sub/up"); os.mkfifo("fifo")
s = socket.socket(socket.AF_UNIX); s.bind("socket")
open("odd\x1b[31m\n", "w").write("odd"); open(b"bad\xff", "w").write("bytes")
os.mkdir("shut"); open("shut/in", "w").write("in"); os.chmod("shut", 0o500)
try:
    os.mknod("device", 0o600 | 0o020000, os.makedev(1, 3))
except PermissionError:
    pass
os.chdir("/out"); os.mkdir("deep"); os.chdir("deep")
for i in range(400):
    os.mkdir("d"); os.chdir("d")
open("bottom", "w").write("far")
"""


def hostile():
    """Nothing of it is followed, run, or owned by anybody else; what cannot be copied is told. A name that is taken, by a link too, stays."""
    keep, elsewhere = os.path.join(D, "hostile"), os.path.join(D, "elsewhere")
    os.makedirs(keep)
    os.makedirs(elsewhere)
    os.symlink(elsewhere, os.path.join(keep, "j-a-0"))
    r = run_text(job("j", task("a", ["/usr/bin/python3", "-c", HOSTILE])), *NODE, "--keep", keep)
    same(r.status, 0)
    same(len(said(r)), 1)
    assert re.search(r"^pumice: copied 9 files \(4\.\dKi\) that pods wrote to .*, next to existing files: j-a-0\.2; skipped [345] that are no regular file, or too deep$",
                     said(r)[0]), said(r)
    same(os.listdir(elsewhere), [])
    out = os.path.join(keep, "j-a-0.2", "out")
    st = os.lstat(os.path.join(out, "plain"))
    same((stat.S_IMODE(st.st_mode), st.st_uid, st.st_nlink), (0o755, os.geteuid(), 2))
    same(os.lstat(os.path.join(out, "sub/same")).st_ino, st.st_ino)
    same(stat.S_IMODE(os.lstat(os.path.join(out, "closed")).st_mode) & 0o700, 0o600)
    st = os.lstat(os.path.join(out, "sparse"))
    assert st.st_size == (1 << 30) + 3 and st.st_blocks < 1000, st
    same((os.readlink(os.path.join(out, "link")), os.readlink(os.path.join(out, "sub/up"))), ("/etc/passwd", ".."))
    same(sorted(os.listdir(os.fsencode(out))),
         sorted([b"plain", b"sub", b"closed", b"sparse", b"link", b"odd\x1b[31m\n", b"bad\xff", b"shut"]))


def shown_safely():
    """Names of directories are text of the pod; what is not looked at is said to be there."""
    script = "mkdir -p '/x\x1b[31m'; echo 1 > '/x\x1b[31m/f'; cd /; for i in $(seq 200); do mkdir d; cd d; done"
    r = run_text(job("j", task("a", sh(script))), *NODE)
    same(said(r), ["pumice: deleted with the pod: more than 1 file (2B): /x\\x1b[31m 2B (--keep DIR copies it out)"])


def again_and_again():
    """Each start of a container, each pod of a name, each container has a directory of its own; for programs it is an event."""
    keep = os.path.join(D, "again")
    both = {"containers": [container(sh("echo one > /out"), "one"), container(sh("echo two > /out; echo x > /s/x"), "two",
                                                                                volumeMounts=[{"name": "s", "mountPath": "/s"}])],
            "volumes": [{"name": "s", "emptyDir": {}}]}
    counted = {"restartPolicy": "OnFailure", "volumes": [{"name": "s", "emptyDir": {}}]}
    r = run(job("j", task("a", sh("echo x >> /s/n; wc -l < /s/n > /out; [ $(wc -l < /s/n) = 3 ]"), pod=counted,
                          volumeMounts=[{"name": "s", "mountPath": "/s"}]),
                task("b", [], pod=both)), *NODE, "--keep", keep).done()
    same({n: tree(os.path.join(keep, n)) for n in os.listdir(keep)},
         {"j-a-0": {"out": b"1\n"}, "j-a-0.2": {"out": b"2\n"}, "j-a-0.3": {"out": b"3\n", "s/n": b"x\nx\nx\n"},
          "j-b-0.one": {"out": b"one\n"}, "j-b-0.two": {"out": b"two\n", "s/x": b"x\n"}})
    event, = r.of("written")
    same((event["files"], event["bytes"], event["kept"]["files"], event["kept"]["notCopied"]), (7, 22, 7, 0))


CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}


def claims():
    """One that goes with the run counts; one that stays does not. A generated one is found again by the next run."""
    pod = {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "data"}}]}
    what = [CLAIM, job("j", task("a", sh("echo 1 > /c/f"), pod=pod, volumeMounts=[{"name": "c", "mountPath": "/c"}]))]
    keep, stays = os.path.join(D, "claims-kept"), ("--claims", os.path.join(D, "claims"))
    r = run(what, *NODE, "--keep", keep).done()
    same([(e["files"], e["directories"]) for e in r.of("written")], [(1, [{"path": "claim data:/", "bytes": 2}])])
    same(tree(keep), {"claim-data/f": b"1\n"})
    generated = job("g", task("a", sh("cat /w/f; echo again > /w/f")),
                    volumes=[{"mountPath": "/w", "volumeClaim": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}])
    r = run([*what, generated], *NODE, *stays).done()
    same((r.of("written"), r.lines("g-a-0")[-1:]), ([], ["cat: /w/f: No such file or directory"]))
    same(run(generated, *NODE, *stays).done().lines("g-a-0"), ["again"])


DEFILES = """
import os, stat
st, index = os.stat("/"), int(os.uname().nodename.rsplit("-", 1)[1])
print(oct(st.st_mode), st.st_uid, os.listxattr("/"), os.path.exists("/mine"))
(lambda: os.chmod("/", 0o711), lambda: os.chown("/", 7, 7), lambda: os.setxattr("/", "user.mine", b"1"), lambda: os.mkdir("/mine"),
 lambda: (os.mkdir("/mine"), os.rmdir("/mine")), lambda: os.setxattr("/", "user.overlay.uuid", b"0123456789abcdef"),
 lambda: os.rmdir("/media"), lambda: None)[index % 8]()
"""


def nothing_passes_on():
    """One pod after the other, each of which changes its root in another way: each finds it as the first did."""
    j = job("j", task("a", ["python3", "-c", DEFILES], replicas=12), minAvailable=1)
    r = run(j, *NODE, "--node", "cpu=8,memory=8Gi,pods=1")
    st = os.stat("/")
    same([e["text"] for e in r.of("log")], [f"{oct(st.st_mode)} {st.st_uid} [] False"] * 12)


def full_disk():
    """The exit status is the job's; what was not copied is named; no half of a file stays."""
    if os.getuid() != 0 or not has_mount_namespaces():
        return skip("no mount namespaces")
    small = os.path.join(D, "small")
    os.makedirs(small)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", small], check=True)
    try:
        r = run_text(job("j", task("a", sh("mkdir /o; echo 1 > /o/a; head -c 1000000 /dev/zero > /o/b; echo 1 > /o/c; exit 3"))), *NODE, "--keep", small)
        same(r.status, 3)
        line = r.err.splitlines()[-1]
        assert re.search(r"^pumice run: --keep .*: No space left on device: \d of 3 files were not copied, .*j-a-0:/o/b", line), r.err
        assert not os.path.exists(os.path.join(small, "j-a-0/o/b"))
    finally:
        subprocess.run(["umount", small], check=True)
    return None


def many_directories():
    """Many beside each other are told as the one they are in; what is empty has no size. --keep and --log-dir make the directories above."""
    script = "for d in 1 2 3 4 5; do mkdir -p /root/out/$d/e; echo $d > /root/out/$d/f; : > /root/out/$d/e/g; done; mkdir /o; : > /o/z; echo said"
    keep, logs = os.path.join(D, "a/b/keep"), os.path.join(D, "c/d/logs")
    what = job("j", task("a", sh(script)))
    same(said(run_text(what, *NODE, "--log-dir", logs)),
         ["pumice: deleted with the pod: 11 files (10B): /root/out 10B, /o (--keep DIR copies them out)"])
    run(what, *NODE, "--keep", keep).done()
    same((os.listdir(logs), os.path.getsize(os.path.join(keep, "j-a-0/root/out/5/f"))), (["j-a-0.main.log"], 2))


def silent():
    """-q says nothing of it."""
    same(said(run_text(job("j", task("a", sh("echo 1 > /x"))), *NODE, "-q")), [])


def wrong_use():
    path = os.path.join(D, "file")
    open(path, "w").close()
    r = run_text(job("j", task("a", ["true"])), "--keep", path)
    assert r.status == 1 and f"--keep {path}: not a directory" in r.err, r.err


def main():
    global D
    suite = Suite()
    with own_directory("written", 0o777) as D:
        for case in (hosts_files, as_user, image, runtimes, hostile, shown_safely, again_and_again, nothing_passes_on,
                     claims, full_disk, many_directories, silent, wrong_use):
            if len(sys.argv) == 1 or case.__name__ in sys.argv:
                suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
