"""Our shells' marks cut out of output, with the addresses of what stays. Pure."""

from __future__ import annotations

import re

from orchctl.session.stream import Chunk
from orchctl.shell.marks import ANY_MARK, LIMIT_BYTES

_UNFINISHED = re.compile(rb"\x1b(?:\](?:6(?:9(?:7(?:3(?:;[^\x07\x1b]*)?)?)?)?)?)?\Z")


class MarkCutter:
    """Takes a log in any pieces, each right after the one before; gives what is between marks, with its offsets."""

    def __init__(self) -> None:
        self._held = Chunk(0, b"")

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """What may be the beginning of a mark waits."""
        if not self._held.data and b"\x1b" not in chunk.data:
            return [chunk]
        if self._held.data:
            chunk = Chunk(self._held.offset, self._held.data + chunk.data)
        cut = _UNFINISHED.search(chunk.data, max(0, len(chunk.data) - LIMIT_BYTES))
        at = cut.start() if cut else len(chunk.data)
        self._held = Chunk(chunk.offset + at, chunk.data[at:])
        return _between(chunk, at)

    @property
    def held_bytes(self) -> int:
        """How many may be the beginning of a mark."""
        return len(self._held.data)

    def end(self) -> list[Chunk]:
        """What looked like a mark and was none."""
        held, self._held = self._held, Chunk(0, b"")
        return [held] if held.data else []


def _between(chunk: Chunk, end: int) -> list[Chunk]:
    found, start = list[Chunk](), 0
    for mark in ANY_MARK.finditer(chunk.data, 0, end):
        if mark.start() > start:
            found.append(Chunk(chunk.offset + start, chunk.data[start : mark.start()]))
        start = mark.end()
    if start < end:
        found.append(Chunk(chunk.offset + start, chunk.data[start:end]))
    return found
