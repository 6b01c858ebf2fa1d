"""Workers that join when they can and leave when they must: a coordinator hands out pieces, whoever is there takes them."""
import os
import socket
import socketserver
import sys
import threading
import time

PIECES = int(os.environ.get("PIECES", "60"))
ADDRESS = (os.environ["VC_COORDINATOR_HOSTS"], 7500)


class Take(socketserver.StreamRequestHandler):
    def handle(self):
        name = self.rfile.readline().decode().strip()
        with self.server.lock:
            if not self.server.left:
                self.wfile.write(b"none\n")
                return
            piece = self.server.left.pop()
        self.wfile.write(f"{piece}\n".encode())
        if self.rfile.readline().strip() != b"done":          # the worker went away: somebody else does it
            with self.server.lock:
                self.server.left.append(piece)
            return
        with self.server.lock:
            self.server.done[name] = self.server.done.get(name, 0) + 1


class Coordinator(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def coordinate():
    with Coordinator(("", ADDRESS[1]), Take) as server:
        server.lock, server.left, server.done = threading.Lock(), list(range(PIECES)), {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        while sum(server.done.values()) < PIECES:
            time.sleep(0.05)
        for name, n in sorted(server.done.items()):
            print(f"{name} did {n} of {PIECES} pieces", flush=True)


def work():
    name = socket.gethostname()
    while True:
        try:
            with socket.create_connection(ADDRESS, timeout=10) as s, s.makefile("rw") as f:
                f.write(name + "\n")
                f.flush()
                if f.readline().strip() in ("none", ""):
                    return
                time.sleep(0.05)
                f.write("done\n")
                f.flush()
        except OSError:
            time.sleep(0.1)


coordinate() if sys.argv[1] == "coordinate" else work()
