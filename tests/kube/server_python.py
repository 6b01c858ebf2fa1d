#!/usr/bin/env python3
"""`pumice server` and the Python client `kubernetes` of PyPI, as notebooks and operators use it: lists, watches, jobs as custom
objects, exec over a WebSocket, logs, patches. The client is installed once into a venv beside the programs of tests/kube/build."""
import json
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

VERSION = "kubernetes==33.1.0"


def venv():
    """The interpreter that has the client; None and why not."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(home, "pumice-kube", VERSION.replace("==", "-python-"))
    python, mark = os.path.join(path, "bin", "python3"), os.path.join(path, "complete")
    if os.path.exists(mark):
        return python, None
    made = subprocess.run([sys.executable, "-m", "venv", path], capture_output=True, text=True)
    if made.returncode == 0:
        made = subprocess.run([python, "-m", "pip", "install", "--quiet", "--timeout", "15", "--retries", "1", VERSION], capture_output=True, text=True)
    if made.returncode:
        return None, f"the Python client cannot be had: {(made.stderr or made.stdout).strip().splitlines()[-1]}"
    with open(mark, "w"):
        pass
    return python, None


if "--inside" not in sys.argv:
    found, why = venv()
    if not found:
        print(f"skipped: {why}")
        sys.exit(77)
    sys.exit(subprocess.run([found, os.path.abspath(__file__), "--inside", *sys.argv[1:]]).returncode)

from harness import Suite  # noqa: E402
from kubernetes import client, config, dynamic, watch  # noqa: E402
from kubernetes.client.rest import ApiException  # noqa: E402
from kubernetes.stream import portforward, stream  # noqa: E402
from kubernetes.utils import create_from_dict  # noqa: E402
from server import Server, config_map, job, pod, until  # noqa: E402

NS = "default"
JOBS = ("batch.volcano.sh", "v1alpha1", NS, "jobs")
core = client.CoreV1Api


def refused(code, f, *args, **kw):
    try:
        f(*args, **kw)
    except ApiException as e:
        assert e.status == code, e
        return json.loads(e.body)
    raise AssertionError(f"{f.__name__} was not refused")


def lists(api):
    for i in range(5):
        core(api).create_namespaced_config_map(NS, config_map(f"py-{i}", labels={"py": "yes"}))
    page = core(api).list_namespaced_config_map(NS, label_selector="py=yes", limit=2)
    names, rounds = [o.metadata.name for o in page.items], 1
    while page.metadata._continue:
        page = core(api).list_namespaced_config_map(NS, label_selector="py=yes", limit=2, _continue=page.metadata._continue)
        names += [o.metadata.name for o in page.items]
        rounds += 1
    assert names == [f"py-{i}" for i in range(5)] and rounds == 3, (names, rounds)
    core(api).patch_namespaced_config_map("py-0", NS, {"data": {"a": "changed"}})
    assert core(api).read_namespaced_config_map("py-0", NS).data == {"a": "changed"}
    core(api).patch_namespaced_config_map("py-0", NS, [{"op": "add", "path": "/data/b", "value": "2"}])
    assert core(api).read_namespaced_config_map("py-0", NS).data == {"a": "changed", "b": "2"}
    stale = core(api).read_namespaced_config_map("py-1", NS)
    core(api).replace_namespaced_config_map("py-1", NS, config_map("py-1", {"x": "y"}))
    stale.data = {"z": "z"}
    assert refused(409, core(api).replace_namespaced_config_map, "py-1", NS, stale)["reason"] == "Conflict"
    assert refused(404, core(api).read_namespaced_config_map, "nobody", NS)["details"]["name"] == "nobody"
    assert refused(409, core(api).create_namespaced_config_map, NS, config_map("py-0"))["reason"] == "AlreadyExists"
    core(api).delete_collection_namespaced_config_map(NS, label_selector="py=yes")
    assert not core(api).list_namespaced_config_map(NS, label_selector="py=yes").items
    create_from_dict(api, config_map("from-dict"), namespace=NS)
    core(api).delete_namespaced_config_map("from-dict", NS)
    assert client.VersionApi(api).get_code().git_version.startswith("v1.")
    assert "batch.volcano.sh" in [g.name for g in client.ApisApi(api).get_api_versions().groups]


def watches(api):
    start = core(api).list_namespaced_config_map(NS).metadata.resource_version
    seen, w = [], watch.Watch()

    def follow():
        for e in w.stream(core(api).list_namespaced_config_map, NS, resource_version=start, timeout_seconds=60):
            if e["object"].metadata.name.startswith("watched"):
                seen.append((e["type"], e["object"].metadata.name, e["object"].metadata.resource_version))

    t = threading.Thread(target=follow, daemon=True)
    t.start()
    core(api).create_namespaced_config_map(NS, config_map("watched-1"))
    core(api).patch_namespaced_config_map("watched-1", NS, {"data": {"a": "2"}})
    core(api).delete_namespaced_config_map("watched-1", NS)
    until("all is seen", lambda: len(seen) == 3)
    assert [s[:2] for s in seen] == [(e, "watched-1") for e in ("ADDED", "MODIFIED", "DELETED")], seen
    core(api).create_namespaced_config_map(NS, config_map("watched-2"))
    until("that too", lambda: len(seen) == 4)
    w.stop()
    resumed = []
    for e in watch.Watch().stream(core(api).list_namespaced_config_map, NS, resource_version=seen[1][2], timeout_seconds=1):
        if e["object"].metadata.name.startswith("watched"):
            resumed.append((e["type"], e["object"].metadata.name, e["object"].metadata.resource_version))
    assert resumed == seen[2:], f"from the second on, nothing twice: {resumed} of {seen}"
    core(api).delete_namespaced_config_map("watched-2", NS)


def runs_jobs(api):
    jobs = client.CustomObjectsApi(api)
    jobs.create_namespaced_custom_object(*JOBS, job("py", "echo $VC_TASK_INDEX", 2) | {"metadata": {"name": "py", "labels": {"by": "python"}}})
    phases = []
    for e in watch.Watch().stream(jobs.list_namespaced_custom_object, *JOBS, label_selector="by=python", timeout_seconds=60):
        phase = e["object"].get("status", {}).get("state", {}).get("phase")
        phases.append(phase)
        if phase == "Completed":
            break
    assert phases[-1] == "Completed", phases
    done = jobs.get_namespaced_custom_object(*JOBS, "py")
    assert done["status"]["succeeded"] == 2, done["status"]
    changed = jobs.patch_namespaced_custom_object(*JOBS, "py", {"metadata": {"annotations": {"note": "x"}}})
    assert changed["metadata"]["annotations"]["note"] == "x", changed["metadata"]
    assert jobs.get_namespaced_custom_object_status(*JOBS, "py")["status"]["succeeded"] == 2
    assert len(jobs.list_namespaced_custom_object(*JOBS)["items"]) == 1
    bad = job("bad", "true")
    bad["spec"]["minAvailable"] = 9
    assert refused(422, jobs.create_namespaced_custom_object, *JOBS, bad)["details"]["causes"]
    jobs.delete_namespaced_custom_object(*JOBS, "py", propagation_policy="Foreground")
    until("it is gone", lambda: not jobs.list_namespaced_custom_object(*JOBS)["items"])
    queues = dynamic.DynamicClient(api).resources.get(api_version="scheduling.volcano.sh/v1beta1", kind="Queue")
    queues.server_side_apply(body={"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "py"}, "spec": {"weight": 4}},
                             field_manager="python")
    assert queues.get(name="py").spec.weight == 4
    queues.delete(name="py")


def runs_commands(api):
    core(api).create_namespaced_pod(NS, pod("py-shell", "echo one; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo two"))
    for e in watch.Watch().stream(core(api).list_namespaced_pod, NS, field_selector="metadata.name=py-shell", timeout_seconds=60):
        if e["object"].status.phase == "Running":
            break
    exec_ = core(api).connect_get_namespaced_pod_exec
    out = stream(exec_, "py-shell", NS, command=["sh", "-c", "echo out; echo err >&2"], stdin=False, stdout=True, stderr=True, tty=False)
    assert sorted(out.split()) == ["err", "out"], out
    s = stream(exec_, "py-shell", NS, command=["sh"], stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
    s.write_stdin("echo hello $((6*7)); exit 3\n")
    s.run_forever(timeout=60)
    assert s.read_stdout() == "hello 42\n" and s.returncode == 3, s.returncode
    lines = core(api).read_namespaced_pod_log("py-shell", NS, follow=True, _preload_content=False).stream()
    assert next(lines) == b"one\n"
    stream(exec_, "py-shell", NS, command=["touch", "/tmp/go"], stdin=False, stdout=True, stderr=True, tty=False)
    assert b"".join(lines) == b"two\n", "it ends with the container"
    assert core(api).read_namespaced_pod_log("py-shell", NS, tail_lines=1) == "two\n"
    refused(404, core(api).read_namespaced_pod_log, "nobody", NS)
    core(api).delete_namespaced_pod("py-shell", NS, grace_period_seconds=0)


def forwards(api):
    program = "import socketserver as s; s.TCPServer(('', 8000), type('H', (s.BaseRequestHandler,), {'handle': lambda h: h.request.sendall(h.request.recv(99)[::-1])})).serve_forever()"
    p = pod("py-port", "")
    p["spec"]["containers"][0]["command"] = ["python3", "-c", program]
    core(api).create_namespaced_pod(NS, p)
    until("it runs", lambda: core(api).read_namespaced_pod("py-port", NS).status.phase == "Running")
    exec_ = core(api).connect_get_namespaced_pod_exec
    until("it listens", lambda: "1F40" in stream(exec_, "py-port", NS, command=["cat", "/proc/net/tcp"], stdin=False, stdout=True, stderr=True, tty=False))
    way = portforward(core(api).connect_get_namespaced_pod_portforward, "py-port", NS, ports="8000")
    s = way.socket(8000)
    s.settimeout(60)
    s.sendall(b"olleh")
    assert s.recv(99) == b"hello" and way.error(8000) is None
    s.close()
    core(api).delete_namespaced_pod("py-port", NS, grace_period_seconds=0)


def main():
    suite, s = Suite(), Server()
    api = config.new_client_from_config(s.config)
    wanted = [w for w in sys.argv[1:] if w != "--inside"]
    for case in (lists, watches, runs_jobs, runs_commands, forwards):
        if not wanted or case.__name__ in wanted:
            suite.case(case.__name__, lambda: case(api))
    suite.case("ends_well", lambda: s.stop())
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
