"""When a session's output came: read from the indexes beside the segments, or guessed from the files' times."""

from __future__ import annotations

import bisect
import os

from orchctl.log import segments, time_index
from orchctl.log.time_index import Moment
from orchctl.session import layout


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
            if last is not None and last.unix_s + time_index.EVERY_S > unix_s:
                found = time_index.offset_at(self._moments(start), unix_s, after)
                if found < after:
                    return found
        return end

    def time_of(self, offset: int) -> float | None:
        """When a byte came, as far as is known."""
        at = bisect.bisect_right(self._starts, offset) - 1
        return time_index.time_of(self._moments(self._starts[at]), offset) if at >= 0 else None

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
            with open(f"{self._folder}/{time_index.name(start)}", "rb") as file:
                size = os.fstat(file.fileno()).st_size // time_index.RECORD_BYTES * time_index.RECORD_BYTES
                file.seek(max(0, size - time_index.RECORD_BYTES))
                moments = time_index.decode(file.read(time_index.RECORD_BYTES)).moments
        except OSError:
            moments = []
        return moments[-1] if moments else next(iter(self._moments(start)[-1:]), None)

    def _from_index(self, start: int) -> list[Moment]:
        try:
            with open(f"{self._folder}/{time_index.name(start)}", "rb") as file:
                return time_index.decode(file.read()).moments
        except OSError:
            return []

    def _from_time(self, start: int) -> list[Moment]:
        """Without an index: any byte of the segment may have come when it was last written."""
        try:
            return [Moment(start, 0.0, os.stat(f"{self._folder}/{segments.name(start)}").st_mtime)]
        except OSError:
            return []
