"""The ring all-reduce that Horovod made popular, in plain Python.

mpiexec starts one process per worker; OMPI_COMM_WORLD_RANK and _SIZE say who it is, the host file of the mpi plugin
where the others are. The vector is cut into as many pieces as there are ranks. In n-1 rounds each rank sends one piece to its
right neighbour and adds the one from its left; then each has the whole sum of one piece, and n-1 more rounds carry the
sums around. Every rank sends 2(n-1)/n of the vector, however many there are.
"""
import array
import os
import platform
import socket
import threading
import time

RANK, SIZE = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
PORT = 7400


def hosts():
    with open("/etc/volcano/hostfile") as f:
        return [line.split()[0] for line in f if line.strip()]


def connect(address):
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(address, timeout=30)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Ring:
    def __init__(self, members):
        with socket.create_server(("", PORT)) as server:
            self.right = connect((members[(RANK + 1) % SIZE], PORT))
            self.left = server.accept()[0].makefile("rb")

    def pass_on(self, piece):
        """Send a piece to the right while the one from the left comes in."""
        sender = threading.Thread(target=self.right.sendall, args=(piece.tobytes(),))
        sender.start()
        got = array.array("d")
        got.frombytes(self.left.read(len(piece) * piece.itemsize))
        sender.join()
        return got

    def all_reduce(self, vector):
        n = len(vector) // SIZE
        pieces = [vector[i * n:(i + 1) * n] for i in range(SIZE)]
        for r in range(SIZE - 1):
            got = self.pass_on(pieces[(RANK - r) % SIZE])
            at = (RANK - r - 1) % SIZE
            pieces[at] = array.array("d", (a + b for a, b in zip(pieces[at], got)))
        for r in range(SIZE - 1):
            pieces[(RANK - r) % SIZE] = self.pass_on(pieces[(RANK - r + 1) % SIZE])
        return array.array("d", (x for piece in pieces for x in piece))


def main():
    ring = Ring(hosts())
    vector = array.array("d", (float(RANK + i) for i in range(1000 * SIZE)))
    total = ring.all_reduce(vector)
    want = [sum(range(SIZE)) + SIZE * i for i in range(1000 * SIZE)]
    print(f"rank {RANK} of {SIZE} on {platform.node()}: {len(total)} numbers, "
          f"{'all right' if list(total) == want else 'WRONG'}", flush=True)
    raise SystemExit(list(total) != want)


main()
