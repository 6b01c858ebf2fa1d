#!/usr/bin/env python3
"""Bad input: one clear message for each problem, exit status 1, never a crash."""
import copy
import json
import os
import re
import sys
import tempfile

from harness import Suite, pumice

HERE = os.path.dirname(os.path.abspath(__file__))
ERROR = re.compile(r"^(.+?):(\d+:\d+:)? error: (.*)$", re.M)


def errors_of(run):
    return [m.group(3) for m in ERROR.finditer(run.stderr)]


def run_on(text, command="validate", name="job.yaml", *more):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, name)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return pumice(command, *more, path)


def refused(run, *parts, count=1):
    assert run.returncode == 1, f"status {run.returncode}: {run.stderr[:500]}"
    errors = errors_of(run)
    assert len(errors) == count, f"want {count} errors, got {len(errors)}: {run.stderr[:1000]}"
    for part in parts:
        assert part in run.stderr, f"{part!r} is not in {run.stderr[:1000]!r}"
    assert not run.stdout or "is fine" in run.stdout, run.stdout[:200]


def minimal(**spec):
    task = {"name": "t", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
            "spec": {"tasks": [task], **spec}}


# ---- files ----

def empty_file():
    refused(run_on(""), "empty")
    refused(run_on(" \n\n"), "empty")
    refused(run_on("# only a comment\n---\n---\n"), "no object")


def directory():
    with tempfile.TemporaryDirectory() as d:
        refused(pumice("validate", d), "directory")
        refused(pumice("render", d), "directory")


def no_metadata():
    for text in (json.dumps({**minimal(), "metadata": None}), json.dumps({k: v for k, v in minimal().items() if k != "metadata"})):
        refused(run_on(text), "metadata.name: is required")


def too_many_to_print():
    """Not all are printed, but all are counted, and nothing is left out silently."""
    refused(run_on(json.dumps(minimal(plugins={f"p{i}": [] for i in range(1234)}))), "and 234 more errors", "1234 errors",
            count=1000)


def terminal_escapes_are_harmless():
    job = minimal(plugins={"p\x1b[1m": [], "ssh": ["--x\x1b]0;t\x07=3", "\x9b5m"]}, **{"min\x1bAvailable": 3})
    job["metadata"]["labels"] = {"a\x1bb": "c"}
    job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["image"] = "i\x1b[31m\nsecond line"
    run = run_on(json.dumps(job))
    same_text = run.stderr.replace("\n", "")
    assert same_text.isprintable(), repr(run.stderr)
    assert "\\x1b" in run.stderr, run.stderr
    del job["spec"]["plugins"], job["metadata"]["labels"]
    for form in ("tree", "summary"):
        run = pumice("render", "-o", form, "--explain", "-", stdin=json.dumps(job))
        assert run.stdout.replace("\n", "").isprintable(), repr(run.stdout)
        assert "\nsecond" not in run.stdout, run.stdout


def arguments_of_wrong_types():
    """One bad plugin does not hide the others."""
    refused(run_on(json.dumps(minimal(plugins={"svc": [1, None], "ssh": "x", "env": {}, "nope": 3}))), "spec.plugins.svc[0]",
            "spec.plugins.svc[1]", "spec.plugins.ssh: must be a list", "spec.plugins.env: must be a list", "spec.plugins.nope", count=6)


def volume_of_a_plugin_is_taken():
    job = minimal(plugins={"svc": [], "ssh": ["--ssh-key-file-path=/keys"]})
    spec = job["spec"]["tasks"][0]["template"]["spec"]
    spec["volumes"] = [{"name": "j-svc", "emptyDir": {}}, {"name": "mine", "emptyDir": {}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "mine", "mountPath": p} for p in ("/keys/", "/etc/volcano", "/data")]
    run = run_on(json.dumps(job))
    refused(run, "volumes[0].name: plugin svc adds a volume of this name", "volumeMounts[0].mountPath: plugin ssh uses",
            "volumeMounts[1].mountPath: plugin svc uses")
    same_count = run.stderr.count("warning:")
    assert same_count == 2, run.stderr


def port_of_the_node_is_said_once():
    job = minimal(plugins={"mpi": ["--master=t"]})
    job["spec"]["tasks"][0]["template"]["spec"]["hostNetwork"] = True
    run = run_on(json.dumps(job))
    assert run.returncode == 0 and run.stderr.count("port 22") == 1, run.stderr


def missing_file():
    refused(pumice("render", "/no/such/file.yaml"), "/no/such/file.yaml", "No such file")


def binary_data():
    refused(run_on(bytes(range(256)) * 64))
    refused(run_on(b"\x7fELF\x02\x01\x01" + b"\0" * 500))
    refused(run_on("a: b\n".encode("utf-16")))
    with open(sys.executable, "rb") as f:
        refused(run_on(f.read(200000)))


def huge_file():
    with tempfile.NamedTemporaryFile(suffix=".yaml") as f:
        f.truncate(100 * 1024 * 1024)
        refused(pumice("validate", f.name), "larger than 64 MiB")
        refused(pumice("render", f.name), "larger than 64 MiB")


def huge_standard_input():
    with open("/dev/zero", "rb") as zero:
        import subprocess
        from harness import PUMICE
        head = subprocess.Popen(["head", "-c", "100M"], stdin=zero, stdout=subprocess.PIPE)
        run = subprocess.run([PUMICE, "validate", "-"], stdin=head.stdout, capture_output=True, text=True)
        head.stdout.close()
        head.wait()
    refused(run, "larger than 64 MiB", "standard input")


def deep_nesting():
    for text in ("[" * 100000, "{a: " * 100000, "- " * 100000, "[" * 100000 + "]" * 100000,
                 '{"a":' * 100000 + "1" + "}" * 100000):
        refused(run_on(text))
        refused(run_on(text, name="job.json"))


def billion_laughs():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join(['*a%d' % (i - 1)] * 10)}]" for i in range(1, 12)]
    refused(run_on("\n".join(lines)))


def not_an_object():
    refused(run_on("just text\n"), "mapping")
    refused(run_on("[1, 2]\n"), "mapping")
    refused(run_on("name: x\n"), "apiVersion")
    refused(run_on("apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n"), "batch.volcano.sh/v1alpha1")


def every_syntax_error_names_its_place():
    for text, place in (("a: b\n\tc: d\n", "2:1"), ("a: [1, 2\nb: 3\n", "2:2"), ("a: 'x\n", "2:1"), ("x: *nobody\n", "1:4")):
        refused(run_on(text), f"job.yaml:{place}: error: ")
    refused(run_on('{"a": 1,}', name="job.json"), "job.json:1:9: error: ")


def two_jobs_of_one_name():
    text = json.dumps(minimal())
    refused(run_on(text + "\n---\n" + text + "\n"), '"j"', "already")
    with tempfile.TemporaryDirectory() as d:
        for name in "ab":
            with open(os.path.join(d, name), "w") as f:
                f.write(text)
        refused(pumice("render", os.path.join(d, "a"), os.path.join(d, "b")), "already")


# ---- fields ----

FULL = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "full", "namespace": "team", "labels": {"a": "b"}, "annotations": {"c": "d"},
                 "finalizers": ["example.com/x"]},
    "spec": {
        "schedulerName": "volcano", "minAvailable": 2, "queue": "q", "maxRetry": 3, "ttlSecondsAfterFinished": 60,
        "priorityClassName": "high", "minSuccess": 1, "runningEstimate": "10m",
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        "volumes": [{"mountPath": "/data", "volumeClaimName": "claim"}],
        "policies": [{"event": "PodFailed", "action": "RestartJob", "timeout": "5s"},
                     {"exitCode": 3, "action": "AbortJob"}, {"events": ["PodEvicted"], "action": "RestartJob"}],
        "plugins": {"env": [], "svc": ["--publish-not-ready-addresses"], "ssh": []},
        "tasks": [
            {"name": "a", "replicas": 4, "minAvailable": 2, "topologyPolicy": "best-effort", "maxRetry": 2,
             "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1},
             "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
             "template": {
                 "metadata": {"labels": {"x": "y"}, "annotations": {"z": "w"}},
                 "spec": {
                     "restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "hostNetwork": False,
                     "nodeSelector": {"disk": "ssd"}, "serviceAccountName": "default",
                     "terminationGracePeriodSeconds": 30, "activeDeadlineSeconds": 600,
                     "imagePullSecrets": [{"name": "pull"}],
                     "securityContext": {"runAsUser": 1000, "fsGroup": 1000, "runAsNonRoot": True},
                     "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
                     "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                         "nodeSelectorTerms": [{"matchExpressions": [
                             {"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
                     "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
                                 {"name": "cfg", "configMap": {"name": "c", "defaultMode": 420}}],
                     "initContainers": [{"name": "init", "image": "busybox", "resources": {"limits": {"cpu": 1}}}],
                     "containers": [{
                         "name": "main", "image": "app:1", "imagePullPolicy": "IfNotPresent",
                         "command": ["run"], "args": ["--fast"], "workingDir": "/w", "stdin": False, "tty": False,
                         "env": [{"name": "A", "value": "1"},
                                 {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                         "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
                         "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2"}},
                         "volumeMounts": [{"name": "tmp", "mountPath": "/tmp", "readOnly": False}],
                         "livenessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
                                           "periodSeconds": 10},
                         "lifecycle": {"preStop": {"exec": {"command": ["stop"]}}},
                         "securityContext": {"privileged": False, "capabilities": {"add": ["NET_ADMIN"]}},
                     }],
                 }}},
            {"name": "b", "replicas": 1, "dependsOn": {"name": ["a"], "iteration": "all"},
             "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
        ],
    },
}

# Quantities and ports may be a number or a text; a number is no mistake there.
NUMBER_OR_TEXT = re.compile(r"(resources\.(requests|limits)\.|sizeLimit|httpGet\.port)")


def walk(node, path=""):
    """(parent, key, path as the program writes it) of every value."""
    if isinstance(node, dict):
        for key, value in node.items():
            plain = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            where = f"{path}.{key}" if plain and path else key if plain else f"{path}[{key}]"
            yield node, key, where
            yield from walk(value, where)
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield node, i, f"{path}[{i}]"
            yield from walk(value, f"{path}[{i}]")


def wrong_values(value, path):
    if isinstance(value, bool):
        return [{"x": 1}, [1], "text", 7]
    if isinstance(value, int):
        return [{"x": 1}, [1], True] + ([] if "resources" in path else [1.5]) + ([] if NUMBER_OR_TEXT.search(path) else ["text"])
    if isinstance(value, str):
        return [{"x": 1}, [1], True] + ([] if NUMBER_OR_TEXT.search(path) else [7])
    if isinstance(value, list):
        return [{"x": 1}, "text", 7, True]
    return [[1], "text", 7, True]


def full_job_is_fine():
    run = run_on(json.dumps(FULL), name="job.json")
    assert run.returncode == 0 and not run.stderr, run.stderr


def wrong_type_in_every_field(cases):
    """One document for each case, all in one run of the program; each must give exactly one error, at its path."""
    docs = []
    for index, (path, value, doc) in enumerate(cases):
        if path != "metadata.name" and isinstance(doc.get("metadata"), dict):
            doc["metadata"]["name"] = f"full-{index}"
        docs.append(json.dumps(doc))
    with tempfile.TemporaryDirectory() as d:
        files = []
        for i, text in enumerate(docs):
            files.append(os.path.join(d, f"{i}.json"))
            with open(files[-1], "w") as f:
                f.write(text)
        run = pumice("validate", *files)
    assert run.returncode == 1, run.stderr[:500]
    found = {}
    for line in run.stderr.splitlines():
        m = re.match(r".*/(\d+)\.json:(?:\d+:\d+:)? error: (.*)$", line)
        if m:
            found.setdefault(int(m.group(1)), []).append(m.group(2))
    wrong = []
    for i, (path, value, _) in enumerate(cases):
        errors = found.get(i, [])
        if len(errors) != 1 or not errors[0].startswith(path):
            wrong.append(f"{path} = {value!r}: {errors}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:20])


def type_cases():
    cases = []
    for _, _, path in walk(FULL):
        if path in ("apiVersion", "kind"):  # then it is no Job at all: see not_an_object
            continue
        doc = copy.deepcopy(FULL)
        parent, key = next((p, k) for p, k, w in walk(doc) if w == path)
        original = parent[key]
        for value in wrong_values(original, path):
            parent[key] = value
            cases.append((path, value, copy.deepcopy(doc)))
        parent[key] = original
    return cases


# Fields of a pod as an API server, the CRD of Jobs and Volcano's admission look at them: a field of the container ("c/…") or the pod,
# its value, and the path of the one error below them with a part of its sentence; None: it is fine.
POD_CASES = [
    # lists whose elements have an identity
    ("c/env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "env[1].name", 'duplicate variable "A": env[0]'),
    ("c/env", [{"name": "A"}, {"name": "a"}], None, None),
    ("c/ports", [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}], "ports[1].containerPort", 'duplicate port "80/TCP"'),
    ("c/ports", [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}], None, None),
    ("imagePullSecrets", [{"name": "a"}, {"name": "a"}], "imagePullSecrets[1].name", 'duplicate pull secret "a"'),
    ("imagePullSecrets", [{"name": "a"}, {"name": "b"}], None, None),
    ("hostAliases", [{"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "10.0.0.1"}], "hostAliases[1].ip", "duplicate"),
    ("schedulingGates", [{"name": "a"}, {"name": "a"}], "schedulingGates[1].name", "duplicate"),
    ("resourceClaims", [{"name": "a", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "y"}], "resourceClaims[1].name", "duplicate"),
    ("c/resources", {"claims": [{"name": "a"}]}, "resources.claims[0].name", 'no resource claim "a"'),
    ("c/volumeMounts", [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}], "volumeMounts[1].mountPath", "unique"),
    # names of variables and of what they come from
    ("c/env", [{"name": "1A"}], "env[0].name", "not begin with a digit"),
    ("c/env", [{"name": "A B"}], "env[0].name", "must be letters"),
    ("c/env", [{"name": "a.b-c_1"}], None, None),
    ("c/env", [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "No!", "key": "k"}}}], "env[0].valueFrom.configMapKeyRef.name", "No!"),
    ("c/envFrom", [{"prefix": "1", "configMapRef": {"name": "a"}}], "envFrom[0].prefix", "not begin with a digit"),
    ("c/envFrom", [{"configMapRef": {"name": "No!"}}], "envFrom[0].configMapRef.name", "No!"),
    ("c/envFrom", [{"secretRef": {}}], "envFrom[0].secretRef.name", "is required"),
    ("c/envFrom", [{"secretRef": {"name": "a.b"}}, {"secretRef": {"name": "a.b"}}], None, None),
    ("c/env", [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}}], "env[0].valueFrom.resourceFieldRef.divisor", "1m or 1"),
    ("c/env", [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1000m"}}}], None, None),
    ("c/env", [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1m"}}}], "env[0].valueFrom.resourceFieldRef.divisor", "1Mi"),
    ("c/env", [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}}], None, None),
    ("c/env", [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['Ex.com/a']"}}}], None, None),
    # names the pod looks up
    ("dnsConfig", {"searches": ["a_b.example.", "."], "options": [{"name": "ndots", "value": "2"}]}, None, None),
    ("dnsConfig", {"searches": ["no way"]}, "dnsConfig.searches[0]", "must be a domain"),
    ("dnsConfig", {"searches": [f"{'x' * 60}.{'y' * 60}.{n}" for n in range(20)]}, "dnsConfig.searches", "more than 2048 characters"),
    ("dnsConfig", {"options": [{"value": "2"}]}, "dnsConfig.options[0].name", "is required"),
    ("dnsConfig", {"nameservers": ["one"]}, "dnsConfig.nameservers[0]", "address"),
    # restarts and sizes
    ("c/restartPolicy", "Always", "restartPolicy", "no init container"),
    ("initContainers", [{"name": "i", "image": "i", "restartPolicy": "Always"}], None, None),
    ("initContainers", [{"name": "i", "image": "i", "restartPolicy": "OnFailure"}], "initContainers[0].restartPolicy", "must be Always"),
    ("initContainers", [{"name": "i", "image": "i", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}], "initContainers[0].resizePolicy", "must not be set"),
    ("c/resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}, {"resourceName": "memory", "restartPolicy": "NotRequired"}], None, None),
    ("c/resizePolicy", [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2, "resizePolicy[1].resourceName", "duplicate"),
    ("c/resizePolicy", [{"resourceName": "nvidia.com/gpu", "restartPolicy": "NotRequired"}], "resizePolicy[0].resourceName", "cpu or memory"),
    ("c/resizePolicy", [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}], "resizePolicy[0].restartPolicy", "NotRequired"),
    # security
    ("c/securityContext", {"procMount": "Unmasked"}, "securityContext.procMount", "hostUsers is false"),
    ("c/securityContext", {"procMount": "Default"}, None, None),
    ("securityContext", {"sysctls": [{"name": "Net.x", "value": "1"}]}, "securityContext.sysctls[0].name", "name of a sysctl"),
    ("securityContext", {"sysctls": [{"name": "net.a-.b", "value": "1"}]}, "securityContext.sysctls[0].name", "name of a sysctl"),
    ("securityContext", {"sysctls": [{"name": "net/ipv4/tcp_rmem", "value": "1"}]}, None, None),
    ("securityContext", {"sysctls": [{"name": "net.a", "value": "1"}] * 2}, "securityContext.sysctls[1].name", "duplicate"),
    # probes and hooks
    ("c/livenessProbe", {"httpGet": {"port": 80, "httpHeaders": [{"name": "X_Y", "value": "v"}]}}, "livenessProbe.httpGet.httpHeaders[0].name", "X-Header-Name"),
    ("c/livenessProbe", {"httpGet": {"port": 80, "httpHeaders": [{"name": "X-Y", "value": "v"}]}}, None, None),
    ("c/lifecycle", {"preStop": {"sleep": {"seconds": 31}}}, "lifecycle.preStop.sleep.seconds", "31 > 30"),
    ("c/lifecycle", {"preStop": {"sleep": {"seconds": 30}}}, None, None),
    ("c/lifecycle", {"stopSignal": "SIGUSR1"}, "lifecycle.stopSignal", "spec.os.name"),
    # what it takes
    ("terminationGracePeriodSeconds", -1, None, None),
]


def pod_fields():
    """One document for each case, all in one run of the program; each bad one gives exactly one error, at its path."""
    docs = []
    for path, value, _, _ in POD_CASES:
        doc = minimal()
        spec = doc["spec"]["tasks"][0]["template"]["spec"]
        spec.update(restartPolicy="Never", volumes=[{"name": "v", "emptyDir": {}}])
        (spec["containers"][0] if path.startswith("c/") else spec)[path.removeprefix("c/")] = value
        doc["metadata"]["name"] = f"j{len(docs)}"
        docs.append(json.dumps(doc))
    run = run_on("\n---\n".join(docs), name="jobs.yaml")
    found = {}
    for line, _, error in re.findall(r"jobs\.yaml:(\d+):(\d+): error: (.*)", run.stderr):
        found.setdefault((int(line) - 1) // 2, []).append(error)
    wrong = []
    for i, (path, value, where, says) in enumerate(POD_CASES):
        at = "spec.tasks[0].template.spec." + ("containers[0]." if path.startswith("c/") else "") + str(where)
        got = found.get(i, [])
        if len(got) != (where is not None) or (where and not (got[0].startswith(at + ": ") and says in got[0])):
            wrong.append(f"{path} = {value!r}: {got}")
    assert not wrong, "\n".join(wrong)


def null_everywhere_never_crashes():
    for _, _, path in list(walk(FULL)):
        doc = copy.deepcopy(FULL)
        parent, key = next((p, k) for p, k, w in walk(doc) if w == path)
        parent[key] = None
        run = run_on(json.dumps(doc), "render", "job.json", "-o", "summary")
        assert run.returncode in (0, 1), f"{path}: null: status {run.returncode}: {run.stderr[:300]}"


def all_problems_at_once():
    doc = minimal(minAvailable=9, queue="Bad Queue", maxRetry=-1, policies=[{"event": "Nope", "action": "RestartJob"}])
    doc["spec"]["tasks"][0]["replicas"] = -2
    run = run_on(json.dumps(doc, indent=1))
    errors = errors_of(run)
    assert len(errors) >= 4, run.stderr
    lines = [int(n) for n in re.findall(r"job\.yaml:(\d+):\d+: error", run.stderr)]
    assert lines == sorted(lines), run.stderr


def misspelt_fields_are_warned_about():
    doc = minimal(minAvailble=1)
    doc["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["comand"] = ["x"]
    run = run_on(json.dumps(doc))
    assert run.returncode == 0, run.stderr
    for part in ('did you mean "minAvailable"?', 'did you mean "command"?'):
        assert part in run.stderr, run.stderr
    assert run_on(json.dumps(doc), "validate", "job.yaml", "--strict").returncode == 1


def other_readings_are_warned_about():
    """What Volcano accepts is accepted; where it reads an argument in another way, or old servers refuse a name, there is a word."""
    doc = minimal(plugins={"svc": ["--publish-not-ready-addresses", "false"], "mpi": ["--master=t", "--port=0022"]})
    doc["metadata"]["name"] = "1st"
    doc["spec"]["tasks"][0]["topologyPolicy"] = ""
    doc["spec"]["tasks"][0]["template"]["spec"]["terminationGracePeriodSeconds"] = -1
    run = run_on(json.dumps(doc))
    assert run.returncode == 0, run.stderr
    warnings = [line for line in run.stderr.splitlines() if "warning:" in line]
    for want in ("metadata.name: plugin svc names the Service \"1st\", which begins with a digit",
                 "spec.plugins.svc[0]: plugin svc: argument publish-not-ready-addresses: \"false\" is taken as its value",
                 "spec.plugins.mpi[1]: plugin mpi: argument port: \"0022\" is read as a decimal number"):
        assert sum(want in w for w in warnings) == 1, (want, warnings)
    assert len(warnings) == 3, warnings


# A misspelt field and the path of the one error; what the field leaves out is not told again.
MISSPELT = [
    (lambda d: rename(d["spec"]["tasks"][0], "replicas", "replica"), "spec.tasks[0].replica"),
    (lambda d: rename(d["spec"]["tasks"][0]["template"]["spec"], "containers", "container"), "spec.tasks[0].template.spec.container"),
    (lambda d: rename(d["spec"]["tasks"][0]["template"], "spec", "specs"), "spec.tasks[0].template.specs"),
    (lambda d: rename(d["spec"]["tasks"][0], "template", "templates"), "spec.tasks[0].templates"),
    (lambda d: rename(d["spec"], "tasks", "task"), "spec.task"),
    (lambda d: rename(d["metadata"], "name", "names"), "metadata.names"),
    (lambda d: rename(d["spec"]["tasks"][0]["template"]["spec"]["containers"][0], "image", "images"), "spec.tasks[0].template.spec.containers[0].images"),
]


def rename(parent, old, new):
    parent[new] = parent.pop(old)


def one_message_for_a_misspelling():
    for change, where in MISSPELT:
        doc = minimal(minAvailable=1)
        change(doc)
        run = run_on(json.dumps(doc))
        told = [line.split(": ", 1)[1] for line in run.stderr.splitlines() if ": error: " in line or ": warning: " in line]
        assert run.returncode == 1 and len(told) == 1 and told[0].startswith(f"error: {where}: unknown field"), run.stderr
    doc = minimal(minAvailable=1)  # both are there: each is a mistake of its own
    doc["spec"]["tasks"][0]["template"]["spec"].update(container=[], containers=[{"name": "c"}])
    run = run_on(json.dumps(doc))
    assert run.stderr.count(" error: ") == 1 and run.stderr.count(" warning: ") == 1, run.stderr


def messages_read_well():
    """No words of a library, no empty names, and plain grammar."""
    bad_key = "--ssh-private-key=-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----"
    doc = minimal(plugins={"ssh": [bad_key], "svc": [], "pytorch": ["--master=", "--worker="]},
                  policies=[{"event": "PodFailed", "action": "RestartPartition"}])
    doc["spec"]["tasks"][0]["policies"] = [{"event": "PodFailed", "action": "RestartPartition"}]
    told = run_on(json.dumps(doc)).stderr
    for want in ("the private key cannot be read: it must be a whole PEM text", "neither --master= nor --worker= names a task",
                 "and this task has none", "and no task of the job has one"):
        assert told.count(want) == 1, (want, told)
    for wrong in ("routines", "error:1E", "task  ", "not has"):
        assert wrong not in told, told


def huge_numbers():
    for replicas in (2147483647, 2147483648, 99999999999999999999, 1e30):
        doc = minimal(plugins={"svc": []})
        doc["spec"]["tasks"][0]["replicas"] = replicas
        doc["spec"]["minAvailable"] = 1
        run = run_on(json.dumps(doc))
        assert run.returncode == 1 and "replicas" in run.stderr or "pods" in run.stderr, (replicas, run.stderr)


def kinds():
    """A kind in another case, misspelt, or that a group of Volcano's does not have, is an error; kinds of others may be unknown."""
    for version, kind, says in (("batch.volcano.sh/v1alpha1", "job", 'did you mean "Job"?'), ("batch.volcano.sh/v1alpha1", "Jobb", 'did you mean "Job"?'),
                                ("batch.volcano.sh/v1alpha1", "Banana", 'has no kind "Banana"'), ("v1", "pod", 'did you mean "Pod"?'),
                                ("scheduling.volcano.sh/v1beta1", "Qeue", 'did you mean "Queue"?'), ("v1", "configmap", 'did you mean "ConfigMap"?')):
        for command in ("validate", "render"):
            refused(run_on(json.dumps({**minimal(), "apiVersion": version, "kind": kind}), command), says)
    for version, kind in (("apps/v1", "Deployment"), ("example.com/v1", "job"), ("cert-manager.io/v1", "Certificate")):
        run = run_on(json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}))
        assert not errors_of(run) and "is not known here" in run.stderr, run.stderr


def paths_of_set():
    """A path that leads to no field is an error: the job would run unchanged. The same in a file is a warning."""
    for path in ("spec.minAvailabel", "spec.tasks[t].template.spec.containers[0].imagePullPolicyy", "spec.tasks[0].replica", "spec.nothing.at.all",
                 "metadata.label.x"):
        refused(run_on(json.dumps(minimal()), "run", "job.json", "--dry-run", "--set", f"{path}=3"), "unknown field")
    for path in ("spec.minAvailable=1", "metadata.labels[a.b/c]=x", "spec.tasks[t].template.spec.nodeSelector[x/y]=z", "spec.plugins.svc=[]"):
        run = run_on(json.dumps(minimal(minAvailabel=1)), "run", "job.json", "--dry-run", "--set", path)
        assert run.returncode == 0 and "unknown field" in run.stderr, (path, run.stderr)


def data_directories():
    """Keys and Secrets are in it: a server closes its directory to others, and does not take one that has files of others."""
    with tempfile.TemporaryDirectory() as d:
        for name in ("empty", "used", "full", "disk"):
            os.mkdir(f"{d}/{name}")
        for name in ("used/server.lock", "full/file", "disk/lost+found"):
            open(f"{d}/{name}", "w").close()
        for name, is_taken in (("empty", True), ("used", True), ("disk", True), ("full", False), ("new", True)):
            if os.path.exists(f"{d}/{name}"):
                os.chmod(f"{d}/{name}", 0o755)
            run = pumice("server", "--cleanup", "--data-dir", f"{d}/{name}")
            mode = os.stat(f"{d}/{name}").st_mode & 0o777
            assert (mode == 0o700) == is_taken, (name, oct(mode), run.stderr)
            assert ("is open to other users" in run.stderr) == (not is_taken), run.stderr


def main():
    suite = Suite()
    for f in (empty_file, directory, no_metadata, too_many_to_print, terminal_escapes_are_harmless, arguments_of_wrong_types,
              volume_of_a_plugin_is_taken, port_of_the_node_is_said_once, missing_file, binary_data, huge_file, huge_standard_input, deep_nesting,
              billion_laughs, not_an_object, every_syntax_error_names_its_place, two_jobs_of_one_name,
              full_job_is_fine, pod_fields, null_everywhere_never_crashes, all_problems_at_once, misspelt_fields_are_warned_about,
              other_readings_are_warned_about,
              one_message_for_a_misspelling, messages_read_well, huge_numbers, kinds, paths_of_set):
        suite.case(f.__name__, f)
    if os.geteuid() == 0:
        suite.case("data_directories", data_directories)
    cases = type_cases()
    for start in range(0, len(cases), 100):
        part = cases[start:start + 100]
        suite.case(f"wrong types {start}…{start + len(part) - 1}", lambda: wrong_type_in_every_field(part))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
