"""Terminal output taken apart: text, controls, escape sequences, strings. Pure.

It reads as terminals do: controls inside a sequence count on their own, CAN and SUB end a sequence, an ESC begins
another. What is not whole yet waits, but for strings, which may be of any length: they come in parts.
"""

from __future__ import annotations

import re
from enum import Enum

from orchctl.lazy_dataclass import dataclass

STRING_BYTES = 4096  # of a string that are looked at; the rest comes in parts
SEQUENCE_BYTES = 1024  # no sequence that does anything is longer
_TEXT = re.compile(rb"(?:[^\x00-\x07\x0e-\x1f\x7f]+|\x1b\[[0-9;:]*[A-HJKm])+")
_ESCAPE = re.compile(rb"\x1b(?:[ -/]+[0-~]|[0-OQ-WYZ\\`-~])")  # the others begin a string or a control sequence
_CONTROL_SEQUENCE = re.compile(rb"\x1b\[[\x00-\x17\x19\x1c-\x1f\x7f0-?]*[\x00-\x17\x19\x1c-\x1f\x7f -/]*[@-~]")
_UNFINISHED = re.compile(rb"\x1b(?:[ -/]*|\[[\x00-\x17\x19\x1c-\x1f\x7f0-?]*[\x00-\x17\x19\x1c-\x1f\x7f -/]*)\Z")
_STRING_ENDS = re.compile(rb"[\x07\x18\x1a\x1b]")
_INSIDE = re.compile(rb"[\x00-\x1f\x7f]")
_HALF_CHARACTER = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")


class Kind(Enum):
    """What a piece is."""

    TEXT = "text"  # what only draws, as one: whole characters, line ends, colours, moves of the cursor, erasures
    CONTROL = "control"  # one byte: any other, or one that stood in a sequence
    ESCAPE = "escape"  # ESC and a byte, perhaps with others between them
    SEQUENCE = "sequence"  # ESC [ …, without the controls that stood in it
    STRING = "string"  # ESC ] … and the like, up to its end or as far as it is looked at
    STRING_REST = "rest"  # more of that one
    BROKEN = "broken"  # the beginning of one that was never ended


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of the output; all pieces together are all of it, but for the order of controls in sequences."""

    kind: Kind
    data: bytes


class Escapes:
    """Takes output in any pieces."""

    def __init__(self) -> None:
        self._held = b""
        self._in_string = False

    @property
    def at_rest(self) -> bool:
        """Whether nothing is under way: something else may be written between what came and what comes."""
        return not self._held and not self._in_string

    @property
    def held_bytes(self) -> int:
        """How many of the last bytes wait for others."""
        return len(self._held)

    def feed(self, data: bytes) -> list[Piece]:
        """What is whole by now."""
        data, self._held = self._held + data, b""
        found, at = list[Piece](), 0
        while at < len(data):
            if self._in_string:
                at = self._string(data, at, found, Kind.STRING_REST)
            elif text := _TEXT.match(data, at):
                at = self._text(data, text, found)
            elif data[at] == 0x1B:
                at = self._escape(data, at, found)
            else:
                found.append(Piece(Kind.CONTROL, data[at : at + 1]))
                at += 1
        return found

    def end(self) -> list[Piece]:
        """What was under way."""
        held, self._held, self._in_string = self._held, b"", False
        return [Piece(Kind.BROKEN, held)] if held else []

    def _text(self, data: bytes, text: re.Match[bytes], found: list[Piece]) -> int:
        end = text.end()
        if end == len(data) and (half := _HALF_CHARACTER.search(data, max(text.start(), end - 3))):
            self._held = data[half.start() :]
            end = half.start()
        if end > text.start():
            found.append(Piece(Kind.TEXT, data[text.start() : end]))
        return text.end()

    def _escape(self, data: bytes, at: int, found: list[Piece]) -> int:
        if whole := _ESCAPE.match(data, at):
            found.append(Piece(Kind.ESCAPE, whole[0]))
            return whole.end()
        if whole := _CONTROL_SEQUENCE.match(data, at):
            inside = whole[0][1:]
            found += [Piece(Kind.CONTROL, one) for one in _INSIDE.findall(inside)]
            found.append(Piece(Kind.SEQUENCE, b"\x1b" + _INSIDE.sub(b"", inside)))
            return whole.end()
        if data[at + 1 : at + 2] in (b"]", b"P", b"X", b"^", b"_"):
            return self._string(data, at, found, Kind.STRING)
        if (begun := _UNFINISHED.match(data, at)) and len(begun[0]) <= SEQUENCE_BYTES:
            self._held = begun[0]
            return begun.end()
        return self._broken(data, at, found)

    def _broken(self, data: bytes, at: int, found: list[Piece]) -> int:
        """Of a sequence that goes nowhere, as much as a terminal swallows."""
        end = at + 1
        if data[end : end + 1] == b"[":
            end += 1
            while end < len(data) and (data[end] < 0x40 or data[end] == 0x7F) and data[end] not in (0x18, 0x1A, 0x1B):
                end += 1
        found.append(Piece(Kind.BROKEN, data[at:end]))
        return end

    def _string(self, data: bytes, at: int, found: list[Piece], kind: Kind) -> int:
        stop, over = _end_of_string(data, at + 2 if kind is Kind.STRING else at)
        if not over and kind is Kind.STRING and stop - at < STRING_BYTES:
            self._held = data[at:]
            return len(data)
        if stop > at:
            found.append(Piece(kind, data[at:stop]))
        self._in_string = not over
        if over:
            return stop
        self._held = data[stop:]
        return len(data)


def _end_of_string(data: bytes, first: int) -> tuple[int, bool]:
    """Up to where it goes, and whether it is over there."""
    end = _STRING_ENDS.search(data, first)
    if end is None:
        return len(data), False
    if data[end.start()] != 0x1B:
        return end.end(), True
    if end.end() == len(data):
        return end.start(), False  # perhaps the first half of its end
    closed = data[end.end()] == ord("\\")
    return end.end() + 1 if closed else end.start(), True  # else another sequence begins
