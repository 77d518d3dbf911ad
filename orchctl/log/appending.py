"""Appending to a journal, also after a torn end, and reading what was appended."""

from __future__ import annotations

from typing import Any

from orchctl.log import journal
from orchctl.log.disk import REAL, Disk
from orchctl.log.journal import Record

BLOCK_BYTES = 1 << 20


def append(path: str, record: dict[str, Any], disk: Disk = REAL) -> None:
    """One record; on a line of its own, should a full disk or a power cut have torn the last one."""
    fd = disk.open(path, create=True, append=True)
    try:
        size = disk.size(fd)
        torn = size and disk.read(fd, 1, size - 1) != b"\n"
        line = (b"\n" if torn else b"") + journal.encode(record)
        while line:  # a disk that is nearly full takes a part
            line = line[disk.append(fd, line) :]
    finally:
        disk.close(fd)


def records(path: str, disk: Disk = REAL) -> list[Record]:
    """All that is whole, oldest first; nothing where there is no journal."""
    try:
        fd = disk.open(path)
    except FileNotFoundError:
        return []
    data = bytearray()
    try:
        while block := disk.read(fd, BLOCK_BYTES, len(data)):
            data += block
    finally:
        disk.close(fd)
    return journal.decode(bytes(data)).records
