"""The readable text of a conversation, in segments like any output; the supervisor is its one writer.

The address of each byte follows from the records and the raw log. So after a crash it is known what is there already:
that is not written again, and what a record says and is not there is written now.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from orchctl.log.disk import REAL
from orchctl.log.reader import OutputLog
from orchctl.log.time_index import Clockwork
from orchctl.log.writer import SegmentWriter
from orchctl.session import layout


class Transcript:
    """Of one session, below `folder`."""

    def __init__(self, folder: str, ring_bytes: int, dropped: Callable[[int, int], None]) -> None:
        self._out = f"{folder}/{layout.OUTPUT}"
        self._ring_bytes = ring_bytes
        self._dropped = dropped
        self._writer: SegmentWriter | None = None
        self._times = Clockwork(self._out)
        self.end = 0  # of what has been said, whether it was there before or not

    def go_on(self, end: int, last: str) -> None:
        """The records say that the text ends at `end`, and that `last` is the last of it."""
        writer = self._opened()
        data = last.encode("utf-8", "replace")
        missing = end - writer.end
        self.end = end
        if 0 < missing <= len(data):
            self.end = writer.end
            self.add_bytes(data[-missing:])
        elif missing > 0:  # a power cut has taken more than that: a gap, and the addresses stay right
            writer.close()
            self._writer = None
            os.close(os.open(f"{os.path.dirname(self._out)}/{layout.segment(end)}", os.O_CREAT | os.O_WRONLY, 0o600))

    def add(self, text: str) -> None:
        """At the end."""
        self.add_bytes(text.encode("utf-8", "replace"))

    def add_bytes(self, data: bytes) -> None:
        """What is there already is passed over."""
        writer = self._opened()
        start, self.end = self.end, self.end + len(data)
        data = data[max(0, writer.end - start) :]
        while data:
            writer.make_room()
            self._times.note(writer.end, writer.start)
            data = data[writer.write(data) :]

    @property
    def is_ahead(self) -> bool:
        """Whether there is more than has been said so far, of somebody who is gone."""
        return self._opened().end > self.end

    def go_to_end(self) -> bool:
        """What is said next comes after all that is there; whether that is the beginning of a line."""
        writer = self._opened()
        self.end = max(self.end, writer.end)
        log = OutputLog(os.path.dirname(self._out))
        try:
            return log.read(self.end - 1, 1) in (b"\n", b"")
        finally:
            log.close()

    def hold(self, offset: int | None) -> None:
        """Somebody reads from there."""
        self._opened().needed = offset

    def trim(self, keep_bytes: int) -> None:
        """Drop the oldest."""
        writer = self._opened()
        writer.roll()
        writer.trim(keep_bytes)

    def roll(self) -> None:
        """Go on in another segment."""
        self._opened().roll()

    def close(self) -> None:
        """Let the files go."""
        self._times.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _opened(self) -> SegmentWriter:
        if self._writer is None:
            self._writer = SegmentWriter(REAL, self._out, self._ring_bytes, self._dropped)
        return self._writer
