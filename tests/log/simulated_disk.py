"""A disk in memory on which processes crash and power fails, at any step.

The crash of a process loses nothing that the disk was given. Power loss is modelled like this:

- Of each file, what was written since its last sync is kept up to any byte, in the order of writing: a file's size
  is never ahead of its data, as with ext4 (data=ordered). Files are independent of each other, and of their names.
- `ordered`: changes of names are kept up to any one of them in the order in which they were made, as journaling file
  systems do. Without it each name goes its own way: POSIX promises no more. A synced directory is as it was then.
- `scattered`: the pages of one file are written back in any order, so that zeros may stand before the last byte. Raw
  segments cannot tell, so only what was synced can be promised on such a disk.
- `failing`: now and then the sync of a segment fails, and the pages that it could not write are called clean and are
  never written. No crash comes between that and the next time that `fuse` is set: only a record remembers it.
- `full`: now and then there is no room. On any disk a write may take a part only.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.log.simulated_files import Change, File, Folder, keep, walk

NEVER = 1 << 60  # steps to a crash: nothing goes wrong at all


class Crash(Exception):
    """Whoever called the disk is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What kind of disk it is."""

    ordered: bool = True
    scattered: bool = False
    failing: bool = False
    full: bool = False


class SimulatedDisk:
    """See `orchctl.log.disk.Disk`. `fuse` is the number of steps to the next crash; `meanwhile` acts between steps."""

    def __init__(self, rnd: Random, habits: Habits, *folders: str) -> None:
        self.rnd = rnd
        self.habits = habits
        self.fuse = NEVER
        self.meanwhile: Callable[[], None] | None = None
        self.pipe = bytearray()
        self.folders: dict[str, Folder] = {"": Folder()}
        self._changes: list[list[Change]] = []  # of names, since they were synced
        self._files: dict[int, File] = {}
        self._last_fd = 0
        for path in folders:
            self.make_folder(path)
        self._settle()

    # what a test may do

    def file(self, path: str) -> bytes | None:
        """What anybody would read there."""
        folder, _, name = path.rpartition("/")
        found = self.folders[folder].names.get(name)
        return bytes(found.data) if isinstance(found, File) else None

    def lose_power(self) -> None:
        """Forget what was not synced, or any part of it."""
        if self.habits.ordered:
            for changes in self._changes[: int(self.rnd.random() * (len(self._changes) + 1))]:
                for change in changes:
                    keep(change)
        else:
            self._lose_names()
        for folder in self.folders.values():
            for entry in folder.safe.values():
                if isinstance(entry, File):
                    entry.lose(self.rnd, scattered=self.habits.scattered)
                    entry.failed = False
            folder.names = dict(folder.safe)
        self._settle()

    # what programs do

    def open(self, path: str, *, write: bool = False, create: bool = False, append: bool = False) -> int:
        self._step()
        folder, name = self._place(path)
        found = folder.names.get(name)
        if found is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self._take_room()
            found = File(name)
            self._rename([(folder, name, found)])
        assert isinstance(found, File)
        self._last_fd += 1
        self._files[self._last_fd] = found
        return self._last_fd

    def close(self, fd: int) -> None:
        self._step()
        del self._files[fd]

    def size(self, fd: int) -> int:
        self._step()
        return len(self._file(fd).data)

    def read(self, fd: int, limit: int, offset: int) -> bytes:
        self._step()
        return bytes(self._file(fd).data[offset : offset + limit])

    def write(self, fd: int, data: bytes, offset: int) -> int:
        self._step()
        return self._put(fd, data, offset)

    def append(self, fd: int, data: bytes) -> int:
        self._step()
        return self._put(fd, data, len(self._file(fd).data))

    def move(self, source: int, fd: int, limit: int, offset: int) -> int:
        self._step()
        return self._put(fd, bytes(self.pipe[:limit]), offset, taken_from=self.pipe)

    def truncate(self, fd: int, size: int) -> None:
        self._step()
        self._file(fd).write(size, None)
        self._step()

    def sync(self, fd: int) -> None:
        self._step()
        file = self._file(fd)
        assert not file.failed, "a sync that failed was tried again"
        if self.habits.failing and self._unkind() and file.name.endswith(".seg") and self.rnd.random() < 0.05:
            seen = bytes(file.data)
            file.lose(self.rnd, scattered=self.habits.scattered)
            file.data, file.failed = bytearray(seen), True
            self.fuse = NEVER
            raise OSError(errno.EIO, "the disk failed")
        file.sync()
        self._step()

    def sync_folder(self, path: str) -> None:
        self._step()
        folder = self.folders[path]
        folder.safe = dict(folder.names)
        pending = ([one for one in changes if one[0] is not folder] for changes in self._changes)
        self._changes = [changes for changes in pending if changes]
        self._step()

    def names(self, path: str) -> list[str]:
        self._step()
        return list(self.folders[path].names) if path in self.folders else []

    def rename(self, old: str, new: str) -> None:
        self._step()
        (folder, name), (target, new_name) = self._place(old), self._place(new)
        self._rename([(target, new_name, folder.names[name]), (folder, name, None)])

    def unlink(self, path: str) -> None:
        self._step()
        folder, name = self._place(path)
        if name in folder.names:
            self._rename([(folder, name, None)])

    def make_folder(self, path: str) -> None:
        self._step()
        parent, name = self._place(path)
        if name not in parent.names:
            self.folders[path] = Folder()
            self._rename([(parent, name, self.folders[path])])

    def _step(self) -> None:
        if self.fuse <= 0:
            return  # the last breath of somebody who is gone: descriptors are closed
        self.fuse -= 1
        if self.fuse == 0:
            raise Crash
        if self.meanwhile is not None and self.rnd.random() < 0.06:
            act, self.meanwhile = self.meanwhile, None
            try:
                act()
            finally:
                self.meanwhile = act

    def _put(self, fd: int, data: bytes, offset: int, taken_from: bytearray | None = None) -> int:
        self._take_room()
        if self.rnd.random() < 0.15:
            data = data[: 1 + int(self.rnd.random() * (len(data) - 1))]
        self._file(fd).write(offset, data)
        if taken_from is not None:
            del taken_from[: len(data)]
        self._step()
        return len(data)

    def _take_room(self) -> None:
        if self.habits.full and self._unkind() and self.rnd.random() < 0.05:
            raise OSError(errno.ENOSPC, "no space")

    def _unkind(self) -> bool:
        return self.fuse < NEVER >> 1

    def _file(self, fd: int) -> File:
        if fd not in self._files:
            raise OSError(errno.EBADF, "closed")
        return self._files[fd]

    def _place(self, path: str) -> tuple[Folder, str]:
        folder, _, name = path.rpartition("/")
        return self.folders[folder], name

    def _rename(self, changes: list[Change]) -> None:
        self._changes.append(changes)
        for folder, name, entry in changes:
            if entry is None:
                del folder.names[name]
            else:
                folder.names[name] = entry
        self._step()

    def _lose_names(self) -> None:
        by_name: dict[tuple[int, str], list[Change]] = {}
        for changes in self._changes:
            for change in changes:
                by_name.setdefault((id(change[0]), change[1]), []).append(change)
        for states in by_name.values():
            kept = int(self.rnd.random() * (len(states) + 1))
            if kept:
                keep(states[kept - 1])

    def _settle(self) -> None:
        """All names are safe; nothing is open."""
        self.folders = dict(walk("", self.folders[""]))
        self._changes = []
        self._files = {}
        for folder in self.folders.values():
            folder.safe = dict(folder.names)
