"""The keys that leave a session, as people write them: `ctrl-p,ctrl-q`."""

from __future__ import annotations

import re
from collections.abc import Sequence

DEFAULT = r"ctrl-\,ctrl-d"  # neither shells, editors nor multiplexers have a use for the first of them
TAKE_KEY = ord("t") & 0x1F  # in the place of the last one
_MOST = 8  # nobody types more
_SPELLED = re.compile(r"(?:ctrl-|C-|\^)(.)|(.)", re.DOTALL)


def parse(text: str) -> tuple[int, ...]:
    """The byte that a terminal sends for each key; `ValueError` for what is none."""
    found = tuple(_code(one) for one in text.split(","))
    if len(found) > _MOST:
        raise ValueError(f"{text!r} is more than {_MOST} keys")
    return found


def spelled(keys: Sequence[int]) -> str:
    """For people."""
    return " ".join(f"ctrl-{chr(key | 0x40).lower()}" if key < 0x20 else chr(key) for key in keys)


def taking(keys: Sequence[int]) -> tuple[int, ...] | None:
    """The keys that take the lease; of one key alone there are none."""
    return (*keys[:-1], TAKE_KEY) if len(keys) > 1 else None


def _code(text: str) -> int:
    found = _SPELLED.fullmatch(text)
    char = (found[1] or found[2]) if found else ""
    if not found or not char.isascii() or not char.isprintable():
        raise ValueError(rf"{text!r} is not a key to detach with, such as 'ctrl-\' or 'x'; several have commas between")
    if not found[1]:
        return ord(char)
    if char != "@" and not char.isalpha() and char not in "[\\]^_":
        raise ValueError(f"{text!r} is not a key that a terminal can send")
    return ord(char.upper()) & 0x1F
