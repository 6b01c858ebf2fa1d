"""What the `deepspeed` launcher does, in few lines: read the host file, start one process per slot over ssh.

The deepspeed plugin writes the host file ("host slots=n" lines, path in DS_HOSTFILE) and MASTER_ADDR, MASTER_PORT and
NODE_RANK; it brings ssh along. Each process gets RANK, LOCAL_RANK, WORLD_SIZE and the master's address, as a training
script expects them.
"""
import os
import shlex
import subprocess
import sys
import time


def read_hosts(path):
    hosts = []
    with open(path) as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                slots = dict(w.split("=", 1) for w in words[1:]).get("slots", "1")
                hosts.append((words[0], int(slots)))
    return hosts


def wait_for_ssh(host, patience_s=60):
    deadline = time.monotonic() + patience_s
    while subprocess.run(["ssh", host, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        if time.monotonic() > deadline:
            sys.exit(f"launch: {host} does not answer")
        time.sleep(0.2)


def main():
    command = sys.argv[1:]
    hosts = read_hosts(os.environ["DS_HOSTFILE"])
    world = sum(slots for _, slots in hosts)
    print(f"launch: {world} processes on {len(hosts)} hosts", flush=True)
    running = []
    for host, slots in hosts:
        wait_for_ssh(host)
        for local in range(slots):
            env = {"RANK": len(running), "LOCAL_RANK": local, "WORLD_SIZE": world,
                   "MASTER_ADDR": os.environ["MASTER_ADDR"], "MASTER_PORT": os.environ["MASTER_PORT"]}
            words = ["env", *(f"{k}={v}" for k, v in env.items()), *command]
            running.append(subprocess.Popen(["ssh", host, shlex.join(words)]))
    failed = [rank for rank, process in enumerate(running) if process.wait() != 0]
    if failed:
        sys.exit(f"launch: ranks {failed} failed")
    print("launch: all done", flush=True)


main()
