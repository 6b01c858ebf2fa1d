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
        names = write(f"{HERE}/vars", "\ufeff# not me\n\nFIRST=1 = one\n  SECOND=2\r\nTHIRD=file\nKNOWN\n")
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


def odd_places():
    """Where one may be: below a link, in a directory whose name has blanks and a ':', in one that is gone, in the root."""
    odd = f"{HERE}/co:lon and blanks"
    write(f"{odd}/f", "odd")
    os.symlink(odd, f"{HERE}/link")
    path = write(f"{HERE}/odd.yaml", json.dumps(job("j", task("t", sh("cat /x/f; echo; pwd; ls -di ."), pod={}))))
    os.mkdir(f"{HERE}/gone")
    os.mkdir(f"{HERE}/plain")
    os.symlink("plain", f"{HERE}/to-plain")
    try:
        os.chdir(f"{HERE}/to-plain")
        r = ended(path, "-C", "--mount", f"{HERE}/link:/x:ro")
        assert r.all_lines() == ["odd", f"{HERE}/plain", f"{os.stat('.').st_ino} ."], r.all_lines()
        assert ended(path, "--mount", f"{odd}:/x").all_lines()[0] == "odd"
        for place, piece in ((odd, "has a ':', which a path in a pod must not have; use --mount HOST:POD"), ("/", "/ of this machine cannot be"),
                             (f"{HERE}/gone", "the current directory was deleted")):
            os.chdir(place)
            if place.endswith("gone"):
                os.rmdir(place)
            r = pumice("run", "-C", path)
            assert r.returncode == 2 and "--here: " in r.stderr and piece in r.stderr, (place, r.stderr)
    finally:
        os.chdir(HERE)


def says_what_is_wrong():
    path = write(f"{HERE}/bad.yaml", json.dumps(job("j", task("t", sh("true")))))
    for i, line in enumerate(("=2", "export B=2", "B C=2", "1B=2", "B\u00e9=2", "B=\0")):
        write(f"{HERE}/bad{i}.env", f"A=1\n{line}\n")
    for args, piece in (
            (("--mount", "nope"), f"--mount nope: {HERE}/nope: No such file or directory"),
            (("--mount", "in:out"), '--mount in:out: "out" must be an absolute path below /'),
            (("--mount", "in:/"), '"/" must be an absolute path below /'),
            (("--mount", "/"), "/ of this machine cannot be"),
            (("--mount", "./co:lon:/x:y"), "must be HOST, HOST:POD or HOST:POD:ro"),
            (("--mount", "in:/x:w"), "must be HOST, HOST:POD or HOST:POD:ro"),
            (("--mount", ""), "must be HOST"),
            (("--mount", "in", "--restricted"), "--mount: --restricted refuses"),
            (("-C", "--restricted"), "--here: --restricted refuses"),
            (("--workdir", "x"), '--workdir: "x" must be an absolute path'),
            (("--env-file", "nope"), "--env-file nope: cannot open"),
            (("--env-file", "bad0.env"), "--env-file bad0.env: line 2: must be NAME=VALUE"),
            (("--env-file", "bad1.env"), '--env-file bad1.env: line 2: "export B" is not a variable name: use letters'),
            (("--env-file", "bad1.env"), '(leave out "export")'),
            (("--env-file", "bad2.env"), 'line 2: "B C" is not a variable name'),
            (("--env-file", "bad3.env"), 'line 2: "1B" is not a variable name'),
            (("--env-file", "bad4.env"), "line 2:"),
            (("--env-file", "bad5.env"), "line 2: the value of B"),
            (("-e", "A B=1"), '--env A B=1: "A B" is not a variable name')):
        r = pumice("run", path, *args)
        assert r.returncode == 2 and piece in r.stderr, (args, r.returncode, r.stderr)


def main():
    suite = Suite()
    os.chdir(HERE)
    try:
        for case in (from_everywhere, here, odd_places, says_what_is_wrong):
            suite.case(case.__name__, case)
    finally:
        os.chdir("/")
        shutil.rmtree(HERE)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
