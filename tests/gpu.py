#!/usr/bin/env python3
"""Real GPUs: found, handed to a pod, kept from others, and waited for with a reason. Needs a machine with an NVIDIA GPU and its driver."""
import glob
import os
import re
import subprocess
import sys
import tempfile

import yaml

from harness import PUMICE, Suite

NODES = sorted(n for n in glob.glob("/dev/nvidia*") if re.fullmatch(r"/dev/nvidia\d+", n))
SKIPPED = 77  # meson's word for it


def job(gpus, script, tasks=1, min_available=None, name="gpu"):
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    container = {"name": "main", "image": "any", "command": ["sh", "-c", script], "resources": {"limits": limits}}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"minAvailable": min_available or tasks, "schedulerName": "volcano",
                     "tasks": [{"name": "t", "replicas": tasks, "template":
                                {"spec": {"restartPolicy": "Never", "containers": [container]}}}]}}


def run(*jobs, args=()):
    """`pumice run` of these jobs: status, what the pods wrote, what the program said."""
    with tempfile.TemporaryDirectory() as top:
        file = os.path.join(top, "job.yaml")
        with open(file, "w", encoding="utf-8") as f:
            yaml.safe_dump_all(jobs, f)
        r = subprocess.run([PUMICE, "run", "--state", os.path.join(top, "state"), *args, file], capture_output=True,
                           text=True, timeout=300)
    for sign in ("Sanitizer", "runtime error:"):
        assert sign not in r.stderr, r.stderr[:3000]
    return r


def lines(r):
    """What pods wrote, without the prefix of each line."""
    return [line.split(" | ", 1)[-1] for line in r.stdout.splitlines()]


def host_uuids():
    found = []
    for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
        with open(path, encoding="utf-8") as f:
            found += re.findall(r"GPU UUID:\s*(\S+)", f.read())
    return found


# ---- the cases ----

def doctor_names_them():
    r = subprocess.run([PUMICE, "doctor"], capture_output=True, text=True, timeout=60)
    assert "GPU" in r.stdout, r.stdout


def pod_gets_one():
    r = run(job(1, "ls /dev | grep -E '^nvidia[0-9]+$'; echo $NVIDIA_VISIBLE_DEVICES; echo $CUDA_VISIBLE_DEVICES"))
    assert r.returncode == 0, (r.returncode, r.stdout, r.stderr)
    node, visible, cuda = lines(r)
    assert f"/dev/{node}" in NODES, node
    assert not host_uuids() or visible in host_uuids(), visible
    assert cuda == "0", cuda


def device_works():
    """The driver answers inside the pod, with the one GPU that was asked for."""
    r = run(job(1, "PATH=$PATH:/usr/local/nvidia/bin; export LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/nvidia/lib; "
                   "nvidia-smi -L"))
    assert r.returncode == 0, (r.returncode, r.stdout, r.stderr)
    found = [line for line in lines(r) if line.startswith("GPU ")]
    assert len(found) == 1, r.stdout


def cuda_computes():
    """A context and memory on the GPU: more than listing it."""
    script = """python3 - <<'END'
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def check(what, rc):
    assert rc == 0, f"{what}: {rc}"
check("init", cuda.cuInit(0))
count, device, context, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
check("count", cuda.cuDeviceGetCount(ctypes.byref(count)))
check("device", cuda.cuDeviceGet(ctypes.byref(device), 0))
check("context", cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
check("current", cuda.cuCtxSetCurrent(context))
check("memory", cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)))
check("set", cuda.cuMemsetD32_v2(memory, 7, ctypes.c_size_t(1 << 18)))
word = ctypes.c_uint32()
check("copy", cuda.cuMemcpyDtoH_v2(ctypes.byref(word), memory, ctypes.c_size_t(4)))
print("devices", count.value, "word", word.value)
END"""
    r = run(job(1, "export LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/nvidia/lib\n" + script))
    assert r.returncode == 0, (r.returncode, r.stdout, r.stderr)
    assert "devices 1 word 7" in lines(r), r.stdout


def pod_without_sees_none():
    r = run(job(0, "ls /dev | grep -c nvidia; echo $NVIDIA_VISIBLE_DEVICES"))
    assert r.returncode == 0, (r.returncode, r.stdout, r.stderr)
    assert lines(r) == ["0", "void"], r.stdout


def one_after_the_other():
    """Twice as many pods as GPUs, each alone with its GPU for a while: none is shared, all get their turn."""
    n = 2 * len(NODES)
    r = run(job(1, "date +%s%N; echo $NVIDIA_VISIBLE_DEVICES; sleep 0.5; date +%s%N", tasks=n, min_available=1))
    assert r.returncode == 0, (r.returncode, r.stdout, r.stderr)
    pods, times = {}, {}
    for line in r.stdout.splitlines():
        pod, text = line.split(" | ", 1)
        pods.setdefault(pod.strip(), []).append(text)
    assert len(pods) == n, r.stdout
    for begin, gpu, end in pods.values():
        times.setdefault(gpu, []).append((int(begin), int(end)))
    for gpu, spans in times.items():
        spans.sort()
        for (_, end), (begin, _) in zip(spans, spans[1:]):
            assert begin >= end, f"{gpu} was shared: {spans}"


def too_many_waits_and_says_why():
    r = run(job(len(NODES) + 1, "echo never"), args=["--timeout", "20s"])
    assert r.returncode != 0 and "never" not in r.stdout, (r.returncode, r.stdout, r.stderr)
    assert "nvidia.com/gpu" in r.stdout + r.stderr, r.stderr


def main():
    if not NODES:
        print("skipped: there is no NVIDIA GPU here (no /dev/nvidia0)")
        return SKIPPED
    suite = Suite()
    for case in (doctor_names_them, pod_gets_one, device_works, cuda_computes, pod_without_sees_none, one_after_the_other,
                 too_many_waits_and_says_why):
        suite.case(case.__name__, case)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
