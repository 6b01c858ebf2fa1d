#!/usr/bin/env python3
"""The HTTP server by other people's clients (curl, openssl) and by hand: TLS, exec and port-forward over WebSockets and SPDY."""
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import zlib

from harness import Suite, has, same

ECHO = os.environ["HTTP_ECHO"]
DIR = tempfile.mkdtemp(prefix="pumice-http-")


# ---- certificates ----

def path(name):
    return os.path.join(DIR, name)


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def make_ca(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", path(name + ".key"), "-out", path(name + ".crt"))


def make_cert(ca, name, subject):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject, "-keyout", path(name + ".key"), "-out", path(name + ".csr"))
    with open(path(name + ".ext"), "w") as f:
        f.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("x509", "-req", "-in", path(name + ".csr"), "-CA", path(ca + ".crt"), "-CAkey", path(ca + ".key"), "-CAcreateserial", "-days", "2",
            "-extfile", path(name + ".ext"), "-out", path(name + ".crt"))


class Echo:
    def __init__(self, *args, address="127.0.0.1:0"):
        self.process = subprocess.Popen([ECHO, address, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        assert self.process.wait(20) == 0, self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)


def curl(*args, status=0):
    run = subprocess.run(["curl", "-sS", "--max-time", "20", *args], capture_output=True)
    assert run.returncode == status or run.returncode in (status if isinstance(status, tuple) else ()), f"curl {args}: {run.returncode} {run.stderr}"
    return run.stdout.decode(errors="replace") + run.stderr.decode()


# ---- plain HTTP ----

def plain():
    with Echo() as e:
        url = f"http://127.0.0.1:{e.port}"
        has(curl("-i", url + "/echo?a=b"), "HTTP/1.1 200 OK\r\n", "GET /echo?a=b\n", "Content-Length: ")
        has(curl("-I", url + "/echo"), "HTTP/1.1 200 OK\r\n", "Content-Length: ")
        has(curl("-v", url + "/echo", url + "/echo"), "Re-using existing connection")
        big = path("big")
        with open(big, "wb") as f:
            f.write(b"x" * 3_000_000)
        has(curl("-T", big, url + "/echo"), "PUT /echo?\n", "body 3000000 xxx")  # Expect: 100-continue
        has(curl("-H", "Transfer-Encoding: chunked", "--data-binary", "@" + big, url + "/echo"), "body 3000000 xxx")
        with open(big, "ab") as f:
            f.write(b"x" * 3_000_000)
        has(curl("-i", "-T", big, url + "/echo"), "413 Content Too Large")
        same(len(curl("-N", url + "/stream?n=100&size=100000")), 10_000_000)
        has(curl("--path-as-is", url + "/../../etc/passwd"), "GET /../../etc/passwd?\n")
        has(curl("--http1.0", url + "/stream?n=2&size=3"), "\0" * 6)


def a_slow_reader_does_not_cost_memory():
    with Echo() as e:
        s = e.connect()
        s.sendall(b"GET /stream?n=3000&size=1000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        s.recv(10)
        has(curl(f"http://127.0.0.1:{e.port}/echo"), "GET /echo")  # after which it has written what it wants to
        with open(f"/proc/{e.process.pid}/statm") as f:
            pages = int(f.read().split()[1])
        assert pages * 4096 < 200 << 20, f"{pages} pages"
        s.close()


# ---- TLS ----

def tls():
    with Echo(path("server.crt"), path("server.key"), path("ca.crt")) as e:
        url = f"https://127.0.0.1:{e.port}"
        ca = ("--cacert", path("ca.crt"))
        has(curl(*ca, url + "/echo"), "tls=1 cn= o=\n")
        has(curl(*ca, "--cert", path("client.crt"), "--key", path("client.key"), url + "/echo"), "cn=kube-apiserver o=system:masters,more,\n")
        curl(*ca, "--cert", path("stranger.crt"), "--key", path("stranger.key"), url + "/echo", status=(35, 55, 56))
        curl("--cacert", path("other.crt"), url + "/echo", status=60)
        curl(*ca, "--tls-max", "1.1", url + "/echo", status=35)
        has(curl(*ca, "-v", "--http2", url + "/echo"), "server accepted http/1.1")
        same(len(curl(*ca, "-N", url + "/stream?n=100&size=100000")), 10_000_000)
        has(curl(*ca, "-T", path("server.crt"), url + "/echo"), "BEGIN CERTIFICATE")
        has(curl("-i", f"http://127.0.0.1:{e.port}/echo"), "400 Bad Request", "client sent an HTTP request to an HTTPS server")
        client = subprocess.run(["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{e.port}", "-CAfile", path("ca.crt"), "-verify_return_error"],
                                input=b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", capture_output=True, timeout=20)
        has(client.stdout.decode(), "tls=1")
        renewed(e, url)
        s = e.connect()  # noise, then silence, then gone: nobody else notices
        s.sendall(b"\x16\x03\x01\x00\xff" + os.urandom(100))
        has(curl("--cacert", path("other.crt"), url + "/echo"), "tls=1")
        s.close()


def renewed(e, url):
    """Certificates change while a connection lives; what is no good changes nothing."""
    context = ssl.create_default_context(cafile=path("ca.crt"))
    with context.wrap_socket(e.connect(), server_hostname="127.0.0.1") as old:
        make_cert("other", "server", "/CN=server")
        os.kill(e.process.pid, signal.SIGHUP)
        same(e.process.stdout.readline(), "reloaded\n")
        has(curl("--cacert", path("other.crt"), url + "/echo"), "tls=1")
        curl("--cacert", path("ca.crt"), url + "/echo", status=60)
        old.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
        has(old.recv(4096).decode(), "200 OK")
        with open(path("server.crt"), "w") as f:
            f.write("-----BEGIN CERTIFICATE-----\nnonsense\n")
        os.kill(e.process.pid, signal.SIGHUP)
        has(e.process.stdout.readline(), "certificate")
        has(curl("--cacert", path("other.crt"), url + "/echo"), "tls=1")


# ---- WebSockets by hand ----

class Closed(Exception):
    pass


class Stream:
    """Bytes after the upgrade."""

    def __init__(self, e, head):
        self.socket = e.connect()
        self.socket.sendall(head.replace("\n", "\r\n").encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            more = self.socket.recv(65536)
            if not more:
                break
            self.data += more
        self.head, _, self.data = self.data.partition(b"\r\n\r\n")
        self.head = self.head.decode()

    def read(self, n):
        while len(self.data) < n:
            more = self.socket.recv(65536)
            if not more:
                raise Closed
            self.data += more
        out, self.data = self.data[:n], self.data[n:]
        return out


class WebSocket(Stream):
    def __init__(self, e, target, protocol, key="dGhlIHNhbXBsZSBub25jZQ=="):
        super().__init__(e, f"GET {target} HTTP/1.1\nHost: x\nConnection: keep-alive, Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\n"
                         f"Sec-WebSocket-Key: {key}\nSec-WebSocket-Protocol: {protocol}\n\n")

    def frame(self, opcode, payload, fin=True, mask=b"abcd"):
        n = len(payload)
        size = bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n) if n < 65536 else b"\xff" + struct.pack(">Q", n)
        self.socket.sendall(bytes([(0x80 if fin else 0) | opcode]) + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def send(self, channel, payload):
        self.frame(2, bytes([channel]) + payload)

    def next(self):
        first, n = self.read(2)
        assert first & 0x80 and not n & 0x80
        n = struct.unpack(">H", self.read(2))[0] if n == 126 else struct.unpack(">Q", self.read(8))[0] if n == 127 else n
        return first & 15, self.read(n)

    def until_close(self):
        """What came on each channel, and the code of the close."""
        got = {}
        while True:
            opcode, payload = self.next()
            if opcode == 8:
                return got, struct.unpack(">H", payload[:2])[0]
            if opcode == 2:
                got.setdefault(payload[0], bytearray()).extend(payload[1:])


def websocket_exec():
    with Echo() as e:
        w = WebSocket(e, "/exec?input=1&output=1&error=1&exit=7", "v5.channel.k8s.io, v4.channel.k8s.io")
        has(w.head, "101 Switching Protocols", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "Sec-WebSocket-Protocol: v5.channel.k8s.io")
        same(w.next(), (2, b"\1"))
        same(w.next(), (2, b"\2begun\n"))
        w.frame(9, b"are you there?")
        same(w.next(), (10, b"are you there?"))
        w.frame(2, b"\0hel", fin=False)
        w.frame(9, b"between")
        w.frame(0, b"lo ", fin=False)
        w.frame(0, b"there")
        same(w.next(), (10, b"between"))
        same(w.next(), (2, b"\1hello there"))
        w.send(0, b"x" * 100_000)
        w.send(255, b"\0")
        got, code = w.until_close()
        same((len(got[1]), code), (100_000, 1000))
        w.socket.settimeout(5)
        same(w.socket.recv(10), b"")  # the server closes first
        status = json.loads(got[3])
        same((status["status"], status["reason"], status["details"]["causes"]), ("Failure", "NonZeroExitCode", [{"reason": "ExitCode", "message": "7"}]))
        w.socket.close()

        w = WebSocket(e, "/exec?input=1&output=1&error=1&tty=1", "v4.channel.k8s.io")
        has(w.head, "Sec-WebSocket-Protocol: v4.channel.k8s.io")
        w.send(4, b'{"Width":80,"Hei')
        w.send(4, b'ght":24}\n{"Width":0,"Height":0}{"Width":')
        w.send(4, b'100,"Height":50}')
        w.send(2, b"no channel for clients")
        w.send(255, b"\0")  # means nothing in v4
        w.send(0, b"please fail")
        got, code = w.until_close()
        same((got[1], 2 in got, code), (b"size 80x24\nsize 100x50\n", False, 1000))
        same((json.loads(got[3])["message"], json.loads(got[3])["code"]), ('it "failed"', 500))
        w.socket.close()


def websocket_big():
    with Echo() as e:
        w = WebSocket(e, "/exec?output=1&big=3000000", "v5.channel.k8s.io")
        got, code = w.until_close()
        same((len(got[1]), code, json.loads(got[3])["status"]), (3_000_000, 1000, "Success"))
        w.socket.close()


def websocket_hostile():
    def ends_with(code, act):
        w = WebSocket(e, "/exec?input=1&output=1", "v5.channel.k8s.io")
        act(w)
        same(w.until_close()[1], code)
        w.socket.close()
    with Echo() as e:
        ends_with(1002, lambda w: w.socket.sendall(b"\x82\x01x"))  # no mask
        ends_with(1002, lambda w: w.socket.sendall(b"\xc2\x80abcd"))  # a reserved bit
        ends_with(1002, lambda w: w.frame(3, b""))
        ends_with(1002, lambda w: w.frame(0, b"nothing to go on with"))
        ends_with(1002, lambda w: w.frame(9, b"", fin=False))
        ends_with(1002, lambda w: w.frame(9, b"x" * 126))
        ends_with(1002, lambda w: w.socket.sendall(b"\x82\xfe\x00\x01abcdx"))  # a length in too many bytes
        ends_with(1009, lambda w: w.socket.sendall(b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xffabcd"))
        ends_with(1007, lambda w: w.frame(1, b"\0\xff"))
        ends_with(1002, lambda w: w.frame(8, b"x"))
        ends_with(1002, lambda w: w.frame(8, struct.pack(">H", 1005)))
        ends_with(1001, lambda w: w.frame(8, struct.pack(">H", 1001)))
        has(WebSocket(e, "/exec?input=1", "v9.channel.k8s.io").head, "403 Forbidden")
        has(WebSocket(e, "/exec?input=1", "v5.channel.k8s.io", key="c2hvcnQ=").head, "400 Bad Request")
        has(curl("-i", f"http://127.0.0.1:{e.port}/exec"), "426 Upgrade Required", "Upgrade: websocket, SPDY/3.1")


# ---- SPDY by hand ----

def dictionary():
    """As the C file has it: the test of that is that zlib agrees with the number that SPDY/3 fixes."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "http", "spdy_dictionary.c")) as f:
        text = f.read().split("dictionary[] =", 1)[1].split(";\n", 1)[0]
    words = b"".join(struct.pack(">I", int(n, 16)) + w.encode() for n, w in re.findall(r'WORD\("\\x(..)",\s*"([^"]*)"\)', text))
    tail = "".join(re.findall(r'"([^"]*)"', re.sub(r"WORD\([^)]*\)", "", text)))
    return words + tail.encode()


DICTIONARY = dictionary()


class Spdy:
    """The client's side over something that has read() and socket, or over WebSocket messages."""

    def __init__(self, carrier, tunnelled=False):
        self.carrier, self.tunnelled, self.data = carrier, tunnelled, b""
        self.out = zlib.compressobj(9, zlib.DEFLATED, 15, 8, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
        self.inflate = zlib.decompressobj(zdict=DICTIONARY)

    def send(self, data):
        if self.tunnelled:  # cut anywhere
            self.carrier.frame(2, data[:3])
            self.carrier.frame(2, data[3:])
        else:
            self.carrier.socket.sendall(data)

    def read(self, n):
        while self.tunnelled and len(self.data) < n:
            opcode, payload = self.carrier.next()
            assert opcode == 2, (opcode, payload)
            self.data += payload
        if not self.tunnelled:
            return self.carrier.read(n)
        out, self.data = self.data[:n], self.data[n:]
        return out

    def control(self, kind, payload, flags=0):
        self.send(struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload)

    def block(self, headers):
        text = struct.pack(">I", len(headers))
        for name, value in headers.items():
            text += struct.pack(">I", len(name)) + name.encode() + struct.pack(">I", len(value)) + value.encode()
        return self.out.compress(text) + self.out.flush(zlib.Z_SYNC_FLUSH)

    def open(self, number, flags=0, **headers):
        self.control(1, struct.pack(">IIH", number, 0, 0) + self.block(headers), flags)

    def write(self, number, payload, fin=False):
        self.send(struct.pack(">II", number, (1 if fin else 0) << 24 | len(payload)) + payload)

    def next(self):
        """(kind, stream or first word, payload, flags); kind 0 is data."""
        word, second = struct.unpack(">II", self.read(8))
        payload = self.read(second & 0xFFFFFF)
        if not word & 0x80000000:
            return 0, word, payload, second >> 24
        kind = word & 0xFFFF
        if kind == 2:
            same(self.inflate.decompress(payload[4:]), b"\0\0\0\0")
        return kind, struct.unpack(">I", payload[:4])[0], payload[4:], second >> 24

    def expect(self, *wanted):
        same([self.next()[:2] for _ in wanted], list(wanted))

    def until_ended(self, *streams):
        got, open_ = {}, set(streams)
        while open_:
            kind, stream, payload, flags = self.next()
            same(kind, 0)
            got.setdefault(stream, bytearray()).extend(payload)
            if flags & 1:
                open_.discard(stream)
        return got


def spdy_upgrade(e, target, protocol="v4.channel.k8s.io"):
    s = Stream(e, f"POST {target} HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: SPDY/3.1\nContent-Length: 0\n"
               f"X-Stream-Protocol-Version: v9.channel.k8s.io\nX-Stream-Protocol-Version: {protocol}\n\n")
    has(s.head, "101 Switching Protocols", "Upgrade: SPDY/3.1", f"X-Stream-Protocol-Version: {protocol}")
    return Spdy(s)


def spdy_exec():
    same((len(DICTIONARY), zlib.adler32(DICTIONARY)), (1423, 0xE3C6A7C2))
    with Echo() as e:
        s = spdy_upgrade(e, "/exec?input=1&output=1&error=1&exit=7")
        for number, name in ((1, "error"), (3, "stdin"), (5, "stdout"), (7, "stderr")):
            s.open(number, streamtype=name)
        s.expect((2, 1), (2, 3), (2, 5), (2, 7))
        same(s.next(), (0, 7, b"begun\n", 0))
        s.control(6, struct.pack(">I", 41))
        s.expect((6, 41))
        s.control(4, struct.pack(">III", 1, 7, 65536))  # SETTINGS
        s.control(9, struct.pack(">II", 3, 65536))  # WINDOW_UPDATE
        s.write(3, b"hello")
        same(s.next(), (0, 5, b"hello", 0))
        s.write(3, b"x" * 300_000, fin=True)
        got = s.until_ended(1, 3, 5, 7)
        same(len(got[5]), 300_000)
        same(json.loads(got[1])["details"]["causes"][0]["message"], "7")
        s.carrier.socket.close()

        s = spdy_upgrade(e, "/exec?output=1&big=3000000&tty=1", "v5.channel.k8s.io")
        for number, name in ((1, "error"), (3, "resize"), (5, "stdout")):
            s.open(number, streamtype=name)
        s.expect((2, 1), (2, 3), (2, 5))
        got = s.until_ended(1, 5)
        same((len(got[5]), json.loads(got[1])["status"]), (3_000_000, "Success"))
        s.carrier.socket.settimeout(0.2)  # it is ours to close first
        try:
            left = s.carrier.socket.recv(100)
            assert left, "it closed before us"
        except TimeoutError:
            pass
        s.carrier.socket.close()


def spdy_hostile():
    def breaks(act):
        s = spdy_upgrade(e, "/exec?input=1&output=1")
        act(s)
        while True:
            if s.next()[0] == 7:
                break
        s.carrier.socket.close()
    with Echo() as e:
        breaks(lambda s: s.carrier.socket.sendall(struct.pack(">HHI", 0x8002, 1, 0)))  # another version
        breaks(lambda s: s.control(1, b"short"))
        breaks(lambda s: s.control(1, struct.pack(">IIH", 1, 0, 0) + b"no zlib at all"))
        breaks(lambda s: s.control(2, struct.pack(">I", 1)))
        breaks(lambda s: s.write(9, b"never opened"))
        breaks(lambda s: s.carrier.socket.sendall(struct.pack(">HHI", 0x8003, 1, 0xFFFFFF)))
        breaks(lambda s: s.open(2, streamtype="error"))
        breaks(lambda s: (s.open(3, streamtype="error"), s.open(1, streamtype="stdin")))
        breaks(lambda s: s.control(1, struct.pack(">IIH", 1, 0, 0) + s.out.compress(b"\0\0\0\1\0\0\0\1a\0\xff\0\0") + s.out.flush(zlib.Z_SYNC_FLUSH)))
        breaks(lambda s: s.control(1, struct.pack(">IIH", 1, 0, 0) + s.out.compress(b"\0\0\0\1" + b"a" * 5_000_000) + s.out.flush(zlib.Z_SYNC_FLUSH)))
        breaks(lambda s: s.open(1, streamtype="error", more="a" * 4096))
        breaks(lambda s: [s.open(2 * i + 1, streamtype="nonsense", more="a" * 3000) for i in range(20)])  # each is fine, all of them are work
        breaks(lambda s: s.control(4, b"x" * 20000))
        s = spdy_upgrade(e, "/exec?input=1&output=1")
        s.open(1, streamtype="nonsense")
        s.expect((2, 1), (3, 1))
        s.open(3, streamtype="error")
        s.open(5, streamtype="error")
        s.expect((2, 3), (2, 5), (3, 5))
        for i in range(500):  # as of a client that forwards many connections
            s.open(7 + 2 * i, streamtype="nonsense", port="8080", requestid=str(i))
            s.expect((2, 7 + 2 * i), (3, 7 + 2 * i))
        s.write(1, b"after a reset it is only late")
        s.control(6, struct.pack(">I", 1))
        s.expect((6, 1))
        s.carrier.socket.close()


# ---- port-forward ----

def forward(s):
    s.open(1, 1, streamtype="error", port="80", requestid="0")
    s.open(3, streamtype="data", port="80", requestid="0")
    s.expect((2, 1), (2, 3))
    s.open(5, 1, streamtype="error", port="1", requestid="1")
    s.open(7, streamtype="data", port="1", requestid="1")
    s.expect((2, 5), (2, 7))
    same(s.next(), (0, 5, b"nobody listens at port 1", 0))
    same(s.next(), (0, 5, b"", 1))
    s.expect((3, 7))
    s.write(3, b"GET / HTTP/1.0")
    same(s.next(), (0, 3, b"GET / HTTP/1.0", 0))
    s.write(3, b"", fin=True)
    got = s.until_ended(1, 3)
    same(got[3], b"[end]")
    s.open(9, streamtype="data", port="0", requestid="2")
    s.expect((2, 9), (3, 9))
    s.open(11, 1, streamtype="error", port="80", requestid="3")
    s.open(13, streamtype="data", port="80", requestid="3")
    s.expect((2, 11), (2, 13))
    s.write(13, b"bye")  # the pod ends first: older clients close when both streams have ended, and say nothing before
    same(s.until_ended(11, 13)[13], b"bye")
    s.write(13, b"late", fin=True)
    s.control(6, struct.pack(">I", 1))
    s.expect((6, 1))
    s.carrier.socket.close()


def port_forward():
    with Echo() as e:
        forward(spdy_upgrade(e, "/portForward", "portforward.k8s.io"))
        w = WebSocket(e, "/portForward", "SPDY/3.1+portforward.k8s.io")
        has(w.head, "101 Switching Protocols", "Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io")
        forward(Spdy(w, tunnelled=True))


def main():
    make_ca("ca")
    make_ca("other")
    make_cert("ca", "server", "/CN=server")
    make_cert("ca", "client", "/O=system:masters/O=more/CN=kube-apiserver")
    make_cert("other", "stranger", "/CN=admin")
    suite = Suite()
    for test in (plain, a_slow_reader_does_not_cost_memory, tls, websocket_exec, websocket_big, websocket_hostile, spdy_exec, spdy_hostile, port_forward):
        suite.case(test.__name__, test)
    subprocess.run(["rm", "-rf", DIR], check=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
