"""The commands of one session on disk: `commands.jnl`, and the files that a shell sources.

The begin of a command is written before a byte of it is typed, so that the next supervisor can
finish what this one began.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from typing import Any

from orchctl.log import journal
from orchctl.log.journal import append
from orchctl.log.reader import OutputLog
from orchctl.session import layout
from orchctl.shell.base import TAG, typed_path
from orchctl.shell.typed_lines import STRETCH_BYTES, WIRE_LIMIT, Typed, marks_of, one_line

ROOM_BYTES = 1 << 16  # what a program writes at once, as a rule


def apart_files(exec_id: str) -> tuple[str, str]:
    """The names of the files with a command's stdout and stderr."""
    return f"{layout.STDOUT_FILE}{exec_id}", f"{layout.STDERR_FILE}{exec_id}"


class CommandStore:
    """Below one session's directory."""

    def __init__(self, folder: str) -> None:
        self.shell = f"{folder}/{layout.SHELL}"
        self._journal = f"{folder}/{layout.COMMANDS}"

    def append(self, record: dict[str, Any]) -> None:
        """The begin or the end of a command."""
        append(self._journal, record, alone=True)

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

    def make_pipes(self, exec_id: str) -> tuple[str, str]:
        """Two FIFOs for a command's stdout and stderr, and the files that they are drained into; the FIFOs' paths."""
        self.make_files(exec_id)
        paths = (
            f"{self.shell}/{layout.STDOUT_FIFO}{exec_id}",
            f"{self.shell}/{layout.STDERR_FIFO}{exec_id}",
        )
        for path in paths:
            with contextlib.suppress(FileExistsError):
                os.mkfifo(path, 0o600)
        return paths

    def make_files(self, exec_id: str) -> tuple[str, str]:
        """Two empty files for a command's stdout and stderr; their paths."""
        for name in apart_files(exec_id):
            self.put_part(name, 0, b"")
        return f"{self.shell}/{layout.STDOUT_FILE}{exec_id}", f"{self.shell}/{layout.STDERR_FILE}{exec_id}"

    def has(self, *names: str) -> bool:
        """Whether all of these files are there."""
        return all(os.path.exists(f"{self.shell}/{name}") for name in names)

    def has_room(self) -> bool:
        """Whether the disk takes more: a command that writes its files itself does not say that they are short."""
        free = os.statvfs(self.shell)
        return free.f_bavail * free.f_frsize >= ROOM_BYTES and (free.f_favail > 0 or free.f_files == 0)

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

    def remove_typed(self) -> None:
        """The files that a typed line names, of commands that are over."""
        for name in os.listdir(self.shell):
            if name.startswith(TAG):
                self.remove(*(f"{prefix}{name.removeprefix(TAG)}" for prefix in (TAG, "b", "s")))

    def remove(self, *names: str) -> None:
        """What is no longer needed."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.shell}/{name}")


class TypedLog:
    """Read as far as it is written; `look` again for what came since. A begin is written before its line is typed."""

    def __init__(self, folder: str, shell: str | None) -> None:
        self._store = CommandStore(folder)
        self._shell = shell
        self._at = 0
        self._numbers: dict[str, int] = {}  # of those that have not ended
        self.lines: list[Typed] = []

    def look(self) -> None:
        """Read what was written since."""
        found = self._store.read(self._at)
        self._at = found.next_offset
        for record in found.records:
            if record.get("type") in ("begin", "end"):  # a later version may know others
                self._apply(record)

    def after(self, offset: int, log: OutputLog) -> int:
        """The number of the first line that may be seen by whoever reads from `offset` on."""
        low, high = 0, len(self.lines)
        while low < high:  # the first that began there or later
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.lines[middle].offset < offset else (low, middle)
        return low - 1 if low and self._open(self.lines[low - 1], offset, log) else low

    def _open(self, typed: Typed, offset: int, log: OutputLog) -> bool:
        if typed.until is not None or offset - typed.offset > STRETCH_BYTES:
            return typed.until is not None and typed.until > offset
        return marks_of(typed.id).search(log.span(typed.offset, offset)) is None

    def _apply(self, record: dict[str, Any]) -> None:
        command, begin = record["command"], record["begin_offset"]
        if record["type"] == "begin":
            line = record.get("line") or _earlier_line(self._store.shell, self._shell, command["id"])
            text = one_line(command["text"], WIRE_LIMIT) if record["record"] else ""
            self._numbers[command["id"]] = len(self.lines)
            self.lines.append(Typed(command["id"], begin, line, text))
        elif (number := self._numbers.pop(command["id"], None)) is not None and command["start_offset"] > begin:
            before = self.lines[number]
            self.lines[number] = Typed(before.id, before.offset, before.line, before.text, command["start_offset"])


def _earlier_line(folder: str, shell: str | None, exec_id: str) -> str:
    """What was typed by versions that did not write it down."""
    path = f"{folder}/{TAG}{exec_id}"
    if shell == "fish":
        quoted = path.replace("\\", "\\\\").replace("'", "\\'")
        return f" builtin source '{quoted}'"
    status = "__oc_s=$?;" if shell == "ksh93" else ""
    return f" {status}\\. {typed_path(path) if shell in ('bash', 'zsh') else shlex.quote(path)}"
