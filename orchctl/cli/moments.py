"""Points in a session's past: `5m` ago, a time, or `@OFFSET`."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import click

from orchctl.cli.app import parse_duration
from orchctl.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """One of both."""

    offset: int | None = None
    unix_s: float | None = None


class PointInTime(click.ParamType[Point]):
    """A duration before now, an RFC 3339 time (local without a zone), or `@OFFSET`."""

    name = "point"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Point:
        """The offset or the Unix time."""
        if isinstance(value, Point):
            return value
        text = str(value)
        if text.startswith("@"):
            if not (text[1:].isascii() and text[1:].isdigit() and len(text) < 20):
                self.fail(f"{text!r} is not an offset such as @4096", param, ctx)
            return Point(offset=int(text[1:]))
        try:
            return Point(unix_s=parse_time(text))
        except ValueError:
            self.fail(f"{text!r} is neither a duration such as 5m, nor a time such as 2026-01-31T12:00, nor @OFFSET")


def parse_time(text: str) -> float:
    """Unix time for `5m` ago or an RFC 3339 time; `ValueError` for anything else."""
    try:
        return time.time() - parse_duration(text)
    except click.UsageError:
        return datetime.fromisoformat(text).timestamp()


def clock(unix_s: float | None) -> str:
    """A time in front of a line; local, to the millisecond."""
    if unix_s is None:
        return "-" * 23
    return datetime.fromtimestamp(unix_s).isoformat(sep=" ", timespec="milliseconds")
