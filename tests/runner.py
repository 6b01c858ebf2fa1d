#!/usr/bin/env python3
"""tools/runtests.py: what it counts, and that a test that failed beside others gets a second run alone; with a meson that only pretends."""
import contextlib
import io
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tools")]

import runtests  # noqa: E402
from harness import Suite, has, same  # noqa: E402

# Each test has its results in a file, one for each run; a run takes the first. Each command line is kept.
MESON = """#!/usr/bin/env python3
import json, os, sys
args = sys.argv[sys.argv.index("--num-processes") + 1:]
with open("calls", "a") as f:
    f.write(" ".join(args) + "\\n")
with open("results") as f:
    results = json.load(f)
names = list(results) if args[1] == "--no-suite" else [a for a in args[1:] if a in results]
lines = []
for name in names:
    result, text = results[name].pop(0)
    lines.append({"name": "pumice / " + name, "result": result, "stdout": text})
with open("results", "w") as f:
    json.dump(results, f)
if lines:
    with open("build/meson-logs/testlog.json", "w") as f:
        f.writelines(json.dumps(line) + "\\n" for line in lines)
print("what meson says")
sys.exit(sum(line["result"] not in ("OK", "SKIP") for line in lines) if lines else 1)
"""


def runs(results):
    """What runtests.py makes of these results: the sums, the unsteady, what it printed, and how meson was called."""
    with tempfile.TemporaryDirectory() as place:
        os.makedirs(os.path.join(place, "build", "meson-logs"))
        os.mkdir(os.path.join(place, "bin"))
        with open(os.path.join(place, "bin", "meson"), "w") as f:
            f.write(MESON)
            os.chmod(f.fileno(), 0o755)
        with open(os.path.join(place, "results"), "w") as f:
            json.dump(results, f)
        with open(os.path.join(place, "build", "meson-logs", "testlog.json"), "w") as f:
            f.write(json.dumps({"name": "pumice / stale", "result": "OK", "stdout": GOOD[1]}) + "\n")  # an earlier run's
        old, path, out = os.getcwd(), os.environ["PATH"], io.StringIO()
        os.environ["PATH"] = os.path.join(place, "bin") + ":" + path
        os.chdir(place)
        try:
            with contextlib.redirect_stdout(out):
                outcomes, unsteady = runtests.run_failed_again(runtests.meson_tests(3, "--no-suite", "slow"))
            with open("calls") as f:
                calls = f.read().splitlines()
        finally:
            os.chdir(old)
            os.environ["PATH"] = path
    return (sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)), unsteady, out.getvalue(), calls


GOOD = ("OK", "cases: 3 passed, 0 failed\n")
BAD = ("FAIL", "FAILED grows: it did not\ncases: 2 passed, 1 failed\n")


def nothing_runs_twice_when_all_pass():
    sums, unsteady, text, calls = runs({"a": [GOOD], "base/b": [("OK", "[  PASSED  ] 4 test(s).\n")], "c": [("SKIP", "no GPU\n")]})
    same((sums, unsteady, calls), ((7, 0), [], ["3 --no-suite slow"]))
    same(text, "  a: 3 passed\n  base/b: 4 passed\n  c: skipped: no GPU\n")


def what_passes_alone_counts():
    sums, unsteady, text, calls = runs({"tests/a": [BAD, GOOD], "tests/b": [GOOD]})
    same((sums, unsteady), ((6, 0), ["tests/a"]))
    same(calls, ["3 --no-suite slow", "1 tests/a"])  # after all others, and nothing beside it
    has(text, "tests/a: 2 passed, 1 FAILED (FAIL)", "FAILED grows: it did not", "tests/a: failed beside others, passed alone")


def what_fails_twice_fails():
    sums, unsteady, text, _ = runs({"tests/a": [BAD, BAD], "tests/b": [("TIMEOUT", ""), GOOD]})
    same((sums, unsteady), ((5, 1), ["tests/b"]))
    assert text.count("FAILED grows") == 2, text


def silent_ends_fail():
    """A program that dies without a word, one that is skipped only the second time, and a meson that runs nothing at all."""
    same(runs({"a": [("FAIL", ""), ("FAIL", "")]})[:2], ((0, 1), []))
    same(runs({"a": [("FAIL", ""), ("SKIP", "no")]})[:2], ((0, 1), []))
    sums, _, text, _ = runs({})
    same(sums, (0, 1))
    has(text, "what meson says")


def main():
    suite = Suite()
    for case in (nothing_runs_twice_when_all_pass, what_passes_alone_counts, what_fails_twice_fails, silent_ends_fail):
        suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
