#!/usr/bin/env python3
"""The simulation as a test: kept seeds, a range of new ones, large clusters, the same history twice, a crash at every
write."""
import os
import pathlib
import subprocess
import sys

SIM = os.environ["PUMICE_SIM"]
HERE = pathlib.Path(__file__).resolve().parent
SEEDS = os.environ.get("SIM_SEEDS", "200")


def kept():
    for line in (HERE / "seeds.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            seed, steps, profile = line.split()[:3]
            yield ["--seed", seed, "--steps", steps, "--profile", profile]


def main():
    runs = [*kept(), ["--seed", "1", "--seeds", SEEDS, "--steps", "100"], ["--seed", "1", "--seeds", "20", "--twice"],
            ["--seed", "1", "--seeds", "15", "--steps", "100", "--profile", "flows"], ["--seed", "31", "--seeds", "3", "--profile", "flows", "--twice"],
            ["--seed", "1", "--seeds", "15", "--steps", "100", "--profile", "gates"],
            ["--seed", "1", "--seeds", "4", "--steps", "60", "--profile", "large"], ["--crash-every"]]
    passed = failed = 0
    for args in runs:
        done = subprocess.run([SIM, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            failed += 1
            sys.stdout.write(done.stdout.decode(errors="replace"))
            print("FAILED:", "pumice-sim", *args)
        else:
            passed += 1
    print(f"cases: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
