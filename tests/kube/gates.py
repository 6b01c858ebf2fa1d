#!/usr/bin/env python3
"""Pods behind their queue's gate on a real API server, with the shipped roles and webhook configurations: the webhook adds the
gate, the scheduler removes it when the queue has room. The first two cases are those of Volcano's e2e suite schedulinggates."""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from controller import Hollow, job, submit, until, until_phase  # noqa: E402
from harness import Suite  # noqa: E402
from webhook import Door, has, queue, same, set_up, start  # noqa: E402

GATE = "scheduling.volcano.sh/queue-allocation-gate"
OTHER = "example.com/other"
PODS = "/api/v1/namespaces/default/pods"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"


def group(name, in_queue, members=1):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name, "namespace": "default"},
            "spec": {"minMember": members, "queue": in_queue, "minResources": {"cpu": str(members)}}}


def create_pod(bed, name, in_group, scheduler="volcano", **spec):
    status, made = bed.call("POST", PODS, {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": in_group, GATE: "true"}},
        "spec": {"schedulerName": scheduler, "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}], **spec}})
    assert status == 201, made
    return gates(made)


def gates(pod):
    return [g["name"] for g in pod["spec"].get("schedulingGates", ())]


def pod(bed, name):
    return bed.call("GET", f"{PODS}/{name}")[1]


def delete_pod(bed, name):
    same(bed.call("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")[0], 200)


def until_runs(bed, name):
    until(f"{name} runs", lambda: pod(bed, name)["status"].get("phase") == "Running" and not gates(pod(bed, name)))


def stays_closed(bed, name, want):
    for _ in range(20):
        same(gates(pod(bed, name)), want)
        time.sleep(0.1)


def holds_its_part_of_the_queue(bed):
    bed.apply(queue("small", capability={"cpu": "1"}), group("one", "small"))
    same(create_pod(bed, "one-1", "one"), [GATE])
    until_runs(bed, "one-1")
    delete_pod(bed, "one-1")
    create_pod(bed, "one-2", "one", nodeSelector={"no": "such"})
    until("its gate is open", lambda: not gates(pod(bed, "one-2")))
    until("it says why it waits", lambda: [c for c in pod(bed, "one-2")["status"].get("conditions", ()) if c["reason"] == "Unschedulable"])
    create_pod(bed, "one-3", "one")
    stays_closed(bed, "one-3", [GATE])
    same([c["reason"] for c in pod(bed, "one-3")["status"]["conditions"]], ["SchedulingGated"])
    delete_pod(bed, "one-2")
    until_runs(bed, "one-3")
    delete_pod(bed, "one-3")


def waits_for_other_gates(bed):
    bed.apply(queue("two", capability={"cpu": "1"}), group("two", "two"))
    same(create_pod(bed, "two-1", "two", schedulingGates=[{"name": OTHER}]), [OTHER, GATE])
    stays_closed(bed, "two-1", [OTHER, GATE])
    same(bed.call("PATCH", f"{PODS}/two-1", [{"op": "replace", "path": "/spec/schedulingGates", "value": [{"name": GATE}]}],
                  content_type="application/json-patch+json")[0], 200)
    until_runs(bed, "two-1")


def opens_a_gang_as_one(bed):
    bed.apply(queue("gang", capability={"cpu": "2"}))
    manifest = job("gang", 3, "600s", queue="gang", plugins={})
    template = manifest["spec"]["tasks"][0]["template"]
    template["metadata"]["annotations"][GATE] = "true"
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    submit(bed, manifest)
    message = until("its group says why it waits", lambda: [
        c["message"] for g in bed.call("GET", GROUPS)[1]["items"] if g["metadata"]["name"].startswith("gang-")
        for c in g.get("status", {}).get("conditions", ()) if c["type"] == "Unschedulable"])[0]
    has(message, "queue gang")
    bed.kubectl("patch", "queue", "gang", "--type=merge", "-p", '{"spec": {"capability": {"cpu": "3"}}}')
    until_phase(bed, "gang", "Running")
    made = [e for e in bed.audit(verb="create", resource="pods") if e["objectRef"].get("name", "").startswith("gang-w-")]
    same(len(made), 3)
    opened = [e for e in bed.audit(verb="patch", resource="pods") if e["objectRef"]["name"].startswith("gang-w-") and not e["objectRef"].get("subresource")]
    same(len(opened), 3)


def leaves_others_alone(bed):
    same(create_pod(bed, "stranger", "none", scheduler="default-scheduler"), [])
    with bed.door.shut():  # the webhook is down, so the gate is not added
        same(create_pod(bed, "two-2", "two"), [])


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            bed.door = Door()
            set_up(bed, bed.door, "--scheduler")
            with Hollow(bed, "n0", "n1"), start(bed, bed.door, "--scheduler", name="gates") as c:
                c.until_ready()
                for case in (holds_its_part_of_the_queue, waits_for_other_gates, opens_a_gang_as_one, leaves_others_alone):
                    suite.case(case.__name__, lambda case=case: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
