#!/usr/bin/env python3
"""The container image and the Debian package: made twice they are the same bytes, and what is in them works, by the standards of
our own reader of images and containers, dpkg, man and systemd."""
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import registry
from harness import PUMICE, Suite, pumice
from images import layer, text
from runs import config_map, job, run, task
from server import Server

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TOOLS = os.path.join(ROOT, "tools")
VERSION = pumice("version").stdout.split()[1]
NOBODY_KNOWN = 54321
D = None  # a directory for all: set in main()


def command(*argv, **env):
    run = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **env})
    assert run.returncode == 0, f"{' '.join(argv)}: {run.stdout[-2000:]}{run.stderr[-2000:]}"
    return run.stdout


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


# ---- image ----


def static_program():
    """The one that goes into the image. A build with sanitizers has none: then that of the other compiler. None: no static libraries here."""
    for directory in (os.path.dirname(PUMICE), os.path.join(ROOT, "b-clang")):
        path = os.path.join(directory, "pumice-static")
        if os.path.exists(path):
            return path
    return None


def program():
    return static_program() or PUMICE


def program_needs_nothing():
    """In an empty root, with a name in /etc/hosts and a kubeconfig, it finds a server by that name and trusts it by its CA; and it pulls."""
    if not static_program():
        print("package: no static program here; program_needs_nothing is skipped")
        return
    parts = command("readelf", "--program-headers", "--dynamic", "--wide", static_program())
    assert "INTERP" not in parts and "no dynamic section" in parts, parts
    root = f"{D}/empty"
    os.makedirs(f"{root}/etc")
    shutil.copy(static_program(), f"{root}/pumice")
    with open(f"{root}/etc/hosts", "w") as f:
        f.write("127.0.0.1 kubernetes.default\n")
    server = Server()
    with open(server.config) as f:
        config = f.read()
    for name in ("kubernetes.default", "nobody.example"):
        with open(f"{root}/{name}", "w") as f:
            f.write(config.replace("https://127.0.0.1:", f"https://{name}:"))
    got = {name: subprocess.run(["chroot", root, "/pumice", "explain", "--kubeconfig", f"/{name}"], capture_output=True, text=True)
           for name in ("kubernetes.default", "nobody.example")}
    server.end()
    with contextlib.closing(registry.Liar()) as images_:
        kinds = [k for k in ("tar+gzip", "tar+zstd", "tar") if k != "tar+zstd" or registry.zstd(b"")]
        refs = [images_.push(f"app{i}", registry.Image(layer([text("what", kind)]), media=kind)) for i, kind in enumerate(kinds)]
        command("chroot", root, "/pumice", "pull", "--image-store", "/images", *[r.replace("localhost", "127.0.0.1") for r in refs])
        images_.shutdown()
    found = [open(f"{root}/images/{name}/root/what").read() for name in os.listdir(f"{root}/images") if name.startswith("sha256-")]
    assert sorted(found) == sorted(kinds), found
    assert got["kubernetes.default"].returncode == 0, got
    assert got["nobody.example"].returncode != 0 and "nobody.example" in got["nobody.example"].stderr, got
    shutil.rmtree(root)


def program_runs_for_anybody():
    """A user that no file knows is asked for elsewhere by the C library (nsswitch.conf), which loads that: here it must not try."""
    if not static_program() or subprocess.run(["unshare", "-Ur", "true"], user=NOBODY_KNOWN, group=NOBODY_KNOWN, extra_groups=[]).returncode != 0:
        print("package: no static program here, or no user namespaces; program_runs_for_anybody is skipped")
        return
    with tempfile.TemporaryDirectory(prefix="pumice-package-", dir="/var/tmp") as home:
        os.chown(home, NOBODY_KNOWN, NOBODY_KNOWN)
        os.chmod(shutil.copy(static_program(), f"{home}/pumice"), 0o755)
        said = subprocess.run([f"{home}/pumice", "run", "-q", "--state", f"{home}/state", "-"], capture_output=True, text=True, cwd=home,
                              input=json.dumps(job("j", task("a", ["echo", "fine"]))), env={"PATH": os.environ["PATH"], "HOME": home},
                              user=NOBODY_KNOWN, group=NOBODY_KNOWN, extra_groups=[])
        assert (said.returncode, said.stdout) == (0, "a-0 | fine\n"), said


def image():
    return f"{D}/pumice.tar"


def image_is_the_same_twice():
    command(f"{TOOLS}/image", program(), image())
    command(f"{TOOLS}/image", program(), f"{D}/again.tar", TZ="Asia/Tokyo", LANG="de_DE.UTF-8")
    assert digest(image()) == digest(f"{D}/again.tar")
    os.unlink(f"{D}/again.tar")


def image_is_what_it_says():
    """Every blob is under its digest and of the size that is told of it; nothing but what is needed is in it."""
    with tarfile.open(image()) as archive:
        blobs = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}

    def follow(descriptor):
        blob = blobs["blobs/" + descriptor["digest"].replace(":", "/")]
        assert len(blob) == descriptor["size"] and hashlib.sha256(blob).hexdigest() == descriptor["digest"][7:], descriptor
        return blob

    assert json.loads(blobs["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    manifest = json.loads(follow(json.loads(blobs["index.json"])["manifests"][0]))
    config = json.loads(follow(manifest["config"]))
    assert config["config"]["User"] == "65532:65532" and config["created"] == "2023-11-14T22:13:20Z", config
    follow(manifest["layers"][0])
    told = json.loads(blobs["manifest.json"])[0]
    assert told["RepoTags"] == [f"pumice:{VERSION}"] and {told["Config"], *told["Layers"]} <= set(blobs), told


def layer_has_only_what_is_needed():
    with tarfile.open(image()) as archive:
        layer = max((m for m in archive if m.isfile()), key=lambda m: m.size)
        with tarfile.open(fileobj=archive.extractfile(layer), mode="r:gz") as root:
            members = list(root)
    assert {(m.uid, m.gid, m.mtime) for m in members} == {(0, 0, 1700000000)}
    assert not [m.name for m in members if m.mode & 0o7022 or not (m.isfile() or m.isdir())], "nothing is writable, setuid or a link"
    programs = [m.name for m in members if m.isfile() and "lib" not in m.name.split("/")[0] and m.mode & 0o111]
    assert programs == ["pumice"], programs
    if static_program():
        assert not [m.name for m in members if ".so" in m.name], "a static program needs no library"


def image_lists_what_it_is_made_of():
    """The SPDX document names the same packages as the list of Debian beside it, with their versions."""
    with tarfile.open(image()) as archive:
        layer = max((m for m in archive if m.isfile()), key=lambda m: m.size)
        with tarfile.open(fileobj=archive.extractfile(layer), mode="r:gz") as root:
            files = {m.name: root.extractfile(m).read().decode() for m in root if "status.d/" in m.name or m.name.endswith(".spdx.json")}
    bill = json.loads(files.pop("usr/share/sbom/pumice.spdx.json"))
    listed = {re.search("^Package: (.*)", e, re.M)[1]: re.search("^Version: (.*)", e, re.M)[1] for e in files.values()}
    del listed["ca-certificates"]
    check_bill(bill, {"pumice": VERSION, **listed}, "STATIC_LINK" if static_program() else "DYNAMIC_LINK")


def check_bill(bill, packages, link):
    assert bill["spdxVersion"] == "SPDX-2.3" and {p["name"]: p["versionInfo"] for p in bill["packages"]} == packages, bill["packages"]
    ids = [p["SPDXID"] for p in bill["packages"]]
    assert len(set(ids)) == len(ids) > 5, ids
    related = [(r["relationshipType"], r["relatedSpdxElement"]) for r in bill["relationships"]]
    assert related == [("DESCRIBES", ids[0])] + [(link, i) for i in ids[1:]], related


def package_lists_what_it_needs():
    with open(f"{D}/unpacked/usr/share/doc/pumice/pumice.spdx.json") as f:
        bill = json.load(f)
    names = {p["name"]: p["versionInfo"] for p in bill["packages"]}
    needed = re.findall(r"([a-z0-9.+-]+)(?: \([^)]*\))?(?:, |$)", command("dpkg-deb", "-f", package(), "Depends").strip())
    assert len(needed) > 5 and set(needed) <= set(names), (needed, names)
    check_bill(bill, names, "DYNAMIC_LINK")


def image_runs():
    """By our own code, as the Deployment runs it: an ordinary user, a root that cannot be written to, no capabilities. The third goes as
    far as a connection, and fails for want of a server."""
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
              "users": [{"name": "c", "user": {"token": "x"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}
    spec = {"restartPolicy": "Never", "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532},
            "volumes": [{"name": "kube", "configMap": {"name": "kube"}}]}
    limits = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    said = {"version": f"pumice {VERSION} (batch.volcano.sh/v1alpha1)", "help": "Usage: pumice controller [OPTION…]",
            "connect": "pumice plan: https://127.0.0.1:1: Connection refused"}
    arguments = {"version": ["version"], "help": ["controller", "--help"], "connect": ["plan", "--kubeconfig", "/kube/config"]}
    tasks = [{"name": name, "replicas": 1, "template": {"spec": {**spec, "containers": [
        {"name": "main", "image": f"pumice:{VERSION}", "args": args, "securityContext": limits,
         "volumeMounts": [{"name": "kube", "mountPath": "/kube"}]}]}}}
        for name, args in arguments.items()]
    manifests = [config_map("kube", config=json.dumps(config)), job("image", *tasks)]
    r = run(manifests, "--image", f"pumice:{VERSION}={image()}", "--image-store", f"{D}/store").done("Failed", 1)
    for name, first in said.items():
        assert r.lines(f"{name}-0")[0].startswith(first), r.lines(f"{name}-0")


# ---- package ----


def package(directory="deb"):
    return f"{D}/{directory}/pumice_{VERSION}_{command('dpkg', '--print-architecture').strip()}.deb"


def package_is_the_same_twice():
    for directory in ("deb", "deb-again"):
        os.makedirs(f"{D}/{directory}")
        command(f"{TOOLS}/deb", PUMICE, f"{D}/{directory}", DPKG_DEB_COMPRESSOR_TYPE="none")  # ours is large here
    assert digest(package()) == digest(package("deb-again"))
    command("dpkg-deb", "-x", package(), f"{D}/unpacked")


def package_installs():
    """Into an empty root; what it needs is not there, so dpkg is told to take it all the same."""
    root = f"{D}/root"
    os.makedirs(f"{root}/var/lib/dpkg/updates")
    os.makedirs(f"{root}/var/lib/dpkg/info")
    open(f"{root}/var/lib/dpkg/status", "w").close()
    command("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "-i", package())
    assert command("dpkg", f"--root={root}", "--verify", "pumice") == ""
    fields = command("dpkg-deb", "-f", package())
    for library in ("libc6 (>=", "libssl3 (>=", "libyaml-0-2", "libzstd1 (>="):
        assert library in fields, fields
    assert command(f"{root}/usr/bin/pumice", "version").startswith(f"pumice {VERSION} ")
    assert command(f"{root}/usr/bin/vjobs", "--help").startswith("view information of a job"), "Volcano's tools are links to it"
    assert "vcctl" in command("man", "--warnings", "-l", f"{root}/usr/share/man/man1/vcctl.1.gz", LC_ALL="C.UTF-8")
    page = command("man", "--warnings", "-l", f"{root}/usr/share/man/man1/pumice.1.gz", MANWIDTH="100", LC_ALL="C.UTF-8")
    assert "controller" in page
    for path in ("bash-completion/completions/pumice", "zsh/site-functions/_pumice", "fish/vendor_completions.d/pumice.fish"):
        with open(f"{root}/usr/share/{path}") as f:
            assert "max-restarts" in f.read(), path
    command("dpkg", f"--root={root}", "--force-script-chrootless", "--remove", "pumice")
    assert os.path.exists(f"{root}/etc/default/pumice-controller") and not os.path.exists(f"{root}/usr/bin/pumice")


def others_stay():
    """A vcctl that somebody else has installed is not replaced."""
    os.makedirs(f"{D}/prefix/bin")
    with open(f"{D}/prefix/bin/vcctl", "w") as f:
        f.write("another")
    command(f"{TOOLS}/install", PUMICE, f"{D}/prefix")
    command(f"{TOOLS}/install", PUMICE, f"{D}/prefix")
    with open(f"{D}/prefix/bin/vcctl") as f:
        assert f.read() == "another"
    assert os.readlink(f"{D}/prefix/bin/vsub") == "pumice" and not os.path.exists(f"{D}/prefix/bin/sbatch")


def units_are_sound():
    """Read by systemd without a complaint, and as closed as they can be: a node makes containers, so nothing is closed to it."""
    if not shutil.which("systemd-analyze"):
        return
    directory = f"{D}/unpacked/lib/systemd/system"
    units = sorted(os.listdir(directory))
    assert units == ["pumice-controller.service", "pumice-node.service", "pumice-server.service", "pumice-server.socket"], units
    for unit in units:
        with open(f"{directory}/{unit}") as f:
            text = f.read()
        assert "ConditionPathExists=" in text, f"{unit}: would fail again and again where nobody has set it up"
        with open(f"{D}/{unit}", "w") as f:
            f.write(text.replace("/usr/bin/pumice", PUMICE))  # it must be there
        run = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{D}/{unit}"], capture_output=True, text=True)
        complaints = [line for line in run.stderr.splitlines() if "pumice" in line]
        assert not [line for line in complaints if "DelegateSubgroup" not in line], run.stderr  # which systemd has from 254 on
    command("systemd-analyze", "security", "--offline=yes", "--threshold=15", f"{D}/pumice-controller.service")  # of 100; 96 is where one begins


def lintian():
    if shutil.which("lintian"):
        stored = "uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball"  # only here
        command("lintian", "--fail-on", "error,warning", "--suppress-tags", stored, package())


def main():
    global D
    suite = Suite()
    with tempfile.TemporaryDirectory(prefix="pumice-package.") as D:
        for case in (program_needs_nothing, program_runs_for_anybody, image_is_the_same_twice, image_is_what_it_says,
                     layer_has_only_what_is_needed, image_lists_what_it_is_made_of, image_runs, package_is_the_same_twice,
                     package_lists_what_it_needs, package_installs, others_stay, units_are_sound, lintian):
            suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
