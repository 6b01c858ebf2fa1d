#!/usr/bin/env python3
"""`pumice server`: pods/proxy, services/proxy and nodes/proxy: what reaches a pod, what comes back, and what nobody can reach by them."""
import base64
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from harness import Suite, pumice, same, until
from server import Server, pod, server_or_skip

LAB, OTHER = "/api/v1/namespaces/lab", "/api/v1/namespaces/other"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OF_USER = 128  # docs/server.md
SLOW_S = 60  # docs/server.md: the answer of a pod begins within this time

# What a pod serves: its requests as JSON at most paths, and what some paths say.
ECHO = """
import http.server, json, os, ssl, threading, time

class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        path, _, query = self.path.partition("?")
        word, _, rest = path[1:].partition("/")
        if word == "silent":
            time.sleep(1000)
        if word == "ws":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nX-Offered: " +
                             (self.headers["Sec-WebSocket-Protocol"] or "").encode() + b"\\r\\n\\r\\n")
            self.close_connection = True
            while data := self.connection.recv(65536):
                self.connection.sendall(data.upper())
            return
        text = json.dumps({"method": self.command, "path": self.path, "body": body, "headers": [list(h) for h in self.headers.items()]}).encode()
        self.send_response(int(rest) if word == "status" else 302 if word == "redirect" else 200)
        if word == "redirect":
            self.send_header("Location", query)
        if word == "page":
            for name in ("Set-Cookie", "Access-Control-Allow-Origin", "X-Kept"):
                self.send_header(name, "x=1")
        self.send_header("Content-Type", "text/html" if word == "page" else "application/json")
        if word == "drip":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (b"first", b"last"):
                self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(part), part))
                time.sleep(2)
            self.wfile.write(b"0\\r\\n\\r\\n")
            return
        size = int(rest) if word == "big" else len(text)
        self.send_header("Content-Length", "0" if rest == "204" else str(size))
        self.end_headers()
        if self.command == "HEAD" or rest == "204":
            return
        if word == "big":
            for i in range(0, size, 65536):
                self.wfile.write(b"x" * min(65536, size - i))
            return
        self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer.request_queue_size = 64
plain = http.server.ThreadingHTTPServer(("", 8000), Echo)
if os.environ.get("PEM"):
    with open("/tmp/pem", "w") as f:
        f.write(os.environ["PEM"])
    secure = http.server.ThreadingHTTPServer(("", 8443), Echo)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("/tmp/pem")
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    threading.Thread(target=secure.serve_forever, daemon=True).start()
open("/tmp/ready", "w").close()
plain.serve_forever()
"""


def certificate():
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=pod",
                        "-keyout", f"{d}/key", "-out", f"{d}/cert", "-days", "2"], check=True, capture_output=True)
        return "".join(open(f"{d}/{n}").read() for n in ("key", "cert"))


def echo(name, pem="", **meta):
    p = pod(name, "", **meta)
    p["spec"]["securityContext"] = {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    p["spec"]["containers"][0].update(securityContext={"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                                      command=["/usr/bin/python3", "-c", ECHO],
                                      env=[{"name": "PEM", "value": pem}],
                                      ports=[{"name": "web", "containerPort": 8000}],
                                      readinessProbe={"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1})
    return p


class Victim:
    """Somebody on this machine who must hear nothing."""

    def __init__(self):
        self.heard, self.socket = 0, socket.create_server(("0.0.0.0", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with contextlib.suppress(OSError):
            while True:
                self.socket.accept()[0].close()
                self.heard += 1


class Place:
    def __init__(self):
        self.rules = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.rules.write("jobs:\n- users: [ann, bob]\n  runAs: restricted\n  hostFiles: true\n")  # their pods are this machine's Python
        self.rules.flush()
        self.server = s = server_or_skip(lambda: Server("--access-config", self.rules.name))
        self.victim, self.pem = Victim(), certificate()
        self.tokens = {name: self.add(name, namespace) for name, namespace in (("ann", "lab"), ("bob", "other"))}
        for at in (LAB, OTHER):
            until("the namespace is there", lambda at=at: s.call("GET", f"{at}/serviceaccounts/default")[0] == 200)
        s.ok("POST", f"{LAB}/pods", echo("web", self.pem, labels={"app": "web"}), token=self.tokens["ann"])
        s.ok("POST", f"{OTHER}/pods", echo("theirs", labels={"app": "theirs"}), token=self.tokens["bob"])
        s.ok("POST", f"{LAB}/services", {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [
            {"name": "plain", "port": 80, "targetPort": 8000}, {"name": "tls", "port": 443, "targetPort": 8443}]}})
        for at, name in ((LAB, "web"), (OTHER, "theirs")):
            until(f"{name} is ready", lambda at=at, name=name: any(c["type"] == "Ready" and c["status"] == "True" for c in s.ok("GET", f"{at}/pods/{name}")["status"].get("conditions", [])))
        until("the Service has it", lambda: s.ok("GET", f"{LAB}/endpoints/web").get("subsets"))
        self.late = self.later(f"{LAB}/pods/web/proxy/silent")

    def add(self, name, namespace):
        run = pumice("server", "user", "add", name, "--token", "--edit", "-n", namespace, "--data-dir", self.server.data)
        same((run.returncode, run.stderr[:200] if run.returncode else ""), (0, ""))
        return re.search(r"token: (\S+)", run.stdout)[1]

    def later(self, path):
        """An answer that is waited for at the end."""
        got = {}

        def ask():
            begin = time.monotonic()
            c = self.server.connect()
            c.timeout = SLOW_S * 3
            c.request("GET", path, headers={"Authorization": f"Bearer {self.server.token}"})
            r = c.getresponse()
            got.update(status=r.status, text=r.read().decode(), took=time.monotonic() - begin)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        return thread, got

    def ask(self, path, method="GET", body=None, who="ann", **kw):
        return self.server.call(method, path, body, token=self.tokens.get(who), **kw)

    def refused(self, path, status, *words, **kw):
        got, answer = self.ask(path, **kw)
        assert got == status and answer["kind"] == "Status" and answer["code"] == status, (path, got, answer)
        for word in words:
            assert word in answer["message"], (path, answer["message"])

    def raw(self):
        s = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        return ssl.create_default_context(cadata=self.server.ca).wrap_socket(s, server_hostname="127.0.0.1")


def headers_of(answer):
    return {k.lower(): v for k, v in answer["headers"]}


# ---- what passes ----


def passes_requests_on(p):
    for method in METHODS:
        body = "hello" if method != "GET" else None
        who = "admin" if method == "OPTIONS" else "ann"  # a role names it by "*" alone, as in Kubernetes
        status, got = p.ask(f"{LAB}/pods/web/proxy/a%20b//c/?x=1&watch=true&dryRun=no&x=%2F", method, body, type="text/x", who=who)
        same((status, got["method"], got["path"], got["body"]), (200, method, "/a%20b//c/?x=1&watch=true&dryRun=no&x=%2F", body or ""))
    c, r = p.server.open("HEAD", f"{LAB}/pods/web/proxy/x")
    with contextlib.closing(c):
        same((r.status, r.read()), (200, b""))
    long = "/".join("abcdefgh") * 20
    same(p.ask(f"{LAB}/pods/web/proxy/{long}")[1]["path"], "/" + long)
    status, got = p.ask(f"{LAB}/pods/web/proxy/", "POST", "x" * 2_000_000, type="text/x")
    same((status, len(got["body"])), (200, 2_000_000))
    for code in (204, 304, 404, 418, 500):
        same(p.ask(f"{LAB}/pods/web/proxy/status/{code}")[0], code)


def keeps_credentials(p):
    """Whatever says who somebody is stays; what the page says about this server does not come back."""
    status, got = p.ask(f"{LAB}/pods/web/proxy/", Cookie="a=b", X_Remote_User="root", Proxy_Authorization="Basic x", X_Forwarded_For="6.6.6.6",
                        Connection="X-Mine", X_Mine="1", X_Passed="yes", accept="text/x")
    text, seen = json.dumps(got), headers_of(got)
    assert status == 200 and p.tokens["ann"] not in text and not {"authorization", "cookie", "x-remote-user", "proxy-authorization", "x-mine"} & set(seen), got
    same((seen["x-passed"], seen["accept"], seen["user-agent"]), ("yes", "text/x", "test/1"))
    same((seen["x-forwarded-for"], seen["x-forwarded-uri"], seen["x-forwarded-proto"]), ("127.0.0.1", f"{LAB}/pods/web/proxy/", "https"))
    same(seen["x-forwarded-host"], f"127.0.0.1:{p.server.port}")
    status, got = p.server.call("GET", f"{LAB}/pods/web/proxy/", Impersonate_User="ann", Impersonate_Group="system:authenticated")
    assert (status, got.get("reason")) == (403, "Forbidden") or not any(k.startswith("impersonate") for k in headers_of(got)), got
    p.ask(f"{LAB}/pods/web/proxy/page")
    head = p.server.headers
    assert head["X-Kept"] and not head["Set-Cookie"] and not head["Access-Control-Allow-Origin"], head.items()
    assert head["Content-Security-Policy"].startswith("sandbox ") and "allow-same-origin" not in head["Content-Security-Policy"]


def knows_names(p):
    for name in ("web", "web:8000", "http:web:8000", ":web:8000", "http:web:", "https:web:8443"):
        same((name, p.ask(f"{LAB}/pods/{name}/proxy/x")[0]), (name, 200))
    for name in ("ftp:web:8000", "web:port", "web:0", "web:65536", "a:b:c:d", ":8000", "web:-1"):
        p.refused(f"{LAB}/pods/{name}/proxy/x", 400, "invalid pod request")
    p.refused(f"{LAB}/pods/none/proxy/x", 404, 'pods "none" not found')
    p.refused(f"{LAB}/pods/web:9/proxy/x", 503, "error trying to reach service", "Connection refused")
    p.refused(f"{LAB}/pods/https:web:8000/proxy/x", 503, "error trying to reach service")
    for name in ("web:80", "web:plain", "http:web:80", "https:web:443", "https:web:tls"):
        same((name, p.ask(f"{LAB}/services/{name}/proxy/x")[0]), (name, 200))
    p.refused(f"{LAB}/services/web:81/proxy/x", 503, 'no service port 81 found for service "web"')
    p.refused(f"{LAB}/services/web/proxy/x", 503, 'no endpoints available for service "web"')  # its ports have names
    p.refused(f"{LAB}/services/none/proxy/x", 404)
    p.refused(f"{LAB}/configmaps/x/proxy/x", 404, who="admin")
    found = {r["name"]: r for r in p.server.ok("GET", "/api/v1")["resources"]}
    for kind, plural in (("Pod", "pods"), ("Service", "services"), ("Node", "nodes")):
        same((found[plural + "/proxy"]["kind"], found[plural + "/proxy"]["verbs"]), (kind + "ProxyOptions", ["create", "delete", "get", "patch", "update"]))


def follows_redirects_here(p):
    """A page at ".../proxy" is at ".../proxy/"; the pod's own places are below it."""
    base = f"{LAB}/pods/web/proxy"
    for method in ("GET", "HEAD"):
        c, r = p.server.open(method, f"{base}?a=1")
        with contextlib.closing(c):
            same((r.status, r.headers["Location"]), (301, f"{base}/?a=1"))
    same(p.ask(base, "POST", "x", type="text/x")[1]["path"], "/")
    ip = p.server.ok("GET", f"{LAB}/pods/web")["status"]["podIP"]
    for to, want in (("/x/", f"{base}/x/"), (f"http://{ip}:8000/x", f"{base}/x"), (f"https://127.0.0.1:{p.server.port}/x", f"{base}/x"), ("x", "x"),
                     ("http://example.com/x", "http://example.com/x"), (f"{base}/x", f"{base}/x"), ("//example.com/x", "//example.com/x")):
        status, _ = p.ask(f"{base}/redirect?{to}")
        same((status, p.server.headers["Location"]), (302, want))


def streams(p):
    """Answers are passed on as they come, as fast as the client reads, and the others are served meanwhile."""
    c, r = p.server.open("GET", f"{LAB}/pods/web/proxy/drip", token=p.tokens["ann"])
    with contextlib.closing(c):
        begin = time.monotonic()
        same(r.read(5), b"first")
        assert time.monotonic() - begin < 1.9, "the first piece waited for the last"
        same(r.read(), b"last")
    for name in ("web:8000", "https:web:8443"):
        c, r = p.server.open("GET", f"{LAB}/pods/{name}/proxy/big/60000000", token=p.tokens["ann"])
        with contextlib.closing(c):
            time.sleep(1)  # it fills up what there is between the pod and us
            held = int(re.search(r"(?m)^pumice_http_held_bytes (\d+)", p.server.call("GET", "/metrics")[1])[1])
            assert held < 4 << 20, held
            same(len(r.read()), 60_000_000)


def upgrades(p):
    token = base64.urlsafe_b64encode(p.tokens["ann"].encode()).decode().rstrip("=")
    with contextlib.closing(p.raw()) as s:
        s.sendall(f"GET {LAB}/pods/web/proxy/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                  f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chat, base64url.bearer.authorization.k8s.io.{token}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += s.recv(4096)
        assert head.startswith(b"HTTP/1.1 101 ") and b"X-Offered: chat\r\n" in head, head
        s.sendall(b"hello")
        same(s.recv(100), b"HELLO")
        n, much = 0, b"a" * 1_000_000
        threading.Thread(target=s.sendall, args=(much,), daemon=True).start()
        while n < len(much):
            n += len(s.recv(65536))


# ---- what nobody reaches ----


def reaches_no_other_address(p):
    """Users write the status of their pods and the Endpoints of their Services: no address there is ever used."""
    s, v = p.server, p.victim
    theirs = s.ok("GET", f"{OTHER}/pods/theirs")["status"]["podIP"]
    gateway = re.sub(r"\d+$", "1", theirs)
    role = {"rules": [{"apiGroups": [""], "resources": ["pods/status", "endpoints"], "verbs": ["*"]}], "metadata": {"name": "liar"}}
    s.ok("POST", f"{RBAC}/namespaces/lab/roles", role)
    s.ok("POST", f"{RBAC}/namespaces/lab/rolebindings", {"metadata": {"name": "liar"}, "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
                                                         "roleRef": {"kind": "Role", "name": "liar", "apiGroup": "rbac.authorization.k8s.io"}})
    away = echo("away")
    away["spec"]["nodeName"] = "nowhere"
    s.ok("POST", f"{LAB}/pods", away, token=p.tokens["ann"])
    s.ok("POST", f"{LAB}/services", {"metadata": {"name": "lies"}, "spec": {"ports": [{"port": v.port}]}}, token=p.tokens["ann"])
    for ip, port in (("127.0.0.1", v.port), (gateway, v.port), ("169.254.169.254", 80), ("0.0.0.0", v.port), (theirs, 8000)):
        address = {"status": {"podIP": ip, "podIPs": [{"ip": ip}]}}
        for name in ("web", "away"):
            p.ask(f"{LAB}/pods/{name}/status", "PATCH", address, type=MERGE)
        p.refused(f"{LAB}/pods/away:{port}/proxy/x", 503, "is not running on this node")
        if port != 8000:
            p.refused(f"{LAB}/pods/web:{port}/proxy/x", 503, "Connection refused")
        for ref in (None, {"kind": "Pod", "name": "theirs", "namespace": "other"}, {"kind": "Pod", "name": "theirs"}, {"kind": "Node", "name": "web"}):
            ends = {"metadata": {"name": "lies"}, "subsets": [{"addresses": [{"ip": ip, **({"targetRef": ref} if ref else {})}], "ports": [{"port": port}]}]}
            if p.ask(f"{LAB}/endpoints/lies", "PUT", ends)[0] == 404:
                p.ask(f"{LAB}/endpoints", "POST", ends)
            p.refused(f"{LAB}/services/lies/proxy/x", 503, "no endpoints available")
    p.refused("/api/v1/namespaces/default/services/https:kubernetes:443/proxy/version", 503, "no endpoints available", who="admin")
    mine = {"kind": "Pod", "name": "web", "namespace": "lab"}
    p.ask(f"{LAB}/endpoints/lies", "PUT", {"metadata": {"name": "lies"}, "subsets": [{"addresses": [{"ip": theirs, "targetRef": mine}], "ports": [{"port": 8000}]}]})
    seen = headers_of(p.ask(f"{LAB}/services/lies:{v.port}/proxy/x")[1])
    assert not seen["host"].startswith(theirs), seen
    same(v.heard, 0)


def reaches_no_host_network(p):
    bare = pod("host", "exec sleep 1000")
    bare["spec"]["hostNetwork"] = True
    p.server.ok("POST", f"{LAB}/pods", bare)
    until("it runs", lambda: p.server.ok("GET", f"{LAB}/pods/host")["status"]["phase"] == "Running")
    p.refused(f"{LAB}/pods/host:{p.victim.port}/proxy/x", 503, "uses the network of its host", who="admin")
    p.refused(f"{LAB}/pods/host:{p.victim.port}/proxy/x", 403)
    same(p.victim.heard, 0)


def asks_rbac(p):
    p.refused(f"{OTHER}/pods/theirs/proxy/x", 403, 'cannot get resource "pods/proxy"')
    p.refused(f"{LAB}/pods/web/proxy/x", 403, 'cannot create resource "pods/proxy"', who="bob", method="POST", body="x", type="text/x")
    p.refused(f"{LAB}/services/web:80/proxy/x", 403, 'cannot delete resource "services/proxy"', who="bob", method="DELETE")
    role = {"rules": [{"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"], "resourceNames": ["theirs:8000"]}], "metadata": {"name": "looks"}}
    p.server.ok("POST", f"{RBAC}/namespaces/other/roles", role)
    p.server.ok("POST", f"{RBAC}/namespaces/other/rolebindings", {"metadata": {"name": "looks"}, "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
                                                                  "roleRef": {"kind": "Role", "name": "looks", "apiGroup": "rbac.authorization.k8s.io"}})
    same(p.ask(f"{OTHER}/pods/theirs:8000/proxy/x")[0], 200)
    p.refused(f"{OTHER}/pods/theirs:8000/proxy/x", 403, method="PUT", body="x", type="text/x")
    p.refused(f"{OTHER}/pods/theirs/proxy/x", 403)
    p.server.ok("POST", f"{LAB}/pods", pod("root", "exec sleep 1000"))  # the administrator's
    until("it runs", lambda: p.server.ok("GET", f"{LAB}/pods/root")["status"]["phase"] == "Running")
    p.refused(f"{LAB}/pods/root/proxy/x", 403, "cannot create this pod, and so cannot use it")
    same(p.ask(f"{LAB}/pods/web/proxy/x", who="none")[0], 200)  # the administrator's own token
    same(p.server.call("GET", f"{LAB}/pods/web/proxy/x", token="")[0], 403)


def serves_the_node_to_administrators(p):
    s = p.server
    name = s.ok("GET", "/api/v1/nodes")["items"][0]["metadata"]["name"]
    same(s.call("GET", f"/api/v1/nodes/{name}/proxy/healthz"), (200, "ok"))
    same(s.call("GET", f"/api/v1/nodes/{name}:10250/proxy/pods")[1]["kind"], "PodList")
    p.refused(f"/api/v1/nodes/{name}/proxy/nothing", 404, who="admin")
    p.refused(f"/api/v1/nodes/{name}:22/proxy/healthz", 400, "no other port", who="admin")
    p.refused("/api/v1/nodes/none/proxy/healthz", 404, who="admin")
    s.ok("POST", "/api/v1/nodes", {"metadata": {"name": "liar"}, "status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}})
    p.refused("/api/v1/nodes/liar/proxy/healthz", 503, "is not this machine", who="admin")
    s.ok("DELETE", "/api/v1/nodes/liar")
    s.ok("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "nodes"}, "rules": [{"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["*"]}]})
    s.ok("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "nodes"}, "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
                                                 "roleRef": {"kind": "ClusterRole", "name": "nodes", "apiGroup": "rbac.authorization.k8s.io"}})
    p.refused(f"/api/v1/nodes/{name}/proxy/pods", 403, 'is not in group "system:masters"')


# ---- slow ones ----


def serves_others_meanwhile(p):
    """Pods that do not answer keep nobody waiting, a user has so many of them at a time, and they are let go of with their clients."""
    open_ones = []
    for _ in range(OF_USER):
        s = p.raw()
        s.sendall(f"GET {LAB}/pods/web/proxy/silent HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {p.tokens['ann']}\r\n\r\n".encode())
        open_ones.append(s)
    until("ann has as many as she may", lambda: p.ask(f"{LAB}/pods/web/proxy/x")[0] == 429)
    begin = time.monotonic()
    same((p.ask(f"{LAB}/pods/web")[0], p.ask(f"{OTHER}/pods/theirs/proxy/x", who="bob")[0]), (200, 200))
    assert time.monotonic() - begin < 5
    for s in open_ones:
        s.close()
    until("they are let go", lambda: p.ask(f"{LAB}/pods/web/proxy/x")[0] == 200)


def gives_up_slow_pods(p):
    thread, got = p.late
    thread.join(SLOW_S * 3)
    answer = json.loads(got["text"])
    assert got["status"] == 503 and answer["kind"] == "Status" and "error trying to reach service" in answer["message"], got
    assert SLOW_S - 1 < got["took"] < SLOW_S * 2, got


def main():
    suite = Suite()
    p = Place()
    try:
        for case in (passes_requests_on, keeps_credentials, knows_names, follows_redirects_here, streams, upgrades, reaches_no_other_address,
                     reaches_no_host_network, asks_rbac, serves_the_node_to_administrators, serves_others_meanwhile, gives_up_slow_pods):
            if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
                suite.case(case.__name__, lambda: case(p))
    finally:
        p.server.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
