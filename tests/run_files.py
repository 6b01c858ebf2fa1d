#!/usr/bin/env python3
"""Files of this machine in the pods: --mount, --here, --workdir, --env-file, and hostPaths that are relative."""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Suite, pumice  # noqa: E402
from runs import Run, job, sh, task  # noqa: E402

HERE = tempfile.mkdtemp(prefix="pumice-files-")  # where the user is; the job's file is elsewhere


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def ended(what, *options):
    r = Run(what, *options).end()
    assert r.phase() == "Completed", (r.status, r.err, r.all_lines())
    return r


def from_everywhere():
    """Beside the job's file by its name, here with ./, anywhere with /; read-only where that is said; -e goes before the files."""
    beside = tempfile.mkdtemp(prefix="pumice-beside-")
    try:
        write(f"{beside}/data/who", "beside")
        write(f"{HERE}/data/who", "here")
        names = write(f"{HERE}/vars", "# not me\n\nFIRST=1 = one\n  SECOND=2\r\nTHIRD=file\nKNOWN\n")
        script = ("cat /a/who /b/who /c/who; echo; cat %s/data/who; echo; (echo x > /a/new) 2>/dev/null || echo no; echo mine > /b/new; pwd; "
                  "echo \"$FIRST $SECOND $THIRD $KNOWN\"" % beside)
        volumes = [{"name": "c", "hostPath": {"path": "data/../data"}}]
        path = write(f"{beside}/job.yaml", json.dumps(job("j", task(
            "t", sh(script), pod={"volumes": volumes}, volumeMounts=[{"name": "c", "mountPath": "/c"}, {"name": "c", "mountPath": "/a"}]))))
        os.environ["KNOWN"] = "known"
        r = ended(path, "--mount", "data:/a:ro", "--mount", "./data:/b", "--mount", f"{beside}/data", "--workdir", "/usr", "--env-file", names,
                  "-e", "THIRD=flag")
        assert r.all_lines() == ["besideherebeside", "beside", "no", "/usr", "1 = one 2 flag known"], r.all_lines()
        assert os.path.exists(f"{HERE}/data/new") and not os.path.exists(f"{beside}/data/new")
    finally:
        shutil.rmtree(beside)


def here():
    write(f"{HERE}/in", "42")
    r = ended(job("j", task("t", sh("pwd; cat in > out; cp in /tmp/not-kept"))), "-C")
    assert r.all_lines() == [HERE], r.all_lines()
    with open(f"{HERE}/out") as f:
        assert f.read() == "42"


def says_what_is_wrong():
    path = write(f"{HERE}/bad.yaml", json.dumps(job("j", task("t", sh("true")))))
    write(f"{HERE}/bad.env", "A=1\n=2\n")
    for args, piece in (
            (("--mount", "nope"), f"--mount nope: {HERE}/nope: No such file or directory"),
            (("--mount", "in:out"), '--mount in:out: "out" is no place in a pod'),
            (("--mount", "in:/"), '"/" is no place in a pod'),
            (("--mount", "/"), "the root of this machine"),
            (("--mount", "in:/x:w"), "this is not HOST, HOST:POD or HOST:POD:ro"),
            (("--mount", ""), "this is not HOST"),
            (("--mount", "in", "--restricted"), "--mount: --restricted refuses"),
            (("-C", "--restricted"), "--here: --restricted refuses"),
            (("--workdir", "x"), '--workdir: "x" is no directory of a pod'),
            (("--env-file", "nope"), "--env-file nope: cannot open it"),
            (("--env-file", "bad.env"), "--env-file bad.env: line 2: this is not NAME=VALUE")):
        r = pumice("run", path, *args)
        assert r.returncode == 2 and piece in r.stderr, (args, r.returncode, r.stderr)


def main():
    suite = Suite()
    os.chdir(HERE)
    try:
        for case in (from_everywhere, here, says_what_is_wrong):
            suite.case(case.__name__, case)
    finally:
        os.chdir("/")
        shutil.rmtree(HERE)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
