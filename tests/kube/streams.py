#!/usr/bin/env python3
"""exec, attach, port-forward and logs by the real kubectl and kube-apiserver, with our HTTP server as the kubelet: the API server turns
kubectl's WebSockets into SPDY, or passes them on."""
import fcntl
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import termios
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from harness import Suite  # noqa: E402

ECHO = os.environ["HTTP_ECHO"]


class Kubelet:
    """A node and a pod that runs there, as far as the API server can tell."""

    def __init__(self, bed, takes_websockets):
        crt, key = bed.certificate("node-n", "system:node:n", ("system:nodes",))
        self.popen = subprocess.Popen([ECHO, "127.0.0.1:0", crt, key, bed.ca], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        port = int(self.popen.stdout.readline().split()[1])
        bed.call("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
        status, answer = bed.call("PATCH", "/api/v1/nodes/n/status", {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                                  "declaredFeatures": ["ExtendWebSocketsToKubelet"] if takes_websockets else [],
                                  "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}}, content_type="application/merge-patch+json")
        assert status == 200, answer
        bed.namespace("default")
        status, answer = bed.call("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": {
            "nodeName": "n", "containers": [{"name": "c", "image": "x", "stdin": True, "tty": False}]}})
        assert status == 201, answer
        status, answer = bed.call("PATCH", "/api/v1/namespaces/default/pods/p/status", {"status": {"phase": "Running", "containerStatuses": [
            {"name": "c", "image": "x", "imageID": "x", "ready": True, "restartCount": 0, "state": {"running": {}}}]}}, content_type="application/merge-patch+json")
        assert status == 200, answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.stdin.close()
        status, text = self.popen.wait(20), self.popen.stderr.read()
        assert status == 0 and not text, text
        self.upgrades = set(self.popen.stdout.read().split("\n")) - {""}


def same(real, want):
    assert real == want, f"want {want!r}, got {real!r}"


def kubectl(bed, *args, stdin=b"", env=()):
    return subprocess.run([f"{bed.bin}/kubectl", *args], env={**bed.environment(), **dict(env)}, input=stdin, capture_output=True, timeout=60)


def execs(bed):
    for env in ((), (("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false"),)):  # the second is what older ones do
        run = kubectl(bed, "exec", "p", "--", "exit", "0", env=env)
        same((run.returncode, run.stderr), (0, b"begun\n"))
        run = kubectl(bed, "exec", "p", "--", "exit", "7", env=env)
        assert run.returncode == 7 and b"exit code 7" in run.stderr, run
        run = kubectl(bed, "exec", "-i", "p", "--", "exit", "3", stdin=b"hello\n" * 50000, env=env)
        same((run.returncode, len(run.stdout)), (3, 300000))
        run = kubectl(bed, "exec", "p", "--", "big", "5000000", env=env)
        same((run.returncode, len(run.stdout)), (0, 5000000))
        run = kubectl(bed, "exec", "-i", "p", "--", "cat", stdin=b"please fail", env=env)
        assert run.returncode == 1 and b'it "failed"' in run.stderr, run
    run = kubectl(bed, "attach", "-i", "p", stdin=b"a line\n")
    assert b"a line\n" in run.stdout, run


def has_a_terminal(bed):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    p = subprocess.Popen([f"{bed.bin}/kubectl", "exec", "-it", "p", "--", "cat"], env=bed.environment(), stdin=child, stdout=child, stderr=child)
    seen = b""
    while b"size 80x24" not in seen:
        seen += os.read(parent, 4096)
    fcntl.ioctl(parent, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
    p.send_signal(28)  # SIGWINCH
    while b"size 100x50" not in seen:
        seen += os.read(parent, 4096)
    os.write(parent, b"fail\n")
    same(p.wait(30), 1)
    os.close(parent)
    os.close(child)


def forwards(bed):
    for env in ((), (("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false"),)):
        p = subprocess.Popen([f"{bed.bin}/kubectl", "port-forward", "p", ":80", ":1"], env={**bed.environment(), **dict(env)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ports = {}
        while len(ports) < 2:
            local, remote = re.search(r":(\d+) -> (\d+)", p.stdout.readline()).groups()
            ports[int(remote)] = int(local)
        results = []

        def talk(n):
            with socket.create_connection(("127.0.0.1", ports[80]), 20) as s:
                s.sendall(bytes([n]) * 200000)
                s.shutdown(socket.SHUT_WR)
                got = b""
                while data := s.recv(65536):
                    got += data
                results.append(got == bytes([n]) * 200000 + b"[end]")
        threads = [threading.Thread(target=talk, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        same(results, [True] * 8)
        with socket.create_connection(("127.0.0.1", ports[1]), 20) as s:
            same(s.recv(10), b"")
        p.terminate()
        text = p.communicate(timeout=20)[1]
        assert "nobody listens at port 1" in text, text


def main():
    suite = Suite()
    gates = {"": (), " with WebSockets to the kubelet": ("--feature-gates=ExtendWebSocketsToKubelet=true",)}
    try:
        for name, flags in gates.items():
            if len(sys.argv) > 1 and bool(flags) != (sys.argv[1] == "gate"):
                continue
            with Bed(server_flags=flags) as bed:
                with Kubelet(bed, bool(flags)) as kubelet:
                    for case in (execs, has_a_terminal, forwards):
                        suite.case(case.__name__ + name, lambda case=case: case(bed))
                suite.case("upgrades" + name, lambda: same(kubelet.upgrades, {"upgrade SPDY/3.1", "upgrade websocket"} if flags else {"upgrade SPDY/3.1"}))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
