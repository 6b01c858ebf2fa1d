#!/usr/bin/env python3
"""`pumice run` without root: an ordinary user with subordinate ids, and one with no id but its own.

As root the test makes both up, in a mount namespace of its own with an /etc/passwd, subuid and subgid of its own; the host does
not change. As an ordinary user it runs as that user. What cannot be tried is skipped with a word.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import yaml

import harness
import leftovers
import runs
from flows import asked_by_network
from harness import PUMICE, Suite
from netfilter import has_nftables
from runs import Run, config_map, has, has_mount_namespaces, job, on, run_text, same, secret, sh, skip, task

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18
RANGE = 2_100_000_000           # far from what hosts give to anybody
PYTHON = "/usr/bin/python3"
HERE = os.path.dirname(os.path.abspath(__file__))
DIR = ""                        # for files of tests, everybody may look into it
USER = None                     # who runs jobs now; None: ourselves
HAS_IDS = False


# ---- two users ----

def mount(source, target, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def write(path, text, mode=0o644):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def free_uids(n):
    with open("/etc/passwd") as f:
        taken = {int(line.split(":")[2]) for line in f if line.count(":") >= 6}
    busy = {os.stat(f"/proc/{pid}").st_uid for pid in os.listdir("/proc") if pid.isdigit() and os.path.exists(f"/proc/{pid}")}
    first = 61300 + os.getpid() % 1000 * 4  # beside another run of this test
    return [u for u in range(first, first + 200) if u not in taken | busy][:n]


def make_up_users():
    """Names for two uids, and ranges for the first of them, that only this process and its children see."""
    users = free_uids(2)
    if not has_mount_namespaces():
        return None
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        return None
    mount("none", "/", MS_REC | MS_PRIVATE)
    with open("/etc/passwd") as f:
        passwd = f.read()
    for i, uid in enumerate(users):
        passwd += f"pumice-test-{i}:x:{uid}:{uid}::{DIR}:/bin/sh\n"
    for name, text in (("passwd", passwd), ("subuid", f"pumice-test-0:{RANGE}:65536\n"), ("subgid", f"pumice-test-0:{RANGE}:65536\n")):
        if os.path.exists(f"/etc/{name}"):
            mount(write(f"{DIR}/{name}", text), f"/etc/{name}", MS_BIND)
    return users


def reachable_program():
    """The program may be where only root can go."""
    if os.getuid() != 0:
        return
    try:
        subprocess.run([PUMICE, "version"], user=65534, group=65534, extra_groups=[], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        runs.PUMICE = harness.PUMICE = shutil.copy(PUMICE, f"{DIR}/pumice")


def start(what, *options, **kw):
    return Run(what, *options, user=USER, **kw)


def run(what, *options, **kw):
    return start(what, *options, **kw).end()


def lines_of(script, *options, pod=None, objects=(), **fields):
    r = run([*objects, job("j", task("a", sh(script), pod=pod, **fields))], *options).done()
    return r.lines("a-0")


def own_dir(name):
    """A directory of the user's."""
    path = tempfile.mkdtemp(prefix=name + "-", dir=DIR)
    if USER:
        os.chown(path, USER, USER)
    return path


# ---- the root ----

def files_of_the_host():
    """Root inside: all that scripts do as root works, and none of it reaches the host."""
    before = {p: os.stat(p).st_mtime_ns for p in ("/etc", "/usr/local/bin", "/etc/environment", "/var/lib") if os.path.exists(p)}
    got = lines_of("""
id -u; id -un
echo x > /etc/mark; echo x > /usr/local/bin/mark; echo x > /usr/bin/mark; mkdir /var/lib/mark /opt/mark /srv/mark /mark
echo x >> /etc/environment; tail -1 /etc/environment; sed -i s/root:/evil:/ /etc/passwd; head -c 5 /etc/passwd; echo
rm /usr/bin/env && ls /usr/bin/env 2> /dev/null; mv /etc/hostname /etc/h 2> /dev/null; cat /etc/mark
useradd joe > /dev/null 2>&1; id -un joe
echo y > /root/mark; echo y > /tmp/mark; echo y > /run/mark; stat -c '%U %a' / /etc /usr /usr/local/bin /root /tmp | sort | uniq -c | sort -n""")
    same(got[:4], ["0", "root", "x", "evil:"])
    same(got[4:6], ["x", "joe"])
    assert len(got) > 6 and all("evil" in line for line in got[6:]), got
    assert not any(os.path.exists(p) for p in ("/etc/mark", "/usr/local/bin/mark", "/var/lib/mark", "/mark")), "on the host"
    same({p: os.stat(p).st_mtime_ns for p in before}, before)


def many_pods():
    r = run(job("j", task("a", ["true"], replicas=20), plugins={"svc": []})).done()
    same(set(r.states().values()), {"succeeded"})


def the_end_is_told():
    """What is limited is said once each, in one line; the status of a container is that of the run."""
    r = run_text(job("j", task("a", sh("exit 7"), policies=[on("PodFailed", "AbortJob")], replicas=3)), user=USER)
    same(r.status, 7)
    said = [line for line in r.err.splitlines() if "as root" in line or "no cpu" in line or "way out" in line]
    same(sorted(set(said)), sorted(said))
    assert any("subuid" in line for line in said) == (not HAS_IDS), r.err


# ---- each other ----

def mpi_over_ssh():
    if not has("sshd", "ssh", "mpiexec"):
        return skip("no openssh-server or openmpi-bin")
    with open(os.path.join(HERE, "../examples/mpi/job.yaml")) as f:  # the user may not be allowed to read it
        r = run(list(yaml.safe_load_all(f))).done()
    text = "\n".join(r.lines("mpimaster-0"))
    assert "pi = 3.14159265" in text and "on pi-mpiworker-0" in text and "on pi-mpiworker-1" in text, text
    same([line for line in r.lines("mpiworker-0") if "sshd" in line or "key" in line], [])


def host_keys():
    """sshd has keys of this run; those of the host are not to be seen, not by root inside either."""
    if not os.path.exists("/etc/ssh/sshd_config"):
        return skip("no openssh-server")
    got = lines_of("cd /etc/ssh; for f in ssh_host_*_key; do [ -r $f ] && cat $f; done; ls | grep -c 'ssh_host_.*pub'; stat -c '%u %a' $f")
    same(got[-2:], ["0", "0 600"])
    assert any("PRIVATE KEY" in line for line in got), got
    for name in os.listdir("/etc/ssh"):
        path = f"/etc/ssh/{name}"
        if name.startswith("ssh_host_") and name.endswith("_key") and os.access(path, os.R_OK):
            with open(path) as f:
                same(set(f.read().splitlines()[2:-1]) & set(got), set())  # the first says only what it is


SERVE = [PYTHON, "-c", """
import socket
server = socket.create_server(("", 8000))
print("serving", flush=True)
while True:
    server.accept()[0].close()
"""]

ASK = """
import socket, sys, time
def ask(host, tries):
    result = "no name"
    for i in range(100):
        try:
            socket.create_connection((host, 8000), 1).close()
            return "yes"
        except socket.gaierror:
            pass
        except OSError as e:
            result, tries = "no", tries - 1
            if not tries:
                return result
        time.sleep(0.1)
    return result
"""


def names_services_and_policies():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"selector": {"volcano.sh/job-name": "s"}, "ports": [{"port": 8000}]}}
    asks = "print(ask('s-web-0.s', {0}), ask('web', {0}))"
    jobs = [service,
            job("s", task("web", SERVE), task("a", [PYTHON, "-c", ASK + asks.format(100)], depends=["web"],
                                             policies=[on("TaskCompleted", "CompleteJob")]), plugins={"svc": []}),
            job("t", task("a", [PYTHON, "-c", ASK + asks.format(3)]), plugins={"svc": []})]
    if not os.path.exists(PYTHON) or not has_nftables():
        return skip("no python3 or no nftables")
    r = run(jobs, "--set", "s/spec.tasks[web].template.spec.containers[0].readinessProbe={tcpSocket: {port: 8000}, periodSeconds: 1}")
    same((r.lines("s-a-0"), r.lines("t-a-0")), (["yes yes"], ["no no"]))


# ---- who programs run as ----

def other_users():
    """With ids a container can be anybody; without there is one sentence that says why not."""
    context = {"runAsUser": 1234, "runAsGroup": 2345}
    pod = {"securityContext": {"fsGroup": 3456}, "volumes": [{"name": "v", "emptyDir": {}}]}
    j = job("j", task("a", sh("id -u; id -g; id -G; touch /v/x /tmp/x; stat -c '%u %g' /v/x"), pod=pod, securityContext=context,
                      volumeMounts=[{"name": "v", "mountPath": "/v"}]))
    if HAS_IDS:
        same(run(j).done().lines("a-0"), ["1234", "2345", "2345 3456", "1234 3456"])
        return
    r = run(j, "--timeout", "4s")
    assert r.status != 0 and not r.lines("a-0"), r.told()
    assert "subordinate ids" in str(r.events), r.told()
    r = run(job("j", task("a", sh("id"), securityContext=context)), "--timeout", "4s")
    assert r.status != 0 and "2345: this user has no subordinate ids" in str(r.events), r.told()


# ---- volumes ----

def modes_and_owners():
    volumes = [{"name": "c", "configMap": {"name": "c", "defaultMode": 0o640, "items": [{"key": "a", "path": "a"},
                                                                                       {"key": "b", "path": "b", "mode": 0o755}]}},
               {"name": "s", "secret": {"secretName": "s", "defaultMode": 0o400}}, {"name": "e", "emptyDir": {}},
               {"name": "m", "emptyDir": {"medium": "Memory"}}]
    mounts = [{"name": v["name"], "mountPath": "/v/" + v["name"]} for v in volumes]
    got = lines_of("cd /v; stat -L -c '%n %u %a' c/a c/b s/k e m; stat -f -c %T s m; cat s/k; echo; chown 0:0 e; echo x > e/x; echo x > m/x; echo done",
                   pod={"volumes": volumes}, objects=[config_map("c", a="1", b="2"), secret("s", k="word")], volumeMounts=mounts)
    same(got, ["c/a 0 640", "c/b 0 755", "s/k 0 400", "e 0 777", "m 0 1777", "tmpfs", "tmpfs", "word", "done"])


def host_path():
    """The user's own rights: what is its own can be read and changed, and is its own afterwards; what is root's cannot."""
    d = own_dir("host")
    write(f"{d}/closed", "secret\n", 0o600)
    if USER:
        write(f"{d}/mine", "mine\n")
        os.chown(f"{d}/mine", USER, USER)
    else:
        write(f"{d}/mine", "mine\n")
    got = lines_of("cat /h/mine; echo more >> /h/mine; echo new > /h/new; cat /h/closed 2> /dev/null || echo refused",
                   pod={"volumes": [{"name": "h", "hostPath": {"path": d}}]}, volumeMounts=[{"name": "h", "mountPath": "/h"}])
    same(got, ["mine", "refused" if USER else "secret"])
    with open(f"{d}/mine") as f:
        same(f.read(), "mine\nmore\n")
    same(os.stat(f"{d}/new").st_uid, USER or os.getuid())


def groups_of_the_user():
    """What a group of the user's opens to it, it opens to its pods."""
    if not USER:
        return skip("groups: not root")
    d, group = tempfile.mkdtemp(dir=DIR), USER + 100_000
    write(f"{d}/shared", "shared\n", 0o640)
    os.chmod(d, 0o750)
    for path in (d, f"{d}/shared"):
        os.chown(path, 0, group)
    path = write(f"{DIR}/groups.json", runs.json.dumps(job("j", task("a", sh("cat /h/shared"), pod={"volumes": [
        {"name": "h", "hostPath": {"path": d}}]}, volumeMounts=[{"name": "h", "mountPath": "/h"}]))))
    for groups, want in (([], 1), ([group], 0)):
        got = subprocess.run([runs.PUMICE, "run", "-q", "--state", own_dir("state"), "--timeout", "4s", path], user=USER, group=USER,
                             extra_groups=groups, capture_output=True, text=True)
        same((got.returncode != 0, got.stdout.endswith("shared\n")), (bool(want), not want))


CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def claims():
    """They stay from one run to the next, with the owners that pods gave them."""
    d = os.path.join(own_dir("claims"), "new")
    pod = {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}
    fields = {"pod": pod, "objects": [CLAIM], "volumeMounts": [{"name": "c", "mountPath": "/c"}]}
    owner = "1234" if HAS_IDS else "0"
    lines_of(f"echo word > /c/file; chown {owner} /c/file; chmod 600 /c/file", "--claims", d, **fields)
    same(lines_of("cat /c/file; stat -c '%u %a' /c/file; rm /c/file", "--claims", d, **fields), ["word", f"{owner} 600"])
    assert os.listdir(d), d
    without = lines_of("echo x > /c/y; echo x", **fields)
    same(without, ["x"])


# ---- images ----

def make_image(d):
    """A directory with one program; its library loader if it needs one."""
    os.makedirs(f"{d}/bin")
    os.makedirs(f"{d}/etc")
    write(f"{d}/etc/passwd", "root:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n")
    for source in ("/bin/sh", "/bin/cat", "/usr/bin/id"):
        shutil.copy(os.path.realpath(source), f"{d}/bin/{os.path.basename(source)}")
        found = subprocess.run(["ldd", source], capture_output=True, text=True).stdout
        for word in found.split():
            if word.startswith("/") and not os.path.exists(d + word):
                os.makedirs(d + os.path.dirname(word), exist_ok=True)
                shutil.copy(os.path.realpath(word), d + word)
    write(f"{d}/etc/image", "mine\n")
    return d


def images():
    d = make_image(os.path.join(own_dir("image"), "root"))
    if USER:
        for top, dirs, files in os.walk(d):
            for n in [top, *(os.path.join(top, f) for f in files)]:
                os.chown(n, USER, USER)
    script = "cat /etc/image; echo x > /etc/new && cat /etc/new; id -u"
    same(lines_of(script, "--image", f"debian:12={d}"), ["mine", "x", "0"])
    assert not os.path.exists(f"{d}/etc/new")
    archive = f"{d}.tar"

    def owned(info):
        info.uid = info.gid = 1000 if info.name.endswith("image") else 0
        return info
    with tarfile.open(archive, "w") as t:
        t.add(d, arcname=".", filter=owned)
    os.chmod(archive, 0o644)
    same(lines_of(script, "--image", f"*={archive}", "--image-store", own_dir("store")), ["mine", "x", "0"])


def runtimes():
    """runc and crun as an ordinary user: they work, or one sentence says why not."""
    for name in ("crun", "runc"):
        if not has(name):
            skip(f"no {name}")
            continue
        r = run(job("j", task("a", sh("id -u; hostname"))), "--runtime", name, "--timeout", "10s")
        if r.status == 0:
            same(r.lines("a-0"), ["0", "j-a-0"])
        else:
            assert r.status == 1 and not r.events and r.err.count("\n") == 1, (r.status, r.told(), r.err)
            skip(r.err.strip())


# ---- the end ----

FILES = "umask 077; mkdir -p /var/tmp/d /v/d; echo x > /var/tmp/d/f; echo x > /v/d/f; chown -R 1000:1000 /var/tmp/d /v/d 2> /dev/null; chmod 0 /v/d; "


def long_job():
    return job("j", task("a", sh(FILES + "echo ready; sleep 600 & wait"), replicas=2, pod={"volumes": [{"name": "v", "emptyDir": {}}]},
                         volumeMounts=[{"name": "v", "mountPath": "/v"}]), plugins={"svc": []})


def both_ready(r):
    return r.all_lines().count("ready") == 2


def ctrl_c():
    r = start(long_job()).until(both_ready).signal(signal.SIGINT).end()
    same(r.status, 130)


def killed():
    start(long_job()).until(both_ready).signal(signal.SIGKILL).end(leaves_s=20)


def descendants(pid):
    out = [pid]
    for tid in os.listdir(f"/proc/{pid}/task") if os.path.isdir(f"/proc/{pid}/task") else []:
        for child in leftovers.read(f"/proc/{pid}/task/{tid}/children").split():
            out += descendants(int(child))
    return out


def all_killed():
    """Nobody is left to clean up. What is in the state directory belongs to subordinate ids; the next run removes it all the same."""
    r = start(long_job()).until(both_ready)
    pids = descendants(r.process.pid)
    for pid in pids:
        leftovers.kill(pid, signal.SIGSTOP)
    for pid in pids:
        leftovers.kill(pid, signal.SIGKILL)
    r.process.wait()
    deadline = time.monotonic() + 10
    while leftovers.children() and time.monotonic() < deadline:
        time.sleep(0.05)
    same(leftovers.children(), [])
    assert leftovers.files(r.state), "nothing to remove"
    if HAS_IDS:
        assert {os.lstat(p).st_uid for p in leftovers.files(r.state)} & set(range(RANGE, RANGE + 65536)) or not USER, "only own files"
    again = run(job("k", task("a", ["true"])), state=r.state).done()
    same(leftovers.files(again.state), [])
    r.end()


# ---- what is forbidden ----

def forbidden():
    """Where user namespaces are not allowed there is one sentence and nothing runs."""
    path = write(f"{DIR}/forbidden.json", runs.json.dumps(job("j", task("a", ["true"]))))
    script = (f"echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin --inh-caps=-all "
              f"{runs.PUMICE} run --state {own_dir('state')} {path}")
    got = subprocess.run(["unshare", "-U", "-r", "sh", "-ec", script], user=USER, group=USER, extra_groups=[] if USER else None,
                         capture_output=True, text=True)
    if "max_user_namespaces: " in got.stderr or "unshare" in got.stderr:
        return skip("cannot take user namespaces away: " + got.stderr.strip())
    same((got.returncode, got.stdout, got.stderr.count("\n")), (1, "", 1))
    assert "user.max_user_namespaces is 0" in got.stderr and "sysctl" in got.stderr, got.stderr


def flows():
    """Probes of JobFlows by network: nobody outside reaches the pods, but the run does."""
    r = run(asked_by_network())
    same((r.status, {e["job"] for e in r.of("job") if e["phase"] == "Completed"}), (0, {"f-a", "f-b"}))


def no_home():
    """A login without HOME or runtime directory, with a home that is not there: --state is all it takes."""
    r = run_text(job("j", task("a", sh("echo $HOME"))), user=USER)
    same((r.status, r.out), (0, "a-0 | /root\n"))
    path = write(f"{DIR}/home.json", runs.json.dumps(job("j", task("a", ["true"]))))
    if USER:
        got = subprocess.run([runs.PUMICE, "run", path], user=USER, group=USER, extra_groups=[], capture_output=True, text=True,
                             env={"PATH": os.environ["PATH"], "HOME": "/nonexistent/home"})
        assert got.returncode == 1 and got.stderr.count("\n") == 1 and "/nonexistent" in got.stderr and "--state" in got.stderr, got.stderr
        got = subprocess.run([runs.PUMICE, "run", path], user=USER + 1_000_000, group=USER, extra_groups=[], capture_output=True,
                             text=True, env={"PATH": os.environ["PATH"]})
        same((got.returncode, got.stderr), (1, "pumice run: no home directory; use --state DIR\n"))


CASES = (files_of_the_host, many_pods, the_end_is_told, mpi_over_ssh, host_keys, names_services_and_policies, other_users,
         modes_and_owners, host_path, groups_of_the_user, claims, images, runtimes, ctrl_c, killed, all_killed, flows,
         no_home)
# In a mount namespace where nothing is mounted into /etc, its files are put together in another way.
PLAIN_CASES = (files_of_the_host, mpi_over_ssh, host_keys)


def try_all(suite, cases, who):
    if not can_run():
        return
    for f in cases:
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f"{f.__name__}, {who}", f)


def can_run():
    r = run(job("j", task("a", ["true"])))
    if r.status == 1 and not r.events: # one sentence; what comes later is no reason to skip anything
        skip(r.err.strip())
        return False
    return True


def main():
    global DIR, USER, HAS_IDS
    suite = Suite()
    DIR = tempfile.mkdtemp(prefix="pumice-user-")
    os.chmod(DIR, 0o755)
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        os.environ.pop(name, None)
    os.environ["HOME"] = DIR
    try:
        reachable_program()
        if os.getuid() == 0:
            USER = free_uids(3)[2]
            try_all(suite, PLAIN_CASES, "no name")
        users = make_up_users() if os.getuid() == 0 else [None]
        if users is None:
            print("skipped: no mount namespaces")
            return 77
        for i, USER in enumerate(users):
            HAS_IDS = i == 0 and has("newuidmap", "newgidmap") and os.path.exists("/etc/subuid") and USER is not None
            if i == 0 and USER and not HAS_IDS:
                skip("subordinate ids: no uidmap here")
                continue
            try_all(suite, CASES, "many ids" if HAS_IDS else "one id")
        if len(sys.argv) == 1 or "forbidden" in sys.argv:
            suite.case("forbidden", forbidden)
    finally:
        shutil.rmtree(DIR, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
