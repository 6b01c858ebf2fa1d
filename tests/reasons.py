#!/usr/bin/env python3
"""Why a job waits, by everybody who says it: the PodGroup's condition, its Event, `explain`, the page's explain,
`job list` and `job view` of one `pumice server`. The reasons are those of the scheduler's own table: one without a
situation here fails."""
import os
import pathlib
import re
import sys
import tempfile
import time

os.environ.setdefault("LC_ALL", "C.UTF-8")
from harness import Suite, pumice, pumice_json  # noqa: E402
from server import Server, is_machine_unfit, until  # noqa: E402

BATCH, SCHED = "/apis/batch.volcano.sh/v1alpha1/namespaces/default", "/apis/scheduling.volcano.sh/v1beta1"
TABLE = pathlib.Path(__file__).resolve().parent.parent / "src/sched/why.c"
FILE = pathlib.Path(tempfile.gettempdir()) / f"pumice-reasons-{os.getpid()}.conf"
RESERVED_S = 3  # by then the first that waits has its reservation: see reserve-after
CONFIG = """actions: "enqueue, allocate, backfill"
configurations: [{name: pumice, arguments: {reserve-after: 1s}}]
"""


# ---- what a situation is made of: each has a node and a resource of its own, so that none disturbs another ----

class Case:
    def __init__(self, s, name):
        self.s, self.name, self.resource, self.own = s, name.lower(), f"example.com/{name.lower()}", None

    def node(self, has=4, name="", **spec):
        name = name or self.name
        amounts = {"cpu": "64", "memory": "64Gi", "pods": "110", self.resource: str(has)}
        made = self.s.ok("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"case": self.name}}, "spec": spec})
        self.s.ok("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"allocatable": amounts, "capacity": amounts, "conditions": [
            {"type": "Ready", "status": "True"}]}}, type="application/merge-patch+json")
        return made

    def queue(self, name, **spec):
        self.s.ok("POST", f"{SCHED}/queues", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                                              "metadata": {"name": name}, "spec": {"weight": 1, **spec}})
        return name

    def job(self, name, pods=1, each=1, queue=None, pod=None, **spec):
        if not queue:  # each queue has one reservation at a time
            queue, self.own = self.own or self.queue(f"own-{self.name}"), f"own-{self.name}"
        want = {"requests": {self.resource: str(each)}, "limits": {self.resource: str(each)}}
        template = {"spec": {"nodeSelector": {"case": self.name}, "containers": [{"name": "c", "image": "i", "resources": want}], **(pod or {})}}
        self.s.ok("POST", f"{BATCH}/jobs", {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
                                            "spec": {"queue": queue, "schedulerName": "volcano", "minAvailable": pods, "tasks": [
                                                {"name": "w", "replicas": pods, "template": template}], **spec}})
        return name

    def placed(self, name):
        until(f"{name} has its places", lambda: self.s.ok("GET", f"{BATCH}/jobs/{name}") and group_of(self.s, name)
              .get("status", {}).get("phase") == "Running")


def closed(c):
    c.queue("closed")
    name = c.job("closed", queue="closed", pods=9)
    c.s.ok("PATCH", f"{SCHED}/queues/closed/status", {"status": {"state": "Closed"}}, type="application/merge-patch+json")
    return name


def missing(c):
    c.node()
    c.queue("missing")
    name = c.job("missing", queue="missing", pods=9)
    group_of(c.s, name)
    c.s.ok("DELETE", f"{SCHED}/queues/missing")
    return name


def gated(c):
    c.node()
    return c.job("gated", pod={"schedulingGates": [{"name": "example.com/wait"}]})


def capability(c):
    c.node(has=8)
    c.placed(c.job("capability-old", 3, queue=c.queue("capability", capability={c.resource: "4"})))
    return c.job("capability", 2, queue="capability")


def guarantee(c):
    c.node()
    c.queue("guarantee-other", deserved={c.resource: "3"}, guarantee={"resource": {c.resource: "3"}})
    return c.job("guarantee", 2)


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
    return c.job("topology", 3, networkTopology={"mode": "hard", "highestTierAllowed": 1})


def order(c):
    c.node()
    c.placed(c.job("order-old", 3, queue=c.queue("order", dequeueStrategy="fifo")))
    c.job("order-first", 2, queue="order")
    said(c.s, "order-first", "NotEnoughResources")
    return c.job("order", queue="order")


SITUATIONS = {"QueueNotFound": missing, "QueueClosed": closed, "SchedulingGated": gated, "QueueCapability": capability,
              "QueueGuarantee": guarantee, "QueueReserved": reserved_in_queue, "NotEnoughResources": no_room,
              "Reserved": reserved, "NeverFits": never_fits, "NetworkTopology": topology, "QueueOrder": order}
# Reasons that no Job in a server at rest shows, and why. "explain.py", "gang.c", "status.c": there the words are tested.
ELSEWHERE = {"QueueNotLeaf": "the server rejects a Job in such a queue; explain.py", "NotEnoughTasks": "the controller creates all pods; gang.c",
             "NotEnoughPodsOfTask": "the controller creates all pods; gang.c", "NoAllocateAction": "needs another configuration; status.c",
             "QueueFairShare": "not compared: passes with the next pod that ends", "Evicting": "not compared: passes with the victims",
             "PodsNotCreated": "not compared: the scheduler says nothing while pods are created",
             "TooManyResourceNames": "not compared: the names would stay in the server for the other cases"}


# ---- who says what ----

def group_of(s, job):
    def find():
        uid = s.ok("GET", f"{BATCH}/jobs/{job}")["metadata"]["uid"]
        return next((g for g in s.ok("GET", f"{SCHED}/namespaces/default/podgroups")["items"] if g["metadata"]["name"].endswith(uid)), None)
    return until(f"{job} has its PodGroup", find)


def said(s, job, reason):
    """The condition of its PodGroup, as soon as it gives this reason."""
    def find():
        for c in group_of(s, job).get("status", {}).get("conditions", []):
            if c["type"] == "Unschedulable" and c["status"] == "True":
                found.append(c["reason"])
                return c if c["reason"] == reason else None
        return None
    found = []
    try:
        return until(f"{job} waits because of {reason}", find)
    except AssertionError as e:
        raise AssertionError(f"{e}; it said {sorted(set(found))}") from None


def essence(text):
    """The part that all have: the causes by node, where there are some, else the sentence."""
    causes = re.search(r"\d+/\d+ nodes are unavailable: .*", text)
    return (causes[0] if causes else text).rstrip(".")


def all_agree(s, reason):
    job = SITUATIONS[reason](Case(s, reason))
    message = said(s, job, reason)["message"]
    told = pumice_json("explain", job, "--kubeconfig", s.config, "--scheduler-config", str(FILE), "-o", "json")
    page = s.ok("GET", f"/ui/explain/default/{job}")
    for who, answer in (("explain", told), ("the page", page)):
        assert answer["state"] == "Waiting" and answer["why"]["rule"] == reason, (who, answer["state"], answer.get("why"), message)
        assert essence(answer["why"]["text"]) in message, (who, answer["why"]["text"], message)
    rows = {line.split()[0]: line for line in pumice("job", "list", "--kubeconfig", s.config).stdout.splitlines()}
    view = pumice("job", "view", job, "--kubeconfig", s.config).stdout
    word = re.search(r"Reason:\s+(\S+)", view)
    assert word and re.search(rf"\s{word[1]}\b", rows[job]), (rows[job], view)
    assert essence(message) in re.sub(r"\s+", " ", view), (message, view)
    events = [e["message"] for e in s.ok("GET", "/api/v1/namespaces/default/events")["items"]
              if e["involvedObject"]["name"] == group_of(s, job)["metadata"]["name"] and e["reason"] == "Unschedulable"]
    assert message in events, (message, events)


def every_reason_has_a_situation():
    reasons = {r for r in re.findall(r'\[WHY_\w+\] = "(\w+)"', TABLE.read_text())}
    assert reasons == SITUATIONS.keys() | ELSEWHERE.keys(), reasons ^ (SITUATIONS.keys() | ELSEWHERE.keys())


def main():
    suite = Suite()
    suite.case("every reason has a situation", every_reason_has_a_situation)
    FILE.write_text(CONFIG)
    try:
        s = Server("--scheduler-config", str(FILE))
    except AssertionError as e:
        if not is_machine_unfit(e):
            raise
        print(f"the rest is skipped: {e}")
        return suite.finish()
    try:
        only = sys.argv[1:]
        for reason in SITUATIONS:
            if not only or reason in only:
                suite.case(reason, lambda r=reason: all_agree(s, r))
    finally:
        s.stop()
        FILE.unlink()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
