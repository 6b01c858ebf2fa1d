"""Parameter-server training by TF_CONFIG: a line is fitted to points, by TensorFlow if it is installed, else by hand.

TF_CONFIG says who everybody is: {"cluster": {"chief": [...], "ps": [...], "worker": [...]}, "task": {"type", "index"}}.

By hand: each server keeps a part of the parameters and answers two questions over TCP, "pull" and "push"; workers pull,
compute the gradient of their part of the data, push, and repeat; the chief waits, looks at the result, and ends the
job. Workers do not wait for each other: that is what parameter servers are for.
"""
import json
import os
import random
import socket
import socketserver
import sys
import threading
import time

CONFIG = json.loads(os.environ["TF_CONFIG"])
CLUSTER, ROLE, INDEX = CONFIG["cluster"], CONFIG["task"]["type"], CONFIG["task"]["index"]
STEPS = int(os.environ.get("STEPS", "300"))
RATE = 0.1
WANTED = [2.0, -3.0, 0.5]          # y = 2a - 3b + 0.5


def say(text):
    print(f"{ROLE} {INDEX}: {text}", flush=True)


def ask(address, question, patience_s=60):
    """One question, one answer, a line of JSON each. The server may not be up yet."""
    host, port = address.rsplit(":", 1)
    deadline = time.monotonic() + patience_s
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=10) as s, s.makefile("rw") as f:
                f.write(json.dumps(question) + "\n")
                f.flush()
                return json.loads(f.readline())
        except (OSError, ValueError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Parameters(socketserver.ThreadingTCPServer):
    """Server i of n keeps the parameters i, i+n, i+2n ..."""
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128

    def __init__(self, port):
        super().__init__(("", port), Answer)
        self.lock = threading.Lock()
        self.values = [0.0] * len(range(INDEX, len(WANTED), len(CLUSTER["ps"])))
        self.pushes = 0


class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        server, question = self.server, json.loads(self.rfile.readline())
        with server.lock:
            if question["what"] == "push":
                server.values = [v - RATE * g for v, g in zip(server.values, question["gradient"])]
                server.pushes += 1
            answer = {"values": server.values, "pushes": server.pushes}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


def ask_servers(questions):
    """Ask every server its own question; put the parameters together again."""
    answers = [ask(address, q) for address, q in zip(CLUSTER["ps"], questions)]
    parameters = [0.0] * len(WANTED)
    for i, answer in enumerate(answers):
        parameters[i::len(answers)] = answer["values"]
    return parameters, min(a["pushes"] for a in answers)


def pull():
    return ask_servers([{"what": "pull"}] * len(CLUSTER["ps"]))


def push(gradient):
    servers = len(CLUSTER["ps"])
    return ask_servers([{"what": "push", "gradient": gradient[i::servers]} for i in range(servers)])


def work():
    draw = random.Random(INDEX)
    points = [(draw.uniform(-1, 1), draw.uniform(-1, 1), 1.0) for _ in range(64)]
    wanted = [sum(w * x for w, x in zip(WANTED, p)) for p in points]
    parameters, _ = pull()
    for step in range(STEPS):
        gradient = [0.0] * len(WANTED)
        loss = 0.0
        for x, y in zip(points, wanted):
            off = sum(w * v for w, v in zip(parameters, x)) - y
            loss += off * off / len(points)
            gradient = [g + 2 * off * v / len(points) for g, v in zip(gradient, x)]
        if step % (STEPS // 3) == 0:
            say(f"step {step}: loss {loss:.6f}")
        parameters, _ = push(gradient)
    say("done")


def lead():
    while True:
        parameters, pushes = pull()
        if pushes >= STEPS * len(CLUSTER["worker"]):
            break
        time.sleep(0.05)
    check(parameters)


def check(parameters):
    say("learned y = %.2f a %+.2f b %+.2f" % tuple(parameters))
    if max(abs(p - w) for p, w in zip(parameters, WANTED)) > 0.05:
        sys.exit("that is not the line the points are on")


def by_hand():
    if ROLE == "ps":
        with Parameters(int(CLUSTER["ps"][INDEX].rsplit(":", 1)[1])) as server:
            say("serving")
            server.serve_forever()
    elif ROLE == "worker":
        work()
        time.sleep(3600)            # as TensorFlow's workers do: the chief ends the job
    else:
        lead()


def by_tensorflow(tf):
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if ROLE in ("ps", "worker"):
        server = tf.distribute.Server(resolver.cluster_spec(), job_name=ROLE, task_index=INDEX,
                                      protocol="grpc", start=True)
        say("serving")
        server.join()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        parameters = tf.Variable([[0.0]] * len(WANTED))

    @tf.function
    def step():
        x = tf.concat([tf.random.uniform((64, 2), -1, 1), tf.ones((64, 1))], 1)
        y = tf.matmul(x, tf.constant(WANTED)[:, None])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, parameters) - y))
        parameters.assign_sub(RATE * tape.gradient(loss, parameters))

    for _ in range(STEPS):
        coordinator.schedule(step)
    coordinator.join()
    check([float(v) for v in parameters.numpy()[:, 0]])


def main():
    try:
        import tensorflow
    except ImportError:
        say("no tensorflow here: plain sockets")
        by_hand()
    else:
        say(f"tensorflow {tensorflow.__version__}")
        by_tensorflow(tensorflow)


main()
