"""A program at a terminal of its own: what it wrote there, and keys."""
import fcntl
import os
import pty
import select
import struct
import termios
import time


class Terminal:
    def __init__(self, *argv, rows=24, columns=80, user=None, env=None):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update({"TERM": "xterm", **(env or {})})
            if user:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            os.execv(argv[0], argv)

    def read(self, timeout):
        """False: nothing more will come."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return True
        try:
            part = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += part.decode(errors="replace")
        return bool(part)

    def until(self, piece, after=0, patience_s=60):
        deadline = time.monotonic() + patience_s
        while piece not in self.text[after:]:
            assert time.monotonic() < deadline and self.read(1), f"{piece!r} never came:\n{self.text}"
        return self

    def keys(self, keys):
        os.write(self.fd, keys)
        return self

    def end(self):
        """To its end; the exit status."""
        while self.read(60):
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        assert "Sanitizer" not in self.text and "runtime error:" not in self.text, self.text
        return status
