"""`events` and `prune`: what happened, and what is kept of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click

from orchctl.cli import tables
from orchctl.cli.app import DURATION, SIZE_BYTES, App, end_with_reader, pass_app, refuse_if
from orchctl.cli.options import parse_time, sessions_argument
from orchctl.cli.output import Form, forms, progress, write_all
from orchctl.session.model import Selection, State

if TYPE_CHECKING:
    from orchctl.client.blocking import Client

TYPES = (
    "session.state",
    "output",
    "command",
    "input",
    "error",
    "gap",
    "lease",
    "limit",
    "turn",
    "tool",
    "reasoning",
    "needs-input",
    "answered",
    "checkpoint",
)


class Since(click.ParamType[tuple[int | None, float | None]]):
    """An event's number, a duration before now, or a time."""

    name = "since"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, float | None]:
        if isinstance(value, tuple):
            return value
        text = str(value)
        if text.isascii() and text.isdigit():
            return int(text), None
        try:
            return None, parse_time(text)
        except ValueError:
            self.fail(f"{text!r} is neither an event's number, nor a duration such as 5m, nor a time", param, ctx)


@click.command("events")
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens from now on.")
@click.option("--since", type=Since(), default=(None, None), metavar="SEQ|5m|TIME", help="Where to begin.")
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), metavar="T", help="Only these; repeatable.")
@click.option("--exec", "command", metavar="CMD", help="Run CMD in a shell for each event, which is on its stdin.")
@sessions_argument(required=False)
@forms
@pass_app
def events_command(
    app: App,
    follow: bool,
    since: tuple[int | None, float | None],
    types: tuple[str, ...],
    command: str | None,
    selection: Selection,
    form: Form,
) -> int:
    """Show what happened to SESSIONS, or to all: one JSON object a line, oldest first.

    Each event has a number, `seq`, that only grows: a reader that ended goes on with --since SEQ.
    The supervisor may die and come back meanwhile: no event is lost or shown twice. A session is an
    id, a name, or @MANAGER for all of a manager's and below. What an agent says comes as events of type
    `output`, which have no number; where a program's output came from and went to, only with --type output.

    \b
    orchctl events --since 1h --type session.state
    orchctl events -f --type command --exec 'jq -r .text >> commands.log' work

    \b
    Exit codes: 0; 1 with --exec, if CMD failed once; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    seq, time = since
    failed = False
    if follow and command is None:
        end_with_reader()
    with app.client() as client:
        for event in client.events(selection=selection, since_seq=seq, since=time, types=types, follow=follow):
            line = json.dumps(event).encode() + b"\n"
            if not form.quiet:
                write_all(1, line if form.template is None else form.line(event))
            if command is not None:
                failed = not _run(command, line) or failed
    return int(failed)


def _run(command: str, line: bytes) -> bool:
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a CMD that does not read is no reason to end
    try:
        done = subprocess.run(["/bin/sh", "-c", command], input=line, check=False, env=os.environ)
    finally:
        signal.signal(signal.SIGPIPE, before)
    if done.returncode:
        sys.stderr.write(f"orchctl: {command!r} ended with {done.returncode}\n")
    return done.returncode == 0


@click.command("prune")
@click.option("--older-than", type=DURATION, metavar="D", help="Sessions that ended longer ago than this.")
@click.option("--size", type=SIZE_BYTES, metavar="SIZE", help="The oldest, until the output of the rest is no more.")
@click.option("--output", is_flag=True, help="Take their output alone; live sessions may be named too.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@sessions_argument(required=False)
@forms
@pass_app
def prune_command(
    app: App,
    older_than: float | None,
    size: int | None,
    output: bool,
    dry_run: bool,
    selection: Selection,
    form: Form,
) -> int:
    """Take away ended sessions: those named, or those that are too old or too much.

    Without any option: those that ended longer ago than they are kept, which is 7 days. What goes of a
    live session's output is told to its readers as a gap.

    \b
    orchctl prune --older-than 1d --dry-run
    orchctl prune --size 500M
    orchctl prune --output work

    \b
    Exit codes: 0 (also when there was nothing to take); 2 usage; 3 no such session; 5 a session is
    not over; 8 no supervisor answers.
    """
    refuse_if(
        not selection.empty and (older_than is not None or size is not None),
        "Name sessions, or say how old or how much; not both.",
    )
    with app.client() as client, progress("pruning", quiet=not form.words):
        sessions = _to_prune(client, selection, output=output)
        gone, count = list[str](), 0
        if sessions or selection.empty:
            pruned = client.prune(*sessions, older_than_s=older_than, keep_bytes=size, output=output, dry_run=dry_run)
            gone, count = list(pruned.sessions), pruned.output_bytes
    if form.quiet:
        tables.echo_lines(gone)
    what, verb = "sessions' output" if output else "sessions", "would go" if dry_run else "pruned"
    words = f"{len(gone)} {what} {verb}, {count} bytes"
    form.one({"sessions": gone, "output_bytes": count}, lambda: click.echo(words))
    return 0


def _to_prune(client: Client, selection: Selection, *, output: bool) -> list[str]:
    """Those named, as they are; of those chosen, the ones that are over, or all where only output goes."""
    if selection.empty:
        return []
    found = client.select(selection, ended_too=True)
    return [one.id for one in found if output or not selection.open or one.state is State.CLOSED]
