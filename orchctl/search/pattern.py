"""A pattern made ready to find lines in blocks of text. Pure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from orchctl.errors import BadInput
from orchctl.search.literal import required, within_lines
from orchctl.session.search import Search

Find = Callable[[bytes, bytes, int, int], int]  # as bytes.find
_NEWLINE, _RETURN = 10, 13
OFTEN_BYTES = 256  # a text that is found once in fewer bytes than that chooses nothing
SAMPLE_BYTES = 1 << 13  # of a block, to tell whether it is


def compiled(asked: Search) -> re.Pattern[bytes]:
    """The expression for one line; `BadInput` says what is wrong with it."""
    if "\n" in asked.pattern:
        raise BadInput("a pattern with a newline in it matches no line", code="bad-pattern")
    if not asked.fixed and "[[:" in asked.pattern:
        raise BadInput(
            r"classes such as [[:digit:]] are not known; the syntax is that of Python's re: \d \s \w, [A-Za-z]",
            code="bad-pattern",
        )
    text = asked.pattern.encode("utf-8", "surrogateescape")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sets that may mean something else one day
            return re.compile(re.escape(text) if asked.fixed else text, re.IGNORECASE if asked.ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f"{asked.pattern!r} is not a regular expression: {error}", code="bad-pattern") from None


class Needle:
    """Gives the next line of a block that matches. A line's text is without its end, LF or CR LF."""

    def __init__(self, asked: Search, *, returns: bool, find: Find = bytes.find) -> None:
        self._line = compiled(asked)
        self._returns = returns  # whether a line may end in CR LF
        self._find = find
        self._fixed = asked.fixed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._literal, self._folded = required(self._line.pattern, self._line.flags)
            self._block = within_lines(self._line.pattern, self._line.flags)
        self._seen: bytes | None = None
        self._text = b""
        self._by_literal = False

    def next(self, data: bytes, start: int, end: int) -> tuple[int, int] | None:
        """The first line from `start` on that matches: where it begins, and where its last byte ends.

        A line begins at `start`, and one ends at `end`: there, or before a newline that is the last byte.
        """
        if data is not self._seen:
            self._prepare(data)
        while start < end:
            at = self._candidate(data, start, end)
            if at < 0 or (at == end and data[end - 1] == _NEWLINE):
                return None
            begin, stop = data.rfind(b"\n", start, at) + 1 or start, _end_of_line(data, at, end)
            if self.matches(self.text(data, begin, stop)):
                return begin, stop
            start = stop + 1
        return None

    def matches(self, line: bytes) -> bool:
        """Whether a line, without its end, does."""
        return self._line.search(line) is not None

    def text(self, data: bytes, start: int, end: int) -> bytes:
        """A line of a block; `end` is at its newline, or where the block ends."""
        if self._returns and end > start and data[end - 1] == _RETURN and data[end : end + 1] == b"\n":
            end -= 1
        return data[start:end]

    def spans(self, line: bytes) -> tuple[tuple[int, int], ...]:
        """Where in a line the matches are; empty ones are none."""
        return tuple(found.span() for found in self._line.finditer(line) if found.end() > found.start())

    def _prepare(self, data: bytes) -> None:
        """Choose the way to search a block; a text that is everywhere in it is no help."""
        self._seen = data
        self._text = data.lower() if self._folded and self._literal else data
        short = not self._fixed and self._block is not None and len(self._literal) <= 2
        often = short and self._text.count(self._literal, 0, SAMPLE_BYTES) * OFTEN_BYTES > min(len(data), SAMPLE_BYTES)
        self._by_literal = bool(self._literal) and not often

    def _candidate(self, data: bytes, start: int, end: int) -> int:
        """A byte of the first line that may match; -1 if there is none."""
        if self._by_literal:
            return self._find(self._text, self._literal, start, end)
        if self._block is None:
            return start
        found = self._block.search(data, start, end)
        return found.start() if found else -1


def _end_of_line(data: bytes, at: int, end: int) -> int:
    found = data.find(b"\n", at, end)
    return end if found < 0 else found
