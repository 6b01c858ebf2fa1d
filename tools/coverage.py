#!/usr/bin/env python3
"""How much of the code the tests execute: lines and branches of each folder.

    tools/coverage.py [FOLDER …]      (default: job sched store server auth; "all": every folder)

Builds b-coverage with gcc's counters, runs all tests except long ones and those that need a kube-apiserver, and adds up the counts of gcov. Code of
tests does not count. A line that several programs contain counts as executed when one of them executed it; so does a branch.
"""
import collections
import json
import os
import subprocess
import sys

BUILD = "b-coverage"
FOLDERS = ("job", "sched", "store", "server", "auth")


def build():
    if not os.path.exists(f"{BUILD}/build.ninja"):
        subprocess.run(["meson", "setup", BUILD, "-Db_coverage=true", "-Doptimization=0"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "--quiet"], check=True)


def counters():
    return [os.path.join(d, f) for d, _, names in os.walk(f"{BUILD}/src") for f in names if f.endswith(".gcda")]


def run_tests():
    for file in counters():
        os.unlink(file)
    tests = subprocess.run(["meson", "test", "-C", BUILD, "--no-rebuild", "--quiet", "--no-suite", "kube", "--no-suite", "slow"])
    if tests.returncode:
        print("Some tests failed: the figures are those of the others", file=sys.stderr)


class File:
    def __init__(self):
        self.lines, self.branches = collections.Counter(), collections.Counter()

    def add(self, lines):
        for line in lines:
            number = line["line_number"]
            self.lines[number] += line["count"]
            for i, branch in enumerate(line["branches"]):
                if not branch["throw"]:
                    self.branches[number, i] += branch["count"]


def measure():
    files = collections.defaultdict(File)
    for file in counters():
        said = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", os.path.abspath(file)], cwd=BUILD, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for document in said.decode().splitlines():
            for part in json.loads(document)["files"]:
                name = os.path.relpath(os.path.join(BUILD, part["file"]))
                if name.startswith("src/") and "/test/" not in name:
                    files[name].add(part["lines"])
    return files


def share(counts):
    return f"{sum(1 for c in counts if c) * 100 / len(counts):.1f} %" if counts else ""


def main():
    wanted = sys.argv[1:] or FOLDERS
    build()
    run_tests()
    files = measure()
    print("| folder | lines | executed | branches | taken |\n|---|---|---|---|---|")
    for folder in sorted({f.split("/")[1] for f in files if f.count("/") > 1}) if "all" in wanted else wanted:
        own = [f for name, f in files.items() if name.startswith(f"src/{folder}/")]
        lines = [c for f in own for c in f.lines.values()]
        branches = [c for f in own for c in f.branches.values()]
        print(f"| {folder} | {len(lines):,} | {share(lines)} | {len(branches):,} | {share(branches)} |")


main()
