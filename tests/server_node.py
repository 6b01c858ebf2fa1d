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
from server import PODS, Server, named, pid_of, pod, server_or_skip  # noqa: E402

NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
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
    s.ok("PATCH", f"{RUNTIMES}/kept-a", {"metadata": {"labels": {"patched": "true"}}}, type=STRATEGIC)
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


# ---- resize ----

def amounts(cpu, memory, **limits):
    """Guaranteed, or with other limits."""
    requests = {"cpu": cpu, "memory": memory}
    return {"requests": requests, "limits": limits or requests}


def sized(name, *resources, policy=(), restart="Always"):
    """A pod with a container for each: main, c1, c2."""
    p = named(name, "sleep 1000")
    main = p["spec"]["containers"][0]
    p["spec"]["restartPolicy"] = restart
    p["spec"]["containers"] = [{**main, "name": f"c{i}" if i else "main", "resources": r,
                                "resizePolicy": [{"resourceName": n, "restartPolicy": "RestartContainer"} for n in policy],
                                "env": [{"name": "WHO", "value": f"{name}-{i}-{os.getpid()}"}]} for i, r in enumerate(resources)]
    return p


def resize(s, name, *resources):
    """Of its containers, in their order."""
    wish = [{"name": f"c{i}" if i else "main", "resources": r} for i, r in enumerate(resources)]
    return s.call("PATCH", f"{PODS}/{name}/resize", {"spec": {"containers": wish}}, type=STRATEGIC)


def has_amounts(s, name, *resources, restarts=0):
    """The status says so, and nothing is under way any more."""
    status = status_of(s, name)
    return ([(c.get("resources"), c.get("allocatedResources"), c["restartCount"]) for c in status["containerStatuses"]] ==
            [(r, r["requests"], restarts) for r in resources] and status["observedGeneration"] == s.ok("GET", f"{PODS}/{name}")["metadata"]["generation"] and
            not [c for c in status["conditions"] if "Resize" in c["type"]])


def condition(s, name, type):
    return next((c for c in status_of(s, name)["conditions"] if c["type"] == type), None)


def kernel_limits(name):
    """CPU in thousandths and bytes of memory that the kernel limits a container to."""
    pid = pid_of(name)
    with open(f"/proc/{pid}/cgroup") as f:
        paths = {c: path for _, names, path in (line.strip().split(":", 2) for line in f) for c in names.split(",")}

    def read(controller, *files):
        for file in files:
            path = f"/sys/fs/cgroup/{controller}{paths[controller]}/{file}" if controller in paths else f"/sys/fs/cgroup{paths['']}/{file}"
            if os.path.exists(path):
                with open(path) as f:
                    return f.read().split()[0]
        return None
    quota = read("cpu", "cpu.max", "cpu.cfs_quota_us")
    memory = read("memory", "memory.max", "memory.limit_in_bytes")
    return quota and int(quota) // 100, memory and int(memory)


def limits_are(s, name, cpu, mebibytes):
    """Where the machine can limit anything."""
    return condition_of_node(s, "LimitsMissing") or kernel_limits(name) == (cpu, mebibytes << 20)


def condition_of_node(s, type):
    return next((c for c in the_node(s)["status"]["conditions"] if c["type"] == type), None)


@case
def resize_sets_limits_of_what_runs(s):
    """Pod InPlace Resize Container: more and less for one and for several containers, without a restart."""
    small, large, middle = amounts("100m", "64Mi"), amounts("300m", "128Mi"), amounts("200m", "96Mi")
    s.ok("POST", PODS, sized("sized-one", small))
    s.ok("POST", PODS, sized("sized-three", small, large, middle))
    running(s, "sized-one", "sized-three")
    until("they say what they have", lambda: has_amounts(s, "sized-one", small) and has_amounts(s, "sized-three", small, large, middle))
    pids = {n: pid_of(n) for n in ("sized-one-0", "sized-three-0", "sized-three-1", "sized-three-2")}
    same(resize(s, "sized-one", large)[0], 200)
    same(resize(s, "sized-three", large, middle, small)[0], 200)
    until("they have what they wish", lambda: has_amounts(s, "sized-one", large) and has_amounts(s, "sized-three", large, middle, small))
    assert limits_are(s, "sized-one-0", 300, 128) and limits_are(s, "sized-three-0", 300, 128), (kernel_limits("sized-one-0"), kernel_limits("sized-three-0"))
    assert limits_are(s, "sized-three-1", 200, 96) and limits_are(s, "sized-three-2", 100, 64), kernel_limits("sized-three-2")
    told(s, "sized-one", "ResizeStarted", 'Pod resize started: {"containers":[{"name":"main","resources":')
    told(s, "sized-one", "ResizeCompleted", '"generation":2}')
    whole = s.ok("GET", f"{PODS}/sized-one/resize")
    whole["spec"]["containers"][0]["resources"] = small
    whole["metadata"]["labels"] = {"not": "kept"}
    same("labels" in s.ok("PUT", f"{PODS}/sized-one/resize", whole)["metadata"], False)
    until("by PUT too", lambda: has_amounts(s, "sized-one", small))
    assert limits_are(s, "sized-one-0", 100, 64), kernel_limits("sized-one-0")
    same({n: pid_of(n) for n in pids}, pids)
    delete(s, "sized-one", "sized-three")


@case
def containers_see_their_limits(s):
    """Where programs look for them: /sys/fs/cgroup is their own group, of cgroup v2 or v1, and read-only."""
    p = pod("sees", "cd /sys/fs/cgroup; cat memory.max memory/memory.limit_in_bytes 2>/dev/null; cut -d' ' -f1 cpu.max 2>/dev/null || cat cpu/cpu.cfs_quota_us; touch x 2>/dev/null && echo written")
    p["spec"]["containers"][0]["resources"] = amounts("100m", "64Mi")
    s.ok("POST", PODS, p)
    seen = ended_log(s, "sees").split()
    assert condition_of_node(s, "LimitsMissing") or seen == ["67108864", "10000"], seen
    delete(s, "sees")


@case
def resize_restarts_where_the_policy_says_so(s):
    small, large = amounts("100m", "64Mi"), amounts("100m", "128Mi")
    s.ok("POST", PODS, sized("sized-again", small, policy=("memory",)))
    running(s, "sized-again")
    same(resize(s, "sized-again", amounts("200m", "64Mi"))[0], 200)
    until("CPU needs none", lambda: has_amounts(s, "sized-again", amounts("200m", "64Mi")))
    same(resize(s, "sized-again", large)[0], 200)
    until("memory needs one", lambda: has_amounts(s, "sized-again", large, restarts=1))
    until("with the new limits", lambda: limits_are(s, "sized-again-0", 100, 128))
    told(s, "sized-again", "Killing", "Container main resize requires restart")
    delete(s, "sized-again")


@case
def resize_waits_for_room(s):
    """Deferred: until another pod has gone, or the wish is another one; the scheduler counts what is wished."""
    small, large = amounts("1", "64Mi"), amounts("6", "64Mi")
    s.ok("POST", PODS, sized("sized-first", amounts("4", "64Mi")))
    s.ok("POST", PODS, sized("sized-late", small))
    running(s, "sized-first", "sized-late")
    same(resize(s, "sized-late", large)[0], 200)
    pending = until("it waits", lambda: condition(s, "sized-late", "PodResizePending"))
    same((pending["status"], pending["reason"], pending["observedGeneration"]), ("True", "Deferred", 2))
    has(pending["message"], "Node didn't have enough resource: cpu, requested: 6000, used: 4000, capacity: 8000")
    told(s, "sized-late", "ResizeDeferred", "Pod resize Deferred: {", "Node didn't have enough resource: cpu")
    same([c["resources"] for c in status_of(s, "sized-late")["containerStatuses"]], [small])
    assert limits_are(s, "sized-late-0", 1000, 64), kernel_limits("sized-late-0")
    delete(s, "sized-first")
    until("there is room", lambda: has_amounts(s, "sized-late", large))
    assert limits_are(s, "sized-late-0", 6000, 64), kernel_limits("sized-late-0")
    s.ok("POST", PODS, sized("sized-next", amounts("3", "64Mi")))
    told(s, "sized-next", "FailedScheduling", "Insufficient cpu")
    same(resize(s, "sized-late", small)[0], 200)
    running(s, "sized-next")
    delete(s, "sized-late", "sized-next")


@case
def resize_keeps_the_memory_that_is_in_use(s):
    """A limit below what is in use would kill the container: it waits until that is less."""
    p = sized("sized-full", amounts("100m", "128Mi"))
    p["spec"]["containers"][0]["command"] = ["python3", "-c", "import time; x = bytearray(b'x') * (64 << 20); print('full', flush=True); time.sleep(1000)"]
    s.ok("POST", PODS, p)
    until("it uses much", lambda: "full" in s.call("GET", f"{PODS}/sized-full/log")[1])
    same(resize(s, "sized-full", amounts("100m", "32Mi"))[0], 200)
    if not condition_of_node(s, "LimitsMissing"):
        found = until("it says so", lambda: condition(s, "sized-full", "PodResizeInProgress"))
        same(found["reason"], "Error")
        has(found["message"], 'attempting to set container "main" memory limit (33554432) below current usage (')
        told(s, "sized-full", "ResizeError", "Pod resize error: {")
    same(resize(s, "sized-full", amounts("100m", "160Mi"))[0], 200)
    until("it has more", lambda: has_amounts(s, "sized-full", amounts("100m", "160Mi")))
    delete(s, "sized-full")


@case
def resize_outlives_the_server(s):
    """What a pod has is known to the next server, also while it waits for more."""
    small, large, huge = amounts("100m", "64Mi"), amounts("200m", "96Mi"), amounts("100", "96Mi")
    s.ok("POST", PODS, sized("sized-kept", small))
    running(s, "sized-kept")
    same(resize(s, "sized-kept", large)[0], 200)
    until("it has more", lambda: has_amounts(s, "sized-kept", large))
    same(resize(s, "sized-kept", huge)[0], 200)
    until("it waits for more", lambda: condition(s, "sized-kept", "PodResizePending"))
    pid = pid_of("sized-kept-0")
    s.restart()
    until("it still waits", lambda: condition(s, "sized-kept", "PodResizePending"))
    same(([c["resources"] for c in status_of(s, "sized-kept")["containerStatuses"]], pid_of("sized-kept-0")), ([large], pid))
    same(resize(s, "sized-kept", small)[0], 200)
    until("it has less", lambda: has_amounts(s, "sized-kept", small))
    assert limits_are(s, "sized-kept-0", 100, 64), kernel_limits("sized-kept-0")
    delete(s, "sized-kept")


@case
def resize_changes_amounts_alone(s):
    """ValidatePodResize."""
    both = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m"}}
    s.ok("POST", PODS, sized("sized-strict", both))
    s.ok("POST", PODS, sized("sized-bare", {}))
    running(s, "sized-strict")
    for change, words in ((amounts("200m", "64Mi"), "Pod QOS Class may not change as a result of resizing"),
                          ({"requests": {"memory": None}}, "resource requests cannot be removed"),
                          ({"limits": {"cpu": None}}, "resource limits cannot be removed"),
                          ({"limits": {"example.com/x": "1"}, "requests": {"example.com/x": "1"}}, "only cpu and memory resources are mutable"),
                          ({"requests": {"cpu": "400m"}}, "must be less than or equal to the cpu limit of 200m")):
        refused(resize(s, "sized-strict", change), 422, words)
    refused(s.call("PATCH", f"{PODS}/sized-strict/resize", {"spec": {"resources": amounts("1", "1Gi")}}, type=STRATEGIC), 422, "pod-level resources")
    refused(resize(s, "sized-bare", amounts("1", "1Gi")), 422, "Pod QOS Class may not change")
    refused(s.call("PATCH", f"{PODS}/sized-strict/resize", {"spec": {"containers": [{"name": "more", "image": "x"}]}}, type=STRATEGIC), 422,
            "containers may not be added or removed on resize")
    refused(s.call("PATCH", f"{PODS}/sized-strict", {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "300m"}}}]}}, type=STRATEGIC), 422,
            "pod updates may not change fields other than")
    same(status_of(s, "sized-strict")["observedGeneration"], 1)
    delete(s, "sized-strict", "sized-bare")
    at = "/api/v1/namespaces/sized"
    s.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "sized"}})
    s.ok("POST", f"{at}/resourcequotas", {"metadata": {"name": "small"}, "spec": {"hard": {"requests.cpu": "200m"}}})
    s.ok("POST", f"{at}/limitranges", {"metadata": {"name": "small"}, "spec": {"limits": [{"type": "Container", "max": {"memory": "64Mi"}}]}})
    s.ok("POST", f"{at}/pods", sized("counted", amounts("100m", "32Mi")))
    for wish, words in ((amounts("300m", "32Mi"), "exceeded quota: small"), (amounts("100m", "96Mi"), "maximum memory usage per Container is 64Mi")):
        refused(s.call("PATCH", f"{at}/pods/counted/resize", {"spec": {"containers": [{"name": "main", "resources": wish}]}}, type=STRATEGIC), 403, words)
    s.ok("DELETE", at)


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
