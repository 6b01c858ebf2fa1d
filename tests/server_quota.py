#!/usr/bin/env python3
"""`pumice server`: ResourceQuotas and LimitRanges, for clients and controllers, with scopes."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite  # noqa: E402
from server import Server, config_map, job, server_or_skip, until  # noqa: E402
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


def creates_are_counted(s):
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


def larger(s):
    """What is changed takes more, or comes into a scope: it is counted as if it were new, less what it was."""
    at = space(s, "larger", {"requests.storage": "10Gi", "services.nodeports": "1"})
    claim = {"metadata": {"name": "disk"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "6Gi"}}}}
    s.ok("POST", f"{at}/persistentvolumeclaims", claim)
    more = {"spec": {"resources": {"requests": {"storage": "11Gi"}}}}
    for dry in ("?dryRun=All", ""):
        refused(s.call("PATCH", f"{at}/persistentvolumeclaims/disk{dry}", more, type=MERGE), 403,
                'is forbidden: exceeded quota: small, requested: requests.storage=5Gi, used: requests.storage=6Gi, limited: requests.storage=10Gi')
    s.ok("PATCH", f"{at}/persistentvolumeclaims/disk", {"spec": {"resources": {"requests": {"storage": "10Gi"}}}}, type=MERGE)
    s.ok("PATCH", f"{at}/persistentvolumeclaims/disk", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)
    until("it is counted", lambda: used(s, at).get("requests.storage") == "10Gi")
    s.ok("POST", f"{at}/services", {"metadata": {"name": "front"}, "spec": {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}})
    refused(s.call("PATCH", f"{at}/services/front", {"spec": {"type": "NodePort"}}, type=MERGE), 403, "services.nodeports=2, used: services.nodeports=0")
    s.ok("DELETE", f"{at}/persistentvolumeclaims/disk")
    until("it is given back", lambda: used(s, at) == {"requests.storage": "0", "services.nodeports": "0"})
    s.ok("DELETE", at)
    at = space(s, "brief", {"pods": "0"}, scopes=["Terminating"])
    s.ok("POST", f"{at}/pods", held_pod("long"))
    refused(s.call("PATCH", f"{at}/pods/long", {"spec": {"activeDeadlineSeconds": 5}}, type=MERGE), 403, "exceeded quota: small")
    s.ok("PATCH", f"{at}/pods/long", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)
    for spec, words in (({"scopes": ["Odd"]}, "unsupported scope"), ({"hard": {"pods": "-1"}}, "greater than or equal to 0"),
                        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}}, "must be at least one value")):
        refused(s.call("POST", f"{at}/resourcequotas", {"metadata": {"name": "odd"}, "spec": spec}), 422, words)
    refused(s.call("PATCH", f"{at}/resourcequotas/small", {"spec": {"scopes": ["NotTerminating"]}}, type=MERGE), 422, "immutable")
    s.ok("DELETE", at)
    at = space(s, "across", {"pods": "0"}, scopes=["CrossNamespacePodAffinity"])
    p = held_pod("near")
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    p["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    s.ok("POST", f"{at}/pods", p)
    p["metadata"]["name"], term["namespaces"] = "far", ["default"]
    refused(s.call("POST", f"{at}/pods", p), 403, "exceeded quota: small")
    s.ok("DELETE", at)


# ---- LimitRanges ----

def limited(s, name, *limits):
    s.ok("POST", NAMESPACES, {"metadata": {"name": name}})
    at = f"{NAMESPACES}/{name}"
    return at, s.ok("POST", f"{at}/limitranges", {"metadata": {"name": "range"}, "spec": {"limits": limits}})


def resources(name, requests=None, limits=None):
    p = held_pod(name)
    p["spec"]["containers"] = p["spec"]["containers"][:1]
    p["spec"]["containers"][0]["resources"] = {**({"requests": requests} if requests else {}), **({"limits": limits} if limits else {})}
    return p


def limits_complete(s):
    at, made = limited(s, "completed", {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "8Mi"}, "default": {"memory": "64Mi"}, "defaultRequest": {"cpu": "100m"}})
    item = made["spec"]["limits"][0]
    assert item["default"] == {"memory": "64Mi", "cpu": "2"} and item["defaultRequest"] == {"cpu": "100m", "memory": "64Mi"}, item
    got = s.ok("POST", f"{at}/pods", held_pod("plain"))
    for c in got["spec"]["containers"]:
        assert c["resources"] == {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "2", "memory": "64Mi"}}, c
    assert got["status"]["qosClass"] == "Burstable"
    note = got["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
    assert note.startswith("LimitRanger plugin set: cpu, memory request for container main; ") and "limit for container side" in note, note
    own = s.ok("POST", f"{at}/pods", resources("own", {"cpu": "1"}, {"memory": "32Mi"}))["spec"]["containers"][0]["resources"]
    assert own == {"requests": {"cpu": "1", "memory": "32Mi"}, "limits": {"memory": "32Mi", "cpu": "2"}}, own
    s.ok("POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/completed/jobs", job("made", "sleep 1000"))
    pods = until("controllers' pods are completed too", lambda: s.ok("GET", f"{at}/pods?labelSelector=volcano.sh%2Fjob-name%3Dmade")["items"])
    assert pods[0]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2", "memory": "64Mi"}, pods
    s.ok("DELETE", f"{at}/limitranges/range")
    assert not s.ok("POST", f"{at}/pods", held_pod("later"))["spec"]["containers"][0].get("resources"), "it is as if it had never been"
    s.ok("DELETE", at)


def limits_hold(s):
    at, _ = limited(s, "bound", {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1", "memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "2"}},
                    {"type": "Pod", "max": {"memory": "1536Mi"}}, {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}})
    def says(pod, *sentences):
        body = refused(s.call("POST", f"{at}/pods", pod), 403)
        text = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
        assert body["message"] == f'pods "{pod["metadata"]["name"]}" is forbidden: {text}', body["message"]
    says(resources("small", {"cpu": "50m"}, {"cpu": "100m"}), "minimum cpu usage per Container is 100m, but request is 50m")
    says(resources("large", {"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"}), "maximum cpu usage per Container is 1, but limit is 2",
         "maximum memory usage per Container is 1Gi, but limit is 2Gi", "maximum memory usage per Pod is 1536Mi, but limit is 2Gi")
    says(resources("steep", {"cpu": "200m"}, {"cpu": "1"}), "cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000")
    two = held_pod("together")
    for c in two["spec"]["containers"]:
        c["resources"] = {"limits": {"memory": "1Gi"}}
    says(two, "maximum memory usage per Pod is 1536Mi, but limit is 2Gi")
    s.ok("POST", f"{at}/pods", resources("fine", {"cpu": "500m"}, {"cpu": "1", "memory": "1Gi"}))
    s.ok("PATCH", f"{at}/limitranges/range", {"spec": {"limits": [{"type": "Pod", "max": {"memory": "1Mi"}}]}}, type=MERGE)
    s.ok("PATCH", f"{at}/pods/fine", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)  # what is there stays
    says(resources("none"), "maximum memory usage per Pod is 1Mi.  No limit is specified")
    s.ok("POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/bound/jobs", job("held", "sleep 1000"))
    until("controllers are held too", lambda: any("maximum memory usage per Pod" in e.get("message", "") for e in s.ok("GET", f"{at}/events")["items"]))
    claim = {"metadata": {"name": "disk"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}}
    s.ok("PATCH", f"{at}/limitranges/range", {"spec": {"limits": [{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}]}}, type=MERGE)
    s.ok("POST", f"{at}/persistentvolumeclaims", claim)
    refused(s.call("PATCH", f"{at}/persistentvolumeclaims/disk", {"spec": {"resources": {"requests": {"storage": "6Gi"}}}}, type=MERGE), 403,
            'is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi')
    claim["metadata"]["name"], claim["spec"]["resources"]["requests"]["storage"] = "tiny", "1Mi"
    refused(s.call("POST", f"{at}/persistentvolumeclaims", claim), 403, "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi")
    for item, words in (({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, "min value 2 is greater than max value 1"), ({"type": "Pod", "default": {"cpu": "1"}}, "may not be specified"),
                        ({"type": "PersistentVolumeClaim"}, "either minimum or maximum storage value is required"), ({"type": "Odd"}, "Odd"),
                        ({"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}, "ratio 500m is less than 1")):
        refused(s.call("POST", f"{at}/limitranges", {"metadata": {"name": "odd"}, "spec": {"limits": [item]}}), 422, words)
    s.ok("DELETE", at)


def is_counted_after_a_crash(s):
    """What went while nobody could count it, and what was there before: the next server counts anew."""
    at = space(s, "crash", {"count/configmaps": "3"})
    until("it has what it is given", lambda: used(s, at) == {"count/configmaps": "1"})
    s.ok("POST", f"{at}/configmaps", config_map("a"))
    s.process.kill()  # the quota has not been told of it, or it has
    s.process.wait()
    again = Server(data=s.data)
    try:
        until("all are counted", lambda: used(again, at) == {"count/configmaps": "2"})
        again.ok("POST", f"{at}/configmaps", config_map("b"))
        refused(again.call("POST", f"{at}/configmaps", config_map("c")), 403, "used: count/configmaps=3")
        again.ok("DELETE", f"{at}/configmaps/a")
        until("and what went", lambda: used(again, at) == {"count/configmaps": "2"})
    finally:
        again.stop()


def main():
    suite = Suite()
    s = server_or_skip()
    try:
        for case in (creates_are_counted, controllers_are_held_too, scopes, larger, limits_complete, limits_hold, is_counted_after_a_crash):
            suite.case(case.__name__, lambda: case(s))
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
