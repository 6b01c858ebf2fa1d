#!/usr/bin/env python3
"""`pumice server` and clients that send and do not read: what the server holds for one user is bounded, whatever the user sends.

Each row of KINDS opens connections of ann, sends whatever makes the server hold something, and never reads. After each row
the server must hold less than LIMIT for all of ann's connections (as /metrics has it), and bob must be answered. With
`--rss N` there are N connections of each kind, and the memory of the process is looked at: for a release build, since that of a
build with sanitizers says nothing.
"""
import contextlib
import os
import re
import socket
import ssl
import struct
import sys
import tempfile
import time
import zlib

from harness import PUMICE, Suite, pumice, same, until
from server import Server, config_map, pod, server_or_skip

os.environ.setdefault("HTTP_ECHO", "")
from http_server import DICTIONARY  # noqa: E402

LIMIT = 64 << 20  # of one user, docs/server-users.md
REPLIES = 512 << 10  # of one connection: what input makes the server say
RSS = 256 << 20  # more than before, docs/server-users.md
LAB = "/api/v1/namespaces/lab"
MANY = int(sys.argv[2]) if sys.argv[1:2] == ["--rss"] else 0
PATIENCE_S = 60


class Place:
    def __init__(self):
        self.rules = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.rules.write("exec: namespace\n")  # the pods are the administrator's
        self.rules.flush()
        self.server = server_or_skip(lambda: Server("--access-config", self.rules.name))
        self.tokens = {name: self.add(name) for name in ("ann", "bob")}
        s = self.server
        until("the namespace is there", lambda: s.call("GET", f"{LAB}/serviceaccounts/default")[0] == 200)
        deaf = "import socket,time;s=socket.socket();s.bind(('',80));s.listen(64);time.sleep(1000)"
        for name, command in (("deaf", f'/usr/bin/python3 -c "{deaf}"'), ("loud", "yes 0123456789012345678901234567890123456789")):
            s.ok("POST", f"{LAB}/pods", pod(name, command))
        for name in ("deaf", "loud"):
            until(f"{name} runs", lambda name=name: s.ok("GET", f"{LAB}/pods/{name}")["status"].get("phase") == "Running")
        for i in range(4):
            s.ok("POST", f"{LAB}/configmaps", config_map(f"big-{i}", {"a": "x" * 900_000}))
        self.open = []

    def add(self, name):
        run = pumice("server", "user", "add", name, "--token", "--edit", "-n", "lab", "--data-dir", self.server.data)
        same((run.returncode, run.stderr[:200] if run.returncode else ""), (0, ""))
        return re.search(r"token: (\S+)", run.stdout)[1]

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_S)
        s = ssl.create_default_context(cadata=self.server.ca).wrap_socket(s, server_hostname="127.0.0.1")
        self.open.append(s)
        return s

    def head(self, method, path, *lines, user="ann"):
        who = [f"Authorization: Bearer {self.tokens[user]}"] if user else []
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *who, *lines, "", ""]).encode()

    def say(self, *request, body=b"", user="ann"):
        s = self.connect()
        s.sendall(self.head(*request, user=user) + body)
        return s

    def answer_of(self, s):
        got = b""
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in got and (more := s.recv(1)):  # and no byte of what follows
                got += more
        return got.decode()

    def metric(self, name):
        return int(float(re.search(rf"^{name} (\S+)$", self.server.call("GET", "/metrics")[1], re.M)[1]))

    def held(self):
        return self.metric("pumice_http_held_bytes")

    def rss(self):
        with open(f"/proc/{self.server.process.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1]) << 10

    def close(self):
        for s in self.open:
            s.close()
        self.open = []
        until("all is given back", lambda: self.held() < 1 << 20)


def pour(s, data, most=8 << 20):
    """As much as is taken without anybody reading."""
    s.settimeout(0.2)
    with contextlib.suppress(OSError):
        for _ in range(most // len(data) + 1):
            s.sendall(data)


# ---- protocols ----

def websocket(p, path, protocol):
    s = p.say("GET", path, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *([f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []))
    assert " 101 " in p.answer_of(s)
    return s


def spdy(p, path, protocol):
    s = p.say("POST", path, "Connection: Upgrade", "Upgrade: SPDY/3.1", "Content-Length: 0", f"X-Stream-Protocol-Version: {protocol}")
    assert " 101 " in p.answer_of(s)
    return s


def frame(opcode, payload, last=True):
    n = len(payload)
    size = bytes([0x80 | n]) if n < 126 else struct.pack(">BH", 0xFE, n) if n < 65536 else struct.pack(">BQ", 0xFF, n)
    return bytes([(0x80 if last else 0) | opcode]) + size + bytes(4) + payload


def control(kind, payload, flags=0):
    return struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload


class Streams:
    """SYN_STREAM frames of one session."""

    def __init__(self):
        self.z, self.id = zlib.compressobj(9, zlib.DEFLATED, 15, 8, zlib.Z_DEFAULT_STRATEGY, DICTIONARY), -1

    def open(self, **headers):
        block = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(w)) + w.encode() for kv in headers.items() for w in kv)
        self.id += 2
        return control(1, struct.pack(">IIH", self.id, 0, 0) + self.z.compress(block) + self.z.flush(zlib.Z_SYNC_FLUSH))


EXEC = f"{LAB}/pods/loud/exec?command=%s&stdin=1&stdout=1"
SLEEP, YES = EXEC % "sleep&command=1000", EXEC % "yes&command=" + "y" * 100
FORWARD = f"{LAB}/pods/deaf/portforward"
PINGS = frame(9, b"p" * 125) * 500
SPDY_PINGS = control(6, struct.pack(">I", 1)) * 4000


def spdy_exec(p, path):
    s, streams = spdy(p, path, "v4.channel.k8s.io"), Streams()
    s.sendall(b"".join(streams.open(streamtype=t) for t in ("error", "stdin", "stdout")))
    return s, streams


def spdy_forward(p, n=1):
    s, streams = spdy(p, FORWARD, "portforward.k8s.io"), Streams()
    for i in range(n):
        s.sendall(streams.open(streamtype="error", port="80", requestid=str(i)) + streams.open(streamtype="data", port="80", requestid=str(i)))
    return s, streams


# ---- kinds ---- each opens one connection, and sends ----

def pings_of_a_watch(p):
    pour(websocket(p, f"{LAB}/configmaps?watch=1&fieldSelector=metadata.name=none", None), PINGS)


def pings_of_a_log(p):
    pour(websocket(p, f"{LAB}/pods/deaf/log?follow=1", "binary.k8s.io"), PINGS)


def pings_of_an_exec(p):
    pour(websocket(p, SLEEP, "v5.channel.k8s.io"), PINGS)


def pings_of_a_forward(p):
    pour(websocket(p, FORWARD, "SPDY/3.1+portforward.k8s.io"), PINGS)


def spdy_pings_of_an_exec(p):
    pour(spdy_exec(p, SLEEP)[0], SPDY_PINGS)


def spdy_pings_in_messages(p):
    pour(websocket(p, FORWARD, "SPDY/3.1+portforward.k8s.io"), frame(2, SPDY_PINGS))


def streams_that_are_refused(p):
    s, streams = spdy_exec(p, SLEEP)
    for _ in range(40):
        pour(s, b"".join(streams.open(streamtype="nonsense") for _ in range(1000)), 1)


def headers_that_swell(p):
    s, streams = spdy_exec(p, SLEEP)
    pour(s, b"".join(streams.open(streamtype="nonsense", x="a" * 60_000) for _ in range(200)), 1)


def half_tunnels(p):
    s, streams = spdy(p, FORWARD, "portforward.k8s.io"), Streams()
    pour(s, b"".join(streams.open(streamtype="data", port="80", requestid=str(i)) for i in range(2000)), 1)


def half_a_message(p):
    pour(websocket(p, SLEEP, "v5.channel.k8s.io"), struct.pack(">BBQ", 2, 0xFF, 1 << 20) + bytes(4) + bytes(1000_000), 1)


def messages_in_pieces(p):
    s = websocket(p, SLEEP, "v5.channel.k8s.io")
    pour(s, frame(2, b"x" * 60_000, last=False) + frame(0, b"x" * 60_000, last=False) * 14, 1)


def input_of_an_exec(p):
    pour(websocket(p, SLEEP, "v5.channel.k8s.io"), frame(2, b"\0" + b"x" * 60_000) * 16)


def spdy_input_of_an_exec(p):
    s, streams = spdy_exec(p, SLEEP)
    pour(s, struct.pack(">II", 3, 1_000_000) + bytes(1_000_000))


def output_of_an_exec(p):
    websocket(p, YES, "v5.channel.k8s.io")


def input_of_a_forward(p):
    s, _ = spdy_forward(p)
    pour(s, struct.pack(">II", 3, 1_000_000) + bytes(1_000_000))


def input_of_two_tunnels(p):
    """One of them is read in the pod's kernel now and then; the other must not grow because of that."""
    s, _ = spdy_forward(p, 8)
    pour(s, b"".join(struct.pack(">II", 4 * i + 3, 40_000) + bytes(40_000) for i in range(8)) * 4)


def a_log(p):
    p.say("GET", f"{LAB}/pods/loud/log?follow=1")


def a_log_in_messages(p):
    websocket(p, f"{LAB}/pods/loud/log?follow=1", "binary.k8s.io")


def a_list(p):
    p.say("GET", f"{LAB}/configmaps")


def a_table(p):
    p.say("GET", f"{LAB}/configmaps", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io", "Accept-Encoding: gzip")


def a_watch_from_the_beginning(p):
    p.say("GET", f"{LAB}/configmaps?watch=1")


def a_watch_that_falls_behind(p):
    s = p.say("GET", f"{LAB}/configmaps?watch=1&resourceVersion=1")
    p.server.ok("PATCH", f"{LAB}/configmaps/big-{len(p.open) % 4}", {"data": {"b": str(time.time())}}, type="application/merge-patch+json")
    return s


def pipelined(p):
    pour(p.connect(), p.head("GET", f"{LAB}/configmaps/big-0") * 20, 1 << 20)


def one_large_object(p):
    p.say("GET", f"{LAB}/configmaps/big-1")


def half_a_head(p):
    p.connect().sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 30_000)


def half_a_body(p):
    pour(p.say("POST", f"{LAB}/configmaps", "Content-Length: 4000000"), bytes(3_000_000), 1)


def half_a_body_in_chunks(p):
    pour(p.say("POST", f"{LAB}/configmaps", "Transfer-Encoding: chunked"), b"2dc6c0\r\n" + bytes(2_900_000), 1)


REPLYING = (pings_of_a_watch, pings_of_a_log, pings_of_an_exec, pings_of_a_forward, spdy_pings_of_an_exec, spdy_pings_in_messages,
            streams_that_are_refused, headers_that_swell)
HOLDING = (half_tunnels, half_a_message, messages_in_pieces, input_of_an_exec, spdy_input_of_an_exec, output_of_an_exec, input_of_a_forward,
           input_of_two_tunnels, a_log, a_log_in_messages, a_list, a_table, a_watch_from_the_beginning, a_watch_that_falls_behind, pipelined,
           one_large_object, half_a_head, half_a_body, half_a_body_in_chunks)


def check(p, kind, n):
    before = p.held()
    for _ in range(n):
        with contextlib.suppress(OSError):  # others were dropped for it, or it itself
            kind(p)
    held = p.held()
    assert held <= LIMIT + (8 << 20), f"{held >> 10} KiB are held"  # and one answer in one piece
    assert kind in HOLDING or held - before <= n * REPLIES, f"{(held - before) >> 10} KiB are held for {n} connections"
    same(p.server.call("GET", f"{LAB}/configmaps/big-0", token=p.tokens["bob"])[0], 200)


def one_kind(kind):
    return lambda p: check(p, kind, 2)


def all_kinds(p):
    """All at once, of one user: the sum is what counts."""
    for kind in (*REPLYING, *HOLDING):
        check(p, kind, 1)


# ---- bodies of strangers ----

def is_received(p, user):
    """A large write: it is too long for a ConfigMap, which is known when all of it came."""
    status, answer = p.server.call("POST", f"{LAB}/configmaps", config_map("large", {"a": "x" * 2_500_000}), token=p.tokens[user])
    assert status == 422 and "Too long" in answer["message"], (user, status, answer)


def half_bodies_of_strangers(p):
    """Whoever may not send a body is answered before it is received, and holds nothing."""
    for user, lines, want in ((None, [], 403), (None, ["Authorization: Bearer wrong"], 401), ("bob", [], 403)):
        path = "/api/v1/namespaces/default/configmaps" if user else f"{LAB}/configmaps"
        for _ in range(24):
            s = p.say("POST", path, "Content-Length: 4000000", *lines, user=user)
            pour(s, bytes(1000_000), 1)
        head = p.answer_of(s)
        assert f" {want} " in head and "Connection: close" in head, (user, lines, head)
        waits = p.say("POST", path, "Content-Length: 4000000", "Expect: 100-continue", *lines, user=user)
        assert f" {want} " in p.answer_of(waits)
        assert p.held() < 2 << 20, p.held()
        is_received(p, "ann")


def half_bodies_of_another_user(p):
    """A user who sends many halves drops his own, not those of others."""
    for _ in range(24):
        half_a_body(p)
    assert p.held() <= LIMIT + (1 << 20)
    for user in ("ann", "bob"):
        is_received(p, user)


# ---- at rest ----

def cpu_s(p):
    with open(f"/proc/{p.server.process.pid}/stat") as f:
        user, system = f.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def rests_after_a_large_answer(p):
    """An answer that had to wait for its reader is taken, and the connection stays open: nothing is left to do for it."""
    def used():
        before = cpu_s(p)
        time.sleep(1)
        return cpu_s(p) - before

    idle = used()
    s = p.say("GET", f"{LAB}/configmaps")
    time.sleep(0.5)  # until the buffers of the kernel are full
    n = 0
    s.settimeout(1)
    with contextlib.suppress(TimeoutError):
        while more := s.recv(1 << 20):
            n += len(more)
    assert n > 3_000_000, n
    now = used()
    assert now < idle + 0.5, f"{now:.2f} s of CPU in a second, {idle:.2f} s before"


# ---- with many ----

def many(p):
    before, most = p.rss(), 0
    for kind in (*REPLYING, *HOLDING):
        check(p, kind, MANY)
        most = max(most, p.rss())
        print(f"  {kind.__name__}: {MANY} connections, {len(p.open)} in all: {p.held() >> 10} KiB held, {p.rss() >> 20} MiB resident", flush=True)
    assert most - before <= RSS, f"{(most - before) >> 20} MiB more than the {before >> 20} MiB before"
    p.close()
    slow = p.metric("pumice_http_dropped_slow_total")
    pings_of_a_watch(p)
    assert p.held() > 64 << 10, "nothing waits for it"
    until("who takes nothing is dropped", lambda: p.metric("pumice_http_dropped_slow_total") > slow and p.held() < 64 << 10, 90)


def main():
    if MANY and not os.path.exists(PUMICE):
        print(f"skipped: there is no {PUMICE} (make release)")
        return 77
    suite = Suite()
    p = Place()
    only = [] if MANY else sys.argv[1:]
    cases = [(k.__name__, one_kind(k)) for k in (*REPLYING, *HOLDING)]
    cases += [(c.__name__, c) for c in (all_kinds, half_bodies_of_strangers, half_bodies_of_another_user, rests_after_a_large_answer)]
    for name, case in [("many", many)] if MANY else cases:
        if not only or name in only:
            suite.case(name, lambda case=case: case(p))
            suite.case(f"{name}: all is given back", p.close)
    suite.case("the server lives", lambda: same(p.server.stop(), 0))
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
