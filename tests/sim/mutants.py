#!/usr/bin/env python3
"""Break the program in small ways, one at a time, and show that the simulation notices.

Each mutant is an edit of one source file in a copy of the tree. The copy is compiled (-O1, only what pumice-sim needs)
and run over the scripted lives, the kept seeds and a fixed range of seeds; a mutant that all let pass is an error, and so is an
edit whose old text is no longer there exactly once: then the list has fallen behind the code.

    mutants.py [--seeds N] [--steps M] [--timeout S] [--only WORD]
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["base", "os", "json", "api", "plugin", "job", "controller", "flow", "sched", "store", "cluster", "driver", "whatif"]
CC = os.environ.get("CC", "cc")
FLAGS = ["-std=gnu17", "-O1", "-D_GNU_SOURCE", '-DPUMICE_VERSION="0"', "-fno-strict-aliasing", "-w"]

# (file, old text, new text, what it breaks)
MUTANTS = [
    ("src/job/phase.c", "PHASE_RESTARTING, .bumps_version = true, .is_retry = true", "PHASE_RESTARTING, .is_retry = true",
     "a whole restart does not bump the version"),
    ("src/job/pods.c", "pod->view.version >= p->version ? POD_LIVE : POD_OLD", "pod->view.version >= 0 ? POD_LIVE : POD_OLD",
     "the version of a pod is not looked at"),
    ("src/job/decide.c", "    d->retry_count += costs_retry;\n", "",
     "retries are not counted"),
    ("src/job/controller.c", "        return nothing;\n    }\n    outcome = steps[d.phase]", "    }\n    outcome = steps[d.phase]",
     "acts before the status is written"),
    ("src/job/steps.c", "pod->name, str_of(pod->view.uid) })\n            ->rev", "pod->name, STR_NULL })\n            ->rev",
     "pods are deleted by name only"),
    ("src/job/steps.c", "if (next != PHASE_NONE && left == 0)", "if (next != PHASE_NONE)",
     "does not wait for the pods to go"),
    ("src/job/kill.c", "    if (pod->class == POD_SURPLUS)\n        return true;\n", "    if (pod->class == POD_SURPLUS)\n        return false;\n",
     "pods beyond the replicas stay"),
    ("src/job/status.c", "    if (!kill_is_on(d->phase))\n", "    if (1)\n",
     "pods are killed before the status says so"),
    ("src/job/decide.c", "    *vec_push(d->arena, &d->memo.commands) = (struct memo_command){ uid, now_ms };\n", "    (void)uid;\n",
     "an obeyed command is not remembered"),
    ("src/job/status.c", "            json_unlink(list, c);\n", "            (void)next;\n",
     "conditions pile up"),
    ("src/job/phase.c", "    [PHASE_ABORTED] = { [ACTION_RESUME] = KILL(RESTARTING) },\n",
     "    [PHASE_ABORTED] = { [ACTION_RESUME] = KILL(RESTARTING) },\n"
     "    [PHASE_COMPLETED] = { [ACTION_RESTART] = KILL(RESTARTING) },\n",
     "a finished job can be restarted"),
    ("src/job/ensure.c", "    if (!g->exists || !g->raw || g->is_deleting)\n        return;\n    type = g->is_native",
     "    if (1)\n        return;\n    type = g->is_native",
     "the PodGroup of a finished job stays"),
    ("src/job/pods.c", "        bit_set(t->done, pod->index);\n        t->n_done++;\n", "",
     "what has succeeded is forgotten"),
    ("src/controller/ttl.c", "|| !ttl_is_finished(job))", ")", "jobs go before they have finished"),
    ("src/controller/gc.c", "    if (!owner->exists)\n        return TIE_GONE;\n", "", "dependents of a deleted owner stay"),
    ("src/driver/request.c", "n_creates++;\n    pods_flight_create(&j->pods, f->task, f->index, f->sent_ms);", "n_creates++;",
     "a pod on its way is forgotten"),
    ("src/driver/request.c", "    f->blocks = !f->is_loose &&", "    f->blocks = false && !f->is_loose &&",
     "plans while the status is on its way"),
    ("src/job/decide.c", "if (d->memo.timers.v[i].deadline_ms > plan->now_ms)", "if (d->memo.timers.v[i].deadline_ms >= 0)",
     "delayed actions never come"),
    ("src/driver/request.c", "    delay = work_queue_add_failed(&d->queue, f->key, d->run_ms);\n", "    delay = 5;\n",
     "what failed is not tried again"),
    ("src/driver/cache.c", "    return t && rev <= t->rev;", "    return (void)t, (void)rev, false;",
     "a deleted job comes back with a late event"),
    # the scheduler
    ("src/sched/gang/gang.c", "    return w->lacks <= 0;\n", "    return w->t->seats.n > 0 || w->lacks <= 0;\n",
     "a gang is bound in part"),
    ("src/sched/queue/share.c", "        if (t->ask->v[dim] <= 0)\n            continue;\n        no = refusing", "        if (1)\n            continue;\n        no = refusing",
     "queues have no limits"),
    ("src/sched/gang/hold.c", "    if (!c)\n        return;\n    hold_lift(m, c);\n", "    if (!c || c->n)\n        return;\n    hold_lift(m, c);\n",
     "places that were kept are kept for ever"),
    ("src/sched/sched.c", "    model_set_pod(&s->m, p, POD_PENDING, NULL);\n", "",
     "a pod that could not be bound keeps its place"),
    ("src/driver/sched_write.c", "    sched_failed(d->schedule.sched, &what, str_of(error->text));\n", "",
     "the scheduler is not told that a binding failed"),
    ("src/driver/sched_write.c",
     "        wish->failed = kind;\n        wish->rests_until = d->run_ms + work_queue_add_failed(&d->queue, wish->key, d->run_ms);\n",
     "        wish->failed = kind;\n",
     "what the scheduler wanted is not tried again"),
    ("src/job/steps.c", "->rev = pod->view.rev;", ";",
     "pods of which nobody has heard that they succeeded are deleted"),
    ("src/driver/contest.c", "    return type != known_types()->pod && type != known_types()->event;", "    return (void)type, false;",
     "two controllers answer each other at once"),
    ("src/sched/sched.c", "    return p->class->is_coupled ||\n           fit_node(", "    return true ||\n           fit_node(",
     "bindings that waited go to nodes that take no pods"),
    ("src/sched/sched.c", "if (share_is_exceeded(", "if (0 && share_is_exceeded(",
     "bindings that waited go beyond what their queue may have"),
    ("src/sched/model/feed_node.c", "ret->is_unschedulable = json_bool(json_get(spec, \"unschedulable\"), false);", "ret->is_unschedulable = false;",
     "cordoned nodes are used"),
    ("src/sched/evict/evict.c", "v->queue == h->g->queue && v->spec.priority < h->g->spec.priority;", "v->queue == h->g->queue;",
     "jobs of the same priority are evicted"),
    ("src/sched/status.c", "json_int(r->a, g->counts.n[POD_RUNNING])",
     "json_int(r->a, g->counts.n[POD_RUNNING] + g->counts.n[POD_PENDING])",
     "a PodGroup counts pods that wait as running"),
    ("src/driver/sched_feed.c", "        cache_bury(&d->cache, f->uid, rev);\n        remove_known(d, t, f);\n    }\n}", "    }\n}",
     "what a list no longer mentions stays with the scheduler"),
    ("src/driver/schedule.c", "s->wake_ms <= d->run_ms || (s->has_news", "(s->has_news",
     "the scheduler is not woken by time"),
    # what makes jobs
    ("src/flow/jobflow.c", "if (!is_completed(target) && !(has_probes(probes) && target->job))", "if (!target->job)",
     "a vertex does not wait for the end of those before it"),
    ("src/flow/jobflow.c", "    else if (phase_is_final(job_phase_of(last)))\n        v.phase = last;\n", "",
     "what a flow has done is forgotten when the job is gone"),
    ("src/flow/jobflow.c", "if (f.phase == FLOW_SUCCEED &&\n", "if (f.phase >= FLOW_RUNNING &&\n", "jobs of a flow go while it runs"),
    ("src/flow/jobflow_status.c", "    if (n_all && n_completed == n_all)\n", "    if (n_completed == n_all && n_failed)\n", "no flow succeeds"),
    ("src/flow/cronjob.c", "if (str_is(policy, \"Forbid\")) {", "if (0) {", "jobs of a CronJob that forbids it run beside each other"),
    ("src/flow/cronjob.c", "if (!str_is(policy, \"Replace\") || is_deleting(job))", "if (is_deleting(job))",
     "jobs of a CronJob that allows them beside each other are replaced"),
    ("src/flow/cronjob.c", "            cronjob_advance(status, a, \"lastScheduleTime\", cronjob_slot_of(v->jobs[i]));\n", "            (void)0;\n",
     "a slot is run again when its job is gone"),
    ("src/flow/cronjob.c", "n++ < max)", "n++ < max + 1)", "one job too many is kept"),
    ("src/driver/flows.c", "if (!before || !looks_the_same(before, now))", "if (!before)", "who made a job is not told what becomes of it"),
]


def kept():
    """The seeds that once found a bug of the job controller, or are kept for a mutant ("where …"), as arguments. The range finds
    those of the scheduler."""
    for line in (ROOT / "tests" / "sim" / "seeds.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            seed, steps, profile, what = line.split(maxsplit=3)
            if not profile.startswith("placer/") and not what.startswith("where "):
                continue
            yield ["--seed", seed, "--steps", steps, "--profile", profile]


# Beyond the range of seeds: what catches an obeyed command that is forgotten, bindings that waited, and victims of the same priority.
FAR = [["--seed", seed, "--steps", steps] for seed, steps in (("232", "60"), ("266", "60"), ("294", "60"), ("6414", "200"))]
KEPT = [*kept(), *FAR]


def sources(root):
    found = []
    for folder in FOLDERS:
        found += sorted(f for f in (root / "src" / folder).rglob("*.c") if f.parent.name != "test")
    return [*found, root / "src" / "cluster" / "test" / "sim_net.c", *sorted((root / "tests" / "sim").glob("*.c"))]


def object_of(root, source):
    return root / "obj" / (str(source.relative_to(root)).replace("/", "_") + ".o")


def compile_one(root, source):
    out = object_of(root, source)
    out.parent.mkdir(exist_ok=True)
    cmd = [CC, *FLAGS, "-I", str(root / "src"), "-c", str(source), "-o", str(out)]
    done = subprocess.run(cmd, capture_output=True, text=True)
    return done.returncode, done.stderr


def compile_all(root, list_of_sources):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, text in pool.map(lambda s: compile_one(root, s), list_of_sources):
            if code:
                sys.exit("mutants: the tree does not compile:\n" + text)


def link(root):
    objects = [str(object_of(root, s)) for s in sources(root)]
    subprocess.run([CC, "-o", str(root / "pumice-sim"), *objects, "-lcrypto", "-lmnl", "-lsqlite3", "-lz"], check=True)


def runs(args, file):
    """What is run to find a mutant of this file; None: of all."""
    seeds = ["--seed", "1", "--seeds", str(args.seeds), "--steps", str(args.steps)]
    usual, flows = [["--crash-every"], *KEPT, seeds], [["--seed", "1", "--seeds", str(args.seeds // 5), "--steps", "60", "--profile", "flows"]]
    return usual + flows if file is None else flows if "flow" in file else usual


def run(root, args, file=None):
    """Exit status of the simulation: 0 it saw nothing. A crash or an endless loop counts as seen."""
    for extra in runs(args, file):
        try:
            done = subprocess.run([str(root / "pumice-sim"), *extra], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  timeout=args.timeout)
        except subprocess.TimeoutExpired:
            return 1, "did not end"
        if done.returncode:
            said = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith(("seed ", "life "))]
            return done.returncode, said[0] if said else "crashed"
    return 0, ""


def try_mutant(root, mutant, args):
    file, old, new, what = mutant
    path = root / file
    text = path.read_text()
    if text.count(old) != 1:
        return "STALE", f"the old text is there {text.count(old)} times in {file}"
    path.write_text(text.replace(old, new))
    try:
        code, error = compile_one(root, path)
        if code:
            return "STALE", "does not compile: " + error.strip().splitlines()[0]
        link(root)
        code, said = run(root, args, file)
    finally:
        path.write_text(text)
        compile_one(root, path)
    return ("caught", said) if code else ("SURVIVED", what)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=120)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--timeout", type=int, default=30)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="mutants.") as folder:
        root = pathlib.Path(folder)
        shutil.copytree(ROOT / "src", root / "src")
        shutil.copytree(ROOT / "tests" / "sim", root / "tests" / "sim")
        compile_all(root, sources(root))
        link(root)
        code, said = run(root, args)
        if code:
            sys.exit("mutants: the simulation fails without any mutant: " + said)
        for mutant in MUTANTS:
            if args.only not in mutant[3]:
                continue
            state, said = try_mutant(root, mutant, args)
            bad += state != "caught"
            print(f"{state:9} {mutant[3]}: {said[:150]}", flush=True)
    print(f"cases: {len(MUTANTS) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
