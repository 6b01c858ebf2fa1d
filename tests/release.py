#!/usr/bin/env python3
"""The release that README's first command and `make install` build: no warning (optimisers see others than the developer's build), and
what is installed runs by itself and goes away again."""
import os
import subprocess
import sys
import tempfile

from harness import Suite

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def must(*command, **kw):
    run = subprocess.run(command, capture_output=True, text=True, cwd=TREE, **kw)
    assert run.returncode == 0, f"{' '.join(command)}:\n{(run.stdout + run.stderr)[-3000:]}"
    return run.stdout


def builds_without_a_warning(dir):
    must("meson", "setup", f"{dir}/build", "--werror", "-Dbuildtype=release", "-Dstrip=true")
    must("ninja", "-C", f"{dir}/build", "pumice")


def installs_and_goes(dir):
    env = {"PATH": os.environ["PATH"], "HOME": dir}
    must("tools/install", f"{dir}/build/pumice", f"{dir}/usr")
    said = subprocess.run([f"{dir}/usr/bin/pumice", "validate", "examples/mpi/job.yaml"], cwd=TREE, env=env, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    must("tools/uninstall", f"{dir}/usr")
    left = [os.path.join(d, f) for d, _, files in os.walk(f"{dir}/usr") for f in files]
    assert not left, left


def main():
    suite = Suite()
    with tempfile.TemporaryDirectory(prefix="pumice-release-") as dir:
        suite.case("builds without a warning", lambda: builds_without_a_warning(dir))
        suite.case("what is installed runs, and goes", lambda: installs_and_goes(dir))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
