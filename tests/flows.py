#!/usr/bin/env python3
"""JobFlows, JobTemplates and CronJobs with the real binary: `pumice run`, `render`, `plan`, `validate`, and a server by plain HTTP."""
import datetime
import json
import os
import re
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import Suite, pumice, pumice_json, text_of  # noqa: E402
from runs import Run, job, run, run_text, same, sh, task  # noqa: E402
from server import Server, is_machine_unfit, until  # noqa: E402

PYTHON = "/usr/bin/python3"
FLOW = "flow.volcano.sh/v1alpha1"
FLOWS = "/apis/flow.volcano.sh/v1alpha1/namespaces/default"
BATCH = "/apis/batch.volcano.sh/v1alpha1/namespaces/default"


def template(name, script, **spec):
    return {"apiVersion": FLOW, "kind": "JobTemplate", "metadata": {"name": name}, "spec": job(name, task("main", sh(script)), **spec)["spec"]}


def flow(name, *vertices, **spec):
    return {"apiVersion": FLOW, "kind": "JobFlow", "metadata": {"name": name}, "spec": {"flows": list(vertices), **spec}}


def after(name, *targets, **more):
    return {"name": name, **({"dependsOn": {"targets": list(targets)}} if targets else {}), **more}


def cron(name, script="echo hi", **spec):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "0 3 * * *", "timeZone": "Etc/UTC", "jobTemplate": {"spec": job(name, task("main", sh(script)))["spec"]}, **spec}}


# ---- run ----

def runs_a_flow():
    """A diamond, each after the ones before it; a patch changes one of them."""
    r = run([template("a", "echo one"), template("b", "echo two"), template("c", "echo three"), template("d", "echo four"),
             flow("f", after("a"), after("b", "a"), after("c", "a", patch={"jobSpec": {"tasks": [{"name": "main", "replicas": 2}]}}),
                  after("d", "b", "c"))])
    same(r.status, 0)
    same({e["job"] for e in r.of("job") if e["phase"] == "Completed"}, {"f-a", "f-b", "f-c", "f-d"})
    order = [(e["job"], e["phase"]) for e in r.of("job")]
    for first, then in (("f-a", "f-b"), ("f-a", "f-c"), ("f-b", "f-d"), ("f-c", "f-d")):
        assert order.index((first, "Completed")) < min(i for i, (name, _) in enumerate(order) if name == then), order
    same(sorted(r.all_lines()), ["four", "one", "three", "three", "two"])


def a_flow_that_fails():
    r = run_text([template("a", "echo no >&2; exit 7"), template("b", "true"), flow("f", after("a"), after("b", "a"))])
    same(r.status, 7)
    assert "JobFlow f has failed: 1 of its jobs was not started" in r.err, r.err
    assert "f-b" not in r.err, r.err


def options_reach_the_jobs():
    r = run([template("a", "echo $WHO"), flow("f", after("a"))], "--replicas", "f-a/main=2", "--env", "WHO=me", "--fit", "--node", "cpu=1,memory=1Gi")
    same((r.status, r.all_lines()), (0, ["me", "me"]))


def a_flow_that_is_stopped():
    """Its jobs are not made again."""
    r = Run([template("a", "sleep 1000"), template("b", "true"), flow("f", after("a"), after("b", "a"))])
    r.until(lambda r: any(e["phase"] == "Running" for e in r.of("job")))
    r.process.send_signal(signal.SIGTERM)
    r.end()
    same(r.status, 128 + signal.SIGTERM)
    same({e["job"] for e in r.of("job")}, {"f-a"})


def what_cannot_run():
    r = run_text([template("a", "true"), flow("f", after("a"), after("gone"))])
    same(r.status, 1)
    assert 'spec.flows[1].name: no JobTemplate "gone" in these files: add it' in r.err, r.err
    r = run_text([template("a", "true"), job("f-a", task("main", sh("true"))), flow("f", after("a"))])
    assert r.status == 1 and "names must be unique" in r.err, r.err


SERVES = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" else 204)
        self.end_headers()
        if self.path == "/stop":
            os._exit(0)
http.server.HTTPServer(("", 8080), Handler).serve_forever()
"""


def asked_by_network():
    """A service ends when its client says so; the client starts when the service answers. So it ends only if somebody asks."""
    serve, stop = template("a", ""), template("b", "")
    serve["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["command"] = [PYTHON, "-c", SERVES]
    serve["spec"]["plugins"] = {"svc": ["--disable-network-policy=true"]}
    stop["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["command"] = [
        PYTHON, "-c", "import urllib.request as u\ntry: u.urlopen('http://f-a-main-0.f-a:8080/stop')\nexcept ConnectionResetError: pass"]
    probe = {"httpGetList": [{"taskName": "main", "port": 8080, "path": "/ready"}], "tcpSocketList": [{"taskName": "main", "port": 8080}]}
    return [serve, stop, flow("f", after("a"), {"name": "b", "dependsOn": {"targets": ["a"], "probe": probe}})]


def probes_by_network():
    for options in ((), ("--network", "private")) if os.path.exists(PYTHON) else ():
        r = run(asked_by_network(), *options)
        same(r.status, 0)
        same({e["job"] for e in r.of("job") if e["phase"] == "Completed"}, {"f-a", "f-b"})


def a_schedule_runs_once():
    r = run_text([cron("nightly")])
    same((r.status, r.out), (0, "main-0 | hi\n"))
    assert "CronJob nightly: its job runs once, now; a server runs it on schedule" in r.err, r.err


# ---- what is not run ----

def plans_in_order_of_time():
    objects = text_of(template("a", "x"), template("b", "x"), flow("f", after("b", "a"), after("a")), cron("nightly"))
    got = pumice_json("plan", "-", "-o", "json", "--nodes", "1=cpu:4", "--runtime", "10m", "--runtime", "f-b=1h", "--at", "2026-03-01T00:00:00Z",
                      stdin=objects)
    jobs = {j["name"]: (j["start"], j["end"]) for j in got["jobs"]}
    same(jobs, {"f-a": ("2026-03-01T00:00:00Z", "2026-03-01T00:10:00Z"), "f-b": ("2026-03-01T00:10:00Z", "2026-03-01T01:10:00Z"),
                "nightly-29538900": ("2026-03-01T03:00:00Z", "2026-03-01T03:10:00Z")})


def renders_its_jobs():
    items = pumice_json("render", "-", "-o", "json", stdin=text_of(template("a", "x"), flow("f", after("a")), cron("nightly")))["items"]
    same([o["metadata"]["name"] for o in items if o["kind"] == "Job"], ["f-a", "nightly"])


def explains_what_waits():
    """Of a state in files: what each job waits for, and what will never start."""
    def made(name, phase, **more):
        owner = {"apiVersion": FLOW, "kind": "JobFlow", "name": "f", "uid": "u", "controller": True}
        return {**job(name, task("main", sh("x"))), "metadata": {"name": name, "uid": name, "ownerReferences": [owner], **more}, "status": {"state": {"phase": phase}}}
    whole = flow("f", after("a"), after("b", "a"), after("c", "b"), after("d"), after("gone"), after("e", "a", "d"),
                 after("p", "a", patch={}), after("x", "d"), after("mine"))
    whole["metadata"]["uid"] = "u"
    whole["spec"]["flows"][6]["dependsOn"]["probe"] = {"taskStatusList": [{"taskName": "main", "phase": "Running"}]}
    state = [template(n, "x") for n in "abcdepx"] + [template("mine", "x"), whole, made("f-a", "Running"), made("f-d", "Completed"),
                                                     {**job("f-mine", task("main", sh("x"))), "status": {"state": {"phase": "Running"}}}]
    got = pumice_json("explain", "f", "-f", "-", "-o", "json", stdin=text_of(*state))
    rows = {j["name"]: j.get("phase") or j.get("waitsFor") or "never: " + j["neverBecause"] for j in got["jobs"]}
    same(rows, {"f-a": "Running", "f-b": "job f-a to complete (it is Running)", "f-c": "job f-b to complete (it has not started)",
                "f-d": "Completed", "f-gone": "JobTemplate gone, which does not exist", "f-e": "job f-a to complete (it is Running)",
                "f-p": "job f-a to complete (it is Running), or for its probes to pass while that runs",
                "f-x": "the controller, which creates its job next", "f-mine": "job f-mine to be deleted, which this flow does not own"})
    r = pumice("explain", "f-c", "-f", "-", stdin=text_of(*state))
    same((r.returncode, r.stdout), (0, "JobFlow default/f: not begun\n  f-c  waits for  job f-b to complete (it has not started)\n"))
    state[-3] = made("f-a", "Failed")
    rows = {j["name"]: j.get("neverBecause") for j in pumice_json("explain", "jf/f", "-f", "-", "-o", "json", stdin=text_of(*state))["jobs"]}
    same((rows["f-b"], rows["f-c"], rows["f-x"]), ("job f-a has failed", "job f-a has failed", None))
    r = pumice("explain", "f-z", "-f", "-", stdin=text_of(*state))
    assert r.returncode == 1 and "no Job, PodGroup or JobFlow \"f-z\"" in r.stderr, r.stderr


def says_what_is_wrong():
    r = pumice("validate", "-", stdin=text_of(flow("f", after("a", "b"), after("b", "a")), cron("c", schedule="61 * * * *", timeZone="Mars/Olympus")))
    same(r.returncode, 1)
    for text in ("spec.flows: jobflow Flow is not DAG: a -> b -> a", 'spec.schedule: schedule is not a valid cron expression: minute "61": must be 0 to 59',
                 "spec.timeZone: invalid timeZone Mars/Olympus"):
        assert text in r.stderr, (text, r.stderr)


# ---- a server ----

def served_flow(s):
    watch_from = s.ok("GET", f"{FLOWS}/jobflows")["metadata"]["resourceVersion"]
    s.ok("POST", f"{FLOWS}/jobflows", flow("f", after("a"), after("b", "a"), jobRetainPolicy="delete"))
    told = pumice("explain", "f", "--kubeconfig", s.config).stdout
    assert "f-a  waits for  JobTemplate a, which does not exist" in told and "f-b  waits for  job f-a to complete" in told, told
    s.ok("POST", f"{FLOWS}/jobtemplates", template("b", "echo two"))
    s.ok("POST", f"{FLOWS}/jobtemplates", template("a", "echo one"))  # it comes late
    done = until("the flow succeeds", lambda: (o := s.ok("GET", f"{FLOWS}/jobflows/f"))["status"].get("state") == {"phase": "Succeed"} and o)
    same(done["status"]["completedJobs"], ["f-a", "f-b"])
    same([h["state"] for h in done["status"]["jobStatusList"][1]["runningHistories"]][-1], "Completed")
    until("its jobs are gone", lambda: not s.ok("GET", f"{BATCH}/jobs")["items"])
    until("no template has jobs", lambda: not s.ok("GET", f"{FLOWS}/jobtemplates/a").get("status", {}).get("jobDependsOnList"))
    table = s.ok("GET", f"{FLOWS}/jobflows", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    same(([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"][:2]), (["Name", "Status", "Age"], ["f", "Succeed"]))
    assert int(watch_from) > 0


def served_schedule(s):
    """A slot that was missed is made up for at once: the last of them."""
    s.ok("POST", f"{BATCH}/cronjobs", cron("c", "echo $HOSTNAME", schedule="*/30 * * * *", suspend=True))
    made = s.ok("GET", f"{BATCH}/cronjobs/c")
    same([made["spec"][k] for k in ("concurrencyPolicy", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")], ["Allow", 3, 1])
    long_ago = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    s.ok("PATCH", f"{BATCH}/cronjobs/c/status", {"status": {"lastScheduleTime": long_ago}}, type="application/merge-patch+json")
    s.ok("PATCH", f"{BATCH}/cronjobs/c", {"spec": {"suspend": False}}, type="application/merge-patch+json")
    until("its job completes", lambda: s.ok("GET", f"{BATCH}/cronjobs/c")["status"].get("lastSuccessfulTime"))
    jobs = s.ok("GET", f"{BATCH}/jobs")["items"]
    same(len(jobs), 1)
    slot = jobs[0]["metadata"]["annotations"]["volcano.sh/cronjob-scheduled-timestamp"]
    minute = int(datetime.datetime.fromisoformat(slot.replace("Z", "+00:00")).timestamp()) // 60
    same((jobs[0]["metadata"]["name"], minute % 30), (f"c-{minute}", 0))
    same(jobs[0]["spec"]["minAvailable"], 1)
    s.ok("DELETE", f"{BATCH}/cronjobs/c")
    until("its job goes with it", lambda: not s.ok("GET", f"{BATCH}/jobs")["items"])


def served_refusals(s):
    for path, body, field in ((f"{FLOWS}/jobflows", flow("x", after("a", "a")), "spec.flows[0].dependsOn.targets[0]"),
                              (f"{FLOWS}/jobtemplates", {**template("x", ""), "spec": {"tasks": []}}, "spec.tasks"),
                              (f"{BATCH}/cronjobs", cron("x", schedule="TZ=UTC * * * * *"), "spec.schedule")):
        status, answer = s.call("POST", path, body)
        assert status == 422 and field in [c["field"] for c in answer["details"]["causes"]], (status, answer)


def served_ordinary_people(s):
    """Whoever may not run what he likes may not do it by a template, a schedule or a patch of somebody else's template."""
    made = pumice("server", "user", "add", "ann", "--token", "--edit", "-n", "default", "--data-dir", s.data)
    token = re.search(r"token: (\S+)", made.stdout)[1]
    change = {"jobSpec": {"tasks": [{"name": "main", "template": {"spec": {"containers": [{"name": "main", "command": ["id"]}]}}}]}}
    until("she is known", lambda: s.call("GET", f"{FLOWS}/jobflows", token=token)[0] == 200)
    for path, body, field in ((f"{FLOWS}/jobtemplates", template("t", "id"), "spec.tasks[0].template.spec"),
                              (f"{BATCH}/cronjobs", cron("t"), "spec.jobTemplate.spec.tasks[0].template.spec"),
                              (f"{FLOWS}/jobflows", flow("t", after("a", patch=change)), "spec.flows[0]: ann, who wrote the JobFlow, may not create this Job: tasks[0].template.spec")):
        status, answer = s.call("POST", path, body, token=token)
        assert status == 403 and field in answer["message"], (path, status, answer)
    small = flow("t", after("gone", patch={"jobSpec": {"tasks": [{"name": "main", "replicas": 2}]}}))
    same(s.call("POST", f"{FLOWS}/jobflows", small, token=token)[0], 201)
    s.ok("DELETE", f"{FLOWS}/jobflows/t")


def main():
    suite = Suite()
    for case in (plans_in_order_of_time, renders_its_jobs, explains_what_waits, says_what_is_wrong):
        suite.case(case.__name__, case)
    try:
        s = Server()
    except AssertionError as e:
        if not is_machine_unfit(e):
            raise
        print(f"the rest is skipped: {e}")
        return suite.finish()
    try:
        for case in (served_refusals, served_flow, served_schedule, served_ordinary_people):
            suite.case(case.__name__, lambda c=case: c(s))
    finally:
        s.stop()
    for case in (runs_a_flow, a_flow_that_fails, options_reach_the_jobs, probes_by_network, a_flow_that_is_stopped, what_cannot_run, a_schedule_runs_once):
        suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
