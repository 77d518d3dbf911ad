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


HOLD_ON_S = 30.0  # so long, readers come back after their supervisor died


class Holds:
    """One offset for each supervisor that is connected, and the last one of a supervisor that is gone."""

    def __init__(self, now: float) -> None:
        self._held: dict[int, int] = {}
        self._left: tuple[float, int] | None = (now + HOLD_ON_S, 0)  # whoever was told of it died with the last mover

    @property
    def needed(self) -> int | None:
        """The lowest offset that somebody reads."""
        return min([*self._held.values(), *([self._left[1]] if self._left is not None else [])], default=None)

    @property
    def expires_at(self) -> float | None:
        """When what a supervisor left behind is forgotten."""
        return self._left[0] if self._left is not None else None

    def take(self, who: int, offset: int | None) -> None:
        """A supervisor has spoken: its word replaces that of the one before it."""
        self._left = None
        self._held.pop(who, None)
        if offset is not None:
            self._held[who] = offset

    def leave(self, who: int, now: float) -> None:
        """A supervisor is gone; its readers may come back with the next."""
        held = self._held.pop(who, None)
        if held is not None:
            self._left = (now + HOLD_ON_S, min(held, self._left[1] if self._left is not None else held))

    def expire(self, now: float) -> bool:
        """Forget what was left behind for too long; whether anything was."""
        if self._left is None or now < self._left[0]:
            return False
        self._left = None
        return True
