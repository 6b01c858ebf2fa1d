#!/usr/bin/env python3
"""`pumice doctor --cluster`: an empty cluster, one with Volcano, one with both, one with us; each with the command that fixes it,
which is then run, and helps. Nothing is changed by looking."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, resource_of  # noqa: E402
from harness import PUMICE, Suite, pumice  # noqa: E402

NAMES = ["server", "kinds", "rights", "controller", "scheduler", "webhooks", "gates", "gangs", "jobs"]


def look(bed, *args, user="admin", fine=True):
    run = pumice("doctor", "--cluster", "-o", "json", *args, env=bed.environment(user))
    report = json.loads(run.stdout)
    assert report["canRunJobs"] == fine == (run.returncode == 0), (report["summary"], run)
    return {c["name"]: c for c in report["checks"]}, report


def fix(bed, check):
    """As the reader would: the command, with our program in the place of its name."""
    os.makedirs(f"{bed.dir}/bin", exist_ok=True)
    if not os.path.exists(f"{bed.dir}/bin/pumice"):
        os.symlink(os.path.abspath(PUMICE), f"{bed.dir}/bin/pumice")
    env = bed.environment()
    run = subprocess.run(["sh", "-c", check["fix"]], env={**env, "PATH": f"{bed.dir}/bin:{env['PATH']}"}, capture_output=True, text=True)
    assert run.returncode == 0, (check, run.stderr)


def deployment(bed, namespace, name, image, ready=1, labels=None):
    bed.namespace(namespace)
    labels = labels or {"app": name}
    bed.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": {
        "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "containers": [{"name": "c", "image": image}]}}}})
    make_ready(bed, namespace, name, ready)


def make_ready(bed, namespace, name, ready=1):
    """As the controller of Deployments would say, which is not here."""
    status, answer = bed.call("PATCH", f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status",
                              {"status": {"replicas": ready, "readyReplicas": ready}}, content_type="application/merge-patch+json")
    assert status == 200, answer


def empty(bed):
    checks, report = look(bed, fine=False)
    assert list(checks) == NAMES[:-1], list(checks)
    assert checks["server"]["says"].startswith("Kubernetes v1."), checks["server"]
    assert checks["kinds"]["verdict"] == "impossible" and "Job, CronJob, Command" in checks["kinds"]["says"], checks["kinds"]
    assert checks["controller"]["verdict"] == "impossible" and "pumice install" in checks["controller"]["fix"], checks["controller"]
    assert "WatchList" in checks["gates"]["says"], checks["gates"]
    assert "the user of this kubeconfig has all" in checks["rights"]["says"], checks["rights"]
    fix(bed, checks["kinds"])
    checks, _ = look(bed, fine=False)
    assert checks["kinds"]["verdict"] == "fine" and checks["kinds"]["says"] == "all 8, as this version has them", checks["kinds"]


def with_volcano(bed):
    """Its programs by their images; its definition of Jobs, which is another; a webhook that nobody answers."""
    for name, image in (("volcano-controllers", "vc-controller-manager"), ("volcano-scheduler", "vc-scheduler"), ("volcano-admission", "vc-webhook-manager")):
        deployment(bed, "volcano-system", name, f"docker.io/volcanosh/{image}:v1.13.0")
    bed.call("PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobs.batch.volcano.sh", [
        {"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "Volcano's"}], content_type="application/json-patch+json")
    hook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "volcano-admission-service-jobs-validate"},
            "webhooks": [{"name": "validatejob.volcano.sh", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                          "clientConfig": {"service": {"namespace": "volcano-system", "name": "volcano-admission-service", "path": "/jobs/validate"}},
                          "rules": [{"apiGroups": ["batch.volcano.sh"], "apiVersions": ["v1alpha1"], "operations": ["CREATE"], "resources": ["jobs"]}]}]}
    bed.apply(hook)
    checks, _ = look(bed, fine=False)
    assert checks["controller"]["verdict"] == "limited" and "volcano-system/volcano-controllers" in checks["controller"]["says"], checks
    assert checks["scheduler"]["verdict"] == "fine" and "volcano-system/volcano-scheduler" in checks["scheduler"]["says"], checks
    assert checks["kinds"]["verdict"] == "limited" and checks["kinds"]["says"] == "another definition than ours: Job", checks["kinds"]
    assert checks["webhooks"]["verdict"] == "impossible" and "volcano-system/volcano-admission-service has no endpoints" in checks["webhooks"]["says"], checks
    fix(bed, checks["webhooks"])
    hook["webhooks"][0]["clientConfig"] = {"url": "https://127.0.0.1:1/jobs/validate"}  # nobody can tell from here
    bed.apply(hook)
    checks, _ = look(bed)
    assert checks["webhooks"]["verdict"] == "fine" and "was not checked" in checks["webhooks"]["says"], checks
    bed.kubectl("delete", "validatingwebhookconfiguration", hook["metadata"]["name"])
    checks, _ = look(bed)
    assert checks["webhooks"]["verdict"] == "fine" and "none for Jobs" in checks["webhooks"]["says"], checks
    fix(bed, checks["kinds"])


def settings_of_the_scheduler(bed):
    """From the ConfigMap that the scheduler's Deployment mounts, ours or Volcano's."""
    bed.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
               "data": {"volcano-scheduler.conf": 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: numaaware\n'}})
    patch = {"spec": {"template": {"spec": {
        "containers": [{"name": "c", "args": ["--logtostderr", "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf"],
                        "volumeMounts": [{"name": "config", "mountPath": "/volcano.scheduler"}]}],
        "volumes": [{"name": "config", "configMap": {"name": "volcano-scheduler-configmap"}}]}}}}
    status, answer = bed.call("PATCH", "/apis/apps/v1/namespaces/volcano-system/deployments/volcano-scheduler", patch,
                              content_type="application/strategic-merge-patch+json")
    assert status == 200, answer
    checks, _ = look(bed)
    assert checks["settings"]["verdict"] == "limited", checks["settings"]
    assert "ConfigMap volcano-system/volcano-scheduler-configmap:5: tiers[0].plugins[1].name: plugin numaaware does nothing here" in checks["settings"]["says"], checks


def with_both(bed):
    """Ours beside theirs: two write the same objects, and the fix stops the other one."""
    subprocess.run("pumice install --dry-run --scheduler | kubectl apply -f - > /dev/null", shell=True, check=True,
                   env={**bed.environment(), "PATH": f"{bed.dir}/bin:{bed.environment()['PATH']}"})
    make_ready(bed, "pumice-system", "pumice-controller", 2)
    checks, _ = look(bed, fine=False)
    for name in ("controller", "scheduler"):
        assert checks[name]["verdict"] == "impossible" and "two at once" in checks[name]["says"], checks
        fix(bed, checks[name])


def webhooks_of_both(bed):
    """Ours have the names of Volcano's and take their place; those that we have none for stay, and wait for their program."""
    hook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "volcano-admission-service-shards-validate"},
            "webhooks": [{"name": "validateshards.volcano.sh", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                          "clientConfig": {"service": {"namespace": "volcano-system", "name": "volcano-admission-service", "path": "/shards/validate"}},
                          "rules": [{"apiGroups": ["shard.volcano.sh"], "apiVersions": ["v1alpha1"], "operations": ["CREATE"], "resources": ["shards"]}]}]}
    bed.apply(hook)
    printed = subprocess.run([PUMICE, "install", "--dry-run", "--webhook", "--only", "webhook"], capture_output=True, text=True, check=True).stdout
    bed.kubectl("apply", "-f", "-", stdin=printed)
    for namespace, service in (("volcano-system", "volcano-admission-service"), ("pumice-system", "pumice-webhook")):
        bed.apply({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.1.1"]}],
                   "metadata": {"name": service, "namespace": namespace, "labels": {"kubernetes.io/service-name": service}}})
    checks, _ = look(bed)
    says = checks["webhooks"]
    assert says["verdict"] == "limited" and "1 by volcano-system/volcano-admission-service" in says["says"] and "by pumice-system/pumice-webhook" in says["says"], says
    fix(bed, says)
    checks, _ = look(bed)
    assert checks["webhooks"]["verdict"] == "fine" and "they answer" in checks["webhooks"]["says"], checks["webhooks"]
    bed.kubectl("delete", "-f", "-", stdin=printed)


def with_pods_down(bed):
    """Nobody answers for ours because its pods are down: the cure is at the pods, not at what checks new objects."""
    printed = subprocess.run([PUMICE, "install", "--dry-run", "--webhook", "--only", "webhook"], capture_output=True, text=True, check=True).stdout
    bed.kubectl("apply", "-f", "-", stdin=printed)
    bed.kubectl("delete", "endpointslice", "-n", "pumice-system", "pumice-webhook")
    checks, _ = look(bed, fine=False)
    assert checks["webhooks"]["fix"] == "kubectl describe -n pumice-system deployment pumice-controller", checks["webhooks"]
    bed.kubectl("scale", "-n", "pumice-system", "deployment", "pumice-controller", "--replicas=0")
    checks, _ = look(bed, fine=False)
    assert checks["webhooks"]["fix"] == "kubectl scale -n pumice-system deployment pumice-controller --replicas=2", checks["webhooks"]
    bed.kubectl("scale", "-n", "pumice-system", "deployment", "pumice-controller", "--replicas=2")
    make_ready(bed, "pumice-system", "pumice-controller", 2)
    bed.kubectl("delete", "-f", "-", stdin=printed)


def with_us(bed):
    checks, report = look(bed)
    assert report["summary"] == "Jobs run in this cluster", report
    assert "pumice-system/pumice-controller" in checks["controller"]["says"] and checks["scheduler"]["verdict"] == "fine", checks
    assert "its account has all" in checks["rights"]["says"], checks["rights"]
    bed.kubectl("delete", "clusterrolebinding", "pumice-scheduler")
    checks, _ = look(bed)
    assert checks["rights"]["verdict"] == "limited" and "create pods/binding" in checks["rights"]["says"], checks["rights"]
    make_ready(bed, "pumice-system", "pumice-controller", 0)
    checks, _ = look(bed)
    assert checks["controller"]["verdict"] == "limited" and "kubectl logs -n pumice-system" in checks["controller"]["fix"], checks
    text = pumice("doctor", "--cluster", env=bed.environment()).stdout
    assert "✓ server" in text and "! rights" in text and "to fix: " in text, text


def as_somebody(bed):
    """Who may see nothing is told so, and nothing is called missing."""
    checks, _ = look(bed, user="nobody")
    assert "you may not look" in checks["controller"]["says"] and "you may not look" in checks["kinds"]["says"], checks


def changes_nothing(bed):
    asked = {(e["verb"], resource_of(e)) for e in bed.audit(user="nobody")}
    assert {r for v, r in asked if v == "create"} == {"selfsubjectaccessreviews"} and {v for v, _ in asked} <= {"get", "list", "create"}, asked


def out_of_reach(bed):
    config = bed.kubeconfig("gone", {"token": "x"}, server="https://127.0.0.1:1")
    checks, _ = look(bed, "--kubeconfig", config, fine=False)
    assert list(checks) == ["server"] and "Connection refused" in checks["server"]["says"], checks


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            for case in (empty, with_volcano, settings_of_the_scheduler, with_both, webhooks_of_both, with_pods_down, with_us, as_somebody, changes_nothing, out_of_reach):
                suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
