#!/usr/bin/env python3
"""What the controller tells about itself: /metrics by the rules of Prometheus' text format, the Grafana dashboard's metrics among them, and a
log of JSON lines that name the job they are about."""
import json
import os
import re
import sys
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from controller import Controller, Hollow, install, job, submit, until, until_phase  # noqa: E402
from harness import Suite  # noqa: E402

DASHBOARD = os.path.join(HERE, "..", "..", "packaging", "grafana", "pumice.json")
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:{NAME}="(?:[^"\\\n]|\\["\\n])*",?)*)\}})? (\S+)$')
PARTS = ("_bucket", "_sum", "_count")


class Seen:
    """One run for all: its metrics before and after, and its log."""


def run(bed):
    seen = Seen()
    with Controller(bed, "told", "--scheduler", "--leader-elect=false", "--webhook", "--webhook-address=127.0.0.1:0",
                    "--log-format=json", "--log-level=debug") as c:
        port = until("a port", lambda: re.search(r'"port":(\d+)', c.log)).group(1)

        def metrics():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as r:
                assert r.headers["Content-Type"].startswith("text/plain; version=0.0.4"), r.headers
                return r.read().decode()

        seen.early = metrics()
        submit(bed, job("seen", 4, "500ms"))
        until_phase(bed, "seen", "Completed")
        lonely = {"metadata": {"name": "lonely"}, "spec": {"schedulerName": "volcano", "nodeSelector": {"there": "is-none"},
                                                           "containers": [{"name": "c", "image": "debian:12"}]}}
        assert bed.call("POST", "/api/v1/namespaces/default/pods", lonely)[0] == 201
        until("it is told why it waits", lambda: 'result="unschedulable"} 1' in metrics())
        seen.text = metrics()
        assert c.stop() == 0
        seen.log = c.log
    return seen


def families(text):
    """{name: (type, [(sample name, labels, value)])}; whatever a scraper would refuse is an error here."""
    assert text.endswith("\n")
    found, current, lines = {}, None, set()
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            assert re.fullmatch(NAME, name) and word in ("HELP", "TYPE"), line
            if word == "HELP":
                assert name not in found and rest, f"twice, or without words: {line}"
                current = name
                found[name] = [None, []]
            else:
                assert name == current and rest in ("counter", "gauge", "histogram") and not found[name][1], line
                found[name][0] = rest
            continue
        m = SAMPLE.match(line)
        assert m, f"no sample: {line}"
        kind = found[current][0]
        assert m[1] == current or (kind == "histogram" and m[1] in [current + p for p in PARTS]), f"{line} below {current}"
        assert (m[1], m[2]) not in lines, f"twice: {line}"
        lines.add((m[1], m[2]))
        found[current][1].append((m[1], m[2] or "", float(m[3])))
    return found


def scraped(seen):
    assert families(seen.early)
    found = families(seen.text)
    for name, (kind, samples) in found.items():
        assert kind, f"{name} has no type"
        if kind == "counter":
            assert all(value >= 0 for _, _, value in samples), name
        if kind == "histogram":
            buckets = [(float(re.search('le="([^"]*)"', labels)[1].replace("+Inf", "inf")), value) for n, labels, value in samples if n == name + "_bucket"]
            assert buckets == sorted(buckets) and [v for _, v in buckets] == sorted(v for _, v in buckets), buckets
            count = next(v for n, _, v in samples if n == name + "_count")
            assert buckets[-1] == (float("inf"), count), buckets
    bound = dict((n, v) for n, _, v in found["volcano_task_scheduling_latency_milliseconds"][1])
    assert bound["volcano_task_scheduling_latency_milliseconds_count"] == 4, bound
    rounds = dict((n, v) for n, _, v in found["volcano_e2e_scheduling_latency_milliseconds"][1])
    assert rounds["volcano_e2e_scheduling_latency_milliseconds_count"] == found["pumice_scheduler_rounds_total"][1][0][2], rounds


def as_volcano_names_them(seen):
    """What its programs tell and has a meaning here; with labels that do not grow with every job."""
    found = families(seen.text)
    per_queue = {f"queue_{what}_{unit}" for what in ("allocated", "request", "deserved", "capacity", "real_capacity", "inqueue")
                 for unit in ("milli_cpu", "memory_bytes", "scalar_resources")}
    per_queue |= {f"queue_pod_group_{phase}_count" for phase in ("pending", "inqueue", "running", "unknown", "completed")}
    per_queue |= {"queue_share", "queue_weight", "queue_overused", "unschedule_task_count", "job_completed_phase_count", "job_failed_phase_count",
                  "job_retry_counts"}
    others = {"controller_job_to_pod_creation_latency_milliseconds", "e2e_scheduling_latency_milliseconds", "e2e_job_scheduling_latency_milliseconds",
              "task_scheduling_latency_milliseconds", "schedule_attempts_total", "pod_preemption_victims", "total_preemption_attempts",
              "eviction_transactions_total", "unschedule_job_count"}
    lacking = {n for n in per_queue | others if f"volcano_{n}" not in found}
    assert not lacking, sorted(lacking)
    for name in per_queue:
        assert all('queue_name="' in labels for _, labels, _ in found[f"volcano_{name}"][1]), name

    def value(name, labels=""):
        return next(v for _, l, v in found[f"volcano_{name}"][1] if l == labels)

    assert value("queue_weight", 'queue_name="default"') == 1 and value("queue_overused", 'queue_name="default"') == 0
    assert value("queue_allocated_scalar_resources", 'queue_name="default",resource="pods"') == 0
    assert value("queue_real_capacity_milli_cpu", 'queue_name="default"') > 0
    assert value("unschedule_job_count") == 1 and value("unschedule_task_count", 'queue_name="default"') == 1, "the pod without a node"
    gangs = dict((n, v) for n, _, v in found["volcano_e2e_job_scheduling_latency_milliseconds"][1])
    assert gangs["volcano_e2e_job_scheduling_latency_milliseconds_count"] == 1, gangs
    assert value("schedule_attempts_total", 'result="scheduled"') == 4 and value("schedule_attempts_total", 'result="unschedulable"') == 1


def counters_never_fall(seen):
    early, late = families(seen.early), families(seen.text)
    for name, (kind, samples) in early.items():
        for n, labels, value in samples if kind != "gauge" else ():
            assert [v for m, other, v in late[name][1] if (m, other) == (n, labels)][0] >= value, (n, labels)


def dashboard(seen):
    with open(DASHBOARD) as f:
        board = json.load(f)
    known = families(seen.text)
    used = set()
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            expression = re.sub(r"\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)", "", target["expr"])
            names = set(re.findall(rf"\b(?:volcano|pumice|process)_{NAME}", expression))
            assert names, target
            used |= {n if n in known else re.sub("_(bucket|sum|count)$", "", n) for n in names}
            assert target["expr"].count("(") == target["expr"].count(")"), target
    assert used <= set(known), f"no such metrics: {sorted(used - set(known))}"
    missing = {n for n in known if n not in used and n != "pumice_build_info"}
    assert not missing, f"not on the dashboard: {sorted(missing)}"
    ids = [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids))


def documented(seen):
    with open(os.path.join(HERE, "..", "..", "docs", "controller.md")) as f:
        text = f.read()
    said = set()
    for word in re.findall(r"`((?:volcano|pumice|process)_[^`]*)`", text):
        parts = [""]
        for piece in re.split(r"(\{[a-z_,]*\})", word):
            if piece.startswith("{") and "," in piece and not piece.startswith("{verb"):
                parts = [p + q for p in parts for q in piece[1:-1].split(",")]
            elif not piece.startswith("{"):
                parts = [p + piece for p in parts]
        said |= set(parts)
    assert said <= set(families(seen.text)), f"there are no such metrics: {sorted(said - set(families(seen.text)))}"


def log_lines(seen):
    lines = [json.loads(line) for line in seen.log.splitlines()]
    assert all({"time", "level", "msg"} <= set(line) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", line["time"]) for line in lines)
    created = [line for line in lines if line["msg"] == "Sending write" and line["verb"] == "create" and line["kind"] == "Pod"]
    assert len(created) == 4 and all(line["job"] == "default/seen" for line in created), created
    about = [line for line in lines if line["msg"] == "Sending write" and line["kind"] in ("Pod", "PodGroup", "Event") and "seen" in line["name"]]
    assert {(line["verb"], line["kind"]) for line in about} >= {("bind", "Pod"), ("patch", "PodGroup"), ("create", "Event")}, about
    assert all(line["job"] == "default/seen" for line in about), [line for line in about if line["job"] != "default/seen"]


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            install(bed)
            with Hollow(bed, "n0"):
                seen = run(bed)
        for case in (scraped, as_volcano_names_them, counters_never_fall, dashboard, documented, log_lines):
            suite.case(case.__name__, lambda: case(seen))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
