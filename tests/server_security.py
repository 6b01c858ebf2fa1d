#!/usr/bin/env python3
"""`pumice server` against those who want more than they have: credentials, namespaces, paths, sizes, time, pages of others.

One server with an audit log and small limits serves all cases. People: ann edits "lab", vic looks at "lab", max asks too
often; "other" has a Secret that none of them may ever see.
"""
import base64
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from harness import Suite, pumice, same
from server import Server, Watch, kubectls, Kubectl, pod, server_or_skip, until

TREASURE = "treasure-7391"
CODED = base64.b64encode(TREASURE.encode()).decode()
LAB, OTHER = "/api/v1/namespaces/lab", "/api/v1/namespaces/other"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
ACCESS = """
exec: namespace  # what RBAC says of streams; as whom pods are entered is tests/server_tenants.py
limits:
  requestsPerSecond: 200
  burst: 150
  watches: 3
"""


class Place:
    """The server, and its people by name: token, or certificate and key."""

    def __init__(self):
        config = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"pumice-access.{os.getpid()}")
        with open(config, "w") as f:
            f.write(ACCESS)
        self.access = config
        self.audit = config + ".audit"
        self.server = Server("--access-config", config, "--audit-log", self.audit, "--audit-level", "Request")
        self.token, self.cert = {}, {}
        self.seen = []  # tokens that must be in no file
        for name, *args in (("ann", "--edit", "-n", "lab"), ("vic", "--view", "-n", "lab"), ("max", "--view", "-n", "lab"),
                            ("eve", "--group", "dev"), ("bea", "--admin", "-n", "lab")):
            self.add(name, *args)
        s = self.server
        until("the namespaces of users are there", lambda: s.call("GET", LAB)[0] == 200)
        s.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        s.ok("POST", f"{OTHER}/secrets", {"metadata": {"name": "gold"}, "stringData": {"key": TREASURE}})
        s.ok("POST", f"{OTHER}/pods", mounting("holder", "gold"))
        s.ok("POST", f"{LAB}/pods", pod("mine", "sleep 1000"))
        until("its service account is there", lambda: s.call("GET", f"{LAB}/serviceaccounts/default")[0] == 200)

    def add(self, name, *args):
        run = pumice("server", "user", "add", name, "--token", "--data-dir", self.server.data, *args)
        assert run.returncode == 0, run.stderr
        self.token[name] = re.search(r"token: (\S+)", run.stdout)[1]
        self.seen.append(self.token[name])

    def remove(self, name):
        assert pumice("server", "user", "remove", name, "--data-dir", self.server.data).returncode == 0

    def as_(self, name, method, path, body=None, **kw):
        return self.server.call(method, path, body, token=self.token.get(name, name), **kw)

    def raw(self, text, reads=True):
        """What is answered to these bytes, until the server closes."""
        c = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        s = ssl.create_default_context(cadata=self.server.ca).wrap_socket(c, server_hostname="127.0.0.1")
        s.sendall(text if isinstance(text, bytes) else text.encode())
        if not reads:
            return s
        answer = b""
        with contextlib.closing(s), contextlib.suppress(OSError):
            while got := s.recv(65536):
                answer += got
        return answer.decode(errors="replace")

    def end(self):
        self.server.stop()
        for f in (self.access, self.audit, self.audit + ".old"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f)


def mounting(name, secret):
    p = pod(name, "sleep 1000")
    p["spec"]["volumes"] = [{"name": "v", "secret": {"secretName": secret}}]
    p["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    return p


@contextlib.contextmanager
def until_it_ends():
    """However it ends; that it does not is a failure."""
    try:
        yield
    except TimeoutError:
        raise AssertionError("it did not end") from None
    except (OSError, http.client.HTTPException):
        pass


def patient_watch(p, name, path=f"{LAB}/pods?watch=1"):
    """One that ends only when the server ends it."""
    w = Watch(p.server, path, token=p.token.get(name, name))
    w.c.sock.settimeout(None)
    return w


def refused(answer, *statuses):
    status, text = answer
    assert status in (statuses or (403,)), answer
    assert TREASURE not in json.dumps(text) and CODED not in json.dumps(text), answer


# ---- who ----

def credentials(p):
    s = p.server
    refused(s.call("GET", f"{OTHER}/secrets", token=""), 403)  # nobody in particular
    same(s.call("GET", "/version", token="")[0], 200)
    refused(s.call("GET", "/metrics", token=""), 403)
    for wrong in ("x", p.token["ann"][:-1], p.token["ann"] + "x", s.token[:-1], s.token + "0", "a.b.c", "pumice_" + "A" * 43):
        refused(s.call("GET", f"{LAB}/pods", token=wrong), 401)
    same(s.headers["WWW-Authenticate"], 'Bearer realm="pumice"')
    refused(s.call("GET", f"{LAB}/pods", token="", Authorization=f"Basic {base64.b64encode(b'ann:' + p.token['ann'].encode()).decode()}"), 401)
    refused(s.call("GET", f"{LAB}/pods?token={p.token['ann']}&access_token={p.token['ann']}", token=""), 403)
    for header in ("X-Remote-User", "X-Forwarded-User", "Impersonate_User"):
        refused(s.call("GET", f"{OTHER}/secrets", token="", **{header.replace("-", "_"): "kubernetes-admin"}), 403)
    for name in ("admin.token", "ca.pem", "users.json", "account-keys.pem", "server.pem"):
        same(os.stat(os.path.join(s.data, "pki", name)).st_mode & 0o777, 0o600)
    same(os.stat(s.config).st_mode & 0o777, 0o600)


def issue(p, name, end):
    """A certificate of ann's by the server's own CA, with another end, as `pumice server user add` would make it."""
    uid = json.load(open(os.path.join(p.server.data, "pki", "users.json")))
    uid = next(u["uid"] for u in uid["users"] if u["name"] == name)
    here, ca = p.server.dir, os.path.join(p.server.data, "pki", "ca.pem")
    with open(os.path.join(here, "ca.conf"), "w") as f:
        f.write(f"[ca]\ndefault_ca=c\n[c]\ndatabase={here}/ca.db\nnew_certs_dir={here}\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n"
                "unique_subject=no\nx509_extensions=x\n[x]\nextendedKeyUsage=clientAuth\n[p]\norganizationName=supplied\ncommonName=supplied\n")
    open(os.path.join(here, "ca.db"), "w").close()
    key, csr, crt = (os.path.join(here, f"{name}.{x}") for x in ("key", "csr", "crt"))
    run = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", csr, "-subj",
           f"/O=pumice:uid:{uid}/CN={name}"]
    subprocess.run(run, check=True, capture_output=True)
    def stamp(at):
        return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(at))
    subprocess.run(["openssl", "ca", "-batch", "-notext", "-config", f"{here}/ca.conf", "-cert", ca, "-keyfile", ca, "-in", csr, "-out", crt,
                    "-startdate", stamp(time.time() - 86400), "-enddate", stamp(end)], check=True, capture_output=True)
    return crt, key


class Certified:
    """The server as somebody with a certificate sees it, on one connection."""

    def __init__(self, server, pair):
        context = ssl.create_default_context(cadata=server.ca)
        context.load_cert_chain(*pair)
        self.c = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)

    def ask(self, path):
        self.c.request("GET", path)
        r = self.c.getresponse()
        r.read()
        return r.status


def certificates_begin(p):
    """One that ends soon, used by a connection and by a watch. Looked at again at the end."""
    pair = issue(p, "ann", time.time() + 8)
    p.brief, p.watching = Certified(p.server, pair), Certified(p.server, pair)
    same(p.brief.ask(f"{LAB}/pods"), 200)
    p.watching.c.request("GET", f"{LAB}/pods?watch=1")
    p.watched = p.watching.c.getresponse()
    same(p.watched.status, 200)


def certificates_end(p):
    """One that has ended is nobody's; one that ends while it is used is nobody's from then on, and its watches end."""
    try:
        got = Certified(p.server, issue(p, "ann", time.time() - 10)).ask(f"{LAB}/pods")
    except OSError:
        got = 401  # the handshake failed
    same(got, 401)
    with until_it_ends():
        while p.watched.readline():
            pass
    same(p.brief.ask(f"{LAB}/pods"), 401)


def reads_only(p):
    same(p.as_("vic", "GET", f"{LAB}/pods")[0], 200)
    body = {"metadata": {"name": "x"}}
    for method, path in (("POST", f"{LAB}/pods"), ("POST", f"{LAB}/configmaps"), ("PUT", f"{LAB}/pods/mine"), ("DELETE", f"{LAB}/pods/mine"),
                         ("DELETE", f"{LAB}/pods"), ("POST", f"{LAB}/pods/mine/eviction"), ("POST", f"{LAB}/pods/mine/binding"),
                         ("PUT", f"{LAB}/pods/mine/status"), ("POST", f"{LAB}/serviceaccounts/default/token"),
                         ("POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/lab/jobs"), ("POST", "/api/v1/namespaces"),
                         ("POST", f"{RBAC}/namespaces/lab/rolebindings")):
        refused(p.as_("vic", method, path, body))
    refused(p.as_("vic", "PATCH", f"{LAB}/pods/mine", {"metadata": {"labels": {"a": "b"}}}, type="application/merge-patch+json"))
    refused(p.as_("vic", "GET", f"{LAB}/secrets"))
    refused(p.as_("vic", "POST", f"{LAB}/configmaps?dryRun=All", body))


def upgrade(p, name, path, method="GET"):
    """The first line of the answer to a WebSocket's request; the socket."""
    s = p.raw(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
              f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n"
              f"Authorization: Bearer {p.token[name]}\r\n\r\n", reads=False)
    return int(s.recv(4096).split(b" ")[1]), s


def subresources(p):
    """A stream that begins with GET is no looking: exec, attach and port-forward are 'create'."""
    until("it runs", lambda: p.server.ok("GET", f"{LAB}/pods/mine")["status"].get("phase") == "Running")
    same(p.as_("vic", "GET", f"{LAB}/pods/mine/log")[0], 200)
    for path in ("exec?command=id&stdout=1", "attach?stdout=1", "portforward?ports=80"):
        for method in ("GET", "POST"):
            status, s = upgrade(p, "vic", f"{LAB}/pods/mine/{path}", method)
            s.close()
            same(status, 403)
        status, s = upgrade(p, "ann", f"{OTHER}/pods/holder/{path}")
        s.close()
        same(status, 403)
    status, s = upgrade(p, "ann", f"{LAB}/pods/mine/exec?command=id&stdout=1")
    s.close()
    same(status, 101)
    token = base64.urlsafe_b64encode(p.token["ann"].encode()).decode().rstrip("=")
    s = p.raw(f"GET {LAB}/pods/mine/exec?command=id&stdout=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
              f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
              f"Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.{token}\r\n\r\n", reads=False)
    head = s.recv(4096).decode(errors="replace")
    s.close()
    assert " 101 " in head and "v4.channel.k8s.io" in head and token not in head, head  # a browser can set no header


# ---- another namespace's Secret ----

def treasure(p):
    for name in ("ann", "vic", "bea", "eve"):
        for path in (f"{OTHER}/secrets/gold", f"{OTHER}/secrets", "/api/v1/secrets", f"{OTHER}/secrets?watch=1", "/api/v1/secrets?watch=true",
                     "/api/v1/watch/secrets", "/api/v1/watch/namespaces/other/secrets/gold", f"{OTHER}/pods/holder/log", "/api/v1/secrets?limit=1"):
            refused(p.as_(name, "GET", path))
    for query in ("fieldSelector=metadata.namespace%3Dother", "fieldSelector=metadata.name%3Dgold", "labelSelector=", "continue=x"):
        refused(p.as_("ann", "GET", f"{LAB}/secrets?{query}"), 200, 400, 410)
    secret = {"metadata": {"name": "gold", "namespace": "other"}}
    refused(p.as_("ann", "POST", f"{LAB}/secrets", secret), 400)  # the body names another place than the path
    for method, path in (("POST", f"{OTHER}/pods"), ("POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/other/jobs")):
        refused(p.as_("ann", method, path, mounting("thief", "gold")))
    refused(p.as_("ann", "PUT", f"{OTHER}/pods/holder", mounting("holder", "gold")))
    # One of her own that names it mounts what her namespace has by that name: nothing.
    thief = mounting("thief", "gold")
    thief["spec"]["securityContext"] = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    thief["spec"]["containers"][0]["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    status, made = p.as_("ann", "POST", f"{LAB}/pods", thief)
    same((status, made.get("message")), (201, None))
    # And one whose owner is there, which garbage collection must not take for hers either.
    until("it waits for its own", lambda: "gold" in json.dumps(p.as_("ann", "GET", f"{LAB}/events")[1]))
    assert p.as_("ann", "GET", f"{LAB}/pods/thief")[1]["status"].get("phase") != "Running"
    p.as_("ann", "DELETE", f"{LAB}/pods/thief", {"gracePeriodSeconds": 0})


def paths(p):
    s, tried = p.server, 0
    for path in (f"{LAB}/../other/secrets", f"{LAB}/%2e%2e/other/secrets", f"{LAB}/..%2fother/secrets/gold", f"{LAB}/..;/other/secrets",
                 f"{LAB}/pods/..%2f..%2fother%2fsecrets%2fgold", f"{LAB}/secrets/..%2f..%2fother%2fsecrets%2fgold", f"{LAB}%2fsecrets",
                 "//api/v1/namespaces/other/secrets", "/api//v1/namespaces/other/secrets", f"{LAB}//secrets", "/./api/v1/namespaces/other/secrets",
                 "/healthz/../api/v1/namespaces/other/secrets", "/healthz/%2e%2e/api/v1/secrets", "/version/../api/v1/secrets",
                 "/API/v1/namespaces/other/secrets", "/api/v1/namespaces/OTHER/secrets", "/api/V1/secrets", "/api/v1/Secrets",
                 f"{OTHER}/secrets;x=1", f"{OTHER}/secrets%00", f"{OTHER}/secrets%", f"{OTHER}/secrets%zz", f"{OTHER}/secrets%2fgold",
                 f"{OTHER}/secrets/gold/", f"{OTHER}/secrets/gold/status", f"{OTHER}/secrets/gold%20", f"{OTHER}%2fsecrets/gold",
                 "/apis//v1/namespaces/other/secrets", "/apis/core/v1/namespaces/other/secrets", "/api/v1/namespaces/lab/secrets/../../other/secrets/gold",
                 f"http://127.0.0.1{OTHER}/secrets/gold", "/api/v1/proxy/namespaces/other/pods/holder", f"{OTHER}/pods/holder/proxy/",
                 "/api/v1/namespaces/%6fther/secrets", f"{LAB}/pods/%2e%2e/%2e%2e/other/secrets", "\\api\\v1\\secrets", "/api/v1/namespaces/lab\\..\\other/secrets"):
        answer = p.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nConnection: close\r\nAuthorization: Bearer {p.token['ann']}\r\n\r\n")
        status = int(answer.split(" ")[1])
        assert status in (400, 403, 404) and CODED not in answer and TREASURE not in answer, (path, answer[:300])
        tried += 1
    assert tried > 30
    # What is decoded is what is judged: an escaped name is that name, for her and against her.
    same(p.as_("ann", "GET", "/api/v1/namespaces/l%61b/pods")[0], 200)


# ---- more than one has ----

def escalation(p):
    roles, bindings = f"{RBAC}/namespaces/lab/roles", f"{RBAC}/namespaces/lab/rolebindings"
    mine = {"metadata": {"name": "look"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    refused(p.as_("ann", "POST", roles, mine))  # an editor gives no rights at all
    same(p.as_("bea", "POST", roles, mine)[0], 201)
    for change in ([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["*"]}], [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
                   [{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}],
                   [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate", "bind"]}]):
        refused(p.as_("bea", "PUT", f"{roles}/look", {**mine, "rules": change}))
        refused(p.as_("bea", "PATCH", f"{roles}/look", {"rules": change}, type="application/merge-patch+json"))
        refused(p.as_("bea", "PATCH", f"{roles}/look?fieldManager=x&force=true", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                      "metadata": {"name": "look"}, "rules": change}, type="application/apply-patch+yaml"))
    group = "rbac.authorization.k8s.io"
    bind = {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}, "subjects": [{"kind": "User", "name": "bea"}]}
    refused(p.as_("bea", "POST", bindings, bind))
    refused(p.as_("bea", "POST", f"{RBAC}/clusterrolebindings", bind))
    made = p.as_("bea", "POST", bindings, {**bind, "roleRef": {"kind": "Role", "name": "look"}})
    same((made[0], made[1]["roleRef"]["apiGroup"], made[1]["subjects"][0]["apiGroup"]), (201, group, group))
    admin = {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}}
    status, answer = p.as_("bea", "PATCH", f"{bindings}/b", admin, type="application/merge-patch+json")
    assert status == 422 and "roleRef" in answer["message"], answer  # not even one that she has
    same(p.server.call("PATCH", f"{bindings}/b", admin, type="application/merge-patch+json")[0], 422)
    label = {"metadata": {"name": "more", "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
             "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["*"]}]}
    refused(p.as_("bea", "POST", f"{RBAC}/clusterroles", label))
    refused(p.as_("bea", "POST", "/api/v1/namespaces/kube-system/serviceaccounts/default/token", {}))
    for user in ("kubernetes-admin", "bea", "system:serviceaccount:kube-system:default"):
        refused(p.as_("ann", "GET", f"{LAB}/pods", Impersonate_User=user))  # known, and not allowed: 403, not 401
    refused(p.as_("ann", "GET", f"{LAB}/pods", Impersonate_User="ann", Impersonate_Group="system:masters"))
    refused(p.as_("ann", "GET", f"{LAB}/pods", Impersonate_Group="system:masters"), 400)
    refused(p.server.call("GET", f"{OTHER}/secrets", Impersonate_User="ann"))  # the administrator through her eyes
    same(p.server.call("GET", f"{LAB}/pods", Impersonate_User="ann")[0], 200)


def aggregation(p):
    s = p.server
    rule = {"apiGroups": ["example.org"], "resources": ["things"], "verbs": ["list"]}
    s.ok("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "things", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
                                          "rules": [rule]})
    until("it is a part of view, and of what has view", lambda: all(
        rule in s.ok("GET", f"{RBAC}/clusterroles/{name}")["rules"] for name in ("view", "edit", "admin")))
    s.ok("DELETE", f"{RBAC}/clusterroles/things")
    until("and no longer", lambda: rule not in s.ok("GET", f"{RBAC}/clusterroles/admin")["rules"])
    assert len(s.ok("GET", f"{RBAC}/clusterroles/view")["rules"]) > 5


def reviews(p):
    s = p.server
    me = p.as_("ann", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})[1]["status"]["userInfo"]
    same((me["username"], me["groups"]), ("ann", ["system:authenticated"]))
    def may(name, verb, resource, **more):
        at = {"verb": verb, "resource": resource, "namespace": "lab", **more}
        return p.as_(name, "POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": at}})[1]["status"]["allowed"]
    same([may("ann", "create", "jobs", group="batch.volcano.sh"), may("vic", "create", "jobs", group="batch.volcano.sh"), may("ann", "get", "nodes")],
         [True, False, False])
    rules = p.as_("ann", "POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "lab"}})[1]["status"]
    assert rules["incomplete"] is False and any("jobs" in r["resources"] for r in rules["resourceRules"]), rules
    at = {"verb": "list", "resource": "pods", "namespace": "lab"}
    refused(p.as_("ann", "POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {"user": "vic", "resourceAttributes": at}}))
    same(s.ok("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": {"user": "vic", "resourceAttributes": at}})["status"]["allowed"], True)
    local = f"{REVIEWS}/namespaces/lab/localsubjectaccessreviews"
    same(p.as_("bea", "POST", local, {"spec": {"user": "vic", "resourceAttributes": at}})[1]["status"]["allowed"], True)
    same(p.as_("bea", "POST", local, {"spec": {"user": "vic", "resourceAttributes": {**at, "namespace": "other"}}})[0], 422)


def account_tokens(p):
    s = p.server
    made = s.ok("POST", f"{LAB}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 700}})
    token = made["status"]["token"]
    p.seen.append(token)
    refused(p.as_(token, "GET", f"{LAB}/pods"))
    who = s.ok("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})["status"]
    same((who["authenticated"], who["user"]["username"]), (True, "system:serviceaccount:lab:default"))
    same(s.ok("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token + "x"}})["status"]["authenticated"], False)
    found = p.as_(token, "GET", "/.well-known/openid-configuration")[1]
    keys = p.as_(token, "GET", "/openid/v1/jwks")[1]["keys"]
    head = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    assert found["issuer"].startswith("https://") and found["jwks_uri"].endswith("/openid/v1/jwks"), found
    assert [k for k in keys if k["kid"] == head["kid"] and k["alg"] == "ES256" and "d" not in k], (keys, head)
    refused(s.call("GET", "/openid/v1/jwks", token=""))
    s.ok("POST", f"{LAB}/serviceaccounts", {"metadata": {"name": "bot"}})
    s.ok("POST", f"{RBAC}/namespaces/lab/rolebindings", {"metadata": {"name": "bot"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                                                       "subjects": [{"kind": "ServiceAccount", "name": "bot", "namespace": "lab"}]})
    bot = s.ok("POST", f"{LAB}/serviceaccounts/bot/token", {})["status"]["token"]
    p.seen.append(bot)
    w = patient_watch(p, bot)
    s.ok("DELETE", f"{LAB}/serviceaccounts/bot")
    until("its watch ends with it", lambda: w.ended)
    refused(p.as_(bot, "GET", f"{LAB}/pods"), 401)


# ---- what lasts ----

def leaves_nothing_open(p):
    """Removed, or without the right any more: watches and programs end, at once."""
    s = p.server
    p.add("joe", "--edit", "-n", "lab")
    w = patient_watch(p, "joe")
    status, stream = upgrade(p, "joe", f"{LAB}/pods/mine/exec?command=sleep&command=1000&stdout=1")
    same(status, 101)
    p.remove("joe")
    until("the watch ends", lambda: w.ended)
    stream.settimeout(60)
    with until_it_ends():
        while stream.recv(4096):
            pass
    refused(p.as_("joe", "GET", f"{LAB}/pods"), 401)
    view = {"metadata": {"name": "dev"}, "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "Group", "name": "dev"}]}
    s.ok("POST", f"{RBAC}/namespaces/lab/rolebindings", view)
    w = patient_watch(p, "eve")
    s.ok("DELETE", f"{RBAC}/namespaces/lab/rolebindings/dev")
    until("her watch ends with her right", lambda: w.ended)
    refused(p.as_("eve", "GET", f"{LAB}/pods"))


def rotated(p):
    """Other keys while it runs: what the old ones have made is of no use, at once, and everybody can get in again."""
    s = p.server
    def rotate(*args):
        run = pumice("server", *args, "--data-dir", s.data)
        assert run.returncode == 0, run.stderr
        return run.stdout
    p.add("ida", "--view", "-n", "lab")
    w = patient_watch(p, "ida")
    fresh = re.search(r"token: (\S+)", rotate("user", "rotate", "ida", "--token"))[1]
    until("a watch by the old one ends", lambda: w.ended)
    refused(p.as_("ida", "GET", f"{LAB}/pods"), 401)
    same(p.as_(fresh, "GET", f"{LAB}/pods")[0], 200)
    account = s.ok("POST", f"{LAB}/serviceaccounts/default/token", {})["status"]["token"]
    rotate("rotate", "account-keys")
    refused(p.as_(account, "GET", f"{LAB}/pods"), 403)  # known still
    assert len(s.ok("GET", "/openid/v1/jwks")["keys"]) == 2
    rotate("rotate", "account-keys", "--now")
    refused(p.as_(account, "GET", f"{LAB}/pods"), 401)
    old = s.token
    rotate("rotate", "admin-token")
    refused(s.call("GET", f"{LAB}/pods"), 401)
    until("the kubeconfig has the new one", lambda: (s.read_config(), s.token != old)[1])
    same(s.call("GET", f"{LAB}/pods")[0], 200)
    c = Certified(s, issue(p, "ann", time.time() + 1000))
    same(c.ask(f"{LAB}/pods"), 200)
    ca = s.ca
    rotate("rotate", "ca")
    until("the kubeconfig has the new CA", lambda: (s.read_config(), s.ca != ca)[1])
    assert ca in s.ca and c.ask(f"{LAB}/pods") == 200  # both are believed
    until("pods are told", lambda: s.ok("GET", f"{LAB}/configmaps/kube-root-ca.crt")["data"]["ca.crt"] == s.ca)
    users = os.path.join(s.data, "pki", "users.json")
    rotate("user", "rotate", "ann", "-o", os.path.join(s.dir, "ann.kubeconfig"))
    ca = s.ca
    rotate("rotate", "ca", "--now")
    until("only the new one is left", lambda: (s.read_config(), s.ca.count("BEGIN") == 1 and s.ca not in ca)[1])
    same(c.ask(f"{LAB}/pods"), 401)  # on a connection that was open
    assert json.load(open(users))
    p.seen += [fresh, account, old]
    p.token["ann"] = re.search(r"token: (\S+)", rotate("user", "rotate", "ann", "--token"))[1]
    same(p.as_("ann", "GET", f"{LAB}/pods")[0], 200)


# ---- programs in pods ----

ASKS = """d=/var/run/secrets/kubernetes.io/serviceaccount
while :; do
    curl -s -o /dev/null -w "%{http_code}\\n" --cacert $d/ca.crt -H "Authorization: Bearer $(cat $d/token)" \\
        https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/$(cat $d/namespace)/pods
    sleep 0.1
done"""


def from_a_pod(p):
    """In-cluster configuration: as a ServiceAccount, through the pods' own network, with a token that is replaced in time."""
    s, bindings = p.server, f"{RBAC}/namespaces/lab/rolebindings"
    def said():
        return str(s.call("GET", f"{LAB}/pods/asks/log?tailLines=1")[1]).strip()
    def log():
        return str(s.call("GET", f"{LAB}/pods/asks/log")[1])
    asks = pod("asks", ASKS)
    made = s.ok("POST", f"{LAB}/pods", asks)
    mounts = made["spec"]["containers"][0]["volumeMounts"]
    same([m["mountPath"] for m in mounts], ["/var/run/secrets/kubernetes.io/serviceaccount"])
    until("it is known, and may not", lambda: said() == "403")
    s.ok("POST", bindings, {"metadata": {"name": "pods"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "lab"}]})
    until("it may", lambda: said() == "200")
    assert pumice("server", "rotate", "account-keys", "--now", "--data-dir", s.data).returncode == 0
    before = log().count("\n")  # the old token is of no use from now on
    until("it has another", lambda: log().count("\n") > before + 3 and said() == "200")
    assert pumice("server", "rotate", "ca", "--data-dir", s.data).returncode == 0
    until("the new CA is there", lambda: (s.read_config(), s.ca.count("BEGIN") == 2)[1])
    before = log().count("\n")
    until("and it knows it", lambda: log().count("\n") > before + 3 and said() == "200")
    s.ok("DELETE", f"{bindings}/pods")
    until("it may no longer", lambda: said() == "403")
    s.ok("PUT", f"{LAB}/pods/asks", {**asks, "metadata": {"name": "asks", "labels": {"again": "yes"}}})  # the file, as it was
    s.ok("POST", f"{LAB}/serviceaccounts", {"metadata": {"name": "shy"}, "automountServiceAccountToken": False})
    for name, change, mounted in (("shy", {"serviceAccountName": "shy"}, False), ("bold", {"serviceAccountName": "shy",
                                  "automountServiceAccountToken": True}, True), ("not", {"automountServiceAccountToken": False}, False)):
        one = pod(name, "true")
        one["spec"].update(change)
        volumes = s.ok("POST", f"{LAB}/pods?dryRun=All", one)["spec"].get("volumes", [])
        same([v["name"].startswith("kube-api-access-") for v in volumes], [True] if mounted else [])
    one = pod("none", "true")
    one["spec"]["serviceAccountName"] = "nobody"
    status, answer = s.call("POST", f"{LAB}/pods", one)
    assert status in (403, 422) and "nobody" in answer["message"], answer
    s.ok("DELETE", f"{LAB}/pods/asks", {"gracePeriodSeconds": 0})


# ---- how much ----

def too_much(p):
    """One who asks too often is told when to come again; the others do not notice."""
    c, r = p.server.open("GET", f"{LAB}/pods", token=p.token["max"])
    r.read()
    for n in range(3000):
        c.request("GET", f"{LAB}/pods", headers={"Authorization": f"Bearer {p.token['max']}"})
        r = c.getresponse()
        answer = json.loads(r.read())
        if r.status != 200:
            break
    c.close()
    same((r.status, r.headers["Retry-After"], answer["reason"]), (429, "1", "TooManyRequests"))
    assert n >= 100, n
    same(p.as_("vic", "GET", f"{LAB}/pods")[0], 200)
    open_ = [Watch(p.server, f"{LAB}/pods?watch=1", token=p.token["vic"]) for _ in range(3)]
    refused(p.as_("vic", "GET", f"{LAB}/pods?watch=1"), 429)
    same(p.as_("vic", "GET", f"{LAB}/pods")[0], 200)
    open_.pop().close()
    until("one that is closed makes room", lambda: p.as_("vic", "GET", f"{LAB}/pods?watch=1&timeoutSeconds=1")[0] == 200)
    many = [Watch(p.server, f"{LAB}/pods?watch=1") for _ in range(60)]  # the administrator is not limited
    for w in open_ + many:
        w.close()


def too_large(p):
    s, head = p.server, f"Host: 127.0.0.1\r\nAuthorization: Bearer {p.token['ann']}\r\n"
    def status(text):
        return int(p.raw(text).split(" ")[1])
    same(status(f"GET {LAB}/pods?x={'x' * 40000} HTTP/1.1\r\n{head}\r\n"), 431)
    same(status(f"GET {LAB}/pods HTTP/1.1\r\n{head}X: {'x' * 40000}\r\n\r\n"), 431)
    assert status(f"GET {LAB}/pods HTTP/1.1\r\n{head}" + "X: y\r\n" * 200 + "\r\n") in (400, 431)
    same(status(f"POST {LAB}/configmaps HTTP/1.1\r\n{head}Content-Length: 99999999999\r\n\r\n"), 413)
    same(status(f"POST {LAB}/configmaps HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n7fffffff\r\nx"), 413)
    same(p.as_("ann", "POST", f"{LAB}/configmaps", "x" * (3 << 20) + " ")[0], 413)
    for body in ("[" * 100000, '{"a":' * 100000, '{"metadata":{"name":"x","labels":{"a":"' + "x" * 100000 + '"}}}'):
        got, answer = p.as_("ann", "POST", f"{LAB}/configmaps", body)
        assert got in (400, 413, 422), (got, str(answer)[:200])
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12))
    same(p.as_("ann", "POST", f"{LAB}/configmaps", bomb, type="application/yaml")[0], 400)
    big = {"metadata": {"name": "big"}, "data": {"a": "x" * (1 << 20), "b": "x"}}
    same(p.as_("ann", "POST", f"{LAB}/configmaps", big)[0], 422)
    same(s.call("GET", "/livez")[0], 200)


def begin_slowly(p):
    """Connections that never come to the point: half a head, half a body, a watch that nobody reads. Looked at again at the end."""
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {p.token['ann']}\r\n"
    p.slow = [p.raw(f"GET {LAB}/pods HTTP/1.1\r\nHost: 127.", reads=False) for _ in range(40)]
    p.half = [p.raw(f"POST {LAB}/configmaps HTTP/1.1\r\n{head}Content-Length: 1000\r\n\r\n{{", reads=False) for _ in range(20)]
    def drip():
        with contextlib.suppress(OSError):
            for c in "x" * 1000:
                p.slow[0].sendall(c.encode())
                time.sleep(0.2)
    threading.Thread(target=drip, daemon=True).start()
    for _ in range(20):
        same(p.as_("ann", "GET", f"{LAB}/pods")[0], 200)


def slow_ones_are_let_go(p):
    for s in p.slow:  # also the one that sends a letter now and then
        s.settimeout(60)
        answer = b""
        with until_it_ends():
            while got := s.recv(4096):
                answer += got
        assert answer == b"" or b" 408 " in answer, answer
    for s in p.slow + p.half:
        s.close()
    same(p.as_("ann", "GET", f"{LAB}/pods")[0], 200)


def smuggling(p):
    """Where two readers could disagree about where a request ends, it is no request; what follows is never answered."""
    port = p.server.port
    hidden = f"GET {LAB}/pods HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {p.token['ann']}\r\n\r\n"
    for lines in ("Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
                  "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5, 6", "Content-Length: +5",
                  "Content-Length: 0x5", "Content-Length : 5", "Content-Length: -1", "Content-Length:", "Transfer-Encoding: chunked, identity",
                  "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                  "X: a\r\n folded", "X: a\r\n\tContent-Length: 5", "X: a\nContent-Length: 5", "X\0: a", "X: a\0b", "X: a\rb", "Host: other",
                  " X: a", "X", ": a"):
        answer = p.raw(f"POST {LAB}/configmaps HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {p.token['ann']}\r\n{lines}\r\n\r\n"
                       f"0\r\n\r\n{hidden}")
        assert answer.count("HTTP/1.1 ") == 1 and (" 400 " in answer[:20] or " 501 " in answer[:20]), (lines, answer[:300])
    for line in (f"GET {LAB}/pods HTTP/1.0\nHost: x\n", f"GET  {LAB}/pods HTTP/1.1", f"GET {LAB}/pods HTTP/2.0", f"GET {LAB}/pods", "GET * HTTP/1.1",
                 f"get {LAB}/pods HTTP/1.1\r\nHost: a\r\nHost: b"):
        answer = p.raw(f"{line}\r\n\r\n{hidden}")
        assert answer.count("HTTP/1.1 ") <= 1 and "PodList" not in answer, (line, answer[:300])


# ---- pages of others ----

def browsers(p):
    s = p.server
    ours = f"https://127.0.0.1:{s.port}"
    def ask(method="GET", path=f"{LAB}/pods", **headers):
        return p.as_("ann", method, path, "{}" if method == "POST" else None, **headers)
    same(ask()[0], 200)
    same(ask(Origin=ours)[0], 200)
    same(ask(Host=f"localhost:{s.port}")[0], 200)
    for host in ("evil.example.org", f"evil.example.org:{s.port}", f"127.0.0.1.evil.example.org:{s.port}", "localhost.evil.example.org", "0.0.0.0"):
        status, answer = ask(Host=host)  # their name, our address
        assert status == 403 and "Host" in answer["message"], answer
        refused(s.call("GET", "/ui", Host=host), 403)
    for origin in ("https://evil.example.org", "null", f"http://127.0.0.1:{s.port + 1}", f"https://127.0.0.1:{s.port}.evil.example.org", "file://"):
        for method, path in (("POST", f"{LAB}/configmaps"), ("GET", f"{LAB}/pods"), ("GET", "/ui")):
            status, answer = s.call(method, path, "{}" if method == "POST" else None, token="", Origin=origin)
            assert status == 403 and "a page of" in json.dumps(answer) and not s.headers["Access-Control-Allow-Origin"], answer
        same(ask(Origin=origin)[0], 200)  # by a token in a header, which no page can send without being asked first
        assert not s.headers["Access-Control-Allow-Origin"]
        refused(ask(Origin=origin, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors"))
    refused(ask(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors"))
    refused(ask("POST", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="navigate"))
    same(ask(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0], 200)  # a link
    same(ask(Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors")[0], 200)
    for type_ in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):  # what a form can send without asking first
        same(p.as_("ann", "POST", f"{LAB}/configmaps", '{"metadata":{"name":"form"}}', type=type_)[0], 415)
    by_protocol = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(p.token["ann"].encode()).decode().rstrip("=")
    status, s2 = upgrade(p, "ann", f"{LAB}/pods/mine/exec?command=id&stdout=1")
    s2.close()
    answer = p.raw(f"GET {LAB}/pods/mine/exec?command=id&stdout=1 HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nOrigin: https://evil.example.org\r\n"
                   "Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                   f"Sec-WebSocket-Protocol: v4.channel.k8s.io, {by_protocol}\r\n\r\n")  # as a page would
    assert " 403 " in answer[:20] and "a page of" in answer, answer[:400]
    same(s.call("OPTIONS", f"{LAB}/pods", token="", Origin="https://evil.example.org", Access_Control_Request_Method="POST")[0], 403)  # browsers send no token with it


# ---- what is written down ----

def events(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def audit(p):
    s = p.server
    same(os.stat(p.audit).st_mode & 0o777, 0o600)
    p.as_("ann", "POST", f"{LAB}/secrets", {"metadata": {"name": "own"}, "stringData": {"key": TREASURE}})
    p.as_("ann", "POST", f"{LAB}/configmaps", {"metadata": {"name": "own"}, "data": {"key": TREASURE}})
    p.as_("ann", "PUT", f"{LAB}/secrets/own", '{"metadata":{"name":"own"},"data":{"key":"' + CODED + '!"}}')  # wrong, and its text is an error's
    p.as_("ann", "POST", f"{LAB}/services", {"metadata": {"name": "seen"}, "spec": {"clusterIP": "None"}})
    said = events(p.audit)
    find = lambda **want: [e for e in said if all(e.get(k) == v for k, v in want.items())]
    assert any(e["responseStatus"]["code"] == 401 and e["user"] == {} for e in said)
    assert any(e["responseStatus"]["code"] == 403 and e["user"].get("username") == "vic" and e["verb"] == "create" for e in said)
    assert any(e["responseStatus"]["code"] == 429 and e["user"].get("username") == "max" for e in said)
    assert any(e.get("impersonatedUser", {}).get("username") == "ann" for e in said)
    assert any(e["objectRef"].get("subresource") == "exec" and e["responseStatus"]["code"] == 101 for e in find(stage="ResponseStarted"))
    assert any(e["verb"] == "watch" for e in find(stage="ResponseStarted"))
    service = next(e for e in said if e.get("objectRef", {}).get("resource") == "services" and e["verb"] == "create")
    same((service["level"], service["requestObject"]["metadata"]["name"], service["user"]["username"]), ("Request", "seen", "ann"))
    assert all("requestObject" not in e for e in said if e.get("objectRef", {}).get("resource") in ("secrets", "configmaps", "tokenreviews"))
    os.rename(p.audit, p.audit + ".old")
    s.process.send_signal(signal.SIGHUP)
    until("another is begun", lambda: os.path.exists(p.audit))
    s.ok("GET", f"{LAB}/services/seen")
    assert [e["objectRef"]["name"] for e in events(p.audit)] == ["seen"]


def keeps_secrets(p):
    with open(p.audit) as f, open(p.audit + ".old") as g:
        texts = {"audit": f.read() + g.read(), "said": p.server.said().decode(), "metrics": p.server.call("GET", "/metrics")[1]}
    assert "pumice_auth_forbidden_total" in texts["metrics"] and "pumice_audit_events_total" in texts["metrics"]
    for where, text in texts.items():
        for secret in (TREASURE, CODED, p.server.token, *p.seen):
            assert secret not in text, (where, text[max(0, text.index(secret) - 300):][:600])
    for path in (f"{LAB}/events", f"{OTHER}/events", f"{LAB}/pods", f"{OTHER}/pods"):
        assert TREASURE not in json.dumps(p.server.ok("GET", path)) and CODED not in json.dumps(p.server.ok("GET", path)), path


def rules_are_read_again(p):
    """On SIGHUP; what makes no sense changes nothing and is said."""
    s = p.server
    def reload(text, word):
        before = s.said().count(word)
        with open(p.access, "w") as f:
            f.write(text)
        s.process.send_signal(signal.SIGHUP)
        until("it says so", lambda: s.said().count(word) > before)
    reload("limits: {watches: 0}", b"limits.watches: must be a number from 1")
    reload("jobs: [{user: [ann], runAs: any}]", b"jobs[0].user: is not known")
    reload("speed: 1", b"speed: is not known")
    refused(p.as_("ann", "POST", f"{LAB}/pods", pod("root", "true")))
    reload(ACCESS + "jobs: [{users: [ann], runAs: any}]", b"Reloaded the settings")
    same(p.as_("ann", "POST", f"{LAB}/pods", pod("root", "true"))[0], 201)
    reload(ACCESS + "jobs: [{users: [ann], runAs: nobody}]", b"Reloaded the settings")
    status, answer = p.as_("ann", "POST", f"{LAB}/pods", pod("none", "true"))
    assert status == 403 and "spec: ann may not run pods on this machine" in answer["message"], answer
    run = pumice("server", "--data-dir", s.data + "x", "--access-config", "/nowhere")
    assert run.returncode == 2 and "--access-config: /nowhere" in run.stderr, run.stderr


# ---- as whom pods run ----

def uids_of(marker):
    """Of the processes of this machine that have this word in their command line: all four of each, and their groups."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline") as f:
                if marker not in f.read():
                    continue
            with open(f"/proc/{pid}/status") as f:
                found.add(tuple(" ".join(line.split()[1:]) for line in f if line.startswith(("Uid:", "Gid:", "Groups:"))))
    return found


def host_pod(name, path, script, sub=None, **context):
    made = pod(name, script)
    made["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": path}}]
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/mnt", **({"subPath": sub} if sub else {})}]
    if context:
        made["spec"]["containers"][0]["securityContext"] = context
    return made


def as_own_user(p):
    """A real second user of this machine: what he starts is his, on the host too, and no way leads into what is closed to him."""
    s, dora, bob = p.server, 54321, 54322
    base = tempfile.mkdtemp(prefix="pumice-homes.")
    os.chmod(base, 0o711)
    for name, uid, mode in (("dora", dora, 0o700), ("bob", bob, 0o700), ("shared", 0, 0o755), ("shared/bob", bob, 0o700)):
        os.mkdir(f"{base}/{name}")
        os.chown(f"{base}/{name}", uid, uid)
        os.chmod(f"{base}/{name}", mode)
    for name in ("bob/note", "shared/bob/note"):
        with open(f"{base}/{name}", "w") as f:
            f.write(TREASURE)
        os.chmod(f"{base}/{name}", 0o644)  # open in itself, in a directory that is not
    os.symlink(f"{base}/bob/note", f"{base}/dora/link")
    with open(p.access, "w") as f:
        f.write(ACCESS + f"jobs: [{{users: [dora], runAs: own, hostFiles: true, paths: [{base}/dora, {base}/shared]}}, "
                         f"{{groups: [crew], hostFiles: true, runAs: {{uid: {bob}, gid: {bob}}}}}]")
    before = s.said().count(b"Reloaded the settings")
    s.process.send_signal(signal.SIGHUP)
    until("the rules are read", lambda: s.said().count(b"Reloaded the settings") > before)
    p.add("dora", "--edit", "-n", "lab", "--unix-uid", str(dora))
    p.add("cruz", "--edit", "-n", "lab", "--group", "crew")
    try:
        own_user_runs(p, base, dora, bob)
        own_user_is_kept_in(p, base)
    finally:
        subprocess.run(["rm", "-rf", base], check=True)


def own_user_runs(p, base, dora, bob):
    s, jobs = p.server, "/apis/batch.volcano.sh/v1alpha1/namespaces/lab/jobs"
    nap = f"sleep 86{os.getpid()}"  # no other process has this word
    made = p.as_("dora", "POST", f"{LAB}/pods", host_pod("dora-own", f"{base}/dora/made", f"id > /mnt/by; cat {base}/bob/note; {nap}"))
    same((made[0], made[1].get("message")), (201, None))
    job = {"metadata": {"name": "crew"}, "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {
        "spec": pod("x", nap + "1")["spec"]}}]}}
    made = p.as_("cruz", "POST", jobs, job)
    same((made[0], made[1].get("message")), (201, None))
    until("it has written", lambda: os.path.exists(f"{base}/dora/made/by") and os.path.getsize(f"{base}/dora/made/by"))
    for path in (f"{base}/dora/made", f"{base}/dora/made/by"):  # what is made on the way is his too
        same((os.stat(path).st_uid, os.stat(path).st_gid), (dora, dora))
    until("both sleep", lambda: uids_of(nap + "1") and len(uids_of(nap)) == 2)
    for uid, marker in ((bob, nap + "1"), (dora, nap + "\0")):
        ids = " ".join([str(uid)] * 4)
        same([u[:2] for u in uids_of(marker)], [(ids, ids)])
    until("what it was refused is said", lambda: "cat: " in s.call("GET", f"{LAB}/pods/dora-own/log")[1])
    assert TREASURE not in s.call("GET", f"{LAB}/pods/dora-own/log")[1]
    for path in (f"{LAB}/pods/dora-own", f"{jobs}/crew"):
        s.ok("DELETE", path, {"gracePeriodSeconds": 0})


def own_user_is_kept_in(p, base):
    s = p.server
    here = f"{base}/dora"
    for name, made in (("link", host_pod("link", f"{here}/link", "cat /mnt")),
                       ("sub", host_pod("sub", f"{base}/shared", "cat /mnt", sub="bob/note"))):
        same(p.as_("dora", "POST", f"{LAB}/pods", made)[0], 201)
        note = {"metadata": {"annotations": {"pumice/host-paths-as": None}}}  # she would like root to open it
        same(p.as_("dora", "PATCH", f"{LAB}/pods/{name}", note, type="application/merge-patch+json")[0], 200)
        same(s.ok("GET", f"{LAB}/pods/{name}")["metadata"]["annotations"]["pumice/host-paths-as"], "54321:54321")
        until("it is said why not", lambda: any("Permission denied" in e["message"] for e in s.ok("GET", f"{LAB}/events")["items"]
                                                if e["involvedObject"]["name"] == name))
        s.ok("DELETE", f"{LAB}/pods/{name}", {"gracePeriodSeconds": 0})
    for field_, change in (("spec.hostPID", {"hostPID": True}), ("spec.hostNetwork", {"hostNetwork": True}), ("spec.hostIPC", {"hostIPC": True}),
                           ("spec.securityContext.runAsUser", {"securityContext": {"runAsUser": 0}}),
                           ("spec.securityContext.supplementalGroups[0]", {"securityContext": {"supplementalGroups": [0]}}),
                           ("spec.securityContext.fsGroup", {"securityContext": {"fsGroup": 0}}),
                           ("spec.volumes[0].hostPath", {"volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]}),
                           ("spec.volumes[0].hostPath", {"volumes": [{"name": "v", "hostPath": {"path": f"{here}/../bob"}}]}),
                           ("spec.volumes[0].hostPath", {"volumes": [{"name": "v", "hostPath": {"path": f"{here}-not"}}]})):
        bad = pod("bad", "true")
        bad["spec"].update(change)
        status, answer = p.as_("dora", "POST", f"{LAB}/pods", bad)
        assert status in (403, 422) and field_ in answer["message"], (field_, answer)
    for field_, change in (("privileged", {"privileged": True}), ("capabilities.add", {"capabilities": {"add": ["SYS_ADMIN"]}}),
                           ("runAsUser", {"runAsUser": 0}), ("allowPrivilegeEscalation", {"allowPrivilegeEscalation": True})):
        status, answer = p.as_("dora", "POST", f"{LAB}/pods", host_pod("bad", here, "true", **change))
        assert status == 403 and f"spec.containers[0].securityContext.{field_}" in answer["message"], (field_, answer)
    status, answer = p.as_("ann", "POST", f"{LAB}/pods", host_pod("bad", here, "true"))  # no rule fits her: restricted
    assert status == 403 and "spec.volumes[0].hostPath" in answer["message"], answer


def by_kubectl(p, path):
    config = os.path.join(p.server.dir, "bea.kubeconfig")
    with open(p.server.config) as f:
        text = f.read()
    with open(config, "w") as f:
        f.write(text.replace(p.server.token, p.token["bea"]))
    k = Kubectl(p.server, path)
    p.server.config, admin = config, p.server.config
    try:
        same(k("auth", "can-i", "create", "jobs.batch.volcano.sh", "-n", "lab"), "yes\n")
        run = k.run("auth", "can-i", "create", "vj", "-n", "lab")
        assert run.stdout == "yes\n" and "Warning" not in run.stderr, run  # by its short name
        same(k.run("auth", "can-i", "create", "vj", "-n", "other").stdout, "no\n")
        listed = k("auth", "can-i", "--list", "-n", "lab")
        assert re.search(r"jobs\.batch\.volcano\.sh .*\[.*create", listed), listed
        if k.minor >= 28:
            assert re.search(r"Username +bea", k("auth", "whoami")), k("auth", "whoami")
        if k.minor >= 24:
            token = k("create", "token", "default", "-n", "lab").strip()
            p.seen.append(token)
            refused(p.as_(token, "GET", f"{OTHER}/secrets"))
    finally:
        p.server.config = admin


def main():
    suite = Suite()
    p = server_or_skip(Place)
    if os.geteuid() != 0:
        print("as_own_user is left out: only root can run pods as other UNIX users")
    try:
        for case in (begin_slowly, certificates_begin, credentials, reads_only, subresources, treasure, paths, escalation, aggregation,
                     reviews, account_tokens, leaves_nothing_open, too_much, too_large, smuggling, browsers):
            suite.case(case.__name__, lambda: case(p))
        for name, path in kubectls():
            suite.case(f"kubectl ({name})", lambda: by_kubectl(p, path))
        for case in (certificates_end, slow_ones_are_let_go, audit, keeps_secrets, rules_are_read_again,
                     *([as_own_user] if os.geteuid() == 0 else []), from_a_pod, rotated):
            suite.case(case.__name__, lambda: case(p))
    finally:
        p.end()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
