"""Reading a session's output. The writer is the mover; here it is only looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator

from orchctl.core import layout
from orchctl.core.stream import start_of_last_lines
from orchctl.model.session import Output
from orchctl.model.stream import Chunk

BLOCK_BYTES = 1 << 16


class OutputLog:
    """An open log. Any length it has is a valid beginning of the stream: the file's size is the truth."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/{layout.segment(0)}"
        self._fd: int | None = None

    def close(self) -> None:
        """Let the file go; it opens again when it is needed."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return os.fstat(fd).st_size if (fd := self._open()) is not None else 0

    def extent(self) -> Output:
        """Which bytes there are; for listings, so that it keeps no file open."""
        try:
            size = os.stat(self._path).st_size
        except FileNotFoundError:
            size = 0
        return Output(next_offset=size, kept_bytes=size)

    def read(self, offset: int, limit: int = BLOCK_BYTES) -> bytes:
        """Up to `limit` bytes from `offset`; b'' at the end."""
        fd = self._open()
        return os.pread(fd, limit, offset) if fd is not None else b""

    def start_of_last_lines(self, count: int, end: int) -> int:
        """Where the last `count` lines before `end` begin."""
        found = start_of_last_lines(count, self._backwards(end))
        return 0 if found is None and count else end if found is None else found

    def _backwards(self, end: int) -> Iterator[Chunk]:
        while end > 0:
            start = max(0, end - BLOCK_BYTES)
            yield Chunk(start, self.read(start, end - start))
            end = start

    def _open(self) -> int | None:
        if self._fd is None:
            try:
                self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
        return self._fd
