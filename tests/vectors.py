#!/usr/bin/env python3
"""Golden vectors: each folder of tests/vectors holds a Job and the objects that must come of it.

The rules of comparison are in tests/vectors/README.md. The manifest is read by the program under test; what it prints
is read by Python's own JSON and the expectations by PyYAML, so the two sides share no code.
"""
import base64
import os
import re
import subprocess
import sys
import tempfile

import yaml

from harness import PUMICE, Suite, pumice_json

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, "vectors")

# Lists whose elements have an identity, and the member that names them.
KEYED = {
    "containers": "name", "initContainers": "name", "env": "name", "volumes": "name", "ports": "name",
    "volumeMounts": "mountPath", "items": "key", "ownerReferences": "uid",
}
EMPTY = (None, False, 0, "", [], {})


class Mismatch(Exception):
    pass


def all_absent(value):
    """A list that names only elements which must not be there is met by no list at all."""
    return isinstance(value, list) and all(isinstance(i, dict) and i.get("expect") == "<ABSENT>" for i in value)


class Comparison:
    def __init__(self, uid, before=None):
        self.uid = uid
        self.before = before  # objects before the update, for <SAME>

    def text(self, want):
        return want.replace("<UID>", self.uid)

    def scalar(self, want, real, path):
        if isinstance(want, str):
            want = self.text(want)
            if want == "<ANY>":
                if not (isinstance(real, str) and real):
                    raise Mismatch(f"{path}: want any text, got {real!r}")
                return
        if want in EMPTY and real in EMPTY and type(want) is not dict:
            return
        if type(want) is not type(real) or want != real:
            raise Mismatch(f"{path}: want {want!r}, got {real!r}")

    def mapping(self, want, real, path):
        if set(want) == {"contains"}:
            for part in want["contains"]:
                if self.text(str(part)) not in str(real):
                    raise Mismatch(f"{path}: {real!r} does not contain {part!r}")
            return
        if set(want) == {"startsWith"}:
            if not str(real).startswith(self.text(want["startsWith"])):
                raise Mismatch(f"{path}: {real!r} does not start with {want['startsWith']!r}")
            return
        if not isinstance(real, dict):
            raise Mismatch(f"{path}: want a mapping, got {real!r}")
        for key, value in want.items():
            if value == "<ABSENT>":
                if real.get(key) not in EMPTY:
                    raise Mismatch(f"{path}.{key}: must be absent, is {real[key]!r}")
                continue
            if key not in real and (value in EMPTY or all_absent(value)):
                continue
            if key not in real:
                raise Mismatch(f"{path}.{key}: missing (want {value!r})")
            self.value(value, real[key], f"{path}.{key}", key)

    def keyed_list(self, want, real, path, key):
        last = -1
        for item in want:
            name = self.text(str(item[key]))
            places = [i for i, r in enumerate(real or []) if str(r.get(key)) == name]
            if item.get("expect") == "<ABSENT>":
                if places:
                    raise Mismatch(f"{path}[{name}]: must be absent")
                continue
            if len(places) != 1:
                raise Mismatch(f"{path}[{name}]: found {len(places)} times")
            if places[0] < last:
                raise Mismatch(f"{path}[{name}]: out of order")
            last = places[0]
            self.value(item, real[last], f"{path}[{name}]", "")

    def value(self, want, real, path, name):
        if isinstance(want, dict):
            self.mapping(want, real, path)
        elif isinstance(want, list):
            key = KEYED.get(name)
            if key and want and all(isinstance(i, dict) and key in i for i in want):
                self.keyed_list(want, real, path, key)
            elif not isinstance(real, list) or len(real) != len(want):
                if want or real not in EMPTY:
                    raise Mismatch(f"{path}: want {want!r}, got {real!r}")
            else:
                for i, (w, r) in enumerate(zip(want, real)):
                    self.value(w, r, f"{path}[{i}]", "")
        else:
            self.scalar(want, real, path)


def decoded_secret(obj):
    return {k: base64.b64decode(v).decode() for k, v in obj.get("data", {}).items()}


def find(objects, doc):
    meta = doc.get("metadata", {})
    for obj in objects:
        m = obj["metadata"]
        if obj["kind"] == doc["kind"] and m["name"] == meta["name"] and m.get("namespace") == meta.get("namespace"):
            return obj
    return None


def check_generated_keys(data):
    """README "Extra checks for generated keys"; OpenSSL and ssh-keygen are the judges."""
    pem = data["id_rsa"]
    if not re.fullmatch(r"-----BEGIN RSA PRIVATE KEY-----\n([A-Za-z0-9+/=]{64}\n)*[A-Za-z0-9+/=]{1,64}\n"
                        r"-----END RSA PRIVATE KEY-----\n", pem):
        raise Mismatch("id_rsa: not PKCS#1 PEM with lines of 64 characters")
    out = subprocess.run(["openssl", "rsa", "-noout", "-text"], input=pem, capture_output=True, text=True)
    if "2048 bit" not in out.stdout:
        raise Mismatch(f"id_rsa: openssl says {out.stdout[:80]!r} {out.stderr!r}")
    if not re.fullmatch(r"ssh-rsa [A-Za-z0-9+/=]+\n", data["id_rsa.pub"]):
        raise Mismatch("id_rsa.pub: not one line without comment")
    if data["authorized_keys"] != data["id_rsa.pub"]:
        raise Mismatch("authorized_keys: differs from id_rsa.pub")
    with tempfile.NamedTemporaryFile("w") as f:
        os.chmod(f.name, 0o600)
        f.write(pem)
        f.flush()
        derived = subprocess.run(["ssh-keygen", "-y", "-f", f.name], capture_output=True, text=True).stdout
    if derived.split()[:2] != data["id_rsa.pub"].split():
        raise Mismatch("id_rsa.pub: does not belong to id_rsa")


def check_document(doc, objects, cmp):
    obj = find(objects, doc)
    name = f"{doc['kind']} {doc.get('metadata', {}).get('name')}"
    if doc.get("expect") == "<ABSENT>":
        if obj:
            raise Mismatch(f"{name}: must not exist")
        return
    if not obj:
        raise Mismatch(f"{name}: does not exist")
    doc = dict(doc)
    if doc["kind"] == "Secret":
        want, real = doc.pop("stringData", {}), decoded_secret(obj)
        same = {k for k, v in want.items() if v == "<SAME>"}
        old = decoded_secret(find(cmp.before, doc)) if same else {}
        for key in same:
            if real.get(key) != old.get(key):
                raise Mismatch(f"{name}: {key} changed")
        cmp.mapping({k: v for k, v in want.items() if k not in same}, real, f"{name}.stringData")
        if want.get("id_rsa") == "<ANY>":
            check_generated_keys(real)
    cmp.mapping(doc, obj, name)


def load_expected(path):
    with open(path) as f:
        return [d for d in yaml.safe_load_all(f) if d]


def check_refused(docs, job):
    result = next((d for d in docs if d["kind"] == "AdmissionResult"), None)
    if not result:
        return False
    run = subprocess.run([PUMICE, "render", job], capture_output=True, text=True)
    if run.returncode != 1 or run.stdout:
        raise Mismatch(f"must be refused: status {run.returncode}, printed {run.stdout[:60]!r}")
    for part in result["messageContains"]:
        if part not in run.stderr:
            raise Mismatch(f"message {run.stderr!r} does not contain {part!r}")
    return True


def job_uid(objects):
    return next(o for o in objects if o["kind"] == "Job")["metadata"]["uid"]


def check_vector(folder):
    job = os.path.join(folder, "job.yaml")
    docs = load_expected(os.path.join(folder, "expected.yaml"))
    if check_refused(docs, job):
        return
    before = pumice_json("render", "-o", "json", "--show-secrets", job)["items"]
    cmp = Comparison(job_uid(before))
    for doc in docs:
        check_document(doc, before, cmp)
    update = os.path.join(folder, "update.yaml")
    if not os.path.exists(update):
        return
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as state:
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": before}, state)
        state.flush()
        after = pumice_json("render", "-o", "json", "--show-secrets", "--state", state.name, update)["items"]
    cmp = Comparison(job_uid(before), before)
    for doc in load_expected(os.path.join(folder, "expected-after-update.yaml")):
        check_document(doc, after, cmp)


def check_own_keys():
    """Two jobs never share a key."""
    job = os.path.join(VECTORS, "07-ssh-defaults", "job.yaml")
    keys = {decoded_secret(next(o for o in pumice_json("render", "-o", "json", "--show-secrets", job)["items"]
                                if o["kind"] == "Secret"))["id_rsa"] for _ in range(2)}
    if len(keys) != 2:
        raise Mismatch("two renderings share a private key")


def main():
    suite = Suite()
    for name in sorted(os.listdir(VECTORS)):
        folder = os.path.join(VECTORS, name)
        if os.path.isdir(folder):
            suite.case(f"vector {name}", lambda: check_vector(folder))
    suite.case("two jobs never share a key", check_own_keys)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
