#!/usr/bin/env python3
"""Evictions do not make everybody later: random workloads, planned with preemption and reclaim and without.

The rule is in docs/scheduling.md, "Stops are bounded". `--count N` tries N workloads of each shape (standard: 2).
"""
import json
import math
import os
import sys
import tempfile

from harness import Suite, pumice_json, same
from workloads import SHAPES, comes_over_time, workload

AT = "2026-03-02T09:00:00Z"
HOUR = 3600
COUNT = int(sys.argv[sys.argv.index("--count") + 1]) if "--count" in sys.argv else 2


def plan(items, *args):
    return pumice_json("plan", "-f", "-", "-o", "json", "--at", AT, *args,
                       stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def plan_without(items):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "volcano-scheduler.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write('actions: "enqueue, allocate, backfill"\n')
        return plan(items, "--scheduler-config", path)


def stops_most(hours):
    """Between the first start and the end: one, another after an hour of work, after two more, after four …"""
    return 1 + math.floor(math.log2(hours + 1))


def check(shape, seed):
    items = workload(shape, jobs=60, nodes=5, seed=seed)
    got = plan(items)
    for j in got["jobs"]:
        assert j["phase"] == "Completed", f"{shape} {seed}: {j['name']} is {j['phase']}"
        most = stops_most((j["endSeconds"] - j["startSeconds"]) / HOUR)
        assert j["stops"] <= most, f"{shape} {seed}: {j['name']} was stopped {j['stops']} times, {most} are the most"
    if comes_over_time(shape):
        return sum(j["stops"] for j in got["jobs"])
    end, without = got["lastJobEndSeconds"], plan_without(items)["lastJobEndSeconds"]
    assert end <= 1.05 * without, f"{shape} {seed}: the last job ends at {end}, without evictions at {without}"
    return 0


def main():
    suite = Suite()
    stops = {}

    def one(shape, seed):
        stops[shape] = stops.get(shape, 0) + check(shape, seed)

    for shape in SHAPES:
        for seed in range(1, COUNT + 1):
            suite.case(f"{shape} {seed}", lambda shape=shape, seed=seed: one(shape, seed))
    suite.case("the bound was tried", lambda: same(stops["stream"] > 0, True))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
