#!/usr/bin/env python3
"""Who reaches whom across the edge of a run: other runs, the LAN, users of the machine, link-local addresses. In a network made up
for the test, of two namespaces: a machine that runs jobs, and a LAN with a server at its address and at that of a cloud's
metadata. The machine also has a second network, which the LAN has no business in.

    lan 192.0.2.2, 169.254.169.254 ── 192.0.2.1 machine 198.51.100.1 ── second 198.51.100.2
"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

import harness
import leftovers
import runs
from harness import PUMICE, Suite
from runs import Run, has, has_user_namespaces, job, same, sh, skip, task

PYTHON = "/usr/bin/python3"
NOBODY = 65534
DIR = tempfile.mkdtemp(prefix="pumice-network-")
LAN, META, SECOND = "192.0.2.2", "169.254.169.254", "198.51.100.2"
PORT = 8000

SERVER = f"""
import socket
s = socket.create_server(("0.0.0.0", {PORT}))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
    u.connect(("192.0.2.99", 1))
    print(u.getsockname()[0], flush=True)
while True:
    s.accept()[0].close()
"""
# Which of the addresses in the arguments can be reached.
CLIENT = f"""
import socket, sys
for at in sys.argv[1:]:
    try:
        socket.create_connection((at, {PORT}), 2).close()
        print(at)
    except OSError:
        pass
print("done", flush=True)
"""


class Place:
    """A network namespace, as long as the test runs."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up; echo; exec sleep 900"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        atexit.register(self.end)
        leftovers.OURS.add(self.process.pid)
        self.process.stdout.readline()
        self.enter = ["nsenter", "-t", str(self.process.pid), "-n"]

    def ip(self, text):
        for line in text.strip().splitlines():
            subprocess.run([*self.enter, "ip", *line.split()], check=True)

    def serve(self):
        self.server = subprocess.Popen([*self.enter, PYTHON, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        leftovers.OURS.add(self.server.pid)
        self.server.stdout.readline()

    def reaches(self, *addresses, user=None):
        who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        out = subprocess.run([*self.enter, *who, PYTHON, "-c", CLIENT, *addresses], capture_output=True, text=True, check=True)
        return out.stdout.split()[:-1]

    def end(self):
        for process in (getattr(self, "server", None), self.process):
            if process:
                process.kill()
                process.wait()


def make_places():
    lan, machine, second = Place(), Place(), Place()
    for place, own, other in ((lan, LAN, "192.0.2.1"), (second, SECOND, "198.51.100.1")):
        name = f"to{own[-1]}{own[0:3]}"
        machine.ip(f"""link add {name} type veth peer name wire netns {place.process.pid}
                       addr add {other}/24 dev {name}
                       link set {name} up""")
        place.ip(f"""addr add {own}/24 dev wire
                     link set wire up
                     route add default via {other}""")
    lan.ip(f"addr add {META}/32 dev lo")
    machine.ip(f"route add default via {LAN}")
    # A new namespace has what the machine has; one that forwards for all does so for its own reasons, and is not what is tested.
    subprocess.run([*machine.enter, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward"], check=True)
    for place in (lan, second):
        place.serve()
    return lan, machine, second


def start_server(machine, *options):
    """A run with a pod that can be reached by whoever may; its address."""
    r = Run(job("b", task("a", [PYTHON, "-c", SERVER])), *options, within=machine.enter)
    r.until(lambda r: r.lines("a-0"))
    return r, r.lines("a-0")[0]


def reached_by_pod(machine, *addresses, user=None, options=()):
    who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    r = Run(job("a", task("a", [PYTHON, "-c", CLIENT, *addresses])), *options, user=user, within=[*machine.enter, *who]).end().done()
    if any("no way out" in e["text"] for e in r.of("notice")):
        return None
    return r.lines("a-0")[:-1]


def stop(r):
    r.signal(2).end()


def closed(lan, machine, second):
    r, pod = start_server(machine)
    same(reached_by_pod(machine, LAN, pod, META), [LAN])
    got = reached_by_pod(machine, LAN, pod, META, user=NOBODY) if has_user_namespaces(NOBODY) else None
    if got is None:
        skip("an ordinary user has no pods here (no user namespaces), or they have no way out")
    else:
        same(got, [LAN])
    lan.ip(f"route add {pod} via 192.0.2.1")
    same(lan.reaches(pod), [])
    same(lan.reaches(SECOND), [])  # that the machine forwards for its pods is not for others
    same(machine.reaches(pod), [pod])
    same(machine.reaches(pod, user=NOBODY), [])
    stop(r)


def opened(lan, machine, second):
    r, pod = start_server(machine, "--network", "open")
    same(reached_by_pod(machine, LAN, pod, META, options=("--network", "open")), [LAN, pod, META])
    same(lan.reaches(pod), [pod])
    same(lan.reaches(SECOND), [])
    same(machine.reaches(pod, user=NOBODY), [pod])
    stop(r)


def firewalled(lan, machine, second):
    """Where a firewall drops what is forwarded, root's pods leave by slirp4netns: its connections are the machine's own."""
    if not has("nft", "slirp4netns"):
        return skip("a firewall: there is no nft or slirp4netns")
    r, pod = start_server(machine)
    subprocess.run([*machine.enter, "nft", "add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }"],
                   check=True)
    same(reached_by_pod(machine, LAN, pod, META), [LAN])
    stop(r)
    subprocess.run([*machine.enter, "nft", "delete table ip filter"], check=True)


SPOOFER = """
import socket, struct, sys
def packet(source, target):
    word = b"own" if source == own else b"spoofed " + source.encode()
    udp = struct.pack("!HHHH", 9, 9000, 8 + len(word), 0) + word
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    return head + socket.inet_aton(source) + socket.inet_aton(target) + udp
own, victim, friend = [socket.gethostbyname(f"s-{name}-0.s") for name in ("evil", "victim", "friend")]
net = own.rsplit(".", 2)[0]
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for source in (friend, net + ".0.1", net + ".255.254", "192.0.2.2", own):
    s.sendto(packet(source, victim), (victim, 0))
"""
VICTIM = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 9000))
print(s.recv(100).decode())
"""


def spoofed(lan, machine, second):
    """With NET_RAW, which pods have by default, a pod still sends from no address but its own: the first packet that arrives is the
    last one of those sent."""
    forever = {"policies": [{"event": "TaskCompleted", "action": "CompleteJob"}]}
    send = f"until getent hosts s-friend-0.s s-victim-0.s; do sleep 0.1; done > /dev/null; while sleep 0.2; do {PYTHON} -c '{SPOOFER}'; done"
    r = Run(job("s", task("victim", [PYTHON, "-c", VICTIM], **forever), task("friend", sh("sleep 60")), task("evil", sh(send)),
                plugins={"svc": []}), within=machine.enter).end().done()
    same(r.lines("victim-0"), ["own"])


def crowded(lan, machine, second):
    """As many runs as there are first choices for their subnets, and then one more."""
    taken = ["10.213.0.0/16", "10.214.0.0/16", "10.217.0.0/16", "10.222.0.0/16", "10.231.0.0/16", "10.237.0.0/16", "172.29.0.0/16",
             "172.27.0.0/16", "192.168.208.0/20", "192.168.176.0/20", "10.255.240.0/24"]
    for subnet in taken:
        machine.ip(f"route add unreachable {subnet}")
    r, address = start_server(machine)
    assert address.startswith("10.255.224."), address
    stop(r)
    machine.ip("route add unreachable 10.192.0.0/10")
    r = Run(job("none", task("a", ["true"])), within=machine.enter).end()
    same(r.status, 1)
    assert "no free subnet for pods" in r.err and "--network private" in r.err, r.err
    for subnet in [*taken, "10.192.0.0/10"]:
        machine.ip(f"route del unreachable {subnet}")


def main():
    suite = Suite()
    if os.getuid() != 0 or not has("ip", "nsenter", "setpriv"):
        skip("networks: not root, or there is no ip, nsenter or setpriv")
        return 0
    os.chmod(DIR, 0o755)
    runs.give_tun(DIR)
    runs.PUMICE = harness.PUMICE = shutil.copy(PUMICE, f"{DIR}/pumice")  # it may be where only root can go
    places = make_places()
    for f in (closed, opened, firewalled, spoofed, crowded):
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, lambda: f(*places))
    shutil.rmtree(DIR, ignore_errors=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
