"""When the bytes of a log came: an index beside each segment, written in passing and never waited for."""

from __future__ import annotations

import contextlib
import os
import time

from orchctl.log import time_index


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
        if (start, stream) == (self._start, self._stream) and now - self._noted_at < time_index.EVERY_S:
            return
        with contextlib.suppress(OSError):
            if start != self._start:
                self._open(start)
            self._noted_at, self._stream = now, stream
            os.write(self._fd, time_index.encode(time_index.Moment(max(offset, start), now, time.time(), stream)))

    def close(self) -> None:
        """Let the file go."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd, self._start = -1, -1

    def _open(self, start: int) -> None:
        path = f"{self._folder}/{time_index.name(start)}"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._start = fd, start
