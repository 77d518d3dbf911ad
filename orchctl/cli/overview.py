"""What a person meets before any command runs: the sections of the help, a short status, and what was probably meant.

Nothing here starts a supervisor.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from orchctl.errors import OrchctlError

if TYPE_CHECKING:
    from orchctl.cli.app import App
    from orchctl.session.model import Session

SECTIONS: dict[str, tuple[str, ...]] = {
    "Start and use sessions": ("spawn", "exec", "send", "attach", "interrupt", "wait", "expect"),
    "Look at sessions": ("list", "info", "top", "tail", "screen", "search", "history", "events", "audit", "export"),
    "Control sessions": (
        "kill",
        "kill-by-manager",
        "restart",
        "pause",
        "unpause",
        "signal",
        "resize",
        "rename",
        "label",
        "lease",
    ),
    "Work with agents": ("pending", "approve", "deny", "answer", "harness"),
    "Look after orchctl": (
        "doctor",
        "config",
        "limits",
        "prune",
        "verify",
        "supervisor",
        "completion",
        "schema",
    ),
}
FIRST = (
    ("orchctl spawn make -j4", "start a program; it outlives this shell"),
    ("orchctl spawn --name work bash", "start a shell"),
    ("orchctl exec work 'make test'", "run a command in that shell"),
    ("orchctl tail -f @last", "follow the newest session's output"),
    ("orchctl --help", "show all commands"),
)
SHOWN = 8  # sessions in the short status
CLOSE = 0.7  # how alike two words are, from 0 to 1, before one is taken for a slip of the other

# what other tools call it, and what to use here
COMMAND_HABITS = {
    "status": "'orchctl list' shows the sessions, 'orchctl supervisor status' the supervisor.",
    "start": "'orchctl spawn' starts a session, 'orchctl restart' starts one again.",
    "create": "'orchctl spawn' starts a session.",
    "new": "'orchctl spawn' starts a session.",
    "delete": "'orchctl prune' removes ended sessions.",
    "remove": "'orchctl prune' removes ended sessions.",
    "detach": "An attached session is left with Ctrl-\\ Ctrl-D; 'orchctl attach --help' tells more.",
    "log": "'orchctl tail' shows a session's output, 'orchctl supervisor logs' the supervisor's log.",
}
OPTION_HABITS = {
    "--format": "--template or --json choose the form of the output.",
    "--filter": "-m, -l and --repo choose sessions.",
    "--output": "--json or --template choose the form of the output.",
    "--detach": "A session always runs on its own; 'spawn' needs no option for it.",
    "-i": "'spawn --attach' works in a session with your own terminal.",
    "-t": "'spawn --attach' works in a session with your own terminal.",
}


def unknown(error: click.NoSuchOption | click.exceptions.NoSuchCommand, commands: Iterable[str]) -> str:
    """The error for a command or an option that does not exist: what to use instead, or what was probably meant."""
    if isinstance(error, click.NoSuchOption):
        kind, name, habits = "option", error.option_name, OPTION_HABITS
    else:
        kind, name, habits = "command", error.command_name, COMMAND_HABITS
    answer = f"No such {kind} {name!r}."
    if name in habits:
        return f"{answer} {habits[name]}"
    known = error.possibilities or (commands if kind == "command" else ())
    close = difflib.get_close_matches(name, list(known), 1, CLOSE)
    return f"{answer} Did you mean {close[0]!r}?" if close else answer


def show(app: App, ctx: click.Context) -> None:
    """For `orchctl` alone: a short status on a terminal; elsewhere the help, as an error of usage."""
    if not sys.stdout.isatty():
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    for line in [*status(_live(app)), "", *aligned_examples()]:
        click.echo(line)


def aligned_examples() -> list[str]:
    """The most useful commands, with what each does."""
    width = max(len(command) for command, _ in FIRST)
    return [f"  {command:<{width}}  {what}" for command, what in FIRST]


def status(live: list[Session]) -> list[str]:
    """How many sessions live, which of them wait for a person, and the newest of them."""
    if not live:
        return ["No live session."]
    waiting = [session for session in live if session.agent is not None and session.agent.pending]
    lines = [f"{len(live)} live session{'s' if len(live) > 1 else ''}."]
    if waiting:
        names = ", ".join(session.name or session.id[:8] for session in waiting)
        lines.append(f"Waiting for you: {names}. 'orchctl pending' shows what is asked.")
    from orchctl.cli import tables

    lines += [f"  {line}" for line in tables.show_sessions(live[-SHOWN:], colour=False, width=_width() - 2)]
    return lines


def _width() -> int:
    from orchctl.cli.output import width

    return width()


def _live(app: App) -> list[Session]:
    """What a running supervisor says; none where no supervisor runs."""
    app.autostart = False
    try:
        with app.client() as client:
            return client.list()
    except OrchctlError:
        return []
