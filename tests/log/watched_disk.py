"""The real disk, and a note of what is synced and read through it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from orchctl.log.disk import RealDisk


class WatchedDisk(RealDisk):
    """Notes file names; `on_sync` is called before each sync, and may fail."""

    def __init__(self, on_sync: Callable[[str], object] = lambda name: None) -> None:
        self.synced: list[str] = []
        self.read_from: list[str] = []
        self.on_sync = on_sync
        self._names: dict[int, str] = {}

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        fd = super().open(path, write=write, create=create, append=append)
        self._names[fd] = os.path.basename(path)
        return fd

    def read(self, fd: int, limit: int, offset: int) -> bytes:
        self.read_from.append(self._names[fd])
        return super().read(fd, limit, offset)

    def sync(self, fd: int) -> None:
        self._note(self._names[fd])
        super().sync(fd)

    def sync_folder(self, path: str) -> None:
        self._note(os.path.basename(path))
        super().sync_folder(path)

    def _note(self, name: str) -> None:
        self.synced.append(name)
        self.on_sync(name)


def failing_on(*names: str, number: int = errno.EIO) -> Callable[[str], None]:
    """For `on_sync`: these cannot be synced."""

    def fail(name: str) -> None:
        if name in names:
            raise OSError(number, os.strerror(number))

    return fail
