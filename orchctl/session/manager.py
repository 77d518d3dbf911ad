"""Manager names and their one rule: a manager selects itself and all below it, by whole segments."""

from __future__ import annotations

import re

from orchctl.errors import BadInput

DEFAULT = "user"
_SEGMENT = re.compile(r"[A-Za-z0-9._-]+")
_LIMIT_BYTES = 1024  # deeper than any tree of agents, short enough for an environment variable


def parse(text: str) -> str:
    """`text`, checked: segments joined by `:`."""
    if len(text) > _LIMIT_BYTES:
        raise BadInput(f"the manager name is {len(text)} bytes long; at most {_LIMIT_BYTES}", code="bad-manager")
    for segment in text.split(":"):
        if not _SEGMENT.fullmatch(segment):
            what = "an empty segment" if not segment else f"the segment {segment!r}"
            raise BadInput(
                f"the manager name {text!r} has {what}; segments are [A-Za-z0-9._-]+ joined by ':'",
                code="bad-manager",
            )
    return text


def resolve(asked: str | None, own: str | None) -> str:
    """The manager of a new session: as asked, `:name` below the caller's own, else the caller's own."""
    base = parse(own) if own else DEFAULT
    if not asked:
        return base
    return parse(base + asked) if asked.startswith(":") else parse(asked)


def selects(manager: str, other: str) -> bool:
    """Whether `other` is `manager` or below it."""
    return other == manager or other.startswith(manager + ":")
