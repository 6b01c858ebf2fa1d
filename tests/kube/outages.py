#!/usr/bin/env python3
"""pumice controller when the API server is away, forgets, closes watches or answers nonsense: no pod is made twice, no healthy job is harmed.

OUTAGE_S (default 3): how long the server is down. For ten minutes: OUTAGE_S=600 LIMIT=900."""
import http.client
import json
import os
import signal
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from controller import Controller, Hollow, QUICK, created, install, job, until  # noqa: E402
from faultproxy import FaultProxy  # noqa: E402
from harness import Suite  # noqa: E402

OUTAGE_S = float(os.environ.get("OUTAGE_S", 3))
BUSY = "apiserver_terminated_watchers_total"
TYPES = 24  # that a controller with its scheduler watches, at most
ALONE = ("--scheduler", "--leader-elect=false")


def jobs_path(namespace, name=""):
    return f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/{name}".rstrip("/")


def submit(bed, namespace, name, pods, runtime):
    """One that would show harm: whatever happens to a pod, the whole job starts again."""
    policies = [{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob"}]
    manifest = job(name, pods, runtime, policies=policies)
    manifest["metadata"]["namespace"] = namespace
    status, answer = bed.call("POST", jobs_path(namespace), manifest)
    assert status == 201, answer


def phase(bed, namespace, name):
    return bed.call("GET", jobs_path(namespace, name))[1].get("status", {}).get("state", {}).get("phase")


def until_phase(bed, namespace, name, want):
    until(f"{namespace}/{name} is {want}", lambda: phase(bed, namespace, name) == want)


def pods(bed, namespace, name):
    items = bed.call("GET", f"/api/v1/namespaces/{namespace}/pods?labelSelector=volcano.sh/job-name={name}")[1]["items"]
    return {p["metadata"]["name"]: p["metadata"]["uid"] for p in items}


def figure(controller, name):
    return float(next(line for line in controller.get("/metrics")[1].splitlines() if line.startswith(name + " ")).split()[1])


class Supervised(threading.Thread):
    """A replica as a Deployment keeps it: one that ends is started again."""

    def __init__(self, bed, user, *flags):
        super().__init__(daemon=True)
        self.bed, self.user, self.flags, self.starts, self.over = bed, user, flags, 0, threading.Event()
        self.controller = None
        self.start()

    def run(self):
        while not self.over.is_set():
            self.starts += 1
            with Controller(self.bed, self.user, *self.flags) as self.controller:
                while self.controller.popen.poll() is None and not self.over.wait(0.1):
                    pass

    def stop(self):
        self.over.set()
        self.join()


def sits_out(bed, meanwhile):
    """Two controllers: one alone, which keeps what it knows, and one that loses its Lease and begins anew. Jobs that run, that end
    while nobody hears it, and that are half made when the server goes."""
    before = {}
    for namespace in ("kept", "anew"):
        bed.namespace(namespace)
    anew = Supervised(bed, "anew", "--scheduler", "-n", "anew", *QUICK)
    try:
        with Controller(bed, "kept", "-n", "kept", *ALONE) as kept:
            kept.until_ready()
            round_ = f"{time.monotonic_ns() % 10**9}"
            for namespace in ("kept", "anew"):
                submit(bed, namespace, f"runs-{round_}", 5, "1h")
                submit(bed, namespace, f"ends-{round_}", 5, "1s")
                until_phase(bed, namespace, f"runs-{round_}", "Running")
                before[namespace] = pods(bed, namespace, f"runs-{round_}")
                submit(bed, namespace, f"half-{round_}", 40, "1s")
            until("some are made", lambda: all(pods(bed, n, f"half-{round_}") for n in before))
            bed.server.kill()
            meanwhile()
            bed.server.start()
            for namespace in before:
                submit(bed, namespace, f"after-{round_}", 3, "100ms")
                for name in ("ends", "half", "after"):
                    until_phase(bed, namespace, f"{name}-{round_}", "Completed")
                seen = bed.call("GET", jobs_path(namespace, f"runs-{round_}"))[1]["status"]
                assert seen["state"]["phase"] == "Running" and not seen.get("retryCount") and seen["running"] == 5, seen
                assert pods(bed, namespace, f"runs-{round_}") == before[namespace], "pods of a healthy job were replaced"
                for name, count in (("ends", 5), ("half", 40)):
                    count_of, _ = created(bed, f"{name}-{round_}-w-")
                    assert len(pods(bed, namespace, f"{name}-{round_}")) == count and max(count_of.values()) <= 2, count_of
                    events = bed.call("GET", f"/api/v1/namespaces/{namespace}/events?fieldSelector=reason=ExecuteAction")[1]["items"]
                    assert not events, events
            assert kept.popen.poll() is None, kept.log[-2000:]
            return figure(kept, "pumice_relists_total"), anew.starts
    finally:
        anew.stop()


def sits_out_an_outage(bed):
    relists, starts = sits_out(bed, lambda: time.sleep(OUTAGE_S))
    assert relists < TYPES, "a new server has forgotten what is older than itself (410), once for each type at most"
    assert OUTAGE_S < 10 or starts > 1, "it kept a Lease that had run out"


def sits_out_a_compaction(bed):
    relists, _ = sits_out(bed, bed.compact)
    assert 0 < relists < TYPES, relists


def weathers_a_storm(bed):
    """All that a network and a busy server do, on every request; then calm."""
    bed.namespace("storm")
    with FaultProxy(bed, user="admin", seed=11) as proxy:
        with Controller(bed, "stormy", "-n", "storm", *ALONE, kubeconfig=proxy.kubeconfig) as c:
            proxy.storm(11)
            for i in range(8):
                submit(bed, "storm", f"storm{i}", 10, "500ms")
            until("pods are made in the storm", lambda: len(pods(bed, "storm", "storm7")) == 10)
            proxy.heal()
            for i in range(8):
                until_phase(bed, "storm", f"storm{i}", "Completed")
            assert c.popen.poll() is None, c.log[-2000:]
        assert len(proxy.log) > 20, proxy.log
    count, _ = created(bed, "storm")
    assert len(count) == 80 and max(count.values()) == 1, {n: c for n, c in count.items() if c != 1}


def flood(bed, n):
    """Writes that a watch of ConfigMaps has to tell, more than sockets hold."""
    def some(part):
        c = bed.connect()
        for i in range(n):
            body = {"metadata": {"name": f"flood-{part}-{i}"}, "data": {"x": "x" * 60000}}
            try:
                c.request("POST", "/api/v1/namespaces/flood/configmaps", json.dumps(body), {"Content-Type": "application/json"})
                assert c.getresponse().read()
            except http.client.HTTPException:
                c = bed.connect()

    threads = [threading.Thread(target=some, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def resumes_watches_that_were_too_slow(bed):
    """A server closes the watch of a client that does not read. It goes on from where it was; nothing is listed again."""
    def closed():
        lines = bed.call("GET", "/metrics")[1].splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(BUSY) and 'resource="configmaps"' in line)

    bed.namespace("flood")
    with Controller(bed, "slow", "-n", "flood", *ALONE) as c:
        c.until_ready()
        before = closed()
        c.popen.send_signal(signal.SIGSTOP)
        for _ in range(20):
            flood(bed, 60)
            if closed() > before:
                break
            bed.call("DELETE", "/api/v1/namespaces/flood/configmaps")
        else:
            raise AssertionError("the server closes no watch, however slow")
        c.popen.send_signal(signal.SIGCONT)
        submit(bed, "flood", "late", 3, "100ms")
        until_phase(bed, "flood", "late", "Completed")
        assert figure(c, "pumice_relists_total") == 0 and figure(c, "pumice_lists_total") == 0


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            install(bed)
            with Hollow(bed, "n0", "n1", "n2"):
                for case in (sits_out_an_outage, sits_out_a_compaction, weathers_a_storm, resumes_watches_that_were_too_slow):
                    suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
