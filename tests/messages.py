#!/usr/bin/env python3
"""The messages that people see most: the exact words on both streams, and the exit status.

messages/*.txt are transcripts: "$" is a command, "1|" a line of its standard output, "2|" one of its standard error, "[1]" its exit
status. Input files are in FILES; $DIR, $PORT and the like stand for what differs from run to run. `tests/messages.py --bless` writes
the transcripts anew from the program; the review reads the difference. A message says what failed and why, then what cures it.
"""
import atexit
import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

from harness import PUMICE, Suite  # noqa: E402
from server import Server  # noqa: E402

GOOD = """apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template:
      spec:
        restartPolicy: Never
        terminationGracePeriodSeconds: 2
        containers:
        - {name: main, image: busybox, command: [sh, -c, "true"]}
"""
CHANGES = {  # file: what is replaced in GOOD, and by what
    "good": ("", ""),
    "typo": ("tasks:", "tusks:"),
    "noname": ("name: train", ""),
    "badname": ("name: worker", "name: Worker_1"),
    "min": ("minAvailable: 1", "minAvailable: 9"),
    "type": ("replicas: 1", "replicas: many"),
    "noimage": ("image: busybox, ", ""),
    "quantity": ("image: busybox", "image: busybox, resources: {requests: {memory: 5Gb}}"),
    "plugin": ("minAvailable: 1", "plugins: {tensorflw: []}"),
    "event": ("minAvailable: 1", "policies: [{event: PodFaild, action: RestartJob}]"),
    "noqueue": ("minAvailable: 1", "queue: night"),
    "fail": ('"true"', '"echo no data >&2; exit 42"'),
    "noprogram": ('[sh, -c, "true"]', "[trainer]"),
    "slow": ('"true"', '"sleep 100"'),
    "large": ("image: busybox", "image: busybox, resources: {requests: {cpu: 1000}}"),
    "gpu": ("image: busybox", "image: busybox, resources: {limits: {nvidia.com/gpu: 2}}"),
}
FILES = {
    "empty.yaml": "",
    "tab.yaml": "a: b\n\tc: d\n",
    "text.yaml": "just text\n",
    "kind.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n",
    "nojob.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
    "full/file": "of somebody else\n",
    "job.sh": "echo hello\n",
    **{f"{name}.yaml": GOOD.replace(*change) for name, change in CHANGES.items()},
}


class Place:
    """A directory with the files, where commands run; and the words that differ from run to run."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="pumice-messages-")
        for name, text in FILES.items():
            path = os.path.join(self.dir.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(text)
        os.chmod(os.path.join(self.dir.name, "full"), 0o755)
        self.taken = socket.socket()
        self.taken.bind(("127.0.0.1", 0))
        self.taken.listen()
        self.words = {"DIR": self.dir.name, "TAKEN": str(self.taken.getsockname()[1]), "NODE": socket.gethostname().lower()}
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "SLURM", "PUMICE_"))}
        self.env.update(HOME="/nonexistent", PUMICE_PULL="never", NO_COLOR="1")

    def plain(self, text):
        """Without what differs from run to run."""
        for word, value in self.words.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(value)}(?![\w.-])", "$" + word, text)
        return re.sub(r"(?<= after )[\d.]+m?s\b", "$TIME", re.sub(r", \d+s so far", ", $TIME so far", text))

    def run(self, line):
        """The part of a transcript that this command is."""
        words = [re.sub(r"\$([A-Z]+)", lambda m: self.words[m[1]], w) for w in shlex.split(line)]
        env = {**self.env, **dict(w.split("=", 1) for w in words[:words.index("pumice")])}
        r = subprocess.run([PUMICE, *words[words.index("pumice") + 1:]], cwd=self.dir.name, env=env, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=120)
        assert "Sanitizer" not in r.stderr and "runtime error:" not in r.stderr, r.stderr[:3000]
        streams = [f"{n}|{' ' if text else ''}{text}\n" for n, s in ((1, r.stdout), (2, r.stderr)) for text in self.plain(s).splitlines()]
        return f"$ {line}\n{''.join(streams)}[{r.returncode}]\n"


def parts_of(name):
    """Of a transcript: each (command or None, its text); what is no command is a comment."""
    with open(os.path.join(HERE, "messages", name)) as f:
        for text in re.findall(r"^\$ .*\n(?:[12]\|.*\n)*\[-?\d+\]\n|^.*\n", f.read(), re.M):
            yield (text.splitlines()[0][2:] if text.startswith("$ ") else None), text


def check(place, line, want):
    got = place.run(line)
    assert got == want, f"\nwant:\n{want}got:\n{got}"


def play(suite, place, name, bless):
    written = []
    for line, text in parts_of(name):
        if line and bless:
            text = place.run(line)
        elif line:
            suite.case(line, lambda: check(place, line, text))
        written.append(text)
    if bless:
        with open(os.path.join(HERE, "messages", name), "w") as f:
            f.writelines(written)


def can_run_pods(place):
    r = place.run("pumice run good.yaml -q --no-record")
    return r.endswith("[0]\n"), r


@contextlib.contextmanager
def served(place):
    """A server, its kubeconfig for the commands, and one of a user who may only look."""
    s = Server()
    try:
        place.words.update(DATA=s.data, PORT=str(s.port))
        place.env["KUBECONFIG"] = s.config
        kubeconfig = os.path.join(place.dir.name, "eve.kubeconfig")
        subprocess.run([PUMICE, "server", "user", "add", "eve", "--view", "--data-dir", s.data, "-o", kubeconfig], check=True, capture_output=True)
        with open(s.config) as f, open(os.path.join(place.dir.name, "wrong.kubeconfig"), "w") as wrong:
            wrong.write(re.sub("token: .*", "token: wrong", f.read()))
        yield
    finally:
        s.stop()
        place.env.pop("KUBECONFIG", None)


def main():
    suite, place, bless = Suite(), Place(), "--bless" in sys.argv
    atexit.register(place.taken.close)
    play(suite, place, "input.txt", bless)
    works, why = can_run_pods(place)
    if works:
        play(suite, place, "run.txt", bless)
        with served(place):
            play(suite, place, "server.txt", bless)
    elif os.environ.get("PUMICE_NEEDS_PODS"):
        suite.case("a pod runs", lambda: check(place, why, ""))
    else:
        print(f"cases with pods are skipped: {why[-500:]}")
    return 0 if bless else suite.finish()


if __name__ == "__main__":
    sys.exit(main())
