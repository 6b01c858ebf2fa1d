"""The images that the blocks of tests/seeds/blocks name, in a docker-registry of a test, made of Debian packages. What is in them:

    volcanosh/example-mpi                    Open MPI and sshd, really; mpi_hello_world is ours
    pytorch/pytorch                          PyTorch, really (Debian's 1.13 for 2.4.1)
    tensorflow/tensorflow                    Python alone: the block imports no more
    volcanosh/dist-mnist-tf-example          no TensorFlow: dist_mnist.py is a stand-in that reads TF_CONFIG and talks to all it names
    lyd911/mindspore-gpu-example             no MindSpore: gpu-test.py is a stand-in that says where it runs; Open MPI and sshd, really
    rayproject/ray                           Ray, really, where PUMICE_PEERS has it; else a stand-in that says what it was started with
    ps-img, worker-img                       fail at once
    driver-img, executor-img                 say their names

In an image that stays, programs end when somebody removes /etc/stays: documents look into pods while they train.
"""
import functools
import os
import subprocess
import tempfile

import debian
import images
from registry import PROGRAM, Image, Registry
from run_frameworks import CONNECT, PEERS, imports
from runs import HERE
from runs import has as has_programs

BLOCKS = os.path.join(HERE, "seeds", "blocks")
TOOLS = ("bash", "coreutils", "dash", "grep", "hostname", "libc-bin", "openmpi-bin", "openssh-client", "openssh-server", "procps", "python3", "sed")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

TALK = """
import json, os
config = json.loads(os.environ["TF_CONFIG"])
print("TF_CONFIG", json.dumps(config), flush=True)
if not config["cluster"][config["task"]["type"]]:
    raise SystemExit("this task is not in the cluster")
""" + CONNECT

GPU_TEST = """
import os, socket
print("gpu-test", socket.gethostname(), os.environ["OMPI_COMM_WORLD_RANK"], "of", os.environ["OMPI_COMM_WORLD_SIZE"], flush=True)
"""

RAY = """#!/bin/sh
echo "stand-in: ray $*"
case "$*" in *--head*) exec python3 -m http.server --directory /etc/volcano 8265 ;; esac
exec sleep 100000
"""

HELLO = """#!/bin/sh
mpi_hello
while [ -e /etc/stays ]; do sleep 0.1; done
"""

STAYS = """
import atexit, os, sys, time

def stay():
    sys.stdout.flush()
    while os.path.exists("/etc/stays"):
        time.sleep(0.1)

atexit.register(stay)
"""


def block(name):
    return os.path.join(BLOCKS, name + ".yaml")


def missing():
    """What this machine has not; None: all is there."""
    if not PROGRAM:
        return "no docker-registry"
    return None if has_programs("mpicc", "mpiexec", "sshd") else "no openmpi-bin, libopenmpi-dev, openssh-server"


def has_torch():
    return debian.has("python3-torch")


def has_ray():
    return imports(f"{PEERS}/bin/python3", "ray") and imports(f"{PEERS}/bin/python3", "aiohttp_cors")


# ---- parts ----

def program(path, text):
    return images.text(path, text, mode=0o755)


def staying():
    """A file that modules of Python are named in is read when it starts."""
    where = "usr/lib/python3/dist-packages"
    return [images.text("etc/stays", ""), images.text(f"{where}/stays.pth", "import stays\n"), images.text(f"{where}/stays.py", STAYS)]


@functools.cache
def compiled():
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["mpicc", "-o", f"{d}/hello", os.path.join(HERE, "mpi_hello_world.c")], check=True)
        with open(f"{d}/hello", "rb") as f:
            return f.read()


def mpi_hello_world():
    return [images.entry("usr/local/bin/mpi_hello", compiled(), 0o755), program("usr/local/bin/mpi_hello_world", HELLO)]


@functools.cache
def host_key():
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{d}/key"], check=True)
        with open(f"{d}/key") as f:
            return f.read()


def sshd():
    return [images.folder("etc/ssh"), images.text("etc/ssh/ssh_host_ed25519_key", host_key(), mode=0o600),
            images.text("etc/ssh/sshd_config", "HostKey /etc/ssh/ssh_host_ed25519_key\n")]


def peers():
    """All of PUMICE_PEERS, where it is."""
    return subprocess.run(["tar", "-C", "/", "-cf", "-", PEERS[1:]], stdout=subprocess.PIPE, check=True).stdout


# ---- the registry ----

class SeedRegistry(Registry):
    """'stays': the names of images that do."""

    def __init__(self, stays=()):
        super().__init__()
        self.stays = stays
        self.tools = debian.layer(*TOOLS)
        for tag in ("0.0.1", "0.0.3"):
            self.make("volcanosh/example-mpi", tag, *sshd(), *mpi_hello_world())
        self.make("lyd911/mindspore-gpu-example", "0.2.0", *sshd(), images.text("tmp/gpu-test.py", GPU_TEST))
        self.make("volcanosh/dist-mnist-tf-example", "0.0.1", images.folder("var/tf_dist_mnist"), images.text("var/tf_dist_mnist/dist_mnist.py", TALK))
        self.make("tensorflow/tensorflow", "2.4.0")
        self.make_ray()
        for name, command in (("driver-img", "echo driver"), ("executor-img", "echo executor"), ("ps-img", "exit 3"), ("worker-img", "exit 3")):
            self.make(f"library/{name}", "latest", config={"Cmd": ["sh", "-c", command]})
        if has_torch():
            self.make("pytorch/pytorch", "2.4.1-cuda11.8-cudnn9-runtime", layers=[debian.layer("bash", "coreutils", "dash", "grep", "python3-torch")])

    def make(self, name, tag, *files, layers=None, config=None):
        files = [*files, *(staying() if name in self.stays else ())]
        config = {"Env": [f"PATH={PATH}"], **(config or {})}
        self.push(name, Image(*(layers or [self.tools]), *([images.layer(files)] if files else []), config=config, media="tar"), tag)

    def make_ray(self):
        if has_ray():
            self.make("rayproject/ray", "latest-py311-cpu", layers=[self.tools, peers()],
                      config={"Env": [f"PATH={PEERS}/bin:{PATH}", "RAY_USAGE_STATS_ENABLED=0"]})
        else:
            self.make("rayproject/ray", "latest-py311-cpu", program("usr/local/bin/ray", RAY))

    def options(self, store):
        """Of a run or server that is to have the images."""
        return ("--image-store", store, "--mirror", f"docker.io=http://{self.host}")
