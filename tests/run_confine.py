#!/usr/bin/env python3
"""No process that a container sees may more than the container. A container with SYS_PTRACE can become any of them, so what they
could do it can do: process 1, the pause process of a pod that shares processes, whoever builds a container, and whoever runs a hook
or a probe in one. One program looks at all of them, as fast as it can, through all of a pod's life; another one tries it."""
import json
import os
import signal
import subprocess
import sys
import tempfile

from harness import PUMICE, Suite
from runs import UNFILTERED, Run, has, job, run, same, sh, skip, task

ORDINARY = 54321  # a user that nothing belongs to

WATCH = r"""
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIELDS = 7, SEEN = 64 };
static const char *const names[FIELDS] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp" };
struct rights { char name[32]; unsigned long long field[FIELDS]; unsigned uid, gid; };
static char seen[SEEN][160];

static void say(const char *name, const char *what, const char *value)
{
    char line[160];
    snprintf(line, sizeof(line), "%s: %s %s", name, what, value);
    for (int i = 0; i < SEEN; i++) {
        if (!seen[i][0]) { memcpy(seen[i], line, sizeof(line)); puts(line); fflush(stdout); return; }
        if (!strcmp(seen[i], line)) return;
    }
}

static int look(const char *pid, struct rights *r)
{
    char path[320], text[4096], *at;
    snprintf(path, sizeof(path), "/proc/%s/status", pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) return -1;
    text[n] = 0;
    if (strstr(text, "State:\tZ") || strstr(text, "State:\tX")) return -1;
    if (sscanf(text, "Name:\t%31[^\n]", r->name) != 1) return -1;
    for (int i = 0; i < FIELDS; i++) {
        if (!(at = strstr(text, names[i]))) return -1;
        r->field[i] = strtoull(at + strlen(names[i]) + 1, NULL, i < 5 ? 16 : 10);
    }
    at = strstr(text, "Uid:"); r->uid = (unsigned)strtoul(at + 4, NULL, 10);
    at = strstr(text, "Gid:"); r->gid = (unsigned)strtoul(at + 4, NULL, 10);
    return 0;
}

/* What leads out of the container: descriptors, and variables of whoever started all this. */
static void leaks(const char *pid, const char *name, const char *secret)
{
    char path[700], link[256], text[65536];
    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (n > 0 && memmem(text, (size_t)n, secret, strlen(secret))) say(name, "environ", "has it");
    if (strncmp(name, "pumice", 6)) return;
    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, e->d_name);
        n = readlink(path, link, sizeof(link) - 1);
        if (n > 0) link[n] = 0;
        if (n <= 0 || !strncmp(link, "socket:", 7) || !strncmp(link, "pipe:", 5) || !strcmp(link, "/dev/null")) continue; /* its streams */
        struct rights now; /* one that became the container's program meanwhile opens its own libraries */
        if (look(pid, &now) == 0 && !strcmp(now.name, name)) say(name, "fd", link);
    }
    if (d) closedir(d);
}

int main(int argc, char **argv)
{
    struct timespec now, end;
    struct rights own, r;
    char text[64];
    if (argc < 3 || look("self", &own) < 0) return 1;
    signal(SIGTERM, SIG_IGN);
    unsigned long long bound = own.field[3];
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += atoi(argv[1]);
    DIR *d = opendir("/proc");
    do {
        rewinddir(d);
        for (struct dirent *e; (e = readdir(d));) {
            if (e->d_name[0] < '1' || e->d_name[0] > '9' || look(e->d_name, &r) < 0) continue;
            for (int i = 0; i < FIELDS; i++) {
                snprintf(text, sizeof(text), i < 5 ? "%016llx" : "%llu", r.field[i]);
                if (i < 5 ? r.field[i] & ~bound : r.field[i] < own.field[i]) say(r.name, names[i], text);
            }
            snprintf(text, sizeof(text), "%u:%u", r.uid, r.gid);
            if (argc == 3 && (r.uid != own.uid || r.gid != own.gid) && r.uid != 65534) say(r.name, "is", text);
            leaks(e->d_name, r.name, argv[2]);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    puts("watched");
    return 0;
}
"""

# Any process that may be traced executes a shell, which tells what it is allowed.
INJECT = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
static void poke(pid_t pid, unsigned long at, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        long word = 0;
        memcpy(&word, (const char *)from + i, n - i < 8 ? n - i : 8);
        if (ptrace(PTRACE_POKEDATA, pid, at + i, word) < 0) { printf("poke: %s\n", strerror(errno)); exit(0); }
    }
}
int main(int argc, char **argv)
{
    struct user_regs_struct regs;
    struct { char shell[8], flag[8], script[64]; unsigned long argv[4]; } words = { "/bin/sh", "-c", "exec cat /proc/self/status > /out/got", { 0 } };
    pid_t pid = atoi(argv[1]);
    int status;
    if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0 || waitpid(pid, &status, __WALL) != pid) return printf("attach: %s\n", strerror(errno)), 0;
    if (ptrace(PTRACE_GETREGS, pid, 0, &regs) < 0) return printf("registers: %s\n", strerror(errno)), 0;
    unsigned long at = (regs.rsp - 4096) & ~15UL;
    words.argv[0] = at; words.argv[1] = at + 8; words.argv[2] = at + 16;
    poke(pid, at, &words, sizeof(words));
    poke(pid, regs.rip & ~7UL, "\x90\x90\x90\x90\x90\x90\x0f\x05", 8);
    regs.rip = regs.rip & ~7UL;
    regs.rax = 59; regs.orig_rax = -1UL; regs.rdi = at; regs.rsi = at + 80; regs.rdx = 0;
    if (ptrace(PTRACE_SETREGS, pid, 0, &regs) < 0) return printf("set: %s\n", strerror(errno)), 0;
    puts("injected");
    fflush(stdout); /* process 1 may end, and we with it */
    return ptrace(PTRACE_DETACH, pid, 0, 0) < 0;
}
"""

HARD = {"allowPrivilegeEscalation": False, "seccompProfile": {"type": "RuntimeDefault"}}
TRACER = {"capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]}, **HARD}
SECRET = "word-of-the-shell-that-started-it"


def compile_all(d, **sources):
    os.chmod(d, 0o755)  # what others may not read is hidden
    for name, source in sources.items():
        subprocess.run(["cc", "-w", "-O2", "-D_GNU_SOURCE", "-o", f"{d}/{name}", "-x", "c", "-"], input=source, text=True, check=True)


def probes():
    """Everything that runs a command in a container."""
    command = {"exec": {"command": ["/bin/true"]}}
    return {"livenessProbe": {"periodSeconds": 1, **command}, "readinessProbe": {"periodSeconds": 1, **command},
            "lifecycle": {"postStart": command, "preStop": command}}


def watched(d, user=None, pod=None, context=None, options=(), other=(), own_ids="", seconds=4):
    """What the watcher of one container found."""
    main = {"name": "main", "image": "x", "command": [f"{d}/watch", str(seconds), SECRET, *own_ids], "securityContext": context, **probes()}
    spec = {"containers": [main, *other], **(pod or {})}
    r = run(job("j", task("a", [], pod=spec)), *options, user=user, env={"PUMICE_TEST_WORD": SECRET}).done()
    return sorted(set(r.lines("a-0", "main")))


def restarting(context):
    """A container that is made again and again beside another one."""
    return {"name": "other", "image": "x", "command": sh("sleep 0.05"), "securityContext": context, "restartPolicy": "Always"}


def rights():
    """Of every process, in every kind of pod, at every moment."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        compile_all(d, watch=WATCH)
        for context in (TRACER, {"capabilities": {"add": ["SYS_PTRACE"]}}, {**TRACER, "runAsUser": 1234, "runAsGroup": 1234}):
            same((context, watched(d, context=context)), (context, ["watched"]))


def rights_shared():
    """Processes of a pod that shares them, and one whose containers are made while others look."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        compile_all(d, watch=WATCH)
        pod = {"shareProcessNamespace": True, "initContainers": [restarting(TRACER)]}
        same(watched(d, pod=pod, context=TRACER), ["watched"])


def rights_with_a_runtime():
    """The programs of a runtime itself are not ours to judge; what we leave in the container is."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        compile_all(d, watch=WATCH)
        for runtime in filter(has, ("runc", "crun")):
            for pod in ({}, {"shareProcessNamespace": True}):
                got = [line for line in watched(d, pod=pod, context=TRACER, options=("--runtime", runtime)) if not line.startswith(("runc", "crun", "3"))]
                same((runtime, pod, got), (runtime, pod, ["watched"]))


def become_others():
    """The attack itself, on process 1 and on the pause process."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        compile_all(d, inject=INJECT)
        for name, shares in (("one", False), ("pause", True)):
            os.mkdir(f"{d}/{name}", 0o777)
            os.chmod(f"{d}/{name}", 0o777)
            pod = {"shareProcessNamespace": shares, "volumes": [{"name": "v", "hostPath": {"path": f"{d}/{name}"}}]}
            run(job("j", task("a", sh(f"{d}/inject 1 > /out/said; sleep 1"), pod=pod, securityContext=TRACER,
                              volumeMounts=[{"name": "v", "mountPath": "/out"}])))
            same((name, open(f"{d}/{name}/said").read()), (name, "injected\n"))
            if not os.path.exists(f"{d}/{name}/got"):
                continue  # there is no shell where it is
            for line in open(f"{d}/{name}/got"):
                field, _, value = line.partition(":")
                if field.startswith("Cap"):
                    assert int(value, 16) & ~(1 << 19) == 0, (name, line)
                if field in ("NoNewPrivs", "Seccomp"):
                    same((name, field, int(value)), (name, field, 1 if field == "NoNewPrivs" else 2))


def signal_for_another_user():
    """SIGTERM reaches a program that has changed its user, though process 1 may not send it: the pod ends before its time of grace."""
    context = {"capabilities": {"drop": ["ALL"], "add": ["SETUID", "SETGID"]}, **HARD}
    script = f"trap 'echo ended; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    pod = {"terminationGracePeriodSeconds": 60}
    r = Run(job("j", task("a", ["/usr/bin/setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", *sh(script)], pod=pod, securityContext=context)))
    r.until_line("up").signal(signal.SIGTERM).end(30)
    same(r.lines("a-0"), ["up", "ended"])


FILL = """
import os, pty, resource
def count(make):
    n = 0
    try:
        while n < 100000: make(n); n += 1
    except OSError: pass
    return n
print("files", count(lambda n: os.close(os.open(f"/dev/shm/{n}", os.O_CREAT | os.O_WRONLY))))
print("memory", count(lambda n: os.close(os.open(f"/memory/{n}", os.O_CREAT | os.O_WRONLY))))
print("terminals", count(lambda n: os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)))
"""


def bounds():
    """What takes the kernel's memory and is no byte of any file."""
    pod = {"volumes": [{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]}
    r = run(job("j", task("a", ["/usr/bin/python3", "-c", FILL], pod=pod, volumeMounts=[{"name": "m", "mountPath": "/memory"}]))).done()
    got = {name: int(n) for name, n in (line.split() for line in r.lines("a-0"))}
    assert 16000 <= got["files"] <= 16384 and 16000 <= got["memory"] <= 16384 and 200 <= got["terminals"] <= 256, got


def limited(user, limit):
    """What it says goes to pipes: a file could not grow."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/job.json", "w") as f:
            json.dump(job("j", task("a", sh("echo hi"))), f)
        if user:
            os.chown(d, user, user)
        return subprocess.run(["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", PUMICE, "run", "--quiet", "--no-record", *UNFILTERED, "--state", f"{d}/state",
                               f"{d}/job.json"], user=user, group=user, extra_groups=[] if user else None, capture_output=True, text=True, timeout=90)


def limits_of_the_shell():
    """A run under any limit works, or says which limit is too low. (Root may raise it, unless it is in a container itself.)"""
    cases = [*((f"-n {n}", n >= 256, "open files is too low") for n in (4, 5, 6, 8, 10, 16, 17, 24, 32, 48, 64, 255, 256)),
             ("-f 0", False, "the file size limit of 0 bytes is too low"), ("-f 1", False, "the file size limit of"), ("-f 1000", True, "")]
    for user in (None, *([ORDINARY] if may_be_ordinary() else [])):
        for limit, must_work, word in cases:
            r = limited(user, limit)
            if r.returncode == 0 or must_work:
                same((user, limit, r.stdout), (user, limit, "a-0 | hi\n"))
            else:  # the loader of libraries comes first
                assert word in r.stderr or "error while loading shared libraries" in r.stderr, (user, limit, r.returncode, r.stderr)


def may_be_ordinary():
    try:
        return all(subprocess.run(command, user=ORDINARY, group=ORDINARY, extra_groups=[], capture_output=True).returncode == 0
                   for command in (["unshare", "-Ur", "true"], [PUMICE, "version"]))
    except PermissionError:
        return False


def main():
    suite = Suite()
    if os.geteuid() != 0 or not has("cc"):
        skip("attacks as root of the machine: not root, or no compiler")
        return 77
    cases = [rights, rights_shared, rights_with_a_runtime, signal_for_another_user, bounds, limits_of_the_shell]
    if os.uname().machine == "x86_64":
        cases.append(become_others)
    for f in cases:
        if len(sys.argv) == 1 or f.__name__ in sys.argv:
            suite.case(f.__name__, f)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
