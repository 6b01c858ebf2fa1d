#!/usr/bin/env python3
"""`pumice server user` and `pumice server token`: certificates judged by openssl and by Python's TLS, files by their modes."""
import base64
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import threading

from harness import Suite, pumice

DIR = tempfile.mkdtemp(prefix="pumice-users.") if __name__ == "__main__" else ""
DATA = os.path.join(DIR, "data")


def path(name):
    return os.path.join(DIR, name)


def mode(name):
    return stat.S_IMODE(os.stat(name).st_mode)


def user(*args, fails=False, data=DATA):
    run = pumice("server", "user", *args, "--data-dir", data)
    assert (run.returncode != 0) == fails, (args, run.returncode, run.stderr)
    return run


def users():
    with open(os.path.join(DATA, "pki", "users.json")) as f:
        return {u["name"]: u for u in json.load(f)["users"]}


def field(text, name):
    """Of a kubeconfig, as the bytes it stands for."""
    return base64.b64decode(re.search(rf"{name}: (\S+)", text)[1])


def openssl(*args, stdin=None):
    run = subprocess.run(["openssl", *args], input=stdin, capture_output=True)
    assert run.returncode == 0, (args, run.stderr)
    return run.stdout.decode()


def unpack(kubeconfig, name):
    """The parts of a kubeconfig as files; their paths."""
    with open(kubeconfig) as f:
        text = f.read()
    parts = {}
    for part in ("certificate-authority", "client-certificate", "client-key"):
        parts[part] = path(f"{name}.{part}")
        with open(parts[part], "wb") as f:
            f.write(field(text, part + "-data"))
    return parts["certificate-authority"], parts["client-certificate"], parts["client-key"]


def certificates():
    out = path("ann.kubeconfig")
    run = user("add", "ann", "--edit", "--namespace", "lab", "--namespace", "two", "--group", "dev", "--expires", "48h", "-o", out)
    assert "ann: edit in lab, two; certificate valid until" in run.stderr and not run.stdout, run
    assert mode(out) == 0o600 and mode(DATA) == 0o700 and mode(os.path.join(DATA, "pki")) == 0o700
    for name in os.listdir(os.path.join(DATA, "pki")):
        assert mode(os.path.join(DATA, "pki", name)) == 0o600, name
    with open(out) as f:
        assert "namespace: lab" in f.read()
    ca, cert, key = unpack(out, "ann")
    openssl("verify", "-CAfile", ca, "-purpose", "sslclient", "-x509_strict", cert)
    assert subprocess.run(["openssl", "verify", "-CAfile", ca, "-purpose", "sslserver", cert], capture_output=True).returncode != 0
    subject = openssl("x509", "-in", cert, "-noout", "-subject", "-nameopt", "multiline")
    assert re.search(r"commonName += ann\n", subject + "\n") and re.search(r"organizationName += dev\n", subject), subject
    assert f"pumice:uid:{users()['ann']['uid']}" in subject, subject
    openssl("x509", "-in", cert, "-noout", "-checkend", str(47 * 3600))
    assert subprocess.run(["openssl", "x509", "-in", cert, "-noout", "-checkend", str(49 * 3600)], capture_output=True).returncode == 1
    assert "P-256" in openssl("pkey", "-in", key, "-noout", "-text") or "prime256v1" in openssl("pkey", "-in", key, "-noout", "-text")
    assert "NIST CURVE: P-256" in openssl("x509", "-in", ca, "-noout", "-text") and "CA:TRUE" in openssl("x509", "-in", ca, "-noout", "-text")


def handshake():
    """A TLS server that asks for a certificate of our CA takes ann's, and nobody's of another CA."""
    ca, cert, key = unpack(path("ann.kubeconfig"), "ann")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path("s.key"), "-out", path("s.crt"),
            "-subj", "/CN=localhost", "-days", "2")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path("e.key"), "-out", path("e.crt"),
            "-subj", "/CN=ann/O=system:masters", "-days", "2")

    def connect(crt, k):
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(path("s.crt"), path("s.key"))
        server.load_verify_locations(ca)
        server.verify_mode = ssl.CERT_REQUIRED
        client = ssl.create_default_context(cafile=path("s.crt"))
        client.check_hostname = False
        client.load_cert_chain(crt, k)
        a, b = socket.socketpair()
        seen = []

        def serve():
            try:
                with server.wrap_socket(a, server_side=True) as s:
                    seen.append(dict(x[0] for x in s.getpeercert()["subject"] if x[0][0] == "commonName"))
                    s.sendall(b"hello")
            except ssl.SSLError:
                a.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with client.wrap_socket(b) as s:
                s.recv(5)
        except (ssl.SSLError, OSError):
            b.close()
        thread.join()
        return seen

    assert connect(cert, key) == [{"commonName": "ann"}]
    assert connect(path("e.crt"), path("e.key")) == []


def tokens():
    run = user("add", "bob", "--view", "--token", "--server", "https://gpu.example.org:6443")
    assert "server: https://gpu.example.org:6443" in run.stdout and "token valid until" in run.stderr, run
    token = re.search(r"token: (\S+)", run.stdout)[1]
    assert re.fullmatch(r"pumice_[\w-]{43}", token)
    run = pumice("server", "token", "bob", "--data-dir", DATA, "--expires", "1h")
    assert run.returncode == 0 and re.fullmatch(r"pumice_[\w-]{43}\n", run.stdout) and token not in run.stdout, run
    with open(os.path.join(DATA, "pki", "users.json")) as f:
        text = f.read()
    assert token not in text and len(users()["bob"]["tokens"]) == 2
    run = pumice("server", "token", "--data-dir", DATA)
    assert run.returncode == 0 and users()["admin"]["groups"] == ["system:masters"], run
    assert pumice("server", "token", "nobody", "--data-dir", DATA).returncode == 1


def listing():
    lines = user("list").stdout.splitlines()
    assert lines[0].split("  ")[0] == "NAME" and [line.split()[0] for line in lines[1:]] == ["admin", "ann", "bob"], lines
    assert re.search(r"ann +edit +lab,two +dev +20\d\d-\S+ +0", lines[2]), lines
    assert re.search(r"bob +view +all +- +- +2", lines[3]), lines


def removal():
    first = users()["ann"]["uid"]
    user("remove", "ann")
    assert "ann" not in users()
    assert 'user "ann" not found' in user("remove", "ann", fails=True).stderr
    user("add", "ann", "--view")
    assert users()["ann"]["uid"] != first


def rotation():
    """Other credentials, the same role; what there was before is nobody's."""
    before, out = users()["bob"], path("bob.rotated")
    run = user("rotate", "bob", "-o", out)
    after = users()["bob"]
    assert "revoked the old credentials" in run.stderr and mode(out) == 0o600
    assert after["uid"] != before["uid"] and not after.get("tokens") and after["role"] == before["role"], after
    with open(out) as f:
        subject = openssl("x509", "-noout", "-subject", "-nameopt", "multiline", stdin=field(f.read(), "client-certificate-data"))
    assert f"pumice:uid:{after['uid']}" in subject, subject
    assert "rotate changes credentials only" in user("rotate", "bob", "--admin", fails=True).stderr
    assert 'user "nobody" not found' in user("rotate", "nobody", fails=True).stderr
    for args in ((), ("x",), ("ca", "ca")):
        assert pumice("server", "rotate", *args, "--data-dir", DATA).returncode == 2
    assert "no server data in" in pumice("server", "rotate", "ca", "--data-dir", path("nowhere")).stderr


def mistakes():
    for args, words in ((["add", "ann"], "already exists"), (["add", "x y"], "NAME"), (["add", "system:x"], "NAME"),
                        (["add", "new", "--edit", "--view"], "use only one"), (["add", "new", "-n", "lab"], "--namespace"),
                        (["add", "new", "--view", "-n", "A_B"], "--namespace"), (["add", "new", "--group", "system:nodes"], "--group"),
                        (["add", "new", "--expires", "soon"], "--expires"), (["add", "new", "--expires", "1s"], "--expires"),
                        (["add", "new", "--unix-uid", "root"], "--unix-uid"), (["add", "new", "-o", path("ann.kubeconfig")], "--output"),
                        (["add", "new", "-o", path("no/such/dir")], "--output"), (["dance"], "add, list, rotate or remove"), ([], "add, list, rotate or remove"),
                        (["add"], "NAME"), (["list", "x"], "too many")):
        run = user(*args, fails=True)
        assert words in run.stderr, (args, run.stderr)
    assert "new" not in users()  # what failed half-way is taken back
    assert "no server data in" in user("list", fails=True, data=path("nowhere")).stderr and not os.path.exists(path("nowhere"))
    os.chmod(os.path.join(DATA, "pki"), 0o755)
    assert "chmod 700" in user("list", fails=True).stderr
    os.chmod(os.path.join(DATA, "pki"), 0o700)
    os.chmod(os.path.join(DATA, "pki", "users.json"), 0o644)
    assert "users.json" in user("list", fails=True).stderr
    os.chmod(os.path.join(DATA, "pki", "users.json"), 0o600)


def together():
    """Twelve at a time: everybody is there afterwards."""
    running = [subprocess.Popen([os.environ["PUMICE"], "server", "user", "add", f"many{i}", "--view", "--data-dir", DATA], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) for i in range(12)]
    assert [p.wait() for p in running] == [0] * 12
    assert {f"many{i}" for i in range(12)} <= set(users())


def main():
    suite = Suite()
    for case in (certificates, handshake, tokens, listing, removal, rotation, mistakes, together):
        suite.case(case.__name__, case)
    subprocess.run(["rm", "-rf", DIR], check=True)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
