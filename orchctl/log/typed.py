"""Which lines were typed into a session's shell by `exec`, and which commands they stand for: from `commands.jnl`."""

from __future__ import annotations

import shlex
from typing import Any

from orchctl.log.commands import CommandStore
from orchctl.log.reader import OutputLog
from orchctl.shell.base import TAG, typed_path
from orchctl.shell.typed_lines import STRETCH_BYTES, WIRE_LIMIT, Typed, marks_of, one_line


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
            self._apply(record)

    def after(self, offset: int, log: OutputLog) -> int:
        """The number of the first line that may be seen by whoever reads from `offset` on."""
        low, high = 0, len(self.lines)
        while low < high:  # the first that began there or later
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.lines[middle].offset < offset else (low, middle)
        return low - 1 if low and self._open(self.lines[low - 1], offset, log) else low

    def _open(self, typed: Typed, offset: int, log: OutputLog) -> bool:
        """Whether its first mark comes at `offset` or later."""
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
