#!/usr/bin/env python3
"""Writes the parts of a program as an SPDX 2.3 document: itself, and each Debian package of a static or shared library.

    tools/sbom.py PROGRAM       prints it; tools/image and tools/deb include it

The same program and packages give the same bytes: the time is SOURCE_DATE_EPOCH (that of the last commit, if it is not set).
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time

STATIC = ("c", "ssl", "crypto", "sqlite3", "yaml", "ldns", "seccomp", "cap", "z", "zstd", "lzma", "bz2")  # as meson.build links them


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def is_static(file):
    return "INTERP" not in output("readelf", "--program-headers", "--wide", file)


def archives():
    """The libraries that are in a static program: their licences belong to it."""
    return {output("cc", f"-print-file-name=lib{name}.a").strip() for name in STATIC}


def libraries(file):
    """Where the loader is to find what it needs: the paths, the loader's own included."""
    said = output("ldd", file)
    missing = re.findall(r"(\S+) => not found", said)
    if missing:
        sys.exit(f"{sys.argv[0]}: {file} needs {', '.join(missing)}, which is not here")
    return set(re.findall(r"(/\S+) \(0x", said))


def entries(paths):
    """Entries of Debian's package list, by the name of the package: of those that brought these files."""
    asked = {c for path in paths for c in (path, os.path.realpath(path), "/usr" + path)}  # /lib may be a link to /usr/lib
    run = subprocess.run(["dpkg-query", "-S", *asked], capture_output=True, text=True)
    names = sorted({line.split(": ")[0] for line in run.stdout.splitlines() if ": /" in line})
    return {re.match("Package: (.*)", entry.lstrip()).group(1): entry.strip() for entry in output("dpkg-query", "-s", *names).split("\n\n")}


def field(entry, name):
    return re.search(f"^{name}: (.*)", entry, re.M).group(1)


def package(name, version, **more):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **more}


def document(program, version, found, epoch):
    """'found': as entries() gives it."""
    with open(program, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    ours = package("pumice", version, licenseConcluded="Apache-2.0", licenseDeclared="Apache-2.0", primaryPackagePurpose="APPLICATION")
    theirs = [package(name, field(entry, "Version"), supplier="Organization: Debian", primaryPackagePurpose="LIBRARY", externalRefs=[{
        "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
        "referenceLocator": f"pkg:deb/debian/{name}@{field(entry, 'Version')}?arch={field(entry, 'Architecture')}"}]) for name, entry in sorted(found.items())]
    link = "STATIC_LINK" if is_static(program) else "DYNAMIC_LINK"
    tree = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"pumice-{version}",
        "documentNamespace": f"https://pumice.dev/spdx/pumice-{version}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "creators": ["Tool: pumice-tools-sbom"]},
        "packages": [ours, *theirs],
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": ours["SPDXID"]},
                          *({"spdxElementId": ours["SPDXID"], "relationshipType": link, "relatedSpdxElement": p["SPDXID"]} for p in theirs)],
    }
    return json.dumps(tree, indent=1).encode() + b"\n"


def epoch_of_source():
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run(["git", "-C", here, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run.stdout.strip() or "0")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/sbom.py PROGRAM")
    program = sys.argv[1]
    found = entries(archives() if is_static(program) else libraries(program))
    sys.stdout.buffer.write(document(program, output(program, "version").split()[1], found, epoch_of_source()))


if __name__ == "__main__":
    main()
