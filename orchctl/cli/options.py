"""SESSIONS on the command line: several words, or what sessions have in common; and what these words mean."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchctl.cli.app import labels
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
            if required and selection.empty and "-" not in sessions:
                raise click.UsageError("Name sessions, or choose them with @MANAGER, -m, -l, --repo or --all.")
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
    from orchctl.client.choosing import selection_of

    if "-" in words:
        read = [line.strip() for line in sys.stdin]
        words = (*(word for word in words if word != "-"), *(line for line in read if line))
    return selection_of(words, managers=managers, labels=label, repo=repo, everything=everything)
