#!/usr/bin/env python3
"""`pumice server`: ResourceQuotas. Case 92 of the checklist, controllers as well as clients, scopes."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite  # noqa: E402
from server import config_map, job, server_or_skip, until  # noqa: E402
from server_checklist import MERGE, NAMESPACES, held_pod, refused  # noqa: E402


def space(s, name, hard, **spec):
    s.ok("POST", NAMESPACES, {"metadata": {"name": name}})
    at = f"{NAMESPACES}/{name}"
    s.ok("POST", f"{at}/resourcequotas", {"metadata": {"name": "small"}, "spec": {"hard": hard, **spec}})
    return at


def used(s, at):
    return s.ok("GET", f"{at}/resourcequotas/small").get("status", {}).get("used", {})


def asking(name, cpu):
    p = held_pod(name)
    for c in p["spec"]["containers"]:
        c["resources"] = {"requests": {"cpu": cpu}}
    return p


def number_92(s):
    at = space(s, "ninety-two", {"pods": "2", "requests.cpu": "1", "count/configmaps": "3"})
    until("counted", lambda: used(s, at) == {"pods": "0", "requests.cpu": "0", "count/configmaps": "1"})  # kube-root-ca.crt
    refused(s.call("POST", f"{at}/pods", held_pod("one")), 403, "failed quota: small: must specify requests.cpu for: main,side")
    s.ok("POST", f"{at}/pods", asking("one", "300m"))
    body = refused(s.call("POST", f"{at}/pods", asking("two", "300m")), 403)
    assert body["message"] == ('pods "two" is forbidden: exceeded quota: small, requested: requests.cpu=600m, used: requests.cpu=600m, '
                               'limited: requests.cpu=1'), body
    assert body["reason"] == "Forbidden" and body["details"] == {"name": "two", "kind": "pods"}, body
    refused(s.call("POST", f"{at}/pods?dryRun=All", asking("two", "300m")), 403)
    s.ok("POST", f"{at}/pods", asking("two", "100m"))
    refused(s.call("POST", f"{at}/pods", asking("three", "1m")), 403, "pods=1, used: pods=2, limited: pods=2")
    until("it is counted", lambda: used(s, at) == {"pods": "2", "requests.cpu": "800m", "count/configmaps": "1"})
    s.ok("POST", f"{at}/configmaps", config_map("a"))
    s.ok("POST", f"{at}/configmaps", config_map("b"))
    refused(s.call("POST", f"{at}/configmaps", config_map("c")), 403, "count/configmaps=1")
    s.ok("PATCH", f"{at}/pods/one/status", {"status": {"phase": "Failed"}}, type=MERGE)
    until("what has ended takes nothing", lambda: used(s, at)["requests.cpu"] == "200m")
    s.ok("DELETE", f"{at}/pods/two")
    until("what is gone is given back", lambda: used(s, at)["requests.cpu"] == "0")
    s.ok("PATCH", f"{at}/resourcequotas/small", {"spec": {"hard": {"requests.cpu": "2"}}}, type=MERGE)
    s.ok("POST", f"{at}/pods", asking("three", "900m"))
    status = until("more is allowed", lambda: (q := s.ok("GET", f"{at}/resourcequotas/small"))["status"]["hard"]["requests.cpu"] == "2" and q["status"])
    assert status["hard"]["count/configmaps"] == "3", status
    s.ok("DELETE", at)


def controllers_are_held_too(s):
    at = space(s, "held", {"count/pods": "1"})
    jobs = "/apis/batch.volcano.sh/v1alpha1/namespaces/held/jobs"
    j = job("wide", "sleep 1000", 2)
    j["spec"]["minAvailable"] = 1
    s.ok("POST", jobs, j)
    until("one pod is made, the other is refused", lambda: used(s, at) == {"count/pods": "1"})
    events = until("it is told", lambda: [e for e in s.ok("GET", f"{at}/events")["items"] if "exceeded quota" in e.get("message", "")])
    assert "small" in events[0]["message"] and len(s.ok("GET", f"{at}/pods")["items"]) == 1, events
    s.ok("DELETE", f"{jobs}/wide")
    until("gone", lambda: used(s, at) == {"count/pods": "0"})
    s.ok("DELETE", at)


def scopes(s):
    at = space(s, "scoped", {"pods": "0"}, scopes=["BestEffort"])
    refused(s.call("POST", f"{at}/pods", held_pod("best")), 403, "exceeded quota: small")
    s.ok("POST", f"{at}/pods", asking("burst", "1m"))
    assert used(s, at).get("pods", "0") == "0"
    s.ok("DELETE", at)
    at = space(s, "classes", {"pods": "0"}, scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}]})
    p = held_pod("high")
    s.ok("POST", f"{at}/pods", p)
    p["metadata"]["name"] = "critical"
    p["spec"]["priorityClassName"] = "system-node-critical"
    refused(s.call("POST", f"{at}/pods", p), 403, "exceeded quota: small")
    s.ok("DELETE", at)


def main():
    suite = Suite()
    s = server_or_skip()
    try:
        for case in (number_92, controllers_are_held_too, scopes):
            suite.case(case.__name__, lambda: case(s))
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
