#!/usr/bin/env python3
"""pumice controller --webhook before a real API server, with the shipped roles: good and bad objects, what kubectl says, certificates
that are made anew while requests come, two replicas, nobody there, garbage, huge objects."""
import base64
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import yaml  # noqa: E402
from bed import Bed, Skip  # noqa: E402
from controller import Controller, until  # noqa: E402
from faultproxy import FaultProxy  # noqa: E402
from harness import Suite  # noqa: E402
import rbac  # noqa: E402

PUMICE = os.environ["PUMICE"]
NAMESPACE = "pumice-system"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/pumice-webhook"


class Door:
    """One address for several replicas, as a Service is: connections go to one that is there, or nowhere."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.ports, self.n, self.open = self.socket.getsockname()[1], [], 0, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            ports = list(self.ports)
            try:
                self.n += 1
                server = socket.create_connection(("127.0.0.1", ports[self.n % len(ports)])) if ports else None
            except OSError:
                server = None
            if not server:
                client.close()
                continue
            self.open += [client, server]
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    @contextlib.contextmanager
    def shut(self):
        """Nobody is there, not even for those that were connected."""
        ports, self.ports = self.ports, []
        for s in self.open:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
        self.open = []
        try:
            yield
        finally:
            self.ports = ports

    @staticmethod
    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            for s in (a, b):
                s.close()


def webhook_port(c):
    return int(until(f"a port: {c.log[-3000:]}", lambda: re.search(r'msg="Serving admission webhooks" .*? port=(\d+)', c.log)).group(1))


def start(bed, door, *flags, name="webhook", kubeconfig=None):
    c = Controller(bed, name, "--webhook", "--webhook-address=127.0.0.1:0", "--leader-elect=false", *flags, kubeconfig=kubeconfig or bed.account)
    door.ports.append(webhook_port(c))
    return c


def stop(door, c):
    door.ports.remove(webhook_port(c))
    same(c.stop(), 0)


def in_namespace(kubeconfig):
    """As a pod of that namespace has it."""
    with open(kubeconfig) as f:
        config = json.load(f)
    config["contexts"][0]["context"]["namespace"] = NAMESPACE
    with open(kubeconfig, "w") as f:
        json.dump(config, f)
    return kubeconfig


def set_up(bed, door, *flags):
    def install(*args):
        return subprocess.run([PUMICE, "install", "--dry-run", "--webhook", *flags, *args], capture_output=True, text=True, check=True).stdout
    bed.apply(*yaml.safe_load_all(install("--only", "crds")))
    bed.namespace(NAMESPACE)
    bed.kubectl("apply", "-f", "-", stdin=install("--only", "roles"))
    bed.kubectl("create", "serviceaccount", "pumice-controller", "-n", NAMESPACE)
    bed.account = in_namespace(bed.service_account(NAMESPACE, "pumice-controller"))
    for o in yaml.safe_load_all(install("--only", "webhook")):
        for hook in o.get("webhooks", ()):  # there is no network of Services here
            path = hook["clientConfig"].pop("service")["path"]
            hook["clientConfig"]["url"] = f"https://127.0.0.1:{door.port}{path}"
        bed.apply(o)


def same(real, want):
    assert real == want, f"want {want!r}, got {real!r}"


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in {text[:3000]!r}"


def job(name="j", **spec):
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
            "spec": {"tasks": [{"replicas": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}], **spec}}


def queue(name, **spec):
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def dry(path):
    return path + "?dryRun=All"


# ---- good and bad ----


def defaults(bed):
    status, made = bed.call("POST", dry(JOBS), job(plugins={"mpi": []}, tasks=[
        {"replicas": 1, "name": "master", "template": job()["spec"]["tasks"][0]["template"]}, job()["spec"]["tasks"][0]]))
    same(status, 201)
    spec = made["spec"]
    same((spec["queue"], spec["schedulerName"], spec["minAvailable"], spec["maxRetry"]), ("default", "volcano", 3, 3))
    same((spec["tasks"][1]["name"], spec["tasks"][1]["minAvailable"], sorted(spec["plugins"])), ("default1", 2, ["mpi", "ssh", "svc"]))
    status, made = bed.call("POST", dry(QUEUES), {**queue("q"), "metadata": {"name": "q", "annotations": {
        "volcano.sh/hierarchy": "a/q", "volcano.sh/hierarchy-weights": "2/3"}}})
    same(status, 201)
    same((made["spec"]["weight"], made["spec"]["reclaimable"], made["metadata"]["annotations"]["volcano.sh/hierarchy"]), (1, True, "root/a/q"))
    same(bed.call("POST", dry(JOBS), {**job(), "metadata": {"generateName": "j-"}})[0], 201)


def refusals(bed):
    def says(manifest, *parts):
        has(bed.kubectl("create", "-f", "-", stdin=json.dumps(manifest), fails=True), *parts)
    says(job(queue="nope"), 'admission webhook "validatejob.volcano.sh" denied the request', 'spec.queue: unable to find job queue: queue.scheduling.volcano.sh "nope" not found')
    says(job(queue="nope", plugins={"nonsense": []}), "spec.queue:", "nonsense")  # all at once
    says(job(queue="root"), "root")
    says(queue("q", parent="nobody"), 'admission webhook "validatequeue.volcano.sh" denied the request', "nobody")
    has(bed.kubectl("delete", "queue", "default", fails=True), 'admission webhook "validatequeue.volcano.sh" denied the request', "default")
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g", "namespace": "default"}, "spec": {"queue": "nope"}}
    says(group, 'admission webhook "validatepodgroup.volcano.sh" denied the request', "nope")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "annotations": {"volcano.sh/jdb-min-available": "0"}},
           "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "image": "x"}]}}
    says(pod, 'admission webhook "validatepod.volcano.sh" denied the request', "volcano.sh/jdb-min-available", "positive")
    pod["spec"]["schedulerName"] = "another"
    same(bed.call("POST", dry("/api/v1/namespaces/default/pods"), pod)[0], 201)


def volcanos_words(bed):
    """Whoever looks for the words of Volcano's webhooks finds them: in what our CRDs say, or in what the webhook says after them."""
    def merged(base, patch):
        out = dict(base)
        for k, v in patch.items():
            if v is None:
                out.pop(k, None)
            else:
                out[k] = merged(out.get(k) if isinstance(out.get(k), dict) else {}, v) if isinstance(v, dict) else v
        return out

    def path(o, *rest):
        group, _, version = o["apiVersion"].rpartition("/")
        where = "" if o["kind"] in ("Queue", "HyperNode") else "/namespaces/default"
        return (f"/apis/{group}/{version}" if group else "/api/v1") + where + "/" + "/".join([o["kind"].lower() + "s", *rest])

    def patch(o, *sub):
        return bed.call("PATCH", path(o, o["metadata"]["name"], *sub), o, content_type="application/merge-patch+json")

    with open(os.path.join(HERE, "..", "words", "volcano.yaml")) as f:
        table = yaml.safe_load(f)
    for o in table["queues"]:
        o = merged(table["bases"]["Queue"], o)
        for status, answer in [bed.call("POST", path(o), o)] + ([patch(o, "status")] if "status" in o else []):
            assert status in (200, 201), answer
    for row in table["rows"]:
        want = row.get("cluster", row["says"])
        base = table["bases"][row["kind"]]
        if want is False:
            continue
        if "delete" in row:
            base = merged(base, {"metadata": {"name": row["delete"]}})
            status, answer = bed.call("DELETE", path(base, row["delete"]))
        else:
            new = merged(base, row["change"])
            if "old" in row:
                bed.call("POST", path(base), merged(base, row["old"]))
            status, answer = patch(new) if "old" in row else bed.call("POST", dry(path(new)), new)
        assert status >= 400, (row, answer)
        has(answer["message"], *([want] if isinstance(want, str) else want))


def updates(bed):
    bed.call("POST", JOBS, job("u", queue="default"))

    def change(path, value):
        return bed.call("PATCH", dry(f"{JOBS}/u"), json.dumps([{"op": "replace", "path": path, "value": value}]), content_type="application/json-patch+json")
    same(change("/spec/tasks/0/replicas", 5)[0], 200)
    status, answer = change("/spec/queue", "another")
    same(status, 422)
    has(answer["message"], "spec.queue")
    same(bed.call("DELETE", f"{JOBS}/u")[0], 200)


def a_namespace_names_a_queue(bed):
    bed.call("POST", QUEUES, queue("theirs"))
    bed.namespace("team")
    bed.kubectl("annotate", "namespace", "team", "scheduling.volcano.sh/queue-name=theirs")
    status, made = bed.call("POST", dry("/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups"),
                            {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"minMember": 1}})
    same((status, made["spec"]["queue"]), (201, "theirs"))


def children_at_once(bed):
    """A child right behind its parent, and a job right behind its queue, although the watch tells of queues half a second late."""
    with FaultProxy(bed, user="admin") as proxy, bed.door.shut():
        proxy.add(fault="delay", each="event", ms=500, path="/queues", watch=True)
        with start(bed, bed.door, name="late", kubeconfig=in_namespace(proxy.kubeconfig)) as late:
            late.until_ready()
            for i in range(5):
                same(bed.call("POST", QUEUES, queue(f"p{i}"))[0], 201)
                status, answer = bed.call("POST", QUEUES, queue(f"c{i}", parent=f"p{i}"))
                same((status, answer if status != 201 else ""), (201, ""))
                status, answer = bed.call("POST", dry(JOBS), job(queue=f"c{i}"))
                same((status, answer if status != 201 else ""), (201, ""))
            assert int(re.search(r"looked_twice_total (\d+)", late.get("/metrics")[1]).group(1)) > 0


def never_asked_about_kube_system(bed):
    path = JOBS.replace("/default/", "/kube-system/")
    with bed.door.shut():
        same(bed.call("POST", dry(path), {**job(), "metadata": {"name": "j", "namespace": "kube-system"}})[0], 201)


def nobody_there(bed):
    """Jobs and queues are refused, what the controller does again by itself goes through."""
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"minMember": 1}}
    with bed.door.shut():
        has(bed.kubectl("create", "-f", "-", stdin=json.dumps(job()), fails=True), 'failed calling webhook "validatejob.volcano.sh"')
        has(bed.kubectl("create", "-f", "-", stdin=json.dumps(queue("q")), fails=True), 'failed calling webhook "validatequeue.volcano.sh"')
        same(bed.call("POST", dry("/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"), group)[0], 201)
    same(bed.call("POST", dry(JOBS), job())[0], 201)


# ---- those who are not the API server ----


def ask(bed, path, body, content_type="application/json", method="POST"):
    context = ssl.create_default_context(cadata=base64.b64decode(bed.call("GET", SECRET)[1]["data"]["ca.crt"]).decode())
    request = urllib.request.Request(f"https://127.0.0.1:{bed.door.port}{path}", body, {"Content-Type": content_type}, method=method)
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def review(**request):
    kind = {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "kind": kind, **request}}).encode()


def garbage(bed):
    for status, path, body in ((400, "/jobs/validate", b""), (400, "/jobs/validate", b"{"), (400, "/jobs/validate", b"[]"), (400, "/jobs/validate", b'{"kind":"AdmissionReview"}'),
                               (400, "/jobs/validate", review(uid="")), (400, "/queues/validate", review()), (400, "/jobs/validate", b"[" * 100000), (404, "/", review()),
                               (404, "/jobs/validate/..", review()), (200, "/jobs/validate", review()), (200, "/jobs/mutate", review(operation="CREATE", object=7)),
                               (200, "/jobs/validate", review(operation="CREATE", object={"spec": {"tasks": {"a": [None]}}})),
                               (200, "/jobs/validate", review(operation="CREATE", object={"metadata": 7, "spec": [], "kind": {}})),
                               (200, "/jobs/mutate", review(operation="CREATE", object={"metadata": [], "spec": {"tasks": [1, None, {"template": ""}], "plugins": 3}})),
                               (200, "/jobs/validate", review(operation="UPDATE", object={}, oldObject=[])), (200, "/jobs/validate", review(operation="DELETE"))):
        real, text = ask(bed, path, body)
        assert real == status, f"{path} {body[:200]}: {real} {text[:300]}"
    same(ask(bed, "/jobs/validate", review(), content_type="text/plain")[0], 415)
    same(ask(bed, "/jobs/validate", None, method="GET")[0], 405)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(("127.0.0.1", bed.door.port), 10)) as s:
        s.sendall(b"POST /jobs/validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n")
        has(s.recv(200).decode(), "413")


def huge(bed):
    """A job as large as the API server takes, and one that etcd does not."""
    tasks = [{"name": f"t{i}", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "x", "env": [{"name": "E", "value": "v" * 2500}]}]}}} for i in range(500)]
    status, made = bed.call("POST", dry(JOBS), job("huge", tasks=tasks))
    same((status, made.get("spec", made).get("minAvailable", made)), (201, 500))
    status, answer = bed.call("POST", dry(JOBS), job("huge", queue="nope", tasks=tasks))
    same(status, 422)


# ---- certificates ----


def bundles(bed):
    out = set()
    for kind in ("mutating", "validating"):
        for c in bed.call("GET", f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations")[1]["items"]:
            out.update(h["clientConfig"].get("caBundle") for h in c["webhooks"])
    return out


def put_back(bed):
    """Somebody takes the CA out of a configuration, or the Secret away."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/volcano-admission-service-jobs-validate"
    config = bed.call("GET", path)[1]
    del config["webhooks"][0]["clientConfig"]["caBundle"]
    same(bed.call("PUT", path, config)[0], 200)
    until("the CA is back", lambda: bed.call("GET", path)[1]["webhooks"][0]["clientConfig"].get("caBundle"))
    before = bed.call("GET", SECRET)[1]["data"]
    same(bed.call("DELETE", SECRET)[0], 200)
    until("a Secret is back", lambda: bed.call("GET", SECRET)[0] == 200)
    assert bed.call("GET", SECRET)[1]["data"]["tls.crt"] != before["tls.crt"]
    until("all trust the new CA", lambda: bundles(bed) == {bed.call("GET", SECRET)[1]["data"]["ca.crt"]})
    until("and it is shown", lambda: bed.call("POST", dry(JOBS), job())[0] == 201, 5)  # at once: the old one is not trusted any more
    secret = bed.call("GET", SECRET)[1]
    secret["data"]["tls.key"] = base64.b64encode(b"nonsense").decode()
    same(bed.call("PUT", SECRET, secret)[0], 200)
    until("a broken Secret is mended", lambda: base64.b64decode(bed.call("GET", SECRET)[1]["data"]["tls.key"]).startswith(b"-----BEGIN"))


def not_ours(bed):
    """A webhook of another program in a configuration with our label, as `helm upgrade` of Volcano leaves one that was ours: what it trusts is
    not touched. And the other way round: when Volcano's program starts, it writes its CA into every configuration that has its names."""
    theirs, path = base64.b64encode(open(bed.ca, "rb").read()).decode(), "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

    def trusted(name, hook):
        return bed.call("GET", f"{path}/{name}")[1]["webhooks"][hook]["clientConfig"].get("caBundle")

    def hook(name, namespace, service, **ca):
        return {"name": f"{name}.test.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
                "clientConfig": {"service": {"namespace": namespace, "name": service}, **ca},
                "rules": [{"apiGroups": ["test.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"]}]}
    stray = {"metadata": {"name": "stray", "labels": {"app.kubernetes.io/name": "pumice"}}, "webhooks": [hook("stray", NAMESPACE, "pumice-webhook")]}
    same(bed.call("POST", path, stray)[0], 201)
    name = "volcano-admission-service-hypernodes-validate"
    config = bed.call("GET", f"{path}/{name}")[1]
    del config["webhooks"][0]["clientConfig"]["caBundle"]
    config["webhooks"].append(hook("theirs", "volcano-system", "volcano-admission-service", caBundle=theirs))
    same(bed.call("PUT", f"{path}/{name}", config)[0], 200)
    ours = until("ours has a CA", lambda: trusted(name, 0))
    same((trusted(name, 1), trusted("stray", 0)), (theirs, None))
    same(bed.call("DELETE", f"{path}/stray")[0], 200)
    config = bed.call("GET", f"{path}/{name}")[1]
    del config["webhooks"][1]
    same(bed.call("PUT", f"{path}/{name}", config)[0], 200)
    name = "volcano-admission-service-jobs-validate"
    config = bed.call("GET", f"{path}/{name}")[1]
    config["webhooks"][0]["clientConfig"]["caBundle"] = theirs
    same(bed.call("PUT", f"{path}/{name}", config)[0], 200)
    until("ours is back", lambda: trusted(name, 0) == ours)
    until("and asked", lambda: bed.call("POST", dry(JOBS), job(queue="nope"))[0] == 422)


def rotation(bed):
    """Certificates of twelve seconds, made anew every eight by one of two replicas, while requests come: none is lost."""
    door, codes, seen, over = bed.door, [], set(), threading.Event()
    same(bed.call("DELETE", SECRET)[0], 200)

    def load():
        while not over.is_set():
            codes.append(bed.call("POST", dry(JOBS), job())[0])

    with start(bed, door, "--webhook-certificate-lifetime=12s", name="a") as a, start(bed, door, "--webhook-certificate-lifetime=12s", name="b") as b:
        for c in (a, b):
            c.until_ready()
        until("all trust one CA", lambda: len(bundles(bed)) == 1)
        same(bed.call("POST", dry(JOBS), job())[0], 201)
        thread = threading.Thread(target=load)
        thread.start()
        try:
            until("three certificates", lambda: seen.add(bed.call("GET", SECRET)[1]["data"]["tls.crt"]) or len(seen) >= 3)
            until("and both show the last", lambda: all(c.log.count("Serving webhook certificate") >= 3 for c in (a, b)))
            door.ports.remove(webhook_port(a))  # as a Service does before a pod ends
            time.sleep(1)
            same(a.stop(), 0)
            n = len(codes)
            until("one is enough", lambda: len(codes) > n + 20)
        finally:
            over.set()
            thread.join()
            door.ports.clear()
    same(set(codes), {201})
    has(bed.call("GET", SECRET)[1]["type"], "kubernetes.io/tls")


def replicas_with_addresses(bed):
    """Each shows a certificate with its own address, by the CA that they share; none writes the other's Secret anew."""
    hosts = ("127.0.0.1", "127.0.0.2")
    bed.call("DELETE", SECRET)  # the certificates of the case before live for seconds
    with contextlib.ExitStack() as stack:
        replicas = [stack.enter_context(Controller(bed, f"at-{h}", "--webhook", f"--webhook-address={h}:0", "--leader-elect=false", kubeconfig=bed.account)) for h in hosts]
        for c in replicas:
            until("it has shown a certificate", lambda: "Serving webhook certificate" in c.log)
        secret = bed.call("GET", SECRET)[1]
        time.sleep(8)  # two tries of each, if they fought
        same(bed.call("GET", SECRET)[1]["metadata"]["resourceVersion"], secret["metadata"]["resourceVersion"])
        trust = ssl.create_default_context(cadata=base64.b64decode(secret["data"]["ca.crt"]).decode())
        for host, c in zip(hosts, replicas):
            with socket.create_connection((host, webhook_port(c))) as s, trust.wrap_socket(s, server_hostname=host):
                pass


def chosen(*cases):
    return [c for c in cases if len(sys.argv) == 1 or c.__name__ in sys.argv[1:]]


def no_right_is_idle(bed):
    """What the roles for it grant was asked for by now. A list may come as the beginning of a watch."""
    used, refused = rbac.asked(bed)
    used |= {(group, resource, "list") for group, resource, verb in used if verb == "watch"}
    printed = subprocess.run([PUMICE, "install", "--dry-run", "--webhook", "--only", "roles"], capture_output=True, text=True, check=True).stdout
    for role in yaml.safe_load_all(printed):
        if role["kind"].endswith("Role") and role["metadata"]["name"] in ("pumice-webhook", "pumice-certificate"):
            idle = set().union(*map(rbac.rights, role["rules"])) - used
            assert not idle, f"{role['metadata']['name']}: nobody asked for {sorted(idle)}"
    assert not refused, refused


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            bed.door = Door()
            set_up(bed, bed.door)
            with start(bed, bed.door) as c:
                c.until_ready()
                until("the queues of the controller", lambda: bed.call("GET", f"{QUEUES}/default")[0] == 200)
                for case in chosen(defaults, refusals, volcanos_words, updates, a_namespace_names_a_queue, children_at_once, never_asked_about_kube_system, nobody_there, garbage, huge, not_ours, put_back):
                    suite.case(case.__name__, lambda case=case: case(bed))
                suite.case("metrics", lambda: has(c.get("/metrics")[1], 'pumice_admissions_total{result="denied"}'))
                suite.case("no trouble", lambda: same(re.findall("(?m)^.*level=(?:error|warn) .*Sanitizer.*$|runtime error", c.log), []))
                stop(bed.door, c)
            for case in chosen(rotation, replicas_with_addresses, no_right_is_idle):
                suite.case(case.__name__, lambda case=case: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
