#!/usr/bin/env python3
"""The bed itself: what it promises to the tests that lie in it."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from bed import Bed, Skip, started  # noqa: E402
from harness import Suite  # noqa: E402


def until(what, holds, limit_s=120):
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, f"never came true: {what}"
        time.sleep(0.05)


def refuses_strangers(bed):
    status, answer = bed.call("GET", "/api/v1/namespaces/default/pods", user="alice")
    assert status == 403 and 'User "alice" cannot list' in answer["message"], answer
    assert "forbidden" in bed.kubectl("get", "nodes", user="alice", fails=True)
    assert [e["objectRef"]["resource"] for e in bed.audit(user="alice", verb="list", status=403)] == ["pods", "nodes"]
    assert bed.requests("alice")["list", "pods", 403] == 1


def lets_in_by_role(bed):
    bed.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "look"},
               "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]},
              {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "looker", "namespace": "default"}},
              {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "look"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "look"},
               "subjects": [{"kind": "Group", "name": "lookers", "apiGroup": "rbac.authorization.k8s.io"},
                            {"kind": "ServiceAccount", "name": "looker", "namespace": "default"}]})
    bed.user("bob", groups=["lookers"])
    assert bed.call("GET", "/api/v1/namespaces/default/pods", user="bob")[0] == 200
    env = {**bed.environment(), "KUBECONFIG": bed.service_account("default", "looker")}
    who = subprocess.run([f"{bed.bin}/kubectl", "auth", "whoami", "-o", "json"], env=env, capture_output=True, text=True)
    assert json.loads(who.stdout)["status"]["userInfo"]["username"] == "system:serviceaccount:default:looker", who
    subprocess.run([f"{bed.bin}/kubectl", "get", "pods"], env=env, check=True, capture_output=True)


def takes_pods(bed):
    """The ServiceAccount that a controller of a real cluster would have made is there."""
    bed.namespace("team")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"},
           "spec": {"containers": [{"name": "main", "image": "debian:12"}]}}
    status, answer = bed.call("POST", "/api/v1/namespaces/team/pods", pod)
    assert status == 201 and answer["spec"]["serviceAccountName"] == "default", answer


def streams_lists(bed):
    """A watch that begins with the list: newer servers with a newer etcd have it."""
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    c = bed.connect()
    c.request("GET", f"/api/v1/namespaces?{query}")
    events = []
    for line in c.getresponse():  # until it says that the list is over, however long that takes
        events.append(json.loads(line))
        if events[-1]["type"] != "ADDED":
            break
    c.close()
    assert len(events) > 1 and events[-1]["type"] == "BOOKMARK", events
    assert events[-1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"


def says_why_it_cannot_build():
    """A Go that is too old, and one that cannot reach its modules."""
    with tempfile.TemporaryDirectory() as d:
        env = {**os.environ, "XDG_CACHE_HOME": f"{d}/cache", "PATH": f"{d}:{os.environ['PATH']}"}
        for version, download, reason in (("go1.26.0", "echo no route to host; exit 1", "the Go modules cannot be had: no route to host"),
                                          ("go1.19.8", "exit 0", "Go 1.19.8 is too old")):
            with open(f"{d}/go", "w") as f:
                f.write(f"#!/bin/sh\n[ $1 = env ] && echo {version} && exit\n{download}\n")
            os.chmod(f"{d}/go", 0o755)
            if version == "go1.19.8" and os.path.exists("/usr/local/go/bin/go"):
                continue  # that one would be taken
            run = subprocess.run([os.path.join(HERE, "build")], env=env, capture_output=True, text=True)
            assert run.returncode == 77 and run.stderr.startswith(reason), run


def comes_back_after_kill(bed):
    bed.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "kept"}})
    bed.server.kill()
    try:
        bed.call("GET", "/readyz")
        raise AssertionError("a killed server answers")
    except OSError:
        pass
    bed.etcd.stop()
    bed.etcd.start()
    bed.server.start()
    assert bed.call("GET", "/api/v1/namespaces/default/configmaps/kept")[0] == 200


def answers_nothing_while_paused(bed):
    bed.server.pause()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(bed.call("GET", "/readyz")[0]))
    asking.start()
    time.sleep(0.5)
    assert asking.is_alive() and not answers
    bed.server.resume()
    asking.join()
    assert answers == [200]


def forgets_when_compacted(bed):
    old = bed.call("GET", "/api/v1/namespaces/default/configmaps")[1]["metadata"]["resourceVersion"]
    for i in range(3):
        bed.call("PATCH", "/api/v1/namespaces/default/configmaps/kept", {"data": {"n": str(i)}},
                 content_type="application/merge-patch+json")
    bed.compact()
    bed.server.kill()
    bed.server.start()
    status, answer = bed.call("GET", f"/api/v1/namespaces/default/configmaps?watch=1&resourceVersion={old}&timeoutSeconds=60")
    assert answer["object"]["code"] == 410, answer


def second_bed_ends_with_its_owner():
    """Beside the first; its owner is killed and cannot clean up."""
    owner = subprocess.Popen([os.path.join(HERE, "bed.py"), "sh", "-c", "echo $BED; kubectl get ns default -o name; read _"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    directory = owner.stdout.readline().strip()
    assert owner.stdout.readline() == "namespace/default\n"
    pids = []
    for name in os.listdir(f"{directory}/pid"):
        with open(f"{directory}/pid/{name}") as f:
            pids.append(f.read().split())
    assert len(pids) == 2 and all(started(pid) == at for pid, at in pids), pids
    owner.kill()
    until("the directory is gone", lambda: not os.path.exists(directory))
    assert all(started(pid) != at for pid, at in pids)
    owner.communicate()  # the shell that it ran was its own affair; it ends with its input


def main():
    suite = Suite()
    suite.case("says_why_it_cannot_build", says_why_it_cannot_build)
    try:
        with Bed() as bed:
            for case in (refuses_strangers, lets_in_by_role, takes_pods, streams_lists, comes_back_after_kill,
                         answers_nothing_while_paused, forgets_when_compacted):
                suite.case(case.__name__, lambda: case(bed))
            suite.case("second_bed_ends_with_its_owner", second_bed_ends_with_its_owner)
            directory = bed.dir
        suite.case("leaves_nothing", lambda: check_gone(directory))
    except Skip as e:
        print(e)
        return 77
    return suite.finish()


def check_gone(directory):
    assert not os.path.exists(directory)


if __name__ == "__main__":
    sys.exit(main())
