"""The form of a journal: one record a line, its CRC-32 in front. Pure.

A line is eight hex digits, a space, a JSON object and a newline, so that people can read it and
one `write` appends it whole. A torn tail is the last line without its newline or with a wrong
CRC; a reader stops there, and the writer's next record would follow it, so a wrong line in the
middle is skipped and counted, never trusted.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from orchctl.log.disk import REAL, Disk

Record = dict[str, Any]


@dataclass(slots=True)
class Decoded:
    """What was read: the good records and where each of them ends, where all end, and how many lines were bad."""

    records: list[Record] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    next_offset: int = 0
    bad_lines: int = 0


def encode(record: Record) -> bytes:
    """One line."""
    text = json.dumps(record, separators=(",", ":")).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(data: bytes, *, offset: int = 0) -> Decoded:
    """Every whole line of `data`, which begins at `offset` of its file."""
    result = Decoded(next_offset=offset)
    for line in data.split(b"\n")[:-1]:  # what follows the last newline is still being written, or torn
        result.next_offset += len(line) + 1
        record = record_of(line)
        if record is None:
            result.bad_lines += 1
        else:
            result.records.append(record)
            result.ends.append(result.next_offset)
    return result


def text_of(line: bytes) -> bytes:
    """The JSON text of a line; of a good one, its CRC and its newline are all that is left away."""
    return line.partition(b" ")[2].removesuffix(b"\n")


def record_of(line: bytes) -> Record | None:
    """What a line without its newline says; None for a bad one."""
    crc, _, text = line.partition(b" ")
    if crc != b"%08x" % zlib.crc32(text):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


FIELD = "crc32"
_DIGITS = 8
_OPEN, _CLOSE = f', "{FIELD}": "'.encode("ascii"), b'"}'
_TAIL_BYTES = len(_OPEN) + _DIGITS + len(_CLOSE)


def dump(data: dict[str, Any]) -> str:
    """The text of an object that is not empty, with its checksum."""
    text = json.dumps(data)
    return f'{text[:-1]}, "{FIELD}": "{zlib.crc32(text.encode("ascii")):08x}"}}'


def load(text: bytes) -> dict[str, Any]:
    """The object; ValueError where it is not as it was written."""
    body, tail = text[:-_TAIL_BYTES] + b"}", text[-_TAIL_BYTES:]
    digits = tail[len(_OPEN) : -len(_CLOSE)]
    right = digits == b"%08x" % zlib.crc32(body)
    try:
        data = json.loads(text.decode("ascii"))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")
    if (FIELD in data) != right:  # also where the damage is in the name of the field
        raise ValueError("the checksum does not match")
    data.pop(FIELD, None)
    return data


BLOCK_BYTES = 1 << 20


def append(path: str, record: dict[str, Any], disk: Disk = REAL, *, alone: bool = False) -> None:
    """One record; on a line of its own, should a full disk or a power cut have torn the last one.

    A writer that is `alone` leaves no torn line: it cuts off what an earlier one left, and what a full disk takes of
    its own. With others it must not, because the line may be theirs and under way.
    """
    fd = disk.open(path, create=True, append=True)
    try:
        size = disk.size(fd)
        torn = size and disk.read(fd, 1, size - 1) != b"\n"
        if torn and alone:
            size, torn = _cut(disk, fd, size), False
        line = (b"\n" if torn else b"") + encode(record)
        try:
            while line:  # a disk that is nearly full takes a part
                line = line[disk.append(fd, line) :]
        except OSError:
            if alone:
                disk.truncate(fd, size)
            raise
    finally:
        disk.close(fd)


def mend(path: str, disk: Disk = REAL) -> None:
    """Cut off a torn last line; for whoever knows that no writer is left."""
    with contextlib.suppress(FileNotFoundError):
        fd = disk.open(path, write=True)
        try:
            size = disk.size(fd)
            if size and disk.read(fd, 1, size - 1) != b"\n":
                _cut(disk, fd, size)
        finally:
            disk.close(fd)


def _cut(disk: Disk, fd: int, size: int) -> int:
    """After the last newline; the size then."""
    end = size
    while end:
        block = disk.read(fd, min(end, BLOCK_BYTES), max(0, end - BLOCK_BYTES))
        found = block.rfind(b"\n") + 1
        end -= len(block) - found
        if found:
            break
    disk.truncate(fd, end)
    return end


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
    return decode(bytes(data)).records
