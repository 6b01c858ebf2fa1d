#!/usr/bin/env python3
"""Our RBAC and a real kube-apiserver's: the same roles and bindings, the same questions, the same answers and words.

Random objects go into the API server; what it then lists goes into ours (rbac_ask), its own default roles included. Roles
with an aggregationRule are left out: here nobody fills them in. SEED=n asks others.
"""
import json
import os
import random
import re
import subprocess
import sys
import time

from bed import Bed, Skip

GROUP = "rbac.authorization.k8s.io"
BASE = f"/apis/{GROUP}/v1"
VERBS = ["get", "list", "create", "dance", "*", "escalate", "bind"]
GROUPS = ["", "apps", "batch.volcano.sh", "*", GROUP]
RESOURCES = ["pods", "pods/log", "jobs", "jobs/log", "*/log", "*", "secrets", "roles", "clusterroles"]
NAMES = ["p", "q", "*", "r0", "c0"]
URLS = ["/a", "/a/b", "/a/*", "/*", "*", "/a*"]
SPACES = ["one", "two"]
USERS = ["ann", "bob", "system:serviceaccount:one:bot", "system:serviceaccount:two:bot"]
TEAMS = ["dev", "ops", "ann"]


class Ours:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["RBAC_ASK"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")

    def ask(self, line):
        self.say(line)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise AssertionError("rbac_ask failed")


class Theirs:
    """One connection for all questions."""

    def __init__(self, bed):
        self.connection = bed.connect("admin")

    def call(self, method, path, body=None, user=None, groups=()):
        headers = [("Content-Type", "application/json")] if body is not None else []
        if user:
            headers += [("Impersonate-User", user)] + [("Impersonate-Group", g) for g in groups]
        self.connection.putrequest(method, path)
        text = json.dumps(body).encode() if body is not None else b""
        for name, value in headers:
            self.connection.putheader(name, value)
        self.connection.putheader("Content-Length", str(len(text)))
        self.connection.endheaders(text)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def create(self, body, **how):
        meta = body["metadata"]
        plural = body["kind"].lower() + "s"
        where = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
        return self.call("POST", f"{BASE}{where}/{plural}{'?dryRun=All' if how else ''}", body, **how)


def some(rand, words, least=1, most=3):
    return rand.sample(words, rand.randint(least, most))


def random_rules(rand, is_cluster):
    rules = []
    for _ in range(rand.randint(1, 4)):
        if is_cluster and rand.random() < 0.25:
            rules.append({"verbs": some(rand, VERBS), "nonResourceURLs": some(rand, URLS, 1, 2)})
        else:
            rule = {"verbs": some(rand, VERBS), "apiGroups": some(rand, GROUPS, 1, 2), "resources": some(rand, RESOURCES)}
            if rand.random() < 0.3:
                rule["resourceNames"] = some(rand, NAMES, 1, 2)
            rules.append(rule)
    return rules


def head(kind, name, namespace=None):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": meta}


def random_subject(rand, namespace):
    kind = rand.choice(["User", "Group", "ServiceAccount"])
    if kind == "ServiceAccount":
        return {"kind": kind, "name": "bot", **({"namespace": rand.choice(SPACES)} if not namespace or rand.random() < 0.5 else {})}
    return {"kind": kind, "apiGroup": GROUP, "name": rand.choice(USERS if kind == "User" else TEAMS)}


def random_objects(rand):
    """Roles, bindings of many, and for some users (solo…) one binding each, of which the reason is certain."""
    made = [{**head("ClusterRole", f"c{i}"), "rules": random_rules(rand, True)} for i in range(6)]
    made += [{**head("Role", f"r{i}", ns), "rules": random_rules(rand, False)} for i in range(4) for ns in SPACES]
    for i in range(14):
        namespace = rand.choice([None, *SPACES])
        kind, n = rand.choice([("ClusterRole", "c"), ("Role", "r")]) if namespace else ("ClusterRole", "c")
        subjects = [random_subject(rand, namespace) for _ in range(rand.randint(1, 4))]
        if i % 2:
            subjects = [{"kind": "User", "apiGroup": GROUP, "name": f"solo{i}"}, {"kind": "Group", "apiGroup": GROUP, "name": f"team{i}"}]
        made.append({**head("RoleBinding" if namespace else "ClusterRoleBinding", f"b{i}", namespace),
                     "roleRef": {"apiGroup": GROUP, "kind": kind, "name": f"{n}{rand.randint(0, 6)}"}, "subjects": subjects})
    made.append({**head("ClusterRole", "writer"), "rules": [{"verbs": ["create"], "apiGroups": [GROUP], "resources":
                                                             ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]}]})
    made.append({**head("ClusterRoleBinding", "writer"), "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "writer"},
                 "subjects": [{"kind": "Group", "apiGroup": GROUP, "name": "writers"}]})
    made.append({**head("Role", "last", SPACES[0]), "rules": [{"verbs": ["last"], "apiGroups": [GROUP], "resources": ["roles"]}]})
    made.append({**head("RoleBinding", "last", SPACES[0]), "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "last"},
                 "subjects": [{"kind": "Group", "apiGroup": GROUP, "name": "writers"}]})
    return made


def random_question(rand):
    spec = {"user": rand.choice(USERS + [f"solo{i}" for i in range(1, 14, 2)]),
            "groups": some(rand, TEAMS + [f"team{i}" for i in range(1, 14, 2)], 0, 2)}
    if spec["user"].startswith("solo"):
        spec["groups"] = []
    if rand.random() < 0.2:
        spec["groups"] = ["system:authenticated"]
    verb = rand.choice(VERBS)
    if rand.random() < 0.2:
        spec["nonResourceAttributes"] = {"verb": verb, "path": rand.choice(["/a", "/a/b", "/a/b/c", "/b", "/ab", "/healthz", "/apis/x"])}
    else:
        spec["resourceAttributes"] = {"verb": verb, "group": rand.choice(GROUPS), "resource": rand.choice(["pods", "jobs", "secrets", "nodes", "roles"]),
                                      "subresource": rand.choice(["", "", "log", "status"]), "name": rand.choice(["", "p", "q", "*"]),
                                      "namespace": rand.choice(["", "one", "two", "three"])}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def random_write(rand):
    """A role or binding that somebody tries to make; often more than he has."""
    namespace = rand.choice([None, *SPACES])
    if rand.random() < 0.5:
        return {**head("Role" if namespace else "ClusterRole", "new", namespace), "rules": random_rules(rand, not namespace)}
    kind, n = rand.choice([("ClusterRole", "c"), ("Role", "r")]) if namespace else ("ClusterRole", "c")
    return {**head("RoleBinding" if namespace else "ClusterRoleBinding", "new", namespace),
            "roleRef": {"apiGroup": GROUP, "kind": kind, "name": f"{n}{rand.randint(0, 5)}"},
            "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "x"}]}


def same_reason(spec, ours, theirs):
    """Where several bindings allow it, or several roles are missing, the order is nobody's promise."""
    if ours == theirs:
        return True
    if spec["user"].startswith("solo") and "system:authenticated" not in spec["groups"]:
        return False
    words = lambda text: sorted(text.removeprefix("RBAC: ").strip("[]").split(", "))
    return words(ours) == words(theirs) or (ours.startswith("RBAC: allowed by") and theirs.startswith("RBAC: allowed by"))


def wait_for_caches(theirs):
    """The API server answers from caches that follow its own store, one for each kind: the last of each of the four is
    known when both of these are allowed."""
    for attributes in ({"verb": "create"}, {"verb": "last", "namespace": SPACES[0]}):
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": "x", "groups": ["writers"], "resourceAttributes": {**attributes, "group": GROUP, "resource": "roles"}}}
        end = time.monotonic() + 60
        while not theirs.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)[1]["status"]["allowed"]:
            if time.monotonic() > end:
                raise AssertionError("the API server does not see its own bindings")
            time.sleep(0.05)


def fill(theirs, ours, rand):
    for body in random_objects(rand):
        status, answer = theirs.create(body)
        assert status == 201, (body, answer)
    wait_for_caches(theirs)
    for plural, kind in (("roles", "Role"), ("clusterroles", "ClusterRole"), ("rolebindings", "RoleBinding"),
                         ("clusterrolebindings", "ClusterRoleBinding")):
        for item in theirs.call("GET", f"{BASE}/{plural}")[1]["items"]:
            if "aggregationRule" not in item:
                ours.say({"put": {"apiVersion": f"{GROUP}/v1", "kind": kind, **item}})


def ask_both(theirs, ours, rand, n):
    allowed = with_reason = 0
    for _ in range(n):
        review = random_question(rand)
        status, answer = theirs.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        assert status == 201, answer
        got, want = ours.ask({"ask": review}), answer["status"]
        if got["allowed"] != want["allowed"] or not same_reason(review["spec"], got.get("reason", ""), want.get("reason", "")):
            raise AssertionError(f"{json.dumps(review['spec'])}\n  ours:   {got}\n  theirs: {want}")
        allowed += want["allowed"]
        with_reason += "reason" in want
    assert n / 50 < allowed < n * 0.8 and with_reason > allowed, (n, allowed, with_reason)
    return allowed


def write_both(theirs, ours, rand, n):
    refused = 0
    for _ in range(n):
        body, user = random_write(rand), rand.choice(USERS[:2] + ["solo1", "solo3", "solo5"])
        groups = ["writers", *some(rand, TEAMS, 0, 1), "system:authenticated"]
        status, answer = theirs.create(body, user=user, groups=groups)
        message = "" if status == 201 else answer["message"]
        assert status in (201, 403, 404), answer
        got = ours.ask({"write": body, "user": user, "groups": groups})["message"]
        # Of a role that is not there theirs says "rolebindings" or whatever is being written, ours what it is.
        got, message = (re.sub(r'\w+(\.rbac\.authorization\.k8s\.io "[^"]*" not found)', r"\1", text) for text in (got, message))
        same = got[:400] == message[:400] if len(got) > 400 else got == message
        if not same:
            raise AssertionError(f"{user} {groups} writes {json.dumps(body)}\n  ours:   {got}\n  theirs: {message}")
        refused += status == 403
    assert n / 10 < refused < n, refused
    return refused


def main():
    seed = int(os.environ.get("SEED", "1"))
    rand, ours = random.Random(seed), Ours()
    try:
        with Bed() as bed:
            for namespace in SPACES:
                bed.namespace(namespace)
            theirs = Theirs(bed)
            fill(theirs, ours, rand)
            allowed = ask_both(theirs, ours, rand, 1500)
            refused = write_both(theirs, ours, rand, 200)
            ours.close()
    except Skip as e:
        print(f"skipped: {e}", file=sys.stderr)
        return 77
    except AssertionError:
        print(f"SEED={seed}", file=sys.stderr)
        raise
    print(f"1500 questions ({allowed} allowed) and 200 writes ({refused} refused) answered the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
