#!/usr/bin/env python3
"""`pumice plan` as its user meets it: when jobs start and end, what waits, what a change buys, and every form of output.

With --all every odd object is tried, not some of them (PLAN_ALL=1 does the same).
"""
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor

from harness import PUMICE, Suite, fine, pumice, pumice_json, same, text_of

AT = "2026-03-02T09:00:00Z"
MINUTE = 60
ALL = "--all" in sys.argv or os.environ.get("PLAN_ALL") == "1"


def node(name, cpu=8, **more):
    have = {"cpu": str(cpu), "memory": "32Gi", "pods": "110", **more}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": have, "capacity": have}}


def queue(name, **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name},
            "spec": {"weight": 1, **spec}}


def priority(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def job(name, pods=1, cpu=2, runtime="10m", minimum=None, queue="default", annotations=None, **spec):
    notes = dict(annotations or {})
    if runtime:
        notes["pumice.dev/runtime"] = runtime
    template = {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "main", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}]}}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "annotations": notes},
            "spec": {"minAvailable": pods if minimum is None else minimum, "queue": queue, **spec,
                     "tasks": [{"name": "main", "replicas": pods, "template": template}]}}


def running_pod(name, where, cpu, started, runtime=None):
    notes = {"pumice.dev/runtime": runtime} if runtime else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "annotations": notes},
            "spec": {"nodeName": where, "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}]},
            "status": {"phase": "Running", "startTime": started}}


def plan(objects, *args):
    return pumice_json("plan", "-f", "-", "-o", "json", "--at", AT, *args, stdin=text_of(*objects))


def jobs_of(p):
    return {j["name"]: j for j in p["jobs"]}


def times(p):
    return {j["name"]: (j["startSeconds"], j["endSeconds"]) for j in p["jobs"]}


# Two jobs that fill the node, one after the other; the first in line is the one that was made first.
TWO = [node("n1", 4), job("first", 2), job("second", 2, runtime="5m")]
TWO[1]["metadata"]["creationTimestamp"] = "2026-03-02T08:00:00Z"
TWO[2]["metadata"]["creationTimestamp"] = "2026-03-02T08:30:00Z"


# ---- what happens when ----

def one_job():
    p = plan([node("n1"), job("a")])
    same(times(p), {"a": (0, 10 * MINUTE)})
    a = jobs_of(p)["a"]
    same((a["state"], a["start"], a["end"]), ("Completed", AT, "2026-03-02T09:10:00Z"))
    same((a["waitSeconds"], a["runSeconds"], a["waits"]), (0, 600, []))
    same(a["tasks"], [{"name": "main", "replicas": 1, "minAvailable": 1, "running": 0, "succeeded": 1, "failed": 0}])
    same(p["lastJobEndSeconds"], 600)


def one_after_the_other():
    p = plan(TWO)
    same(times(p), {"first": (0, 600), "second": (600, 900)})
    waits = jobs_of(p)["second"]["waits"]
    assert waits, "it waits without a reason"
    same((waits[0]["fromSeconds"], waits[-1]["untilSeconds"]), (0, 600))
    assert all(w["reason"] and w["message"] for w in waits), waits


def priority_goes_first():
    objects = [node("n1", 4), priority("high", 1000), job("low", 2), job("high", 2, priorityClassName="high")]
    objects[2]["metadata"]["creationTimestamp"] = "2026-03-02T08:00:00Z"
    p = plan(objects)
    same(times(p), {"high": (0, 600), "low": (600, 1200)})
    same(jobs_of(p)["high"]["priority"], 1000)


def submitted_later():
    p = plan([node("n1"), job("a", annotations={"pumice.dev/submit-after": "5m"}), job("b")])
    same(times(p), {"a": (300, 900), "b": (0, 600)})
    same(jobs_of(p)["a"]["submittedSeconds"], 300)
    later = job("c")
    later["metadata"]["creationTimestamp"] = "2026-03-02T09:20:00Z"
    same(times(plan([node("n1"), later])), {"c": (1200, 1800)})


def a_running_pod_is_in_the_way():
    """It began 30 minutes ago and runs an hour."""
    p = plan([node("n1", 4), running_pod("p", "n1", 4, "2026-03-02T08:30:00Z", "1h"), job("a", 1, 4)])
    same(times(p), {"a": (1800, 2400)})


def what_never_fits_is_said():
    p = plan([node("n1", 4), job("a", 1, 5), job("b")])
    same(times(p), {"a": (None, None), "b": (0, 600)})
    a = jobs_of(p)["a"]
    same(a["state"], "Waiting")
    assert a["waits"][-1]["untilSeconds"] is None, a["waits"]
    assert "cpu" in a["waits"][-1]["message"], a["waits"]


def a_queue_that_does_not_exist():
    a = jobs_of(plan([node("n1"), job("a", queue="nowhere")]))["a"]
    same(a["waits"][-1]["reason"], "QueueNotFound")


def a_queue_with_a_limit():
    objects = [node("n1", 8), queue("small", capability={"cpu": "2"}), job("a", queue="small"), job("b", queue="small")]
    p = plan(objects)
    same(sorted(times(p).values()), [(0, 600), (600, 1200)])
    for step in next(q for q in p["queues"] if q["name"] == "small")["used"]:
        assert int(step["amounts"].get("cpu", "0")) <= 2, p["queues"]


def use_adds_up():
    """What the queues use is what the nodes use, at every step, and all is given back in the end."""
    p = plan([node("n1", 8), node("n2", 8), queue("q"), *(job(f"j{i}", 1 + i % 3, 1 + i % 2, f"{5 + i}m",
             queue=("q", "default")[i % 2]) for i in range(12))])

    def at(places, second):
        total = 0
        for place in places:
            now = [s for s in place["used"] if s["atSeconds"] <= second]
            if now:
                cpu = now[-1]["amounts"].get("cpu", "0")
                total += int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
        return total
    seconds = sorted({s["atSeconds"] for n in p["nodes"] for s in n["used"]})
    assert len(seconds) > 3, seconds
    for second in seconds:
        same(at(p["queues"], second), at(p["nodes"], second))
        assert at(p["nodes"], second) <= 16000, second
    same(at(p["nodes"], seconds[-1]), 0)
    assert all(j["state"] == "Completed" for j in p["jobs"]), times(p)


# ---- how long ----

def runtimes():
    objects = [node("n1", 32), job("a", runtime=None), job("b", runtime="20m"), job("c", runtime=None)]
    p = plan(objects, "--runtime", "5m", "--runtime", "a=7m")
    same(times(p), {"a": (0, 420), "b": (0, 1200), "c": (0, 300)})
    p = plan(objects, "--runtime", "b=1m", "--runtime", "default/a/main=2m", "--runtime", "a=30m", "--runtime", "c/main=3s")
    same(times(p), {"a": (0, 120), "b": (0, 60), "c": (0, 3)})
    estimate = job("d", runtime=None, runningEstimate="4m")
    same(times(plan([node("n1"), estimate])), {"d": (0, 240)})
    template = job("e", runtime="9m")
    template["spec"]["tasks"][0]["template"]["metadata"] = {"annotations": {"pumice.dev/runtime": "2m"}}
    same(times(plan([node("n1"), template])), {"e": (0, 120)})


def what_is_no_job_stays():
    """--runtime for all is for jobs: a daemon goes on for ever."""
    p = plan([node("n1", 4), running_pod("daemon", "n1", 3, "2026-01-01T00:00:00Z"), job("a", 1, 2, None)], "--runtime", "5m")
    same(times(p), {"a": (None, None)})


def without_end():
    objects = [node("n1", 2), job("a", runtime=None)]
    p = plan(objects)
    same((times(p), jobs_of(p)["a"]["state"]), ({"a": (0, None)}, "Running"))
    assert "--runtime" in fine(pumice("plan", "-", stdin=text_of(*objects)))


def until():
    p = plan(TWO, "--until", "12m")
    same((p["isCut"], p["endSeconds"], times(p)["second"]), (True, 720, (600, None)))
    assert "--until" in fine(pumice("plan", "--until=12m", "-", stdin=text_of(*TWO)))


def the_same_again():
    args = ("plan", "-f", "-", "-o", "json", "--at", AT)
    same(fine(pumice(*args, stdin=text_of(*TWO))), fine(pumice(*args, stdin=text_of(*TWO))))


# ---- what if ----

def more_nodes():
    p = plan(TWO, "--add-nodes", "1")
    same(times(p), {"first": (0, 600), "second": (0, 300)})
    same(times(p["before"]), {"first": (0, 600), "second": (600, 900)})
    assert "1 more node like n1" in p["change"], p["change"]
    table = fine(pumice("plan", "-", "--add-nodes", "1=n1", stdin=text_of(*TWO)))
    assert re.search(r"second .*\+10m → \+0s +\+15m → \+5m +10m sooner", table), table
    assert "+15m → +10m" in table, table


def fewer_nodes():
    p = plan([node("n2", 4), *TWO], "--remove-node", "n2")
    same(times(p), {"first": (0, 600), "second": (600, 900)})
    same(times(p["before"])["second"], (0, 300))


def another_priority():
    objects = [priority("high", 1000), *TWO]
    for value in ("second=high", "second=7", "default/second=high"):
        same(times(plan(objects, "--set-priority", value)), {"second": (0, 300), "first": (300, 900)})


def a_job_that_is_preempted():
    """It loses its places to a higher priority, starts again, and the plan says so."""
    low = job("low", 2, runtime="1h", policies=[{"event": "PodEvicted", "action": "RestartJob"}])
    high = job("high", 2, annotations={"pumice.dev/submit-after": "20m"}, priorityClassName="high")
    objects = [node("n1", 4), priority("high", 1000), low, high]
    p = plan(objects)
    same(times(p), {"low": (0, 90 * MINUTE), "high": (20 * MINUTE, 30 * MINUTE)})
    j = jobs_of(p)["low"]
    same((j["stops"], j["stoppedPods"], j["waitSeconds"], j["runSeconds"]), (1, 2, 10 * MINUTE, 80 * MINUTE))
    assert "Completed, stopped once" in fine(pumice("plan", "-", stdin=text_of(*objects)))


def another_size():
    p = plan(TWO, "--replicas", "second/main=1", "--min-available", "second=1", "--replicas", "first/main=1",
             "--min-available", "first=1")
    same(times(p), {"first": (0, 600), "second": (0, 300)})


def another_queue():
    objects = [node("n1", 8), queue("small", capability={"cpu": "2"}), job("a", queue="small"), job("b", queue="small")]
    same(sorted(times(plan(objects, "--set-queue", "b=default")).values()), [(0, 600), (0, 600)])


def without_a_job():
    p = plan(TWO, "--without", "first")
    same(times(p), {"second": (0, 300)})
    table = fine(pumice("plan", "-", "--without", "first", stdin=text_of(*TWO)))
    assert re.search(r"first .*left out", table), table


def several_changes():
    p = plan(TWO, "--add-nodes=2", "--without=second", "--set-priority=first=9")
    same(p["change"], "without second, 2 more nodes like n1, first at priority 9")


# ---- forms ----

def table():
    text = fine(pumice("plan", "-f", "-", "--at", AT, stdin=text_of(*TWO)))
    lines = text.splitlines()
    same(lines[0], f"2 jobs on 1 node (4 cpu), from {AT}")
    same(lines[1], "the last job ends at +15m")
    assert re.match(r"first +default +0 +2 +\+0s +\+10m +0s +10m +Completed", lines[4]), text
    assert re.match(r"second +default +0 +2 +\+10m +\+15m +10m +5m +Completed", lines[5]), text
    assert "What waits, and why:" in text, text


def gantt():
    text = fine(pumice("plan", "-o", "gantt", "-", stdin=text_of(*TWO), env=dict(os.environ, COLUMNS="72")))
    assert "\033" not in text, text
    assert all(len(line) <= 72 for line in text.splitlines()), text
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    first, second = rows["first"], rows["second"]
    assert abs(first.count("█") - 2 * second.count("█")) <= 2, text
    assert second.index("█") > second.index("▒" if "▒" in second else "░"), text


def gantt_of_the_readme():
    """What README shows is what one gets."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    with open(os.path.join(top, "README.md"), encoding="utf-8") as f:
        command, shown = re.search(r"^\$ pumice (plan examples/.*)\n((?:.*\n)*?)```", f.read(), re.M).groups()
    same(fine(pumice(*command.replace("examples/", f"{top}/examples/").split())), shown)


def gantt_on_a_terminal():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(text_of(*TWO))
        f.flush()
        env = {k: v for k, v in dict(os.environ, TERM="xterm").items() if k != "NO_COLOR"}
        out = subprocess.run(["script", "-qec", f"stty cols 60; {PUMICE} plan -o gantt {f.name}", "/dev/null"],
                             capture_output=True, text=True, env=env).stdout
    assert "\033[" in out, out
    for line in out.splitlines():
        assert len(re.sub(r"\033\[[0-9;]*m", "", line)) <= 60, line


def svg():
    text = fine(pumice("plan", "-o", "svg", "-", stdin=text_of(*TWO)))
    root = ElementTree.fromstring(text)
    same(root.tag, "{http://www.w3.org/2000/svg}svg")
    words = "".join(root.itertext())
    for word in ("first", "second", "+10m", "default", "n1", "cpu"):
        assert word in words, word
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), "it names something outside"


def html():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "plan.html")
        same(fine(pumice("plan", "-o", "html", "--out", path, "--add-nodes=1", "-", stdin=text_of(*TWO))), "")
        with open(path) as f:
            text = f.read()
    assert text.startswith("<!DOCTYPE html>"), text[:50]
    for part in ("<script", "<link", "url(", "src=", "@import"):
        assert part not in text, part
    assert "1 more node like n1" in text and "+15m → </span>+5m" in text, text[-3000:]


def names_are_harmless():
    evil = job("a")
    evil["metadata"]["annotations"]["x"] = "y"
    evil["spec"]["queue"] = "nowhere"
    objects = [node("<b>&\"x"), evil]
    run = pumice("plan", "-o", "html", "-", stdin=text_of(*objects))
    assert "<b>&\"x" not in run.stdout, run.stdout[:500]


def out_that_cannot_be_written():
    run = pumice("plan", "-", "--out", "/nonexistent/x", stdin=text_of(*TWO))
    same(run.returncode, 1)
    assert "/nonexistent/x" in run.stderr, run.stderr


def a_job_that_is_moved_was_stopped():
    """Evicted and placed elsewhere in the same moment: it begins again, and that is said."""
    objects = [node("n1", 4), node("n2", 6), priority("high", 10),
               job("small", 1, cpu=2, runtime="30m"), job("filler", 1, cpu=3, runtime="5m"),
               job("big", 1, cpu=6, runtime="10m", priorityClassName="high", annotations={"pumice.dev/submit-after": "6m"})]
    for j in jobs_of(plan(objects)).values():
        ran = j["runSeconds"] / MINUTE
        want = {"small": 30, "filler": 5, "big": 10}[j["name"]]
        assert ran == want or (j["stops"] >= 1 and ran > want), j
    text = fine(pumice("plan", "-", stdin=text_of(*objects)))
    stopped = [j["name"] for j in jobs_of(plan(objects)).values() if j["stops"]]
    for name in stopped:
        assert re.search(rf"^{name} .*stopped", text, re.M), text


def priority_of_the_default_class():
    default = priority("usual", 7)
    default["globalDefault"] = True
    same(jobs_of(plan([node("n1"), default, job("a")]))["a"]["priority"], 7)


def the_older_job_goes_first():
    """A Job that was submitted before has its age, also where its PodGroup is not among the objects."""
    for older in ("a", "b"):
        objects = [node("n1", 2), job("a"), job("b")]
        for o in objects[1:]:
            name = o["metadata"]["name"]
            o["metadata"].update(uid=f"11111111-1111-4111-8111-00000000000{name}",
                                 creationTimestamp="2026-03-02T08:00:00Z" if name == older else "2026-03-02T08:30:00Z")
        p = times(plan(objects))
        same(p[older][0], 0)
        same(p["b" if older == "a" else "a"][0], 600)


def not_all_end():
    closed = queue("shut")
    closed["status"] = {"state": "Closed"}
    objects = [node("n1"), closed, job("a"), job("b", queue="shut")]
    text = fine(pumice("plan", "-", stdin=text_of(*objects)))
    assert "1 of 2 jobs ends, the last at +10m" in text and re.search(r"^b .* no end ", text, re.M), text
    text = fine(pumice("plan", "-", "--set-queue", "b=default", stdin=text_of(*objects)))
    assert "1 of 2 jobs ends, the last at +10m → the last job ends at +10m" in text, text


def the_schedulers_configuration():
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write('actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n')
        f.flush()
        high = [node("n1", 2), priority("high", 10), job("low", runtime="1h"),
                job("late", priorityClassName="high", annotations={"pumice.dev/submit-after": "1m"})]
        same(times(plan(high))["late"][0], 60)
        same(times(plan(high, "--scheduler-config", f.name))["late"][0], 3600)


# ---- wrong use and wrong input ----

def wrong_use():
    good = text_of(*TWO)
    cases = (
        ([], 2, "no STATE given with -f: no cluster is configured"), (["-", "--runtime", "soon"], 2, "--runtime"), (["-", "--runtime", "x=1m"], 2, "no Job \"x\""),
        (["-", "--runtime", "first/x=1m"], 2, "no task \"x\""), (["-", "--runtime", "first=-1m"], 2, "negative"),
        (["-", "--until", "later"], 2, "--until"), (["-", "--at", "noon"], 2, "--at"), (["-", "-o", "pdf"], 2, "pdf"),
        (["-", "--nodes", "3"], 2, "size of the nodes is missing"), (["-", "--nodes", "3=cpu"], 2, "RESOURCE:AMOUNT"),
        (["-", "--add-nodes", "many"], 2, "--add-nodes many"), (["-", "--add-nodes", "1=n9"], 2, "no Node \"n9\""),
        (["-", "--remove-node", "n9"], 2, "n9"), (["-", "--set-priority", "first=top"], 2, "top"),
        (["-", "--set-queue", "first=q9"], 2, "q9"), (["-", "--replicas", "first=3"], 2, "JOB/TASK"),
        (["-", "--min-available", "first=9"], 2, "minAvailable"), (["-", "--without", "nobody"], 2, "nobody"),
        (["-", "--remove-node", "n1"], 2, "no Node"), (["/nonexistent.yaml"], 1, "nonexistent"),
        (["-", "--min-available", "first=0"], 2, "must be at least 1"),
        (["-", "--scheduler-config", "/nonexistent.conf"], 2, "/nonexistent.conf"),
    )
    for args, status, part in cases:
        run = pumice("plan", *args, stdin=good, env={**os.environ, "KUBECONFIG": "/nonexistent"})
        same((args, run.returncode, run.stdout), (args, status, ""))
        assert part in run.stderr, (args, run.stderr)


def no_nodes():
    run = pumice("plan", "-", stdin=text_of(job("a")))
    same(run.returncode, 2)
    assert "--nodes 4=cpu:8,memory:32Gi" in run.stderr, run.stderr
    same(times(plan([job("a")], "--nodes", "2=cpu:2,memory:1Gi")), {"a": (0, 600)})
    same(len(plan([job("a")], "--nodes", "2=cpu:2", "--nodes", "1=cpu:4")["nodes"]), 3)


def no_jobs():
    run = pumice("plan", "-", stdin=text_of(node("n1")))
    same(run.returncode, 2)
    assert "no Job" in run.stderr, run.stderr


def bad_files_name_file_and_field():
    def changed(**fields):
        bad = job("a")
        bad["spec"].update(fields)
        return bad
    bad_time = job("a", annotations={"pumice.dev/submit-after": "soon"})
    bad_runtime = job("a", runtime="long")
    bad_template = job("a")
    bad_template["spec"]["tasks"][0]["template"]["metadata"] = {"annotations": {"pumice.dev/runtime": "-5m"}}
    bare_node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    twice = [job("a"), job("a")]
    same_uid = [copy.deepcopy(job("a")), copy.deepcopy(job("b"))]
    for o in same_uid:
        o["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"
    for objects, part in (
        ([changed(minAvailable=-1)], "spec.minAvailable"), ([changed(minAvailable="x")], "spec.minAvailable"),
        ([bad_time], "metadata.annotations[pumice.dev/submit-after]"),
        ([bad_runtime], "metadata.annotations[pumice.dev/runtime]"),
        ([bad_template], "spec.tasks[0].template.metadata.annotations[pumice.dev/runtime]"),
        ([bare_node], "status.allocatable"), (twice, "names must be unique"), (same_uid, "metadata.uid"),
        ([{"kind": "Job"}], "apiVersion"), ([7], "mapping"),
    ):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write(text_of(node("n1"), *objects))
            f.flush()
            run = pumice("plan", "-f", f.name)
        same((part, run.returncode, run.stdout), (part, 1, ""))
        assert part in run.stderr, (part, run.stderr)


def odd_objects_do_no_harm():
    """Whatever a file says about times, owners and phases, there is a plan or a reason."""
    seeds = [None, 7, -1, "x", [], {}, [None], {"a": None}, "9" * 40, 1e300, True]
    paths = [("metadata", "creationTimestamp"), ("metadata", "ownerReferences"), ("metadata", "annotations"),
             ("metadata", "deletionTimestamp"), ("metadata", "finalizers"), ("metadata", "uid"), ("metadata", "labels"),
             ("status",), ("status", "phase"), ("status", "conditions"), ("status", "startTime"), ("status", "allocatable"),
             ("spec",), ("spec", "nodeName"), ("spec", "containers"), ("spec", "minMember"), ("spec", "queue"),
             ("spec", "tasks"), ("spec", "minAvailable"), ("spec", "schedulerName"), ("spec", "weight"), ("spec", "capability")]
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
             "metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 1}, "status": {"phase": "Inqueue"}}
    kinds = [node("n2"), job("b"), running_pod("p", "n1", 1, "2026-03-02T08:30:00Z", "1h"), queue("q"), group]
    odd = []
    for base in kinds:
        for path in paths:
            for value in seeds:
                o = copy.deepcopy(base)
                at = o
                for key in path[:-1]:
                    at = at.setdefault(key, {})
                at[path[-1]] = value
                odd.append(o)
    if not ALL:
        odd = random.Random(4).sample(odd, 120)

    def try_one(o):
        run = pumice("plan", "-f", "-", "--until=2h", stdin=text_of(node("n1"), job("a"), o))
        assert run.returncode in (0, 1), (o, run.returncode, run.stderr)
        assert run.stdout or run.stderr, o
    with ThreadPoolExecutor(os.cpu_count()) as pool: # the program does the work, not this one
        list(pool.map(try_one, odd))


def main():
    suite = Suite()
    for function in (one_job, one_after_the_other, priority_goes_first, submitted_later, a_running_pod_is_in_the_way,
                     what_never_fits_is_said, a_queue_that_does_not_exist, a_queue_with_a_limit, use_adds_up, runtimes, what_is_no_job_stays,
                     without_end, until, the_same_again, more_nodes, fewer_nodes, another_priority, a_job_that_is_preempted, another_size,
                     another_queue, a_job_that_is_moved_was_stopped, priority_of_the_default_class, the_older_job_goes_first,
                     not_all_end, the_schedulers_configuration, without_a_job, several_changes, table, gantt, gantt_of_the_readme, gantt_on_a_terminal, svg, html,
                     names_are_harmless, out_that_cannot_be_written, wrong_use, no_nodes, no_jobs,
                     bad_files_name_file_and_field, odd_objects_do_no_harm):
        suite.case(function.__name__, function)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
