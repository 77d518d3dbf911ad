"""Offset ↔ time: the records beside a segment, and the search in them. Pure.

A record says that the byte at an offset came at a time. Between two records nothing is known but the order.
"""

from __future__ import annotations

import bisect
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from orchctl.log import segments

SUFFIX = ".idx"
EVERY_S = 0.1  # no more than so much time lies between a note and a byte that came after it and has none
_RECORD = struct.Struct("<QddI")
_CRC = struct.Struct("<I")
RECORD_BYTES = _RECORD.size + _CRC.size


@dataclass(frozen=True, slots=True)
class Moment:
    """The byte at `offset` came at `unix_s`; `stream` is 0 for a terminal."""

    offset: int
    boot_s: float
    unix_s: float
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """The good records, in order, and how many were bad."""

    moments: list[Moment]
    bad: int


def name(start: int) -> str:
    """The index of the segment that begins with byte `start`."""
    return f"{start:0{segments.DIGITS}d}{SUFFIX}"


def encode(moment: Moment) -> bytes:
    """One record."""
    body = _RECORD.pack(moment.offset, moment.boot_s, moment.unix_s, moment.stream)
    return body + _CRC.pack(zlib.crc32(body))


def decode(data: bytes) -> Decoded:
    """Every whole record; one whose CRC is wrong, or that goes back, is passed over and counted."""
    moments: list[Moment] = []
    bad = 0
    for at in range(0, len(data) - RECORD_BYTES + 1, RECORD_BYTES):
        body = data[at : at + _RECORD.size]
        moment = Moment(*_RECORD.unpack(body))
        crc = _CRC.unpack_from(data, at + _RECORD.size)[0]
        if crc != zlib.crc32(body) or (moments and moment.offset < moments[-1].offset):
            bad += 1
        else:
            moments.append(moment)
    return Decoded(moments, bad)


def offset_at(moments: Sequence[Moment], unix_s: float, end: int) -> int:
    """The first byte that may have come at `unix_s` or later; `end` if there is none.

    Not every byte is noted: those right after a note may have come up to `EVERY_S` after it. Clocks are set
    back at times; the search trusts the order of bytes, and takes the first that fits.
    """
    latest = float("-inf")
    times = [latest := max(latest, moment.unix_s) for moment in moments]
    at = bisect.bisect_left(times, unix_s)
    if at and unix_s < times[at - 1] + EVERY_S:
        at -= 1
    return moments[at].offset if at < len(moments) else end


def time_of(moments: Sequence[Moment], offset: int) -> float | None:
    """When the byte at `offset` came, as far as is known: no later than it was noted for a byte after it."""
    at = bisect.bisect_right([moment.offset for moment in moments], offset) - 1
    return moments[at].unix_s if at >= 0 else None
