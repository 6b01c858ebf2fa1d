#!/usr/bin/env python3
"""Identities over real TLS: `pumice server user` beside a server (auth_echo) that says who asks and whether he may."""
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile

from harness import Suite, pumice, same
from server_user import field

DIR = tempfile.mkdtemp(prefix="pumice-auth.")


class Server:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["AUTH_ECHO"], DIR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.ca = os.path.join(DIR, "pki", "ca.crt")

    def connect(self, cert=None, host="localhost", ca=None):
        context = ssl.create_default_context(cafile=ca or self.ca)
        if cert:
            context.load_cert_chain(*cert)
        return http.client.HTTPSConnection(host, self.port, context=context, timeout=30)

    def ask(self, method, path, connection=None, token=None, headers=()):
        """(status, user, text)"""
        c = connection or self.connect()
        c.putrequest(method, path)
        for name, value in [*([("Authorization", f"Bearer {token}")] if token else []), *headers, ("Content-Length", "0")]:
            c.putheader(name, value)
        c.endheaders()
        r = c.getresponse()
        answer = json.loads(r.read())
        self.retry_after = r.headers.get("Retry-After")
        if not connection:
            c.close()
        return r.status, answer["user"], answer["text"]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


SERVER = Server()


def add(name, *args):
    run = pumice("server", "user", "add", name, "--data-dir", DIR, *args)
    assert run.returncode == 0, run.stderr
    return run.stdout


def certificate(name, *args):
    text = add(name, *args)
    paths = [os.path.join(DIR, f"{name}.{part}") for part in ("crt", "key")]
    for path, part in zip(paths, ("client-certificate-data", "client-key-data")):
        with open(path, "wb") as f:
            f.write(field(text, part))
    return paths


def token(name, *args):
    return re.search(r"token: (\S+)", add(name, "--token", *args))[1]


def the_server():
    """Its certificate is for all its names, and the CA of the kubeconfig vouches for it."""
    for host in ("localhost", "127.0.0.1"):
        same(SERVER.ask("GET", "/healthz", SERVER.connect(host=host))[:2], (200, "system:anonymous"))
    run = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{SERVER.port}", "-CAfile", SERVER.ca, "-verify_return_error", "-x509_strict",
                          "-verify_ip", "127.0.0.1"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "Verify return code: 0 (ok)" in run.stdout and "TLSv1.3" in run.stdout, run.stdout + run.stderr
    same(SERVER.ask("GET", "/apis")[0], 403)
    same(SERVER.ask("GET", "/lab/pods")[2], 'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the '
         'namespace "lab"')


def by_certificate():
    ann = certificate("ann", "--edit", "--namespace", "lab")
    c = SERVER.connect(ann)
    same(SERVER.ask("POST", "/lab/pods", c), (200, "ann", 'RBAC: allowed by RoleBinding "pumice:user:ann/lab" of ClusterRole "edit" to User "ann"'))
    same(SERVER.ask("GET", "/lab/secrets", c)[0], 200)
    same(SERVER.ask("GET", "/other/secrets", c)[0], 403)
    same(SERVER.ask("GET", "/lab/secrets", c, headers=[("Impersonate-User", "admin")])[0], 403)
    assert pumice("server", "user", "remove", "ann", "--data-dir", DIR).returncode == 0
    same(SERVER.ask("GET", "/lab/pods", c), (401, "", "Unauthorized"))  # on the same connection, at once
    certificate_again = certificate("ann", "--view")
    same(SERVER.ask("GET", "/lab/pods", c)[0], 401)  # the old one is not the new ann's
    same(SERVER.ask("GET", "/lab/pods", SERVER.connect(certificate_again))[0], 200)
    same(SERVER.ask("POST", "/lab/pods", SERVER.connect(certificate_again))[0], 403)


def by_foreign_certificate():
    """Self-made, whatever it says it is: the handshake fails."""
    crt, key = os.path.join(DIR, "e.crt"), os.path.join(DIR, "e.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", crt,
                    "-subj", "/O=system:masters/CN=admin", "-days", "2"], check=True, capture_output=True)
    try:
        got = SERVER.ask("GET", "/lab/pods", SERVER.connect((crt, key)))
    except (ssl.SSLError, ConnectionError, http.client.HTTPException):
        return
    raise AssertionError(f"answered {got}")


def without_uid():
    """By our own CA, with the right name and group, but not one that was given to a user: who has the key of the CA could make it."""
    crt, key, ca = (os.path.join(DIR, f) for f in ("f.crt", "f.key", "pki/ca.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", crt,
                    "-subj", "/O=system:masters/CN=bob", "-days", "2", "-CA", ca, "-CAkey", ca, "-addext", "extendedKeyUsage=clientAuth"],
                   check=True, capture_output=True)
    token("bob", "--view")
    same(SERVER.ask("GET", "/lab/pods", SERVER.connect((crt, key))), (401, "", "Unauthorized"))


def by_token():
    t = token("tom", "--admin", "--namespace", "lab")
    same(SERVER.ask("POST", "/lab/rolebindings", token=t)[0], 403)  # another API group than the core's
    same(SERVER.ask("POST", "/lab/pods", token=t)[:2], (200, "tom"))
    for wrong in (t[:-1], t + "x", t.upper(), "pumice_", "a.b.c", "x" * 5000):
        same(SERVER.ask("POST", "/lab/pods", token=wrong), (401, "", "Unauthorized"))
    same(SERVER.ask("POST", "/lab/pods", token=t, headers=[("Authorization", f"Bearer {t}")])[0], 401)
    same(SERVER.ask("POST", "/lab/pods", headers=[("Authorization", "Basic dG9tOng=")])[0], 401)
    admin = pumice("server", "token", "--data-dir", DIR).stdout.strip()
    same(SERVER.ask("GET", "/lab/nodes", token=admin)[:2], (200, "admin"))
    same(SERVER.ask("GET", "/lab/nodes", token=admin, headers=[("Impersonate-User", "tom")])[:2], (403, "tom"))


def damaged_users():
    """Nobody is known while the list cannot be read, and everybody again when it can be."""
    t, path = token("joe", "--view"), os.path.join(DIR, "pki", "users.json")
    same(SERVER.ask("GET", "/lab/pods", token=t)[0], 200)
    with open(path) as f:
        good = f.read()
    for bad in ("", "{", good[:-20]):
        with open(path, "w") as f:
            f.write(bad)
        same(SERVER.ask("GET", "/lab/pods", token=t)[0], 401)
    with open(path, "w") as f:
        f.write(good)
    same(SERVER.ask("GET", "/lab/pods", token=t)[0], 200)


def too_fast():
    t, statuses, c = token("max", "--view"), [], SERVER.connect()
    for _ in range(1000):
        statuses.append(SERVER.ask("GET", "/lab/pods", c, token=t)[0])
        if statuses[-1] == 429:
            break
    same(statuses[-1], 429)
    assert SERVER.retry_after == "1" and len(statuses) > 300, (SERVER.retry_after, len(statuses))


def audit():
    with open(os.path.join(DIR, "audit.log")) as f:
        events = [json.loads(line) for line in f]
    assert os.stat(os.path.join(DIR, "audit.log")).st_mode & 0o777 == 0o600
    assert all(e["kind"] == "Event" and e["stage"] == "ResponseComplete" for e in events)
    ann = [e for e in events if e["user"].get("username") == "ann"]
    same((ann[0]["verb"], ann[0]["objectRef"], ann[0]["responseStatus"]["code"], ann[0]["sourceIPs"]),
         ("create", {"resource": "pods", "namespace": "lab", "apiVersion": "v1"}, 200, ["127.0.0.1"]))
    assert any(e.get("impersonatedUser", {}).get("username") == "tom" for e in events)
    assert any(e["responseStatus"]["code"] == 401 and e["user"] == {} for e in events)
    assert "pumice_" not in json.dumps(events)


def gives_nothing_that_it_has_not(people, ask):
    """The administrator of a namespace may write roles there; none that he does not have himself."""
    t = re.search(r"token: (\S+)", people("user", "add", "bea", "--admin", "-n", "lab", "--token"))[1]
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/lab"

    def role(rules):
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}
    status, answer = ask("POST", f"{rbac}/roles", role([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["*"]}]), t)
    assert status == 403, answer
    assert "attempting to grant RBAC permissions not currently held" in answer["message"], answer
    same(ask("POST", f"{rbac}/roles", role([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]), t)[0], 201)
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
               "subjects": [{"kind": "User", "name": "bea", "apiGroup": "rbac.authorization.k8s.io"}],
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}}
    same(ask("POST", f"{rbac}/rolebindings", binding, t)[0], 403)
    same(ask("POST", f"{rbac}/rolebindings", {**binding, "roleRef": {**binding["roleRef"], "name": "view"}}, t)[0], 201)


def runs_restricted_pods_only(ask, admin):
    """Pods and jobs of ordinary people must not open the machine; those of the administrator may."""
    jobs, pods = "/apis/batch.volcano.sh/v1alpha1/namespaces/lab/jobs", "/api/v1/namespaces/lab/pods"
    good = {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}, "schedulerName": "nobody",
            "containers": [{"name": "c", "image": "i", "command": ["true"],
                            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}
    bad = {**good, "volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]}

    def pod(name, spec):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}

    def job(name, spec):
        return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": {
            "tasks": [{"name": "t", "replicas": 0, "template": {"spec": good}}, {"name": "u", "replicas": 1, "template": {"spec": spec}}]}}
    for path, make in ((pods, pod), (jobs, job)):
        status, answer = ask("POST", path, make("bad", bad))
        assert status == 403, answer
        assert "hostPath" in answer["message"] and 'violates PodSecurity "restricted", which pods of ann must meet' in answer["message"], answer
        same(ask("POST", path, make("good", good))[0], 201)
        same(ask("POST", path, make("bad", bad), admin)[0], 201)


def real_server():
    """`pumice server` itself: people added, allowed, removed while it runs."""
    data = os.path.join(DIR, "real")
    server = subprocess.Popen([os.environ["PUMICE"], "server", "--drain", "--data-dir", data, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    try:
        server.stdout.readline()  # it says where it is when it is ready
        def people(*args):
            run = pumice("server", *args, "--data-dir", data)
            assert run.returncode == 0, run.stderr
            return run.stdout
        text = people("user", "add", "ann", "--edit", "-n", "lab", "--token")
        url, t = re.search(r"server: https://127.0.0.1:(\d+)", text)[1], re.search(r"token: (\S+)", text)[1]

        def ask(method, path, body=None, token=t):
            context = ssl.create_default_context(cafile=os.path.join(data, "pki", "ca.crt"))
            c = http.client.HTTPSConnection("127.0.0.1", int(url), context=context, timeout=60)
            c.request(method, path, body and json.dumps(body), {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
            r = c.getresponse()
            return r.status, json.loads(r.read())

        maps = "/api/v1/namespaces/lab/configmaps"
        same(ask("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})[0], 201)
        same(ask("GET", "/api/v1/namespaces/default/secrets")[0], 403)
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {
            "verb": "create", "group": "batch.volcano.sh", "resource": "jobs", "namespace": "lab"}}}
        same(ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)[1]["status"]["allowed"], True)
        gives_nothing_that_it_has_not(people, ask)
        runs_restricted_pods_only(ask, people("token").strip())
        people("user", "remove", "ann")
        same(ask("GET", maps)[0], 401)
        same(ask("GET", maps, token=people("token").strip())[0], 200)
    finally:
        server.terminate()
        server.stdout.close()
        same(server.wait(), 0)


def main():
    suite = Suite()
    for case in (the_server, by_certificate, by_foreign_certificate, without_uid, by_token, damaged_users, too_fast, audit, real_server):
        suite.case(case.__name__, case)
    suite.case("ends", SERVER.close)
    subprocess.run(["rm", "-rf", DIR], check=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
