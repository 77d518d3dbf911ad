"""What `search` and `export` print; `screen` is of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_shape = dataclass(frozen=True, slots=True, kw_only=True)


@_shape
class FoundLine:
    """A line that matches, or one beside it; `spans` count characters of `text`, or bytes of what `text_b64` holds."""

    type: Literal["match", "context"]
    session: str
    name: str | None
    offset: int
    line: int
    spans: tuple[tuple[int, int], ...]
    part: bool = False
    text: str = ""
    text_b64: str = ""


@_shape
class FoundCount:
    """How many lines of a session match."""

    type: Literal["count"]
    session: str
    name: str | None
    count: int


@_shape
class FoundGap:
    """Bytes `first` up to but not including `end` are no longer kept, and were not searched."""

    type: Literal["gap"]
    session: str
    first: int
    end: int


@_shape
class Exported:
    """What was written, and where; `gaps` are the bytes that were no longer kept."""

    session: str
    name: str | None
    form: Literal["asciicast", "raw", "text", "jsonl"]
    file: str | None
    bytes: int
    gaps: tuple[tuple[int, int], ...]
