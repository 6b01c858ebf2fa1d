#!/usr/bin/env python3
"""`pumice run --restricted`: the Pod Security Standard "restricted", field by field; and the notices of a run without it."""
import copy
import json
import os
import re
import sys
import tempfile

from harness import Suite, pumice
from netfilter import has_nftables
from runs import job, run, same, sh, task

CONTEXT = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
OWN = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}
SPEC = "spec.tasks[0].template.spec"
MAIN, INIT = "containers[0]", "initContainers[0]"
TYPE = "seccompProfile.type"


def good(name="j"):
    main, first = ({"name": n, "image": "i", "securityContext": copy.deepcopy(OWN)} for n in ("main", "first"))
    spec = {"securityContext": CONTEXT, "containers": [main], "initContainers": [first],
            "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "s"}},
                        {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "d", "image": {"reference": "r"}}]}
    return copy.deepcopy(job(name, {"name": "w", "replicas": 1, "template": {"spec": spec}}, plugins={"svc": [], "ssh": []}))


MISSING = object()


def changed(path, value):
    """The good job with one field of its pod set; '/'-separated, numbers are elements."""
    doc = good()
    at = doc["spec"]["tasks"][0]["template"]
    *above, last = path.split("/")
    for key in above:
        at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
    if value is MISSING:
        del at[last]
    elif isinstance(at, list):
        at[int(last):int(last) + 1] = [value]
    else:
        at[last] = value
    return doc


def of_all(path, value, field, says):
    """The same in a main and in an init container."""
    return [(f"spec/{kind}/0/{path}", value, f"{SPEC}.{kind}[0].{field}", says) for kind in ("containers", "initContainers")]


# What is set, the value, the path of the one error, and a part of its sentence. None: it is fine.
CASES = [
    ("spec/hostNetwork", True, f"{SPEC}.hostNetwork", "must not be true"),
    ("spec/hostNetwork", False, None, None),
    ("spec/hostPID", True, f"{SPEC}.hostPID", "must not be true"),
    ("spec/hostIPC", True, f"{SPEC}.hostIPC", "must not be true"),
    *of_all("securityContext/allowPrivilegeEscalation", MISSING, "securityContext.allowPrivilegeEscalation",
            'add "allowPrivilegeEscalation: false"'),
    *of_all("securityContext/allowPrivilegeEscalation", True, "securityContext.allowPrivilegeEscalation", "must be false"),
    *of_all("securityContext/capabilities/drop", MISSING, "securityContext.capabilities.drop", 'add "drop: [ALL]"'),
    *of_all("securityContext/capabilities/drop", ["CHOWN"], "securityContext.capabilities.drop", "must have ALL"),
    *of_all("securityContext/capabilities/add", ["NET_BIND_SERVICE", "SYS_ADMIN"], "securityContext.capabilities.add[1]", "only NET_BIND_SERVICE"),
    *of_all("securityContext/runAsNonRoot", False, "securityContext.runAsNonRoot", "must not be false"),
    *of_all("securityContext/runAsUser", 0, "securityContext.runAsUser", "must not be 0"),
    *of_all("securityContext/seccompProfile", {"type": "Unconfined"}, f"securityContext.{TYPE}", "RuntimeDefault or Localhost"),
    *of_all("securityContext/appArmorProfile", {"type": "Unconfined"}, "securityContext.appArmorProfile.type", "RuntimeDefault or Localhost"),
    *of_all("securityContext/seLinuxOptions", {"type": "spc_t"}, "securityContext.seLinuxOptions.type", "container_t"),
    *of_all("securityContext/seLinuxOptions", {"user": "u"}, "securityContext.seLinuxOptions.user", "must not be set"),
    *of_all("ports", [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}], "ports[1].hostPort", "must not be set"),
    ("spec/containers/0/livenessProbe", {"httpGet": {"port": 80, "host": "10.0.0.1"}}, f"{SPEC}.{MAIN}.livenessProbe.httpGet.host", "must not be set"),
    ("spec/containers/0/lifecycle", {"preStop": {"httpGet": {"port": 80, "host": "h"}}}, f"{SPEC}.{MAIN}.lifecycle.preStop.httpGet.host", "must not be set"),
    ("spec/containers/0/livenessProbe", {"httpGet": {"port": 80}}, None, None),
    ("spec/securityContext/runAsUser", 0, f"{SPEC}.securityContext.runAsUser", "must not be 0"),
    ("spec/securityContext/runAsNonRoot", MISSING, f"{SPEC}.securityContext.runAsNonRoot", 'add "runAsNonRoot: true"'),
    ("spec/securityContext/runAsNonRoot", False, f"{SPEC}.securityContext.runAsNonRoot", "must not be false"),
    ("spec/securityContext/seccompProfile", MISSING, f"{SPEC}.securityContext.{TYPE}", 'add "seccompProfile: {type: RuntimeDefault}"'),
    ("spec/securityContext/seccompProfile", {"type": "Unconfined"}, f"{SPEC}.securityContext.{TYPE}", "RuntimeDefault or Localhost"),
    ("spec/securityContext/seccompProfile", {"type": "Localhost", "localhostProfile": "x"}, None, None),
    ("spec/securityContext/sysctls", [{"name": "kernel.msgmax", "value": "1"}], f"{SPEC}.securityContext.sysctls[0].name", "safe"),
    ("spec/securityContext/sysctls", [{"name": "net.ipv4.tcp_rmem", "value": "1"}], None, None),
    ("spec/securityContext/windowsOptions", {"hostProcess": True}, f"{SPEC}.securityContext.windowsOptions.hostProcess", "must not be true"),
    ("spec/volumes/0", {"name": "a", "hostPath": {"path": "/"}}, f"{SPEC}.volumes[0].hostPath", "directory of the machine"),
    ("spec/volumes/1", {"name": "b", "nfs": {"server": "s", "path": "/"}}, f"{SPEC}.volumes[1].nfs", "must not be used"),
    ("metadata", {"annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}},
     "spec.tasks[0].template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]", "runtime/default"),
]


def errors_of(docs):
    """Errors of each document, all in one run of the program, which must change nothing."""
    with tempfile.TemporaryDirectory() as d:
        files = []
        for i, doc in enumerate(docs):
            doc["metadata"]["name"] = f"j{i}"
            files.append(os.path.join(d, f"{i}.json"))
            with open(files[-1], "w") as f:
                json.dump(doc, f)
        out = pumice("run", "--restricted", "--dry-run", *files)
    found = {}
    for line in out.stderr.splitlines():
        m = re.match(r".*/(\d+)\.json:(?:\d+:\d+:)? error: (.*)$", line)
        if m:
            found.setdefault(int(m.group(1)), []).append(m.group(2))
    return [found.get(i, []) for i in range(len(docs))], out


def the_good_one_is_taken():
    errors, out = errors_of([good()])
    same((errors, out.returncode), ([[]], 0))


def every_field():
    errors, out = errors_of([changed(path, value) for path, value, _, _ in CASES])
    wrong = []
    for (path, value, where, says), got in zip(CASES, errors):
        if len(got) != (1 if where else 0) or (where and not (got[0].startswith(where + ": ") and says in got[0] and "restricted" in got[0])):
            wrong.append(f"{path} = {value!r}: {got}")
    assert not wrong, "\n".join(wrong)
    same((out.returncode, out.stdout), (1, ""))


def all_at_once():
    """A plain job: each missing line is told, also for the container of a plugin, and for a pod of its own."""
    plain = job("j", task("master", sh("true")), task("worker", sh("true")), plugins={"pytorch": ["--wait-master-enabled"]})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"hostPID": True, "containers": [{"name": "c", "image": "i"}]}}
    (of_job, of_pod), out = errors_of([plain, pod])
    for want in (f"{SPEC}.securityContext.runAsNonRoot: must be true", f"{SPEC}.securityContext.{TYPE}: must be",
                 f"{SPEC}.{MAIN}.securityContext.allowPrivilegeEscalation: must be false", f"{SPEC}.{MAIN}.securityContext.capabilities.drop: must",
                 "spec.tasks[1].template.spec.initContainers[0].securityContext.allowPrivilegeEscalation: must be false"):
        same((want, sum(e.startswith(want) for e in of_job)), (want, 1))
    privileged, _ = errors_of([changed(f"spec/{kind}/0/securityContext", {"privileged": True}) for kind in ("containers", "initContainers")])
    for kind, errors in zip((MAIN, INIT), privileged):
        same(sum(e.startswith(f"{SPEC}.{kind}.securityContext.privileged: must not be true") for e in errors), 1)
    unmasked = changed("spec/containers/0/securityContext/procMount", "Unmasked")  # which needs users of its own, and is refused even so
    unmasked["spec"]["tasks"][0]["template"]["spec"]["hostUsers"] = False
    same([e.split(" (")[0] for e in errors_of([unmasked])[0][0]], [f"{SPEC}.{MAIN}.securityContext.procMount: must be Default"])
    same(sum(e.startswith("spec.hostPID: must not be true") for e in of_pod), 1)
    same(out.returncode, 1)


def dangers_are_told_once():
    """One notice for each kind, however many pods and fields ask for it; nothing for what only lacks a line."""
    fields = {"securityContext": {"privileged": True, "capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}}}
    pod = {"hostPID": True, "hostIPC": True, "hostNetwork": True, "securityContext": {"seccompProfile": {"type": "Unconfined"}},
           "volumes": [{"name": "a", "hostPath": {"path": "/tmp"}}, {"name": "b", "hostPath": {"path": "/usr"}}]}
    r = run(job("j", task("a", ["/bin/true"], replicas=2, pod=pod, **fields), task("b", ["/bin/true"], pod={"hostPID": True})))
    notices = [e["text"] for e in r.of("notice") if "--restricted" in e["text"]]
    same(len(notices), 7)
    for part in ("containers[0].securityContext.privileged: ", "spec.hostPID (and 1 more): ", "spec.hostIPC: ", "spec.hostNetwork: ",
                 "capabilities.add[0] (and 1 more): ", "seccompProfile.type: ", "volumes[0].hostPath (and 1 more): "):
        same((part, sum(part in n for n in notices)), (part, 1))
    r = run(job("j", task("a", ["/bin/true"], replicas=2))).done()
    same([e["text"] for e in r.of("notice") if "--restricted" in e["text"]], [])


def main():
    suite = Suite()
    for f in (the_good_one_is_taken, every_field, all_at_once):
        suite.case(f.__name__, f)
    if os.geteuid() == 0 and has_nftables():
        suite.case("dangers_are_told_once", dangers_are_told_once)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
