"""Where a reader stands in a log, and where it should start. Pure: bytes and numbers in, values out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchctl.errors import PeerBroke
from orchctl.session.stream_values import Chunk, Gap

if TYPE_CHECKING:
    from collections.abc import Iterable


class Cursor:
    """A reader's place. It only moves forward, byte by byte, and says so when bytes are missing."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def take(self, chunk: Chunk) -> Chunk:
        """`chunk` if it is the very next one; anything else is the sender's mistake."""
        if chunk.offset != self.offset:
            raise PeerBroke(f"output at byte {chunk.offset} came where byte {self.offset} was due", code="bad-stream")
        self.offset = chunk.end
        return chunk

    def skip(self, gap: Gap) -> Gap:
        """Step over bytes that are no longer kept."""
        if gap.first != self.offset or gap.end <= gap.first:
            raise PeerBroke(f"a gap {gap.first}–{gap.end} came where byte {self.offset} was due", code="bad-stream")
        self.offset = gap.end
        return gap


def gap_before(offset: int, first_kept: int) -> Gap | None:
    """What a reader at `offset` has missed, if retention has overtaken it."""
    return Gap(offset, first_kept) if offset < first_kept else None


def start_of_last_lines(count: int, blocks: Iterable[Chunk]) -> int | None:
    """The offset at which the last `count` lines begin, reading `blocks` from the end backwards.

    A last line without a newline counts as a line. None when the blocks hold fewer lines than that.
    """
    if count == 0:
        for block in blocks:
            return block.end
        return None
    missing = count
    last = True
    for block in blocks:
        end = len(block.data)
        if last and end and block.data.endswith(b"\n"):
            end -= 1  # this newline ends the last line; it does not begin another
        last = last and not block.data
        while (at := block.data.rfind(b"\n", 0, end)) >= 0:
            missing -= 1
            if missing == 0:
                return block.offset + at + 1
            end = at
    return None
