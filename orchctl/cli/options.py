"""What options take: SESSIONS and selectors, points in time, and words that belong to a command to be run."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from orchctl.cli.app import DURATION, labels, parse_duration, refuse_if
from orchctl.lazy_dataclass import dataclass
from orchctl.session.model import Selection

F = TypeVar("F", bound=Callable[..., Any])


def sessions_argument(*, required: bool = True, all_option: bool = True, words: bool = True) -> Callable[[F], F]:
    """SESSIONS, `-m`, `-l`, `--repo` and `--all`, handed over as one `selection`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_selection(
            *args: Any,
            sessions: tuple[str, ...] = (),
            managers: tuple[str, ...],
            label: dict[str, str],
            repo: str | None,
            everything: bool = False,
            **given: Any,
        ) -> Any:
            selection = _selection(sessions, managers, label, repo, everything=everything)
            refuse_if(
                required and selection.empty and "-" not in sessions,
                "Name sessions, or choose them with @MANAGER, -m, -l, --repo or --all.",
            )
            return command(*args, selection=selection, **given)

        options = [
            click.option(
                "-m", "--manager", "managers", multiple=True, metavar="MANAGER", help="Those of a manager and below."
            ),
            click.option("-l", "--label", multiple=True, callback=labels, metavar="K=V", help="Those with this label."),
            click.option("--repo", metavar="PATH", help="Those in the git work tree that PATH lies in."),
        ]
        if all_option:
            options.append(click.option("--all", "everything", is_flag=True, help="All sessions."))
        if words:
            options.append(click.argument("sessions", nargs=-1))
        return functools.reduce(lambda made, option: option(made), reversed(options), with_selection)  # type: ignore[return-value]

    return decorate


def _selection(
    words: tuple[str, ...],
    managers: tuple[str, ...],
    label: dict[str, str],
    repo: str | None,
    *,
    everything: bool,
) -> Selection:
    from orchctl.client.calls.sessions import selection_of

    if "-" in words:
        read = [line.strip() for line in sys.stdin]
        words = (*(word for word in words if word != "-"), *(line for line in read if line))
    return selection_of(words, managers=managers, labels=label, repo=repo, everything=everything)


def _own_viewer() -> str:
    from orchctl.client.inherited import terminal_viewer

    return terminal_viewer()


def lease_option(command: F) -> F:
    """`--lease TOKEN`, or what `ORCHCTL_LEASE` says, else whoever works in this terminal."""
    found: F = click.option(
        "--lease",
        "viewer",
        envvar="ORCHCTL_LEASE",
        default="",
        callback=lambda _, __, given: given or _own_viewer(),
        metavar="TOKEN",
        help="What 'lease take' printed; not needed in the terminal it ran in.",
    )(command)
    return found


def lease_wait_option(command: F) -> F:
    """`--lease-wait D`."""
    found: F = click.option(
        "--lease-wait",
        "lease_wait_s",
        type=DURATION,
        default="0s",
        metavar="D",
        help="Wait so long for another who holds the lease.",
    )(command)
    return found


@dataclass(frozen=True, slots=True)
class Point:
    """One of both."""

    offset: int | None = None
    unix_s: float | None = None


class PointInTime(click.ParamType[Point]):
    """A duration before now, an RFC 3339 time (local without a zone), or `@OFFSET`."""

    name = "point"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Point:
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
