"""A stream of output: its pieces, where it begins, and how much a reader lets be sent. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchctl.errors import BadInput, Internal, PeerBroke
from orchctl.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of the log; `offset` is the address of the first."""

    offset: int
    data: bytes

    @property
    def end(self) -> int:
        """The address of the byte after the last."""
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes `first` up to but not including `end` are no longer kept."""

    first: int
    end: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """Of one stream; each step gives the next one."""

    granted_bytes: int
    unacked_bytes: int = 0

    @property
    def left_bytes(self) -> int:
        """How many more may be sent now."""
        return self.granted_bytes - self.unacked_bytes

    def send(self, count: int) -> Credit:
        """So many bytes are on their way; never more than are left."""
        if not 0 <= count <= self.left_bytes:
            raise Internal(f"{count} bytes were sent where {self.left_bytes} were allowed", code="over-credit")
        return replace(self, unacked_bytes=self.unacked_bytes + count)

    def ack(self, count: int) -> Credit:
        """The reader has taken so many, and as many more may come."""
        if count < 1:
            raise BadInput(f"{count} bytes cannot be acknowledged; at least 1", code="bad-ack")
        if count > self.unacked_bytes:
            raise BadInput(
                f"{count} bytes acknowledged, but only {self.unacked_bytes} were sent and not acknowledged yet",
                code="bad-ack",
            )
        return replace(self, unacked_bytes=self.unacked_bytes - count)


def grant(count: int) -> Credit:
    """A new stream's credit. Nothing would ever come of none, because only what was sent can be acknowledged."""
    if count < 1:
        raise BadInput(f"a credit of {count} bytes; at least 1", code="bad-credit")
    return Credit(granted_bytes=count)
