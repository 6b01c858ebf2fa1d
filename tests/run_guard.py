#!/usr/bin/env python3
"""Attacks from inside a pod, as its root: on the host's secrets and files, on the processes that keep the pod, on other pods, on
the terminal of whoever looks. Each is a real program, and each must come to nothing."""
import hashlib
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time

from harness import PUMICE, Suite
from runs import Run, has, has_mount_namespaces, job, run, same, sh, skip, task

PYTHON = "/usr/bin/python3"
ORDINARY = 54321  # a user that nothing belongs to


def py(text):
    return [PYTHON, "-c", text]


def may_be_ordinary():
    """May a user that nothing belongs to run pods here?"""
    try:
        return all(subprocess.run(command, user=ORDINARY, group=ORDINARY, extra_groups=[], capture_output=True).returncode == 0
                   for command in (["unshare", "-Ur", "true"], [PUMICE, "version"]))
    except PermissionError:
        return False


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


# ---- a command in a running container ----

def working_directory_that_became_a_link():
    """A hook or probe begins in the working directory. If that is now a link to /proc/self/fd/N, N must not be one of ours: some
    of ours are directories of the host."""
    plan = """
n=$(hostname); n=${n##*-}
rmdir /wd && ln -s /proc/self/fd/$((n + 3)) /wd && sleep 3
[ -e /ran ] && cat /ran; echo end"""
    probe = {"initialDelaySeconds": 1, "periodSeconds": 1, "failureThreshold": 9, "exec": {"command": sh("readlink /proc/self/cwd >> /ran")}}
    r = run(job("j", task("a", sh(plan), replicas=16, pod={"hostPID": True}, workingDir="/wd", livenessProbe=probe))).done()
    same(sorted(set(r.all_lines())), ["end"])


def working_directory_that_moved():
    """The same inside the container is its own business."""
    probe = {"periodSeconds": 1, "exec": {"command": sh("readlink /proc/self/cwd > /ran")}}
    r = run(job("j", task("a", sh("rmdir /wd; ln -s /opt /wd; sleep 2.5; cat /ran"), workingDir="/wd", readinessProbe=probe))).done()
    same(r.lines("a-0"), ["/opt"])


WATCH = """
import os, stat, time
found, end = set(), time.monotonic() + 3
mine = {os.getpid(), os.getppid()}
def look(pid):
    at = f"/proc/{pid}/"
    for name in ("exe", "root", "cwd", "mem", "environ", "maps"):
        try:
            fd = os.open(at + name, os.O_PATH if name in ("exe", "root", "cwd") else os.O_RDONLY)
        except OSError:
            continue
        st = os.fstat(fd)
        if name == "exe" and "pumice" in os.readlink(f"/proc/self/fd/{fd}"):
            found.add("exe")
        if name in ("root", "cwd") and (st.st_dev, st.st_ino) in HOST:
            found.add(name)
        if name in ("mem", "maps", "environ") and b"pumice" in open(at + "comm", "rb").read() and os.read(fd, 1):
            found.add(name)
        os.close(fd)
    for fd in os.listdir(at + "fd"):
        try:
            where = os.readlink(at + "fd/" + fd)
        except OSError:
            continue
        if b"pumice" in open(at + "comm", "rb").read():
            found.add("fd " + where)
while time.monotonic() < end:
    for pid in [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) not in mine]:
        try:
            look(pid)
        except OSError:
            pass
print(sorted(found))
"""


def processes_that_keep_the_pod():
    """Nobody gets into them by /proc: not while a container is made, not while a command is on its way in; also where a pod sees all
    processes."""
    probe = {"periodSeconds": 1, "exec": {"command": ["/bin/true"]}}
    host = [(os.stat(p).st_dev, os.stat(p).st_ino) for p in ("/", os.getcwd())]
    watch = py(f"HOST = {host}{WATCH}")
    for user, pod in ((None, {}), (None, {"hostPID": True}), (None, {"shareProcessNamespace": True}),
                      *(((ORDINARY, {}), (ORDINARY, {"hostPID": True}), (ORDINARY, {"shareProcessNamespace": True}))
                        if may_be_ordinary() else ())):
        r = run(job("j", task("a", watch, pod={**pod, "containers": [
            {"name": "main", "image": "x", "command": watch, "readinessProbe": probe},
            {"name": "other", "image": "x", "command": sh("for i in 1 2 3 4 5 6; do sleep 0.5; done"), "livenessProbe": probe}]})), user=user).done()
        same((user, pod, r.lines("a-0", "main")), (user, pod, ["[]"]))


# ---- secrets of the host ----

def home_directory(top):
    for name in (".ssh/id_rsa", ".aws/credentials", ".kube-real/config", ".config/gcloud/key", ".config/plain/file", ".netrc", "work/train.py"):
        os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
        with open(f"{top}/{name}", "w") as f:
            f.write(f"word-of-{os.path.basename(name)}\n")
    os.symlink(".kube-real", f"{top}/.kube")
    for name, mode in (("token", 0o600), (".app/deep/er/token", 0o400), ("work/private.py", 0o600), ("work/tool", 0o700), ("work/group", 0o640)):
        os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
        with open(f"{top}/{name}", "w") as f:
            f.write(f"word-of-{os.path.basename(name)}\n")
        os.chmod(f"{top}/{name}", mode)


SEEN_OF_HOME = ("work/private.py", "work/tool", "work/train.py")


def private_environment(top):
    """A virtual environment in a home that only its owner may enter, made by somebody whose files are his alone."""
    subprocess.run(["sh", "-e", "-c", f"umask 077; {PYTHON} -m venv --without-pip {top}/venv; cd {top}/venv/lib/python3*/site-packages; "
                    "echo x = 7 > own.py"], check=True)
    os.chmod(top, 0o700)


def secrets_of_home(user):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        os.chmod(d, 0o755)
        os.mkdir(f"{d}/home")
        home_directory(f"{d}/home")
        private_environment(f"{d}/home")
        if user:
            subprocess.run(["chown", "-R", f"{user}:{user}", f"{d}/home"], check=True)
        script = f"""
grep -r -l word-of {d}/home | sort
{d}/home/venv/bin/python -c 'import own; print(own.x)'
mkdir {d}/home/.ssh && echo own > {d}/home/.ssh/id_rsa && cat {d}/home/.ssh/id_rsa
cat /asked/id_rsa"""
        pod = {"volumes": [{"name": "v", "hostPath": {"path": f"{d}/home/.ssh"}}]}
        before, os.environ["HOME"] = os.environ.get("HOME", "/"), f"{d}/home"
        try:
            r = run(job("j", task("a", sh(script), pod=pod, volumeMounts=[{"name": "v", "mountPath": "/asked", "readOnly": True}])),
                    user=user).done()
        finally:
            os.environ["HOME"] = before
        same(r.lines("a-0"), [*(f"{d}/home/{n}" for n in SEEN_OF_HOME), "7", "own", "word-of-id_rsa"])
        same(open(f"{d}/home/.ssh/id_rsa").read(), "word-of-id_rsa\n")


def secrets_of_home_directories():
    secrets_of_home(None)


def secrets_of_an_ordinary_user():
    """His own: what he may read, his pods could."""
    if not may_be_ordinary():
        return skip("ordinary users may not make user namespaces here, or cannot reach the program")
    secrets_of_home(ORDINARY)


def secrets_on_a_read_only_disk():
    """Where no overlay is: a home directory that is mounted read-only on the host."""
    import json
    if not has_mount_namespaces():
        return skip("a read-only disk: no mount namespaces")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        os.mkdir(f"{d}/home")
        home_directory(f"{d}/home")
        with open(f"{d}/job.json", "w") as f:
            json.dump(job("j", task("a", sh(f"grep -r -l word-of {d}/home | sort; ls -A {d}/home/.ssh; touch {d}/home/x 2> /dev/null || echo refused"))), f)
        script = f'mount --bind {d}/home {d}/home && mount -o remount,ro,bind {d}/home && HOME={d}/home exec "$0" "$@"'
        r = subprocess.run(["unshare", "-m", "sh", "-c", script, PUMICE, "run", "--quiet", "--state", f"{d}/state", f"{d}/job.json"],
                           capture_output=True, text=True)
        same((r.returncode, [line.split("| ")[1] for line in r.stdout.splitlines()]),
             (0, [*(f"{d}/home/{n}" for n in SEEN_OF_HOME), "refused"]))


def secrets_of_the_machine():
    hidden = [p for p in ("/etc/gshadow", "/etc/shadow-", "/etc/ssl/private", "/var/lib/containers", "/var/lib/docker", "/var/lib/postgresql",
                          "/var/backups", "/var/spool/cron") if os.path.exists(p)]
    keys = [f"/etc/ssh/{n}" for n in os.listdir("/etc/ssh") if n.endswith("_key")] if os.path.isdir("/etc/ssh") else []
    script = f"""
for p in {' '.join(hidden)}; do [ -e $p ] && echo there: $p; done
cut -d: -f2 /etc/shadow | sort -u
grep -c . /etc/shadow
for k in {' '.join(keys)}; do sha256sum $k | cut -d' ' -f1; done"""
    got = run(job("j", task("a", sh(script)))).done().lines("a-0")
    same(got[0], "*")
    with open("/etc/shadow") as f:
        same(int(got[1]), len(f.readlines()))
    assert not set(got[2:]) & {digest(k) for k in keys} and len(got) == 2 + len(keys), got


def closed_files(top):
    """Files of a directory of the machine, with a word each; those that everybody may read."""
    for name, mode in (("open", 0o644), ("closed", 0o640), ("dir", 0o750), ("dir/inside", 0o644), ("unlisted", 0o711),
                       ("unlisted/open", 0o604), ("unlisted/closed", 0o600)):
        if name in ("dir", "unlisted"):
            os.mkdir(f"{top}/{name}")
        else:
            with open(f"{top}/{name}", "w") as f:
                f.write("word-of-closed-files\n")
        os.chmod(f"{top}/{name}", mode)
    return [f"{top}/open", f"{top}/unlisted/open"]  # the second for who knows its name


def what_others_may_not_read():
    """Below /etc and /var. An /etc of the test's own is an overlay over the real one, in a mount namespace."""
    if not has_mount_namespaces():
        return skip("an /etc of our own: no mount namespaces")
    for user in (None, *((ORDINARY,) if may_be_ordinary() else ())):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as d, tempfile.TemporaryDirectory(dir="/tmp") as layers:
            os.chmod(d, 0o755)
            seen = closed_files(d)
            for name in ("upper", "upper/pumice-test", "work"):
                os.mkdir(f"{layers}/{name}")
            closed_files(f"{layers}/upper/pumice-test")
            if user:
                subprocess.run(["chown", "-R", f"{user}:{user}", d], check=True)
            else:
                seen = ["/etc/pumice-test/open", "/etc/pumice-test/unlisted/open", *seen]
            within = ["unshare", "-m", "sh", "-c", f"mount -t overlay -o lowerdir=/etc,upperdir={layers}/upper,workdir={layers}/work none /etc; "
                      'exec "$@"', "sh"]
            r = Run(job("j", task("a", sh(f"grep -r -l word-of-closed-files /etc {d} 2> /dev/null; "
                                          f"for top in /etc/pumice-test {d}; do grep -s -l word $top/*/closed $top/dir/inside $top/unlisted/open; done; "
                                          "ls -d /var/lib/dpkg/info /etc/sudoers 2> /dev/null; true"))),
                    user=user, within=() if user else within).end().done()
            want = [p for p in ("/etc/sudoers", "/var/lib/dpkg/info") if os.path.exists(p)]
            same((user, sorted(set(r.lines("a-0")))), (user, sorted(seen + want)))


def other_runs_are_hidden():
    """What another run has on disk, its state and its claims, is not there."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        os.chmod(d, 0o755)
        r = Run(job("j", task("a", sh(f"ls -A {d}; echo ready; sleep 60"))), "--claims", f"{d}/claims")
        r.until_line("ready")
        same(r.lines("a-0"), ["ready"])
        r.signal(15).end()


# ---- memory and disks of others ----

def small_files():
    """/etc/hosts and the termination message lie in memory that pods share."""
    for path in ("/etc/hosts", "/dev/termination-log"):
        r = run(job("j", task("a", sh(f"dd if=/dev/zero of={path} bs=1M count=64 2> /dev/null; sleep 60")),
                    task("b", sh("sleep 2; echo x >> /etc/hosts && echo fine")), minAvailable=1))
        same(r.lines("b-0"), ["fine"])
        failed = [e for e in r.of("pod") if e["state"] == "failed"]
        assert failed and failed[0]["pod"] == "j-a-0" and "Evicted" in str(failed[0]), failed
        assert r.took_s < 20, r.took_s


def small_disk_in_dev():
    """All that a pod can write to its /dev, shared memory with it, is what it may have of that: 64 MiB."""
    r = run(job("j", task("a", sh("dd if=/dev/zero of=/dev/big bs=1M count=70 2> /dev/null || echo full; "
                                  "dd if=/dev/zero of=/dev/shm/more bs=1M count=1 2> /dev/null || echo full, too; "
                                  "du -cm /dev/big /dev/shm/more | tail -1 | cut -f1")))).done()
    same(r.lines("a-0"), ["full", "full, too", "64"])


# ---- devices ----

def devices_in_volumes():
    """Even with the right to make device nodes, none that a pod makes can be opened: on its root, in its /dev, in a volume."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        volumes = [{"name": "e", "emptyDir": {}}, {"name": "h", "hostPath": {"path": d}}, {"name": "m", "emptyDir": {"medium": "Memory"}}]
        r = run(job("j", task("a", sh("""
for d in / /dev /tmp /e /h /m; do
    mknod $d/node c 1 5 || echo cannot make $d
    head -c 1 $d/node > /dev/null 2>&1 && echo opened $d/node
done; head -c 1 /dev/zero | wc -c"""), pod={"volumes": volumes}, securityContext={"capabilities": {"add": ["MKNOD"]}},
                                  volumeMounts=[{"name": n, "mountPath": f"/{n}"} for n in "ehm"]))).done()
        same(r.lines("a-0"), ["1"])


# ---- images ----

STATIC = """
#include <stdio.h>
#include <unistd.h>
int main(void) { char name[64] = ""; gethostname(name, 63); puts("ran"); FILE *f = fopen("/etc/mark", "w"); if (f) fclose(f); return 0; }
"""


def image_whose_directories_are_links():
    """/etc, /dev, /proc of an image lead to a directory of the host, by an absolute link and by a climbing one: what is mounted and written
    there stays in the container."""
    if not has("cc"):
        return skip("no compiler")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        os.mkdir(f"{d}/host")
        subprocess.run(["cc", "-static", "-o", f"{d}/prog", "-x", "c", "-"], input=STATIC, text=True, check=True)
        for i, target in enumerate((f"{d}/host", "../../../../../../../.." + f"{d}/host")):
            image = f"{d}/image{i}"
            os.mkdir(image)
            shutil.copy(f"{d}/prog", f"{image}/prog")
            for name in ("etc", "dev", "proc", "sys", "tmp"):
                os.symlink(target, f"{image}/{name}")
            r = run(job("j", task("a", ["/prog"], terminationMessagePath="/etc/words", workingDir="/tmp/made")),
                    "--image", f"debian:12={image}", "--timeout", "10s")
            same((target, os.listdir(f"{d}/host")), (target, []))
            assert r.status in (0, 124, 128), r.told()


def working_directory_through_proc():
    """Links that the kernel resolves, and not their text, lead to what we have open. None is followed, by our own hands or a runtime's."""
    links = ("self/cwd", "self/root", "self/root/etc", "self/fd/3", "thread-self/cwd", "1/root", "self/exe")
    tasks = [task(f"t{i}", sh("pwd -P"), workingDir=f"/proc/{link}", pod={"hostPID": i == 0}) for i, link in enumerate(links)]
    options = ("--runtime", "runc") if has("runc") else ()
    r = run(job("j", task("fine", sh("pwd -P"), workingDir="/etc/../usr/lib"), *tasks, minAvailable=1), *options)
    same(r.all_lines(), ["/usr/lib"])
    same(len({e["task"] for e in r.of("pod") if "workingDir: " in e.get("message", "")}), len(links))


# ---- words from outside ----

def odd_words():
    """NUL, newlines, climbing and endless names where a path or a name is expected: a clear failure, nothing done to the host."""
    odd = ["\0", "a\0b", "\n", "../" * 20 + "etc/passwd", "/" + "x" * 5000, "/" + "/".join(["y" * 200] * 30), "/proc/self/fd/3",
           "/proc/sys/kernel/core_pattern", "\x1b]0;x\x07", "\udcff"]
    before = digest("/etc/passwd"), open("/proc/sys/kernel/core_pattern").read()
    for word in odd:
        containers = [{"workingDir": word}, {"terminationMessagePath": word}, {"env": [{"name": "A", "value": word}]},
                      {"args": [word]}, {"volumeMounts": [{"name": "v", "mountPath": word or "/x"}]},
                      {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": word}]}]
        tasks = [task(f"t{i}", sh("true"), pod={"volumes": [{"name": "v", "emptyDir": {}}]}, **fields) for i, fields in enumerate(containers)]
        r = run(job("j", *tasks, minAvailable=1), "--timeout", "10s")
        assert 0 <= r.status < 125 or r.status == 128, (word, r.status, r.told())
    same((digest("/etc/passwd"), open("/proc/sys/kernel/core_pattern").read()), before)


def settings_of_the_kernel():
    before = open("/proc/sys/kernel/core_pattern").read()
    names = ("kernel.core_pattern", "kernel/core_pattern", "net/../kernel/core_pattern", "net.ipv4/../../kernel/core_pattern",
             "kernel.shm/../core_pattern", "kernel.shm_rmid_forced/../core_pattern", "fs.mqueue.../../kernel/core_pattern")
    tasks = [task(f"t{i}", sh("echo ran"), pod={"securityContext": {"sysctls": [{"name": name, "value": "|/tmp/evil"}]}})
             for i, name in enumerate(names)]
    r = run(job("j", *tasks, minAvailable=1), "--timeout", "4s")
    same((r.all_lines(), r.status != 0), ([], True))
    same(open("/proc/sys/kernel/core_pattern").read(), before)


# ---- system calls, also of the other sets that an x86 processor has ----

CALLS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <unistd.h>
static void want(const char *name, long r) { if (r >= 0 || (errno != EPERM && errno != ENOSYS)) printf("%s: %ld, errno %d\n", name, r, errno); }
#define TRY(name, ...) (errno = 0, want(#name, syscall(SYS_##name, __VA_ARGS__)))
#ifdef __x86_64__
static long old(long nr, long a, long b, long c, long d)
{
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d) : "memory", "r8", "r9", "r10", "r11");
    errno = r < 0 ? -(int)r : 0;
    return r < 0 ? -1 : r;
}
#endif
int main(void)
{
    static char args[128];
    TRY(mount, "none", "/mnt", "tmpfs", 0, 0); TRY(umount2, "/proc", 2); TRY(pivot_root, "/", "/");
    TRY(unshare, CLONE_NEWUSER); TRY(unshare, CLONE_NEWNS); TRY(setns, 0, 0);
    TRY(clone, CLONE_NEWUSER, 0, 0, 0, 0); TRY(clone, CLONE_NEWNET | 17, 0, 0, 0, 0); TRY(clone3, args, 64);
    TRY(fsopen, "tmpfs", 0); TRY(open_tree, AT_FDCWD, "/", 1); TRY(move_mount, 0, "", 0, "", 0); TRY(mount_setattr, AT_FDCWD, "/", 0, args, 32);
    TRY(keyctl, 0, -3, 1); TRY(add_key, "user", "a", "b", 1, -3); TRY(request_key, "user", "a", 0, 0);
    TRY(bpf, 0, args, 64); TRY(perf_event_open, args, 0, -1, -1, 0); TRY(userfaultfd, 0); TRY(io_uring_setup, 1, args);
    TRY(open_by_handle_at, AT_FDCWD, args, 0); TRY(kexec_load, 0, 0, 0, 0); TRY(init_module, args, 1, ""); TRY(reboot, 0, 0, 0, 0);
    TRY(swapon, "/x", 0); TRY(acct, "/x"); TRY(syslog, 3, args, 1); TRY(settimeofday, args, 0); TRY(iopl, 3); TRY(quotactl, 0, 0, 0, 0);
    for (long nr = 467; nr <= 1100; nr++) { char name[16]; snprintf(name, sizeof(name), "%ld", nr); errno = 0; want(name, syscall(nr, AT_FDCWD, "/proc/sys", 1, args, 0)); }
    TRY(socket, 38 /* AF_ALG */, 5, 0); TRY(ioctl, 0, 0x5412 /* TIOCSTI */, "x"); TRY(personality, 0x400000);
    TRY(socket, 40 /* AF_VSOCK */, SOCK_STREAM, 0); TRY(socket, 1L << 32 | 40, SOCK_STREAM, 0); TRY(sethostname, "x", 1); TRY(chroot, "/nope-that-is-not-there") ;
#ifdef __x86_64__
    want("i386 mount", old(21, (long)(int)(long)args, 0, 0, 0)); want("i386 unshare", old(310, CLONE_NEWUSER, 0, 0, 0));
    want("i386 clone", old(120, CLONE_NEWUSER, 0, 0, 0)); want("i386 keyctl", old(288, 0, -3, 1, 0)); want("i386 setns", old(346, 0, 0, 0, 0));
    want("i386 bpf", old(357, 0, 0, 0, 0)); want("i386 fsopen", old(430, 0, 0, 0, 0)); want("i386 clone3", old(435, 0, 0, 0, 0));
    want("i386 socket", old(359, 40, SOCK_STREAM, 0, 0));
    static unsigned call[3] = { 40, SOCK_STREAM, 0 }; want("i386 socketcall", old(102, 1, (long)call, 0, 0)); want("i386 open_tree_attr", old(467, -100, 0, 1, 0));
    errno = 0; want("x32 mount", syscall(0x40000000 + SYS_mount, "none", "/mnt", "tmpfs", 0, 0));
    errno = 0; want("x32 unshare", syscall(0x40000000 + SYS_unshare, CLONE_NEWUSER));
#endif
    puts("done");
    return 0;
}
"""


def system_calls():
    if not has("cc"):
        return skip("no compiler")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        os.chmod(d, 0o755)  # what others may not read is hidden
        subprocess.run(["cc", "-w", "-no-pie", "-o", f"{d}/calls", "-x", "c", "-"], input=CALLS, text=True, check=True)
        same(run(job("j", task("a", [f"{d}/calls"]))).done().lines("a-0"), ["chroot: -1, errno 2", "done"])


# ---- the network ----

LISTEN = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5353)); s.settimeout(2.5)
print("up", flush=True)
try:
    while True: print(s.recv(100).decode(), flush=True)
except TimeoutError: print("end")
"""
SPOOF = """
import socket, struct, time
time.sleep(1.5)
me = socket.gethostbyname(socket.gethostname()); net, own = me.rsplit(".", 1)
def checksum(b):
    s = sum(struct.unpack(f"!{len(b) // 2}H", b)); s = (s >> 16) + (s & 0xffff); return ~(s + (s >> 16)) & 0xffff
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
others = [n for n in range(1, 10) if n != int(own)]
for a in others:
    for b in others:
        word = b"forged"
        udp = struct.pack("!HHHH", 5353, 5353, 8 + len(word), 0) + word
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, *(socket.inet_aton(f"{net}.{n}") for n in (a, b)))
        raw.sendto(head[:10] + struct.pack("!H", checksum(head)) + head[12:] + udp, (f"{net}.{b}", 0))
print("sent")
"""


def forged_addresses():
    """A NetworkPolicy goes by addresses, and a pod may write any packet: one with another pod's address goes nowhere."""
    friend = """
import socket, time
time.sleep(1)
for n in range(20):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"friend", ("victim-b-0.victim", 5353))
    time.sleep(0.1)
"""
    r = run([job("victim", task("b", py(LISTEN)), task("a", py(friend)), plugins={"svc": []}), job("evil", task("c", py(SPOOF)))])
    assert r.lines("c-0") == ["sent"], r.told()
    same(sorted(set(r.lines("b-0"))), ["end", "friend", "up"])


def names_are_egress():
    """Who may reach nobody is told no names, by UDP or TCP; the rules that people write for clusters allow them."""
    ask = """
import socket, struct
server = next(l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver"))
name = b"".join(bytes([len(w)]) + w for w in b"names.default.svc.cluster.local".split(b".")) + b"\\0"
question = struct.pack("!HHHHHH", 7, 256, 1, 0, 0, 0) + name + struct.pack("!HH", 1, 1)
def udp():
    s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(2); s.connect((server, 53)); s.send(question); return s.recv(999)
def tcp():
    s = socket.create_connection((server, 53), 2); s.sendall(struct.pack("!H", len(question)) + question); return s.recv(999)[2:]
for how in (udp, tcp):
    try:
        answer = how()
        print(how.__name__, "answered" if answer[:2] == question[:2] else "odd")
    except OSError:
        print(how.__name__, "nothing")
"""
    rules = {"none": [], "port": [{"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]}],
             "space": [{"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}]}], "pods": [{"to": [{"podSelector": {}}]}]}
    policies = [{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name},
                 "spec": {"podSelector": {"matchLabels": {"volcano.sh/task-spec": name}}, "policyTypes": ["Egress"], "egress": egress}}
                for name, egress in rules.items()]
    r = run([job("names", *(task(name, py(ask)) for name in (*rules, "open")), plugins={"svc": []}), *policies]).done()
    told = {name: r.lines(f"{name}-0") for name in (*rules, "open")}
    yes, no = ["udp answered", "tcp answered"], ["udp nothing", "tcp nothing"]
    same(told, {"none": no, "port": yes, "space": yes, "pods": no, "open": yes})


# ---- probes ----

ENDLESS = """
import socket, threading, time
def serve(s, head):
    while True:
        c, _ = s.accept()
        def go():
            try:
                c.recv(1000); c.sendall(head)
                while True: c.sendall(b"x" * 65536)
            except OSError: pass
        threading.Thread(target=go, daemon=True).start()
for port, head in ((8001, b"HTTP/1.1 200 OK\\r\\nA: "), (8002, b"HTTP/1.1 200 OK\\r\\nContent-Length: 999999999999\\r\\n\\r\\n"),
                   (8003, b""), (8004, b"HTTP/1.1 302 Found\\r\\nLocation: http://127.0.0.1:8004/\\r\\n\\r\\n"),
                   (8005, b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nffffffffffff\\r\\n")):
    s = socket.create_server(("0.0.0.0", port))
    threading.Thread(target=serve, args=(s, head), daemon=True).start()
time.sleep(4)
print("end")
"""


def endless_answers():
    tasks = [task(f"p{port}", py(ENDLESS), readinessProbe={"periodSeconds": 1, "timeoutSeconds": 1, "httpGet": {"port": port}})
             for port in range(8001, 8006)]
    r = run(job("j", *tasks)).done()
    same(r.all_lines(), ["end"] * 5)


# ---- what people look at ----

def terminal():
    """Nothing a job says reaches the terminal as an order to it: not its output, its last words, its names, nor errors that quote it."""
    evil = r"\033]0;title\007\033[2J\233\302\233x"
    tasks = [task("a", sh(f"printf '{evil}\\n'; printf '{evil}' > /dev/termination-log; exit 3")),
             task("b", ["nope\x1b]0;title\x07"]), task("c", sh("true"), image="x\x1b]0;title\x07"),
             task("d", sh("sleep 1"), livenessProbe={"periodSeconds": 1, "failureThreshold": 1, "exec": {"command": sh(f"printf '{evil}'; exit 1")}})]
    with tempfile.TemporaryDirectory() as d:
        import json
        with open(f"{d}/job.json", "w") as f:
            json.dump(job("j", *tasks, minAvailable=1), f)
        pid, fd = pty.fork()
        if pid == 0:
            os.execv(PUMICE, [PUMICE, "run", "--state", f"{d}/state", f"{d}/job.json"])
        out, end = b"", time.monotonic() + 60
        while time.monotonic() < end:
            try:
                out += os.read(fd, 65536)
            except OSError:
                break
        os.waitpid(pid, 0)
        os.close(fd)
    assert b"\\x1b]0;title" in out, out[-2000:]
    for bad in (b"\x1b]", b"\x1b[2J", b"\x9b", b"\x07"):
        assert bad not in out, (bad, out[max(0, out.find(bad) - 200):out.find(bad) + 50])


def report_page():
    evil = "</script></pre><script>alert(1)</script><img src=x onerror=alert(2)>"
    with tempfile.TemporaryDirectory() as d:
        run(job("j", task("a", sh(f"echo '{evil}'; echo '{evil}' > /dev/termination-log; exit 3")), task("b", [evil]), minAvailable=1),
            "--report", f"{d}/page.html", "--trace", f"{d}/trace.json")
        page = open(f"{d}/page.html").read()
    assert "alert(1)" in page and "<script>alert" not in page and "<img src=x" not in page


def main():
    suite = Suite()
    if os.geteuid() != 0:
        skip("attacks as root of the machine: not root")
        return 77
    for f in (working_directory_that_became_a_link, working_directory_that_moved, processes_that_keep_the_pod,
              secrets_of_home_directories, secrets_of_an_ordinary_user, secrets_on_a_read_only_disk,
              secrets_of_the_machine, what_others_may_not_read, other_runs_are_hidden, small_files, small_disk_in_dev, devices_in_volumes,
              image_whose_directories_are_links, working_directory_through_proc, odd_words, settings_of_the_kernel, system_calls, forged_addresses, names_are_egress, endless_answers,
              terminal, report_page):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            begin = time.monotonic()
            suite.case(f.__name__, f)
            if "PUMICE_TIMES" in os.environ:
                print(f"{f.__name__}: {time.monotonic() - begin:.1f} s")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
