"""What a program complains about, where that goes to a file and not to its log: two files, the newer and one older.

The program is never held up by it: what a full disk does not take is gone, and the file says how much that was.
"""

from __future__ import annotations

import contextlib
import errno
import os

from orchctl.session import layout

LIMIT_BYTES = 1 << 20  # of each of both
PIECE_BYTES = 1 << 16
DRAINED = 64  # pieces that are taken at the end; whoever pours for ever must not hold that back
OLDER = ".1"
_NOT_TO_BE_HAD = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


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
                if error.errno not in _NOT_TO_BE_HAD:
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
