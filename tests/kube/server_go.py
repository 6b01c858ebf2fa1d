#!/usr/bin/env python3
"""`pumice server` and Go programs: informers (also when the server is killed), leader election, protobuf, typed clients of Kubernetes' and Volcano's kinds, the dynamic
client, exec by both protocols. The checks are in volcano/main.go; each is a case here."""
import hashlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Skip, binaries  # noqa: E402
from harness import Suite  # noqa: E402
from server import Server  # noqa: E402


def result(words):
    assert words == "ok", words


def main():
    suite = Suite()
    try:
        with open(os.path.join(HERE, "volcano", "main.go"), "rb") as f:
            program = os.path.join(binaries("volcano"), f"volcano-{hashlib.sha256(f.read()).hexdigest()[:8]}")
    except Skip as e:
        print(f"skipped: {e}")
        return 77
    s = Server()
    s.ok("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "go"}})
    said = tempfile.TemporaryFile("w+")
    run = subprocess.Popen([program, "go", *sys.argv[1:]], env={**os.environ, "KUBECONFIG": s.config}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=said, text=True, bufsize=1)
    for line in run.stdout:
        name, _, words = line.strip().partition("\t")
        if name == "restart":
            s.restart()
            print("done", file=run.stdin)
            continue
        suite.case(name, lambda: result(words))
    suite.case("ends_well", lambda: s.stop())
    run.stdin.close()
    if run.wait():
        said.seek(0)
        print(said.read()[-3000:])
    return suite.finish() or run.returncode


if __name__ == "__main__":
    sys.exit(main())
