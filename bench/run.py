#!/usr/bin/env python3
"""What a pod costs: pumice run beside runc, podman kube play and the bare system calls, in one run of this program.

    bench/run.py [--pumice PATH] [--floor PATH] [--quick]

Needs root. Each command runs in a control group of its own, so that the CPU time of everything it starts counts, also of what
leaves its process tree. Peers that are not installed, or do not work on this machine, are said and left out.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Group:
    """CPU time of all that runs in a fresh control group (v1 cpuacct or v2)."""

    def __init__(self):
        self.path = None
        for base, own in self.places():
            path = os.path.join(base + own, f"bench-{os.getpid()}-{time.monotonic_ns()}")
            try:
                os.mkdir(path)
                self.path = path
                return
            except OSError:
                pass

    @staticmethod
    def places():
        own = dict(line.strip().split(":", 2)[1:] for line in open("/proc/self/cgroup"))
        yield "/sys/fs/cgroup/cpuacct", own.get("cpuacct", "/")
        yield "/sys/fs/cgroup/cpu,cpuacct", own.get("cpu,cpuacct", "/")
        yield "/sys/fs/cgroup", own.get("", "/")

    def enter(self):
        if self.path:
            with open(os.path.join(self.path, "cgroup.procs"), "w") as f:
                f.write("0")

    def seconds(self):
        try:
            return int(open(os.path.join(self.path, "cpuacct.usage")).read()) / 1e9
        except OSError:
            pass
        for line in open(os.path.join(self.path, "cpu.stat")):
            if line.startswith("usage_usec"):
                return int(line.split()[1]) / 1e6
        return 0.0

    def close(self):
        for _ in range(50):
            left = [os.path.join(d, n) for d, names, _ in os.walk(self.path, topdown=False) for n in names]
            try:
                for path in left + [self.path]:
                    os.rmdir(path)
                return
            except OSError:
                time.sleep(0.05)


def measure(argv, cwd=None):
    """(wall seconds, CPU seconds) of a command; None if it failed."""
    group = Group()
    begin = time.monotonic()
    run = subprocess.run(argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=group.enter)
    wall = time.monotonic() - begin
    cpu = group.seconds()
    group.close()
    if run.returncode != 0:
        return None, run.stdout.decode(errors="replace")[-400:]
    return (wall, cpu), None


def job(name, pods):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"minAvailable": pods, "tasks": [{"name": "t", "replicas": pods, "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "host", "command": ["/bin/true"]}]}}}]}}


def row(what, pods, got):
    wall, cpu = got
    print(f"{what:<34} {pods:>6} {wall * 1000:>11.1f} {pods / wall:>9.0f} {cpu * 1000 / pods:>11.2f}", flush=True)


def best(argv, times, cwd=None):
    got = []
    for _ in range(times):
        one, why = measure(argv, cwd)
        if one is None:
            return None, why
        got.append(one)
    return min(got), None


def pumice(args, dir):
    base = [args.pumice, "run", "--logs=none", "--quiet", "--network", "private", "--state", os.path.join(dir, "state"),
            "--node", "cpu=1000,memory=1Ti,pods=2000"]
    for pods in (1, 10, 100, 500) if not args.quick else (1, 10):
        path = os.path.join(dir, f"{pods}.json")
        json.dump(job("bench", pods), open(path, "w"))
        got, why = best(base + [path], 5 if pods < 100 else 2)
        if got is None:
            sys.exit(f"pumice run failed: {why}")
        row(f"pumice run, a job of {pods}", pods, got)
    n = 100 if not args.quick else 10
    path = os.path.join(dir, "jobs.yaml")
    with open(path, "w") as f:
        for i in range(n):
            f.write("---\n" + json.dumps(job(f"bench-{i}", 1)) + "\n")
    got, why = best(base + [path], 2)
    if got is None:
        sys.exit(f"pumice run failed: {why}")
    row(f"pumice run, {n} jobs of 1", n, got)


def floor(args):
    n = 500 if not args.quick else 50
    got, why = best([args.floor, str(n)], 3)
    print(f"floor: {why}") if got is None else row("clone3 + exec, one after another", n, got)


class Mounted:
    """The host's files through an overlay, as a pod of pumice has them; made once, not for each container."""

    def __init__(self, dir):
        self.path = os.path.join(dir, "rootfs")
        parts = {name: os.path.join(dir, name) for name in ("upper", "work")}
        for path in [self.path, *parts.values()]:
            os.mkdir(path)
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        f"lowerdir=/,upperdir={parts['upper']},workdir={parts['work']}", self.path], check=True)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", self.path], check=True)


def bundle(dir, root):
    """A container of the host's files for runc."""
    subprocess.run(["runc", "spec", "--bundle", dir], check=True)
    path = os.path.join(dir, "config.json")
    config = json.load(open(path))
    config["process"].update(terminal=False, args=["/bin/true"])
    config["root"] = {"path": root, "readonly": False}
    json.dump(config, open(path, "w"))


def runc(args, dir):
    if not shutil.which("runc"):
        print("runc: not installed")
        return
    n = 100 if not args.quick else 10
    loop = f"for i in $(seq {n}); do runc run --bundle {dir} bench-$$-$i || exit 1; done"
    with Mounted(dir) as root:
        bundle(dir, root)
        got, why = best(["sh", "-c", loop], 2)
    print(f"runc run: does not work here: {why}") if got is None else row("runc run, one after another", n, got)


# podman asks for more processes and files than a root without CAP_SYS_RESOURCE may have, and nothing turns that off.
WITHOUT_RLIMITS = """#!/bin/sh
for a; do
    case $last in --bundle|-b) sed -i 's/"rlimits":/"rlimits-":/' "$a/config.json" ;; esac
    last=$a
done
exec runc "$@"
"""


def podman(args, dir):
    if not shutil.which("podman"):
        print("podman: not installed")
        return
    root = os.path.join(dir, "image")
    os.makedirs(os.path.join(root, "bin"))
    shell = shutil.which("busybox")
    if not shell:
        print("podman: needs busybox-static for an image")
        return
    shutil.copy(shell, os.path.join(root, "bin", "true"))
    runtime = os.path.join(dir, "runc")
    with open(runtime, "w") as f:
        f.write(WITHOUT_RLIMITS)
    os.chmod(runtime, 0o755)
    store = ["podman", "--runtime", runtime, "--root", os.path.join(dir, "store"), "--runroot", os.path.join(dir, "runroot")]
    subprocess.run(f"tar -C {root} -c . | {' '.join(store)} import - localhost/bench:latest", shell=True, check=True,
                   capture_output=True)
    for pods in (1, 10) if not args.quick else (1,):
        path = os.path.join(dir, f"podman-{pods}.yaml")
        with open(path, "w") as f:
            for i in range(pods):
                f.write("---\n" + json.dumps({
                    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"bench-{i}"},
                    "spec": {"restartPolicy": "Never", "containers": [{
                        "name": "main", "image": "localhost/bench:latest", "imagePullPolicy": "Never",
                        "command": ["/bin/true"]}]}}) + "\n")
        play = " ".join(store + ["kube", "play", path])
        down = " ".join(store + ["kube", "down", path])
        got, why = best(["sh", "-c", f"{play} && {down}"], 2)
        if got is None:
            print(f"podman kube play: does not work here: {why}")
            break
        row(f"podman kube play + down, {pods} pods", pods, got)
    subprocess.run([*store, "rm", "-f", "-a"], check=False, capture_output=True)
    subprocess.run(["umount", "-q", os.path.join(dir, "store", "overlay")], check=False)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pumice", default=os.path.join(HERE, "..", "b-bench", "pumice"))
    p.add_argument("--floor", default=os.path.join(HERE, "..", "b-bench", "bench", "bench_floor"))
    p.add_argument("--quick", action="store_true")
    args = p.parse_args()
    args.pumice, args.floor = os.path.abspath(args.pumice), os.path.abspath(args.floor)
    print(f"{'':<34} {'pods':>6} {'wall, ms':>11} {'pods/s':>9} {'CPU ms/pod':>11}")
    for part in ("pumice", "floor", "runc", "podman"):
        with tempfile.TemporaryDirectory(prefix="pumice-bench-") as dir:
            globals()[part](args, *([] if part == "floor" else [dir]))


if __name__ == "__main__":
    main()
