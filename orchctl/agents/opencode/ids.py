"""Ids as opencode makes them, so that ours sort among its own. Pure.

An id is a kind, twelve hex digits of time and a random tail. opencode orders messages by id and takes a prompt as
answered when a later one answers it: an id of any other form would be answered twice, or never.
"""

from __future__ import annotations

import hashlib
import re

_FORM = re.compile(r"[a-z]{3}_([0-9a-f]{12})[0-9A-Za-z]{14}")
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TAIL = 14
_TIME_BITS = (1 << 36) - 1  # of milliseconds are in an id, which is two years


def _made(kind: str, now_ms: int, seed: str) -> str:
    number = int.from_bytes(hashlib.sha256(f"{kind}:{seed}".encode()).digest(), "big")
    tail = ""
    for _ in range(_TAIL):
        number, digit = divmod(number, len(_ALPHABET))
        tail += _ALPHABET[digit]
    # the server counts from 1 within a millisecond, so what it makes in this one comes after ours
    return f"{kind}_{(now_ms << 12) & 0xFFFF_FFFF_FFFF:012x}{tail}"


def message_id(now_ms: int, seed: str) -> str:
    """For a prompt. The seed makes it unique; the same time and seed give the same id."""
    return _made("msg", now_ms, seed)


def time_after(now_ms: int, newest: str | None) -> int:
    """Now, or just after the newest message where the clock was set back: an older prompt would count as answered."""
    found = _FORM.fullmatch(newest or "")
    ahead_ms = ((int(found[1], 16) >> 12) - now_ms) & _TIME_BITS if found else _TIME_BITS
    return now_ms + ahead_ms + 1 if ahead_ms <= _TIME_BITS >> 1 else now_ms


def part_id(now_ms: int, seed: str) -> str:
    """For a prompt's text: without one, saying the prompt again would add the text a second time."""
    return _made("prt", now_ms, seed)


def before(one: str, other: str) -> bool:
    """Whether one was surely made before the other; ids of any other form are before nothing."""
    first, second = _FORM.fullmatch(one), _FORM.fullmatch(other)
    return first is not None and second is not None and first[1] < second[1]
