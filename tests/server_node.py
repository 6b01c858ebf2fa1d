#!/usr/bin/env python3
"""What the node of `pumice server` does for pods, and what the server does for nodes, as a kubelet and Kubernetes' controllers do.

Each case asserts what Kubernetes' own suites assert of it (test/e2e of Kubernetes 1.36).
"""
import os
import socket
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


# ---- addresses and ports ----

@case
def addresses_are_of_the_host(s):
    addresses = {a["type"]: a["address"] for a in the_node(s)["status"]["addresses"]}
    with socket.socket() as own:
        own.bind((addresses["InternalIP"], 0))  # or it is not of this machine
    s.ok("POST", PODS, pod("addressed", "sleep 1000"))
    running(s, "addressed")
    status = status_of(s, "addressed")
    same((status["hostIP"], status["hostIPs"]), (addresses["InternalIP"], [{"ip": addresses["InternalIP"]}]))
    assert status["podIP"] != status["hostIP"], status
    delete(s, "addressed")


SERVES = """import os, socket, threading
def datagrams():
    u = socket.socket(type=socket.SOCK_DGRAM)
    u.bind(("", 8080))
    while True:
        u.sendto(os.environ["NAME"].encode(), u.recvfrom(100)[1])
threading.Thread(target=datagrams, daemon=True).start()
t = socket.create_server(("", 8080))
while True:
    c = t.accept()[0]
    c.sendall(os.environ["NAME"].encode())
    c.close()
"""


def serving(name, port, **more):
    p = pod(name, "")
    p["spec"]["containers"][0].update(command=["python3", "-c", SERVES], env=[{"name": "NAME", "value": name}],
                                      ports=[{"containerPort": 8080, "hostPort": port, **more}])
    return p


def asked(address, port):
    """What answers; None: nothing listens."""
    try:
        with socket.create_connection((address, port), 5) as c:
            return c.recv(100).decode()
    except OSError:
        return None


def asked_by_datagram(address, port):
    with socket.socket(type=socket.SOCK_DGRAM) as c:
        c.settimeout(0.5)
        try:
            c.connect((address, port))
            c.send(b"?")
            return c.recv(100).decode()
        except OSError:
            return None


def free_port():
    """Below the ports that programs are given by the kernel."""
    for port in range(20000 + os.getpid() % 5000, 32000):
        with socket.socket() as t, socket.socket(type=socket.SOCK_DGRAM) as u:
            try:
                t.bind(("", port))
                u.bind(("", port))
                return port
            except OSError:
                continue
    raise AssertionError("no port is free")


@case
def host_ports_lead_to_pods(s):
    """HostPort: no conflict between pods with same hostPort but different hostIP and protocol; one with the same waits."""
    port = free_port()
    for name, more in (("port-a", {"hostIP": "127.0.0.1"}), ("port-b", {"hostIP": "127.0.0.2"}), ("port-c", {"hostIP": "127.0.0.2", "protocol": "UDP"})):
        s.ok("POST", PODS, serving(name, port, **more))
    running(s, "port-a", "port-b", "port-c")
    until("each is reached at its own", lambda: (asked("127.0.0.1", port), asked("127.0.0.2", port), asked_by_datagram("127.0.0.2", port)) ==
          ("port-a", "port-b", "port-c"))
    same(asked_by_datagram("127.0.0.1", port), None)
    s.ok("POST", PODS, serving("port-d", port, hostIP="127.0.0.1"))
    told(s, "port-d", "FailedScheduling", "didn't have free ports for the requested pod ports")
    same(status_of(s, "port-d")["phase"], "Pending")
    delete(s, "port-a")
    running(s, "port-d")
    until("the next has it", lambda: asked("127.0.0.1", port) == "port-d")
    delete(s, "port-b", "port-c", "port-d")
    until("all are closed", lambda: asked("127.0.0.1", port) is None and asked("127.0.0.2", port) is None)


@case
def host_ports_without_an_address_are_where_the_api_is(s):
    port = free_port()
    s.ok("POST", PODS, serving("port-any", port))
    running(s, "port-any")
    until("it is reached", lambda: asked("127.0.0.1", port) == "port-any")
    same(asked("127.0.0.2", port), None)  # --listen is 127.0.0.1
    delete(s, "port-any")


@case
def host_ports_that_cannot_be_open_are_told(s):
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        s.ok("POST", PODS, serving("port-taken", port, hostIP="127.0.0.1"))
        s.ok("POST", PODS, serving("port-elsewhere", port, hostIP="192.0.2.1"))
        s.ok("POST", PODS, serving("port-sctp", port, hostIP="127.0.0.3", protocol="SCTP"))
        told(s, "port-taken", "FailedHostPort", f"hostPort {port}/TCP is not open at 127.0.0.1: Address already in use")
        told(s, "port-elsewhere", "FailedHostPort", "Cannot assign requested address")
        told(s, "port-sctp", "FailedHostPort", f"hostPort {port}/SCTP is not open at 127.0.0.3: Protocol not supported")
    delete(s, "port-taken", "port-elsewhere", "port-sctp")


# ---- probes ----

REDIRECTS = """import http.server
class Redirect(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'<a href="http://0.0.0.0/">Found</a>.\\n'
        self.send_response(302)
        self.send_header("Location", "http://0.0.0.0/" if self.path == "/away" else "/away")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("", 8080), Redirect).serve_forever()
"""


@case
def probes_warn_of_redirects_elsewhere(s):
    """Probing container should *not* be restarted with a non-local redirect http liveness probe."""
    p = pod("redirects", "")
    p["spec"]["restartPolicy"] = "Always"
    p["spec"]["containers"][0].update(command=["python3", "-c", REDIRECTS], livenessProbe={
        "httpGet": {"path": "/near", "port": 8080}, "initialDelaySeconds": 1, "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 5})
    s.ok("POST", PODS, p)
    told(s, "redirects", "ProbeWarning", 'Liveness probe warning: Probe terminated redirects, Response body: <a href="http://0.0.0.0/">Found</a>.')
    same((events(s, "redirects", "Unhealthy"), status_of(s, "redirects")["containerStatuses"][0]["restartCount"]), ([], 0))
    delete(s, "redirects")


# ---- volumes ----

@case
def sub_paths_have_the_mode_of_their_volume(s):
    """EmptyDir volumes, nonexistent volume subPath should have the correct mode: that of a tmpfs has the sticky bit."""
    for name, volume, mode in (("sub-memory", {"medium": "Memory"}, "1777"), ("sub-disk", {}, "777")):
        p = pod(name, "stat -c %a /whole /part /whole/new /whole/new/sub")
        p["spec"]["volumes"] = [{"name": "v", "emptyDir": volume}]
        p["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/whole"}, {"name": "v", "mountPath": "/part", "subPath": "new/sub"}]
        s.ok("POST", PODS, p)
        same((name, ended_log(s, name).split()), (name, [mode] * 4))
        delete(s, name)


# ---- RuntimeClass ----

RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"


def of_class(name, **spec):
    p = pod(name, "sleep 1000")
    p["spec"].update(runtimeClassName=spec.pop("runtime", name), **spec)
    return p


def refused(answer, code, *words):
    status, body = answer
    assert status == code, (status, body)
    has(body["message"], *words)


@case
def runtime_classes_are_kept(s):
    """RuntimeClass should support RuntimeClasses API operations."""
    group = [g for g in s.ok("GET", "/apis")["groups"] if g["name"] == "node.k8s.io"][0]
    same([v["version"] for v in group["versions"]], ["v1"])
    same([(r["name"], r["kind"], r["namespaced"]) for r in s.ok("GET", "/apis/node.k8s.io/v1")["resources"]], [("runtimeclasses", "RuntimeClass", False)])
    for name in ("kept-a", "kept-b"):
        made = s.ok("POST", RUNTIMES, {"metadata": {"name": name, "labels": {"set": "kept"}}, "handler": "some"})
        same(("generation" in made["metadata"], made["handler"]), (False, "some"))
    s.ok("PATCH", f"{RUNTIMES}/kept-a", {"metadata": {"labels": {"patched": "true"}}}, type="application/strategic-merge-patch+json")
    same(s.ok("GET", f"{RUNTIMES}/kept-a")["metadata"]["labels"], {"set": "kept", "patched": "true"})
    refused(s.call("PATCH", f"{RUNTIMES}/kept-a", {"handler": "other"}, type=MERGE), 422, "handler", "field is immutable")
    refused(s.call("POST", RUNTIMES, {"metadata": {"name": "none"}}), 422, "handler")
    refused(s.call("POST", RUNTIMES, {"metadata": {"name": "none"}, "handler": "A_b"}), 422, "handler")
    table = s.ok("GET", RUNTIMES, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    same([c["name"] for c in table["columnDefinitions"]], ["Name", "Handler", "Age"])
    s.ok("DELETE", f"{RUNTIMES}?labelSelector=set%3Dkept")
    same(s.ok("GET", RUNTIMES)["items"], [])


@case
def runtime_classes_give_pods_their_overhead(s):
    """RuntimeClass should schedule a Pod requesting a RuntimeClass and initialize its Overhead, reject one that is not there."""
    tolerations = [{"key": "fast", "operator": "Exists", "effect": "NoSchedule"}]
    s.ok("POST", RUNTIMES, {"metadata": {"name": "own"}, "handler": "pumice", "overhead": {"podFixed": {"cpu": "0.01", "memory": "1Mi"}},
                            "scheduling": {"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": tolerations}})
    made = s.ok("POST", PODS, of_class("own"))["spec"]
    same((made["overhead"], made["nodeSelector"]), ({"cpu": "10m", "memory": "1Mi"}, {"kubernetes.io/os": "linux"}))
    assert tolerations[0] in made["tolerations"], made
    running(s, "own")
    refused(s.call("POST", PODS, of_class("unknown")), 403, 'pods "unknown" is forbidden: pod rejected: RuntimeClass "unknown" not found')
    refused(s.call("POST", PODS, of_class("more", runtime="own", overhead={"cpu": "1"})), 403,
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    refused(s.call("POST", PODS, of_class("elsewhere", runtime="own", nodeSelector={"kubernetes.io/os": "plan9"})), 403,
            "conflict: runtimeClass.scheduling.nodeSelector[kubernetes.io/os] = linux; pod.spec.nodeSelector[kubernetes.io/os] = plan9")
    p = pod("overhead", "true")
    p["spec"]["overhead"] = {"cpu": "1"}
    refused(s.call("POST", PODS, p), 403, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    s.ok("DELETE", f"{RUNTIMES}/own")
    refused(s.call("POST", PODS, of_class("late", runtime="own")), 403, 'RuntimeClass "own" not found')
    delete(s, "own")


@case
def runtime_classes_of_other_handlers_wait(s):
    """A pod is scheduled without PodOverhead; what its node cannot run is told and tried again."""
    s.ok("POST", RUNTIMES, {"metadata": {"name": "foreign"}, "handler": "kata"})
    same("overhead" in s.ok("POST", PODS, of_class("foreign"))["spec"], False)
    told(s, "foreign", "FailedCreatePodSandBox", 'no runtime for "kata" is configured')
    same({c["type"]: c["status"] for c in status_of(s, "foreign")["conditions"]}["PodScheduled"], "True")
    delete(s, "foreign")
    s.ok("DELETE", f"{RUNTIMES}/foreign")


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
