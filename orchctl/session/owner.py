"""The process that a supervisor ends with, as it is written down in its state directory. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """A process by its number and the clock tick at which it started, which together name it for ever."""

    pid: int
    ticks: int


def encode(owner: Owner) -> bytes:
    """One line."""
    return b"%d %d\n" % (owner.pid, owner.ticks)


def decode(line: bytes) -> Owner | None:
    """None for anything but a whole line."""
    words = line.split()
    if len(words) != 2 or not line.endswith(b"\n") or not all(word.isdigit() and len(word) < 20 for word in words):
        return None
    return Owner(int(words[0]), int(words[1]))
