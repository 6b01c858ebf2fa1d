#!/usr/bin/env python3
"""Why a job waits, by everybody who says it: the PodGroup's condition, its Event, its pods, `explain`, the page's explain,
`job list`, `job view` and the tables of `kubectl get` of one `pumice server`. The reasons are those of the scheduler's own
table: one without a situation here, or without a row in docs/scheduling.md, fails."""
import os
import pathlib
import re
import sys
import tempfile
import time

os.environ.setdefault("LC_ALL", "C.UTF-8")
from harness import Suite, pumice, pumice_json  # noqa: E402
from server import TABLE, Server, is_machine_unfit, until  # noqa: E402

BATCH, SCHED = "/apis/batch.volcano.sh/v1alpha1/namespaces/default", "/apis/scheduling.volcano.sh/v1beta1"
PODS, EVENTS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/events"
ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = pathlib.Path(tempfile.gettempdir()) / f"pumice-reasons-{os.getpid()}.conf"
MERGE = "application/merge-patch+json"
RESERVED_S = 3  # by then the first that waits has its reservation: see reserve-after


# ---- what a situation is made of: each has a node and a resource of its own, so that none disturbs another ----

class Case:
    def __init__(self, s, name):
        self.s, self.name, self.resource, self.own = s, name.lower(), f"example.com/{name.lower()}", None

    def node(self, has=4, name="", more=(), **spec):
        name = name or self.name
        amounts = {"cpu": "64", "memory": "64Gi", "pods": "110", self.resource: str(has), **dict.fromkeys(more, "1")}
        labels = {"case": self.name, "node": name}
        made = self.s.ok("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "spec": spec})
        self.s.ok("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"allocatable": amounts, "capacity": amounts, "conditions": [
            {"type": "Ready", "status": "True"}]}}, type=MERGE)
        return made

    def queue(self, name, **spec):
        self.s.ok("POST", f"{SCHED}/queues", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                                              "metadata": {"name": name}, "spec": {"weight": 1, **spec}})
        return name

    def task(self, name, pods, each=1, node="", pod=None, minimum=None, more=()):
        want = {self.resource: str(each), **dict.fromkeys(more, "1")}
        template = {"spec": {"nodeSelector": {"case": self.name, **({"node": node} if node else {})}, **(pod or {}),
                             "containers": [{"name": "c", "image": "i", "resources": {"requests": want, "limits": want}}]}}
        return {"name": name, "replicas": pods, "template": template, **({} if minimum is None else {"minAvailable": minimum})}

    def job(self, name, pods=1, queue=None, tasks=None, spec=None, **task):
        if not queue:  # each queue has one reservation at a time
            queue, self.own = self.own or self.queue(f"own-{self.name}"), f"own-{self.name}"
        self.s.ok("POST", f"{BATCH}/jobs", {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
                                            "spec": {"queue": queue, "schedulerName": "volcano", "minAvailable": pods,
                                                     "tasks": tasks or [self.task("w", pods, **task)], **(spec or {})}})
        return name

    def placed(self, name):
        until(f"{name} has its places", lambda: self.s.ok("GET", f"{BATCH}/jobs/{name}") and group_of(self.s, name)
              .get("status", {}).get("phase") == "Running")

    def full_node(self):
        """There is no room for three, but so much is promised that they are let in, and their pods are created."""
        self.node(has=10)
        self.placed(self.job(f"{self.name}-old", 8))

    def loses(self, pod):
        """A node has refused the pod before anything ran, as a kubelet does when a device is broken."""
        until(f"{pod} is there", lambda: self.s.call("GET", f"{PODS}/{pod}")[0] == 200)
        self.s.ok("PATCH", f"{PODS}/{pod}/status", {"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"}}, type=MERGE)


def closed(c):
    c.queue("closed")
    name = c.job("closed", queue="closed", pods=9)
    c.s.ok("PATCH", f"{SCHED}/queues/closed/status", {"status": {"state": "Closed"}}, type=MERGE)
    return name


def missing(c):
    c.node()
    c.queue("missing")
    name = c.job("missing", queue="missing", pods=9)
    group_of(c.s, name)
    c.s.ok("DELETE", f"{SCHED}/queues/missing")
    return name


def not_leaf(c):
    """The queue got one below it after the job was submitted."""
    c.node()
    name = c.job("not-leaf", queue=c.queue("not-leaf"), pods=9)
    group_of(c.s, name)
    c.queue("leaf", parent="not-leaf")
    return name


def gated(c):
    c.node()
    return c.job("gated", pod={"schedulingGates": [{"name": "example.com/wait"}]})


def lacks_pods(c):
    c.full_node()
    name = c.job("lacks-pods", 3)
    c.loses("lacks-pods-w-0")
    return name


def lacks_pods_of_a_task(c):
    c.full_node()
    name = c.job("lacks-task", 3, tasks=[c.task("a", 2, minimum=1), c.task("b", 2, minimum=2)])
    c.loses("lacks-task-b-0")
    return name


def capability(c):
    c.node(has=8)
    c.placed(c.job("capability-old", 3, queue=c.queue("capability", capability={c.resource: "4"})))
    return c.job("capability", 2, queue="capability")


def guarantee(c):
    c.node()
    c.queue("guarantee-other", deserved={c.resource: "3"}, guarantee={"resource": {c.resource: "3"}})
    return c.job("guarantee", 2)


def fair_share(c):
    """Each of two queues has half of the resource. The pod of one needs a whole node, and one of the other stands on each."""
    for node in ("share-a", "share-b"):
        c.node(2, name=node)
        c.placed(c.job(f"{node}-old", node=node, queue="share" if node == "share-b" else c.queue("share")))
    c.job("share-whole", each=2, queue=c.queue("share-other"))
    said(c.s, "share-whole", "NotEnoughResources")
    return c.job("share", queue="share")


def reserved_in_queue(c):
    c.node(has=8)
    c.placed(c.job("kept-old", 3, queue=c.queue("kept", capability={c.resource: "4"})))
    c.job("kept-first", 4, queue="kept")
    said(c.s, "kept-first", "QueueCapability")
    time.sleep(RESERVED_S)
    return c.job("kept", 1, queue="kept")


def no_room(c):
    c.node()
    c.placed(c.job("room-old", 3))
    return c.job("room", 2)


def reserved(c):
    c.node()
    c.placed(c.job("reserved-old", 2))
    c.job("reserved-first", 4)
    said(c.s, "reserved-first", "NotEnoughResources")
    time.sleep(RESERVED_S)
    return c.job("reserved", 1)


def never_fits(c):
    c.node()
    return c.job("never", each=5)


def topology(c):
    for name in ("rack-a", "rack-b"):
        c.node(2, name=name)
        c.s.ok("POST", "/apis/topology.volcano.sh/v1alpha1/hypernodes", {
            "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name},
            "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": name}}}]}})
    return c.job("topology", 3, spec={"networkTopology": {"mode": "hard", "highestTierAllowed": 1}})


def order(c):
    c.node()
    c.placed(c.job("order-old", 3, queue=c.queue("order", dequeueStrategy="fifo")))
    c.job("order-first", 2, queue="order")
    said(c.s, "order-first", "NotEnoughResources")
    return c.job("order", queue="order")


def evicting(c):
    """The victim has no kubelet that would end it."""
    c.node(1)
    c.s.ok("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "urgent"}, "value": 1000})
    c.placed(c.job("victim"))
    time.sleep(1.5)  # times of the API are whole seconds: a job that came in the same one has waited as long as the victim ran
    return c.job("evicting", spec={"priorityClassName": "urgent"})


def pods_refused(c):
    """The scheduler has let it in, and the API server refuses its pods."""
    c.node()
    c.s.ok("POST", "/api/v1/namespaces/default/resourcequotas", {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    return c.job("refused")


def too_many_names(c):
    names = [f"example.com/name-{i}" for i in range(33)]
    c.node(more=names)
    return c.job("many-names", more=names)


def no_allocate(c):
    c.node()
    return c.job("no-allocate")


# A configuration of the scheduler, and the situations that a server with it is brought into.
SERVERS = [
    ("""actions: "enqueue, allocate, backfill"
configurations: [{name: pumice, arguments: {reserve-after: 1s}}]
""", {"NotEnoughTasks": lacks_pods, "NotEnoughPodsOfTask": lacks_pods_of_a_task, "QueueNotFound": missing, "QueueClosed": closed,
      "QueueNotLeaf": not_leaf, "SchedulingGated": gated, "QueueCapability": capability, "QueueGuarantee": guarantee,
      "QueueReserved": reserved_in_queue, "NotEnoughResources": no_room, "Reserved": reserved, "NeverFits": never_fits,
      "NetworkTopology": topology, "QueueOrder": order}),
    ("""actions: "enqueue, allocate, preempt, reclaim, backfill"
configurations: [{name: pumice, arguments: {min-run: 0s}}]
""", {"QueueFairShare": fair_share, "Evicting": evicting, "PodsNotCreated": pods_refused}),
    ('actions: "enqueue"\n', {"NoAllocateAction": no_allocate, "TooManyResourceNames": too_many_names}),
]
# Pods may still be on their way for half a minute: these begin first and are asked last.
SLOW = ("NotEnoughTasks", "NotEnoughPodsOfTask")


# ---- who says what ----

def group_of(s, job):
    def find():
        uid = s.ok("GET", f"{BATCH}/jobs/{job}")["metadata"]["uid"]
        return next((g for g in s.ok("GET", f"{SCHED}/namespaces/default/podgroups")["items"] if g["metadata"]["name"].endswith(uid)), None)
    return until(f"{job} has its PodGroup", find)


def waiting_condition(group):
    return next((c for c in group.get("status", {}).get("conditions", []) if c["type"] == "Unschedulable" and c["status"] == "True"), None)


def said(s, job, reason):
    """The condition of its PodGroup, as soon as it gives this reason."""
    def find():
        c = waiting_condition(group_of(s, job))
        found.append(c and c["reason"])
        return c if c and c["reason"] == reason else None
    found = []
    try:
        return until(f"{job} waits because of {reason}", find)
    except AssertionError as e:
        raise AssertionError(f"{e}; it said {sorted(set(map(str, found)))}") from None


def essence(text):
    """The part that all have: the causes by node, where there are some, else the sentence."""
    causes = re.search(r"\d+/\d+ nodes are unavailable: .*", text)
    return (causes[0] if causes else text).rstrip(".")


def explained(s, job):
    """Who explains it, and how."""
    return (("explain", pumice_json("explain", job, "--kubeconfig", s.config, "--scheduler-config", str(FILE), "-o", "json")),
            ("the page", s.ok("GET", f"/ui/explain/default/{job}")))


def listed(s, job):
    """The reason that `job list` and `job view` give, and the message of the latter."""
    rows = {line.split()[0]: line for line in pumice("job", "list", "--kubeconfig", s.config).stdout.splitlines()}
    view = re.sub(r"\s+", " ", pumice("job", "view", job, "--kubeconfig", s.config).stdout)
    word = re.search(r"Reason: (\S+)", view)
    assert word and re.search(rf"\s{word[1]}\b", rows[job]), (rows[job], view)
    return word[1], view


def shown(s, path, name):
    """STATUS in `kubectl get`."""
    table = s.ok("GET", path, accept=TABLE)
    at = [c["name"] for c in table["columnDefinitions"]].index("STATUS")
    return next(r["cells"][at] for r in table["rows"] if r["cells"][0] == name)


def events_of(s, name, reason):
    return [e["message"] for e in s.ok("GET", EVENTS)["items"] if e["involvedObject"]["name"] == name and e["reason"] == reason]


def pods_agree(s, job, message, causes):
    """A pod that waits says what its group says, or the causes by node alone: its condition, and its Event."""
    def agrees(pod):
        c = next((c for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"), None)
        return c and c["status"] == "False" and c["message"] in events_of(s, pod["metadata"]["name"], "FailedScheduling") and \
            any(words in c["message"] for words in said)
    by_node = ", ".join(sorted(f"{c['nodes']} {c['text']}" for c in causes))
    said = [essence(message), " can possibly be assigned to ", *([f"nodes are unavailable: {by_node}."] if causes else [])]
    for pod in s.ok("GET", f"{PODS}?labelSelector=volcano.sh/job-name={job}")["items"]:
        name = pod["metadata"]["name"]
        if pod["status"]["phase"] == "Pending" and not pod["spec"].get("nodeName") and not pod["spec"].get("schedulingGates"):
            until(f"{name} says {said}: {pod['status']}", lambda n=name: agrees(s.ok("GET", f"{PODS}/{n}")))


def tables_agree(s, job, group):
    assert shown(s, f"{BATCH}/jobs", job) == "Pending", shown(s, f"{BATCH}/jobs", job)
    assert shown(s, f"{SCHED}/namespaces/default/podgroups", group["metadata"]["name"]) == group["status"]["phase"] in ("Pending", "Inqueue"), group


def all_agree(s, reason, job):
    message, group = said(s, job, reason)["message"], group_of(s, job)
    for who, answer in explained(s, job):
        assert answer["state"] == "Waiting" and answer["why"]["rule"] == reason, (who, answer["state"], answer.get("why"), message)
        assert essence(answer["why"]["text"]) in message, (who, answer["why"]["text"], message)
    assert essence(message) in listed(s, job)[1], (message, listed(s, job))
    until(f"an Event says {message}", lambda: message in events_of(s, group["metadata"]["name"], "Unschedulable"))
    pods_agree(s, job, message, answer["why"]["causes"])
    tables_agree(s, job, group)


def eviction_is_agreed(s, reason, job):
    """Explained with the end of the victims: it starts as soon as they have gone."""
    message, group = said(s, job, reason)["message"], group_of(s, job)
    assert message.endswith("room is being made: 1 pod has still to end"), message
    for who, answer in explained(s, job):
        assert (answer["state"], answer["evicts"]) == ("Starting", [{"name": "default/victim", "pods": 1}]), (who, answer)
    assert essence(message) in listed(s, job)[1], (message, listed(s, job))
    until(f"an Event says {message}", lambda: message in events_of(s, group["metadata"]["name"], "Unschedulable"))
    tables_agree(s, job, group)


def refusal_is_agreed(s, reason, job):
    """The scheduler has nothing against it. What stops it is the controller's to say, and nobody says that nothing does."""
    def state():
        found = s.ok("GET", f"{BATCH}/jobs/{job}").get("status", {}).get("state", {})
        return found if found.get("reason") == "WaitingForRetry" else None
    message = until(f"{job} says why its pods are not created", state)["message"]
    assert "exceeded quota: none" in message, message
    group = group_of(s, job)
    assert group["status"]["phase"] == "Inqueue" and not waiting_condition(group), group
    for who, answer in explained(s, job):
        assert (answer["state"], answer["reason"]) == ("Blocked", "WaitingForRetry") and "exceeded quota: none" in answer["message"], (who, answer)
    word, view = listed(s, job)
    assert word == "WaitingForRetry" and "exceeded quota: none" in view, view
    assert any("exceeded quota: none" in e for e in events_of(s, job, "FailedCreate")), s.ok("GET", EVENTS)
    tables_agree(s, job, group)


AGREED = {"Evicting": eviction_is_agreed, "PodsNotCreated": refusal_is_agreed}


def every_reason_has_a_situation():
    reasons = set(re.findall(r'\[WHY_\w+\] = "(\w+)"', (ROOT / "src/sched/model/why.c").read_text()))
    situations = {r for _, some in SERVERS for r in some}
    assert reasons == situations, reasons ^ situations
    rows = "".join(line.split("|")[1] for line in (ROOT / "docs/scheduling.md").read_text().splitlines() if line.startswith("| `"))
    assert not (absent := [r for r in sorted(reasons) if f"`{r}`" not in rows]), f"docs/scheduling.md has no row for {absent}"


def ask(suite, config, situations):
    FILE.write_text(config)
    s = Server("--scheduler-config", str(FILE))
    jobs = {r: situations[r](Case(s, r)) for r in SLOW if r in situations}

    def one(reason):
        job = jobs[reason] if reason in jobs else situations[reason](Case(s, reason))
        AGREED.get(reason, all_agree)(s, reason, job)
    try:
        for reason in sorted(situations, key=lambda r: r in SLOW):
            suite.case(reason, lambda r=reason: one(r))
    finally:
        s.stop()


def main():
    suite = Suite()
    only = sys.argv[1:]
    suite.case("every reason has a situation", every_reason_has_a_situation)
    try:
        for config, situations in SERVERS:
            situations = {r: f for r, f in situations.items() if not only or r in only}
            if situations:
                ask(suite, config, situations)
    except AssertionError as e:
        if not is_machine_unfit(e):
            raise
        print(f"the rest is skipped: {e}")
    finally:
        FILE.unlink(missing_ok=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
