#!/usr/bin/env python3
"""pumice completion: what real shells offer after it. Shells that are not installed are left out."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import Suite, pumice  # noqa: E402

DIR = tempfile.mkdtemp(prefix="pumice-completion-")


def script(shell):
    r = pumice("completion", shell)
    assert r.returncode == 0, r.stderr
    path = os.path.join(DIR, "_pumice" if shell == "zsh" else shell)
    with open(path, "w") as f:
        f.write(r.stdout)
    return path


def bash(*line):
    """As readline calls it: words are split at '=' too."""
    words = [w for word in line for w in (word.replace("=", " = ").split(" ") if "=" in word else [word])]
    if line[-1].endswith("="):
        words.pop()
    quoted = " ".join(f"'{w}'" for w in words)
    out = subprocess.run(["bash", "--norc", "-c", f'. "$1"; cd "$2"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _pumice; '
                          'printf "%s\\n" "${COMPREPLY[@]}"', "bash", script("bash"), DIR], capture_output=True, text=True)
    assert not out.stderr, out.stderr
    return [w for w in out.stdout.split("\n") if w]


def fish(*line):
    out = subprocess.run(["fish", "--no-config", "-c", 'source $argv[1]; cd $argv[2]; complete -C "$argv[3]"', script("fish"), DIR,
                          " ".join(line)], capture_output=True, text=True, env={**os.environ, "HOME": DIR})
    assert not out.stderr, out.stderr
    return [w.split("\t")[0] for w in out.stdout.split("\n") if w]


def zsh(*line, wait_s=0.5):
    """Typed at a terminal with a tab at the end: what is there afterwards."""
    script("zsh")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(DIR)
        os.environ.update(HOME=DIR, TERM="dumb", PS1="", LINES="100", COLUMNS="200")
        os.execlp("zsh", "zsh", "-f", "-i")
    text = b""

    def until(piece):
        nonlocal text
        end = time.monotonic() + 60
        while piece not in text:
            assert time.monotonic() < end and select.select([fd], [], [], 60)[0], text
            text += os.read(fd, 65536)

    try:
        os.write(fd, f"fpath=({DIR} $fpath); autoload -U compinit; compinit -u -D; setopt nobeep; echo re''ady\n".encode())
        until(b"ready")
        text = b""
        os.write(fd, " ".join(line).encode() + b"\t")
        time.sleep(wait_s)
        os.write(fd, b"\x15echo do''ne\n")
        until(b"done")
        return text.decode(errors="replace").split("done")[0].split()
    finally:
        os.close(fd)
        os.waitpid(pid, 0)


def offers(shell, line, wanted, unwanted=()):
    got = shell(*line)
    if shell is zsh and not set(wanted) <= set(got):  # it shows nothing of what it does while more is typed
        got = zsh(*line, wait_s=5)
    for w in wanted:
        assert w in got, (line, w, got)
    for w in unwanted:
        assert w not in got, (line, w, got)


def says_for_which():
    for args in ((), ("tcsh",), ("bash", "zsh")):
        r = pumice("completion", *args)
        assert r.returncode == 2 and "bash, zsh or fish" in r.stderr, r.stderr


def every_option_is_offered():
    for command in (["run"], ["plan"], ["controller"], ["job", "run"], ["slurm", "sbatch"]):
        flags = set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", pumice(*command, "--help").stdout, re.M))
        offered = set(bash("pumice", *command, "--"))
        assert len(flags) > 10 and flags <= offered, flags - offered


ROWS = {shell: [("pumice re", ["render"], ["run"]), ("pumice run --outp", ["--output"], ["--env"]), ("pumice run jo", ["job.yaml"], []),
                ("pumice run --network pr", ["private"], ["open"]), ("pumice server ", ["user", "token", "rotate"], ["render"]),
                ("pumice server us", ["user"], ["token"]), ("pumice server user ", ["add", "list", "remove"], ["token"]),
                ("pumice server user add ann --ed", ["--edit"], ["--listen"]), ("pumice server --lis", ["--listen"], ["--edit"]),
                ("pumice server rotate ac", ["account-keys"], ["ca"]), ("pumice job lo", ["logs"], ["list", "job.yaml"]),
                ("pumice job list --no-h", ["--no-headers"], []), ("pumice slurm sbatch --wr", ["--wrap"], []),
                ("pumice exec tr", ["train-worker-0"], ["job.yaml", "other-0"]), ("pumice logs -f ot", ["other-0"], ["train-worker-0"]),
                ("pumice cp tr", ["train-worker-0"], ["other-0"]), ("pumice cp job.", ["job.yaml"], []),
                ("pumice runs show 12", ["12ab34"], ["cd5678", "job.yaml"]), ("pumice runs compare 12ab34 c", ["cd5678"], ["job.yaml"]), ("pumice queue create --state Cl", ["Closed"], ["Open"])] for shell in (bash, fish)}
ROWS[zsh] = [("pumice rend", ["render"], []), ("pumice run --outp", ["--output="], []), ("pumice run job.", ["job.yaml"], []),
             ("pumice run --network pr", ["private"], []), ("pumice server us", ["user"], []), ("pumice server user rem", ["remove"], []),
             ("pumice server user add ann --edi", ["--edit"], []), ("pumice server --listen", ["--listen="], []),
             ("pumice job lo", ["logs"], []), ("pumice job list --no-h", ["--no-headers"], []),
             ("pumice exec tr", ["train-worker-0"], []), ("pumice cp job.", ["job.yaml"], []), ("pumice runs compare 12ab34 cd", ["cd5678"], [])]  # what it makes of the line


def main():
    suite = Suite()
    open(os.path.join(DIR, "job.yaml"), "w").close()
    os.mkdir(os.path.join(DIR, "jobs"))
    with open(os.path.join(DIR, "pumice"), "w") as f:  # whom the scripts ask for names
        f.write("#!/bin/sh\n[ \"$1 $2\" = 'ps -q' ] && printf 'train-worker-0\\nother-0\\n'\n[ \"$1 $2\" = 'runs -q' ] && printf '12ab34\\ncd5678\\n'\n")
    os.chmod(f.name, 0o755)
    os.environ["PATH"] = f"{DIR}:{os.environ['PATH']}"
    try:
        suite.case("says_for_which", says_for_which)
        for shell in (bash, fish, zsh):
            if not shutil.which(shell.__name__):
                print(f"{shell.__name__} is not installed: left out")
                continue
            for line, wanted, unwanted in ROWS[shell]:
                suite.case(f"{shell.__name__} {line}", lambda: offers(shell, line.split(" "), wanted, unwanted))
        suite.case("bash, after =", lambda: offers(bash, ("pumice", "run", "--output=j"), ("json",)))
        suite.case("bash, after -o", lambda: offers(bash, ("pumice", "run", "-o", ""), ("json", "text")))
        suite.case("bash, directories", lambda: offers(bash, ("pumice", "run", "--state", "jo"), ("jobs",), ("job.yaml",)))
        suite.case("every_option_is_offered", every_option_is_offered)
    finally:
        shutil.rmtree(DIR)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
