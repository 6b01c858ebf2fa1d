#!/usr/bin/env python3
"""pumice controller --native-podgroups before a real kube-apiserver and kube-scheduler with the gates of gangs, and hollow kubelets. A gang
is placed by kube-scheduler as a whole or not at all; it can be resized, restarted, aborted and deleted, and nothing of it is left; the
switch is turned on and off over jobs that run; the API goes and comes back. All of it with the rights of the shipped role.

    native.py [next]     next: before the next release of Kubernetes, whose API is another version; what depends on that"""
import http.client
import json
import os
import subprocess
import sys
import threading

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from controller import JOBS, PUMICE, Controller, Hollow, install, job, phase, pods, submit, until, until_phase  # noqa: E402
from faultproxy import FaultProxy  # noqa: E402
from harness import Suite, pumice  # noqa: E402
from rbac import ACCOUNT, NAMESPACE, asked, command, may, ours, path_of, rights  # noqa: E402

IS_NEXT = sys.argv[1:] == ["next"]
VERSION = "v1beta1" if IS_NEXT else "v1alpha2"
# Flags of the API server, and the gates alone, which kube-scheduler needs too.
GATES = "--feature-gates=GenericWorkload=true" + ("" if IS_NEXT else ",GangScheduling=true")
NATIVE = (GATES, f"--runtime-config=scheduling.k8s.io/{VERSION}=true")
CONDITION = "PodGroupInitiallyScheduled" if IS_NEXT else "PodGroupScheduled"
API = f"/apis/scheduling.k8s.io/{VERSION}/namespaces/default"
VOLCANO = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
CORE = "/api/v1/namespaces/default"
NODE_CPU = 64
SWITCH = ("--native-podgroups", "--leader-elect=false")


def roles():
    run = subprocess.run([PUMICE, "install", "--dry-run", "--native-podgroups", "--only", "roles"], capture_output=True, text=True, check=True)
    return [o for o in yaml.safe_load_all(run.stdout) if o]


def gang(name, replicas, least, cpu="100m", runtime="600s", **spec):
    manifest = job(name, replicas, runtime, plugins={}, schedulerName="volcano", **{"minAvailable": least, **spec})
    for task in manifest["spec"]["tasks"]:
        task["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": str(cpu)}}
    return manifest


def uid_of(bed, name):
    return bed.call("GET", f"{JOBS}/{name}")[1]["metadata"]["uid"]


def native(bed, name, kind="podgroups"):
    """The object of the job, by the name that everybody can tell; None: there is none."""
    status, o = bed.call("GET", f"{API}/{kind}/{name}-{uid_of(bed, name)}")
    return o if status == 200 else None


def volcano(bed, name):
    return bed.call("GET", f"{VOLCANO}/{name}-{uid_of(bed, name)}")[0] == 200


def least_of(group):
    return group["spec"]["schedulingPolicy"]["gang"]["minCount"]


def placed(bed, name):
    return [p for p in pods(bed, name) if p["spec"].get("nodeName")]


def ids(some):
    return sorted(p["metadata"]["uid"] for p in some)


def change(bed, name, **spec):
    o = bed.call("GET", f"{JOBS}/{name}")[1]
    o["spec"]["tasks"][0]["replicas"] = spec.get("replicas", o["spec"]["tasks"][0]["replicas"])
    o["spec"]["minAvailable"] = spec["minAvailable"]
    status, answer = bed.call("PUT", f"{JOBS}/{name}", o)
    assert status == 200, answer


def delete(bed, name):
    assert bed.call("DELETE", f"{JOBS}/{name}")[0] == 200


class Manager(threading.Thread):
    """What kube-controller-manager does for us, which cannot be built from these modules alone: a PodGroup that is deleted stays until its
    pods have ended, and what a Job owned goes with it."""

    def __init__(self, bed):
        super().__init__(daemon=True)
        self.bed, self.over = bed, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def run(self):
        while not self.over.wait(0.2):
            try:
                self.turn()
            except (OSError, http.client.HTTPException, KeyError):  # the server is away, or without the API
                pass

    def items(self, path):
        return self.bed.call("GET", path)[1]["items"]

    def turn(self):
        living = {p["spec"].get("schedulingGroup", {}).get("podGroupName") for p in self.items(f"{CORE}/pods")
                  if p["status"]["phase"] not in ("Succeeded", "Failed")}
        for g in self.items(f"{API}/podgroups"):
            meta = g["metadata"]
            if "deletionTimestamp" in meta and meta["name"] not in living:
                self.bed.call("PATCH", f"{API}/podgroups/{meta['name']}", {"metadata": {"finalizers": None, "resourceVersion": meta["resourceVersion"]}},
                              content_type="application/merge-patch+json")
        jobs = {j["metadata"]["uid"] for j in self.items(JOBS)}
        for path in (f"{API}/podgroups", f"{API}/workloads", f"{CORE}/pods"):
            for o in self.items(path):
                owners = o["metadata"].get("ownerReferences", [])
                if owners and not any(r["uid"] in jobs for r in owners):
                    self.bed.call("DELETE", f"{path}/{o['metadata']['name']}")


# ---- without the API ----


def is_refused_without_it(bed):
    with Controller(bed, "early", *SWITCH) as c:
        assert c.popen.wait(60) == 1
        for part in ("--native-podgroups", GATES, NATIVE[1]):
            assert part in c.log, c.log
    run = pumice("controller", "--native-podgroups", "--scheduler")
    assert run.returncode == 2 and "leave --scheduler out" in run.stderr, run
    run = pumice("install", "--dry-run", "--native-podgroups", "--scheduler")
    assert run.returncode == 2 and "leave --scheduler out" in run.stderr, run
    says = pumice("doctor", "--cluster", env=bed.environment()).stdout
    assert NATIVE[1] in says, says


def doctor_sees_it(bed):
    says = pumice("doctor", "--cluster", env=bed.environment()).stdout
    assert f"scheduling.k8s.io/{VERSION} has PodGroups: pumice controller --native-podgroups" in says and "--runtime-config" not in says, says


# ---- gangs ----


def all_or_nothing(bed):
    """Three pods that need a node each, and two nodes: none is placed, and it is said why. Two of them are enough: two are."""
    submit(bed, gang("whole", 3, 3, NODE_CPU - 1))
    until("kube-scheduler refuses it", lambda: [c for c in (native(bed, "whole") or {}).get("status", {}).get("conditions", [])
                                                if c["type"] == CONDITION and c["status"] == "False"])
    assert len(pods(bed, "whole")) == 3 and not placed(bed, "whole")
    assert phase(bed, "whole") == "Pending"
    until("the job says so", lambda: [e for e in bed.call("GET", f"{CORE}/events")[1]["items"]
                                      if e["involvedObject"]["name"] == "whole" and e["reason"] == "PodGroupPending"
                                      and "unschedulable" in e["message"]])
    says = pumice("explain", "--cluster", "whole", env=bed.environment()).stdout
    assert "is placed by kube-scheduler" in says and "0 of the 3 pods" in says and "(Unschedulable)" in says, says
    before, waiting = native(bed, "whole"), ids(pods(bed, "whole"))
    change(bed, "whole", minAvailable=2)
    until_phase(bed, "whole", "Running")
    after = native(bed, "whole")
    assert least_of(before) == 3 and least_of(after) == 2 and before["metadata"]["uid"] != after["metadata"]["uid"], (before, after)
    assert len(placed(bed, "whole")) == 2 and ids(pods(bed, "whole")) == waiting


def is_in(part, whole):
    """The server adds to what it is sent."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(is_in(v, whole.get(k)) for k, v in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(is_in, part, whole))
    return part == whole


def looks_like_this(bed):
    """Names, owners, membership; nothing of Volcano's."""
    group, workload, one = native(bed, "whole"), native(bed, "whole", "workloads"), pods(bed, "whole")[0]
    name = group["metadata"]["name"]
    if IS_NEXT:
        assert group["spec"]["workloadRef"] == {"workloadName": name, "templateName": "job"}, group
    else:
        assert group["spec"]["podGroupTemplateRef"]["workload"] == {"workloadName": name, "podGroupTemplateName": "job"}, group
    assert workload["spec"]["podGroupTemplates"][0]["schedulingPolicy"]["gang"]["minCount"] == 2, workload
    assert workload["spec"]["controllerRef"] == {"apiGroup": "batch.volcano.sh", "kind": "Job", "name": "whole"}, workload
    for o in (group, workload):
        assert [(r["kind"], r["uid"], r["controller"]) for r in o["metadata"]["ownerReferences"]] == [("Job", uid_of(bed, "whole"), True)], o
    assert one["spec"]["schedulingGroup"] == {"podGroupName": name} and one["spec"]["schedulerName"] == "default-scheduler", one["spec"]
    assert one["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == name
    assert not bed.call("GET", VOLCANO)[1]["items"]
    run = subprocess.run([PUMICE, "render", "vcjob/whole", "--cluster", "--native-podgroups", "-o", "json"], env=bed.environment(), capture_output=True, text=True)
    shown = {o["kind"]: o for o in json.loads(run.stdout)["items"]}
    for o, kind in ((group, "PodGroup"), (workload, "Workload")):
        assert shown[kind]["metadata"]["name"] == name and is_in(shown[kind]["spec"], o["spec"]), (shown[kind], o)


def grows(bed):
    """Pods that run stay as they are, and their PodGroup is another at once, not when they have ended."""
    submit(bed, gang("grows", 2, 2))
    until_phase(bed, "grows", "Running")
    running = ids(pods(bed, "grows"))
    change(bed, "grows", minAvailable=4, replicas=4)
    until("four run", lambda: len([p for p in pods(bed, "grows") if p["status"]["phase"] == "Running"]) == 4)
    until("so does their group", lambda: native(bed, "grows") and least_of(native(bed, "grows")) == 4)  # deleted and made again
    assert set(running) <= set(ids(pods(bed, "grows")))


def somebody_deletes_it(bed):
    """Under pods that run: it is made again, and they go on."""
    running, before = ids(pods(bed, "grows")), native(bed, "grows")["metadata"]["uid"]
    assert bed.call("DELETE", f"{API}/podgroups/grows-{uid_of(bed, 'grows')}")[0] in (200, 202)
    until("it is there again", lambda: (native(bed, "grows") or {"metadata": {"uid": before}})["metadata"]["uid"] != before)
    assert ids(pods(bed, "grows")) == running


def restarts_and_aborts(bed):
    before, group = ids(pods(bed, "grows")), native(bed, "grows")["metadata"]["uid"]
    command(bed, "Job", "grows", "RestartJob")
    until("new pods run", lambda: phase(bed, "grows") == "Running" and not set(before) & set(ids(pods(bed, "grows"))))
    assert native(bed, "grows")["metadata"]["uid"] == group
    command(bed, "Job", "grows", "AbortJob")
    until_phase(bed, "grows", "Aborted")
    until("nothing is left", lambda: not native(bed, "grows") and not native(bed, "grows", "workloads"))
    command(bed, "Job", "grows", "ResumeJob")
    until_phase(bed, "grows", "Running")
    assert least_of(native(bed, "grows")) == 4


def is_collected(bed):
    """The owner goes, and the cluster takes the rest."""
    for name in ("grows", "whole"):
        delete(bed, name)
    until("all is gone", lambda: not any(bed.call("GET", f"{API}/{kind}")[1]["items"] for kind in ("podgroups", "workloads")))
    until("the pods too", lambda: not bed.call("GET", f"{CORE}/pods")[1]["items"])


def stages(bed):
    """The second task comes when the first one runs; a gang that waited for it would wait for ever. Then it completes."""
    manifest = gang("stages", 2, 4, runtime="2s")
    manifest["spec"]["tasks"].append({**manifest["spec"]["tasks"][0], "name": "late", "dependsOn": {"name": ["w"]}})
    manifest["spec"]["tasks"][0]["minAvailable"] = 1
    submit(bed, manifest)
    until_phase(bed, "stages", "Completed")
    until("nothing is left", lambda: not native(bed, "stages") and not native(bed, "stages", "workloads"))
    delete(bed, "stages")


def loses_a_pod_late(bed):
    """kube-scheduler forgets pods that have ended. When two of a gang of three have, the third could wait for them for ever."""
    manifest = gang("late", 2, 3, runtime="1s")
    slow = json.loads(json.dumps(manifest["spec"]["tasks"][0]))
    slow["name"], slow["replicas"], slow["template"]["metadata"]["annotations"]["pumice.dev/runtime"] = "slow", 1, "600s"
    manifest["spec"]["tasks"].append(slow)
    submit(bed, manifest)
    until("two have ended", lambda: sum(p["status"]["phase"] == "Succeeded" for p in pods(bed, "late")) == 2)
    group = native(bed, "late")
    before = bed.call("GET", f"{CORE}/pods/late-slow-0")[1]["metadata"]["uid"]
    assert bed.call("DELETE", f"{CORE}/pods/late-slow-0?gracePeriodSeconds=0")[0] == 200
    until("it runs again", lambda: [p for p in pods(bed, "late") if p["status"]["phase"] == "Running" and p["metadata"]["uid"] != before])
    assert least_of(group) == 3 and least_of(native(bed, "late")) == 1
    delete(bed, "late")


def waits_for_its_queue(bed):
    submit(bed, gang("queued", 1, 1, runtime="1s", queue="later"))
    until("it waits", lambda: bed.call("GET", f"{JOBS}/queued")[1].get("status", {}).get("state", {}).get("reason") == "WaitingForQueue")
    assert not native(bed, "queued") and not pods(bed, "queued")
    bed.apply({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "later"}, "spec": {"weight": 1}})
    until_phase(bed, "queued", "Completed")
    delete(bed, "queued")


# ---- turned on and off ----


def before_the_switch(bed):
    """Two jobs with Volcano's PodGroups: one runs, the other has not been let in."""
    with Controller(bed, "volcano", "--scheduler", "--leader-elect=false"):
        submit(bed, gang("runs", 2, 2))
        until_phase(bed, "runs", "Running")
    with Controller(bed, "volcano", "--leader-elect=false"):
        submit(bed, gang("waits", 2, 2))
        until("it has its PodGroup", lambda: volcano(bed, "waits"))
    assert not pods(bed, "waits")


def turned_on(bed, kubeconfig):
    """The one that waits begins anew; the one that runs stays as it is until it restarts."""
    running = ids(pods(bed, "runs"))
    with Controller(bed, "on", *SWITCH, kubeconfig=kubeconfig):
        until_phase(bed, "waits", "Running")
        assert native(bed, "waits") and not volcano(bed, "waits")
        assert ids(pods(bed, "runs")) == running and volcano(bed, "runs") and not native(bed, "runs")
        command(bed, "Job", "runs", "RestartJob")
        until("it runs again", lambda: phase(bed, "runs") == "Running" and not set(running) & set(ids(pods(bed, "runs"))))
        assert native(bed, "runs") and not volcano(bed, "runs")


def turned_off(bed):
    """Pods that run go on, and one that is lost joins them again, for half a gang is none. After a restart all is Volcano's."""
    before = pods(bed, "runs")
    with Controller(bed, "off", "--scheduler", "--leader-elect=false"):
        assert bed.call("DELETE", f"{CORE}/pods/{before[0]['metadata']['name']}?gracePeriodSeconds=0")[0] == 200
        until("the lost one runs again", lambda: len([p for p in pods(bed, "runs") if p["status"]["phase"] == "Running"]) == 2)
        after = {p["metadata"]["name"]: p for p in pods(bed, "runs")}
        assert before[1]["metadata"]["uid"] in ids(after.values())
        assert all(p["spec"]["schedulerName"] == "default-scheduler" and "schedulingGroup" in p["spec"] for p in after.values()), after
        assert not volcano(bed, "runs")
        command(bed, "Job", "waits", "RestartJob")
        until("it is Volcano's", lambda: volcano(bed, "waits") and [p["spec"]["schedulerName"] for p in placed(bed, "waits")] == ["volcano"] * 2)
        assert not any("schedulingGroup" in p["spec"] for p in pods(bed, "waits"))
    for name in ("runs", "waits"):
        delete(bed, name)


# ---- the API goes ----


def goes_and_comes_back(bed):
    """Nobody is harmed: what runs comes to its end, what is new waits and says for what."""
    submit(bed, gang("old", 2, 2, runtime="8s"))
    with Controller(bed, "bereft", *SWITCH, kubeconfig=bed.user(ACCOUNT)) as c:
        until_phase(bed, "old", "Running")
        running = ids(pods(bed, "old"))
        bed.serve()
        c.until_says(f"api=scheduling.k8s.io/{VERSION}")
        until("it is not ready", lambda: c.get("/readyz")[0] == 503)
        submit(bed, gang("new", 2, 2, runtime="1s"))
        until("it waits", lambda: bed.call("GET", f"{JOBS}/new")[1].get("status", {}).get("state", {}).get("reason") == "WaitingForRetry")
        assert not pods(bed, "new")
        until_phase(bed, "old", "Completed")
        assert ids(pods(bed, "old")) == running
    bed.serve(*NATIVE)
    with Controller(bed, "again", *SWITCH, kubeconfig=bed.user(ACCOUNT)):
        until_phase(bed, "new", "Completed")
        until("nothing is left", lambda: not any(native(bed, name, kind) for name in ("old", "new") for kind in ("podgroups", "workloads")))


# ---- rights ----


def role_is_enough_and_not_more(bed):
    granted, refused = asked(bed)
    assert not refused, f"these rights are missing: {sorted(refused)}"
    role = next(r for r in ours(roles()) if r["metadata"]["name"] == "pumice-native-podgroups")
    wanted = set().union(*(rights(rule) for rule in role["rules"]))
    assert not wanted - granted, f"nobody asked for: {sorted(wanted - granted)}"
    for i, rule in enumerate(role["rules"]):
        assert bed.call("PUT", path_of(role), {**role, "rules": role["rules"][:i] + role["rules"][i + 1:]})[0] == 200
        until(f"missed: {rule}", lambda: not any(may(bed, right, "default") for right in rights(rule)))
        assert bed.call("PUT", path_of(role), role)[0] == 200


def lose_answers(proxy):
    """The first answer to each kind of write, and a server that cannot begin a watch with a list: all rights are needed then."""
    for kind in ("workloads", "podgroups"):
        proxy.add(fault="swallow", method="POST", path=rf"k8s.io/{VERSION}/.*/{kind}(\?.*)?$", times=1)
    proxy.add(fault="status", code=422, path=rf"k8s.io/{VERSION}.*sendInitialEvents")


def main():
    suite = Suite()
    try:
        with Bed(is_next=IS_NEXT) as bed:
            install(bed)
            bed.namespace(NAMESPACE)
            bed.apply(*roles())
            suite.case("is_refused_without_it", lambda: is_refused_without_it(bed))
            bed.serve(*NATIVE)
            bed.schedule(GATES)
            suite.case("doctor_sees_it", lambda: doctor_sees_it(bed))
            with Hollow(bed, "n0", "n1"), Manager(bed), FaultProxy(bed, user=ACCOUNT) as proxy:
                lose_answers(proxy)
                with Controller(bed, "native", *SWITCH, kubeconfig=proxy.kubeconfig) as c:
                    c.until_ready()
                    for case in (all_or_nothing, looks_like_this, grows, somebody_deletes_it, restarts_and_aborts, is_collected):
                        suite.case(case.__name__, lambda: case(bed))
                    for case in () if IS_NEXT else (stages, loses_a_pod_late, waits_for_its_queue):
                        suite.case(case.__name__, lambda: case(bed))
                if IS_NEXT:
                    return suite.finish()
                suite.case("before_the_switch", lambda: before_the_switch(bed))
                suite.case("turned_on", lambda: turned_on(bed, bed.user(ACCOUNT)))
                for case in (turned_off, role_is_enough_and_not_more, goes_and_comes_back):
                    suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
