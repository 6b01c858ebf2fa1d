#!/usr/bin/env python3
"""`pumice run` as its user meets it: options, bad input, --dry-run, and the forms of its output.

What needs real pods is skipped, with a word, where this machine cannot run them.
"""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from harness import PUMICE, Suite, has, pumice, same, text_of

STATE = tempfile.TemporaryDirectory(prefix="pumice-run-")


def job(name="train", tasks=None, **spec):
    tasks = tasks or {"worker": (1, "true")}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {**spec, "tasks": [
                {"name": task, "replicas": n, "template": {"spec": {
                    "restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [
                        {"name": "main", "image": "busybox", "command": ["sh", "-c", script],
                         "resources": {"requests": {"cpu": "100m"}}}]}}}
                for task, (n, script) in tasks.items()]}}


def run(objects, *args, **kw):
    return pumice("run", "--state", STATE.name, *args, "-", stdin=text_of(*objects), **kw)


def events_of(r):
    return [json.loads(line) for line in r.stdout.splitlines()]


# ---- before anything runs ----

WRONG_USE = [
    (["--timeout", "soon"], "--timeout"),
    (["--timeout", "-1s"], "--timeout: must be greater than 0"),
    (["--timeout", "0"], "--timeout"),
    (["--node", "cpu"], "must be RESOURCE=AMOUNT"),
    (["--node", "cpu=x"], "--node cpu=x"),
    (["--max-restarts", "-1"], "--max-restarts: must be 0 or greater (got -1)"),
    (["--network", "host"], "is not one of auto, private"),
    (["-o", "yaml"], "is not one of text, json"),
    (["--set", "spec.queue"], "--set spec.queue: must be"),
    (["--set", "kind=Pod"], "must begin with spec."),
    (["--replicas", "boss=1"], 'no task "boss" (tasks: train/worker)'),
    (["--replicas", "worker=many"], "is not a number"),
    (["--env", "=x"], "must be NAME=VALUE"),
    (["--env", "PUMICE_TEST_NOT_SET"], "not set in this environment"),
    (["--logs", "boss"], '--logs boss: must be all, failed, none or a task (tasks: worker)'),
    (["--logs="], "must be all"),
    (["--colour"], "unknown option"),
]


def wrong_use(args, want):
    r = run([job()], *args)
    same(r.returncode, 2)
    has(r.stderr, want)
    same(r.stdout, "")


def no_file():
    r = pumice("run")
    same(r.returncode, 2)
    has(r.stderr, "no file given")


OWNER = {"apiVersion": "x/v1", "kind": "Flow", "name": "f", "uid": "1"}
BAD_FILES = [
    ("", "the file is empty"),
    ("{", "standard input:2:1: error: "),
    (text_of({**job(), "spec": {"tasks": []}}), "spec.tasks"),
    (text_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}), "no Volcano Job in standard input"),
    (text_of({**job(), "metadata": {"name": "x", "ownerReferences": [{**OWNER, "controller": True}]}}),
     "nothing to run in standard input: Job x belongs to Flow f (metadata.ownerReferences)"),
    (text_of({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}), "is not a Volcano Job"),
    (text_of(job(), job()), "names must be unique"),
    (text_of(job(tasks={"a": (1, "true"), "b": (2, "true")}, minAvailable=9)), "minAvailable"),
]


def bad_file(text, want):
    r = pumice("run", "--state", STATE.name, "-", stdin=text)
    same(r.returncode, 1)
    has(r.stderr, want)


def a_change_that_makes_it_wrong():
    """It is reported as if the file said so."""
    r = run([job()], "--set", "spec.tasks[worker].replicas=-1")
    same(r.returncode, 1)
    has(r.stderr, "spec.tasks[0].replicas")
    r = run([job()], "--set", "spec.nonsense=1", "--dry-run")
    has(r.stderr, "nonsense")


def files_that_cannot_be_written():
    for flag in ("--report", "--trace"):
        r = run([job()], flag, "/nonexistent/x")
        same(r.returncode, 1)
        has(r.stderr, f"{flag}: cannot create /nonexistent/x: No such file or directory")
    r = run([job()], "--log-dir", "/dev/null/x/y")  # others are made
    same(r.returncode, 1)
    has(r.stderr, "--log-dir")
    same(r.stdout, "")


def help_text():
    text = pumice("run", "--help").stdout
    for word in ("--logs", "--log-dir", "--set", "--replicas", "--env", "--timeout", "--wait", "--report", "--trace", "--dry-run",
                 "--keep", "--keep-state", "--quiet", "--node", "--image", "--image-store", "--device", "--network", "--runtime", "--claims",
                 "--state", "--namespace", "Ctrl-C", "124"):
        has(text, word)


# ---- --dry-run ----

def dry_run_is_render():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(text_of(job(tasks={"a": (2, "true")}, plugins={"svc": [], "ssh": []})))
        f.flush()
        # Keys are made afresh each time, and masked: nothing else differs.
        for args in ([], ["-o", "json"]):
            plain, dry = pumice("render", *args, f.name), pumice("run", "--dry-run", *args, f.name)
            same(dry.returncode, 0)
            same(dry.stdout, plain.stdout)


def dry_run_with_changes():
    r = run([job(tasks={"a": (1, "true"), "b": (2, "true")}, minAvailable=3)], "--dry-run", "-o", "json", "--replicas", "b=4",
            "--set", "spec.queue=night", "-e", "STEPS=7", "-n", "other")
    same(r.returncode, 0)
    items = json.loads(r.stdout)["items"]
    j = next(o for o in items if o["kind"] == "Job")
    pods = [o for o in items if o["kind"] == "Pod"]
    same((j["spec"]["queue"], j["spec"]["minAvailable"], j["metadata"]["namespace"]), ("night", 5, "other"))
    same(len(pods), 5)
    for pod in pods:
        env = {e["name"]: e.get("value") for e in pod["spec"]["containers"][0]["env"]}
        same(env["STEPS"], "7")


# ---- with pods ----

def completes():
    r = run([job(tasks={"master": (1, "echo from master"), "worker": (2, "echo from $X")})], "-e", "X=here")
    same(r.returncode, 0)
    same(sorted(r.stdout.splitlines()), ["master-0 | from master", "worker-0 | from here", "worker-1 | from here"])
    has(r.stderr, "job train Completed", "succeeded")
    assert "\033" not in r.stdout + r.stderr, "colour, and no terminal"


def fails():
    r = run([job(tasks={"worker": (1, "echo it is broken >&2; exit 42")})])
    same(r.returncode, 42)
    has(r.stderr, "worker-0 failed: exit code 42", "    it is broken", "job train Failed")


def quiet():
    r = run([job(tasks={"worker": (1, "echo hi")})], "-q")
    same((r.returncode, r.stdout, r.stderr), (0, "worker-0 | hi\n", ""))


def logs_and_log_dir():
    with tempfile.TemporaryDirectory() as d:
        r = run([job(tasks={"good": (1, "echo fine"), "bad": (1, "printf '\\377\\033[2J'; echo; exit 1")})], "--logs=failed",
                "--log-dir", os.path.join(d, "logs"), "--set", "spec.minAvailable=2", "-q", "-o", "json")
        same(r.returncode, 1)
        logs = [e for e in events_of(r) if e["type"] == "log"]
        same([(e["task"], e["base64"]) for e in logs], [("bad", "/xtbMko=")])
        same(sorted(os.listdir(os.path.join(d, "logs"))), ["train-bad-0.main.log", "train-good-0.main.log"])
        with open(os.path.join(d, "logs", "train-bad-0.main.log"), "rb") as f:
            same(f.read(), b"\xff\033[2J\n")


def json_form():
    r = run([job(tasks={"worker": (2, "echo hi")})], "-o", "json")
    same((r.returncode, r.stderr), (0, ""))
    events = events_of(r)
    same((events[0]["type"], events[-1]["type"]), ("start", "end"))
    for e in events:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", e["time"]), e
    states = [e["state"] for e in events if e["type"] == "pod" and e["index"] == 1]
    same((states[0], states[-1]), ("pending", "succeeded"))
    phases = [e["phase"] for e in events if e["type"] == "job"]
    same((phases[0], phases[-1]), ("Pending", "Completed"))
    end = events[-1]
    same((end["status"], end["jobs"][0]["phase"], end["jobs"][0]["tasks"][0]["succeeded"]), (0, "Completed", 2))


def never_fits():
    begin = time.monotonic()
    r = run([job(tasks={"worker": (4, "true")})], "--node", "cpu=300m,memory=1Gi,pods=100")
    same(r.returncode, 1)
    has(r.stderr, "job train waits: ", "cannot start", "cpu", "    hint: ", ": --node cpu=400m\n")
    assert "running" not in r.stderr, r.stderr
    assert 2.5 < time.monotonic() - begin < 30, "it should give up after 3 s"


def fits():
    """Numbers and text, limits for requests, a pod of its own for each; a device that is not there is left out."""
    doc = job(tasks={"worker": (3, "true"), "boss": (1, "true")}, minAvailable=4)
    worker, boss = (t["template"]["spec"]["containers"][0] for t in doc["spec"]["tasks"])
    worker["resources"] = {"limits": {"cpu": 16, "memory": "64Gi", "example.com/fpga": 2, "hugepages-2Mi": "1Gi", "ephemeral-storage": "1Ti"}}
    boss["resources"] = {"requests": {"cpu": "2500m", "memory": "1Gi"}}
    machine = ("--node", "cpu=2,memory=8Gi,pods=10,ephemeral-storage=300Gi,hugepages-2Mi=0")
    same(run([doc], *machine).returncode, 1)
    r = run([doc], *machine, "--fit")
    same(r.returncode, 0)
    has(r.stderr, "--fit: job train asks for cpu 50500m in all, and the machine has 2: every request is 0.0396 times as large",
        "--fit: job train asks for memory 193Gi in all, and the machine has 8Gi: every request is 0.0415 times as large",
        "--fit: job train asks for 6 example.com/fpga, and the machine has none: left out",
        "--fit: job train asks for 3Gi hugepages-2Mi, and the machine has none: left out",
        # the disk is less by the time the pods are placed: a tenth is left
        "--fit: job train asks for ephemeral-storage 3Ti in all, and the machine has 300Gi: every request is 0.0879 times as large")
    r = run([job()], *machine, "--fit")
    assert "--fit" not in r.stderr, r.stderr


def times_out():
    r = run([job(tasks={"worker": (1, "sleep 100")})], "--timeout", "1s")
    same(r.returncode, 124)
    has(r.stderr, "timed out after 1s", "job train Stopped")


def ends_crash_loops():
    """Of one pod whose container is started again, and of one that its job makes again."""
    for policy, policies in (("OnFailure", []), ("Never", [{"event": "PodFailed", "action": "RestartJob"}])):
        doc = job(tasks={"worker": (1, "exit 7")}, maxRetry=100, policies=policies)
        doc["spec"]["tasks"][0]["template"]["spec"]["restartPolicy"] = policy
        r = run([doc], "--max-restarts", "1")
        same(r.returncode, 7)
        has(r.stderr, "worker-0 has failed 2 times, the last time with exit code 7; stopping (--max-restarts)", "job train Stopped",
            "pumice: worker-0 failed 2 times: exit code 7\n")
    r = run([doc], "--max-restarts", "0")
    same(r.returncode, 7)
    has(r.stderr, "worker-0 has failed, with exit code 7; stopping (--max-restarts)", "pumice: worker-0 failed: exit code 7\n")
    r = run([doc], "--set", "spec.maxRetry=7")
    same(r.stderr.count("keeps failing"), 1)
    has(r.stderr, "worker-0 keeps failing (5 times: exit code 7); --max-restarts N ends such a run")


def started(*args, tasks=None):
    """A run whose first line of output has come."""
    p = subprocess.Popen([PUMICE, "run", "--state", STATE.name, *args, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    p.stdin.write(text_of(job(tasks=tasks or {"worker": (1, "echo up; sleep 100")})))
    p.stdin.close()
    p.stdin = None
    has(p.stdout.readline(), "up")
    return p


def stopped_by(number, want):
    p = started()
    p.send_signal(number)
    _, err = p.communicate(timeout=60)
    same(p.returncode, want)
    has(err, f"stopping; a second {signal.Signals(number).name} stops at once", "job train Stopped",
        f"stopped by {signal.Signals(number).name}")
    assert "Ctrl-C" not in err, "nobody has a keyboard here"


def stopped_twice():
    p = started("--set", "spec.tasks[0].template.spec.terminationGracePeriodSeconds=60",
                tasks={"worker": (1, "trap '' TERM; echo up; while :; do sleep 0.1; done")})
    begin = time.monotonic()
    p.send_signal(signal.SIGINT)
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=60)
    same(p.returncode, 130)
    has(err, "stopping at once")
    assert time.monotonic() - begin < 20, "it waited for the grace"


def reader_that_goes():
    """The jobs run on; the exit status is theirs."""
    p = started(tasks={"worker": (1, "echo up; sleep 0.5; seq 100000; exit 5")})
    p.stdout.close()
    err = p.stderr.read()
    same(p.wait(timeout=60), 5)
    has(err, "exit code 5")


def reader_that_stops():
    """Containers wait for the reader of the run, in little memory; nothing of what they write is lost, and all is in order."""
    lines = 150000
    p = subprocess.Popen([PUMICE, "run", "--state", STATE.name, "-q", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdin.write(text_of(job(tasks={"worker": (2, f"seq -f %0999.0f 0 {lines - 1}")})).encode())
    p.stdin.close()
    time.sleep(3)
    seen = {b"worker-0": 0, b"worker-1": 0}
    peak = 0
    for line in p.stdout:
        name, _, text = line.partition(b" | ")
        assert int(text) == seen[name], f"{name}: {text} comes after {seen[name] - 1}"
        seen[name] += 1
        if seen[name] == lines // 2:
            with open(f"/proc/{p.pid}/status") as f:
                peak = next_number(f.read(), "VmHWM:")
    same(p.wait(timeout=60), 0)
    same(set(seen.values()), {lines})
    assert peak < 400 << 10, f"{peak} KiB of memory"


def next_number(text, word):
    return int(text[text.index(word) + len(word):].split()[0])


def reports():
    with tempfile.TemporaryDirectory() as d:
        page, trace = os.path.join(d, "r.html"), os.path.join(d, "t.json")
        r = run([job(tasks={"worker": (1, "exit 3")})], "--report", page, "--trace", trace, "-q")
        same(r.returncode, 3)
        with open(page) as f:
            has(f.read(), "<html", "train")
        with open(trace) as f:
            json.load(f)


def on_a_terminal():
    """Log lines stay whole above the block, and what is on the screen in the end has no trace of it."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(text_of(job(tasks={"worker": (2, "echo line one; sleep 0.4; printf 'e\\033[2Jvil\\n'")})))
        f.flush()
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", COLUMNS="80")
            os.environ.pop("NO_COLOR", None)
            os.execv(PUMICE, [PUMICE, "run", "--state", STATE.name, f.name])
        out = b""
        while select.select([fd], [], [], 60)[0]:
            try:
                part = os.read(fd, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(fd)
    text = out.decode()
    same(status, 0)
    has(text, "\033[J", "worker  ", "e\\x1b[2Jvil")
    assert "\033[2J" not in text, "the pod reached the terminal"
    lines = [re.sub(r"\033\[[0-9;]*m", "", line) for line in text.replace("\r", "\n").split("\n")]
    same(sum(bool(re.search(r"worker-[01] \| line one$", line)) for line in lines), 2)
    up = sum(int(n) for n in re.findall(r"\033\[(\d+)A", text))
    assert up > 0, "no block was drawn"


def can_run():
    r = run([job(tasks={"worker": (1, "echo hi")})], "--timeout", "30s")
    return r.returncode == 0, r.stderr.strip()


def main():
    suite = Suite()
    for args, want in WRONG_USE:
        suite.case(f"wrong use {args}", lambda: wrong_use(args, want))
    for i, (text, want) in enumerate(BAD_FILES):
        suite.case(f"bad file {i}", lambda: bad_file(text, want))
    for case in (no_file, a_change_that_makes_it_wrong, files_that_cannot_be_written, help_text, dry_run_is_render,
                 dry_run_with_changes):
        suite.case(case.__name__, case)
    works, why = can_run()
    if works:
        for case in (completes, fails, quiet, logs_and_log_dir, json_form, never_fits, fits, times_out, ends_crash_loops, stopped_twice, reader_that_goes,
                     reader_that_stops, reports, on_a_terminal):
            suite.case(case.__name__, case)
        for number, want in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            suite.case(f"stopped by {number}", lambda: stopped_by(number, want))
    elif os.environ.get("PUMICE_NEEDS_PODS"):
        suite.case("a pod runs", lambda: same(why, ""))
    else:
        print(f"cases with pods are skipped: {why[-500:]}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
