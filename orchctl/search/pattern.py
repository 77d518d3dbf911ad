"""A pattern made ready to find lines in blocks of text. Pure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from orchctl.errors import BadInput
from orchctl.session.search import Search

_PARSER: Any = import_module("re._parser")  # the tree that `re` itself makes of a pattern
_COMPILER: Any = import_module("re._compiler")
_OPS: Any = import_module("re._constants")
_NEWLINE, _RETURN = 10, 13
_SPACES = b" \t\r\f\v"  # what \s matches, without the newline
Node = tuple[Any, Any]


class _Unknown(Exception):
    """A construct that is not understood, or one that needs to see the line alone."""


def required(pattern: bytes, flags: int = 0) -> tuple[bytes, bool]:
    """The longest text that every match contains, b"" if there is none; and whether only without regard to case.

    Without regard to case the text is in lower case.
    """
    tree = _parsed(pattern, flags)
    if tree is None or tree.state.flags & re.LOCALE:
        return b"", False
    folded = bool(tree.state.flags & re.IGNORECASE)
    _, best = _literals(tree)
    return (b"", False) if _NEWLINE in best else (best.lower() if folded else best, folded)


def within_lines(pattern: bytes, flags: int = 0) -> re.Pattern[bytes] | None:
    """An expression for whole blocks that matches somewhere in every line in which `pattern` does, and no newline.

    Lines in the block may end in CR LF. It may match in lines in which `pattern` does not. None if there is none.
    """
    tree = _parsed(pattern, flags)
    if tree is None or tree.state.flags & (re.DOTALL | re.LOCALE):
        return None
    try:
        _bind(tree)
        found: re.Pattern[bytes] = _COMPILER.compile(tree, flags | re.MULTILINE)
    except (_Unknown, re.error, AttributeError, TypeError, ValueError, RecursionError):
        return None
    return found


def _parsed(pattern: bytes, flags: int) -> Any:
    try:
        return _PARSER.parse(pattern, flags)
    except (re.error, RecursionError, OverflowError):
        return None


def _literals(tree: Iterable[Node]) -> tuple[bytes | None, bytes]:
    """The one text that the whole of it matches, if it is one, and the longest that is in every match."""
    exact, run, best = True, b"", b""
    for op, value in tree:
        inner = _Part.of(op, value)
        if inner.exact is None:
            best, run, exact = max(best, run, inner.best, key=len), b"", False
        elif inner.fixed:
            run += inner.exact
        else:  # repeated without a limit: what follows stands right after the last
            best, run, exact = max(best, run + inner.exact, key=len), inner.exact, False
    return (run if exact else None), max(best, run, key=len)


class _Part:
    """One node: the text it matches if that is certain, whether nothing but that, and the longest in it."""

    def __init__(self, exact: bytes | None, best: bytes = b"", *, fixed: bool = True) -> None:
        self.exact, self.best, self.fixed = exact, best, fixed

    @staticmethod
    def of(op: Any, value: Any) -> _Part:
        if op is _OPS.LITERAL:
            return _Part(bytes([value]))
        if op in (_OPS.AT, _OPS.ASSERT, _OPS.ASSERT_NOT):  # of no width
            return _Part(b"")
        if op is _OPS.ATOMIC_GROUP or (op is _OPS.SUBPATTERN and not value[1] and not value[2]):
            return _Part(*_literals(value if op is _OPS.ATOMIC_GROUP else value[3]))
        if op in (_OPS.MAX_REPEAT, _OPS.MIN_REPEAT, _OPS.POSSESSIVE_REPEAT) and value[0] >= 1:
            exact, best = _literals(value[2])
            return _Part(exact if value[0] == 1 else None, best, fixed=value[1] == 1)
        return _Part(None)


def _bind(tree: Any) -> None:
    """Change it in place so that nothing matches a newline, and a line may end in CR LF."""
    for at, (op, value) in enumerate(tree):
        rule = _RULES.get(op)
        if rule is None:
            raise _Unknown
        tree[at] = rule(op, value)


def _same(op: Any, value: Any) -> Node:
    return op, value


def _literal(op: Any, value: Any) -> Node:
    if value == _NEWLINE:
        raise _Unknown
    return op, value


def _not_literal(_: Any, value: Any) -> Node:
    return _OPS.IN, [(_OPS.NEGATE, None), (_OPS.LITERAL, value), (_OPS.LITERAL, _NEWLINE)]


def _set(op: Any, items: Any) -> Node:
    if items[0][0] is _OPS.NEGATE:
        return op, [*items, (_OPS.LITERAL, _NEWLINE)]
    return op, [one for item in items for one in _without_newline(*item)]


def _without_newline(op: Any, value: Any) -> list[Node]:
    if op is _OPS.RANGE and value[0] <= _NEWLINE <= value[1]:
        raise _Unknown
    if op is _OPS.CATEGORY and value is _OPS.CATEGORY_SPACE:
        return [(_OPS.LITERAL, space) for space in _SPACES]
    if op is _OPS.CATEGORY and value not in (_OPS.CATEGORY_DIGIT, _OPS.CATEGORY_WORD, _OPS.CATEGORY_NOT_SPACE):
        raise _Unknown
    return [_literal(op, value)] if op is _OPS.LITERAL else [(op, value)]


def _anchor(op: Any, value: Any) -> Node:
    if value in (_OPS.AT_BEGINNING, _OPS.AT_BEGINNING_STRING):
        return op, _OPS.AT_BEGINNING
    if value in (_OPS.AT_END, _OPS.AT_END_STRING):
        return _OPS.ASSERT, (1, _PARSER.parse(b"\\r?$"))
    if value in (_OPS.AT_BOUNDARY, _OPS.AT_NON_BOUNDARY):
        return op, value
    raise _Unknown


def _group(op: Any, value: Any) -> Node:
    if (value[1] | value[2]) & ~re.IGNORECASE:
        raise _Unknown
    _bind(value[3])
    return op, value


def _repeat(op: Any, value: Any) -> Node:
    _bind(value[2])
    return op, value


def _branch(op: Any, value: Any) -> Node:
    for one in value[1]:
        _bind(one)
    return op, value


def _ahead(op: Any, value: Any) -> Node:
    _bind(value[1])
    return op, value


_RULES: dict[Any, Callable[[Any, Any], Node]] = {
    _OPS.LITERAL: _literal,
    _OPS.NOT_LITERAL: _not_literal,
    _OPS.ANY: _same,
    _OPS.IN: _set,
    _OPS.AT: _anchor,
    _OPS.BRANCH: _branch,
    _OPS.SUBPATTERN: _group,
    _OPS.MAX_REPEAT: _repeat,
    _OPS.MIN_REPEAT: _repeat,
    _OPS.GROUPREF: _same,
    _OPS.ASSERT: _ahead,  # a negative one, or an atomic group, could fail in a block by what it sees after the line
}


Find = Callable[[bytes, bytes, int, int], int]  # as bytes.find
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
