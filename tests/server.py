#!/usr/bin/env python3
"""`pumice server`: the real binary, spoken to by plain HTTP and by kubectl, with pods that really run.

One server serves all cases but the last; each case has names of its own. kubectl: 1.36 and Debian's
(1.20) as tests/kube/build has them, and the one of the system where there is another; what they cannot send to us is said
where it is left out.
"""
import atexit
import base64
import contextlib
import filecmp
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "kube")]

from harness import PUMICE, Suite, until  # noqa: E402
from netfilter import has_nftables  # noqa: E402

PATIENCE_S = 60
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Server:
    def __init__(self, *options, listen="127.0.0.1:0", data=None, drain=True, **process):
        self.dir, self.drain = tempfile.mkdtemp(prefix="pumice-server-"), drain
        self.data = data or os.path.join(self.dir, "data")
        self.out = open(os.path.join(self.dir, "out"), "wb+")
        self.options, self.how = options, process
        atexit.register(self.end)  # a case that fails leaves nothing running
        self.config = os.path.join(self.data, "admin.kubeconfig")
        self.spawn(listen)

    def spawn(self, listen):
        self.out.truncate(0)
        args = [PUMICE, "server", "--data-dir", self.data, *(("--listen", listen) if listen else ()), "--capacity", "cpu=8,memory=8Gi",
                "--shutdown-grace-period", "3s", *(("--drain",) if self.drain else ()), *(() if has_nftables() else ("--allow-unfiltered",)), *self.options]
        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT, **self.how)
        until("the server says how to use it", lambda: self.process.poll() is not None or b"kubectl" in self.said() or
              b"curl" in self.said())
        assert self.process.poll() is None, self.said().decode()
        if not (listen or "").startswith("unix:"):
            self.read_config()

    def restart(self, sign=signal.SIGKILL):
        """Another one of the same data, at the same place."""
        self.process.send_signal(sign)
        self.process.wait(PATIENCE_S)
        self.spawn(f"127.0.0.1:{self.port}")

    def read_config(self):
        with open(self.config) as f:
            words = {k.strip(" -"): v.strip() for k, _, v in (line.partition(":") for line in f)}
        self.token, self.port = words["token"], int(words["server"].rsplit(":", 1)[1])
        self.ca = base64.b64decode(words["certificate-authority-data"]).decode()

    def said(self):
        with open(self.out.name, "rb") as f:
            return f.read()

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S,
                                           context=ssl.create_default_context(cadata=self.ca))

    def open(self, method, path, body=None, type="application/json", accept="application/json", token=None, **headers):
        c = self.connect()
        token = self.token if token is None else token
        head = {"Accept": accept, "User-Agent": "test/1", **({"Authorization": f"Bearer {token}"} if token else {}),
                **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body is not None and type:
            head["Content-Type"] = type
        c.request(method, path, body if body is None or isinstance(body, (str, bytes)) else json.dumps(body), head)
        return c, c.getresponse()

    def call(self, method, path, body=None, **kw):
        """Status, the answer (JSON where it is)."""
        c, r = self.open(method, path, body, **kw)
        with contextlib.closing(c):
            text = r.read()
            self.headers = r.headers
            if "json" not in (r.headers["Content-Type"] or ""):  # a log may be a single number
                return r.status, text.decode(errors="replace")
            try:
                return r.status, json.loads(text)
            except ValueError:
                return r.status, text.decode(errors="replace")

    def ok(self, method, path, body=None, **kw):
        status, answer = self.call(method, path, body, **kw)
        assert status in (200, 201), (method, path, status, answer)
        return answer

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def stop(self):
        if not os.path.isdir(self.dir):
            return self.process.returncode
        self.end()
        if self.process.returncode and self.drain:  # it has crashed, and its pods live
            subprocess.run([PUMICE, "server", "--cleanup", "--data-dir", self.data], capture_output=True)
        text = self.said().decode(errors="replace")
        shutil.rmtree(self.dir, ignore_errors=True)
        assert "Sanitizer" not in text and "runtime error:" not in text, text[-4000:]
        return self.process.returncode


def is_machine_unfit(e):
    """No pods can run here: no fault of the program's."""
    return "pods cannot" in str(e) or "user namespaces" in str(e)


def server_or_skip(make=Server):
    try:
        return make()
    except AssertionError as e:
        if not is_machine_unfit(e):
            raise
        print(f"skipped: {e}")
        sys.exit(77)


class Watch:
    """Events of a watch, as they come."""

    def __init__(self, server, path, **kw):
        self.c, self.r = server.open("GET", path, **kw)
        assert self.r.status == 200, (self.r.status, self.r.read())
        self.events, self.ended = [], False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            for line in self.r:
                self.events.append(json.loads(line))
        self.ended = True

    def until(self, n):
        return until(f"{n} events, not {self.short()}", lambda: len(self.events) >= n and self.events)

    def short(self):
        return [(e["type"], e["object"].get("metadata", {}).get("name")) for e in self.events]

    def close(self):
        self.c.sock and self.c.sock.shutdown(socket.SHUT_RDWR)
        self.c.close()


class Messages:
    """The messages of a WebSocket, as a page in a browser gets them."""

    def __init__(self, server, path, protocol=None, token=True, **headers):
        self.s = ssl.create_default_context(cadata=server.ca).wrap_socket(socket.create_connection(("127.0.0.1", server.port), PATIENCE_S), server_hostname="127.0.0.1")
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *([f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []),
                 *([f"Authorization: Bearer {server.token}"] if token else []), *(f"{k}: {v}" for k, v in headers.items())]
        self.s.sendall("\r\n".join([*lines, "", ""]).encode())
        self.f = self.s.makefile("rb")
        self.head = b"".join(iter(self.f.readline, b"\r\n")).decode()
        self.status = int(self.head.split()[1])

    def next(self):
        first, n = self.f.read(2)
        n = struct.unpack(">H", self.f.read(2))[0] if n == 126 else struct.unpack(">Q", self.f.read(8))[0] if n == 127 else n
        return first & 15, self.f.read(n)

    def send(self, opcode, payload):
        self.s.sendall(bytes([0x80 | opcode, 0x80 | len(payload), 0, 0, 0, 0]) + payload)

    def event(self):
        opcode, text = self.next()
        assert opcode == 1, (opcode, text)
        e = json.loads(text)
        return e["type"], e["object"]

    def close(self):
        self.f.close()
        self.s.close()


def config_map(name, data=None, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": data or {"a": "b"}}


def pod(name, command, **meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "main", "image": "debian:12", "command": ["/bin/sh", "-c", command]}]}}


def named(name, command, **meta):
    """A pod that pid_of() finds."""
    p = pod(name, command, **meta)
    p["spec"]["containers"][0]["env"] = [{"name": "WHO", "value": f"{name}-{os.getpid()}"}]
    return p


def pid_of(name):
    """Of the pod's first process, as the host numbers it: it says who it is in its environment, which its children have too."""
    sign, found = f"WHO={name}-{os.getpid()}".encode(), {}
    for path in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError), open(f"{path}/environ", "rb") as env, open(f"{path}/status") as status:
            if sign in env.read().split(b"\0"):
                found[int(path.split("/")[2])] = int(re.search(r"^PPid:\s*(\d+)", status.read(), re.M)[1])
    return next((pid for pid, parent in found.items() if parent not in found), None)


def job(name, command, replicas=1):
    spec = pod(name, command)["spec"]
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"minAvailable": replicas, "tasks": [{"name": "w", "replicas": replicas, "template": {"spec": spec}}]}}


# ---- discovery ----

def discovers_both_forms(s):
    old = {r["name"]: r for r in s.ok("GET", "/api/v1")["resources"]}
    assert old["pods"]["shortNames"] == ["po"] and old["pods"]["categories"] == ["all"], old["pods"]
    assert old["pods"]["verbs"] == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    assert old["pods/eviction"]["group"] == "policy" and old["bindings"]["verbs"] == ["create"]
    assert "deletecollection" not in old["namespaces"]["verbs"]
    groups = [g["name"] for g in s.ok("GET", "/apis")["groups"]]
    assert "batch.volcano.sh" in groups and "" not in groups and len(groups) == len(set(groups)), groups
    assert s.ok("GET", "/apis/batch.volcano.sh")["preferredVersion"]["version"] == "v1alpha1"
    new = s.ok("GET", "/apis", accept=V2)
    assert s.headers["Content-Type"] == V2, s.headers["Content-Type"]
    tag = s.headers["ETag"]
    assert s.call("GET", "/apis", accept=V2, If_None_Match=tag)[0] == 304
    assert [g["metadata"]["name"] for g in new["items"]] == groups
    jobs = next(r for g in new["items"] for r in g["versions"][0]["resources"] if r["resource"] == "jobs")
    assert jobs["scope"] == "Namespaced" and jobs["subresources"][0]["subresource"] == "status", jobs
    status, answer = s.call("GET", "/apis/nobody.example.com/v1")
    assert status == 404 and answer["reason"] == "NotFound", answer


def group_versions(s):
    """All that is served: (group, version, where)."""
    named = [(g["name"], v["version"]) for g in s.ok("GET", "/apis")["groups"] for v in g["versions"]]
    return [("", "v1", "/api/v1"), *((g, v, f"/apis/{g}/{v}") for g, v in named)]


def describes_kinds(s):
    index = s.ok("GET", "/openapi/v3")["paths"]
    assert "api/v1" in index and "apis/batch.volcano.sh/v1alpha1" in index, index
    doc = s.ok("GET", index["apis/batch.volcano.sh/v1alpha1"]["serverRelativeURL"])
    name = next(n for n, v in doc["components"]["schemas"].items()
                if v["x-kubernetes-group-version-kind"][0]["kind"] == "Job")
    assert "minAvailable" in doc["components"]["schemas"][name]["properties"]["spec"]["properties"]
    assert any(p["name"] == "fieldValidation" for path in doc["paths"].values() for p in path.get("patch", {}).get("parameters", []))
    described = {(m["group"], m["version"], m["kind"]) for at in index.values()
                 for v in s.ok("GET", at["serverRelativeURL"])["components"]["schemas"].values() for m in v["x-kubernetes-group-version-kind"]}
    served = {(g, v, r["kind"]) for g, v, path in group_versions(s) for r in s.ok("GET", path)["resources"] if "/" not in r["name"]}
    assert served <= described, f"what nobody can explain: {served - described}"
    assert s.call("GET", "/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")[0] == 200


def is_healthy(s):
    until("all is ready", lambda: s.call("GET", "/readyz")[0] == 200)
    assert s.call("GET", "/healthz", token="") == (200, "ok"), "health is for everybody"
    assert "[+]ping ok" in s.call("GET", "/livez?verbose")[1]
    assert s.call("GET", "/readyz/nothing")[0] == 404
    assert "pumice_server_objects{resource=\"pods\"}" in s.call("GET", "/metrics")[1]
    version = s.ok("GET", "/version")
    assert version["gitVersion"].startswith("v1.")
    assert version["platform"] == {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}[os.uname().machine], version
    assert "/apis/batch.volcano.sh/v1alpha1" in s.ok("GET", "/")["paths"]


def keeps_strangers_out(s):
    assert s.call("GET", PODS, token="")[0] == 403
    status, answer = s.call("GET", PODS, token="wrong")
    assert status == 401 and answer["reason"] == "Unauthorized", answer
    status, answer = s.call("GET", "/metrics", token="")
    assert status == 403 and 'User "system:anonymous" cannot get path "/metrics"' in answer["message"], answer
    assert s.call("GET", PODS, Impersonate_User="root")[0] == 403
    mode = os.stat(s.config).st_mode & 0o777
    assert mode == 0o600, oct(mode)
    keys = os.path.join(s.data, "pki")
    assert all(os.stat(os.path.join(keys, f)).st_mode & 0o077 == 0 for f in ("ca.pem", "server.pem", "admin.token"))


# ---- objects ----

def says_what_is_wrong(s):
    status, answer = s.call("GET", f"{MAPS}/nobody")
    assert (status, answer["message"]) == (404, 'configmaps "nobody" not found'), answer
    assert answer["details"] == {"name": "nobody", "kind": "configmaps"}, answer
    s.ok("POST", MAPS, config_map("twice"))
    status, answer = s.call("POST", MAPS, config_map("twice"))
    assert (status, answer["reason"]) == (409, "AlreadyExists"), answer
    assert answer["details"] == {"name": "twice", "kind": "configmaps"}, answer
    status, answer = s.call("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("x"))
    assert status == 404 and 'namespaces "nowhere" not found' in answer["message"], answer
    assert s.ok("GET", "/api/v1/namespaces/nowhere/configmaps")["items"] == []
    for body, words in (("{", "JSON"), ([], "must be an object"), ({"kind": "Pod", "apiVersion": "v1"}, "wrong kind"),
                        (config_map("x", namespace="other"), "does not match the namespace")):
        status, answer = s.call("POST", MAPS, body)
        assert status == 400 and words in answer["message"], (body, answer)
    status, answer = s.call("PUT", f"{MAPS}/twice", config_map("once"))
    assert status == 400 and "does not match the name on the URL" in answer["message"], answer
    bad = pod("Bad_Name", "true", labels={"a": "b c"})
    bad["spec"]["containers"] = []
    status, answer = s.call("POST", PODS, bad)
    fields = {c["field"] for c in answer["details"]["causes"]}
    assert status == 422 and answer["details"]["kind"] == "Pod" and len(fields) >= 3, answer
    assert {"metadata.name", "spec.containers"} <= fields, fields
    assert s.call("POST", f"{MAPS}/twice")[0] == 405 and s.call("OPTIONS", MAPS)[0] == 405
    protobuf = "application/vnd.kubernetes.protobuf"
    assert s.call("POST", MAPS, b"\x00", type=protobuf)[0] == 400 and s.call("POST", MAPS, "x", type="text/csv")[0] == 415
    assert s.call("POST", JOBS, b"k8s\0\x0a\x05\x12\x03Job", type=protobuf)[0] == 415, "Volcano's kinds have no such form"
    assert s.call("GET", JOBS, accept="application/vnd.kubernetes.protobuf")[0] == 406
    assert s.call("GET", f"{MAPS}/a%2fb")[0] == 404 and s.call("GET", f"{MAPS}//x")[0] == 400
    assert s.call("POST", MAPS, " " * (3 << 20) + "{}")[0] == 413
    status, answer = s.call("POST", MAPS, config_map("large", {"a": "x" * (1 << 20), "b": "y"}))
    assert status == 422 and "1048576" in answer["message"], answer


def writes_with_care(s):
    first = s.ok("POST", MAPS, config_map("care", uid="mine", creationTimestamp=None))
    meta = first["metadata"]
    assert meta["uid"] != "mine" and meta["creationTimestamp"].endswith("Z") and "generation" not in meta, meta
    again = s.ok("PUT", f"{MAPS}/care", first)
    assert again["metadata"]["resourceVersion"] == meta["resourceVersion"], "a change of nothing is none"
    second = s.ok("PUT", f"{MAPS}/care", config_map("care", {"a": "c"}))
    status, answer = s.call("PUT", f"{MAPS}/care", {**first, "data": {"a": "d"}})
    assert (status, answer["reason"]) == (409, "Conflict"), answer
    assert int(second["metadata"]["resourceVersion"]) > int(meta["resourceVersion"])
    status, answer = s.call("PUT", f"{QUEUES}/default", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                                                         "metadata": {"name": "default"}, "spec": {"weight": 2}})
    assert status == 422 and "metadata.resourceVersion" in answer["message"], answer
    assert s.call("PUT", f"{MAPS}/nobody", config_map("nobody"))[0] == 404
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "made"}, "spec": {}}
    assert s.call("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/made", lease)[0] == 201
    dry = s.ok("POST", f"{MAPS}?dryRun=All", config_map("dry"))
    assert dry["metadata"]["uid"] and "resourceVersion" not in dry["metadata"], dry
    assert s.call("GET", f"{MAPS}/dry")[0] == 404 and s.call("POST", f"{MAPS}?dryRun=Some", config_map("dry"))[0] == 422
    s.ok("DELETE", f"{MAPS}/care?dryRun=All")
    named = s.ok("POST", MAPS, {"metadata": {"generateName": "gen-"}, "data": {}}, type=None)
    assert len(named["metadata"]["name"]) == 9 and named["kind"] == "ConfigMap", named
    yaml = "apiVersion: v1\nkind: Secret\nmetadata: {name: by-yaml}\nstringData: {a: b}\n"
    secret = s.ok("POST", "/api/v1/namespaces/default/secrets", yaml, type="application/yaml")
    assert secret["data"] == {"a": "Yg=="} and secret["type"] == "Opaque" and "stringData" not in secret, secret
    assert s.call("GET", f"{MAPS}/care", accept="application/yaml")[1].startswith("apiVersion: v1")
    assert "\n  " in s.open("GET", f"{MAPS}/care?pretty=true")[1].read().decode()


def knows_its_fields(s):
    odd = {**config_map("odd"), "dada": {}}
    status, answer = s.call("POST", f"{MAPS}?fieldValidation=Strict", odd)
    assert status == 400 and 'unknown field "dada"' in answer["message"], answer
    s.ok("POST", MAPS, odd)
    assert s.headers["Warning"] == '299 - "unknown field \\"dada\\""', s.headers["Warning"]
    s.ok("PUT", f"{MAPS}/odd?fieldValidation=Ignore", odd)
    assert not s.headers["Warning"]
    status, answer = s.call("POST", f"{MAPS}?fieldValidation=Strict", '{"metadata":{"name":"dup"},"data":{"a":"1","a":"2"}}')
    assert status == 400 and 'duplicate field "data.a"' in answer["message"], answer


def patches(s):
    s.ok("POST", MAPS, config_map("patched", {"a": "1", "b": "2"}))
    path = f"{MAPS}/patched"
    merged = s.ok("PATCH", path, {"data": {"a": None, "c": "3"}}, type="application/merge-patch+json")
    assert merged["data"] == {"b": "2", "c": "3"}, merged
    same = s.ok("PATCH", path, {"data": {"c": "3"}}, type="application/merge-patch+json")
    assert same["metadata"]["resourceVersion"] == merged["metadata"]["resourceVersion"]
    ops = [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "replace", "path": "/data/b", "value": "9"}]
    assert s.ok("PATCH", path, ops, type="application/json-patch+json")["data"]["b"] == "9"
    assert s.call("PATCH", path, ops, type="application/json-patch+json")[0] == 422, "the test fails now"
    assert s.call("PATCH", path, {}, type="application/json-patch+json")[0] == 400
    assert s.call("PATCH", path, {}, type="application/json")[0] == 415
    assert s.ok("PATCH", path, {"metadata": {"labels": {"x": "y"}}},
                type="application/strategic-merge-patch+json")["metadata"]["labels"] == {"x": "y"}
    status, answer = s.call("PATCH", f"{QUEUES}/default", {}, type="application/strategic-merge-patch+json")
    assert status == 415 and "merge-patch" in answer["message"], answer
    stale = {"metadata": {"resourceVersion": "1"}, "data": {"z": "z"}}
    assert s.call("PATCH", path, stale, type="application/merge-patch+json")[0] == 409
    assert s.call("PATCH", path, {"metadata": {"uid": "x"}}, type="application/merge-patch+json")[0] == 422
    assert s.call("PATCH", f"{path}?force=true", {}, type="application/merge-patch+json")[0] == 422


def applies(s):
    """Server-side apply: who owns what, and who may not have it."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": {"a": "1", "b": "2"}}
    yaml, path = "application/apply-patch+yaml", f"{MAPS}/shared"
    status, first = s.call("PATCH", f"{path}?fieldManager=one", body, type=yaml)
    assert status == 201 and [m["manager"] for m in first["metadata"]["managedFields"]] == ["one"], first
    again = s.ok("PATCH", f"{path}?fieldManager=one", body, type=yaml)
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"], "the same again is nothing"
    other = {**body, "data": {"a": "9"}}
    status, answer = s.call("PATCH", f"{path}?fieldManager=two", other, type=yaml)
    assert status == 409 and answer["details"]["causes"][0]["field"] == ".data.a", answer
    forced = s.ok("PATCH", f"{path}?fieldManager=two&force=true", other, type=yaml)
    assert forced["data"] == {"a": "9", "b": "2"}, forced
    less = s.ok("PATCH", f"{path}?fieldManager=one", {**body, "data": {}}, type=yaml)
    assert less["data"] == {"a": "9"}, "what nobody wants any more goes"
    assert s.call("PATCH", path, body, type=yaml)[0] == 422
    made = s.ok("POST", MAPS, config_map("owned-by-update"))
    assert made["metadata"]["managedFields"][0]["operation"] == "Update", made
    j = job("applied", "true")
    assert s.call("PATCH", f"{JOBS}/applied?fieldManager=one", j, type=yaml)[0] == 201
    s.ok("DELETE", f"{JOBS}/applied")


def keeps_status_apart(s):
    s.ok("POST", QUEUES, {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "apart"},
                          "spec": {"weight": 1}, "status": {"pending": 7}})
    queue = until("the controller has completed it", lambda: (q := s.ok("GET", f"{QUEUES}/apart"))["spec"].get("parent") and q)
    assert queue.get("status", {}).get("pending", 0) != 7, queue
    merge = "application/merge-patch+json"
    changed = s.ok("PATCH", f"{QUEUES}/apart", {"spec": {"weight": 5}, "status": {"pending": 9}}, type=merge)
    assert changed["metadata"]["generation"] == queue["metadata"]["generation"] + 1 and changed.get("status", {}).get("pending", 0) != 9, changed
    status, answer = s.call("GET", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/x/status")
    assert status == 404, answer
    s.ok("DELETE", f"{QUEUES}/apart")
    status, answer = s.call("DELETE", f"{QUEUES}/root")
    assert status == 403, answer


def lists_of_then(s, query, rev):
    """What was there at a revision: as one list, in pages, and by any number of clients at once."""
    for more in ("resourceVersionMatch=Exact", "limit=50"):
        then = s.ok("GET", f"{MAPS}?{query}&resourceVersion={rev}&{more}")
        assert [o["metadata"]["name"] for o in then["items"]] == [f"page-{i}" for i in range(7)] and then["metadata"]["resourceVersion"] == rev, then
    begun = []
    for i in range(40):
        s.ok("PATCH", f"{MAPS}/page-5", {"data": {"turn": str(i)}}, type="application/merge-patch+json")
        begun.append((i, s.ok("GET", f"{MAPS}?limit=2")))
    s.ok("DELETE", f"{MAPS}/page-5")
    s.ok("POST", MAPS, config_map("page-5", labels={"page": "yes", "n": "5"}))
    for i, page in begun:
        left, rev = page["metadata"]["remainingItemCount"], page["metadata"]["resourceVersion"]
        rest = s.ok("GET", f"{MAPS}?limit=500&continue={urllib.parse.quote(page['metadata']['continue'])}")
        assert len(rest["items"]) == left and rest["metadata"]["resourceVersion"] == rev, (left, rest)
        turn = [o["data"]["turn"] for o in rest["items"] if o["metadata"]["name"] == "page-5"]
        assert turn == [str(i)], (i, turn)


def lists(s):
    for i in range(7):
        s.ok("POST", MAPS, config_map(f"page-{i}", labels={"page": "yes", "n": str(i)}))
    query = "labelSelector=page%3Dyes"
    page = s.ok("GET", f"{MAPS}?{query}&limit=3")
    assert len(page["items"]) == 3 and "remainingItemCount" not in page["metadata"], page["metadata"]
    s.ok("POST", MAPS, config_map("page-35", labels={"page": "yes"}))
    s.ok("DELETE", f"{MAPS}/page-6")
    names, rev = [], page["metadata"]["resourceVersion"]
    while True:
        names += [o["metadata"]["name"] for o in page["items"]]
        assert page["metadata"]["resourceVersion"] == rev, "all pages are of one moment"
        token = page["metadata"].get("continue")
        if not token:
            break
        page = s.ok("GET", f"{MAPS}?{query}&limit=3&continue={urllib.parse.quote(token)}")
    assert names == [f"page-{i}" for i in range(7)], names
    assert s.ok("GET", f"{MAPS}?limit=1")["metadata"]["remainingItemCount"] > 5
    lists_of_then(s, query, rev)
    old = base64.urlsafe_b64encode(json.dumps({"v": "meta.k8s.io/v1", "rv": 10**9, "start": "default/page-3"}).encode()).decode()
    status, answer = s.call("GET", f"{MAPS}?{query}&limit=9&continue={old}")
    assert (status, answer["reason"]) == (410, "Expired"), answer
    rest = s.ok("GET", f"{MAPS}?{query}&limit=9&continue={answer['metadata']['continue']}")
    assert [o["metadata"]["name"] for o in rest["items"]] == ["page-35", "page-4", "page-5"]
    for query, code in (("continue=garbage", 400), ("limit=abc", 400), (f"continue={old}&resourceVersion=5", 400),
                        ("labelSelector=a+b", 400), ("fieldSelector=spec.nothing%3D1", 400), ("sendInitialEvents=true", 422),
                        ("resourceVersionMatch=Exact", 422), ("resourceVersion=999999999", 504)):
        assert s.call("GET", f"{MAPS}?{query}")[0] == code, (query, s.call("GET", f"{MAPS}?{query}"))
    for selector, n in (("n in (1,2)", 2), ("page,n notin (1)", 6), ("!page,n=1", 0), ("n>3", 2), ("n!=1,page=yes", 6)):
        got = s.ok("GET", f"{MAPS}?labelSelector={urllib.parse.quote(selector)}")["items"]
        assert len(got) == n, (selector, [o["metadata"]["name"] for o in got])
    assert len(s.ok("GET", f"{MAPS}?fieldSelector=metadata.name%3Dpage-1")["items"]) == 1
    table = s.ok("GET", f"{MAPS}?labelSelector=page%3Dyes", accept=TABLE)
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Data", "Age"], table["columnDefinitions"]
    assert table["rows"][0]["cells"][:2] == ["page-0", 1] and table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert "object" in s.ok("GET", f"{MAPS}?includeObject=None", accept=TABLE)["rows"][0]
    part = s.ok("GET", f"{MAPS}/page-1", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    assert part["kind"] == "PartialObjectMetadata" and "data" not in part, part
    gone = s.ok("DELETE", f"{MAPS}?labelSelector=page%3Dyes")
    assert len(gone["items"]) == 7 and not s.ok("GET", f"{MAPS}?labelSelector=page%3Dyes")["items"]


def lists_much(s):
    """More than is sent at once: of one moment however late it is read, and nobody has to wait for the reader."""
    for i in range(20):
        s.ok("POST", MAPS, config_map(f"much-{i:02}", {"a": chr(97 + i) * 500000}, labels={"much": "yes"}))
    query = f"{MAPS}?labelSelector=much%3Dyes"
    late, answer = s.open("GET", query)
    leaves, _ = s.open("GET", query)
    leaves.close()
    changed = s.ok("PATCH", f"{MAPS}/much-19", {"data": {"a": "other"}}, type="application/merge-patch+json")
    s.ok("DELETE", f"{MAPS}/much-18")
    with contextlib.closing(late):
        got = json.loads(answer.read())
    assert (got["kind"], got["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(got["metadata"]["resourceVersion"]) < int(changed["metadata"]["resourceVersion"])
    assert [(o["metadata"]["name"], o["data"]["a"]) for o in got["items"]] == [(f"much-{i:02}", chr(97 + i) * 500000) for i in range(20)]
    now = s.ok("GET", query)["items"]
    assert [o["metadata"]["name"] for o in now] == [f"much-{i:02}" for i in range(20) if i != 18] and now[-1]["data"]["a"] == "other"
    table = s.ok("GET", query, accept=TABLE)["rows"]
    assert [r["cells"][0] for r in table] == [o["metadata"]["name"] for o in now]
    assert len(s.ok("DELETE", query)["items"]) == 19


def watches(s):
    rev = s.ok("GET", MAPS)["metadata"]["resourceVersion"]
    live = Watch(s, f"{MAPS}?watch=1&resourceVersion={rev}&labelSelector=w%3D1&allowWatchBookmarks=true&timeoutSeconds=3")
    s.ok("POST", MAPS, config_map("w1", labels={"w": "1"}))
    s.ok("POST", MAPS, config_map("other"))
    merge = "application/merge-patch+json"
    s.ok("PATCH", f"{MAPS}/w1", {"data": {"a": "2"}}, type=merge)
    left = s.ok("PATCH", f"{MAPS}/w1", {"metadata": {"labels": {"w": "2"}}}, type=merge)
    s.ok("PATCH", f"{MAPS}/w1", {"metadata": {"labels": {"w": "1"}}}, type=merge)
    s.ok("DELETE", f"{MAPS}/w1")
    told = until("five changes", lambda: (lambda got: len(got) >= 5 and got)([e for e in live.events if e["type"] != "BOOKMARK"]))
    assert [e["type"] for e in told] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"], live.short()
    gone = told[2]["object"]["metadata"]
    assert gone["labels"] == {"w": "1"} and gone["resourceVersion"] == left["metadata"]["resourceVersion"], gone
    replay = Watch(s, f"{MAPS}?watch=1&resourceVersion={rev}&labelSelector=w%3D1&timeoutSeconds=1")
    replay.until(5)
    assert replay.events[:5] == told, "who comes later sees the same"
    first = Watch(s, f"{MAPS}?watch=true&fieldSelector=metadata.name%3Dother")
    assert first.until(1)[0]["type"] == "ADDED"
    whole = Watch(s, f"{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    n = len(s.ok("GET", MAPS)["items"])
    mark = whole.until(n + 1)[n]
    assert mark["type"] == "BOOKMARK" and mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    tables = Watch(s, f"{MAPS}?watch=1&fieldSelector=metadata.name%3Dother", accept=TABLE)
    tables.until(1)
    s.ok("PATCH", f"{MAPS}/other", {"data": {"n": "1"}}, type=merge)
    tables.until(2)
    assert [bool(e["object"]["columnDefinitions"]) for e in tables.events] == [True, False]
    until("the watch ends by itself", lambda: live.ended and replay.ended)
    assert live.events[-1]["type"] == "BOOKMARK" and len(replay.events) == 5, (live.short(), replay.short())
    for query in ("sendInitialEvents=true", "resourceVersionMatch=NotOlderThan"):
        assert s.call("GET", f"{MAPS}?watch=1&{query}")[0] == 422
    for w in (first, whole, tables):
        w.close()


def holds_up(s):
    """Many at once, some of them slow, rude or confused."""
    text = "x" * 100000
    s.ok("POST", MAPS, config_map("big", {"a": text}))
    rev = s.ok("GET", f"{MAPS}/big")["metadata"]["resourceVersion"]
    query = f"{MAPS}?watch=1&resourceVersion={rev}&fieldSelector=metadata.name%3Dbig"
    slow = s.open("GET", query)  # nobody reads
    many = [Watch(s, query) for _ in range(8)]
    for i in range(60):
        s.ok("PATCH", f"{MAPS}/big", {"data": {"n": str(i)}}, type="application/merge-patch+json")
    for w in many:
        w.until(60)
    want = [str(i) for i in range(60)]
    assert all([e["object"]["data"]["n"] for e in w.events] == want for w in many)
    for w in many:
        w.close()
    got = [json.loads(slow[1].readline())["object"]["data"]["n"] for _ in want]
    assert got == want, "who reads late misses nothing"
    slow[0].close()
    until("those that have left are forgotten, but that of the Lease", lambda: "pumice_server_watches 1\n" in s.call("GET", "/metrics")[1])
    names = []

    def create():
        for _ in range(5):
            names.append(s.ok("POST", MAPS, {"metadata": {"generateName": "many-", "labels": {"many": "yes"}}})["metadata"]["name"])
    threads = [threading.Thread(target=create) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(names)) == 40, len(names)
    s.ok("DELETE", f"{MAPS}?labelSelector=many%3Dyes")
    assert s.call("POST", MAPS, '{"a":' * 2000 + "1" + "}" * 2000)[0] == 400, "too deep"
    assert s.call("POST", MAPS, '{"metadata": []}')[0] == 400 and s.call("POST", MAPS, "null")[0] == 422
    assert s.call("PUT", f"{MAPS}/big", {"metadata": {"name": "big", "labels": "text"}})[0] == 400
    assert s.call("PATCH", f"{MAPS}/big", {"metadata": None}, type="application/merge-patch+json")[0] == 400
    for path in ("/apis/", "/api/v1/", "/api/v1/namespaces/default/pods/", "/%", "/api/v1/%00", "/openapi/v3/../v2", "/api/v1/" + "a/" * 40):
        assert s.call("GET", path)[0] in (200, 400, 404), path


def ends_what_is_deleted(s):
    s.ok("POST", MAPS, config_map("held", finalizers=["example.com/hold"]))
    s.ok("DELETE", f"{MAPS}/held")
    held = s.ok("GET", f"{MAPS}/held")
    assert held["metadata"]["deletionTimestamp"], held
    merge = "application/merge-patch+json"
    assert s.call("PATCH", f"{MAPS}/held", {"metadata": {"finalizers": ["example.com/hold", "example.com/b"]}}, type=merge)[0] == 422
    s.ok("PATCH", f"{MAPS}/held", {"metadata": {"finalizers": None}}, type=merge)
    assert s.call("GET", f"{MAPS}/held")[0] == 404
    owner = s.ok("POST", MAPS, config_map("owner"))
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
    for way in ("Background", "Foreground", "Orphan"):
        if way != "Background":
            owner = s.ok("POST", MAPS, config_map("owner"))
            ref["uid"] = owner["metadata"]["uid"]
        s.ok("POST", MAPS, config_map(f"owned-{way.lower()}", ownerReferences=[ref]))
        wrong = {"preconditions": {"uid": "another"}}
        assert s.call("DELETE", f"{MAPS}/owner", wrong)[0] == 409
        gone = s.ok("DELETE", f"{MAPS}/owner", {"propagationPolicy": way})
        if way == "Background":
            assert gone["details"]["uid"] == ref["uid"] and "code" not in gone, gone
        until(f"{way}: the owner is gone", lambda: s.call("GET", f"{MAPS}/owner")[0] == 404)
    until("what was owned is gone", lambda: s.call("GET", f"{MAPS}/owned-background")[0] == 404)
    assert s.call("GET", f"{MAPS}/owned-foreground")[0] == 404
    assert "ownerReferences" not in s.ok("GET", f"{MAPS}/owned-orphan")["metadata"]
    assert s.call("DELETE", f"{MAPS}/twice?propagationPolicy=Never")[0] == 422


def ends_namespaces(s):
    space = s.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "ending"}})
    assert space["spec"]["finalizers"] == ["kubernetes"] and space["status"]["phase"] == "Active", space
    assert space["metadata"]["labels"] == {"kubernetes.io/metadata.name": "ending"}
    until("it is furnished", lambda: s.call("GET", "/api/v1/namespaces/ending/configmaps/kube-root-ca.crt")[0] == 200)
    s.ok("GET", "/api/v1/namespaces/ending/serviceaccounts/default")
    maps = "/api/v1/namespaces/ending/configmaps"
    s.ok("POST", maps, config_map("held", finalizers=["example.com/hold"]))
    assert s.ok("DELETE", "/api/v1/namespaces/ending")["status"]["phase"] == "Terminating"
    status, answer = s.call("POST", maps, config_map("late"))
    assert status == 403 and answer["details"]["causes"][0]["reason"] == "NamespaceTerminating", answer
    until("what can go is gone", lambda: len(s.ok("GET", maps)["items"]) == 1)
    s.ok("PATCH", f"{maps}/held", {"metadata": {"finalizers": None}}, type="application/merge-patch+json")
    until("it is gone", lambda: s.call("GET", "/api/v1/namespaces/ending")[0] == 404)
    assert s.call("DELETE", "/api/v1/namespaces/default")[0] == 403


def shows_events_twice(s):
    """Core Events and those of events.k8s.io are the same ones."""
    about = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "default"}
    new = "/apis/events.k8s.io/v1/namespaces/default/events"
    s.ok("POST", new, {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "seen"}, "regarding": about,
                       "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "test", "note": "hello",
                       "reason": "Seen", "type": "Normal", "action": "Look", "reportingInstance": "test-1"})
    old = s.ok("GET", "/api/v1/namespaces/default/events/seen")
    assert old["message"] == "hello" and old["involvedObject"]["name"] == "p" and old["reportingComponent"] == "test", old
    merge = "application/merge-patch+json"
    assert s.ok("PATCH", f"{new}/seen", {"note": "again"}, type=merge)["note"] == "again"
    got = s.ok("GET", f"{new}?fieldSelector=regarding.name%3Dp,reportingController%3Dtest")
    assert got["apiVersion"] == "events.k8s.io/v1" and [e["note"] for e in got["items"]] == ["again"], got
    assert s.call("GET", f"{new}?fieldSelector=nothing%3Dp")[0] == 400
    w = Watch(s, f"{new}?watch=1&fieldSelector=regarding.name%3Dp")
    assert w.until(1)[0]["object"]["note"] == "again" and w.events[0]["object"]["apiVersion"] == "events.k8s.io/v1"
    w.close()
    s.ok("DELETE", f"{new}/seen")
    assert s.call("GET", "/api/v1/namespaces/default/events/seen")[0] == 404


# ---- pods ----

def runs_pods(s):
    made = s.ok("POST", PODS, pod("bare", "echo one; echo two; sleep 1000"))
    spec, main = made["spec"], made["spec"]["containers"][0]
    assert spec["dnsPolicy"] == "ClusterFirst" and main["imagePullPolicy"] == "IfNotPresent" and made["status"]["phase"] == "Pending"
    running = until("it runs", lambda: (p := s.ok("GET", f"{PODS}/bare"))["status"]["phase"] == "Running" and p)
    assert running["spec"]["nodeName"]
    log = f"{PODS}/bare/log"
    until("it has written", lambda: s.call("GET", log) == (200, "one\ntwo\n"))
    assert s.call("GET", f"{log}?tailLines=1") == (200, "two\n")
    assert s.call("GET", f"{log}?timestamps=true")[1].startswith("20")
    status, answer = s.call("GET", f"{log}?container=nobody")
    assert status == 400 and "container nobody is not valid for pod bare" in answer["message"], answer
    status, answer = s.call("GET", f"{log}?previous=true")
    assert status == 400 and answer["kind"] == "Status", answer
    assert s.call("GET", f"{log}?tailLines=-1")[0] == 422 and s.call("GET", f"{PODS}/nobody/log")[0] == 404
    assert s.call("GET", f"{PODS}/bare/exec?command=true")[0] == 400, "no protocol was offered"
    status, answer = s.call("PATCH", f"{PODS}/bare", {"spec": {"nodeName": "other"}}, type="application/merge-patch+json")
    assert status == 422 and answer["details"]["causes"][0]["reason"] == "FieldValueForbidden", answer
    binding = {"target": {"kind": "Node", "name": "x"}}
    assert s.call("POST", f"{PODS}/bare/binding", binding)[0] == 409
    row = next(r for r in s.ok("GET", PODS, accept=TABLE)["rows"] if r["cells"][0] == "bare")
    assert row["cells"][1:4] == ["1/1", "Running", "0"], row
    node = running["spec"]["nodeName"]
    chosen = s.ok("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node},status.phase!%3DSucceeded")["items"]
    assert [p["metadata"]["name"] for p in chosen] == ["bare"], chosen
    ending = s.ok("DELETE", f"{PODS}/bare", {"gracePeriodSeconds": 1})
    assert ending["metadata"]["deletionTimestamp"] and ending["metadata"]["deletionGracePeriodSeconds"] == 1
    until("it is gone", lambda: s.call("GET", f"{PODS}/bare")[0] == 404)


def speaks_in_messages(s):
    """Watches and logs for pages: they cannot read an answer that has no end."""
    path = f"{MAPS}?watch=1&fieldSelector=metadata.name%3Dsocket"
    w = Messages(s, path)
    assert w.status == 101 and "Sec-WebSocket-Protocol" not in w.head and "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in w.head, w.head
    s.ok("POST", MAPS, config_map("socket", {"a": "x" * 70000}))
    kind, o = w.event()
    assert kind == "ADDED" and o == s.ok("GET", f"{MAPS}/socket"), (kind, o["metadata"])
    w.send(1, b"what it says is not heard")
    w.send(9, b"ping")
    assert w.next() == (10, b"ping")
    token = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(s.token.encode()).decode().rstrip("=")
    page = Messages(s, path, protocol=f"{token}, base64.binary.k8s.io", token=False, Origin=f"https://127.0.0.1:{s.port}")
    assert page.status == 101 and "Sec-WebSocket-Protocol: base64.binary.k8s.io\r" in page.head, page.head
    assert page.event()[0] == "ADDED"
    table = Messages(s, path, Accept=TABLE)
    assert table.event()[1]["kind"] == "Table"
    s.ok("DELETE", f"{MAPS}/socket")
    assert [x.event()[0] for x in (w, page, table)] == ["DELETED"] * 3
    w.send(8, b"\x03\xe8")
    assert w.next()[0] == 8 and w.f.read(1) == b"", "a close is answered, and is the end"
    brief = Messages(s, f"{path}&timeoutSeconds=1&resourceVersion={o['metadata']['resourceVersion']}")
    assert brief.event()[0] == "DELETED" and brief.next() == (8, b"\x03\xe8") and brief.f.read(1) == b""
    for more, status in (({"token": False}, 403), ({"token": False, "protocol": token[:-4]}, 401), ({"token": False, "protocol": token, "Origin": "https://elsewhere.example"}, 403)):
        refused = Messages(s, path, **more)
        assert refused.status == status, (more, refused.head)
        refused.close()
    s.ok("POST", PODS, pod("writes", "echo one; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo two"))
    until("it runs", lambda: s.ok("GET", f"{PODS}/writes")["status"]["phase"] == "Running")
    logs = {p: Messages(s, f"{PODS}/writes/log?follow=true", protocol=p) for p in (None, "binary.k8s.io", "base64.binary.k8s.io")}
    assert [x.next() for x in logs.values()] == [(2, b"one\n"), (2, b"one\n"), (1, b"b25lCg==")]
    assert Messages(s, f"{PODS}/writes/log", protocol="v9.unheard.of").status == 403
    s.ok("DELETE", f"{PODS}/writes", {"gracePeriodSeconds": 0})
    assert [x.next()[0] for x in logs.values()] == [8] * 3, "they end with the container"
    for x in (w, page, table, brief, *logs.values()):
        x.close()


def follows_a_log(s):
    s.ok("POST", PODS, pod("talks", "echo begin; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo end"))
    until("it runs", lambda: s.ok("GET", f"{PODS}/talks")["status"]["phase"] == "Running")
    c, r = s.open("GET", f"{PODS}/talks/log?follow=true")
    assert r.readline() == b"begin\n"
    status, _ = s.call("POST", f"{PODS}/talks/eviction", {"apiVersion": "policy/v1", "kind": "Eviction"})
    assert status == 201
    assert r.read() == b"", "it ends with the container"
    c.close()
    until("it is gone", lambda: s.call("GET", f"{PODS}/talks")[0] == 404)


def exec_in(s, name, *command):
    """A command in a pod, by WebSocket as far as it is needed: its status is the last thing that is said."""
    q = urllib.parse.urlencode([*(("command", c) for c in command), ("stdout", "true"), ("container", "main")])
    raw = socket.create_connection(("127.0.0.1", s.port), timeout=60)
    c = ssl.create_default_context(cadata=s.ca).wrap_socket(raw, server_hostname="127.0.0.1")
    key = base64.b64encode(os.urandom(16)).decode()
    c.sendall((f"GET {PODS}/{name}/exec?{q} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {s.token}\r\nConnection: Upgrade\r\n"
               f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
               "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n").encode())
    got = b""
    while b'"status":"' not in got:
        more = c.recv(65536)
        assert more, got
        got += more
    c.close()
    assert b'"status":"Success"' in got, got


def says_what_is_missing(s):
    """Who reads slower than a container writes misses some of it, and is told so."""
    s.ok("POST", PODS, pod("chatty", "echo begin; until [ -e /tmp/go ]; do sleep 0.05; done; i=0; while [ $i -lt 7000 ]; do "
                              "i=$((i + 1)); printf '%d %10000s\\n' $i x; done; echo end"))
    until("it has begun", lambda: s.call("GET", f"{PODS}/chatty/log")[1] == "begin\n")
    c, r = s.open("GET", f"{PODS}/chatty/log?follow=true&timestamps=true")
    assert r.readline().endswith(b" begin\n")
    exec_in(s, "chatty", "touch", "/tmp/go")
    until("it has written all", lambda: s.ok("GET", f"{PODS}/chatty")["status"]["phase"] == "Succeeded")
    lines = [line.split()[1].decode() for line in r]
    c.close()
    assert lines[-1] == "end" and "[pumice:" in lines, (len(lines), lines[-1])
    assert all(now in ("end", "[pumice:") or before == "[pumice:" or int(now) == int(before) + 1 for before, now in zip(["0", *lines], lines)), "nobody told of a gap"
    s.ok("DELETE", f"{PODS}/chatty?gracePeriodSeconds=0")


def runs_jobs(s):
    status, answer = s.call("POST", JOBS, {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "none"},
                                           "spec": {"queue": "nowhere", "tasks": []}})
    assert status == 422 and answer["details"] and answer["details"]["group"] == "batch.volcano.sh", answer
    rev = s.ok("GET", JOBS)["metadata"]["resourceVersion"]
    live = Watch(s, f"{JOBS}?watch=1&resourceVersion={rev}")
    s.ok("POST", JOBS, job("pair", "echo $VC_TASK_INDEX", 2))
    done = until("the job is done", lambda: (j := s.ok("GET", f"{JOBS}/pair"))["status"].get("state", {}).get("phase") ==
                 "Completed" and j)
    assert done["status"]["succeeded"] == 2, done["status"]
    until("the watch tells it too", lambda: any(e["object"].get("status", {}).get("state", {}).get("phase") in ("Running", "Completed")
                                                for e in live.events))
    revs = [int(e["object"]["metadata"]["resourceVersion"]) for e in live.events]
    assert revs == sorted(set(revs)), "each change once, in order"
    live.close()
    pods = s.ok("GET", f"{PODS}?labelSelector=volcano.sh%2Fjob-name%3Dpair")["items"]
    assert len(pods) == 2 and all(p["spec"]["schedulerName"] == "volcano" for p in pods)
    assert pods[0]["spec"]["dnsPolicy"] == "ClusterFirst", "what controllers make is completed too"
    s.ok("DELETE", f"{JOBS}/pair")
    until("its pods go with it", lambda: not s.ok("GET", f"{PODS}?labelSelector=volcano.sh%2Fjob-name%3Dpair")["items"])


def answers_questions(s):
    me = s.ok("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert me["status"]["userInfo"]["username"] == "kubernetes-admin", me
    may = s.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
               {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}})
    assert may["status"]["allowed"] is True, may
    other = s.ok("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                 {"spec": {"user": "eve", "groups": ["people"], "resourceAttributes": {"verb": "create", "resource": "pods"}}})
    assert other["status"]["allowed"] is False, other
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "test:look"}, "rules": []}
    assert s.ok("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)["metadata"]["name"] == "test:look"


# ---- kubectl ----

def kubectls():
    """Those that are there, each once: (name, path). To build one would take longer than all that it is for here."""
    found = []
    try:
        from bed import Skip, binaries
        for name, what in (("1.36", ()), ("Debian's", ("debian",))):
            with contextlib.suppress(Skip):
                found.append((name, os.path.join(binaries(*what, builds=False), "kubectl")))
    except ImportError:
        pass
    system = shutil.which("kubectl")
    if system and not any(filecmp.cmp(system, path) for _, path in found):
        found.append(("the system's", system))
    return found


class Kubectl:
    def __init__(self, server, path):
        self.server, self.path = server, path
        self.home = tempfile.mkdtemp(dir=server.dir)
        self.minor = int(json.loads(self("version", "--client", "-o", "json"))["clientVersion"]["minor"].rstrip("+"))

    def argv(self, *args):
        return [self.path, "--kubeconfig", self.server.config, "--cache-dir", self.home, *args]

    def run(self, *args, stdin=None):
        return subprocess.run(self.argv(*args), input=stdin, capture_output=True, text=True, timeout=PATIENCE_S,
                              env={**os.environ, "HOME": self.home})

    def __call__(self, *args, stdin=None):
        r = self.run(*args, stdin=stdin)
        assert r.returncode == 0, (args, r.stdout, r.stderr)
        return r.stdout

    def fails(self, *args, stdin=None):
        r = self.run(*args, stdin=stdin)
        assert r.returncode != 0, (args, r.stdout)
        return r.stderr


def kubectl_works(s, path):
    k = Kubectl(s, path)
    k("create", "-f", "-", stdin=json.dumps(job("kube", "echo hello; sleep 1000", 2)))
    try:
        watch = subprocess.Popen(k.argv("get", "vcjob", "-w"), stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        until("it runs", lambda: k("get", "vj/kube", "-o", "jsonpath={.status.state.phase}") == "Running")
        if k.minor >= 23:
            k("wait", "--for=jsonpath={.status.state.phase}=Running", "vj/kube", "--timeout=60s")
        assert "kube" in watch.stdout.readline() + watch.stdout.readline()
        table = k("get", "pods")
        assert table.splitlines()[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"] and "kube-w-0" in table, table
        assert k("get", "vcjob", "kube").splitlines()[0].split() == ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"]
        until("it has written", lambda: k("logs", "kube-w-0") == "hello\n")
        assert k("exec", "kube-w-1", "--", "sh", "-c", "hostname") == "kube-w-1\n"
        assert k("exec", "-i", "kube-w-1", "--", "cat", stdin="through\n") == "through\n"
        assert k.run("exec", "kube-w-1", "--", "sh", "-c", "exit 7").returncode == 7
        words = k("describe", "pod", "kube-w-0")
        assert "Started container main" in words and "Controlled By:  Job/kube" in words, words
        k("label", "pod", "kube-w-0", "colour=red")
        assert "kube-w-0" in k("get", "pods", "-l", "colour=red", "-o", "name")
        k("annotate", "vcjob", "kube", "note=x")
        assert "minAvailable" in k("explain", "vcjob.spec") and "limits" in k("explain", "pod.spec.containers.resources")
        names = k("api-resources", "--no-headers")
        assert all(w in names for w in ("vcjob,vj", "podgroup-v1beta1", "networkpolicies")), names
        k("apply", "-f", "-", stdin=json.dumps(config_map("applied", {"a": "1", "b": "2"})))
        assert "unchanged" in k("apply", "-f", "-", stdin=json.dumps(config_map("applied", {"a": "1", "b": "2"})))
        assert "configured" in k("apply", "-f", "-", stdin=json.dumps(config_map("applied", {"a": "3"})))
        assert k("get", "cm", "applied", "-o", "jsonpath={.data}") in ('{"a":"3"}', "map[a:3]")
        if k.minor >= 22:
            k("apply", "--server-side", "-f", "-", stdin=json.dumps(job("sided", "sleep 1000")))
            assert "serverside-applied" in k("apply", "--server-side", "-f", "-", stdin=json.dumps(job("sided", "sleep 1000")))
            k("delete", "vcjob", "sided")
        k("create", "namespace", "kube-made")  # these are sent as protobuf from 1.32 on
        k("create", "configmap", "made", "--from-literal=a=b", "-n", "kube-made")
        k("create", "secret", "generic", "made", "--from-literal=a=b", "-n", "kube-made")
        k("create", "quota", "made", "--hard=pods=5,cpu=2", "-n", "kube-made")
        made = json.loads(k("get", "cm,secret,quota", "-n", "kube-made", "-o", "json"))["items"]
        made = {o["kind"]: o for o in made if o["metadata"]["name"] == "made"}
        assert made["ConfigMap"]["data"] == {"a": "b"} and made["Secret"]["data"] == {"a": "Yg=="}, made
        assert made["ResourceQuota"]["spec"]["hard"] == {"pods": "5", "cpu": "2"}, made
        assert '""' not in json.dumps(made), "nothing is there that was not set"
        assert k("auth", "can-i", "create", "vcjobs") == "yes\n"
        k("delete", "namespace", "kube-made")
        k("patch", "vcjob", "kube", "--type=merge", "-p", '{"spec":{"maxRetry":5}}')
        assert "NotFound" in k.fails("get", "pod", "nobody")
        assert "Forbidden" in k.fails("patch", "pod", "kube-w-0", "-p", '{"spec":{"dnsPolicy":"None"}}')
        bad = job("bad", "true")
        bad["spec"]["tasks"][0]["replicaz"] = 1
        assert "replicaz" in k.fails("create", "-f", "-", stdin=json.dumps(bad)), "told by the server, or found by itself"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "merged"}, "secrets": [{"name": "a"}, {"name": "b"}]}
        k("apply", "-f", "-", stdin=json.dumps(account))
        account["secrets"].pop(0)
        k("apply", "-f", "-", stdin=json.dumps(account))
        secrets = json.loads(k("get", "sa", "merged", "-o", "json"))["secrets"]
        assert secrets == [{"name": "b"}], "lists are joined by their keys, and what is left out goes"
        k("delete", "sa", "merged")
        k("delete", "vcjob", "kube")
        until("its pods go", lambda: "kube-w" not in k("get", "pods"))
        k("delete", "cm", "applied")
        assert "kube" in watch.stdout.readline()
    finally:
        watch.kill()
        watch.wait()


def renews_its_lease(s, renewals):
    """The machine is alive, as whoever watches nodes sees it. The watch runs since the suite began."""
    first, second = renewals.until(3)[-2:]  # made, with its owner, and again
    node = s.ok("GET", "/api/v1/nodes")["items"][0]
    meta, spec = second["object"]["metadata"], second["object"]["spec"]
    assert meta["name"] == node["metadata"]["name"] and meta["ownerReferences"][0]["uid"] == node["metadata"]["uid"], second
    assert spec["holderIdentity"] == meta["name"] and spec["leaseDurationSeconds"] == 40 and spec["renewTime"] > first["object"]["spec"]["renewTime"], second
    kinds = {c["type"]: c["status"] for c in node["status"]["conditions"] if c["lastHeartbeatTime"] and c["reason"]}
    assert kinds["Ready"] == "True" and kinds["MemoryPressure"] == kinds["DiskPressure"] == kinds["PIDPressure"] == "False", node
    renewals.close()


# ---- the end ----

def ends_well(s):
    w = Watch(s, f"{PODS}?watch=1")
    s.ok("POST", PODS, pod("last", "trap 'exit 0' TERM; while :; do sleep 0.1; done"))
    until("it runs", lambda: s.ok("GET", f"{PODS}/last")["status"]["phase"] == "Running")
    begin = time.monotonic()
    assert s.stop() == 0, "SIGTERM is a good end"
    until("watches end", lambda: w.ended)
    assert time.monotonic() - begin < 30


def refuses_a_second(second):
    """It waits a little for the first one to end: meanwhile the others are tested."""
    text = second.communicate()[1]
    assert second.returncode == 1 and "is in use by another pumice server" in text, text


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


def comes_again():
    """At a socket, killed, and started again in the same directory at a port."""
    first = Server(listen="unix:" + os.path.join(tempfile.mkdtemp(prefix="pumice-server-"), "sock"))
    path = first.process.args[first.process.args.index("--listen") + 1].removeprefix("unix:")
    c = UnixConnection(path)
    c.request("GET", "/api/v1/namespaces/default", headers={"Host": "pumice"})
    assert c.getresponse().status == 200, "the owner needs no token"
    assert os.stat(path).st_mode & 0o777 == 0o600 and not os.path.exists(first.config)
    with open(os.path.join(first.data, "pki", "admin.token")) as f:
        token = f.read()
    first.process.kill()
    first.process.wait()
    second = Server(data=first.data)
    assert second.token == token and second.ok("GET", "/api/v1/namespaces/default")
    assert second.stop() == 0
    shutil.rmtree(first.dir, ignore_errors=True)
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def main():
    suite = Suite()
    s = server_or_skip()
    renewals = Watch(s, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?watch=1")
    second = subprocess.Popen([PUMICE, "server", "--data-dir", s.data, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        for case in (is_healthy, keeps_strangers_out, discovers_both_forms, describes_kinds, says_what_is_wrong, writes_with_care,
                     knows_its_fields, patches, applies, keeps_status_apart, lists, lists_much, watches, holds_up, ends_what_is_deleted, ends_namespaces,
                     shows_events_twice, runs_pods, follows_a_log, says_what_is_missing, speaks_in_messages, runs_jobs, answers_questions):
            suite.case(case.__name__, lambda: case(s))
        suite.case("refuses_a_second", lambda: refuses_a_second(second))
        for name, path in kubectls():
            suite.case(f"kubectl ({name})", lambda: kubectl_works(s, path))
        suite.case("renews_its_lease", lambda: renews_its_lease(s, renewals))
        suite.case("ends_well", lambda: ends_well(s))
        suite.case("comes_again", comes_again)
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
