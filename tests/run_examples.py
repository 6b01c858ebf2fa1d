#!/usr/bin/env python3
"""Every example runs, and says what its README shows."""
import os
import re
import sys

from harness import Suite
from runs import HERE, has, run, run_text, skip
from run_frameworks import PEERS, PYTHON, imports

EXAMPLES = os.path.join(HERE, "..", "examples")

# example: (options, patterns that some line of the output matches, what is needed, is it there?)
CASES = {
    "mpi": ((), [r"workers: pi-mpiworker-0\.pi,pi-mpiworker-1\.pi", r"rank 0 of 2 on pi-mpiworker-0: 1\.57", r"pi = 3\.14159265359\d"],
            "openmpi-bin, openssh-server", lambda: has("mpiexec", "sshd")),
    "pytorch-ddp": ((), [r"rank 2 of 3 on ddp-worker-1: the ranks add up to 3", r"rank 0: learned y = 3\.000 x -1\.000"],
                    "python3-torch", lambda: imports(PYTHON, "torch")),
    "tensorflow-ps": ((), [r"chief 0: learned y = 2\.00 a -3\.00 b \+0\.50"], "", lambda: True),
    "ray": (("--env", f"PATH={PEERS}/bin:/usr/bin:/bin"), [r"node ray-worker-1", r"12 tasks ran on 3 nodes", r"pi is about 3\.1"],
            "ray in PUMICE_PEERS", lambda: imports(f"{PEERS}/bin/python3", "ray")),
    "deepspeed-hostfile": ((), [r"launch: 6 processes on 3 hosts", r"rank 3 of 6 \(local 1\) on hostfile-worker-0: average \[2\.5, 1\.0\]",
                                r"launch: all done"], "openssh-server", lambda: has("sshd")),
    "horovod-ring": ((), [rf"rank {i} of 3 on ring-worker-{i}: 3000 numbers, all right" for i in range(3)],
                     "openmpi-bin, openssh-server", lambda: has("mpiexec", "sshd")),
    "bag-of-tasks": ((), [r"1492 primes from 1 to 12500", r"1100 primes from 87501 to 100000"], "", lambda: True),
    "error-handling": ((), [r"lost the connection to my peers", r"worker 1, run 1 of the job", r"worker 1 is done"], "", lambda: True),
    "dependencies": ((), [r"1000 numbers", r"500 squares", r"the squares add up to 333833500"], "", lambda: True),
    "flow": ((), [r"1000 numbers", r"250000", r"250500", r"all together 500500"], "", lambda: True),
    "elastic": (("--node", "cpu=600m,memory=1Gi"), [r"elastic-worker-\d did \d+ of 60 pieces"], "", lambda: True),
    "priorities": (("--node", "cpu=1,memory=1Gi"), [r"hotfix is done", r"training is done", r"reports is done"], "", lambda: True),
}


def runs_as_it_says(name):
    options, patterns, needs, is_there = CASES[name]
    if not is_there():
        return skip(f"{name}: no {needs}")
    r = run(os.path.join(EXAMPLES, name, "job.yaml"), *options).done()
    text = "\n".join(r.all_lines())
    for pattern in patterns:
        assert re.search(f"^{pattern}", text, re.M), f"{name}: no line like {pattern!r} in {text[-2000:]}"
    if name == "priorities":
        ends = [line.split()[0] for line in text.splitlines() if line.endswith("begins")]
        assert ends.index("hotfix") < ends.index("training"), ends


def mpi_as_people_see_it():
    if not has("mpiexec", "sshd"):
        return skip("mpi: no openmpi-bin, openssh-server")
    r = run_text(os.path.join(EXAMPLES, "mpi", "job.yaml"))
    assert r.status == 0, r.err
    assert re.search(r"^mpimaster-0\b.*pi = 3\.14159265359", r.out, re.M), r.out
    assert "Completed" in r.err + r.out, r.err


def all_are_tried():
    assert set(CASES) == {d for d in os.listdir(EXAMPLES) if os.path.isdir(os.path.join(EXAMPLES, d))}, os.listdir(EXAMPLES)


def main():
    suite = Suite()
    for name in CASES:
        if len(sys.argv) == 1 or name in sys.argv:
            suite.case(name, lambda n=name: runs_as_it_says(n))
    if len(sys.argv) == 1:
        suite.case("mpi_as_people_see_it", mpi_as_people_see_it)
        suite.case("all_are_tried", all_are_tried)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
