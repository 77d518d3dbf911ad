"""A log in segments, each named by the offset of its first byte. Pure: names and sizes in, decisions out.

The offset is the address of a byte for ever. A segment's size is its truth, so a torn tail needs no
repair, and bytes that are missing between two segments are a gap that readers are told of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SUFFIX = ".seg"
DIGITS = 20
KEPT_FOR_READERS = 4  # rings: how much is kept for those who still read it
PARTS = 8  # segments in a ring
SMALLEST, LARGEST = 1 << 12, 8 << 20


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """One file of the log."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.start + self.size


def name(start: int) -> str:
    """The file that begins with byte `start`."""
    return f"{start:0{DIGITS}d}{SUFFIX}"


def start_of(file: str) -> int | None:
    """The offset in a file's name, or None for a file that is no segment."""
    digits, suffix = file[:DIGITS], file[DIGITS:]
    return int(digits) if suffix == SUFFIX and len(digits) == DIGITS and digits.isascii() and digits.isdigit() else None


def starts(files: Iterable[str]) -> list[int]:
    """The offsets at which the segments among `files` begin, in order."""
    return sorted(start for file in files if (start := start_of(file)) is not None)


def size_for(ring_bytes: int) -> int:
    """How large a segment becomes in a ring of this size."""
    return max(SMALLEST, min(LARGEST, ring_bytes // PARTS))


def holes(segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """The ranges between segments that no segment holds; from the first segment's start on."""
    found: list[tuple[int, int]] = []
    end = segments[0].end if segments else 0
    for segment in segments:
        if segment.start > end:
            found.append((end, segment.start))
        end = max(end, segment.end)
    return found


def whole(segments: Sequence[Segment]) -> list[Segment]:
    """The segments up to the first hole or overlap: the part of the log that is surely what was written."""
    found: list[Segment] = []
    for segment in segments:
        if found and segment.start != found[-1].end:
            break
        found.append(segment)
    return found


def overdue(segments: Sequence[Segment], ring_bytes: int, needed: int | None) -> list[Segment]:
    """What retention drops, oldest first; never the last segment, which is being written.

    `needed` is the lowest offset that somebody still reads: it is kept, up to four rings.
    """
    total = sum(segment.size for segment in segments)
    dropped: list[Segment] = []
    for segment in segments[:-1]:
        limit = ring_bytes if needed is None or segment.end <= needed else KEPT_FOR_READERS * ring_bytes
        if total <= limit:
            break
        dropped.append(segment)
        total -= segment.size
    return dropped
