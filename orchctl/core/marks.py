"""Marks in a session's output: `ESC ] 6973 ; NONCE ; KIND ; ARGS BEL`, written by the session's own shell.

They stay in the raw log and are cut from every view. A mark may be split over reads; one that has not
ended after 200 bytes is not a mark but output that looks like one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchctl.model.stream import Chunk

LIMIT_BYTES = 200
ANY_MARK = re.compile(rb"\x1b\]6973;[0-9a-f]{16};[A-Z](?:;[^\x07\x1b]{0,150})?\x07")


@dataclass(frozen=True, slots=True)
class Mark:
    """A whole mark: its kind, its arguments, and where it lies."""

    kind: str
    args: tuple[str, ...]
    start: int
    end: int


def prefix(nonce: str) -> bytes:
    """How every mark of a session begins."""
    return b"\x1b]6973;%s;" % nonce.encode("ascii")


class MarkScanner:
    """Splits output into marks and what lies between them, however the bytes were cut."""

    def __init__(self, nonce: str, offset: int) -> None:
        self._prefix = prefix(nonce)
        self._buffer = b""
        self._offset = offset

    @property
    def safe_offset(self) -> int:
        """Everything before this has been given out."""
        return self._offset

    def feed(self, data: bytes) -> list[Chunk | Mark]:
        """The pieces that are certain by now; what may be the beginning of a mark waits."""
        self._buffer += data
        found: list[Chunk | Mark] = []
        while (piece := self._next()) is not None:
            found.append(piece)
            self._offset += (length := piece.end - self._offset)
            self._buffer = self._buffer[length:]
        return found

    def _next(self) -> Chunk | Mark | None:
        start = self._buffer.find(self._prefix)
        if start != 0:
            return self._text(start if start > 0 else len(self._buffer) - self._unsure())
        end = self._buffer.find(b"\x07", 0, LIMIT_BYTES)
        if end >= 0:
            kind, *args = self._buffer[len(self._prefix) : end].decode("latin-1").split(";")
            return Mark(kind, tuple(args), self._offset, self._offset + end + 1)
        return self._text(1) if len(self._buffer) >= LIMIT_BYTES else None  # it never ends: it is output

    def _text(self, length: int) -> Chunk | None:
        return Chunk(self._offset, self._buffer[:length]) if length else None

    def _unsure(self) -> int:
        """How many last bytes could be the beginning of a mark."""
        for length in range(min(len(self._prefix) - 1, len(self._buffer)), 0, -1):
            if self._buffer.endswith(self._prefix[:length]):
                return length
        return 0


def last_marks(nonce: str, data: bytes, offset: int) -> list[Mark]:
    """All whole marks in `data`, which begins at `offset`."""
    return [piece for piece in MarkScanner(nonce, offset).feed(data) if isinstance(piece, Mark)]
