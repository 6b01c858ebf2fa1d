"""What a run may leave behind: nothing. Everything a run makes carries its id, so runs of others do not count.

The test process becomes the reaper of orphans: a process of the run that outlives it becomes our child, and is seen.
"""
import ctypes
import os
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
OURS = set()            # programs that tests have started and wait for themselves


def adopt_orphans():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Living children of this process that no test has started itself; those that have ended are reaped."""
    found_ = []
    for tid in os.listdir("/proc/self/task"):
        found_ += [int(pid) for pid in read(f"/proc/self/task/{tid}/children").split()]
    out = []
    for pid in set(found_) - OURS:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                out.append(f"{pid} ({read(f'/proc/{pid}/comm').strip()})")
        except ChildProcessError:
            pass
    return out


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def cgroups(run_id):
    """Groups with the name of the run; its id alone is in a name of 64 digits by chance. Ours is below the session's own, too."""
    out = []
    for top, dirs, _ in os.walk("/sys/fs/cgroup"):
        out += [os.path.join(top, d) for d in dirs if f"pumice-{run_id}" in d]
        dirs[:] = [d for d in dirs if f"pumice-{run_id}" not in d]
    return out


def in_group(run_id):
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and run_id in read(f"/proc/{pid}/cgroup")]


def nft_tables(run_id):
    try:
        run = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True)
    except OSError:
        return []
    return [line for line in run.stdout.splitlines() if run_id in line]


def files(state):
    """All that is below the state directory but locks and directories that belong to no run."""
    out = []
    for top, dirs, names in os.walk(state):
        out += [os.path.join(top, d) for d in dirs if top == state and d != "images"]
        out += [os.path.join(top, n) for n in names if not n.endswith("lock")]
    return out


def found(run_id, state, is_kept):
    out = {"processes": children(), "mounts": [], "links": [], "tables": [], "groups": [], "in groups": [], "files": []}
    out["mounts"] = [line.split()[4] for line in read("/proc/self/mountinfo").splitlines() if state in line]
    if run_id:
        out["mounts"] += [line.split()[4] for line in read("/proc/self/mountinfo").splitlines() if f"pumice/{run_id}" in line]
        out["links"] = [n for n in os.listdir("/sys/class/net") if n.startswith("pm" + run_id)]
        out["tables"] = nft_tables(run_id)
        out["groups"] = cgroups(run_id)
        out["in groups"] = in_group(run_id)
    if not is_kept:
        out["files"] = files(state)
    return {k: v[:10] for k, v in out.items() if v}


def check(run_id, state, is_kept=False, patience_s=0.0):
    """Fails with a list of what is still there. patience_s: after kill -9 the spawner needs a moment."""
    deadline = time.monotonic() + patience_s
    while True:
        left = found(run_id, state, is_kept)
        if not left:
            return
        if time.monotonic() >= deadline:
            raise AssertionError(f"run {run_id} left behind: {left}")
        time.sleep(0.05)


def kill(pid, number):
    """A signal to a process that may have ended by itself meanwhile."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
