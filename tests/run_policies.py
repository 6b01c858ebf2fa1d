#!/usr/bin/env python3
"""Lifecycle policies with real processes that fail, get killed or are evicted."""
import sys
import time

from harness import Suite
from runs import Run, job, on, run, same, sh, task

ENV = {"env": ["--extended=true"]}
# Counts every start of the whole job, also one that costs no retry.
VERSION = [{"name": "VERSION", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['volcano.sh/job-version']"}}}]
# The first run of the job fails (or what is asked for), the next is fine.
ONCE = "[ $VC_RETRY_COUNT != 0 ] || { sleep 0.1; %s; }; echo fine"
WAITS = sh("trap 'exit 0' TERM; echo waiting; sleep 60 & wait")


def fails_once(how="exit 3"):
    return sh(ONCE % how)


def count(r, pod, line):
    return r.lines(pod).count(line)


def restart_job():
    r = run(job("j", task("a", fails_once()), task("b", sh("echo begin; sleep 0.4")), plugins=ENV,
                policies=[on("PodFailed", "RestartJob")])).done()
    assert "Restarting" in r.phases(), r.phases()
    same((r.decisions(), len(r.uids("a-0")), len(r.uids("b-0"))), (["RestartJob"], 2, 2))
    same(count(r, "b-0", "begin"), 2)


def restart_job_when_killed():
    """137 is what a shell and Kubernetes call it. ($$ in a command stands for one $.)"""
    r = run(job("j", task("a", fails_once("kill -9 $$$$")), plugins=ENV, policies=[on(137, "RestartJob")])).done()
    same(len(r.uids("a-0")), 2)
    failed = next(e for e in r.of("pod") if e["state"] == "failed")
    same((failed["exitCode"], failed["reason"]), (137, "Error"))


def restart_task():
    r = run(job("j", task("a", sh("echo begin; sleep 0.2; [ $VC_TASK_INDEX = 0 ] || sleep 0.5; [ $VC_RETRY_COUNT != 0 ] || exit 1"),
                          replicas=2, policies=[on("PodFailed", "RestartTask")]),
                task("b", sh("echo begin; sleep 1.5")), plugins=ENV)).done()
    same((len(r.uids("a-0")), len(r.uids("a-1")), len(r.uids("b-0"))), (2, 2, 1))
    same(r.decisions(), ["RestartTask"])


def restart_pod():
    r = run(job("j", task("a", sh("echo begin; sleep 0.2; [ $VC_TASK_INDEX = 1 ] || [ $VC_RETRY_COUNT != 0 ] || exit 1; sleep 1"),
                          replicas=2, policies=[on("PodFailed", "RestartPod")]), plugins=ENV)).done()
    same((len(r.uids("a-0")), len(r.uids("a-1"))), (2, 1))


def abort_job():
    """All pods stop; the run ends, with the status of the one that failed."""
    r = run(job("j", task("a", sh("sleep 0.2; exit 7")), task("b", WAITS), policies=[on("PodFailed", "AbortJob")]))
    r.done("Aborted", 7)
    same((r.decisions(), r.states()["j-b-0"]), (["AbortJob"], "stopped"))


def command(name, action, after):
    """As `vcctl job suspend` and `resume` write it, some time after the beginning."""
    return {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
            "metadata": {"name": name, "annotations": {"pumice.dev/submit-after": after}}, "action": action,
            "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j"}}


def resume_job():
    j = job("j", task("a", sh("sleep 2; echo version $VERSION"), env=VERSION))
    r = run([j, command("j-abortjob-1", "AbortJob", "1s"), command("j-resumejob-2", "ResumeJob", "2500ms")]).done()
    phases = [p for p in r.phases() if p in ("Aborting", "Restarting", "Completed")]
    same(phases, ["Aborting", "Restarting", "Completed"])


def terminate_job():
    r = run(job("j", task("a", sh("sleep 0.2; exit 9")), task("b", WAITS), policies=[on("PodFailed", "TerminateJob")]))
    r.done("Terminated", 9)
    same(r.decisions(), ["TerminateJob"])


def complete_job():
    r = run(job("j", task("a", sh("sleep 0.2"), policies=[on("TaskCompleted", "CompleteJob")]), task("b", WAITS, replicas=2)))
    r.done()
    same((r.decisions(), r.states()["j-b-0"], r.states()["j-b-1"]), (["CompleteJob"], "stopped", "stopped"))


def complete_job_on_failure():
    run(job("j", task("a", sh("sleep 0.2; exit 1")), task("b", WAITS), policies=[on("PodFailed", "CompleteJob")])).done()


def exit_codes():
    policies = [on(3, "RestartJob"), on(4, "AbortJob"), on("PodFailed", "TerminateJob")]
    for code, phase, status in ((3, "Completed", 0), (4, "Aborted", 4), (5, "Terminated", 5)):
        run(job("j", task("a", fails_once(f"exit {code}")), plugins=ENV, policies=policies)).done(phase, status)


def policy_of_the_task_comes_first():
    run(job("j", task("a", sh("exit 3"), policies=[on("PodFailed", "AbortJob")]), policies=[on("*", "RestartJob")])).done("Aborted", 3)


def any_event():
    r = run(job("j", task("a", fails_once()), plugins=ENV, policies=[on("*", "RestartJob")]))
    same(r.decisions()[0], "RestartJob")


def retries_run_out():
    r = run(job("j", task("a", sh("exit 3")), policies=[on("PodFailed", "RestartJob")], maxRetry=3))
    r.done("Failed", 3)
    same(len(r.uids("a-0")), 3)


def no_policy():
    """As many as minAvailable must succeed."""
    run(job("j", task("a", sh("exit 2")))).done("Failed", 2)
    run(job("j", task("a", sh("[ $VC_TASK_INDEX = 0 ]"), replicas=2), plugins=ENV, minAvailable=1, minSuccess=1)).done()


def restart_in_place():
    """restartPolicy OnFailure: the same pod, another attempt."""
    r = run(job("j", task("a", sh("echo try; [ -e /data/mark ] && exit 0; touch /data/mark; exit 1"),
                          pod={"restartPolicy": "OnFailure", "volumes": [{"name": "data", "emptyDir": {}}]},
                          volumeMounts=[{"name": "data", "mountPath": "/data"}]))).done()
    same((count(r, "a-0", "try"), len(r.uids("a-0"))), (2, 1))


def timeouts():
    """A policy with a timeout acts later; a pod that is well again before that stops it."""
    begin = time.monotonic()
    r = run(job("j", task("a", sh("exit 1")), task("b", WAITS),
                policies=[{"event": "PodFailed", "action": "TerminateJob", "timeout": "2s"}]))
    r.done("Terminated", 1)
    assert time.monotonic() - begin >= 2, "too early"
    same([(e["job"], e["pod"], e["action"]) for e in r.of("timer")], [("j", "j-a-0", "TerminateJob")])
    same(r.decisions(), ["TerminateJob"])


def pending_too_long():
    """Let in on credit while another job has the place: its pod waits, and does not wait for ever."""
    first = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "first"}, "value": 9}
    r = run([first, job("busy", task("a", sh("sleep 3"), resources={"requests": {"cpu": "9"}}), priorityClassName="first"),
             job("j", task("a", sh("true"), resources={"requests": {"cpu": "2"}}),
                 policies=[{"event": "PodPending", "action": "AbortJob", "timeout": "1s"}])], "--node", "cpu=10,memory=1Gi")
    same((r.phase("busy"), r.phase("j")), ("Completed", "Aborted"))


def start_eviction():
    """A more urgent job takes the places of three others: their pods are evicted, their policies decide. A pod that runs for less than
    a minute is never evicted, so this goes on beside the other cases."""
    one = {"requests": {"cpu": "1"}}
    classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": n}, "value": v}
               for n, v in (("urgent", 1000), ("usual", 1))]
    # The second task comes when the first one is ready: by then the others have their places.
    urgent = job("urgent", task("a", sh("sleep 61.5"), resources=one, readinessProbe={
        "exec": {"command": ["/bin/true"]}, "initialDelaySeconds": 2, "periodSeconds": 1}),
        task("b", sh("sleep 0.2"), replicas=3, depends=["a"], resources=one), priorityClassName="urgent")
    usual = [job(action.lower(), task("a", sh("[ $VERSION != 0 ] || sleep 90"), resources=one, env=VERSION),
                 priorityClassName="usual", policies=[on("PodEvicted", action)]) for action in EVICTED]
    return Run([*classes, *usual, urgent], "--node", "cpu=4,memory=1Gi")


EVICTED = {"AbortJob": "Aborted", "RestartJob": "Completed", "TerminateJob": "Terminated"}


def eviction(r):
    r.end()
    same(r.phase("urgent"), "Completed")
    same({a: r.phase(a.lower()) for a in EVICTED}, EVICTED)
    same(sorted(r.decisions()), sorted(EVICTED))


def main():
    suite = Suite()
    evicting = start_eviction() if len(sys.argv) == 1 or "eviction" in sys.argv else None
    for f in (restart_job, restart_job_when_killed, restart_task, restart_pod, abort_job, resume_job, terminate_job, complete_job,
              complete_job_on_failure, exit_codes, policy_of_the_task_comes_first, any_event, retries_run_out, no_policy,
              restart_in_place, timeouts, pending_too_long):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    if evicting:
        suite.case("eviction", lambda: eviction(evicting))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
