"""Run command lines in forked children of one preloaded process: a tenth of the processor time of a real start."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.world import DEADLINE_S

SERVER = os.path.join(os.path.dirname(__file__), "server.py")


@dataclass(frozen=True)
class Done:
    """How a command line ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


class Forks:
    """The client of `server.py`."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def run(self, words: list[str], *, env: dict[str, str], cwd: str, stdin: str | None = None) -> Done:
        """One command line to its end."""
        give, take = os.pipe(), (os.pipe(), os.pipe())
        request = json.dumps({"words": words, "env": env, "cwd": cwd}).encode()
        socket.send_fds(self._channel, [request], [give[0], take[0][1], take[1][1]])
        for fd in (give[0], take[0][1], take[1][1]):
            os.close(fd)
        pid = int(self._answer())
        os.write(give[1], (stdin or "").encode())  # fits into the pipe
        os.close(give[1])
        try:
            stdout, stderr = _read_all(take[0][0], take[1][0])
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._answer()
            raise
        return Done(os.waitstatus_to_exitcode(int(self._answer())), stdout, stderr)

    def _answer(self) -> bytes:
        answer = self._channel.recv(64)
        assert answer, "the process that forks has ended"
        return answer


def _read_all(*fds: int) -> list[str]:
    """Until the last writer has closed each."""
    found = dict.fromkeys(fds, b"")
    end = time.monotonic() + DEADLINE_S
    with selectors.DefaultSelector() as selector:
        for fd in fds:
            selector.register(fd, selectors.EVENT_READ)
        try:
            while selector.get_map():
                ready = selector.select(end - time.monotonic())
                if not ready:
                    raise TimeoutError(f"it has not ended; so far it printed {found}")
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    found[key.fd] += data
                    if not data:
                        selector.unregister(key.fd)
        finally:
            for fd in fds:
                os.close(fd)
    return [data.decode(errors="backslashreplace") for data in found.values()]


@contextlib.contextmanager
def forks(env: dict[str, str]) -> Iterator[Forks]:
    """A server, started in `env`, for as long as needed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            server = subprocess.Popen(
                [sys.executable, "-P", SERVER, str(theirs.fileno())],
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        try:
            yield Forks(ours)
        finally:
            ours.close()
            server.wait(DEADLINE_S)
