"""Many small draws on all nodes of a Ray cluster: π by chance."""
import os
import random
import time

import ray

NODES = int(os.environ.get("NODES", "3"))


@ray.remote
def inside(seed, n):
    draw = random.Random(seed)
    hits = sum(draw.random() ** 2 + draw.random() ** 2 < 1 for _ in range(n))
    time.sleep(0.5)                 # long enough that the others take part
    return hits, os.uname().nodename


def main():
    ray.init(address="auto", log_to_driver=False)
    while sum(n["Alive"] for n in ray.nodes()) < NODES:       # workers join one by one
        time.sleep(0.2)
    for node in sorted(n["NodeManagerHostname"] for n in ray.nodes()):
        print(f"node {node}", flush=True)
    n = 20000
    answers = ray.get([inside.options(scheduling_strategy="SPREAD").remote(i, n) for i in range(12)])
    print(f"{len(answers)} tasks ran on {len({host for _, host in answers})} nodes")
    print(f"pi is about {4 * sum(hits for hits, _ in answers) / (n * len(answers)):.2f}")


main()
