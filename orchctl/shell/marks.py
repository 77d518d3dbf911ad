"""Marks in a session's output: `ESC ] 6973 ; NONCE ; KIND ; ARGS BEL`, written by the session's own shell.

They stay in the raw log and are cut from every view. A mark may be split over reads; one that has not
ended after 200 bytes is not a mark but output that looks like one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchctl.lazy_dataclass import dataclass
from orchctl.session.stream import Chunk

MOST_STATUSES = 12


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What the next text is to find; `status` is None if nobody knows it. `at_prompt`: the shell has it there."""

    status: int | None = None
    pipestatus: tuple[int, ...] = ()
    last_word: str = ""
    at_prompt: bool = False


def statuses(mark: Mark) -> tuple[int, ...] | None:
    """Of the parts of a pipe, if the mark tells them."""
    words = mark.args[{"D": 4, "P": 5}[mark.kind] :][:1]
    listed = words[0].split()[:-1] if words else []
    known = 0 < len(listed) <= MOST_STATUSES and all(word.isdecimal() for word in listed)
    return tuple(map(int, listed)) if known else None


def at_prompt(marks: Sequence[Mark]) -> Aftermath:
    """After these marks, of which the last is that of the prompt."""
    prompt = marks[-1]
    status = "".join(prompt.args[1:2])
    if not status.isdecimal():
        return Aftermath()
    end = next((place for place in range(len(marks) - 1, -1, -1) if marks[place].kind == "D"), None)
    if end is not None and marks[end].args[1:2] == (status,):
        since = {mark.args[:1] for mark in marks[end:] if mark.kind == "P"}
        if len(since) == 1:  # nothing was run at a prompt in between
            word = _word(marks[end].args[2:4]) or _word(prompt.args[6:8])
            return Aftermath(int(status), statuses(marks[end]) or (), word)
    return Aftermath(int(status), statuses(prompt) or (), _word(prompt.args[6:8]), at_prompt=True)


def _word(told: Sequence[str]) -> str:
    """The last word, if all of it is told: its length, and what of it a mark can tell."""
    length, word = (*told, "", "")[:2]
    return word if length.isdecimal() and int(length) == len(word) else ""


LIMIT_BYTES = 200
ANY_MARK = re.compile(rb"\x1b\]6973;[0-9a-f]{16};[A-Z](?:;[^\x07\x1b]{0,150})?\x07")


@dataclass(frozen=True, slots=True)
class Mark:
    """A whole mark: its kind, its arguments, and where it lies."""

    kind: str
    args: tuple[str, ...]
    start: int
    end: int


def prefix(nonce: str) -> bytes:
    """How every mark of a session begins."""
    return b"\x1b]6973;%s;" % nonce.encode("ascii")


class MarkScanner:
    """Splits output into marks and what lies between them, however the bytes were cut."""

    def __init__(self, nonce: str, offset: int) -> None:
        self._prefix = prefix(nonce)
        self._held = b""
        self._offset = offset  # of the first byte that is held

    @property
    def safe_offset(self) -> int:
        """Everything before this has been given out."""
        return self._offset

    def feed(self, data: bytes) -> list[Chunk | Mark]:
        """The pieces that are certain by now; what may be the beginning of a mark waits."""
        data = self._held + data
        found: list[Chunk | Mark] = []
        at = 0
        while (start := data.find(self._prefix, at)) >= 0:
            end = data.find(b"\x07", start, start + LIMIT_BYTES)
            if end < 0 and len(data) - start < LIMIT_BYTES:
                break
            if (escape := data.find(b"\x1b", start + 1, max(0, end))) >= 0:  # cut off by another sequence: it is output
                self._text(found, data[at:escape])
                at = escape
                continue
            stop = start if end >= 0 else start + 1  # one that never ends is output
            self._text(found, data[at:stop])
            at = stop
            if end >= 0:
                found.append(self._mark(data[start : end + 1]))
                at = end + 1
        else:
            start = len(data) - self._unsure(data[at:])
        self._text(found, data[at:start])
        self._held = data[start:]
        return found

    def _text(self, found: list[Chunk | Mark], data: bytes) -> None:
        if data:
            found.append(Chunk(self._offset, data))
            self._offset += len(data)

    def _mark(self, data: bytes) -> Mark:
        start, self._offset = self._offset, self._offset + len(data)
        return _parsed(data[len(self._prefix) : -1], start, self._offset)

    def _unsure(self, data: bytes) -> int:
        """How many last bytes could be the beginning of a mark."""
        for length in range(min(len(self._prefix) - 1, len(data)), 0, -1):
            if data.endswith(self._prefix[:length]):
                return length
        return 0


def whole_marks(nonce: str, data: bytes, offset: int) -> list[Mark]:
    """All whole marks in `data`, which begins at `offset`."""
    pattern = re.compile(
        re.escape(prefix(nonce)) + rb"([^\x07\x1b]{0,%d})\x07" % (LIMIT_BYTES - 1 - len(prefix(nonce)))
    )
    return [_parsed(found[1], offset + found.start(), offset + found.end()) for found in pattern.finditer(data)]


def _parsed(words: bytes, start: int, end: int) -> Mark:
    kind, *args = words.decode("latin-1").split(";")
    return Mark(kind, tuple(args), start, end)


_UNFINISHED = re.compile(rb"\x1b(?:\](?:6(?:9(?:7(?:3(?:;[^\x07\x1b]*)?)?)?)?)?)?\Z")


class MarkCutter:
    """Takes a log in any pieces, each right after the one before; gives what is between marks, with its offsets."""

    def __init__(self) -> None:
        self._held = Chunk(0, b"")

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """What may be the beginning of a mark waits."""
        if not self._held.data and b"\x1b" not in chunk.data:
            return [chunk]
        if self._held.data:
            chunk = Chunk(self._held.offset, self._held.data + chunk.data)
        cut = _UNFINISHED.search(chunk.data, max(0, len(chunk.data) - LIMIT_BYTES))
        at = cut.start() if cut else len(chunk.data)
        self._held = Chunk(chunk.offset + at, chunk.data[at:])
        return _between(chunk, at)

    @property
    def held_bytes(self) -> int:
        """How many may be the beginning of a mark."""
        return len(self._held.data)

    def end(self) -> list[Chunk]:
        """What looked like a mark and was none."""
        held, self._held = self._held, Chunk(0, b"")
        return [held] if held.data else []


def _between(chunk: Chunk, end: int) -> list[Chunk]:
    found, start = list[Chunk](), 0
    for mark in ANY_MARK.finditer(chunk.data, 0, end):
        if mark.start() > start:
            found.append(Chunk(chunk.offset + start, chunk.data[start : mark.start()]))
        start = mark.end()
    if start < end:
        found.append(Chunk(chunk.offset + start, chunk.data[start:end]))
    return found
