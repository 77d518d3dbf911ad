"""A shell as a person has it, on a terminal. Texts are typed, and its prompt tells their status."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping

from tests.conformance.dialects import Dialect
from tests.world import DEADLINE_S

_END = re.compile(rb"=end-(\d+)=")


class PlainShell:
    """One of a dialect's kind; its HOME is `env`'s."""

    def __init__(self, dialect: Dialect, env: Mapping[str, str]) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(env["HOME"])
            os.execvpe(dialect.plain[0], dialect.plain, dict(env))
        self._seen = b""
        self._type(f"{dialect.first}; {dialect.alone}; stty -echo; PS1='=end-''$?='")
        self._next()

    def run(self, text: str) -> tuple[int, bytes]:
        """Its status and its output."""
        self._type(text)
        return self._next()

    def close(self) -> None:
        """Gone, with what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGHUP)
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)

    def _type(self, line: str) -> None:
        os.write(self._terminal, line.encode() + b"\n")

    def _next(self) -> tuple[int, bytes]:
        """Up to the next prompt: an echo of the first line shows none, because of its quotes."""
        until = time.monotonic() + DEADLINE_S
        while (end := _END.search(self._seen)) is None:
            left = max(0.0, until - time.monotonic())
            assert select.select([self._terminal], [], [], left)[0], self._seen
            self._seen += os.read(self._terminal, 65536)
        output, self._seen = self._seen[: end.start()], self._seen[end.end() :]
        return int(end[1]), output.replace(b"\r\n", b"\n")
