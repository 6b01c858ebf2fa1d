"""One rank: meets the others at MASTER_ADDR:MASTER_PORT and averages a gradient with them (rank 0 adds up)."""
import json
import os
import platform
import socket
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MASTER = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def connect():
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(MASTER, timeout=30)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def collect(mine):
    """Rank 0: take everybody's gradient, send the average back."""
    with socket.create_server(("", MASTER[1])) as server:
        peers = [server.accept()[0].makefile("rw") for _ in range(WORLD - 1)]
        all_of_them = [mine] + [json.loads(p.readline()) for p in peers]
        average = [sum(column) / WORLD for column in zip(*all_of_them)]
        for p in peers:
            p.write(json.dumps(average) + "\n")
            p.flush()
    return average


def main():
    gradient = [float(RANK), 1.0]
    if RANK == 0:
        average = collect(gradient)
    else:
        with connect() as s, s.makefile("rw") as f:
            f.write(json.dumps(gradient) + "\n")
            f.flush()
            average = json.loads(f.readline())
    print(f"rank {RANK} of {WORLD} (local {os.environ['LOCAL_RANK']}) on {platform.node()}: average {average}", flush=True)
    assert average == [(WORLD - 1) / 2, 1.0]


main()
