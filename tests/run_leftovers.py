#!/usr/bin/env python3
"""Nothing left behind, however a run ends: processes, mounts (in any namespace), links, tables, groups, files.

leftovers.py knows what a run makes; here are the ways to end one.
"""
import concurrent.futures
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import leftovers
from harness import PUMICE, Suite
from runs import Run, config_map, job, run, same, secret, sh, task

LEAVES_S = 10           # after kill -9 the rest has this long to go
SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))

VOLUMES = {"terminationGracePeriodSeconds": 2, "volumes": [
    {"name": "disk", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory"}},
    {"name": "words", "configMap": {"name": "words"}},
    {"name": "keys", "secret": {"secretName": "keys"}},
    {"name": "claim", "persistentVolumeClaim": {"claimName": "claim"}}]}
MOUNTS = [{"name": v["name"], "mountPath": "/v/" + v["name"]} for v in VOLUMES["volumes"]]
MOUNTS.append({"name": "disk", "mountPath": "/v/part", "subPath": "a/b"})
OBJECTS = [config_map("words", one="eins"), secret("keys", token="s3cret"),
           {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "claim"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]
WRITE = "echo x > /etc/new; for d in disk memory claim part; do touch /v/$d/x; done; "
NODE = ("--node", "cpu=100,memory=100Gi,pods=100")


def full(script, replicas=4, **fields):
    """A job that uses all that could stay: several pods, volumes, ssh keys, names, limits, a way out."""
    return [*OBJECTS, job("full", task("a", sh(WRITE + script), replicas=replicas, pod=VOLUMES, volumeMounts=MOUNTS,
                                       resources={"limits": {"cpu": "1", "memory": "64Mi"}}, **fields),
                          plugins={"ssh": [], "svc": [], "env": []})]


ENDLESS = "echo up; setsid sleep 1000 & while :; do sleep 0.1; done"


def is_up(r):
    return r.all_lines().count("up") == 4


def started(*options, script=ENDLESS, **kw):
    return Run(full(script), *NODE, *options, **kw).until(is_up)


# ---- looking ----

def mounted_anywhere(what):
    """Mounts with any of these words, in the mount namespaces of all processes."""
    seen, out = set(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            namespace = os.readlink(f"/proc/{pid}/ns/mnt")
        except OSError:
            continue
        if namespace not in seen:
            seen.add(namespace)
            out += [f"{pid}: {line}" for line in leftovers.read(f"/proc/{pid}/mountinfo").splitlines() if any(w in line for w in what)]
    return out


def ids_on_host():
    """Ids of runs that left a link, a table or a group with no process that answers for it."""
    ids = {n[2:8] for n in os.listdir("/sys/class/net") if n.startswith("pm") and len(n) == 9}
    ids |= {line.split("pumice_")[1][:6] for line in leftovers.nft_tables("pumice_")}
    ids |= {os.path.basename(g)[7:13] for g in leftovers.cgroups("pumice-")}
    return {i for i in ids if not is_alive(i)}


def is_alive(run_id):
    """The keeper is the last to go, and says whose it is."""
    return any(leftovers.read(f"/proc/{pid}/cmdline").replace("\0", " ").strip() == f"pumice-keeper {run_id}"
               for pid in os.listdir("/proc") if pid.isdigit())


def nothing(r, patience_s=LEAVES_S):
    """As Run.end() looks, and in the namespaces of others."""
    deadline = time.monotonic() + patience_s
    words = [w for w in (r.state, r.id() and f"pumice-{r.id()}") if w]
    while mounted_anywhere(words):
        assert time.monotonic() < deadline, mounted_anywhere(words)
        time.sleep(0.05)


def ends(r, status, leaves_s=0.5):
    if r.process.returncode is None:
        r.end(leaves_s=leaves_s)
    same(r.status, status)
    nothing(r)
    return r


def family(pid):
    """A process and all that come from it."""
    out = [pid]
    for tid in os.listdir(f"/proc/{pid}/task"):
        for child in leftovers.read(f"/proc/{pid}/task/{tid}/children").split():
            try:
                out += family(int(child))
            except FileNotFoundError:
                pass
    return out


def called(r, name):
    return [pid for pid in family(r.process.pid) if leftovers.read(f"/proc/{pid}/comm").strip() == name]


# ---- ends that the program sees ----

def by_itself():
    r = ends(run(full("echo up; sleep 0.2"), *NODE), 0)
    same(r.phase(), "Completed")


def interrupted():
    ends(started().signal(signal.SIGINT), 130)


def interrupted_twice():
    r = started(script="trap '' TERM INT HUP; " + ENDLESS).signal(signal.SIGINT)
    time.sleep(0.1)
    ends(r.signal(signal.SIGINT), 130)


def terminated():
    ends(started().signal(signal.SIGTERM), 143)


def timed_out():
    ends(run(full(ENDLESS), *NODE, "--timeout", "1500ms"), 124)


def interrupted_while_starting():
    """Ctrl-C before anything is there, or half of it."""
    chance = random.Random(SEED)
    for _ in range(4):
        r = Run(full(ENDLESS), *NODE)
        time.sleep(chance.uniform(0, 0.6))
        r.signal(signal.SIGINT).end()
        assert r.status in (130, -signal.SIGINT), f"seed {SEED}: status {r.status}, {r.err}"
        nothing(r)


def nothing_can_start():
    r = run(full("true"), "--node", "cpu=1,memory=1Gi,pods=2", "--timeout", "2s")
    assert r.status in (1, 124), r.status
    nothing(r)


def cannot_open():
    """The machine refuses early: what was made until then goes."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/file", "w"):
            r = Run(full("true"), state=f"{d}/file/below").end()
        assert r.status == 1 and "file" in r.err, (r.status, r.err)
        nothing(r)


def stopped():
    """kill -STOP of everything but the program. Its pods are still asked to end, and it does not wait for who stands still."""
    r = started(script="trap 'echo asked; exit 0' TERM; " + ENDLESS)
    for names in (("pumice-shim",), ("pumice-spawner", "pumice-keeper")):
        for pid in [pid for name in names for pid in called(r, name)]:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.1)
    ends(r.signal(signal.SIGTERM), 143, LEAVES_S)
    same(r.all_lines().count("asked"), 4)


# ---- kill -9 ----

VICTIMS = ("program", "spawner", "shim")
COMBINATIONS = [c for n in (1, 2, 3) for c in itertools.combinations(VICTIMS, n)]
MOMENTS = ("start", "run", "end")


def killed(r, names, chance):
    """kill -9 of these, together. A run that has no spawner or no shim yet loses what there is."""
    found = {"program": [r.process.pid], "spawner": called(r, "pumice-spawner"), "shim": called(r, "pumice-shim")}
    pids = [chance.choice(found[n]) for n in names if found[n]]
    for pid in chance.sample(pids, len(pids)):
        leftovers.kill(pid, signal.SIGKILL)


def killed_once(names, moment, chance):
    script = "sleep 0.2" if moment == "end" and chance.random() < 0.5 else ENDLESS
    with tempfile.TemporaryDirectory(prefix="pumice-run-") as state:
        r = Run(full(script, replicas=2), *NODE, state=state)
        if moment != "start" and script == ENDLESS:
            r.until(lambda r: r.all_lines().count("up") == 2)
        if moment == "end" and script == ENDLESS:
            r.signal(signal.SIGINT)
        time.sleep(chance.uniform(0, {"start": chance.choice((0.05, 0.4, 1)), "run": 0.1, "end": 0.5 if script == ENDLESS else 2}[moment]))
        run_ids = [n for n in os.listdir(state) if len(n) == 6]
        if r.process.poll() is None:
            killed(r, names, chance)
        if "program" not in names:
            r.signal(signal.SIGINT)
        r.end(leaves_s=LEAVES_S)
        for run_id in run_ids:
            leftovers.check(run_id, state, patience_s=LEAVES_S)
        nothing(r)


def killed_in_any_combination():
    """Program, spawner and a shim, alone and together, while they start, run and end. Nobody but the rest of the run cleans up."""
    trials = [(c, m) for c in COMBINATIONS for m in MOMENTS]
    trials = [trials[i % len(trials)] for i in range(int(os.environ.get("TRIALS", len(trials))))]

    def one(i):
        try:
            killed_once(*trials[i], random.Random(SEED + i))
        except AssertionError as e:
            return f"seed {SEED}, number {i}, {trials[i]}: {e}"
        return None

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        failed = list(filter(None, pool.map(one, range(len(trials)))))
    assert not failed, f"{len(failed)} of {len(trials)}: " + "; ".join(failed[:5])


def killed_while_stopping():
    for number, wait_s in ((signal.SIGINT, 0.02), (signal.SIGTERM, 0.2)):
        r = started(script="trap 'sleep 1; exit 0' TERM; " + ENDLESS).signal(number)
        time.sleep(wait_s)
        ends(r.signal(signal.SIGKILL), -signal.SIGKILL, LEAVES_S)


def shim_killed():
    """The pod fails, and says why; the others and the run go on."""
    r = started(script="echo up; sleep 3; echo end")
    victim = called(r, "pumice-shim")[0]
    os.kill(victim, signal.SIGKILL)
    r.end(leaves_s=LEAVES_S)
    nothing(r)
    same(sorted(r.states().values()), ["failed"] + ["succeeded"] * 3)
    failed = next(e for e in r.of("pod") if e["state"] == "failed")
    assert "shim" in str(failed) + str(r.last()), (failed, r.last())
    assert r.status != 0, r.status


def spawner_killed():
    """Nothing can start any more. The run must end, and say so, not wait for ever."""
    r = started()
    os.kill(called(r, "pumice-spawner")[0], signal.SIGKILL)
    r.end(patience_s=30, leaves_s=LEAVES_S)
    nothing(r)
    assert r.status not in (0, None), r.status
    assert "spawner" in str(r.events) + r.err, (r.told(), r.err)


def inits_killed():
    """kill -9 of a container's process 1: it failed, as if its program was killed."""
    r = started(script="echo up; sleep 3; echo end")
    os.kill(called(r, "pumice-init")[0], signal.SIGKILL)
    r.end(leaves_s=LEAVES_S)
    nothing(r)
    same(sorted(r.states().values()), ["failed"] + ["succeeded"] * 3)


def all_killed():
    """Nobody is left to clean up; the next run does it."""
    state = tempfile.mkdtemp(prefix="pumice-run-")
    try:
        r = started(state=state)
        run_id = r.id()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in family(r.process.pid):
                leftovers.kill(pid, number)
        r.process.wait()
        same(runs_in(state), [run_id])
        while leftovers.children():
            time.sleep(0.02)
        assert leftovers.found(run_id, state, False), "this was to leave something behind"
        ends(Run(job("next", task("a", ["/bin/true"])), state=state), 0)
        leftovers.check(run_id, state, patience_s=1)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def next_run_spares_the_living():
    """Two runs in one state directory; a third that was killed. The start of the second must not touch the first."""
    state = tempfile.mkdtemp(prefix="pumice-run-")
    try:
        first = started(state=state)
        ends_beside(state, first.id())
        same(first.process.poll(), None)
        first.signal(signal.SIGINT).end()
        same(first.status, 130)
        leftovers.check(first.id(), state, patience_s=1)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def ends_beside(state, other):
    r = Run(full("cat /v/words/one; echo; sleep 0.2"), *NODE, state=state)
    r.process.wait(60)
    r.reader.join(5)
    same((r.process.returncode, r.all_lines().count("eins")), (0, 4))
    same(runs_in(state), [other])


def living_from_another_network():
    """The second run is in another network namespace, where no name of the first one is known."""
    state = tempfile.mkdtemp(prefix="pumice-run-")
    first = started(state=state)
    try:
        r = Run(full("cat /v/words/one; echo; sleep 0.2"), *NODE, state=state, prefix=("unshare", "--net"))
        r.process.wait(60)
        r.reader.join(5)
        same((r.process.returncode, r.all_lines().count("eins")), (0, 4))
        same((runs_in(state), first.process.poll()), ([first.id()], None))
        first.signal(signal.SIGINT).end()
        same(first.status, 130)
        leftovers.check(first.id(), state, patience_s=1)
    finally:
        first.process.kill()
        shutil.rmtree(state, ignore_errors=True)


def locks_are_ours_alone():
    """Nobody else can hold what a run waits for, nor give it a directory that he can change."""
    with tempfile.TemporaryDirectory(prefix="pumice-run-") as top:
        state = os.path.join(top, "state")
        os.mkdir(state)
        hello = job("hello", task("a", ["/bin/true"]))
        r = Run(hello, state=state)
        r.process.wait(60)
        same(r.process.returncode, 0)
        for path in ("/run/pumice", "/run/pumice/net.lock", f"{state}/lock"):
            st = os.stat(path)
            same((path, st.st_uid, st.st_mode & 0o077), (path, 0, 0))
        os.chmod(state, 0o777)
        refused(hello, state, f"chmod go-w {state}")
        os.chmod(state, 0o755)
        os.chown(state, 65534, 65534)
        refused(hello, state, "belongs to user 65534")
        os.chown(state, 0, 0)
        os.unlink(f"{state}/lock")
        os.symlink("/etc/passwd", f"{state}/lock")
        refused(hello, state, f"{state}: ")
        os.unlink(f"{state}/lock")
        os.mkdir(f"{state}/abc123")     # neither a link nor something without a lock is a run of ours
        os.symlink(top, f"{state}/abcdef")
        open(f"{top}/precious", "w").close()
        r = Run(hello, state=state)
        r.process.wait(60)
        same((r.process.returncode, sorted(runs_in(state)), os.path.exists(f"{top}/precious")), (0, ["abcdef"], True))


def refused(what, state, words):
    done = subprocess.run([PUMICE, "run", "--state", state, "-"], input=json.dumps(what), capture_output=True, text=True)
    assert done.returncode == 1 and words in done.stderr, (done.returncode, words, done.stderr)


def runs_in(state):
    return [n for n in os.listdir(state) if n not in ("images", "lock")]


# ---- --keep-state ----

def files_below(top):
    return sorted(os.path.relpath(os.path.join(d, n), top) for d, _, names in os.walk(top) for n in names)


def kept():
    """Logs and layers stay, and the program says where; the next run leaves them. Nothing else stays."""
    state = tempfile.mkdtemp(prefix="pumice-run-")
    try:
        r = Run(full("echo up; sleep 0.1"), *NODE, "--keep-state", state=state).end()
        same(r.status, 0)
        where = os.path.join(state, r.id())
        assert where in r.err + str(r.of("notice")), (r.err, r.of("notice"))
        nothing(r)
        files = files_below(where)
        assert any("logs" in f for f in files) and any(f.endswith("etc/new") for f in files), files
        assert not any("s3cret" in leftovers.read(os.path.join(where, f)) for f in files), "a secret stays on disk"
        Run(job("next", task("a", ["/bin/true"])), "--keep-state", state=state).end()
        same(files_below(where), files)
        Run(job("third", task("a", ["/bin/true"])), state=state).process.wait()
        same(files_below(where), files)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def kept_after_kill():
    """--keep-state holds as well when the program was killed: that is when one wants to look."""
    state = tempfile.mkdtemp(prefix="pumice-run-")
    try:
        r = started("--keep-state", state=state)
        r.signal(signal.SIGKILL).end(leaves_s=LEAVES_S)
        nothing(r)
        where = os.path.join(state, r.id())
        assert any(f.endswith("etc/new") for f in files_below(where)), files_below(where)
        files = files_below(where)
        Run(job("next", task("a", ["/bin/true"])), state=state).process.wait()
        same(files_below(where), files)
    finally:
        shutil.rmtree(state, ignore_errors=True)


def main():
    if os.geteuid() != 0:
        print("skipped: needs root")
        return 77
    suite, before = Suite(), ids_on_host()
    for f in (by_itself, interrupted, interrupted_twice, terminated, timed_out, interrupted_while_starting, nothing_can_start, cannot_open, stopped,
              killed_in_any_combination, killed_while_stopping, shim_killed, spawner_killed, inits_killed, all_killed,
              next_run_spares_the_living, living_from_another_network, locks_are_ours_alone, kept, kept_after_kill):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    suite.case("nothing on the host", lambda: nothing_on_host(before))
    return suite.finish()


def nothing_on_host(before):
    """Whatever was too short-lived to tell its id. Runs of others may just be ending: they get their time."""
    deadline = time.monotonic() + LEAVES_S
    while ids_on_host() - before:
        assert time.monotonic() < deadline, ids_on_host() - before
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
