"""Reading a session's output. The writer is the mover; here it is only looked at."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from orchctl.log import segments
from orchctl.log.disk import REAL, Disk
from orchctl.session import layout
from orchctl.session.model import Output
from orchctl.session.stream import Chunk, Gap, start_of_last_lines

BLOCK_BYTES = 1 << 16


class OutputLog:
    """An open log. Any length it has is a valid beginning of the stream: the files' sizes are the truth.

    Segments come and go while it is read.
    """

    def __init__(self, folder: str, disk: Disk = REAL) -> None:
        self._folder = f"{folder}/{layout.OUTPUT}"
        self._disk = disk
        self._starts: list[int] = []
        self._open_start, self._fd = -1, -1

    def close(self) -> None:
        """Let the file go; it opens again when it is needed."""
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._open_start, self._fd = -1, -1

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        self._list()
        return self._end_of(self._starts[-1]) if self._starts else 0

    @property
    def first(self) -> int:
        """The offset of the first byte that is kept."""
        self._list()
        return self._starts[0] if self._starts else 0

    def extent(self) -> Output:
        """Which bytes there are; for listings, so that it keeps no file open."""
        starts = segments.starts(self._disk.names(self._folder))
        sizes = [self._size(start) for start in starts]
        end = starts[-1] + sizes[-1] if starts else 0
        return Output(
            first_offset=starts[0] if starts else 0,
            next_offset=end,
            kept_bytes=sum(sizes),
            dropped_bytes=end - sum(sizes),
        )

    def read(self, offset: int, limit: int = BLOCK_BYTES) -> bytes:
        """Up to `limit` bytes from `offset`; b'' at the end, and where `gap` says that bytes are missing."""
        for fresh in (False, True):
            if fresh:
                self._list()
            start = self._start_before(offset)
            if start is not None and (data := self._read(start, offset, limit)):
                return data
        return b""

    def span(self, first: int, end: int) -> bytes:
        """The bytes from `first` to `end`, over any number of segments; fewer where some are missing."""
        found = b""
        while first < end and (data := self.read(first, end - first)):
            found += data
            first += len(data)
        return found

    def gap(self, offset: int) -> Gap | None:
        """The bytes from `offset` on that are not kept, if there are any and others after them are."""
        self._list()
        start = self._start_before(offset)
        if start is not None and self._end_of(start) > offset:
            return None
        after = bisect.bisect_right(self._starts, offset)
        return Gap(offset, self._starts[after]) if after < len(self._starts) else None

    def start_of_last_lines(self, count: int, end: int) -> int:
        """Where the last `count` lines before `end` begin; no further back than to a gap."""
        self._list()
        blocks = list[int]()

        def backwards() -> Iterator[Chunk]:
            for block in self._backwards(end):
                blocks.append(block.offset)
                yield block

        found = start_of_last_lines(count, backwards())
        reached = blocks[-1] if blocks else end
        return reached if found is None and count else end if found is None else found

    def _backwards(self, end: int) -> Iterator[Chunk]:
        while (start := self._start_before(end - 1)) is not None:
            block = max(start, end - BLOCK_BYTES)
            data = self._read(start, block, end - block)
            if len(data) < end - block:  # a gap, or a segment that went meanwhile
                return
            yield Chunk(block, data)
            end = block

    def _list(self) -> None:
        self._starts = segments.starts(self._disk.names(self._folder))

    def _start_before(self, offset: int) -> int | None:
        at = bisect.bisect_right(self._starts, offset) - 1
        return self._starts[at] if at >= 0 else None

    def _read(self, start: int, offset: int, limit: int) -> bytes:
        return self._disk.read(self._fd, limit, offset - start) if self._opened(start) else b""

    def _end_of(self, start: int) -> int:
        return start + self._disk.size(self._fd) if self._opened(start) else start

    def _size(self, start: int) -> int:
        try:
            fd = self._disk.open(f"{self._folder}/{segments.name(start)}")
        except FileNotFoundError:
            return 0
        try:
            return self._disk.size(fd)
        finally:
            self._disk.close(fd)

    def _opened(self, start: int) -> bool:
        if start != self._open_start:
            try:
                fd = self._disk.open(f"{self._folder}/{segments.name(start)}")
            except FileNotFoundError:
                return False
            self.close()
            self._open_start, self._fd = start, fd
        return True
