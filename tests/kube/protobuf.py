#!/usr/bin/env python3
"""Our protobuf beside Kubernetes' own: random objects of every built-in kind, as the Go libraries write them, must be read
here as the JSON those libraries write, and be written here byte for byte the same; what is written here must be read there.
SEED and COUNT (of each kind) may be set."""
import base64
import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Skip, binaries  # noqa: E402
from harness import Suite  # noqa: E402
from patch import Patcher  # noqa: E402

SEED, COUNT = os.environ.get("SEED", "1"), int(os.environ.get("COUNT", "40"))


def is_zero(o):
    """An object that has nothing but the zeroes of its fields."""
    return isinstance(o, dict) and all(v in ("", 0) for v in o.values())


def bare(o):
    """Without what says nothing and is left out here: null, objects and lists without anything, a port that is not set."""
    if isinstance(o, dict):
        out = {k: bare(v) for k, v in o.items()}
        return {k: v for k, v in out.items() if v not in (None, {}, []) and not is_zero(v) and not (k in ("targetPort", "port") and v == 0)}
    return [bare(v) for v in o] if isinstance(o, list) else o


def main():
    try:
        with open(os.path.join(HERE, "protobuf", "main.go"), "rb") as f:
            program = os.path.join(binaries("protobuf"), f"protobuf-{hashlib.sha256(f.read()).hexdigest()[:8]}")
    except Skip as e:
        print(f"skipped: {e}")
        return 77
    suite, patcher = Suite(), Patcher()
    run = subprocess.run([program, SEED, str(COUNT)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    kinds = {}
    for row in rows:
        kinds.setdefault((row["json"]["apiVersion"], row["json"]["kind"]), []).append(row)

    def reads(rows):
        for row in rows:
            ours = patcher.ask(op="decode", proto=row["proto"])
            assert "object" in ours, f"{ours} for {row['json']}"
            assert bare(ours["object"]) == bare(row["json"]), \
                f"ours {json.dumps(bare(ours['object']), sort_keys=True)}\ntheirs {json.dumps(bare(row['json']), sort_keys=True)}"

    def writes(rows):
        for row in rows:
            ours = patcher.ask(op="encode", body=row["json"])
            assert ours.get("proto") == row["proto"], \
                f"ours {show(ours)}\ntheirs {base64.b64decode(row['proto'])}\nof {json.dumps(row['json'])}"

    def show(answer):
        return base64.b64decode(answer["proto"]) if "proto" in answer else answer

    def there_and_back():
        """What we store is read by them, and says the same."""
        asked = [(patcher.ask(op="decode", proto=row["proto"])["object"]) for row in rows]
        sent = "".join(json.dumps({"proto": patcher.ask(op="encode", body=o)["proto"]}) + "\n" for o in asked)
        run = subprocess.run([program, "1", "0"], input=sent, capture_output=True, text=True, check=True)
        for ours, line in zip(asked, run.stdout.splitlines(), strict=True):
            assert bare(json.loads(line)["json"]) == bare(ours), f"{line}\n{ours}"

    def broken():
        """Cut short or with a byte changed: an error or an object, nothing else."""
        for i, row in enumerate(rows):
            body = bytearray(base64.b64decode(row["proto"]))
            for at in range(i % 7, len(body), max(1, len(body) // 12)):
                for changed in (body[:at], body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1:]):
                    answer = patcher.ask(op="decode", proto=base64.b64encode(changed).decode())
                    assert "object" in answer or answer["error"], answer

    for (version, kind), of_kind in kinds.items():
        suite.case(f"reads {version} {kind}", lambda: reads(of_kind))
        suite.case(f"writes {version} {kind}", lambda: writes(of_kind))
    suite.case("there and back", there_and_back)
    suite.case("broken bodies", broken)
    suite.case("the library behaves", patcher.close)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
