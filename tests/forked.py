"""Run command lines in forked children of one preloaded process: a fraction of the processor time of a real start.

What runs is the whole command line in a process of its own, with its own environment, directory and streams; only the
start of the interpreter and the imports are shared. What depends on those runs as `World.run` does.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

SERVER = os.path.join(os.path.dirname(__file__), "forked_server.py")


class Forks:
    """The client of `forked_server.py`; calls from several threads run side by side."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            subprocess.run(
                [sys.executable, "-P", SERVER, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},  # what is fixed when an interpreter starts
                cwd="/",
                check=True,
            )

    def run(
        self, words: list[str], *, env: dict[str, str], cwd: str, stdin: bytes = b"", deadline_s: float
    ) -> subprocess.CompletedProcess[bytes]:
        """One command line to its end; `stdin` fits into a pipe."""
        request = os.memfd_create("request")  # a packet would be too small for some
        with open(request, "w", encoding="utf-8", closefd=False) as file:
            json.dump({"words": words, "env": env, "cwd": cwd}, file)
        give, out, err, report = (os.pipe() for _ in range(4))
        os.write(give[1], stdin)
        theirs = [request, give[0], out[1], err[1], report[1]]
        socket.send_fds(self._channel, [b"run"], theirs)
        for fd in (give[1], *theirs):
            os.close(fd)
        found = _read_all((out[0], err[0], report[0]), time.monotonic() + deadline_s)
        _, status = found[report[0]].split()
        return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(int(status)), found[out[0]], found[err[0]])

    def close(self) -> None:
        """The server ends when nobody can ask it any more."""
        self._channel.close()


def _read_all(fds: tuple[int, ...], deadline: float) -> dict[int, bytes]:
    """Until the last writer of each has closed it; past the deadline the command is killed. The last fd reports."""
    found = dict.fromkeys(fds, b"")
    with selectors.DefaultSelector() as selector:
        for fd in fds:
            selector.register(fd, selectors.EVENT_READ)
        try:
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    os.kill(int(found[fds[-1]].split()[0]), signal.SIGKILL)
                    raise TimeoutError(f"a command has not ended; so far it printed {found}")
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    found[key.fd] += data
                    if not data:
                        selector.unregister(key.fd)
        finally:
            for fd in fds:
                os.close(fd)
    return found


@functools.cache
def forks() -> Forks:
    """The one of this process, started when it is first needed."""
    made = Forks()
    atexit.register(made.close)
    return made
