"""Keys: what comes from a person's terminal, told apart; the keys that detach; keys by name as bytes. Pure.

An answer to a program's question, the news that a window has the focus, or a mouse that moves is nothing that
somebody typed: it must not take the right to type from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from orchctl.lazy_dataclass import dataclass

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


WHOLE_S = 0.05  # a terminal sends a sequence at once: an ESC that nothing follows so soon is the key
_LIMIT_BYTES = 1 << 16  # of a report that is held together
_MOVES = 0b100011  # in a mouse report: a movement without a button
_PASTE = b"\x1b[200~"
_PASTED = b"\x1b[201~"
_REPORT = re.compile(
    rb"\x1b(?:"
    rb"\[[?>=][0-9;:]*[ -/]*[@-~]"  # what it is, how it is set, where its cursor is
    rb"|\[[0-9;]*\$y|\[[0-9]+;[0-9]+R|\[[03]n|\[[0-9;]+[tx]|\[[IO]"
    rb"|\][0-9lL][^\x07\x1b]*(?:\x07|\x1b\\)"  # colours, the clipboard, titles
    rb"|P[!>01][^\x1b]*\x1b\\|_G[^\x1b]*\x1b\\"
    rb")"
)
_MOUSE = re.compile(rb"\x1b\[(?:<([0-9]{1,4});[0-9]+;[0-9]+[Mm]|M([ -\xff])[^\x1b]{2})", re.DOTALL)
_KEY = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\x1b\[])", re.DOTALL)
_UNFINISHED = re.compile(
    rb"\x1b(?:\[(?:[0-?]*[ -/]*|M[ -\xff]?[^\x1b]?)|O"
    rb"|\][0-9lL][^\x07\x1b]*\x1b?|P[!>01][^\x1b]*\x1b?|_G[^\x1b]*\x1b?|[\]P_])?\Z",
    re.DOTALL,
)


class Kind(Enum):
    """Who made it."""

    KEYS = "keys"
    REPORT = "report"  # the terminal by itself


@dataclass(frozen=True, slots=True)
class Typed:
    """Bytes for the program."""

    kind: Kind
    data: bytes


class Keyboard:
    """Takes what is read from the terminal, in any pieces. What was typed comes out in its order."""

    def __init__(self, detach_keys: Sequence[int]) -> None:
        self._detach = DetachKeys(detach_keys)
        self._plain = re.compile(rb"[^\x1b%s]+" % re.escape(bytes(detach_keys[:1])))  # what nobody has to look at
        self._held = b""
        self._pasting = False

    @property
    def patience_s(self) -> float | None:
        """After so long without anything more, `give_back` is due; None if nothing is held back."""
        if self._pasting:
            return FOLLOW_S  # its end may be on the way; but for ever we are not to be kept from leaving
        return WHOLE_S if self._held else FOLLOW_S if self._detach.begun else None

    def feed(self, data: bytes) -> list[Typed | Meant]:
        """What is clear by now."""
        data, self._held = self._held + data, b""
        found, at = list[Typed | Meant](), 0
        while at < len(data):
            at = self._paste(data, at, found) if self._pasting else self._next(data, at, found)
        return _joined(found)

    def give_back(self) -> list[Typed | Meant]:
        """Nothing followed what was held back."""
        held, self._held, self._pasting = self._held, b"", False
        keys = list[Typed | Meant]()
        for at in range(len(held)):
            keys += self._key(held[at : at + 1])
        if not held:
            keys += [Typed(Kind.KEYS, back)] if (back := self._detach.give_back()) else []
        return _joined(keys)

    def _next(self, data: bytes, at: int, found: list[Typed | Meant]) -> int:
        if not self._detach.begun and (plain := self._plain.match(data, at)):
            found.append(Typed(Kind.KEYS, plain[0]))
            return plain.end()
        if data[at] != 0x1B:
            found += self._key(data[at : at + 1])
            return at + 1
        if report := _REPORT.match(data, at):
            found.append(Typed(Kind.REPORT, report[0]))
            return report.end()
        if mouse := _MOUSE.match(data, at):
            button = int(mouse[1]) if mouse[1] else mouse[2][0] - 32
            found.append(Typed(Kind.REPORT if button & _MOVES == _MOVES else Kind.KEYS, mouse[0]))
            return mouse.end()
        if (begun := _UNFINISHED.match(data, at)) and len(begun[0]) <= _LIMIT_BYTES:
            self._held = begun[0]
            return begun.end()
        key = _KEY.match(data, at)
        raw = key[0] if key else data[at : at + 1]
        self._pasting = raw == _PASTE
        found += self._key(raw)
        return at + len(raw)

    def _paste(self, data: bytes, at: int, found: list[Typed | Meant]) -> int:
        """Nothing in it is meant for us, whatever it looks like."""
        end = data.find(_PASTED, at)
        if end >= 0:
            self._pasting = False
            found.append(Typed(Kind.KEYS, data[at : end + len(_PASTED)]))
            return end + len(_PASTED)
        kept = next((size for size in range(len(_PASTED) - 1, 0, -1) if data.endswith(_PASTED[:size], at)), 0)
        self._held = data[len(data) - kept :] if kept else b""
        if at < len(data) - kept:
            found.append(Typed(Kind.KEYS, data[at : len(data) - kept]))
        return len(data)

    def _key(self, raw: bytes) -> list[Typed | Meant]:
        return [one if isinstance(one, Meant) else Typed(Kind.KEYS, one) for one in self._detach.feed(raw)]


def _joined(found: list[Typed | Meant]) -> list[Typed | Meant]:
    """Neighbours of one kind as one."""
    joined = list[Typed | Meant]()
    for one in found:
        last = joined[-1] if joined else None
        if isinstance(one, Typed) and isinstance(last, Typed) and one.kind is last.kind:
            joined[-1] = Typed(one.kind, last.data + one.data)
        else:
            joined.append(one)
    return joined


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


_NAMED = {
    "enter": b"\r",
    "return": b"\r",
    "tab": b"\t",
    "btab": b"\x1b[Z",
    "escape": b"\x1b",
    "esc": b"\x1b",
    "space": b" ",
    "backspace": b"\x7f",
    "bspace": b"\x7f",
    "delete": b"\x1b[3~",
    "insert": b"\x1b[2~",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "pgup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    "pgdn": b"\x1b[6~",
    "f1": b"\x1bOP",
    "f2": b"\x1bOQ",
    "f3": b"\x1bOR",
    "f4": b"\x1bOS",
} | {
    f"f{number}": b"\x1b[%d~" % code
    for number, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
}
_CONTROL = {"space": 0, "@": 0, "[": 27, "\\": 28, "]": 29, "^": 30, "_": 31, "?": 127}


def key_bytes(name: str) -> bytes | None:
    """What a terminal sends for the key of that name; None if there is none."""
    if len(name) == 1:
        return name.encode("utf-8", "surrogateescape")
    if name.lower() in _NAMED:
        return _NAMED[name.lower()]
    prefix, dash, rest = name[:1], name[1:2], name[2:]
    if dash != "-" or not rest:
        return None
    if prefix in ("C", "c", "^"):
        return _control(rest)
    if prefix in ("M", "m", "A", "a"):
        inner = key_bytes(rest)
        return None if inner is None else b"\x1b" + inner
    return None


def _control(rest: str) -> bytes | None:
    if len(rest) == 1 and rest.isascii() and rest.isalpha():
        return bytes([ord(rest.lower()) & 0x1F])
    code = _CONTROL.get(rest.lower())
    return None if code is None else bytes([code])
