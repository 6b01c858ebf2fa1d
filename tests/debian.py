"""Layers of images made of the Debian packages that this machine has: what they depend on, and the files of all of them.

    Image(debian.layer("python3", "sed"), images.layer([images.text("app.py", "print(1)")]), media="tar")
"""
import io
import os
import re
import subprocess
import tarfile

import images

LEFT_OUT = re.compile(r"/usr/share/(?!openmpi|pmix|python3)|/usr/lib/(debug|valgrind)|/usr/lib/python3/dist-packages/.*/tests?/")
HEAVY = ("libgl1-mesa-dri", "libllvm15", "libz3-4", "libtorch-test")  # of graphics and tests: nothing here loads them
MERGED = ("bin", "sbin", "lib", "lib64")  # links into /usr since Debian 12
MULTIARCH = subprocess.run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"], capture_output=True, text=True).stdout.strip()
ACCOUNTS = [("root", 0, "/root", "/bin/bash"), ("sshd", 100, "/run/sshd", "/usr/sbin/nologin")]


def installed():
    """Package: (what it depends on, its full name); a name that another one provides depends on that one."""
    form = "${Package}\t${db:Status-Status}\t${Pre-Depends}, ${Depends}\t${Provides}\t${binary:Package}\n"
    rows = [line.split("\t") for line in subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True).stdout.splitlines()]
    rows = [(name, plain(depends), plain(provides), full) for name, status, depends, provides, full in rows if status == "installed"]
    known = {name: (depends, full) for name, depends, _, full in rows}
    for name, _, provides, full in rows:
        for other in filter(None, map(str.strip, provides.split(","))):
            known.setdefault(other, (name, full))
    return known


def plain(relation):
    """Without versions and architectures."""
    return re.sub(r"\([^)]*\)|:any", "", relation)


def has(*packages):
    known = installed()
    return all(p in known for p in packages)


def closure(*packages):
    """With all that they need, of several alternatives the first that is here."""
    known, found, todo = installed(), {}, list(packages)
    while todo:
        name = todo.pop()
        if name in found or name not in known or name in HEAVY:
            continue
        depends, found[name] = known[name]
        for group in depends.split(","):
            todo += [a.strip() for a in group.split("|") if a.strip() in known][:1]
    return sorted(set(found.values()))


def files(*packages):
    """Their files and directories below /usr, /etc and so on, where they really are."""
    listed = subprocess.run(["dpkg-query", "-L", *closure(*packages)], capture_output=True, text=True, check=True).stdout.splitlines()
    listed = {os.path.join(os.path.realpath(os.path.dirname(p)), os.path.basename(p)) for p in listed if p.startswith("/") and not LEFT_OUT.match(p)}
    return sorted(p for p in listed if os.path.lexists(p) and p.strip("/.") and p[1:] not in MERGED)


def base():
    """What no package brings: merged directories, accounts, the loader's cache, the links of alternatives."""
    out = [images.link(name, "usr/" + name) for name in MERGED]
    out += [images.folder(name) for name in ("etc", "etc/alternatives", "home", "run", "usr", "var")]
    out += [images.folder("tmp", 0o1777), images.folder("root", 0o700), images.link("var/run", "/run"), images.link("usr/bin/python", "python3")]
    out += [images.text("etc/passwd", "".join(f"{n}:x:{i}:{i}::{home}:{shell}\n" for n, i, home, shell in ACCOUNTS)),
            images.text("etc/group", "".join(f"{n}:x:{i}:\n" for n, i, *_ in ACCOUNTS)), images.text("etc/nsswitch.conf", "hosts: files dns\n")]
    with open("/etc/ld.so.cache", "rb") as f:
        out.append(images.entry("etc/ld.so.cache", f.read()))
    return out + alternatives()


def alternatives():
    """mpiexec is a link to /etc/alternatives/mpiexec, which is one to mpiexec.openmpi; and so with libblas.so.3."""
    chosen = [f"/etc/alternatives/{n}" for n in os.listdir("/etc/alternatives")]
    users = [f"{d}/{n}" for d in ("/usr/bin", "/usr/sbin", "/usr/lib/" + MULTIARCH) for n in os.listdir(d)]
    return [images.link(p[1:], os.readlink(p)) for p in chosen + users if os.path.islink(p) and "/etc/alternatives" in os.path.dirname(p) + os.readlink(p)]


def layer(*packages):
    """One tar of them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, data in base():
            tar.addfile(info, io.BytesIO(data))
        for path in files(*packages):
            tar.add(path, path[1:], recursive=False)
    return out.getvalue()
