#!/usr/bin/env python3
"""`pumice install`, the kustomize base and the chart: a real API server takes all three, and they say the same."""
import json
import os
import subprocess
import sys
import tempfile

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, binaries  # noqa: E402
from harness import Suite, pumice  # noqa: E402

NAMESPACE = "pumice-system"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is there
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:pumice-controller"


def objects(text):
    """By kind and name; what is empty is as good as missing."""
    return {(o["kind"], o["metadata"]["name"]): o for o in yaml.load_all(text, LOADER) if o}


def install(*args):
    run = pumice("install", "--dry-run", *args)
    assert run.returncode == 0, run.stderr
    return run.stdout


def dry(bed, text):
    return bed.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)


def applied_twice(bed):
    def versions():
        text = bed.kubectl("get", "-o", "json", "-f", "-", stdin=install("--scheduler"))
        return {(o["kind"], o["metadata"]["name"]): (o["metadata"].get("generation"), o["metadata"]["uid"]) for o in json.loads(text)["items"]}

    said = bed.kubectl("apply", "-f", "-", stdin=install("--scheduler"))
    assert "deployment.apps/pumice-controller created" in said, said
    before = versions()
    said = bed.kubectl("apply", "-f", "-", stdin=install("--scheduler"))
    # kubectl patches a PodDisruptionBudget each time, with what it has
    assert [line for line in said.splitlines() if not line.endswith("unchanged")] == ["poddisruptionbudget.policy/pumice-controller configured"], said
    assert versions() == before


def nothing_unknown(bed):
    for args in ((), ("--scheduler",), ("--replicas", "1", "--image", "registry.example:5000/x/pumice@sha256:" + "a" * 64)):
        dry(bed, install(*args))


def in_another_namespace(bed):
    bed.namespace("elsewhere")
    text = install("--namespace", "elsewhere", "--only", "roles", "--only", "controller", "--only", "network")
    assert NAMESPACE not in text
    dry(bed, text)


def parts(bed):
    whole = objects(install())
    by_part = [objects(install("--only", p)) for p in ("namespace", "crds", "roles", "controller", "network")]
    assert sum(map(len, by_part)) == len(whole) and {k for p in by_part for k in p} == set(whole)
    both = objects(install("--only", "network", "--only", "namespace"))
    assert set(both) == set(by_part[0]) | set(by_part[4])
    assert not [key for key in whole if key[1] == "pumice-scheduler"]


def kustomize(bed):
    with tempfile.TemporaryDirectory() as d:
        assert pumice("install", "--output", f"{d}/p").returncode == 0
        made = bed.kubectl("kustomize", f"{d}/p")
        assert objects(made) == objects(install())
        dry(bed, made)
        os.mkdir(f"{d}/o")
        for component, flag in (("webhook", "--webhook"), ("scheduler", "--scheduler"), ("native-podgroups", "--native-podgroups")):
            with open(f"{d}/o/kustomization.yaml", "w") as f:
                f.write(f"resources: [../p]\ncomponents: [../p/{component}]\n")
            made = bed.kubectl("kustomize", f"{d}/o")
            assert objects(made) == objects(install(flag))
            dry(bed, made)


CONFIG = 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n'


def config_of(text):
    return objects(text)["ConfigMap", "pumice-scheduler-config"]["data"]["volcano-scheduler.conf"]


def settings(bed, path, helm):
    """What the chart can be told besides; what it refuses."""
    values = {"scheduler": True, "schedulerConfig": CONFIG, "logLevel": "debug", "extraArgs": ["--leader-elect-lease-duration=30s"],
              "resources": {"limits": {"memory": "1Gi"}}, "tolerations": [{"key": "infra", "operator": "Exists"}], "nodeSelector": {"pool": "infra"},
              "affinity": {"nodeAffinity": {}}, "imagePullSecrets": [{"name": "registry"}], "networkPolicy": {"apiServerPorts": [16443]}}
    made = objects(helm("--set-json", ",".join(f"{k}={json.dumps(v)}" for k, v in values.items())))
    pod = made["Deployment", "pumice-controller"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["command"][-2:] == ["--log-level=debug", "--leader-elect-lease-duration=30s"], container
    assert container["resources"] == {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "1Gi"}} and pod["nodeSelector"] == {"kubernetes.io/os": "linux", "pool": "infra"}, pod
    assert all(pod[k] == values[k] for k in ("tolerations", "affinity", "imagePullSecrets")), pod
    assert made["ConfigMap", "pumice-scheduler-config"]["data"]["volcano-scheduler.conf"] == CONFIG
    ports = [p["port"] for p in made["NetworkPolicy", "pumice-controller"]["spec"]["egress"][0]["ports"]]
    assert ports == [53, 53, 16443], ports
    dry(bed, yaml.dump_all(made.values()))
    watched = objects(helm("--set", "monitoring.serviceMonitor=true,monitoring.alertRules=true,monitoring.labels.release=prom"))
    rules = watched["PrometheusRule", "pumice-controller"]
    assert rules["metadata"]["labels"]["release"] == "prom" and len(rules["spec"]["groups"][0]["rules"]) >= 5, rules
    assert watched["ServiceMonitor", "pumice-controller"]["spec"]["endpoints"] == [{"port": "http"}]
    for bad in (("--set-string", "scheduler=false"), ("--set", "sheduler=true"), ("--set", "logLevel=loud"), ("--set", "replicas=many"),
                ("--set", "webhook.enable=true")):
        run = subprocess.run([f"{binaries('helm')}/helm", "template", "pumice", path, *bad], capture_output=True, text=True)
        assert run.returncode != 0 and "values don't meet the specifications of the schema" in run.stderr, (bad, run)


def scheduler_settings(bed):
    """A file becomes the ConfigMap that the scheduler has mounted; one that it cannot use is refused."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(CONFIG)
        f.flush()
        text = install("--scheduler", "--scheduler-config", f.name)
        assert config_of(text) == CONFIG
        dry(bed, text)
        pod = objects(text)["Deployment", "pumice-controller"]["spec"]["template"]["spec"]
        mount, volume = pod["containers"][0]["volumeMounts"][0], pod["volumes"][0]
        assert f"--scheduler-config={mount['mountPath']}/volcano-scheduler.conf" in pod["containers"][0]["command"]
        assert volume["configMap"]["name"] == "pumice-scheduler-config" and volume["name"] == mount["name"]
        run = pumice("install", "--dry-run", "--scheduler-config", f.name)
        assert run.returncode == 2 and "add --scheduler" in run.stderr, run
        f.write("actions: [\n")
        f.flush()
        run = pumice("install", "--dry-run", "--scheduler", "--scheduler-config", f.name)
        assert run.returncode != 0 and f.name in run.stderr and not run.stdout, run


def chart(bed):
    helm_bin = binaries("helm")
    with tempfile.TemporaryDirectory() as d:
        assert pumice("install", "--output", f"{d}/p").returncode == 0

        def helm(*args):
            run = subprocess.run([f"{helm_bin}/helm", "template", "pumice", f"{d}/p/helm", "--namespace", NAMESPACE, *args],
                                 env=bed.environment(), capture_output=True, text=True)
            assert run.returncode == 0, run.stderr
            return run.stdout

        want = objects(install())
        crds = {k: o for k, o in want.items() if k[0] == "CustomResourceDefinition"}
        rest = {k: o for k, o in want.items() if k not in crds and k[0] != "Namespace"}
        assert objects(helm()) == rest
        assert objects(helm("--include-crds")) == {**rest, **crds}
        changed = helm("--set", "scheduler=true,webhook.enabled=true,replicas=3,image=registry.example/pumice:2")
        want = objects(install("--scheduler", "--webhook", "--only", "webhook", "--only", "scheduler", "--replicas", "3", "--image", "registry.example/pumice:2", "--only", "roles", "--only", "controller",
                               "--only", "network"))
        assert objects(changed) == want
        dry(bed, changed)
        both = subprocess.run([f"{helm_bin}/helm", "template", "pumice", f"{d}/p/helm", "--set", "nativePodGroups=true,scheduler=true"],
                              capture_output=True, text=True)
        assert both.returncode != 0 and "nativePodGroups: leave scheduler out" in both.stderr, both  # as the program says
        settings(bed, f"{d}/p/helm", helm)
        assert objects(helm("--set", "nativePodGroups=true")) == objects(install("--native-podgroups", "--only", "roles", "--only", "controller", "--only", "network"))


def restricted(bed):
    """The namespace enforces Pod Security "restricted", and the pod is one it takes."""
    bed.namespace(NAMESPACE)
    deployment = bed.call("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/pumice-controller")[1]
    pod = {"metadata": {"name": "p"}, "spec": deployment["spec"]["template"]["spec"]}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All"
    status, answer = bed.call("POST", path, pod)
    assert status == 201, answer
    for broken in ("allowPrivilegeEscalation", "capabilities"):
        bad = json.loads(json.dumps(pod))
        del bad["spec"]["containers"][0]["securityContext"][broken]
        status, answer = bed.call("POST", path, bad)
        assert status == 403 and 'violates PodSecurity "restricted' in answer["message"], answer


def may(bed, verb, resource, namespace="default", name=""):
    resource, _, subresource = resource.partition("/")
    resource, _, group = resource.partition(".")
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": ACCOUNT, "resourceAttributes": {
        "namespace": namespace, "verb": verb, "group": group, "resource": resource, "subresource": subresource, "name": name}}}
    status, answer = bed.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert status == 201, answer
    return answer["status"]["allowed"]


def rights(bed):
    for verb, resource in (("create", "pods"), ("create", "pods/binding"), ("update", "jobs.batch.volcano.sh/status"), ("list", "nodes"),
                           ("get", "secrets")):
        assert may(bed, verb, resource), (verb, resource)
    for verb, resource in (("list", "secrets"), ("watch", "secrets"), ("create", "pods/exec"), ("update", "nodes"), ("create", "leases.coordination.k8s.io"),
                           ("create", "clusterrolebindings.rbac.authorization.k8s.io"), ("delete", "queues.scheduling.volcano.sh"), ("escalate", "clusterroles.rbac.authorization.k8s.io"),
                           ("impersonate", "users"), ("create", "serviceaccounts/token")):
        assert not may(bed, verb, resource), (verb, resource)
    for verb in ("get", "update"):
        assert may(bed, verb, "leases.coordination.k8s.io", NAMESPACE, "vc-controller-manager")
        assert not may(bed, verb, "leases.coordination.k8s.io", NAMESPACE, "kube-controller-manager")
    assert may(bed, "create", "leases.coordination.k8s.io", NAMESPACE)


def rights_without_scheduler(bed):
    """Another binding is all that makes a scheduler of it."""
    bed.kubectl("delete", "clusterrolebinding", "pumice-scheduler")
    for verb, resource in (("create", "pods/binding"), ("list", "nodes"), ("create", "pods/eviction")):
        assert not may(bed, verb, resource), (verb, resource)
    assert may(bed, "create", "pods")


def roles_of_people(bed):
    """Whoever may edit a namespace may have jobs in it, whoever may look sees them. The controller that joins roles is not part of the API
    server, so this is as far as it goes: the cluster's role selects ours by label."""
    for role, verb in (("edit", "create"), ("view", "list")):
        picked = bed.call("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}")[1]["aggregationRule"]["clusterRoleSelectors"]
        ours = bed.call("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/pumice-{role}")[1]
        assert any(s["matchLabels"].items() <= ours["metadata"]["labels"].items() for s in picked), (picked, ours)
        assert any("jobs" in r["resources"] and verb in r["verbs"] for r in ours["rules"]), ours


def rules_name_what_there_is(bed):
    """Every resource of every rule is served, with these verbs: no rule is a typing error."""
    served = {}
    for path in ["/api/v1"] + [f"/apis/{g['preferredVersion']['groupVersion']}" for g in bed.call("GET", "/apis")[1]["groups"]]:
        group = "" if path == "/api/v1" else path.split("/")[2]
        for r in bed.call("GET", path)[1]["resources"]:
            served[group, r["name"]] = r["verbs"]
    for o in objects(install("--scheduler", "--only", "roles")).values():
        for rule in o.get("rules", []):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    if resource.endswith("/finalizers"):
                        continue  # asked by admission only
                    assert set(rule["verbs"]) <= set(served.get((group, resource), [])), (group, resource, rule["verbs"])


def wrong_use(_):
    for args, piece in (((), "--dry-run"), (("--dry-run", "--namespace", "A_B"), "--namespace must be a DNS label"),
                        (("--dry-run", "--replicas", "0"), "--replicas"), (("--dry-run", "--replicas", "many"), "--replicas"),
                        (("--dry-run", "--image", "a\nb: c"), "--image"), (("--dry-run", "--image", ""), "--image"),
                        (("--dry-run", "--only", "all"), "--only"), (("--dry-run", "--only", "webhook"), "add --webhook")):
        run = pumice("install", *args)
        assert run.returncode == 2 and piece in run.stderr and not run.stdout, (args, run)
    run = pumice("install", "--output", "/proc/nowhere")
    assert run.returncode == 1 and "/proc/nowhere" in run.stderr, run


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            for case in (applied_twice, nothing_unknown, in_another_namespace, parts, kustomize, scheduler_settings, chart, restricted, rights,
                         rights_without_scheduler, roles_of_people, rules_name_what_there_is, wrong_use):
                suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
