#!/usr/bin/env python3
"""Pods find each other by name, log in to each other by ssh, and keep strangers out."""
import signal
import sys

from harness import Suite
from runs import Run, has, job, on, run, same, sh, skip, task

PYTHON = "/usr/bin/python3"
SSHD = sh("mkdir -p /run/sshd; exec /usr/sbin/sshd -D")

# The first pod goes to each pod by ssh, and from there to each other one, by both of its names.
ALL_PAIRS = """
mkdir -p /run/sshd; /usr/sbin/sshd
all="j-first-0 j-other-0 j-other-1"
for h in $all; do
    n=0
    until ssh -o ConnectTimeout=2 $h true 2> /dev/null; do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done
done
for a in $all; do
    for b in $all; do echo "$a $b $(ssh $a ssh $b hostname)"; done
    echo "$a long $(ssh $a ssh j-other-1.j.default.svc.cluster.local hostname)"
done
"""


def ssh_between_all_pairs():
    if not has("sshd", "ssh"):
        return skip("ssh: no openssh-server")
    r = run(job("j", task("first", sh(ALL_PAIRS), policies=[on("TaskCompleted", "CompleteJob")]),
                task("other", SSHD, replicas=2), plugins={"ssh": [], "svc": []})).done()
    all_pods = ["j-first-0", "j-other-0", "j-other-1"]
    same(sorted(line for line in r.lines("first-0") if line.startswith("j-")),
         sorted([f"{a} {b} {b}" for a in all_pods for b in all_pods] + [f"{a} long j-other-1" for a in all_pods]))


def ssh_with_other_keys():
    """ed25519 keys, another port, a user's own directory."""
    if not has("sshd", "ssh"):
        return skip("ssh: no openssh-server")
    r = run(job("j", task("a", sh("""
mkdir -p /run/sshd
n=0; until ssh -F /keys/config -i /keys/id_rsa j-b-0 hostname 2> /dev/null; do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done
"""), policies=[on("TaskCompleted", "CompleteJob")]),
                task("b", sh("mkdir -p /run/sshd /root/.ssh; cp /keys/authorized_keys /root/.ssh; exec /usr/sbin/sshd -D -p 2200")),
                plugins={"ssh": ["--ssh-key-file-path=/keys", "--ssh-key-type=ed25519", "--ssh-port=2200",
                                 "--ssh-key-mode=0600"], "svc": []})).done()
    assert "j-b-0" in r.lines("a-0"), r.lines("a-0")


# ---- NetworkPolicy ----

SERVE = [PYTHON, "-c", """
import socket
server = socket.create_server(("", 8000))
print("serving", flush=True)
while True:
    server.accept()[0].close()
"""]

# Says once whether the server can be reached; its name must resolve first.
TRY = [PYTHON, "-c", """
import socket, sys, time
for _ in range(100):
    try:
        address = socket.gethostbyname("server-a-0.server")
        break
    except OSError:
        time.sleep(0.1)
else:
    raise SystemExit("no such name")
for _ in range(30):
    try:
        socket.create_connection((address, 8000), 1).close()
        print(sys.argv[1], "reached", flush=True)
        break
    except ConnectionRefusedError:
        time.sleep(0.1)          # not listening yet, or a NetworkPolicy
    except OSError as e:
        print(sys.argv[1], e, flush=True)
        break
else:
    print(sys.argv[1], "kept out", flush=True)
time.sleep(60)
"""]


def strangers(arguments, answer):
    server = job("server", task("a", SERVE), task("peer", [*TRY, "peer"]), plugins={"svc": arguments})
    stranger = job("stranger", task("a", [*TRY, "stranger"]), plugins={"svc": []})
    r = Run([server, stranger])
    r.until_line("peer ").until_line("stranger ")
    r.signal(signal.SIGINT)
    r.end()
    same(r.lines("server-peer-0"), ["peer reached"])
    same(r.lines("stranger-a-0"), [f"stranger {answer}"])


def other_jobs_are_kept_out():
    strangers([], "kept out")


def other_jobs_without_a_policy():
    strangers(["--disable-network-policy=true"], "reached")


# ---- names ----

NAMES = sh("""
n=0; until getent hosts j-ready-0.j > /dev/null; do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done
n=0; until getent hosts j-not-ready-0.j > /dev/null; do n=$((n+1)); [ $n -lt 10 ] || { echo unknown; exit 0; }; sleep 0.1; done
echo known
""")


def names_of_pods_that_are_not_ready():
    for arguments, answer in (([], "unknown"), (["--publish-not-ready-addresses=true"], "known")):
        r = run(job("j", task("ask", NAMES, policies=[on("TaskCompleted", "CompleteJob")]),
                    task("ready", sh("sleep 60")),
                    task("not-ready", sh("sleep 60"),
                         readinessProbe={"exec": {"command": ["/bin/false"]}, "periodSeconds": 1}),
                    plugins={"svc": arguments})).done()
        same(r.lines("ask-0"), [answer])


def names_of_a_service():
    """All addresses of a headless Service; short, with namespace, and whole; no such name is said at once."""
    r = run(job("j", task("ask", sh("""
n=0; until [ "$(getent ahostsv4 j | awk '{print $1}' | sort -u | wc -l)" = 3 ]; do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done
for name in j j.default j.default.svc j.default.svc.cluster.local; do getent ahostsv4 $name | awk '{print $1}' | sort -u | wc -l; done
getent hosts nobody.j || echo no such name
hostname; hostname -f; cat /etc/volcano/pod.host
"""), policies=[on("TaskCompleted", "CompleteJob")]), task("pod", sh("sleep 60"), replicas=2), plugins={"svc": []})).done()
    same([line.strip() for line in r.lines("ask-0")],
         ["3"] * 4 + ["no such name", "j-ask-0", "j-ask-0.j.default.svc.cluster.local", "j-pod-0.j", "j-pod-1.j"])


def main():
    suite = Suite()
    for f in (ssh_between_all_pairs, ssh_with_other_keys, other_jobs_are_kept_out, other_jobs_without_a_policy,
              names_of_pods_that_are_not_ready, names_of_a_service):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
