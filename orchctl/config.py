"""Settings of one state directory: `config.toml` in it. What is missing or wrong there is as it is by default.

They lie in the state directory because that is what a cron job, a login shell and the supervisor agree on.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

_SIZE = re.compile(r"(\d{1,12})([KMG]?)")
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d+)?)(ms|s|m|h|d|)")
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SMALLEST_RING, LARGEST_RING = 1 << 14, 1 << 50
LONGEST_S = 100 * 365 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings; `problems` says what was wrong in the file."""

    durability: str = "relaxed"  # or "strict"
    session_bytes: int = 64 << 20  # output kept of one session
    total_bytes: int = 4 << 30  # output kept of all
    ended_s: float = 7 * 86400.0  # how long a session that is over is kept
    events_bytes: int = 256 << 20
    events_s: float = 30 * 86400.0
    idle_exit_s: float = 600.0  # with no session and no client the supervisor ends after that; 0: never
    problems: tuple[str, ...] = ()

    @property
    def strict(self) -> bool:
        """Whether nothing is shown before it is safe from power loss."""
        return self.durability == "strict"


def read(path: str) -> Config:
    """The settings in a file; a file that is not there says nothing."""
    try:
        with open(path, "rb") as file:
            return parse(tomllib.load(file))
    except FileNotFoundError:
        return Config()
    except (OSError, ValueError, RecursionError) as error:
        return Config(problems=(f"config.toml cannot be read: {error}",))


def parse(data: dict[str, Any]) -> Config:
    """The settings in what a file holds."""
    flat = {
        f"{name}.{inner}" if isinstance(value, dict) else name: one
        for name, value in data.items()
        for inner, one in (value.items() if isinstance(value, dict) else [("", value)])
    }
    found, problems = dict[str, Any](), list[str]()
    for name, value in flat.items():
        if name not in _SETTINGS:
            problems.append(f"config.toml: there is no setting {name!r}")
            continue
        field, convert = _SETTINGS[name]
        try:
            found[field] = convert(value)
        except (ValueError, OverflowError) as error:
            problems.append(f"config.toml: {name} is {_short(value)}: {error}")
    return replace(Config(**found), problems=tuple(problems))


def _short(value: Any) -> str:
    """Enough of a value to know it by; a number may be too long to be written."""
    try:
        return repr(value)[:40]
    except ValueError:
        return "a very long number"


def _size(value: Any) -> int:
    """`64M`, or a number of bytes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("not a size such as 64M or 4G")
    return int(match[1]) << _SHIFTS[match[2]]


def _ring(value: Any) -> int:
    size = _size(value)
    if not SMALLEST_RING <= size <= LARGEST_RING:
        raise ValueError(f"not from {SMALLEST_RING} to {LARGEST_RING} bytes")
    return size


def _duration(value: Any) -> float:
    """`7d`, or a number of seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST_S:
        return float(value)
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("not a duration such as 12h or 7d")
    return float(match[1]) * _SECONDS[match[2]]


def _durability(value: Any) -> str:
    if value not in ("relaxed", "strict"):
        raise ValueError("neither 'relaxed' nor 'strict'")
    return str(value)


_SETTINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "durability": ("durability", _durability),
    "idle_exit": ("idle_exit_s", _duration),
    "retention.session": ("session_bytes", _ring),
    "retention.total": ("total_bytes", _ring),
    "retention.ended": ("ended_s", _duration),
    "retention.events": ("events_bytes", _ring),
    "retention.events_age": ("events_s", _duration),
}
