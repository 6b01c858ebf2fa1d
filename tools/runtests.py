#!/usr/bin/env python3
"""Runs meson's tests and the static checks, and adds up their cases.

A cmocka program prints the number of passed cases, other programs "cases: N passed, N failed"; a program that dies without
output is one failed case. A test that fails is run once more at the end, alone; if it passes then, it counts as passed and
is listed as unsteady.

  runtests.py          all tests but the slow ones, and the checks
  runtests.py kube     also the slow ones, and the suite on a real kube-apiserver (tests/kube), which is built if missing
"""
import filecmp
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD = "build"


def say(line):
    print(line, flush=True)


def count_cases(text, ok):
    own = re.findall(r"^cases: (\d+) passed, (\d+) failed", text, re.M)
    if own:
        return sum(int(p) for p, _ in own), sum(int(f) for _, f in own)
    passed = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test", text))
    failed = sum(int(n) for n in re.findall(r"\[  FAILED  \] (?:\w+: )?(\d+) test", text))
    if not ok and not failed:
        failed = 1
    return passed or int(ok), failed


class Outcome:
    """What one test program came to, from its line in meson's log."""

    def __init__(self, test):
        self.name = test["name"].split(" / ")[-1]  # "pumice:kube / tests/kube/smoke"
        self.result = test["result"]
        self.text = (test.get("stdout") or "") + (test.get("stderr") or "")
        self.is_skipped = self.result == "SKIP"
        self.passed = self.failed = 0
        if not self.is_skipped:
            ok = self.result in ("OK", "EXPECTEDFAIL")
            self.passed, self.failed = count_cases(self.text, ok)
            if not ok and not self.failed:
                self.failed = 1

    def __str__(self):
        if self.is_skipped:
            return f"{self.name}: skipped: {(self.text.strip().splitlines() or ['no reason given'])[-1]}"
        return f"{self.name}: {self.passed} passed" + (f", {self.failed} FAILED ({self.result})\n{self.text}" if self.failed else "")


def meson_tests(processes, *which):
    """The outcomes of the tests that meson's arguments name, each told as soon as all of them have ended."""
    log = os.path.join(BUILD, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)  # one of an earlier run must not speak for this one
    run = subprocess.run(["meson", "test", "-C", BUILD, "--no-rebuild", "--quiet", "--num-processes", str(processes), *which],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    outcomes = []
    if os.path.exists(log):
        with open(log) as f:
            outcomes = [Outcome(json.loads(line)) for line in f]
    if not outcomes or (run.returncode and not any(o.failed for o in outcomes)):
        outcomes.append(Outcome({"name": "meson", "result": f"status {run.returncode}", "stdout": run.stdout}))
    for outcome in outcomes:
        say(f"  {outcome}")
    return outcomes


def run_failed_again(outcomes):
    """Run each test that failed once more, with nothing beside it: what passes then counts. Returns the outcomes that count, and
    the names of the tests that failed only beside others."""
    last, unsteady = {o.name: o for o in outcomes}, []
    failed = [o.name for o in outcomes if o.failed]
    if failed:
        say("tests that failed, alone:")
    for name in failed:
        again = {o.name: o for o in meson_tests(1, name)}.get(name)
        if again and not again.failed and not again.is_skipped:
            say(f"  {name}: failed beside others, passed alone")
            unsteady.append(name)
            last[name] = again
    return list(last.values()), unsteady


def sources():
    return sorted(f for d in ("src", "fuzz", "bench", "tests") for f in glob.glob(f"{d}/**/*.[ch]", recursive=True))


def check_format():
    return subprocess.run(["clang-format", "--dry-run", "--Werror", *sources()]).returncode == 0


def check_cppcheck():
    files = [f for f in sources() if f.startswith("src/") and f.endswith(".c") and "/test/" not in f]
    return subprocess.run(["cppcheck", "--quiet", "--enable=warning,performance,portability", "--std=c11", "--inline-suppr",
                           "--suppress=missingIncludeSystem", "--suppressions-list=tools/cppcheck.txt",
                           "--error-exitcode=1", "-j", str(os.cpu_count()), "-Isrc",
                           '-DPUMICE_VERSION="0"', "-D_GNU_SOURCE", "-D__cppcheck__", *files]).returncode == 0


# Rooms of these share one library: the order binds their headers, and a source may use any header of its library.
ROOMS = ("api", "sched")


def layer_order():
    """Folders from the bottom up; meson.build reads the same list."""
    with open("src/layers.txt") as f:
        return f.read().split()


def folder_of(path):
    """src/node/net/net.c is of node/net, src/api/test/name.c of api."""
    return re.sub(r"/test$", "", os.path.dirname(path).removeprefix("src/"))


def shares_library(path, own, theirs):
    top = own.split("/")[0]
    return top in ROOMS and theirs.split("/")[0] == top and ("/test/" in path or path.endswith(".c"))


def check_layers():
    """A folder may use the folders above it, never those below; what is internal to a folder is for its own files and tests."""
    order, bad = layer_order(), []
    for path in (f for f in sources() if f.startswith("src/") and f.count("/") > 1):
        own = folder_of(path)
        with open(path) as f:
            for used in re.findall(r'^#include "(\w[\w/]*/\w+\.h)"', f.read(), re.M):
                theirs = os.path.dirname(used)
                if shares_library(path, own, theirs):
                    continue
                if used.endswith("_internal.h") and theirs != own:
                    bad.append(f"{path} includes {used}, which is internal to {theirs}")
                elif "/test/" not in path and theirs not in order:
                    bad.append(f"{path} includes {used}: {theirs} is not in src/layers.txt")
                elif "/test/" not in path and order.index(theirs) > order.index(own):
                    bad.append(f"{path} includes {used}: {own} is below {theirs}")
    tops = list(dict.fromkeys(folder.split("/")[0] for folder in order))
    with open("CONTRIBUTING.md") as f:
        if re.findall(r"^\| `src/(\w+)` \|", f.read(), re.M) != tops:
            bad.append("CONTRIBUTING.md: the rows of folders are not in the order of src/layers.txt: " + ", ".join(tops))
    for line in bad:
        say(line)
    return not bad


def check_manual():
    fine = True
    for page, command in (("docs/pumice.1", ["manual"]), ("docs/plugins.md", ["plugins", "-o", "markdown"])):
        made = subprocess.run([f"{BUILD}/pumice", *command], capture_output=True, text=True).stdout
        with open(page) as f:
            if f.read() != made:
                say(f"{page} is not what the program says: run 'make manual'")
                fine = False
    return fine


def check_citations():
    return subprocess.run([sys.executable, "tools/citations.py"]).returncode == 0


def check_unused():
    return subprocess.run([sys.executable, "tools/unused.py"]).returncode == 0


def check_names():
    return subprocess.run([sys.executable, "tools/names.py"]).returncode == 0


def check_words():
    return subprocess.run([sys.executable, "tools/words.py", "--strict"]).returncode == 0


def files_below(top):
    return {os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names}


def check_packaging():
    """What is in packaging/ is what the program writes, no more and no less."""
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([f"{BUILD}/pumice", "install", "--output", made], check=True)
        ours = {f for f in files_below("packaging") if f.split("/")[0] in os.listdir(made)}
        bad = ours ^ files_below(made)
        bad |= {f for f in ours - bad if not filecmp.cmp(os.path.join("packaging", f), os.path.join(made, f), shallow=False)}
    for f in sorted(bad):
        say(f"packaging/{f} is not what the program writes: run 'make packaging'")
    return not bad


def main():
    say("tests:")
    outcomes = meson_tests(os.cpu_count() * 3 // 2, "--no-suite", "kube", "--no-suite", "slow")
    if "kube" in sys.argv[1:]:
        say("tests that take long, and those on a real kube-apiserver:")
        outcomes += meson_tests(os.cpu_count() * 3 // 2, "--suite", "kube", "--suite", "slow")
    outcomes, unsteady = run_failed_again(outcomes)
    passed, failed = sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)
    say("checks:")
    for check in (check_format, check_cppcheck, check_layers, check_citations, check_unused, check_names, check_words,
                  check_manual, check_packaging):
        ok = check()
        say(f"  {check.__name__.removeprefix('check_')}: {'fine' if ok else 'FAILED'}")
        passed, failed = passed + ok, failed + (not ok)
    if unsteady:
        say(f"unsteady (failed beside others, passed alone): {', '.join(unsteady)}")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
