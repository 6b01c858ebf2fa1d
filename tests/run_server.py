#!/usr/bin/env python3
"""`pumice run --server`: what it prints and how it ends is what `pumice run` prints and how that ends, for the same files.

One server for all cases. Each file is run both ways, side by side; times are not compared, and neither is the order of
lines of different pods, which is nobody's. Then what only a server can do: go and come again, refuse, and be used by
others at the same time.
"""
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import PUMICE, Suite, free_port, pumice  # noqa: E402
from netfilter import has_nftables  # noqa: E402
from server import JOBS, PODS, Server, pod, until  # noqa: E402

LOCAL = ["--server=none", "--node", "cpu=8,memory=8Gi", *(() if has_nftables() else ("--allow-unfiltered",))]
DIR = tempfile.mkdtemp(prefix="pumice-run-server-")
GROUPS = {"batch.volcano.sh/v1alpha1": ("jobs", "cronjobs"), "bus.volcano.sh/v1alpha1": ("commands",),
          "flow.volcano.sh/v1alpha1": ("jobflows", "jobtemplates"), "scheduling.volcano.sh/v1beta1": ("podgroups",)}


# ---- files ----

def container(command, name="main", **more):
    return {"name": name, "image": "debian:12", "command": ["/bin/sh", "-c", command], **more}


def task(name, command, replicas=1, policies=None, restart="Never", **pod):
    spec = {"restartPolicy": restart, "terminationGracePeriodSeconds": 1, "containers": [container(command)], **pod}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **({"policies": policies} if policies else {})}


def at_gate(name, command):
    """What a container does once open_gate(name) is called, which is when everybody has seen that it runs."""
    return f"{command}; while [ ! -e /gates/{name} ]; do sleep 0.1; done"


def open_gate(name):
    with open(os.path.join(DIR, "gates", name), "w"):
        pass


GATES = [{"name": "gates", "hostPath": {"path": os.path.join(DIR, "gates")}}]
AT_GATES = [{"name": "gates", "mountPath": "/gates", "readOnly": True}]


def job(name, *tasks, **spec):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"minAvailable": sum(t["replicas"] for t in tasks), "tasks": list(tasks), **spec}}


def flow(kind, name, spec):
    return {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def on_failure(action):
    return [{"event": "PodFailed", "action": action}]


def write(name, *objects):
    path = os.path.join(DIR, name + ".json")
    with open(path, "w") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, f)
    return path


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


TRIES = "echo try; [ -e /s/x ] || { touch /s/x; exit 5; }; echo ok >&2"
FILES = {  # what is in them, and the exit status
    "fine": (0, [job("fine", task("w", "", initContainers=[container("echo fetching", "fetch")],
                                  volumes=GATES, containers=[
                                      container(at_gate("fine", "echo a") + "; printf 'no end'", "a", volumeMounts=AT_GATES),
                                      container(at_gate("fine", "echo b >&2"), "b", volumeMounts=AT_GATES)]))]),
    "fails": (3, [job("fails", task("w", "echo one; echo two >&2; exit 3"))]),
    "again": (4, [job("again", task("w", "echo at work; exit 4", policies=on_failure("RestartJob")), task("v", "sleep 30"), maxRetry=2)]),
    "aborts": (4, [job("aborts", task("w", "echo x; exit 4", policies=on_failure("AbortJob")), task("v", "sleep 30"))]),
    "restarts": (0, [job("restarts", task("w", "", restart="OnFailure", volumes=[{"name": "s", "emptyDir": {}}],
                                          containers=[container(TRIES, volumeMounts=[{"name": "s", "mountPath": "/s"}])]))]),
    "hopeless": (1, [job("hopeless", task("w", "", containers=[container("true", envFrom=[{"configMapRef": {"name": "nowhere"}}])]))]),
    "large": (1, [job("large", task("w", "", containers=[container("true", resources={"requests": {"cpu": "999"}})]))]),
    "two": (7, [job("one", task("w", "echo 1", 2)), job("other", task("w", "echo 2; exit 7"))]),
    "alone": (9, [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"},
                   "spec": {"restartPolicy": "Never", "containers": [container("echo alone; exit 9")]}}]),
    "mapped": (0, [config_map("cfg", WORD="from a map"), job("mapped", task(
        "w", "", containers=[container("echo $WORD $VC_TASK_INDEX", envFrom=[{"configMapRef": {"name": "cfg"}}])]), plugins={"env": []})]),
    "told": (1, [job("told", task("w", "sleep 30")), {
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": "end", "annotations": {"pumice.dev/submit-after": "500ms"}},
        "action": "TerminateJob", "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "told"}}]),
    "flow": (0, [flow("JobTemplate", "a", job("a", task("w", "echo a"))["spec"]), flow("JobTemplate", "b", job("b", task("w", "echo b"))["spec"]),
                 flow("JobFlow", "f", {"jobRetainPolicy": "retain", "flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]})]),
    "nightly": (0, [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "metadata": {"name": "nightly"},
                     "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job("x", task("w", "echo night"))["spec"]}}}]),
}


# ---- runs ----

class Run:
    """One `pumice run`, whose output can be looked at while it goes."""

    def __init__(self, *args):
        self.paths = [tempfile.mkstemp(dir=DIR)[1] for _ in range(2)]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen([PUMICE, "run", *args], stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def text(self, which):
        with open(self.paths[which], errors="replace") as f:
            return f.read()

    out = property(lambda self: self.text(0))
    err = property(lambda self: self.text(1))

    def until(self, words):
        until(f"{words!r} in {self.out!r} {self.err!r}", lambda: words in self.out + self.err or self.process.poll() is not None)
        assert words in self.out + self.err, (words, self.out, self.err)

    def end(self, status):
        code = self.process.wait(120)
        assert "Sanitizer" not in self.err and "runtime error:" not in self.err, self.err
        assert code == status, (code, status, self.out, self.err)
        return self


def by_pod(text):
    lines = {}
    for line in text.splitlines():
        lines.setdefault(line.partition(" | ")[0], []).append(line)
    return lines


def told(text, is_steady, has_pods=True):
    """Lines without times, and the summary. What is a matter of time is left out: failures before the end are told after a while, if
    there is one, a wait when it is long, and of what ends at once nobody sees that it runs. Images, hints and
    files that pods wrote are about the command's own machine. Without pods: a command may come before any, or after."""
    text = re.sub(r"\b[0-9.]+(ms|s)\b|\b[0-9]+m[0-9]+s\b", "T", text)
    text = re.sub(r"(?m)^(  \S+ +)- ", r"\1T ", text)  # it was stopped before anybody saw it run
    head, _, summary = text.partition("\n\n")
    left_out = (r"pumice: image |.* failed.*last lines|pumice: the last lines of |pumice: \d+ pods of|    |pumice: job \S+ waits: " +
                ("" if is_steady else "|.* [rR]unning$") + ("" if has_pods else r"|pumice: \S+-\d+ "))
    lines = [line for line in head.splitlines() if not re.match(left_out, line)]
    pods = r"the last lines of \S+"  # which of those that are alike
    closing = [re.sub(pods, "the last lines of one", re.sub(" +", " ", line)) for line in summary.splitlines()
               if not re.search("hint:|^pumice: deleted with the pod" + ("" if has_pods else r"|^$|^ +POD |^ +\S+-\d+ "), line)]
    return lines if is_steady else sorted(lines), closing


def prints_the_same(name):
    status, objects = FILES[name]
    path = write(name, *objects)
    here, there = Run(*LOCAL, path), Run("--server", path)
    is_steady, has_pods = name == "fine", name != "told"
    if is_steady:
        here.until("job fine Running"), there.until("job fine Running")
        open_gate(name)
    here.end(status), there.end(status)
    assert by_pod(here.out) == by_pod(there.out), f"{name}:\n{here.out}{here.err}\n--- on the server:\n{there.out}{there.err}"
    assert told(here.err, is_steady, has_pods) == told(there.err, is_steady, has_pods), f"{name}:\n{here.err}\n--- on the server:\n{there.err}"


def says_it_for_programs(s):
    fails = task("w", "", volumes=GATES, containers=[container(at_gate("json", "echo out; echo err >&2") + "; exit 3", volumeMounts=AT_GATES)])
    fails["template"]["spec"]["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError"  # a server's default is File
    path = write("json", job("json", fails))
    runs = [Run(*where, "-o", "json", path) for where in (LOCAL, ["--server"])]
    for r in runs:
        r.until('"phase":"Running"')
    open_gate("json")
    events = [[json.loads(line) for line in r.end(3).out.splitlines()] for r in runs]
    kept = [[{k: v for k, v in e.items() if k not in ("time", "uid", "run", "milliseconds", "text")} for e in es if e["type"] != "notice"]
            for es in events]
    logs = [sorted((e["stream"], e["text"]) for e in es if e["type"] == "log") for es in events]
    order = [[e for e in es if e["type"] not in ("log", "wait")] for es in kept]
    assert logs[0] == logs[1] == [("stderr", "err"), ("stdout", "out")], logs
    assert order[0] == order[1], order


def is_stopped(s):
    """Ctrl-C, a second one, SIGTERM, time."""
    path = write("long", job("long", task("w", "trap 'echo stopping; exit 0' TERM; echo up; while :; do sleep 0.1; done", 2, activeDeadlineSeconds=3000)))
    deaf = write("deaf", job("deaf", task("w", "trap '' TERM; echo deaf; while :; do sleep 0.1; done", terminationGracePeriodSeconds=60)))
    runs = [Run("--server", path), Run("--server", deaf), Run("--server", "--set", "metadata.name=other", path),
            Run("--server", "--set", "metadata.name=late", "--timeout", "2s", path)]
    for r, words in zip(runs[:3], ("w-1 | up", "w-0 | deaf", "w-1 | up")):
        r.until(words)
    runs[0].process.send_signal(signal.SIGINT)
    runs[1].process.send_signal(signal.SIGINT)
    runs[2].process.send_signal(signal.SIGTERM)
    runs[1].until("a second SIGINT stops at once")
    runs[1].process.send_signal(signal.SIGINT)
    assert "stopping at once" in runs[1].end(130).err
    assert re.search(r"w-0 running, fails in (50m|49m\d+s) \(activeDeadlineSeconds\)\n", runs[0].err), runs[0].err
    for r, status, why in ((runs[0], 130, "stopped by SIGINT"), (runs[2], 143, "stopped by SIGTERM"), (runs[3], 124, "timed out after 2s")):
        r.end(status)
        assert r.err.endswith(f"pumice: {why}\n") and "Stopped" in r.err, r.err
        assert status == 124 or r.out.count("stopping") == 2, r.out  # two seconds may be over before anything runs


def is_asked_beforehand(s):
    """What goes wrong before anything runs, and that nothing is left of it."""
    for name, role in (("viewer", "--view"), ("ann", "--edit")):
        run = pumice("server", "user", "add", name, role, "--namespace", "lab", "--data-dir", s.data, "-o", os.path.join(DIR, name))
        assert run.returncode == 0, run.stderr
    viewer, ann, path = f"--server={DIR}/viewer", f"--server={DIR}/ann", write("plain", job("plain", task("w", "echo plain")))
    until("the new users are known", lambda: "rejected our credentials" not in Run(ann, "-n", "lab", path).end(1).err)
    wrong = {  # the command line, the exit status, and what is said
        (write("refused", config_map("refused"), job("refused", task("w", "true"), queue="nowhere")),): (1, r"Job refused: .*spec\.queue.*nowhere"),
        (viewer, "-n", "lab", path): (1, r'Job plain: .*forbidden: User "viewer" cannot create'),
        (viewer, path): (1, r"--server: .*--detach.*forbidden"),
        (ann, "-n", "lab", path): (1, r"Job plain: .*restricted"),
        ("--runtime", "runc", path): (2, r"--runtime: cannot be used with a server: .*pumice server --runtime.*--server=none"),
        ("--pull", "always", path): (2, r"--pull: cannot be used with a server: .*pumice server --pull.*--server=none"),
        ("--keep-state", path): (2, r"--keep-state: cannot be used with a server: .*--log-dir.*--server=none"),
        ("-e", "A=b", write("changed", *FILES["flow"][1])): (2, r"JobFlow f: the server creates its jobs"),
        ("--server=none", "--detach", path): (2, r"--detach: needs --server"),
        ("--server=/nowhere", path): (2, r"--server=/nowhere: No such file"),
    }
    for args, (status, words), r in [(*item, Run(*(() if item[0][0].startswith("--server") else ("--server",)), *item[0])) for item in wrong.items()]:
        r.end(status)
        assert re.match("pumice run: " + words, r.err), (args, words, r.err)
    assert s.call("GET", "/api/v1/namespaces/default/configmaps/refused")[0] == 404, "nothing stays of what was refused"
    runs_as_somebody()


def runs_as_somebody():
    """Who may make jobs in one namespace can run them there, with what "restricted" allows."""
    safe = {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}}
    inner = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
    path = write("safe", job("safe", task("w", "", containers=[container("echo as $(id -u)", **inner)], **safe)))
    r = Run(f"--server={os.path.join(DIR, 'ann')}", "-n", "lab", path).end(0)
    assert r.out == "w-0 | as 1000\n", (r.out, r.err)


def finds_what_is_there(s):
    s.ok("POST", "/api/v1/namespaces/default/configmaps", config_map("shared", A="1"))
    s.ok("POST", JOBS, job("taken", task("w", "sleep 60")))
    r = Run("--server", write("taken", job("taken", task("w", "true")))).end(1)
    assert "pumice run: Job taken: the server already has a job of this name" in r.err and "pumice job delete taken -n default" in r.err, r.err
    assert s.call("GET", f"{JOBS}/taken")[0] == 200
    s.ok("DELETE", f"{JOBS}/taken")
    r = Run("--server", write("same", config_map("shared", A="1"), job("same", task("w", "echo fine")))).end(0)
    assert s.ok("GET", "/api/v1/namespaces/default/configmaps/shared")["data"] == {"A": "1"}, "what was there stays"
    r = Run("--server", write("differs", config_map("shared", A="2"), job("differs", task("w", "true")))).end(1)
    assert "ConfigMap shared: the server already has a different object of this name" in r.err, r.err
    s.ok("DELETE", "/api/v1/namespaces/default/configmaps/shared")


def keeps_last_words(s):
    """What a pod wrote can be read for a while after it is gone, by its uid, so that a pod that came and went is not missed."""
    made = s.ok("POST", PODS, pod("brief", "echo last words; exit 2"))
    until("it has ended", lambda: s.ok("GET", f"{PODS}/brief")["status"].get("phase") == "Failed")
    s.ok("DELETE", f"{PODS}/brief")
    until("it is gone", lambda: s.call("GET", f"{PODS}/brief")[0] == 404)
    status, text = s.call("GET", f"{PODS}/brief/log?records=true&uid={made['metadata']['uid']}")
    assert status == 200 and re.fullmatch(r"main 0 out F \d+ last words\nmain 0 end\n", text), (status, text)
    assert s.call("GET", f"{PODS}/brief/log?records=true&uid=another")[0] == 404
    assert s.call("GET", f"{PODS}/other/log?records=true&uid={made['metadata']['uid']}")[0] == 404, "the right is by the name"


def detaches(s):
    r = Run("--server", "--detach", write("away", job("away", task("w", "echo away")))).end(0)
    assert r.out.startswith("job default/away submitted to https://127.0.0.1:") and not r.err, (r.out, r.err)
    lines = {line.split()[2]: line.split()[1:] for line in r.out.splitlines()[1:]}
    assert pumice(*lines["wait"]).returncode == 0 and "away" in pumice(*lines["logs"]).stdout
    assert pumice(*lines["delete"]).returncode == 0
    until("it is gone", lambda: s.call("GET", f"{JOBS}/away")[0] == 404)


def shares_with_others(s):
    """A job that others hold up waits, and says why; one that somebody deletes is over."""
    s.ok("POST", JOBS, job("holds", task("w", "", containers=[container("sleep 60", resources={"requests": {"cpu": "6"}})])))
    until("it runs", lambda: s.ok("GET", f"{JOBS}/holds").get("status", {}).get("state", {}).get("phase") == "Running")
    wants = {"requests": {"cpu": "4"}}
    r = Run("--server", write("waits", job("waits", task("w", "", containers=[container("echo at last; sleep 60", resources=wants)]))))
    r.until("job waits waits: ")
    assert "Insufficient cpu" in r.err, r.err
    s.ok("DELETE", f"{JOBS}/holds")
    r.until("at last")
    s.ok("DELETE", f"{JOBS}/waits")
    assert "job waits was deleted by another client" in r.end(1).err


def reads_slowly(s):
    """More than is kept in memory, by a reader who comes late: streams are closed, and opened again, and nothing is lost."""
    path = write("much", job("much", task("w", "head -c 24000000 /dev/zero | tr '\\0' x | fold -w 1000; echo; echo end")))
    p = subprocess.Popen([PUMICE, "run", "--server", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    done = until("all of it was written", lambda: s.ok("GET", JOBS + "/much").get("status", {}).get("state", {}).get("phase") == "Completed" or
                 p.poll() is not None) if until("it is there", lambda: s.call("GET", JOBS + "/much")[0] == 200) else None
    out = p.stdout.read().decode()
    assert done and p.wait(60) == 0
    assert out == "".join(f"w-0 | {'x' * 1000}\n" for _ in range(24000)) + "w-0 | end\n", (len(out), out[:100], out[-100:])


def lives_through_a_crash(s, start):
    """kill -9 in the middle, and when it was there again; every line once, and the exit status of what ended meanwhile."""
    count = "i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); sleep 0.05; done; exit 6"
    r = Run("--server", write("count", job("count", task("w", count, 2))))
    for after in (5, 10):
        r.until(f"w-0 | {after}\n")
        s.process.kill()
        s.process.wait()
        s = start()
    r.end(6)
    lines = by_pod(r.out)
    for pod in ("w-0", "w-1"):
        assert lines[pod] == [f"{pod} | {i}" for i in range(40)], lines[pod]
    assert r.err.count("pumice: job count Running") == 1 and r.err.count("pumice: w-0 failed: exit code 6") == 1, r.err
    return s


def leaves_nothing(s):
    def left():
        found = []
        for group, kinds in GROUPS.items():
            for kind in kinds:
                found += [(kind, o["metadata"]["name"]) for o in s.ok("GET", f"/apis/{group}/{kind}")["items"]]
        for kind in ("pods", "configmaps", "services"):
            found += [(kind, o["metadata"]["name"]) for o in s.ok("GET", f"/api/v1/{kind}")["items"]]
        return [f for f in found if f[1] not in ("kube-root-ca.crt", "kubernetes")]  # the server's own
    with contextlib.suppress(AssertionError):
        until("nothing is left", lambda: not left())
    assert not left(), left()


def is_announced(s, start):
    """A run knows of the server of its user, and does what that server says."""
    path = write("beside", job("beside", task("w", "echo here; exit 3")))
    where = os.path.join(os.environ["XDG_RUNTIME_DIR"], "pumice", "server.json")
    with open(where) as f:
        assert json.load(f) == {"server": f"https://127.0.0.1:{s.port}", "kubeconfig": s.config, "runs": "tell"}
    assert os.stat(where).st_mode & 0o777 == 0o644
    r = Run(*LOCAL[1:], path).end(3)
    assert r.err.startswith(f"pumice: a server of this machine is running (https://127.0.0.1:{s.port})") and "--server " in r.err, r.err
    assert "server" not in Run(*LOCAL, path).end(3).err
    s.process.kill()
    s.process.wait()
    assert os.path.exists(where) and "a server" not in Run(*LOCAL[1:], path).end(3).err, "nobody holds it any more"
    s = start("--runs", "submit")
    r = Run("-o", "json", path).end(3)
    assert json.loads(r.out.splitlines()[0])["run"] == f"https://127.0.0.1:{s.port}", r.out
    os.chmod(os.path.dirname(where), 0o777)
    assert '"run":"https' not in Run("-o", "json", *LOCAL[1:], path).end(3).out, "anybody could have written it"
    os.chmod(os.path.dirname(where), 0o755)
    return s


def main():
    os.environ["XDG_RUNTIME_DIR"] = os.path.join(DIR, "session")  # its server is nobody else's
    os.makedirs(os.environ["XDG_RUNTIME_DIR"], mode=0o700)
    os.mkdir(os.path.join(DIR, "gates"))
    os.environ.pop("KUBECONFIG", None)
    suite, data, port, servers = Suite(), os.path.join(DIR, "data"), free_port(), []
    rules = os.path.join(DIR, "rules.yaml")
    with open(rules, "w") as f:
        f.write("jobs: [{users: [ann], runAs: restricted, hostFiles: true}]\n")

    def start(*options):
        servers.append(Server(*(options or ("--runs", "tell")), "--access-config", rules, data=data, listen=f"127.0.0.1:{port}"))
        return servers[-1]

    try:
        try:
            start()
        except AssertionError as e:
            if "pods cannot" in str(e) or "user namespaces" in str(e):
                print(f"skipped: {e}")
                return 77
            raise
        with concurrent.futures.ThreadPoolExecutor(5) as pool:  # most of the time they wait
            for case in (is_asked_beforehand, is_stopped, shares_with_others, finds_what_is_there, keeps_last_words, detaches, says_it_for_programs, reads_slowly):
                pool.submit(suite.case, case.__name__, lambda case=case: case(servers[0]))
            for name in FILES:
                pool.submit(suite.case, f"prints_the_same: {name}", lambda name=name: prints_the_same(name))
        suite.case("lives_through_a_crash", lambda: lives_through_a_crash(servers[-1], start))
        suite.case("is_announced", lambda: is_announced(servers[-1], start))
        suite.case("leaves_nothing", lambda: leaves_nothing(servers[-1]))
    finally:
        for s in servers[:-1]:
            shutil.rmtree(s.dir, ignore_errors=True)
        if servers:
            suite.case("ends_well", lambda: servers[-1].stop())
            if servers[-1].process.returncode:
                pumice("server", "--cleanup", "--data-dir", data)
        shutil.rmtree(DIR, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
