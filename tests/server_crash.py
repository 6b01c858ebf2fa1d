#!/usr/bin/env python3
"""`pumice server` killed again and again while it is written to: server_crash.py [ROUNDS] [SEED].

Writers keep ConfigMaps of their own and remember what they were told; a watcher resumes from the last revision it saw; a
pod counts; one pod after the other ends, also while there is no server. The server is killed at a random moment of its
work, now and then also while it starts. After each kill:

  - all that was acknowledged is there: a key is as its writer was told last, or as the write in flight would have made it
  - no revision goes back, and the watcher, which resumed, has seen every change exactly once: what it knows is what is there
  - the pod that counts is the same process, and its log has every line; pods that ended have their exit status
"""
import contextlib
import http.client
import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from harness import PUMICE, Suite, pumice  # noqa: E402
from netfilter import has_nftables  # noqa: E402
from server import MAPS, PODS, config_map, named, pid_of  # noqa: E402

WRITERS, KEYS, PATIENCE_S = 4, 6, 60
BROKEN = (OSError, http.client.HTTPException, ValueError, AttributeError)


class Home:
    """The directory, and whoever serves it now."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pumice-crash-")
        self.data = os.path.join(self.dir, "data")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.log = open(os.path.join(self.dir, "log"), "ab")
        self.args = [PUMICE, "server", "--data-dir", self.data, "--listen", f"127.0.0.1:{self.port}", "--capacity", "cpu=8,memory=8Gi",
                     *(() if has_nftables() else ("--allow-unfiltered",))]
        self.process = None

    def spawn(self):
        self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)

    def start(self):
        self.spawn()
        for line in self.process.stdout:
            if "kubectl get" in line:
                break
        else:
            raise AssertionError(f"it does not start: {self.said()}")
        with open(os.path.join(self.data, "admin.kubeconfig")) as f:
            words = {k.strip(" -"): v.strip() for k, _, v in (line.partition(":") for line in f)}
        self.token = words["token"]
        self.tls = ssl.create_default_context(cafile=os.path.join(self.data, "pki", "ca.crt"))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def said(self):
        with open(self.log.name, errors="replace") as f:
            return f.read()[-4000:]

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S, context=self.tls)

    def ask(self, c, method, path, body=None):
        c.request(method, path, body and json.dumps(body), {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                                                            "User-Agent": "test/1"})
        r = c.getresponse()
        text = r.read()
        return r.status, json.loads(text) if r.headers.get("Content-Type", "").startswith("application/json") else text.decode()

    def once(self, method, path, body=None):
        with contextlib.closing(self.connect()) as c:
            return self.ask(c, method, path, body)


class Writer(threading.Thread):
    """Keys of its own; 'may' has all states that a key may be in: one, but for the write that nobody answered."""

    def __init__(self, home, number, seed):
        super().__init__(daemon=True)
        self.home, self.number, self.random = home, number, random.Random(seed)
        self.may, self.acked, self.writes, self.problem = {}, 0, 0, None

    def one(self, c):
        key = f"w{self.number}-{self.random.randrange(KEYS)}"
        (now,) = self.may.get(key, (None,))
        value = f"{self.number}.{self.writes}"
        self.writes += 1
        if now is None:
            method, path, then = "POST", MAPS, value
        elif self.random.random() < 0.3:
            method, path, then = "DELETE", f"{MAPS}/{key}", None
        else:
            method, path, then = "PUT", f"{MAPS}/{key}", value
        self.may[key] = {now, then}
        status, answer = self.home.ask(c, method, path, None if then is None else config_map(key, {"v": value}))
        assert status in (200, 201), (method, key, status, answer)
        self.may[key] = {then}
        if then is not None:
            rev = int(answer["metadata"]["resourceVersion"])
            assert rev > self.acked, f"revision {rev} after {self.acked}"
            self.acked = rev

    def run(self):
        try:
            with contextlib.closing(self.home.connect()) as c:
                while True:
                    self.one(c)
        except BROKEN:
            pass  # the server is gone
        except AssertionError as e:
            self.problem = e


class Watcher(threading.Thread):
    """What it knows survives it: the next one goes on from there."""

    def __init__(self, home, known, rev):
        super().__init__(daemon=True)
        self.home, self.known, self.rev, self.problem, self.news = home, known, rev, None, threading.Condition()

    def take(self, event):
        o, rev = event["object"], int(event["object"].get("metadata", {}).get("resourceVersion", 0))
        assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
        assert rev > self.rev, f"revision {rev} ({event['type']} {o['metadata']['name']}) after {self.rev}: told twice"
        name = o["metadata"]["name"]
        assert (event["type"] == "ADDED") == (name not in self.known), (event["type"], name, "a change before it was missed")
        if event["type"] == "DELETED":
            del self.known[name]
        else:
            self.known[name] = o["metadata"]["resourceVersion"]
        with self.news:
            self.rev = rev
            self.news.notify_all()

    def run(self):
        try:
            with contextlib.closing(self.home.connect()) as c:
                c.request("GET", f"{MAPS}?watch=1&resourceVersion={self.rev}", headers={"Authorization": f"Bearer {self.home.token}"})
                for line in c.getresponse():
                    if not line.endswith(b"\n"):
                        break  # torn
                    self.take(json.loads(line))
        except BROKEN:
            pass
        except AssertionError as e:
            self.problem = e
            with self.news:
                self.news.notify_all()

    def until(self, rev):
        with self.news:
            assert self.news.wait_for(lambda: self.rev >= rev or self.problem, PATIENCE_S), f"it never heard of {rev}, only of {self.rev}"
        if self.problem:
            raise self.problem


class Crash:
    def __init__(self, seed):
        self.random, self.seed = random.Random(seed), seed
        self.home = Home()
        self.writers = [Writer(self.home, i, seed + i) for i in range(WRITERS)]
        self.known, self.round, self.ended = {}, 0, 0
        self.pid, self.counted = None, 0

    def wait(self, what, holds):
        end = time.monotonic() + PATIENCE_S
        while not (got := holds()):
            assert time.monotonic() < end, f"round {self.round}, seed {self.seed}: never came true: {what}"
            time.sleep(0.02)
        return got

    def phase(self, name):
        return self.home.once("GET", f"{PODS}/{name}")[1]["status"].get("phase")

    def begin(self):
        self.home.start()
        listed = self.home.once("GET", MAPS)[1]
        self.known = {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in listed["items"]}
        self.watch(int(listed["metadata"]["resourceVersion"]))
        self.home.once("POST", PODS, named("counts", "n=0; while :; do n=$((n + 1)); echo $n; sleep 0.05; done"))
        self.home.once("POST", PODS, self.short(0))
        self.wait("the pod runs", lambda: self.phase("counts") == "Running")
        self.pid = self.wait("it is a process", lambda: pid_of("counts"))

    def watch(self, rev):
        self.watcher = Watcher(self.home, self.known, rev)
        self.watcher.start()

    def short(self, n):
        return named(f"ends{n}", f"sleep 0.{n % 10}; exit {n % 7}")

    def kill(self):
        """Work for a while, then end it; sometimes the next one dies as it starts."""
        fresh = [Writer(self.home, w.number, self.seed + 100 * self.round + w.number) for w in self.writers]
        for old, new in zip(self.writers, fresh):
            new.may, new.acked, new.writes = old.may, old.acked, old.writes
        self.writers = fresh
        for t in fresh:
            t.start()
        time.sleep(self.random.uniform(0.01, 0.4))
        self.home.kill()
        for t in (self.watcher, *fresh):
            t.join()
            if t.problem:
                raise t.problem
        for _ in range(self.random.choice((0, 0, 1, 2))):
            self.home.spawn()
            time.sleep(self.random.uniform(0, 0.15))
            self.home.kill()

    def check_objects(self):
        listed = self.home.once("GET", MAPS)[1]
        there = {o["metadata"]["name"]: o for o in listed["items"]}
        for w in self.writers:
            for key, may in w.may.items():
                now = there[key]["data"]["v"] if key in there else None
                assert now in may, f"round {self.round}, seed {self.seed}: {key} is {now}, its writer knows of {may}"
                w.may[key] = {now}
            assert int(listed["metadata"]["resourceVersion"]) >= w.acked, "revisions went back"
        rev = int(self.home.once("POST", MAPS, config_map(f"mark{self.round}"))[1]["metadata"]["resourceVersion"])
        self.watch(self.watcher.rev)
        self.watcher.until(rev)
        want = {name: o["metadata"]["resourceVersion"] for name, o in there.items()}
        want[f"mark{self.round}"] = str(rev)
        assert self.known == want, f"round {self.round}, seed {self.seed}: the watcher knows {self.known}, there is {want}"
        self.home.once("DELETE", f"{MAPS}/mark{self.round}")

    def check_pods(self):
        status, p = self.home.once("GET", f"{PODS}/counts")
        assert status == 200 and p["status"]["containerStatuses"][0]["restartCount"] == 0, p
        assert os.path.exists(f"/proc/{self.pid}/exe"), f"round {self.round}, seed {self.seed}: the pod is gone"
        if self.round % 10 == 0:  # it is long
            seen = self.wait("the log goes on", lambda: (lambda n: len(n) > self.counted and n)(self.lines()))
            assert seen == list(range(seen[0], seen[0] + len(seen))), f"round {self.round}, seed {self.seed}: lines are missing"
            self.counted = len(seen)
        name = f"ends{self.ended}"
        status, p = self.home.once("GET", f"{PODS}/{name}")
        if status == 200 and p["status"].get("phase") in ("Succeeded", "Failed"):
            code = p["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
            assert code == self.ended % 7, f"round {self.round}, seed {self.seed}: {name} ended with {code}: {p['status']}\n{self.home.said()}"
            self.home.once("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
            self.ended += 1
            self.home.once("POST", PODS, self.short(self.ended))

    def lines(self):
        status, text = self.home.once("GET", f"{PODS}/counts/log")
        return [int(n) for n in text.split()] if status == 200 else []

    def run(self, rounds):
        self.begin()
        for self.round in range(1, rounds + 1):
            self.kill()
            self.home.start()
            self.check_objects()
            self.check_pods()
        assert sum(w.writes for w in self.writers) > rounds, "hardly anything was written"
        self.wait("pods end and are told of", lambda: self.check_pods() or self.ended > 0)
        text = self.home.said()
        assert "Sanitizer" not in text and "runtime error:" not in text, text

    def end(self):
        if self.home.process and self.home.process.poll() is None:
            self.home.kill()
        assert pumice("server", "--cleanup", "--data-dir", self.home.data).returncode == 0
        assert not self.pid or not os.path.exists(f"/proc/{self.pid}/exe")
        shutil.rmtree(self.home.dir, ignore_errors=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    crash = Crash(int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30))
    suite = Suite()
    suite.case(f"{rounds} kills", lambda: crash.run(rounds))
    suite.case("ends", crash.end)
    print(f"seed {crash.seed}: {crash.round} kills, {sum(w.writes for w in crash.writers)} writes, {crash.ended} pods ended, "
          f"revision {crash.watcher.rev}")
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
