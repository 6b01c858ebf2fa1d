"""Random workloads that keep a cluster full: what `tests/churn.py` proves and `bench/plan` measures."""
import random

NODE_CPUS = 8


def node(i):
    have = {"cpu": str(NODE_CPUS), "memory": "32Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i:04}"}, "status": {"allocatable": have, "capacity": have}}


def queue(name, weight, **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": weight, **spec}}


def priority_class(i):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"p{i}"}, "value": 100 * i}


def job(i, queue, pods, cpu, minutes, minimum=None, priority=None, after=0, memory=None):
    requests = {"cpu": str(cpu), **({"memory": memory} if memory else {})}
    container = {"name": "main", "image": "i", "resources": {"requests": requests}}
    task = {"name": "main", "replicas": pods, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    notes = {"pumice.dev/runtime": f"{minutes}m"}
    spec = {"minAvailable": pods if minimum is None else minimum, "queue": queue, "tasks": [task]}
    if after:
        notes["pumice.dev/submit-after"] = f"{after}s"
    if priority is not None:
        spec["priorityClassName"] = f"p{priority}"
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
            "metadata": {"name": f"j{i:05}", "namespace": "default", "annotations": notes}, "spec": spec}


ONE = [queue("q0", 1)]
FLAT = [queue(f"q{i}", i + 1) for i in range(9)]
TREE = [queue(f"t{i}", i + 1) for i in range(3)] + [queue(f"t{i}{k}", k + 1, parent=f"t{i}") for i in range(3) for k in range(3)]

# queues, priorities, jobs that can run with half of their pods, jobs that come one by one
SHAPES = {
    "one": (ONE, 5, False, False),
    "shares": (FLAT, 0, False, False),
    "flat": (FLAT, 5, False, False),
    "tree": (TREE, 5, False, False),
    "elastic": (FLAT, 5, True, False),
    "stream": (FLAT, 5, False, True),
}


def comes_over_time(shape):
    return SHAPES[shape][3]


def workload(shape, jobs, nodes=25, seed=1):
    """Objects of a cluster and its jobs: 1 to 8 pods of 1 to 4 CPUs for 1 to 60 minutes."""
    queues, priorities, is_elastic, over_time = SHAPES[shape]
    parents = {q["spec"].get("parent") for q in queues}
    leaves = [q["metadata"]["name"] for q in queues if q["metadata"]["name"] not in parents]
    r = random.Random(f"{shape} {jobs} {nodes} {seed}")
    made, work = [], 0
    for i in range(jobs):
        pods, cpu, minutes = r.randint(1, 8), r.randint(1, 4), r.randint(1, 60)
        after = int(work / (NODE_CPUS * nodes)) if over_time else 0  # as fast as the nodes could work them off
        made.append(job(i, r.choice(leaves), pods, cpu, minutes, (pods + 1) // 2 if is_elastic else None,
                        r.randrange(priorities) if priorities else None, after))
        work += pods * cpu * minutes * 60
    return [node(i) for i in range(nodes)] + queues + [priority_class(i) for i in range(priorities)] + made
