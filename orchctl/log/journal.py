"""The form of a journal: one record a line, its CRC-32 in front. Pure.

A line is eight hex digits, a space, a JSON object and a newline, so that people can read it and
one `write` appends it whole. A torn tail is the last line without its newline or with a wrong
CRC; a reader stops there, and the writer's next record would follow it, so a wrong line in the
middle is skipped and counted, never trusted.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

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
