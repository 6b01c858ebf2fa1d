#!/usr/bin/env python3
"""Runs meson's tests and the static checks, and adds up their cases.

A cmocka program says how many cases passed, our own say "cases: N passed, N failed"; a program that dies without a
word is one failed case.

  runtests.py          what the README promises
  runtests.py kube     and the suite on a real kube-apiserver (tests/kube), which is built when it is not there yet
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


def meson_tests(*suite):
    run = subprocess.run(["meson", "test", "-C", BUILD, "--no-rebuild", "--quiet", "--num-processes", str(os.cpu_count() * 3 // 2), *suite],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log = os.path.join(BUILD, "meson-logs", "testlog.json")
    if not os.path.exists(log):
        say(run.stdout)
        return 0, 1
    passed = failed = 0
    with open(log) as f:
        for line in f:
            test = json.loads(line)
            text = (test.get("stdout") or "") + (test.get("stderr") or "")
            if test["result"] == "SKIP":
                say(f"  {test['name']}: skipped: {(text.strip().splitlines() or ['no reason given'])[-1]}")
                continue
            ok = test["result"] in ("OK", "EXPECTEDFAIL")
            p, n = count_cases(text, ok)
            if not ok and not n:
                n = 1
            passed, failed = passed + p, failed + n
            say(f"  {test['name']}: {p} passed" + (f", {n} FAILED ({test['result']})" if n else ""))
            if n:
                say(text)
    return passed, failed


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
    passed, failed = meson_tests("--no-suite", "kube", "--no-suite", "slow")
    if "kube" in sys.argv[1:]:
        say("tests that take long, and those on a real kube-apiserver:")
        p, n = meson_tests("--suite", "kube", "--suite", "slow")
        passed, failed = passed + p, failed + n
    say("checks:")
    for check in (check_format, check_cppcheck, check_layers, check_citations, check_unused, check_manual, check_packaging):
        ok = check()
        say(f"  {check.__name__.removeprefix('check_')}: {'fine' if ok else 'FAILED'}")
        passed, failed = passed + ok, failed + (not ok)
    say(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
