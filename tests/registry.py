"""Registries for tests: Debian's docker-registry with images pushed by hand, and one that lies."""
import gzip
import hashlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import images
import leftovers
from harness import free_port

PROGRAM = shutil.which("docker-registry", path="/usr/bin:/bin:" + os.environ.get("PATH", ""))
OCI = "application/vnd.oci.image."
INDEX, MANIFEST, CONFIG = OCI + "index.v1+json", OCI + "manifest.v1+json", OCI + "config.v1+json"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def zstd(data):
    """By the program; None where there is none."""
    tool = shutil.which("zstd")
    return subprocess.run([tool, "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout if tool else None


class Image:
    """Blobs and a manifest, as a registry has them."""

    def __init__(self, *layers, config=None, media="tar+gzip", arch=images.ARCH, packed=None):
        pack = {"tar+gzip": lambda d: gzip.compress(d, 1, mtime=0), "tar+zstd": zstd, "tar": lambda d: d}[media]
        head = json.loads(images.image_config(config, layers))
        head["architecture"] = arch
        head = json.dumps(head).encode()
        packed = packed or [pack(d) for d in layers]  # 'packed': what travels, whatever the layers are
        self.blobs = {digest(d): d for d in [head, *packed]}
        self.id, self.layers = digest(head), [digest(d) for d in packed]
        self.manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": self.descriptor(head, CONFIG),
                                    "layers": [self.descriptor(d, OCI + "layer.v1." + media) for d in packed]}).encode()
        self.type, self.digest, self.arch = MANIFEST, digest(self.manifest), arch

    @staticmethod
    def descriptor(data, media):
        return {"mediaType": media, "digest": digest(data), "size": len(data)}


class Index:
    def __init__(self, *parts):
        self.parts, self.type = parts, INDEX
        self.manifest = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
            {**Image.descriptor(p.manifest, MANIFEST), "platform": {"os": "linux", "architecture": p.arch}} for p in parts]}).encode()
        self.digest = digest(self.manifest)


def ask(method, url, data=None, headers=None, context=None):
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)).open(request, timeout=30) as r:
        return r.status, r.headers, r.read()


class Registry:
    """docker-registry on a port of the loopback; 'config' is merged into its own."""

    def __init__(self, config=None, scheme="http", context=None, headers=None):
        self.dir = tempfile.mkdtemp(prefix="pumice-registry-")
        self.port = free_port()
        self.host, self.url = f"localhost:{self.port}", f"{scheme}://localhost:{self.port}"
        self.context, self.headers = context, headers or {}
        merged = {"version": 0.1, "log": {"level": "error", "accesslog": {"disabled": False}}, "storage": {"filesystem": {"rootdirectory": self.dir + "/data"}},
                  "http": {"addr": f"127.0.0.1:{self.port}"}}
        for key, value in (config or {}).items():
            merged[key] = {**merged.get(key, {}), **value}
        with open(self.dir + "/config.yml", "w") as f:
            json.dump(merged, f)
        self.log_file = open(self.dir + "/log", "wb")
        self.process = subprocess.Popen([PROGRAM, "serve", self.dir + "/config.yml"], stdout=self.log_file, stderr=self.log_file,
                                        env={**os.environ, "OTEL_TRACES_EXPORTER": "none"})
        leftovers.OURS.add(self.process.pid)
        self.wait()

    def wait(self):
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self.process.poll() is None, open(self.dir + "/log").read()
                time.sleep(0.02)

    def requests(self, part=""):
        """Lines of its access log."""
        with open(self.dir + "/log", errors="replace") as f:
            return [line for line in f if '"GET /v2/' in line and part in line]

    def push(self, name, image, *tags):
        """Everything of an image or index; the reference of its first tag."""
        for part in getattr(image, "parts", [image]):
            for data in part.blobs.values():
                _, head, _ = self.ask("POST", f"/v2/{name}/blobs/uploads/", b"")
                where = urllib.parse.urljoin(self.url, head["Location"])
                self.ask("PUT", f"{where}&digest={digest(data)}", data, {"Content-Type": "application/octet-stream"})
            if part is not image:
                self.ask("PUT", f"/v2/{name}/manifests/{part.digest}", part.manifest, {"Content-Type": part.type})
        for tag in tags or ("latest",):
            self.ask("PUT", f"/v2/{name}/manifests/{tag}", image.manifest, {"Content-Type": image.type})
        return f"{self.host}/{name}:{(tags or ('latest',))[0]}"

    def ask(self, method, path, data=None, headers=None):
        return ask(method, urllib.parse.urljoin(self.url, path), data, {**self.headers, **(headers or {})}, self.context)

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log_file.close()
        shutil.rmtree(self.dir, ignore_errors=True)


class Liar(http.server.ThreadingHTTPServer):
    """A registry in memory. 'tricks' maps what a path ends with to a function that answers in its place."""
    daemon_threads = True

    def __init__(self, handler=None):
        super().__init__(("127.0.0.1", 0), handler or Liar.Handler)
        self.files, self.tricks, self.seen = {}, {}, []
        self.host = f"localhost:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def push(self, name, image, tag="latest"):
        for part in getattr(image, "parts", [image]):
            for key, data in part.blobs.items():
                self.files[f"/v2/{name}/blobs/{key}"] = ("application/octet-stream", data)
            self.files[f"/v2/{name}/manifests/{part.digest}"] = (part.type, part.manifest)
        for key in (tag, image.digest):
            self.files[f"/v2/{name}/manifests/{key}"] = (image.type, image.manifest)
        return f"{self.host}/{name}:{tag}"

    def close(self):
        self.server_close()

    def handle_error(self, request, client_address):
        """Clients leave when they have seen enough."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.server.seen.append((self.path, dict(self.headers)))
            for end, trick in list(self.server.tricks.items()):
                if trick and end in self.path:
                    if trick(self):
                        return
            kind, data = self.server.files.get(self.path, (None, None))
            if data is None:
                self.answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}')
                return
            start = int(self.headers.get("Range", "bytes=0-")[6:].split("-")[0])
            if start:
                self.answer(206, data[start:], {"Content-Type": kind, "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"})
            else:
                self.answer(200, data, {"Content-Type": kind})

        do_POST = do_GET

        def answer(self, status, data=b"", headers=None, length=None):
            self.send_response(status)
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(data) if length is None else length))
            self.end_headers()
            try:
                self.wfile.write(data)
            except OSError:
                pass
            return True

        def cut(self, status, data, length, headers=None):
            """Say more than comes."""
            self.answer(status, data, headers, length)
            self.close_connection = True
            return True
