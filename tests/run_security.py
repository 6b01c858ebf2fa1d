#!/usr/bin/env python3
"""What a pod must not be able to do: change the host, see its processes, reach the program that runs it, mount, or get out of
its files by links or /proc. And where secrets are, and are not."""
import os
import signal
import subprocess
import sys
import tempfile

from harness import PUMICE, Suite
from runs import Run, job, on, run, same, secret, sh, skip, task

PYTHON = "/usr/bin/python3"


def lines_of(script, pod=None, options=(), **fields):
    r = run(job("j", task("a", sh(script), pod=pod, **fields)), *options).done()
    return r.lines("a-0")


# ---- the host's files ----

def cannot_write_to_the_host():
    mark = f"/var/lib/pumice-test-{os.getpid()}"
    before = {p: os.stat(p).st_mtime_ns for p in ("/etc/passwd", "/etc", "/usr/bin", "/root", "/var/lib")}
    got = lines_of(f"""
echo x > {mark} && cat {mark}
echo evil >> /etc/passwd && tail -1 /etc/passwd
rm -f /bin/true && ! ls /bin/true 2> /dev/null && echo removed
chmod 777 /root; chown 1:1 /etc/shadow
echo done""")
    same(got, ["x", "evil", "removed", "done"])
    assert not os.path.exists(mark), mark
    assert os.path.exists("/bin/true")
    same({p: os.stat(p).st_mtime_ns for p in before}, before)
    same(os.stat("/etc/shadow").st_uid, 0)


def pods_do_not_share_their_changes():
    r = run(job("j", task("a", sh("echo x > /var/mark; sleep 0.3; ls /var/mark")),
                task("b", sh("sleep 0.2; ls /var/mark 2> /dev/null || echo none")))).done()
    same((r.lines("a-0"), r.lines("b-0")), (["/var/mark"], ["none"]))


def private_places_are_empty():
    """/tmp, /run of the host are not there; nor is our own state."""
    with tempfile.NamedTemporaryFile(dir="/tmp") as f:
        got = lines_of(f"ls -A /tmp | wc -l; test -e {f.name} || echo none; ls /run | grep -v -x -E 'secrets|lock|sshd|shm' | wc -l")
    same([line.strip() for line in got], ["0", "none", "0"])


def state_is_hidden():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        r = run(job("j", task("a", sh(f"ls -A {d}/state 2> /dev/null | wc -l; find / -xdev -name upper 2> /dev/null | wc -l"))),
                "--state", f"{d}/state").done()
        same([line.strip() for line in r.lines("a-0")], ["0", "0"])


def host_path_read_only():
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/file", "w") as f:
            f.write("host\n")
        volumes = [{"name": "v", "hostPath": {"path": d}}]
        got = lines_of("cat /v/file; echo x > /v/file || echo refused; mount -o remount,rw,bind /v 2> /dev/null || echo refused",
                       pod={"volumes": volumes}, volumeMounts=[{"name": "v", "mountPath": "/v", "readOnly": True}])
        same([line for line in got if "cannot create" not in line], ["host", "refused", "refused"])
        with open(f"{d}/file") as f:
            same(f.read(), "host\n")


# ---- the host's processes ----

def cannot_see_host_processes():
    got = lines_of(f"""
ls /proc | grep -c '^[0-9]*$'
kill -0 {os.getpid()} 2> /dev/null || echo no such process
readlink /proc/1/exe 2> /dev/null || echo hidden
cat /proc/1/environ 2> /dev/null | grep -a -c PUMICE
ls /proc/1/root/ > /dev/null 2>&1 || echo hidden
for f in /proc/1/fd/*; do readlink $f; done; cat /proc/1/mem 2> /dev/null | head -c 1; echo end""")
    assert int(got[0]) <= 8, got
    assert got[1] == "no such process", got
    same(got[2:], ["hidden", "0", "hidden", "end"])


def has_only_its_own_descriptors():
    r = run(job("j", task("a", [PYTHON, "-c", """
import os
print(sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1])
import socket
for name in ("\\0pumice", "/run/pumice.sock", "/var/run/pumice/pumice.sock"):
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        print("connected to", name)
    except OSError:
        pass
with open("/proc/net/unix") as f:
    print("named sockets:", [line.split()[7] for line in f.readlines()[1:] if len(line.split()) > 7])
"""]))).done()
    same(r.lines("a-0"), ["[0, 1, 2]", "named sockets: []"])


def cannot_reach_the_host():
    """A server on the host's loopback and on the pods' gateway is not there for pods."""
    import socket
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        r = run(job("j", task("a", [PYTHON, "-c", f"""
import socket, struct
with open("/proc/net/route") as f:
    gateways = [socket.inet_ntoa(struct.pack("<I", int(l.split()[2], 16))) for l in f.readlines()[1:] if l.split()[1] == "00000000"]
for host in ["127.0.0.1", *gateways]:
    for port in ({port}, 22, 10250, 6443):
        try:
            socket.create_connection((host, port), 0.5).close()
            print("reached", host, port)
        except OSError:
            pass
print("done")
"""]))).done()
    same(r.lines("a-0"), ["done"])


def signals_stay_inside():
    """kill -9 -1 ends the pod's own processes only."""
    r = run(job("j", task("a", sh("sleep 60 & kill -9 -1; sleep 5"), policies=[on("PodFailed", "CompleteJob")]),
                task("b", sh("sleep 1; echo alive"))))
    assert r.status == 0, r.told()


# ---- what only root of the host may ----

def cannot_mount():
    got = lines_of("""
mount -t tmpfs none /mnt 2> /dev/null && echo mounted
mount --bind /etc /mnt 2> /dev/null && echo bound
umount -l /proc 2> /dev/null && echo unmounted
unshare -m true 2> /dev/null && echo unshared
unshare -Ur true 2> /dev/null && echo user namespace
nsenter -t 1 -m true 2> /dev/null && echo entered
chroot / true 2> /dev/null && echo chroot
mknod /tmp/sda b 8 0 2> /dev/null && head -c 1 /tmp/sda > /dev/null 2>&1 && echo disk
mknod /tmp/kmem c 1 2 2> /dev/null && head -c 1 /tmp/kmem > /dev/null 2>&1 && echo memory
ls /dev/vda /dev/sda /dev/mem /dev/kmsg 2> /dev/null
date -s 2000-01-01 > /dev/null 2>&1 && echo clock
dmesg > /dev/null 2>&1 && echo dmesg
ip link add x type dummy 2> /dev/null && echo link
hostname x 2> /dev/null && echo host name
echo done""")
    same([line for line in got if line != "chroot"], ["done"])


def cannot_write_the_kernel_s_files():
    got = lines_of("""
for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger /proc/irq/0/smp_affinity \
         /sys/kernel/uevent_helper /sys/fs/cgroup/cgroup.procs; do
    (echo 1 > $f) 2> /dev/null && echo wrote $f
done
for f in /proc/kcore /proc/keys /proc/timer_list; do head -c 1 $f 2> /dev/null | grep -q . && echo read $f; done
find /sys -maxdepth 3 -writable -type f 2> /dev/null | while read f; do (echo >> $f) 2> /dev/null && echo wrote $f; done | head -3
echo done""")
    same(got, ["done"])


def capabilities():
    """Those a container has by custom, and none that leads out of it."""
    mask = int(lines_of("grep CapEff /proc/self/status")[0].split()[1], 16)
    for name, bit in (("SYS_ADMIN", 21), ("SYS_PTRACE", 19), ("SYS_MODULE", 16), ("NET_ADMIN", 12), ("SYS_TIME", 25),
                      ("DAC_READ_SEARCH", 2), ("SYS_RAWIO", 17), ("SYS_BOOT", 22), ("BPF", 39), ("PERFMON", 38)):
        assert not mask >> bit & 1, name
    none = lines_of("grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; id -u",
                    securityContext={"runAsUser": 1234, "capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": False})
    same([line.split()[-1] for line in none], ["0" * 16, "1", "1234"])


def read_only_root():
    got = lines_of("(echo x > /etc/x) 2> /dev/null || echo refused; (echo x > /tmp/x) 2> /dev/null && echo tmp; echo x > /v/x && echo volume",
                   pod={"volumes": [{"name": "v", "emptyDir": {}}]}, volumeMounts=[{"name": "v", "mountPath": "/v"}],
                   securityContext={"readOnlyRootFilesystem": True})
    assert got[0] == "refused" and got[-1] == "volume", got


# ---- links ----

def links_in_volumes():
    """A link that one container makes in a volume does not lead the next one's mount out of it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        with open(f"{d}/host-file", "w") as f:
            f.write("host\n")
        volumes = [{"name": "v", "emptyDir": {}}]
        for link, sub in ((d, "evil"), (f"../../../../../../../..{d}", "evil"), ("/proc/1/root", "evil" + d)):
            init = {"name": "make", "image": "debian:12", "command": sh(f"ln -s {link} /v/evil"),
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
            r = run(job("j", task("a", sh("echo evil >> /w/host-file; ls /w; echo ran"), pod={"volumes": volumes, "initContainers": [init]},
                                  volumeMounts=[{"name": "v", "mountPath": "/w", "subPath": sub}])), "--timeout", "4s")
            with open(f"{d}/host-file") as f:
                same(f.read(), "host\n")
            assert "host-file" not in r.lines("a-0"), r.lines("a-0")


def links_below_a_mount_path():
    """A container's own root has a link where a volume is to be mounted: it is followed inside the container only."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        os.symlink("/etc", f"{d}/link")
        run(job("j", task("a", sh("ls /v > /dev/null"), pod={"volumes": [{"name": "v", "emptyDir": {}}]},
                          volumeMounts=[{"name": "v", "mountPath": f"{d}/link/pumice-test-mount"}])), "--timeout", "5s")
    assert not os.path.exists("/etc/pumice-test-mount")


def sub_path_that_climbs():
    r = run(job("j", task("a", sh("ls /w"), pod={"volumes": [{"name": "v", "emptyDir": {}}]},
                          volumeMounts=[{"name": "v", "mountPath": "/w", "subPath": "../../.."}])), "--timeout", "3s")
    assert r.status != 0 and not r.of("log"), r.told()


# ---- an ordinary user ----

NOBODY = 65534


def ordinary_user():
    """Nobody's pods: root inside, nobody outside; names and network as for root."""
    if os.getuid() != 0 or not may_run(NOBODY):
        return skip("ordinary user: not root, or the program is out of the user's reach, or no user namespaces")
    mark = f"/var/tmp/pumice-test-{os.getpid()}"
    r = Run(job("j", task("a", sh(f"""
n=0; until getent hosts j-b-0.j > /dev/null; do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done
getent hosts j-b-0.j | awk '{{print $2}}'; id -u; hostname; (echo x > {mark}) 2> /dev/null
cut -d: -f2 /etc/shadow | sort -u; mount -t tmpfs none /mnt 2> /dev/null || echo refused"""),
                          policies=[on("TaskCompleted", "CompleteJob")]), task("b", sh("sleep 60")), plugins={"svc": []}),
            user=NOBODY).end()
    if r.status == 1 and not r.events and "namespace" in r.err:
        return skip("ordinary user: " + r.err.strip())
    r.done()
    same(r.lines("a-0"), ["j-b-0.j.default.svc.cluster.local", "0", "j-a-0", "*", "refused"])
    assert not os.path.exists(mark)


def ordinary_user_killed():
    if os.getuid() != 0 or not may_run(NOBODY):
        return skip("ordinary user: not root, or the program is out of the user's reach, or no user namespaces")
    r = Run(job("j", task("a", sh("echo ready; sleep 600"), replicas=2), plugins={"svc": []}), user=NOBODY)
    r.until(lambda r: r.all_lines().count("ready") == 2).signal(signal.SIGKILL).end(leaves_s=15)


def may_run(user):
    """Can this user reach the program, and may it make user namespaces? (Nobody may in a chroot.)"""
    try:
        return all(subprocess.run(command, user=user, group=user, extra_groups=[], capture_output=True).returncode == 0
                   for command in ([PUMICE, "version"], ["unshare", "-Ur", "true"]))
    except PermissionError:
        return False


# ---- secrets ----

WORD = "correct-horse-battery-staple"


def holders(top, word=WORD):
    """Files below 'top' that have the word in them."""
    run_ = subprocess.run(["grep", "-r", "-l", "-a", word, top], capture_output=True, text=True)
    return run_.stdout.split()


def secrets_stay_in_their_pods():
    pod = {"volumes": [{"name": "s", "secret": {"secretName": "s", "defaultMode": 0o400}}]}
    for keeps in ((), ("--keep-state",)):
        r = Run([secret("s", key=WORD),
                 job("j", task("a", sh("cat /s/key; echo; stat -f -c %T /s; stat -L -c %a /s/key; sleep 60"), pod=pod,
                               volumeMounts=[{"name": "s", "mountPath": "/s", "readOnly": True}]),
                     task("b", sh("ls /s 2> /dev/null || echo none; env | grep -c correct; sleep 60")),
                     task("c", sh("[ \"$KEY\" = correct-horse-battery-staple ] && echo has it; sleep 60"),
                          env=[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}}]))], *keeps)
        r.until_line("400").until_line("has it").until(lambda r: len(r.lines("b-0")) == 2)
        during = holders(r.state)
        r.signal(signal.SIGINT)
        state = r.state
        r.end()
        after = [p for p in holders(state) if not p.endswith(".log")] if os.path.exists(state) else []
        same(r.lines("a-0")[:3], [WORD, "tmpfs", "400"])
        same(r.lines("b-0"), ["none", "0"])
        same([p for p in during if not p.endswith(".log")], [])
        same(after, [])


def ssh_keys_are_not_on_disk():
    r = Run(job("j", task("a", sh("head -1 /root/.ssh/id_rsa > /dev/null && echo there; sleep 60")), plugins={"ssh": [], "svc": []}))
    r.until_line("there")
    found = holders(r.state, "PRIVATE KEY")
    r.signal(signal.SIGINT).end()
    same(found, [])


def secrets_are_not_printed():
    """Neither in events nor on the report page."""
    with tempfile.TemporaryDirectory() as d:
        r = run([secret("s", key=WORD), job("j", task("a", sh("exit 1"), env=[
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}}]))],
            "--report", f"{d}/page.html", "--trace", f"{d}/trace.json")
        assert WORD not in str(r.events) + r.err
        same((len(os.listdir(d)), holders(d)), (2, []))


def main():
    suite = Suite()
    for f in (cannot_write_to_the_host, pods_do_not_share_their_changes, private_places_are_empty, state_is_hidden,
              host_path_read_only, cannot_see_host_processes, has_only_its_own_descriptors, cannot_reach_the_host,
              signals_stay_inside, cannot_mount, cannot_write_the_kernel_s_files, capabilities, read_only_root, links_in_volumes,
              links_below_a_mount_path, sub_path_that_climbs, ordinary_user, ordinary_user_killed, secrets_stay_in_their_pods, ssh_keys_are_not_on_disk,
              secrets_are_not_printed):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
