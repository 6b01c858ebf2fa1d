"""What the behaviour tests share: running the real binary, and saying which case failed.

PUMICE names the binary under test; meson sets it.
"""
import atexit
import fnmatch
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

# Records of runs are for people: those of tests are nobody's.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="pumice-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], True)

PUMICE = os.environ.get("PUMICE", os.path.join(os.path.dirname(__file__), "..", "build", "pumice"))

os.environ.setdefault("PUMICE_PULL", "never")  # no test asks the world's registries; those with one of their own say so


def pumice(*args, stdin=None, env=None):
    """Run the program; text in, text out. A sanitizer's report is a failure whatever the exit status."""
    run = subprocess.run([PUMICE, *args], input=stdin, capture_output=True, text=True, env=env)
    for sign in ("Sanitizer", "runtime error:"):
        if sign in run.stderr:
            raise AssertionError(f"pumice {' '.join(args)[:200]}:\n{run.stderr[:3000]}")
    if run.returncode < 0:
        raise AssertionError(f"pumice {' '.join(args)[:200]}: killed by signal {-run.returncode}: {run.stderr[:500]}")
    return run


def pumice_json(*args, **kw):
    run = pumice(*args, **kw)
    if run.returncode != 0:
        raise AssertionError(f"pumice {' '.join(args)}: status {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def objects_by_kind(items, kind):
    return [o for o in items if o["kind"] == kind]


def until(what, holds, limit_s=60):
    """Wait for the condition itself; what it says when it is true."""
    end = time.monotonic() + limit_s
    while True:
        got = holds()
        if got:
            return got
        assert time.monotonic() < end, f"never came true: {what}"
        time.sleep(0.05)


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(type=kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def text_of(*objects):
    """A manifest of them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def same(got, want):
    assert got == want, f"want {want!r}, got {got!r}"


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in:\n{text[:4000]}"


def fine(run):
    """What it wrote, of a run that ended well."""
    assert run.returncode == 0, f"status {run.returncode}: {run.stderr}"
    return run.stdout


class Suite:
    """Counts cases; quiet when green, names the case when red. CASE=name in the environment: only those of that name."""

    def __init__(self):
        self.passed = self.failed = 0
        self.only = os.environ.get("CASE")

    def case(self, name, function):
        if self.only and not fnmatch.fnmatch(name, self.only):
            return
        try:
            function()
            self.passed += 1
        except Exception as e:  # every kind of failure is one failed case
            self.failed += 1
            print(f"FAILED {name}: {type(e).__name__}: {e}")
            if not isinstance(e, AssertionError) and type(e).__name__ != "Mismatch":
                traceback.print_exc(file=sys.stdout)

    def finish(self):
        if self.only and not self.passed + self.failed:
            print(f"no case is called {self.only}")
        print(f"cases: {self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
