"""The kernel's nftables in tests: is it there, and what if it fails, hangs or is missing?

Failing() stands between a run and the kernel: a seccomp filter hands every socket() for netfilter to this process, which lets it
pass, answers with an error or leaves it waiting. As a program it installs the filter, becomes the user and runs the rest of its
arguments:  netfilter.py SOCKET USER COMMAND …
"""
import array
import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import sys
import threading

NETLINK_NETFILTER, NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN = 12, 10, 16
AUDIT_ARCH, SYS_SOCKET, SYS_SECCOMP = {"x86_64": (0xC000003E, 41, 317), "aarch64": (0xC00000B7, 198, 277)}.get(platform.machine(), (0, 0, 0))
PR_SET_NO_NEW_PRIVS, SET_MODE_FILTER, NEW_LISTENER = 38, 1, 8
ALLOW, USER_NOTIF, CONTINUE = 0x7FFF0000, 0x7FC00000, 1
NOTIF_RECV, NOTIF_SEND = 0xC0502100, 0xC0182101
LOAD, UNLESS_EQUAL, RETURN = 0x20, 0x15, 0x06


def has_nftables():
    """False if this kernel has none; an ordinary user is not told."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as s:
            s.settimeout(5)
            s.send(struct.pack("=IHHIIBBH", 20, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN, 1, 1, 0, 0, 0, 0))
            _, kind, _, _, _, code = struct.unpack("=IHHIIi", s.recv(4096)[:20])
            return kind != 2 or -code not in (errno.EINVAL, errno.EOPNOTSUPP)
    except OSError:
        return False


class Failing:
    """A kernel whose nftables can be made to fail for what a run does beside its loop: its filter. 'missing': to everybody."""

    def __init__(self, path, fails=0, broken=False, hangs=False, missing=False):
        self.fails, self.broken, self.hangs, self.missing, self.calls = fails, broken, hangs, missing, 0
        self.path = path
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen(1)
        os.chmod(path, 0o777)
        threading.Thread(target=self.serve, daemon=True).start()

    def command(self, user):
        """What a run is to be started with."""
        return [sys.executable, os.path.abspath(__file__), self.path, str(user or 0)]

    def serve(self):
        while True:
            conn, _ = self.server.accept()
            with conn:
                _, control, _, _ = conn.recvmsg(1, socket.CMSG_SPACE(4))
            if control:
                threading.Thread(target=self.answer_all, args=(array.array("i", control[0][2])[0],), daemon=True).start()

    def answer_all(self, fd):
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        while True:
            if not any(events & select.POLLIN for _, events in poller.poll()):
                break  # nobody is left who could ask
            notif = bytearray(80)
            try:
                fcntl.ioctl(fd, NOTIF_RECV, notif)
            except OSError:
                continue  # whoever asked is gone
            number, tid = struct.unpack_from("=QI", notif)
            code = self.decide(tid)
            if code is None:
                continue
            try:
                fcntl.ioctl(fd, NOTIF_SEND, struct.pack("=QqiI", number, 0, -code, 0 if code else CONTINUE))
            except OSError:
                pass
        os.close(fd)

    def decide(self, tid):
        """An error, 0: none, or None: no answer at all."""
        try:
            with open(f"/proc/{tid}/comm") as f:
                is_filter = f.read().strip() == "pumice-filter"
        except OSError:
            return 0
        if self.missing:
            return errno.EPROTONOSUPPORT
        if not is_filter:
            return 0
        self.calls += 1
        if self.hangs:
            return None
        return errno.ENOTRECOVERABLE if self.broken or self.calls <= self.fails else 0


TROUBLE = os.strerror(errno.ENOTRECOVERABLE)


# ---- in the process that becomes the run ----

def install():
    """The listener's descriptor; -1."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = [(LOAD, 0, 0, 4), (UNLESS_EQUAL, 0, 7, AUDIT_ARCH), (LOAD, 0, 0, 0), (UNLESS_EQUAL, 0, 5, SYS_SOCKET), (LOAD, 0, 0, 16),
            (UNLESS_EQUAL, 0, 3, socket.AF_NETLINK), (LOAD, 0, 0, 32), (UNLESS_EQUAL, 0, 1, NETLINK_NETFILTER), (RETURN, 0, 0, USER_NOTIF),
            (RETURN, 0, 0, ALLOW)]
    text = b"".join(struct.pack("=HBBI", *line) for line in code)
    held = ctypes.create_string_buffer(text, len(text))
    program = struct.pack("@HP", len(code), ctypes.addressof(held))
    if os.getuid() != 0:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return libc.syscall(SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER, program) if SYS_SECCOMP else -1


def main():
    path, user, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        fd = install()
        if fd < 0:
            sys.exit("netfilter.py: seccomp does not let us see system calls")
        socket.send_fds(s, [b"x"], [fd])
    os.close(fd)
    if user:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
