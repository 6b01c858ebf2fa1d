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
    for text, line in (("a: b\n\tc: d\n", 2), ("a: [1, 2\nb: 3\n", 2), ("a: 'x\n", 2), ("x: *nobody\n", 1)):
        run = run_on(text)
        refused(run)
        assert re.search(r"line \d+, column \d+", run.stderr), run.stderr
    refused(run_on('{"a": 1,}', name="job.json"), "line 1, column 9")


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


def huge_numbers():
    for replicas in (2147483647, 2147483648, 99999999999999999999, 1e30):
        doc = minimal(plugins={"svc": []})
        doc["spec"]["tasks"][0]["replicas"] = replicas
        doc["spec"]["minAvailable"] = 1
        run = run_on(json.dumps(doc))
        assert run.returncode == 1 and "replicas" in run.stderr or "pods" in run.stderr, (replicas, run.stderr)


def main():
    suite = Suite()
    for f in (empty_file, directory, no_metadata, too_many_to_print, terminal_escapes_are_harmless, arguments_of_wrong_types,
              volume_of_a_plugin_is_taken, port_of_the_node_is_said_once, missing_file, binary_data, huge_file, huge_standard_input, deep_nesting,
              billion_laughs, not_an_object, every_syntax_error_names_its_place, two_jobs_of_one_name,
              full_job_is_fine, null_everywhere_never_crashes, all_problems_at_once, misspelt_fields_are_warned_about,
              huge_numbers):
        suite.case(f.__name__, f)
    cases = type_cases()
    for start in range(0, len(cases), 100):
        part = cases[start:start + 100]
        suite.case(f"wrong types {start}…{start + len(part) - 1}", lambda: wrong_type_in_every_field(part))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
