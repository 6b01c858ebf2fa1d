#!/usr/bin/env python3
"""The door to a Kubernetes API (src/kube) before a real one: what it promises, and what it hears of outages."""
import json
import os
import queue
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip  # noqa: E402
from faultproxy import FaultProxy  # noqa: E402
from harness import Suite  # noqa: E402

LIMIT_S = 120  # nothing here takes a tenth of it
STRICT = {"UBSAN_OPTIONS": "halt_on_error=1"}  # in a build with sanitizers


class Mirror:
    """kube_mirror on a namespace: what it says, line by line."""

    def __init__(self, bed, *flags, namespace="default", kubeconfig=None, user="admin"):
        env = {**bed.environment(user), **STRICT}
        if kubeconfig:
            env["KUBECONFIG"] = kubeconfig
        self.popen = subprocess.Popen([os.environ["KUBE_MIRROR"], *flags, namespace], env=env, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines, self.heard, self.names = queue.Queue(), [], set()
        threading.Thread(target=self.listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()

    def listen(self):
        for line in self.popen.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def hear(self):
        line = self.lines.get(timeout=LIMIT_S)
        assert line is not None, f"it ended after {self.heard[-5:]}"
        self.heard.append(line)
        word, _, rest = line.partition(" ")
        if word == "RELIST":
            self.fresh = set()
        if word == "PUT":
            self.names.add(rest)
            self.fresh.add(rest)
        if word == "GONE":
            self.names.discard(rest)
        if word == "SYNCED":
            self.names = set(self.fresh)
        return line

    def until(self, holds):
        while not holds():
            self.hear()

    def until_line(self, start):
        line = self.hear()
        while not line.startswith(start):
            line = self.hear()
        return line

    def count(self, start):
        return sum(line.startswith(start) for line in self.heard)

    def write(self, *lines):
        self.popen.stdin.write("".join(f"{line}\n" for line in lines))
        self.popen.stdin.flush()

    def finish(self):
        """The figures, as a dict."""
        self.popen.stdin.close()
        line = self.until_line("FIGURES")
        assert self.popen.wait(LIMIT_S) == 0
        return {k: int(v) for k, v in (pair.split("=") for pair in line.split()[1:])}


def configmaps(bed, namespace="default"):
    return {i["metadata"]["name"] for i in bed.call("GET", f"/api/v1/namespaces/{namespace}/configmaps")[1]["items"]}


def put(bed, name, namespace="default"):
    status, answer = bed.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": name}})
    assert status == 201, answer


def check_answers(m, namespace, bed):
    """What is said to have worked is there, what is said not to have is not; of the rest nobody knows."""
    there = configmaps(bed, namespace)
    for line in m.heard:
        if line.startswith("RESULT"):
            _, name, how = line.split()
            assert how == "unknown" or (how == "ok") == (name in there), line


def keeps_the_promises(bed):
    """The suite that every cluster passes."""
    env = {**bed.environment(), **STRICT, "KUBECONFIG_REAL": bed.environment()["KUBECONFIG"]}
    run = subprocess.run([os.environ["KUBE_CONFORMANCE"]], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]


def hears_every_way(bed):
    """Lists as the beginning of a watch and in pages; many writes share few connections."""
    for n, flags in enumerate(((), ("--lists",))):
        with Mirror(bed, *flags) as m:
            m.until_line("SYNCED")
            names = [f"way-{n}-{i}" for i in range(40)]
            m.write(*(f"create {name}" for name in names))
            m.until(lambda: m.count("RESULT") == 40 and set(names) <= m.names)
            assert m.count("RESULT") == sum(line.endswith(" ok") for line in m.heard if line.startswith("RESULT"))
            m.write(*(f"delete {name}" for name in names))
            m.until(lambda: m.count("RESULT") == 80 and not set(names) & m.names)
            assert m.names == configmaps(bed), m.names
            figures = m.finish()
            assert figures["writes"] == 80 and figures["connections"] < 70, figures


def is_known_by_all_means(bed):
    """A client certificate (above), a token, a token file, a plugin."""
    bed.namespace("known")
    bed.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "see", "namespace": "known"},
               "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]},
              {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
               "metadata": {"name": "see", "namespace": "known"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "see"},
               "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "known"}]})
    with open(bed.service_account("known", "default")) as f:
        config = json.load(f)
    token = config["users"][0]["user"]["token"]
    with open(f"{bed.dir}/home/token", "w") as f:
        f.write(token + "\n")
    with open(f"{bed.dir}/home/plugin", "w") as f:
        answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token}}
        f.write(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    os.chmod(f"{bed.dir}/home/plugin", 0o755)
    for user in ({"token": token}, {"tokenFile": "token"},
                 {"exec": {"command": "./plugin", "interactiveMode": "Never", "apiVersion": "client.authentication.k8s.io/v1"}}):
        config["users"][0]["user"] = user
        with open(f"{bed.dir}/home/config", "w") as f:
            json.dump(config, f)
        with Mirror(bed, namespace="known", kubeconfig=f"{bed.dir}/home/config") as m:
            m.until_line("SYNCED")
            assert m.names == configmaps(bed, "known")


def says_what_it_may_not_do(bed):
    with Mirror(bed, user="nobody-special") as m:
        assert 'User "nobody-special" cannot ' in m.until_line("TROUBLE")
        m.write("create x")
        assert m.until_line("RESULT") == "RESULT x Forbidden"


def goes_on_after_a_restart(bed):
    """The server is killed; what happened meanwhile is heard, and nothing is listed again."""
    with Mirror(bed) as m:
        m.until_line("SYNCED")
        for turn in range(2):
            put(bed, f"before-{turn}")
            m.until(lambda: f"before-{turn}" in m.names)
            bed.server.kill()
            m.until_line("TROUBLE")
            bed.server.start()
            put(bed, f"after-{turn}")
            m.until(lambda: f"after-{turn}" in m.names)
        assert m.names == configmaps(bed)
        assert m.count("RELIST") == 1 and m.count("PUT before-0") == 1, m.heard
        assert m.finish()["relists"] == 0


def writes_through_an_outage(bed):
    """Each write is answered once; what is said to have worked is there."""
    with Mirror(bed) as m:
        m.until_line("SYNCED")
        m.write(*(f"create outage-{i}" for i in range(100)))
        m.until(lambda: m.count("RESULT") >= 20)
        bed.server.kill()
        m.until(lambda: m.count("RESULT") == 100)
        bed.server.start()
        m.until(lambda: m.names == configmaps(bed))
        check_answers(m, "default", bed)
        m.write(*(f"create again-{i}" for i in range(10)))
        m.until(lambda: m.count("RESULT again-") == 10)


def lets_go_of_a_silent_server(bed):
    """Its connections are open and nothing comes: a write is given up, and the next one does not wait behind it."""
    with Mirror(bed) as m:
        m.until_line("SYNCED")
        m.write("create silent-before")  # a connection that is open
        m.until_line("RESULT")
        bed.server.pause()
        m.write("create silent-0")
        assert m.until_line("RESULT") == "RESULT silent-0 unknown"
        m.write("create silent-1")
        bed.server.resume()
        assert m.until_line("RESULT") == "RESULT silent-1 ok"
        m.until(lambda: m.names == configmaps(bed))
        assert m.count("RELIST") == 1
        assert m.finish()["connections"] == 3  # of the watch, and two of writes


def weathers_storms(bed):
    """All faults of the proxy at once, seeded; then calm: every write was answered once, and what was told is what is there."""
    for seed in range(3):
        namespace = f"storm-{seed}"
        bed.namespace(namespace)
        with FaultProxy(bed, user="admin", seed=seed) as proxy:
            with Mirror(bed, *(("--lists",) if seed % 2 else ()), namespace=namespace, kubeconfig=proxy.kubeconfig) as m:
                proxy.storm(seed)
                m.write(*(f"create s{i}" for i in range(150)))
                for i in range(30):
                    put(bed, f"other-{i}", namespace)
                m.until(lambda: m.count("RESULT") == 150)
                proxy.heal()
                m.until(lambda: m.names == configmaps(bed, namespace))
                check_answers(m, namespace, bed)
                assert len(proxy.log) > 10, proxy.log


def shares_a_connection_that_breaks(bed):
    """HTTP/2 through a proxy that cuts after some bytes: all that was on its way is told about, and goes on."""
    bed.namespace("cuts")
    with FaultProxy(bed, user="admin", raw=True) as proxy:
        with Mirror(bed, namespace="cuts", kubeconfig=proxy.kubeconfig) as m:
            m.until_line("SYNCED")
            for turn in range(4):
                m.write(*(f"create c{turn}-{i}" for i in range(50)))
                m.until(lambda: m.count("RESULT") >= turn * 50 + 10)
                proxy.cut()
                m.until(lambda: m.count("RESULT") == turn * 50 + 50)
            m.until(lambda: m.names == configmaps(bed, "cuts"))
            check_answers(m, "cuts", bed)
            assert m.count("RELIST") == 1, "a cut is no gap"


def lists_again_when_all_is_forgotten(bed):
    with Mirror(bed) as m:
        m.until_line("SYNCED")
        m.popen.send_signal(19)  # it hears nothing of what follows
        for i in range(5):
            put(bed, f"unheard-{i}")
        bed.call("DELETE", "/api/v1/namespaces/default/configmaps/unheard-0")
        bed.compact()
        bed.server.kill()
        bed.server.start()
        m.popen.send_signal(18)
        m.until(lambda: m.names == configmaps(bed))
        assert m.count("RELIST") <= 2
        put(bed, "heard")
        m.until(lambda: "heard" in m.names)


def main():
    suite = Suite()
    try:
        with Bed() as bed:
            bed.user("nobody-special")
            for case in (keeps_the_promises, hears_every_way, is_known_by_all_means, says_what_it_may_not_do,
                         goes_on_after_a_restart, writes_through_an_outage,
                         lets_go_of_a_silent_server, weathers_storms, shares_a_connection_that_breaks,
                         lists_again_when_all_is_forgotten):
                suite.case(case.__name__, lambda: case(bed))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
