#!/usr/bin/env python3
"""Every process that a run or a server starts for itself is killed, stopped and starved, alone and in pairs, at random moments.

    tests/run_helpers.py                 the cases, and some trials of each kind: half a minute
    tests/run_helpers.py 500 SEED        500 trials, half of them on `pumice run`, half on `pumice server`
    tests/run_helpers.py --only N SEED   that one trial of them again

Helpers are found in /proc: what comes from the program and is not a program of a pod. After each trial a run must end, with an exit status and
words that fit; a server must go on and run the next pod; and of neither anything may be left.
"""
import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import images  # noqa: E402
import leftovers  # noqa: E402
import runs  # noqa: E402
from harness import Suite, until  # noqa: E402
from registry import Image, Liar  # noqa: E402
from runs import Run, has, has_user_namespaces, job, own_directory, same, sh, skip, task  # noqa: E402
from server import Server, is_machine_unfit, server_or_skip  # noqa: E402

USER = 61998
WORKERS = 3             # trials at a time: most of one is waiting
LEAVES_S = 15           # for what was killed to be removed by those who are left
ENDS_S = 60             # a run has that long from SIGTERM on
TICK_S, SPIN_TICKS = 0.5, 5
# Those whose death is nothing to the pods.
QUIET = {"pumice-keeper", "pumice-puller", "pumice-probe", "slirp4netns"}


# ---- what runs ----

def probe(what):
    return {**what, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 1000000}


def template(image, script="echo up; while :; do sleep 0.2; done"):
    """One pod has all there is: two containers, a pause process, probes by a command, by a connection and by TLS, and an image that is pulled."""
    main = {"name": "main", "image": "host", "command": sh(script), "livenessProbe": probe({"exec": {"command": ["sleep", "0.4"]}}),
            "readinessProbe": probe({"httpGet": {"port": 9, "scheme": "HTTPS"}})}
    second = {"name": "second", "image": image, "command": ["/bin/sh", "-c", script], "livenessProbe": probe({"tcpSocket": {"port": 9}})}
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "shareProcessNamespace": True, "containers": [main, second]}


def whole(image):
    return job("j", task("a", [], pod=template(image)), task("b", sh("echo up; while :; do sleep 0.2; done"), image="host"), minAvailable=1)


def registry():
    """Slow, so that a pull is mostly under way."""
    liar = Liar()
    image = Image(images.layer(images.root()), config={"Cmd": ["/bin/true"], "Env": ["PATH=/bin"]})

    def slow(handler):
        time.sleep(0.3)
        return False
    liar.tricks["/blobs/"] = slow
    return liar, liar.push("app", image)


# ---- who is there ----

def name_of(pid):
    return leftovers.read(f"/proc/{pid}/comm").strip()


def children(pid):
    with contextlib.suppress(OSError):
        return [int(c) for tid in os.listdir(f"/proc/{pid}/task") for c in leftovers.read(f"/proc/{pid}/task/{tid}/children").split()]
    return []


def below(pid):
    return [p for c in children(pid) for p in (c, *below(c))]


def helpers(pid):
    """Of the program, and those that left it for us. What a pod runs is no helper; its process 1 is."""
    ours = [p for c in children(os.getpid()) if c not in leftovers.OURS for p in (c, *below(c))]
    return [(p, name_of(p)) for p in (*below(pid), *ours) if name_of(p).startswith(("pumice", "slirp4netns"))]


def cpu_s(pid):
    """Of this process alone, without what its children used."""
    fields = leftovers.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


class Spinning:
    """Notices a process that does nothing but turn for some seconds on end."""

    def __init__(self, pid):
        self.pid, self.last, self.at, self.ticks = pid, cpu_s(pid), time.monotonic(), 0

    def look(self):
        now = time.monotonic()
        if now - self.at < TICK_S:
            return
        used, self.last = cpu_s(self.pid) - self.last, cpu_s(self.pid)
        self.ticks = self.ticks + 1 if used > 0.8 * (now - self.at) else 0
        self.at = now
        assert self.ticks < SPIN_TICKS, f"the program spins: {used:.2f} s in {TICK_S} s"


# ---- what is done to them ----

ACTIONS = ("kill", "kill", "stop", "stop-continue", "stop-kill", "starve")


class Attack:
    """One or two helpers, chosen now; what is done to each, now and later."""

    def __init__(self, chance, found):
        self.later, self.said = [], []
        kinds = sorted({name for _, name in found})
        for kind in chance.sample(kinds, min(len(kinds), chance.choice((1, 1, 2)))):  # each kind as often as the others
            self.take(chance, chance.choice([pid for pid, name in found if name == kind]), kind)

    def take(self, chance, pid, name):
        action, delay_s = chance.choice(ACTIONS), chance.uniform(0.05, 1.5)
        self.said.append((name, action))
        if action == "kill":
            leftovers.kill(pid, signal.SIGKILL)
        elif action == "starve":
            with contextlib.suppress(OSError):
                os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        else:
            leftovers.kill(pid, signal.SIGSTOP)
        if action in ("stop-continue", "stop-kill"):
            self.later.append((time.monotonic() + delay_s, pid, name, signal.SIGCONT if action == "stop-continue" else signal.SIGKILL))

    def turn(self):
        for due in [d for d in self.later if time.monotonic() >= d[0]]:
            self.later.remove(due)
            if name_of(due[1]) == due[2]:
                leftovers.kill(due[1], due[3])

    def finish(self):
        while self.later:
            self.turn()
            time.sleep(0.02)

    def names(self):
        return {name for name, _ in self.said}


def pause(attack, spinning, seconds, is_over):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not is_over():
        attack and attack.turn()
        spinning.look()
        time.sleep(0.02)


# ---- a run ----

def run_trial(chance, where, image, user):
    env = {"PUMICE_PULL": ""}
    network = [] if user else ["--network", chance.choice(("private", "auto"))]
    r = Run(whole(image), "--node", "cpu=100,memory=100Gi,pods=100", *network, "--image", "host=host", "--image-store", os.path.join(where, "images"),
            user=user, env=env, state=os.path.join(where, "state"))
    is_over = lambda: r.process.poll() is not None  # noqa: E731
    spinning, attack = Spinning(r.process.pid), None
    try:
        if chance.random() < 0.6:
            until("the pods are up", lambda: is_over() or r.all_lines().count("up") >= 2)
        pause(None, spinning, chance.uniform(0, 0.8), is_over)
        found = helpers(r.process.pid)
        attack = Attack(chance, found) if found else None
        pause(attack, spinning, chance.uniform(0.2, 3), is_over)
        r.signal(signal.SIGTERM)
        pause(attack, spinning, ENDS_S, is_over)
        attack and attack.finish()
        judge(r, attack)
    except AssertionError as e:
        raise AssertionError(f"{attack.said if attack else 'nothing yet'}: {e}") from None
    finally:
        runs.end_process(r.process)


def judge(r, attack):
    assert r.process.poll() is not None, f"does not end: {r.told()}"
    r.end(leaves_s=LEAVES_S)
    names = attack.names() if attack else set()
    if r.status == -signal.SIGTERM and not r.of("start"):
        return  # it had not begun yet
    assert r.status > 0, f"status {r.status}: {r.err[-600:]}"
    if names <= QUIET and r.of("start"):
        assert r.status == 143, f"status {r.status}: {r.told()} {r.err[-600:]}"
    assert r.of("end") or r.err.strip(), "it ends without a word"


# ---- a server ----

class Place:
    """A server for some trials, with pods that start again."""

    def __init__(self, where, image):
        self.server = Server("--image", "host=host", "--image-store", os.path.join(where, "images"), env={**os.environ, "PUMICE_PULL": ""})
        leftovers.OURS.add(self.server.process.pid)
        self.pid, self.number, self.image = self.server.process.pid, 0, image
        s = self.server
        until("its account", lambda: s.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200)
        self.add("stays", {**template(image), "restartPolicy": "Always"})

    def add(self, name, spec):
        self.server.ok("POST", "/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})

    def phase(self, name):
        return self.server.ok("GET", f"/api/v1/namespaces/default/pods/{name}")["status"].get("phase")

    def restarts(self, name):
        status = self.server.ok("GET", f"/api/v1/namespaces/default/pods/{name}")["status"]
        return sum(c["restartCount"] for c in status.get("containerStatuses", []))

    def next_pod(self):
        """It runs, or is lost with a helper and says so: then the next one runs."""
        for image in ("host", "host", "host"):
            self.number += 1
            name = f"next-{self.number}"
            self.add(name, {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                            "containers": [{"name": "main", "image": image, "command": sh("echo fine")}]})
            until(f"{name} has ended: {self.said()}", lambda name=name: self.phase(name) in ("Succeeded", "Failed"), 60)
            phase = self.phase(name)
            self.server.ok("DELETE", f"/api/v1/namespaces/default/pods/{name}")
            if phase == "Succeeded":
                return
        raise AssertionError(f"pods fail: {self.said()}")

    def said(self):
        return self.server.said().decode(errors="replace")[-1500:]

    def close(self):
        node = os.path.join(self.server.data, "node")
        ids = [n for n in os.listdir(node) if len(n) == 6] if os.path.isdir(node) else []
        status, text = self.end(), self.said()
        same((status, text if status else ""), (0, ""))
        for run_id in ids:
            leftovers.check(run_id, node, patience_s=LEAVES_S)
        shutil.rmtree(self.server.dir, ignore_errors=True)

    def end(self):
        s = self.server
        if s.process.poll() is None:
            s.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + ENDS_S
        while s.process.poll() is None:
            assert time.monotonic() < end, f"SIGTERM does not end it: {self.said()}"
            time.sleep(0.02)
        assert "Sanitizer" not in self.said() and "runtime error:" not in self.said(), self.said()
        return s.process.returncode


def server_trial(chance, place):
    is_over = lambda: place.server.process.poll() is not None  # noqa: E731
    spinning = Spinning(place.pid)
    attack = None
    try:
        pause(None, spinning, chance.uniform(0, 1), is_over)
        attack = Attack(chance, helpers(place.pid))
        pause(attack, spinning, chance.uniform(0.2, 2), is_over)
        attack.finish()
        assert not is_over(), f"the server has ended: {place.said()}"
        place.next_pod()
        pause(None, spinning, 0.3, is_over)
    except (AssertionError, OSError) as e:
        raise AssertionError(f"{attack.said if attack else 'nothing yet'}: {type(e).__name__} {e}") from None


# ---- trials ----

PER_SERVER = 5


def batch(of, numbers, seed):
    """Trials of one kind, one after the other, in a process of their own. What failed, in words."""
    leftovers.OURS.clear()
    leftovers.adopt_orphans()
    failed = []
    with tempfile.TemporaryDirectory(prefix="pumice-helpers-") as where:
        os.chmod(where, 0o777)
        liar, image = registry()
        place = Place(where, image) if of == "server" else None
        for number in numbers:
            chance = random.Random(seed * 1000003 + number)
            try:
                if place:
                    server_trial(chance, place)
                else:
                    own = tempfile.mkdtemp(dir=where)
                    os.chmod(own, 0o777)
                    user = USER if number % 3 == 2 and os.environ.get("HELPERS_USER") else None
                    run_trial(chance, own, image, user)
            except Exception as e:  # every kind of failure is one failed trial
                failed.append(f"{of} {number}: {e}")
                if place:
                    break  # the next would fail of the same
        if place:
            try:
                place.close()
            except Exception as e:
                failed.append(f"server after {numbers}: {e}")
                with contextlib.suppress(OSError, AssertionError):
                    place.server.stop()
        liar.close()
    return failed


def trials(numbers, seed, kinds=("run", "server")):
    """All of them; each is told by its number and the seed."""
    work = [("run", [n]) for n in numbers if n % 2 == 0 and "run" in kinds]
    own = [n for n in numbers if n % 2 and "server" in kinds]
    work += [("server", own[i:i + PER_SERVER]) for i in range(0, len(own), PER_SERVER)]
    failed = []
    with concurrent.futures.ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool:
        for future in [pool.submit(batch, of, some, seed) for of, some in work]:
            failed += future.result()
    return failed


# ---- each by itself ----

def called(pid, name):
    return [p for p, n in helpers(pid) if n == name]


@contextlib.contextmanager
def running(*options, user=None):
    """A run whose pods are up, with a puller."""
    liar, image = registry()
    with tempfile.TemporaryDirectory(prefix="pumice-helpers-") as where, contextlib.closing(liar):
        os.chmod(where, 0o777)
        r = Run(whole(image), "--node", "cpu=100,memory=100Gi,pods=100", "--image", "host=host", "--image-store", os.path.join(where, "images"), *options,
                user=user, env={"PUMICE_PULL": ""}, state=os.path.join(where, "state"))
        try:
            r.until(lambda r: r.all_lines().count("up") >= 3)
            yield r
        finally:
            runs.end_process(r.process)


def killed_and_back(r, name):
    """Another one comes in its place."""
    old = called(r.process.pid, name)
    os.kill(old[0], signal.SIGKILL)
    until(f"another {name}", lambda: set(called(r.process.pid, name)) - set(old))


def puller_killed():
    """The run goes on, at rest, and ends when it is told to."""
    with running("--network", "private") as r:
        os.kill(called(r.process.pid, "pumice-puller")[0], signal.SIGKILL)
        pause(None, Spinning(r.process.pid), SPIN_TICKS * TICK_S + 1, lambda: r.process.poll() is not None)
        same(r.signal(signal.SIGTERM).end(leaves_s=LEAVES_S).status, 143)


def keeper_killed():
    """The one that comes in its place does what it is for: nothing stays of a run that is killed."""
    with running("--network", "private") as r:
        killed_and_back(r, "pumice-keeper")
        r.signal(signal.SIGKILL).end(leaves_s=LEAVES_S)


def slirp_killed():
    """A run of an ordinary user has its way out again, and when it has ended there is none."""
    if not os.environ.get("HELPERS_USER"):
        return skip("no slirp4netns for others")
    with running(user=USER) as r:
        killed_and_back(r, "slirp4netns")
        same(r.signal(signal.SIGTERM).end(leaves_s=0).status, 143)
    return None


def server_goes_on():
    """Killed one after the other: pods start again, and an image that is not there yet is pulled by the next puller."""
    leftovers.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="pumice-helpers-") as where:
        liar, image = registry()
        place = Place(where, image)
        try:
            until("its pod runs", lambda: place.phase("stays") == "Running")
            os.kill(called(place.pid, "pumice-spawner")[0], signal.SIGKILL)
            until("its pod was started again", lambda: place.restarts("stays") >= 2)
            os.kill(called(place.pid, "pumice-puller")[0], signal.SIGKILL)
            other = Image(images.layer(images.root(images.text("etc/other", "x"))), config={"Cmd": ["/bin/true"], "Env": ["PATH=/bin"]})
            place.add("pulled", {"restartPolicy": "Never", "containers": [{"name": "main", "image": liar.push("other", other), "command": ["/bin/cat", "/etc/other"]}]})
            until("its image is pulled", lambda: place.phase("pulled") == "Succeeded")
        finally:
            place.close()
            liar.close()


def random_trials(n, seed):
    failed = trials(range(n), seed)
    assert not failed, f"{len(failed)} of {n}, seed {seed}:\n" + "\n".join(f[:1500] for f in failed[:20])


def main():
    if os.geteuid() != 0:
        print("skipped: needs root")
        return 77
    suite = Suite()
    with own_directory("helpers", 0o777) as directory:
        runs.give_tun(directory)
        os.environ["PUMICE"] = runs.PUMICE
        if has("slirp4netns") and os.path.exists("/dev/net/tun") and has_user_namespaces(USER):
            os.environ["HELPERS_USER"] = "1"
        numbers = [a for a in sys.argv[1:] if a.isdigit()]
        seed = int(numbers[1]) if len(numbers) > 1 else random.randrange(1 << 20)
        if "--only" in sys.argv:
            suite.case("trial", lambda: same(trials([int(numbers[0])], seed), []))
        else:
            for case in (puller_killed, keeper_killed, slirp_killed, server_goes_on):
                if not numbers:
                    suite.case(case.__name__, case)
            suite.case("random_trials", lambda: random_trials(int(numbers[0]) if numbers else 12, seed))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
