"""What tests of pulls share: a directory of their own with stores, images that say who they are, `pumice pull` and what came of it."""
import base64
import json
import os
import shutil
import subprocess

import harness
import runs
from images import layer, root, text
from registry import Image
from runs import task

WORDS = ["/bin/cat", "/etc/what"]
D = None  # set by begin()


def begin(directory):
    """As a user without proxies and logins; with a copy of the program where everybody may read it."""
    global D
    D = directory
    os.chmod(D, 0o755)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE",
                 "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        os.environ.pop(name, None)
    os.environ.update(HOME=D, PUMICE_PULL="")
    runs.PUMICE = harness.PUMICE = shutil.copy(harness.PUMICE, path("pumice"))


def path(name):
    return os.path.join(D, name)


def write(name, data):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "wb" if isinstance(data, bytes) else "w") as f:
        f.write(data if isinstance(data, (bytes, str)) else json.dumps(data))
    return path(name)


def basic(user, password):
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def app(words, *more, **fields):
    """An image that says 'words'."""
    fields.setdefault("config", {"Cmd": WORDS, "Env": ["PATH=/bin"]})
    return Image(layer(root(text("etc/what", words + "\n"))), *more, **fields)


def begin_pull(*args, env=None, store="store", **kw):
    kw = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **kw}
    return subprocess.Popen([harness.PUMICE, "pull", *args, "--image-store", path(store)], env={**os.environ, **(env or {})}, **kw)


def pumice(*args, env=None, user=None, store="store"):
    r = subprocess.run([harness.PUMICE, *args, "--image-store", path(store)], capture_output=True, text=True, timeout=90, user=user, group=user,
                       extra_groups=[] if user else None, env={**os.environ, **(env or {})})
    for sign in ("Sanitizer", "runtime error:"):
        assert sign not in r.stderr, r.stderr
    return r


def pull(*args, **kw):
    r = pumice("pull", *args, **kw)
    assert r.returncode == 0, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout


def refused(*args, says, **kw):
    r = pumice("pull", *args, **kw)
    assert r.returncode == 1 and says in r.stderr, (args, says, r.returncode, r.stdout, r.stderr)
    return r.stderr


def listed(store="store"):
    return {i.get("name"): i for i in json.loads(pumice("images", "-o", "json", store=store).stdout)}


def files(store="store"):
    """What a store has: images, blobs, parts."""
    below = lambda *p: os.listdir(os.path.join(path(store), *p)) if os.path.isdir(os.path.join(path(store), *p)) else []  # noqa: E731
    return (sorted(n[7:] for n in below() if n.startswith("sha256-")), sorted(below("blobs", "sha256")),
            [n for n in below("blobs") if n.startswith("part-")], [n for n in below() if n.startswith(".part")])


def pod(image, name="a", command=None, replicas=1, pod=None, **fields):
    t = task(name, command, replicas=replicas, pod=pod, image=image, **fields)
    if not command:
        del t["template"]["spec"]["containers"][0]["command"]
    return t


def notices(r):
    return [e["text"] for e in r.of("notice")]
