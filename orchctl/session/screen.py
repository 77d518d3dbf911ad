"""What a terminal shows."""

from __future__ import annotations

from orchctl.lazy_dataclass import dataclass


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
