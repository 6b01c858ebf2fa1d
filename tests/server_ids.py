#!/usr/bin/env python3
"""`pumice server` and the pods of tenants: which ids of the machine they have, whose files and images they see, what they reach.

One server of root with two tenants: ann edits "lab", bob edits "other"; both are restricted. carl may have the host's files and
services, dora is a UNIX user. "app" is an image of the operator's; the machine has a file that only its owner may read.
"""
import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import images
from harness import Suite, pumice, same
from registry import Image, Liar
from server import Server, server_or_skip, until

KEY, OWNER, DORA = "treasure-5512", 54321, 54322
IDS = range(0x78000000, 0x7FFD0000)  # where ranges of tenants are
NOTE = "pumice/tenant"
ACCESS = f"""
jobs:
- users: [carl]
  runAs: restricted
  hostFiles: true
  hostServices: true
- users: [dora]
  runAs: {{uid: {DORA}, gid: {DORA}}}
"""


class Place:
    def __init__(self, *options):
        self.dir = tempfile.mkdtemp(prefix="pumice-ids.")
        self.secret = tempfile.mkdtemp(prefix="pumice-ids.", dir="/srv")
        os.chmod(self.secret, 0o755)
        with open(f"{self.secret}/key", "w") as f:
            f.write(KEY)
        os.chown(f"{self.secret}/key", OWNER, OWNER)
        os.chmod(f"{self.secret}/key", 0o600)
        with open(f"{self.dir}/access", "w") as f:
            f.write(ACCESS)
        home = images.folder("home/app", 0o700, uid=1000, gid=1001), images.text("home/app/mine", "mine\n", mode=0o600, uid=1000, gid=1001)
        groups = images.text("etc/group", f"root:x:0:\napp:x:1001:\nextra:x:1002:app\ndisk:x:6:dora\n")
        users = images.text("etc/passwd", f"root:x:0:0::/:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\ndora:x:{DORA}:{DORA}::/:/bin/sh\n")
        images.docker_archive(f"{self.dir}/app.tar", images.layer(images.root(images.folder("home"), *home, users, groups)), name="app:1")
        self.server = Server("--access-config", f"{self.dir}/access", "--image", f"app:1={self.dir}/app.tar", *options,
                             env={k: v for k, v in os.environ.items() if k != "PUMICE_PULL"})
        self.token = {}
        for name, *args in (("ann", "--edit", "-n", "lab"), ("bob", "--edit", "-n", "other"), ("carl", "--edit", "-n", "lab"),
                            ("dora", "--edit", "-n", "lab")):
            run = pumice("server", "user", "add", name, "--token", "--data-dir", self.server.data, *args)
            assert run.returncode == 0, run.stderr
            self.token[name] = re.search(r"token: (\S+)", run.stdout)[1]
        for ns in ("lab", "other"):
            until(f"{ns} is there", lambda: self.server.call("GET", f"/api/v1/namespaces/{ns}/serviceaccounts/default")[0] == 200)

    def as_(self, who, method, path, body=None, **kw):
        return self.server.call(method, path, body, token=self.token[who], **kw)

    def make(self, who, pod, ns="lab", want=201):
        status, answer = self.as_(who, "POST", f"/api/v1/namespaces/{ns}/pods", pod)
        assert status == want, answer
        return answer

    def get(self, name, ns="lab"):
        return self.server.ok("GET", f"/api/v1/namespaces/{ns}/pods/{name}")

    def log(self, name, ns="lab", **query):
        return self.server.call("GET", f"/api/v1/namespaces/{ns}/pods/{name}/log?{urllib.parse.urlencode(query)}")[1]

    def drop(self, *names, ns="lab"):
        for name in names:
            self.server.call("DELETE", f"/api/v1/namespaces/{ns}/pods/{name}", {"gracePeriodSeconds": 0})

    def ended(self, name, ns="lab"):
        until(f"{name} has ended", lambda: self.get(name, ns)["status"]["phase"] in ("Succeeded", "Failed"))
        return str(self.log(name, ns)).strip()

    def runs(self, name, ns="lab"):
        until(f"{name} runs", lambda: self.get(name, ns)["status"]["phase"] == "Running" and
              all(c.get("started") for c in self.get(name, ns)["status"].get("containerStatuses", [{}])))

    def waits(self, name, *reasons, ns="lab"):
        """Why its container does not start; it never may."""
        def look():
            status = self.get(name, ns)["status"]
            assert status["phase"] == "Pending", status
            return status.get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
        until(f"{name} says why it waits", lambda: look().get("reason") in reasons)
        return look()["message"]

    def end(self):
        self.server.stop()
        shutil.rmtree(self.dir)
        shutil.rmtree(self.secret)


def pod(name, command, image="app:1", user=1000, never=False, **spec):
    """One that "restricted" allows."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}, **({"runAsUser": user} if user else {})},
        "containers": [container("main", command, image, never)], **spec}}


def container(name, command, image="app:1", never=False, **more):
    return {"name": name, "image": image, "command": ["/bin/sh", "-c", command], **({"imagePullPolicy": "Never"} if never else {}),
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}, **more}


def marker(n=[0]):
    """A sleep that no other process has."""
    n[0] += 1
    return f"sleep 87{os.getpid()}{n[0]:03}"


def ids_of(word):
    """All ids, as the machine sees them, of processes with this word in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if word.encode() not in f.read().replace(b"\0", b" "):
                    continue
            with open(f"/proc/{pid}/status") as f:
                lines = dict(line.split(":", 1) for line in f)
            found.append({k: set(map(int, lines[k].split())) for k in ("Uid", "Gid", "Groups")})
    return found


def base_of(word):
    """The range of those processes: they have no id of another one, whatever it is."""
    until(f"{word} runs", lambda: ids_of(word))
    found = ids_of(word)
    every = set().union(*(s for ids in found for s in ids.values()))
    assert every and all(i in IDS for i in every), found
    bases = {i - i % 65536 for i in every}
    assert len(bases) == 1, found
    return bases.pop(), found


def exec_(p, who, name, *command, ns="lab", container="main"):
    """What a command says that somebody runs in a container."""
    s = p.server
    q = urllib.parse.urlencode([*(("command", c) for c in command), ("stdout", "true"), ("stderr", "true"), ("container", container)])
    raw = socket.create_connection(("127.0.0.1", s.port), timeout=60)
    c = ssl.create_default_context(cadata=s.ca).wrap_socket(raw, server_hostname="127.0.0.1")
    key = base64.b64encode(os.urandom(16)).decode()
    c.sendall((f"GET /api/v1/namespaces/{ns}/pods/{name}/exec?{q} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {p.token[who]}\r\n"
               f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
               "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n").encode())
    got = b""
    with contextlib.closing(c):
        while b'"status":"' not in got:
            more = c.recv(65536)
            if not more:
                break
            got += more
    return got.decode(errors="replace")


# ---- the host's files ----

def host_files(p):
    """Whoever is restricted chose a uid and an image that nobody has, and read another user's key."""
    steal = f"cat {p.secret}/key"
    for name, image, never, reasons in (("gone", "127.0.0.1:1/x:1", False, ("ErrImagePull", "ImagePullBackOff")),
                                        ("never", "nowhere.invalid/x:2", True, ("ErrImageNeverPull",)),
                                        ("odd", "Not/A/Name", True, ("ErrImageNeverPull",)),
                                        ("odder", "Not/A/Name", False, ("InvalidImageName",))):
        p.make("ann", pod(name, steal, image, OWNER, never))
        message = p.waits(name, *reasons)
        if name == "never":
            same(message, 'Container image "nowhere.invalid/x:2" is not present with pull policy of Never')
        p.drop(name)
    job = {"metadata": {"name": "steals"}, "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {
        "metadata": {"annotations": {NOTE: "host-files"}}, "spec": pod("x", steal, "nowhere.invalid/x:3", OWNER, True)["spec"]}}]}}
    status, made = p.as_("ann", "POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/lab/jobs", job)
    same((status, made["spec"]["tasks"][0]["template"]["metadata"]["annotations"][NOTE]), (201, "ids"))
    until("its pod is there", lambda: p.server.call("GET", "/api/v1/namespaces/lab/pods/steals-t-0")[0] == 200)
    p.waits("steals-t-0", "ErrImageNeverPull")
    p.server.ok("DELETE", "/apis/batch.volcano.sh/v1alpha1/namespaces/lab/jobs/steals")


def host_files_are_opened(p):
    """Where the configuration gives them, they are nobody's of the pod: neither uid nor gid is one of the machine's."""
    p.make("carl", pod("opened", f"cat /etc/hostname >/dev/null && echo sees; cat {p.secret}/key; true", "nowhere.invalid/x:4", OWNER, True))
    said = p.ended("opened")
    assert "sees" in said and KEY not in said and "ermission denied" in said, said
    p.drop("opened")


# ---- ids ----

def ids_are_of_a_range(p):
    """Inside they are what the file says; outside they are in the range of the namespace, in every process of every kind."""
    words = [marker() for _ in range(6)]
    claim = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}}}
    same(p.as_("ann", "POST", "/api/v1/namespaces/lab/persistentvolumeclaims", claim)[0], 201)
    mounts = [{"name": n, "mountPath": f"/{n}"} for n in ("claim", "empty", "memory", "conf")]
    made = pod("ids", f"id; stat -c '%u %g %a' /etc/passwd /work /home/app/mine /claim /empty /memory /conf/k; cat /home/app/mine; "
                      f"touch /claim/a /empty/a /memory/a /work/a; stat -c '%u %g' /claim/a /empty/a /memory/a /work/a; "
                      f"echo done; {words[0]} & {words[0]}1",
               volumes=[{"name": "claim", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "empty", "emptyDir": {}},
                        {"name": "memory", "emptyDir": {"medium": "Memory"}}, {"name": "conf", "configMap": {"name": "conf"}}],
               initContainers=[container("first", f"id; {words[1]} & sleep 1; true")])
    made["spec"]["securityContext"].update(fsGroup=2000, supplementalGroups=[0, 4])
    main = made["spec"]["containers"][0]
    main["volumeMounts"] = mounts
    main["lifecycle"] = {"postStart": {"exec": {"command": ["/bin/sh", "-c", f"id > /empty/hook; {words[2]} & true"]}}}
    main["readinessProbe"] = {"exec": {"command": ["/bin/sh", "-c", "id > /empty/probe; test $(id -u) = 1000"]}, "periodSeconds": 1}
    same(p.as_("ann", "POST", "/api/v1/namespaces/lab/configmaps", {"metadata": {"name": "conf"}, "data": {"k": "v"}})[0], 201)
    p.make("ann", made)
    first, _ = base_of(words[1])
    until("it has said all", lambda: "done" in str(p.log("ids", container="main")))
    said = p.log("ids", container="main")
    assert said.startswith("uid=1000(app) gid=1001(app) groups=0(root),4,1002(extra),2000\n") or "uid=1000(app) gid=1001(app)" in said, said
    same(said.splitlines()[1:8], ["0 0 644", "1000 1001 755", "1000 1001 600", *(["0 2000 2777"] * 2), "0 2000 3777", said.splitlines()[7]])
    assert "\nmine\n" in said and said.splitlines()[-5:-1] == ["1000 2000"] * 3 + ["1000 1001"], said
    until("it is ready", lambda: any(c["type"] == "Ready" and c["status"] == "True" for c in p.get("ids")["status"]["conditions"]))
    bases = {first, base_of(words[0])[0], base_of(words[2])[0]}
    threading.Thread(target=exec_, args=(p, "ann", "ids", "/bin/sh", "-c", words[3]), daemon=True).start()
    bases.add(base_of(words[3])[0])
    said = exec_(p, "ann", "ids", "/bin/sh", "-c", "id; cat /empty/hook /empty/probe; cat /proc/self/uid_map; cat /proc/1/environ; ls /proc/1/root")
    assert said.count("uid=1000(app) gid=1001(app)") == 3 and re.search(rf"0 +{first} +65536", said), said
    debug = {"spec": {"ephemeralContainers": [{**container("debug", f"id; {words[4]}"), "targetContainerName": "main"}]}}
    p.server.ok("PATCH", "/api/v1/namespaces/lab/pods/ids/ephemeralcontainers", debug, type="application/strategic-merge-patch+json")
    bases.add(base_of(words[4])[0])
    same(bases, {first})
    for path in ("c/a",):  # where they lie, they have the ids of the pod: other pods of the namespace see the same
        where = subprocess.run(["find", p.server.data, "-path", f"*claims/lab/{path}"], capture_output=True, text=True).stdout.split()
        same([(os.stat(w).st_uid, os.stat(w).st_gid) for w in where], [(1000, 2000)])
    second = pod("shares", f"cat /claim/a && stat -c %u /claim/a && echo more > /claim/a && {words[5]}",
                 volumes=made["spec"]["volumes"][:1])
    second["spec"]["containers"][0]["volumeMounts"] = mounts[:1]
    p.make("ann", second)
    same(base_of(words[5])[0], first)
    p.drop("shares", "ids")
    p.range = first


def namespaces_are_apart(p):
    word = marker()
    p.make("bob", pod("far", f"id; {word}", user=0 or 1000), ns="other")
    base, _ = base_of(word)
    assert base != p.range, base
    p.drop("far", ns="other")


def no_group_is_root(p):
    """Nobody says a group, and the image knows no user of that number."""
    word = marker()
    p.make("ann", pod("plain", word, user=7777))
    _, found = base_of(word)
    same([sorted(i % 65536 for i in ids["Uid"] | ids["Gid"]) for ids in found][:1], [[0, 7777]])
    p.drop("plain")
    for field, change in (("runAsUser", {"runAsUser": 65536}), ("fsGroup", {"fsGroup": 100000}), ("supplementalGroups[0]", {"supplementalGroups": [70000]})):
        made = pod("wide", "true")
        made["spec"]["securityContext"].update(change)
        status, answer = p.as_("ann", "POST", "/api/v1/namespaces/lab/pods", made)
        assert status == 403 and f"spec.securityContext.{field}: must be 0 to 65535" in answer["message"], answer


def unix_users_have_no_other_group(p):
    """An image may say of its user whatever it likes."""
    word = marker()
    made = pod("dora", word)
    del made["spec"]["securityContext"]
    p.make("dora", made)
    until("it runs", lambda: ids_of(word))
    for ids in ids_of(word):
        same(ids, {"Uid": {DORA}, "Gid": {DORA}, "Groups": set()})
    p.drop("dora")
    for key, value in (("runAsGroup", 0), ("runAsGroup", 6), ("fsGroup", 6), ("supplementalGroups", [6])):
        made["spec"]["securityContext"] = {key: value}
        status, answer = p.as_("dora", "POST", "/api/v1/namespaces/lab/pods", made)
        assert status == 403 and f"spec.securityContext.{key}" in answer["message"], answer
    p.make("dora", pod("steals", f"cat {p.secret}/key", "nowhere.invalid/x:5", None, True))
    p.waits("steals", "ErrImageNeverPull")
    p.drop("steals")


# ---- the mark ----

def mark_stays(p):
    """Whoever is bound by it cannot take it away, nor can anybody by writing an older file again."""
    s, path, jobs = p.server, "/api/v1/namespaces/lab/pods/marked", "/apis/batch.volcano.sh/v1alpha1/namespaces/lab/jobs"
    made = pod("marked", marker())
    made["metadata"]["annotations"] = {NOTE: "ids,host-files,host-services"}
    same(p.make("ann", made)["metadata"]["annotations"][NOTE], "ids")
    mine = {"metadata": {"annotations": {NOTE: "host-files"}}}
    for patch, kind in ((mine, "merge-patch"), ({"metadata": {"annotations": {NOTE: None}}}, "strategic-merge-patch"),
                        ({"metadata": {"annotations": None}}, "merge-patch"),
                        ([{"op": "replace", "path": "/metadata/annotations", "value": {}}], "json-patch")):
        same(p.as_("ann", "PATCH", path, patch, type=f"application/{kind}+json")[0], 200)
        same(p.get("marked")["metadata"]["annotations"][NOTE], "ids")
    whole = p.get("marked")
    del whole["metadata"]["annotations"], whole["metadata"]["managedFields"]
    for call in (lambda: p.as_("ann", "PUT", path, whole), lambda: s.call("PUT", path, whole)):  # the administrator's, too
        whole["metadata"].pop("resourceVersion", None)
        same(call()[0], 200)
        same(p.get("marked")["metadata"]["annotations"][NOTE], "ids")
    p.drop("marked")
    s.ok("POST", "/api/v1/namespaces/lab/pods", pod("admins", marker()))
    patch = {"spec": {"containers": [{"name": "main", "image": "app:2"}]}}
    status, answer = p.as_("ann", "PATCH", "/api/v1/namespaces/lab/pods/admins", patch, type="application/strategic-merge-patch+json")
    assert status == 403 and "has other permissions than pods of ann get" in answer["message"], answer
    p.drop("admins")
    job = {"metadata": {"name": "marked"}, "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {"spec": pod("x", marker())["spec"]}}]}}
    same(p.as_("ann", "POST", jobs, job)[0], 201)
    job["spec"]["tasks"][0]["template"]["metadata"] = {"annotations": {}}
    for who in ("ann", None):  # the file as it was, once more
        status = 409
        while status == 409:  # its controller writes, too
            job["metadata"]["resourceVersion"] = s.ok("GET", f"{jobs}/marked")["metadata"]["resourceVersion"]
            status, answer = s.call("PUT", f"{jobs}/marked", job, **({"token": p.token[who]} if who else {}))
        same((status, answer.get("message")), (200, None))
        same(answer["spec"]["tasks"][0]["template"]["metadata"]["annotations"][NOTE], "ids")
    s.ok("DELETE", f"{jobs}/marked")


def outlives_the_server(p):
    """A Job's pods are made by a controller, also by one that begins later; the range is the same."""
    word, jobs = marker(), "/apis/batch.volcano.sh/v1alpha1/namespaces/lab/jobs"
    spec = {**pod("x", f"test -e /work/never || {word}")["spec"], "restartPolicy": "OnFailure"}
    job = {"metadata": {"name": "again"}, "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {"spec": spec},
           "policies": [{"event": "PodEvicted", "action": "RestartJob"}]}]}}
    same(p.as_("ann", "POST", jobs, job)[0], 201)
    same(base_of(word)[0], p.range)
    p.server.restart()
    until("the server knows it again", lambda: p.server.call("GET", f"{jobs}/again")[0] == 200)
    until("its pod is there", lambda: p.server.call("GET", "/api/v1/namespaces/lab/pods/again-t-0")[0] == 200)
    uid = p.get("again-t-0")["metadata"]["uid"]
    p.drop("again-t-0")
    until("there is another", lambda: p.server.call("GET", "/api/v1/namespaces/lab/pods/again-t-0")[0] == 200 and
          p.get("again-t-0")["metadata"]["uid"] != uid and p.get("again-t-0")["status"].get("phase") == "Running")
    same(base_of(word)[0], p.range)
    p.server.ok("DELETE", f"{jobs}/again")


# ---- images ----

def basic(word):
    return base64.b64encode(f"me:{word}".encode()).decode()


def pull_secret(p, who, ns, name, hosts):
    config = base64.b64encode(json.dumps({"auths": {h: {"auth": basic(w)} for h, w in hosts.items()}}).encode()).decode()
    same(p.as_(who, "POST", f"/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson",
                                                               "data": {".dockerconfigjson": config}})[0], 201)


def closed_registry(image):
    """One that wants to know the password of "closed/…"."""
    r = Liar()
    r.tricks["/closed/"] = lambda h: h.headers.get("Authorization") != "Basic " + basic("secret") and h.answer(
        401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
    return r, r.push("closed/app", image, "1")


def with_secret(made, name):
    made["spec"]["imagePullSecrets"] = [{"name": name}]
    return made


def images_are_of_those_who_pulled_them(p):
    """ann has the password. bob has the name, the digest, another password; the store has the image."""
    image = Image(images.layer(images.root(images.text("private", KEY))))
    r, name = closed_registry(image)
    with contextlib.closing(r):
        for who, ns, word in (("ann", "lab", "secret"), ("bob", "other", "wrong"), ("ann", "lab", "secret2")):
            pull_secret(p, who, ns, word, {r.host: word})
        by_digest = f"{r.host}/closed/app@{image.digest}"
        for i, ref in enumerate((name, by_digest)):
            p.make("ann", with_secret(pod(f"has{i}", "cat /private", ref), "secret"))
            same(p.ended(f"has{i}"), KEY)
            p.make("bob", pod(f"never{i}", "cat /private", ref, never=True), ns="other")
            assert "no right to it" in p.waits(f"never{i}", "ErrImageNeverPull", ns="other")
            p.make("bob", pod(f"without{i}", "cat /private", ref), ns="other")
            assert "401" in p.waits(f"without{i}", "ErrImagePull", "ImagePullBackOff", ns="other")
            p.make("bob", with_secret(pod(f"wrong{i}", "cat /private", ref), "wrong"), ns="other")
            assert "401" in p.waits(f"wrong{i}", "ErrImagePull", "ImagePullBackOff", ns="other")
            p.make("ann", with_secret(pod(f"again{i}", "cat /private", ref, never=True), "secret"))
            same(p.ended(f"again{i}"), KEY)  # what is hers stays hers, without a word to the registry
        pull_secret(p, "bob", "other", "secret", {r.host: "secret"})
        p.make("bob", with_secret(pod("right", "cat /private", name), "secret"), ns="other")
        same(p.ended("right", "other"), KEY)
    p.drop(*(f"{n}{i}" for n in ("never", "without", "wrong") for i in range(2)), "right", ns="other")
    p.drop(*(f"{n}{i}" for n in ("has", "again") for i in range(2)))


def digests_open_nothing(p):
    """bob's own registry has a manifest that names ann's config and layers, and whatever of them he could know."""
    image = Image(images.layer(images.root(images.text("private", KEY))), config={"Env": ["X=1"]})
    own = Image(images.layer(images.root(images.text("private", "junk"))))
    r, name = closed_registry(image)
    with contextlib.closing(r), contextlib.closing(Liar()) as his:
        pull_secret(p, "ann", "lab", "digests", {r.host: "secret"})
        p.make("ann", with_secret(pod("hers", "cat /private", name), "digests"))
        same(p.ended("hers"), KEY)
        config = next(d for k, d in image.blobs.items() if k == image.id)
        for i, (says, has) in enumerate(((image.manifest, {}), (image.manifest, {image.id: config}),
                                         (own.manifest.replace(own.id.encode(), image.id.encode()).replace(
                                             str(len(own.blobs[own.id])).encode(), str(len(config)).encode(), 1),
                                          {**own.blobs, image.id: config}))):
            copy = Image(images.layer(images.root()))
            copy.manifest, copy.blobs = says, has
            copy.digest = "sha256:" + hashlib.sha256(says).hexdigest()
            p.make("bob", pod(f"thief{i}", "cat /private", his.push(f"his{i}", copy, "1")), ns="other")
            p.waits(f"thief{i}", "ErrImagePull", "ImagePullBackOff", ns="other")
        p.make("bob", pod("honest", "cat /private", his.push("whole", image, "1")), ns="other")
        same(p.ended("honest", "other"), KEY)  # who can give all of it has all of it
    p.drop("hers")
    p.drop("thief0", "thief1", "thief2", "honest", ns="other")


# ---- services of the host ----

def host_addresses():
    """All but those of the loopback, of both families."""
    run = subprocess.run(["ip", "-j", "addr"], capture_output=True, text=True, check=True)
    return [a["local"] for link in json.loads(run.stdout) for a in link["addr_info"] if link["ifname"] != "lo" and "local" in a]


def listener(family, address):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((address, 0))
    s.listen(64)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                c, _ = s.accept()
                c.sendall(KEY.encode())
                c.close()
    threading.Thread(target=serve, daemon=True).start()
    return s


def host_services(p):
    """By whatever address the host has, on whatever link; names and the API server are reached all the same."""
    subprocess.run(["ip", "link", "add", "pmids0", "type", "veth", "peer", "name", "pmids1"], check=True)
    try:
        subprocess.run(["ip", "addr", "add", "198.51.100.77/32", "dev", "pmids0"], check=True)
        subprocess.run(["ip", "link", "set", "pmids0", "up"], check=True)
        with listener(socket.AF_INET, "0.0.0.0") as four, listener(socket.AF_INET6, "::") as six:
            ports = {False: four.getsockname()[1], True: six.getsockname()[1]}
            tries = " ".join(f"{a}/{ports[':' in a]}" for a in host_addresses() + ["169.254.169.254", "127.0.0.1", "127.1.2.3"])
            look = (f"for t in {tries}; do echo $t $(/bin/busybox nc -w 3 ${{t%/*}} ${{t#*/}} </dev/null 2>&1); done; "
                    "echo x | /bin/busybox nc -w 3 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT >/dev/null && echo api; "
                    "/bin/busybox nslookup there.lab.svc.cluster.local && echo names")
            same(p.as_("ann", "POST", "/api/v1/namespaces/lab/services", {"metadata": {"name": "there"}, "spec": {"ports": [{"port": 80}]}})[0], 201)
            p.make("ann", pod("closed", look))
            p.make("carl", pod("open", look))
            p.server.ok("POST", "/api/v1/namespaces/lab/pods", pod("admins", look))
            said = {name: p.ended(name) for name in ("closed", "open", "admins")}
            has_way_out = KEY in said["admins"]
            assert KEY not in said["closed"] and "api" in said["closed"] and "names" in said["closed"], said
            assert has_way_out or subprocess.run(["ip", "route", "show", "default"], capture_output=True).stdout == b"", said
            if has_way_out:
                assert f"198.51.100.77/{ports[False]} {KEY}" in said["open"] and f"198.51.100.77/{ports[False]} {KEY}" in said["admins"], said
            p.make("ann", pod("server", "while :; do echo hello | /bin/busybox nc -l -p 8080; done"))  # what the host begins is answered
            p.runs("server")
            address = p.get("server")["status"]["podIP"]

            def ask():
                with contextlib.suppress(OSError), socket.create_connection((address, 8080), 2) as c:
                    return c.recv(16) == b"hello\n"
            if has_way_out:
                until("the host reaches the pod", ask)
        p.drop("closed", "open", "admins", "server")
    finally:
        subprocess.run(["ip", "link", "del", "pmids0"], check=True)


# ---- with a runtime of somebody else's ----

def with_a_runtime(_):
    """No user namespace, and the same ids of the machine; files of the image and of volumes are the pod's."""
    word = marker()
    p = Place("--runtime", "crun")
    try:
        made = pod("oci", f"cat /home/app/mine; touch /work/a /empty/a && echo made; {word}", volumes=[{"name": "empty", "emptyDir": {}}])
        made["spec"]["containers"][0]["volumeMounts"] = [{"name": "empty", "mountPath": "/empty"}]
        p.make("ann", made)
        base, _ = base_of(word)
        until("it has said all", lambda: "made" in p.log("oci"))
        assert p.log("oci").startswith("mine\n"), p.log("oci")
        assert f"uid={base + 1000} gid={base + 1001}" in exec_(p, "ann", "oci", "id")
        p.make("ann", pod("never", "true", "nowhere.invalid/x:1", OWNER, True))
        p.waits("never", "ErrImageNeverPull")
    finally:
        p.end()


def main():
    suite = Suite()
    if os.geteuid() != 0 or not images.BUSYBOX:
        print("only root gives pods ids of the machine, and the images need a static busybox")
        return 77
    p = server_or_skip(Place)
    cases = (host_files, host_files_are_opened, ids_are_of_a_range, namespaces_are_apart, no_group_is_root, unix_users_have_no_other_group,
             mark_stays, images_are_of_those_who_pulled_them, digests_open_nothing, host_services, outlives_the_server,
             *([with_a_runtime] if shutil.which("crun") else []))
    try:
        for case in cases:
            if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
                suite.case(case.__name__, lambda: case(p))
    finally:
        p.end()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
