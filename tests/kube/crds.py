#!/usr/bin/env python3
"""Our CRDs on a real API server: good objects are taken and defaulted, bad ones refused, both as `pumice validate` does.

Every CEL rule of every CRD must refuse at least one object here, by its own message.
"""
import glob
import json
import os
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, TESTS]

from bed import Bed, Skip  # noqa: E402
from harness import Suite, pumice  # noqa: E402

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is there
BATCH, SCHEDULING, FLOW = "batch.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1", "flow.volcano.sh/v1alpha1"
PATHS = {"Job": f"{BATCH}/namespaces/default/jobs", "CronJob": f"{BATCH}/namespaces/default/cronjobs",
         "PodGroup": f"{SCHEDULING}/namespaces/default/podgroups", "Queue": f"{SCHEDULING}/queues",
         "Command": "bus.volcano.sh/v1alpha1/namespaces/default/commands",
         "JobFlow": f"{FLOW}/namespaces/default/jobflows", "JobTemplate": f"{FLOW}/namespaces/default/jobtemplates",
         "HyperNode": "topology.volcano.sh/v1alpha1/hypernodes"}


def obj(kind, spec, name="x", **more):
    return {"apiVersion": "/".join(PATHS[kind].split("/")[:2]), "kind": kind, "metadata": {"name": name}, "spec": spec, **more}


def task(name="worker", replicas=2, **more):
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [{"name": "main", "image": "debian:12"}]}}, **more}


def job(name="x", tasks=None, **spec):
    return obj("Job", {"tasks": tasks if tasks is not None else [task()], **spec}, name)


def with_template(**spec):
    t = task()
    t["template"]["spec"].update(spec)
    return job(tasks=[t])


def with_container(**more):
    t = task()
    t["template"]["spec"]["containers"][0].update(more)
    return job(tasks=[t])


def cron(name="x", **spec):
    return obj("CronJob", {"schedule": "0 * * * *", "jobTemplate": {"spec": job()["spec"]}, **spec}, name)


def policy(action="RestartJob", **more):
    return {"action": action, **more}


def create(bed, o, how="?dryRun=All&fieldValidation=Strict"):
    return bed.call("POST", f"/apis/{PATHS[o['kind']]}{how}", o)


# What is wrong, the object, and a piece of the server's answer. Jobs, Queues and PodGroups are shown to `pumice validate` too, which must
# refuse them as well, but for those in ONLY_HERE.
BAD = [
    ("no tasks at all", obj("Job", {"queue": "q"}), "No task specified in job spec"),
    ("an empty list of tasks", job(tasks=[]), "No task specified in job spec"),
    ("no spec", {k: v for k, v in job().items() if k != "spec"}, "spec: Required value"),
    ("a name too long for a label", job(name="a" * 64, tasks=[task(name="t")]), "the name of a job has at most 63 characters"),
    ("pod names too long", job(name="a" * 50, tasks=[task(name="b" * 10, replicas=11)]), "shorten the name of the job or of a task"),
    ("the root queue", job(queue="root"), "can not submit job to root queue"),
    ("more minAvailable than pods", job(minAvailable=3), "job 'minAvailable' should not be greater than total replicas in tasks"),
    ("two tasks of one name", job(tasks=[task(), task()]), "duplicated task name"),
    ("negative replicas", job(tasks=[task(replicas=-1)]), "greater than or equal to 0"),
    ("replicas as text", job(tasks=[task(replicas="2")]), "must be of type integer"),
    ("a task name in capitals", job(tasks=[task(name="Worker")]), "should match"),
    ("no template", job(tasks=[{"name": "t", "replicas": 1}]), "spec.tasks[0].template: Required value"),
    ("no pod spec", job(tasks=[{"name": "t", "replicas": 1, "template": {}}]), "template.spec: Required value"),
    ("no containers", job(tasks=[{"name": "t", "replicas": 1, "template": {"spec": {}}}]), "containers: Required value"),
    ("task minimum above replicas", job(tasks=[task(minAvailable=3)]), "'minAvailable' is greater than 'replicas' in task"),
    ("a NUMA policy nobody knows", job(tasks=[task(topologyPolicy="near")]), "Unsupported value"),
    ("maxRetry below -1", job(tasks=[task(maxRetry=-2)]), "greater than or equal to -1"),
    ("ttl below 0", job(ttlSecondsAfterFinished=-1), "greater than or equal to 0"),
    ("minSuccess of 0", job(minSuccess=0), "greater than or equal to 1"),
    ("partitions that do not give the replicas", job(tasks=[task(partitionPolicy={"totalPartitions": 2, "partitionSize": 2})]),
     "'Replicas' are not equal to TotalPartitions*PartitionSize"),
    ("a minimum that is no whole partitions",
     job(tasks=[task(replicas=4, minAvailable=3, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1})]),
     "'MinAvailable' is not equal to MinPartitions*PartitionSize"),
    ("a dependency of a third kind", job(tasks=[task(), task("b", dependsOn={"name": ["worker"], "iteration": "some"})]), "Unsupported value"),
    ("an action nobody knows", job(policies=[policy("Restart", event="PodFailed")]), "invalid policy action"),
    ("no action", job(policies=[{"event": "PodFailed"}]), "action: Required value"),
    ("an event for the controller only", job(policies=[policy(event="OutOfSync")]), "Unsupported value"),
    ("neither event nor code", job(policies=[policy()]), "either event and exitCode should be specified"),
    ("event and code", job(policies=[policy(event="PodFailed", exitCode=3)]), "must not specify event and exitCode simultaneously"),
    ("exit code 0", job(policies=[policy(exitCode=0)]), "0 is not a valid error code"),
    ("one event twice", job(policies=[policy(event="PodFailed"), policy("AbortJob", events=["PodEvicted", "PodFailed"])]),
     "duplicate event"),
    ("one event twice in a task", job(tasks=[task(policies=[policy(event="PodFailed"), policy("AbortJob", event="PodFailed")])]),
     "duplicate event"),
    ("one exit code twice", job(policies=[policy(exitCode=3), policy("AbortJob", exitCode=3)]), "duplicate exitCode"),
    ("any event and another", job(policies=[policy(event="*"), policy("AbortJob", event="PodFailed")]), "if there's * here, no other policy should be here"),
    ("any event and another in one", job(policies=[policy(events=["*", "PodFailed"])]), "if there's * here, no other policy should be here"),
    ("any event and another in a task", job(tasks=[task(policies=[policy(event="*"), policy("AbortJob", event="PodFailed")])]),
     "if there's * here, no other policy should be here"),
    ("Unknown for one pod", job(policies=[policy("RestartPod", event="Unknown")]), "the event Unknown concerns the whole job"),
    ("partitions that are not there", job(policies=[policy("RestartPartition", event="PodFailed")]), "no task of the job has one"),
    ("partitions that the task has not", job(tasks=[task(policies=[policy("RestartPartition", event="PodFailed")])]), "this task has none"),
    ("a time of nothing", job(policies=[policy(event="PodFailed", timeout="soon")]), "should match"),
    ("a time that runs backwards", job(policies=[policy(event="PodFailed", timeout="-1s")]), "must not be negative"),
    ("tiers by number and name", job(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}), "must not specify 'highestTierAllowed' and 'highestTierName'"),
    ("a topology of a third kind", job(networkTopology={"mode": "firm"}), "Unsupported value"),
    ("a volume without a claim", job(volumes=[{"mountPath": "/data"}]), "either VolumeClaim or VolumeClaimName must be specified"),
    ("a volume with two claims", job(volumes=[{"mountPath": "/data", "volumeClaimName": "c", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]),
     "conflict: If you want to use an existing PVC, just specify VolumeClaimName"),
    ("two volumes in one place", job(volumes=[{"mountPath": "/d", "volumeClaimName": "a"}, {"mountPath": "/d", "volumeClaimName": "b"}]),
     "duplicated mountPath"),
    ("plugin arguments that are no list", job(plugins={"env": "no"}), "must be of type array"),
    ("a queue that is no name", job(queue="My Queue"), "should match"),
    ("a misspelt field of a task", job(tasks=[task(replica=2)]), 'unknown field "spec.tasks[0].replica"'),
    ("a restart policy nobody knows", with_template(restartPolicy="Sometimes"), "Unsupported value"),
    ("two containers of one name", with_template(containers=[{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]), "Duplicate value"),
    ("two mounts in one place", with_container(volumeMounts=[{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a"}]), "Duplicate value"),
    ("a quantity that is none", with_container(resources={"requests": {"cpu": "many"}}), "should match"),
    ("a port out of range", with_container(ports=[{"containerPort": 70000}]), "less than or equal to 65535"),
    ("a label that is no text", job(tasks=[{**task(), "template": {**task()["template"], "metadata": {"labels": {"a": 1}}}}]), "must be of type string"),

    ("a negative gang", obj("PodGroup", {"minMember": -1}), "greater than or equal to 0"),
    ("a group's tiers by number and name", obj("PodGroup", {"networkTopology": {"highestTierAllowed": 1, "highestTierName": "r"}}), "must not specify 'highestTierAllowed' and 'highestTierName'"),
    ("a weight of 0", obj("Queue", {"weight": 0}), "greater than or equal to 1"),
    ("a capability that is no amount", obj("Queue", {"capability": {"cpu": "many"}}), "should match"),
    ("a parent that is no name", obj("Queue", {"parent": "A B"}), "should match"),
    ("a way to leave the queue nobody knows", obj("Queue", {"dequeueStrategy": "lifo"}), "Unsupported value"),

    ("a HyperNode without members", obj("HyperNode", {"tier": 1, "members": []}), "member must have at least one member"),
    ("a HyperNode without a list of members", obj("HyperNode", {"tier": 1}), "member must have at least one member"),
    ("a member whose name is none", obj("HyperNode", {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "N_1"}}}]}), "should match"),
    ("a HyperNode that selects nothing", obj("HyperNode", {"tier": 1, "members": [{"type": "Node", "selector": {}}]}),
     "Either ExactMatch or RegexMatch or LabelMatch must be specified"),
    ("a HyperNode that selects twice",
     obj("HyperNode", {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n"}, "regexMatch": {"pattern": "n"}}}]}),
     "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified"),
    ("HyperNodes by label", obj("HyperNode", {"tier": 1, "members": [{"type": "HyperNode", "selector": {"labelMatch": {"matchLabels": {"a": "b"}}}}]}),
     "labelMatch is for members of type Node"),
    ("a flow that waits for itself", obj("JobFlow", {"flows": [{"name": "a", "dependsOn": {"targets": ["a"]}}]}), "a flow can not wait for itself"),
    ("a bad job in a template", obj("JobTemplate", job(minAvailable=3)["spec"]), "job 'minAvailable' should not be greater than total replicas in tasks"),
    ("a long name for jobs with a time in theirs", cron(name="a" * 53), "cronJob name must be no more than 52 characters"),
    ("a schedule with a zone", cron(schedule="TZ=UTC 0 * * * *"), "schedule should not contain TZ or CRON_TZ"),
    ("the zone of whoever reads it", cron(timeZone="local"), "timeZone can't be Local"),
    ("an empty schedule", cron(schedule=""), "schedule is required, but got empty"),
    ("an empty zone", cron(timeZone=""), "timeZone must be nil or non-empty string, got empty string"),
    ("a fourth way to overlap", cron(concurrencyPolicy="Maybe"), "Unsupported value"),
    ("a bad job in a cron job", cron(jobTemplate={"spec": job(queue="root")["spec"]}), "can not submit job to root queue"),
]

ONLY_HERE = {"a weight of 0"}  # which pumice, as the webhook does, reads as 1


GOOD = [
    ("the least", job()),
    ("unnamed tasks", job(tasks=[{k: v for k, v in task().items() if k != "name"} for _ in range(2)])),
    ("a task without pods", job(tasks=[task(), task("none", replicas=0)])),
    ("half a processor, as a number", with_container(resources={"requests": {"cpu": 0.5, "memory": "1Gi"}, "limits": {"nvidia.com/gpu": 1}})),
    ("an amount with an exponent", with_container(resources={"limits": {"memory": "1e9", "cpu": "1.5"}})),
    ("what generators leave behind", job(tasks=[{**task(), "template": {"metadata": {"creationTimestamp": None}, **task()["template"]}}])),
    ("a plugin with nothing behind it", job(plugins={"env": None, "svc": [], "ssh": ["--no-root"]})),
    ("an exit code beside any event", job(policies=[policy(event="*"), policy("AbortJob", exitCode=3)])),
    ("one event twice in one policy", job(policies=[policy(event="PodFailed", events=["PodFailed", "PodEvicted"])])),
    ("task policies beside the job's", job(policies=[policy(event="PodFailed")], tasks=[task(policies=[policy("AbortJob", event="PodFailed")])])),
    ("a retry without limit", job(tasks=[task(maxRetry=-1)])),
    ("one port for two protocols", with_container(ports=[{"containerPort": 53, "protocol": p} for p in ("TCP", "UDP")])),
    ("times in every spelling", job(policies=[policy(event="PodFailed", timeout="1h30m"), policy("AbortJob", event="PodEvicted", timeout="1.5s")],
                                    runningEstimate="90m")),
    ("a claim to be made", job(volumes=[{"mountPath": "/d", "volumeClaim": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}])),
    ("a claim that the controller has named", job(volumes=[{"mountPath": "/d", "volumeClaimName": "x-pvc-0123456789ab", "volumeClaim": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}])),
    ("nothing but a queue", obj("Queue", {})),
    ("amounts of a queue", obj("Queue", {"weight": 3, "capability": {"cpu": 4, "memory": "8Gi"}, "deserved": {"cpu": "2"}})),
    ("a group", obj("PodGroup", {"minMember": 3, "minTaskMember": {"worker": 3}, "minResources": {"cpu": "3"}},
                    status={"phase": "Pending", "conditions": [{"type": "Unschedulable", "status": "True", "lastTransitionTime": None}]})),
    ("nodes by label", obj("HyperNode", {"tier": 1, "members": [{"type": "Node", "selector": {"labelMatch": {"matchLabels": {"a": "b"}}}}]})),
    ("a flow", obj("JobFlow", {"flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}, "patch": {"jobSpec": {"queue": "q"}}}],
                               "jobRetainPolicy": "delete"})),
    ("a template", obj("JobTemplate", job()["spec"])),
    ("a cron job", cron(timeZone="Europe/Berlin", suspend=True)),
    ("a command", {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": "c"}, "action": "AbortJob",
                   "target": {"apiVersion": BATCH, "kind": "Job", "name": "x", "uid": "1"}}),
]


def refused(bed, what, o, piece, seen):
    status, answer = create(bed, o)
    assert status in (400, 422), f"taken: {status}"
    assert piece in answer["message"], answer["message"]
    seen.append(answer["message"])
    if o["kind"] in ("Job", "Queue", "PodGroup") and what not in ONLY_HERE:
        strict = ["--strict"] if "unknown field" in piece else []
        assert pumice("validate", "--quiet", *strict, "-", stdin=json.dumps(o)).returncode == 1, "taken by pumice validate"


def taken(bed, o):
    status, answer = create(bed, o)
    assert status == 201, answer["message"]
    if o["kind"] in ("Job", "Queue", "PodGroup"):
        run = pumice("validate", "--quiet", "-", stdin=json.dumps(o))
        assert run.returncode == 0, run.stderr


def every_rule_was_met(crds, seen):
    """A rule that refuses nothing here may refuse nothing at all."""
    def messages(node):
        if isinstance(node, dict):
            for r in node.get("x-kubernetes-validations", []):
                if "oldSelf" not in r["rule"]:
                    yield r["message"]
            for v in node.values():
                yield from messages(v)
        elif isinstance(node, list):
            for v in node:
                yield from messages(v)
    told = "\n".join(seen)
    missing = {m for crd in crds for m in messages(crd) if m not in told}
    assert not missing, missing


def updates(bed):
    """What may change on a stored job, and what not."""
    path = f"/apis/{PATHS['Job']}/kept"

    def patch(spec):
        return bed.call("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")

    assert create(bed, job(name="kept", schedulerName="volcano"), "")[0] == 201
    for spec, piece in (({"queue": "other"}, "spec.queue is immutable"), ({"schedulerName": "other"}, "spec.schedulerName is immutable"),
                        ({"tasks": [task(), task("more")]}, "may not add or remove tasks"), ({"tasks": []}, "No task specified in job spec")):
        status, answer = patch(spec)
        assert status == 422 and piece in answer["message"], (spec, answer)
    for spec in ({"minAvailable": 1}, {"priorityClassName": "high"}, {"maxRetry": 5}, {"tasks": [task(replicas=3)]}):
        status, answer = patch(spec)
        assert status == 200, answer
    template = obj("JobTemplate", job()["spec"], "kept")
    assert create(bed, template, "")[0] == 201
    assert bed.call("PATCH", f"/apis/{PATHS['JobTemplate']}/kept", {"spec": {"queue": "other", "tasks": [task(), task("more")]}},
                    content_type="application/merge-patch+json")[0] == 200


def defaults(bed):
    spec = create(bed, job(tasks=[task(partitionPolicy={"totalPartitions": 2, "partitionSize": 1})], networkTopology={}))[1]["spec"]
    assert (spec["queue"], spec["maxRetry"], spec["tasks"][0]["maxRetry"]) == ("default", 3, 3), spec
    assert spec["networkTopology"]["mode"] == "hard" and spec["tasks"][0]["partitionPolicy"]["minPartitions"] == 0, spec
    queue = create(bed, obj("Queue", {}))[1]["spec"]
    assert queue == {"weight": 1, "reclaimable": True, "dequeueStrategy": "traverse"}, queue
    assert create(bed, obj("PodGroup", {"minMember": 1}))[1]["spec"]["queue"] == "default"
    c = create(bed, cron())[1]["spec"]
    assert (c["concurrencyPolicy"], c["suspend"], c["successfulJobsHistoryLimit"], c["failedJobsHistoryLimit"]) == ("Allow", False, 3, 1)


def unknown_fields(bed):
    """Kept in a pod, which Kubernetes may teach new words; dropped and reported elsewhere."""
    j = with_container(fieldOfNextYear={"a": 1})
    j["spec"]["minAvailble"] = 1
    c = bed.connect()
    c.request("POST", f"/apis/{PATHS['Job']}?dryRun=All&fieldValidation=Warn", json.dumps(j), {"Content-Type": "application/json"})
    r = c.getresponse()
    answer = json.load(r)
    assert r.status == 201 and r.headers["Warning"] == r'299 - "unknown field \"spec.minAvailble\""', r.headers["Warning"]
    assert "minAvailble" not in answer["spec"]
    assert answer["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["fieldOfNextYear"] == {"a": 1}
    c.close()


def status_is_apart(bed):
    path = f"/apis/{PATHS['Job']}/kept"
    status = {"state": {"phase": "Running", "lastTransitionTime": "2026-01-02T03:04:05Z"}, "running": 2, "minAvailable": 1,
              "taskStatusCount": {"worker": {"phase": {"Running": 2}}}, "runningDuration": "1m0s", "controlledResources": {"plugin-svc": "svc"},
              "conditions": [{"status": "Pending", "lastTransitionTime": "2026-01-02T03:04:04Z"}]}
    code, answer = bed.call("PATCH", f"{path}/status", {"status": status}, content_type="application/merge-patch+json")
    assert code == 200 and answer["status"] == status, answer
    bed.call("PATCH", path, {"status": {"running": 9}}, content_type="application/merge-patch+json")
    assert bed.call("GET", path)[1]["status"]["running"] == 2


def created_by_kubectl(bed):
    """As a user does it: a file, and the answer of the command line."""
    said = bed.kubectl("create", "-f", os.path.join(TESTS, "..", "examples", "mpi", "job.yaml"))
    assert "job.batch.volcano.sh/pi created" in said, said
    assert bed.kubectl("get", "vcjob", "pi", "-o", "jsonpath={.spec.queue}") == "default"
    assert 'unknown field "spec.tasks[0].replica"' in bed.kubectl("create", "-f", "-", stdin=json.dumps(job(tasks=[task(replica=2)])), fails=True)


def columns(bed):
    want = {"vcjob": "NAME STATUS MINAVAILABLE RUNNINGS AGE QUEUE", "vj": "NAME STATUS MINAVAILABLE RUNNINGS AGE QUEUE",
            "pg": "NAME STATUS MINMEMBER RUNNINGS AGE QUEUE", "q": "NAME PARENT", "jf": "NAME STATUS AGE",
            "hn": "NAME TIER TIERNAME NODECOUNT AGE", "jt": "NAME AGE", "cronvcjob": "NAME AGE"}
    for kind in ("PodGroup", "Queue", "HyperNode", "JobFlow", "CronJob"):
        o = next(o for _, o in GOOD if o["kind"] == kind)
        assert create(bed, {**o, "metadata": {"name": "kept"}}, "")[0] == 201
    for name, head in want.items():
        assert bed.kubectl("get", name, "-o", "wide").split("\n")[0].split() == head.split(), name
    row = bed.kubectl("get", "vcjob", "kept", "-o", "wide", "--no-headers").split()
    assert row[:4] == ["kept", "Running", "1", "2"] and row[5] == "default", row
    assert "pods that must be placeable together before any starts" in bed.kubectl("explain", "vcjob.spec.minAvailable")


def as_large_as_allowed(bed):
    """The server counts the cost of rules while it checks, too."""
    many = [policy(exitCode=i + 1) for i in range(32)]
    names = [f"t{i:048}" for i in range(501)]
    j = job(tasks=[task(n, policies=many) for n in names[:250]], policies=[policy(exitCode=i + 1) for i in range(256)])
    status, answer = create(bed, j)
    assert status == 201, answer["message"]
    status, answer = create(bed, job(tasks=[task(n) for n in names[:500]]))
    assert status == 201, answer["message"]
    status, answer = create(bed, job(tasks=[task(n) for n in names]))
    assert status == 422 and "must have at most 500 items" in answer["message"], answer["message"]


def our_own_objects(bed):
    """All jobs of the examples, the seeds and the vectors that `pumice validate` takes, and the PodGroup and all else made of them."""
    files = [f for d in ("seeds/*.yaml", "vectors/*/job.yaml", "../examples/*/job.yaml") for f in sorted(glob.glob(os.path.join(TESTS, d)))]
    n = 0
    for f in files:
        rendered = pumice("render", "-o", "json", f)
        if rendered.returncode:
            continue
        for o in json.loads(rendered.stdout)["items"]:
            if o["kind"] == "PodGroup":
                o["metadata"] = {"name": o["metadata"]["name"]}
                assert create(bed, o)[0] == 201, (f, create(bed, o)[1]["message"])
        try:
            with open(f) as text:
                documents = [d for d in yaml.load_all(text, LOADER) if d]
        except yaml.YAMLError:
            continue  # two of the seeds are not YAML to anybody but us
        for o in documents:
            if o["kind"] == "Job":
                o["metadata"].pop("namespace", None)
                status, answer = create(bed, o)
                assert status == 201, (f, answer["message"])
                n += 1
    assert n > 30, n


def no_larger_than_apply_takes(bed):
    """kubectl apply keeps a copy in an annotation of 256 KiB."""
    for crd in bed.call("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[1]["items"]:
        del crd["status"], crd["metadata"]["managedFields"], crd["metadata"]["annotations"]
        assert len(json.dumps(crd, separators=(",", ":"))) < 128 << 10, crd["metadata"]["name"]


def main():
    suite = Suite()
    seen = []
    try:
        with Bed() as bed:
            printed = pumice("install", "--dry-run", "--only", "crds")
            crds = list(yaml.load_all(printed.stdout, LOADER))
            bed.kubectl("apply", "-f", "-", stdin=printed.stdout)  # the way people do it, not --server-side
            bed.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
            for what, o, piece in BAD:
                suite.case(what, lambda: refused(bed, what, o, piece, seen))
            for what, o in GOOD:
                suite.case(what, lambda: taken(bed, o))
            suite.case("every_rule_was_met", lambda: every_rule_was_met(crds, seen))
            for case in (updates, defaults, unknown_fields, status_is_apart, columns, as_large_as_allowed, our_own_objects,
                         created_by_kubectl, no_larger_than_apply_takes):
                suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
