#!/usr/bin/env python3
"""Containers by an OCI runtime, runc or crun, instead of our own: the same pods, the same results, and nothing left behind.

Each runtime that is installed runs each case."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import images
import leftovers
from harness import PUMICE, Suite
from runs import HERE, Run, config_map, container, has, job, on, run, same, secret, sh, skip, task

RUNTIMES = [name for name in ("runc", "crun") if has(name)]
PYTHON = "/usr/bin/python3"


def with_(runtime):
    return "--runtime", runtime


def reasons(r):
    return " ".join(e.get("reason", "") + ": " + e.get("message", "") for e in r.of("pod")) + str(r.last().get("failed"))


# ---- what containers see ----

VOLUMES = [
    {"name": "conf", "configMap": {"name": "conf", "defaultMode": 0o440, "items": [{"key": "a", "path": "sub/a"}]}},
    {"name": "secret", "secret": {"secretName": "secret"}},
    {"name": "disk", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    {"name": "down", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"name": "all", "projected": {"sources": [{"configMap": {"name": "conf"}}, {"secret": {"name": "secret"}}]}},
    {"name": "claim", "persistentVolumeClaim": {"claimName": "claim"}},
]
MOUNTS = [{"name": v["name"], "mountPath": f"/v/{v['name']}"} for v in VOLUMES] + [
    {"name": "host", "mountPath": "/v/host"}, {"name": "host", "mountPath": "/v/host-ro", "readOnly": True},
    {"name": "conf", "mountPath": "/etc/one", "subPath": "sub/a"}]
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "claim"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}
SEES = """
cat /v/conf/sub/a /v/secret/s /v/down/name /v/all/a /v/all/s /etc/one | tr '\\n' ' '; echo
stat -L -c %a /v/conf/sub/a
echo x > /v/disk/f && echo x > /v/memory/f && echo x > /v/claim/f && cat /v/disk/f /v/memory/f /v/claim/f | tr -d '\\n'; echo
dd if=/dev/zero of=/v/memory/big bs=64k count=64 2>&1 | grep -o 'No space'
echo from-pod > /v/host/f; (echo y > /v/host-ro/f) 2> /dev/null || echo read-only
"""


def volumes(runtime):
    with tempfile.TemporaryDirectory() as d:
        pod = {"volumes": VOLUMES + [{"name": "host", "hostPath": {"path": d}}]}
        r = run([config_map("conf", a="A"), secret("secret", s="S"), CLAIM,
                 job("j", task("a", sh(SEES), pod=pod, volumeMounts=MOUNTS))], *with_(runtime)).done()
        with open(f"{d}/f") as f:
            same(f.read(), "from-pod\n")
    same([line.strip() for line in r.lines("a-0")], ["ASj-a-0ASA", "440", "xxx", "No space", "read-only"])


IDENTITY = """
echo "$GREETING, $NAME $POD; $0 $1; $(pwd) $HOME"; id -u; id -g; id -G
grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | cut -f 2 | tr '\\n' ' '; echo
(echo x > /etc/x) 2> /dev/null || echo read-only
kill -0 1 2> /dev/null; readlink /proc/1/root /proc/1/exe; ls /proc | grep -c '^[0-9]'
"""


def identity(runtime):
    fields = {"env": [{"name": "NAME", "value": "you"}, {"name": "GREETING", "value": "hello $(NAME)"},
                      {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
              "args": ["zero", "$(NAME)"], "workingDir": "/srv/work",
              "securityContext": {"runAsUser": 1234, "runAsGroup": 77, "readOnlyRootFilesystem": True,
                                  "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
    r = run(job("j", task("a", ["/bin/sh", "-c", IDENTITY.replace("$(pwd)", "$$(pwd)")],
                          pod={"securityContext": {"fsGroup": 88, "supplementalGroups": [99]}}, **fields)),
            *with_(runtime)).done()
    got = r.lines("a-0")
    same(got[:-1], ["hello you, you j-a-0; zero you; /srv/work /", "1234", "77", "77 88 99", "0000000000000000 1 2 ", "read-only"])
    assert int(got[-1]) <= 7, got


def privileged_and_capabilities(runtime):
    r = run(job("j", task("plain", sh("mount -t tmpfs x /mnt 2> /dev/null || echo refused")),
                task("some", sh("ip link set lo mtu 1400 && echo added"),
                     securityContext={"capabilities": {"add": ["NET_ADMIN"]}}),
                task("all", sh("mount -t tmpfs x /mnt && echo mounted; test -e /dev/fuse && echo devices"),
                     terminationMessagePath="/termination-log", securityContext={"privileged": True})), *with_(runtime)).done()
    same((r.lines("plain-0"), r.lines("all-0")[:1]), (["refused"], ["mounted"]))
    same(r.lines("some-0"), ["added"] if has("ip") else [])


def devices(runtime):
    nodes = [n for n in ("/dev/fuse", "/dev/net/tun") if os.path.exists(n)]
    if not nodes:
        return skip("devices: no /dev/fuse or /dev/net/tun here")
    script = "".join(f"test -c {n} && {{ (exec 3<> {n}) 2> /dev/null && echo open || echo there; }}; " for n in nodes)
    options = ("--device", "example.com/x=" + ",".join(nodes))
    limits = {"resources": {"limits": {"example.com/x": len(nodes)}}}
    r = run(job("j", task("with", sh(script), **limits), task("without", sh(script + "echo none"))),
            *options, *with_(runtime)).done()
    ours = run(job("j", task("with", sh(script), **limits)), *options).done()
    same((r.lines("with-0"), r.lines("without-0")), (ours.lines("with-0"), ["none"]))
    same(len(r.lines("with-0")), len(nodes))


# ---- how they live ----

def life(runtime):
    """Init containers, restarts, hooks, probes, processes of the pod."""
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o777)
        life_of(runtime, d)


def life_of(runtime, shared):
    """The job is completed by the last task, which waits for what the others have to show."""
    share = {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "h", "hostPath": {"path": shared}}]}
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "h", "mountPath": "/h"}]}
    hooks = {"postStart": {"exec": {"command": sh("echo post > /v/post")}},
             "preStop": {"exec": {"command": sh("echo pre > /v/pre; cat /v/pre > /proc/$(cat /v/pid)/fd/1")}}}
    probed = "echo $$$$ > /v/pid; until test -e /v/post; do sleep 0.05; done; touch /v/ready; echo up; sleep 60"
    again = "test -e /v/second && { echo again; touch /h/again; exit 0; }; touch /v/second; exit 3"
    last = "until test -e /h/again -a -e /h/seen; do sleep 0.05; done; echo last"
    r = run(job("j", task("restart", sh(again), pod={"restartPolicy": "OnFailure", **share, "initContainers": [
                    container(sh("echo init"), "first", **mount)]}, **mount),
                task("both", None, pod={"shareProcessNamespace": True, **share, "containers": [
                         container(sh("until pgrep -x sleep > /dev/null; do sleep 0.05; done; echo seen; touch /h/seen"), **mount),
                         container(["sleep", "100"], "other")]}),
                task("last", sh(last), pod=share, **mount, depends=["probed"], policies=[on("TaskCompleted", "CompleteJob")]),
                task("probed", sh(probed), pod={**share, "terminationGracePeriodSeconds": 20}, lifecycle=hooks,
                     readinessProbe={"exec": {"command": sh("test -e /v/ready")}, "periodSeconds": 1}, **mount)),
            *with_(runtime))
    r.done()
    same(r.lines("restart-0"), ["init", "again"])
    same(r.lines("both-0", "main"), ["seen"])
    assert r.lines("probed-0")[:1] == ["up"] and r.lines("last-0") == ["last"], r.told()
    assert r.took_s < 18, f"{r.took_s} s: SIGTERM did not end a program that does not handle it"


def status_and_signals(runtime):
    """The exact status, and the usual effect of signals: the program is not process 1."""
    with tempfile.TemporaryDirectory() as d:
        pod = {"volumes": [{"name": "v", "hostPath": {"path": d}}], "terminationGracePeriodSeconds": 30}
        mount = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
        wait = "until test -e /v/plain -a -e /v/trap -a -e /v/stubborn; do sleep 0.05; done; "
        r = run(job("j", task("code", sh(wait + "echo out; echo err >&2; exit 7"), policies=[on("PodFailed", "CompleteJob")],
                              pod=pod, **mount),
                    task("plain", sh("touch /v/plain; sleep 60"), pod=pod, **mount),
                    task("trap", sh("trap 'echo bye; exit 0' TERM; touch /v/trap; while :; do sleep 0.05; done"), pod=pod, **mount),
                    task("stubborn", sh("trap '' TERM; touch /v/stubborn; while :; do sleep 0.1; done"),
                         pod={**pod, "terminationGracePeriodSeconds": 1}, **mount)), *with_(runtime)).done()
    same((r.lines("code-0"), r.lines("trap-0")), (["out", "err"], ["bye"]))
    assert 1 < r.took_s < 20, r.took_s
    r = run(job("j", task("a", sh("kill -SEGV $$$$"))), *with_(runtime))
    same((r.status, r.last()["failed"][0]["exitCode"]), (139, 139))
    r = run(job("j", task("a", ["no-such-program"])), *with_(runtime))
    r.done("Failed", 128)
    assert "no-such-program" in reasons(r) and "StartError" in reasons(r), reasons(r)


def out_of_memory(runtime):
    r = run(job("j", task("a", [PYTHON, "-c", "x = bytearray(200 << 20); print('too much')"],
                          resources={"limits": {"memory": "48Mi", "cpu": "1"}})), *with_(runtime))
    if r.lines("a-0") == ["too much"]:
        assert any("memory" in e["text"] for e in r.of("notice")), "no limit, and no word about it"
        return
    r.done("Failed", 137)
    assert "OOMKilled" in reasons(r), reasons(r)


def mpi(runtime):
    if not has("sshd", "ssh", "mpiexec"):
        return skip("mpi: no openssh-server or no mpiexec")
    r = run(os.path.join(HERE, "..", "examples", "mpi", "job.yaml"), *with_(runtime)).done()
    assert any(line.startswith("pi = 3.14159") for line in r.all_lines()), r.all_lines()


def image(runtime):
    if not images.BUSYBOX:
        return skip("image: no static busybox")
    with tempfile.TemporaryDirectory() as d:
        path = images.docker_archive(f"{d}/a.tar", images.layer(images.root()), name="app:1",
                                     config={"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["echo $A $(id -u) $(pwd); ls /"],
                                             "Env": ["A=b", "PATH=/bin"], "User": "app", "WorkingDir": "/work"})
        r = run(job("j", {"name": "a", "replicas": 1, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "app:1"}]}}}),
            "--image", f"app:1={path}", "--image-store", f"{d}/store", *with_(runtime)).done()
    same(r.lines("a-0"), ["b 1000 /work", "bin", "dev", "etc", "proc", "sys", "work"])


# ---- what is left ----

def killed(runtime):
    """kill -9 of the program, and then of all of its processes at once."""
    wait = job("j", task("a", sh("echo ready; exec sleep 600"), replicas=2))
    r = Run(wait, *with_(runtime))
    r.until(lambda r: r.all_lines().count("ready") == 2).signal(signal.SIGKILL).end(leaves_s=15)
    r = Run(wait, *with_(runtime))
    r.until(lambda r: r.all_lines().count("ready") == 2)
    for pid in descendants(r.process.pid):
        leftovers.kill(pid, signal.SIGSTOP)
    for pid in reversed(descendants(r.process.pid)):  # containers last: those that end by themselves are to end so
        if not is_in_container(pid):
            leftovers.kill(pid, signal.SIGKILL)
    r.process.wait()
    deadline = time.monotonic() + 10
    while leftovers.children() + leftovers.in_group(r.id()) and time.monotonic() < deadline:  # it reaps, as process 1 would
        time.sleep(0.05)
    same(leftovers.in_group(r.id()), [])
    then = subprocess.run([PUMICE, "run", "--state", r.state, *with_(runtime), r.write("then.json", job("k", task("a", sh("true"))))],
                          capture_output=True, text=True)
    same((then.returncode, then.stderr if then.returncode else ""), (0, ""))
    r.end(leaves_s=2)
    known = [n for top in ("/run/runc", "/run/crun") if os.path.isdir(top) for n in os.listdir(top)]
    assert not [n for n in known if n.startswith("pod-")], known


def descendants(pid):
    out = [pid]
    for parent in out:
        for tid in os.listdir(f"/proc/{parent}/task") if os.path.isdir(f"/proc/{parent}/task") else []:
            out += [int(n) for n in leftovers.read(f"/proc/{parent}/task/{tid}/children").split()]
    return out


def is_in_container(pid):
    return leftovers.read(f"/proc/{pid}/comm").strip() in ("sleep", "sh", "pumice-init")


# ---- what does not work ----

def broken():
    """Every call has a time limit, and the pod's status says what happened."""
    with tempfile.TemporaryDirectory() as d:
        def script(name, text):
            with open(f"{d}/{name}", "w") as f:
                f.write(f'#!/bin/sh\n[ "$1" = --version ] && exit ${{VERSION:-0}}\n{text}\n')
            os.chmod(f"{d}/{name}", 0o755)
            return f"{d}/{name}"

        one = job("j", task("a", sh("echo never")))
        r = run(one, *with_(script("fails", "echo some words >&2; exit 1")), "--timeout", "20s")
        assert r.status != 0 and "exited with status 1" in reasons(r), (r.status, reasons(r))
        assert "some words" in r.lines("a-0"), r.told()
        begin = time.monotonic()
        r = run(one, *with_(script("hangs", "sleep 1000 & sleep 1000")), "--timeout", "1s")
        same(r.status, 124)
        assert time.monotonic() - begin < 15, "it waited for the runtime"
        for name, says in (("/no/such/runtime", "no such program"), ("no-such-runtime", "no-such-runtime"),
                           (script("not", "true"), "does not work")):
            r = run_error(name, one, d)
            assert r.returncode == 1 and says in r.stderr, (name, r.returncode, r.stderr)


def run_error(name, what, d):
    path = f"{d}/job.json"
    with open(path, "w") as f:
        json.dump(what, f)
    return subprocess.run([PUMICE, "run", "--state", f"{d}/state", "--runtime", name, path],
                          capture_output=True, text=True, env={**os.environ, "VERSION": "3"})


def ordinary_user(runtime):
    if os.geteuid() != 0 or not has("setpriv"):
        return skip("ordinary user: needs root to become one")
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o755)
        os.mkdir(f"{d}/state")
        os.chown(f"{d}/state", 65534, 65534)
        with open(f"{d}/job.json", "w") as f:
            json.dump(job("j", task("a", sh("id -u; exec sleep 60"), replicas=2, resources={"limits": {"memory": "64Mi", "cpu": "1"}},
                                    readinessProbe={"exec": {"command": ["true"]}, "periodSeconds": 1},
                                    pod={"terminationGracePeriodSeconds": 30}),
                          task("b", sh("echo b"), depends=["a"], policies=[on("TaskCompleted", "CompleteJob")])), f)
        r = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PUMICE, "run", "--state", f"{d}/state",
                            *with_(runtime), f"{d}/job.json"], capture_output=True, text=True, timeout=60, cwd="/",
                           env={**os.environ, "HOME": d})
        if r.returncode and "user namespace" in r.stderr:
            return skip("ordinary user: no user namespaces here")
        same((r.returncode, r.returncode and r.stderr), (0, 0))
        same(sorted(r.stdout.splitlines()), ["a-0 | 0", "a-1 | 0", "b-0 | b"])
        same(leftovers.files(f"{d}/state"), [])
    return None


# ---- images that are not to be trusted ----

# Prints what leads out: a directory that shows the host's mark, or processes that are not the container's.
LOOK = r"""
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <unistd.h>
int main(int n, char **dirs)
{
    char path[512];
    for (int i = 1; i < n; i++) {
        DIR *d = opendir(dirs[i]);
        int most = 0;
        for (struct dirent *e; d && (e = readdir(d));)
            most = atoi(e->d_name) > most ? atoi(e->d_name) : most;
        snprintf(path, sizeof(path), "%s/mark", dirs[i]);
        if (access(path, F_OK) == 0) printf("the host's files in %s\n", dirs[i]);
        if (most > 50) printf("the host's processes in %s\n", dirs[i]);
        snprintf(path, sizeof(path), "%s/evil", dirs[i]);
        close(open(path, O_CREAT | O_WRONLY, 0666));
    }
    puts("looked");
    return 0;
}
"""
LINKED = (["dev"], ["proc"], ["sys"], ["v"], ["etc", "run", "tmp"], ["dev", "proc", "sys", "etc", "v"])


def hostile_images(runtime):
    """Directories of an image that things are mounted at are links to a directory of the host, absolute ones and climbing ones: they are
    followed in the image, or the container does not start."""
    if not has("cc"):
        return skip("hostile images: no compiler")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        host, options, tasks = f"{d}/host", [], []
        os.mkdir(host)
        for name in ("mark", "null"):  # a runtime wants a /dev/null
            with open(f"{host}/{name}", "w"):
                pass
        subprocess.run(["cc", "-static", "-o", f"{d}/look", "-x", "c", "-"], input=LOOK, text=True, check=True)
        for i, target in enumerate((host, "../../../../../../../.." + host)):
            for names in LINKED:
                name = f"{i}-{'-'.join(names)}"
                os.mkdir(f"{d}/{name}")
                shutil.copy(f"{d}/look", f"{d}/{name}/look")
                for link in names:
                    os.symlink(target, f"{d}/{name}/{link}")
                options += ["--image", f"{name}={d}/{name}"]
                tasks.append(task(f"t{name}", ["/look", host, *(f"/{n}" for n in ("dev", "etc", "sys", "v", "tmp", "run"))], image=name,
                                  pod={"volumes": [{"name": "v", "emptyDir": {}}]}, volumeMounts=[{"name": "v", "mountPath": "/v"}]))
        r = run(job("j", *tasks, minAvailable=1), *options, "--timeout", "60s", *with_(runtime))
        same(([(e["pod"], e["text"]) for e in r.of("log") if "the host's" in e["text"]], sorted(os.listdir(host))), ([], ["mark", "null"]))
        ran = {e["pod"] for e in r.of("log") if e["text"] == "looked"}
        assert {f"j-t{i}-{n}-0" for i in (0, 1) for n in ("dev", "sys", "v", "etc-run-tmp")} <= ran, ran


def main():
    suite = Suite()
    if not RUNTIMES or os.geteuid() != 0:
        print("skipped: needs root and runc or crun")
        return 77
    for case in (volumes, identity, privileged_and_capabilities, devices, life, status_and_signals, out_of_memory, image, hostile_images,
                 killed, ordinary_user):
        for runtime in RUNTIMES if len(sys.argv) == 1 or case.__name__ in sys.argv else ():
            suite.case(f"{case.__name__}: {runtime}", lambda case=case, runtime=runtime: case(runtime))
    if len(sys.argv) == 1:
        suite.case("mpi", lambda: mpi(RUNTIMES[-1]))
        suite.case("broken", broken)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
