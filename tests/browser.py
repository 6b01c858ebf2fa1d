"""A real browser for tests of pages: headless Chromium."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
WIDTH, HEIGHT = 1280, 900


class Browser:
    """Chromium, spoken to through its debugging pipe: messages of JSON that end with a zero byte."""

    def __init__(self, *more_flags):
        self.dir = tempfile.mkdtemp(prefix="pumice-browser-")
        to_child, self.tx = os.pipe()
        self.rx, from_child = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
                 "--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}",
                 f"--user-data-dir={self.dir}", "--remote-debugging-pipe", *more_flags, "about:blank"]

        def place_pipe():  # the browser expects it there
            os.dup2(to_child, 1003)
            os.dup2(from_child, 1004)
            os.dup2(1003, 3)
            os.dup2(1004, 4)

        self.process = subprocess.Popen([CHROMIUM, *flags], preexec_fn=place_pipe, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.rest, self.id, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)

    def receive(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.rx, 1 << 20)
            if not chunk:
                raise AssertionError("the browser ended")
            self.rest += chunk
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.id += 1
        message = {"id": self.id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.tx, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, scheme):
        self.go("file://" + os.path.abspath(path), scheme)

    def go(self, url, scheme="light"):
        self.events = []
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression[:80]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def shot(self, path, width=WIDTH, height=None, scale=1):
        height = height or self.ask("document.documentElement.scrollHeight")
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": scale})
        with open(path, "wb") as f:
            f.write(base64.b64decode(picture["data"]))

    def complaints(self):
        """Errors in its log, and requests for anything but the page itself."""
        found = []
        for e in self.events:
            method, p = e.get("method"), e.get("params", {})
            if method in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                found.append(f"{method}: {json.dumps(p)[:300]}")
            if method == "Network.requestWillBeSent" and p.get("type") != "Document":
                found.append(f"it asked for {p['request']['url'][:200]}")
        return found

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (AssertionError, OSError):
            self.process.kill()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.tx)
        os.close(self.rx)
        shutil.rmtree(self.dir, ignore_errors=True)
