"""What the log needs of a file system, call by call, so that a test can put a disk that lies in its place."""

from __future__ import annotations

import contextlib
import os
from typing import Protocol

MADE = os.O_CREAT | os.O_CLOEXEC


class Disk(Protocol):
    """Files by path or by descriptor; every call is one step that a crash can come before or after."""

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        """A descriptor; `FileNotFoundError` where there is no such file and none is to be made."""

    def close(self, fd: int) -> None:
        """Let it go."""

    def size(self, fd: int) -> int:
        """Of the file."""

    def read(self, fd: int, limit: int, offset: int) -> bytes:
        """Up to `limit` bytes; b'' at the end."""

    def write(self, fd: int, data: bytes, offset: int) -> int:
        """How many bytes were taken; fewer than given is no error."""

    def append(self, fd: int, data: bytes) -> int:
        """The same at the end, wherever that is by now; for files opened to append."""

    def move(self, source: int, fd: int, limit: int, offset: int) -> int:
        """From a pipe into the file; a byte leaves the pipe as it lands, so that no crash comes in between."""

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file."""

    def sync(self, fd: int) -> None:
        """Until power may fail: the file's bytes and its size."""

    def sync_folder(self, path: str) -> None:
        """The same for the names in a directory."""

    def names(self, path: str) -> list[str]:
        """What is in a directory; nothing where there is none."""

    def rename(self, old: str, new: str) -> None:
        """Replace `new`, if there is one, at once."""

    def unlink(self, path: str) -> None:
        """A file that is gone already is fine."""

    def make_folder(self, path: str) -> None:
        """One that is there already is fine."""


class RealDisk:
    """The operating system's."""

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        mode = os.O_RDWR if write or create or append else os.O_RDONLY
        return os.open(path, mode | (os.O_APPEND if append else 0) | (MADE if create else os.O_CLOEXEC), 0o600)

    def close(self, fd: int) -> None:
        os.close(fd)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def read(self, fd: int, limit: int, offset: int) -> bytes:
        return os.pread(fd, limit, offset)

    def write(self, fd: int, data: bytes, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def append(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def move(self, source: int, fd: int, limit: int, offset: int) -> int:
        return os.splice(source, fd, limit, offset_dst=offset)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def sync(self, fd: int) -> None:
        os.fdatasync(fd)

    def sync_folder(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def names(self, path: str) -> list[str]:
        try:
            return os.listdir(path)
        except FileNotFoundError:
            return []

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def unlink(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def make_folder(self, path: str) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


REAL = RealDisk()
