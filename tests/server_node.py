#!/usr/bin/env python3
"""What the node of `pumice server` does for pods, and what the server does for nodes, as a kubelet and Kubernetes' controllers do.

Each case asserts what Kubernetes' own suites assert of it (test/e2e of Kubernetes 1.36).
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite, has, same, until  # noqa: E402
from server import PODS, Server, pod, server_or_skip  # noqa: E402

NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
cases = []


def case(function):
    cases.append(function)
    return function


def is_gone(s, path):
    return s.call("GET", path)[0] == 404


def status_of(s, name):
    return s.ok("GET", f"{PODS}/{name}")["status"]


def running(s, *names):
    for name in names:
        until(f"{name} runs", lambda: status_of(s, name)["phase"] == "Running")


def ended_log(s, name):
    until(f"{name} has ended", lambda: status_of(s, name)["phase"] in ("Succeeded", "Failed"))
    return s.call("GET", f"{PODS}/{name}/log")[1]


def delete(s, *names):
    for name in names:
        s.call("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    for name in names:
        until(f"{name} is gone", lambda: is_gone(s, f"{PODS}/{name}"))


def events(s, name, reason):
    """Messages of Events about an object."""
    return [e["message"] for e in s.ok("GET", "/api/v1/namespaces/default/events")["items"]
            if e["involvedObject"].get("name") == name and e["reason"] == reason]


def told(s, name, reason, *words):
    found = until(f"{name} has an Event {reason}", lambda: events(s, name, reason))
    has(found[0], *words)
    return found


def the_node(s):
    return s.ok("GET", NODES)["items"][0]


# ---- generation ----

def observed(s, name):
    """The pod's generation, what its status has observed, and each of its conditions."""
    now = s.ok("GET", f"{PODS}/{name}")
    return (now["metadata"]["generation"], now["status"].get("observedGeneration"),
            {c.get("observedGeneration") for c in now["status"]["conditions"]})


@case
def status_observes_the_generation(s):
    """Pod Generation: starts at 1, increments per update of the spec, and status and conditions follow."""
    p = pod("generation", "trap '' TERM; while true; do sleep 1; done")
    p["metadata"]["generation"] = 100
    p["spec"]["terminationGracePeriodSeconds"] = 5
    s.ok("POST", PODS, p)
    running(s, "generation")
    until("all of it has observed the first", lambda: observed(s, "generation") == (1, 1, {1}))
    tolerations = s.ok("GET", f"{PODS}/generation")["spec"]["tolerations"]
    changes = ({"activeDeadlineSeconds": 10000}, {"activeDeadlineSeconds": 9000},
               {"tolerations": [*tolerations, {"key": "more", "operator": "Exists"}]})
    for n, change in enumerate(changes, 2):
        s.ok("PATCH", f"{PODS}/generation", {"spec": change}, type=MERGE)
        until(f"all of it has observed {n}", lambda: observed(s, "generation") == (n, n, {n}))
    s.ok("PATCH", f"{PODS}/generation", {"metadata": {"annotations": {"key": "value"}, "generation": 1}}, type=MERGE)
    same(observed(s, "generation"), (4, 4, {4}))
    s.ok("DELETE", f"{PODS}/generation")
    until("a graceful delete is one more", lambda: observed(s, "generation") == (5, 5, {5}))
    delete(s, "generation")


@case
def conditions_of_pods_that_wait_observe_it(s):
    waits, gated = pod("waits", "true"), pod("gated", "true")
    waits["spec"]["nodeSelector"] = {"no": "node"}
    gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    for p, reason in ((waits, "Unschedulable"), (gated, "SchedulingGated")):
        name = p["metadata"]["name"]
        s.ok("POST", PODS, p)
        found = until(f"{name} says why", lambda: [c for c in status_of(s, name).get("conditions", []) if c.get("reason") == reason])
        same(found[0]["observedGeneration"], 1)
    delete(s, "waits", "gated")


# ---- taints ----

@case
def no_execute_taints_evict(s):
    """NoExecuteTaintManager: at once, after tolerationSeconds, or never; a taint that goes keeps those that wait."""
    def made(name, **toleration):
        p = pod(name, "sleep 1000", **({"finalizers": ["example.com/hold"]} if name == "intolerant" else {}))
        p["spec"]["tolerations"] = [{"key": "evict", "operator": "Equal", "value": "now", "effect": "NoExecute", **toleration}] if toleration else []
        s.ok("POST", PODS, p)
    node = the_node(s)["metadata"]["name"]
    made("intolerant")
    made("for-two-seconds", tolerationSeconds=2)
    made("for-long", tolerationSeconds=300)
    made("for-ever", value="now")
    names = ("intolerant", "for-two-seconds", "for-long", "for-ever")
    running(s, *names)
    began = time.monotonic()
    s.ok("PATCH", f"{NODES}/{node}", {"spec": {"taints": [{"key": "evict", "value": "now", "effect": "NoExecute"}]}}, type=MERGE)
    until("one is being deleted", lambda: "deletionTimestamp" in s.ok("GET", f"{PODS}/intolerant")["metadata"])
    target = [c for c in status_of(s, "intolerant")["conditions"] if c["type"] == "DisruptionTarget"][0]
    same((target["status"], target["reason"], target["message"]),
         ("True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"))
    same(told(s, "intolerant", "TaintManagerEviction"), ["Marking for deletion Pod default/intolerant"])
    same("deletionTimestamp" in s.ok("GET", f"{PODS}/for-two-seconds")["metadata"] and time.monotonic() - began < 2, False)
    until("the next is gone", lambda: is_gone(s, f"{PODS}/for-two-seconds"))
    assert time.monotonic() - began >= 2
    s.ok("PATCH", f"{NODES}/{node}", {"spec": {"taints": None}}, type=MERGE)
    told(s, "for-long", "TaintManagerEviction", "Cancelling deletion of Pod default/for-long")
    running(s, "for-long", "for-ever")
    same(events(s, "for-ever", "TaintManagerEviction"), [])
    s.ok("PATCH", f"{PODS}/intolerant", {"metadata": {"finalizers": None}}, type=MERGE)
    delete(s, *names)


def main():
    suite, only = Suite(), sys.argv[1:]
    s = server_or_skip(lambda: Server())
    for function in cases:
        if not only or function.__name__ in only:
            suite.case(function.__name__, lambda: function(s))
    s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
