"""Reading the event journal, by anybody and at any time; nothing here writes.

A place is found by the names of the segments, then by halving the bytes of one, never by reading through it.
Bad lines are passed over. The torn end of the newest segment is nobody's yet.
"""

from __future__ import annotations

import contextlib
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from orchctl.lazy_dataclass import dataclass
from orchctl.log import chain
from orchctl.log.disk import Disk
from orchctl.log.journal import Record

PROBE_BYTES = 1 << 11  # holds a few events of usual size
BLOCK_BYTES = 1 << 14
LARGEST_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with the journal: where, of which kind, and what it is about."""

    path: str
    offset: int
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where event `seq` is, or will be: behind the bytes up to `offset` of segment `start`."""

    seq: int
    start: int
    offset: int


class EventReader:
    """One reader; it remembers where its last read ended, so whoever follows from there has one of his own."""

    def __init__(self, disk: Disk, folder: str) -> None:
        self.bytes_read = 0
        self._disk = disk
        self._folder = folder
        self._next: _Place | None = None

    def read(self, seq: int, limit: int = 1000) -> list[Record]:
        """Up to `limit` events from `seq` on, in order; the first has a higher seq where older ones are gone."""
        found: list[Record] = []
        place = self._place(seq)
        for start, end, event in self._events_from(place):
            if event is not None and event["seq"] >= seq:
                found.append(event)
                seq = event["seq"] + 1
            place = _Place(seq, start, end)
            if len(found) >= limit:
                break
        self._next = place
        return found

    def seq_at(self, time: float) -> int:
        """The first event at or after a Unix time, or the next one to come; about there if the clock went back."""
        starts = self.starts()
        behind = bisect_left(range(len(starts)), time, key=lambda index: self._time_from(starts[index:]))
        start = starts[behind - 1] if behind else chain.FIRST
        place = _Place(chain.FIRST, start, self._before(start, "time", time) if behind else 0)
        seq = start
        for _, _, event in self._events_from(place):
            if event is not None and event["time"] >= time:
                return int(event["seq"])
            seq = event["seq"] + 1 if event is not None else seq
        return seq

    def check(self) -> Iterator[Finding]:
        """Everything that is wrong with the journal; what was cut from its end shows only in a head noted elsewhere."""
        follower: chain.Follower | None = None
        starts = self.starts()
        for start in starts:
            head = chain.ZERO if start == chain.FIRST else None
            follower = follower or chain.Follower(start, head)
            try:
                yield from self._check_segment(start, follower)
            except FileNotFoundError:  # retention took it, and all before it
                follower = None
            except OSError as error:
                yield Finding(self.path(start), 0, chain.BAD_LINE, f"this cannot be read: {error.strerror}")
        if follower is not None and follower.seq <= starts[-1]:
            yield Finding(self.path(starts[-1]), 0, chain.MISSING_EVENTS, "not one event is whole")

    def starts(self) -> list[int]:
        """The first seqs of all segments."""
        return chain.starts(self._disk.names(self._folder))

    def path(self, start: int) -> str:
        """Where a segment is."""
        return f"{self._folder}/{chain.name(start)}"

    def size(self, start: int) -> int:
        """Of a segment; 0 for one that is gone."""
        with self._opened(start) as fd:
            return self._disk.size(fd) if fd is not None else 0

    def lines(self, start: int) -> list[bytes]:
        """The whole lines of a segment, good and bad."""
        with self._opened(start) as fd:
            return [line for _, line in self._lines(fd, 0, LARGEST_BLOCK_BYTES)]

    def first_event(self, start: int) -> Record | None:
        """The first good one in a segment."""
        with self._opened(start) as fd:
            events = (chain.event_of(line) for _, line in self._lines(fd, 0, PROBE_BYTES))
            return next((event for event in events if event is not None), None)

    def _check_segment(self, start: int, follower: chain.Follower) -> Iterator[Finding]:
        fd = self._disk.open(self.path(start))
        try:
            size, end = self._disk.size(fd), 0  # the size first: what is written meanwhile is not torn
            for at, line in self._lines(fd, 0, LARGEST_BLOCK_BYTES):
                end = at + len(line) + 1
                if problem := follower.follow(line):
                    yield Finding(self.path(start), at, *problem)
            if end < size:
                yield Finding(self.path(start), end, chain.TORN_TAIL, f"{size - end} bytes are no whole line")
        finally:
            self._disk.close(fd)

    def _place(self, seq: int) -> _Place:
        if self._next is not None and self._next.seq == seq and self._stands(self._next):
            return self._next
        starts = self.starts()
        if not starts or seq <= starts[0]:
            return _Place(seq, 0, 0)
        start = starts[bisect_right(starts, seq) - 1]
        return _Place(seq, start, self._before(start, "seq", seq))

    def _stands(self, place: _Place) -> bool:
        """Whether a line still ends there; a writer that ran out of space may have cut the file."""
        with self._opened(place.start) as fd:
            return fd is not None and place.offset > 0 and self._read(fd, 1, place.offset - 1) == b"\n"

    def _before(self, start: int, key: str, target: float) -> int:
        """A line's begin, shortly before the first event of a segment whose `key` is at least `target`."""
        with self._opened(start) as fd:
            low, high = 0, self._disk.size(fd) if fd is not None else 0
            while high - low > PROBE_BYTES:
                middle = (low + high) // 2
                at, event = self._probe(fd, middle, high)
                if event is not None and event[key] < target:
                    low = at
                else:
                    high = middle
            return low

    def _probe(self, fd: int | None, middle: int, high: int) -> tuple[int, Record | None]:
        lines = self._lines(fd, middle, PROBE_BYTES, end=high)
        next(lines, None)  # the rest of a line that began before
        for at, line in lines:
            if (event := chain.event_of(line)) is not None:
                return at, event
        return high, None

    def _time_from(self, starts: list[int]) -> float:
        for start in starts:
            if (event := self.first_event(start)) is not None:
                return float(event["time"])
        return math.inf

    def _events_from(self, place: _Place) -> Iterator[tuple[int, int, Record | None]]:
        """Lines across segments: the segment, where in it the line ends, and the event that is in its right place."""
        starts = [start for start in self.starts() if start >= place.start]
        for start, following in zip(starts, [*starts[1:], math.inf], strict=False):
            with self._opened(start) as fd:
                for at, line in self._lines(fd, place.offset if start == place.start else 0, BLOCK_BYTES):
                    event = chain.event_of(line)
                    belongs = event is not None and start <= event["seq"] < following  # else files were exchanged
                    yield start, at + len(line) + 1, event if belongs else None

    def _lines(self, fd: int | None, offset: int, block: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Whole lines from `offset` up to `end`, each with its offset; larger blocks the longer it takes."""
        rest = b""
        while fd is not None:
            position = offset + len(rest)
            data = self._read(fd, block if end is None else min(block, end - position), position)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield offset, line
                offset += len(line) + 1
            block = min(2 * block, LARGEST_BLOCK_BYTES)

    def _read(self, fd: int, limit: int, offset: int) -> bytes:
        data = self._disk.read(fd, limit, offset)
        self.bytes_read += len(data)
        return data

    @contextlib.contextmanager
    def _opened(self, start: int) -> Iterator[int | None]:
        """A segment's descriptor; None where retention took it meanwhile."""
        try:
            fd = self._disk.open(self.path(start))
        except FileNotFoundError:
            yield None
            return
        try:
            yield fd
        finally:
            self._disk.close(fd)
