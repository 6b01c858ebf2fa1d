#!/usr/bin/env python3
"""Two tenants of one server try on each other what they may: ann edits "a" and "shared", bob edits "b" and "shared".

The tables of docs/server-users.md ("What tenants can do to each other") are the cases of matrix(): each row there has its tries here, and
what the page says is what the server answers. Pods here are never scheduled; whoever may enter one is told that it has no host.
"""
import contextlib
import json
import os
import re
import signal
import sys

from harness import Suite, pumice, pumice_json, same
from server import Server, server_or_skip, until
from server_security import upgrade

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "server-users.md")
MERGE = "application/merge-patch+json"
NOWHERE = {"no": "node"}
SAFE_CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
# Each opens a door that "restricted" closes: where in a pod's spec, and what.
DANGERS = {
    "privileged": ("containers.0.securityContext", {"privileged": True, "allowPrivilegeEscalation": True, "capabilities": {"drop": ["ALL"]}}),
    "escalation": ("containers.0.securityContext.allowPrivilegeEscalation", True),
    "capability": ("containers.0.securityContext.capabilities.add", ["SYS_ADMIN"]),
    "keeps capabilities": ("containers.0.securityContext.capabilities.drop", []),
    "root of a container": ("containers.0.securityContext.runAsUser", 0),
    "host port": ("containers.0.ports", [{"containerPort": 80, "hostPort": 80}]),
    "host network": ("hostNetwork", True), "host pids": ("hostPID", True), "host ipc": ("hostIPC", True),
    "host path": ("volumes", [{"name": "v", "hostPath": {"path": "/etc"}}]),
    "root": ("securityContext.runAsUser", 0), "may be root": ("securityContext.runAsNonRoot", False),
    "sysctls": ("securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}]),
    "seccomp": ("securityContext.seccompProfile", {"type": "Unconfined"}),
    "AppArmor": ("securityContext.appArmorProfile", {"type": "Unconfined"}),
    "SELinux": ("securityContext.seLinuxOptions", {"type": "spc_t"}),
}


def core(namespace, rest):
    return f"/api/v1/namespaces/{namespace}/{rest}"


def batch(namespace, rest):
    return f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/{rest}"


def flow_url(namespace, rest):
    return f"/apis/flow.volcano.sh/v1alpha1/namespaces/{namespace}/{rest}"


# ---- objects ----

def put(spec, path, value):
    """A copy of the spec with this in it."""
    spec = json.loads(json.dumps(spec))
    at, *rest = spec, *path.split(".")
    for word in rest[:-1]:
        at = at[int(word)] if isinstance(at, list) else at.setdefault(word, {})
    at[rest[-1]] = value
    return spec


def safe_spec(**more):
    return {"restartPolicy": "Never", "nodeSelector": NOWHERE, "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000,
                                                                                  "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "c", "image": "i", "command": ["true"], "securityContext": SAFE_CONTAINER}], **more}


def root_spec():
    return put(safe_spec(), *DANGERS["privileged"]) | {"securityContext": {}}


def pod(name, spec=None, **meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": spec or safe_spec()}


def job_spec(spec=None, **more):
    return {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {"spec": spec or safe_spec()}}], **more}


def job(name, spec=None, **more):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": job_spec(spec, **more)}


def template(name, spec=None):
    return {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobTemplate", "metadata": {"name": name}, "spec": job_spec(spec)}


def flow(name, vertex, patch=None):
    return {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": {"name": name},
            "spec": {"flows": [{"name": vertex, **({"patch": {"jobSpec": patch}} if patch is not None else {})}]}}


def cron(name, spec=None, **template_meta):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "0 0 31 2 *", "jobTemplate": {"metadata": template_meta, "spec": job_spec(spec)}}}


def task_patch(path, value):
    """A patch of the only task's pod."""
    if path.startswith("containers.0."):
        return {"tasks": [{"name": "t", "template": {"spec": {"containers": [put({"name": "c"}, path.removeprefix("containers.0."), value)]}}}]}
    return {"tasks": [{"name": "t", "template": {"spec": put({}, path, value)}}]}


# ---- the server ----

class Place:
    def __init__(self):
        self.access = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"pumice-tenants.{os.getpid()}")
        self.rules("")
        self.server = s = Server("--access-config", self.access)
        self.token = {"admin": s.token}
        for name, own in (("ann", "a"), ("bob", "b")):
            run = pumice("server", "user", "add", name, "--edit", "-n", own, "-n", "shared", "--token", "--data-dir", s.data)
            self.token[name] = re.search(r"token: (\S+)", run.stdout)[1]
        for namespace in ("a", "b", "shared"):
            until("the account is there", lambda: s.call("GET", core(namespace, "serviceaccounts/default"))[0] == 200)

    def rules(self, text):
        with open(self.access, "w") as f:
            f.write("limits: {requestsPerSecond: 10000, burst: 10000}\n" + text)

    def reload(self, text, holds):
        """Other rules, which are in force when 'holds' is true."""
        self.rules(text)
        self.server.process.send_signal(signal.SIGHUP)
        until("the rules are read", holds)

    def call(self, who, method, path, body=None, **kw):
        return self.server.call(method, path, body, token=self.token[who], **kw)

    def ok(self, who, method, path, body=None, **kw):
        status, answer = self.call(who, method, path, body, **kw)
        assert status in (200, 201), (who, method, path, status, answer)
        return answer

    def raw(self, text, reads):
        import socket
        import ssl
        c = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        s = ssl.create_default_context(cadata=self.server.ca).wrap_socket(c, server_hostname="127.0.0.1")
        s.sendall(text.encode())
        return s

    def stream(self, who, path, method="GET"):
        status, s = upgrade(self, who, path, method)
        s.close()
        return status

    def events(self, namespace, reason):
        return {e["involvedObject"]["name"]: e["message"] for e in self.ok("admin", "GET", core(namespace, "events"))["items"] if e["reason"] == reason}

    def end(self):
        self.server.stop()
        os.unlink(self.access)


def refused(answer):
    assert answer[0] == 403, answer
    return answer[1]["message"] if isinstance(answer[1], dict) else answer[1]


# ---- flows ----

def sample(schema, schemas, depth=0):
    """A value of the type, whatever it means."""
    schema = schemas.get(schema.get("$ref", "").rsplit("/", 1)[-1], schema)
    for part in schema.get("allOf", []):
        schema = {**schema, **schemas.get(part.get("$ref", "").rsplit("/", 1)[-1], part)}
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        return {}
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "string": "x"}.get(kind, "x")


def fields_of_jobs(p):
    """Every field of a Job's spec, a task, its pod and its container: as the patch that sets it, from the server's own schema."""
    all_ = p.ok("admin", "GET", "/openapi/v3/apis/batch.volcano.sh/v1alpha1")["components"]["schemas"]
    def resolve(schema):
        ref = schema.get("$ref") or next((x["$ref"] for x in schema.get("allOf", []) if "$ref" in x), "")
        return all_.get(ref.rsplit("/", 1)[-1], schema)
    spec = resolve(next(s for n, s in all_.items() if n.endswith(".Job"))["properties"]["spec"])
    task = resolve(resolve(spec["properties"]["tasks"])["items"])
    pod_ = resolve(resolve(task["properties"]["template"])["properties"]["spec"])
    container = resolve(resolve(pod_["properties"]["containers"])["items"])
    context = resolve(container["properties"]["securityContext"])
    wraps = ((spec, lambda f, v: {f: v}), (task, lambda f, v: {"tasks": [{"name": "t", f: v}]}), (pod_, lambda f, v: task_patch(f, v)),
             (container, lambda f, v: task_patch(f"containers.0.{f}", v)), (context, lambda f, v: task_patch(f"containers.0.securityContext.{f}", v)))
    patches = {}
    for level, (schema, wrap) in enumerate(wraps):
        for field, of in schema["properties"].items():
            if not (field == "tasks" and level == 0) and not (field == "name" and level in (1, 3)):
                patches[f"{level} {field}"] = wrap(field, sample(of, all_))
    assert len(patches) > 90 and "0 volumes" in patches and "0 plugins" in patches, sorted(patches)
    patches["0 volumes"] = {"volumes": [{"mountPath": "/usr/local/bin", "volumeClaimName": "mine"}]}
    patches["0 plugins"] = {"plugins": {"ssh": [], "svc": []}}
    return patches


def flows_of_others(p):
    """Whatever bob patches in an administrator's privileged template, he gets no Job of it; neither without a patch."""
    p.ok("admin", "POST", flow_url("shared", "jobtemplates"), template("root", root_spec()))
    patches = {"": None, **fields_of_jobs(p), **{name: task_patch(*danger) for name, danger in DANGERS.items()}}
    allowed = 0
    for name, patch in patches.items():
        status, answer = p.call("bob", "POST", flow_url("shared", "jobflows"), flow("theft", "root", patch))
        fine, _ = p.call("admin", "POST", flow_url("shared", "jobflows?dryRun=All"), flow("fine", "root", patch))
        assert (status, fine) in ((403, 201), (422, 422)), (name, status, fine, answer)
        assert status == 422 or "bob, who wrote the JobFlow, may not create this Job" in answer["message"], (name, answer)
        allowed += fine == 201
    assert allowed > 50, allowed  # the others are no Jobs
    p.ok("admin", "POST", flow_url("shared", "jobflows"), flow("kept", "root"))
    for name, patch in patches.items():  # neither by changing one that is there
        body = {"spec": flow("kept", "root", patch)["spec"] | {"jobRetainPolicy": "delete"}}
        assert p.call("bob", "PATCH", flow_url("shared", "jobflows/kept"), body, type=MERGE)[0] in (403, 422), name


def flows_before_templates(p):
    """The template comes later: the Job is judged when it is made."""
    patches = {f"f{i}": patch for i, patch in enumerate([None, *fields_of_jobs(p).values()])}
    taken = [name for name, patch in patches.items() if p.call("bob", "POST", flow_url("shared", "jobflows"), flow(name, "late", patch))[0] == 201]
    assert len(taken) > 90, len(taken)
    p.ok("admin", "POST", flow_url("shared", "jobtemplates"), template("late", root_spec()))
    told = until("each is told why", lambda: len(t := {**p.events("shared", "FailedCreate"), **p.events("shared", "InvalidPatch")}) >= len(taken) and t)
    bad = [(n, told[n]) for n in taken if not re.search("may not create this Job|the Job is invalid|patch", told[n])]
    assert not bad, bad[:3]
    made = [j["metadata"]["name"] for j in p.ok("admin", "GET", batch("shared", "jobs"))["items"] if j["metadata"]["name"].endswith("-late")]
    assert not made, made
    for name in patches:
        p.call("admin", "DELETE", flow_url("shared", f"jobflows/{name}"))
    p.ok("admin", "DELETE", flow_url("shared", "jobtemplates/late"))


def flows_of_ones_own(p):
    """Every Job that comes of bob's own flows and templates he could have created himself."""
    p.ok("bob", "POST", flow_url("b", "jobtemplates"), template("own"))
    for name, danger in DANGERS.items():
        refused(p.call("bob", "POST", flow_url("b", "jobflows"), flow("bad", "own", task_patch(*danger))))
        refused(p.call("bob", "POST", flow_url("b", "jobtemplates"), template("bad", put(safe_spec(), *danger))))
        refused(p.call("bob", "POST", batch("b", "cronjobs"), cron("bad", put(safe_spec(), *danger))))
        refused(p.call("bob", "POST", batch("b", "jobs"), job("bad", put(safe_spec(), *danger))))
    taken = [f"g{i}" for i, patch in enumerate(fields_of_jobs(p).values())
             if p.call("bob", "POST", flow_url("b", "jobflows"), flow(f"g{i}", "own", patch))[0] == 201]
    assert len(taken) > 50, len(taken)
    def settled():
        made = {j["metadata"]["name"]: j for j in p.ok("admin", "GET", batch("b", "jobs"))["items"]}
        told = {**p.events("b", "FailedCreate"), **p.events("b", "InvalidPatch")}
        return made if all(f"{n}-own" in made or n in told for n in taken) else None
    made = until("each has its Job or is told why not", settled)
    assert len(made) > 40, len(made)
    for name, j in made.items():
        copy = {"apiVersion": j["apiVersion"], "kind": "Job", "metadata": {"name": f"{name}-again"}, "spec": j["spec"]}
        status, answer = p.call("bob", "POST", batch("b", "jobs?dryRun=All"), copy)
        assert status == 201, (name, answer)


def flows_of_two(p):
    """An administrator's flow on bob's template: what bob could not create himself is not made, now or when he changes it."""
    danger = task_patch(*DANGERS["privileged"])
    p.ok("bob", "POST", flow_url("shared", "jobtemplates"), template("bobs"))
    text = refused(p.call("admin", "POST", flow_url("shared", "jobflows"), flow("trap", "bobs", danger)))
    assert "bob, who wrote the JobTemplate, may not create this Job" in text, text
    p.ok("admin", "POST", flow_url("shared", "jobflows"), flow("trap", "later", danger))
    p.ok("bob", "POST", flow_url("shared", "jobtemplates"), template("later"))
    assert "bob, who wrote the JobTemplate" in until("it is told", lambda: p.events("shared", "FailedCreate").get("trap"))
    p.ok("admin", "POST", flow_url("shared", "jobflows"), flow("plain", "bobs"))
    until("without the patch it is made", lambda: p.call("admin", "GET", batch("shared", "jobs/plain-bobs"))[0] == 200)
    same(p.ok("admin", "GET", batch("shared", "jobs/plain-bobs"))["metadata"]["annotations"]["pumice.dev/creator"], "kubernetes-admin")
    p.ok("admin", "POST", flow_url("shared", "jobtemplates"), template("safe"))
    p.ok("bob", "POST", flow_url("shared", "jobflows"), flow("uses", "safe"))
    until("bob uses an administrator's that he could have written", lambda: p.call("bob", "GET", batch("shared", "jobs/uses-safe"))[0] == 200)


def authors(p):
    """Nobody writes the name of another into it."""
    key, forged = "pumice/author", json.dumps({"username": "root", "groups": ["system:masters"]})
    kinds = ((flow_url("b", "jobflows"), flow("x", "none")), (flow_url("b", "jobtemplates"), template("x")), (batch("b", "cronjobs"), cron("x")))
    for url, body in kinds:
        body["metadata"]["annotations"] = {key: forged}
        made = p.ok("bob", "POST", url, body)
        writes = [("PUT", {**made, "metadata": {**made["metadata"], "annotations": {key: forged}}}, "application/json"),
                  ("PATCH", {"metadata": {"annotations": {key: forged}}}, MERGE), ("PATCH", {"metadata": {"annotations": None}}, MERGE),
                  ("PATCH", [{"op": "add", "path": "/metadata/annotations", "value": {key: forged}}], "application/json-patch+json"),
                  ("PATCH", {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": "x", "annotations": {key: forged}}},
                   "application/apply-patch+yaml")]
        for method, change, media in writes:
            if method == "PUT":
                change["metadata"]["resourceVersion"] = p.ok("bob", "GET", f"{url}/x")["metadata"]["resourceVersion"]
            p.ok("bob", method, f"{url}/x?fieldManager=m&force=true" if "apply" in media else f"{url}/x", change, type=media)
            same(json.loads(p.ok("bob", "GET", f"{url}/x")["metadata"]["annotations"][key])["username"], "bob")
        p.ok("admin", "PATCH", f"{url}/x", {"metadata": {"labels": {"seen": "yes"}}}, type=MERGE)
        same(json.loads(p.ok("bob", "GET", f"{url}/x")["metadata"]["annotations"][key])["username"], "bob")  # a label is not the work


def rights_of_authors(p):
    """An author is judged by the rights that he has when the Job is made."""
    able = "jobs: [{users: [bob], runAs: any}]\n"
    may = lambda: p.call("bob", "POST", core("b", "pods?dryRun=All"), pod("x", root_spec()))[0] == 201  # noqa: E731
    p.reload(able, may)
    p.ok("bob", "POST", flow_url("b", "jobflows"), flow("then", "rich"))
    p.ok("bob", "POST", flow_url("b", "jobflows"), flow("now", "rich2"))
    p.ok("bob", "POST", flow_url("b", "jobtemplates"), template("rich", root_spec()))
    until("it is made", lambda: p.call("bob", "GET", batch("b", "jobs/then-rich"))[0] == 200)
    p.ok("bob", "POST", flow_url("b", "jobflows"), {**flow("now", "rich2"), "metadata": {"name": "waits"}})
    p.reload("", lambda: not may())
    p.ok("admin", "POST", flow_url("b", "jobtemplates"), template("rich2", root_spec()))
    until("it is not", lambda: {"now", "waits"} <= set(p.events("b", "FailedCreate")))
    same([p.call("admin", "GET", batch("b", f"jobs/{name}-rich2"))[0] for name in ("now", "waits")], [404, 404])
    minutely = lambda body: {**body, "spec": {**body["spec"], "schedule": "* * * * *"}}  # noqa: E731
    p.reload(able, may)
    p.ok("bob", "POST", batch("b", "cronjobs"), minutely(cron("rich", root_spec())))
    p.ok("bob", "POST", batch("b", "cronjobs"), minutely(cron("plain")))
    p.reload("", lambda: not may())
    jobs = lambda name: [j["metadata"]["name"] for j in p.ok("admin", "GET", batch("b", "jobs"))["items"]  # noqa: E731
                         if j["metadata"]["name"].startswith(name)]
    before = jobs("rich-")
    assert "bob, who wrote the CronJob" in until("the slot is refused", lambda: p.events("b", "FailedCreate").get("rich"), limit_s=120)
    until("the other one is not", lambda: jobs("plain-"), limit_s=120)
    same(jobs("rich-"), before)
    for name in ("rich", "plain"):
        p.ok("admin", "DELETE", batch("b", f"cronjobs/{name}"))


# ---- entering pods ----

STREAMS = ("exec?command=id&stdout=1", "attach?stdout=1", "portforward?ports=80", "proxy/x")
EPHEMERAL = {"spec": {"ephemeralContainers": [{"name": "e", "image": "i", "command": ["sh"], "securityContext": SAFE_CONTAINER}]}}
IMAGE = {"spec": {"containers": [{"name": "c", "image": "other"}]}}


def enters(p, who, namespace, name):
    """Statuses of all ways into a pod: 400 is no host to go to."""
    return {p.stream(who, core(namespace, f"pods/{name}/{path}"), method) for path in STREAMS for method in ("GET", "POST")}


def changes(p, who, namespace, name):
    url, media = core(namespace, f"pods/{name}"), "application/strategic-merge-patch+json"
    return {p.call(who, "PATCH", f"{url}?dryRun=All", IMAGE, type=media)[0],
            p.call(who, "PATCH", f"{url}/ephemeralcontainers?dryRun=All", EPHEMERAL, type=media)[0]}


def pods_of_others(p):
    """Whatever an administrator's pod has that bob's may not: he does not get into it, and changes nothing of what it runs."""
    for i, (name, danger) in enumerate(DANGERS.items()):
        p.ok("admin", "POST", core("shared", "pods"), pod(f"root-{i}", put(safe_spec(), *danger)))
        same((name, enters(p, "bob", "shared", f"root-{i}"), enters(p, "admin", "shared", f"root-{i}")), (name, {403}, {400}))
        same((name, changes(p, "bob", "shared", f"root-{i}") - {403}), (name, set()))
    p.ok("ann", "POST", core("shared", "pods"), pod("anns"))
    same((enters(p, "bob", "shared", "anns"), enters(p, "ann", "shared", "anns")), ({400}, {400}))
    same(enters(p, "bob", "a", "none"), {403})  # RBAC
    text = refused(p.call("bob", "POST", core("shared", "pods/root-0/exec?command=id")))
    assert 'User "bob" cannot create this pod' in text and "privileged" in text, text


def pods_as_a_setting(p):
    """exec: namespace is what Kubernetes does; changing a pod stays as it is."""
    p.reload("exec: namespace\n", lambda: enters(p, "bob", "shared", "root-0") == {400})
    same(changes(p, "bob", "shared", "root-0"), {403})
    p.reload("exec: strict\n", lambda: enters(p, "bob", "shared", "root-0") == {403})


def pods_of_a_user(p):
    """A pod that names no user is root's, whatever one that bob creates would be."""
    if os.geteuid() != 0:
        return
    p.ok("admin", "POST", core("shared", "pods"), pod("nameless", put(safe_spec(), "securityContext", {})))
    p.reload("jobs: [{users: [bob], runAs: {uid: 54321, gid: 54321}}]\n",
             lambda: p.call("bob", "POST", core("shared", "pods?dryRun=All"), pod("x"))[0] == 403)
    same((enters(p, "bob", "shared", "nameless"), changes(p, "bob", "shared", "nameless")), ({403}, {403}))
    p.ok("bob", "POST", core("shared", "pods"), pod("his", put(safe_spec(), "securityContext", {})))
    same((enters(p, "bob", "shared", "his"), enters(p, "ann", "shared", "his") <= {400, 403}), ({400}, True))
    p.reload("", lambda: p.call("bob", "POST", core("shared", "pods?dryRun=All"), pod("x"))[0] == 201)


def pods_of_plugins(p):
    """What plugins add to the pods of bob's jobs is within his rights too: he may enter them."""
    names = [x["name"] for x in pumice_json("plugins", "-o", "json")]
    more = {"pytorch": ["--master=t", "--wait-master-enabled=true", "--wait-master-image=other"]}
    spec = {k: v for k, v in safe_spec().items() if k != "nodeSelector"}  # those that fit nowhere get no pods
    assert len(names) > 5, names
    for name in names:
        status, answer = p.call("bob", "POST", batch("b", "jobs"), job(f"plug-{name}", spec, plugins={name: more.get(name, [])}))
        assert status in (201, 400, 422), (name, answer)  # some want tasks of other names
        if status == 201:
            url = core("b", f"pods?labelSelector=volcano.sh/job-name=plug-{name}")
            pods = until(f"{name} has its pod", lambda: [x["metadata"]["name"] for x in p.ok("bob", "GET", url)["items"]])
            assert 403 not in enters(p, "bob", "b", pods[0]), (name, p.ok("bob", "GET", url)["items"][0]["spec"])
        p.call("bob", "DELETE", batch("b", f"jobs/plug-{name}"))


# ---- tokens ----

def token_life(p):
    url = core("shared", "serviceaccounts/default/token")
    def life(seconds):
        return p.ok("ann", "POST", url, {"spec": {"expirationSeconds": seconds}})["spec"]["expirationSeconds"]
    same([life(s) for s in (600, 86400, 86401, 10**9)], [600, 86400, 86400, 86400])
    same([p.call("ann", "POST", url, {"spec": {"expirationSeconds": s}})[0] for s in (599, 2**32 + 1)], [422, 422])
    p.reload("tokens: {maxLife: 30m}\n", lambda: life(3600) == 1800)
    same(p.ok("ann", "POST", url, {})["spec"]["expirationSeconds"], 1800)  # the default is an hour
    p.reload("tokens: {maxLife: 720h}\n", lambda: life(10**9) == 720 * 3600)
    for wrong in ("1m", "x", "-1h", "9999999h", "7"):
        p.rules(f"tokens: {{maxLife: {wrong}}}\n")
        run = pumice("server", "--data-dir", p.server.data + "-none", "--access-config", p.access)
        assert run.returncode != 0 and "tokens.maxLife" in run.stderr, (wrong, run.stderr)
    p.reload("", lambda: life(10**9) == 86400)


# ---- the matrix ----

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies"
BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/{}/commands"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
STRATEGIC = "application/strategic-merge-patch+json"
LABEL = {"metadata": {"labels": {"x": "y"}}}


def service(name, **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"x": "y"}, **spec}}


def claim(name, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def furnish(p):
    """What there is to be tried on, the same in both namespaces."""
    p.address = {}
    for n in ("a", "shared"):
        mine = pod("m-pod")
        mine["metadata"]["labels"] = {"m": "m"}
        for path, body in ((core(n, "pods"), mine), (batch(n, "jobs"), job("m-job")), (batch(n, "cronjobs"), cron("m-cron")),
                           (flow_url(n, "jobtemplates"), template("m-template")), (flow_url(n, "jobflows"), flow("m-flow", "none")),
                           (core(n, "persistentvolumeclaims"), claim("m-claim")), (core(n, "secrets"), {"metadata": {"name": "m-secret"}}),
                           (core(n, "configmaps"), {"metadata": {"name": "m-map"}}), (core(n, "serviceaccounts"), {"metadata": {"name": "m-account"}})):
            p.ok("ann", "POST", path, body)
        for path, body in ((core(n, "pods"), pod("m-root", root_spec())), (batch(n, "jobs"), job("m-root", root_spec())),
                           (flow_url(n, "jobtemplates"), template("m-root", root_spec()))):
            p.ok("admin", "POST", path, body)
        p.address[n] = p.ok("ann", "POST", core(n, "services"), service("m-service", type="NodePort"))["spec"]


def tries(p, *rows, **headers):
    """Statuses of bob's requests: method, path, and a body where there is one; patches by their type."""
    found = []
    for method, path, *body in rows:
        kw = {"type": body[1]} if len(body) > 1 else {}
        dry = method != "GET" and not path.endswith(("/token", "reviews"))
        status, answer = p.call("bob", method, path + ("?dryRun=All" if dry else ""), *body[:1], **kw, **headers)
        found.append((status, method, path, answer.get("message") if isinstance(answer, dict) else answer))
    return found


def entered(p, n, name):
    return [(s, "enter", name, "") for s in enters(p, "bob", n, name)]


ON_OTHERS = {
    "read pods, jobs, flows, events, ConfigMaps, claims": lambda p, n: tries(p, *(("GET", u) for u in (
        core(n, "pods"), core(n, "pods/m-pod"), core(n, "pods?watch=1&timeoutSeconds=1"), batch(n, "jobs"), batch(n, "cronjobs"), flow_url(n, "jobflows"),
        flow_url(n, "jobtemplates"), core(n, "events"), core(n, "configmaps/m-map"), core(n, "persistentvolumeclaims"), core(n, "services"),
        core(n, "endpoints"), GROUPS.format(n), f"/apis/metrics.k8s.io/v1beta1/namespaces/{n}/pods"))),
    "read logs": lambda p, n: tries(p, ("GET", core(n, "pods/m-pod/log")), ("GET", core(n, "pods/m-root/log"))),
    "read Secrets": lambda p, n: tries(p, ("GET", core(n, "secrets")), ("GET", core(n, "secrets/m-secret"))),
    "exec, attach, port-forward, proxy in a pod that the tenant could create": lambda p, n: entered(p, n, "m-pod"),
    "exec, attach, port-forward, proxy in a pod with more rights": lambda p, n: entered(p, n, "m-root"),
    "change or delete pods, jobs, flows, templates, schedules": lambda p, n: tries(p, *(x for u in (
        core(n, "pods/m-pod"), batch(n, "jobs/m-job"), batch(n, "cronjobs/m-cron"), flow_url(n, "jobflows/m-flow"), flow_url(n, "jobtemplates/m-template"))
        for x in (("PATCH", u, LABEL, MERGE), ("DELETE", u)))),
    "change what a pod, job or template with more rights runs": lambda p, n: tries(p, ("PATCH", core(n, "pods/m-root"), IMAGE, STRATEGIC),
        ("PATCH", core(n, "pods/m-root/ephemeralcontainers"), EPHEMERAL, STRATEGIC),
        ("PATCH", batch(n, "jobs/m-root"), [{"op": "replace", "path": "/spec/tasks/0/replicas", "value": 2}], "application/json-patch+json"),
        ("PATCH", flow_url(n, "jobtemplates/m-root"), {"spec": {"maxRetry": 7}}, MERGE)),
    "delete a pod, job or template with more rights": lambda p, n: tries(p, *(("DELETE", u) for u in (
        core(n, "pods/m-root"), batch(n, "jobs/m-root"), flow_url(n, "jobtemplates/m-root")))),
    "create a Job from a template with more rights": lambda p, n: tries(p, ("POST", flow_url(n, "jobflows"), flow("m-x", "m-root"))),
    "mount claims and Secrets": lambda p, n: tries(p, *(("POST", core(n, "pods"), pod("m-x", safe_spec(volumes=[{"name": "v", **v}]))) for v in (
        {"persistentVolumeClaim": {"claimName": "m-claim"}}, {"secret": {"secretName": "m-secret"}}))),
    "run as a ServiceAccount, get its token, impersonate it": lambda p, n: tries(p, ("POST", core(n, "pods"), pod("m-x", safe_spec(serviceAccountName="m-account"))),
        ("POST", core(n, "serviceaccounts/m-account/token"), {})) + tries(p, ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}),
        Impersonate_User=f"system:serviceaccount:{n}:m-account"),
    "create Services, NetworkPolicies, budgets, Leases, PodGroups": lambda p, n: tries(p, ("POST", core(n, "services"), service("m-x")),
        ("POST", POLICIES.format(n), {"metadata": {"name": "m-x"}, "spec": {"podSelector": {}}}),
        ("POST", BUDGETS.format(n), {"metadata": {"name": "m-x"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"x": "y"}}}}),
        ("POST", LEASES.format(n), {"metadata": {"name": "m-x"}}), ("POST", GROUPS.format(n), {"metadata": {"name": "m-x"}, "spec": {"minMember": 1}})),
    "send Commands to jobs, evict pods, write Events": lambda p, n: tries(p, ("POST", COMMANDS.format(n), {"metadata": {"name": "m-x"}, "action": "AbortJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "m-job", "uid": "u"}}),
        ("POST", core(n, "pods/m-pod/eviction"), {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "m-pod"}}),
        ("POST", core(n, "events"), {"metadata": {"name": "m-x"}, "involvedObject": {"namespace": n, "kind": "Pod", "name": "m-pod"}, "reason": "X", "message": "x"})),
    "write Endpoints, EndpointSlices, bindings, statuses": lambda p, n: tries(p, ("POST", core(n, "endpoints"), {"metadata": {"name": "m-x"}}),
        ("POST", SLICES.format(n), {"metadata": {"name": "m-x"}, "addressType": "IPv4", "endpoints": []}),
        ("POST", core(n, "pods/m-pod/binding"), {"target": {"kind": "Node", "name": "x"}}), ("POST", core(n, "bindings"), {"metadata": {"name": "m-pod"}}),
        ("PATCH", core(n, "pods/m-pod/status"), {"status": {"phase": "Failed"}}, MERGE), ("PATCH", batch(n, "jobs/m-job/status"), {"status": {}}, MERGE),
        ("PATCH", flow_url(n, "jobflows/m-flow/status"), {"status": {}}, MERGE), ("PATCH", core(n, "persistentvolumeclaims/m-claim/status"), {"status": {}}, MERGE)),
    "write roles, RoleBindings, quotas, limits": lambda p, n: tries(p, ("POST", f"{RBAC}/namespaces/{n}/roles", {"metadata": {"name": "m-x"}, "rules": []}),
        ("POST", f"{RBAC}/namespaces/{n}/rolebindings", {"metadata": {"name": "m-x"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
                                                         "subjects": [{"kind": "User", "name": "bob"}]}),
        ("POST", core(n, "resourcequotas"), {"metadata": {"name": "m-x"}, "spec": {}}), ("POST", core(n, "limitranges"), {"metadata": {"name": "m-x"}, "spec": {"limits": []}})),
}

CLUSTER = ("/api/v1/nodes", "/api/v1/persistentvolumes", "/api/v1/namespaces", "/apis/storage.k8s.io/v1/storageclasses",
           "/apis/scheduling.volcano.sh/v1beta1/queues", "/apis/scheduling.k8s.io/v1/priorityclasses", "/apis/topology.volcano.sh/v1alpha1/hypernodes",
           "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings",
           "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations")
ON_THE_MACHINE = {
    "read or write nodes, PersistentVolumes, namespaces, StorageClasses, queues, PriorityClasses, HyperNodes, CRDs, cluster roles, webhooks":
        lambda p: tries(p, *(x for u in CLUSTER for x in (("GET", u), ("POST", u, {"metadata": {"name": "m-x"}}), ("DELETE", f"{u}/default")))),
    "a PersistentVolume with a hostPath or with the claimRef of another user": lambda p: tries(p, *(("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "m-x"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **more}}) for more in ({"hostPath": {"path": "/"}}, {"claimRef": {"namespace": "a", "name": "m-claim"}}))),
    "list or watch across namespaces": lambda p: tries(p, *(("GET", u) for u in ("/api/v1/pods", "/api/v1/secrets", "/api/v1/events", "/api/v1/pods?watch=1",
        "/apis/batch.volcano.sh/v1alpha1/jobs", "/apis/flow.volcano.sh/v1alpha1/jobflows"))),
    "impersonate users, groups, or accounts of other namespaces": lambda p: [x for who in (("ann",), ("kubernetes-admin", "system:masters"),
        ("bob", "system:masters"), ("system:serviceaccount:a:default",), ("system:anonymous",)) for x in tries(p, ("GET", core("b", "pods")), Impersonate_User=who[0],
        **({"Impersonate_Group": who[1]} if len(who) > 1 else {}))],
    "metrics, access reviews of other users, explanations of others' jobs, the node's API": lambda p: tries(p, ("GET", "/metrics"), ("GET", "/ui/explain/a/m-job"), ("GET", "/api/v1/nodes/x/proxy/pods"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}), ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"user": "ann"}}),
        ("GET", "/apis/metrics.k8s.io/v1beta1/nodes")),
    "objects of kube-system and the Leases of nodes": lambda p: tries(p, ("GET", core("kube-system", "secrets")), ("GET", core("kube-system", "configmaps")),
        ("GET", LEASES.format("kube-node-lease")), ("DELETE", LEASES.format("kube-node-lease") + "/x"), ("POST", core("kube-system", "pods"), pod("m-x"))),
    "the cluster address or node port of another Service": lambda p: tries(p, *(("POST", core("b", "services"), service("m-x", clusterIP=p.address[n]["clusterIP"])) for n in ("a", "shared")),
        *(("POST", core("b", "services"), service("m-x", type="NodePort", ports=[{"port": 80, "nodePort": p.address[n]["ports"][0]["nodePort"]}])) for n in ("a", "shared"))),
    "Events about objects of another namespace": lambda p: tries(p, ("POST", core("b", "events"), {"metadata": {"name": "m-x"}, "involvedObject": {
        "namespace": "a", "kind": "Pod", "name": "m-pod"}, "reason": "X", "message": "x"})),
    "Commands to queues": lambda p: tries(p, ("POST", COMMANDS.format("b"), {"metadata": {"name": "m-x"}, "action": "CloseQueue",
        "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "default", "uid": "u"}})),
    "pods with the host's paths, network, processes, ports, root or capabilities": lambda p: tries(p, *(("POST", core("b", "pods"), pod("m-x", put(safe_spec(), *d)))
        for d in DANGERS.values())),
    "jobs in any open queue": lambda p: tries(p, ("POST", batch("b", "jobs"), job("m-x", queue="others"))),
    "pods of any PriorityClass": lambda p: tries(p, ("POST", core("b", "pods"), pod("m-x", safe_spec(priorityClassName="m-high")))),
    "pods that name their node and so bypass the queues": lambda p: tries(p, ("POST", core("b", "pods"), pod("m-x", safe_spec(nodeName="m-node")))),
    "ExternalName Services, and externalIPs (which have no effect here)": lambda p: tries(p, ("POST", core("b", "services"), service("m-x", type="ExternalName", externalName="m-service.a.svc")),
        ("POST", core("b", "services"), service("m-x", externalIPs=["10.0.0.1"]))),
}


BY_RULES = ("the cluster address or node port of another Service", "Events about objects of another namespace",
            "pods with the host's paths, network, processes, ports, root or capabilities")


def verdict(found, is_rule=False):
    """Of all tries; 'mixed' is a defect of the row. By a rule: 422 is what was wanted, and no mistake of ours."""
    words = {"refused" if status == 403 or (status == 422 and is_rule) else "allowed" if status in (200, 201, 400) else str(status) for status, *_ in found}
    return words.pop() if len(words) == 1 else f"mixed: {[f for f in found if f[0] != 403]}"


def tables():
    """Rows of the page: what, and the words of its columns, each to its first stop."""
    with open(PAGE) as f:
        part = f.read().split("## What tenants can do to each other")[1].split("\n## ")[0]
    rows = {}
    for line in part.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 1 and re.match("refused|allowed", cells[1]):
            rows[cells[0]] = [re.match("refused|allowed", c)[0] for c in cells[1:]]
    return rows


def matrix(p):
    """The page says what the server does, row for row."""
    furnish(p)
    p.ok("admin", "POST", "/apis/scheduling.volcano.sh/v1beta1/queues", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "others"}, "spec": {}})
    p.ok("admin", "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "m-high"}, "value": 1000000})
    found = {what: [verdict(f(p, "a")), verdict(f(p, "shared"))] for what, f in ON_OTHERS.items()}
    found.update({what: [verdict(f(p), what in BY_RULES)] for what, f in ON_THE_MACHINE.items()})
    told = tables()
    wrong = [(what, found.get(what), told.get(what)) for what in {**found, **told} if found.get(what) != told.get(what)]
    assert not wrong, "\n".join(map(str, wrong))


CASES = (flows_of_others, flows_before_templates, flows_of_ones_own, flows_of_two, authors, rights_of_authors, pods_of_others, pods_as_a_setting,
         pods_of_a_user, pods_of_plugins, token_life, matrix)


def main():
    suite = Suite()
    wanted = sys.argv[1:]
    p = server_or_skip(Place)
    try:
        for case in CASES:
            if not wanted or case.__name__ in wanted:
                suite.case(case.__name__, lambda: case(p))
        same(p.server.process.poll(), None)
    finally:
        p.end()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
