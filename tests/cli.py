#!/usr/bin/env python3
"""The command line as its user meets it: help, usage errors, forms of output, masking, explaining."""
import contextlib
import copy
import glob
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

from harness import PUMICE, Suite, fine, free_port, objects_by_kind, pumice, pumice_json, same, until

HERE = os.path.dirname(os.path.abspath(__file__))
MPI = os.path.join(HERE, "seeds", "mpi.yaml")
EXAMPLES = sorted(glob.glob(os.path.join(HERE, "..", "examples", "*", "job.yaml")))
COMMANDS = ("render", "validate", "plugins", "version")


# ---- wrong use ----

def help_everywhere():
    for args in (["--help"], ["-h"], ["help"]):
        text = fine(pumice(*args))
        for name in COMMANDS:
            assert name in text, text
    for name in COMMANDS:
        text = fine(pumice(name, "--help"))
        assert text.startswith(f"Usage: pumice {name}"), text
        same(fine(pumice("help", name)), text)


def wrong_use_is_status_2():
    for args, part in ((["rendr", "x"], "did you mean 'render'?"), (["render"], "no file"),
                       (["render", "--onyl", "pod", MPI], "did you mean --only?"), (["render", "-o", "xml", MPI], "yaml"),
                       (["render", "-x", MPI], "-x"), (["render", MPI, "--only"], "needs a value"),
                       (["render", "--only", "spaceship", MPI], "spaceship"), (["render", "--explain=1", MPI], "no value"),
                       (["version", "now"], "no arguments"), (["plugins", "--only", "nope"], "nope"), (["--nope"], "--nope")):
        run = pumice(*args)
        same((args, run.returncode), (args, 2))
        assert part in run.stderr, (args, run.stderr)
        same(run.stdout, "")
    same(pumice().returncode, 2)


def version():
    assert re.fullmatch(r"pumice \d+\.\d+\.\d+ \(batch\.volcano\.sh/v1alpha1\)\n", fine(pumice("version")))
    same(fine(pumice("--version")), fine(pumice("version")))


def manual_is_valid_roff():
    run = subprocess.run(["man", "--warnings=all", "-l", "-"], input=fine(pumice("manual")), capture_output=True,
                         text=True, env=dict(os.environ, MANWIDTH="100", LC_ALL="C.UTF-8"))
    same((run.returncode, run.stderr), (0, ""))
    for name in COMMANDS:
        assert f"pumice {name}" in run.stdout, name


def no_colour_unless_terminal():
    for args in (["render", "-o", "tree", MPI], ["validate", MPI], ["plugins"]):
        run = pumice(*args)
        assert "\033" not in run.stdout + run.stderr, args


def colour_on_a_terminal():
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE")}
    for env, is_coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"CLICOLOR": "0"}, False), ({"TERM": "dumb"}, False),
                             ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True)):
        out = subprocess.run(["script", "-qec", f"{PUMICE} render -o tree {MPI}", "/dev/null"], capture_output=True, text=True,
                             env={**plain, "TERM": "xterm", **env}).stdout
        same((env, "\033[" in out), (env, is_coloured))


# ---- render ----

def yaml_and_json_say_the_same():
    for path in EXAMPLES:
        docs = [d for d in yaml.safe_load_all(fine(pumice("render", path))) if d]
        same(docs, pumice_json("render", "-o", "json", path)["items"])


def differs_from_volcano_as_the_page_says():
    """Rows of docs/compatibility.md that no other test has: what is changed in the job, then words of an error, or of a warning (W …)."""
    def job(**change):
        container = {"name": "c", "image": "i", **change.pop("container", {})}
        pod = {"restartPolicy": "Never", "containers": [container], **change.pop("pod", {})}
        return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
                "spec": {"tasks": [{"name": n, "replicas": 1, "template": {"spec": pod}} for n in ("head", "worker")], **change}}

    def volume(**source):
        return {"pod": {"volumes": [{"name": "v", **source}]}}

    def asks(cpu):
        return {"container": {"resources": {"requests": {"cpu": cpu}}}}
    for change, want in ((volume(nfs={"server": "s", "path": "rel"}), "nfs.path: must be an absolute path"), ({"networkTopology": {"mode": ""}}, "networkTopology.mode: "),
                         ({"priorityClassName": ""}, ""), (asks(None), ""), ({"plugins": {"env": None}}, ""), (asks("1,000"), "not a quantity"),
                         ({"container": {"ports": [{"containerPort": 1, "hostIP": "x"}]}}, "W hostIP: is no IPv4 or IPv6 address"),
                         (volume(projected={"sources": [{}]}), "W projected.sources[0]: names no projection"), (volume(emptyDir={"medium": "x"}), "W emptyDir.medium: "),
                         ({**volume(emptyDir={}), "container": {"volumeMounts": [{"name": "v", "mountPath": "/a:b"}]}}, "W mountPath: contains ':'"),
                         ({"plugins": {"ray": ["--port=8888", "--dashboardPort=8888"]}}, "ports gcs and dashboard are both 8888")):
        run = pumice("validate", "-", stdin=json.dumps(job(**change)))
        same((change, run.returncode), (change, 1 if want and not want.startswith("W ") else 0))
        assert want.removeprefix("W ") in run.stderr, (want, run.stderr)
    same(pumice("validate", "-", stdin=json.dumps(job(**asks("10"))).replace('"10"', '"1\\u0030"')).returncode, 0)

    def rendered(**change):
        return json.loads(fine(pumice("render", "-o", "json", "-", stdin=json.dumps(job(**change)))))["items"]
    for args in (["--disable-network-policy= true "], ["--", "--disable-network-policy"]):
        assert "NetworkPolicy" not in {o["kind"] for o in rendered(plugins={"svc": args})}, args
    pods = [o for o in rendered(plugins={"svc": [], "ssh": ["--ssh-key-file-path=/root/.ssh/"]}) if o["kind"] == "Pod"]
    same({v["secret"]["defaultMode"] for p in pods for v in p["spec"]["volumes"] if "secret" in v}, {0o600})
    group = [o for o in rendered(container={"resources": {"requests": {"kubernetes.io/x": 1}}}) if o["kind"] == "PodGroup"][0]
    same(group["spec"]["minResources"]["kubernetes.io/x"], "2")


def order_of_creation():
    kinds = [o["kind"] for o in pumice_json("render", "-o", "json", MPI)["items"]]
    same(kinds, ["Job", "ConfigMap", "Service", "NetworkPolicy", "Secret", "PodGroup", "Pod", "Pod", "Pod"])
    names = [o["metadata"]["name"] for o in pumice_json("render", "-o", "json", MPI)["items"]][-3:]
    same(names, ["lm-mpi-job-mpimaster-0", "lm-mpi-job-mpiworker-0", "lm-mpi-job-mpiworker-1"])


def native_gangs():
    """As `controller --native-podgroups` makes them (tests/kube/native.py compares the two)."""
    items = pumice_json("render", "-o", "json", "--native-podgroups", MPI)["items"]
    same([o["kind"] for o in items], ["Job", "ConfigMap", "Service", "NetworkPolicy", "Secret", "Workload", "PodGroup", "Pod", "Pod", "Pod"])
    workload, group, pods = items[5], items[6], items[7:]
    same({o["apiVersion"] for o in (workload, group)}, {"scheduling.k8s.io/v1beta1"})
    same(group["spec"]["schedulingPolicy"], {"gang": {"minCount": items[0]["spec"]["minAvailable"]}})
    same({p["spec"]["schedulingGroup"]["podGroupName"] for p in pods}, {group["metadata"]["name"]})
    same({p["spec"]["schedulerName"] for p in pods}, {"default-scheduler"})
    same(pumice_json("render", "-o", "json", "--native-podgroups", "--only", "workload", MPI)["items"], [workload])
    assert "gang of" in fine(pumice("render", "-o", "tree", "--native-podgroups", MPI))


def json_list():
    out = pumice_json("render", "-o", "json", MPI)
    same((out["apiVersion"], out["kind"]), ("v1", "List"))
    same(pumice_json("render", "-o", "json", "--only", "pvc", MPI)["items"], [])


def standard_input():
    with open(MPI) as f:
        same(fine(pumice("render", "--only", "cm", "-", stdin=f.read())), fine(pumice("render", "--only", "cm", MPI)))


def standard_input_has_a_name():
    with open(MPI) as f:
        job = f.read()
    assert fine(pumice("validate", "-", stdin=job)).startswith("standard input: Job lm-mpi-job is fine")
    assert pumice("validate", "-", stdin="[").stderr.startswith("standard input:2:1: error: ")
    assert "no Volcano Job in standard input" in pumice("render", "-", stdin="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}").stderr


def lists():
    """List as kubectl prints it, JobList as the API sends it: there the items do not name their kind."""
    job = {k: v for k, v in SSH_JOB.items() if k not in ("apiVersion", "kind")}
    for kind, version, item in (("List", "v1", SSH_JOB), ("JobList", SSH_JOB["apiVersion"], job)):
        text = json.dumps({"apiVersion": version, "kind": kind, "items": [item]})
        same(pumice_json("render", "-o", "json", "--only", "pod", "-", stdin=text),
             pumice_json("render", "-o", "json", "--only", "pod", "-", stdin=json.dumps(SSH_JOB)))


def only_in_a_tree():
    text = fine(pumice("render", "-o", "tree", "--only", "secret", MPI))
    same([line.split()[:2] for line in text.splitlines()], [["Job", "default/lm-mpi-job"], ["├──", "Secret"], ["└──", "5"]])


def only_that_matches_nothing():
    run = pumice("render", "--only", "pod/nobody", MPI)
    same((run.returncode, run.stdout, run.stderr.count("matches nothing")), (0, "", 1))


def summary_of_an_empty_gang():
    text = fine(pumice("render", "-o", "summary", "-", stdin=json.dumps(scaled(SSH_JOB, 0))))
    assert "needs" not in text, text


def only():
    for word in ("pod", "pods", "Pod", "po", "pods/lm-mpi-job-mpiworker-1"):
        items = pumice_json("render", "-o", "json", "--only", word, MPI)["items"]
        same({o["kind"] for o in items}, {"Pod"})
        same(len(items), 1 if "/" in word else 3)
    items = pumice_json("render", "-o", "json", "--only", "cm", "--only=svc", MPI)["items"]
    same([o["kind"] for o in items], ["ConfigMap", "Service"])


def rendering_again_changes_nothing():
    """What render prints, rendered again, is the same: defaults are applied once."""
    first = fine(pumice("render", "--show-secrets", "--only", "job", MPI))
    again = fine(pumice("render", "--show-secrets", "--only", "job", "-", stdin=first))
    same(again, first)


def the_same_each_time():
    for form in ("yaml", "tree", "summary"):
        same(fine(pumice("render", "-o", form, MPI)), fine(pumice("render", "-o", form, MPI)))


def generated_names():
    """No object is without a name, and two of one prefix are two."""
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"generateName": "sweep-" + "x" * 60},
           "spec": {"tasks": [{"name": "w", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}]}}
    short = dict(job, metadata={"generateName": "sweep-"})
    text = "\n---\n".join(json.dumps(o) for o in (short, short))
    for command in (["render"], ["run", "--dry-run"]):
        objects = list(yaml.safe_load_all(pumice(*command, "-", stdin=text).stdout))
        assert [o["metadata"]["name"] for o in objects if o["kind"] == "Job"] == ["sweep-00000", "sweep-00001"], objects
        assert all(o["metadata"].get("name") for o in objects), objects
        assert [o["metadata"]["name"] for o in objects if o["kind"] == "Pod"] == ["sweep-00000-w-0", "sweep-00001-w-0"], objects
    r = pumice("validate", "-", stdin=text)
    assert r.returncode == 0 and "Job sweep-00001 is fine" in r.stdout + r.stderr, r
    r = pumice("validate", "-", stdin=json.dumps(job))
    assert r.returncode != 0 and "must be no more than 63 characters" in r.stderr, "the pod's name is too long then"


def secrets_are_masked():
    for form in ("yaml", "json", "tree", "summary"):
        assert "PRIVATE" not in fine(pumice("render", "-o", form, MPI))
    secret = pumice_json("render", "-o", "json", "--only", "secret", MPI)["items"][0]
    assert all("hidden" in v for v in secret["data"].values()), secret
    shown = pumice_json("render", "-o", "json", "--only", "secret", "--show-secrets", MPI)["items"][0]
    assert all("hidden" not in v for v in shown["data"].values()), shown


def private_key_arguments_are_masked():
    key = "-----BEGIN RSA PRIVATE KEY-----AAAABBBB"
    for args in ([f"--ssh-private-key={key}"], ["--sshPrivateKey", key], [f"\t-ssh_private_key={key}"]):
        job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
               "metadata": {"name": "j", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": key}},
               "spec": {"plugins": {"ssh": args}, "tasks": [{"replicas": 1, "template": {"spec": {"containers": [
                   {"name": "c", "image": "i"}]}}}]}}
        out = pumice("render", "-", stdin=json.dumps(job))
        fine(out)
        assert "AAAABBBB" not in out.stdout + out.stderr, out.stdout
        assert "AAAABBBB" in fine(pumice("render", "--show-secrets", "-", stdin=json.dumps(job)))


def explain_names_the_writer():
    text = fine(pumice("render", "--explain", "--only", "pod/lm-mpi-job-mpimaster-0", MPI))
    for pattern in (r"hostname: lm-mpi-job-mpimaster-0 +# svc", r"- name: VC_MPIMASTER_HOSTS +# svc",
                    r"- name: MPI_HOST +# mpi", r"schedulerName: volcano *# job",
                    r"- name: lm-mpi-job-ssh +# ssh|mountPath: /root/.ssh +# ssh"):
        assert re.search(pattern, text), f"{pattern}\n{text}"
    assert not re.search(r"image: .*#", text), "the user's own lines carry no mark"
    plain = list(yaml.safe_load_all(fine(pumice("render", "--only", "pod/lm-mpi-job-mpimaster-0", MPI))))
    same(list(yaml.safe_load_all(text)), plain)


def explain_in_json_points_at_parts():
    out = pumice_json("render", "-o", "json", "--explain", "--only", "pod/lm-mpi-job-mpimaster-0", MPI)
    pod, parts = out["items"][0], out["explain"][0]["parts"]
    writers = {}
    for pointer, writer in parts.items():
        node = pod
        for key in pointer.split("/")[1:]:
            key = key.replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if isinstance(node, list) else node[key]
        if isinstance(node, dict) and "name" in node:
            writers[node["name"]] = writer
    same(writers["MPI_HOST"], "mpi")
    same(writers["VC_MPIWORKER_NUM"], "svc")


def tree_and_summary_name_everything():
    for form in ("tree", "summary"):
        text = fine(pumice("render", "-o", form, MPI))
        for part in ("Job default/lm-mpi-job", "ConfigMap", "Service", "NetworkPolicy", "Secret", "PodGroup", "mpimaster"):
            assert part in text, f"{form}: {part}\n{text}"
    assert "MPI_HOST" in fine(pumice("render", "-o", "tree", "--explain", MPI))


def namespace_option():
    items = pumice_json("render", "-o", "json", "-n", "team", MPI)["items"]
    same({o["metadata"]["namespace"] for o in items}, {"team"})


def full_disk_is_reported():
    for args in (["render", MPI], ["validate", MPI], ["plugins"], ["version"], ["--help"], ["manual"]):
        with open("/dev/full", "w") as full:
            run = subprocess.run([PUMICE, *args], stdout=full, stderr=subprocess.PIPE, text=True)
        same((args, run.returncode), (args, 1))
        assert "No space left" in run.stderr, (args, run.stderr)


def validate_for_programs():
    """The same findings in all forms, at the same places; the exit status is that of the text."""
    with tempfile.TemporaryDirectory() as d:
        bad, good = os.path.join(d, "a job.yaml"), os.path.join(d, "good.json")
        with open(bad, "w") as f:
            f.write("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec:\n  tasks:\n  - name: t\n    replicas: -1\n    templat: {}\n")
        with open(good, "w") as f:
            json.dump(SSH_JOB, f)
        missing = os.path.join(d, "none.yaml")
        text = pumice("validate", bad, missing)
        found = json.loads(pumice("validate", "-o", "json", bad, missing).stdout)
        places = {f"{p['file']}:{p['line']}:{p['column']}: {p['level']}: {p['field']}: {p['message']}" for p in found["problems"] if p["field"]}
        assert len(places) >= 2 and all(p in text.stderr for p in places), (places, text.stderr)
        same(found["errors"], len(found["problems"]))
        assert any(p["file"] == missing and "line" not in p for p in found["problems"]), found
        run = pumice("validate", "-o", "sarif", bad, missing)
        same(run.returncode, 1)
        log = json.loads(run.stdout)
        same((log["version"], log["runs"][0]["tool"]["driver"]["name"]), ("2.1.0", "pumice"))
        results = log["runs"][0]["results"]
        same(len(results), len(found["problems"]))
        where = [r["locations"][0]["physicalLocation"] for r in results]
        assert all(w["artifactLocation"]["uri"] in (bad.replace(" ", "%20"), missing) for w in where), where
        same([r["ruleId"] for r in results if "replicas" in r["message"]["text"]], ["spec.tasks[].replicas"])
        unread = json.loads(pumice("validate", "-o", "sarif", "-", stdin="a: [b\nc: 1\n").stdout)["runs"][0]["results"]
        same([r["locations"][0]["physicalLocation"]["region"] for r in unread], [{"startLine": 2, "startColumn": 2}])
        for form in ("json", "sarif"):
            same(pumice("validate", "-o", form, good).returncode, 0)
            same(pumice("validate", "-o", form, "-", stdin="[").returncode, 1)


def installs():
    """Below a prefix: a program that runs, pages that man shows, completions that shells take; and all of it goes again. What others put there stays."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    said = subprocess.run(["make", "-n", "-C", top, "install", "uninstall", "DESTDIR=/x", "PREFIX=/usr"], capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    assert "tools/install b-release/pumice /x/usr\n" in said.stdout and "tools/uninstall /x/usr\n" in said.stdout, (said.stdout, said.stderr)
    with tempfile.TemporaryDirectory() as d:
        os.makedirs(f"{d}/bin")
        with open(f"{d}/bin/vsub", "w") as f:
            f.write("somebody's own")
        run = subprocess.run([f"{top}/tools/install", PUMICE, d], capture_output=True, text=True)
        assert run.returncode == 0 and run.stderr == f"{d}/bin/vsub is not ours and stays as it is\n", run.stderr
        same(subprocess.run([f"{d}/bin/pumice", "version"], capture_output=True, text=True).stdout, pumice("version").stdout)
        assert "vcctl [command]" in subprocess.run([f"{d}/bin/vcctl", "--help"], capture_output=True, text=True).stdout
        for page in ("pumice", "vcctl", "vjobs"):
            shown = subprocess.run(["man", "-M", f"{d}/share/man", page], capture_output=True, text=True) if shutil.which("man") else None
            assert not shown or (shown.returncode == 0 and "NAME" in shown.stdout), (page, shown.stderr)
        same(subprocess.run(["bash", "-c", f". {d}/share/bash-completion/completions/pumice && complete -p pumice"], capture_output=True).returncode, 0)
        assert os.path.getsize(f"{d}/share/zsh/site-functions/_pumice") and os.path.getsize(f"{d}/share/fish/vendor_completions.d/pumice.fish")
        same(subprocess.run([f"{top}/tools/uninstall", d], capture_output=True, text=True).stderr, "")
        same([os.path.join(at, n)[len(d):] for at, _, names in os.walk(d) for n in names], ["/bin/vsub"])


def colour_when_asked():
    same("\033" in pumice("validate", "--color=always", "-", stdin="[").stderr, True)
    for args in (["validate", "--color", "never", MPI], ["plugins", "--color=auto"]):
        assert "\033" not in pumice(*args).stdout
    same(pumice("version", "--color=some").returncode, 2)
    for env, is_coloured in (({"CLICOLOR_FORCE": "1"}, True), ({"CLICOLOR_FORCE": "0"}, False), ({"CLICOLOR_FORCE": ""}, False), ({"CLICOLOR": "1"}, False),
                             ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False), ({"CLICOLOR_FORCE": "1", "NO_COLOR": ""}, True)):
        same((env, "\033" in pumice("plugins", env={**os.environ, "NO_COLOR": "", **env}).stdout), (env, is_coloured))
    assert "\033" not in pumice("plugins", "--color=never", env={**os.environ, "CLICOLOR_FORCE": "1"}).stdout


def plugins_by_name():
    both = fine(pumice("plugins", "mpi", "--only", "ssh"))
    assert "mpi - " in both and "ssh - " in both and "ray - " not in both, both
    run = pumice("plugins", "nope")
    same(run.returncode, 2)
    assert "unknown plugin 'nope'" in run.stderr


# ---- render --state ----

SSH_JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
           "spec": {"plugins": {"svc": [], "ssh": []}, "tasks": [
               {"name": "w", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]}}


def with_state(state, job, *args):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(state)
        f.flush()
        return pumice("render", "--state", f.name, *args, "-", stdin=json.dumps(job))


def scaled(job, replicas):
    job = copy.deepcopy(job)
    job["spec"]["tasks"][0]["replicas"] = replicas
    return job


def state_keeps_the_secret():
    """Also when the namespace comes from the command line."""
    before = fine(pumice("render", "--show-secrets", "-n", "team", "-o", "json", "-", stdin=json.dumps(SSH_JOB)))
    uid = json.loads(before)["items"][0]["metadata"]["uid"]
    real = "11111111-2222-3333-4444-555555555555"
    run = with_state(before.replace(uid, real), scaled(SSH_JOB, 2), "-n", "team", "-o", "json", "--show-secrets")
    now = json.loads(fine(run))["items"]
    same(now[0]["metadata"]["uid"], real)
    same(objects_by_kind(now, "Secret"), objects_by_kind(json.loads(before.replace(uid, real))["items"], "Secret"))
    same(run.stderr, "")


def state_may_be_the_old_manifest():
    """A job as its user wrote it, without defaults: only what the user changed is a change."""
    same(with_state(json.dumps(SSH_JOB), scaled(SSH_JOB, 2)).stderr, "")
    other = copy.deepcopy(SSH_JOB)
    other["spec"]["queue"] = "other"
    run = with_state(json.dumps(SSH_JOB), other)
    same((run.returncode, run.stderr.count("error:"), run.stderr.count("spec.queue: is immutable")), (1, 1, 1))


def state_of_others_is_told():
    foreign = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
               for kind, name in (("Secret", "j-ssh"), ("Pod", "j-w-0"), ("ConfigMap", "unrelated"))]
    run = with_state(json.dumps({"apiVersion": "v1", "kind": "List", "items": foreign}), SSH_JOB)
    fine(run)
    same([line.split(": ")[2].split(" exists")[0] for line in run.stderr.splitlines()], ["Secret j-ssh", "Pod j-w-0"])


def state_with_objects_that_fit():
    """They stay as they are, and are what is shown."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "j"},
               "spec": {"clusterIP": "None", "selector": {"volcano.sh/job-name": "j"}}}
    run = with_state(json.dumps(service), SSH_JOB, "-o", "json", "--only", "svc")
    same(run.stderr, "")
    same([o["spec"] for o in json.loads(fine(run))["items"]], [service["spec"]])
    service["spec"]["clusterIP"] = "10.0.0.1"
    run = with_state(json.dumps(service), SSH_JOB, "-o", "json", "--only", "svc")
    assert "spec.clusterIP must be None" in run.stderr, run.stderr
    assert json.loads(fine(run))["items"][0]["spec"]["selector"].get("volcano.sh/job-namespace"), run.stdout


def state_has_priorities():
    """The gang's minimum takes the pods of the class with the higher value first, as in the cluster."""
    job = copy.deepcopy(SSH_JOB)
    job["spec"].update(minAvailable=1, plugins={}, tasks=[
        {"name": n, "replicas": 1, "template": {"spec": {"priorityClassName": n, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}}} for n, cpu in (("low", "1"), ("high", "8"))])
    state = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": n}, "value": v}
             for n, v in (("low", 1), ("high", 1000))]
    run = with_state(json.dumps({"apiVersion": "v1", "kind": "List", "items": state}), job, "-o", "json", "--only", "pg")
    same(json.loads(fine(run))["items"][0]["spec"]["minResources"]["cpu"], "8")


def state_has_queues():
    """Only a state that has queues says which there are."""
    def queue(name, state):
        return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name},
                "spec": {"weight": 1}, "status": {"state": state}}

    job = copy.deepcopy(SSH_JOB)
    below = queue("below", "Open")
    below["spec"]["parent"] = "above"
    listed = json.dumps({"apiVersion": "v1", "kind": "List",
                         "items": [queue("shut", "Closed"), queue("good", "Open"), queue("above", "Open"), below]})
    for name, want in (("shut", "spec.queue: can only submit job to queue with state `Open`, queue `shut` status is `Closed`"),
                       ("gone", 'spec.queue: unable to find job queue: queue.scheduling.volcano.sh "gone" not found'),
                       ("above", "spec.queue: can only submit job to leaf queue, queue `above` has 1 child queues: below"), ("good", None), ("default", None)):
        job["spec"]["queue"] = name
        run = with_state(listed, job)
        same((name, run.returncode), (name, 1 if want else 0))
        assert not want or want in run.stderr, run.stderr
        same(with_state(json.dumps(SSH_JOB).replace('"j"', '"other"'), job).returncode, 0)


def state_that_is_none():
    for text in ("[1, 2]", "just words", "apiVersion: v1"):
        run = with_state(text, SSH_JOB)
        same((text, run.returncode, run.stderr.count("error:")), (text, 1, 1))


def ten_thousand_pods():
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "big"},
           "spec": {"plugins": {"mpi": []}, "tasks": [
               {"name": n, "replicas": r, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
               for n, r in (("master", 1), ("worker", 9999))]}}
    out = pumice("render", "-o", "json", "-", stdin=json.dumps(job))
    items = json.loads(fine(out))["items"]
    same(len(objects_by_kind(items, "Pod")), 10000)
    same(len(objects_by_kind(items, "Secret")), 1)
    assert "warning" in out.stderr, "leaving a variable out is never silent"
    data = {}
    for cm in objects_by_kind(items, "ConfigMap"):
        size = sum(len(k) + len(v) for k, v in cm["data"].items())
        assert size <= 1 << 20, size
        data.update(cm["data"])
    same(len(data["worker.host"].split("\n")), 9999)
    same(data["VC_WORKER_NUM"], "9999")
    for pod in objects_by_kind(items, "Pod")[:2]:
        for env in pod["spec"]["containers"][0]["env"]:
            value = env.get("value") or data[env["valueFrom"]["configMapKeyRef"]["key"]]
            assert len(value) < 128 * 1024, env["name"]


# ---- validate, plugins ----

def examples_are_fine():
    assert len(EXAMPLES) > 10, EXAMPLES
    for path in EXAMPLES:  # one by one: names may be used twice
        run = pumice("validate", "--strict", path)
        same(run.stderr, "")
        fine(run)


def examples_carry_their_programs():
    run = subprocess.run([sys.executable, os.path.join(HERE, "..", "examples", "embed"), "--check"], capture_output=True,
                         text=True)
    same((run.returncode, run.stderr), (0, ""))


def plugins_lists_all():
    text = fine(pumice("plugins"))
    listed = [p["name"] for p in pumice_json("plugins", "-o", "json")]
    same(listed, ["env", "svc", "ssh", "tensorflow", "pytorch", "mpi", "ray", "deepspeed", "jax", "wait", "hcclrank"])
    for p in pumice_json("plugins", "-o", "json"):
        assert p["name"] in text and p["summary"] in text
        for arg in p["arguments"]:
            assert f"--{arg['name']}" in text and arg["doc"], (p["name"], arg)


def plugins_name_the_values_of_each_argument():
    text = fine(pumice("plugins"))
    for p in pumice_json("plugins", "-o", "json"):
        for arg in p["arguments"]:
            row = re.search(rf"^ +--{arg['name']}( .*)?  {re.escape(arg['type'])}  .*{re.escape(arg['doc'])}$",
                            text[text.index(f"{p['name']} - "):], re.M)
            assert row, (p["name"], arg["name"], arg["type"])
            assert "|" not in arg["type"] or not arg["default"] or arg["default"] in arg["type"].split("|"), arg


def every_documented_argument_is_accepted():
    """The table that documents is the table that parses: pass each argument its own default."""
    for plugin in pumice_json("plugins", "-o", "json"):
        for arg in plugin["arguments"]:
            for name in filter(None, (arg["name"], arg["alias"])):
                value = {"true|false": "true"}.get(arg["type"]) if arg["default"] is None else arg["default"]
                if value is None or value == "":
                    continue
                job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
                       "spec": {"plugins": {plugin["name"]: [f"--{name}={value}"]}, "tasks": [
                           {"name": t, "replicas": 1, "template": {"spec": {"containers": [
                               {"name": t, "image": "i", "command": ["x"]}]}}}
                           for t in ("master", "worker", "head", "ps", "chief", "evaluator")]}}
                run = pumice("validate", "-", stdin=json.dumps(job))
                assert "unknown" not in run.stderr and "bad value" not in run.stderr, (plugin["name"], name, run.stderr)


# Of vc-controller-manager and vc-scheduler (v1.16), as their --help has them, but for those that the test below names.
VOLCANO_FLAGS = """add-dir-header alsologtostderr alsologtostderrthreshold=x ca-cert-file=x cache-dump-dir=x cache-dumper csi-storage default-queue=x
    disable-default-scheduler-config enable-healthz enable-metrics enable-node-event-trigger enable-pprof feature-gates=A=true gate-removal-worker-num=5
    healthz-address=x ignored-provisioners=x inherit-owner-annotations kube-api-burst=5 kube-api-qps=5 leader-elect-resource-lock=x
    legacy-stderr-threshold-behavior log-backtrace-at=x log-dir=x log-file=x log-file-max-size=5 log-flush-frequency=5s logtostderr max-requeue-num=5
    minimum-feasible-nodes=5 minimum-percentage-nodes-to-find=5 node-worker-threads=5 one-output percentage-nodes-to-find=5 priority-class
    resource-sync-timeout=5s resync-period=5s schedule-period=5s scheduler-configs=x scheduler-sharding-name=x shard-sync-period=5s sharding-configmap=x
    sharding-configmap-namespace=x skip-headers skip-log-headers stderrthreshold=2 tls-cert-file=x tls-private-key-file=x v=3 vmodule=x worker-threads=5
    worker-threads-for-cronjob=5 worker-threads-for-gc=5 worker-threads-for-podgroup=5 worker-threads-for-queue=5""".split()


def flags_of_volcano():
    """Taken, each with a word; those that mean the same here do it, in both spellings; those that would do harm are refused."""
    same_here = ["--leader_elect=true", "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=2s",
                 "--leader-elect-resource-name=x", "--lock-object-namespace=x", "--listen-address=:0", "--scheduler-name=x"]
    run = pumice("controller", *same_here, *[f"--{f}" for f in VOLCANO_FLAGS], "--log_dir", "x", "--kubeconfig=/nonexistent")
    same(run.returncode, 1)
    told = [line for line in run.stderr.splitlines() if "is not needed: " in line]
    same(len(told), len(VOLCANO_FLAGS) + 1)
    assert "/nonexistent" in run.stderr.splitlines()[-1], run.stderr
    with tempfile.NamedTemporaryFile("w") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "a", "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
                   "contexts": [{"name": "a", "context": {"cluster": "a"}}]}, f)
        f.flush()
        run = pumice("controller", "--scheduler_conf=/no/such.conf", f"--kubeconfig={f.name}")
    assert run.returncode == 1 and "--scheduler-config: /no/such.conf" in run.stderr, run
    for flag in ("controllers=x", "master=x", "node-selector=x", "plugins-dir=x", "scheduler-sharding-mode=hard"):
        run = pumice("controller", f"--{flag}")
        assert run.returncode == 2 and "unknown" not in run.stderr, run


def own_addresses():
    """Of this machine, beside loopback; none on one without a network."""
    run = subprocess.run(["hostname", "-I"], capture_output=True, text=True)
    return [a for a in run.stdout.split() if "." in a][:1]


def jobs_are_told_to_this_machine():
    """/debug of a controller that listens for everybody: its plain HTTP asks nobody who he is."""
    port = free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as f:
        f.write(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
                            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}))
        f.flush()
        controller = subprocess.Popen([PUMICE, "controller", "--kubeconfig", f.name, "--listen-address", f":{port}"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        def status(address, path, host=None):
            c = http.client.HTTPConnection(address, port, timeout=60)
            c.request("GET", path, headers={"Host": host} if host else {})
            return c.getresponse().status
        def listens():
            with contextlib.suppress(OSError):
                return status("127.0.0.1", "/healthz") == 200
        try:
            until("it listens", listens)
            same([status("127.0.0.1", path) for path in ("/debug/jobs/default/x", "/metrics")], [404, 200])
            same(status("127.0.0.1", "/debug/jobs/default/x", "evil.example:8081"), 403)  # a page that has rebound its name
            for address in own_addresses():
                same([status(address, path) for path in ("/debug/jobs/default/x", "/debug/", "/metrics", "/healthz")], [403, 403, 200, 200])
        finally:
            controller.terminate()
            controller.wait()


def main():
    suite = Suite()
    for f in (help_everywhere, jobs_are_told_to_this_machine, wrong_use_is_status_2, flags_of_volcano, version, manual_is_valid_roff, no_colour_unless_terminal,
              colour_on_a_terminal, colour_when_asked, installs, validate_for_programs, plugins_by_name, yaml_and_json_say_the_same, differs_from_volcano_as_the_page_says, order_of_creation, native_gangs, json_list, standard_input, only,
              standard_input_has_a_name, lists, only_in_a_tree, only_that_matches_nothing, summary_of_an_empty_gang,
              rendering_again_changes_nothing, the_same_each_time, generated_names, secrets_are_masked, private_key_arguments_are_masked,
              explain_names_the_writer, explain_in_json_points_at_parts, tree_and_summary_name_everything,
              namespace_option, full_disk_is_reported, state_keeps_the_secret, state_may_be_the_old_manifest,
              state_of_others_is_told, state_with_objects_that_fit, state_has_priorities, state_has_queues, state_that_is_none, ten_thousand_pods, examples_are_fine,
              examples_carry_their_programs, plugins_lists_all,
              plugins_name_the_values_of_each_argument, every_documented_argument_is_accepted):
        suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
