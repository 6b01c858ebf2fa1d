#!/usr/bin/env python3
"""`pumice server` over its own end: what was answered is there, pods go on and are taken over, disks that fail.

Pods that outlive their server are ended by the test that made them: each server here has a directory of its own, and
`--cleanup` on it is the last thing that is done.
"""
import contextlib
import glob
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "kube")]

from harness import PUMICE, Suite, pumice  # noqa: E402
from netfilter import has_nftables  # noqa: E402
from server import JOBS, MAPS, PODS, Server, UnixConnection, Watch, config_map, exec_in, job, named, pid_of, pod, until  # noqa: E402

SECRETS = "/api/v1/namespaces/default/secrets"
SERVICES = "/api/v1/namespaces/default/services"


class Home:
    """A data directory that outlives its servers."""

    def __init__(self, dir=None):
        self.dir = dir or tempfile.mkdtemp(prefix="pumice-durable-")
        self.data, self.server = os.path.join(self.dir, "data"), None

    def __enter__(self):
        return self

    def start(self, *options, **kw):
        self.server = Server(*options, data=self.data, drain=False, **kw)
        return self.server

    def clean_up(self):
        run = pumice("server", "--cleanup", "--data-dir", self.data)
        assert run.returncode == 0, run.stderr
        return run.stderr

    def __exit__(self, *_):
        try:
            if self.server:
                self.server.stop()
        finally:
            if self.server:
                self.clean_up()
        shutil.rmtree(self.dir, ignore_errors=True)


def kill(s):
    s.process.kill()
    s.process.wait()
    text = s.said().decode(errors="replace")
    shutil.rmtree(s.dir, ignore_errors=True)
    assert "Sanitizer" not in text and "runtime error:" not in text, text[-4000:]


def without_times(o):
    return {k: v for k, v in o.items() if k != "status"}


# ---- objects ----

def keeps_objects():
    with Home() as home:
        s = home.start()
        made = [s.ok("POST", MAPS, config_map(f"m{i}")) for i in range(3)]
        s.ok("POST", SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "open sesame"}})
        page = s.ok("GET", f"{MAPS}?limit=1")
        s.ok("DELETE", f"{MAPS}/m1")
        rev = made[0]["metadata"]["resourceVersion"]
        kill(s)
        s = home.start()
        rest = s.ok("GET", f"{MAPS}?continue={page['metadata']['continue']}")
        assert rest["items"] == made and rest["metadata"]["resourceVersion"] == page["metadata"]["resourceVersion"], rest
        assert s.ok("GET", f"{MAPS}/m0") == made[0] and s.call("GET", f"{MAPS}/m1")[0] == 404
        w = Watch(s, f"{MAPS}?watch=1&resourceVersion={rev}")
        got = [(e["type"], e["object"]["metadata"]["name"]) for e in w.until(3)]
        assert got == [("ADDED", "m1"), ("ADDED", "m2"), ("DELETED", "m1")], got
        assert w.events[1]["object"] == made[2]
        w.close()
        last = s.ok("POST", MAPS, config_map("m3"))["metadata"]["resourceVersion"]
        assert int(last) > int(w.events[2]["object"]["metadata"]["resourceVersion"])

        copy = os.path.join(home.dir, "copy")
        run = pumice("server", "check", "--data-dir", home.data)
        assert run.returncode == 0 and "no problems" in run.stdout, (run.stdout, run.stderr)
        run = pumice("server", "backup", copy, "--data-dir", home.data)
        assert run.returncode == 0 and os.stat(copy).st_mode & 0o777 == 0o600, (run.stdout, run.stderr)
        told = dict(line.rsplit(" ", 1) for line in s.call("GET", "/metrics")[1].splitlines() if line.startswith("pumice_store"))
        flushes, changes = (int(told[f"pumice_store_flush_{name}"]) for name in ("batch_size_count", "batch_size_sum"))
        assert 0 < flushes <= changes and float(told["pumice_store_flush_duration_seconds_sum"]) > 0, told
        assert told["pumice_store_read_only"] == told["pumice_store_flush_failures_total"] == "0", told
        s.ok("DELETE", f"{MAPS}/m0")
        run = pumice("server", "restore", copy, "--data-dir", home.data)
        assert run.returncode == 1 and "store" in run.stderr, "a server runs: " + run.stderr
        assert s.stop() == 0
        assert pumice("server", "restore", copy, "--data-dir", home.data).returncode == 0
        s = home.start()
        assert s.ok("GET", f"{MAPS}/m0") == made[0] and s.ok("GET", f"{MAPS}/m3")
        w = Watch(s, f"{MAPS}?watch=1&resourceVersion={last}")
        assert w.until(1)[0]["object"]["code"] == 410, w.events
        w.close()


def on_disk(home, names="*"):
    text = b""
    for path in sorted(glob.glob(os.path.join(home.data, "store", names))):
        with open(path, "rb") as f:
            text += f.read()
    return text


def seals_secrets():
    with Home() as home:
        keys = [os.path.join(home.dir, name) for name in ("old", "new")]
        for i, path in enumerate(keys):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
                f.write(f"{i + 1:064x}\n")
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "b3BlbiBzZXNhbWU="}}
        s = home.start("--secret-key", keys[0])
        s.ok("POST", SECRETS, secret)
        s.ok("POST", MAPS, config_map("plain", {"k": "to be read by all"}))
        kill(s)
        text = on_disk(home)
        assert b"to be read by all" in text and b"b3BlbiBzZXNhbWU=" not in text, "a Secret is on the disk as it is"
        s = home.start("--secret-key", keys[1], "--secret-key", keys[0])  # the new one in front
        assert s.ok("GET", f"{SECRETS}/s")["data"] == secret["data"]
        assert s.stop() == 0
        run = pumice("server", "--data-dir", home.data, "--listen", "127.0.0.1:0", "--secret-key", keys[0])
        assert run.returncode == 1 and "key" in run.stderr, run.stderr
        s = home.start("--secret-key", keys[1])
        assert s.ok("GET", f"{SECRETS}/s")["data"] == secret["data"]
        run = pumice("server", "check", "--data-dir", home.data, "--secret-key", keys[1])
        assert run.returncode == 0, run.stdout + run.stderr


# ---- disks ----

def is_read_only(s, part):
    """Every write is refused with the file and the cause, reads go on, and /readyz says so."""
    for method, path, body in (("POST", MAPS, config_map("no")), ("PATCH", f"{MAPS}/kept", {"data": {"a": "no"}}), ("DELETE", f"{MAPS}/kept", None)):
        status, answer = s.call(method, path, body, type="application/merge-patch+json" if method == "PATCH" else "application/json")
        assert status in (500, 503) and answer["kind"] == "Status" and "store.db" in answer["message"] and part in answer["message"], (status, answer)
    assert s.ok("GET", f"{MAPS}/kept")["data"] == {"a": "b"} and s.call("GET", f"{MAPS}/no")[0] == 404
    status, text = s.call("GET", "/readyz")
    assert status == 500 and "read-only" in text and part in text, text
    assert "pumice_store_read_only 1\n" in s.call("GET", "/metrics")[1]
    assert s.call("GET", "/livez")[0] == 200, "nobody should be killed for it"


def survives_io_errors():
    """Files cannot grow any more: what SQLite takes for a disk that is broken."""
    with Home() as home:
        s = home.start(restore_signals=False)  # with SIGXFSZ ignored
        s.ok("POST", MAPS, config_map("kept"))
        s.ok("POST", PODS, named("ends", "while [ ! -e /tmp/go ]; do sleep 0.05; done; exit 3"))
        until("it runs", lambda: phase(s, "ends") == "Running")
        pid = pid_of("ends")
        w = Watch(s, f"{MAPS}?watch=1")
        w.until(2)
        resource.prlimit(s.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        status, answer = s.call("POST", MAPS, config_map("lost"))
        assert status == 500 and answer["reason"] == "InternalError" and "undone" in answer["message"], answer
        is_read_only(s, "store.db")
        assert s.call("GET", f"{MAPS}/lost")[0] == 404
        open(f"/proc/{pid}/root/tmp/go", "w").close()
        until("a pod ends of which nothing can be written", lambda: not os.path.exists(f"/proc/{pid}/exe"))
        ticks = os.sysconf("SC_CLK_TCK")
        with open(f"/proc/{s.process.pid}/stat") as f:
            before = f.read().split()[13:15]
        time.sleep(1)
        with open(f"/proc/{s.process.pid}/stat") as f:
            used = sum(map(int, f.read().split()[13:15])) - sum(map(int, before))
        assert used < ticks / 2, f"{used} of {ticks} ticks in a second with nothing to do"
        assert len(w.events) == 2, "a watch tells of nothing that was undone: " + str(w.short())
        w.close()
        kill(s)
        s = home.start()
        assert s.ok("GET", f"{MAPS}/kept") and s.call("GET", f"{MAPS}/no")[0] == 404
        s.ok("POST", MAPS, config_map("again"))
        until("how the pod ended is known", lambda: phase(s, "ends") == "Failed")
        assert s.ok("GET", f"{PODS}/ends")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


@contextlib.contextmanager
def small_disk(path):
    os.makedirs(path, 0o700)
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", path], capture_output=True)
        yield path if done.returncode == 0 else None
    finally:
        subprocess.run(["umount", "-l", path], capture_output=True)


def fill(s, head):
    """Write until there is no room; what was kept."""
    kept = []
    for i in range(1000):
        status, answer = s.call("POST", MAPS, config_map(f"{head}{i}", {"a": "x" * 100000}))
        if status != 201:
            assert status in (500, 503) and "the disk is full" in answer["message"], (status, answer)
            return kept
        kept.append(f"{head}{i}")
    raise AssertionError("it is never full")


def survives_a_full_disk():
    with Home() as home:
        with small_disk(os.path.join(home.data, "store")) as path:
            if not path:
                return print("a full disk: skipped, no right to mount one")
            os.chmod(home.data, 0o700)  # as a server leaves it
            s = home.start()
            s.ok("POST", MAPS, config_map("kept"))
            kept = fill(s, "first")
            is_read_only(s, "the disk is full")
            assert all(s.call("GET", f"{MAPS}/{name}")[0] == 200 for name in kept)
            subprocess.run(["mount", "-o", "remount,size=5m", path], check=True)
            until("it takes writes again", lambda: s.call("POST", MAPS, config_map("after"))[0] == 201)
            until("and says so", lambda: s.call("GET", "/readyz")[0] == 200)
            kept += fill(s, "second") + ["after"]
            kill(s)
            run = pumice("server", "--data-dir", home.data, "--listen", "127.0.0.1:0")
            assert run.returncode == 1 and "the disk is full" in run.stderr and "store.db" in run.stderr, run.stderr
            subprocess.run(["mount", "-o", "remount,size=30m", path], check=True)
            s = home.start()
            assert all(s.call("GET", f"{MAPS}/{name}")[0] == 200 for name in kept)
            s.ok("POST", MAPS, config_map("again"))
            s.stop()


def turn_a_bit(path, text):
    """The file is damaged where it says 'text' first."""
    with open(path, "r+b") as f:
        at = f.read().index(text)
        f.seek(at)
        f.write(bytes([text[0] ^ 1]))


def survives_a_damaged_end():
    """Acknowledged writes are behind the damage: nothing acts on what is left, and a copy brings all back."""
    with Home() as home:
        store, copy = os.path.join(home.data, "store"), os.path.join(home.dir, "copy")
        s = home.start()
        s.ok("POST", MAPS, config_map("kept", {"a": "b"}))
        s.ok("POST", JOBS, job("counts", COUNT))
        until("it runs", lambda: lines(s, "counts-w-0"))
        pid = pid_of("counts-w-0")
        assert pumice("server", "backup", copy, "--data-dir", home.data).returncode == 0
        for name in ("first", "second", "third"):
            s.ok("POST", MAPS, config_map(name, {"a": f"the {name} after the copy"}))
        s.ok("DELETE", f"{MAPS}/third")
        kill(s)
        turn_a_bit(os.path.join(store, "store.db-wal"), b"the first after the copy")
        before = on_disk(home, "store.db*[!m]")  # not the index that SQLite makes anew
        run = pumice("server", "check", "--data-dir", home.data)
        assert run.returncode == 1 and "store.db-wal: the file is damaged" in run.stdout + run.stderr, (run.stdout, run.stderr)
        s = home.start()
        is_read_only(s, "damaged")
        told = s.said().decode()
        assert "server restore" in told and "are paused until the store is restored" in told, told
        assert s.call("GET", f"{MAPS}/first")[0] == s.call("GET", f"{MAPS}/second")[0] == 404
        status, answer = s.call("GET", f"{PODS}/counts-w-0/log")
        assert status == 503 and "pods keep running" in answer["message"] and "restore" in answer["message"], (status, answer)
        w = Watch(s, f"{MAPS}?watch=1")
        w.until(1)
        w.close()
        assert s.stop() == 0 and pid_of("counts-w-0") == pid, "its pods were ended"
        assert on_disk(home, "store.db*[!m]") == before, "what is behind the damage may be wanted yet"
        run = pumice("server", "restore", copy, "--data-dir", home.data)
        assert run.returncode == 0, run.stderr
        s = home.start()
        assert s.ok("GET", f"{MAPS}/kept") and s.call("GET", "/readyz")[0] == 200
        s.ok("POST", MAPS, config_map("again"))
        assert pid_of("counts-w-0") == pid and phase(s, "counts-w-0") == "Running"
        seen = until("the log goes on", lambda: len(lines(s, "counts-w-0")) > 20 and lines(s, "counts-w-0"))
        assert seen == list(range(1, len(seen) + 1)), f"lines are missing: {seen}"
        s.ok("DELETE", f"{JOBS}/counts")
        until("it is ended as any other", lambda: not os.path.exists(f"/proc/{pid}/exe"))


# ---- pods ----

def with_token(p):
    p["spec"]["volumes"] = [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "somebody else"}}]}}]
    p["spec"]["containers"][0]["volumeMounts"] = [{"name": "t", "mountPath": "/tokens"}]
    return p


def phase(s, name):
    return s.ok("GET", f"{PODS}/{name}").get("status", {}).get("phase")


def log(s, name):
    status, text = s.call("GET", f"{PODS}/{name}/log")
    return text if status == 200 else ""


def lines(s, name):
    return [int(n) for n in log(s, name).split()]


COUNT = "n=0; while :; do n=$((n + 1)); echo $n; sleep 0.05; done"


def pair(name):
    """A job whose first task reaches the second by its name, over ssh, again and again, and ends when told to by a file."""
    j = job(name, "true")
    spec = j["spec"]
    spec["plugins"] = {"ssh": [], "svc": [], "env": []}
    spec["minAvailable"] = 2
    spec["policies"] = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    spec["tasks"] = [
        {"name": "front", "replicas": 1, "template": {"spec": {"restartPolicy": "OnFailure", "containers": [{
            "name": "main", "image": "debian:12", "command": ["/bin/sh", "-c",
                f"while :; do getent hosts {name}-back-0.{name} > /tmp/at && read at rest < /tmp/at && "
                "grep -q . /root/.ssh/authorized_keys && echo reached $at; "
                "[ -e /tmp/over ] && exit 0; sleep 0.1; done"]}]}}},
        {"name": "back", "replicas": 1, "template": {"spec": {"restartPolicy": "OnFailure", "containers": [{
            "name": "main", "image": "debian:12", "command": ["/bin/sh", "-c", "while :; do sleep 1; done"]}]}}},
    ]
    return j


def reached(s, name):
    return log(s, f"{name}-front-0").split("\n")[:-1]


def goes_on():
    """Pods, their addresses, logs, exit statuses and jobs over kill -9; then over SIGTERM; then --cleanup."""
    with Home() as home:
        s = home.start()
        s.ok("POST", SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
                                "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}})
        s.ok("POST", PODS, named("counts", COUNT, labels={"a": "b"}))
        s.ok("POST", PODS, named("ends", "while [ ! -e /tmp/go ]; do sleep 0.05; done; exit 7"))
        s.ok("POST", PODS, with_token(named("done", "cut -d. -f2 /tokens/t | wc -l; echo all of it")))
        s.ok("POST", JOBS, pair("pair"))
        until("they run", lambda: phase(s, "counts") == "Running" and phase(s, "ends") == "Running" and len(lines(s, "counts")) > 3)
        until("one has ended", lambda: phase(s, "done") == "Succeeded")
        until("the job works", lambda: len(reached(s, "pair")) > 2)
        pids = {n: pid_of(n) for n in ("counts", "ends")}
        assert all(pids.values()), pids
        address = until("the Service has an address", lambda: s.ok("GET", f"{SERVICES}/front")["spec"].get("clusterIP"))
        before = {n: s.ok("GET", f"{PODS}/{n}") for n in ("counts", "pair-front-0", "pair-back-0")}
        kill(s)
        # whatever happens now falls into the gap
        open(f"/proc/{pids['ends']}/root/tmp/go", "w").close()
        until("one ends in the gap", lambda: not os.path.exists(f"/proc/{pids['ends']}/exe"))
        s = home.start()
        assert pid_of("counts") == pids["counts"], "it is another process"
        until("its end is known", lambda: phase(s, "ends") == "Failed")
        ended = s.ok("GET", f"{PODS}/ends")["status"]["containerStatuses"][0]["state"]["terminated"]
        assert ended["exitCode"] == 7, ended
        seen = until("the log goes on", lambda: len(lines(s, "counts")) > 20 and lines(s, "counts"))
        assert seen == list(range(1, len(seen) + 1)), f"lines are missing: {seen}"
        assert log(s, "done") == "1\nall of it\n" and phase(s, "done") == "Succeeded"
        for name, old in before.items():
            now = s.ok("GET", f"{PODS}/{name}")
            for field in ("podIP", "startTime", "phase"):
                assert now["status"][field] == old["status"][field], (name, field, old["status"], now["status"])
            assert now["status"]["containerStatuses"][0]["restartCount"] == 0, now["status"]
            assert now["metadata"]["uid"] == old["metadata"]["uid"]
        assert s.ok("GET", f"{SERVICES}/front")["spec"]["clusterIP"] == address
        n = len(reached(s, "pair"))
        until("the job goes on", lambda: len(reached(s, "pair")) > n + 2)
        assert len(set(reached(s, "pair"))) == 1, "the other's address is another: " + str(set(reached(s, "pair")))
        s.ok("POST", PODS, named("new", "sleep 1000"))
        until("a new one can start", lambda: phase(s, "new") == "Running")
        front = s.ok("GET", f"{PODS}/pair-front-0")
        exec_in(s, "pair-front-0", "touch", "/tmp/over")
        until("the job completes", lambda: s.ok("GET", f"{JOBS}/pair")["status"]["state"]["phase"] == "Completed")
        assert s.ok("GET", f"{PODS}/pair-front-0")["metadata"]["uid"] == front["metadata"]["uid"]
        pid = pid_of("counts")
        assert s.stop() == 0 and os.path.exists(f"/proc/{pid}/exe"), "SIGTERM leaves pods"
        s = home.start()
        n = len(lines(s, "counts"))
        seen = until("the log goes on again", lambda: len(lines(s, "counts")) > n + 2 and lines(s, "counts"))
        assert seen == list(range(1, len(seen) + 1)) and pid_of("counts") == pid and phase(s, "new") == "Running"
        assert s.stop() == 0
        assert "Removed pods of an earlier server" in home.clean_up()
        until("--cleanup ends them", lambda: not os.path.exists(f"/proc/{pid}/exe"))
        s = home.start()
        until("what was ended is known as such", lambda: phase(s, "counts") == "Failed")


def drains():
    """Ctrl-C ends the pods, and nothing of them is left."""
    with Home() as home:
        s = home.start()
        s.ok("POST", PODS, named("last", "sleep 1000"))
        until("it runs", lambda: phase(s, "last") == "Running")
        pid = pid_of("last")
        s.process.send_signal(signal.SIGINT)
        assert s.process.wait(60) == 0 and not os.path.exists(f"/proc/{pid}/exe")
        s = home.start()
        status = s.ok("GET", f"{PODS}/last")["status"]
        assert status["phase"] == "Failed" and status["reason"] == "Terminated", status
        s.ok("DELETE", f"{PODS}/last?gracePeriodSeconds=0")
        until("it is gone", lambda: s.call("GET", f"{PODS}/last")[0] == 404)
        assert s.stop() == 0
        assert "No pods" in home.clean_up(), "a server without pods leaves nothing"


# ---- settings, and whoever starts it ----

def write(path, text):
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def refuses_wrong_settings():
    with tempfile.TemporaryDirectory() as d, socket.socket() as taken:
        path, rules = os.path.join(d, "server.yaml"), os.path.join(d, "rules.yaml")
        write(rules, "limits:\n  burst: 0\n")
        for text, part in (("listn: x", "listn: there is no such setting (did you mean listen?)"), ("drain: 3", "drain: must be true or false"),
                           ("listen: [{a: [b]}]", "listen[0]: must be one value"), ("network: maybe", "network: 'maybe' is not one of auto, private, open"),
                           ("name: [a]", "name: must be one value (NAME)"), ("- a", "must be one mapping"), ("name: a\nname: b", "server.yaml: line 2"),
                           ("config: x", "config: there is no such setting"), ("name: a\nshutdown-grace-period: long", "server.yaml: line 2: shutdown-grace-period: "),
                           ("scheduler-config: /nowhere", "--scheduler-config: /nowhere"), ("name: a\n\ncapacity: {cpu: many}", "server.yaml: line 3: capacity: "),
                           ("drain: true\nlisten: {}\nruns: x", "server.yaml: line 3: runs: 'x' is not one of"),
                           ("access-config: {limits: {burst: 0}}", "server.yaml: line 1: access-config: limits.burst: must be a number"),
                           (f"access-config: {rules}", f"line 1: access-config: {rules}: line 2: limits.burst: must be a number")):
            write(path, text)
            run = pumice("server", "--data-dir", d, "--config", path)
            assert run.returncode == 2 and part in run.stderr, (text, run.returncode, run.stderr)
        run = pumice("server", "--data-dir", d, "--config", "/nowhere.yaml")
        assert run.returncode == 2 and "/nowhere.yaml" in run.stderr, run.stderr
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        run = pumice("server", "--data-dir", d, "--listen", address)
        assert run.returncode == 1 and f"another program listens on {address}" in run.stderr, run.stderr


def follows_its_settings():
    """--config, SIGHUP, the scheduler's file; two addresses, one of them a socket."""
    with Home() as home:
        path, conf, sock = (os.path.join(home.dir, name) for name in ("server.yaml", "scheduler.conf", "sock"))
        write(conf, 'actions: "enqueue, allocate"\n')
        config = f"name: desk\nlisten: ['127.0.0.1:0', 'unix:{sock}']\nscheduler-config: {conf}\ncapacity: {{cpu: 3, memory: 5Gi}}\n"
        write(path, config)
        s = home.server = Server("--config", path, data=home.data, drain=False, listen=None)
        node = until("the node is there", lambda: s.call("GET", "/api/v1/nodes/desk")[0] == 200 and s.ok("GET", "/api/v1/nodes/desk"))
        assert node["status"]["capacity"]["cpu"] == "8", "the command line wins"
        c = UnixConnection(sock)
        c.request("GET", "/api/v1/nodes/desk", headers={"Host": "x"})
        assert c.getresponse().status == 200
        write(conf, "actions: 7\n")
        until("a bad file is told of", lambda: b"Failed to reload the scheduler configuration" in s.said())
        write(conf, 'actions: "enqueue, allocate, backfill"\n')
        until("a good one is taken", lambda: b"Reloaded the scheduler configuration" in s.said())
        write(conf, 'actions: "enqueue, allocate"\ntires: []\ntiers:\n- plugins:\n  - name: gangs\n  - name: numaaware\n')
        until("settings without effect are logged", lambda: s.said().count(b"Scheduler configuration has a setting without effect") == 3)
        assert b"line=5" in s.said() and b"did you mean" in s.said(), s.said().decode()
        assert "pumice_scheduler_config_warnings 3\n" in s.call("GET", "/metrics")[1], "and counted"
        event = until("and told as an Event", lambda: [e for e in s.ok("GET", "/api/v1/namespaces/default/events")["items"] if e["reason"] == "SchedulerConfig"])[0]
        assert event["involvedObject"]["kind"] == "Queue" and event["involvedObject"]["uid"], event
        assert "numaaware" in event["message"] and "tires" in event["message"] and f"{conf}:5: " in event["message"], event
        write(conf, 'actions: "enqueue, allocate"\n')
        until("none is left", lambda: "pumice_scheduler_config_warnings 0\n" in s.call("GET", "/metrics")[1])
        write(path, "drain: perhaps\n")
        s.process.send_signal(signal.SIGHUP)
        until("a bad file changes nothing", lambda: b"Failed to reload the settings" in s.said() and b"must be true or false" in s.said())
        write(path, config + "drain: true\naccess-config: {limits: {burst: none}}\n")
        s.process.send_signal(signal.SIGHUP)
        until("nor do bad rules in it", lambda: b"access-config: limits.burst: must be" in s.said())
        assert b"Reloaded the settings" not in s.said()
        write(path, config.replace("desk", "chair") + "drain: true\nlog-level: debug\naccess-config: {limits: {burst: 7}}\n")
        s.process.send_signal(signal.SIGHUP)
        until("a good one is taken", lambda: b"Reloaded the settings" in s.said())
        assert b"takes effect at the next start\" setting=name" in s.said(), s.said().decode()
        s.ok("POST", PODS, named("runs", "sleep 1000"))
        until("it runs", lambda: phase(s, "runs") == "Running")
        pid = pid_of("runs")
        s.process.send_signal(signal.SIGTERM)
        assert s.process.wait(60) == 0 and not os.path.exists(f"/proc/{pid}/exe"), "it drains now"
        assert not os.path.exists(sock)
        pumice("server", "--cleanup", "--data-dir", home.data, "--name", "desk")


def is_a_service():
    """As systemd starts it: a socket that listens already, words when it is ready, reloads, lives and stops."""
    with Home() as home, socket.socket() as door, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        door.bind(("127.0.0.1", 0))
        door.listen()
        ear.bind(os.path.join(home.dir, "notify"))
        ear.settimeout(60)

        def child():
            os.dup2(door.fileno(), 3)
            os.environ["LISTEN_PID"] = str(os.getpid())
            os.execve("/bin/sh", ["sh", "-c", 'LISTEN_PID=$$ exec "$0" "$@"', PUMICE, *args], {
                **os.environ, "LISTEN_FDS": "1", "NOTIFY_SOCKET": ear.getsockname(), "WATCHDOG_USEC": "400000"})

        os.makedirs(home.data, 0o700)
        args = ["server", "--data-dir", home.data, *(() if has_nftables() else ("--allow-unfiltered",))]
        out = open(os.path.join(home.dir, "out"), "wb")
        process = subprocess.Popen(["true"], preexec_fn=child, pass_fds=(3,), stdout=out, stderr=out)
        try:
            words = [ear.recv(4096).decode()]
            assert words[0].startswith("READY=1\nSTATUS="), words
            with open(os.path.join(home.data, "admin.kubeconfig")) as f:
                assert f":{door.getsockname()[1]}" in f.read()
            process.send_signal(signal.SIGHUP)
            while "READY=1" not in words[1:]:
                words.append(ear.recv(4096).decode())
            assert any(w.startswith("RELOADING=1\nMONOTONIC_USEC=") for w in words), words
            while words.count("WATCHDOG=1") < 2:
                words.append(ear.recv(4096).decode())
            open_in = [p for p in glob.glob("/proc/[0-9]*/fd/*") if holds(p, door)]
            assert {int(p.split("/")[2]) for p in open_in} == {process.pid, os.getpid()}, "others have the socket too: " + str(open_in)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            while "STOPPING=1" not in words:
                words.append(ear.recv(4096).decode())
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            home.clean_up()


def holds(path, door):
    with contextlib.suppress(OSError):
        return os.stat(path).st_ino == os.fstat(door.fileno()).st_ino and os.readlink(path).startswith("socket:")
    return False


def tells_what_was_just_written():
    """A watch that begins between a write and its sync, as the first of its kind, tells of the write. Both requests wait for the
    server while it sleeps, so that they are in one turn."""
    s = Server()
    for i in range(3):
        s.ok("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"late{i}"}})
        version = s.ok("GET", MAPS)["metadata"]["resourceVersion"]
        writer, watcher = s.connect(), s.connect()
        head = {"Authorization": f"Bearer {s.token}"}
        for c in (writer, watcher):
            c.request("GET", "/version", headers=head)
            c.getresponse().read()
        s.process.send_signal(signal.SIGSTOP)
        writer.request("DELETE", f"{MAPS}/late{i}", headers=head)
        watcher.request("GET", f"{MAPS}?watch=1&timeoutSeconds=20&resourceVersion={version}", headers=head)
        s.process.send_signal(signal.SIGCONT)
        event = json.loads(watcher.getresponse().readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", f"late{i}"), event
        assert writer.getresponse().status == 200
        for c in (writer, watcher):
            c.close()
    assert s.stop() == 0


def main():
    suite = Suite()
    only = sys.argv[1:]
    cases = {"keeps_objects": keeps_objects, "seals_secrets": seals_secrets, "survives_io_errors": survives_io_errors,
             "survives_a_full_disk": survives_a_full_disk, "survives_a_damaged_end": survives_a_damaged_end, "goes_on": goes_on, "drains": drains,
             "refuses_wrong_settings": refuses_wrong_settings, "follows_its_settings": follows_its_settings, "is_a_service": is_a_service,
             "tells_what_was_just_written": tells_what_was_just_written}
    for name, run in cases.items():
        if not only or any(word in name for word in only):
            suite.case(name, run)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
