"""Marks in a session's output: `ESC ] 6973 ; NONCE ; KIND ; ARGS BEL`, written by the session's own shell.

They stay in the raw log and are cut from every view. A mark may be split over reads; one that has not
ended after 200 bytes is not a mark but output that looks like one.
"""

from __future__ import annotations

import re

from orchctl.lazy_dataclass import dataclass
from orchctl.session.stream import Chunk

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
        self._held = b""
        self._offset = offset  # of the first byte that is held

    @property
    def safe_offset(self) -> int:
        """Everything before this has been given out."""
        return self._offset

    def feed(self, data: bytes) -> list[Chunk | Mark]:
        """The pieces that are certain by now; what may be the beginning of a mark waits."""
        data = self._held + data
        found: list[Chunk | Mark] = []
        at = 0
        while (start := data.find(self._prefix, at)) >= 0:
            end = data.find(b"\x07", start, start + LIMIT_BYTES)
            if end < 0 and len(data) - start < LIMIT_BYTES:
                break
            if (escape := data.find(b"\x1b", start + 1, max(0, end))) >= 0:  # cut off by another sequence: it is output
                self._text(found, data[at:escape])
                at = escape
                continue
            stop = start if end >= 0 else start + 1  # one that never ends is output
            self._text(found, data[at:stop])
            at = stop
            if end >= 0:
                found.append(self._mark(data[start : end + 1]))
                at = end + 1
        else:
            start = len(data) - self._unsure(data[at:])
        self._text(found, data[at:start])
        self._held = data[start:]
        return found

    def _text(self, found: list[Chunk | Mark], data: bytes) -> None:
        if data:
            found.append(Chunk(self._offset, data))
            self._offset += len(data)

    def _mark(self, data: bytes) -> Mark:
        start, self._offset = self._offset, self._offset + len(data)
        return _parsed(data[len(self._prefix) : -1], start, self._offset)

    def _unsure(self, data: bytes) -> int:
        """How many last bytes could be the beginning of a mark."""
        for length in range(min(len(self._prefix) - 1, len(data)), 0, -1):
            if data.endswith(self._prefix[:length]):
                return length
        return 0


def whole_marks(nonce: str, data: bytes, offset: int) -> list[Mark]:
    """All whole marks in `data`, which begins at `offset`."""
    pattern = re.compile(
        re.escape(prefix(nonce)) + rb"([^\x07\x1b]{0,%d})\x07" % (LIMIT_BYTES - 1 - len(prefix(nonce)))
    )
    return [_parsed(found[1], offset + found.start(), offset + found.end()) for found in pattern.finditer(data)]


def _parsed(words: bytes, start: int, end: int) -> Mark:
    kind, *args = words.decode("latin-1").split(";")
    return Mark(kind, tuple(args), start, end)
