"""Writing a log in segments: where the next byte goes, when a new segment begins, what retention drops.

A new mover takes over by looking at the directory alone. Nothing here waits for a disk to be safe from
power loss; that is the supervisor's part, so that a slow disk never stalls a terminal.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from orchctl.log import segments, time_index
from orchctl.log.disk import Disk
from orchctl.log.segments import Segment


class SegmentWriter:
    """The one writer of a log, below the directory `folder`."""

    def __init__(self, disk: Disk, folder: str, ring_bytes: int, record: Callable[[int, int], None]) -> None:
        self._disk = disk
        self._folder = folder
        self._ring_bytes = ring_bytes
        self._segment_bytes = segments.size_for(ring_bytes)
        self._record = record  # called with the range to be dropped, before it is
        self._sealed: list[Segment] = []
        self._start, self._fd = 0, -1
        self.end = 0
        self.needed: int | None = None
        self._turned = False  # a segment was begun, and the ring has not followed
        self._recorded = 0  # what is before this was said to be dropped
        self._take_over()

    @property
    def start(self) -> int:
        """Where the segment that is being written begins."""
        return self._start

    def close(self) -> None:
        """Let the file go."""
        self._disk.close(self._fd)

    def move(self, pipe: int) -> int:
        """As much as there is room for from a pipe into the log; how much that was."""
        room = self._room()  # first of all, because it may begin a new segment
        return self._wrote(self._disk.move(pipe, self._fd, room, self.end - self._start))

    def write(self, data: bytes) -> int:
        """The same for bytes that were read already."""
        room = self._room()
        return self._wrote(self._disk.write(self._fd, data[:room], self.end - self._start))

    def make_room(self) -> None:
        """Begin a new segment if this one is full, before anything is said of the next byte."""
        self._room()

    def roll(self) -> None:
        """Begin a new segment, if this one holds anything."""
        if self.end == self._start:
            return
        fd = self._disk.open(self._path(self.end), create=True)
        self._disk.close(self._fd)
        self._sealed.append(Segment(self._start, self.end - self._start))
        self._start, self._fd = self.end, fd
        self._turned = True

    def trim(self, keep_bytes: int | None = None) -> None:
        """Drop what is past the ring, or past `keep_bytes` if that is less; what goes is written down first."""
        if keep_bytes is None:  # the last segment as large as it will become
            current, ring, needed = Segment(self._start, self._segment_bytes), self._ring_bytes, self.needed
        else:
            current, ring, needed = (
                Segment(self._start, self.end - self._start),
                min(keep_bytes, self._ring_bytes),
                None,
            )
        dropped = segments.overdue([*self._sealed, current], ring, needed)
        if dropped and dropped[-1].end > self._recorded:
            self._record(max(self._recorded, dropped[0].start), dropped[-1].end)
            self._recorded = dropped[-1].end
        for segment in dropped:
            path = self._path(segment.start)
            self._disk.unlink(path.removesuffix(segments.SUFFIX) + time_index.SUFFIX)
            self._disk.unlink(path)  # last, so that a crash leaves no index of nothing
            self._sealed.remove(segment)

    def _room(self) -> int:
        """How many bytes the segment takes yet; when it is full the next one begins, and the ring turns."""
        if self.end - self._start >= self._segment_bytes:
            self.roll()
        if self._turned:  # also when it was refused the last time
            self.trim()
            self._turned = False
        return self._start + self._segment_bytes - self.end

    def _wrote(self, count: int) -> int:
        self.end += count
        return count

    def _take_over(self) -> None:
        found = segments.starts(self._disk.names(self._folder))
        self._start = found[-1] if found else 0
        self._fd = self._disk.open(self._path(self._start), create=True)
        self.end = self._start + self._disk.size(self._fd)
        for start, after in itertools.pairwise(found):
            self._sealed.append(Segment(start, after - start))

    def _path(self, start: int) -> str:
        return f"{self._folder}/{segments.name(start)}"
