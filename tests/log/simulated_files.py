"""The files and folders of a simulated disk: each has what everybody sees, and what power loss would leave of it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random


class File:
    """Bytes as everybody sees them, and as they are after power loss."""

    __slots__ = ("data", "failed", "name", "safe", "writes")

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = bytearray()
        self.safe = b""
        self.writes: list[tuple[int, bytes | None]] = []  # since the last sync; None cuts
        self.failed = False

    def write(self, offset: int, data: bytes | None) -> None:
        """At a place, or cut there."""
        self.writes.append((offset, data))
        _apply(self.data, offset, data)

    def sync(self) -> None:
        """All of it is safe now."""
        self.safe = bytes(self.data)
        self.writes.clear()

    def lose(self, rnd: Random, *, scattered: bool) -> None:
        """Keep of what was not synced what happened to be written."""
        kept = bytearray(self.safe)
        writes = [] if self.failed else self.writes
        if scattered:
            writes = [write for write in writes if rnd.random() < 0.5]
        else:
            writes = writes[: int(rnd.random() * (len(writes) + 1))]
        for offset, data in writes[:-1]:
            _apply(kept, offset, data)
        for offset, data in writes[-1:]:
            _apply(kept, offset, data if data is None else data[: int(rnd.random() * (len(data) + 1))])
        self.data, self.safe = kept, bytes(kept)
        self.writes.clear()


class Folder:
    """Names as everybody sees them, and as they are after power loss."""

    __slots__ = ("names", "safe")

    def __init__(self) -> None:
        self.names: dict[str, File | Folder] = {}
        self.safe: dict[str, File | Folder] = {}


Change = tuple[Folder, str, File | Folder | None]


def keep(change: Change) -> None:
    """Make a change safe."""
    folder, name, entry = change
    if entry is None:
        folder.safe.pop(name, None)
    else:
        folder.safe[name] = entry


def walk(path: str, folder: Folder) -> Iterator[tuple[str, Folder]]:
    """This folder and all below, with their paths."""
    yield path, folder
    for name, entry in folder.names.items():
        if isinstance(entry, Folder):
            yield from walk(f"{path}/{name}".lstrip("/"), entry)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
