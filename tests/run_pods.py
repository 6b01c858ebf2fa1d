#!/usr/bin/env python3
"""What a pod's spec asks for, seen from inside real pods. Each row is one pod and the lines it must write.

All rows of a table run in one Job at the same time: dozens of checks cost a few seconds.
"""
import os
import shutil
import signal
import sys
import tempfile

from harness import Suite
from runs import Run, config_map, container, job, on, run, run_text, same, secret, sh, task

NODE = ("--node", "cpu=100,memory=100Gi,pods=200", "--timeout", "100s")
PYTHON = "/usr/bin/python3"
SHARE = tempfile.mkdtemp(prefix="pumice-pods-")     # the host's own, for what pods tell each other and us
LABELS = {"app": "demo", "tier": "back"}
IDS = "id -u; id -g; id -G"


class Row:
    """One pod of a Job. 'want': its lines, or a function that judges them. 'pod' goes to the pod's spec, the rest to the container."""

    def __init__(self, name, command, want, pod=None, policies=None, **fields):
        self.name, self.want = name, want
        self.task = task(name, sh(command) if isinstance(command, str) else command, pod=pod, policies=policies, **fields)
        self.task["template"]["metadata"] = {"labels": LABELS, "annotations": {"note": "a\nb"}}


def volume(name, **source):
    return {"name": name, **source}


def mount(name, path, **more):
    return {"name": name, "mountPath": path, **more}


def field(path):
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def amount(resource, **more):
    return {"valueFrom": {"resourceFieldRef": {"resource": resource, **more}}}


def has_line(*wanted):
    def judge(lines):
        for want in wanted:
            assert any(want in line for line in lines), f"no {want!r} in {lines}"
    return judge


def below(most):
    def judge(lines):
        assert len(lines) == 1 and float(lines[0]) <= most, f"want at most {most}, got {lines}"
    return judge


OBJECTS = [
    config_map("words", one="eins", two="zwei"),
    secret("keys", token="s3cret"),
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"},
     "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}},
]

# ---- the environment and the process ----

ENV = [
    Row("env", 'echo "$A|$B|$C|$D"', ["x|x-y|$(A)|$(NOBODY)"],
        env=[{"name": "A", "value": "x"}, {"name": "B", "value": "$(A)-y"}, {"name": "C", "value": "$$(A)"},
             {"name": "D", "value": "$(NOBODY)"}]),
    Row("args", ["/bin/echo", "$(WORD)"], ["hi there $$HOME $(WORD)"], env=[{"name": "WORD", "value": "hi"}],
        args=["there", "$$$HOME", "$$(WORD)"]),
    Row("env-from-objects", 'echo "$ONE|$TOKEN|$P_one|$P_two|$GONE|$token"', ["eins|s3cret|eins|zwei||s3cret"],
        envFrom=[{"prefix": "P_", "configMapRef": {"name": "words"}}, {"secretRef": {"name": "keys"}},
                 {"configMapRef": {"name": "nobody", "optional": True}}],
        env=[{"name": "ONE", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "one"}}},
             {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
             {"name": "GONE", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "x", "optional": True}}}]),
    Row("env-from-pod", 'echo "$NAME|$NS|$APP|$CPU|$MEM|$REQ"; [ "$IP" = "$(hostname -i)" ] && echo ip; [ -n "$NODE$HOST$UID_" ] && echo node',
        ["pods-env-from-pod-0|default|demo|2|64|250", "ip", "node"],
        env=[{"name": "NAME", **field("metadata.name")}, {"name": "NS", **field("metadata.namespace")},
             {"name": "APP", **field("metadata.labels['app']")}, {"name": "IP", **field("status.podIP")},
             {"name": "NODE", **field("spec.nodeName")}, {"name": "HOST", **field("status.hostIP")},
             {"name": "UID_", **field("metadata.uid")}, {"name": "CPU", **amount("limits.cpu")},
             {"name": "MEM", **amount("limits.memory", divisor="1Mi")},
             {"name": "REQ", **amount("requests.cpu", divisor="1m")}],
        resources={"limits": {"cpu": "1500m", "memory": "64Mi"}, "requests": {"cpu": "250m"}}),
    Row("working-dir", "pwd; cd .. && pwd", ["/usr/share", "/usr"], workingDir="/usr/share"),
    Row("new-working-dir", "pwd", ["/made/for/it"], workingDir="/made/for/it"),
    Row("user", IDS, ["1234", "5678", "5678"], securityContext={"runAsUser": 1234, "runAsGroup": 5678}),
    Row("pod-user", IDS, ["1000", "0", "0 77 88 99"],
        pod={"securityContext": {"runAsUser": 1000, "runAsGroup": 0, "fsGroup": 77, "supplementalGroups": [88, 99]}}),
    Row("container-user-wins", IDS, ["5", "6", "6"], securityContext={"runAsUser": 5, "runAsGroup": 6},
        pod={"securityContext": {"runAsUser": 1000, "runAsNonRoot": True}}),
    Row("capabilities", "grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status",
        ["CapEff:\t0000000000000400", "NoNewPrivs:\t1"],
        securityContext={"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}, "allowPrivilegeEscalation": False}),
    Row("default-capabilities", "chown 1 /tmp/x 2> /dev/null; touch /tmp/x && chown 1 /tmp/x && echo chown; "
        "mount -t tmpfs none /mnt 2> /dev/null || echo no mount; date -s 2001-01-01 > /dev/null 2>&1 || echo no clock",
        ["chown", "no mount", "no clock"]),
    Row("read-only-root", "touch /x 2> /dev/null || echo root; touch /etc/x 2> /dev/null || echo etc; touch /v/x && echo volume; "
        "touch /dev/shm/x && echo shm", ["root", "etc", "volume", "shm"],
        securityContext={"readOnlyRootFilesystem": True}, volumeMounts=[mount("v", "/v")], pod={"volumes": [volume("v", emptyDir={})]}),
    Row("writable-root", "echo mine > /etc/pumice-test && cat /etc/pumice-test", ["mine"]),
    Row("seccomp", "grep -w Seccomp: /proc/self/status; unshare -U true 2> /dev/null || echo no unshare", ["Seccomp:\t2", "no unshare"]),
    Row("both-streams", "echo out; echo err >&2", lambda lines: same(sorted(lines), ["err", "out"])),
    Row("standard-input", "cat; echo end", ["end"]),
    Row("few-processes", "ls -d /proc/[0-9]* | wc -l", below(6)),
]

# ---- volumes ----

LOOK = "stat -c '%a %u %g %n'"

VOLUMES = [
    Row("empty-dir", f"{LOOK} /v; echo 1 > /v/x; cat /v/x", ["777 0 0 /v", "1"], volumeMounts=[mount("v", "/v")],
        pod={"volumes": [volume("v", emptyDir={})]}),
    Row("memory-dir", "stat -f -c %T /v; df -k /v | awk 'END { print $2 }'; dd if=/dev/zero of=/v/x bs=1M count=4 2> /dev/null || echo full",
        ["tmpfs", "2048", "full"], volumeMounts=[mount("v", "/v")],
        pod={"volumes": [volume("v", emptyDir={"medium": "Memory", "sizeLimit": "2Mi"})]}),
    Row("fs-group", f"{LOOK} /v; echo 1 > /v/x && {LOOK} /v/x; {LOOK} -L /c/one; cat /c/one; echo",
        ["2777 0 3000 /v", "644 1000 3000 /v/x", "440 0 3000 /c/one", "eins"],
        volumeMounts=[mount("v", "/v"), mount("c", "/c")],
        pod={"securityContext": {"fsGroup": 3000, "runAsUser": 1000, "runAsGroup": 1000},
             "volumes": [volume("v", emptyDir={}), volume("c", configMap={"name": "words", "defaultMode": 0o400})]}),
    Row("config-map", f"cat /c/one /c/two; echo; {LOOK} -L /c/one; ls /c; touch /c/new 2> /dev/null || echo read only",
        ["einszwei", "644 0 0 /c/one", "one", "two", "read only"], volumeMounts=[mount("c", "/c")],
        pod={"volumes": [volume("c", configMap={"name": "words"})]}),
    Row("config-map-items", f"ls /c /c/sub; {LOOK} -L /c/sub/a /c/b", ["/c:", "b", "sub", "", "/c/sub:", "a", "750 0 0 /c/sub/a", "400 0 0 /c/b"],
        volumeMounts=[mount("c", "/c")],
        pod={"volumes": [volume("c", configMap={"name": "words", "defaultMode": 0o400, "items": [
            {"key": "one", "path": "sub/a", "mode": 0o750}, {"key": "two", "path": "b"}]})]}),
    Row("optional-config-map", "ls /c | wc -l", ["0"], volumeMounts=[mount("c", "/c")],
        pod={"volumes": [volume("c", configMap={"name": "nobody", "optional": True})]}),
    Row("secret", f"cat /s/token; echo; {LOOK} -L /s/token; stat -f -c %T /s", ["s3cret", "400 0 0 /s/token", "tmpfs"],
        volumeMounts=[mount("s", "/s")], pod={"volumes": [volume("s", secret={"secretName": "keys", "defaultMode": 0o400})]}),
    Row("downward", "cat /d/name; echo; cat /d/labels; echo; cat /d/mem; echo; cat /d/app; echo; cat /d/note; echo",
        has_line("pods-downward-0", 'app="demo"', 'tier="back"', 'volcano.sh/job-name="pods"', "32"),
        volumeMounts=[mount("d", "/d")], resources={"limits": {"memory": "32Mi"}},
        pod={"volumes": [volume("d", downwardAPI={"items": [
            {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}, {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
            {"path": "app", "fieldRef": {"fieldPath": "metadata.labels['app']"}},
            {"path": "note", "fieldRef": {"fieldPath": "metadata.annotations['note']"}},
            {"path": "mem", "resourceFieldRef": {"containerName": "main", "resource": "limits.memory", "divisor": "1Mi"}}]})]}),
    Row("projected", f"cat /p/c/one /p/token /p/ns; echo; {LOOK} -L /p/token /p/ns", ["einss3cretdefault", "600 0 0 /p/token", "444 0 0 /p/ns"],
        volumeMounts=[mount("p", "/p")],
        pod={"volumes": [volume("p", projected={"defaultMode": 0o444, "sources": [
            {"configMap": {"name": "words", "items": [{"key": "one", "path": "c/one"}]}},
            {"secret": {"name": "keys", "items": [{"key": "token", "path": "token", "mode": 0o600}]}},
            {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]})]}),
    Row("sub-path", "cat /etc/one; echo; ls /a; ls /b; cat /e/who", ["eins", "inner", "outer-file", "pods-sub-path-0"],
        volumeMounts=[mount("c", "/etc/one", subPath="one"), mount("h", "/a", subPath="deep/dir"), mount("h", "/b", subPath="files"),
                      mount("h", "/e", subPathExpr="$(NAME)")],
        env=[{"name": "NAME", **field("metadata.name")}],
        pod={"initContainers": [container(sh("mkdir -p /h/deep/dir /h/files /h/pods-sub-path-0; touch /h/deep/dir/inner /h/files/outer-file; "
                                             "echo pods-sub-path-0 > /h/pods-sub-path-0/who"), "init", volumeMounts=[mount("h", "/h")])],
             "volumes": [volume("c", configMap={"name": "words"}), volume("h", emptyDir={})]}),
    Row("read-only-volume", "touch /r/x 2> /dev/null || echo no; touch /w/x && ls /r", ["no", "x"],
        volumeMounts=[mount("v", "/r", readOnly=True), mount("v", "/w")], pod={"volumes": [volume("v", emptyDir={})]}),
    Row("host-path", "cat /h/from-host; echo > /h/from-pod; cat /f", ["hello", "hello"],
        volumeMounts=[mount("h", "/h"), mount("f", "/f")],
        pod={"volumes": [volume("h", hostPath={"path": SHARE, "type": "Directory"}),
                         volume("f", hostPath={"path": SHARE + "/from-host", "type": "File"})]}),
    Row("host-path-made", "stat -c %F /h; stat -c %F /f", ["directory", "regular empty file"],
        volumeMounts=[mount("h", "/h"), mount("f", "/f")],
        pod={"volumes": [volume("h", hostPath={"path": SHARE + "/made/dir", "type": "DirectoryOrCreate"}),
                         volume("f", hostPath={"path": SHARE + "/made-file", "type": "FileOrCreate"})]}),
    Row("claim-writer", "echo through the claim > /d/new && mv /d/new /d/word; echo ok", ["ok"], volumeMounts=[mount("d", "/d")],
        pod={"volumes": [volume("d", persistentVolumeClaim={"claimName": "disk"})]}),
    Row("claim-reader", "until [ -e /d/word ]; do sleep 0.05; done; cat /d/word; touch /d/x 2> /dev/null || echo read only",
        ["through the claim", "read only"], volumeMounts=[mount("d", "/d")],
        pod={"volumes": [volume("d", persistentVolumeClaim={"claimName": "disk", "readOnly": True})]}),
]

# ---- several containers ----

SHARED = {"volumes": [volume("v", emptyDir={})]}
AT_V = [mount("v", "/v")]

TOGETHER = [
    Row("init", "cat /v/x", ["first", "second"], volumeMounts=AT_V,
        pod={**SHARED, "initContainers": [container(sh("echo first > /v/x"), "a", volumeMounts=AT_V),
                                          container(sh("sleep 0.1; echo second >> /v/x"), "b", volumeMounts=AT_V)]}),
    Row("sidecar", "until [ -e /v/up ]; do sleep 0.05; done; echo main saw it", has_line("main saw it", "side begins", "side ends"),
        volumeMounts=AT_V, pod={**SHARED, "initContainers": [
            container(sh("trap 'echo side ends; exit 0' TERM; echo side begins; touch /v/up; while :; do sleep 0.05; done"), "side",
                      restartPolicy="Always", volumeMounts=AT_V)]}),
    Row("two-containers", "echo one > /v/1; until [ -e /v/2 ]; do sleep 0.05; done; echo a: $(hostname)", has_line("a: pods-two-containers-0",
        "b: pods-two-containers-0"), volumeMounts=AT_V,
        pod={**SHARED, "containers": [
            container(sh("echo one > /v/1; until [ -e /v/2 ]; do sleep 0.05; done; echo a: $(hostname)"), "a", volumeMounts=AT_V),
            container(sh("echo two > /v/2; until [ -e /v/1 ]; do sleep 0.05; done; echo b: $(hostname)"), "b", volumeMounts=AT_V)]}),
    Row("one-network", "", has_line("answer over localhost"),
        pod={"containers": [
            container([PYTHON, "-c", "import socket; s = socket.create_server(('127.0.0.1', 7)); "
                       "c, _ = s.accept(); c.sendall(b'answer over localhost')"], "server"),
            container([PYTHON, "-c", "import socket, time\nwhile True:\n try:\n  c = socket.create_connection(('127.0.0.1', 7)); break\n"
                       " except OSError: time.sleep(0.05)\nprint(c.recv(99).decode())"], "client")]}),
    Row("own-processes", "", has_line("alone: 0"),
        pod={"containers": [container(sh("sleep 1.5"), "a"), container(sh("sleep 0.5; echo alone: $(pgrep -cx sleep)"), "b")]}),
    Row("shared-processes", "", has_line("signalled"),
        pod={"shareProcessNamespace": True, "containers": [
            container(sh("trap 'echo signalled; exit 0' USR1; while :; do sleep 0.05; done; : here"), "a"),
            container(sh("until pkill -USR1 -f ': her[e]'; do sleep 0.05; done"), "b")]}),
    Row("restart-on-failure", "if [ -e /v/been ]; then echo again; else touch /v/been; echo first; exit 3; fi", ["first", "again"],
        volumeMounts=AT_V, pod={**SHARED, "restartPolicy": "OnFailure"}),
    Row("post-start", "until [ -e /tmp/started ]; do sleep 0.05; done; echo hook ran", ["hook ran"],
        lifecycle={"postStart": {"exec": {"command": sh("touch /tmp/started")}}}),
]

# ---- probes: readiness lets the name be found ----

SERVER = """
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, self.headers.get("X-From"), flush=True)
        self.send_response(200); self.end_headers(); self.server.done = True
    def log_message(self, *a): pass
s = http.server.HTTPServer(("", 8080), H); s.done = False
while not s.done: s.handle_request()
"""
ACCEPT = "import socket; s = socket.create_server(('', 9000)); s.accept(); print('probed')"

PROBES = [
    Row("http-probe", [PYTHON, "-c", SERVER], ["/health?a=b probe"], ports=[{"name": "web", "containerPort": 8080}],
        readinessProbe={"httpGet": {"path": "/health?a=b", "port": "web", "httpHeaders": [{"name": "X-From", "value": "probe"}]},
                        "periodSeconds": 1}),
    Row("tcp-probe", [PYTHON, "-c", ACCEPT], ["probed"], readinessProbe={"tcpSocket": {"port": 9000}, "periodSeconds": 1}),
    Row("exec-probe", "until [ -e /tmp/probed ]; do sleep 0.05; done; cat /tmp/probed", ["mine"], env=[{"name": "WHOSE", "value": "mine"}],
        startupProbe={"exec": {"command": sh("echo $WHOSE > /tmp/new; mv /tmp/new /tmp/probed")}, "periodSeconds": 1}),
    # Fails once and no more: the second container must not be asked to death before it ends by itself.
    Row("liveness", "if [ -e /v/been ]; then echo again; exit 0; fi; echo sick; touch /v/been; sleep 100", ["sick", "again"],
        volumeMounts=AT_V, pod={**SHARED, "restartPolicy": "OnFailure"},
        livenessProbe={"exec": {"command": sh("[ ! -e /v/been ] || ! mkdir /v/asked")}, "periodSeconds": 1, "failureThreshold": 1}),
    # The probe dies of the container's end: that is no failure of a container that ended well.
    Row("liveness-end", "until [ -e /tmp/asked ]; do sleep 0.05; done; echo once", ["once"], pod={"restartPolicy": "OnFailure"},
        livenessProbe={"exec": {"command": sh("touch /tmp/asked; sleep 100")}, "timeoutSeconds": 100, "failureThreshold": 1}),
    Row("late", "until [ -e /h/go ]; do sleep 0.05; done; touch /tmp/ready; until [ -e /h/found ]; do sleep 0.05; done; echo ok", ["ok"],
        volumeMounts=[mount("h", "/h")], pod={"volumes": [volume("h", hostPath={"path": SHARE})]},
        readinessProbe={"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1}),
    Row("asker", "getent hosts pods-late-0.pods > /dev/null || echo hidden; touch /h/go; "
        "until getent hosts pods-late-0.pods > /dev/null; do sleep 0.1; done; touch /h/found; echo found", ["hidden", "found"],
        volumeMounts=[mount("h", "/h")], pod={"volumes": [volume("h", hostPath={"path": SHARE})]}),
]

# ---- limits and the pod's own world ----

SPIN = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nprint(time.process_time())"
FORKS = """
import os, time
n = 0
try:
    while n < 100000:
        if os.fork() == 0:
            time.sleep(100)
        n += 1
except OSError as e:
    print(e.strerror, flush=True)
os._exit(0)
"""

WORLD = [
    Row("cpu-limit", [PYTHON, "-c", SPIN], below(0.75), resources={"limits": {"cpu": "200m"}}),
    Row("memory-limit", "", has_line("fits"), pod={"containers": [
        container([PYTHON, "-c", "x = bytearray(20 << 20); print('fits')"], resources={"limits": {"memory": "100Mi"}})]}),
    Row("host-aliases", "getent hosts friend other | awk '{ print $1, $2 }'", ["10.9.8.7 friend", "10.9.8.7 friend"],
        pod={"hostAliases": [{"ip": "10.9.8.7", "hostnames": ["friend", "other"]}]}),
    Row("dns-config", "cat /etc/resolv.conf", ["search one.example two.example", "nameserver 10.1.1.1", "options ndots:3 use-vc"],
        pod={"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.1.1.1"], "searches": ["one.example", "two.example"],
                                                "options": [{"name": "ndots", "value": "3"}, {"name": "use-vc"}]}}),
    Row("dns-default", "grep ^search /etc/resolv.conf; grep -c ^nameserver /etc/resolv.conf",
        has_line("default.svc.cluster.local svc.cluster.local cluster.local", "1")),
    Row("sysctls", "cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced", ["123", "1"],
        pod={"securityContext": {"sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "123"},
                                             {"name": "kernel.shm_rmid_forced", "value": "1"}]}}),
    Row("host-name", "hostname; cat /etc/hostname; hostname -f", ["boss", "boss", "boss.pods.default.svc.cluster.local"],
        pod={"hostname": "boss", "subdomain": "pods"}),
    Row("host-network", "ip -o link show 2> /dev/null | wc -l > /dev/null; echo runs", ["runs"], pod={"hostNetwork": True}),
    Row("own-network", "ls /sys/class/net | sort | tr '\\n' ' '; echo", ["eth0 lo "]),
    Row("signals", "kill -l $(sh -c 'kill -9 $$' 2> /dev/null; echo $?) 2> /dev/null", ["KILL"]),
]

ALL = ENV + VOLUMES + TOGETHER + PROBES + WORLD


def judge(r, row, name):
    lines = [e["text"] for e in r.of("log") if e["pod"] == f"{name}-{row.name}-0"]
    if callable(row.want):
        row.want(lines)
    else:
        same(lines, row.want)


def run_rows(suite, rows, name, objects=(), **spec):
    r = run([*objects, job(name, *[row.task for row in rows], **spec)], *NODE)
    for row in rows:
        suite.case(row.name, lambda row=row: judge(r, row, name))
    return r


# ---- pods that fail ----

FAILS = [
    ("oom", [PYTHON, "-c", "x = bytearray(200 << 20)"], {"resources": {"limits": {"memory": "40Mi"}}}, {}, 137, "OOMKilled"),
    ("deadline", sh("sleep 100"), {}, {"activeDeadlineSeconds": 1}, None, "DeadlineExceeded"),
    ("segv", sh("kill -SEGV $$$$"), {}, {}, 139, "'Error'"),
    ("exit", sh("exit 7"), {}, {}, 7, "'Error'"),
    ("init", sh("echo never"), {}, {"initContainers": [container(sh("exit 9"), "first")]}, 9, "'Error'"),
    ("message", sh("echo the last word > /dev/termination-log; exit 1"), {}, {}, 1, "the last word"),
    ("own-message", sh("mkdir -p /tmp; echo from my file > /tmp/why; exit 1"), {"terminationMessagePath": "/tmp/why"}, {}, 1, "from my file"),
    ("from-logs", sh("echo only a log line; exit 1"), {"terminationMessagePolicy": "FallbackToLogsOnError"}, {}, 1, "only a log line"),
]


def failing(r, name, code, reason):
    f = next((f for f in r.last()["failed"] if f["pod"] == f"bad-{name}-0"), None)
    p = [e for e in r.of("pod") if e["pod"] == f"bad-{name}-0"][-1]
    same(p["state"], "failed")
    if code is not None:
        same((p.get("exitCode"), f and f.get("exitCode")), (code, code))
    assert reason in str(f) + str(p), f"no {reason!r} in {p}, {f}"


def run_failing(suite):
    r = run(job("bad", *[task(name, command, pod=pod, **fields) for name, command, fields, pod, _, _ in FAILS], minAvailable=1), *NODE)
    for name, _, _, _, code, reason in FAILS:
        suite.case(f"fails: {name}", lambda n=name, c=code, why=reason: failing(r, n, c, why))
    suite.case("fails: no line of a container after a failed init container", lambda: same(r.lines("bad-init-0"), []))


# ---- pods that are stopped ----

def stopped():
    """preStop comes before SIGTERM; both within the grace."""
    script = "trap 'echo term >> /h/stop; exit 0' TERM; touch /h/up; while :; do sleep 0.05; done"
    at_h = [mount("h", "/h")]
    pod = {"volumes": [volume("h", hostPath={"path": SHARE})], "terminationGracePeriodSeconds": 20}
    run(job("stop", task("a", sh(script), pod=pod, volumeMounts=at_h,
                         lifecycle={"preStop": {"exec": {"command": sh("echo hook >> /h/stop")}}}),
            task("b", sh("until [ -e /h/up ]; do sleep 0.05; done"), pod=pod, volumeMounts=at_h,
                 policies=[on("TaskCompleted", "CompleteJob")])), *NODE).done()
    with open(os.path.join(SHARE, "stop")) as f:
        same(f.read().split(), ["hook", "term"])


def process_limit():
    """A limit on processes holds; other pods do not feel it."""
    r = run(job("forks", task("a", [PYTHON, "-c", FORKS])), *NODE).done()
    has_line("Resource temporarily unavailable")(r.lines("a-0"))


def no_signal_is_ignored():
    """A program begins with none ignored, whatever whoever started the run ignores (nohup, a shell's "&")."""
    ignored = (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGRTMIN + 3)
    before = [signal.signal(number, signal.SIG_IGN) for number in ignored]
    try:
        r = run(job("signals", task("a", ["grep", "^SigIgn", "/proc/self/status"])), *NODE).done()
    finally:
        for number, handler in zip(ignored, before):
            signal.signal(number, handler)
    same(r.lines("a-0"), ["SigIgn:\t" + 16 * "0"])


def restarts_are_told():
    """Counted in events and in the summary."""
    t = task("a", sh("[ -e /v/x ] || { touch /v/x; exit 3; }"), pod={**SHARED, "restartPolicy": "OnFailure"}, volumeMounts=AT_V)
    r = run_text(job("j", t), *NODE)
    assert r.status == 0 and "1 restart" in r.err, r.err


def gang_that_lost_its_pods():
    """What ended is missing for good, and the rest never fits: the run ends and says so."""
    r = run(job("j", task("a", ["/no/such"], replicas=2), task("b", ["/bin/true"], resources={"requests": {"cpu": "2000"}}),
                minAvailable=2), *NODE)
    same(r.status, 1)
    has_line("cannot start")([r.last()["reason"]])


def queue_that_is_full():
    """A job that has its minimum waits for its next pod: the amount it needs is that pod's."""
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "small"},
             "spec": {"capability": {"cpu": "500m"}}}
    r = run([queue, job("j", task("a", sh("sleep 0.3"), replicas=2, resources={"requests": {"cpu": "400m"}}), queue="small",
                        minAvailable=1)], *NODE).done()
    has_line("leaves 100m of cpu, 400m is needed")([e["message"] for e in r.of("wait")])


def objects_made_beforehand():
    """A Service and a NetworkPolicy of the job's name that fit are used; one that does not is named, with the field."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "own"}, "spec": {"clusterIP": "None", "selector": {"app": "x"}}}
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "own"},
              "spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "x"}}}]}]}}
    asker = task("a", sh("until getent hosts own-b-0.own > /dev/null; do sleep 0.1; done; echo found; touch /h/asked"),
                 pod={"volumes": [volume("h", hostPath={"path": SHARE})]}, volumeMounts=[mount("h", "/h")])
    asked = task("b", sh("until [ -e /h/asked ]; do sleep 0.05; done"), pod={"volumes": [volume("h", hostPath={"path": SHARE})]},
                 volumeMounts=[mount("h", "/h")])
    for t in (asker, asked):
        t["template"]["metadata"] = {"labels": {"app": "x"}}
    same(run([service, policy, job("own", asker, asked, plugins={"svc": []})], *NODE).done().lines("a-0"), ["found"])
    service["spec"]["clusterIP"] = "10.9.9.9"
    r = run([service, job("own", asker, asked, plugins={"svc": []})], *NODE)
    same(r.status, 1)
    has_line("Service own exists, is not owned by this job and cannot replace its own: spec.clusterIP must be None")([r.last()["reason"]])


def variables_without_end():
    """Variables made of variables: refused at a bound, with the name, and without the memory they would need."""
    doubling = [{"name": "V0", "value": "x" * 1000}] + [{"name": f"V{i}", "value": f"$(V{i - 1})$(V{i - 1})"} for i in range(1, 60)]
    many = [{"name": "V", "value": "x" * 100000}] + [{"name": f"W{i}", "value": "$(V)"} for i in range(200)]
    for env, args, want in ((doubling, [], 'container "main": env V8: expanded text is longer than 131071 bytes'),
                            (many, [], 'container "main": env W'),
                            (many[:2], ["$(V)$(V)"], 'container "main": command[3]: expanded text is longer than 131071 bytes'),
                            (many[:2], ["$(V)"] * 100, "command and variables together are longer than")):
        r = Run(job("long", task("a", ["sh", "-c", "echo never", *args], env=env)), *NODE)
        r.until(lambda r: any(want in e.get("message", "") for e in r.of("pod")))
        r.signal(signal.SIGINT).end()
        same(r.lines("a-0"), [])


def host_is_untouched():
    same([os.path.exists(p) for p in ("/etc/pumice-test", "/made", "/etc/one", "/x")], [False] * 4)
    same([os.path.exists(os.path.join(SHARE, p)) for p in ("from-pod", "made/dir", "made-file")], [True] * 3)


def main():
    if os.geteuid() != 0:
        os.rmdir(SHARE)
        print("skipped: these look at what root gets")
        return 77
    suite = Suite()
    with open(os.path.join(SHARE, "from-host"), "w") as f:
        f.write("hello\n")
    try:
        r = run_rows(suite, ALL, "pods", OBJECTS, plugins={"svc": []})
        suite.case("all of them succeed", lambda: r.done())
        suite.case("the host is as it was", host_is_untouched)
        run_failing(suite)
        for f in (stopped, process_limit, no_signal_is_ignored, restarts_are_told, gang_that_lost_its_pods, queue_that_is_full, objects_made_beforehand,
                  variables_without_end):
            suite.case(f.__name__, f)
    finally:
        shutil.rmtree(SHARE, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
