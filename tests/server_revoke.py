#!/usr/bin/env python3
"""Streams end with what opened them: every kind of stream × every kind of credential × every way to revoke it.

A row is a credential with the right to everything in "lab", and the way it is revoked. All streams of all rows are opened first; then
one row after the other is revoked, and all streams of that row end while those of the others go on.
"""
import base64
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import time

from harness import Suite, pumice, same
from server import PATIENCE_S, Server, config_map, pod, server_or_skip, until
from server_security import issue
from server_user import field

LAB = "/api/v1/namespaces/lab"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ALL = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
UID = 54321
LISTENS = """exec python3 -c 'import socket
s = socket.create_server(("", 8080))
print("listens", flush=True)
kept = []
while True:
    kept.append(s.accept()[0])
    kept[-1].sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\nnever whole")'"""
LIST_MB = 16  # more than the kernel takes for a client that does not read
SOCKETS = {"websocket": ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="],
           "spdy": ["Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io", "X-Stream-Protocol-Version: portforward.k8s.io"]}
# name: path, how the connection is upgraded
KINDS = {"watch": ("pods?watch=1", None), "watch (WebSocket)": ("pods?watch=1", "websocket"),
         "log": ("pods/p/log?follow=true", None),
         **{f"{name} ({how})": (path, how) for how in SOCKETS for name, path in (
             ("exec", "pods/p/exec?command=sleep&command=1000&stdout=1"), ("attach", "pods/p/attach?stdout=1"),
             ("port-forward", "pods/p/portforward?ports=8080"))},
         "proxy": ("pods/p:8080/proxy/", None), "list": ("configmaps", None)}


class Stream:
    """An answer that goes on. What is read is thrown away; of a list nothing is read until the end."""

    def __init__(self, row, kind):
        path, how = KINDS[kind]
        self.is_list, self.name = kind == "list", f"{kind}, {row.name}"
        self.is_brief = how == "spdy" and not kind.startswith("port")  # the server waits for its streams, and not for ever
        self.s = row.connect()
        protocols = [*(["v4.channel.k8s.io"] if kind.startswith(("exec", "attach", "port")) else []), *row.protocols]
        lines = [f"GET {LAB}/{path} HTTP/1.1", f"Host: 127.0.0.1:{row.place.server.port}", *(["Connection: Upgrade", *SOCKETS[how]] if how else []),
                 *([f"Sec-WebSocket-Protocol: {', '.join(protocols)}"] if how == "websocket" and protocols else []), *row.headers]
        self.s.sendall("\r\n".join([*lines, "", ""]).encode())
        head = self.s.recv(1000)
        self.status = int(head.split()[1])
        self.head = head
        self.s.setblocking(False)

    def ended(self):
        try:
            while self.s.recv(65536):
                pass
            return True
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True

    def is_cut(self):
        """A list that its client reads only now is not whole."""
        self.s.settimeout(PATIENCE_S)
        tail = b""
        with contextlib.suppress(OSError):
            while got := self.s.recv(1 << 20):
                tail = (tail + got)[-100:]
                if tail.endswith(b"\r\n0\r\n\r\n"):
                    return False
        return True


class Row:
    """A credential; 'revoke' takes it away."""

    def __init__(self, place, name, revoke, token=None, pair=None, uid=None, headers=(), protocol=None, kinds=KINDS):
        self.place, self.name, self.revoke, self.pair, self.uid = place, name, revoke, pair, uid
        self.headers = [*([f"Authorization: Bearer {token}"] if token else []), *headers]
        self.protocols = [protocol] if protocol else []
        self.streams = [Stream(self, kind) for kind in kinds]
        bad = [(s.name, s.head) for s in self.streams if s.status not in (101, 200)]
        assert not bad, bad

    def connect(self):
        server = self.place.server
        if self.uid is not None:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(PATIENCE_S)
            os.seteuid(self.uid)
            try:
                s.connect(self.place.unix)
            finally:
                os.seteuid(0)
            return s
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
        raw.settimeout(PATIENCE_S)
        raw.connect(("127.0.0.1", server.port))
        context = ssl.create_default_context(cadata=server.ca)
        if self.pair:
            context.load_cert_chain(*self.pair)
        return context.wrap_socket(raw, server_hostname="127.0.0.1")

    def alive(self):
        return [s.name for s in self.streams if not s.is_list and not s.ended()]

    def lists_are_cut(self):
        return all(s.is_cut() for s in self.streams if s.is_list)

    def close(self):
        for s in self.streams:
            s.s.close()


class Place:
    def __init__(self):
        self.unix = f"\0pumice-streams-{os.getpid()}"
        self.server = s = Server("--listen", "unix:@" + self.unix[1:], "--access-config", self.config())
        self.rows = []
        s.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "lab"}})
        s.ok("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "all"}, "rules": ALL})
        until("the namespace has its account", lambda: s.call("GET", f"{LAB}/serviceaccounts/default")[0] == 200)
        s.ok("POST", f"{LAB}/pods", pod("p", LISTENS))
        for i in range(LIST_MB):
            s.ok("POST", f"{LAB}/configmaps", config_map(f"big-{i}", {"a": "x" * 1000000}))
        until("the pod listens", lambda: s.call("GET", f"{LAB}/pods/p/log")[1] == "listens\n")

    def config(self):
        self.access = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"pumice-streams.{os.getpid()}")
        with open(self.access, "w") as f:
            f.write("jobs: [{namespaces: [lab], runAs: any}]\nlimits: {requestsPerSecond: 10000, burst: 10000}\n")
        return self.access

    def command(self, *args):
        run = pumice("server", *args, "--data-dir", self.server.data)
        assert run.returncode == 0, (args, run.stderr)
        return run.stdout

    def user(self, name, *args, role=("--edit", "-n", "lab"), end=None):
        """A user with a token, which ends before a minute is over if it is told so; the right to all that is in lab."""
        text = self.command("user", "add", name, "--token", *role, *args)
        if end:
            edit_user(self, name, tokens=[{**t, "end": stamp(end)} for t in in_file(self, name)["tokens"]])
        return re.search(r"token: (\S+)", text)[1]

    def certificate(self, name):
        text = self.command("user", "add", name, "--edit", "-n", "lab")
        pair = [os.path.join(self.server.dir, f"{name}.{part}") for part in ("crt", "key")]
        for path, part in zip(pair, ("client-certificate-data", "client-key-data")):
            with open(path, "wb") as f:
                f.write(field(text, part))
        return pair

    def bind(self, name, kind, subject, where=f"{RBAC}/namespaces/lab/rolebindings", role=("ClusterRole", "all"), **more):
        self.server.ok("POST", where, {"metadata": {"name": name}, "roleRef": {"kind": role[0], "name": role[1]},
                                       "subjects": [{"kind": kind, "name": subject, **more}]})
        return f"{where}/{name}"

    def account(self, name, bound=None, **spec):
        self.server.ok("POST", f"{LAB}/serviceaccounts", {"metadata": {"name": name}})
        self.bind(name, "ServiceAccount", name, namespace="lab")
        if bound:
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": bound, "name": name}
        return self.server.ok("POST", f"{LAB}/serviceaccounts/{name}/token", {"spec": spec})["status"]["token"]

    def deletes(self, *paths):
        return lambda: [self.server.ok("DELETE", path) for path in paths]

    def removes(self, name):
        return lambda: self.command("user", "remove", name)

    def add(self, name, revoke, **kw):
        self.rows.append(Row(self, name, revoke, **kw))

    def end(self):
        for row in self.rows:
            row.close()
        self.server.stop()
        os.unlink(self.access)


def resigned(p, token, end):
    """The same claims with another end, by the server's own key."""
    def code(b):
        return base64.urlsafe_b64encode(b).rstrip(b"=")
    head, claims, _ = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(claims + "=="))
    text = head.encode() + b"." + code(json.dumps({**claims, "exp": int(end)}, separators=(",", ":")).encode())
    der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", os.path.join(p.server.data, "pki", "account-keys.pem")], input=text,
                         capture_output=True, check=True).stdout
    raw, at = b"", 2
    for _ in range(2):  # SEQUENCE { INTEGER r, INTEGER s }
        n = der[at + 1]
        raw += der[at + 2:at + 2 + n].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + n
    return (text + b"." + code(raw)).decode()


# ---- rows ----

def by_user(p):
    websockets = [k for k in KINDS if "(websocket)" in k]
    p.add("certificate, user removed", p.removes("u-cert"), pair=p.certificate("u-cert"))
    p.add("token, user removed", p.removes("u-token"), token=p.user("u-token"))
    p.add("token as a protocol, user removed", p.removes("u-page"), kinds=websockets,
          protocol="base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(p.user("u-page").encode()).decode().rstrip("="))
    p.add("token, user rotated", lambda: p.command("user", "rotate", "u-rotate", "--token"), token=p.user("u-rotate"))
    p.add("certificate, user rotated", lambda: p.command("user", "rotate", "u-rotated", "-o", os.path.join(p.server.dir, "rotated")),
          pair=p.certificate("u-rotated"))
    if os.geteuid() == 0:
        p.user("u-unix", "--unix-uid", str(UID))
        p.add("UNIX uid, user removed", p.removes("u-unix"), uid=UID)


def by_account(p):
    s = p.server
    p.add("account deleted", p.deletes(f"{LAB}/serviceaccounts/a-plain"), token=p.account("a-plain"))
    s.ok("POST", f"{LAB}/secrets", {"metadata": {"name": "a-secret"}})
    p.add("bound Secret deleted", p.deletes(f"{LAB}/secrets/a-secret"), token=p.account("a-secret", "Secret"))
    s.ok("POST", f"{LAB}/serviceaccounts", {"metadata": {"name": "a-pod"}})
    never = pod("a-pod", "true")
    never["spec"].update(serviceAccountName="a-pod", schedulerName="nobody", nodeSelector={"no": "node"})
    s.ok("POST", f"{LAB}/pods", never)
    s.ok("DELETE", f"{LAB}/serviceaccounts/a-pod")
    p.add("bound Pod deleted", p.deletes(f"{LAB}/pods/a-pod?gracePeriodSeconds=0"), token=p.account("a-pod", "Pod"))
    s.ok("POST", "/api/v1/nodes", {"metadata": {"name": "a-node"}})
    p.add("bound Node deleted", p.deletes("/api/v1/nodes/a-node"), token=p.account("a-node", "Node"))


def by_rights(p):
    s, bindings = p.server, f"{RBAC}/namespaces/lab/rolebindings"
    def changes(path, **what):
        return lambda: s.ok("PATCH", path, what, type="application/merge-patch+json")
    look = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    token = p.user("r-binding", role=())
    p.add("RoleBinding deleted", p.deletes(p.bind("r-binding", "User", "r-binding")), token=token)
    token = p.user("r-subject", role=())
    p.add("RoleBinding of somebody else", changes(p.bind("r-subject", "User", "r-subject"), subjects=[{"kind": "User", "name": "other"}]), token=token)
    token = p.user("r-everywhere", role=())
    p.add("ClusterRoleBinding deleted", p.deletes(p.bind("r-everywhere", "User", "r-everywhere", f"{RBAC}/clusterrolebindings")), token=token)
    token = p.user("r-role", role=())
    s.ok("POST", f"{RBAC}/namespaces/lab/roles", {"metadata": {"name": "r-role"}, "rules": ALL})
    p.bind("r-role", "User", "r-role", role=("Role", "r-role"))
    p.add("Role changed", changes(f"{RBAC}/namespaces/lab/roles/r-role", rules=look), token=token)
    token = p.user("r-cluster", role=())
    s.ok("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "r-cluster"}, "rules": ALL})
    p.bind("r-cluster", "User", "r-cluster", role=("ClusterRole", "r-cluster"))
    p.add("ClusterRole deleted", p.deletes(f"{RBAC}/clusterroles/r-cluster"), token=token)
    token = p.user("r-group", "--group", "team", role=())
    p.bind("r-group", "Group", "team")
    p.add("group taken away", lambda: edit_user(p, "r-group", groups=[]), token=token)
    p.add("account's RoleBinding deleted", p.deletes(f"{bindings}/r-account"), token=p.account("r-account"))


def by_impersonation(p):
    role = {"metadata": {"name": "be-ann"}, "rules": [{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["ann"]}]}
    p.server.ok("POST", f"{RBAC}/clusterroles", role)
    p.bind("ann", "User", "ann")
    for name in ("i-right", "i-removed", "i-ann"):
        token = p.user(name, role=())
        right = p.bind(name, "User", name, f"{RBAC}/clusterrolebindings", role=("ClusterRole", "be-ann"))
        revoke = {"i-right": p.deletes(right), "i-removed": p.removes(name), "i-ann": p.deletes(f"{RBAC}/namespaces/lab/rolebindings/ann")}[name]
        words = {"i-right": "right to impersonate taken away", "i-removed": "who impersonates is removed", "i-ann": "right of the impersonated taken away"}
        p.add(words[name], revoke, token=token, headers=["Impersonate-User: ann"])


def by_time(p):
    """They end while their streams are open. Where the machine takes longer to open them, they get more time."""
    for life in (15, 60, 240):
        try:
            end = time.time() + life
            rows = [Row(p, "certificate ended", None, pair=issue(p, "u-ca", end)),
                    Row(p, "account's token ended", None, token=resigned(p, p.token_of_account, end)),
                    Row(p, "token ended", None, token=p.user(f"t-{life}", end=end))]
            p.in_time = rows
            p.rows += rows
            return
        except AssertionError as e:
            if time.time() < end:
                raise
            print(f"opening took more than {life} s: {str(e)[:100]}")
    raise AssertionError("the machine is too slow")


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def in_file(p, name):
    with open(os.path.join(p.server.data, "pki", "users.json")) as f:
        return next(u for u in json.load(f)["users"] if u["name"] == name)


def edit_user(p, name, **what):
    path = os.path.join(p.server.data, "pki", "users.json")
    with open(path) as f:
        all_ = json.load(f)
    next(u for u in all_["users"] if u["name"] == name).update(what)
    fresh = path + ".new"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        json.dump(all_, f)
    os.rename(fresh, path)


def by_keys(p):
    p.add("account keys rotated", lambda: p.command("rotate", "account-keys", "--now"), token=p.account("k-account"))
    p.add("administrator's token rotated", lambda: p.command("rotate", "admin-token"), token=p.server.token)
    p.add("CA rotated", lambda: p.command("rotate", "ca", "--now"), pair=p.certificate("u-ca"))


# ---- cases ----

def others_go_on(p, revoked):
    broken = [s.name for row in p.rows if row not in revoked for s in row.streams if not s.is_list and not s.is_brief and s.ended()]
    assert not broken, f"ended too: {broken}"


def ends(p, row, gone):
    if row.revoke:
        row.revoke()
    begin = time.monotonic()
    until(f"streams end: {row.alive()}", lambda: not row.alive(), 20)
    row.took = time.monotonic() - begin
    assert row.lists_are_cut(), "the list was sent to its end"
    gone.append(row)
    row.close()


def main():
    suite = Suite()
    p = server_or_skip(Place)
    gone = []
    try:
        for rows in (by_user, by_account, by_rights, by_impersonation):
            suite.case(rows.__name__, lambda: rows(p))
        p.token_of_account = p.account("t-account")
        keys = len(p.rows)
        suite.case("by_keys", lambda: by_keys(p))
        last = p.rows[keys:]
        suite.case("by_time", lambda: by_time(p))
        for row in [r for r in p.rows if r not in last and r.revoke]:
            suite.case(row.name, lambda: ends(p, row, gone))
        for row in getattr(p, "in_time", []):
            suite.case(row.name, lambda: ends(p, row, gone))
        suite.case("those of others go on", lambda: others_go_on(p, [*gone]))
        for row in last:
            suite.case(row.name, lambda: ends(p, row, gone))
        if gone:
            slowest = max((r for r in gone if r.revoke), key=lambda r: r.took)
            print(f"{len(gone)} credentials, {sum(len(r.streams) for r in gone)} streams; the slowest: {slowest.name}, {slowest.took:.2f} s")
        same(p.server.process.poll(), None)
    finally:
        p.end()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
