#!/usr/bin/env python3
"""Jobs that say nothing: they are told to be silent, and what their processes wait in, when asked and with --stacks."""
import os
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Suite, pumice  # noqa: E402
from runs import Run, has_user_namespaces, job, sh, skip, task  # noqa: E402

PYTHON = shutil.which("python3", path="/usr/bin:/bin")
THREADS = "import threading, time\nfor i in range(3): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\ntime.sleep(100)"


def notices(r, piece):
    return [e["text"] for e in r.of("notice") if piece in e["text"]]


def silent():
    """Told after a second and after two, not after each; a word begins it anew. Nothing is told of a job that only waits."""
    r = Run(job("j", task("t", sh("sleep 3.5; echo word; sleep 2.5"))), "--silence", "1s").end()
    told = notices(r, "no output for")
    seconds = [int(re.match(r"no output for (\d+)s;", t)[1]) for t in told]
    assert 3 <= len(seconds) <= 5 and seconds[0] < seconds[1], told  # a slow machine tells of it late
    assert any(later < earlier for earlier, later in zip(seconds, seconds[1:])), told
    assert all("1 pod runs, and used" in t and "(SIGQUIT shows" in t for t in told), told


def busy():
    r = Run(job("j", task("t", sh("while :; do :; done"))), "--silence", "3s", "--timeout", "6s").end()
    told = notices(r, "no output for")[0]
    used = told.split("used ")[1].split("s of CPU")[0]
    assert "m" in used or float(used) > 0.3, told  # it is never all of a loaded machine


def asked():
    tools = tempfile.mkdtemp(prefix="pumice-tools-")
    with open(f"{tools}/py-spy", "w") as f:
        f.write("#!/bin/sh\necho \"spied on $*\"\n")
    os.chmod(f"{tools}/py-spy", 0o755)
    r = Run(job("j", task("t", [PYTHON, "-c", THREADS], replicas=2), task("s", sh("sleep 101 & wait"))), "--silence", "0",
            env={"PATH": f"{tools}:{os.environ['PATH']}"})
    r.until(lambda r: len([e for e in r.of("pod") if e.get("phase") == "Running" or e.get("state") == "running"]) >= 3)
    time.sleep(1)  # until they sleep
    r.signal(signal.SIGQUIT).until(lambda r: notices(r, "what the processes wait in"))
    text = notices(r, "what the processes wait in")[0]
    for piece in ("  t-0/main\n", "  t-1/main\n", "  s-0/main\n", "sleep 101\n", " waits in ", "spied on dump --pid "):
        assert piece in text, (piece, text)
    assert "pumice-init" not in text and not notices(r, "no output"), text
    assert any(w in text for w in ("3 threads: waits", "4 threads: waits", "2 threads: waits")), text
    r.signal(signal.SIGTERM).end()
    assert r.status == 143, r.status
    shutil.rmtree(tools)


def by_itself():
    r = Run(job("j", task("t", sh("sleep 1.5"))), "--silence", "1s", "--stacks").end()
    assert "sleep 1.5\n" in notices(r, "what the processes wait in")[0] and r.phase() == "Completed", r.of("notice")


def by_itself_as_a_user():
    """Who has no groups of his own has processes all the same; what they used is not known, and not said to be nothing."""
    if os.getuid() != 0 or not has_user_namespaces(61999):
        return skip("no user namespaces for others")
    r = Run(job("j", task("t", sh("sleep 100 & wait"))), "--silence", "1s", "--stacks", user=61999)
    r.until(lambda r: notices(r, "wait in") or notices(r, "no process")).signal(signal.SIGTERM).end()
    text = notices(r, "what the processes wait in")[0]
    assert "  t-0/main\n" in text and "sleep 100\n" in text and "pumice-init" not in text, text
    told = notices(r, "no output for")[0]
    assert "1 pod runs" in told and "used 0s" not in told, told
    return None


def wrong_use():
    for value, piece in (("x", "--silence"), ("-1s", "--silence: must be a duration, or 0")):
        r = pumice("run", "--silence", value, "-", stdin="")
        assert r.returncode == 2 and piece in r.stderr, r.stderr


def main():
    suite = Suite()
    for case in (silent, busy, asked, by_itself, by_itself_as_a_user, wrong_use):
        suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
