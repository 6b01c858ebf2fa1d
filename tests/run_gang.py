#!/usr/bin/env python3
"""Gangs on a node that is too small: all or nothing, why it waits, and no deadlock."""
import sys

from harness import Suite
from runs import job, on, run, run_text, same, sh, task

ONE = {"requests": {"cpu": "1"}}
NODE = ("--node", "cpu=3,memory=1Gi")


def gang(name, replicas=4, script="echo began", **spec):
    return job(name, task("w", sh(script), replicas=replicas, resources=ONE), **spec)


def too_small_starts_nothing():
    r = run(gang("j"), *NODE, "--timeout", "3s")
    assert r.status != 0 and not r.of("log"), r.told()
    assert not any(e["state"] in ("running", "starting", "succeeded") for e in r.of("pod")), r.told()
    says = " ".join(e["message"] for e in r.of("wait"))
    assert "cpu" in says and ("4" in says), says


def too_small_says_why_to_people():
    r = run_text(gang("j"), *NODE, "--timeout", "3s")
    assert r.status != 0 and "cpu" in r.err, r.err


def two_gangs_take_turns():
    """Each needs 3 of 4 places. A scheduler without gangs gives two to each, for ever."""
    script = "echo began; sleep 0.3"
    r = run([gang("a", 3, script), gang("b", 3, script)], "--node", "cpu=4,memory=1Gi").done()
    for name in "ab":
        same((r.phase(name), sum(r.lines(f"{name}-w-{i}") == ["began"] for i in range(3))), ("Completed", 3))
    # Never both at a time.
    running, most = set(), 0
    for e in r.of("pod"):
        (running.add if e["state"] == "running" else running.discard)(e["pod"])
        most = max(most, len({p[0] for p in running}))
    same(most, 1)


def two_gangs_that_never_fit():
    r = run([gang("a"), gang("b")], *NODE, "--timeout", "2s")
    assert r.status != 0 and not r.of("log"), r.told()


def beyond_the_minimum_waits():
    """2 of 4 are enough; three have room, the fourth comes when one is done."""
    r = run(job("j", task("w", sh("echo began; sleep 0.3"), replicas=4, minimum=2, resources=ONE), minAvailable=2), *NODE).done()
    same(sum(r.lines(f"w-{i}") == ["began"] for i in range(4)), 4)


def priority_goes_first():
    classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": n}, "value": v}
               for n, v in (("low", 1), ("high", 100))]
    script = "sleep 0.2"
    r = run([*classes, gang("low", 3, script, priorityClassName="low"), gang("high", 3, script, priorityClassName="high")], *NODE)
    r.done()
    order = list(dict.fromkeys(e["job"] for e in r.of("pod") if e["state"] == "running"))
    same(order, ["high", "low"])


def queue_that_is_full():
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "small"},
             "spec": {"capability": {"cpu": "1"}}}
    r = run([queue, job("j", task("w", sh("sleep 0.2"), replicas=2, minimum=1, resources=ONE), minAvailable=1, queue="small")],
            *NODE).done()
    running = most = 0
    for e in r.of("pod"):
        running += (e["state"] == "running") - (e["state"] == "succeeded")
        most = max(most, running)
    same(most, 1)


def dependencies_in_order():
    probe = {"exec": {"command": ["/bin/false"]}}
    r = run(job("j", task("a", sh("sleep 0.3; echo a"), readinessProbe=probe), task("b", sh("echo b"), depends=["a"]),
                policies=[on("PodFailed", "AbortJob")])).done()
    same([e["text"] for e in r.of("log")], ["a", "b"])


def gpu_that_is_not_there():
    r = run(job("j", task("w", sh("true"), resources={"limits": {"nvidia.com/gpu": "100"}})), "--timeout", "3s")
    assert r.status != 0 and "nvidia.com/gpu" in " ".join(e["message"] for e in r.of("wait")), r.told()


def main():
    suite = Suite()
    for f in (too_small_starts_nothing, too_small_says_why_to_people, two_gangs_take_turns, two_gangs_that_never_fit,
              beyond_the_minimum_waits, priority_goes_first, queue_that_is_full, dependencies_in_order, gpu_that_is_not_there):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
