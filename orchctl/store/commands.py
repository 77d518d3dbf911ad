"""The commands of one session on disk: `commands.jnl`, and the files that a shell sources.

The begin of a command is written before a byte of it is typed, so that the next supervisor can
finish what this one began.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from orchctl.core import journal, layout
from orchctl.store.appending import append


class CommandStore:
    """Below one session's directory."""

    def __init__(self, folder: str) -> None:
        self.shell = f"{folder}/{layout.SHELL}"
        self._journal = f"{folder}/{layout.COMMANDS}"

    def append(self, record: dict[str, Any]) -> None:
        """The begin or the end of a command."""
        append(self._journal, record)

    def read(self, offset: int = 0) -> journal.Decoded:
        """The records from `offset` on, oldest first."""
        try:
            with open(self._journal, "rb") as file:
                file.seek(offset)
                return journal.decode(file.read(), offset=offset)
        except FileNotFoundError:
            return journal.Decoded(next_offset=offset)

    def put(self, name: str, text: str) -> str:
        """A file for the shell to read; its path."""
        path = f"{self.shell}/{name}"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(os.fsencode(text))
        return path

    def put_part(self, name: str, offset: int, data: bytes) -> None:
        """A part of a large file, at its place: putting it twice changes nothing."""
        fd = os.open(f"{self.shell}/{name}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(fd, data, offset)
        finally:
            os.close(fd)

    def read_text(self, name: str) -> str:
        """A file that was put in parts."""
        with open(f"{self.shell}/{name}", "rb") as file:
            return os.fsdecode(file.read())

    def read_part(self, name: str, offset: int, limit: int) -> bytes:
        """From the middle of a file; b'' at its end or where there is none yet."""
        try:
            with open(f"{self.shell}/{name}", "rb") as file:
                file.seek(offset)
                return file.read(limit)
        except FileNotFoundError:
            return b""

    def size_of(self, name: str) -> int:
        """Of a file that was put in parts; 0 where there is none."""
        try:
            return os.path.getsize(f"{self.shell}/{name}")
        except FileNotFoundError:
            return 0

    def remove(self, *names: str) -> None:
        """What is no longer needed."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.shell}/{name}")
