#!/usr/bin/env python3
"""Images through the real program: archives and layouts as roots of containers, what they say about themselves, the store."""
import gzip
import json
import os
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

import images
from harness import PUMICE, Suite
from images import docker_archive, entry, folder, layer, link, oci_archive, oci_layout, root, text, write
from runs import job, run, run_text, same, skip

WORDS = ["/bin/sh", "-c", "cat /etc/what"]
D = None  # a directory for all: set in main()


def pod(name, image, command=None, **fields):
    main = {"name": "main", "image": image, **({"command": command} if command else {}), **fields}
    return {"name": name, "replicas": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [main]}}}


def what(words):
    """A root that says which one it is."""
    return layer(root(text("etc/what", words + "\n")))


def store(name="store"):
    return "--image-store", f"{D}/{name}"


def path(name):
    return f"{D}/{name}"


# ---- kinds ----

def all_kinds():
    """A plain tar, packed or not, a directory, docker and OCI archives, a layout: each image is what was given for it. One job."""
    os.makedirs(path("dir"))
    with tarfile.open(write(path("dir.tar"), what("dir"))) as tar:
        tar.extractall(path("dir"))
    given = {"tar": write(path("t.tar"), what("tar")), "tgz": write(path("t.tgz"), gzip.compress(what("tgz"), 1)),
             "docker": docker_archive(path("d.tar"), what("docker"), name="other:1"), "dir": path("dir"),
             "oci": oci_archive(path("o.tar"), what("oci")), "layout": oci_layout(path("layout"), what("layout"), is_gzip=False)}
    r = run(job("j", *[pod(name, f"{name}:1", WORDS) for name in given]), *store("kinds"),
            *[word for name, file in given.items() for word in ("--image", f"{name}:1={file}")]).done()
    same({name: r.lines(f"{name}-0") for name in given}, {name: [name] for name in given})
    said = [e["text"] for e in r.of("notice") if e["text"].startswith("image ")]
    same(len(said), len(given))
    assert all(any(file in s for s in said) for file in given.values()), said
    same(open(path("dir/etc/what")).read(), "dir\n")


def host_files_said_once():
    """What nothing was given for has the host's files; it is said once for each image, however many pods."""
    t = pod("a", "nobody/knows:1", ["/bin/sh", "-c", "test -e /etc/debian_version -o -e /etc/os-release && echo host"])
    t["replicas"] = 3
    r = run(job("j", t, pod("b", "busybox", WORDS)), *store(), "--image", "busybox=" + write(path("b.tar"), what("busybox"))).done()
    same((r.lines("a-2"), r.lines("b-0")), (["host"], ["busybox"]))
    same(sorted(e["text"] for e in r.of("notice") if e["text"].startswith("image ")),
         [f'image "busybox": archive {path("b.tar")}', 'image "nobody/knows:1": the host\'s files'])


def names():
    """Full names are compared; "*" is for the rest."""
    one, rest = write(path("one.tar"), what("one")), write(path("rest.tar"), what("rest"))
    r = run(job("j", pod("short", "busybox", WORDS), pod("long", "docker.io/library/busybox:latest", WORDS),
                pod("tag", "busybox:1.36", WORDS)), *store("names"), "--image", f"busybox={one}", "--image", f"*={rest}").done()
    same([r.lines(f"{n}-0") for n in ("short", "long", "tag")], [["one"], ["one"], ["rest"]])


# ---- what images say ----

SAYS = ["/bin/sh", "-c", 'echo "$0 $*: $A $B $HOME $(pwd) $(id -u) $(id -g) $(id -G)"']


def config_of_the_image():
    config = {"Entrypoint": SAYS, "Cmd": ["cmd", "x"], "Env": ["A=image", "B=image", "PATH=/bin"], "User": "app", "WorkingDir": "/work"}
    given = ("--image", "app=" + docker_archive(path("says.tar"), layer(root()), config=config))
    r = run(job("j", pod("plain", "app"), pod("args", "app", args=["args", "$(B)"], env=[{"name": "B", "value": "pod"}]),
                pod("command", "app", ["/bin/echo", "own"]), pod("cwd", "app", workingDir="/made/here"),
                pod("user", "app", securityContext={"runAsUser": 5, "runAsGroup": 6})), *store("says"), *given).done()
    same(r.lines("plain-0"), ["cmd x: image image /home/app /work 1000 1001 1001 1002"])
    same(r.lines("args-0"), ["args pod: image pod /home/app /work 1000 1001 1001 1002"])
    same(r.lines("command-0"), ["own"])
    assert " /made/here " in r.lines("cwd-0")[0], r.lines("cwd-0")
    assert r.lines("user-0")[0].endswith("/work 5 6 6"), r.lines("user-0")


def stop_signal():
    script = "trap 'echo usr1; exit 0' USR1; trap 'echo term; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    given = ("--image", "app=" + oci_archive(path("stop.tar"), layer(root()), config={"StopSignal": "SIGUSR1", "Env": ["PATH=/bin"]}))
    end = pod("end", "app", ["/bin/sleep", "0.5"])
    end["policies"] = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    r = run(job("j", end, pod("a", "app", ["/bin/sh", "-c", script])), *store("says"), *given).done()
    same(r.lines("a-0"), ["up", "usr1"])


def layers():
    """Later layers replace, remove and empty what earlier ones have."""
    second = layer([text("etc/what", "second\n"), text("etc/.wh.gone", ""), folder("full"), text("full/.wh..wh..opq", ""),
                    text("full/new", "")])
    first = layer(root(text("etc/what", "first\n"), text("etc/gone", ""), folder("full"), text("full/old", "")))
    script = "cat /etc/what; ls /full; test -e /etc/gone || echo gone; touch /etc/mine && echo mine"
    r = run(job("j", pod("a", "app", ["/bin/sh", "-c", script]), pod("b", "app", ["/bin/sh", "-c", "sleep 0.3; test -e /etc/mine || echo own"])),
            *store("layers"), "--image", "app=" + oci_archive(path("layers.tar"), first, second)).done()
    same((r.lines("a-0"), r.lines("b-0")), (["second", "new", "gone", "mine"], ["own"]))


def no_command():
    r = run(job("j", pod("a", "app")), *store("says"), "--image", "app=" + write(path("nocmd.tar"), layer(root())), "--timeout", "2s")
    says = " ".join(e.get("message", "") for e in r.of("pod"))
    assert r.status != 0 and "has no command" in says, (r.status, says)


# ---- the store ----

def used_again():
    """An archive is unpacked once; a later run finds the image by its name alone, also when the archive is gone."""
    file = docker_archive(path("again.tar"), what("first"))
    where = store("again")
    for _ in range(2):
        run(job("j", pod("a", "app", WORDS)), *where, "--image", f"app={file}").done()
    unpacked = [n for n in os.listdir(path("again")) if n.startswith("sha256-")]
    same(len(unpacked), 1)
    made = os.stat(path(f"again/{unpacked[0]}")).st_ctime_ns
    same(stat.S_IMODE(os.stat(path("again")).st_mode), 0o700)
    os.unlink(file)
    r = run(job("j", pod("a", "docker.io/library/app:latest", WORDS)), *where).done()
    same((r.lines("a-0"), os.stat(path(f"again/{unpacked[0]}")).st_ctime_ns), (["first"], made))
    # Another archive under the same name is another image.
    time.sleep(0.01)
    r = run(job("j", pod("a", "app", WORDS)), *where, "--image", "app=" + docker_archive(file, what("second"))).done()
    same((r.lines("a-0"), len([n for n in os.listdir(path("again")) if n.startswith("sha256-")])), (["second"], 2))
    same([n for n in os.listdir(path("again")) if n.startswith(".part")], [])


def half_unpacked():
    """What a crash left is not used, and goes."""
    os.makedirs(path("half/.part-1-1/root"))
    run(job("j", pod("a", "app", WORDS)), *store("half"), "--image", "app=" + write(path("half.tar"), what("whole"))).done()
    same([n for n in os.listdir(path("half")) if n.startswith(".part")], [])


# ---- bad archives ----

def refused(name, data, *says):
    """Nothing starts, the message has the file and the trouble, nothing stays in the store, nothing outside is touched."""
    file, where, mark = write(path(name), data), path(f"bad-{name}"), path("mark")
    write(mark, b"old")
    with open(path("job.json"), "w") as f:
        json.dump(job("j", pod("a", "app", ["/bin/true"])), f)
    r = subprocess.run([PUMICE, "run", "--state", path("state"), "--image-store", where, "--image", f"app={file}", path("job.json")],
                       capture_output=True, text=True, timeout=60)
    assert r.returncode == 1 and file in r.stderr and any(s in r.stderr for s in says), (name, r.returncode, r.stderr)
    assert "Sanitizer" not in r.stderr and "runtime error" not in r.stderr, r.stderr
    same(open(mark, "rb").read(), b"old")
    same(os.listdir(where) if os.path.isdir(where) else [], [])


def corrupt():
    good = docker_archive(path("good.tar"), what("good"))
    with open(good, "rb") as f:
        data = f.read()
    refused("cut.tar", data[:len(data) // 2], "ends", "runcated", "damaged")
    refused("cut.tgz", gzip.compress(data, 1)[:20000], "ends", "runcated", "damaged")
    refused("noise.tar", os.urandom(20000), "archive", "nrecognized", "not")
    refused("empty.tar", b"", "empty", "archive", "nrecognized")
    at = data.index(b"good\n")
    refused("changed.tar", data[:at] + b"evil\n" + data[at + 5:], "damaged")
    files = images.oci_files(what("x"))
    blob = max((n for n in files if n.startswith("blobs/")), key=lambda n: len(files[n]))
    refused("missing.tar", layer([entry(n, d) for n, d in files.items() if n != blob]), "No such file")


def climbs_out():
    """Names with "..", links that lead out, hard links to the host's files, a root that is a link."""
    base = root()
    refused("dots.tar", layer([*base, text("../mark", "new")]), "..")
    refused("dots2.tar", layer([*base, text("a/../../mark", "new")]), "..")
    refused("hard.tar", layer([*base, entry("etc/shadow", kind=tarfile.LNKTYPE, link="../../../../etc/shadow")]), "..")
    # Links are followed inside the image only: the entry lands there.
    up = "../" * 20
    tricky = layer([*base, *[folder(p) for p in (D.lstrip("/").split("/")[0], D.lstrip("/"))], link("out", up + D.lstrip("/")), text("out/mark", "inside\n"), link("abs", D), text("abs/mark", "inside\n"),
                    entry("null", kind=tarfile.CHRTYPE)])
    write(path("mark"), b"old")
    r = run(job("j", pod("a", "app", ["/bin/sh", "-c", f"cat {D}/mark /out/mark; test -e /null || echo none"])), *store("tricky"),
            "--image", "app=" + write(path("tricky.tar"), tricky)).done()
    same((r.lines("a-0"), open(path("mark"), "rb").read()), (["inside", "inside", "none"], b"old"))


def wrong_use():
    for value, says in (("app", "NAME="), ("app=/no/such/file", "/no/such/file"), ("UPPER CASE=/", "UPPER CASE"), ("app=/dev/null", "neither")):
        r = run_text(job("j", pod("a", "app", ["/bin/true"])), "--image", value)
        assert r.status in (1, 2) and says in r.err, (value, r.status, r.err)


def main():
    global D
    if not images.BUSYBOX:
        skip("needs a static busybox (busybox-static)")
        return 77
    suite = Suite()
    with tempfile.TemporaryDirectory(prefix="pumice-images-") as D:
        for case in (all_kinds, host_files_said_once, names, config_of_the_image, stop_signal, layers, no_command, used_again, half_unpacked,
                     corrupt, climbs_out, wrong_use):
            suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
