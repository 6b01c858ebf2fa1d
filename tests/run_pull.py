#!/usr/bin/env python3
"""Images from registries: Debian's docker-registry with images made here, and a registry that lies."""
import base64
import contextlib
import http.server
import json
import os
import pty
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import warnings

import harness
import images
import leftovers
import pulling
import registry
from harness import Suite
from images import layer, root, text
from pulling import WORDS, app, basic, files, listed, notices, path, pod, pull, pumice, refused
from registry import Image, Index, Liar, Registry
from runs import UNFILTERED, Run, has_mount_namespaces, has_user_namespaces, job, run, same, sh, skip

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import crypt  # noqa: E402

PLAIN = LIAR = None  # set in main()


# ---- a registry for everybody ----

def pulls():
    """By tag, by digest, again; a newer one under the same tag; zstd and plain layers; two machines in one index."""
    first, second = app("first"), app("second")
    ref = PLAIN.push("team/app", first, "1", "2")
    assert "pulled, " + first.digest in pull(ref)
    assert "up to date" in pull(ref)
    name = f"{PLAIN.host}/team/app@{first.digest}"
    pull(name)
    same({n: i["id"] for n, i in listed().items()}, {ref: first.id, name: first.id})
    PLAIN.push("team/app", second, "1")
    assert "pulled, " + second.digest in pull(ref)
    same((listed()[ref]["id"], listed()[name]["id"], listed()[ref]["digest"]), (second.id, first.id, second.digest))
    both = Index(app("other", arch="s390x"), app("ours"))
    pull(PLAIN.push("team/both", both), PLAIN.push("team/tar", app("tar", media="tar")))
    same(listed()[f"{PLAIN.host}/team/both:latest"]["digest"], both.digest)
    if registry.zstd(b""):
        pull(PLAIN.push("team/zstd", app("zstd", media="tar+zstd")))
        r = run(job("j", pod(f"{PLAIN.host}/team/zstd:latest", imagePullPolicy="Never")), "--image-store", path("store")).done()
        same(r.lines("a-0"), ["zstd"])
    other = Index(app("other", arch="s390x"))
    refused(PLAIN.push("team/other", other), says="not available for linux")
    # What an earlier pull left of a layer: this registry gives the rest.
    half = app("half")
    data = half.blobs[half.layers[0]]
    pulling.write(f"half/blobs/part-{half.layers[0][7:]}", data[:len(data) // 2])
    pull(PLAIN.push("team/half", half), store="half")
    same([line.split('" ')[1].split()[:2] for line in PLAIN.requests(half.layers[0])], [["206", str(len(data) - len(data) // 2)]])
    refused(PLAIN.host + "/team/app:nosuch", says="manifest unknown")
    refused("UPPER", says="is not an image name")


def layers_are_shared():
    """What one image has is not fetched for another; what two ask for at the same time is fetched once."""
    base = layer(root(text("etc/what", "base\n")))
    one, two = Image(base, layer([text("one", "")])), Image(base, layer([text("two", "")]))
    refs = [PLAIN.push(f"shared/{n}", i) for n, i in (("one", one), ("two", two))]
    both = [subprocess.Popen([harness.PUMICE, "pull", refs[0], "--image-store", path("shared")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for _ in range(3)]
    for p in both:
        words = p.communicate(timeout=60)[0]
        assert p.returncode == 0, words
    pull(refs[1], store="shared")
    same({d: len(PLAIN.requests(d)) for d in (*one.layers, *two.layers)}, {d: 1 for d in (*one.layers, *two.layers)})
    # One name less; a part that was left by a crash; then all.
    same(len(files("shared")[0]), 2)
    open(path("shared/blobs/part-" + "0" * 64), "w").close()
    assert "1 image removed" not in pumice("image", "prune", store="shared").stdout
    same((len(files("shared")[0]), len(files("shared")[1]), files("shared")[2]), (2, 7, []))
    r = pumice("image", "rm", refs[0], store="shared")
    assert r.returncode == 0 and "freed" in r.stdout, r
    same(sorted(files("shared")[1]), sorted(d[7:] for d in (two.digest, two.id, *two.layers)))
    r = pumice("image", "rm", "nosuch", store="shared")
    assert r.returncode == 1 and "image nosuch not found" in r.stderr, r
    assert "1 image removed" in pumice("image", "prune", "--all", store="shared").stdout
    same(files("shared"), ([], [], [], []))


# ---- runs ----

def on_demand():
    """A run pulls what is not there: once for all pods, and says so. While it runs the image cannot be removed."""
    image = app("demand")
    ref = PLAIN.push("run/app", image, "1")
    t = pod(ref, replicas=4, command=["/bin/sh", "-c", "cat /etc/what; while ! test -e /go/on; do sleep 0.05; done"])
    os.makedirs(path("go"), exist_ok=True)
    t["template"]["spec"].update(volumes=[{"name": "go", "hostPath": {"path": path("go")}}])
    t["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "go", "mountPath": "/go"}]
    r = Run(job("j", t, minAvailable=4), "--image-store", path("demand"))
    r.until(lambda r: len(r.lines("")) == 4)
    kept = pumice("image", "rm", ref, store="demand")
    assert kept.returncode == 1 and "in use" in kept.stderr, kept
    same(listed("demand")[ref]["inUse"], True)
    assert "0 images removed" in pumice("image", "prune", "--all", store="demand").stdout
    open(path("go/on"), "w").close()
    r.end().done()
    same((r.lines(""), len(PLAIN.requests("run/app/manifests/1")), len(PLAIN.requests(image.layers[0]))), (["demand"] * 4, 1, 1))
    # There now: nobody is asked. With Always, or without a tag, and with --pull always: asked each time.
    run(job("j", pod(ref)), "--image-store", path("demand")).done()
    same(len(PLAIN.requests("run/app/manifests/1")), 1)
    for more in ((pod(ref, imagePullPolicy="Always"),), (pod(ref), "--pull", "always")):
        run(job("j", more[0]), "--image-store", path("demand"), *more[1:]).done()
    same(len(PLAIN.requests("run/app/manifests/1")), 3)
    PLAIN.push("run/app", app("newer"), "latest")
    r = run(job("j", pod(f"{PLAIN.host}/run/app", replicas=2)), "--image-store", path("demand")).done()
    same(r.lines(""), ["newer"] * 2)
    PLAIN.push("run/app", app("newest"), "latest")
    r = run(job("j", pod(f"{PLAIN.host}/run/app")), "--image-store", path("demand"), "--pull", "missing").done()
    same(r.lines("a-0"), ["newer"])


def offline():
    """A registry that cannot be reached: what is here, or the host's files, said once for it. Nobody waits long."""
    with contextlib.closing(Liar()) as liar:
        gone = liar.push("a", app("old"))
        pull(gone, store="offline")
        liar.shutdown()
        liar.server_close()
    here = sh("test -e /etc/os-release -o -e /etc/debian_version && echo host")
    r = run(job("j", pod(gone, "old", WORDS), pod(gone.replace("/a:", "/b:"), "b", here), pod(gone.replace("/a:", "/c:"), "c", here),
                pod("no.such.registry.invalid/x:1", "x", here, replicas=2)), "--image-store", path("offline")).done()
    same([r.lines(n) for n in ("old-0", "b-0", "c-0", "x-0", "x-1")], [["old"], ["host"], ["host"], ["host"], ["host"]])
    said = [n for n in notices(r) if "cannot be reached" in n]
    same(sorted(n.split(" ")[1] for n in said), sorted([gone.split("/")[0], "no.such.registry.invalid"]))
    r = run(job("j", pod(PLAIN.host + "/never/there", command=here)), "--image-store", path("offline"), "--pull", "never").done()
    same((r.lines("a-0"), PLAIN.requests("never/there")), (["host"], []))
    # The host's files, also where there is an image of that name; and a word where the image lacks what this machine has.
    r = run(job("j", pod(gone, command=here)), "--image-store", path("offline"), "--image", f"{gone}=host").done()
    same(r.lines("a-0"), ["host"])
    r = run(job("j", pod(gone, command=["python3", "-c", "pass"])), "--image-store", path("offline"), "--pull", "never")
    assert f"--image {gone}=host" in json.dumps(r.events), r.told()


def not_there():
    """What a registry does not have is an error: the run says it and ends."""
    r = run(job("j", pod(PLAIN.host + "/no/such:1", command=["/bin/true"])), "--image-store", path("none"))
    assert r.status != 0 and r.phase() != "Completed", (r.status, r.phase())
    assert any("cannot be pulled" in n and "does not have the image" in n and "such:1=host" in n for n in notices(r)), notices(r)
    assert any(e.get("reason") in ("ErrImagePull", "ImagePullBackOff") for e in r.of("pod")), r.told()


def stops_while_it_pulls():
    """A pull that takes long does not keep a run from ending, and leaves what it has for the next time."""
    image, asked, go = app("slow"), threading.Event(), threading.Event()
    ref = LIAR.push("slow", image)

    def slow(h):
        data = image.blobs[image.layers[0]]
        asked.set()
        h.send_response(200)
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        h.wfile.write(data[:100000])
        h.wfile.flush()
        go.wait(60)
        h.close_connection = True
        return True
    LIAR.tricks[image.layers[0]] = slow
    r = Run(job("j", pod(ref)), "--image-store", path("slow"))
    assert asked.wait(60)
    part = path(f"slow/blobs/part-{image.layers[0][7:]}")
    r.until(lambda _: os.path.exists(part) and os.path.getsize(part) == 100000)
    r.signal(signal.SIGINT).end()
    same(r.status, 130)
    go.set()
    del LIAR.tricks[image.layers[0]]
    LIAR.seen.clear()
    pull(ref, store="slow")
    same([h.get("Range") for p, h in LIAR.seen if image.layers[0] in p], ["bytes=100000-"])


def the_view():
    """On a terminal a line of the view says how far a pull is."""
    image, go = app("view"), threading.Event()
    ref, data = LIAR.push("view", image), image.blobs[image.layers[0]]

    def half(h):
        h.send_response(200)
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        h.wfile.write(data[:len(data) // 2])
        h.wfile.flush()
        go.wait(60)
        h.wfile.write(data[len(data) // 2:])
        return True
    LIAR.tricks[image.layers[0]] = half
    with open(path("view.json"), "w") as f:
        json.dump(job("j", pod(ref)), f)
    ours, theirs = pty.openpty()
    p = subprocess.Popen([harness.PUMICE, "run", "--state", path("view-state"), "--image-store", path("view"), *UNFILTERED, path("view.json")],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    leftovers.OURS.add(p.pid)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while more := os.read(ours, 65536):
            seen += more
            if re.search(rb"pulling localhost:\d+/view:latest (49|50)% of 1\.\d MB", seen):
                go.set()
    os.close(ours)
    out = p.communicate(timeout=60)[0]
    same((p.returncode, b"view" in out, go.is_set()), (0, True, True))
    del LIAR.tricks[image.layers[0]]


# ---- who we are ----

def authority(name):
    """A CA, and a certificate for localhost by it."""
    make = lambda *a: subprocess.run(["openssl", *a], check=True, capture_output=True, cwd=path("."))  # noqa: E731
    make("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=test ca")
    make("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tls.key", "-out", "tls.csr", "-subj", "/CN=localhost")
    with open(path("ext"), "w") as f:
        f.write("subjectAltName=DNS:localhost\n")
    make("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "tls.crt", "-days", "2", "-extfile", "ext")


def logins():
    """A registry with a CA of its own that wants a password: from docker's file, from containers', from a Secret, with certs.d."""
    authority("localhost")
    with open(path("htpasswd"), "w") as f:
        f.write("me:" + crypt.crypt("secret", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)) + "\n")
    context = ssl.create_default_context(cafile=path("ca.crt"))
    with contextlib.closing(Registry({"auth": {"htpasswd": {"realm": "r", "path": path("htpasswd")}},
                                      "http": {"tls": {"certificate": path("tls.crt"), "key": path("tls.key")}}}, "https", context,
                                     {"Authorization": "Basic " + basic("me", "secret")})) as closed:
        ref = closed.push("private/app", app("private"), "1")
        home = {"HOME": path("home")}
        certs = path(f"home/.config/containers/certs.d/{closed.host}")
        os.makedirs(certs)
        refused(ref, says="certificate", env=home)
        shutil.copy(path("ca.crt"), certs)
        refused(ref, says="docker login", env=home)
        good = {"auths": {closed.host: {"auth": basic("me", "secret")}}}
        bad = {"auths": {closed.host: {"auth": basic("me", "wrong")}}}
        for where, text_, rc in ((".docker/config.json", bad, 1), (".config/containers/auth.json", good, 0), (".docker/config.json", good, 0)):
            file = path("home/" + where)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w") as f:
                json.dump(text_, f)
            same(pumice("pull", ref, env=home, store="closed").returncode, rc)
            os.unlink(file)
        with open(path("home/.docker/config.json"), "w") as f:
            json.dump({"credsStore": "desktop"}, f)
        refused(ref, says="credential helper desktop", env=home)
        with open(path("auth.json"), "w") as f:
            json.dump(good, f)
        assert "up to date" in pull(ref, "--auth-file", path("auth.json"), env=home, store="closed")
        secrets = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": n}, "type": "kubernetes.io/dockerconfigjson",
                    "data": {".dockerconfigjson": base64.b64encode(json.dumps(t).encode()).decode()}} for n, t in (("bad", bad), ("good", good))]
        r = run([*secrets, job("j", pod(ref, pod={"imagePullSecrets": [{"name": "good"}]}))], "--image-store", path("secret"), env=home).done()
        same(r.lines("a-0"), ["private"])
        for who, spec in (("default", {}), ("robot", {"serviceAccountName": "robot"})):  # what a pod's account names
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": who}, "imagePullSecrets": [{"name": "good"}]}
            r = run([account, *secrets, job("j", pod(ref, pod=spec))], "--image-store", path("secret-" + who), env=home).done()
            same(r.lines("a-0"), ["private"])
        r = run([*secrets, job("j", pod(ref, pod={"imagePullSecrets": [{"name": "bad"}]}))], "--image-store", path("secret2"), env=home)
        assert r.status and any("denied access (401" in n for n in notices(r)), notices(r)
        same([w for n in notices(r) for w in ("secret", "wrong", basic("me", "wrong")) if w in n], [])


def tokens():
    """docker-registry believes the tokens of a server of ours, which asks for a password, or not."""
    asked = []

    class Tokens(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            asked.append((self.path, self.headers.get("Authorization")))
            named = "closed" in self.path
            if named and self.headers.get("Authorization") != "Basic " + basic("me", "pass word:x"):
                self.send_error(401)
                return
            data = json.dumps({"token": token("open/app", "closed/app")}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def token(*names, actions=("pull", "push")):
        coded = lambda b: base64.urlsafe_b64encode(b).rstrip(b"=")  # noqa: E731
        der = subprocess.run(["openssl", "x509", "-in", path("tls.crt"), "-outform", "DER"], capture_output=True, check=True).stdout
        head = {"typ": "JWT", "alg": "RS256", "x5c": [base64.b64encode(der).decode()]}
        body = {"iss": "test", "aud": "service", "sub": "me", "exp": 4102444800, "nbf": 0, "iat": 0, "jti": "1",
                "access": [{"type": "repository", "name": n, "actions": list(actions)} for n in names]}
        text_ = coded(json.dumps(head).encode()) + b"." + coded(json.dumps(body).encode())
        sign = subprocess.run(["openssl", "dgst", "-sha256", "-sign", path("tls.key")], input=text_, capture_output=True, check=True).stdout
        return (text_ + b"." + coded(sign)).decode()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    realm = f"http://localhost:{server.server_address[1]}/token"
    with contextlib.closing(Registry({"auth": {"token": {"realm": realm, "service": "service", "issuer": "test", "rootcertbundle": path("ca.crt")}}},
                                     headers={"Authorization": "Bearer " + token("open/app", "closed/app")})) as guarded:
        opened, closed = guarded.push("open/app", app("open"), "1"), guarded.push("closed/app", app("closed"), "1")
        pull(opened, store="tokens")
        same([a for _, a in asked], [None])
        assert "service=service" in asked[0][0] and "scope=repository%3Aopen%2Fapp%3Apull" in asked[0][0], asked
        refused(closed, says="docker login", store="tokens")
        with open(path("tokens.json"), "w") as f:
            json.dump({"auths": {guarded.host: {"auth": basic("me", "pass word:x")}}}, f)
        pull(closed, "--auth-file", path("tokens.json"), store="tokens")
    server.shutdown()
    server.server_close()


# ---- mirrors, redirects, registries that lie ----

def mirrors():
    """A mirror is asked first, under its prefix; what it has not, or lies about, the registry has."""
    image = app("mirrored")
    PLAIN.push("cache/up/app", image, "1")
    pull("up.invalid/up/app:1", "--mirror", f"up.invalid={PLAIN.host}/cache", store="mirror")
    real = PLAIN.push("real/app", app("real"), "1")
    same("pulled" in pull(real, "--mirror", f"{PLAIN.host}=http://localhost:{registry.free_port()}", "--mirror", f"{PLAIN.host}=http://{LIAR.host}",
                          store="mirror"), True)
    assert any("real/app" in p for p, _ in LIAR.seen)
    r = run(job("j", pod("up.invalid/up/app:1")), "--image-store", path("mirror2"), "--mirror", f"up.invalid={PLAIN.host}/cache").done()
    same(r.lines("a-0"), ["mirrored"])
    same(pumice("pull", "x", "--mirror", "nonsense").returncode, 2)


def redirects():
    """Blobs may be elsewhere: what we are known by does not go there. Loops end."""
    image = app("moved")
    with contextlib.closing(Liar()) as other:
        ref = LIAR.push("moved", image)
        other.push("moved", image)

        def guard(h):
            if h.headers.get("Authorization") == "Basic " + basic("me", "secret"):
                return False
            return h.answer(401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
        LIAR.tricks["/moved/manifests/"] = guard
        LIAR.tricks["/moved/blobs/"] = lambda h: guard(h) or h.answer(307, b"", {"Location": f"http://{other.host}{h.path}"})
        with open(path("moved.json"), "w") as f:
            json.dump({"auths": {LIAR.host: {"auth": basic("me", "secret")}}}, f)
        pull(ref, "--auth-file", path("moved.json"), store="moved")
        assert len(other.seen) == 2 and not any("Authorization" in h for _, h in other.seen), other.seen
        other.shutdown()
        other.server_close()
    LIAR.tricks["/moved/blobs/"] = lambda h: h.answer(302, b"", {"Location": h.path})
    refused(ref, "--auth-file", path("moved.json"), says="redirects", store="loop")
    del LIAR.tricks["/moved/blobs/"], LIAR.tricks["/moved/manifests/"]


def redirected_logins():
    """Whatever redirects a request for a token: nobody but the server that was named sees what we are known by."""
    identity, password = "identity-token", "pass-word"
    logins = {"identity": {"identitytoken": identity}, "password": {"auth": basic("me", password)}}
    secrets = (identity, password, basic("me", password))
    with contextlib.closing(Liar()) as other:
        bodies = []

        def heard(h):
            bodies.append(h.rfile.read(int(h.headers.get("Content-Length") or 0)).decode())

        def give(h):
            heard(h)
            return h.answer(200, b'{"token": "given"}')
        ref = LIAR.push("login", app("login"))
        LIAR.tricks["/login/"] = lambda h: h.headers.get("Authorization") != "Bearer given" and h.answer(
            401, b"", {"WWW-Authenticate": f'Bearer realm="http://{LIAR.host}/token",service="s"'})
        LIAR.tricks["/given"] = other.tricks["/given"] = give
        for kind, login in logins.items():
            for status in (301, 302, 303, 307, 308):
                for to in (LIAR, other):
                    where = f"{kind}-{status}-{'same' if to is LIAR else 'other'}"
                    with open(path("login.json"), "w") as f:
                        json.dump({"auths": {LIAR.host: login}}, f)
                    LIAR.tricks["/token"] = lambda h: (heard(h), h.answer(status, b"", {"Location": f"http://{to.host}/given"}))[1]
                    other.seen.clear()
                    bodies.clear()
                    if to is other and kind == "identity":
                        refused(ref, "--auth-file", path("login.json"), says="redirects a login", store=where)
                        same(other.seen, [])
                    else:
                        pull(ref, "--auth-file", path("login.json"), store=where)
                    same([s for s in secrets if s in str(other.seen) or (to is other and s in str(bodies[1:]))], [])
    for trick in ("/login/", "/given", "/token"):
        del LIAR.tricks[trick]


def cut_off():
    """A blob that is cut off goes on where it stopped, also with a server that knows no parts."""
    image = app("cut")
    ref, big = LIAR.push("cut", image), image.layers[0]
    data, cuts = image.blobs[big], []

    def cut(h):
        cuts.append(h.headers.get("Range"))
        if len(cuts) == 1:
            return h.cut(200, data[:1000], len(data))
        if len(cuts) == 2:
            return h.cut(206, data[1000:3000], len(data) - 1000, {"Content-Range": f"bytes 1000-{len(data) - 1}/{len(data)}"})
        return len(cuts) == 3 and h.answer(200, data)
    LIAR.tricks[big] = cut
    pull(ref, store="cut")
    same(cuts, [None, "bytes=1000-", "bytes=3000-"])
    del LIAR.tricks[big]


def lies():
    """What is not what it should be is refused, and nothing of it stays."""
    image = app("lies")
    ref, big = LIAR.push("lies", image), image.layers[0]
    data = image.blobs[big]
    other = json.dumps({**json.loads(image.manifest), "annotations": {"x": "y"}}).encode()
    tag = "/lies/manifests/latest"

    def manifest(change):
        return json.dumps({**json.loads(image.manifest), **change}).encode()
    layers = json.loads(image.manifest)["layers"]
    tricks = [
        (big, lambda h: h.answer(200, data[:-1] + b"x"), "with a wrong digest"),
        (big, lambda h: h.answer(200, data + b"x" * 100), "more of"),
        (big, lambda h: h.answer(206, data, {"Content-Range": "bytes 5-9/10"}), "another part"),
        (big, lambda h: h.answer(404), "does not have a layer"),
        (tag, lambda h: h.answer(200, other, {"Docker-Content-Digest": image.digest}), "with a wrong digest"),
        (tag, lambda h: h.answer(200, b" " * (5 << 20)), "more than"),
        (tag, lambda h: h.answer(200, b'{"schemaVersion": 1, "fsLayers": []}'), "schema 1"),
        (tag, lambda h: h.answer(200, b"<html>hello"), "the manifest"),
        (tag, lambda h: h.answer(200, manifest({"layers": [{**layers[0], "mediaType": "application/x-strange"}]})), "x-strange"),
        (tag, lambda h: h.answer(200, manifest({"layers": [{**layers[0], "size": layers[0]["size"] - 7}]})), "more of"),
        (tag, lambda h: h.answer(200, manifest({"layers": []})), "layers"),
        (tag, lambda h: h.answer(403, b'{"errors": [{"code": "DENIED", "message": "not\\u001b[31m for you"}]}'), "denied access (403"),
        (tag, lambda h: h.answer(401, b"", {"WWW-Authenticate": 'Bearer realm="nonsense"'}), "not a URL"),
    ]
    for i, (where, trick, says) in enumerate(tricks):
        LIAR.tricks = {where: trick}
        said = refused(ref, says=says, store=f"lies{i}")
        assert "\033" not in said, said
        same((files(f"lies{i}")[0], files(f"lies{i}")[2:]), ([], ([], [])))
    LIAR.tricks = {}
    wrong = LIAR.push("evil", Image(layer([*root(), text("../../mark", "x")])))
    refused(wrong, says="..", store="evil")
    same((files("evil")[0], files("evil")[2:], os.path.exists(path("mark"))), ([], ([], []), False))


def full_disk():
    """Said before anything is fetched, and nothing stays."""
    if not has_mount_namespaces():
        skip("needs mount namespaces")
        return
    ref = PLAIN.push("full/app", app("full"), "1")
    os.makedirs(path("full"))
    r = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=8m none {path('full')} && {harness.PUMICE} pull {ref} --image-store {path('full')}; "
                        f"echo status $?; find {path('full')} -type f -size +0"], capture_output=True, text=True, timeout=60)
    assert "the disk of" in r.stderr and "MiB are free" in r.stderr, r
    same(len(r.stdout.splitlines()), 2)  # the manifest is there, and nothing else
    assert r.stdout.startswith("status 1\n"), r


def on_a_terminal():
    """A bar, where somebody looks."""
    ref = PLAIN.push("tty/app", app("tty"), "1")
    ours, theirs = pty.openpty()
    r = subprocess.run([harness.PUMICE, "pull", ref, "--image-store", path("tty")], stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while data := os.read(ours, 65536):
            seen += data
    os.close(ours)
    same(r.returncode, 0)
    assert b"asking the registry" in seen and b"unpacking" in seen and b"] " in seen and b" of 1.0Mi" in seen, seen


def rootless():
    """An ordinary user: pulls, runs, owners are kept where there are subordinate ids, and can remove it all again."""
    user = 65534
    if os.geteuid() != 0 or not has_user_namespaces(user):
        skip("needs root and user namespaces")
        return
    os.makedirs(path("user"))
    os.chown(path("user"), user, user)
    ref = PLAIN.push("user/app", app("user"), "1")
    r = run(job("j", pod(ref)), "--image-store", path("user/store"), user=user, env={"HOME": path("user")}).done()
    same(r.lines("a-0"), ["user"])
    assert "up to date" in pull(ref, user=user, store="user/store", env={"HOME": path("user")})
    same(pumice("image", "rm", ref, user=user, store="user/store", env={"HOME": path("user")}).returncode, 0)
    same(files("user/store"), ([], [], [], []))


def on_a_server():
    """A kubelet's words, imageID, what a container waits with; Secrets of the pod's account; the Node says which images it has."""
    from server import PODS, Server, until
    good, bad = PLAIN.push("events/app", app("events"), "1", "2"), PLAIN.host + "/events/nosuch:1"
    closed = LIAR.push("accounts", app("accounts"))
    LIAR.tricks["/accounts/"] = lambda h: h.headers.get("Authorization") != "Basic " + basic("me", "secret") and h.answer(
        401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
    with contextlib.ExitStack() as stack:
        s = Server("--image-store", path("server"), env={**os.environ, "PUMICE_PULL": ""})
        stack.callback(s.end)
        login = base64.b64encode(json.dumps({"auths": {LIAR.host: {"auth": basic("me", "secret")}}}).encode()).decode()
        s.ok("POST", "/api/v1/namespaces/default/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
                                                             "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": login}})
        s.ok("POST", "/api/v1/namespaces/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"},
                                                                     "imagePullSecrets": [{"name": "login"}]})

        def make(name, image, **spec):
            return s.ok("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": image}], **spec}})

        def ends(name):
            return until(name + " ends", lambda: (lambda p: p["status"].get("phase") == "Succeeded" and p["status"])(s.ok("GET", PODS + "/" + name)))

        def waiting(name):
            return (s.ok("GET", PODS + "/" + name)["status"].get("containerStatuses") or [{}])[0].get("state", {}).get("waiting", {})

        def told(pod_):
            return {(e["reason"], e["message"]) for e in s.ok("GET", "/api/v1/namespaces/default/events")["items"] if e["involvedObject"]["name"] == pod_}
        same([make(n, i, **more)["spec"]["containers"][0]["imagePullPolicy"] for n, i, more in (
            ("good", good, {}), ("bad", bad, {}), ("name", "Not/A/Name", {}), ("robot", closed, {"serviceAccountName": "robot"}))],
             ["IfNotPresent", "IfNotPresent", "IfNotPresent", "Always"])
        image_id = ends("good")["containerStatuses"][0]["imageID"]
        assert image_id.startswith(f"{PLAIN.host}/events/app@sha256:"), image_id
        until("it is told", lambda: ("Pulling", f'Pulling image "{good}"') in told("good") and
              any(r == "Pulled" and m.startswith(f'Successfully pulled image "{good}" in ') for r, m in told("good")))
        make("again", good)
        ends("again")
        until("it is told", lambda: ("Pulled", f'Container image "{good}" already present on machine') in told("again"))
        until("bad waits", lambda: waiting("bad").get("reason") == "ImagePullBackOff")
        words = told("bad")
        assert {("Failed", "Error: ErrImagePull"), ("Failed", "Error: ImagePullBackOff"), ("BackOff", f'Back-off pulling image "{bad}"')} <= words, words
        assert any(r == "Failed" and m.startswith(f'Failed to pull image "{bad}": ') for r, m in words), words
        until("name waits", lambda: waiting("name").get("reason") == "InvalidImageName")
        until("it is told", lambda: ("Failed", "Error: InvalidImageName") in told("name"))
        same(s.ok("GET", PODS + "/robot")["spec"]["imagePullSecrets"], [{"name": "login"}])
        ends("robot")
        node, = s.ok("GET", "/api/v1/nodes")["items"]
        seen = until("the Node knows them", lambda: (lambda n: len(n) == 2 and n)(
            {tuple(i["names"]): i["sizeBytes"] for i in s.ok("GET", "/api/v1/nodes/" + node["metadata"]["name"])["status"]["images"]}))
        assert (image_id, good) in seen and all(size > 1 << 20 for size in seen.values()), seen
    del LIAR.tricks["/accounts/"]


def main():
    global PLAIN, LIAR
    if not images.BUSYBOX or not registry.PROGRAM:
        skip("needs a static busybox (busybox-static) and docker-registry")
        return 77
    suite = Suite()
    with tempfile.TemporaryDirectory(prefix="pumice-pull-") as D, contextlib.closing(Registry()) as PLAIN, contextlib.closing(Liar()) as LIAR:
        pulling.begin(D)
        only = sys.argv[1:]
        for case in (pulls, layers_are_shared, on_demand, offline, not_there, stops_while_it_pulls, the_view, logins, tokens, mirrors, redirects, redirected_logins, cut_off,
                     lies, full_disk, on_a_terminal, rootless, on_a_server):
            if not only or case.__name__ in only:
                suite.case(case.__name__, case)
        LIAR.shutdown()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
