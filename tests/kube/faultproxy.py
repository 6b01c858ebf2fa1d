#!/usr/bin/env python3
"""faultproxy.py - stands between a client and the API server and does to their talk what networks and busy servers do

    with FaultProxy(bed, user="controller") as proxy:         # a test in Python; proxy.kubeconfig is for the client
        proxy.add(fault="status", code=429, retry_after=1, method="POST", path="/pods", times=3)
        proxy.add(fault="swallow", method="POST", p=0.1)
        ...
        proxy.heal()                                          # no more faults; open connections stay
        proxy.log                                             # what was done to whom

    faultproxy.py --upstream URL --ca FILE --cert FILE --key FILE --client-cert FILE --client-key FILE --control SOCKET [--seed N]
                                                              # a test in another language; says "listening PORT"

The control socket takes one JSON object on a line and answers with one: {"add": {…}}, {"heal": true}, {"cut": true}, {"down": true},
{"up": true}, {"storm": N}, {"log": true}.

A rule has a fault, says whom it may hit (method and path are regular expressions; watch: only watches, or none; p: how likely; times: how
often at most), and has parameters. The first rule that hits is applied. The seed decides about p, so that the same talk meets the same
faults.

    status      answered here, nothing reaches the server: code, retry_after (seconds)
    cut         the connection ends: before="request" unseen by the server; else after that many events of a watch or bytes of an answer
                (default 0). reset: RST instead of FIN
    swallow     the server did it, and the connection ends before the answer; hang: it does not even end
    half_open   nothing comes any more, in either direction, and nothing ends; as for cut, before="request" or after
    delay       ms before the request is passed on; each="event": before every event of a watch
    gone        a watch ends with an ERROR event 410 after that many events; head: the answer itself is 410
    truncate    a watch ends in the middle of an event
    merge       events of a watch that come within ms are one chunk
    split       events of a watch come in chunks of that many bytes (default 7): letters and escapes are cut in two

The proxy ends TLS, so it uses the user's certificate for all that comes. It speaks HTTP/1.1. With raw=True it passes bytes on, HTTP/2 too;
then a "request" is a connection, and only cut (after bytes), half_open (after bytes) and delay apply.
"""
import argparse
import asyncio
import contextlib
import json
import logging
import os
import random
import re
import socket
import ssl
import struct
import sys
import threading
import urllib.parse

HEAD_MAX = 1 << 20
logging.getLogger("asyncio").setLevel(logging.ERROR)  # that a peer has gone is our business here, not news

# All at once, each seldom: what a seed of storm() draws from.
STORM = [
    {"fault": "status", "code": 429, "retry_after": 1, "p": 0.03},
    {"fault": "status", "code": 500, "p": 0.02},
    {"fault": "status", "code": 503, "p": 0.01},
    {"fault": "cut", "before": "request", "p": 0.02},
    {"fault": "cut", "reset": True, "after": 20, "watch": False, "p": 0.02},
    {"fault": "swallow", "method": "POST|PUT|PATCH|DELETE", "p": 0.05},
    {"fault": "delay", "ms": 200, "watch": False, "p": 0.1},
    {"fault": "gone", "after": 3, "p": 0.1},
    {"fault": "gone", "head": True, "p": 0.05},
    {"fault": "truncate", "after": 5, "p": 0.1},
    {"fault": "merge", "ms": 100, "p": 0.2},
    {"fault": "split", "p": 0.2},
    {"fault": "cut", "after": 4, "watch": True, "p": 0.2},
]
ON_WATCHES = {"gone", "truncate", "merge", "split"}


def status_object(code):
    reason = {410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}.get(code, "Unknown")
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason, "code": code,
            "message": f"the proxy says {code}"}


class Closed(Exception):
    """The connection is over: the other side closed it, or a fault did."""


class Request:
    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.headers = [tuple(line.split(":", 1)) for line in lines[1:] if line]
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.target).query)
        self.is_watch = query.get("watch", ["0"])[0].lower() in ("1", "true") or "/watch/" in self.target
        self.body = b""

    def header(self, name):
        return next((v.strip() for k, v in self.headers if k.lower() == name), "")

    def encoded(self):
        kept = [(k, v) for k, v in self.headers if k.lower() not in ("expect", "transfer-encoding", "content-length")]
        if self.body or self.method in ("POST", "PUT", "PATCH"):
            kept.append(("Content-Length", f" {len(self.body)}"))
        head = f"{self.method} {self.target} HTTP/1.1\r\n" + "".join(f"{k}:{v}\r\n" for k, v in kept) + "\r\n"
        return head.encode("latin-1") + self.body


class Answer:
    def __init__(self, head, method):
        lines = head.decode("latin-1").split("\r\n")
        self.head, self.code = head, int(lines[0].split(" ")[1])
        headers = {k.strip().lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:] if ":" in line)}
        self.is_chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        self.length = int(headers["content-length"]) if "content-length" in headers else None
        if method == "HEAD" or self.code in (204, 304) or self.code < 200:
            self.is_chunked, self.length = False, 0


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


async def read_head(reader):
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        raise Closed from None


async def read_chunk(reader):
    """b"" is the last one."""
    try:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        data = await reader.readexactly(size)
        await reader.readexactly(2)
        return data
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError, ValueError):
        raise Closed from None


class Rules:
    def __init__(self, seed):
        self.lock, self.list, self.log, self.random = threading.Lock(), [], [], random.Random(seed)

    def add(self, **rule):
        if not rule.get("fault") in {"status", "cut", "swallow", "half_open", "delay", "gone", "truncate", "merge", "split"}:
            raise ValueError(f"no such fault: {rule.get('fault')}")
        with self.lock:
            self.list.append({"times": -1, "p": 1.0, **rule})

    def heal(self):
        with self.lock:
            self.list.clear()

    def storm(self, seed):
        with self.lock:
            self.random = random.Random(seed)
            self.list[:] = [{"times": -1, **rule} for rule in STORM]

    def hits(self, rule, method, target, is_watch):
        if rule["times"] == 0 or not re.fullmatch(rule.get("method", ".*"), method) or not re.search(rule.get("path", ""), target):
            return False
        want = True if rule["fault"] in ON_WATCHES else False if rule["fault"] == "swallow" else rule.get("watch")
        return want in (None, is_watch) and self.random.random() < rule["p"]

    def choose(self, method, target, is_watch=False):
        with self.lock:
            for rule in self.list:
                if self.hits(rule, method, target, is_watch):
                    rule["times"] -= 1
                    self.log.append({"fault": rule["fault"], "method": method, "target": target})
                    return dict(rule)
        return {"fault": None}


class Connection:
    """One of the client's, and the one to the server that belongs to it."""

    def __init__(self, proxy, reader, writer):
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.up_reader = self.up_writer = None
        self.pending = None  # a chunk being read

    # ---- ends ----

    def end(self, reset=False):
        if reset:
            raw = self.writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if self.pending:
            self.pending.cancel()
        for w in (self.writer, self.up_writer):
            if w:
                w.transport.abort()

    def cut(self, rule):
        self.end(rule.get("reset", False))
        raise Closed

    async def silence(self):
        """Until somebody cuts all connections: nothing is read, nothing is written, nothing ends."""
        await asyncio.Event().wait()

    async def upstream(self):
        if not self.up_writer or self.up_writer.is_closing() or self.up_reader.at_eof():
            self.up_reader, self.up_writer = await self.proxy.dial(self.writer)

    async def send(self, data):
        if self.writer.is_closing():
            raise Closed
        try:
            self.writer.write(data)
            await self.writer.drain()
        except (ConnectionError, ssl.SSLError):
            raise Closed from None

    # ---- requests ----

    async def run(self):
        try:
            if self.proxy.raw:
                await self.run_raw()
            while True:
                await self.one_request()
        except (Closed, OSError):
            pass
        finally:
            self.end()

    async def read_request(self):
        request = Request(await read_head(self.reader))
        if request.header("expect").lower() == "100-continue":
            await self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in request.header("transfer-encoding").lower():
            while data := await read_chunk(self.reader):
                request.body += data
        elif request.header("content-length"):
            try:
                request.body = await self.reader.readexactly(int(request.header("content-length")))
            except asyncio.IncompleteReadError:
                raise Closed from None
        return request

    async def one_request(self):
        request = await self.read_request()
        rule = self.proxy.rules.choose(request.method, request.target, request.is_watch)
        fault = rule["fault"]
        if fault == "status" or (fault == "gone" and rule.get("head")):
            await self.answer(rule.get("code", 410), rule.get("retry_after"))
            return
        if rule.get("before") == "request":
            await self.silence() if fault == "half_open" else self.cut(rule)
        if fault == "delay" and rule.get("each") != "event":
            await asyncio.sleep(rule.get("ms", 100) / 1000)
        await self.upstream()
        self.up_writer.write(request.encoded())
        await self.up_writer.drain()
        await self.relay(request, rule)

    async def answer(self, code, retry_after):
        body = json.dumps(status_object(code)).encode()
        head = f"HTTP/1.1 {code} Because\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        if retry_after is not None:
            head += f"Retry-After: {retry_after}\r\n"
        await self.send(head.encode() + b"\r\n" + body)

    # ---- answers ----

    async def relay(self, request, rule):
        answer = Answer(await read_head(self.up_reader), request.method)
        while answer.code < 200 and answer.code != 101:
            await self.send(answer.head)
            answer = Answer(await read_head(self.up_reader), request.method)
        if answer.code == 101:  # exec, attach, port-forward: no longer HTTP
            await self.send(answer.head)
            await self.pass_on({"fault": None})
        if request.is_watch and answer.code == 200 and answer.is_chunked:
            await self.relay_watch(answer, rule)
        else:
            await self.relay_body(answer, rule)

    async def whole_body(self, answer):
        body = b""
        if answer.is_chunked:
            while data := await read_chunk(self.up_reader):
                body += chunk(data)
            return body + b"0\r\n\r\n"
        try:
            return await (self.up_reader.readexactly(answer.length) if answer.length is not None else self.up_reader.read())
        except asyncio.IncompleteReadError:
            raise Closed from None

    async def relay_body(self, answer, rule):
        body = await self.whole_body(answer)
        if rule["fault"] == "swallow":
            await self.silence() if rule.get("hang") else self.cut(rule)
        if rule["fault"] in ("cut", "half_open"):
            part = (answer.head + body)[:rule.get("after", 0)]
            await self.send(part)
            await self.silence() if rule["fault"] == "half_open" else self.cut(rule)
        await self.send(answer.head + body)
        if answer.length is None and not answer.is_chunked:
            self.cut({})

    async def relay_watch(self, answer, rule):
        """Events are lines, whatever chunks the server makes of them."""
        await self.send(answer.head)
        fault, after, seen, rest = rule["fault"], rule.get("after", 0), 0, b""
        while True:
            if fault in ("cut", "half_open", "gone") and seen >= after:
                await self.end_watch(rule)
                return
            if b"\n" not in rest:
                data = await self.merged_chunks(rule) if fault == "merge" else await self.next_chunk()
                if not data:
                    await self.send((chunk(rest) if rest else b"") + b"0\r\n\r\n")
                    return
                rest += data
                continue
            cut_at = (rest.rindex(b"\n") if fault == "merge" else rest.index(b"\n")) + 1  # merged: all that is whole
            event, rest = rest[:cut_at], rest[cut_at:]
            if fault == "truncate" and seen >= after:
                await self.send(chunk(event[:max(1, len(event) // 2)]))
                self.cut(rule)
            if fault == "delay" and rule.get("each") == "event":
                await asyncio.sleep(rule.get("ms", 100) / 1000)
            seen += 1
            await self.send_event(event, rule)

    async def next_chunk(self, timeout=None):
        """None: none came in time, and the next call has it. The client's end is the end of its watch."""
        task = self.pending = self.pending or asyncio.ensure_future(read_chunk(self.up_reader))
        gone = asyncio.ensure_future(self.reader.read(1))
        try:
            await asyncio.wait((task, gone), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        await asyncio.wait((gone,))  # only then may another read
        if not gone.cancelled():
            raise Closed
        if not task.done():
            return None
        self.pending = None
        return task.result()

    async def merged_chunks(self, rule):
        data = await self.next_chunk()
        end = self.proxy.loop.time() + rule.get("ms", 100) / 1000
        while data and (left := end - self.proxy.loop.time()) > 0:
            more = await self.next_chunk(left)
            if more == b"":  # the end comes after what is here
                self.pending = asyncio.ensure_future(asyncio.sleep(0, b""))
                break
            data += more or b""
        return data

    async def end_watch(self, rule):
        if rule["fault"] == "half_open":
            await self.silence()
        if rule["fault"] == "cut":
            self.cut(rule)
        await self.send(chunk(json.dumps({"type": "ERROR", "object": status_object(410)}).encode() + b"\n") + b"0\r\n\r\n")
        self.up_writer.transport.abort()  # the server's watch is still open; the next request gets a new connection
        self.up_writer = None

    async def send_event(self, event, rule):
        size = rule.get("bytes", 7) if rule["fault"] == "split" else len(event)
        for i in range(0, len(event), size):
            await self.send(chunk(event[i:i + size]))
            if rule["fault"] == "split":
                await asyncio.sleep(0)

    # ---- bytes ----

    async def run_raw(self):
        rule = self.proxy.rules.choose("CONNECT", "")
        if rule["fault"] == "delay":
            await asyncio.sleep(rule.get("ms", 100) / 1000)
        if rule.get("before") == "request":
            await self.silence() if rule["fault"] == "half_open" else self.cut(rule)
        await self.upstream()
        await self.pass_on(rule)

    async def pass_on(self, rule):
        there = asyncio.ensure_future(self.copy(self.reader, self.up_writer, {"fault": None}))
        back = asyncio.ensure_future(self.copy(self.up_reader, self.writer, rule))
        _, pending = await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        raise Closed

    async def copy(self, reader, writer, rule):
        done = 0
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65536):
                if rule["fault"] in ("cut", "half_open") and done + len(data) > rule.get("after", 0):
                    writer.write(data[:max(0, rule.get("after", 0) - done)])
                    await writer.drain()
                    if rule["fault"] == "half_open":
                        await self.silence()
                    self.end(rule.get("reset", False))
                    return
                done += len(data)
                writer.write(data)
                await writer.drain()


class Proxy:
    """The server of all connections; its methods are for the thread of its loop, but command() is for any."""

    def __init__(self, upstream, ca, cert, key, client_cert=None, client_key=None, seed=0, raw=False):
        url = urllib.parse.urlsplit(upstream)
        self.host, self.port, self.raw, self.rules = url.hostname, url.port, raw, Rules(seed)
        self.server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server_tls.load_cert_chain(cert, key)
        self.client_tls = {}
        for protocol in ("h2", "http/1.1"):
            self.client_tls[protocol] = ssl.create_default_context(cafile=ca)
            self.client_tls[protocol].set_alpn_protocols([protocol])
            if client_cert:
                self.client_tls[protocol].load_cert_chain(client_cert, client_key)
        self.server_tls.set_alpn_protocols(["h2", "http/1.1"] if raw else ["http/1.1"])
        self.tasks, self.is_down, self.listen_port = set(), False, 0

    async def dial(self, client_writer):
        protocol = client_writer.get_extra_info("ssl_object").selected_alpn_protocol() or "http/1.1"
        return await asyncio.open_connection(self.host, self.port, ssl=self.client_tls[protocol], limit=HEAD_MAX)

    async def accept(self, reader, writer):
        if self.is_down:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            await Connection(self, reader, writer).run()
        except asyncio.CancelledError:
            pass
        finally:
            self.tasks.discard(task)

    async def start(self, port=0):
        self.loop = asyncio.get_running_loop()
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", port, ssl=self.server_tls, limit=HEAD_MAX)
        self.listen_port = self.server.sockets[0].getsockname()[1]

    async def stop(self):
        self.server.close()
        self.cut()
        while self.tasks:
            await asyncio.sleep(0.01)

    def cut(self):
        for task in list(self.tasks):
            task.cancel()

    def set_down(self, is_down):
        """Down: as if there were nobody. What is open ends, what comes is closed."""
        self.is_down = is_down
        if is_down:
            self.cut()

    def command(self, words):
        try:
            if "add" in words:
                self.rules.add(**words["add"])
            elif "storm" in words:
                self.rules.storm(words["storm"])
            elif "heal" in words:
                self.rules.heal()
            elif "cut" in words:
                self.loop.call_soon_threadsafe(self.cut)
            elif "down" in words or "up" in words:
                self.loop.call_soon_threadsafe(self.set_down, "down" in words)
            elif "log" in words:
                return {"log": list(self.rules.log)}
            else:
                return {"error": "unknown command"}
        except (TypeError, ValueError) as e:
            return {"error": str(e)}
        return {"ok": True}

    async def control(self, reader, writer):
        while line := await reader.readline():
            try:
                said = self.command(json.loads(line))
            except json.JSONDecodeError as e:
                said = {"error": str(e)}
            writer.write(json.dumps(said).encode() + b"\n")
            await writer.drain()
        writer.close()


class FaultProxy:
    """A proxy of a bed, in a thread of the test."""

    def __init__(self, bed, user="admin", seed=0, raw=False):
        self.bed, self.user, self.seed, self.raw = bed, user, seed, raw

    def __enter__(self):
        self.bed.user(self.user)
        identity = self.bed.users[self.user]
        crt, key = self.bed.certificate("proxy", "proxy")
        self.proxy = Proxy(self.bed.url, self.bed.ca, crt, key, identity.certificate, identity.key, self.seed, self.raw)
        started = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,), daemon=True)
        self.thread.start()
        started.wait()
        self.url = f"https://127.0.0.1:{self.proxy.listen_port}"
        # Some clients want to have something to show; the proxy shows the same.
        with open(self.bed.user(self.user)) as f:
            auth = json.load(f)["users"][0]["user"]
        self.kubeconfig = self.bed.kubeconfig(f"proxy-{self.proxy.listen_port}", auth, server=self.url)
        return self

    def run(self, started):
        async def main():
            self.done = asyncio.Event()
            await self.proxy.start()
            started.set()
            await self.done.wait()
            await self.proxy.stop()
        asyncio.run(main())

    def __exit__(self, *_):
        self.proxy.loop.call_soon_threadsafe(self.done.set)
        self.thread.join()

    def add(self, **rule):
        self.proxy.rules.add(**rule)

    def storm(self, seed):
        self.proxy.rules.storm(seed)

    def heal(self):
        self.proxy.rules.heal()

    def cut(self):
        self.proxy.command({"cut": True})

    def down(self):
        self.proxy.command({"down": True})

    def up(self):
        self.proxy.command({"up": True})

    @property
    def log(self):
        return list(self.proxy.rules.log)


async def serve(args):
    proxy = Proxy(args.upstream, args.ca, args.cert, args.key, args.client_cert, args.client_key, args.seed or 0, args.raw)
    await proxy.start(args.port)
    if args.seed is not None:
        proxy.rules.storm(args.seed)
    if args.control:
        await asyncio.start_unix_server(proxy.control, args.control)
    print(f"listening {proxy.listen_port}", flush=True)
    # Ends with whoever started it: its standard input is theirs.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    await proxy.stop()
    if args.control:
        os.unlink(args.control)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("upstream", "ca", "cert", "key"):
        p.add_argument(f"--{name}", required=True)
    for name in ("client-cert", "client-key", "control"):
        p.add_argument(f"--{name}")
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--seed", type=int, help="a storm from the start")
    p.add_argument("--raw", action="store_true")
    asyncio.run(serve(p.parse_args()))


if __name__ == "__main__":
    main()
