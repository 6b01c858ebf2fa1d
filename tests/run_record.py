#!/usr/bin/env python3
"""`pumice runs`: what a run leaves to be looked at later, that it has bounds, and that no secret is in it."""
import json
import os
import re
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import runs  # noqa: E402
from harness import PUMICE, Suite  # noqa: E402
from runs import Run, has_mount_namespaces, has_user_namespaces, job, own_directory, same, secret, sh, skip, task  # noqa: E402

D = ""
NODE = "--network", "private"
WORD, TOKEN, KEY = "correct-horse-battery", "hf-0123456789", "plain-from-volume-77"


def home(name):
    """A state directory of its own for a case."""
    path = os.path.join(D, name)
    os.makedirs(path, exist_ok=True)
    return {"XDG_STATE_HOME": path}


def records(env):
    top = os.path.join(env["XDG_STATE_HOME"], "pumice/runs")
    return sorted(n for n in os.listdir(top) if n != "lock") if os.path.isdir(top) else []


def where(env, name):
    return os.path.join(env["XDG_STATE_HOME"], "pumice/runs", name)


def start(what, env, *options, **kw):
    return Run(what, *NODE, *options, record=True, env=env, **kw)


def run(what, env, *options, **kw):
    return start(what, env, *options, **kw).end()


def pumice_runs(env, *args, status=0, user=None):
    r = subprocess.run([runs.PUMICE, "runs", *args], capture_output=True, env={**os.environ, **env}, user=user, group=user,
                       extra_groups=[] if user else None)
    assert b"Sanitizer" not in r.stderr and b"runtime error" not in r.stderr, r.stderr
    same((r.returncode, r.stderr if status == 0 else b""), (status, b""))
    return r.stdout.decode() if status == 0 else r.stderr.decode()


def full():
    """Two tasks, one of which fails the second time too; secrets by every way that there is."""
    env = [{"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "word"}}}, {"name": "MY_TOKEN", "value": TOKEN}, {"name": "RATE", "value": "0.1"}]
    pod = {"volumes": [{"name": "s", "secret": {"secretName": "s"}}]}
    tells = "echo \"$WORD and $MY_TOKEN, $MY_TOKEN again\"; cat /s/key; echo; cat /root/.ssh/id_rsa; "
    mounts = [{"name": "s", "mountPath": "/s"}]
    return [secret("s", word=WORD, key=KEY),
            job("train", task("a", sh(tells), pod=pod, env=env, volumeMounts=mounts),
                task("b", sh(tells + "echo \"password $WORD\" > /dev/termination-log; echo last words of b; exit 3"), pod=pod, env=env, volumeMounts=mounts,
                     policies=[{"event": "PodFailed", "action": "RestartJob"}]), plugins={"ssh": [], "svc": []}, maxRetry=1)]


def all_of_it():
    """List, summary and lines are those of the run; files are closed to others; secrets are nowhere."""
    env = home("all")
    r = run(full(), env, "-e", f"OTHER_PASSWORD={WORD[::-1]}", is_json=False)
    same(r.status, 3)
    name, = records(env)
    listed, = json.loads(pumice_runs(env, "-o", "json"))
    same((listed["id"], listed["state"], listed["status"], listed["jobs"]), (name, "ended", 3, ["train"]))
    same(pumice_runs(env, "-q"), f"{name}\n")
    line = pumice_runs(env).splitlines()[1]
    assert re.search(rf"^{name} +\d{{4}}-\S+Z +\S+ +failed \(3\) +train$", line), line
    shown = pumice_runs(env, "show", name[:3])
    said = r.err[r.err.rindex("\n  POD"):].strip().splitlines()
    assert [line for line in said if line.startswith("job train")][0] in shown and "last words of b" in shown, (shown, said)
    assert f"run {name}, " in shown and "exit status 3" in shown, shown
    assert "last words of b" in pumice_runs(env, "report", "last")
    lines = pumice_runs(env, "logs", name, "b-0").splitlines()  # the other one may be stopped before it says anything
    assert "b-0 | (hidden) and (hidden), (hidden) again" in lines and "b-0 | last words of b" in lines, lines
    same([x for x in lines if not x.startswith("b-0 | ")], [])
    same(pumice_runs(env, "logs", name, "train-b-0", "-c", "main").splitlines(), lines)  # as it was called on the machine
    assert 'no pod, task or container "b-1" (its pods: a-0, b-0' in pumice_runs(env, "logs", name, "b-1", status=1)
    assert 'container "x"' in pumice_runs(env, "logs", name, "-c", "x", status=1)
    same(pumice_runs(env, "logs").count("last words of b"), sum("last words of b" in x for x in r.text))
    found = subprocess.run(["grep", "-r", "-l", "-a", "-e", WORD, "-e", TOKEN, "-e", KEY, "-e", WORD[::-1], "-e", "PRIVATE KEY", D + "/all"],
                           capture_output=True, text=True).stdout
    same(found, "")
    for top, dirs, names in os.walk(os.path.dirname(where(env, name))):
        for n in dirs + names:
            same((n, stat.S_IMODE(os.stat(os.path.join(top, n)).st_mode)), (n, 0o700 if n in dirs else 0o600))
    same(stat.S_IMODE(os.stat(os.path.dirname(where(env, name))).st_mode), 0o700)


def compared():
    """Pages and traces are those that the runs wrote themselves; what differs is told."""
    env, page, trace = home("compare"), os.path.join(D, "page.html"), os.path.join(D, "trace.json")
    run(job("j", task("w", sh("exit 0"), env=[{"name": "RATE", "value": "0.1"}, {"name": "A_TOKEN", "value": "first-one"}])), env)
    run(job("j", task("w", sh("[ $(hostname) = j-w-0 ]"), replicas=2, resources={"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi", "cpu": 1}}, env=[{"name": "RATE", "value": "0.2"}, {"name": "A_TOKEN", "value": "other-one"}])), env,
        "--replicas", "w=2", "--report", page, "--trace", trace)
    for path, args in ((page, ("last",)), (trace, ("last", "--trace"))):
        with open(path) as f:
            made, wrote = pumice_runs(env, "report", *args).splitlines(), f.read().splitlines()
        same([(x[:300], y[:300]) for x, y in zip(made, wrote) if x != y], [])
        same(len(made), len(wrote))
    text = pumice_runs(env, "compare")
    for piece in (r"^result +succeeded +failed \(1\)$", r"^w: pods +1 succeeded +1 failed, 1 succeeded$", r"^w: restarts +0 +0$", r"^took +\S+s +\S+s$",
                  r"^  spec\.tasks\[w\]\.replicas: 1 → 2$", r"RATE\]\.value: \"0\.1\" → \"0\.2\"$"):
        assert re.search(piece, text, re.M), (piece, text)
    assert "TOKEN" not in text, text
    a = records(env)[0]
    assert "what they ran is the same" in pumice_runs(env, "compare", a, a)


def killed():
    """kill -9: the record says that the run did not end, and has what happened until then. While it goes on, it says so."""
    env = home("killed")
    r = start(job("j", task("a", sh("echo up; sleep 60"))), env).until_line("up").until(lambda r: "running" in r.states().values())
    same(json.loads(pumice_runs(env, "-o", "json"))[0]["state"], "running")
    assert "still running" in pumice_runs(env, "show", "last")
    r.signal(signal.SIGKILL).end(leaves_s=20)
    same(json.loads(pumice_runs(env, "-o", "json"))[0]["state"], "lost")
    text = pumice_runs(env, "show")
    assert "did not end" in text and re.search(r"^  a-0 .*running", text, re.M), text
    assert "did not end" in pumice_runs(env), pumice_runs(env)
    assert "<html" in pumice_runs(env, "report")
    same(pumice_runs(env, "logs"), "a-0 | up\n")
    with open(os.path.join(where(env, records(env)[0]), "facts"), "ab") as f:
        f.write(b'{"t":1,"put":{"half')  # the machine went down in the middle of a line
    assert "did not end" in pumice_runs(env, "show")


def bounds():
    """A hundred records: the oldest go, a run that goes on stays. Of much output the end is kept, and it is said what is not."""
    env = home("bounds")
    living = start(job("j", task("a", sh("echo up; until [ -e /c/end ]; do sleep 0.05; done"),
                                 pod={"volumes": [{"name": "c", "hostPath": {"path": env["XDG_STATE_HOME"]}}]}, volumeMounts=[{"name": "c", "mountPath": "/c"}])),
                   env).until_line("up")
    oldest, = records(env)
    for i in range(120):
        os.makedirs(where(env, f"{i:06x}"), 0o700)
        with open(os.path.join(where(env, f"{i:06x}"), "facts"), "w") as f:
            f.write(json.dumps({"pumice": 1, "id": f"{i:06x}", "begin": 4000000000000 + i, "jobs": 1}) + "\n")
    os.utime(where(env, oldest))
    r = run(job("k", task("a", sh("seq 1 250000 | sed 's/$/ is a number with some words behind it/'"))), env, "--logs", "none")
    same(r.status, 0)
    left = records(env)
    assert oldest in left and r.id() in left and f"{119:06x}" in left and f"{0:06x}" not in left and len(left) <= 101, (oldest, left)
    out = subprocess.run([PUMICE, "runs", "logs", r.id()], capture_output=True, text=True, env={**os.environ, **env})
    assert re.search(r"^pumice runs logs: \d+Mi of output came before this and were not kept$", out.stderr.strip()), out.stderr
    assert out.stdout.endswith("a-0 | 250000 is a number with some words behind it\n"), out.stdout[-200:]
    size = sum(os.path.getsize(os.path.join(where(env, r.id()), n)) for n in os.listdir(where(env, r.id())))
    assert size < 9 << 20, size
    open(os.path.join(env["XDG_STATE_HOME"], "end"), "w").close()
    same(living.end().status, 0)


def switched_off():
    env, what = home("off"), job("j", task("a", sh("echo hello")))
    run(what, env, "--no-record")
    same(records(env), [])
    assert "no records yet" in pumice_runs(env, status=1)
    run(what, env, "--no-record-logs")
    out = subprocess.run([PUMICE, "runs", "logs"], capture_output=True, text=True, env={**os.environ, **env})
    same((out.stdout, out.stderr), ("", "pumice runs logs: the run was made with --no-record-logs\n"))
    same(os.listdir(where(env, records(env)[0])), ["facts"])


def no_room():
    """Where nothing can be written the run goes on, and says so once."""
    what = job("j", task("a", sh("seq 1 20000")))
    r = run(what, {"XDG_STATE_HOME": "/proc/nowhere"}, "--logs", "none").done()
    same(len([e for e in r.of("notice") if "record of this run cannot be created" in e["text"]]), 1)
    if os.getuid() != 0 or not has_mount_namespaces():
        return skip("no mount namespaces")
    env = home("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "none", env["XDG_STATE_HOME"]], check=True)
    try:
        r = run(what, env, "--logs", "none").done()
        same(len([e for e in r.of("notice") if "record of this run ends here: No space left on device" in e["text"]]), 1)
        assert "did not end" in pumice_runs(env)
    finally:
        subprocess.run(["umount", env["XDG_STATE_HOME"]], check=True)
    return None


def names():
    env = home("names")
    for i in ("aaaa01", "aaaa02", "b00000"):
        os.makedirs(where(env, i), 0o700)
        with open(os.path.join(where(env, i), "facts"), "w") as f:
            f.write(json.dumps({"pumice": 1, "id": i, "begin": 1000, "jobs": 1}) + "\n")
    os.chmod(os.path.dirname(where(env, "x")), 0o700)
    assert "run b00000" in pumice_runs(env, "show", "b")
    for args, piece in ((("show", "aaaa"), 'several runs begin with "aaaa": aaaa01, aaaa02'), (("show", "zz"), 'no record of run "zz"'),
                        (("show", "../b00000"), "no record of run"), (("show", ""), "no record of run"), (("logs", "zz"), "no record of run")):
        assert piece in pumice_runs(env, *args, status=1), args
    for args in (("bogus",), ("show", "a", "b"), ("compare", "a", "b", "c")):
        pumice_runs(env, *args, status=2)
    with open(os.path.join(where(env, "b00000"), "facts"), "w") as f:
        f.write('{"pumice": 99, "version": "9.0"}\n')
    assert "later pumice (9.0)" in pumice_runs(env, "show", "b00000", status=1) or "no record" in pumice_runs(env, "show", "b00000", status=1)
    with open(os.path.join(where(env, "aaaa01"), "facts"), "wb") as f:
        f.write(os.urandom(5000))
    assert "aaaa01" not in pumice_runs(env)


def together():
    """Several at once, as an ordinary user."""
    user = None
    if os.getuid() == 0 and has_user_namespaces(61999):
        user = 61999
    env = home("together")
    if user:
        os.chown(env["XDG_STATE_HOME"], user, user)
    all_ = [start(job("j", task("a", sh(f"printf {i}"))), env, user=user) for i in range(3)]  # no newline
    ids = sorted(r.end().id() for r in all_)
    same(records(env), ids)
    same(sorted(pumice_runs(env, "logs", i, user=user) for i in ids), [f"a-0 | {i}\n" for i in range(3)])
    same({e["state"] for e in json.loads(pumice_runs(env, "-o", "json", user=user))}, {"ended"})


def main():
    global D
    suite = Suite()
    with own_directory("record") as D:
        for case in (all_of_it, compared, killed, bounds, switched_off, no_room, names, together):
            if len(sys.argv) == 1 or case.__name__ in sys.argv:
                suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
