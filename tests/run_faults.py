#!/usr/bin/env python3
"""Bad input and faults: what cannot start, what eats too much, what will not stop, what dies."""
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from harness import PUMICE, Suite
from runs import Run, has, has_mount_namespaces, job, on, run, run_text, same, sh, skip, task

PYTHON = "/usr/bin/python3"
NODE = ("--node", "cpu=100,memory=100Gi,pods=100")


def failed(r):
    return next(e for e in r.of("pod") if e["state"] == "failed")


# ---- what cannot start ----

def no_such_command():
    r = run(job("j", task("a", ["/bin/no-such-program"])))
    r.done("Failed", 128)
    assert "no-such-program" in str(r.last()["failed"]), r.last()
    r = run_text(job("j", task("a", ["no-such-program"])))
    assert r.status == 128 and "no-such-program" in r.err + r.out, r.err


def not_a_program():
    r = run(job("j", task("a", ["/etc/hostname"])))
    assert r.status == 128 and r.phase() == "Failed", r.told()


def missing_config_map():
    for source in ({"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "nobody", "key": "k"}}}]},
                   {"envFrom": [{"configMapRef": {"name": "nobody"}}]}):
        r = run(job("j", task("a", sh("true"), **source)), "--timeout", "3s")
        same(r.status, 124)
        says = " ".join(e.get("message", "") for e in r.of("pod"))
        assert "nobody" in says, r.told()
    volume = {"volumes": [{"name": "v", "configMap": {"name": "nobody"}}]}
    r = run(job("j", task("a", sh("true"), pod=volume, volumeMounts=[{"name": "v", "mountPath": "/v"}])), "--timeout", "3s")
    same(r.status, 124)
    assert "nobody" in " ".join(e.get("message", "") for e in r.of("pod")), r.told()


def bad_user():
    r = run(job("j", task("a", sh("true"), securityContext={"runAsNonRoot": True})), "--timeout", "3s")
    assert r.status != 0 and "oot" in " ".join(e.get("message", "") + e.get("reason", "") for e in r.of("pod")), r.told()


def wrong_manifest():
    """Nothing starts, and the message names file, line and field."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec:\n  minAvailable: 9\n  tasks: []\n")
        f.flush()
        r = run_text(f.name)
    assert r.status == 1 and "spec.tasks" in r.err, (r.status, r.err)
    r = run_text("/no/such/file.yaml")
    assert r.status in (1, 2) and "/no/such/file.yaml" in r.err, (r.status, r.err)


# ---- what eats too much ----

def memory_over_its_limit():
    r = run(job("j", task("a", [PYTHON, "-c", "x = bytearray(200 << 20); print('too much')"],
                          resources={"limits": {"memory": "48Mi"}})))
    if r.lines("a-0") == ["too much"]:
        assert any("memory" in e["text"] for e in r.of("notice")), "no limit, and no word about it"
        return
    r.done("Failed", 137)
    same((failed(r)["reason"], failed(r)["message"]), ("OOMKilled", "its memory limit is 48Mi"))


def fork_bomb():
    """The pod's own processes fail; the machine, and another pod, do not."""
    bomb = "ulimit -u unlimited 2> /dev/null; b() { b | b & }; b 2> /dev/null; sleep 1; echo survived; exit 0"
    r = run(job("j", task("bomb", sh(bomb), resources={"limits": {"memory": "256Mi"}}),
                task("calm", sh("sleep 0.5; echo calm"))), "--timeout", "60s")
    same(r.lines("calm-0"), ["calm"])
    assert r.took_s < 40, r.took_s


def full_volume():
    r = run(job("j", task("a", sh("dd if=/dev/zero of=/v/file bs=1M count=20 2>&1; rm /v/file; echo small > /v/file && echo again"),
                          pod={"volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "4Mi"}}]},
                          volumeMounts=[{"name": "v", "mountPath": "/v"}]))).done()
    text = "\n".join(r.lines("a-0"))
    assert "No space left" in text and "again" in text, text


def full_disk():
    """The file system of the state directory is full: the pod's write fails, the run comes to its end, nothing is left."""
    if not has_mount_namespaces():
        return skip("a full disk: no mount namespaces")
    with tempfile.TemporaryDirectory() as d:
        spec = os.path.join(d, "job.json")
        with open(spec, "w") as f:
            json.dump(job("j", task("a", sh("dd if=/dev/zero of=/var/file bs=1M count=30 2>&1 | tail -1; echo end"))), f)
        script = (f"mount -t tmpfs -o size=8m,mode=755 none {d}/state && {PUMICE} run --state {d}/state {spec}; s=$?; "
                  f"find {d}/state -type f ! -name '*lock'; umount {d}/state; exit $s")
        os.mkdir(f"{d}/state")
        r = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert "No space left" in r.stdout + r.stderr, "neither the pod's words nor a word about them: " + r.stdout + r.stderr
    assert "Sanitizer" not in r.stderr and r.returncode == 0, (r.returncode, r.stderr)


# ---- logs ----

def many_logs():
    """20 MB as fast as they come: nothing is lost, nothing is doubled, in order."""
    lines = 200000
    with tempfile.TemporaryDirectory() as d:
        r = run_text(job("j", task("a", sh(f"seq -f '%0100.0f' 1 {lines}"))), "--logs", "none", "--log-dir", d)
        same(r.status, 0)
        files = [os.path.join(top, n) for top, _, names in os.walk(d) for n in names]
        same(len(files), 1)
        with open(files[0]) as f:
            n = 0
            for n, line in enumerate(f, 1):
                if int(line[-101:]) != n:
                    raise AssertionError(f"line {n}: {line!r}")
        same(n, lines)
    assert r.took_s < 30, f"{r.took_s} s for 20 MB"


def many_logs_on_standard_output():
    r = run_text(job("j", task("a", sh("seq 1 50000"), replicas=2)), "--logs", "all")
    same(r.status, 0)
    for i in range(2):
        got = [line.split()[-1] for line in r.text if line.startswith(f"a-{i} ") or line.startswith(f"a-{i}:")]
        same(got[:3] + got[-1:] + [len(got)], ["1", "2", "3", "50000", 50000])


def binary_logs():
    raw = bytes(range(256)) + b"\xff\xfe end without a newline"
    script = f"import os; os.write(1, {raw!r})"
    r = run(job("j", task("a", [PYTHON, "-c", script]))).done()
    got = b"".join((base64.b64decode(e["base64"]) if "base64" in e else e["text"].encode()) +
                   (b"" if e.get("partial") else b"\n") for e in r.of("log"))
    same(got, raw + b"\n")
    r = run_text(job("j", task("a", [PYTHON, "-c", script])), binary=True)
    assert r.status == 0 and b"end without a newline" in r.out, r.out


def long_line():
    r = run(job("j", task("a", [PYTHON, "-c", "print('x' * 1000000)"]))).done()
    same(sum(len(e["text"]) for e in r.of("log")), 1000000)


# ---- what will not stop ----

STUBBORN = sh("trap '' TERM INT; echo ready; while :; do sleep 0.1; done")


def ignores_sigterm():
    """Killed when its grace is over, not before."""
    r = run(job("j", task("a", sh("sleep 0.5"), policies=[on("TaskCompleted", "CompleteJob")]),
                task("b", STUBBORN, pod={"terminationGracePeriodSeconds": 2})))
    r.done()
    assert 2 < r.took_s < 15, r.took_s


def interrupt():
    """Once: gracefully."""
    r = Run(job("j", task("a", sh("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.1; done"), replicas=2,
                          pod={"terminationGracePeriodSeconds": 10})))
    r.until(lambda r: r.all_lines().count("ready") == 2).signal(signal.SIGINT).end()
    same((r.status, r.all_lines().count("bye")), (130, 2))
    assert r.took_s < 10, r.took_s


def interrupt_twice():
    r = Run(job("j", task("a", STUBBORN, pod={"terminationGracePeriodSeconds": 60})))
    r.until_line("ready").signal(signal.SIGINT)
    time.sleep(0.3)
    begin = time.monotonic()
    r.signal(signal.SIGINT).end()
    assert time.monotonic() - begin < 5, "a second Ctrl-C is to end it at once"
    same(r.status, 130)


def terminated():
    r = Run(job("j", task("a", sh("echo ready; sleep 60"))))
    r.until_line("ready").signal(signal.SIGTERM).end()
    same(r.status, 143)


def timeout():
    r = run(job("j", task("a", sh("echo ready; sleep 60"))), "--timeout", "1s")
    same(r.status, 124)
    assert r.took_s < 10, r.took_s


def killed():
    """kill -9 of the program: all of it goes by itself."""
    r = Run(job("j", task("a", sh("echo ready; sleep 600"), replicas=3), plugins={"svc": []}))
    r.until(lambda r: r.all_lines().count("ready") == 3).signal(signal.SIGKILL).end(leaves_s=15)


def reader_that_leaves():
    """`pumice run … | head -1`: the job goes on to its end."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/job.json", "w") as f:
            json.dump(job("j", task("a", sh("seq 1 20000"))), f)
        r = subprocess.run(["sh", "-c", f"{{ {PUMICE} run --state {d}/state {d}/job.json 2> {d}/err; echo $? > {d}/status; }} | head -1"],
                           capture_output=True, text=True, timeout=60)
        with open(f"{d}/err") as e, open(f"{d}/status") as status:
            err = e.read()
            same((len(r.stdout.splitlines()), status.read()), (1, "0\n"))
    assert "Sanitizer" not in err and "Completed" in err, err


# ---- many ----

def five_hundred_pods():
    r = run(job("j", task("a", ["/bin/true"], replicas=500)), "--node", "cpu=1000,memory=1000Gi,pods=1000").done()
    same(r.last()["jobs"][0]["tasks"][0]["succeeded"], 500)


def many_jobs():
    jobs = [job(f"j{i}", task("a", sh(f"echo {i}"))) for i in range(20)]
    r = run(jobs)
    same((r.status, sorted(int(line) for line in r.all_lines())), (0, list(range(20))))


def two_runs_at_a_time():
    """The same names in both; they do not meet."""
    j = job("j", task("a", sh("echo ready; sleep 1; hostname -i"), replicas=2), plugins={"svc": []})
    runs = [Run(j), Run(j)]
    for r in runs:
        r.end().done()
    assert runs[0].id() != runs[1].id()


def few_files():
    """A shell that allows 64 open files: enough for no job of some size, and not what a container is given elsewhere."""
    def limited(n, replicas, script):
        prefix = ("sh", "-c", f'ulimit -Sn {n}; exec "$@"', "sh")
        return Run(job("j", task("a", sh(script), replicas=replicas)), *NODE, prefix=prefix).end().done()

    same(set(limited(64, 25, "sleep 2; ulimit -Sn").all_lines()), {"1024"})
    same(limited(3000, 1, "ulimit -Sn").all_lines(), ["3000"])


# ---- time ----

FAKE_CLOCK = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    char text[32] = "0";
    int rc = (int)syscall(SYS_clock_gettime, id, t), fd = id == CLOCK_REALTIME ? open(getenv("FAKE_CLOCK"), O_RDONLY | O_CLOEXEC) : -1;

    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
        t->tv_sec += strtol(text, NULL, 10);
    if (fd >= 0)
        close(fd);
    return rc;
}
"""


def clock_that_is_set():
    """Somebody sets the clock of the machine: an hour ahead, then a day back. Deadlines, delays and times of a run go on as they were."""
    if not has("cc"):
        return skip("no compiler")
    with tempfile.TemporaryDirectory() as d:
        def set_clock(seconds):
            with open(f"{d}/new", "w") as f:
                f.write(str(seconds))
            os.rename(f"{d}/new", f"{d}/ahead")

        set_clock(0)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{d}/fake.so", "-x", "c", "-"], input=FAKE_CLOCK, text=True, check=True)
        prefix = ("env", f"LD_PRELOAD={d}/fake.so", f"FAKE_CLOCK={d}/ahead",
                  f"ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0")
        late = [{**on("PodEvicted", "AbortJob"), "timeout": "100s"}]
        r = Run(job("j", task("patient", sh("echo up; sleep 2; echo done"), pod={"activeDeadlineSeconds": 100}),
                    task("hasty", sh("echo up; sleep 1000"), pod={"activeDeadlineSeconds": 2}), minAvailable=1, policies=late),
                "--timeout", "60s", prefix=prefix)
        r.until(lambda r: r.all_lines().count("up") == 2)
        set_clock(3600)
        time.sleep(0.3)
        set_clock(-86400)
        r.end()
    same((r.lines("patient-0"), r.states()), (["up", "done"], {"j-patient-0": "succeeded", "j-hasty-0": "failed"}))
    assert "DeadlineExceeded" in str(failed(r)) and r.took_s < 30, (failed(r), r.took_s)
    assert len({e["time"][:13] for e in r.events}) <= 2, "times of the run jump by an hour"


def main():
    suite = Suite()
    for f in (no_such_command, not_a_program, missing_config_map, bad_user, wrong_manifest, memory_over_its_limit, fork_bomb,
              full_volume, full_disk, many_logs, many_logs_on_standard_output, binary_logs, long_line, ignores_sigterm, interrupt,
              interrupt_twice, terminated, timeout, killed, reader_that_leaves, five_hundred_pods, many_jobs,
              two_runs_at_a_time, few_files, clock_that_is_set):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
