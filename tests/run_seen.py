#!/usr/bin/env python3
"""What somebody sees of a run, on a terminal, in a pipe, in -o json and in the report: causes, hints, progress bars, colours."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import PUMICE, Suite, has
from runs import Run, job, on, run, run_text, same, sh, task
from terminal import Terminal

BROKEN = "echo starting; echo 'ImportError: no module named torch' >&2; exit 3"
AGAIN = {"restartPolicy": "OnFailure"}


def fits(text, *patterns):
    for pattern in patterns:
        assert re.search(pattern, text), f"nothing fits {pattern!r} in:\n{text}"


def lacks(text, *parts):
    for part in parts:
        assert part not in text, f"{part!r} is in:\n{text}"


def page_of(path):
    with open(path) as f:
        return re.sub(r"<style>.*?</style>|<[^>]*>", " ", f.read(), flags=re.S)


class Screen(Terminal):
    """A run on a terminal."""

    def __init__(self, what, *options, columns=100, env=None):
        self.state = tempfile.TemporaryDirectory()
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.state.name, delete=False) as f:
            json.dump(what, f)
        super().__init__("/usr/bin/env", *([] if env else ["-u", "NO_COLOR"]), PUMICE, "run", "--state", os.path.join(self.state.name, "state"), *options,
                         f.name, rows=40, columns=columns, env=env)

    def end(self):
        self.status = super().end()
        self.state.cleanup()
        return self


def python_tells_at_once():
    """Its output is a pipe, which Python fills before it says a word; who sits before a screen would wait for that."""
    if not shutil.which("python3"):
        return
    program = "import os, time; print('said', os.environ['PYTHONUNBUFFERED']); time.sleep(600)"
    screen = Screen(job("j", task("worker", ["python3", "-c", program])))
    screen.until("said 1").keys(b"\x03").end()
    own = task("worker", sh("echo own=$PYTHONUNBUFFERED."), env=[{"name": "PYTHONUNBUFFERED", "value": ""}])
    Screen(job("j", own)).until("own=.").end()
    has(run_text(job("j", task("worker", sh("echo own=$PYTHONUNBUFFERED.")))).out, "own=.")


def into(screen, *words):
    """Another terminal: exit status, output and errors of a command."""
    r = subprocess.run([PUMICE, words[0], "--state", os.path.join(screen.state.name, "state"), *words[1:]], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=60)
    assert "Sanitizer" not in r.stderr and "runtime error:" not in r.stderr, r.stderr
    return r.returncode, r.stdout, r.stderr


def looks_stopped(screen):
    """Everybody says so at once; nobody waits for an answer."""
    words = f"is stopped (Ctrl-Z): 'fg' at its terminal, or 'kill -CONT {screen.pid}', continues it"
    status, out, err = into(screen, "ps")
    assert status == 0 and re.search(r"[0-9a-f]{6} +j +j-worker-0 +Stopped ", out) and not err, (status, out, err)
    same([(run["stopped"], [pod["metadata"]["name"] for pod in run["pods"]]) for run in json.loads(into(screen, "ps", "-o", "json")[1])], [(True, ["j-worker-0"])])
    status, out, err = into(screen, "top")
    assert (status, out) == (0, "") and words in err, (status, out, err)
    for command in (["logs", "worker-0"], ["logs", "-f"], ["top", "j"], ["exec", "worker-0", "--", "true"], ["attach", "worker-0"], ["cp", "worker-0:/etc/hosts", "/dev/null"],
                    ["port-forward", "worker-0", ":80"]):
        status, out, err = into(screen, *command)
        assert (status, out) == (1, "") and words in err, (command, status, out, err)
        lacks(err, "no answer")


def looks_stopped_by_others(screen):
    """SIGSTOP leaves no time for a note: less is known, and nobody waits all the same."""
    _, out, err = into(screen, "ps")
    assert re.search(r"[0-9a-f]{6} +- +- +Stopped ", out) and not err, (out, err)
    status, _, err = into(screen, "exec", "worker-0", "--", "true")
    assert status == 1 and "is stopped (Ctrl-Z)" in err, err


def rests_with_ctrl_z():
    """The pods stop with the run that has them, and go on with it."""
    with tempfile.TemporaryDirectory() as d:
        os.chmod(d, 0o777)
        count = os.path.join(d, "n")
        volumes = {"volumes": [{"name": "v", "hostPath": {"path": d}}]}
        screen = Screen(job("j", task("worker", sh("n=0; while :; do n=$((n+1)); echo $n > /v/m; mv /v/m /v/n; done"), pod=volumes,
                                      volumeMounts=[{"name": "v", "mountPath": "/v"}])))

        def counted():
            with open(count) as f:
                return int(f.read())

        def state():
            with open(f"/proc/{screen.pid}/stat") as f:
                return f.read().rsplit(")", 1)[1].split()[0]

        def until(what):
            deadline = time.monotonic() + 60
            while not what():
                assert time.monotonic() < deadline and screen.read(0.05), screen.text

        until(lambda: os.path.exists(count))
        for _ in range(2):
            n = counted()
            until(lambda: counted() > n)
            screen.keys(b"\x1a")
            until(lambda: state() == "T")
            if "the pods keep running" in screen.text:
                print("skipped: nothing can be frozen here")
                os.kill(screen.pid, signal.SIGCONT)
                break
            n = counted()
            looks_stopped(screen)
            same(counted(), n)
            os.kill(screen.pid, signal.SIGCONT)
            until(lambda: counted() > n)
            until(lambda: " Running " in into(screen, "ps")[1])  # a run that goes on answers
        os.kill(screen.pid, signal.SIGSTOP)
        until(lambda: state() == "T")
        looks_stopped_by_others(screen)
        os.kill(screen.pid, signal.SIGCONT)
        screen.keys(b"\x1a")
        until(lambda: state() == "T")
        os.kill(screen.pid, signal.SIGTERM)  # as a shell does: it is told, then woken
        os.kill(screen.pid, signal.SIGCONT)
        same(screen.end().status, 143)


# ---- what time will do ----

def timed():
    """A policy that waits, a deadline, a pod that may not wait for ever, a job that is deleted; and a task with many pods."""
    late = {"timeout": "30m", **on("PodFailed", "RestartJob")}
    bad = task("bad", sh("exit 3"), policies=[late])
    slow = task("slow", sh("sleep 600"), pod={"activeDeadlineSeconds": 3000})
    many = task("many", sh("sleep 600"), replicas=9, pod={"activeDeadlineSeconds": 3000}, resources={"requests": {"cpu": 1}})
    away = task("away", sh("true"), resources={"requests": {"cpu": 2}}, policies=[{"timeout": "40m", **on("PodPending", "AbortJob")}])
    return {"apiVersion": "v1", "kind": "List", "items": [
        job("j", bad, slow), job("m", many), job("w", away), job("t", task("a", sh("true")), ttlSecondsAfterFinished=3000)]}


def time_left_on_a_terminal():
    screen = Screen(timed(), "--node", "cpu=10", columns=160)
    deadline = time.monotonic() + 60
    want = [r"j/bad-0 +failed +RestartJob in (30m|29m\d+s) \(PodFailed\)", r"j/slow-0 +running .*fails in (50m|49m\d+s) \(activeDeadlineSeconds\)",
            r"many +9 running +the first fails in (50m|49m\d+s) \(activeDeadlineSeconds\)", r"w/away-0 +pending +AbortJob in (40m|39m\d+s) \(PodPending\)",
            r"t Completed [^,]*, is deleted in (50m|49m\d+s) \(ttlSecondsAfterFinished\)"]
    for pattern in want:
        while not re.search(pattern, re.sub(r"\x1b\[[0-9;]*m", "", screen.text)):
            assert time.monotonic() < deadline and screen.read(1), f"{pattern!r} never came:\n{screen.text}"
    same(screen.keys(b"\x03").end().status, 130)


def time_left_in_a_pipe():
    """One line when it begins."""
    r = Run(timed(), "--node", "cpu=10", is_json=False)

    def told():
        with open(os.path.join(r.dir, "err")) as f:
            return f.read()

    want = ["job j: RestartJob in ", "j/slow-0 running, fails in 50m (activeDeadlineSeconds)\n", "; AbortJob in ",
            "job t Completed, is deleted in 50m (ttlSecondsAfterFinished)\n"]
    r.until(lambda r: all(words in told() for words in want)).signal(signal.SIGTERM).end()
    fits(r.err, r"job j: RestartJob in (30m|29m\d+s) because PodFailed: j-bad-0 exited with 3 \(policy spec.tasks\[0\].policies\[0\]\)\n",
         r"job w waits: .*; AbortJob in (40m|39m\d+s) \(PodPending\)\n")
    same(r.err.count("RestartJob in "), 1)
    same(r.err.count("bad-0 failed: exit code 3"), 1)  # it wrote nothing: there is no more to tell later


# ---- what is made of failures ----

def restarting(most, replicas=1, script=BROKEN):
    return job("j", task("worker", sh(script), replicas=replicas), maxRetry=most, policies=[on("PodFailed", "RestartJob")], plugins={"env": []})


def retries_are_those_that_run():
    for most in (1, 2, 3):
        r = run_text(restarting(most))
        same(r.out.count("starting"), most)
        same(re.findall(r"retry (\d+) of (\d+)", r.err), [(str(i), str(most - 1)) for i in range(1, most)])
        fits(r.err, r"job j Failed after [0-9a-z.]+" + {1: ": ", 2: ", 1 retry: ", 3: ", 2 retries: "}[most])


def attempts_are_not_pods():
    """One pod that fails twice."""
    end = run_text(restarting(2)).err.partition("\n\n")[2]
    fits(end, r"(?m)^worker-0, 2 times: exit code 3")
    lacks(end, "2 pods")


def a_failure_is_told_once():
    """By a line, with its last lines the first time, before what is done about it."""
    now = run_text(restarting(3)).err.partition("\n\n")[0]
    same(re.findall(r"worker-0 failed|RestartJob, [rn]\w+", now), ["worker-0 failed", "RestartJob, retry", "worker-0 failed", "RestartJob, retry",
                                                                  "worker-0 failed", "RestartJob, no"])
    same(now.count("ImportError"), 1)
    one = run_text(restarting(2, 30, f"[ $VC_TASK_INDEX = 7 ] || exec sleep 60; {BROKEN}")).err.partition("\n\n")[0]
    same(re.findall(r"worker-7 failed|RestartJob, [rn]\w+", one)[:2], ["worker-7 failed", "RestartJob, retry"])
    screen = Screen(restarting(2)).end()
    fits(screen.text, r"(?s)worker-0 failed: exit code 3.*RestartJob, retry 1 of 1")


def a_job_that_runs_does_not_wait():
    """Its minimum runs; another of its pods has no room."""
    doc = job("j", task("w", sh("sleep 2.5"), replicas=2, resources={"requests": {"cpu": "1"}}), minAvailable=1)
    r = run_text(doc, "--node", "cpu=1,memory=1Gi")
    has(r.err, "job j runs; more of its pods wait: its minimum has its places; for ")
    lacks(r.err, "job j waits")
    lacks(Screen(doc, "--node", "cpu=1,memory=1Gi").until("runs; more of its pods wait: ").end().text, "  waits: ")


# ---- what fails and is started again ----

def crash_loop_for_programs():
    with tempfile.TemporaryDirectory() as d:
        page = os.path.join(d, "r.html")
        r = Run(job("j", task("worker", sh(BROKEN), pod=AGAIN)), "--report", page)
        r.until(lambda r: any(e["failures"] >= 2 for e in r.of("failure")))
        r.signal(signal.SIGTERM).end()
        same(r.status, 143)
        for e in (r.of("failure")[-1], r.last()["failed"][0]):
            same((e["pod"], e["container"], e["exitCode"], e["reason"], e["failures"]), ("j-worker-0", "main", 3, "Error", 2))
            has(e["message"], "ImportError: no module named torch")
            has(e["tail"], "ImportError: no module named torch")
        text = page_of(page)
        has(text, "Stopped after", "exit code 3", "failed 2 times", "ImportError: no module named torch")
        assert text.index("ImportError") < text.index("Pods over time"), "the cause is not at the top of the report"


def crash_loop_in_a_pipe():
    """Told once with its last lines, then counted; said again at the end, also with -q."""
    for options in ((), ("-q",)):
        r = run_text(job("j", task("worker", sh(BROKEN), replicas=2, pod=AGAIN)), "--timeout", "2s", *options)
        same(r.status, 124)
        now, _, end = r.err.partition("timed out after 2s; stopping")
        fits(now, r"worker(-\d)? failed( \d times)?: exit code 3; restarting; (its|the) last lines",
             r"\n    ImportError: no module named torch\n")
        same(now.count("    ImportError"), 1)
        fits(end, r"2 pods of worker(, \d times)?: exit code 3; the last lines of worker-", r"\n    ImportError: no module named torch\n",
             "job j Stopped")
        lacks(r.err, "CrashLoopBackOff")


def crash_loop_on_a_terminal():
    s = Screen(job("j", task("worker", sh(BROKEN), pod=AGAIN)))
    s.until("failed and restarting").until(" restart").until("worker-0 failed 2 times: exit code 3: ImportError: no module named torch")
    s.until("; restarting")
    same(s.keys(b"\x03").end().status, 130)
    has(s.text, "worker-0, 2 times: exit code 3", "    ImportError: no module named torch")


def init_container_that_fails():
    inits = {"initContainers": [{"name": "fetch", "image": "x", "command": sh("echo no such bucket; exit 4")}], **AGAIN}
    r = run_text(job("j", task("worker", sh("true"), pod=inits)), "--timeout", "2s")
    fits(r.err, r"worker-0, container fetch failed( \d times)?: exit code 4", "    no such bucket")


def alike_are_one():
    """Thirty workers that miss the same program, and a rank in the message of each."""
    missing = run_text(job("j", task("worker", ["trainer"], replicas=30), task("boss", sh("sleep 2"))), "--timeout", "60s")
    fits(missing.err, r'\d+ pods of worker failed: StartError: exec: "trainer": executable file not found in \$PATH')
    has(missing.err, "worker-0 to worker-29 ", "30 pods of worker: StartError")
    assert missing.err.count("trainer") < 15, missing.err
    loud = "echo \"[rank $VC_TASK_INDEX] 10.0.0.$VC_TASK_INDEX:29500 lost\"; exit 1"
    ranks = run_text(job("j", task("worker", sh(loud), replicas=4), plugins={"env": []}))
    has(ranks.err, "4 pods of worker: exit code 1; the last lines of worker-")
    same(ranks.err.count(" lost\n"), 1)


# ---- what completes all the same ----

def partial_success():
    some = job("j", task("worker", sh('[ "$VC_TASK_INDEX" -ge 3 ] || { echo bad data; exit 7; }'), replicas=6),
               plugins={"env": []}, minAvailable=3)
    with tempfile.TemporaryDirectory() as d:
        page = os.path.join(d, "r.html")
        r = run_text(some, "-q", "--report", page)
        same(r.status, 0)
        has(r.err, "job j Completed after", "; 3 of 6 pods failed", "3 pods of worker: exit code 7", "    bad data")
        has(page_of(page), "Completed in", "; 3 of 6 pods failed")
    r = run(some, "--fail-on-any")
    r.done("Completed", 7)
    same(r.last()["jobs"][0]["tasks"][0]["failed"], 3)


# ---- stopping, and running again ----

def claims_and_directories():
    """A claim whose name the controller makes is found again; files come from -f, also as a directory; stopping warns of nothing."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    what = job("j", task("a", sh("cat /data/n 2> /dev/null; echo x >> /data/n; echo up; [ -z \"$WAIT\" ] || sleep 60")),
               volumes=[{"mountPath": "/data", "volumeClaim": claim}], plugins={"svc": []})
    with tempfile.TemporaryDirectory() as d:
        dirs, claims, page = (os.path.join(d, name) for name in ("files", "claims", "r.html"))
        os.mkdir(dirs)
        for name, text in (("a.json", json.dumps(what)), ("b.txt", "{"), (".c.yaml", "{")):
            with open(os.path.join(dirs, name), "w") as f:
                f.write(text)
        r = run([], "-f", dirs, "--claims", claims)
        r.done("Completed")
        same(r.lines("a-0"), ["up"])
        r = Run(what, "--claims", claims, "-e", "WAIT=1", "--report", page).until_line("up").signal(signal.SIGTERM).end()
        same(r.lines("a-0"), ["x", "up"])
        same(len(os.listdir(os.path.join(claims, "default"))), 1)
        lacks(page_of(page), "FailedMount", "killed", "Deleted")
        has(page_of(page), "Stopped after", "stopped by SIGTERM")
        what["metadata"] = {"generateName": "g-"}  # by what stands there, whatever name it is given; two that are alike are two
        same([sorted(run([what, what], "--claims", claims).done("Completed").all_lines()) for _ in range(2)], [["up", "up"], ["up", "up", "x", "x"]])
        same(len(os.listdir(os.path.join(claims, "default"))), 3)


# ---- hints ----

def hints():
    """Each ends in the words to add to the command, and they help."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        os.chmod(d, 0o755)
        with open(os.path.join(d, "pumice-trainer"), "w") as f:
            f.write("#!/bin/sh\necho trained\n")
        os.chmod(f.name, 0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{d}:{before}"
        try:
            two = job("j", task("own", ["pumice-trainer"]), task("script", sh("pumice-trainer")))
            r = run_text(two, "--image", "foo=/usr", "-q")
            same(r.err.count(f'hint: pumice-trainer is in {d} here, which is not in the container\'s PATH: -e PATH="$PATH"'), 2)
            r = run_text(two, "-e", f"PATH={os.environ['PATH']}", "--image", "foo=/usr")
            same(sorted(r.text), ["own-0    | trained\n", "script-0 | trained\n"])
            has(r.err, "--image foo: no container has this image; they have \"debian:12\". For all of them: --image '*=/usr'")
            r = run_text(two, "-e", f"PATH={os.environ['PATH']}", "--image", "foo=host")
            has(r.err, "--image foo: no container has this image; they have \"debian:12\". For all of them: --image '*=host'")
            r = run_text(two, "-e", f"PATH={os.environ['PATH']}", "--image", "docker.io/library/debian:12=host")
            assert "no container has this image" not in r.err, r.err
        finally:
            os.environ["PATH"] = before
    r = run(job("j", task("other", ["sh7", "-c", "true"]), task("none", sh("no-such-program; exit 127"))))
    said = {e["task"]: e["hint"] for e in r.last()["failed"]}
    has(said["none"], "the host has no no-such-program; to use the image's own files: --image debian:12=DIR")
    assert said["other"].endswith("but sh: --set 'spec.tasks[other].template.spec.containers[main].command[0]=sh'"), said


def hint_for_a_gpu():
    r = Run(job("j", task("a", sh("true"), replicas=2, resources={"limits": {"example.com/gpu": 2}})))
    r.until(lambda r: r.of("wait")).signal(signal.SIGTERM).end()
    has(r.of("wait")[0]["hint"], "pumice doctor", "--node example.com/gpu=4")


# ---- what has no effect ----

def no_pods_at_all():
    """Without replicas a task has no pods (as in Volcano): said by validate, and the run does not sit there for ever."""
    what = job("j", task("a", sh("echo hi")))
    what["spec"]["tasks"][0].pop("replicas")
    r = run_text(what, "--timeout", "60s")
    same(r.status, 1)
    has(r.err, "replicas: is missing, so the task has no pods; say replicas: 1", "j: it has no pods; set replicas of its tasks")


def fields_without_effect():
    resize = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    r = run(job("j", task("a", sh("true"), resizePolicy=resize), task("b", sh("true"), resizePolicy=resize, pod={"hostUsers": False})))
    r.done("Completed")
    where = "spec.tasks[a].template.spec.containers[main]"
    same(sorted(e["text"].split(" has no effect here: ")[0] for e in r.of("notice") if "no effect" in e["text"]),
         [f"{where}.resizePolicy (and 1 more)"])


# ---- what programs write ----

BAR = r"printf '\r40%%|\342\226\210'; until [ -e /v/go ]; do sleep 0.05; done; printf '\r100%%\n'"
COLOURS = (r"printf '\033[31mred\033[1mbold\nstill\033[0m plain\033[38;5;9m\n';"
           r"printf '\033[0ma\033[2Jb\033]0;t\007c\033]52;c;eA==\033\\d\302\2332Je\033[>4;2mf\033[?25lg\033[1;1Hh\n'")
NOT_COLOURS = r"a\x1b[2Jb\x1b]0;t\x07c\x1b]52;c;eA==\x1b\d\xc2\x9b2Je\x1b[>4;2mf\x1b[?25lg\x1b[1;1Hh"


def bars_and_colours():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        volume = {"volumes": [{"name": "v", "hostPath": {"path": d}}]}
        what = job("j", task("a", sh(f"{COLOURS}; {BAR}"), pod=volume, volumeMounts=[{"name": "v", "mountPath": "/v"}]))
        s = Screen(what).until("40%|\u2588")  # it has not ended yet
        open(os.path.join(d, "go"), "w").close()
        s.end()
        prefix = "\033[36ma-0 | \033[0m"
        has(s.text, f"{prefix}100%\r\n", f"{prefix}\033[31mred\033[1mbold\033[0m\r\n",
            f"{prefix}\033[31m\033[1mstill\033[0m plain\033[38;5;9m\033[0m\r\n", NOT_COLOURS)
        lacks(s.text, "\033]", "\033[>", "\033[2J", "\u009b", "\033[?", "\\x0d")
        s = Screen(what, env={"NO_COLOR": "1"}).end()
        has(s.text, "a-0 | redbold\r\n", "a-0 | still plain\r\n", NOT_COLOURS)
        lacks(s.text, "\033[3", "\\x1b[3", "\033[0m")
        os.unlink(os.path.join(d, "go"))
        r = Run(what).until(lambda r: "\r40%|\u2588" in [e["text"] for e in r.of("log") if e.get("partial")])
        open(os.path.join(d, "go"), "w").close()
        r.end().done()
        same(run_text(what).text[-1], "a-0 | \r40%|\u2588\r100%\n")


def main():
    suite = Suite()
    for case in (python_tells_at_once, rests_with_ctrl_z, time_left_on_a_terminal, time_left_in_a_pipe, retries_are_those_that_run, attempts_are_not_pods,
                 a_failure_is_told_once, a_job_that_runs_does_not_wait, crash_loop_for_programs, crash_loop_in_a_pipe, crash_loop_on_a_terminal, init_container_that_fails, alike_are_one,
                 partial_success, claims_and_directories, hints, hint_for_a_gpu, no_pods_at_all, fields_without_effect, bars_and_colours):
        if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
            suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
