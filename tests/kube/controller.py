#!/usr/bin/env python3
"""pumice controller --scheduler before a real API server, with hollow kubelets: jobs to their end, counted by the audit log;
killed, stopped and cut off in the middle; two replicas and their Lease; what it says when it cannot work."""
import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, resource_of, status_of  # noqa: E402
from faultproxy import FaultProxy  # noqa: E402
from harness import Suite  # noqa: E402

PUMICE = os.environ["PUMICE"]
LIMIT_S = int(os.environ.get("LIMIT", 120))  # nothing here takes a tenth of it
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/vc-controller-manager"
DURATION_S = 8.0
QUICK = ("--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=1s")


def until(what, holds, limit_s=LIMIT_S):
    end = time.monotonic() + limit_s
    while True:
        value = holds()
        if value:
            return value
        assert time.monotonic() < end, f"never came true: {what}"
        time.sleep(0.05)


class Controller:
    """One replica, as a user of its own, so that the audit log tells them apart."""

    def __init__(self, bed, user, *flags, kubeconfig=None, rights=("system:masters",)):
        env = {**bed.environment(), "KUBECONFIG": kubeconfig or bed.user(user, rights)}
        self.user, self.log_path = user, os.path.join(bed.dir, "log", f"controller-{user}-{time.monotonic_ns()}")
        with open(self.log_path, "w") as log:
            self.popen = subprocess.Popen([PUMICE, "controller", "--listen-address=127.0.0.1:0", *flags], env=env,
                                          stdin=subprocess.DEVNULL, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGCONT)
            self.popen.kill()
            self.popen.wait()

    @property
    def log(self):
        with open(self.log_path) as f:
            return f.read()

    def until_says(self, text, limit_s=LIMIT_S):
        until(f"{self.user} says {text!r}; it said {self.log[-2000:]}", lambda: text in self.log, limit_s)

    def get(self, path):
        port = until("a port", lambda: re.search(r'msg="Serving metrics and health" .* port=(\d+)', self.log)).group(1)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def until_ready(self):
        until(f"{self.user} is ready: {self.log[-2000:]}", lambda: self.get("/readyz")[0] == 200)

    def stop(self):
        self.popen.terminate()
        return self.popen.wait(LIMIT_S)


class Hollow:
    def __init__(self, bed, *nodes):
        with open(os.path.join(bed.dir, "log", "hollow"), "a") as log:
            self.popen = subprocess.Popen([os.environ["KUBE_HOLLOW"], *nodes], env=bed.environment(), text=True,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        assert self.popen.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.communicate()


def job(name, replicas=3, runtime="500ms", **spec):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
            "spec": {"minAvailable": replicas, "plugins": {"env": [], "svc": []}, "tasks": [
                {"name": "w", "replicas": replicas, "template": {
                    "metadata": {"labels": {"mine": "yes"}, "annotations": {"pumice.dev/runtime": runtime}},
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "debian:12"}]}}}], **spec}}


def submit(bed, manifest):
    status, answer = bed.call("POST", JOBS, manifest)
    assert status == 201, answer


def phase(bed, name):
    return bed.call("GET", f"{JOBS}/{name}")[1].get("status", {}).get("state", {}).get("phase")


def until_phase(bed, name, want):
    until(f"{name} is {want}", lambda: phase(bed, name) == want)


def pods(bed, name):
    return bed.call("GET", f"/api/v1/namespaces/default/pods?labelSelector=volcano.sh/job-name={name}")[1]["items"]


def created(bed, prefix):
    """How often pods of these names were created, by name; 409: how often in vain."""
    count, vain = collections.Counter(), 0
    for e in bed.audit(verb="create", resource="pods"):
        name = e["objectRef"].get("name", "")
        if name.startswith(prefix):
            count[name] += status_of(e) == 201
            vain += status_of(e) == 409
    return count, vain


# ---- what it says ----


def says_that_nobody_is_there(bed):
    config = bed.kubeconfig("nobody", {"token": "x"}, server="https://127.0.0.1:1")
    with Controller(bed, "nobody", kubeconfig=config) as c:
        c.until_says("Connection refused")
        assert c.popen.poll() is None
        assert c.get("/livez") == (200, "ok\n")
        status, why = c.get("/readyz")
        assert status == 503 and "Connection refused" in why, why
        assert c.log.count("Connection refused") == 1, c.log
        assert c.stop() == 0


def says_which_right_is_missing(bed):
    with Controller(bed, "stranger", rights=()) as c:
        c.until_says('cannot get resource \\"leases\\" in API group \\"coordination.k8s.io\\"')
        c.until_says("pumice install --dry-run --only roles | kubectl apply -f -")
    with Controller(bed, "stranger", "--leader-elect=false", rights=()) as c:
        c.until_says("is forbidden: User \\\"stranger\\\" cannot")
        assert re.search(r'cannot (list|watch) resource', c.log), c.log


def says_which_kinds_are_missing(bed):
    with Controller(bed, "early", "--leader-elect=false") as c:
        for kind in ("Job", "PodGroup", "Queue", "Command"):
            c.until_says(f"kind={kind} ")
        c.until_says("pumice install --dry-run --only crds | kubectl apply -f -")
        status, why = c.get("/readyz")
        assert status == 503 and "pumice install" in why, why


def install(bed):
    crds = subprocess.run([PUMICE, "install", "--dry-run", "--only", "crds"], capture_output=True, text=True, check=True)
    bed.kubectl("apply", "--server-side", "-f", "-", stdin=crds.stdout)
    until("the kinds are served", lambda: all(bed.call("GET", path)[0] == 200 for path in (
        JOBS, "/apis/scheduling.volcano.sh/v1beta1/queues", "/apis/scheduling.volcano.sh/v1beta1/podgroups",
        "/apis/bus.volcano.sh/v1alpha1/commands")))


# ---- jobs ----


def completes_a_job(bed):
    with Controller(bed, "one", "--scheduler") as c:
        c.until_ready()
        submit(bed, job("first", 5, runtime="3s", ttlSecondsAfterFinished=100))
        until("its pods run", lambda: phase(bed, "first") == "Running")
        status, seen = c.get("/debug/jobs/default/first")
        seen = json.loads(seen)
        assert status == 200 and seen["observed"]["tasks"][0]["Running"] >= 1 and "next" in seen, seen
        until_phase(bed, "first", "Completed")
        for p in pods(bed, "first"):
            assert p["metadata"]["labels"]["mine"] == "yes" and p["status"]["phase"] == "Succeeded", p
        check_metrics(c.get("/metrics")[1])
        assert c.get("/debug/jobs/default/none")[0] == 404
        asked = bed.requests("one")
        assert asked["create", "pods", 201] == 5 and asked["create", "pods/binding", 201] == 5, asked
        assert not [k for k in asked if k[2] in (409, 422, 404) and k[1] != "leases"], asked
        assert asked["update", "jobs/status", 200] <= 7, asked  # by phase, and counters once a second: not by pod (15 changes)
        assert c.stop() == 0
    assert not bed.call("GET", LEASE)[1]["spec"]["holderIdentity"], "it was not given back"


def check_metrics(text):
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values["pumice_leader"] == "1" and values["pumice_synced"] == "1", text
    assert int(values['pumice_writes_total{verb="create",result="success"}']) >= 5, text
    assert values['volcano_job_completed_phase_count{queue_name="default"}'] == "1", text
    assert values["volcano_controller_job_to_pod_creation_latency_milliseconds_count"] == "5", text
    assert 'volcano_queue_allocated_milli_cpu{queue_name="default"}' in values, text
    assert float(values["process_resident_memory_bytes"]) > 1e6 and float(values["pumice_watch_lags_total"]) > 0, text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)), "a figure is there twice"


def goes_on_after_kill(bed):
    """kill -9 in the middle, several times: each pod is made once."""
    submit(bed, job("killed", 40, "3s"))
    for i in range(4):
        with Controller(bed, f"mortal{i}", "--scheduler", "--leader-elect=false") as c:
            before = len(pods(bed, "killed"))
            until("it does something", lambda: len(pods(bed, "killed")) > before or len(pods(bed, "killed")) == 40)
            c.popen.kill()
            c.popen.wait()
    with Controller(bed, "survivor", "--scheduler", "--leader-elect=false"):
        until_phase(bed, "killed", "Completed")
    count, _ = created(bed, "killed-w-")  # one whose client was killed has no status in the log
    assert len(count) == 40 and max(count.values()) == 1, count


def goes_on_after_an_outage(bed):
    with Controller(bed, "patient", "--scheduler", *QUICK) as c:
        c.until_ready()
        submit(bed, job("outage", 30, "4s"))
        until("some of its pods are there", lambda: len(pods(bed, "outage")) >= 10)
        bed.server.kill()
        time.sleep(1)  # short enough for the Lease
        bed.server.start()
        until("it is over", lambda: phase(bed, "outage") == "Completed" or c.popen.poll() is not None)
        if c.popen.poll() is not None:  # the server took longer than the Lease allows: as it should, the next one goes on
            assert "Failed to renew the Lease in time" in c.log, c.log
            with Controller(bed, "next", "--scheduler", *QUICK):
                until_phase(bed, "outage", "Completed")
    count, _ = created(bed, "outage-w-")  # the last lines of a log may be lost with its server
    assert len(pods(bed, "outage")) == 30 and max(count.values()) == 1, count


def restarts_a_job_whose_pod_fails(bed):
    """Each phase is written, in order, and while pods are ending the status says so."""
    with Controller(bed, "strict", "--scheduler", "--leader-elect=false") as c:
        c.until_ready()
        manifest = job("retry", 2, "60s", maxRetry=2,
                       policies=[{"event": "PodFailed", "action": "RestartJob"}])
        manifest["spec"]["tasks"].append(json.loads(json.dumps(manifest["spec"]["tasks"][0])))
        manifest["spec"]["tasks"][1].update(name="bad", replicas=1)
        manifest["spec"]["tasks"][1]["template"]["metadata"]["annotations"] = {
            "pumice.dev/runtime": "300ms", "pumice.dev/exit": "3"}
        manifest["spec"]["minAvailable"] = 3
        seen = watch(bed, "retry", lambda: submit(bed, manifest), "Failed")
        story = story_of([s for _, s in seen])
        assert story == ["Pending", "Running", "Restarting~", "Pending", "Running", "Restarting", "Failed"], story
        assert [s["running"] for p, s in seen if p == "Running"][0] >= 3 and seen[-1][1]["retryCount"] == 2, seen
        events = bed.call("GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=retry")[1]["items"]
        actions = [e for e in events if e["reason"] == "ExecuteAction"]
        assert actions and all("RestartJob" in e["message"] and e["lastTimestamp"] for e in actions), events


def watch(bed, name, begin, last):
    """Every status that was written, until the last phase."""
    version = bed.call("GET", JOBS)[1]["metadata"]["resourceVersion"]
    begin()
    c = bed.connect()
    c.request("GET", f"{JOBS}?watch=1&resourceVersion={version}&fieldSelector=metadata.name={name}&timeoutSeconds=100")
    seen = []
    for line in c.getresponse():
        status = json.loads(line)["object"].get("status", {})
        if status.get("state"):
            seen.append((status["state"]["phase"], status))
            if status["state"]["phase"] == last:
                break
    c.close()
    return seen


def story_of(statuses):
    """The phases in order; "Aborting~": with pods that are ending. That they have ended may be told before the phase is over."""
    told = []
    for status in statuses:
        p = status["state"]["phase"] + "~" * (status.get("terminating", 0) > 0)
        if told[-1:] not in ([p], [p + "~"]):
            told.append(p)
    return told


# ---- settings ----


def takes_new_settings(bed):
    """As a ConfigMap is mounted: the file is a link into a directory that is a link, which is replaced as a whole."""
    mount = os.path.join(bed.dir, "settings")
    os.makedirs(f"{mount}/..1")

    def publish(n, text):
        os.makedirs(f"{mount}/..{n}", exist_ok=True)
        with open(f"{mount}/..{n}/conf", "w") as f:
            f.write(text)
        os.symlink(f"..{n}", f"{mount}/..data_tmp")
        os.rename(f"{mount}/..data_tmp", f"{mount}/..data")

    def conf(plugin, **arguments):
        return json.dumps({"actions": "enqueue, allocate", "tiers": [{"plugins": [
            {"name": "gang"}, {"name": "predicates"}, {"name": plugin, "arguments": arguments}]}]})

    def nodes_of(name):
        manifest = job(name, 3)
        manifest["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
        submit(bed, manifest)
        until_phase(bed, name, "Completed")
        return {p["spec"]["nodeName"] for p in pods(bed, name)}

    publish(1, conf("binpack", **{"binpack.weight": 10}))
    os.symlink("..data/conf", f"{mount}/conf")
    with Controller(bed, "settings", "--scheduler", "--leader-elect=false", f"--scheduler-config={mount}/conf") as c:
        c.until_ready()
        assert len(nodes_of("packed")) == 1
        publish(2, 'actions: "nonsense"\n')
        c.until_says("Failed to reload the scheduler configuration")
        assert len(nodes_of("still-packed")) == 1
        publish(3, conf("nodeorder", **{"leastrequested.weight": 10, "balancedresource.weight": 0}))
        c.until_says("Reloaded the scheduler configuration")
        assert len(nodes_of("spread")) == 3
    run = subprocess.run([PUMICE, "controller", "--scheduler", f"--scheduler-config={mount}/none"], env=bed.environment(),
                         capture_output=True, text=True)
    assert run.returncode == 1 and f"--scheduler-config: {mount}/none" in run.stderr, run


# ---- two replicas ----


def writes(bed, user):
    """When its writes reached the server, the Lease's left out: (time, what)."""
    return [(stamp(e["requestReceivedTimestamp"]), f"{e['verb']} {resource_of(e)}") for e in bed.audit(user=user)
            if e["verb"] in ("create", "update", "patch", "delete") and resource_of(e) != "leases"]


def renewals(bed, user):
    return [stamp(e["requestReceivedTimestamp"]) for e in bed.audit(user=user, resource="leases", status=200)
            if e["verb"] == "update"] + [stamp(e["requestReceivedTimestamp"]) for e in
                                         bed.audit(user=user, resource="leases", status=201)]


def stamp(text):
    whole, _, part = text.rstrip("Z").partition(".")
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (part or "0"))


def check_one_writer(bed, users):
    """No write of one between the first and the last of the next, and none later than the bound after its own last renewal."""
    for user in users:
        last = max(renewals(bed, user), default=0)
        late = [w for w in writes(bed, user) if w[0] > last + DURATION_S]
        assert not late, (user, last, late[:5])
    spans = [(w[0][0], w[-1][0], u) for u in users for w in [writes(bed, u)] if w]
    for (_, end, a), (begin, _, b) in zip(sorted(spans), sorted(spans)[1:]):
        assert end < begin, f"{a} wrote after {b} had begun: {end - begin} s"


def another_takes_over(bed):
    users = ("red", "green", "blue")
    with Controller(bed, "red", "--scheduler", *QUICK) as red:
        red.until_says('msg="Became leader"')
        red.until_ready()
        with Controller(bed, "green", "--scheduler", *QUICK) as green:
            until("green waits", lambda: green.get("/readyz") == (200, "ok (standby)\n"))
            for i in range(8):
                submit(bed, job(f"relay{i}", 10, "2s"))
            until("red works", lambda: len(writes(bed, "red")) > 40)
            red.popen.kill()
            red.popen.wait()
            green.until_says('msg="Became leader"')
            for i in range(8, 16):
                submit(bed, job(f"relay{i}", 10, "2s"))
            with Controller(bed, "blue", "--scheduler", *QUICK) as blue:
                until("green works", lambda: len(writes(bed, "green")) > 20)
                green.popen.send_signal(signal.SIGSTOP)  # in the middle of everything
                blue.until_says('msg="Became leader"')
                for i in range(16):
                    until_phase(bed, f"relay{i}", "Completed")
                green.popen.send_signal(signal.SIGCONT)
                assert green.popen.wait(LIMIT_S) == 1
                assert "Lost the Lease to another replica" in green.log or "Failed to renew the Lease" in green.log, green.log
                assert blue.stop() == 0
    check_one_writer(bed, users)
    count, _ = created(bed, "relay")
    assert len(count) == 160 and max(count.values()) == 1, {n: c for n, c in count.items() if c > 1}
    assert bed.call("GET", LEASE)[1]["spec"]["leaseTransitions"] >= 2


def outlives_a_renewal_that_hangs(bed):
    """A renewal that is taken and never answered, one whose answer stops after its head, one that is not even read, one that is to come again
    in a minute (429): once, and the next one counts. If none is answered, or the server says nothing at all (what comes waits in the TLS handshake), it ends and blames the server."""
    times = ("--leader-elect-lease-duration=7s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=500ms")
    lease = {"method": "PUT", "path": "/leases/"}
    faults = {"taken": {"fault": "swallow", "hang": True, "times": 1}, "head": {"fault": "half_open", "after": 200, "times": 1},
              "deaf": {"fault": "half_open", "before": "request", "times": 1},
              "busy": {"fault": "status", "code": 429, "retry_after": 60, "times": 1}, "never": {"fault": "swallow", "hang": True}}
    blames = ("no answer", "answer incomplete", "has not answered")

    def ends(c):
        assert c.popen.wait(LIMIT_S) == 1 and "Failed to renew the Lease in time" in c.log, c.log
        assert any(words in c.log for words in blames) and "stalled" not in c.log, c.log

    with contextlib.ExitStack() as stack:
        bed.user("renews", ["system:masters"])
        leaders = {}
        for name, fault in faults.items():
            proxy = stack.enter_context(FaultProxy(bed, "renews"))
            proxy.add(**lease, **fault)
            leaders[name] = proxy, stack.enter_context(
                Controller(bed, f"renews-{name}", f"--leader-elect-resource-name={name}", *times, kubeconfig=proxy.kubeconfig))
        ends(leaders["never"][1])
        for name in ("taken", "head", "deaf", "busy"):
            until(f"{name}: renewed after it", lambda: len(leaders[name][0].log) == 1 and holder_renewed(bed, name))
            assert leaders[name][1].popen.poll() is None, leaders[name][1].log
        bed.server.pause()
        try:
            for name in ("taken", "head", "deaf", "busy"):
                ends(leaders[name][1])
        finally:
            bed.server.resume()


def says_that_it_is_throttled(bed):
    """A server that is too busy (429): the job gets its pods, and log, readiness, metrics and an Event say why it took longer."""
    bed.user("throttled", ["system:masters"])
    with FaultProxy(bed, "throttled") as proxy, Controller(bed, "throttled", "--leader-elect=false", "--scheduler", kubeconfig=proxy.kubeconfig) as c:
        c.until_ready()
        proxy.add(fault="status", code=429, retry_after=1, method="POST", path="/pods", times=3)
        submit(bed, job("throttled"))
        until_phase(bed, "throttled", "Completed")
        c.until_says("API server throttles requests")
        status, text = c.get("/readyz")
        assert status == 200 and "throttles requests: 3 were answered with 429" in text, text
        assert "pumice_throttled_total 3" in c.get("/metrics")[1]
        until("the Event", lambda: [e for e in bed.call("GET", "/api/v1/namespaces/default/events")[1]["items"] if e["reason"] == "Throttled"])


def holder_renewed(bed, name):
    spec = bed.call("GET", LEASE.rsplit("/", 1)[0] + f"/{name}")[1]["spec"]
    return stamp(spec["renewTime"]) > stamp(spec["acquireTime"]) + 3


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            for case in (says_that_nobody_is_there, says_which_right_is_missing, says_which_kinds_are_missing):
                suite.case(case.__name__, lambda: case(bed))
            install(bed)
            with Hollow(bed, "n0", "n1", "n2"):
                for case in (completes_a_job, goes_on_after_kill, goes_on_after_an_outage, restarts_a_job_whose_pod_fails,
                             takes_new_settings, another_takes_over, says_that_it_is_throttled, outlives_a_renewal_that_hangs):
                    suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
