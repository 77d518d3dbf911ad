"""When a session's output came: read from the indexes beside the segments, or guessed from the files' times."""

from __future__ import annotations

import bisect
import os

from orchctl.core import layout, segments, timeline
from orchctl.core.timeline import Moment


class Timeline:
    """Of one log, as it is now."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/{layout.OUTPUT}"
        self._starts = segments.starts(os.listdir(self._folder)) if os.path.isdir(self._folder) else []
        self._read: dict[int, list[Moment]] = {}

    def offset_at(self, unix_s: float, end: int) -> int:
        """The first byte that came at that time or later; `end` if none has."""
        low, high = 0, len(self._starts)
        while low < high:  # the first segment that begins at that time or later
            middle = (low + high) // 2
            moments = self._moments(self._starts[middle])
            if moments and moments[0].unix_s < unix_s:
                low = middle + 1
            else:
                high = middle
        after = self._starts[low] if low < len(self._starts) else end
        if low == 0:
            return after
        return timeline.offset_at(self._moments(self._starts[low - 1]), unix_s, after)

    def time_of(self, offset: int) -> float | None:
        """When a byte came, as far as is known."""
        at = bisect.bisect_right(self._starts, offset) - 1
        return timeline.time_of(self._moments(self._starts[at]), offset) if at >= 0 else None

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
            self._read[start] = self._from_index(start) or self._from_times(start)
        return self._read[start]

    def _from_index(self, start: int) -> list[Moment]:
        try:
            with open(f"{self._folder}/{timeline.name(start)}", "rb") as file:
                return timeline.decode(file.read()).moments
        except OSError:
            return []

    def _from_times(self, start: int) -> list[Moment]:
        """Without an index: the segment began when the one before it was last written, and ended when it was."""
        at = self._starts.index(start)
        began, ended = (self._written_at(one) for one in (self._starts[max(0, at - 1)], start))
        if ended is None:
            return []
        moments = [Moment(start, 0.0, began[0] if began is not None and at else ended[0])]
        return [*moments, Moment(max(start, start + ended[1] - 1), 0.0, ended[0])]

    def _written_at(self, start: int) -> tuple[float, int] | None:
        try:
            found = os.stat(f"{self._folder}/{segments.name(start)}")
        except OSError:
            return None
        return found.st_mtime, found.st_size
