#!/usr/bin/env python3
"""The page at /ui in a real browser, on a real server with pods that really run.

    ui.py                    the test
    ui.py --picture FILE     write a picture of a job that waits, for the docs
"""
import json
import os
import sys

from browser import CHROMIUM, HEIGHT, WIDTH, Browser
from harness import PUMICE, Suite, pumice
from server import JOBS, Server, exec_in, until

SKIPPED = 77  # meson's word for it
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "ui", "page")
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def a_job(name, replicas=1, cpu="100m", command="sleep 600", **meta):
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "any", "command": ["sh", "-c", command],
                                                     "resources": {"requests": {"cpu": cpu}}}]}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name, **meta},
            "spec": {"minAvailable": replicas, "tasks": [{"name": "w", "replicas": replicas, "template": {"spec": pod}}]}}


class Eyes:
    """Somebody who looks at the page."""

    def __init__(self, server, browser):
        self.server, self.browser = server, browser
        self.root = f"https://127.0.0.1:{server.port}/ui/"

    def enter(self, token=None, page="jobs"):
        self.browser.go("about:blank")
        self.browser.go(f"{self.root}#token={token or self.server.token}")
        self.until("it is signed in", "document.querySelector('#who button')")
        self.go(page)

    def go(self, page):
        self.browser.ask(f"location.hash = '#/{page}'")

    def ask(self, expression):
        return self.browser.ask(expression)

    def until(self, what, expression):
        try:
            return until(what, lambda: self.browser.ask(f"(() => {{ const v = {expression}; return v instanceof Node ? true : v; }})()"))
        except AssertionError as e:
            raise AssertionError(f"{e}; the page says: {self.text()[:2000]}") from None

    def until_text(self, *texts):
        for text in texts:
            self.until(f"the page says {text!r}", f"document.body.innerText.includes({json.dumps(text)})")

    def text(self):
        return self.browser.ask("document.body.innerText")

    def click(self, text, inside="body"):
        """The button with this text, or one that begins with it."""
        find = f"[...document.querySelectorAll('{inside} button')].find((b) => b.textContent.startsWith({json.dumps(text)}))"
        self.until(f"there is a button {text!r}", find)
        self.ask(f"{find}.click()")

    def choose(self, text):
        """The change with this in its text."""
        find = f"[...document.querySelectorAll('#why li')].find((n) => n.textContent.includes({json.dumps(text)}))?.querySelector('button')"
        self.until(f"there is a change {text!r}", find)
        self.ask(f"{find}.click()")

    def type(self, selector, text):
        self.ask(f"(() => {{ const n = document.querySelector('{selector}'); n.value = {json.dumps(text)}; "
                 "n.dispatchEvent(new Event('input', { bubbles: true })); n.dispatchEvent(new Event('change', { bubbles: true })); })()")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" and len(key) == 1 else "")

    def is_silent(self):
        """No error in its log, and no request for anything but this server."""
        for e in self.browser.events:
            method, p = e.get("method"), e.get("params", {})
            assert method not in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"), json.dumps(p)[:500]
            entry = p.get("entry", {})
            assert method != "Log.entryAdded" or entry.get("source") == "network", json.dumps(p)[:500]
            assert method != "Page.javascriptDialogOpening", p
            if method == "Network.requestWillBeSent":
                assert p["request"]["url"].startswith(self.root[:-4]), p["request"]["url"]


def check_files(server):
    for name in os.listdir(PAGE):
        with open(os.path.join(PAGE, name)) as f:
            text = f.read()
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "") or "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in text and "innerHTML" not in text and "eval(" not in text, name
        c, r = server.open("GET", f"/ui/{name}", token="")
        assert r.status == 200 and r.read().decode() == text, (name, r.status)
        c.close()
        assert "default-src 'none'" in r.headers["Content-Security-Policy"] and r.headers["X-Content-Type-Options"] == "nosniff"
        assert server.call("GET", f"/ui/{name}", token="", If_None_Match=r.headers["ETag"])[0] == 304
    for path, status in (("/ui/nothing.js", 404), ("/ui/../etc/passwd", 404), ("/ui/%2e%2e/x", 404), ("/ui/explain/default/x", 401)):
        got = server.call("GET", path, token="")[0]
        assert got == status or (status == 401 and got == 403), (path, got)
    assert server.call("POST", "/ui/", token="")[0] == 405
    for path in ("/", "/ui"):
        c, r = server.open("GET", path, token="" if path == "/ui" else None, accept="text/html,*/*")
        c.close()
        assert (r.status, r.headers["Location"]) == (308, "/ui/"), path
    assert "/api" in server.ok("GET", "/")["paths"]


def check_login(server, eyes):
    eyes.browser.go(eyes.root)
    eyes.until_text("Sign in")
    assert "kubernetes-admin" not in eyes.text()
    eyes.type("#token", "wrong")
    eyes.click("Sign in", "#login")
    eyes.until_text("The token is invalid")
    eyes.type("#token", server.token)
    eyes.click("Sign in", "#login")
    eyes.until_text("kubernetes-admin", "No jobs.")
    assert server.token not in eyes.ask("location.href"), "a token stays in the address"
    eyes.click("Sign out")
    eyes.until_text("Sign in")
    assert not eyes.ask("sessionStorage.getItem('token')")


def check_live(server, eyes):
    eyes.enter()
    server.ok("POST", JOBS, a_job("live", 2))
    eyes.until("the job is shown, and runs", "[...document.querySelectorAll('#jobs tr')].some((r) => /live.*Running.*2 running/s.test(r.innerText))")
    server.ok("POST", JOBS, a_job("brief", command="echo over"))
    eyes.until("the other has ended", "[...document.querySelectorAll('#jobs tr')].some((r) => /brief.*Completed/s.test(r.innerText))")
    eyes.type("#filter", "bri")
    eyes.until("only one is left", "document.querySelectorAll('#jobs tbody tr').length === 1")
    eyes.type("#filter", "")
    for page, word in (("pods", "live-w-1"), ("queues", "default"), ("nodes", "of 8 cpu"), ("pod/default/live-w-0", "running since")):
        eyes.go(page)
        eyes.until_text(word)
    eyes.go("jobs")
    server.ok("DELETE", f"{JOBS}/brief")
    eyes.until("it is gone", "document.querySelector('#jobs') && !document.body.innerText.includes('brief')")


def check_why(server, eyes):
    """A job that waits: why, and a button that starts it."""
    server.ok("POST", JOBS, a_job("large", 4, cpu="3"))
    eyes.enter(page="job/default/large")
    eyes.until_text("Why it waits", "4 places are needed together, 2 are there", "Lower minAvailable from 4 to 2")
    eyes.choose("minAvailable from 4 to 2")
    eyes.until_text("kubectl patch vcjob large")
    eyes.click("Cancel", "dialog")
    assert server.ok("GET", f"{JOBS}/large")["spec"]["minAvailable"] == 4, "it was changed without a yes"
    eyes.choose("minAvailable from 4 to 2")
    eyes.until("it asks", "document.querySelector('dialog').open")
    eyes.click("Apply", "dialog")
    until("the job runs", lambda: server.ok("GET", f"{JOBS}/large").get("status", {}).get("running") == 2)
    eyes.until("nothing is asked any more", "document.querySelector('h1').innerText.includes('Running') && !document.querySelector('#why')")
    server.ok("DELETE", f"{JOBS}/large")


def check_recreated(server, eyes):
    """A change of what cannot change in place: the job is made again, and runs."""
    server.ok("POST", JOBS, a_job("wide", 4, cpu="3", labels={"mine": "yes"}))
    before = server.ok("GET", f"{JOBS}/wide")["metadata"]["uid"]
    eyes.enter(page="job/default/wide")
    eyes.choose("in each pod of task w")
    eyes.until_text("deleted and created again")
    eyes.click("Apply", "dialog")

    def is_new():
        status, job = server.call("GET", f"{JOBS}/wide")
        return status == 200 and job["metadata"]["uid"] != before and job.get("status", {}).get("running") == 4 and job
    assert until("it runs anew", is_new)["metadata"]["labels"]["mine"] == "yes"
    server.ok("DELETE", f"{JOBS}/wide")


def check_job(server, eyes):
    """Bars, logs that follow, decisions, YAML, and the buttons."""
    server.ok("POST", JOBS, a_job("talks", 2, command="i=0; while :; do i=$((i+1)); echo word $i; sleep 0.2; done"))
    eyes.enter(page="job/default/talks")
    eyes.until("each pod has a bar that runs", "document.querySelectorAll('svg.gantt rect.running').length === 2")
    eyes.press("l")
    eyes.until("it is printed", "/word 3/.test(document.querySelector('.log')?.textContent)")
    eyes.until("and goes on", "/word 9/.test(document.querySelector('.log').textContent)")
    eyes.type("input[type=search][placeholder^=search]", "word 4")
    eyes.until("the search finds it", "document.querySelector('.log').textContent.split('\\n')[0] === 'word 4'")
    eyes.click("Decisions")
    eyes.until("the scheduler's decision is there", "/Scheduled/.test(document.querySelector('#events')?.innerText)")
    eyes.click("YAML")
    eyes.until_text("minAvailable: 2")
    eyes.click("Suspend")
    eyes.click("Suspend", "dialog")
    eyes.until("it is aborted", "document.querySelector('h1').innerText.includes('Aborted')")
    eyes.click("Resume", "h1")
    eyes.click("Resume", "dialog")
    eyes.until("it runs again", "document.querySelector('h1').innerText.includes('Running')")
    eyes.click("Delete", "h1")
    eyes.click("Delete", "dialog")
    until("it is gone", lambda: server.call("GET", f"{JOBS}/talks")[0] == 404)
    eyes.until("the jobs are shown", "location.hash === '#/jobs'")


def check_submit(server, eyes):
    eyes.enter(page="submit")
    eyes.until_text("Valid: Job")
    good = eyes.ask("document.querySelector('#yaml').value")
    eyes.type("#yaml", good.replace("minAvailable: 2", "minAvailable: 5"))
    eyes.until_text("line ", "minAvailable")
    assert eyes.ask("document.querySelector('button.primary').disabled"), "a bad file can be submitted"
    eyes.type("#yaml", good.replace("replicas: 2", "replikas: 2"))
    eyes.until_text("replikas")
    eyes.type("#yaml", "kind: [")
    eyes.until_text("apiVersion and kind are required")
    eyes.type("#yaml", good.replace("name: hello", "name: typed").replace("image: busybox", "image: any"))
    eyes.until_text("Valid: Job")
    eyes.click("Submit", "main")
    eyes.until("the job is shown", "location.hash === '#/job/default/typed'")
    until("it completes", lambda: server.ok("GET", f"{JOBS}/typed").get("status", {}).get("state", {}).get("phase") == "Completed")
    eyes.until("the page shows it", "document.querySelectorAll('svg.gantt rect.good').length === 2")


def check_rights(server, eyes):
    """The page can do what its user can do: one that may only look, and one of a single namespace."""
    def add(name, *options):
        path = os.path.join(server.dir, f"{name}.kubeconfig")
        ran = pumice("server", "user", "add", name, "--token", "--data-dir", server.data, "-o", path, *options)
        assert ran.returncode == 0, ran
        with open(path) as f:
            return next(line.split(":")[1].strip() for line in f if line.strip().startswith("token:"))
    eyes.enter(add("viola", "--view"), "job/default/live")
    eyes.until_text("viola", "2 running")
    eyes.click("Delete", "h1")
    eyes.click("Delete", "dialog")
    eyes.until_text("Failed", "cannot delete resource")
    assert server.call("GET", f"{JOBS}/live")[0] == 200
    server.ok("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
    lab = JOBS.replace("default", "lab")
    server.ok("POST", lab, a_job("alone", 9, cpu="1"))
    eyes.enter(add("lara", "--edit", "--namespace", "lab"))
    eyes.until_text("Choose a namespace above")
    eyes.type("#namespace", "lab")
    eyes.until_text("alone")
    eyes.go("job/lab/alone")
    eyes.until_text("needs the right to list jobs of all namespaces")
    eyes.type("#namespace", "")


def check_hostile(server, eyes):
    """What others put into objects is text."""
    server.ok("POST", JOBS, a_job("evil", command=f"echo '{EVIL}'; exit 3", annotations={"note": EVIL}))
    server.ok("POST", "/api/v1/namespaces/default/events", {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "evil.1"}, "reason": "Bad", "message": EVIL, "type": "Warning",
        "involvedObject": {"kind": "Job", "name": "evil", "namespace": "default"}})
    eyes.enter(page="job/default/evil")
    eyes.until("it has failed", "document.querySelector('h1').innerText.includes('Failed')")
    for sheet in ("Logs", "Decisions", "YAML"):
        eyes.click(sheet)
        eyes.until_text("onerror=alert(1)")
    assert eyes.ask("document.querySelectorAll('img').length") == 1 and eyes.ask("document.querySelectorAll('main script').length") == 0


def check_hands(server, eyes):
    """Keyboard, dark, a phone."""
    eyes.enter()
    eyes.until("there are rows", "document.querySelectorAll('#jobs tbody tr').length >= 3")
    eyes.press("j")
    eyes.press("j")
    second = eyes.until("the second is chosen", "document.querySelectorAll('#jobs tbody tr')[1].getAttribute('aria-selected') === 'true' "
                        "&& document.querySelectorAll('#jobs tbody tr')[1].dataset.key")
    server.ok("POST", JOBS, a_job("later", command="true"))
    eyes.until("it stays chosen when others come", f"document.querySelector('tr[aria-selected=true]')?.dataset.key === '{second}' "
               "&& document.body.innerText.includes('later')")
    eyes.press("Enter")
    eyes.until("it is open", f"location.hash === '{second}'")
    eyes.press("Escape")
    eyes.until("and back", "location.hash === '#/jobs'")
    for keys, page in (("gq", "queues"), ("gn", "nodes"), ("gs", "submit"), ("gj", "jobs")):
        for key in keys:
            eyes.press(key)
        eyes.until(f"{keys} opens {page}", f"location.hash === '#/{page}'")
        if page == "submit":
            eyes.ask("document.activeElement.blur()")
    eyes.press("/")
    eyes.until("the filter has the focus", "document.activeElement.id === 'filter'")
    eyes.ask("document.activeElement.blur()")
    eyes.press("?")
    eyes.until_text("next, previous row")
    eyes.click("Close", "dialog")
    light = eyes.ask("getComputedStyle(document.body).backgroundColor")
    eyes.press("d")
    eyes.until("it is dark", f"getComputedStyle(document.body).backgroundColor !== '{light}'")
    eyes.press("d")
    eyes.browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    for page in ("jobs", "job/default/live", "pods", "queues", "nodes", "submit"):
        eyes.go(page)
        eyes.until(f"{page} is shown", "document.querySelector('#main h1')")
        wide = eyes.ask("document.documentElement.scrollWidth")
        assert wide <= 390, f"{page} is {wide} wide on a phone"
        assert page != "job/default/live" or eyes.until("names can be read", "document.querySelector('svg.gantt text')?.getBoundingClientRect().height > 9")
    assert eyes.ask("document.querySelector('#main').getBoundingClientRect().top") < 160, "there is more bar than page"
    eyes.browser.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)


def check_many(server, eyes):
    """More pods than rows: what most of them are is what is seen most of; and w-2 comes before w-10."""
    many = a_job("many", 150, cpu="7")
    many["spec"]["minAvailable"] = 1
    server.ok("POST", JOBS, many)
    eyes.enter(page="job/default/many")
    area = "[...document.querySelectorAll('svg.gantt rect.%s')].reduce((n, r) => n + r.width.baseVal.value * r.height.baseVal.value, 0)"
    eyes.until("one task, most of it waits", f"document.querySelectorAll('svg.gantt g').length === 1 && {area % 'pending'} > 20 * {area % 'running'}")
    eyes.click("Pods")
    eyes.until("as people count", "[...document.querySelectorAll('#pods tbody tr')].slice(9, 12).map((r) => r.cells[0].innerText).join() === 'many-w-9,many-w-10,many-w-11'")
    server.ok("DELETE", f"{JOBS}/many")


def check_logs(server, eyes):
    """Colours are left out; who scrolls up stays there; a container that comes again is followed on."""
    words = "printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\n'; i=0; while [ ! -e /tmp/end ]; do i=$((i+1)); echo word $i; sleep 0.05; done; rm /tmp/end; exit 1"
    job = a_job("colours", command=words)
    job["spec"]["tasks"][0]["template"]["spec"]["restartPolicy"] = "OnFailure"
    server.ok("POST", JOBS, job)
    eyes.enter(page="job/default/colours")
    eyes.click("Logs")
    eyes.until("it is printed", "/^red\\n100%\\nword 1\\n/.test(document.querySelector('.log')?.textContent)")
    eyes.until("it is long", "(() => { const l = document.querySelector('.log'); return l.scrollHeight > l.clientHeight + 200; })()")
    eyes.ask("document.querySelector('.log').scrollTop = 0")
    eyes.until("it follows no more", "![...document.querySelectorAll('label')].find((l) => /follow/.test(l.innerText)).firstChild.checked")
    lines = eyes.ask("document.querySelector('.log').textContent.length")
    eyes.until("more was printed", f"document.querySelector('.log').textContent.length > {lines} + 100")
    assert eyes.ask("document.querySelector('.log').scrollTop") == 0, "it was scrolled away under the reader"
    server.restart()
    eyes.until("it goes on with another server", "/\\nword \\d+\\n$/.test(document.querySelector('.log').textContent) && document.querySelector('#notice').hidden")
    exec_in(server, "colours-w-0", "touch", "/tmp/end")
    eyes.until("the next run is followed", "/^red\\n100%\\nword 1\\n/.test(document.querySelector('.log').textContent) && "
               "!/word 200\\n/.test(document.querySelector('.log').textContent)")
    server.ok("DELETE", f"{JOBS}/colours")


def check_expired(server, eyes):
    """Somebody is signed out when his token is nobody's, and comes back to where he was."""
    ran = pumice("server", "user", "add", "temp", "--view", "--token", "--data-dir", server.data)
    token = next(line.split(":")[1].strip() for line in ran.stdout.splitlines() if line.strip().startswith("token:"))
    eyes.enter(token, "queues")
    eyes.until_text("temp", "default")
    pumice("server", "user", "remove", "temp", "--data-dir", server.data)
    eyes.until_text("invalid or has expired")
    eyes.ask("history.back()")
    eyes.until("the page before is behind it", "location.hash !== '#/queues'")
    assert "Sign in" in eyes.text() and "system:anonymous" not in eyes.text(), eyes.text()
    eyes.ask("history.forward()")
    eyes.until("and this one again", "location.hash === '#/queues'")
    eyes.type("#token", server.token)
    eyes.click("Sign in", "#login")
    eyes.until("the queues are shown", "document.querySelector('#queues')")


def check_restart(server, eyes):
    """The server goes and comes back: the page says so, and goes on."""
    eyes.enter()
    eyes.until("there are rows", "document.querySelectorAll('#jobs tbody tr').length >= 1")
    server.end()
    eyes.until_text("The server cannot be reached")
    server.spawn(f"127.0.0.1:{server.port}")
    server.ok("POST", JOBS, a_job("reborn"))
    eyes.until("it has found the server again", "document.body.innerText.includes('reborn') && document.querySelector('#notice').hidden")


def picture(path):
    server, browser = Server(), Browser("--ignore-certificate-errors")
    eyes = Eyes(server, browser)
    server.ok("POST", JOBS, a_job("train", 2, cpu="2", command="echo epoch 1; sleep 600"))
    server.ok("POST", JOBS, a_job("sweep", 6, cpu="1", command="sleep 600"))
    eyes.enter(page="job/default/sweep")
    eyes.until_text("Each of these changes would start it now")
    browser.shot(path, height=760)
    browser.close()
    server.stop()


def main():
    if sys.argv[1:2] == ["--picture"]:
        return picture(sys.argv[2])
    if not CHROMIUM:
        print("skipped: there is no Chromium here")
        return SKIPPED
    assert PUMICE
    suite, server, browser = Suite(), Server(), Browser("--ignore-certificate-errors")
    eyes = Eyes(server, browser)
    suite.case("files", lambda: check_files(server))
    for name, check in (("login", check_login), ("live", check_live), ("why", check_why), ("recreated", check_recreated), ("job", check_job),
                        ("submit", check_submit), ("rights", check_rights), ("hostile", check_hostile), ("hands", check_hands), ("many", check_many),
                        ("logs", check_logs), ("expired", check_expired)):
        suite.case(name, lambda: (check(server, eyes), name in ("login", "rights", "logs", "expired") or eyes.is_silent()))
    suite.case("restart", lambda: check_restart(server, eyes))
    browser.close()
    suite.case("ends well", server.stop)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
