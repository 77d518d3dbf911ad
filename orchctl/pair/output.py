"""The way of a byte from the terminal into the log.

By splice where the kernel can: terminal, pipe, segment. A byte is then at every moment in one of the
three, and each of them outlives the mover. Elsewhere by read and write, with a moment in between in
which a killed mover loses what it holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import termios
from collections.abc import Callable

from orchctl.log.writer import SegmentWriter
from orchctl.session import layout

READ_BYTES = 1 << 16
_NOT_TO_BE_HAD = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_COUNT = struct.Struct("i")


class Closed(Exception):
    """The last holder of the terminal has closed it."""


class Conduit:
    """From `master` through `pipe` into `log`; `noted` is told of every stretch that has arrived, by its first byte."""

    def __init__(self, master: int, pipe: tuple[int, int], log: SegmentWriter, noted: Callable[[int], None]) -> None:
        self._master = master
        self._out, self._in = pipe
        self._log = log
        self._noted = noted
        self._in_pipe = _waiting(self._out)  # of a mover before this one
        self._held = b""
        self._splices_in = self._splices_out = True

    @property
    def pending(self) -> int:
        """How many bytes are under way; nothing more is taken from the terminal before they have arrived."""
        return self._in_pipe + len(self._held)

    def pull(self, _: int) -> int:
        """Take a piece from the terminal; 0 when it has none now, or the last one has not arrived."""
        if self.pending:
            return 0
        try:
            return self._splice() if self._splices_in else self._read()
        except OSError as error:
            if error.errno == errno.EIO:  # nobody has it open any more
                raise Closed from None
            if self._splices_in and error.errno in _NOT_TO_BE_HAD:
                self._splices_in = False
                return self.pull(_)
            return 0  # nothing there, or no memory for it just now

    def push(self) -> None:
        """Put what is under way into the log; `OSError` when the disk takes no more."""
        while self.pending:
            before = self._log.end
            if self._held:
                self._held = self._held[self._log.write(self._held) :]
            elif self._splices_out:
                self._move()
            else:
                self._held = os.read(self._out, READ_BYTES)
                self._in_pipe -= len(self._held)
            if self._log.end > before:
                self._noted(before)

    def _splice(self) -> int:
        count = os.splice(self._master, self._in, READ_BYTES)
        if count == 0:
            raise Closed
        self._in_pipe += count
        return count

    def _read(self) -> int:
        self._held = os.read(self._master, READ_BYTES)
        if not self._held:
            raise Closed
        return len(self._held)

    def _move(self) -> None:
        try:
            self._in_pipe -= self._log.move(self._out)
        except OSError as error:
            if error.errno not in _NOT_TO_BE_HAD:
                raise
            self._splices_out = False


class PipesConduit(Conduit):
    """From a program's own pipes: they hold their bytes until these are in the log, and no other is needed."""

    def __init__(self, log: SegmentWriter, noted: Callable[[int], None]) -> None:
        self._log = log
        self._noted = noted
        self._out, self._in_pipe, self._held = -1, 0, b""
        self._splices_out = True

    def pull(self, fd: int) -> int:
        if self.pending:
            return 0
        count = _waiting(fd)
        if count == 0:
            raise Closed
        self._out, self._in_pipe = fd, count
        return count

    def _move(self) -> None:
        super()._move()
        self._in_pipe = max(0, self._in_pipe)  # the program may have written on meanwhile


def _waiting(fd: int) -> int:
    (count,) = _COUNT.unpack(fcntl.ioctl(fd, termios.FIONREAD, bytes(_COUNT.size)))
    return int(count)


LIMIT_BYTES = 1 << 20  # of each of both
PIECE_BYTES = 1 << 16
DRAINED = 64  # pieces that are taken at the end; whoever pours for ever must not hold that back
OLDER = ".1"
_NOT_TO_BE_HAD_STDERR_LOG = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


class Complaints:
    """From a pipe, by splice where the kernel can: then a killed mover loses none."""

    def __init__(self, source: int, folder: str) -> None:
        self._source = source
        self._path = f"{folder}/{layout.STDERR}"
        self._file = -1
        self._size = 0
        self._lost = 0
        self._taken = 0
        self._splices = True

    def take(self) -> bool:
        """A piece, if there is one; False at the end."""
        try:
            try:
                count = self._move()
            except BlockingIOError:
                raise
            except OSError:
                count = len(os.read(self._source, PIECE_BYTES))
                self._lost += count
        except BlockingIOError:
            return True
        self._taken += count
        return count > 0

    def drain(self) -> None:
        """What there is now."""
        for _ in range(DRAINED):
            before = self._taken
            if self._source < 0 or not self.take() or self._taken == before:
                return

    def close(self) -> None:
        """Let the file go; another mover goes on."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _move(self) -> int:
        self._open()
        limit = min(PIECE_BYTES, LIMIT_BYTES - self._size)
        if self._splices:
            try:
                return self._wrote(os.splice(self._source, self._file, limit, offset_dst=self._size))
            except OSError as error:
                if error.errno not in _NOT_TO_BE_HAD_STDERR_LOG:
                    raise
                self._splices = False
        data = os.read(self._source, limit)
        try:
            self._wrote(os.pwrite(self._file, data, self._size))
        except OSError:
            self._lost += len(data)
        return len(data)

    def _open(self) -> None:
        """The file, with room in it."""
        if self._file < 0:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._size = os.fstat(self._file).st_size
        if self._size >= LIMIT_BYTES:
            os.rename(self._path, self._path + OLDER)
            self.close()
            self._open()
        if self._lost:
            said = f"\n[{self._lost} bytes are missing: the disk did not take them]\n"
            self._wrote(os.pwrite(self._file, said.encode("ascii"), self._size))
            self._lost = 0

    def _wrote(self, count: int) -> int:
        self._size += count
        return count


def last_words(folder: str, limit_bytes: int) -> str:
    """The end of what a program complained about."""
    found = b""
    for older in (OLDER, ""):
        with contextlib.suppress(OSError), open(f"{folder}/{layout.STDERR}{older}", "rb") as file:
            found += file.read()
    return found[-limit_bytes:].decode("utf-8", "replace").strip()
