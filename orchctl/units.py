"""Durations and sizes as people write them: `500ms 30s 5m 2h 7d`, `64K 10M 4G`. Pure; one notation for all rooms."""

from __future__ import annotations

import math
import re

LONGEST_S = 10 * 365 * 86400.0
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(ms|s|m|h|d|)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"([0-9]{1,16})([KMG]?)")
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}


def parse_duration(text: str) -> float:
    """Seconds; a bare number is seconds. `ValueError` says what is expected."""
    found = _DURATION.fullmatch(text)
    seconds = math.inf
    if found:
        seconds = float(found[1]) / 1000 if found[2] == "ms" else float(found[1]) * _SECONDS[found[2]]
    if seconds > LONGEST_S:
        raise ValueError(f"{text!r} is not a duration such as 500ms, 30s, 5m, 2h or 7d, up to ten years")
    return seconds


def parse_size(text: str) -> int:
    """Bytes; K, M and G are powers of 1024. `ValueError` says what is expected."""
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a size such as 500, 64K, 10M or 4G")
    return int(found[1]) << _SHIFTS[found[2]]


def format_duration(seconds: float) -> str:
    """The shortest way to write it, without loss: what `parse_duration` reads back."""
    for unit in ("d", "h", "m", "s"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:.0f}{unit}"
    if 0 < seconds < 1 and seconds * 1000 == round(seconds * 1000):
        return f"{seconds * 1000:.0f}ms"
    return f"{seconds:.12f}".rstrip("0").rstrip(".") + "s"


def format_size(count: int) -> str:
    """The shortest way to write it, without loss: what `parse_size` reads back."""
    for unit in ("G", "M", "K"):
        if count and count % (1 << _SHIFTS[unit]) == 0:
            return f"{count >> _SHIFTS[unit]}{unit}"
    return str(count)


def about_duration(seconds: float) -> str:
    """For people: the two largest units, such as `3d 4h` or `12s`."""
    left, parts = max(0, int(seconds)), list[str]()
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, int(_SECONDS[unit]))
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])


def about_size(count: float) -> str:
    """For people: three digits or so and a unit, such as `1.5G` or `512K`."""
    for unit in ("G", "M", "K"):
        if count >= 1 << _SHIFTS[unit]:
            shown = count / (1 << _SHIFTS[unit])
            return f"{shown:.1f}{unit}" if shown < 10 else f"{shown:.0f}{unit}"
    return f"{count:.0f}"


def count(number: int, noun: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
