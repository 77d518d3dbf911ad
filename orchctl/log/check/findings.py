"""What `verify` has to say, and the reading of files that may be damaged, missing or going away. Writes nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import TypeVar

from orchctl.lazy_dataclass import dataclass
from orchctl.log.sync import HASH_BYTES

BLOCK_BYTES = 1 << 20
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: `kind` is for programs and stable, `detail` is for people."""

    session: str | None
    path: str
    kind: str
    detail: str


class Files:
    """One session's directory. What is missing there is None; what cannot be read is a finding."""

    def __init__(self, root: str, session: str) -> None:
        self.session = session
        self.findings: list[Finding] = []
        self.listed: set[tuple[str, str]] = set()
        self._root = root
        self._folder = f"sessions/{session}"
        self._unreadable: set[str] = set()

    def say(self, name: str, kind: str, detail: str) -> None:
        """This is wrong with the file `name`, or with the directory itself if that is empty."""
        finding = Finding(self.session, f"{self._folder}/{name}".rstrip("/"), kind, detail)
        if finding not in self.findings:
            self.findings.append(finding)

    def missing(self, name: str) -> bool:
        """Whether there is no such file, as opposed to one that cannot be read."""
        return name not in self._unreadable and not os.path.lexists(f"{self._root}/{self._folder}/{name}")

    def names(self, folder: str = "") -> list[str]:
        """What is in a directory; nothing where there is none."""
        found = self._attempt(folder, os.listdir) or []
        self.listed |= {(folder, name) for name in found}
        return sorted(found)

    def read(self, name: str) -> bytes | None:
        """A whole file."""
        return self._attempt(name, lambda path: b"".join(_blocks(path)))

    def size(self, name: str) -> int | None:
        """Of a file."""
        return self._attempt(name, lambda path: _regular(os.lstat(path)).st_size)

    def digest(self, name: str) -> tuple[int, str] | None:
        """Size and hash of a file, as a seal has them."""
        return self._attempt(name, _digest)

    def _attempt(self, name: str, read: Callable[[str], T]) -> T | None:
        try:
            return read(f"{self._root}/{self._folder}/{name}")
        except FileNotFoundError:
            return None
        except OSError as error:
            self._unreadable.add(name)
            self.say(name, "unreadable", error.strerror or type(error).__name__)
            return None


def _digest(path: str) -> tuple[int, str]:
    found, size = hashlib.blake2b(digest_size=HASH_BYTES), 0
    for block in _blocks(path):
        found.update(block)
        size += len(block)
    return size, found.hexdigest()


def _blocks(path: str) -> Iterator[bytes]:
    # a link would lead out of the store, and a FIFO would keep us waiting
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        _regular(os.fstat(fd))
        while data := os.read(fd, BLOCK_BYTES):
            yield data
    finally:
        os.close(fd)


def _regular(found: os.stat_result) -> os.stat_result:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return found
