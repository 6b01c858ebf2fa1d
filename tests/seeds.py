#!/usr/bin/env python3
"""The jobs of the documents this project grew from, and what those documents show for them."""
import base64
import json
import os
import sys

from harness import Suite, objects_by_kind, pumice, pumice_json, same

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "seeds")


class Rendered:
    def __init__(self, path):
        self.items = pumice_json("render", "-o", "json", "--show-secrets", path)["items"]

    def one(self, kind, name):
        found = [o for o in objects_by_kind(self.items, kind) if o["metadata"]["name"] == name]
        assert len(found) == 1, f"{kind} {name}: found {len(found)}, have {[o['metadata']['name'] for o in self.items]}"
        return found[0]

    def pod(self, name):
        return self.one("Pod", name)

    def env(self, pod, container=0):
        """What `env` prints in the container: references resolved through the ConfigMap, the last entry wins."""
        out = {}
        for e in self.pod(pod)["spec"]["containers"][container].get("env", []):
            if "valueFrom" in e:
                ref = e["valueFrom"]["configMapKeyRef"]
                out[e["name"]] = self.one("ConfigMap", ref["name"])["data"][ref["key"]]
            else:
                out[e["name"]] = e["value"]
        return out

    def files(self, pod, path):
        """The files a container sees below a mount."""
        spec = self.pod(pod)["spec"]
        mount = next(m for m in spec["containers"][0]["volumeMounts"] if m["mountPath"] == path)
        volume = next(v for v in spec["volumes"] if v["name"] == mount["name"])
        if "configMap" in volume:
            return dict(self.one("ConfigMap", volume["configMap"]["name"])["data"])
        data = self.one("Secret", volume["secret"]["secretName"])["data"]
        return {i["path"].removeprefix(mount["subPath"] + "/"): base64.b64decode(data[i["key"]]).decode()
                for i in volume["secret"]["items"]}


def seed(name):
    return Rendered(os.path.join(SEEDS, name))


# ---- the svc guide ----

def svc_environment():
    r = seed("tf-mnist-svc.yaml")
    for pod, index in (("ps-0", "0"), ("worker-0", "0"), ("worker-1", "1")):
        same(r.env("tensorflow-dist-mnist-" + pod), {
            "VK_TASK_INDEX": index, "VC_TASK_INDEX": index,
            "VC_PS_HOSTS": "tensorflow-dist-mnist-ps-0.tensorflow-dist-mnist", "VC_PS_NUM": "1",
            "VC_WORKER_HOSTS": "tensorflow-dist-mnist-worker-0.tensorflow-dist-mnist,"
                               "tensorflow-dist-mnist-worker-1.tensorflow-dist-mnist", "VC_WORKER_NUM": "2"})


def svc_host_files():
    files = seed("tf-mnist-svc.yaml").files("tensorflow-dist-mnist-ps-0", "/etc/volcano")
    for name in ("VC_PS_HOSTS", "VC_PS_NUM", "VC_WORKER_HOSTS", "VC_WORKER_NUM", "ps.host", "worker.host"):
        assert name in files, name
    same(files["ps.host"], "tensorflow-dist-mnist-ps-0.tensorflow-dist-mnist")
    same(files["worker.host"], "tensorflow-dist-mnist-worker-0.tensorflow-dist-mnist\n"
                               "tensorflow-dist-mnist-worker-1.tensorflow-dist-mnist")


def svc_script_makes_valid_tf_config():
    """Run the guide's own shell lines over the host files: what they build must be JSON."""
    import subprocess
    import tempfile
    r = seed("tf-mnist-svc.yaml")
    pod = r.pod("tensorflow-dist-mnist-worker-1")
    with tempfile.TemporaryDirectory() as d:
        for name, text in r.files("tensorflow-dist-mnist-worker-1", "/etc/volcano").items():
            with open(os.path.join(d, name), "w") as f:
                f.write(text)
        script = pod["spec"]["containers"][0]["command"][2].replace("/etc/volcano", d)
        script = script.replace("python /var/tf_dist_mnist/dist_mnist.py", 'printf %s "$TF_CONFIG"')
        out = subprocess.run(["sh", "-c", script], env=dict(os.environ, **r.env("tensorflow-dist-mnist-worker-1")),
                             capture_output=True, text=True).stdout
    config = json.loads(out)
    same(config["task"], {"type": "worker", "index": 1})
    same(config["cluster"]["worker"][1], "tensorflow-dist-mnist-worker-1.tensorflow-dist-mnist:2222")


def svc_pod():
    pod = seed("tf-mnist-svc.yaml").pod("tensorflow-dist-mnist-ps-0")
    notes, labels, spec = pod["metadata"]["annotations"], pod["metadata"]["labels"], pod["spec"]
    for key, value in {"volcano.sh/job-name": "tensorflow-dist-mnist", "volcano.sh/job-version": "0",
                       "volcano.sh/queue-name": "default", "volcano.sh/task-spec": "ps",
                       "volcano.sh/template-uid": "tensorflow-dist-mnist-ps"}.items():
        same(notes[key], value)
    for key, value in {"volcano.sh/job-name": "tensorflow-dist-mnist", "volcano.sh/job-namespace": "default",
                       "volcano.sh/queue-name": "default", "volcano.sh/task-spec": "ps"}.items():
        same(labels[key], value)
    same((spec["hostname"], spec["subdomain"], spec["schedulerName"], spec["restartPolicy"]),
         ("tensorflow-dist-mnist-ps-0", "tensorflow-dist-mnist", "volcano", "Never"))
    owner = pod["metadata"]["ownerReferences"][0]
    same({k: owner[k] for k in owner if k != "uid"},
         {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "tensorflow-dist-mnist",
          "controller": True, "blockOwnerDeletion": True})


def svc_service_and_policy():
    r = seed("tf-mnist-svc.yaml")
    select = {"volcano.sh/job-name": "tensorflow-dist-mnist", "volcano.sh/job-namespace": "default"}
    service = r.one("Service", "tensorflow-dist-mnist")["spec"]
    same((service["clusterIP"], service["selector"]), ("None", select))
    policy = r.one("NetworkPolicy", "tensorflow-dist-mnist")["spec"]
    same(policy, {"podSelector": {"matchLabels": select}, "policyTypes": ["Ingress"],
                  "ingress": [{"from": [{"podSelector": {"matchLabels": select}}]}]})


def queue_twice_is_a_warning():
    path = os.path.join(SEEDS, "tf-mnist-queue-twice.yaml")
    run = pumice("validate", path)
    same(run.returncode, 0)
    assert "warning" in run.stderr and '"queue"' in run.stderr, run.stderr
    same(pumice("validate", "--strict", path).returncode, 1)


# ---- the plugin guide ----

def ssh_config():
    r = seed("mpi-gpu-ssh.yaml")
    files = r.files("mpi-job-mpimaster-0", "/root/.ssh")
    hosts = ("mpi-job-mpimaster-0", "mpi-job-mpiworker-0", "mpi-job-mpiworker-1")
    same(files["config"], "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n" +
         "".join(f"Host {h}\n  HostName {h}.mpi-job\n  Port 22\n" for h in hosts))
    assert files["id_rsa"].startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    same(files["authorized_keys"], files["id_rsa.pub"])
    same(set(files), {"id_rsa", "id_rsa.pub", "authorized_keys", "config"})


def gpu_counts_in_the_gang():
    pg = objects_by_kind(seed("mpi-gpu-ssh.yaml").items, "PodGroup")[0]
    same(pg["spec"]["minResources"]["nvidia.com/gpu"], "2")


def mpi_by_hand():
    r = seed("mpi-by-hand.yaml")
    same(r.files("lm-mpi-job-mpimaster-0", "/etc/volcano")["mpiworker.host"].replace("\n", ","),
         "lm-mpi-job-mpiworker-0.lm-mpi-job,lm-mpi-job-mpiworker-1.lm-mpi-job")
    same(r.pod("lm-mpi-job-mpiworker-1")["spec"]["containers"][0]["ports"],
         [{"containerPort": 22, "name": "mpijob-port"}])


def mpi_host():
    r = seed("mpi.yaml")
    same(r.env("lm-mpi-job-mpimaster-0")["MPI_HOST"],
         "lm-mpi-job-mpiworker-0.lm-mpi-job,lm-mpi-job-mpiworker-1.lm-mpi-job")
    assert "MPI_HOST" not in r.env("lm-mpi-job-mpiworker-0")
    job = objects_by_kind(r.items, "Job")[0]
    same(job["spec"]["plugins"], {"mpi": ["--master=mpimaster", "--worker=mpiworker", "--port=22"],
                                  "svc": [], "ssh": []})


def pytorch_environment():
    r = seed("pytorch.yaml")
    for pod, rank in (("master-0", "0"), ("worker-0", "1"), ("worker-1", "2")):
        env = r.env("pytorch-job-" + pod)
        same({k: env[k] for k in ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")},
             {"MASTER_ADDR": "pytorch-job-master-0.pytorch-job", "MASTER_PORT": "23456", "WORLD_SIZE": "3",
              "RANK": rank})


def tf_config():
    r = seed("tensorflow.yaml")
    host = "tensorflow-training-%s-%d.tensorflow-training:2222"
    same(r.env("tensorflow-training-worker-0")["TF_CONFIG"], json.dumps({
        "cluster": {"ps": [host % ("ps", i) for i in range(2)], "worker": [host % ("worker", i) for i in range(3)]},
        "task": {"type": "worker", "index": 0}}, separators=(",", ":")))


def ray_cluster():
    r = seed("ray.yaml")
    ports = r.one("Service", "ray-cluster-job-head-svc")["spec"]["ports"]
    same([(p["name"], p["port"]) for p in ports], [("gcs", 6379), ("dashboard", 8265), ("client-server", 10001)])
    same(r.one("Service", "ray-cluster-job")["spec"]["clusterIP"], "None")
    same(r.pod("ray-cluster-job-worker-1")["spec"]["containers"][0]["command"],
         ["sh", "-c", "ray start --block --address=ray-cluster-job-head-0.ray-cluster-job:6379"])
    same([o["metadata"]["name"] for o in objects_by_kind(r.items, "Pod")],
         ["ray-cluster-job-head-0", "ray-cluster-job-worker-0", "ray-cluster-job-worker-1"])


# ---- the first article ----

def not_yaml():
    for name, line, column in (("plugins-without-blank.yaml", 3, 1), ("star-event.yaml", 8, 13)):
        path = os.path.join(SEEDS, name)
        run = pumice("validate", path)
        same(run.returncode, 1)
        assert run.stderr.startswith(f"{path}:{line}:{column}: error: "), run.stderr
        problem, = json.loads(pumice("validate", "-o", "json", path).stdout)["problems"]
        same((problem["line"], problem["column"]), (line, column))


def any_event():
    same(pumice("validate", "-q", os.path.join(SEEDS, "any-event.yaml")).returncode, 0)


def high_priority_first():
    pg = objects_by_kind(seed("task-priority.yaml").items, "PodGroup")[0]
    same(pg["spec"]["minResources"]["cpu"], "6")  # the driver's 4 and two executors


def main():
    suite = Suite()
    for f in (svc_environment, svc_host_files, svc_script_makes_valid_tf_config, svc_pod, svc_service_and_policy,
              queue_twice_is_a_warning, ssh_config, gpu_counts_in_the_gang, mpi_by_hand, mpi_host,
              pytorch_environment, tf_config, ray_cluster, not_yaml, any_event, high_priority_first):
        suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
