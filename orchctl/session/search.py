"""What `search` and `screen` are asked for, and what they answer. Pure values."""

from __future__ import annotations

from orchctl.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A pattern and how it is looked for; `fixed` is text, else it is a regular expression of Python's `re`."""

    pattern: str
    fixed: bool = False
    ignore_case: bool = False
    before: int | None = None  # lines of context; None for no groups at all
    after: int | None = None
    since: float | None = None  # Unix time
    count: bool = False  # how many lines match, and not which
    limit: int | None = None  # matching lines of each session
    numbers: bool = False
    spans: bool = False  # where in the line the matches are

    @property
    def context(self) -> bool:
        """Whether lines come in groups."""
        return self.before is not None or self.after is not None


@dataclass(frozen=True, slots=True)
class Line:
    """A line that matches, or one beside it; `offset` is where it begins in the log, `number` counts from 1."""

    offset: int
    number: int
    text: bytes
    matches: bool = True
    spans: tuple[tuple[int, int], ...] = ()  # in bytes of `text`
    apart: bool = False  # something was left out between the group before and this one
    part: bool = False  # a piece of a line that is too long to be held whole


@dataclass(frozen=True, slots=True)
class Count:
    """How many lines of a session match."""

    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """From the byte at `offset` on, a terminal had so many columns and rows."""

    offset: int
    cols: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Counted from 0."""

    x: int
    y: int
    visible: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A terminal as the bytes from `first_offset` up to `offset` of a log leave it; `lines` has one for each row."""

    session: str
    name: str | None = None
    first_offset: int
    offset: int
    dropped_bytes: int = 0  # of its run, which are no longer kept: what they wrote may be missing
    cols: int
    rows: int
    cursor: Cursor
    alternate: bool = False
    title: str = ""
    lines: tuple[str, ...] = ()
    ansi: str = ""  # the same with colours


@dataclass(frozen=True, slots=True, kw_only=True)
class Painting:
    """How a terminal of that size is made to show and to be what the bytes up to `offset` of a log make of one.

    `offset` lies between two sequences or characters: what follows it can be shown right after.
    """

    offset: int
    cols: int
    rows: int
    title: str = ""
    sequence: str = ""
