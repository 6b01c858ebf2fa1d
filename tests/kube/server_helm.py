#!/usr/bin/env python3
"""Helm on `pumice server`: a chart with a Volcano Job in it, and with a kind of its own, through its whole life."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Skip, binaries  # noqa: E402
from harness import Suite  # noqa: E402
from server import MAPS, PATIENCE_S, server_or_skip, until  # noqa: E402
from server_custom import CRDS, definition  # noqa: E402

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
WIDGETS = "/apis/stable.example.com/v1/namespaces/default/widgets"

TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data: {message: {{ .Values.message | quote }}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: {{ .Release.Name }}, labels: {round: {{ .Values.message | quote }}}}
spec:
  minAvailable: 1
  tasks:
  - name: w
    replicas: 1
    template:
      spec:
        restartPolicy: Never
        containers: [{name: main, image: "debian:12", command: ["/bin/sh", "-c", "echo {{ .Values.message }}; sleep 1000"]}]
---
apiVersion: stable.example.com/v1
kind: Widget
metadata: {name: {{ .Release.Name }}}
spec: {size: {{ .Values.size }}}
"""


def chart(s):
    at = os.path.join(s.dir, "chart")
    os.makedirs(os.path.join(at, "templates"))
    os.makedirs(os.path.join(at, "crds"))
    for name, text in (("Chart.yaml", "apiVersion: v2\nname: pair\nversion: 0.1.0\n"), ("values.yaml", "message: one\nsize: 1\n"),
                       ("templates/all.yaml", TEMPLATE), ("crds/widgets.yaml", json.dumps(definition()))):
        with open(os.path.join(at, name), "w") as f:
            f.write(text)
    return at


class Helm:
    def __init__(self, server):
        self.server, self.path = server, os.path.join(binaries("helm"), "helm")

    def run(self, *args):
        env = {**os.environ, "KUBECONFIG": self.server.config, "HOME": self.server.dir, **{f"XDG_{k}_HOME": self.server.dir for k in ("CACHE", "CONFIG", "DATA")}}
        return subprocess.run([self.path, *args], capture_output=True, text=True, env=env, timeout=4 * PATIENCE_S)

    def __call__(self, *args):
        r = self.run(*args)
        assert r.returncode == 0, (args, r.stdout, r.stderr)
        return r.stdout


def lives(s, helm):
    at = chart(s)
    assert "STATUS: deployed" in helm("install", "pair", at)
    assert s.ok("GET", f"{MAPS}/pair-settings")["data"] == {"message": "one"}
    assert s.ok("GET", f"{WIDGETS}/pair")["spec"]["size"] == 1 and s.ok("GET", f"{CRDS}/widgets.stable.example.com")
    until("the job runs", lambda: s.ok("GET", f"{JOBS}/pair").get("status", {}).get("state", {}).get("phase") == "Running")
    uid = s.ok("GET", f"{JOBS}/pair")["metadata"]["uid"]
    assert json.loads(helm("list", "-o", "json"))[0]["status"] == "deployed"
    bad = helm.run("upgrade", "pair", at, "--set", "size=99")
    assert bad.returncode != 0 and "spec.size" in bad.stderr, (bad.stdout, bad.stderr)
    helm("upgrade", "pair", at, "--set", "size=3")
    assert s.ok("GET", f"{WIDGETS}/pair")["spec"]["size"] == 3
    assert s.ok("GET", f"{JOBS}/pair")["metadata"]["uid"] == uid, "what has not changed stays"
    helm("rollback", "pair", "1")
    assert s.ok("GET", f"{WIDGETS}/pair")["spec"]["size"] == 1
    states = [h["status"] for h in json.loads(helm("history", "pair", "-o", "json"))]
    assert states[-1] == "deployed" and len(states) >= 3, states
    assert "pair" in helm("get", "manifest", "pair")
    helm("uninstall", "pair", "--wait")
    for path in (f"{MAPS}/pair-settings", f"{JOBS}/pair", f"{WIDGETS}/pair"):
        until(f"{path} is gone", lambda: s.call("GET", path)[0] == 404)
    until("its pods are gone", lambda: not s.ok("GET", "/api/v1/namespaces/default/pods?labelSelector=volcano.sh%2Fjob-name%3Dpair")["items"])
    assert json.loads(helm("list", "-o", "json")) == []
    s.ok("GET", f"{CRDS}/widgets.stable.example.com")


def main():
    try:
        binaries("helm")
    except Skip as e:
        print(f"skipped: {e}")
        return 77
    s = server_or_skip()
    suite = Suite()
    try:
        suite.case("lives", lambda: lives(s, Helm(s)))
    finally:
        s.stop()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
