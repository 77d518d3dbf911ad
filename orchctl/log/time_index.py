"""Offset ↔ time: the records beside a segment, their writer in the mover, and the search in them.

A record says that the byte at an offset came at a time. Between two records nothing is known but the order. Records are
written lazily, at most every so often, and can be lost: a reader then knows the time less exactly.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import struct
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from orchctl.log import segments
from orchctl.session import layout

SUFFIX = ".idx"
EVERY_S = 0.1  # no more than so much time lies between a note and a byte that came after it and has none
_RECORD = struct.Struct("<QddI")
_CRC = struct.Struct("<I")
RECORD_BYTES = _RECORD.size + _CRC.size


@dataclass(frozen=True, slots=True)
class Moment:
    """The byte at `offset` came at `unix_s`; `stream` is 0 for a terminal."""

    offset: int
    boot_s: float
    unix_s: float
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """The good records, in order, and how many were bad."""

    moments: list[Moment]
    bad: int


def name(start: int) -> str:
    """The index of the segment that begins with byte `start`."""
    return f"{start:0{segments.DIGITS}d}{SUFFIX}"


def encode(moment: Moment) -> bytes:
    """One record."""
    body = _RECORD.pack(moment.offset, moment.boot_s, moment.unix_s, moment.stream)
    return body + _CRC.pack(zlib.crc32(body))


def decode(data: bytes) -> Decoded:
    """Every whole record; one whose CRC is wrong, or that goes back, is passed over and counted."""
    moments: list[Moment] = []
    bad = 0
    for at in range(0, len(data) - RECORD_BYTES + 1, RECORD_BYTES):
        body = data[at : at + _RECORD.size]
        moment = Moment(*_RECORD.unpack(body))
        crc = _CRC.unpack_from(data, at + _RECORD.size)[0]
        if crc != zlib.crc32(body) or (moments and moment.offset < moments[-1].offset):
            bad += 1
        else:
            moments.append(moment)
    return Decoded(moments, bad)


def offset_at(moments: Sequence[Moment], unix_s: float, end: int) -> int:
    """The first byte that may have come at `unix_s` or later; `end` if there is none.

    Not every byte is noted: those right after a note may have come up to `EVERY_S` after it. Clocks are set
    back at times; the search trusts the order of bytes, and takes the first that fits.
    """
    latest = float("-inf")
    times = [latest := max(latest, moment.unix_s) for moment in moments]
    at = bisect.bisect_left(times, unix_s)
    if at and unix_s < times[at - 1] + EVERY_S:
        at -= 1
    return moments[at].offset if at < len(moments) else end


def time_of(moments: Sequence[Moment], offset: int) -> float | None:
    """When the byte at `offset` came, as far as is known: no later than it was noted for a byte after it."""
    at = bisect.bisect_right([moment.offset for moment in moments], offset) - 1
    return moments[at].unix_s if at >= 0 else None


class Timeline:
    """Of one log, as it is now."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/{layout.OUTPUT}"
        self._starts = segments.starts(os.listdir(self._folder)) if os.path.isdir(self._folder) else []
        self._read: dict[int, list[Moment]] = {}

    def offset_at(self, unix_s: float, end: int) -> int:
        """The first byte that came at that time or later; `end` if none has."""
        for start, after in zip(self._starts, [*self._starts[1:], end], strict=False):
            last = self._last(start)
            if last is not None and last.unix_s + EVERY_S > unix_s:
                found = offset_at(self._moments(start), unix_s, after)
                if found < after:
                    return found
        return end

    def time_of(self, offset: int) -> float | None:
        """When a byte came, as far as is known."""
        at = bisect.bisect_right(self._starts, offset) - 1
        return time_of(self._moments(self._starts[at]), offset) if at >= 0 else None

    def between(self, first: int, end: int) -> list[Moment]:
        """What is noted of a range of bytes, and the last note before it."""
        at = max(0, bisect.bisect_right(self._starts, first) - 1)
        found: list[Moment] = []
        for start in self._starts[at:]:
            if start >= end:
                break
            found += [moment for moment in self._moments(start) if moment.offset < end]
        before = bisect.bisect_right([moment.offset for moment in found], first) - 1
        return found[max(0, before) :]

    def _moments(self, start: int) -> list[Moment]:
        if start not in self._read:
            self._read[start] = self._from_index(start) or self._from_time(start)
        return self._read[start]

    def _last(self, start: int) -> Moment | None:
        """The last note of a segment, read alone: most segments are older or younger than what is looked for."""
        try:
            with open(f"{self._folder}/{name(start)}", "rb") as file:
                size = os.fstat(file.fileno()).st_size // RECORD_BYTES * RECORD_BYTES
                file.seek(max(0, size - RECORD_BYTES))
                moments = decode(file.read(RECORD_BYTES)).moments
        except OSError:
            moments = []
        return moments[-1] if moments else next(iter(self._moments(start)[-1:]), None)

    def _from_index(self, start: int) -> list[Moment]:
        try:
            with open(f"{self._folder}/{name(start)}", "rb") as file:
                return decode(file.read()).moments
        except OSError:
            return []

    def _from_time(self, start: int) -> list[Moment]:
        """Without an index: any byte of the segment may have come when it was last written."""
        try:
            return [Moment(start, 0.0, os.stat(f"{self._folder}/{segments.name(start)}").st_mtime)]
        except OSError:
            return []


class Clockwork:
    """Notes a byte now and then. An index that cannot be written is done without."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._start = -1
        self._fd = -1
        self._noted_at = 0.0
        self._stream = 0

    def note(self, offset: int, start: int, stream: int = 0) -> None:
        """The byte at `offset`, in the segment that begins at `start`, came now; another stream is always noted."""
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        if (start, stream) == (self._start, self._stream) and now - self._noted_at < EVERY_S:
            return
        with contextlib.suppress(OSError):
            if start != self._start:
                self._open(start)
            self._noted_at, self._stream = now, stream
            self._append(encode(Moment(max(offset, start), now, time.time(), stream)))

    def close(self) -> None:
        """Let the file go."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd, self._start = -1, -1

    def _append(self, record: bytes) -> None:
        """All of it or nothing: after a part, as a disk that is nearly full takes, every later record would be torn."""
        count = os.write(self._fd, record)
        try:
            while count < len(record):
                count += os.write(self._fd, record[count:])
        except OSError:
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - count)
            raise

    def _open(self, start: int) -> None:
        path = f"{self._folder}/{name(start)}"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if torn := os.fstat(fd).st_size % RECORD_BYTES:  # by a power cut, or the death of the mover before this one
            os.ftruncate(fd, os.fstat(fd).st_size - torn)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._start = fd, start
