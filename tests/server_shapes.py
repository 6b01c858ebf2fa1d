#!/usr/bin/env python3
"""`pumice server`: bodies of a wrong shape are refused with the field's name, whoever sends them, and the server goes on.

The requests that once ended it, on the real binary. All others, made from the tables: src/server/test/shapes.c.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite, pumice  # noqa: E402
from server import Server, server_or_skip, until  # noqa: E402
from server_checklist import APPLY, JSON_PATCH, MERGE, STRATEGIC, refused  # noqa: E402

LAB = "/api/v1/namespaces/lab"
SERVICES, ACCOUNTS = f"{LAB}/services", f"{LAB}/serviceaccounts"
TEMPLATES = "/apis/flow.volcano.sh/v1alpha1/namespaces/lab/jobtemplates"
WRONG = ([], "x", 7, True, [[]], [None])


class Lab:
    """A server, an editor of a namespace that `user add` made, and its administrator."""
    def __init__(self):
        self.server = Server()
        self.token = {}
        for name, right in (("ann", "--edit"), ("bea", "--admin")):
            run = pumice("server", "user", "add", name, "--token", "--data-dir", self.server.data, right, "-n", "lab")
            assert run.returncode == 0, run.stderr
            self.token[name] = re.search(r"token: (\S+)", run.stdout)[1]
        until("the namespace is there", lambda: self.call("GET", f"{ACCOUNTS}/default", who="bea")[0] == 200)

    def call(self, method, path, body=None, who="ann", **kw):
        return self.server.call(method, path, body, token=self.token.get(who), **kw)

    def ok(self, *args, **kw):
        status, answer = self.call(*args, **kw)
        assert status in (200, 201), (args, status, answer)
        return answer

    def is_refused(self, code, field, *args, **kw):
        """With this code, the field in its message and in its causes; the server has the same process."""
        for dry in ("?dryRun=All", ""):
            method, path, *rest = args
            body = refused(self.call(method, path + (dry if "?" not in path else dry.replace("?", "&")), *rest, **kw), code)
            assert field in body["message"] and field in [c["field"] for c in body["details"]["causes"]], body
        assert self.server.process.poll() is None, self.server.said()[-3000:]


def services(lab):
    lab.ok("POST", SERVICES, {"metadata": {"name": "own"}, "spec": {"ports": [{"port": 80}]}})
    for spec in WRONG:
        body = {"metadata": {"name": "own"}, "spec": spec}
        lab.is_refused(400, "spec", "PUT", f"{SERVICES}/own", body)
        lab.is_refused(400, "spec", "POST", SERVICES, {"metadata": {"name": "new"}, "spec": spec})
        for type in (MERGE, STRATEGIC):
            lab.is_refused(422, "spec", "PATCH", f"{SERVICES}/own", {"spec": spec}, type=type)
        lab.is_refused(422, "spec", "PATCH", f"{SERVICES}/own", [{"op": "replace", "path": "/spec", "value": spec}], type=JSON_PATCH)
        whole = {"apiVersion": "v1", "kind": "Service", **body}
        assert lab.call("PATCH", f"{SERVICES}/own?fieldManager=x&force=true", whole, type=APPLY)[0] == 400
    for kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        for port in (7, None, "x", []):
            lab.is_refused(400, "spec.ports[0]", "POST", SERVICES, {"metadata": {"name": "new"}, "spec": {"type": kind, "ports": [port]}})


def tokens(lab):
    for spec in WRONG:
        lab.is_refused(400, "spec", "POST", f"{ACCOUNTS}/default/token", {"spec": spec}, who="bea")
    lab.is_refused(400, "spec.boundObjectRef", "POST", f"{ACCOUNTS}/default/token", {"spec": {"boundObjectRef": [7]}}, who="bea")
    assert lab.ok("POST", f"{ACCOUNTS}/default/token", {"spec": {}}, who="bea")["status"]["token"]


def namespaces(lab):
    """`kubectl label ns lab a=b`: the namespace was made inside of the program."""
    for n, type in enumerate((MERGE, STRATEGIC)):
        lab.ok("PATCH", LAB, {"metadata": {"labels": {"a": str(n)}}}, who=None, type=type)
    assert lab.ok("GET", LAB, who=None)["metadata"]["labels"]["a"] == "1"
    assert lab.server.process.poll() is None


def statuses(lab):
    """A status that is stored is read by controllers, also after a restart."""
    task = {"name": "w", "replicas": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    lab.ok("POST", TEMPLATES, {"metadata": {"name": "own"}, "spec": {"tasks": [task]}}, who=None)
    for status in WRONG:
        for type in (MERGE, JSON_PATCH):
            patch = {"status": status} if type == MERGE else [{"op": "add", "path": "/status", "value": status}]
            lab.is_refused(422, "status", "PATCH", f"{TEMPLATES}/own/status", patch, who=None, type=type)
    lab.server.restart()
    assert lab.ok("GET", f"{TEMPLATES}/own", who=None)["metadata"]["name"] == "own"


def deletes(lab):
    lab.ok("POST", f"{LAB}/configmaps", {"metadata": {"name": "stays"}})
    for body, field in (({"preconditions": []}, "preconditions"), ({"dryRun": "All"}, "dryRun"), ({"gracePeriodSeconds": "x"}, "gracePeriodSeconds")):
        lab.is_refused(400, field, "DELETE", f"{LAB}/configmaps/stays", body)
    assert lab.call("DELETE", f"{LAB}/configmaps/stays", [])[0] == 400
    lab.ok("DELETE", f"{LAB}/configmaps/stays", {})


def nothing_was_refused_inside(lab):
    text = lab.server.call("GET", "/metrics")[1]
    assert "\npumice_json_refused_changes_total 0\n" in text, text[:2000]


def main():
    suite = Suite()
    lab = server_or_skip(Lab)
    try:
        for case in (services, tokens, namespaces, statuses, deletes, nothing_was_refused_inside):
            suite.case(case.__name__, lambda: case(lab))
    finally:
        lab.server.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
