#!/usr/bin/env python3
"""The fault proxy does what it says, on both sides: what the client sees, and what the server did."""
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from faultproxy import FaultProxy, Rules  # noqa: E402
from harness import Suite  # noqa: E402

MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{MAPS}?watch=true&timeoutSeconds=300&resourceVersion="
ENDED = (http.client.HTTPException, OSError, ValueError)  # how Python says that a connection ended too soon; ValueError: of half a JSON


class Client:
    def __init__(self, bed, port, timeout=20):
        self.context = ssl.create_default_context(cafile=bed.ca)
        self.port, self.timeout = port, timeout

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=self.timeout)

    def call(self, method, path, body=None, connection=None):
        c = connection or self.connect()
        try:
            c.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            r = c.getresponse()
            return r.status, json.loads(r.read()), r
        finally:
            if not connection:
                c.close()

    def watch(self, version, more=""):
        c = self.connect()
        c.request("GET", WATCH + version + more)
        return c, c.getresponse()


class Stage:
    """A bed, a proxy for user "client", and a client."""

    def __init__(self, bed, proxy):
        self.bed, self.proxy, self.client = bed, proxy, Client(bed, proxy.proxy.listen_port)
        self.n = 0

    def name(self):
        self.n += 1
        return f"m{self.n}"

    def version(self):
        return self.bed.call("GET", MAPS)[1]["metadata"]["resourceVersion"]

    def make(self, n=1, text="x"):
        """As admin, beside the proxy."""
        names = [self.name() for _ in range(n)]
        for name in names:
            assert self.bed.call("POST", MAPS, {"metadata": {"name": name}, "data": {"text": text}})[0] == 201
        return names

    def exists(self, name):
        return self.bed.call("GET", f"{MAPS}/{name}")[0] == 200

    def asked(self):
        """Requests of the client that reached the server."""
        return sum(self.bed.requests("client").values())


def ends(function):
    try:
        return function()
    except ENDED:
        return "ended"


def passes_on(s):
    name = s.name()
    status, answer, _ = s.client.call("POST", MAPS, {"metadata": {"name": name}})
    assert status == 201 and s.exists(name), answer
    c = s.client.connect()
    for _ in range(3):
        assert s.client.call("GET", f"{MAPS}/{name}", connection=c)[1]["metadata"]["name"] == name
    c.close()
    version = s.version()
    s.make(2, text="ä€𝄞" * 100)
    c, r = s.client.watch(version)
    events = [json.loads(r.readline()) for _ in range(2)]
    assert [e["type"] for e in events] == ["ADDED"] * 2 and events[0]["object"]["data"]["text"] == "ä€𝄞" * 100
    c.close()
    big = {"metadata": {"name": s.name()}, "data": {"text": "x" * 700000}}
    assert s.client.call("POST", MAPS, big)[0] == 201
    subprocess.run([f"{s.bed.bin}/kubectl", "get", "configmaps", "-o", "name"], check=True, capture_output=True,
                   env={**s.bed.environment(), "KUBECONFIG": s.proxy.kubeconfig})
    assert s.proxy.log == []


def answers_itself(s):
    before = s.asked()
    s.proxy.add(fault="status", code=429, retry_after=7, method="POST", times=1)
    s.proxy.add(fault="status", code=500, path="configmaps", times=1)
    body = {"metadata": {"name": s.name()}}
    status, answer, r = s.client.call("POST", MAPS, body)
    assert (status, answer["code"], answer["reason"], r.headers["Retry-After"]) == (429, 429, "TooManyRequests", "7")
    status, answer, r = s.client.call("GET", MAPS)
    assert (status, answer["reason"], r.headers["Retry-After"]) == (500, "InternalError", None)
    assert s.asked() == before and not s.exists(body["metadata"]["name"])
    assert s.client.call("POST", MAPS, body)[0] == 201  # only so many times
    assert [e["fault"] for e in s.proxy.log[-2:]] == ["status", "status"]


def cuts(s):
    before = s.asked()
    s.proxy.add(fault="cut", before="request", times=1)
    assert ends(lambda: s.client.call("GET", MAPS)) == "ended" and s.asked() == before
    s.proxy.add(fault="cut", after=30, times=1)
    assert ends(lambda: s.client.call("GET", MAPS)) == "ended" and s.asked() == before + 1
    s.proxy.add(fault="cut", after=400, reset=True, times=1)
    try:
        s.client.call("GET", MAPS)
        raise AssertionError("an answer that was cut is whole")
    except (ConnectionResetError, http.client.IncompleteRead, ValueError):
        pass


def swallows_answers(s):
    """It took effect, and nobody was told."""
    for hang in (False, True):
        name = s.name()
        s.proxy.add(fault="swallow", method="POST", hang=hang, times=1)
        client = Client(s.bed, s.client.port, timeout=2)
        assert ends(lambda: client.call("POST", MAPS, {"metadata": {"name": name}})) == "ended"
        assert s.exists(name)
    assert s.client.call("POST", MAPS, {"metadata": {"name": name}})[0] == 409


def goes_half_open(s):
    before = s.asked()
    s.proxy.add(fault="half_open", before="request", times=1)
    c = Client(s.bed, s.client.port, timeout=1).connect()
    c.request("GET", MAPS)
    try:
        c.getresponse()
        raise AssertionError("answered")
    except socket.timeout:
        pass
    assert s.asked() == before
    c.close()
    version = s.version()
    s.proxy.add(fault="half_open", watch=True, after=1, times=1)
    s.make(2)
    c, r = s.client.watch(version)
    assert json.loads(r.readline())["type"] == "ADDED"
    c.sock.settimeout(1)
    try:
        r.readline()
        raise AssertionError("more came")
    except socket.timeout:
        pass
    c.close()


def delays(s):
    s.proxy.add(fault="delay", ms=700, times=1)
    begin = time.monotonic()
    assert s.client.call("GET", MAPS)[0] == 200
    assert time.monotonic() - begin >= 0.7


def ends_watches_with_410(s):
    version = s.version()
    s.make(3)
    s.proxy.add(fault="gone", after=2, times=1)
    c, r = s.client.watch(version)
    events = [json.loads(line) for line in r]
    assert [e["type"] for e in events] == ["ADDED", "ADDED", "ERROR"] and events[2]["object"]["code"] == 410, events
    # the connection lives on
    assert s.client.call("GET", MAPS, connection=c)[0] == 200
    c.close()
    s.proxy.add(fault="gone", head=True, times=1)
    c, r = s.client.watch(version)
    assert r.status == 410 and json.load(r)["reason"] == "Expired"
    c.close()


def truncates_watches(s):
    version = s.version()
    s.make(2)
    s.proxy.add(fault="truncate", after=1, times=1)
    c, r = s.client.watch(version)
    assert json.loads(r.readline())["type"] == "ADDED"
    half = b""
    try:
        while data := r.read1(100):
            half += data
    except ENDED:
        pass
    assert half.startswith(b'{"type":"ADDED"') and not half.endswith(b"\n"), half
    c.close()


def raw_chunks(s, version, n):
    """The chunks of a watch as they were sent, until 'n' events are in."""
    sock = s.client.context.wrap_socket(socket.create_connection(("127.0.0.1", s.client.port)), server_hostname="127.0.0.1")
    sock.sendall(f"GET {WATCH}{version} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    with sock, sock.makefile("rb") as f:
        while f.readline().strip():
            pass
        chunks = []
        while b"".join(chunks).count(b"\n") < n:
            size = int(f.readline(), 16)
            chunks.append(f.read(size))
            f.readline()
    return chunks


def changes_chunks(s):
    version = s.version()
    s.make(4, text="ä€𝄞")
    plain = raw_chunks(s, version, 4)
    assert all(c.count(b"\n") == 1 for c in plain)
    s.proxy.add(fault="split", bytes=3, times=1)
    split = raw_chunks(s, version, 4)
    assert max(map(len, split)) == 3 and b"".join(split) == b"".join(plain)
    s.proxy.add(fault="merge", ms=1000, times=1)
    merged = raw_chunks(s, version, 4)
    assert len(merged) < 4 and b"".join(merged) == b"".join(plain), len(merged)


def goes_down_and_up(s):
    c = s.client.connect()
    assert s.client.call("GET", MAPS, connection=c)[0] == 200
    s.proxy.down()
    for connection in (c, None):
        until_ended = time.monotonic() + 20
        while ends(lambda: s.client.call("GET", MAPS, connection=connection)) != "ended":
            assert time.monotonic() < until_ended
    s.proxy.up()
    end = time.monotonic() + 20
    while ends(lambda: s.client.call("GET", MAPS)[0]) != 200:
        assert time.monotonic() < end


def cuts_all(s):
    c, r = s.client.watch(s.version())
    ended = threading.Event()

    def read():
        ends(r.read)
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    assert not ended.wait(0.3)
    s.proxy.cut()
    assert ended.wait(20)


def lets_go_of_watches(s):
    """A client that leaves takes its watch at the server with it."""
    c, _ = s.client.watch(s.version(), "&labelSelector=leaves")
    c.sock.shutdown(socket.SHUT_RDWR)
    c.close()
    end = time.monotonic() + 20
    while not [e for e in s.bed.audit(user="client", verb="watch") if "labelSelector=leaves" in e["requestURI"]]:
        assert time.monotonic() < end
        time.sleep(0.1)


def same_seed_same_faults(_):
    def drawn(seed):
        rules = Rules(0)
        rules.storm(seed)
        return [rules.choose("POST", f"/pods/{i}", i % 5 == 0)["fault"] for i in range(300)]
    assert drawn(1) == drawn(1) != drawn(2)
    assert {f for seed in range(20) for f in drawn(seed)} >= {None, "status", "cut", "swallow", "delay", "gone", "truncate", "merge", "split"}


def survives_a_storm(s):
    """Whatever happens to a client, the proxy itself stays up and healing is complete."""
    s.proxy.storm(7)
    version = s.version()
    seen = set()
    for i in range(150):
        name = s.name()
        seen.add(ends(lambda: s.client.call("POST", MAPS, {"metadata": {"name": name}})[0]))
        if i % 10 == 0:
            c, r = None, None
            try:
                c, r = s.client.watch(version)
                r.readline()
            except ENDED:
                pass
            finally:
                c and c.close()
    assert {201, 429, 500, "ended"} <= seen, seen
    s.proxy.heal()
    for _ in range(30):
        assert s.client.call("POST", MAPS, {"metadata": {"name": s.name()}})[0] == 201


def by_control_socket(s):
    crt, key = s.bed.certificate("proxy2", "proxy")
    user = s.bed.users["client"]
    with tempfile.TemporaryDirectory() as d:
        p = subprocess.Popen([f"{HERE}/faultproxy.py", "--upstream", s.bed.url, "--ca", s.bed.ca, "--cert", crt, "--key", key, "--client-cert",
                              user.certificate, "--client-key", user.key, "--control", f"{d}/c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            client = Client(s.bed, int(p.stdout.readline().split()[1]))
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(f"{d}/c")
            with sock, sock.makefile("rw") as f:
                def say(words):
                    f.write(json.dumps(words) + "\n")
                    f.flush()
                    return json.loads(f.readline())
                assert say({"add": {"fault": "status", "code": 503, "times": 1}}) == {"ok": True}
                assert client.call("GET", MAPS)[0] == 503 and client.call("GET", MAPS)[0] == 200
                assert say({"log": True})["log"][0]["fault"] == "status"
                assert "no such fault" in say({"add": {"fault": "fire"}})["error"] and "error" in say({"what": 1})
        finally:
            p.stdin.close()
            assert p.wait(20) == 0
            p.stdout.close()


def http2(bed):
    """Bytes both ways: the client and the server agree on HTTP/2 through the proxy."""
    with FaultProxy(bed, user="client", raw=True) as proxy:
        curl = ["curl", "-sS", "--noproxy", "*", "--http2", "--cacert", bed.ca, "-o", "/dev/null", "-w", "%{http_version} %{http_code}", proxy.url + MAPS]
        assert subprocess.run(curl, capture_output=True, text=True).stdout == "2 200"
        proxy.add(fault="cut", after=300, times=1)
        assert subprocess.run(curl, capture_output=True, text=True).returncode != 0
        proxy.add(fault="half_open", after=300, times=1)
        assert subprocess.run([*curl, "--max-time", "1"], capture_output=True, text=True).returncode == 28
        assert subprocess.run(curl, capture_output=True, text=True).stdout == "2 200"


def main():
    suite = Suite()
    suite.case("same_seed_same_faults", lambda: same_seed_same_faults(None))
    try:
        with Bed() as bed:
            bed.kubectl("create", "clusterrolebinding", "client", "--clusterrole=cluster-admin", "--user=client")
            with FaultProxy(bed, user="client") as proxy:
                stage = Stage(bed, proxy)
                for case in (passes_on, answers_itself, cuts, swallows_answers, goes_half_open, delays, ends_watches_with_410, truncates_watches,
                             changes_chunks, goes_down_and_up, cuts_all, lets_go_of_watches, survives_a_storm, by_control_socket):
                    proxy.heal()
                    suite.case(case.__name__, lambda: case(stage))
            suite.case("http2", lambda: http2(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
