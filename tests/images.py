"""Small images made by hand: root file systems of a static busybox as a plain tar, a docker archive, an OCI layout or archive."""
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import tarfile

APPLETS = ["sh", "cat", "echo", "env", "false", "id", "ls", "mount", "pwd", "sleep", "stat", "test", "touch", "true", "umount"]
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def is_static(path):
    with open(path, "rb") as f:
        return b"ld-linux" not in f.read(4096)


BUSYBOX = next((p for p in (shutil.which("busybox"), "/bin/busybox") if p and os.path.exists(p) and is_static(p)), None)


# ---- tars ----

def entry(name, data=b"", mode=0o644, kind=tarfile.REGTYPE, link="", uid=0, gid=0):
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.type, info.linkname, info.uid, info.gid = len(data), mode, kind, link, uid, gid
    return info, data


def folder(name, mode=0o755, **fields):
    return entry(name, b"", mode, tarfile.DIRTYPE, **fields)


def link(name, target):
    return entry(name, b"", 0o777, tarfile.SYMTYPE, target)


def text(name, words, **fields):
    return entry(name, words.encode(), **fields)


def root(*more):
    """A root with busybox, the user "app" and an empty directory of his; 'more' entries."""
    with open(BUSYBOX, "rb") as f:
        program = f.read()
    return [folder("bin"), entry("bin/busybox", program, 0o755), *[link(f"bin/{a}", "busybox") for a in APPLETS],
            folder("etc"), text("etc/passwd", "root:x:0:0::/:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\n"),
            text("etc/group", "root:x:0:\napp:x:1001:\nextra:x:1002:app\n"), folder("work", uid=1000, gid=1001), *more]


def layer(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def digest(data):
    return hashlib.sha256(data).hexdigest()


def image_config(config, layers, **more):
    return json.dumps({"architecture": ARCH, "os": "linux", "config": config or {}, **more,
                       "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest(d) for d in layers]}}).encode()


# ---- images ----

def docker_archive(path, *layers, name="app:latest", config=None):
    """As `docker save` writes it."""
    head = image_config(config, layers)
    manifest = [{"Config": digest(head) + ".json", "RepoTags": [name], "Layers": [f"{i}/layer.tar" for i in range(len(layers))]}]
    return write(path, layer([entry(digest(head) + ".json", head), entry("manifest.json", json.dumps(manifest).encode()),
                              *[entry(f"{i}/layer.tar", data) for i, data in enumerate(layers)]]))


def oci_files(*layers, name=None, config=None, is_gzip=True):
    """An OCI layout: paths and contents."""
    blobs, head = {}, image_config(config, layers)

    def blob(data, media):
        blobs["blobs/sha256/" + digest(data)] = data
        return {"mediaType": media, "digest": "sha256:" + digest(data), "size": len(data)}

    manifest = json.dumps({
        "schemaVersion": 2, "config": blob(head, "application/vnd.oci.image.config.v1+json"),
        "layers": [blob(gzip.compress(d, 1), "application/vnd.oci.image.layer.v1.tar+gzip") if is_gzip else
                   blob(d, "application/vnd.oci.image.layer.v1.tar") for d in layers]}).encode()
    top = blob(manifest, "application/vnd.oci.image.manifest.v1+json")
    top["annotations"] = {"org.opencontainers.image.ref.name": name} if name else {}
    return {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
            "index.json": json.dumps({"schemaVersion": 2, "manifests": [top]}).encode(), **blobs}


def oci_archive(path, *layers, **fields):
    return write(path, layer([entry(name, data) for name, data in oci_files(*layers, **fields).items()]))


def oci_layout(path, *layers, **fields):
    for name, data in oci_files(*layers, **fields).items():
        os.makedirs(os.path.dirname(f"{path}/{name}"), exist_ok=True)
        write(f"{path}/{name}", data)
    return path
