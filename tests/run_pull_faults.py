#!/usr/bin/env python3
"""Pulls where things go wrong: registries that are slow, busy or forgetful, disks that fill, processes that die, archives that attack."""
import contextlib
import gzip
import json
import os
import random
import re
import select
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import harness
import images
import leftovers
import pulling
from harness import Suite, until
from images import entry, folder, layer, link, text
from pulling import basic, begin_pull, files, listed, path, pull, pumice, refused, write
from registry import Image, Index, Liar, digest
from runs import has_mount_namespaces, same, skip

LIAR = None  # set in main()
IS_SLOW = "--slow" in sys.argv


def noise(n, seed=1):
    """Bytes that cannot be packed."""
    return random.Random(seed).randbytes(n)


def small(words, size=300000):
    """An image that nobody runs."""
    return Image(layer([text("what", words), entry("noise", noise(size, words))]))


def ended(p, status):
    """What a pull said when it ended so."""
    out, err = p.communicate(timeout=120)
    assert p.returncode == status and "Sanitizer" not in err, (p.returncode, out, err)
    return out + err


def begins(h, data, n):
    """The head of an answer and its first 'n' bytes."""
    h.send_response(200)
    h.send_header("Content-Length", str(len(data)))
    h.end_headers()
    h.wfile.write(data[:n])
    h.wfile.flush()


@contextlib.contextmanager
def held(image, n=100000):
    """The first layer of 'image' comes as far as 'n' bytes; yields what lets go of the rest."""
    go, data = threading.Event(), image.blobs[image.layers[0]]

    def hold(h):
        if h.headers.get("Range"):
            return False
        begins(h, data, n)
        go.wait(120)
        with contextlib.suppress(OSError):
            h.wfile.write(data[n:])
        return True
    LIAR.tricks[image.layers[0]] = hold
    try:
        yield go
    finally:
        go.set()
        del LIAR.tricks[image.layers[0]]


def part_of(image, store):
    return path(f"{store}/blobs/part-{image.layers[0][7:]}")


def size_of(file):
    with contextlib.suppress(OSError):
        return os.path.getsize(file)
    return -1


# ---- what a registry answers ----

def platforms():
    """An index without this machine: what there is, and what this machine is."""
    index = Index(small("a"), small("b"))
    listed_ = json.loads(index.manifest)
    listed_["manifests"][0]["platform"] = {"os": "linux", "architecture": "arm", "variant": "v6"}
    listed_["manifests"][1]["platform"] = {"os": "windows", "architecture": "amd64\033[31m"}
    listed_["manifests"].append({**listed_["manifests"][1], "platform": {"os": "unknown", "architecture": "unknown"}})
    index.manifest = json.dumps(listed_).encode()
    index.digest = digest(index.manifest)
    said = refused(LIAR.push("platforms", index), says=f"not available for linux/{images.ARCH}; available for linux/arm/v6, windows/amd64?[31m")
    assert "unknown" not in said and "\033" not in said, said


def statuses():
    """Each refusal has its words, and what can be done; what may pass is waited for as long as the registry says, if that is not long."""
    ref, tag, times = LIAR.push("status", small("status")), "/status/manifests/latest", []

    def answers(status, headers=None, until_=99):
        def trick(h):
            times.append(time.monotonic())
            if status or len(times) > until_:
                return len(times) <= until_ and h.answer(status, b"", headers)
            h.close_connection = True
            return True
        times.clear()
        LIAR.tricks[tag] = trick
    for status, headers, says, n in (
            (401, {"WWW-Authenticate": 'Basic realm="x"'}, "denied access (401", 1), (403, {}, "denied access (403", 1),
            (404, {}, "does not have the image", 1), (500, {}, "failed to serve the image: it answered 500", 3),
            (429, {"Retry-After": "7200"}, "too many requests, retry after 2h (429", 1), (418, {}, "it answered 418", 1)):
        answers(status, headers)
        said = refused(ref, says=says, store="status")
        same((status, len(times)), (status, n))
        assert status not in (401, 403) or "docker login" in said, said
    answers(429, {"Retry-After": "1"}, until_=1)
    pull(ref, store="status")
    same(len(times), 2)
    assert times[1] - times[0] >= 1, times
    answers(None, until_=1)  # it hangs up without a word
    pull(ref, store="status2")
    same(len(times), 2)
    del LIAR.tricks[tag]


def tokens_expire():
    """A token that is good for two requests: for the next another is asked for, and what has come of a layer stays."""
    image = Image(layer([entry("a", noise(400000, 1))]), layer([entry("b", noise(400000, 2))]), layer([entry("c", noise(1000, 3))]))
    ref, given, used, cuts = LIAR.push("expiry", image), [], {}, []

    def token(h):
        given.append(f"t{len(given)}")
        return h.answer(200, json.dumps({"token": given[-1], "expires_in": 60}).encode())

    def guard(h):
        mine = (h.headers.get("Authorization") or " ").split(" ")[1]
        used[mine] = used.get(mine, 0) + 1
        if mine not in given or used[mine] > 2:
            return h.answer(401, b"", {"WWW-Authenticate": f'Bearer realm="http://{LIAR.host}/token",service="s",error="invalid_token"'})
        if image.layers[0] in h.path and not cuts:
            cuts.append(1)
            return h.cut(200, image.blobs[image.layers[0]][:1000], len(image.blobs[image.layers[0]]))
        return False
    LIAR.tricks.update({"/token": token, "/v2/expiry/": guard})
    LIAR.seen.clear()
    pull(ref, store="expiry")
    assert len(given) >= 3, given
    assert ["bytes=1000-"] == sorted({h["Range"] for p, h in LIAR.seen if "Range" in h and image.layers[0] in p}), LIAR.seen
    used.clear()
    given.clear()
    LIAR.tricks["/token"] = lambda h: h.answer(200, b'{"token": "never"}')
    refused(ref, says="denied access (401", store="expiry2")
    for key in ("/token", "/v2/expiry/"):
        del LIAR.tricks[key]


def impatience():
    """Registries that say nothing, that pause, and that drip: given up at last, with words for each. Begun first, looked at last."""
    image = small("slow")
    data, gone = image.blobs[image.layers[0]], threading.Event()

    def silent(h):
        gone.wait(120)
        return True

    def pauses(h):
        if not h.headers.get("Range"):
            begins(h, data, 5000)
        gone.wait(120)
        return True

    def drips(h):
        begins(h, data, 0) if not h.headers.get("Range") else h.answer(206, b"", {"Content-Range": f"bytes {h.headers['Range'][6:]}{len(data) - 1}/{len(data)}"},
                                                                        len(data))
        with contextlib.suppress(OSError):
            while not gone.wait(0.02):
                h.wfile.write(b"x")
        return True
    begun = []
    for name, trick, says in (("silent", silent, "no answer within 4000 ms"), ("pauses", pauses, ""), ("drips", drips, "sent less than 64 KiB of a layer")):
        ref = LIAR.push(name, image)
        LIAR.tricks[f"/{name}/blobs/{image.layers[0]}"] = trick
        begun.append((name, says, begin_pull(ref, "--registry-timeout", "4s", store=name)))

    def look():
        for name, says, p in begun:
            said = ended(p, 1)
            assert says in said, (name, said)
            same((name, files(name)[0], files(name)[3]), (name, [], []))
        same(pumice("pull", "x", "--registry-timeout", "1ms").returncode, 2)
        gone.set()
    return look


def odd():
    """What is unusual and fine: a layer twice, one with nothing in it, one that comes in chunks; and for another machine, or no place for it: words."""
    twice, data = layer([entry("noise", noise(1000))]), layer([])
    image = Image(twice, data, twice, layer([text("what", "odd")]))
    ref = LIAR.push("odd", image)

    def chunks(h):
        h.send_response(200)
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        for at in range(0, len(image.blobs[image.layers[0]]), 300):
            piece = image.blobs[image.layers[0]][at:at + 300]
            h.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        h.wfile.write(b"0\r\n\r\n")
        return True
    LIAR.tricks[image.layers[0]] = chunks
    pull(ref, store="odd")
    del LIAR.tricks[image.layers[0]]
    same(sorted(os.listdir(path(f"odd/sha256-{image.id[7:]}/root"))), ["noise", "what"])
    refused(LIAR.push("machine", Image(twice, arch="s390x")), says="s390x", store="odd2")
    write("nodir", "a file")
    assert path("nodir") in refused(ref, says="", store="nodir/store")
    LIAR.tricks.update({"/odd/manifests/": lambda h: h.answer(401, b"", {"WWW-Authenticate": f'Bearer realm="http://{LIAR.host}/token"'}),
                        "/token": lambda h: h.answer(503, b"busy")})
    refused(ref, says="failed to serve a token: it answered 503", store="odd")
    del LIAR.tricks["/odd/manifests/"], LIAR.tricks["/token"]


# ---- who we are ----

def helpers():
    """docker-credential-… programs: of the registry, of all; a token; one that does not know, is not there, or says nonsense."""
    ref = LIAR.push("helped", small("helped"))

    def guard(h):
        return h.headers.get("Authorization") != "Basic " + basic("me", "from helper") and h.answer(401, b"", {"WWW-Authenticate": 'Basic realm="x"'})
    LIAR.tricks["/helped/"] = guard

    def helper(name, script):
        os.chmod(write(f"helpers/docker-credential-{name}", "#!/bin/sh\n" + script), 0o755)
    good = f'echo "$1 $(cat)" >> {path("asked")}; echo \'{{"ServerURL": "x", "Username": "me", "Secret": "from helper"}}\''
    helper("good", good)
    helper("none", 'cat > /dev/null; echo "credentials not found in native keychain"; exit 1')
    helper("odd", "echo nonsense")
    env = {"HOME": path("helped-home"), "PATH": path("helpers") + ":" + os.environ["PATH"]}
    cases = [({"credHelpers": {LIAR.host: "good"}}, None), ({"credsStore": "good", "auths": {LIAR.host: {}}}, None),
             ({"credsStore": "none"}, "credentials not found"), ({"credsStore": "odd"}, "docker-credential-odd: its output is not JSON"),
             ({"credsStore": "absent"}, "no such program"), ({"credsStore": "../../bin/sh"}, "no such program")]
    for i, (config, says) in enumerate(cases):
        write("helped-home/.docker/config.json", config)
        if says:
            refused(ref, says=says, env=env, store="helped")
        else:
            pull(ref, env=env, store=f"helped{i}")
    with open(path("asked")) as f:
        same(f.read(), f"get {LIAR.host}\n" * 2)
    # A registry that asks nobody who he is: the helper is not asked either.
    write("helped-home/.docker/config.json", {"credsStore": "good"})
    pull(LIAR.push("open", small("open")), env=env, store="helped")
    # A refresh token in place of a password.
    helper("token", 'cat > /dev/null; echo \'{"Username": "<token>", "Secret": "refresh"}\'')
    write("helped-home/.docker/config.json", {"credsStore": "token"})

    def token(h):
        body = h.rfile.read(int(h.headers.get("Content-Length", 0)))
        return h.answer(200, b'{"access_token": "short"}') if b"refresh_token=refresh" in body else h.answer(401)
    LIAR.tricks["/token"] = token
    LIAR.tricks["/helped/"] = lambda h: h.headers.get("Authorization") != "Bearer short" and h.answer(
        401, b"", {"WWW-Authenticate": f'Bearer realm="http://{LIAR.host}/token"'})
    pull(ref, env=env, store="helped-token")
    with open(path("asked")) as f:
        same(len(f.read().splitlines()), 2)
    del LIAR.tricks["/helped/"], LIAR.tricks["/token"]


def proxies():
    """https through a proxy (CONNECT), http through one, and past it where NO_PROXY says so."""
    make = lambda *a: subprocess.run(["openssl", *a], check=True, capture_output=True, cwd=path("."))  # noqa: E731
    make("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "p.key", "-out", "p.crt", "-days", "2", "-subj", "/CN=far.test", "-addext",
         "subjectAltName=DNS:far.test")
    write("proxy-home/.config/containers/certs.d/far.test/ca.crt", open(path("p.crt")).read())
    context, seen = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), []
    context.load_cert_chain(path("p.crt"), path("p.key"))

    class Proxy(Liar.Handler):
        def do_CONNECT(self):
            seen.append(f"CONNECT {self.path} {self.headers.get('Proxy-Authorization')}")
            self.send_response(200)
            self.end_headers()
            far = socket.create_connection(("127.0.0.1", tls.server_address[1]))
            with contextlib.suppress(OSError), far:
                while True:
                    for ready in select.select([self.connection, far], [], [])[0]:
                        data = ready.recv(65536)
                        if not data:
                            self.close_connection = True
                            return
                        (far if ready is self.connection else self.connection).sendall(data)

        def do_GET(self):
            if self.path.startswith("http://"):
                seen.append("GET " + self.path)
                self.path = re.sub(r"http://[^/]*", "", self.path)
            super().do_GET()
    with contextlib.closing(Liar()) as tls, contextlib.closing(Liar(Proxy)) as proxy:
        tls.socket = context.wrap_socket(tls.socket, server_side=True)
        image = small("far")
        tls.push("app", image)
        proxy.push("app", image)
        env = {"HOME": path("proxy-home"), "HTTPS_PROXY": f"http://u:p@{proxy.host}", "http_proxy": f"http://{proxy.host}"}
        pull("far.test/app", env=env, store="proxy")
        same(set(seen), {"CONNECT far.test:443 Basic " + basic("u", "p")})
        seen.clear()
        pull("plain.test/app", "--mirror", "plain.test=http://plain.test", env=env, store="proxy")
        assert seen and all(s.startswith("GET http://plain.test:80/v2/app/") for s in seen), seen
        seen.clear()
        refused("far.test/app:2", says="far.test", env={**env, "NO_PROXY": "other,.test"}, store="proxy")
        same(seen, [])
        proxy.shutdown()
        tls.shutdown()


# ---- disks ----

FULL = """
set -e
mount -t tmpfs -o size=$SIZE none "$STORE"
"$PUMICE" pull "$REF" --image-store "$STORE" > "$OUT" 2>&1 && echo fine || echo status $?
find "$STORE" -path '*/blobs/sha256/*' -prune -o -type f -size +0 -print
find "$STORE" -maxdepth 1 -name 'sha256-*' -o -maxdepth 1 -name '.part*'
mount -o remount,size=400m "$STORE"
rm -f "$STORE/filler"
"$PUMICE" pull "$REF" --image-store "$STORE" >> "$OUT" 2>&1 && echo then fine
"""


def on_small_disk(ref, name, size):
    """A pull with too small a disk, and again with a larger one: what was said, what was left in between."""
    os.makedirs(path(name))
    env = {**os.environ, "SIZE": size, "STORE": path(name), "PUMICE": harness.PUMICE, "REF": ref, "OUT": path(name + ".out")}
    p = subprocess.Popen(["unshare", "-m", "sh", "-c", FULL], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    leftovers.OURS.add(p.pid)
    return p


def disk_fills_while_it_comes():
    """Somebody else takes what was free: nothing stays of it, the message says so, and the next time goes well."""
    image = small("filled", 2000000)
    ref = LIAR.push("filled", image)
    with held(image, 1000000) as go:
        p = on_small_disk(ref, "filled", "70m")
        store = f"/proc/{p.pid}/root" + path("filled")
        until("a part is there", lambda: size_of(f"{store}/blobs/part-{image.layers[0][7:]}") == 1000000)
        with contextlib.suppress(OSError), open(f"{store}/filler", "wb", 0) as f:
            while f.write(bytes(65536)):
                pass
        go.set()
        out = p.communicate(timeout=120)[0]
    with open(path("filled.out")) as f:
        said = f.read()
    assert "the disk is full" in said, said
    same(out.splitlines(), ["status 1", path("filled/filler"), "then fine"])


def disk_fills_while_it_unpacks():
    """What is small as it travels and large unpacked: no image, nothing half unpacked; the layers stay for the next time."""
    many = [entry(f"zeros{i}", bytes(900 << 10)) for i in range(90)]
    image = Image(layer(many))
    ref = LIAR.push("grows", image)
    LIAR.seen.clear()
    out = on_small_disk(ref, "grows", "70m").communicate(timeout=120)[0]
    with open(path("grows.out")) as f:
        said = f.read()
    assert "the disk is full" in said, said
    same(out.splitlines(), ["status 1", "then fine"])
    same(len([p for p, _ in LIAR.seen if image.layers[0] in p]), 1)


# ---- deaths and neighbours ----

def killed():
    """kill -9 while it fetches, and while it unpacks: the next pull goes on; prune takes what a crash left."""
    image = small("killed")
    ref = LIAR.push("killed", image)
    with held(image):
        p = begin_pull(ref, store="killed")
        until("a part is there", lambda: size_of(part_of(image, "killed")) == 100000)
        p.kill()
        p.communicate()
    LIAR.seen.clear()
    pull(ref, store="killed")
    same([h.get("Range") for q, h in LIAR.seen if image.layers[0] in q], ["bytes=100000-"])
    many = Image(layer([entry(f"d{i % 50}/f{i}", b"x" * 20000) for i in range(3000)]))
    ref = LIAR.push("many", many)
    p = begin_pull(ref, store="many")
    until("it unpacks", lambda: files("many")[3])
    p.kill()
    p.communicate()
    same((files("many")[0], len(files("many")[3])), ([], 1))
    assert "0 images removed" in pumice("image", "prune", store="many").stdout
    same((files("many")[0], files("many")[3]), ([], []))
    pull(ref, store="many")
    same((len(files("many")[0]), files("many")[2:]), (1, ([], [])))


def prune_meanwhile():
    """While somebody pulls nothing is cleared away: it says so. Two that pull the same at once fetch it once."""
    image = small("busy")
    ref = LIAR.push("busy", image)
    LIAR.seen.clear()
    with held(image) as go:
        both = [begin_pull(ref, store="busy") for _ in range(2)]
        until("a part is there", lambda: size_of(part_of(image, "busy")) == 100000)
        for command in (("image", "prune", "--all"), ("image", "rm", ref)):
            r = pumice(*command, store="busy")
            assert r.returncode == 1 and "another process is pulling an image" in r.stderr, r
        go.set()
        said = [ended(p, 0) for p in both]
    same(len([p for p, _ in LIAR.seen if image.layers[0] in p]), 1)
    same(sorted("pulled, " in s for s in said), [False, True])
    assert listed("busy")[ref]["inUse"] is False
    # No terminal: lines that can be read later.
    lines = "".join(said).splitlines()
    assert any(line.startswith(f"{ref}: fetching ") for line in lines) and f"{ref}: unpacking" in lines, lines
    r = pumice("pull", ref, "-q", store="busy2")
    same((r.stdout, r.stderr), (image.id + "\n", ""))


# ---- archives that attack ----

def hostile():
    """Layers that would write elsewhere: refused, or kept inside. What is special is not made, or as it may be."""
    mark = write("outside/mark", "untouched")
    out = os.path.dirname(mark)
    cases = {
        "up": ([text("../../outside/mark", "x")], "leads out of the image"),
        "deep": ([text("a/b/../../../../outside/mark", "x")], "leads out of the image"),
        "hard": ([entry("hard", kind=tarfile.LNKTYPE, link="../../outside/mark")], "leads out of the image"),
        "hardabs": ([entry("hard", kind=tarfile.LNKTYPE, link=mark)], "create hard link"),
        "through": ([link("l", out), text("l/mark", "x")], "create directory"),
        "proc": ([link("l", "/proc/self/root"), text(f"l{mark}", "x")], "create directory"),
        "replace": ([link("l", mark), text("l", "x")], None),
        "passwd": ([folder("etc"), link("etc/shadow", "/etc/passwd"), text("etc/shadow", "x")], None),
        "abs": ([text(mark, "x")], None),
        "wh": ([text("../outside/.wh.mark", "")], "leads out of the image"),
        "wh2": ([link("l", out), text("l/.wh.mark", "")], "directory"),
        "opq": ([link("l", out), text("l/.wh..wh..opq", "")], "directory"),
        "nodes": ([entry("null", kind=tarfile.CHRTYPE), entry("sda", kind=tarfile.BLKTYPE), entry("su", b"x", 0o6755, uid=7, gid=7)], None),
    }
    before = open("/etc/passwd").read()
    for name, (entries, says) in cases.items():
        ref = LIAR.push("evil-" + name, Image(layer(entries)))
        if says:
            refused(ref, says=says, store="evil")
        else:
            pull(ref, store="evil")
        same((name, open(mark).read(), os.listdir(out), open("/etc/passwd").read()), (name, "untouched", ["mark"], before))
    same(len(files("evil")[0]), len([c for c in cases.values() if not c[1]]))
    same(files("evil")[2:], ([], []))
    nodes = path(f"evil/sha256-{listed('evil')[LIAR.host + '/evil-nodes:latest']['id'][7:]}/root")
    same(os.listdir(nodes), ["su"])
    same(oct(os.stat(nodes + "/su").st_mode & 0o7777), oct(0o6755 if os.geteuid() == 0 else 0o755))


def bomb():
    """Two megabytes that would become two gigabytes: many files, so that no one is too large for the disk."""
    head = tarfile.TarInfo("zeros")
    head.size = 512 << 10
    member = gzip.compress((head.tobuf() + bytes(512 << 10)) * 128, 9)
    image = Image(b"", packed=[member * 32])
    refused(LIAR.push("bomb", image), says="grows without limit", store="bomb")
    same((files("bomb")[0], files("bomb")[2:]), ([], ([], [])))


def main():
    global LIAR
    if not images.BUSYBOX:
        skip("needs a static busybox (busybox-static)")
        return 77
    suite = Suite()
    cases = [platforms, odd, statuses, tokens_expire, helpers, proxies, disk_fills_while_it_comes, disk_fills_while_it_unpacks, killed, prune_meanwhile,
             hostile]
    if not has_mount_namespaces():
        skip("full disks: needs mount namespaces")
        cases = [c for c in cases if c not in (disk_fills_while_it_comes, disk_fills_while_it_unpacks)]
    with tempfile.TemporaryDirectory(prefix="pumice-pull-") as directory, contextlib.closing(Liar()) as LIAR:
        pulling.begin(directory)
        only = [a for a in sys.argv[1:] if a != "--slow"]
        look = impatience() if IS_SLOW and (not only or "impatience" in only) else None
        for case in [bomb] if IS_SLOW else cases:
            if not only or case.__name__ in only:
                suite.case(case.__name__, case)
        if look:
            suite.case("impatience", look)
        LIAR.shutdown()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
