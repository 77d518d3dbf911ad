"""The keys that leave a session, looked for in what is typed; with another last one they take the lease. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from orchctl.terminal.detach_keys import taking

FOLLOW_S = 1.0  # a first key that no other follows so soon is the program's
_AS_NUMBERS = re.compile(rb"\x1b\[([0-9]+)(?::[0-9]*)*(?:;([0-9]*)(?::([0-9]+))?)?(?:;[0-9:]*)?u")
_AS_OTHER_KEY = re.compile(rb"\x1b\[27;([0-9]+);([0-9]+)~")
_LOCKS = 64 | 128  # of a modifier: caps and number lock
_CTRL = 4
_RELEASED = b"3"


class Meant(Enum):
    """What somebody wants of us, not of the program."""

    DETACH = "detach"
    TAKE = "take"


class DetachKeys:
    """Takes key after key, each as its bytes; gives back those that are the program's."""

    def __init__(self, keys: Sequence[int]) -> None:
        self._keys = tuple(keys)
        self._held: list[bytes] = []

    @property
    def begun(self) -> bool:
        """Whether keys are held back, because more may follow."""
        return bool(self._held)

    def feed(self, raw: bytes) -> list[bytes | Meant]:
        """What the next key makes clear; keys before it first."""
        self._held.append(raw)
        given = list[bytes | Meant]()
        while self._held:
            codes = [code for one in self._held if (code := code_of(one)) is not None]
            if tuple(codes) == self._keys:
                self._held = []
                return [*given, Meant.DETACH]
            if tuple(codes) == taking(self._keys):
                self._held = []
                return [*given, Meant.TAKE]
            if codes and tuple(codes) == self._keys[: len(codes)]:
                return given
            given.append(self._held.pop(0))
        return given

    def give_back(self) -> bytes:
        """What was held back: nothing followed."""
        held, self._held = b"".join(self._held), []
        return held


def code_of(raw: bytes) -> int | None:
    """The byte that stands for a key, however it was sent; -1 for one that has none; None for a key let go."""
    if len(raw) == 1:
        return raw[0]
    if found := _AS_NUMBERS.fullmatch(raw):
        return None if found[3] == _RELEASED else _of_number(int(found[1][:9]), int((found[2] or b"1")[:9]))
    if found := _AS_OTHER_KEY.fullmatch(raw):
        return _of_number(int(found[2][:9]), int(found[1][:9]))
    return -1


def _of_number(number: int, modifier: int) -> int:
    held = (modifier - 1) & ~_LOCKS
    if number >= 0x7F or held not in (0, _CTRL):
        return -1
    if held == 0:
        return number
    return ord(chr(number).upper()) & 0x1F if number >= 0x40 else -1
