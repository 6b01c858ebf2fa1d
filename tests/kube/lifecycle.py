#!/usr/bin/env python3
"""The checklist of tests/lifecycle on a real API server: the same programs, which the arguments name. LIFECYCLE_DEBUG=1
shows every write."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from controller import install  # noqa: E402
from harness import Suite  # noqa: E402


def check(bed, program):
    env = {**bed.environment(), "LIFECYCLE_KUBE": "1", "CMOCKA_MESSAGE_OUTPUT": "STDOUT"}
    run = subprocess.run([program], env=env, capture_output=True, text=True)
    if os.environ.get("LIFECYCLE_DEBUG"):
        print(run.stderr)
    said = (run.stdout + run.stderr).split("ERROR: LeakSanitizer")[0]  # a test that fails leaves all it has
    bad = [line for line in said.splitlines() if "OK ]" not in line and "RUN " not in line]
    assert run.returncode == 0, "\n".join(bad)[:6000]


def main():
    suite = Suite()
    try:
        with Bed(server_flags=["--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection"]) as bed:
            install(bed)
            for program in sys.argv[1:]:
                suite.case(os.path.basename(program), lambda: check(bed, program))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
