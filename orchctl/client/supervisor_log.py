"""The supervisor's log, looked at through its files: it is most wanted when no supervisor answers.

It rolls: `supervisor.log`, and before it `.1` and `.2`.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from orchctl.paths import Root

LOOK_S = 0.2
_LINE = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:,\d+)?) (supervisor|zygote) (\d+): (.*)")


class Log:
    """Lines without their newlines, as bytes; `last` first gives those that are there, `follow` those that come."""

    def __init__(self, root: Root) -> None:
        self._path = root.log
        self._files: list[BinaryIO] = []
        for path in (f"{self._path}.2", f"{self._path}.1", self._path):
            with contextlib.suppress(FileNotFoundError):
                self._files.append(open(path, "rb"))  # noqa: SIM115 - closed by close()
        self._rest = b""

    def close(self) -> None:
        """Let the files go."""
        for file in self._files:
            file.close()
        self._files = []

    def last(self, count: int | None) -> list[bytes]:
        """The last lines, or all, over all files; one that is not whole yet is left for later."""
        data = b"".join(file.read() for file in self._files)
        *lines, self._rest = data.split(b"\n")
        return lines if count is None else lines[max(0, len(lines) - count) :]

    def follow(self) -> Iterator[bytes]:
        """What comes, for ever, also after it has rolled."""
        current = self._files[-1] if self._files else None
        while True:
            rolled = self._rolled(current.fileno()) if current is not None else os.path.exists(self._path)
            data = current.read() if current is not None else b""  # after the look: what it says then is all
            *lines, self._rest = (self._rest + data).split(b"\n")
            yield from lines
            if rolled:
                self.close()
                current = open(self._path, "rb")  # noqa: SIM115 - closed by close()
                self._files = [current]
            elif not lines:
                time.sleep(LOOK_S)  # the standard library has no event for a file that grows

    def _rolled(self, fd: int) -> bool:
        try:
            return not os.path.samestat(os.fstat(fd), os.stat(self._path))
        except FileNotFoundError:
            return False


def parsed(line: bytes) -> dict[str, Any]:
    """A line as an object: who says what when, as far as it has that form."""
    text = line.decode(errors="replace")
    found = _LINE.fullmatch(text)
    if found is None:
        return {"time": None, "process": None, "pid": None, "text": text}
    return {"time": found[1].replace(" ", "T"), "process": found[2], "pid": int(found[3]), "text": found[4]}
