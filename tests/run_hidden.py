#!/usr/bin/env python3
"""What a pod on the host's files may read, generated: every place × every mode, as the pod's root; credentials of homes; links, hard
links, bind mounts; files that come, open and close while the pod runs; and that software is there. The fixture lies in a mount namespace
of the test's own: /opt, /srv, /usr/local, /mnt, /home and a new directory of "/" are file systems in memory there."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import PUMICE, Suite
from runs import has_mount_namespaces, job, same, sh, skip, task

HERE = os.path.dirname(os.path.abspath(__file__))
WORD = "word-of-a-secret"
PLACES = ("/opt", "/srv", "/usr/local", "/mnt", "/var/lib", "/etc")
MODES = (0o644, 0o604, 0o640, 0o600, 0o400, 0o000, 0o660, 0o755, 0o750, 0o700)
DIR_MODES = (0o755, 0o711, 0o750, 0o700, 0o770)
ORDINARY = 54321

# Logins as programs keep them, most with mode 0644: in a home each is a secret, whatever its mode.
CREDENTIALS = """
.ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/key .aws/credentials .azure/msal_token_cache.json .kube/config .docker/config.json .netrc
.git-credentials .config/git/credentials .pgpass .my.cnf .npmrc .yarnrc .yarnrc.yml .pypirc .pip/pip.conf .config/pip/pip.conf .s3cfg .boto
.kaggle/kaggle.json .databrickscfg .vault-token .terraformrc .terraform.d/credentials.tfrc.json .password-store/a.gpg .rhosts .Xauthority
.bash_history .zsh_history .python_history .psql_history .config/fish/fish_variables .local/share/fish/fish_history .bashrc .profile .env
.mozilla/firefox/x.default/storage/default/https+++a/ls/data.sqlite .config/chromium/Default/Network/deep/er/Cookies
.config/google-chrome/Default/Login .thunderbird/x/logins.json .cargo/credentials .cargo/credentials.toml .gem/credentials .bundle/config
.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .sbt/1.0/credentials.sbt .ivy2/.credentials .composer/auth.json
.config/composer/auth.json .config/openstack/clouds.yaml .config/gcloud/credentials.db .config/gh/hosts.yml .config/glab-cli/config.yml .config/hub
.config/containers/auth.json .config/doctl/config.yaml .config/hcloud/cli.toml .config/rclone/rclone.conf .config/sops/age/keys.txt .config/op/config
.config/wandb/settings .config/github-copilot/hosts.json .config/pypoetry/auth.toml .config/NuGet/NuGet.Config .nuget/NuGet/NuGet.Config
.config/fly/config.yml .fly/config.yml .wrangler/config/default.toml .config/stripe/config.toml .config/configstore/firebase-tools.json
.config/heroku .jfrog/jfrog-cli.conf.v6 .conan2/credentials.json .conan/.conan.db .ansible/vault-pass .vault_pass .cache/huggingface/token
.cache/huggingface/stored_tokens .huggingface/token .config/huggingface/token .openai/auth.json .config/openai.json .anthropic/key .codex/auth.json
.local/share/keyrings/login.keyring .local/share/kwalletd/kdewallet.kwl .local/state/pumice/x .local/share/python_keyring/keyring_pass.cfg
.julia/servers/x/auth.toml .condarc .continuum/anaconda-client/tokens/x .config/nix/nix.conf .Renviron .jupyter/jupyter_server_config.json
.local/share/jupyter/runtime/notebook_cookie_secret .dvc/config .mc/config.json .oci/config .bluemix/config.json .config/linode-cli .SSH/id_rsa
.AWS/credentials .a-program-of-next-year/token
""".split()

# What jobs need of the home of who starts them, however private.
SOFTWARE = """
.local/bin/tool .local/lib/python3.11/site-packages/m.py .cargo/bin/rg .rustup/settings.toml .pyenv/versions/3.12/bin/python .nvm/versions/node/v20/bin/node
.conda/envs/e/lib/data.bin .cache/huggingface/hub/models--x/blob .cache/torch/hub/x.pth .m2/repository/a/a.jar miniconda3/conda-meta/history
miniconda3/share/data.bin project/train.py project/lib/data.bin project/.venv/pyvenv.cfg project/.venv/share/data.bin project/deep/er/still/code.py
go/pkg/mod/x/data.bin bin/script R/lib/x.rdb
""".split()

# In a home that is closed to others, all of these are private, though their modes say nothing.
PRIVATE = "notes.txt project/data.csv project/.git/config Documents/taxes.pdf snap/firefox/common/profile/deep/cookies.sqlite project/a/b/c/d/e/f/g/h/i.py".split()


def write(path, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(f"{WORD} {path}\n")
    os.chmod(path, mode)


def make_place(top):
    """A file of each mode in a directory of each mode, and two levels below. Returns what others may read."""
    seen = []
    for dir_mode in DIR_MODES:
        for below in ("", "/x/y"):
            for mode in MODES:
                path = f"{top}/d{dir_mode:o}{below}/f{mode:o}"
                write(path, mode)
                if dir_mode & 1 and mode & 4:
                    seen.append(path)
        os.chmod(f"{top}/d{dir_mode:o}", dir_mode)
    return seen


def make_home(top, mode):
    for name in CREDENTIALS:
        write(f"{top}/{name}")
    for name in SOFTWARE:
        write(f"{top}/{name}", 0o600)
    os.chmod(f"{top}/bin/script", 0o700)
    for name in PRIVATE:
        write(f"{top}/{name}")
    os.chmod(top, mode)


def inside():
    """In the namespace: the fixture, a run, what its pod could read; as JSON for the test."""
    user = int(sys.argv[2])
    work = sys.argv[3]
    for place in (*PLACES[:4], "/home"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", place], check=True)
    for place in ("/etc", "/var/lib"):  # the rest of these is needed
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", os.path.join(place, sys.argv[4])], check=True)
    tops = [os.path.join(p, sys.argv[4]) if p in ("/etc", "/var/lib") else f"{p}/top" for p in PLACES]
    seen = [path for top in tops for path in make_place(top)]
    make_home("/home/me", 0o750)
    make_home("/home/open", 0o755)
    make_home("/home/other", 0o700)
    write("/srv/logins.json")
    write("/srv/kubeconfig")
    write("/srv/other-secret", 0o600)
    write("/opt/app/secret", 0o600)
    os.link("/opt/app/secret", "/opt/app/hard-link")
    os.symlink("secret", "/opt/app/link")
    os.symlink("/opt/top/d700", "/opt/app/link-to-closed")
    write("/opt/bound/secret", 0o640)
    write("/opt/bound/fine")
    os.makedirs("/mnt/bound")
    os.makedirs("/mnt/closed/disk")
    subprocess.run(["mount", "--bind", "/opt/bound", "/mnt/bound"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/mnt/closed/disk"], check=True)
    write("/mnt/closed/disk/file")
    os.chmod("/mnt/closed", 0o700)
    os.makedirs("/srv/late")
    os.makedirs("/srv/many")
    for i in range(20000):
        with open(f"/srv/many/{i}", "w"):
            pass
    write("/srv/many/last", 0o600)
    if user:
        for path in ("/home/me", work, "/srv/top", "/usr/local/top"):  # his own, and closed to others
            subprocess.run(["chown", "-R", f"{user}:{user}", path], check=True)
    names = [f"/home/{who}/{name}" for who in ("me", "open", "other") for name in (*CREDENTIALS, *SOFTWARE, *PRIVATE)]
    names += [f"{top}/d{d:o}{below}/f{m:o}" for top in tops for d in DIR_MODES for below in ("", "/x/y") for m in MODES]
    names += ["/srv/logins.json", "/srv/kubeconfig", "/srv/other-secret", "/opt/app/secret", "/opt/app/hard-link", "/opt/app/link", "/opt/app/link-to-closed/f644",
              "/mnt/bound/secret", "/mnt/bound/fine", "/opt/bound/fine", "/mnt/closed/disk/file", "/srv/many/last"]
    with open(f"{work}/names", "w") as f:
        f.write("\n".join(names) + "\n")
    script = f"""
while read -r f; do grep -s -q {WORD} "$f" && echo "read $f"; done < /names
grep -r -s -l {WORD} /opt/top /opt/app /srv/late /srv/top /srv/many /usr/local/top /mnt /home /etc /var/lib/{sys.argv[4]} | sed 's/^/read /'
echo ready; until [ -e /w/go ]; do sleep 0.1; done
for f in /srv/late/secret /srv/late/dir/inside /srv/late/open /srv/late/closes; do grep -s -q {WORD} $f && echo "late $f"; done
mkdir -p ~/.ssh && echo own > ~/.ssh/id_rsa && cat ~/.ssh/id_rsa; [ -e /home/other/x ] || echo fine"""
    volumes = [{"name": "w", "hostPath": {"path": work}}, {"name": "n", "hostPath": {"path": f"{work}/names"}}]
    write("/srv/late/closes")
    with open(f"{work}/job.json", "w") as f:
        json.dump(job("j", task("a", sh(script), pod={"volumes": volumes}, volumeMounts=[
            {"name": "w", "mountPath": "/w"}, {"name": "n", "mountPath": "/names"}])), f)
    process = subprocess.Popen([PUMICE, "run", "--quiet", "--no-record", "--timeout", "100s", "--state", f"{work}/state", "--image", "*=host", "--auth-file", "/srv/logins.json",
                                f"{work}/job.json"], stdout=subprocess.PIPE, text=True, user=user or None, group=user or None,
                               extra_groups=[] if user else None, cwd="/home/me/project",
                               env={**os.environ, "HOME": "/home/me", "KUBECONFIG": "/srv/kubeconfig"})
    got = []
    for line in process.stdout:
        got.append(line.split(" | ", 1)[-1].rstrip("\n"))
        if got[-1] == "ready":
            write("/srv/late/secret", 0o600)
            write("/srv/late/open")
            write("/srv/late/dir/inside")
            os.chmod("/srv/late/dir", 0o700)
            os.chmod("/srv/late/closes", 0o600)
            open(f"{work}/go", "w").close()
    print(json.dumps({"status": process.wait(), "lines": got, "seen": seen}))


def look(user):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as work:
        os.chmod(work, 0o755)
        name = f"pumice-test-{os.getpid()}"
        for place in ("/etc", "/var/lib"):
            os.mkdir(f"{place}/{name}")
        try:
            r = subprocess.run(["unshare", "-m", "--propagation", "private", sys.executable, os.path.abspath(__file__), "inside", str(user), work, name],
                               capture_output=True, text=True, timeout=300)
        finally:
            for place in ("/etc", "/var/lib"):
                shutil.rmtree(f"{place}/{name}")
        assert r.returncode == 0, r.stderr[-3000:]
        got = json.loads(r.stdout)
    same(got["status"], 0)
    for sign in ("Sanitizer", "runtime error:"):
        assert sign not in r.stderr, r.stderr
    return got


def check(user):
    got = look(user)
    lines, seen = got["lines"], set(got["seen"])
    if user:  # where something is mounted in /etc it is copied for him: what he can list
        seen = {p for p in seen if not (p.startswith("/etc/") and "/d711/" in p)}
    read = {line[5:] for line in lines if line.startswith("read ")} - {"/names"}
    read = {p for p in read if not p.startswith(("/w/", "/dev/", "/var/tmp/"))}
    homes = {p for p in read if p.startswith("/home/")}
    same(sorted(p for p in homes if p.startswith("/home/me/")), sorted(f"/home/me/{n}" for n in SOFTWARE))
    # In a home that others may enter: what they may read, and that does not begin with a dot.
    same(sorted(p for p in homes if p.startswith("/home/open/")), sorted(f"/home/open/{n}" for n in PRIVATE))
    same(sorted(p for p in homes if p.startswith("/home/other/")), [])
    want = seen | {"/mnt/bound/fine", "/opt/bound/fine", "/srv/late/closes"}
    same(sorted(read - homes - want), [])  # nothing more
    same(sorted(want - read), [])          # and nothing less
    late = [line[5:] for line in lines if line.startswith("late ")]
    same(late, ["/srv/late/open"])
    same([line for line in lines if line in ("own", "fine")], ["own", "fine"])


def as_root():
    check(0)


def as_an_ordinary_user():
    """His own files too: what he closed to others is closed to his pods."""
    from run_guard import may_be_ordinary
    if not may_be_ordinary():
        return skip("ordinary users may not make user namespaces here, or cannot reach the program")
    check(ORDINARY)


def every_row_is_tested():
    """A row of the table of software that is above a credential would show it."""
    with open(os.path.join(HERE, "..", "src", "node", "container", "hide_table.c")) as f:
        table = f.read()
    rows = re.findall(r'"([^"/][^"]*)",', table[table.index("const home[]"):table.index("const char *const *hide_shown_list")])
    assert len(rows) > 40, rows
    wrong = [(row, name) for row in rows for name in CREDENTIALS if name == row or name.startswith(row + "/")]
    same(wrong, [])


def main():
    suite = Suite()
    cases = [every_row_is_tested]
    if os.geteuid() == 0 and has_mount_namespaces():
        cases += [as_root, as_an_ordinary_user]
    for f in cases:
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(inside() if len(sys.argv) > 1 and sys.argv[1] == "inside" else main())
